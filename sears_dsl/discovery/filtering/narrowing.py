"""Where a rule reads well and where it does not: the shortest condition that tells these apart.

*not* → *n't* reads well after an auxiliary ("isn't") and nowhere else ("andn't"). Some verdicts on
its rewrites, by people or a score, are enough to see this: ``not -> ~n't / AUX __``.

The condition is on the word before, the word after, or a word that the rule matches. A narrowed
rule acts at no place where the rule does not, and of the judged places at which it acts at most a
share δ was refused. Of the rules that come out, each is shorter than the next one, which acts at
more places. Nothing here asks a model. Narrowing costs a pass over the places for each of some tens
of conditions.

A condition is chosen by its description length (Rissanen, "Modeling by shortest data description",
1978): the bits that write it, and for each judged place that it puts on the wrong side the bits
that name the place. So one refused rewrite does not cut a rule to pieces, and one accepted rewrite
among many refused ones is given up. Where δ is 0 verdicts are taken at their word, as those of
people are: an accepted place is given up only where no condition keeps all of them.

The verdicts that choose a condition will also confirm it, so that what a narrowed rule is worth is
measured on other places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import Literal as OneOf
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sears_dsl.effects.applications import MINED
from sears_dsl.engine.matcher import Matcher
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import (
    NO_METADATA,
    Anchor,
    AttributeTest,
    Conjunction,
    Element,
    Group,
    Literal,
    Negation,
    Options,
    Piece,
    Reference,
    Rule,
    Tag,
    TagCopy,
    TagsetOption,
    Test,
)
from sears_dsl.language.tagsets import BARE_FINE, COARSE, FINE, coarse_of
from sears_dsl.language.words import KEYWORDS, objection
from sears_dsl.runtime.array_types import Int32Array
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens, TokenType

ACCEPTED, REFUSED, NOT_JUDGED = 1, 0, -1
"""The verdicts on a place."""

_OneToken = TypeVar("_OneToken", bound=Test | Anchor)
_Kind: TypeAlias = OneOf["pos", "tag", "lower", "text"]

# Bits that choose one of the coarse tags, of the fine tags, of the words that are frequent enough
# to stand in a condition; one of the two ends of a text; and whether the choice is negated.
_BITS: dict[_Kind, float] = {
    "pos": log2(len(COARSE["ud2"])), "tag": log2(len(FINE)), "lower": 10.0, "text": 10.0,
}  # fmt: skip
_EDGE_BITS = 1.0
_NEGATION_BITS = 1.0
# Signs of one kind in a condition, at most: nobody reads a longer list.
_MOST_SIGNS = 8
# What giving up an accepted place costs where verdicts are certain: more than any condition.
_AT_ITS_WORD = 1_000.0
# A longer condition has to be worth reading: it acts at so many times the places of a shorter one.
_WORTH = 1.1


class Sites(NamedTuple):
    """Places where a rule acts: parallel arrays of rows, first tokens, one past the last tokens."""

    rows: Int32Array
    starts: Int32Array
    ends: Int32Array


@dataclass(frozen=True, slots=True, eq=False)
class NarrowedRule:
    """A rule under a condition, the condition's bits, and bool (sites,): where it still acts."""

    rule: Rule
    bits: float
    holds: NDArray[np.bool_]


def sites_of(matcher: Matcher, tokens: Tokens) -> Sites:
    """The first place of each row where the matcher's only rule acts, in the order of the rows."""
    matches = matcher.find(tokens)
    return Sites(matches.rows, matches.starts, matches.ends)


