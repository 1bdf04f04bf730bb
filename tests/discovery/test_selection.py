"""Selection: lazy equals plain, the guarantee holds, twins are collapsed and reported."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sears_dsl.discovery.selection import Coverage, coverage_of, select
from sears_dsl.effects.applications import apply_candidates
from sears_dsl.errors import UsageError
from sears_dsl.language.loader import parse
from sears_dsl.language.printer import print_rule
from sears_dsl.tagging.pinned import PinnedTagger

ONE = 1 << 40


def coverage_from(scores: Sequence[dict[int, float]], rows: int) -> Coverage:
    """Rules given by their scores on the rows that they flip; none is a twin of another."""
    return Coverage(
        offsets=np.cumsum([0, *map(len, scores)]).astype(np.int64),
        rows=np.array([row for rule in scores for row in rule], np.int32),
        weights=np.array(
            [round(score * ONE) for rule in scores for score in rule.values()], np.int64
        ),
        row_count=rows,
        ranks=np.arange(len(scores))[::-1].copy(),
        twins=((),) * len(scores),
    )


def objective(scores: Sequence[dict[int, float]], rules: Sequence[int], rows: int) -> float:
    """Equation 3, as written."""
    return math.fsum(
        max((scores[rule].get(row, 0.0) for rule in rules), default=0.0) for row in range(rows)
    )


def plain_greedy(coverage: Coverage, size: int, start: Sequence[int]) -> list[int]:
    """Try every rule in every step."""
    chosen = list(start)
    best = [0] * coverage.row_count

    def entries(rule: int) -> list[tuple[int, int]]:
        here = slice(coverage.offsets[rule], coverage.offsets[rule + 1])
        weights = coverage.weights[here].tolist()
        return list(zip(coverage.rows[here].tolist(), weights, strict=True))

    def add(rule: int) -> None:
        for row, weight in entries(rule):
            best[row] = max(best[row], weight)

    for rule in start:
        add(rule)
    while len(chosen) < size:
        gains = [
            (sum(max(0, weight - best[row]) for row, weight in entries(rule)), -rank, rule)
            for rule, rank in enumerate(coverage.ranks.tolist())
            if rule not in chosen
        ]
        gain, _, rule = max(gains, default=(0, 0, -1))
        if gain == 0:
            break
        chosen.append(rule)
        add(rule)
    return chosen


# Few distinct scores, so that ties are common.
tables = st.lists(
    st.dictionaries(st.integers(0, 9), st.sampled_from([0.001, 0.1, 0.3, 0.5, 1.0]), max_size=6),
    min_size=1,
    max_size=9,
)


@given(tables, st.integers(0, 6), st.integers(0, 2))
def test_lazy_greedy_is_plain_greedy_step_by_step(
    scores: list[dict[int, float]], size: int, given_rules: int
) -> None:
    coverage = coverage_from(scores, 10)
    start = list(range(min(given_rules, len(scores), size)))
    found = select(coverage, size, start=start)
    assert list(found.rules) == plain_greedy(coverage, size, start)
    total = objective(scores, found.rules, 10)
    assert sum(found.gains) == pytest.approx(total, abs=1e-9)


@given(tables, st.integers(1, 4))
def test_the_guarantee_against_brute_force(scores: list[dict[int, float]], size: int) -> None:
    coverage = coverage_from(scores, 10)
    found = select(coverage, size)
    best = max(
        objective(scores, rules, 10)
        for rules in combinations(range(len(scores)), min(size, len(scores)))
    )
    assert objective(scores, found.rules, 10) >= (1 - 1 / math.e) * best - 1e-9


@given(tables, st.integers(1, 9))
def test_gains_never_grow_and_are_gains(scores: list[dict[int, float]], size: int) -> None:
    found = select(coverage_from(scores, 10), size)
    assert len(found.rules) == len(set(found.rules)) <= size
    assert all(gain > 0 for gain in found.gains)
    assert list(found.gains) == sorted(found.gains, reverse=True)


@given(tables, st.integers(1, 9))
def test_leaving_a_rule_out_is_selecting_among_the_others(
    scores: list[dict[int, float]], size: int
) -> None:
    coverage = coverage_from(scores, 10)
    out = select(coverage, 1).rules
    without = [{} if rule in out else table for rule, table in enumerate(scores)]
    found = select(coverage, size, excluded=out)
    assert found.rules == select(coverage_from(without, 10), size).rules


def test_places_that_are_left_go_to_certain_rules_that_flip_the_most() -> None:
    coverage = coverage_from(
        [{0: 1.0, 1: 1.0, 2: 1.0}, {0: 1.0}, {0: 1.0, 1: 1.0}, {1: 1.0}, {}], 3
    )
    certain = np.array([True, True, True, False, True])
    assert select(coverage, 4).rules == (0,)
    assert select(coverage, 4, certain=certain).rules == (0, 2, 1)
    assert select(coverage, 4, certain=certain).gains == (3.0, 0.0, 0.0)
    assert select(coverage, 2, certain=certain).rules == (0, 2)
    assert select(coverage, 4, certain=certain, excluded=(2,)).rules == (0, 1)


def test_rules_that_add_something_and_find_no_place_are_counted() -> None:
    coverage = coverage_from([{0: 1.0, 1: 1.0}, {0: 1.0}, {2: 1.0}, {2: 1.0}, {}], 3)
    certain = np.array([False, True, False, False, False])
    assert select(coverage, 1).without_place == (2, 3)
    assert select(coverage, 1, certain=certain).without_place == (1, 2, 3)
    # The second of two rules of the same row adds nothing once the first one is in.
    assert select(coverage, 2).without_place == ()
    assert select(coverage, 2, certain=certain).without_place == (1,)
    assert select(coverage, 3, certain=certain).without_place == ()


def test_a_rule_goes_if_a_part_of_it_flips_its_rows() -> None:
    lines = ("[lower=movie & tag=NN] -> film", "this movie -> the film", "this movie -> our film")
    rules = parse("\n".join(lines)).rules
    texts = ["this movie is fine", "this movie is bad", "a movie"]
    applications = apply_candidates(rules, TAGGER.tag(texts), tagger=TAGGER)
    # Readers like the wider rules better, which is no reason to count the same mistakes again.
    scores = np.array([0.8 if "this" in text else 0.9 for text in applications.texts])

    def selected(flips: NDArray[np.bool_], *, without_wider: bool = True) -> tuple[int, ...]:
        coverage = coverage_of(
            rules, lines, applications, flips=flips, scores=scores, tau=0.5,
            without_wider=without_wider,
        )  # fmt: skip
        return select(coverage, 3, certain=np.ones(3, np.bool_)).rules

    every = np.array(["film is" in text for text in applications.texts])
    assert selected(every) == (0,)
    assert set(selected(every, without_wider=False)) == {0, 1, 2}
    # Where the part does not flip one of the rows, the other rules are other bugs.
    other = every & np.array(["this film is bad" not in text for text in applications.texts])
    assert set(selected(other)) == {0, 1, 2}


@pytest.mark.parametrize(
    "lines",
    [
        ("but -> ~, but", "or -> ~,"),
        # The first changes how often a word is there, which says nothing of the other's new word.
        ("or or -> or", "or or -> or even"),
    ],
)
def test_the_same_words_at_another_place_are_no_part_of_a_change(lines: tuple[str, str]) -> None:
    rules = parse("\n".join(lines)).rules
    texts = [f"they sang or or danced with {each} but went" for each in ("us", "you")]
    applications = apply_candidates(rules, TAGGER.tag(texts), tagger=TAGGER)
    every = np.ones(len(applications.texts), np.bool_)
    coverage = coverage_of(
        rules, lines, applications, flips=every, scores=every.astype(np.float64), tau=0.5,
        without_wider=True,
    )  # fmt: skip
    assert coverage.twins == [[], []]


def test_equal_gains_go_to_the_simpler_rule() -> None:
    coverage = coverage_from([{0: 0.5}, {1: 0.5}, {2: 0.5}], 3)
    assert select(coverage, 2).rules == (2, 1)  # the last is the simplest here


# ---------------------------------------------------------------- twins

TAGGER = PinnedTagger({"movie": ("NOUN", "NN"), "play": ("NOUN", "NN"), "film": ("NOUN", "NN")})


def selected(
    text: str, rows: Sequence[str], size: int = 9, **options: Sequence[int]
) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The selected ones of rules that flip whatever they change, and those collapsed."""
    rules = parse(f"option case = exact\n{text}").rules
    names = [print_rule(rule) for rule in rules]
    done = apply_candidates(rules, TAGGER.tag(rows), tagger=TAGGER)
    every = np.ones(len(done.texts), np.bool_)
    scores = np.full(len(done.texts), 0.5)
    coverage = coverage_of(rules, names, done, flips=every, scores=scores, tau=0.1)
    found = select(coverage, size, **options)
    collapsed = [(names[each.rule], names[each.into], each.reason) for each in found.collapsed]
    return [names[rule] for rule in found.rules], sorted(collapsed)


