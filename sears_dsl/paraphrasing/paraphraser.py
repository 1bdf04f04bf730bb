"""Paraphrases of sentences, by translating there and back.

A paraphrase x' of x has S(x, x') = min(1, P(x'|x) / P(x|x)) of at least tau. Scores are those of
`PivotScorer`, or estimates where not ``exact``. Texts are distinct, differ from the sentence in
more than white space and are within the edit distance. The same call gives the same bytes. Other
sentences in the call change scores by rounding only; where not ``exact``, they also change which
paraphrases there are, since sentences that are searched together share a shortlist of pieces. Each
sentence costs a beam search for each group of pivots that share a vocabulary; sentences of like
length are searched together.

With several pivots, P(x'|x) is the mean over them. Pivots that write with the same pieces are
searched in one beam, which holds this mean exactly. Others are searched separately, each by its own
ratio, and all pivots score what any of them finds. That loses nothing: the ratio of means is a mean
of the ratios, weighted by P(x|x), so that one of them reaches tau where the whole does.

An output is complete exactly if it is within the edit distance and has no forbidden phrase (as
whole words in any casing, however cut into pieces). A sentence in lower case gets paraphrases in
lower case only. Characters that the models do not have, such as emoji, stay in their place
(`sears_dsl.translation.alphabet`). The distance is Levenshtein's over words, computed on
prefixes: no prefix of a text within the bound is `DEAD`. Prefixes are banked by the words that they
have changed so far, and each is offered the pieces that lead back into the sentence. Otherwise,
where the model itself would word the sentence differently, the beam fills with outputs that change
everything, and the small changes, which make rules, are never seen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch

from sears_dsl.defaults import BEAM_WIDTH, PAPER_TAU
from sears_dsl.errors import UsageError
from sears_dsl.meaning.pivot_score import PivotScorer
from sears_dsl.paraphrasing.restoring import Surface, natural_form, whole_word
from sears_dsl.translation.beam_search import DecoderInput, Guide, beam_search
from sears_dsl.translation.forced_scoring import Originals, read_originals
from sears_dsl.translation.long_texts import sentences_of
from sears_dsl.translation.network import TranslationModel
from sears_dsl.translation.pivots import Pivot

# A shortlist has the pieces that are at least this likely at some position of an original, and
# this many of the first pieces of the vocabulary, which SentencePiece sorts by frequency.
_NEAR = 2e-6
_FREQUENT = 1000
_MULTIPLE = 256
_BATCH = 16


def near_pieces(readings: Sequence[Originals], size: int, needed: Iterable[int]) -> list[int]:
    """The shortlist of a batch, out of a vocabulary of ``size``, with all ``needed`` pieces."""
    chosen = set(needed)
    for originals in readings:
        chosen.update(torch.cat(list(originals.likely)).tolist(), *originals.pieces)
    count = len(chosen.union(range(min(_FREQUENT, size))))
    more = (piece for piece in range(size) if piece not in chosen)
    chosen.update(islice(more, -(-count // _MULTIPLE) * _MULTIPLE - len(chosen)))
    return sorted(chosen)


# To be raised when other paraphrases are made; it is part of what identifies them.
_VERSION = 2
# Decimals of a score: further ones depend on the batch.
_DECIMALS = 4
# Paraphrases of a sentence, at most.
_MOST = 100
#: Pieces of a sentence, at most; longer sentences are not searched.
MOST_PIECES = 60


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """Another way of saying a sentence."""

    text: str
    log_score: float  # log S(sentence, text), natural logarithm, at most 0, to four decimals


class SearchBounds(NamedTuple):
    """How far a search for paraphrases goes."""

    tau: float
    edit_distance: int
    paraphrases: int
    pieces: int


class Paraphraser:
    """Finds paraphrases through pivot languages; S of each is ``tau`` or more, 0 for no bound.

    ``maximum_edit_distance`` bounds the words inserted, deleted or replaced. If not ``exact``, it
    searches, and normalizes, over the pieces near the sentences only: with a wide beam this is
    several times faster, but scores are estimates, for callers that score again, and the other
    sentences of a call have a say in what there is. It shares translations with ``scorer``.
    Texts of more than `MOST_PIECES` pieces are reworded sentence by sentence, and longer sentences
    are left as they are; see `searchable` and `too_long`.
    """

    def __init__(
        self,
        pivots: Sequence[Pivot],
        *,
        beam: int = BEAM_WIDTH,
        tau: float = PAPER_TAU,
        maximum_edit_distance: int = 4,
        exact: bool = True,
        scorer: PivotScorer | None = None,
    ) -> None:
        if not pivots:
            raise UsageError(
                "paraphrases need at least one pivot", help="pass load_pivots() or your own"
            )
        self.beam = beam
        self.tau = tau
        self.maximum_edit_distance = maximum_edit_distance
        self.exact = exact
        for name in ("beam", "maximum_edit_distance"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}", help="it has to be 1 or more")
        if not 0 <= tau <= 1:
            raise UsageError(f"tau is {tau}", help="it has to be between 0 and 1, as scores are")
        if scorer is not None and list(scorer.pivots) != list(pivots):
            raise UsageError("the scorer has other pivots", help="pass it the same pivots")
        self._scorer = PivotScorer(pivots) if scorer is None else scorer
        self._groups = _groups(pivots)
        self._floor = math.log(tau) if tau > 0 else -math.inf

    @property
    def identity(self) -> str:
        """The models, the width of the beam, and a version."""
        models = ", ".join(pivot.identity for pivot in self._scorer.pivots)
        return f"{models}, beam {self.beam}{'' if self.exact else ', not exact'}, {_VERSION}"

    @property
    def bounds(self) -> SearchBounds:
        """How far the search goes."""
        return SearchBounds(self.tau, self.maximum_edit_distance, _MOST, MOST_PIECES)

    def searchable(self, sentence: str) -> bool:
        """Whether a sentence is searched: it has text, and not too many pieces."""
        return bool(sentence.strip()) and self._length(sentence) <= MOST_PIECES

    def too_long(self, sentences: Sequence[str]) -> list[bool]:
        """Whether some sentence of each text has too many pieces to be searched."""
        return [
            any(self._length(text[start:end]) > MOST_PIECES for start, end in parts)
            for text, parts in zip(sentences, self._parts(sentences), strict=True)
        ]

    def paraphrase(
        self, sentences: Sequence[str], *, forbidden: Sequence[tuple[str, ...]] | None = None
    ) -> list[list[Paraphrase]]:
        """The paraphrases of each sentence, without itself; by falling score, then the likelier.

        In a text with too many pieces each sentence is reworded by itself and put back in its
        place; scores are then those of the sentence. No paraphrase has a phrase that is
        ``forbidden`` for its text, as whole words in any casing.
        """
        phrases = [()] * len(sentences) if forbidden is None else forbidden
        parts = [
            [(start, end, _Task(text[start:end], of_sentence)) for start, end in of_text]
            for text, of_sentence, of_text in zip(
                sentences, phrases, self._parts(sentences), strict=True
            )
        ]
        every = dict.fromkeys(task for of_text in parts for _, _, task in of_text)
        tasks = [task for task in every if self.searchable(task.sentence)]
        tasks.sort(key=lambda task: (self._length(task.sentence), task.sentence))
        paraphrases_by_task: dict[_Task, list[Paraphrase]] = {}
        for begin in range(0, len(tasks), _BATCH):
            chunk = tasks[begin : begin + _BATCH]
            paraphrases_by_task.update(zip(chunk, self._search(chunk), strict=True))
        return [
            self._put_back(
                text,
                [(start, end, paraphrases_by_task.get(task, ())) for start, end, task in of_text],
            )
            for text, of_text in zip(sentences, parts, strict=True)
        ]

    def _parts(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The spans of each text that are searched by themselves: the whole, or its sentences."""
        long = [text for text in dict.fromkeys(texts) if self._length(text) > MOST_PIECES]
        cut = dict(zip(long, sentences_of(long), strict=True))
        return [cut.get(text, [(0, len(text))]) for text in texts]

    def _put_back(
        self, text: str, parts: Sequence[tuple[int, int, Sequence[Paraphrase]]]
    ) -> list[Paraphrase]:
        """The paraphrases of a text's parts as paraphrases of the text, best first."""
        paraphrases = [
            Paraphrase(text[:start] + each.text + text[end:], each.log_score)
            for start, end, of_part in parts
            for each in of_part
        ]
        if len(parts) > 1:  # of equal scores those of the first sentence come first
            paraphrases.sort(key=lambda each: -each.log_score)
        return paraphrases[:_MOST]

    def _length(self, sentence: str) -> int:
        spelled = self._scorer.alphabet.spelled(sentence)
        return max(len(group.models[0].target_pieces(spelled)) for group in self._groups)

    @torch.inference_mode()
    def _search(self, tasks: Sequence[_Task]) -> list[list[Paraphrase]]:
        """The paraphrases of one batch: propose them, then score them."""
        translated = self._scorer.translations([task.sentence for task in tasks])
        # Each sentence's proposals: text → log ratio; None where the search did not compute it.
        proposals: list[dict[str, float | None]] = [{} for _ in tasks]
        for group in self._groups:
            texts = [translated[number] for number in group.numbers]
            for row, ratios_by_text in enumerate(self._propose(group, tasks, texts)):
                for text, ratio in ratios_by_text.items():
                    proposals[row][text] = ratio if len(self._groups) == 1 else None
        unscored_pairs = [
            (row, text)
            for row, ratios_by_text in enumerate(proposals)
            for text, ratio in ratios_by_text.items()
            if ratio is None
        ]
        ratios = self._scorer.log_ratios(
            [(tasks[row].sentence, text) for row, text in unscored_pairs]
        )
        for (row, text), ratio in zip(unscored_pairs, ratios.tolist(), strict=True):
            proposals[row][text] = ratio
        return [self._best(ratios_by_text) for ratios_by_text in proposals]

    def _propose(
        self, group: _PivotGroup, tasks: Sequence[_Task], translated: Sequence[Sequence[str]]
    ) -> list[dict[str, float | None]]:
        """What one group of pivots finds for each sentence, as text → log ratio.

        The search works on the natural form of a sentence. The log ratio is None where the sentence
        or the paraphrase is written otherwise.
        """
        model = group.models[0]
        alphabet = self._scorer.alphabet
        naturals = [alphabet.spelled(natural_form(task.sentence)) for task in tasks]
        targets = [model.target_pieces(natural) for natural in naturals]
        readings = [
            read_originals(one, texts, targets, likely=_NEAR)
            for one, texts in zip(group.models, translated, strict=True)
        ]
        rows = torch.arange(len(tasks), device=model.device)
        readers = [
            DecoderInput(one, originals.memory, rows)
            for one, originals in zip(group.models, readings, strict=True)
        ]
        totals = np.stack([originals.totals for originals in readings])
        base = np.logaddexp.reduce(totals, axis=0) - math.log(len(readings))
        guides = [
            ParaphraseGuide(
                natural,
                model,
                group.names,
                maximum=self.maximum_edit_distance,
                forbidden=list(map(alphabet.spelled, task.forbidden)),
            )
            for natural, task in zip(naturals, tasks, strict=True)
        ]
        needed = {piece for guide in guides for piece in guide.pieces}
        hypotheses_by_row = beam_search(
            readers,
            guides,
            beam=self.beam,
            floors=(base + self._floor).tolist(),
            lengths=[2 * len(target) + 10 for target in targets],
            # With a threshold the search ends by itself, and a limit would favour outputs that
            # change as much as they may.
            limit=None if self.tau > 0 else _MOST + 1,
            pieces=None if self.exact else near_pieces(readings, len(group.names), needed),
        )
        proposals: list[dict[str, float | None]] = [{} for _ in tasks]
        for row, hypotheses in enumerate(hypotheses_by_row):
            sentence = tasks[row].sentence
            own_pieces = model.target_pieces(alphabet.spelled(sentence))
            itself = model.text(own_pieces)
            surface = Surface(sentence, model.text(targets[row]))
            for item in hypotheses:
                plain = model.text(item.pieces)
                # The same text in other pieces: the search finds its own pieces as well.
                if tuple(model.target_pieces(plain)[:-1]) != item.pieces:
                    continue
                text = surface.restore(plain)
                if text is None or not alphabet.keeps_in_place(sentence, text):
                    continue
                text_pieces = model.target_pieces(alphabet.spelled(text))
                if "".join(model.text(text_pieces).split()) != "".join(itself.split()):
                    natural = own_pieces == targets[row] and tuple(text_pieces[:-1]) == item.pieces
                    ratio = item.log_probability - float(base[row])
                    proposals[row].setdefault(text, ratio if natural else None)
        return proposals

    def _best(self, ratios_by_text: dict[str, float | None]) -> list[Paraphrase]:
        """The paraphrases with S of at least tau, best first."""
        scored = sorted(
            (-round(ratio, _DECIMALS), text)
            for text, ratio in ratios_by_text.items()
            if ratio is not None and ratio >= self._floor and math.isfinite(ratio)
        )
        return [Paraphrase(text, min(0.0, -cost)) for cost, text in scored[:_MOST]]


