"""What an editor shows and offers while a rule file is written: findings, meanings, fixes.

In: the text in the editor, the file's name, lines and columns from 0. Out: the `Diagnostic`s of
this file, the same as `sears check` gives (`find_all`), and `Action`s about them; Markdown about a
place (`explained`), where what it names is defined (`definition`), what may be written there
(`completions`); what the file defines (`outline`). Always holds: the parser's findings come before
the compiler's and load no tagger. A fix is offered only if it removes its finding, and a test only
if it passes. A statement with errors does not hide the others, except those that need it. Imports
are read as `parse` reads them. Texts of a sample, of sets and of templates are shown as code.

A sample of text may lie beside a rule file, ``a.sample.txt``, with one row per line, of which the
first thousand count, and of at most 4 MiB; nothing else is read. Parsing costs some tens of
microseconds per rule, and again for each fix that is tried. The first compilation loads the tagger.
The effect of a rule costs its compilation and a run over the sample, and each test another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from sears_dsl.data.batches import ReadOptions
from sears_dsl.data.table import read_table
from sears_dsl.engine.compile.requirements import compiler_warnings, stand_ins
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.errors import Diagnostic, RuleSyntaxError, SearsError, counted, shortened
from sears_dsl.generating.sentences import Sentences, template_findings
from sears_dsl.glossary import FUNCTION_MEANINGS, TAG_MEANINGS
from sears_dsl.language import rule as syntax
from sears_dsl.language.loader import findings_of, parse
from sears_dsl.language.measure import noise_in
from sears_dsl.language.parsing.parser import parse_lines
from sears_dsl.language.printer import print_test
from sears_dsl.language.ruleset import Ruleset, file_of_module
from sears_dsl.language.tagsets import BARE_FINE, COARSE
from sears_dsl.language.words import code, quote
from sears_dsl.language_server.names import (
    NameSpan,
    captured_at,
    is_template,
    line_of,
    name_at,
    names,
    own_sets,
    with_name,
    without_texts,
)
from sears_dsl.rule_tests import run_tests
from sears_dsl.tagging.tagger import Tagger

SUFFIX = ".sample.txt"
"""The ending of a sample's name, instead of ``.sear``."""

_MOST_ROWS, _MOST_BYTES = 1_000, 4 << 20
_MOST_SHOWN, _LONGEST_SHOWN = 3, 300

Findings = Sequence[Diagnostic]


def read_in_part(text: str, path: str) -> tuple[Ruleset | None, Findings]:
    """Parse the file without the statements that have errors, so that they do not hide the rest.

    Return what could be read, which is None if nothing could, and the errors of all of it.
    """
    errors: Findings = ()
    while True:
        try:
            return parse(text, path=path), errors
        except RuleSyntaxError as error:
            # What still needs a statement with errors has an error in the next round.
            own = [each for each in error.diagnostics if each.severity == "error"]
            errors = errors or own
            wrong = {each.span.line - 1 for each in own if each.span and each.path == path}
            shorter = without_statements(text, _with_users(text, wrong))
            if shorter == text:
                return None, errors
            text = shorter


def _with_users(text: str, lines: set[int]) -> set[int]:
    """Lines, from 0, and those that name a set which is defined on them alone, and so on."""
    set_on: dict[int, str] = {}
    users: dict[str, set[int]] = {}
    for each in names(text):
        if not each.defines:
            users.setdefault(each.name, set()).add(each.span.line)
        elif "." not in each.name:  # such a name is a mistake, or a set of an import
            set_on[each.span.line] = each.name
    left = Counter(set_on.values())
    without, waiting = set(lines), list(lines)
    while waiting:
        name = set_on.get(waiting.pop())
        if name is not None:
            left[name] -= 1
            more = set() if left[name] else users.get(name, set()) - without
            without |= more
            waiting += more
    return without


def without_statements(text: str, places: Iterable[int]) -> str:
    """Return a file without the statements on lines, from 0, and what is indented under them.

    An indented line goes alone: what comes after it belongs to the statement above.
    """
    lines = text.split("\n")
    for place in places:
        indented = line_of(text, place)[:1] in {" ", "\t"}
        end = place + 1 if indented else _end_of_statement(lines, place)
        lines[place:end] = [""] * (end - place)
    return "\n".join(lines)


def _end_of_statement(lines: Sequence[str], line: int) -> int:
    """The line after a statement and what is indented under it; blanks and comments may part it."""
    end = line + 1
    for at in range(end, len(lines)):
        if lines[at][:1] in {" ", "\t"} and lines[at].strip():
            end = at + 1
        elif lines[at].strip() and lines[at][0] != "#":
            break
    return end


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
            end = _end_of_statement(lines, first)
            yield Symbol(type(node).__name__, node.name or written, written, first, end, parts)


