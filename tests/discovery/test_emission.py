"""The file of a discovery: rules that stand together in it act as they did before."""

from __future__ import annotations

import pytest

from sears_dsl.catalogue import shipped_rulesets
from sears_dsl.discovery.articles import upsets_articles
from sears_dsl.discovery.proposing.synonyms import propose_synonyms
from sears_dsl.discovery.ruleset_text import EmittedRule, emit, is_writable
from sears_dsl.effects.applications import MINED
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.language.loader import load, parse
from sears_dsl.language.printer import print_rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.tagger import load_tagger

ROWS = [
    "The movie isn't good.", "A MOVIE, don't miss it!", "Movie night",
    "I'm sure it is a good film.", "It’s not a film, it's a movie.", "Don’t you think so?",
    "What is the color of the tray?",
    "They do not know.", "I know the good film.",
    "It was really bad; I was not amused.", "We bought 2 dogs and 3 cats.",
    "however, the cast is great", "HOWEVER, THE CAST IS GREAT.", "In my opinion it's dull.",
]  # fmt: skip
MINED_TEXT = """\
option case = exact
movie -> film
Movie -> Film
is not -> isn't
I'm -> I am
it 's -> it is
good -> <> / the __ NOUN
really -> very / (was|is) __ !not
[text=film & tag=NN] -> movie
"""


def emitted(*rulesets: Ruleset, new: Ruleset | None = None) -> tuple[list[EmittedRule], str]:
    tagger = load_tagger("fast")
    rules = [
        EmittedRule(rule, f"n{number}", "flips 1 of 2", (), ())
        for number, rule in enumerate(new.rules if new else ())
    ]
    rules += [
        EmittedRule(rule, name, "flips 1 of 2", (), (), source="a/b", scope=ruleset)
        for ruleset in rulesets
        for name, rule in zip(ruleset.rule_ids, ruleset.rules, strict=True)
    ]
    return rules, emit(rules, name="found", tagger=tagger)


def compared(before: list[Ruleset], text: str) -> None:
    after = parse(text)
    matcher = compile_rules([after], tagger=load_tagger("fast"))
    old = compile_rules(before, tagger=load_tagger("fast"))
    texts = [*ROWS, *(test.text for each in before for rule in each.rules
                      for test in rule.metadata.tests)]  # fmt: skip
    assert [(each.rule, each.row, each.text) for each in matcher.apply(texts)] == [
        (each.rule, each.row, each.text) for each in old.apply(texts)
    ]


def test_new_rules_alone_are_written_with_exact_case() -> None:
    new = parse(MINED_TEXT)
    _, text = emitted(new=new)
    assert "option case = exact" in text
    compared([new], text)


@pytest.mark.parametrize("theme", ["contractions", "synonyms/reviews", "discourse", "questions"])
def test_known_and_new_rules_do_in_one_file_what_they_did_in_theirs(theme: str) -> None:
    known = [load(path) for name, path in shipped_rulesets().items() if name.startswith(theme)]
    new = parse(MINED_TEXT)
    _, text = emitted(*known, new=new)
    assert "option" not in text
    assert "import" not in text
    assert '"movie" -> film' in text
    assert 'author: "known: a/b"' in text
    compared([new, *known], text)


def test_listed_changes_are_written_without_quotes_and_act_in_any_casing() -> None:
    tagger = load_tagger("fast")
    listed = propose_synonyms(tagger.tag(ROWS), tagger=tagger, least=1)
    [candidate] = [each for each in listed.rows if print_rule(each.rule) == "movie -> film"]
    rule = EmittedRule(candidate.rule, "listed", "flips 1 of 2", (), (), scope=candidate.scope)
    text = emit([rule], name="found", tagger=tagger)
    assert "rule listed: movie -> film" in text
    assert "option" not in text
    rewrites = compile_rules([parse(text)], tagger=tagger).apply(ROWS[:3])
    rewritten = ["The film isn't good.", "A FILM, don't miss it!", "Film night"]
    assert [each.text for each in rewrites] == rewritten


