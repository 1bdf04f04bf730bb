"""``sears explain`` and ``sears try``: what rules do in a sentence, and why or why not."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from sears_dsl.cli.screen.console import console, counted, echo_json, imports_option, shown
from sears_dsl.defaults import DEFAULT_TAGGER
from sears_dsl.errors import UsageError

if TYPE_CHECKING:
    from sears_dsl.engine.explain import Explanation
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.tagging.tagger import Tagger
    from sears_dsl.tagging.tokens import Token

# So many rules are all explained; of more, those that did not match a single token are counted.
_FEW = 10

_tagger_option = click.option(
    "--tagger",
    default=DEFAULT_TAGGER,
    show_default=True,
    help="fast, spacy, spacy:MODEL, or MODULE:FACTORY of your own.",
)
_json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the explanation as JSON."
)


class _Explained(NamedTuple):
    """A text with what the rules do in it."""

    text: str
    tokens: list[Token]
    explanations: list[Explanation]

    def as_json_object(self) -> dict[str, object]:
        """As commands print it under --json."""
        return {
            "text": self.text,
            "tokens": [token._asdict() for token in self.tokens],
            "rules": [asdict(explanation) for explanation in self.explanations],
        }


def _explained(
    sentence: str, rulesets: Sequence[Ruleset], tagger: Tagger, wanted: Sequence[str] = ()
) -> _Explained:
    """Explain rules in a sentence, which may pin its tags."""
    from sears_dsl.engine.explain import explain
    from sears_dsl.tagging.contractions import separated
    from sears_dsl.tagging.pinned import parse_pinned

    pinned = parse_pinned(sentence)
    text, tokens = pinned or (sentence, separated(tagger.tag([sentence])).row(0))
    explanations = [
        replace(explain(rule, ruleset, text, tokens, split=tagger.split), rule_id=rule_id)
        for ruleset in rulesets
        for rule_id, rule in zip(ruleset.rule_ids, ruleset.rules, strict=True)
        if not wanted or rule_id in wanted
    ]
    return _Explained(text, tokens, explanations)


@click.command("explain", epilog="Example: sears explain rules.sear 'What color is the tray?'")
@click.argument("rules", nargs=-1, required=True, metavar="RULES... SENTENCE")
@click.option("--rule", "wanted", multiple=True, help="Only the rule of this id; repeatable.")
@_tagger_option
@_json_option
@imports_option
def explain_command(
    rules: tuple[str, ...],
    *,
    wanted: tuple[str, ...],
    tagger: str,
    as_json: bool,
    allow_imports_outside: bool,
) -> None:
    """Why a rule fires in a sentence, or which token stops it.

    The sentence may pin its tags: "What/PRON/WP color/NOUN/NN ?". A rule that is in no file is
    tried with `sears try`.
    """
    from sears_dsl.catalogue import load_rulesets
    from sears_dsl.tagging.loading import load_tagger

    *names, sentence = rules
    if not names:
        raise click.UsageError("name the rules and then a sentence: sears explain RULES '…'")
    rulesets = load_rulesets(names, allow_imports_outside=allow_imports_outside)
    explained = _explained(sentence, rulesets, load_tagger(tagger), wanted)
    if wanted and not explained.explanations:
        raise UsageError(f"no rule has the id {wanted[0]}", help="`sears rules NAME` lists the ids")
    if as_json:
        echo_json(explained.as_json_object())
    else:
        _print_explained(explained)


@click.command(
    "try",
    epilog="Examples: sears try 'movie -> film' 'A movie.'; "
    "cat reviews.txt | sears try 'really ADJ -> ADJ' -",
)
@click.argument("rule")
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@_tagger_option
@_json_option
def try_command(rule: str, texts: tuple[str, ...], *, tagger: str, as_json: bool) -> None:
    """Apply a rule that is given in place, or say why it does not fire.

    RULE is a rule, or the text of a rule file; a TEXT of - stands for the lines of standard input.
    A text may pin its tags: "What/PRON/WP color/NOUN/NN ?".
    """
    from sears_dsl.engine.matcher import compile_rules
    from sears_dsl.language.loader import parse
    from sears_dsl.tagging.loading import load_tagger

    if Path(rule).is_file():
        raise UsageError(
            f"{rule} is a file, and this command takes a rule in its place",
            help=f"sears explain {rule} '…' explains the rules of a file",
        )
    ruleset = parse(rule, path="<rule>")
    if not ruleset.rules:
        raise UsageError("there is no rule to try", help="sears try 'movie -> film' 'A movie.'")
    chosen = load_tagger(tagger)
    compile_rules([ruleset], tagger=chosen)  # finds what only the tokenizer tells
    for finding in ruleset.warnings:
        click.echo(finding.render() + "\n", err=True)
    explained = (_explained(text, [ruleset], chosen) for text in _lines(texts))
    if as_json:
        echo_json([each.as_json_object() for each in explained])
    elif len(texts) == 1 and texts[0] != "-":
        for each in explained:
            _print_explained(each)
    else:
        for each in explained:
            _print_line(each)


def _lines(texts: Sequence[str]) -> Iterator[str]:
    """The texts, and the lines of standard input in the place of ``-``."""
    for text in texts:
        if text != "-":
            yield text
            continue
        try:
            for line in sys.stdin.buffer:
                yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise UsageError(
                f"standard input is no UTF-8: {error.reason} at byte {error.start} of a line",
                help="texts are UTF-8; convert them first",
            ) from error


def _print_line(explained: _Explained) -> None:
    """A text in a line: what it becomes, or what is most nearly true of it and stops the rule."""
    fired = [each for each in explained.explanations if each.fired]
    if fired:
        for each in fired:
            click.echo(f"fires   {shown(each.rewrite or '')}")
        return
    nearest = max(explained.explanations, key=lambda each: each.furthest)
    click.echo(f"silent  {shown(explained.text)}\n        {nearest.reason}")


def _print_explained(explained: _Explained) -> None:
    """The tokens with their tags, then the rules that fire, then those that nearly did."""
    from rich.table import Table
    from rich.text import Text

    out = console()
    grid = Table("", "token", "coarse", "fine", box=None, pad_edge=False)
    for position, token in enumerate(explained.tokens):
        grid.add_row(str(position), Text(token.text), token.coarse, token.fine)
    out.print(grid)
    explanations = explained.explanations
    fired = [each for each in explanations if each.fired]
    silent = [each for each in explanations if not each.fired]
    near = [each for each in silent if each.furthest]
    for each in fired:
        out.print(Text(f"\nfires: {each.rule_id}", "bold green"))
        out.print(Text(f"  {each.reason}\n  {each.rewrite}"))
    for each in sorted(near, key=lambda each: each.furthest - each.total):
        out.print(Text(f"\nsilent: {each.rule_id}", "bold"))
        out.print(Text(f"  {each.reason}"))
    rest = len(silent) - len(near)
    if len(explanations) <= _FEW:
        for each in silent:
            if not each.furthest:
                out.print(Text(f"\nsilent: {each.rule_id}", "bold"))
                out.print(Text(f"  {each.reason}"))
    elif rest:
        out.print(f"\n{counted(rest, 'rule')} did not match a single token (--rule ID tells why)")
