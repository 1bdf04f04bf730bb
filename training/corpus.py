"""The text that the grammar learns from, as numbers, and what its words are known to be beforehand.

In: plain books, SQuAD's paragraphs and questions, reviews, VQA's questions, UD EWT's training part;
GloVe vectors and MiniLM's word pieces. Out: a `Corpus`, a `Vocabulary`. Always holds: nothing is
read that tests or benchmarks measure on (the last tenth of the books, SQuAD's and EWT's development
parts, IMDB, TREC, SMS, BLiMP). Costs a minute and 3 GB of memory.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from demo.reviews import fetch, read_sentences
from sears_dsl.judge.networks import plain_word, shape_of
from sears_dsl.runtime.kernels import ENOUGH_TO_COMPILE, expect
from sears_dsl.tagging.tagger import load_tagger
from sears_dsl.translation.model_files import carried_encoder
from training.detector import encoder_tokenizer
from training.tampering import Edits, edits_of, wrong_forms
from training.texts import read_books, read_squad

#: The most words in a row that is trained on.
LONGEST = 40

#: The share of sentences that join the one before, since rows in use often hold several.
_JOINED = 0.12
_ROWS = 4000
# How often a word of the text must occur to have a row of its own.
_LEAST = 3
# How many main directions of the vectors of word pieces are used.
_PIECES = 64
_FORMS = ("NN", "NNS", "VB", "VBZ", "VBP", "VBD", "VBN", "VBG", "JJ", "JJR", "JJS", "RB", "RBR")
# How many frequent words get n't glued to them wrongly.
_GLUED = 1500
_LISTED = 120_000
_TWICE = 2
_LATIN = re.compile(r"[a-z]+")
_LETTERS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


class Corpus(NamedTuple):
    """Text in numbers: see `Edits`. ``names`` are the lower-cased words by number."""

    names: list[str]
    counts: Any
    edits: Edits
    tokens: dict[str, int]


def add_texts(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where the texts are."""
    parser.add_argument("--books", type=Path, required=True, help="plain text, a sentence a line")
    parser.add_argument("--squad", type=Path, required=True, help="SQuAD 1.1 training JSON")
    parser.add_argument("--vqa", type=Path, required=True, help="VQA questions, JSON lines")
    parser.add_argument("--ewt", type=Path, required=True, help="en_ewt-ud-train.conllu")
    parser.add_argument(
        "--reviews", type=Path, help="vaderSentiment-3.3.2.tar.gz; fetched if absent"
    )


def read_texts(options: argparse.Namespace) -> dict[str, list[str]]:
    """The texts by kind; a row is one sentence or several."""
    squad = read_squad(options.squad)
    kinds = {
        "books": read_books(options.books),
        "paragraphs": squad.paragraphs,
        "questions": squad.questions,
        "reviews": read_sentences(options.reviews or fetch(Path(".cache"))),
    }
    with options.vqa.open(encoding="utf-8") as file:
        kinds["pictures"] = sorted({str(json.loads(line)["question"]) for line in file})
    ewt = options.ewt.read_text("utf-8").splitlines()
    kinds["web"] = [line[9:] for line in ewt if line.startswith("# text = ")]
    return kinds


def read_corpus(kinds: dict[str, list[str]]) -> Corpus:
    """Tag the texts, cut them into rows of at most `LONGEST` words, and number all words."""
    expect(ENOUGH_TO_COMPILE + 1)
    tagger = load_tagger("fast")
    pair_number: dict[tuple[str, str], int] = {}
    pairs: list[Any] = []
    shapes: list[Any] = []
    starts = [0]
    tokens = {}
    generator = np.random.default_rng(0)
    at = 0
    for kind, texts in kinds.items():
        before = at
        for first in range(0, len(texts), _ROWS):
            some = texts[first : first + _ROWS]
            if kind == "paragraphs":
                some = [
                    text[low:high].strip()
                    for text, bounds in zip(some, tagger.sentences(some), strict=True)
                    for low, high in bounds
                ]
            batch = tagger.tag(some)
            number = np.array(
                [
                    pair_number.setdefault((plain_word(text), fine), len(pair_number))
                    for text, _, fine in batch.types
                ],
                np.int32,
            )
            form = np.array([shape_of(text) for text, _, _ in batch.types], np.uint8)
            pairs.append(number[batch.type_ids])
            shapes.append(form[batch.type_ids])
            offsets = batch.row_offsets.tolist()
            joined = (generator.random(len(some)) < _JOINED).tolist()
            for row, (low, high) in enumerate(pairwise(offsets)):
                if joined[row] and row and at + high - starts[-2] <= LONGEST:
                    starts[-1] = at + high
                elif high > low:
                    starts.append(at + high)
            at += offsets[-1]
        tokens[kind] = at - before
    names: list[str] = []
    known: dict[str, int] = {}

    def numbered(word: str) -> int:
        number = known.setdefault(word, len(names))
        if number == len(names):
            names.append(word)
        return number

    pair_words = [numbered(word) for word, _ in pair_number]
    pair_tags = [tag for _, tag in pair_number]
    pair_ids = np.concatenate(pairs)
    often = np.bincount(pair_ids, minlength=len(pair_tags))
    forms = [
        [numbered(form) for form in wrong_forms(word, tag)] if often[number] > 1 else []
        for (word, tag), number in pair_number.items()
    ]
    often_words = np.bincount(np.array(pair_words)[pair_ids], minlength=len(names)).tolist()
    common = Counter(dict(zip(names, often_words, strict=True)))
    for word, _ in common.most_common(_GLUED):
        if word.isalpha():
            numbered(f"{word}n't")
    words = np.array(pair_words, np.int32)[pair_ids]
    edits = edits_of(
        words, np.concatenate(shapes), pair_ids, np.array(starts, np.int64),
        number=known, pair_words=pair_words, pair_tags=pair_tags, forms=forms,
    )  # fmt: skip
    return Corpus(names, np.bincount(words, minlength=len(names)), edits, tokens)


