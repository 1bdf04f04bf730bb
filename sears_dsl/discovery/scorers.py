"""The scorers by name, with the numbers that they are shipped with and where these come from.

In: a name. Out: a `Scorer` ready to use. What always holds: weights and thresholds come from
``scorers.json`` beside this module, which `python -m benchmarks.agreement --fit` writes; nothing
is downloaded. Cost: loading the models, a second or two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import torch

from sears_dsl.discovery.combined import CombinedScorer, Weights
from sears_dsl.discovery.embedding import EmbeddingScorer, MiniLM
from sears_dsl.discovery.pivots import Pivot, load_pivots
from sears_dsl.discovery.semantics import PivotScorer, Scorer
from sears_dsl.discovery.strict import StrictScorer
from sears_dsl.errors import UsageError

__all__ = ["SCORER_NAMES", "Shipped", "load_scorer", "shipped"]

SCORER_NAMES = ("pivot", "minilm", "combined", "strict")


@dataclass(frozen=True, slots=True)
class Shipped:
    """What a scorer is shipped with.

    Attributes:
        tau: its threshold.
        weights: of the combination; None for the others.
        provenance: how the numbers were found: the criterion, the date, and of each set of
            judgements its name, its terms, how many pairs, and the SHA-256 of pairs and judgements.
    """

    tau: float
    weights: Weights | None
    provenance: Mapping[str, Any]


def shipped(name: str) -> Shipped:
    """The numbers of a scorer.

    Raises:
        UsageError: there is no such scorer.

    Example:
        >>> 0 < shipped("combined").tau < 1
        True
    """
    if name not in SCORER_NAMES:
        raise UsageError(
            f"there is no scorer {name!r}", help=f"the scorers are {', '.join(SCORER_NAMES)}"
        )
    content = files(__package__).joinpath("scorers.json").read_text("utf-8")
    entry = json.loads(content)["combined" if name == "strict" else name]
    weights = Weights(**entry["weights"]) if "weights" in entry else None
    return Shipped(entry["tau"], weights, entry["provenance"])


def load_scorer(
    name: str = "combined",
    *,
    pivots: Sequence[Pivot] | None = None,
    tau: float | None = None,
    device: str | torch.device | None = None,
) -> Scorer:
    """A scorer by name.

    Args:
        name: ``pivot``, the paper's score; ``minilm``, the cosine of a sentence encoder;
            ``combined``, the calibrated combination of both with word order and negation;
            ``strict``, the combination with the paper's score as a floor.
        pivots: the pivot languages; the pair that packages carry if None.
        tau: another threshold than the shipped one.
        device: where to compute, ``cpu`` or ``cuda``; the CPU if None.

    Raises:
        UsageError: there is no such scorer.
        ModelError: a model is not installed.

    Example:
        >>> load_scorer("minilm").name
        'minilm'
    """
    numbers = shipped(name)
    threshold = numbers.tau if tau is None else tau
    if name == "minilm":
        return EmbeddingScorer(MiniLM(device=device), tau=threshold)
    pivot = PivotScorer(load_pivots(device=device) if pivots is None else pivots, tau=threshold)
    if numbers.weights is None:
        return pivot
    combined = CombinedScorer(pivot, MiniLM(device=device), weights=numbers.weights, tau=threshold)
    if name == "combined":
        return combined
    return StrictScorer(combined, floor=shipped("pivot").tau)
