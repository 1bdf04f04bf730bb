"""Computed slices: of texts, of annotators, of the model's own answers."""

from __future__ import annotations

import json
import os
import random
import re
import string
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sears_dsl as sears
from sears_dsl.answers import REFUSED, answers_equal
from sears_dsl.auditing.slices import (
    EMPTY,
    OTHER,
    Computed,
    SliceResult,
    largest,
    parse_computed,
    parts_of,
    read_slicings,
    slice_results,
    slicings,
    sort_parts,
)
from sears_dsl.data.labelled import read_labelled
from sears_dsl.effects.rule_effects import Effects
from sears_dsl.errors import DataError, UsageError
from sears_dsl.models.predictor import Answer

DATA = Path(os.environ.get("SEARS_DATA", Path(__file__).parents[3] / "shared" / "data"))
ROWS: list[dict[str, Any]] = [
    {"q": "Who is it?", "answers": [{"text": "Ada"}, {"text": "the Ada!"}, {"text": "Bob"}]},
    {"q": "how  many are there", "answers": {"text": ["two"], "answer_start": [3]}},
    {"q": "What's it", "answers": []},
    {"q": "", "answers": None},
]


def test_values_are_those_of_texts_and_annotators() -> None:
    found = read_slicings(ROWS, ["words(q)", "first-word(q)", "agreement(answers)"])
    words, first, agreement = found.values()
    assert isinstance(words, Computed)
    assert isinstance(first, Computed)
    assert isinstance(agreement, Computed)
    assert words.values() == [3, 4, 2, 0]
    assert words.parts() == ["3 words", "4 words", "2 words", "0 words"]
    assert first.values() == ["who", "how", "other", None]
    assert agreement.values() == [pytest.approx(2 / 3), 1, None, None]
    assert agreement.parts() == ["67%", "100%", "(empty)", "(empty)"]


@pytest.mark.parametrize("empty", ["null", "NaN"])
def test_a_cell_that_holds_nothing_has_no_value(empty: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        f'{{"q": "Who is it?", "a": [{empty}, "Ada"]}}\n{{"q": {empty}, "a": {empty}}}\n'
    )
    slicings = read_slicings(str(path), ["words(q)", "first-word(q)", "agreement(a)"])
    for computed, value in zip(slicings.values(), (3, "who", 1), strict=True):
        assert isinstance(computed, Computed)
        assert computed.values() == [value, None]


def test_whole_numbers_that_no_float_can_hold_stay_as_they_are() -> None:
    values = [10**400 + number for number in range(12)]
    assert parts_of(values) == list(map(str, values))


def test_agreement_is_that_of_the_answers_of_vqa_too() -> None:
    cell = [
        {"answer": "yes", "answer_id": 1},
        {"answer": "yes"},
        {"answer": "no"},
        {"answer": "so"},
    ]
    assert Computed("agreement", "answers", [cell]).parts() == ["50%"]


def test_two_slicings_share_no_name_and_values_are_those_of_the_parts() -> None:
    rows = [
        {"q": "A movie.", "label": "x", "length": "a", "column length": "b", "s": src}
        for src in ("a", 1, 1.0)
    ]
    found = sears.audit(
        lambda texts: ["x"] * len(texts), rows, sears.parse("zzz -> zz"), text="q", label="label",
        scorer=None, slices=["column length", "length", "s"],
    ).document  # fmt: skip
    parts = [(each.slicing, each.value, each.rows) for each in found.slices[-4:]]
    assert parts == [
        ("column length", "b", 3), ("column column length", "a", 3), ("s", "1", 2), ("s", "a", 1)
    ]  # fmt: skip
    assert [each.values for each in found.columns] == [1, 1, 2]


def test_short_texts_are_counted_word_by_word_and_long_ones_in_ranges() -> None:
    lengths = [1, 1, 2, 9, 10, 30]
    short = Computed("words", "t", ["x " * length for length in lengths]).parts()
    assert short[3:] == ["9 words", "10 or more words", "10 or more words"]
    long = Computed("words", "t", ["x " * length for length in range(50, 90)]).parts()
    assert sorted(set(long)) == ["50 to 59 words", "60 to 69 words", "70 to 79 words",
                                 "80 to 89 words"]  # fmt: skip


