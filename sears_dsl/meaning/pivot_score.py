"""The paper's score: how likely a rewrite is, given a translation of its original.

Always holds: S(x, x) = 1; 0 ≤ S ≤ 1; `PivotScorer.at_least` decides as `PivotScorer.scores` does; a
pair scores the same alone, in any batch and with any number of threads (to the rounding of float32;
a search gives each process one thread, and the same bits).

`PivotScorer` is the score of "Semantically Equivalent Adversarial Rules for Debugging NLP Models"
(ACL 2018, section 2). A text e of another language, a *pivot*, stands for the meaning of x, and

    P(x′ | x)  ∝  Σᵢ P(x′ | eᵢ) P(eᵢ | x)          (paraphrase probability)
    S(x, x′)   =  min(1, P(x′ | x) / P(x | x))     (so that scores of different x compare)

Each pivot language gives one translation, and all languages weigh the same, so P(x′ | x) is the
mean of P(x′ | eᵢ) over the languages: probabilities of whole sentences are averaged, in log space.
Of the best five translations in a beam search, eᵢ is the one from which the back model recovers x
best, arg max P(x | e): a translation that loses part of x would make rewrites look good that lose
it too. The choice depends on x alone.

For long texts, x and x′ are the sentences in which they differ (`differing_parts`). They are
spelled in characters that all models have. Those that some model lacks, such as emoji, are
compared by themselves: a rewrite that has others than its original scores 0
(`sears_dsl.translation.alphabet`).

For the cost see `sears_dsl.translation.forced_scoring`. Translations of originals are remembered.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from sears_dsl.defaults import PAPER_TAU
from sears_dsl.errors import UsageError
from sears_dsl.translation.beam_search import FREE, DecoderInput, beam_search
from sears_dsl.translation.forced_scoring import ForcedScorer, source_totals
from sears_dsl.translation.long_texts import differing_parts
from sears_dsl.translation.pivots import Pivot, alphabet_of, load_pivots


def best_translations(pivot: Pivot, sentences: Sequence[str], *, candidates: int = 5) -> list[str]:
    """For each sentence the output of a beam search from which the back model recovers it best.

    All sentences are one batch, so they should be of like length. A sentence for which the search
    ends without an output gets the empty text.
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
    totals = source_totals(
        back,
        [text for _, text in tried],
        [row for row, _ in tried],
        [back.target_pieces(sentence) for sentence in sentences],
    )
    best: dict[int, tuple[str, float]] = {}
    for (row, text), total in zip(tried, totals.tolist(), strict=True):
        # A near tie goes to the likelier output, so that rounding does not choose.
        if row not in best or total > best[row][1] + 1e-4:
            best[row] = text, total
    return [best[row][0] for row in range(len(sentences))]


#: Translates each sentence into one text of the pivot language.
Translate: TypeAlias = Callable[[Pivot, Sequence[str]], list[str]]

# The version of what is read of a pair, to be raised when that changes: it keys stored scores.
_VERSION = 3
# Originals, and rewrites, that are scored together.
_TEXTS = 64
_REWRITES = 1024
# Originals whose translations are remembered.
_REMEMBERED = 1 << 16


