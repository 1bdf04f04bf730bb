"""Makes the forecast: ``python -m training.forecast --keep FOLDER --books FILE ...``.

In: rewrites that nobody judged (`training.unjudged`), changes of paraphrases put into other texts,
and what the judge says of all of them. Out: ``forecast.npz``, and the curves ``foreseen`` in
``judge.json``. Always holds: the same files, versions and seed give the same numbers (to rounding).
Costs half an hour of one core for the judge (``--keep`` saves what it says), some minutes for
paraphrases, and three to learn.

1. The judge gives the log-odds of rewrites with one change by its full curves. 2. The network
learns what evidence about texts takes from these, beyond what lists and tables take. Each fifth of
the changes is forecast by a network that learned from the others. 3. The log-odds that this leaves
are moved and stretched until they reject six in a hundred of the rewrites that the full curves
accept, at a chance of 1/2 as well as at 1/10. (Both are chances by the evidence. For a change that
nobody read, S is 1/2 or 1/10 at lower ones.) 4. The shipped network learns from all rewrites.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import io
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from sears_dsl.judge import forecast, surface
from sears_dsl.judge.changes import changes_of, words_of
from sears_dsl.judge.estimate import load_likelihood_estimate
from sears_dsl.judge.evidence import Curves, differences
from sears_dsl.judge.forecast import FORECAST, NUMBERS, ForecastWeights, clues_of
from sears_dsl.judge.judge import Judge, load_judge
from sears_dsl.judge.readings import Readings, change_name
from sears_dsl.meaning.scorers import Pair
from sears_dsl.runtime.array_types import Floats
from sears_dsl.runtime.files import write_atomically
from training.content import half
from training.corpus import add_texts, read_texts
from training.estimate import PARAPHRASED, REWRITTEN, TEXTS
from training.judge import described, odds_of, part, scaled, show
from training.unjudged import unjudged
from training.weight_files import learned_bytes

JUDGE = forecast.FILE.with_name("judge.json")

#: A chance below this one is as good as none; to find it out exactly would cost most of the time.
LEAST = 0.03
_FLOOR = float(np.log(LEAST / (1 - LEAST))) + 1e-6
#: What the forecast may reject of what the full curves accept at a chance of `_FAR`, and of 1/2.
#: Most of these are just above.
_FAR, _LOST = 0.1, 0.06
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
            words = words_of(original)
            before = [word.text for word in words if word.end <= change.start][-1:]
            after = [word.text for word in words if word.start >= change.end][:1]
            if before and (not after or len(original) % 2):
                old, new = (*before, *old), (*before, *new)
            elif after:
                old, new = (*old, *after), (*new, *after)
            else:
                continue
        if len(old) <= _LONGEST_CHANGE:
            sources.setdefault((old, new), original)
    places = _places_of({old for old, _ in sources}, texts)
    generator = random.Random(5)  # noqa: S311 - a draw, no secret
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
    generator = random.Random(3)  # noqa: S311 - a draw, no secret
    texts = []
    for of_kind in kinds.values():
        fitting = sorted({t for t in of_kind if _WORDS[0] <= len(t.split()) <= _WORDS[1]})
        generator.shuffle(fitting)
        texts += fitting[:_OF_A_KIND]
    pairs = dict.fromkeys([*made, *paraphrased, *elsewhere(paraphrased, texts)])
    return [pair for pair in pairs if len(differences(*pair)) == 1]


# --- what the judge says of them -------------------------------------------------------------


class Lessons(NamedTuple):
    """Rewrites with what the judge says of them; each distinct group of words has one vector.

    Attributes:
        columns: the cheap evidence by name, each (N,).
        bounds: (N,) the log-odds that this evidence leaves by the full curves.
        odds: (N,) the log-odds by the full curves and all evidence, at least `_FLOOR`.
        changes: (N,) the name of the change.
        vectors: (U, 384), of length 1.
        words: int (N, 6), rows of ``vectors``: see `Clues`.
        numbers: (N, NUMBERS).
    """

    columns: dict[str, Floats]
    bounds: Floats
    odds: Floats
    changes: list[str]
    vectors: Any
    words: NDArray[np.int64]
    numbers: Any


def judged(judge: Judge, pairs: Sequence[Pair], file: Path) -> Floats:
    """The chance of each rewrite by the full curves alone, 0 if below `LEAST`."""
    if not file.exists():
        alone = replace(judge, bounds=(), readings=Readings(1.0, 0.0, 0.0, {}))
        parts: list[Floats] = []
        for begin in range(0, len(pairs), 1000):
            parts.append(alone.scores_from(pairs[begin : begin + 1000], LEAST))
            show(f"judged {begin + len(parts[-1])} of {len(pairs)}")
        content = io.BytesIO()
        np.save(content, np.concatenate(parts))
        write_atomically(file, content.getvalue())
    return np.asarray(np.load(file), np.float64)


def lessons_of(pairs: Sequence[Pair], chances: Floats, judge: Judge) -> Lessons:
    """Turn rewrites with one change into numbers."""
    changes = [differences(*pair)[0] for pair in pairs]
    encoder = judge.evidence.encoder
    columns = judge.evidence.cheap(pairs, [(change,) for change in changes])
    clues = [
        clues_of(original, change, encoder)
        for (original, _), change in zip(pairs, changes, strict=True)
    ]
    rows: dict[tuple[str, ...], int] = {}
    words = [[rows.setdefault(some, len(rows)) for some in each.words] for each in clues]
    chances = chances.clip(LEAST, 1 - LEAST)
    return Lessons(
        columns,
        odds_of(judge.full, columns),
        np.log(chances / (1 - chances)),
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
    cheap = [at for at, name in enumerate(full.names) if name in lessons.columns]
    curves = Curves(
        intercept=full.intercept - sum(
            float(taken.min()) for at, taken in enumerate(full.taken) if at not in cheap
        ),
        names=(*(full.names[at] for at in cheap), FORECAST),
        points=(*(full.points[at] for at in cheap), np.array([0.0, most])),
        taken=(*(full.taken[at] for at in cheap), np.array([0.0, most])),
    )  # fmt: skip
    odds = odds_of(curves, {**lessons.columns, FORECAST: column})
    wanted = np.log([_FAR / (1 - _FAR), 1.0])
    low, high = (float(np.quantile(odds[lessons.odds >= each], _LOST)) for each in wanted.tolist())
    slope = float(wanted[1] - wanted[0]) / (high - low)
    return replace(scaled(curves, slope, -slope * high), least=_REJECTED)


def figures(judge: Judge, lessons: Lessons, column: Floats, curves: Curves) -> dict[str, Any]:
    """How good the forecasts are, and how many rewrites they leave open."""
    columns = {**lessons.columns, FORECAST: column}
    known = np.minimum(*(each.chances(lessons.columns) for each in (judge.full, judge.bounds[0])))
    result: dict[str, Any] = {"rewrites": len(column)}
    for least in (0.5, _FAR):
        # The chance by the evidence at which a change that nobody read has this S.
        chance = float(judge.readings.least(least, [()])[0])
        accepted = lessons.odds >= np.log(chance / (1 - chance))
        before = known >= chance
        after = before & (curves.chances(columns) >= chance)
        result[f"S at least {least}"] = {
            "accepted": int(accepted.sum()),
            "left open without the forecast": int(before.sum()),
            "left open": int(after.sum()),
            "accepted, rejected by the forecast": int((accepted & before & ~after).sum()),
        }
    return result


def main() -> None:
    """Ask the judge, learn, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, required=True, help="a folder for what the judge says")
    add_texts(parser)
    parser.add_argument("--ppdb", type=Path, required=True, help="ppdb-sample.tsv")
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
    digest = hashlib.sha256(repr(asked).encode()).hexdigest()[:16]
    lessons = lessons_of(pairs, judged(judge, pairs, options.keep / f"judged-{digest}.npy"), judge)
    fold = np.array([part(change, _FOLDS, "forecast") for change in lessons.changes])
    column = np.zeros(len(pairs))
    for number in range(_FOLDS):
        network = learn(lessons, np.flatnonzero(fold != number), seed=1 + number)
        rows = np.flatnonzero(fold == number)
        column[rows] = forecasts(network, lessons, rows)
        show(f"{number + 1} of {_FOLDS} folds")
    weights = learn(lessons, np.arange(len(pairs)), seed=0).weights()
    curves = foreseen(judge.full, lessons, column)
    result = figures(judge, lessons, column, curves)
    show(f"{result}")
    learned = learned_bytes(weights)
    document["foreseen"] = described(curves)
    document["forecast"] = {
        "sha256": hashlib.sha256(learned).hexdigest(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "command": "python -m training.forecast --keep FOLDER --books FILE ...",
        "figures": result,
    }
    write_atomically(forecast.FILE, learned)
    write_atomically(JUDGE, (json.dumps(document, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
