"""Matches → rewritten rows, for all the matches of a batch.

In: compiled rules, tokens and the `Matches` found in them. Out: rewrites as columns. Always holds:
a rewrite differs from its original and touches no protected span; an edit is what `Renderer` gives
for its match after the earlier edits of the same rule in the row. New text is written once for all
matches that look alike to their rule (`templates`, `windows`), in this batch and earlier ones:
33,000 matches of 900 rules in 5,000 sentences need some 4,000 texts. Most of it just takes the
place of the old text, which needs arrays only. Deletions, glue and insertions depend on the white
space around them; they are placed match by match, and only once for matches that the rest of the
row does not tell apart. Rules that draw are rendered rule by rule or unit by unit
(`drawing_rules`). Costs a hash of its tokens for each match, and some Python work for each form and
for each match that is placed.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import first_alike
from sears_dsl.engine.match.search import Extent, Protected
from sears_dsl.engine.matches import Edit, Matches, Reach
from sears_dsl.engine.rewrite.drawing_rules import (
    chosen_by_rate,
    drawn_columns,
    look_up_together,
    rewrites_by_unit,
)
from sears_dsl.engine.rewrite.pieces import UNDRAWN, Drawing
from sears_dsl.engine.rewrite.placing import (
    ATTACHED,
    MISSING,
    PLACED,
    REPLACED,
    Placing,
    Replaced,
    RowEdits,
)
from sears_dsl.engine.rewrite.renderer import CHOSEN, DRAWN, FIXED, CompiledRules, RenderingRun
from sears_dsl.engine.rewrite.rewrites import RewriteColumns
from sears_dsl.engine.rewrite.spacing import begins_with_clitic
from sears_dsl.engine.rewrite.templates import Forms, RenderingTemplates
from sears_dsl.runtime.array_types import Int32Array, offsets_of
from sears_dsl.runtime.kernels import compiles
from sears_dsl.tagging.tokens import Tokens


class Rendering:
    """Renders the matches of compiled rules."""

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

        Matches are sorted by row, rule and start; those of a rule in a row do not overlap. Those
        that cannot be rendered are counted by rule in ``unrenderable``. Where an edit would take
        white space out of a protected span, ``extent`` says which other instances to search for.
        """
        if not len(matches):
            return RewriteColumns.of([])
        run = RenderingRun(protected, unrenderable, extent, drawing)
        ways = self._compiled.ways[matches.rules]
        if not ways.any():
            forms = self._templates.forms(tokens, matches, drawing)
            return edited_columns(self._compiled, tokens, matches, forms, run)
        by_form = ways < DRAWN if compiles() else ways == FIXED
        left, parts = ~by_form, []
        if by_form.any():
            some, asking = matches.select(by_form), matches.select(by_form & (ways == CHOSEN))
            look_up_together(self._compiled.rules, tokens, asking, drawing.sources)
            forms = self._templates.forms(tokens, some, drawing)
            taken, left[by_form] = chosen_by_rate(self._compiled, tokens, some, forms.outcomes, run)
            some, forms = some.select(taken), forms.select(taken)
            parts.append(edited_columns(self._compiled, tokens, some, forms, run))
        if compiles():
            drawn = matches.select(~by_form)
            columns, left[~by_form] = drawn_columns(self._compiled, tokens, drawn, run)
            parts += columns
        rest = matches.select(left)
        look_up_together(self._compiled.rules, tokens, rest, drawing.sources)
        parts.append(rewrites_by_unit(self._compiled, tokens, rest, run))
        both = RewriteColumns.merged(parts)
        return both.select(np.lexsort((both.rules, both.rows)).astype(np.int32))


def edited_columns(
    compiled: CompiledRules, tokens: Tokens, matches: Matches, forms: Forms, run: RenderingRun
) -> RewriteColumns:
    """The rewrites of matches, given what they become.

    Rows in which an edit would touch something protected are rendered unit by unit.
    """
    if not len(matches):
        return RewriteColumns.of([])
    protected = run.protected
    edits = _BatchEdits(tokens, matches, forms, protected)
    elsewhere: list[RewriteColumns] = []
    if protected is not None and any(protected):
        touching = edits.touching(protected)
        edits.there[touching] = False
        if run.extent is not None and len(touching):
            # Matches that a rate has chosen touch nothing, and are not chosen anew.
            anew = np.isin(matches.rows, matches.rows[touching])
            anew &= compiled.ways[matches.rules] == FIXED
            edits.there[anew] = edits.missing[anew] = False
            elsewhere.append(rewrites_by_unit(compiled, tokens, matches.select(anew), run))
    run.unrenderable.update(matches.rules[edits.missing].tolist())
    return RewriteColumns.merged([edits.columns(), *elsewhere])


