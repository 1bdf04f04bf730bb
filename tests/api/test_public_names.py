"""`import sears_dsl` offers every public name, whatever else is imported."""

from __future__ import annotations

import inspect
import subprocess
import sys

import sears_dsl

FUNCTIONS = ("adversaries", "apply", "apply_folder", "arrow_rewriter", "audit", "augment",
             "compare", "compile_rules", "discover", "fix", "fix_by_amount", "generate", "load",
             "load_predictor", "load_tagger", "paraphrase", "parse", "predict_errors", "run_tests",
             "score", "vet")  # fmt: skip
# Importing a module sets it as an attribute of its package; none may hide a public name. What the
# functions' examples say is tested with the other examples (`test_docs.py`).
ALL_IMPORTED = """
import importlib, pkgutil
import sears_dsl

before = {name: getattr(sears_dsl, name) for name in sears_dsl.__all__}
for module in pkgutil.walk_packages(sears_dsl.__path__, "sears_dsl."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:  # of an extra that is not installed
            assert not error.name.startswith("sears_dsl"), error
assert {name: getattr(sears_dsl, name) for name in sears_dsl.__all__} == before
assert not any(type(each).__name__ == "module" for each in before.values())
"""


def test_no_module_takes_the_place_of_a_public_name() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALL_IMPORTED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


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
