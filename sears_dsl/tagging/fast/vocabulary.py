"""Distinct words with numbers, and distinct tokens, each known by its word's number and its tags.

Words stand in an arena of code points, with a table to look them up in. Always holds: a number
stands for one string as long as the object lives; strings are compared character by character,
never by hash alone. Lone surrogates are code points like others. Costs four bytes a character,
eight a string, and sixteen to thirty-two for its place in the table. Tokens (`TypeTable`) that were
asked for as objects are remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.runtime.array_types import Growing, Int32Array, Int64Array, Integer, places_of
from sears_dsl.runtime.kernels import compiles, kernel, kernel_of_alike
from sears_dsl.tagging.tokens import Tokens, TokenType, TokenTypes, distinct_codes

HASH_START = 2166136261
HASH_FACTOR = 16777619
HASH_MASK = 0xFFFFFFFF

# Entries of Table.used.
STRINGS = 0
CHARACTERS = 1

# Low bits of a slot are a number, high bits a hash.
NUMBER_BITS = 31
NUMBER_MASK = (1 << NUMBER_BITS) - 1

_FEWEST_SLOTS = 256
# Up to so many tokens are looked up one by one: arrays cost more.
_FEW_TOKENS = 200


class WordTable(NamedTuple):
    """The arrays of `Words`, for kernels."""

    codes: Int32Array  # code points of all strings, one string after another
    offsets: Int64Array  # where they start; string n ends where n + 1 starts
    slots: Int64Array  # a power of two of them: hash << 31 | number, or -1; at most half are taken
    used: Int64Array  # (2,): strings and characters so far


@kernel
def hash_of(codes: Int32Array, start: Integer, end: Integer) -> Any:
    """The hash of a run of code points, which begins with HASH_START."""
    hashed = HASH_START
    for at in range(start, end):
        hashed = ((hashed ^ int(codes[at])) * HASH_FACTOR) & HASH_MASK
    return hashed


@kernel
def look_up(  # noqa: PLR0917
    text: Int32Array,
    start: Integer,
    end: Integer,
    hashed: Integer,
    codes: Int32Array,
    offsets: Int64Array,
    slots: Int64Array,
) -> Any:
    """The number of text[start:end] in a table, or ~slot of the slot where it would stand.

    The table comes as three arrays, since to pass on a `WordTable` costs more than the look-up.
    """
    mask = len(slots) - 1
    at = (hashed ^ (hashed >> 15)) & mask
    while True:
        slot = int(slots[at])
        if slot < 0:
            return ~at
        if slot >> NUMBER_BITS == hashed:
            number = slot & NUMBER_MASK
            first = int(offsets[number])
            size = int(offsets[number + 1]) - first
            if size == end - start:
                place = 0
                while place < size and codes[first + place] == text[start + place]:
                    place += 1
                if place == size:
                    return number
        at = (at + 1) & mask


@kernel
def intern(
    text: Int32Array, start: Integer, end: Integer, hashed: Integer, table: WordTable
) -> Any:
    """The number of text[start:end], a new one if it is new; -1 where there is no room for it."""
    codes, offsets, slots, used = table.codes, table.offsets, table.slots, table.used
    number = look_up(text, start, end, hashed, codes, offsets, slots)
    if number >= 0:
        return number
    slot = ~number
    number = int(used[STRINGS])
    first = int(used[CHARACTERS])
    if 2 * (number + 1) > len(slots) or first + end - start > len(codes):
        return -1
    for place in range(end - start):
        codes[first + place] = text[start + place]
    offsets[number + 1] = first + end - start
    slots[slot] = (hashed << NUMBER_BITS) | number
    used[STRINGS] = number + 1
    used[CHARACTERS] = first + end - start
    return number


@kernel_of_alike
def _intern_all(
    text: Int32Array, bounds: Int64Array, first: Integer, table: WordTable, numbers: Int32Array
) -> Any:
    """Write the numbers of the strings text[bounds[k]:bounds[k + 1]], from string ``first`` on.

    Returns how many are done: fewer than all if there is no more room.
    """
    for place in range(first, len(numbers)):
        start, end = bounds[place], bounds[place + 1]
        number = intern(text, start, end, hash_of(text, start, end), table)
        if number < 0:
            return place
        numbers[place] = number
    return len(numbers)


@kernel
def _move(old: Int64Array, new: Int64Array) -> None:
    """Put the slots of a table into a larger one."""
    mask = len(new) - 1
    for place in range(len(old)):
        slot = int(old[place])
        if slot >= 0:
            hashed = slot >> NUMBER_BITS
            at = (hashed ^ (hashed >> 15)) & mask
            while new[at] >= 0:
                at = (at + 1) & mask
            new[at] = slot


# How many old rows are compared with a row, to find the one that it was.
_NEAR = 64


@kernel
def row_before(  # noqa: PLR0917
    values: Int32Array,
    low: Integer,
    high: Integer,
    old: Int32Array,
    starts: NDArray[Any],
    between: Integer,
    first: Integer,
) -> Any:
    """The first of the old rows, from ``first`` on, that shares half of its values with a row.

    Returns its number, or -1, and how many values are the same at the start and at the end.
    ``starts``, (rows + 1,), says where old rows start; ``between`` values separate two of them.
    """
    for row in range(first, min(first + _NEAR, len(starts) - 1)):
        begin = int(starts[row])
        end = int(starts[row + 1]) - between
        shorter = min(high - low, end - begin)
        left = 0
        while left < shorter and values[low + left] == old[begin + left]:
            left += 1
        right = 0
        while right < shorter - left and values[high - 1 - right] == old[end - 1 - right]:
            right += 1
        if 2 * (left + right) >= max(high - low, end - begin):
            return row, left, right
    return -1, 0, 0


class Words:
    """Distinct strings, numbered in order of appearance.

    String w is ``codes[offsets[w]:offsets[w + 1]]``. Both arrays have room at their ends, and are
    replaced by larger ones as strings are added, so read the properties anew after that.
    """

    def __init__(self, strings: Iterable[str] = ()) -> None:
        self.table = WordTable(
            codes=np.zeros(8 * _FEWEST_SLOTS, np.int32),
            offsets=np.zeros(_FEWEST_SLOTS // 2 + 1, np.int64),
            slots=np.full(_FEWEST_SLOTS, -1, np.int64),
            used=np.zeros(2, np.int64),
        )
        self._strings: dict[int, str] = {}
        self.numbers(list(strings))

    @property
    def codes(self) -> NDArray[np.uint32]:
        """See the class."""
        codes: NDArray[np.uint32] = self.table.codes.view(np.uint32)
        return codes

    @property
    def offsets(self) -> NDArray[np.int64]:
        """See the class."""
        return self.table.offsets

    @property
    def characters(self) -> int:
        """Characters of all strings."""
        return int(self.table.used[CHARACTERS])

    def __len__(self) -> int:
        return int(self.table.used[STRINGS])

    def numbers(self, texts: Sequence[str]) -> list[int]:
        """The numbers of strings; new ones are added."""
        codes = code_points("".join(texts))
        ends = np.array(list(accumulate(map(len, texts), initial=0)), np.int64)
        numbers = np.zeros(len(texts), np.int32)
        first = 0
        while True:
            first = int(_intern_all(codes, ends, first, self.table, numbers))
            if first == len(texts):
                break
            self.make_room(len(codes))
        word_numbers: list[int] = numbers.tolist()
        self._strings.update(zip(word_numbers, texts, strict=True))
        return word_numbers

    def texts(self, words: Iterable[int]) -> list[str]:
        """The strings with these numbers; each is made once."""
        numbers = list(words)
        strings = self._strings
        new = list(set(numbers).difference(strings))
        if new:
            # All are decoded as one text.
            begins, picked = places_of(self.offsets, np.array(new))
            joined = self.codes[picked].tobytes().decode("utf-32-le", "surrogatepass")
            bounds = pairwise(begins.tolist())
            strings.update(zip(new, (joined[low:high] for low, high in bounds), strict=True))
        return [strings[word] for word in numbers]

    def make_room(self, characters: int) -> None:
        """Make room for so many more characters, and for at least twice as many strings."""
        table = self.table
        count, held = len(self), self.characters
        slots, offsets, codes = table.slots, table.offsets, table.codes
        if 4 * (count + 1) > len(slots):
            slots = np.full(2 * len(slots), -1, np.int64)
            _move(table.slots, slots)
            offsets = np.zeros(len(slots) // 2 + 1, np.int64)
            offsets[: count + 1] = table.offsets[: count + 1]
        if held + characters > len(codes):
            codes = np.zeros(max(held + characters, 2 * len(codes)), np.int32)
            codes[:held] = table.codes[:held]
        self.table = WordTable(codes, offsets, slots, table.used)


def code_points(text: str) -> NDArray[np.int32]:
    """The characters of a text as numbers."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), np.uint8).astype(np.int32)
    # A copy, which is writable: for a read-only array, kernels would be compiled once more.
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32).copy()


