"""`import sears_dsl` offers every public name, whatever else is imported."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import sears_dsl

PACKAGE = Path(sears_dsl.__file__).parent
FUNCTIONS = ("adversaries", "apply", "apply_folder", "arrow_rewriter", "audit", "augment",
             "compare", "compile_rules", "discover", "fix", "fix_by_amount", "generate", "load",
             "load_predictor", "load_tagger", "paraphrase", "parse", "predict_errors", "run_tests",
             "score", "vet")  # fmt: skip


def test_no_module_takes_the_place_of_a_public_name() -> None:
    """Importing a module sets it as an attribute of its package; these could hide public names."""
    modules = {path.stem for path in PACKAGE.iterdir()} - {"__init__", "__pycache__", "py"}
    assert not modules.intersection(sears_dsl.__all__)
    for name in sorted(modules):
        importlib.import_module(f"sears_dsl.{name}")
    for name in sears_dsl.__all__:
        assert not inspect.ismodule(getattr(sears_dsl, name)), name


def test_each_function_is_listed() -> None:
    public = {name for name in sears_dsl.__all__ if inspect.isfunction(getattr(sears_dsl, name))}
    assert set(FUNCTIONS) == public


def test_each_function_says_what_each_of_its_arguments_is() -> None:
    for name in FUNCTIONS:
        function = getattr(sears_dsl, name)
        told = inspect.getdoc(function) or ""
        for argument in inspect.signature(function).parameters:
            assert f"\n    {argument}: " in told, f"{name}: {argument}"
        assert ">>> " in told, f"{name} has no example"


def test_options_are_given_by_name() -> None:
    for name in FUNCTIONS:
        kinds = [
            each.kind for each in inspect.signature(getattr(sears_dsl, name)).parameters.values()
        ]
        positional = [kind for kind in kinds if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        assert len(positional) <= 3, name
