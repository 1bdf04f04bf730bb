"""From adversaries to candidate rules: what could be said about the change in general.

Candidates are all rules that generalize the smallest contiguous change of some adversary, with up
to one word of context on each side, each token of the antecedent as its text, its coarse or its
fine tag. Always holds: each rule, applied by the engine to an adversary's row (first instance),
writes that adversary, character by character but for the length of runs of white space; its
antecedent is in enough rows; rules are distinct, in the order of their canonical text, and `parse`
reads that text as the same tree. Costs some runs of the engine over the rows and about 20
microseconds a rule and adversary.

Source: Ribeiro, Singh, Guestrin, "Semantically Equivalent Adversarial Rules for Debugging NLP
Models", ACL 2018, Section 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from sears_dsl.discovery.candidates import CandidateRule, Candidates
from sears_dsl.discovery.proposing.antecedents import Antecedents, TestSequence, Window
from sears_dsl.discovery.proposing.changes import (
    ContextChange,
    MinimalChange,
    Rewording,
    consequent_of,
    minimal_change,
)
from sears_dsl.effects.applications import MINED
from sears_dsl.engine.matches import Binding, Edit, TokenRange, apply_edits
from sears_dsl.engine.rewrite.renderer import Renderer
from sears_dsl.errors import UsageError
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Piece, Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Token, Tokens, separated


class _Site(NamedTuple):
    """Where one adversary differs from its row."""

    adversary: int
    row: int
    tokens: Sequence[Token]
    change: MinimalChange


def propose(
    adversaries: Sequence[Rewording],
    corpus: Tokens,
    *,
    tagger: Tagger,
    context: int = 1,
    minimum_frequency: float = 0.005,
    longest: int = 6,
    accepts: Callable[[Rule], bool] = lambda _: True,
) -> Candidates:
    """Propose rules that reproduce adversaries, or any paraphrases of rows of the tagged corpus.

    Rows are told by their text. A rule names ``context`` unchanged tokens at most on each side of
    the change, and its antecedent, of ``longest`` tokens at most, is in a share of
    ``minimum_frequency`` of the rows; ``accepts`` says of a rule whether it is wanted at all.
    """
    _check(corpus, context=context, minimum_frequency=minimum_frequency, longest=longest)
    # A share of 0.005 of 1,000 rows is 5 of them, whatever the rounding.
    minimum_rows = max(1, math.ceil(minimum_frequency * len(corpus) - 1e-9))
    antecedents = Antecedents(corpus, tagger=tagger, minimum_rows=minimum_rows)
    rows = {text: row for row, text in reversed(list(enumerate(corpus.texts)))}
    sites = list(_sites(adversaries, corpus, rows, tagger))
    places = [
        (site, start, end) for site in sites for start, end in _windows(site, context, longest)
    ]
    windows = [_types(corpus, site.row, start, end) for site, start, end in places]
    frequent = antecedents.frequent(windows)
    used = list(dict.fromkeys(each for window in windows for each in frequent[window]))
    instances = _FirstInstances(antecedents, used)
    texts = [each.text for each in adversaries]
    drafts = _Drafts(antecedents, instances, corpus, texts, accepts)
    for (site, start, end), window in zip(places, windows, strict=True):
        for sequence in frequent[window]:
            drafts.add(site, sequence, start, end)
    return drafts.candidates()


def _check(corpus: Tokens, *, context: int, minimum_frequency: float, longest: int) -> None:
    if not corpus.tagged:
        raise UsageError(
            "rules are proposed over tags and the rows have none",
            help="tag them (`tagger.tag`) instead of tokenizing them only",
        )
    if context < 0 or longest < 1 or not 0 <= minimum_frequency <= 1:
        raise UsageError(
            f"context is {context}, longest {longest}, minimum_frequency {minimum_frequency}",
            help="context is at least 0, longest at least 1, a frequency between 0 and 1",
        )


def _sites(
    adversaries: Sequence[Rewording], corpus: Tokens, rows: dict[str, int], tagger: Tagger
) -> Iterator[_Site]:
    """Where each adversary differs from its row; nothing for one that differs by spaces alone."""
    paraphrases = separated(tagger.tokenize([each.text for each in adversaries]))
    tokens_of = cache(corpus.row)
    for number, adversary in enumerate(adversaries):
        row = rows.get(adversary.original)
        if row is None:
            raise UsageError(
                f"the row of an adversary is not among the rows: {adversary.original!r}",
                help="give the tagged rows that the adversaries were found on",
            )
        tokens = tokens_of(row)
        change = minimal_change(tokens, paraphrases.row(number))
        if change is not None:
            yield _Site(number, row, tokens, change)


def _windows(site: _Site, context: int, longest: int) -> Iterator[tuple[int, int]]:
    """The runs of tokens that an antecedent may be about: the change and its neighbours."""
    tokens, change = len(site.tokens), site.change
    for left in range(min(context, change.start) + 1):
        for right in range(min(context, tokens - change.end) + 1):
            start, end = change.start - left, change.end + right
            if 0 < end - start <= longest:
                yield start, end


def _types(corpus: Tokens, row: int, start: int, end: int) -> Window:
    first = int(corpus.row_offsets[row])
    return tuple(corpus.type_ids[first + start : first + end].tolist())


class _FirstInstances:
    """Where the engine finds sequences of tests first in each row."""

    def __init__(self, antecedents: Antecedents, sequences: Sequence[TestSequence]) -> None:
        matches = antecedents.find(sequences)
        self._number = {sequence: number for number, sequence in enumerate(sequences)}
        self._count = max(1, len(sequences))
        # Sorted, since matches are sorted by row, then rule.
        self._keys = matches.rows.astype(np.int64) * self._count + matches.rules
        self._starts = matches.starts
        self._support = np.bincount(matches.rules, minlength=len(sequences))

    def start(self, sequence: TestSequence, row: int) -> int:
        """The first token of the first instance in a row that has one."""
        key = row * self._count + self._number[sequence]
        return int(self._starts[np.searchsorted(self._keys, key)])

    def support(self, sequence: TestSequence) -> int:
        """How many rows have an instance."""
        return int(self._support[self._number[sequence]])


@dataclass(slots=True)
class _Draft:
    """A rule that some adversary proposes, and those that it reproduces."""

    rule: Rule
    sequence: TestSequence
    renderer: Renderer
    sources: list[int]


class _Drafts:
    """Collects rules and tries each on the rows that propose it."""

    def __init__(
        self,
        antecedents: Antecedents,
        instances: _FirstInstances,
        corpus: Tokens,
        paraphrases: Sequence[str],
        accepts: Callable[[Rule], bool],
    ) -> None:
        self._accepts = accepts
        self._antecedents = antecedents
        self._instances = instances
        self._corpus = corpus
        self._paraphrases = [_spaced(text) for text in paraphrases]
        self._scope = Ruleset((), options=MINED)
        self._drafts: dict[tuple[TestSequence, tuple[Piece, ...]], _Draft | None] = {}

    def add(self, site: _Site, sequence: TestSequence, start: int, end: int) -> None:
        """Write the rule of a sequence of tests for a site, and try it there."""
        row = site.tokens
        tags = [self._antecedents.tags[test] for test in sequence]
        pieces = consequent_of(ContextChange(row, site.change, start, end), tags)
        key = sequence, pieces
        if key not in self._drafts:
            rule = Rule(self._antecedents.elements_of(sequence), pieces)
            self._drafts[key] = (
                _Draft(rule, sequence, Renderer(rule, self._scope), [])
                if self._accepts(rule)
                else None
            )
        draft = self._drafts[key]
        if draft is None:
            return
        first = self._instances.start(sequence, site.row)
        text = self._corpus.texts[site.row]
        if self._written(draft, text, row, first) == self._paraphrases[site.adversary]:
            draft.sources.append(site.adversary)

    def _written(self, draft: _Draft, text: str, row: Sequence[Token], first: int) -> str | None:
        """What the rule makes of a row, as the engine does it."""
        edit = draft.renderer.render(text, row, _binding(draft.sequence, self._antecedents, first))
        return _spaced(apply_edits(text, [edit])) if isinstance(edit, Edit) else None

    def candidates(self) -> Candidates:
        """Those that reproduce an adversary, by their text."""
        by_text: dict[str, _Draft] = {}
        for draft in self._drafts.values():
            if draft is not None and draft.sources:
                by_text.setdefault(print_rule(draft.rule), draft)
        return Candidates(
            tuple(
                CandidateRule(
                    draft.rule,
                    support=self._instances.support(draft.sequence),
                    sources=tuple(sorted(set(draft.sources))),
                )
                for _, draft in sorted(by_text.items())
            )
        )


def _binding(sequence: TestSequence, antecedents: Antecedents, first: int) -> Binding:
    """How a plain sequence of tests lies on a row: one token an element."""
    tags: dict[str, tuple[int, ...]] = {}
    for place, test in enumerate(sequence, start=first):
        tag = antecedents.tags[test]
        if tag is not None:
            tags[tag] = (*tags.get(tag, ()), place)
    elements = tuple(TokenRange(place, place + 1) for place in range(first, first + len(sequence)))
    return Binding(first, first + len(sequence), elements, {}, tags)


def _spaced(text: str) -> str:
    """The text with single spaces: rules keep runs of white space, translation does not."""
    return " ".join(text.split())
