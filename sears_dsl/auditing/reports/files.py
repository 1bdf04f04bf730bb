"""The files of audits, comparisons, errors: page, Markdown, JSON, and JUnit for servers of CI.

In: a document, a folder. Out: the files in it, each written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from sears_dsl.auditing.comparison import ComparisonDocument
from sears_dsl.auditing.document import AuditDocument, write_audit
from sears_dsl.auditing.failures import ErrorsDocument
from sears_dsl.auditing.grid import GridDocument, grid
from sears_dsl.auditing.reports.comparison_page import (
    comparison_markdown,
    comparison_page,
    grid_markdown,
    grid_page,
)
from sears_dsl.auditing.reports.errors_page import errors_markdown, errors_page
from sears_dsl.auditing.reports.junit import junit_xml
from sears_dsl.auditing.reports.markdown import audit_markdown
from sears_dsl.auditing.reports.page import audit_page
from sears_dsl.errors import DataError
from sears_dsl.models.names import folder_names
from sears_dsl.runtime.files import make_folder, write_atomically

_Document: TypeAlias = ComparisonDocument | GridDocument | ErrorsDocument


def write_audit_files(document: AuditDocument, folder: Path) -> None:
    """Write ``audit.html``, ``audit.md``, ``junit.xml`` and ``audit.json``."""
    make_folder(folder)
    write_atomically(folder / "audit.html", audit_page(document).encode("utf-8", "replace"))
    write_atomically(folder / "audit.md", audit_markdown(document).encode("utf-8", "replace"))
    write_atomically(folder / "junit.xml", junit_xml(document))
    write_audit(document, folder / "audit.json")


def write_audits_files(audits: Mapping[str, AuditDocument], folder: Path) -> GridDocument:
    """Write a folder for the audit of each model, and the grid of them beside these."""
    several = grid(audits)
    for name, document in zip(folder_names(list(audits)), audits.values(), strict=True):
        write_audit_files(document, folder / name)
    write_grid_files(several, folder)
    return several


def add_summary(text: str, file: Path) -> None:
    """Put a summary for a pull request behind what a file holds; make it where there is none."""
    try:
        before = file.read_bytes() if file.exists() else b""
    except OSError as error:
        raise DataError(
            f"{file} could not be read: {error.strerror}", help="name another file: --summary"
        ) from error
    write_atomically(file, before + text.encode("utf-8", "replace"))


def write_comparison_files(comparison: ComparisonDocument, folder: Path) -> None:
    """Write ``comparison.html``, ``comparison.md`` and ``comparison.json``."""
    page, text = comparison_page(comparison), comparison_markdown(comparison)
    _write_three(folder, "comparison", page, text, comparison)


def write_grid_files(document: GridDocument, folder: Path) -> None:
    """Write ``comparison.html``, ``comparison.md`` and ``comparison.json`` of several audits."""
    _write_three(folder, "comparison", grid_page(document), grid_markdown(document), document)


def write_errors_files(document: ErrorsDocument, folder: Path) -> None:
    """Write ``errors.html``, ``errors.md`` and ``errors.json``."""
    _write_three(folder, "errors", errors_page(document), errors_markdown(document), document)


def _write_three(folder: Path, name: str, page: str, text: str, document: _Document) -> None:
    make_folder(folder)
    write_atomically(folder / f"{name}.html", page.encode("utf-8", "replace"))
    write_atomically(folder / f"{name}.md", text.encode("utf-8", "replace"))
    content = document.model_dump_json(indent=1) + "\n"
    write_atomically(folder / f"{name}.json", content.encode())
