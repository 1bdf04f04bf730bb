"""Look-alikes and slips of typing in words: which characters change, and what they become.

In: the text of an instance, its place in its unit, a `Draw`. Out: the changed text. Always holds:
places are characters of the text as given; the places of one instance do not overlap; if fewer can
change than are asked for, all of them do; casing stays in its place. Costs a random number for each
place that could change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from sears_dsl.engine.noise.draws import Draw, below, how_many, number, numbers
from sears_dsl.language.rule import TYPING_KINDS, Noise

UNICODE = "17.0.0"
"""The version of Unicode that the table of look-alikes comes from."""

_TABLE = Path(__file__).with_name("lookalikes.tsv")

KEY_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
"""The letters of a keyboard, row by row."""


class PlacedText(NamedTuple):
    """What a function is given in one instance: the instance's place in the unit, and the text."""

    place: int
    text: str


class _Slip(NamedTuple):
    """Characters start:end become new."""

    start: int
    end: int
    new: str


def change_places(noise: Noise, instance: PlacedText, unit: str, draw: Draw) -> str | None:
    """The text of one instance with a number of places changed; None where none can.

    Example:
        >>> film = PlacedText(2, "wonderful")
        >>> change_places(Noise("swap"), film, "A wonderful film .", Draw())
        'wonderufl'
        >>> change_places(Noise("swap"), PlacedText(0, "a"), "a", Draw()) is None
        True
    """
    if noise.kind == "homoglyph":
        able = _homoglyph_places(instance.text)
        if not able:
            return None
        order = _ordered("homoglyph", [(instance.place, i) for i in able], unit, draw)
        return _replaced(instance.text, [i for _, i in order[: noise.places]])
    slips = _slips(noise.kind, instance, noise.places, unit, draw)
    return _applied(instance.text, slips) if slips else None


def has_place(noise: Noise, text: str) -> bool:
    """Whether anything in a text can change."""
    if noise.kind == "homoglyph":
        return not lookalikes().keys().isdisjoint(text)
    return any(_places(noise.kind, text).values())


def change_share(
    noise: Noise, share: int, instances: Sequence[PlacedText], unit: str, draw: Draw
) -> dict[int, str]:
    """The new texts of all instances that a function is given in a unit, by their places.

    ``share`` is in millionths of all characters but white space for look-alikes, and of all letters
    for slips. Which of these change is drawn among all that can.
    """
    if noise.kind == "homoglyph":
        counted = sum(not character.isspace() for _, text in instances for character in text)
        able = [(place, i) for place, text in instances for i in _homoglyph_places(text)]
        left = how_many(share, counted, number(draw, "homoglyph share", unit))
        places: dict[int, list[int]] = {}
        for place, i in _ordered("homoglyph", able, unit, draw)[:left]:
            places.setdefault(place, []).append(i)
        return {place: _replaced(text, places.get(place, ())) for place, text in instances}
    rooms = {each.place: _Room(noise.kind, each) for each in instances}
    counted = sum(room.letters for room in rooms.values())
    begins = {place: set[int]().union(*room.places.values()) for place, room in rooms.items()}
    able = [(place, i) for place, some in begins.items() for i in sorted(some)]
    left = how_many(share, counted, number(draw, f"{noise.kind} share", unit))
    for place, i in _ordered(noise.kind, able, unit, draw):
        if not left:
            break
        left -= _make_slip(noise.kind, rooms[place], i, unit=unit, draw=draw)
    return {place: _applied(room.instance.text, room.slips) for place, room in rooms.items()}


def _ordered(
    name: str, places: Sequence[tuple[int, int]], unit: str, draw: Draw
) -> list[tuple[int, int]]:
    """Places in the order of their numbers."""
    ranked = sorted(zip(numbers(draw, name, unit, places), places, strict=True))
    return [at for _, at in ranked]


# ---------------------------------------------------------------- look-alikes


@lru_cache(maxsize=1)
def lookalikes() -> Mapping[str, str]:
    """Character → the look-alike that takes its place, which is never the character itself.

    Source: Unicode, UTS #39, intentional.txt, under the Unicode licence, from which
    `training/lookalikes.py` makes the file.

    Example:
        >>> hex(ord(lookalikes()["o"])), "k" in lookalikes()
        ('0x3bf', False)
    """
    rows = (line.split("\t") for line in _TABLE.read_text("ascii").splitlines())
    return {chr(int(row[0], 16)): chr(int(row[1], 16)) for row in rows if row[0][:1] != "#"}


@lru_cache(maxsize=1)
def lookalikes_identity() -> str:
    """The version of the table and a hash of its file, for manifests."""
    return f"unicode-{UNICODE} {sha256(_TABLE.read_bytes()).hexdigest()[:16]}"


def _homoglyph_places(text: str) -> list[int]:
    table = lookalikes()
    return [i for i, character in enumerate(text) if character in table]


