"""The fast tagger's perceptron: tokens a second on one core, against spaCy's, and how right it is.

In: sentences of plain books that it was not trained on, and gold ones, from the folder of data.
Out: a record. The words are given, so that only tagging is measured; spaCy tags the same words.
Verified: on a sample of the rows against the plain twin, which shares no code.
Times are processor time, the best of three; the first is for words that were never seen before.

    python -m benchmarks.fast_tagger --rows 20000
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path
from runpy import run_path

import numpy as np
import spacy
from spacy.tokens import Doc

from benchmarks.record import Row, data_file, write_record
from sears_dsl.runtime.kernels import ENOUGH, expect
from sears_dsl.tagging.fast.fast_tagger import Perceptron
from sears_dsl.tagging.fast.tokenizer import FastTokenizer
from sears_dsl.tagging.fast.weights import load
from training.evaluation import difference, right, spacy_tags
from training.tagger import MODEL
from training.treebank import read_treebank, tag_words

# By its path, since installed packages may bring a package called `tests`.
_TWIN = Path(__file__).parents[1] / "tests" / "tagging" / "fast" / "plain_perceptron.py"
PlainPerceptron = run_path(str(_TWIN))["PlainPerceptron"]

SAMPLE = 150
SPACY_ROWS = 1500
#: The last tenth of the books was left out of the training.
LEFT_OUT = 0.9


def speed(rows: int) -> list[Row]:
    lines = data_file("throughput/classic_books.txt").read_text("utf-8").splitlines()
    texts = [line for line in lines[int(len(lines) * LEFT_OUT) :] if line.strip()][:rows]
    cut = FastTokenizer()
    cuts = cut.tokenize(texts)
    words = cut.words
    weights = load()
    expect(ENOUGH + 1)
    first = cuts.row_offsets[:2]
    Perceptron(weights).tag(first, cuts.words[: first[1]], words)  # compiles

    fresh = familiar = float("inf")
    for _ in range(3):
        tagger = Perceptron(weights)
        start = time.process_time()
        fine, coarse = tagger.tag(cuts.row_offsets, cuts.words, words)
        middle = time.process_time()
        tagger.tag(cuts.row_offsets, cuts.words, words)
        fresh = min(fresh, middle - start)
        familiar = min(familiar, time.process_time() - middle)

    spelled = words.texts(cuts.words.tolist())
    bounds = list(pairwise(cuts.row_offsets.tolist()))
    sample = np.random.default_rng(0).choice(len(bounds), SAMPLE, replace=False).tolist()
    plain = PlainPerceptron(weights).tag([spelled[slice(*bounds[row])] for row in sample])
    for row, (names, coarse_names) in zip(sample, plain, strict=True):
        here = slice(*bounds[row])
        assert [tagger.fine[tag] for tag in fine[here]] == names, "the twin differs"
        assert [tagger.coarse[tag] for tag in coarse[here]] == coarse_names, "the twin differs"

    nlp = spacy.load(MODEL, exclude=["parser", "ner", "lemmatizer"])
    docs = [Doc(nlp.vocab, words=spelled[slice(*place)]) for place in bounds[:SPACY_ROWS]]
    start = time.process_time()
    tagged = sum(len(doc) for doc in nlp.pipe(docs))
    theirs = tagged / (time.process_time() - start)

    tokens = len(cuts.words)
    return [
        Row(
            f"tagging given words, {what}, one core",
            {
                "tokens/s": round(tokens / seconds),
                "ratio to spaCy": round(tokens / seconds / theirs, 1),
                "tokens": tokens,
                "distinct words": len(words),
            },
            at_least="1,000,000 tokens/s",
            aim="3,000,000 tokens/s",
            reached=tokens / seconds >= 1e6,
        )
        for what, seconds in (("new words", fresh), ("known words", familiar))
    ]


def accuracy() -> Row:
    sentences = read_treebank(Path(data_file("pos/en_ewt-ud-dev.conllu")))
    ours = right(sentences, tag_words(Perceptron(load()), [s.words for s in sentences]))
    theirs = right(sentences, spacy_tags(sentences, model=MODEL))
    words = ours[:, 2].sum()
    fine, coarse = (difference(ours, theirs, column) for column in (0, 1))
    return Row(
        "accuracy on gold words, UD EWT development set",
        {
            "Penn": round(ours[:, 0].sum() / words, 4),
            "spaCy's": round(theirs[:, 0].sum() / words, 4),
            "difference": f"{fine[0]:+.4f} to {fine[1]:+.4f}",
            "UPOS": round(ours[:, 1].sum() / words, 4),
            "spaCy's UPOS": round(theirs[:, 1].sum() / words, 4),
            "UPOS difference": f"{coarse[0]:+.4f} to {coarse[1]:+.4f}",
        },
        at_least="half a point below spaCy's",
        aim="spaCy's",
        reached=bool(fine[0] >= -0.005),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    options = parser.parse_args()
    write_record("fast_tagger", [*speed(options.rows), accuracy()])


if __name__ == "__main__":
    main()
