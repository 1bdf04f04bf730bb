"""``sears score``: how far rewrites keep the meaning; ``sears calibrate``: as people judge it."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.commands import ExampleCommand
from sears_dsl.cli.options import shared
from sears_dsl.cli.options.model import pivot_option, scorer_option
from sears_dsl.cli.screen.console import console, echo_json, plain_table
from sears_dsl.defaults import ENGLISH_SCORERS
from sears_dsl.errors import UsageError, counted
from sears_dsl.runtime.extras import need_discovery

if TYPE_CHECKING:
    from sears_dsl.data.dataset import Dataset
    from sears_dsl.meaning.calibration import Calibration
    from sears_dsl.meaning.judgements import PairColumns
    from sears_dsl.meaning.scorers import Scorer

_STDOUT = "-"
# How many pairs are scored at a time, before their scores are written.
_ROWS = 2_000
# Options that both commands have.
_pairs_options = shared.with_options(
    scorer_option(
        "scorer_name",
        text="judge: the chance that most readers would accept a rewrite, which changes a few "
        "words; judge-lm: the same, but a language model on this machine is asked, too; meaning: "
        "the chance that people call two whole sentences the same; pivot: the paper's score "
        "through translation; minilm: the cosine of a sentence encoder; MODULE:OBJECT: your own "
        "function or object; llm:SETTINGS: the judge, and a language model about what it accepts. "
        "All but pivot and your own are made for English.",
    ),
    pivot_option,
    click.option("--original", help="The column of the original texts."),
    click.option("--rewrite", help="The column of the rewrites."),
    click.option("--format", "file_format", help="Format of PAIRS, if its name does not show it."),
    shared.reading_options,
)


@click.command(
    "score",
    cls=ExampleCommand,
    epilog="Examples: sears score pairs.csv -o scored.csv; "
    "sears score rewritten.jsonl --scorer pivot --tau 0.0008",
)
@click.argument("pairs")
@_pairs_options
@click.option("-o", "--output", default=_STDOUT, help="The file to write; - for standard output.")
@shared.output_format_option
@click.option("--tau", type=click.FloatRange(0, 1), help="Add a column `equivalent`: score ≥ τ.")
@click.option("--default-tau", is_flag=True, help="The same, with the scorer's own τ.")
def score_command(
    pairs: str, *, output: str, tau: float | None, default_tau: bool, **options: Any
) -> None:
    """Score how well rewrites keep the meaning of their originals.

    PAIRS is a file with two text columns. The output has all of its columns, and `score`, from 0
    to 1, where 1 is the same text.
    """
    need_discovery()
    from sears_dsl.data.batches import Frame
    from sears_dsl.data.dataset import Dataset, format_named, format_of, with_delimiter
    from sears_dsl.data.streams import compressing_stream
    from sears_dsl.discovery.parts import load_chosen_scorer
    from sears_dsl.meaning.judgements import pair_columns
    from sears_dsl.runtime.files import write_atomically

    if tau is not None and default_tau:
        raise UsageError("--tau and --default-tau were both given", help="give one of them")
    reading = shared.chosen_reading(options, rows=_ROWS)
    dataset = Dataset(pairs, format_name=options["file_format"], options=reading)
    columns = pair_columns(dataset, original=options["original"], rewrite=options["rewrite"])
    added = ["score"] if tau is None and not default_tau else ["score", "equivalent"]
    clashing = [name for name in added if name in dataset.names]
    if clashing:
        raise UsageError(
            f"{pairs} already has a column {clashing[0]!r}", help="rename it; the output needs it"
        )
    if output == _STDOUT and options["output_format"] is None:
        form = format_named("jsonl" if dataset.format.binary else dataset.format.name)
    else:
        form = format_of(output, options["output_format"], reading=False)
        form = form if options["output_format"] else with_delimiter(form, dataset.format.name)
    scorer = load_chosen_scorer(options["scorer_name"], pivots=options["pivots"])
    threshold = scorer.tau if default_tau else tau
    parts = (
        form.encode(scored, "utf-8") for scored in _scored(dataset, columns, scorer, threshold)
    )
    content = BytesIO()
    with compressing_stream(content, output) as stream:
        form.assemble(parts, stream, Frame((*dataset.names, *added)))
    if output == _STDOUT:
        click.echo(content.getvalue(), nl=False)
    else:
        write_atomically(Path(output), content.getvalue())


def _scored(
    dataset: Dataset, columns: PairColumns, scorer: Scorer, tau: float | None
) -> Iterator[dict[str, list[Any]]]:
    """Yield the columns of each batch with the new ones."""
    from sears_dsl.cli.screen.discovery import foreign_notes
    from sears_dsl.judge.grammar import load_grammar
    from sears_dsl.meaning.judgements import pairs_of

    for number, batch in enumerate(dataset.batches()):
        pairs = pairs_of(batch, columns, where=dataset.path)
        if not number and scorer.name in ENGLISH_SCORERS:
            looks_english = load_grammar(deep=False).looks_english
            texts = [original for original, _ in pairs]
            for note in foreign_notes(texts, looks_english=looks_english, are_first=True):
                click.echo(f"note: {dataset.path}: {note}", err=True)
        values = scorer.scores(pairs)
        table = {name: list(column) for name, column in batch.columns.items()}
        table["score"] = [float(f"{value:.6g}") for value in values]
        if tau is not None:
            table["equivalent"] = [int(value >= tau) for value in values]
        yield table


# How many points of the curve are printed; --json has all of them.
_POINTS = 10
# Characters of a text that is named as an example.
_SHOWN = 60


@click.command(
    "calibrate",
    cls=ExampleCommand,
    epilog="Example: sears calibrate judged.csv --label grade --positive-from 4 --scorer pivot",
)
@click.argument("pairs")
@_pairs_options
@click.option("--label", help="The column of judgements: 1 where the pair means the same, else 0.")
@click.option("--positive-from", type=float, metavar="GRADE",
              help="Judgements are grades; this one and higher ones count as "
              "equivalent.")  # fmt: skip
@click.option("--source", "sources", multiple=True, metavar="NAME",
              help="Use only judgements whose column `source` says so: pair, pick or rule, as "
              "`sears vetted --pairs` writes them; repeatable.")  # fmt: skip
@click.option("--tau", type=click.FloatRange(0, 1), help="Measure this τ instead of fitting one.")
@shared.json_option("Print everything as JSON, including the whole curve.")
def calibrate_command(pairs: str, *, tau: float | None, **options: Any) -> None:
    """Fit the threshold τ to human judgements, and show how well a scorer agrees with them.

    PAIRS is a file with two text columns and one of judgements. τ is the value that minimizes the
    entropy of the two sides into which it splits the judgements.
    """
    need_discovery()
    from sears_dsl.discovery.parts import load_chosen_scorer
    from sears_dsl.meaning.calibration import calibrated
    from sears_dsl.meaning.judgements import read_judgements

    judged = shared.chosen_as(
        read_judgements, options, path=pairs, format_name=options["file_format"],
        options=shared.chosen_reading(options),
    )  # fmt: skip
    contradicting = judged.contradicting
    scorer = load_chosen_scorer(options["scorer_name"], pivots=options["pivots"])
    scores = scorer.scores(judged.pairs)
    calibration = calibrated(scores, judged.equivalent, tau=tau)
    if options["as_json"]:
        echo_json(
            {
                "scorer": scorer.name,
                "identity": scorer.identity,
                "data": {
                    "path": judged.path,
                    "sha256": judged.digest,
                    "contradicting": {
                        "pairs": len(contradicting),
                        "judgements": sum(contradicting.values()),
                    },
                },
                "shipped_tau": _shipped_tau(scorer),
                "fitted": tau is None,
                **calibration.as_dict(),
            }
        )
    else:
        _print_calibration(calibration, scorer, fitted=tau is None)
        if contradicting:
            example = next(iter(contradicting))
            console().print(
                f"\n{counted(len(contradicting), 'pair')} judged both ways, in "
                f"{sum(contradicting.values()):,} judgements. Each judgement counts, so no τ is "
                f"right about all. Example: {' | '.join(text[:_SHOWN] for text in example)!r}"
            )


def _shipped_tau(scorer: Scorer) -> float | None:
    """Return the threshold that a scorer comes with; the user's own scorer may have none."""
    from sears_dsl.paraphrasing.plugins import OwnScorer

    return scorer.tau if not isinstance(scorer, OwnScorer) or scorer.has_tau else None


