"""The judge: the chance that most readers would accept a rewrite, out of all evidence there is.

Always holds: S(x, x) = 1, also where only white space differs, unless marks lose or gain it. More
evidence of any kind against a pair never raises S. `Judge.at_least` decides as `Judge.scores` does
(to the rounding of float32). For the cost see `sears_dsl.judge.encoder`, which decisions ask only
where cheap evidence leaves them open.

    evident = min(full, cheap, foreseen, encoded, estimated),
    each  1 / (1 + exp(Σ taken_k(evidence_k) − intercept))

Each ``taken_k`` is piecewise linear and never falls; but for the forecast, it was fitted on
judgements of people. The intercept is for mined rewrites, of which at most one in eight is
acceptable. ``cheap`` uses what is known without the encoder, ``foreseen`` also a forecast of what
networks would say (`sears_dsl.judge.forecast`). ``encoded`` also uses what the encoder sees, and
``estimated`` also the likelihood; they know that the evidence which is missing takes something from
nearly every rewrite. All are generous by construction: they reject only what ``full`` hardly ever
accepts. Those that foresee are at least .04, so that they do not rank what they reject, and do
without a forecast where readers think better of a change than the evidence does, wherever it is.
S is ``evident``, moved by what readers said of the same change in other texts, and where its words
had which sense (`sears_dsl.judge.readings`). It is at most .05 where a space beside a mark is
missing or too many (*fresh,hot bread .*), which no reader accepted. Of several changes in a text
the worst counts, and their number. After the encoder comes how likely a rewrite is, as a network
estimates it (`sears_dsl.judge.estimate`), and last its grammar. ``judge-lm`` asks a language model
for the likelihood instead, and asks it last (`sears_dsl.judge.likelihood`); it has curves and
readings of its own.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from sears_dsl.judge import surface
from sears_dsl.judge.bert import ARITHMETIC
from sears_dsl.judge.changes import Change
from sears_dsl.judge.encoder import STATIC, WIDTH
from sears_dsl.judge.estimate import LikelihoodEstimate, load_likelihood_estimate
from sears_dsl.judge.evidence import (
    CONTENT,
    Curves,
    Evidence,
    Pair,
    content_columns,
    differences,
    load_evidence,
    named,
    read_numbers,
)
from sears_dsl.judge.faults import spacing_faults
from sears_dsl.judge.forecast import FORECAST, Forecast, load_forecast
from sears_dsl.judge.grammar import GRAMMAR, Grammar, load_grammar
from sears_dsl.judge.likelihood import LIKELIER, LIKELIHOOD, LikelihoodModel
from sears_dsl.judge.readings import Reading, Readings, load_readings
from sears_dsl.judge.surface import SUPPORT, SURFACE
from sears_dsl.runtime.array_types import Float32Array, Floats

VERSION = 2
"""The version of judge.json and of the arrays in judge.npz."""

FORESEEN = ("foreseen", "encoded", "estimated")
"""The names that judge.json has for what is foreseen before each stage of evidence."""

READ = "readers elsewhere"
"""The name that `Judge.explain` has for what readers said of the same change in other texts."""

SPACING = "spacing"
"""The name that it has for spaces beside marks that a rewrite lacks or has too many."""

# The most that they leave of S.
_MISSPACED = 0.05
# The column of the spread of what they said.
_SPREAD = "spread of readers elsewhere"

_FOLDER = Path(__file__).parent
# The end of the identity of a judge that was learned with a forecast and does without.
_WITHOUT = "-without-forecast"
_Stage: TypeAlias = Callable[[Sequence[Pair], Sequence[Sequence[Change]]], dict[str, Floats]]
_ANEW = "reinstall the package, or fit a judge again: python -m training.judge"


class Reason(NamedTuple):
    """A kind of evidence about a rewrite."""

    name: str
    value: float
    taken: float  # how much it lowers the log-odds of acceptance; below 0 it raises them


@dataclass(frozen=True, eq=False)
class Judge:
    """A scorer that was fitted to agree with readers."""

    full: Curves
    cheap: Curves  # what is known without the encoder
    # What is foreseen from the evidence before each stage of `stages`; empty without a forecast
    foreseen: tuple[Curves, ...]
    forecast: Forecast | None
    evidence: Evidence
    grammar: Grammar
    readings: Readings
    identity: str
    # The least S that counts as accepted: from .5 on most readers would accept a rewrite.
    tau: float
    likelihood: LikelihoodEstimate | LikelihoodModel

    @property
    def name(self) -> str:
        """``judge``, or ``judge-lm``, which asks a language model."""
        return "judge-lm" if isinstance(self.likelihood, LikelihoodModel) else "judge"

    def with_readings(self, readings: Sequence[Reading]) -> Judge:
        """This judge with further readings, which count like those that it already has."""
        # Without a forecast, like those: one that readers refute would count for them.
        pairs = [reading[:2] for reading in readings]
        evident = self.without_forecast().evident_chances(pairs)
        known = self.readings.with_readings(readings, evident, self.vectors(pairs))
        digest = hashlib.sha256(f"{self.identity}{known.digest}".encode()).hexdigest()
        return replace(self, readings=known, identity=f"judge-{digest[:16]}")

    def without_forecast(self) -> Judge:
        """This judge without its forecast; it reads more texts, and has an identity of its own."""
        if self.forecast is None:
            return self
        identity = f"{self.identity}{_WITHOUT}"
        return replace(self, foreseen=(), forecast=None, identity=identity)

    def vectors(self, pairs: Sequence[Pair]) -> Float32Array:
        """The vectors, (N, width), of the words that the first change of each pair replaces."""
        changes = [differences(*pair) for pair in pairs]
        differing = np.flatnonzero([bool(each) for each in changes])
        vectors = np.zeros((len(pairs), WIDTH), np.float32)
        if len(differing):
            some = [(pairs[at], changes[at]) for at in differing.tolist()]
            encoded = self.evidence.encode(*map(list, zip(*some, strict=True)))
            vectors[differing] = encoded.vectors[np.cumsum(encoded.counts) - encoded.counts]
        return vectors

    def scores(self, pairs: Sequence[Pair]) -> Floats:
        """S of each pair, in [0, 1]."""
        return self.scores_from(pairs, 0.0)

    def evident_chances(self, pairs: Sequence[Pair]) -> Floats:
        """The chance of acceptance by the evidence; readers only decide if a forecast counts."""
        return self._scores(pairs, 0.0, chances=lambda evident, *_: evident)

    def at_least(self, pairs: Sequence[Pair], tau: float) -> NDArray[np.bool_]:
        """Whether S ≥ ``tau``; asks the encoder only where cheap evidence leaves it open."""
        return np.ones(len(pairs), bool) if tau <= 0 else self.scores_from(pairs, tau) > 0

    def scores_from(self, pairs: Sequence[Pair], least: float) -> Floats:
        """S of each pair with S ≥ ``least``, and 0 for the others."""
        scores = self._scores(pairs, least, chances=self.readings.chances)
        misspaced = np.array([spacing_faults(*pair) > 0 for pair in pairs], bool)
        scores[misspaced] = np.minimum(scores[misspaced], _MISSPACED)
        return np.where(scores >= least, scores, 0.0)

    def _scores(
        self,
        pairs: Sequence[Pair],
        least: float,
        *,
        chances: Callable[[Floats, Floats, Floats], Floats],
    ) -> Floats:
        changes = [differences(*pair) for pair in pairs]
        scores = np.array([float(not each) for each in changes])
        differing = np.flatnonzero(scores == 0)
        if not len(differing) or least > 1:
            return scores * (least <= 1)
        pairs = [pairs[at] for at in differing.tolist()]
        changes = [changes[at] for at in differing.tolist()]
        columns = self.evidence.cheap(pairs, changes)
        if self.forecast is not None:
            # It knows less of a change than readers who accept it.
            accepted = self.readings.effects_of(changes)[0] > 0
            columns[FORECAST] = np.where(accepted, 0, self.forecast.taken(pairs, changes))
        most = self.cheap.chances(columns)
        thresholds = np.zeros(len(pairs))
        if least > 0:
            thresholds = self.readings.least(least, *self.readings.bounds_of(changes))
        open_ = np.arange(len(pairs))
        for stage, foreseen in zip_longest(self.stages, self.foreseen):
            if foreseen is not None:
                most[open_] = np.minimum(most[open_], foreseen.chances(columns))
            if least > 0:
                # More evidence can only lower a chance: a pair below without it is below with it.
                evident = np.minimum(most[open_], self.full.chances(columns))
                still = np.flatnonzero(evident >= thresholds[open_])
                columns = {name: values[still] for name, values in columns.items()}
                open_ = open_[still]
            if not len(open_):
                return scores
            places = open_.tolist()
            columns.update(stage([pairs[at] for at in places], [changes[at] for at in places]))
            if least > 0:
                thresholds[open_] = self.readings.least(least, columns[READ], columns[_SPREAD])
        evident = np.minimum(most[open_], self.full.chances(columns))
        passing = np.flatnonzero(evident >= thresholds[open_])
        effects = columns[READ][passing], columns[_SPREAD][passing]
        scores[differing[open_[passing]]] = chances(evident[passing], *effects)
        return scores

    @property
    def stages(self) -> tuple[_Stage, ...]:
        """The evidence of networks, the cheapest first; the first has the effects of readings."""

        def content(
            pairs: Sequence[Pair], changes: Sequence[Sequence[Change]]
        ) -> dict[str, Floats]:
            encoded = self.evidence.encode(pairs, changes)
            effects = self.readings.effects_of(changes, encoded.vectors)
            return content_columns(encoded) | named((READ, _SPREAD), np.stack(effects, axis=1))

        def grammar(pairs: Sequence[Pair], _: Sequence[Sequence[Change]]) -> dict[str, Floats]:
            return named(GRAMMAR, self.grammar.evidence(pairs))

        def likelihood(pairs: Sequence[Pair], _: Sequence[Sequence[Change]]) -> dict[str, Floats]:
            return named((*LIKELIHOOD, *LIKELIER), self.likelihood.columns(pairs))

        if isinstance(self.likelihood, LikelihoodModel):
            return content, grammar, likelihood
        return content, likelihood, grammar

    def explain(self, original: str, rewrite: str) -> list[Reason]:
        """The reasons against a rewrite, the weightiest first; none where nothing differs.

        The weight of `SPACING`, which is a bound of S, is what takes a rewrite without any other
        evidence to that bound.
        """
        reasons = []
        misspaced = spacing_faults(original, rewrite)
        if misspaced:
            taken = self.full.intercept - math.log(_MISSPACED / (1 - _MISSPACED))
            reasons.append(Reason(SPACING, float(misspaced), taken))
        changes = differences(original, rewrite)
        if not changes:
            return reasons
        columns: dict[str, Floats] = {}
        for stage in (self.evidence.cheap, *self.stages):
            columns.update(stage([(original, rewrite)], [changes]))
        parts = self.full.parts(columns)[0]
        reasons += [
            Reason(name, float(columns[name][0]), float(part))
            for name, part in zip(self.full.names, parts.tolist(), strict=True)
            if columns[name][0] or part
        ]
        effect = float(columns[READ][0])
        if effect:
            reasons.append(Reason(READ, effect, -effect))
        return sorted(reasons, key=lambda reason: -reason.taken)


def load_judge(
    *,
    tau: float | None = None,
    device: str | torch.device | None = None,
    language_model: Path | None = None,
    forecast: bool = True,
) -> Judge:
    """Load the shipped judge, or ``judge-lm`` if the file of a language model is given.

    Args:
        forecast: whether the judge has its forecast; judge-lm, from which none was learned, has
            none.
    """
    name = "judge.json" if language_model is None else "judge_lm.json"
    foreseen = FORESEEN if forecast and language_model is None else ()
    weights = read_numbers(
        _FOLDER / name, version=VERSION, curves=("full", "cheap", *foreseen), advice=_ANEW,
        evidence={
            *SURFACE, *SUPPORT, *STATIC, FORECAST, *CONTENT, *GRAMMAR, *LIKELIHOOD, *LIKELIER,
        },
    )  # fmt: skip
    full, cheap, *learned = weights.curves
    evidence = load_evidence(weights, device=device)
    readings = load_readings("readings.json" if language_model is None else "readings_lm.json")
    grammar = load_grammar()
    versions = f"{readings.digest}{grammar.identity}{surface.VERSION}{ARITHMETIC}"
    likelihood: LikelihoodEstimate | LikelihoodModel
    if language_model is None:
        likelihood = load_likelihood_estimate()
        versions += likelihood.digest
    else:
        likelihood = LikelihoodModel(language_model, device=device)
    digest = hashlib.sha256(weights.content + versions.encode()).hexdigest()
    identity, network = f"judge-{digest[:16]}", None
    if foreseen:
        sha256 = str(weights.entry["forecast"]["sha256"])
        network = load_forecast(evidence.encoder, sha256=sha256)
    elif language_model is None:
        identity += _WITHOUT
    return Judge(
        full,
        cheap,
        tuple(learned),
        forecast=network,
        evidence=evidence,
        grammar=grammar,
        readings=readings,
        identity=identity,
        tau=float(weights.entry["tau"]) if tau is None else tau,
        likelihood=likelihood,
    )
