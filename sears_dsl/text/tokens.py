"""Tokens of many texts in flat arrays: what taggers give and what the engine reads.

In: what a tagger found, text by text. Out: `Tokens`, a batch of n rows whose tokens lie one
after another. Always holds: `row_offsets` has n + 1 entries and never falls; token k of row r
stands at `texts[r][starts[k]:ends[k]]`; tokens of a row are in order and do not overlap; white
space is in no token. `types[type_ids[k]]` is the (text, coarse tag, fine tag) of token k; each
distinct triple is there once, so that work which depends on the triple alone is done once.
Tags are empty strings where a tokenizer ran without a tagger.
Costs 12 bytes a token, plus the distinct triples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Int32Array", "Token", "TokenType", "Tokens"]

Int32Array: TypeAlias = NDArray[np.int32]


class TokenType(NamedTuple):
    """A distinct token: its text, coarse (UPOS) tag and fine (Penn) tag."""

    text: str
    coarse: str
    fine: str


class Token(NamedTuple):
    """One token as an object, for messages and tests; offsets are characters of its row."""

    text: str
    coarse: str
    fine: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """A batch of tokenized, possibly tagged texts.

    Attributes:
        texts: the n rows, untouched.
        row_offsets: int32 (n + 1,): tokens of row r are row_offsets[r]:row_offsets[r + 1].
        starts: int32 (tokens,): first character of each token in its row.
        ends: int32 (tokens,): one past the last character.
        type_ids: int32 (tokens,): index into types.
        types: the distinct (text, coarse, fine) triples.
        tagged: whether the tags were assigned (False: the tokenizer alone ran).

    Example:
        >>> batch = Tokens.from_rows(["It is."], [[Token("It", "PRON", "PRP", 0, 2),
        ...     Token("is", "AUX", "VBZ", 3, 5), Token(".", "PUNCT", ".", 5, 6)]])
        >>> [token.text for token in batch.row(0)]
        ['It', 'is', '.']
    """

    texts: Sequence[str]
    row_offsets: Int32Array
    starts: Int32Array
    ends: Int32Array
    type_ids: Int32Array
    types: Sequence[TokenType]
    tagged: bool = True

    def __len__(self) -> int:
        return len(self.texts)

    def row(self, index: int) -> list[Token]:
        """The tokens of one row as objects."""
        return list(self._tokens(index))

    def _tokens(self, index: int) -> Iterator[Token]:
        for k in range(self.row_offsets[index], self.row_offsets[index + 1]):
            text, coarse, fine = self.types[self.type_ids[k]]
            yield Token(text, coarse, fine, int(self.starts[k]), int(self.ends[k]))

    @classmethod
    def from_rows(
        cls, texts: Sequence[str], rows: Sequence[Sequence[Token]], *, tagged: bool = True
    ) -> Tokens:
        """Build a batch from token objects; for tests and for taggers without arrays."""
        ids: dict[TokenType, int] = {}
        offsets = [0]
        starts: list[int] = []
        ends: list[int] = []
        type_ids: list[int] = []
        for row in rows:
            for token in row:
                triple = TokenType(token.text, token.coarse, token.fine)
                type_ids.append(ids.setdefault(triple, len(ids)))
                starts.append(token.start)
                ends.append(token.end)
            offsets.append(len(type_ids))
        return cls(
            texts=texts,
            row_offsets=np.array(offsets, np.int32),
            starts=np.array(starts, np.int32),
            ends=np.array(ends, np.int32),
            type_ids=np.array(type_ids, np.int32),
            types=list(ids),
            tagged=tagged,
        )
