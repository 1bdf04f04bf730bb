"""Rates, and functions of characters, over all the instances of a rule in a batch.

In: the instances by their rows and places, as code points; a seed. Out: which of them are tried,
and the new texts of those that change. Always holds: both are what `draws` and `characters` give
one by one. Costs a hash of each unit, some kernels, and a string for each changed instance. The
plain functions make the slips in words with letters outside ASCII and, if a share of all letters
slips, in whole units with such letters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.noise import characters, kernels
from sears_dsl.engine.noise.characters import PlacedText, change_places, change_share
from sears_dsl.engine.noise.draws import Draw, key, name_state
from sears_dsl.language.rule import TYPING_KINDS, Noise
from sears_dsl.runtime.array_types import offsets_of
from sears_dsl.runtime.kernels import expect

ALL = -1
"""As many slips as fit."""


def unit_offsets(rows: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where the instances of each unit begin, and the end of the last; they are of one rule."""
    heads = np.flatnonzero(np.diff(rows, prepend=-1))
    return np.append(heads, len(rows)).astype(np.int64)


def _where(
    names: Sequence[str],
    draw: Draw,
    places: NDArray[np.int64],
    rows: NDArray[np.integer],
    units: Sequence[str] | Mapping[int, str],
) -> kernels.InstancePlaces:
    """What the decisions of some names about the instances of a rule depend on."""
    offsets = unit_offsets(rows)
    keys = np.array([key(units[row]) for row in rows[offsets[:-1]].tolist()], np.uint64)
    bases = np.array([name_state(draw, name) for name in names], np.uint64)
    return kernels.InstancePlaces(places, offsets, keys, bases)


def tried_by_rate(
    rate: int,
    able: NDArray[np.bool_],
    draw: Draw,
    *,
    places: NDArray[np.int64],
    rows: NDArray[np.integer],
    units: Sequence[str],
) -> NDArray[np.bool_]:
    """Which instances of a rule are tried until a share of those of each unit is rewritten."""
    where = _where(["rate share", "rate"], draw, places, rows, units)
    tried: NDArray[np.bool_] = kernels.try_instances(rate, able, where)
    return tried


class _New(NamedTuple):
    """What became of instances, and the code points of those that changed."""

    become: NDArray[np.int8]
    points: NDArray[np.uint32]
    starts: NDArray[np.int64]  # where the code points of each begin
    ends: NDArray[np.int64]


def noise_batch(
    noise: Noise,
    draw: Draw,
    *,
    places: NDArray[np.int64],
    points: NDArray[np.uint32],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    rows: NDArray[np.integer],
    units: Sequence[str] | Mapping[int, str],
) -> NoiseBatch:
    """One function in all instances of a rule, given as code points of a batch."""
    kind = noise.kind
    first_kind = [kind] if kind == "homoglyph" else list(TYPING_KINDS)
    names = ["rate share", "rate", f"{kind} share", kind, "key letter", "typo kind", *first_kind]
    expect(len(points))
    where = _where(names, draw, places, rows, units)
    what = kernels.InstancePoints(starts, ends, points, _foreign(points))
    return NoiseBatch(noise, draw, where, what, rows, units)


