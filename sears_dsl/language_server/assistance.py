"""What an editor shows and offers while a rule file is written: findings, meanings, other names.

In: the text in the editor, the file's name, lines and columns from 0. Out: the `Diagnostic`s of
this file, the same as `sears check` gives (`find_all`), and `Action`s about them; Markdown about a
place (`explained`), where what it names is defined (`definition`) and used (`references`), what may
be written there (`completions`), the places that the rename of a set changes (`renamed`); what the
file defines (`outline`). Always holds: the parser's findings come before the compiler's and load no
tagger. A fix is offered only if it removes its finding, and a test only if it passes. A statement
with errors does not hide the others. Imports are read as `parse` reads them. Quotes, comments and
regexes hold no names, except the slots of templates. A rename that would change what the file means
is refused; an imported set is renamed in the file that defines it.

A sample of text may lie beside a rule file, ``a.sample.txt``, with one row per line, of which the
first thousand count; nothing else is read. Parsing costs some tens of microseconds per rule, and
again for each fix that is tried. The first compilation loads the tagger. The effect of a rule costs
its compilation and a run over the sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from sears_dsl.engine.compile.requirements import compiler_warnings, stand_ins
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.errors import Diagnostic, RuleSyntaxError, SearsError, UsageError, counted, shortened
from sears_dsl.generating.sentences import Sentences, set_texts, template_findings
from sears_dsl.glossary import FUNCTION_MEANINGS, TAG_MEANINGS
from sears_dsl.language import rule as syntax
from sears_dsl.language.loader import parse
from sears_dsl.language.parsing.parser import parse_lines
from sears_dsl.language.ruleset import Ruleset, file_of_module
from sears_dsl.language.words import quote
from sears_dsl.runtime.files import read_document
from sears_dsl.tagging.tagger import Tagger

SUFFIX = ".sample.txt"
"""The ending of a sample's name, instead of ``.sear``."""

_MOST_ROWS = 1_000
_MOST_BYTES = 1 << 20
_MOST_SHOWN = 3


def read_in_part(text: str, path: str) -> Ruleset:
    """Parse the file without the statements that have errors, so that they do not hide the rest."""
    try:
        return parse(text, path=path)
    except RuleSyntaxError as error:
        wrong = {each.span.line for each in error.diagnostics if each.span and each.path == path}
        for line in wrong:
            text = without_statement(text, line - 1)
        return parse(text, path=path)


def without_statement(text: str, line: int) -> str:
    """Return a file without the statement on a line, from 0, and what is indented under it."""
    lines = text.split("\n")
    end = _end_of_statement(lines, line)
    return "\n".join([*lines[:line], *[""] * (end - line), *lines[end:]])


def _end_of_statement(lines: Sequence[str], line: int) -> int:
    after = range(line + 1, len(lines))
    return next((each for each in after if lines[each][:1] not in {" ", "\t"}), len(lines))


class Symbol(NamedTuple):
    """A statement or a test in the outline of a file, with its first line and the one after it."""

    kind: str  # the name of its class in the syntax tree
    name: str
    written: str
    first: int
    end: int
    parts: Sequence[Symbol] = ()


def outline(text: str, path: str) -> Iterator[Symbol]:
    """Yield what a file defines, rules with their tests; statements with errors are left out."""
    lines = text.split("\n")
    for entry in parse_lines(text, path=path).entries:
        node = entry.node
        kinds = syntax.ImportLine | syntax.SetDefinition | syntax.Rule | syntax.Template
        if isinstance(node, kinds) and node.span is not None:
            first = node.span.line - 1
            written = lines[first].strip().removesuffix(entry.comment).strip()
            tests = node.metadata.tests if isinstance(node, syntax.Rule) else ()
            places = [each.span.line - 1 for each in tests if each.span is not None]
            parts = [Symbol("RuleTest", lines[at].strip(), "", at, at + 1) for at in places]
            # Blank lines may stand above a test.
            end = max(_end_of_statement(lines, first), *(at + 1 for at in (first, *places)))
            yield Symbol(type(node).__name__, node.name or written, written, first, end, parts)


@dataclass(frozen=True, slots=True)
class SampleEffect:
    """What a rule does to a sample."""

    file: str
    rows: int
    changed: int
    first: tuple[tuple[str, str], ...]


