"""The chance that people call two whole sentences the same in meaning.

Always holds: S(x, x) = 1, also where only white space differs. More evidence of any kind against a
pair never raises S within a set of curves. `SentenceMeaning.at_least` decides as
`SentenceMeaning.scores` does. Each distinct text costs one pass of the sentence encoder (see
`sears_dsl.judge.encoder`); decisions ask it only where lists and tables leave them open.

    S = 1 / (1 + exp(Σ taken_k(evidence_k) − intercept))

The evidence is the judge's, as far as it is about meaning: people who grade pairs of sentences
forgive a lost article or another number of a noun, for which a reader of a rule refuses its
rewrites. So the judge's networks are asked only about changes of content words, among which
question words count. There are two sets of curves: for pairs that differ in few words, where the
changed words and their order count, and for pairs that differ in many, where the vector of the
whole sentence does. `training.judge` fits both on graded sentences. In data where people call half
of all pairs the same, they do so for half of the pairs with S = .5.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from sears_dsl.judge import evidence as judge_evidence
from sears_dsl.judge import surface
from sears_dsl.judge.bert import ARITHMETIC
from sears_dsl.judge.changes import Change
from sears_dsl.judge.encoder import NUMBERS
from sears_dsl.judge.english import english
from sears_dsl.judge.evidence import Curves, Pair
from sears_dsl.judge.surface import SUPPORT, SURFACE
from sears_dsl.runtime.array_types import Floats
from sears_dsl.translation.long_texts import differing_parts

VERSION = 1
"""The version of sentence_meaning.json."""

FEW = 6
"""The most words in which a pair may differ to have the curves for few words."""

OF_SENTENCES = ("number replaced", "other content", "unlike content", "sentence as it is")
"""What `numbers_replaced` and `sentence_columns` add to the judge's evidence: how many numbers are
replaced by others; how far the worst change of content words is from certain (where "another word"
does not say so), and how unlike the new words are in the last layer; how far the vector of the
sentence turns, however long it is."""

_LAST, _WHOLE = NUMBERS.index("words, layer 6"), NUMBERS.index("sentence")
_FILE = Path(__file__).with_name("sentence_meaning.json")
_ANEW = "reinstall the package, or fit it again: python -m training.judge"


def chances(few: Curves, many: Curves, columns: Mapping[str, Floats]) -> Floats:
    """The chances, (N,), that people call pairs the same; bounds of them if columns are missing."""
    in_few = columns["words changed"] <= FEW
    return np.where(in_few, few.chances(columns), many.chances(columns))


def numbers_replaced(changes: Sequence[Sequence[Change]]) -> Floats:
    """How many numbers of each pair are replaced; one that is only added or lost does not count.

    Example:
        >>> from sears_dsl.judge.changes import changes_of
        >>> pairs = [("3 men in 2010", "4 men in 2012"), ("Bob, 12, is here", "Bob is here")]
        >>> numbers_replaced([changes_of(*pair) for pair in pairs]).tolist()
        [2.0, 0.0]
    """
    counts = []
    for some in changes:
        old, new = _numbers(each.old for each in some), _numbers(each.new for each in some)
        counts.append(min((old - new).total(), (new - old).total()))
    return np.array(counts, np.float64)


def sentence_columns(
    changes: Sequence[Sequence[Change]], evidence: judge_evidence.EncodedChanges
) -> dict[str, Floats]:
    """The evidence of `OF_SENTENCES` that the encoder sees, by name."""
    of_content = np.array(
        [_has_content((*each.old, *each.new)) for some in changes for each in some], np.float64
    )
    starts = np.cumsum(evidence.counts) - evidence.counts
    by_another_word = (evidence.counts == 1) & evidence.replaced[starts]
    against = np.maximum(0.0, judge_evidence.CERTAIN - evidence.odds) * of_content
    unlike = np.clip(1 - evidence.numbers[:, _LAST].astype(np.float64), 0, None) * of_content
    angles = np.arccos(np.clip(evidence.numbers[:, _WHOLE].astype(np.float64), -1, 1))
    worst, most_unlike, angle = (
        np.maximum.reduceat(each, starts) for each in (against, unlike, angles)
    )
    columns = np.where(by_another_word, 0.0, worst), most_unlike, angle
    return dict(zip(OF_SENTENCES[1:], columns, strict=True))


def _numbers(runs: Iterable[Sequence[str]]) -> Counter[str]:
    """How often each number stands in runs of words."""
    lower = ([word.lower() for word in words] for words in runs)
    return Counter(number for words in lower for number in english().numbers(words)[0])


def _has_content(words: Iterable[str]) -> bool:
    """Whether there is a word of the open classes, a number or a question word among words."""
    classes = (english().classes(word.lower()) for word in words if word[0].isalnum())
    return any(not some or "question" in some for some in classes)


@dataclass(frozen=True, eq=False)
class SentenceMeaning:
    """A scorer of whole sentences."""

    name = "meaning"

    few: Curves  # the curves of pairs that differ in at most `FEW` words
    many: Curves
    evidence: judge_evidence.Evidence
    identity: str
    tau: float

    def scores(self, pairs: Sequence[Pair]) -> Floats:
        """S of each pair, in [0, 1]."""
        return self._bounded_scores(pairs, 0.0)

    def at_least(self, pairs: Sequence[Pair], tau: float) -> NDArray[np.bool_]:
        """Whether S ≥ ``tau``; asks the encoder only about pairs that lists leave open."""
        return self._bounded_scores(pairs, tau) >= tau

    def _bounded_scores(self, pairs: Sequence[Pair], tau: float) -> Floats:
        """S of each pair, or for a pair certainly below ``tau`` a bound that is below it too."""
        pairs = differing_parts(pairs)
        changes = [judge_evidence.differences(*pair) for pair in pairs]
        scores = np.ones(len(pairs))
        rows = np.flatnonzero([bool(each) for each in changes])
        if not len(rows):
            return scores
        columns = judge_evidence.surface_columns([pairs[row] for row in rows.tolist()])
        columns[OF_SENTENCES[0]] = numbers_replaced([changes[row] for row in rows.tolist()])
        scores[rows] = chances(self.few, self.many, columns)
        # More evidence can only lower a chance: a pair below τ without it is below τ with it.
        open_ = np.flatnonzero(scores[rows] >= tau)
        if len(open_):
            open_rows = rows[open_]
            columns = {name: values[open_] for name, values in columns.items()}
            differing = [changes[row] for row in open_rows.tolist()]
            evidence = self.evidence.encode([pairs[row] for row in open_rows.tolist()], differing)
            columns.update(judge_evidence.content_columns(evidence))
            columns.update(sentence_columns(differing, evidence))
            scores[open_rows] = chances(self.few, self.many, columns)
        return scores


def load_sentence_meaning(
    *, tau: float | None = None, device: str | torch.device | None = None
) -> SentenceMeaning:
    """The shipped scorer of whole sentences."""
    record = judge_evidence.read_numbers(
        _FILE,
        version=VERSION,
        curves=("few", "many"),
        evidence={*SURFACE, *SUPPORT, *judge_evidence.CONTENT, *OF_SENTENCES},
        advice=_ANEW,
    )
    few, many = record.curves
    digest = hashlib.sha256(record.content + f"{surface.VERSION}{ARITHMETIC}".encode()).hexdigest()
    return SentenceMeaning(
        few,
        many,
        evidence=judge_evidence.load_evidence(record, device=device),
        identity=f"meaning-{digest[:16]}",
        tau=float(record.entry["tau"]) if tau is None else tau,
    )
