"""Semantic scores: how far a rewrite still means what the original means.

What always holds: S(x, x) = 1; 0 ≤ S ≤ 1; `Scorer.at_least` takes the decisions of `Scorer.scores`;
a pair scores the same alone and in any company (to the rounding of float32).

`PivotScorer` is the score of "Semantically Equivalent Adversarial Rules for Debugging NLP Models"
(ACL 2018, section 2). A text e of another language, a *pivot*, stands for the meaning of x, and

    P(x′ | x)  ∝  Σᵢ P(x′ | eᵢ) P(eᵢ | x)          (paraphrase probability)
    S(x, x′)   =  min(1, P(x′ | x) / P(x | x))     (so that scores of different x compare)

One translation is taken for each pivot language, and every language weighs the same, so that P(x′ |
x) is the mean of P(x′ | eᵢ) over the languages: probabilities of whole sentences are averaged, in
log space. The translation eᵢ is, of the best five of a beam search, the one from which the back
model recovers x best, arg max P(x | e): a translation that loses part of x would make rewrites look
good that lose it too. The choice depends on x alone.

Of long texts x and x′ are the sentences in which they differ (`differing_parts`).

Cost: see `sears_dsl.translation.forced_scoring`; the translation of each original is remembered.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from sears_dsl.errors import UsageError
from sears_dsl.meaning.scorer import PAPER_TAU
from sears_dsl.translation.beam_search import FREE, DecoderInput, beam_search
from sears_dsl.translation.forced_scoring import (
    Originals,
    join_originals,
    read_originals,
    total_log_probabilities,
)
from sears_dsl.translation.long_texts import differing_parts
from sears_dsl.translation.pivots import Pivot, load_pivots


def best_translations(pivot: Pivot, sentences: Sequence[str], *, candidates: int = 5) -> list[str]:
    """Of the best outputs of a beam search the one that gives the sentence back best.

    All sentences are one batch, so they are best of like length; empty ones become nothing.
    """
    if not sentences:
        return []
    forward, back = pivot.forward, pivot.back
    outputs = beam_search(
        [DecoderInput(forward, forward.encode(sentences), torch.arange(len(sentences)))],
        [FREE] * len(sentences),
        beam=candidates,
        floors=[float("-inf")] * len(sentences),
        lengths=[2 * len(forward.source_pieces(sentence)) + 10 for sentence in sentences],
        limit=candidates,
    )
    tried: list[tuple[int, str]] = []
    for row, hypotheses in enumerate(outputs):
        texts = dict.fromkeys(forward.text(item.pieces) for item in hypotheses)
        tried.extend((row, text) for text in texts or [""])
    scores = back.score(
        back.encode([text for _, text in tried]),
        torch.arange(len(tried), device=back.device),
        [back.target_pieces(sentences[row]) for row, _ in tried],
    )
    best: dict[int, tuple[str, float]] = {}
    for (row, text), score in zip(tried, scores, strict=True):
        total = float(score.double().sum())
        # A near tie goes to the likelier output, so that rounding does not choose.
        if row not in best or total > best[row][1] + 1e-4:
            best[row] = text, total
    return [best[row][0] for row in range(len(sentences))]


#: From sentences to one text of the pivot language each.
Translate: TypeAlias = Callable[[Pivot, Sequence[str]], list[str]]

# Originals, and rewrites, that are scored together.
_TEXTS = 64
# Originals that stay read, at some 200 kB each: a filter comes back to them again and again.
_READ = 1024
_REWRITES = 1024
# Originals whose translations are remembered.
_REMEMBERED = 1 << 16


class PivotScorer:
    """The paper's score through one or several pivot languages; by default the carried."""

    name = "pivot"

    def __init__(
        self,
        pivots: Sequence[Pivot] | None = None,
        *,
        translate: Translate = best_translations,
        tau: float = PAPER_TAU,
    ) -> None:
        self.pivots = tuple(load_pivots() if pivots is None else pivots)
        if not self.pivots:
            raise UsageError("a pivot scorer needs a pivot", help="load_pivots() loads one")
        self.tau = tau
        self._translate = translate
        self._translations: list[OrderedDict[str, str]] = [OrderedDict() for _ in self.pivots]
        self._originals: list[OrderedDict[str, Originals]] = [OrderedDict() for _ in self.pivots]

    @property
    def identity(self) -> str:
        """The pivots with the hashes of their weights, and how originals are translated."""
        models = "+".join(pivot.identity for pivot in self.pivots)
        return f"pivot-{models}-{self._translate.__name__}"

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """S of each pair (original, rewrite), in [0, 1]; exact."""
        return np.exp(np.minimum(0.0, self.log_ratios(pairs)))

    def log_ratios(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Log P(rewrite | original) − log P(original | original), which may be above 0."""
        pairs = differing_parts(pairs)
        ratios = np.zeros(len(pairs))
        for group in _groups(pairs):
            originals = self._read_together(group)
            rewrites = [
                self._totals(group, number, original) for number, original in enumerate(originals)
            ]
            base = _log_sum([original.totals for original in originals])
            ratios[group.numbers] = _log_sum(rewrites) - base[group.rows]
        return ratios

    def at_least(self, pairs: Sequence[tuple[str, str]], tau: float) -> NDArray[np.bool_]:
        """Whether S ≥ ``tau``: the decisions of `scores`, at a fraction of its cost."""
        if tau <= 0:
            return np.ones(len(pairs), bool)
        if tau > 1:
            return np.zeros(len(pairs), bool)
        least = math.log(tau)
        pairs = differing_parts(pairs)
        decisions = np.zeros(len(pairs), bool)
        count = len(self.pivots)
        for group in _groups(pairs):
            originals = self._read(group)
            base = _log_sum([original.totals for original in originals])[group.rows]
            numbers = np.array(group.numbers)
            # A mean reaches the least only if one of its members does.
            totals = [
                self._totals(group, number, original, floors=base + least - math.log(count))
                for number, original in enumerate(originals)
            ]
            sure = np.minimum(0.0, _log_sum(totals) - base) >= least
            decisions[numbers[sure]] = True
            if count > 1:
                left_over = np.isfinite(totals).any(0) & ~sure
                open_pairs = [pairs[number] for number in numbers[left_over]]
                ratios = np.minimum(0.0, self.log_ratios(open_pairs))
                decisions[numbers[left_over]] = ratios >= least
        return decisions

    def translations(self, sentences: Sequence[str]) -> list[list[str]]:
        """For each pivot the texts that stand for the sentences' meanings."""
        return [self._translated(number, list(sentences)) for number in range(len(self.pivots))]

    def remember(self, translations: Mapping[str, Sequence[str]]) -> None:
        """Take translations that were made elsewhere: sentence → one text for each pivot."""
        for sentence, texts in translations.items():
            for known, text in zip(self._translations, texts, strict=True):
                known[sentence] = text

    def remembered(self, sentences: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """The translations that are known of some sentences, as `remember` takes them."""
        return {
            sentence: tuple(known[sentence] for known in self._translations)
            for sentence in sentences
            if all(sentence in known for known in self._translations)
        }

    def _translated(self, number: int, sentences: list[str]) -> list[str]:
        known = self._translations[number]
        missing = [sentence for sentence in dict.fromkeys(sentences) if sentence not in known]
        missing.sort(key=len)
        for begin in range(0, len(missing), _TEXTS):
            batch = missing[begin : begin + _TEXTS]
            texts = self._translate(self.pivots[number], batch)
            known.update(zip(batch, texts, strict=True))
        translations = [known[sentence] for sentence in sentences]
        while len(known) > _REMEMBERED:
            known.popitem(last=False)
        return translations

    def _read(self, group: _PairGroup) -> list[Originals]:
        """The group's originals through each pivot, remembered for the next questions."""
        return [
            join_originals(self._read_one_by_one(number, group.originals))
            for number in range(len(self.pivots))
        ]

    def _read_together(self, group: _PairGroup) -> list[Originals]:
        """The same for one question, in half the time and with nothing remembered."""
        return [
            read_originals(
                pivot.back,
                self._translated(number, group.originals),
                [pivot.back.target_pieces(text) for text in group.originals],
            )
            for number, pivot in enumerate(self.pivots)
        ]

    def _read_one_by_one(self, number: int, sentences: list[str]) -> list[Originals]:
        # By itself, so that numbers do not depend on what was read before or beside it.
        known, back = self._originals[number], self.pivots[number].back
        originals = []
        for sentence, source in zip(sentences, self._translated(number, sentences), strict=True):
            original = known.pop(sentence, None)
            if original is None:
                original = read_originals(back, [source], [back.target_pieces(sentence)])
            known[sentence] = original
            originals.append(original)
        while len(known) > _READ:
            known.popitem(last=False)
        return originals

    def _totals(
        self,
        group: _PairGroup,
        number: int,
        originals: Originals,
        *,
        floors: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Log-probabilities of a group's rewrites through one pivot; see `forced`."""
        back = self.pivots[number].back
        rewrites = [back.target_pieces(text) for text in group.rewrites]
        return total_log_probabilities(back, originals, group.rows, rewrites, floors=floors)


class _PairGroup:
    """Pairs that are scored together."""

    def __init__(self, pairs: Iterable[tuple[int, str, str]]) -> None:
        self.originals: list[str] = []
        self.numbers: list[int] = []
        self.rows: list[int] = []
        self.rewrites: list[str] = []
        for number, original, rewrite in pairs:
            if not self.originals or self.originals[-1] != original:
                self.originals.append(original)
            self.numbers.append(number)
            self.rows.append(len(self.originals) - 1)
            self.rewrites.append(rewrite)


def _groups(pairs: Sequence[tuple[str, str]]) -> Iterator[_PairGroup]:
    """The pairs with those of one original together, texts of like length in one group."""
    order = sorted(range(len(pairs)), key=lambda number: (len(pairs[number][0]), pairs[number]))
    begin = texts = 0
    for at, number in enumerate(order):
        texts += at == begin or pairs[number][0] != pairs[order[at - 1]][0]
        last = at + 1 == len(order)
        if (
            last
            or at + 1 - begin == _REWRITES
            or (texts == _TEXTS and pairs[order[at + 1]][0] != pairs[number][0])
        ):
            yield _PairGroup((n, *pairs[n]) for n in order[begin : at + 1])
            begin, texts = at + 1, 0


def _log_sum(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Log Σ exp, element by element."""
    if len(parts) == 1:
        return parts[0]
    total: NDArray[np.float64] = np.logaddexp.reduce(np.stack(parts), axis=0)
    return total