def test_redundant_inverse_and_more_specific_rules_are_collapsed() -> None:
    rows = ["a movie", "a movie !", "the movie", "my film", "a play"]
    rules = "movie -> film\na movie -> a film\na NN ! -> a film !\nfilm -> movie\nNOUN ! -> film !"
    found, collapsed = selected(rules, rows)
    assert found == ["movie -> film"]
    assert collapsed == [
        ("NOUN ! -> film !", "movie -> film", "more specific"),
        ("a NN ! -> a film !", "movie -> film", "more specific"),
        ("a movie -> a film", "movie -> film", "more specific"),
        ("film -> movie", "movie -> film", "inverse"),
    ]


def test_of_redundant_rules_the_shorter_one_stays() -> None:
    found, collapsed = selected("a movie -> a film\nmovie -> film", ["a movie"])
    assert found == ["movie -> film"]
    assert collapsed == [("a movie -> a film", "movie -> film", "redundant")]
    narrow = "[lower=movie & pos=NOUN] -> film"
    found, collapsed = selected(f"{narrow}\nmovie -> film", ["a movie"])
    assert found == ["movie -> film"]
    assert collapsed == [(narrow, "movie -> film", "redundant")]


def test_of_redundant_rules_a_known_one_stays_though_a_new_one_is_simpler() -> None:
    lines = ("movie -> film", "a movie -> a film", "the movie -> the film")
    rules, every = parse("\n".join(lines)).rules, np.ones(3, np.bool_)
    known = np.array([False, True, True])

    def select_from(*rows: str) -> tuple[list[str], list[tuple[str, str]]]:
        done = apply_candidates(rules, TAGGER.tag(rows), tagger=TAGGER)
        coverage = coverage_of(rules, lines, done, flips=every, scores=np.ones(3), tau=0.1,
                               known=known)  # fmt: skip
        found = select(coverage, 3)
        return ([lines[rule] for rule in found.rules],
                [(lines[each.rule], lines[each.into]) for each in found.collapsed])  # fmt: skip

    assert select_from("a movie", "a movie .") == (
        ["a movie -> a film"], [("movie -> film", "a movie -> a film")],
    )  # fmt: skip
    # Where a known rule does not write all of it, the new one says more.
    assert select_from("a movie", "the movie", "my movie") == (
        ["movie -> film"],
        [("a movie -> a film", "movie -> film"), ("the movie -> the film", "movie -> film")],
    )


