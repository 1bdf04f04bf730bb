"""From effects to the document of an audit: everything counted, judged and explained.

In: effects, gates, slicings, and the circumstances. Out: `AuditDocument`. The same effects give the
same document. Its notes say whatever makes the numbers less reliable. If nothing could be judged by
one of the gates, the audit does not pass, whatever the others say.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any, get_args

import numpy as np

from sears_dsl.answers import REFUSED, Comparison
from sears_dsl.auditing import document, template_answers, totals
from sears_dsl.auditing.gates import (
    CERTAIN,
    Gates,
    Judgement,
    JudgementOutcome,
    judge,
    judge_share,
    unrounded,
)
from sears_dsl.auditing.robustness import Robustness, column_accuracies, robustness
from sears_dsl.auditing.slices import Computed, SliceResult, slice_results, slicings
from sears_dsl.discovery.result.manifest import DataIdentity
from sears_dsl.discovery.result.report import package_versions
from sears_dsl.effects.label_names import never_answered, other_names
from sears_dsl.effects.rule_effects import Effects, RuleEffect
from sears_dsl.engine.compile.requirements import unit_of
from sears_dsl.engine.matches import Scope, Unit
from sears_dsl.errors import counted, listed, readable
from sears_dsl.generating.table import LABEL, TEMPLATE, TEXT
from sears_dsl.language.diff import rule_settings
from sears_dsl.language.measure import causes_of_no_rewrite, writes_the_same_words
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.statistics import binomial_tail, mcnemar_exact, mean_interval, percent, share_of


def reach_verdict(
    effects: Effects,
    judgements: Sequence[Judgement],
    whole: totals.Together,
    gates: Gates,
    robustness: Robustness | None = None,
) -> document.Verdict:
    """Return the decision and its reasons: first what failed, then what could not be judged."""
    outcomes = [each.outcome for each in judgements]
    counts = {outcome: outcomes.count(outcome) for outcome in get_args(JudgementOutcome)}
    nothing_right = effects.rules and not effects.right.any()
    if not gates.any_limit:
        return document.Verdict(
            outcome="not judged" if nothing_right else "measured",
            reasons=(_NO_ROW_RIGHT if nothing_right else "no limit is set",),
            counts=counts,
        )
    all_rules, about_all = _judge_all(whole, gates)
    fails = ("failed", "not judged") if gates.require_support else ("failed",)
    failures = [
        f"{effect.name}: {judgement.reason}"
        for effect, judgement in zip(effects.rules, judgements, strict=True)
        if judgement.outcome in fails
    ]
    together = (f"all rules together: {about_all}", all_rules)
    of_robustness = () if robustness is None else robustness.gates
    others = [(f"{each.gate}: {each.reason}", each.outcome) for each in of_robustness]
    failures += [reason for reason, outcome in (together, *others) if outcome in fails]
    unjudged = [_NO_ROW_RIGHT] if nothing_right else []
    unjudged += _unjudged(effects.rules, judgements, gates)
    if not gates.require_support:
        unjudged += [why for why, outcome in (*others, together) if outcome == "not judged"]
    passed = counts["passed"] or "passed" in {outcome for _, outcome in (together, *others)}
    if not (failures or unjudged or passed):
        rows, templates = " on enough rows to be judged", "; templates need --gate robust:all=10%"
        unjudged.append(f"no rule was tested{rows if effects.rules else templates}")
    outcome: JudgementOutcome = "failed" if failures else "not judged" if unjudged else "passed"
    return document.Verdict(
        outcome=outcome,
        reasons=(*failures, *unjudged) if outcome != "passed" else (),
        counts=counts,
        all_rules=all_rules,
        all_rules_reason=about_all,
    )


def _unjudged(
    rules: Sequence[RuleEffect], judgements: Sequence[Judgement], gates: Gates
) -> Iterator[str]:
    """The gates none of whose rules could be judged, by the gate's limit or a stricter one."""
    of_gate: dict[str, set[JudgementOutcome]] = {}
    for rule, judgement in zip(rules, judgements, strict=True):
        for limit, gate in gates.limits_of(rule):
            if judgement.against <= limit:
                of_gate.setdefault(gate, set()).add(judgement.outcome)
    for gate, outcomes in of_gate.items():
        if outcomes == {"not judged"}:
            yield f"{gate}: no rule was tested on enough rows to be judged"


def _judge_all(whole: totals.Together, gates: Gates) -> tuple[JudgementOutcome, str]:
    """Judge the rows that any rule flips, as a test of their own."""
    limit, flipped = gates.rows_flipped, whole.flipped
    if limit is None:
        return "measured", "no limit is set"
    return judge_share(
        flipped,
        limit=limit,
        q_value=float(binomial_tail(flipped.count, flipped.total, limit)),
        gates=gates,
        changed=whole.changed,
        lost="no rule that expects the same answer changes a row",
    )


