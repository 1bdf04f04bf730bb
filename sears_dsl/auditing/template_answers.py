"""How a model does on the sentences of templates: by template, by tag, and by the word in a slot.

In: sentences with their labels, which of them the model has right, and the rows of data beside
them, if any. Out: `RobustnessRecord`s like those of rules, and a `FillerGrid`. p is the accuracy on
the rows of data, or that of a perfect model if there are none, and p′ is the accuracy on the
sentences. The grid leaves out nothing that a set writes.

After E. La Malfa and M. Kwiatkowska, "The King is Naked" (AAAI 2022): p is the accuracy on a test
set, p′ that on sentences with a phenomenon, which templates write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sears_dsl.answers import REFUSED, Comparison, answer_text, is_right
from sears_dsl.auditing import accuracies
from sears_dsl.auditing import robustness as semantic
from sears_dsl.auditing.gates import Gate, Gates, JudgementOutcome
from sears_dsl.auditing.slices import SliceResult
from sears_dsl.effects.asked_model import AskedModel, OnStage
from sears_dsl.effects.rule_effects import Effects
from sears_dsl.errors import counted, listed
from sears_dsl.generating.sentences import note_on_articles
from sears_dsl.generating.table import LABEL, TEMPLATE, TEXT, GeneratedTable
from sears_dsl.language.rule import Template
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.models.predictor import Predictor
from sears_dsl.runtime.array_types import Flags
from sears_dsl.statistics import share_of

_NAMED = 5
_WORST_FIRST: tuple[JudgementOutcome, ...] = ("failed", "not judged", "passed")


@dataclass(frozen=True, eq=False, kw_only=True)
class TemplateAnswers:
    """Sentences of templates, and whether a model has them right.

    `labels` are those of the sentences, written as answers are: 1 for 1.0. `before` is how many
    rows of data it has right, and how many there are; None if the rows have no labels, or are the
    sentences themselves (`are_rows`).
    """

    table: GeneratedTable
    templates: Mapping[str, Template]
    labels: tuple[str, ...]
    right: Flags
    refused: int
    before: tuple[int, int] | None
    are_rows: bool

    @cached_property
    def template(self) -> NDArray[np.int64]:
        """The index of each sentence's template among the templates."""
        return _numbered(self.table.columns[TEMPLATE], list(self.templates))

    @cached_property
    def of_label(self) -> dict[str, Flags]:
        """Label → which sentences have it."""
        labels = sorted(set(self.labels))
        of_sentence = _numbered(self.labels, labels)
        return {label: of_sentence == number for number, label in enumerate(labels)}


def template_answers(
    table: GeneratedTable,
    rulesets: Sequence[Ruleset],
    effects: Effects,
    predictor: Predictor,
    *,
    comparison: Comparison,
    on_stage: OnStage,
) -> TemplateAnswers:
    """Ask a model about sentences, and judge its answers by the labels of their templates.

    If they are also the rows of data, in whatever order, the model remembers its answers.
    """
    templates = {
        name: template for ruleset in rulesets for name, template in ruleset.named_templates
    }
    data, texts = effects.data, table.columns[TEXT]
    labels = [answer_text(each, comparison) or each for each in table.columns[LABEL]]
    labelled = sorted(zip(texts, ((label,) for label in labels), strict=True))
    are_rows = sorted(zip(data.texts, data.labels or (), strict=False)) == labelled
    if not are_rows:
        on_stage("asking about sentences", 0, len(texts))
    answers = AskedModel(predictor).labels([{data.column: text} for text in texts])
    right = [
        is_right(answer, (label,), comparison=comparison)
        for answer, label in zip(answers, labels, strict=True)
    ]
    has_accuracy = effects.labelled and not are_rows
    return TemplateAnswers(
        table=table,
        templates=templates,
        labels=tuple(labels),
        right=np.array(right, np.bool_),
        refused=answers.count(REFUSED),
        before=(int(effects.right.sum()), len(effects.right)) if has_accuracy else None,
        are_rows=are_rows,
    )


