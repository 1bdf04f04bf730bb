"""Four nets of about 40,000 parameters that read 25 word vectors, as in 'The King is Naked'.

In: rows of `beds`. Out: `WordVectors`, learnt once on the training part and then frozen, and nets,
trained by Adam with batches of 256 in 20 epochs. Always holds: the same rows and seed give the same
net on one thread; weights start with Keras' defaults (Glorot; zeros; 1 for the forget gate). For an
epoch of 6,920 sentences a core takes 0.1 s (FC), 0.4 s (CNN), 1.5 s (LSTM), 1.7 s (attention).

The counted parameters are those of the nets, not of the vectors. Torch's LSTM has a second bias,
300 parameters more than the paper's. In its attention 30 units follow and a sigmoid gives the
score, as in the paper's code; the paper's text says 32 and a ReLU.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from benchmarks.semantic_robustness.beds import Rows

WORDS, WIDTH, BATCH, EPOCHS = 25, 50, 256, 20

Loss = Callable[[nn.Module, torch.Tensor, torch.Tensor, float], torch.Tensor]
"""Takes a net, vectors, labels and the progress of training, from 0 to 1."""

_NO_WORD = re.compile(r"[^\w\s]")


def words_of(text: str) -> list[str]:
    """The words of a text: lower case, without punctuation, at most 25.

    Example:
        >>> words_of("It is n't GOOD .")
        ['it', 'is', 'nt', 'good']
    """
    return _NO_WORD.sub("", text.lower()).split()[:WORDS]


class WordVectors:
    """Word vectors, learnt by predicting labels from their mean, and then frozen.

    Padding, and words that occur less than twice in training, have the zero vector.

    Args:
        rows: the training part.
    """

    def __init__(self, rows: Rows) -> None:
        counts = Counter(word for text in rows.texts for word in words_of(text))
        known = sorted(word for word, count in counts.items() if count > 1)
        self._number = {word: place for place, word in enumerate(known, start=1)}
        self.vectors = self._learnt(rows)
        low, high = self.vectors.amin(0), self.vectors.amax(0)
        #: The longest side of the box that contains all vectors.
        self.diameter = float((high - low).max())

    def numbers(self, texts: Sequence[str]) -> torch.Tensor:
        """int64 (texts, 25): the numbers of the words of each text, followed by zeros."""
        padded = torch.zeros((len(texts), WORDS), dtype=torch.int64)
        for row, text in enumerate(texts):
            numbers = [self._number.get(word, 0) for word in words_of(text)]
            padded[row, : len(numbers)] = torch.tensor(numbers, dtype=torch.int64)
        return padded

    def __call__(self, numbers: torch.Tensor) -> torch.Tensor:
        """The vectors, float32 (texts, 25, 50)."""
        return self.vectors[numbers]

    def _learnt(self, rows: Rows) -> torch.Tensor:
        torch.manual_seed(0)
        numbers, labels = self.numbers(rows.texts), torch.tensor(rows.labels)
        table = nn.Embedding(len(self._number) + 1, WIDTH, padding_idx=0)
        nn.init.normal_(table.weight, std=0.1)
        with torch.no_grad():
            table.weight[0] = 0
        head, drop = nn.Linear(WIDTH, 2), nn.Dropout(0.3)
        adam = torch.optim.Adam([*table.parameters(), *head.parameters()], lr=3e-3)
        for _ in range(10):
            for places in torch.randperm(len(rows)).split(BATCH):
                some = numbers[places]
                mean = table(some).sum(1) / (some > 0).sum(1, keepdim=True).clamp(min=1)
                loss = functional.cross_entropy(head(drop(mean)), labels[places])
                adam.zero_grad()
                loss.backward()
                adam.step()
        return table.weight.detach()


class Turned(nn.Module):
    """Turns word vectors into channels: (texts, words, width) to (texts, width, words)."""

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Swap the last two dimensions."""
        return vectors.transpose(1, 2)


