"""Cuts texts that are too long for translation models and sentence encoders.

Always holds: what is left out of a pair is the same on both sides. Cutting a part again gives the
same part, and short pairs stay as they are. A long text takes some microseconds.

A translation model is made for sentences, and a sentence encoder reads 256 pieces. In a review of
300 words neither sees a change in the last sentence, and "sees nothing" would count as "means the
same". τ was fitted on pairs of sentences too. Few words can be many pieces: an encoder cuts those.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sears_dsl.engine.rewrite.rewrites import common_ends
from sears_dsl.tagging.fast.sentences import sentence_bounds
from sears_dsl.tagging.fast.tokenizer import FastTokenizer

Pair = tuple[str, str]

# A pair with more words than `_LONG` is cut to the sentences that differ, and these to `_AROUND`
# words on each side of what differs.
_LONG = 50
_AROUND = 75
_WORD = re.compile(r"\S+")


def sentences_of(texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """The sentences of each text, as (start, end) in characters."""
    return sentence_bounds(texts, FastTokenizer())


def differing_parts(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs, long ones cut to the sentences in which they differ."""
    long = list(dict.fromkeys(pair[0] for pair in pairs if _is_cut(pair)))
    if not long:
        return list(pairs)
    sentences = dict(zip(long, sentences_of(long), strict=True))
    return [_part(*pair, sentences[pair[0]]) if _is_cut(pair) else pair for pair in pairs]


def _is_cut(pair: Pair) -> bool:
    return pair[0] != pair[1] and max(len(text.split()) for text in pair) > _LONG


def _part(original: str, rewrite: str, sentences: Sequence[tuple[int, int]]) -> Pair:
    """The sentences that hold what differs; if they are very long, the words around it."""
    first, after = common_ends(original, rewrite)
    last = len(original) - after
    # A change between two sentences belongs to both.
    touched = [(start, end) for start, end in sentences if end >= first and start <= last]
    start = min([first, *(begin for begin, _ in touched)])
    end = max([last, *(finish for _, finish in touched)])
    before = [each.start() for each in _WORD.finditer(original, start, first)]
    behind = [each.end() for each in _WORD.finditer(original, last, end)]
    if len(before) > _AROUND:
        start = before[-_AROUND]
    if len(behind) > _AROUND:
        end = behind[_AROUND - 1]
    return original[start:end], rewrite[start : end + len(rewrite) - len(original)]
