"""Sentences of public data for benchmarks that need many: film reviews, questions and novels."""

from __future__ import annotations

import json

from benchmarks.record import data_file

ROWS = 2_000
"""How many of each kind, by default."""


def sentences(*, books: int = ROWS) -> list[str]:
    """Film-review sentences, questions, and ``books`` book sentences; each once."""
    imdb = data_file("sentiment/imdb.tsv").read_text("utf-8").splitlines()
    novels = data_file("throughput/classic_books.txt").read_text("utf-8").splitlines()
    squad = json.loads(data_file("squad/dev-v1.1.json").read_text("utf-8"))
    questions = [
        qa["question"]
        for article in squad["data"]
        for paragraph in article["paragraphs"]
        for qa in paragraph["qas"]
    ]
    texts = [line.split("\t", 1)[1] for line in imdb[:ROWS] if "\t" in line]
    texts += questions[:ROWS] + novels[1000 : 1000 + books]
    # White space is a token for spaCy but not for us, so rows with odd spacing would differ.
    return [text for text in dict.fromkeys(" ".join(t.split()) for t in texts) if text]
