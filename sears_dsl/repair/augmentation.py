"""The rewrites that accepted rules make of rows, and a table with some of them as new rows.

In: compiled rules, texts and their labels, or a `Table`; an `Amount` and a seed. Out: an
`Expansion` with all rewrites, and an `AugmentedTable` table. Each rule is applied by itself to the
untouched row. A row has each distinct new text once, with all the rules that write it. The label of
the text is the row's own (`expect: same`), the one that the rule names (`expect: label`), or, if
there are just two labels, the other one (`expect: flip`). Rewrites whose label cannot be known are
left out and counted by reason, as are those that touch a span or that an oracle rejects.

In the table the old rows come first, untouched and in order. The same seed chooses the same
rewrites, each at most once, and all if there are fewer than wanted. In a balanced choice a rule
gets at most one rewrite more than any rule that has some left. A new row differs from its source in
the text, in columns that point into it, in the label if the rule says so, and in the id if there is
one. Ids stay distinct, and a label keeps the type of its column. With provenance every row names
its source row, its rule and the rule's ruleset.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from sears_dsl.answers import Comparison, answer_text, counted_as
from sears_dsl.batch.guarding import guard_rewrites
from sears_dsl.data.batches import Batch
from sears_dsl.data.dataset import IdLedger, require_column, row_ids
from sears_dsl.data.labelled import LabelledRows, column_sets
from sears_dsl.data.protection import Guards, Protection
from sears_dsl.data.table import Table, guards_of
from sears_dsl.effects.applications import applications_in
from sears_dsl.effects.oracle import Oracle, accepted_rewrites
from sears_dsl.engine.matcher import Matcher
from sears_dsl.engine.matches import Scope, SpanMap, Unit
from sears_dsl.engine.rewrite.rewrites import Rewrites
from sears_dsl.errors import DataError, UsageError
from sears_dsl.language.rule import Expectation
from sears_dsl.language.ruleset import Ruleset

#: Why a rewrite is left out.
MANY_LABELS = "the rule flips the label and there are more than two"
ONE_LABEL = "the rule flips the label and all rows have the same"
NO_LABEL = "the rule flips the label and the row has none"
TOUCHED = "it would touch a span"
REJECTED = "the oracle rejects it"
CONTRADICTORY = "two rules that write the same text expect different labels"


@dataclass(frozen=True, slots=True)
class NewText:
    """One new text, the rules that write it, by position, and its label (None: the row's own).

    `moved` has the new values of the columns that point into the text. If one of several columns
    is rewritten, it also has the new value of that column.
    """

    row: int
    text: str
    rules: tuple[int, ...]
    label: str | None = None
    moved: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Expansion:
    """Every distinct rewrite of some rows, by row, and how many are left out for which reason."""

    rewrites: Sequence[NewText]
    rule_ids: Sequence[str]
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rewrites)

    def require_some(self, path: str, *, oracle: Oracle | None = None) -> None:
        """Raise an error if there is no rewrite at all; the oracle is the one that was asked."""
        if self.rewrites:
            return
        if self.left_out:
            raise all_left_out(path, self.left_out, oracle=oracle)
        raise nothing_changes(path)


def all_left_out(path: str, left_out: Mapping[str, int], *, oracle: Oracle | None) -> DataError:
    """Return the error for rules whose rewrites of a file or folder are all left out."""
    if oracle is not None and set(left_out) == {REJECTED}:
        return DataError(
            f"the oracle {oracle.identity} rejects all {left_out[REJECTED]:,} rewrites of {path}",
            help="it has to return true for a rewrite to keep, and false for one to reject",
        )
    return DataError(f"every rewrite of {path} is left out: {'; '.join(left_out)}")


def nothing_changes(path: str) -> DataError:
    """Return the error for rules that change no row of a file."""
    return DataError(
        f"no rule changes a row of {path}",
        help="check the column; `sears explain RULES 'a sentence'` says why a rule does not fire",
    )


def require_rules(rulesets: Sequence[Ruleset]) -> None:
    """Raise an error if there are only templates, which rewrite no row."""
    if any(each.templates for each in rulesets) and not any(each.rules for each in rulesets):
        raise UsageError(
            "the files have templates but no rules, and templates rewrite no rows",
            help="to train on their sentences: `sears generate RULES -o sentences.csv`",
        )


def expand(
    matcher: Matcher,
    texts: Sequence[str],
    *,
    labels: Sequence[str] | None,
    known: Sequence[str] = (),
    class_names: Sequence[str] = (),
    guards: Guards | None = None,
    oracle: Oracle | None = None,
    column: str = "text",
    scope: Scope = "first",
    unit: Unit | None = None,
    comparison: Comparison = "exact",
) -> Expansion:
    """Apply each rule by itself to each text; a row's label may be "" for none.

    `known` has all labels that exist. If it is empty, they are the labels of the rows. Where these
    number classes, rules may expect one of `class_names` too.
    """
    names = list(dict.fromkeys(known or filter(None, labels or ())))
    numbers = {name: str(number) for number, name in enumerate(class_names)}
    label_of = {name: number for name, number in numbers.items() if number in names}
    label_of.update(zip(names, names, strict=True))
    as_counted = {counted_as(name, comparison): label for name, label in label_of.items()}
    expectations = [
        replace(each, label=as_counted.get(counted_as(label, comparison), label))
        for each in (rule.expectation for rule in matcher.rules)
        for label in [answer_text(each.label, comparison) or each.label]
    ]
    rule_ids = matcher.rule_ids
    _check(rule_ids, expectations, None if labels is None else list(label_of))
    protected = None if guards is None else guards.protected
    rewrites, touching = guard_rewrites(
        matcher.apply(texts, scope=scope, unit=unit, protected=protected), guards
    )
    rejected = Counter[int]()
    if oracle is not None:
        rows = LabelledRows(tuple({column: text} for text in texts), column, None, "rows")
        rewrites, rejected = accepted_rewrites(rewrites, matcher.rules, rows, oracle, needed=False)
    moved = _moved(rewrites, guards)
    pairs = applications_in(rewrites, texts)
    written: list[list[int]] = [[] for _ in pairs.texts]
    for rule, rewrite in zip(pairs.rules.tolist(), pairs.rewrites.tolist(), strict=True):
        written[rewrite].append(rule)
    left_out: Counter[str] = Counter()
    if touching:
        left_out[TOUCHED] = touching.total()
    if rejected:
        left_out[REJECTED] = rejected.total()
    rewritten = []
    for place, (row, text, rules) in enumerate(
        zip(pairs.rows.tolist(), pairs.texts, written, strict=True)
    ):
        own = "" if labels is None else labels[row]
        labelled = {_expected(expectations[rule], own, names) for rule in rules}
        expected, reason = labelled.pop() if len(labelled) == 1 else ("", CONTRADICTORY)
        if reason:
            left_out[reason] += 1
        else:
            label = None if expected == own else expected
            rewritten.append(NewText(row, text, tuple(rules), label, moved.get(place, {})))
    return Expansion(rewritten, rule_ids, left_out)


def expand_table(
    matcher: Matcher,
    table: Table,
    *,
    column: str,
    protection: Protection,
    labels: Sequence[str] | None,
    known: Sequence[str] = (),
    class_names: Sequence[str] = (),
    oracle: Oracle | None = None,
    scope: Scope = "first",
    unit: Unit | None = None,
    comparison: Comparison = "exact",
) -> Expansion:
    """Expand one column of a table, or either one of several, such as ``premise,hypothesis``.

    With several, ``moved`` of a new row holds the new text of the column that was rewritten.
    """
    sets = column_sets(column, tuple(table.columns))
    if any(len(names) > 1 for names in sets):
        raise UsageError(
            f"{column}: a new row can have only one rewritten column",
            help="rewrite one of the columns at a time: " + column.replace("+", ","),
        )
    parts = {
        name: expand(
            matcher, table.texts(name), labels=labels, known=known, class_names=class_names,
            oracle=oracle, column=name, guards=guards_of(table, protection, column=name),
            scope=scope, unit=unit, comparison=comparison,
        )
        for (name,) in sets
    }  # fmt: skip
    if len(parts) == 1:
        return next(iter(parts.values()))
    left_out = sum((Counter(part.left_out) for part in parts.values()), Counter[str]())
    rewrites = [
        replace(each, moved={**each.moved, name: each.text})
        for name, part in parts.items()
        for each in part.rewrites
    ]
    ids = next(iter(parts.values())).rule_ids
    return Expansion(sorted(rewrites, key=lambda each: each.row), ids, left_out)


def _moved(rewrites: Rewrites, guards: Guards | None) -> dict[int, Mapping[str, Any]]:
    """The number of each distinct rewrite → the new values of the columns that point into it."""
    if guards is None or not guards.points:
        return {}
    moved: dict[int, Mapping[str, Any]] = {}
    for number, rewrite in zip(rewrites.distinct().ids.tolist(), rewrites, strict=True):
        if number not in moved:
            moved[number] = guards.moved(rewrite.row, SpanMap(rewrite.edits).map)
    return moved


def _expected(expectation: Expectation, own: str, known: Sequence[str]) -> tuple[str, str]:
    """The label of a text that a rule writes, or "" and why it is not known."""
    if expectation.kind == "same":
        return own, ""
    if expectation.kind == "label":
        return expectation.label, ""
    others = [label for label in known if label != own]
    if not own:
        return "", NO_LABEL
    if len(others) == 1:
        return others[0], ""
    return "", MANY_LABELS if others else ONE_LABEL


def _check(
    rule_ids: Sequence[str], expectations: Sequence[Expectation], known: Sequence[str] | None
) -> None:
    for name, each in zip(rule_ids, expectations, strict=True):
        if each.kind == "same":
            continue
        if known is None:
            raise UsageError(
                f"the rule {name} changes the label, but no label column is given",
                help="name it with --label",
            )
        if each.kind == "label" and each.label not in known:
            raise UsageError(
                f"the rule {name} expects the label {each.label!r}, which no row has",
                help=f"the labels are {', '.join(map(repr, known[:10]))}",
            )


_FORMS = "write a share (20%), a multiple (2x), a number of new rows (500) or all"
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)(%|x)?")


@dataclass(frozen=True, slots=True)
class Amount:
    """How many new rows are wanted."""

    rows: int | None = None  # a fixed number; None if it depends on the data
    multiple: float | None = None  # a multiple of the rows of the data; None for all there are

    @classmethod
    def parse(cls, text: str) -> Amount:
        """Parse what a user wrote: a share (``20%``), a multiple (``2x``), a number or ``all``."""
        if text == "all":
            return ALL
        parts = _AMOUNT.fullmatch(text)
        if parts is None:
            raise UsageError(f"{text!r} is not an amount", help=_FORMS)
        number, unit = float(parts[1]), parts[2]
        if number == 0:
            raise UsageError(f"an amount of {text} adds nothing", help=_FORMS)
        if unit is None and not number.is_integer():
            raise UsageError(f"{text} rows cannot be added", help=_FORMS)
        if unit is None:
            return cls(rows=int(number))
        return cls(multiple=number / 100 if unit == "%" else number)

    def of(self, rows: int) -> int | None:
        """How many new rows this is for data of `rows` rows: 1 or more, or None for all."""
        if self.rows is not None:
            return self.rows
        return None if self.multiple is None else max(1, round(self.multiple * rows))

    def __str__(self) -> str:
        if self.rows is not None:
            return str(self.rows)
        return "all" if self.multiple is None else f"{self.multiple:g}x"


ALL = Amount()
NO_PROTECTION = Protection()


def choose(
    rules: Sequence[Sequence[int]], *, limit: int | None, balanced: bool = True, seed: int = 0
) -> list[tuple[int, int]]:
    """Choose rewrites, at most `limit`: (rewrite, rule that it counts for), in ascending order.

    If `balanced`, the rules take turns. Otherwise every rewrite has the same chance.
    """
    random = Random(seed % 2**64)  # noqa: S311 - a sample, no secret
    order = random.sample(range(len(rules)), len(rules))
    most = len(rules) if limit is None else min(limit, len(rules))
    if not balanced:
        return sorted((rewrite, rules[rewrite][0]) for rewrite in order[:most])
    waiting: dict[int, list[int]] = {}
    for rewrite in order:
        for rule in rules[rewrite]:
            waiting.setdefault(rule, []).append(rewrite)
    # In each turn the rules with the fewest rewrites come first, before others take those.
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


#: The columns that say where a row comes from: the id or number of the row, rule and ruleset.
PROVENANCE = ("source_row", "source_rule", "source_ruleset")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumns:
    """The names of the columns; `text` may be ``a,b``, which means either of the two."""

    text: str
    label: str | None = None
    id: str | None = None


@dataclass(frozen=True, eq=False)
class AugmentedTable:
    """A table with its old rows first, and the source of each new row among the old ones.

    `limit` is how many new rows were wanted, None for all. `of_rule` counts the new rows of every
    rule id, 0 included. `relabelled` counts those whose label differs from their source's.
    `changed` names the columns in which new rows may differ from their source.
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
        table = self.table
        if only_new:
            old = len(table) - self.added
            new = {name: values[old:] for name, values in table.columns.items()}
            table = replace(table, columns=new)
        return table.columns_to_write


def augment(
    table: Table,
    expansion: Expansion,
    *,
    columns: TableColumns,
    amount: Amount = ALL,
    balanced: bool = True,
    seed: int = 0,
    rulesets: Sequence[str] | None = None,
    comparison: Comparison = "exact",
) -> AugmentedTable:
    """Add rewrites to a table, with `PROVENANCE` if `rulesets` names the ruleset of each rule."""
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
        labels = table.labels(columns.label, comparison=comparison)
        named = dict(zip(labels, values, strict=True))
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
    return AugmentedTable(
        table=extended,
        sources=tuple(rows),
        limit=limit,
        of_rule={name: counts[rule] for rule, name in enumerate(expansion.rule_ids)},
        relabelled=sum(each.label is not None for each in new),
        changed=tuple(changed),
    )


def duplicate(table: Table, count: int, *, columns: TableColumns, seed: int = 0) -> Table:
    """Add copies of random rows, to show what more rows do without any rule."""
    random = Random(seed % 2**64)  # noqa: S311 - a sample, no secret
    rows: list[int] = []
    while len(rows) < count:
        rows += random.sample(range(len(table)), min(len(table), count - len(rows)))
    changed: dict[str, Sequence[Any]] = {}
    if columns.id is not None:
        changed[columns.id] = new_ids(table, columns.id, rows, ["copy"] * len(rows))
    return table.extended(rows, changed)


def named_rules(rulesets: Sequence[Ruleset]) -> list[str]:
    """The ruleset of each rule: its name and version, or its file if it has no name."""
    return [
        f"{each.name} {each.version}" if each.name is not None else each.path
        for each in rulesets
        for _ in each.rules
    ]


def new_ids(table: Table, column: str, rows: Sequence[int], names: Sequence[str]) -> list[Any]:
    """Ids of new rows: numbers continue after the largest, texts get a rule's name and a count.

    In a csv file all ids are texts.
    """
    values = table.columns[require_column(tuple(table.columns), column, where=table.path)]
    old = row_ids(Batch(0, len(table), {column: values}), column, where=table.path)
    IdLedger(table.path).add(old, first=0)
    if all(isinstance(value, int) for value in values):
        return list(range(max(values) + 1, max(values) + 1 + len(rows)))
    known = set(old)
    ids = []
    for row, name in zip(rows, names, strict=True):
        base = new_id = f"{old[row]}~{name}"
        number = 1
        while new_id in known:
            number += 1
            new_id = f"{base}~{number}"
        known.add(new_id)
        ids.append(new_id)
    return ids


def _with_provenance(
    extended: Table,
    table: Table,
    id_column: str | None,
    rows: Sequence[int],
    rules: Sequence[tuple[str, str]],
) -> Table:
    taken = [name for name in PROVENANCE if name in table.columns]
    if taken:
        raise DataError(
            f"{table.path} already has a column {taken[0]!r}, which is to name a row's origin",
            help="rename or drop it; if the data is augmented already, start from the original",
        )
    batch = Batch(0, len(table), table.columns)
    names = row_ids(batch, id_column, where=table.path)
    old = len(table)
    added: dict[str, list[str]] = {
        "source_row": [*names, *(names[row] for row in rows)],
        "source_rule": [""] * old + [rule for rule, _ in rules],
        "source_ruleset": [""] * old + [ruleset for _, ruleset in rules],
    }
    return replace(extended, columns={**extended.columns, **added})
