"""The options that ``sears score`` and ``sears calibrate`` share: which scorer, where pairs are."""

from __future__ import annotations

import click

from sears_dsl.cli.options.model import pivot_option
from sears_dsl.cli.options.own_parts import scorer_option
from sears_dsl.cli.options.shared import with_options

pairs_options = with_options(
    scorer_option(
        "scorer_name",
        text="judge: the chance that most readers would accept a rewrite, which changes a few "
        "words; meaning: the chance that people call two whole sentences the same; pivot: the "
        "paper's score through translation; minilm: the cosine of a sentence encoder; or one of "
        "your own.",
    ),
    pivot_option,
    click.option("--original", help="The column of the original texts."),
    click.option("--rewrite", help="The column of the rewrites."),
    click.option("--format", "file_format", help="Format of PAIRS, where its name does not tell."),
    click.option(
        "--no-header", is_flag=True, help="csv, tsv: no names of columns; they are 1, 2, …"
    ),
)
