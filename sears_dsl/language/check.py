"""Rules → findings about their names and their meaning.

In: a rule (parsed or built) and its `RuleScope`. Out: all `Diagnostic`s at once, with places from
the tree; the caller, who knows the file, adds path and source line. An error in a test on one token
(a tag, an attribute, a set, a pattern, a negation) is a `Problem`, which has no place: whatever
holds the test has one. Always holds: a rule without findings can be compiled, except for what only
the tokenizer or the inflection tables know. Codes E2 are about names, E3 about meaning;
grammar/README.md explains each. Costs a walk over the rule; each distinct pattern is compiled once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, pairwise

from sears_dsl.errors import Diagnostic, Span
from sears_dsl.language import measure
from sears_dsl.language import rule as syntax
from sears_dsl.language.check_drawn import check_noise
from sears_dsl.language.printer import print_test
from sears_dsl.language.tagsets import COARSE, FINE, MOVED, WHITESPACE_TAGS
from sears_dsl.language.words import Problem, as_text, code, nearest, quote

_FOREIGN_TAG = (
    "write NOUN or another universal tag; to test a fine tag of the tagger, write "
    "`tag=ADP-DET`\n"
    "to mean the text itself, quote it"
)
_SPELLED_OUT = {
    "adjective": "ADJ",
    "adverb": "ADV",
    "article": "DET",
    "auxiliary": "AUX",
    "determiner": "DET",
    "interjection": "INTJ",
    "name": "PROPN",
    "number": "NUM",
    "particle": "PART",
    "prep": "ADP",
    "preposition": "ADP",
    "pronoun": "PRON",
    "punctuation": "PUNCT",
    "symbol": "SYM",
}
_NO_SPACE = "remove it: white space is no token, and `What NOUN` fires whatever space lies between"
_MOST_REPETITIONS = 8
_INFLECTIONS = frozenset(syntax.INFLECTIONS)


def check_rule(rule: syntax.Rule, scope: syntax.RuleScope) -> list[Diagnostic]:
    """Everything that is wrong with the names and the meaning of one rule."""
    if _is_plain(rule):
        return []
    return _Checker(rule, scope).check()


def _is_plain(rule: syntax.Rule) -> bool:
    """Whether the rule only replaces literals by other text, which is always right."""
    if not rule.antecedent or rule.left or rule.right:
        return False
    words = []
    for element in rule.antecedent:
        body = element.body
        if not isinstance(body, syntax.Literal) or element.minimum != 1 or element.maximum != 1:
            return False
        if element.name:
            return False
        words.append(body.text)
    texts = [getattr(piece, "text", None) for piece in rule.consequent]
    return None not in texts and " ".join(map(str, texts)) != " ".join(words)


class _Checker:
    """One pass over one rule."""

    def __init__(self, rule: syntax.Rule, scope: syntax.RuleScope) -> None:
        self._rule = rule
        self._scope = scope
        self._findings: list[Diagnostic] = []
        self._names: dict[str, syntax.Element] = {}

    def check(self) -> list[Diagnostic]:
        rule = self._rule
        for element in rule.elements:
            self._element(element)
        self._anchors(rule.elements)
        self._consequent()
        self._whole()
        self._findings.extend(check_noise(rule))
        return self._findings

    def _add(self, code: str, message: str, span: Span | None, hint: str = "") -> None:
        self._findings.append(Diagnostic(code, message, span or self._rule.span, hint))

    # ------------------------------------------------------------ antecedent

    def _element(self, element: syntax.Element) -> None:
        body = element.body
        span = element.span
        if element.name:
            if element.name in self._names:
                hint = "rename one of them"
                self._add("E215", f"two elements are named `{element.name}`", span, hint)
            self._names[element.name] = element
            if isinstance(body, syntax.Anchor):
                hint = "it has no text to refer to"
                self._add("E307", "an anchor cannot have a name", span, hint)
        self._quantifier(element)
        if isinstance(body, syntax.Group):
            for alternative in body.alternatives:
                for inner in alternative:
                    self._element(inner)
        else:
            self._add_all(check_test(body, self._scope), span)

    def _add_all(self, problems: Iterable[Problem], span: Span | None) -> None:
        for number, message, hint in problems:
            self._add(number, message, span, hint)

    def _quantifier(self, element: syntax.Element) -> None:
        low, high = element.minimum, element.maximum
        if (low, high) == (1, 1):
            return
        if high > _MOST_REPETITIONS:
            hint = f"at most {_MOST_REPETITIONS} are allowed"
            self._add("E305", f"{high} repetitions are too many", element.span, hint)
        elif low > high or high < 1 or low < 0:
            hint = "the second number is 1 to 8, and the first is not larger: `NOUN{1,3}`"
            message = f"{low} to {high} repetitions are not possible"
            self._add("E305", message, element.span, hint)
        if isinstance(element.body, syntax.Anchor):
            hint = "make one rule with the anchor and one without it"
            self._add("E307", "an anchor cannot have a quantifier", element.span, hint)

    def _anchors(self, elements: Sequence[syntax.Element]) -> None:
        for position, element in enumerate(elements):
            first, last = position == 0, position == len(elements) - 1
            for side, can_stand in _anchor_places(element, first, last):
                if not can_stand:
                    sign, beside = ("<s>", "before") if side == "start" else ("</s>", "after")
                    message = f"`{sign}` has something {beside} it"
                    hint = f"nothing can come {beside} the {side} of the unit, not even a context"
                    self._add("E307", message, element.span, hint)

    # ------------------------------------------------------------ consequent

    def _consequent(self) -> None:
        options = self._scope.options
        copies: Counter[str] = Counter()
        has = measure.most_tags(self._rule.antecedent)
        # A mistyped tag of the antecedent may be the one that is missing there.
        mistyped = any(finding.code in {"E201", "E202"} for finding in self._findings)
        for piece in self._rule.consequent:
            if isinstance(piece, syntax.TagCopy):
                problems = list(check_tag(piece.tag, options))
                self._add_all(problems, piece.span)
                copies[piece.tag] += 1
                if not (problems or mistyped) and copies[piece.tag] == has[piece.tag] + 1:
                    self._too_many(piece, has[piece.tag])
            elif isinstance(piece, syntax.Reference | syntax.Inflected):
                functions = piece.functions if isinstance(piece, syntax.Reference) else ()
                for function in functions:
                    if isinstance(function, str) and function not in syntax.FUNCTIONS:
                        hint = _other_function(function, piece.target)
                        self._add("E208", f"`.{function}` is not a function", piece.span, hint)
                inflects = isinstance(piece, syntax.Inflected) or not _INFLECTIONS.isdisjoint(
                    functions
                )
                self._target(piece.target, piece.span, inflects=inflects)
                if inflects and options.language != "en":
                    what, advice = "inflections work only in English", "write a rule for each form"
                    self._add_all([english_only(what, options, advice)], piece.span)
            elif isinstance(piece, syntax.Drawn):
                self._add_all(check_test(piece.reference, self._scope), piece.span)

    def _too_many(self, piece: syntax.TagCopy, has: int) -> None:
        if has:
            message = f"`{piece.tag}` occurs more often than in the antecedent, which has {has}"
            hint = "to copy a token twice, use its number or name: `$1 $1`"
        else:
            message = f"`{piece.tag}` copies a token, but the antecedent has no bare `{piece.tag}`"
            hint = f"to copy an element, use its number or name: `$1`\n{as_text(piece.tag)}"
        self._add("E303", message, piece.span, hint)

    def _target(self, target: int | str, span: Span | None, *, inflects: bool) -> None:
        elements = self._rule.antecedent
        number, message = "E209", f"`${target}` refers to nothing"
        if target == 0:
            if elements:
                if inflects and sum(map(measure.longest, elements)) > 1:
                    self._several("$0", span)
                return
            number, message = "E318", "`$0` has no text in an insertion, which replaces nothing"
            hint = "name an element of the context: `<> -> $x / x:NOUN __`"
        elif isinstance(target, int) and target > len(elements):
            count = f"{len(elements)} element{'s' if len(elements) != 1 else ''}"
            message = f"`${target}` refers to nothing: the antecedent has {count}"
            hint = (
                "count elements as written, a group as one; refer to elements of a context by "
                f"name\n{as_text(f'${target}')}"
            )
        elif isinstance(target, str) and target not in self._names:
            names = [f"${name}" for name in self._names]
            hint = f"name an element: {code(f'{target}:NOUN')}"
            if names:
                hint = nearest(f"${target}", names)
        else:
            element = elements[target - 1] if isinstance(target, int) else self._names[target]
            if not isinstance(element.body, syntax.Anchor):
                if inflects and measure.longest(element) > 1:
                    self._several(f"${target}", span)
                return
            number, message = "E318", f"`${target}` is an anchor, which has no text"
            hint = "count elements as written, anchors included"
        self._add(number, message, span, hint)

    def _several(self, target: str, span: Span | None) -> None:
        message = f"an inflection needs one token, but `{target}` can be several"
        self._add("E319", message, span, "name the word inside: `(DET? x:NOUN) -> $x.NNS`")

    # ------------------------------------------------------------ the whole

    def _whole(self) -> None:
        rule = self._rule
        if not rule.antecedent:
            if not (rule.left or rule.right):
                hint = "say where to insert it: `<> -> text / left __ right`"
                self._add("E302", "this insertion has no context", rule.span, hint)
            if not rule.consequent:
                message = "this rule replaces nothing with nothing"
                hint = "say what to insert: `<> -> text / left __ right`"
                self._add("E301", message, rule.span, hint)
        elif sum(map(measure.shortest, rule.antecedent)) == 0 and not measure.is_unit(rule):
            hint = "make one element required; to insert text, write `<> -> text / left __ right`"
            self._add("E308", "every element of the antecedent is optional", rule.span, hint)
        if measure.is_unchanged(rule, self._scope.options.case):
            self._unchanged()
        count = measure.variant_count(rule.elements)
        if count > measure.MOST_VARIANTS and not any(f.code == "E305" for f in self._findings):
            shown = f"{count:,}" if count < 10**6 else "more than a million"
            message = f"the quantifiers and groups of this rule expand to {shown} variants"
            hint = (
                f"at most {measure.MOST_VARIANTS} are allowed; narrow the quantifiers or split "
                "the rule; a group of single tokens counts as one variant"
            )
            self._add("E304", message, rule.span, hint)

    def _unchanged(self) -> None:
        rule, message = self._rule, "this rule cannot change anything: both sides are the same"
        hint = "change the consequent"
        # Copying a choice back is how positional references are taught, so it is no error.
        number = "E301"
        if any(isinstance(element.body, syntax.Group) for element in rule.antecedent):
            number = "W605"
        # Words that the text may write otherwise: `cannot` as `can not`, `don’t` as `don't`.
        texts = [p.text if isinstance(p, syntax.Text) else "" for p in rule.consequent]
        if any(map(all, pairwise(texts))) or re.search(r"['’ ]", "".join(texts)):
            number = "W605"
            message = "both sides are the same, so at most casing, apostrophes and spaces change"
            hint = "change the consequent, if more is meant"
        self._add(number, message, rule.span, hint)


# What other tools call functions of this language.
CALLED_OTHERWISE = {
    "plural": "NNS", "pluralize": "NNS", "singular": "NN", "singularize": "NN", "past": "VBD",
    "gerund": "VBG", "lemma": "VB", "lowercase": "lower", "uppercase": "upper", "title": "cap",
    "capitalize": "cap", "capital": "cap", "comparative": "JJR", "superlative": "JJS",
    "misspell": "typo", "misspelling": "typo",
}  # fmt: skip


def _other_function(name: str, target: int | str) -> str:
    """What to write instead of a function that does not exist; `as` is a function of words."""
    other = CALLED_OTHERWISE.get(name.lower())
    if other is not None:
        return f"write {code(f'${target}.{other}')}"
    if name.lower() != "as":
        return nearest(name, syntax.FUNCTIONS)
    return (
        f"`as` follows the word that takes the form: {code(f'word.as(${target})')}\n"
        f"to name the form yourself: {code(f'${target}.VBD')}"
    )


def _anchor_places(element: syntax.Element, first: bool, last: bool) -> Iterator[tuple[str, bool]]:
    """Each anchor in the element: its side, and whether it can stand there."""
    body = element.body
    if isinstance(body, syntax.Anchor):
        yield body.side, first if body.side == "start" else last
    elif isinstance(body, syntax.Group):
        once = element.maximum == 1
        for alternative in body.alternatives:
            for position, inner in enumerate(alternative):
                begins = first and once and position == 0
                ends = last and once and position == len(alternative) - 1
                yield from _anchor_places(inner, begins, ends)


# ---------------------------------------------------------------- tests on one token


def check_tag(name: str, options: syntax.Options) -> Iterator[Problem]:
    """What is wrong with a bare tag, if anything."""
    tagset = options.tagset
    if name in COARSE[tagset]:
        return
    if name in FINE:
        if options.language != "en":
            yield english_only(f"`{name}` is a tag for English", options, _FOREIGN_TAG)
        return
    if name in WHITESPACE_TAGS:
        yield "E203", f"`{name}` is the tag of white space", _NO_SPACE
    elif name in MOVED[tagset]:
        yield from _moved(name, tagset)
    else:
        tags = frozenset(tag for tag in COARSE[tagset] | FINE if tag[:1].isalpha())
        yield "E201", f"`{name}` is not a tag", f"{_tag_meant(name, tags)}\n{as_text(name)}"


def _tag_meant(name: str, tags: frozenset[str]) -> str:
    """The tag of a part of speech that is spelled out, else the nearest tag."""
    tag = _SPELLED_OUT.get(name.casefold().removesuffix("s"), "")
    return f"did you mean {tag}?" if tag in tags else nearest(name, tags)


def _moved(name: str, tagset: syntax.TagsetOption) -> Iterator[Problem]:
    other = "sears2018" if tagset == "ud2" else "ud2"
    hint = f"under {tagset}, write {MOVED[tagset][name]}, or change the option"
    yield "E202", f"`{name}` is a tag of `option tagset = {other}`", hint


def english_only(what: str, options: syntax.Options, advice: str) -> Problem:
    """E216: what only English has, in rules of another language."""
    return "E216", f"{what}, but these rules are for `{options.language}`", advice


def check_test(test: syntax.Body, scope: syntax.RuleScope) -> Iterator[Problem]:
    """What is wrong with a test, if anything; nothing is with anchors and whole units alone."""
    if isinstance(test, syntax.Tag):
        yield from check_tag(test.name, scope.options)
    elif isinstance(test, syntax.AttributeTest):
        yield from _attribute(test, scope.options)
    elif isinstance(test, syntax.Conjunction):
        for part in test.tests:
            yield from _attribute(part, scope.options)
        yield from _contradictions(test.tests)
    elif isinstance(test, syntax.Regex):
        problem = pattern_error(test.pattern)
        if problem:
            hint = "patterns use RE2's syntax, which has no look-around and no back-references"
            yield "E309", f"RE2 rejects the pattern `{test.pattern}`: {problem}", hint
    elif isinstance(test, syntax.SetReference):
        yield from _set(test, scope)
    elif isinstance(test, syntax.Negation):
        yield from _negation(test, scope)


def _attribute(test: syntax.AttributeTest, options: syntax.Options) -> Iterator[Problem]:
    value, tagset = test.value, options.tagset
    shown = quote(value)
    if test.attribute == "pos" and value not in COARSE[tagset]:
        if value in MOVED[tagset]:
            yield from _moved(value, tagset)
        elif value in WHITESPACE_TAGS:
            yield "E203", f"`{value}` is the tag of white space", _NO_SPACE
        elif value in FINE:
            hint = f"write {code(f'tag={value if value.isalpha() else shown}')}"
            yield "E205", f"`{value}` is a fine tag, but `pos` takes coarse tags", hint
        else:
            yield "E205", f"{shown} is not a coarse tag", _tags_like(value, COARSE[tagset])
    elif test.attribute == "lemma" and options.language != "en":
        yield english_only(
            "lemmas work only in English", options, "list the forms: `(filme|filmes)`"
        )
    elif test.attribute == "tag" and options.language == "en" and value not in FINE:
        if value in WHITESPACE_TAGS:
            yield "E203", f"`{value}` is the tag of white space", _NO_SPACE
        elif value in COARSE[tagset] or value in MOVED[tagset]:
            hint = f"write {code(f'pos={value}')}"
            yield "E205", f"`{value}` is a coarse tag, but `tag` takes fine tags", hint
        else:
            yield "E205", f"{shown} is not a fine tag", _tags_like(value, FINE)
    elif test.attribute == "lower" and value != value.lower():
        hint = f"write {code(f'lower={quote(value.lower())}')} or {code(f'text={shown}')}"
        yield "E317", f"lower={shown} has a capital and can never match", hint
    elif not value or any(character.isspace() for character in value):
        yield "E317", f"{test.attribute}={shown} can never match a token", "a token has no spaces"


def _contradictions(tests: Iterable[syntax.AttributeTest]) -> Iterator[Problem]:
    for one, other in combinations(tests, 2):
        fold = str.lower if one.attribute == "lemma" else str
        alike, negated = fold(one.value) == fold(other.value), one.negated + other.negated
        if one.attribute == other.attribute and negated == alike:
            message = f"no token can pass both tests of `{one.attribute}`"
            choice = code(f"({print_test(one)}|{print_test(other)})")
            hint = "remove one of them" if negated else f"for a choice, use a group: {choice}"
            yield "E317", message, hint


def _tags_like(value: str, tags: frozenset[str]) -> str:
    """Advice for what is not a tag: the tags that it fits as a pattern, or the nearest one."""
    inner = value.strip("/^$")
    pattern = inner if value.startswith("/") else inner.replace("*", ".*")
    if pattern != value and re.fullmatch(r"[A-Z]+(?:\.[*+?])?", pattern):
        fitting = sorted(tag for tag in tags if tag.isalpha() and re.fullmatch(pattern, tag))
        if fitting:
            group = "(" + "|".join(fitting) + ")"
            return f"a test names one tag; for several, use a group: {code(group)}"
    return _tag_meant(value, tags)


def _set(reference: syntax.SetReference, scope: syntax.RuleScope) -> Iterator[Problem]:
    try:
        scope.members(reference)
    except KeyError:
        names = scope.set_names()
        modules = {name.split(".")[0] for name in names if "." in name}
        if reference.module and reference.module not in modules:
            hint = nearest(reference.module, modules) if modules else ""
            hint = hint or f'write `import "file.sear" as {reference.module}` at the top'
            yield "E207", f"nothing is imported as `{reference.module}`", hint
            return
        name = reference.full_name
        hint = nearest(name, names) if names else f"write `set {reference.name} = a | b`"
        yield "E206", f"there is no set `@{name}`", hint


def _negation(test: syntax.Negation, scope: syntax.RuleScope) -> Iterator[Problem]:
    operand = test.operand
    if isinstance(operand, syntax.Group):
        if not measure.is_one_test(operand):
            hint = "each alternative of a negated group must be one test: `!(NOUN|PRON)`"
            yield "E306", "only tests on one token can be negated", hint
        for alternative in operand.alternatives:
            for element in alternative:
                if isinstance(element.body, syntax.Negation):
                    yield "E306", "this group negates a negation", "express it without one of them"
                elif isinstance(element.body, syntax.Group):
                    yield from _negation(syntax.Negation(element.body), scope)
                else:
                    yield from check_test(element.body, scope)
    elif isinstance(operand, syntax.Negation):
        yield "E306", "this negates a negation", "remove both"
    elif isinstance(operand, syntax.Wildcard):
        yield "E317", "`!_` can never match: every token matches `_`", "remove it"
    else:
        yield from check_test(operand, scope)


@lru_cache(maxsize=4096)
def pattern_error(pattern: str) -> str | None:
    """Why RE2 refuses the pattern, or None."""
    import re2  # type: ignore[import-untyped] # noqa: PLC0415 - most rulesets have no pattern

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "it is malformed"
        return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
    return None
