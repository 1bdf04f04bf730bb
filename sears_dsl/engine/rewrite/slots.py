"""New texts of plain rules under exact case, as slots: each a word, and what stands before it.

In: formats of rules that copy tokens by their tags and write words (`plain_rules`), as mined rules
do; later, their matches. Out: the number of a new text for each match. Always holds: the text is
what the `Renderer` gives. Where more than the span may change (the span may be a clitic of the
token before it, or there are marks at the edges), the match is left to the renderer's placing.
Costs some 0.1 microseconds a match, and one string for each distinct new text, however many rules
and replaced tokens lead to it.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import grown, number_sequences
from sears_dsl.engine.matches import Matches
from sears_dsl.engine.rewrite import spacing
from sears_dsl.engine.rewrite.windows import Characters, characters_of, is_word
from sears_dsl.runtime.array_types import Growing, Int32Array, Int64Array, Integer, UInt8Array
from sears_dsl.runtime.kernels import kernel
from sears_dsl.tagging.tokens import Tokens

BARE, SPACED, NEXT = range(3)
"""What stands before a slot: nothing; a space, unless it is a clitic; what stands in the row."""
NOWHERE = -1
_SPACE = ord(" ") + 1
# Columns of the slots.
_WORD, _COPIED, _MODE, _LEFT, _RIGHT = range(5)
# Flags of a word that begins or ends new text, or that new text replaces.
_STANDS_APART, _BEGINS_ATTACHED, _ENDS_REACHING, _IS_CLITIC = 1, 2, 4, 8
_IS_NOT, _IS_BRACKET, _IS_QUOTE, _BEARS_NOT = 16, 32, 64, 128


class Formats:
    """The formats of templates, by their numbers: new text as slots, one for each word of it."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}  # the words that formats write, and their numbers
        self.has = Growing(np.zeros(0, np.bool_))  # (templates,): whether each has a format
        # The slots of all formats, one after another. Columns: the word, -1 for a copied token; the
        # copied token, counted from the start of the span, else -1; what stands before the slot;
        # and two tokens (-1: none): if one of these touches the token before it, the slot has no
        # space before it.
        self.slots = Growing(np.zeros((0, 5), np.int32))
        self.offsets = Growing(np.zeros(1, np.int64))  # where those of each template begin

    def add(self, slots: Int32Array, offsets: Int64Array) -> None:
        """Add formats: their slots, and where those of each begin."""
        self.offsets.extend(len(self.slots) + offsets[1:])
        self.slots.extend(slots)
        self.has.extend(np.ones(len(offsets) - 1, np.bool_))

    def pass_over(self, count: int) -> None:
        """Add ``count`` templates without a format."""
        self.offsets.extend(np.full(count, len(self.slots)))
        self.has.extend(np.zeros(count, np.bool_))


SILENT, MISSING, REPLACED, PLACED = range(4)
"""What becomes of a match: nothing, since the text stays the same; nothing, since it cannot be
rendered; new text in the place of the old; or an edit that depends on the row around it."""


class FormattedTexts(NamedTuple):
    """The new texts that formats gave."""

    has_text: NDArray[np.bool_]  # bool (matches,): whether a format gave the new text
    # int8 (matches,): what becomes of those, one of the numbers above; `REPLACED` for the others
    outcomes: NDArray[np.int8]
    numbers: Int32Array  # (matches,): the number of the new text, -1 without a format
    texts: dict[str, int]  # new texts and their numbers


