"""What is wrong with templates that only their sentences tell.

In: a ruleset without errors. Out: `Diagnostic`s: what `members` finds, sentences that two choices
write (W621) and empty ones (W623). Costs some tenths of a second for a million sentences, the most
that a template may have.
"""

from __future__ import annotations

from sears_dsl.errors import Diagnostic, RuleSyntaxError
from sears_dsl.generating.members import of_template
from sears_dsl.generating.sentences import Sentences
from sears_dsl.language.ruleset import Ruleset


def template_findings(ruleset: Ruleset) -> list[Diagnostic]:
    """What is wrong with the sentences of a ruleset's templates."""
    findings: list[Diagnostic] = []
    for template in ruleset.templates:
        try:
            sentences = Sentences(template, ruleset)
        except RuleSyntaxError as error:
            findings += error.diagnostics
            continue
        repeated = len(sentences) - len(sentences.distinct)
        if repeated:
            finding = Diagnostic(
                "W621",
                f"a template writes the same sentence twice: {repeated:,} of {len(sentences):,}",
                help="each is generated once; take a slot that may be empty only once, or name it",
            )
            findings.append(of_template(finding, template, ruleset))
        if sentences.may_be_blank:
            finding = Diagnostic(
                "W623",
                "a template writes an empty sentence",
                help="write words around its slots, or let one slot always have a word",
            )
            findings.append(of_template(finding, template, ruleset))
    return findings
