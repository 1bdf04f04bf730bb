"""A tokenizer that cuts each distinct chunk once: another tokenizer's result, many times faster.

In: rows, and a tokenizer (`cut`) whose rules look at one chunk, a run of characters between white
space, at a time. Out: `Tokens` without tags, equal to what `cut` gives row by row.
Always holds: the tokens of a chunk are learnt from `cut` itself. Some tokenizers join tokens in a
second pass over the whole row (spaCy puts ``:)`` together again), and there a neighbour can
matter: ``x:) )`` keeps ``:`` and ``)`` apart, ``x:)`` does not. `cut_before_joining` is the
first pass alone; a row with a chunk that the second pass changes is given to `cut` whole.
Costs a look-up a chunk and array operations; `cut` runs on chunks that were not seen before.
What was learnt is forgotten when it passes a limit, so memory is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.runtime.growing import Growing
from sears_dsl.tagging.tokens import Int32Array, Tokens, TokenType, dense, text_groups

Cut: TypeAlias = Callable[[str], tuple[Int32Array, Int32Array]]
"""First and one past the last character of each token of a text; white space is in none."""

# Characters that are looked at together: their code points lie in memory as an array.
_BLOCK = 1 << 20
# Forget what was learnt beyond so many chunks or characters of them.
_MOST_CHUNKS = 250_000
_MOST_CHARACTERS = 8_000_000

_LAST_SPACE = 0x3000
_IS_SPACE = np.array([chr(code).isspace() for code in range(_LAST_SPACE + 2)])


class _Numbers(dict[str, int]):
    """String → number, in order of appearance; the unseen get the next one."""

    def __init__(self) -> None:
        self.strings: list[str] = []  # by their numbers

    def __missing__(self, string: str) -> int:
        number = self[string] = len(self.strings)
        self.strings.append(string)
        return number


def _numbers() -> Growing:
    return Growing(np.zeros(0, np.int64))


class _Learnt:
    """What is known about the chunks that were seen."""

    def __init__(self) -> None:
        self.chunks = _Numbers()
        self.words = _Numbers()
        self.characters = 0
        self.first = _numbers()  # of each chunk: its first entry in the next three
        self.count = _numbers()  # of each chunk: its tokens
        self.joined = _numbers()  # of each chunk: whether the second pass changed it
        self.starts = _numbers()  # of each token: characters from the chunk's start
        self.ends = _numbers()
        self.word = _numbers()  # of each token: its text's number


class ChunkTokenizer:
    r"""Tokenizes rows by looking their chunks up.

    Args:
        cut: the tokenizer to be equal to. A line break must end whatever it looks at.
        cut_before_joining: its first pass, where it has a second one; else None.
        joined_words: the words that the second pass can begin a token run with; None when any
            word may be one. Chunks without such a word need no comparison of the two passes.
        most_chunks: how many chunks are remembered before all are forgotten; a batch may go
            beyond it.

    Example:
        >>> import re
        >>> def cut(text):
        ...     found = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
        ...     return tuple(np.array(found, np.int32).reshape(-1, 2).T)
        >>> batch = ChunkTokenizer(cut).tokenize(["Is it red?", "It is red."])
        >>> [token.text for token in batch.row(1)]
        ['It', 'is', 'red', '.']
    """

    def __init__(
        self,
        cut: Cut,
        *,
        cut_before_joining: Cut | None = None,
        joined_words: Collection[str] | None = None,
        most_chunks: int = _MOST_CHUNKS,
    ) -> None:
        self._cut = cut
        self._cut_before_joining = cut_before_joining
        self._joined_words = joined_words
        self._most_chunks = most_chunks
        self._learnt = _Learnt()

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        """The tokens of each row, without tags."""
        known = self._learnt
        if len(known.chunks) > self._most_chunks or known.characters > _MOST_CHARACTERS:
            self._learnt = _Learnt()
        blocks = [self._block(block) for block in text_groups(texts, characters=_BLOCK)]
        return Tokens.concatenate(blocks) if blocks else Tokens.from_rows([], [], tagged=False)

    def chunk_words(self, chunks: Sequence[str]) -> list[tuple[str, ...] | None]:
        """The tokens of each chunk wherever it stands; None where its neighbours decide.

        Args:
            chunks: runs of characters without white space, none of them empty.

        Example:
            >>> words = ChunkTokenizer(lambda text: (np.array([0]), np.array([2])))
            >>> words.chunk_words(["it."])
            [('it',)]
        """
        known = self._learnt
        if len(known.chunks) > self._most_chunks or known.characters > _MOST_CHARACTERS:
            self._learnt = _Learnt()
        numbers = self._look_up(list(chunks))
        known = self._learnt
        first, count, joined = known.first.array, known.count.array, known.joined.array
        word, strings = known.word.array, known.words.strings
        return [
            None
            if joined[number]
            else tuple(strings[w] for w in word[first[number] : first[number] + count[number]])
            for number in numbers.tolist()
        ]

    def _block(self, texts: Sequence[str]) -> Tokens:
        joined = "\n".join(texts)
        row_starts = np.zeros(len(texts), np.int64)
        np.cumsum([len(text) + 1 for text in texts[:-1]], out=row_starts[1:])
        chunk_starts, _ = chunk_bounds(joined)
        numbers = self._look_up(joined.split())
        known = self._learnt
        counts = known.count.array[numbers]
        total = int(counts.sum())

        # Every token of every chunk: where it is described, and where its chunk stands.
        described = np.arange(total) + np.repeat(
            known.first.array[numbers] - np.cumsum(counts) + counts, counts
        )
        chunks_before = np.searchsorted(chunk_starts, row_starts)
        chunks_in_row = np.diff(np.append(chunks_before, len(chunk_starts)))
        in_row = chunk_starts - np.repeat(row_starts, chunks_in_row)
        place = np.repeat(in_row, counts)
        tokens_before = np.append(0, np.cumsum(counts))
        type_ids, types = self._types(known.word.array[described])
        found = Tokens(
            texts=texts,
            row_offsets=tokens_before[np.append(chunks_before, len(counts))].astype(np.int32),
            starts=(place + known.starts.array[described]).astype(np.int32),
            ends=(place + known.ends.array[described]).astype(np.int32),
            type_ids=type_ids,
            types=types,
            tagged=False,
        )
        joined_chunks = np.flatnonzero(known.joined.array[numbers])
        if not len(joined_chunks):
            return found
        rows = np.unique(np.searchsorted(chunks_before, joined_chunks, side="right") - 1)
        return self._with_whole_rows(found, rows)

    def _look_up(self, chunks: list[str]) -> NDArray[np.int64]:
        known = self._learnt
        described = len(known.chunks)
        numbers = np.fromiter(map(known.chunks.__getitem__, chunks), np.int64, len(chunks))
        if len(known.chunks) > described:
            try:
                self._learn(known.chunks.strings[described:])
            except BaseException:
                # Numbered but not described: nothing may be looked up in there any more.
                self._learnt = _Learnt()
                raise
        return numbers

    def _learn(self, chunks: list[str]) -> None:
        """Cut chunks, each on a line of its own, and note the places of their tokens."""
        known = self._learnt
        known.characters += sum(map(len, chunks))
        text, counts, starts, ends, shift = _cut_lines(self._cut, chunks)
        places = zip(starts.tolist(), ends.tolist(), strict=True)
        words = [text[start:end] for start, end in places]
        numbers = map(known.words.__getitem__, words)
        known.first.extend(len(known.word.array) + np.cumsum(counts) - counts)
        known.count.extend(counts)
        known.joined.extend(self._joined(chunks, words, counts, starts - shift, ends - shift))
        known.starts.extend(starts - shift)
        known.ends.extend(ends - shift)
        known.word.extend(np.fromiter(numbers, np.int64, len(words)))

    def _joined(
        self,
        chunks: list[str],
        words: list[str],
        counts: NDArray[np.int64],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """For each chunk: whether the first pass alone cuts it in other places."""
        joined = np.zeros(len(chunks), np.bool_)
        if self._cut_before_joining is None:
            return joined
        chunk_of = np.repeat(np.arange(len(chunks)), counts)
        suspects = np.arange(len(chunks))
        if self._joined_words is not None:
            hits = map(self._joined_words.__contains__, words)
            suspects = np.unique(chunk_of[np.fromiter(hits, np.bool_, len(words))])
        lines = [chunks[chunk] for chunk in suspects.tolist()]
        if not lines:
            return joined
        _, first_counts, first_starts, first_ends, shift = _cut_lines(
            self._cut_before_joining, lines
        )
        joined[suspects] = first_counts != counts[suspects]
        # With as many tokens as before, they can be compared one by one.
        same = suspects[~joined[suspects]]
        after = np.isin(chunk_of, same)
        before = np.repeat(~joined[suspects], first_counts)
        moved = (starts[after] != (first_starts - shift)[before]) | (
            ends[after] != (first_ends - shift)[before]
        )
        joined[chunk_of[after][moved]] = True
        return joined

    def _types(self, words: NDArray[np.int64]) -> tuple[Int32Array, list[TokenType]]:
        """Type ids and types of the tokens with these word numbers."""
        spelled = self._learnt.words.strings
        distinct, type_ids = dense(words, len(spelled))
        return type_ids, [TokenType(spelled[word], "", "") for word in distinct.tolist()]

    def _with_whole_rows(self, found: Tokens, rows: NDArray[np.int64]) -> Tokens:
        """The batch with these rows cut anew, each as a whole."""
        texts = [found.texts[row] for row in rows.tolist()]
        places = [self._cut(text) for text in texts]
        counts = [len(starts) for starts, _ in places]
        total = sum(counts)
        whole = Tokens.from_spans(
            texts,
            row_offsets=np.append(0, np.cumsum(counts)).astype(np.int32),
            starts=np.concatenate([starts for starts, _ in places]),
            ends=np.concatenate([ends for _, ends in places]),
            tag_ids=np.zeros(total, np.int32),
            tag_pairs=[("", "")],
            tagged=False,
        )
        order = np.arange(len(found))
        order[rows] = len(found) + np.arange(len(rows))
        return Tokens.concatenate([found, whole]).select(order)


def _cut_lines(
    cut: Cut, lines: list[str]
) -> tuple[str, NDArray[np.int64], Int32Array, Int32Array, NDArray[np.int64]]:
    """The lines as one text, tokens per line, their places, and where each one's line starts."""
    text = "\n".join(lines)
    line_starts = np.zeros(len(lines) + 1, np.int64)
    np.cumsum([len(line) + 1 for line in lines], out=line_starts[1:])
    starts, ends = cut(text)
    counts = np.diff(np.searchsorted(starts, line_starts))
    return text, counts, starts, ends, np.repeat(line_starts[:-1], counts)


def chunk_bounds(text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the parts of ``text.split()`` start, and one past where they end.

    Example:
        >>> [bounds.tolist() for bounds in chunk_bounds(" it  is")]
        [[1, 5], [3, 7]]
    """
    codes: NDArray[np.integer]
    if text.isascii():
        codes = np.frombuffer(text.encode("ascii"), np.uint8)
    else:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        codes = np.minimum(codes, np.uint32(_LAST_SPACE + 1))
    inside = np.zeros(len(codes) + 2, np.bool_)
    inside[1:-1] = ~_IS_SPACE[codes]
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    return edges[::2], edges[1::2]
