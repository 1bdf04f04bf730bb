"""What rules do to a model: every rule by itself on every row, with the answers before and after.

    rows ──▶ answers before ─▶ right rows
    rules × rows ──▶ `Applications` ──▶ answers after ──▶ `RuleEffect`, one a rule

Each rule is applied to every row, whether the model has it right (see `flips`) or not. What the
data protects stays as it is, and a rewrite that touches a span does not count. A rule that changes
nothing has an empty effect. What was not given or not asked for is NaN or None, never 0. The cost
is a prediction for each row and each distinct rewrite, and a score for each sampled pair if there
is a scorer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from sears_dsl.answers import REFUSED, Comparison, answer_text, answers_equal, carry_back, is_right
from sears_dsl.batch.guarding import guard_rewrites
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.effects.applications import Applications, applications_in, by_rule
from sears_dsl.effects.asked_model import AskedModel, OnStage
from sears_dsl.effects.flips import right_labels
from sears_dsl.effects.oracle import Oracle, accepted_rewrites
from sears_dsl.engine.matcher import Matcher
from sears_dsl.engine.matches import Edit, Scope, Unit
from sears_dsl.engine.rewrite.rewrites import Rewrites
from sears_dsl.language.measure import writes_the_same_words
from sears_dsl.language.printer import print_rule, rule_called
from sears_dsl.language.rule import Expectation, Rule
from sears_dsl.models.predictor import Answer, Predictor, Row
from sears_dsl.runtime.array_types import Flags, Floats, Int32Array, Int64Array

if TYPE_CHECKING:
    from sears_dsl.meaning.scorers import Scorer


@dataclass(frozen=True, eq=False, kw_only=True)
class RuleEffect:
    """What one rule does. The arrays have an entry for each row that it changes, in their order.

    ``id`` begins with the ruleset's name where two rules have the same id. ``rows`` are positions
    in the data, ascending. ``right_after``, too, is judged by the labels of the original.
    Confidences are NaN where the model gives none, and None if it never does. Scores are NaN for
    pairs that were not scored, and None without a scorer or for rules that write the same words.
    ``unrenderable`` counts rows on which it could not fire, since a new word has no one inflection;
    ``left_out`` rewrites that touch a span, ``rejected`` those that an oracle rejected, and
    ``refused`` those that the model refused, or whose row it refused.
    """

    id: str
    rule: Rule
    text: str
    expect: Expectation
    rows: Int32Array
    originals: tuple[str, ...]
    rewritten: tuple[str, ...]
    edits: tuple[tuple[Edit, ...], ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    right_before: Flags
    right_after: Flags
    confidence_before: Floats | None
    confidence_after: Floats | None
    scores: Floats | None
    unrenderable: int
    left_out: int = 0
    rejected: int = 0
    refused: int = 0
    comparison: Comparison = "exact"

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def name(self) -> str:
        """Its name in reports: an id alone says little, and a text alone cannot be looked up."""
        return rule_called(self.text, self.id)

    @property
    def label(self) -> str:
        """The label that the rule expects, written as answers are: 1 for 1.0; "" for none."""
        return answer_text(self.expect.label, self.comparison) or self.expect.label

    @property
    def flipped(self) -> Flags:
        """Rows that the model has right before the rule and wrong after it."""
        return self.right_before & ~self.right_after

    @property
    def gained(self) -> Flags:
        """Rows that the model has wrong before the rule and right after it."""
        return ~self.right_before & self.right_after

    @property
    def tested(self) -> Flags:
        """Rows that show whether the model does as expected.

        For ``same`` and ``flip`` these are the rows that it has right before; for ``label``, where
        the rule itself says what is right, all rows.
        """
        if self.expect.kind == "label":
            return np.ones(len(self), np.bool_)
        return self.right_before

    @property
    def as_expected(self) -> Flags:
        """Rewritten rows on which the model does as expected, whatever it says before.

        ``same`` expects an answer that is right by the old labels, ``flip`` one that is not, and
        ``label`` the one that the rule names.
        """
        if self.expect.kind == "same":
            return self.right_after
        if self.expect.kind == "flip":
            return ~self.right_after
        label, comparison = self.label, self.comparison
        return np.array(
            [answers_equal(answer, label, comparison=comparison) for answer in self.after], np.bool_
        )

    @property
    def failed(self) -> Flags:
        """Tested rows on which the model does not do as expected."""
        return self.tested & ~self.as_expected


@dataclass(frozen=True, eq=False, kw_only=True)
class Effects:
    """What a ruleset does to a model; the answers to the untouched rows and which are right."""

    data: LabelledRows
    rules: tuple[RuleEffect, ...]
    answers: tuple[Answer, ...]
    right: Flags
    comparison: Comparison = "exact"

    @property
    def refused(self) -> int:
        """Rewrites that are left out since the model refused them or their row."""
        return sum(each.refused for each in self.rules)

    @property
    def labelled(self) -> bool:
        """Whether the data says what is right; else the model's own answers count."""
        return self.data.labels is not None

    @property
    def confident(self) -> bool:
        """Whether the model said of any row how sure it is."""
        return any(answer.confidence is not None for answer in self.answers)

    def among_rows(self, marked: Sequence[tuple[RuleEffect, Flags]]) -> Flags:
        """Bool (rows,): the rows of the data that any of these effects marks."""
        marks = np.zeros(len(self.right), np.bool_)
        for effect, flags in marked:
            marks[effect.rows[flags]] = True
        return marks


