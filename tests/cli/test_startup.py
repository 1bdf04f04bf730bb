"""`sears apply` loads nothing that its work does not need."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from sears_dsl.cli.commands import sears
from sears_dsl.engine.warming import warm_up

HEAVY = ("numba", "pandas", "pyarrow", "pydantic", "scipy", "spacy", "torch")
ABOUT_MODELS = [f"sears_dsl.{folder}" for folder in ("judge", "meaning", "models", "translation")]
_PROGRAM = """
import json, sys
from sears_dsl.cli import main
main()
print(json.dumps(list(sys.modules)))
"""


def _loaded(folder: Path, rules: str, rows: int) -> set[str]:
    source = folder / "rows.csv"
    texts = ["What color is the tray?", "It's a very good movie, isn't it?"]
    source.write_text("text\n" + "".join(f'"{texts[row % 2]}"\n' for row in range(rows)))
    clean = {k: v for k, v in os.environ.items() if k not in ("SEARS_COMPILE", "NUMBA_DISABLE_JIT")}
    command = ["apply", rules, str(source), "-o", str(folder / "out.jsonl"), "--quiet"]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *command],
        capture_output=True,
        text=True,
        env=clean,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "out.jsonl").stat().st_size > 0
    loaded: list[str] = json.loads(done.stdout)
    return set(loaded)


@pytest.mark.parametrize("rules", ["questions/wh-words", "contractions", "synonyms/reviews"])
def test_ten_rows_load_nothing_heavy(tmp_path: Path, rules: str) -> None:
    assert not _loaded(tmp_path, rules, 10).intersection((*HEAVY, *ABOUT_MODELS))


def test_many_rows_load_the_compiler_and_no_other_tagger(tmp_path: Path) -> None:
    warm_up()  # where there is no code on disk, as many are done without it
    loaded = _loaded(tmp_path, "questions/wh-words", 5_000)
    assert "numba" in loaded
    assert not loaded.intersection({"pandas", "pyarrow", "pydantic", "spacy", "torch"})


_REFUSALS = """
import sys
from sears_dsl.cli import main
for command in sys.argv[1:]:
    sys.argv = ["sears", *command.split()]
    try:
        main()
    except SystemExit as end:
        assert end.code == 2, end.code
print(*sys.modules)
"""


def test_templates_of_too_many_sentences_are_refused_before_anything_is_loaded(
    tmp_path: Path,
) -> None:
    """Rules that are refused need no arrays, models or pages, so this takes half a second."""
    file = tmp_path / "many.sear"
    digits = " | ".join(map(str, range(10)))
    file.write_text(f'set D = {digits}\ntemplate "{"{D}" * 7}"\n  label: number\n', "utf-8")
    options = {
        "generate": "-o out.csv", "check": "", "test": "", "export": "-o out.pkl", "vet": "",
        "audit": "--model sklearn:none --scorer none",
    }  # fmt: skip
    commands = [f"{name} {file} {more}" for name, more in options.items()]
    done = subprocess.run(
        [sys.executable, "-c", _REFUSALS, *commands], capture_output=True, text=True, check=True
    )
    *told, loaded = (done.stderr + done.stdout).split("\n")[:-1]
    refusals = [line for line in told if "this template stands for 10,000,000 sentences" in line]
    assert len(refusals) == len(commands)
    assert not {"numpy", "starlette", "pydantic"}.intersection(loaded.split())


def test_sentences_are_written_without_the_compiler_of_rules(tmp_path: Path) -> None:
    file = tmp_path / "a.sear"
    file.write_text('template "So."\n  label: good\n', "utf-8")
    program = "import sys; from sears_dsl.cli import main; main(); print(*sys.modules)"
    command = ["generate", str(file), "-o", str(tmp_path / "out.csv")]
    done = subprocess.run(
        [sys.executable, "-c", program, *command], capture_output=True, text=True, check=True
    )
    assert "sears_dsl.generating.table" in done.stdout
    assert not re.search(r"sears_dsl\.(batch|engine\.compile)\b", done.stdout)


def test_help_loads_no_command_and_lists_what_they_say() -> None:
    program = "import sys; from sears_dsl.cli import main; main(); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=True
    )
    told, loaded = done.stdout.rsplit("\n", 2)[:2]
    own = {name for name in loaded.split() if name.startswith("sears_dsl.cli.")}
    assert own == {"sears_dsl.cli.main", "sears_dsl.cli.commands"}
    listed = re.findall(r"^  ([a-z][a-z-]*)  +[A-Z].*\.$", told, re.MULTILINE)
    context = click.Context(sears)
    commands = ((name, sears.get_command(context, name)) for name in sears.list_commands(context))
    assert listed == [name for name, command in commands if command and not command.hidden]
    assert "..." not in told.partition("Write rules:")[2]


def test_the_package_runs_as_a_module_where_its_command_is_not_on_the_path(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sears_dsl", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)

    # A file of the current folder is no part of the program.
    (tmp_path / "click.py").write_text("raise SystemExit('a stranger ran')")
    done = run("try", "movie -> film", "A movie.")
    assert done.returncode == 0, done.stderr
    assert "A film." in done.stdout
    wrong = run("no-such-command")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("Usage: sears ")
