"""How fast a new selection is made after a person rejected a rule, against trying every rule.

In: seeded artificial rules and rows: each rule flips some rows, and few rules flip many, as with
mined rules; each rule also has rewrites, so that there are twins. Out: seconds to select 20 of
10,000 rules after a rejection, with collapsing; seconds of the lazy and of the plain greedy search,
which must select the same rules; how often the sequential filter asks, compared with asking rule
after rule in the order of the rows.

    python -m benchmarks.selecting
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.matching import seconds
from benchmarks.record import Row, read_options, write_record
from sears_dsl.discovery.filtering.paper_filter import allowed_failures, filter_candidates
from sears_dsl.discovery.selection import Coverage, coverage_of, select
from sears_dsl.effects.applications import Applications
from sears_dsl.language.rule import Element, Literal, Rule, Text

RULES, ROWS, SELECTED = 10_000, 800, 20
DELTA = 0.1
RUNS = 5


def world(seed: int = 0) -> tuple[list[Rule], list[str], Applications]:
    """Rules in families: a family changes its rows in one way, and each member some of them."""
    random = np.random.default_rng(seed)
    rules: list[Rule] = []
    texts, rewrites, offsets = [], [], [0]
    numbers: dict[tuple[int, int], int] = {}
    while len(rules) < RULES:
        family = len(rules)
        rows = np.flatnonzero(random.random(ROWS) < random.beta(0.6, 6))
        for _ in range(min(int(random.integers(1, 60)), RULES - len(rules))):
            part = rows[random.random(len(rows)) < random.choice([0.3, 0.7, 1.0])]
            changed = [numbers.setdefault((family, row), len(numbers)) for row in part.tolist()]
            rewrites.extend(changed)
            offsets.append(len(rewrites))
            words = [Element(Literal(f"w{family}"))] * int(random.integers(1, 4))
            rules.append(Rule(tuple(words), (Text(f"v{len(rules)}"),)))
            texts.append(f"rule {len(rules):05}")
    applications = Applications(
        rule_offsets=np.array(offsets),
        rewrites=np.array(rewrites, np.int32),
        rows=np.array([row for _, row in numbers], np.int32),
        texts=[f"row {row} as {family} has it" for family, row in numbers],
        originals=[f"row {row} as it was" for row in range(ROWS)],
    )
    return rules, texts, applications


def plain_greedy(coverage: Coverage, gone: set[int]) -> list[int]:
    """Try every rule in every step."""
    best = np.zeros(coverage.row_count, np.int64)
    left = [rule for rule in range(len(coverage)) if rule not in gone]
    places = [slice(*coverage.offsets[rule : rule + 2].tolist()) for rule in range(len(coverage))]
    chosen: list[int] = []
    while len(chosen) < SELECTED:
        gains = [
            int(np.maximum(coverage.weights[at] - best[coverage.rows[at]], 0).sum())
            for at in (places[rule] for rule in left)
        ]
        rule = max(zip(gains, (-coverage.ranks[left]).tolist(), left, strict=True))[2]
        at = places[rule]
        best[coverage.rows[at]] = np.maximum(best[coverage.rows[at]], coverage.weights[at])
        chosen.append(rule)
        left.remove(rule)
    return chosen


def selecting() -> Row:
    """Time a new selection after a rejection."""
    rules, texts, applications = world()
    random = np.random.default_rng(1)
    flips = random.random(len(applications.texts)) < 0.2
    scores = random.random(len(applications.texts))
    begin = time.perf_counter()
    coverage = coverage_of(rules, texts, applications, flips=flips, scores=scores, tau=0.1)
    prepared = time.perf_counter() - begin
    first = select(coverage, SELECTED)
    rejected = first.rules[:1]
    again = select(coverage, SELECTED, start=first.rules[1:3], excluded=rejected)
    anew = seconds(
        lambda: select(coverage, SELECTED, start=first.rules[1:3], excluded=rejected), RUNS
    )
    gone = {each.rule for each in first.collapsed}
    lazy = seconds(lambda: select(coverage, SELECTED), RUNS)
    begin = time.perf_counter()
    plain = plain_greedy(coverage, gone)
    plain_time = time.perf_counter() - begin
    if plain != list(first.rules) or rejected[0] in again.rules:
        sys.exit("selecting: the lazy and the plain search select different rules")
    return Row(
        f"{SELECTED} of {RULES:,} rules anew after a rejection",
        {
            "milliseconds": round(anew * 1e3, 1),
            "lazy_against_plain": round(plain_time / lazy, 1),
            "flips": len(coverage.rows),
            "collapsed": len(again.collapsed),
            "preparing_seconds": round(prepared, 2),
        },
        at_least="100 ms",
        aim="50 ms",
        reached=anew <= 0.1,
    )


def rule_by_rule(applications: Applications, acceptable: NDArray[np.bool_]) -> int:
    """Questions asked if each rule is decided in turn, in row order, with answers remembered."""
    known = np.zeros(len(acceptable), np.bool_)
    for rule, allowed in enumerate(allowed_failures(applications.changed, DELTA).tolist()):
        rewrites = applications.of_rule(rule)
        failures = int((known[rewrites] & ~acceptable[rewrites]).sum())
        for rewrite in rewrites[~known[rewrites]].tolist():
            if failures > allowed:
                break
            known[rewrite] = True
            failures += not acceptable[rewrite]
    return int(known.sum())


def filtering() -> Row:
    """Count the pairs that the sequential filter and simpler ways ask about."""
    _, _, applications = world()
    random = np.random.default_rng(2)
    family = np.array([int(text.split()[3]) for text in applications.texts])
    rates = random.beta(0.3, 0.9, RULES)
    acceptable = random.random(len(family)) < rates[family]
    every: Sequence[int] = np.unique(applications.rewrites).tolist()
    answers = dict(zip(applications.texts, acceptable.tolist(), strict=True))
    scorer: Any = SimpleNamespace(
        at_least=lambda pairs, _: np.array([answers[text] for _, text in pairs])
    )
    begin = time.perf_counter()
    filtered = filter_candidates(
        applications, np.ones(len(acceptable), np.bool_), scorer=scorer, tau=0.5, delta=DELTA,
        minimum_flips=0,
    )  # fmt: skip
    took = time.perf_counter() - begin
    asked, failures = filtered.asked, applications.count(~acceptable)
    passing = np.flatnonzero(failures <= allowed_failures(applications.changed, DELTA))
    if filtered.passed.tolist() != passing.tolist():
        sys.exit("selecting: the sequential filter decides differently from scoring everything")
    simple = rule_by_rule(applications, acceptable)
    return Row(
        f"pairs scored to filter {RULES:,} rules",
        {
            "ratio": round(asked / len(every), 3),
            "asked": asked,
            "rule_by_rule": simple,
            "all_pairs": len(every),
            "passing": len(passing),
            "seconds_without_scorer": round(took, 2),
        },
        at_least="fewer than rule by rule",
        reached=asked < simple,
    )


def main() -> None:
    """Run both and write the record."""
    write_record("selecting", [selecting(), filtering()])


if __name__ == "__main__":
    read_options(__doc__)
    main()
