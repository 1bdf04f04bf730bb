"""Runs a program over tokens: the one place where Python meets the kernels.

In: a program, a batch of tokens, protected spans. Out: `Matches`, sorted by row, rule and start.
Always holds: the result does not depend on the number of jobs or on how rows are batched.
Costs a look-up of the class of each distinct token type, then one scan of the token ids; with
several jobs blocks of rows are scanned in threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise
from typing import Literal as OneOf
from typing import TypeAlias

import numpy as np

from sears_dsl.engine import arrays
from sears_dsl.engine.compile.program import Program
from sears_dsl.engine.match.instances import find_instances
from sears_dsl.engine.match.protection import mark_protected
from sears_dsl.engine.matches import Matches
from sears_dsl.errors import UsageError
from sears_dsl.runtime.array_types import Int32Array
from sears_dsl.runtime.kernels import expect
from sears_dsl.tagging.tokens import Tokens

Extent: TypeAlias = OneOf["first", "all", "every"]
"""``first`` instance of a rule in a row, ``all`` that do not overlap, or ``every`` one."""

Protected: TypeAlias = Sequence[Sequence[tuple[int, int]]]
"""For each row the spans, in characters, in which no rule may fire."""

_EXTENTS = {
    "first": arrays.EXTENT_FIRST,
    "all": arrays.EXTENT_ALL,
    "every": arrays.EXTENT_EVERY,
}
_UNPROTECTED = arrays.ProtectedPlaces(np.zeros(0, np.int32), np.zeros(0, np.uint8))
# Tokens in a block of rows, which one thread scans at a time.
_BLOCK = 1 << 17


def search(
    program: Program,
    tokens: Tokens,
    *,
    extent: Extent = "first",
    protected: Protected | None = None,
    jobs: int = 1,
    again: bool = False,
) -> Matches:
    """Find the instances of all rules in all rows.

    Args:
        program: the compiled rules.
        tokens: the rows.
        extent: which instances of a rule in a row; of rules with a rate ``first`` means all.
        protected: for each row spans of characters in which no instance may be.
        jobs: threads.
        again: most of the rows was searched just before, or will be soon: it is remembered which
            tokens begin nothing.

    Raises:
        UsageError: an unknown extent, jobs under 1, or protected spans for another number of rows.
    """
    if extent not in _EXTENTS:
        raise UsageError(
            f"there is no scope {extent!r}", help=f"choose one of {', '.join(_EXTENTS)}"
        )
    if jobs < 1:
        raise UsageError(f"jobs is {jobs}", help="give the number of threads, 1 or more")
    if protected is not None and len(protected) != len(tokens):
        raise UsageError(
            f"there are protected spans for {len(protected)} rows, but {len(tokens)} rows",
            help="give a sequence of spans for every row; it may be empty",
        )
    matches = _searched(
        program,
        tokens,
        extent="all" if extent == "first" and len(program.rated) else extent,
        protected=protected,
        jobs=jobs,
        again=again,
    )
    if extent == "first" and len(program.rated):
        heads = (np.diff(matches.rules, prepend=-1) != 0) | (np.diff(matches.rows, prepend=-1) != 0)
        matches = matches.select(heads | program.rated[matches.rules])
    return _with_units(matches, program, tokens, protected) if len(program.units) else matches


def _with_units(
    matches: Matches, program: Program, tokens: Tokens, protected: Protected | None
) -> Matches:
    """Instances, and those of the rules about whole units: one for each row that has a token."""
    lengths = np.diff(tokens.row_offsets)
    free = lengths > 0
    if protected is not None:
        for row in np.flatnonzero(free).tolist():
            first, last = tokens.row_offsets[row], tokens.row_offsets[row + 1] - 1
            start, end = tokens.starts[first], tokens.ends[last]
            free[row] = not any(low < end and start < high for low, high in protected[row])
    rows = np.flatnonzero(free)
    whole = (
        np.tile(program.units, len(rows)),
        np.repeat(rows, len(program.units)),
        np.zeros(len(rows) * len(program.units), np.int32),
        np.repeat(lengths[rows], len(program.units)),
        np.zeros(len(rows) * len(program.units), np.int32),
    )
    columns = (matches.rules, matches.rows, matches.starts, matches.ends, matches.variants)
    both = [
        np.concatenate([one, other]).astype(np.int32)
        for one, other in zip(columns, whole, strict=True)
    ]
    return Matches(*both).select(np.lexsort((both[2], both[0], both[1])))


def _searched(
    program: Program,
    tokens: Tokens,
    *,
    extent: Extent,
    protected: Protected | None,
    jobs: int,
    again: bool,
) -> Matches:
    """The instances of the rules that paths lead to."""
    row_offsets = _plain(tokens.row_offsets)
    type_ids = _plain(tokens.type_ids)
    classes, pool = program.classes.of(tokens.types)
    expect(len(type_ids))
    protection = _protection(tokens, row_offsets, protected)

    def scan(block: tuple[int, int]) -> Int32Array:
        rows = (*block, _EXTENTS[extent], row_offsets, type_ids)
        heads = pool.take(len(type_ids), classes, program.rules, again=again)
        instances: Int32Array = find_instances(*rows, classes, program.rules, heads, protection)
        pool.give_back(heads)
        return instances

    blocks = _blocks(row_offsets)
    if len(blocks) == 1:
        return Matches(*scan(blocks[0]))
    if jobs == 1:
        return Matches(*np.concatenate(list(map(scan, blocks)), axis=1))
    with ThreadPoolExecutor(min(jobs, len(blocks))) as threads:
        return Matches(*np.concatenate(list(threads.map(scan, blocks)), axis=1))


def _plain(array: Int32Array) -> Int32Array:
    """As the kernels are compiled for: contiguous and writable (a mapped file is neither)."""
    flags = array.flags
    if array.dtype == np.int32 and flags.c_contiguous and flags.writeable:
        return array
    return np.require(array, np.int32, ["C", "W"])


def _blocks(row_offsets: Int32Array) -> list[tuple[int, int]]:
    """Rows low up to high, of about `_BLOCK` tokens each: small enough to stay in the cache."""
    rows, tokens = len(row_offsets) - 1, int(row_offsets[-1])
    if tokens <= _BLOCK:
        return [(0, rows)]
    cuts = np.searchsorted(row_offsets, np.arange(_BLOCK, tokens, _BLOCK))
    bounds = sorted({0, rows, *cuts.tolist()})
    return list(pairwise(bounds)) or [(0, rows)]


def _protection(
    tokens: Tokens, row_offsets: Int32Array, protected: Protected | None
) -> arrays.ProtectedPlaces:
    if protected is None or not any(protected):
        return _UNPROTECTED
    counts = np.fromiter(map(len, protected), np.int64, len(protected))
    offsets = np.zeros(len(protected) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    spans = np.array(list(chain.from_iterable(protected)), np.int64).reshape(-1, 2)
    return mark_protected(row_offsets, tokens.starts, tokens.ends, offsets, spans)
