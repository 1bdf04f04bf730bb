"""Five small models to find rules for; each learns in a minute or so, in its own way.

In: texts and labels (questions of SQuAD for the reader). Out: an object with ``predict`` that can
be written to a file and read back. `TRAINERS` has them by name: ``linear`` (TF-IDF of words and
pairs, logistic regression), ``fasttext`` (`fasttext_like`), ``cnn`` (its own word vectors,
convolutions of three widths, the maximum of each), ``minilm`` (the sentence encoder that a package
carries, its upper layers trained further), ``reader`` (`small_reader`). Always holds: the same
texts, versions and machine give the same model. Costs at most two minutes on two cores.

For `sears discover` the model is ``benchmarks.quality_models:model``. The environment names its
file (``QUALITY_MODEL``) and the file that counts the texts it was asked about (``QUALITY_ASKED``).
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import joblib
import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from torch import nn
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer

from benchmarks import fasttext_like, small_reader
from sears_dsl.translation.model_files import find_model

__all__ = ["TRAINERS", "Asked", "Model"]

_WORDS = re.compile(r"\w+(?:'\w+)?|[^\w\s]")


class Model(Protocol):
    """Something that labels rows."""

    def predict(self, rows: Any) -> Sequence[str]:
        """A label for each row."""


class Asked:
    """A model that counts the rows it was asked about.

    Args:
        model: the model.
        note: the file for the count, as text.
    """

    def __init__(self, model: Model, note: Path) -> None:
        self._model, self._note, self._rows = model, note, 0

    def predict(self, rows: Sequence[Any]) -> list[str]:
        """The model's answers."""
        self._rows += len(rows)
        self._note.write_text(str(self._rows), "utf-8")
        return [str(answer) for answer in self._model.predict(list(rows))]


def linear(texts: Sequence[str], labels: Sequence[str]) -> Model:
    """TF-IDF of words and pairs, and a logistic regression."""
    model: Model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), min_df=2),
        LogisticRegression(C=10, max_iter=1000),
    ).fit(texts, labels)
    return model


