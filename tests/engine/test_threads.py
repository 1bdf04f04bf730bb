"""Threads may share matchers, taggers and their caches: results are as one by one."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import pytest

from sears_dsl.engine.compile.predicates import Regexes
from sears_dsl.language.loader import parse
from sears_dsl.tagging.fast.fast_tagger import FastTagger
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.tagging.tagger import Tagger

Item = TypeVar("Item")
Result = TypeVar("Result")

THREADS = 4


@pytest.fixture(autouse=True)
def _switching_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[Item], Result], parts: Sequence[Sequence[Item]]) -> list[list[Result]]:
    """The result of the work for each item; each part has a thread, and all begin together."""
    ready = threading.Barrier(len(parts))
    results: list[list[Result]] = [[] for _ in parts]
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            ready.wait()
            for item in parts[number]:
                results[number].append(work(item))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


RULES = "\n".join(
    (
        "option case = exact",
        *(f"w{number} -> v{number}" for number in range(300)),
        "/[a-m]+[0-4]/ -> low",
        "/[n-z]+[5-9]/ x -> $1 high",
        "very (good|bad)? -> $1 / __ /[a-f]+/",
        "a -> <>",
        "is not -> isn't",
    )
)


def _batches(thread: int) -> list[list[str]]:
    """Texts that no other thread has, although it has some of their words."""
    chosen = np.random.default_rng(thread)
    batches = []
    for batch in range(12):
        words = [f"t{thread}", f"b{batch}", *(f"w{n}" for n in chosen.integers(0, 300, 8))]
        words += ["a", "very", "good", "film", "is", "not", "x", f"q{thread}{batch}7", "thisw1"]
        batches.append([" ".join(chosen.permutation(words)) for _ in range(20)])
    return batches


@pytest.mark.parametrize("make", [PinnedTagger, FastTagger])
def test_threads_that_share_a_matcher_get_what_one_gets(make: Callable[[], Tagger]) -> None:
    rules = parse(RULES)
    parts = [_batches(number) for number in range(THREADS)]

    def changed(batch: Sequence[str]) -> list[tuple[int, int, str]]:
        return [(done.rule, done.row, done.text) for done in matcher.apply(batch)]

    matcher = rules.compile(tagger=make())
    alone = [[changed(batch) for batch in part] for part in parts]
    for _ in range(3):
        matcher = rules.compile(tagger=make())
        assert at_once(changed, parts) == alone


def test_threads_that_share_regexes_get_what_one_gets() -> None:
    """There are so many texts that the caches are emptied more than once."""
    table = Regexes()
    table.add("a[0-4]+", ignore_case=False)
    table.add("[ab][5-9]+", ignore_case=True)
    parts = [
        [[f"{'abB'[n % 3]}{thread}{batch}{n}" for n in range(15_000)] for batch in range(4)]
        for thread in range(THREADS)
    ]
    plain = [
        [
            [[t[0] == "a" and max(t[1:]) < "5", t[0] in "abB" and min(t[1:]) > "4"] for t in texts]
            for texts in part
        ]
        for part in parts
    ]
    assert at_once(lambda texts: table.match_table(texts).tolist(), parts) == plain


_INFLECTING = """
import sys, threading
from sears_dsl.tagging.inflection import inflect
sys.setswitchinterval(1e-6)
words = ["seem", "film", "go", "see", "run", "take", "make", "find"]
ready, told = threading.Barrier(len(words)), []
def ask(word):
    ready.wait()
    try:
        told.append((word, inflect(word, None, "VBD").forms))
    except BaseException as error:
        told.append((word, repr(error)))
threads = [threading.Thread(target=ask, args=(word,)) for word in words]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(told), "lemminflect" in sys.modules, "spacy" in sys.modules)
"""


def test_threads_may_be_the_first_to_ask_for_inflections() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INFLECTING], capture_output=True, text=True, check=True
    )
    told = [
        ("film", ("filmed",)),
        ("find", ("found",)),
        ("go", ("went",)),
        ("make", ("made",)),
        ("run", ("ran",)),
        ("see", ("saw",)),
        ("seem", ("seemed",)),
        ("take", ("took",)),
    ]
    assert done.stdout.strip() == f"{told} False False"
