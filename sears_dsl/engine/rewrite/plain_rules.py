"""What plain rules write: which of them write alike, and formats for those under exact case.

In: rules whose elements each test one token by its word or tag, without context, quantifier, group
or name; mining makes hundreds of thousands of these. Out: `RuleDescriptions`, or a format for each:
slots, each a word or a token that is copied, and what stands before it; later, for the matches of
rules with a format, the numbers of their new texts. Always holds: two rules with one description
write the same where their windows look alike; a format writes what `Renderer` writes. Where more
than the span may change (the span may be a clitic of the token before it, or there are marks at the
edges), the match is left to the renderer's placing. Costs some Python work for each distinct
element and piece, however many rules have it, some 0.1 microseconds a rule, as much a match, and
one string for each distinct new text, however many rules and replaced tokens lead to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import grown, headed_sequences, number_sequences
from sears_dsl.engine.compile.rule_parts import NumberedParts, RuleParts
from sears_dsl.engine.matches import Matches
from sears_dsl.engine.rewrite import spacing
from sears_dsl.engine.rewrite.pieces import is_punctuation
from sears_dsl.engine.rewrite.placing import ATTACHED, MISSING, PLACED, REPLACED, SILENT
from sears_dsl.engine.rewrite.renderer import names_casing
from sears_dsl.engine.rewrite.windows import (
    Characters,
    characters_of,
    gaps_of,
    is_word,
    wide_gaps,
    words_in,
)
from sears_dsl.language.rule import Element, Literal, Piece, Tag, TagCopy, Text
from sears_dsl.runtime.array_types import (
    Growing,
    Int32Array,
    Int64Array,
    Integer,
    UInt16Array,
)
from sears_dsl.runtime.kernels import expect, kernel
from sears_dsl.tagging.tokens import Tokens

_BARE, _SPACED, _NEXT = range(3)
"""What stands before a slot: nothing; a space, unless it is a clitic; what stands in the row."""
_NOWHERE = -1
_SPACE = ord(" ") + 1
# Columns of the slots.
_SLOT_WORD, _COPIED, _MODE, _LEFT, _RIGHT = range(5)
# Flags of a word that begins or ends new text, or that new text replaces.
_STANDS_APART, _BEGINS_ATTACHED, _ENDS_REACHING, _IS_CLITIC = 1, 2, 4, 8
_IS_NOT, _IS_BRACKET, _IS_QUOTE, _BEARS_NOT, _ENDS_OPENING = 16, 32, 64, 128, 256
# Columns for each piece: what it writes; the value of the tag or mark that it writes again (-1:
# none); the number of its word, or one of the two below; and whether it is glued.
_WRITTEN, _AGAIN, _WORD, _GLUED = range(4)
_COPIED_WORD, _NO_WORD = -1, -2
# What is written where a token is copied.
_COPY, _GLUED_COPY = -1, -2
# Columns for each element: the value of the tag or mark that it is (-1: none), and bits.
_VALUE, _BITS = range(2)
_PLAIN, _NAMES_CASING, _IS_TAG = 1, 2, 4
# Bits of a head.
_REPAIRS, _CASED, _CALLED, _LENGTH_SHIFT = 1, 2, 4, 3


class RuleDescriptions(NamedTuple):
    """What rules write."""

    numbers: Int32Array  # (rules,): the same number where they write alike
    keys: list[bytes]  # for each number the sequence that it stands for, as bytes
    examples: list[int]  # for each number the place of a rule with it


class RuleFormats(NamedTuple):
    """The formats of rules."""

    has: NDArray[np.bool_]  # (rules,): whether a rule has one
    slots: Int32Array  # (slots, 5): see `Formats`; those of rules that have one
    offsets: Int64Array  # (rules that have one + 1,): where those of each begin


class PlainRules:
    r"""Describes what plain rules write, by the numbers of the rules.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("DT NN -> a NN\nDET NOUN -> a NOUN\nDT NN -> a DT")
        >>> plain = PlainRules(RuleParts.of(rules.rules, rules), {})
        >>> plain.describe(np.arange(3), plain.heads(np.arange(3))).numbers.tolist()
        [0, 0, 1]
    """

    def __init__(self, parts: RuleParts, words: dict[str, int]) -> None:
        self._parts = parts
        self._words = words  # word of a format → its number; new words are added
        self._values: dict[object, int] = {}
        self._pieces = _Known(parts.pieces.distinct, self._of_piece, 4)
        self._elements = _Known(parts.elements.distinct, self._of_element, 2)

    def are_plain(self, rules: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each element of a rule is a test on one token, by its word or by its tag."""
        elements = self._parts.elements.of(rules)
        table = self._elements.of(elements.numbers)
        return self._parts.bare[rules] & ~elements.have(table[:, _BITS] & _PLAIN == 0)

    def heads(self, rules: NDArray[np.int64]) -> Int32Array:
        """For each rule a number that holds what affects its new text apart from its pieces."""
        elements, options = self._parts.elements, [each.options for each in self._parts.scopes]
        some = elements.of(rules)
        bits = self._elements.of(some.numbers)[:, _BITS]
        scope_of = self._parts.scope_of[rules]
        exact = np.array([each.case == "exact" for each in options], np.bool_)[scope_of]
        repairs = np.array([each.repair == "on" for each in options], np.bool_)[scope_of]
        cased = ~exact
        if cased.any():
            cased &= ~some.have(bits & _NAMES_CASING > 0)
        # A first word that a tag calls no name may lose its capital.
        called = bits[elements.numbers[elements.offsets[rules]]] & _IS_TAG > 0
        heads = np.diff(some.offsets) << _LENGTH_SHIFT
        heads |= repairs * _REPAIRS | cased * (_CASED | called * _CALLED)
        return heads.astype(np.int32)

    def describe(self, rules: NDArray[np.int64], heads: Int32Array) -> RuleDescriptions:
        """Tell which rules write alike."""
        pieces, again = self._pieces_of(rules)
        written = self._pieces.of(pieces.numbers)[pieces.numbers, _WRITTEN]
        values, offsets = headed_sequences(heads, np.diff(pieces.offsets), written, again)
        numbers, examples = number_sequences(values, offsets)
        bounds = zip(offsets[examples].tolist(), offsets[examples + 1].tolist(), strict=True)
        keys = [values[low:high].tobytes() for low, high in bounds]
        return RuleDescriptions(numbers, keys, examples.tolist())

    def formats(self, rules: NDArray[np.int64], heads: Int32Array) -> RuleFormats:
        r"""The formats of rules whose words keep their casing.

        Example:
            >>> from sears_dsl.language.loader import parse
            >>> rules = parse("option case = exact\nWP NOUN -> Which NOUN")
            >>> plain = PlainRules(RuleParts.of(rules.rules, rules), {})
            >>> has, slots, offsets = plain.formats(np.arange(1), plain.heads(np.arange(1)))
            >>> has.tolist(), slots.tolist()  # the word 0, then the token 1 after a space
            ([True], [[0, -1, 0, -1, -1], [-1, 1, 1, -1, -1]])
        """
        plain = heads & (_REPAIRS | _CASED) == 0
        if not plain.any():  # the kernel need not be read from disk
            return RuleFormats(plain, np.zeros((0, 5), np.int32), np.zeros(1, np.int64))
        pieces, again = self._pieces_of(rules[plain])
        known_pieces = self._pieces.of(pieces.numbers)
        has, slots, offsets = _format(pieces.numbers, pieces.offsets, known_pieces, again)
        plain[plain] = has
        return RuleFormats(plain, slots, offsets)

    def _pieces_of(self, rules: NDArray[np.int64]) -> tuple[NumberedParts, Int32Array]:
        """The pieces of rules, and the element of its rule that each writes again; -1: none."""
        pieces, elements = self._parts.pieces.of(rules), self._parts.elements.of(rules)
        expect(len(pieces.numbers))
        values = self._pieces.of(pieces.numbers)[pieces.numbers, _AGAIN]
        of_elements = self._elements.of(elements.numbers)[elements.numbers, _VALUE]
        return pieces, _repeated(values, pieces.offsets, of_elements, elements.offsets)

    def _value(self, *key: object) -> int:
        return self._values.setdefault(key, len(self._values))

    def _of_piece(self, number: int) -> tuple[int, int, int, int]:
        piece: Piece = self._parts.pieces.distinct[number]
        if isinstance(piece, TagCopy):
            written = _GLUED_COPY if piece.glued else _COPY
            return written, self._value("tag", piece.tag), _COPIED_WORD, piece.glued
        if not isinstance(piece, Text):
            return self._value("other", piece), -1, _NO_WORD, piece.glued
        written = self._value("text", piece.text, piece.glued)
        again = self._value("mark", piece.text) if is_punctuation(piece.text) else -1
        word = self._words.setdefault(piece.text, len(self._words)) if piece.text else _NO_WORD
        return written, again, word, piece.glued

    def _of_element(self, number: int) -> tuple[int, int]:
        element: Element = self._parts.elements.distinct[number]
        scope = self._parts.scopes[self._parts.element_scope_of[number]]
        body, is_tag = element.body, isinstance(element.body, Tag)
        plain = element.minimum == 1 == element.maximum and element.name is None
        bits = _PLAIN if plain and isinstance(body, (Literal, Tag)) else 0
        bits |= (_NAMES_CASING if names_casing(body, scope) else 0) | (_IS_TAG if is_tag else 0)
        if isinstance(body, Tag):
            return self._value("tag", body.name), bits
        if isinstance(body, Literal) and is_punctuation(body.text):
            return self._value("mark", body.text), bits
        return -1, bits


