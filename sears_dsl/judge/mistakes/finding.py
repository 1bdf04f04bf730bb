"""The words of texts that are wrong for sure: a reflexive of nobody, a verb in the other form.

In: texts as a tagger cut them, without tags. Out: for each text the places of such words. Always
holds: what is told of a text depends on it alone; good text has hardly any (`benchmarks.grammar`
counts them). Costs a look-up for each distinct word, and the tags of texts that have a word which
may be wrong.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sears_dsl.judge.mistakes.agreement import disagreements
from sears_dsl.judge.mistakes.persons import REFLEXIVES
from sears_dsl.judge.mistakes.verb_forms import form_of, wrong_forms
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
    asks = np.array([_may_be_wrong(kind.text) for kind in tokens.types], np.bool_)
    rows = _rows_with(tokens, asks[tokens.type_ids]) if asks.any() else []
    tagged = tagger.tag([tokens.texts[row] for row in rows])
    found = {}
    for at, row in enumerate(rows):
        words = [TaggedWord(token.text, token.fine) for token in tagged.row(at)]
        places = sorted({*disagreements(words), *wrong_forms(words)})
        if places:
            found[row] = places
    return found


def _may_be_wrong(word: str) -> bool:
    return word.lower() in REFLEXIVES or bool(form_of(word))


def _rows_with(tokens: Tokens, chosen: NDArray[np.bool_]) -> list[int]:
    """The rows that have a chosen token."""
    counts = np.concatenate([[0], np.cumsum(chosen)])
    rows: list[int] = np.flatnonzero(np.diff(counts[tokens.row_offsets])).tolist()
    return rows
