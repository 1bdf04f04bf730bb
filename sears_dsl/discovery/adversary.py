"""Adversaries: paraphrases of a row that a model answers otherwise, though it had the row right.

In: the rows that a model has right, their paraphrases, a semantic score. Out: semantically
equivalent adversaries (SEAs), row by row, best first. Always holds: every adversary's score is at
least τ and the model's answer to it is a flip. Costs one prediction for each paraphrase, one
question for each that flips, and one score for each adversary.

Source: Ribeiro, Singh, Guestrin, "Semantically Equivalent Adversarial Rules for Debugging NLP
Models", ACL 2018: SEA(x, x') = 1[SemEq(x, x') ∧ f(x) ≠ f(x')], with SemEq(x, x') = 1[S(x, x') ≥ τ].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sears_dsl.discovery.rightness import RightRows
from sears_dsl.discovery.semantics import Scorer

__all__ = ["Adversaries", "Adversary", "best_of_each_row", "find_adversaries"]


@dataclass(frozen=True, slots=True)
class Adversary:
    """A paraphrase that flips the model's answer.

    Attributes:
        row: number of the right row.
        original: its text.
        text: the paraphrase.
        score: S(original, text), between τ and 1.
        label: what the model says of the original, rightly.
        prediction: what it says of the paraphrase.
    """

    row: int
    original: str
    text: str
    score: float
    label: str
    prediction: str


@dataclass(frozen=True, slots=True)
class Adversaries:
    """What came of rewording rows.

    Attributes:
        found: the adversaries, sorted by row, then best first; equal scores by text.
        paraphrases: how many paraphrases the model was asked about.
        flipping: how many of these flipped it, whatever their score.
    """

    found: tuple[Adversary, ...]
    paraphrases: int
    flipping: int

    @property
    def base_rate(self) -> float:
        """How often any rewording flips the model."""
        return self.flipping / max(1, self.paraphrases)


def find_adversaries(
    right: RightRows, paraphrases: Sequence[Sequence[str]], *, scorer: Scorer, tau: float
) -> Adversaries:
    """The paraphrases that flip a model's answer and keep the meaning.

    Args:
        right: the rows that the model has right.
        paraphrases: for each of them its paraphrases.
        scorer: S; asked for paraphrases that flip.
        tau: the score from which on a paraphrase counts as equivalent.

    Example:
        >>> import numpy as np
        >>> from sears_dsl.discovery.labelled import LabelledRows
        >>> class Shouting:
        ...     identity = "shouting"
        ...     def predict(self, rows):
        ...         return ["loud" if "!" in row["text"] else "quiet" for row in rows]
        >>> class Half:
        ...     name, identity, tau = "half", "half", 0.1
        ...     def scores(self, pairs):
        ...         return np.full(len(pairs), 0.5)
        ...     def at_least(self, pairs, tau):
        ...         return self.scores(pairs) >= tau
        >>> data = LabelledRows(({"text": "It is fun."},), "text", None, "a.csv")
        >>> found = find_adversaries(
        ...     RightRows(data, Shouting()), [["It's fun.", "It is fun!"]], scorer=Half(), tau=0.1)
        >>> [(each.text, each.prediction, each.score) for each in found.found], found.base_rate
        ([('It is fun!', 'loud', 0.5)], 0.5)
    """
    asked = [(number, text) for number, found in enumerate(paraphrases) for text in found]
    answers = right.ask([number for number, _ in asked], [text for _, text in asked])
    flips = [
        (number, text, answer)
        for (number, text), answer in zip(asked, answers, strict=True)
        if right.flipped(number, answer)
    ]
    # Most flips lose the meaning, which is cheaper to see than how far they are from it.
    kept = scorer.at_least([(right.texts[number], text) for number, text, _ in flips], tau)
    flipping = len(flips)
    flips = [flip for flip, keeps in zip(flips, kept, strict=True) if keeps]
    scores = scorer.scores([(right.texts[number], text) for number, text, _ in flips])
    adversaries = [
        Adversary(
            row=number,
            original=right.texts[number],
            text=text,
            score=float(score),
            label=right.predictions[number],
            prediction=answer,
        )
        for (number, text, answer), score in zip(flips, scores, strict=True)
    ]
    adversaries.sort(key=lambda each: (each.row, -each.score, each.text))
    return Adversaries(tuple(adversaries), paraphrases=len(asked), flipping=flipping)


def best_of_each_row(adversaries: Sequence[Adversary], most: int) -> list[Adversary]:
    """The first ``most`` adversaries of each row, in the order given."""
    taken: dict[int, int] = {}
    kept = []
    for adversary in adversaries:
        taken[adversary.row] = taken.get(adversary.row, 0) + 1
        if taken[adversary.row] <= most:
            kept.append(adversary)
    return kept