class Vocabulary(NamedTuple):
    """The words that have a row of their own, best first, and what is known of them beforehand."""

    words: list[str]
    features: Any


def vocabulary_of(corpus: Corpus, glove: Path, size: int) -> Vocabulary:
    """Words of the text (three times or more), then those of GloVe's list, and their features.

    The features of a word are its GloVe vector, the mean of MiniLM's vectors of its pieces (64 main
    directions), and the Penn tags of which it can be a form.
    """
    import lemminflect  # noqa: PLC0415 - slow to load
    from safetensors.numpy import load_file  # noqa: PLC0415 - slow to load

    listed = _words_of(glove)
    vectors = np.load(glove / "glove_6B_50d_emb.npy")
    place = {word: at for at, word in enumerate(listed)}
    order = np.argsort(-corpus.counts, kind="stable")
    chosen = {corpus.names[at]: None for at in order.tolist() if corpus.counts[at] >= _LEAST}
    chosen = dict.fromkeys(list(chosen)[:size])
    for word in listed:
        if len(chosen) >= size:
            break
        if word.isalpha() and word.isascii() and len(word) > 2:
            chosen.setdefault(word)
    words = list(chosen)
    features = np.zeros((len(words), 50 + _PIECES + len(_FORMS)), np.float32)
    scale = float(np.linalg.norm(vectors[:40000], axis=1).mean()) / 50**0.5
    for at, word in enumerate(words):
        row = place.get(word)
        if row is not None:
            features[at, :50] = vectors[row] / scale
    weights = load_file(carried_encoder() / "model.safetensors")
    table = weights["embeddings.word_embeddings.weight"]
    pieces = encoder_tokenizer().encode_batch(words, add_special_tokens=False)
    means = np.stack([table[some.ids].mean(0) if some.ids else table[0] for some in pieces])
    means -= means.mean(0)
    _, _, directions = np.linalg.svd(means[:20000].astype(np.float64), full_matrices=False)
    reduced = means @ directions[:_PIECES].T.astype(np.float32)
    features[:, 50 : 50 + _PIECES] = reduced / reduced.std()
    for at, word in enumerate(words):
        if word.isalpha() and word.isascii():
            for lemmas in lemminflect.getAllLemmas(word).values():
                for lemma in lemmas:
                    for tag, forms in lemminflect.getAllInflections(lemma).items():
                        if word in forms and tag in _FORMS:
                            features[at, 50 + _PIECES + _FORMS.index(tag)] = 1.5
    return Vocabulary(words, features)


def known_words(corpus: Corpus, glove: Path, vocabulary: Vocabulary) -> list[str]:
    """Words that are known to exist, beside those of the vocabulary.

    These are the 120,000 most frequent of GloVe's, and all that the text has twice.
    """
    existing = {word for word in _words_of(glove)[:_LISTED] if _LATIN.fullmatch(word)}
    counted = zip(corpus.names, corpus.counts.tolist(), strict=True)
    existing |= {word for word, count in counted if count >= _TWICE and _LETTERS.fullmatch(word)}
    return sorted(existing - set(vocabulary.words))


def _words_of(glove: Path) -> list[str]:
    """GloVe's words, the most frequent first."""
    import pandas  # noqa: PLC0415 - slow to load

    index = pandas.read_parquet(glove / "glove_6B_index.parquet")
    return [str(word) for word in index["index"]]
