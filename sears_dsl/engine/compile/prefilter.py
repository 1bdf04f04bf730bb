"""Which rows can match at all, told from their raw text before any tokenizing.

In: a program, and which consequents need tags; later the raw rows. Out: for each row how far it
must be prepared: not at all, tokenized, or tokenized and tagged. Always holds: there are no false
negatives. A token is a substring of its row, so a variant that tests a token for one of some words
can match only in a row that contains one of them. Rows and words are compared in lower case;
`str.lower` works character by character except for the Greek final sigma, which is folded. A row
with a word only inside a longer one (`is` in `this`) is a false positive, except where the tagger
cuts texts faster than they are searched (`CuttingTagger`): then their tokens are compared. Costs
one Aho-Corasick pass over the text for each tier that not every row needs anyway. Two threads must
not use it at once: a `Matcher` sees to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from ahocorasick_rs import AhoCorasick
from numpy.typing import NDArray

from sears_dsl.engine.compile.predicates import Predicates
from sears_dsl.engine.compile.program import Program
from sears_dsl.errors import HALF_CHARACTER, readable
from sears_dsl.tagging.fast.vocabulary import WordKinds
from sears_dsl.tagging.tokens import contraction

if TYPE_CHECKING:
    from sears_dsl.tagging.fast.fast_tagger import FastCut

NOTHING = 0
TOKENS = 1
TAGS = 2

# Joins rows for one scan; no word that is looked for contains it.
_SEPARATOR = "\n"
_FINAL_SIGMA, _SIGMA = "ς", "σ"
# At most this many words are searched for in a text one after another.
_FEW_WORDS = 8

Words: TypeAlias = frozenset[str]


class Prefilter:
    """Sorts rows by how far they must be prepared; rendering some of the rules needs tags, too."""

    def __init__(self, program: Program, consequents_need_tags: Sequence[bool]) -> None:
        words: dict[int, set[str]] = {TOKENS: set(), TAGS: set()}
        open_tier = NOTHING
        # For each variant, whether it or the consequent of one of its rules reads tags.
        self.tagged = _needs_tags(program, consequents_need_tags)
        for sequence, tagged in zip(program.sequences, self.tagged, strict=True):
            tier = TAGS if tagged else TOKENS
            required = required_words(sequence, program.predicates)
            if required is None:
                open_tier = max(open_tier, tier)
            else:
                words[tier] |= required
        for rule in program.units.tolist():
            open_tier = max(open_tier, TAGS if consequents_need_tags[rule] else TOKENS)
        self.least: int = open_tier  # what every row needs, for rules without such words
        # A row takes the tier of the last one that finds a word in it.
        self._scanners = {
            tier: _Scanner(words[tier])
            for tier in (TOKENS, TAGS)
            if tier > open_tier and words[tier]
        }

    def tier(self, text: str) -> int:
        """What `tiers` gives for one row, without arrays."""
        if not self._scanners:
            return self.least
        folded = fold(text)
        tiers = (tier for tier, scanner in self._scanners.items() if scanner.occurs(folded))
        return max(tiers, default=self.least)

    def tiers(self, texts: Sequence[str], *, cut: FastCut | None = None) -> NDArray[np.uint8]:
        """uint8 (rows,): `NOTHING`, `TOKENS` or `TAGS` for each row.

        No rule can change a row of tier `NOTHING`, and only rules that read no tags can change one
        of tier `TOKENS`. Where ``cut`` has the tokens of the texts, they are compared, and the raw
        text is not searched.
        """
        tiers = np.full(len(texts), self.least, np.uint8)
        if not self._scanners or not len(texts):
            return tiers
        if cut is not None:
            for tier, scanner in self._scanners.items():
                tiers[cut.with_words(scanner.kinds)] = tier
            return tiers
        raw = _SEPARATOR.join(texts)
        joined, offsets = _fold_rows(raw, texts)
        for tier, scanner in self._scanners.items():
            places = scanner.places(joined)
            tiers[np.searchsorted(offsets, places, side="right") - 1] = tier
        return tiers


class _Scanner:
    """Finds some words in text."""

    def __init__(self, words: set[str]) -> None:
        self._words = words
        self.kinds = WordKinds(self._is_word)

    @cached_property
    def _automaton(self) -> AhoCorasick:
        return AhoCorasick(sorted(self._words))

    def _is_word(self, token: str) -> bool:
        return any(fold(part) in self._words for part in (token, *contraction(token)))

    def places(self, joined: str) -> NDArray[np.int64]:
        """Where words are found: at least one place in each row that contains a word."""
        hits = self._hits(joined)
        return np.fromiter((start for _, start, _ in hits), np.int64, len(hits))

    def occurs(self, folded: str) -> bool:
        """Whether one of the words is in a text, which is folded."""
        if len(self._words) <= _FEW_WORDS:
            return any(word in folded for word in self._words)
        return bool(self._hits(folded))

    def _hits(self, folded: str) -> list[tuple[int, int, int]]:
        """The word, start and end of each place where one is found."""
        try:
            return self._automaton.find_matches_as_indexes(folded)
        except UnicodeEncodeError:
            return self._automaton.find_matches_as_indexes(readable(folded))


def fold(text: str) -> str:
    """A text in lower case; the fold of a part of a text is a part of the fold of the text."""
    return text.lower().replace(_FINAL_SIGMA, _SIGMA)


def _fold_rows(raw: str, texts: Sequence[str]) -> tuple[str, NDArray[np.int64]]:
    """The joined rows folded, and where each row begins in the fold."""
    joined = fold(raw)
    if len(joined) != len(raw):
        texts = list(map(fold, texts))
        joined = _SEPARATOR.join(texts)
    offsets = np.zeros(len(texts), np.int64)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    np.cumsum(lengths[:-1] + len(_SEPARATOR), out=offsets[1:])
    return joined, offsets


def _needs_tags(program: Program, consequents_need_tags: Sequence[bool]) -> NDArray[np.bool_]:
    """For each variant, whether it or the consequent of one of its rules reads tags."""
    by_pattern = np.zeros(len(program.rules.patterns.first_variant), np.bool_)
    tag_reading = np.asarray(consequents_need_tags, np.bool_)
    by_pattern[program.rules.patterns.pattern_of[tag_reading]] = True
    sequences = program.sequences
    reading = np.array(program.predicates.needs_tags, np.bool_)[sequences.flat]
    before = np.append(0, np.cumsum(reading))[sequences.offsets]
    needs: NDArray[np.bool_] = by_pattern[program.rules.patterns.variants[:, 0]]
    return needs | (before[1:] > before[:-1])


def required_words(sequence: Sequence[int], predicates: Predicates) -> Words | None:
    """Folded words, one of which is in every match of the sequence: the rarest choice, or None."""
    best: Words | None = None
    for test in sequence:
        words = _words(test, predicates)
        if words is not None and (best is None or _rarity(words) > _rarity(best)):
            best = words
    return best


def _rarity(words: Words) -> tuple[int, int]:
    """How rare words are: the longer the shortest of them, then the fewer, the rarer."""
    return min((len(word) for word in words), default=1 << 30), -len(words)


def _words(test: int, predicates: Predicates) -> Words | None:
    """Folded words, one of which is in every token that passes the test; None if not known."""
    key = predicates.keys[test]
    if key[0] in ("text", "lower"):
        word = fold(key[1])
        scanned = word and _SEPARATOR not in word and not HALF_CHARACTER.search(word)
        return frozenset((word,)) if scanned else None
    if key[0] == "or":
        members = [_words(member, predicates) for member in key[1]]
        choices = [words for words in members if words is not None]
        return frozenset().union(*choices) if len(choices) == len(members) else None
    if key[0] == "and":
        return required_words(key[1], predicates)
    return None
