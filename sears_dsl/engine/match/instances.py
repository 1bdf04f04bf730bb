"""From the tokens of a block of rows to the instances of rules in it.

In: the arrays of `arrays`. Out: columns of instances, sorted by row, rule and start. Always holds:
each hit that `scan` collects stands for one instance of every rule of its pattern. One kernel does
both, since calling a compiled one with so many arrays takes longer than scanning a short row. Costs
a sort of each row's hits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sears_dsl.engine.arrays import FOCUS, ORDER_BITS, ORDER_MASK, RANK, RANK_BITS
from sears_dsl.engine.match.scan import collect
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
def find_instances(  # noqa: PLR0917 - arrays in the order in which they are made
    low: Any,
    high: Any,
    extent: Any,
    row_offsets: Any,
    type_ids: Any,
    classes: Any,
    rules: Any,
    heads: Any,
    protection: Any,
) -> Any:
    """The instances in rows low up to high; the arguments are those of `collect`.

    Returns:
        int32 (5, instances): rules, rows, starts, ends and orders, by row, rule and start.
    """
    hits, offsets = collect(
        low, high, extent, row_offsets, type_ids, classes, rules, heads, protection
    )
    instances = np.empty((5, _count_instances(hits, rules)), np.int32)
    if len(hits):
        _expand_hits(hits, offsets, low, rules, instances)
    return instances


@kernel
def _count_instances(hits: Any, rules: Any) -> Any:
    """How many instances of rules the hits of patterns stand for."""
    total = np.int64(0)
    for hit in hits:
        pattern = hit >> RANK_BITS
        total += rules.rule_offsets[pattern + 1] - rules.rule_offsets[pattern]
    return total


@kernel
def _expand_hits(hits: Any, offsets: Any, low: Any, rules: Any, instances: Any) -> None:
    """From the hits of patterns to the instances of rules, sorted by row, rule and start.

    Args:
        hits: see `collect`.
        offsets: the hits of each row.
        low: the first row.
        rules: see `Rules`.
        instances: int32 (5, instances), written to: rules, rows, starts, ends and orders.
    """
    place = np.int64(0)
    most = np.int64(0)
    for row in range(offsets.shape[0] - 1):
        most = max(most, _count_instances(hits[offsets[row] : offsets[row + 1]], rules))
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
