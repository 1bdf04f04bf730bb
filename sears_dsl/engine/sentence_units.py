"""Sentences as units: rows are cut, the sentences are rewritten, and the rows are put together.

In: rows, the spans of their sentences, and the rewrites of the sentences. Out: the rewrites of the
rows. Always holds: a rule sees one sentence at a time; what lies between sentences is kept as it
is, but a sentence of which nothing is left takes the white space on one side along. Costs one more
pass of the sentence splitter than whole rows do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sears_dsl.engine.chain import ChainedRow, ChainedRows, Step
from sears_dsl.engine.match.search import Protected
from sears_dsl.engine.matches import Edit, Reach, Rewrite, apply_edits
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
        self._spans = spans
        # For each kind of spans that no edit may touch, those of each row.
        self._untouchable: list[Protected] = [] if protected is None else [protected]
        self._rows: list[int] = []
        self._starts: list[int] = []
        self._firsts: list[int] = []  # the first sentence of each row
        for row, sentences in enumerate(spans):
            self._firsts.append(len(self._rows))
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
        self._untouchable.append(spans)
        places = zip(self._rows, self._starts, strict=True)
        return [[(start - by, end - by) for start, end in spans[row]] for row, by in places]

    def rewritten_rows(self, rewrites: Rewrites) -> Rewrites:
        """Rewrites of the sentences as rewrites of whole rows."""
        of_rules: dict[tuple[int, int], list[Rewrite]] = {}
        for rewrite in rewrites:
            of_rules.setdefault((self._rows[rewrite.row], rewrite.rule), []).append(rewrite)
        of_rows: list[Rewrite] = []
        for (row, rule), parts in sorted(of_rules.items()):
            text = self._originals[row]
            deleted = self._deleted(row, [each.row for each in parts if _is_blank(each.text)])
            edits: list[Edit] = []
            for each in parts:
                if each.row in deleted:
                    start, end = deleted[each.row]
                    edits.append(Edit(start, end, text[start:end], ""))
                else:
                    edits += _moved(each.edits, self._starts[each.row])
            of_rows.append(Rewrite(rule, row, text, apply_edits(text, edits), tuple(edits)))
        return Rewrites(
            of_rows, rule_ids=lambda: rewrites.rule_ids, unrenderable=rewrites.unrenderable
        )

    def chained_rows(self, chained: ChainedRows) -> ChainedRows:
        """The chained sentences as chained rows."""
        rows = []
        for row, original in enumerate(self._originals):
            parts = range(self._firsts[row], self._firsts[row] + len(self._spans[row]))
            text = original
            blank = [
                each for each in parts if chained[each].steps and _is_blank(chained[each].text)
            ]
            steps_of = {part: chained[part].steps for part in parts}
            for part, place in self._deleted(row, blank).items():
                steps_of[part] = self._deleting_steps(part, chained[part], place)
            steps = _merged([(self._starts[part], steps_of[part]) for part in parts])
            for _, edits in steps:
                text = apply_edits(text, edits)
            left_out = [pair for part in parts for pair in chained[part].left_out]
            rows.append(ChainedRow(original, text, steps, tuple(dict.fromkeys(left_out))))
        texts = [row.text for row in rows]
        return ChainedRows(texts, lambda: rows, unrenderable=chained.unrenderable)

    def _deleted(self, row: int, sentences: Sequence[int]) -> dict[int, tuple[int, int]]:
        """The characters of a row that go with each of its sentences of which nothing is left."""
        first, text = self._firsts[row], self._originals[row]
        if not sentences:
            return {}
        untouchable = Reach([span for spans in self._untouchable for span in spans[row]])
        places = deleted_places(text, self._spans[row], [each - first for each in sentences])
        deleted = {}
        for sentence, place in zip(sentences, places, strict=True):
            own = self._spans[row][sentence - first]
            beside = ((place[0], own[0]), (own[1], place[1]))
            is_free = not any(low < high and untouchable.touches(low, high) for low, high in beside)
            deleted[sentence] = place if is_free else own
        return deleted

    def _deleting_steps(
        self, sentence: int, chained: ChainedRow, place: tuple[int, int]
    ) -> tuple[Step, ...]:
        """The steps of a sentence, whose last one deletes it and what goes with it in the row."""
        original, start = self._originals[self._rows[sentence]], self._starts[sentence]
        *earlier, (rule, _) = chained.steps
        text = self.texts[sentence]
        for _, edits in earlier:
            text = apply_edits(text, edits)
        before = original[place[0] : start]
        old = before + text + original[start + len(self.texts[sentence]) : place[1]]
        edit = Edit(-len(before), len(old) - len(before), old, "")
        return (*earlier, (rule, (edit,)))


def deleted_places(
    text: str, spans: Sequence[tuple[int, int]], deleted: Sequence[int]
) -> list[tuple[int, int]]:
    r"""What goes with each deleted sentence of a text: the sentence and a gap beside it.

    Of the gaps around neighbouring deleted sentences one stays: the first that is more than a
    blank, else the last; and at the ends of the text that at the end.

    Example:
        >>> deleted_places("He left. Really. Yes.", [(0, 8), (9, 16), (17, 21)], [1])
        [(8, 16)]
        >>> deleted_places("He left.\nReally. Yes.", [(0, 8), (9, 16), (17, 21)], [0, 1])
        [(0, 9), (9, 17)]
    """
    cuts = [0, *(place for span in spans for place in span), len(text)]
    gaps = list(zip(cuts[::2], cuts[1::2], strict=True))
    places: list[tuple[int, int]] = []
    for low, high in _runs(deleted):
        wide = (n for n in range(low, high + 1) if text[slice(*gaps[n])] not in {"", " "})
        stays = next(wide, high)
        if low == 0 or high == len(spans):
            stays = low if low == 0 else high
        for number in range(low, high):
            start, end = spans[number]
            left, right = gaps[number][0], gaps[number + 1][1]
            places.append((left, end) if number < stays else (start, right))
    return places


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """The runs of following numbers among some in order: the first of each, and one past its last.

    Example:
        >>> _runs([1, 2, 4])
        [(1, 3), (4, 5)]
    """
    runs: list[tuple[int, int]] = []
    for number in numbers:
        follows = bool(runs) and runs[-1][1] == number
        runs.append((runs.pop()[0] if follows else number, number + 1))
    return runs


def _is_blank(text: str) -> bool:
    return not text.strip()


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