@dataclass(frozen=True, slots=True)
class SampleEffect:
    """What a rule does to a sample."""

    ruleset: Ruleset  # has this rule alone
    file: str
    rows: int
    changed: int
    first: tuple[tuple[str, str], ...]  # distinct rows, with what the rule makes of them


def effect(
    text: str, path: str, line: int, *, tagger: Tagger | None = None
) -> SampleEffect | str | None:
    """What the rule on a line does to the sample, or why that is not known.

    None without a rule there or a sample, or if a finding shows what is wrong with the rule.
    """
    file = Path(path.removesuffix(".sear") + SUFFIX)
    if not path.endswith(".sear") or not file.is_file():
        return None
    ruleset, errors = read_in_part(text, path)
    if ruleset is None:
        return None
    rule = next((each for each in ruleset.rules if each.span and each.span.line == line + 1), None)
    own = range(line, _end_of_statement(text.split("\n"), line))
    if rule is None or any(
        each.span and each.span.line - 1 in own for each in _of_file(errors, path)
    ):
        return None
    if asked := noise_in(rule) & {"neighbor", "paraphrase"}:
        return f"`.{min(asked)}` is not tried on the sample; `sears apply` shows what it writes"
    if file.stat().st_size > _MOST_BYTES:
        size = f"it is larger than {_MOST_BYTES >> 20} MiB; keep its first {_MOST_ROWS:,} rows"
        return f"the sample {code(file.name)} is not read: {size}"
    try:
        # As `sears apply` reads them.
        options = ReadOptions(limit=_MOST_ROWS)
        rows = read_table(file, options=options, required=False).texts("text")
    except SearsError as error:
        return f"the sample cannot be read: {code(error.message.replace(str(file), file.name))}"
    one = replace(ruleset, rules=(rule,))
    try:
        matcher = compile_rules([one], tagger=tagger, sources=stand_ins(one))
        changes = [(each.original, each.text) for each in matcher.apply(rows)]
    except SearsError:
        return None
    first = tuple(dict.fromkeys(changes))[:_MOST_SHOWN]
    return SampleEffect(one, file.name, len(rows), len(changes), first)


# ---------------------------------------------------------------- findings


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
    """The findings in this file; the help of an import shows those in the imported file."""
    elsewhere = [
        f"{Path(each.path).name}:{each.span.line if each.span else 1}: {each.message}"
        for each in findings
        if each.path != path and each.severity == "error"
    ]
    return [
        replace(each, help="\n".join(elsewhere[:_MOST_SHOWN])) if each.code == "E404" else each
        for each in findings
        if each.path == path
    ]


_MEANT = re.compile(r"did you mean ([^?\n]+)\?")
_MISTAKEN = re.compile(r"`([^`]+)`")
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
    findings = findings_of(text, path=path)
    for finding in findings:
        span, meant = finding.span, _MEANT.search(finding.help)
        if span is None or meant is None or not first <= span.line - 1 <= last:
            continue
        place = NameSpan(span.line - 1, span.column - 1, span.end_column - 1)
        for part, word in _repairs(finding, line_of(text, place.line), place, meant[1].strip("`")):
            left = findings_of(with_name(text, [part], word), path=path)
            places = [(each.code, each.span.line, each.span.column) for each in left if each.span]
            remains = (finding.code, span.line, span.column) in places
            if len(left) < len(findings) and not remains:
                yield Action(f"Write {word}", part, word, finding.code)
                break


def _repairs(
    finding: Diagnostic, line: str, place: NameSpan, word: str
) -> Iterator[tuple[NameSpan, str]]:
    """Yield places to try with what to write there: the place of the finding, or a word in it."""
    written = line[place.start : place.end]
    # Findings point at a name, at one with its sign, @WH, or at a whole reference, $1.upper.
    before, dot, _ = written.rpartition(".")
    yield place, before + dot + word
    yield place, ("@" if written.startswith("@") else "") + word
    # Or at a statement or a reference that holds the mistaken word: option cas = exact, @co.WH.
    mistaken = _MISTAKEN.search(finding.message)
    if mistaken and (at := re.search(rf"(?<!\w){re.escape(mistaken[1])}(?!\w)", written)):
        yield NameSpan(place.line, place.start + at.start(), place.start + at.end()), word


