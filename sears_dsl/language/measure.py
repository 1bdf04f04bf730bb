"""What a rule says without any text: lengths, variants, tags, what it changes, what it draws.

Counts are exact for tokens as written (a word that the tokenizer splits counts as one here).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from sears_dsl.language import rule as syntax

MOST_VARIANTS = 64
"""How many flat variants a rule may expand to."""

# Functions after which a word is the same word to a reader.
_CASED = {*syntax.CASINGS, *syntax.NOISE_KINDS} - {"neighbor", "paraphrase"}
# Counts stop growing here, so that a hostile rule costs nothing.
_MANY = 10**6


def every_element(rule: syntax.Rule) -> Iterator[syntax.Element]:
    """The elements of a rule as written, those inside of groups and contexts too."""
    waiting = [*reversed(rule.elements)]
    while waiting:
        element = waiting.pop()
        yield element
        if isinstance(element.body, syntax.Group):
            waiting += reversed([*chain.from_iterable(element.body.alternatives)])


def shortest(element: syntax.Element) -> int:
    """Fewest tokens that the element can match."""
    one = 0 if isinstance(element.body, syntax.Anchor) else 1
    if isinstance(element.body, syntax.Group):
        one = min((sum(map(shortest, each)) for each in element.body.alternatives), default=0)
    return min(one * element.minimum, _MANY)


def longest(element: syntax.Element) -> int:
    """Most tokens that the element can match."""
    one = {syntax.Anchor: 0, syntax.WholeUnit: _MANY}.get(type(element.body), 1)
    if isinstance(element.body, syntax.Group):
        one = max((sum(map(longest, each)) for each in element.body.alternatives), default=0)
    return min(one * element.maximum, _MANY)


def is_one_test(group: syntax.Group) -> bool:
    """Whether every alternative is a single plain test, so that the group is one predicate.

    A group of such alternatives is itself one.
    """
    return all(
        len(alternative) == 1
        and not isinstance(alternative[0].body, syntax.Anchor)
        and (alternative[0].minimum, alternative[0].maximum) == (1, 1)
        and alternative[0].name is None
        and (not isinstance(body := alternative[0].body, syntax.Group) or is_one_test(body))
        for alternative in group.alternatives
    )


def variant_count(elements: Sequence[syntax.Element]) -> int:
    """How many flat variants elements expand to, as written."""
    count = 1
    for element in elements:
        count = min(count * _expansions(element), _MANY)
    return count


def _expansions(element: syntax.Element) -> int:
    body = element.body
    one = 1
    if isinstance(body, syntax.Group) and not is_one_test(body):
        one = sum(map(variant_count, body.alternatives))
    high = min(element.maximum, 8)
    counts = range(min(element.minimum, high), high + 1)
    return min(sum(int(one**count) for count in counts), _MANY)


def most_tags(elements: Sequence[syntax.Element]) -> Counter[str]:
    """For each tag, the most tokens that bare tags in these elements can match."""
    total: Counter[str] = Counter()
    for element in elements:
        body = element.body
        if isinstance(body, syntax.Tag):
            total[body.name] += element.maximum
        elif isinstance(body, syntax.Group):
            most: Counter[str] = Counter()
            for alternative in body.alternatives:
                most |= most_tags(alternative)
            for tag, count in most.items():
                total[tag] += count * element.maximum
    return total


def is_unchanged(rule: syntax.Rule, case: syntax.CaseOption) -> bool:
    """Whether the consequent only repeats what the antecedent matched.

    A casing that the rule may change (``"iPhone"i -> iPhone``) counts as a change, and so does
    glue. Copies are what was there; words that are written again may still differ from it in
    casing, apostrophes and spaces (``don't -> don't`` where the text has another apostrophe).
    """
    elements = [
        element for element in rule.antecedent if not isinstance(element.body, syntax.Anchor)
    ]
    if not elements or any(piece.glued for piece in rule.consequent):
        return False
    literals = [e.body for e in elements if isinstance(e.body, syntax.Literal) and e.maximum == 1]
    texts = [piece.text for piece in rule.consequent if isinstance(piece, syntax.Text)]
    if len(literals) == len(elements) and len(texts) == len(rule.consequent):
        same = " ".join(literal.text for literal in literals) == " ".join(texts)
        return same and all(_keeps_case(literal, case) for literal in literals)
    return _copies_in_order(rule, elements, case)


def _keeps_case(literal: syntax.Literal, case: syntax.CaseOption) -> bool:
    folds = literal.ignore_case if literal.quoted else case == "ignore"
    return not folds or literal.text == literal.text.lower()


def _copies_in_order(
    rule: syntax.Rule, elements: Sequence[syntax.Element], case: syntax.CaseOption
) -> bool:
    """Whether the pieces stand for all elements, each once, in their order."""
    remaining = list(elements)
    for place, piece in enumerate(rule.consequent):
        if isinstance(piece, syntax.Reference) and piece.target == 0 and not piece.functions:
            if place:
                return False
            remaining = []
            continue
        while remaining and not _copies(piece, remaining[0], rule, case):
            parts = _parts(remaining.pop(0))
            if not parts:
                return False
            remaining = [*parts, *remaining]
        if not remaining:
            return False
        remaining.pop(0)
    return not remaining


def _parts(element: syntax.Element) -> list[syntax.Element]:
    """The elements that ``(DET NOUN)`` or ``NOUN{2}`` stands for; none for other elements."""
    body, count = element.body, element.maximum
    if element.minimum != count:
        return []
    if not isinstance(body, syntax.Group):
        # The name of repetitions is that of all of them.
        one = replace(element, minimum=1, maximum=1, name=None)
        return [one] * count if count > 1 else []
    if count > 1 or len(body.alternatives) > 1:
        return []
    return [each for each in body.alternatives[0] if not isinstance(each.body, syntax.Anchor)]


def _copies(
    piece: syntax.Piece, element: syntax.Element, rule: syntax.Rule, case: syntax.CaseOption
) -> bool:
    """Whether a piece stands for an element as it is."""
    body, once = element.body, element.maximum == 1
    if isinstance(piece, syntax.Text):
        same = isinstance(body, syntax.Literal) and body.text == piece.text
        return once and same and _keeps_case(body, case)  # type: ignore[arg-type]
    if isinstance(piece, syntax.TagCopy):
        return once and body == syntax.Tag(piece.tag)
    if not isinstance(piece, syntax.Reference) or piece.functions:
        return False
    position = next((n for n, each in enumerate(rule.antecedent, 1) if each is element), None)
    return piece.target in {position, element.name}


def may_lack_a_colon(rule: syntax.Rule) -> bool:
    """Whether a rule about the word `rule` may be one whose id has lost its colon."""
    first, *rest = rule.antecedent
    if first.body != syntax.Literal("rule") or len(rest) != 1:
        return first.body == syntax.Literal("rule") and len(rest) > 1
    targets = [getattr(piece, "target", None) for piece in rule.consequent]
    return rest[0].name is not None and rest[0].name not in targets


def is_unit(rule: syntax.Rule) -> bool:
    """Whether a rule is about whole units."""
    return len(rule.antecedent) == 1 and isinstance(rule.antecedent[0].body, syntax.WholeUnit)


def draws(rule: syntax.Rule) -> bool:
    """Whether what a rule writes, or where, is drawn or looked up in the whole unit."""
    return rule.metadata.rate is not None or _draws_members(rule) or bool(noise_in(rule))


def draws_text(rule: syntax.Rule) -> bool:
    """Whether what a rule writes in an instance depends on its unit and its place there.

    Neighbours do not: a word has the same ones wherever it stands.
    """
    return _draws_members(rule) or bool(noise_in(rule) - {"neighbor"}) or is_unit(rule)


def _draws_members(rule: syntax.Rule) -> bool:
    return any(isinstance(piece, syntax.Drawn) for piece in rule.consequent)


def writes_the_same_words(rule: syntax.Rule) -> bool:
    r"""Whether a rule writes the words that it matched, in other characters or another case.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("_ -> $1.typo\nWhat -> what\na:NOUN b:VERB -> $b $a\nx -> y").rules
        >>> list(map(writes_the_same_words, rules))
        [True, True, False, False]
    """
    is_whole = len(rule.consequent) == 1 and getattr(rule.consequent[0], "target", None) == 0
    if not is_whole and len(rule.consequent) != len(rule.antecedent):
        return False
    elements = (None,) if is_whole else rule.antecedent
    return all(
        _is_cased(piece, element, 0 if element is None else place)
        for place, (piece, element) in enumerate(zip(rule.consequent, elements, strict=True), 1)
    )


def _is_cased(piece: syntax.Piece, element: syntax.Element | None, place: int) -> bool:
    """Whether a piece writes what an element, or the antecedent, matched as the same words."""
    if isinstance(piece, syntax.Text):
        return (
            element is not None
            and isinstance(element.body, syntax.Literal)
            and element.body.text.casefold() == piece.text.casefold()
            and (element.minimum, element.maximum) == (1, 1)
        )
    return (
        isinstance(piece, syntax.Reference)
        and piece.target in {place, element and element.name}
        and {each.kind if isinstance(each, syntax.Noise) else each for each in piece.functions}
        <= _CASED
    )


def noise_in(rule: syntax.Rule) -> set[str]:
    """The kinds of noise that a rule writes."""
    functions = (f for p in rule.consequent if isinstance(p, syntax.Reference) for f in p.functions)
    return {function.kind for function in functions if isinstance(function, syntax.Noise)}


def causes_of_no_rewrite(rules: Iterable[syntax.Rule]) -> str:
    r"""Why rules with these functions may write nothing where they match.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> causes_of_no_rewrite(parse("film -> $1.homoglyph").rules)
        'no character there can change this way'
        >>> causes_of_no_rewrite(parse("VERB -> $1.VBD / __ NOUN\nNOUN -> $1.neighbor").rules)
        'no single inflected form fits or the word has no neighbour'
    """
    pieces = [piece for rule in rules for piece in rule.consequent]
    called = {getattr(f, "kind", f) for piece in pieces for f in getattr(piece, "functions", ())}
    inflecting = any(isinstance(piece, syntax.Inflected) for piece in pieces)
    causes = {
        "no single inflected form fits": inflecting or called & {*syntax.INFLECTIONS},
        "the word has no neighbour": "neighbor" in called,
        "there is no paraphrase": "paraphrase" in called,
        "no character there can change this way": called
        & {"homoglyph", "typo", *syntax.TYPING_KINDS},
    }
    reasons = " or ".join(cause for cause, there in causes.items() if there)
    return reasons or "the new text is the old one or does not fit there"
