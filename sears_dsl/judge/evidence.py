"""Evidence about rewrites, and the calibrated sums of it that scorers are.

Always holds: more evidence of any kind against a pair never raises a chance, and leaving out a
column never lowers it. A pair costs some 100 microseconds besides the encoder (see
`sears_dsl.judge.encoder`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
import torch
from numpy.typing import NDArray

from sears_dsl.errors import ModelError
from sears_dsl.judge.changes import Change, changes_of
from sears_dsl.judge.encoder import STATIC, VECTORS, Encoder, PlaceVectors, places_of, turn_angles
from sears_dsl.judge.networks import read_arrays
from sears_dsl.judge.readings import logistic
from sears_dsl.judge.surface import SUPPORT, SURFACE, support_evidence, surface_evidence
from sears_dsl.runtime.array_types import Float32Array, Floats
from sears_dsl.runtime.files import read_numbers_file
from sears_dsl.translation.model_files import carried_encoder


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """The learned arrays of M networks, whose log-odds are averaged.

    Changes that replace content words have weights of their own: where an array has two rows or
    columns, the second is for them and the first for all other changes.
    """

    frequencies: Float32Array  # (pieces,): the logarithm of how often each piece is in English text
    mean: Float32Array  # (NUMBERS,): is subtracted from the numbers
    scale: Float32Array  # (NUMBERS,): divides the differences
    linear: Float32Array  # (2, NUMBERS): weights of the quotients
    bias: Float32Array  # (2,): log-odds of a change whose numbers are average
    projections: Float32Array  # (VECTORS, 384, M · K)
    hidden: Float32Array  # (M, VECTORS · 3 · K, H)
    hidden_bias: Float32Array  # (M, H)
    output: Float32Array  # (M, 2, H)

    def log_odds(self, encoded: PlaceVectors, replaced: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The log-odds (N,) of each change, given which replace content words."""
        # One at a time: in a product of several rows, libraries compute some with other last bits.
        rows = (
            self._log_odds(encoded.old[at], encoded.new[at], encoded.numbers[at], kind)
            for at, kind in enumerate(replaced.astype(int).tolist())
        )
        return np.fromiter(rows, np.float64, len(replaced))

    def _log_odds(
        self, old: Float32Array, new: Float32Array, numbers: Float32Array, kind: int
    ) -> float:
        members = len(self.hidden)
        # A matrix for each kind of vector; the networks were trained on vectors of length 4.
        both = np.matmul(np.stack([old, new], 1) * 4, self.projections)
        one, other = (
            both.reshape(len(old), 2, members, -1).transpose(1, 2, 0, 3).reshape(2, members, 1, -1)
        )
        inputs = np.concatenate([np.abs(one - other), one * other, other - one], 2)
        hidden = np.maximum(np.matmul(inputs, self.hidden)[:, 0] + self.hidden_bias, 0)
        linear = ((numbers - self.mean) / self.scale) @ self.linear[kind] + self.bias[kind]
        return float(linear + (hidden * self.output[:, kind]).sum() / members)


Pair = tuple[str, str]

CONTENT = ("another word", "other words", "other words, further changes", "sentence")
"""The columns of `content_columns`: how far the worst change is from certain, in a column of its
own for texts whose only change replaces content words; how far all other changes are, in sum; how
far the vector of the whole sentence turns."""

_REPLACED = SURFACE.index("content words replaced")
SENSE = VECTORS.index("layer 3")
"""Which vector of the replaced words says in what sense they stand there: in the middle layer,
vectors tell the senses of a word apart better than in the last one."""
CERTAIN = 4.0
"""The log-odds from which on a change is certain: nothing in its content speaks against it."""

_LEARNED = Path(__file__).with_name("judge.npz")


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """A calibrated sum of evidence."""

    intercept: float  # log-odds of a rewrite without any evidence
    names: tuple[str, ...]  # of the columns that are weighed
    points: tuple[Floats, ...]  # for each column the evidence at which its curve bends, rising
    # For each column, what it takes from the log-odds at these points: linear between, constant
    # outside.
    taken: tuple[Floats, ...]
    least: float = 0.0  # the least chance that they give

    def parts(self, columns: Mapping[str, Floats]) -> Floats:
        """What each kind of evidence takes, (N, names); a missing column takes its least."""
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
        """The chance of acceptance, (N,); an upper bound where columns are missing."""
        parts = self.parts(columns)
        odds = np.full(len(parts), self.intercept)
        # In a fixed order, so that rounding is the same in any batch, and a bound stays one.
        for part in parts.T:
            odds = odds - part
        return np.maximum(self.least, logistic(odds))

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Curves:
        """The curves of an entry of judge.json."""
        curves = entry["curves"]
        return cls(
            intercept=float(entry["intercept"]),
            names=tuple(curves),
            points=tuple(np.array(curve["points"], np.float64) for curve in curves.values()),
            taken=tuple(np.array(curve["taken"], np.float64) for curve in curves.values()),
            least=float(entry.get("least", 0.0)),
        )