def test_frequent_values_come_first_and_rare_ones_together_and_last() -> None:
    values = [name for place, name in enumerate("zyxwvutsrqpona") for _ in range(20 - place)]
    parts = largest(values)
    assert sort_parts([*parts, *[EMPTY] * 99]) == [*"zyxwvutsrqp", EMPTY, OTHER]
    assert parts.count(OTHER) == 9 + 8 + 7
    assert largest(values, 14) == values


def test_answer_in_parentheses_is_what_the_model_says() -> None:
    rows = [{"answer": "a b c", "label": "red"}] * 15 + [{"answer": "d", "label": "red"}] * 15

    def model(texts: Sequence[str]) -> list[str]:
        return ["red" if len(text) > 1 else "deep red" for text in texts]

    rules = sears.parse("zzz -> zz")
    found = sears.audit(model, rows, rules, text="answer", label="label", scorer=None,
                        slices=["words(answer)", "answer"])  # fmt: skip
    by_part = {(each.slicing, each.value): each for each in found.document.slices}
    right = by_part["words(answer)", "1 word"]
    wrong = by_part["words(answer)", "2 words"]
    assert right.accuracy is not None
    assert wrong.accuracy is not None
    assert (right.rows, right.accuracy.rate) == (15, 1.0)
    assert (wrong.rows, wrong.accuracy.rate) == (15, 0.0)
    assert ("answer", "a b c") in by_part, "a plain name stays a column"


def test_a_refused_text_has_no_answer_to_measure() -> None:
    of_answers = Computed("words", "answer", None)
    assert of_answers.values([Answer(REFUSED), Answer("so be it")]) == [None, 3]
    with pytest.raises(UsageError, match="needs a model's answers, and there are none"):
        of_answers.values()


