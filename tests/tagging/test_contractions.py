"""Contractions in every casing and with every apostrophe, as rules meet them in raw text."""

from __future__ import annotations

from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import LAW

from sears_dsl.catalogue import load_rulesets
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.matches import Edit, apply_edits
from sears_dsl.engine.reference import find
from sears_dsl.engine.rewrite.renderer import Renderer, render_untouching
from sears_dsl.errors import CompileError, RuleSyntaxError
from sears_dsl.language.loader import parse
from sears_dsl.rule_tests import run_tests
from sears_dsl.tagging.fast.cutting import shipped_tables
from sears_dsl.tagging.tagger import Tagger, load_tagger
from sears_dsl.tagging.tokens import Token, Tokens, contraction, cut_contractions


@lru_cache(maxsize=2)
def tagger(name: str = "fast") -> Tagger:
    return load_tagger(name)


def applied(rules: str, text: str, name: str = "fast") -> str:
    """What the engine gives, with and without prefilter, and what the reference gives."""
    ruleset = parse(rules)
    matcher = compile_rules([ruleset], tagger=tagger(name))
    results = {
        rewrites[0].text if (rewrites := matcher.apply([text], prefilter=quick)) else text
        for quick in (True, False)
    }
    [(_, tokens)] = matcher.prepare([text], prefilter=False)
    row = tokens.row(0)
    bindings = find(ruleset.rules[0], ruleset, row, split=tagger(name).split)
    edits, _ = render_untouching(Renderer(ruleset.rules[0], ruleset), text, row, bindings)
    assert results == {apply_edits(text, edits)}
    return results.pop()


MET = [
    ("don't -> do not", "DON'T GO", "DO NOT GO"),
    ("don't -> do not", "DON’T GO", "DO NOT GO"),
    ("don't -> do not", "Don’t go", "Do not go"),
    ("don't -> do not", "I donʼt go", "I do not go"),
    ("don't -> do not", "DOn't go", "Do not go"),
    ("don’t -> do not", "don't go", "do not go"),
    ("don't -> do not", "I DON'T.", "I DO NOT."),
    ("don't -> do not", "(DON’T.)", "(DO NOT.)"),
    ("don't . -> do .", "I DON'T. OK", "I DO. OK"),
    ("i'm -> i am", "HERE I'M.", "HERE I AM."),
    ("it's -> it is", "SO IT'S.", "SO IT IS."),
    ("let's -> let us", "LET'S.", "LET US."),
    ("can't -> cannot", "I CAN'T go", "I CANNOT go"),
    ("cannot -> can not", "CANNOT", "CAN NOT"),
    ("i'm -> i am", "I'M HERE", "I AM HERE"),
    ("I'm -> you are", "well, I’m here", "well, you are here"),
    ("it's -> it is", "IT'S and IT’S", "IT IS and IT’S"),
    ("they're -> they are", "they’re", "they are"),
    ("gonna -> going to", "GONNA", "GOING TO"),
    ("dont -> do not", "DONT GO", "DO NOT GO"),
    ("id -> card", "my ID", "my CARD"),
    ("mr. smith -> he", "Mr. Smith", "He"),
    ("option case = ignore\nDon't -> do not", "DON’T", "DO NOT"),
    ("we don't go -> we stay", "WE DON'T GO", "WE STAY"),
    ("(don't|won't) go -> stay", "I WON’T GO", "I STAY"),
    ("go -> run / don't __", "DON'T go", "DON'T run"),
    ("go -> run / __ if you can't", "go IF you CAN’T", "run IF you CAN’T"),
    ("x:don't go -> $x run", "DON’T go", "DON’T run"),
    ("(do|does) n't -> $1 not", "HE DOESN'T", "HE DOES NOT"),
    ("PRP MD n't VB -> $1 $2 not $4", "I CAN'T go", "I CA not go"),
    ("set NOT = n't | not\ncan @NOT -> must not", "CANNOT", "MUST NOT"),
    ("set NOT = n't | never\ndo @NOT -> $1 not", "DON’T", "DO NOT"),
    ("do !never -> must not", "DON'T go", "MUST NOT go"),
    ('"don\'t"i -> do not', "DON'T", "DO NOT"),
    ("don't{2} -> stop", "DON'T don’t", "Stop"),
]
NOT_MET = [
    ('"don\'t" -> x', "DON'T don’t"),
    ('"don\'t"i -> x', "don’t"),
    ("option case = exact\ndon't -> x", "DON'T don’t Don't"),
    ("Don't -> x", "DON'T don't"),
    ("do !n't -> x", "DON'T DON’T"),
    ("' -> x", "‘so’"),
]


@pytest.mark.parametrize("name", ["fast", "spacy"])
@pytest.mark.parametrize(("rules", "text", "expected"), MET)
def test_a_contraction_is_met_in_every_spelling(
    rules: str, text: str, expected: str, name: str
) -> None:
    assert applied(rules, text, name) == expected


@pytest.mark.parametrize(("rules", "text"), NOT_MET)
def test_what_names_its_spelling_is_not_met_in_another(rules: str, text: str) -> None:
    assert applied(rules, text) == text


