"""Sentences with a few adversaries each, of which a reviewer picks the closest.

In: a file that ``sears adversaries --top 5`` wrote, or what rules make of rows. Out:
`AdversaryChoice`s. Always holds: a sentence has one to five distinct adversaries, best scored
first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sears_dsl.data.dataset import Dataset, require_column
from sears_dsl.errors import DataError
from sears_dsl.vetting.review.workbench import RuleTable, Workbench

MOST = 5
"""Adversaries that are shown of a sentence, as in the paper's study."""

_COLUMNS = ("original", "adversary", "prediction")


@dataclass(frozen=True, slots=True)
class PickableAdversary:
    """Another text that the model answers otherwise: the text, what it says, S if known."""

    text: str
    prediction: str
    score: float | None


@dataclass(frozen=True, slots=True)
class AdversaryChoice:
    """A sentence, what the model rightly says of it, and its adversaries."""

    original: str
    label: str
    adversaries: tuple[PickableAdversary, ...]


def read_choices(path: str) -> tuple[AdversaryChoice, ...]:
    """The sentences of a file of adversaries, in its order."""
    dataset = Dataset(path)
    for name in _COLUMNS:
        require_column(dataset.names, name, where=path)
    choices: dict[str, AdversaryChoice] = {}
    for batch in dataset.batches():
        for index in range(batch.rows):
            value = {name: column[index] for name, column in batch.columns.items()}
            if not all(isinstance(value[name], str) for name in _COLUMNS):
                raise DataError(
                    f"{path}: row {batch.row_number(index)} has no text where one is wanted",
                    help="give the file that `sears adversaries --top 5` wrote",
                )
            new = PickableAdversary(
                value["adversary"], value["prediction"], _score(value.get("score"))
            )
            known = choices.get(value["original"])
            label = str(value.get("label", ""))
            before = known.adversaries if known else ()
            choices[value["original"]] = AdversaryChoice(value["original"], label, (*before, new))
    return tuple(_best(choice) for choice in choices.values())


def _score(value: object) -> float | None:
    try:
        return None if value in (None, "") else float(str(value))
    except ValueError:
        return None


def _best(choice: AdversaryChoice) -> AdversaryChoice:
    distinct = {each.text: each for each in reversed(choice.adversaries)}
    best = sorted(distinct.values(), key=lambda each: (-(each.score or 0.0), each.text))
    return AdversaryChoice(choice.original, choice.label, tuple(best[:MOST]))


def choices_of_rules(bench: Workbench, effects: RuleTable) -> tuple[AdversaryChoice, ...]:
    """Rows that rules flip, with what the rules make of them as adversaries.

    Rows with more adversaries come first: there is more to choose from. Rules after which the label
    should change make none: what they write is not to be close to the row.
    """
    rows: dict[int, list[PickableAdversary]] = {}
    changing: set[int] = set()
    for number, rule in enumerate(effects.rules):
        if not rule.keeps_label:
            changing.update(effects.applications.of_rule(number).tolist())
    flipping: Iterable[int] = np.flatnonzero(effects.flips).tolist()
    for rewrite in flipping:
        if rewrite in changing:
            continue
        score = float("nan") if effects.scores is None else float(effects.scores[rewrite])
        adversary = PickableAdversary(
            effects.applications.texts[rewrite],
            effects.answers[rewrite] or "",
            None if np.isnan(score) else score,
        )
        rows.setdefault(int(effects.applications.rows[rewrite]), []).append(adversary)
    texts, before = bench.data.texts, bench.before
    choices = [
        _best(AdversaryChoice(texts[row], before[row], tuple(rows[row]))) for row in sorted(rows)
    ]
    distinct = {choice.original: choice for choice in choices}
    return tuple(sorted(distinct.values(), key=lambda each: -len(each.adversaries)))
