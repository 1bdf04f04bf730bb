"""Sentences as units: rows are cut, the sentences are rewritten, and the rows are put together.

In: a matcher and texts. Out: what `Matcher.apply` and `Matcher.chain` give, in offsets of the
rows. Always holds: a rule sees one sentence at a time; what lies between sentences is kept as it
is. Costs one pass of the sentence splitter more than whole rows do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from sears_dsl.engine.chain import ChainedRow, ChainedRows, Step, chain_rows
from sears_dsl.engine.match.search import Protected
from sears_dsl.engine.matches import Edit, Rewrite
from sears_dsl.engine.rewrite.rewrites import Rewrites
from sears_dsl.engine.rewrite.span_map import apply_edits

if TYPE_CHECKING:
    from sears_dsl.engine.matcher import Matcher, Scope

__all__ = ["apply_to_sentences", "chain_sentences", "inside"]


class _Sentences:
    """The sentences of some rows, one after another.

    Attributes:
        texts: the sentences.
        rows: the row of each.
        starts: its first character there.
        protected: the protected spans of the row, in the sentence's offsets; None for none.
    """

    def __init__(self, matcher: Matcher, texts: Sequence[str], protected: Protected | None) -> None:
        self.texts: list[str] = []
        self.rows: list[int] = []
        self.starts: list[int] = []
        self.protected: list[list[tuple[int, int]]] | None = None if protected is None else []
        for row, spans in enumerate(matcher.sentences(texts)):
            for start, end in spans:
                self.texts.append(texts[row][start:end])
                self.rows.append(row)
                self.starts.append(start)
            if self.protected is not None and protected is not None:
                self.protected.extend(inside(protected[row], spans))


def inside(
    protected: Sequence[tuple[int, int]], sentences: Sequence[tuple[int, int]]
) -> Iterator[list[tuple[int, int]]]:
    """For each sentence the protected spans that reach into it, in its offsets.

    They are not cut: the inside of a span goes on behind the sentence.
    """
    waiting = sorted(protected, reverse=True)
    begun: list[tuple[int, int]] = []
    for start, end in sentences:
        while waiting and waiting[-1][0] < end:
            begun.append(waiting.pop())
        begun = [span for span in begun if start < span[1]]
        yield [(low - start, high - start) for low, high in begun]


def apply_to_sentences(
    matcher: Matcher,
    texts: Sequence[str],
    *,
    scope: Scope,
    protected: Protected | None,
    jobs: int,
    prefilter: bool,
) -> Rewrites:
    """Every rule by itself on every sentence; a rewrite is one of the whole row."""
    cut = _Sentences(matcher, texts, protected)
    done = matcher.apply(
        cut.texts, scope=scope, protected=cut.protected, jobs=jobs, prefilter=prefilter
    )
    edits: dict[tuple[int, int], list[Edit]] = {}
    for rewrite in done:
        moved = _moved(rewrite.edits, cut.starts[rewrite.row])
        edits.setdefault((cut.rows[rewrite.row], rewrite.rule), []).extend(moved)
    rewrites = [
        Rewrite(rule, row, texts[row], apply_edits(texts[row], its), tuple(its))
        for (row, rule), its in sorted(edits.items())
    ]
    return Rewrites(rewrites, rule_ids=lambda: done.rule_ids, unrenderable=done.unrenderable)


def chain_sentences(
    matcher: Matcher,
    texts: Sequence[str],
    *,
    scope: Scope,
    protected: Protected | None,
    intact: Protected | None,
    without: Sequence[Collection[int]] | None,
    jobs: int,
) -> ChainedRows:
    """All rules one after another on every sentence; the sentences are those of the original."""
    cut = _Sentences(matcher, texts, protected)
    places = list(zip(cut.rows, cut.starts, strict=True))
    done = chain_rows(
        matcher,
        cut.texts,
        scope=scope,
        protected=cut.protected,
        # Spans may begin before a sentence or end behind it, and all of them keep their numbers.
        intact=intact and [[(a - by, b - by) for a, b in intact[row]] for row, by in places],
        without=without and [without[row] for row in cut.rows],
        jobs=jobs,
    )
    sentences: list[list[int]] = [[] for _ in texts]
    for sentence, row in enumerate(cut.rows):
        sentences[row].append(sentence)
    rows = []
    for row, its in enumerate(sentences):
        text = texts[row]
        steps = _merged([(cut.starts[sentence], done[sentence].steps) for sentence in its])
        for _, edits in steps:
            text = apply_edits(text, edits)
        left_out = [pair for sentence in its for pair in done[sentence].left_out]
        rows.append(ChainedRow(texts[row], text, steps, tuple(dict.fromkeys(left_out))))
    return ChainedRows(rows, unrenderable=done.unrenderable)


def _merged(sentences: Sequence[tuple[int, Sequence[Step]]]) -> tuple[Step, ...]:
    """The steps of a row's sentences, (start, steps) each, as steps of the row.

    A rule comes once; sentences before have moved those behind them.
    """
    starts = [start for start, _ in sentences]
    steps_of = [dict(steps) for _, steps in sentences]
    merged: list[Step] = []
    for rule in sorted({rule for steps in steps_of for rule in steps}):
        edits: list[Edit] = []
        growth = 0
        for place, steps in enumerate(steps_of):
            its = steps.get(rule, ())
            edits.extend(_moved(its, starts[place]))
            starts[place] += growth
            growth += sum(len(edit.new) - (edit.end - edit.start) for edit in its)
        merged.append((rule, tuple(edits)))
    return tuple(merged)


def _moved(edits: Sequence[Edit], by: int) -> list[Edit]:
    return [Edit(start + by, end + by, old, new) for start, end, old, new in edits]
