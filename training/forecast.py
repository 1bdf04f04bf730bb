"""Makes the forecast: ``python -m training.forecast --keep FOLDER --books FILE ...``.

In: rewrites that nobody judged (`training.unjudged`), changes of paraphrases put into other texts,
and what the judge says of all of them. Out: ``forecast.npz``, and the curves `FORESEEN` in
``judge.json``. Always holds: the same files, versions and seed give the same numbers (to rounding).
Costs a quarter of an hour of one core for the judge (``--keep`` saves what it says), some minutes
for paraphrases, and three to learn. With ``--only-later``, the network and the curves ``foreseen``
stay as they are.

1. The judge gives the log-odds of rewrites with one change by its full curves. 2. The network
learns what evidence about texts takes from these, beyond what lists and tables take. Each fifth of
the changes is forecast by a network that learned from the others. 3. The log-odds that this leaves
are moved and stretched until they reject six in a hundred of the rewrites that the full curves
accept, at a chance of 1/2 as well as at 1/10. (Both are chances by the evidence. For a change that
nobody read, S is 1/2 or 1/10 at lower ones.) 4. The shipped network learns from all rewrites. 5.
The log-odds that lists, tables and the encoder leave are moved and stretched likewise, until they
reject one in a thousand, and so are those that the likelihood leaves of these. What is then missing
takes much the same from nearly all rewrites.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from sears_dsl.judge import forecast, surface
from sears_dsl.judge.changes import changes_of, words_beside, words_of
from sears_dsl.judge.estimate import load_likelihood_estimate
from sears_dsl.judge.evidence import Curves, differences
from sears_dsl.judge.forecast import FORECAST, NUMBERS, ForecastWeights, clues_of
from sears_dsl.judge.judge import FORESEEN, Judge, load_judge
from sears_dsl.judge.readings import change_name
from sears_dsl.meaning.scorers import Pair
from sears_dsl.runtime.array_types import Floats
from sears_dsl.runtime.files import write_atomically
from training.command import run
from training.content import half
from training.corpus import add_texts, read_texts
from training.estimate import PARAPHRASED, REWRITTEN, TEXTS
from training.judge import described, odds_of, part, scaled
from training.records import digest, load_or_compute, show, today, write_json
from training.unjudged import unjudged
from training.weight_files import learned_bytes

JUDGE = forecast.FILE.with_name("judge.json")

#: A chance below this one is as good as none; to find it out exactly would cost most of the time.
LEAST = 0.03
_FLOOR = float(np.log(LEAST / (1 - LEAST))) + 1e-6
#: What the forecast may reject of what the full curves accept at a chance of `_FAR`, and of 1/2.
#: Most of these are just above.
_FAR, _LOST = 0.1, 0.06
#: What curves may reject of it after a stage of networks.
_LOST_LATER = 0.001
#: A forecast says no chance below this one: among what it rejects, the other evidence ranks. With
#: what unread changes have in common, this is an S below the least that a search looks at.
_REJECTED = 0.04
#: In how many other texts a change of a paraphrase is put, how many texts of each kind there are
#: for that, and of how many words.
_PLACES, _OF_A_KIND, _WORDS, _LONGEST_CHANGE = 6, 8000, (4, 30), 4
_MOST_PLACES = 2000
_CHANGED, _BESIDE, _HIDDEN = 64, 24, 128
_FOLDS, _EPOCHS, _BATCH, _RATE, _DECAY = 5, 10, 256, 1.5e-3, 0.03
_LOST_INPUTS, _LOST_HIDDEN = 0.15, 0.2
_GLUED = ("n't", "'s", "'re", "'ve", "'ll", "'d", "'m", ",", ".", "?", "!", ";", ":")


# --- rewrites --------------------------------------------------------------------------------


def elsewhere(paraphrases: Sequence[Pair], texts: Sequence[str]) -> list[Pair]:
    """The changes of paraphrases, each in other texts that have the same words.

    A search judges rules in this way. Words that are put in or left out take a neighbour with them.
    """
    sources: dict[tuple[tuple[str, ...], tuple[str, ...]], str] = {}
    for original, rewrite in paraphrases:
        changes = changes_of(original, rewrite)
        if len(changes) != 1:
            continue
        [change] = changes
        old, new = change.old, change.new
        if not old or not new:
            before, after = words_beside(original, change, 1)
            if before and (not after or len(original) % 2):
                old, new = (*before, *old), (*before, *new)
            elif after:
                old, new = (*old, *after), (*new, *after)
            else:
                continue
        if len(old) <= _LONGEST_CHANGE:
            sources.setdefault((old, new), original)
    places = _places_of({old for old, _ in sources}, texts)
    generator = random.Random(5)
    pairs = []
    for (old, new), source in sources.items():
        options = places[old]
        for text, start, end in generator.sample(options, min(_PLACES, len(options))):
            rewrite = text[:start] + _written(new) + text[end:]
            if rewrite != text != source:
                pairs.append((text, rewrite))
    return pairs


def _places_of(
    wanted: set[tuple[str, ...]], texts: Sequence[str]
) -> dict[tuple[str, ...], list[tuple[str, int, int]]]:
    """Where texts have these words."""
    lengths: dict[str, set[int]] = defaultdict(set)
    for words in wanted:
        lengths[words[0]].add(len(words))
    places: dict[tuple[str, ...], list[tuple[str, int, int]]] = defaultdict(list)
    for text in texts:
        row = words_of(text)
        for at, word in enumerate(row):
            for count in sorted(lengths.get(word.text, ())):
                some = tuple(each.text for each in row[at : at + count])
                if len(some) == count and some in wanted and len(places[some]) < _MOST_PLACES:
                    places[some].append((text, word.start, row[at + count - 1].end))
    return places


def _written(words: Sequence[str]) -> str:
    """Words as text has them."""
    text = " ".join(words)
    for word in _GLUED:
        text = text.replace(f" {word}", word)
    return text


def rewrites(options: argparse.Namespace) -> list[Pair]:
    """All rewrites that the judge is asked about."""
    kinds = read_texts(options)
    made, paraphrased = unjudged(
        kinds, options.ppdb, texts=TEXTS, most=REWRITTEN, paraphrased=PARAPHRASED
    )
    generator = random.Random(3)
    texts = []
    for of_kind in kinds.values():
        fitting = sorted({t for t in of_kind if _WORDS[0] <= len(t.split()) <= _WORDS[1]})
        generator.shuffle(fitting)
        texts += fitting[:_OF_A_KIND]
    pairs = dict.fromkeys([*made, *paraphrased, *elsewhere(paraphrased, texts)])
    return [pair for pair in pairs if len(differences(*pair)) == 1]


# --- what the judge says of them -------------------------------------------------------------


class Lessons(NamedTuple):
    """Rewrites with what the judge says of them; each distinct group of words has one vector."""

    columns: dict[str, Floats]  # the cheap evidence by name, each (N,)
    # The evidence of networks, likewise; NaN where what was known before it leaves a chance below
    # `LEAST`
    read: list[dict[str, Floats]]  # for each of `Judge.stages`
    bounds: Floats  # (N,) the log-odds that this evidence leaves by the full curves
    odds: Floats  # (N,) the log-odds by the full curves and all evidence, at least `_FLOOR`
    changes: list[str]  # (N,) the name of the change
    vectors: Any  # (U, 384), of length 1
    words: NDArray[np.int64]  # int (N, 6), rows of ``vectors``: see `Clues`
    numbers: Any  # (N, NUMBERS)


def read(judge: Judge, pairs: Sequence[Pair], file: Path) -> list[dict[str, Floats]]:
    """The evidence of networks about each rewrite, (N,) by name for each of `Judge.stages`."""

    def in_portions() -> dict[str, Floats]:
        parts = []
        for begin in range(0, len(pairs), 1000):
            parts.append(_stages_of(judge, pairs[begin : begin + 1000]))
            show(f"read {min(begin + 1000, len(pairs))} of {len(pairs)}")
        return {
            f"{number}:{name}": np.concatenate([part[number][name] for part in parts])
            for number, columns in enumerate(parts[0])
            for name in columns
        }

    stages: list[dict[str, Floats]] = [{} for _ in judge.stages]
    for name, values in load_or_compute(file, in_portions).items():
        number, _, column = name.partition(":")
        stages[int(number)][column] = values
    return stages


def _stages_of(judge: Judge, pairs: Sequence[Pair]) -> list[dict[str, Floats]]:
    changes = [differences(*pair) for pair in pairs]
    columns = judge.evidence.cheap(pairs, changes)
    open_ = np.arange(len(pairs))
    stages = []
    for stage in judge.stages:
        still = np.flatnonzero(judge.full.chances(columns) >= LEAST)
        open_ = open_[still]
        columns = {name: values[still] for name, values in columns.items()}
        places = open_.tolist()
        new = stage([pairs[at] for at in places], [changes[at] for at in places])
        columns.update(new)
        stages.append({name: np.full(len(pairs), np.nan) for name in new})
        for name, values in new.items():
            stages[-1][name][open_] = values
    return stages


def lessons_of(pairs: Sequence[Pair], stages: list[dict[str, Floats]], judge: Judge) -> Lessons:
    """Turn rewrites with one change into numbers, given what networks say of them."""
    changes = [differences(*pair)[0] for pair in pairs]
    encoder = judge.evidence.encoder
    columns = judge.evidence.cheap(pairs, [(change,) for change in changes])
    clues = [
        clues_of(original, change, encoder)
        for (original, _), change in zip(pairs, changes, strict=True)
    ]
    rows: dict[tuple[str, ...], int] = {}
    words = [[rows.setdefault(some, len(rows)) for some in each.words] for each in clues]
    odds = odds_of(judge.full, {**columns, **{k: v for each in stages for k, v in each.items()}})
    return Lessons(
        columns,
        stages,
        odds_of(judge.full, columns),
        np.where(np.isnan(odds), _FLOOR, odds).clip(_FLOOR, -_FLOOR),
        list(map(change_name, changes)),
        torch.from_numpy(np.stack([encoder.own_vector(some).vector for some in rows])),
        np.array(words),
        torch.from_numpy(np.stack([each.numbers for each in clues])),
    )


# --- the network -----------------------------------------------------------------------------


class Network(nn.Module):
    """The network that `Forecast` computes, with dropout."""

    def __init__(self, numbers: torch.Tensor) -> None:
        super().__init__()
        self.mean: torch.Tensor
        self.scale: torch.Tensor
        self.register_buffer("mean", numbers.mean(0))
        self.register_buffer("scale", numbers.std(0) + 1e-3)
        self.changed = nn.Linear(384, _CHANGED, bias=False)
        self.beside = nn.Linear(384, _BESIDE, bias=False)
        inputs = 4 * _CHANGED + 8 * _BESIDE + len(NUMBERS)
        self.hidden = nn.Linear(inputs, _HIDDEN)
        self.output = nn.Linear(_HIDDEN, 1, bias=False)
        self.linear = nn.Linear(inputs, 1)

    def forward(self, vectors: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        """What is taken from the log-odds of changes, (N,); vectors of their words (N, 6, 384)."""
        old, new = self.changed(vectors[:, 0]), self.changed(vectors[:, 1])
        beside = self.beside(vectors)
        old_fit, new_fit, _, before, after, _ = beside.unbind(1)
        inputs = torch.cat(
            [
                (old - new).abs(), old * new, new - old, new, beside[:, 2:].flatten(1),
                before * new_fit, after * new_fit, before * old_fit, after * old_fit,
                (numbers - self.mean) / self.scale,
            ],
            1,
        )  # fmt: skip
        inputs = functional.dropout(inputs, _LOST_INPUTS, self.training)
        hidden = functional.dropout(
            functional.relu(self.hidden(inputs)), _LOST_HIDDEN, self.training
        )
        return (self.output(hidden) + self.linear(inputs))[:, 0]

    def weights(self) -> ForecastWeights:
        """The arrays of `Forecast`."""
        arrays = {
            "changed": self.changed.weight.T, "beside": self.beside.weight.T,
            "mean": self.mean, "scale": self.scale,
            "hidden": self.hidden.weight.T, "hidden_bias": self.hidden.bias,
            "output": self.output.weight[0], "linear": self.linear.weight[0],
            "bias": self.linear.bias,
        }  # fmt: skip
        return ForecastWeights(**{name: half(values) for name, values in arrays.items()})


def taken_from(network: Network, lessons: Lessons, rows: NDArray[np.int64]) -> torch.Tensor:
    """What the network says that evidence about the texts takes from the log-odds, (rows,)."""
    vectors = lessons.vectors[torch.from_numpy(lessons.words[rows])] * forecast.LENGTH
    return network(vectors, lessons.numbers[torch.from_numpy(rows)])


def learn(lessons: Lessons, rows: NDArray[np.int64], *, seed: int) -> Network:
    """Learn from some of the rewrites."""
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    bounds, wanted = (torch.from_numpy(each).float() for each in (lessons.bounds, lessons.odds))
    network = Network(lessons.numbers).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=_RATE, weight_decay=_DECAY)
    # Where lists and tables reject, nothing is left to forecast.
    rows = rows[lessons.bounds[rows] > _FLOOR]
    steps = _EPOCHS * (len(rows) // _BATCH)
    done = 0
    for _ in range(_EPOCHS):
        order = generator.permutation(rows)
        for begin in range(0, len(order) - _BATCH + 1, _BATCH):
            optimizer.param_groups[0]["lr"] = _RATE * max(0.02, 1 - done / steps)
            done += 1
            some = order[begin : begin + _BATCH]
            at = torch.from_numpy(some)
            odds = bounds[at] - taken_from(network, lessons, some)
            # Below the floor nobody asked how far below.
            odds = torch.where(wanted[at] <= _FLOOR, odds.clamp_min(_FLOOR), odds)
            loss = functional.smooth_l1_loss(odds, wanted[at])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
    return network.eval()


@torch.inference_mode()
def forecasts(network: Network, lessons: Lessons, rows: NDArray[np.int64]) -> Floats:
    """The column of forecasts of some rewrites, (rows,)."""
    parts = [taken_from(network, lessons, some).numpy() for some in np.array_split(rows, 40)]
    return np.maximum(0.0, np.concatenate(parts).astype(np.float64))


# --- the curves ------------------------------------------------------------------------------


def foreseen(full: Curves, lessons: Lessons, column: Floats) -> Curves:
    """The log-odds that lists and tables and the forecast leave, moved and stretched.

    They reject `_LOST` of what the full curves accept, at a chance of 1/2 and at `_FAR`.
    """
    most = float(np.ceil(column.max()))
    curves = _known(full, lessons.columns)
    points = np.array([0.0, most])
    curves = replace(
        curves,
        names=(*curves.names, FORECAST),
        points=(*curves.points, points),
        taken=(*curves.taken, points),
    )
    return _stretched(curves, {**lessons.columns, FORECAST: column}, lessons.odds, lost=_LOST)


def later(full: Curves, lessons: Lessons) -> list[Curves]:
    """The log-odds that are left before each later stage of networks, moved and stretched.

    They reject `_LOST_LATER` of what the full curves accept, at a chance of 1/2 and at `_FAR`.
    """
    columns, curves = lessons.columns, []
    for stage in lessons.read[:-1]:
        columns = {**columns, **stage}
        known = _known(full, columns)
        curves.append(_stretched(known, columns, lessons.odds, lost=_LOST_LATER))
    return curves


def _known(full: Curves, columns: Mapping[str, Floats]) -> Curves:
    """The curves of some columns; all others take their least."""
    known = [at for at, name in enumerate(full.names) if name in columns]
    return Curves(
        intercept=full.intercept - sum(
            float(taken.min()) for at, taken in enumerate(full.taken) if at not in known
        ),
        names=tuple(full.names[at] for at in known),
        points=tuple(full.points[at] for at in known),
        taken=tuple(full.taken[at] for at in known),
    )  # fmt: skip


def _stretched(
    curves: Curves, columns: Mapping[str, Floats], wanted: Floats, *, lost: float
) -> Curves:
    """Curves that reject a share of the rewrites with the wanted log-odds of 1/2, and of `_FAR`."""
    odds = odds_of(curves, columns)
    bounds = np.log([_FAR / (1 - _FAR), 1.0])
    low, high = (float(np.quantile(odds[wanted >= each], lost)) for each in bounds.tolist())
    slope = float(bounds[1] - bounds[0]) / (high - low)
    return replace(scaled(curves, slope, -slope * high), least=_REJECTED)


def figures(
    judge: Judge, lessons: Lessons, bounds: Sequence[Curves], columns: Mapping[str, Floats]
) -> dict[str, Any]:
    """How many rewrites bounds leave open, each after those before it.

    Before the last, the same without it is given; what is accepted is so by the full curves.
    """
    result: dict[str, Any] = {"rewrites": len(lessons.odds)}
    *others, last = (each.chances(columns) for each in bounds)
    known = np.minimum.reduce(others)
    for least in (0.5, _FAR):
        # The chance by the evidence at which a change that nobody read has this S.
        unread = judge.readings.effects_of([()])
        chance = float(judge.readings.least(least, *unread)[0])
        accepted = lessons.odds >= np.log(chance / (1 - chance))
        before = known >= chance
        after = before & (last >= chance)
        result[f"S at least {least}"] = {
            "accepted": int((accepted & before).sum()),
            "left open without": int(before.sum()),
            "left open": int(after.sum()),
            "accepted, rejected": int((accepted & before & ~after).sum()),
        }
    return result


def main() -> None:
    """Ask the judge, learn, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, required=True, help="a folder for what the judge says")
    add_texts(parser)
    parser.add_argument("--ppdb", type=Path, required=True, help="ppdb-sample.tsv")
    parser.add_argument(
        "--only-later", action="store_true", help="only make the curves for later stages"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)  # so that sums are in one order
    options.keep.mkdir(parents=True, exist_ok=True)
    pairs = rewrites(options)
    show(f"{len(pairs):,} rewrites")
    judge, document = load_judge(forecast=False), json.loads(JUDGE.read_text("utf-8"))
    # Not by the judge's identity, which depends on the forecast.
    asked = (
        pairs, described(judge.full), document["sha256"], judge.grammar.identity,
        load_likelihood_estimate().digest, surface.VERSION,
    )  # fmt: skip
    file = options.keep / f"read-{digest(asked)}.npz"
    lessons = lessons_of(pairs, read(judge, pairs, file), judge)
    record = {
        "date": today(),
        "command": "python -m training.forecast --keep FOLDER --books FILE ...",
    }
    if not options.only_later:
        column, weights = forecast_of(lessons)
        curves = foreseen(judge.full, lessons, column)
        bounds = judge.full, judge.cheap, curves
        result = figures(judge, lessons, bounds, {**lessons.columns, FORECAST: column})
        show(f"{result}")
        learned = learned_bytes(weights)
        document[FORESEEN[0]] = described(curves)
        document["forecast"] = {
            "sha256": hashlib.sha256(learned).hexdigest(), **record, "figures": result,
        }  # fmt: skip
        write_atomically(forecast.FILE, learned)
    known, columns = [judge.full, judge.cheap], lessons.columns
    for name, stage, curves in zip(
        FORESEEN[1:], lessons.read[:-1], later(judge.full, lessons), strict=True
    ):
        columns = {**columns, **stage}
        known.append(curves)
        result = figures(judge, lessons, known, columns)
        show(f"{name}: {result}")
        document[name] = described(curves) | {**record, "figures": result}
    write_json(JUDGE, document)


def forecast_of(lessons: Lessons) -> tuple[Floats, ForecastWeights]:
    """The forecast of each rewrite by a network that did not learn from its change; the shipped."""
    fold = np.array([part(change, _FOLDS, "forecast") for change in lessons.changes])
    column = np.zeros(len(fold))
    for number in range(_FOLDS):
        network = learn(lessons, np.flatnonzero(fold != number), seed=1 + number)
        rows = np.flatnonzero(fold == number)
        column[rows] = forecasts(network, lessons, rows)
        show(f"{number + 1} of {_FOLDS} folds")
    return column, learn(lessons, np.arange(len(fold)), seed=0).weights()


if __name__ == "__main__":
    run(main)
