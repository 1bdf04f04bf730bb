"""Adversaries: paraphrases of a row that a model answers otherwise, though it had the row right.

Always holds: every adversary's score is at least τ and the model's answer to it is a flip. Costs
one prediction for each paraphrase, one question for each that flips, and one score for each
adversary.

Source: Ribeiro, Singh, Guestrin, "Semantically Equivalent Adversarial Rules for Debugging NLP
Models", ACL 2018: SEA(x, x') = 1[SemEq(x, x') ∧ f(x) ≠ f(x')], with SemEq(x, x') = 1[S(x, x') ≥ τ].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from sears_dsl.effects.flips import RightRows

if TYPE_CHECKING:
    from sears_dsl.data.labelled import LabelledRows
    from sears_dsl.meaning.scorers import Scorer

# The base rate is counted on so many rows at most, and a row's paraphrases are looked through so
# far for one that keeps the meaning: each look is a question to the scorer.
_BASE_ROWS = 400
_LOOKS = 3


@dataclass(frozen=True, slots=True)
class Adversary:
    """A paraphrase that flips the model's answer to a right row, and S(original, text).

    ``label`` is what the model says of the original, rightly; ``prediction`` what it says of the
    paraphrase.
    """

    row: int
    original: str
    text: str
    score: float
    label: str
    prediction: str


@dataclass(frozen=True, slots=True)
class ParaphraseFlips:
    """What the model answers to paraphrases of its right rows."""

    # The adversaries, sorted by row, then best first; equal scores by text
    adversaries: tuple[Adversary, ...]
    paraphrases: int  # how many paraphrases the model was asked about
    base_rows: int  # rows of which a paraphrase with S ≥ τ, drawn by lot, was looked at
    base_flips: int  # how many of these paraphrases flipped the model

    @property
    def base_rate(self) -> float:
        """How often a paraphrase that keeps the meaning flips the model; 0 where none does."""
        return self.base_flips / max(1, self.base_rows)


def find_adversaries(
    right: RightRows,
    paraphrases: Sequence[Sequence[str]],
    *,
    scorer: Scorer,
    tau: float,
    ask: Callable[[Sequence[int], Sequence[str]], Sequence[str | None]] | None = None,
    stop: Callable[[], bool] = lambda: False,
    portion: int = 1024,
    base: bool = True,
) -> ParaphraseFlips:
    """The paraphrases that flip a model's answer and keep the meaning.

    The scorer is asked about those that flip, and where the ``base`` rate is wanted a few of each
    row besides; ``stop`` between portions leaves the rest out. ``ask`` says None where there was no
    time; `RightRows.ask` if None.
    """
    # The best paraphrases of all rows come first: where time ends, each row was looked at.
    questions = sorted(
        (place, number, text)
        for number, of_row in enumerate(paraphrases)
        for place, text in enumerate(of_row)
    )
    answers = (ask or right.ask)([each[1] for each in questions], [each[2] for each in questions])
    known = {
        (number, text): answer
        for (_, number, text), answer in zip(questions, answers, strict=True)
        if answer is not None
    }
    flips = sorted(pair for pair, answer in known.items() if right.flipped(pair[0], answer))
    # First, and a portion of it alone where time is short: without a base rate nothing is proven.
    drawn = one_of_each_row(
        right, known if base else (), scorer=scorer, tau=tau, stop=stop, portion=portion
    )
    equivalents: list[tuple[int, str]] = []
    scores: list[float] = []
    for first in range(0, len(flips), portion):
        if stop():
            break
        # Most flips lose the meaning, which is cheaper to see than how far they are from it.
        some = flips[first : first + portion]
        keeps = scorer.at_least([(right.texts[number], text) for number, text in some], tau)
        good = [pair for pair, keep in zip(some, keeps, strict=True) if keep]
        equivalents += good
        scores += scorer.scores([(right.texts[number], text) for number, text in good]).tolist()
    adversaries = [
        Adversary(
            row=number,
            original=right.texts[number],
            text=text,
            score=score,
            label=right.predictions[number],
            prediction=known[number, text],
        )
        for (number, text), score in zip(equivalents, scores, strict=True)
    ]
    adversaries.sort(key=lambda each: (each.row, -each.score, each.text))
    return ParaphraseFlips(
        tuple(adversaries),
        paraphrases=len(known),
        base_rows=len(drawn),
        base_flips=len(set(flips).intersection(drawn)),
    )


def one_of_each_row(
    right: RightRows,
    paraphrases: Iterable[tuple[int, str]],
    *,
    scorer: Scorer,
    tau: float,
    stop: Callable[[], bool] = lambda: False,
    portion: int = 1024,
) -> list[tuple[int, str]]:
    """Of some hundred rows a paraphrase that keeps the meaning, for the base rate.

    One paraphrase a row, by lot: paraphrases of one row flip together, rows do not.
    """
    of_row: dict[int, list[str]] = {}
    for number, text in paraphrases:
        of_row.setdefault(number, []).append(text)
    order = sorted(of_row, key=lambda number: (_lot(right.texts[number]), number))
    open_rows = order[: min(_BASE_ROWS, portion)]
    drawn = {number: sorted(of_row[number], key=_lot)[:_LOOKS] for number in open_rows}
    equivalents: list[tuple[int, str]] = []
    for look in range(_LOOKS):
        pairs = [(number, drawn[number][look]) for number in open_rows if look < len(drawn[number])]
        if not pairs or stop():
            break
        keeps = scorer.at_least([(right.texts[number], text) for number, text in pairs], tau)
        good = [pair for pair, keep in zip(pairs, keeps, strict=True) if keep]
        equivalents += good
        good_rows = {number for number, _ in good}
        open_rows = [number for number in open_rows if number not in good_rows]
    return equivalents


def _lot(text: str) -> bytes:
    """The place of a text in an order that has nothing to do with what it says."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def best_of_each_row(adversaries: Sequence[Adversary], most: int) -> list[Adversary]:
    """The first ``most`` adversaries of each row, in the order given."""
    counts: dict[int, int] = {}
    best = []
    for adversary in adversaries:
        counts[adversary.row] = counts.get(adversary.row, 0) + 1
        if counts[adversary.row] <= most:
            best.append(adversary)
    return best


def adversary_columns(
    adversaries: Sequence[Adversary], data: LabelledRows, right: RightRows
) -> dict[str, list[Any]]:
    """Adversaries as a table: row (from 1), original, adversary, score, label, prediction."""
    return {
        "row": [data.number(right.positions[each.row]) for each in adversaries],
        "original": [each.original for each in adversaries],
        "adversary": [each.text for each in adversaries],
        "score": [each.score for each in adversaries],
        "label": [each.label for each in adversaries],
        "prediction": [each.prediction for each in adversaries],
    }