def _print_calibration(calibration: Calibration, scorer: Scorer, *, fitted: bool) -> None:
    out = console()
    how = "fitted by the least entropy of the split" if fitted else "as given"
    shipped = _shipped_tau(scorer)
    how += "" if shipped is None else f"; the scorer's own is {shipped:.4g}"
    out.print(
        f"{scorer.name} on {counted(calibration.pairs, 'pair')}, {calibration.equivalent:,} of "
        "them equivalent"
    )
    out.print(f"τ = {calibration.tau:.4g} ({how})")
    out.print(
        f"entropy of the judgements: {calibration.entropy_before:.3f} bits; "
        f"{calibration.entropy:.3f} bits once the side of τ is known"
    )
    table = plain_table("", "value", "95% interval", right=[1])
    for name, share in (
        ("area under the ROC curve", calibration.area),
        ("precision at τ", calibration.precision),
        ("recall at τ", calibration.recall),
    ):
        table.add_row(name, f"{share.value:.3f}", f"{share.low:.3f} to {share.high:.3f}")
    out.print(table)
    curve = plain_table("false positive rate", "true positive rate", "τ")
    curve.title, curve.title_justify = "ROC curve", "left"
    last = len(calibration.curve.thresholds) - 1
    for point in sorted({round(number * last / _POINTS) for number in range(_POINTS + 1)}):
        curve.add_row(
            f"{calibration.curve.false_rates[point]:.3f}",
            f"{calibration.curve.true_rates[point]:.3f}",
            f"{calibration.curve.thresholds[point]:.4g}" if point else "over 1",
        )
    out.print()
    out.print(curve)
