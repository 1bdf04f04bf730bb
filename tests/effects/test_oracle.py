"""What an oracle rejects is counted, and no model is asked about it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from sears_dsl.data.labelled import LabelledRows
from sears_dsl.effects.oracle import FunctionOracle
from sears_dsl.effects.rule_effects import Effects, rule_effects
from sears_dsl.engine.matcher import Matcher, compile_rules
from sears_dsl.errors import DataError, ModelError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.models.function import CallablePredictor
from sears_dsl.tagging.pinned import PinnedTagger

RULES = parse("rule film: movie -> film\nrule tape: movie -> tape\nrule show: play -> show\n")
DATA = LabelledRows(
    tuple({"text": f"movie {number}", "source": "web"} for number in range(6)),
    "text",
    (("good",),) * 6,
    "a.csv",
)


def _matcher() -> Matcher:
    return compile_rules([RULES], tagger=PinnedTagger())


def effects_with(function: object, *, asked: list[str] | None = None) -> Effects:
    def predict(rows: Sequence[dict[str, str]]) -> list[str]:
        if asked is not None:
            asked.extend(row["text"] for row in rows)
        return ["good"] * len(rows)

    return rule_effects(
        _matcher(), DATA, CallablePredictor(predict),
        oracle=FunctionOracle(function, identity="mine"),
    )  # fmt: skip


def test_what_is_rejected_is_counted_and_the_model_never_sees_it() -> None:
    asked: list[str] = []
    effects = effects_with(
        lambda rows: [not row["text"].endswith(("0", "1")) for row in rows], asked=asked
    )
    assert [each.rows.tolist() for each in effects.rules] == [[2, 3, 4, 5], [2, 3, 4, 5], []]
    assert [each.rejected for each in effects.rules] == [2, 2, 0]
    assert not {"film 0", "film 1", "tape 0", "tape 1"} & set(asked)
    assert {"movie 0", "film 2", "tape 5"} <= set(asked)


def test_it_sees_the_row_after_the_rewrite_the_text_before_and_the_rule() -> None:
    seen: list[dict[str, str]] = []

    def keep(rows: Sequence[dict[str, str]]) -> list[bool]:
        seen.extend(rows)
        return [row["rule"] == "tape" for row in rows]

    effects = effects_with(keep)
    assert seen[0] == {"text": "film 0", "source": "web", "original": "movie 0", "rule": "film"}
    assert [(len(each), each.rejected) for each in effects.rules] == [(0, 6), (6, 0), (0, 0)]


def test_a_column_of_the_data_keeps_its_name() -> None:
    rows = tuple({"text": "movie", "rule": "of the house"} for _ in range(2))
    data = LabelledRows(rows, "text", None, "a.csv")
    seen: list[str] = []
    rule_effects(
        _matcher(), data, CallablePredictor(lambda texts: ["good"] * len(texts)),
        oracle=FunctionOracle(lambda rows: [seen.append(row["rule"]) or True for row in rows]),
    )  # fmt: skip
    assert set(seen) == {"of the house"}


def test_arrays_and_generators_of_truths_will_do() -> None:
    for function in (
        lambda rows: np.array([True] * len(rows)),
        lambda rows: (True for _ in rows),
    ):
        assert sum(len(each) for each in effects_with(function).rules) == 12


def test_one_that_rejects_all_is_reported_before_the_model_is_asked() -> None:
    asked: list[str] = []
    with pytest.raises(DataError, match="the oracle mine rejects all 12 rewrites"):
        effects_with(lambda rows: [False] * len(rows), asked=asked)
    assert not asked


def _raises(rows: Sequence[object]) -> list[bool]:
    raise KeyError("txet")


@pytest.mark.parametrize(
    ("function", "told"),
    [(_raises, "the oracle mine raised KeyError: 'txet'"),
     (lambda rows: sys.exit(3), "the oracle mine raised SystemExit: 3"),
     (lambda rows: parse("NUON -> x"), "the oracle mine raised RuleSyntaxError: "),
     (lambda rows: [True], "returned 1 answers for 12 texts"),
     (lambda rows: [True] * 13, "returned 13 answers for 12 texts"),
     (lambda rows: [1] * len(rows), "returned 1 for a text"),
     (lambda rows: ["yes"] * len(rows), "returned 'yes' for a text"),
     (lambda rows: None, "returned NoneType for 12 texts"),
     (lambda rows: "x" * len(rows), "returned str for 12 texts")],
)  # fmt: skip
def test_one_that_fails_is_reported(function: Callable[..., object], told: str) -> None:
    with pytest.raises(ModelError) as caught:
        effects_with(function)
    assert told in caught.value.message


@pytest.mark.parametrize("wrong", [5, SimpleNamespace, None])
def test_what_is_no_function_is_reported(wrong: object) -> None:
    with pytest.raises(UsageError, match="is not an oracle"):
        FunctionOracle(wrong)


def test_where_no_rule_changes_a_row_nobody_is_asked() -> None:
    data = LabelledRows(({"text": "a book"},), "text", None, "a.csv")
    effects = rule_effects(
        _matcher(), data, CallablePredictor(lambda texts: ["good"] * len(texts)),
        oracle=FunctionOracle(_raises),
    )  # fmt: skip
    assert [each.rejected for each in effects.rules] == [0, 0, 0]
