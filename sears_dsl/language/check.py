"""Rules → what is wrong with what they mean.

In: a rule (parsed or built) and its `RuleScope`. Out: `Diagnostic`s, all of them at once, with the
places of the tree; whoever knows the file adds path and source line. Always holds: a rule without
findings can be compiled, but for what only the tokenizer or the inflection tables know. Codes E2
are about names, E3 about meaning; grammar/README.md explains each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from sears_dsl.errors import Diagnostic, Span
from sears_dsl.language.check_noise import check_noise, is_unit
from sears_dsl.language.check_tests import check_tag, check_test, english_alone
from sears_dsl.language.measure import (
    MOST_VARIANTS,
    is_unchanged,
    longest,
    most_tags,
    shortest,
    variant_count,
)
from sears_dsl.language.rule import (
    FUNCTIONS,
    INFLECTIONS,
    Anchor,
    Element,
    Group,
    Inflected,
    Literal,
    Reference,
    Rule,
    RuleScope,
    TagCopy,
    WholeUnit,
)
from sears_dsl.language.words import as_text, code, nearest

_MOST_REPETITIONS = 8


def check_rule(rule: Rule, scope: RuleScope) -> list[Diagnostic]:
    """Everything that is wrong with the names and the meaning of one rule."""
    if _is_plain(rule):
        return []
    return _Checker(rule, scope).check()


def _is_plain(rule: Rule) -> bool:
    """Whether the rule replaces some bare literals by other text, which is always right."""
    if not rule.antecedent or rule.left or rule.right or rule.metadata.rate is not None:
        return False
    words = []
    for element in rule.antecedent:
        body = element.body
        if not isinstance(body, Literal) or element.minimum != 1 or element.maximum != 1:
            return False
        if element.name:
            return False
        words.append(body.text)
    texts = [getattr(piece, "text", None) for piece in rule.consequent]
    return None not in texts and words != texts and " ".join(map(str, texts)) != " ".join(words)


class _Checker:
    """One pass over one rule."""

    def __init__(self, rule: Rule, scope: RuleScope) -> None:
        self._rule = rule
        self._scope = scope
        self._findings: list[Diagnostic] = []
        self._names: dict[str, Element] = {}

    def check(self) -> list[Diagnostic]:
        rule = self._rule
        for element in (*rule.left, *rule.antecedent, *rule.right):
            self._element(element)
        self._anchors((*rule.left, *rule.antecedent, *rule.right))
        self._consequent()
        self._whole()
        self._findings.extend(check_noise(rule, self._scope))
        return self._findings

    def _add(self, code: str, message: str, span: Span | None, hint: str = "") -> None:
        self._findings.append(Diagnostic(code, message, span or self._rule.span, hint))

    # ------------------------------------------------------------ antecedent

    def _element(self, element: Element) -> None:
        body = element.body
        span = element.span
        if element.name:
            if element.name in self._names:
                self._add(
                    "E215",
                    f"two elements named `{element.name}`",
                    span,
                    "give one of them another name",
                )
            self._names[element.name] = element
        self._quantifier(element)
        if isinstance(body, Group):
            for alternative in body.alternatives:
                for inner in alternative:
                    self._element(inner)
        elif not isinstance(body, Anchor | WholeUnit):
            for code, message, hint in check_test(body, self._scope):
                self._add(code, message, span, hint)

    def _quantifier(self, element: Element) -> None:
        low, high = element.minimum, element.maximum
        if (low, high) == (1, 1):
            return
        if high > _MOST_REPETITIONS:
            self._add(
                "E305",
                f"up to {high} repetitions",
                element.span,
                f"a quantifier goes up to {_MOST_REPETITIONS}",
            )
        elif low > high or high < 1 or low < 0:
            self._add(
                "E305",
                f"from {low} to {high} repetitions",
                element.span,
                "the first number is at most the second, which is 1 to 8: `NOUN{1,3}`",
            )
        if isinstance(element.body, Anchor):
            self._add(
                "E307",
                "an anchor with a quantifier",
                element.span,
                "an anchor is there or not: that makes two rules",
            )

    def _anchors(self, elements: Sequence[Element]) -> None:
        for position, element in enumerate(elements):
            first, last = position == 0, position == len(elements) - 1
            for side, begins, ends in _anchor_places(element, first, last):
                if element.name and isinstance(element.body, Anchor):
                    self._add("E307", "an anchor with a name", element.span, "it has no text")
                elif side == "start" and not begins:
                    self._add(
                        "E307",
                        "`<s>` with something before it",
                        element.span,
                        "the start of the unit can only come first, context included",
                    )
                elif side == "end" and not ends:
                    self._add(
                        "E307",
                        "`</s>` with something after it",
                        element.span,
                        "the end of the unit can only come last, context included",
                    )

    # ------------------------------------------------------------ consequent

    def _consequent(self) -> None:
        copies: Counter[str] = Counter()
        has = most_tags(self._rule.antecedent)
        # A mistyped tag of the antecedent may be the one that is missing there.
        mistyped = any(finding.code in {"E201", "E202"} for finding in self._findings)
        for piece in self._rule.consequent:
            if isinstance(piece, TagCopy):
                problems = list(check_tag(piece.tag, self._scope.options))
                for code, message, hint in problems:
                    self._add(code, message, piece.span, hint)
                copies[piece.tag] += 1
                if not (problems or mistyped) and copies[piece.tag] == has[piece.tag] + 1:
                    self._too_many(piece, has[piece.tag])
            elif isinstance(piece, Reference):
                inflects = False
                for function in piece.functions:
                    inflects |= function in INFLECTIONS
                    if isinstance(function, str) and function not in FUNCTIONS:
                        self._add(
                            "E208",
                            f"`.{function}` is no function",
                            piece.span,
                            nearest(function, FUNCTIONS),
                        )
                self._target(piece.target, piece.span, inflects=inflects)
                self._inflection(piece.span, inflects)
            elif isinstance(piece, Inflected):
                self._target(piece.target, piece.span, inflects=True)
                self._inflection(piece.span, True)

    def _inflection(self, span: Span | None, inflects: bool) -> None:
        options = self._scope.options
        if inflects and options.language != "en":
            number, message, hint = english_alone(
                "inflections are those of English", options, "write a rule for each form"
            )
            self._add(number, message, span, hint)

    def _too_many(self, piece: TagCopy, has: int) -> None:
        if has:
            message = f"`{piece.tag}` more often than the {has} of the antecedent"
            hint = "a token is copied twice by its number or name: `$1 $1`"
        else:
            message = f"`{piece.tag}` copies a token, but the antecedent has no bare `{piece.tag}`"
            hint = f"an element is copied by number or name: `$1`\n{as_text(piece.tag)}"
        self._add("E303", message, piece.span, hint)

    def _target(self, target: int | str, span: Span | None, *, inflects: bool) -> None:
        elements = self._rule.antecedent
        if target == 0:
            if not elements:
                self._add(
                    "E318",
                    "`$0` in an insertion, which replaces nothing",
                    span,
                    "name an element of the context: `<> -> $x / x:NOUN __`",
                )
            elif inflects and sum(map(longest, elements)) > 1:
                self._several("$0", span)
            return
        if isinstance(target, int):
            if target > len(elements):
                count = len(elements)
                self._add(
                    "E209",
                    f"`${target}`, but the antecedent has {count} "
                    f"element{'s' if count != 1 else ''}",
                    span,
                    "elements are counted as written, a group as one; context elements "
                    f"are referred to by name\n{as_text(f'${target}')}",
                )
                return
            element = elements[target - 1]
        elif target in self._names:
            element = self._names[target]
        else:
            known = [f"${name}" for name in self._names]
            hint = (
                nearest(f"${target}", known)
                if known
                else f"name an element: {code(f'{target}:NOUN')}"
            )
            self._add("E209", f"`${target}` refers to nothing", span, hint)
            return
        if isinstance(element.body, Anchor):
            self._add(
                "E318",
                f"`${target}` is an anchor, which has no text",
                span,
                "elements are counted as written, anchors too",
            )
        elif inflects and longest(element) > 1:
            self._several(f"${target}", span)

    def _several(self, target: str, span: Span | None) -> None:
        self._add(
            "E319",
            f"an inflection needs one token, `{target}` can be several",
            span,
            "name the word inside: `(DET? x:NOUN) -> $x.NNS`",
        )

    # ------------------------------------------------------------ the whole

    def _whole(self) -> None:
        rule = self._rule
        if not rule.antecedent:
            if not (rule.left or rule.right):
                self._add(
                    "E302",
                    "an insertion without a context",
                    rule.span,
                    "say where: `<> -> text / left __ right`",
                )
            if not rule.consequent:
                self._add(
                    "E301",
                    "a rule that changes nothing: nothing for nothing",
                    rule.span,
                    "say what is inserted: `<> -> text / left __ right`",
                )
        elif sum(map(shortest, rule.antecedent)) == 0 and not is_unit(rule):
            self._add(
                "E308",
                "an antecedent that can match no token at all",
                rule.span,
                "make one element required; an insertion is written `<> -> text / left __ right`",
            )
        if is_unchanged(rule, self._scope.options.case):
            # A choice that is copied back is how positional references are taught: no error.
            choice = any(isinstance(element.body, Group) for element in rule.antecedent)
            self._add(
                "W605" if choice else "E301",
                "a rule that cannot change anything: both sides are the same",
                rule.span,
                "change the consequent",
            )
        count = variant_count(rule)
        if count > MOST_VARIANTS and not any(f.code == "E305" for f in self._findings):
            shown = f"{count:,}" if count < 10**6 else "more than a million"
            self._add(
                "E304",
                f"quantifiers and groups that expand to {shown} variants",
                rule.span,
                f"at most {MOST_VARIANTS} are allowed; narrow the quantifiers or split "
                "the rule; alternatives of one token each count as one",
            )


def _anchor_places(element: Element, first: bool, last: bool) -> Iterator[tuple[str, bool, bool]]:
    """Each anchor in the element: its side, and whether it can come first or last."""
    body = element.body
    if isinstance(body, Anchor):
        yield body.side, first, last
    elif isinstance(body, Group):
        once = element.maximum == 1
        for alternative in body.alternatives:
            for position, inner in enumerate(alternative):
                begins = first and once and position == 0
                ends = last and once and position == len(alternative) - 1
                yield from _anchor_places(inner, begins, ends)