def template_notes(
    answers: TemplateAnswers | None,
    effects: Effects,
    oracle: str | None,
    rulesets: Sequence[Ruleset],
) -> Iterator[str]:
    """Notes on what makes the numbers less reliable or needs an explanation."""
    if answers is None:
        return
    note = note_on_articles(rulesets)
    if note:
        yield f"{note[0].upper()}{note[1:]}."
    if answers.refused and not answers.are_rows:
        yield (
            f"The model refused {answers.refused:,} of {len(answers.right):,} template sentences, "
            "which count as wrong."
        )
    rejected = {each.name: each.rejected for each in answers.table.templates if each.rejected}
    if rejected:
        whole = sum(each.sentences for each in answers.table.templates)
        counts = listed([f"{name} {count:,}" for name, count in rejected.items()], _NAMED)
        yield (
            f"The oracle {oracle} rejected {sum(rejected.values()):,} of {whole:,} template "
            f"sentences before the model was asked: {counts}."
        )
    known = {label for of_row in effects.data.labels or () for label in of_row}
    if answers.before is not None:
        named = list(answers.templates)
        for label in sorted(set(answers.labels) - known):
            names = [named[place] for place in np.unique(answers.template[answers.of_label[label]])]
            has = "has" if len(names) == 1 else "have"
            in_rows = listed([repr(semantic.writable(each)) for each in sorted(known)], _NAMED)
            yield (
                f"{listed(names, _NAMED)} {has} the label {semantic.writable(label)!r}, "
                f"but the rows of the data have only {in_rows}."
            )


def template_parts(answers: TemplateAnswers | None) -> Iterator[SliceResult]:
    """The accuracy on each template."""
    if answers is None:
        return
    for number, name in enumerate(answers.templates):
        of_template = answers.template == number
        if of_template.any():
            right = share_of(int(answers.right[of_template].sum()), int(of_template.sum()))
            yield SliceResult(
                slicing=semantic.OF_SENTENCES,
                value=semantic.writable(name),
                rows=right.total,
                accuracy=right,
                flipped=share_of(0, 0),
            )


def template_column(
    answers: TemplateAnswers | None, effects: Effects
) -> Iterator[semantic.ColumnAccuracy]:
    """The accuracy over all templates, with the mean and what a constant answer would score."""
    if answers is not None:
        labels = semantic.labels_of(effects, answers.labels)
        yield semantic.ColumnAccuracy(
            column=semantic.OF_SENTENCES,
            values=len(np.unique(answers.template)),
            pooled=share_of(int(answers.right.sum()), len(answers.right)),
            mean=accuracies.mean_of_groups(answers.right, answers.template),
            constant=_constant(answers, labels, np.arange(len(answers.right))),
        )


def _constant(
    answers: TemplateAnswers, labels: Sequence[str], sentences: NDArray[np.int64]
) -> accuracies.ConstantAnswer | None:
    """What the best constant answer scores on some sentences."""
    nowhere = np.zeros(len(answers.right), np.bool_)
    flags = [answers.of_label.get(label, nowhere)[sentences] for label in labels]
    named = list(map(semantic.writable, labels))
    return accuracies.constant_answer(
        flags, named, np.arange(len(sentences)), answers.template[sentences]
    )