def test_a_column_that_looks_like_a_function_stays_a_column() -> None:
    rows = [{"q": "Who?", "price(EUR)": 3}, {"q": "Why?", "price(EUR)": 4}]
    assert read_slicings(rows, ["price(EUR)"]) == {"price(EUR)": [3, 4]}


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [("wrods(q)", UsageError, r"did you mean words\(q\)"),
     ("count(q)", UsageError, r"count\(q\) is neither a column nor a known function"),
     ("words(question)", DataError, "has no column 'question'"),
     ("agreement(answer)", UsageError, "gives a single answer"),
     ("words()", DataError, r"has no column 'words\(\)'")],
)  # fmt: skip
def test_a_name_that_means_nothing_is_reported(name: str, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        read_slicings(ROWS, [name])


def test_a_column_of_lists_has_no_words() -> None:
    found = read_slicings(ROWS, ["words(answers)"])["words(answers)"]
    assert isinstance(found, Computed)
    with pytest.raises(DataError, match=r"words\(answers\): row 1: expected a text, not list"):
        found.parts()


def test_a_grade_is_that_of_flesch_and_kincaid() -> None:
    pytest.importorskip("textstat", reason="textstat is not installed: sears-dsl[analysis]")
    texts = ["The cat sat on the mat.", "An honest animal ran away.", " … ", None]
    grades = Computed("grade", "t", texts).values()
    # 0.39 · words a sentence + 11.8 · syllables a word - 15.59, with 6 and 9 syllables.
    assert grades[0] == pytest.approx(0.39 * 6 + 11.8 * 6 / 6 - 15.59, abs=0.05)
    assert grades[1] == pytest.approx(0.39 * 5 + 11.8 * 9 / 5 - 15.59, abs=0.05)
    assert grades[2:] == [None, None]
    assert parse_computed("grade(t)") == ("grade", "t")


# ---------------------------------------------------------------- known answers


def stored_answers(name: str) -> dict[str, str]:
    """A stored reader's answers to SQuAD's development set."""
    path = DATA / "squad" / "predictions" / f"{name}.json"
    if not path.exists():
        pytest.skip(f"there is no {path}: set SEARS_DATA to the folder of the data")
    found: dict[str, str] = json.loads(path.read_text("utf-8"))
    return found


def reader_slices(
    said: dict[str, str], source: str = str(DATA / "squad" / "dev-v1.1.json")
) -> tuple[Effects, dict[tuple[str, str], SliceResult]]:
    """The slices of a reader of a SQuAD file, with its answers."""
    rows = read_labelled(source, column="question", label="answers")
    # A few questions have no stored answer, which counts as an empty one.
    ids = read_slicings(source, ["id"])["id"]
    assert not isinstance(ids, Computed)
    answers = tuple(Answer(said.get(each, "")) for each in ids)
    right = np.array(
        [
            answers_equal(answer.label, golds, comparison="squad")
            for answer, golds in zip(answers, rows.labels or (), strict=True)
        ]
    )
    effects = Effects(data=rows, rules=(), answers=answers, right=right)
    names = ("first-word(question)", "words(answer)", "agreement(answers)")
    parts = slicings(rows, read_slicings(source, names), answers)
    return effects, {(each.slicing, each.value): each for each in slice_results(effects, parts)}


def errors(slices: dict[tuple[str, str], SliceResult], slicing: str) -> dict[str, tuple[int, int]]:
    """Part → wrong answers in per cent, and rows."""
    return {
        value: (round(100 * (1 - (each.accuracy.rate or 0))), each.rows)
        for (name, value), each in slices.items()
        if name == slicing and each.accuracy is not None
    }


def test_errors_of_match_lstm_are_those_that_others_counted() -> None:
    effects, slices = reader_slices(stored_answers("match-lstm"))
    assert round(100 * effects.right.mean(), 2) == 67.63
    assert errors(slices, "first-word(question)") == {
        "when": (16, 696), "who": (24, 1059), "which": (31, 454), "how": (34, 1090),
        "what": (36, 4749), "where": (37, 433), "why": (60, 151), "other": (29, 1938),
    }  # fmt: skip
    by_length = errors(slices, "words(answer)")
    assert list(by_length) == [f"{n} word{'s' * (n > 1)}" for n in range(1, 10)] + [
        "10 or more words"
    ]
    assert [each for each, _ in by_length.values()] == [23, 28, 31, 36, 44, 52, 55, 62, 63, 75]
    agreement = errors(slices, "agreement(answers)")
    assert (agreement["100%"], agreement["33%"]) == ((28, 5915), (48, 597))


def test_errors_of_logistic_regression_are_those_that_others_counted() -> None:
    effects, slices = reader_slices(stored_answers("logistic-regression"))
    assert round(100 * effects.right.mean(), 2) == 40.14
    by_length = errors(slices, "words(answer)")
    assert by_length.pop("0 words") == (100, 13)
    assert [each for each, _ in by_length.values()] == [47, 57, 62, 69, 71, 77, 79, 80, 79, 93]


@pytest.mark.parametrize("seed", [1, 2])
def test_errors_of_any_reader_are_those_that_a_plain_count_finds(seed: int, tmp_path: Path) -> None:
    """The reader is new: its answers are random."""
    draw = random.Random(seed)
    words = [f"w{number}" for number in range(30)] + ["The w1", "a w2", "an w3."]
    begins = ["What", "who", "When did", "Which", "Where", "WHY", "How many", "In what", "Whose"]
    asked, said = [], {}
    for number in range(300):
        context = draw.choices(words, k=30)
        golds = []
        for _ in range(draw.randint(1, 6)):
            start = draw.randrange(25)
            golds.append(" ".join(context[start : start + draw.randint(1, 3)]))
        golds = draw.choices(golds, k=len(golds))
        right = draw.choice(golds)
        said[f"q{number}"] = draw.choice([right, right.upper() + "!", "x " * draw.randint(1, 12)])
        answers = [{"text": gold, "answer_start": 0} for gold in golds]
        question = f"{draw.choice(begins)} is it?"
        asked.append((" ".join(context), {"id": f"q{number}", "question": question,
                                          "answers": answers}))  # fmt: skip
    paragraphs = [{"context": context, "qas": [question]} for context, question in asked]
    file = tmp_path / "squad.json"
    document = {"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}
    file.write_text(json.dumps(document), "utf-8")
    effects, slices = reader_slices(said, str(file))

    counted: dict[str, dict[str, list[bool]]] = {"type": {}, "length": {}, "agreement": {}}
    for _, question in asked:
        answer, golds = said[question["id"]], [each["text"] for each in question["answers"]]
        wrong = plain(answer) not in map(plain, golds)
        first = re.findall(r"[a-z]+", question["question"].lower())[0]
        kind = (
            first if first in {"what", "who", "when", "which", "where", "why", "how"} else "other"
        )
        length = len(answer.split())
        most = max(Counter(map(plain, golds)).values())
        parts = (kind, "10 or more words" if length > 9 else f"{length} word{'s' * (length > 1)}",
                 f"{100 * most / len(golds):.0f}%")  # fmt: skip
        for of_slicing, part in zip(counted.values(), parts, strict=True):
            of_slicing.setdefault(part, []).append(wrong)
    names = ("first-word(question)", "words(answer)", "agreement(answers)")
    for name, of_slicing in zip(names, counted.values(), strict=True):
        assert errors(slices, name) == {
            part: (round(100 * (1 - (1 - sum(wrong) / len(wrong)))), len(wrong))
            for part, wrong in of_slicing.items()
        }
    assert sum(not each for each in effects.right) == sum(map(sum, counted["type"].values()))


def plain(answer: str) -> str:
    """Compare answers as the official script of SQuAD does."""
    kept = "".join(each for each in answer.lower() if each not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


@pytest.mark.parametrize(
    ("values", "ranges"),
    [
        (range(20200101, 20200113), ["20200101 to 20200103", "20200104 to 20200106",
                                     "20200107 to 20200109", "20200110 to 20200112"]),
        ([1 + n / 1e7 for n in range(12)], ["1 to 1.0000002", "1.0000003 to 1.0000005",
                                            "1.0000006 to 1.0000008", "1.0000009 to 1.0000011"]),
        ([n * 1e20 for n in range(8, 20)], ["8e+20 to 1e+21", "1.1e+21 to 1.3e+21",
                                            "1.4e+21 to 1.6e+21", "1.7e+21 to 1.9e+21"]),
        ([n / 3 for n in range(12)], ["0 to 0.666667", "1 to 1.66667", "2 to 2.66667",
                                      "3 to 3.66667"]),
    ],
)  # fmt: skip
def test_ranges_of_large_and_of_close_numbers_stay_apart_and_in_order(
    values: Sequence[float], ranges: list[str]
) -> None:
    found = parts_of(list(values))
    assert sort_parts(found) == ranges
    assert set(Counter(found).values()) == {3}
    assert parts_of(list(map(str, values))) == found


def test_accuracy_by_column_is_also_known_where_each_row_is_there_twice() -> None:
    rows = [
        {"a": f"A good movie {n}", "b": f"No movie {n}", "label": "pos" if n % 4 else "neg",
         "source": "xy"[n % 2]}
        for n in range(20)
    ]  # fmt: skip
    done = sears.audit(
        lambda asked: ["pos"] * len(asked), rows, sears.parse("rule film: movie -> film\n"),
        text="a,b", label="label", scorer=None, slices=["source"],
    )  # fmt: skip
    (column,) = done.document.columns
    assert (column.column, column.values, column.mean) == ("source", 2, 0.75)
    parts = {each.value: each.accuracy for each in done.document.slices if each.slicing == "source"}
    assert parts["x"] is not None
    assert (parts["x"].rate, parts["x"].total) == (0.5, 20)
