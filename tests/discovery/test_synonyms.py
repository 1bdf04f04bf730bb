"""Listed changes: what readers accepted, proposed where enough rows have the words."""

from __future__ import annotations

from sears_dsl.discovery.proposing.synonyms import propose_synonyms, synonyms
from sears_dsl.language.printer import print_rule
from sears_dsl.tagging.tagger import load_tagger
from training.synonyms import accepted_changes

_ROWS = (
    "They assist us.",
    "We assist them.",
    "Assist two of them.",
    "Assist none of them.",
    "A tiny plan.",
)


def test_a_listed_change_is_proposed_where_enough_rows_have_its_words() -> None:
    tagger = load_tagger("fast")
    tokens = tagger.tag(_ROWS)
    proposed = propose_synonyms(tokens, tagger=tagger, least=2)
    assert {text: row.support for text, row in zip(proposed.texts, proposed.rows, strict=True)} == {
        "assist -> help": 2,
        "Assist -> Help": 2,
    }
    assert "tiny -> small" in propose_synonyms(tokens, tagger=tagger, least=1).texts


def test_what_paraphrases_propose_already_is_left_out() -> None:
    tagger = load_tagger("fast")
    proposed = propose_synonyms(
        tagger.tag(_ROWS), tagger=tagger, least=2, without={"assist -> help"}
    )
    assert proposed.texts == ("Assist -> Help",)


def test_the_list_is_what_readers_accept() -> None:
    listed = [print_rule(rule) for rule in synonyms()]
    accepted = accepted_changes()
    assert listed[: len(accepted)] == accepted
    assert len(listed) == len(set(listed))