def effect(text: str, path: str, line: int, *, tagger: Tagger | None = None) -> SampleEffect | None:
    """What the rule on a line does to the sample; None without a rule there or a sample."""
    file = Path(path.removesuffix(".sear") + SUFFIX)
    if not path.endswith(".sear") or not file.is_file():
        return None
    try:
        ruleset = read_in_part(text, path)
        chosen = [each for each in ruleset.rules if each.span and each.span.line == line + 1]
        if not chosen:
            return None
        rows = read_document(file, most=_MOST_BYTES).decode("utf-8").splitlines()[:_MOST_ROWS]
        one = replace(ruleset, rules=tuple(chosen), layout=(), trailing=())
        matcher = compile_rules([one], tagger=tagger, sources=stand_ins(one))
        changes = [(each.original, each.text) for each in matcher.apply(rows)]
    except (SearsError, OSError, UnicodeDecodeError):
        return None  # a finding shows what is wrong with the rule; an unreadable sample is none
    return SampleEffect(file.name, len(rows), len(changes), tuple(changes[:_MOST_SHOWN]))


# ---------------------------------------------------------------- names of sets

_DEFINED = re.compile(r"set[ \t]+([^\s=]+)[ \t]*=")
_USED = re.compile(r"@([A-Za-z_][\w.]*)")
_SLOT = re.compile(r"(?<!\{)(?:\{\{)*\{(?:\w+:)?([A-Za-z_][\w.]*)")
# Quoted text, a regex, a comment: these hold no names.
_OPAQUE = re.compile(r'"(?:\\.|[^"\\])*"|/(?:\\.|[^/\\ ])+/|#.*')
_NAME = re.compile(r"[A-Za-z_]\w*")
# ``be:`` and ``$be``.
_CAPTURED = re.compile(r"(?<![\w$])([A-Za-z]\w*):(?=\S)|\$([A-Za-z]\w*)")


class NameSpan(NamedTuple):
    """A name in a file: line and columns from 0."""

    line: int
    start: int
    end: int


def names(text: str) -> Iterator[tuple[str, NameSpan]]:
    """Every name of a set in a file, where it is defined and where it is used."""
    for number, line in enumerate(text.split("\n")):
        defined = _DEFINED.match(line)
        if defined:
            yield defined[1], NameSpan(number, *defined.span(1))
        template = line.startswith("template")
        shown = line if template else _OPAQUE.sub(lambda match: " " * len(match[0]), line)
        for match in (_SLOT if template else _USED).finditer(shown):
            yield match[1], NameSpan(number, *match.span(1))


def name_at(text: str, line: int, column: int) -> tuple[str, NameSpan] | None:
    """The name of a set at a place; None where there is none."""
    for name, place in names(text):
        # Pointing at the sign before a name counts as pointing at the name.
        if place.line == line and place.start - 1 <= column <= place.end:
            return name, place
    return None


def references(text: str, path: str, line: int, column: int) -> list[NameSpan]:
    """Where this file defines and uses the set, or the captured word of a rule, at a place."""
    words = [(each[0].strip("$:"), each) for each in _CAPTURED.finditer(line_of(text, line))]
    for word, here in words:
        if here.start() <= column <= here.end():
            return [NameSpan(line, *each.span(each.lastindex or 0))
                    for same, each in words if same == word]  # fmt: skip
    occurrence = name_at(text, line, column)
    if occurrence is None:
        return []
    ruleset = _ruleset(text, path)
    # A name in a slot may have functions behind it.
    known = _known(occurrence[0], ruleset.set_names() if ruleset else ())
    return _places(known or occurrence[0], text)


def _own_sets(text: str) -> dict[str, int]:
    lines = enumerate(text.split("\n"))
    return {defined[1]: at for at, line in lines if (defined := _DEFINED.match(line))}


def _places(known: str, text: str) -> list[NameSpan]:
    places = (place for name, place in names(text) if _known(name, [known]))
    return [each._replace(end=each.start + len(known)) for each in places]


def renamed(text: str, path: str, line: int, column: int, *, new: str) -> list[NameSpan]:
    """Return the places to change if the set at a place gets a new name.

    UsageError: no set of this file stands there, or the new name is invalid or taken.
    """
    occurrence = name_at(text, line, column)
    set_name = None if occurrence is None else occurrence[0].partition(".")[0]
    own_sets = _own_sets(text)
    if set_name is None or set_name not in own_sets:
        raise UsageError("there is no set of this file here", help="rename others in their file")
    if new in own_sets:
        raise UsageError(f"{new!r} is the name of another set", help="choose another name")
    if not _NAME.fullmatch(new):
        raise UsageError(f"{new!r} is not a valid name", help="use only letters, digits and _")
    places = _places(set_name, text)
    try:
        before = parse(text, path=path)
    except SearsError:
        return places  # the file had errors before, and they are shown
    try:
        after = parse(with_name(text, places, new), path=path)
    except SearsError as error:
        raise UsageError(f"{new!r} cannot be the name: {error.message}", help=error.help) from error
    if len(after.rules) != len(before.rules) or len(after.sets) != len(before.sets):
        raise UsageError(f"{new!r} would change what the file means", help="choose another name")
    return places


