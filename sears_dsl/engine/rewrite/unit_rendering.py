"""One unit at a time: which instances of a rule that may draw are rewritten, and what they become.

In: a renderer, a text with its tokens, all instances of the rule in it; or the matches of a batch.
Out: edits, and why other instances make none; or rewrites. Always holds: without a rate the first
instance or all are rewritten, as for every rule. Under a rate, instances are tried in the order of
their random numbers until the share of them is rewritten; those in which nothing can change are
passed over and counted. A share of characters is a share of all text that the function is given in
the unit, also in instances that were passed over. Costs a rendering of each instance that is tried,
of all of them if spans are protected, and another one if a function has a share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

import numpy as np

from sears_dsl.engine.match.search import search
from sears_dsl.engine.matches import Binding, Edit, Matches, Reach, Rewrite, apply_edits
from sears_dsl.engine.noise.characters import PlacedText, change_share
from sears_dsl.engine.noise.draws import Draw, how_many, number, numbers
from sears_dsl.engine.rewrite import renderer as rendering
from sears_dsl.engine.rewrite.batch_noise import first_characters
from sears_dsl.engine.rewrite.pieces import UNDRAWN, Drawing, Instance
from sears_dsl.engine.rewrite.placing import Rendered, Spans, Unrendered
from sears_dsl.engine.rewrite.renderer import Renderer
from sears_dsl.engine.rewrite.rewrites import RewriteColumns
from sears_dsl.tagging.tokens import Token, Tokens


@dataclass(frozen=True)
class UnitInstance:
    """An instance, bound to its tokens when it is first asked; under a rate most never are."""

    start: int  # its first token
    end: int  # one past its last
    place: int  # its first character in the unit; for an insertion, where it goes
    bind: Callable[[], Binding]  # gives its elements

    @cached_property
    def binding(self) -> Binding:
        """Its elements."""
        return self.bind()


def unit_edits(
    renderer: Renderer,
    text: str,
    tokens: Sequence[Token],
    instances: Sequence[UnitInstance],
    *,
    first: bool,
    protected: Spans = (),
    drawing: Drawing = UNDRAWN,
) -> tuple[list[Edit], list[Unrendered]]:
    """The edits of a rule in one unit, and why other instances make none.

    They come in the order of preference and may overlap. Without a rate, ``first`` takes only one.
    """
    rate = renderer.rule.metadata.rate
    shares = any(call.noise.share is not None for call in renderer.noise_calls)
    if rate is None and not shares:
        return rendering.render_untouching(
            renderer, text, tokens, [each.binding for each in instances],
            first=first, protected=protected, drawing=drawing,
        )  # fmt: skip
    # An instance becomes the same alone and among others, unless a share is drawn over all of them.
    alone = replace(drawing, written={})
    known: dict[tuple[int, int], str | Unrendered] = {}

    def written(binding: Binding) -> str | Unrendered:
        place = (binding.start, binding.end)
        if place not in known:
            known[place] = renderer.new_text(text, tokens, binding, alone)
        return known[place]

    @cache
    def rendered(instance: UnitInstance) -> Rendered:
        binding = instance.binding
        new = written(binding)
        return renderer.render(text, tokens, binding, new=new, protected=protected)

    possible = _possible(instances, protected, rendered)
    draw = renderer.drawing(drawing).draw
    if rate is not None:
        tried = _until_enough(rate, text, possible, rendered, draw)
    else:
        tried = possible[:1] if first else possible
    missing = [why for each in tried if isinstance(why := rendered(each), Unrendered)]
    if rate is not None:
        unchanged = Unrendered.UNCHANGED
        missing = [Unrendered.PASSED_OVER if why is unchanged else why for why in missing]
    tried.sort(key=lambda each: each.start)
    if shares:
        of_shares = _shares(renderer, text, tokens, tried, replace(drawing, draw=draw))
        drawing = replace(drawing, written=of_shares)
    able = [each.binding for each in tried if isinstance(rendered(each), Edit)]
    edits, _ = rendering.render_untouching(
        renderer, text, tokens, able, protected=protected, drawing=drawing,
        new_text=None if shares else written,
    )  # fmt: skip
    return edits, missing


def _possible(
    instances: Sequence[UnitInstance],
    protected: Spans,
    rendered: Callable[[UnitInstance], Rendered],
) -> list[UnitInstance]:
    """The instances that do not overlap, leftmost first, and would touch nothing protected."""
    left, reach = list(instances), Reach(protected)
    while True:
        possible: list[UnitInstance] = []
        for instance in left:
            last = possible[-1] if possible else None
            if last is None or instance.start >= max(last.end, last.start + 1):
                possible.append(instance)
        edits = ((each, rendered(each)) for each in possible if protected)
        touching = (
            each
            for each, edit in edits
            if isinstance(edit, Edit) and reach.touches(edit.start, edit.end)
        )
        first = next(touching, None)
        if first is None:
            return possible
        left = [each for each in left if (each.start, each.end) != (first.start, first.end)]


def _until_enough(
    rate: int,
    text: str,
    possible: Sequence[UnitInstance],
    rendered: Callable[[UnitInstance], Rendered],
    draw: Draw,
) -> list[UnitInstance]:
    """Instances in the order of their random numbers, until a share of all can be rewritten."""
    left = how_many(rate, len(possible), number(draw, "rate share", text))
    ranks = numbers(draw, "rate", text, [(each.place, 0) for each in possible])
    tried: list[UnitInstance] = []
    for _, at in sorted(zip(ranks, range(len(possible)), strict=True)):
        if not left:
            break
        tried.append(possible[at])
        left -= isinstance(rendered(possible[at]), Edit)
    return tried


def _shares(
    renderer: Renderer,
    text: str,
    tokens: Sequence[Token],
    tried: Sequence[UnitInstance],
    seeded: Drawing,
) -> dict[tuple[int, int], dict[int, str]]:
    """What each function with a share makes of all the text that it is given."""
    known: dict[tuple[int, int], dict[int, str]] = {}
    seeded = replace(seeded, written=known)
    for call in renderer.noise_calls:
        if call.noise.share is not None:
            instances = [Instance(text, tokens, each.binding, seeded) for each in tried]
            texts = [(instance.place, call.input_of(instance)) for instance in instances]
            placed = [PlacedText(place, new) for place, new in texts if isinstance(new, str)]
            known[call.key] = change_share(call.noise, call.noise.share, placed, text, seeded.draw)
    return known


# ---------------------------------------------------------------- the matches of a batch


def rewrites_by_unit(
    compiled: rendering.CompiledRules, tokens: Tokens, matches: Matches, run: rendering.RenderingRun
) -> RewriteColumns:
    """Rewrites unit by unit: of rules that draw, and where an edit would touch protected text."""
    rewrites: list[Rewrite] = []
    for row, rule, instances in _instances(compiled, tokens, matches, run):
        text = tokens.texts[row]
        edits, missing = unit_edits(
            compiled.renderer(rule),
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
    compiled: rendering.CompiledRules, tokens: Tokens, matches: Matches, run: rendering.RenderingRun
) -> Iterator[tuple[int, int, list[UnitInstance]]]:
    """Row and rule of each unit that has matches, and the instances there.

    In rows that protect something, instances that overlap others are included.
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
            yield row, rule, _as_instances(compiled, tokens, matches, indices)
    if not wide:
        return
    rows = sorted(wide)
    part = tokens.select(rows)
    spans = [() if protected is None else protected[row] for row in rows]
    every = search(compiled.program, part, extent="every", protected=spans)
    others: dict[tuple[int, int], list[int]] = {}
    for index in np.lexsort((every.variants, every.starts)).tolist():
        at = (rows[int(every.rows[index])], int(every.rules[index]))
        if at in groups:
            others.setdefault(at, []).append(index)
    for (row, rule), indices in others.items():
        yield row, rule, _as_instances(compiled, part, every, indices)


def _as_instances(
    compiled: rendering.CompiledRules, tokens: Tokens, matches: Matches, indices: list[int]
) -> list[UnitInstance]:
    """Matches as instances, each with its own binding once it is asked for."""
    some = matches.select(np.array(indices, np.int64))
    columns = (some.starts, some.ends, first_characters(tokens, some))
    return [
        UnitInstance(start, end, place, partial(compiled.binding, tokens, matches, index))
        for index, start, end, place in zip(
            indices, *(column.tolist() for column in columns), strict=True
        )
    ]
