"""Each distinct row is asked once, in batches, and no answer is lost."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.errors import CacheError, ModelError, UsageError
from sears_dsl.models.cached import CachedPredictor, PredictionStore, _Batches
from sears_dsl.models.predictor import Row


class Recorder:
    """A model that records its batches, and fails or sleeps on request."""

    def __init__(
        self, *, identity: str = "recorder", fail_on: str = "", seconds: float = 0.0
    ) -> None:
        self.identity = identity
        self.fail_on = fail_on
        self.seconds = seconds
        self.batches: list[list[str]] = []

    def predict(self, rows: Sequence[Row]) -> list[str]:
        texts = [row["text"] for row in rows]
        self.batches.append(texts)
        time.sleep(self.seconds)
        if self.fail_on in texts:
            raise ModelError("the model failed")
        return [text.upper() for text in texts]


def rows(*texts: str) -> list[Row]:
    return [{"text": text} for text in texts]


@given(st.lists(st.sampled_from("abcdefg")), st.integers(1, 4))
def test_labels_are_those_of_the_model_and_each_row_is_asked_for_once(
    texts: list[str], size: int
) -> None:
    recorder = Recorder()
    model = CachedPredictor(recorder, batch_size=size)
    assert model.predict(rows(*texts)) == [text.upper() for text in texts]
    asked = [text for batch in recorder.batches for text in batch]
    assert asked == list(dict.fromkeys(texts))
    assert all(len(batch) <= size for batch in recorder.batches)
    assert model.predict(rows(*texts)) == [text.upper() for text in texts]
    assert [text for batch in recorder.batches for text in batch] == asked


def test_a_predictor_may_say_how_many_rows_it_wants() -> None:
    class AllAtOnce(Recorder):
        batch_size = None

    recorder = AllAtOnce()
    CachedPredictor(recorder).predict(rows(*map(str, range(200))))
    assert [len(batch) for batch in recorder.batches] == [200]
    recorder = AllAtOnce()
    CachedPredictor(recorder, batch_size=150).predict(rows(*map(str, range(200))))
    assert [len(batch) for batch in recorder.batches] == [150, 50]
    with pytest.raises(UsageError, match="the batch size is 0"):
        CachedPredictor(recorder, batch_size=0)


def test_progress_counts_distinct_rows_and_ends_complete() -> None:
    told: list[tuple[int, int]] = []
    model = CachedPredictor(Recorder(), batch_size=2)
    model.predict(rows("a"))
    model.predict(rows(*"abbcd"), on_progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (3, 4), (4, 4)]


def test_a_slow_model_is_stopped_between_batches_and_goes_on_later() -> None:
    recorder = Recorder()
    model = CachedPredictor(recorder, batch_size=1)
    over = False

    def pass_time(done: int, _: int) -> None:
        nonlocal over
        over = done >= 3

    stopped = model.predict_in_time(
        rows(*"abcdefgh"), in_time=lambda: not over, on_progress=pass_time
    )
    assert stopped == [*"ABC", *[None] * 5]
    assert len(recorder.batches) == 3
    assert model.predict(rows(*"abcdefgh")) == list("ABCDEFGH")
    assert len(recorder.batches) == 8


def test_a_time_that_is_over_does_not_matter_where_all_is_known() -> None:
    model = CachedPredictor(Recorder())
    model.predict(rows("a"))
    assert model.predict_in_time(rows(*"ab"), in_time=lambda: False) == ["A", None]


@given(st.lists(st.sampled_from("abcdefgh")), st.integers(0, 5), st.integers(1, 5))
def test_what_there_was_time_for_is_answered_and_the_rest_is_not(
    texts: list[str], looks: int, size: int
) -> None:
    left = iter([True] * looks)
    recorder = Recorder()
    model = CachedPredictor(recorder, batch_size=size)
    found = model.predict_in_time(rows(*texts), in_time=lambda: next(left, False))
    asked = {text for batch in recorder.batches for text in batch}
    assert found == [text.upper() if text in asked else None for text in texts]
    assert model.predict(rows(*texts)) == [text.upper() for text in texts]
    assert sum(map(len, recorder.batches)) == len(set(texts))


def test_batches_are_small_where_time_is_limited_and_grow_where_the_model_is_quick() -> None:
    recorder = Recorder()
    texts = list(map(str, range(200)))
    CachedPredictor(recorder).predict_in_time(rows(*texts), in_time=lambda: True)
    assert [len(batch) for batch in recorder.batches] == [1, 2, 4, 8, 16, 32, 64, 64, 9]


def test_batches_grow_with_answers_and_not_with_connections() -> None:
    class SideBySide(Recorder):
        connections = 4

    slow, looks = SideBySide(seconds=0.6), iter([True] * 4)
    texts = list(map(str, range(300)))
    CachedPredictor(slow).predict_in_time(rows(*texts), in_time=lambda: next(looks, False))
    assert [len(batch) for batch in slow.batches] == [1, 1, 1, 1]
    quick = SideBySide()
    answers = CachedPredictor(quick).predict_in_time(rows(*texts), in_time=lambda: True)
    assert answers == texts
    sizes = [len(batch) for batch in quick.batches]
    assert max(sizes) > 8
    assert all(size <= 2 * max(sizes[:place]) for place, size in enumerate(sizes) if size > 1)


def test_answers_that_come_together_double_a_batch_once() -> None:
    batches = _Batches(list(map(str, range(300))), 64, lambda: True)
    for batch in [next(batches) for _ in range(4)]:
        batches.answered(len(batch), 0.0)
    assert len(next(batches)) == 2


def test_batches_before_a_failure_are_kept_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "predictions.sqlite3"
    with PredictionStore(path) as store:
        failing = CachedPredictor(Recorder(fail_on="e"), store=store, batch_size=2)
        with pytest.raises(ModelError, match="the model failed"):
            failing.predict(rows(*"abcdef"))
    with PredictionStore(path) as store:
        recorder = Recorder()
        told: list[tuple[int, int]] = []
        resumed = CachedPredictor(recorder, store=store, batch_size=2)
        labels = resumed.predict(rows(*"abcdef"), on_progress=lambda *at: told.append(at))
    assert labels == list("ABCDEF")
    assert recorder.batches == [["e", "f"]]
    assert told == [(4, 6), (6, 6)]


def test_another_model_does_not_get_the_predictions(tmp_path: Path) -> None:
    with PredictionStore(tmp_path / "p.sqlite3") as store:
        CachedPredictor(Recorder(), store=store).predict(rows("a"))
        other = Recorder(identity="recorder, retrained")
        CachedPredictor(other, store=store).predict(rows("a"))
        assert other.batches == [["a"]]
        for identity, label in (("one", "x"), ("two", "y")):
            store.put(identity, {"00": label})
        assert [store.get(identity, ["00"]) for identity in ("one", "two")] == [
            {"00": "x"},
            {"00": "y"},
        ]


def test_a_store_holds_many_rows_and_any_label(tmp_path: Path) -> None:
    labels = {f"{number:032x}": f"{number}\n'é" for number in range(2_500)}
    path = tmp_path / "p.sqlite3"
    with PredictionStore(path) as store, PredictionStore(path) as another:
        store.put("m", labels)
        assert another.get("m", [*labels, "ff" * 16]) == labels


def test_files_of_others_are_refused_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("my notes, which are longer than a header of a hundred bytes. " * 4)
    with pytest.raises(CacheError, match=r"notes\.txt could not be opened"):
        PredictionStore(text)
    assert text.read_text().startswith("my notes")
    database = tmp_path / "other.sqlite3"
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE mine (a)")
    connection.close()
    with pytest.raises(CacheError, match="not a prediction store"):
        PredictionStore(database)


def test_a_predictor_that_gives_too_few_is_reported() -> None:
    class Short(Recorder):
        def predict(self, rows: Sequence[Row]) -> list[str]:
            return super().predict(rows)[1:]

    with pytest.raises(ModelError, match="asked for 2 predictions and returned 1"):
        CachedPredictor(Short()).predict(rows("a", "b"))


def test_what_was_remembered_does_not_count_as_asked() -> None:
    model = CachedPredictor(Recorder(seconds=0.01), batch_size=2)
    model.predict(rows("x", "y", "x"))
    model.predict(rows("y", "z"))
    assert model.asked == 3
    assert model.seconds >= 0.02
