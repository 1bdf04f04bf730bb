"""Reading rule files: every example of the language, and no text that can hurt."""

from __future__ import annotations

import re
import string
import time

import fuzz
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sears_dsl.errors import RuleSyntaxError
from sears_dsl.language.loader import parse
from sears_dsl.language.parsing.parser import no_rules, parse_lines
from sears_dsl.language.rule import (
    Anchor,
    AttributeTest,
    Conjunction,
    Element,
    Expectation,
    Group,
    Inflected,
    Literal,
    Metadata,
    Negation,
    Options,
    Reference,
    Regex,
    Rule,
    RuleTest,
    SetReference,
    Tag,
    TagCopy,
    Text,
    Wildcard,
)


def rule(line: str) -> Rule:
    return parse(line).rules[0]


def words(*texts: str) -> tuple[Element, ...]:
    return tuple(Element(Literal(text)) for text in texts)


NOUN, VERB = Element(Tag("NOUN")), Element(Tag("VERB"))

EXAMPLES = {
    "What NOUN -> Which NOUN": Rule(
        (*words("What"), NOUN), (Text("Which"), TagCopy("NOUN"))
    ),
    "WP is -> WP's": Rule(
        (Element(Tag("WP")), *words("is")), (TagCopy("WP"), Text("'s", glued=True))
    ),
    "WP's it -> WP is it": Rule(
        (Element(Tag("WP")), Element(Literal("'s"), glued=True), *words("it")),
        (TagCopy("WP"), Text("is"), Text("it")),
    ),
    "? -> ??": Rule(words("?"), (Text("??"),)),
    "NOUN? VERB -> go": Rule((Element(Tag("NOUN"), 0, 1), VERB), (Text("go"),)),
    "is it </s> -> is it at all": Rule(
        (*words("is", "it"), Element(Anchor("end"))),
        (Text("is"), Text("it"), Text("at"), Text("all")),
    ),
    "is it -> is it?": Rule(
        words("is", "it"), (Text("is"), Text("it"), Text("?", glued=True))
    ),
    "a:NOUN and b:NOUN -> $b and $a": Rule(
        (Element(Tag("NOUN"), name="a"), *words("and"), Element(Tag("NOUN"), name="b")),
        (Reference("b"), Text("and"), Reference("a")),
    ),
    "x:(DET? ADJ{0,2} NOUN) is -> $x's": Rule(
        (
            Element(
                Group(((Element(Tag("DET"), 0, 1), Element(Tag("ADJ"), 0, 2), NOUN),)), name="x"
            ),
            *words("is"),
        ),
        (Reference("x"), Text("'s", glued=True)),
    ),
    "(What|Which) PRP$ -> $1 PRP$": Rule(
        (Element(Group((words("What"), words("Which")))), Element(Tag("PRP$"))),
        (Reference(1), TagCopy("PRP$")),
    ),
    "(?|!) -> .": Rule((Element(Group((words("?"), words("!")))),), (Text("."),)),
    "[lemma=movie & tag!=NNS] -> film.as($1)": Rule(
        (
            Element(
                Conjunction(
                    (AttributeTest("lemma", "movie"), AttributeTest("tag", "NNS", True))
                )
            ),
        ),
        (Inflected("film", 1),),
    ),
    "lemma=be !PROPN -> $1.VBD.cap $2": Rule(
        (Element(AttributeTest("lemma", "be")), Element(Negation(Tag("PROPN")))),
        (Reference(1, ("VBD", "cap")), Reference(2)),
    ),
    "movie -> film / the __ !NOUN": Rule(
        words("movie"), (Text("film"),), words("the"), (Element(Negation(Tag("NOUN"))),)
    ),
    "really -> <>": Rule(words("really"), ()),
    "<> -> also / PRON __ VERB": Rule(
        (), (Text("also"),), (Element(Tag("PRON")),), (VERB,)
    ),
    "is -> ~'s / WP __": Rule(
        words("is"), (Text("'s", glued=True),), (Element(Tag("WP")),)
    ),
    "_ and _ -> $3 and $1": Rule(
        (Element(Wildcard()), *words("and"), Element(Wildcard())),
        (Reference(3), Text("and"), Reference(1)),
    ),
    '"NOUN"i NOUN -> NOUN': Rule(
        (Element(Literal("NOUN", quoted=True, ignore_case=True)), NOUN), (TagCopy("NOUN"),)
    ),
    r"/a\/b+/i NOUN -> NOUN": Rule(
        (Element(Regex("a/b+", ignore_case=True)), NOUN), (TagCopy("NOUN"),)
    ),
    "don't e.g. U.S. 3.5% :) ... - and/or 😀 שלום e\u0301t 's -> x": Rule(
        words("don't", "e.g.", "U.S.", "3.5%", ":)", "...", "-", "and/or", "😀", "שלום",
              "e\u0301t", "'s"),
        (Text("x"),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("line", EXAMPLES)
def test_examples(line: str) -> None:
    assert rule(line) == EXAMPLES[line]


def test_a_whole_file() -> None:
    ruleset = parse(
        "\ufeffsear 1\r\n"
        "ruleset wh-questions 1.2.0  # name\r\n"
        "option case = exact\r\n"
        "option tagset = sears2018\r\n"
        'set WH = What|Which | "who"i\r\n'
        "\r\n"
        "rule wh: @WH NOUN -> Which NOUN\r\n"
        "  expect: label positive\r\n"
        "\tseverity: high\r\n"
        "    tags: vqa wh  # tags\r\n"
        '  author: "A. \\"N\\" # é"\r\n'
        '  test "What/WP color/NN ?" => "Which color ?"\r\n'
        '  test "no" => none'
    )
    assert (ruleset.name, ruleset.version) == ("wh-questions", "1.2.0")
    assert ruleset.options == Options("exact", "en", "sears2018")
    assert ruleset.members(SetReference("WH")) == (
        Literal("What"), Literal("Which"), Literal("who", True, True)
    )  # fmt: skip
    assert ruleset.rules[0].name == "wh"
    assert ruleset.rules[0].metadata == Metadata(
        expect=Expectation("label", "positive"),
        severity="high",
        tags=("vqa", "wh"),
        author='A. "N" # é',
        tests=(RuleTest("What/WP color/NN ?", "Which color ?"), RuleTest("no", None)),
    )


def test_metadata_belongs_to_the_rule_above_with_or_without_an_id() -> None:
    first, second = parse('a -> b\n\n  # note\n  test "a" => "b"\nc -> d').rules
    assert len(first.metadata.tests) == 1
    assert second.metadata == Metadata()


def test_every_error_of_a_file_is_reported_in_order() -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        parse("NUON -> x\nfoo (a -> b\nok x -> y\n  sevrity: low\nNOUN -> NOUN\n")
    found = [(each.span.line if each.span else 0, each.code) for each in caught.value.diagnostics]
    assert found == [(1, "E201"), (2, "E106"), (4, "E212"), (5, "E301")]


def test_a_broken_definition_is_reported_once() -> None:
    for text in ("set WH = What | (\n@WH x -> y\n@WH z -> y", 'import "c.sear as c\n@c.WH x -> y'):
        with pytest.raises(RuleSyntaxError) as caught:
            parse(text)
        assert len(caught.value.diagnostics) == 1


def test_words_that_are_keywords_elsewhere_are_words_in_rules() -> None:
    for word in ("set", "option", "import", "sear", "ruleset", "rule", "template", "label"):
        assert rule(f"{word} -> put").antecedent == words(word)
        assert rule(f"{word} it -> put").antecedent == words(word, "it")


@pytest.mark.parametrize(
    "line",
    [
        "rule big movie -> film",
        "rule  big movie  -> film",
        "rule big movie -> film / the __",
        'rule "big" movie -> film',
        "rule wh:What NOUN -> Which NOUN",
        "rule wh:What -> Which",
    ],
)
def test_a_forgotten_colon_is_reported_in_every_path(line: str) -> None:
    for fast in (True, False):
        [finding] = parse_lines(line, fast=fast).findings
        assert finding.code == "E111"
        told = re.findall("`(.*)`", finding.help)
        assert len(told) == 2
        for text in told:
            assert parse_lines(text).findings == ()
    assert parse_lines("rule x:NOUN -> $x law\nrule movie -> film\nrule{1} a b -> c").findings == ()


KEYWORDS = (
    *("sear", "ruleset", "import", "option", "set", "rule", "template", "label", "test", "expect"),
    *("severity", "tags", "author", "why", "rate", "seed", "as", "none", "same", "flip", "case"),
)
PLAIN = st.lists(
    st.text(st.sampled_from("aBcXI'-."), min_size=1, max_size=4) | st.sampled_from(KEYWORDS),
    min_size=1,
    max_size=4,
).map(" ".join)


@settings(deadline=None)
@given(st.tuples(PLAIN, PLAIN).map(" -> ".join), st.text(st.sampled_from('aé"\\#'), max_size=6))
@example("X -> x", "a")
@example("I am -> Am", 'q" => none')
@example("rule big movie -> film", "a")
def test_plain_lines_mean_the_same_without_the_grammar(line: str, text: str) -> None:
    source = f'{line}\n  test "{text}" => "{text}"\n\ttest "{text}" => none\n'
    fast, slow = parse_lines(source), parse_lines(source, fast=False)
    assert fast == slow
    for one, other in zip(fast.entries, slow.entries, strict=True):
        assert one.node.span == other.node.span


@settings(deadline=None, max_examples=300)
@given(st.text() | st.text(st.sampled_from(string.punctuation + " aXN01\t\n")))
@example("\x00 -> \ud800")
@example('"\\ud800" -> x')
@example("a\u00a0b -> c")
@example("a{99999999999999999999} -> $99999999999999999999999")
@example("$" * 50)
def test_any_text_gives_rules_or_findings(text: str) -> None:
    fuzz.findings(text)


VALID = "\n".join(EXAMPLES) + '\nset A = a | "b"i\n  test "a" => none\noption case = exact\n'


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_a_line_with_a_typing_error_never_surprises_the_parser(data: st.DataObject) -> None:
    line = data.draw(st.sampled_from(VALID.split("\n")))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(line)))
        typed = data.draw(st.sampled_from(["", *string.punctuation, " ", "A", "é", "->", "__"]))
        line = line[:place] + typed + line[place + data.draw(st.integers(0, 2)) :]
    fuzz.findings(line)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32).map(lambda number: fuzz.drawn_file(0, number)))
