"""What an editor shows while a rule file is written: the meaning of a place, and what may follow.

In: the text as it stands in the editor, the file's name, a line and a column from 0. Out: Markdown
for the place (`explained`), where what it names is defined (`definition`), or what may be written
there (`completions`). Always holds: a line
that is not finished does not keep the sets of the others from being known; imports are read as
`parse` reads them. Costs one parse of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sears_dsl.errors import RuleSyntaxError, SearsError, counted
from sears_dsl.generating.sentences import Sentences, set_texts
from sears_dsl.glossary import FUNCTION_MEANINGS, TAG_MEANINGS
from sears_dsl.language.parsing.parser import parse_lines
from sears_dsl.language.rule import (
    FUNCTIONS,
    INFLECTIONS,
    TYPING_KINDS,
    SetDefinition,
    SetReference,
)
from sears_dsl.language.ruleset import Ruleset, home
from sears_dsl.language_server.sample import (
    SampleEffect,
    effect,
    read_in_part,
    without_statement,
)
from sears_dsl.tagging.tagger import Tagger

_AMOUNTS = "; `(2)` in two places, `(25%)` of all the text that it is given"
_HOW_TO_WRITE = {
    **dict.fromkeys(INFLECTIONS, ", where there is just one"),
    **dict.fromkeys(("homoglyph", *TYPING_KINDS, "typo"), _AMOUNTS),
    "neighbor": ", by cosine; `option vectors` names the vectors",
    "paraphrase": ": the best one of a whole unit, that differs in a word",
}

FUNCTION_HELP = {
    name: meaning + _HOW_TO_WRITE.get(name, "") for name, meaning in FUNCTION_MEANINGS.items()
}
"""Of each function what becomes of a word, and what else its author has to know."""

METADATA_HELP = {
    "expect": "what a model should do on the rewritten row: `same`, `flip` or `label NAME`",
    "label": "the label of a template's sentences",
    "rate": "the share of its instances in each unit that the rule rewrites, drawn; what 10% "
    "changes, 25% changes too",
    "seed": "added to the seed of the run: another draw, always the same one",
    "severity": "`low`, `medium` or `high`",
    "tags": "words to select rules by",
    "author": "who wrote it",
    "why": "why it is there",
    "test": '`test "in" => "out"`, or `=> none` where nothing is written',
}
"""Of each key what its line says."""


NameKind: TypeAlias = Literal["function", "set", "key", "tag"]

# So many sentences of a template, and members of a set, are shown.
_FEW_SENTENCES, _FEW_MEMBERS = 3, 8

_FUNCTION = re.compile(r"\.([A-Za-z]+)(?:\([^()]*\))?")
_KEY = re.compile(r"\s+([a-z]+)(?=[:\s])")
_SET = re.compile(r"@([\w.]+)|\{(?:\w+:)?([\w.]+)[^{}]*\}")
_TEMPLATE = re.compile(r"template\b")
_REFERENCE = re.compile(r"\$([A-Za-z]\w*)")
_IMPORT = re.compile(r'import[ \t]+"')
_TAG = re.compile(r"(?<![\w@.{$])([A-Z]{1,5}\$?)(?![\w$])")
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"?|#.*')

_AFTER_DOT = re.compile(r"(\$\w+|\{(?:\w+:)?\w+\??|\{\$\w+)((?:\.\w+(?:\([^()]*\))?)*)\.\w*$")
_IN_SLOT = re.compile(r"(?<!\{)(?:\{\{)*\{(?:\w+:)?([\w.]*)$")
_AFTER_AT = re.compile(r"@([\w.]*)$")
_AFTER_CAPITALS = re.compile(r"(?<![\w@.{$\"])[A-Z]+$")
_AFTER_TAG = re.compile(r"\[[^\]]*\b(?:tag|pos)\s*!?=\s*(?:[A-Z$]+\|)*[A-Z]*$")
_INDENTED = re.compile(r"\s+[a-z]*$")


@dataclass(frozen=True, slots=True)
class Completion:
    """What may be written at a place."""

    label: str
    kind: NameKind
    detail: str


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A place in a file: line and column from 0, in characters."""

    path: str
    line: int
    column: int = 0


def explained(
    text: str, path: str, line: int, column: int, *, tagger: Tagger | None = None
) -> str | None:
    r"""What is to be known about a place, its column in characters, in Markdown; None for nothing.

    Example:
        >>> explained("_ -> $1.typo\n  rate: 25%\n", "a.sear", 1, 4)[:37]
        '`rate`: the share of its instances in'
    """
    lines = text.split("\n")
    source = lines[line] if line < len(lines) else ""
    function = _match_at(_FUNCTION, source, column)
    if function and function[1] in FUNCTION_HELP:
        return f"`.{function[1]}`: {FUNCTION_HELP[function[1]]}"
    key = _KEY.match(source)
    if key and key.start(1) <= column < key.end(1) and key[1] in METADATA_HELP:
        return f"`{key[1]}`: {METADATA_HELP[key[1]]}"
    ruleset = _ruleset(text, path)
    if ruleset is not None:
        named = _match_at(_SET, source, column)
        if named and (description := _describe_set(named[1] or named[2], ruleset)):
            return description
        if _TEMPLATE.match(source):
            return _describe_template(line, ruleset)
    return _describe_tag(source, column) or _describe_effect(
        effect(text, path, line, tagger=tagger)
    )


def _match_at(pattern: re.Pattern[str], source: str, column: int) -> re.Match[str] | None:
    """What of a line matches at a column."""
    matches = (each for each in pattern.finditer(source) if each.start() <= column < each.end())
    return next(matches, None)