def with_templates(
    robustness: semantic.Robustness, answers: TemplateAnswers, effects: Effects, *, gates: Gates
) -> semantic.Robustness:
    """Add the robustness to all templates, each tag and each template to that to rules.

    A gate that is about rules and templates holds only if it holds for both.
    """
    labels = semantic.labels_of(effects, answers.labels)
    known = answers.templates
    places = {name: number for number, name in enumerate(known)}
    rejected = {each.name: each.rejected for each in answers.table.templates}
    chosen = semantic.selections(
        {name: each.metadata for name, each in known.items()},
        ("all templates", "templates of a tag", "template"),
    )

    def record(
        about: semantic.About, name: str, names: Sequence[str], *, tolerance: float
    ) -> semantic.RobustnessRecord:
        """How robust the model is to some templates."""
        sentences = np.flatnonzero(np.isin(answers.template, [places[each] for each in names]))
        right = answers.right[sentences]
        return semantic.record_of(
            accuracies.sentence_robustness(right, answers.before), about=about, name=name,
            rules=len(names), mean=accuracies.mean_of_groups(right, answers.template[sentences]),
            constant=_constant(answers, labels, sentences), labels=len(labels), gates=gates,
            tolerance=tolerance,
        )  # fmt: skip

    def judged(gate: Gate, of_rules: semantic.RobustnessGate) -> semantic.RobustnessGate:
        """Judge a gate on rules and templates together."""
        names = [name for name, each in known.items() if gate.is_about_template(name, each)]
        if not names:
            return of_rules
        measured = record(
            "template", gate.selector, names, tolerance=gate.tolerance(robustness.tolerance)
        )
        lost = sum(rejected[name] for name in names)
        outcome, reason = semantic.judged_gate(
            gate, measured, gates,
            why_empty=f"the oracle rejected {counted(lost, 'sentence')}"
            if lost
            else "the templates write no sentence",
            why_unknown=semantic.why_no_classes(effects, answers.labels),
        )  # fmt: skip
        if any(map(gate.is_about, effects.rules)):
            outcomes = (of_rules.outcome, outcome)
            outcome = next(each for each in _WORST_FIRST if each in outcomes)
            reason = f"{of_rules.reason}; for templates: {reason}"
        return replace(of_rules, outcome=outcome, reason=reason)

    records = [record(*each, tolerance=robustness.tolerance) for each in chosen]
    pairs = zip(gates.of_robustness, robustness.gates, strict=True)
    return replace(
        robustness,
        labels=len(labels) or None,
        # Without rules there is nothing to say about all of them.
        records=(*(robustness.records if effects.rules else ()), *records),
        gates=tuple(judged(*pair) for pair in pairs),
    )


def _numbered(column: Sequence[str], values: Sequence[str]) -> NDArray[np.int64]:
    """For each cell of a column, the index of its value among all values."""
    places = {value: place for place, value in enumerate(values)}
    return np.fromiter(map(places.__getitem__, column), np.int64, len(column))


@dataclass(frozen=True, slots=True, kw_only=True)
class FillerRow:
    """One word in one slot, or "" for none: for each template, its sentences and those right."""

    slot: str
    filler: str
    right: tuple[int, ...]
    total: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FillerGrid:
    """Which word breaks which template: words with the lowest accuracy come first."""

    templates: tuple[str, ...]
    rows: tuple[FillerRow, ...]


def filler_grid(answers: TemplateAnswers) -> FillerGrid | None:
    """Accuracy by the words in the slots and by template; None if no template has a slot."""
    table = answers.table
    names = list(answers.templates)
    has = {each.name: each.slots for each in table.templates}
    rows = []
    for slot in dict.fromkeys(slot for slots in has.values() for slot in slots):
        fillers = list(dict.fromkeys(table.columns[slot]))
        in_cell = _numbered(table.columns[slot], fillers) * len(names) + answers.template
        has_slot = np.array([slot in has[name] for name in names])[answers.template]
        of_cells = (
            np.bincount(in_cell[which], minlength=len(fillers) * len(names))
            .reshape(len(fillers), len(names))
            .tolist()
            for which in (has_slot & answers.right, has_slot)
        )
        rows += [
            FillerRow(slot=slot, filler=filler, right=tuple(right), total=tuple(total))
            for filler, right, total in zip(fillers, *of_cells, strict=True)
            if any(total)
        ]
    rows.sort(key=lambda row: (sum(row.right) / sum(row.total), row.slot, row.filler))
    return FillerGrid(templates=tuple(names), rows=tuple(rows)) if rows else None
