"""Makes the estimate of likelihood: ``python -m training.estimate --keep FOLDER --books FILE ...``.

In: rewrites that nobody judged (`training.unjudged`), what a language model says of them, and the
deep network of the grammar, where learning starts. Out: ``likelihood_en.npz``, and a line for each
step. Always holds: the same files, versions, processor and seed give the same bytes. Costs half an
hour of one core to ask the language model (``--keep`` saves the answers) and half an hour to learn,
on a core that multiplies matrices of bfloat16 (AMX).
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from sears_dsl.errors import DataError
from sears_dsl.judge.estimate import FILE, PIECES, changed_pieces
from sears_dsl.judge.grammar import DEEP
from sears_dsl.judge.likelihood import LikelihoodModel, Nats, columns_of, window_of
from sears_dsl.judge.networks import read_grammar_file
from sears_dsl.translation.model_files import carried_encoder, carried_language_model
from sears_dsl.translation.weight_file import file_hash
from training.command import run
from training.corpus import add_texts, read_texts
from training.detector import (
    Estimator,
    deep_weights,
    encoder_tokenizer,
    padded,
    set_deep_weights,
)
from training.likelihood import nats_of
from training.records import show
from training.unjudged import unjudged
from training.weight_files import write_grammar_file

#: How many texts rewrites are drawn for, how many of them are asked about and how many paraphrased,
#: and how often each rewrite is learned from.
TEXTS, REWRITTEN, PARAPHRASED, EPOCHS = 9000, 3660, 1000, 3.0

# How many originals a batch holds, and how many rewrites of each.
_ORIGINALS, _REWRITES = 24, 3
_SORTED = 30
# Nats are clipped to these limits, then divided by the scales.
_LEAST, _MOST = (-8.0, -6.0, 0.0, 0.0), (24.0, 12.0, 30.0, 20.0)
_SCALES = (6.0, 4.0, 8.0, 5.0)
_WEIGHTS = (2.0, 1.0, 1.0, 1.0)
_RATE = 8e-4


class Lessons(NamedTuple):
    """Rewrites with what a language model says of them."""

    rows: list[list[int]]  # the pieces of distinct texts
    pairs: Any  # (N, 2) rows of originals and rewrites
    spans: list[tuple[slice, slice]]  # where the pieces of each pair differ
    nats: Any  # (N, LIKELIHOOD); the first two may be below 0


def lessons_of(pairs: Sequence[tuple[str, str]], nats: Sequence[Nats]) -> Lessons:
    """Turn pairs into numbers.

    Raises:
        DataError: there are no pairs.
    """
    if not pairs:
        raise DataError("there are no rewrites to learn from", help="give more or longer texts")
    tokenizer = encoder_tokenizer()
    windows = [window_of(*pair) for pair in pairs]
    texts = list(dict.fromkeys(text for window in windows for text in window))
    numbers = {text: number for number, text in enumerate(texts)}
    rows = [each.ids[:PIECES] for each in tokenizer.encode_batch(texts)]
    places = np.array([[numbers[text] for text in window] for window in windows])
    spans = [changed_pieces(rows[one], rows[other]) for one, other in places.tolist()]
    columns = columns_of(nats)
    more = columns[:, 0] - columns[:, -1]
    rest = [float(each.after_new.sum() - each.after_old.sum()) for each in nats]
    return Lessons(rows, places, spans, np.column_stack([more, rest, columns[:, 2:4]]))


def train(lessons: Lessons, *, epochs: float, seed: int) -> Estimator:
    """Train the network for ``epochs`` passes."""
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    model = Estimator().train()
    set_deep_weights(model, read_grammar_file(DEEP).arrays, heads=False)
    targets = (np.clip(lessons.nats, _LEAST, _MOST) / _SCALES).astype(np.float32)
    mean = targets.mean(0)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=_RATE, betas=(0.9, 0.98), weight_decay=0.02)
    share = torch.tensor(_WEIGHTS) / sum(_WEIGHTS)
    batches = _batches(lessons, generator)
    size = next(batches)
    steps = int(epochs * len(lessons.pairs) / len(size))
    running = 0.0
    for step in range(steps):
        some = next(batches)
        done = step / steps
        for group in optimizer.param_groups:
            group["lr"] = _RATE * min(1, (step + 1) / 60) * max(0.02, 1 - done)
        with torch.autocast("cpu", torch.bfloat16):
            estimates = model(*packed(lessons, some)).float()
        wanted = torch.from_numpy(targets[some] - mean)
        each = functional.smooth_l1_loss(estimates, wanted, reduction="none", beta=0.5)
        loss = (each.mean(0) * share).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        running += (float(loss.detach()) - running) * max(0.02, 1 / (step + 1))
        if (step + 1) % 100 == 0 or step + 1 == steps:
            show(f"step {step + 1} of {steps}, loss {running:.4f}")
    # Nats are the unit in which the estimate is asked for.
    with torch.no_grad():
        scales = torch.tensor(_SCALES)
        model.output.bias.copy_((model.output.bias + torch.from_numpy(mean)) * scales)
        model.output.weight.mul_(scales[:, None])
    return model.eval()


def packed(lessons: Lessons, some: Any) -> tuple[Any, Any, Any, Any]:
    """What `Estimator.forward` reads of pairs; each distinct text occurs once."""
    texts, places = np.unique(lessons.pairs[some], return_inverse=True)
    places = places.reshape(-1, 2)
    rows = [lessons.rows[text] for text in texts.tolist()]
    pieces, filled = padded(rows)
    count, length = len(some), pieces.shape[1]
    pooled = np.zeros((6 * count, len(rows) * length), np.float32)
    sizes = np.zeros((count, 2), np.float32)
    for at, pair in enumerate(some.tolist()):
        for side, span in enumerate(lessons.spans[pair]):
            row = places[at, side]
            first = 3 * (side * count + at)
            sizes[at, side] = np.log1p(span.stop - span.start)
            around = (
                [max(0, span.start - 1)],
                range(span.start, span.stop),
                [min(len(rows[row]) - 1, span.stop)],
            )
            for kind, some_pieces in enumerate(around):
                columns = row * length + np.array(some_pieces)
                pooled[first + kind, columns] = 1 / len(some_pieces)
    return (
        torch.from_numpy(pieces), torch.from_numpy(filled),
        torch.from_numpy(pooled), torch.from_numpy(sizes),
    )  # fmt: skip


def _batches(lessons: Lessons, generator: Any) -> Iterator[Any]:
    """Rewrites of originals of similar length, in a new order on each pass, without end.

    Of fewer groups than a batch holds, each batch has all.
    """
    of: dict[int, list[int]] = defaultdict(list)
    for at, original in enumerate(lessons.pairs[:, 0].tolist()):
        of[original].append(at)
    while True:
        groups = []
        for original in generator.permutation(list(of)).tolist():
            shuffled = generator.permutation(of[original])
            groups += [
                shuffled[low : low + _REWRITES] for low in range(0, len(shuffled), _REWRITES)
            ]
        order = generator.permutation(len(groups))
        held = min(_ORIGINALS, len(groups))
        for low in range(0, len(order), held * _SORTED):
            some = [groups[at] for at in order[low : low + held * _SORTED].tolist()]
            some.sort(key=lambda group: len(lessons.rows[lessons.pairs[group[0], 1]]))
            for at in generator.permutation(len(some) // held):
                yield np.concatenate(some[at * held : (at + 1) * held])


def main() -> None:
    """Ask the language model, learn, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, required=True, help="a folder for what was asked")
    add_texts(parser)
    parser.add_argument("--ppdb", type=Path, required=True, help="ppdb-sample.tsv")
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--rewritten", type=int, default=REWRITTEN, help="texts")
    parser.add_argument("--paraphrased", type=int, default=PARAPHRASED, help="texts")
    parser.add_argument("--epochs", type=float, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)  # so that sums are in one order
    made, paraphrased = unjudged(
        read_texts(options), options.ppdb,
        texts=TEXTS, most=options.rewritten, paraphrased=options.paraphrased,
    )  # fmt: skip
    pairs = list(dict.fromkeys([*made, *paraphrased]))
    show(f"{len(pairs):,} rewrites")
    options.keep.mkdir(parents=True, exist_ok=True)
    # Half the precision, for less than half the time.
    language_model = LikelihoodModel(carried_language_model(), type_of_numbers=torch.bfloat16)
    nats = nats_of("unjudged", pairs, language_model, options.keep)
    model = train(lessons_of(pairs, nats), epochs=options.epochs, seed=options.seed)
    digest = write_grammar_file(
        options.out,
        about={
            "name": "sears English likelihood",
            "layers": model.layers,
            "encoder": file_hash(carried_encoder() / "model.safetensors"),
            "language": "en",
            "licence": "CC BY-SA 4.0",
            "learned from": "SmolLM2-135M-Instruct",
            "rewrites": len(pairs),
            "epochs": options.epochs,
            "seed": options.seed,
        },
        arrays=deep_weights(model),
    )
    show(f"{options.out}: {options.out.stat().st_size:,} bytes, {digest}")


if __name__ == "__main__":
    run(main)