class LastState(nn.Module):
    """The state of an LSTM after the last of the 25 places, padding included."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(WIDTH, 75, batch_first=True)

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """The states, float32 (texts, 75)."""
        return self.lstm(vectors)[0][:, -1]


class SelfAttention(nn.Module):
    """Additive self-attention: each place is a mean of all words, weighted by both words."""

    def __init__(self) -> None:
        super().__init__()
        self.reading = nn.Linear(WIDTH, 32, bias=False)
        self.read, self.score = nn.Linear(WIDTH, 32), nn.Linear(32, 1)

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """The means, float32 (texts, 25, 50)."""
        # A few texts of similar length at a time: all pairs of places would not fit the cache.
        ends = ((vectors != 0).any(-1) * torch.arange(1, WORDS + 1)).amax(1)
        order = ends.argsort()
        means = [self._of_some(vectors[some], int(ends[some[-1]])) for some in order.split(32)]
        return torch.cat(means)[order.argsort()]

    def _of_some(self, vectors: torch.Tensor, end: int) -> torch.Tensor:
        """Attend in texts that have no word from `end` on; those places are all alike."""
        asking, words = vectors[:, : end + 1], vectors[:, :end]
        pairs = torch.tanh(self.reading(asking)[:, :, None] + self.read(words)[:, None])
        scores = torch.sigmoid(self.score(pairs).squeeze(-1))
        padding = (words == 0).all(-1)[:, None]
        means = scores.masked_fill(padding, -1e4).softmax(-1) @ words
        behind = means[:, -1:].expand(-1, WORDS - means.shape[1], -1)
        return torch.cat([means, behind], 1)


def fully_connected() -> nn.Sequential:
    """FC: 41,154 parameters."""
    return nn.Sequential(nn.Flatten(), nn.Linear(WORDS * WIDTH, 32), nn.ReLU(), *_head(32, 32))


def convolutional() -> nn.Sequential:
    """CNN: 39,126 parameters."""
    return nn.Sequential(
        Turned(), nn.Conv1d(WIDTH, 44, 3), nn.ReLU(), nn.Flatten(), *_head(44 * (WORDS - 2), 32)
    )


def recurrent() -> nn.Sequential:
    """LSTM: 40,598 parameters."""
    return nn.Sequential(LastState(), *_head(75, 32))


def attentive() -> nn.Sequential:
    """Self-attention: 40,857 parameters."""
    return nn.Sequential(SelfAttention(), nn.Flatten(), *_head(WORDS * WIDTH, 30))


def _head(width: int, hidden: int) -> tuple[nn.Module, ...]:
    return nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, 2)


NETS: dict[str, Callable[[], nn.Sequential]] = {
    "FC": fully_connected,
    "CNN": convolutional,
    "LSTM": recurrent,
    "attention": attentive,
}


def plain_loss(
    network: nn.Module, vectors: torch.Tensor, labels: torch.Tensor, done: float
) -> torch.Tensor:
    """Cross-entropy."""
    return functional.cross_entropy(network(vectors), labels)


def trained(
    net: str, rows: Rows, vectors: WordVectors, *, seed: int, loss: Loss = plain_loss
) -> nn.Sequential:
    """One of `NETS`, trained."""
    torch.manual_seed(seed)
    network = NETS[net]()
    _begin(network)
    numbers, labels = vectors.numbers(rows.texts), torch.tensor(rows.labels)
    adam = torch.optim.Adam(network.parameters())
    for epoch in range(EPOCHS):
        batches = torch.randperm(len(rows)).split(BATCH)
        for step, places in enumerate(batches):
            done = (epoch + step / len(batches)) / EPOCHS
            wrong = loss(network, vectors(numbers[places]), labels[places], done)
            adam.zero_grad()
            wrong.backward()
            adam.step()
    return network.eval()


@torch.inference_mode()
def answers(network: nn.Module, texts: Sequence[str], vectors: WordVectors) -> NDArray[np.int64]:
    """The answer to each text, 0 or 1."""
    parts = vectors.numbers(texts).split(BATCH)
    return torch.cat([network(vectors(part)).argmax(1) for part in parts]).numpy()


def parameters(network: nn.Module) -> int:
    """How many weights are learnt."""
    return sum(each.numel() for each in network.parameters())


@torch.inference_mode()
def weights(network: nn.Module) -> tuple[float, float]:
    """The mean of all weights, which the paper calls their norm, and their Euclidean norm."""
    flat = torch.cat([each.flatten() for each in network.parameters()])
    return float(flat.mean()), float(flat.norm())


def _begin(network: nn.Module) -> None:
    """Set the initial weights of Keras."""
    for name, each in network.named_parameters():
        if each.dim() == 1:
            nn.init.zeros_(each)
            if "bias_ih" in name:
                with torch.no_grad():
                    each[75:150] = 1.0  # the forget gate
        elif "weight_hh" in name or "weight_ih" in name:
            for gate in each.chunk(4):
                (nn.init.orthogonal_ if "weight_hh" in name else nn.init.xavier_uniform_)(gate)
        else:
            nn.init.xavier_uniform_(each)
