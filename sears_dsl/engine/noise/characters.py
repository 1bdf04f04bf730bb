"""Look-alikes and slips of typing in words: which characters change, and what they become.

In: the text of an instance, its place in its unit, a `Draw`. Out: the changed text. Always holds:
places are characters of the text as given; the places of one instance do not overlap; where fewer
can change than are asked for, all of them do; casing stays in its place. Costs a number for each
place that could change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from sears_dsl.engine.noise.draws import Draw, below, how_many, number
from sears_dsl.engine.noise.lookalikes import lookalikes
from sears_dsl.language.rule import TYPING_KINDS, Noise

KEY_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
"""The letters of a keyboard, row by row."""


class Given(NamedTuple):
    """What a function is given in one instance: the instance's place in the unit, and the text."""

    place: int
    text: str


class _Slip(NamedTuple):
    """Characters start:end become new."""

    start: int
    end: int
    new: str


def changed(noise: Noise, given: Given, unit: str, draw: Draw) -> str | None:
    """The text of one instance with a number of places changed; None where none can.

    Example:
        >>> film = Given(2, "wonderful")
        >>> changed(Noise("swap"), film, "A wonderful film .", Draw())
        'wonderufl'
        >>> changed(Noise("swap"), Given(0, "a"), "a", Draw()) is None
        True
    """
    if noise.kind == "homoglyph":
        able = _homoglyph_places(given.text)
        if not able:
            return None
        order = sorted(able, key=lambda i: (number(draw, "homoglyph", unit, given.place, i), i))
        return _replaced(given.text, order[: noise.places])
    slips = _slips(noise.kind, given, noise.places, unit, draw)
    return _applied(given.text, slips) if slips else None


def has_place(noise: Noise, text: str) -> bool:
    """Whether anything in a text can change."""
    if noise.kind == "homoglyph":
        return not lookalikes().keys().isdisjoint(text)
    return any(_places(kind, text) for kind in _kinds(noise.kind))


def shared(
    noise: Noise, share: int, given: Sequence[Given], unit: str, draw: Draw
) -> dict[int, str]:
    """The texts of all instances that a function is given in a unit, a share of them changed.

    The share is of all characters that are no white space for look-alikes, of all letters for
    slips; which of them change is drawn among all that can.

    Args:
        noise: the function.
        share: in millionths.
        given: the instances, at different places.
        unit: the text of the unit.
        draw: which draw.

    Returns:
        The new text of the instance at each place.
    """
    if noise.kind == "homoglyph":
        counted = sum(not character.isspace() for _, text in given for character in text)
        able = [(place, i) for place, text in given for i in _homoglyph_places(text)]
    else:
        counted = sum(character.isalpha() for _, text in given for character in text)
        able = [(place, i) for place, text in given for i in _able(noise.kind, text)]
    left = how_many(share, counted, number(draw, f"{noise.kind} share", unit))
    able.sort(key=lambda at: (number(draw, noise.kind, unit, *at), at))
    if noise.kind == "homoglyph":
        taken: dict[int, list[int]] = {}
        for place, i in able[:left]:
            taken.setdefault(place, []).append(i)
        return {place: _replaced(text, taken.get(place, ())) for place, text in given}
    texts = dict(given)
    slips: dict[int, list[_Slip]] = {place: [] for place in texts}
    for place, i in able:
        if not left:
            break
        slip = _slip_at(
            noise.kind, Given(place, texts[place]), i, slips[place], unit=unit, draw=draw
        )
        if slip is not None:
            slips[place].append(slip)
            left -= 1
    return {place: _applied(text, slips[place]) for place, text in texts.items()}


# ---------------------------------------------------------------- look-alikes


def _homoglyph_places(text: str) -> list[int]:
    table = lookalikes()
    return [i for i, character in enumerate(text) if character in table]


def _replaced(text: str, places: Collection[int]) -> str:
    table: Mapping[str, str] = lookalikes()
    return "".join(table[c] if i in places else c for i, c in enumerate(text))


# ---------------------------------------------------------------- slips


def _kinds(kind: str) -> tuple[str, ...]:
    return TYPING_KINDS if kind == "typo" else (kind,)


def keys_beside(letter: str) -> list[str]:
    """The keys that touch the one of a small letter on a keyboard.

    Example:
        >>> keys_beside("g"), keys_beside("é")
        (['f', 'h', 't', 'y', 'v', 'b'], [])
    """
    for r, row in enumerate(KEY_ROWS):
        c = row.find(letter)
        if c >= 0:
            around = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))
            beside = [(r + y, c + x) for y, x in around]
            return [KEY_ROWS[y][x] for y, x in beside if 0 <= y < 3 and 0 <= x < len(KEY_ROWS[y])]
    return []


def _cased(letter: str, like: str) -> str:
    return letter.upper() if like.isupper() else letter.lower()


def _places(kind: str, text: str) -> list[int]:
    """Where a slip can begin."""
    letters = [i for i, character in enumerate(text) if character.isalpha()]
    if kind == "swap":
        known = set(letters)
        differs: Callable[[int], bool] = lambda i: text[i].casefold() != text[i + 1].casefold()  # noqa: E731
        return [i for i in letters if i + 1 in known and differs(i)]
    if kind == "drop":
        return letters if len(letters) > 1 else []
    if kind == "key":
        return [i for i in letters if keys_beside(text[i].lower())]
    return letters


def _able(kind: str, text: str) -> list[int]:
    """Where any of the kinds can begin."""
    return sorted({i for each in _kinds(kind) for i in _places(each, text)})


def _is_free(kind: str, text: str, i: int, taken: Sequence[_Slip]) -> bool:
    """Whether a slip can still begin at a place of its kind, beside those that are taken."""
    end = i + (2 if kind == "swap" else 1)
    if not all(slip.end <= i or slip.start >= end for slip in taken):
        return False
    left = sum(map(str.isalpha, text)) - sum(not slip.new for slip in taken)
    return kind != "drop" or left > 1


def _slips(kind: str, given: Given, count: int, unit: str, draw: Draw) -> list[_Slip]:
    """So many slips in one instance, one after another."""
    place, text = given
    taken: list[_Slip] = []
    for j in range(count):
        free = {each: _free(each, text, taken) for each in _kinds(kind)}
        open_kinds = [each for each, places in free.items() if places]
        if not open_kinds:
            break
        each = open_kinds[0]
        if kind == "typo":
            bits = number(draw, "typo", unit, place, j)
            each = open_kinds[below(bits, len(open_kinds))]
        ranks = {i: number(draw, each, unit, place, i) for i in free[each]}
        taken.append(_slip(each, given, min(ranks, key=lambda i: (ranks[i], i)), unit, draw))
    return taken


def _free(kind: str, text: str, taken: Sequence[_Slip]) -> list[int]:
    return [i for i in _places(kind, text) if _is_free(kind, text, i, taken)]


def _slip_at(
    kind: str, given: Given, i: int, taken: Sequence[_Slip], *, unit: str, draw: Draw
) -> _Slip | None:
    """The slip at a place on which a share falls; None where those before leave no room."""
    text = given.text
    fitting = [
        each for each in _kinds(kind) if i in _places(each, text) and _is_free(each, text, i, taken)
    ]
    if not fitting:
        return None
    each = fitting[0]
    if kind == "typo":
        bits = number(draw, "typo kind", unit, given.place, i)
        each = fitting[below(bits, len(fitting))]
    return _slip(each, given, i, unit, draw)


def _slip(kind: str, given: Given, i: int, unit: str, draw: Draw) -> _Slip:
    place, text = given
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
