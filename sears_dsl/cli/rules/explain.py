"""``sears explain`` and ``sears try``: what rules do in a text, or which token stops them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from sears_dsl.cli.options.shared import json_option, tagger_option
from sears_dsl.cli.screen.console import (
    console,
    echo_json,
    imports_option,
    plain_table,
    rule_label,
    shown,
)
from sears_dsl.errors import RuleSyntaxError, UsageError
from sears_dsl.runtime.wording import counted

if TYPE_CHECKING:
    from sears_dsl.engine.explain import Explanation
    from sears_dsl.language.rule import Rule
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.tagging.tagger import Tagger
    from sears_dsl.tagging.tokens import Token, Tokens

# So many rules are all explained; of more, those that did not match a single token are counted.
_FEW = 10


@click.command("explain", epilog="Example: sears explain rules.sear 'What color is the tray?'")
@click.argument("rules", nargs=-1, required=True, metavar="RULES... SENTENCE")
@click.option("--rule", "rule_ids", multiple=True, help="Only the rule of this id; repeatable.")
@tagger_option
@json_option("Print the explanation as JSON.")
@imports_option
def explain_command(rules: tuple[str, ...], *, rule_ids: tuple[str, ...], **options: Any) -> None:
    """Why a rule fires in a sentence, or which token stops it.

    Of templates: which of them write the sentence.

    The sentence may pin its tags: "What/PRON/WP color/NOUN/NN ?". A rule that is in no file is
    tried with `sears try`.
    """
    from sears_dsl.batch.provenance import tagger_in_language
    from sears_dsl.catalogue import load_rulesets
    from sears_dsl.tagging.loading import load_tagger

    *names, sentence = rules
    if not names:
        raise click.UsageError("name the rules and then a sentence: sears explain RULES '…'")
    rulesets = load_rulesets(names, allow_imports_outside=options["allow_imports_outside"])
    _tell_of_templates(sentence, rulesets)
    chosen = load_tagger(tagger_in_language(options["tagger"], rulesets))
    explained = _explained_in(sentence, rulesets, chosen, rule_ids)
    if rule_ids and not explained.explanations:
        raise UsageError(
            f"no rule has the id {rule_ids[0]}", help="`sears rules NAME` lists the ids"
        )
    if options["as_json"]:
        echo_json(explained.as_json_object())
    else:
        _print_explained(explained)


def _tell_of_templates(sentence: str, rulesets: Sequence[Ruleset]) -> None:
    """Which templates write the sentence, on standard error, where there are any."""
    from sears_dsl.generating.sentences import Sentences
    from sears_dsl.language.printer import template_ids

    templates = [
        (name, template, ruleset)
        for ruleset in rulesets
        for name, template in zip(template_ids(ruleset.templates), ruleset.templates, strict=True)
    ]
    writing = [
        f"the template {name} writes it, with the label {template.metadata.label}"
        for name, template, ruleset in templates
        if sentence in Sentences(template, ruleset)
    ]
    if templates:
        none = f"none of {counted(len(templates), 'template')} writes it"
        click.echo("\n".join(writing or [none]), err=True)


@click.command(
    "try",
    epilog="Examples: sears try 'movie -> film' 'A movie.'; "
    "cat reviews.txt | sears try 'really ADJ -> ADJ' -",
)
@click.argument("rule")
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@tagger_option
@json_option("Print the explanation as JSON.")
def try_command(rule: str, texts: tuple[str, ...], *, tagger: str, as_json: bool) -> None:
    """Apply a rule that is given in place, or say why it does not fire.

    RULE is a rule, or the text of a rule file; a TEXT of - stands for the lines of standard input.
    A text may pin its tags: "What/PRON/WP color/NOUN/NN ?".
    """
    from sears_dsl.batch.provenance import tagger_in_language
    from sears_dsl.engine.matcher import compile_rules
    from sears_dsl.language.loader import parse
    from sears_dsl.paraphrasing.rewording import sources_of
    from sears_dsl.tagging.loading import load_tagger

    if Path(rule).is_file():
        raise UsageError(
            f"{rule} is a file, and this command takes a rule in its place",
            help=f"sears explain {rule} '…' explains the rules of a file",
        )
    ruleset = parse(rule, path="<rule>")
    if not ruleset.rules:
        raise UsageError("there is no rule to try", help="sears try 'movie -> film' 'A movie.'")
    chosen = load_tagger(tagger_in_language(tagger, [ruleset]))
    compile_rules(
        [ruleset], tagger=chosen, sources=sources_of([ruleset])
    )  # finds what only the tokenizer tells
    for finding in ruleset.warnings:
        click.echo(finding.render() + "\n", err=True)
    explained = (_explained_in(text, [ruleset], chosen) for text in _lines(texts))
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
        from sears_dsl.engine.rewrite.shown_edits import with_code_points

        for each in fired:
            became = with_code_points(explained.text, each.rewrite or "")
            click.echo(f"fires   {shown(became)}")
        return
    nearest = max(explained.explanations, key=lambda each: each.furthest)
    click.echo(f"silent  {shown(explained.text)}\n        {nearest.reason}")


class _Explained(NamedTuple):
    """A text with what the rules do in it."""

    text: str
    tokens: list[Token]
    rules: list[Rule]
    explanations: list[Explanation]

    def as_json_object(self) -> dict[str, object]:
        """As commands print it under --json."""
        return {
            "text": self.text,
            "tokens": [token._asdict() for token in self.tokens],
            "rules": [asdict(explanation) for explanation in self.explanations],
        }


def _explained_in(
    sentence: str, rulesets: Sequence[Ruleset], tagger: Tagger, rule_ids: Sequence[str] = ()
) -> _Explained:
    """Explain rules in a sentence, which may pin its tags."""
    from sears_dsl.tagging.contractions import separated
    from sears_dsl.tagging.pinned import parse_pinned
    from sears_dsl.tagging.tokens import Tokens

    pinned = parse_pinned(sentence)
    text, tokens = pinned or (sentence, separated(tagger.tag([sentence])).row(0))
    row = Tokens.from_rows([text], [tokens])
    explained = [
        pair for ruleset in rulesets for pair in _of_ruleset(ruleset, row, tagger, rule_ids)
    ]
    return _Explained(
        text, tokens, [rule for rule, _ in explained], [each for _, each in explained]
    )


def _of_ruleset(
    ruleset: Ruleset, row: Tokens, tagger: Tagger, rule_ids: Sequence[str]
) -> Iterator[tuple[Rule, Explanation]]:
    """What each rule does in a row, sentence by sentence where its file is about sentences."""
    from sears_dsl.engine.explain import explain, explain_sentences
    from sears_dsl.engine.noise.needs import sources_for
    from sears_dsl.engine.sentence_units import SentenceUnits
    from sears_dsl.paraphrasing.rewording import sources_of

    pairs = zip(ruleset.rule_ids, ruleset.rules, strict=True)
    chosen = {rule_id: rule for rule_id, rule in pairs if not rule_ids or rule_id in rule_ids}
    [text] = row.texts
    sources, missing = sources_for(
        [(rule, ruleset) for rule in chosen.values()], sources_of([ruleset])
    )
    if missing:
        raise RuleSyntaxError(missing)
    spans = [(0, len(text))]
    if ruleset.options.unit == "sentence":
        spans = tagger.sentences([text])[0] or spans
    units = SentenceUnits([text], [spans], None)
    rows = [list(units.tokens(row).row(place)) for place in range(len(spans))]
    firsts = [sum(map(len, rows[:place])) for place in range(len(rows))]
    for rule_id, rule in chosen.items():
        parts = [
            explain(rule, ruleset, unit, tokens, split=tagger.split, sources=sources)
            for unit, tokens in zip(units.texts, rows, strict=True)
        ]
        yield rule, replace(explain_sentences(text, spans, parts, firsts), rule_id=rule_id)


def _print_explained(explained: _Explained) -> None:
    """The tokens with their tags, then the rules that fire, then those that nearly did."""
    out = console()
    grid = plain_table("", "token", "coarse", "fine")
    for position, token in enumerate(explained.tokens):
        grid.add_row(str(position), token.text, token.coarse, token.fine)
    out.print(grid)
    pairs = list(zip(explained.rules, explained.explanations, strict=True))
    silent = [(rule, each) for rule, each in pairs if not each.fired]
    # What stands to the left of a rule is often true of any place, such as `!(the|a) __`.
    near = [(rule, each) for rule, each in silent if each.furthest > len(rule.left)]
    told_of = silent if len(pairs) <= _FEW else near
    for rule, each in pairs:
        if each.fired:
            out.print(f"\nfires: {rule_label(rule, each.rule_id)}", style="bold green")
            out.print(f"  {each.reason}\n  {each.rewrite}")

    def closeness(pair: tuple[Rule, Explanation]) -> tuple[bool, int]:
        """Rules that lack least come first, and last those of which no token matches."""
        rule, each = pair
        return each.furthest <= len(rule.left), each.total - each.furthest

    for rule, each in sorted(told_of, key=closeness):
        out.print(f"\nsilent: {rule_label(rule, each.rule_id)}", style="bold")
        out.print(f"  {each.reason}")
    if len(told_of) < len(silent):
        rest = counted(len(silent) - len(told_of), "more rule is", "more rules are")
        out.print(f"\n{rest} silent: no token of the text matches (--rule ID says more)")
