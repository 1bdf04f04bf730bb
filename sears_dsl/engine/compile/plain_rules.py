"""What plain rules write, as numbers: rules that write alike are told without comparing them.

In: rules of which each element is a test on one token. Out: a sequence of numbers for each. Always
holds: two rules have one sequence exactly if their consequents come to the same, with tags and kept
punctuation as places in the antecedent: `DT NN -> a NN` and `DET NOUN -> a NOUN` both write "a" and
the second token. Costs two dictionary look-ups for an element or a piece that was seen before,
which mined rules share, and a microsecond for another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, count
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.hashing import number_sequences
from sears_dsl.language.rule import Element, Literal, Piece, Rule, Tag, TagCopy, Text
from sears_dsl.runtime.array_types import Int32Array, Int64Array
from sears_dsl.runtime.growing import Growing
from sears_dsl.runtime.kernels import expect, kernel

_Part = TypeVar("_Part", Element, Piece)

_COPY, _GLUED_COPY = -1, -2


class Described(NamedTuple):
    """What rules write.

    Attributes:
        numbers: int32 (rules,): the same number where they write alike.
        keys: for each number the sequence that it stands for, as bytes.
        examples: for each number the place of a rule with it.
    """

    numbers: Int32Array
    keys: list[bytes]
    examples: list[int]


class PlainRules:
    r"""Describes plain rules; what is told of some goes together with what is told of others.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("DT NN -> a NN\nDET NOUN -> a NOUN\nDT NN -> a DT").rules
        >>> PlainRules().describe(rules, np.array([2, 2, 2])).numbers.tolist()
        [0, 0, 1]
    """

    def __init__(self) -> None:
        self._values: dict[object, int] = {}
        # For each piece what it writes, and the tag or the mark that it writes again; for each
        # element the tag or the mark that it is, and whether it is a plain one; -1 for none.
        self._pieces = _Numbered(self._of_piece)
        self._elements = _Numbered(self._of_element)

    def are_plain(self, antecedents: Sequence[Sequence[Element]]) -> NDArray[np.bool_]:
        """Whether each element of a rule is a test on one token, by its word or by its tag."""
        numbers, offsets, known = self._elements.of(antecedents)
        others = np.append(0, np.cumsum(known[numbers, 1] == 0))[offsets]
        plain: NDArray[np.bool_] = others[1:] == others[:-1]
        return plain

    def describe(self, rules: Sequence[Rule], heads: Int32Array) -> Described:
        """Tell which rules write alike.

        Args:
            rules: plain ones; they have to live as long as this.
            heads: for each rule a number that is the same where everything else is that decides
                what becomes of a match.
        """
        pieces = self._pieces.of([rule.consequent for rule in rules])
        elements = self._elements.of([rule.antecedent for rule in rules])
        expect(len(pieces.numbers))
        values, offsets = _describe(heads, *pieces, *elements)
        numbers, examples = number_sequences(values, offsets)
        bounds = zip(offsets[examples].tolist(), offsets[examples + 1].tolist(), strict=True)
        keys = [values[low:high].tobytes() for low, high in bounds]
        return Described(numbers, keys, examples.tolist())

    def _value(self, *key: object) -> int:
        return self._values.setdefault(key, len(self._values))

    def _of_piece(self, piece: Piece) -> tuple[int, int]:
        match piece:
            case Text():
                again = self._value("mark", piece.text) if _is_mark(piece.text) else -1
                return self._value("text", piece.text, piece.glued), again
            case TagCopy():
                return _GLUED_COPY if piece.glued else _COPY, self._value("tag", piece.tag)
            case _:
                return self._value("other", piece), -1

    def _of_element(self, element: Element) -> tuple[int, int]:
        body = element.body
        plain = element.minimum == 1 == element.maximum and element.name is None
        if isinstance(body, Tag):
            return self._value("tag", body.name), plain
        if isinstance(body, Literal) and _is_mark(body.text):
            return self._value("mark", body.text), plain
        return -1, plain and isinstance(body, Literal)


class _NumberedParts(NamedTuple):
    """The pieces, or the elements, of some rules.

    Attributes:
        numbers: int32: of all of them, rule after rule.
        offsets: int64 (rules + 1,): where those of each rule begin.
        known: int32 (distinct, 2): what is known of each distinct one.
    """

    numbers: Int32Array
    offsets: Int64Array
    known: Any


class _Numbered:
    """Distinct objects with numbers, and what is known of them."""

    def __init__(self, tell: Callable[[Any], tuple[int, int]]) -> None:
        self._tell = tell
        self._number_of: dict[int, int] = {}  # by their identity: the rules keep them alive
        self._known = Growing(np.zeros((0, 2), np.int32))

    def of(self, rows: Sequence[Sequence[_Part]]) -> _NumberedParts:
        """The numbers of all objects of some rules."""
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=offsets[1:])
        flat: list[_Part] = list(chain.from_iterable(rows))
        ids = list(map(id, flat))
        known = self._number_of
        new = {
            name: each
            for name, each in dict(zip(ids, flat, strict=True)).items()
            if name not in known
        }
        known.update(zip(new, count(len(known)), strict=False))
        self._known.extend(np.array(list(map(self._tell, new.values())), np.int32).reshape(-1, 2))
        numbers = np.fromiter(map(known.__getitem__, ids), np.int32, len(ids))
        return _NumberedParts(numbers, offsets, self._known.array)


def _is_mark(text: str) -> bool:
    """Whether a text is punctuation, which keeps to what it touched; see `kept_punctuation`."""
    return not any(map(str.isalnum, text))


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
    """A sequence for each rule: its head, then what each piece writes and which element that is.

    Returns:
        (values, offsets): see `number_sequences`.
    """
    count = heads.shape[0]
    offsets = np.zeros(count + 1, np.int64)
    most = np.int64(0)
    for rule in range(count):
        size = piece_offsets[rule + 1] - piece_offsets[rule]
        offsets[rule + 1] = offsets[rule] + 1 + 2 * size
        most = max(most, element_offsets[rule + 1] - element_offsets[rule])
    values = np.empty(offsets[count], np.int32)
    used = np.zeros(most, np.bool_)
    for rule in range(count):
        first, last = element_offsets[rule], element_offsets[rule + 1]
        used[:] = False
        at = offsets[rule]
        values[at] = heads[rule]
        at += 1
        for piece in range(piece_offsets[rule], piece_offsets[rule + 1]):
            again = known_pieces[pieces[piece], 1]
            place = np.int64(-1)
            for element in range(first, last):
                if again < 0 or place >= 0:
                    break
                if not used[element - first] and known_elements[elements[element], 0] == again:
                    place = element - first
                    used[place] = True
            values[at] = known_pieces[pieces[piece], 0]
            values[at + 1] = place
            at += 2
    return values, offsets
