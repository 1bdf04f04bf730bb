"""Rules that draw, for whole batches at once.

In: the matches of rules. Out: their rewrites, as columns where a consequent is its own span after
one function of characters. Always holds: they are what `unit_rendering` gives unit by unit.
Costs a hash of each unit and some kernels; a string for each changed instance, and the plain
functions for slips in words with letters outside ASCII, or in units with them where a share of all
letters slips. Where more is written than one function's text, an instance that is looked at is
rendered in plain Python, and its functions alone are worked out together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.matches import Binding, Edit, Matches, Rewrite, apply_edits
from sears_dsl.engine.noise import kernels
from sears_dsl.engine.noise.characters import (
    PlacedText,
    changed,
    has_place,
    keys_beside,
    lookalikes,
    shared,
)
from sears_dsl.engine.noise.draws import Draw, begun_name, key
from sears_dsl.engine.noise.sources import Sources
from sears_dsl.engine.rewrite.pieces import Drawing, Instance, NoiseCall, Unrendered
from sears_dsl.engine.rewrite.renderer import (
    CHOSEN,
    CompiledRules,
    Rendered,
    Renderer,
    RenderingRun,
    render_untouching,
)
from sears_dsl.engine.rewrite.rewrites import RewriteColumns
from sears_dsl.engine.rewrite.slots import PLACED, REPLACED
from sears_dsl.engine.rewrite.windows import characters_of
from sears_dsl.language.measure import looks_up
from sears_dsl.language.rule import TYPING_KINDS, Noise, Rule, RuleScope
from sears_dsl.runtime.kernels import expect
from sears_dsl.tagging.tokens import Token, Tokens

_ALL = -1  # as many slips as fit


def unit_offsets(rows: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where the instances of each unit begin, and the end of the last; they are of one rule."""
    heads = np.flatnonzero(np.diff(rows, prepend=-1))
    return np.append(heads, len(rows)).astype(np.int64)


def first_characters(tokens: Tokens, matches: Matches) -> NDArray[np.int64]:
    """The first character of each match in its row; of an insertion, where it goes."""
    firsts, lasts = tokens.row_offsets[matches.rows], tokens.row_offsets[matches.rows + 1]
    here = firsts + matches.starts
    places = np.zeros(len(matches), np.int64)
    inside, behind = here < lasts, (here >= lasts) & (firsts < lasts)
    places[inside] = tokens.starts[here[inside]]
    places[behind] = tokens.ends[lasts[behind] - 1]
    return places


def _where(
    names: Sequence[str],
    draw: Draw,
    places: NDArray[np.int64],
    rows: NDArray[np.integer],
    texts: Sequence[str] | Mapping[int, str],
) -> kernels.InstancePlaces:
    """What decisions of some names about the instances of a rule depend on."""
    offsets = unit_offsets(rows)
    keys = np.array([key(texts[row]) for row in rows[offsets[:-1]].tolist()], np.uint64)
    bases = np.array([begun_name(draw, name) for name in names], np.uint64)
    return kernels.InstancePlaces(places, offsets, keys, bases)


def tried_by_rate(
    rate: int, able: NDArray[np.bool_], tokens: Tokens, matches: Matches, draw: Draw
) -> NDArray[np.bool_]:
    """Which matches of one rule are looked at until a share of those of each unit is rewritten."""
    places = first_characters(tokens, matches)
    where = _where(["rate share", "rate"], draw, places, matches.rows, tokens.texts)
    tried: NDArray[np.bool_] = kernels.try_instances(rate, able, where)
    return tried


