"""What is wrong in the text of a rule file, and what an editor offers to do about it.

In: the text as it stands in the editor, the file's name, lines from 0. Out: `Diagnostic`s of this
file, the same as `sears check` gives; `Action`s. Always holds: what the parser finds comes before
the compiler's findings and without loading a tagger; a fix is offered only where the finding is
gone after it; a test is one that passes. Costs some tens of microseconds a rule to parse, once more
for each fix that is tried; the first compilation loads the tagger; a test costs a run over the
sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sears_dsl.engine.compile.requirements import compiler_warnings, stand_ins
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.errors import Diagnostic, RuleSyntaxError
from sears_dsl.generating.sentences import template_findings
from sears_dsl.language.loader import parse
from sears_dsl.language.words import quote
from sears_dsl.language_server.renaming import NameSpan, with_name
from sears_dsl.language_server.sample import effect
from sears_dsl.tagging.tagger import Tagger

Findings = Sequence[Diagnostic]


def find_all(text: str, path: str, *, tagger: Tagger | None = None) -> Iterator[Findings]:
    """All findings known so far, each time there are more; imports are looked for beside ``path``.

    After those of the parser: TaggerError where the default tagger is not installed, CompileError
    where the rules are for another language than the tagger.

    Example:
        >>> [[finding.code for finding in found] for found in find_all("NUON -> it", "a.sear")]
        [['E201']]
    """
    try:
        ruleset = parse(text, path=path)
    except RuleSyntaxError as error:
        yield _own(error.diagnostics, path)
        return
    findings = list(ruleset.warnings)
    yield _own(findings, path)
    if more := [*template_findings(ruleset), *compiler_warnings(ruleset)]:
        findings += more
        yield _own(findings, path)
    try:
        compile_rules([ruleset], tagger=tagger, sources=stand_ins(ruleset))
    except RuleSyntaxError as error:
        yield _own([*findings, *error.diagnostics], path)


def _own(findings: Sequence[Diagnostic], path: str) -> Findings:
    return [finding for finding in findings if finding.path == path]


_MEANT = re.compile(r"did you mean ([^?\n]+)\?")
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Action:
    """Something to do."""

    title: str
    place: NameSpan  # what is replaced; of an insertion an empty place
    new: str
    code: str | None = None  # of the finding that it mends; None where it mends none


def actions(
    text: str, path: str, first: int, last: int, *, tagger: Tagger | None = None
) -> list[Action]:
    r"""What may be done about some lines.

    Example:
        >>> [action] = actions("What NUON -> Which NOUN\n", "a.sear", 0, 0)
        >>> action.title, action.place, action.new
        ('Write NOUN', NameSpan(line=0, start=5, end=9), 'NOUN')
    """
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
            if len(left) < len(findings) and not any(_same(each, finding) for each in left):
                yield Action(f"Write {new}", place, new, finding.code)
                break


def _tests(text: str, path: str, line: int, tagger: Tagger | None) -> Iterator[Action]:
    """A test of each of the first rows of the sample that the rule changes."""
    sample_effect = effect(text, path, line, tagger=tagger)
    lines = text.split("\n")
    last = line + 1 == len(lines)  # without a line break behind it
    place = NameSpan(line, len(lines[line]), len(lines[line])) if last else NameSpan(line + 1, 0, 0)
    for original, rewritten in () if sample_effect is None else sample_effect.first:
        written = f"  test {quote(original)} => {quote(rewritten)}"
        short = original if len(original) <= _LONGEST else original[:_LONGEST] + "…"
        yield Action(
            f"Make a test from: {short}", place, f"\n{written}" if last else f"{written}\n"
        )


def _findings(text: str, path: str) -> list[Diagnostic]:
    try:
        return list(parse(text, path=path).warnings)
    except RuleSyntaxError as error:
        return list(error.diagnostics)


def _same(one: Diagnostic, other: Diagnostic) -> bool:
    if one.span is None or other.span is None or one.code != other.code:
        return False
    return (one.span.line, one.span.column) == (other.span.line, other.span.column)
