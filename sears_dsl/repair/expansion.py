"""What accepted rules make of rows: every distinct rewrite, with the label that it should have.

In: compiled rules, texts and their labels. Out: an `Expansion`. Always holds: each rule is applied
by itself to the untouched row; an equal text of an equal row is there once, with all the rules that
write it; its label is the row's own (`expect: same`), the one that the rule names (`expect:
label`), or, where there are two labels, the other one (`expect: flip`). Rewrites whose label cannot
be known are left out and counted with the reason, and so are those that touch a span or that an
oracle rejects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sears_dsl.batch.guarding import guarded
from sears_dsl.data.labelled import LabelledRows, column_sets
from sears_dsl.data.protection import Guards, Protection
from sears_dsl.data.table import Table, guards_of
from sears_dsl.effects.applications import applications_in
from sears_dsl.effects.oracle import Oracle, accepted
from sears_dsl.engine.matcher import Matcher
from sears_dsl.engine.matches import Scope, Unit
from sears_dsl.engine.rewrite.rewrites import Rewrites
from sears_dsl.engine.rewrite.span_map import SpanMap
from sears_dsl.errors import DataError, UsageError
from sears_dsl.language.rule import Expectation
from sears_dsl.language.ruleset import Ruleset

#: Why a rewrite is left out.
MANY_LABELS = "the rule flips the label and there are more than two"
NO_LABEL = "the rule flips the label and the row has none"
TOUCHED = "it would touch a span"
REJECTED = "the oracle rejects it"
CONTRADICTORY = "two rules that write the same text expect different labels"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """One new text.

    Attributes:
        rules: the rules that write it, by position.
        label: the label that it should have; None for the row's own.
        moved: column → new value, of the columns that point into the text; where either of several
            columns is rewritten, of that column too.
    """

    row: int
    text: str
    rules: tuple[int, ...]
    label: str | None = None
    moved: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Expansion:
    """Every distinct rewrite of some rows, by row; how many rows each of all rules changes."""

    rewrites: Sequence[Rewritten]
    rule_ids: Sequence[str]
    changed: Mapping[int, int]
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rewrites)

    @property
    def rows(self) -> int:
        """How many rows have a rewrite."""
        return len({each.row for each in self.rewrites})

    def require_some(self, path: str) -> None:
        """There is a rewrite at all."""
        if self.rewrites:
            return
        if self.left_out:
            reason = next(iter(self.left_out))
            raise DataError(f"no rewrite of a row of {path} has a label that is known: {reason}")
        raise DataError(
            f"no rule changes a row of {path}",
            help="is it the right column? `sears explain RULES 'a sentence'` tells why a rule does "
            "not fire",
        )


def require_rules(rulesets: Sequence[Ruleset]) -> None:
    """Templates alone rewrite no row."""
    if any(each.templates for each in rulesets) and not any(each.rules for each in rulesets):
        raise UsageError(
            "templates rewrite no rows, and there is no rule beside them",
            help="train on their sentences as well: `sears generate RULES -o sentences.csv`",
        )


def expand(
    matcher: Matcher,
    texts: Sequence[str],
    *,
    labels: Sequence[str] | None,
    known: Sequence[str] = (),
    guards: Guards | None = None,
    oracle: Oracle | None = None,
    column: str = "text",
    scope: Scope = "first",
    unit: Unit | None = None,
) -> Expansion:
    """Apply each rule by itself to each text.

    Args:
        labels: of each row; an empty one is no label. None where there are none.
        known: all labels that there are; without, those of the rows.
    """
    expectations = [rule.expectation for rule in matcher.rules]
    names = list(dict.fromkeys(known or filter(None, labels or ())))
    rule_ids = matcher.rule_ids
    _check(rule_ids, expectations, names if labels is not None else None)
    protected = None if guards is None else guards.protected
    allowed = guarded(matcher.apply(texts, scope=scope, unit=unit, protected=protected), guards)
    rewrites, rejected = allowed.rewrites, Counter[int]()
    if oracle is not None:
        rows = LabelledRows(tuple({column: text} for text in texts), column, None, "rows")
        rewrites, rejected = accepted(rewrites, rows, oracle)
    moved = _moved(rewrites, guards)
    pairs = applications_in(rewrites, texts)
    written: list[list[int]] = [[] for _ in pairs.texts]
    for rule, rewrite in zip(pairs.rules.tolist(), pairs.rewrites.tolist(), strict=True):
        written[rewrite].append(rule)
    left_out: Counter[str] = Counter()
    if allowed.left_out:
        left_out[TOUCHED] = sum(allowed.left_out.values())
    if rejected:
        left_out[REJECTED] = rejected.total()
    rewritten = []
    for place, (row, text, rules) in enumerate(
        zip(pairs.rows.tolist(), pairs.texts, written, strict=True)
    ):
        own = "" if labels is None else labels[row]
        expected = _label([expectations[rule] for rule in rules], own, names)
        if isinstance(expected, _LeftOut):
            left_out[expected.reason] += 1
        else:
            label = None if expected == own else expected
            rewritten.append(Rewritten(row, text, tuple(rules), label, moved.get(place, {})))
    return Expansion(rewritten, rule_ids, Counter(pairs.rules.tolist()), left_out)


def expand_table(
    matcher: Matcher,
    table: Table,
    *,
    column: str,
    protection: Protection,
    labels: Sequence[str] | None,
    known: Sequence[str] = (),
    oracle: Oracle | None = None,
    scope: Scope = "first",
    unit: Unit | None = None,
) -> Expansion:
    """`expand` of a table's column, or of either of several, ``premise,hypothesis``.

    Of several, a new row says in ``moved`` what its column became.
    """
    sets = column_sets(column, tuple(table.columns))
    if any(len(names) > 1 for names in sets):
        raise UsageError(
            f"{column}: a new row has one rewritten text",
            help="have either of them rewritten: " + column.replace("+", ","),
        )
    parts = {
        name: expand(
            matcher, table.texts(name), labels=labels, known=known, oracle=oracle, column=name,
            guards=guards_of(table, protection, column=name), scope=scope, unit=unit,
        )
        for (name,) in sets
    }  # fmt: skip
    if len(parts) == 1:
        return parts[column]
    changed, left_out = Counter[int](), Counter[str]()
    for part in parts.values():
        changed.update(part.changed)
        left_out.update(part.left_out)
    rewrites = [
        replace(each, moved={**each.moved, name: each.text})
        for name, part in parts.items()
        for each in part.rewrites
    ]
    ids = next(iter(parts.values())).rule_ids
    return Expansion(sorted(rewrites, key=lambda each: each.row), ids, changed, left_out)


def _moved(rewrites: Rewrites, guards: Guards | None) -> dict[int, Mapping[str, Any]]:
    """Of each distinct rewrite, by its number, the new values of columns that point into it."""
    if guards is None or not guards.points:
        return {}
    moved: dict[int, Mapping[str, Any]] = {}
    for number, rewrite in zip(rewrites.distinct().ids.tolist(), rewrites, strict=True):
        if number not in moved:
            moved[number] = guards.moved(rewrite.row, SpanMap(rewrite.edits).map)
    return moved


@dataclass(frozen=True, slots=True)
class _LeftOut:
    reason: str


def _label(expectations: Sequence[Expectation], own: str, known: Sequence[str]) -> str | _LeftOut:
    """The one label that all rules that write a text expect."""
    labels = {_expected(each, own, known) for each in expectations}
    return labels.pop() if len(labels) == 1 else _LeftOut(CONTRADICTORY)


def _expected(expectation: Expectation, own: str, known: Sequence[str]) -> str | _LeftOut:
    if expectation.kind == "same":
        return own
    if expectation.kind == "label":
        return expectation.label
    others = [label for label in known if label != own]
    if not own:
        return _LeftOut(NO_LABEL)
    return others[0] if len(others) == 1 else _LeftOut(MANY_LABELS)


def _check(
    rule_ids: Sequence[str], expectations: Sequence[Expectation], known: Sequence[str] | None
) -> None:
    for name, each in zip(rule_ids, expectations, strict=True):
        if each.kind == "same":
            continue
        if known is None:
            raise UsageError(
                f"the rule {name} changes the label, and it is not said which column holds labels",
                help="name it with --label",
            )
        if each.kind == "label" and each.label not in known:
            raise UsageError(
                f"the rule {name} expects the label {each.label!r}, which no row has",
                help=f"the labels are {', '.join(map(repr, known[:10]))}",
            )
