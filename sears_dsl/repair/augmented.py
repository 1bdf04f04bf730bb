"""A table with new rows that accepted rules made of its own.

In: a `Table`, an `Expansion` of it, an `Amount` and a seed. Out: `Augmented`. Always holds: the
rows that were there come first, untouched and in order; a new row differs from its source in the
text, in what points into it, in the label where the rule says so, and in the id where there is one;
ids stay distinct; a label keeps the type of its column. With provenance every row says which row
and which rule of which ruleset it comes from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from sears_dsl.data.batches import Batch
from sears_dsl.data.dataset import IdLedger, require_column, row_ids
from sears_dsl.data.table import Table
from sears_dsl.errors import DataError
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.repair.choice import ALL, Amount, choose
from sears_dsl.repair.expansion import Expansion

#: The columns that say where a row comes from: the id or number of the row, rule and ruleset.
PROVENANCE = ("source_row", "source_rule", "source_ruleset")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumns:
    """Which columns matter.

    Attributes:
        text: the column that rules rewrite; ``a,b`` for either of two.
        label: the column of labels; None for none.
        id: the column of ids; None for none.
    """

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
    r"""Add rewrites of a table's rows to it.

    Args:
        balanced: whether the rules take turns.
        seed: of the choice.
        rulesets: for each rule what its ruleset is called; adds the columns of `PROVENANCE`.

    Example:
        >>> from sears_dsl.repair.expansion import Rewritten
        >>> table = Table({"text": ["a movie", "a play"]}, "a.csv", "csv")
        >>> expansion = Expansion([Rewritten(0, "a film", (0,))], ["r-film"], {0: 1})
        >>> columns = TableColumns(text="text")
        >>> augmentation = augmented(
        ...     table, expansion, columns=columns, rulesets=["found 1.0.0"]
        ... )
        >>> for row in zip(*augmentation.table.columns.values()):
        ...     print(row)
        ('a movie', '1', '', '')
        ('a play', '2', '', '')
        ('a film', '1', 'r-film', 'found 1.0.0')
    """
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
    """Add copies of random rows: what as many rows more do without any rule.

    Args:
        count: how many copies; each row once before any twice.

    Example:
        >>> table = Table({"text": ["a", "b"]}, "a.csv", "csv")
        >>> sorted(duplicated(table, 4, columns=TableColumns(text="text")).columns["text"])
        ['a', 'a', 'a', 'b', 'b', 'b']
    """
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
