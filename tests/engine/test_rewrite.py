"""From an instance to an edit, and from edits to text and spans: the laws of rewriting."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sears_dsl.engine.compile.requirements import compile_diagnostics, noise_diagnostics
from sears_dsl.engine.explain import explain
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.matches import Binding, Edit, SpanMap, SpanMapChain, TokenRange, apply_edits
from sears_dsl.engine.reference import find
from sears_dsl.engine.rewrite.placing import Unrendered
from sears_dsl.engine.rewrite.renderer import Renderer, render_untouching
from sears_dsl.engine.rewrite.spacing import bears
from sears_dsl.errors import CompileError, RuleSyntaxError
from sears_dsl.language.loader import parse
from sears_dsl.language.rule import Element, Literal, Reference, Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.tagging.tokens import Token

TAGGER = PinnedTagger(
    {
        "the": ("DET", "DT"),
        "dog": ("NOUN", "NN"),
        "dogs": ("NOUN", "NNS"),
        "motto": ("NOUN", "NN"),
        "is": ("AUX", "VBZ"),
        "red": ("ADJ", "JJ"),
    }
)

# Rules of every kind of edit: replacement, deletion, insertion, glue, copies, inflection.
RULES = [
    "dog -> cat",
    "the? dog -> a big cat",
    "red -> <>",
    "_ -> <>",
    "is -> ~'s",
    "<> -> very / __ red",
    "<> -> ~, / dog __",
    "<> -> so / <s> __ _",
    "a:_ b:_ -> $b $a",
    "_ ? -> so $1 ?",
    "NOUN -> $1.NNS",
    "is -> 's",
    "x:_{0,2} red -> $x",
]


def rewritten(rule: str, text: str) -> tuple[str, list[Edit], list[Unrendered]]:
    ruleset = parse(rule)
    row = TAGGER.tag([text]).row(0)
    bindings = find(ruleset.rules[0], ruleset, row, split=TAGGER.split, extent="all")
    edits, missing = render_untouching(Renderer(ruleset.rules[0], ruleset), text, row, bindings)
    return apply_edits(text, edits), edits, missing


WORDS = ("dog", "Dog", "DOG", "the", "The", "red", "is", "dogs", "motto", "?", "(", ")", ",", '"')
TEXTS = st.lists(
    st.tuples(st.sampled_from(WORDS), st.sampled_from((" ", " ", "", "  ", "\r\n", "\u00a0"))),
    max_size=9,
).map(lambda parts: "".join(word + space for word, space in parts))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(RULES), TEXTS, st.sampled_from(("", " ", "\t")))
def test_text_outside_of_edits_is_the_same_and_spans_follow_it(
    rule: str, words: str, margin: str
) -> None:
    text = margin + words
    out, edits, _ = rewritten(rule, text)
    place = 0
    for edit in edits:
        assert place <= edit.start <= edit.end <= len(text)
        assert text[edit.start : edit.end] == edit.old != edit.new
        place = edit.end
    if not edits:
        assert out is text
    moved = SpanMap(edits)
    for start in range(len(text) + 1):
        for end in range(start, len(text) + 1):
            new = moved.map(start, end)
            touching = moved.touching(start, end)
            assert (new is None) == (touching is not None) == _is_touched(edits, start, end)
            if new is not None:
                assert out[new[0] : new[1]] == text[start:end]
    _check_what_is_left(text, out, edits)


def _is_touched(edits: list[Edit], start: int, end: int) -> bool:
    """Shares a character with an edit, or has an edit strictly inside or around it."""
    return any(
        (edit.start < end and start < edit.end)
        or (start < edit.start == edit.end < end)
        or (edit.start < start == end < edit.end)
        for edit in edits
    )


def _check_what_is_left(text: str, out: str, edits: list[Edit]) -> None:
    """The characters outside of the edits are those of the original, one after another."""
    place = shift = 0
    for edit in edits:
        assert out[place + shift : edit.start + shift] == text[place : edit.start]
        shift += len(edit.new) - len(edit.old)
        place = edit.end
    assert out[place + shift :] == text[place:]
    assert len(out) == len(text) + shift


@settings(max_examples=200, deadline=None)
@given(TEXTS)
@example("( red red ")
def test_a_deletion_leaves_no_new_double_or_leading_space(text: str) -> None:
    out, edits, _ = rewritten("red -> <>", text)
    doubles = sum(text.count(gap) for gap in ("  ", " \u00a0", "\u00a0 ", " \r\n"))
    if edits and not doubles:
        assert "  " not in out
        assert out[:1] != " " or text[:1] == " "


@given(st.text(max_size=20), st.data())
def test_a_chain_of_maps_is_one_map_after_another(text: str, data: st.DataObject) -> None:
    steps: list[SpanMap] = []
    current = text
    for _ in range(data.draw(st.integers(0, 3))):
        cuts = data.draw(st.lists(st.integers(0, len(current)), max_size=4).map(sorted))
        edits = [
            Edit(low, high, current[low:high], data.draw(st.text(max_size=3)))
            for low, high in zip(cuts[::2], cuts[1::2], strict=False)
        ]
        steps.append(SpanMap(edits))
        current = apply_edits(current, edits)
    chain = SpanMapChain(steps)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    new = chain.map(start, end)
    assert (new is None) == (chain.touching(start, end) is not None)
    if new is not None:
        assert current[new[0] : new[1]] == text[start:end]


def test_a_span_map_tells_the_edit_that_touched_a_span() -> None:
    edits = [Edit(2, 5, "bad", "good"), Edit(8, 8, "", " so")]
    moved = SpanMap(edits)
    assert moved.map(5, 8) == (6, 9)
    assert moved.map(8, 9) == (12, 13)
    assert moved.touching(4, 7) == edits[0]
    assert moved.touching(7, 9) == edits[1]
    assert moved.touching(0, 2) is None
    assert moved.map(3, 3) is None
    assert moved.map(8, 8) == (9, 9)


def test_without_edits_the_very_same_string_comes_back() -> None:
    text = "".join(["as", " it ", "is"])
    assert apply_edits(text, []) is text


# ---------------------------------------------------------------- why there is no edit


def test_what_cannot_be_inflected_is_distinguished_from_what_does_not_change() -> None:
    _, _, missing = rewritten("_ dog -> dog dog", "dog dog")
    assert missing == [Unrendered.UNCHANGED]
    assert not missing[0].is_counted
    _, edits, missing = rewritten("NOUN -> $1.NNS", "motto dogs dog")
    assert missing == [Unrendered.AMBIGUOUS, Unrendered.UNCHANGED]
    assert [edit.new for edit in edits] == ["dogs"]
    _, _, missing = rewritten("the -> $1.NNS", "the")
    assert missing == [Unrendered.NO_FORM]
    assert missing[0].is_counted


def test_an_inflection_of_an_optional_element_that_is_not_there_is_nothing() -> None:
    out, _, _ = rewritten("x:NOUN? red -> $x.NNS blue", "the red")
    assert out == "the blue"


def test_an_inflection_of_an_inflection_is_that_of_its_form() -> None:
    out, _, _ = rewritten("is red -> $1.VBG.VBZ blue", "is red")
    assert out == "is blue"


def test_several_tokens_have_no_inflection() -> None:
    rule = Rule((Element(Literal("dog")), Element(Literal("is"))), (Reference(0, ("VBD",)),))
    row = TAGGER.tag(["dog is"]).row(0)
    binding = Binding(0, 2, (TokenRange(0, 1), TokenRange(1, 2)))
    rendered = Renderer(rule, Ruleset((rule,))).render("dog is", row, binding)
    assert rendered is Unrendered.NO_FORM


def test_a_reference_to_an_element_that_is_not_there_is_an_error() -> None:
    rule = Rule((Element(Literal("dog")),), (Reference(2),))
    with pytest.raises(CompileError, match=r"\$2.*1 element"):
        Renderer(rule, Ruleset((rule,)))


# ---------------------------------------------------------------- at compile time


@pytest.mark.parametrize(
    ("rule", "code", "forms"),
    [
        ("be -> $1.VBD", "E350", "was, were"),
        ("learn -> $1.VBD", "E350", "learned, learnt"),
        ("lemma=learn -> $1.VBD", "E350", "learned, learnt"),
        ("x:motto -> $x.NNS", "E350", "mottoes, mottos"),
        ("[text=learn & tag=VB] -> $1.VBD", "E350", "learned, learnt"),
        ("dog -> $x of / x:motto __", None, ""),
        ("dog -> $x.NNS of / x:motto __", "E350", "mottoes, mottos"),
        ("VBD -> learn.as($1)", "E350", "learned, learnt"),
        ("[lemma=go & tag=VBD] -> be.as($1)", "E350", "was, were"),
        ("DT -> film.as($1)", "E351", ""),
        ("[lemma=beautiful & tag=JJ] -> $1.JJR", "E351", ""),
        ("lemma=be !PROPN -> $1.VBD $2", None, ""),
        ("[lemma=movie & tag=NNS] -> film.as($1)", None, ""),
        ("is -> $1.VBD", None, ""),
        ("VBD -> be.as($1)", None, ""),
        ("NOUN -> $1.NNS", None, ""),
        ("film -> $1.NNS", None, ""),
        ("dog{1,2} -> deer", None, ""),
    ],
)
def test_inflections_that_never_work_are_errors_of_the_compiler(
    rule: str, code: str | None, forms: str
) -> None:
    ruleset = parse(rule)
    found = list(compile_diagnostics(ruleset.rules[0], ruleset))
    assert [finding.code for finding in found] == ([] if code is None else [code])
    if code is not None:
        assert found[0].message.endswith(forms)
        assert found[0].help
        assert found[0].span is not None


@pytest.mark.parametrize(
    ("rule", "text", "code"),
    [
        ("gulf -> $1.homoglyph", "", "E329"),
        ("((gulf|film) gulf) -> $1.homoglyph", "film gulf", None),
        ("((film|gulf) gulf) -> $1.homoglyph", "film gulf", None),
        ("(gulf full) -> $1.homoglyph", "", "E329"),
        ("trunk -> $1.homoglyph", "Trunk", "W622"),
        ('"trunk" -> $1.homoglyph', "", "E329"),
        ("option case = exact\ntrunk -> $1.homoglyph", "", "E329"),
    ],
)
def test_noise_that_never_changes_a_word_is_an_error_of_the_compiler(
    rule: str, text: str, code: str | None
) -> None:
    ruleset = parse(rule)
    found = noise_diagnostics(ruleset.rules[0], ruleset)
    assert [finding.code for finding in found] == ([] if code is None else [code])
    if code == "E329":
        with pytest.raises(RuleSyntaxError, match=code):
            compile_rules([ruleset], tagger=TAGGER)
    else:
        [row] = compile_rules([ruleset], tagger=TAGGER).apply([text])
        assert row.text != text


# ---------------------------------------------------------------- explanations


def explained(rule: str, text: str) -> str:
    ruleset = parse(rule)
    row: list[Token] = TAGGER.tag([text]).row(0)
    told = explain(ruleset.rules[0], ruleset, text, row, split=TAGGER.split)
    assert told.rule_id == ruleset.rule_ids[0]
    assert told.fired is (told.rewrite is not None)
    return told.reason


@pytest.mark.parametrize(
    ("rule", "text", "reason"),
    [
        ("the dog -> a cat", "so the dog is", "`the dog` became `a cat`"),
        ("red -> <>", "the red dog", "`red` was deleted"),
        ("<> -> very / __ red", "the red dog", "`very` was inserted"),
        (
            "the ADJ dog -> it",
            "the red dogs",
            "matched 2 of 3 elements, then expected `dog` and found `dogs` (NOUN/NNS)",
        ),
        (
            "dog -> cat / the __ is",
            "the dog",
            "matched 2 of 3 elements, then expected `is` and found the end of the text",
        ),
        (
            "dog -> cat / !is !red __ !is",
            "so the red dog so",
            "matched `dog`, but before it expected `!red` and found `red` (ADJ/JJ)",
        ),
        (
            "dog -> cat / (<s>|!red) __",
            "the red dog",
            "matched `dog`, but before it expected `(<s>|!red)` and found `red` (ADJ/JJ)",
        ),
        (
            "dog -> cat / <s> __",
            "the dog",
            "matched `dog`, but before it expected `<s>` and found `the` (DET/DT)",
        ),
        (
            "dog -> cat / red (the|so is) __",
            "red the so dog",
            "matched `dog`, but before it expected `red` and found `the` (DET/DT)",
        ),
        (
            "dog -> cat / the (so red|it) __",
            "the so dog",
            "matched 1 of 3 elements and `so` of `(so red|it)`, "
            "then expected `red` and found `dog` (NOUN/NN)",
        ),
        (
            "dog -> cat / (so red|it) __",
            "the so red is dog",
            "matched `dog`, but before it expected `(so red|it)` and found `is` (AUX/VBZ)",
        ),
        (
            "dog -> cat / !is{1,3} red __",
            "so the dog",
            "matched `dog`, but before it expected `red` and found `the` (DET/DT)",
        ),
        ("dog -> cat / red __ is", "the dog so", "no token matches the first element, `red`"),
        (
            "dog -> cat / so __ is",
            "so the dog it red dog is",
            "matched `dog`, but before it expected `so` and found `red` (ADJ/JJ)",
        ),
        ("What NOUN -> Which NOUN", "so it is", "no token matches the first element, `What`"),
        ("It is -> so", "it is", "no token matches the first element, `It`, in that casing"),
        (
            "the (ADJ NOUN|is) -> x",
            "the red one",
            "matched 1 of 2 elements and `red` of `(ADJ NOUN|is)`, "
            "then expected `NOUN` and found `one` (no tags)",
        ),
        (
            "(red|the){2} NOUN -> x",
            "a red so",
            "matched `red` of `(red|the){2}`, "
            "then expected `red` or `the` and found `so` (no tags)",
        ),
        (
            "(the very|so) dog -> x",
            "the dog",
            "matched `the` of `(the very|so)`, then expected `very` and found `dog` (NOUN/NN)",
        ),
        (
            "the{2} -> x",
            "a the",
            "matched `the` of `the{2}`, then found the end of the text",
        ),
        ("(dog|cat) is -> x", "red", "no token matches the first element, `(dog|cat)`"),
        ("NOUN -> $1.NNS", "motto", "it matched `motto`, but an inflection has more than one form"),
        ("_ dog -> dog dog", "dog dog", "it matched `dog dog`, but the new text is the old one"),
        ("is -> so", "it isn't", "it matched `is`, but what it would leave is not a word"),
    ],
)
def test_a_rule_says_how_far_it_got(rule: str, text: str, reason: str) -> None:
    assert explained(rule, text) == reason


def test_an_explanation_points_at_the_token_that_stopped_the_rule() -> None:
    ruleset = parse("the ADJ NOUN is -> it is")
    text = "the dog the red dogs so"
    row = TAGGER.tag([text]).row(0)
    told = explain(ruleset.rules[0], ruleset, text, row, split=TAGGER.split)
    assert (told.furthest, told.total, told.stopped_at, told.wanted) == (3, 4, 5, "is")


@pytest.mark.parametrize(
    ("host", "clitic", "bears_it"),
    [("someone else", "'s", True), ("the deceased", "'s", True), ("passer-by", "'s", True),
     ("y'all", "'ll", True), ("that", "'ve", True), ("which", "'s", True), ("John", "'ll", True),
     ("looks", "n't", False), ("passer-by", "n't", False), ("also", "'re", False),
     ("really", "'s", False), ("it pretty", "'s", False), ("that kind", "'s", False),
     ("no way", "'s", True), ("way", "'s", False), ("my best", "'ll", True), ("one", "'s", True),
     ("everything", "'s", True), ("there", "'s", True), ("today", "'s", True)],
)  # fmt: skip
def test_which_words_bear_a_clitic(host: str, clitic: str, bears_it: bool) -> None:
    assert bears(host, clitic) == bears_it
