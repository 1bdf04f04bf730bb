"""Trainings and what each net says of the beds, in a file with a line a training.

In: a plan of `Training`s. Out: `Outcome`s in the file. Always holds: a training that stands there
is not done again; a line is written whole. Costs what training costs, in as many processes as are
asked for, one thread each.
"""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.semantic_robustness.beds import (
    PHENOMENA,
    Rows,
    augmenting,
    judged_sentences,
    template_halves,
    test_sentences,
    training_phrases,
    training_sentences,
)
from benchmarks.semantic_robustness.bounds import bounded_loss, certified
from benchmarks.semantic_robustness.nets import (
    NETS,
    WordVectors,
    answers,
    plain_loss,
    trained,
    weights,
)

_VERSION = 2
#: The widest side of the box of the paper's word vectors: sizes of noise are scaled by ours.
PAPER_DIAMETER = 3.17
#: The paper's sizes, and others of its curve.
SIZES, MORE_SIZES = (0.001, 0.01), (0.003, 0.03, 0.1)
#: Nets of layers that bounds pass through.
BOUNDED = ("FC", "CNN")


@dataclass(frozen=True, slots=True, order=True)
class Training:
    """A net to train.

    Attributes:
        seed: of weights and order.
        net: one of `nets.NETS`; ``MiniLM``, trained further; or ``MiniLM 0`` to ``MiniLM 6``, a
            head on so many frozen layers.
        kind: ``plain``; a phenomenon, augmented with one half of its templates; or ``bounded``.
        amount: the augmented share of the rows, or the size of the box as the paper has it.
        swapped: augmented with the second half of the templates, not with the first.
        phrases: trained on phrases instead of sentences.
    """

    seed: int
    net: str
    kind: str = "plain"
    amount: float = 0.0
    swapped: bool = False
    phrases: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a trained net does; shares of right answers throughout.

    Attributes:
        training: how it was trained.
        accuracy: of SST-2's sentences.
        templates: phenomenon → template → of its sentences.
        judged: phenomenon → of the judged sentences.
        mean_weight: of all weights of a net; the paper calls it norm.
        norm: of all weights of a net, Euclidean.
        certified: size → of SST-2's sentences that no point of the box makes wrong (FC, CNN).
    """

    training: Training
    accuracy: float
    templates: dict[str, dict[str, float]]
    judged: dict[str, float]
    mean_weight: float = 0.0
    norm: float = 0.0
    certified: dict[str, float] = field(default_factory=dict)


def run(plan: Sequence[Training], results: Path, *, processes: int) -> None:
    """Add the outcomes of a plan to a file, of those trainings that it has not yet."""
    done = known(results)
    missing = [each for each in plan if each not in done]
    results.parent.mkdir(parents=True, exist_ok=True)
    # What a batch leaves stays with the process, which else asks for the same pages at each step.
    os.environ.update(MALLOC_MMAP_MAX_="0", MALLOC_TRIM_THRESHOLD_="10000000000")
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, torch.set_num_threads, (1,)) as pool:
        for number, found in enumerate(pool.imap_unordered(outcome, missing), start=1):
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"version": _version(), **asdict(found)}) + "\n")
            print(f"{number} of {len(missing)}: {found.training}", flush=True)


def outcome(training: Training) -> Outcome:
    """Train a model and ask it."""
    if training.net in NETS:
        return _of_net(training)
    # Heavy, and only needed here: transformers.
    from benchmarks.semantic_robustness.encoder import encoder_answers

    said = encoder_answers(training.net, training_sentences(), seed=training.seed)

    def right(asked: Rows) -> float:
        return _share(said(asked.texts), asked)

    return _asked(training, right)


def _of_net(training: Training) -> Outcome:
    rows, vectors = _learning(training.phrases)
    scale = vectors.diameter / PAPER_DIAMETER
    if training.kind in PHENOMENA:
        half = template_halves(training.kind)[training.swapped]
        more = round(len(rows) * training.amount / (1 - training.amount))
        rows = rows.with_more(augmenting(half, more))
    bounded = training.kind == "bounded"
    loss = bounded_loss(training.amount * scale) if bounded else plain_loss
    network = trained(training.net, rows, vectors, seed=training.seed, loss=loss)

    def right(asked: Rows) -> float:
        return _share(answers(network, asked.texts, vectors), asked)

    test = test_sentences()
    inputs, labels = vectors(vectors.numbers(test.texts)), torch.tensor(test.labels)
    sizes = sorted({*SIZES, training.amount} if bounded else SIZES)
    mean, norm = weights(network)
    return replace(
        _asked(training, right),
        mean_weight=mean,
        norm=norm,
        certified={
            str(size): certified(network, inputs, labels, size * scale)
            for size in (sizes if training.net in BOUNDED else ())
        },
    )


def _asked(training: Training, right: Callable[[Rows], float]) -> Outcome:
    """What a model has right of everything."""
    return Outcome(
        training=training,
        accuracy=right(test_sentences()),
        templates={
            phenomenon: {
                name: right(sentences)
                for half in template_halves(phenomenon)
                for name, sentences in half.templates.items()
            }
            for phenomenon in PHENOMENA
        },
        judged={phenomenon: right(judged_sentences(phenomenon)) for phenomenon in PHENOMENA},
    )


def _share(said: NDArray[np.int64], asked: Rows) -> float:
    return float(np.mean(said == np.array(asked.labels)))


@functools.cache
def _learning(phrases: bool) -> tuple[Rows, WordVectors]:
    rows = training_phrases() if phrases else training_sentences()
    return rows, WordVectors(rows)


def known(results: Path) -> dict[Training, Outcome]:
    """What a file of results holds; empty where there is none.

    Raises:
        SystemExit: it is of other sentences, or of another version of this benchmark.
    """
    found = {}
    for line in results.read_text("utf-8").splitlines() if results.exists() else ():
        fields = json.loads(line)
        if fields.pop("version") != _version():
            raise SystemExit(f"{results} is of other sentences or nets: remove it")
        each = Outcome(**{**fields, "training": Training(**fields["training"])})
        found[each.training] = each
    return found


@functools.cache
def _version() -> str:
    """Of trainings, and of the templates that they are asked about."""
    halves = [template_halves(phenomenon) for phenomenon in PHENOMENA]
    return f"{_VERSION}-{blake2b(repr(halves).encode(), digest_size=6).hexdigest()}"