def test_exact_rules_find_contractions_in_capitals_as_they_are() -> None:
    rules = 'option case = exact\n"DON\'T" go -> "DO NOT" go'
    assert applied(rules, "DON'T go don't go") == "DO NOT go don't go"


def test_a_place_for_one_token_refuses_a_contraction_in_every_casing() -> None:
    for word in ("don't", '"DON\'T"'):
        ruleset = parse(f"set S = {word}\n@S -> x")
        with pytest.raises(RuleSyntaxError, match="2 tokens"):
            compile_rules([ruleset], tagger=tagger())
        row = [Token("x", "", "", 0, 1)]
        with pytest.raises(CompileError, match="several tokens"):
            find(ruleset.rules[0], ruleset, row, split=tagger().split)


def test_shipped_contractions_fire_in_capitals() -> None:
    matcher = compile_rules(load_rulesets(["contractions/expand"]), tagger=tagger())
    texts = ["I CAN'T go", "WE DON’T KNOW", "THEY'RE LATE", "THE FILM ISN'T BAD."]
    done = {rewrite.row: rewrite.text for rewrite in matcher.apply(texts)}
    expected = ["I CANNOT go", "WE DO NOT KNOW", "THEY ARE LATE", "THE FILM IS NOT BAD."]
    assert done == dict(enumerate(expected))


def test_contractions_are_cut_as_their_lower_case_is() -> None:
    """Even those that the tokenizer leaves whole in capitals, except a few oddities."""
    words = {word.lower() for word in shipped_tables("en").specials if set(word) & set("'’")}
    words |= {"cannot", "gonna", "gotta"}
    split = tagger().split
    whole = {word for word in words if len(split(word.upper())) == 1 < len(split(word))}
    cut = {word for word in whole if len(contraction(word.upper())) > 1}
    assert {word.replace("’", "'") for word in whole - cut} == {"c'mon", "how'd'y", "i'ma", "y'all"}
    for word in cut:
        assert contraction(word.upper()) == tuple(map(str.upper, split(word)))
    stopped = {word.lower() for word in shipped_tables("en").specials if word[-2:-1] in ("'", "’")}
    stopped = {word + "." for word in stopped if len(split(word.upper() + ".")) == 1}
    assert {"don't.", "i'm.", "it's."} < stopped
    for word in stopped - {"how'd'y.", "how’d’y."}:
        assert contraction(word.upper()) == tuple(map(str.upper, split(word))), word


def test_tags_of_other_tokens_stay() -> None:
    texts = ["I CAN'T go", "", "none", "DON'T I'VE"]
    tagged = tagger().tag(texts)
    cut = cut_contractions(tagged)
    assert [[token.text for token in cut.row(row)] for row in range(4)] == [
        ["I", "CA", "N'T", "go"], [], ["none"], ["DO", "N'T", "I", "'VE"],
    ]  # fmt: skip
    assert cut.row(0)[0] == tagged.row(0)[0]
    assert cut.row(0)[-1] == tagged.row(0)[-1]
    for row, text in enumerate(texts):
        assert all(text[token.start : token.end] == token.text for token in cut.row(row))
    assert cut_contractions(tagged.select([1, 2])).texts == ["", "none"]
    plain = cut_contractions(tagger().tokenize(["CAN'T"]))
    assert [token.fine for token in plain.row(0)] == ["", ""]


WORDS = st.sampled_from(
    (
        "don't",
        "DON'T",
        "DON’T",
        "DON'T.",
        "dOn't",
        "cannot",
        "CANNOT",
        "I'M",
        "i’m",
        "go",
        "n't",
        "N’T",
        "ID",
    )
)
RULES = (
    "don't -> do not", "do n't -> do not", "n't -> not", "(don't|cannot)? go -> stay",
    "go -> run / !n't __", "i'm{1,2} -> i am", "Don't -> x", "id go -> x", "!can !not -> x",
)  # fmt: skip


@LAW
@given(st.sampled_from(RULES), st.lists(WORDS, max_size=5).map(" ".join))
def test_all_engines_agree_on_contractions(rules: str, text: str) -> None:
    applied(rules, text)


def test_a_whole_contraction_among_given_tokens_is_met_too() -> None:
    ruleset = parse("don't -> do not")
    text, row = "DON'T go", [Token("DON'T", "", "", 0, 5), Token("go", "", "", 6, 8)]
    matcher = compile_rules([ruleset], tagger=tagger())
    tokens = Tokens.from_rows([text], [row])
    assert matcher.rewrites(tokens, matcher.find(tokens)).texts == ["DO NOT go"]
    [binding] = find(ruleset.rules[0], ruleset, row, split=tagger().split)
    assert Renderer(ruleset.rules[0], ruleset).render(text, row, binding) == Edit(
        0, 5, "DON'T", "DO NOT"
    )


def test_pinned_texts_of_tests_may_have_contractions_in_capitals() -> None:
    rule = 'do n\'t -> do not\n  test "I/PRON/PRP DON\'T/AUX/VBP GO/VERB/VB" => "I DO NOT GO"'
    assert [each.outcome for each in run_tests(parse(rule), tagger="pinned")] == ["ok"]