def rule_effects(
    matcher: Matcher,
    data: LabelledRows,
    predictor: Predictor,
    *,
    scorer: Scorer | None = None,
    score_at_most: int | None = None,
    oracle: Oracle | None = None,
    comparison: Comparison = "exact",
    scope: Scope = "first",
    unit: Unit | None = None,
    seed: int = 0,
    draw: int = 0,
    on_stage: OnStage = lambda stage, done, total: None,
) -> Effects:
    """Apply each rule by itself to each row and ask the model about the rewrites.

    At most `score_at_most` rewrites of a rule are scored, drawn at random. `draw` numbers the draws
    of the rules' noise.
    """
    model = AskedModel(predictor)
    on_stage("applying rules", 0, len(matcher.rules))
    protected = None if data.guards is None else data.guards.protected
    rewrites, touching = guard_rewrites(
        matcher.apply(data.texts, scope=scope, unit=unit, protected=protected, draw=draw),
        data.guards,
    )
    rejected = Counter[int]()
    if oracle is not None:
        on_stage("asking the oracle", 0, len(rewrites))
        rewrites, rejected = accepted_rewrites(rewrites, matcher.rules, data, oracle)
    answers = _answers(model, data.rows, "asking about rows", on_stage)
    labels = right_labels(data, [answer.label for answer in answers])
    pairs = zip(answers, labels, strict=True)
    are_right = [is_right(answer.label, of_row, comparison=comparison) for answer, of_row in pairs]
    right = np.array(are_right, np.bool_)
    asked = _asked_rewrites(
        model, data, rewrites, answers, labels, comparison=comparison, on_stage=on_stage
    )
    table = asked.table
    ids = matcher.rule_ids
    effects = []
    for number, (name, rule) in enumerate(zip(ids, matcher.rules, strict=True)):
        on_stage("scoring rewrites" if scorer else "counting flips", number, len(ids))
        of_rule = table.of_rule(number)
        rows = table.rows[of_rule]
        texts = table.pairs(of_rule)
        later = [asked.after[rewrite] for rewrite in of_rule.tolist()]
        earlier = [answers[row] for row in rows.tolist()]
        first, last = table.rule_offsets[number : number + 2].tolist()
        effects.append(
            RuleEffect(
                id=name,
                rule=rule,
                text=print_rule(rule),
                expect=rule.expectation,
                rows=rows,
                originals=tuple(original for original, _ in texts),
                rewritten=tuple(text for _, text in texts),
                edits=tuple(asked.edits[first:last]),
                before=tuple(answer.label for answer in earlier),
                after=tuple(answer.label for answer in later),
                right_before=right[rows],
                right_after=asked.right[of_rule],
                confidence_before=_confidences(earlier),
                confidence_after=_confidences(later),
                # Scorers read words: of other characters they say that the meaning is gone.
                scores=None
                if scorer is None or writes_the_same_words(rule)
                else _sampled(scorer, texts, at_most=score_at_most, seed=seed, rule=name),
                unrenderable=rewrites.unrenderable[number],
                left_out=touching[number],
                rejected=rejected[number],
                refused=int(asked.refused[number]),
                comparison=comparison,
            )
        )
    return Effects(
        data=data, rules=tuple(effects), answers=tuple(answers), right=right, comparison=comparison
    )


