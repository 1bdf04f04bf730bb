"""The judge with a language model beside it: ``judge-lm``.

Always holds: S(x, x) = 1; more doubt of the judge, and more of any evidence of the language model
against a rewrite, never raises S. Costs: those of the judge, and of `language_model` for each
rewrite that the judge leaves open, some 0.1 s of one core; where S from a bound on is asked for,
most rewrites are rejected without it.

    S = 1 / (1 + exp(Σ taken_k(evidence_k) − intercept))

over the judge's doubt, `MOST` less its log-odds, and what `language_model.columns_of` says, with
curves as the judge has them, fitted on the same judgements.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from sears_dsl.errors import ModelError
from sears_dsl.judge.evidence import Curves, Pair, named, read_numbers
from sears_dsl.judge.judge import Judge, Reason, load_judge
from sears_dsl.judge.language_model import LIKELIER, LIKELIHOOD, LanguageModel, columns_of
from sears_dsl.judge.readings import Reading, Readings, logistic
from sears_dsl.runtime.array_types import Floats

VERSION = 1
"""Of judge_lm.json."""

DOUBT = "doubt of the judge"
MOST = 8.0
"""Log-odds of the judge from which on it has no doubt."""

_FILE = Path(__file__).with_name("judge_lm.json")
_ANEW = "install the package again, or fit it anew: python -m training.fluent_judge"
# The judge has to be asked for a little less, since chances are compared after rounding.
_ROUNDING = 1e-9


def doubts(chances: Floats) -> Floats:
    """`MOST` less the log-odds of the judge's chances, at least 0."""
    sure = chances.clip(1e-12, 1 - 1e-12)
    return np.maximum(0.0, MOST - (np.log(sure) - np.log1p(-sure)))


@dataclass(frozen=True, eq=False)
class FluentJudge:
    """A scorer that asks the judge first, and then a language model."""

    name = "judge-lm"

    judge: Judge
    language_model: LanguageModel
    curves: Curves
    identity: str
    tau: float

    @property
    def readings(self) -> Readings:
        """What readers said of changes."""
        return self.judge.readings

    def with_readings(self, readings: Sequence[Reading]) -> FluentJudge:
        """This scorer, and what one's own readers said: the judge counts it like what it knows."""
        judge = self.judge.with_readings(readings)
        digest = hashlib.sha256(f"{self.identity}{judge.identity}".encode()).hexdigest()
        return replace(self, judge=judge, identity=f"judge-lm-{digest[:16]}")

    def scores(self, pairs: Sequence[Pair]) -> Floats:
        """S of each pair, in [0, 1]."""
        return self._with_likelihood(pairs, self.judge.scores(pairs))

    def evident_chances(self, pairs: Sequence[Pair]) -> Floats:
        """The chance of acceptance by the evidence alone, without what readers said elsewhere."""
        evident = self.judge.evident_chances(pairs)
        unread = self.readings.chances(evident, [()] * len(pairs))
        return self._with_likelihood(pairs, np.where(evident == 1, 1.0, unread))

    def at_least(self, pairs: Sequence[Pair], tau: float) -> NDArray[np.bool_]:
        """Whether S ≥ ``tau``; the language model is asked where the judge leaves it open."""
        return np.ones(len(pairs), bool) if tau <= 0 else self.scores_from(pairs, tau) > 0

    def scores_from(self, pairs: Sequence[Pair], least: float) -> Floats:
        """S of each pair where S ≥ ``least``, above 0; and 0 where it is less."""
        scores = self._with_likelihood(pairs, self.judge.scores_from(pairs, self._needed(least)))
        return np.where(scores >= least, scores, 0.0)

    def _needed(self, least: float) -> float:
        """The judge's chance below which no likelihood brings S to ``least``; 2 where none does."""
        most = np.arange(0.0, 2 * MOST + 8, 0.01)
        enough = np.flatnonzero(self.curves.chances({DOUBT: most}) >= least)
        if not len(enough):
            return 2.0
        return max(0.0, float(logistic(np.array(MOST - most[enough[-1]] - 0.01))) - _ROUNDING)

    def _with_likelihood(self, pairs: Sequence[Pair], chances: Floats) -> Floats:
        """S, given the judge's; of no change, and of what it rejects, that stays."""
        open_ = np.flatnonzero((chances > 0) & (chances < 1))
        scores = chances.copy()
        if len(open_):
            columns = self._columns([pairs[at] for at in open_.tolist()], chances[open_])
            scores[open_] = self.curves.chances(columns)
        return scores

    def _columns(self, pairs: Sequence[Pair], chances: Floats) -> dict[str, Floats]:
        likelihood = columns_of(self.language_model.nats(pairs))
        return {DOUBT: doubts(chances), **named((*LIKELIHOOD, *LIKELIER), likelihood)}

    def explain(self, original: str, rewrite: str) -> list[Reason]:
        """What speaks against a rewrite, the weightiest first; empty where nothing differs."""
        reasons = self.judge.explain(original, rewrite)
        if not reasons:
            return []
        pair = [(original, rewrite)]
        columns = self._columns(pair, self.judge.scores(pair))
        parts = self.curves.parts(columns)[0]
        reasons += [
            Reason(name, float(columns[name][0]), float(part))
            for name, part in zip(self.curves.names, parts.tolist(), strict=True)
            if name != DOUBT and (columns[name][0] or part)
        ]
        return sorted(reasons, key=lambda reason: -reason.taken)


def load_fluent_judge(
    encoder: Path,
    model: Path,
    *,
    tau: float | None = None,
    device: str | torch.device | None = None,
    numbers: Path = _FILE,
) -> FluentJudge:
    """The shipped one, over the folder of the sentence encoder and the file of the model."""
    weights = read_numbers(
        numbers, version=VERSION, curves=("full",), advice=_ANEW,
        evidence={DOUBT, *LIKELIHOOD, *LIKELIER},
    )  # fmt: skip
    judge = load_judge(encoder, device=device)
    if judge.numbers != weights.entry["sha256"]:
        raise ModelError(
            f"{numbers} was fitted over another judge than the one that is installed", help=_ANEW
        )
    digest = hashlib.sha256(weights.content + judge.identity.encode()).hexdigest()
    return FluentJudge(
        judge,
        LanguageModel(model, device=device),
        weights.curves[0],
        identity=f"judge-lm-{digest[:16]}",
        tau=float(weights.entry["tau"]) if tau is None else tau,
    )
