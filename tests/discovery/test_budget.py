"""A time budget: every stage gets its share, finished work counts, lacks are reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console

from sears_dsl.cli.screen.discovery import print_discovery
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.discovery.algorithm import discover
from sears_dsl.discovery.result.found_rules import Discovery
from sears_dsl.discovery.settings import NEEDS, Budget, Settings
from sears_dsl.tagging.pinned import PinnedTagger

pytestmark = pytest.mark.usefixtures("few_texts")

TAGGER = PinnedTagger({"is": ("AUX", "VBZ"), "was": ("AUX", "VBD"), "and": ("CCONJ", "CC")})
WORDS = ("movie", "play", "story")


@dataclass
class World:
    """A clock, and a paraphraser, a model and a scorer that take their time."""

    paraphrase_seconds: float = 0.0
    answer_seconds: float = 0.0
    score_seconds: float = 0.0
    keeps: bool = True
    now: float = 0.0
    identity: str = "world"
    name: str = "world"
    tau: float = 0.5
    asked: list[str] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
        self.now += self.paraphrase_seconds * len(sentences)
        return [
            [text.replace(word, word + "x")] for text in sentences for word in WORDS if word in text
        ]

    def predict(self, rows: Sequence[Mapping[str, str]]) -> list[str]:
        self.now += self.answer_seconds * len(rows)
        return ["0" if "x " in row["text"] else "1" for row in rows]

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        self.now += self.score_seconds * len(pairs)
        return np.full(len(pairs), 0.9 if self.keeps else 0.1)

    def at_least(self, pairs: Sequence[tuple[str, str]], tau: float) -> NDArray[np.bool_]:
        return self.scores(pairs) >= tau


def run(world: World, *, seconds: float | None, rows: int = 600, flips: int = 3) -> Discovery:
    texts = [
        f"This {WORDS[number % 3]} {('is', 'was', 'and')[number % 5 % 3]} {number} ."
        for number in range(rows)
    ]
    return discover(
        LabelledRows(tuple({"text": text} for text in texts), "text", None, "rows.csv"),
        world,
        paraphraser=world,
        scorer=world,
        tagger=TAGGER,
        settings=Settings(budget_seconds=seconds, holdout=0, minimum_flips=flips),
        clock=world.clock,
    )


@pytest.mark.parametrize(
    "slow",
    [
        {"paraphrase_seconds": 1.0, "answer_seconds": 0.01, "score_seconds": 0.01},
        {"paraphrase_seconds": 0.1, "answer_seconds": 0.03, "score_seconds": 0.02},
        {"paraphrase_seconds": 0.01, "answer_seconds": 0.01, "score_seconds": 0.1},
    ],
)
def test_whatever_is_slow_rules_are_tried_and_found_in_time(slow: dict[str, float]) -> None:
    free = World(**slow)
    run(free, seconds=None)
    world = World(**slow)
    seconds = free.now * 2 / 3
    found = run(world, seconds=seconds)
    # The last scores are never cut short; if only they are slow, no stage is.
    assert found.budget_reached or "score_seconds" in slow
    assert found.funnel.candidates > 0
    assert found.rules
    # The last numbers, and the current portion of each stage, may take longer than the budget.
    assert world.now < 1.5 * seconds


def test_what_is_saved_by_one_stage_is_there_for_the_others() -> None:
    now = [0.0]
    budget = Budget(100, lambda: now[0])
    paraphrases = budget.stage("paraphrases")
    assert paraphrases()
    rules = budget.stage("rules")
    now[0] = 10.0
    assert rules()
    now[0] = 10 + 90 * 3 / 5 - 0.1
    assert rules()
    now[0] += 0.2
    assert not rules()
    assert budget.reached == ["rules"]


def test_every_stage_has_some_time_while_any_is_left() -> None:
    now = [0.0]
    budget = Budget(100, lambda: now[0])
    for stage in NEEDS["meaning"]:
        in_time = budget.stage(stage)
        assert in_time(), stage
        while in_time():
            now[0] += 0.5
    assert now[0] <= 100


def screen(found: Discovery, width: int = 1000) -> str:
    """The final screen."""
    shown = StringIO()
    print_discovery(Console(file=shown, width=width), found, Path("found.sear"))
    return shown.getvalue()


def test_advice_follows_from_what_was_lacking() -> None:
    spent = run(World(paraphrase_seconds=10.0), seconds=1.0)
    assert not spent.rules
    assert "536 rows not paraphrased" in screen(spent)
    assert "--resume with more --budget-seconds" in screen(spent)
    counts = replace(spent.funnel, skipped=0, not_asked=0, undecided=0)
    assert "more time: --resume" in screen(replace(spent, funnel=counts))
    for lacking in (run(World(), seconds=None, rows=6), run(World(keeps=False), seconds=None)):
        assert "no new rules were found" in screen(lacking)
        assert "more rows" in screen(lacking)
        assert "--budget-seconds" not in screen(lacking)


def test_what_nobody_had_time_to_judge_is_close_to_nothing() -> None:
    spent = run(World(score_seconds=5.0), seconds=40.0)
    assert (spent.funnel.undecided, spent.closest) == (3, ())
    assert "3 rules not judged to the end" in screen(spent)


def test_an_example_is_whole_on_every_terminal() -> None:
    found = run(World(), seconds=None)
    for width, each in product((60, 200), found.rules):
        lines = [line for line in screen(found, width).splitlines() if line.strip()]
        assert all(len(line) <= width for line in lines)
        [line] = [line for line in lines if each.examples[0].original[-5:] in line and "[-" in line]
        assert (each.text in line) == (width == 200)
        assert "+}" in line
        assert line.rstrip().endswith(f"{each.examples[0].label} → {each.examples[0].prediction}")
