"""How well a score agrees with people, and the threshold τ that fits their judgements.

Results do not depend on the order of the pairs; nothing is drawn at random.

τ is chosen as in "Semantically Equivalent Adversarial Rules for Debugging NLP Models" (ACL 2018,
section 2): the value that minimizes the entropy of the two sides into which it splits the
judgements, weighted by their sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sears_dsl.errors import DataError
from sears_dsl.runtime.array_types import Floats
from sears_dsl.statistics import wilson_interval

# Fewer digits of a threshold are not shown.
_DIGITS = 4

CRITERION = "minimum entropy of the induced splits"


@dataclass(frozen=True, slots=True)
class MeasuredShare:
    """A measured share with its interval of 95%."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The ROC curve: what a threshold lets through, from the strictest to the loosest."""

    thresholds: Floats  # falling; the first is ∞ and lets nothing through
    false_rates: Floats  # for each threshold the share of different pairs that reach it
    true_rates: Floats  # for each threshold the share of equivalent pairs that reach it
    # The area under the curve, which is the chance that an equivalent pair scores higher than a
    # different one, ties counting half
    area: float

    def shown(self, tau: float) -> str:
        """A threshold in as few digits, at least four, as let the same pairs through.

        Example:
            >>> curve = operating_curve([0.99996, 0.99994, 0.99992], [True, True, False])
            >>> curve.shown(0.99993), curve.shown(1 / 3)
            ('0.99993', '0.3333')
        """
        for digits in range(_DIGITS, 17):
            for rounding in (ROUND_HALF_EVEN, ROUND_FLOOR):
                near = float(Context(prec=digits, rounding=rounding).create_decimal(float(tau)))
                if ((self.thresholds >= near) == (self.thresholds >= tau)).all():
                    return f"{near:.{digits}g}"
        return repr(float(tau))


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """A threshold fitted on judgements, and how good it is on them."""

    tau: float
    pairs: int
    equivalent: int  # how many of them people call equivalent
    entropy_before: float  # entropy of the judgements in bits
    entropy: float  # entropy that is left when the side of τ is known
    curve: Curve
    area: MeasuredShare
    precision: MeasuredShare  # of the pairs with S ≥ τ, the share that people call equivalent
    recall: MeasuredShare  # of the pairs that people call equivalent, the share with S ≥ τ

    def as_dict(self) -> dict[str, Any]:
        """Plain values, the curve as points from (0, 0) to (1, 1)."""
        curve = (self.curve.thresholds, self.curve.false_rates, self.curve.true_rates)
        return {
            "tau": self.tau,
            "criterion": CRITERION,
            "pairs": self.pairs,
            "equivalent": self.equivalent,
            "entropy_before": self.entropy_before,
            "entropy": self.entropy,
            "area": _share_as_dict(self.area),
            "precision": _share_as_dict(self.precision),
            "recall": _share_as_dict(self.recall),
            "roc": [
                {"tau": None if tau == np.inf else tau, "false_rate": false, "true_rate": true}
                for tau, false, true in zip(*(each.tolist() for each in curve), strict=True)
            ],
        }


def operating_curve(scores: ArrayLike, equivalent: ArrayLike) -> Curve:
    """The ROC curve of (N,) scores, higher for pairs that are more alike, against judgements.

    It has one point for each distinct score.
    """
    values, same = _checked(scores, equivalent)
    thresholds, positives, totals = _counts_from_top(values, same)
    negatives = totals - positives
    true_rates = np.concatenate([[0.0], positives / positives[-1]])
    false_rates = np.concatenate([[0.0], negatives / negatives[-1]])
    area = float(np.trapezoid(true_rates, false_rates))
    return Curve(np.concatenate([[np.inf], thresholds]), false_rates, true_rates, area)


def area_interval(area: float, *, equivalent: int, different: int) -> tuple[float, float]:
    """A 95% interval for an area under the ROC curve: the areas that are not refuted by this one.

    Newcombe's method 5 (Statistics in Medicine 25, 2006): like Wilson's interval for a share,
    it takes the standard error (of Hanley and McNeil) at the area that is tested, so that it
    never leaves [0, 1] and has a width even where the area is 1.
    """
    z = NormalDist().inv_cdf(0.975)
    balance = (equivalent + different) / 2 - 1

    def refuted(true_area: float) -> bool:
        spread = 1 + balance * ((1 - true_area) / (2 - true_area) + true_area / (1 + true_area))
        variance = true_area * (1 - true_area) * spread / (equivalent * different)
        return abs(area - true_area) > z * sqrt(variance)

    return _last_inside(refuted, area, 0.0), _last_inside(refuted, area, 1.0)


