"""A small sentiment model from a real library, whose failures the demos look for.

In: texts and labels. Out: a scikit-learn pipeline: words and pairs of words, weighted by how rare
they are, and a logistic regression. Always holds: the same texts give the same model. Training on
ten thousand sentences takes about two seconds.
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

# Words with separate clitics, and punctuation: all of them reveal moods.
_TOKENS = re.compile(r"\w+|'\w+|[^\w\s]").findall

__all__ = ["SentimentModel", "train"]


class SentimentModel(Protocol):
    """The result of training."""

    def predict(self, texts: Sequence[str]) -> NDArray[np.str_]:
        """A label for each text."""


def train(texts: Sequence[str], labels: Sequence[str]) -> SentimentModel:
    """Train a model on these sentences.

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
