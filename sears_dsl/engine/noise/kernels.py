"""Draws, look-alikes and slips over arrays: `draws` and `characters` for whole batches.

In: instances of one rule, unit by unit, as places in the code points of a batch; the state that all
decisions of a name share. Out: which instances are tried, and what they become. Always holds: the
results are those of the plain functions. For slips, a word with a letter outside ASCII is left to
these; if a share of all letters slips, so is its whole unit. Products and sums stay within 64 bits,
so that plain Python computes the same. Costs some ten nanoseconds a number, compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sears_dsl.runtime.array_types import (
    Flags,
    Int8Array,
    Int64Array,
    Integer,
    UInt32Array,
    UInt64Array,
)
from sears_dsl.runtime.kernels import kernel

UNTRIED, UNABLE, CHANGED, PLAIN = range(4)
"""An instance is not tried, cannot change, is changed, or is left to the plain code."""

RATE_SHARE, RATE, SHARE, PLACE, KEY_LETTER, TYPO_KIND, FIRST_KIND = range(7)
"""Names of decisions, as places in an array: the last is the first of four kinds of slips."""

TYPO = 4
"""The function that draws the kind of each slip; 0 to 3 are the functions of one kind."""

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_LARGEST = np.uint64(0xFFFFFFFFFFFFFFFF)
_MILLION = np.uint64(1_000_000)
_SWAP, _DROP, _DOUBLE, _KEY = range(4)


class InstancePlaces(NamedTuple):
    """The instances of a rule, unit by unit, and what draws about them depend on."""

    places: Int64Array  # (instances,): where each begins in its unit
    offsets: Int64Array  # (units + 1,): the instances of each unit
    unit_keys: UInt64Array  # (units,): the texts of the units, as `draws.key` gives them
    bases: UInt64Array  # the state that the decisions of each name share


class InstancePoints(NamedTuple):
    """The characters of instances, in the code points of a batch."""

    starts: Int64Array  # (instances,): the first code point of each
    ends: Int64Array  # (instances,): one past its last
    points: UInt32Array  # the code points of the batch
    foreign: Flags  # which of them are letters outside ASCII


@kernel
def _times(one: Integer, low: Integer, high: Integer) -> Any:
    """The lower 64 bits of a product; the second factor is given as two halves."""
    a, b = one & _LOW, one >> _HALF
    product = a * low
    upper = ((product >> _HALF) + ((a * high) & _LOW) + ((b * low) & _LOW)) & _LOW
    return (upper << _HALF) | (product & _LOW)


@kernel
def mixed(state: Integer, part: Integer) -> Any:
    """The state of a chain of SplitMix64 after one more part."""
    bits = state ^ part
    low = (bits & _LOW) + np.uint64(0x7F4A7C15)
    high = ((bits >> _HALF) + np.uint64(0x9E3779B9) + (low >> _HALF)) & _LOW
    bits = (high << _HALF) | (low & _LOW)
    bits = _times(bits ^ (bits >> np.uint64(30)), np.uint64(0x1CE4E5B9), np.uint64(0xBF58476D))
    bits = _times(bits ^ (bits >> np.uint64(27)), np.uint64(0x133111EB), np.uint64(0x94D049BB))
    return bits ^ (bits >> np.uint64(31))


@kernel
def _number(state: Integer, place: Integer, count: Integer) -> Any:
    return mixed(mixed(state, np.uint64(place)), np.uint64(count))


@kernel
def _how_many(share: Integer, things: Integer, bits: Integer) -> Any:
    product = np.uint64(share) * np.uint64(things)
    whole = product // _MILLION
    rest = product - whole * _MILLION
    return np.int64(whole) + np.int64((((bits >> _HALF) * _MILLION) >> _HALF) < rest)


@kernel
def try_instances(rate: Integer, able: Flags, where: InstancePlaces) -> Any:
    """Which instances are tried until a share, in millionths, of those of their unit is rewritten.

    ``able``, bool (instances,), says in which anything can change.
    """
    places, offsets, unit_keys, bases = where
    tried = np.zeros(able.shape[0], np.bool_)
    for unit in range(offsets.shape[0] - 1):
        low, high = offsets[unit], offsets[unit + 1]
        state = mixed(bases[RATE_SHARE], unit_keys[unit])
        left = np.int64(_how_many(rate, high - low, _number(state, 0, 0)))
        if left == high - low:
            tried[low:high] = True
            continue
        if left == 0:
            continue
        state = mixed(bases[RATE], unit_keys[unit])
        numbers = np.empty(high - low, np.uint64)
        for at in range(low, high):
            numbers[at - low] = _number(state, places[at], 0)
        for at in np.argsort(numbers):
            if left == 0:
                break
            tried[low + at] = True
            if able[low + at]:
                left -= 1
    return tried


@kernel
def look_alike(  # noqa: PLR0917
    share: Integer,
    count: Integer,
    tried: Flags,
    where: InstancePlaces,
    what: InstancePoints,
    table: UInt32Array,
    spaces: Flags,
) -> Any:
    """Turn characters of the instances that are tried into their look-alikes, in place.

    If ``share`` is 0, ``count`` places of each instance change. ``table``, uint32, has the
    look-alike of each code point, 0 if it has none; ``spaces`` says which are white space. Returns
    what becomes of each instance; `UNTRIED` also if the share spares one that is tried and able.
    """
    places, offsets, unit_keys, bases = where
    starts, ends, points, _ = what
    become = np.zeros(tried.shape[0], np.int8)
    size = (ends - starts).sum()
    numbers = np.empty(size, np.uint64)
    spots = np.empty(size, np.int64)
    owners = np.empty(size, np.int64)
    for unit in range(offsets.shape[0] - 1):
        state = mixed(bases[PLACE], unit_keys[unit])
        able, counted = np.int64(0), np.int64(0)
        for at in range(offsets[unit], offsets[unit + 1]):
            if not tried[at]:
                continue
            first = able
            for point in range(starts[at], ends[at]):
                code = points[point]
                if code >= spaces.shape[0] or not spaces[code]:
                    counted += 1
                if code < table.shape[0] and table[code] != 0:
                    numbers[able] = _number(state, places[at], point - starts[at])
                    spots[able] = point
                    owners[able] = at
                    able += 1
            if able == first:
                become[at] = UNABLE
            elif share == 0:  # of this instance alone
                for _ in range(min(np.int64(count), able)):
                    least = np.argmin(numbers[:able])
                    points[spots[least]] = table[points[spots[least]]]
                    numbers[least] = _LARGEST
                become[at] = CHANGED
                able = np.int64(0)
        if share > 0:
            bits = _number(mixed(bases[SHARE], unit_keys[unit]), 0, 0)
            quota = min(_how_many(share, counted, bits), able)
            if quota > 0:
                # The largest number that is taken; all below it are taken, too.
                last = np.partition(numbers[:able], quota - 1)[quota - 1]
                for spot in range(able):
                    if numbers[spot] <= last:
                        points[spots[spot]] = table[points[spots[spot]]]
                        become[owners[spot]] = CHANGED
    return become


# ---------------------------------------------------------------- slips


@kernel
def _is_letter(code: Integer) -> Any:
    return 64 < code < 91 or 96 < code < 123


@kernel
def _cased(code: Integer, like: Integer) -> Any:
    """An ASCII letter in the casing of another."""
    if 64 < like < 91:
        return code & ~np.uint32(32)
    return code | np.uint32(32)


@kernel
def _fits(  # noqa: PLR0917
    kind: Integer,
    point: int,
    start: int,
    end: int,
    points: UInt32Array,
    covered: Flags,
    letters: Integer,
) -> Any:
    """Whether a slip of a kind can begin at a code point, where some are covered by slips."""
    if not _is_letter(points[point]):
        return False
    if kind == _SWAP:
        if point + 1 >= end or not _is_letter(points[point + 1]):
            return False
        if points[point] | np.uint32(32) == points[point + 1] | np.uint32(32):
            return False
        return not covered[point - start] and not covered[point + 1 - start]
    if kind == _DROP and letters < 2:
        return False
    return not covered[point - start]


@kernel
def _drawn(bits: Integer, fitting: Flags) -> Any:
    """The kind that is drawn among those that fit."""
    left = np.int64(((bits >> _HALF) * np.uint64(fitting.sum())) >> _HALF)
    for kind in range(4):
        if fitting[kind]:
            if left == 0:
                return kind
            left -= 1
    return -1


@kernel
def _write(  # noqa: PLR0917
    written: UInt32Array,
    total: Integer,
    points: UInt32Array,
    start: int,
    end: int,
    slips: Int8Array,
    keys: UInt32Array,
    state: Integer,
    place: Integer,
) -> Any:
    """Write an instance with its slips at ``total``; return where it ends, ``total`` if unchanged.

    ``slips`` has the kind that begins at each code point, -1 for none; ``state`` draws letters.
    """
    begun, point = total, start
    while point < end:
        code = points[point]
        slip = slips[point - start]
        if slip == _SWAP:
            written[total] = _cased(points[point + 1], code)
            written[total + 1] = _cased(code, points[point + 1])
            total += 2
            point += 1
        elif slip == _DOUBLE:
            written[total] = code
            written[total + 1] = code
            total += 2
        elif slip == _KEY:
            row = np.int64(code | np.uint32(32)) - 97
            bits = _number(state, place, point - start)
            chosen = ((bits >> _HALF) * np.uint64(keys[row, 0])) >> _HALF
            written[total] = _cased(keys[row, 1 + np.int64(chosen)], code)
            total += 1
        elif slip != _DROP:
            written[total] = code
            total += 1
        point += 1
    if total - begun != end - start:
        return total
    for at in range(total - begun):
        if written[begun + at] != points[start + at]:
            return total
    return begun


@kernel
def misspell(  # noqa: PLR0915, PLR0917 - one loop: a call an instance would cost more
    kind: Integer,
    count: Integer,
    tried: Flags,
    where: InstancePlaces,
    what: InstancePoints,
    keys: UInt32Array,
) -> Any:
    """Make ``count`` slips of a kind, or for 0 all that fit, in each instance that is tried.

    ``keys``, uint32 (26, 7), has for each letter how many keys touch its key, and which. Returns
    what becomes of each instance (see `UNTRIED`), the new code points of all, one after another,
    and the bounds of each among these.
    """
    places, offsets, unit_keys, bases = where
    starts, ends, points, foreign = what
    become = np.zeros(tried.shape[0], np.int8)
    bounds = np.zeros(tried.shape[0] + 1, np.int64)
    widest = np.int64(0)
    for at in range(tried.shape[0]):
        widest = max(widest, ends[at] - starts[at])
    written = np.empty(2 * (ends - starts).sum(), np.uint32)
    covered = np.empty(widest, np.bool_)
    slips = np.empty(widest, np.int8)
    numbers = np.empty((4, widest), np.uint64)
    numbered = np.empty(4, np.bool_)
    fitting = np.zeros(4, np.bool_)
    total = np.int64(0)
    first_kind = 0 if kind == TYPO else kind
    last_kind = 4 if kind == TYPO else kind + 1
    for unit in range(offsets.shape[0] - 1):
        for at in range(offsets[unit], offsets[unit + 1]):
            bounds[at + 1] = total
            if not tried[at]:
                continue
            start, end, place = starts[at], ends[at], places[at]
            letters, plain = np.int64(0), True
            for point in range(start, end):
                plain = plain and not foreign[point]
                letters += np.int64(_is_letter(points[point]))
                covered[point - start] = False
                slips[point - start] = -1
            if not plain:
                become[at] = PLAIN
                continue
            become[at] = UNABLE
            numbered[:] = False
            for slip in range(count if count > 0 else end - start):
                which = np.int64(-1)
                for each in range(first_kind, last_kind):
                    fitting[each] = False
                    for point in range(start, end):
                        if _fits(each, point, start, end, points, covered, letters):
                            fitting[each] = True
                            which = np.int64(each)
                            break
                if which < 0:
                    break
                if kind == TYPO:
                    bits = _number(mixed(bases[PLACE], unit_keys[unit]), place, slip)
                    which = np.int64(_drawn(bits, fitting))
                if not numbered[which]:
                    numbered[which] = True
                    state = mixed(bases[FIRST_KIND + which], unit_keys[unit])
                    for point in range(start, end):
                        if _is_letter(points[point]):
                            number = _number(state, place, point - start)
                            numbers[which, point - start] = number
                best, least = np.int64(-1), _LARGEST
                for point in range(start, end):
                    if _fits(which, point, start, end, points, covered, letters):
                        number = numbers[which, point - start]
                        if best < 0 or number < least:
                            best, least = np.int64(point), number
                slips[best - start] = np.int8(which)
                covered[best - start] = True
                if which == _SWAP:
                    covered[best + 1 - start] = True
                elif which == _DROP:
                    letters -= 1
                become[at] = CHANGED
            if become[at] == UNABLE:
                continue
            state = mixed(bases[KEY_LETTER], unit_keys[unit])
            behind = _write(written, total, points, start, end, slips, keys, state, place)
            if behind == total:
                become[at] = UNABLE
            total = np.int64(behind)
            bounds[at + 1] = total
    return become, written, bounds


@kernel
def misspell_share(  # noqa: PLR0915, PLR0917 - likewise
    kind: Integer,
    share: Integer,
    tried: Flags,
    able: Flags,
    where: InstancePlaces,
    what: InstancePoints,
    keys: UInt32Array,
) -> Any:
    """Make slips in a share, in millionths, of all letters of the tried instances of each unit.

    Nothing is written for instances that are not ``able`` to change. Returns what `misspell` does;
    instances that the share spares are `UNTRIED`, and if one of a unit is `PLAIN`, all are.
    """
    places, offsets, unit_keys, bases = where
    starts, ends, points, foreign = what
    become = np.zeros(tried.shape[0], np.int8)
    bounds = np.zeros(tried.shape[0] + 1, np.int64)
    widest = np.int64(0)
    for unit in range(offsets.shape[0] - 1):
        widest = max(widest, ends[offsets[unit + 1] - 1] - starts[offsets[unit]])
    written = np.empty(2 * (ends - starts).sum(), np.uint32)
    covered = np.empty(widest, np.bool_)
    slips = np.empty(widest, np.int8)
    numbers = np.empty(widest, np.uint64)
    spots = np.empty(widest, np.int64)
    owners = np.empty(widest, np.int64)
    letters = np.zeros(tried.shape[0], np.int64)
    fitting = np.zeros(4, np.bool_)
    total = np.int64(0)
    first_kind = 0 if kind == TYPO else kind
    last_kind = 4 if kind == TYPO else kind + 1
    for unit in range(offsets.shape[0] - 1):
        low = starts[offsets[unit]]
        state = mixed(bases[PLACE], unit_keys[unit])
        spot_count, counted, plain = np.int64(0), np.int64(0), True
        for at in range(offsets[unit], offsets[unit + 1]):
            if not tried[at]:
                continue
            start, end = starts[at], ends[at]
            for point in range(start, end):
                plain = plain and not foreign[point]
                letters[at] += np.int64(_is_letter(points[point]))
                covered[point - low] = False
                slips[point - low] = -1
            counted += letters[at]
            for point in range(start, end):
                there = covered[start - low : end - low]
                for each in range(first_kind, last_kind):
                    if _fits(each, point, start, end, points, there, letters[at]):
                        numbers[spot_count] = _number(state, places[at], point - start)
                        spots[spot_count] = point
                        owners[spot_count] = at
                        spot_count += 1
                        break
        left = np.int64(0)
        if plain:
            bits = _number(mixed(bases[SHARE], unit_keys[unit]), 0, 0)
            left = np.int64(_how_many(share, counted, bits))
        order = np.argsort(numbers[: spot_count if left > 0 else 0])
        state = mixed(bases[TYPO_KIND], unit_keys[unit])
        for rank in range(order.shape[0]):
            if left == 0:
                break
            point, at = spots[order[rank]], owners[order[rank]]
            start, end = starts[at], ends[at]
            there = covered[start - low : end - low]
            which = np.int64(-1)
            for each in range(first_kind, last_kind):
                fitting[each] = _fits(each, point, start, end, points, there, letters[at])
                if fitting[each]:
                    which = np.int64(each)
            if which < 0:
                continue
            if kind == TYPO:
                which = np.int64(_drawn(_number(state, places[at], point - start), fitting))
            slips[point - low] = np.int8(which)
            covered[point - low] = True
            if which == _SWAP:
                covered[point + 1 - low] = True
            elif which == _DROP:
                letters[at] -= 1
            left -= 1
        state = mixed(bases[KEY_LETTER], unit_keys[unit])
        for at in range(offsets[unit], offsets[unit + 1]):
            if tried[at] and not plain:
                become[at] = PLAIN
            elif tried[at] and not able[at]:
                become[at] = UNABLE
            elif tried[at]:
                start, end, place = starts[at], ends[at], places[at]
                own = slips[start - low : end - low]
                behind = _write(written, total, points, start, end, own, keys, state, place)
                if behind != total:
                    become[at] = CHANGED
                total = np.int64(behind)
            bounds[at + 1] = total
    return become, written, bounds
