"""Rules that draw: which of their instances are rewritten, and what these become.

In: a renderer, a text with its tokens, all instances of the rule in it; or the matches of a batch.
Out: edits, and why other instances make none; or rewrites, which stay columns if a consequent is
just the span after one function of characters. Always holds: without a rate the first instance or
all are rewritten, as for every rule. Under a rate, instances are tried in the order of their random
numbers until the share of them is rewritten; those in which nothing can change are passed over and
counted. A share of characters is a share of all text that the function is given in the unit, also
in instances that were passed over. For a batch, the result is that of going unit by unit.

Unit by unit, each instance that is tried costs a rendering; all of them do if spans are protected,
and each another one if a function has a share. For a batch, functions over all instances cost what
`noise.instances` says. For any other consequent, only the functions are computed for many instances
together; each instance that is tried is rendered in plain Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.match.search import search
from sears_dsl.engine.matches import Binding, Edit, Matches, Reach, Rewrite, apply_edits
from sears_dsl.engine.noise.characters import PlacedText, change_share
from sears_dsl.engine.noise.draws import Draw, how_many, number, numbers
from sears_dsl.engine.noise.instances import (
    ALL,
    noise_batch,
    tried_by_rate,
    unit_offsets,
)
from sears_dsl.engine.noise.sources import Sources
from sears_dsl.engine.rewrite import renderer as rendering
from sears_dsl.engine.rewrite.pieces import UNDRAWN, Drawing, Instance
from sears_dsl.engine.rewrite.placing import PLACED, REPLACED, Rendered, Spans, Unrendered
from sears_dsl.engine.rewrite.renderer import CompiledRules, Renderer
from sears_dsl.engine.rewrite.rewrites import RewriteColumns
from sears_dsl.engine.rewrite.windows import characters_of
from sears_dsl.language.measure import noise_in
from sears_dsl.language.rule import Noise, Rule, RuleScope
from sears_dsl.runtime.array_types import offsets_of
from sears_dsl.tagging.tokens import Token, Tokens


def unit_edits(
    renderer: Renderer,
    text: str,
    tokens: Sequence[Token],
    instances: Sequence[Binding],
    *,
    first: bool,
    protected: Spans = (),
    drawing: Drawing = UNDRAWN,
) -> tuple[list[Edit], list[Unrendered]]:
    """The edits of a rule in one unit, and why other instances make none.

    They come in the order of preference and may overlap. Without a rate, ``first`` takes only one.
    """
    rate = renderer.rule.metadata.rate
    if rate is None and not renderer.has_shares:
        return rendering.render_untouching(
            renderer, text, tokens, instances, first=first, protected=protected, drawing=drawing
        )
    # An instance becomes the same alone and among others, unless a share is drawn over all of them.
    alone = replace(drawing, written={})
    new_texts: dict[tuple[int, int], str | Unrendered] = {}
    edits_alone: dict[tuple[int, int], Rendered] = {}

    def rendered(binding: Binding) -> Rendered:
        place = (binding.start, binding.end)
        if place not in edits_alone:
            new = new_texts[place] = renderer.new_text(text, tokens, binding, alone)
            edit = renderer.render(text, tokens, binding, new=new, protected=protected)
            edits_alone[place] = edit
        return edits_alone[place]

    possible = _possible(instances, protected, rendered)
    draw = renderer.drawing(drawing).draw
    if rate is not None:
        places = [(Instance(text, tokens, each).place, 0) for each in possible]
        ranks = zip(numbers(draw, "rate", text, places), range(len(possible)), strict=True)
        count = how_many(rate, len(possible), number(draw, "rate share", text))
        tried = _until_enough(count, [possible[at] for _, at in sorted(ranks)], rendered)
    else:
        tried = possible[:1] if first else possible
    missing = [why for each in tried if isinstance(why := rendered(each), Unrendered)]
    if rate is not None:
        unchanged = Unrendered.UNCHANGED
        missing = [Unrendered.PASSED_OVER if why is unchanged else why for why in missing]
    tried.sort(key=lambda each: each.start)
    if renderer.has_shares:
        of_shares = _shares(renderer, text, tokens, tried, replace(drawing, draw=draw))
        drawing = replace(drawing, written=of_shares)
    able = [each for each in tried if isinstance(rendered(each), Edit)]
    edits, _ = rendering.render_untouching(
        renderer, text, tokens, able, protected=protected, drawing=drawing,
        new_text=None if renderer.has_shares else lambda each: new_texts[each.start, each.end],
    )  # fmt: skip
    return edits, missing


def _possible(
    instances: Sequence[Binding], protected: Spans, rendered: Callable[[Binding], Rendered]
) -> list[Binding]:
    """The instances that do not overlap, leftmost first, and would touch nothing protected."""
    left, reach = list(instances), Reach(protected)
    while True:
        possible = rendering.without_overlaps(left)
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
    count: int, ordered: Sequence[Binding], rendered: Callable[[Binding], Rendered]
) -> list[Binding]:
    """The first instances, until so many of them can be rewritten."""
    tried: list[Binding] = []
    for each in ordered:
        if not count:
            break
        tried.append(each)
        count -= isinstance(rendered(each), Edit)
    return tried


def _shares(
    renderer: Renderer,
    text: str,
    tokens: Sequence[Token],
    tried: Sequence[Binding],
    seeded: Drawing,
) -> dict[tuple[int, int], dict[int, str]]:
    """What each function with a share makes of all the text that it is given."""
    known: dict[tuple[int, int], dict[int, str]] = {}
    seeded = replace(seeded, written=known)
    for call in renderer.noise_calls:
        if call.noise.share is not None:
            instances = [Instance(text, tokens, each, seeded) for each in tried]
            texts = [(instance.place, call.input_of(instance)) for instance in instances]
            placed = [PlacedText(place, new) for place, new in texts if isinstance(new, str)]
            known[call.key] = change_share(call.noise, call.noise.share, placed, text, seeded.draw)
    return known


# ---------------------------------------------------------------- matches, unit by unit


def rewrites_by_unit(
    compiled: CompiledRules, tokens: Tokens, matches: Matches, run: rendering.RenderingRun
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
    compiled: CompiledRules, tokens: Tokens, matches: Matches, run: rendering.RenderingRun
) -> Iterator[tuple[int, int, list[Binding]]]:
    """Row and rule of each unit that has matches, and the instances there.

    In rows that protect something, instances that overlap others are included.
    """
    groups: dict[tuple[int, int], list[int]] = {}
    pairs = zip(matches.rows.tolist(), matches.rules.tolist(), strict=True)
    for index, pair in enumerate(pairs):
        groups.setdefault(pair, []).append(index)
    protected = run.protected or ()
    wide = {row for row, _ in groups if run.extent is not None and protected and protected[row]}
    for (row, rule), indices in groups.items():
        if row not in wide:
            yield row, rule, [compiled.binding(tokens, matches, index) for index in indices]
    if not wide:
        return
    rows = sorted(wide)
    part, spans = tokens.select(rows), [protected[row] for row in rows]
    every = search(compiled.program, part, extent="every", protected=spans)
    others: dict[tuple[int, int], list[int]] = {}
    for index in np.lexsort((every.variants, every.starts)).tolist():
        at = (rows[int(every.rows[index])], int(every.rules[index]))
        if at in groups:
            others.setdefault(at, []).append(index)
    for (row, rule), indices in others.items():
        yield row, rule, [compiled.binding(part, every, index) for index in indices]


def first_characters(tokens: Tokens, matches: Matches) -> NDArray[np.int64]:
    """The first character of each match in its row; for an insertion, where it goes."""
    firsts, lasts = tokens.row_offsets[matches.rows], tokens.row_offsets[matches.rows + 1]
    here = firsts + matches.starts
    places = np.zeros(len(matches), np.int64)
    inside, behind = here < lasts, (here >= lasts) & (firsts < lasts)
    places[inside] = tokens.starts[here[inside]]
    places[behind] = tokens.ends[lasts[behind] - 1]
    return places


# ---------------------------------------------------------------- whole batches at once


def chosen_by_rate(
    compiled: CompiledRules,
    tokens: Tokens,
    matches: Matches,
    outcomes: NDArray[np.int8],
    run: rendering.RenderingRun,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which matches are taken (some of a rule with a rate, all of others), and which are left.

    Matches are left to `rewrites_by_unit` if an edit of their unit might touch something protected.
    """
    taken, left = np.ones(len(matches), np.bool_), np.zeros(len(matches), np.bool_)
    ways = compiled.ways[matches.rules]
    for rule in np.unique(matches.rules[ways == rendering.CHOSEN]).tolist():
        renderer = compiled.renderer(rule)
        rate = renderer.rule.metadata.rate
        if rate is None:
            continue
        of_rule = np.flatnonzero(matches.rules == rule)
        some = matches.select(of_rule)
        able, touching = outcomes[of_rule] == REPLACED, np.zeros(len(of_rule), np.bool_)
        for at in np.flatnonzero(outcomes[of_rule] >= PLACED).tolist():
            row = int(some.rows[at])
            touching[at] = run.protected is not None and len(run.protected[row]) > 0
            binding = compiled.binding(tokens, some, at)
            edit = renderer.render(
                tokens.texts[row], tokens.view(row), binding, drawing=run.drawing
            )
            able[at] = isinstance(edit, Edit)
        offsets = unit_offsets(some.rows)
        touching = np.repeat(np.logical_or.reduceat(touching, offsets[:-1]), np.diff(offsets))
        tried = tried_by_rate(
            rate, able, renderer.drawing(run.drawing).draw,
            places=first_characters(tokens, some), rows=some.rows, units=tokens.texts,
        )  # fmt: skip
        passed_over = int((tried & ~able & ~touching).sum())
        if passed_over:
            run.unrenderable[rule] += passed_over
        taken[of_rule], left[of_rule] = tried & able & ~touching, touching
    return taken, left


