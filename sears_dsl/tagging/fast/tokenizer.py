"""Tokens at some millions a second: spaCy's, without spaCy.

In: rows. Out: a `Cut`, arrays with the places of their tokens and the numbers of their words.
Always holds: these are the tokens of spaCy's tokenizer of the language, without white space; those
of a row depend on this row alone, whatever was seen before. A chunk between white space is cut once
and then looked up. Where neighbours decide (`cutting` tells when), the chunk is cut in its row.
Beyond a limit, all chunks are forgotten and a new `Words` begins, so memory is bounded. Costs some
150 nanoseconds a token of fresh text, 100 of familiar text, on one core. Two threads must not use a
tokenizer at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from sears_dsl.runtime.array_types import Int32Array, offsets_of, with_room
from sears_dsl.runtime.kernels import compiles, expect
from sears_dsl.tagging.fast import chunk_kernels
from sears_dsl.tagging.fast.cutting import TokenizerTables, shipped_tables
from sears_dsl.tagging.fast.vocabulary import Cut, Words, code_points
from sears_dsl.tagging.tokens import ListedTokens, TokenType

# Characters of a block; only one block is remembered, so it is larger for rows that come again.
_BLOCK = 1 << 20
_BLOCK_AGAIN = 1 << 24
# The chunks of rows with so few characters are looked up in a dictionary: arrays cost more.
_FEW_CHARACTERS = 1000
# Forget all chunks beyond so many, or so many characters in them.
_MOST_CHUNKS = 250_000
_MOST_CHARACTERS = 8_000_000


class _ChunkMemory:
    """The chunks that were seen, and their tokens."""

    def __init__(self) -> None:
        self.chunks = Words()
        self.words = Words()
        self.described = 0  # how many chunks are
        self.entries_used = 0
        self.known = np.zeros((0, 2), np.int32)  # see chunk_kernels.describe
        self.entries = np.zeros((0, 2), np.int32)
        self.in_context = np.zeros(0, np.bool_)  # of each chunk: whether neighbours may matter
        self.rows = chunk_kernels.NO_CHUNKS  # the last block of rows that may come again
        # Chunks whose neighbours do not matter, for few rows: length and word of each token.
        self.tokens: dict[str, list[tuple[int, int]]] = {}
        self.token_characters = 0

    def make_room(self) -> None:
        """Room for the chunks that are not described yet, and for a token a character."""
        count = len(self.chunks)
        offsets = self.chunks.offsets
        characters = int(offsets[count] - offsets[self.described])
        self.known = with_room(self.known, count)
        self.in_context = with_room(self.in_context, count)
        self.entries = with_room(self.entries, self.entries_used + characters)


class FastTokenizer:
    """Cuts rows as spaCy's tokenizer of the language does; English if no rules are given.

    All chunks are forgotten beyond ``most_chunks`` of them, or ``most_characters`` in them; one
    batch may go beyond. ``words`` has the words of the last `Cut` by their numbers. It is another
    object after chunks were forgotten, which happens only when `tokenize`, `row` or `split` begins.
    """

    def __init__(
        self,
        tables: TokenizerTables | None = None,
        *,
        most_chunks: int = _MOST_CHUNKS,
        most_characters: int = _MOST_CHARACTERS,
    ) -> None:
        self.tables = shipped_tables("en") if tables is None else tables
        self._most_chunks = most_chunks
        self._most_characters = most_characters
        self._cutter = self.tables.cutter
        self._marks: chunk_kernels.Marks | None = None
        self._memory = _ChunkMemory()
        self._listed: dict[str, list[tuple[int, TokenType]]] = {}

    @property
    def words(self) -> Words:
        """See the class."""
        return self._memory.words

    def tokenize(self, texts: Sequence[str], *, again: bool = False) -> Cut:
        """The tokens of each row.

        With ``again``, most of the rows were asked for just before, in this order, or will be soon:
        the unchanged beginning and end of a row keep their chunks.
        """
        self._forget()
        if sum(map(len, texts)) <= _FEW_CHARACTERS:
            cut = self._by_chunks(texts)
            if cut is not None:
                return cut
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        row_starts = np.append(0, np.cumsum(lengths + 1))  # with a line break between rows
        blocks: list[Cut] = []
        first = 0
        while first < len(texts):
            most = _BLOCK_AGAIN if again else _BLOCK
            last = int(np.searchsorted(row_starts, row_starts[first] + most))
            last = min(max(last, first + 1), len(texts))
            block = row_starts[first : last + 1] - row_starts[first]
            blocks.append(self._block(texts[first:last], block, again=again))
            first = last
        if len(blocks) == 1:
            return blocks[0]
        row_offsets, *columns = zip(*blocks, strict=True)
        counts = np.concatenate(list(map(np.diff, row_offsets)))
        return Cut(offsets_of(counts, np.int32), *map(np.concatenate, columns))

    def _by_chunks(self, texts: Sequence[str]) -> Cut | None:
        """The tokens of a few rows; None where neighbours matter to a chunk."""
        columns: tuple[list[int], list[int], list[int]] = ([], [], [])
        row_offsets = [0]
        for text in texts:
            if not self._cut_row(text, *columns):
                return None
            row_offsets.append(len(columns[0]))
        return Cut(np.array(row_offsets, np.int32), *np.array(columns, np.int32))

    def _cut_row(self, text: str, starts: list[int], ends: list[int], words: list[int]) -> bool:
        """Append the tokens of a row; False where neighbours matter to a chunk."""
        remembered = self._memory.tokens
        chunks = text.split()
        if not remembered.keys() >= set(chunks) and not self._learn(chunks):
            return False
        end = 0
        for chunk in chunks:
            start = text.index(chunk, end)
            for length, word in remembered[chunk]:
                end = start + length
                starts.append(start)
                ends.append(end)
                words.append(word)
                start = end
        return True

    def row(self, text: str) -> tuple[list[int], list[int], list[int]] | None:
        """What `tokenize` gives for one text of few characters, as lists: starts, ends and words.

        None where neighbours matter to a chunk.
        """
        self._forget()
        columns: tuple[list[int], list[int], list[int]] = ([], [], [])
        is_cut = len(text) <= _FEW_CHARACTERS and self._cut_row(text, *columns)
        return columns if is_cut else None

    def _learn(self, chunks: Sequence[str]) -> bool:
        """Remember the tokens of chunks; False where neighbours may change those of one."""
        memory = self._memory
        cut: dict[str, list[str]] = {}
        for chunk in chunks:
            if chunk not in memory.tokens and chunk not in cut:
                ends, in_context = self._cutter.chunk(chunk)
                if in_context:
                    return False
                cut[chunk] = [chunk[start:end] for start, end in pairwise((0, *ends))]
        numbers = iter(memory.words.numbers(list(chain.from_iterable(cut.values()))))
        for chunk, texts in cut.items():
            memory.tokens[chunk] = list(zip(map(len, texts), numbers, strict=False))
            memory.token_characters += len(chunk)
        return True

    def list_tokens(self, text: str) -> ListedTokens | None:
        """The tokens of a text of few characters; None where neighbours matter to a chunk."""
        if len(text) > _FEW_CHARACTERS:
            return None
        if len(self._listed) > self._most_chunks:
            self._listed = {}
        remembered = self._listed
        chunks = text.split()
        for chunk in set(chunks).difference(remembered):
            ends, in_context = self._cutter.chunk(chunk)
            if in_context:
                return None
            texts = [chunk[start:end] for start, end in pairwise((0, *ends))]
            remembered[chunk] = [(len(each), TokenType(each, "", "")) for each in texts]
        tokens = ListedTokens([], [], [])
        end = 0
        for chunk in chunks:
            start = text.index(chunk, end)
            for length, kind in remembered[chunk]:
                end = start + length
                tokens.types.append(kind)
                tokens.starts.append(start)
                tokens.ends.append(end)
                start = end
        return tokens

    def split(self, word: str) -> tuple[str, ...]:
        """The tokens of a word of a rule."""
        return tuple(self.words.texts(self.tokenize([word]).words.tolist()))

    def _forget(self) -> None:
        memory = self._memory
        strings, characters = memory.chunks.table.used.tolist()
        chunks = max(strings, len(memory.tokens))
        if (
            chunks > self._most_chunks
            or max(characters, memory.token_characters) > self._most_characters
        ):
            self._memory = _ChunkMemory()

    def _block(self, texts: Sequence[str], row_starts: NDArray[np.int64], *, again: bool) -> Cut:
        codes = code_points("\n".join(texts))
        chunked = self._look_up(
            codes, row_starts, self._memory.rows if again else chunk_kernels.NO_CHUNKS
        )
        chunk_starts, numbers = chunked.starts, chunked.numbers
        memory = self._memory
        if again:
            memory.rows = chunked
        tokens = int(memory.known[numbers, chunk_kernels.COUNT].sum())
        row_offsets = np.zeros(len(texts) + 1, np.int32)
        columns = np.zeros((3, tokens), np.int32)
        chunk_kernels.collect(
            chunk_starts, numbers, row_starts, memory.known, memory.entries, row_offsets, columns
        )
        cut = Cut(row_offsets, columns[0], columns[1], columns[2])
        suspects = np.flatnonzero(memory.in_context[numbers])
        if not len(suspects):
            return cut
        rows = np.searchsorted(row_starts, chunk_starts[suspects], side="right") - 1
        places = chunk_starts[suspects] - row_starts[rows]
        return self._with_context(texts, cut, rows, places, numbers[suspects])

    def _look_up(
        self, codes: Int32Array, row_starts: NDArray[np.int64], old: chunk_kernels.ChunkedRows
    ) -> chunk_kernels.ChunkedRows:
        """The chunks of rows; new chunks are described."""
        expect(len(codes) // 4)
        memory = self._memory
        room = len(codes) // 2 + 1
        starts, numbers = np.zeros(room, np.int32), np.zeros(room, np.int32)
        offsets = np.zeros(len(row_starts), np.int32)
        chunked = chunk_kernels.ChunkedRows(codes, row_starts, offsets, starts, numbers)
        try:
            row = was = 0
            while row < len(row_starts) - 1:
                row, was = chunk_kernels.find_chunks(
                    chunked, row, chunk_kernels.SPACE, memory.chunks.table, old, was
                )
                if row < len(row_starts) - 1:
                    memory.chunks.make_room(len(codes) - int(row_starts[row]))
            if len(memory.chunks) > memory.described:
                self._describe()
        except BaseException:
            # Chunks may be numbered but not described: the memory must not be used any more.
            self._memory = _ChunkMemory()
            raise
        return chunked._replace(starts=starts[: offsets[-1]], numbers=numbers[: offsets[-1]])

    def _describe(self) -> None:
        """Cut the new chunks, and number their words."""
        memory = self._memory
        memory.make_room()
        first, count = memory.described, len(memory.chunks)
        # Without classes of characters the kernels do not know the affixes.
        if self.tables.classes and compiles():
            if self._marks is None:
                self._marks = chunk_kernels.marks_of(self.tables)
            longest = int(np.diff(memory.chunks.offsets[first : count + 1]).max())
            memory.entries_used = chunk_kernels.describe(
                memory.chunks.table,
                first,
                self._marks,
                np.zeros(longest, np.int32),
                memory.known,
                memory.entries,
                memory.entries_used,
            )
        else:
            memory.known[first:count, chunk_kernels.COUNT] = -1
        self._describe_slowly(
            first + np.flatnonzero(memory.known[first:count, chunk_kernels.COUNT] < 0)
        )
        position = first
        while position < count:
            position = chunk_kernels.number_words(
                memory.chunks.table, position, memory.known, memory.entries, memory.words.table
            )
            if position < count:
                memory.words.make_room(memory.chunks.characters)
        memory.described = count

    def _describe_slowly(self, chunks: NDArray[np.int64]) -> None:
        memory = self._memory
        ends: list[int] = []
        counts: list[int] = []
        in_context: list[bool] = []
        for text in memory.chunks.texts(chunks.tolist()):
            places, joined = self._cutter.chunk(text)
            ends.extend(places)
            counts.append(len(places))
            in_context.append(joined)
        memory.known[chunks, chunk_kernels.FIRST] = (
            memory.entries_used + np.cumsum([0, *counts])[:-1]
        )
        memory.known[chunks, chunk_kernels.COUNT] = counts
        memory.in_context[chunks] = in_context
        memory.entries[memory.entries_used : memory.entries_used + len(ends), chunk_kernels.END] = (
            ends
        )
        memory.entries_used += len(ends)

    def _with_context(
        self,
        texts: Sequence[str],
        cut: Cut,
        rows: NDArray[np.int64],
        places: NDArray[np.int64],
        numbers: Int32Array,
    ) -> Cut:
        """The tokens, those chunks that neighbours may change being cut in their rows.

        In ``cut`` each chunk is cut on its own; ``rows`` and ``places`` say where those start.
        """
        memory = self._memory
        lengths = np.diff(memory.chunks.offsets[: len(memory.chunks) + 1])[numbers]
        changes: list[tuple[int, int, list[int], int, str]] = []
        for row, place, length, number in zip(
            rows.tolist(), places.tolist(), lengths.tolist(), numbers.tolist(), strict=True
        ):
            text = texts[row]
            ends = self._cutter.in_context(text, place, place + length)
            if ends is None:
                continue
            first, count = memory.known[number].tolist()
            if ends == memory.entries[first : first + count, chunk_kernels.END].tolist():
                continue
            low, high = cut.row_offsets[row], cut.row_offsets[row + 1]
            token = int(low + np.searchsorted(cut.starts[low:high], place))
            changes.append((token, count, ends, row, text[place : place + length]))
        return self._changed(cut, changes) if changes else cut

    def _changed(self, cut: Cut, changes: list[tuple[int, int, list[int], int, str]]) -> Cut:
        """The tokens with those of some chunks replaced.

        A change has, in order: the first token of the chunk, how many tokens it has, where its new
        tokens end, its row and its text.
        """
        parts: list[NDArray[np.int32]] = []
        columns = np.array([cut.starts, cut.ends, cut.words])
        grown = np.zeros(len(cut.row_offsets), np.int64)
        rest = 0
        for token, count, ends, row, chunk in changes:
            starts = [0, *ends[:-1]]
            texts = [chunk[start:end] for start, end in zip(starts, ends, strict=True)]
            place, words = cut.starts[token], self.words.numbers(texts)
            parts.append(columns[:, rest:token])
            parts.append(np.array([np.array(starts) + place, np.array(ends) + place, words]))
            grown[row + 1] += len(ends) - count
            rest = token + count
        parts.append(columns[:, rest:])
        starts, ends, numbers = np.concatenate(parts, axis=1).astype(np.int32, order="C")
        return Cut((cut.row_offsets + np.cumsum(grown)).astype(np.int32), starts, ends, numbers)
