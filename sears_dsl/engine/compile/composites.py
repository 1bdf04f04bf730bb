"""Predicates that are built from others: which of them hold, given the simple ones that hold.

In: the predicates of a program, each with a larger id than its members, and their symbols; the
simple predicates that hold of tokens. Out: the symbols of all that hold. The composites that hold
of a token of which no simple predicate holds are worked out once. For other tokens only those with
a member that differs are decided again, in ascending order, so that members come first. Costs half
a microsecond for each group of token types with a thousand composite predicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import BIT_OF, grown
from sears_dsl.runtime.array_types import Flags, Int32Array, offsets_of
from sears_dsl.runtime.kernels import kernel_of_alike


class Composites(NamedTuple):
    """Composite predicates, numbered from 0 in the order of their ids, and what they require.

    A composite holds where at least `least` of its members do; if it is negated, where fewer do. It
    holds *mostly* if it holds of a token of which no simple predicate does.
    """

    least: Int32Array  # (composites,)
    negated: Flags  # (composites,)
    # (predicates + 1,): where the composites that a predicate is a member of begin in parents.
    offsets: Int32Array
    parents: Int32Array  # composites
    holding: Int32Array  # (composites,): how many members hold mostly
    holds: Flags  # (composites,): whether each holds mostly
    ids: Int32Array  # (composites,): the id of each as a predicate
    symbols: Int32Array  # (predicates,): the symbol of each predicate, -1 where it has none
    mostly: Int32Array  # the symbols of those that hold mostly and have one


def composites_of(keys: Sequence[tuple[Any, ...]], symbols: Int32Array) -> Composites:
    """The composites among all predicates, whose keys are those of `Predicates.intern`."""
    members: dict[int, Sequence[int]] = {}
    for number, key in enumerate(keys):
        if key[0] in ("any", "or", "and", "not"):
            members[number] = key[1] if key[0] in ("or", "and") else key[1:]
    kinds = [keys[number][0] for number in members]
    sizes = list(map(len, members.values()))
    least = [
        size if kind == "and" else int(kind != "any")
        for kind, size in zip(kinds, sizes, strict=True)
    ]
    negated = [kind == "not" for kind in kinds]
    asking = np.repeat(np.arange(len(members), dtype=np.int32), sizes)
    operands = np.fromiter(chain.from_iterable(members.values()), np.int32, len(asking))
    offsets = offsets_of(np.bincount(operands, minlength=len(keys)), np.int32)
    holding: list[int] = []
    hold_mostly = bytearray(len(keys))
    for number, of_number in members.items():
        place = len(holding)
        holding.append(sum(map(hold_mostly.__getitem__, of_number)))
        hold_mostly[number] = (holding[place] >= least[place]) != negated[place]
    ids = np.fromiter(members, np.int32, len(members))
    holds: NDArray[np.bool_] = np.frombuffer(bytes(hold_mostly), np.bool_)[ids]
    return Composites(
        least=np.array(least, np.int32),
        negated=np.array(negated, np.bool_),
        offsets=offsets,
        parents=asking[np.argsort(operands, kind="stable")],
        holding=np.array(holding, np.int32),
        holds=holds,
        ids=ids,
        symbols=symbols,
        mostly=symbols[ids[holds & (symbols[ids] >= 0)]],
    )


@kernel_of_alike
def decide(simple: Int32Array, composites: Composites) -> Any:
    """The symbols of all predicates that hold, by group, as `Satisfied.offsets` and ``ids``.

    ``simple`` has the ids of the simple ones that hold, int32 (groups, any), and -1 elsewhere.
    Predicates whose symbol is -1 are left out.
    """
    # Local names, since a field of a tuple is looked up each time.
    offsets, parents, symbols = composites.offsets, composites.parents, composites.symbols
    least, negated, ids = composites.least, composites.negated, composites.ids
    holds, mostly = composites.holds, composites.mostly
    groups, count = simple.shape[0], least.shape[0]
    group_offsets = np.zeros(groups + 1, np.int32)
    most = simple.shape[1] + count
    decided = np.empty(most + 8 * groups, np.int32)
    holding = composites.holding.copy()
    none, one, six, last = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)
    # A bit for each composite with a member that is not as it is mostly: these are decided again.
    changed = np.zeros((count >> 6) + 1, np.uint64)
    lost = np.zeros(symbols.shape[0], np.bool_)  # symbols that hold mostly, and not here
    total = np.int64(0)
    for group in range(groups):
        if total + most > decided.shape[0]:
            decided = grown(decided, total + most)
        for place in range(simple.shape[1]):
            number = np.int64(simple[group, place])
            if number < 0:
                continue
            for at in range(offsets[number], offsets[number + 1]):
                parent = np.uint64(parents[at])
                holding[parent] += 1
                changed[parent >> six] |= one << (parent & last)
            if symbols[number] >= 0:
                decided[total] = symbols[number]
                total += 1
        for word in range(changed.shape[0]):
            while changed[word] != none:
                lowest = changed[word] & (~changed[word] + one)
                changed[word] ^= lowest
                composite = np.uint64(word << 6) + BIT_OF[lowest % np.uint64(67)]
                is_enough = holding[composite] >= least[composite]
                holding[composite] = composites.holding[composite]
                if (is_enough != negated[composite]) == holds[composite]:
                    continue
                number = np.int64(ids[composite])
                for at in range(offsets[number], offsets[number + 1]):
                    parent = np.uint64(parents[at])
                    holding[parent] += -1 if holds[composite] else 1
                    changed[parent >> six] |= one << (parent & last)
                if symbols[number] >= 0 and holds[composite]:
                    lost[symbols[number]] = True
                elif symbols[number] >= 0:
                    decided[total] = symbols[number]
                    total += 1
        for symbol in mostly:
            if not lost[symbol]:
                decided[total] = symbol
                total += 1
            lost[symbol] = False
        group_offsets[group + 1] = total
    return group_offsets, decided[:total].copy()
