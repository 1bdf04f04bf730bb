"""``sears try``: a rule that is given in place, applied to texts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import click

from sears_dsl.cli.commands import ExampleCommand
from sears_dsl.cli.options.shared import json_option, tagger_option
from sears_dsl.cli.rules.explain import (
    ExplainedText,
    explain_text,
    print_explained,
    tell_of_warnings,
)
from sears_dsl.cli.screen.console import echo_json
from sears_dsl.errors import UsageError, printable
from sears_dsl.runtime.files import is_file


@click.command(
    "try",
    cls=ExampleCommand,
    epilog="Examples: sears try 'movie -> film' 'A movie.'; "
    "cat reviews.txt | sears try 'really ADJ -> ADJ' -",
)
@click.argument("rule")
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@tagger_option
@json_option("Print the explanation as JSON.")
def try_command(rule: str, texts: tuple[str, ...], *, tagger: str, as_json: bool) -> None:
    """Apply a rule from the command line to texts, or say why it does not fire.

    RULE is a rule, or the text of a rule file; a TEXT of - stands for the lines of standard input.
    A text may pin its tags: "What/PRON/WP color/NOUN/NN ?".
    """
    from sears_dsl.batch.provenance import tagger_in_language
    from sears_dsl.language.loader import parse
    from sears_dsl.paraphrasing.for_rules import compile_with_sources
    from sears_dsl.tagging.tagger import load_tagger

    if is_file(rule):
        raise UsageError(
            f"{rule} is a file, but this command takes a rule",
            help=f"sears explain {rule} '…' explains the rules of a file",
        )
    ruleset = parse(rule, path="<rule>")
    if not ruleset.rules:
        raise UsageError(
            "there is no rule to try",
            help="sears try 'movie -> film' 'A movie.'; # begins a comment",
        )
    chosen = load_tagger(tagger_in_language(tagger, [ruleset]))
    compile_with_sources([ruleset], tagger=chosen)  # finds what only the tokenizer tells
    tell_of_warnings([ruleset])
    explained = (explain_text(text, [ruleset], chosen) for text in _lines(texts))
    if as_json:
        echo_json([each.as_json_object() for each in explained])
    elif len(texts) == 1 and texts[0] != "-":
        for each in explained:
            print_explained(each)
    else:
        for each in explained:
            _print_line(each)


def _lines(texts: Sequence[str]) -> Iterator[str]:
    """Yield the texts, with the lines of standard input in the place of ``-``."""
    for text in texts:
        if text != "-":
            yield text
            continue
        try:
            for line in sys.stdin.buffer:
                yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise UsageError(
                f"standard input is not UTF-8: {error.reason} at byte {error.start} of a line",
                help="texts are UTF-8; convert them first",
            ) from error


def _print_line(explained: ExplainedText) -> None:
    """Print on one line what a text becomes, or the reason why the closest rule does not fire."""
    explanations = [each for _, each in explained.explanations]
    fired = [each for each in explanations if each.fired]
    if fired:
        from sears_dsl.engine.rewrite.rewrites import with_code_points

        for each in fired:
            became = with_code_points(explained.text, each.rewrite or "")
            click.echo(f"fires   {printable(became)}")
        return
    nearest = max(explanations, key=lambda each: each.progress)
    click.echo(f"silent  {printable(explained.text)}\n        {nearest.reason}")
