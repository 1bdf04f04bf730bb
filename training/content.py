"""Learns `sears_dsl.judge.evidence.Content` from judged changes and from phrases without context.

In: what the encoder sees of changes, and the share of readers who accept each. Out: the arrays.
Always holds: the same examples and seed give the same arrays (to rounding). Costs a minute and a
half of one core for some fifty thousand changes.

1. The linear part is fitted by logistic regression: once for changes that replace content words and
once for all others, since people ask more of a substitute than of a lost article. 2. Several
networks read the vectors as well, and their mean counts. They start from different weights and see
the same batches, but each drops inputs of its own. 3. One more network weighs all changes alike,
without the cosines of words and what is around them, and counts half. It knows less of substitutes
and more of what the others hardly see, and the mean ranks both better than either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import nn
from torch.nn import functional

from sears_dsl.judge.encoder import NUMBERS, VECTORS, PlaceVectors
from sears_dsl.judge.evidence import Content
from sears_dsl.runtime.array_types import Floats

MEMBERS = 4
"""Networks that weigh changes of content words apart; one more network weighs all alike."""

_WIDTH, _HIDDEN = 32, 48
_EPOCHS, _BATCH, _RATE, _DECAY = 6, 128, 5e-4, 0.2
_LENGTH = 4
_LOST_WORDS, _LOST_INPUTS = 0.2, 0.3
# Penalties on the squares of the weights of the linear part, and on those of the intercepts.
_PENALTY, _SMALL_PENALTY = 5.0, 1e-2
_ITERATIONS = 300
# Numbers that the network that weighs all changes alike does not see.
_AROUND = np.array([";" in name for name in NUMBERS])


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Changes with shares of acceptance."""

    places: PlaceVectors  # what the encoder sees of each change
    shares: Floats  # (N,)
    kinds: NDArray[np.int64]  # (N,) a number for each kind of judgements
    replaced: NDArray[np.bool_]  # (N,) which changes replace content words