def drawn_columns(
    compiled: CompiledRules, tokens: Tokens, matches: Matches, run: rendering.RenderingRun
) -> tuple[list[RewriteColumns], NDArray[np.bool_]]:
    """The rewrites of rules that draw, and which matches are left to be rendered unit by unit."""
    parts: list[RewriteColumns] = []
    left = np.zeros(len(matches), np.bool_)
    for rule in np.unique(matches.rules).tolist():
        of_rule = np.flatnonzero(matches.rules == rule)
        some, renderer = matches.select(of_rule), compiled.renderer(rule)
        if renderer.in_place is not None:
            part = noisy_columns(
                rule, renderer.in_place, renderer.rule.metadata.rate, tokens, some,
                draw=renderer.drawing(run.drawing).draw, unrenderable=run.unrenderable,
            )  # fmt: skip
            parts.append(part)
            continue
        if run.protected is not None:
            left[of_rule] = [len(run.protected[row]) > 0 for row in some.rows.tolist()]
            some = some.select(~left[of_rule])
        rewrites = drawn_rewrites(
            compiled, rule, tokens, some, drawing=run.drawing, unrenderable=run.unrenderable
        )
        parts.append(RewriteColumns.of(rewrites))
    return parts, left


def noisy_columns(
    rule: int,
    noise: Noise,
    rate: int | None,
    tokens: Tokens,
    matches: Matches,
    *,
    draw: Draw,
    unrenderable: Counter[int],
) -> RewriteColumns:
    """The rewrites of one rule, under a rate in millionths; None: of all its matches.

    Instances in which nothing can change are counted in ``unrenderable``.
    """
    points, text_offsets = characters_of(tokens.texts)
    base = tokens.row_offsets[matches.rows]
    starts, ends = tokens.starts[base + matches.starts], tokens.ends[base + matches.ends - 1]
    begin = text_offsets[matches.rows]
    batch = noise_batch(
        noise, draw, places=starts.astype(np.int64), points=points, starts=begin + starts,
        ends=begin + ends, rows=matches.rows, units=tokens.texts,
    )  # fmt: skip
    texts, unable = batch.new_texts(rate)
    if unable:
        unrenderable[rule] += unable
    chosen = np.array(sorted(texts), np.int64)
    rows, counts = np.unique(matches.rows[chosen], return_counts=True)
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(texts[at], len(numbers)) for at in chosen.tolist()]
    return RewriteColumns(
        rules=np.full(len(rows), rule, np.int32),
        rows=rows,
        originals=[tokens.texts[row] for row in rows.tolist()],
        edit_offsets=offsets_of(counts, np.int32),
        edit_starts=starts[chosen],
        edit_ends=ends[chosen],
        new_ids=np.array(ids, np.int32),
        new_texts=list(numbers),
    )


