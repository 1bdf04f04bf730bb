"""Contexts in which a change of words keeps the meaning, joined into one rule.

*just* → *only* loses the meaning too often to be a rule, but not after an auxiliary, a conjunction
or an adverb, and each of these alone is too rare to be one either. Joined they are:
``just -> only / (AUX|CCONJ|ADV) __``.

In: candidates that change words wherever they stand, what they make of the rows, which rewrites
flip, a scorer, a partition of the rows. Out: rules with the same change and, on one side, those
tags of the neighbour with which at least 1 - δ of the rewrites reach τ, each with the part of the
rows that chose its tags. Always holds: each of the alternatives keeps the meaning by itself on at
least five rows, so none is carried by the others; a rule depends on the scores and flips of its own
part alone. Costs a score for each flip of a change, and for each of its rewrites where enough flips
keep the meaning.

Whoever chooses tags by their scores and then counts the same scores finds what he put in: with a
scorer that is a coin, the tags on which it fell well remain. So the rows are cut into parts. One
part chooses the tags, the next judges the rule (the filter, its p-value), and rows that did neither
say what it does: those held out, or a third part where none are. Each part chooses in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.discovery.antecedents import MINED
from sears_dsl.discovery.application import Applications
from sears_dsl.discovery.sequential import allowed_failures
from sears_dsl.discovery.twins import words_replaced
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.language.rule import Anchor, Element, Group, Literal, Rule, Tag
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.language.tagsets import COARSE, FINE
from sears_dsl.text.tagger import Tagger
from sears_dsl.text.tokens import Tokens

if TYPE_CHECKING:
    from sears_dsl.discovery.semantics import Scorer

__all__ = ["Joined", "Trials", "join_contexts"]

# Flips of a change that are asked about first; if none of them keeps the meaning, no more are.
_FIRST_LOOK = 6
# Rows from which on a tag is judged: of fewer nearly any share keeps the meaning by chance.
_LEAST_ROWS = 5


class Joined(NamedTuple):
    """A rule over contexts, and the part of the rows that chose them."""

    rule: Rule
    chosen_by: int


@dataclass(slots=True)
class _Tally:
    """What a change does in one context: rows, those that lose the meaning, those that flip."""

    rows: int = 0
    failures: int = 0
    flips: int = 0

    def keeps_the_meaning(self, delta: float) -> bool:
        return self.rows >= _LEAST_ROWS and _keeps(self.rows, self.failures, delta)


def _keeps(rows: int, failures: int, delta: float) -> bool:
    return failures <= int(allowed_failures(np.array([rows]), delta)[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Trials:
    """Candidates and what they do.

    Attributes:
        rules: the candidates, last those that join contexts.
        texts: of the rules.
        applications: of all rules to all rows.
        flips: bool (rewrites,).
        chosen_by: int (rules,): the part of the rows that chose the contexts; -1 where none did.
        parts: int (rows,): the part of each row.
    """

    rules: Sequence[Rule]
    texts: Sequence[str]
    applications: Applications
    flips: NDArray[np.bool_]
    chosen_by: NDArray[np.int64]
    parts: NDArray[np.int64]

    @cached_property
    def judged(self) -> Applications:
        """What counts for and against each rule: of joined rules, the part after the chooser's."""
        return self._where(1, others=True)

    @cached_property
    def apart(self) -> Applications:
        """What neither chose the contexts of a rule nor judged it, where there are three parts."""
        return self._where(2, others=False)

    @cached_property
    def looked_at(self) -> Applications:
        """All but `apart`."""
        if self.parts.max(initial=0) < 2:
            return self.applications
        return self.applications.where(~self._in_part(2))

    def _where(self, step: int, *, others: bool) -> Applications:
        kept = self._in_part(step)
        if others:
            kept |= self.chosen_by[self.applications.rules] < 0
        return self.applications.where(kept)

    def _in_part(self, step: int) -> NDArray[np.bool_]:
        """Applications of joined rules to rows that are so many parts after the chooser's."""
        done = self.applications
        chosen_by = self.chosen_by[done.rules]
        part = (chosen_by + step) % (int(self.parts.max(initial=0)) + 1)
        found: NDArray[np.bool_] = self.parts[done.rows[done.rewrites]] == part
        return found & (chosen_by >= 0)


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
    parts: NDArray[np.integer],
    stop: Callable[[], bool] = lambda: False,
    portion: int = 1024,
) -> list[Joined]:
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
        minimum_flips: a rule has to flip its share of these, rounded up, in the part that chooses.
        parts: int (rows,): the part of each row, from 0.
        stop: asked between portions of questions; True leaves it at the changes that were asked
            about completely, those that flip most first.
        portion: pairs that the scorer gets at once.

    Returns:
        At most four rules a change and part (coarse or fine tags, before or after), without those
        that are there already; a rule that several parts choose counts as chosen by the first.

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
        >>> texts = [f"{word} big {n}" for word in ("a", "so", "fir") for n in range(5)]
        >>> tokens = tagger.tag(texts)
        >>> done = apply_candidates(rules, tokens, tagger=tagger)
        >>> found = join_contexts(
        ...     rules, done, np.ones(15, bool), tokens, tagger=tagger, scorer=NotOfPlants(),
        ...     tau=0.5, delta=0.1, minimum_flips=2, parts=np.zeros(15, int))
        >>> [print_rule(each.rule) for each in found]
        ['big -> large / (ADV|DET) __', 'big -> large / (DT|RB) __']
    """
    counts = applications.count(flips)
    plain = [
        rule
        for rule in np.argsort(-counts, kind="stable").tolist()
        if counts[rule] and _is_plain(rules[rule])
    ]
    place = {rule: number for number, rule in enumerate(plain)}
    count = int(parts.max(initial=0)) + 1
    least = -(-minimum_flips // count)
    part_of = parts[applications.rows]
    there, starts = set(rules), _first_starts([rules[rule] for rule in plain], tokens, tagger)
    meaning = _Meaning(applications, scorer, tau, stop, portion)
    joined: dict[Rule, int] = {}
    for part in range(count):
        of_part = {
            rule: some[part_of[some] == part]
            for rule in plain
            for some in [applications.of_rule(rule)]
        }
        hopeful = meaning.promising(of_part, flips, least)
        meaning.ask([of_part[rule] for rule in hopeful])
        for rule in hopeful:
            rewrites = of_part[rule]
            keeps = meaning.known[rewrites]
            if (keeps < 0).any() or _keeps(len(keeps), int((keeps == 0).sum()), delta):
                continue  # there was no time, or it is a rule as it is
            length = len(rules[rule].antecedent)
            sites = [
                (row, start, start + length)
                for row in applications.rows[rewrites].tolist()
                for start in [starts[place[rule], row]]
            ]
            for after, fine in product((False, True), repeat=2):
                neighbours = [_neighbour(tokens, site, after=after, fine=fine) for site in sites]
                tallies = _tallied(neighbours, keeps > 0, flips[rewrites])
                found = _joined(rules[rule], tallies, delta, least, after=after)
                if found is not None and found not in there:
                    joined.setdefault(found, part)
    return [Joined(rule, part) for rule, part in joined.items()]


class _Meaning:
    """Which rewrites keep the meaning, as far as it was asked.

    Attributes:
        known: int8 (rewrites,): 1 if it does, 0 if not, -1 where nobody asked.
    """

    def __init__(
        self,
        applications: Applications,
        scorer: Scorer,
        tau: float,
        stop: Callable[[], bool],
        portion: int,
    ) -> None:
        self._portion = portion
        self._applications = applications
        self._scorer = scorer
        self._tau = tau
        self._stop = stop
        self.known = np.full(len(applications.texts), -1, np.int8)

    def ask(self, rewrites: Sequence[NDArray[np.integer]]) -> None:
        """Ask about rewrites, each once, in the order given, until there is no time."""
        if not rewrites:
            return
        wanted = np.fromiter(dict.fromkeys(np.concatenate(rewrites).tolist()), np.int64)
        wanted = wanted[self.known[wanted] < 0]
        for first in range(0, len(wanted), self._portion):
            if self._stop():
                return
            some = wanted[first : first + self._portion]
            self.known[some] = self._scorer.at_least(self._applications.pairs(some), self._tau)

    def promising(
        self,
        changes: Mapping[int, NDArray[np.integer]],
        flips: NDArray[np.bool_],
        minimum_flips: int,
    ) -> list[int]:
        """The changes of whose rewrites enough flip and keep the meaning."""
        flipping = {
            change: rewrites[flips[rewrites]]
            for change, rewrites in changes.items()
            if flips[rewrites].sum() >= minimum_flips
        }
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
