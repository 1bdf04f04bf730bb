"""What readers say of a change of words beyond the evidence: the judge's last step.

In: rewrites that readers judged, with all evidence (`training.judge`), and the curves, which give
the log-odds s of each; for ``senses.npz`` also what the encoder sees of the replaced words. Out:
the content of ``readings.json``: for each change that was read, the posterior mean and spread of u,
what readers accept beyond s; σ, the spread of u among all changes; and how well readings that took
no part are predicted, for changes that were read elsewhere and for changes that were not. Always
holds: the same judgements give the same numbers; s comes from content that did not learn from the
change.

    logit P(accepted) = a s + b + u,   u ~ N(0, σ²) for each change

a, b and σ maximize the likelihood; the integral over u is taken on a grid. With senses x, v·x comes
beside u, v ~ N(0, κ² I), in Laplace's approximation; κ was chosen by how well readings in kinds of
text are predicted in which a change was not read. Of the changes that a
first look left out only a sample was read; each of these counts for as many as it stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sears_dsl.judge.changes import changes_of
from sears_dsl.judge.readings import VERSION, change_name, logistic, widening
from sears_dsl.meaning.calibration import operating_curve
from sears_dsl.runtime.array_types import Float32Array, Floats
from training.judgements import Judgement

_GRID = np.linspace(-8.0, 8.0, 81)
_LEAST_SPREAD = 0.2
#: κ², and how often a change has to be read to have a v.
_SENSE_VARIANCE, _LEAST_IN_PLACE = 8.0, 4
#: Newton's steps, and the gain in log-likelihood below which they end.
_STEPS, _GAIN = 100, 1e-6
#: How many changes that a first look left out are represented by each one that was read.
_LEFT_OUT = 47.0


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """Readings with the judge's opinion."""

    odds: Floats  # (N,) s, the judge's log-odds without readings
    accepted: NDArray[np.bool_]  # (N,) whether the reader accepted
    changes: NDArray[np.int64]  # (N,) the number of each one's change
    names: list[str]  # of the changes
    weights: Floats  # (changes,) how many changes each stands for

    def at(self, chosen: NDArray[np.bool_]) -> Read:
        """A selection of the readings."""
        return Read(
            self.odds[chosen], self.accepted[chosen], self.changes[chosen], self.names, self.weights
        )


@dataclass(frozen=True, slots=True)
class Model:
    """a, b and σ."""

    slope: float
    shift: float
    spread: float

    def log_odds(self, odds: Floats) -> Floats:
        """The log-odds of acceptance where u is 0."""
        return self.slope * odds + self.shift


def likelihoods(read: Read, model: Model) -> Floats:
    """Log-likelihoods of the readings of each change for each u of the grid, (changes, grid)."""
    odds = model.log_odds(read.odds)[:, None] + _GRID
    each = np.where(read.accepted[:, None], -np.logaddexp(0, -odds), -np.logaddexp(0, odds))
    sums = np.zeros((len(read.names), len(_GRID)))
    np.add.at(sums, read.changes, each)
    return sums


def prior(spread: float) -> Floats:
    """The logarithms of the grid's weights."""
    weights = -(_GRID**2) / (2 * spread**2)
    return np.asarray(weights - np.logaddexp.reduce(weights))


def fit(read: Read) -> Model:
    """The model with the largest likelihood."""

    def loss(numbers: Floats) -> float:
        model = Model(numbers[0], numbers[1], float(np.exp(numbers[2])))
        of_change = np.logaddexp.reduce(likelihoods(read, model) + prior(model.spread), axis=1)
        # A weak pull to a = 1, b = 0: the judge is calibrated.
        return float(-(read.weights @ of_change)) + (numbers[0] - 1) ** 2 + 0.1 * numbers[1] ** 2

    best = minimize(loss, np.array([1.0, 0.0, 0.3]), method="Nelder-Mead").x
    return Model(float(best[0]), float(best[1]), float(np.exp(best[2])))


def posteriors(read: Read, model: Model) -> tuple[Floats, Floats]:
    """Mean and spread of u for each change, each (changes,)."""
    logs = likelihoods(read, model) + prior(model.spread)
    chances = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])
    mean = chances @ _GRID
    spread = np.sqrt(np.maximum(chances @ _GRID**2 - mean**2, _LEAST_SPREAD**2))
    return mean, spread


