"""The plain texts that several trainings read: books, and SQuAD's paragraphs with their questions.

Always holds: the last tenth of the books is left out, since tests and benchmarks measure on it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

_BOOKS_READ = 0.9


class SquadTexts(NamedTuple):
    """The texts of SQuAD."""

    paragraphs: list[str]
    questions: list[str]


def read_books(path: Path) -> list[str]:
    """The lines of the books that hold text."""
    lines = path.read_text("utf-8").splitlines()
    return [line for line in lines[: int(len(lines) * _BOOKS_READ)] if line.strip()]


def read_squad(path: Path) -> SquadTexts:
    """The texts of a file of SQuAD 1.1, in its order."""
    articles = json.loads(path.read_text("utf-8"))["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    return SquadTexts(
        [paragraph["context"] for paragraph in paragraphs],
        [asked["question"] for paragraph in paragraphs for asked in paragraph["qas"]],
    )


def split_sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph, by their marks alone."""
    return re.split(r"(?<=[.?!])\s+", paragraph)
