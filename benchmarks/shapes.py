"""A small visual setting of our own: pictures of shapes, questions, a network that answers them.

Pictures are 32 by 32 pixels with one to four shapes in four colours. Questions begin like those of
VQA v2 ("What color is", "How many", "Is there a", "Which", …); each kind has several wordings of
unequal frequency, as people use them. The network is the plain one of the first papers on the task:
a convolutional network sees the picture, an LSTM reads the question, and both together choose an
answer of the vocabulary. Always holds: a seed decides pictures, questions and weights; the picture
determines the answer to a question. Costs some minutes on one core.

For `sears` the model is ``benchmarks.shapes:model``; the environment names its file (SHAPES_MODEL).
"""

from __future__ import annotations

import csv
import os
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageDraw
from torch import nn

__all__ = ["Answerer", "model", "train", "write_rows"]

SIDE = 32
COLORS = {"red": (214, 39, 40), "green": (44, 160, 44), "blue": (31, 119, 180),
          "yellow": (240, 200, 30)}  # fmt: skip
SHAPES = ("circle", "square", "triangle")
_CORNERS = {"top left": (8, 8), "top right": (24, 8), "bottom left": (8, 24),
            "bottom right": (24, 24)}  # fmt: skip
_WORDS = re.compile(r"\w+|'\w+|[^\w\s]")
_UNKNOWN = "(unknown)"
# How often a word must occur in the training questions to have a vector of its own.
_SEEN = 3
_LONGEST = 16


# What every question offers besides answers of its own kind, like the choices of VQA.
_POPULAR = ("yes", "no", "1", "2", "red", "circle")


@dataclass(frozen=True, slots=True)
class Thing:
    """A shape in a picture: its kind, its colour, its corner."""

    shape: str
    color: str
    corner: str


# The wordings of each kind of question and how often people use them: mostly the first ones, the
# last ones rarely or never. `{…}` is filled in from the picture.
_WORDINGS: dict[str, Sequence[tuple[int, str]]] = {
    "color": ((60, "What color is the {shape}?"), (18, "What is the color of the {shape}?"),
              (4, "What color is this {shape}?")),
    "shape": ((40, "What shape is {color}?"), (22, "Which shape is {color}?"),
              (20, "What is the shape of the {color} thing?")),
    "count": ((60, "How many {shape}s are there?"), (16, "How many {shape}s are in the picture?"),
              (5, "How many {shape}s do you see?")),
    "there": ((45, "Is there a {color} {shape}?"),
              (20, "Is there a {color} {shape} in the picture?"),
              (6, "Are there any {color} {shape}s?")),
    "where": ((50, "Where is the {shape}?"), (14, "In which corner is the {shape}?")),
    "is": ((50, "Is the {shape} {color}?"), (8, "Is this {shape} {color}?")),
    "what": ((40, "What is in the {corner} corner?"), (12, "What is at the {corner}?")),
    "all": ((30, "How many things are there?"), (10, "How many shapes are in the image?")),
}  # fmt: skip


def picture(things: Sequence[Thing], draw: random.Random) -> Image.Image:
    """Things on a light ground, each a little off the middle of its corner."""
    ground = draw.randint(225, 250)
    image = Image.new("RGB", (SIDE, SIDE), (ground, ground, ground))
    pen = ImageDraw.Draw(image)
    for thing in things:
        x, y = (place + draw.randint(-2, 2) for place in _CORNERS[thing.corner])
        half = draw.randint(4, 6)
        color = tuple(min(255, max(0, part + draw.randint(-18, 18)))
                      for part in COLORS[thing.color])  # fmt: skip
        box = (x - half, y - half, x + half, y + half)
        if thing.shape == "circle":
            pen.ellipse(box, fill=color)
        elif thing.shape == "square":
            pen.rectangle(box, fill=color)
        else:
            pen.polygon([(x, y - half), (x - half, y + half), (x + half, y + half)], fill=color)
    return image


def _things(draw: random.Random) -> list[Thing]:
    corners = draw.sample(sorted(_CORNERS), draw.randint(1, 4))
    return [Thing(draw.choice(SHAPES), draw.choice(sorted(COLORS)), each) for each in corners]


