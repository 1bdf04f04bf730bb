"""From rewordings to candidate rules: all frequent generalizations of a change.

Candidates are all rules that generalize the smallest contiguous change of some rewording, with up
to ``context`` unchanged words on each side; the antecedent has each token as its text, its coarse
or its fine tag. Applied by the engine to a rewording's row (first instance), each rule writes that
rewording, character by character but for the length of runs of white space. Each antecedent is in
enough rows. Rules are distinct, in the order of their canonical text, which `parse` reads as the
same tree. Proposing costs some runs of the engine over the rows and about 20 microseconds for each
rule and rewording.

`Antecedents` has the engine count in how many rows each distinct sequence is. A sequence is
frequent only if its parts are, so longer ones are made of frequent shorter ones (Agrawal and
Srikant 1995) and the product of all tests is never written out.

Rules that write a contraction in full leave alone what has no such form (`where_english`).

Source: Ribeiro, Singh, Guestrin, "Semantically Equivalent Adversarial Rules for Debugging NLP
Models", ACL 2018, Section 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.discovery.articles import word_of
from sears_dsl.discovery.candidates import CandidateRule, Candidates
from sears_dsl.discovery.proposing.changes import (
    ContextChange,
    MinimalChange,
    Rewording,
    consequent_of,
    minimal_change,
)
from sears_dsl.effects.applications import MINED, mined_options
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.matches import Binding, Edit, Matches, TokenRange, apply_edits
from sears_dsl.engine.rewrite.renderer import Renderer
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import (
    Anchor,
    Element,
    Group,
    Literal,
    Negation,
    Piece,
    Regex,
    Rule,
    Tag,
    Text,
    Wildcard,
)
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.language.tagsets import BARE_FINE, COARSE
from sears_dsl.language.words import KEYWORDS, objection
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Token, Tokens, TokenType, cut_contractions

TestSequence: TypeAlias = tuple[int, ...]
"""Tests, by number, that consecutive tokens pass."""

Window: TypeAlias = tuple[int, ...]
"""The types of consecutive tokens, by number in the corpus."""

_ANYTHING = (Text("x"),)
_SCOPE = Ruleset((), options=MINED)
CONTEXT = 1
"""The most unchanged words on each side of a change, as in the paper."""

# Tokens of an antecedent, at most.
_LONGEST = 6


class Antecedents:
    """The tests that tokens of a corpus pass, and which sequences of them are frequent there.

    ``elements`` and ``tags`` give each test, by number, as an element and as its tag, None for a
    literal. The tagger is the one of the corpus; it tells which words it would split.
    """

    def __init__(self, corpus: Tokens, *, tagger: Tagger, minimum_rows: int) -> None:
        self.corpus = corpus
        self.elements: list[Element] = []
        self.tags: list[str | None] = []
        self._tagger = tagger
        self._minimum_rows = minimum_rows
        self._numbers: dict[tuple[str, bool], int] = {}

    def elements_of(self, sequence: TestSequence) -> tuple[Element, ...]:
        """The sequence as an antecedent."""
        return tuple(self.elements[test] for test in sequence)

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
            return [(self._number(*each),) for each in self._names_of(self.corpus.types[part[0]])]
        endings: dict[TestSequence, list[int]] = {}
        for each in frequent[part[1:]]:
            endings.setdefault(each[:-1], []).append(each[-1])
        return [(*each, last) for each in frequent[part[:-1]] for last in endings.get(each[1:], ())]

    def _names_of(self, token: TokenType) -> Iterable[tuple[str, bool]]:
        """The names of the token in a rule: (text or tag, whether it is a tag)."""
        # A literal that the tokenizer would split stands for several tokens, not for this one.
        if len(self._tagger.split(token.text)) == 1:
            yield token.text, False
        if token.coarse in COARSE[MINED.tagset]:
            yield token.coarse, True
        if token.fine in BARE_FINE and token.fine != token.coarse:
            yield token.fine, True

    def _number(self, name: str, is_tag: bool) -> int:
        number = self._numbers.setdefault((name, is_tag), len(self.elements))
        if number == len(self.elements):
            # Quoted where it cannot stand bare everywhere in an antecedent.
            quoted = name in KEYWORDS or objection(name, "sequence") is not None
            self.elements.append(Element(Tag(name) if is_tag else Literal(name, quoted=quoted)))
            self.tags.append(name if is_tag else None)
        return number


def _parts(windows: Iterable[Window], length: int) -> dict[Window, None]:
    """The distinct runs of so many tokens in the windows."""
    return dict.fromkeys(
        window[place : place + length]
        for window in windows
        for place in range(len(window) - length + 1)
    )


class _Site(NamedTuple):
    """Where one rewording differs from its row."""

    rewording: int
    row: int
    tokens: Sequence[Token]
    change: MinimalChange


def propose(
    rewordings: Sequence[Rewording],
    corpus: Tokens,
    *,
    tagger: Tagger,
    context: int = CONTEXT,
    minimum_frequency: float = 0.005,
    accepts: Callable[[Rule], bool] = lambda _: True,
) -> Candidates:
    """Propose rules that reproduce rewordings of rows of the tagged corpus.

    Rows are identified by their text. A rule names at most ``context`` unchanged tokens on each
    side of the change. Its antecedent has at most six tokens and is in at least a share of
    ``minimum_frequency`` of the rows. ``accepts`` says whether a rule is wanted at all.
    """
    # A share of 0.005 of 1,000 rows is 5 of them, whatever the rounding.
    minimum_rows = max(1, math.ceil(minimum_frequency * len(corpus) - 1e-9))
    antecedents = Antecedents(corpus, tagger=tagger, minimum_rows=minimum_rows)
    rows = {text: row for row, text in enumerate(corpus.texts)}
    sites = list(_sites(rewordings, corpus, rows, tagger))
    places = [(site, *window) for site in sites for window in _windows(site, context)]
    windows = [_types(corpus, site.row, start, end) for site, start, end in places]
    frequent = antecedents.frequent(windows)
    used = list(dict.fromkeys(each for window in windows for each in frequent[window]))
    instances = _FirstInstances(antecedents, used)
    texts = [_spaced(each.text) for each in rewordings]
    drafts = _Drafts(antecedents, instances, texts, accepts)
    for (site, start, end), window in zip(places, windows, strict=True):
        for sequence in frequent[window]:
            drafts.add(site, sequence, start, end)
    return drafts.candidates()


def _sites(
    rewordings: Sequence[Rewording], corpus: Tokens, rows: dict[str, int], tagger: Tagger
) -> Iterator[_Site]:
    """Where each rewording differs from its row; nothing for one that differs in spaces alone."""
    paraphrases = cut_contractions(tagger.tokenize([each.text for each in rewordings]))
    tokens_of = cache(corpus.row)
    for number, rewording in enumerate(rewordings):
        row = rows[rewording.original]
        tokens = tokens_of(row)
        change = minimal_change(tokens, paraphrases.row(number))
        if change is not None:
            yield _Site(number, row, tokens, change)


def _windows(site: _Site, context: int) -> Iterator[tuple[int, int]]:
    """The runs of tokens that an antecedent may match: the change and its neighbours."""
    tokens, change = len(site.tokens), site.change
    for left in range(min(context, change.start) + 1):
        for right in range(min(context, tokens - change.end) + 1):
            start, end = change.start - left, change.end + right
            if 0 < end - start <= _LONGEST:
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
    """A rule that some rewording proposes, and the rewordings that it reproduces."""

    rule: Rule
    sequence: TestSequence
    renderer: Renderer
    sources: list[int]


@dataclass(slots=True)
class _Drafts:
    """Collects rules and tries each on the rows that propose it."""

    _antecedents: Antecedents
    _instances: _FirstInstances
    _paraphrases: Sequence[str]  # with single spaces
    _accepts: Callable[[Rule], bool]
    _drafts: dict[tuple[TestSequence, tuple[Piece, ...]], _Draft | None] = field(
        default_factory=dict
    )

    def add(self, site: _Site, sequence: TestSequence, start: int, end: int) -> None:
        """Write the rule of a sequence of tests for a site, and try it there."""
        row = site.tokens
        tags = [self._antecedents.tags[test] for test in sequence]
        pieces = consequent_of(ContextChange(row, site.change, start, end), tags)
        key = sequence, pieces
        if key not in self._drafts:
            rule = Rule(self._antecedents.elements_of(sequence), pieces)
            self._drafts[key] = (
                _Draft(rule, sequence, Renderer(rule, _SCOPE), []) if self._accepts(rule) else None
            )
        draft = self._drafts[key]
        if draft is None:
            return
        first = self._instances.start(sequence, site.row)
        text = self._antecedents.corpus.texts[site.row]
        edit = draft.renderer.render(text, row, _binding(sequence, self._antecedents, first))
        rewritten = _spaced(apply_edits(text, [edit])) if isinstance(edit, Edit) else None
        if rewritten == self._paraphrases[site.rewording]:
            draft.sources.append(site.rewording)

    def candidates(self) -> Candidates:
        """The rules that reproduce a rewording, in the order of their text."""
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
    """How a plain sequence of tests matches a row: each element matches one token."""
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


# ---------------------------------------------------------------- contractions

# *It isn't late* → *It is not late* reads well, and so do nine of ten rewrites of ``n't -> not``,
# which is enough to pass. *Isn't it late?* → *Is not it late?* is not English, nor is *Why do not
# people come?*: a full *not* stands behind the subject. So rules ask for something before the
# auxiliary that can be a subject, and for no pronoun behind it. Nor are *ai not*, *ca not*, *wo
# not* English: the words that these come from change too.

_NOT_CONTRACTED = ("n't", "n’t")
_NOT_IN_FULL = ("not", "cannot")
_CONTRACTING = tuple(("not", each) for each in _NOT_CONTRACTED)


def _none_of(*tests: Tag | Literal | Regex) -> Element:
    return Element(Negation(Group(tuple((Element(test),) for test in tests))))


# Pronouns and *there* follow the auxiliary in questions alone; a noun also in *it isn't food*.
_NO_PRONOUN = _none_of(Tag("PRP"), Literal("there"))

# Before the auxiliary of a question stands a question word, *oh*, the mark that ends what was
# before, or nothing at all. *Who* is nearly always the subject itself, *what* and *whom* are not; a
# regex finds them under exact case, too.
# Orders (*don't go*) are lost with them; a shipped rule recognizes these by their verb.
_SUBJECT = _none_of(Tag("PUNCT"), Tag("WRB"), Tag("UH"), Regex("what|whom", ignore_case=True))

# What is left of *ain't*, *can't*, *won't*, *shan't* is not a word by itself.
_WHOLE_WORD = Element(Negation(Regex("ai|ca|wo|sha", ignore_case=True)))

# What stands before the span, the auxiliary last.
_BEFORE = (_SUBJECT, _WHOLE_WORD)

# What *n't* can be written to: *mayn't* and *amn't* are not English; *will*, *can*, *shall* change.
_HOST = Element(
    Regex(
        "do|does|did|is|are|was|were|has|have|had|could|would|should|might|must", ignore_case=True
    )
)

# *It's been late* is *has*, *I'd never gone* and *I'd better go* are *had*: no tag tells which, but
# a past form within two words does. Some *is* is lost with them (*it's made of wood*). A base form
# behind *'s* is a participle that looks like one (*it's never let me down*). Before a noun and
# behind a preposition, many write *it's* for *its* (*at it's best*).
_PAST = (Tag("VBN"), Tag("VBD"))
_NO_PREPOSITION = Element(Group(((Element(Anchor("start")),), (Element(Negation(Tag("ADP"))),))))
# What a word is in full, and what stands before and behind it.
_IN_FULL: dict[str, tuple[str, tuple[Element, ...], tuple[Element, ...]]] = {
    "'s": (
        "is",
        (_NO_PREPOSITION, Element(Wildcard())),
        (_none_of(*_PAST, Tag("VB"), Tag("NOUN")), _none_of(*_PAST, Tag("VB"))),
    ),
    "'d": ("would", (), (_none_of(*_PAST, Literal("better")), _none_of(*_PAST))),
}


def where_english(rule: Rule) -> Rule:
    r"""Restrict an English rule that contracts *not*, or writes a contraction in full.

    It acts only where that is English.

    Any other rule stays as it is. The result acts at no place where the rule does not.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> from sears_dsl.language.printer import print_rule
        >>> [print_rule(where_english(each)) for each in parse("n't -> not\na -> b").rules]
        ["n't -> not / !(PUNCT|WRB|UH|/what|whom/i) !/ai|ca|wo|sha/i __ !(PRP|there)", 'a -> b']
    """
    if rule.right or not rule.antecedent or not rule.consequent:
        return rule
    written = rule.consequent[-1]
    if not isinstance(written, Text):
        return rule
    old_word, new_word = word_of(rule.antecedent[-1]).lower(), written.text.lower()
    if old_word in _NOT_CONTRACTED and new_word in _NOT_IN_FULL:
        # The rule may itself name the auxiliary, and what is before it.
        named = len(rule.left) + len(rule.antecedent) - 1
        before = _BEFORE[: max(0, len(_BEFORE) - named)]
        return replace(rule, left=(*before, *rule.left), right=(_NO_PRONOUN,))
    if (old_word, new_word) in _CONTRACTING and len(rule.antecedent) == 1 and not rule.left:
        return replace(rule, left=(_HOST,))
    full_form, ahead, behind = _IN_FULL.get(old_word.replace("’", "'"), ("", (), ()))
    if new_word != full_form:
        return rule
    alone = len(rule.antecedent) == 1 and not rule.left
    return replace(rule, left=ahead if alone else rule.left, right=behind)
