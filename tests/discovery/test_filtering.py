"""Sequential verdicts are those of scoring everything, and the evidence is honest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sears_dsl.discovery.filtering.paper_filter import (
    allowed_failures,
    filter_candidates,
)
from sears_dsl.discovery.selection import complete_scores
from sears_dsl.effects.applications import MINED, Applications, apply_candidates
from sears_dsl.effects.flips import flip_p_values, flip_q_values
from sears_dsl.effects.lots import hold_out, lots, together
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.language.loader import parse
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger

TAU = 0.5


class Table:
    """A scorer that looks scores up and remembers what it was asked."""

    name = identity = "table"
    tau = TAU

    def __init__(self, applications: Applications, scores: Sequence[float]) -> None:
        every = applications.pairs(np.arange(len(applications.texts)))
        self.table = dict(zip(every, scores, strict=True))
        self.asked: list[tuple[str, str]] = []
        self.largest = 0

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        self.asked.extend(pairs)
        self.largest = max(self.largest, len(pairs))
        return np.array([self.table[pair] for pair in pairs])

    def at_least(self, pairs: Sequence[tuple[str, str]], tau: float) -> NDArray[np.bool_]:
        return self.scores(pairs) >= tau


def applications_of(rules: Sequence[Sequence[int]], rows: Sequence[int]) -> Applications:
    """Rules given by their rewrites, rewrites by their rows."""
    offsets = np.cumsum([0, *map(len, rules)]).astype(np.int64)
    return Applications(
        rule_offsets=offsets,
        rewrites=np.array([each for rule in rules for each in rule], np.int32),
        rows=np.array(rows, np.int32),
        texts=[f"row {row} rewritten {number}" for number, row in enumerate(rows)],
        originals=[f"row {row} {'x' * (row % 7)}" for row in range(max(rows, default=0) + 1)],
    )


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Applications, NDArray[np.bool_], list[float]]:
    """Rules that share rewrites; which of these flip; their scores."""
    rows = draw(st.integers(1, 25))
    ways = draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    row_of = np.repeat(np.arange(rows), ways)
    rules = []
    for _ in range(draw(st.integers(0, 25))):
        changed = np.flatnonzero(random.random(rows) < random.random())
        rules.append((changed * ways + random.integers(0, ways, len(changed))).tolist())
    flips = random.random(len(row_of)) < draw(st.floats(0, 1))
    low = draw(st.sampled_from([0.0, 0.3, 0.45, 0.49]))
    scores = low + (1 - low) * random.random(len(row_of))
    return applications_of(rules, row_of.tolist()), flips, scores.tolist()


# ---------------------------------------------------------------- verdicts


@settings(deadline=None, max_examples=200)
@given(
    worlds(),
    st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9]),
    st.integers(1, 4),
    st.sampled_from([1, 3, 16, 1024]),
)
def test_verdicts_are_those_of_scoring_everything(
    world: tuple[Applications, NDArray[np.bool_], list[float]],
    delta: float,
    minimum_flips: int,
    batch: int,
) -> None:
    applications, flips, scores = world
    scorer = Table(applications, scores)
    found = filter_candidates(applications, flips, scorer=scorer, tau=TAU, delta=delta,
                              minimum_flips=minimum_flips, batch=batch)  # fmt: skip
    of_enough: set[int] = set()
    for rule in range(applications.rule_count):
        rewrites = applications.of_rule(rule).tolist()
        flipped = sum(bool(flips[each]) for each in rewrites)
        failures = sum(scores[each] < TAU for each in rewrites)
        passes = flipped >= minimum_flips and failures <= delta * len(rewrites) + 1e-9
        assert (rule in found.passed) == passes
        assert found.flips[rule] == flipped
        of_enough.update(rewrites if flipped >= minimum_flips else ())
    assert found.without_stopping == len(of_enough)
    assert not len(found.undecided)
    assert len(scorer.asked) == len(set(scorer.asked)) == found.asked <= found.without_stopping
    assert scorer.largest <= batch


def test_rows_beyond_what_decides_are_not_asked_about() -> None:
    rule = applications_of([range(100)], range(100))
    hopeless, perfect = (
        filter_candidates(rule, np.ones(100, np.bool_), scorer=Table(rule, [score] * 100), tau=TAU,
                          delta=0.1, batch=1)
        for score in (0.0, 1.0)
    )  # fmt: skip
    assert not len(hopeless.passed)
    assert not len(hopeless.undecided)
    assert (hopeless.asked, hopeless.without_stopping) == (11, 100)
    assert perfect.passed.tolist() == [0]
    assert perfect.asked == 90


def test_what_rules_share_is_asked_about_first() -> None:
    rules = [[0, 1], [0, 2], [0, 3], [0, 4]]
    applications = applications_of(rules, [0, 1, 1, 1, 1])
    scorer = Table(applications, [0.0, 1.0, 1.0, 1.0, 1.0])
    found = filter_candidates(
        applications, np.ones(5, np.bool_), scorer=scorer, tau=TAU, minimum_flips=1, batch=1
    )
    assert found.asked == 1
    assert not len(found.passed)
    assert not len(found.undecided)


def test_a_tenth_of_thirty_rows_may_fail() -> None:
    counts = np.arange(1, 200)
    for tenths in range(10):
        allowed = allowed_failures(counts, tenths / 10)
        assert allowed.tolist() == [count * tenths // 10 for count in counts.tolist()]


def test_a_rule_that_the_budget_left_undecided_does_not_pass() -> None:
    applications = applications_of([range(10), range(10, 20)], range(20))
    rounds: list[tuple[int, int, int]] = []
    scorer = Table(applications, [1.0] * 20)
    found = filter_candidates(
        applications,
        np.ones(20, np.bool_),
        scorer=scorer,
        tau=TAU,
        batch=4,
        in_time=lambda: len(rounds) < 2,
        progress=lambda decided, total: rounds.append((decided, total, len(scorer.asked))),
    )
    assert found.undecided.tolist() == [0, 1]
    assert not len(found.passed)
    assert rounds == [(0, 2, 4), (0, 2, 8)]


def test_the_same_run_asks_the_same() -> None:
    random = np.random.default_rng(0)
    rules = [np.flatnonzero(random.random(60) < 0.4).tolist() for _ in range(40)]
    applications = applications_of(rules, range(60))
    scores = random.random(60).tolist()
    flips = np.ones(60, np.bool_)
    asked = []
    for _ in range(2):
        scorer = Table(applications, scores)
        filter_candidates(applications, flips, scorer=scorer, tau=TAU, delta=0.4, batch=8)
        asked.append(scorer.asked)
    assert asked[0] == asked[1]


def test_scores_are_completed_and_asked_for_once() -> None:
    applications = applications_of([[0, 1], [1, 2], [3]], [0, 1, 2, 3])
    scorer = Table(applications, [0.1, 0.2, 0.3, 0.4])
    flips = np.array([True, False, True, True])
    some = complete_scores(applications, [0, 1], scorer=scorer, among=flips)
    assert np.isnan(some).tolist() == [False, True, False, True]
    every = complete_scores(applications, [0, 1], scorer=scorer, scores=some)
    assert every[:3].tolist() == [0.1, 0.2, 0.3]
    assert np.isnan(every[3])
    assert len(scorer.asked) == len(set(scorer.asked)) == 3


# ---------------------------------------------------------------- applications


def test_applications_are_those_of_the_engine() -> None:
    tagger = PinnedTagger()
    rules = parse("a movie -> a film\nmovie -> film\nno -> any\nThe -> A\nmovie -> play").rules
    texts = ["a movie", "The movie", "nothing", "The a movie"]
    done = apply_candidates(rules, tagger.tag(texts), tagger=tagger)
    found = {
        (rule, int(done.rows[each]), done.texts[each])
        for rule in range(len(rules))
        for each in done.of_rule(rule).tolist()
    }
    matcher = compile_rules([Ruleset.from_rules(rules, options=MINED)], tagger=tagger)
    assert found == {(each.rule, each.row, each.text) for each in matcher.apply(texts)}
    assert len(done) == len(found) == 10
    assert len(set(zip(done.rows.tolist(), done.texts, strict=True))) == len(done.texts) == 8
    assert done.changed.tolist() == [2, 3, 0, 2, 3]


@given(worlds())
def test_selected_applications_are_those_of_the_rules(
    world: tuple[Applications, NDArray[np.bool_], list[float]],
) -> None:
    applications, flips, _ = world
    chosen = np.flatnonzero(np.arange(applications.rule_count) % 3 != 1)[::-1]
    part = applications.select(chosen)
    for place, rule in enumerate(chosen.tolist()):
        assert part.of_rule(place).tolist() == applications.of_rule(rule).tolist()
    assert part.count(flips).tolist() == applications.count(flips)[chosen].tolist()


# ---------------------------------------------------------------- evidence


MANY = 1_000_000  # rewordings of which the base rate is as good as certain


def test_a_rule_that_flips_like_any_rewording_is_no_discovery() -> None:
    random = np.random.default_rng(3)
    rows = 200
    applications = applications_of([range(rows), range(rows, 2 * rows)], [*range(rows)] * 2)
    flips = np.concatenate([random.random(rows) < 0.05, random.random(rows) < 0.4])
    p_values = flip_p_values(applications, flips, base_rate=0.05, base_rows=MANY)
    first, second = flip_q_values(applications, p_values)
    assert first > 0.2
    assert second < 1e-6


def test_a_rule_is_not_proven_by_the_row_that_proposed_it() -> None:
    applications = applications_of([[0]], [0])
    flips = np.ones(1, np.bool_)
    base = {"base_rate": 0.01, "base_rows": MANY}
    assert flip_p_values(applications, flips, **base) == [1]
    held = flip_p_values(applications, flips, **base, proposed_here=False)
    assert held == pytest.approx([0.01], rel=1e-3)


def test_p_values_hold_under_the_null_for_rules_that_some_row_proposed() -> None:
    """Few rules look significant that flip like any others, and flip at least once."""
    random = np.random.default_rng(0)
    rules, rows, base_rate = 4_000, 10, 0.05
    flips = random.random(rules * rows) < base_rate
    numbers = np.arange(rules * rows).reshape(rules, rows)
    proposed = flips[numbers].any(axis=1)
    applications = applications_of(numbers[proposed].tolist(), np.tile(range(rows), rules).tolist())
    base = {"base_rate": base_rate, "base_rows": MANY}
    p_values = flip_p_values(applications, flips, **base)
    for level in (0.4, 0.1, 0.01):
        assert (p_values <= level).mean() <= level * 1.15
    naive = flip_p_values(applications, flips, **base, proposed_here=False)
    assert (naive <= 0.1).mean() > 0.15


def test_rules_that_write_the_same_are_one_hypothesis() -> None:
    rules = [[0, 1, 2], [0, 1, 2], [3]]
    applications = applications_of(rules, [0, 1, 2, 3])
    flips = np.array([True, True, True, False])
    p_values = flip_p_values(applications, flips, base_rate=0.1, base_rows=MANY)
    first, second, _ = flip_q_values(applications, p_values)
    assert first == second == pytest.approx(0.01 * 2, rel=1e-3)


def test_a_base_rate_that_was_counted_is_not_taken_for_certain() -> None:
    """H0: rows flip under the rule as under a paraphrase; that rate is itself a count."""
    random = np.random.default_rng(0)
    rules, rows, true_rate, base_rows = 3_000, 30, 0.1, 40
    applications = applications_of(
        np.arange(rules * rows).reshape(rules, rows).tolist(), np.tile(range(rows), rules).tolist()
    )
    flips = random.random(rules * rows) < true_rate
    early = naive = 0.0
    draws = 20
    for _ in range(draws):
        rate = random.binomial(base_rows, true_rate) / base_rows
        counted, certain = (
            flip_p_values(applications, flips, base_rate=rate, base_rows=rows, proposed_here=False)
            for rows in (base_rows, MANY)
        )
        early += (counted <= 0.05).mean() / draws
        naive += (certain <= 0.05).mean() / draws
    assert early <= 0.05
    assert naive > 0.05


def test_without_a_paraphrase_that_keeps_the_meaning_nothing_is_proven() -> None:
    applications = applications_of([[0, 1, 2]], [0, 1, 2])
    flips = np.ones(3, np.bool_)
    assert flip_p_values(applications, flips, base_rate=0.0, base_rows=0) == [1]


TEXTS = [f"sentence {number}" for number in range(1000)]


def test_a_holdout_is_a_split_under_a_seed() -> None:
    found, held = hold_out(TEXTS, seed=0, share=0.3)
    assert sorted([*found.tolist(), *held.tolist()]) == list(range(1000))
    assert 250 < len(held) < 350
    again = hold_out(TEXTS, seed=0, share=0.3)
    assert [part.tolist() for part in again] == [found.tolist(), held.tolist()]
    assert hold_out(TEXTS, seed=1, share=0.3)[1].tolist() != held.tolist()


def test_a_text_is_never_on_both_sides_and_rows_that_come_later_move_none() -> None:
    doubled = [*TEXTS, *(text.upper() + "  " for text in TEXTS)]
    held = set(hold_out(doubled, seed=0, share=0.3)[1].tolist())
    assert held == held & set(range(2000))
    assert {number + 1000 for number in held if number < 1000} == {n for n in held if n >= 1000}
    assert {n for n in held if n < 1000} == set(hold_out(TEXTS, seed=0, share=0.3)[1].tolist())


def test_lots_of_different_purposes_have_nothing_to_do_with_each_other() -> None:
    parts = (lots(TEXTS, "half") * 3).astype(int)
    assert (abs(np.bincount(parts) - 333) < 60).all()
    held = hold_out(TEXTS, seed=0, share=0.3)[1]
    assert (abs(np.bincount(parts[held]) - len(held) / 3) < 40).all()


def test_with_little_time_the_rules_that_flip_most_are_decided() -> None:
    random = np.random.default_rng(1)
    rules = [random.choice(4000, size, replace=False).tolist() for size in [12] * 200 + [40] * 30]
    applications = applications_of(rules, list(range(4000)))
    flips = np.ones(4000, np.bool_)
    scorer = Table(applications, (random.random(4000) < 0.97).tolist())
    whole = filter_candidates(applications, flips, scorer=scorer, tau=TAU)
    rounds = iter([True] * 30 + [False] * 100)
    scorer = Table(applications, list(scorer.table.values()))
    some = filter_candidates(
        applications, flips, scorer=scorer, tau=TAU, in_waves=True, in_time=lambda: next(rounds)
    )
    undecided = set(some.undecided.tolist())
    assert undecided
    assert undecided.isdisjoint(range(200, 230))
    assert set(some.passed.tolist()) == {*whole.passed.tolist()} - undecided
    every = filter_candidates(applications, flips, scorer=scorer, tau=TAU, in_waves=True)
    assert every.passed.tolist() == whole.passed.tolist()
    assert not len(every.undecided) + len(whole.undecided)


def test_rows_of_two_texts_that_share_one_are_on_the_same_side() -> None:
    """Also those that share none with each other, but with a row between them."""
    pairs = [(f"premise {n // 3}", f"hypothesis {n}") for n in range(300)]
    pairs += [(f"Premise  {n}", f"premise {n + 50}") for n in range(50)]
    groups = together(pairs)
    assert len(set(groups)) == 50
    assert all(groups[3 * n] == groups[3 * n + 152] == groups[300 + n] for n in range(50))
    assert together(pairs[::-1]) == groups[::-1]


@pytest.mark.parametrize("shared", ["Is it positive?", "", " "])
def test_a_second_text_that_all_rows_share_does_not_put_them_on_one_side(shared: str) -> None:
    """Nor does a blank one; rows with both texts the same stay together."""
    pairs = [(f"text {n % 100}", shared) for n in range(200)]
    groups = together(pairs)
    assert len(set(groups)) == 100
    assert groups[:100] == groups[100:]
    searched, held = hold_out(groups, seed=0, share=0.3)
    assert 30 < len(held) < 90
    assert len(searched) + len(held) == 200


def test_blank_texts_join_no_rows() -> None:
    pairs = [*((f"a {n}", "") for n in range(10)), *((f"b {n}", f"c {n}") for n in range(300))]
    assert len(set(together(pairs))) == 310
