"""All candidate rules over all rows: which rule rewrites which row, and to what text.

`Applications` is a table in flat arrays: one application for each rule and row that the rule
changes, sorted by rule, then row. All applications that write the same text for the same row share
one rewrite, so that a model is asked once and a pair is scored once, however many rules write it.
The table costs one run of the engine and no object per application.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from sears_dsl.batch.guarding import guard_rewrites
from sears_dsl.data.protection import Guards
from sears_dsl.engine.matcher import Matcher
from sears_dsl.engine.matches import Unit
from sears_dsl.engine.rewrite.rewrites import Rewrites
from sears_dsl.language.rule import Options, Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.paraphrasing.for_rules import compile_with_sources
from sears_dsl.runtime.array_types import Int32Array, places_of
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens

MINED = Options(case="exact")
"""The options under which mined rules are read."""


def mined_options(tagger: Tagger) -> Options:
    """The options of rules that are mined with this tagger: `MINED`, in its language."""
    return replace(MINED, language=tagger.language)


@dataclass(frozen=True, eq=False)
class Applications:
    """What rules make of rows."""

    # (rules + 1,): the applications of rule r are rule_offsets[r]:rule_offsets[r + 1].
    rule_offsets: NDArray[np.int64]
    rewrites: Int32Array  # (applications,): the rewrite of each; those of a rule in order of rows
    rows: Int32Array  # (rewrites,): the row of each distinct rewrite
    texts: Sequence[str]  # of each distinct rewrite
    originals: Sequence[str]

    def __len__(self) -> int:
        return len(self.rewrites)

    @property
    def rule_count(self) -> int:
        """The number of rules, including those that change nothing."""
        return len(self.rule_offsets) - 1

    @cached_property
    def rules(self) -> Int32Array:
        """int32 (applications,): the rule of each."""
        return np.repeat(np.arange(self.rule_count, dtype=np.int32), self.changed)

    @property
    def changed(self) -> NDArray[np.int64]:
        """int64 (rules,): how many rows each rule changes."""
        return np.diff(self.rule_offsets)

    def of_rule(self, rule: int) -> Int32Array:
        """The rewrites of one rule, in the order of the rows."""
        return self.rewrites[self.rule_offsets[rule] : self.rule_offsets[rule + 1]]

    def count(self, marked: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many applications of each rule give a marked rewrite: bool (rewrites,)."""
        hits = self.rules[marked[self.rewrites]]
        return np.bincount(hits, minlength=self.rule_count)

    def pairs(self, rewrites: NDArray[np.integer]) -> list[tuple[str, str]]:
        """(original, rewritten) of some rewrites, as scorers take them."""
        rows = self.rows[rewrites].tolist()
        texts, originals = self.texts, self.originals
        chosen = rewrites.tolist()
        return [(originals[row], texts[each]) for row, each in zip(rows, chosen, strict=True)]

    def select(self, rules: NDArray[np.integer]) -> Applications:
        """The applications of these rules, in this order; the rewrites keep their numbers."""
        offsets, places = places_of(self.rule_offsets, rules)
        return Applications(offsets, self.rewrites[places], self.rows, self.texts, self.originals)

    def where(self, mask: NDArray[np.bool_]) -> Applications:
        """Applications by mask, bool (applications,); rules and rewrites keep their numbers."""
        counts = np.bincount(self.rules[mask], minlength=self.rule_count)
        offsets = np.append(0, np.cumsum(counts))
        return Applications(offsets, self.rewrites[mask], self.rows, self.texts, self.originals)

    def joined_to(self, others: Applications) -> Applications:
        """This table and after it another one, over the same rows.

        Rewrites that only the other one has get the next numbers, in their order.
        """
        numbers_by_rewrite = dict.fromkeys(zip(others.rows.tolist(), others.texts, strict=True), -1)
        # Only rewrites of the same rows can be equal: few, where few rules are joined to many.
        for number in np.flatnonzero(np.isin(self.rows, others.rows)).tolist():
            pair = (int(self.rows[number]), self.texts[number])
            if pair in numbers_by_rewrite:
                numbers_by_rewrite[pair] = number
        new = [number for number, known in enumerate(numbers_by_rewrite.values()) if known < 0]
        numbers = np.fromiter(numbers_by_rewrite.values(), np.int32, len(numbers_by_rewrite))
        numbers[new] = np.arange(len(self.texts), len(self.texts) + len(new))
        return Applications(
            np.concatenate([self.rule_offsets, self.rule_offsets[-1] + others.rule_offsets[1:]]),
            np.concatenate([self.rewrites, numbers[others.rewrites]]),
            np.concatenate([self.rows, others.rows[new]]),
            [*self.texts, *(others.texts[number] for number in new)],
            self.originals,
        )


