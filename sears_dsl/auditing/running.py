"""An audit from rules, rows and a model to its document: every stage, in order.

    rules × rows ──▶ rewrites ──▶ answers ──▶ flips, meaning ──▶ counted, judged ──▶ `AuditDocument`

In: rulesets, rows, a model, a tagger, a scorer or none, and the user's choices. Out: the document.
Errors in rules and gates are raised before the model is asked. Costs a prediction a row, one for
each distinct rewrite, and a score for each sampled pair.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sears_dsl.auditing.audit import AuditChoices, Circumstances, audit
from sears_dsl.auditing.document import AuditDocument
from sears_dsl.auditing.gates import Gates
from sears_dsl.auditing.slices import Computed
from sears_dsl.auditing.template_answers import template_answers
from sears_dsl.batch.provenance import FoundScoring, found_on, found_scoring
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.defaults import INSTEAD_OF, NO_SCORER, SCORER_NAMES
from sears_dsl.effects.asked_model import OnStage, with_labels_of
from sears_dsl.effects.oracle import Oracle, sentence_filter
from sears_dsl.effects.rule_effects import Effects, rule_effects
from sears_dsl.engine.matcher import Matcher
from sears_dsl.errors import UsageError, counted, listed
from sears_dsl.generating.table import GeneratedTable, generate_table
from sears_dsl.language.measure import draws
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.language.words import WHOLE, read_share
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.objects import is_object_name
from sears_dsl.paraphrasing.for_rules import compile_with_sources
from sears_dsl.tagging.tagger import Tagger, identity_of

if TYPE_CHECKING:
    from sears_dsl.discovery.parts import OwnParts, PartsChoice
    from sears_dsl.meaning.scorers import Scorer


_NAMED = 5


def read_rates(written: str | Sequence[str]) -> tuple[int, ...]:
    """Parse rates of noise as a user writes them; returns millionths, ascending."""
    rates = set()
    for name in written.split(",") if isinstance(written, str) else written:
        share = read_share(name.strip())
        if share is None:
            raise UsageError(
                f"{name.strip()!r} is not a rate of noise",
                help="give shares above 0% and up to 100%, such as 5%,10%,25%",
            )
        rates.add(share)
    return tuple(sorted(rates))


def compile_and_check(
    rulesets: Sequence[Ruleset], gates: Gates, *, tagger: Tagger, seed: int = 0
) -> Matcher:
    """Compile rules, and check them and the gates before the model is asked."""
    matcher = compile_with_sources(rulesets, tagger=tagger, seed=seed)
    gates.check(
        zip(matcher.rule_ids, matcher.rules, strict=True),
        [pair for ruleset in rulesets for pair in ruleset.named_templates],
    )
    return matcher


def as_found(
    choice: PartsChoice, rulesets: Sequence[Ruleset], *, note: Callable[[str], None]
) -> tuple[PartsChoice, FoundScoring | None]:
    """Choose the scorer and τ that the rules were found with, if their manifests agree.

    Also returns what the manifests say. A user's own scorer is not taken from a manifest, since
    only a person may name code to run.
    """
    recorded = [each for each in map(found_scoring, rulesets) if each is not None]
    if not recorded:
        return choice, None
    first = recorded[0]
    name = re.split(r"[^a-z]", first.scorer)[0]
    if any((each.scorer, each.tau) != (first.scorer, first.tau) for each in recorded):
        note(f"note: the rules were found with different scorers; this audit uses {choice.scorer}")
    elif name in INSTEAD_OF:
        note(
            f"note: the rules were scored by {name} ({first.manifest}), which no longer exists; "
            f"this audit uses {choice.scorer}. Discover the rules again, or give its replacement: "
            f"--scorer {INSTEAD_OF[name]}"
        )
    elif name not in SCORER_NAMES:
        own = first.scorer.partition(" ")[0]
        note(
            f"note: the rules were scored by {own} ({first.manifest}), but sears imports no code "
            f"that a file names; this audit uses {choice.scorer}. If it is yours, "
            + (f"name it: --scorer {own}" if is_object_name(own) else "give it to the audit too")
        )
    else:
        tau = first.tau if choice.tau is None else choice.tau
        return replace(choice, scorer=name, tau=tau), first
    return choice, None


def recorded_otherwise(recorded: FoundScoring, scorer: Scorer) -> str:
    """The note on rules that are scored differently from when they were found."""
    return (
        f"note: the rules were scored by {recorded.scorer} ({recorded.manifest}); this audit uses "
        f"{scorer.identity}"
    )


@contextmanager
def scorer_of_audit(
    choice: PartsChoice,
    own: OwnParts,
    *,
    folder: Path | None,
    language: str,
    show: OnStage,
    note: Callable[[str], None],
) -> Iterator[Scorer | None]:
    """Open the scorer, which remembers scores in a folder or in memory; None for no scorer."""
    from sears_dsl.discovery.parts import open_parts  # noqa: PLC0415 - as asked for
    from sears_dsl.paraphrasing.memory import RememberedScorer  # noqa: PLC0415 - likewise

    if choice.scorer == NO_SCORER:
        yield None
        return
    with open_parts(choice, own, folder=folder, language=language, show=show, note=note) as parts:
        yield RememberedScorer(parts.scorer, parts.journal)


def audit_rules(
    rulesets: Sequence[Ruleset],
    data: LabelledRows,
    predictor: CachedPredictor,
    *,
    matcher: Matcher,
    scorer: Scorer | None,
    oracle: Oracle | None,
    gates: Gates,
    choices: AuditChoices,
    columns: Mapping[str, Sequence[Any] | Computed],
    sentences: GeneratedTable | None,
    on_stage: OnStage,
) -> AuditDocument:
    """Measure what rules do to a model, and judge it.

    The model is asked about the sentences of templates too; they may be the rows themselves.
    """
    if choices.rates and not any(map(draws, matcher.rules)):
        raise UsageError(
            "no rule draws at random, so rates would change nothing",
            help="write `rate: 10%` under a rule, or leave out the rates",
        )
    data = with_labels_of(data, predictor)
    if sentences is not None and len(data.rows[0]) > 1:
        read = listed(list(data.rows[0]), _NAMED)
        note = f"templates fill one column, and the model reads {read}, so none is asked about"
        data, sentences = replace(data, notes=(*data.notes, note)), None
    # A search without labels counts the model's own answers as right.
    rows = {data.digest, replace(data, labels=None).digest}
    same = found_on(rulesets, rows)
    if same:
        origin = f"The rules of {', '.join(same)} were found on these same rows"
        note = f"{origin}, so the model looks worse here than it would on other rows"
        data = replace(data, notes=(*data.notes, note))
    effects_of = partial(
        rule_effects, data=data, predictor=predictor, oracle=oracle, comparison=choices.comparison,
        scope=choices.scope, unit=choices.unit, on_stage=on_stage,
    )  # fmt: skip
    effects = effects_of(
        matcher, scorer=scorer, score_at_most=choices.score_at_most, seed=choices.seed
    )
    # The model remembers what it was asked before.
    later = [_drawing(effects_of(matcher, draw=draw)) for draw in range(1, choices.draws)]
    by_rate = [
        (rate / WHOLE, _drawing(effects_of(_rated(rulesets, matcher, rate, seed=choices.seed))))
        for rate in choices.rates
    ]
    own_tau = None if scorer is None else scorer.tau
    circumstances = Circumstances(
        rulesets=tuple(rulesets), model=predictor.identity, tagger=identity_of(matcher.tagger),
        scorer=None if scorer is None else scorer.identity,
        tau=own_tau if choices.tau is None else choices.tau,
        oracle=None if oracle is None else oracle.identity,
        noise=matcher.noise_identity, choices=choices,
    )  # fmt: skip
    answers = None if sentences is None else template_answers(
        sentences, rulesets, effects, predictor, comparison=choices.comparison, on_stage=on_stage
    )  # fmt: skip
    return audit(
        effects, circumstances=circumstances, gates=gates, columns=columns, sentences=answers,
        later=later, by_rate=by_rate,
    )  # fmt: skip


def _drawing(effects: Effects) -> Effects:
    """The effects without the rules that do not draw."""
    return replace(effects, rules=tuple(each for each in effects.rules if draws(each.rule)))


def _rated(rulesets: Sequence[Ruleset], matcher: Matcher, rate: int, *, seed: int) -> Matcher:
    """Compile the rules, those that draw at another rate, which is not part of their ids."""
    rated = [
        replace(
            ruleset,
            rules=tuple(
                replace(rule, metadata=replace(rule.metadata, rate=rate)) if draws(rule) else rule
                for rule in ruleset.rules
            ),
        )
        for ruleset in rulesets
    ]
    return compile_with_sources(rated, tagger=matcher.tagger, seed=seed)


def sentences_of(
    rulesets: Sequence[Ruleset],
    oracle: Oracle | None,
    *,
    limit: int | None,
    seed: int,
    also: Sequence[str],
    note: Callable[[str], None],
) -> GeneratedTable | None:
    """Write the sentences of templates that an audit asks about; None if there are none.

    There are none if the model reads further columns, because no template fills these.
    """
    templates = sum(len(ruleset.templates) for ruleset in rulesets)
    if templates and also:
        note(
            f"note: {counted(templates, 'template is', 'templates are')} skipped: templates fill "
            f"one column, and the model also reads {', '.join(also)}"
        )
    if not templates or also:
        return None
    keep = None if oracle is None else sentence_filter(oracle)
    return generate_table(rulesets, limit=limit, seed=seed, keep=keep)
