"""The laws of the engine, as properties of random rules over random tagged text."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from naive_noise import rewrite
from strategies import LAW, rules

from sears_dsl.engine.matcher import Matcher, compile_rules
from sears_dsl.engine.matches import Binding, Rewrite, Scope, apply_edits
from sears_dsl.engine.reference import candidates, find
from sears_dsl.engine.rewrite.spacing import begins_with_clitic, opens
from sears_dsl.errors import RuleSyntaxError
from sears_dsl.language.loader import parse
from sears_dsl.language.rule import (
    Anchor,
    AttributeTest,
    Element,
    Group,
    Literal,
    Options,
    Regex,
    Rule,
    SetDefinition,
    Tag,
)
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.tagging.tagger import load_tagger
from sears_dsl.tagging.tokens import Token, Tokens

WORDS = ("movie", "Movie", "film", "don't", "What", "is", "?", "a", "İ", "i̇", "ΣΑΣ", "σας", "ß")
TAGS = ("NOUN", "VERB", "NN", "VBZ", "WP", "SYM")
TAGGER = PinnedTagger(
    {
        "movie": ("NOUN", "NN"),
        "film": ("NOUN", "VBZ"),
        "is": ("VERB", "VBZ"),
        "What": ("PRON", "WP"),
        "what": ("DET", "WDT"),
        "do": ("AUX", "VB"),
        "n't": ("PART", "RB"),
        "a": ("DET", "DT"),
        "ß": ("SYM", "NN"),
        "?": ("PUNCT", "."),
        "'s": ("VERB", "VBZ"),
    }
)
SETS = (
    SetDefinition("S", (Literal("movie"), Tag("VERB"), Literal("What", quoted=True))),
    SetDefinition("nouns", (Tag("NN"), Tag("NNS"), Regex("(?i)mov.*"))),
)
# What any token may be tagged as, whatever its word.
TAG_PAIRS = (("NOUN", "NNS"), ("VERB", "VBZ"), ("AUX", "VBZ"), ("PRON", "WP"), ("", ""))
pytestmark = pytest.mark.long

texts = st.lists(
    st.tuples(
        st.sampled_from((*WORDS, "movies", "MOVIE", "what", "ΜΟΥ", "😀", "é", "e\u0301")),
        st.sampled_from((" ", " ", "  ", "", "\t")),
    ),
    max_size=8,
).map(lambda parts: "".join(word + space for word, space in parts))
options = st.builds(
    Options,
    case=st.sampled_from(("smart", "exact", "ignore")),
    tagset=st.sampled_from(("ud2", "sears2018")),
)


@st.composite
def rulesets(draw: st.DrawFn) -> Ruleset:
    """A few rules without errors, except errors that only a compiler sees."""
    chosen = draw(options)
    rule = rules(words=WORDS, tags=TAGS, sets=("S", "nouns"), depth=2, options=chosen)
    return _ruleset(draw(st.lists(rule, min_size=1, max_size=4)), chosen)


# A word that the tagger gives each tag.
_TAGGED = {"NOUN": "movie", "NN": "movie", "VERB": "is", "VBZ": "is", "WP": "What", "SYM": "ß"}


def _words(draw: st.DrawFn, elements: Sequence[Element]) -> list[str]:
    """Words that a sequence of elements often matches; anything where that takes thought."""
    words: list[str] = []
    for element in elements:
        for _ in range(draw(st.integers(element.minimum, element.maximum))):
            match element.body:
                case Anchor():
                    pass
                case Group(alternatives):
                    words += _words(draw, draw(st.sampled_from(alternatives)))
                case Literal(text) | AttributeTest("text" | "lower" | "lemma", text, False):
                    words.append(text)
                case Tag(name) | AttributeTest("pos" | "tag", name, False):
                    words.append(_TAGGED.get(name, name))
                case _:
                    words.append(draw(st.sampled_from(WORDS)))
    return words


@st.composite
def rows_of(draw: st.DrawFn, part: Ruleset, *, most: int = 4) -> list[str]:
    """Random texts, most of which hold words that a rule may match; by chance hardly any would."""
    rows = draw(st.lists(texts, min_size=1, max_size=most))
    for place, row in enumerate(rows):
        if part.rules and draw(st.integers(0, 3)):
            rule = draw(st.sampled_from(part.rules))
            words = _words(draw, (*rule.left, *rule.antecedent, *rule.right))
            around = draw(st.sampled_from(("", "a ", row)))
            rows[place] = around + " ".join([*words, draw(st.sampled_from(("", "?", row)))])
    return rows


def _ruleset(written: Sequence[Rule], chosen: Options) -> Ruleset:
    return Ruleset(tuple(written), options=chosen, sets=SETS)


def _compilable(part: Ruleset) -> Ruleset:
    """Leave out rules that compare one token with a word of several, or cannot inflect."""
    if _compiles(part):
        return part
    singles = [_ruleset([rule], part.options) for rule in part.rules]
    return _ruleset([each.rules[0] for each in singles if _compiles(each)], part.options)


def _compiles(part: Ruleset) -> bool:
    try:
        compile_rules([part], tagger=TAGGER)
    except RuleSyntaxError:
        return False
    return True


@st.composite
def protections(draw: st.DrawFn, rows: Sequence[str]) -> list[list[tuple[int, int]]] | None:
    """Some spans of some rows, or none at all."""
    if draw(st.booleans()):
        return None
    places = [st.integers(0, max(1, len(row))) for row in rows]
    spans = [st.tuples(place, place).map(lambda span: (min(span), max(span))) for place in places]
    return [draw(st.lists(span, max_size=1)) for span in spans]


def _bindings(
    matcher: Matcher, tokens: Tokens, **found: object
) -> dict[tuple[int, int], list[Binding]]:
    matches = matcher.find(tokens, **found)  # type: ignore[arg-type]
    bindings: dict[tuple[int, int], list[Binding]] = {}
    for index, (rule, row, start, end) in enumerate(matches.tuples()):
        binding = matcher.binding(tokens, matches, index)
        assert (binding.start, binding.end) == (start, end)
        bindings.setdefault((row, rule), []).append(binding)
    assert list(bindings) == sorted(bindings)
    return bindings


@LAW
@given(st.lists(rulesets(), min_size=1, max_size=2), st.data())
def test_compiled_rules_match_as_the_reference_does(
    parts: list[Ruleset], data: st.DataObject
) -> None:
    parts = [_compilable(part) for part in parts]
    rows = [row for part in parts for row in data.draw(rows_of(part, most=3))]
    matcher = compile_rules(parts, tagger=TAGGER)
    tags = st.none() | st.sampled_from(TAG_PAIRS)

    def retagged(token: Token) -> Token:
        pair = data.draw(tags)
        return token if pair is None else token._replace(coarse=pair[0], fine=pair[1])

    tagged = TAGGER.tag(rows)
    tokens = Tokens.from_rows(
        rows, [list(map(retagged, tagged.row(row))) for row in range(len(rows))]
    )
    protected = data.draw(protections(rows))
    scope: Scope = data.draw(st.sampled_from(("first", "all")))
    found = _bindings(matcher, tokens, scope=scope, protected=protected)
    scoped = [(rule, part) for part in parts for rule in part.rules]
    for number, (rule, part) in enumerate(scoped):
        for row in range(len(rows)):
            expected = find(
                rule,
                part,
                tokens.row(row),
                split=TAGGER.split,
                extent=scope,
                protected=protected[row] if protected else (),
            )
            assert found.get((row, number), []) == expected


@LAW
@given(rulesets(), st.data())
def test_every_instance_is_found_once(part: Ruleset, data: st.DataObject) -> None:
    part = _compilable(part)
    [text] = data.draw(rows_of(part, most=1))
    tokens = TAGGER.tag([text])
    matches = compile_rules([part], tagger=TAGGER).find(tokens, scope="every")
    found = {(rule, start, end) for rule, _, start, end in matches.tuples()}
    expected = {
        (number, binding.start, binding.end)
        for number, rule in enumerate(part.rules)
        for binding in candidates(rule, part, tokens.row(0), split=TAGGER.split)
    }
    assert found == expected


@LAW
@given(rulesets(), st.sampled_from(("first", "all")), st.data())
def test_the_prefilter_changes_no_result(part: Ruleset, scope: Scope, data: st.DataObject) -> None:
    part = _compilable(part)
    rows = data.draw(rows_of(part, most=5))
    matcher = compile_rules([part], tagger=TAGGER)
    protected = data.draw(protections(rows))
    plain = matcher.apply(rows, scope=scope, protected=protected, prefilter=False)
    quick = matcher.apply(rows, scope=scope, protected=protected)
    assert list(quick) == list(plain)
    assert quick.unrenderable == plain.unrenderable


# Rules whose edits depend on their surroundings, and text with sentences and marks.
EDGES = (
    "movie -> <>", "the -> <>", "_ -> <>", ", -> <>", ", is -> is", "n't -> not", "n't -> $1 $1",
    "is -> 's", "not -> n't", "is -> ~'s", "is -> ~, so", "is -> , so", "movie -> film,",
    "<> -> so / <s> __ _", "<> -> so / __ is", "<> -> ~, / movie __", "<> -> , so / __ movie",
    "i -> we", "i is -> we", "x:_ is y:_ -> $y is $x", "NOUN is -> is NOUN", "is NOUN -> NOUN $1",
    "x:(DET? NOUN) -> so $x", "/[-\\/]/ -> or", "is? PUNCT -> <>", "do -> will",
    "option case = exact\nNOUN is -> is NOUN", "option case = exact\n, NOUN -> NOUN ,",
    "option repair = on\nmovie -> old film", "option repair = on\nthe -> a",
    "option repair = on\nis -> <>", "option repair = on\n<> -> old / __ movie",
    "option case = exact\noption repair = on\nDET NOUN -> DET old NOUN",
    "option case = exact\nis -> 's", "option case = exact\nNOUN -> NOUN ,",
    "(the|movie|is) -> <>", "movie -> .", "(i|not) -> ,", "x:_ y:_ -> so $y", "x:_ y:_ -> $y $x",
    "option case = exact\nNOUN VERB -> so VERB", "option case = exact\n_ VERB -> best VERB",
    "option repair = on\n(the|a|movie|is) -> <>", "<> -> best / _ __ VERB",
)  # fmt: skip
# Rules that draw.
NOISY = (
    "movie -> $1.typo", "_ -> $1.homoglyph(40%)\n  rate: 50%", "x:_ is -> $x.swap is",
    "/[a-z]+/ -> $1.upper\n  rate: 30%", "<unit> -> so $0.uncap", "the -> <>\n  rate: 50%",
    "set S = movie | film | The\n@S -> @S", "<> -> so / __ _\n  rate: 50%\n  seed: 7",
    "/[a-z]+/i -> $1.typo(20%)", "x:_ y:_ -> $y.drop(2) $x.key(30%)\n  rate: 60%",
)  # fmt: skip
edge_texts = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("movie", "The", "the", "A", "is", "Is", "I", "i", "don't", "not", "movie's"),
                *("London", "IS", "DON'T", "10", *",.?;\"'()/-\u201d"),
            ]
        ),
        st.sampled_from((" ", " ", " ", "  ", "", "", "\t", "\u00a0")),
    ),
    max_size=8,
).map(lambda parts: "".join(word + space for word, space in parts))


# Rules that name words: on few rows the fast tagger lists these words for the matcher.
NAMING = (
    "movie -> film", "(movie|film) is -> so", "set S = movie | the\n@S _ -> $2 $1", "is NN -> $2",
    "is !movie -> $2 $1", "<> -> so / <s> __ the", "is -> was / __ . </s>", "is /[a-z]+/i -> $2",
    "the movie | film -> x", "!is? I -> we", "_{1,2} is -> is", '"DON\'T" -> do not',
    *(text for text in EDGES if re.search(r"^\W*(is|i|the|movie|not|n't) ->|__ movie", text, re.M)),
)  # fmt: skip


@settings(LAW, max_examples=3 * LAW.max_examples)
@given(
    st.lists(st.sampled_from(NAMING), min_size=1, max_size=3),
    st.lists(edge_texts, min_size=1, max_size=4),
    st.sampled_from(("first", "all")),
)
def test_few_rows_by_their_words_are_as_by_arrays(
    written: list[str], rows: list[str], scope: Scope
) -> None:
    matcher = compile_rules([parse(text) for text in written], tagger=_fast())
    plain = matcher.apply(rows, scope=scope, prefilter=False)
    quick = matcher.apply(rows, scope=scope)
    assert list(quick) == list(plain)
    assert quick.unrenderable == plain.unrenderable


_fast = cache(partial(load_tagger, "fast"))

# Rules that move what may be a clitic, and rules that have other rows, or more of them, tagged.
MOVING = (
    "x:_ really z:_ -> $x $z", "x:_ really? y:_ z:_ -> $x $z", "_ really ('s|is) -> $1 $3",
    "set S = is | 's\n_ really @S -> $1 $3", "x:_ really z:_ -> $x $z.upper",
    "x:/[a-z]+/ y:(so? z:_) -> $z $x $z", "really z:_ -> $x $z / x:_ __",
    "x:(DET best|_ really) z:_ -> $x.lower $z", "option case = exact\n_ so 's -> $1 $3",
    "really 's -> 's",
)  # fmt: skip
COMPANIONS = (
    "NOUN zzz -> NOUN", "light NOUN -> NOUN", "ADJ today -> today", "on -> upon", "_ NOUN -> NOUN",
    "so -> thus",
)  # fmt: skip
moving_words = "The", "light", "really", "'s", "is", "best", "on", "so", "today", ".", "'ll", "A"
moving_texts = st.lists(
    st.sampled_from([word if word[0] in "'." else f" {word}" for word in moving_words]),
    min_size=1,
    max_size=7,
).map(lambda parts: "".join(parts).lstrip())


@settings(LAW, max_examples=2 * LAW.max_examples)
@given(
    st.sampled_from((*MOVING, *NAMING)),
    st.sampled_from(COMPANIONS),
    moving_texts,
    st.tuples(st.lists(moving_texts, max_size=8), st.lists(moving_texts, max_size=8)),
    st.sampled_from(("first", "all")),
)
# Few matches are rendered one by one, more of them together.
@example(
    MOVING[-1], COMPANIONS[-1], "A so really's", (["so"] * 60 + ["on today really's"], []), "first"
)
@example(MOVING[0], COMPANIONS[0], "The light really's on today.", ([], []), "first")
@example(MOVING[0], COMPANIONS[1], "The light really's on today.", ([], ["so"] * 8), "first")
def test_what_a_rule_does_to_a_text_depends_on_these_two_alone(
    written: str, companion: str, text: str, around: tuple[list[str], list[str]], scope: Scope
) -> None:
    rule = parse(written)
    alone = compile_rules([rule], tagger=_fast())
    expected = [(done.text, done.edits) for done in alone.apply([text], scope=scope)]
    beside = compile_rules([rule, parse(companion)], tagger=_fast())
    before, after = around
    for rows, number in (([text], 0), ([*before, text, *after], len(before))):
        for prefilter in (True, False):
            done = beside.apply(rows, scope=scope, prefilter=prefilter)
            of_text = [
                (each.text, each.edits) for each in done if (each.row, each.rule) == (number, 0)
            ]
            assert of_text == expected
        chained = list(beside.chain(rows, scope=scope))[number]
        of_rule = [edits for rule_number, edits in chained.steps if rule_number == 0]
        assert of_rule == [edits for _, edits in expected]


@settings(LAW, max_examples=5 * LAW.max_examples)
@given(
    st.lists(st.sampled_from((*EDGES, *NOISY)), min_size=1, max_size=3),
    st.lists(edge_texts, min_size=1, max_size=4),
    st.sampled_from(("first", "all")),
    st.data(),
)
def test_rewrites_are_those_of_the_reference(
    written: list[str], rows: list[str], scope: Scope, data: st.DataObject
) -> None:
    parts = [parse(text) for text in written]
    matcher = compile_rules(parts, tagger=TAGGER)
    protected = data.draw(protections(rows))
    tokens = TAGGER.tag(rows)
    expected = []
    for row, text in enumerate(rows):
        for number, part in enumerate(parts):
            edits, _ = rewrite(
                part.rules[0], part, text, tokens.row(row),
                split=TAGGER.split, extent=scope, protected=protected[row] if protected else (),
            )  # fmt: skip
            if edits:
                new = apply_edits(text, edits)
                expected.append(Rewrite(number, row, text, new, tuple(edits)))
    times = data.draw(st.sampled_from((1, 2, 25)))  # new texts are shared, except on few rows
    spans = None if protected is None else [*protected] * times
    for quick in (True, False):
        found = list(matcher.apply(rows * times, scope=scope, protected=spans, prefilter=quick))
        assert found == [
            each._replace(row=each.row + time * len(rows))
            for time in range(times)
            for each in expected
        ]


# A rule that swaps any two tokens puts marks where words stood.
_IN_PLACE = tuple(each for each in EDGES if each != "x:_ y:_ -> $y $x")


@cache
def _in_place() -> Matcher:
    return compile_rules(list(map(parse, _IN_PLACE)), tagger=TAGGER)


@LAW
@given(edge_texts, st.sampled_from(("first", "all")))
def test_words_stay_apart_and_marks_and_clitics_are_attached(text: str, scope: Scope) -> None:
    """All rules run over each text, since a rule by itself fires in hardly any."""
    for done in _in_place().apply([text], scope=scope):
        _check_edits(done, text)
        [first, *_] = parse(_IN_PLACE[done.rule]).rules[0].consequent or (None,)
        shift = 0
        for edit in done.edits:
            start, end = edit.start + shift, edit.start + shift + len(edit.new)
            shift += len(edit.new) - len(edit.old)
            gap = start > 0 and done.text[start - 1].isspace()
            if not edit.new:
                joined = 0 < start < len(done.text) and done.text[start - 1 : start + 1].isalnum()
                assert not joined
                continue
            # A mark or a clitic has a space before it only if the old one had, or nothing to be
            # attached to.
            before = done.text[:start].rstrip()
            alone = not before or opens(before)
            if gap and not alone and edit.new[0] in ",.;:!?":
                assert not edit.old[:1].isalnum() or begins_with_clitic(edit.old)
            if gap and before[-1:].isalnum() and begins_with_clitic(edit.new):
                assert not edit.old[:1].isalnum() or begins_with_clitic(edit.old)
            glued = first is not None and first.glued
            if start and not glued and done.text[start - 1 : start + 1].isalnum():
                assert edit.old[:1].isalnum() or begins_with_clitic(edit.new)
            if end < len(done.text) and done.text[end - 1 : end + 1].isalnum():
                assert edit.old[-1:].isalnum()
            if edit.new[0] in ",;:" and edit.new[1:2] not in tuple(",;:."):
                assert before[-1:] not in tuple(",;:") or edit.old[:1] in tuple(",;:.!?\u2026")
        if "  " not in text and not text[:1].isspace():
            assert "  " not in done.text
            assert not done.text[:1].isspace()


_DELETING = ("movie -> <>", "(the|movie|is|a) -> <>", "option repair = on\n(the|movie) -> <>")
_MARKS_TOGETHER = re.compile(r"[,;.?](?=\s*[,;.?])")


@LAW
@given(st.sampled_from(_DELETING), edge_texts, st.sampled_from(("first", "all")))
def test_a_deletion_of_words_brings_no_two_marks_together(
    written: str, text: str, scope: Scope
) -> None:
    for done in compile_rules([parse(written)], tagger=TAGGER).apply([text], scope=scope):
        before, after = (len(_MARKS_TOGETHER.findall(each)) for each in (text, done.text))
        assert after <= before


@LAW
@given(rulesets(), st.data())
def test_batches_give_what_single_rows_give(part: Ruleset, data: st.DataObject) -> None:
    part = _compilable(part)
    rows = data.draw(rows_of(part, most=6))
    matcher = compile_rules([part], tagger=TAGGER)
    scope: Scope = data.draw(st.sampled_from(("first", "all")))
    order = data.draw(st.permutations(range(len(rows))))
    single = {
        row: [(done.rule, done.text, done.edits) for done in matcher.apply([text], scope=scope)]
        for row, text in enumerate(rows)
    }
    batch: dict[int, list[object]] = {row: [] for row in order}
    for done in matcher.apply([rows[row] for row in order], scope=scope, jobs=2):
        batch[order[done.row]].append((done.rule, done.text, done.edits))
    assert batch == single


@LAW
@given(rulesets(), st.sampled_from(("first", "all")), st.data())
def test_text_outside_of_edits_stays(part: Ruleset, scope: Scope, data: st.DataObject) -> None:
    part = _compilable(part)
    rows = data.draw(rows_of(part))
    matcher = compile_rules([part], tagger=TAGGER)
    protected = data.draw(protections(rows))
    unit = data.draw(st.sampled_from(("text", "sentence")))
    for done in matcher.apply(rows, scope=scope, protected=protected, unit=unit):
        _check_edits(done, rows[done.row])
        for start, end in protected[done.row] if protected else ():
            assert (
                all(edit.end <= start or end <= edit.start for edit in done.edits) or start == end
            )


def _check_edits(done: Rewrite, text: str) -> None:
    assert done.original == text
    assert done.text != text
    assert done.text == apply_edits(text, done.edits)
    place = 0
    for edit in done.edits:
        assert place <= edit.start <= edit.end <= len(text)
        assert text[edit.start : edit.end] == edit.old != edit.new
        place = edit.end


@LAW
@given(rulesets(), st.sampled_from(("first", "all")), st.data())
def test_a_chain_is_one_rule_after_another(
    part: Ruleset, scope: Scope, data: st.DataObject
) -> None:
    part = _compilable(part)
    rows = data.draw(rows_of(part))
    chained = compile_rules([part], tagger=TAGGER).chain(rows, scope=scope)
    expected = list(rows)
    for rule in part.rules:
        alone = compile_rules([_ruleset([rule], part.options)], tagger=TAGGER)
        for done in alone.apply(list(expected), scope=scope):
            expected[done.row] = done.text
    assert [row.text for row in chained] == expected
    for row, text in zip(chained, rows, strict=True):
        assert (row.text is text) == (not row.steps)


def test_a_word_whose_lower_case_is_cut_apart_is_found_in_lower_case() -> None:
    part = parse("option case = ignore\nİ -> <>")
    tokens = TAGGER.tag(["i\u0307"])
    assert [token.text for token in tokens.row(0)] == ["i", "\u0307"]
    matches = compile_rules([part], tagger=TAGGER).find(tokens)
    assert matches.tuples() == [(0, 0, 0, 2)]
    assert [
        (each.start, each.end)
        for each in find(part.rules[0], part, tokens.row(0), split=TAGGER.split)
    ] == [(0, 2)]


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="this is that run")
def test_the_laws_and_the_suite_hold_without_the_compiler_of_the_kernels() -> None:
    files = (__file__, str(Path(__file__).with_name("test_suite.py")))
    chosen = "test_laws or (test_cases and compiled and not together)"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", chosen],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


@LAW
@given(
    pairs=st.lists(
        st.tuples(
            st.sampled_from(("movie", "Movie", "film", "What", "is", "?")),
            st.sampled_from(("NOUN", "VERB", "_", "is", "!is")),
        ),
        min_size=10,
        max_size=30,
        unique=True,
    ),
    rows=st.lists(texts, min_size=1, max_size=5),
    scope=st.sampled_from(("first", "all")),
)
def test_many_negations_find_what_the_reference_finds(
    pairs: list[tuple[str, str]], rows: list[str], scope: Scope
) -> None:
    """Every token satisfies many tests; then the matcher tries a node's edges, not the token's."""
    lines = [f'!"{word}" {then} "a" -> x {number}' for number, (word, then) in enumerate(pairs)]
    lines += [f'y {number} -> z / !"{word}" __ {then}' for number, (word, then) in enumerate(pairs)]
    ruleset = parse("\n".join(lines))
    matcher = compile_rules([ruleset], tagger=TAGGER)
    tokens = TAGGER.tag([f"{row} a y 1 a is" for row in rows])
    found = matcher.find(tokens, scope=scope).tuples()
    naive = [
        (number, row, binding.start, binding.end)
        for row in range(len(tokens))
        for number, rule in enumerate(ruleset.rules)
        for binding in find(rule, ruleset, tokens.row(row), split=TAGGER.split, extent=scope)
    ]
    assert found == naive