class _Convolutions(nn.Module):
    """Word vectors, convolutions of widths 2, 3 and 4, the maximum of each, one layer."""

    def __init__(self, words: int, labels: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(words, 100, padding_idx=0)
        self.convolutions = nn.ModuleList(nn.Conv1d(100, 64, width) for width in (2, 3, 4))
        self.drop, self.output = nn.Dropout(0.5), nn.Linear(3 * 64, labels)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        vectors = self.drop(self.vectors(words)).transpose(1, 2)
        maxima = [torch.relu(each(vectors)).amax(2) for each in self.convolutions]
        return self.output(self.drop(torch.cat(maxima, 1)))


class CNN:
    """A convolutional network over words, after Kim (2014), with word vectors of its own."""

    _BEHIND = 4  # blanks behind every text, so that padding of a batch changes nothing

    def __init__(self, texts: Sequence[str], labels: Sequence[str], *, epochs: int = 4) -> None:
        counts = Counter(word for text in texts for word in self._words(text))
        self._number = {word: place + 2 for place, word in enumerate(
            sorted(word for word, count in counts.items() if count > 1))}  # fmt: skip
        self._labels = sorted(set(labels))
        torch.manual_seed(0)
        self._network = _Convolutions(len(self._number) + 2, len(self._labels))
        _fit(self._network, self._batch, texts, [self._labels.index(each) for each in labels],
             epochs=epochs, rate=1e-3)  # fmt: skip

    def predict(self, texts: Sequence[str]) -> list[str]:
        """The most probable label of each text."""
        return [self._labels[best] for best in _best(self._network, self._batch, texts)]

    @staticmethod
    def _words(text: str) -> list[str]:
        return _WORDS.findall(text.lower())

    def _batch(self, texts: Sequence[str]) -> torch.Tensor:
        rows = [[self._number.get(word, 1) for word in self._words(text)] for text in texts]
        longest = max(map(len, rows)) + self._BEHIND
        return torch.tensor([row + [0] * (longest - len(row)) for row in rows])


class _Head(nn.Module):
    """The encoder, the mean of its last layer, one linear layer."""

    def __init__(self, encoder: Any, labels: int) -> None:
        super().__init__()
        self.encoder, self.drop = encoder, nn.Dropout(0.1)
        self.output = nn.Linear(encoder.config.hidden_size, labels)

    def forward(self, inputs: Any) -> torch.Tensor:
        pieces = self.encoder(**inputs).last_hidden_state
        shown = inputs["attention_mask"][..., None]
        mean = (pieces * shown).sum(1) / shown.sum(1)
        return self.output(self.drop(mean))


class FineTuned:
    """MiniLM with its upper layers trained further, and a head."""

    def __init__(
        self, texts: Sequence[str], labels: Sequence[str], *, epochs: int = 1, frozen: int = 4,
        seed: int = 0,
    ) -> None:  # fmt: skip
        files = find_model("minilm")
        if files is None:
            raise SystemExit("quality_models: the sentence encoder is not installed")
        folder = str(files.installed())
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._labels = sorted(set(labels))
        torch.manual_seed(seed)
        encoder: Any = AutoModel.from_pretrained(folder, local_files_only=True)
        for part in (encoder.embeddings, *encoder.encoder.layer[:frozen]):
            part.requires_grad_(False)
        self._network = _Head(encoder, len(self._labels))
        _fit(self._network, self._batch, texts, [self._labels.index(each) for each in labels],
             epochs=epochs, rate=1e-4)  # fmt: skip

    def predict(self, texts: Sequence[str]) -> list[str]:
        """The most probable label of each text."""
        return [self._labels[best] for best in _best(self._network, self._batch, texts)]

    def _batch(self, texts: Sequence[str]) -> Any:
        return self._tokenizer(
            list(texts), padding=True, truncation=True, max_length=64, return_tensors="pt"
        )


def _fit(
    network: nn.Module, batch: Callable[[Sequence[str]], Any], texts: Sequence[str],
    gold: Sequence[int], *, epochs: int, rate: float, size: int = 32,
) -> None:  # fmt: skip
    """Train by Adam while the rate falls to zero; texts of similar length go together."""
    learned = [each for each in network.parameters() if each.requires_grad]
    adam = torch.optim.AdamW(learned, lr=rate)
    order = random.Random(0)
    by_length = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    batches = [by_length[first : first + size] for first in range(0, len(texts), size)]
    falling = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.0, epochs * len(batches))
    network.train()
    for _ in range(epochs):
        order.shuffle(batches)
        for places in batches:
            # Use float32: without instructions for bfloat16 that would take twenty times as long.
            logits = network(batch([texts[place] for place in places]))
            loss = functional.cross_entropy(logits, torch.tensor([gold[place] for place in places]))
            adam.zero_grad()
            loss.backward()
            adam.step()
            falling.step()
    network.eval()


@torch.inference_mode()
def _best(
    network: nn.Module, batch: Callable[[Sequence[str]], Any], texts: Sequence[str]
) -> NDArray[np.int64]:
    """The number of the best label of each text; texts of similar length go together."""
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    best = np.zeros(len(texts), np.int64)
    for first in range(0, len(order), 64):
        places = order[first : first + 64]
        best[places] = network(batch([texts[place] for place in places])).argmax(1).numpy()
    return best


def reader(questions: Sequence[small_reader.Question]) -> Model:
    """The span ranker."""
    return small_reader.train(questions)


TRAINERS: dict[str, Callable[..., Model]] = {
    "linear": linear,
    "fasttext": fasttext_like.train,
    "cnn": CNN,
    "minilm": FineTuned,
    "reader": reader,
}


def __getattr__(name: str) -> Any:
    """``model``: the one that the environment names, loaded when it is used."""
    if name != "model":
        raise AttributeError(name)
    return Asked(joblib.load(os.environ["QUALITY_MODEL"]), Path(os.environ["QUALITY_ASKED"]))
