"""The files of audits, comparisons, errors: page, Markdown, JSON, and JUnit for servers of CI.

In: a document and a folder. Out: the files in it, each written whole or not at all. An audit also
gets JUnit XML, with one test case for each rule, named by id and text: ``film: movie -> film``. A
rule that fails its gate is a ``failure``. A rule that could not be judged, or of which nothing is
demanded, is ``skipped`` with the reason, never passed. The suite has a failure wherever the command
exits with 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from sears_dsl.auditing.comparison import ComparisonDocument
from sears_dsl.auditing.document import AuditDocument, DocumentRecord, RuleRecord, write_document
from sears_dsl.auditing.failures import ErrorsDocument
from sears_dsl.auditing.gates import JudgementOutcome
from sears_dsl.auditing.grids import GridDocument, grid
from sears_dsl.auditing.reports import several_audits as reports
from sears_dsl.auditing.reports.markdown import audit_markdown
from sears_dsl.auditing.reports.page import audit_page
from sears_dsl.auditing.robustness import in_words
from sears_dsl.discovery.names import numbered
from sears_dsl.engine.rewrite.rewrites import with_code_points
from sears_dsl.errors import DataError
from sears_dsl.runtime.files import make_folder, write_atomically

_WRITERS: Mapping[type[DocumentRecord], tuple[str, Callable[[Any], str], Callable[[Any], str]]] = {
    AuditDocument: ("audit", audit_page, audit_markdown),
    ComparisonDocument: ("comparison", reports.comparison_page, reports.comparison_markdown),
    GridDocument: ("comparison", reports.grid_page, reports.grid_markdown),
    ErrorsDocument: ("errors", reports.errors_page, reports.errors_markdown),
}


def write_audit_files(document: AuditDocument, folder: Path) -> None:
    """Write ``audit.html``, ``audit.md``, ``junit.xml`` and ``audit.json``."""
    write_files(document, folder)
    write_atomically(folder / "junit.xml", junit_xml(document))


def write_audits_files(audits: Mapping[str, AuditDocument], folder: Path) -> GridDocument:
    """Write a folder for the audit of each model, and the grid of them beside these."""
    several = grid(audits)
    for name, document in zip(_folders_of(list(audits)), audits.values(), strict=True):
        write_audit_files(document, folder / name)
    write_files(several, folder)
    return several


def _folders_of(names: Sequence[str]) -> list[str]:
    """A folder for each model; none is called like a file of the grid beside it."""
    taken = [path.name for path in files_of(GridDocument, Path())]
    plain = [re.sub(r"[^\w.-]+", "-", name).strip("-.")[-80:] or "model" for name in names]
    return numbered(plain, plain, taken=taken)


def files_of(kind: type[DocumentRecord], folder: Path) -> list[Path]:
    """The files that `write_files` writes of a document."""
    name, *_ = _WRITERS[kind]
    return [folder / f"{name}.{suffix}" for suffix in ("html", "md", "json")]


def files_of_audits(names: Sequence[str], folder: Path) -> list[Path]:
    """The files of the audit of a model, or of the audits of several and their grid."""
    several = len(names) > 1
    folders = [folder / name for name in _folders_of(names)] if several else [folder]
    files = [path for each in folders for path in files_of(AuditDocument, each)]
    files += [each / "junit.xml" for each in folders]
    return [*files, *(files_of(GridDocument, folder) if several else ())]


def add_summary(text: str, file: Path) -> None:
    """Append a summary for a pull request to a file, which is created if there is none."""
    try:
        before = file.read_bytes() if file.exists() else b""
    except OSError as error:
        raise DataError(
            f"{file} could not be read: {error.strerror}", help="name another file: --summary"
        ) from error
    between = b"\n" if before and not before.endswith(b"\n") else b""
    write_atomically(file, before + between + text.encode("utf-8", "replace"))


def write_files(document: DocumentRecord, folder: Path) -> None:
    """Write page, Markdown and JSON: ``comparison.html`` and so on, or ``errors.html``."""
    _, page, text = _WRITERS[type(document)]
    page_file, text_file, json_file = files_of(type(document), folder)
    make_folder(folder)
    write_atomically(page_file, page(document).encode("utf-8", "replace"))
    write_atomically(text_file, text(document).encode("utf-8", "replace"))
    write_document(document, json_file)


# Characters that XML 1.0 cannot represent.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SHOWN = 5


def junit_xml(document: AuditDocument) -> bytes:
    """The audit as JUnit XML, in UTF-8.

    The suite is named after the rulesets. Its cases are the rules, all rules together if something
    is demanded of them, the gates about robustness, and the verdict where nothing else says that it
    is none: a gate that could not be judged is not passed.
    """
    verdict, required = document.verdict, document.gates.require_support
    cases = [
        (f"{e.id}: {e.rule}", _kind(e.judgement.outcome, required), e.judgement.reason, _details(e))
        for e in document.rules
    ]
    if document.gates.rows_flipped is not None:
        reason = verdict.all_rules_reason
        cases.append(("all rules", _kind(verdict.all_rules, required=True), reason, reason))
    cases += _of_robustness(document)
    if verdict.outcome == "not judged" and not any(kind == "failure" for _, kind, _, _ in cases):
        cases.append(("verdict", "failure", verdict.reasons[0], "\n".join(verdict.reasons)))
    kinds = [kind for _, kind, _, _ in cases]
    counts = {
        "tests": str(len(cases)), "failures": str(kinds.count("failure")), "errors": "0",
        "skipped": str(kinds.count("skipped")), "time": "0",
    }  # fmt: skip
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


def _of_robustness(document: AuditDocument) -> Iterator[tuple[str, str, str, str]]:
    """A case for each gate; without gates, skipped cases for all rules and for each tag."""
    robustness = document.robustness
    if robustness is None:
        return
    for gate in robustness.gates:
        kind = _kind(gate.outcome, required=True)
        name = f"{gate.gate} at {100 * gate.tolerance:g}%"
        yield name, kind, gate.reason, gate.reason
    if not robustness.gates:
        for record in robustness.records:
            if not record.of_one:
                reason = f"no limit is set; {record.verdict}: {in_words(record)}"
                yield f"robust:{record.selector}", "skipped", reason, reason


def _kind(outcome: JudgementOutcome, required: bool) -> str:
    """What a case is; ``required``: that it could be judged."""
    if outcome == "passed":
        return "passed"
    if outcome == "failed" or (required and outcome == "not judged"):
        return "failure"
    return "skipped"


def _details(record: RuleRecord) -> str:
    lines = [record.rule, f"expects {record.expect}; {record.judgement.reason}"]
    for each in record.examples[:_SHOWN]:
        if each.failed:
            became = with_code_points(each.original, each.rewritten)
            change = f"{each.original} -> {became} ({each.before} -> {each.after})"
            lines.append(f"row {each.row}: {change}")
    return "\n".join(lines)


def _clean(text: str) -> str:
    """The text with escapes for what XML cannot hold: control characters, lone surrogates."""
    return _FORBIDDEN.sub(
        lambda match: match[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text
    )