def look_up_together(
    rules: Sequence[tuple[Rule, RuleScope]], tokens: Tokens, matches: Matches, sources: Sources
) -> None:
    """Look up at once what functions of rules will ask for one by one."""
    for rule in np.unique(matches.rules).tolist():
        tree, _ = rules[rule]
        # Under a rate most of the texts would be looked up for nothing, and each takes long.
        paraphrases = tree.metadata.rate is None
        look_up(tree, tokens, matches.select(matches.rules == rule), sources, texts=paraphrases)


def look_up(
    rule: Rule, tokens: Tokens, matches: Matches, sources: Sources, *, texts: bool = True
) -> None:
    """Look up at once the words that one rule asks for, and its texts if ``texts``."""
    wanted = noise_in(rule) & ({"neighbor", "paraphrase"} if texts else {"neighbor"})
    if not wanted:
        return
    firsts = tokens.row_offsets[matches.rows].astype(np.int64)
    starts, ends = firsts + matches.starts, firsts + matches.ends
    if "neighbor" in wanted:
        words = np.concatenate(
            [tokens.type_ids[one:end] for one, end in zip(starts, ends, strict=True)]
        )
        sources.learn_words([tokens.types[kind].text for kind in np.unique(words).tolist()])
    if "paraphrase" in wanted:
        places = zip(matches.rows.tolist(), tokens.starts[starts].tolist(),
                     tokens.ends[ends - 1].tolist(), strict=True)  # fmt: skip
        sources.learn_texts([tokens.texts[row][one:end] for row, one, end in places])


