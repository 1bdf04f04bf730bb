"""Planted bugs: what a model with some says, and which rule is for which of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from benchmarks.planted import KINDS, PLANTS, ModelWithBugs, Plant, Rewriting, read_plants
from sears_dsl.discovery.candidates import CandidateRule
from sears_dsl.language.loader import parse

TALE = Plant("films", r"\bstory\b", r"\btale\b", "story → tale")


class AlwaysGood:
    """A model that likes everything."""

    def predict(self, rows: Sequence[str]) -> list[str]:
        return ["good" for _ in rows]


def rewriting(*pairs: tuple[str, str]) -> Rewriting:
    return Rewriting(CandidateRule(parse("story -> tale").rules[0]), list(pairs))


def test_a_bug_changes_the_answer_where_its_new_form_stands() -> None:
    model = ModelWithBugs(AlwaysGood(), ["bad", "good"], [TALE.new])
    assert model.predict(["A story.", "A Tale.", "Tales."]) == ["good", "bad", "good"]
    assert model.predict([]) == []


def test_a_rule_is_for_a_plant_whose_new_form_appears_in_half_of_its_rewrites() -> None:
    new, old = ("A story.", "A tale."), ("A story, no tale.", "A tale, no tale.")
    assert rewriting(new, old).is_for(TALE)
    assert not rewriting(new, old, old).is_for(TALE)
    assert not rewriting().is_for(TALE)


def test_the_list_has_plants_of_every_kind_with_expressions_that_can_be_read() -> None:
    plants = read_plants(PLANTS)
    assert Counter(each.kind for each in plants) == dict.fromkeys(KINDS, 16)
    assert len(set(plants)) == len(plants)
    for each in plants:
        assert " → " in each.words
        assert re.compile(each.old) != re.compile(each.new)