class PivotScorer:
    """The paper's score through one or several pivot languages, by default the shipped one."""

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
        #: How the models are given texts.
        self.alphabet = alphabet_of(self.pivots)
        self._translate = translate
        self._translations: list[OrderedDict[str, str]] = [OrderedDict() for _ in self.pivots]
        self._backs = [ForcedScorer(pivot.back) for pivot in self.pivots]

    @property
    def identity(self) -> str:
        """The pivots with the hashes of their weights, how originals are translated, a version."""
        models = "+".join(pivot.identity for pivot in self.pivots)
        return f"pivot-{models}-{self._translate.__name__}-{_VERSION}"

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """S of each pair (original, rewrite), in [0, 1]; exact."""
        return np.exp(np.minimum(0.0, self.log_ratios(pairs)))

    def log_ratios(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Log P(rewrite | original) − log P(original | original), which may be above 0, or −∞."""
        ratios = np.full(len(pairs), -np.inf)
        for group in self._groups(pairs):
            ratios[group.numbers] = self._ratios(group)
        return ratios

    def at_least(self, pairs: Sequence[tuple[str, str]], tau: float) -> NDArray[np.bool_]:
        """Whether S ≥ ``tau``: the decisions of `scores`, at a fraction of its cost."""
        if tau <= 0:
            return np.ones(len(pairs), bool)
        if tau > 1:
            return np.zeros(len(pairs), bool)
        least = math.log(tau)
        decisions = np.zeros(len(pairs), bool)
        count = len(self.pivots)
        for group in self._groups(pairs):
            sources = self.translations(group.originals)
            originals = [
                back.read(own, group.originals)
                for back, own in zip(self._backs, sources, strict=True)
            ]
            base = np.logaddexp.reduce([each.totals for each in originals])[group.rows]
            # A mean reaches the least only if one of its members does.
            floors = base + least - math.log(count)
            totals = np.array([
                back.totals(original, group.rows, group.rewrites, floors=floors)
                for back, original in zip(self._backs, originals, strict=True)
            ])  # fmt: skip
            sure = np.minimum(0.0, np.logaddexp.reduce(totals) - base) >= least
            decisions[group.numbers[sure]] = True
            left_over = np.isfinite(totals).any(0) & ~sure
            if count > 1 and left_over.any():
                open_pairs = group.some(left_over)
                ratios = np.minimum(0.0, self._ratios(open_pairs))
                decisions[open_pairs.numbers] = ratios >= least
        return decisions

    def _groups(self, pairs: Sequence[tuple[str, str]]) -> Iterator[_PairGroup]:
        """The differing parts of pairs, spelled; without those whose unreadable parts differ."""
        parts = differing_parts(pairs)
        texts = {text for pair in parts for text in pair}
        unreadable = {text: self.alphabet.unreadable(text) for text in texts}
        spelled = {text: self.alphabet.spelled(text) for text in texts}
        numbers = [at for at, (one, two) in enumerate(parts) if unreadable[one] == unreadable[two]]
        pairs = [(spelled[parts[at][0]], spelled[parts[at][1]]) for at in numbers]
        return _groups(pairs, np.array(numbers, np.int64))

    def _ratios(self, group: _PairGroup) -> NDArray[np.float64]:
        """The log ratios of a group, which takes half the time since no reading is remembered."""
        sources = self.translations(group.originals)
        originals = [
            back.read_together(own, group.originals)
            for back, own in zip(self._backs, sources, strict=True)
        ]
        base = np.logaddexp.reduce([each.totals for each in originals])[group.rows]
        totals = [
            back.totals(original, group.rows, group.rewrites)
            for back, original in zip(self._backs, originals, strict=True)
        ]
        return np.asarray(np.logaddexp.reduce(totals) - base)

    def translations(self, sentences: Sequence[str]) -> list[list[str]]:
        """For each pivot its translations of the sentences."""
        spelled = list(map(self.alphabet.spelled, sentences))
        return [self._translated(number, spelled) for number in range(len(self.pivots))]

    def remember(self, translations: Mapping[str, Sequence[str]]) -> None:
        """Add translations that were made elsewhere: sentence → one text for each pivot."""
        for sentence, texts in translations.items():
            for known, text in zip(self._translations, texts, strict=True):
                known[self.alphabet.spelled(sentence)] = text

    def remembered(self, sentences: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """The translations that are known of some sentences, as `remember` takes them."""
        spelled = {sentence: self.alphabet.spelled(sentence) for sentence in sentences}
        return {
            sentence: tuple(known[key] for known in self._translations)
            for sentence, key in spelled.items()
            if all(key in known for known in self._translations)
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


@dataclass(frozen=True, slots=True)
class _PairGroup:
    """Pairs that are scored together: those of one original stand one after another."""

    pairs: Sequence[tuple[str, str]]
    numbers: NDArray[np.int64]  # (C,), the place of each pair among all
    originals: list[str]
    rows: NDArray[np.int64]  # (C,), the place of each pair's original among ``originals``

    @property
    def rewrites(self) -> list[str]:
        """The rewrites of all pairs."""
        return [rewrite for _, rewrite in self.pairs]

    def some(self, these: NDArray[np.bool_]) -> _PairGroup:
        """The group of those pairs that are marked in ``these``, (C,)."""
        return _grouped([each for each, taken in zip(self.pairs, these, strict=True) if taken],
                        self.numbers[these])  # fmt: skip


def _groups(pairs: Sequence[tuple[str, str]], numbers: NDArray[np.int64]) -> Iterator[_PairGroup]:
    """The pairs with their ``numbers``, in groups of like length that keep originals together."""
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
            here = order[begin : at + 1]
            yield _grouped([pairs[each] for each in here], numbers[here])
            begin, texts = at + 1, 0


def _grouped(pairs: Sequence[tuple[str, str]], numbers: NDArray[np.int64]) -> _PairGroup:
    originals = dict.fromkeys(original for original, _ in pairs)
    row_of = {original: row for row, original in enumerate(originals)}
    rows = np.array([row_of[original] for original, _ in pairs])
    return _PairGroup(pairs, numbers, list(originals), rows)