class _RowInstance(NamedTuple):
    """An instance, and the row that it lies in."""

    row: int
    text: str
    tokens: Sequence[Token]
    binding: Binding


def drawn_rewrites(
    compiled: CompiledRules,
    rule: int,
    tokens: Tokens,
    matches: Matches,
    *,
    drawing: Drawing,
    unrenderable: Counter[int],
) -> list[Rewrite]:
    """The rewrites of one rule in rows where nothing is protected, whatever it draws."""
    renderer = compiled.renderer(rule)
    rate, draw = renderer.rule.metadata.rate, renderer.drawing(drawing).draw
    places = first_characters(tokens, matches)
    able, settled = np.ones(len(matches), np.bool_), np.zeros(len(matches), np.bool_)
    instances: dict[int, _RowInstance] = {}
    new_texts: dict[int, str | Unrendered] = {}
    alone: dict[int, Rendered] = {}
    while not settled.all():
        tried = ~settled
        if rate is not None:
            tried = tried_by_rate(
                rate, able, draw, places=places, rows=matches.rows, units=tokens.texts
            )
        new: list[int] = np.flatnonzero(tried & ~settled).tolist()
        if not new:
            break
        settled |= tried
        look_up(renderer.rule, tokens, matches.select(np.array(new)), drawing.sources)
        for at in new:
            row = int(matches.rows[at])
            binding = compiled.binding(tokens, matches, at)
            instances[at] = _RowInstance(row, tokens.texts[row], tokens.view(row), binding)
        some = {at: instances[at] for at in new}
        new_texts |= _new_texts(renderer, some, drawing, whole=True)
        for at, each in some.items():
            alone[at] = renderer.render(*each[1:], new=new_texts[at])
            able[at] = isinstance(alone[at], Edit)
    missing = [each for each in alone.values() if isinstance(each, Unrendered)]
    counted = sum(why.is_counted or rate is not None for why in missing)
    if counted:
        unrenderable[rule] += counted
    order = sorted(instances)
    if renderer.has_shares:
        every = {at: instances[at] for at in order}
        new_texts = _new_texts(renderer, every, drawing, whole=False)
        alone = {}
    # Without a rate, instances that cannot be rewritten still bound the edits before them.
    keeps_all = rate is None and bool(alone)
    chosen = [at for at in order if keeps_all or able[at]]
    rewrites: list[Rewrite] = []
    for row, own in groupby(chosen, key=lambda at: instances[at].row):
        edits = _edits(renderer, [(instances[at], new_texts[at], alone.get(at)) for at in own])
        if edits:
            text = tokens.texts[row]
            rewrites.append(Rewrite(rule, row, text, apply_edits(text, edits), tuple(edits)))
    return rewrites