@dataclass(frozen=True, eq=False)
class _AskedRewrites:
    """Distinct rewrites, what the model says of them, and the applications that count."""

    table: Applications  # those of which the model refused neither answer
    refused: Int64Array  # (rules,): how many applications of each rule that leaves out
    edits: Sequence[tuple[Edit, ...]]  # of each application that counts
    after: Sequence[Answer]  # to each rewrite
    right: Flags  # which rewrites the model has right, by the labels of their rows


def _asked_rewrites(
    model: AskedModel,
    data: LabelledRows,
    rewrites: Rewrites,
    answers: Sequence[Answer],
    labels: Sequence[tuple[str, ...]],
    *,
    comparison: Comparison,
    on_stage: OnStage,
) -> _AskedRewrites:
    """Ask the model about rewrites of rows to which it gave these answers."""
    table = applications_in(rewrites, data.texts)
    rows = table.rows.tolist()
    after = _answers(model, data.rewritten(rows, table.texts), "asking about rewrites", on_stage)
    if comparison == "entities":
        after = _carried_back(after, rewrites)
    pairs = list(zip(after, rows, strict=True))
    right = [is_right(now.label, labels[row], comparison=comparison) for now, row in pairs]
    refused = np.array([REFUSED in (now.label, answers[row].label) for now, row in pairs], np.bool_)
    answered = ~refused[table.rewrites]
    counting = table.where(answered)
    return _AskedRewrites(
        counting,
        refused=table.changed - counting.changed,
        edits=[rewrites[place].edits for place in by_rule(rewrites)[answered].tolist()],
        after=after,
        right=np.array(right, np.bool_),
    )


def _answers(model: AskedModel, rows: Sequence[Row], stage: str, on_stage: OnStage) -> list[Answer]:
    on_stage(stage, 0, len(rows))
    return model.answers(rows, on_progress=partial(on_stage, stage))


def _carried_back(answers: Sequence[Answer], rewrites: Rewrites) -> list[Answer]:
    """Answers to distinct rewrites, with entities where they would stand in the originals."""
    ones = dict(zip(rewrites.distinct().ids.tolist(), rewrites, strict=True))
    return [
        answer._replace(
            label=carry_back(
                answer.label, ones[number].original, ones[number].text, comparison="entities",
                edits=ones[number].edits,
            )
        )
        for number, answer in enumerate(answers)
    ]  # fmt: skip


def _confidences(answers: Sequence[Answer]) -> Floats | None:
    if all(answer.confidence is None for answer in answers):
        return None
    return np.array(
        [np.nan if answer.confidence is None else answer.confidence for answer in answers]
    )


def _sampled(
    scorer: Scorer, pairs: Sequence[tuple[str, str]], *, at_most: int | None, seed: int, rule: str
) -> Floats:
    """S of pairs drawn at random; the draw of a rule does not depend on the other rules."""
    scores = np.full(len(pairs), np.nan)
    if at_most is None or len(pairs) <= at_most:
        chosen = np.arange(len(pairs))
    else:
        rule_seed = int.from_bytes(blake2b(rule.encode(), digest_size=8).digest())
        draw = np.random.default_rng([seed % 2**64, rule_seed])
        chosen = np.sort(draw.choice(len(pairs), at_most, replace=False))
    if len(chosen):
        scores[chosen] = scorer.scores([pairs[place] for place in chosen.tolist()])
    return scores