@example('template "A film."\n  label:\n')
@example("a -> x$$1")
@example("NOUN -> NOUN)")
@example("NOUN -> $1.homoglyph(25%)NOUN")
def test_notation_of_noise_and_templates_in_any_order_gives_rules_or_findings(text: str) -> None:
    fuzz.held(text)


def test_half_of_the_lines_make_a_file_of_rules_and_blank_ones_do_not_count() -> None:
    half = "set A = a\r\n\r\n\r\nid,text\r\n"
    assert no_rules(half, "a.sear", imported=True) is None
    assert no_rules(half + "1,b\r\n", "a.sear", imported=True) is not None
    assert no_rules("id,text\n" * 19, "a.sear") is None  # named by hand
    assert no_rules("id,text\n" * 20, "a.sear") is not None


def test_hostile_lines_are_refused_quickly() -> None:
    started = time.process_time()
    assert fuzz.findings("a" * 1_000_000 + " -> b") == ["E114"]
    assert fuzz.findings("(" * 500 + "a" + ")" * 500 + " -> b") == ["E114"]
    assert fuzz.findings("(" * 9_000 + " -> b") == ["E106"]
    assert fuzz.findings("(a|b)" * 3_000 + " -> b") != []
    assert "E304" in fuzz.findings(" ".join(["(a b|c d){0,8}"] * 400) + " e -> b")
    assert fuzz.findings("(a b|c d){0,999999} e -> b") == ["E305"]
    assert fuzz.findings('"' + "\\" * 19_000 + " -> b") == ["E104"]
    assert fuzz.findings("!" * 19_000 + "a -> b") != []
    assert fuzz.findings("a" + "?" * 19_000 + " -> b") != []
    assert fuzz.findings("a " * 9_000) == ["E102"]
    assert fuzz.findings("a -> b\n  seed: " + "9" * 5_000) == ["E328"]
    assert fuzz.findings("a -> b".ljust(20_000, "b")) == []
    fuzz.findings("set A = " + "a|" * 9_000 + "b\n@A -> x")
    assert time.process_time() - started < 20


def test_characters_that_cannot_be_seen_are_refused_outside_quotes() -> None:
    for character in "\u00a0\u200b\u2028\u3000\ufeff\x00\x7f\x85\u202e":
        assert fuzz.findings(f"a{character}b -> c") == ["E115"]
        if character > "\x9f":
            assert fuzz.findings(f'"a{character}b" -> c  # {character}') == []
    assert fuzz.findings("a -> \ud800") == ["E115"]
    assert fuzz.findings("👩\u200d🚀 -> astronaut") == []