# ---------------------------------------------------------------- tokens by number


class Cut(NamedTuple):
    """The tokens of a batch of rows."""

    row_offsets: Int32Array  # (rows + 1,): tokens of row r are row_offsets[r]:row_offsets[r + 1]
    starts: Int32Array  # (tokens,): first character of each token in its row
    ends: Int32Array  # (tokens,): one past the last character
    words: Int32Array  # (tokens,): number of its text in the tokenizer's `Words`

    def of_rows(self, rows: NDArray[np.int64]) -> Cut:
        """The tokens of some of the rows, which are distinct and in order."""
        offsets, places = places_of(self.row_offsets, rows)
        columns = (self.starts[places], self.ends[places], self.words[places])
        return Cut(offsets.astype(np.int32), *columns)


class WordKinds:
    """Which of the words are of a kind, remembered as long as these keep their numbers."""

    def __init__(self, is_of_kind: Callable[[str], bool]) -> None:
        self._is_of_kind = is_of_kind
        self._words: Words | None = None
        self._flags = Growing(np.zeros(0, np.bool_))

    def of(self, words: Words) -> NDArray[np.bool_]:
        """For each word whether it is of the kind."""
        if self._words is not words:
            self._words, self._flags = words, Growing(np.zeros(0, np.bool_))
        new = range(len(self._flags), len(words))
        if new:
            self._flags.extend(list(map(self._is_of_kind, words.texts(new))))
        flags: NDArray[np.bool_] = self._flags.array
        return flags


