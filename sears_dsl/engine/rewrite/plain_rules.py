"""What plain rules write: which of them write alike, and formats for those under exact case.

In: rules whose elements each test one token by its word or tag, without context, quantifier, group
or name; mining makes hundreds of thousands of these. Out: `RuleDescriptions`, or the slots of a
format for each (see `slots`). Always holds: two rules with one description write the same where
their windows look alike; a format writes what `Renderer` writes. Costs some Python work for each
distinct element and piece, however many rules have it, and some 0.1 microseconds a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import number_sequences
from sears_dsl.engine.compile.rule_parts import RuleParts
from sears_dsl.engine.rewrite.pieces import is_punctuation
from sears_dsl.engine.rewrite.renderer import names_casing
from sears_dsl.engine.rewrite.slots import BARE, NEXT, NOWHERE, SPACED
from sears_dsl.language.rule import Element, Literal, Piece, Tag, TagCopy, Text
from sears_dsl.runtime.array_types import Flags, Int32Array, Int64Array, Integer
from sears_dsl.runtime.kernels import expect, kernel

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

    has: NDArray[np.bool_]  # bool (rules,): whether a rule has one
    slots: Int32Array  # (slots, 5): see `slots.Formats`; those of rules that have one
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
        known = self._elements.of(elements.numbers)
        return self._parts.bare[rules] & ~elements.have(known[:, _BITS] & _PLAIN == 0)

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
        values, offsets = _describe(heads, *self._parts_of(rules))
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
        has, slots, offsets = _format(*self._parts_of(rules[plain]))
        plain[plain] = has
        return RuleFormats(plain, slots, offsets)

    def _parts_of(self, rules: NDArray[np.int64]) -> tuple[Any, ...]:
        """The pieces and elements of rules, as arguments of the kernels."""
        pieces, elements = self._parts.pieces.of(rules), self._parts.elements.of(rules)
        expect(len(pieces.numbers))
        return (
            *(pieces.numbers, pieces.offsets, self._pieces.of(pieces.numbers)),
            *(elements.numbers, elements.offsets, self._elements.of(elements.numbers)),
        )

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
def _again(  # noqa: PLR0917 - arrays in the order in which they are made
    value: Integer,
    first: Integer,
    last: Integer,
    elements: Int32Array,
    known_elements: Int32Array,
    used: Flags,
) -> Any:
    """Use the first element of a rule that has a value and is not used yet; -1 if there is none.

    Returns its number in the rule, which has the elements first up to, not including, last.
    """
    if value < 0:
        return -1
    for at in range(first, last):
        if not used[at] and known_elements[elements[at], _VALUE] == value:
            used[at] = True
            return at - first
    return -1


@kernel
def _describe(  # noqa: PLR0917 - arrays in the order in which they are made
    heads: Int32Array,
    pieces: Int32Array,
    piece_offsets: Int64Array,
    known_pieces: Int32Array,
    elements: Int32Array,
    element_offsets: Int64Array,
    known_elements: Int32Array,
) -> Any:
    """For each rule its head, then for each piece what it writes and which element it repeats."""
    count = heads.shape[0]
    values = np.empty(count + 2 * pieces.shape[0], np.int32)
    offsets = np.zeros(count + 1, np.int64)
    used = np.zeros(elements.shape[0], np.bool_)
    at = np.int64(0)
    for rule in range(count):
        first, last = element_offsets[rule], element_offsets[rule + 1]
        values[at] = heads[rule]
        at += 1
        for piece in range(piece_offsets[rule], piece_offsets[rule + 1]):
            value = known_pieces[pieces[piece], _AGAIN]
            values[at] = known_pieces[pieces[piece], _WRITTEN]
            values[at + 1] = _again(value, first, last, elements, known_elements, used)
            at += 2
        offsets[rule + 1] = at
    return values, offsets


@kernel
def _format(  # noqa: PLR0917 - arrays in the order in which they are made
    pieces: Int32Array,
    piece_offsets: Int64Array,
    known_pieces: Int32Array,
    elements: Int32Array,
    element_offsets: Int64Array,
    known_elements: Int32Array,
) -> Any:
    """The fields of `RuleFormats`, with a slot for each piece."""
    count = piece_offsets.shape[0] - 1
    has = np.zeros(count, np.bool_)
    slots = np.empty((pieces.shape[0], 5), np.int32)
    offsets = np.zeros(count + 1, np.int64)
    used = np.zeros(elements.shape[0], np.bool_)
    formats = 0
    for rule in range(count):
        first, last = element_offsets[rule], element_offsets[rule + 1]
        begin, end = piece_offsets[rule], piece_offsets[rule + 1]
        complete = begin < end and known_pieces[pieces[begin], _GLUED] == 0
        at = offsets[formats]
        copied_before, mark_before = np.int64(NOWHERE), np.int64(NOWHERE)
        for piece in range(begin, end if complete else begin):
            number = pieces[piece]
            word = known_pieces[number, _WORD]
            value = known_pieces[number, _AGAIN]
            place = np.int64(_again(value, first, last, elements, known_elements, used))
            copied = place if word == _COPIED_WORD else np.int64(NOWHERE)
            # Punctuation that is written again touches what it touched before.
            mark = np.int64(NOWHERE) if word == _COPIED_WORD else place
            complete = complete and (word >= 0 or copied >= 0)
            mode = SPACED
            if piece == begin or known_pieces[number, _GLUED] != 0:
                mode = BARE
            elif copied_before >= 0 and copied == copied_before + 1:
                mode = NEXT
            slots[at, 0] = word
            slots[at, 1] = copied
            slots[at, 2] = mode
            slots[at, 3] = mark_before + 1 if mark_before >= 0 else NOWHERE
            slots[at, 4] = mark
            copied_before, mark_before = copied, mark
            at += 1
        has[rule] = complete
        if complete:
            formats += 1
            offsets[formats] = at
    return has, slots[: offsets[formats]], offsets[: formats + 1]