class _Task(NamedTuple):
    sentence: str
    forbidden: tuple[str, ...]


class _PivotGroup(NamedTuple):
    """Pivots whose back models write with the same pieces, which the first model stands for."""

    numbers: list[int]
    models: list[TranslationModel]
    names: tuple[str, ...]


def _groups(pivots: Sequence[Pivot]) -> list[_PivotGroup]:
    """The pivots grouped by the vocabulary of their back models, in order of first appearance."""
    grouped: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for number, pivot in enumerate(pivots):
        key = pivot.back.end, tuple(pivot.back.piece_strings())
        grouped.setdefault(key, []).append(number)
    return [
        _PivotGroup(numbers, [pivots[number].back for number in numbers], names)
        for (_, names), numbers in grouped.items()
    ]


# How SentencePiece writes the space before a word.
SPACE = "\u2581"


def _any(phrases: Sequence[str], *, closed: bool) -> re.Pattern[str] | None:
    """A pattern that finds any of the phrases as whole words; None without phrases."""
    parts = [whole_word(phrase, closed=closed) for phrase in phrases]
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


DEAD = -1

# A row of the distance table: pairs of a position in the sentence and the changes so far, without
# cells over the bound.
_Row = tuple[tuple[int, int], ...]


class WordDistance:
    """Bounded Levenshtein distance to one sentence, as an automaton over words."""

    def __init__(self, words: Sequence[str], maximum: int) -> None:
        self._words = tuple(words)
        self._maximum = maximum
        first: _Row = tuple((place, place) for place in range(min(maximum, len(words)) + 1))
        self._rows = [first]
        self._numbers = {first: 0}
        # Prefixes share most of their words, so both are asked the same again and again.
        self.follow = cache(self._follow)
        self.changes = cache(self._changes)

    def _follow(self, state: int, word: str) -> int:
        """The state after a whole word, or DEAD if no cell is left; the first state is 0."""
        row = self._row(state, word)
        if not row:
            return DEAD
        number = self._numbers.setdefault(row, len(self._rows))
        if number == len(self._rows):
            self._rows.append(row)
        return number

    def _changes(self, state: int, beginning: str = "") -> int:
        """The fewest changes so far, whatever follows; more than the maximum means too many."""
        fewest = self._maximum + 1
        for place, changes in self._rows[state]:
            # One more change, unless the word may become the sentence's next one.
            is_next_word = not beginning or (
                place < len(self._words) and self._words[place].startswith(beginning)
            )
            fewest = min(fewest, changes if is_next_word else changes + 1)
        return fewest

    def accepts(self, state: int) -> bool:
        """Whether a text that ends here is within the bound."""
        last = len(self._words)
        return state != DEAD and any(place == last for place, _ in self._rows[state])

    def positions(self, state: int) -> list[int]:
        """The positions in the sentence that the text may have reached by the fewest changes."""
        fewest = self.changes(state)
        return [place for place, changes in self._rows[state] if changes == fewest]

    def _row(self, state: int, word: str) -> _Row:
        """The next row of the table."""
        before = dict(self._rows[state])
        after: dict[int, int] = {}
        over = self._maximum + 1
        last = max(before)
        for place in range(min(before), len(self._words) + 1):
            changes = min(before.get(place, over), after.get(place - 1, over)) + 1
            if place - 1 in before:
                changes = min(changes, before[place - 1] + (self._words[place - 1] != word))
            if changes <= self._maximum:
                after[place] = changes
            elif place > last:
                break
        return tuple(after.items())