def chosen_by_rate(
    compiled: CompiledRules,
    tokens: Tokens,
    matches: Matches,
    outcomes: NDArray[np.int8],
    run: RenderingRun,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which matches are taken: of a rule with a rate some, of others all.

    Then those that are left to the plain way, since an edit of their unit might touch what is
    protected.
    """
    taken, left = np.ones(len(matches), np.bool_), np.zeros(len(matches), np.bool_)
    ways = compiled.ways[matches.rules]
    for rule in np.unique(matches.rules[ways == CHOSEN]).tolist():
        renderer = compiled.renderer(rule)
        rate = renderer.rule.metadata.rate
        if rate is None:
            continue
        own = np.flatnonzero(matches.rules == rule)
        some = matches.select(own)
        able, touching = outcomes[own] == REPLACED, np.zeros(len(own), np.bool_)
        for at in np.flatnonzero(outcomes[own] == PLACED).tolist():
            row = int(some.rows[at])
            touching[at] = run.protected is not None and len(run.protected[row]) > 0
            binding = compiled.binding(tokens, some, at)
            edit = renderer.render(
                tokens.texts[row], tokens.view(row), binding, drawing=run.drawing
            )
            able[at] = isinstance(edit, Edit)
        offsets = unit_offsets(some.rows)
        touching = np.repeat(np.logical_or.reduceat(touching, offsets[:-1]), np.diff(offsets))
        tried = tried_by_rate(rate, able, tokens, some, renderer.drawing(run.drawing).draw)
        passed_over = int((tried & ~able & ~touching).sum())
        if passed_over:
            run.unrenderable[rule] += passed_over
        taken[own], left[own] = tried & able & ~touching, touching
    return taken, left


def drawn_columns(
    compiled: CompiledRules, tokens: Tokens, matches: Matches, run: RenderingRun
) -> tuple[list[RewriteColumns], NDArray[np.bool_]]:
    """The rewrites of rules that draw, and which matches are left to be rendered unit by unit."""
    parts: list[RewriteColumns] = []
    left = np.zeros(len(matches), np.bool_)
    for rule in np.unique(matches.rules).tolist():
        own = np.flatnonzero(matches.rules == rule)
        some, renderer = matches.select(own), compiled.renderer(rule)
        if renderer.in_place is not None:
            part = noisy_columns(
                rule, renderer.in_place, renderer.rule.metadata.rate, tokens, some,
                draw=renderer.drawing(run.drawing).draw, unrenderable=run.unrenderable,
            )  # fmt: skip
            parts.append(part)
            continue
        if run.protected is not None:
            left[own] = [len(run.protected[row]) > 0 for row in some.rows.tolist()]
            some = some.select(~left[own])
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
    """The rewrites of one rule; without a rate, in millionths, of all its matches.

    Instances are counted in which nothing can change.
    """
    points, text_offsets = characters_of(tokens.texts)
    base = tokens.row_offsets[matches.rows].astype(np.int64)
    places = tokens.starts[base + matches.starts].astype(np.int64)
    begin = text_offsets[matches.rows]
    ends = begin + tokens.ends[base + matches.ends - 1]
    batch = _batch(
        noise, draw, places=places, points=points, starts=begin + places, ends=ends,
        rows=matches.rows, units=tokens.texts,
    )  # fmt: skip
    tried, able = batch.tried(rate)
    new = batch.written(tried, able)
    texts = batch.texts(new, able)
    unable = int((new.become == kernels.UNABLE).sum())
    if unable:
        unrenderable[rule] += unable
    return _columns(rule, texts, batch)


def look_up_together(
    rules: Sequence[tuple[Rule, RuleScope]], tokens: Tokens, matches: Matches, sources: Sources
) -> None:
    """Look up together what functions of rules will ask for one by one."""
    for rule in np.unique(matches.rules).tolist():
        tree, _ = rules[rule]
        # Under a rate most of the texts would be looked up for nothing, and each takes long.
        paraphrases = tree.metadata.rate is None
        look_up(tree, tokens, matches.select(matches.rules == rule), sources, texts=paraphrases)


def look_up(
    rule: Rule, tokens: Tokens, matches: Matches, sources: Sources, *, texts: bool = True
) -> None:
    """Look up together the words, and the texts where they are wanted, that one rule asks for."""
    neighbors, paraphrases = looks_up(rule, "neighbor"), texts and looks_up(rule, "paraphrase")
    if not (neighbors or paraphrases):
        return
    firsts = tokens.row_offsets[matches.rows].astype(np.int64)
    starts, ends = firsts + matches.starts, firsts + matches.ends
    if neighbors:
        words = np.concatenate(
            [tokens.type_ids[one:end] for one, end in zip(starts, ends, strict=True)]
        )
        sources.learn_words([tokens.types[kind].text for kind in np.unique(words).tolist()])
    if paraphrases:
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
    calls = renderer.noise_calls
    able, settled = np.ones(len(matches), np.bool_), np.zeros(len(matches), np.bool_)
    instances: dict[int, _RowInstance] = {}
    new_texts: dict[int, str | Unrendered] = {}
    alone: dict[int, Rendered] = {}
    while not settled.all():
        tried = ~settled if rate is None else tried_by_rate(rate, able, tokens, matches, draw)
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
        new_texts |= _new_texts(renderer, calls, some, drawing, whole=True)
        for at, each in some.items():
            alone[at] = renderer.render(*each[1:], new=new_texts[at])
            able[at] = isinstance(alone[at], Edit)
    missing = [each for each in alone.values() if isinstance(each, Unrendered)]
    counted = sum(why.is_counted or rate is not None for why in missing)
    if counted:
        unrenderable[rule] += counted
    order = sorted(instances)
    if any(call.noise.share is not None for call in calls):
        every = {at: instances[at] for at in order}
        new_texts = _new_texts(renderer, calls, every, drawing, whole=False)
        alone = {}
    # Without a rate what cannot be rewritten bounds the edits before it, as for any other rule.
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
    edits, _ = render_untouching(
        renderer, first.text, first.tokens, [each.binding for each, _, _ in instances],
        new_text=lambda binding: new_texts[binding.start, binding.end],
    )  # fmt: skip
    return edits


def _new_texts(
    renderer: Renderer,
    calls: Sequence[NoiseCall],
    instances: Mapping[int, _RowInstance],
    drawing: Drawing,
    *,
    whole: bool,
) -> dict[int, str | Unrendered]:
    """What takes the place of some instances, their functions worked out together.

    Those of a row are together and in order. Of a share all that can change does, if it is to be
    ``whole``.
    """
    written: dict[int, dict[tuple[int, int], dict[int, str]]] = {
        each.row: {call.key: {} for call in calls} for each in instances.values()
    }
    drawings = {row: replace(drawing, written=known) for row, known in written.items()}
    draw = renderer.drawing(drawing).draw
    for call in calls:
        noise = call.noise
        if whole and noise.share is not None:
            noise = Noise(noise.kind, places=_ALL)
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
    """What a function makes of what it is given, row by row in order."""
    if not placed_texts:
        return iter(())
    points, offsets = characters_of([text for _, (_, text) in placed_texts])
    batch = _batch(
        noise,
        draw,
        places=np.array([place for _, (place, _) in placed_texts], np.int64),
        points=points,
        starts=offsets[:-1],
        ends=offsets[1:],
        rows=np.array([each.row for each, _ in placed_texts], np.int64),
        units={each.row: each.text for each, _ in placed_texts},
    )
    every = np.ones(len(placed_texts), np.bool_)
    texts = batch.texts(batch.written(every, every), every)
    return (texts.get(at, text) for at, (_, (_, text)) in enumerate(placed_texts))


class _New(NamedTuple):
    """What became of instances, and the code points of those that changed."""

    become: NDArray[np.int8]
    points: NDArray[np.uint32]
    bounds: NDArray[np.int64]


def _batch(
    noise: Noise,
    draw: Draw,
    *,
    places: NDArray[np.int64],
    points: NDArray[np.uint32],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    rows: NDArray[np.integer],
    units: Sequence[str] | Mapping[int, str],
) -> _NoiseBatch:
    """A function of instances, in the code points of a batch."""
    kind = noise.kind
    first_kind = [kind] if kind == "homoglyph" else list(TYPING_KINDS)
    names = ["rate share", "rate", f"{kind} share", kind, "key letter", "typo kind", *first_kind]
    expect(len(points))
    where = _where(names, draw, places, rows, units)
    what = kernels.InstancePoints(starts, ends, points, _foreign(points))
    return _NoiseBatch(noise, draw, where, what, rows, units)


class _NoiseBatch(NamedTuple):
    """One function in all instances of a rule, with the row of each and the texts of the rows."""

    noise: Noise
    draw: Draw
    where: kernels.InstancePlaces
    what: kernels.InstancePoints
    rows: NDArray[np.integer]
    units: Sequence[str] | Mapping[int, str]

    def _placed_text(self, at: int) -> PlacedText:
        """The text of one instance, and its place."""
        starts, ends, points, _ = self.what
        text = points[starts[at] : ends[at]].tobytes().decode("utf-32-le", "surrogatepass")
        return PlacedText(int(self.where.places[at]), text)

    def tried(self, rate: int | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which instances are looked at, and whether anything in those can change."""
        tried = np.ones(len(self.rows), np.bool_)
        if rate is None and (self.noise.share is None or self.noise.kind == "homoglyph"):
            return tried, tried
        able = self._has_place()
        settled = ~able
        while True:
            if rate is not None:
                tried = kernels.try_instances(rate, able, self.where)
            new = tried & ~settled
            if not self._may_cancel or not new.any():
                return tried, able
            able &= ~new | self._changes(new)
            settled |= new

    @property
    def _may_cancel(self) -> bool:
        """Whether slips may leave a word as it was: `II`, a letter less and one twice."""
        several = self.noise.share is not None or self.noise.places > 1
        return self.noise.kind == "typo" and several

    def _changes(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether all slips that a function may make change an instance, of those chosen."""
        if self.noise.share is not None:
            return self._replace(noise=Noise(self.noise.kind, _ALL))._changes(chosen)
        new = self.written(chosen, chosen)
        changed: NDArray[np.bool_] = new.become == kernels.CHANGED
        changed[list(self._plain_texts(new, chosen))] = True
        return changed

    def _has_place(self) -> NDArray[np.bool_]:
        """Whether anything in each instance can change, at one place at least."""
        starts, all_ends, points, foreign = self.what

        def count(flags: NDArray[np.bool_], ends: NDArray[np.int64]) -> NDArray[np.int64]:
            sums = np.zeros(len(points) + 1, np.int64)
            np.cumsum(flags, out=sums[1:])
            counts: NDArray[np.int64] = sums[ends] - sums[starts]
            return counts

        if self.noise.kind == "homoglyph":
            table, _ = _look_alike_tables()
            known = np.minimum(points, len(table) - 1)
            return count(table[known] != 0, all_ends) > 0
        small = points | np.uint32(32)
        letters = (small > 96) & (small < 123) & (points < 128)
        if self.noise.kind == "swap":
            pairs = np.zeros(len(points), np.bool_)
            pairs[:-1] = letters[:-1] & letters[1:] & (small[:-1] != small[1:])
            able = count(pairs, all_ends - 1) > 0
        else:
            able = count(letters, all_ends) > (self.noise.kind == "drop")
        for at in np.flatnonzero(count(foreign, all_ends)).tolist():
            able[at] = has_place(self.noise, self._placed_text(at).text)
        return able

    def written(self, tried: NDArray[np.bool_], able: NDArray[np.bool_]) -> _New:
        """What the instances become, by the kernels."""
        noise, where, what = self.noise, self.where, self.what
        if noise.kind == "homoglyph":
            new = what.points.copy()
            share, count = noise.share or 0, noise.places
            count = len(new) if count == _ALL else count
            what = what._replace(points=new)
            become = kernels.look_alike(share, count, tried, where, what, *_look_alike_tables())
            return _New(become, new, np.zeros(0, np.int64))
        kind = kernels.TYPO if noise.kind == "typo" else TYPING_KINDS.index(noise.kind)
        if noise.share is None:
            count = 0 if noise.places == _ALL else noise.places
            return _New(*kernels.misspell(kind, count, tried, where, what, _key_table()))
        share = noise.share
        return _New(*kernels.misspell_share(kind, share, tried, able, where, what, _key_table()))

    def texts(self, new: _New, able: NDArray[np.bool_]) -> dict[int, str]:
        """The new texts of the instances that change; what kernels leave is written here."""
        at_all = np.flatnonzero(new.become == kernels.CHANGED)
        points = new.points
        if self.noise.kind == "homoglyph":
            lows, highs = self.what.starts[at_all], self.what.ends[at_all]
        else:
            lows, highs = new.bounds[at_all], new.bounds[at_all + 1]
            points = points[: new.bounds[-1]]
        written = points.tobytes().decode("utf-32-le", "surrogatepass")
        bounds = zip(lows.tolist(), highs.tolist(), strict=True)
        places = zip(at_all.tolist(), bounds, strict=True)
        return {at: written[low:high] for at, (low, high) in places} | self._plain_texts(new, able)

    def _plain_texts(self, new: _New, able: NDArray[np.bool_]) -> dict[int, str]:
        """New texts of instances that kernels leave; those that cannot change are marked so."""
        texts: dict[int, str] = {}
        units: dict[int, list[int]] = {}
        for at in np.flatnonzero(new.become == kernels.PLAIN).tolist():
            units.setdefault(int(self.rows[at]), []).append(at)
        noise = self.noise
        for row, some in units.items():
            unit = self.units[row]
            placed_texts = {at: self._placed_text(at) for at in some}
            if noise.share is not None:
                written = shared(noise, noise.share, list(placed_texts.values()), unit, self.draw)
            for at, (place, text) in placed_texts.items():
                if noise.share is not None:
                    become: str | None = written[place]
                else:
                    count = len(text) if noise.places == _ALL else noise.places
                    slips = Noise(noise.kind, count)
                    become = changed(slips, PlacedText(place, text), unit, self.draw)
                if become is not None and become != text and able[at]:
                    texts[at] = become
                elif noise.share is None or not able[at]:
                    new.become[at] = kernels.UNABLE
        return texts


def _foreign(points: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which code points are letters outside ASCII."""
    flags = points > 127
    if flags.any():
        kinds, places = np.unique(points[flags], return_inverse=True)
        flags[flags] = np.array([chr(kind).isalpha() for kind in kinds.tolist()])[places]
    return flags


def _columns(rule: int, texts: dict[int, str], batch: _NoiseBatch) -> RewriteColumns:
    """Rewrites out of new texts of instances."""
    chosen = np.array(sorted(texts), np.int64)
    rows, counts = np.unique(batch.rows[chosen], return_counts=True)
    offsets = np.zeros(len(rows) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    starts = batch.where.places[chosen]
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(texts[at], len(numbers)) for at in chosen.tolist()]
    return RewriteColumns(
        rules=np.full(len(rows), rule, np.int32),
        rows=rows.astype(np.int32),
        originals=[batch.units[row] for row in rows.tolist()],
        edit_offsets=offsets,
        edit_starts=starts.astype(np.int32),
        edit_ends=(starts + batch.what.ends[chosen] - batch.what.starts[chosen]).astype(np.int32),
        new_ids=np.array(ids, np.int32),
        new_texts=list(numbers),
    )


@cache
def _look_alike_tables() -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """The look-alike of each code point, 0 where there is none; and which are white space."""
    known = {ord(one): ord(other) for one, other in lookalikes().items()}
    table = np.zeros(max(known) + 2, np.uint32)
    table[list(known)] = list(known.values())
    spaces = np.array([chr(code).isspace() for code in range(0x3001)], np.bool_)
    return table, spaces


@cache
def _key_table() -> NDArray[np.uint32]:
    """For each small letter how many keys touch its own, and which."""
    table = np.zeros((26, 7), np.uint32)
    for row, letter in enumerate("abcdefghijklmnopqrstuvwxyz"):
        beside = keys_beside(letter)
        table[row, : len(beside) + 1] = [len(beside), *map(ord, beside)]
    return table
