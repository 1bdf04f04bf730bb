"""What readers said of the same change of words in other texts.

Always holds: the effect of a change that nobody read has the mean 0 and the spread of all changes;
the more readings it has, the smaller its spread; in no place is it greater than in the best place
that was read.

A judge that is wrong about *just → merely* is wrong about it in every text: of sixty such rewrites
it accepted 58, readers accepted 3 of 20. So the log-odds of a rewrite are modelled as

    logit P(accepted) = s + u + v·x,   u ~ N(0, σ²), v ~ N(0, κ² I) for each change,

where s is what the evidence says, u is the same for all rewrites of a change, and x is the sense of
the replaced words in their place: readers accept *movie* for *film* in a review of a film, and not
where a camera is loaded with film. For a change that was read, u has a posterior distribution,
whose mean and spread stand in ``readings.json``, and v, if it was read often enough, a mean in
``senses.npz``; for any other, the spread of u is σ, and v is 0. A rule makes one and the same
change everywhere, so its many rewrites do not average u out: see
`sears_dsl.discovery.filtering.text_filter`.

Source: a logistic model with a random effect; Breslow and Clayton, "Approximate inference in
generalized linear mixed models", JASA 88, 1993. The integral over u is computed on a grid; where
there is v, the posterior is Laplace's approximation.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sears_dsl.engine.rewrite.rewrites import common_ends
from sears_dsl.judge.changes import Change, changes_of
from sears_dsl.judge.networks import read_arrays
from sears_dsl.runtime.array_types import Float32Array, Floats
from sears_dsl.runtime.files import read_numbers_file

VERSION = 2
"""The version of readings.json, which names senses.npz by its hash."""

SENSES = Path(__file__).with_name("senses.npz")
"""The directions v of changes: each in whole numbers of eight bits, and the largest of each."""

# exp(700) still fits into a float64.
_MOST = 700.0

# The values of u at which a posterior is computed.
_GRID = np.linspace(-8.0, 8.0, 81)


class Reading(NamedTuple):
    """What a reader said of a rewrite."""

    original: str
    rewrite: str
    accepted: bool


@dataclass(frozen=True, slots=True)
class Effect:
    """What the readings of one change say."""

    readings: int
    accepted: int
    mean: float  # of u, in log-odds: above 0 where readers accept more than the evidence says
    spread: float  # the standard deviation of u
    most: float = math.inf  # u + v·x in the best place that was read
    direction: Float32Array | None = field(default=None, compare=False)  # v, (width of a sense,)

    def at(self, sense: Float32Array | None) -> float:
        """The effect u + v·x where the replaced words have a sense x; without one, u."""
        if self.direction is None or sense is None:
            return self.mean
        return min(self.mean + float(self.direction @ sense), self.most)

    @property
    def bound(self) -> float:
        """The most that `at` gives."""
        return self.mean if self.direction is None else max(self.mean, self.most)


@dataclass(frozen=True, slots=True)
class Readings:
    """What readers said, change by change."""

    slope: float  # s is slope · log-odds by the evidence + shift
    shift: float
    spread: float  # σ, the standard deviation of u among all changes, in log-odds
    effects: Mapping[str, Effect]  # of each change that was read, by `change_name`
    digest: str = ""  # SHA-256 of the file, or of it and of what was added
    # The mean of the vectors from which senses were first made
    center: Float32Array | None = field(default=None, compare=False)

    def with_readings(
        self, readings: Sequence[Reading], evident: Floats, vectors: Float32Array | None = None
    ) -> Readings:
        """These readings together with further ones.

        Each updates u of its change by Bayes' rule, with the present effect as a normal prior, and
        so counts as much as a reading from which that was made; v stays. A rewrite with several
        different changes says nothing about any one of them and is left out. ``evident``, (N,), are
        the chances of the rewrites by the evidence alone, ``vectors``, (N, width), those of the
        words that the first change of each replaces.
        """
        readings_by_change: dict[str, list[tuple[float, bool]]] = {}
        odds = self.slope * _odds(evident) + self.shift
        senses = self._senses(vectors, len(readings))
        for (original, rewrite, accepted), each, sense in zip(
            readings, odds.tolist(), senses, strict=True
        ):
            names = {change_name(change) for change in changes_of(original, rewrite)}
            if len(names) == 1:
                [name] = names
                effect = self._effect(name)
                beyond = each + effect.at(sense) - effect.mean
                readings_by_change.setdefault(name, []).append((beyond, accepted))
        effects = dict(self.effects)
        for name, change_readings in readings_by_change.items():
            effects[name] = _posterior(self._effect(name), change_readings)
        content = json.dumps([self.digest, *map(list, readings)]).encode()
        return replace(self, effects=effects, digest=hashlib.sha256(content).hexdigest())

    def chances(self, evident: Floats, mean: Floats, spread: Floats) -> Floats:
        """The chances, (N,), that readers accept rewrites, given the effects of their changes."""
        return logistic((self.slope * _odds(evident) + self.shift + mean) / widening(spread))

    def least(self, tau: float, mean: Floats, spread: Floats) -> Floats:
        """The least chances by the evidence, (N,), for which `chances` gives ``tau`` or more."""
        odds = float(_odds(np.array([tau]))[0])
        return logistic((odds * widening(spread) - self.shift - mean) / self.slope)

    def effects_of(
        self, changes: Iterable[Sequence[Change]], vectors: Float32Array | None = None
    ) -> tuple[Floats, Floats]:
        """The effects on rewrites, and the spread of u, each (N,).

        Of several changes in a rewrite, the one that readers accept least there counts; the spread
        is that of the change with the least u. ``vectors`` are those of the replaced words of each
        change, one rewrite's after the other's; without them the effects are u.
        """
        effects = [*map(self._effects, changes)]
        senses = iter(self._senses(vectors, sum(map(len, effects))))
        means = [
            min((each.at(sense) for each, sense in zip(some, senses, strict=False)), default=0.0)
            for some in effects
        ]
        return np.array(means, np.float64), self._spreads(effects)

    def bounds_of(self, changes: Iterable[Sequence[Change]]) -> tuple[Floats, Floats]:
        """The most that `effects_of` gives wherever the words stand, and the spread, each (N,)."""
        effects = [*map(self._effects, changes)]
        bounds = [min((each.bound for each in some), default=0.0) for some in effects]
        return np.array(bounds, np.float64), self._spreads(effects)

    def spreads(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """The spread of u for pairs of original and rewrite, (N,)."""
        return self.effects_of(changes_of(*pair) for pair in pairs)[1]

    def _effects(self, changes: Sequence[Change]) -> list[Effect]:
        return [self._effect(change_name(each)) for each in changes]

    def _effect(self, name: str) -> Effect:
        return self.effects.get(name) or Effect(0, 0, 0.0, self.spread)

    def _spreads(self, effects: Iterable[Sequence[Effect]]) -> Floats:
        # That of the least u, which no place moves: so bounds stay bounds.
        least = (min(some, key=lambda each: each.mean, default=None) for some in effects)
        return np.array([self.spread if each is None else each.spread for each in least])

    def _senses(self, vectors: Float32Array | None, count: int) -> Sequence[Float32Array | None]:
        """The senses that belong to vectors; None where nothing is known of them."""
        if vectors is None or self.center is None:
            return [None] * count
        return list(senses_of(vectors, self.center))


def senses_of(vectors: Float32Array, center: Float32Array) -> Float32Array:
    """What distinguishes vectors of words in their places, each of length 1, (N, width)."""
    apart = vectors - center
    lengths = np.linalg.norm(apart, axis=1, keepdims=True)
    return np.asarray(apart / np.maximum(lengths, 1e-6), np.float32)


def _posterior(prior: Effect, readings: Sequence[tuple[float, bool]]) -> Effect:
    """The effect of a change after further readings, each with its log-odds for u = 0."""
    logs = -(((_GRID - prior.mean) / prior.spread) ** 2) / 2
    for odds, accepted in readings:
        logs = logs - np.logaddexp(0, -(odds + _GRID) if accepted else odds + _GRID)
    chances = np.exp(logs - np.logaddexp.reduce(logs))
    mean = float(chances @ _GRID)
    return replace(
        prior,
        readings=prior.readings + len(readings),
        accepted=prior.accepted + sum(accepted for _, accepted in readings),
        mean=mean,
        spread=float(np.sqrt(chances @ (_GRID - mean) ** 2)),
        most=prior.most + mean - prior.mean,
    )


def conditional_odds(chances: Floats, spread: float) -> Floats:
    """The log-odds, (N,), for u at its mean, of chances that are averages over u.

    Source: MacKay, "The evidence framework applied to classification networks", Neural Computation
    4, 1992: the mean of a logistic function under a normal distribution.
    """
    return _odds(chances) * widening(np.array(spread))


def widening(spread: Floats) -> Floats:
    """What log-odds at the mean of u are divided by, (N,), to be those of chances averaged over u.

    For the source see `conditional_odds`.
    """
    return np.asarray(np.sqrt(1 + np.pi * spread**2 / 8))


def _odds(chances: Floats) -> Floats:
    return np.asarray(np.log(chances.clip(1e-12, None)) - np.log1p(-chances.clip(None, 1 - 1e-12)))


def logistic(odds: Floats) -> Floats:
    """The chances that belong to log-odds."""
    return np.asarray(1 / (1 + np.exp(-odds.clip(-_MOST, _MOST))))


def change_name(change: Change) -> str:
    """A name for a change in any text: its words in lower case, without those shared at an end.

    So a remark put before a sentence has one name, whatever the sentence begins with. Sides that
    differ in casing alone are left as they are: *I* for *i* is another change than *i* for *I*.
    """
    old, new = ([word.lower() for word in words] for words in (change.old, change.new))
    if old == new:
        old, new = list(change.old), list(change.new)
    else:
        front, back = common_ends(old, new)
        old, new = old[front : len(old) - back], new[front : len(new) - back]
    return f"{' '.join(old)} -> {' '.join(new)}".strip()


@cache
def load_readings(name: str = "readings.json") -> Readings:
    """Load the readings that the package carries; ``docs/judge.md`` says whose they are.

    What readers accept beyond the evidence depends on the evidence, so the judge that asks a
    language model has readings of its own, ``readings_lm.json``, without senses.
    """
    advice = "reinstall sears-dsl: its files are of different versions"
    content, entry = read_numbers_file(
        Path(__file__).with_name(name), version=VERSION, advice=advice
    )
    directions: Mapping[str, Float32Array] = {}
    center = None
    if entry["senses"] is not None:
        center, directions = _read_senses(str(entry["senses"]), advice=advice)
    effects = {
        name: replace(Effect(*numbers), direction=directions.get(name))
        for name, numbers in entry["effects"].items()
    }
    return Readings(
        float(entry["slope"]), float(entry["shift"]), float(entry["spread"]), effects,
        digest=hashlib.sha256(content).hexdigest(), center=center,
    )  # fmt: skip


def _read_senses(sha256: str, *, advice: str) -> tuple[Float32Array, dict[str, Float32Array]]:
    """The center of all senses, and the direction v of each change that has one."""
    arrays = read_arrays(SENSES, sha256=sha256, beside="the readings beside it", advice=advice)
    names = arrays["changes"].tobytes().decode("utf-8").split("\n")
    directions = arrays["directions"] * (arrays["largest"][:, None] / np.float32(127))
    return arrays["center"], dict(zip(names, directions, strict=True))
