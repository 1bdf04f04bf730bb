"""What is wrong in the text of a rule file, first by its syntax, then by the compiler.

In: the text as it stands in the editor, and the file's name. Out: `Diagnostic`s of this file, the
same as `sears check` gives. Always holds: what the parser finds comes without loading a tagger.
Costs some tens of microseconds a rule to parse; the first compilation loads the tagger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sears_dsl.engine.compile.diagnostics import compiler_warnings
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.noise.needs import stand_ins
from sears_dsl.errors import Diagnostic, RuleSyntaxError
from sears_dsl.generating.sentences import template_findings
from sears_dsl.language.loader import parse
from sears_dsl.tagging.tagger import Tagger

Findings = Sequence[Diagnostic]


def find_all(text: str, path: str, *, tagger: Tagger | None = None) -> Iterator[Findings]:
    """All findings known so far, each time there are more.

    Args:
        text: the file as it stands in the editor.
        path: where it is saved; imports are looked for beside it.

    Raises:
        TaggerError: after the findings of the parser, where the default tagger is not installed.
        CompileError: likewise, where the rules are for another language than the tagger.

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