class TypeTable:
    """The distinct tokens that were seen, as long as the words keep their numbers.

    The code of a type is the number of its word times the number of pairs, plus that of its pair.
    """

    def __init__(
        self, words: Words, pairs: Sequence[tuple[str, str]], lock: AbstractContextManager[bool]
    ) -> None:
        self.words = words
        self.pairs = pairs
        self.name = object()  # says whose the codes are, without holding all words
        self._lock = lock
        self._objects: dict[int, TokenType] = {}
        self._kinds: tuple[Container[str], WordKinds] | None = None

    def members(self, codes: list[int]) -> list[TokenType]:
        """The types with these codes, as objects; one that was asked for before costs a look-up."""
        objects, pairs = self._objects, self.pairs
        new = [code for code in codes if code not in objects]
        if new:
            with self._lock:
                words = self.words.texts([code // len(pairs) for code in new])
            for code, text in zip(new, words, strict=True):
                objects[code] = TokenType(text, *pairs[code % len(pairs)])
        return list(map(objects.__getitem__, codes))

    def parts(
        self, codes: NDArray[np.int64]
    ) -> tuple[list[str], Int32Array, list[tuple[str, str]], Int32Array]:
        """The columns of `TokenTypes` of the types with these codes."""
        numbers, pair_of = np.divmod(codes, len(self.pairs))
        words, word_of = _number(numbers)
        pairs, pair_of = distinct_codes(pair_of, len(self.pairs))
        with self._lock:
            texts = self.words.texts(words.tolist())
        return texts, word_of, list(map(self.pairs.__getitem__, pairs.tolist())), pair_of

    def has_word(self, codes: NDArray[np.int64], among: Container[str]) -> bool:
        """Whether the text of any type with these codes is among some texts."""
        with self._lock:
            if self._kinds is None or self._kinds[0] is not among:
                self._kinds = among, WordKinds(among.__contains__)
            return bool(self._kinds[1].of(self.words)[codes // len(self.pairs)].any())

    def tokens(self, texts: Sequence[str], cut: Cut, pair_ids: NDArray[np.int64] | None) -> Tokens:
        """The tokens of a batch; untagged where no pairs are given."""
        codes = cut.words.astype(np.int64) * len(self.pairs)
        if pair_ids is not None:
            codes += pair_ids
        if len(codes) <= _FEW_TOKENS and not compiles():
            listed = codes.tolist()
            places = {code: place for place, code in enumerate(dict.fromkeys(listed))}
            distinct = np.array(list(places), np.int64)
            type_ids = np.array(list(map(places.__getitem__, listed)), np.int32)
        else:
            distinct, type_ids = _number(codes)
        return Tokens(
            texts=texts,
            row_offsets=cut.row_offsets,
            starts=cut.starts,
            ends=cut.ends,
            type_ids=type_ids,
            types=_CodedTypes(distinct, self),
            tagged=pair_ids is not None,
        )


_COLUMNS = ("words", "word_of", "pairs", "pair_of")


class _CodedTypes(TokenTypes):
    """Types of a batch as codes; words, tags and objects are made when they are asked for."""

    __slots__ = ("_codes", "_of")

    def __init__(self, codes: NDArray[np.int64], of: TypeTable) -> None:
        self._codes, self._of = codes, of
        self._members, self.place_of = None, {}

    def __getattr__(self, name: str) -> Any:
        """Fill in the words and pairs of tags, one of which is asked for the first time."""
        if name not in _COLUMNS:
            raise AttributeError(name)
        for each, column in zip(_COLUMNS, self._of.parts(self._codes), strict=True):
            setattr(self, each, column)
        return getattr(self, name)

    def __reduce__(self) -> tuple[object, ...]:
        return TokenTypes, (self.words, self.word_of, self.pairs, self.pair_of)

    def members(self) -> Sequence[TokenType]:
        if self._members is None:
            self._members = self._of.members(self._codes.tolist())
        return self._members

    def __len__(self) -> int:
        return len(self._codes)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.members()[index]
        return self._of.members([int(self._codes[index])])[0]

    def keys(self) -> tuple[object, Iterable[Hashable]]:
        return self._of.name, self._codes.data

    @property
    def codes(self) -> NDArray[np.int64]:
        return self._codes

    def has_word(self, among: Container[str]) -> bool:
        if len(self._codes) <= _FEW_TOKENS:
            return any(map(among.__contains__, [text for text, _, _ in self.members()]))
        return self._of.has_word(self._codes, among)

    def take(self, places: NDArray[np.integer]) -> TokenTypes:
        return _CodedTypes(self._codes[places], self._of)


def _number(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], Int32Array]:
    """The distinct codes, and for each code its place among them."""
    size = 1 << max(4, (2 * len(codes)).bit_length())
    distinct, numbers = _number_codes(codes, np.full(size, -1, np.int32))
    return distinct, numbers


@kernel_of_alike
def _number_codes(codes: NDArray[Any], slots: Int32Array) -> Any:
    """Number codes in the order in which they first come; slots are at least twice as many."""
    mask = np.int64(len(slots) - 1)
    distinct = np.empty(len(codes), np.int64)
    numbers = np.empty(len(codes), np.int32)
    count = 0
    for place in range(len(codes)):
        code = codes[place]
        slot = (code ^ (code >> np.int64(15))) & mask
        while slots[slot] >= 0 and distinct[slots[slot]] != code:
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = count
            distinct[count] = code
            count += 1
        numbers[place] = slots[slot]
    return distinct[:count].copy(), numbers
