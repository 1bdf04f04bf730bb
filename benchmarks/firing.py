"""Where rules fire, compared between two ways of tagging the same sentences.

In: for each way the (rule, sentence, edit) of every firing. Out: precision and recall of 'the rule
fires here', micro over firings and macro over rules, with intervals. Always holds: equal inputs and
seed give equal figures. Intervals are 95% percentiles of a bootstrap over sentences, so that all
firings of a sentence stay together; two taggers that are compared are judged on the same draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.matcher import Matcher
from sears_dsl.runtime.array_types import Floats
from sears_dsl.tagging.tokens import Tokens

__all__ = ["Agreement", "Firing", "Interval", "Scores", "difference", "firings", "worst"]

#: Rule, sentence, and the edit: (first character, one past the last, new text), or None where only
#: the firing counts.
Firing: TypeAlias = tuple[int, int, tuple[int, int, str] | None]
Interval: TypeAlias = tuple[float, float]
Ints: TypeAlias = NDArray[np.int64]

DRAWS = 1000
SEED = 0
# The fewest gold firings with which a rule counts in macro figures.
LEAST = 5


def firings(
    matcher: Matcher, tokens: Tokens, *, rules: NDArray[np.bool_], places: bool
) -> set[Firing]:
    """Where rules change a sentence.

    Args:
        matcher: the rules.
        tokens: the sentences, tagged.
        rules: which of the rules count.
        places: whether firings that differ in place or result count as different.
    """
    done = matcher.rewrites(tokens, matcher.find(tokens))
    pairs = zip(done.rules.tolist(), done.rows.tolist(), strict=True)
    if not places:
        return {(rule, row, None) for rule, row in pairs if rules[rule]}
    columns = done.columns
    first = columns.edit_offsets[:-1]  # under scope `first` a rewrite has one edit
    edits = zip(
        columns.edit_starts[first].tolist(),
        columns.edit_ends[first].tolist(),
        [columns.new_texts[new] for new in columns.new_ids[first].tolist()],
        strict=True,
    )
    return {
        (rule, row, edit)
        for (rule, row), edit in zip(pairs, edits, strict=True)
        if rules[rule]
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scores:
    """Precision, recall and their harmonic mean, each with an interval."""

    precision: float
    recall: float
    f1: float
    intervals: tuple[Interval, Interval, Interval]

    def cells(self) -> dict[str, str]:
        """For people: 0.951 (0.940 to 0.962)."""
        values = (self.precision, self.recall, self.f1)
        return {
            name: f"{value:.3f} ({low:.3f} to {high:.3f})"
            for name, value, (low, high) in zip(
                ("precision", "recall", "F1"), values, self.intervals, strict=True
            )
        }


class Agreement:
    """Firings with a tagger's tags, compared with those with gold tags.

    Args:
        gold: firings with gold tags.
        found: firings with the tagger's tags.
        sentences: how many sentences there are.
        rules: how many rules there are.
    """

    def __init__(
        self, gold: set[Firing], tagged: set[Firing], *, sentences: int, rules: int
    ) -> None:
        self.sentences = sentences
        self.rules = rules
        self.both = _columns(gold & tagged)
        self.noisy = _columns(tagged - gold)
        self.missing = _columns(gold - tagged)

    def part(self, rules: NDArray[np.bool_]) -> Agreement:
        """The agreement on some of the rules."""
        some = object.__new__(Agreement)
        some.sentences, some.rules = self.sentences, self.rules
        some.both, some.noisy, some.missing = (
            each[:, rules[each[0]]] for each in (self.both, self.noisy, self.missing)
        )
        return some

    @cached_property
    def gold(self) -> int:
        """Firings with gold tags."""
        return self.both.shape[1] + self.missing.shape[1]

    def micro(self) -> Scores:
        """Scores in which every firing weighs the same."""
        whole = _rates(*(np.array(float(each.sum())) for each in self._of_rows()))
        return _scores(whole, self._micro_draws())

    def draws(self, weighing: str) -> Floats:
        """F1 in each draw, ``micro`` or ``macro``."""
        if weighing == "micro":
            return np.asarray(self._micro_draws()[2])
        chosen = self._often()
        drawn = [_means(*self._of_rules(draw)[:, chosen])[2] for draw in _draws(self.sentences)]
        return np.array(drawn)

    def macro(self) -> tuple[Scores, int]:
        """Scores in which every rule with five gold firings weighs the same, and their number."""
        counts, chosen = self.of_rules(), self._often()
        draws = [
            _means(*(self._of_rules(draw)[:, chosen])) for draw in _draws(self.sentences)
        ]  # fmt: skip
        whole = _means(*counts[:, chosen])
        return _scores(whole, np.array(draws).T), int(chosen.sum())

    def _micro_draws(self) -> Floats:
        both, noisy, missing = (
            (_draws(self.sentences) @ each).astype(np.float64) for each in self._of_rows()
        )
        return _rates(both, noisy, missing)

    def _often(self) -> NDArray[np.bool_]:
        counts = self.of_rules()
        return np.asarray(counts[0] + counts[2] >= LEAST)

    def _of_rows(self) -> list[Ints]:
        return [
            np.bincount(each[1], minlength=self.sentences)
            for each in (self.both, self.noisy, self.missing)
        ]

    def of_rules(self) -> Floats:
        """(3, rules): firings of each rule in both, only with the tagger's tags, only with gold."""
        return self._of_rules(np.ones(self.sentences, np.int64))

    def _of_rules(self, weights: Ints) -> Floats:
        return np.array(
            [
                np.bincount(each[0], weights=weights[each[1]], minlength=self.rules)
                for each in (self.both, self.noisy, self.missing)
            ]
        )


