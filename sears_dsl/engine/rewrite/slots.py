"""Plain consequents as formats: constant text with slots for what differs between matches.

In: a rule that copies tokens by their tags and writes words, under exact case, and later its
matches. Out: a `SlotFormat`, and the number of a new text for each match. Always holds: a format
gives what the `Renderer` gives; matches for which it may not (a gap of several characters between
copied neighbours) are left to the renderer, and it is told where more than the span may change (a
span that may be a clitic of the token before, marks at the edges). Mined rules are such rules.
Costs some 0.1 microseconds a match, and one string for each distinct new text, whatever else the
rules and the replaced tokens are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import number_sequences
from sears_dsl.engine.matches import Matches
from sears_dsl.engine.rewrite.pieces import kept_punctuation
from sears_dsl.engine.rewrite.spacing import begins_attached, begins_with_clitic, ends_with_mark
from sears_dsl.engine.rewrite.windows import (
    Characters,
    TokenArrays,
    arrays_of,
    is_word,
    touches,
)
from sears_dsl.language.rule import Rule, Tag, TagCopy, Text
from sears_dsl.runtime.array_types import Flags, Int32Array, Int64Array, UInt8Array
from sears_dsl.runtime.kernels import Growing, kernel
from sears_dsl.tagging.tokens import Tokens

# What stands before a slot: nothing; a space, but before a clitic; what stands in the row.
_BARE, _SPACED, _NEXT = range(3)
_SPACE = ord(" ") + 1
_NOWHERE = -1
# Bits of `_edges`.
_STANDS_APART, _BEGINS_ATTACHED, _ENDS_WITH_MARK = 1, 2, 4


class FormatSlot(NamedTuple):
    """Where new text differs between matches: a copied token, or a space that may be there.

    Attributes:
        copied: the token, counted from the start of the span; -1 where none is copied.
        mode: what stands before it.
        left: no space is there where the token at this place touches the one before; -1: none.
        right: the same for another place.
    """

    copied: int
    mode: int
    left: int = _NOWHERE
    right: int = _NOWHERE


class SlotFormat(NamedTuple):
    """New text with slots: one between two constant pieces each.

    ``reaches``: it begins or ends with what may take along what stands around it.
    """

    pieces: tuple[str, ...]
    slots: tuple[FormatSlot, ...]
    reaches: bool = False


class Formats:
    """The formats of templates, by their numbers; None for a template that has none.

    Attributes:
        known: as they were added.
        has: bool (formats,): whether there is one.
        reaches: bool (formats,): see `SlotFormat`.
        slots: int32 (slots, 4): the slots of all formats, one format after another.
        slot_offsets: int64 (formats + 1,): where those of each begin.
        edge_slots: int32 (formats, 2): which slots copy what new text begins and ends with, -1
            where that is constant.
    """

    def __init__(self) -> None:
        self.known: list[SlotFormat | None] = []
        self.has = Growing(np.zeros(0, np.bool_))
        self.reaches = Growing(np.zeros(0, np.bool_))
        self.slots = Growing(np.zeros((0, 4), np.int32))
        self.slot_offsets = Growing(np.zeros(1, np.int64))
        self.edge_slots = Growing(np.zeros((0, 2), np.int32))

    def extend(self, some: Sequence[SlotFormat | None]) -> None:
        """Add formats."""
        slots = [() if one is None else one.slots for one in some]
        before = len(self.slots)
        numbers = np.fromiter(chain.from_iterable(chain.from_iterable(slots)), np.int32)
        self.slots.extend(numbers.reshape(-1, 4))
        self.slot_offsets.extend(before + np.cumsum(list(map(len, slots)), dtype=np.int64))
        edges = [(-1, -1) if one is None else _edge_slots(one) for one in some]
        self.edge_slots.extend(np.fromiter(chain.from_iterable(edges), np.int32).reshape(-1, 2))
        self.has.extend([one is not None for one in some])
        self.reaches.extend([one is not None and one.reaches for one in some])
        self.known += some


def copied_places(rule: Rule) -> tuple[int | None, ...]:
    """For each piece of a plain rule's consequent the element that it copies by a tag."""
    names: list[str | None] | None = None
    places: list[int | None] = []
    for piece in rule.consequent:
        place = None
        if isinstance(piece, TagCopy):
            if names is None:
                bodies = [element.body for element in rule.antecedent]
                names = [body.name if isinstance(body, Tag) else None for body in bodies]
            if piece.tag in names:
                place = names.index(piece.tag)
                names[place] = None  # the next copy is of the next one
        places.append(place)
    return tuple(places)