class Placed(NamedTuple):
    """The effect of a change that depends on the sense of the replaced words."""

    mean: float  # of u
    spread: float  # of u, given v
    most: float  # the most that u + v·x is in a place that was read
    direction: Float32Array  # v


def placed(
    odds: Floats, accepted: NDArray[np.bool_], senses: Float32Array, spread: float
) -> Placed:
    """The posterior mode of u and v for the readings of one change.

    Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006), algorithm 3.1,
    with a linear kernel.

    Args:
        odds: (N,) the log-odds where u and v are 0.
        senses: (N, width), each of length 1.
        spread: σ.
    """
    x = senses.astype(np.float64)
    kernel = spread**2 + _SENSE_VARIANCE * (x @ x.T)
    sign = np.where(accepted, 1.0, -1.0)
    weights = effects = np.zeros(len(odds))

    def likelihood(weights: Floats, effects: Floats) -> float:
        return float(-weights @ effects / 2 - np.logaddexp(0, -sign * (odds + effects)).sum())

    reached = likelihood(weights, effects)
    for _ in range(_STEPS):
        chances = logistic(odds + effects)
        root = np.sqrt(np.maximum(chances * (1 - chances), 1e-6))
        aim = root**2 * effects + accepted - chances
        solved = np.linalg.solve(
            np.eye(len(odds)) + root[:, None] * kernel * root, root * (kernel @ aim)
        )
        step, before = aim - root * solved - weights, reached
        for size in 0.5 ** np.arange(12):
            tried = weights + size * step
            reached = likelihood(tried, kernel @ tried)
            if reached >= before:
                break
        weights, effects = tried, kernel @ tried
        if reached - before < _GAIN:
            break
    chances = logistic(odds + effects)
    precision = 1 / spread**2 + float((chances * (1 - chances)).sum())
    return Placed(
        spread**2 * float(weights.sum()),
        max(precision**-0.5, _LEAST_SPREAD),
        float(effects.max()),
        (_SENSE_VARIANCE * (weights @ x)).astype(np.float32),
    )


def placed_effects(read: Read, senses: Float32Array, model: Model) -> dict[str, Placed]:
    """The effects of changes that were read often enough, by name."""
    odds = model.log_odds(read.odds)
    effects = {}
    for name, at in zip(read.names, _by_change(read), strict=True):
        if len(at) >= _LEAST_IN_PLACE:
            effects[name] = placed(odds[at], read.accepted[at], senses[at], model.spread)
    return effects


def figures_of_senses(
    read: Read, senses: Float32Array, kinds: Sequence[str], model: Model
) -> dict[str, float]:
    """How well readings are predicted from other readings of their change, with senses and without.

    Those of a kind of text are predicted from all other kinds, of changes with `_LEAST_IN_PLACE`
    readings there and twice as many elsewhere.

    Args:
        kinds: (N,) the kind of text that each reading is of.
    """
    odds = model.log_odds(read.odds)
    kind_of = np.array(kinds)
    plain, sensed, accepted = [], [], []
    for at in _by_change(read):
        for kind in sorted({*kind_of[at].tolist()}):
            here, there = at[kind_of[at] == kind], at[kind_of[at] != kind]
            if len(here) < _LEAST_IN_PLACE or len(there) < 2 * _LEAST_IN_PLACE:
                continue
            effect = placed(odds[there], read.accepted[there], senses[there], model.spread)
            shift = np.minimum(effect.mean + senses[here] @ effect.direction, effect.most)
            sensed.append((odds[here] + shift) / widening(np.array(effect.spread)))
            of_change = Read(
                read.odds[there], read.accepted[there], np.zeros(len(there), np.int64), [""],
                np.ones(1),
            )  # fmt: skip
            (mean,), (spread,) = posteriors(of_change, model)
            plain.append((odds[here] + mean) / widening(spread))
            accepted.append(read.accepted[here])
    good = np.concatenate(accepted)
    return {
        "readings": len(good),
        "loss without senses": _loss(np.concatenate(plain), good),
        "loss with senses": _loss(np.concatenate(sensed), good),
        "area without senses": operating_curve(np.concatenate(plain), good).area,
        "area with senses": operating_curve(np.concatenate(sensed), good).area,
    }


