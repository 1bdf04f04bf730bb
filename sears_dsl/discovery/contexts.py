"""Contexts in which a change of words keeps the meaning, joined into one rule.

*just* → *only* loses the meaning too often to be a rule, but not after an auxiliary, a conjunction
or an adverb, and each of these alone is too rare to be one either. Joined they are:
``just -> only / (AUX|CCONJ|ADV) __``.

In: candidates that change words wherever they stand, what they make of the rows, which rewrites
flip, a scorer. Out: rules with the same change and, on one side, those tags of the neighbour with
which at least 1 - δ of the rewrites reach τ. Always holds: each of the alternatives keeps the
meaning by itself, so none is carried by the others; the rules are candidates like all others, and
go through the same filter. Costs a score for each flip of a change, and for each of its rewrites
where enough flips keep the meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sears_dsl.discovery.antecedents import MINED
from sears_dsl.discovery.application import Applications
from sears_dsl.discovery.semantics import Scorer
from sears_dsl.discovery.sequential import allowed_failures
from sears_dsl.discovery.twins import words_replaced
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.language.rule import Anchor, Element, Group, Literal, Rule, Tag
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.language.tagsets import COARSE, FINE
from sears_dsl.text.tagger import Tagger
from sears_dsl.text.tokens import Tokens

__all__ = ["join_contexts"]

# Flips of a change that are asked about first; if none of them keeps the meaning, no more are.
_FIRST_LOOK = 6
# Pairs that the scorer gets at once: some seconds of work.
_PAIRS = 1024


@dataclass(slots=True)
class _Tally:
    """What a change does in one context: rows, those that lose the meaning, those that flip."""

    rows: int = 0
    failures: int = 0
    flips: int = 0

    def keeps_the_meaning(self, delta: float) -> bool:
        return self.failures <= int(allowed_failures(np.array([self.rows]), delta)[0])


def join_contexts(
    rules: Sequence[Rule],
    applications: Applications,
    flips: NDArray[np.bool_],
    tokens: Tokens,
    *,
    tagger: Tagger,
    scorer: Scorer,
    tau: float,
    delta: float,
    minimum_flips: int,
    stop: Callable[[], bool] = lambda: False,
) -> list[Rule]:
    """Rules over the contexts in which changes keep the meaning.

    Args:
        rules: candidates; those of words alone, without unchanged neighbours, are looked at.
        applications: what they make of the rows.
        flips: bool (rewrites,): whether the model answers a rewrite otherwise than its row.
        tokens: the rows, tagged.
        tagger: the one that tagged them.
        scorer: S, asked only whether a pair reaches τ.
        tau: the score from which on a rewrite counts as equivalent.
        delta: the share of rewrites in a context that may fall below.
        minimum_flips: a rule has to flip so many rows.
        stop: asked between portions of questions; True ends the search with nothing joined.

    Returns:
        At most four rules a change (coarse or fine tags, before or after), without those that
        are there already.

    Example:
        >>> from sears_dsl.discovery.application import apply_candidates
        >>> from sears_dsl.language.printer import print_rule
        >>> from sears_dsl.language.ruleset import parse
        >>> from sears_dsl.text.pinned import PinnedTagger
        >>> class NotOfPlants:
        ...     name, identity, tau = "not of plants", "not of plants", 0.5
        ...     def scores(self, pairs):
        ...         return np.array([0.0 if "fir" in old else 1.0 for old, _ in pairs])
        ...     def at_least(self, pairs, tau):
        ...         return self.scores(pairs) >= tau
        >>> tagger = PinnedTagger({"a": ("DET", "DT"), "so": ("ADV", "RB"), "fir": ("NOUN", "NN")})
        >>> rules = parse("big -> large").rules
        >>> tokens = tagger.tag(["a big dog", "so big", "fir big"])
        >>> done = apply_candidates(rules, tokens, tagger=tagger)
        >>> found = join_contexts(
        ...     rules, done, np.array([True, True, True]), tokens, tagger=tagger,
        ...     scorer=NotOfPlants(), tau=0.5, delta=0.1, minimum_flips=2)
        >>> [print_rule(rule) for rule in found]
        ['big -> large / (ADV|DET) __', 'big -> large / (DT|RB) __']
    """
    plain = [rule for rule in range(len(rules)) if _is_plain(rules[rule])]
    enough = applications.count(flips) >= minimum_flips
    kept = _Meaning(applications, scorer, tau, stop)
    changes = kept.promising([rule for rule in plain if enough[rule]], flips, minimum_flips)
    kept.ask([applications.of_rule(rule) for rule in changes])
    if kept.stopped:
        return []
    starts = _first_starts([rules[rule] for rule in changes], tokens, tagger)
    joined: dict[Rule, None] = {}
    for number, change in enumerate(changes):
        rewrites = applications.of_rule(change)
        rows = applications.rows[rewrites].tolist()
        keeps = kept.known[rewrites] > 0
        if keeps.sum() >= len(keeps) - int(allowed_failures(np.array([len(keeps)]), delta)[0]):
            continue  # a rule as it is
        length = len(rules[change].antecedent)
        sites = [(row, starts[number, row], starts[number, row] + length) for row in rows]
        for after, fine in product((False, True), repeat=2):
            neighbours = [_neighbour(tokens, site, after=after, fine=fine) for site in sites]
            tallies = _tallied(neighbours, keeps, flips[rewrites])
            rule = _joined(rules[change], tallies, delta, minimum_flips, after=after)
            if rule is not None:
                joined[rule] = None
    there = set(rules)
    return [rule for rule in joined if rule not in there]


class _Meaning:
    """Which rewrites keep the meaning, as far as it was asked.

    Attributes:
        known: int8 (rewrites,): 1 if it does, 0 if not, -1 where nobody asked.
        stopped: whether there was no time to ask about all that was wanted.
    """

    def __init__(
        self,
        applications: Applications,
        scorer: Scorer,
        tau: float,
        stop: Callable[[], bool],
    ) -> None:
        self._applications = applications
        self._scorer = scorer
        self._tau = tau
        self._stop = stop
        self.known = np.full(len(applications.texts), -1, np.int8)
        self.stopped = False

    def ask(self, rewrites: Sequence[NDArray[np.integer]]) -> None:
        """Ask about rewrites, each once."""
        if not rewrites:
            return
        wanted = np.unique(np.concatenate(rewrites))
        wanted = wanted[self.known[wanted] < 0]
        for first in range(0, len(wanted), _PAIRS):
            self.stopped = self.stopped or self._stop()
            if self.stopped:
                return
            some = wanted[first : first + _PAIRS]
            self.known[some] = self._scorer.at_least(self._applications.pairs(some), self._tau)

    def promising(
        self, changes: Sequence[int], flips: NDArray[np.bool_], minimum_flips: int
    ) -> list[int]:
        """The changes of which enough flips keep the meaning."""
        flipping = {}
        for change in changes:
            rewrites = self._applications.of_rule(change)
            flipping[change] = rewrites[flips[rewrites]]
        self.ask([some[:_FIRST_LOOK] for some in flipping.values()])
        hopeful = [
            change
            for change, some in flipping.items()
            if (self.known[some[:_FIRST_LOOK]] > 0).any()
        ]
        self.ask([flipping[change] for change in hopeful])
        return [
            change
            for change in hopeful
            if int((self.known[flipping[change]] > 0).sum()) >= minimum_flips
        ]


def _is_plain(rule: Rule) -> bool:
    """Whether a rule replaces words, names no tag, and has no neighbour that it only copies."""
    words = [element.body for element in rule.antecedent]
    if not words or not all(isinstance(body, Literal) for body in words):
        return False
    return len(words_replaced(rule)) == len(words)


def _first_starts(
    rules: Sequence[Rule], tokens: Tokens, tagger: Tagger
) -> Mapping[tuple[int, int], int]:
    """The first token of the first instance, by rule and row."""
    if not rules:
        return {}
    matcher = compile_rules([Ruleset.from_rules(rules, options=MINED)], tagger=tagger)
    matches = matcher.find(tokens)
    keys = zip(matches.rules.tolist(), matches.rows.tolist(), strict=True)
    return dict(zip(keys, matches.starts.tolist(), strict=True))


def _neighbour(
    tokens: Tokens, site: tuple[int, int, int], *, after: bool, fine: bool
) -> Tag | Anchor | None:
    """The tag of the token before or after, as a rule can name it; or the end of the row."""
    number, start, end = site
    row = tokens.row(number)
    place = end if after else start - 1
    if not 0 <= place < len(row):
        return Anchor("end" if after else "start")
    tag = row[place].fine if fine else row[place].coarse
    names = FINE if fine else COARSE[MINED.tagset]
    return Tag(tag) if tag in names and tag.isalpha() else None


def _tallied(
    neighbours: Sequence[Tag | Anchor | None], keeps: NDArray[np.bool_], flips: NDArray[np.bool_]
) -> Mapping[Tag | Anchor, _Tally]:
    """What the change does beside each neighbour that a rule can name."""
    tallies: dict[Tag | Anchor, _Tally] = {}
    for neighbour, keep, flip in zip(neighbours, keeps.tolist(), flips.tolist(), strict=True):
        if neighbour is not None:
            tally = tallies.setdefault(neighbour, _Tally())
            tally.rows += 1
            tally.failures += not keep
            tally.flips += flip
    return tallies


def _joined(
    change: Rule,
    tallies: Mapping[Tag | Anchor, _Tally],
    delta: float,
    minimum_flips: int,
    *,
    after: bool,
) -> Rule | None:
    """The change in those contexts that keep the meaning, if together they flip enough."""
    good = [(body, tally) for body, tally in tallies.items() if tally.keeps_the_meaning(delta)]
    if sum(tally.flips for _, tally in good) < minimum_flips:
        return None
    bodies = sorted((body for body, _ in good), key=_order)
    if len(bodies) == 1:
        context: tuple[Element, ...] = (Element(bodies[0]),)
    else:
        context = (Element(Group(tuple((Element(body),) for body in bodies))),)
    left, right = ((), context) if after else (context, ())
    return Rule(change.antecedent, change.consequent, left=left, right=right)


def _order(body: Tag | Anchor) -> tuple[bool, str]:
    return isinstance(body, Anchor), body.name if isinstance(body, Tag) else body.side
