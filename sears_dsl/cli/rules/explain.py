"""``sears explain``: why a rule fires in a sentence, or which token stops it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.options.shared import json_option, tagger_option
from sears_dsl.cli.screen.console import echo_json, imports_option
from sears_dsl.cli.screen.explanation import explained_in, print_explained
from sears_dsl.errors import UsageError
from sears_dsl.runtime.wording import counted

if TYPE_CHECKING:
    from sears_dsl.language.ruleset import Ruleset


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
    explained = explained_in(sentence, rulesets, chosen, rule_ids)
    if rule_ids and not explained.explanations:
        raise UsageError(
            f"no rule has the id {rule_ids[0]}", help="`sears rules NAME` lists the ids"
        )
    if options["as_json"]:
        echo_json(explained.as_json_object())
    else:
        print_explained(explained)


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
