"""Tokens of many texts in flat arrays: what taggers give and what the engine reads.

Always holds: `row_offsets` has n + 1 entries and never falls; token k of row r stands at
`texts[r][starts[k]:ends[k]]`; tokens of a row are in order and do not overlap; white space is in no
token. `types[type_ids[k]]` is the (text, coarse tag, fine tag) of token k. Each distinct triple is
there once, so that work which depends on the triple alone is done once, and work on its word or its
tags alone once for each of these (`TokenTypes`). Tags are empty strings where a tokenizer ran
without a tagger. Costs 12 bytes a token, plus the distinct words and 8 bytes a triple.

Rules read tokens with contractions in capitals `cut_contractions`: ``DON'T`` becomes two tokens, as
``don't`` is. Only the words of a closed list are cut, at the places where the tokenizer cuts their
lower-case form; other tokens and their tags stay as they are. spaCy's English rules list
contractions in lower case and with a first capital, so ``DON'T`` stays whole there, while ``IT'S``
is cut by its suffix. Behind a single capital they keep a full stop, as in ``T. Hardy``, so
``DON'T.`` and ``IT'S.`` stay whole. The parts get the tags that they nearly always have. Costs one
look-up for each distinct token of a batch.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import counted
from sears_dsl.runtime.array_types import Int32Array, offsets_of, places_of

_NO_PLACES: Mapping[str, int] = {}
_Value = TypeVar("_Value", str, tuple[str, str])


class TokenType(NamedTuple):
    """A distinct token: its text, coarse (UPOS) tag and fine (Penn) tag."""

    text: str
    coarse: str
    fine: str


class TokenTypes(Sequence[TokenType]):
    """Distinct tokens, as places in a list of words and in a list of pairs of tags.

    ``words`` are their texts, of which taggers give each once, and ``pairs`` their coarse and fine
    tags; ``word_of`` and ``pair_of``, int32 (types,), say which of these a type has. ``place_of``
    maps each word to its place in ``words``; it is empty where nobody needs it.
    """

    __slots__ = ("_members", "pair_of", "pairs", "place_of", "word_of", "words")

    def __init__(
        self,
        words: Sequence[str],
        word_of: Int32Array,
        pairs: Sequence[tuple[str, str]],
        pair_of: Int32Array,
        place_of: Mapping[str, int] = _NO_PLACES,
    ) -> None:
        self.words, self.word_of = words, word_of
        self.pairs, self.pair_of = pairs, pair_of
        self._members: Sequence[TokenType] | None = None
        self.place_of = place_of

    @classmethod
    def of(cls, triples: Iterable[TokenType]) -> TokenTypes:
        """Types from distinct triples."""
        members = list(triples)
        places = np.arange(len(members), dtype=np.int32)
        words, pairs = [text for text, _, _ in members], [each[1:] for each in members]
        types = cls(words, places, pairs, places)
        types._members = members
        return types

    def members(self) -> Sequence[TokenType]:
        """All of them as objects, made once."""
        if self._members is None:
            texts, tags = self.texts(), map(self.pairs.__getitem__, self.pair_of.tolist())
            self._members = [TokenType(text, *pair) for text, pair in zip(texts, tags, strict=True)]
        return self._members

    def __len__(self) -> int:
        return len(self.word_of)

    @overload
    def __getitem__(self, index: int) -> TokenType: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TokenType]: ...
    def __getitem__(self, index: int | slice) -> TokenType | Sequence[TokenType]:
        if isinstance(index, slice) or self._members is not None:
            return self.members()[index]
        text, tags = self.words[self.word_of[index]], self.pairs[self.pair_of[index]]
        return TokenType(text, *tags)

    def __iter__(self) -> Iterator[TokenType]:
        return iter(self.members())

    def keys(self) -> tuple[object, Iterable[Hashable]]:
        """An object, and a key for each type in all batches with that object; None: everywhere."""
        return None, self.members()

    @property
    def codes(self) -> NDArray[np.int64] | None:
        """The keys, if they are numbers of one tagger."""
        return None

    def has_word(self, among: Container[str]) -> bool:
        """Whether the text of any type is among these."""
        return any(map(among.__contains__, self.words))

    def texts(self) -> list[str]:
        """The text of each type."""
        return list(map(self.words.__getitem__, self.word_of.tolist()))

    def take(self, places: NDArray[np.integer]) -> TokenTypes:
        """The types at some places, with the words and tags of these alone."""
        words, word_of = distinct_codes(self.word_of[places].astype(np.int64), len(self.words))
        pairs, pair_of = distinct_codes(self.pair_of[places].astype(np.int64), len(self.pairs))
        return TokenTypes(
            list(map(self.words.__getitem__, words.tolist())),
            word_of,
            list(map(self.pairs.__getitem__, pairs.tolist())),
            pair_of,
        )


class Token(NamedTuple):
    """One token as an object, for messages and tests; offsets are characters of its row."""

    text: str
    coarse: str
    fine: str
    start: int
    end: int


def touching(tokens: Sequence[Token], place: int) -> bool:
    """Whether the tokens on both sides of a place have no white space between them."""
    return 0 < place < len(tokens) and tokens[place - 1].end == tokens[place].start


class ListedTokens(Sequence[Token]):
    """The tokens of a row as lists; a token becomes an object when it is asked for."""

    __slots__ = ("ends", "starts", "types")

    def __init__(self, types: list[TokenType], starts: list[int], ends: list[int]) -> None:
        self.types, self.starts, self.ends = types, starts, ends

    def __len__(self) -> int:
        return len(self.types)

    @overload
    def __getitem__(self, index: int) -> Token: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Token]: ...
    def __getitem__(self, index: int | slice) -> Token | Sequence[Token]:
        if isinstance(index, slice):
            return ListedTokens(self.types[index], self.starts[index], self.ends[index])
        return Token(*self.types[index], self.starts[index], self.ends[index])


class _RowView(Sequence[Token]):
    """The tokens of a row, made when they are asked for: an edit needs only those around it."""

    def __init__(self, tokens: Tokens, row: int) -> None:
        self._tokens = tokens
        self._first = int(tokens.row_offsets[row])
        self._count = int(tokens.row_offsets[row + 1]) - self._first
        self._tokens_by_place: dict[int, Token] = {}

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Token: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Token]: ...
    def __getitem__(self, index: int | slice) -> Token | Sequence[Token]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(self._count))]
        token = self._tokens_by_place.get(index)
        if token is None:
            tokens, at = self._tokens, self._first + range(self._count)[index]
            text, coarse, fine = tokens.types[tokens.type_ids[at]]
            token = Token(text, coarse, fine, tokens.starts.item(at), tokens.ends.item(at))
            self._tokens_by_place[index] = token
        return token


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """A batch of tokenized, possibly tagged texts.

    Attributes:
        row_offsets: int32 (n + 1,): tokens of row r are row_offsets[r]:row_offsets[r + 1].
        starts: int32 (tokens,): first character of each token in its row.
        ends: int32 (tokens,): one past the last character.
        type_ids: int32 (tokens,): index into types.
        types: the distinct (text, coarse, fine) triples.
        tagged: whether the tags were assigned (False: the tokenizer alone ran).
    """

    texts: Sequence[str]
    row_offsets: Int32Array
    starts: Int32Array
    ends: Int32Array
    type_ids: Int32Array
    types: TokenTypes
    tagged: bool = True

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"<Tokens of {counted(len(self), 'text')}{', tagged' if self.tagged else ''}>"

    def row(self, index: int) -> list[Token]:
        """The tokens of one row as objects."""
        return list(self.list_row(index))

    def view(self, index: int) -> Sequence[Token]:
        """The tokens of one row, each made an object when it is asked for."""
        return _RowView(self, index)

    def list_row(self, index: int) -> ListedTokens:
        """The tokens of one row as lists."""
        here = slice(self.row_offsets[index], self.row_offsets[index + 1])
        columns = (self.type_ids[here], self.starts[here], self.ends[here])
        ids, starts, ends = (column.tolist() for column in columns)
        return ListedTokens(list(map(self.types.members().__getitem__, ids)), starts, ends)

    @classmethod
    def from_rows(
        cls, texts: Sequence[str], rows: Sequence[Sequence[Token]], *, tagged: bool = True
    ) -> Tokens:
        """Build a batch from token objects; for tests and for taggers without arrays."""
        ids: dict[TokenType, int] = {}
        tokens = list(chain.from_iterable(rows))
        type_ids = [ids.setdefault(TokenType(*token[:3]), len(ids)) for token in tokens]
        return cls(
            texts=texts,
            row_offsets=offsets_of(np.array(list(map(len, rows)), np.int32), np.int32),
            starts=np.array([token.start for token in tokens], np.int32),
            ends=np.array([token.end for token in tokens], np.int32),
            type_ids=np.array(type_ids, np.int32),
            types=TokenTypes.of(ids),
            tagged=tagged,
        )

    @classmethod
    def from_spans(
        cls,
        texts: Sequence[str],
        *,
        row_offsets: Int32Array,
        starts: Int32Array,
        ends: Int32Array,
        tag_ids: Int32Array,
        tag_pairs: Sequence[tuple[str, str]],
    ) -> Tokens:
        """Build a batch from places and tags; the tokens' texts are cut out of the rows.

        ``tag_ids`` are indices into ``tag_pairs``, where each distinct (coarse, fine) is once.
        Costs a slice and a dictionary look-up a token, about 0.3 microseconds.
        """
        first, last = starts.tolist(), ends.tolist()
        bounds = row_offsets.tolist()
        words = [
            text[start:end]
            for text, low, high in zip(texts, bounds[:-1], bounds[1:], strict=True)
            for start, end in zip(first[low:high], last[low:high], strict=True)
        ]
        numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
        word_ids = np.fromiter(map(numbers.__getitem__, words), np.int64, len(words))
        types, type_ids = _types(numbers, tag_pairs, word_ids, tag_ids)
        return cls(
            texts=texts,
            row_offsets=row_offsets,
            starts=starts,
            ends=ends,
            type_ids=type_ids,
            types=types,
        )

    @classmethod
    def concatenate(cls, batches: Sequence[Tokens]) -> Tokens:
        """One batch with the rows of all, in order; tagged if all of them are."""
        if len(batches) == 1:
            return batches[0]
        words: dict[str, int] = {}
        pairs: dict[tuple[str, str], int] = {}
        word_ids, pair_ids = [_NO_IDS], [_NO_IDS]
        counts = [_NO_OFFSETS]
        for batch in batches:
            theirs = batch.types
            word_ids.append(_numbered(theirs.words, words)[theirs.word_of][batch.type_ids])
            pair_ids.append(_numbered(theirs.pairs, pairs)[theirs.pair_of][batch.type_ids])
            counts.append(np.diff(batch.row_offsets))
        types, type_ids = _types(
            words, list(pairs), np.concatenate(word_ids), np.concatenate(pair_ids)
        )
        return cls(
            texts=[text for batch in batches for text in batch.texts],
            row_offsets=offsets_of(np.concatenate(counts), np.int32),
            starts=np.concatenate([_NO_OFFSETS, *(batch.starts for batch in batches)]),
            ends=np.concatenate([_NO_OFFSETS, *(batch.ends for batch in batches)]),
            type_ids=type_ids,
            types=types,
            tagged=all(batch.tagged for batch in batches),
        )

    def select(self, rows: Sequence[int] | NDArray[np.integer]) -> Tokens:
        """The given rows in the given order; a row may be left out or taken more than once.

        The types stay as they are, so type ids keep their meaning.
        """
        chosen = np.asarray(rows, np.int64)
        offsets, picked = places_of(self.row_offsets, chosen)
        texts = self.texts
        return Tokens(
            texts=[texts[row] for row in chosen.tolist()],
            row_offsets=offsets.astype(np.int32),
            starts=self.starts[picked],
            ends=self.ends[picked],
            type_ids=self.type_ids[picked],
            types=self.types,
            tagged=self.tagged,
        )


_NO_IDS = np.zeros(0, np.int64)
_NO_OFFSETS = np.zeros(0, np.int32)


def _types(
    words: Mapping[str, int],
    pairs: Sequence[tuple[str, str]],
    word_ids: NDArray[np.int64],
    pair_ids: NDArray[np.integer],
) -> tuple[TokenTypes, Int32Array]:
    """The distinct types of tokens with these words and pairs of tags, and each token's type id."""
    count = max(1, len(pairs))
    distinct, type_ids = distinct_codes(word_ids * count + pair_ids, len(words) * count)
    word_of, pair_of = np.divmod(distinct, count)
    columns = list(words), word_of.astype(np.int32), pairs, pair_of.astype(np.int32)
    return TokenTypes(*columns, words), type_ids


