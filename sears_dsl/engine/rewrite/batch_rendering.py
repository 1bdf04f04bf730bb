"""From matches to rewritten rows: how instances lie on their tokens, and what they become.

In: compiled rules, tokens and the `Matches` found in them. Out: `Binding`s, and rewrites as
columns. Always holds: a rewrite differs from its original and touches no protected span. New text
is written once for all matches that look alike to their rule (`templates`, `windows`), here or in
batches before: 33,000 of 900 rules in 5,000 sentences need some 4,000 texts. What depends on more
of the row, the white space around a deletion, glue or insertion, is worked out match by match.
Costs a hash of its tokens a match; some Python work for each form, and for each match of those
three.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.compile.program import bind
from sears_dsl.engine.compile.requirements import looks_up
from sears_dsl.engine.match.search import Extent, Protected, search
from sears_dsl.engine.matches import Binding, Edit, Matches, Rewrite, TokenRange, apply_edits
from sears_dsl.engine.rewrite.batch_edits import BatchEdits
from sears_dsl.engine.rewrite.batch_noise import (
    drawn_rewrites,
    first_characters,
    look_up_together,
    noisy_columns,
    tried_by_rate,
    unit_offsets,
)
from sears_dsl.engine.rewrite.pieces import UNDRAWN, Drawing
from sears_dsl.engine.rewrite.renderer import CompiledRules
from sears_dsl.engine.rewrite.rewrites import RewriteColumns
from sears_dsl.engine.rewrite.templates import (
    MISSING,
    PLACED,
    REPLACED,
    RenderingTemplates,
)
from sears_dsl.engine.rewrite.unit_rendering import UnitInstance, unit_edits
from sears_dsl.language.measure import draws_text
from sears_dsl.runtime.kernels import compiles
from sears_dsl.tagging.tokens import Tokens, TokenType


class RenderingRun(NamedTuple):
    """What holds for all matches that are rewritten together; see `Rendering.rewrites`."""

    protected: Protected | None
    unrenderable: Counter[int]
    extent: Extent | None
    drawing: Drawing


class Rendering:
    """Binds and renders the matches of compiled rules.

    Args:
        compiled: the rules.
    """

    def __init__(self, compiled: CompiledRules) -> None:
        self._compiled = compiled
        self._rules = compiled.rules
        self._program = compiled.program
        self._templates = RenderingTemplates(compiled)
        self._units = frozenset(self._program.units.tolist())

    def binding(self, tokens: Tokens, matches: Matches, index: int) -> Binding:
        """How instance number ``index`` lies on the tokens of its row."""
        rule = int(matches.rules[index])
        if rule in self._units:
            whole = TokenRange(int(matches.starts[index]), int(matches.ends[index]))
            name = self._rules[rule][0].antecedent[0].name
            return Binding(*whole, (whole,), {} if name is None else {name: whole})
        variant = self._compiled.variants(rule)[matches.variants[index]]
        first = int(tokens.row_offsets[matches.rows[index]])

        def token_type(position: int) -> TokenType:
            kind: TokenType = tokens.types[int(tokens.type_ids[first + position])]
            return kind

        return bind(variant, int(matches.starts[index]), self._program.predicates, token_type)

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
        drawn = self._compiled.drawn[matches.rules]
        if not drawn.any():
            return self._undrawn(tokens, matches, run)
        parts: list[RewriteColumns] = []
        left = drawn.copy()
        for rule in np.unique(matches.rules[drawn]).tolist() if compiles() else ():
            own = np.flatnonzero(matches.rules == rule)
            some = matches.select(own)
            renderer, rate = self._compiled.renderer(rule), self._rules[rule][0].metadata.rate
            if renderer.in_place is not None:
                draw = renderer.drawing(drawing).draw
                noise = renderer.in_place
                part = noisy_columns(
                    rule, noise, rate, tokens, some, draw=draw, unrenderable=unrenderable
                )
                parts.append(part)
                left[own] = False
            # Under a rate only words that it looks at are worth looking up.
            elif not draws_text(renderer.rule) and not (
                rate and looks_up(renderer.rule, "neighbor")
            ):
                look_up_together(self._rules, tokens, some, drawing.sources)
                by_rate, other = self._rated(tokens, some, run)
                drawn[own[by_rate]] = False
                left[own[~other]] = False
            else:
                rows = some.rows.tolist()
                free = np.array([not (protected and protected[row]) for row in rows], np.bool_)
                some = some.select(free)
                some_rewrites = drawn_rewrites(
                    renderer, tokens, some, partial(self.binding, tokens, some),
                    drawing=drawing, unrenderable=unrenderable,
                )  # fmt: skip
                parts.append(RewriteColumns.of(some_rewrites))
                left[own[free]] = False
        rest = matches.select(left)
        look_up_together(self._rules, tokens, rest, drawing.sources)
        parts.append(self._undrawn(tokens, matches.select(~drawn), run))
        both = RewriteColumns.merged([*parts, self._unit_by_unit(tokens, rest, run)])
        return both.select(np.lexsort((both.rules, both.rows)).astype(np.int32))

    def _rated(
        self, tokens: Tokens, matches: Matches, run: RenderingRun
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which matches of a rule are taken, by its rate if it has one, where no text is drawn.

        Then those of units in which an edit might touch what is protected: they are left to the
        plain way.
        """
        rule = int(matches.rules[0])
        renderer, rate = self._compiled.renderer(rule), self._rules[rule][0].metadata.rate
        if rate is None:
            return np.ones(len(matches), np.bool_), np.zeros(len(matches), np.bool_)
        protected, drawing = run.protected, run.drawing
        outcomes = self._templates.forms(tokens, matches, drawing).outcomes
        offsets = unit_offsets(matches.rows)
        able = outcomes == REPLACED
        other = np.zeros(len(matches), np.bool_)
        for at in np.flatnonzero(outcomes == PLACED).tolist():
            row = int(matches.rows[at])
            other[at] = protected is not None and len(protected[row]) > 0
            binding = self.binding(tokens, matches, at)
            edit = renderer.render(tokens.texts[row], tokens.view(row), binding, drawing=drawing)
            able[at] = isinstance(edit, Edit)
        other = np.repeat(np.logical_or.reduceat(other, offsets[:-1]), np.diff(offsets))
        draw = renderer.drawing(drawing).draw
        tried = tried_by_rate(rate, able, tokens, matches, draw)
        passed_over = int((tried & ~able & ~other).sum())
        if passed_over:
            run.unrenderable[rule] += passed_over
        return tried & able & ~other, other

    def _unit_by_unit(self, tokens: Tokens, matches: Matches, run: RenderingRun) -> RewriteColumns:
        """Rewrites of each unit by itself: what draws, and what would touch what is protected."""
        rewrites: list[Rewrite] = []
        for row, rule, instances in self._instances(tokens, matches, run):
            text = tokens.texts[row]
            edits, missing = unit_edits(
                self._compiled.renderer(rule),
                text,
                tokens.view(row),
                instances,
                first=run.extent == "first",
                protected=() if run.protected is None else run.protected[row],
                drawing=run.drawing,
            )
            if missing:
                run.unrenderable[rule] += sum(each.is_counted for each in missing)
            if edits:
                rewrites.append(Rewrite(rule, row, text, apply_edits(text, edits), tuple(edits)))
        return RewriteColumns.of(sorted(rewrites, key=lambda each: (each.row, each.rule)))

    def _instances(
        self, tokens: Tokens, matches: Matches, run: RenderingRun
    ) -> Iterator[tuple[int, int, list[UnitInstance]]]:
        """Row and rule of each unit that has matches, and the instances there.

        Where something is protected, those that overlap are among them.
        """
        groups: dict[tuple[int, int], list[int]] = {}
        pairs = zip(matches.rows.tolist(), matches.rules.tolist(), strict=True)
        for index, pair in enumerate(pairs):
            groups.setdefault(pair, []).append(index)
        protected = run.protected
        if run.extent is None or protected is None:
            wide: set[int] = set()
        else:
            wide = {row for row, _ in groups if protected[row]}
        for (row, rule), indices in groups.items():
            if row not in wide:
                yield row, rule, self._as_instances(tokens, matches, indices)
        if not wide:
            return
        rows = sorted(wide)
        part = tokens.select(rows)
        spans = [() if protected is None else protected[row] for row in rows]
        every = search(self._program, part, extent="every", protected=spans)
        others: dict[tuple[int, int], list[int]] = {}
        for index in np.lexsort((every.variants, every.starts)).tolist():
            at = (rows[int(every.rows[index])], int(every.rules[index]))
            if at in groups:
                others.setdefault(at, []).append(index)
        for (row, rule), indices in others.items():
            yield row, rule, self._as_instances(part, every, indices)

    def _as_instances(
        self, tokens: Tokens, matches: Matches, indices: list[int]
    ) -> list[UnitInstance]:
        """Matches as instances, each with its own binding once it is asked for."""
        some = matches.select(np.array(indices, np.int64))
        columns = (some.starts, some.ends, first_characters(tokens, some))
        return [
            UnitInstance(start, end, place, partial(self.binding, tokens, matches, index))
            for index, start, end, place in zip(
                indices, *(column.tolist() for column in columns), strict=True
            )
        ]

    def _undrawn(self, tokens: Tokens, matches: Matches, run: RenderingRun) -> RewriteColumns:
        """Rewrites of rules whose new text depends on their instances alone."""
        if not len(matches):
            return RewriteColumns.of([])
        protected = run.protected
        forms = self._templates.forms(tokens, matches, run.drawing)
        missing = forms.outcomes == MISSING
        edits = BatchEdits(tokens, matches, forms, protected)
        elsewhere = RewriteColumns.of([])
        if protected is not None and any(protected):
            touching = edits.touching(protected)
            edits.there[touching] = False
            if run.extent is not None and len(touching):
                # What a rate has chosen touches nothing, and is not chosen anew.
                anew = (
                    np.isin(matches.rows, matches.rows[touching])
                    & ~self._compiled.drawn[matches.rules]
                )
                edits.there[anew] = missing[anew] = False
                elsewhere = self._unit_by_unit(tokens, matches.select(anew), run)
        run.unrenderable.update(matches.rules[missing].tolist())
        return RewriteColumns.merged([edits.columns(), elsewhere])
