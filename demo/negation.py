"""A model that scores .90 and does not read *not*; negations mend it, and synonyms do not.

Run by ``make demo``. The sentences are those of demo/reviews.py that people rated clearly, four
fifths to train on; the model is two layers on the means of the fourth and fifth layer of MiniLM,
which stays as it is. It is trained on the sentences alone; on them and their rewrites by synonyms,
the classic repair; and on them, the sentences of negation-taught.sear, what its rules negate of
both, and two frames of phenomena/negation. Each is asked about held-out sentences, the other frames
of phenomena/negation, synonyms, and negations by the rules of negation-unseen.sear, of held-out
sentences and of those that were rated a little less clearly. `sears.fix` does the same with the
rules alone, and measures them on the held-out rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.table import Table
from torch import nn
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer

import sears_dsl as sears
from demo.discovery import HELD_OUT
from demo.reviews import fetch, read_rated
from sears_dsl.cli.screen.console import console
from sears_dsl.translation.model_files import known

ROOT = Path(__file__).resolve().parents[1]
TAUGHT, UNSEEN = ROOT / "demo" / "negation-taught.sear", ROOT / "demo" / "negation-unseen.sear"
SYNONYMS = ["synonyms/reviews", "synonyms/opinions"]
# Templates of phenomena/negation that are trained on; the others are asked about.
_TRAINED_ON = ("nothing", "nobody")
# Ratings go from -4 to 4.
_CLEAR, _FAIRLY_CLEAR = 2.5, 2.0
_OPPOSITE = {"positive": "negative", "negative": "positive"}
_LAYERS = (4, 5)
# Rewrites by synonyms that are trained on, and that are asked about.
_SOME = 200

Rows = list[tuple[str, str]]
Model = Callable[[Sequence[str]], list[str]]


class Reader:
    """Texts as the means of two layers of MiniLM; each text is read once."""

    def __init__(self) -> None:
        files = known("minilm")
        if files is None:
            raise SystemExit("the sentence encoder is not installed: make demo brings it")
        folder = str(files.installed())
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._encoder: Any = AutoModel.from_pretrained(folder, local_files_only=True)
        self._encoder.encoder.layer = self._encoder.encoder.layer[: max(_LAYERS)]
        self._read: dict[str, torch.Tensor] = {}

    @torch.inference_mode()
    def __call__(self, texts: Sequence[str]) -> torch.Tensor:
        """float32 (texts, 768)."""
        new = sorted({text for text in texts if text not in self._read}, key=len)
        for first in range(0, len(new), 64):
            some = new[first : first + 64]
            inputs = self._tokenizer(some, padding=True, truncation=True, max_length=64,
                                     return_tensors="pt")  # fmt: skip
            layers = self._encoder(**inputs, output_hidden_states=True).hidden_states
            shown = inputs["attention_mask"][..., None]
            means = [(layers[each] * shown).sum(1) / shown.sum(1) for each in _LAYERS]
            self._read.update(zip(some, torch.cat(means, 1), strict=True))
        return torch.stack([self._read[text] for text in texts]).clone()


def trained(reader: Reader, texts: Sequence[str], labels: Sequence[str], seed: int) -> Model:
    """A model of these texts: 256 units and the labels, 20 passes of Adam."""
    torch.manual_seed(seed)
    names = sorted(set(labels))
    inputs, gold = reader(texts), torch.tensor([names.index(label) for label in labels])
    network = nn.Sequential(nn.Linear(inputs.shape[1], 256), nn.ReLU(), nn.Linear(256, len(names)))
    adam = torch.optim.Adam(network.parameters())
    for _ in range(20):
        for places in torch.randperm(len(gold)).split(256):
            loss = functional.cross_entropy(network(inputs[places]), gold[places])
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()

    def predict(asked: Sequence[str]) -> list[str]:
        with torch.inference_mode():
            return [names[best] for best in network(reader(asked)).argmax(1).tolist()]

    return predict


def sentences(rules: object, *, of: Callable[[str], bool] = lambda template: True) -> Rows:
    """Sentences of templates, those of some templates."""
    columns = sears.generate(rules).columns
    rows = zip(columns["text"], columns["label"], columns["template"], strict=True)
    return [(text, label) for text, label, template in rows if of(template)]


def negated(rows: Rows) -> Rows:
    """What the unseen rules make of rows, with the other label."""
    matcher = sears.load(UNSEEN).compile()
    return [
        (rewrite.text, _OPPOSITE[rows[rewrite.row][1]])
        for rewrite in matcher.apply([text for text, _ in rows])
    ]


def balanced(rows: Rows) -> Rows:
    """As many rows of each label, the first of them, so that a constant answer has half.

    Example:
        >>> balanced([("a", "positive"), ("b", "negative"), ("c", "positive")])
        [('a', 'positive'), ('b', 'negative')]
    """
    by_label = [[row for row in rows if row[1] == label] for label in _OPPOSITE]
    return [row for pair in zip(*by_label, strict=False) for row in pair]


def main() -> None:
    """Train three times, ask, repair."""
    out, started = console(), time.perf_counter()
    rated = read_rated(fetch(ROOT / ".cache"))
    training, held_out = clear_rows(rated)
    texts = [text for text, _ in held_out]
    reader = Reader()
    plain = training + sentences(TAUGHT)
    taught = [(row["text"], row["label"]) for row in new_rows(plain, TAUGHT)]
    frames = sentences("phenomena/negation", of=trained_on)
    same = [(row["text"], row["label"]) for row in new_rows(training, SYNONYMS, amount=_SOME)]
    unseen = {
        "held out": held_out,
        "templates": sentences("phenomena/negation", of=lambda name: not trained_on(name)),
        "rules": balanced(negated(held_out + between(rated, _FAIRLY_CLEAR, _CLEAR))),
    }
    matcher = sears.compile_rules([sears.load(name) for name in SYNONYMS])
    synonyms = matcher.apply(texts)[:_SOME]
    table = Table("trained on", "rows", *(f"{name} ({len(rows)})" for name, rows in unseen.items()),
                  f"synonym flips ({len(synonyms)})")  # fmt: skip
    for name, rows in (
        ("sentences alone", training), ("and synonyms", training + same),
        ("and negations", plain + taught + 3 * frames),
    ):  # fmt: skip
        model = trained(reader, [text for text, _ in rows], [label for _, label in rows], 0)
        if rows is training:
            began, right = time.perf_counter(), share(model, unseen["templates"])
            seconds = time.perf_counter() - began
            out.print(
                f"{share(model, held_out)} of the held-out sentences right, and {right} of "
                f"{len(unseen['templates'])} negations of templates, asked in {seconds:.1f} s"
            )
        said = model(texts)
        flips = [
            after != said[rewrite.row]
            for rewrite, after in zip(
                synonyms, model([each.text for each in synonyms]), strict=True
            )
        ]
        table.add_row(name, f"{len(rows):,}", *(share(model, asked) for asked in unseen.values()),
                      f"{np.mean(flips):.1%}")  # fmt: skip
    mended: list[Model] = []

    def train(texts: Sequence[str], labels: Sequence[str], seed: int) -> Model:
        model = trained(reader, texts, labels, seed)
        if len(texts) > len(plain):
            mended.append(model)
        return model

    repair = sears.fix(
        [{"text": text, "label": label} for text, label in plain],
        [{"text": text, "label": label} for text, label in held_out],
        TAUGHT, text="text", label="label", seeds=3, control=False, train=train,
    )  # fmt: skip
    table.add_row("sears fix", "", *(share(mended[0], asked) for asked in unseen.values()), "")
    out.print(table)
    out.print(f"sears fix: {repair.summary}")
    out.print(f"{time.perf_counter() - started:.0f} s")


def clear_rows(rated: Sequence[tuple[str, float]]) -> tuple[Rows, Rows]:
    """Sentences that people rated clearly, to train on and held out."""
    rows = between(rated, _CLEAR, np.inf)
    return [row for number, row in enumerate(rows) if number % HELD_OUT], rows[::HELD_OUT]


def between(rated: Sequence[tuple[str, float]], low: float, high: float) -> Rows:
    """Sentences with their labels whose rating is so far from 0."""
    return [
        (text, "positive" if rating > 0 else "negative")
        for text, rating in rated
        if low <= abs(rating) < high
    ]


def trained_on(template: str) -> bool:
    """Whether a template of phenomena/negation is trained on."""
    return template.startswith(_TRAINED_ON)


def new_rows(rows: Rows, rules: object, *, amount: str | int = "all") -> list[dict[str, str]]:
    """What `sears augment` adds to rows."""
    added: list[dict[str, str]] = sears.augment(
        [{"text": text, "label": label} for text, label in rows], rules,
        text="text", label="label", amount=amount, only_new=True,
    )  # fmt: skip
    return added


def share(model: Model, rows: Rows) -> str:
    """How many of some rows a model has right."""
    said = model([text for text, _ in rows])
    return f"{np.mean([one == label for one, (_, label) in zip(said, rows, strict=True)]):.1%}"


if __name__ == "__main__":
    main()
