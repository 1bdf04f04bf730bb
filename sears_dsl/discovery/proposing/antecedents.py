"""Which generalizations of some runs of tokens are frequent in a corpus.

Always holds: every token is generalized to its text, its coarse and its fine tag, where the
language has a test for that; the engine does the counting, each distinct sequence once. A sequence
is frequent only if its parts are, so longer ones are made of frequent shorter ones (Agrawal and
Srikant 1995) and the product of all tests is never written out. Costs a run of the engine for each
length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.effects.applications import MINED, mined_options
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.matches import Matches
from sears_dsl.language.rule import Element, Literal, Rule, Tag, Text
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.language.tagsets import COARSE, FINE
from sears_dsl.language.words import KEYWORDS, objection
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens, TokenType

TestSequence: TypeAlias = tuple[int, ...]
"""Tests, by their number, that tokens in a row pass."""

Window: TypeAlias = tuple[int, ...]
"""Token types, by their number in the corpus, in a row."""

# A fine tag that the language reads as a tag when it stands bare; `.` or `$` are literals there.
_BARE_FINE = re.compile(r"[A-Z]{2,}\$?")
_ANYTHING = (Text("x"),)


class Antecedents:
    """The tests that tokens of a corpus pass, and which sequences of them are frequent there.

    ``elements`` and ``tags`` have the test of each number as an element, and its tag, None for a
    literal. The tagger is the one of the corpus; it tells which words it would split.
    """

    def __init__(self, corpus: Tokens, *, tagger: Tagger, minimum_rows: int) -> None:
        self.corpus = corpus
        self.elements: list[Element] = []
        self.tags: list[str | None] = []
        self._tagger = tagger
        self._minimum_rows = minimum_rows
        self._numbers: dict[tuple[str, bool], int] = {}
        self._tests_of: dict[int, TestSequence] = {}
        self._built: dict[TestSequence, tuple[Element, ...]] = {}

    def elements_of(self, sequence: TestSequence) -> tuple[Element, ...]:
        """The sequence as an antecedent; equal sequences share one tuple."""
        built = self._built.get(sequence)
        if built is None:
            built = tuple(self.elements[test] for test in sequence)
            self._built[sequence] = built
        return built

    def find(self, sequences: Sequence[TestSequence]) -> Matches:
        """The first instance of each sequence in each row, by the engine."""
        rules = [Rule(self.elements_of(sequence), _ANYTHING) for sequence in sequences]
        mined = Ruleset.from_rules(rules, options=mined_options(self._tagger))
        matcher = compile_rules([mined], tagger=self._tagger)
        return matcher.find(self.corpus)

    def support(self, sequences: Sequence[TestSequence]) -> NDArray[np.int64]:
        """How many rows each sequence is in."""
        return np.bincount(self.find(sequences).rules, minlength=len(sequences))

    def frequent(self, windows: Iterable[Window]) -> dict[Window, list[TestSequence]]:
        """The frequent sequences that the tokens of each window pass, and those of its parts."""
        distinct = list(dict.fromkeys(windows))
        frequent: dict[Window, list[TestSequence]] = {}
        for length in range(1, max(map(len, distinct), default=0) + 1):
            proposed = {
                part: self._generalizations(part, frequent) for part in _parts(distinct, length)
            }
            sequences = list(dict.fromkeys(each for some in proposed.values() for each in some))
            enough = self.support(sequences) >= self._minimum_rows
            passing = {each for each, is_enough in zip(sequences, enough, strict=True) if is_enough}
            for part, some in proposed.items():
                frequent[part] = [each for each in some if each in passing]
        return frequent

    def _generalizations(
        self, part: Window, frequent: dict[Window, list[TestSequence]]
    ) -> list[TestSequence]:
        """Sequences for a part whose own parts, one token shorter, are frequent."""
        if len(part) == 1:
            return [(test,) for test in self._tests(part[0])]
        endings: dict[TestSequence, list[int]] = {}
        for each in frequent[part[1:]]:
            endings.setdefault(each[:-1], []).append(each[-1])
        return [(*each, last) for each in frequent[part[:-1]] for last in endings.get(each[1:], ())]

    def _tests(self, kind: int) -> TestSequence:
        tests = self._tests_of.get(kind)
        if tests is None:
            tests = tuple(self._number(*test) for test in self._written(self.corpus.types[kind]))
            self._tests_of[kind] = tests
        return tests

    def _written(self, token: TokenType) -> Iterable[tuple[str, bool]]:
        """What the token can be called in a rule: (text or tag, whether it is a tag)."""
        # A literal that the tokenizer would split stands for several tokens, not for this one.
        if len(self._tagger.split(token.text)) == 1:
            yield token.text, False
        if token.coarse in COARSE[MINED.tagset]:
            yield token.coarse, True
        if token.fine in FINE and token.fine != token.coarse and _BARE_FINE.fullmatch(token.fine):
            yield token.fine, True

    def _number(self, name: str, is_tag: bool) -> int:
        number = self._numbers.setdefault((name, is_tag), len(self.elements))
        if number == len(self.elements):
            body = Tag(name) if is_tag else Literal(name, quoted=_needs_quotes(name))
            self.elements.append(Element(body))
            self.tags.append(name if is_tag else None)
        return number


def _needs_quotes(word: str) -> bool:
    """Whether a literal cannot stand bare everywhere in an antecedent."""
    return objection(word, "sequence") is not None or word in KEYWORDS


def _parts(windows: Iterable[Window], length: int) -> dict[Window, None]:
    """The distinct runs of so many tokens in the windows."""
    return dict.fromkeys(
        window[place : place + length]
        for window in windows
        for place in range(len(window) - length + 1)
    )