class Network(nn.Module):
    """The network that `Content` computes, with dropout."""

    def __init__(self, kinds: int, generator: np.random.Generator, *, apart: bool) -> None:
        super().__init__()
        self._generator = generator
        self.apart = apart
        self.members = members = MEMBERS if apart else 1
        inputs = len(VECTORS) * 3 * _WIDTH
        self.linear: torch.Tensor
        self.bias: torch.Tensor
        self.register_buffer("linear", torch.zeros(2, len(NUMBERS)))
        self.register_buffer("bias", torch.zeros(2))
        self.projections = nn.Parameter(torch.randn(len(VECTORS), 384, members * _WIDTH) * 0.05)
        self.hidden = nn.Parameter((torch.rand(members, inputs, _HIDDEN) * 2 - 1) / inputs**0.5)
        self.hidden_bias = nn.Parameter((torch.rand(members, 1, _HIDDEN) * 2 - 1) / inputs**0.5)
        self.output = nn.Parameter(torch.zeros(members, _HIDDEN, 2))
        self.kinds = nn.Parameter(torch.zeros(members, kinds, 2))
        self.alone = nn.Parameter(torch.zeros(members, len(VECTORS)))
        self.alone_bias = nn.Parameter(torch.zeros(members, 1))

    def words(self, old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        """Log-odds from the words' vectors, (members, N, 2)."""
        one, other = (
            self._projected(each * self._mask(each.shape, _LOST_WORDS)) for each in (old, new)
        )
        inputs = torch.cat([(one - other).abs(), one * other, (other - one) * self.apart], 2)
        inputs = inputs * self._mask(inputs.shape, _LOST_INPUTS)
        hidden = functional.relu(torch.baddbmm(self.hidden_bias, inputs, self.hidden))
        return torch.bmm(hidden, self.output)

    def forward(
        self, old: torch.Tensor, new: torch.Tensor, numbers: torch.Tensor, replaced: torch.Tensor
    ) -> torch.Tensor:
        """Log-odds of changes in their context, (members, N)."""
        odds = self.words(old, new) + numbers @ self.linear.T + self.bias
        return torch.where(replaced, odds[:, :, 1], odds[:, :, 0])

    def weights_of_inputs(self) -> torch.Tensor:
        """The weights of hidden units; 0 for inputs that this kind of network leaves out."""
        inputs = torch.ones(self.hidden.shape[1], 1)
        if not self.apart:
            inputs[len(inputs) * 2 // 3 :] = 0
        return self.hidden * inputs

    def outputs(self) -> torch.Tensor:
        """The outputs of hidden units, (members, 2, H)."""
        output = self.output.transpose(1, 2)
        return output if self.apart else output[:, 1:].expand(-1, 2, -1)

    def phrases(self, old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        """Log-odds of phrases without context: the second task."""
        cosines = (old * new).sum(-1) / _LENGTH**2
        return self.words(old, new)[:, :, 1] + self.alone @ cosines.T + self.alone_bias

    def _projected(self, vectors: torch.Tensor) -> torch.Tensor:
        count, kinds, _ = vectors.shape
        projected = torch.bmm(vectors.transpose(0, 1), self.projections)
        apart = projected.view(kinds, count, self.members, _WIDTH).permute(2, 1, 0, 3)
        return apart.flatten(2)

    def _mask(self, shape: torch.Size, lost: float) -> torch.Tensor | float:
        """Dropout from random bytes: torch's own would take half of the learning time."""
        if not self.training:
            return 1.0
        least = round(lost * 256)
        drawn = np.frombuffer(self._generator.bytes(shape.numel()), np.uint8) >= least
        return torch.from_numpy(drawn.astype(np.float32)).view(shape) * (256 / (256 - least))


def learn_content(examples: Examples, phrases: Examples, frequencies: Any, *, seed: int) -> Content:
    """The arrays of `Content`, learned from changes and from phrases without context."""
    mean = examples.places.numbers.mean(0)
    scale = examples.places.numbers.std(0) + 1e-3
    numbers = (examples.places.numbers - mean) / scale
    apart = learn_networks(examples, numbers, phrases, seed, apart=True)
    alike = learn_networks(
        replace(examples, replaced=np.ones(len(numbers), bool)),
        np.where(_AROUND, 0, numbers).astype(np.float32),
        phrases,
        seed,
        apart=False,
    )
    count = MEMBERS + 1
    # The sum over all networks is divided by their number.
    parts = ((apart, 0.5 * count / MEMBERS), (alike, 0.5 * count))
    arrays = {
        "frequencies": frequencies,
        "mean": mean,
        "scale": scale,
        "linear": (apart.linear + alike.linear[1]) / 2,
        "bias": torch.zeros(2),
        "projections": torch.cat([each.projections for each, _ in parts], 2),
        "hidden": torch.cat([each.weights_of_inputs() for each, _ in parts]),
        "hidden_bias": torch.cat([each.hidden_bias[:, 0] for each, _ in parts]),
        "output": torch.cat([each.outputs() * weight for each, weight in parts]),
    }
    return Content(**{name: half(values) for name, values in arrays.items()})


def learn_networks(
    examples: Examples, standard: Any, phrases: Examples, seed: int, *, apart: bool
) -> Network:
    """Learn the networks of one kind.

    Args:
        standard: (N, NUMBERS), with mean 0 and spread 1.
    """
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    numbers = torch.from_numpy(standard)
    old, new, phrase_old, phrase_new = (
        torch.from_numpy(each) * _LENGTH
        for places in (examples.places, phrases.places)
        for each in (places.old, places.new)
    )
    shares = torch.from_numpy(examples.shares).float()
    phrase_shares = torch.from_numpy(phrases.shares).float()
    kinds, replaced = torch.from_numpy(examples.kinds), torch.from_numpy(examples.replaced)
    which = replaced.long()
    network = Network(int(kinds.max()) + 1, generator, apart=apart)
    _start(network, standard, examples)
    optimizer = torch.optim.AdamW(network.parameters(), lr=_RATE, weight_decay=_DECAY, fused=True)
    count = len(shares)
    steps = _EPOCHS * (count // _BATCH)
    done = 0
    for _ in range(_EPOCHS):
        order = torch.from_numpy(generator.permutation(count))
        for batch in order.split(_BATCH)[: count // _BATCH]:
            optimizer.param_groups[0]["lr"] = _RATE * (1 - done / steps)
            done += 1
            odds = network(old[batch], new[batch], numbers[batch], replaced[batch])
            loss = _loss(odds + network.kinds[:, kinds[batch], which[batch]], shares[batch])
            some = torch.from_numpy(generator.integers(0, len(phrase_shares), _BATCH))
            odds = network.phrases(phrase_old[some], phrase_new[some])
            loss = loss + 0.5 * _loss(odds, phrase_shares[some])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return network


def half(values: Any) -> Any:
    """Round values as the file will hold them."""
    array = values.detach().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)
    return np.ascontiguousarray(array.astype(np.float16).astype(np.float32))


def _loss(odds: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
    """The loss of all networks; each learns as if it were alone."""
    entropy = functional.binary_cross_entropy_with_logits
    return entropy(odds, shares.expand(len(odds), -1), reduction="sum") / _BATCH


def _start(network: Network, numbers: Any, examples: Examples) -> None:
    """Fit the linear part alone, by logistic regression with an intercept for each kind."""
    count = numbers.shape[1]
    with torch.no_grad():
        for which in (0, 1) if network.apart else (1,):
            rows = examples.replaced == bool(which)
            kinds = np.eye(network.kinds.shape[1])[examples.kinds[rows]]
            columns = np.hstack([numbers[rows], kinds])
            weights = torch.from_numpy(_regression(columns, examples.shares[rows], count)).float()
            network.linear[which] = weights[:count]
            network.kinds[:, :, which] = weights[count:]


def _regression(columns: Floats, shares: Floats, numbers: int) -> Floats:
    """The weights of columns; the first of these are numbers."""
    penalty = np.full(columns.shape[1], _SMALL_PENALTY)
    penalty[:numbers] = _PENALTY

    def loss(weights: Floats) -> tuple[float, Floats]:
        odds = columns @ weights
        value = np.logaddexp(0, odds) - shares * odds
        slope = columns.T @ (1 / (1 + np.exp(-odds)) - shares)
        return float(value.sum() + (penalty * weights**2).sum() / 2), slope + penalty * weights

    start = np.zeros(columns.shape[1])
    options = {"maxiter": _ITERATIONS}
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x
    return np.asarray(best, np.float64)