def write_formats(
    formats: Formats, keys: Int32Array, matches: Matches, tokens: Tokens, characters: Characters
) -> FormattedTexts:
    """The new texts of matches that have a format."""
    has_text, outcomes = formats.has.array[keys], np.full(len(keys), REPLACED, np.int8)
    new_ids = np.full(len(keys), -1, np.int32)
    if not has_text.any():
        return FormattedTexts(has_text, outcomes, new_ids, {})
    chosen = slice(None) if has_text.all() else np.flatnonzero(has_text)
    some = matches.select(chosen)
    lows = tokens.row_offsets[some.rows] + some.starts
    highs = tokens.row_offsets[some.rows] + some.ends
    words, word_at = _words_between(lows, highs, tokens, dict(formats.words))
    kinds = np.fromiter(map(_kind_of, words), np.uint8, len(words))
    gaps = _gaps(tokens)
    wide = np.cumsum(np.where(gaps > 1, gaps, 0))
    keys, slot_offsets = keys[chosen], formats.offsets.array
    room = 2 * (slot_offsets[keys + 1] - slot_offsets[keys]) + wide[highs - 1] - wide[lows]
    described, offsets, reaching, parted = _describe_slots(
        keys, some.rows, lows, highs, slot_offsets, formats.slots.array,
        word_at, kinds, gaps, tokens.starts, characters, int(room.sum()),
    )  # fmt: skip
    numbers, examples = number_sequences(described, offsets)
    points, bounds = _spell(described, offsets, examples, characters_of(list(words)))
    every, cuts = points.tobytes().decode("utf-32-le", "surrogatepass"), bounds.tolist()
    texts: dict[str, int] = {}
    ids = [texts.setdefault(every[low:high], len(texts)) for low, high in pairwise(cuts)]
    new_ids[chosen] = np.array(ids, np.int32)[numbers]
    places = (some.rows, tokens.starts[lows], tokens.ends[highs - 1])
    stays = _stays(*places, numbers, characters, (points, bounds))
    becomes = outcomes[chosen]
    becomes[reaching], becomes[stays], becomes[parted] = PLACED, SILENT, MISSING
    outcomes[chosen] = becomes
    return FormattedTexts(has_text, outcomes, new_ids, texts)


