"""``sears check``: what is wrong in rule files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.commands import ProjectArgument, ProjectCommand
from sears_dsl.cli.options.shared import imports_option, json_option
from sears_dsl.cli.screen.console import as_json_object, echo_json
from sears_dsl.errors import (
    MOST_SHOWN,
    Diagnostic,
    RuleSyntaxError,
    TaggerError,
    counted,
    listed,
    rendered,
)

if TYPE_CHECKING:
    from sears_dsl.language.ruleset import Ruleset

_MOST_NAMED = 3


@click.command("check", cls=ProjectCommand, epilog="Example: sears check rules/ --strict")
@click.argument("rules", cls=ProjectArgument, nargs=-1, required=True)
@click.option("--strict", is_flag=True, help="Also fail if there are warnings (exit 1).")
@click.option("--all", "show_all", is_flag=True, help=f"Print more than {MOST_SHOWN} findings.")
@json_option("Print all findings as JSON.")
@imports_option
def check_command(rules: tuple[str, ...], **options: Any) -> None:
    """Find all mistakes in rule files at once.

    Exit 2 if a file has errors; with --strict, exit 1 if there are warnings.
    """
    from sears_dsl.catalogue import loaded_files
    from sears_dsl.language.loader import load

    files = loaded_files(rules)
    findings: list[Diagnostic] = []
    loaded: list[Ruleset] = []
    for file in files:
        try:
            ruleset = load(file, allow_imports_outside=options["allow_imports_outside"])
        except RuleSyntaxError as error:
            findings.extend(error.diagnostics)
        else:
            loaded.append(ruleset)
            findings.extend(ruleset.warnings)
    notes = _compile_findings(loaded, findings) if loaded else []
    count = sum(len(ruleset.rules) for ruleset in loaded)
    findings = list(dict.fromkeys(findings))  # those of an import come with each importer
    errors = sum(finding.severity == "error" for finding in findings)
    warnings = len(findings) - errors
    if options["as_json"]:
        echo_json(
            {"files": len(files), "rules": count, "findings": [*map(as_json_object, findings)]}
        )
    else:
        if findings:
            click.echo(rendered(findings, most=None if options["show_all"] else MOST_SHOWN) + "\n")
        for note in notes:
            click.echo(f"note: {note}")
        templates = sum(len(ruleset.templates) for ruleset in loaded)
        beside = f", {counted(templates, 'template')}" if templates else ""
        click.echo(
            f"{counted(len(files), 'file')}, {counted(count, 'rule')}{beside}: "
            f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
        )
    if errors:
        sys.exit(2)
    if options["strict"] and warnings:
        sys.exit(1)


def _compile_findings(rulesets: list[Ruleset], findings: list[Diagnostic]) -> list[str]:
    """Add what only the compiler sees (words as the tokenizer splits them, inflections).

    For templates it adds what only their sentences tell. Return which files were not compiled, and
    why: each reason once.
    """
    from sears_dsl.engine.compile.requirements import compiler_warnings, stand_ins
    from sears_dsl.engine.matcher import compile_rules
    from sears_dsl.generating.sentences import template_findings

    for ruleset in rulesets:
        findings.extend([*template_findings(ruleset), *compiler_warnings(ruleset)])
    uncompiled: dict[str, list[str]] = {}
    for ruleset in rulesets:
        try:
            compile_rules([ruleset], sources=stand_ins(ruleset))
        except RuleSyntaxError as error:
            findings.extend(error.diagnostics)
        except TaggerError as error:
            reason = f"{error.message} ({error.help})"
            uncompiled.setdefault(reason, []).append(ruleset.path)
    return [
        f"{listed(paths, _MOST_NAMED)} could not be compiled: {reason}"
        for reason, paths in uncompiled.items()
    ]
