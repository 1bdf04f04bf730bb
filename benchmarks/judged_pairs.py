"""Pairs with judgements: public sets of human ones, and substitutions made for the purpose.

Human judgements: pairs that differ by 1 to 4 words (edit distance over words), like rewrites by
rules. A pair of STS-B counts as equivalent from grade 4 on (`Judged.equivalent`), and strictly from
4.5 (`Judged.strictly`); in SICK an entailment counts. PAWS is cut into two halves by a hash. Of
MRPC's training part 25 pairs differ by 1 to 4 words, and people call all of them the same.

Substitutions (``substitutions.tsv``) replace a word by a word, and say what that does to the
meaning. They are put into sentences of public-domain books and of Wikipedia (for fitting) and of
IMDB reviews (for a check with other words in another kind of text). The label belongs to the
substitution; nobody judged each sentence.
"""

from __future__ import annotations

import csv
import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.record import ROOT, data_file

__all__ = [
    "FITTED",
    "MADE",
    "REPORTED",
    "Judged",
    "load_set",
    "reviews",
    "substitutions",
    "word_edits",
]

Pair = tuple[str, str]
Row = tuple[str, str, float]

_SEED = 7
_PER_SUBSTITUTION = 6


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A set of pairs.

    Attributes:
        name: the name of the set.
        terms: its terms of use.
        pairs: (original, rewrite).
        equivalent: for each pair, whether it counts as equivalent.
        strictly: the same, but where a set has grades only for fully equivalent pairs.
    """

    name: str
    terms: str
    pairs: list[Pair]
    equivalent: NDArray[np.bool_]
    strictly: NDArray[np.bool_]

    @property
    def digest(self) -> str:
        """SHA-256 of the pairs and strict labels."""
        digest = hashlib.sha256()
        for pair, label in zip(self.pairs, self.strictly.tolist(), strict=True):
            digest.update(repr((*pair, label)).encode())
        return digest.hexdigest()


def load_set(name: str, *, pairs: int) -> Judged:
    """A set by name, as a seeded sample of ``pairs`` pairs.

    The name may end in `FURTHER` or `SOMEWHAT`, for pairs that differ by more words.
    """
    if name == MADE:
        rows = [
            (old, new, float(meaning == "kept"))
            for texts in (_books(), _wikipedia())
            for meaning, _, old, new in substitutions("fit", texts)
        ]
        return _judged(name, "made here, on public-domain and CC BY-SA sentences", rows, 1, 1)
    name_of_set = name.partition(", ")[0]
    terms, read, grade, strict = _SETS[name_of_set]
    edits, most = _EDITS[name.removeprefix(name_of_set)]
    rows = [row for row in read() if word_edits(row[0], row[1], most=most) in edits]
    random.Random(_SEED).shuffle(rows)
    return _judged(name, terms, rows[:pairs], grade, strict)


def substitutions(use: str, texts: list[str]) -> list[tuple[str, str, str, str]]:
    """(meaning, substitution, sentence, rewrite) for some sentences of each substitution."""
    texts = [text.replace("\u2019", "'") for text in texts if 4 <= len(text.split()) <= 25]
    random.Random(_SEED).shuffle(texts)
    texts = texts[:60_000]
    rows: list[tuple[str, str, str, str]] = []
    with (ROOT / "benchmarks" / "substitutions.tsv").open(encoding="utf-8") as file_:
        for row in csv.DictReader(file_, delimiter="\t"):
            if row["use"] != use:
                continue
            old, new = row["old"], row["new"]
            pattern = re.compile(rf"(?<![\w']){re.escape(old)}(?![\w'])")
            fitting = (text for text in texts if pattern.search(text))
            rows.extend(
                (row["meaning"], f"{old} → {new}", text, pattern.sub(new, text, count=1))
                for text, _ in zip(fitting, range(_PER_SUBSTITUTION), strict=False)
            )
    return rows


def reviews() -> list[str]:
    """Sentences of IMDB reviews."""
    lines = data_file("sentiment/imdb.tsv").read_text("utf-8").splitlines()
    return [line.split("\t")[-1].strip() for line in lines]


def word_edits(one: str, other: str, *, most: int) -> int:
    """Edit distance over words and punctuation, ignoring case; at most ``most`` + 1."""
    left, right = (re.findall(r"\w+|[^\w\s]", text.lower()) for text in (one, other))
    if abs(len(left) - len(right)) > most:
        return most + 1
    row = list(range(len(right) + 1))
    for line, word in enumerate(left, start=1):
        diagonal, row[0] = row[0], line
        for column, against in enumerate(right, start=1):
            diagonal, row[column] = (
                row[column],
                min(row[column] + 1, row[column - 1] + 1, diagonal + (word != against)),
            )
    return min(row[-1], most + 1)


def _books() -> list[str]:
    return data_file("throughput/classic_books.txt").read_text("utf-8").splitlines()


def _wikipedia() -> list[str]:
    articles = json.loads(data_file("squad/dev-v1.1.json").read_text("utf-8"))["data"]
    paragraphs = [each["context"] for article in articles for each in article["paragraphs"]]
    return [text for each in paragraphs for text in re.split(r"(?<=[.?!])\s+", each)]


def _judged(name: str, terms: str, rows: list[Row], grade: float, strict: float) -> Judged:
    grades = np.array([row[2] for row in rows])
    pairs = [(row[0], row[1]) for row in rows]
    return Judged(name, terms, pairs, grades >= grade, grades >= strict)


def _tab_separated(file: str, columns: tuple[int, int, int], *, header: bool) -> Iterator[Row]:
    lines = data_file(f"paraphrase/{file}").read_text("utf-8-sig").split("\n")
    for line in lines[header:]:
        cells = line.rstrip("\r").split("\t")
        if len(cells) > max(columns):
            one, other, label = (cells[column] for column in columns)
            yield one, other, float(label == "ENTAILMENT" if label.isalpha() else label)


def _sts(part: str) -> Iterator[Row]:
    with data_file(f"paraphrase/stsb_en_{part}.csv").open(encoding="utf-8", newline="") as file:
        for one, other, grade in csv.reader(file):
            yield one, other, float(grade)


def _paws(half: int) -> Iterator[Row]:
    for row in _tab_separated("paws_wiki_dev.tsv", (1, 2, 3), header=False):
        if hashlib.sha256("\t".join(row[:2]).encode()).digest()[0] % 2 == half:
            yield row


_Reader = Callable[[], Iterator[Row]]
# Name → terms, reader, the grade that counts as equivalent, and as strictly equivalent.
_SETS: dict[str, tuple[str, _Reader, float, float]] = {
    "STS-B train": ("CC BY-SA", lambda: _sts("train"), 4, 4.5),
    "PAWS half 0": ("free, credit Google", lambda: _paws(0), 1, 1),
    "STS-B dev": ("CC BY-SA", lambda: _sts("dev"), 4, 4.5),
    "PAWS half 1": ("free, credit Google", lambda: _paws(1), 1, 1),
    "QQP": (
        "research only",
        lambda: _tab_separated("qqp_dev.tsv", (1, 2, 0), header=False),
        1,
        1,
    ),
    "SICK trial": (
        "non-commercial",
        lambda: _tab_separated("sick_trial.txt", (1, 2, 4), header=True),
        1,
        1,
    ),
    "SICK train": (
        "non-commercial",
        lambda: _tab_separated("sick_train.txt", (1, 2, 4), header=True),
        1,
        1,
    ),
    "MRPC train": (
        "research only",
        lambda: _tab_separated("msr_paraphrase_train.txt", (3, 4, 0), header=True),
        1,
        1,
    ),
}
#: Endings of the name of a set: its pairs that differ by more than 4 words, and by 5 to 8.
FURTHER, SOMEWHAT = ", further", ", 5 to 8 words"
# Ending → by how many words pairs differ, and how far is counted; one more means any more.
_EDITS = {"": (range(1, 5), 4), FURTHER: (range(5, 6), 4), SOMEWHAT: (range(5, 9), 8)}
#: The set that was made for the purpose.
MADE = "substitutions"
#: The sets that the shipped numbers are fitted on.
FITTED = ("STS-B train", "PAWS half 0", MADE)
#: The sets that show how good they are. STS-B dev and PAWS half 1 come from the same collections as
#: fitted sets; nothing was fitted on QQP, SICK or MRPC.
REPORTED = ("STS-B dev", "PAWS half 1", "QQP", "SICK trial", "SICK train")
