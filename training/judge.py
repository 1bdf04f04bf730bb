"""Makes the judge: ``python -m training.judge --data FOLDER --keep FOLDER``.

In: the judgements of `training.judgements`; all data from one folder, which ``SEARS_DATA`` names
as well. Out: ``judge.npz``, what was learned about contents; ``judge.json``, the curves of all
evidence with their provenance; ``readings.json`` and ``sentence_meaning.json``; a line about each
step. Always holds: the same files, versions and seed give the same judge (to rounding); all
readings count or nothing is made. A fifth of the targets of SWORDS and one in ten rules and swaps
take no part; their figures are printed last, for the model card. Costs: the encoder reads all in
some ten minutes on one core (``--keep`` saves the result); learning takes four minutes.

1. Content (`training.content`) is learned in two folds, so that the curves see log-odds of changes
that it did not learn from. Words of the PPDB sample, without context, are its second task. 2. The
curves are fitted by logistic regression: piecewise linear and monotonic. Each kind of
judgements has an intercept of its own, since people who grade sentences and people who grade
substitutes do not mean the same by "acceptable". 3. The intercept, with a slope of 0.2 to 1.5, is
fitted on what rules do: substitutes from a thesaurus (one in eight is acceptable), with accepted
and spoiled rewrites at the same rate. 4. The cheap curves are fitted likewise, without what the
encoder sees, then moved until they reject one in a hundred of what the full ones accept at τ.
5. What readers accept of each change beyond the evidence (`training.readings`) goes into
``readings.json``. 6. The curves of whole sentences are fitted on graded sentences and made
substitutions alone, for ``sentence_meaning.json``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.judged_pairs import FURTHER, MADE, load_set
from benchmarks.judged_rewrites import FILE, READ, JudgedRewrite, read_judged_rewrites
from benchmarks.record import DATA
from sears_dsl.errors import DataError, UsageError
from sears_dsl.judge.changes import changes_of
from sears_dsl.judge.encoder import (
    NUMBERS,
    STATIC,
    Encoder,
    Place,
    PlaceVectors,
    places_of,
    turn_angles,
)
from sears_dsl.judge.estimate import LikelihoodEstimate, load_likelihood_estimate
from sears_dsl.judge.evidence import (
    SENSE,
    Content,
    Curves,
    EncodedChanges,
    content_columns,
    named,
    replaced_words,
    surface_columns,
)
from sears_dsl.judge.grammar import GRAMMAR, Grammar, load_grammar
from sears_dsl.judge.judge import FORESEEN, VERSION
from sears_dsl.judge.likelihood import LIKELIER, LIKELIHOOD
from sears_dsl.judge.surface import SUPPORT, SURFACE
from sears_dsl.meaning.calibration import operating_curve
from sears_dsl.meaning.sentence_meaning import (
    FEW,
    OF_SENTENCES,
    chances,
    numbers_replaced,
    sentence_columns,
)
from sears_dsl.meaning.sentence_meaning import VERSION as MEANING_VERSION
from sears_dsl.runtime.array_types import Floats
from sears_dsl.runtime.files import write_atomically
from sears_dsl.translation.model_files import carried_encoder
from sears_dsl.translation.weight_file import file_hash
from training.command import run
from training.content import Examples, half, learn_content
from training.detector import encoder_tokenizer
from training.judgements import (
    Judgement,
    graded,
    in_context,
    miswritten,
    phrases,
    plain_english,
    ruled,
    spoiled,
    strayed,
    swords,
)
from training.readings import readings_file, readings_of
from training.records import (
    digest,
    load_arrays,
    load_or_compute,
    save_arrays,
    show,
    today,
    write_json,
)
from training.weight_files import learned_bytes

FOLDS = 2
_ALL_EVIDENCE = "all-evidence.npz"
_SHIPPED = Path("sears_dsl/judge")
_COMMAND, _ENCODER = "python -m training.judge --data FOLDER --keep FOLDER", "all-MiniLM-L6-v2"
#: Marks a set as seen by the shipped content, not by one that learned from the other folds.
SHIPPED = "shipped "
#: Of 415 mined rewrites 9% were accepted (7% to 12%). This is the upper end, since most of the
#: others are junk that no rule proposes twice.
BASE_RATE = 1 / 8
_WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")
#: The evidence that counts where whole sentences differ in few words.
ABOUT_FEW = (
    "sentence", "sentence as it is", "another word", "other content", "unlike content",
    "content words exchanged", "words moved", "negation", "opposite", "other thing of its kind",
    "number", "number replaced",
)  # fmt: skip
#: The evidence that counts where they differ in many.
ABOUT_MANY = ("sentence", "share of words changed", "negation", "opposite", "number", "name")


def part(text: str, count: int, purpose: str) -> int:
    """A number below ``count``, from the hash of a text."""
    return int.from_bytes(hashlib.sha256(f"{purpose} {text}".encode()).digest()[:4]) % count


# --- curves ----------------------------------------------------------------------------------


def fit_curves(
    columns: Mapping[str, Floats],
    shares: Floats,
    kinds: NDArray[np.int64],
    weights: Floats,
    *,
    helps: Sequence[str] = (),
    penalty: float = 1.0,
) -> Curves:
    """Fit monotonic curves of evidence by logistic regression.

    Args:
        columns: evidence by name, each (N,).
        shares: (N,) of readers who accept.
        kinds: (N,) each kind has an intercept of its own; the curves get that of kind 0.
        weights: (N,) what each judgement counts.
        helps: the names of evidence that speaks for a rewrite.
        penalty: on the squares of the rises.
    """
    names, points, blocks = [], [], []
    for name, values in columns.items():
        knots = _knots(values)
        if len(knots) < 2:
            continue
        names.append(name)
        points.append(knots)
        ramps = [np.clip((values - low) / (high - low), 0, 1) for low, high in pairwise(knots)]
        blocks.append(np.stack(ramps, 1) * (1 if name in helps else -1))
    design = np.hstack([*blocks, np.eye(int(kinds.max()) + 1)[kinds]])
    rises = sum(block.shape[1] for block in blocks)
    each = weights / weights.mean()

    def loss(weights_now: Floats) -> tuple[float, Floats]:
        odds = design @ weights_now
        value = each @ (np.logaddexp(0, odds) - shares * odds)
        slope = design.T @ (each * (1 / (1 + np.exp(-odds)) - shares))
        slope[:rises] += penalty * weights_now[:rises]
        return float(value + penalty * (weights_now[:rises] ** 2).sum() / 2), slope

    bounds = [(0, None)] * rises + [(None, None)] * (design.shape[1] - rises)
    best = minimize(
        loss, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": 400},
    ).x  # fmt: skip
    taken, at = [], 0
    for name, knots in zip(names, points, strict=True):
        sign = -1 if name in helps else 1
        steps = best[at : at + len(knots) - 1]
        at += len(steps)
        taken.append(sign * np.r_[0.0, np.cumsum(steps)])
    used = [number for number, each_ in enumerate(taken) if np.abs(each_).max() > 1e-3]
    return Curves(
        intercept=float(best[rises]),
        names=tuple(names[number] for number in used),
        points=tuple(points[number] for number in used),
        taken=tuple(taken[number] for number in used),
    )


def _knots(values: Floats) -> Floats:
    """Where a curve may bend: at 0 and at quantiles of the values above it."""
    above = values[values > 1e-9]
    if len(above) < 20:
        return np.zeros(1)
    return np.unique(
        np.r_[0.0, np.round(np.quantile(above, (0.02, 0.1, 0.25, 0.5, 0.75, 0.95)), 3)]
    )


def recall_at(scores: Floats, good: NDArray[np.bool_], precision: float = 0.9) -> float:
    """The largest recall at a precision, where both kinds weigh the same."""
    positive, negative = np.sort(scores[good])[::-1], np.sort(scores[~good])
    wrong = 1 - np.searchsorted(negative, positive, side="left") / len(negative)
    right = np.arange(1, len(positive) + 1) / len(positive)
    fine = right / (right + wrong) >= precision
    return float(right[fine].max()) if fine.any() else 0.0


# --- all of it -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """Judgements with what the encoder sees."""

    judgements: list[Judgement]  # N of them
    counts: NDArray[np.int64]  # (N,) how many changes each has
    places: PlaceVectors  # what the encoder sees of each change
    angles: Floats  # how far each change turns the vectors of its window
    replaced: NDArray[np.bool_]  # which changes replace content words


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """The models that read judgements, and where their results are saved."""

    encoder: Encoder  # sees changes
    grammar: Grammar  # knows what English looks like
    likelihood: LikelihoodEstimate  # estimates how likely rewrites are
    keep: Path  # the folder of saved results


def read(
    name: str, judgements: Sequence[Judgement], models: Models, *, context: bool = True
) -> Read:
    """What the encoder sees of judgements."""
    changes = [changes_of(each.original, each.rewrite) for each in judgements]
    changed = [(one, some) for one, some in zip(judgements, changes, strict=True) if some]
    judgements, changes = [one for one, _ in changed], [some for _, some in changed]
    if context:
        places = [
            places_of(one.original, one.rewrite, some)
            for one, some in zip(judgements, changes, strict=True)
        ]
    else:
        places = [
            [Place(one.original, 0, len(one.original), one.rewrite, 0, len(one.rewrite))]
            for one in judgements
        ]
    counts = np.array([len(each) for each in places])
    flat = [place for each in places for place in each]

    def encoded() -> dict[str, Any]:
        parts = []
        for begin in range(0, len(flat), 2000):
            # Half the precision takes less than half the time.
            with torch.autocast("cpu", torch.bfloat16):
                parts.append(models.encoder.encode(flat[begin : begin + 2000]))
            show(f"{name}: read {begin + len(parts[-1].numbers)} of {len(flat)}")
        old, new, numbers = (np.concatenate(each) for each in zip(*parts, strict=True))
        return {"old": old.astype(np.float16), "new": new.astype(np.float16), "numbers": numbers}

    frequencies = hashlib.sha256(models.encoder.frequencies.tobytes()).digest()
    file = models.keep / f"{name}-{digest((flat, NUMBERS, frequencies))}.npz"
    arrays = load_or_compute(file, encoded)
    vectors = PlaceVectors(*(arrays[each].astype(np.float32) for each in ("old", "new", "numbers")))
    pairs = [(one.original, one.rewrite) for one in judgements]
    # Phrases without context mostly consist of content words.
    replaced = replaced_words(pairs, changes) if context else np.ones(len(flat), bool)
    return Read(judgements, counts, vectors, turn_angles(flat, vectors), replaced)


def read_networks(name: str, pairs: Sequence[tuple[str, str]], models: Models) -> dict[str, Floats]:
    """How the rewrites read as English, and how likely they are.

    A saved result holds for one grammar and one estimate of likelihood.
    """

    def saved(identity: str, names: Sequence[str], ask: Callable[[Any], Floats]) -> dict[str, Any]:
        def in_portions() -> dict[str, Floats]:
            parts = []
            for begin in range(0, len(pairs), 1000):
                parts.append(ask(pairs[begin : begin + 1000]))
                show(f"{name}: {names[0]} of {begin + len(parts[-1])} of {len(pairs)}")
            return named(names, np.concatenate(parts))

        return load_or_compute(models.keep / f"{name}-{digest((identity, pairs))}.npz", in_portions)

    grammar, likelihood = models.grammar, models.likelihood
    return saved(grammar.identity, GRAMMAR, grammar.evidence) | saved(
        likelihood.digest, (*LIKELIHOOD, *LIKELIER), likelihood.columns
    )


def mined(rewrites: Sequence[JudgedRewrite]) -> list[Judgement]:
    """Mined rewrites with the share of readings that accept them, ordered by first reading.

    If one rewrite of a change is in the report, all are. One reading makes nothing certain.
    """
    reported = {one.rule.lower() for one in rewrites if one.part == "report"}
    readings: dict[tuple[str, str], list[JudgedRewrite]] = {}
    for one in rewrites:
        readings.setdefault((one.original, one.rewrite), []).append(one)
    judgements = []
    for (original, rewrite), some in readings.items():
        share = min(max(sum(one.accepted for one in some) / len(some), 0.05), 0.95)
        change = some[0].rule.lower()
        part_ = "report" if change in reported else "fit"
        judgements.append(
            Judgement(original, rewrite, share, f"mined {some[0].set} {part_}", change)
        )
    return judgements


def held_out(judgement: Judgement) -> bool:
    """Whether a judgement serves only for the final figures."""
    if judgement.source.startswith("mined"):
        return judgement.source.endswith("report")
    parts = 5 if judgement.source == "swords" else 10
    return hashlib.sha256(judgement.group.encode()).digest()[0] % parts == 0


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """Judgements with the columns that the curves weigh."""

    judgements: list[Judgement]
    columns: dict[str, Floats]

    @property
    def shares(self) -> Floats:
        """The share of readers who accept each."""
        return np.array([one.share for one in self.judgements])

    @property
    def held_out(self) -> NDArray[np.bool_]:
        """Which judgements take no part in the fit."""
        return np.array([held_out(one) for one in self.judgements])


def weighed(name: str, of: Read, odds: Floats, models: Models) -> Weighed:
    """All evidence about some of the judgements, given the log-odds of all changes.

    Grammar is not read for whole sentences that the judge is not fitted on. Graded sentences also
    get the evidence that only the curves of whole sentences use; the judge's curves leave it out,
    because other sets do not have it.
    """
    drawn = np.random.default_rng(5).permutation(len(of.judgements))
    rows = np.sort(drawn[: SAMPLED.get(name, len(drawn))])
    judgements = [of.judgements[row] for row in rows.tolist()]
    pairs = [(one.original, one.rewrite) for one in judgements]
    changes = [changes_of(*pair) for pair in pairs]
    static = np.array([models.encoder.static_numbers(each) for each in changes])
    encoded = EncodedChanges(
        odds, of.angles, of.counts, of.replaced, of.places.numbers, of.places.old[:, SENSE]
    )
    content = content_columns(encoded)
    if name in GRADED | GRADED_ALONE:
        changes_of_all = [changes_of(one.original, one.rewrite) for one in of.judgements]
        content.update(sentence_columns(changes_of_all, encoded))
        content[OF_SENTENCES[0]] = numbers_replaced(changes_of_all)
    columns = {
        **surface_columns(pairs),
        **named(STATIC, static),
        **{key: values[rows] for key, values in content.items()},
        **({} if name in GRADED_ALONE else read_networks(name, pairs, models)),
    }
    show(f"{name}: {len(rows)} judgements with all evidence")
    return Weighed(judgements, columns)


def examples_of(reads: Mapping[str, Read], chosen: Mapping[str, NDArray[np.bool_]]) -> Examples:
    """The changes of chosen judgements that have exactly one change."""
    places, shares, kinds, replaced = [], [], [], []
    for name, wanted in chosen.items():
        one = reads[name]
        starts = np.cumsum(one.counts) - one.counts
        rows = np.flatnonzero(wanted & (one.counts == 1))
        places.append(PlaceVectors(*(each[starts[rows]] for each in one.places)))
        shares.append(np.array([one.judgements[row].share for row in rows]))
        kinds.append(np.full(len(rows), LEARNED[name]))
        replaced.append(one.replaced[starts[rows]])
    return Examples(
        PlaceVectors(*(np.concatenate(each) for each in zip(*places, strict=True))),
        np.concatenate(shares),
        np.concatenate(kinds),
        np.concatenate(replaced),
    )


def joined(columns: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    """Concatenate the columns that all of several sets have."""
    shared = [name for name in columns[0] if all(name in each for each in columns)]
    return {name: np.concatenate([each[name] for each in columns]) for name in shared}


def odds_of(curves: Curves, columns: Mapping[str, Floats]) -> Floats:
    """Log-odds, not clipped as chances are."""
    return curves.intercept - curves.parts(columns).sum(1)


def weighed_at(rate: float, good: NDArray[np.bool_]) -> Floats:
    """Weights that sum to 1 and give the good judgements a total of ``rate``."""
    share = good.mean()
    return np.where(good, rate / share, (1 - rate) / (1 - share)) / len(good)


def calibrate(odds: Floats, good: NDArray[np.bool_], weights: Floats) -> tuple[float, float]:
    """Slope (0.2 to 1.5) and intercept that make log-odds calibrated."""

    def loss(numbers: Floats) -> float:
        fitted = numbers[0] * odds + numbers[1]
        return float(weights @ (np.logaddexp(0, fitted) - good * fitted) / weights.sum())

    slope, intercept = minimize(loss, np.array([1.0, 0.0]), bounds=[(0.2, 1.5), (None, None)]).x
    return float(slope), float(intercept)


def scaled(curves: Curves, slope: float, intercept: float) -> Curves:
    """The curves with calibrated log-odds."""
    return replace(
        curves,
        intercept=curves.intercept * slope + intercept,
        taken=tuple(each * slope for each in curves.taken),
    )


def document_of(
    curves: Mapping[str, Curves], *, version: int, sha256: str, **provenance: Any
) -> dict[str, Any]:
    """The numbers of a scorer, with where they are from; the hash is that of what was learned."""
    return {
        "version": version,
        "tau": 0.5,
        "sha256": sha256,
        "provenance": {"date": today(), **provenance},
        **{name: described(each) for name, each in curves.items()},
    }


def described(curves: Curves) -> dict[str, Any]:
    """Curves as judge.json has them."""
    return {
        **({"least": curves.least} if curves.least else {}),
        "intercept": round(curves.intercept, 4),
        "curves": {
            name: {"points": points.tolist(), "taken": np.round(taken, 3).tolist()}
            for name, points, taken in zip(curves.names, curves.points, curves.taken, strict=True)
        },
    }


def fit(
    reads: Mapping[str, Read],
    phrases: Read,
    models: Models,
    frequencies: Any,
    *,
    folds: int = FOLDS,
) -> tuple[Content, dict[str, Weighed], dict[str, Weighed]]:
    """Content, and all evidence about each set, out of fold where content was learned from it.

    Last, the evidence about the sets of `READ_BEFORE`, as the shipped content sees it.
    """
    lessons = Examples(
        phrases.places,
        np.array([each.share for each in phrases.judgements]),
        np.zeros(len(phrases.judgements), np.int64),
        phrases.replaced,
    )
    inside = {
        name: np.array([not held_out(one) for one in reads[name].judgements]) for name in LEARNED
    }
    fold = {
        name: np.array([part(one.group, folds, "fold") for one in reads[name].judgements])
        for name in LEARNED
    }
    content = learn_content(examples_of(reads, inside), lessons, frequencies, seed=0)
    odds = {name: content.log_odds(each.places, each.replaced) for name, each in reads.items()}
    all_learned = {name: odds[name].copy() for name in LEARNED}
    for number in range(folds):
        others = {name: inside[name] & (fold[name] != number) for name in LEARNED}
        learned = learn_content(examples_of(reads, others), lessons, frequencies, seed=1 + number)
        for name in LEARNED:
            some = np.repeat(inside[name] & (fold[name] == number), reads[name].counts)
            odds[name][some] = learned.log_odds(
                PlaceVectors(*(each[some] for each in reads[name].places)),
                reads[name].replaced[some],
            )
            # Each network places 0 where it likes, since kinds have intercepts beside it; the
            # curves know the scale of the shipped one.
            for replaced in (False, True):
                chosen = some & (reads[name].replaced == replaced)
                if chosen.any():
                    moved = all_learned[name][chosen] - odds[name][chosen]
                    odds[name][chosen] += np.median(moved)
        show(f"content: {number + 1} of {folds} folds")
    shipped = {name: weighed(name, reads[name], all_learned[name], models) for name in READ_BEFORE}
    return (
        content,
        {name: weighed(name, each, odds[name], models) for name, each in reads.items()},
        shipped,
    )


#: The sets that content is learned from, each with the number of its intercept; accepted and
#: spoiled rewrites share one.
LEARNED = {
    "swords": 0, "rules": 1, "spoiled": 1, "strayed": 1, "phrases": 2, "mined": 3, "STS-B train": 4,
}  # fmt: skip

#: The sets whose readings count wherever the same change occurs.
READ_BEFORE = ("mined", "rules")

#: How many judgements the curves see of sets that have more: reading for grammar is slow.
SAMPLED = {
    "swords": 3000, "rules": 1400, "spoiled": 1800, "strayed": 500, "miswritten": 900,
    "phrases": 300,
}  # fmt: skip

#: The sets that the curves are fitted on: how much each counts, and the number of its intercept.
FITTED = {
    "swords": (1.0, 0),
    "rules": (0.5, 1),
    "spoiled": (0.35, 1),
    "strayed": (0.1, 1),
    "miswritten": (0.15, 1),
    "mined": (0.6, 1),
    "STS-B train": (0.1, 2),
    "PAWS half 0": (0.05, 3),
}
#: The same for the curves of whole sentences. Made substitutions have the negations and opposites
#: that are rare in graded sentences.
MEANT = {
    "STS-B train": (0.5, 0),
    f"STS-B train{FURTHER}": (0.05, 0),
    "PAWS half 0": (0.3, 1),
    MADE: (0.2, 2),
}
#: The sets that the intercept is fitted on, each at the base rate, and how much each counts.
CALIBRATED = {
    ("swords",): 0.15,
    ("rules", "spoiled", "strayed", "miswritten"): 0.25,
    ("mined",): 0.6,
}


def gathered(
    sets: Mapping[str, Weighed], weights: Mapping[str, tuple[float, int]]
) -> tuple[dict[str, Floats], Floats, NDArray[np.int64], Floats, list[Judgement]]:
    """Columns, shares, intercepts, weights and judgements of those parts of sets that are fitted.

    ``weights`` say how much each set counts, and the number of its intercept.
    """
    columns, shares, kinds, counted, judgements = [], [], [], [], []
    for name, (weight, kind) in weights.items():
        some = ~sets[name].held_out
        count = int(some.sum())
        columns.append({key: each[some] for key, each in sets[name].columns.items()})
        shares.append(sets[name].shares[some])
        kinds.append(np.full(count, kind))
        counted.append(np.full(count, weight / count))
        judgements += [
            one for one, fitted in zip(sets[name].judgements, some, strict=True) if fitted
        ]
    return (
        joined(columns), np.concatenate(shares), np.concatenate(kinds), np.concatenate(counted),
        judgements,
    )  # fmt: skip


def fit_all(sets: Mapping[str, Weighed]) -> tuple[Curves, Curves]:
    """Cheap and full curves, calibrated."""
    evidence, share, kinds, weights, judgements = gathered(sets, FITTED)
    full = fit_curves(evidence, share, kinds, weights, helps=(*SUPPORT, *LIKELIER))
    quick = {name: evidence[name] for name in (*SURFACE, *SUPPORT, *STATIC)}
    cheap = fit_curves(quick, share, kinds, weights, helps=SUPPORT)
    sources = [one.source for one in judgements]
    names = np.concatenate([np.full((~sets[name].held_out).sum(), name) for name in FITTED])
    good = share >= 0.5
    counted = np.zeros(len(good))
    for together, weight in CALIBRATED.items():
        rows = np.isin(names, together)
        # Refused rewrites that were written to be hard do not represent what mining gives.
        rows &= good | ~np.array(["enriched" in one or "hard" in one for one in sources])
        counted[rows] = weight * weighed_at(BASE_RATE, good[rows])
    full = scaled(full, *calibrate(odds_of(full, evidence), good, counted))
    accepted = good & (odds_of(full, evidence) >= 0)
    # The cheap curves are generous: they may lose one in a hundred that the full ones accept.
    lost = float(np.quantile(odds_of(cheap, evidence)[accepted], 0.01))
    cheap = scaled(cheap, 1.0, -lost)
    return cheap, full


def fit_meaning(sets: Mapping[str, Weighed]) -> tuple[Curves, Curves]:
    """The calibrated curves of whole sentences that differ in few words, and in many."""
    evidence, same, kinds, weights, judgements = gathered(sets, MEANT)
    sources = np.array([one.source for one in judgements])
    words = evidence["words changed"]
    calibrated = []
    for about, rows in (
        (ABOUT_FEW, words <= FEW),
        # Only these two have more than a few such pairs.
        (ABOUT_MANY, (words > FEW) & np.isin(sources, ("STS-B train", f"STS-B train{FURTHER}"))),
    ):
        columns = {name: evidence[name][rows] for name in about}
        curves = fit_curves(columns, same[rows], kinds[rows], weights[rows], penalty=2.0)
        counted = np.zeros(rows.sum())
        for source in {*sources[rows].tolist()}:
            inside = sources[rows] == source
            counted[inside] = weighed_at(0.5, same[rows][inside] >= 0.5)
        slope, intercept = calibrate(odds_of(curves, columns), same[rows] >= 0.5, counted)
        calibrated.append(scaled(curves, slope, intercept))
    few, many = calibrated
    return few, many


def frequencies_of(texts: Iterable[str]) -> Any:
    """float32 (pieces,): log(1 + how often each piece of the tokenizer occurs in the texts)."""
    words: Counter[str] = Counter()
    for text in texts:
        words.update(_WORD.findall(text.lower()))
    tokenizer = encoder_tokenizer()
    counts = np.zeros(tokenizer.get_vocab_size())
    pieces = tokenizer.encode_batch(list(words), add_special_tokens=False)
    for count, some in zip(words.values(), pieces, strict=True):
        for piece in some.ids:
            counts[piece] += count
    return half(np.log1p(counts))


def figures(name: str, scores: Floats, shares: Floats) -> dict[str, float | int]:
    """Area and recall among the judgements that people agree on."""
    clear = (shares >= 0.5) | (shares <= 0.1)
    good = shares >= 0.5
    entry = {
        "judgements": int(clear.sum()),
        "accepted": int(good[clear].sum()),
        "area": round(operating_curve(scores[clear], good[clear]).area, 3),
        "recall at precision .9, balanced": round(recall_at(scores[clear], good[clear]), 3),
        "share of accepted with S at least .5": round(float((scores[good] >= 0.5).mean()), 3),
        "share of refused with S at least .5": round(
            float((scores[clear & ~good] >= 0.5).mean()), 3
        ),
    }
    show(f"{name}: {entry}")
    return entry


def scores_of(cheap: Curves, full: Curves, columns: Mapping[str, Floats]) -> Floats:
    """S, as `Judge.scores` has it."""
    return np.minimum(cheap.chances(columns), full.chances(columns))


def checked_folder(data: Path) -> Path:
    """The folder of the data sets, if all of them are read from it.

    Raises:
        UsageError: readings and graded sentences would be read from another folder.
    """
    if data.resolve() != DATA.resolve():
        raise UsageError(
            f"readings and graded sentences are read from {DATA}, not from {data}",
            help=f"set SEARS_DATA={data} as well",
        )
    return data


def main() -> None:
    """Read, learn, write, and report how good the result is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=DATA, help="the folder of the data sets, as in SEARS_DATA"
    )
    parser.add_argument("--keep", type=Path, required=True, help="a folder for what is read")
    parser.add_argument("--out", type=Path, default=_SHIPPED / "judge.json")
    parser.add_argument(
        "--meaning", type=Path, default=Path("sears_dsl/meaning/sentence_meaning.json"),
        help="the file of the curves of whole sentences",
    )  # fmt: skip
    parser.add_argument("--folds", type=int, default=FOLDS)
    parser.add_argument(
        "--readings", type=Path, nargs="+", default=[FILE, READ], metavar="FILE",
        help="readings of mined rules' rewrites, in the columns of judged_rewrites.tsv",
    )  # fmt: skip
    arguments = parser.parse_args()
    data, keep = checked_folder(arguments.data), arguments.keep
    torch.set_num_threads(1)
    # A part of the readings would count as all of them.
    rewrites = [
        one for file in arguments.readings for one in read_judged_rewrites(file, whole=True)
    ]
    keep.mkdir(parents=True, exist_ok=True)
    sources = [
        data / "throughput/classic_books.txt",
        data / "squad/train-v1.1-part.json",
        data / "pos/en_ewt-ud-train.conllu",
    ]
    files = [
        data / "substitution/swords-v1.1_dev.json.gz", data / "paraphrase/ppdb-sample.tsv", *sources
    ]  # fmt: skip
    frequencies = frequencies_of(plain_english(*sources, count=None))
    models = Models(
        Encoder(carried_encoder(), frequencies), load_grammar(), load_likelihood_estimate(), keep
    )
    english = plain_english(*sources, count=24_000)
    rules = ruled(english, most=12)
    originals = sorted({each.original for each in rules})
    random.Random(1).shuffle(originals)
    swaps = spoiled(originals[:3000], most=14)
    random.Random(2).shuffle(swaps)
    graded_phrases = phrases(files[1])
    sets = {
        "swords": swords(files[0]),
        "rules": rules,
        "spoiled": swaps[:9000],
        "strayed": strayed(originals[3000:4500]),
        "miswritten": miswritten(originals[1500:2700]),
        "phrases": in_context(graded_phrases, [*originals, *english[:9000]], most=1)[:3000],
        "mined": mined(rewrites),
    }  # fmt: skip
    for name, count in (GRADED | GRADED_ALONE).items():
        pairs = load_set(name, pairs=count)
        sets[name] = graded(name, pairs.pairs, pairs.equivalent.tolist())
    reads = {name: read(name, some, models) for name, some in sets.items()}
    alone = read("ppdb", graded_phrases, models, context=False)
    content, judged, shipped = fit(reads, alone, models, frequencies, folds=arguments.folds)
    keep_sets({**judged, **{SHIPPED + name: each for name, each in shipped.items()}}, keep)
    cheap, full = fit_all(judged)
    whole = {name: judged.pop(name) for name in GRADED_ALONE}
    learned = learned_bytes(content)
    document = judge_document(
        cheap, full, judged,
        sha256=hashlib.sha256(learned).hexdigest(),
        models=_ENCODER,
        command=_COMMAND,
        files={str(file.relative_to(data)): file_hash(file) for file in files},
    )  # fmt: skip
    # What was foreseen of the judge before stays until `training.forecast` makes it anew.
    before = json.loads((_SHIPPED / "judge.json").read_text("utf-8"))
    document |= {name: before[name] for name in ("forecast", *FORESEEN)}
    write_atomically(arguments.out.with_suffix(".npz"), learned)
    write_json(arguments.out, document)
    write_meaning(content, {**judged, **whole}, out=arguments.meaning)
    write_readings(cheap, full, judged, shipped, out=arguments.out.with_name("readings.json"))


