"""``sears check``, ``fmt`` and ``test``: whether rule files are right; ``lsp`` in editors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.options.project import ProjectArgument, ProjectCommand
from sears_dsl.cli.screen.console import as_json_object, echo_json, imports_option
from sears_dsl.defaults import DEFAULT_TAGGER
from sears_dsl.errors import (
    MOST_SHOWN,
    Diagnostic,
    RuleSyntaxError,
    TaggerError,
    UsageError,
    rendered,
)
from sears_dsl.runtime.wording import counted

if TYPE_CHECKING:
    from sears_dsl.engine.noise.sources import Sources
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.tagging.tagger import Tagger


@click.command("check", cls=ProjectCommand, epilog="Example: sears check rules/ --strict")
@click.argument("rules", cls=ProjectArgument, nargs=-1, required=True)
@click.option("--strict", is_flag=True, help="Warnings fail the check too (exit 1).")
@click.option("--all", "show_all", is_flag=True, help=f"Print more than {MOST_SHOWN} findings.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON, all of them.")
@imports_option
def check_command(rules: tuple[str, ...], **options: Any) -> None:
    """Find what is wrong in rule files, all of it at once.

    Exit 2 when a file has errors, 1 when --strict and there are warnings.
    """
    from sears_dsl.catalogue import find_rule_files
    from sears_dsl.language.loader import load

    files = find_rule_files(rules)
    findings: list[Diagnostic] = []
    loaded: list[Ruleset] = []
    count = 0
    for file in files:
        try:
            ruleset = load(file, allow_imports_outside=options["allow_imports_outside"])
        except RuleSyntaxError as error:
            findings.extend(error.diagnostics)
        else:
            loaded.append(ruleset)
            count += len(ruleset.rules)
            findings.extend(ruleset.warnings)
    note = _compile_findings(loaded, findings) if loaded else ""
    errors = sum(finding.severity == "error" for finding in findings)
    warnings = len(findings) - errors
    if options["as_json"]:
        echo_json(
            {"files": len(files), "rules": count, "findings": [*map(as_json_object, findings)]}
        )
    else:
        if findings:
            click.echo(rendered(findings, most=None if options["show_all"] else MOST_SHOWN) + "\n")
        if note:
            click.echo(f"note: {note}")
        click.echo(
            f"{counted(len(files), 'file')}, {counted(count, 'rule')}{_templates(loaded)}: "
            f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
        )
    if errors:
        sys.exit(2)
    if options["strict"] and warnings:
        sys.exit(1)


def _templates(rulesets: list[Ruleset]) -> str:
    count = sum(len(ruleset.templates) for ruleset in rulesets)
    return f", {counted(count, 'template')}" if count else ""


def _compile_findings(rulesets: list[Ruleset], findings: list[Diagnostic]) -> str:
    """Add what only the compiler sees (words as the tokenizer splits them, inflections).

    Of templates what only their sentences tell.
    """
    from sears_dsl.engine.compile.diagnostics import compiler_warnings
    from sears_dsl.engine.matcher import compile_rules
    from sears_dsl.engine.noise.needs import stand_ins
    from sears_dsl.generating.sentences import template_findings

    for ruleset in rulesets:
        findings.extend([*template_findings(ruleset), *compiler_warnings(ruleset)])
    for ruleset in rulesets:
        try:
            compile_rules([ruleset], sources=stand_ins(ruleset))
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
    from sears_dsl.language.loader import load, parse
    from sears_dsl.runtime.files import write_atomically

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
        click.echo(_canonical(parse(source, path="<stdin>")), nl=False)
        return
    changed = 0
    files = find_rule_files(rules)
    for file in files:
        source = file.read_bytes()
        before = file.read_text("utf-8")
        after = _canonical(load(file, allow_imports_outside=allow_imports_outside))
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
    unchanged = f"{counted(len(files) - changed, 'file')} already in canonical form"
    only_looked = check or show_diff
    done = "not in canonical form" if only_looked else "reformatted"
    click.echo(f"{counted(changed, 'file')} {done}, {unchanged}" if changed else unchanged)
    if changed and only_looked:
        sys.exit(1)


def _canonical(ruleset: Ruleset) -> str:
    """The canonical form, which spaces may make longer than what is read."""
    from sears_dsl.language.parsing.parser import LONGEST_LINE

    text = ruleset.format()
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > LONGEST_LINE:
            raise UsageError(
                f"line {number} of the canonical form of {ruleset.path} would have {len(line):,} "
                f"characters, and lines have at most {LONGEST_LINE:,}",
                help="keep long lists in several sets; the file is as it was",
            )
    return text


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
def test_command(rules: tuple[str, ...], *, tagger: str, **options: Any) -> None:
    """Run the tests that rules carry. Exit 1 when one is not ok.

    Outcomes: ok, missing (should fire, did not), noisy (fired, should not), wrong (other text), not
    run (vectors or translation models that the rule needs are not installed).
    """
    from sears_dsl.catalogue import load_rulesets

    rulesets = load_rulesets(rules, allow_imports_outside=options["allow_imports_outside"])

    from sears_dsl.batch.provenance import tagger_in_language
    from sears_dsl.language.printer import template_ids
    from sears_dsl.rule_tests import run_tests

    tagger = tagger_in_language(tagger, rulesets)
    chosen = _tagger_for(tagger, rulesets)
    sources = _sources_for(rulesets)
    results = [
        (ruleset, result)
        for ruleset in rulesets
        for result in run_tests(ruleset, tagger=chosen, sources=sources)
    ]
    passed = ("ok", "not run")
    failed = [(ruleset, result) for ruleset, result in results if result.outcome not in passed]
    not_run = sum(result.outcome == "not run" for _, result in results)
    if options["as_json"]:
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
            click.echo(f"  expected  {_shown_text(result.test.expected, result.test.text)}")
            click.echo(f"  actual    {_shown_text(result.actual, result.test.text)}")
        tested = {(ruleset.path, result.rule_id) for ruleset, result in results}
        of_templates = {
            (ruleset.path, name)
            for ruleset, _ in results
            for name in template_ids(ruleset.templates)
            if name not in ruleset.rule_ids
        }
        kinds = [(len(tested - of_templates), "rule"), (len(tested & of_templates), "template")]
        of = " and ".join(counted(number, noun) for number, noun in kinds if number)
        click.echo(
            f"{counted(len(results), 'test')} of {of or '0 rules'}: "
            f"{len(results) - len(failed) - not_run:,} ok, {len(failed):,} not ok"
            + (f", {not_run:,} not run: what their rules look words or texts up in is not "
               "installed (sears-dsl[noise], sears-dsl[discovery])" if not_run else "")
        )  # fmt: skip
    if options["record"]:
        failing = {ruleset.path for ruleset, result in results if result.outcome != "ok"}
        _record([each for each in rulesets if each.path not in failing], tagger)
    if failed:
        sys.exit(1)


def _record(rulesets: list[Ruleset], name: str) -> None:
    """Write down what was validated; a file without tests was not."""
    from sears_dsl.batch.provenance import record_tagger
    from sears_dsl.tagging.loading import load_tagger

    for ruleset in rulesets:
        if any(rule.metadata.tests for rule in ruleset.rules):
            manifest = record_tagger(ruleset, load_tagger(name))
            click.echo(f"written: {manifest}", err=True)


def _sources_for(rulesets: list[Ruleset]) -> Sources:
    """A paraphraser where a rule asks for one and its models are installed."""
    from sears_dsl.engine.noise.sources import NO_SOURCES
    from sears_dsl.paraphrasing.rewording import sources_of
    from sears_dsl.runtime.extras import has_discovery

    return sources_of(rulesets) if has_discovery() else NO_SOURCES


def _shown_text(text: str | None, original: str) -> str:
    from sears_dsl.engine.rewrite.shown_edits import with_code_points

    return "(silent)" if text is None else with_code_points(original, text)


def _tagger_for(name: str, rulesets: list[Ruleset]) -> Tagger:
    """The tagger asked for; where all tests pin their tags, no tagger has to be installed."""
    from sears_dsl.tagging.loading import load_tagger
    from sears_dsl.tagging.pinned import PinnedTagger, parse_pinned

    try:
        return load_tagger(name)
    except TaggerError:
        tests = [t for r in rulesets for rule in r.rules for t in rule.metadata.tests]
        if all(parse_pinned(test.text) is not None for test in tests):
            return PinnedTagger()
        raise


@click.command("lsp", epilog="Example, in an editor's settings: sears lsp")
@click.option("--stdio", is_flag=True, help="Some editors say so; there is no other way.")
def lsp_command(*, stdio: bool) -> None:
    """Check and format rule files in an editor that speaks the Language Server Protocol.

    The server talks over standard input and output, by pygls: `pip install 'sears-dsl[lsp]'`.
    """
    from sears_dsl.runtime.extras import need_language_server

    need_language_server()
    from sears_dsl.language_server.server import serve

    sys.exit(serve())