def with_name(text: str, places: list[NameSpan], new: str) -> str:
    """A text with another name at some places."""
    lines = text.split("\n")
    for place in sorted(places, reverse=True):
        line = lines[place.line]
        lines[place.line] = line[: place.start] + new + line[place.end :]
    return "\n".join(lines)


# ---------------------------------------------------------------- findings

Findings = Sequence[Diagnostic]


def find_all(text: str, path: str, *, tagger: Tagger | None = None) -> Iterator[Findings]:
    """Yield all findings so far, each time there are more; imports are looked up beside ``path``.

    After the parser's findings it may raise TaggerError, if the default tagger is not installed, or
    CompileError, if the rules are for another language than the tagger.
    """
    try:
        ruleset = parse(text, path=path)
    except RuleSyntaxError as error:
        yield _of_file(error.diagnostics, path)
        return
    findings = list(ruleset.warnings)
    yield _of_file(findings, path)
    if more := [*template_findings(ruleset), *compiler_warnings(ruleset)]:
        findings += more
        yield _of_file(findings, path)
    try:
        compile_rules([ruleset], tagger=tagger, sources=stand_ins(ruleset))
    except RuleSyntaxError as error:
        yield _of_file([*findings, *error.diagnostics], path)


def _of_file(findings: Sequence[Diagnostic], path: str) -> Findings:
    return [finding for finding in findings if finding.path == path]


_MEANT = re.compile(r"did you mean ([^?\n]+)\?")
_LONGEST_TITLE = 61


@dataclass(frozen=True, slots=True)
class Action:
    """An edit that the editor offers."""

    title: str
    place: NameSpan  # what is replaced; empty for an insertion
    new: str
    code: str | None = None  # of the finding that it mends, if it mends one


def actions(
    text: str, path: str, first: int, last: int, *, tagger: Tagger | None = None
) -> list[Action]:
    """Return the actions for some lines: fixes of their findings, or else new tests."""
    return [*_fixes(text, path, first, last)] or [*_tests(text, path, first, tagger)]


def _fixes(text: str, path: str, first: int, last: int) -> Iterator[Action]:
    findings = _findings(text, path)
    for finding in findings:
        span, meant = finding.span, _MEANT.search(finding.help)
        if span is None or meant is None or not first <= span.line - 1 <= last:
            continue
        place = NameSpan(span.line - 1, span.column - 1, span.end_column - 1)
        word = meant[1].strip("`")
        written = text.split("\n")[place.line][place.start : place.end]
        # Findings point at a name, at one with its sign, @WH, or at a whole reference, $1.upper.
        before, dot, _ = written.rpartition(".")
        sign = "@" if written.startswith("@") else ""
        for new in (before + dot + word, sign + word):
            left = _findings(with_name(text, [place], new), path)
            if len(left) < len(findings) and not any(
                _is_same_finding(each, finding) for each in left
            ):
                yield Action(f"Write {new}", place, new, finding.code)
                break


def _tests(text: str, path: str, line: int, tagger: Tagger | None) -> Iterator[Action]:
    """Yield a new test from each of the first rows of the sample that the rule changes."""
    sample_effect = effect(text, path, line, tagger=tagger)
    lines = text.split("\n")
    last = line + 1 == len(lines)  # without a line break behind it
    place = NameSpan(line, len(lines[line]), len(lines[line])) if last else NameSpan(line + 1, 0, 0)
    for original, rewritten in () if sample_effect is None else sample_effect.first:
        written = f"  test {quote(original)} => {quote(rewritten)}"
        title = f"Make a test from: {shortened(original, _LONGEST_TITLE)}"
        yield Action(title, place, f"\n{written}" if last else f"{written}\n")


def _findings(text: str, path: str) -> list[Diagnostic]:
    try:
        return list(parse(text, path=path).warnings)
    except RuleSyntaxError as error:
        return list(error.diagnostics)


def _is_same_finding(one: Diagnostic, other: Diagnostic) -> bool:
    if one.span is None or other.span is None or one.code != other.code:
        return False
    return (one.span.line, one.span.column) == (other.span.line, other.span.column)


# ---------------------------------------------------------------- places

