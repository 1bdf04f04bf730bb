"""Sentences as units: rows are cut, the sentences are rewritten, and the rows are put together.

In: rows, the spans of their sentences, and the rewrites of the sentences. Out: the rewrites of the
rows. Always holds: a rule sees one sentence at a time; what lies between sentences is kept as it
is. Costs one more pass of the sentence splitter than whole rows do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sears_dsl.engine.chain import ChainedRow, ChainedRows, Step
from sears_dsl.engine.match.search import Protected
from sears_dsl.engine.matches import Edit, Rewrite, apply_edits
from sears_dsl.engine.rewrite.rewrites import Rewrites
from sears_dsl.tagging.tokens import Tokens


class SentenceUnits:
    """The sentences of some rows, one after another; turns their rewrites into those of the rows.

    ``spans`` has the sentences of each row, ``protected`` the spans that must stay as they are.
    """

    def __init__(
        self,
        rows: Sequence[str],
        spans: Sequence[Sequence[tuple[int, int]]],
        protected: Protected | None,
    ) -> None:
        self.texts: list[str] = []
        # For each sentence, the protected spans of its row, in offsets of the sentence.
        self.protected: list[list[tuple[int, int]]] | None = None if protected is None else []
        self._originals = rows
        self._rows: list[int] = []
        self._starts: list[int] = []
        for row, sentences in enumerate(spans):
            for start, end in sentences:
                self.texts.append(rows[row][start:end])
                self._rows.append(row)
                self._starts.append(start)
            if self.protected is not None and protected is not None:
                self.protected.extend(spans_inside(protected[row], sentences))

    def tokens(self, tokens: Tokens) -> Tokens:
        """The tokens of the rows as tokens of their sentences."""
        rows = []
        for text, row, by in zip(self.texts, self._rows, self._starts, strict=True):
            end = by + len(text)
            own = [token for token in tokens.row(row) if by <= token.start < end]
            rows.append([t._replace(start=t.start - by, end=t.end - by) for t in own])
        return Tokens.from_rows(self.texts, rows, tagged=tokens.tagged)

    def of_rows(self, values: Sequence[Collection[int]] | None) -> list[Collection[int]] | None:
        """For each sentence, the value of its row."""
        return None if values is None else [values[row] for row in self._rows]

    def intact(self, spans: Protected | None) -> list[list[tuple[int, int]]] | None:
        """For each sentence, the spans of its row, in offsets of the sentence.

        They may begin before the sentence or end behind it; all are there, in the same order.
        """
        if spans is None:
            return None
        places = zip(self._rows, self._starts, strict=True)
        return [[(start - by, end - by) for start, end in spans[row]] for row, by in places]

    def rewritten_rows(self, rewrites: Rewrites) -> Rewrites:
        """Rewrites of the sentences as rewrites of whole rows."""
        edits: dict[tuple[int, int], list[Edit]] = {}
        for rewrite in rewrites:
            moved = _moved(rewrite.edits, self._starts[rewrite.row])
            edits.setdefault((self._rows[rewrite.row], rewrite.rule), []).extend(moved)
        rows = self._originals
        of_rows = [
            Rewrite(rule, row, rows[row], apply_edits(rows[row], moved), tuple(moved))
            for (row, rule), moved in sorted(edits.items())
        ]
        return Rewrites(
            of_rows, rule_ids=lambda: rewrites.rule_ids, unrenderable=rewrites.unrenderable
        )

    def chained_rows(self, chained: ChainedRows) -> ChainedRows:
        """The chained sentences as chained rows."""
        sentences: list[list[int]] = [[] for _ in self._originals]
        for sentence, row in enumerate(self._rows):
            sentences[row].append(sentence)
        rows = []
        for original, parts in zip(self._originals, sentences, strict=True):
            text = original
            steps = _merged([(self._starts[part], chained[part].steps) for part in parts])
            for _, edits in steps:
                text = apply_edits(text, edits)
            left_out = [pair for part in parts for pair in chained[part].left_out]
            rows.append(ChainedRow(original, text, steps, tuple(dict.fromkeys(left_out))))
        texts = [row.text for row in rows]
        return ChainedRows(texts, lambda: rows, unrenderable=chained.unrenderable)


def spans_inside(
    protected: Sequence[tuple[int, int]], sentences: Sequence[tuple[int, int]]
) -> Iterator[list[tuple[int, int]]]:
    """For each sentence, the protected spans that reach into it, in its offsets.

    They are not cut, so that an edge of the sentence can lie inside of a span.
    """
    waiting = sorted(protected, reverse=True)
    begun: list[tuple[int, int]] = []
    for start, end in sentences:
        while waiting and waiting[-1][0] < end:
            begun.append(waiting.pop())
        begun = [span for span in begun if start < span[1]]
        yield [(low - start, high - start) for low, high in begun]


def _merged(sentences: Sequence[tuple[int, Sequence[Step]]]) -> tuple[Step, ...]:
    """The steps of a row's sentences, (start, steps) each, as steps of the row.

    Each rule comes once. The edits of a sentence move the sentences behind it.
    """
    starts = [start for start, _ in sentences]
    steps_of = [dict(steps) for _, steps in sentences]
    merged: list[Step] = []
    for rule in sorted({rule for steps in steps_of for rule in steps}):
        edits: list[Edit] = []
        growth = 0
        for place, steps in enumerate(steps_of):
            own_edits = steps.get(rule, ())
            edits.extend(_moved(own_edits, starts[place]))
            starts[place] += growth
            growth += sum(len(edit.new) - (edit.end - edit.start) for edit in own_edits)
        merged.append((rule, tuple(edits)))
    return tuple(merged)


def _moved(edits: Sequence[Edit], by: int) -> list[Edit]:
    return [Edit(start + by, end + by, old, new) for start, end, old, new in edits]
