"""The names in a rule file: where sets are defined and used, and what a rename changes.

In: the text in the editor, lines and columns from 0. Out: `Name`s with their `NameSpan`s.
Always holds: a line that parses has the names that the lexer reads in it; in any other, comments,
quoted text and regexes hold no names, except the slots of templates. A rename that would make a
mistake is refused; an imported set is renamed in the file that defines it. Costs one parse of each
line that may hold the name of a set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from sears_dsl.errors import UsageError
from sears_dsl.language.loader import findings_of
from sears_dsl.language.parsing.parser import leaves
from sears_dsl.language.rule import FUNCTIONS

_WORD = r"[A-Za-z][A-Za-z0-9_]*"
_NAME = re.compile(_WORD)
_DEFINED = re.compile(r"set[ \t]+([^\s=]+)[ \t]*=")
_USED = re.compile(rf"@({_WORD}(?:\.{_WORD})?)")
_SLOT = re.compile(rf"\{{[ \t]*(?:{_WORD}:)?({_WORD})(?:\.({_WORD})(?![\w(]))?")
# ``be:`` and ``$be``.
_CAPTURED = re.compile(rf"(?<![\w$])({_WORD}):|\$({_WORD})")
_MAY_HOLD_A_SET = re.compile(r"set\b|template\b|.*@")

# Tokens that are text, and so name nothing.
_TEXTS = frozenset(
    ("CLITIC", "COMMENT", "PLAIN", "QUOTED", "REGEX", "RULE_HEAD", "TEMPLATE_HEAD", "TEXT", "WORD")
)
_TAG = re.compile(r"[A-Z]+\$?")
# The same where a line does not parse; a quoted text may not be closed yet.
_OPAQUE = re.compile(
    r'"(?:\\.|[^"\\])*"?|(?<!\S)!?/(?:[^/\\\s]|\\\S)+/|(?:^|(?<=[ \t]))#.*|^rule[ \t]+[^\s:"]*:'
)
# As the grammar has it, or with a quoted text that is not closed yet.
_TEMPLATE = re.compile(
    r'template[ \t]+(?:[^\s:"]+:[ \t]*)?(?="(?:[^"\\]|\\.)*(?:"[ \t]*(?:[ \t]#|$)|$))'
)
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"?')
# Escaped braces, a slot, or text around them.
_PIECE = re.compile(r"\{\{|\}\}|(\{[^{}]*\}?)|[^{}]+|\}")


class NameSpan(NamedTuple):
    """A name in a file: line and columns from 0."""

    line: int
    start: int
    end: int


class Name(NamedTuple):
    """The name of a set, such as ``WH`` or ``c.WH``, or of a captured word, where it stands."""

    name: str
    span: NameSpan
    defines: bool = False


@lru_cache(maxsize=1024)
def without_texts(line: str) -> str:
    """A line with blanks in place of what names nothing: words, values, quoted text, comments.

    Of a template only the slots remain.

    Example:
        >>> without_texts("C# @WH -> $1  # of @WH")
        '   @WH -> $1          '
    """
    template = _TEMPLATE.match(line)
    if template:
        quoted = _QUOTED.match(line, template.end())
        place = (template.end(), len(line)) if quoted is None else quoted.span()
        slots = _PIECE.sub(lambda each: each[1] or " " * len(each[0]), line[slice(*place)])
        return " " * place[0] + slots + " " * (len(line) - place[1])
    tokens = leaves(line)
    if tokens is None:
        return _OPAQUE.sub(lambda match: " " * len(match[0]), line)
    defines_a_set = _DEFINED.match(line) is not None
    for each in tokens:
        if each.kind == "VALUE":
            is_text = not defines_a_set
        elif each.kind == "ATTRIBUTE_VALUE":
            is_text = not _TAG.fullmatch(each.text)
        else:
            is_text = each.kind in _TEXTS
        if is_text:
            line = line[: each.start] + " " * (each.end - each.start) + line[each.end :]
    return line


def names(text: str) -> Iterator[Name]:
    """Every name of a set in a file, where it is defined and where it is used."""
    for number, line in enumerate(_lines_of(text)):
        yield from _names_in(line, number)


def _names_in(line: str, number: int) -> Iterator[Name]:
    if not _MAY_HOLD_A_SET.match(line) or line[:1] in (" ", "\t"):  # metadata names no sets
        return
    shown = without_texts(line)
    if defined := _DEFINED.match(shown):
        yield Name(defined[1], NameSpan(number, *defined.span(1)), defines=True)
    if not is_template(line):
        for used in _USED.finditer(shown):
            yield Name(used[1], NameSpan(number, *used.span(1)))
        return
    for slot in _SLOT.finditer(shown):
        # As the parser reads it: in ``{WH.cap}``, ``cap`` is a function, and otherwise a set.
        last = 1 if slot[2] is None or slot[2] in FUNCTIONS else 2
        name = slot[1] if last == 1 else f"{slot[1]}.{slot[2]}"
        yield Name(name, NameSpan(number, slot.start(1), slot.end(last)))


def is_template(line: str) -> bool:
    """Whether a line is a template, or begins one."""
    return _TEMPLATE.match(line) is not None


def name_at(text: str, line: int, column: int) -> Name | None:
    """The name of a set at a place; None where there is none."""
    for each in _names_in(line_of(text, line), line):
        # Pointing at the sign before a name counts as pointing at the name.
        if each.span.start - 1 <= column <= each.span.end:
            return each
    return None


def own_sets(text: str) -> dict[str, int]:
    """The sets that a file defines, with their lines."""
    begun = [(n, line) for n, line in enumerate(_lines_of(text)) if line.startswith("set")]
    return {each.name: n for n, line in begun for each in _names_in(line, n) if each.defines}


def captured_at(text: str, line: int, column: int) -> list[Name]:
    """Where a rule names the captured word at a place; empty if none stands there."""
    source = line_of(text, line)
    words = [] if source[:1] in (" ", "\t") else [*_CAPTURED.finditer(without_texts(source))]
    here = next((word for word in words if word.start() <= column <= word.end()), None)
    every = [
        Name(word[1] or word[2], NameSpan(line, *word.span(word.lastindex or 0)), bool(word[1]))
        for word in words
    ]
    return [each for each in every if here and each.name == (here[1] or here[2])]


def references(text: str, line: int, column: int, *, definitions: bool = True) -> list[NameSpan]:
    """Where this file uses the set, or the captured word of a rule, at a place.

    And where it defines them, unless only uses are asked for.
    """
    every = captured_at(text, line, column)
    if not every and (here := name_at(text, line, column)):
        every = [each for each in names(text) if each.name == here.name]
    return [each.span for each in every if definitions or not each.defines]


def renamed(text: str, path: str, line: int, column: int, *, new: str) -> list[NameSpan]:
    """Return the places to change if the set at a place gets a new name.

    UsageError: no set of this file stands there, or the new name is invalid, taken or a mistake.
    """
    here, every = name_at(text, line, column), list(names(text))
    own = {each.name for each in every if each.defines}
    if here is None or here.name not in own:
        raise UsageError("there is no set of this file here", help="rename others in their file")
    if new in own:
        raise UsageError(f"{new!r} is the name of another set", help="choose another name")
    if not _NAME.fullmatch(new):
        raise UsageError(
            f"{new!r} is not a valid name",
            help="start with a letter; use only letters, digits and _",
        )
    spans = [each.span for each in every if each.name == here.name]
    before, after = (
        [each for each in findings_of(written, path=path) if each.severity == "error"]
        for written in (text, with_name(text, spans, new))
    )
    # Other mistakes of the file may name the set, so they are only counted.
    if len(after) > len(before):
        known = {each.message for each in before}
        more = next((each for each in after if each.message not in known), after[0])
        raise UsageError(f"{new!r} would be a mistake: {more.message}", help="choose another name")
    return spans


def with_name(text: str, places: list[NameSpan], new: str) -> str:
    """A text with another name at some places."""
    lines = text.split("\n")
    for place in sorted(places, reverse=True):
        line = lines[place.line]
        lines[place.line] = line[: place.start] + new + line[place.end :]
    return "\n".join(lines)


def line_of(text: str, line: int) -> str:
    """Return a line, from 0, without its line break; empty after the last one."""
    lines = _lines_of(text)
    return lines[line] if line < len(lines) else ""


@lru_cache(maxsize=1)
def _lines_of(text: str) -> list[str]:
    return text.replace("\r\n", "\n").split("\n")
