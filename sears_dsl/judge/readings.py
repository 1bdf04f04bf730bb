"""What readers said of the same change of words in other texts.

Always holds: the effect of a change that nobody read has the mean 0 and the spread of all changes;
the more readings it has, the smaller its spread.

A judge that is wrong about *just → merely* is wrong about it in every text: of sixty such rewrites
it accepted 58, readers accepted 3 of 20. So the log-odds of a rewrite are modelled as

    logit P(accepted) = s + u,   u ~ N(0, σ²) the same for all rewrites of a change,

where s is what the evidence says. For a change that was read, u has a posterior distribution, whose
mean and spread stand in ``readings.json``; for any other its spread is σ. A rule makes one and the
same change everywhere, so its many rewrites do not average u out: see
`sears_dsl.discovery.filtering.text_filter`.

Source: a logistic model with a random effect; Breslow and Clayton, "Approximate inference in
generalized linear mixed models", JASA 88, 1993. Here the integral is computed on a grid.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sears_dsl.engine.rewrite.rewrites import common_ends
from sears_dsl.judge.changes import Change, changes_of
from sears_dsl.runtime.array_types import Floats
from sears_dsl.runtime.files import read_numbers_file

VERSION = 1
"""The version of readings.json."""

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


@dataclass(frozen=True, slots=True)
class Readings:
    """What readers said, change by change."""

    slope: float  # s is slope · log-odds by the evidence + shift
    shift: float
    spread: float  # σ, the standard deviation of u among all changes, in log-odds
    effects: Mapping[str, Effect]  # of each change that was read, by `change_name`
    digest: str = ""  # SHA-256 of the file, or of it and of what was added

    def with_readings(self, readings: Sequence[Reading], evident: Floats) -> Readings:
        """These readings together with further ones.

        Each updates the effect of its change by Bayes' rule, with the present effect as a normal
        prior, and so counts as much as a reading from which that was made. A rewrite with several
        different changes says nothing about any one of them and is left out. ``evident``, (N,), are
        the chances of the rewrites by the evidence alone.
        """
        readings_by_change: dict[str, list[tuple[float, bool]]] = {}
        odds = self.slope * _odds(evident) + self.shift
        for (original, rewrite, accepted), each in zip(readings, odds.tolist(), strict=True):
            names = {change_name(change) for change in changes_of(original, rewrite)}
            if len(names) == 1:
                readings_by_change.setdefault(names.pop(), []).append((each, accepted))
        effects = dict(self.effects)
        for name, change_readings in readings_by_change.items():
            prior = effects.get(name, Effect(0, 0, 0.0, self.spread))
            effects[name] = _posterior(prior, change_readings)
        content = json.dumps([self.digest, *map(list, readings)]).encode()
        return replace(self, effects=effects, digest=hashlib.sha256(content).hexdigest())

    def chances(self, evident: Floats, changes: Iterable[Sequence[Change]]) -> Floats:
        """The chances, (N,), that readers accept rewrites, given what they said of the changes."""
        mean, spread = self.effects_of(changes)
        return logistic((self.slope * _odds(evident) + self.shift + mean) / _widening(spread))

    def least(self, tau: float, changes: Iterable[Sequence[Change]]) -> Floats:
        """The least chances by the evidence, (N,), for which `chances` gives ``tau`` or more."""
        mean, spread = self.effects_of(changes)
        odds = float(_odds(np.array([tau]))[0])
        return logistic((odds * _widening(spread) - self.shift - mean) / self.slope)

    def effects_of(self, changes: Iterable[Sequence[Change]]) -> tuple[Floats, Floats]:
        """Mean and spread of u for rewrites, each (N,).

        Of several changes in a rewrite, the one that readers accept least counts.
        """
        unread = Effect(0, 0, 0.0, self.spread)
        worst = [
            min(
                (self.effects.get(name, unread) for name in map(change_name, of_rewrite)),
                key=lambda effect: effect.mean,
                default=unread,
            )
            for of_rewrite in changes
        ]
        return (
            np.array([effect.mean for effect in worst], np.float64),
            np.array([effect.spread for effect in worst], np.float64),
        )

    def spreads(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """The spread of u for pairs of original and rewrite, (N,)."""
        return self.effects_of(changes_of(*pair) for pair in pairs)[1]


def _posterior(prior: Effect, readings: Sequence[tuple[float, bool]]) -> Effect:
    """The effect of a change after further readings, each with its log-odds for u = 0."""
    logs = -(((_GRID - prior.mean) / prior.spread) ** 2) / 2
    for odds, accepted in readings:
        logs = logs - np.logaddexp(0, -(odds + _GRID) if accepted else odds + _GRID)
    chances = np.exp(logs - np.logaddexp.reduce(logs))
    mean = float(chances @ _GRID)
    return Effect(
        prior.readings + len(readings),
        prior.accepted + sum(accepted for _, accepted in readings),
        mean,
        float(np.sqrt(chances @ (_GRID - mean) ** 2)),
    )


def conditional_odds(chances: Floats, spread: float) -> Floats:
    """The log-odds, (N,), for u at its mean, of chances that are averages over u.

    Source: MacKay, "The evidence framework applied to classification networks", Neural Computation
    4, 1992: the mean of a logistic function under a normal distribution.
    """
    return _odds(chances) * _widening(np.array(spread))


def _widening(spread: Floats) -> Floats:
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
    language model has readings of its own, ``readings_lm.json``.
    """
    content, entry = read_numbers_file(
        Path(__file__).with_name(name),
        version=VERSION,
        advice="reinstall sears-dsl: its files are of different versions",
    )
    effects = {name: Effect(*numbers) for name, numbers in entry["effects"].items()}
    return Readings(
        float(entry["slope"]), float(entry["shift"]), float(entry["spread"]), effects,
        digest=hashlib.sha256(content).hexdigest(),
    )  # fmt: skip