def _describe_tag(source: str, column: int) -> str | None:
    tag = _match_at(_TAG, _QUOTED.sub(lambda match: " " * len(match[0]), source), column)
    return f"`{tag[1]}`: {TAG_MEANINGS[tag[1]]}" if tag and tag[1] in TAG_MEANINGS else None


def _describe_effect(sample_effect: SampleEffect | None) -> str | None:
    """What a rule does to the sample beside the file."""
    if sample_effect is None:
        return None
    changed, rows = sample_effect.changed, sample_effect.rows
    summary = f"changes {changed:,} of {rows:,} rows of `{sample_effect.file}`"
    first = [f"- {old}\n- → {new}" for old, new in sample_effect.first]
    return "\n".join([summary, "", *first]) if first else summary


def _describe_set(name: str, ruleset: Ruleset) -> str | None:
    known = _known(name, ruleset.set_names())
    if known is None:
        return None
    module, _, own = known.rpartition(".")
    members = set_texts(ruleset, SetReference(own, module or None))
    more = f" | … {len(members):,} in all" if len(members) > _FEW_MEMBERS else ""
    return f"`{known}` = {' | '.join(members[:_FEW_MEMBERS])}{more}"


def _known(name: str, names: Iterable[str]) -> str | None:
    """The name that is meant: behind the name of a set may stand functions."""
    known = [each for each in names if f"{name}.".startswith(f"{each}.")]
    return max(known, key=len, default=None)


def _describe_template(line: int, ruleset: Ruleset) -> str | None:
    """The number of a template's sentences, its label, the first of them."""
    here = (each for each in ruleset.templates if each.span and each.span.line == line + 1)
    template = next(here, None)
    if template is None:
        return None
    try:
        sentences = Sentences(template, ruleset)
    except RuleSyntaxError as error:
        return error.diagnostics[0].message
    count = counted(len(sentences), "sentence")
    first = [f"- {sentences[j]}" for j in range(min(len(sentences), _FEW_SENTENCES))]
    more = ["- …"] if len(sentences) > len(first) else []
    return "\n".join([f"{count}, {template.metadata.label}", "", *first, *more])


def definition(text: str, path: str, line: int, column: int) -> FilePlace | None:
    r"""Where the set, the captured word or the imported file that a place names is defined.

    None for anything else. Sets of the file are found while other lines of it have errors.

    Example:
        >>> definition("set GOOD = good | nice\nmovie -> @GOOD\n", "a.sear", 1, 12)
        FilePlace(path='a.sear', line=0, column=0)
        >>> definition("be:lemma=be ADJ -> $be not ADJ", "a.sear", 0, 20)
        FilePlace(path='a.sear', line=0, column=0)
    """
    lines = text.split("\n")
    source = lines[line] if line < len(lines) else ""
    if reference := _match_at(_REFERENCE, source, column):
        captured = re.search(rf"(?<![\w$]){reference[1]}:(?=\S)", source)
        return FilePlace(path, line, captured.start()) if captured else None
    if named := _match_at(_SET, source, column):
        return _set_place(named[1] or named[2], text, path)
    ruleset = _ruleset(text, path) if _IMPORT.match(source) else None
    for each in ruleset.imports if ruleset is not None else ():
        if each.span is not None and each.span.line == line + 1:
            return FilePlace(each.ruleset.path, 0)
    return None


def _set_place(name: str, text: str, path: str) -> FilePlace | None:
    own = {
        entry.node.name: entry.node
        for entry in parse_lines(text, path=path).entries
        if isinstance(entry.node, SetDefinition)
    }
    known = _known(name, own)
    if known is not None:
        return _begins(own[known], path)
    ruleset = _ruleset(text, path)
    known = None if ruleset is None else _known(name, ruleset.set_names())
    if ruleset is None or known is None:
        return None
    module, _, last = known.rpartition(".")
    file = home(ruleset, module)
    return _begins(next(each for each in file.sets if each.name == last), file.path)


def _begins(node: SetDefinition, path: str) -> FilePlace | None:
    return FilePlace(path, node.span.line - 1) if node.span is not None else None


def completions(text: str, path: str, line: int, column: int) -> list[Completion]:
    r"""What may be written at a place.

    Example:
        >>> found = completions('set GOOD = good | nice\ntemplate "A {', "a.sear", 1, 13)
        >>> [(each.label, each.detail) for each in found]
        [('GOOD', 'good | nice')]
    """
    lines = text.split("\n")
    before = lines[line][:column] if line < len(lines) else ""
    if _INDENTED.fullmatch(before):
        return [Completion(key, "key", meaning) for key, meaning in METADATA_HELP.items()]
    named = (_IN_SLOT if _TEMPLATE.match(before) else _AFTER_AT).search(before)
    bare = _QUOTED.sub('"', before)
    wants_tag = _AFTER_CAPITALS.search(bare) or _AFTER_TAG.search(bare)
    if not named and not _TEMPLATE.match(before) and wants_tag:
        tags = (tag for tag in TAG_MEANINGS if _TAG.fullmatch(tag))
        return [Completion(tag, "tag", TAG_MEANINGS[tag]) for tag in tags]
    sets = list(_sets(named[1], text, path, line)) if named else []
    if not sets and _AFTER_DOT.search(before):
        return [Completion(name, "function", FUNCTION_HELP[name]) for name in FUNCTIONS]
    return sets


def _sets(typed: str, text: str, path: str, line: int) -> Iterator[Completion]:
    """The sets whose names go on what is typed; behind an import its own alone."""
    ruleset = _ruleset(without_statement(text, line), path)
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


def _ruleset(text: str, path: str) -> Ruleset | None:
    """The file without the statements that have errors; None where that cannot be read either."""
    try:
        return read_in_part(text, path)
    except SearsError:
        return None
