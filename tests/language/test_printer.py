"""Canonical text is read back the same, and printing it again changes nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import rules, rulesets
from test_parser import KEYWORDS

from sears_dsl.errors import RuleSyntaxError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.language.printer import effect_lines, print_rule, rule_called, rule_id
from sears_dsl.language.rule import (
    Anchor,
    AttributeTest,
    Body,
    Element,
    Literal,
    Negation,
    Rule,
    Tag,
    TagCopy,
    Text,
)
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.language.words import KEYWORDS as WORDS_KEYWORDS
from sears_dsl.language.words import begins_statement, objection
from sears_dsl.runtime.files import resource_folder


@settings(deadline=None, max_examples=30)
@given(rulesets())
def test_a_printed_ruleset_is_read_back_the_same(ruleset: Ruleset) -> None:
    text = ruleset.format()
    again = parse(text)
    assert again == ruleset
    assert again.format() == text
    assert again.rule_ids == ruleset.rule_ids


@settings(deadline=None)
@given(rules(depth=2))
def test_a_printed_rule_is_read_back_the_same(rule: Rule) -> None:
    line = print_rule(rule)
    assert parse(line).rules == (rule,)
    assert print_rule(parse(line).rules[0]) == line


@settings(deadline=None)
@given(rules(depth=2))
@example(parse('"and / or" -> or').rules[0])
@example(parse('movie -> "film / \\" / show" / "a / b" __').rules[0])
@example(parse('(/"+/|x) -> x / a __ "b / c"').rules[0])
def test_a_rule_is_called_by_its_sides_without_its_context(rule: Rule) -> None:
    line, sides = print_rule(rule), print_rule(replace(rule, left=(), right=()))
    assert rule_called(line, "r-0123456789") == (sides if line == sides else f"{sides} …")


@pytest.mark.parametrize(
    ("body", "written"),
    [
        (Negation(Literal("movie")), "!movie"),
        (AttributeTest("lemma", "movie"), "lemma=movie"),
        (Negation(AttributeTest("text", "movie")), "!text=movie"),
        (Anchor("start"), "<s>"),
    ],
)
def test_a_clitic_is_no_part_of_what_stands_before_it(body: Body, written: str) -> None:
    elements = (Element(body), Element(Literal("'s"), glued=True))
    line = print_rule(Rule(elements, (Text("x"),)))
    assert line == f"{written} 's -> x"
    assert parse(line).rules[0].antecedent[0] == elements[0]


@pytest.mark.parametrize(
    "element",
    [
        Element(Literal(":"), name="x"),
        Element(Literal("?"), 0, 1),
        Element(AttributeTest("text", "a\u200bb")),
    ],
)
def test_an_element_that_would_read_as_another_is_quoted(element: Element) -> None:
    line = print_rule(Rule((element, Element(Tag("NOUN"))), (Text("x"),)))
    [body, *_] = [each.body for each in parse(line).rules[0].antecedent]
    text = "value" if isinstance(body, AttributeTest) else "text"
    assert getattr(body, text) == getattr(element.body, text)


def test_quoted_text_is_not_glued_to_a_mark_that_may_be_an_operator() -> None:
    elements = (Element(Literal("?")), Element(Literal("x", quoted=True), glued=True))
    assert print_rule(Rule(elements, (Text("y"),))) == '? "x" -> y'


@settings(deadline=None, max_examples=300)
@given(st.text(min_size=1, max_size=6) | st.text(st.sampled_from("aX:'?!/<>$@#~=-_.1"), min_size=1))
@example("X")
@example("AA$0")
@example("rule")
@example("set")
def test_any_literal_is_printed_so_that_it_stays_that_literal(text: str) -> None:
    """It is bare if possible, else quoted, and the rule stays the same."""
    if text != text.strip() or any("\ud800" <= character <= "\udfff" for character in text):
        return
    rule = Rule(
        (Element(Literal(text)), Element(Tag("NOUN"))), (Text(text), TagCopy("NOUN"), Text("."))
    )
    read = parse(print_rule(rule)).rules[0]
    body, piece = read.antecedent[0].body, read.consequent[0]
    assert isinstance(body, Literal)
    assert isinstance(piece, Text)
    assert body.text == piece.text == text
    assert body.quoted == (objection(text, "sequence") is not None)
    assert piece.quoted == (objection(text, "consequent") is not None)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("a   b ->   c", "a b -> c"),
        ("x{0,1} y -> z", "x? y -> z"),
        ("x{1} y -> z", "x y -> z"),
        ("x{2,2} -> z", "x{2} -> z"),
        ("(a  b | c ) -> d", "(a b|c) -> d"),
        ("[ lemma=be&tag != VBZ ] -> is", None),
        ("[lemma = be&tag != VBZ] -> is", "[lemma=be & tag!=VBZ] -> is"),
        (r"/a\/b/i -> c", r"/a\/b/i -> c"),
        ('"\\u0041" b -> c', '"A" b -> c'),
        ("a ->  b  /  x  __", "a -> b / x __"),
        ("WP is -> WP's", "WP is -> WP's"),
        ("is it -> it?", "is it -> it?"),
        ("NUM dollars -> $$1", "NUM dollars -> $$1"),
        ("a -> x$$$1", "a -> x$$$1"),
        ('a -> "x$"$1', 'a -> "x$"$1'),
        ("set -> put", "set -> put"),
        ("option a = b -> c", "option a = b -> c"),
        ("rule book -> rulebook", "rule book -> rulebook"),
        ("NOUN -> $1.typo(25%)NOUN", "NOUN -> $1.typo(25%)NOUN"),
        ('a -> b\n  expect: label "b-2.0"', "a -> b\n  expect: label b-2.0"),
    ],
)
def test_canonical_forms(written: str, canonical: str | None) -> None:
    if canonical is None:
        with pytest.raises(RuleSyntaxError, match="E117"):
            parse(written)
        return
    assert parse(written).format() == canonical + "\n"


def test_rules_from_before_noise_are_read_as_they_were() -> None:
    """Shipped rules, those of the suite and random lines have the ids of that time."""
    corpus = (Path(__file__).parent / "before_noise.jsonl").read_text("utf-8")
    for known in map(json.loads, corpus.rstrip("\n").split("\n")):
        assert list(parse(known["text"]).rule_ids) == known["ids"], known["text"]


def test_comments_and_blank_lines_stay_where_they_were() -> None:
    text = (
        "# top\n\n\n\n# header\nruleset demo 1.0   # name\n\n"
        "rule b:  color -> colour # British\n"
        '  test "color"   =>   "colour"\n'
        "  # about the author\n"
        '\tauthor: "A"    # who\n'
        "    # end of rule\n\n\n"
        "a b -> c\n\n# bottom\n\n"
    )
    expected = (
        "# top\n\n# header\nruleset demo 1.0  # name\n\n"
        "rule b: color -> colour  # British\n"
        "  # about the author\n"
        '  author: "A"  # who\n'
        '  test "color" => "colour"\n'
        "  # end of rule\n\n"
        "a b -> c\n\n# bottom\n"
    )
    assert parse(text).format() == expected
    assert parse(expected).format() == expected
    two = "a -> b\n  # one\n  tags: x\n\nc -> d\n  tags: y  # two\n"
    assert parse(two).format() == two


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["", " ", "# note", "  # indented", "a -> b  # why", "rule x: NOUN it -> it",
             '  test "a" => none # t', "  severity: low", '\ttest "b" => "c"', "# é 😀 \u200d"]
        ),
        max_size=12,
    )
)  # fmt: skip
def test_formatting_twice_is_formatting_once(lines: list[str]) -> None:
    try:
        ruleset = parse("\n".join(lines))
    except RuleSyntaxError:
        return
    once = ruleset.format()
    again = parse(once)
    assert again.format() == once
    assert again.rules == ruleset.rules
    for comment in ("# note", "# indented", "# why"):
        assert once.count(comment) == "\n".join(lines).count(comment)


_WORDS = st.sampled_from((*KEYWORDS, "a", "NOUN", "->", "=", "x", "1", "1.0", '"a"', '"#"', "|"))
_SPACE = st.sampled_from((" ", " ", " ", "  ", "", ": ", ":", " = ", "{1} ", "? ", "#", " # "))


@st.composite
def _keyword_lines(draw: st.DrawFn) -> str:
    """A line with keywords everywhere, most of them as plain words."""
    words = draw(st.lists(st.tuples(_WORDS, _SPACE), min_size=1, max_size=4))
    left = "".join(word + space for word, space in words)
    right = " ".join(draw(st.lists(_WORDS, min_size=1, max_size=3)))
    shape = draw(
        st.sampled_from(
            ("{} -> {}", "rule r: {} -> {}", "set S = {} | {}", "({}|{}) b -> c",
             "a -> b / {} __ {}", "x:({}) -> $x {}",
             '{} -> {}\n  tags: set rule\n  test "rule a" => "set -> b"')
        )
    )  # fmt: skip
    return shape.format(left.strip(), right)


@settings(deadline=None, max_examples=600)
@given(st.lists(_keyword_lines(), min_size=1, max_size=2))
@example(["rule big movie -> film"])
@example(['set it -> "x"'])
@example(["ruleset -> 10"])
@example(["rule? a b -> c"])
@example(['sear 1"x # y" -> b'])
def test_keywords_are_words_wherever_they_can_be(lines: list[str]) -> None:
    try:
        ruleset = parse("\n".join(lines))
    except RuleSyntaxError:
        return
    again = parse(ruleset.format())
    assert again == ruleset
    assert again.format() == ruleset.format()


@settings(deadline=None, max_examples=600)
@given(st.lists(st.sampled_from(KEYWORDS) | st.sampled_from("aX,'"), min_size=1, max_size=4))
def test_rules_of_keywords_are_printed_as_what_they_are(words: list[str]) -> None:
    rule = Rule(tuple(Element(Literal(word)) for word in words), (Text("x y", quoted=True),))
    if "X" not in words:
        assert parse(print_rule(rule)).rules == (rule,)
        named = replace(rule, name="r")
        assert parse(Ruleset((named,)).format()).rules == (named,)


@settings(deadline=None, max_examples=500)
@given(st.lists(st.tuples(_WORDS, _SPACE), min_size=1, max_size=6))
def test_the_printer_knows_the_keywords_of_the_grammar(parts: list[tuple[str, str]]) -> None:
    grammar = (resource_folder("grammar") / "sears.lark").read_text("utf-8")
    terminals = re.findall(r"^(?:_[A-Z]+|RULE_HEAD)\.9:\s+/([a-z].*)/$", grammar, re.MULTILINE)
    terminals = [each for each in terminals if not each.startswith("test")]
    assert len(terminals) == len(WORDS_KEYWORDS)
    line = "".join(word + space for word, space in parts).strip()
    assert begins_statement(line) == any(re.match(each, line) for each in terminals)


FRAGMENTS = (
    *(
        "a",
        "the",
        "NOUN",
        "X",
        "!",
        "?",
        ".",
        ",",
        ":",
        "-",
        "~",
        "_",
        "__",
        "'s",
        "$1",
        "$x",
        "x:",
    ),
    *(" ", " ", " / ", "(", ")", "|", "{0,2}", "[lemma=be]", "lemma=", '"x"', '"?"i', "/r/"),
    *("<s>", "</s>", "<>", ".VBD", "film.as($1)", "# c"),
)


@settings(deadline=None, max_examples=400)
@example(left="a", right='"?"ia')
@example(left="a", right='"?"ié')
@example(left=".?'s", right="a")
@given(
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=6).map("".join),
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=5).map("".join),
)
def test_whatever_can_be_read_keeps_its_meaning_when_printed(left: str, right: str) -> None:
    try:
        ruleset = parse(f"{left} -> {right}".lstrip())
    except RuleSyntaxError:
        return
    again = parse(ruleset.format())
    assert again.rules == ruleset.rules
    assert again.format() == ruleset.format()


def test_what_cannot_be_written_is_refused() -> None:
    rule = Rule((Element(Tag("NOUN")),), (TagCopy("NOUN"), TagCopy("NOUN", glued=True)))
    with pytest.raises(UsageError, match="glued to a tag"):
        print_rule(rule)


def test_an_id_is_the_name_or_a_hash_of_the_canonical_text() -> None:
    plain, named = parse("a  b -> c\nrule x: c -> d").rule_ids
    assert named == "x"
    assert plain == rule_id(parse("a b  ->  c").rules[0])
    assert plain.startswith("r-")
    assert len(plain) == 12
    with_test = parse('a b -> c\n  test "a b" => "c"').rule_ids[0]
    assert with_test == plain


def test_an_id_that_another_rule_declares_is_made_longer() -> None:
    short = rule_id(parse("a -> b").rules[0])
    named, made = parse(f"rule {short}: c -> d\na -> b").rule_ids
    assert named == short
    assert re.fullmatch("r-[0-9a-f]{20}", made)


def test_the_id_that_a_file_gives_stands_for_a_rule_of_more_than_forty_characters() -> None:
    line = "movie -> film".ljust(40, "m")
    assert rule_called(line, "film") == f"{line} (film)"
    assert rule_called(f"{line}m", "film") == "film"
    assert rule_called(f"{line}m", "r-0123456789") == f"{line}m"


def test_the_lines_that_decide_what_a_rule_does_are_told_from_the_others() -> None:
    told = ["expect: flip", "rate: 5%", "seed: 3"]
    other = ["tags: a", 'author: "b"', 'test "c" => none']
    rule = parse("\n  ".join(["movie -> film", *told, *other])).rules[0]
    assert effect_lines(rule.metadata) == told


def test_the_language_of_rules_is_printed() -> None:
    ruleset = parse("option language = pt-BR\nset S = filme | NOUN\n@S -> x / ADJ __")
    assert "option language = pt-BR" in ruleset.format()
    assert parse(ruleset.format()) == ruleset