def format_of(rule: Rule) -> SlotFormat | None:
    """The format of a plain rule whose words keep their casing; None where it has none.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> pieces, slots, reaches = format_of(parse("WP NOUN -> Which NOUN").rules[0])
        >>> pieces, slots
        (('Which', ''), (FormatSlot(copied=1, mode=1, left=-1, right=-1),))
    """
    if not rule.consequent or rule.consequent[0].glued:
        return None
    first, last = rule.consequent[0], rule.consequent[-1]
    reaches = (isinstance(first, Text) and begins_attached(first.text)) or (
        isinstance(last, Text) and ends_with_mark(last.text)
    )
    punctuation = kept_punctuation(rule)
    copied = copied_places(rule)
    pieces, slots = [""], []
    for number, (piece, place) in enumerate(zip(rule.consequent, copied, strict=True)):
        text = piece.text if isinstance(piece, Text) else ""
        if not text and place is None:
            return None
        # Punctuation that is kept touches what it touched: left of it, and right of it.
        right = punctuation.get(number, _NOWHERE)
        left = punctuation.get(number - 1, _NOWHERE - 1) + 1
        if number == 0 or piece.glued or begins_with_clitic(text):
            mode = _BARE
        elif place is not None and number and copied[number - 1] == place - 1:
            mode = _NEXT
        else:
            mode = _SPACED
        if place is not None:
            slots.append(FormatSlot(place, mode, left, right))
            pieces.append("")
        elif mode == _SPACED and max(left, right) >= 0:
            slots.append(FormatSlot(_NOWHERE, mode, left, right))
            pieces.append(text)
        else:
            pieces[-1] += text if mode == _BARE else f" {text}"
    return SlotFormat(tuple(pieces), tuple(slots), reaches)


SILENT, MISSING, REPLACED, PLACED = range(4)
"""What becomes of a match: nothing, since the text stays or since an inflection is missing; new
text in the place of the old; or an edit that depends on the row around it."""


class FormattedTexts(NamedTuple):
    """What formats gave.

    Attributes:
        has_text: bool (matches,): where a format told the new text.
        outcomes: int8 (matches,): what became of those, one of the numbers above; of the others
            `REPLACED`.
        numbers: int32 (matches,): the number of that text, -1 where none is told.
    """

    has_text: NDArray[np.bool_]
    outcomes: NDArray[np.int8]
    numbers: Int32Array
    texts: list[str]


def write_formats(
    formats: Formats,
    keys: Int32Array,
    matches: Matches,
    tokens: Tokens,
    characters: Characters,
) -> FormattedTexts:
    """The new texts of matches that have a format."""
    has, outcomes = formats.has.array, np.full(len(keys), REPLACED, np.int8)
    if not has[keys].any():
        nothing = np.zeros(len(keys), np.bool_)
        return FormattedTexts(nothing, outcomes, np.full(len(keys), -1, np.int32), [])
    words: dict[str, int] = {}
    lows = tokens.row_offsets[matches.rows] + matches.starts
    highs = tokens.row_offsets[matches.rows] + matches.ends
    word_of = np.zeros(len(tokens.types), np.int32)
    formatted = has[keys]
    types = tokens.types
    for number in _types_between(lows[formatted], highs[formatted], tokens):
        word_of[number] = words.setdefault(types[number].text, len(words))
    is_clitic = np.array([begins_with_clitic(word) for word in words], np.bool_)
    kinds = np.array([_edges(word) for word in words], np.uint8)
    of_formats = (formats.slot_offsets.array, formats.slots.array, formats.edge_slots.array)
    described, offsets, has_text, placed = _describe_slots(
        keys, has, formats.reaches.array, matches.rows, lows, highs, *of_formats,
        word_of, is_clitic, kinds, arrays_of(tokens), characters,
    )  # fmt: skip
    numbers, examples = number_sequences(described, offsets)
    spelled = [*words, ""]  # the last one for slots that copy nothing
    texts: dict[str, int] = {}
    ids: list[int] = []
    for low, high in zip(offsets[examples].tolist(), offsets[examples + 1].tolist(), strict=True):
        key, *copied = described[low:high].tolist() if low < high else [-1]
        form = formats.known[key] if key >= 0 else None
        if form is None:  # what all matches without a format have
            ids.append(-1)
            continue
        pieces = form.pieces
        text = pieces[0]
        for slot, piece in enumerate(pieces[1:]):
            word, before = copied[2 * slot : 2 * slot + 2]
            text += (chr(before - 1) if before else "") + spelled[word] + piece
        ids.append(texts.setdefault(text, len(texts)))
    new_ids, new_texts = np.array(ids, np.int32)[numbers], list(texts)
    if new_texts:
        outcomes[placed] = PLACED
        with_text = np.flatnonzero(has_text)
        stays = _stays(new_ids[with_text], new_texts, matches.select(with_text), tokens)
        outcomes[with_text[stays]] = SILENT
    return FormattedTexts(has_text, outcomes, new_ids, new_texts)


def _stays(
    new_ids: Int32Array, new_texts: Sequence[str], matches: Matches, tokens: Tokens
) -> NDArray[np.int64]:
    """The matches whose new text is what stands there already."""
    base = tokens.row_offsets[matches.rows]
    starts = tokens.starts[base + matches.starts]
    ends = tokens.ends[base + matches.ends - 1]
    lengths = np.fromiter(map(len, new_texts), np.int32, len(new_texts))
    alike = np.flatnonzero(lengths[new_ids] == ends - starts)
    columns = (matches.rows[alike], starts[alike], ends[alike], new_ids[alike])
    same = [
        tokens.texts[row][start:end] == new_texts[number]
        for row, start, end, number in zip(*(c.tolist() for c in columns), strict=True)
    ]
    return alike[np.array(same, np.bool_)]