def entropy_threshold(
    scores: ArrayLike, equivalent: ArrayLike, weights: ArrayLike | None = None
) -> float:
    """The τ that splits the judgements into the two sides of least entropy.

    It lies between two neighbouring distinct scores. Only places count where the upper side has the
    larger share of equivalent pairs; of equally good ones the highest, the strictest, is taken. τ
    is the geometric mean of the two scores (their mean if the lower is 0), since scores of
    translation models spread over many powers of ten.
    """
    values, same = _checked(scores, equivalent)
    thresholds, positives, totals = _counts_from_top(values, same, weights)
    above, lower = totals[:-1], totals[-1] - totals[:-1]
    share_above = positives[:-1] / above
    share_below = (positives[-1] - positives[:-1]) / lower
    left = (above * _entropy(share_above) + lower * _entropy(share_below)) / totals[-1]
    left[share_above <= share_below] = np.inf
    if not np.isfinite(left).any():
        raise DataError(
            "no threshold separates the judgements: equivalent pairs score no higher than others",
            help="check that the label 1 means the same meaning, or try another scorer",
        )
    best = int(np.argmin(left))
    high, low = float(thresholds[best]), float(thresholds[best + 1])
    # The product of two small scores would be 0.
    tau = sqrt(high) * sqrt(low) if low > 0 else (high + low) / 2
    return tau if low < tau <= high else high  # of neighbouring numbers none lies between


def calibrated(
    scores: ArrayLike, equivalent: ArrayLike, *, tau: float | None = None
) -> Calibration:
    """Fit τ on judgements, or take a given one, and measure it on them."""
    values, same = _checked(scores, equivalent)
    threshold = entropy_threshold(values, same) if tau is None else tau
    above = values >= threshold
    curve = operating_curve(values, same)
    count, positive = len(same), int(same.sum())
    sides = [side for side in (same[above], same[~above]) if len(side)]
    left = sum(len(side) * float(_entropy(np.array(side.mean()))) for side in sides) / count
    low, high = area_interval(curve.area, equivalent=positive, different=count - positive)
    return Calibration(
        tau=threshold,
        pairs=count,
        equivalent=positive,
        entropy_before=float(_entropy(np.array(positive / count))),
        entropy=left,
        curve=curve,
        area=MeasuredShare(curve.area, low, high),
        precision=_share(int((above & same).sum()), int(above.sum())),
        recall=_share(int((above & same).sum()), positive),
    )


def _checked(scores: ArrayLike, equivalent: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    values, same = np.asarray(scores, np.float64), np.asarray(equivalent, bool)
    if values.shape != same.shape or values.ndim != 1:
        raise DataError(
            f"there are {values.size} scores but {same.size} judgements",
            help="give one judgement for each pair",
        )
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise DataError(
            f"the score of pair {wrong[0] + 1} is {values[wrong[0]]}", help="it has to be a number"
        )
    if same.all() or not same.any():
        kind = "equivalent" if len(same) and same.all() else "different"
        raise DataError(
            f"the only pair is judged {kind}"
            if len(same) == 1
            else f"all {len(same):,} pairs are judged {kind}",
            help="calibration needs pairs of both kinds; for grades, say from which one a pair "
            "counts as equivalent",
        )
    return values, same


def _counts_from_top(
    values: Floats, same: NDArray[np.bool_], weights: ArrayLike | None = None
) -> tuple[Floats, Floats, Floats]:
    """Distinct scores, falling; how many equivalent pairs, and pairs, reach each of them."""
    each = np.ones(len(values)) if weights is None else np.asarray(weights, np.float64)
    distinct, places = np.unique(-values, return_inverse=True)
    positives = np.bincount(places, weights=each * same, minlength=len(distinct)).cumsum()
    return -distinct, positives, np.bincount(places, weights=each).cumsum()


def _entropy(share: Floats) -> Floats:
    """Entropy of a coin in bits."""
    inside = np.clip(share, 1e-300, 1.0)
    outside = np.clip(1 - share, 1e-300, 1.0)
    return np.asarray(-(share * np.log2(inside) + (1 - share) * np.log2(outside)))


def _share(some: int, all_: int) -> MeasuredShare:
    low, high = wilson_interval(some, all_)
    return MeasuredShare(some / all_ if all_ else float("nan"), float(low), float(high))


def _share_as_dict(share: MeasuredShare) -> dict[str, float | None]:
    value = None if np.isnan(share.value) else share.value
    return {"value": value, "low": share.low, "high": share.high}


def _last_inside(refuted: Callable[[float], bool], inside: float, outside: float) -> float:
    """The end of the interval, between an area inside of it and an end of [0, 1]."""
    for _ in range(60):
        middle = (inside + outside) / 2
        if refuted(middle):
            outside = middle
        else:
            inside = middle
    return inside
