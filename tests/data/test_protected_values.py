"""Protected text, given by values or spans; an error where a value does not occur."""

from __future__ import annotations

from typing import Any

import pytest

from sears_dsl.data.labelled import read_labelled
from sears_dsl.data.protection import Guard, Protection
from sears_dsl.data.span_columns import SpanColumn
from sears_dsl.errors import DataError, UsageError

TEXT = "Paris is in France; Paris."


def guard(value: Any) -> Any:
    return Protection(("answers",)).guard({"answers": value}, column="text", text=TEXT)


@pytest.mark.parametrize(
    ("value", "places"),
    [
        ("Paris", [(0, 5), (20, 25)]),
        (["France", "Paris"], [(12, 18), (0, 5), (20, 25)]),
        ([{"text": "Paris", "answer_start": 20}], [(20, 25)]),
        ({"text": ["France"], "answer_start": [12]}, [(12, 18)]),
        ([[0, 5]], [(0, 5)]),
        (None, []),
        ("", []),
        ([], []),
        (float("nan"), []),
    ],
)
def test_values_protect_where_they_stand(value: Any, places: list[tuple[int, int]]) -> None:
    found = guard(value)
    assert list(found.protected) == places
    assert not found.absent
    assert not found.misplaced


def test_a_value_that_the_text_lacks_is_reported() -> None:
    assert guard("Rome").absent == "'Rome' is not in the text"
    assert list(guard(["Paris", "Rome"]).protected) == [(0, 5), (20, 25)]
    assert guard(["Paris", "Rome"]).absent == "'Rome' is not in the text"
    assert guard([{"text": "Rome", "answer_start": -1}]).absent


def test_a_row_with_a_misplaced_span_stays_as_a_whole() -> None:
    found = guard([{"text": "Paris", "answer_start": 1}])
    assert list(found.protected) == [(0, len(TEXT))]
    assert found.misplaced == "the text at position 1 is not 'Paris'"
    assert not found.stays_in(TEXT)
    rows = [{"title": "Paris", "text": TEXT, "answers": [[90, 95]]}]
    protection = Protection((), (SpanColumn.parse("text=answers"),))
    guards = read_labelled(rows, column="title+text", protection=protection).guards
    assert guards is not None
    assert guards.protected == [[(0, len(f"Paris\n\n{TEXT}"))]]
    assert "so no rule rewrites the text that it is for: row 1, the span 90:95" in guards.notes[0]
    rows[0]["answers"] = [[0, 5]]
    guards = read_labelled(rows, column="title+text", protection=protection).guards
    assert guards is not None
    assert list(guards.rows[0].carried) == [(7, 12)]


def test_spans_of_another_text_protect_nothing_here() -> None:
    spans = (SpanColumn.parse("question=start:end"),)
    protection = Protection(("start",), spans)
    cells = {"start": 0, "end": 5}
    assert not protection.guard(cells, column="text", text=TEXT).protected
    assert list(protection.guard(cells, column="question", text=TEXT).protected) == [(0, 5)]


def test_a_rewording_keeps_what_must_stay_as_often_as_it_stood() -> None:
    found = guard("Paris")
    assert found.stays_in("In France is Paris, Paris!")
    assert not found.stays_in("It is in France: Paris.")


def test_a_rewording_of_two_columns_has_as_many_parts() -> None:
    both = Guard("a\n\nb", borders=[(1, 3)])
    assert both.stays_in("c\n\nd")
    assert not both.stays_in("c d")
    assert not both.stays_in("c\n\nd\n\ne")


def test_rows_of_a_squad_file_protect_their_own_answers_alone() -> None:
    def question(name: str, text: str, start: int) -> dict[str, Any]:
        return {
            "id": name,
            "question": "Where?",
            "answers": [{"text": text, "answer_start": start}],
        }

    rows = [
        {"context": TEXT, **question("1", "Paris", 20)},
        {"context": TEXT, **question("2", "France", 12)},
    ]
    data = read_labelled(rows, column="context", protection=Protection(("answers",)))
    assert data.guards is not None
    assert [list(spans) for spans in data.guards.protected] == [[(20, 25)], [(12, 18)]]


def test_what_cannot_be_protected_is_refused() -> None:
    rows = [{"text": TEXT, "start": "3", "end": "x"}]
    spans = (SpanColumn.parse("text=start:end"),)
    with pytest.raises(UsageError, match="nothing to rewrite: text is protected"):
        read_labelled(rows, column="text", protection=Protection(("text",)))
    with pytest.raises(DataError, match="has no column 'answer'"):
        read_labelled(rows, column="text", protection=Protection(("answer",)))
    for column in ("text", "text,start"):
        with pytest.raises(DataError, match="row 1, column start/end: 'x' is not a position"):
            read_labelled(rows, column=column, protection=Protection((), spans))
    with pytest.raises(UsageError, match="--also start: it holds positions in text"):
        read_labelled(rows, column="text", also=["start"], protection=Protection((), spans))


def test_notes_count_the_rows() -> None:
    texts, answers = ("a red car", "a car", "a bus"), ("red", "red", "blue")
    rows = [{"text": text, "answer": each} for text, each in zip(texts, answers, strict=True)]
    guards = read_labelled(rows, column="text", protection=Protection(("answer",))).guards
    assert guards is not None
    assert guards.notes == (
        "2 rows have a protected value that is not in the text: row 2, 'red' is not in the text",
    )
    assert guards.part([0]).notes == ()


def test_notes_count_rows_and_not_their_copies() -> None:
    rows = [
        {"a": "A car.", "b": "A bus.", "answer": "car"},
        {"a": "It is red.", "b": "It is.", "answer": "blue"},
    ]
    data = read_labelled(rows, column="a,b", protection=Protection(("answer",)))
    assert data.guards is not None
    of_both = "a protected value that is not in the text: row"
    assert data.guards.notes == (f"2 rows have {of_both} 1, 'car' is not in the text",)
    part = data.part([3, 2]).guards
    assert part is not None
    assert part.notes == (f"1 row has {of_both} 2, 'blue' is not in the text",)


def test_what_is_missing_is_no_span_whatever_holds_it() -> None:
    nothing = float("nan")
    for written in ("text=start+answer", "text=start:end", "text=spans"):
        spec = SpanColumn.parse(written)
        cells = dict.fromkeys(("start", "end", "answer", "spans"), nothing)
        guard = Protection((), (spec,)).guard(cells, column="text", text=TEXT)
        assert (guard.carried, guard.misplaced) == ([], "")
    spans = Protection((), (SpanColumn.parse("text=start+answer"),))
    cells = {"start": 3.0, "answer": nothing}
    assert spans.guard(cells, column="text", text=TEXT).carried == [(3, 3)]