def _tests(text: str, path: str, line: int, tagger: Tagger | None) -> Iterator[Action]:
    """Yield a new test from each of the first rows of the sample that the rule changes."""
    sample_effect = effect(text, path, line, tagger=tagger)
    if not isinstance(sample_effect, SampleEffect):
        return
    lines = text.split("\n")
    last = line + 1 == len(lines)  # without a line break behind it
    place = NameSpan(line, len(lines[line]), len(lines[line])) if last else NameSpan(line + 1, 0, 0)
    [rule] = sample_effect.ruleset.rules
    there = {test.text for test in rule.metadata.tests}
    for original, rewritten in sample_effect.first:
        written = f"  test {quote(original)} => {quote(rewritten)}"
        if original not in there and _passes(written, sample_effect.ruleset, lines[line], tagger):
            title = f"Make a test from: {shortened(original, _LONGEST_TITLE)}"
            yield Action(title, place, f"\n{written}" if last else f"{written}\n")


def _passes(written: str, ruleset: Ruleset, head: str, tagger: Tagger | None) -> bool:
    """Whether a test passes under the only rule of a ruleset, read as a line below its head.

    A line may be too long, and the text of a row may be one with pinned tags.
    """
    [entry] = parse_lines(f"{head}\n{written}").entries
    tests = entry.node.metadata.tests if isinstance(entry.node, syntax.Rule) else ()
    rules = tuple(
        replace(rule, metadata=replace(rule.metadata, tests=tests)) for rule in ruleset.rules
    )
    tested = replace(ruleset, rules=rules, templates=())
    results = run_tests(tested, tagger=tagger, sources=stand_ins(tested))
    return [each.outcome for each in results] == ["ok"]


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
_REFERENCE = re.compile(r"\$([A-Za-z]\w*)")
_IMPORT = re.compile(r'import[ \t]+"')
_TAG = re.compile(r"(?<![\w@.{$])([A-Z]{1,5}\$?)(?![\w$])")
_TAGSET = re.compile(r"^option[ \t]+tagset[ \t]*=[ \t]*(\w+)", re.MULTILINE)

_AFTER_DOT = re.compile(r"(\$\w+|\{(?:\w+:)?\w+\??|\{\$\w+)((?:\.\w+(?:\([^()]*\))?)*)\.\w*$")
_IN_SLOT = re.compile(r"(?<!\{)(?:\{\{)*\{[ \t]*(?:\w+:)?([\w.]*)$")
_AFTER_AT = re.compile(r"@([\w.]*)$")
_AFTER_CAPITALS = re.compile(r"(?<![\w@.{$\"])[A-Z]+$")
_AFTER_TAG = re.compile(r"\[[^\]]*\b(?:tag|pos)\s*!?=\s*(?:[A-Z$]+\|)*[A-Z]*$")
_INDENTED = re.compile(r"\s+[a-z]*$")
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"?|#.*')


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
    key = _KEY.match(source)
    if key and key.start(1) <= column < key.end(1) and key[1] in METADATA_HELP:
        return f"`{key[1]}`: {METADATA_HELP[key[1]]}"
    shown = without_texts(source)
    named = name_at(text, line, column)
    if named is None or not named.span.start - 1 <= column < named.span.end:
        function = _match_at(_FUNCTION, shown, column)
        if function and function[1] in FUNCTION_HELP:
            return f"`.{function[1]}`: {FUNCTION_HELP[function[1]]}"
    ruleset, _ = read_in_part(text, path)
    if ruleset is not None:
        if named and (description := _describe_set(named.name, ruleset)):
            return description
        if is_template(source):
            return _describe_template(line, ruleset)
    tag = _match_at(_TAG, shown, column)
    if tag and tag[1] in TAG_MEANINGS:
        return f"`{tag[1]}`: {TAG_MEANINGS[tag[1]]}"
    return _describe_effect(effect(text, path, line, tagger=tagger))


def _match_at(pattern: re.Pattern[str], source: str, column: int) -> re.Match[str] | None:
    """Return the match in a line that covers a column."""
    matches = (each for each in pattern.finditer(source) if each.start() <= column < each.end())
    return next(matches, None)


def _describe_effect(sample_effect: SampleEffect | str | None) -> str | None:
    """What a rule does to the sample beside the file."""
    if not isinstance(sample_effect, SampleEffect):
        return sample_effect
    changed, rows = sample_effect.changed, sample_effect.rows
    summary = f"changes {changed:,} of {rows:,} rows of {code(sample_effect.file)}"
    first = [f"- {_shown(old)}\n- → {_shown(new)}" for old, new in sample_effect.first]
    return "\n".join([summary, "", *first]) if first else summary


def _shown(text: str) -> str:
    """A text of somebody else as code, in which Markdown has no links, pictures or commands."""
    return code(shortened(" ".join(text.splitlines()) or " ", _LONGEST_SHOWN))


