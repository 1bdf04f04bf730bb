"""What models are called, and which options each of several gets."""

from __future__ import annotations

import pytest

from sears_dsl.errors import UsageError
from sears_dsl.models.loading import (
    kinds_of,
    members_of,
    named_models,
    options_of_each,
)
from sears_dsl.models.objects import is_object_name, load_object, object_name


@pytest.mark.parametrize(
    ("models", "names"),
    [
        (["sklearn:runs/1/small.joblib", "sklearn:large.joblib"], ["small.joblib", "large.joblib"]),
        (
            ["sklearn:a/m.joblib", "b=sklearn:b/m.joblib", "mine:predict"],
            ["m.joblib", "b", "mine:predict"],
        ),
        (["old=mine:predict", "mine:predict"], ["old", "mine:predict"]),
        (["hf:models/small/", "hf:models/large/"], ["small", "large"]),
    ],
)
def test_models_have_the_shortest_names_that_tell_them_apart(
    models: list[str], names: list[str]
) -> None:
    named = named_models(models)
    assert list(named) == names
    assert list(named.values()) == [each.rpartition("=")[2] for each in models]


def test_names_that_are_written_alike_are_refused() -> None:
    with pytest.raises(UsageError, match="there is only one model"):
        named_models(["a:predict"])
    with pytest.raises(UsageError, match="two models are called 1"):
        named_models({1: "a:predict", "1": "b:predict", "c": "c:predict"})  # type: ignore[dict-item]


def test_several_models_are_identified_by_their_members() -> None:
    assert members_of("vote:a:predict, b:predict") == ["a:predict", "b:predict"]
    assert members_of("a:predict") == ["a:predict"]
    assert kinds_of("every:mine:predict,http://localhost/ask") == ["mine", "http"]
    assert kinds_of("file:a.csv") == ["file"]
    assert kinds_of("every:one=http://localhost/ask?a=b,two=file:a.csv") == ["http", "file"]


def test_each_model_gets_the_options_that_its_kind_takes() -> None:
    models = ["mine:predict", "http://localhost/ask"]
    assert options_of_each({"timeout": 5.0}, models) == [{}, {"timeout": 5.0}]


def test_objects_are_named_by_their_module() -> None:
    names = ("my.parts:reword", "pairs.csv", "C:/a.csv")
    assert [is_object_name(name) for name in names] == [True, False, False]
    assert [object_name(each) for each in (len, str.lower, "".lower)] == [
        "builtins:len", "builtins:str.lower", "builtins:str.lower",
    ]  # fmt: skip
    assert load_object("builtins:str.upper", kind="model").value("good") == "GOOD"