def _question(things: Sequence[Thing], draw: random.Random) -> tuple[str, str, list[str]] | None:
    """A question about a picture, its answer, and its choices."""
    kind = draw.choice(sorted(_WORDINGS))
    one, shape, color = draw.choice(things), draw.choice(SHAPES), draw.choice(sorted(COLORS))
    alone = sum(each.shape == one.shape for each in things) == 1
    unique = sum(each.color == one.color for each in things) == 1
    corners = sorted(_CORNERS)
    asked: tuple[str, list[str]] | None = {
        "color": (one.color, sorted(COLORS)) if alone else None,
        "shape": (one.shape, sorted(SHAPES)) if unique else None,
        "count": (str(sum(each.shape == shape for each in things)), list("01234")),
        "there": (_yes(any(each.shape == shape and each.color == color for each in things)),
                  ["no", "yes"]),
        "where": (one.corner, corners) if alone else None,
        "is": (_yes(one.color == color), ["no", "yes"]) if alone else None,
        "what": (one.shape, sorted(SHAPES)),
        "all": (str(len(things)), list("01234")),
    }[kind]  # fmt: skip
    if asked is None:
        return None
    weights, wordings = zip(*_WORDINGS[kind], strict=True)
    if kind in ("color", "where", "is"):
        shape = one.shape
    if kind == "shape":
        color = one.color
    [wording] = draw.choices(wordings, weights)
    text = wording.format(shape=shape, color=color, corner=one.corner)
    return text, *asked


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"


def write_rows(folder: Path, *, pictures: int, questions: int, seed: int) -> Path:
    """Draw pictures, ask about them, and write both.

    Args:
        folder: gets a ``NAME.png`` for each picture, and ``rows.csv`` with the columns question,
            image, choices (with ``|`` between them), answer.
        pictures: how many pictures.
        questions: how many questions about each.
        seed: decides all of it.

    Returns:
        The file of rows.
    """
    draw = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[tuple[str, str, str, str]] = []
    for number in range(pictures):
        things = _things(draw)
        name = f"{seed}-{number:04}.png"
        picture(things, draw).save(folder / name)
        asked: dict[str, tuple[str, str, str, str]] = {}
        while len(asked) < questions:
            question = _question(things, draw)
            if question is not None:
                text, answer, choices = question
                among = dict.fromkeys((*choices, *_POPULAR))
                asked.setdefault(text, (text, name, "|".join(among), answer))
        rows += asked.values()
    path = folder / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("question", "image", "choices", "answer"), *rows])
    return path


def words(question: str) -> list[str]:
    """A question in words, lower case."""
    return _WORDS.findall(question.lower())[:_LONGEST]


@cache
def _pixels(path: str) -> torch.Tensor:
    with Image.open(path) as image:
        array = np.asarray(image.convert("RGB"), np.float32) / 255 - 0.5
    return torch.from_numpy(array.transpose(2, 0, 1).copy())


