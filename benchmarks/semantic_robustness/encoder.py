"""A small pretrained encoder, all-MiniLM-L6-v2: trained further, and read layer by layer.

In: rows. Out: what a head says that stands on the mean of one layer's vectors, all layers frozen;
and the model of `quality_models.FineTuned`, its upper two layers trained. Always holds: the same
rows and seed give the same answers on one machine. Reading a sentence costs some 10 ms of a core,
once for all seven depths.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer

from benchmarks.quality_models import FineTuned
from benchmarks.semantic_robustness.beds import Rows
from benchmarks.semantic_robustness.nets import BATCH
from sears_dsl.translation.model_files import known

DEPTHS = range(7)  # the embeddings alone, and after each of six layers
_PIECES = 64

Answers = Callable[[Sequence[str]], NDArray[np.int64]]


def encoder_answers(name: str, rows: Rows, *, seed: int) -> Answers:
    """What ``MiniLM``, trained further, or a head on ``MiniLM 0`` to ``MiniLM 6`` says of texts."""
    _, _, depth = name.partition(" ")
    if not depth:
        further = FineTuned(rows.texts, list(map(str, rows.labels)), epochs=2, seed=seed)
        return lambda texts: np.array(list(map(int, further.predict(texts))))
    network = head(_read(rows.texts)[:, int(depth)], rows.labels, seed=seed)

    def said(texts: Sequence[str]) -> NDArray[np.int64]:
        with torch.inference_mode():
            return network(_read(tuple(texts))[:, int(depth)]).argmax(1).numpy()

    return said


@functools.cache
def _read(texts: tuple[str, ...]) -> torch.Tensor:
    """`layer_means`, once for all depths and seeds of a process."""
    return layer_means(texts)


@torch.inference_mode()
def layer_means(texts: Sequence[str]) -> torch.Tensor:
    """float32 (texts, 7, 384): the mean over the pieces of each text, after each layer."""
    files = known("minilm")
    if files is None:
        raise SystemExit("semantic_robustness: the sentence encoder is not installed")
    folder = str(files.installed())
    tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    encoder: Any = AutoModel.from_pretrained(folder, local_files_only=True)
    found = torch.empty((len(texts), len(DEPTHS), encoder.config.hidden_size))
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    for first in range(0, len(order), 64):
        places = order[first : first + 64]
        inputs = tokenizer([texts[place] for place in places], padding=True, truncation=True,
                           max_length=_PIECES, return_tensors="pt")  # fmt: skip
        layers = torch.stack(encoder(**inputs, output_hidden_states=True).hidden_states, 1)
        shown = inputs["attention_mask"][:, None, :, None]
        found[places] = (layers * shown).sum(2) / shown.sum(2)
    return found


def head(means: torch.Tensor, labels: Sequence[int], *, seed: int, epochs: int = 20) -> nn.Module:
    """Two layers over the means of one depth: 256 ReLU and the labels, as the paper's."""
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(means.shape[1], 256), nn.ReLU(), nn.Linear(256, 2))
    adam = torch.optim.Adam(network.parameters())
    gold = torch.tensor(labels)
    for _ in range(epochs):
        for places in torch.randperm(len(gold)).split(BATCH):
            loss = functional.cross_entropy(network(means[places]), gold[places])
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
    return network.eval()