def test_sets_of_one_name_and_other_members_get_names_of_their_own() -> None:
    files = [
        parse("set A = x | y\nset B = @A | z\nrule one: a -> b / __ @B"),
        parse("set A = y | x\nrule two: a -> c / __ !@A"),
        parse("set A = x | y\nrule three: a -> d / __ (@A|z)"),
    ]
    _, text = emitted(*files)
    assert parse(text).written_sets.keys() == {"A", "B", "A_2"}
    compared(files, text)


def test_sets_of_imported_files_come_along(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "inner.sear").write_text("set IN = x | y\n", "utf-8")
    (tmp_path / "words.sear").write_text(
        'import "inner.sear" as i\nset OUT = !@i.IN | z\n', "utf-8"
    )
    (tmp_path / "a.sear").write_text(
        'import "words.sear" as w\nrule r: a -> b / __ @w.OUT', "utf-8"
    )
    known = load(tmp_path / "a.sear")
    _, text = emitted(known)
    assert "import" not in text
    compared([known], text)


@pytest.mark.parametrize(
    ("text", "writable"),
    [
        ("movie -> film", True),
        ("DET NOUN is -> it is", True),
        ("option case = exact\nmovie -> film", True),
        ("option case = exact\nset A = movie | play\n@A -> film", True),
        ("option case = exact\nDET NOUN -> it", False),
        ("option case = ignore\nMovie night -> film", True),
        ("option repair = on\nmovie -> film", True),
        ("option repair = on\noption case = exact\na? movie -> $1 old film", True),
        ("option repair = on\noption tagset = sears2018\nmovie -> film", False),
        ("option tagset = sears2018\nmovie -> film", False),
    ],
)
def test_what_one_file_can_hold(text: str, writable: bool) -> None:
    known = parse(text)
    assert is_writable(known.rules[0], known) == writable
    if writable:
        _, file = emitted(known, new=parse("option case = exact\nvery -> really"))
        compared([parse("option case = exact\nvery -> really"), known], file)


def test_rules_of_exact_files_alone_stay_exact() -> None:
    known = parse("option case = exact\nrule x: movie -> film\nrule y: DET NOUN -> it")
    assert known.options == MINED
    _, text = emitted(known)
    assert "option case = exact" in text
    compared([known], text)


def test_a_known_rule_keeps_its_tags_and_those_of_its_tests_that_hold() -> None:
    known = parse(
        'rule x: movie -> film\n  tags: synonym\n  test "A Movie." => "A Film."\n'
        '  test "movies/NOUN/NNS" => none\n'
    )
    _, text = emitted(known)
    rule = parse(text).rules[0]
    assert rule.metadata.tags == ("synonym",)
    assert [test.text for test in rule.metadata.tests] == ["A Movie.", "movies/NOUN/NNS"]


@pytest.mark.parametrize(
    ("rule", "upsets"),
    [
        ("great -> awesome", True),
        ("awesome -> great", True),
        ("[text=great & tag=JJ] -> awesome", True),
        ("great -> awesome / (a|DET) __", True),
        ("great -> awesome / a __ NOUN", True),
        ("great -> awesome / the __", False),
        ("great -> fine", False),
        ("old -> European", True),
        ("is -> was", False),
        ("great film -> <>", True),
        ("a great -> an awesome", False),
        ("a great -> a awesome", True),
        ("an -> an really", True),
        ("an ADJ -> a $2", True),
        ("great -> $1 !", False),
        ("ADJ -> awesome", False),
        ("[lower!=great & pos=ADJ] -> awesome", False),
    ],
)
def test_what_may_leave_a_wrong_article_is_known(rule: str, upsets: bool) -> None:
    assert upsets_articles(parse(rule).rules[0]) == upsets


@pytest.mark.parametrize("known", [False, True])
def test_a_file_mends_the_articles_that_its_new_rules_upset(known: bool) -> None:
    others = [parse("rule x: movie -> film")] if known else []
    _, text = emitted(*others, new=parse("option case = exact\ngreat -> awesome"))
    assert "option repair = on" in text
    rewrites = compile_rules([parse(text)], tagger=load_tagger("fast")).apply(
        ["It is a great day."]
    )
    assert [each.text for each in rewrites] == ["It is an awesome day."]
    _, text = emitted(*others, new=parse("option case = exact\ngreat -> fine"))
    assert "repair" not in text