def narrow(
    rule: Rule,
    tokens: Tokens,
    sites: Sites,
    verdicts: NDArray[np.integer],
    *,
    tagger: Tagger,
    options: Options = MINED,
    delta: float = 0.0,
    least: int = 1,
    negations: bool = True,
    most: int = 3,
) -> list[NarrowedRule]:
    """The rule under the shortest conditions that keep accepted places and exclude refused ones.

    There is a verdict a place. Of the judged places at which a narrowed rule acts, a share of
    ``delta`` may be refused. A
    condition may name a tag or word with at least ``least`` accepted places; places that nobody
    judged follow it. With ``negations`` a condition may say what must not stand there; such a rule
    acts beside words that nobody judged. The shortest description of the verdicts comes first, then
    longer ones that act at more places. There is none if no place was refused, or if no condition
    excludes enough of the refused ones.
    """
    known = np.asarray(verdicts)
    if not (known == REFUSED).any():
        return []
    forms: dict[str, tuple[float, NarrowedRule]] = {}
    naming_a_site = log2(2 * len(known))
    for place in _places(rule, tokens, sites, options, tagger):
        for kind in place.kinds:
            signs = _signs(tokens, place, kind, options.tagset, tagger)
            for condition in _conditions(signs, known, delta, least, negations=negations):
                holds = signs.where(condition)
                if not _is_useful(holds, known, delta):
                    continue
                new = place.under(condition, kind, signs.names)
                bits = condition.bits(kind)
                wrong = int((holds != (known == ACCEPTED))[known != NOT_JUDGED].sum())
                length = bits + wrong * (naming_a_site if delta else _AT_ITS_WORD)
                text = print_rule(new)
                if text not in forms or length < forms[text][0]:
                    forms[text] = (length, NarrowedRule(new, bits, holds))
    unnarrowed = int((known == REFUSED).sum()) * naming_a_site
    return _shortest(forms, most, unnarrowed)


def _is_useful(holds: NDArray[np.bool_], known: NDArray[np.integer], delta: float) -> bool:
    """Whether a condition excludes some refused places, and keeps enough of the others."""
    refused, accepted = (int((holds & (known == each)).sum()) for each in (REFUSED, ACCEPTED))
    if refused == int((known == REFUSED).sum()) or not holds.any():
        return False
    if not accepted and (known == ACCEPTED).any():
        return False
    return _keeps(accepted + refused, refused, delta)


def _keeps(judged: int, refused: int, delta: float) -> bool:
    # 0.1 of 30 is 3, though 0.1 * 30 may come out below.
    return refused <= delta * judged + 1e-9


def _shortest(
    forms: dict[str, tuple[float, NarrowedRule]], most: int, unnarrowed: float
) -> list[NarrowedRule]:
    """The shortest descriptions, each longer one acting at more places.

    A longer one has to be shorter than no condition at all with a list of the refused places: one
    that excepts the one refused word has learned nothing.
    """
    order = sorted(forms, key=lambda text: (forms[text][0], -forms[text][1].holds.sum(), text))
    chosen: list[NarrowedRule] = []
    acts = 0
    for text in order:
        length, each = forms[text]
        count = int(each.holds.sum())
        if len(chosen) < most and (not chosen or (count >= _WORTH * acts and length < unnarrowed)):
            chosen.append(each)
            acts = count
    return chosen