def keep_sets(sets: Mapping[str, Weighed], keep: Path) -> None:
    """Save all evidence about judgements for `training.likelihood`."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, each in sets.items():
        arrays[f"{name}|"] = np.frombuffer(json.dumps(each.judgements).encode(), np.uint8)
        arrays.update((f"{name}|{key}", values) for key, values in each.columns.items())
    save_arrays(keep / _ALL_EVIDENCE, arrays)


def kept_sets(keep: Path) -> dict[str, Weighed]:
    """The evidence that `keep_sets` saved.

    Raises:
        DataError: the folder has none.
    """
    file = keep / _ALL_EVIDENCE
    if not file.exists():
        raise DataError(
            f"{file} is not there", help=f"run python -m training.judge --keep {keep} first"
        )
    sets: dict[str, Weighed] = {}
    for title, array in load_arrays(file).items():
        name, _, column = title.partition("|")
        if column:
            sets[name].columns[column] = array
        else:
            judgements = json.loads(array.tobytes())
            sets[name] = Weighed([Judgement(*each) for each in judgements], {})
    return sets


def judge_document(
    cheap: Curves,
    full: Curves,
    judged: Mapping[str, Weighed],
    *,
    sha256: str,
    models: str,
    command: str,
    files: Mapping[str, str],
) -> dict[str, Any]:
    """A judge's numbers, with their provenance and figures.

    Args:
        sha256: the hash of what was learned about contents.
        files: the SHA-256 of each file of judgements.
    """
    figures_by_set: dict[str, Any] = {}
    for name, each in judged.items():
        for label, wanted in (("fitted or out of fold", False), ("held out", True)):
            some = each.held_out == wanted
            good = each.shares[some] >= 0.5
            if name in ("swords", "mined") and 10 < good.sum() < len(good):
                columns = {key: values[some] for key, values in each.columns.items()}
                title = f"{name}, {label}"
                figures_by_set[title] = figures(
                    title, scores_of(cheap, full, columns), each.shares[some]
                )
        if name in GRADED:
            curve = operating_curve(scores_of(cheap, full, each.columns), each.shares >= 0.5)
            show(f"{name}: area {curve.area:.3f}")
    return document_of(
        {"cheap": cheap, "full": full},
        version=VERSION,
        sha256=sha256,
        command=command,
        criterion=f"share of readers who accept, one in {1 / BASE_RATE:.0f} acceptable",
        models=models,
        sets=dict(files),
        judgements={name: len(each.judgements) for name, each in judged.items()},
        figures=figures_by_set,
    )


def write_readings(
    cheap: Curves,
    full: Curves,
    judged: Mapping[str, Weighed],
    shipped: Mapping[str, Weighed],
    *,
    out: Path,
) -> None:
    """Write what readers accept of each change beyond the evidence."""
    out_of_fold, as_shipped = (
        np.concatenate([scores_of(cheap, full, some[name].columns) for name in READ_BEFORE])
        for some in (judged, shipped)
    )
    judgements = [one for name in READ_BEFORE for one in judged[name].judgements]
    entry = readings_file(readings_of(judgements, out_of_fold), readings_of(judgements, as_shipped))
    for name, figure in entry["figures"].items():
        show(f"readings, {name}: {figure}")
    write_json(out, entry, indent=0)


def write_meaning(content: Content, sets: Mapping[str, Weighed], *, out: Path) -> None:
    """Write the curves of whole sentences, with their provenance and figures."""
    few, many = fit_meaning(sets)
    figures_by_set = {}
    for name in ("STS-B dev", "PAWS half 1", "QQP", "SICK trial"):
        each = sets[name]
        scores = chances(few, many, each.columns)
        figures_by_set[name] = {
            "pairs": len(scores),
            "equivalent": int((each.shares >= 0.5).sum()),
            "area": round(operating_curve(scores, each.shares >= 0.5).area, 3),
        }
        show(f"whole sentences, {name}: {figures_by_set[name]}")
    document = document_of(
        {"few": few, "many": many},
        version=MEANING_VERSION,
        sha256=hashlib.sha256(learned_bytes(content)).hexdigest(),
        command=_COMMAND,
        criterion="share of people who call pairs the same, one in 2 the same",
        models=_ENCODER,
        sets={name: digest(sets[name].judgements) for name in MEANT},
        judgements={name: len(sets[name].judgements) for name in MEANT},
        figures=figures_by_set,
    )
    write_json(out, document)


#: How many pairs of sentences are read of each set; those not fitted serve for figures alone.
GRADED = {
    "STS-B train": 2000, "PAWS half 0": 500, "STS-B dev": 400, "PAWS half 1": 250, "QQP": 300,
    "SICK trial": 300,
}  # fmt: skip

#: Sets of sentence pairs on which only the curves of whole sentences are fitted, not the judge.
GRADED_ALONE = {f"STS-B train{FURTHER}": 1200, MADE: 700}

if __name__ == "__main__":
    run(main)
