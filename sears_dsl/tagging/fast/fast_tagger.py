"""`FastTagger`: tokens and tags at more than a million a second, without spaCy.

Rows of words are tagged from left to right, by an averaged perceptron and its `weights`. Always
holds: the tags of a row depend on that row alone, not on other rows, their order, or what was seen
before; the same version gives the same tokens and tags; scores are whole numbers, so that compiled
code, plain Python and the independent twin (`plain_perceptron.py` of the tests) give the same tags;
the first tag wins a tie.

What depends on a word alone is worked out once for each distinct word: its scores at its own place,
its context (the word as its neighbours see it; rare words share one), its class (the tags that it
may have). A token adds up rows of 48 scores, and looks up only what it shares with its neighbours
and the tags before it. Words that only ever have one tag are not scored at all. The coarse tag
follows from word and fine tag alone, by the table of spaCy's small English model, so that rules
mean the same with both taggers.

Costs some tens of milliseconds to load, a third of a microsecond a token, some two for a new word,
110 bytes for a word; plain Python does a few rows (`runtime.kernels`). Threads may share a tagger:
a lock lets one at a time use what it has learnt about words.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from threading import Lock, RLock
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.runtime.array_types import (
    Int8Array,
    Int16Array,
    Int32Array,
    Int64Array,
    Integer,
    UInt8Array,
    UInt16Array,
    UInt32Array,
    for_kernels,
    with_room,
)
from sears_dsl.runtime.kernels import expect, kernel, kernel_of_alike
from sears_dsl.tagging.fast.cutting import shipped_tables
from sears_dsl.tagging.fast.sentences import sentence_bounds
from sears_dsl.tagging.fast.tokenizer import FastTokenizer
from sears_dsl.tagging.fast.vocabulary import Cut, TypeTable, WordKinds, Words, row_before
from sears_dsl.tagging.fast.weights import (
    AFTER,
    BEFORE,
    CASINGS,
    FORM_KEYS,
    LOOKUPS,
    NEIGHBOUR_KEYS,
    NO_TAG,
    TAG_KEYS,
    TAGS,
    ScoreTables,
    TaggerTables,
    Weights,
    class_key,
    describe,
    folded_case,
    kinds_of_characters,
    load,
    mark,
    neighbour_keys,
    row_casing,
    spelling_key,
    tag_keys,
    weights_of,
)
from sears_dsl.tagging.tokens import ListedTokens, Tokens

# The version of what this module does with the tags; raise it whenever that changes.
_ADAPTER = 1

TagIds: TypeAlias = NDArray[np.uint8]

#: Stands in place of the only tag of a word whose tag is not certain.
UNCERTAIN = 255

# Steps of plain Python that a token and a new word cost, for `expect`.
_STEPS_OF_TOKEN = 25
_STEPS_OF_WORD = 40


class KnownWords(NamedTuple):
    """What was worked out for words, by their number."""

    scores: Int16Array  # (words, TAGS): what the word says at its own place
    contexts: Int32Array  # (words,): the word as its neighbours see it
    classes: Int32Array  # (words,): the tags that it may have
    casings: UInt8Array  # (words,)
    marks: UInt8Array  # (words,): what it says of the next word
    certain: UInt8Array  # (words,): its only tag, or UNCERTAIN
    groups: UInt8Array  # (words,): its group among words with coarse tags of their own


class TaggedRows(NamedTuple):
    """Rows and their tags, to be used again where the rows come again."""

    row_offsets: Int32Array  # (rows + 1,): tokens of row r are row_offsets[r]:row_offsets[r + 1]
    words: Int32Array  # (tokens,)
    fine: UInt8Array  # (tokens,)
    coarse: UInt8Array  # (tokens,)
    casings: Int8Array  # (rows,): see `weights.row_casing`


@kernel
def find(key: Integer, starts: Int32Array, keys: UInt32Array, shift: Integer) -> np.int64:
    """The place of a key among sorted ones, or -1; ``starts`` says where each bucket begins."""
    bucket = key >> shift
    for place in range(starts[bucket], starts[bucket + 1]):
        if keys[place] == key:
            return np.int64(place)
    return np.int64(-1)


@kernel
def add_entries(
    keys: Int64Array, weights: ScoreTables, held: Int64Array, scores: Int32Array | Int64Array
) -> None:
    """Add the weights of features to the scores, if they have any; ``held`` is as long as keys."""
    # All slots are read before any is used, so that memory is waited for once and not each time.
    for index in range(len(keys)):
        held[index] = weights.slots[keys[index] >> weights.slot_shift]
    for index in range(len(keys)):
        key = keys[index]
        record = held[index]
        slot = key >> weights.slot_shift
        while record != -1 and record >> np.int64(32) < key:
            slot += 1
            record = weights.slots[slot]
        if record >> np.int64(32) == key:
            first = (record >> np.int64(6)) & np.int64(0x3FFFFFF)
            for place in range(first, first + (record & np.int64(63))):
                entry = np.int64(weights.entries[place])
                scores[entry & 63] += entry >> 6


@kernel
def casing_pair(before: Integer, half: Integer, row: Integer, casing: Integer) -> Integer:
    """The row of weights for a casing after a mark, in a row of a casing."""
    return ((np.int64(before) * 3 + half) * 3 + row) * CASINGS + casing


@kernel
def casing_triple(before: Integer, casing: Integer, after: Integer, row: Integer) -> Integer:
    """The row of weights for the casings of three words, in a row of a casing."""
    return ((np.int64(casing) * CASINGS + before) * CASINGS + after) * 3 + row


@kernel_of_alike
def _describe_words(  # noqa: PLR0917 - arrays, in the order in which they are made
    codes: UInt32Array, offsets: Int64Array, first: int, last: int, kinds: UInt8Array,
    folded: UInt16Array, weights: TaggerTables, known: KnownWords,
) -> None:  # fmt: skip
    """Fill in ``known`` for the words from ``first`` up to ``last``."""
    keys = np.zeros(FORM_KEYS + LOOKUPS, np.int64)
    held = np.zeros(FORM_KEYS + LOOKUPS, np.int64)
    scores = np.zeros(TAGS, np.int64)
    for word in range(first, last):
        start = offsets[word]
        end = offsets[word + 1]
        casing = describe(codes, start, end, kinds, folded, keys)
        entry = np.int64(-1)
        for place in range(FORM_KEYS, FORM_KEYS + LOOKUPS):
            if entry < 0 and keys[place] != 0:
                entry = find(
                    keys[place], weights.lexicon_starts, weights.lexicon_keys, weights.lexicon_shift
                )
        context = np.int64(0)
        known.certain[word] = UNCERTAIN
        if entry >= 0:
            context = np.int64(weights.lexicon_contexts[entry])
            known.certain[word] = weights.lexicon_certain[entry]
        kind = np.int64(weights.context_classes[context])
        known.contexts[word] = context
        known.classes[word] = kind
        known.casings[word] = casing
        known.marks[word] = mark(codes, start, end)
        spelling = spelling_key(codes, start, end, kinds, folded)
        group = find(spelling, weights.coarse_starts, weights.coarse_keys, weights.coarse_shift)
        known.groups[word] = 0 if group < 0 else weights.coarse_groups[group]
        for tag in range(TAGS):
            scores[tag] = 0
        keys[FORM_KEYS] = class_key(kind)
        add_entries(keys[: FORM_KEYS + 1], weights.scores, held, scores)
        for tag in range(TAGS):
            known.scores[word, tag] = scores[tag]


@kernel
def _quotes(words: Int32Array, low: Integer, high: Integer, marks: UInt8Array) -> np.int64:
    """How many quotation marks of the kind that comes in pairs are among some tokens."""
    count = np.int64(0)
    for place in range(low, high):
        count += marks[words[place]] >= 4
    return count


@kernel_of_alike
def _tag_rows(  # noqa: PLR0915, PLR0917 - one loop: calls would cost more
    row_offsets: Int32Array, words: Int32Array, weights: ScoreTables, known: KnownWords,
    old: TaggedRows, casings: Int8Array,
) -> tuple[UInt8Array, UInt8Array]:  # fmt: skip
    """Tag every row from left to right: the fine and the coarse tag of each token.

    A tag depends on five words, the two tags before, the casing of the row, and which half of a
    pair of quotation marks stands here, and on nothing else. Where these are as in the row of
    ``old`` that this row was, the tag is taken from there: at the start, up to two words before the
    first that changed; behind the last that changed, as soon as two tags in turn are the old ones.
    Old rows stand in the same order; some may be gone. ``casings``, which is empty if rows come
    only once, gets the casing of each row.
    """
    fine = np.zeros(words.shape[0], np.uint8)
    coarse = np.zeros(words.shape[0], np.uint8)
    contexts = known.contexts[words]
    classes = known.classes[words]
    keys = np.zeros(NEIGHBOUR_KEYS + TAG_KEYS, np.int64)
    held = np.zeros(NEIGHBOUR_KEYS + TAG_KEYS, np.int64)
    neighbours = keys[:NEIGHBOUR_KEYS]
    tags = keys[NEIGHBOUR_KEYS:]
    scores = np.zeros(TAGS, np.int32)
    next_old = np.int64(0)
    for row in range(row_offsets.shape[0] - 1):
        start = np.int64(row_offsets[row])
        end = np.int64(row_offsets[row + 1])
        casing_of_row = np.int64(-1)
        before = np.int64(NO_TAG)
        second = np.int64(NO_TAG)
        mark_before = np.int64(0)
        quotes = np.int64(0)
        first = start  # the first token whose tag is not known
        tail = end  # from here on tags may be the old ones
        ahead = np.int64(0)  # from a token there to the same one in the old row
        if casings.shape[0] > 0:
            casing_of_row = np.int64(row_casing(known.casings, words, start, end))
            casings[row] = casing_of_row
            was, head, rear = row_before(words, start, end, old.words, old.row_offsets, 0, next_old)
            if was >= 0:
                next_old = was + 1
            if was >= 0 and old.casings[was] == casing_of_row:
                low = np.int64(old.row_offsets[was])
                high = np.int64(old.row_offsets[was + 1])
                ahead = high - end
                first += head if head == end - start == high - low else max(0, head - 2)
                for place in range(start, first):
                    fine[place] = old.fine[low + place - start]
                    coarse[place] = old.coarse[low + place - start]
                changed = _quotes(words, start + head, end - rear, known.marks)
                changed -= _quotes(old.words, low + head, high - rear, known.marks)
                if changed & 1 == 0:
                    tail = end - rear + 2
        if first > start:
            before = np.int64(fine[first - 1])
            mark_before = np.int64(known.marks[words[first - 1]]) & 3
            quotes = _quotes(words, start, first, known.marks)
        if first > start + 1:
            second = np.int64(fine[first - 2])
        for place in range(first, end):
            if (
                place >= tail
                and before == old.fine[place + ahead - 1]
                and second == old.fine[place + ahead - 2]
            ):
                for rest in range(place, end):
                    fine[rest] = old.fine[rest + ahead]
                    coarse[rest] = old.coarse[rest + ahead]
                break
            word = words[place]
            here = np.int64(known.marks[word])
            half = np.int64(0)
            if here >= 4:
                quotes += 1
                half = np.int64(2) - (quotes & 1)
                here -= 4
            best = np.int64(known.certain[word])
            if best == UNCERTAIN:
                if casing_of_row < 0:
                    casing_of_row = np.int64(row_casing(known.casings, words, start, end))
                far = np.int64(contexts[place - 2]) if place > start + 1 else np.int64(BEFORE)
                left = np.int64(contexts[place - 1]) if place > start else np.int64(BEFORE)
                right = np.int64(contexts[place + 1]) if place + 1 < end else np.int64(AFTER)
                farther = np.int64(contexts[place + 2]) if place + 2 < end else np.int64(AFTER)
                casing = np.int64(known.casings[word])
                casing_before = (
                    np.int64(known.casings[words[place - 1]]) if place > start else np.int64(0)
                )
                casing_after = (
                    np.int64(known.casings[words[place + 1]]) if place + 1 < end else np.int64(0)
                )
                pair = casing_pair(mark_before, half, casing_of_row, casing)
                triple = casing_triple(casing_before, casing, casing_after, casing_of_row)
                last_tags = before * (TAGS + 1) + second
                for tag in range(TAGS):
                    scores[tag] = (
                        np.int32(known.scores[word, tag])
                        + weights.around[left, 0, tag]
                        + weights.around[far, 1, tag]
                        + weights.around[right, 2, tag]
                        + weights.around[farther, 3, tag]
                        + weights.tags_before[last_tags, tag]
                        + weights.casing_pairs[pair, tag]
                        + weights.casing_triples[triple, tag]
                    )
                neighbour_keys(contexts, classes, start, place, end, neighbours)
                tag_keys(contexts, classes, place, end, before, second, tags)
                add_entries(keys, weights, held, scores)
                best = np.int64(0)
                for tag in range(1, TAGS):
                    if scores[tag] > scores[best]:
                        best = np.int64(tag)
            fine[place] = best
            coarse[place] = weights.coarse_of[known.groups[word], best]
            mark_before = here
            second = before
            before = best
    return fine, coarse


class Perceptron:
    """Tags the words of rows; ``fine`` (Penn) and ``coarse`` (UPOS) name its tags by their number.

    The version has the hash of the weights in it. It remembers what it worked out for the words of
    one `Words` object, and begins anew when it is given another. Threads may share it.
    """

    def __init__(self, weights: Weights) -> None:
        self.fine: tuple[str, ...] = weights.fine
        self.coarse: tuple[str, ...] = weights.coarse
        self.version: str = weights.version
        self._tables = weights.tables
        self._kinds = kinds_of_characters()
        self._folded = folded_case()
        self._lock = Lock()
        self._words: Words | None = None
        self._described = 0
        self._known = _NO_WORDS
        self._tagged = _NO_ROWS

    def tag(
        self,
        row_offsets: Int32Array,
        words_of_tokens: Int32Array,
        words: Words,
        *,
        again: bool = False,
    ) -> tuple[TagIds, TagIds]:
        """The fine and the coarse tag of each token, as numbers in `fine` and in `coarse`.

        Tokens of row r are ``row_offsets[r]:row_offsets[r + 1]``, each a number in ``words``. With
        ``again``, most of the rows were tagged just before, in this order, or will be soon, and
        tags that cannot have changed are kept. Only one thread at a time may ask for this.
        """
        row_offsets, words_of_tokens = for_kernels(row_offsets), for_kernels(words_of_tokens)
        known = self._of(words, tokens=len(words_of_tokens))
        casings = np.zeros(len(row_offsets) - 1 if again else 0, np.int8)
        old = self._tagged if again else _NO_ROWS
        tags: tuple[TagIds, TagIds] = _tag_rows(
            row_offsets, words_of_tokens, self._tables.scores, known, old, casings
        )
        if again:
            self._tagged = TaggedRows(row_offsets, words_of_tokens, *tags, casings)
        return tags

    def _of(self, words: Words, *, tokens: int) -> KnownWords:
        """What is known of these words, worked out for those that are new."""
        with self._lock:
            if self._words is not words:
                self._words, self._described, self._known = words, 0, _NO_WORDS
                self._tagged = _NO_ROWS
            first, last = self._described, len(words)
            expect(tokens * _STEPS_OF_TOKEN + (last - first) * _STEPS_OF_WORD)
            if last > len(self._known.contexts):
                # Larger tables: threads may still read the old ones.
                room = max(2 * last, 1024)
                self._known = KnownWords(*(with_room(each, room) for each in self._known))
            if last > first:
                _describe_words(
                    words.codes,
                    words.offsets,
                    first,
                    last,
                    self._kinds,
                    self._folded,
                    self._tables,
                    self._known,
                )
                self._described = last
            return self._known


_NO_WORDS = KnownWords(
    scores=np.zeros((0, TAGS), np.int16),
    contexts=np.zeros(0, np.int32),
    classes=np.zeros(0, np.int32),
    casings=np.zeros(0, np.uint8),
    marks=np.zeros(0, np.uint8),
    certain=np.zeros(0, np.uint8),
    groups=np.zeros(0, np.uint8),
)
_NO_ROWS = TaggedRows(
    np.zeros(1, np.int32),
    np.zeros(0, np.int32),
    np.zeros(0, np.uint8),
    np.zeros(0, np.uint8),
    np.zeros(0, np.int8),
)


# ---------------------------------------------------------------- the tagger


class FastTagger:
    """The tagger that comes with the package, for one of `LANGUAGES`; see MODEL_CARD.md beside it.

    Example:
        >>> tokens = FastTagger().tag(["What color is it?"])
        >>> [(token.text, token.coarse, token.fine) for token in tokens.row(0)][:2]
        [('What', 'DET', 'WDT'), ('color', 'NOUN', 'NN')]
    """

    def __init__(self, *, perceptron: Perceptron | None = None, language: str = "en") -> None:
        self.language = language
        self._custom_perceptron = perceptron
        self._lock: AbstractContextManager[bool] = RLock()
        self._tokenizer = FastTokenizer(shipped_tables(language))
        self._tables: dict[bool, TypeTable] = {}  # those without tags, and those with tags

    def __reduce__(self) -> tuple[partial[FastTagger], tuple[()]]:
        """A copy, here or in another process, reads its tables anew."""
        own, language = self._custom_perceptron, self.language
        return partial(type(self), perceptron=own, language=language), ()

    @property
    def name(self) -> str:
        """``fast``, or with another language than English ``fast:pt``."""
        return "fast" if self.language == "en" else f"fast:{self.language}"

    @property
    def version(self) -> str:
        """The versions of the tokenizer's tables, of the weights and of what is made of them."""
        return f"{self._tokenizer.tables.version}, {self._perceptron.version}, adapter {_ADAPTER}"

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        """The tokens of each text, without tags."""
        return self.cut(texts).tokens()

    def tag(self, texts: Sequence[str]) -> Tokens:
        """The tokens of each text with their tags."""
        return self.cut(texts).tagged()

    def cut(self, texts: Sequence[str], *, again: bool = False) -> FastCut:
        """Texts that are cut, to be searched for words and tagged."""
        with self._lock:
            cut = self._tokenizer.tokenize(texts, again=again)
            return FastCut(self, texts, cut, self._tokenizer.words, again)

    def tokens_of(
        self, texts: Sequence[str], cut: Cut, words: Words, *, tagged: bool, again: bool = False
    ) -> Tokens:
        """The tokens of texts that were cut."""
        with self._lock:
            types = self._table(words, tagged=tagged)
            if not tagged:
                return types.tokens(texts, cut, None)
            perceptron = self._perceptron
            fine, coarse = perceptron.tag(cut.row_offsets, cut.words, words, again=again)
            pair_ids = fine.astype(np.int64) * len(perceptron.coarse) + coarse
            return types.tokens(texts, cut, pair_ids)

    def _table(self, words: Words, *, tagged: bool) -> TypeTable:
        """The types over these words."""
        table = self._tables.get(tagged)
        if table is None or table.words is not words:
            pairs = [("", "")]
            if tagged:
                fines, coarses = self._perceptron.fine, self._perceptron.coarse
                pairs = [(coarse, fine) for fine in fines for coarse in coarses]
            table = self._tables[tagged] = TypeTable(words, pairs, self._lock)
        return table

    def list_tokens(self, text: str) -> ListedTokens | None:
        """What `tokenize` gives for one text; None where `tokenize` has to be called."""
        with self._lock:
            return self._tokenizer.list_tokens(text)

    def list_tagged(self, text: str) -> ListedTokens | None:
        """What `tag` gives for one text; None where `tag` has to be called."""
        with self._lock:
            row = self._tokenizer.row(text)
            if row is None:
                return None
            starts, ends, words = row
            perceptron, types = self._perceptron, self._table(self._tokenizer.words, tagged=True)
            offsets = np.array((0, len(words)), np.int32)
            tags = perceptron.tag(offsets, np.array(words, np.int32), types.words)
            coarse_tags, pairs = len(perceptron.coarse), len(types.pairs)
            codes = [
                word * pairs + fine * coarse_tags + coarse
                for word, fine, coarse in zip(words, *map(np.ndarray.tolist, tags), strict=True)
            ]
            return ListedTokens(types.members(codes), starts, ends)

    def split(self, words: str) -> tuple[str, ...]:
        """The tokens of a word of a rule."""
        with self._lock:
            return self._tokenizer.split(words)

    def words_of(self, words: Words, kinds: WordKinds) -> NDArray[np.bool_]:
        """For each of the words whether it is of a kind."""
        with self._lock:
            return kinds.of(words)

    def sentences(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The sentences of each text."""
        with self._lock:
            return sentence_bounds(texts, self._tokenizer)

    @cached_property
    def _perceptron(self) -> Perceptron:
        custom = self._custom_perceptron
        return Perceptron(load(weights_of(self.language))) if custom is None else custom


class FastCut(NamedTuple):
    """Texts that a `FastTagger` has cut, and the words of which they are made."""

    tagger: FastTagger
    texts: Sequence[str]
    cut: Cut
    words: Words
    again: bool

    def with_words(self, words: WordKinds) -> NDArray[np.bool_]:
        """For each text, whether it has a token that is one of some words."""
        flags = self.tagger.words_of(self.words, words)[self.cut.words]
        before = np.append(0, np.cumsum(flags))[self.cut.row_offsets]
        has: NDArray[np.bool_] = before[1:] > before[:-1]
        return has

    def tokens(self, rows: NDArray[np.int64] | None = None) -> Tokens:
        """What `tokenize` gives for some of the texts, or all."""
        return self._of(rows, tagged=False)

    def tagged(self, rows: NDArray[np.int64] | None = None) -> Tokens:
        """What `tag` gives for some of the texts, or all."""
        return self._of(rows, tagged=True)

    def _of(self, rows: NDArray[np.int64] | None, *, tagged: bool) -> Tokens:
        texts, cut = self.texts, self.cut
        if rows is not None and len(rows) < len(texts):
            texts, cut = [texts[row] for row in rows.tolist()], cut.of_rows(rows)
        return self.tagger.tokens_of(texts, cut, self.words, tagged=tagged, again=self.again)
