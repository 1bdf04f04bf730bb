"""The narrowed rules that a reviewer's marks on pairs ask for.

In: a rule on the workbench, and pairs that were judged. Out: `Proposal`s, shortest condition first.
Always holds: what a proposal is said to do is counted on what it really makes of all rows, not on
the places that chose it; the model is not asked. Costs some ten milliseconds for a thousand rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sears_dsl.discovery.filtering.narrowing import (
    ACCEPTED,
    NOT_JUDGED,
    REFUSED,
    Sites,
    narrowed,
    sites_of,
)
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.language.printer import print_rule
from sears_dsl.paraphrasing.rewording import sources_of
from sears_dsl.vetting.review.trials import Trials
from sears_dsl.vetting.review.workbench import Workbench

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A rule that acts where a reviewer liked another one, and not where she did not.

    Attributes:
        text: of the rule.
        same: pairs marked as the same that it still writes.
        of_same: those that the other rule writes.
        differs: pairs marked as differing that it still writes: 0, but for a later place of a row.
        of_differs: those that the other rule writes.
        changed: rows that it changes.
        of_changed: those that the other rule changes.
        mistakes: of the mistakes that the other rule induces, those that it does too.
        of_mistakes: how many the other rule induces.
    """

    text: str
    same: int
    of_same: int
    differs: int
    of_differs: int
    changed: int
    of_changed: int
    mistakes: int
    of_mistakes: int


def proposals(
    bench: Workbench, trials: Trials, rule: int, marks: Mapping[Pair, bool]
) -> list[Proposal]:
    """Rules instead of one, by what was marked of its pairs.

    Args:
        marks: pair → whether it means the same; pairs of other rules count where this one writes
            them too.

    Returns:
        Nothing where no pair of the rule was marked as differing, or where no condition on the
        words beside it, or in it, tells these from the rest.
    """
    applications = bench.effects.applications
    rewrites = applications.of_rule(rule)
    pairs = applications.pairs(rewrites)
    flipping = {
        pair for pair, flip in zip(pairs, bench.effects.flips[rewrites], strict=True) if flip
    }
    marked = {pair: marks[pair] for pair in pairs if pair in marks}
    if all(marked.values()):
        return []
    of_row = dict(zip(applications.rows[rewrites].tolist(), pairs, strict=True))
    written = bench.effects.rules[rule]
    scoped = replace(bench.ruleset, rules=(written,), layout=(), trailing=())
    sites = sites_of(
        compile_rules([scoped], tagger=bench.tagger, sources=sources_of([scoped])), bench.tokens
    )
    acts = np.isin(sites.rows, applications.rows[rewrites])
    sites = Sites(*(column[acts] for column in sites))
    verdicts = np.array([_verdict(marks.get(of_row[row])) for row in sites.rows.tolist()], np.int64)
    narrower = narrowed(
        written, bench.tokens, sites, verdicts, tagger=bench.tagger, options=bench.ruleset.options
    )
    same = sum(marked.values())
    proposed = []
    for each in narrower:
        text = print_rule(each.rule)
        effects = trials.applied(text).applications
        own = effects.pairs(effects.of_rule(0))
        proposed.append(
            Proposal(
                text=text,
                same=sum(marked.get(pair) is True for pair in own),
                of_same=same,
                differs=sum(marked.get(pair) is False for pair in own),
                of_differs=len(marked) - same,
                changed=len(own),
                of_changed=len(pairs),
                mistakes=sum(pair in flipping for pair in own),
                of_mistakes=len(flipping),
            )
        )
    return proposed


def _verdict(same: bool | None) -> int:
    return NOT_JUDGED if same is None else ACCEPTED if same else REFUSED