class _Known:
    """A table about elements or pieces, by their numbers; a row is filled when it is first needed.

    ``tell`` gives the row of one of the ``distinct`` ones, which is ``width`` numbers.
    """

    def __init__(
        self, distinct: Sequence[object], tell: Callable[[int], tuple[int, ...]], width: int
    ) -> None:
        self._tell = tell
        self._known = np.zeros((len(distinct), width), np.int32)
        self._seen = np.zeros(len(distinct), np.bool_)

    def of(self, numbers: Int32Array) -> Int32Array:
        """The table, with the rows of these numbers filled; callers must not write to it."""
        wanted = np.zeros(len(self._seen), np.bool_)
        wanted[numbers] = True
        new = np.flatnonzero(wanted & ~self._seen).tolist()
        if new:
            self._known[new] = list(map(self._tell, new))
            self._seen[new] = True
        return self._known


@kernel
def _repeated(
    values: Int32Array, offsets: Int64Array, of_elements: Int32Array, element_offsets: Int64Array
) -> Any:
    """For each piece of rules the element of its rule that it writes again, -1 where there is none.

    This is the first that has the value of the piece, which is negative for other pieces, and that
    no piece before it writes again.
    """
    numbers = np.full(values.shape[0], -1, np.int32)
    used = np.zeros(of_elements.shape[0], np.bool_)
    for rule in range(offsets.shape[0] - 1):
        first, last = element_offsets[rule], element_offsets[rule + 1]
        for piece in range(offsets[rule], offsets[rule + 1]):
            for at in range(first, last if values[piece] >= 0 else first):
                if not used[at] and of_elements[at] == values[piece]:
                    used[at] = True
                    numbers[piece] = at - first
                    break
    return numbers


