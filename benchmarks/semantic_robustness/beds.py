"""What the nets learn from and are asked: SST-2, two halves of templates, judged sentences.

In: the public data and the shipped templates. Out: `Rows`, texts with 0 (negative) or 1 (positive),
and `Bed`s, rows by template or source. Always holds: twins (two templates of one frame with
opposite labels) are in the same half, and the two templates that the paper prints for a phenomenon
count as twins; training is augmented from the half that is not asked about; SST-2's training part
contains no judged sentence. Costs a second.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import sears_dsl
from benchmarks.record import data_file

PHENOMENA = ("negation", "mixed", "sarcasm")

# The judged sentences' names for the phenomena; their labels go from 0 to 4, where 2 is neither.
_JUDGED = {"negation": ("negated",), "mixed": ("mixed",), "sarcasm": ("sarcasm", "irony")}


@dataclass(frozen=True, slots=True)
class Rows:
    """Texts with their labels, 0 or 1."""

    texts: tuple[str, ...]
    labels: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def with_more(self, more: Rows) -> Rows:
        """These rows, followed by others."""
        return Rows(self.texts + more.texts, self.labels + more.labels)


@dataclass(frozen=True, slots=True)
class Bed:
    """Sentences of one phenomenon, template by template.

    Attributes:
        phenomenon: one of `PHENOMENA`.
        templates: template → its sentences.
    """

    phenomenon: str
    templates: dict[str, Rows]


_TRAINING, _TEST = "sst2/stsa.binary.train", "sst2/stsa.binary.dev"
_PHRASES, _SEEN_BY_PEOPLE = "sst2/glue_train_phrases.tsv", "sst2/sentiment-not-solved-sst.txt"


def require_data(*, phrases: bool) -> None:
    """Stop here if a file is missing: workers that stop leave their pool waiting for ever."""
    for name in (_TRAINING, _TEST, _SEEN_BY_PEOPLE, *([_PHRASES] if phrases else [])):
        data_file(name)


@cache
def training_sentences() -> Rows:
    """SST-2's training sentences."""
    return _labelled_lines(_TRAINING)


@cache
def test_sentences() -> Rows:
    """SST-2's development sentences, on which nothing here was chosen; the test part is missing."""
    return _labelled_lines(_TEST)


@cache
def training_phrases() -> Rows:
    """Phrases of SST-2's training sentences."""
    with data_file(_PHRASES).open(encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file][1:]
    return Rows(tuple(text.strip() for text, _ in lines), tuple(int(label) for _, label in lines))


@cache
def judged_sentences(phenomenon: str) -> Rows:
    """Sentences of SST in which people saw the phenomenon (Barnes et al. 2019)."""
    rows = []
    with data_file(_SEEN_BY_PEOPLE).open(encoding="utf-8") as file:
        for line in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            _, _, _, label, text, kinds = line
            if any(name in kinds for name in _JUDGED[phenomenon]) and label != "2":
                rows.append((text, int(int(label) > 2)))
    return Rows(tuple(text for text, _ in rows), tuple(label for _, label in rows))


@cache
def template_halves(phenomenon: str) -> tuple[Bed, Bed]:
    """The templates of a phenomenon: the half to train on, and the other half with the paper's."""
    own = sears_dsl.generate(f"phenomena/{phenomenon}").columns
    printed = sears_dsl.generate("paper/semantic-robustness").columns
    templates = _by_template(own)
    names = list(templates)
    of_paper = {
        name: rows for name, rows in _by_template(printed).items() if name.startswith(phenomenon)
    }
    twins = [names[first : first + 2] for first in range(0, len(names), 2)]
    first = {name: templates[name] for pair in twins[::2] for name in pair}
    second = {name: templates[name] for pair in twins[1::2] for name in pair}
    return Bed(phenomenon, first), Bed(phenomenon, second | of_paper)


def augmenting(bed: Bed, rows: int) -> Rows:
    """``rows`` rows of a bed: templates take turns, and their sentences repeat."""
    templates = list(bed.templates.values())
    texts, labels = [], []
    for number in range(rows):
        turn, which = divmod(number, len(templates))
        chosen = templates[which]
        texts.append(chosen.texts[turn % len(chosen)])
        labels.append(chosen.labels[turn % len(chosen)])
    return Rows(tuple(texts), tuple(labels))


def constant_answer(beds: Sequence[Rows]) -> tuple[float, float]:
    """The score of the better constant answer: over all rows, and as a mean over parts.

    Example:
        >>> constant_answer([Rows(("a", "b", "c"), (0, 0, 0)), Rows(("d",), (1,))])
        (0.75, 0.5)
    """
    positive = [sum(rows.labels) / len(rows) for rows in beds]
    pooled = sum(sum(rows.labels) for rows in beds) / sum(map(len, beds))
    mean = sum(positive) / len(positive)
    return max(pooled, 1 - pooled), max(mean, 1 - mean)


def _labelled_lines(name: str) -> Rows:
    with data_file(name).open(encoding="utf-8") as file:
        lines = [line.rstrip("\n").split(" ", 1) for line in file]
    return Rows(tuple(text for _, text in lines), tuple(int(label) for label, _ in lines))


def _by_template(columns: Mapping[str, Sequence[str]]) -> dict[str, Rows]:
    by_template: dict[str, list[tuple[str, int]]] = {}
    for name, text, label in zip(
        columns["template"], columns["text"], columns["label"], strict=True
    ):
        by_template.setdefault(name, []).append((text, int(label == "positive")))
    return {
        name: Rows(tuple(text for text, _ in rows), tuple(label for _, label in rows))
        for name, rows in by_template.items()
    }
