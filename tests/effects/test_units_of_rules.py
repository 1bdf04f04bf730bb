"""Rules about sentences see each sentence by itself, whatever applies them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import sears_dsl as sears
from sears_dsl.api.arguments import labelled_rows, predictor_of
from sears_dsl.discovery.known_rules import KnownRules
from sears_dsl.effects.applications import apply_candidates
from sears_dsl.language.loader import parse
from sears_dsl.tagging.fast.fast_tagger import FastTagger
from sears_dsl.vetting.review.explanation import explained
from sears_dsl.vetting.review.workbench import Workbench

OF_SENTENCES = 'option unit = sentence\nrule i-think: <unit> -> "I think" $0.uncap'
OF_TEXTS = "rule film: movie -> film"
ROWS = ["The movie is good. The movie is red.", "A play. It is fun."]
THOUGHT = [
    "I think the movie is good. I think the movie is red.", "I think a play. I think it is fun.",
]  # fmt: skip


@pytest.fixture(scope="module")
def tagger() -> FastTagger:
    return FastTagger()


def test_known_rules_of_both_kinds_stay_in_their_order(tagger: FastTagger) -> None:
    files = {"b": parse(OF_SENTENCES), "a": parse(OF_TEXTS), "c": parse(OF_SENTENCES)}
    known = KnownRules.of(files, tagger=tagger)
    done = known.apply(tagger.tag(ROWS))
    told = [[done.texts[each] for each in done.of_rule(rule)] for rule in range(3)]
    assert told == [THOUGHT, ["The film is good. The movie is red."], THOUGHT]
    assert len(done.texts) == 3, "what two rules write alike is one rewrite"
    mined = apply_candidates([*parse(OF_TEXTS).rules], tagger.tag(ROWS), tagger=tagger)
    assert mined.changed.tolist() == [1]


def test_reviewers_see_what_an_audit_counts(tagger: FastTagger) -> None:
    def model(texts: Sequence[str]) -> list[str]:
        return ["good"] * len(texts)

    data = labelled_rows([{"text": text, "label": "good"} for text in ROWS], text="text",
                         label="label")  # fmt: skip
    rules = parse(OF_SENTENCES)
    bench = Workbench(rules, data, predictor_of(model), tagger=tagger, tokens=tagger.tag(ROWS))
    assert list(bench.table.applications.texts) == THOUGHT
    assert explained(rules.rules[0], rules)[0] == ("<unit>", "the whole sentence")
    audit = sears.audit(model, data=[(text, "good") for text in ROWS], rules=rules, scorer=None)
    assert [each.rewritten for each in audit.document.rules[0].examples] == THOUGHT
