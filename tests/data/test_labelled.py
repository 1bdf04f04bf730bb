"""Labelled rows: an error names the place of a missing value, however late in the file."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.data.labelled import LabelledRows, read_labelled, read_texts
from sears_dsl.effects.asked_model import try_model
from sears_dsl.errors import DataError
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.function import CallablePredictor


def written(folder: Path, rows: list[dict[str, str]]) -> str:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def test_a_column_that_ends_late_in_the_file_is_reported_with_its_row(tmp_path: Path) -> None:
    row = {"text": "A fun film.", "label": "positive"}
    # More rows than are read at once, so that whole parts of the file have no such column.
    path = written(tmp_path, [row] * 11_000 + [{"text": row["text"]}] * 11_000)
    with pytest.raises(DataError, match="row 11001"):
        read_labelled(path, column="text", label="label")
    path = written(tmp_path, [row] * 11_000 + [{"label": row["label"]}] * 11_000)
    notes = read_labelled(path, column="text", label="label").notes
    assert notes == ("11,000 rows have an empty text; the first is row 11,001",)


@given(st.lists(st.sampled_from("aaab"), min_size=1, max_size=60), st.integers(1, 70))
def test_a_sample_has_each_label_with_its_share_in_the_order_of_the_file(
    letters: list[str], count: int
) -> None:
    rows = tuple({"text": str(number)} for number in range(1, len(letters) + 1))
    data = LabelledRows(rows, "text", tuple((letter,) for letter in letters), "a.csv")
    found = data.sampled(count, seed=3)
    assert len(found.rows) == min(count, len(rows))
    numbers = [found.number(place) for place in range(len(found.rows))]
    assert [row["text"] for row in found.rows] == list(map(str, numbers))
    assert numbers == sorted(set(numbers))
    assert found.labels == tuple((letters[number - 1],) for number in numbers)
    assert found.sampled(count, seed=3).rows == data.sampled(count, seed=3).rows
    if count >= 4:
        share = letters.count("b") * min(count, len(rows)) / len(rows)
        assert abs(sum(of_row == ("b",) for of_row in found.labels) - share) < 1


def test_names_of_classes_are_labels_if_more_answers_are_names_than_numbers() -> None:
    rows = tuple({"text": str(number)} for number in range(3))
    # A row without a label has the number -1.
    labels = (("0",), ("1",), ("-1",))
    data = LabelledRows(rows, "text", labels, "a.csv", class_names=("neg", "pos"))
    named = data.as_answered(["pos", "neg", "other"])
    assert named.labels == (("neg",), ("pos",), ("-1",))
    assert named.digest == data.digest
    assert named.part([1, 2]).digest == data.part([1, 2]).digest
    for answers in (["0", "1"], ["pos", "1"], ["POS", "NEG"], []):
        assert data.as_answered(answers) is data
    stars = replace(data, class_names=("1", "2", "3"))
    assert stars.as_answered(["3", "1"]).labels == (("1",), ("2",), ("-1",))
    assert stars.ambiguous_classes == ("1", "2")
    assert not replace(data, class_names=("0", "1")).ambiguous_classes
    assert stars.as_named().labels == (("1",), ("2",), ("-1",))
    several = replace(data, labels=(("0|1",), ("",), ("1",)))
    assert several.as_answered(["neg|pos", ""]).labels == (("neg|pos",), ("",), ("pos",))


def test_a_sample_of_a_sorted_file_has_all_labels_and_another_seed_draws_other_rows() -> None:
    rows = tuple({"text": str(number)} for number in range(100))
    data = LabelledRows(rows, "text", (("neg",),) * 50 + (("pos",),) * 50, "a.csv")
    found = data.sampled(10)
    assert found.labels == (("neg",),) * 5 + (("pos",),) * 5
    assert found.rows != data.sampled(10, seed=1).rows
    for seed in range(-3, 3):
        assert data.sampled(4, seed=seed).labels == (("neg",),) * 2 + (("pos",),) * 2


def test_the_digest_is_of_texts_and_labels_and_of_what_rules_rewrite() -> None:
    row = {"text": "A film.", "about": "It."}
    data = read_labelled([row], column="text", also=["about"])
    turned = read_labelled([dict(reversed(row.items()))], column="text", also=["about"])
    assert list(turned.rows[0]) != list(data.rows[0])
    assert turned.digest == data.digest
    assert read_labelled([row], column="about", also=["text"]).digest != data.digest
    pictures = [
        LabelledRows(
            ({"text": "What?", "image": f"{folder}a.png", "choices": "a|b"},), "text", None, "a",
            image="image", choices="choices", folder=folder,
        )
        for folder in ("", "/here/", "/there/")
    ]  # fmt: skip
    assert len({each.digest for each in pictures}) == 1
    assert pictures[0].other_texts(0) == ()


def test_half_a_character_is_reported_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "fun"}\n{"text": "A \\ud83d film"}\n')
    data = read_labelled(str(path))
    with pytest.raises(DataError, match=r"row 2: text holds half of a character \(U\+D83D\) at"):
        data.require_characters()


def test_a_model_that_contradicts_itself_is_reported_and_its_first_answer_counts() -> None:
    turns = count()
    rows = tuple({"text": str(number)} for number in range(8))
    data = LabelledRows(rows, "text", (("0",), ("1",)) * 4, "a.csv")
    restless = CachedPredictor(
        CallablePredictor(lambda texts: [next(turns) // 8 % 2 for _ in texts])
    )
    (warning,) = try_model(data, restless)
    assert "changes its answer to 4 of 4 rows when asked again" in warning
    assert restless.predict(rows) == ["0"] * 8
    steady = CachedPredictor(CallablePredictor(lambda texts: [0 for _ in texts]))
    assert try_model(data, steady) == ()


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        (
            [("A film.", "pos"), ("A play.", "neg"), ("A play.", "pos"), ("A play.", "neg"),
             ("A film.", "neg"), ("A book.", "pos"), ("A book.", "pos")],
            "5 rows have the text of another row and another label, such as rows 1 and 5 "
            "('pos' and 'neg'): no model gets all of them right",
        ),
        ([("A film.", "pos"), ("A film.", "pos"), ("A Film.", "neg")], None),
        # Several answers count as right, and one of them is right in both rows.
        ([("What is it?", ["red", "green"]), ("What is it?", ["green", "blue"])], None),
    ],
)  # fmt: skip
def test_equal_rows_with_different_labels_are_reported(
    rows: list[tuple[str, object]], note: str | None
) -> None:
    data = read_labelled([{"text": text, "label": label} for text, label in rows], label="label")
    assert data.notes == (() if note is None else (note,))
    assert len(data.rows) == len(rows)


def test_a_column_of_labels_that_nobody_named_is_reported() -> None:
    rows = [{"text": "A film.", "Label": "good"}, {"text": "A play.", "Label": "bad"}]
    [note] = read_labelled(rows, column="text").notes
    assert note == "the column 'Label' is not used; to read labels from it, name it with --label"
    assert read_labelled(rows, column="text", label="Label").notes == ()
    assert read_labelled(rows, column="text", also=["Label"]).notes == ()


def test_what_the_model_reads_besides_and_how_answers_are_compared_tell_rows_apart() -> None:
    rows = [{"text": "Is it?", "about": about, "label": label}
            for about, label in (("a film", "1.0"), ("a play", "1.1"))]  # fmt: skip
    assert read_labelled(rows, column="text", label="label", also=["about"]).notes == ()
    assert len(read_labelled(rows, column="text", label="label").notes) == 1
    assert len(read_labelled(rows, column="text,about", label="label", also=["about"]).notes) == 0
    # A model that answers with a number in between is right on both.
    near = read_labelled(rows, column="text", label="label", comparison="within:0.5")
    assert near.notes == ()


def test_texts_and_pairs_of_a_generator_are_read_once() -> None:
    assert read_texts((text for text in ("It is.", "A movie.")), like="text") == [
        "It is.",
        "A movie.",
    ]
    pairs = ((text, "good") for text in ("It is.", "A movie."))
    assert read_labelled(pairs, label="label").labels == (("good",), ("good",))


def test_a_column_that_is_named_is_read_whatever_is_usual() -> None:
    rows = [{"text": "It is.", "note": "A film."}]
    assert read_texts(rows, column="note", like="text") == ["A film."]
    rows = [{"text": "What is it?", "said": [{"answer": "red"}, {"answer": "red"}]}]  # type: ignore[dict-item]
    assert read_labelled(rows, column="text", label="said").labels == (("red",),)


def test_texts_are_read_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(b"It is.\nA movie.\n"))
    monkeypatch.setattr("sys.stdin", stream)
    assert read_texts("-", like="text") == ["It is.", "A movie."]
