"""Tests on one token → what is wrong with them: tags, attributes, sets, patterns, negations.

In: a test and its `RuleScope`. Out: (code, message, help) for each problem; the caller knows the
place. Costs a walk over the test; each distinct pattern is compiled once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from sears_dsl.language.measure import is_one_test
from sears_dsl.language.rule import (
    Anchor,
    AttributeTest,
    Conjunction,
    Group,
    Negation,
    Options,
    Regex,
    RuleScope,
    SetReference,
    Tag,
    TagsetOption,
    Test,
    WholeUnit,
    Wildcard,
)
from sears_dsl.language.tagsets import COARSE, FINE, MOVED, WHITESPACE_TAGS, known_tags
from sears_dsl.language.words import as_text, code, nearest, quote

Problem: TypeAlias = tuple[str, str, str]

_FOREIGN_TAG = (
    "write NOUN or another universal tag; what the tagger gives as a fine tag is tested as "
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
_NO_SPACE = "leave it out: white space is no token, and `What NOUN` fires whatever lies between"


def check_tag(name: str, options: Options) -> Iterator[Problem]:
    """What is wrong with a bare tag, if anything."""
    tagset = options.tagset
    if name in COARSE[tagset]:
        return
    if name in FINE:
        if options.language != "en":
            yield english_alone(f"`{name}` is a tag of English", options, _FOREIGN_TAG)
        return
    if name in WHITESPACE_TAGS:
        yield "E203", f"`{name}` is the tag of white space", _NO_SPACE
    elif name in MOVED[tagset]:
        yield from _moved(name, tagset)
    else:
        yield "E201", f"`{name}` is not a tag", f"{_tag_meant(name, tagset)}\n{as_text(name)}"


def _tag_meant(name: str, tagset: TagsetOption) -> str:
    """The tag of a part of speech that is spelled out, else the nearest tag."""
    tag = _SPELLED_OUT.get(name.casefold().removesuffix("s"), "")
    tags = [tag for tag in known_tags(tagset) if tag[:1].isalpha()]
    return f"did you mean {tag}?" if tag in COARSE[tagset] else nearest(name, tags)


def _moved(name: str, tagset: TagsetOption) -> Iterator[Problem]:
    other = "sears2018" if tagset == "ud2" else "ud2"
    yield (
        "E202",
        f"`{name}` is a tag of `option tagset = {other}`",
        f"under {tagset} write {MOVED[tagset][name]}, or change the option",
    )


def english_alone(what: str, options: Options, advice: str) -> Problem:
    """E216: what only English has, in rules of another language."""
    return "E216", f"{what}, and these rules are for `{options.language}`", advice


def check_test(test: Test, scope: RuleScope) -> Iterator[Problem]:
    """What is wrong with a test, if anything."""
    if isinstance(test, Tag):
        yield from check_tag(test.name, scope.options)
    elif isinstance(test, AttributeTest):
        yield from _attribute(test, scope.options)
    elif isinstance(test, Conjunction):
        for part in test.tests:
            yield from _attribute(part, scope.options)
    elif isinstance(test, Regex):
        problem = pattern_error(test.pattern)
        if problem:
            yield (
                "E309",
                f"the pattern `{test.pattern}` cannot be used: {problem}",
                "patterns have RE2's syntax: no look-around, no back-references",
            )
    elif isinstance(test, SetReference):
        yield from _set(test, scope)
    elif isinstance(test, Negation):
        yield from _negation(test, scope)


def _attribute(test: AttributeTest, options: Options) -> Iterator[Problem]:
    value, tagset = test.value, options.tagset
    shown = quote(value)
    if test.attribute == "pos" and value not in COARSE[tagset]:
        if value in MOVED[tagset]:
            yield from _moved(value, tagset)
        elif value in WHITESPACE_TAGS:
            yield "E203", f"`{value}` is the tag of white space", _NO_SPACE
        elif value in FINE:
            yield (
                "E205",
                f"`{value}` is a fine tag, `pos` is the coarse one",
                f"write {code(f'tag={value if value.isalpha() else shown}')}",
            )
        else:
            yield "E205", f"{shown} is no coarse tag", _tags_like(value, COARSE[tagset])
    elif test.attribute == "lemma" and options.language != "en":
        yield english_alone(
            "lemmas are those of English", options, "name the forms: `(filme|filmes)`"
        )
    elif test.attribute == "tag" and options.language == "en" and value not in FINE:
        if value in WHITESPACE_TAGS:
            yield "E203", f"`{value}` is the tag of white space", _NO_SPACE
        elif value in COARSE[tagset] or value in MOVED[tagset]:
            yield (
                "E205",
                f"`{value}` is a coarse tag, `tag` is the fine one",
                f"write {code(f'pos={value}')}",
            )
        else:
            yield "E205", f"{shown} is no fine tag", _tags_like(value, FINE)
    elif test.attribute == "lower" and value != value.lower():
        yield (
            "E317",
            f"lower={shown} has a capital and can never match",
            f"write {code(f'lower={quote(value.lower())}')} or {code(f'text={shown}')}",
        )
    elif not value or any(character.isspace() for character in value):
        yield "E317", f"{test.attribute}={shown} can never match a token", "a token has no spaces"


def _tags_like(value: str, tags: frozenset[str]) -> str:
    """Advice for a tag that is none: the tags that a pattern in its place means, or the nearest."""
    inner = value.strip("/^$")
    pattern = inner if value.startswith("/") else inner.replace("*", ".*")
    if pattern != value and re.fullmatch(r"[A-Z]+(?:\.[*+?])?", pattern):
        fitting = sorted(tag for tag in tags if tag.isalpha() and re.fullmatch(pattern, tag))
        if fitting:
            group = "(" + "|".join(fitting) + ")"
            return f"a test names one tag, several are a group: {code(group)}"
    return nearest(value, tags)


def _set(reference: SetReference, scope: RuleScope) -> Iterator[Problem]:
    try:
        scope.members(reference)
    except KeyError:
        known = scope.set_names()
        modules = {name.split(".")[0] for name in known if "." in name}
        if reference.module and reference.module not in modules:
            hint = nearest(reference.module, modules) if modules else ""
            yield (
                "E207",
                f"nothing is imported as `{reference.module}`",
                hint or f'write `import "file.sear" as {reference.module}` at the top',
            )
            return
        name = f"{reference.module}.{reference.name}" if reference.module else reference.name
        hint = nearest(name, known) if known else f"write `set {reference.name} = a | b`"
        yield "E206", f"there is no set `@{name}`", hint


def _negation(test: Negation, scope: RuleScope) -> Iterator[Problem]:
    operand = test.operand
    if isinstance(operand, Group):
        if not is_one_test(operand):
            yield (
                "E306",
                "the negation of something that is not one token",
                "a negated group has single tests between its bars: `!(NOUN|PRON)`",
            )
        for alternative in operand.alternatives:
            for element in alternative:
                if isinstance(element.body, Negation):
                    yield "E306", "a negation inside a negation", "say it without one of them"
                elif not isinstance(element.body, Anchor | WholeUnit | Group):
                    yield from check_test(element.body, scope)
    elif isinstance(operand, Negation):
        yield "E306", "a negation of a negation", "leave both out"
    elif isinstance(operand, Wildcard):
        yield "E317", "`!_` can never match: every token matches `_`", "leave it out"
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
