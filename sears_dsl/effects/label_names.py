"""Labels of the data and answers of a model: what is said where their names do not go together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from sears_dsl.answers import REFUSED, Comparison, each_answer
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.errors import DataError, NothingRightError, counted, readable, shortened
from sears_dsl.models.predictor import WRITE_ALIKE
from sears_dsl.statistics import excess_exact

#: Rows that a model is tried on before anything else begins; more where there are many labels.
TRIED = 16
#: So many rows with such a label tell whether a model ever answers it.
ENOUGH_OF_A_LABEL = 5
# How likely chance may be to bring other names to the rows of labels that are never answered.
_CHANCE = 0.01
# From this share of the rows on a column has as many labels as one of numbers or texts.
_NEARLY_ALL = 0.9
_FEW_ROWS = 10
_NAMED, _SHOWN = 5, 60


def all_labels(data: LabelledRows) -> list[str]:
    """The distinct labels, in order."""
    return sorted({label for of_row in data.labels or () for label in of_row})


def hardly_repeat(data: LabelledRows) -> bool:
    """Whether nearly each row has a label of its own, as where the column is another."""
    rows = len(data.rows)
    return rows >= _FEW_ROWS and len(data.places_by_label()) >= _NEARLY_ALL * rows


def never_answered(
    data: LabelledRows,
    answers: Mapping[int, str],
    *,
    comparison: Comparison = "exact",
    models: Sequence[str] = (),
) -> str:
    """The note on labels that a model never answers while it answers what is no label of the data.

    `answers` are by the place of the row; ``models`` are the names, if several answer together. The
    text is empty if chance would bring those answers to rows with those labels in one of a hundred
    such runs, so a model that errs, or knows more labels than the data has, gets no note.
    """
    if data.labels is None or comparison not in ("exact", "set"):
        return ""
    for number, model in enumerate(models or ("",)):
        own = {
            place: each_answer(answer, len(models) or 1)[number]
            for place, answer in answers.items()
            if answer != REFUSED
        }
        sentence = _never_answered(data, data.labels, own, comparison)
        if sentence:
            return f"{model}: {sentence}" if model else sentence
    return ""


def _never_answered(
    data: LabelledRows,
    labels: Sequence[tuple[str, ...]],
    answers: Mapping[int, str],
    comparison: Comparison,
) -> str:
    def names(texts: Iterable[str]) -> set[str]:
        parts = (text.split("|") if comparison == "set" else (text,) for text in texts)
        return {name for of_text in parts for name in of_text}

    answered = names(answers.values())
    known = names(label for of_row in labels for label in of_row)
    never, unknown = Counter[str](), Counter[str]()
    both = missed = unknown_rows = 0
    for place, answer in answers.items():
        of_row, of_answer = names(labels[place]) - answered, names([answer]) - known
        never.update(of_row)
        missed += bool(of_row)
        unknown_rows += bool(of_answer)
        both += bool(of_row and of_answer)
        unknown.update(of_answer if of_row else ())
    others = len(answers) - missed
    if missed < ENOUGH_OF_A_LABEL or not (
        float(excess_exact(both, missed, unknown_rows - both, others)) < _CHANCE
    ):
        return ""
    word = "its answer" if len(unknown) == 1 else "its answers"
    verb = "is no label" if len(unknown) == 1 else "are no labels"
    tried = f" to the {len(answers):,} rows tried" if len(answers) < len(data.rows) else ""
    return (
        f"the model never answers {_examples(_frequent(never))}{tried}, and {word} "
        f"{_examples(_frequent(unknown))} {verb} of the data: do they mean the same? {WRITE_ALIKE}"
    )


def _frequent(counts: Counter[str]) -> list[str]:
    return [name for name, _ in counts.most_common()]


def other_names(data: LabelledRows, answers: Sequence[str]) -> str:
    """Why no answer may be right: labels are written differently, or a column is another."""
    says, labels = sorted(set(answers) - {REFUSED}), all_labels(data)
    both = f"it answers {_examples(says)}; the labels are {_examples(labels)}"
    if set(says) <= set(labels):
        swapped = "does the model swap them, or is another column the label?"
        return f"{both}; the names are the same: {swapped}"
    if not hardly_repeat(data):
        return f"{both}; do they mean the same? {WRITE_ALIKE}"
    different = f"{len(data.places_by_label()):,} different labels in {len(data.rows):,} rows"
    length = sum(map(len, labels)) / len(labels)
    if length > sum(map(len, data.texts)) / len(data.texts):
        return f"{both}; these are longer than the texts: are the two columns swapped?"
    return f"{both}; {different}: is this the label column?"


def nothing_right(
    data: LabelledRows, answers: Sequence[str], *, limited: bool = False
) -> DataError:
    """The error where a model has none of these rows right; ``limited``: questions for no other."""
    rows = f"{len(data.rows):,} rows of {data.path}"
    refuses, wrong = f"the model refuses the {rows}", f"the model gets none of the {rows} right"
    if len(answers) < len(data.rows):
        some = f"of {counted(len(answers), 'row')} tried (of {rows}) the model"
        refuses, wrong = f"{some} refuses all", f"{some} gets none right"
    all_refused = set(answers) <= {REFUSED}
    if limited and len(answers) < TRIED:
        leaves = f"the limit of questions leaves {counted(len(answers), 'row')} (of {rows}) to try"
        does = "refuses all" if all_refused else "gets none right"
        advice = "allow more with --max-questions: half of them go to the rows themselves"
        return NothingRightError(f"{leaves}, and the model {does}", help=advice)
    if answers and all_refused:
        advice = "leave out --on-error skip to see what it says to the first one"
        return NothingRightError(refuses, help=advice)
    return NothingRightError(wrong, help=other_names(data, answers))


def _examples(names: Sequence[str]) -> str:
    return ", ".join(repr(shortened(readable(name), _SHOWN)) for name in names[:_NAMED])
