"""Rules that are matched by workers, for work that is about all rows at once: an audit.

In: a compiled matcher, the recipe that others make the same of, workers. Out: a `Matcher` whose
`apply` sends texts to the workers, in portions. Always holds: the rewrites are those of the matcher
alone, in its order; the model is not theirs to ask. Costs a copy of the texts and of the rewrites.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from sears_dsl.batch.workers import MatcherRecipe
from sears_dsl.clusters.applying import OnceBuilt
from sears_dsl.clusters.parts import Workers
from sears_dsl.engine.matcher import Matcher
from sears_dsl.engine.matches import Scope, Unit
from sears_dsl.engine.rewrite.rewrites import RewriteColumns, Rewrites
from sears_dsl.errors import DataError, UsageError

_PORTION = 10_000

SpansOfRows: TypeAlias = Sequence[Sequence[tuple[int, int]]] | None


@dataclass(slots=True)
class _ApplyPortion:
    """Applies rules to texts that follow so many others, wherever it runs."""

    recipe: MatcherRecipe
    scope: Scope
    unit: Unit | None
    draw: int

    def __call__(
        self, portion: tuple[int, Sequence[str], SpansOfRows]
    ) -> tuple[int, RewriteColumns, Counter[int]]:
        first, texts, protected = portion
        rewrites = self.recipe.build().apply(
            texts, scope=self.scope, protected=protected, unit=self.unit, draw=self.draw
        )
        rows = (rewrites.columns.rows + np.int32(first)).astype(np.int32)
        return first, replace(rewrites.columns, rows=rows), Counter(rewrites.unrenderable)


class RemoteMatcher(Matcher):
    """A matcher whose texts go to workers.

    Example:
        >>> from sears_dsl.batch.workers import RulesetRecipe
        >>> from sears_dsl.clusters.parts import Here
        >>> from sears_dsl.language.loader import parse
        >>> recipe = RulesetRecipe((parse("movie -> film"),), tagger="pinned")
        >>> remote = RemoteMatcher(recipe.build(), recipe, Here(), portion=1)
        >>> [(each.row, each.text) for each in remote.apply(["It is.", "A movie!"])]
        [(1, 'A film!')]
    """

    def __init__(
        self,
        matcher: Matcher,
        recipe: MatcherRecipe,
        workers: Workers,
        *,
        portion: int = _PORTION,
    ) -> None:
        self.__dict__.update(matcher.__dict__)
        self._recipe = OnceBuilt(recipe)
        self._workers = workers
        self._portion = portion

    def apply(
        self,
        texts: Sequence[str],
        *,
        scope: Scope = "first",
        protected: SpansOfRows = None,
        jobs: int = 1,
        prefilter: bool = True,
        unit: Unit | None = None,
        seed: int = 0,
        draw: int = 0,
    ) -> Rewrites:
        """Apply every rule by itself to every text, as `Matcher.apply` does."""
        if seed:
            raise UsageError(
                "workers draw by the seed that they were built with",
                help="give the seed to the recipe",
            )
        size = self._portion
        portions = [
            (first, texts[first : first + size],
             None if protected is None else protected[first : first + size])
            for first in range(0, len(texts), size)
        ]  # fmt: skip
        work = _ApplyPortion(self._recipe, scope, unit, draw)
        parts = sorted(self._workers.answers(work, portions), key=itemgetter(0))
        if len(parts) < len(portions):
            raise DataError(
                f"{len(portions) - len(parts)} of {len(portions)} portions of the rows did not "
                "come back: every worker that had them died",
                help="try fewer rows with --limit, or workers with more memory",
            )
        unrenderable: Counter[int] = Counter()
        for _, _, of_part in parts:
            unrenderable.update(of_part)
        columns = RewriteColumns.merged([of_part for _, of_part, _ in parts])
        return Rewrites(columns, rule_ids=lambda: self.rule_ids, unrenderable=unrenderable)
