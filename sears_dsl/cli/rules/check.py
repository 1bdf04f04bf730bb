"""``sears check``, ``sears fmt``, ``sears test``: the commands about rule files themselves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sears_dsl.cli.options.project import ProjectArgument, ProjectCommand
from sears_dsl.cli.screen.console import as_json_object, counted, echo_json, imports_option
from sears_dsl.defaults import DEFAULT_TAGGER
from sears_dsl.errors import (
    MOST_SHOWN,
    Diagnostic,
    RuleSyntaxError,
    TaggerError,
    UsageError,
    rendered,
)

if TYPE_CHECKING:
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.tagging.tagger import Tagger

__all__ = ["check_command", "fmt_command", "test_command"]


@click.command("check", cls=ProjectCommand, epilog="Example: sears check rules/ --strict")
@click.argument("rules", cls=ProjectArgument, nargs=-1, required=True)
@click.option("--strict", is_flag=True, help="Warnings fail the check too (exit 1).")
@click.option("--all", "show_all", is_flag=True, help=f"Print more than {MOST_SHOWN} findings.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON, all of them.")
@imports_option
def check_command(
    rules: tuple[str, ...],
    *,
    strict: bool,
    show_all: bool,
    as_json: bool,
    allow_imports_outside: bool,
) -> None:
    """Find what is wrong in rule files, all of it at once.

    Exit 2 when a file has errors, 1 when --strict and there are warnings.
    """
    from sears_dsl.catalogue import find_rule_files
    from sears_dsl.language.ruleset import load

    files = find_rule_files(rules)
    findings: list[Diagnostic] = []
    loaded: list[Ruleset] = []
    count = 0
    for file in files:
        try:
            ruleset = load(file, allow_imports_outside=allow_imports_outside)
        except RuleSyntaxError as error:
            findings.extend(error.diagnostics)
        else:
            loaded.append(ruleset)
            count += len(ruleset.rules)
            findings.extend(ruleset.warnings)
    note = _compile_findings(loaded, findings)
    errors = sum(finding.severity == "error" for finding in findings)
    warnings = len(findings) - errors
    if as_json:
        echo_json(
            {"files": len(files), "rules": count, "findings": [*map(as_json_object, findings)]}
        )
    else:
        if findings:
            click.echo(rendered(findings, most=None if show_all else MOST_SHOWN) + "\n")
        if note:
            click.echo(f"note: {note}")
        click.echo(
            f"{counted(len(files), 'file')}, {counted(count, 'rule')}: "
            f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
        )
    if errors:
        sys.exit(2)
    if strict and warnings:
        sys.exit(1)


def _compile_findings(rulesets: list[Ruleset], findings: list[Diagnostic]) -> str:
    """Add what only the compiler sees (words as the tokenizer splits them, inflections)."""
    from sears_dsl.engine.matcher import compile_rules

    for ruleset in rulesets:
        try:
            compile_rules([ruleset])
        except RuleSyntaxError as error:
            findings.extend(error.diagnostics)
        except TaggerError as error:
            return f"rules were not compiled: {error.message} ({error.help})"
    return ""


@click.command("fmt", epilog="Example: sears fmt rules/*.sear")
@click.argument("rules", nargs=-1, required=True)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if a file would change.")
@click.option("--diff", "show_diff", is_flag=True, help="Write nothing; show what would change.")
@imports_option
def fmt_command(
    rules: tuple[str, ...], *, check: bool, show_diff: bool, allow_imports_outside: bool
) -> None:
    """Put rule files into their canonical form. `-` reads standard input, writes standard output.

    Comments stay; spacing, the order of metadata and quotes become the same everywhere.
    """
    from sears_dsl.catalogue import find_rule_files
    from sears_dsl.language.ruleset import load, parse
    from sears_dsl.runtime.writing import write_atomically

    if "-" in rules:
        if rules != ("-",):
            raise UsageError("`-` stands alone", help="sears fmt - < a.sear")
        try:
            source = sys.stdin.buffer.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UsageError(
                f"standard input is no UTF-8: {error.reason} at byte {error.start}",
                help="rule files are UTF-8; convert it first",
            ) from error
        click.echo(parse(source, path="<stdin>").format(), nl=False)
        return
    changed = 0
    files = find_rule_files(rules)
    for file in files:
        source = file.read_bytes()
        before = file.read_text("utf-8")
        after = load(file, allow_imports_outside=allow_imports_outside).format()
        if before == after:
            continue
        changed += 1
        if show_diff:
            click.echo(_unified(before, after, file), nl=False)
        elif check:
            click.echo(f"would change: {file}")
        else:
            write_atomically(file, after.encode("utf-8"), replacing=source)
            click.echo(f"changed: {file}")
    click.echo(f"{counted(len(files), 'file')}, {changed:,} not in canonical form")
    if changed and (check or show_diff):
        sys.exit(1)


def _unified(before: str, after: str, file: Path) -> str:
    from difflib import unified_diff

    lines = unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        fromfile=str(file),
        tofile=f"{file} (canonical)",
    )
    return "".join(lines)


@click.command("test", cls=ProjectCommand, epilog="Example: sears test contractions/expand")
@click.argument("rules", cls=ProjectArgument, nargs=-1, required=True)
@click.option("--tagger", default=DEFAULT_TAGGER, show_default=True,
              help="For tests without pinned tags.")  # fmt: skip
@click.option("--record", is_flag=True, help="Where all tests of a file hold, write into its "
              "manifest that it was validated with this tagger.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print every result as JSON.")
@imports_option
def test_command(
    rules: tuple[str, ...],
    *,
    tagger: str,
    record: bool,
    as_json: bool,
    allow_imports_outside: bool,
) -> None:
    """Run the tests that rules carry. Exit 1 when one is not ok.

    Outcomes: ok, missing (should fire, did not), noisy (fired, should not), wrong (other text).
    """
    from sears_dsl.catalogue import load_rulesets
    from sears_dsl.rule_tests import run_tests

    rulesets = load_rulesets(rules, allow_imports_outside=allow_imports_outside)
    chosen = _tagger_for(tagger, rulesets)
    results = [
        (ruleset, result) for ruleset in rulesets for result in run_tests(ruleset, tagger=chosen)
    ]
    failed = [(ruleset, result) for ruleset, result in results if result.outcome != "ok"]
    if as_json:
        echo_json(
            [
                {
                    "path": ruleset.path,
                    "line": result.test.span.line if result.test.span else None,
                    "rule": result.rule_id,
                    "text": result.test.text,
                    "expected": result.test.expected,
                    "actual": result.actual,
                    "outcome": result.outcome,
                }
                for ruleset, result in results
            ]
        )
    else:
        for ruleset, result in failed:
            line = result.test.span.line if result.test.span else 0
            click.echo(f"{ruleset.path}:{line}: {result.outcome}: {result.rule_id}")
            click.echo(f"  text      {result.test.text}")
            click.echo(f"  expected  {_told(result.test.expected)}")
            click.echo(f"  actual    {_told(result.actual)}")
        rules_tested = len({(ruleset.path, result.rule_id) for ruleset, result in results})
        click.echo(
            f"{counted(len(results), 'test')} of {counted(rules_tested, 'rule')}: "
            f"{len(results) - len(failed):,} ok, {len(failed):,} not ok"
        )
    if record:
        failing = {ruleset.path for ruleset, _ in failed}
        _record([each for each in rulesets if each.path not in failing], tagger)
    if failed:
        sys.exit(1)


def _record(rulesets: list[Ruleset], name: str) -> None:
    """Write down what was validated; a file without tests was not."""
    from sears_dsl.batch.provenance import record_tagger
    from sears_dsl.tagging.tagger import load_tagger

    for ruleset in rulesets:
        if any(rule.metadata.tests for rule in ruleset.rules):
            manifest = record_tagger(ruleset, load_tagger(name))
            click.echo(f"written: {manifest}", err=True)


def _told(text: str | None) -> str:
    return "(silent)" if text is None else text


def _tagger_for(name: str, rulesets: list[Ruleset]) -> Tagger:
    """The tagger asked for; where all tests pin their tags, no tagger has to be installed."""
    from sears_dsl.tagging.pinned import PinnedTagger, parse_pinned
    from sears_dsl.tagging.tagger import load_tagger

    try:
        return load_tagger(name)
    except TaggerError:
        tests = [t for r in rulesets for rule in r.rules for t in rule.metadata.tests]
        if all(parse_pinned(test.text) is not None for test in tests):
            return PinnedTagger()
        raise
