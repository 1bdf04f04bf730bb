"""Count readings that came after the judge was fitted, without fitting it anew.

    python -m training.later_readings [--all] [--scorer judge-lm]

In: the rewrites that were read (``benchmarks/read_changes.tsv``, ``judged_rewrites.tsv``), with the
public data that has their texts (without it, nothing is counted), the shipped judge and its
``readings.json`` and ``senses.npz``, or ``readings_lm.json``. Out: these files, updated: each
change that was accepted or rejected more often than they say gets the posterior of u and v beyond
what the shipped judge says of its rewrites, and with ``--all`` every change does; effects under a
name that `change_name` no longer gives are dropped. Always holds: a, b, σ and the figures of the
fit (`training.readings`) stay as they are, as do all other changes.
Costs some minutes for five thousand readings, and twenty for all; then it says how well readings
are predicted from those of the same change in other kinds of text.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.judged_rewrites import FILE, READ, read_judged_rewrites
from sears_dsl.judge.changes import Change, changes_of
from sears_dsl.judge.judge import Judge
from sears_dsl.judge.readings import VERSION, change_name, load_readings, senses_of
from sears_dsl.meaning.scorers import load_scorer
from sears_dsl.runtime.array_types import Float32Array, Floats
from training.command import run
from training.judge import mined
from training.judgements import Judgement
from training.readings import (
    Model,
    effects_of,
    figures_of_senses,
    placed_effects,
    posteriors,
    readings_of,
)
from training.records import show, write_json
from training.weight_files import write_senses

_PORTION = 1024
SHIPPED = {
    "judge": Path("sears_dsl/judge/readings.json"),
    "judge-lm": Path("sears_dsl/judge/readings_lm.json"),
}


def _has_another_name(name: str) -> bool:
    """Whether no change has this name, or its two sides share words at an end."""
    old, _, new = f" {name} ".partition(" -> ")
    sides = Change(tuple(old.split()), tuple(new.split()), 0, 0, 0, 0)
    return sides.old == sides.new or change_name(sides) != name


def main() -> None:
    """Add new readings to those that the judge knows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scorer", choices=SHIPPED, default="judge")
    parser.add_argument("--all", action="store_true", help="count every change anew")
    arguments = parser.parse_args()
    scorer = arguments.scorer
    entry = json.loads(SHIPPED[scorer].read_text("utf-8"))
    known: dict[str, list[float]] = {
        name: effect for name, effect in entry["effects"].items() if not _has_another_name(name)
    }
    # A part of the readings would count as all of them.
    rewrites = [one for file in (FILE, READ) for one in read_judged_rewrites(file, whole=True)]
    kind_of = {(one.original, one.rewrite): one.kind for one in rewrites}
    judgements = mined(rewrites)
    more = _read_more(judgements, {} if arguments.all else known)
    some = [one for one in judgements if _single_change(one.original, one.rewrite) in more]
    if not some:
        show("nothing was read that the judge does not know")
        return
    pairs = [(one.original, one.rewrite) for one in some]
    judge = cast("Judge", load_scorer(scorer)).without_forecast()
    evident: list[Floats] = []
    vectors: list[Float32Array] = []
    # In portions, since what the networks make of all rewrites at once takes gigabytes.
    for first in range(0, len(pairs), _PORTION):
        portion = pairs[first : first + _PORTION]
        evident.append(judge.evident_chances(portion))
        if scorer == "judge":
            vectors.append(judge.vectors(portion).astype(np.float16))
        show(f"read {first + len(portion):,} of {len(pairs):,}")
    read = readings_of(some, np.concatenate(evident))
    model = Model(entry["slope"], entry["shift"], entry["spread"])
    anew = {
        name: effect
        for name, effect in effects_of(read, *posteriors(read, model)).items()
        if name in more
    }
    learned_senses = None
    if vectors:
        shipped = load_readings()
        directions = {
            name: effect.direction
            for name, effect in shipped.effects.items()
            if effect.direction is not None and name in known and name not in more
        }
        all_vectors = np.concatenate(vectors).astype(np.float32)
        center = all_vectors.mean(axis=0) if shipped.center is None else shipped.center
        senses = senses_of(all_vectors, center)
        if arguments.all:
            kinds = [kind_of.get(pair, "") for pair in pairs]
            for title, figure in figures_of_senses(read, senses, kinds, model).items():
                show(f"{title}: {figure:.4g}")
        for name, effect in placed_effects(read, senses, model).items():
            anew[name][2:] = [round(each, 3) for each in (effect.mean, effect.spread, effect.most)]
            directions[name] = effect.direction
        learned_senses = center, directions
    entry["version"] = VERSION
    entry["effects"] = dict(sorted((known | anew).items()))
    write_readings(SHIPPED[scorer], entry, learned_senses)
    show(f"{len(anew):,} changes have been read {len(some):,} times now")


def write_readings(
    file: Path,
    entry: dict[str, Any],
    senses: tuple[Float32Array, Mapping[str, Float32Array]] | None,
) -> None:
    """Write readings, and first the center and directions of their senses, if they have some."""
    if senses is not None:
        # No two files are replaced at once. Whoever is interrupted between them has a judge without
        # readings, and the next run counts every change anew.
        write_json(file, {**entry, "senses": None, "effects": {}}, indent=0)
        entry["senses"] = write_senses(*senses)
    write_json(file, entry, indent=0)


def _read_more(judgements: Sequence[Judgement], known: Mapping[str, Sequence[float]]) -> set[str]:
    """The changes that were accepted or rejected more often than is known."""
    blank = readings_of(judgements, np.full(len(judgements), 0.5))
    read_now = np.bincount(blank.changes, minlength=len(blank.names))
    accepted_now = np.bincount(blank.changes, blank.accepted, len(blank.names)).astype(int)
    more = set()
    for name, readings, accepted in zip(
        blank.names, read_now.tolist(), accepted_now.tolist(), strict=True
    ):
        before, accepted_before, *_ = known.get(name, [0, 0])
        # A rewrite that was read again may have lost.
        if accepted > accepted_before or readings - accepted > before - accepted_before:
            more.add(name)
    return more


def _single_change(original: str, rewrite: str) -> str:
    """The name of the only change of a rewrite, or nothing."""
    changes = changes_of(original, rewrite)
    return change_name(changes[0]) if len(changes) == 1 else ""


if __name__ == "__main__":
    run(main)