class _BatchEdits:
    """The edits that matches make; each match makes one or none."""

    def __init__(
        self, tokens: Tokens, matches: Matches, forms: Forms, protected: Protected | None
    ) -> None:
        self.tokens = tokens
        self.protected = protected
        self.matches = matches
        attached = forms.outcomes == ATTACHED
        self.there = attached | (forms.outcomes == REPLACED)
        self.missing = forms.outcomes == MISSING
        self.new_ids = forms.new_ids.copy()
        self.starts = np.zeros(len(matches), np.int32)
        self.ends = np.zeros(len(matches), np.int32)
        base = tokens.row_offsets[matches.rows]
        replaced = np.flatnonzero(self.there)
        here = base[replaced]
        self.starts[replaced] = tokens.starts[here + matches.starts[replaced]]
        self.ends[replaced] = tokens.ends[here + matches.ends[replaced] - 1]
        self.starts[attached] = tokens.ends[base[attached] + matches.starts[attached] - 1]
        # The matches of one rule in one row are one group.
        changes = np.diff(matches.rules) | np.diff(matches.rows)
        self.groups = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(changes) + 1])
        self.texts = forms.texts
        self._place(forms)

    def _place(self, forms: Forms) -> None:
        """Make the edits that depend on the text around them and on earlier ones of their group."""
        placed = np.logical_or.reduceat(forms.outcomes == PLACED, self.groups)
        sizes = np.diff(self.groups, append=len(self.matches))
        chosen = np.flatnonzero(np.repeat(placed, sizes) & (forms.new_ids >= 0))
        group_of = np.repeat(np.arange(len(self.groups)), sizes)
        template_ids = forms.template_ids[chosen]
        has_format = forms.templates.formats.has.array[template_ids]
        # With a format an edit depends on no option of its rule, so one template places them all.
        template_ids[has_format] = template_ids[has_format][:1]
        used = set(template_ids.tolist())
        placings = {number: forms.templates.renderer_of(number).placing for number in used}
        repairs = [number for number, placing in placings.items() if placing.repairs]
        texts, news = self.tokens.texts, list(self.texts)
        anchors, keys = self._like_others(chosen, forms, news)
        keys[np.isin(template_ids, repairs), 0] = 0
        alone = (keys[:, 0] != 0) & (sizes[group_of[chosen]] == 1) & (self.protected is None)
        alike, anchors = chosen[alone], anchors[alone]
        first = first_alike(*keys[alone].T)
        examples = alike[first]
        todo = np.isin(chosen, np.append(examples, chosen[~alone]))
        chosen, templates = chosen[todo], template_ids[todo].tolist()
        columns: tuple[NDArray[Any], ...] = (group_of[chosen], forms.new_ids[chosen])
        columns += self._spans(chosen)
        current, edits = -1, RowEdits(Placing(), "")
        # Numbers instead of edits: garbage collections would look through so many objects.
        has_edit, is_missing = list[bool](), list[bool]()
        starts, ends, new_ids = list[int](), list[int](), list[int]()
        for template, group, new_id, row, inserts, start, end, place, barrier in zip(
            templates, *(column.tolist() for column in columns), strict=True
        ):
            if group != current:
                spans = self.protected[row] if self.protected else ()
                current, edits = group, RowEdits(placings[template], texts[row], spans)
            new, previous = news[new_id], place if place >= 0 else None
            if inserts:
                following = (start, end) if start >= 0 else None
                edit = edits.insert(previous, following, new, barrier=barrier)
            else:
                span = Replaced(start, end, previous, new)
                edit, is_joint = edits.replace(span, barrier=barrier)
                if is_joint:
                    has_edit[-1] = False
                    for numbers in (starts, ends, new_ids):
                        numbers.pop()
            has_edit.append(isinstance(edit, Edit))
            is_missing.append(not isinstance(edit, Edit) and edit.is_counted)
            if isinstance(edit, Edit):
                starts.append(edit.start)
                ends.append(edit.end)
                new_ids.append(self.texts.setdefault(edit.new, len(self.texts)))
        self.there[chosen], self.missing[chosen] = has_edit, is_missing
        at = chosen[self.there[chosen]]
        self.starts[at], self.ends[at], self.new_ids[at] = starts, ends, new_ids
        for column in (self.there, self.missing, self.starts, self.ends, self.new_ids):
            column[alike] = column[examples]
        self.starts[alike] += anchors - anchors[first]
        self.ends[alike] += anchors - anchors[first]

    def _like_others(
        self, chosen: NDArray[np.int64], forms: Forms, news: list[str]
    ) -> tuple[Int32Array, Int32Array]:
        """For each match, where its edit is counted from, and four numbers that tell equal edits.

        Matches with equal numbers make the same edit, counted from there, if each is alone in its
        group; numbers that begin with 0 say nothing. A match with a format has the numbers of its
        place and its new text. A match that ends a row has that of its form if a letter or a digit
        stands before it, with at most one character between: placing looks at nothing before that,
        unless articles are repaired or the new text is a clitic, which the word before must bear.
        """
        matches, tokens = self.matches.select(chosen), self.tokens
        points, text_offsets = forms.characters
        anchors = np.zeros(len(chosen), np.int32)
        keys = np.zeros((len(chosen), 4), np.int32)
        form_ids = forms.form_ids[chosen]
        formatted = np.flatnonzero(form_ids < 0)
        keys[formatted] = np.stack(
            [1 + matches.rows, matches.starts, matches.ends, forms.new_ids[chosen]], axis=1
        )[formatted]
        past = tokens.row_offsets[matches.rows + 1]
        ending = (matches.starts > 0) & (form_ids >= 0)
        ending &= past - tokens.row_offsets[matches.rows] == matches.ends
        at = np.flatnonzero(ending)
        lengths = np.diff(text_offsets)[matches.rows[at]]
        at = at[tokens.ends[past[at] - 1] == lengths]
        matches, past = matches.select(at), past[at]
        here = past - (matches.ends - matches.starts)
        before = tokens.ends[here - 1]
        starts = np.where(here < past, tokens.starts[np.minimum(here, past - 1)], before)
        character = text_offsets[matches.rows] + before
        point = points[character - 1]
        is_digit = (point > 47) & (point < 58)
        is_letter = ((point | 32) > 96) & ((point | 32) < 123)
        new_ids, which = np.unique(forms.new_ids[chosen[at]], return_inverse=True)
        leans = np.array([begins_with_clitic(news[number]) for number in new_ids.tolist()], bool)
        simple = np.flatnonzero((is_digit | is_letter) & (starts - before < 2) & ~leans[which])
        at, starts, before = at[simple], starts[simple], before[simple]
        gaps = np.zeros(len(at), np.int32)
        apart = starts > before
        gaps[apart] = points[character[simple][apart]]
        anchors[at] = starts
        keys[at] = np.stack([-1 - form_ids[at], is_digit[simple], gaps, gaps * 0], axis=1)
        return anchors, keys

    def _spans(self, chosen: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """The row of some matches, whether they insert, and start, end, previous and barrier.

        For an insertion, start and end are those of the token behind it (-1: there is none). The
        token before ends at previous (-1: there is none), the next match begins at the barrier.
        """
        matches, tokens = self.matches.select(chosen), self.tokens
        base, past = tokens.row_offsets[matches.rows], tokens.row_offsets[matches.rows + 1]
        starts, ends, previous = np.full((3, len(matches)), -1, np.int32)
        inserts = matches.starts == matches.ends
        last = base + np.maximum(matches.starts, matches.ends - 1)
        with_token = np.flatnonzero(last < past)
        starts[with_token] = tokens.starts[base[with_token] + matches.starts[with_token]]
        ends[with_token] = tokens.ends[last[with_token]]
        inner = np.flatnonzero(matches.starts > 0)
        previous[inner] = tokens.ends[base[inner] + matches.starts[inner] - 1]
        return matches.rows, inserts, starts, ends, previous, self._barriers()[chosen]

    def _barriers(self) -> Int32Array:
        """Where the next match of a group begins, or the end of its row."""
        matches, tokens = self.matches, self.tokens
        lengths = np.fromiter(map(len, tokens.texts), np.int32, len(tokens.texts))
        barriers = lengths[matches.rows]
        inner = np.ones(len(matches), np.bool_)
        inner[self.groups] = False
        later = np.flatnonzero(inner)
        at = tokens.row_offsets[matches.rows[later]] + matches.starts[later]
        within = at < tokens.row_offsets[matches.rows[later] + 1]
        barriers[later[within] - 1] = tokens.starts[at[within]]
        return barriers

    def touching(self, protected: Protected) -> NDArray[np.int64]:
        """The places of matches whose edits take white space out of protected spans."""
        chosen = np.flatnonzero(self.there)
        columns = (chosen, self.matches.rows[chosen], self.starts[chosen], self.ends[chosen])
        indices: list[int] = []
        current, spans = -1, Reach(())
        for index, row, start, end in zip(*(column.tolist() for column in columns), strict=True):
            if row != current:
                current, spans = row, Reach(protected[row])
            if spans.touches(start, end):
                indices.append(index)
        return np.array(indices, np.int64)

    def columns(self) -> RewriteColumns:
        """The rewrites of the groups that make an edit at all."""
        counts = np.add.reduceat(self.there.astype(np.int32), self.groups)
        chosen = self.groups[counts > 0]
        rows = self.matches.rows[chosen]
        return RewriteColumns(
            rules=self.matches.rules[chosen], rows=rows,
            originals=np.array(self.tokens.texts, object)[rows].tolist(),
            edit_offsets=offsets_of(counts[counts > 0], np.int32),
            edit_starts=self.starts[self.there], edit_ends=self.ends[self.there],
            new_ids=self.new_ids[self.there], new_texts=list(self.texts),
        )  # fmt: skip
