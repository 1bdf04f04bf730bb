"""What an editor shows while a rule file is written: the meaning of a place, and what may follow.

In: the text as it stands in the editor, the file's name, a line and a column from 0. Out: Markdown
for the place (`explained`), or what may be written there (`completions`). Always holds: a line
that is not finished does not keep the sets of the others from being known; imports are read as
`parse` reads them. Costs one parse of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sears_dsl.errors import RuleSyntaxError, SearsError
from sears_dsl.generating.members import set_texts
from sears_dsl.generating.sentences import Sentences
from sears_dsl.language.loader import parse
from sears_dsl.language.parsing.parser import parse_lines
from sears_dsl.language.rule import FUNCTIONS, SetDefinition, SetReference, Template
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.language_server import meanings

Kind: TypeAlias = Literal["function", "set", "key"]

# So many sentences of a template, and members of a set, are shown.
_FEW_SENTENCES, _FEW_MEMBERS = 3, 8

_FUNCTION = re.compile(r"\.([A-Za-z]+)(?:\([^()]*\))?")
_KEY = re.compile(r"\s+([a-z]+)(?=[:\s])")
_SET = re.compile(r"@([\w.]+)|\{(?:\w+:)?([\w.]+)[^{}]*\}")
_TEMPLATE = re.compile(r"template\b")

_AFTER_DOT = re.compile(r"(\$\w+|\{(?:\w+:)?\w+\??|\{\$\w+)((?:\.\w+(?:\([^()]*\))?)*)\.\w*$")
_IN_SLOT = re.compile(r"(?<!\{)(?:\{\{)*\{(?:\w+:)?([\w.]*)$")
_AFTER_AT = re.compile(r"@([\w.]*)$")
_INDENTED = re.compile(r"\s+[a-z]*$")


@dataclass(frozen=True, slots=True)
class Completion:
    """What may be written at a place.

    Attributes:
        label: the text of it.
        kind: what it is.
        detail: what it means.
    """

    label: str
    kind: Kind
    detail: str


# ---------------------------------------------------------------- what stands there


def explained(text: str, path: str, line: int, column: int) -> str | None:
    r"""What is to be known about a place, in Markdown; None for nothing.

    Args:
        text: the file.
        path: where it is saved.
        line: from 0.
        column: from 0, in characters.

    Example:
        >>> explained("_ -> $1.typo\n  rate: 25%\n", "a.sear", 1, 4)[:37]
        '`rate`: the share of its instances in'
    """
    lines = text.split("\n")
    source = lines[line] if line < len(lines) else ""
    for match in _FUNCTION.finditer(source):
        if match.start() <= column < match.end() and match[1] in meanings.FUNCTIONS:
            return f"`.{match[1]}`: {meanings.FUNCTIONS[match[1]]}"
    key = _KEY.match(source)
    if key and key.start(1) <= column < key.end(1) and key[1] in meanings.METADATA:
        return f"`{key[1]}`: {meanings.METADATA[key[1]]}"
    ruleset = _ruleset(text, path)
    if ruleset is None:
        return None
    for match in _SET.finditer(source):
        if match.start() <= column < match.end():
            told = _set_told(match[1] or match[2], ruleset)
            if told:
                return told
    return _template_told(line, ruleset) if _TEMPLATE.match(source) else None


def _set_told(name: str, ruleset: Ruleset) -> str | None:
    known = [each for each in ruleset.set_names() if f"{name}.".startswith(f"{each}.")]
    if not known:
        return None
    module, _, own = max(known, key=len).rpartition(".")
    members = set_texts(ruleset, SetReference(own, module or None))
    more = f" | … {len(members):,} in all" if len(members) > _FEW_MEMBERS else ""
    return f"`{max(known, key=len)}` = {' | '.join(members[:_FEW_MEMBERS])}{more}"


def _template_told(line: int, ruleset: Ruleset) -> str | None:
    """The number of a template's sentences, its label, the first of them."""
    for template in ruleset.templates:
        if template.span is not None and template.span.line == line + 1:
            return _sentences_told(template, ruleset)
    return None


def _sentences_told(template: Template, ruleset: Ruleset) -> str:
    try:
        sentences = Sentences(template, ruleset)
    except RuleSyntaxError as error:
        return error.diagnostics[0].message
    count = "1 sentence" if len(sentences) == 1 else f"{len(sentences):,} sentences"
    first = [f"- {sentences[j]}" for j in range(min(len(sentences), _FEW_SENTENCES))]
    more = ["- …"] if len(sentences) > len(first) else []
    return "\n".join([f"{count}, {template.metadata.label}", "", *first, *more])


# ---------------------------------------------------------------- what may be written


def completions(text: str, path: str, line: int, column: int) -> list[Completion]:
    r"""What may be written at a place.

    Args:
        text: the file.
        path: where it is saved.
        line: from 0.
        column: from 0, in characters.

    Example:
        >>> found = completions('set GOOD = good | nice\ntemplate "A {', "a.sear", 1, 13)
        >>> [(each.label, each.detail) for each in found]
        [('GOOD', 'good | nice')]
    """
    lines = text.split("\n")
    before = lines[line][:column] if line < len(lines) else ""
    if _INDENTED.fullmatch(before):
        return [Completion(key, "key", told) for key, told in meanings.METADATA.items()]
    named = (_IN_SLOT if _TEMPLATE.match(before) else _AFTER_AT).search(before)
    sets = list(_sets(named[1], text, path, line)) if named else []
    if not sets and _AFTER_DOT.search(before):
        return [Completion(name, "function", meanings.FUNCTIONS[name]) for name in FUNCTIONS]
    return sets


def _sets(typed: str, text: str, path: str, line: int) -> Iterator[Completion]:
    """The sets whose names go on what is typed; behind an import its own alone."""
    ruleset = _ruleset(_without_statement(text, line), path)
    module = typed.rpartition(".")[0]
    if ruleset is None:
        parsed = parse_lines(text, path=path).entries
        nodes = (entry.node for entry in parsed)
        names = [node.name for node in nodes if isinstance(node, SetDefinition)]
        yield from (Completion(name, "set", "a set of this file") for name in names if not module)
        return
    for name in ruleset.set_names():
        if module and not name.startswith(f"{module}."):
            continue
        own = name.rpartition(".")
        members = set_texts(ruleset, SetReference(own[2], own[0] or None))
        more = " | …" if len(members) > _FEW_MEMBERS else ""
        shown = " | ".join(members[:_FEW_MEMBERS]) + more
        yield Completion(own[2] if module else name, "set", shown)


def _without_statement(text: str, line: int) -> str:
    """The file without the statement that is being written, and what is indented under it."""
    lines = text.split("\n")
    lines[line] = ""
    for below in range(line + 1, len(lines)):
        if lines[below][:1] not in {" ", "\t"}:
            break
        lines[below] = ""
    return "\n".join(lines)


def _ruleset(text: str, path: str) -> Ruleset | None:
    """The file, where it has no errors."""
    try:
        return parse(text, path=path)
    except SearsError:
        return None
