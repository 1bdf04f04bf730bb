"""An audit for continuous integration: one test case a rule, as JUnit's XML.

In: the document of an audit. Out: XML. A case is called by the rule's id and text, ``film: movie ->
film``. Always holds: a rule that fails its gate is a ``failure``, a rule that could not be judged
or of which nothing is demanded is ``skipped`` with the reason, never passed; the counts of the
suite are those of its cases; characters that XML cannot hold are written as escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from sears_dsl.auditing.document import AuditDocument, Example, RuleRecord
from sears_dsl.auditing.gates import JudgementOutcome
from sears_dsl.auditing.robustness import in_words
from sears_dsl.engine.rewrite.shown_edits import with_code_points

# What XML 1.0 has no way to write.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SHOWN = 5


def junit_xml(document: AuditDocument) -> bytes:
    """The audit as JUnit XML, in UTF-8.

    The suite is named after the rulesets; its cases are the rules, one for all rules together where
    something is demanded of them, and the gates that ask about robustness.
    """
    required = document.gates.require_support
    cases = [
        (
            f"{each.id}: {each.rule}",
            _kind(each.judgement.outcome, required),
            each.judgement.reason,
            _details(each),
        )
        for each in document.rules
    ]
    if document.gates.rows_flipped is not None:
        verdict = document.verdict
        kind = _kind(verdict.all_rules, required)
        reason = verdict.all_rules_reason
        cases.append(("all rules", kind, reason, reason))
    cases += _of_robustness(document, required=required)
    kinds = [kind for _, kind, _, _ in cases]
    counts = {
        "tests": str(len(cases)),
        "failures": str(kinds.count("failure")),
        "errors": "0",
        "skipped": str(kinds.count("skipped")),
        "time": "0",
    }
    name = _clean(" ".join(each.name for each in document.rulesets) or "rules")
    suites = Element("testsuites", {"name": "sears audit", **counts})
    suite = SubElement(suites, "testsuite", {"name": name, **counts})
    properties = SubElement(suite, "properties")
    for key, value in (("model", document.model), ("data", document.data.sha256)):
        SubElement(properties, "property", {"name": key, "value": _clean(value)})
    for called, kind, reason, details in cases:
        case = SubElement(
            suite, "testcase", {"classname": f"sears.{name}", "name": _clean(called), "time": "0"}
        )
        if kind != "passed":
            element = SubElement(case, kind, {"message": _clean(reason)})
            if kind == "failure":
                element.set("type", "gate")
            element.text = _clean(details)
    indent(suites)
    content: str = tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{content}\n'.encode()


def _of_robustness(
    document: AuditDocument, *, required: bool
) -> Iterator[tuple[str, str, str, str]]:
    """A case a gate; where there is none, one for all and for each tag, of no demand."""
    robustness = document.robustness
    if robustness is None:
        return
    for gate in robustness.gates:
        kind = _kind(gate.outcome, required)
        name = f"{gate.gate} at {100 * gate.tolerance:g}%"
        yield name, kind, gate.reason, gate.reason
    if not robustness.gates:
        for record in robustness.records:
            if not record.of_one:
                reason = f"no limit is set; {record.verdict}: {in_words(record)}"
                yield f"robust:{record.selector}", "skipped", reason, reason


def _kind(outcome: JudgementOutcome, required: bool) -> str:
    if outcome == "passed":
        return "passed"
    if outcome == "failed" or (required and outcome == "not judged"):
        return "failure"
    return "skipped"


def _details(record: RuleRecord) -> str:
    lines = [record.rule, f"expects {record.expect}; {record.judgement.reason}"]
    lines += [_line(each) for each in record.examples[:_SHOWN] if each.failed]
    return "\n".join(lines)


def _line(example: Example) -> str:
    return (
        f"row {example.row}: {example.original} -> "
        f"{with_code_points(example.original, example.rewritten)} "
        f"({example.before} -> {example.after})"
    )


def _clean(text: str) -> str:
    """Control characters and lone surrogates as escapes."""
    return _FORBIDDEN.sub(
        lambda match: match[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text
    )
