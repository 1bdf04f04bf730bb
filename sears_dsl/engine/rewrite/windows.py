"""Which instances look alike, so that their new text is worked out once.

In: instances as windows of tokens. Out: how they look, each `Look` once. Always holds: two
instances look alike exactly if they have one key, the same tokens, the same characters between
these, touch their neighbours on the same sides and, where that counts, both begin a sentence or
neither does. Costs some 10 ns for each integer of the sequences that stand for windows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sears_dsl.engine.arrays import number_sequences
from sears_dsl.engine.matches import Matches
from sears_dsl.engine.rewrite.placing import OPENING
from sears_dsl.engine.rewrite.spacing import CLOSING, STOPS
from sears_dsl.runtime.array_types import (
    Flags,
    Int32Array,
    Int64Array,
    Integer,
    UInt32Array,
    offsets_of,
)
from sears_dsl.runtime.kernels import kernel
from sears_dsl.tagging.tokens import Tokens

# A sequence begins with a head: the key of its window, and so many flags in the bits below.
_HEAD_BITS = 3

_SPACES = (133, 160, 5760, 8232, 8233, 8239, 8287, 12288)
_OPENING, _CLOSING, _STOPS = (tuple(map(ord, marks)) for marks in (OPENING, CLOSING, STOPS))

Characters: TypeAlias = tuple[UInt32Array, Int64Array]
"""The characters of some texts, one after another, and where each text begins."""


class Windows(NamedTuple):
    """What rendering may read of each match."""

    keys: Int32Array  # (matches,): what else decides about new text; below 2 ** 28
    lows: Int32Array  # (matches,): the first token, counted in the batch
    highs: Int32Array  # (matches,): one past the last


class Look(NamedTuple):
    """The look of matches that become the same, and one of these matches."""

    rule: int  # its rule
    row: int  # its row in the batch
    start: int  # the first token, counted in the row
    end: int  # one past the last
    # What distinguishes the look in all batches: the head of its sequence (see
    # `_describe_windows`), the characters of its window, and the tokens.
    appearance: tuple[Any, ...]

    @property
    def key(self) -> int:
        """The key of their windows."""
        return int(self.appearance[0]) >> _HEAD_BITS


def looks_of(
    windows: Windows, cased: Flags, matches: Matches, tokens: Tokens, characters: Characters
) -> tuple[Int32Array, list[Look]]:
    """For each match the number of its look, and the looks.

    ``cased`` says for each key whether its new text may depend on where a sentence begins.
    """
    keys, lows, highs = windows
    opens = np.zeros(len(matches), np.bool_)
    first = np.flatnonzero(cased[keys] & (matches.starts < matches.ends))
    places = tokens.row_offsets[matches.rows[first]] + matches.starts[first]
    opens[first] = _begin_sentences(matches.rows[first], tokens.starts[places], characters)
    gaps = gaps_of(tokens)
    room = int((1 + 2 * (highs - lows) + wide_gaps(gaps, lows, highs)).sum())
    arrays = (tokens.type_ids, tokens.starts, gaps)
    values, offsets = _describe_windows(
        keys, opens, matches.rows, lows, highs, arrays, characters, room
    )
    numbers, examples = number_sequences(values, offsets)
    shown = Windows(values[offsets[examples]], lows[examples], highs[examples])
    return numbers, list(_looks(shown, matches.select(examples), tokens))


def _looks(windows: Windows, matches: Matches, tokens: Tokens) -> Iterator[Look]:
    """How each match looks; the keys of the windows are the heads of their sequences."""
    heads, lows, highs = windows
    sizes = highs - lows
    past = np.cumsum(sizes)
    inside = np.arange(sizes.sum()) + np.repeat(highs - past, sizes)
    types = tokens.types.take(tokens.type_ids[inside]).members()
    first, last = np.zeros((2, len(sizes)), np.int32)
    first[sizes > 0] = tokens.starts[lows[sizes > 0]]
    last[sizes > 0] = tokens.ends[highs[sizes > 0] - 1]
    places = (matches.rules, matches.rows, matches.starts, matches.ends)
    columns = (column.tolist() for column in (*places, heads, first, last, past - sizes, past))
    for rule, row, start, end, head, low, high, here, there in zip(*columns, strict=True):
        appearance = (head, tokens.texts[row][low:high], *types[here:there])
        yield Look(rule, row, start, end, appearance)


def characters_of(texts: Sequence[str]) -> Characters:
    """The texts as code points.

    Example:
        >>> points, offsets = characters_of(["a😀", "b"])
        >>> [chr(point) for point in points], offsets.tolist()
        (['a', '😀', 'b'], [0, 2, 3])
    """
    joined = "".join(texts).encode("utf-32-le", "surrogatepass")
    offsets = offsets_of(np.fromiter(map(len, texts), np.int64, len(texts)), np.int64)
    return np.frombuffer(joined, np.uint32), offsets


@kernel
def is_word(point: Integer) -> Any:
    """Whether a code point is a letter or a digit, or may be one, or begin a clitic."""
    return point > 127 or point == 39 or 47 < point < 58 or 64 < point < 91 or 96 < point < 123


@kernel
def neighbours(  # noqa: PLR0917 - arrays in the order in which they are made
    rows: Int32Array,
    lows: Int32Array,
    highs: Int32Array,
    starts: Int32Array,
    gaps: Int32Array,
    characters: Characters,
) -> Any:
    """What touches each span of tokens on its left and on its right, uint8 (2, spans).

    2 where `is_word`, 1 for something else, 0 for white space or nothing.
    """
    points, text_offsets = characters
    contacts = np.zeros((2, rows.shape[0]), np.uint8)
    for span in range(rows.shape[0]):
        row, low, high = rows[span], lows[span], highs[span]
        at = text_offsets[row]
        if gaps[low] == 0:
            contacts[0, span] = 1 + is_word(points[at + starts[low] - 1])
        if gaps[high] == 0:
            contacts[1, span] = 1 + is_word(points[at + starts[high]])
    return contacts


@kernel
def _is_space(point: Integer) -> Any:
    """`str.isspace` for one code point."""
    if point < 128:
        return 8 < point < 14 or 27 < point < 33
    return 8191 < point < 8203 or np.int64(point) in _SPACES


@kernel
def _begin_sentences(rows: Int32Array, places: Int32Array, characters: Characters) -> Any:
    """Whether a word at each place in a row begins a sentence, as `begins_sentence` says."""
    points, text_offsets = characters
    flags = np.zeros(places.shape[0], np.bool_)
    for number in range(places.shape[0]):
        begin = text_offsets[rows[number]]
        at = begin + places[number]
        while at > begin and np.int64(points[at - 1]) in _OPENING:
            at -= 1
        if at > begin:
            if not _is_space(points[at - 1]):
                continue
            while at > begin and _is_space(points[at - 1]):
                at -= 1
            while at > begin and np.int64(points[at - 1]) in _CLOSING:
                at -= 1
        flags[number] = at == begin or np.int64(points[at - 1]) in _STOPS
    return flags


@kernel
def _describe_windows(  # noqa: PLR0917 - arrays in the order in which they are made
    keys: Int32Array,
    opens: Flags,
    rows: Int32Array,
    lows: Int32Array,
    highs: Int32Array,
    tokens: tuple[Int32Array, Int32Array, Int32Array],
    characters: Characters,
    room: Integer,
) -> Any:
    """A sequence for each window: its key, below 2 ** 28, tokens and what lies between them.

    ``tokens`` are their types, starts and gaps (see `gaps_of`). A gap between two tokens is 0 where
    they touch, its character plus 1 where it is one, or minus its length and then its characters.
    All sequences together have at most ``room`` numbers.
    """
    type_ids, starts, gaps = tokens
    points, text_offsets = characters
    count = keys.shape[0]
    offsets = np.zeros(count + 1, np.int64)
    values = np.empty(room, np.int32)
    at = np.int64(0)
    for window in range(count):
        low, high = lows[window], highs[window]
        touches = 2 * (gaps[low] == 0) + (gaps[high] == 0)
        values[at] = (keys[window] << _HEAD_BITS) + 4 * opens[window] + touches
        at += 1
        for token in range(low, high):
            gap = gaps[token] if token > low else -1
            here = text_offsets[rows[window]] + starts[token] - gap
            if gap > 1:
                values[at] = -gap
                at += 1
                for place in range(gap):
                    values[at] = np.int32(points[here + place])
                    at += 1
            elif gap >= 0:
                values[at] = np.int32(points[here]) + 1 if gap == 1 else 0
                at += 1
            values[at] = type_ids[token]
            at += 1
        offsets[window + 1] = at
    return values[:at], offsets


def words_in(
    lows: Int32Array, highs: Int32Array, tokens: Tokens, words: dict[str, int]
) -> tuple[dict[str, int], Int32Array]:
    """The words, with those of tokens lows[k] up to highs[k] added; and the word of each token.

    For tokens outside all of these ranges the word means nothing.
    """
    types, count = tokens.types, len(tokens.type_ids)
    steps = np.bincount(lows, minlength=count + 1) - np.bincount(highs, minlength=count + 1)
    is_there = np.zeros(len(types), np.bool_)
    is_there[tokens.type_ids[np.cumsum(steps)[:count] > 0]] = True
    present = np.flatnonzero(is_there)
    some = types.take(present)
    numbers = [words.setdefault(word, len(words)) for word in some.words]
    number_of = np.zeros(len(types), np.int32)
    number_of[present] = np.array(numbers, np.int32)[some.word_of]
    return words, number_of[tokens.type_ids]


def gaps_of(tokens: Tokens) -> Int32Array:
    """How many characters lie between each token and the one before; -1 at the ends of a row."""
    gaps = np.append(tokens.starts, np.int32(0))
    gaps[1:] -= tokens.ends
    gaps[tokens.row_offsets] = -1
    return gaps


def wide_gaps(gaps: Int32Array, lows: Int32Array, highs: Int32Array) -> Int64Array:
    """How many characters lie in the gaps of several characters between tokens of each window."""
    wide = np.cumsum(np.where(gaps > 1, gaps, 0), dtype=np.int64)
    inner: Int64Array = wide[np.maximum(lows, highs - 1)] - wide[lows]
    return inner