def held_out_figures(read: Read, *, folds: int = 5) -> dict[str, float]:
    """How well readings that took no part are predicted.

    For changes that were read: from every other reading of the same change. For changes that were
    not: from the readings of changes in other folds.
    """
    count = len(read.names)
    even = np.zeros(len(read.odds), np.bool_)
    for at in _by_change(read):
        even[at[::2]] = True
    often = np.bincount(read.changes, minlength=count) >= 4
    known, unknown, prior_alone = (np.full(len(read.odds), np.nan) for _ in range(3))
    model = fit(read)
    for half in (even, ~even):
        mean, _ = posteriors(read.at(half), model)
        rest = ~half & often[read.changes]
        odds = model.log_odds(read.odds[rest])
        known[rest] = odds + mean[read.changes[rest]]
        prior_alone[rest] = odds
    fold = np.random.default_rng(0).integers(0, folds, count)[read.changes]
    for each in range(folds):
        other = fit(read.at(fold != each))
        unknown[fold == each] = other.log_odds(read.odds[fold == each])
    some = ~np.isnan(known)
    good = read.accepted[some]
    return {
        "readings": len(read.odds),
        "changes": count,
        "changes read four times or more": int(often.sum()),
        "loss, change read": _loss(known[some], good),
        "loss, the same without its readings": _loss(prior_alone[some], good),
        "area, change read": operating_curve(known[some], good).area,
        "area, the same without its readings": operating_curve(
            prior_alone[some], read.accepted[some]
        ).area,
        "area, changes of other folds": operating_curve(unknown, read.accepted).area,
    }


def _by_change(read: Read) -> list[NDArray[np.int64]]:
    """The places of the readings of each change, in file order."""
    order = np.argsort(read.changes, kind="stable")
    counts = np.bincount(read.changes, minlength=len(read.names))
    return np.split(order, np.cumsum(counts)[:-1])


def _loss(odds: Floats, accepted: NDArray[np.bool_]) -> float:
    return float(np.where(accepted, np.logaddexp(0, -odds), np.logaddexp(0, odds)).mean())


def readings_of(judgements: Sequence[Judgement], chances: Floats) -> Read:
    """The readings among judgements: rewrites with exactly one change.

    Args:
        judgements: N of mined rewrites and of shipped rules. The author of a shipped rule has read
            fifty of its rewrites; here each change has a few of them.
        chances: (N,) what the curves say.
    """
    clipped = chances.clip(1e-4, 1 - 1e-4)
    evident = np.log(clipped) - np.log1p(-clipped)
    places, names = [], []
    weight_of: dict[str, float] = {}
    for at, one in enumerate(judgements):
        changes = changes_of(one.original, one.rewrite)
        if len(changes) == 1:
            places.append(at)
            names.append(change_name(changes[0]))
            weight_of.setdefault(names[-1], _LEFT_OUT if " left " in one.source else 1.0)
    number = {name: at for at, name in enumerate(weight_of)}
    return Read(
        evident[places], np.array([judgements[at].share >= 0.5 for at in places]),
        np.array([number[name] for name in names], np.int64),
        list(number), np.array(list(weight_of.values())),
    )  # fmt: skip


def readings_file(read: Read, shipped: Read) -> dict[str, Any]:
    """The content of ``readings.json``.

    Args:
        read: for a, b and σ: log-odds from content that did not learn from the change.
        shipped: for u: log-odds of the shipped judge.
    """
    model = fit(read)
    mean, spread = posteriors(shipped, model)
    return {
        "version": VERSION,
        "slope": round(model.slope, 4),
        "shift": round(model.shift, 4),
        "spread": round(model.spread, 4),
        "senses": None,  # `training.later_readings --all` adds them
        "figures": {name: round(each, 4) for name, each in held_out_figures(read).items()},
        "effects": dict(sorted(effects_of(read, mean, spread).items())),
    }


def effects_of(read: Read, mean: Floats, spread: Floats) -> dict[str, list[float]]:
    """For each change: readings, how many accept it, mean and spread of u."""
    number = np.bincount(read.changes, minlength=len(read.names))
    accepted = np.bincount(read.changes[read.accepted], minlength=len(read.names))
    return {
        name: [int(number[at]), int(accepted[at]), round(float(mean[at]), 3),
               round(float(spread[at]), 3)]
        for at, name in enumerate(read.names)
    }  # fmt: skip
