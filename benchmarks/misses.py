"""How much memory the matching of rules touches, and how often it misses the caches.

Method: the kernels of the scan and of the processing of its hits run as plain Python over arrays
that record every access (`Watched`), on some sentences that each occur once. The accesses then go
through caches with lines of 64 bytes that evict the least recently used line (`count_misses`), each
cache by itself. So nothing depends on the processor of the machine, which may have no counters.
In: the sentences and rules of `matching`, sparse ones. Out: for each array its size, the bytes of
its touched lines, and accesses and misses for each token and for each match.
Bias: caches are empty at first, and nobody else uses them; no line is fetched ahead. Not counted
are the stack of the kernel, what compiled code keeps in registers, and the few rules with a word
that is written in several ways. Writing counts as reading.

    python -m benchmarks.misses
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType, SimpleNamespace
from typing import Any, cast

import numpy as np

from benchmarks import matching
from benchmarks.record import Row, read_options, write_record
from sears_dsl.engine.compile.program import Program
from sears_dsl.engine.match.scans import scan_rows
from sears_dsl.engine.match.search import count_instances, expand_first, search
from sears_dsl.language.rule import Rule
from sears_dsl.runtime.kernels import ENOUGH_TO_COMPILE, Kernel, expect, kernel
from sears_dsl.tagging.tokens import Tokens

LINE_BITS = 6
# Bytes, and how many lines share a place.
CACHES: Mapping[str, tuple[int, int]] = {
    "32 KiB": (1 << 15, 8),
    "256 KiB": (1 << 18, 8),
    "1 MiB": (1 << 20, 16),
    "32 MiB": (1 << 25, 16),
}
RULES = (1_000, 100_000)
ROWS = 300
LEAST_SHARE = 0.005  # arrays with a smaller share of the accesses are left out of the table


@dataclass
class Trace:
    """All accesses in order: to which array, and at which address.

    Attributes:
        names: the names of the arrays.
        sizes: their bytes.
        arrays: the array of each access, by its place among the names.
        addresses: the byte of each access.
        end: the first free address.
    """

    names: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    arrays: list[int] = field(default_factory=list)
    addresses: list[int] = field(default_factory=list)
    end: int = 1 << 12

    def watch(self, name: str, array: Any) -> Watched:
        """The array, watched, with a name and an address of its own at the beginning of a page."""
        self.names.append(name)
        self.sizes.append(array.nbytes)
        begin = self.end
        self.end += -(-(array.nbytes + 1) >> 12) << 12
        return Watched(array, self, len(self.names) - 1, begin)

    def watch_fields(self, group: Any) -> Any:
        """A named tuple whose arrays are watched."""
        return group._replace(
            **{
                name: self.watch(f"{type(group).__name__}.{name}", value)
                for name, value in group._asdict().items()
                if isinstance(value, np.ndarray)
            }
        )


class Watched:
    """An array of rows that records which bytes are accessed.

    Example:
        >>> trace = Trace()
        >>> squares = trace.watch("squares", np.array([0, 1, 4]))
        >>> int(squares[2]), trace.addresses
        (4, [4112])
    """

    def __init__(self, array: Any, trace: Trace, number: int, begin: int) -> None:
        self._array, self._trace, self._number, self._begin = array, trace, number, begin
        self.shape = array.shape

    def _note(self, index: Any) -> None:
        strides = self._array.strides
        places = index if isinstance(index, tuple) else (index,)
        self._trace.arrays.append(self._number)
        self._trace.addresses.append(self._begin + sum(map(_times, places, strides)))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int) and self._array.ndim == 2:
            row = self._array[index]
            return Watched(row, self._trace, self._number, self._begin + index * row.nbytes)
        self._note(index)
        return self._array[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._note(index)
        self._array[index] = value


def _times(place: Any, stride: int) -> int:
    return int(place) * stride


def watched_call(
    trace: Trace, function: Callable[..., Any], rooms: Sequence[str], *arguments: Any
) -> Any:
    """Run a kernel as plain Python, and watch the arrays that it makes as well.

    Args:
        rooms: the names of these arrays, in the order in which they are made.
    """
    names = iter(rooms)
    plain = cast("Kernel", function).plain

    def made(make: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *shape: trace.watch(f"{plain.__name__}: {next(names)}", make(*shape))

    numpy = {name: getattr(np, name) for name in ("int64", "uint64", "int32", "uint32")}
    space = SimpleNamespace(**numpy, empty=made(np.empty), zeros=made(np.zeros))
    copy = FunctionType(plain.__code__, {**plain.__globals__, "np": space}, plain.__name__)
    return copy(*arguments)


@kernel
def count_misses(lines: Any, arrays: Any, sets: Any, ways: Any, misses: Any) -> None:
    """Add to the misses of each array those of a cache that is empty at first.

    Args:
        lines: int64: the line of each access, in order.
        arrays: int64: the array of each access.
        sets: how many places there are for lines, by their remainder; a power of two.
        ways: how many lines fit into a place; the least recently used one is evicted.
        misses: int64 (arrays,).
    """
    cached = np.full((sets, ways), -1, np.int64)
    used = np.zeros((sets, ways), np.int64)
    for at in range(lines.shape[0]):
        line = lines[at]
        place = line & (sets - 1)
        oldest = 0
        hit = False
        for way in range(ways):
            if cached[place, way] == line:
                used[place, way] = at + 1
                hit = True
                break
            if used[place, way] < used[place, oldest]:
                oldest = way
        if not hit:
            misses[arrays[at]] += 1
            cached[place, oldest] = line
            used[place, oldest] = at + 1


def misses_of(trace: Trace, size: int, ways: int) -> list[int]:
    """The misses of each array in a cache of ``size`` bytes."""
    misses = np.zeros(len(trace.names), np.int64)
    lines = np.array(trace.addresses, np.int64) >> LINE_BITS
    sets = (size >> LINE_BITS) // ways
    expect(len(lines) * ways)
    count_misses(lines, np.array(trace.arrays, np.int64), sets, ways, misses)
    counts: list[int] = misses.tolist()
    return counts


def traced(program: Program, tokens: Tokens) -> tuple[Trace, int]:
    """All accesses of matching all rows, and how many instances there are."""
    rows = len(tokens)
    classes, memory = program.classes.of(tokens.types)
    planes = program.planes
    of_class = None if planes is None else memory.of(classes, planes)
    if planes is None or of_class is None:
        sys.exit("misses: there are no bits for so many rules")
    trace = Trace()
    patterns = trace.watch_fields(program.rules.patterns)
    row_offsets = trace.watch("row_offsets", tokens.row_offsets)
    room = 2 * len(planes.codes) + 200 * len(tokens.type_ids)
    hits = trace.watch("hits", np.zeros(room, np.int64))
    offsets = trace.watch("hit_offsets", np.zeros(rows + 1, np.int64))
    done = watched_call(
        trace,
        scan_rows,
        ("still open", "begun", "left", "kinds", "begins"),
        0,
        rows,
        True,
        row_offsets,
        trace.watch("type_ids", tokens.type_ids),
        trace.watch("Classes.of_type", classes.of_type),
        trace.watch_fields(planes),
        trace.watch_fields(of_class),
        hits,
        offsets,
    )
    total = int(offsets._array[rows])
    count = int(count_instances(hits._array[:total], program.rules.patterns))
    instances = trace.watch("instances", np.zeros((5, count), np.int32))
    made_from = (hits, offsets, 0, patterns, instances, 0)
    watched_call(trace, expand_first, ("present", "waiting"), *made_from)
    expected = search(program, tokens)
    columns = (expected.rules, expected.rows, expected.starts, expected.ends, expected.variants)
    if done != rows or not np.array_equal(instances._array, np.stack(columns)):
        sys.exit("misses: the plain kernels have different instances")
    return trace, count


def table(program: Program, tokens: Tokens) -> list[dict[str, float | int | str]]:
    """For each array and for all: its bytes, the touched lines, accesses, misses."""
    trace, matches = traced(program, tokens)
    lines = np.array(trace.addresses, np.int64) >> LINE_BITS
    owners = np.array(trace.arrays, np.int64)
    accesses = np.bincount(owners, minlength=len(trace.names))
    by_cache = {name: misses_of(trace, *cache) for name, cache in CACHES.items()}
    words, rows = len(tokens.type_ids), []
    for number, name in enumerate(trace.names):
        if accesses[number] >= LEAST_SHARE * len(lines):
            touched = len(np.unique(lines[owners == number])) << LINE_BITS
            counts = {cache: misses[number] for cache, misses in by_cache.items()}
            rows.append((name, trace.sizes[number], touched, int(accesses[number]), counts))
    touched = len(np.unique(lines)) << LINE_BITS
    totals = {cache: sum(misses) for cache, misses in by_cache.items()}
    rows.append(("all", sum(trace.sizes), touched, len(lines), totals))
    return [
        {
            "array": name,
            "bytes": size,
            "touched": touched,
            "accesses_a_token": round(count / words, 3),
            **{f"misses_a_token_{cache}": round(n / words, 4) for cache, n in counts.items()},
            **{f"misses_a_match_{cache}": round(n / matches, 4) for cache, n in counts.items()},
        }
        for name, size, touched, count, counts in rows
    ]


def of_single_variants(rules: Sequence[Rule]) -> Program:
    """The rules without those few that have a word with several spellings, such as *cannot*."""
    program = matching.compiled(rules)
    assert program.planes is not None
    patterns = program.rules.patterns.pattern_of
    return matching.compiled(
        [
            rule
            for rule, pattern in zip(rules, patterns.tolist(), strict=True)
            if pattern < program.planes.several
        ]
    )


def main() -> None:
    """Print the tables and write the record."""
    expect(ENOUGH_TO_COMPILE + 1)
    tokens = matching.tagged_sentences()
    miner = matching.Miner([tokens.row(row) for row in range(len(tokens))])
    some = tokens.select(range(ROWS))
    rows = []
    for count in RULES:
        program = of_single_variants(miner.rules(count))
        search(program, tokens)  # makes all classes known, as after a first batch
        rows += [
            Row(f"{count:,} rules: {figures.pop('array')}", figures)
            for figures in table(program, some)
        ]
    write_record("misses", rows)


if __name__ == "__main__":
    read_options(__doc__)
    main()