def test_inverse_in_other_words_around_it() -> None:
    found, collapsed = selected(
        "NOUN movie -> NOUN film\nfilm ! -> movie !", ["play movie", "film movie", "film !"]
    )
    assert found == ["NOUN movie -> NOUN film"]
    assert collapsed == [("film ! -> movie !", "NOUN movie -> NOUN film", "inverse")]


@pytest.mark.parametrize(
    ("rule", "is_inverse"),
    [
        ("film -> movie / DET __", True),  # a condition on what stands around it
        ('"film" -> movie', True),
        ("[lower=film & tag=NN] -> movie", False),  # a condition on the word that it replaces
        ("Film -> Movie", False),
    ],
)
def test_rules_undo_each_other_where_they_exchange_the_same_words(
    rule: str, is_inverse: bool
) -> None:
    rows = ["a movie", "the movie", "my movie", "a film", "a Film"]
    found, collapsed = selected(f"movie -> film\n{rule}", rows)
    assert found == ["movie -> film"] + ([] if is_inverse else [rule])
    assert [reason for _, _, reason in collapsed] == (["inverse"] if is_inverse else [])


def test_a_word_is_not_the_tag_that_it_is_spelled_like() -> None:
    found, collapsed = selected('movie -> "NOUN"\nNOUN -> movie', ["movie", "play"])
    assert len(found) == 2
    assert not collapsed