def _words_between(
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


def _gaps(tokens: Tokens) -> Int32Array:
    """How many characters lie between each token and the one before; -1 at the ends of a row."""
    gaps = np.append(tokens.starts, np.int32(0))
    gaps[1:] -= tokens.ends
    gaps[tokens.row_offsets] = -1
    return gaps


@lru_cache(maxsize=1 << 16)
def _kind_of(word: str) -> int:
    """The flags of a word that begins or ends new text, or that new text replaces."""
    clitic = spacing.begins_with_clitic(word)
    kind = _IS_CLITIC if clitic else 0
    kind += _STANDS_APART if clitic or not word[:1].isalnum() else 0
    kind += _BEGINS_ATTACHED if spacing.begins_attached(word) else 0
    kind += _IS_NOT if spacing.begins_with_not(word) else 0
    kind += _BEARS_NOT if spacing.bears(word, "n't") else 0
    kind += _IS_BRACKET if word in spacing.OPENING_MARKS else 0
    kind += _IS_QUOTE if word in spacing.QUOTES else 0
    return kind + (_ENDS_REACHING if spacing.ends_reaching(word) else 0)


@kernel
def _spell(
    described: Int32Array, offsets: Int64Array, chosen: Int32Array, words: Characters
) -> Any:
    """The characters of the texts that some sequences of `_describe_slots` spell, and bounds."""
    points, word_offsets = words
    bounds = np.zeros(chosen.shape[0] + 1, np.int64)
    written = np.empty(64, np.uint32)
    size = np.int64(0)
    for number in range(chosen.shape[0]):
        at, past = offsets[chosen[number]], offsets[chosen[number] + 1]
        while at < past:
            before = np.int64(described[at])
            gap = max(-before, np.int64(0))
            word = described[at + 1 + gap]
            low, high = word_offsets[word], word_offsets[word + 1]
            if size + gap + 1 + high - low > written.shape[0]:
                written = grown(written, size + gap + 1 + high - low)
            if before > 0:
                written[size] = before - 1
                size += 1
            for place in range(at + 1, at + 1 + gap):
                written[size] = described[place]
                size += 1
            for place in range(low, high):
                written[size] = points[place]
                size += 1
            at += 2 + gap
        bounds[number + 1] = size
    return written[:size].copy(), bounds


@kernel
def _stays(  # noqa: PLR0917 - arrays in the order in which they are made
    rows: Int32Array,
    starts: Int32Array,
    ends: Int32Array,
    text_ids: Int32Array,
    characters: Characters,
    new_characters: Characters,
) -> Any:
    """For each span of characters, whether its new text is what stands there already."""
    points, offsets = characters
    new_points, new_offsets = new_characters
    flags = np.zeros(rows.shape[0], np.bool_)
    for span in range(rows.shape[0]):
        size = ends[span] - starts[span]
        new = new_offsets[text_ids[span]]
        if new_offsets[text_ids[span] + 1] - new != size:
            continue
        old = offsets[rows[span]] + starts[span]
        at = 0
        while at < size and points[old + at] == new_points[new + at]:
            at += 1
        flags[span] = at == size
    return flags


@kernel
def _describe_slots(  # noqa: PLR0917 - arrays in the order in which they are made
    keys: Int32Array,
    rows: Int32Array,
    lows: Int32Array,
    highs: Int32Array,
    slot_offsets: Int64Array,
    slots: Int32Array,
    word_at: Int32Array,
    kinds: UInt8Array,
    gaps: Int32Array,
    starts: Int32Array,
    characters: Characters,
    room: Integer,
) -> Any:
    """A sequence for each match: for each slot, what stands before it, and its word.

    What stands before it is 0 for nothing, a code point plus 1 for one character, or minus their
    count and then the code points for several. Also returns, for each match, whether the edit may
    change more than the span, and whether ``n't`` would follow a word that does not bear it. All
    sequences together have at most ``room`` numbers.
    """
    points, text_offsets = characters
    count = keys.shape[0]
    offsets = np.zeros(count + 1, np.int64)
    reaching, parted = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    values = np.empty(room, np.int32)
    place = np.int64(0)
    for match in range(count):
        key, low, high = keys[match], lows[match], highs[match]
        text = text_offsets[rows[match]]
        first, last = slot_offsets[key], slot_offsets[key + 1] - 1
        old, new = word_at[low], slots[first, _WORD]
        new = word_at[low + slots[first, _COPIED]] if new < 0 else new
        apart = kinds[old] & _STANDS_APART != 0
        more = False
        # The same mark stays where it is, whatever stands before it.
        if new != old or not apart or kinds[old] & _IS_CLITIC != 0:
            more = kinds[new] & _BEGINS_ATTACHED != 0
            if gaps[low] == 0:
                more = more or apart or is_word(points[text + starts[low] - 1])
        if gaps[high] == 0:
            more = more or is_word(points[text + starts[high]])
        opening, bears = False, True  # whether the last word opened something, and bears n't
        for slot in range(first, last + 1):
            at = low + slots[slot, _COPIED]
            word = np.int64(slots[slot, _WORD])
            if word < 0:
                word = np.int64(word_at[at])
            before, several, here = np.int64(0), np.int64(0), np.int64(0)
            if slots[slot, _MODE] == SPACED and kinds[word] & _IS_CLITIC == 0:
                before = np.int64(0 if opening else _SPACE)
                for column in range(_LEFT, _RIGHT + 1):
                    if slots[slot, column] >= 0 and gaps[low + slots[slot, column]] == 0:
                        before = np.int64(0)
            elif slots[slot, _MODE] == NEXT and gaps[at] > 0:
                here = text + starts[at] - gaps[at]
                before = np.int64(points[here]) + 1
                if gaps[at] > 1:
                    several = np.int64(gaps[at])
                    before = -several
            if not bears and slots[slot, _MODE] != NEXT and kinds[word] & _IS_NOT != 0:
                parted[match] = True
            bears = kinds[word] & _BEARS_NOT != 0
            opening = slots[slot, _WORD] < 0 and gaps[at + 1] == 0
            if kinds[word] & _IS_BRACKET == 0:
                opening = opening and kinds[word] & _IS_QUOTE != 0 and gaps[at] != 0
            values[place] = before
            for step in range(several):
                values[place + 1 + step] = points[here + step]
            values[place + 1 + several] = word
            place += 2 + several
            if slot == last and word != word_at[high - 1]:
                more = more or kinds[word] & _ENDS_REACHING != 0
        reaching[match] = more
        offsets[match + 1] = place
    return values[:place], offsets, reaching, parted
