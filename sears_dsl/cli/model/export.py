"""``sears export``: rules over data, and templates, as a CheckList suite."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.answers import label_text
from sears_dsl.cli.commands import ProjectArgument, ProjectCommand
from sears_dsl.cli.options import shared
from sears_dsl.errors import UsageError, counted
from sears_dsl.runtime.files import write_atomically

if TYPE_CHECKING:
    from sears_dsl.language.ruleset import Ruleset

_WHOLE_NUMBER = re.compile(r"-?[0-9]+")


@click.command(
    "export",
    cls=ProjectCommand,
    epilog="Example: sears export found.sear --data dev.csv -o suite.pkl",
)
@click.argument("rules", cls=ProjectArgument, nargs=-1, required=True)
@click.option("--data", metavar="FILE",
              help="The rows to test rules on; templates need none.")  # fmt: skip
@click.option("-o", "--output", required=True, type=shared.FilePath(dir_okay=False),
              help="The suite to write; CheckList reads it with TestSuite.from_file.")  # fmt: skip
@shared.column_option(f"The column that rules rewrite; {shared.COLUMN_BY_DEFAULT}.")
@click.option("--format", "format_name",
              help="The format of the rows, if the file name does not show it.")  # fmt: skip
@shared.reading_options
@click.option("--scope", type=click.Choice(["first", "all"]), default="first",
              help="Rewrite the first instance of a rule in a row, or all.")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=1), metavar="N",
              help="Write at most this many sentences of templates.")  # fmt: skip
@shared.oracle_option
@click.option("--label-value", "label_values", multiple=True, metavar="LABEL=VALUE",
              help="What the model predicts for a label that rules expect, such as negative=0; "
              "repeatable.")  # fmt: skip
@click.option("--threshold", type=shared.NumberRange(0, 1), default=0.0,
              help="How far the probability of a label that should stay may fall.")  # fmt: skip
@shared.tagger_of_rules_option
@shared.imports_option
def export_command(
    rules: tuple[str, ...], *, data: str | None, output: Path, **options: Any
) -> None:
    """Write a CheckList suite: a test for each rule, a test case for each row that it changes.

    `expect: same` becomes an invariance test, `flip` a directional one, and `label NAME` a minimum
    functionality test, as does a template, with a test case for each of its sentences.
    """
    from sears_dsl.catalogue import load_rulesets

    if str(output) == "-":
        raise click.UsageError("a suite is not for standard output: name a file with --output")
    rulesets = load_rulesets(rules, allow_imports_outside=options["allow_imports_outside"])

    from sears_dsl.data.labelled import read_labelled
    from sears_dsl.effects.oracle import CountedOracle
    from sears_dsl.interop.checklist import checklist_suite
    from sears_dsl.tagging.tagger import load_tagger
    from sears_dsl.vetting.journal_oracle import open_oracle

    sources = (*rules, data, options["oracle"])
    shared.refuse_overwriting([output], sources=sources, rulesets=rulesets)
    values = _label_values(options["label_values"], rulesets)
    count = sum(len(ruleset.rules) for ruleset in rulesets)
    if data is None and count:
        raise click.UsageError("Missing option '--data': name the rows; only templates need none")
    chosen = load_tagger(shared.chosen_tagger(rulesets, options["tagger"], quiet=False))
    counted_oracle = None
    if options["oracle"] is not None:
        counted_oracle = CountedOracle(open_oracle(options["oracle"], rulesets))
    texts: Sequence[str] = ()
    if data is not None:
        texts = read_labelled(
            data, column=options["column"], format_name=options["format_name"],
            options=shared.chosen_reading(options),
        ).texts  # fmt: skip
    suite = checklist_suite(
        rulesets, texts, tagger=chosen, scope=options["scope"], limit=options["limit"],
        oracle=counted_oracle, label_values=values or None, threshold=options["threshold"],
    )  # fmt: skip
    _save(suite, output)
    cases = sum(len(test.data) for test in suite.tests.values())
    sentence = f"{counted(len(suite.tests), 'test')} with {counted(cases, 'case')} in {output}"
    if silent := count - sum("rule" in test.meta[0] for test in suite.tests.values()):
        sentence += f"; {counted(silent, 'rule')} changed no row"
    if counted_oracle is not None:
        of_rule = counted_oracle.rejected
        listed = ", ".join(f"{rule} {number:,}" for rule, number in of_rule.items())
        sentence += f"; the oracle {counted_oracle.identity} rejected {of_rule.total():,}"
        sentence += f": {listed}" if listed else ""
    click.echo(sentence)


def _label_values(texts: Sequence[str], rulesets: Sequence[Ruleset]) -> dict[str, object]:
    templates = [each.metadata.label for ruleset in rulesets for each in ruleset.templates]
    rules = [rule.expectation.label for ruleset in rulesets for rule in ruleset.rules]
    expected = sorted({*filter(None, map(label_text, (*rules, *templates)))})
    values: dict[str, object] = {}
    for text in texts:
        written, _, value = text.partition("=")
        label = label_text(written) or ""
        if not label or not value:
            raise UsageError(
                f"--label-value {text} is not LABEL=VALUE", help="write --label-value negative=0"
            )
        if label in values:
            raise UsageError(
                f"--label-value gives {label} twice: {values[label]} and {value}",
                help=f"give {label} one value",
            )
        values[label] = int(value) if _WHOLE_NUMBER.fullmatch(value) else value
    # A model has labels that these rules do not expect, but one of all has to be of use.
    if values and not values.keys() & expected:
        raise UsageError(
            f"no rule or template expects a label that --label-value gives: {', '.join(values)}",
            help=f"they expect {', '.join(expected) or 'no label'}",
        )
    return values


def _save(suite: Any, output: Path) -> None:
    """Let CheckList write a file beside the output, and move it there when it is whole."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "suite")
        suite.save(str(file))
        write_atomically(output, file.read_bytes())
