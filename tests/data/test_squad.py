"""SQuAD files: questions as rows, contexts rewritten once, answers carried along."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from word_matcher import WordRecipe

from sears_dsl.batch.files import ApplyReport, ApplyRequest, apply_file
from sears_dsl.data.batches import ReadOptions
from sears_dsl.data.dataset import Dataset
from sears_dsl.data.span_columns import SpanColumn
from sears_dsl.errors import DataError, UsageError

DATA = Path(os.environ.get("SEARS_DATA", Path(__file__).parents[3] / "shared" / "data"))


def question(number: int, text: str, *answers: tuple[str, int], **more: Any) -> dict[str, Any]:
    found = [{"text": answer, "answer_start": start} for answer, start in answers]
    return {"id": f"q{number}", "question": text, "answers": found, **more}


CONTEXT = "What a movie: a movie about Rome ."
SMALL = {
    "version": "v2.0",
    "data": [
        {
            "title": "Film",
            "paragraphs": [
                {
                    "context": CONTEXT,
                    "qas": [
                        question(1, "What city?", ("Rome", 28), is_impossible=False),
                        question(
                            2,
                            "Which movie?",
                            is_impossible=True,
                            plausible_answers=[{"text": "Rome", "answer_start": 28}],
                        ),
                    ],
                },
                {"context": "A movie, untouchable.", "qas": [question(3, "?", ("movie", 2))]},
            ],
            "extra": [1.0, None],
        },
        {"title": "Née", "paragraphs": [{"context": "No rule here.", "qas": [question(4, "?")]}]},
    ],
    "licence": "x",
}


def run(
    tmp_path: Path, value: Any, *, separators: tuple[str, str] = (", ", ": "), **options: Any
) -> tuple[ApplyReport, Any]:
    source, output = tmp_path / "in.json", tmp_path / "out.json"
    source.write_text(json.dumps(value, separators=separators))
    request = ApplyRequest(
        recipe=WordRecipe(), input=str(source), output=str(output), mode="chain", **options
    )
    report = apply_file(request)
    return report, json.loads(output.read_text())


def questions(value: Any) -> dict[str, tuple[str, dict[str, Any]]]:
    return {
        asked["id"]: (paragraph["context"], asked)
        for article in value["data"]
        for paragraph in article["paragraphs"]
        for asked in paragraph["qas"]
    }


def assert_answers_stand(value: Any) -> None:
    for context, asked in questions(value).values():
        for answer in [*asked["answers"], *asked.get("plausible_answers", [])]:
            start = answer["answer_start"]
            assert context[start : start + len(answer["text"])] == answer["text"]


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_questions_are_rows(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(SMALL))
    batches = list(Dataset(str(path), options=ReadOptions(rows=rows)).batches())
    assert [list(batch.columns["id"]) for batch in batches] == (
        [["q1", "q2", "q3", "q4"]] if rows == 100 else [["q1", "q2", "q3"], ["q4"]]
    )
    assert batches[0].columns["context"][0] == CONTEXT
    assert batches[0].columns["title"][0] == "Film"
    assert batches[0].columns["answers"][0] == [{"text": "Rome", "answer_start": 28}]


def test_contexts_are_rewritten_once_and_answers_move(tmp_path: Path) -> None:
    report, after = run(tmp_path, SMALL, columns=("context",), scope="all")
    assert_answers_stand(after)
    assert after["version"] == "v2.0"
    assert after["licence"] == "x"
    first = after["data"][0]
    assert first["extra"] == [1.0, None]
    assert first["paragraphs"][0]["context"] == "Which a film: a film about Rome ."
    assert first["paragraphs"][0]["qas"][1]["plausible_answers"][0]["answer_start"] == 27
    # The only answer of the second paragraph would be touched by the only rule that fires there.
    assert first["paragraphs"][1] == SMALL["data"][0]["paragraphs"][1]
    assert after["data"][1] == SMALL["data"][1]
    assert report.tally.reasons == [("q3", "rule film would touch the span 'movie'")]
    assert (report.tally.rows, report.tally.changed) == (4, 2)
    assert report.rules["film"].edits == 2


def test_a_rule_that_touches_an_answer_is_left_out_of_that_paragraph_alone(tmp_path: Path) -> None:
    value = json.loads(json.dumps(SMALL))
    value["data"][0]["paragraphs"][0]["qas"].append(question(5, "?", ("movie", 7)))
    value["data"][1]["paragraphs"][0]["context"] = "No movie here."
    report, after = run(tmp_path, value, columns=("context",))
    assert_answers_stand(after)
    contexts = {name: context for name, (context, _) in questions(after).items()}
    assert contexts["q1"] == contexts["q5"] == "Which a movie: a movie about Rome ."
    assert contexts["q4"] == "No film here."
    why = "rule film would touch the span 'movie'"
    shared = f"{why} of a row that shares its text"
    assert report.tally.reasons == [("q1", shared), ("q2", shared), ("q5", why), ("q3", why)]
    assert (report.tally.touched, report.tally.changed) == (4, 4)
    assert (report.rules["film"].rows, report.rules["film"].left_out) == (1, 4)
    assert (report.rules["which"].rows, report.rules["which"].left_out) == (3, 0)


def test_an_answer_that_is_not_where_it_says_is_reported_and_nothing_moves(tmp_path: Path) -> None:
    value = json.loads(json.dumps(SMALL))
    value["data"][0]["paragraphs"][0]["qas"][0]["answers"][0]["answer_start"] = 27
    value["data"][1]["paragraphs"][0]["qas"][0]["answers"] = [{"text": "Bob", "answer_start": 3}]
    report, after = run(tmp_path, value, columns=("context", "question"), scope="all")
    assert after == value
    assert report.tally.misplaced == 3
    assert report.tally.reasons == [
        ("q1", "the text at position 27 is not 'Rome'"),
        ("q2", "the text at position 27 is not 'Rome', in a row that shares its text"),
        ("q3", "rule film would touch the span 'movie'"),
        ("q4", "the text at position 3 is not 'Bob'"),
    ]
    assert (report.tally.touched, report.tally.changed) == (1, 0)
    with pytest.raises(DataError, match=r"row 1 \(id q1\): the text at position 27 is not 'Rome'"):
        run(tmp_path, value, columns=("context",), on_touched="error")


@pytest.mark.parametrize("start", [-1, -20, 1800])
@pytest.mark.parametrize("protect", [(), ("answers",)])
def test_an_answer_that_is_nowhere_leaves_its_own_row_alone(
    tmp_path: Path, start: int, protect: tuple[str, ...]
) -> None:
    """Some files say -1 where there is no answer."""
    value = json.loads(json.dumps(SMALL))
    [answer] = value["data"][0]["paragraphs"][0]["qas"][0]["answers"]
    answer["answer_start"] = start
    value["data"][1]["paragraphs"][0]["context"] = "No movie here."
    report, after = run(tmp_path, value, columns=("context",), protect=protect)
    assert report.tally.misplaced == 2
    assert after["data"][0] == value["data"][0]
    assert questions(after)["q4"][0] == "No film here."


def test_touched_questions_can_be_dropped_or_refused(tmp_path: Path) -> None:
    report, after = run(tmp_path, SMALL, columns=("context",), on_touched="drop")
    assert set(questions(after)) == {"q1", "q2", "q4"}
    assert len(after["data"][0]["paragraphs"]) == 1
    assert report.tally.records == 3
    with pytest.raises(DataError, match=r"row 3 \(id q3\): the span 'movie' was touched by rule"):
        run(tmp_path, SMALL, columns=("context",), on_touched="error")


def test_protected_answers_are_never_touched(tmp_path: Path) -> None:
    report, after = run(tmp_path, SMALL, columns=("context",), protect=("answers",))
    assert questions(after)["q3"][0] == "A movie, untouchable."
    assert report.tally.touched == 0
    assert_answers_stand(after)


def test_questions_are_rewritten_too(tmp_path: Path) -> None:
    _, after = run(tmp_path, SMALL)
    assert questions(after)["q1"][1]["question"] == "Which city?"
    assert questions(after)["q2"][1]["question"] == "Which film?"
    assert questions(after)["q1"][0] == CONTEXT


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
def test_what_no_rule_changed_is_written_as_it_stood(
    tmp_path: Path, separators: tuple[str, str]
) -> None:
    value = {"data": SMALL["data"][1:], "version": "1.1"}
    run(tmp_path, value, columns=("context",), separators=separators)
    assert (tmp_path / "out.json").read_bytes() == (tmp_path / "in.json").read_bytes()


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
@pytest.mark.parametrize("name", ["Rome", "Séville"])
def test_new_values_are_written_like_those_of_the_file(
    tmp_path: Path, separators: tuple[str, str], name: str
) -> None:
    value = json.loads(json.dumps(SMALL).replace("Rome", name))
    source, output = tmp_path / "in.json", tmp_path / "out.json"
    for ascii_only in (True, False):
        style: dict[str, Any] = {"separators": separators, "ensure_ascii": ascii_only}
        source.write_text(json.dumps(value, **style), "utf-8")
        request = ApplyRequest(
            recipe=WordRecipe(), input=str(source), output=str(output), mode="chain",
            columns=("context",),
        )  # fmt: skip
        apply_file(request)
        written = output.read_text("utf-8")
        assert "film" in written
        assert written == json.dumps(json.loads(written), **style)


def test_in_a_changed_article_too_only_what_changed_is_written_anew(tmp_path: Path) -> None:
    source = """{"data": [
      {"title": "T",  "paragraphs" : [
        {"emptied": "mine", "score": 1.50, "context": "A movie.", "qas": [
          {"id": "a", "question": "Wh\\u0065n?", "n": 12345678901234567890.10, "answers": []},
          {"id": "b", "question": "A movie?", "answers": [ ]}
        ]},
        {"context": "It.", "qas": [{"id": "c", "question": "?", "answers": []} ], "qas2": 1e2}
      ]}
    ]}"""
    (tmp_path / "in.json").write_text(source)
    output = tmp_path / "out.json"
    request = ApplyRequest(
        recipe=WordRecipe(), input=str(tmp_path / "in.json"), output=str(output), mode="chain",
        columns=("context", "question"),
    )  # fmt: skip
    apply_file(request)
    assert output.read_text() == source.replace("movie", "film")
    (tmp_path / "in.json").write_text(
        source.replace("A movie?", "movie").replace("[ ]", "[[0, 5]]")
    )
    spans = (SpanColumn("question", "answers"),)
    apply_file(replace(request, columns=("question",), spans=spans, on_touched="drop"))
    written = output.read_text()
    assert list(questions(json.loads(written))) == ["a", "c"]
    assert '"n": 12345678901234567890.10, "answers": []}]}' in written
    shortened = replace(request, reading=ReadOptions(limit=1))
    (tmp_path / "in.json").write_text(source)
    apply_file(shortened)
    assert list(questions(json.loads(output.read_text()))) == ["a"]
    assert '"score": 1.50, "context": "A film."' in output.read_text()


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4, 9])
def test_a_limit_counts_questions(tmp_path: Path, limit: int) -> None:
    report, after = run(
        tmp_path, SMALL, columns=("context",), reading=ReadOptions(limit=limit, rows=1)
    )
    assert report.tally.rows == min(limit, 4)
    assert list(questions(after)) == ["q1", "q2", "q3", "q4"][:limit]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"version": "1"}, "has no 'data'"),
        ({"data": [{"title": "x"}]}, r"data\[0\] has no list called 'paragraphs'"),
        (
            {"data": [{"paragraphs": [{"context": "", "qas": [{"id": "1"}]}]}]},
            r"data\[0\]\.paragraphs\[0\]\.qas\[0\] has no text called 'question'",
        ),
        ({"data": [7]}, r"data\[0\] has no"),
    ],
)
def test_what_is_no_squad_is_refused(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        run(tmp_path, value, columns=("question",))


def test_records_cannot_be_written_as_squad(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("What a movie")
    request = ApplyRequest(
        recipe=WordRecipe(), input=str(path), output="x.json", output_format="squad"
    )
    with pytest.raises(UsageError, match="only from a SQuAD file and with --mode chain"):
        apply_file(request)


def test_real_answers_stand_after_the_rewrite(tmp_path: Path) -> None:
    path = DATA / "squad" / "dev-v1.1.json"
    if not path.is_file():
        pytest.skip(f"the SQuAD data is not there: {path}")
    value = json.loads(path.read_bytes())
    value["data"] = value["data"][:6]
    small = tmp_path / "in.json"
    small.write_text(json.dumps(value))
    recipe = WordRecipe(rules=(("the", "the", "that"), ("of", "of", "out of"), ("in", "in", "")))
    request = ApplyRequest(
        recipe=recipe,
        input=str(small),
        output=str(tmp_path / "out.json"),
        mode="chain",
        columns=("context",),
        protect=("answers",),
    )
    report = apply_file(request)
    after = json.loads((tmp_path / "out.json").read_bytes())
    assert_answers_stand(after)
    assert report.tally.changed > 0.9 * report.tally.rows
    assert report.tally.touched == 0
