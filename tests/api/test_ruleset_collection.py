"""A ruleset is a collection of rules; a matcher can be asked about a text."""

from __future__ import annotations

from pathlib import Path

import pytest

import sears_dsl as sears
from sears_dsl.errors import CompileError, UsageError


def test_rules_are_counted_walked_through_and_found(rules: sears.Ruleset) -> None:
    assert len(rules) == 2
    assert [rule.name for rule in rules] == ["film", "show"]
    assert rules[0] is rules["film"]
    assert rules[-1] is rules["show"]
    assert "film" in rules
    assert rules[0] in rules
    assert "book" not in rules


def test_a_rule_that_is_not_there_is_reported(rules: sears.Ruleset) -> None:
    with pytest.raises(IndexError):
        rules[2]
    with pytest.raises(KeyError, match="'fim'; did you mean 'film'"):
        rules["fim"]
    with pytest.raises(TypeError, match="found by number or id"):
        rules[1.5]  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="not by a bool"):
        rules[[True, False]]
    with pytest.raises(KeyError, match="'fim'; did you mean 'film'"):
        rules[["show", "fim"]]


def test_some_of_the_rules_are_a_ruleset_with_the_same_options() -> None:
    films, plays = "# of films\nmovie -> film\n", "# of plays\nplay -> show\n"
    rules = sears.parse(f"option case = exact\n\n{films}\n{plays}")
    part = rules[:1]
    assert part.format() == f"option case = exact\n\n{films}"
    assert part.options == rules.options
    assert rules[[0]] == part
    turned = rules[[1, 0, 1]]
    assert turned.rules == (rules[1], rules[0])
    assert turned == rules[list(turned.rule_ids)]
    assert sears.parse(turned.format()) == turned
    words = rules.filter(lambda rule: rule == rules[1])
    assert words.format() == f"option case = exact\n\n{plays}"
    assert len(rules.filter(lambda rule: False)) == 0
    with pytest.raises(UsageError, match="filtered by an object of type str"):
        rules.filter("film")  # type: ignore[arg-type]


def test_rulesets_are_added(rules: sears.Ruleset) -> None:
    other = sears.parse("book -> novel")
    both = rules + other
    assert both.rule_ids == (*rules.rule_ids, *other.rule_ids)
    assert sears.parse(both.format()).rules == both.rules
    assert rules + rules == rules
    [record] = sears.apply(["A book."], both)
    assert record["rewritten"] == "A novel."


def test_sets_come_along_when_rulesets_are_added() -> None:
    one = sears.parse("set WH = What | Which\n@WH color -> @WH colour".replace("-> @WH", "-> $1"))
    both = one + sears.parse("set BE = is | are\n@BE not -> isn't")
    assert [each.name for each in both.sets] == ["WH", "BE"]
    assert sears.parse(both.format()).rules == both.rules


def test_what_cannot_be_one_ruleset_is_reported(rules: sears.Ruleset) -> None:
    with pytest.raises(UsageError, match="their options differ"):
        rules + sears.parse("option case = exact\na -> b")
    with pytest.raises(UsageError, match="rule film, differently"):
        rules + sears.parse("rule film: cinema -> film")
    one, other = (sears.parse(f"set A = {word}\n@A x -> y") for word in ("p", "q"))
    with pytest.raises(UsageError, match="set A, differently"):
        one + other
    with pytest.raises(TypeError):
        rules + "movie -> film"  # type: ignore[operator]


def test_a_saved_ruleset_is_the_same(tmp_path: Path, rules: sears.Ruleset) -> None:
    rules.save(tmp_path / "mine.sear")
    assert sears.load(tmp_path / "mine.sear") == rules
    with pytest.raises(UsageError, match=r"mine\.sear"):
        rules.save(tmp_path / "mine.txt")
    with pytest.raises(UsageError, match="an object of type int is not a file"):
        rules.save(5)  # type: ignore[arg-type]


def test_a_list_of_places_holds_no_lists(rules: sears.Ruleset) -> None:
    with pytest.raises(TypeError, match="by number or id, not by a list"):
        rules[[[0]]]  # type: ignore[list-item]