def _numbered(values: Sequence[_Value], numbers: dict[_Value, int]) -> NDArray[np.int64]:
    """The number of each value; new ones are added."""
    value_numbers = (numbers.setdefault(value, len(numbers)) for value in values)
    return np.fromiter(value_numbers, np.int64, len(values))


def distinct_codes(codes: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], Int32Array]:
    """The distinct codes in ascending order, and for each code its place among them.

    Codes are at least 0 and below ``size``; where that is not far above the number of codes, a
    table replaces sorting.
    """
    if size > 8 * len(codes) + 10_000:
        distinct, places = np.unique(codes, return_inverse=True)
        return distinct, places.astype(np.int32)
    present = np.zeros(size, np.bool_)
    present[codes] = True
    distinct = np.flatnonzero(present)
    place_of = np.zeros(size, np.int32)
    place_of[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct, place_of[codes]


def text_groups(texts: Sequence[str], *, characters: int) -> Iterator[Sequence[str]]:
    """Consecutive texts in groups, each closed when it reaches so many characters."""
    first = held = 0
    for place, text in enumerate(texts):
        held += len(text) + 1
        if held >= characters:
            yield texts[first : place + 1]
            first, held = place + 1, 0
    if first < len(texts):
        yield texts[first:]


# ---------------------------------------------------------------- contractions in capitals

_NOT = ("n't", "PART", "RB")
_BEFORE_HAVE = ("could", "might", "must", "should", "would")
_MODALS = (*_BEFORE_HAVE, "ca", "dare", "may", "need", "ought", "sha", "wo")
_FORMS = {
    **dict.fromkeys(_MODALS, ("AUX", "MD")),
    **dict.fromkeys(("do", "have", "are", "ai"), ("AUX", "VBP")),
    **dict.fromkeys(("does", "has", "is"), ("AUX", "VBZ")),
    **dict.fromkeys(("did", "had", "was", "were"), ("AUX", "VBD")),
}
_SUBJECTS = {
    **dict.fromkeys(("i", "you", "he", "she", "it", "we", "they"), ("PRON", "PRP")),
    **dict.fromkeys(("that", "this", "these", "those"), ("PRON", "DT")),
    **dict.fromkeys(("who", "what"), ("PRON", "WP")),
    **dict.fromkeys(("how", "when", "where", "why"), ("SCONJ", "WRB")),
    "there": ("PRON", "EX"),
}
_SINGULAR = ("he", "she", "it", "that", "this")
_BEFORE_NOT_HAVE = {*_MODALS, "did", "do", "does", "had"} - {"dare"}
_HAVE = ("'ve", "AUX", "VB")
_WHOLE = (
    (("can", "AUX", "MD"), ("not", "PART", "RB")),
    (("gon", "VERB", "VBG"), ("na", "PART", "TO")),
    (("got", "VERB", "VBN"), ("ta", "PART", "TO")),
    (("not", "PART", "RB"), _HAVE),
)

_STOP = (".", "PUNCT", ".")

_Part = tuple[str, str, str]


def _contractions() -> Iterator[tuple[_Part, ...]]:
    """Each contraction as its parts with their tags, in lower case."""
    yield from _WHOLE
    for verb, tags in _FORMS.items():
        yield (verb, *tags), _NOT
        if verb in _BEFORE_NOT_HAVE:
            yield (verb, *tags), _NOT, _HAVE
        if verb in _BEFORE_HAVE:
            yield (verb, *tags), _HAVE
    yield ("i", "PRON", "PRP"), ("'m", "AUX", "VBP")
    for subject, tags in _SUBJECTS.items():
        for clitic in ("'d", "'ll"):
            yield (subject, *tags), (clitic, "AUX", "MD")
            yield (subject, *tags), (clitic, "AUX", "MD"), _HAVE
        for clitic in ("'re", "'ve"):
            if subject not in (_SINGULAR if clitic == "'ve" else (*_SINGULAR, "i")):
                yield (subject, *tags), (clitic, "AUX", "VBP")


def _before_stops() -> Iterator[tuple[_Part, ...]]:
    """The contractions that keep a full stop behind them, with the full stop."""
    yield from ((*parts, _STOP) for parts in _contractions() if parts[-1][0][-2] == "'")
    for subject, tags in _SUBJECTS.items():
        yield (subject, *tags), ("'s", "AUX", "VBZ"), _STOP
    yield ("let", "VERB", "VB"), ("'s", "PRON", "PRP"), _STOP


def _in_capitals() -> dict[str, tuple[TokenType, ...]]:
    cuts = {}
    for parts in (*_contractions(), *_before_stops()):
        for mark in "'’":
            cut = tuple(
                TokenType(text.upper().replace("'", mark), coarse, fine)
                for text, coarse, fine in parts
            )
            cuts["".join(part.text for part in cut)] = cut
    return cuts


_PARTS = _in_capitals()


def contraction(word: str) -> tuple[str, ...]:
    """The parts of a contraction in capitals, or the word alone."""
    parts = _PARTS.get(word)
    return (word,) if parts is None else tuple(part.text for part in parts)


def has_contraction(words: Iterable[str]) -> bool:
    """Whether `cut_contractions` cuts one of some words."""
    return not _PARTS.keys().isdisjoint(words)


def cut_contractions(tokens: Tokens) -> Tokens:
    """The tokens with contractions in capitals cut; the same object where there are none."""
    if not tokens.types.has_word(_PARTS):
        return tokens
    cut = [_PARTS.get(text) for text in tokens.types.texts()]
    types = {kind: number for number, kind in enumerate(tokens.types)}
    counts = np.array([len(parts or ("",)) for parts in cut], np.int64)
    pieces: list[tuple[int, int, int]] = []  # type, first character, one past the last
    for number, parts in enumerate(cut):
        place = 0
        for part in parts or ():
            kind = part if tokens.tagged else TokenType(part.text, "", "")
            pieces.append((types.setdefault(kind, len(types)), place, place + len(part.text)))
            place += len(part.text)
        if parts is None:
            pieces.append((number, 0, 0))
    first_piece = np.cumsum(counts) - counts
    sizes = counts[tokens.type_ids]
    first = offsets_of(sizes, np.int64)
    whole = np.repeat(np.arange(len(sizes)), sizes)
    kinds = tokens.type_ids[whole]
    chosen = first_piece[kinds] + np.arange(len(whole)) - first[whole]
    type_ids, low, high = np.array(pieces, np.int32)[chosen].T
    starts = tokens.starts[whole]
    return replace(
        tokens,
        row_offsets=first[tokens.row_offsets].astype(np.int32),
        starts=starts + low,
        ends=np.where(counts[kinds] == 1, tokens.ends[whole], starts + high).astype(np.int32),
        type_ids=np.ascontiguousarray(type_ids),
        types=TokenTypes.of(types),
    )
