"""Paraphrases taken apart: what each of them changes, one place at a time.

Costs an alignment a paraphrase, some 0.2 milliseconds.

A rewording made here was not scored: it proposes rules, which are judged on all rows anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeAlias

from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Token

_Words: TypeAlias = tuple[str, ...]


class Rewording(NamedTuple):
    """A row, and it said in another way."""

    original: str
    text: str


class _Side(NamedTuple):
    """A text and its tokens."""

    text: str
    tokens: Sequence[Token]

    def words(self, start: int, end: int) -> _Words:
        return tuple(token.text for token in self.tokens[start:end])

    def before(self, token: int) -> int:
        """Where the token before this one ends."""
        return self.tokens[token - 1].end if token else 0

    def after(self, token: int) -> int:
        """Where this token begins."""
        return self.tokens[token].start if token < len(self.tokens) else len(self.text)


def single_changes(
    originals: Sequence[str],
    paraphrases: Sequence[Sequence[str]],
    *,
    tagger: Tagger,
    rows: int = 2,
    longest: int = 3,
) -> list[Rewording]:
    """Rewordings of one change each, of at most ``longest`` tokens, that so many rows propose."""
    proposed: dict[tuple[_Words, _Words], dict[Rewording, None]] = {}
    for original, texts in zip(originals, paraphrases, strict=True):
        cut = tagger.tokenize([original, *texts])
        row = _Side(original, cut.row(0))
        for number, text in enumerate(texts, start=1):
            for change, rewording in _isolated_changes(row, _Side(text, cut.row(number)), longest):
                proposed.setdefault(change, {})[rewording] = None
    return list(
        dict.fromkeys(
            rewording
            for rewordings in proposed.values()
            if len({each.original for each in rewordings}) >= rows
            for rewording in rewordings
        )
    )


def _isolated_changes(
    row: _Side, other: _Side, longest: int
) -> Iterator[tuple[tuple[_Words, _Words], Rewording]]:
    """The changes between a row and a paraphrase, each with the row that it alone makes."""
    whole = (0, len(row.tokens)), (0, len(other.tokens))
    before, after = (side.words(*ends) for side, ends in zip((row, other), whole, strict=True))
    for kind, start, end, first, last in SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if kind == "equal" or max(end - start, last - first) > longest:
            continue
        # The words go over with the white space around them, so that what stood close stays so.
        written = other.text[other.before(first) : other.after(last)]
        text = row.text[: row.before(start)] + written + row.text[row.after(end) :]
        # Two tokenizations of one text are not a rewording: "-rrb-" → "- rrb -".
        if "".join(text.split()) == "".join(row.text.split()):
            continue
        yield (before[start:end], after[first:last]), Rewording(row.text, text)
