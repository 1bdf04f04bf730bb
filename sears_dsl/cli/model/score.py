"""``sears score``: how far rewrites keep the meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.commands import ExampleCommand
from sears_dsl.cli.options import shared
from sears_dsl.cli.options.model import pivot_option, scorer_option
from sears_dsl.defaults import ENGLISH_SCORERS
from sears_dsl.errors import UsageError
from sears_dsl.runtime.extras import need_discovery

if TYPE_CHECKING:
    from sears_dsl.data.dataset import Dataset
    from sears_dsl.meaning.judgements import PairColumns
    from sears_dsl.meaning.scorers import Scorer

_STDOUT = "-"
# How many pairs are scored at a time, before their scores are written.
_ROWS = 2_000
# Options that ``sears calibrate`` has as well.
pairs_options = shared.with_options(
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
    click.option("--format", "format_name", help="Format of PAIRS, if its name does not show it."),
    shared.reading_options,
)


@click.command(
    "score",
    cls=ExampleCommand,
    epilog="Examples: sears score pairs.csv -o scored.csv; "
    "sears score rewritten.jsonl --scorer pivot --tau 0.0008",
)
@click.argument("pairs")
@pairs_options
@click.option("-o", "--output", default=_STDOUT, help="The file to write; - for standard output.")
@shared.output_format_option
@click.option("--tau", type=shared.NumberRange(0, 1), help="Add a column `equivalent`: score ≥ τ.")
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
    from sears_dsl.data.columnar import untyped_columns
    from sears_dsl.data.dataset import Dataset, format_named, format_of, with_delimiter, write_parts
    from sears_dsl.discovery.parts import load_chosen_scorer
    from sears_dsl.meaning.judgements import pair_columns
    from sears_dsl.meaning.scorers import through_english

    if tau is not None and default_tau:
        raise UsageError("--tau and --default-tau were both given", help="give one of them")
    shared.refuse_overwriting([output], sources=[pairs])
    reading = shared.chosen_reading(options, rows=_ROWS)
    dataset = Dataset(pairs, format_name=options["format_name"], options=reading)
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
    if scorer.name in ENGLISH_SCORERS or through_english(scorer.name, options["pivots"]):
        _note_foreign(dataset, columns)
    parts = (
        form.encode(scored, "utf-8") for scored in _scored(dataset, columns, scorer, threshold)
    )
    untyped = untyped_columns(dataset.first.columns)
    frame = Frame((*dataset.names, *added), untyped=untyped)
    write_parts(parts, frame, Path(output), form)


def _scored(
    dataset: Dataset, columns: PairColumns, scorer: Scorer, tau: float | None
) -> Iterator[Mapping[str, Sequence[Any]]]:
    """Yield the columns of each batch with the new ones."""
    from sears_dsl.data.columnar import schema_of, with_schema
    from sears_dsl.meaning.judgements import pairs_of

    for batch in dataset.batches():
        values = scorer.scores(pairs_of(batch, columns, where=dataset.path)).tolist()
        table: dict[str, Sequence[Any]] = dict(batch.columns)
        table["score"] = [_rounded(value, tau) for value in values]
        if tau is not None:
            table["equivalent"] = [int(value >= tau) for value in values]
        yield with_schema(table, schema_of(batch.columns))


def _rounded(score: float, tau: float | None) -> float:
    """A score with six digits, or whole where these are on the other side of τ."""
    rounded = float(f"{score:.6g}")
    return rounded if tau is None or (rounded >= tau) == (score >= tau) else score


def _note_foreign(dataset: Dataset, columns: PairColumns) -> None:
    """Say so if the first rows do not look like English, which the scorer is for."""
    from sears_dsl.cli.screen.strange_rows import foreign_notes
    from sears_dsl.judge.grammar import load_grammar
    from sears_dsl.meaning.judgements import pairs_of

    texts = [original for original, _ in pairs_of(dataset.first, columns, where=dataset.path)]
    looks_english = load_grammar(deep=False).looks_english
    for note in foreign_notes(texts, looks_english=looks_english, are_first=True):
        advice = "Portuguese is scored with --scorer pivot --pivot pt-en"
        click.echo(f"note: {dataset.path}: {note}; {advice}", err=True)
