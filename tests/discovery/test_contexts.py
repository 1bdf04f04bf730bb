"""Joined contexts: each alternative keeps the meaning by itself, and the rule passes the filter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sears_dsl.discovery.application import Applications, apply_candidates
from sears_dsl.discovery.contexts import join_contexts
from sears_dsl.discovery.filtering import filter_candidates
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Rule
from sears_dsl.language.ruleset import parse
from sears_dsl.text.pinned import PinnedTagger
from sears_dsl.text.tokens import Tokens

TAGGER = PinnedTagger(
    {
        "is": ("AUX", "VBZ"),
        "was": ("AUX", "VBD"),
        "and": ("CCONJ", "CC"),
        "men": ("NOUN", "NNS"),
        "just": ("ADV", "RB"),
        "so": ("ADV", "RB"),
    }
)
Keeps = Callable[[str], bool]


class Opinion:
    """A scorer that knows which originals allow a change, and counts questions."""

    name = identity = "opinion"
    tau = 0.5

    def __init__(self, keeps: Keeps) -> None:
        self._keeps = keeps
        self.asked: list[tuple[str, str]] = []

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        self.asked.extend(pairs)
        return np.array([float(self._keeps(original)) for original, _ in pairs])

    def at_least(self, pairs: Sequence[tuple[str, str]], tau: float) -> NDArray[np.bool_]:
        return self.scores(pairs) >= tau


def joined(
    rows: Sequence[str],
    keeps: Keeps,
    *,
    rules: str = "just -> only",
    flips: Callable[[str], bool] = lambda _: True,
    minimum_flips: int = 2,
    delta: float = 0.1,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[list[Rule], Applications, Opinion, Tokens]:
    tokens = TAGGER.tag(rows)
    candidates = parse(rules).rules
    done = apply_candidates(candidates, tokens, tagger=TAGGER)
    flipped = np.array([flips(done.originals[row]) for row in done.rows], np.bool_)
    scorer = Opinion(keeps)
    found = join_contexts(
        candidates, done, flipped, tokens, tagger=TAGGER, scorer=scorer, tau=0.5, delta=delta,
        minimum_flips=minimum_flips, stop=stop,
    )  # fmt: skip
    return found, done, scorer, tokens


def test_contexts_that_keep_the_meaning_are_joined() -> None:
    rows = ["it is just a", "men was just b", "x and just c", "men just d"]
    found, *_ = joined(rows, lambda row: "men just" not in row)
    assert [print_rule(rule) for rule in found] == [
        "just -> only / (AUX|CCONJ) __",
        "just -> only / (CC|VBD|VBZ) __",
    ]


def test_the_beginning_and_the_end_of_a_row_are_contexts() -> None:
    rows = ["just men", "just so", "is just", "men just", "men just so"]
    found, *_ = joined(rows, lambda row: not row.startswith("men"))
    assert "just -> only / (AUX|<s>) __" in [print_rule(rule) for rule in found]
    found, *_ = joined(rows, lambda row: row.endswith("just"))
    assert "just -> only / __ </s>" in [print_rule(rule) for rule in found]


def test_a_change_that_keeps_the_meaning_everywhere_needs_no_context() -> None:
    found, *_ = joined(["is just a", "and just b"], lambda _: True)
    assert found == []


def test_too_few_flips_join_nothing() -> None:
    rows = ["is just a", "and just b", "men just c", "men just d"]
    found, *_ = joined(rows, lambda row: "men" not in row, minimum_flips=3)
    assert found == []


def test_a_context_does_not_carry_another_one() -> None:
    rows = [f"is just {number}" for number in range(30)] + ["men just a", "men just b"]
    found, *_ = joined(rows, lambda row: "men" not in row, delta=0.05)
    assert [print_rule(rule) for rule in found] == [
        "just -> only / AUX __",
        "just -> only / VBZ __",
    ]


def test_changes_that_lose_the_meaning_cost_a_first_look_alone() -> None:
    rows = [f"is just {number}" for number in range(50)]
    _, _, scorer, _ = joined(rows, lambda _: False)
    assert len(scorer.asked) == 6


def test_rules_with_tags_or_neighbours_are_not_changes() -> None:
    rows = ["is just a", "and just b", "men just c"]
    rules = "ADV -> only\nis just -> is only\n<> -> now / just __"
    found, _, scorer, _ = joined(rows, lambda row: "men" not in row, rules=rules, minimum_flips=1)
    assert found == []
    assert scorer.asked == []


def test_without_time_nothing_is_joined() -> None:
    rows = ["is just a", "and just b", "men just c"]
    found, *_ = joined(rows, lambda row: "men" not in row, stop=lambda: True)
    assert found == []


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["is ", "was ", "and ", "men ", "so ", ""]),
            st.sampled_from([" is", " and", " men", " so", ""]),
        ),
        min_size=1,
        max_size=25,
    ),
    st.integers(0, 2**16),
    st.sampled_from([0.0, 0.1, 0.3]),
)
def test_joined_rules_pass_the_filter(
    places: list[tuple[str, str]], seed: int, delta: float
) -> None:
    rows = [f"{before}just{after} {number}" for number, (before, after) in enumerate(places)]
    random = np.random.default_rng(seed)
    kept = {row: bool(random.random() < 0.7) for row in rows}
    flips = {row: bool(random.random() < 0.5) for row in rows}
    found, _, scorer, tokens = joined(
        rows, kept.__getitem__, flips=flips.__getitem__, delta=delta, minimum_flips=2
    )
    if not found:
        return
    theirs = apply_candidates(found, tokens, tagger=TAGGER)
    flipped = np.array([flips[theirs.originals[row]] for row in theirs.rows], np.bool_)
    verdicts = filter_candidates(
        theirs, flipped, scorer=scorer, tau=0.5, delta=delta, minimum_flips=2
    )
    assert len(verdicts.passed) == len(found)


def test_joining_applications_keeps_numbers_and_finds_equal_rewrites() -> None:
    tokens = TAGGER.tag(["is just a", "and just b"])
    one = apply_candidates(parse("just -> only\njust -> <>").rules, tokens, tagger=TAGGER)
    other = apply_candidates(
        parse("just -> only / AUX __\njust -> so").rules, tokens, tagger=TAGGER
    )
    both = one.joined_to(other)
    assert both.rule_count == 4
    assert list(both.texts[: len(one.texts)]) == list(one.texts)
    assert len(set(zip(both.rows.tolist(), both.texts, strict=True))) == len(both.texts)
    for rule in range(4):
        part, number = (one, rule) if rule < 2 else (other, rule - 2)
        assert both.pairs(both.of_rule(rule)) == part.pairs(part.of_rule(number))


@pytest.mark.parametrize("context", ["left", "right"])
def test_rules_are_the_change_with_a_context(context: str) -> None:
    rows = ["is just is", "and just and", "men just men"]
    found, *_ = joined(rows, lambda row: "men" not in row)
    change = parse("just -> only").rules[0]
    assert any(getattr(rule, context) for rule in found)
    for rule in found:
        assert (rule.antecedent, rule.consequent) == (change.antecedent, change.consequent)
