"""``sears explain``: what rules do in a text, or which token stops them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from sears_dsl.cli.options.shared import imports_option, json_option, tagger_option
from sears_dsl.cli.screen.console import console, echo_json, plain_table, rule_label
from sears_dsl.errors import CompileError, RuleSyntaxError, UsageError, counted

if TYPE_CHECKING:
    from sears_dsl.engine.explain import Explanation
    from sears_dsl.language.rule import Rule
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.tagging.tagger import Tagger
    from sears_dsl.tagging.tokens import Token, Tokens

# Up to so many rules are all explained; if there are more, those that did not begin to match are
# only counted.
_FEW = 10


@click.command("explain", epilog="Example: sears explain rules.sear 'What color is the tray?'")
@click.argument("rules", nargs=-1, required=True, metavar="RULES... SENTENCE")
@click.option("--rule", "rule_ids", multiple=True, help="Only the rule with this id; repeatable.")
@tagger_option
@json_option("Print the explanation as JSON.")
@imports_option
def explain_command(rules: tuple[str, ...], *, rule_ids: tuple[str, ...], **options: Any) -> None:
    """Show why a rule fires in a sentence, or which token stops it.

    For templates: which of them write the sentence.

    The sentence may pin its tags: "What/PRON/WP color/NOUN/NN ?". To try a rule that is in no file,
    use `sears try`.
    """
    from sears_dsl.batch.provenance import tagger_in_language
    from sears_dsl.catalogue import load_rulesets
    from sears_dsl.tagging.tagger import load_tagger

    *names, sentence = rules
    if not names:
        raise click.UsageError("name the rules and then a sentence: sears explain RULES '…'")
    rulesets = load_rulesets(names, allow_imports_outside=options["allow_imports_outside"])
    ids = {name for ruleset in rulesets for name, _ in ruleset.named_rules}
    for name in rule_ids:
        if name not in ids:
            raise UsageError(f"no rule has the id {name}", help="`sears rules NAME` lists the ids")
    _tell_of_templates(sentence, rulesets)
    chosen = load_tagger(tagger_in_language(options["tagger"], rulesets))
    try:
        explained = explain_text(sentence, rulesets, chosen, rule_ids)
    except CompileError:
        from sears_dsl.engine.matcher import compile_rules

        # The compiler says which rule it is, and where.
        compile_rules(rulesets, tagger=chosen)
        raise
    tell_of_warnings(rulesets, rule_ids)
    if options["as_json"]:
        echo_json(explained.as_json_object())
    else:
        print_explained(explained)


def tell_of_warnings(rulesets: Sequence[Ruleset], rule_ids: Sequence[str] = ()) -> None:
    """Say on standard error what `sears check` warns of, but for tests that a rule should have."""
    from sears_dsl.engine.compile.requirements import compiler_warnings

    for ruleset in rulesets:
        spans = [rule.span for name, rule in ruleset.named_rules if name in rule_ids]
        lines = {span.line for span in spans if span is not None}
        for each in (*ruleset.warnings, *compiler_warnings(ruleset)):
            is_told_of = not rule_ids or (each.span is not None and each.span.line in lines)
            if is_told_of and each.code not in ("W601", "W602"):
                click.echo(each.render() + "\n", err=True)


def _tell_of_templates(sentence: str, rulesets: Sequence[Ruleset]) -> None:
    """Say on standard error which templates write the sentence, if there are templates."""
    from sears_dsl.generating.sentences import Sentences

    writing = [
        f"the template {name} writes it, with the label {template.metadata.label}"
        for ruleset in rulesets
        for name, template in ruleset.named_templates
        if sentence in Sentences(template, ruleset)
    ]
    if count := sum(len(ruleset.templates) for ruleset in rulesets):
        none = f"none of {counted(count, 'template')} writes it"
        click.echo("\n".join(writing or [none]), err=True)


class ExplainedText(NamedTuple):
    """A text with what the rules do in it."""

    text: str
    tokens: list[Token]
    explanations: list[tuple[Rule, Explanation]]

    def as_json_object(self) -> dict[str, object]:
        """As commands print it under --json."""
        return {
            "text": self.text,
            "tokens": [token._asdict() for token in self.tokens],
            "rules": [asdict(explanation) for _, explanation in self.explanations],
        }


def explain_text(
    sentence: str, rulesets: Sequence[Ruleset], tagger: Tagger, rule_ids: Sequence[str] = ()
) -> ExplainedText:
    """Explain rules in a sentence, which may pin its tags."""
    from sears_dsl.tagging.pinned import parse_pinned
    from sears_dsl.tagging.tokens import Tokens, cut_contractions

    pinned = parse_pinned(sentence)
    text, tokens = pinned or (sentence, cut_contractions(tagger.tag([sentence])).row(0))
    row = Tokens.from_rows([text], [tokens])
    explained = [
        pair for ruleset in rulesets for pair in _of_ruleset(ruleset, row, tagger, rule_ids)
    ]
    return ExplainedText(text, tokens, explained)


def _of_ruleset(
    ruleset: Ruleset, row: Tokens, tagger: Tagger, rule_ids: Sequence[str]
) -> Iterator[tuple[Rule, Explanation]]:
    """Explain each rule in a row, sentence by sentence if its file is about sentences."""
    from sears_dsl.engine.compile.requirements import sources_for
    from sears_dsl.engine.explain import explain, explain_sentences
    from sears_dsl.engine.sentence_units import SentenceUnits
    from sears_dsl.paraphrasing.for_rules import sources_of

    chosen = {name: rule for name, rule in ruleset.named_rules if not rule_ids or name in rule_ids}
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


def print_explained(explained: ExplainedText) -> None:
    """Print the tokens with their tags, then the rules that fire, then those that nearly did."""
    out = console()
    grid = plain_table("", "token", "coarse", "fine")
    for position, token in enumerate(explained.tokens):
        grid.add_row(str(position), token.text, token.coarse, token.fine)
    out.print(grid)
    pairs = explained.explanations
    silent = [(rule, each) for rule, each in pairs if not each.fired]
    near = [(rule, each) for rule, each in silent if _has_begun(rule, each)]
    told_of = silent if len(pairs) <= _FEW else near
    for rule, each in pairs:
        if each.fired:
            out.print(f"\nfires: {rule_label(rule, each.rule_id)}", style="bold green")
            out.print(f"  {each.reason}\n  {each.rewrite}")

    def closeness(pair: tuple[Rule, Explanation]) -> tuple[bool, int]:
        """Sort rules that lack least first, and those that did not begin to match last."""
        return not _has_begun(*pair), pair[1].total - pair[1].furthest

    for rule, each in sorted(told_of, key=closeness):
        out.print(f"\nsilent: {rule_label(rule, each.rule_id)}", style="bold")
        out.print(f"  {each.reason}")
    if len(told_of) < len(silent):
        rest = counted(len(silent) - len(told_of), "more rule is", "more rules are")
        out.print(f"\n{rest} silent, and further from firing (--rule ID says why)")


def _has_begun(rule: Rule, each: Explanation) -> bool:
    """Whether more matched than the left context, which may match anywhere: `!(the|a) __`.

    An insertion may have nothing but that context.
    """
    return each.progress > ((len(rule.left), bool(rule.left)) if rule.antecedent else (0, False))
