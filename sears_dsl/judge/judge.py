"""The judge: the chance that most readers would accept a rewrite, out of all evidence there is.

In: pairs (original, rewrite). Out: S in [0, 1] for each. Always holds: S(x, x) = 1, and so where
only white space differs; more of any kind of evidence against a pair never raises S;
`Judge.at_least` takes the decisions of `Judge.scores` (to the rounding of float32). Costs: see
`sears_dsl.judge.encoder`; decisions ask the encoder only where cheap evidence leaves it open.

    evident = min(full, cheap),  each  1 / (1 + exp(Σ taken_k(evidence_k) − intercept))

where ``taken_k`` never falls, is piecewise linear and was fitted on judgements of people, with an
intercept for rewrites as mining gives them, of which about one in eight is acceptable. ``cheap``
is of what is known without the encoder, generous by construction: it only rejects what ``full``
hardly ever accepts. What readers said of the same change elsewhere moves it
(`sears_dsl.judge.readings`): that is S. Of several changes in a text the worst counts, and how
many there are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
import torch
from numpy.typing import NDArray

from sears_dsl.errors import ModelError
from sears_dsl.judge.changes import Change, changes_of
from sears_dsl.judge.content import Content, load_content
from sears_dsl.judge.encoder import ALONE, Encoder, places_of, turned
from sears_dsl.judge.grammar import GRAMMAR, Grammar, load_grammar
from sears_dsl.judge.readings import Readings, load_readings
from sears_dsl.judge.surface import SUPPORT, SURFACE, support_evidence, surface_evidence
from sears_dsl.runtime.documents import parse_json

Pair = tuple[str, str]
Floats = NDArray[np.float64]

VERSION = 1
"""Of judge.json."""

CONTENT = ("another word", "other words", "other words, further changes", "sentence")
"""What `content_columns` gives: how far the worst change is from certain, apart for texts that
differ in one place, where content words are replaced; how far all others are; how far the vector of
the whole sentence turns."""

READ = "readers elsewhere"
"""What `Judge.explain` calls what readers said of the same change in other texts."""

_REPLACED = SURFACE.index("content words replaced")
_FOLDER = Path(__file__).parent
_ANEW = "install the package again, or fit a judge anew: python -m training.judge"
# Log-odds of content from which on nothing speaks against a change.
_CERTAIN = 4.0
# exp of 700 is the largest that float64 holds well.
_MOST = 700.0


class Reason(NamedTuple):
    """A kind of evidence about a rewrite.

    Attributes:
        name: of the evidence.
        value: how much there is.
        taken: how much it takes from the log-odds of acceptance; below 0 it speaks for it.
    """

    name: str
    value: float
    taken: float


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """A calibrated sum of evidence.

    Attributes:
        intercept: log-odds of a rewrite without any evidence.
        names: of the columns that are weighed.
        points: for each column the evidence at which its curve bends, rising.
        taken: for each column what is taken there; between them it is linear, outside constant.
    """

    intercept: float
    names: tuple[str, ...]
    points: tuple[Floats, ...]
    taken: tuple[Floats, ...]

    def parts(self, columns: Mapping[str, Floats]) -> Floats:
        """What each kind of evidence takes, (N, names); of one that is not there the least."""
        count = len(next(iter(columns.values())))
        return np.stack(
            [
                np.interp(columns[name], points, taken)
                if name in columns
                else np.full(count, taken.min())
                for name, points, taken in zip(self.names, self.points, self.taken, strict=True)
            ],
            axis=1,
        )

    def chances(self, columns: Mapping[str, Floats]) -> Floats:
        """The chance of acceptance, (N,); at most that where columns are missing."""
        parts = self.parts(columns)
        odds = np.full(len(parts), self.intercept)
        # In a fixed order, so that rounding is the same in any company, and a bound stays one.
        for part in parts.T:
            odds = odds - part
        return np.asarray(1 / (1 + np.exp(-np.clip(odds, -_MOST, _MOST))))

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Curves:
        """The curves of an entry of judge.json."""
        curves = entry["curves"]
        return cls(
            intercept=float(entry["intercept"]),
            names=tuple(curves),
            points=tuple(np.array(curve["points"], np.float64) for curve in curves.values()),
            taken=tuple(np.array(curve["taken"], np.float64) for curve in curves.values()),
        )


class Judge:
    """A scorer that agrees with readers.

    Args:
        cheap: the curves of what is known without the encoder.
        full: the curves of all evidence.
        evidence: what is known about rewrites.
        readings: what readers said of the same changes elsewhere.
        identity: of all models and numbers.
        tau: the least S that counts as accepted: from .5 on most readers would accept a rewrite.

    Example:
        >>> from sears_dsl.meaning.scorers import load_scorer
        >>> judge = load_scorer("judge")
        >>> pairs = [("A good film.", "A good movie."), ("A good film.", "A bad film.")]
        >>> judge.at_least(pairs, judge.tau).tolist()
        [True, False]
    """

    name = "judge"

    def __init__(
        self,
        cheap: Curves,
        full: Curves,
        *,
        evidence: Evidence,
        readings: Readings,
        identity: str,
        tau: float,
    ) -> None:
        self.cheap = cheap
        self.full = full
        self.evidence = evidence
        self.readings = readings
        self.identity = identity
        self.tau = tau

    def scores(self, pairs: Sequence[Pair]) -> Floats:
        """S of each pair, in [0, 1]."""
        return self._scores(pairs, self.readings.chances)

    def evident_chances(self, pairs: Sequence[Pair]) -> Floats:
        """The chance of acceptance by the evidence alone, without what readers said elsewhere."""
        return self._scores(pairs, lambda evident, _: evident)

    def _scores(
        self,
        pairs: Sequence[Pair],
        believed: Callable[[Floats, Sequence[Sequence[Change]]], Floats],
    ) -> Floats:
        changes = [_changes(*pair) for pair in pairs]
        differing = np.flatnonzero([bool(each) for each in changes])
        found = np.ones(len(pairs))
        if len(differing):
            some = [pairs[at] for at in differing.tolist()]
            theirs = [changes[at] for at in differing.tolist()]
            columns = self.evidence.cheap(some, theirs)
            cheap = self.cheap.chances(columns)
            columns.update(self.evidence.dear(some, theirs))
            evident = np.minimum(cheap, self.full.chances(columns))
            found[differing] = believed(evident, theirs)
        return found

    def at_least(self, pairs: Sequence[Pair], tau: float) -> NDArray[np.bool_]:
        """Whether S ≥ ``tau``; the encoder is asked about pairs that cheap evidence leaves open."""
        if tau <= 0:
            return np.ones(len(pairs), bool)
        changes = [_changes(*pair) for pair in pairs]
        decisions = np.array([not each for each in changes], bool)
        differing = np.flatnonzero(~decisions)
        if not len(differing) or tau > 1:
            return decisions & (tau <= 1)
        some = [pairs[at] for at in differing.tolist()]
        theirs = [changes[at] for at in differing.tolist()]
        columns = self.evidence.cheap(some, theirs)
        chances = np.minimum(self.cheap.chances(columns), self.full.chances(columns))
        least = self.readings.least(tau, theirs)
        open_ = np.flatnonzero(chances >= least)
        columns = {name: values[open_] for name, values in columns.items()}
        # Evidence that is missing only takes: who is below τ without it is below τ with it.
        for stage in (self.evidence.content, self.evidence.grammar):
            if not len(open_):
                break
            asked = open_.tolist()
            columns.update(stage([some[at] for at in asked], [theirs[at] for at in asked]))
            kept = np.flatnonzero(self.full.chances(columns) >= least[open_])
            columns = {name: values[kept] for name, values in columns.items()}
            open_ = open_[kept]
        decisions[differing[open_]] = True
        return decisions

    def explain(self, original: str, rewrite: str) -> list[Reason]:
        """What speaks against a rewrite, the weightiest first; empty where nothing differs.

        Example:
            >>> from sears_dsl.meaning.scorers import load_scorer
            >>> reasons = load_scorer("judge").explain("He is here.", "He was here.")
            >>> bool(reasons[0].taken >= reasons[-1].taken)
            True
        """
        changes = _changes(original, rewrite)
        if not changes:
            return []
        columns = self.evidence.cheap([(original, rewrite)], [changes])
        columns.update(self.evidence.dear([(original, rewrite)], [changes]))
        parts = self.full.parts(columns)[0]
        reasons = [
            Reason(name, float(columns[name][0]), float(part))
            for name, part in zip(self.full.names, parts.tolist(), strict=True)
            if columns[name][0] or part
        ]
        mean, _ = self.readings.effects_of([changes])
        if mean[0]:
            reasons.append(Reason(READ, float(mean[0]), -float(mean[0])))
        return sorted(reasons, key=lambda reason: -reason.taken)


class Evidence:
    """Columns of evidence about rewrites, by name, each (N,).

    Args:
        encoder: gives the vectors of changed words.
        content: makes log-odds of these.
        grammar: knows what English looks like.
    """

    def __init__(self, encoder: Encoder, content: Content, grammar: Grammar) -> None:
        self._encoder = encoder
        self._content = content
        self._grammar = grammar

    def cheap(
        self, pairs: Sequence[Pair], changes: Sequence[Sequence[Change]]
    ) -> dict[str, Floats]:
        """What lists, tables and the words alone say."""
        columns = {
            **_named(SURFACE, surface_evidence(pairs)),
            **_named(SUPPORT, support_evidence(pairs)),
        }
        alone = [self._encoder.alone(each) for each in changes]
        columns.update(_named(ALONE, np.array(alone, np.float64)))
        return columns

    def dear(self, pairs: Sequence[Pair], changes: Sequence[Sequence[Change]]) -> dict[str, Floats]:
        """What the encoder sees, and how English the rewrite reads."""
        return {**self.content(pairs, changes), **self.grammar(pairs, changes)}

    def content(
        self, pairs: Sequence[Pair], changes: Sequence[Sequence[Change]]
    ) -> dict[str, Floats]:
        """What the encoder sees."""
        places = [places_of(*pair, each) for pair, each in zip(pairs, changes, strict=True)]
        counts = np.array([len(each) for each in places])
        flat = [one for each in places for one in each]
        seen = self._encoder.seen(flat)
        return content_columns(
            self._content.log_odds(seen), turned(flat, seen), counts, single_words(pairs, changes)
        )

    def grammar(
        self, pairs: Sequence[Pair], _changes: Sequence[Sequence[Change]]
    ) -> dict[str, Floats]:
        """How English the rewrite reads."""
        return _named(GRAMMAR, self._grammar.evidence(pairs))


def content_columns(
    odds: Floats, angles: Floats, counts: NDArray[np.int64], single: NDArray[np.bool_]
) -> dict[str, Floats]:
    """The evidence of content of texts out of that of their changes.

    Args:
        odds: of all changes, those of a text one after another.
        angles: likewise how far each turns the vector of its window.
        counts: how many changes each text has, at least 1.
        single: which texts differ in one place, where content words are replaced.
    """
    against = np.maximum(0.0, _CERTAIN - odds)
    starts = np.cumsum(counts) - counts
    worst = np.maximum.reduceat(against, starts)
    further = np.add.reduceat(against, starts) - worst
    turned_most = np.maximum.reduceat(angles, starts)
    columns = np.where(single, worst, 0.0), np.where(single, 0.0, worst), further, turned_most
    return dict(zip(CONTENT, columns, strict=True))


def single_words(pairs: Sequence[Pair], changes: Sequence[Sequence[Change]]) -> NDArray[np.bool_]:
    """Which pairs differ in one place, where content words are replaced, (N,)."""
    replaced = surface_evidence(pairs)[:, _REPLACED] > 0
    alone = [len(each) == 1 and bool(each[0].old) and bool(each[0].new) for each in changes]
    return np.asarray(replaced & np.array(alone, bool))


def _changes(original: str, rewrite: str) -> tuple[Change, ...]:
    """What differs; characters that are composed otherwise do not."""
    same = not original.isascii() and normalize("NFC", original) == normalize("NFC", rewrite)
    return () if same else changes_of(original, rewrite)


def _named(names: Sequence[str], columns: NDArray[np.float64]) -> dict[str, Floats]:
    return {name: columns[:, place] for place, name in enumerate(names)}


def load_judge(
    folder: Path,
    *,
    tau: float | None = None,
    device: str | torch.device | None = None,
    numbers: Path | None = None,
) -> Judge:
    """The shipped judge.

    Args:
        folder: of the sentence encoder all-MiniLM-L6-v2.
        tau: another threshold than the shipped one.
        device: where to compute; the CPU if None.
        numbers: another file than the shipped judge.json, with its ``judge.npz`` beside it.

    Raises:
        ModelError: a file cannot be read, belongs to another version, or is damaged.
    """
    file = _FOLDER / "judge.json" if numbers is None else numbers
    try:
        content = file.read_bytes()
        entry = parse_json(content.decode("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read: {error}", help=_ANEW) from error
    version = entry.get("version") if isinstance(entry, dict) else None
    if version != VERSION:
        raise ModelError(
            f"{file} is a judge of version {version}, and this package reads version {VERSION}",
            help=_ANEW,
        )
    learned = load_content(file.with_suffix(".npz"), entry["sha256"])
    evidence = Evidence(
        Encoder(folder, learned.frequencies, device=device), learned, load_grammar()
    )
    readings = load_readings()
    cheap, full = Curves.of(entry["cheap"]), Curves.of(entry["full"])
    known = {*SURFACE, *SUPPORT, *ALONE, *CONTENT, *GRAMMAR}
    strange = sorted({*cheap.names, *full.names} - known)
    if strange:
        raise ModelError(f"{file} weighs evidence that there is not: {strange[0]}", help=_ANEW)
    return Judge(
        cheap,
        full,
        evidence=evidence,
        readings=readings,
        identity=f"judge-{hashlib.sha256(content + readings.digest.encode()).hexdigest()[:16]}",
        tau=float(entry["tau"]) if tau is None else tau,
    )
