"""`FastTagger`: tokens and tags at more than a million a second, without spaCy.

Always holds: what a row gets depends on that row alone; the same version gives the same tokens and
tags. Costs some tens of milliseconds to load; a few rows are done by plain Python
(`runtime.kernels`). Threads may share one: what it has learnt about words is looked at by one of
them at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sears_dsl.runtime.array_types import Growing, Int32Array
from sears_dsl.runtime.kernels import kernel
from sears_dsl.tagging.fast.cutting import shipped_tables
from sears_dsl.tagging.fast.perceptron import Perceptron
from sears_dsl.tagging.fast.sentences import sentence_bounds
from sears_dsl.tagging.fast.tokenizer import Cut, FastTokenizer
from sears_dsl.tagging.fast.vocabulary import Words
from sears_dsl.tagging.fast.weights import load, weights_of
from sears_dsl.tagging.tokens import ListedTokens, Tokens, TokenType, TokenTypes, dense

# What this module does with the tags; to be raised whenever that changes.
_ADAPTER = 1
# So many tokens are looked up one by one: arrays cost more.
_FEW_TOKENS = 200


class FastTagger:
    """The tagger that comes with the package, for one of `LANGUAGES`; see MODEL_CARD.md beside it.

    Example:
        >>> tokens = FastTagger().tag(["What color is it?"])
        >>> [(token.text, token.coarse, token.fine) for token in tokens.row(0)][:2]
        [('What', 'DET', 'WDT'), ('color', 'NOUN', 'NN')]
    """

    def __init__(self, *, perceptron: Perceptron | None = None, language: str = "en") -> None:
        self.language = language
        self._custom_perceptron = perceptron
        self._alone: AbstractContextManager[bool] = RLock()
        self._tokenizer = FastTokenizer(shipped_tables(language))
        self._types = _Types(self._tokenizer.words, [("", "")], self._alone)
        self._tagged_types: _Types | None = None

    @property
    def name(self) -> str:
        """``fast``, or with another language than English ``fast:pt``."""
        return "fast" if self.language == "en" else f"fast:{self.language}"

    @property
    def version(self) -> str:
        """The versions of the tokenizer's tables, of the weights and of what is made of them."""
        return f"{self._tokenizer.tables.version}, {self._perceptron.version}, adapter {_ADAPTER}"

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        """The tokens of each text, without tags."""
        with self._alone:
            cut = self._tokenizer.tokenize(texts)
            if self._types.words is not self._tokenizer.words:
                self._types = _Types(self._tokenizer.words, self._types.pairs, self._alone)
            return self._types.tokens(texts, cut, None)

    def tag(self, texts: Sequence[str]) -> Tokens:
        """The tokens of each text with their tags."""
        return self._tag(texts, again=False)

    def tag_again(self, texts: Sequence[str]) -> Tokens:
        """What `tag` gives, sooner where most of the texts was tagged by this just before."""
        return self._tag(texts, again=True)

    def _tag(self, texts: Sequence[str], *, again: bool) -> Tokens:
        with self._alone:
            cut = self._tokenizer.tokenize(texts, again=again)
            perceptron = self._perceptron
            words = self._tokenizer.words
            if self._tagged_types is None or self._tagged_types.words is not words:
                pairs = [(coarse, fine) for fine in perceptron.fine for coarse in perceptron.coarse]
                self._tagged_types = _Types(words, pairs, self._alone)
            fine, coarse = perceptron.tag(cut.row_offsets, cut.words, words, again=again)
            pair_ids = fine.astype(np.int64) * len(perceptron.coarse) + coarse
            return self._tagged_types.tokens(texts, cut, pair_ids)

    def list_tokens(self, text: str) -> ListedTokens | None:
        """What `tokenize` gives for one text; None where it has to be asked."""
        with self._alone:
            return self._tokenizer.listed(text)

    def split(self, words: str) -> tuple[str, ...]:
        """The tokens of a word of a rule."""
        with self._alone:
            return self._tokenizer.split(words)

    def finder(
        self, is_of_kind: Callable[[str], bool]
    ) -> Callable[[Sequence[str]], NDArray[np.bool_]]:
        """What tells for each text whether it has a token of a kind."""
        kinds = _Kinds(is_of_kind)

        def rows(texts: Sequence[str]) -> NDArray[np.bool_]:
            with self._alone:
                cut = self._tokenizer.tokenize(texts)
                flags = kinds.of(self._tokenizer.words)[cut.words]
            before = np.append(0, np.cumsum(flags))[cut.row_offsets]
            has: NDArray[np.bool_] = before[1:] > before[:-1]
            return has

        return rows

    def sentences(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The sentences of each text."""
        with self._alone:
            return sentence_bounds(texts, self._tokenizer)

    @cached_property
    def _perceptron(self) -> Perceptron:
        custom = self._custom_perceptron
        return Perceptron(load(weights_of(self.language))) if custom is None else custom


class _Kinds:
    """Which of the words are of a kind, as long as they keep their numbers."""

    def __init__(self, is_of_kind: Callable[[str], bool]) -> None:
        self._is_of_kind = is_of_kind
        self._words: Words | None = None
        self._flags = Growing(np.zeros(0, np.bool_))

    def of(self, words: Words) -> NDArray[np.bool_]:
        """For each word whether it is of the kind."""
        if self._words is not words:
            self._words, self._flags = words, Growing(np.zeros(0, np.bool_))
        new = range(len(self._flags), len(words))
        if new:
            self._flags.extend(list(map(self._is_of_kind, words.texts(new))))
        flags: NDArray[np.bool_] = self._flags.array
        return flags


class _Types:
    """The distinct tokens that were seen, as long as the words keep their numbers.

    A type is told by its code: the number of its word times the pairs of tags, plus that of its
    pair.
    """

    def __init__(
        self, words: Words, pairs: Sequence[tuple[str, str]], alone: AbstractContextManager[bool]
    ) -> None:
        self.words = words
        self.pairs = pairs
        self.name = object()  # to be held by those who remember codes, instead of all words
        self._alone = alone
        self._objects: dict[int, TokenType] = {}
        self._kinds: tuple[Container[str], _Kinds] | None = None

    def type(self, code: int) -> TokenType:
        """One of them as an object."""
        member = self._objects.get(code)
        if member is None:
            word, pair = divmod(code, len(self.pairs))
            with self._alone:
                member = self._objects[code] = TokenType(self.words.text(word), *self.pairs[pair])
        return member

    def members(self, codes: list[int]) -> list[TokenType]:
        """Some of them as objects; those that were asked for before cost a look-up."""
        known = self._objects
        return [known[code] if code in known else self.type(code) for code in codes]

    def parts(self, codes: NDArray[np.int64]) -> TokenTypes:
        """Some of them by words and pairs of tags."""
        numbers, pair_of = np.divmod(codes, len(self.pairs))
        words, word_of = _number(numbers)
        pairs, pair_of = dense(pair_of, len(self.pairs))
        with self._alone:
            texts = self.words.texts(words.tolist())
        tags = list(map(self.pairs.__getitem__, pairs.tolist()))
        return TokenTypes(texts, word_of, tags, pair_of)

    def has_word(self, codes: NDArray[np.int64], among: Container[str]) -> bool:
        """Whether any of some has a text that is among these."""
        with self._alone:
            if self._kinds is None or self._kinds[0] is not among:
                self._kinds = among, _Kinds(among.__contains__)
            return bool(self._kinds[1].of(self.words)[codes // len(self.pairs)].any())

    def tokens(self, texts: Sequence[str], cut: Cut, pair_ids: NDArray[np.int64] | None) -> Tokens:
        """One batch; without tags where no pairs are given."""
        codes = cut.words.astype(np.int64) * len(self.pairs)
        if pair_ids is not None:
            codes += pair_ids
        if len(codes) <= _FEW_TOKENS:
            places: dict[int, int] = {}
            ids = [places.setdefault(code, len(places)) for code in codes.tolist()]
            distinct, type_ids = np.array(list(places), np.int64), np.array(ids, np.int32)
        else:
            distinct, type_ids = _number(codes)
        return Tokens(
            texts=texts,
            row_offsets=cut.row_offsets,
            starts=cut.starts,
            ends=cut.ends,
            type_ids=type_ids,
            types=_CodedTypes(distinct, self),
            tagged=pair_ids is not None,
        )


class _CodedTypes(TokenTypes):
    """Types of a batch, told by their codes: words and objects are made when they are asked for."""

    __slots__ = ("_codes", "_of")

    def __init__(self, codes: NDArray[np.int64], of: _Types) -> None:
        self._codes, self._of = codes, of
        self._parts, self._members, self.place_of = None, None, {}

    def __reduce__(self) -> tuple[object, ...]:
        return TokenTypes, (self.words, self.word_of, self.pairs, self.pair_of)

    def _split(self) -> Any:
        if self._parts is None:
            self._parts = self._of.parts(self._codes)._split()
        return self._parts

    def members(self) -> Sequence[TokenType]:
        if self._members is None:
            self._members = self._of.members(self._codes.tolist())
        return self._members

    def __len__(self) -> int:
        return len(self._codes)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.members()[index]
        return self._of.type(int(self._codes[index]))

    def keys(self) -> tuple[object, Iterable[Hashable]]:
        return self._of.name, self._codes.tolist()

    @property
    def codes(self) -> NDArray[np.int64]:
        return self._codes

    def has_word(self, among: Container[str]) -> bool:
        if len(self._codes) <= _FEW_TOKENS:
            return any(map(among.__contains__, [text for text, _, _ in self.members()]))
        return self._of.has_word(self._codes, among)

    def take(self, places: NDArray[np.integer]) -> TokenTypes:
        return _CodedTypes(self._codes[places], self._of)


def _number(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], Int32Array]:
    """The distinct codes, and for each code its place among them."""
    size = 1 << max(4, (2 * len(codes)).bit_length())
    distinct, numbers = _number_codes(codes, np.full(size, -1, np.int32))
    return distinct, numbers


@kernel
def _number_codes(codes: Any, slots: Any) -> Any:
    """Number codes in the order in which they first come, by a table of at least twice as many."""
    mask = np.int64(len(slots) - 1)
    distinct = np.empty(len(codes), np.int64)
    numbers = np.empty(len(codes), np.int32)
    count = 0
    for place in range(len(codes)):
        code = codes[place]
        slot = (code ^ (code >> np.int64(15))) & mask
        while slots[slot] >= 0 and distinct[slots[slot]] != code:
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = count
            distinct[count] = code
            count += 1
        numbers[place] = slots[slot]
    return distinct[:count].copy(), numbers
