"""The words of texts that are wrong for sure: a reflexive of nobody, a verb in the other form.

In: texts as a tagger cut them, without tags. Out: for each text the places of such words. Always
holds: what is told of a text depends on it alone; good text has hardly any (`benchmarks.grammar`
counts them). Costs a look-up for each distinct word, and the tags of texts that have a word which
may be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sears_dsl.judge.mistakes.agreement import disagreements
from sears_dsl.judge.mistakes.persons import REFLEXIVES
from sears_dsl.judge.mistakes.verb_forms import form_of, may_be_wrong_after, wrong_forms
from sears_dsl.judge.mistakes.words import TaggedWord
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens

VERSION = "mistakes-1"
"""Of what is told; whoever tells more or less raises it, since scores are kept by it."""


def mistakes(tokens: Tokens, tagger: Tagger) -> dict[int, list[int]]:
    """The places of wrong words, by the rows of the texts that have any.

    Args:
        tokens: of the texts, cut by ``tagger``.
        tagger: gives tags of Penn.

    Example:
        >>> from sears_dsl.tagging.loading import load_tagger
        >>> tagger = load_tagger("fast")
        >>> texts = ["He knew it.", "He has knew it.", "Mary knows himself."]
        >>> mistakes(tagger.tokenize(texts), tagger)
        {1: [2], 2: [2]}
    """
    words = tokens.types.texts()
    asks = np.array([_may_be_wrong(word) for word in words], np.bool_)[tokens.type_ids]
    rows = [row for row in _rows_with(tokens, asks) if _wants_tags(tokens, row, asks, words)]
    if not rows:
        return {}
    tagged = tagger.tag([tokens.texts[row] for row in rows])
    places_by_row = {}
    for at, row in enumerate(rows):
        text = [TaggedWord(token.text, token.fine) for token in tagged.row(at)]
        places = sorted({*disagreements(text), *wrong_forms(text)})
        if places:
            places_by_row[row] = places
    return places_by_row


def _may_be_wrong(word: str) -> bool:
    return word.lower() in REFLEXIVES or bool(form_of(word))


def _wants_tags(tokens: Tokens, row: int, asks: NDArray[np.bool_], words: Sequence[str]) -> bool:
    """Whether a text has a word that may be wrong beside the words that it has before it."""
    low, high = tokens.row_offsets[row], tokens.row_offsets[row + 1]
    own = [words[kind].lower() for kind in tokens.type_ids[low:high].tolist()]
    places = np.flatnonzero(asks[low:high]).tolist()
    return any(own[at] in REFLEXIVES or may_be_wrong_after(own[:at], own[at]) for at in places)


def _rows_with(tokens: Tokens, chosen: NDArray[np.bool_]) -> list[int]:
    """The rows that have a chosen token."""
    counts = np.concatenate([[0], np.cumsum(chosen)])
    rows: list[int] = np.flatnonzero(np.diff(counts[tokens.row_offsets])).tolist()
    return rows