class EncodedChanges(NamedTuple):
    """What the encoder sees of the changes of pairs, in one flat sequence, pair after pair."""

    odds: Floats  # log-odds that each keeps the meaning
    angles: Floats  # how far each turns the vector of its window
    counts: NDArray[np.int64]  # how many changes each pair has, at least 1
    replaced: NDArray[np.bool_]  # whether each replaces content words
    numbers: Float32Array  # (changes, NUMBERS), the encoder's comparisons
    vectors: Float32Array  # (changes, width), of the replaced words, in the layer of `SENSE`


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Columns of evidence about rewrites, by name, each (N,)."""

    encoder: Encoder
    _content: Content

    def cheap(
        self, pairs: Sequence[Pair], changes: Sequence[Sequence[Change]]
    ) -> dict[str, Floats]:
        """What lists and tables say."""
        columns = surface_columns(pairs)
        static = [self.encoder.static_numbers(each) for each in changes]
        columns.update(named(STATIC, np.array(static, np.float64)))
        return columns

    def encode(self, pairs: Sequence[Pair], changes: Sequence[Sequence[Change]]) -> EncodedChanges:
        """What the encoder sees of each change."""
        places = [places_of(*pair, each) for pair, each in zip(pairs, changes, strict=True)]
        counts = np.array([len(each) for each in places])
        flat = [one for each in places for one in each]
        encoded = self.encoder.encode(flat)
        replaced = replaced_words(pairs, changes)
        odds = self._content.log_odds(encoded, replaced)
        angles, vectors = turn_angles(flat, encoded), encoded.old[:, SENSE]
        return EncodedChanges(odds, angles, counts, replaced, encoded.numbers, vectors)


def content_columns(changes: EncodedChanges) -> dict[str, Floats]:
    """The content evidence of each pair, computed from that of its changes."""
    against = np.maximum(0.0, CERTAIN - changes.odds)
    starts = np.cumsum(changes.counts) - changes.counts
    single = (changes.counts == 1) & changes.replaced[starts]
    worst = np.maximum.reduceat(against, starts)
    further = np.add.reduceat(against, starts) - worst
    turned_most = np.maximum.reduceat(changes.angles, starts)
    columns = np.where(single, worst, 0.0), np.where(single, 0.0, worst), further, turned_most
    return dict(zip(CONTENT, columns, strict=True))


def replaced_words(pairs: Sequence[Pair], changes: Sequence[Sequence[Change]]) -> NDArray[np.bool_]:
    """Whether each change has both old and new words, in a pair where content words are replaced.

    The changes are in one flat sequence, pair after pair.
    """
    replaced = (surface_evidence(pairs)[:, _REPLACED] > 0).tolist()
    return np.array(
        [
            some and bool(change.old) and bool(change.new)
            for some, each in zip(replaced, changes, strict=True)
            for change in each
        ],
        bool,
    )


def differences(original: str, rewrite: str) -> tuple[Change, ...]:
    """The changes of a pair; texts that differ only in how characters are composed have none."""
    same = not original.isascii() and normalize("NFC", original) == normalize("NFC", rewrite)
    return () if same else changes_of(original, rewrite)


def surface_columns(pairs: Sequence[Pair]) -> dict[str, Floats]:
    """The evidence of lists and tables, by name."""
    return {**named(SURFACE, surface_evidence(pairs)), **named(SUPPORT, support_evidence(pairs))}


def named(names: Sequence[str], columns: Floats) -> dict[str, Floats]:
    """The columns of an array by name."""
    return {name: columns[:, place] for place, name in enumerate(names)}


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """The fitted numbers of a scorer."""

    file: Path
    entry: Mapping[str, Any]
    curves: tuple[Curves, ...]
    content: bytes


def read_numbers(
    file: Path, *, version: int, curves: Sequence[str], evidence: Collection[str], advice: str
) -> Numbers:
    """Read a file of fitted numbers; one that does not fit this version is a `ModelError`."""
    content, entry = read_numbers_file(file, version=version, advice=advice)
    try:
        all_curves = tuple(Curves.of(entry[name]) for name in curves)
        _ = entry["sha256"], float(entry["tau"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{file} is of version {version}, but lacks what belongs in it: {error!r}", help=advice
        ) from error
    strange = sorted({name for each in all_curves for name in each.names} - set(evidence))
    if strange:
        raise ModelError(f"{file} has a weight for unknown evidence: {strange[0]}", help=advice)
    return Numbers(file, entry, all_curves, content)


def load_evidence(numbers: Numbers, *, device: str | torch.device | None = None) -> Evidence:
    """Load the sentence encoder and the learned arrays that the numbers were fitted with."""
    arrays = read_arrays(
        _LEARNED, sha256=numbers.entry["sha256"], beside=numbers.file.name,
        advice="reinstall the package, or fit both again: python -m training.judge",
    )  # fmt: skip
    content = Content(**{name: array.astype(np.float32) for name, array in arrays.items()})
    return Evidence(Encoder(carried_encoder(), content.frequencies, device=device), content)