@kernel
def _format(
    pieces: Int32Array, piece_offsets: Int64Array, known_pieces: Int32Array, again: Int32Array
) -> Any:
    """The fields of `RuleFormats`, with a slot for each piece."""
    count = piece_offsets.shape[0] - 1
    has = np.zeros(count, np.bool_)
    slots = np.empty((pieces.shape[0], 5), np.int32)
    offsets = np.zeros(count + 1, np.int64)
    formats = 0
    for rule in range(count):
        begin, end = piece_offsets[rule], piece_offsets[rule + 1]
        complete = begin < end and known_pieces[pieces[begin], _GLUED] == 0
        at = offsets[formats]
        copied_before, mark_before = np.int64(_NOWHERE), np.int64(_NOWHERE)
        for piece in range(begin, end if complete else begin):
            number = pieces[piece]
            word = known_pieces[number, _WORD]
            place = np.int64(again[piece])
            copied = place if word == _COPIED_WORD else np.int64(_NOWHERE)
            # Punctuation that is written again touches what it touched before.
            mark = np.int64(_NOWHERE) if word == _COPIED_WORD else place
            complete = complete and (word >= 0 or copied >= 0)
            mode = _SPACED
            if piece == begin or known_pieces[number, _GLUED] != 0:
                mode = _BARE
            elif copied_before >= 0 and copied == copied_before + 1:
                mode = _NEXT
            slots[at, _SLOT_WORD] = word
            slots[at, _COPIED] = copied
            slots[at, _MODE] = mode
            slots[at, _LEFT] = mark_before + 1 if mark_before >= 0 else _NOWHERE
            slots[at, _RIGHT] = mark
            copied_before, mark_before = copied, mark
            at += 1
        has[rule] = complete
        if complete:
            formats += 1
            offsets[formats] = at
    return has, slots[: offsets[formats]], offsets[: formats + 1]