def apply_candidates(
    rules: Sequence[Rule],
    tokens: Tokens,
    *,
    tagger: Tagger,
    scopes: Sequence[Ruleset] | None = None,
    guards: Guards | None = None,
) -> Applications:
    """Apply each rule by itself to each row, at its first instance.

    ``scopes`` has the ruleset of each rule, under whose options and sets it is read; without it all
    are read as mined, with exact case. Rules that are about sentences see each sentence by itself,
    all others the row.
    """
    if scopes is None:
        scopes = [Ruleset((), options=mined_options(tagger))] * len(rules)
    scoped = list(zip(rules, scopes, strict=True))
    # Rules that mend articles go apart: a few of them would cut many mined rules into short runs.
    groups: dict[tuple[Unit, str], list[int]] = {}
    for place, (_, scope) in enumerate(scoped):
        key = scope.options.unit or "text", scope.options.repair
        groups.setdefault(key, []).append(place)
    applied = []
    for places in groups.values() or ([],):
        rulesets = rulesets_of([scoped[place] for place in places])
        matcher = compile_with_sources(rulesets, tagger=tagger)
        applied.append(applications_of(matcher, tokens, guards=guards))
    if len(applied) == 1:
        return applied[0]
    order = [place for places in groups.values() for place in places]
    return reduce(Applications.joined_to, applied).select(np.argsort(order))


def rulesets_of(scoped: Sequence[tuple[Rule, Ruleset]]) -> list[Ruleset]:
    """Rulesets that have these rules in their order, each a run of rules that share a scope."""
    runs = [list(run) for _, run in groupby(scoped, key=lambda each: id(each[1]))]
    return [replace(run[0][1], rules=tuple(rule for rule, _ in run)) for run in runs]


def applications_of(
    matcher: Matcher,
    tokens: Tokens,
    *,
    guards: Guards | None = None,
    keep: Callable[[Rewrites], Rewrites] | None = None,
) -> Applications:
    """Apply each compiled rule by itself to each row, at its first instance in each unit.

    `keep` chooses the rewrites that count; by default all do.
    """
    protected = None if guards is None else guards.protected
    if matcher.unit == "sentence":
        # Each sentence is tagged by itself, here as everywhere.
        rewrites = matcher.apply(tokens.texts, protected=protected)
    else:
        matches = matcher.find(tokens, protected=protected)
        rewrites = matcher.rewrites(tokens, matches, protected=protected)
    rewrites, _ = guard_rewrites(rewrites, guards)
    return applications_in(rewrites if keep is None else keep(rewrites), tokens.texts)


def applications_in(rewrites: Rewrites, originals: Sequence[str]) -> Applications:
    """Turn the engine's rewrites, which are sorted by row, into a table sorted by rule."""
    distinct = rewrites.distinct()
    counts = np.bincount(rewrites.rules, minlength=len(rewrites.rule_ids))
    return Applications(
        rule_offsets=np.append(0, np.cumsum(counts)),
        rewrites=distinct.ids[by_rule(rewrites)],
        rows=distinct.rows,
        texts=distinct.texts,
        originals=originals,
    )


def by_rule(rewrites: Rewrites) -> NDArray[np.int64]:
    """The places of rewrites in the order of their applications: by rule, then row."""
    return np.argsort(rewrites.rules, kind="stable")
