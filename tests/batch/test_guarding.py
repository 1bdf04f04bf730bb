"""After all rules protected text is checked again: a fault never becomes a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from sears_dsl.batch.guarding import guard_rewrites, require_intact
from sears_dsl.batch.in_memory import apply_to
from sears_dsl.batch.plan import Tally
from sears_dsl.data.labelled import read_labelled
from sears_dsl.data.protection import Protection
from sears_dsl.data.span_columns import SpanColumn
from sears_dsl.engine.chain import ChainedRow, ChainedRows
from sears_dsl.engine.matches import Edit, Rewrite, SpanMap
from sears_dsl.engine.rewrite.rewrites import Rewrites
from sears_dsl.errors import DataError, InternalError
from sears_dsl.language.loader import parse
from sears_dsl.tagging.pinned import PinnedTagger


class Careless:
    """A matcher that forgets what is protected."""

    rule_ids = ("careless",)
    composed = False

    def apply(self, texts: Sequence[str], **_: Any) -> Rewrites:
        return Rewrites(
            [
                Rewrite(0, row, text, "x" + text[1:], (Edit(0, 1, text[0], "x"),))
                for row, text in enumerate(texts)
            ]
        )

    def chain(self, texts: Sequence[str], **_: Any) -> ChainedRows:
        rows = [
            ChainedRow(text, "x" + text[1:], ((0, (Edit(0, 1, text[0], "x"),)),)) for text in texts
        ]
        return ChainedRows([row.text for row in rows], lambda: rows)


@pytest.mark.parametrize("mode", ["each", "chain"])
def test_a_matcher_that_changes_what_is_protected_gives_no_row(mode: Any) -> None:
    rows = [{"text": "red car", "answer": "car"}, {"text": "red car", "answer": "red"}]
    assert apply_to(rows[:1], Careless(), column="text", protect=["answer"], mode=mode)
    with pytest.raises(InternalError, match="careless changed the protected 'red' at position 0"):
        apply_to(rows, Careless(), column="text", protect=["answer"], mode=mode)


def test_a_place_has_to_hold_the_same_characters_and_not_only_be_there() -> None:
    moved = SpanMap([Edit(0, 0, "", "a ")])
    require_intact("red car", "a red car", moved, [(0, 3), (4, 7), (5, 5)], rule="a")
    with pytest.raises(InternalError):
        require_intact("red car", "a rad car", moved, [(0, 3)], rule="a")
    with pytest.raises(InternalError):
        require_intact("red car", "a car", SpanMap([Edit(0, 3, "red", "a")]), [(0, 3)], rule="a")


def test_rewrites_that_touch_a_span_are_left_out_and_counted() -> None:
    texts = ["a red car", "a red bus"]
    rows = [{"text": texts[0], "spans": [[2, 5]]}, {"text": texts[1], "spans": [[6, 9]]}]
    protection = Protection((), (SpanColumn.parse("text=spans"),))
    guards = read_labelled(rows, column="text", protection=protection).guards
    done = parse("red -> blue\na -> the").compile(tagger=PinnedTagger()).apply(texts)
    kept, left_out = guard_rewrites(done, guards)
    assert [rewrite.text for rewrite in kept] == [
        "the red car",
        "a blue bus",
        "the red bus",
    ]
    assert left_out == {0: 1}
    assert guard_rewrites(done, None)[0] is done
    assert isinstance(kept, Rewrites)


def test_a_row_is_undone_if_no_column_of_it_changes() -> None:
    matcher = parse("movie -> film\nfilm -> movie\nplay -> show").compile(tagger=PinnedTagger())
    rows = [{"a": "A movie", "b": "A play"}, {"a": "A movie", "b": "A cat"}]
    tally = Tally()
    done = apply_to(rows, matcher, column=["a", "b"], mode="chain", tally=tally)
    assert done == [{"a": "A movie", "b": "A show"}, rows[1]]
    assert (tally.changed, tally.undone) == (1, 1)


def test_of_many_reasons_the_first_thousand_are_kept() -> None:
    tally, more = (Tally(reasons=[(name, "why")] * 900) for name in ("a", "b"))
    tally.add(more)
    assert [name for name, _ in tally.reasons] == ["a"] * 900 + ["b"] * 100


def test_values_that_the_text_lacks_are_counted_and_misplaced_rows_stay() -> None:
    matcher = parse("car -> bus").compile(tagger=PinnedTagger())
    rows = [
        {"text": "a red car", "answer": "blue"},
        {"text": "a red car", "answer": [{"text": "red", "answer_start": 1}]},
        {"text": "a red car", "answer": "red"},
    ]
    for mode in ("each", "chain"):
        tally = Tally()
        apply_to(rows, matcher, column="text", protect=["answer"], mode=mode, tally=tally)  # type: ignore[arg-type]
        assert (tally.changed, tally.absent, tally.misplaced) == (2, 1, 1)
        assert tally.reasons == [
            ("1", "'blue' is not in the text"),
            ("2", "the text at position 1 is not 'red'"),
        ]


@pytest.mark.parametrize("columns", [["title", "text"], ["text", "title"]])
def test_a_misplaced_span_keeps_its_row_in_whatever_order_columns_are_named(
    columns: list[str],
) -> None:
    matcher = parse("movie -> film").compile(tagger=PinnedTagger())
    rows = [{"title": "A movie", "text": "A movie is red", "start": "2", "answer": "red"}]
    spans = (SpanColumn.parse("text=start+answer"),)
    for mode, of_rows in (("each", []), ("chain", rows)):
        tally = Tally()
        options: dict[str, Any] = {"column": columns, "mode": mode, "spans": spans}
        assert apply_to(rows, matcher, tally=tally, **options) == of_rows
        assert tally.reasons == [("1", "the text at position 2 is not 'red'")]
        with pytest.raises(DataError, match=r"row 1: the text at position 2 is not 'red'\n"):
            apply_to(rows, matcher, on_touched="error", **options)


@pytest.mark.parametrize("columns", [["title", "text"], ["text", "title"]])
@pytest.mark.parametrize("on_touched", ["keep", "drop", "error"])
def test_a_misplaced_answer_keeps_all_columns_of_its_row(
    columns: list[str], on_touched: Any
) -> None:
    matcher = parse("movie -> film").compile(tagger=PinnedTagger())
    answer = [{"answer_start": 14, "text": "red"}]
    rows = [
        {"title": "A movie", "text": "What movie is red?", "answer": answer},
        {"title": "What movie is red?", "text": "What movie is red?", "answer": answer},
    ]
    for mode, unchanged in (("each", []), ("chain", rows[:1])):
        tally = Tally()
        options: dict[str, Any] = {"mode": mode, "on_touched": on_touched, "tally": tally}
        done = apply_to(rows, matcher, column=columns, protect=["answer"], **options)
        assert done[: len(unchanged)] == unchanged
        assert (tally.changed, tally.misplaced, tally.dropped) == (1, 1, 0)
        assert "film" in str(done[len(unchanged) :])
