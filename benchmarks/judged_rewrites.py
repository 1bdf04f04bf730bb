"""Rewrites of mined rules that were read one by one, and whether a careful reader accepts them.

In: `judged_rewrites.tsv`, and the texts that it names but does not hold. Out: `JudgedRewrite`s. A
row of the file has an original and its rewrite, the change of words, the kind of text, the verdict
(1: grammatical, natural and with the same meaning in this place), the first fault of rejected ones
(grammar, meaning, nonword, style), the part (``fit`` or ``report``, by a hash of the change, so
that no change is in both) and the set. ``base`` holds a random draw of changes that the search
proposes; ``enriched`` was written by hand so that half are good; ``hard`` holds those that an early
judge rated nearly good or better. The file `READ` has changes that translations propose, and some
that shipped rules make, with two to eighty rewrites each: ``kept`` are those that a first look at
their words kept, ``left`` is a sample of the others. Sentences that may not be passed on are named
by their SHA-256 (``sha256:…``), and their rewrites by the edit (``start:end:new``); their texts are
looked up in the public data, and left out where it is absent.

Bias: one reading each, by the makers of the project, and of `READ` by language models; both saw
which words were changed.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.record import DATA, data_file

__all__ = [
    "FILE",
    "READ",
    "JudgedRewrite",
    "digest_of",
    "read_judged_rewrites",
    "texts_of_kind",
]

FILE = Path(__file__).with_name("judged_rewrites.tsv")
READ = Path(__file__).with_name("read_changes.tsv")
"""Changes proposed by translation models, with some rewrites each, read by language models."""


@dataclass(frozen=True, slots=True)
class JudgedRewrite:
    """A row of the file, with its texts."""

    original: str
    rewrite: str
    rule: str
    kind: str
    accepted: bool
    why: str
    part: str
    set: str


def read_judged_rewrites(path: Path = FILE, *, whole: bool = False) -> list[JudgedRewrite]:
    """The rewrites whose texts are available, in file order; if ``whole``, all or none."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    kinds = {row["kind"] for row in rows if row["original"].startswith("sha256:")}
    if whole:
        for kind in sorted(kinds):
            data_file(_SOURCES[kind][0])
    texts = {digest_of(text): text for kind in sorted(kinds) for text in texts_of_kind(kind)}
    return list(_with_texts(rows, texts))


def _with_texts(rows: list[dict[str, str]], texts: dict[str, str]) -> Iterator[JudgedRewrite]:
    for row in rows:
        original, rewrite = row["original"], row["rewrite"]
        if original.startswith("sha256:"):
            if original not in texts:
                continue
            original = texts[original]
            start, end, new = rewrite.split(":", 2)
            rewrite = original[: int(start)] + new + original[int(end) :]
        yield JudgedRewrite(
            original, rewrite, row["rule"], row["kind"], row["verdict"] == "1", row["why"],
            row["part"], row["set"],
        )  # fmt: skip


def digest_of(text: str) -> str:
    """What names a text that may not be passed on."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()[:24]


def texts_of_kind(kind: str) -> Iterator[str]:
    """The sentences of a kind of text; none where the data is absent."""
    name, encoding, texts_of = _SOURCES[kind]
    path = DATA / name
    if path.exists():
        yield from texts_of(path.read_text(encoding))


def _of_lines(*cells: Callable[[str], str]) -> Callable[[str], Iterator[str]]:
    """Texts of a file of lines."""
    return lambda content: (cell(line) for line in content.split("\n") if line for cell in cells)


def _column(number: int) -> Callable[[str], str]:
    return lambda line: f"{line}{chr(9) * (number + 1)}".split("\t")[number].strip()


def _questions(content: str) -> Iterator[str]:
    for article in json.loads(content)["data"]:
        for paragraph in article["paragraphs"]:
            yield from (asked["question"].strip() for asked in paragraph["qas"])


def _paragraphs(content: str) -> Iterator[str]:
    for article in json.loads(content)["data"]:
        for paragraph in article["paragraphs"]:
            yield from re.split(r"(?<=[.?!])\s+", paragraph["context"])


def _treebank(content: str) -> Iterator[str]:
    return (line.removeprefix("# text = ") for line in content.split("\n") if "# text = " in line)


def _graded(content: str) -> Iterator[str]:
    for row in csv.reader(io.StringIO(content)):
        yield from row[:2]


_SOURCES: dict[str, tuple[str, str, Callable[[str], Iterator[str]]]] = {
    "imdb": ("sentiment/imdb.tsv", "utf-8", _of_lines(lambda line: line.split("\t", 1)[-1])),
    "rt": ("sentiment/rt.tsv", "utf-8", _of_lines(lambda line: line.split("\t", 1)[-1])),
    "sst": ("sst2/stsa.binary.train", "utf-8", _of_lines(lambda line: line.split(" ", 1)[-1])),
    "sst-dev": ("sst2/stsa.binary.dev", "utf-8", _of_lines(lambda line: line.split(" ", 1)[-1])),
    "squad": ("squad/dev-v1.1.json", "utf-8", _questions),
    "squad-q": ("squad/train-v1.1-part.json", "utf-8", _questions),
    "squad-p": ("squad/train-v1.1-part.json", "utf-8", _paragraphs),
    "trec": (
        "classify/trec_train.label", "latin-1", _of_lines(lambda line: line.split(" ", 1)[-1]),
    ),
    "sms": ("classify/sms_spam.tsv", "utf-8", _of_lines(lambda line: line.split("\t", 1)[-1])),
    "qqp": ("paraphrase/qqp_dev.tsv", "utf-8", _of_lines(_column(1), _column(2))),
    "wellformed": (
        "fluency/wellformedness_dev.tsv", "utf-8",
        _of_lines(lambda line: line.rsplit("\t", 1)[0]),
    ),
    "reviews": ("pos/en_ewt-ud-train.conllu", "utf-8", _treebank),
    "answers": ("pos/en_ewt-ud-train.conllu", "utf-8", _treebank),
    "vqa": (
        "vqa/vqa2_subset_train.jsonl", "utf-8",
        _of_lines(lambda line: str(json.loads(line)["question"])),
    ),
    "stsb": ("paraphrase/stsb_en_train.csv", "utf-8", _graded),
    "books": ("throughput/classic_books.txt", "utf-8", _of_lines(str.strip)),
}  # fmt: skip
