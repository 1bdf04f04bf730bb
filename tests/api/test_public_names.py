"""`import sears_dsl` offers every public name, whatever else is imported."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import click

import sears_dsl
from sears_dsl.cli.commands import sears as commands

PACKAGE = Path(sears_dsl.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "python.md"
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


# Options about files, endpoints, what is shown, interrupted runs and clusters.
WITHOUT_ARGUMENT = (
    "address", "allow_imports_outside", "batch_size", "connections", "default_tau", "encoding",
    "engine", "errors", "fail_if_worse", "format", "help", "id_column", "inputs", "jobs", "json",
    "limit", "no_cache", "no_header", "on_error", "open", "output", "output_format", "quiet",
    "record", "request_map", "response_map", "restart", "resume", "retries", "save_model", "show",
    "summary", "text_column", "timeout", "workers", "yes",
)  # fmt: skip


def code_of_table(heading: str) -> list[tuple[list[str], list[str]]]:
    """The code in the first two cells of each line of the first table below a heading."""
    table = PAGE.read_text("utf-8").partition(heading)[2].partition("|---|")[2].partition("\n\n")[0]
    lines = [line.split("|") for line in table.splitlines()[1:]]
    return [(re.findall("`([^`]+)`", line[1]), re.findall("`([^`]+)`", line[2])) for line in lines]


def test_the_page_says_which_argument_stands_for_which_option() -> None:
    arguments: dict[str, set[str]] = {}  # of the functions of each command
    for command, functions in code_of_table("# From Python"):
        for name in functions if command else ():
            known = inspect.signature(getattr(sears_dsl, name)).parameters
            arguments.setdefault(command[0].split()[1], set()).update(known)
    renamed: set[tuple[str, str]] = set()
    for left, right in code_of_table("## Arguments and options"):
        options = [each[2:].split()[0].replace("-", "_") for each in left if each[:2] == "--"]
        of = [each for each in left if each[:2] != "--"] or list(arguments)
        renamed.update((command, option) for command in of for option in options)
        names = {each.split("=")[0] for each in right} - {*FUNCTIONS}
        assert names <= set().union(*map(arguments.__getitem__, of)), right
    for command, known in arguments.items():
        switches = (
            switch[2:].replace("-", "_")
            for each in commands.get_command(click.Context(commands), command).params
            for switch in (*each.opts, *each.secondary_opts)
            if switch[:2] == "--"
        )
        for option in switches:
            named = option in known or (command, option) in renamed
            assert named or option in WITHOUT_ARGUMENT, f"{option} of {command}"
