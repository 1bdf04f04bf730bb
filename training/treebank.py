"""Gold tags from a treebank in CoNLL-U.

In: a file of the Universal Dependencies. Out: its sentences as words with fine and coarse tags;
each has the genre with which its identifier begins. Costs a second for 250,000 words.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sears_dsl.errors import DataError
from sears_dsl.tagging.fast.fast_tagger import Perceptron
from sears_dsl.tagging.fast.vocabulary import Words

_COLUMNS = 10


class Sentence(NamedTuple):
    """The words of a sentence with their tags."""

    words: tuple[str, ...]  # the tokens
    fine: tuple[str, ...]  # their Penn tags; for words as they are written, their universal tags
    coarse: tuple[str, ...]  # their universal tags
    genre: str = ""  # the kind of text it is from


def read_treebank(path: Path, *, as_written: bool = False) -> list[Sentence]:
    """The sentences of a file of CoNLL-U, in order.

    If ``as_written``, a written word counts as one, such as Portuguese *no*, which is *em* and *o*.
    Its fine tag joins those of its words with hyphens, its coarse tag is that of the first.
    Otherwise its words are separate, as English tokenizers keep *do* *n't*.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} could not be read: {error}") from error
    sentences = []
    for block in text.split("\n\n"):
        rows: list[tuple[str, str, str]] = []
        last = 0  # the last number of a word that covers several
        genre = ""
        for line in block.splitlines():
            if line.startswith("# sent_id = "):
                genre = line.removeprefix("# sent_id = ").split("-")[0]
            elif line and not line.startswith("#"):
                columns = line.split("\t")
                if len(columns) != _COLUMNS:
                    raise DataError(
                        f"{path}: a line has {len(columns)} columns: {line[:60]!r}",
                        help="CoNLL-U has 10, with tabs between them",
                    )
                first, dash, end = columns[0].partition("-")
                # A range (3-4) is a word as it is written; 3.1 is not written.
                if dash and as_written:
                    rows.append((columns[1], "", ""))
                    last = int(end)
                elif first.isdecimal() and not dash:
                    word, coarse, fine = columns[1], columns[3], columns[4]
                    if int(first) > last:
                        rows.append((word, coarse if as_written else fine, coarse))
                    else:
                        word, fine, kind = rows[-1]
                        rows[-1] = (word, f"{fine}-{coarse}".strip("-"), kind or coarse)
        if rows:
            words, fines, kinds = (tuple(column) for column in zip(*rows, strict=True))
            sentences.append(Sentence(words, fines, kinds, genre))
    return sentences


def in_rows(
    sentences: Sequence[Sentence], generator: random.Random
) -> Iterator[Sequence[Sentence]]:
    """One to three consecutive sentences at a time, like rows in use."""
    first = 0
    while first < len(sentences):
        row = sentences[first : first + generator.choice((1, 1, 2, 3))]
        yield row
        first += len(row)


def tag_words(
    tagger: Perceptron, rows: Sequence[Sequence[str]]
) -> list[tuple[list[str], list[str]]]:
    """The names of the fine and coarse tags of rows of words, for a few rows at a time."""
    words = Words()
    numbers = np.array(words.numbers([word for row in rows for word in row]), np.int32)
    row_offsets = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    fine, coarse = tagger.tag(row_offsets, numbers, words)
    return [
        (
            [tagger.fine[tag] for tag in fine[start:end].tolist()],
            [tagger.coarse[tag] for tag in coarse[start:end].tolist()],
        )
        for start, end in pairwise(row_offsets.tolist())
    ]
