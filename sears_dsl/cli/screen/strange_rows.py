"""Rows → a sentence on each thing that is strange about them, before they are searched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_FEW_WORDS, _MANY_WORDS = 1, 400
# Some 2% to 7% of English rows do not look English; a share below this says nothing.
_FOREIGN = 0.1
# A tag or an entity of HTML; a few of them say nothing either.
_MARKUP = re.compile(r"</?[a-z][a-z0-9]*(?:\s[^<>]*)?/?>|&(?:[a-z]{2,8}|#\d+);", re.IGNORECASE)


def foreign_notes(
    texts: Sequence[str], *, looks_english: Any, are_first: bool = False
) -> list[str]:
    """Return a sentence if a tenth of the rows, or of the first ones, do not look English."""
    odd, count = sum(not looks_english(text) for text in texts), len(texts)
    rows = f"{odd:,} of {'the first ' if are_first else ''}{count:,} rows"
    note = f"{rows} do not look like English; scores are not calibrated for them"
    return [note] if odd and odd >= _FOREIGN * count else []


def notes_on(texts: Sequence[str], *, looks_english: Any) -> list[str]:
    """Return a sentence on each thing that is strange about rows."""
    total = len(texts)
    words = [len(text.split()) for text in texts]
    short = sum(count <= _FEW_WORDS for count in words)
    marked = [markup for text in texts if (markup := _MARKUP.search(text))]
    long = sum(count > _MANY_WORDS for count in words)
    notes = []
    if total > 1 and len(set(texts)) == 1:
        notes.append("all rows are the same text: what flips one flips all, and rates mean nothing")
    if 2 * short > total:
        notes.append(
            f"{short:,} of {total:,} rows have only one word, which hardly any rule changes"
        )
    if long:
        notes.append(
            f"{long:,} of {total:,} rows have more than {_MANY_WORDS} words and are paraphrased "
            "sentence by sentence, which is slow; rows of a sentence or two find more in less time"
        )
    notes += foreign_notes(texts, looks_english=looks_english)
    if marked and len(marked) >= _FOREIGN * total:
        notes.append(
            f"{len(marked):,} of {total:,} rows contain markup, such as {marked[0].group()}: rules "
            "do not recognize a word that touches it; rows without markup find more"
        )
    return notes