_AMOUNTS = "; `(2)` changes two places, `(25%)` a share of the characters"
_HOW_TO_WRITE = {
    **dict.fromkeys(syntax.INFLECTIONS, ", if there is exactly one"),
    **dict.fromkeys(("homoglyph", *syntax.TYPING_KINDS, "typo"), _AMOUNTS),
    "neighbor": ", by cosine; `option vectors` names the vectors",
    "paraphrase": ": the best one of a whole unit that differs in at least one word",
}

FUNCTION_HELP = {
    name: meaning + _HOW_TO_WRITE.get(name, "") for name, meaning in FUNCTION_MEANINGS.items()
}
"""What each function does to a word, and what else its author has to know."""

METADATA_HELP = {
    "expect": "what a model should do on the rewritten row: `same`, `flip` or `label NAME`",
    "label": "the label of a template's sentences",
    "rate": "the share of its instances in a unit that the rule rewrites, drawn at random; 25% "
    "includes what 10% changes",
    "seed": "added to the seed of the run; another number gives another draw, always the same",
    "severity": "`low`, `medium` or `high`",
    "tags": "words to select rules by",
    "author": "who wrote it",
    "why": "why the rule exists",
    "test": '`test "in" => "out"`, or `=> none` if the rule stays silent',
}
"""What the line of each key says."""


# How many sentences of a template, and members of a set, are shown.
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
    kind: Literal["function", "set", "key", "tag"]
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
    """Explain in Markdown what stands at a place, with its column in characters; or None."""
    source = line_of(text, line)
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


def line_of(text: str, line: int) -> str:
    """Return a line, from 0; empty after the last one."""
    lines = _lines_of(text)
    return lines[line] if line < len(lines) else ""


@lru_cache(maxsize=1)
def _lines_of(text: str) -> list[str]:
    return text.split("\n")


def _match_at(pattern: re.Pattern[str], source: str, column: int) -> re.Match[str] | None:
    """Return the match in a line that covers a column."""
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
    first, count = _first_members(known, ruleset)
    more = f" | … {count:,} in all" if count > _FEW_MEMBERS else ""
    return f"`{known}` = {first}{more}"


def _first_members(set_name: str, ruleset: Ruleset) -> tuple[str, int]:
    """The first members of a set, as they are shown, and how many there are in all."""
    module, _, own_name = set_name.rpartition(".")
    members = set_texts(ruleset, syntax.SetReference(own_name, module or None))
    return " | ".join(members[:_FEW_MEMBERS]), len(members)


def _known(name: str, names: Iterable[str]) -> str | None:
    """Return the set that a reference names, which may have functions after the name."""
    known = [each for each in names if f"{name}.".startswith(f"{each}.")]
    return max(known, key=len, default=None)


def _describe_template(line: int, ruleset: Ruleset) -> str | None:
    """Describe a template by the number of its sentences, its label and the first sentences."""
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
    """Where the set, the captured word or the imported file that a place names is defined.

    None for anything else. Sets of the file are found even if other lines have errors.
    """
    source = line_of(text, line)
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
    own_sets = _own_sets(text)
    if (known := _known(name, own_sets)) is not None:
        return FilePlace(path, own_sets[known])
    ruleset = _ruleset(text, path)
    known = None if ruleset is None else _known(name, ruleset.set_names())
    if ruleset is None or known is None:
        return None
    module, _, last = known.rpartition(".")
    file = file_of_module(ruleset, module)
    span = next(each.span for each in file.sets if each.name == last)
    return None if span is None else FilePlace(file.path, span.line - 1)


def completions(text: str, path: str, line: int, column: int) -> list[Completion]:
    """Return what may be written at a place."""
    before = line_of(text, line)[:column]
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
        return [Completion(name, "function", FUNCTION_HELP[name]) for name in syntax.FUNCTIONS]
    return sets


def _sets(typed: str, text: str, path: str, line: int) -> Iterator[Completion]:
    """Yield the sets that may complete what is typed; after an import only its own."""
    ruleset = _ruleset(without_statement(text, line), path)
    module = typed.rpartition(".")[0]
    if ruleset is None:
        own_sets = [] if module else _own_sets(text)
        yield from (Completion(name, "set", "a set of this file") for name in own_sets)
        return
    for name in ruleset.set_names():
        if module and not name.startswith(f"{module}."):
            continue
        first, count = _first_members(name, ruleset)
        more = " | …" if count > _FEW_MEMBERS else ""
        yield Completion(name.rpartition(".")[2] if module else name, "set", first + more)


def _ruleset(text: str, path: str) -> Ruleset | None:
    """Return `read_in_part` of the file, or None if that fails too."""
    try:
        return read_in_part(text, path)
    except SearsError:
        return None
