"""How sure a reading model is of a span, by the normalized entropy of where it begins and ends.

0 means that any word is as likely as another, 1 that one word is certain. Always holds: both
functions give the same where the rest of the probability is spread evenly; a context of one word
leaves no doubt.

Source: 'Evaluating Neural Machine Comprehension Model Robustness to Noisy Inputs and Adversarial
Attacks', section 4.3: c = 1 - (H(start) + H(end)) / (2 log n), over the n words of a context.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import ModelError

# Probabilities of float32 networks may add up to so much more or less than one.
_TOLERANCE = 1e-3


def from_distributions(
    starts: Sequence[float] | NDArray[np.floating], ends: Sequence[float] | NDArray[np.floating]
) -> float:
    """Confidence in an answer, by the distributions of its first and last word over its context.

    Example:
        >>> from_distributions([0.25] * 4, [0.25] * 4), from_distributions([0, 1, 0], [0, 1, 0])
        (0.0, 1.0)
        >>> from_distributions([0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0])
        0.5
    """
    first = _distribution(starts, "starts")
    last = _distribution(ends, "ends")
    if len(first) != len(last):
        raise ModelError(
            f"{len(first):,} words may begin the answer, but {len(last):,} may end it",
            help="give both lists a probability for each word of the context",
        )
    if len(first) == 1:
        return 1.0
    uncertainty = (_entropy(first) + _entropy(last)) / (2 * float(np.log(len(first))))
    return min(1.0, max(0.0, 1 - uncertainty))  # rounding may pass 0 or 1 by some 1e-16


def from_top(start: float, end: float, words: int) -> float:
    """Confidence where only the probabilities of the answer's own first and last word are known.

    What is left of each is spread evenly over the other words, as the paper does for BERT.

    Raises:
        ModelError: no probability, or a context without words.
    """
    if words < 1:
        raise ModelError(
            f"a context of {words} words has no answer", help="give the number of words, 1 or more"
        )
    for name, value in (("start", start), ("end", end)):
        if not 0 <= value <= 1:
            raise ModelError(
                f"{value!r} is not a probability of the answer's {name}",
                help="give the model's probability of that word, from 0 to 1",
            )
    if words == 1:
        return 1.0
    of_start, of_end = (np.full(words, (1 - top) / (words - 1)) for top in (start, end))
    of_start[0], of_end[0] = start, end
    return from_distributions(of_start, of_end)


def _distribution(values: Sequence[float] | NDArray[np.floating], name: str) -> NDArray[np.float64]:
    probabilities = np.asarray(values, np.float64)
    if (
        probabilities.ndim != 1
        or not len(probabilities)
        or not np.isfinite(probabilities).all()
        or (probabilities < 0).any()
    ):
        raise ModelError(
            f"the {name} are not a list of probabilities, one for each word of a context",
            help="give a list of numbers from 0 to 1, at least one",
        )
    total = float(probabilities.sum())
    if abs(total - 1) > _TOLERANCE:
        raise ModelError(
            f"the probabilities of the {name} add up to {total:.4g}",
            help="give them for the words of the context only, divided by their sum",
        )
    return probabilities / total


def _entropy(probabilities: NDArray[np.float64]) -> float:
    held = probabilities[probabilities > 0]
    return float(-(held * np.log(held)).sum())
