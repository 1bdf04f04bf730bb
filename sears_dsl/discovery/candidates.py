"""The candidates of a search: one table, which all its stages fill.

A row is a rule that was proposed. Proposing gives rules, what they come from and how many rows they
are in. Judging on text adds verdicts, and puts narrowed forms in the place of rules. Applying adds
the rewrites of rows; asking adds the model's answers to these, and which rules pass. Each column
has the same rules in the same order, and a stage that leaves rules out takes them out of all
columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sears_dsl.data.protection import Guards
from sears_dsl.discovery.articles import reading_scopes
from sears_dsl.discovery.counts import NearMiss, TextVerdict
from sears_dsl.effects.applications import Applications, apply_candidates
from sears_dsl.effects.flips import RuleAnswers
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens

_NO_ROWS, _NO_FLAGS = np.zeros(0, np.int32), np.zeros(0, np.bool_)
_NOWHERE = Applications(np.zeros(1, np.int64), _NO_ROWS, _NO_ROWS, (), ())
_NOT_ASKED = RuleAnswers(_NO_FLAGS, _NO_FLAGS, _NO_FLAGS, cut=False)


@dataclass(frozen=True, slots=True)
class CandidateRule:
    """A row of the table: what is known of a rule before it is applied."""

    rule: Rule
    # How many searched rows its antecedent is in, or that of the rule that it narrows
    support: int = 0
    sources: tuple[int, ...] = ()  # the rewordings that it reproduces, by position
    # The verdict on its rewrites of text; None where it was not judged on text
    judged: TextVerdict | None = None
    narrowed: bool = False  # whether it is a proposed rule under a condition
    source: str = ""  # the ruleset of a known rule; empty for a new one
    # The ruleset whose options and sets a rule is read under; None for a mined one
    scope: Ruleset | None = None
    name: str = ""  # the id of a known rule; empty for a new one


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rules, and what each stage has found out about them."""

    rows: tuple[CandidateRule, ...]
    # The rewrites that each rule writes; empty before the rules are applied
    applications: Applications = _NOWHERE
    answers: RuleAnswers = _NOT_ASKED  # the model's answers to these; empty before it is asked
    # int64: the positions of the rules that flip and keep the meaning, once that is known
    passed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules alone."""
        return tuple(each.rule for each in self.rows)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Their canonical texts, ``PRON is -> PRON 's``."""
        return tuple(map(print_rule, self.rules))

    @cached_property
    def counted(self) -> Applications:
        """The applications that count for the rate of their rule."""
        return self.applications.where(self.answers.counted)

    @property
    def flips(self) -> NDArray[np.int64]:
        """int64 (rules,): rows that each flips, of those that count."""
        return self.counted.count(self.answers.flips)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Bool (rules,): which ones people have accepted before."""
        return np.array([bool(each.source) for each in self.rows], np.bool_)

    @property
    def trusted(self) -> NDArray[np.bool_]:
        """Bool (rewrites,): those of known rules, which readers accepted, whatever S says."""
        written = np.zeros(len(self.applications.texts), np.bool_)
        written[self.applications.select(np.flatnonzero(self.known)).rewrites] = True
        return written

    def near_misses(self, lacks: NDArray[np.str_]) -> Iterator[NearMiss]:
        """What each rule does, as far as the model was asked, and what it lacks."""
        none = np.zeros(len(self), np.int64)
        numbers = (
            (self.applications.changed, self.counted.changed, self.flips)
            if self.applications is not _NOWHERE
            else (np.array([each.support for each in self.rows], np.int64), none, none)
        )
        for row, text, lack, changed, asked, flips in zip(
            self.rows, self.texts, lacks.tolist(), *(each.tolist() for each in numbers), strict=True
        ):
            yield NearMiss(
                rule=text, lacks=lack, changed=changed, asked=asked, flips=flips, judged=row.judged
            )

    def keep(self, numbers: Sequence[int] | NDArray[np.integer]) -> Candidates:
        """These candidates, in this order, with their applications but without answers."""
        places = np.asarray(numbers, np.int64)
        applications = self.applications
        return Candidates(
            tuple(self.rows[each] for each in places.tolist()),
            applications.select(places) if applications.rule_count else applications,
        )

    def without(self, texts: Collection[str]) -> Candidates:
        """These candidates but for rules of these texts."""
        return self.keep([at for at, text in enumerate(self.texts) if text not in texts])

    def joined_to(self, others: Candidates) -> Candidates:
        """These candidates and then others, before they are applied; no rule may be in both."""
        return Candidates((*self.rows, *others.rows))

    def apply(self, tokens: Tokens, *, tagger: Tagger, guards: Guards | None = None) -> Candidates:
        """These candidates, applied to rows at their first instance; see `apply_candidates`."""
        scopes = reading_scopes(self.rules, [each.scope for each in self.rows], tagger=tagger)
        applications = apply_candidates(
            self.rules, tokens, tagger=tagger, scopes=scopes, guards=guards
        )
        return replace(self, applications=applications)
