"""Worker processes: answers in order, errors as they were, deaths told, nobody left behind."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from sears_dsl.batch.processes import Process
from sears_dsl.errors import DataError, SearsError


def answering(times: int) -> Callable[[Any], Any]:
    """Numbers are multiplied; words do harm."""
    return partial(_answer, times)


def _answer(times: int, question: Any) -> Any:
    if question == "fail":
        raise DataError("no such row", help="look again")
    if question == "die":
        os._exit(9)
    if question == "sleep":
        time.sleep(1)
    if question == "unsendable":
        raise type("Own", (Exception,), {})("gone")
    return question * times


def failing() -> Callable[[Any], Any]:
    raise DataError("no rules", help="write some")


def dying() -> Callable[[Any], Any]:
    os._exit(9)


@pytest.fixture
def process() -> Iterator[Process[Any, Any]]:
    made: Process[Any, Any] = Process(partial(answering, 3))
    yield made
    made.end()


def until_ready(process: Process[Any, Any]) -> None:
    end = time.monotonic() + 60
    while not process.has_room:
        assert time.monotonic() < end, "it never became ready"
        time.sleep(0.01)


def test_questions_are_answered_in_order(process: Process[Any, Any]) -> None:
    futures = [process.ask(number) for number in range(20)]
    assert [future.result(60) for future in futures] == [3 * number for number in range(20)]


def test_it_has_room_for_one_question_more_than_it_works_on(process: Process[Any, Any]) -> None:
    until_ready(process)
    process.ask("sleep")
    assert process.has_room
    process.ask(1)
    assert not process.has_room
    until_ready(process)


def test_an_error_is_the_same_error_and_no_end(process: Process[Any, Any]) -> None:
    failed, unsendable, after = (process.ask(question) for question in ("fail", "unsendable", 2))
    with pytest.raises(DataError, match="no such row") as caught:
        failed.result(60)
    assert caught.value.help == "look again"
    with pytest.raises(SearsError, match="a worker process failed: Own: gone"):
        unsendable.result(60)
    assert after.result(60) == 6


def test_a_death_is_told_for_every_question(process: Process[Any, Any]) -> None:
    until_ready(process)
    futures = [process.ask(question) for question in ("die", 1)]
    for future in futures:
        with pytest.raises(SearsError, match="a worker process died"):
            future.result(60)
    with pytest.raises(SearsError, match="a worker process died"):
        process.ask(1).result(60)


@pytest.mark.parametrize(("ready", "message"), [(failing, "no rules"), (dying, "process died")])
def test_one_that_cannot_start_says_why(ready: Any, message: str) -> None:
    process: Process[Any, Any] = Process(ready)
    with pytest.raises(SearsError, match=message):
        until_ready(process)
    process.end()


def test_one_that_is_still_starting_is_ended_at_once() -> None:
    process: Process[Any, Any] = Process(partial(time.sleep, 60))
    begin = time.monotonic()
    process.end()
    assert time.monotonic() - begin < 10
