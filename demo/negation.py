"""A model that scores .90 and does not read *not*; negations mend it, and synonyms do not.

Run by ``make demo``. The sentences are those of demo/reviews.py that people rated clearly; four
fifths are for training. The model is a convolution over the word vectors of MiniLM's fifth layer,
which stays fixed. It is trained three times: on the sentences alone; on them and their rewrites by
synonyms, the classic repair; and on them, the sentences of negation-taught.sear, what its rules
negate in both and in other sentences, and two frames of phenomena/negation. Each model is tested on
held-out sentences, the other frames of phenomena/negation, synonyms, and negations by the rules of
negation-unseen.sear, one for each sentence, of held-out sentences and of those rated less clearly.
`sears.fix` does the same with the rules alone, and measures them on the held-out rows. An oracle
rejects negations of sentences that say more than one thing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from rich.table import Table
from torch import nn
from torch.nn import functional

import sears_dsl as sears
from demo.discovery import HELD_OUT
from demo.reviews import fetch, read_rated
from sears_dsl.cli.screen.console import console
from sears_dsl.judge.bert import Bert
from sears_dsl.paraphrasing.team import one_thread
from sears_dsl.statistics import wilson_interval
from sears_dsl.translation.model_files import find_model

ROOT = Path(__file__).resolve().parents[1]
TAUGHT, UNSEEN = ROOT / "demo" / "negation-taught.sear", ROOT / "demo" / "negation-unseen.sear"
SYNONYMS = ["synonyms/reviews", "synonyms/opinions"]
# Templates of phenomena/negation for training; the others are for the test.
_TRAINED_ON = ("nothing", "nobody")
# Ratings go from -4 to 4.
_CLEAR, _FAIRLY_CLEAR, _LESS_CLEAR = 2.5, 2.0, 1.5
_OPPOSITE = {"positive": "negative", "negative": "positive"}
_LAYER, _WIDTH, _PASSES = 5, 64, 8
# Rewrites by synonyms, for training and for the test; negations for training.
_SOME, _NEGATIONS = 200, 2000

Rows = list[tuple[str, str]]
Model = Callable[[Sequence[str]], list[str]]
Oracle = Callable[[Sequence[Mapping[str, str]]], list[bool]]


# Words that make a sentence say more than one thing, or no longer say it plainly.
_MORE = re.compile(
    r"\b(not|no|never|nothing|nobody|nor|without|but|though|although|yet|if|while|only|or|than"
    r"|because|despite|hardly|barely|rarely|too|also|still|even|anything|except|unless|until|few"
    r"|little|lacks?|however|unfortunately|beware|when|where|what|why|how)\b"
    r"|n't|[;:?!()]|\.\.|--|   |''|, (and|as|so)\b",
    re.IGNORECASE,
)
_LONGEST = 20
_SAYS = re.compile(r"\b(is|are|has|makes|offers|gives|feels|seems)\b|'s ", re.IGNORECASE)
_NO_SUBJECT = re.compile(r"(an?|with|as|in|by|at|for|from|thanks|one|like)\b", re.IGNORECASE)


def one_judgement(rewrites: Sequence[Mapping[str, str]]) -> list[bool]:
    """The oracle: accept a negation only of a sentence that says one thing, which it reverses.

    Example:
        >>> one_judgement([
        ...     {"original": "The film is good.", "text": "The film is not good."},
        ...     {"original": "It is good, but long.", "text": "It is not good, but long."},
        ... ])
        [True, False]
    """
    return [_one_judgement(each["original"], each["text"]) for each in rewrites]


def _one_judgement(original: str, text: str) -> bool:
    pairs = zip(original, text, strict=False)
    same = next((place for place, (a, b) in enumerate(pairs) if a != b), len(original))
    before = original[:same].lower()
    if len(original.split()) > _LONGEST or _MORE.search(original) or "," in before:
        return False
    if re.search(r"\b(that|which|who)( is| are)? *$", before):
        return False  # it would negate a remark
    framed = not before and text.endswith(original[1:]) and " that " in text[: -len(original)]
    return not framed or bool(_SAYS.search(original) and not _NO_SUBJECT.match(original))


class Reader:
    """Turns texts into the vectors of their words in a layer of MiniLM; reads each text once."""

    def __init__(self) -> None:
        files = find_model("minilm")
        if files is None:
            raise SystemExit("the sentence encoder is not installed: make demo brings it")
        self._encoder = Bert(files.installed(), longest=64, layers=_LAYER)
        self._read: dict[str, torch.Tensor] = {}

    @torch.inference_mode()
    def __call__(self, texts: Sequence[str]) -> list[torch.Tensor]:
        """For each text float32 (words, 384)."""
        # Not a set: its order differs between processes, and with it which texts are read together,
        # and the last digits of their vectors.
        new = sorted(dict.fromkeys(text for text in texts if text not in self._read), key=len)
        for first in range(0, len(new), 64):
            some = new[first : first + 64]
            rows = [each.ids for each in self._encoder.tokenizer.encode_batch(some)]
            state = self._encoder.states(rows)[-1]
            for text, vectors in zip(some, state.split([len(row) for row in rows]), strict=True):
                self._read[text] = vectors.clone()
        return [self._read[text] for text in texts]


class Network(nn.Module):
    """Looks at three neighbouring words at a time, and takes their maximum and their mean."""

    def __init__(self, width: int, labels: int) -> None:
        super().__init__()
        self.narrow = nn.Linear(width, _WIDTH)
        self.neighbours = nn.Conv1d(_WIDTH, _WIDTH, 3, padding=1)
        self.label = nn.Linear(2 * _WIDTH, labels)
        self.drop = nn.Dropout(0.2)

    def forward(self, vectors: torch.Tensor, shown: torch.Tensor) -> torch.Tensor:
        """Vectors (texts, words, width), 1 where a word is (texts, words, 1) → (texts, labels)."""
        words = self.drop(torch.relu(self.narrow(vectors))) * shown
        words = torch.relu(self.neighbours(words.transpose(1, 2))).transpose(1, 2) * shown
        both = torch.cat([words.amax(1), words.sum(1) / shown.sum(1)], 1)
        return self.label(self.drop(both))  # type: ignore[no-any-return]


def batches(
    texts: Sequence[torch.Tensor], size: int
) -> list[tuple[list[int], torch.Tensor, torch.Tensor]]:
    """Places of texts of similar length, their vectors, and 1 where a word is."""
    # Rows of one rule are consecutive, so texts of equal length are shuffled.
    order = sorted(torch.randperm(len(texts)).tolist(), key=lambda place: len(texts[place]))
    parts = []
    for first in range(0, len(order), size):
        places = order[first : first + size]
        vectors = nn.utils.rnn.pad_sequence([texts[place] for place in places], batch_first=True)
        lengths = torch.tensor([len(texts[place]) for place in places])
        shown = (torch.arange(vectors.shape[1]) < lengths[:, None]).float()[..., None]
        parts.append((places, vectors, shown))
    return parts


def trained(reader: Reader, texts: Sequence[str], labels: Sequence[str], seed: int) -> Model:
    """Train a model on these texts: eight passes of Adam over batches of similar length."""
    torch.manual_seed(seed)
    names = sorted(set(labels))
    gold = torch.tensor([names.index(label) for label in labels])
    some = batches(reader(texts), 64)
    network = Network(some[0][1].shape[2], len(names))
    adam = torch.optim.AdamW(network.parameters(), 1.5e-3)
    slower = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.0, _PASSES * len(some))
    with one_thread():
        for _ in range(_PASSES):
            for number in torch.randperm(len(some)).tolist():
                places, vectors, shown = some[number]
                loss = functional.cross_entropy(network(vectors, shown), gold[places])
                adam.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                adam.step()
                slower.step()
    network.eval()

    def predict(asked: Sequence[str]) -> list[str]:
        labels = torch.zeros(len(asked), dtype=torch.int64)
        with torch.inference_mode():
            for places, vectors, shown in batches(reader(asked), 256):
                labels[places] = network(vectors, shown).argmax(1)
        return [names[best] for best in labels.tolist()]

    return predict


def sentences(rules: object, *, of: Callable[[str], bool] = lambda template: True) -> Rows:
    """The sentences of templates, or of the chosen ones."""
    columns = sears.generate(rules).columns
    rows = zip(columns["text"], columns["label"], columns["template"], strict=True)
    return [(text, label) for text, label, template in rows if of(template)]


def negatable(rows: Rows) -> Rows:
    """The rows that the taught rules negate."""
    added = new_rows(rows, TAUGHT, oracle=one_judgement)
    # Rows are counted from 1.
    return [rows[number - 1] for number in sorted({int(row["source_row"]) for row in added})]


def negated(rows: Rows) -> Rows:
    """One negation of each row, with the other label; the unseen rules take turns."""
    matcher = sears.load(UNSEEN).compile()
    negations: dict[int, list[str]] = {}
    for rewrite in matcher.apply([text for text, _ in rows]):
        if one_judgement([{"original": rows[rewrite.row][0], "text": rewrite.text}])[0]:
            negations.setdefault(rewrite.row, []).append(rewrite.text)
    return [
        (texts[row % len(texts)], _OPPOSITE[rows[row][1]])
        for row, texts in sorted(negations.items())
    ]


def balanced(rows: Rows) -> Rows:
    """The first rows of each label, equally many, so that a constant answer is half right.

    Example:
        >>> balanced([("a", "positive"), ("b", "negative"), ("c", "positive")])
        [('a', 'positive'), ('b', 'negative')]
    """
    by_label = [[row for row in rows if row[1] == label] for label in _OPPOSITE]
    return [row for pair in zip(*by_label, strict=False) for row in pair]


def main() -> None:
    """Train three times, test, repair."""
    out, started = console(), time.perf_counter()
    rated = read_rated(fetch(ROOT / ".cache"))
    training, held_out = clear_rows(rated)
    texts = [text for text, _ in held_out]
    reader = Reader()
    fairly_clear = between(rated, _FAIRLY_CLEAR, _CLEAR)
    not_taught = fairly_clear[1::2] + between(rated, _LESS_CLEAR, _FAIRLY_CLEAR)
    plain = training + sentences(TAUGHT) + negatable(fairly_clear[::2])
    negations = new_rows(plain, TAUGHT, amount=_NEGATIONS, oracle=one_judgement)
    taught = [(row["text"], row["label"]) for row in negations]
    frames = sentences("phenomena/negation", of=trained_on)
    same = [(row["text"], row["label"]) for row in new_rows(training, SYNONYMS, amount=_SOME)]
    unseen = {
        "held out": held_out,
        "templates": sentences("phenomena/negation", of=lambda name: not trained_on(name)),
        "rules": balanced(negated(held_out + not_taught)),
    }
    matcher = sears.compile_rules([sears.load(name) for name in SYNONYMS])
    synonyms = matcher.apply(texts)[:_SOME]
    table = Table("trained on", "rows", *(f"{name} ({len(rows)})" for name, rows in unseen.items()),
                  f"synonym flips ({len(synonyms)})")  # fmt: skip
    for name, rows in (
        ("sentences alone", training), ("and synonyms", training + same),
        ("and negations", plain + taught + frames),
    ):  # fmt: skip
        model = trained(reader, [text for text, _ in rows], [label for _, label in rows], 0)
        if rows is training:
            began, right = time.perf_counter(), share(model, unseen["templates"])
            seconds = time.perf_counter() - began
            out.print(
                f"{share(model, held_out)} of the held-out sentences right, and {right} of "
                f"{len(unseen['templates'])} negations of templates, asked in {seconds:.1f} s"
            )
        answers = model(texts)
        flips = [
            after != answers[rewrite.row]
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
        TAUGHT, text="text", label="label", amount=_NEGATIONS, oracle=one_judgement,
        seeds=1, control=False, train=train,
    )  # fmt: skip
    table.add_row("sears fix", "", *(share(mended[0], asked) for asked in unseen.values()), "")
    out.print(table)
    out.print(f"sears fix: {repair.summary}")
    out.print(f"{time.perf_counter() - started:.0f} s")


def clear_rows(rated: Sequence[tuple[str, float]]) -> tuple[Rows, Rows]:
    """Sentences that people rated clearly: those to train on, and those held out."""
    rows = between(rated, _CLEAR, np.inf)
    return [row for number, row in enumerate(rows) if number % HELD_OUT], rows[::HELD_OUT]


def between(rated: Sequence[tuple[str, float]], low: float, high: float) -> Rows:
    """Labelled sentences whose rating has a distance from 0 between ``low`` and ``high``."""
    return [
        (text, "positive" if rating > 0 else "negative")
        for text, rating in rated
        if low <= abs(rating) < high
    ]


def trained_on(template: str) -> bool:
    """Whether a template of phenomena/negation is for training."""
    return template.startswith(_TRAINED_ON)


def new_rows(
    rows: Rows, rules: object, *, amount: str | int = "all", oracle: Oracle | None = None
) -> list[dict[str, str]]:
    """The rows that `sears augment` adds."""
    added: list[dict[str, str]] = sears.augment(
        [{"text": text, "label": label} for text, label in rows], rules,
        text="text", label="label", amount=amount, only_new=True, oracle=oracle,
    )  # fmt: skip
    return added


def share(model: Model, rows: Rows) -> str:
    """The share of rows on which a model is right, with its 95% interval by Wilson."""
    answers = model([text for text, _ in rows])
    right = sum(one == label for one, (_, label) in zip(answers, rows, strict=True))
    low, high = wilson_interval(right, len(rows))
    return f"{right / len(rows):.1%} ({low:.0%}–{high:.0%})"


if __name__ == "__main__":
    main()
