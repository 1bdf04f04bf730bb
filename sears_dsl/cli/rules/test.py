"""``sears test``: the tests that rules carry."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.commands import ProjectArgument, ProjectCommand
from sears_dsl.cli.options.shared import TAGGERS, imports_option, json_option
from sears_dsl.cli.screen.console import echo_json
from sears_dsl.defaults import DEFAULT_TAGGER
from sears_dsl.errors import TaggerError, counted

if TYPE_CHECKING:
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.tagging.tagger import Tagger


@click.command("test", cls=ProjectCommand, epilog="Example: sears test contractions/expand")
@click.argument("rules", cls=ProjectArgument, nargs=-1, required=True)
@click.option("--tagger", default=DEFAULT_TAGGER, help=f"For tests without pinned tags: {TAGGERS}")
@click.option("--record", is_flag=True, help="If all tests of a file hold, record in its manifest "
              "that it was validated with this tagger.")  # fmt: skip
@json_option("Print every result as JSON.")
@imports_option
def test_command(rules: tuple[str, ...], *, tagger: str, **options: Any) -> None:
    """Run the tests in rule files. Exit 1 if one is not ok.

    Outcomes: ok; missing (the rule should fire and did not); noisy (it should not and did); wrong
    (another text); not run (it needs vectors or models that are not installed or not named).
    """
    from sears_dsl.catalogue import load_rulesets

    rulesets = load_rulesets(rules, allow_imports_outside=options["allow_imports_outside"])

    from sears_dsl.batch.provenance import tagger_in_language
    from sears_dsl.engine.noise.sources import NO_SOURCES
    from sears_dsl.paraphrasing.for_rules import sources_of
    from sears_dsl.rule_tests import run_tests
    from sears_dsl.runtime.extras import has_discovery

    tagger = tagger_in_language(tagger, rulesets)
    chosen = _tagger_for(tagger, rulesets)
    sources = sources_of(rulesets) if has_discovery() else NO_SOURCES
    results = [
        (ruleset, result)
        for ruleset in rulesets
        for result in run_tests(ruleset, tagger=chosen, sources=sources)
    ]
    failed = [each for each in results if each[1].outcome not in ("ok", "not run")]
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
        tested = {
            (ruleset.path, each.rule_id): "rule" if each.rule_id in ruleset.rule_ids else "template"
            for ruleset, each in results
        }
        of = " and ".join(
            counted(number, noun) for noun, number in sorted(Counter(tested.values()).items())
        )
        click.echo(
            "0 tests: write them under a rule or template, indented, such as  "
            'test "A movie." => "A film."'
            if not results else
            f"{counted(len(results), 'test')} of {of}: "
            f"{len(results) - len(failed) - not_run:,} ok, {len(failed):,} not ok"
            + (f", {not_run:,} not run" if not_run else "")
        )  # fmt: skip
        for why in dict.fromkeys(result.why for _, result in results if result.why):
            click.echo(f"not run: {why}")
    if options["record"]:
        failing = {ruleset.path for ruleset, result in results if result.outcome != "ok"}
        _record([each for each in rulesets if each.path not in failing], tagger)
    if failed:
        sys.exit(1)


def _record(rulesets: list[Ruleset], name: str) -> None:
    """Record which files were validated; a file without tests was not."""
    from sears_dsl.batch.provenance import record_tagger
    from sears_dsl.tagging.tagger import load_tagger

    for ruleset in rulesets:
        if any(rule.metadata.tests for rule in ruleset.rules):
            manifest = record_tagger(ruleset, load_tagger(name))
            click.echo(f"written: {manifest}", err=True)


def _shown_text(text: str | None, original: str) -> str:
    from sears_dsl.engine.rewrite.rewrites import with_code_points

    return "(silent)" if text is None else with_code_points(original, text)


def _tagger_for(name: str, rulesets: list[Ruleset]) -> Tagger:
    """Return the tagger asked for; if all tests pin their tags, none has to be installed."""
    from sears_dsl.tagging.pinned import PinnedTagger, parse_pinned
    from sears_dsl.tagging.tagger import load_tagger

    try:
        return load_tagger(name)
    except TaggerError:
        tests = [t for r in rulesets for rule in r.rules for t in rule.metadata.tests]
        if all(parse_pinned(test.text) is not None for test in tests):
            return PinnedTagger()
        raise