class NoiseBatch(NamedTuple):
    """One function in all instances of a rule, with the row of each and the texts of the rows."""

    noise: Noise
    draw: Draw
    where: kernels.InstancePlaces
    what: kernels.InstancePoints
    rows: NDArray[np.integer]
    units: Sequence[str] | Mapping[int, str]

    def new_texts(self, rate: int | None) -> tuple[dict[int, str], int]:
        """The new texts of instances that change, and in how many that are tried nothing can.

        The rate is in millionths; without one, all instances are tried.
        """
        tried, able = self._tried(rate)
        new = self._written(tried, able)
        texts = self._texts(new, able)
        return texts, int((new.become == kernels.UNABLE).sum())

    def all_new_texts(self) -> dict[int, str]:
        """The new texts of all instances that change; a share is one of all in a unit."""
        every = np.ones(len(self.rows), np.bool_)
        return self._texts(self._written(every, every), every)

    def _placed_text(self, at: int) -> PlacedText:
        """The text of one instance, and its place."""
        starts, ends, points, _ = self.what
        text = points[starts[at] : ends[at]].tobytes().decode("utf-32-le", "surrogatepass")
        return PlacedText(int(self.where.places[at]), text)

    def _tried(self, rate: int | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which instances are tried, and whether anything in those can change."""
        tried = np.ones(len(self.rows), np.bool_)
        if rate is None and (self.noise.share is None or self.noise.kind == "homoglyph"):
            return tried, tried
        able = self._has_place()
        settled = ~able
        # Slips may leave a word as it was: `II` with one letter dropped and the other doubled.
        several = self.noise.share is not None or self.noise.places > 1
        while True:
            if rate is not None:
                tried = kernels.try_instances(rate, able, self.where)
            new = tried & ~settled
            if not (self.noise.kind == "typo" and several and new.any()):
                return tried, able
            able &= ~new | self._changes(new)
            settled |= new

    def _changes(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each chosen instance changes if the function makes all slips that it may make."""
        if self.noise.share is not None:
            return self._replace(noise=Noise(self.noise.kind, ALL))._changes(chosen)
        new = self._written(chosen, chosen)
        flags: NDArray[np.bool_] = new.become == kernels.CHANGED
        flags[list(self._plain_texts(new, chosen))] = True
        return flags

    def _has_place(self) -> NDArray[np.bool_]:
        """Whether anything in each instance can change, at one place at least."""
        starts, all_ends, points, foreign = self.what

        def count(flags: NDArray[np.bool_], ends: NDArray[np.int64]) -> NDArray[np.int64]:
            sums = offsets_of(flags, np.int64)
            counts: NDArray[np.int64] = sums[ends] - sums[starts]
            return counts

        if self.noise.kind == "homoglyph":
            table, _ = _look_alike_tables()
            codes = np.minimum(points, len(table) - 1)
            return count(table[codes] != 0, all_ends) > 0
        small = points | np.uint32(32)
        letters = (small > 96) & (small < 123) & (points < 128)
        if self.noise.kind == "swap":
            pairs = np.zeros(len(points), np.bool_)
            pairs[:-1] = letters[:-1] & letters[1:] & (small[:-1] != small[1:])
            able = count(pairs, all_ends - 1) > 0
        else:
            able = count(letters, all_ends) > (self.noise.kind == "drop")
        for at in np.flatnonzero(count(foreign, all_ends)).tolist():
            able[at] = characters.has_place(self.noise, self._placed_text(at).text)
        return able

    def _written(self, tried: NDArray[np.bool_], able: NDArray[np.bool_]) -> _New:
        """What the instances become, by the kernels."""
        noise, where, what = self.noise, self.where, self.what
        if noise.kind == "homoglyph":
            new = what.points.copy()
            share, count = noise.share or 0, noise.places
            count = len(new) if count == ALL else count
            what = what._replace(points=new)
            become = kernels.look_alike(share, count, tried, where, what, *_look_alike_tables())
            return _New(become, new, what.starts, what.ends)
        kind = kernels.TYPO if noise.kind == "typo" else TYPING_KINDS.index(noise.kind)
        if noise.share is None:
            count = 0 if noise.places == ALL else noise.places
            new = kernels.misspell(kind, count, tried, where, what, _key_table())
        else:
            share = noise.share
            new = kernels.misspell_share(kind, share, tried, able, where, what, _key_table())
        become, points, bounds = new
        return _New(become, points[: bounds[-1]], bounds[:-1], bounds[1:])

    def _texts(self, new: _New, able: NDArray[np.bool_]) -> dict[int, str]:
        """The new texts of the instances that change, with those that the kernels leave."""
        at_all = np.flatnonzero(new.become == kernels.CHANGED)
        written = new.points.tobytes().decode("utf-32-le", "surrogatepass")
        bounds = zip(new.starts[at_all].tolist(), new.ends[at_all].tolist(), strict=True)
        places = zip(at_all.tolist(), bounds, strict=True)
        return {at: written[low:high] for at, (low, high) in places} | self._plain_texts(new, able)

    def _plain_texts(self, new: _New, able: NDArray[np.bool_]) -> dict[int, str]:
        """New texts of instances that the kernels leave; those that cannot change are marked so."""
        texts: dict[int, str] = {}
        units: dict[int, list[int]] = {}
        for at in np.flatnonzero(new.become == kernels.PLAIN).tolist():
            units.setdefault(int(self.rows[at]), []).append(at)
        noise = self.noise
        for row, some in units.items():
            unit = self.units[row]
            placed = {at: self._placed_text(at) for at in some}
            if noise.share is not None:
                written = change_share(noise, noise.share, list(placed.values()), unit, self.draw)
            for at, (place, text) in placed.items():
                if noise.share is not None:
                    become: str | None = written[place]
                else:
                    count = len(text) if noise.places == ALL else noise.places
                    slips = Noise(noise.kind, count)
                    become = change_places(slips, PlacedText(place, text), unit, self.draw)
                if become is not None and become != text and able[at]:
                    texts[at] = become
                elif noise.share is None or not able[at]:
                    new.become[at] = kernels.UNABLE
        return texts


def _foreign(points: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which code points are letters outside ASCII."""
    flags = points > 127
    if flags.any():
        kinds, places = np.unique(points[flags], return_inverse=True)
        flags[flags] = np.array([chr(kind).isalpha() for kind in kinds.tolist()])[places]
    return flags


@cache
def _look_alike_tables() -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """The look-alike of each code point, 0 where there is none; and which are white space."""
    look_alikes = {ord(one): ord(other) for one, other in characters.lookalikes().items()}
    table = np.zeros(max(look_alikes) + 2, np.uint32)
    table[list(look_alikes)] = list(look_alikes.values())
    spaces = np.array([chr(code).isspace() for code in range(0x3001)], np.bool_)
    return table, spaces


@cache
def _key_table() -> NDArray[np.uint32]:
    """For each small letter, how many keys touch its key, and which."""
    table = np.zeros((26, 7), np.uint32)
    for row, letter in enumerate("abcdefghijklmnopqrstuvwxyz"):
        beside = characters.keys_beside(letter)
        table[row, : len(beside) + 1] = [len(beside), *map(ord, beside)]
    return table
