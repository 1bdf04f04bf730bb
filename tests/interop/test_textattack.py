"""Rules as a TextAttack transformation: candidates, constraints, and the maps of words."""

from __future__ import annotations

import importlib
import importlib.util
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl import parse
from sears_dsl.errors import UsageError
from sears_dsl.interop.textattack import align_words, rule_transformation
from sears_dsl.tagging.pinned import PinnedTagger

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8)
RULES = parse("rule film: movie -> film\nrule short: really -> <>\nrule long: fun -> a lot of fun")


@pytest.fixture
def attacked(packages_from: Callable[[str], None]) -> Callable[..., Any]:
    packages_from("fakes")
    text: Callable[..., Any] = importlib.import_module(
        "textattack.shared.attacked_text"
    ).AttackedText
    return text


@given(WORDS, WORDS)
def test_an_alignment_accounts_for_every_word(before: list[str], after: list[str]) -> None:
    found = align_words(before, after)
    kept = [place for place in found.new_of.tolist() if place >= 0]
    assert kept == sorted(set(kept))
    for old, new in enumerate(found.new_of.tolist()):
        if new >= 0 and new not in found.changed:
            assert before[old] == after[new]
        else:
            assert old in found.touched
    assert found.changed | set(kept) == set(range(len(after)))


@given(WORDS)
def test_equal_texts_have_nothing_changed(words: list[str]) -> None:
    found = align_words(words, words)
    assert not found.changed
    assert not found.touched
    assert found.new_of.tolist() == list(range(len(words)))


def _made(rules: Any = RULES, **options: Any) -> Any:
    return rule_transformation([rules], tagger=PinnedTagger(), **options)


def test_rules_that_change_the_label_attack_nobody(attacked: Callable[..., Any]) -> None:
    mixed = parse("rule bad: good -> bad\n  expect: flip\nrule film: movie -> film")
    candidates = _made(mixed)(attacked("A good movie."))
    assert [each.text for each in candidates] == ["A good film."]
    with pytest.raises(UsageError, match="all of these rules change the label"):
        _made(parse("good -> bad\n  expect: label negative"))


def test_each_rule_gives_its_first_rewrite(attacked: Callable[..., Any]) -> None:
    candidates = _made()(attacked("A really fun movie, no movie."))
    assert [candidate.text for candidate in candidates] == [
        "A really fun film, no movie.",
        "A fun movie, no movie.",
        "A really a lot of fun movie, no movie.",
    ]
    assert [each.attack_attrs["sears_rule"] for each in candidates] == ["film", "short", "long"]


def test_every_instance_is_a_candidate_of_its_own(attacked: Callable[..., Any]) -> None:
    candidates = _made(instances="every")(attacked("movie, movie"))
    assert [candidate.text for candidate in candidates] == ["film, movie", "movie, film"]


def test_words_that_may_not_be_modified_stay(attacked: Callable[..., Any]) -> None:
    text = attacked("A really fun movie")
    assert [each.text for each in _made()(text, indices_to_modify=[3])] == ["A really fun film"]
    assert _made()(text, indices_to_modify=[0]) == []


def test_the_history_says_where_the_original_words_are(attacked: Callable[..., Any]) -> None:
    first = next(
        each for each in _made()(attacked("A really fun movie")) if "film" in each.text
    )  # fmt: skip
    second = next(each for each in _made()(first) if "really" not in each.text)
    assert second.text == "A fun film"
    assert second.attack_attrs["original_index_map"].tolist() == [0, -1, 1, 2]
    assert second.attack_attrs["modified_indices"] == {2}
    assert second.attack_attrs["newly_modified_indices"] == set()
    assert second.attack_attrs["previous_attacked_text"] is first
    third = next(each for each in _made()(second) if "a lot" in each.text)
    assert third.attack_attrs["original_index_map"].tolist() == [0, -1, 4, 5]
    assert third.attack_attrs["modified_indices"] == {1, 2, 3, 5}


def test_a_text_may_lose_its_last_word(attacked: Callable[..., Any]) -> None:
    rules = parse('movie -> <>\n"!" -> "?"')
    [bare, *_] = _made(rules)(attacked("movie!"))
    assert bare.text == "!"
    [other] = _made(rules)(bare)
    assert other.attack_attrs["original_index_map"].tolist() == [-1]


def test_a_word_is_not_modified_twice_under_such_a_constraint(
    attacked: Callable[..., Any],
) -> None:
    def untouched(text: Any, _: object) -> set[int]:
        return set(range(len(text.words))) - text.attack_attrs["modified_indices"]

    rules = parse("rule there: movie -> film\nrule back: film -> movie")
    [once] = _made(rules)(attacked("a movie"))
    assert _made(rules)(once, [untouched]) == []


def test_columns_are_rewritten_one_at_a_time(attacked: Callable[..., Any]) -> None:
    text = attacked(OrderedDict(premise="fun movie", hypothesis="a movie"))
    candidates = _made(parse("rule film: movie -> the film"))(text)
    assert [candidate.tokenizer_input for candidate in candidates] == [
        ("fun the film", "a movie"),
        ("fun movie", "a the film"),
    ]
    assert candidates[0].attack_attrs["original_index_map"].tolist() == [0, 1, 3, 4]
    assert candidates[1].attack_attrs["modified_indices"] == {3, 4}
    assert np.array_equal(text.attack_attrs["original_index_map"], np.arange(4))


def test_it_says_what_it_is(attacked: Callable[..., Any]) -> None:
    assert attacked is not None
    made = _made()
    assert made.extra_repr_keys() == ["rules", "instances"]
    assert (made.rules, made.instances) == (3, "first")


def test_unknown_instances_are_refused() -> None:
    with pytest.raises(UsageError, match="choose 'first' or 'every'"):
        _made(instances="last")


def test_without_the_package_an_error_says_what_to_install() -> None:
    if importlib.util.find_spec("textattack") is not None:
        pytest.skip("TextAttack is installed here")
    with pytest.raises(UsageError, match="TextAttack is not installed") as caught:
        _made()
    assert "pip install textattack" in caught.value.help