def test_imports_are_not_torn_from_their_files(tmp_path: Path) -> None:
    (tmp_path / "sets.sear").write_text("set A = a\n")
    (tmp_path / "rules.sear").write_text('import "sets.sear" as s\n@s.A x -> y\n')
    rules = sears.load(tmp_path / "rules.sear")
    rules.save(tmp_path / "again.sear")
    assert sears.load(tmp_path / "again.sear").rules == rules.rules
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(UsageError, match=r"imports sets\.sear"):
        rules.save(tmp_path / "elsewhere" / "rules.sear")


def test_a_ruleset_is_shown_in_a_line(rules: sears.Ruleset) -> None:
    assert "2 rules: " in repr(rules)
    assert "movie -> film" in repr(rules)
    assert len(repr(sears.load("synonyms/reviews"))) < 300
    assert repr(sears.parse("")) == "<Ruleset <rules>: 0 rules>"


def test_shipped_rulesets_are_loaded_by_their_names() -> None:
    assert sears.load("synonyms/reviews").rules
    with pytest.raises(UsageError, match="is called synonyms/reviewz"):
        sears.load("synonyms/reviewz")


def test_rules_without_the_sets_that_they_name_are_reported() -> None:
    whole = sears.parse("set FILM = movie | film\n@FILM -> show\nplay -> show")
    with pytest.raises(CompileError, match="the set @FILM, which its ruleset does not have"):
        sears.Ruleset.from_rules(whole.rules).compile()
    some = whole.filter(lambda rule: rule is whole.rules[0])
    assert some.compile()("A movie.")[0].text == "A show."


def test_a_matcher_is_called_with_a_text(rules: sears.Ruleset) -> None:
    matcher = rules.compile()
    [rewrite] = matcher("A movie.")
    assert rewrite.text == "A film."
    with pytest.raises(UsageError, match="an object of type list is not text"):
        matcher(["A movie."])  # type: ignore[arg-type]


def test_rules_of_a_wrong_kind_are_reported(rules: sears.Ruleset) -> None:
    assert sears.compile_rules(rules).rule_ids == rules.rule_ids
    with pytest.raises(UsageError, match="an object of type Rule is not a ruleset"):
        sears.compile_rules([rules[0]])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="an object of type str is not a ruleset"):
        sears.Matcher("movie -> film")  # type: ignore[arg-type]
    assert sears.Matcher(rules).rule_ids == rules.rule_ids
    with pytest.raises(UsageError, match="a single Rule"):
        sears.apply(["A movie."], rules[0])  # type: ignore[arg-type]


def test_a_tagger_may_be_named_wherever_rules_are_compiled() -> None:
    rules = sears.parse('What NOUN -> Which NOUN\n    test "What/PRON/WP x/NOUN/NN" => "Which x"\n')
    texts = ["What/PRON/WP color/NOUN/NN ?"]
    assert rules.compile(tagger="pinned").apply(texts)[0].text == "Which color ?"
    assert sears.apply(texts, rules, tagger="pinned")[0]["rewritten"] == "Which color ?"
    assert [result.outcome for result in sears.run_tests(rules, tagger="pinned")] == ["ok"]
    with pytest.raises(UsageError, match="type int is not a tagger"):
        rules.compile(tagger=3)  # type: ignore[arg-type]


def test_what_is_no_text_is_reported_with_its_place(rules: sears.Ruleset) -> None:
    with pytest.raises(UsageError, match="an object of type NoneType is not text, at position 1"):
        rules.compile().apply(["A movie.", None])  # type: ignore[list-item]


def test_text_is_not_taken_for_rules() -> None:
    with pytest.raises(sears.UsageError, match="'movie -> film' is not a Rule"):
        sears.Ruleset.from_rules(["movie -> film"])  # type: ignore[list-item]
    with pytest.raises(sears.UsageError) as error:
        sears.load("movie -> film")
    assert "in Python, sears.parse('movie -> film')" in error.value.help
