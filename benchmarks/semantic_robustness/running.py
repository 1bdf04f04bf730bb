"""Runs trainings, and saves what each net says of the beds, one line for each training.

In: a plan of `Training`s. Out: `Outcome`s in the file. Always holds: a training in the file is not
repeated; a line is written whole. Costs what training costs, in as many processes as are asked for,
with one thread each.
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
#: The longest side of the box of the paper's word vectors; sizes of noise are scaled by ours / it.
PAPER_DIAMETER = 3.17
#: The paper's sizes, and others of its curve.
SIZES, MORE_SIZES = (0.001, 0.01), (0.003, 0.03, 0.1)
#: Nets whose layers can propagate bounds.
BOUNDED = ("FC", "CNN")


@dataclass(frozen=True, slots=True, order=True)
class Training:
    """A net to train.

    Attributes:
        seed: decides weights and order.
        net: one of `nets.NETS`; ``MiniLM``, trained further; or ``MiniLM 0`` to ``MiniLM 6``, a
            head on so many frozen layers.
        kind: ``plain``; a phenomenon, augmented with one half of its templates; or ``bounded``.
        amount: the augmented share of the rows, or the size of the box as in the paper.
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
    """The results of a trained net; all of them are shares of right answers.

    Attributes:
        training: how it was trained.
        accuracy: on SST-2's sentences.
        templates: phenomenon → template → share of its sentences.
        judged: phenomenon → share of the judged sentences.
        mean_weight: the mean of all weights of a net, which the paper calls norm.
        norm: the Euclidean norm of all weights of a net.
        certified: size → share of SST-2's sentences that are right in the whole box (FC, CNN).
    """

    training: Training
    accuracy: float
    templates: dict[str, dict[str, float]]
    judged: dict[str, float]
    mean_weight: float = 0.0
    norm: float = 0.0
    certified: dict[str, float] = field(default_factory=dict)


def run(plan: Sequence[Training], results: Path, *, processes: int) -> None:
    """Add to a file those outcomes of a plan that it lacks."""
    done = known(results)
    missing = [each for each in plan if each not in done]
    results.parent.mkdir(parents=True, exist_ok=True)
    # Keep freed memory of a batch in the process, which otherwise asks for it at each step.
    os.environ.update(MALLOC_MMAP_MAX_="0", MALLOC_TRIM_THRESHOLD_="10000000000")
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, torch.set_num_threads, (1,)) as pool:
        for number, result in enumerate(pool.imap_unordered(outcome, missing), start=1):
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"version": _version(), **asdict(result)}) + "\n")
            print(f"{number} of {len(missing)}: {result.training}", flush=True)


def outcome(training: Training) -> Outcome:
    """Train a model and ask it."""
    if training.net in NETS:
        return _of_net(training)
    # Imported here, since only this needs transformers.
    from benchmarks.semantic_robustness.encoder import encoder_answers

    answers = encoder_answers(training.net, training_sentences(), seed=training.seed)

    def right(asked: Rows) -> float:
        return _share(answers(asked.texts), asked)

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
    """The shares of everything on which a model is right."""
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


def _share(answers: NDArray[np.int64], asked: Rows) -> float:
    return float(np.mean(answers == np.array(asked.labels)))


@functools.cache
def _learning(phrases: bool) -> tuple[Rows, WordVectors]:
    rows = training_phrases() if phrases else training_sentences()
    return rows, WordVectors(rows)


def known(results: Path) -> dict[Training, Outcome]:
    """The content of a file of results; empty if there is none.

    Raises:
        SystemExit: it is for other sentences, or from another version of this benchmark.
    """
    outcomes = {}
    for line in results.read_text("utf-8").splitlines() if results.exists() else ():
        fields = json.loads(line)
        if fields.pop("version") != _version():
            raise SystemExit(f"{results} is for other sentences or nets: remove it")
        each = Outcome(**{**fields, "training": Training(**fields["training"])})
        outcomes[each.training] = each
    return outcomes


@functools.cache
def _version() -> str:
    """The version of trainings, and of the templates that they are asked about."""
    halves = [template_halves(phenomenon) for phenomenon in PHENOMENA]
    return f"{_VERSION}-{blake2b(repr(halves).encode(), digest_size=6).hexdigest()}"
