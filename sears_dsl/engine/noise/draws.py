"""Draws: every random decision is a number that depends on what it is about, and on nothing else.

In: a seed, the number of the draw, the name of the decision, the text of the unit, a place in it
and a count. Out: 64 bits, and numbers made from them. Always holds: only integers are used, so all
machines get the same numbers; a share takes the first few in the order of their numbers, so what
10% of some things takes, 25% of them takes too. The chain is SplitMix64 (Steele, Lea and Flood
2014), which names and texts enter as 64 bits of BLAKE2b. Costs some two microseconds a number, less
if many are asked for at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from sears_dsl.runtime.array_types import UInt64Array

_MASK = (1 << 64) - 1
_MILLION = 10**6
# From so many numbers on, arrays are faster.
_MANY = 16


class Draw(NamedTuple):
    """Which of all possible draws: the seed, and its number where a text is drawn several times."""

    seed: int = 0
    number: int = 0


FIRST_DRAW = Draw()
"""Seed 0."""


def mix(bits: int) -> int:
    """SplitMix64: 64 bits for 64 bits."""
    bits = (bits + 0x9E3779B97F4A7C15) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)


def key(text: str) -> int:
    """A name, or the text of a unit, as 64 bits; it may hold halves of surrogate pairs."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def number(draw: Draw, name: str, unit: str, place: int = 0, count: int = 0) -> int:
    """The 64 bits of one decision; ``count`` tells apart several of one name at one place."""
    state = unit_state(draw, name, unit)
    for part in (place, count):
        state = mix(state ^ (part & _MASK))
    return state


def numbers(draw: Draw, name: str, unit: str, places: Sequence[tuple[int, int]]) -> list[int]:
    """The 64 bits of many decisions of one name in one unit, by place and count.

    Example:
        >>> unit = "It is a good movie ."
        >>> numbers(Draw(), "rate", unit, [(0, 0)]) == [number(Draw(), "rate", unit)]
        True
    """
    state = unit_state(draw, name, unit)
    if len(places) < _MANY:
        return [mix(mix(state ^ (at & _MASK)) ^ (count & _MASK)) for at, count in places]
    parts = np.array(places, np.int64).view(np.uint64)
    bits: list[int] = mixed(mixed(parts[:, 0] ^ np.uint64(state)) ^ parts[:, 1]).tolist()
    return bits


def mixed(bits: UInt64Array) -> UInt64Array:
    """`mix` of each; products and sums of arrays keep the lower 64 bits."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@lru_cache(maxsize=256)
def unit_state(draw: Draw, name: str, unit: str) -> int:
    """The state that all decisions of one name in one unit share: `number` goes on from here."""
    return mix(name_state(draw, name) ^ key(unit))


def name_state(draw: Draw, name: str) -> int:
    """The state that all decisions of one name share."""
    state = 0
    for part in (draw.seed, draw.number, key(name)):
        state = mix(state ^ (part & _MASK))
    return state


def below(bits: int, bound: int) -> int:
    """A number from 0 up to, not including, a bound of at most 2**32."""
    return ((bits >> 32) * bound) >> 32


def how_many(share: int, things: int, bits: int) -> int:
    """How many of some things a share, in millionths, is: rounded down or, by chance, up.

    Example:
        >>> how_many(250_000, 8, 0), how_many(250_000, 7, 0), how_many(250_000, 7, 2**64 - 1)
        (2, 2, 1)
    """
    whole, rest = divmod(share * things, _MILLION)
    return whole + (below(bits, _MILLION) < rest)