def _describe_set(name: str, ruleset: Ruleset) -> str | None:
    if name not in ruleset.set_names():
        return None
    first, count = _first_members(name, ruleset)
    more = f" | … {count:,} in all" if count > _FEW_MEMBERS else ""
    return f"`{name}` = {_shown(first)}{more}"


def _first_members(set_name: str, ruleset: Ruleset) -> tuple[str, int]:
    """The first members of a set, as rules write them, and how many there are in all."""
    members = ruleset.members(syntax.SetReference.called(set_name))
    first = [print_test(each, place="group") for each in members[:_FEW_MEMBERS]]
    return " | ".join(first), len(members)


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
    first = [f"- {_shown(sentences[j])}" for j in range(min(len(sentences), _FEW_SENTENCES))]
    more = ["- …"] if len(sentences) > len(first) else []
    return "\n".join([f"{count}, {template.metadata.label}", "", *first, *more])


def definition(text: str, path: str, line: int, column: int) -> FilePlace | None:
    """Where the set, the captured word or the imported file that a place names is defined.

    None for anything else. Sets of the file are found even if other lines have errors.
    """
    source = line_of(text, line)
    captured = captured_at(text, line, column)
    if captured and _match_at(_REFERENCE, without_texts(source), column):
        first = captured[0]
        return FilePlace(path, line, first.span.start) if first.defines else None
    if named := name_at(text, line, column):
        return _set_place(named.name, text, path)
    ruleset, _ = read_in_part(text, path) if _IMPORT.match(source) else (None, ())
    for each in ruleset.imports if ruleset is not None else ():
        if each.span is not None and each.span.line == line + 1:
            return FilePlace(each.ruleset.path, 0)
    return None


def _set_place(name: str, text: str, path: str) -> FilePlace | None:
    own = own_sets(text)
    if name in own:
        return FilePlace(path, own[name])
    ruleset, _ = read_in_part(text, path)
    if ruleset is None or name not in ruleset.set_names():
        return None
    reference = syntax.SetReference.called(name)
    file = file_of_module(ruleset, reference.module)
    span = next(each.span for each in file.sets if each.name == reference.name)
    return None if span is None else FilePlace(file.path, span.line - 1)


def completions(text: str, path: str, line: int, column: int) -> list[Completion]:
    """Return what may be written at a place."""
    before = line_of(text, line)[:column]
    if _INDENTED.fullmatch(before):
        none_here = _keys_of_others(text, line)
        return [Completion(key, "key", meaning) for key, meaning in METADATA_HELP.items()
                if key not in none_here]  # fmt: skip
    template = is_template(before)
    named = (_IN_SLOT if template else _AFTER_AT).search(before)
    bare = _QUOTED.sub('"', before)
    wants_tag = _AFTER_CAPITALS.search(bare) or _AFTER_TAG.search(bare)
    if not named and not template and wants_tag:
        tagset = _TAGSET.search(text)
        coarse = COARSE["sears2018" if tagset and tagset[1] == "sears2018" else "ud2"]
        tags = (tag for tag in TAG_MEANINGS if tag in coarse or tag in BARE_FINE)
        return [Completion(tag, "tag", TAG_MEANINGS[tag]) for tag in tags]
    sets = list(_sets(named[1], text, path, line)) if named else []
    if not sets and _AFTER_DOT.search(before):
        return [Completion(name, "function", FUNCTION_HELP[name]) for name in syntax.FUNCTIONS]
    return sets


def _keys_of_others(text: str, line: int) -> tuple[str, ...]:
    """The keys that may not stand under the statement above a line."""
    above = (line_of(text, at) for at in range(line - 1, -1, -1))
    statement = next((each for each in above if each.strip() and each[0] not in " \t#"), "")
    return syntax.KEYS_OF_RULES if is_template(statement) else syntax.KEYS_OF_TEMPLATES


def _sets(typed: str, text: str, path: str, line: int) -> Iterator[Completion]:
    """Yield the sets that may complete what is typed; after an import only its own."""
    ruleset, _ = read_in_part(without_statements(text, [line]), path)
    module = typed.rpartition(".")[0]
    if ruleset is None:
        own = [] if module else own_sets(text)
        yield from (Completion(name, "set", "a set of this file") for name in own)
        return
    for name in ruleset.set_names():
        if module and not name.startswith(f"{module}."):
            continue
        first, count = _first_members(name, ruleset)
        more = " | …" if count > _FEW_MEMBERS else ""
        yield Completion(name.rpartition(".")[2] if module else name, "set", first + more)