def test_rules_that_change_spaces_alone_undo_nothing() -> None:
    rules = "! -> ~!\n, -> ~,"
    assert selected(rules, ["a movie !", "a film , too"]) == (rules.splitlines(), [])


def test_what_undoes_a_rule_counts_with_it_only_where_that_one_is_selected() -> None:
    coverage = coverage_from([{0: 1.0}, {1: 1.0}, {2: 1.0, 3: 1.0}], 4)
    coverage = replace(coverage, twins=(((1, "inverse"),), (), ()))
    assert select(coverage, 1).with_inverses == (2,)
    assert select(coverage, 2).with_inverses == (2, 1, 0)


def test_rules_that_write_something_else_are_no_twins() -> None:
    found, collapsed = selected("movie -> film\na movie -> a play", ["a movie", "the movie"])
    assert found == ["movie -> film"]  # the other one adds nothing, but it is no twin
    assert not collapsed


def test_a_rejection_brings_back_what_was_collapsed() -> None:
    rows = ["a movie", "a movie !", "the movie", "my film"]
    rules = "movie -> film\na movie -> a film\nfilm -> movie"
    assert selected(rules, rows)[0] == ["movie -> film"]
    found, collapsed = selected(rules, rows, excluded=(0,))
    # If two rules undo each other, the one that covers more stays.
    assert found == ["a movie -> a film"]
    assert collapsed == [("film -> movie", "a movie -> a film", "inverse")]
    found, collapsed = selected(rules, rows, excluded=(0, 1))
    assert (found, collapsed) == (["film -> movie"], [])


def test_what_a_person_accepted_stays_and_collapses_its_twins() -> None:
    rows = ["a movie", "a movie !", "the movie", "my film"]
    rules = "movie -> film\na movie -> a film\nfilm -> movie"
    found, collapsed = selected(rules, rows, start=(2,))
    assert found == ["film -> movie"]
    assert collapsed == [
        ("a movie -> a film", "film -> movie", "inverse"),
        ("movie -> film", "film -> movie", "inverse"),
    ]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(["a", "b", "c", "NOUN"]), min_size=2, max_size=4), st.data())
def test_what_goes_adds_nothing_to_what_stays(sides: list[str], data: st.DataObject) -> None:
    """A rule that is collapsed as redundant or more specific would add nothing to the other."""
    texts = {f"{left} -> x{right}" for left in sides for right in sides}
    texts |= {f"{left} {right} -> {left} y" for left in sides for right in sides}
    rules = parse("option case = exact\n" + "\n".join(sorted(texts))).rules
    rows = data.draw(st.lists(st.text("ab c", min_size=1, max_size=8), min_size=1, max_size=8))
    done = apply_candidates(rules, TAGGER.tag(rows), tagger=TAGGER)
    random = np.random.default_rng(len(rows))
    flips = random.random(len(done.texts)) < 0.6
    scores = random.random(len(done.texts))
    names = [print_rule(rule) for rule in rules]
    coverage = coverage_of(rules, names, done, flips=flips, scores=scores, tau=0.2)
    for rule, into, reason in ((e.rule, e.into, e.reason) for e in select(coverage, 3).collapsed):
        if reason != "inverse":
            assert set(done.of_rule(rule)) <= set(done.of_rule(into))
            assert select(coverage, 2, start=(into, rule)).gains[1] == 0


# ---------------------------------------------------------------- coverage


def test_only_flips_that_keep_the_meaning_count() -> None:
    rules = parse("movie -> film").rules
    texts = ["a movie", "the movie", "my movie", "our movie"]
    done = apply_candidates(rules, TAGGER.tag(texts), tagger=TAGGER)
    coverage = coverage_of(
        rules,
        ["movie -> film"],
        done,
        flips=np.array([True, True, False, True]),
        scores=np.array([0.5, 0.05, np.nan, 0.125]),
        tau=0.125,
    )
    found = select(coverage, 3)
    assert found.gains == (0.625,)
    assert coverage.covered(found.rules).tolist() == [True, False, False, True]


def test_a_flip_that_was_not_scored_is_refused() -> None:
    rules = parse("movie -> film").rules
    done = apply_candidates(rules, TAGGER.tag(["a movie"]), tagger=TAGGER)
    flips, missing = np.array([True]), np.array([np.nan])
    with pytest.raises(UsageError, match="has no score"):
        coverage_of(rules, ["movie -> film"], done, flips=flips, scores=missing, tau=0.1)
