"""Runs the tests of rule files, and the gates of a project, in pytest: ``pytest --sears``.

    a.sear       a test for each test line of its rules; files of rules that nobody has accepted,
                 such as a.closest.sear, have to be named
    sears.toml   a test for each of its rules: the audit of the project, judged by its gates; so it
                 is for [tool.sears] of a pyproject.toml

In: pytest's collection. Out: items. Always holds: without ``--sears`` (or ``sears = true`` in
pytest's settings) nothing is collected, and nothing of sears is imported; the audit runs once, even
if it fails, as `sears audit` in a process of its own, and only if one of its items runs; of several
models, each has to pass; a rule that could not be
judged, or a test that could not be run, is skipped with the reason. Costs what `sears test` and
`sears audit` cost.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from sears_dsl.auditing.document import AuditDocument
    from sears_dsl.rule_tests import RuleTestResult

_PROJECTS = ("sears.toml", "pyproject.toml")
_TOGETHER = "all rules"
_SEARS = "from sears_dsl.cli import main; main()"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    description = "run the tests of .sear files, and the audit of sears.toml"
    parser.getgroup("sears").addoption("--sears", action="store_true", help=description)
    parser.addini("sears", description, type="bool", default=False)
    parser.addini("sears_audit", "further options of `sears audit`, for the project", default="")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect rule files, and the project file."""
    if not (parent.config.getoption("sears") or parent.config.getini("sears")):
        return None
    if file_path.suffix == ".sear":
        from sears_dsl.catalogue import NOT_ACCEPTED  # noqa: PLC0415 - only where there are rules

        accepted = not file_path.name.endswith(NOT_ACCEPTED)
        if accepted or parent.session.isinitpath(file_path):
            return RuleFile.from_parent(parent, path=file_path)
    if file_path.name in _PROJECTS:
        return ProjectAudit.from_parent(parent, path=file_path)
    return None


class RuleFile(pytest.File):
    """A file of rules."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one item per test; all tests are run here, since that takes one pass."""
        from sears_dsl.errors import SearsError  # noqa: PLC0415 - only where there are rules
        from sears_dsl.language.loader import load  # noqa: PLC0415
        from sears_dsl.rule_tests import run_tests  # noqa: PLC0415

        try:
            results = run_tests(load(self.path))
        except SearsError as error:
            raise self.CollectError(error.render()) from error
        counts: dict[str, int] = {}
        for result in results:
            counts[result.rule_id] = counts.get(result.rule_id, 0) + 1
            name = f"{result.rule_id}[{counts[result.rule_id]}]"
            yield RuleTestItem.from_parent(self, name=name, result=result)


class _Item(pytest.Item):
    """An item that fails with a sentence instead of a trace."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any) -> str:
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Its file."""
        return self.path, None, self.name


class RuleTestItem(_Item):
    """A test line."""

    def __init__(self, *, result: RuleTestResult, **options: Any) -> None:
        super().__init__(**options)
        self._result = result

    def runtest(self) -> None:
        """Fail if the rule wrote something else."""
        result, test = self._result, self._result.test
        if result.outcome == "not run":
            pytest.skip("the word data that the rule needs is not installed")
        if result.outcome != "ok":
            from sears_dsl.engine.rewrite.rewrites import code_points  # noqa: PLC0415

            expected = "nothing" if test.expected is None else repr(test.expected)
            wrote = "nothing"
            if result.actual is not None:
                points = code_points(test.text, result.actual)
                wrote = repr(result.actual) + (f" ({points})" if points else "")
            raise GateError(f"{result.outcome}: {test.text!r} should give {expected}, gave {wrote}")

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Its file and line."""
        span = self._result.test.span
        return self.path, None if span is None else span.line - 1, self.name


class ProjectAudit(pytest.File):
    """The audit of a project file."""

    _outcome: dict[str, AuditDocument] | GateError | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one item per rule, and one for all rules together; none if it has no settings."""
        from sears_dsl.catalogue import load_rulesets  # noqa: PLC0415 - only where there is one
        from sears_dsl.errors import SearsError  # noqa: PLC0415
        from sears_dsl.language.printer import distinct_ids  # noqa: PLC0415
        from sears_dsl.project.choices import rules_of  # noqa: PLC0415
        from sears_dsl.project.file import find_project  # noqa: PLC0415

        if b"sears" not in self.path.read_bytes() and self.path.name != _PROJECTS[0]:
            return
        try:
            project = find_project(self.path.parent)
            if project is None or not project.path.samefile(self.path):
                return
            rulesets = load_rulesets(rules_of(project, "audit"))
        except SearsError as error:
            raise self.CollectError(error.render()) from error
        for name in (*distinct_ids(rulesets), _TOGETHER) if rulesets else ():
            yield GateItem.from_parent(self, name=name, audit=self)

    def documents(self) -> dict[str, AuditDocument]:
        """Return the audit by model, which the first call runs; GateError if it could not run."""
        if self._outcome is None:
            try:
                self._outcome = self._audited()
            except GateError as error:
                self._outcome = error
        if isinstance(self._outcome, GateError):
            raise self._outcome
        return self._outcome

    def _audited(self) -> dict[str, AuditDocument]:
        from sears_dsl.auditing.document import read_audit  # noqa: PLC0415

        setting = self.config.getini("sears_audit")
        try:
            more = shlex.split(setting)
        except ValueError as error:
            raise GateError(f"sears_audit of pytest's settings: {error}: {setting}") from error
        if any(each.startswith(("-o", "--output=")) or each == "--output" for each in more):
            raise GateError(
                "sears_audit of pytest's settings names an output, but the audit is read from a "
                "temporary folder here: leave out -o"
            )
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.run(  # noqa: S603 - as the user would type it
                [sys.executable, "-c", _SEARS, "audit", "--quiet", "-o", folder, *more],
                cwd=self.path.parent, capture_output=True, text=True, check=False,
            )  # fmt: skip
            # Of several models, each has a folder of its own.
            files = [*Path(folder).glob("audit.json"), *sorted(Path(folder).glob("*/audit.json"))]
            if not files:
                message = process.stderr.strip()
                raise GateError(message or f"sears audit: exit code {process.returncode}")
            several = len(files) > 1
            return {each.parent.name if several else "": read_audit(each) for each in files}


class GateItem(_Item):
    """What the gates say of a rule, or of all together."""

    def __init__(self, *, audit: ProjectAudit, **options: Any) -> None:
        super().__init__(**options)
        self._audit = audit

    def runtest(self) -> None:
        """Fail if a gate does."""
        judged = [
            (outcome, f"{model}: {reason}" if model else reason)
            for model, document in self._audit.documents().items()
            for outcome, reason in self._judgements(document)
        ]
        if not judged:
            pytest.skip("the audit has no such rule")
        if failed := [reason for outcome, reason in judged if outcome == "failed"]:
            raise GateError("\n".join(failed))
        if others := [reason for outcome, reason in judged if outcome != "passed"]:
            pytest.skip("\n".join(filter(None, others)) or "no limit is set")

    def _judgements(self, document: AuditDocument) -> list[tuple[str, str]]:
        """Return outcome and reason of all rules together, or of the rule, if the audit has it."""
        if self.name == _TOGETHER:
            return [(document.verdict.outcome, "\n".join(document.verdict.reasons))]
        return [
            (each.judgement.outcome, f"{each.rule}: {each.judgement.reason}")
            for each in document.rules
            if each.id == self.name
        ]


class GateError(Exception):
    """A test of a rule or a gate that failed."""
