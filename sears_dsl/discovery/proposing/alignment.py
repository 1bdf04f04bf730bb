"""What changed between a row and its paraphrase: the smallest run of tokens.

In: both texts with their tokens. Out: a `MinimalChange`, or None where the tokens are the same.
Always holds: the tokens before and after the change have the same texts on both sides; no shorter
run has that property from the left first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sears_dsl.tagging.tokens import Token


@dataclass(frozen=True, slots=True)
class MinimalChange:
    """A run of tokens that other words replace.

    Attributes:
        start: the first token replaced; for an insertion the token that it goes before.
        end: one past the last token replaced.
        words: the tokens written instead; none for a deletion.
            They stand from ``start`` on in the paraphrase.
        touching: for each token of the paraphrase, whether it stands right after the token
            before it, without white space.
    """

    start: int
    end: int
    words: tuple[str, ...]
    touching: tuple[bool, ...]


def minimal_change(original: Sequence[Token], paraphrase: Sequence[Token]) -> MinimalChange | None:
    """The smallest contiguous change that makes one row of tokens of another.

    The common beginning is taken as long as it can be, then the common end.

    Example:
        >>> from sears_dsl.tagging.pinned import PinnedTagger
        >>> rows = PinnedTagger().tokenize(["A good movie!", "A good film!"])
        >>> change = minimal_change(rows.row(0), rows.row(1))
        >>> change.start, change.end, change.words
        (2, 3, ('film',))
    """
    shorter = min(len(original), len(paraphrase))
    start = 0
    while start < shorter and original[start].text == paraphrase[start].text:
        start += 1
    end, last = len(original), len(paraphrase)
    while min(end, last) > start and original[end - 1].text == paraphrase[last - 1].text:
        end, last = end - 1, last - 1
    if start == end and start == last:
        return None
    return MinimalChange(
        start,
        end,
        tuple(token.text for token in paraphrase[start:last]),
        tuple(
            place > 0 and paraphrase[place - 1].end == token.start
            for place, token in enumerate(paraphrase)
        ),
    )