def _types_between(lows: Int32Array, highs: Int32Array, tokens: Tokens) -> list[int]:
    """The types of the tokens lows[k] up to and with highs[k], where there are so many."""
    counts = highs - lows + 1
    first = np.repeat(lows - np.cumsum(counts) + counts, counts)
    places = np.minimum(first + np.arange(len(first)), len(tokens.type_ids) - 1)
    present = np.zeros(len(tokens.types), np.bool_)
    present[tokens.type_ids[places]] = True
    numbers: list[int] = np.flatnonzero(present).tolist()
    return numbers


def _edges(word: str) -> int:
    """What the edges of a token say of new text that it begins or ends, or in whose place it is."""
    apart = not word[:1].isalnum() or begins_with_clitic(word)
    kind = _STANDS_APART if apart else 0
    kind += _BEGINS_ATTACHED if begins_attached(word) else 0
    return kind + (_ENDS_WITH_MARK if ends_with_mark(word) else 0)


def _edge_slots(form: SlotFormat) -> tuple[int, int]:
    """The slots that copy what new text begins and ends with; -1 where it is constant."""
    first = 0 if form.slots and not form.pieces[0] and form.slots[0].copied >= 0 else -1
    last = len(form.slots) - 1 if form.slots and not form.pieces[-1] else -1
    return first, last


@kernel
def _describe_slots(  # noqa: PLR0915, PLR0917 - arrays in the order in which they are made
    keys: Int32Array,
    has: Flags,
    reaches: Flags,
    rows: Int32Array,
    lows: Int32Array,
    highs: Int32Array,
    slot_offsets: Int64Array,
    slots: Int32Array,
    edge_slots: Int32Array,
    word_of: Int32Array,
    is_clitic: Flags,
    kinds: UInt8Array,
    tokens: TokenArrays,
    characters: Characters,
) -> Any:
    """A sequence for each match: its format, then for each slot the word and what stands before it.

    It is empty where the format does not tell the text; see `FormattedTexts`.
    """
    row_offsets, type_ids, starts, ends = tokens
    points, text_offsets = characters
    count = keys.shape[0]
    offsets = np.zeros(count + 1, np.int64)
    has_text = np.zeros(count, np.bool_)
    placed = np.zeros(count, np.bool_)
    total = np.int64(0)
    for match in range(count):
        key, low = keys[match], lows[match]
        if not has[key]:  # an insertion may stand behind the last token of all
            offsets[match + 1] = total
            continue
        complete = True
        more = reaches[key]
        first = kinds[word_of[type_ids[low]]]
        text = text_offsets[rows[match]]
        if touches(low, rows[match], row_offsets, starts, ends):
            beside = is_word(points[text + starts[low] - 1])
            more = more or first & _STANDS_APART != 0 or beside
        if touches(highs[match], rows[match], row_offsets, starts, ends):
            more = more or is_word(points[text + ends[highs[match] - 1]])
        for side in range(2):
            slot = edge_slots[key, side]
            if slot >= 0:
                copied = kinds[word_of[type_ids[low + slots[slot_offsets[key] + slot, 0]]]]
                more = more or copied & (_BEGINS_ATTACHED, _ENDS_WITH_MARK)[side] != 0
        for slot in range(slot_offsets[key], slot_offsets[key + 1]):
            at = low + slots[slot, 0]
            if slots[slot, 1] == _NEXT and starts[at] - ends[at - 1] > 1:
                complete = False
        has_text[match] = complete
        placed[match] = complete and more
        if complete:
            total += 1 + 2 * (slot_offsets[key + 1] - slot_offsets[key])
        offsets[match + 1] = total
    values = np.empty(total, np.int32)
    for match in range(count):
        if not has_text[match]:
            continue
        key = keys[match]
        place = offsets[match]
        values[place] = key
        for slot in range(slot_offsets[key], slot_offsets[key + 1]):
            at = lows[match] + slots[slot, 0]
            word = np.int64(-1)
            if slots[slot, 0] >= 0:
                word = np.int64(word_of[type_ids[at]])
            before = np.int64(0)
            if slots[slot, 1] == _SPACED:
                before = np.int64(_SPACE)
                if word >= 0 and is_clitic[word]:
                    before = np.int64(0)
                for column in range(2, 4):
                    beside = lows[match] + slots[slot, column]
                    if slots[slot, column] >= 0 and touches(
                        beside, rows[match], row_offsets, starts, ends
                    ):
                        before = np.int64(0)
            elif slots[slot, 1] == _NEXT and starts[at] > ends[at - 1]:
                point = points[text_offsets[rows[match]] + ends[at - 1]]
                before = np.int64(point) + 1
            values[place + 1] = word
            values[place + 2] = before
            place += 2
    return values, offsets, has_text, placed
