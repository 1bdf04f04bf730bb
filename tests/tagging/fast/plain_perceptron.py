"""The tagger once more, as simply as it can be written: what `perceptron` has to agree with.

In: weights and rows of words. Out: names of tags. Always holds: the same tags as `Perceptron`
gives, found by other means: words are strings, weights are dictionaries, every feature of every
token is worked out anew and looked up by its key. Nothing but the file of weights is shared.
Costs a millisecond a token; it is for tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from sears_dsl.tagging.fast.weights import SIDES, TAGS, Weights

_WIDE = 2**32
_NOTHING = TAGS  # the tag before the first token
_BEFORE, _AFTER = 1, 2
_LAST_WITH_CASE = 0x52F
_FNV_START, _FNV_PRIME = 0x811C9DC5, 0x01000193


def _mixed(first: int, second: int) -> int:
    value = (first * 0x2C1B3C6D + second // _WIDE * 0x3C6EF373 + second % _WIDE) % _WIDE
    value = (value ^ value >> 16) * 0x297A2D39 % _WIDE
    value = (value ^ value >> 15) * 0x1B56C4E9 % _WIDE
    return (value ^ value >> 14) // 2


def _hashed(numbers: Sequence[int]) -> int:
    value = _FNV_START
    for number in numbers:
        value = (value ^ number) * _FNV_PRIME % _WIDE
    return value


def _lower(character: str) -> str:
    lower = character.lower()
    if "0" <= character <= "9":
        return "0"
    if ord(character) > _LAST_WITH_CASE or len(lower) > 1 or ord(lower) > _LAST_WITH_CASE:
        return character
    return lower


def _kind(character: str) -> int:
    """0 lower, 1 upper, 2 another letter, 3 digit, 4 hyphen, 5 anything else."""
    code = ord(character)
    if code > _LAST_WITH_CASE:
        return 5 if 0x2000 <= code < 0x2070 else 2
    if character.isalpha() or character.islower() or character.isupper():
        return 0 if character.islower() else 1 if character.isupper() else 2
    return 3 if "0" <= character <= "9" else 4 if character == "-" else 5


class _Word:
    """A word as features read it."""

    def __init__(self, written: str) -> None:
        text = written.replace("\u2019", "'")
        self.text = text
        lower = "".join(map(_lower, text))
        kinds = [_kind(character) for character in text]
        self.casing = self._casing(text, kinds)
        self.mark = self._mark(text)
        form = [ord("0") if kind == 3 else ord(c) for c, kind in zip(text, kinds, strict=True)]
        shape = []
        for kind, run in groupby(kinds):
            shape.append(kind + 1)
            if len(list(run)) > 1:
                shape.append(kind + 11)
        of_form, of_lower, of_shape = _hashed(form), _hashed(list(map(ord, lower))), _hashed(shape)
        suffixes = {
            size: _mixed(3 + size, _hashed([ord(c) for c in reversed(lower[-size:])]))
            for size in range(1, 6)
            if size <= len(lower)
        }
        prefixes = [
            _mixed(8 + size, _hashed(list(map(ord, lower[:size]))))
            for size in range(1, 5)
            if size <= len(lower)
        ]
        self.own = [
            _mixed(1, of_form),
            _mixed(2, of_lower),
            _mixed(3, of_shape),
            *suffixes.values(),
            *prefixes,
            _mixed(14, suffixes.get(3, 0) * 8 + self.casing),
            _mixed(15, of_shape * 16 + min(len(text), 12)),
        ]
        spelling = [ord(c if c.isdecimal() else _lower(c)) for c in written]
        self.spelling_key = _mixed(25, _hashed(spelling))
        self.asked = [
            _mixed(21, of_form),
            _mixed(22, of_lower),
            *(
                _mixed(23, suffixes[size] * 8 + self.casing)
                for size in (4, 3, 2, 1)
                if size in suffixes
            ),
            _mixed(24, of_shape),
        ]

    @staticmethod
    def _casing(text: str, kinds: Sequence[int]) -> int:
        letters = [kind for kind in kinds if kind <= 2]
        cased = [kind for kind in letters if kind <= 1]
        capitals = sum(cased)
        if not letters:
            return 0
        if not cased:
            return 6
        if not capitals:
            return 1
        if capitals == len(cased):
            return 3 if len(letters) == 1 else 4
        return 2 if capitals == 1 and kinds[0] == 1 else 5

    @staticmethod
    def _mark(text: str) -> int:
        if text in {'"', "'", '""', "''"}:
            return 7
        if not text or len(text) > 3:
            return 1
        if text[-1] in ".!?":
            return 2 if text[0] == text[-1] else 1
        return 3 if text[0] in "(-:;[`\u2013\u2014\u2018\u201c\u201d\u2026" else 1


class PlainPerceptron:
    """Tags rows of words.

    Args:
        weights: as `weights.load` gives them.
    """

    def __init__(self, weights: Weights) -> None:
        tables = weights.tables
        self._fine, self._coarse = weights.fine, weights.coarse
        self._tables = tables
        self._lexicon = {
            int(key): (int(context), int(tag))
            for key, context, tag in zip(
                tables.lexicon_keys, tables.lexicon_contexts, tables.lexicon_certain, strict=True
            )
        }
        self._rows = {
            int(slot) >> 32: tables.scores.entries[int(slot) >> 6 & 0x3FFFFFF :][
                : int(slot) & 63
            ].tolist()
            for slot in tables.scores.slots
            if slot >= 0
        }
        self._groups = {
            int(key): int(group)
            for key, group in zip(tables.coarse_keys, tables.coarse_groups, strict=True)
        }

    def tag(self, rows: Sequence[Sequence[str]]) -> list[tuple[list[str], list[str]]]:
        """The names of the fine and coarse tags of each row."""
        return [self._tag_row([_Word(text) for text in row]) for row in rows]

    def _tag_row(self, words: Sequence[_Word]) -> tuple[list[str], list[str]]:
        tables = self._tables
        entries = [
            next((self._lexicon[key] for key in word.asked if key in self._lexicon), (0, 255))
            for word in words
        ]
        contexts = [context for context, _ in entries]
        upper = sum(2 <= word.casing <= 5 for word in words)
        lower = sum(word.casing == 1 for word in words)
        casing_of_row = 0 if not upper else 2 if upper > 2 * lower else 1
        found: list[int] = []
        quotes = 0
        for place, word in enumerate(words):
            half = 0
            if word.mark == 7:
                quotes += 1
                half = 1 if quotes % 2 else 2
            certain = entries[place][1]
            if certain != 255:
                found.append(certain)
                continue
            scores = [0] * TAGS
            for row in self._dense_rows(words, contexts, place, found, half, casing_of_row):
                for tag, weight in enumerate(row):
                    scores[tag] += weight
            for key in (*word.own, *self._keys(contexts, place, found)):
                for tag, weight in self._entries(key):
                    scores[tag] += weight
            found.append(scores.index(max(scores)))
        return (
            [self._fine[tag] for tag in found],
            [
                self._coarse[tables.scores.coarse_of[self._groups.get(word.spelling_key, 0), tag]]
                for word, tag in zip(words, found, strict=True)
            ],
        )

    def _entries(self, key: int) -> Iterator[tuple[int, int]]:
        for entry in self._rows.get(key, ()):
            yield entry % 64, entry // 64

    def _dense_rows(  # noqa: PLR0917 - arrays, in the order in which they are made
        self,
        words: Sequence[_Word],
        contexts: Sequence[int],
        place: int,
        found: Sequence[int],
        half: int,
        casing_of_row: int,
    ) -> Iterator[list[int]]:
        def context(at: int) -> int:
            return _BEFORE if at < 0 else _AFTER if at >= len(words) else contexts[at]

        def casing(at: int) -> int:
            return words[at].casing if 0 <= at < len(words) else 0

        tables = self._tables
        for side, at in enumerate((place - 1, place - 2, place + 1, place + 2)):
            if side < SIDES:
                yield tables.scores.around[context(at), side].tolist()
        first, second = self._last_tags(found)
        yield tables.scores.tags_before[first * (TAGS + 1) + second].tolist()
        before = 0 if place == 0 else 3 if words[place - 1].mark == 7 else words[place - 1].mark
        here = casing(place)
        yield tables.scores.casing_pairs[
            ((before * 3 + half) * 3 + casing_of_row) * 7 + here
        ].tolist()
        three = (here * 7 + casing(place - 1)) * 7 + casing(place + 1)
        yield tables.scores.casing_triples[three * 3 + casing_of_row].tolist()

    @staticmethod
    def _last_tags(found: Sequence[int]) -> tuple[int, int]:
        return (
            found[-1] if found else _NOTHING,
            found[-2] if len(found) > 1 else _NOTHING,
        )

    def _keys(self, contexts: Sequence[int], place: int, found: Sequence[int]) -> Iterator[int]:
        padded = [_BEFORE, *contexts, _AFTER, _AFTER]
        left, own, right, far = padded[place : place + 4]
        kind, right_kind, far_kind = (
            int(self._tables.context_classes[context]) for context in (own, right, far)
        )
        first, second = self._last_tags(found)
        wide = 2**16
        yield _mixed(16, kind)
        yield _mixed(101, left * wide + own)
        yield _mixed(102, own * wide + right)
        yield _mixed(103, kind * wide + right_kind)
        yield _mixed(104, right_kind * wide + far_kind)
        yield _mixed(105, (kind * wide + right_kind) * wide + far_kind)
        yield _mixed(111, own * 64 + first)
        yield _mixed(112, (kind * 64 + first) * 64 + second)
        yield _mixed(113, right_kind * 64 + first)
        yield _mixed(114, (own * 64 + first) * 64 + second)