def _replaced(text: str, places: Collection[int]) -> str:
    table = lookalikes()
    return "".join(table[c] if i in places else c for i, c in enumerate(text))


# ---------------------------------------------------------------- slips


def keys_beside(letter: str) -> list[str]:
    """The keys that touch the key of a small letter on a keyboard.

    Example:
        >>> keys_beside("g"), keys_beside("é")
        (['f', 'h', 't', 'y', 'v', 'b'], [])
    """
    return _BESIDE.get(letter, [])


_AROUND = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))
_KEYS = {(r, c): key for r, row in enumerate(KEY_ROWS) for c, key in enumerate(row)}
_BESIDE = {
    key: [_KEYS[r + y, c + x] for y, x in _AROUND if (r + y, c + x) in _KEYS]
    for (r, c), key in _KEYS.items()
}


def _cased(letter: str, like: str) -> str:
    return letter.upper() if like.isupper() else letter.lower()


def _places(kind: str, text: str) -> dict[str, list[int]]:
    """Where a slip of each kind can begin."""
    letters = [i for i, character in enumerate(text) if character.isalpha()]
    kinds = TYPING_KINDS if kind == "typo" else (kind,)
    return {each: _places_of(each, text, letters) for each in kinds}


def _places_of(kind: str, text: str, letters: list[int]) -> list[int]:
    if kind == "swap":
        folded = {i: text[i].casefold() for i in letters}
        return [i for i in letters if folded.get(i + 1, folded[i]) != folded[i]]
    if kind == "drop":
        return letters if len(letters) > 1 else []
    if kind == "key":
        return [i for i in letters if text[i].lower() in _BESIDE]
    return letters


class _Room:
    """An instance with the slips made in it so far, and where others still fit."""

    def __init__(self, kind: str, instance: PlacedText) -> None:
        self.instance = instance
        places = _places(kind, instance.text)
        # Kind → where it can begin in the text as given; and how many letters are left.
        self.places = {each: dict.fromkeys(at) for each, at in places.items()}
        self.letters = sum(map(str.isalpha, instance.text))
        self.slips: list[_Slip] = []
        self._covered: set[int] = set()

    def fits(self, kind: str, i: int) -> bool:
        """Whether a slip can still begin at a place, beside those that were made."""
        if i not in self.places[kind] or i in self._covered:
            return False
        if kind == "swap":
            return i + 1 not in self._covered
        return kind != "drop" or self.letters > 1

    def open_kinds(self) -> list[str]:
        """The kinds of which another slip fits somewhere."""
        return [each for each, at in self.places.items() if any(self.fits(each, i) for i in at)]

    def take(self, slip: _Slip) -> None:
        self.slips.append(slip)
        self._covered.update(range(slip.start, slip.end))
        self.letters -= not slip.new


def _slips(kind: str, instance: PlacedText, count: int, unit: str, draw: Draw) -> list[_Slip]:
    """``count`` slips in one instance, one after another; fewer if no other fits."""
    room = _Room(kind, instance)
    ordered: dict[str, list[tuple[int, int]]] = {}
    for j in range(count):
        open_kinds = room.open_kinds()
        if not open_kinds:
            break
        each = open_kinds[0]
        if kind == "typo":
            bits = number(draw, "typo", unit, instance.place, j)
            each = open_kinds[below(bits, len(open_kinds))]
        if each not in ordered:
            places = [(instance.place, i) for i in room.places[each]]
            ordered[each] = _ordered(each, places, unit, draw)
        first = next(i for _, i in ordered[each] if room.fits(each, i))
        room.take(_slip(each, instance, first, unit, draw))
    return room.slips


def _make_slip(kind: str, room: _Room, i: int, *, unit: str, draw: Draw) -> bool:
    """Make a slip at a place that a share has chosen; False if earlier slips leave no room."""
    fitting = [each for each in room.places if room.fits(each, i)]
    if not fitting:
        return False
    each = fitting[0]
    if kind == "typo":
        bits = number(draw, "typo kind", unit, room.instance.place, i)
        each = fitting[below(bits, len(fitting))]
    room.take(_slip(each, room.instance, i, unit, draw))
    return True


def _slip(kind: str, instance: PlacedText, i: int, unit: str, draw: Draw) -> _Slip:
    place, text = instance
    if kind == "swap":
        return _Slip(i, i + 2, _cased(text[i + 1], text[i]) + _cased(text[i], text[i + 1]))
    if kind == "drop":
        return _Slip(i, i + 1, "")
    if kind == "double":
        return _Slip(i, i + 1, text[i] * 2)
    beside = keys_beside(text[i].lower())
    bits = number(draw, "key letter", unit, place, i)
    return _Slip(i, i + 1, _cased(beside[below(bits, len(beside))], text[i]))


def _applied(text: str, slips: Sequence[_Slip]) -> str:
    for start, end, new in sorted(slips, reverse=True):
        text = text[:start] + new + text[end:]
    return text