# ---------------------------------------------------------------- formats and their matches


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


class FormattedTexts(NamedTuple):
    """The new texts that formats gave."""

    outcomes: NDArray[np.int8]  # (matches,): see `placing`; `REPLACED` without a format
    numbers: Int32Array  # (matches,): the number of the new text, -1 without a format
    texts: dict[str, int]  # new texts and their numbers


def write_formats(
    formats: Formats, keys: Int32Array, matches: Matches, tokens: Tokens, characters: Characters
) -> FormattedTexts:
    """The new texts of matches that have a format."""
    has_format, outcomes = formats.has.array[keys], np.full(len(keys), REPLACED, np.int8)
    new_ids = np.full(len(keys), -1, np.int32)
    if not has_format.any():
        return FormattedTexts(outcomes, new_ids, {})
    chosen = slice(None) if has_format.all() else np.flatnonzero(has_format)
    some = matches.select(chosen)
    lows = tokens.row_offsets[some.rows] + some.starts
    highs = tokens.row_offsets[some.rows] + some.ends
    words, word_at = words_in(lows, highs, tokens, dict(formats.words))
    kinds = np.fromiter(map(_kind_of, words), np.uint16, len(words))
    gaps = gaps_of(tokens)
    keys, slot_offsets = keys[chosen], formats.offsets.array
    room = 2 * (slot_offsets[keys + 1] - slot_offsets[keys]) + wide_gaps(gaps, lows, highs)
    described, offsets, becomes, leans = _describe_slots(
        keys, some.rows, lows, highs, slot_offsets, formats.slots.array,
        word_at, kinds, gaps, tokens.starts, characters, int(room.sum()),
    )  # fmt: skip
    numbers, examples = number_sequences(described, offsets)
    if len(leans):
        becomes[_parting(leans.reshape(-1, 4), described, offsets, tokens, list(words))] = MISSING
    points, bounds = _spell(described, offsets, examples, characters_of(list(words)))
    every, cuts = points.tobytes().decode("utf-32-le", "surrogatepass"), bounds.tolist()
    texts: dict[str, int] = {}
    ids = [texts.setdefault(every[low:high], len(texts)) for low, high in pairwise(cuts)]
    new_ids[chosen] = np.array(ids, np.int32)[numbers]
    places = (some.rows, tokens.starts[lows], tokens.ends[highs - 1])
    stays = _stays(*places, numbers, characters, (points, bounds))
    becomes[stays & (becomes >= REPLACED)] = SILENT
    outcomes[chosen] = becomes
    return FormattedTexts(outcomes, new_ids, texts)