class Progress(NamedTuple):
    """A prefix: the state after its complete words, its last word so far, its last characters."""

    words: int
    last: str
    tail: str


class ParaphraseGuide(Guide):
    """Admits prefixes within the edit distance, in the right casing, without forbidden phrases."""

    def __init__(
        self,
        plain: str,
        model: TranslationModel,
        names: Sequence[str],
        *,
        maximum: int,
        forbidden: Sequence[str] = (),
    ) -> None:
        self._names = names
        self._lower = plain == plain.lower()
        words: list[list[int]] = []
        for piece in model.target_pieces(plain)[:-1]:
            if names[piece].startswith(SPACE) or not words:
                words.append([])
            words[-1].append(piece)
        texts = ["".join(names[piece] for piece in word).lstrip(SPACE) for word in words]
        self._distance = WordDistance([text for text in texts if text], maximum)
        self._maximum = maximum
        # (word of the sentence, its letters so far) → its next piece
        self._onward: dict[tuple[int, str], int] = {}
        spelled = [word for word, text in zip(words, texts, strict=True) if text]
        for number, word in enumerate(spelled):
            text = ""
            for piece in word:
                self._onward.setdefault((number, text), piece)
                text += names[piece].lstrip(SPACE)
        # The phrases as the model writes them.
        phrases = [model.text(model.target_pieces(phrase)).strip() for phrase in forbidden]
        self._within = _any(phrases, closed=False)
        self._closed = _any(phrases, closed=True)
        # One character more on the left, which tells whether a word begins there, and a clitic.
        self._window = 1 + max(map(len, phrases), default=0) + len("n't")
        #: All pieces that `extra_pieces` may give.
        self.pieces = frozenset(self._onward.values())

    def start(self) -> Progress:
        """The empty prefix."""
        return Progress(0, "", "")

    def extend(self, state: Progress, piece: int) -> Progress | None:
        """The prefix with one more piece, or None if that is not admitted."""
        name = self._names[piece]
        if self._lower and name != name.lower():
            return None
        words, last = state.words, state.last + name
        if name.startswith(SPACE):
            words, last = self._over(state), name[len(SPACE) :]
        if words == DEAD or self._distance.changes(words, last) > self._maximum:
            return None
        tail = ""
        if self._within is not None:
            tail = state.tail + name.replace(SPACE, " ")
            if self._within.search(tail):
                return None
            tail = tail[-self._window :]
        return Progress(words, last, tail)

    def complete(self, state: Progress) -> bool:
        """Whether the output may end here."""
        if not self._distance.accepts(self._over(state)):
            return False
        return self._closed is None or self._closed.search(state.tail) is None

    def bank(self, state: Progress) -> int:
        """The number of words changed so far."""
        return self._distance.changes(state.words, state.last)

    def extra_pieces(self, state: Progress) -> list[int]:
        """The pieces that lead back into the sentence."""
        pieces = set()
        for words, last in {(state.words, state.last), (self._over(state), "")}:
            if words != DEAD:
                for place in self._distance.positions(words):
                    pieces.add(self._onward.get((place, last)))
        return sorted(piece for piece in pieces if piece is not None)

    def _over(self, state: Progress) -> int:
        """The state if the last word ends here."""
        return self._distance.follow(state.words, state.last) if state.last else state.words