@dataclass(frozen=True, slots=True)
class _Condition:
    """What stands, or does not stand, at a place: signs by number; or the end of the text."""

    signs: tuple[int, ...]
    negated: bool = False
    edge: bool = False

    def bits(self, kind: _Kind) -> float:
        """Its length in bits: the signs, and a bar between two."""
        bars = max(0, len(self.signs) + self.edge - 1)
        return (
            len(self.signs) * _BITS[kind] + bars
            + _EDGE_BITS * self.edge + _NEGATION_BITS * self.negated
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Signs:
    """The signs of one kind that stand at one place of all sites."""

    names: tuple[str, ...]  # the tag or word that each sign is
    # int (sites,): the sign of each; -1 where there is no token, or none that a rule can name
    number: NDArray[np.int64]
    there: NDArray[np.bool_]
    edges: bool  # whether a rule can say there that the text ends

    def where(self, condition: _Condition) -> NDArray[np.bool_]:
        """The sites at which a condition holds."""
        among = np.isin(self.number, condition.signs)
        holds = self.there & ~among if condition.negated else among
        return holds | (~self.there & condition.edge)


def _conditions(
    signs: _Signs, known: NDArray[np.integer], delta: float, least: int, *, negations: bool
) -> Iterator[_Condition]:
    """Conditions worth a try: some of the accepted signs, or, negated, some of the refused."""
    named = signs.number >= 0
    accepted, refused, places = (
        np.bincount(signs.number[those], minlength=len(signs.names)).tolist()
        for those in (named & (known == ACCEPTED), named & (known == REFUSED), named)
    )
    at_edge = [int((~signs.there & (known == each)).sum()) for each in (ACCEPTED, REFUSED)]
    edge = signs.edges and at_edge[0] >= least and _keeps(sum(at_edge), at_edge[1], delta)
    good = [
        sign
        for sign in range(len(signs.names))
        if accepted[sign] >= least and _keeps(accepted[sign] + refused[sign], refused[sign], delta)
    ]
    if not good and not any(accepted):
        # No place was accepted: take the sign without refusals at which the rule acts most.
        good = [sign for sign in range(len(signs.names)) if not refused[sign]]
        good = sorted(good, key=lambda sign: -places[sign])[:1]
    good.sort(key=lambda sign: (-accepted[sign], -places[sign], sign))
    for size in range(1, min(len(good), _MOST_SIGNS) + 1):
        yield _Condition(tuple(good[:size]))
        if edge:
            yield _Condition(tuple(good[:size]), edge=True)
    if edge:
        yield _Condition((), edge=True)
    if not negations:
        return
    bad = [sign for sign in range(len(signs.names)) if refused[sign]]
    bad.sort(key=lambda sign: (-refused[sign] / (accepted[sign] + refused[sign]), -refused[sign]))
    # The end of a text is not a token: `!x` alone would leave it out, whatever is known of it.
    also = signs.edges and not signs.there.all() and not at_edge[1]
    for size in range(1, min(len(bad), _MOST_SIGNS) + 1):
        for edges in {False, also}:
            yield _Condition(tuple(bad[:size]), negated=True, edge=edges)


def _signs(
    tokens: Tokens, place: _TokenPlace, kind: _Kind, tagset: TagsetOption, tagger: Tagger
) -> _Signs:
    """The signs of a kind at a place; a tag or word that no rule can name there has none."""
    types = np.where(place.there, tokens.type_ids[np.where(place.there, place.tokens, 0)], -1)
    distinct, inverse = np.unique(types, return_inverse=True)
    numbers: dict[str, int] = {}
    of_type = []
    for each in distinct.tolist():
        name = None if each < 0 else _name(tokens.types[each], kind, tagset, tagger)
        of_type.append(-1 if name is None else numbers.setdefault(name, len(numbers)))
    number = np.array(of_type, np.int64)[inverse]
    return _Signs(tuple(numbers), number, place.there, edges=place.base is None)


def _name(token: TokenType, kind: _Kind, tagset: TagsetOption, tagger: Tagger) -> str | None:
    """What a rule calls a token; None where it has no name of this kind."""
    if kind == "pos":
        coarse = coarse_of(token.coarse, token.fine, tagset)
        return coarse if coarse in COARSE[tagset] else None
    if kind == "tag":
        # `SYM` is the coarse tag.
        named = token.fine in BARE_FINE and token.fine not in COARSE[tagset]
        return token.fine if named else None
    word = token.text.lower() if kind == "lower" else token.text
    return word if len(tagger.split(word)) == 1 else None


def _any_of(tests: Sequence[_OneToken]) -> _OneToken | Group:
    return tests[0] if len(tests) == 1 else Group(tuple((Element(test),) for test in tests))


def _test(name: str, kind: _Kind) -> Test:
    if kind in ("pos", "tag"):
        return Tag(name)
    quoted = name in KEYWORDS or any(objection(name, place) for place in ("sequence", "group"))
    return Literal(name, quoted=quoted, ignore_case=quoted and kind == "lower")


@dataclass(frozen=True, slots=True, eq=False)
class _TokenPlace:
    """A token beside what a rule replaces, or one that it matches, at every site."""

    rule: Rule
    # The context, or the number of the element in the antecedent
    side: OneOf["left", "right"] | int
    # What the rule asks of the token; None where it asks nothing, not even that it is there
    base: tuple[AttributeTest, ...] | None
    tokens: NDArray[np.int64]
    there: NDArray[np.bool_]
    kinds: tuple[_Kind, ...]  # of signs that may narrow it

    def under(self, condition: _Condition, kind: _Kind, names: Sequence[str]) -> Rule:
        """The rule under a condition, whose signs are the tags or words of these names."""
        chosen = sorted(names[sign] for sign in condition.signs)
        body: Test | Anchor | Group
        if self.base is None:
            edge = Anchor("end" if self.side == "right" else "start")
            alone = [_test(name, kind) for name in chosen]
            if condition.negated:
                alone = [Negation(_any_of(alone))]
            body = _any_of([edge, *alone] if condition.edge else alone)
        else:
            tests = [AttributeTest(kind, name, condition.negated) for name in chosen]
            sets = [tests] if condition.negated else [[test] for test in tests]
            body = _any_of([Conjunction((*self.base, *some)) for some in sets])
        if self.side == "left":
            return replace(self.rule, left=(Element(body),))
        if self.side == "right":
            return replace(self.rule, right=(Element(body),))
        own = list(self.rule.antecedent)
        own[self.side] = replace(own[self.side], body=body)
        return replace(self.rule, antecedent=tuple(own), consequent=_by_number(self.rule))


def _places(
    rule: Rule, tokens: Tokens, sites: Sites, options: Options, tagger: Tagger
) -> Iterator[_TokenPlace]:
    """Where a condition can be put: beside the span, and at each word of it."""
    word: _Kind = "text" if options.case == "exact" else "lower"
    rule = replace(rule, name=None, metadata=NO_METADATA, span=None)
    begins = tokens.row_offsets[sites.rows].astype(np.int64)
    ends = tokens.row_offsets[sites.rows + 1]
    beside: tuple[tuple[OneOf["left", "right"], tuple[Element, ...], NDArray[np.int64]], ...] = (
        ("left", rule.left, begins + sites.starts - 1),
        ("right", rule.right, begins + sites.ends),
    )
    for side, elements, at in beside:
        inside = (at >= begins) & (at < ends)
        if not elements:
            yield _TokenPlace(rule, side, None, at, inside, ("pos", "tag", word))
        elif len(elements) == 1 and (base := _tests_of(elements[0], options, tagger)) is not None:
            yield _TokenPlace(rule, side, base, at, inside, _kinds(base, word))
    bases = [_tests_of(element, options, tagger) for element in rule.antecedent]
    if None in bases or (sites.ends - sites.starts != len(bases)).any() or not _is_countable(rule):
        return
    for number, base in enumerate(bases):
        at = begins + sites.starts + number
        everywhere = np.ones(len(at), bool)
        yield _TokenPlace(rule, number, base, at, everywhere, _kinds(base or (), word))


def _kinds(base: Sequence[AttributeTest], word: _Kind) -> tuple[_Kind, ...]:
    """What narrows a test: a fine tag narrows a coarse one, a word either, a tag a word."""
    attributes = {test.attribute for test in base if not test.negated}
    if attributes & {"text", "lower", "lemma"}:
        return tuple(kind for kind in ("pos", "tag") if kind not in attributes)
    return (word,) if "tag" in attributes else ("tag", word)


def _tests_of(
    element: Element, options: Options, tagger: Tagger
) -> tuple[AttributeTest, ...] | None:
    """What an element asks of its one token, as attribute tests; None where these cannot say it."""
    body = element.body
    if (element.minimum, element.maximum) != (1, 1):
        return None
    if isinstance(body, Conjunction):
        return body.tests
    if isinstance(body, AttributeTest):
        return (body,)
    if isinstance(body, Tag):
        coarse = body.name in COARSE[options.tagset]
        return (AttributeTest("pos" if coarse else "tag", body.name),)
    if not isinstance(body, Literal) or len(tagger.split(body.text)) != 1:
        return None
    if body.quoted:
        exact = not body.ignore_case
    else:
        smart = body.text != body.text.lower()
        exact = {"exact": True, "ignore": False, "smart": smart}[options.case]
    return (AttributeTest("text" if exact else "lower", body.text if exact else body.text.lower()),)


def _is_countable(rule: Rule) -> bool:
    """Whether the antecedent has an element for each tag that the consequent copies."""
    return all(
        sum(_is_tag(element, tag) for element in rule.antecedent) >= count
        for tag, count in Counter(
            piece.tag for piece in rule.consequent if isinstance(piece, TagCopy)
        ).items()
    )


def _is_tag(element: Element, tag: str) -> bool:
    return isinstance(element.body, Tag) and element.body.name == tag


def _by_number(rule: Rule) -> tuple[Piece, ...]:
    """The consequent with each copied tag as a reference to the element that it copies.

    ``ADV is -> ADV 's`` copies what the antecedent names ``ADV``; under a condition it is not named
    so any more.
    """
    places = {
        tag: iter([n for n, each in enumerate(rule.antecedent, 1) if _is_tag(each, tag)])
        for tag in {piece.tag for piece in rule.consequent if isinstance(piece, TagCopy)}
    }
    return tuple(
        Reference(next(places[piece.tag]), glued=piece.glued)
        if isinstance(piece, TagCopy)
        else piece
        for piece in rule.consequent
    )
