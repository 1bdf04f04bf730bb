"""Rewrites that nobody judged, for `training.estimate` to ask a language model about.

In: the texts that the grammar learns from (`training.corpus`), the PPDB sample, MiniLM's own word
vectors. Out: pairs of texts. Always holds: the same files, versions and seeds give the same pairs;
tests and benchmarks read none of their texts. Costs some minutes, mostly for the paraphrases.

Most pairs replace a content word by one of its nearest words, if possible in the same form, or are
phrases of PPDB: substitutes as a thesaurus gives them. Others are rewrites of shipped rules and
swaps that spoil a sentence (`training.judgements`), and paraphrases by translation that differ in
few places, since those are what a search for rules looks at.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sears_dsl.api.scoring import paraphrase
from sears_dsl.engine.noise.vectors import load_vectors
from sears_dsl.judge.changes import changes_of
from sears_dsl.tagging.tagger import load_tagger
from sears_dsl.tagging.tokens import Token
from training.judgements import (
    Judgement,
    in_context,
    inflected,
    miswritten,
    phrases,
    ruled,
    spoiled,
    strayed,
    with_article,
)
from training.texts import split_sentences

Pair = tuple[str, str]

_SEED = 11
_WORDS = (4, 30)
_CONTENT = ("NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "JJ", "JJR", "JJS", "RB")
# How many words of the vectors are used; per word, how many neighbours are looked up, how many of
# them put in, and in how many places of a text.
_FREQUENT, _NEAREST, _PUT_IN, _PLACES = 40_000, 10, 2, 2
_MOST_CHANGES = 2
_PARAPHRASES, _OF_A_TEXT = 20, 12


def unjudged(
    kinds: Mapping[str, Sequence[str]], ppdb: Path, *, texts: int, most: int, paraphrased: int
) -> tuple[list[Pair], list[Pair]]:
    """Rewrites of ``texts`` texts, equally many of each kind, and paraphrases of some of these.

    At most ``most`` texts are rewritten; the draw for each kind of rewrite depends on all texts.
    """
    chosen: list[str] = []
    for kind, of_kind in kinds.items():
        some = of_kind
        if kind == "paragraphs":
            some = [each for text in of_kind for each in split_sentences(text)]
        fitting = sorted({t for t in some if _WORDS[0] <= len(t.split()) <= _WORDS[1]})
        random.Random(_SEED).shuffle(fitting)
        chosen += fitting[: texts // len(kinds)]
    random.Random(_SEED).shuffle(chosen)
    judgements: list[Judgement] = [
        *ruled(chosen, most=20),
        *spoiled(chosen, most=8)[: texts // 2],
        *strayed(chosen[: texts // 8]),
        *miswritten(chosen[: texts // 8]),
        *in_context(phrases(ppdb), chosen, most=2)[:texts],
    ]
    pairs = [(each.original, each.rewrite) for each in judgements]
    pairs += neighbours(chosen)
    rewrites: dict[str, list[Pair]] = {}
    for pair in sorted(set(pairs)):
        rewrites.setdefault(pair[0], []).append(pair)
    rewritten, others = list(rewrites), list(rewrites)
    random.Random(_SEED - 8).shuffle(rewritten)
    random.Random(_SEED - 6).shuffle(others)
    drawn = [pair for text in rewritten[:most] for pair in rewrites[text]]
    return drawn, paraphrases(others[:paraphrased])


def neighbours(texts: Sequence[str]) -> list[Pair]:
    """Texts in which one of the nearest words replaces a content word."""
    generator = random.Random(_SEED)
    vectors = load_vectors("minilm")
    words = list(vectors.words[:_FREQUENT])
    numbers = {word: number for number, word in enumerate(words)}
    table = vectors.table[:_FREQUENT] / np.linalg.norm(
        vectors.table[:_FREQUENT], axis=1, keepdims=True
    )
    places: list[tuple[str, Token]] = []
    tokens = load_tagger("fast").tag(texts)
    for at, text in enumerate(texts):
        fitting = [
            token
            for token in tokens.row(at)
            if token.fine in _CONTENT and token.text.islower() and token.text in numbers
        ]
        places += [(text, token) for token in generator.sample(fitting, min(_PLACES, len(fitting)))]
    distinct = sorted({token.text for _, token in places})
    nearest: dict[str, list[str]] = {}
    for low in range(0, len(distinct), 500):
        some = distinct[low : low + 500]
        cosines = table[[numbers[word] for word in some]] @ table.T
        best = np.argpartition(-cosines, _NEAREST, axis=1)[:, : _NEAREST + 1]
        for word, row in zip(some, best.tolist(), strict=True):
            nearest[word] = [words[each] for each in sorted(row) if words[each] != word]
    pairs = []
    for text, token in places:
        options = [word for word in nearest[token.text] if word.isalpha()]
        for word in generator.sample(options, min(_PUT_IN, len(options))):
            new = word if generator.random() < 0.3 else inflected(word, token.fine)
            pairs.append((text, with_article(text[: token.start], new) + new + text[token.end :]))
    return [pair for pair in pairs if pair[0] != pair[1]]


def paraphrases(texts: Sequence[str]) -> list[Pair]:
    """Texts with those paraphrases that differ in few places."""
    pairs = []
    for text, each in zip(texts, paraphrase(list(texts), most=_PARAPHRASES, jobs=1), strict=True):
        few = [other for other in each if 0 < len(changes_of(text, other)) <= _MOST_CHANGES]
        pairs += [(text, other) for other in few[:_OF_A_TEXT]]
    return pairs
