"""From matches to rewritten rows, for all the matches of a batch.

In: compiled rules, tokens and the `Matches` found in them. Out: rewrites as columns. Always holds:
a rewrite differs from its original and touches no protected span. New text is written once for all
matches that look alike to their rule (`templates`, `windows`), here or in batches before: 33,000 of
900 rules in 5,000 sentences need some 4,000 texts. What depends on more of the row, the white space
around a deletion, glue or insertion, is worked out match by match (`batch_edits`); what draws, rule
by rule (`batch_noise`) or unit by unit (`unit_rendering`). Costs a hash of its tokens a match; some
Python work for each form, and for each match of those three.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.match.search import Extent, Protected
from sears_dsl.engine.matches import Matches
from sears_dsl.engine.rewrite.batch_edits import BatchEdits
from sears_dsl.engine.rewrite.batch_noise import (
    chosen_by_rate,
    drawn_columns,
    look_up_together,
)
from sears_dsl.engine.rewrite.pieces import UNDRAWN, Drawing
from sears_dsl.engine.rewrite.renderer import CHOSEN, DRAWN, FIXED, CompiledRules, RenderingRun
from sears_dsl.engine.rewrite.rewrites import RewriteColumns
from sears_dsl.engine.rewrite.slots import MISSING
from sears_dsl.engine.rewrite.templates import Forms, RenderingTemplates
from sears_dsl.engine.rewrite.unit_rendering import rewrites_by_unit
from sears_dsl.runtime.kernels import compiles
from sears_dsl.tagging.tokens import Tokens


class Rendering:
    """Renders the matches of compiled rules.

    Args:
        compiled: the rules.
    """

    def __init__(self, compiled: CompiledRules) -> None:
        self._compiled = compiled
        self._templates = RenderingTemplates(compiled)

    def rewrites(
        self,
        tokens: Tokens,
        matches: Matches,
        *,
        protected: Protected | None,
        unrenderable: Counter[int],
        extent: Extent | None = None,
        drawing: Drawing = UNDRAWN,
    ) -> RewriteColumns:
        """One rewrite for each row and rule that changes it, in the order of the matches.

        Args:
            matches: sorted by row, rule and start; those of a rule in a row do not overlap.
            unrenderable: here instances are counted, by rule, whose words have no inflection.
            extent: under which the matches were found. Where an edit would take white space out
                of a protected span, another instance is looked for; None looks for none.
        """
        if not len(matches):
            return RewriteColumns.of([])
        run = RenderingRun(protected, unrenderable, extent, drawing)
        ways = self._compiled.ways[matches.rules]
        if not ways.any():
            forms = self._templates.forms(tokens, matches, drawing)
            return self._edited(tokens, matches, forms, run)
        by_form = ways < DRAWN if compiles() else ways == FIXED
        left, parts = ~by_form, []
        if by_form.any():
            columns, left[by_form] = self._by_form(tokens, matches.select(by_form), run)
            parts.append(columns)
        if compiles():
            drawn = matches.select(~by_form)
            columns_of_rules, left[~by_form] = drawn_columns(self._compiled, tokens, drawn, run)
            parts += columns_of_rules
        rest = matches.select(left)
        look_up_together(self._compiled.rules, tokens, rest, drawing.sources)
        parts.append(rewrites_by_unit(self._compiled, tokens, rest, run))
        both = RewriteColumns.merged(parts)
        return both.select(np.lexsort((both.rules, both.rows)).astype(np.int32))

    def _by_form(
        self, tokens: Tokens, matches: Matches, run: RenderingRun
    ) -> tuple[RewriteColumns, NDArray[np.bool_]]:
        """Rewrites of rules that draw no text, and which matches are left to the plain way."""
        looking_up = matches.select(self._compiled.ways[matches.rules] == CHOSEN)
        look_up_together(self._compiled.rules, tokens, looking_up, run.drawing.sources)
        forms = self._templates.forms(tokens, matches, run.drawing)
        taken, left = chosen_by_rate(self._compiled, tokens, matches, forms.outcomes, run)
        return self._edited(tokens, matches.select(taken), forms.select(taken), run), left

    def _edited(
        self, tokens: Tokens, matches: Matches, forms: Forms, run: RenderingRun
    ) -> RewriteColumns:
        """Rewrites of matches by what they become."""
        if not len(matches):
            return RewriteColumns.of([])
        protected = run.protected
        missing = forms.outcomes == MISSING
        edits = BatchEdits(tokens, matches, forms, protected)
        elsewhere = RewriteColumns.of([])
        if protected is not None and any(protected):
            touching = edits.touching(protected)
            edits.there[touching] = False
            if run.extent is not None and len(touching):
                # What a rate has chosen touches nothing, and is not chosen anew.
                anew = np.isin(matches.rows, matches.rows[touching])
                anew &= self._compiled.ways[matches.rules] == FIXED
                edits.there[anew] = missing[anew] = False
                elsewhere = rewrites_by_unit(self._compiled, tokens, matches.select(anew), run)
        run.unrenderable.update(matches.rules[missing].tolist())
        return RewriteColumns.merged([edits.columns(), elsewhere])
