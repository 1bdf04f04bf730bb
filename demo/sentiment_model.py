"""A small sentiment model of a real library, to look for the failures of.

In: texts and labels. Out: a scikit-learn pipeline: words and pairs of words weighted by how rare
they are, under a logistic regression. Always holds: the same texts give the same model. Trains on
ten thousand sentences in about two seconds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

# Words with clitics apart, and punctuation: all of them tell moods.
_TOKENS = re.compile(r"\w+|'\w+|[^\w\s]").findall

__all__ = ["SentimentModel", "train"]


class SentimentModel(Protocol):
    """What training gives."""

    def predict(self, texts: Sequence[str]) -> NDArray[np.str_]:
        """A label for each text."""


def train(texts: Sequence[str], labels: Sequence[str]) -> SentimentModel:
    """A model of these sentences.

    Example:
        >>> model = train(["a good film", "a bad film"], ["positive", "negative"])
        >>> model.predict(["bad, bad, bad"]).tolist()
        ['negative']
    """
    model = make_pipeline(
        TfidfVectorizer(
            ngram_range=(1, 2), sublinear_tf=True, tokenizer=_TOKENS, token_pattern=None
        ),
        LogisticRegression(C=8.0, max_iter=200, random_state=0),
    )
    model.fit(list(texts), list(labels))
    trained: SentimentModel = model
    return trained
