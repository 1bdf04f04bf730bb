"""Counts of what rules did, made per batch and added up.

In: nothing but values. Always holds: adding the tallies of batches in the order of their rows
gives the tally of all rows; a tally goes through JSON and back unchanged, since finished batches
keep theirs on disk. Costs at most two examples a rule and a thousand reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from sears_dsl.engine.matches import Edit

_EXAMPLES = 2
_KEPT_REASONS = 1_000
# The counts of a rule, and of all rules together.
_OF_RULE = ("rows", "edits", "unrenderable", "left_out")
_COUNTS = ("rows", "changed", "characters", "records", "missing", "decomposed", "touched",
           "misplaced", "absent")  # fmt: skip


@dataclass(frozen=True, slots=True)
class TallyExample:
    """A row before and after a rule."""

    original: str
    rewritten: str
    edits: tuple[Edit, ...]


@dataclass(slots=True)
class RuleTally:
    """What one rule did."""

    rows: int = 0  # rows that it changed
    edits: int = 0  # its edits
    unrenderable: int = 0  # instances that could not be rendered
    left_out: int = 0  # rows of which it was left out, since it would have touched a span there
    examples: list[TallyExample] = field(default_factory=list)  # the first of its rewrites

    def count(self, original: str, rewritten: str, edits: Sequence[Edit]) -> None:
        """Count the edits of one row."""
        self.edits += len(edits)
        if len(self.examples) < _EXAMPLES:
            self.examples.append(TallyExample(original, rewritten, tuple(edits)))

    def add(self, other: RuleTally) -> None:
        """Count what the rule did to later rows."""
        for name in _OF_RULE:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.examples = [*self.examples, *other.examples][:_EXAMPLES]


@dataclass(slots=True)
class Tally:
    """What was done to rows; adding tallies in the order of the rows gives the whole."""

    rows: int = 0  # rows read
    changed: int = 0  # rows that at least one rule changed
    characters: int = 0  # characters of text looked at
    records: int = 0  # records (each) or rows (chain) given out
    # Rule id → what it did; rules that did nothing are absent.
    rules: dict[str, RuleTally] = field(default_factory=dict)
    missing: int = 0  # values of the rewritten columns that hold no text, which are passed over
    # Texts with characters in parts (not in NFC), where rules hold composed ones.
    decomposed: int = 0
    # Rows of which a rule was left out, or which were dropped, since the rule would have touched a
    # span.
    touched: int = 0
    misplaced: int = 0  # rows with a span that does not stand where the row says; none is rewritten
    absent: int = 0  # rows with a protected value that their text does not contain
    # Row id and reason of the first thousand of all three.
    reasons: list[tuple[str, str]] = field(default_factory=list)

    def of(self, rule: str) -> RuleTally:
        """The tally of one rule."""
        return self.rules.setdefault(rule, RuleTally())

    def add(self, other: Tally) -> None:
        """Count later rows."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.reasons = [*self.reasons, *other.reasons][:_KEPT_REASONS]
        for rule, tally in other.rules.items():
            self.of(rule).add(tally)

    def give_reasons(
        self,
        touched: Mapping[int, str],
        misplaced: Mapping[int, str],
        absent: Mapping[int, str],
        ids: Sequence[str],
        copies: int = 1,
    ) -> None:
        """Keep why rows of a batch were not rewritten, or not by all rules, or not protected.

        Of the copies of a row the first speaks for all.
        """
        touched, misplaced, absent = (
            {row - row % copies: why for row, why in sorted(reasons.items(), reverse=True)}
            for reasons in (touched, misplaced, absent)
        )
        self.touched, self.misplaced, self.absent = len(touched), len(misplaced), len(absent)
        first = sorted({**absent, **touched, **misplaced}.items())[:_KEPT_REASONS]
        self.reasons = [(ids[row], why) for row, why in first]

    def to_json(self) -> dict[str, Any]:
        """The tally as values that JSON knows."""
        plain = {slot.name: getattr(self, slot.name) for slot in fields(self)}
        rules = {
            rule: {
                **{name: getattr(of, name) for name in _OF_RULE},
                "examples": [(each.original, each.rewritten, each.edits) for each in of.examples],
            }
            for rule, of in self.rules.items()
        }
        return plain | {"rules": rules}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Tally:
        """What `to_json` gave.

        Example:
            >>> tally = Tally(rows=3, reasons=[("7", "the span 'red' was touched")])
            >>> Tally.from_json(tally.to_json()) == tally
            True
        """
        rules = {}
        for rule, counts in value["rules"].items():
            examples = [
                TallyExample(original, rewritten, tuple(Edit(*edit) for edit in edits))
                for original, rewritten, edits in counts["examples"]
            ]
            rules[rule] = RuleTally(**{**counts, "examples": examples})
        reasons = [(row, why) for row, why in value["reasons"]]
        return cls(**{**value, "rules": rules, "reasons": reasons})
