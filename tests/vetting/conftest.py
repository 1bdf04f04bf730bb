"""A small world to vet rules in: forty sentences, a model that fails on some words, its rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sears_dsl.data.labelled import LabelledRows
from sears_dsl.language.loader import load
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.predictor import Predictor, Row
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.vetting.journal import Clock, Journal
from sears_dsl.vetting.review.rule_session import RuleSession
from sears_dsl.vetting.review.workbench import Workbench

RULES = """\
# Words that mean the same, more or less.
ruleset words 1.0.0

movie -> film
  why: "the model never saw films"
  test "a movie" => "a film"
  test "a book" => none

# Half of what the first rule does.
good movie -> good film

good -> fine
  test "a good book" => "a fine book"

rule shout: . -> !  # loud

book -> novel
"""


class Sentiment:
    """Calls good texts positive, unless there is a word that it does not know."""

    identity = "sentiment of good"

    def __init__(self) -> None:
        self.asked = 0

    def predict(self, rows: Sequence[Row]) -> list[str]:
        self.asked += len(rows)
        return [
            "positive" if "good" in row["text"] and "film" not in row["text"] else "negative"
            for row in rows
        ]


def sentences() -> list[tuple[str, str]]:
    """Texts with labels; the model is wrong on those about actors."""
    found = []
    for number in range(10):
        found += [
            (f"a good movie no {number} .", "positive"),
            (f"a bad movie no {number} .", "negative"),
            (f"a good book no {number} .", "positive"),
            (f"an actor no {number} with a book .", "positive"),
        ]
    return found


@pytest.fixture
def rules_file(tmp_path: Path) -> Path:
    path = tmp_path / "words.sear"
    path.write_text(RULES, "utf-8")
    return path


@pytest.fixture
def ruleset(rules_file: Path) -> Ruleset:
    return load(rules_file)


@pytest.fixture
def model() -> Sentiment:
    return Sentiment()


@pytest.fixture(scope="session")
def workbench_of() -> Callable[..., Workbench]:
    """Makes a workbench for rules, by default with the rows and the model of this world."""

    def make(
        ruleset: Ruleset, rows: Sequence[tuple[str, str]] = (), model: Predictor | None = None
    ) -> Workbench:
        tagger, rows = PinnedTagger(), rows or sentences()
        data = LabelledRows(
            tuple({"text": text} for text, _ in rows), "text",
            tuple((label,) for _, label in rows), "words.csv",
        )  # fmt: skip
        return Workbench(
            ruleset, data, CachedPredictor(model or Sentiment()), tokens=tagger.tag(data.texts),
            tagger=tagger,
        )  # fmt: skip

    return make


@pytest.fixture
def bench(ruleset: Ruleset, model: Sentiment, workbench_of: Callable[..., Workbench]) -> Workbench:
    return workbench_of(ruleset, model=model)


@pytest.fixture
def clock() -> Clock:
    """A clock on which a minute passes with every look."""
    moments = iter(datetime(2026, 11, 21, tzinfo=UTC) + timedelta(minutes=n) for n in range(9_999))
    return lambda: next(moments)


@pytest.fixture
def session(bench: Workbench, tmp_path: Path, clock: Clock) -> Iterator[RuleSession]:
    with Journal(
        tmp_path / "ana.jsonl", ruleset=bench.ruleset, reviewer="ana", now=clock
    ) as journal:
        yield RuleSession(bench, journal)