_NOTHING_RIGHT = "The model gets no row right."
#: How the notes on labels begin that a user has to read before any number.
ABOUT_LABELS = (_NOTHING_RIGHT, "The model never answers ")
_NO_ROW_RIGHT = "the model gets no row right"
_SHOWN = 3
_SENTENCE_COLUMNS = (TEXT, LABEL, TEMPLATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditChoices:
    """The user's choices for an audit, except its gates: arguments of `sears.audit`.

    `rates` are those of rules that draw, in millionths and ascending.
    """

    label: str | None = None
    also: tuple[str, ...] = ()
    comparison: Comparison = "exact"
    scope: Scope = "first"
    unit: Unit | None = None
    tau: float | None = None
    score_at_most: int = 100
    seed: int = 0
    sure_from: float = 0.9
    examples: int = 10
    tolerance: float | None = None
    draws: int = 1
    rates: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What an audit was made with, by identity; None for what took no part.

    `tau` is the chosen one or the scorer's own. `noise` names what decides the noise of the rules.
    """

    rulesets: tuple[Ruleset, ...]
    model: str
    tagger: str
    scorer: str | None = None
    tau: float | None = None
    oracle: str | None = None
    noise: Mapping[str, str] = field(default_factory=dict)
    choices: AuditChoices = AuditChoices()


def audit(
    effects: Effects,
    *,
    circumstances: Circumstances,
    gates: Gates = Gates(),  # noqa: B008 - a frozen value
    columns: Mapping[str, Sequence[Any] | Computed] | None = None,
    sentences: template_answers.TemplateAnswers | None = None,
    later: Sequence[Effects] = (),
    by_rate: Sequence[tuple[float, Effects]] = (),
) -> document.AuditDocument:
    """Count, judge and explain effects; `columns` has what to slice by, with a value a row."""
    choices = circumstances.choices
    judgements = judge(effects.rules, gates)
    alone = totals.flips_alone(effects)
    whole = totals.count_together(effects)
    parts = slicings(effects.data, columns or {}, effects.answers)
    slices = slice_results(
        effects, {readable(name): list(map(readable, values)) for name, values in parts.items()}
    )
    readings = chain.from_iterable(map(rule_settings, circumstances.rulesets))
    records = tuple(
        _record(*of_rule, effects=effects, circumstances=circumstances)
        for of_rule in zip(effects.rules, judgements, alone, readings, strict=True)
    )
    robust = robustness(
        effects, gates=gates, tolerance=choices.tolerance, seed=choices.seed, later=later,
        further=() if sentences is None else sentences.labels,
    )  # fmt: skip
    if robust is not None and sentences is not None:
        robust = template_answers.with_templates(robust, sentences, effects, gates=gates)
    # Sentences that are the rows and sliced by template are in every number already.
    known = sentences is None or (sentences.are_rows and TEMPLATE in (columns or {}))
    beside = None if known else sentences
    plain = {
        name: values for name, values in (columns or {}).items() if not isinstance(values, Computed)
    }
    return document.AuditDocument(
        verdict=reach_verdict(effects, judgements, whole, gates, robust),
        model=circumstances.model,
        data=DataIdentity.of(effects.data, label=choices.label, also=choices.also),
        labelled=effects.labelled,
        comparison=choices.comparison,
        rulesets=tuple(map(_identity, circumstances.rulesets)),
        tagger=circumstances.tagger,
        scope=choices.scope,
        unit=unit_of(circumstances.rulesets, choices.unit),
        scorer=circumstances.scorer,
        tau=circumstances.tau,
        score_at_most=None if circumstances.scorer is None else choices.score_at_most,
        seed=choices.seed,
        gates=document.GateRecord(
            **asdict(gates) | {"own": {gate.name: gate.rate for gate in gates.own}}
        ),
        together=whole,
        rules=records,
        slices=(*slices, *template_answers.template_parts(beside)),
        notes=(
            *_notes(effects, gates, slices),
            *_rejections(effects, circumstances.oracle),
            *template_answers.template_notes(
                sentences, effects, circumstances.oracle, circumstances.rulesets
            ),
            *_doubts(records),
            *_unscored(effects, circumstances),
            *_worse_draws(judgements, effects, later, gates),
            *_unasked(robust, gates, choices),
        ),
        right_rows="".join("1" if each else "0" for each in effects.right.tolist()),
        answer_words=document.per_row_text(_words(answer.label) for answer in effects.answers),
        confidences=document.per_row_text(answer.confidence for answer in effects.answers),
        versions=package_versions(),
        robustness=robust,
        columns=(
            *column_accuracies(effects, plain),
            *template_answers.template_column(beside, effects),
        ),
        draws=1 + len(later),
        drawn=tuple(totals.over_draws(effects, later)),
        rates=tuple(totals.over_rates(effects, by_rate)),
        fillers=None if sentences is None else template_answers.filler_grid(sentences),
        oracle=circumstances.oracle,
        noise=dict(circumstances.noise),
        sentences=None if beside is None else _sentence_answers(beside),
        sure_from=choices.sure_from,
    )


def _sentence_answers(answers: template_answers.TemplateAnswers) -> document.SentenceAnswers:
    hasher = hashlib.sha256()
    for sentence in zip(*(answers.table.columns[each] for each in _SENTENCE_COLUMNS), strict=True):
        hasher.update(json.dumps(sentence).encode("utf-8") + b"\n")
    marks = "".join("01"[right] for right in answers.right.tolist())
    return document.SentenceAnswers(sha256=hasher.hexdigest(), right=marks)


def _identity(ruleset: Ruleset) -> document.RulesetIdentity:
    return document.RulesetIdentity(
        name=ruleset.name or ruleset.path.replace("\\", "/").rsplit("/", 1)[-1],
        version=ruleset.version,
        sha256=hashlib.sha256(ruleset.format().encode("utf-8")).hexdigest(),
        rules=len(ruleset.rules),
    )


def _record(
    effect: RuleEffect,
    judgement: Judgement,
    alone: int,
    reading: dict[str, str],
    *,
    effects: Effects,
    circumstances: Circumstances,
) -> document.RuleRecord:
    metadata = effect.rule.metadata
    right, flips, gained = (
        int(each.sum()) for each in (effect.right_before, effect.flipped, effect.gained)
    )
    return document.RuleRecord(
        id=effect.id,
        rule=effect.text,
        expect=str(effect.expect),
        severity=metadata.severity,
        tags=metadata.tags,
        why=metadata.why,
        changed=len(effect),
        right=right,
        flips=share_of(flips, right),
        flips_alone=alone,
        gained=gained,
        accuracy_p_value=float(mcnemar_exact(flips, gained)),
        judgement=judgement,
        confidence=_confidence(effect, circumstances.choices.sure_from),
        meaning=_meaning(effect, circumstances.tau),
        unrenderable=effect.unrenderable,
        rejected=effect.rejected,
        refused=effect.refused,
        examples=_examples(effect, effects, circumstances.choices.examples),
        rows=" ".join(str(row + 1) for row in effect.rows.tolist()),
        outcomes=_outcomes(effect),
        reading=reading,
        answer_words=document.per_row_text(map(_words, effect.after)),
        confidences=""
        if effect.confidence_after is None
        else document.per_row_text(effect.confidence_after.tolist()),
    )


def _words(answer: str) -> float | None:
    return None if answer == REFUSED else len(answer.split())


def _outcomes(effect: RuleEffect) -> str:
    after = ~effect.failed if effect.expect.kind == "label" else effect.right_after
    moves = zip(effect.right_before.tolist(), after.tolist(), strict=True)
    letters = {(True, True): "k", (True, False): "f", (False, True): "g", (False, False): "w"}
    return "".join(letters[each] for each in moves)


def _confidence(effect: RuleEffect, sure_from: float) -> document.Confidence | None:
    before, after = effect.confidence_before, effect.confidence_after
    if before is None or after is None:
        return None
    known = effect.tested & np.isfinite(before) & np.isfinite(after)
    if not known.any():
        return None
    change = after - before
    unchanged = known & (np.array(effect.before, object) == np.array(effect.after, object))
    sure = known & effect.flipped & (before >= sure_from) & (after >= sure_from)
    return document.Confidence(
        rows=int(known.sum()),
        before=float(before[known].mean()),
        after=float(after[known].mean()),
        change=float(change[known].mean()),
        change_interval=mean_interval(change[known]) if known.sum() > 1 else None,
        change_kept=float(change[unchanged].mean()) if unchanged.any() else None,
        sure_from=sure_from,
        sure_flips=int(sure.sum()),
    )


def _meaning(effect: RuleEffect, tau: float | None) -> document.Meaning | None:
    if effect.scores is None or tau is None:
        return None
    scored = np.isfinite(effect.scores)
    if not scored.any():
        return None
    above_tau = scored & (effect.scores >= tau)
    flips = effect.flipped
    return document.Meaning(
        scored=int(scored.sum()),
        mean=float(effect.scores[scored].mean()),
        at_tau=share_of(int(above_tau.sum()), int(scored.sum())),
        flips_at_tau=share_of(int((above_tau & flips).sum()), int((scored & flips).sum())),
    )


def _examples(effect: RuleEffect, effects: Effects, most: int) -> tuple[document.Example, ...]:
    """Examples, failures first: those with the highest S, then those of highest confidence."""
    scores = np.zeros(len(effect)) if effect.scores is None else np.nan_to_num(effect.scores)
    sure = effect.confidence_after
    sure = np.zeros(len(effect)) if sure is None else np.nan_to_num(sure)
    order = np.lexsort((effect.rows, -sure, -scores, ~effect.tested, ~effect.failed))
    labels = effects.data.labels
    return tuple(
        document.Example(
            row=effects.data.number(row),
            picture=effects.data.picture_at(row),
            choices=effects.data.choices_at(row),
            original=readable(effect.originals[place]),
            rewritten=readable(effect.rewritten[place]),
            edits=tuple(
                (edit.start, edit.end, readable(edit.old), readable(edit.new))
                for edit in effect.edits[place]
            ),
            label=None if labels is None else readable(labels[row][0]),
            before=readable(effect.before[place]),
            after=readable(effect.after[place]),
            confidence_before=_known(effect.confidence_before, place),
            confidence_after=_known(effect.confidence_after, place),
            score=_known(effect.scores, place),
            failed=bool(effect.failed[place]),
            wrong_before=not effect.right_before[place],
        )
        for place in order[:most].tolist()
        for row in [int(effect.rows[place])]
    )


def _known(values: Any, place: int) -> float | None:
    if values is None or not np.isfinite(values[place]):
        return None
    return float(values[place])


def _notes(effects: Effects, gates: Gates, slices: Sequence[SliceResult]) -> Iterator[str]:
    """Notes on what makes the numbers less reliable or needs an explanation."""
    data = effects.data
    if not effects.labelled:
        yield (
            "No label column was given: the model's answer to the original row counts as right, "
            "and accuracy is not reported."
        )
    answers = [each.label for each in effects.answers]
    if effects.right.any():
        never = never_answered(data, dict(enumerate(answers)), comparison=effects.comparison)
        if never:
            yield f"{never[0].upper()}{never[1:]}."
    elif set(answers) - {REFUSED}:
        why = other_names(data, answers)
        yield f"{_NOTHING_RIGHT} {why[0].upper()}{why[1:]}{'' if why.endswith('?') else '.'}"
    refused = sum(answer.label == REFUSED for answer in effects.answers)
    # This happens only if the user chose to skip texts that the model refuses.
    if refused or effects.refused:
        rewrites_refused = counted(
            effects.refused,
            "rewrite is left out: it or its row was refused",
            "rewrites are left out: they or their rows were refused",
        )
        yield (
            f"The model refused {refused:,} of {len(effects.answers):,} rows, which count as "
            f"wrong. {rewrites_refused}."
        )
    if not effects.confident:
        yield "The model reports no confidence, so none is shown."
    # A row occurs once for each column that a rule may rewrite, which is not a repetition.
    of_file = {
        data.number(place): tuple(sorted(row.items())) for place, row in enumerate(data.rows)
    }
    repeated = len(of_file) - len(set(of_file.values()))
    if repeated:
        yield (
            f"{repeated:,} of {len(of_file):,} rows repeat another row. Each of them counts, so "
            "the intervals are slightly too narrow."
        )
    yield from _unknown_labels(effects)
    silent = [effect.name for effect in effects.rules if not len(effect)]
    if silent:
        verb = "changes" if len(silent) == 1 else "change"
        rules = f"{len(silent):,} of {counted(len(effects.rules), 'rule')} {verb}"
        where = " that the model answers" if effects.refused else " of this data"
        if any(effect.rejected for effect in effects.rules if not len(effect)):
            where += " in a way that the oracle accepts"
        yield f"{rules} no row{where}: {listed(silent, _SHOWN)}."
    unrendered = [effect for effect in effects.rules if effect.unrenderable]
    if unrendered:
        instances = counted(sum(each.unrenderable for each in unrendered), "instance")
        causes = causes_of_no_rewrite(each.rule for each in unrendered)
        yield f"Left unchanged: {instances}, because {causes}."
    left_out = sum(effect.left_out for effect in effects.rules)
    if left_out:
        yield f"{left_out:,} rewrites were left out because they would touch a span."
    if data.guards is not None:
        yield from data.guards.notes
    yield from (f"{sentence[:1].upper()}{sentence[1:]}." for sentence in data.notes)
    columns = len(set(data.rewritten_columns or ()))
    if columns > 1:
        yield (
            f"Each row of the file appears {columns} times, once for each column that rules may "
            f"rewrite: {data.column}."
        )
    if effects.rules and not gates.any_limit:
        yield (
            "No limit on the rate of flips, max-flip-rate, is set. A small q is evidence that a "
            f"rule fails on more than {unrounded(gates.tolerated)} of its rows. A discovered rule "
            "may change the meaning of up to that share, and there a flip need not be a mistake."
        )
    worse = [each for each in slices if each.q_value is not None and each.q_value < CERTAIN]
    if worse:
        yield (
            f"{len(worse)} of {len(slices)} slices have a flip rate that clearly differs from "
            f"the rest (q < {CERTAIN})."
        )


def _rejections(effects: Effects, oracle: str | None) -> Iterator[str]:
    """A note on what the oracle took out, since every number is about the rest alone."""
    if oracle is None:
        return
    rejecting = sorted((each for each in effects.rules if each.rejected), key=lambda e: -e.rejected)
    rejected = sum(each.rejected for each in rejecting)
    whole = rejected + sum(map(len, effects.rules)) + effects.refused
    if not whole:
        return
    names = listed([f"{each.id} {each.rejected:,}" for each in rejecting], _SHOWN)
    yield (
        f"The oracle {oracle} rejected {rejected:,} of {whole:,} rewrites before the model was "
        f"asked{f': {names}' if rejected else ''}."
    )


def _unknown_labels(effects: Effects) -> Iterator[str]:
    """Notes on expected labels that nobody knows, which are more often typos than failures."""
    known = {label for of_row in effects.data.labels or () for label in of_row}
    known |= {answer.label for answer in effects.answers}
    for effect in effects.rules:
        label = effect.expect.label
        if label and len(effect) and effect.failed.all() and effect.label not in known:
            yield (
                f"{effect.name} expects the label {readable(label)!r}, which no row has and the "
                "model never gives."
            )


def _worse_draws(
    judgements: Sequence[Judgement], effects: Effects, later: Sequence[Effects], gates: Gates
) -> Iterator[str]:
    """A note on rules that pass in the first draw and would fail in another."""
    worst: dict[str, float] = {}
    for draw in later:
        drawn = {each.id: each for each in draw.rules}
        others = judge([drawn.get(each.id, each) for each in effects.rules], gates)
        for rule, first, other in zip(effects.rules, judgements, others, strict=True):
            if (first.outcome, other.outcome) == ("passed", "failed"):
                worst[rule.id] = max(worst.get(rule.id, 0.0), other.failures.rate or 0.0)
    if worst:
        rules = counted(len(worst), "rule passes", "rules pass")
        names = [f"{name} ({percent(rate)})" for name, rate in worst.items()]
        yield (
            f"{rules} in the first draw but would fail in another: {listed(names, _SHOWN)}. "
            "Limits apply to the first draw."
        )


def _unasked(robust: Robustness | None, gates: Gates, choices: AuditChoices) -> Iterator[str]:
    """A note on the default τ, if nobody chose one."""
    asked = [each.rate for each in gates.of_robustness if each.demand in ("robust", "invariant")]
    if robust is not None and choices.tolerance is None and robust.tolerance not in asked:
        tau = f"{100 * robust.tolerance:g}%"
        yield f"No tolerance was given (--tolerance); robustness is at the default τ = {tau}."


def _unscored(effects: Effects, circumstances: Circumstances) -> Iterator[str]:
    """A note on rules that no scorer can judge, such as noise that readers do not notice."""
    same = [
        effect.name
        for effect in effects.rules
        if len(effect) and writes_the_same_words(effect.rule)
    ]
    if same and circumstances.scorer is not None:
        rules = counted(len(same), "rule writes", "rules write")
        yield (
            f"{rules} the same words in other characters or another case, so they are not scored: "
            f"{listed(same, _SHOWN)}."
        )


def _doubts(records: Sequence[document.RuleRecord]) -> Iterator[str]:
    """A note on rules whose flips may be right answers, since they change what the row means."""
    unsure = [
        record.name
        for record in records
        if record.expect == "same" and record.meaning is not None and record.meaning.in_doubt
    ]
    if unsure:
        rules = counted(len(unsure), "rule keeps", "rules keep")
        yield (
            f"By the scorer, {rules} the meaning of clearly fewer than "
            f"{percent(document.EQUIVALENT)} of the rows: {listed(unsure, _SHOWN)}. "
            "Where the meaning changed, a flip may be the right answer."
        )
