"""Rewrites of mined rules that were read one by one, and whether a careful reader accepts them.

In: `judged_rewrites.tsv`, and the texts that it names but does not hold. Out: `JudgedRewrite`s. A
row of the file is an original and its rewrite, the change of words, the kind of text, the verdict
(1: grammatical, natural and of the same meaning in this place), for rejected ones what is wrong
first (grammar, meaning, nonword, style), the part (``fit`` or ``report``, by a hash of the change,
so that no change is in both) and the set: ``base`` are changes as the search proposes them, drawn
by lot; ``enriched`` were written by hand so that half are good; ``hard`` are those that an early
judge found nearly good or better. Sentences that may not be passed on are named by their SHA-256
(``sha256:…``), their rewrite by what is replaced (``start:end:new``); they are found again in the
public data, and left out where it is absent.

Bias: read by the makers of the project, one reading, who knew which change was judged.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.record import DATA

__all__ = ["JudgedRewrite", "read_judged_rewrites"]

FILE = Path(__file__).with_name("judged_rewrites.tsv")


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


def read_judged_rewrites(path: Path = FILE) -> list[JudgedRewrite]:
    """The rewrites whose texts are there, in the order of the file."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    kinds = {row["kind"] for row in rows if row["original"].startswith("sha256:")}
    texts = {_digest(text): text for kind in sorted(kinds) for text in _texts(kind)}
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


def _digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()[:24]


def _texts(kind: str) -> Iterator[str]:
    """The sentences of a kind of text; none where the data is absent."""
    name, encoding, sentence = _SOURCES[kind]
    path = DATA / name
    if not path.exists():
        return
    if name.endswith(".json"):
        for article in json.loads(path.read_text(encoding))["data"]:
            for paragraph in article["paragraphs"]:
                yield from (asked["question"].strip() for asked in paragraph["qas"])
        return
    for line in path.read_text(encoding).split("\n"):
        if line:
            yield sentence(line)


_Sentence = Callable[[str], str]
_SOURCES: dict[str, tuple[str, str, _Sentence]] = {
    "imdb": ("sentiment/imdb.tsv", "utf-8", lambda line: line.split("\t", 1)[-1]),
    "sst": ("sst2/stsa.binary.train", "utf-8", lambda line: line.split(" ", 1)[-1]),
    "squad": ("squad/dev-v1.1.json", "utf-8", str),
    "trec": ("classify/trec_train.label", "latin-1", lambda line: line.split(" ", 1)[-1]),
    "sms": ("classify/sms_spam.tsv", "utf-8", lambda line: line.split("\t", 1)[-1]),
    "qqp": ("paraphrase/qqp_dev.tsv", "utf-8", lambda line: (line + "\t\t").split("\t")[1]),
    "wellformed": (
        "fluency/wellformedness_dev.tsv", "utf-8", lambda line: line.rsplit("\t", 1)[0],
    ),
}  # fmt: skip