class _Network(nn.Module):
    """A convolutional network and an LSTM; the product of their outputs chooses an answer."""

    def __init__(self, vocabulary: int, answers: int, width: int = 96) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 48, padding_idx=0)
        self.lstm = nn.LSTM(48, width, batch_first=True)
        self.see = nn.Sequential(
            nn.Conv2d(3, 24, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(24, 48, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(48, 32, 3, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 8 * 8, 2 * width), nn.ReLU(),
        )  # fmt: skip
        self.ask = nn.Linear(width, 2 * width)
        self.choose = nn.Sequential(nn.Linear(3 * width, 128), nn.ReLU(), nn.Linear(128, answers))

    def forward(self, pixels: torch.Tensor, numbers: torch.Tensor, lengths: torch.Tensor) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(numbers), lengths, batch_first=True, enforce_sorted=False
        )
        _, (last, _) = self.lstm(packed)
        question = last[-1]
        both = self.see(pixels) * torch.tanh(self.ask(question))
        return self.choose(torch.cat([both, question], 1))


class Answerer:
    """A trained network: the answer to each row, and how likely it is to be right.

    Args:
        network: its weights.
        vocabulary: the words that it knows, in order; the first two are padding and unknown.
        answers: the answers that it gives.
    """

    def __init__(self, network: nn.Module, vocabulary: Sequence[str], answers: Sequence[str]):
        self._network = network.eval()
        self._vocabulary = list(vocabulary)
        self._numbers = {word: number for number, word in enumerate(vocabulary)}
        self._answers = list(answers)

    def predict(self, rows: Sequence[Mapping[str, str]]) -> list[tuple[str, float]]:
        """The likeliest answer to each row, among its choices if it has any."""
        answers: list[tuple[str, float]] = []
        for start in range(0, len(rows), 256):
            part = rows[start : start + 256]
            with torch.no_grad():
                scores = self._network(*inputs(part, self._numbers)).softmax(1).numpy()
            for row, every in zip(part, scores, strict=True):
                among = set(row.get("choices", "").split("|")) - {""}
                of_row = every * [not among or answer in among for answer in self._answers]
                best = int(of_row.argmax())
                answers.append((self._answers[best], min(1.0, float(of_row[best] / of_row.sum()))))
        return answers

    def save(self, path: Path) -> None:
        """Write weights and vocabulary."""
        torch.save([self._network.state_dict(), self._vocabulary, self._answers], path)

    @classmethod
    def load(cls, path: Path) -> Answerer:
        """What `save` wrote."""
        weights, vocabulary, answers = torch.load(path, weights_only=True)
        network = _Network(len(vocabulary), len(answers))
        network.load_state_dict(weights)
        return cls(network, vocabulary, answers)


def inputs(rows: Sequence[Mapping[str, str]], numbers: Mapping[str, int]) -> tuple[Any, Any, Any]:
    """Pixels, numbers of words, lengths of questions."""
    asked = [words(row["question"]) or [_UNKNOWN] for row in rows]
    padded = np.zeros((len(rows), _LONGEST), np.int64)
    for place, question in enumerate(asked):
        padded[place, : len(question)] = [numbers.get(word, 1) for word in question]
    pixels = torch.stack([_pixels(row["image"]) for row in rows])
    return pixels, torch.from_numpy(padded), torch.tensor([len(each) for each in asked])


def train(
    rows: Sequence[Mapping[str, str]],
    answers: Sequence[str],
    seed: int = 0,
    *,
    passes: int = 12,
    report: Callable[[str], object] = lambda line: None,
) -> Answerer:
    """Train a network.

    Args:
        rows: questions with the paths of their pictures.
        answers: the right answers.
        seed: decides weights and order.
        passes: how often the rows are read.
        report: called with a line after each pass.
    """
    torch.manual_seed(seed)
    counts = Counter(word for row in rows for word in words(row["question"]))
    vocabulary = ["", _UNKNOWN, *sorted(word for word, count in counts.items() if count >= _SEEN)]
    numbers = {word: number for number, word in enumerate(vocabulary)}
    known = sorted(set(answers))
    of_rows = torch.tensor([known.index(answer) for answer in answers])
    pixels, padded, lengths = inputs(rows, numbers)
    network = _Network(len(vocabulary), len(known))
    optimizer = torch.optim.Adam(network.parameters(), lr=1.5e-3)
    size = 64
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, 3e-3, total_steps=passes * (len(rows) // size + 1)
    )
    for number in range(passes):
        order = torch.randperm(len(rows))
        total = 0.0
        for part in order.split(size):
            # Drop words at random, so that the vector of the unknown word gets a meaning.
            asked = padded[part]
            asked = torch.where((torch.rand(asked.shape) < 0.02) & (asked > 0), 1, asked)
            loss = nn.functional.cross_entropy(
                network(pixels[part], asked, lengths[part]), of_rows[part]
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(part)
        report(f"pass {number + 1} of {passes}: loss {total / len(rows):.3f}")
    return Answerer(network, vocabulary, known)


@cache
def _named() -> Answerer:
    return Answerer.load(Path(os.environ["SHAPES_MODEL"]))


def model(rows: Sequence[Mapping[str, str]]) -> list[tuple[str, float]]:
    """The model that SHAPES_MODEL names, for ``--model benchmarks.shapes:model``."""
    return _named().predict(rows)
