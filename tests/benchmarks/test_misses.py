"""Cache misses are counted right, on accesses with a known count and on kernels."""

from __future__ import annotations

import random
from collections import OrderedDict

import numpy as np
import pytest

from benchmarks.misses import LEAST_SHARE, Trace, misses_of, table, watched_call
from sears_dsl.engine.compile.program import build_program
from sears_dsl.language.loader import parse
from sears_dsl.runtime.kernels import kernel
from sears_dsl.tagging.pinned import PinnedTagger


def trace_of(*addresses: int) -> Trace:
    """Accesses of one array."""
    return Trace(["a"], [0], [0] * len(addresses), list(addresses))


def test_a_line_is_missed_once_while_it_is_cached() -> None:
    assert misses_of(trace_of(0, 8, 63, 64, 0, 127), 1 << 10, 2) == [2]


def test_walking_through_twice_what_fits_misses_every_line_each_time() -> None:
    lines = [64 * k for k in range(32)]
    assert misses_of(trace_of(*lines, *lines), 1 << 10, 16) == [64]
    assert misses_of(trace_of(*lines, *lines), 1 << 11, 32) == [32]


def test_lines_of_one_place_push_each_other_out() -> None:
    # 1 KiB with one line in each of 16 places: 0 and 1,024 need the same one.
    assert misses_of(trace_of(0, 1024, 0, 1024), 1 << 10, 1) == [4]
    assert misses_of(trace_of(0, 1024, 0, 1024), 1 << 10, 2) == [2]
    assert misses_of(trace_of(0, 1024, 2048, 0), 1 << 10, 2) == [4]  # the one used longest ago


@pytest.mark.parametrize("ways", [1, 2, 4])
def test_misses_are_those_of_a_plain_model(ways: int) -> None:
    draw = random.Random(ways)
    addresses = [draw.randrange(1 << draw.choice((8, 12, 14))) for _ in range(3_000)]
    sets = (1 << 11 >> 6) // ways
    places: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(sets)]
    misses = 0
    for address in addresses:
        line = address >> 6
        place = places[line % sets]
        misses += line not in place
        place.pop(line, None)
        place[line] = None
        if len(place) > ways:
            place.popitem(last=False)
    assert misses_of(trace_of(*addresses), 1 << 11, ways) == [misses]


@kernel
def _running_sums(values: np.ndarray) -> object:  # type: ignore[type-arg]
    sums = np.zeros(values.shape[0], np.int64)
    for at in range(1, values.shape[0]):
        sums[at] = sums[at - 1] + values[at]
    return sums


def test_a_kernel_has_its_accesses_written_down_with_those_of_its_own_arrays() -> None:
    trace = Trace()
    sums = watched_call(
        trace, _running_sums, ("sums",), trace.watch("values", np.arange(100, dtype=np.int32))
    )
    assert sums._array.tolist() == np.cumsum(np.arange(100)).tolist()
    assert trace.names == ["values", "_running_sums: sums"]
    assert np.bincount(trace.arrays).tolist() == [99, 198]
    # 400 bytes are seven lines, 800 are thirteen.
    assert misses_of(trace, 1 << 15, 8) == [7, 13]


def test_the_table_is_of_what_matching_gives_and_names_what_is_read() -> None:
    tagger = PinnedTagger({"movie": ("NOUN", "NN"), "good": ("ADJ", "JJ")})
    ruleset = parse("good movie -> x\nNOUN -> y\nNOUN -> z\n_ _ -> v")
    program, _ = build_program([(ruleset.rules, ruleset)], tagger.split)
    rows = table(program, tagger.tag(["a good good movie", "good", ""] * 20))
    assert {"ClassPlanes.pool", "BitPlanes.codes", "instances", "all"} <= {
        row["array"] for row in rows
    }
    assert all(row["accesses_a_token"] > LEAST_SHARE for row in rows)  # type: ignore[operator]
    everything = rows[-1]
    assert everything["misses_a_token_32 KiB"] >= everything["misses_a_token_32 MiB"]
