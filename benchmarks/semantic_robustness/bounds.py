"""Interval bound propagation: what a net says of all inputs in a box, and training against it.

In: a net of layers that are affine or monotone in each input (FC, CNN), and boxes of inputs. Out:
bounds of its outputs, a training loss, certified accuracy. Always holds: for every point of a box
the net's outputs lie within the bounds, up to rounding; for a box of one point the bounds are the
outputs. Costs two passes instead of one.

After Gowal et al. 2018: the box is every word vector, padding included, plus or minus ``size`` in
each dimension; the loss is k·CE(clean) + (1 - k)·CE(worst outputs). The paper prints no schedule.
Ours grows the box over the first half of training, while k falls from 1 to 1/2.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from benchmarks.semantic_robustness.nets import BATCH, Loss, Turned

_MONOTONE = (nn.ReLU, nn.Flatten, Turned)


def bounds(
    network: nn.Sequential, low: torch.Tensor, high: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Lower and upper bounds of the outputs for inputs between two corners.

    Raises:
        TypeError: a layer is neither affine nor known to be monotone.

    Example:
        >>> layer = nn.Linear(2, 1)
        >>> _ = layer.weight.data.copy_(torch.tensor([[1.0, -2.0]])), layer.bias.data.zero_()
        >>> low, high = bounds(nn.Sequential(layer), torch.zeros(1, 2), torch.ones(1, 2))
        >>> low.item(), high.item()
        (-2.0, 1.0)
    """
    for layer in network:
        if isinstance(layer, _MONOTONE):
            low, high = layer(low), layer(high)
            continue
        middle, radius = layer((low + high) / 2), (high - low) / 2
        if isinstance(layer, nn.Linear):
            radius = functional.linear(radius, layer.weight.abs())
        elif isinstance(layer, nn.Conv1d):
            radius = functional.conv1d(radius, layer.weight.abs())
        else:
            raise TypeError(f"{type(layer).__name__} has no bounds here")
        low, high = middle - radius, middle + radius
    return low, high


def worst_outputs(
    network: nn.Sequential, vectors: torch.Tensor, labels: torch.Tensor, size: float
) -> torch.Tensor:
    """The lowest output of the right label, and the highest of the other one."""
    low, high = bounds(network, vectors - size, vectors + size)
    right = functional.one_hot(labels, low.shape[1]).bool()
    return torch.where(right, low, high)


def bounded_loss(size: float) -> Loss:
    """The loss for training against boxes that grow to this size."""

    def loss(
        network: nn.Module, vectors: torch.Tensor, labels: torch.Tensor, done: float
    ) -> torch.Tensor:
        assert isinstance(network, nn.Sequential)
        grown = min(1.0, 2 * done)
        plain = 1 - grown / 2
        worst = worst_outputs(network, vectors, labels, size * grown)
        return plain * functional.cross_entropy(network(vectors), labels) + (
            1 - plain
        ) * functional.cross_entropy(worst, labels)

    return loss


@torch.inference_mode()
def certified(
    network: nn.Sequential, vectors: torch.Tensor, labels: torch.Tensor, size: float
) -> float:
    """The share of rows that have the right label at every point of their box."""
    sure = [
        worst_outputs(network, some, right, size).argmax(1) == right
        for some, right in zip(vectors.split(BATCH), labels.split(BATCH), strict=True)
    ]
    return float(torch.cat(sure).float().mean())