def _parting(
    leans: Int32Array, described: Int32Array, offsets: Int64Array, tokens: Tokens, words: list[str]
) -> NDArray[np.integer]:
    """The matches that would put a copied clitic behind a word that does not bear it."""
    matches, places = leans[:, 0], leans[:, 1]
    starts = offsets[matches]
    bounds = np.stack([starts, places], axis=1).ravel()
    evens = np.arange(0, len(bounds), 2, dtype=np.int32)
    points, cuts = _spell(described, bounds, evens, characters_of(words))
    every, leads = points.tobytes().decode("utf-32-le", "surrogatepass"), described[starts] > 0
    texts = [every[low:high] for low, high in zip(cuts[:-1] + leads, cuts[1:], strict=True)]
    ids = np.where(leans[:, 2:] < 0, -1, tokens.type_ids[leans[:, 2:]])
    parts = [
        spacing.parts_clitic(
            text, words[clitic], host="" if host < 0 else tokens.types[host].text,
            is_noun=left >= 0 and tokens.types[left].coarse in spacing.NOUNS,
        )
        for text, clitic, (host, left) in zip(
            texts, described[places + 1].tolist(), ids.tolist(), strict=True
        )
    ]  # fmt: skip
    return matches[np.array(parts, np.bool_)]


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
    kind += _ENDS_OPENING if word[-1:] in spacing.OPENING_MARKS | spacing.QUOTES else 0
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
def _is_near(gap: Integer, space: Integer, point: Integer) -> Any:
    """Whether a code point is an ASCII letter or digit, with at most one space before the token."""
    near = gap == 0 or (gap == 1 and space == _SPACE - 1)
    return near and (47 < point < 58 or 64 < point < 91 or 96 < point < 123)


