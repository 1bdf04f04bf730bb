"""Mode chain: each row once, with rule after rule applied to it.

In: a batch, a compiled matcher and a plan. Out: the values that changed, and a `Tally`. Always
holds: spans that point into a rewritten text are carried along; a rule that would touch one is
left out of that row, or the row is dropped or refused, as the plan says; a row is not rewritten if
one of its spans is not where the row says; rows that share a text are rewritten alike.
Costs the matcher's work, and a look at the spans of every row if there are any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sears_dsl.batch.guarding import require_intact, touched_error
from sears_dsl.batch.plan import (
    Plan,
    ProtectedTexts,
    Tally,
    Texts,
    count_texts,
    count_unrenderable,
    draws_of,
    moved_values,
    present_texts,
    protected_spans,
    row_name,
    spans_of,
)
from sears_dsl.data.batches import Batch
from sears_dsl.data.dataset import row_ids
from sears_dsl.data.protection import Spans
from sears_dsl.engine.chain import ChainedRow, ChainedRows
from sears_dsl.engine.matcher import Matcher
from sears_dsl.engine.matches import apply_edits


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """What chain mode does to a batch."""

    # Row → column → new value; rows without a change are absent.
    values: Mapping[int, Mapping[str, Any]]
    dropped: frozenset[int]  # rows to leave out
    tally: Tally  # the counts


def rewrite_chain(matcher: Matcher, batch: Batch, plan: Plan) -> ChangedRows:
    """Each row once, all rules applied to it in order.

    DataError: a value that is not text; with ``on_touched`` error, a span that was touched.
    """
    tally = Tally(rows=batch.rows // batch.copies)
    columns = [_ChainColumn(matcher, batch, plan, name) for name in plan.rewritten_columns]
    # A span that is misplaced in one column keeps all columns of its row as they are.
    misplaced: dict[int, str] = {}
    for column in columns:
        misplaced |= column.misplaced
    sharing: dict[int, str] = {}
    for column in columns:
        sharing |= column.leave_alone(misplaced)
        count_texts(tally, matcher, column.texts, missing=column.missing, copies=batch.copies)
        for drawn in column.chain(range(len(column.texts))):
            count_unrenderable(tally, matcher.rule_ids, drawn.unrenderable)
    misplaced = sharing | misplaced
    if len(columns) > 1 and any(column.leaves_out for column in columns):
        _agree(columns)
    moved: list[dict[int, dict[str, Any]]] = []
    touched: dict[int, str] = {}
    for column in columns:
        column.require_intact()
        new, lost = column.moved()
        if lost and plan.on_touched == "error":
            row, (why, first) = next(iter(lost.items()))
            raise touched_error(
                row_name(batch, row, plan.id_column),
                f"{why} by rule {first} or one after it",
                misplaced=column.misplaced.get(row),
            )
        moved.append(new)
        touched |= {row: why for row, (why, _) in lost.items()}
    dropped = frozenset(touched if plan.on_touched == "drop" else ())
    values = _values_of_rows(matcher, columns, moved, dropped=dropped, tally=tally)
    left_out: dict[tuple[int, int], str] = {}
    absent: dict[int, str] = {}
    for column in columns:
        left_out |= column.reasons()
        absent |= column.absent
    for row, rule in sorted(left_out):
        tally.of(matcher.rule_ids[rule]).left_out += 1
        touched.setdefault(row, left_out[row, rule])
    tally.changed = len(values)
    undone = {row for each in columns for place in each.undone for row in each.rows[place]}
    tally.undone = len(undone.difference(values, dropped))
    tally.dropped = len(dropped)
    tally.records = batch.rows - tally.dropped
    if touched or misplaced or absent:
        touched = {row: why for row, why in touched.items() if row not in misplaced}
        ids = row_ids(batch, plan.id_column)
        tally.give_reasons(touched, misplaced, absent, ids, batch.copies)
    return ChangedRows(values, dropped, tally)


def _values_of_rows(
    matcher: Matcher,
    columns: Sequence[_ChainColumn],
    moved: Sequence[Mapping[int, Mapping[str, Any]]],
    *,
    dropped: frozenset[int],
    tally: Tally,
) -> dict[int, dict[str, Any]]:
    """The new values of changed rows that are not dropped; counts what each rule did."""
    values: dict[int, dict[str, Any]] = {}
    changes: list[tuple[int, int, int, list[int]]] = []  # first row, column, place, all rows
    for number, (column, new) in enumerate(zip(columns, moved, strict=True)):
        for place in column.changed:
            rows = [row for row in column.rows[place] if row in new and row not in dropped]
            for row in rows:
                values.setdefault(row, {}).update(new[row])
            if rows:
                changes.append((rows[0], number, place, rows))
    rows_of_rules: set[tuple[int, int]] = set()
    # Row by row, so that the first examples of a rule are the same in batches of any size.
    for _, number, place, rows in sorted(changes):
        before = columns[number].texts[place]
        for rule, edits in columns[number].results[place].steps:
            rows_of_rules |= {(row, rule) for row in rows}
            after = apply_edits(before, edits)
            tally.of(matcher.rule_ids[rule]).count(before, after, edits)
            before = after
    for _, rule in rows_of_rules:
        tally.of(matcher.rule_ids[rule]).rows += 1
    return values


class _ChainColumn:
    """The texts of one column, each shared one once, and what the rules make of them.

    ``rows`` has for each text the rows of the batch with it, ``results`` what the matcher gave
    last. ``missing`` counts the rows without a text; ``misplaced`` has those with a span that is
    not where the row says, and why. ``leaves_out`` says whether rules are left out where they would
    touch a span.
    """

    def __init__(self, matcher: Matcher, batch: Batch, plan: Plan, name: str) -> None:
        self._matcher = matcher
        self._batch = batch
        self._plan = plan
        self._name = name
        self._specs = [spec for spec in plan.spans if spec.text_column == name]
        present, members = _shared(batch, name)
        self.missing = batch.rows - sum(map(len, members))
        chosen = present.of_share(plan.share)
        if chosen is not present:
            members_of = dict(zip(present.rows, members, strict=True))
            members = [members_of[row] for row in chosen.rows]
        self.texts, self.rows = chosen.texts, members
        self.leaves_out = bool(self._specs) and plan.on_touched == "keep"
        # The spans that must stay in each text, and the row of each.
        self._intact: list[list[tuple[int, int]]] = [[] for _ in self.texts]
        self._owners: list[list[int]] = [[] for _ in self.texts]
        protected = _protected_together(batch, plan, name, chosen, members)
        self._protected, self.absent = protected.spans, protected.absent
        self.misplaced = dict(protected.misplaced)
        # Rows that are dropped or refused if their text changes, for a span that cannot be moved.
        self._judged_later: set[int] = set()
        if self._specs:
            self._look_at_spans()
        self.without: list[set[int]] = [set() for _ in self.texts]
        self.results: dict[int, ChainedRow] = {}

    @cached_property
    def place_of(self) -> dict[int, int]:
        """The place of the text of each row that has one."""
        return {row: place for place, rows in enumerate(self.rows) for row in rows}

    def _look_at_spans(self) -> None:
        for place, (text, rows) in enumerate(zip(self.texts, self.rows, strict=True)):
            for row in rows:
                spans = spans_of(self._batch, self._specs, row, text)
                if isinstance(spans, str):
                    if not self.leaves_out and row not in self.misplaced:
                        self._judged_later.add(row)
                    self.misplaced[row] = spans
                elif self.leaves_out:
                    self._intact[place] += spans
                    self._owners[place] += [row] * len(spans)

    def leave_alone(self, misplaced: Mapping[int, str]) -> dict[int, str]:
        """Leave all rules out of the texts of rows that have a misplaced span in some column.

        Nobody knows what such a span means, so nothing may move around it. Where rules are left out
        for spans, returns the other rows with these texts, and why: they stay as they are, too.
        """
        sharing: dict[int, str] = {}
        for place, rows in enumerate(self.rows):
            left_alone = (row for row in rows if row in misplaced and row not in self._judged_later)
            first = next(left_alone, None)
            if first is None:
                continue
            self.without[place].update(range(len(self._matcher.rule_ids)))
            if self.leaves_out:
                why = f"{misplaced[first]}, in a row that shares its text"
                sharing |= {row: why for row in rows if row not in misplaced}
        return sharing

    def chain(self, places: Sequence[int]) -> list[ChainedRows]:
        """Apply the rules to the texts at some places; return what they give for each draw."""
        drawn = []
        for draw, among in draws_of(self._batch, [self.rows[place][0] for place in places]):
            of_draw = [places[number] for number in among]
            drawn.append(self._chain_draw(draw, of_draw))
            self.results.update(zip(of_draw, drawn[-1], strict=True))
        return drawn

    def _chain_draw(self, draw: int, places: Sequence[int]) -> ChainedRows:
        def chosen(values: Sequence[Any]) -> list[Any]:
            return [values[place] for place in places]

        return self._matcher.chain(
            chosen(self.texts),
            scope=self._plan.scope,
            protected=None if self._protected is None else chosen(self._protected),
            intact=chosen(self._intact) if self.leaves_out else None,
            without=chosen(self.without) if any(self.without) else None,
            unit=self._plan.unit,
            draw=draw,
        )

    @property
    def changed(self) -> list[int]:
        """The places of the texts that rules changed."""
        return [at for at, old in enumerate(self.texts) if self.results[at].text != old]

    @property
    def undone(self) -> list[int]:
        """The places of the texts that rules changed and changed back."""
        texts = enumerate(self.texts)
        return [at for at, old in texts if self.results[at].steps and self.results[at].text == old]

    def applied(self, place: int) -> set[int]:
        """The rules that changed the text at a place."""
        return {rule for rule, _ in self.results[place].steps}

    def rules_left_out(self, place: int) -> set[int]:
        """The rules that are left out of the text at a place."""
        return self.without[place] | {rule for rule, _ in self.results[place].left_out}

    def require_intact(self) -> None:
        """Refuse the texts if one of them lost something that is protected."""
        if self._protected is None:
            return
        for place in self.changed:
            result = self.results[place]
            require_intact(
                self.texts[place], result.text, result.span_map, self._protected[place],
                rule=" and ".join(self._matcher.rule_ids[rule] for rule, _ in result.steps),
            )  # fmt: skip

    def moved(self) -> tuple[dict[int, dict[str, Any]], dict[int, tuple[str, str]]]:
        """Row → its new values, and row that loses a span → why, and the first rule there."""
        new: dict[int, dict[str, Any]] = {}
        lost: dict[int, tuple[str, str]] = {}
        for place in self.changed:
            result = self.results[place]
            for row in self.rows[place]:
                spans = moved_values(
                    self._batch, row, self.texts[place], result.span_map, self._specs
                )
                if isinstance(spans, str):
                    lost[row] = spans, self._matcher.rule_ids[result.steps[0][0]]
                else:
                    new[row] = {self._name: result.text, **spans}
        return new, lost

    def reasons(self) -> dict[tuple[int, int], str]:
        """Row and rule → why the rule was left out of the row."""
        reasons: dict[tuple[int, int], str] = {}
        for place in range(len(self.texts)):
            for rule, number in self.results[place].left_out:
                start, end = self._intact[place][number]
                span = f"the span {self.texts[place][start:end]!r}"
                owner = self._owners[place][number]
                for row in self.rows[place]:
                    whose = "" if row == owner else " of a row that shares its text"
                    why = f"rule {self._matcher.rule_ids[rule]} would touch {span}{whose}"
                    reasons.setdefault((row, rule), why)
        return reasons


def _agree(columns: Sequence[_ChainColumn]) -> None:
    """Leave a rule out of all columns of a row if it is left out of one.

    The first such rule of a row is left out first: what the rules after it do depends on it.
    """
    rows = sorted({row for column in columns for row in column.place_of})
    while True:
        again: dict[_ChainColumn, set[int]] = {}
        for row in rows:
            places = [(each, each.place_of[row]) for each in columns if row in each.place_of]
            lacking = set().union(*(column.rules_left_out(place) for column, place in places))
            mixed = lacking & set().union(*(column.applied(place) for column, place in places))
            for column, place in places if mixed else ():
                if min(mixed) in column.applied(place):
                    column.without[place].add(min(mixed))
                    again.setdefault(column, set()).add(place)
        if not again:
            return
        for column, changed in again.items():
            column.chain(sorted(changed))


def _shared(batch: Batch, column: str) -> tuple[Texts, Sequence[Sequence[int]]]:
    """The texts of a column, each shared one once, and the rows of each."""
    texts = present_texts(batch, column)
    groups = batch.groups.get(column)
    if groups is None:
        return texts, [(row,) for row in texts.rows]
    members: dict[int, list[int]] = {}
    for row in texts.rows:
        members.setdefault(groups[row], []).append(row)
    firsts = [rows[0] for rows in members.values()]
    of_row = dict(zip(texts.rows, texts.texts, strict=True))
    return Texts([of_row[row] for row in firsts], firsts), list(members.values())


def _protected_together(
    batch: Batch, plan: Plan, column: str, texts: Texts, members: Sequence[Sequence[int]]
) -> ProtectedTexts:
    """What any of the rows that share a text protects in it."""
    if column not in batch.groups:
        return protected_spans(batch, plan, column, texts)
    of_text = dict(zip(texts.rows, texts.texts, strict=True))
    rows = [row for group in members for row in group]
    spread = [of_text[group[0]] for group in members for _ in group]
    protected = protected_spans(batch, plan, column, Texts(spread, rows))
    if protected.spans is None:
        return protected
    of_row = dict(zip(rows, protected.spans, strict=True))
    together: list[Spans] = [
        sorted({span for row in group for span in of_row[row]}) for group in members
    ]
    return replace(protected, spans=together)
