"""A small pretrained encoder, all-MiniLM-L6-v2: trained further, and read layer by layer.

In: rows. Out: the answers of a head on the mean of one layer's vectors, where all layers are
frozen, and of the encoder whose upper two layers were trained further. Always holds: the same rows
and seed give the same answers on one machine. The lower layers are frozen in both cases, so a
process reads a text once for all depths and seeds. Reading a sentence costs some 10 ms of a core,
training the upper layers on it as much again for each epoch.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer

from benchmarks.semantic_robustness.beds import Rows
from benchmarks.semantic_robustness.nets import BATCH
from sears_dsl.translation.model_files import find_model

DEPTHS = range(7)  # the embeddings alone, and after each of six layers
_FROZEN = 4
_PIECES, _TOGETHER = 64, 32

Answers = Callable[[Sequence[str]], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts of similar length behind the frozen layers.

    Attributes:
        places: int64 (texts,): their places among all texts.
        pieces: float32 (texts, pieces, 384).
        shown: float32 (texts, pieces): 1, or 0 for padding.
    """

    places: torch.Tensor
    pieces: torch.Tensor
    shown: torch.Tensor


@dataclass(frozen=True, slots=True)
class Reading:
    """Texts as the frozen encoder reads them.

    Attributes:
        means: float32 (texts, 7, 384): the mean over the pieces of each text, after each layer.
        batches: all texts, once.
    """

    means: torch.Tensor
    batches: list[Batch]


class UpperLayers(nn.Module):
    """The layers above the frozen ones, the mean of their output, and a linear layer."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.layers = copy.deepcopy(encoder.encoder.layer[_FROZEN:])
        self.drop, self.output = nn.Dropout(0.1), nn.Linear(encoder.config.hidden_size, 2)
        self.eval()

    def forward(self, batch: Batch) -> torch.Tensor:
        """Logits, float32 (texts, 2)."""
        return self.output(self.drop(self.means(batch)))

    def means(self, batch: Batch) -> torch.Tensor:
        """Means over the pieces of each text after the last layer, float32 (texts, 384)."""
        pieces = batch.pieces
        hidden = (1 - batch.shown)[:, None, None] * torch.finfo(torch.float32).min
        for layer in self.layers:
            pieces = layer(pieces, hidden)
        return _mean(pieces, batch.shown)


def encoder_answers(name: str, rows: Rows, *, seed: int) -> Answers:
    """The answers of ``MiniLM``, trained further, or of a head on ``MiniLM 0`` to ``MiniLM 6``."""
    _, _, depth = name.partition(" ")
    if depth:
        network = head(read(rows.texts).means[:, int(depth)], rows.labels, seed=seed)
    else:
        network = trained_further(read(rows.texts), rows.labels, seed=seed)

    @torch.inference_mode()
    def said(texts: Sequence[str]) -> NDArray[np.int64]:
        reading = read(tuple(texts))
        if depth:
            return network(reading.means[:, int(depth)]).argmax(1).numpy()
        best = torch.empty(len(texts), dtype=torch.int64)
        for batch in reading.batches:
            best[batch.places] = network(batch).argmax(1)
        return best.numpy()

    return said


def head(means: torch.Tensor, labels: Sequence[int], *, seed: int, epochs: int = 20) -> nn.Module:
    """Train two layers on the means of one depth: 256 ReLU and the labels, as the paper does."""
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(means.shape[1], 256), nn.ReLU(), nn.Linear(256, 2))
    adam = torch.optim.Adam(network.parameters())
    gold = torch.tensor(labels)
    for _ in range(epochs):
        for places in torch.randperm(len(gold)).split(BATCH):
            _step(adam, functional.cross_entropy(network(means[places]), gold[places]))
    return network.eval()


def trained_further(
    reading: Reading, labels: Sequence[int], *, seed: int, epochs: int = 2
) -> nn.Module:
    """Train the upper layers by AdamW, while the rate falls from 1e-4 to zero."""
    torch.manual_seed(seed)
    network, gold = UpperLayers(_encoder()[1]), torch.tensor(labels)
    _check(network, reading)
    network.train()
    adam = torch.optim.AdamW(network.parameters(), lr=1e-4)
    falling = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.0, epochs * len(reading.batches))
    for _ in range(epochs):
        for number in torch.randperm(len(reading.batches)).tolist():
            batch = reading.batches[number]
            _step(adam, functional.cross_entropy(network(batch), gold[batch.places]))
            falling.step()
    return network.eval()


@functools.cache
@torch.no_grad()
def read(texts: tuple[str, ...]) -> Reading:
    """Read texts by the frozen encoder, once for all depths and seeds of a process."""
    tokenizer, encoder = _encoder()
    means = torch.empty((len(texts), len(DEPTHS), encoder.config.hidden_size))
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    batches = []
    for places in torch.tensor(order).split(_TOGETHER):
        inputs = tokenizer([texts[place] for place in places], padding=True, truncation=True,
                           max_length=_PIECES, return_tensors="pt")  # fmt: skip
        layers = encoder(**inputs, output_hidden_states=True).hidden_states
        shown = inputs["attention_mask"].float()
        means[places] = torch.stack([_mean(layer, shown) for layer in layers], 1)
        batches.append(Batch(places, layers[_FROZEN], shown))
    return Reading(means, batches)


@functools.cache
def _encoder() -> tuple[Any, Any]:
    """Tokenizer and encoder."""
    files = find_model("minilm")
    if files is None:
        raise SystemExit("semantic_robustness: the sentence encoder is not installed")
    folder = str(files.installed())
    encoder: Any = AutoModel.from_pretrained(folder, local_files_only=True)
    return AutoTokenizer.from_pretrained(folder, local_files_only=True), encoder.eval()


@torch.inference_mode()
def _check(untrained: UpperLayers, reading: Reading) -> None:
    """Check that the untrained upper layers give what the whole encoder gives."""
    batch = reading.batches[-1]
    torch.testing.assert_close(untrained.means(batch), reading.means[batch.places, DEPTHS[-1]])


def _mean(pieces: torch.Tensor, shown: torch.Tensor) -> torch.Tensor:
    """The mean over the pieces of each text."""
    return (pieces * shown[..., None]).sum(1) / shown.sum(1, keepdim=True)


def _step(adam: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    adam.zero_grad()
    loss.backward()
    adam.step()