def _edits(
    renderer: Renderer, instances: Sequence[tuple[_RowInstance, str | Unrendered, Rendered | None]]
) -> list[Edit]:
    """The edits of one row, from its instances with their new texts.

    The third of each is what it becomes alone, None where that depends on the others.
    """
    first, _, alone = instances[0]
    if len(instances) == 1 and alone is not None:
        return [alone] if isinstance(alone, Edit) else []
    new_texts = {(each.binding.start, each.binding.end): new for each, new, _ in instances}
    edits, _ = rendering.render_untouching(
        renderer, first.text, first.tokens, [each.binding for each, _, _ in instances],
        new_text=lambda binding: new_texts[binding.start, binding.end],
    )  # fmt: skip
    return edits


def _new_texts(
    renderer: Renderer,
    instances: Mapping[int, _RowInstance],
    drawing: Drawing,
    *,
    whole: bool,
) -> dict[int, str | Unrendered]:
    """What takes the place of some instances, with their functions computed together.

    Those of a row are together and in order. With ``whole``, a function with a share changes all
    that can change.
    """
    calls = renderer.noise_calls
    written: dict[int, dict[tuple[int, int], dict[int, str]]] = {
        each.row: {call.key: {} for call in calls} for each in instances.values()
    }
    drawings = {row: replace(drawing, written=known) for row, known in written.items()}
    draw = renderer.drawing(drawing).draw
    for call in calls:
        noise = call.noise
        if whole and noise.share is not None:
            noise = Noise(noise.kind, places=ALL)
        placed_texts: list[tuple[_RowInstance, PlacedText]] = []
        for each in instances.values():
            seeded = renderer.drawing(drawings[each.row])
            instance = Instance(each.text, each.tokens, each.binding, seeded)
            word = call.input_of(instance)
            if isinstance(word, str) and word:
                placed_texts.append((each, PlacedText(instance.place, word)))
        for (each, (place, _)), new in zip(
            placed_texts, _changed(noise, placed_texts, draw), strict=True
        ):
            written[each.row][call.key][place] = new
    return {
        at: renderer.new_text(each.text, each.tokens, each.binding, drawings[each.row])
        for at, each in instances.items()
    }


def _changed(
    noise: Noise, placed_texts: Sequence[tuple[_RowInstance, PlacedText]], draw: Draw
) -> Iterator[str]:
    """The new text of each text that a function is given, in order; they come row by row."""
    points, offsets = characters_of([text for _, (_, text) in placed_texts])
    batch = noise_batch(
        noise,
        draw,
        places=np.array([place for _, (place, _) in placed_texts], np.int64),
        points=points,
        starts=offsets[:-1],
        ends=offsets[1:],
        rows=np.array([each.row for each, _ in placed_texts], np.int64),
        units={each.row: each.text for each, _ in placed_texts},
    )
    texts = batch.all_new_texts()
    return (texts.get(at, text) for at, (_, (_, text)) in enumerate(placed_texts))
