"""What the benchmark of discovery counts as a new rule."""

from __future__ import annotations

from benchmarks.discovery_quality import _texts, was_known
from sears_dsl.discovery.ruleset_text import EmittedRule, emit
from sears_dsl.language.loader import parse
from sears_dsl.tagging.pinned import PinnedTagger


def test_a_known_rule_whose_set_got_another_name_in_the_found_file_is_not_new() -> None:
    rulesets = [parse(f"set WORD = {word} | {word}s\n{word}y @WORD -> $2") for word in ("a", "b")]
    rules = [EmittedRule(parse("movie -> film").rules[0], "film", "", (), ())]
    rules += [
        EmittedRule(each.rules[0], f"known-{number}", "", (), (), source="a/b", scope=each)
        for number, each in enumerate(rulesets)
    ]
    found = parse(emit(rules, name="found", tagger=PinnedTagger({})))
    assert len({definition.name for definition in found.sets}) == 2
    assert [was_known(rule) for rule in found.rules] == [False, True, True]


def test_no_row_was_learned() -> None:
    learned = [("Fine.", "good"), ("Bad.", "bad")]
    others = [("Fine.", "good"), ("Bad.", "good"), ("Dull.", "bad"), ("Fun.", "good")]
    texts = _texts(learned, others, 1, 0)
    assert texts.learned == (["Fine.", "Bad."], ["good", "bad"])
    assert sorted(row["text"] for row, _ in [*texts.rows, *texts.fresh]) == ["Dull.", "Fun."]
