"""Taggers on given words, which `Tagger.tag` cannot do, since it cuts texts itself.

In: sentences as words with their places. Out: a (coarse, fine) pair for each word. Always holds:
the tagger works as in the package (same model, same components), except for the tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import spacy
from spacy.tokens import Doc

from sears_dsl.errors import TaggerError
from sears_dsl.tagging.fast.fast_tagger import Perceptron
from sears_dsl.tagging.fast.weights import load
from sears_dsl.tagging.spacy_tagger import SpacyTagger
from sears_dsl.tagging.tokens import Token
from training.treebank import tag_words

__all__ = ["GivenFast", "GivenTagger", "given_tagger", "mapped_coarse"]

Words = Sequence[Sequence[Token]]
Pairs = list[list[tuple[str, str]]]


class GivenTagger(Protocol):
    """Tags words."""

    def tags(self, rows: Words) -> Pairs:
        """The (coarse, fine) tags of each word of each row."""


class GivenSpacy:
    """spaCy's small English model on given words."""

    def tags(self, rows: Words) -> Pairs:
        """The (coarse, fine) tags of each word of each row."""
        nlp = _model()
        docs = nlp.pipe(_doc(nlp, row) for row in rows)
        return [[(word.pos_, word.tag_) for word in doc] for doc in docs]


@cache
def _model() -> Any:
    return spacy.load(SpacyTagger().model, exclude=["parser", "ner", "lemmatizer"])


def _doc(nlp: Any, row: Sequence[Token], **tags: Any) -> Doc:
    ends = [word.end for word in row]
    starts = [word.start for word in row[1:]]
    spaces = [end < start for end, start in zip(ends, [*starts, ends[-1]], strict=True)]
    return Doc(nlp.vocab, words=[word.text for word in row], spaces=spaces, **tags)


def mapped_coarse(rows: Words) -> list[list[str]]:
    """The coarse tags that spaCy's small model makes from words and fine tags."""
    nlp = _model()
    ruler = nlp.get_pipe("attribute_ruler")
    docs = (ruler(_doc(nlp, row, tags=[word.fine for word in row])) for row in rows)
    return [[word.pos_ for word in doc] for doc in docs]


class GivenFast:
    """The perceptron on given words, with the shipped weights or with others."""

    def __init__(self, weights: Path | None = None) -> None:
        self.perceptron = Perceptron(load(weights))

    def tags(self, rows: Words) -> Pairs:
        """The (coarse, fine) tags of each word of each row."""
        tagged = tag_words(self.perceptron, [[word.text for word in row] for row in rows])
        return [list(zip(coarse, fine, strict=True)) for fine, coarse in tagged]


def given_tagger(name: str) -> GivenTagger:
    """The tagger of this name."""
    if name == "spacy":
        return GivenSpacy()
    if name == "fast":
        return GivenFast()
    raise TaggerError(f"the tagger {name!r} cannot tag given words")
