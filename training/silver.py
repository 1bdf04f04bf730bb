"""Sentences of many kinds, tagged by spaCy's small English model: silver beside a treebank's gold.

In: files of plain books (a sentence a line), SQuAD questions with their paragraphs, and the review
sentences that `demo.reviews` fetches. Out: rows of words with fine tags. Always holds: the same
files and seed give the same rows. Tags that are certainly wrong are left out: a word without
letters or digits is no example of a noun, verb or adjective. Costs a minute for a million tokens,
nearly all of it in the model.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

from demo.reviews import read_sentences
from sears_dsl.runtime.files import write_atomically
from sears_dsl.tagging.tagger import Tagger
from training.texts import read_books, read_squad

_ROWS_AT_A_TIME = 2000
_OF_WORDS = frozenset(
    {"CC", "DT", "IN", "JJ", "JJR", "JJS", "MD", "NN", "NNP", "NNPS", "NNS", "PRP", "RB", "VB"}
    | {"VBD", "VBG", "VBN", "VBP", "VBZ"}
)


class SilverSizes(NamedTuple):
    """How many rows are drawn from each kind of text; all paragraphs and reviews are used."""

    books: int = 70_000
    questions: int = 30_000


class Silver(NamedTuple):
    """A row that a model tagged; an empty tag is not learned from."""

    words: list[str]
    fine: list[str]


def read_texts(
    *, books: Path, reviews: Path, squad: Path, sizes: SilverSizes, seed: int
) -> dict[str, list[str]]:
    """The texts to tag, by kind."""
    generator = random.Random(seed)
    lines, (paragraphs, questions) = read_books(books), read_squad(squad)
    return {
        "books": generator.sample(lines, min(sizes.books, len(lines))),
        "paragraphs": paragraphs,
        "questions": generator.sample(questions, min(sizes.questions, len(questions))),
        "reviews": read_sentences(reviews),
    }


def tagged(
    texts: dict[str, list[str]], tagger: Tagger, *, file: Path | None = None
) -> dict[str, list[Silver]]:
    """The tagged rows of each kind; read from ``file`` if it has them, else written to it."""
    about = {"tagger": [tagger.name, tagger.version], "texts": _digest(texts)}
    if file is not None and file.exists():
        first, *lines = file.read_text("utf-8").splitlines()
        if json.loads(first) == about:
            saved_rows: dict[str, list[Silver]] = {kind: [] for kind in texts}
            for line in lines:
                kind, words, fine = json.loads(line)
                saved_rows[kind].append(Silver(words, fine))
            return saved_rows
    rows = {kind: list(tag_texts(some, tagger)) for kind, some in texts.items()}
    if file is not None:
        lines = [json.dumps(about)]
        lines += [json.dumps([kind, *row]) for kind, some in rows.items() for row in some]
        write_atomically(file, ("\n".join(lines) + "\n").encode())
    return rows


def _digest(texts: dict[str, list[str]]) -> str:
    return hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()


def tag_texts(texts: Sequence[str], tagger: Tagger) -> Iterator[Silver]:
    """The words and fine tags of each text that has words."""
    todo = iter(texts)
    while some := list(islice(todo, _ROWS_AT_A_TIME)):
        tokens = tagger.tag(some)
        words = tokens.types.texts()
        fine = [_believed(kind.text, kind.fine) for kind in tokens.types]
        ids = tokens.type_ids.tolist()
        for start, end in pairwise(tokens.row_offsets.tolist()):
            if end > start:
                row = ids[start:end]
                yield Silver([words[kind] for kind in row], [fine[kind] for kind in row])


def _believed(word: str, tag: str) -> str:
    """The tag, or nothing where it must be wrong."""
    wordless = not any(character.isalnum() for character in word)
    return "" if tag in _OF_WORDS and wordless and word not in "&+" else tag