def difference(first: Agreement, second: Agreement, *, weighing: str) -> tuple[float, Interval]:
    """F1 of the second minus F1 of the first on the same sentences, with its interval.

    Args:
        first: the agreement of one tagger.
        second: the agreement of the other.
        weighing: ``micro`` or ``macro``.
    """
    values = [
        (each.micro() if weighing == "micro" else each.macro()[0]).f1 for each in (first, second)
    ]
    return values[1] - values[0], _interval(second.draws(weighing) - first.draws(weighing))


def _columns(firings: set[Firing]) -> Ints:
    """(2, firings): rules and sentences."""
    ordered = sorted((rule, row) for rule, row, _ in firings)
    return np.array(ordered, np.int64).reshape(-1, 2).T


_KEPT: dict[int, Ints] = {}


def _draws(sentences: int) -> Ints:
    """(draws, sentences): how often each sentence is drawn."""
    if sentences not in _KEPT:
        random = np.random.default_rng(SEED)
        drawn = [
            np.bincount(random.integers(sentences, size=sentences), minlength=sentences)
            for _ in range(DRAWS)
        ]
        _KEPT[sentences] = np.array(drawn, np.int16)
    return _KEPT[sentences]


def _rates(both: Floats, noisy: Floats, missing: Floats) -> Floats:
    """Precision, recall, F1; 1 where there is nothing to find and nothing was reported."""
    return np.array(
        [
            _share(both, both + noisy),
            _share(both, both + missing),
            _share(2 * both, 2 * both + noisy + missing),
        ]
    )


def _share(some: Floats, every: Floats) -> Floats:
    return np.where(every > 0, some / np.maximum(every, 1), 1.0)


def _means(both: Floats, noisy: Floats, missing: Floats) -> Floats:
    """Means over rules; a rule that fires nowhere in a draw does not count in it."""
    rates = _rates(both, noisy, missing)
    there = np.array([both + noisy, both + missing, both + noisy + missing]) > 0
    return np.asarray((rates * there).sum(axis=1) / np.maximum(there.sum(axis=1), 1))


def _scores(whole: Floats, drawn: Floats) -> Scores:
    intervals = tuple(_interval(each) for each in drawn)
    precision, recall, f1 = (float(each) for each in whole)
    return Scores(precision, recall, f1, (intervals[0], intervals[1], intervals[2]))


def _interval(drawn: Floats) -> Interval:
    low, high = np.percentile(drawn, (2.5, 97.5))
    return float(low), float(high)


def worst(agreement: Agreement, names: Sequence[str], most: int) -> list[dict[str, object]]:
    """The rules with most disagreements."""
    both, noisy, missing = agreement.of_rules().astype(int)
    order = np.lexsort((np.arange(agreement.rules), -(noisy + missing)))[:most]
    return [
        {
            "rule": names[rule],
            "both": int(both[rule]),
            "noisy": int(noisy[rule]),
            "missing": int(missing[rule]),
        }
        for rule in order.tolist()
        if noisy[rule] + missing[rule]
    ]
