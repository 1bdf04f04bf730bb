"""A table with new rows that accepted rules made of its own: how many, which, where each is from.

In: a `Table`, an `Expansion` of it, an `Amount` and a seed. Out: `Augmented`. Always holds: the
rows that were there come first, untouched and in order; a rewrite is chosen at most once; balanced,
a rule gets at most one more than another that has some left; the same seed chooses the same; where
less is there than is wanted, all of it is chosen; a new row differs from its source in the text, in
what points into it, in the label where the rule says so, and in the id where there is one; ids stay
distinct; a label keeps the type of its column. With provenance every row says which row and which
rule of which ruleset it comes from.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from sears_dsl.data.batches import Batch
from sears_dsl.data.dataset import IdLedger, require_column, row_ids
from sears_dsl.data.table import Table
from sears_dsl.errors import DataError, UsageError
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.repair.expansion import Expansion

_FORMS = "write 20% (of the rows), 2x (their number), 500 (new rows) or all"
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)(%|x)?")


@dataclass(frozen=True, slots=True)
class Amount:
    """How many new rows are wanted.

    Attributes:
        rows: so many; None where it depends on the data.
        multiple: so many times the rows of the data; None for all that there are.

    Example:
        >>> Amount.parse("20%").of(50), Amount.parse("2x").of(50), Amount.parse("7").of(50)
        (10, 100, 7)
        >>> Amount.parse("all").of(50) is None
        True
    """

    rows: int | None = None
    multiple: float | None = None

    @classmethod
    def parse(cls, text: str) -> Amount:
        """What a person wrote: a share (``20%``), a multiple (``2x``), a number or ``all``."""
        if text == "all":
            return ALL
        parts = _AMOUNT.fullmatch(text)
        if parts is None:
            raise UsageError(f"{text!r} is no amount", help=_FORMS)
        number, unit = float(parts[1]), parts[2]
        if number == 0:
            raise UsageError(f"an amount of {text} adds nothing", help=_FORMS)
        if unit is None and not number.is_integer():
            raise UsageError(f"{text} rows cannot be added", help=_FORMS)
        if unit is None:
            return cls(rows=int(number))
        return cls(multiple=number / 100 if unit == "%" else number)

    def of(self, rows: int) -> int | None:
        """How many new rows that is for data of so many, at least one; None for all there are."""
        if self.rows is not None:
            return self.rows
        return None if self.multiple is None else max(1, round(self.multiple * rows))

    def __str__(self) -> str:
        if self.rows is not None:
            return str(self.rows)
        return "all" if self.multiple is None else f"{self.multiple:g}x"


ALL = Amount()


def choose(
    rules: Sequence[Sequence[int]], *, limit: int | None, balanced: bool = True, seed: int = 0
) -> list[tuple[int, int]]:
    """Choose rewrites, or take all: (rewrite, rule that it counts for), by rewrite.

    Balanced, the rules take turns; otherwise every rewrite has the same chance.
    """
    random = Random(seed)  # noqa: S311 - a sample, no secret
    order = random.sample(range(len(rules)), len(rules))
    most = len(rules) if limit is None else min(limit, len(rules))
    if not balanced:
        return sorted((rewrite, rules[rewrite][0]) for rewrite in order[:most])
    waiting: dict[int, list[int]] = {}
    for rewrite in order:
        for rule in rules[rewrite]:
            waiting.setdefault(rule, []).append(rewrite)
    # Rules with least to give come first in each turn, so that others do not take it from them.
    turns = sorted(waiting, key=lambda rule: (len(waiting[rule]), rule))
    rule_of: dict[int, int] = {}
    while len(rule_of) < most:
        for rule in tuple(turns):
            own = waiting[rule]
            while own and own[-1] in rule_of:
                own.pop()
            if not own:
                turns.remove(rule)
            elif len(rule_of) < most:
                rule_of[own.pop()] = rule
    return sorted(rule_of.items())


# ---------------------------------------------------------------- the table


#: The columns that say where a row comes from: the id or number of the row, rule and ruleset.
PROVENANCE = ("source_row", "source_rule", "source_ruleset")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumns:
    """Which columns matter; that of the texts may be ``a,b``, for either of two."""

    text: str
    label: str | None = None
    id: str | None = None


@dataclass(frozen=True, eq=False)
class Augmented:
    """A table with new rows.

    Attributes:
        table: the old rows, then the new ones.
        sources: for each new row which of the old ones it was made of.
        limit: how many were wanted; None for all that there are.
        of_rule: id of a rule → how many new rows count for it; rules without any too.
        relabelled: how many new rows have another label than their source.
        changed: the columns in which a new row differs from its source.
    """

    table: Table
    sources: tuple[int, ...]
    limit: int | None
    of_rule: Mapping[str, int]
    relabelled: int
    changed: tuple[str, ...] = ()

    @property
    def added(self) -> int:
        """How many rows are new."""
        return len(self.sources)

    def written(self, *, only_new: bool) -> Mapping[str, Sequence[Any]]:
        """The columns to write: all rows, or the new ones alone."""
        columns = self.table.columns
        if not only_new:
            return columns
        old = len(self.table) - self.added
        return {name: values[old:] for name, values in columns.items()}


def augmented(
    table: Table,
    expansion: Expansion,
    *,
    columns: TableColumns,
    amount: Amount = ALL,
    balanced: bool = True,
    seed: int = 0,
    rulesets: Sequence[str] | None = None,
) -> Augmented:
    """Add rewrites of a table's rows to it, with `PROVENANCE` where rulesets name each rule's."""
    limit = amount.of(len(table))
    chosen = choose(
        [each.rules for each in expansion.rewrites], limit=limit, balanced=balanced, seed=seed
    )
    new = [expansion.rewrites[place] for place, _ in chosen]
    rows = [each.row for each in new]
    changed: dict[str, Sequence[Any]] = {}
    if columns.text in table.columns:
        changed[columns.text] = [each.text for each in new]
    if columns.label is not None and any(each.label is not None for each in new):
        values = table.columns[columns.label]
        named = dict(zip(table.labels(columns.label), values, strict=True))
        changed[columns.label] = [
            values[each.row] if each.label is None else named[each.label] for each in new
        ]
    rules = [rule for _, rule in chosen]
    if columns.id is not None:
        names = [expansion.rule_ids[rule] for rule in rules]
        changed[columns.id] = new_ids(table, columns.id, rows, names)
    for name in {name: None for each in new for name in each.moved}:
        values = table.columns[name]
        changed[name] = [each.moved.get(name, values[each.row]) for each in new]
    extended = table.extended(rows, changed)
    if rulesets is not None:
        extended = _with_provenance(
            extended, table, columns.id, rows, [(expansion.rule_ids[r], rulesets[r]) for r in rules]
        )
    counts = Counter(rules)
    return Augmented(
        table=extended,
        sources=tuple(rows),
        limit=limit,
        of_rule={name: counts[rule] for rule, name in enumerate(expansion.rule_ids)},
        relabelled=sum(each.label is not None for each in new),
        changed=tuple(changed),
    )


def duplicated(table: Table, count: int, *, columns: TableColumns, seed: int = 0) -> Table:
    """Add copies of random rows: what as many rows more do without any rule."""
    random = Random(seed)  # noqa: S311 - a sample, no secret
    rows: list[int] = []
    while len(rows) < count:
        rows += random.sample(range(len(table)), min(len(table), count - len(rows)))
    changed: dict[str, Sequence[Any]] = {}
    if columns.id is not None:
        changed[columns.id] = new_ids(table, columns.id, rows, ["copy"] * len(rows))
    return table.extended(rows, changed)


def named_rules(rulesets: Sequence[Ruleset]) -> list[str]:
    """For each rule what its ruleset is called: name and version, or the file."""
    return [
        f"{each.name} {each.version}" if each.name is not None else each.path
        for each in rulesets
        for _ in each.rules
    ]


def new_ids(table: Table, column: str, rows: Sequence[int], names: Sequence[str]) -> list[Any]:
    """Ids of new rows: numbers go on after the largest; names get the rule, and a count."""
    values = table.columns[require_column(tuple(table.columns), column, where=table.path)]
    old = row_ids(Batch(0, len(table), {column: values}), column)
    IdLedger(table.path).add(old, first=0)
    if all(isinstance(value, int) for value in values):
        return list(range(max(values) + 1, max(values) + 1 + len(rows)))
    known = set(old)
    ids = []
    for row, name in zip(rows, names, strict=True):
        first = made_of = f"{old[row]}~{name}"
        number = 1
        while made_of in known:
            number += 1
            made_of = f"{first}~{number}"
        known.add(made_of)
        ids.append(made_of)
    return ids


def _with_provenance(
    extended: Table,
    table: Table,
    id_column: str | None,
    rows: Sequence[int],
    rules: Sequence[tuple[str, str]],
) -> Table:
    there = [name for name in PROVENANCE if name in table.columns]
    if there:
        raise DataError(
            f"{table.path} has a column {there[0]!r} already, which says where a row comes from",
            help="rename or drop it; if the data is augmented already, begin with the original",
        )
    batch = Batch(0, len(table), table.columns)
    names = row_ids(batch, id_column)
    old = len(table)
    added: dict[str, list[str]] = {
        "source_row": [*names, *(names[row] for row in rows)],
        "source_rule": [""] * old + [rule for rule, _ in rules],
        "source_ruleset": [""] * old + [ruleset for _, ruleset in rules],
    }
    return Table({**extended.columns, **added}, table.path, table.format)
