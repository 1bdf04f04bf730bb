"""Rules that would touch a span leave it out, and spans always follow their text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from word_matcher import FILM, WordMatcher, WordRecipe

from sears_dsl.batch.files import ApplyReport, ApplyRequest, apply_file
from sears_dsl.batch.in_memory import apply_to
from sears_dsl.batch.plan import Tally
from sears_dsl.data.span_columns import SpanColumn
from sears_dsl.engine.matcher import Matcher, compile_rules
from sears_dsl.engine.matches import SpanMap, apply_edits
from sears_dsl.errors import DataError
from sears_dsl.language.loader import parse
from sears_dsl.tagging.pinned import PinnedTagger

LINES = ("movie -> film", "a film -> the film", "really -> <>", "very -> very very", "the -> a")
WORDS = ("a", "movie", "film", "the", "really", "very", "it", "is", ".", "The")
MATCHER = WordMatcher(FILM)
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)


def compiled(*lines: str) -> Matcher:
    return compile_rules([parse("\n".join(lines))], tagger=PinnedTagger())


ALL = compiled(*LINES)
ONE_BY_ONE = [compiled(line) for line in LINES]


def one_by_one(
    text: str, spans: list[tuple[int, int]], *, scope: Any
) -> tuple[str, list[tuple[int, int]], set[int]]:
    """Apply rule after rule; a rule whose edits touch a span changes nothing."""
    left_out = set()
    for rule, matcher in enumerate(ONE_BY_ONE):
        for rewrite in matcher.apply([text], scope=scope):
            places = [SpanMap(rewrite.edits).map(*span) for span in spans]
            if None in places:
                left_out.add(rule)
            else:
                text = apply_edits(text, rewrite.edits)
                spans = [place for place in places if place is not None]
    return text, spans, left_out


@st.composite
def texts_with_spans(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    text = draw(TEXT)
    place = st.integers(0, len(text))
    pairs = draw(st.lists(st.tuples(place, place), max_size=3))
    return text, [(min(pair), max(pair)) for pair in pairs]


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(texts_with_spans(), min_size=1, max_size=4),
    scope=st.sampled_from(["first", "all"]),
)
def test_a_span_maps_or_the_rule_is_left_out(
    rows: list[tuple[str, list[tuple[int, int]]]], scope: Any
) -> None:
    texts, spans = [text for text, _ in rows], [own for _, own in rows]
    for done, text, own in zip(
        ALL.chain(texts, scope=scope, intact=spans), texts, spans, strict=True
    ):
        expected, places, left_out = one_by_one(text, own, scope=scope)
        assert done.text == expected
        assert [done.span_map.map(*span) for span in own] == places
        assert {rule for rule, _ in done.left_out} == left_out
        for start, end in own:
            new = done.span_map.map(start, end)
            assert new is not None
            assert done.text[slice(*new)] == text[start:end]


@settings(max_examples=60, deadline=None)
@given(row=texts_with_spans(), other=TEXT)
def test_with_sentences_spans_stay_whole_too(
    row: tuple[str, list[tuple[int, int]]], other: str
) -> None:
    text = f"{row[0]}. It is so. {other}."
    [done] = ALL.chain([text], intact=[row[1]], unit="sentence", scope="all")
    for start, end in row[1]:
        new = done.span_map.map(start, end)
        assert new is not None
        assert done.text[slice(*new)] == text[start:end]


def test_rules_can_be_left_out_of_a_row() -> None:
    done = ALL.chain(["a movie", "a movie"], without=[{0}, ()])
    assert [row.text for row in done] == ["a movie", "a film"]
    assert [row.left_out for row in done] == [(), ()]


def test_a_row_tells_each_rule_that_was_left_out_with_the_first_span_it_would_touch() -> None:
    [done] = ALL.chain(["a movie"], intact=[[(0, 1), (2, 4), (3, 7)]])
    assert done.left_out == ((0, 1),)
    text = "A movie. A movie. The movie."
    spans = [(0, 1), (2, 16)]
    [done] = ALL.chain([text], intact=[spans], unit="sentence")
    assert done.text == "A movie. A movie. A film."
    assert done.left_out == ((0, 1),)


# ---------------------------------------------------------------- rows and columns

SPANS = (SpanColumn.parse("context=answers"),)
ROW = {
    "title": "What movie",
    "context": "a movie of Rome, What a movie",
    "answers": [{"text": "movie", "answer_start": 2}],
}


def chained(rows: list[dict[str, Any]], columns: list[str], **options: Any) -> tuple[Any, Tally]:
    tally = Tally()
    options = {"mode": "chain", "spans": SPANS, "tally": tally, **options}
    return apply_to(rows, MATCHER, column=columns, **options), tally


@pytest.mark.parametrize("columns", [["title", "context"], ["context", "title"]])
def test_a_rule_is_left_out_of_every_column_of_the_row(columns: list[str]) -> None:
    other = {**ROW, "answers": [{"text": "Rome", "answer_start": 11}]}
    [first, second], tally = chained([ROW, other], columns)
    assert first == {
        "title": "Which movie",
        "context": "a movie of Rome, Which a movie",
        "answers": [{"text": "movie", "answer_start": 2}],
    }
    assert second["title"] == "Which film"
    assert second["context"] == "a film of Rome, Which a movie"
    assert second["answers"] == [{"text": "Rome", "answer_start": 10}]
    assert (tally.changed, tally.touched) == (2, 1)
    assert (tally.rules["film"].rows, tally.rules["film"].left_out) == (1, 1)
    assert tally.reasons == [("1", "rule film would touch the span 'movie'")]
    [only], _ = chained([{**ROW, "context": "the movie", "answers": [[4, 9]]}], ["title"])
    assert only["title"] == "Which film"  # no span points into rewritten text


COLUMNS = ("a", "b")
CELL = st.lists(st.sampled_from(["movie", "What", "xyzzy", "it"]), max_size=4).map(" ".join)


@settings(max_examples=100, deadline=None)
@given(
    cells=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=4),
    data=st.data(),
    scope=st.sampled_from(["first", "all"]),
)
def test_in_each_row_a_rule_changes_all_its_columns_or_none(
    cells: list[tuple[str, str]], data: st.DataObject, scope: Any
) -> None:
    """Compared with a plain loop: rule after rule, over both columns of one row at a time."""
    rows, specs = [], [SpanColumn("a", "in_a"), SpanColumn("b", "in_b")]
    for cell in cells:
        row: dict[str, Any] = dict(zip(COLUMNS, cell, strict=True))
        for name, text in zip(COLUMNS, cell, strict=True):
            place = st.integers(0, len(text))
            low, high = sorted((data.draw(place), data.draw(place)))
            row[f"in_{name}"] = [[low, high]]
        rows.append(row)
    done = apply_to(rows, MATCHER, column=list(COLUMNS), mode="chain", spans=specs, scope=scope)
    for row, after in zip(rows, done, strict=True):
        expected = dict(row)
        for word, new in FILM.values():
            trial = dict(expected)
            for name in COLUMNS:
                rewrites = WordMatcher({"x": (word, new)}).apply([trial[name]], scope=scope)
                for rewrite in rewrites:
                    place = SpanMap(rewrite.edits).map(*trial[f"in_{name}"][0])
                    if place is None:
                        break
                    trial |= {name: rewrite.text, f"in_{name}": [list(place)]}
                else:
                    continue
                break
            else:
                expected = trial
        assert after == expected


# ---------------------------------------------------------------- mode each


def test_in_mode_each_a_rewrite_that_touches_a_span_is_not_written() -> None:
    rows = [{**ROW, "id": "p"}, {**ROW, "id": "q", "answers": [[27, 28]]}]
    rows.append({**ROW, "id": "r", "answers": [{"text": "Rome", "answer_start": 10}]})
    tally = Tally()
    options: dict[str, Any] = {"column": "context", "spans": SPANS, "keep": ["answers"]}
    for policy in ("keep", "drop"):
        tally = Tally()
        records = apply_to(rows, MATCHER, on_touched=policy, tally=tally, **options)
        assert [(each["id"], each["rule"], each["answers"]) for each in records] == [
            ("p", "which", [{"text": "movie", "answer_start": 2}]),
            ("q", "film", [[26, 27]]),
            ("q", "which", [[28, 29]]),
        ]
    assert (tally.records, tally.changed, tally.touched, tally.misplaced) == (3, 2, 1, 1)
    assert (tally.rules["film"].rows, tally.rules["film"].left_out) == (1, 1)
    assert tally.reasons == [
        ("p", "the span 'movie' was touched by rule film"),
        ("r", "the text at position 10 is not 'Rome'"),
    ]
    with pytest.raises(DataError, match="the span 'movie' was touched by rule film"):
        apply_to(rows, MATCHER, on_touched="error", **options)


# ---------------------------------------------------------------- files


def run(tmp_path: Path, rows: list[dict[str, Any]], **options: Any) -> tuple[ApplyReport, Any]:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    request = ApplyRequest(
        recipe=WordRecipe(), input=str(source), output=str(output), mode="chain", **options
    )
    report = apply_file(request)
    return report, [json.loads(line) for line in output.read_text().splitlines()]


def test_dropped_rows_are_no_rows_of_any_rule(tmp_path: Path) -> None:
    options: dict[str, Any] = {"columns": ("title", "context"), "spans": SPANS}
    report, after = run(tmp_path, [ROW, {**ROW, "answers": []}], on_touched="drop", **options)
    assert [row["title"] for row in after] == ["Which film"]
    assert report.rules["film"].rows == report.rules["which"].rows == 1
    assert (report.tally.touched, report.tally.records) == (1, 1)


@pytest.mark.parametrize("argument", ["protected", "intact"])
def test_a_span_over_several_sentences_has_no_gap_between_them(argument: str) -> None:
    insertions = compiled("<> -> ok / . __", "<> -> oh / <s> __")
    text = "It is so. It is no."
    for unit in ("text", "sentence"):
        options: dict[str, Any] = {argument: [[(3, 17)]], "unit": unit}
        [done] = insertions.chain([text], scope="first", **options)
        assert done.span_map.map(3, 17) is not None
        assert "is so. It is no" in done.text
    [done] = insertions.chain([text], scope="first", unit="sentence")
    assert done.text.lower() == "oh it is so. ok oh it is no. ok"
