"""Rules that name words, on a text at a time: matched on lists, without arrays or kernels.

In: a program of which every rule names words, and later texts. Out: the rewrites that `search` and
`Rendering` give where nothing is protected, or None where these have to be asked: a rule that may
match reads tags, or too many rules may. Always holds: a rule can match only where one of
its words is a token (`Prefilter`). Costs a look-up a token, and a test for each token and rule of
which a word is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sears_dsl.engine.arrays import ANCHORS, FOCUS, LEFT, ORDER, PATTERN
from sears_dsl.engine.compile.prefilter import NOTHING, Prefilter, fold, required_words
from sears_dsl.engine.compile.program import Program
from sears_dsl.engine.few_matches import FewMatches
from sears_dsl.engine.matches import Instance, Rewrite, Scope
from sears_dsl.tagging.contractions import may_separate
from sears_dsl.tagging.tagger import ListingTagger
from sears_dsl.tagging.tokens import ListedTokens

# Of more rules at once the kernels are asked, which take as long for one as for many.
_MOST_ASKED = 16
MOST_VARIANTS = 10_000
"""The index of more is not made in a call that somebody waits for."""


class _WordVariant(NamedTuple):
    """A variant as it is tried on words.

    Attributes:
        tests: whether a word is what each place asks for.
        pattern: whose it is.
        left: how many tests stand before the replaced span.
        focus: how many are of the span.
        anchors: 1: at the start of a row; 2: at its end.
    """

    tests: Sequence[Callable[[str], bool]]
    pattern: int
    order: int
    left: int
    focus: int
    anchors: int


class WordRules:
    """The rules of a program by the words that they name.

    Args:
        program: each variant asks for one of some words; there are no more than `MOST_VARIANTS`.
        prefilter: of the program.
        few_matches: renders its rules, none of which draws.
        tagger: lists the tokens of a text; it is asked by any thread.
    """

    def __init__(
        self,
        program: Program,
        prefilter: Prefilter,
        few_matches: FewMatches,
        tagger: ListingTagger,
    ) -> None:
        self._program = program
        self._prefilter = prefilter
        self._few_matches = few_matches
        self._tagger = tagger
        self._word_variants: dict[int, _WordVariant | None] = {}
        self._variants_of: dict[str, tuple[int, ...]] = {}
        for number, sequence in enumerate(program.sequences):
            for word in required_words(sequence, program.predicates) or ():
                self._variants_of[word] = (*self._variants_of.get(word, ()), number)

    def rewrites(
        self, texts: Sequence[str], scope: Scope, unrenderable: Counter[int]
    ) -> list[Rewrite] | None:
        """What all rules, each by itself, make of texts in which nothing is protected.

        Args:
            scope: rewrite the ``first`` instance of a rule in a row, or ``all``.
            unrenderable: see `FewMatches.rewrites`.

        Returns:
            None where one of the rows needs more than a look at its words.
        """
        listed_rows: list[tuple[int, ListedTokens, list[Instance]]] = []
        for row, text in enumerate(texts):
            if self._prefilter.tier(text) == NOTHING:
                continue
            tokens = self._tagger.list_tokens(text)
            instances = None if tokens is None else self.instances(tokens, every=scope == "all")
            if tokens is None or instances is None:
                return None
            listed_rows.append((row, tokens, instances))
        render = self._few_matches.of_row
        return [
            rewrite
            for row, tokens, instances in listed_rows
            for rewrite in render(row, texts[row], tokens, instances, unrenderable)
        ]

    def instances(self, tokens: ListedTokens, *, every: bool) -> list[Instance] | None:
        """The instances in a row, sorted by rule and start.

        Args:
            tokens: of the row.
            every: all of a rule that do not overlap, or the first one.

        Returns:
            None where `search` has to be asked.
        """
        words = [text for text, _, _ in tokens.types]
        folded = fold("\n".join(words)).split("\n")  # one call: no word holds white space
        named = self._variants_of.keys() & folded
        numbers = {number for word in named for number in self._variants_of[word]}
        if len(numbers) > _MOST_ASKED or may_separate(words):
            return None
        hits: dict[int, list[tuple[int, int, int]]] = {}
        for number in numbers:
            variant = self._word_variant(number)
            if variant is None:
                return None
            for start in _starts(variant, words):
                hit = (start, variant.order, start + variant.focus)
                hits.setdefault(variant.pattern, []).append(hit)
        instances: list[Instance] = []
        offsets, rules = self._program.rules.rule_offsets, self._program.rules.rules_of
        for pattern, of_pattern in hits.items():
            apart = _apart(sorted(of_pattern)) if every else [min(of_pattern)]
            for rule in rules[offsets[pattern] : offsets[pattern + 1]].tolist():
                instances += [(rule, start, end, order) for start, order, end in apart]
        return sorted(instances)

    def _word_variant(self, number: int) -> _WordVariant | None:
        """A variant, None if it needs more than words."""
        if number not in self._word_variants:
            variant = None
            if not self._prefilter.tagged[number]:
                row = self._program.rules.variants[number]
                columns = map(int, row[[PATTERN, ORDER, LEFT, FOCUS, ANCHORS]])
                tests = map(self._program.predicates.on_words, self._program.sequences[number])
                variant = _WordVariant(list(tests), *columns)
            self._word_variants[number] = variant
        return self._word_variants[number]


def _starts(variant: _WordVariant, words: Sequence[str]) -> Sequence[int]:
    """Where the replaced spans of a variant start."""
    last = len(words) - len(variant.tests)
    places: Sequence[int] = range(last + 1)
    if variant.anchors & 1:
        places = places[:1]
    if variant.anchors & 2:
        places = places[-1:] if last in places else ()
    for ahead, test in enumerate(variant.tests):
        places = [place for place in places if test(words[place + ahead])]
    return [place + variant.left for place in places]


def _apart(hits: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The leftmost of sorted hits that do not overlap; an insertion closes its place."""
    apart, free = [], 0
    for start, order, end in hits:
        if start >= free:
            free = max(start + 1, end)
            apart.append((start, order, end))
    return apart
