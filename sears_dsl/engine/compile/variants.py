"""A rule as flat variants: what is left of it when choices and quantifiers are written out.

In: a rule, its scope and the tokenizer's way to split words. Out: `Variant`s in the order of
preference: alternatives as written, quantifiers greedy, left context first. Always holds: a
variant is a plain sequence of token tests (left context, focus, right context), so that matching
needs no backtracking; where two derivations test the same, only the preferred one is there;
there are at most 64. A group or set of single tests is one test. A variant also knows how the
tokens that it covers belong to elements, names and bare tags, which `bind` reads off.
Costs one object per variant; plain rules of mined rulesets never come here to be compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import NamedTuple, TypeAlias

from sears_dsl.engine.compile.predicates import PatternError, Predicates, spellings
from sears_dsl.engine.matches import Binding, TokenRange
from sears_dsl.language.measure import MOST_VARIANTS
from sears_dsl.language.rule import Anchor, Element, Group, Literal, Rule, RuleScope, Tag
from sears_dsl.tagging.tokens import TokenType

Split: TypeAlias = Callable[[str], Sequence[str]]

ANCHOR_START = 1
ANCHOR_END = 2


class _TagChoice(NamedTuple):
    """One alternative of a test: where it is the first that holds, its tag names the token."""

    predicate: int
    tag: str | None


@dataclass(frozen=True, slots=True)
class _Strand:
    """One derivation of some elements: tests in a row, and what lies where on them.

    Places count tests from the strand's start. ``tags`` has the choices of every place where a
    bare tag may be; ``elements`` are those of the level that the strand is about.
    """

    tests: tuple[int, ...] = ()
    anchors: tuple[tuple[int, int], ...] = ()
    elements: tuple[TokenRange, ...] = ()
    names: tuple[tuple[str, TokenRange], ...] = ()
    tags: tuple[tuple[int, tuple[_TagChoice, ...]], ...] = ()

    def then(self, other: _Strand) -> _Strand:
        """This strand and the other one after it."""
        by = len(self.tests)
        return _Strand(
            self.tests + other.tests,
            self.anchors + tuple((side, at + by) for side, at in other.anchors),
            self.elements + tuple(_moved(place, by) for place in other.elements),
            self.names + tuple((name, _moved(place, by)) for name, place in other.names),
            self.tags + tuple((at + by, choices) for at, choices in other.tags),
        )

    def as_context(self) -> _Strand:
        """Context is matched, not replaced: its names can be referenced, but nothing else."""
        return replace(self, elements=(), tags=())

    def as_element(self, name: str | None) -> _Strand:
        """All of it as one element of the level above."""
        place = TokenRange(0, len(self.tests))
        names = self.names if name is None else (*self.names, (name, place))
        return replace(self, elements=(place,), names=names)


@dataclass(frozen=True, slots=True)
class Variant:
    """One flat form of a rule.

    Attributes:
        tests: predicate ids, one a token: left context, focus, right context.
        left: how many of them are the left context.
        focus: how many are the replaced span.
        anchors: `ANCHOR_START` where the tests begin the unit, plus `ANCHOR_END` where they end it.
        layout: how elements, names and tags lie on the tests.
        names: every name of the rule, those too that this variant leaves out.
    """

    tests: tuple[int, ...]
    left: int
    focus: int
    anchors: int
    layout: _Strand
    names: tuple[str, ...]


def expand(rule: Rule, scope: RuleScope, predicates: Predicates, split: Split) -> list[Variant]:
    """The flat variants of a rule, most preferred first.

    A rule whose anchors can never hold has none.

    Raises:
        PatternError: more than 64 variants; a word of several tokens where one is tested; a
            regex that cannot be compiled; an insertion without context.
    """
    if not (rule.antecedent or rule.left or rule.right):
        raise PatternError(
            "E302",
            "an insertion needs a context that says where",
            advice="add one after the consequent: <> -> also / PRON __ VERB",
        )
    writer = _Writer(scope, predicates, split)
    sides = [writer.sequence(part) for part in (rule.left, rule.antecedent, rule.right)]
    _check_count(len(sides[0]) * len(sides[1]) * len(sides[2]))
    variants: dict[tuple[tuple[int, ...], int, int, int], Variant] = {}
    # A name that took no part is bound too.
    names = tuple({each.name: None for each in every_element(rule) if each.name is not None})
    for left, focus, right in product(*sides):
        whole = left.as_context().then(focus).then(right.as_context())
        anchors = _anchors(whole)
        if anchors is not None:
            key = (whole.tests, len(left.tests), len(focus.tests), anchors)
            variants.setdefault(key, Variant(*key, whole, names))
    return list(variants.values())


def bind(
    variant: Variant,
    start: int,
    predicates: Predicates,
    token_type: Callable[[int], TokenType],
) -> Binding:
    """How an instance that starts at a token, or is inserted before it, lies on its row.

    The type of a token is asked only where an element leaves open which alternative matched.
    """
    origin = start - variant.left
    names = dict.fromkeys(variant.names, TokenRange(start, start)) if variant.names else {}
    for name, place in variant.layout.names:
        names[name] = _moved(place, origin)
    tags: dict[str, tuple[int, ...]] = {}
    for at, choices in variant.layout.tags:
        tag = choices[0].tag
        if len(choices) > 1:
            kind = token_type(origin + at)
            tag = next((c.tag for c in choices if predicates.holds(c.predicate, kind)), None)
        if tag is not None:
            tags[tag] = (*tags.get(tag, ()), origin + at)
    elements = tuple(_moved(place, origin) for place in variant.layout.elements)
    return Binding(start, start + variant.focus, elements, names, tags)


def _moved(place: TokenRange, by: int) -> TokenRange:
    return TokenRange(place.start + by, place.end + by)


def every_element(rule: Rule) -> Iterator[Element]:
    """The elements of a rule, those inside of groups too."""
    waiting = [*rule.left, *rule.antecedent, *rule.right]
    while waiting:
        element = waiting.pop()
        yield element
        if isinstance(element.body, Group):
            waiting.extend(chain.from_iterable(element.body.alternatives))


def _anchors(strand: _Strand) -> int | None:
    """The anchors as flags, or None where one can never hold since tokens are beyond it."""
    flags = 0
    for side, at in strand.anchors:
        if at != (0 if side == ANCHOR_START else len(strand.tests)):
            return None
        flags |= side
    return flags


def _check_count(count: int) -> None:
    if count > MOST_VARIANTS:
        raise PatternError(
            "E304",
            f"the quantifiers and alternatives stand for more than {MOST_VARIANTS} sequences",
            advice="write narrower quantifiers, or several rules",
        )


class _Writer:
    """Writes elements out as strands, in the order of preference."""

    def __init__(self, scope: RuleScope, predicates: Predicates, split: Split) -> None:
        self.scope = scope
        self.predicates = predicates
        self.split = split

    def sequence(self, elements: Sequence[Element]) -> list[_Strand]:
        """Elements one after another; decisions of earlier elements weigh more."""
        strands = [_Strand()]
        for element in elements:
            written = [strand.as_element(element.name) for strand in self._repeated(element)]
            _check_count(len(strands) * len(written))
            strands = [strand.then(more) for strand in strands for more in written]
        return strands

    def _repeated(self, element: Element) -> list[_Strand]:
        """A body as often as its quantifier says: one more repetition before no more."""
        once = self._body(element.body)
        tails: list[_Strand] = [_Strand()]
        for count in reversed(range(element.maximum)):
            _check_count(len(once) * len(tails))
            more = [first.then(tail) for first in once for tail in tails]
            tails = [*more, _Strand()] if count >= element.minimum else more
        return tails

    def _body(self, body: object) -> list[_Strand]:
        if isinstance(body, Anchor):
            side = ANCHOR_START if body.side == "start" else ANCHOR_END
            return [_Strand(anchors=((side, 0),))]
        if isinstance(body, Group):
            single = self._single_tests(body)
            if single is not None:
                return [self._choice(single)]
            return list(chain.from_iterable(map(self.sequence, body.alternatives)))
        if isinstance(body, Literal):
            of_word = self.predicates.of_word
            cuts = spellings(body, self.scope.options, self.split)
            return [_Strand(tuple(of_word(word, body, self.scope) for word in cut)) for cut in cuts]
        return [self._choice([self._test(body)])]

    def _is_split(self, body: object) -> bool:
        if not isinstance(body, Literal):
            return False
        return any(len(words) > 1 for words in spellings(body, self.scope.options, self.split))

    def _test(self, body: object) -> _TagChoice:
        test = self.predicates.of_test(body, self.scope, self.split)  # type: ignore[arg-type]
        return _TagChoice(test, body.name if isinstance(body, Tag) else None)

    def _choice(self, choices: Sequence[_TagChoice]) -> _Strand:
        """Alternatives of one token each are one test."""
        test = self.predicates.any_of(choice.predicate for choice in choices)
        tagged = any(choice.tag is not None for choice in choices)
        return _Strand(tests=(test,), tags=((0, tuple(choices)),) if tagged else ())

    def _single_tests(self, group: Group) -> list[_TagChoice] | None:
        """The tests of a group whose alternatives are one plain token each, else None."""
        choices: list[_TagChoice] = []
        for alternative in group.alternatives:
            if len(alternative) != 1:
                return None
            element = alternative[0]
            if element.name is not None or (element.minimum, element.maximum) != (1, 1):
                return None
            body = element.body
            if isinstance(body, Group):
                inner = self._single_tests(body)
                if inner is None:
                    return None
                choices.extend(inner)
            elif isinstance(body, Anchor) or self._is_split(body):
                return None
            else:
                choices.append(self._test(body))
        return choices
