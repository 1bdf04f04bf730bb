"""From the hits of patterns to the instances of rules.

In: the hits of a block of rows, row by row. Out: int32 (5, instances): rules, rows, starts, ends
and orders, by row, rule and start. Always holds: each hit stands for one instance of every rule of
its pattern. Costs a few nanoseconds an instance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sears_dsl.engine.arrays import FOCUS, ORDER_BITS, ORDER_MASK, RANK, RANK_BITS, Rules
from sears_dsl.engine.match.bit_scan import BIT_OF
from sears_dsl.runtime.array_types import Int32Array, Int64Array, Integer
from sears_dsl.runtime.kernels import kernel

_DIGIT_BITS = 6
_SHORT = 24  # up to here insertion sorts faster


@kernel
def _sort_by_rule(keys: Any, scratch: Any, count: Any, counters: Any, digits: Any) -> None:
    """Sort keys (rule << 37 | rank) by rule, stably: insertion if short, else radix."""
    if count <= _SHORT:
        for place in range(1, count):
            key = keys[place]
            rule = key >> RANK_BITS
            at = place
            while at > 0 and keys[at - 1] >> RANK_BITS > rule:
                keys[at] = keys[at - 1]
                at -= 1
            keys[at] = key
        return
    for digit in range(digits):
        shift = RANK_BITS + digit * _DIGIT_BITS
        counters[:] = 0
        for place in range(count):
            counters[((keys[place] >> shift) & ((1 << _DIGIT_BITS) - 1)) + 1] += 1
        for value in range(counters.shape[0] - 1):
            counters[value + 1] += counters[value]
        for place in range(count):
            value = (keys[place] >> shift) & ((1 << _DIGIT_BITS) - 1)
            scratch[counters[value]] = keys[place]
            counters[value] += 1
        keys[:count] = scratch[:count]


@kernel
def count_instances(hits: Any, rules: Any) -> Any:
    """How many instances of rules the hits of patterns stand for."""
    if rules.rules_of.shape[0] == rules.rule_offsets.shape[0] - 1:
        return np.int64(hits.shape[0])  # each pattern has a rule, so each has one
    total = np.int64(0)
    for hit in hits:
        pattern = hit >> RANK_BITS
        total += rules.rule_offsets[pattern + 1] - rules.rule_offsets[pattern]
    return total


@kernel
def expand_hits(hits: Any, offsets: Any, low: Any, rules: Any) -> Any:
    """From the hits of patterns to the instances of rules; see `find_instances`."""
    instances = np.empty((5, count_instances(hits, rules)), np.int32)
    if len(hits) == 0:
        return instances
    place = np.int64(0)
    most = np.int64(0)
    for row in range(offsets.shape[0] - 1):
        most = max(most, count_instances(hits[offsets[row] : offsets[row + 1]], rules))
    keys = np.empty(most, np.int64)
    scratch = np.empty(most, np.int64)
    counters = np.zeros((1 << _DIGIT_BITS) + 1, np.int64)
    digits = 1
    while rules.pattern_of.shape[0] >> (digits * _DIGIT_BITS) > 0:
        digits += 1
    for row in range(offsets.shape[0] - 1):
        count = np.int64(0)
        for at in range(offsets[row], offsets[row + 1]):
            pattern = hits[at] >> RANK_BITS
            rank = hits[at] & RANK
            for of in range(rules.rule_offsets[pattern], rules.rule_offsets[pattern + 1]):
                keys[count] = (np.int64(rules.rules_of[of]) << RANK_BITS) | rank
                count += 1
        _sort_by_rule(keys, scratch, count, counters, digits)
        for at in range(count):
            rule = keys[at] >> RANK_BITS
            order = keys[at] & ORDER_MASK
            start = (keys[at] & RANK) >> ORDER_BITS
            variant = rules.first_variant[rules.pattern_of[rule]] + order
            instances[0, place] = rule
            instances[1, place] = low + row
            instances[2, place] = start
            instances[3, place] = start + rules.variants[variant, FOCUS]
            instances[4, place] = order
            place += 1
    return instances


# Bits of an instance that waits: its start, the tokens that it replaces, its order.
_START_SHIFT = 32
_TOKENS = (1 << _START_SHIFT) - 1


@kernel
def expand_first(  # noqa: PLR0917 - arrays in the order in which they are made
    hits: Int64Array,
    offsets: Int64Array,
    low: Integer,
    rules: Rules,
    instances: Int32Array,
    place: Integer,
) -> None:
    """The same as `expand_hits`, where each rule has one instance in a row at most.

    The rules of a row are bits, so that they come in their order without being sorted.

    Args:
        low: the row that the first hits are of.
        instances: where they are put.
        place: the place of the first one there.
    """
    rule_offsets, rules_of = rules.rule_offsets, rules.rules_of
    first_variant, variants, single = rules.first_variant, rules.variants, rules.single
    count = rules_of.shape[0]
    none, one, six, last = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)
    words = (count + 63) >> 6
    present = np.zeros(words, np.uint64)
    waiting = np.empty(count, np.int64)
    # Columns and indices without a sign: nothing is to be looked up or looked at each time.
    of_rules, of_rows, of_starts = instances[0], instances[1], instances[2]
    of_ends, of_orders = instances[3], instances[4]
    at_place = np.uint64(place)
    at_row = np.int64(low)
    for row in range(offsets.shape[0] - 1):
        for at in range(offsets[row], offsets[row + 1]):
            hit = hits[at]
            pattern = np.uint64(hit >> RANK_BITS)
            start = (hit & RANK) >> ORDER_BITS
            order = hit & ORDER_MASK
            value = (start << _START_SHIFT) | order
            only = single[pattern, 0]
            if only >= 0:
                rule = np.uint64(only)
                waiting[rule] = value | (np.int64(single[pattern, 1]) << ORDER_BITS)
                present[rule >> six] |= one << (rule & last)
                continue
            variant = np.uint64(first_variant[pattern]) + np.uint64(order)
            value |= np.int64(variants[variant, FOCUS]) << ORDER_BITS
            for of in range(rule_offsets[pattern], rule_offsets[pattern + one]):
                rule = np.uint64(rules_of[of])
                present[rule >> six] |= one << (rule & last)
                waiting[rule] = value
        for word in range(words):
            mask = present[word]
            present[word] = none
            first = np.uint64(word << 6)
            while mask != none:
                lowest = mask & (~mask + one)
                mask ^= lowest
                rule = first + BIT_OF[lowest % np.uint64(67)]
                value = waiting[rule]
                start = value >> _START_SHIFT
                of_rules[at_place] = rule
                of_rows[at_place] = at_row
                of_starts[at_place] = start
                of_ends[at_place] = start + ((value & _TOKENS) >> ORDER_BITS)
                of_orders[at_place] = value & ORDER_MASK
                at_place += one
        at_row += 1
