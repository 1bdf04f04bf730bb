"""Hypothesis strategies for rules and rulesets that have a canonical text and no errors.

`rules()` draws from small vocabularies, so that rules over the same words and tags meet; pass your
own, as tuples, to make them match your texts. `rulesets()` adds options, sets and metadata.
Strategies of the same arguments are made once: making them anew for every draw takes many times as
long as drawing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from sears_dsl.errors import Diagnostic
from sears_dsl.language.check import check_rule, check_test
from sears_dsl.language.measure import longest
from sears_dsl.language.parsing.parser import SEVERITIES
from sears_dsl.language.rule import (
    FUNCTIONS,
    INFLECTIONS,
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
    Piece,
    Reference,
    Regex,
    Rule,
    RuleTest,
    SetDefinition,
    SetReference,
    Tag,
    TagCopy,
    Test,
    Text,
    Wildcard,
)
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.language.tagsets import COARSE, FINE

_WORDS = """
movie film What which is the and don't and/or U.S. 3.5% 10 X-ray e.g. naïve café 's n't
? ! . , ... - :) _x 😀 👍🏽 שלום مرحبا हिन्दी 日本 Straße C# a_b
"""
WORDS = tuple(_WORDS.split())
"""Words that may stand bare anywhere but in a group, with what tokenizers find difficult."""

TAGS = ("NOUN", "VERB", "DET", "ADJ", "PRON", "NN", "NNS", "VBZ", "WP", "PRP$", "X", "SYM")
"""Tags of both kinds."""

DEFAULT_OPTIONS = Options()

SETS = ("WH", "nouns")
"""Names of the sets that `rulesets` defines."""

_NAMES = ("a", "b", "x", "noun_1")
_QUOTED = st.text(st.sampled_from("aB é'?\"\\/|()#\u200b\x7f😀"), min_size=1, max_size=5).filter(
    lambda text: text == text.strip()
)

# Kernels that are not compiled are slow.
LAW = settings(
    max_examples=12 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
_EITHER = st.booleans()
_BOUNDS = st.sampled_from(((1, 1), (1, 1), (1, 1), (0, 1), (0, 2), (1, 2), (2, 2)))
_PATTERNS = ("colou?r", "[a-z]+", r"\d{2,3}", "a/b", r"a\.b", "(?:un|re).*", r"\x{20}")


# How often something is done: once in so many draws.
_ONE_IN = {times: st.integers(1, times).map(lambda number: number == 1) for times in (4, 5, 6, 8)}


@cache
def _listed(
    strategy: st.SearchStrategy[Any], least: int, most: int, *, unique: bool = False
) -> st.SearchStrategy[list[Any]]:
    return st.lists(strategy, min_size=least, max_size=most, unique=unique)


def _in_group(word: str) -> bool:
    return not set(word) & set("()|")


@cache
def literals(words: tuple[str, ...] = WORDS, *, group: bool = False) -> st.SearchStrategy[Literal]:
    """Bare and quoted literals; ``group``: only those that may stand bare inside a group."""
    bare = [word for word in words if not group or _in_group(word)]
    return st.one_of(
        st.sampled_from(bare).map(Literal),
        st.builds(Literal, st.sampled_from(words), st.just(True), st.booleans()),
        st.builds(Literal, _QUOTED, st.just(True), st.booleans()),
    )


def _attribute_tests(words: tuple[str, ...]) -> st.SearchStrategy[AttributeTest]:
    word = st.sampled_from(words)
    return st.one_of(
        st.builds(AttributeTest, st.sampled_from(("text", "lemma")), word),
        st.builds(AttributeTest, st.just("lower"), word.map(str.lower)),
        st.builds(AttributeTest, st.just("pos"), st.sampled_from(("NOUN", "VERB", "SYM"))),
        st.builds(AttributeTest, st.just("tag"), st.sampled_from(("NN", "``", ",", "PRP$"))),
    )


def _may_hold(tests: list[AttributeTest]) -> bool:
    """Whether a token may pass all of the tests; tests that no token passes are an error."""
    told = check_test(Conjunction(tuple(tests)), Ruleset(()))
    return not any("can pass both tests" in message for _, message, _ in told)


@cache
def _plain_tests(
    words: tuple[str, ...], tags: tuple[str, ...], sets: tuple[str, ...], *, group: bool
) -> st.SearchStrategy[Test]:
    attribute = _attribute_tests(words)
    conjunction = st.lists(
        st.builds(replace, attribute, negated=st.booleans()), min_size=1, max_size=3
    ).filter(_may_hold)
    options = [
        literals(words, group=group),
        st.sampled_from(tags).map(Tag),
        st.sampled_from(tags).map(Tag),
        attribute,
        conjunction.map(lambda tests: Conjunction(tuple(tests))),
        st.builds(Regex, st.sampled_from(_PATTERNS), st.booleans()),
        st.just(Wildcard()),
    ]
    if sets:
        options.append(st.sampled_from(sets).map(SetReference))
    return st.one_of(options)


@cache
@st.composite
def single_tests(
    draw: st.DrawFn,
    *,
    words: tuple[str, ...] = WORDS,
    tags: tuple[str, ...] = TAGS,
    sets: tuple[str, ...] = (),
    group: bool = False,
    negation: bool = True,
) -> Test:
    """A test on one token."""
    test = draw(_plain_tests(words, tags, sets, group=group))
    if negation and not isinstance(test, Wildcard) and draw(_ONE_IN[6]):
        bare_punctuation = isinstance(test, Literal) and not any(map(str.isalnum, test.text))
        return Negation(replace(test, quoted=True) if bare_punctuation else test)
    return test


@cache
@st.composite
def elements(
    draw: st.DrawFn,
    *,
    words: tuple[str, ...] = WORDS,
    tags: tuple[str, ...] = TAGS,
    sets: tuple[str, ...] = (),
    depth: int = 1,
    group: bool = False,
) -> Element:
    """An element without name and glue; groups nest up to ``depth``."""
    body: Test | Group
    if depth and draw(_ONE_IN[5]):
        inner = elements(words=words, tags=tags, sets=sets, depth=depth - 1, group=True)
        alternatives = draw(_listed(_listed(inner, 1, 2), 1, 3))
        body = Group(tuple(map(tuple, alternatives)))
    else:
        body = draw(single_tests(words=words, tags=tags, sets=sets, group=group))
    low, high = draw(_BOUNDS)
    if (low, high) != (1, 1) and isinstance(body, Literal):
        body = _operable(body)
    return Element(body, low, high)


def _operable(literal: Literal) -> Literal:
    """The literal as it must be written beside an operator: punctuation is quoted."""
    return literal if any(map(str.isalnum, literal.text)) else replace(literal, quoted=True)


def _named(draw: st.DrawFn, sequence: list[Element], names: Sequence[str]) -> list[Element]:
    """Give some elements a name; glue some of the literals that may be glued."""
    out: list[Element] = []
    unused = list(names)
    for plain in sequence:
        element = plain
        if unused and draw(_ONE_IN[4]):
            body = element.body
            colon = isinstance(body, Literal) and body.text[:1] == ":"
            body = replace(body, quoted=True) if colon else body
            element = replace(element, name=unused.pop(0), body=body)
        elif out and _may_be_glued(out[-1], element):
            element = replace(element, glued=draw(_EITHER))
        out.append(element)
    return out


def _may_be_glued(previous: Element, element: Element) -> bool:
    body = element.body
    if not isinstance(body, Literal) or isinstance(previous.body, Anchor):
        return False
    before = previous.body.operand if isinstance(previous.body, Negation) else previous.body
    after_word = isinstance(before, Literal) and not before.quoted
    if after_word and not any(map(str.isalnum, getattr(before, "text", ""))):
        return False
    takes_clitics = after_word or isinstance(before, AttributeTest)
    return body.quoted or (body.text[0] == "'" and not takes_clitics)


@cache
def _pieces(
    numbers: tuple[int, ...], single: tuple[int, ...], names: tuple[str, ...]
) -> st.SearchStrategy[list[Piece]]:
    """Pieces that refer to elements of these numbers, some of which are one token, and names."""
    choices: list[st.SearchStrategy[Piece]] = [
        st.sampled_from(WORDS).map(Text),
        st.builds(Text, _QUOTED, st.just(True)),
    ]
    cases = st.lists(st.sampled_from(FUNCTIONS[:3]), max_size=2).map(tuple)
    if numbers:
        choices.append(st.builds(Reference, st.sampled_from([0, *numbers]), cases))
    if names:
        choices.append(st.builds(Reference, st.sampled_from(names), cases))
    if single:
        target = st.sampled_from(single)
        choices.append(
            st.builds(Reference, target, st.sampled_from(INFLECTIONS).map(lambda f: (f,)))
        )
        choices.append(st.builds(Inflected, st.sampled_from(("film", "go", "good")), target))
    return st.lists(st.one_of(choices), max_size=4)


def _consequent(draw: st.DrawFn, context: list[Element], antecedent: list[Element]) -> list[Piece]:
    """Pieces that refer to existing elements."""
    names = tuple(element.name for element in (*antecedent, *context) if element.name)
    numbers = tuple(n for n, e in enumerate(antecedent, 1) if not isinstance(e.body, Anchor))
    single = tuple(number for number in numbers if longest(antecedent[number - 1]) == 1)
    pieces = list(draw(_pieces(numbers, single, names)))
    for element in antecedent:
        if isinstance(element.body, Tag) and draw(_EITHER):
            pieces.insert(draw(st.integers(0, len(pieces))), TagCopy(element.body.name))
    return _glued_pieces(pieces, draw(_listed(_EITHER, 9, 9)))


def _glued_pieces(pieces: list[Piece], wanted: list[bool]) -> list[Piece]:
    """Glue if wanted and possible, with quotes where glue needs them."""
    out: list[Piece] = []
    for piece, glue in zip(pieces, wanted, strict=False):
        previous = out[-1] if out else None
        if not glue:
            out.append(piece)
        elif previous is None:
            out.append(replace(piece, glued=True))
        elif isinstance(piece, TagCopy):
            if isinstance(previous, Text):
                out[-1] = replace(previous, quoted=True)
                out.append(replace(piece, glued=True))
            else:
                out.append(piece)
        elif isinstance(piece, Text | Inflected):
            clitic = (
                isinstance(previous, TagCopy | Reference) and getattr(piece, "text", "") == "'s"
            )
            out.append(replace(piece, glued=True, quoted=not clitic))
        else:
            if isinstance(previous, Text) and set(previous.text) & set("?()[]{}|$"):
                out[-1] = replace(previous, quoted=True)
            out.append(replace(piece, glued=True))
    for position, piece in enumerate(out[1:], 1):
        before = out[position - 1]
        if piece.glued and isinstance(before, Text) and set(before.text) & set("?()[]{}|$"):
            out[position - 1] = replace(before, quoted=True)
    return out


@cache
@st.composite
def rules(
    draw: st.DrawFn,
    *,
    words: tuple[str, ...] = WORDS,
    tags: tuple[str, ...] = TAGS,
    sets: tuple[str, ...] = (),
    options: Options = DEFAULT_OPTIONS,
    depth: int = 1,
    contexts: bool = True,
) -> Rule:
    """A rule without metadata whose check finds no error."""
    element = elements(words=words, tags=tags, sets=sets, depth=depth)
    insertion = contexts and draw(_ONE_IN[8])
    antecedent = [] if insertion else draw(_listed(element, 1, 4))
    left: list[Element] = []
    right: list[Element] = []
    if contexts and (insertion or draw(_ONE_IN[4])):
        left, right = draw(_listed(element, 1, 2)), draw(_listed(element, 0, 2))
    if draw(_ONE_IN[8]):
        (left or antecedent).insert(0, Element(Anchor("start")))
    if draw(_ONE_IN[8]):
        (right or (antecedent if not left else right)).append(Element(Anchor("end")))
    left = _named(draw, left, _NAMES[:1])
    right = _named(draw, right, _NAMES[1:2])
    antecedent = _named(draw, antecedent, _NAMES[2:])
    rule = Rule(
        antecedent=tuple(antecedent),
        consequent=tuple(_consequent(draw, left + right, antecedent)),
        left=tuple(left),
        right=tuple(right),
    )
    if errors_of(rule, options=options, sets=sets):
        # Too free a draw (nothing required, too many variants): fewer quantifiers.
        rule = replace(
            rule,
            antecedent=tuple(replace(each, minimum=1, maximum=1) for each in rule.antecedent),
            left=tuple(replace(each, minimum=1, maximum=1) for each in rule.left),
            right=tuple(replace(each, minimum=1, maximum=1) for each in rule.right),
        )
    if errors_of(rule, options=options, sets=sets):
        return Rule(
            (Element(Tag(draw(st.sampled_from(tags)))),), (Text(draw(st.sampled_from(words))),)
        )
    return rule


def errors_of(
    rule: Rule,
    *,
    options: Options = DEFAULT_OPTIONS,
    sets: Sequence[str] = (),
) -> list[Diagnostic]:
    """The errors that the check finds in a rule among these sets."""
    scope = Ruleset(
        (), options=options, sets=tuple(SetDefinition(name, (Wildcard(),)) for name in sets)
    )
    return [finding for finding in check_rule(rule, scope) if finding.severity == "error"]


_PROSE = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)

EXPECTATIONS = st.one_of(
    st.sampled_from((Expectation("same"), Expectation("flip"))),
    st.builds(Expectation, st.just("label"), st.one_of(st.just("positive"), _PROSE)),
)
METADATA = st.builds(
    Metadata,
    expect=st.none() | EXPECTATIONS,
    severity=st.none() | st.sampled_from(SEVERITIES),
    tags=st.lists(st.sampled_from(("vqa", "wh", "a-b", "spelling_2")), max_size=3).map(tuple),
    author=st.none() | _PROSE,
    why=st.none() | _PROSE,
    tests=st.lists(st.builds(RuleTest, _PROSE, st.none() | _PROSE), max_size=3).map(tuple),
)

OPTIONS = st.builds(
    Options,
    case=st.sampled_from(("smart", "exact", "ignore")),
    language=st.just("en"),  # others have no Penn tags, lemmas and inflections
    tagset=st.sampled_from(("ud2", "sears2018")),
)


@st.composite
def rulesets(draw: st.DrawFn, *, metadata: bool = True) -> Ruleset:
    """A ruleset without errors: options, two sets and up to five different rules."""
    options = draw(OPTIONS)
    tags = tuple(tag for tag in TAGS if tag in COARSE[options.tagset] | FINE)
    member = single_tests(tags=tags, group=True)
    sets = tuple(SetDefinition(name, tuple(draw(_listed(member, 1, 4)))) for name in SETS)
    drawn = draw(_listed(rules(tags=tags, sets=SETS, options=options), 0, 5, unique=True))
    named = [
        replace(
            rule,
            name=f"rule-{number}" if draw(_EITHER) else None,
            metadata=draw(METADATA) if metadata else Metadata(),
        )
        for number, rule in enumerate(drawn)
    ]
    published = draw(_EITHER)
    return Ruleset(
        tuple(named),
        options=options,
        sets=sets,
        name="test-rules" if published else None,
        version="1.2.0" if published else None,
    )