@kernel
def _describe_slots(  # noqa: PLR0915, PLR0917 - one loop: a call for each match would cost more
    keys: Int32Array,
    rows: Int32Array,
    lows: Int32Array,
    highs: Int32Array,
    slot_offsets: Int64Array,
    slots: Int32Array,
    word_at: Int32Array,
    kinds: UInt16Array,
    gaps: Int32Array,
    starts: Int32Array,
    characters: Characters,
    room: Integer,
) -> Any:
    """A sequence for each match: for each slot, what stands before it, and its word.

    What stands before it is 0 for nothing, a code point plus 1 for one character, or minus their
    count and then the code points for several. All sequences together have at most ``room``
    numbers. Also returns what becomes of each match. Letters and digits near an instance that is
    alone in its row tell how the edit goes beyond the span: ``it's`` → ``it is`` gains a space,
    ``film is`` → ``film,`` loses one, and a mark before a word stays. Last come four numbers for
    each copied clitic that follows another word than before: its match; the place of its slot; the
    token that it leaned on, if that is replaced too; the token copied before it (-1: none).
    """
    points, text_offsets = characters
    count = keys.shape[0]
    offsets = np.zeros(count + 1, np.int64)
    outcomes = np.empty(count, np.int8)
    values = np.empty(room, np.int32)
    leaning = np.empty(64, np.int32)
    place, leans = np.int64(0), np.int64(0)
    for match in range(count):
        key, low, high = keys[match], lows[match], highs[match]
        text = text_offsets[rows[match]]
        first, last = slot_offsets[key], slot_offsets[key + 1] - 1
        old, new = word_at[low], slots[first, _SLOT_WORD]
        new = word_at[low + slots[first, _COPIED]] if new < 0 else new
        apart, attaches = kinds[old] & _STANDS_APART != 0, kinds[new] & _BEGINS_ATTACHED != 0
        reaches, more, gap, begin = False, False, gaps[low], text + starts[low]
        # The same mark stays where it is, whatever stands before it.
        if new != old or not apart or kinds[old] & _IS_CLITIC != 0:
            reaches = attaches or (gap == 0 and (apart or is_word(points[begin - 1])))
        if reaches:
            more = kinds[new] & _IS_CLITIC != 0
            more = more or not (attaches or (apart and kinds[new] & _STANDS_APART == 0))
            more = more or gap < 0 or not _is_near(gap, points[begin - 1], points[begin - 1 - gap])
            # A clitic may end at the next token, and edits of one rule may meet.
            more = more or (high > low + 1 and gaps[low + 1] == 0)
            for other in (match - 1, match + 1):
                if 0 <= other < count:
                    more = more or (keys[other] == key and rows[other] == rows[match])
        if gaps[high] == 0:
            more = more or is_word(points[text + starts[high]])
        parted = False
        opening, bears = False, True  # whether the last word opened something, and bears n't
        for slot in range(first, last + 1):
            at = low + slots[slot, _COPIED]
            word = np.int64(slots[slot, _SLOT_WORD])
            if word < 0:
                word = np.int64(word_at[at])
            before, several, here = np.int64(0), np.int64(0), np.int64(0)
            if slots[slot, _MODE] == _SPACED and kinds[word] & _IS_CLITIC == 0:
                before = np.int64(0 if opening else _SPACE)
                for column in range(_LEFT, _RIGHT + 1):
                    if slots[slot, column] >= 0 and gaps[low + slots[slot, column]] == 0:
                        before = np.int64(0)
            elif slots[slot, _MODE] == _NEXT and gaps[at] > 0:
                here = text + starts[at] - gaps[at]
                before = np.int64(points[here]) + 1
                if gaps[at] > 1:
                    several = np.int64(gaps[at])
                    before = -several
            if slot > first and slots[slot, _MODE] != _NEXT and kinds[word] & _IS_CLITIC != 0:
                left, copied = slots[slot - 1, _COPIED], slots[slot, _COPIED]
                if kinds[word] & _IS_NOT != 0:
                    parted = parted or not bears
                elif copied >= 0 and (left < 0 or left + 1 != copied):
                    if leans == leaning.shape[0]:
                        leaning = grown(leaning, leans + 4)
                    leaning[leans], leaning[leans + 1] = match, place
                    leaning[leans + 2] = at - 1 if copied > 0 else -1
                    leaning[leans + 3] = low + left if left >= 0 else -1
                    leans += 4
            bears = kinds[word] & _BEARS_NOT != 0
            opening = slots[slot, _SLOT_WORD] < 0 and gaps[at + 1] == 0
            if kinds[word] & _IS_BRACKET == 0:
                opening = opening and kinds[word] & _IS_QUOTE != 0 and gaps[at] != 0
            values[place] = before
            for step in range(several):
                values[place + 1 + step] = points[here + step]
            values[place + 1 + several] = word
            place += 2 + several
            if slot == last and word != word_at[high - 1] and kinds[word] & _ENDS_REACHING != 0:
                after = text + starts[high] if gaps[high] >= 0 else begin
                near = gaps[high] < 0 or _is_near(gaps[high], points[after - 1], points[after])
                more = more or not near or kinds[word] & _ENDS_OPENING != 0
        head = offsets[match]
        # Words without a space between them may be a clitic.
        more = more or (reaches and last > first and values[head + 2] == 0)
        outcomes[match] = PLACED if more else REPLACED
        if parted:
            outcomes[match] = MISSING
        elif reaches and not more and not attaches:
            values[head] = _SPACE
        elif reaches and not more and not apart:
            outcomes[match] = ATTACHED
        offsets[match + 1] = place
    return values[:place], offsets, outcomes, leaning[:leans]
