"""Kernels run plain on little work and compiled on much, with the same results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sears_dsl._compiled import ENOUGH, Kernel, kernel

SEARS = str(Path(sys.executable).with_name("sears"))


@kernel
def _double(value):  # type: ignore[no-untyped-def]
    return 2 * value


@kernel
def _doubled_sum(values):  # type: ignore[no-untyped-def]
    total = np.int64(0)
    for value in values:
        total += _double(value)
    return total


@kernel
def _factorial(number):  # type: ignore[no-untyped-def]
    if number <= 1:
        return 1
    return number * _factorial(number - 1)


def test_a_kernel_that_calls_kernels_gives_the_same_plain_and_compiled() -> None:
    values = np.arange(10)
    assert isinstance(_doubled_sum, Kernel)
    assert _doubled_sum.plain(values) == _doubled_sum.dispatcher()(values) == 90
    assert _factorial.plain(5) == _factorial.dispatcher()(5) == 120


_PROGRAM = """
import json, sys
import sears_dsl as sears
from sears_dsl._compiled import compiles
from sears_dsl.text.pinned import PinnedTagger
rules = sears.parse("What NOUN -> Which NOUN\\nmovie -> film")
matcher = rules.compile(tagger=PinnedTagger())
told = []
for times in (1, 1, int(sys.argv[1]), 1):
    found = matcher.apply(["What/PRON/WP color/NOUN/NN is it ?", "A movie ."] * times)
    told.append([[r.text for r in found][:2], len(found), compiles(), "numba" in sys.modules])
print(json.dumps(told))
"""


def _run(times: int, **environment: str) -> list[list[object]]:
    clean = {k: v for k, v in os.environ.items() if k not in ("SEARS_COMPILE", "NUMBA_DISABLE_JIT")}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(times)],
        capture_output=True,
        text=True,
        env={**clean, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: list[list[object]] = json.loads(done.stdout)
    return told


def test_little_work_needs_no_compiler_and_much_work_gets_it() -> None:
    times = ENOUGH // 5
    texts = ["Which color is it ?", "A film ."]
    assert _run(times) == [
        [texts, 2, False, False],
        [texts, 2, False, False],
        [texts, 2 * times, True, True],
        [texts, 2, True, True],
    ]


@pytest.mark.parametrize(
    ("environment", "compiled"),
    [
        ({"SEARS_COMPILE": "never"}, False),
        ({"SEARS_COMPILE": "always"}, True),
        ({"NUMBA_DISABLE_JIT": "1"}, False),
        ({"SEARS_COMPILE": "always", "NUMBA_DISABLE_JIT": "1"}, False),
    ],
)
def test_the_environment_may_decide(environment: dict[str, str], compiled: bool) -> None:
    told = _run(10, **environment)
    assert [step[2] for step in told] == [compiled] * 4
    assert [step[3] for step in told] == [compiled] * 4


def test_a_wrong_choice_is_told() -> None:
    done = subprocess.run(
        [SEARS, "test", "questions/wh-words"],
        capture_output=True,
        text=True,
        env={**os.environ, "SEARS_COMPILE": "sometimes"},
        check=False,
    )
    assert done.returncode == 2
    assert "SEARS_COMPILE is 'sometimes'" in done.stderr
    assert "auto, always, never" in done.stderr


_TWO_MODULES = """
import sys
from pathlib import Path
folder = Path(sys.argv[1])
sys.path.insert(0, str(folder))
import caller
print(caller.outer(1), caller.outer.misses)
"""
_CALLER = """
from sears_dsl._compiled import kernel
from callee import inner, STEP
@kernel
def outer(value):
    return inner(value) + STEP
"""


def test_code_on_disk_is_not_used_when_what_it_calls_has_changed(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(_CALLER)
    environment = {**os.environ, "SEARS_COMPILE": "always", "PYTHONDONTWRITEBYTECODE": "1"}
    told = []
    for inner, step in (("value + 1", 10), ("value + 1", 10), ("value + 2", 10), ("value + 2", 20)):
        (tmp_path / "callee.py").write_text(
            f"from sears_dsl._compiled import kernel\nSTEP = {step}\n"
            f"@kernel\ndef inner(value):\n    return {inner}\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", _TWO_MODULES, str(tmp_path)],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.split())
    assert told == [["12", "1"], ["12", "0"], ["13", "1"], ["23", "1"]]


_WAITING = """
import sys
import numpy as np
from sears_dsl._compiled import kept, kernel, when_compiling
@kernel
def inner(value):
    return value + 1
@kernel
def outer(value):
    return inner(value) * 2
def tell():
    print("compiling", kept())
if sys.argv[1] == "told":
    when_compiling(tell)
print(outer(1), outer(1.5))
"""


def test_whoever_asks_is_told_once_that_kernels_are_compiled(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_WAITING)
    environment = {**os.environ, "SEARS_COMPILE": "always", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("NUMBA_DISABLE_JIT", None)

    def told(*arguments: str, **more: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, str(program), *arguments],
            capture_output=True,
            text=True,
            env={**environment, "NUMBA_CACHE_DIR": str(tmp_path / "kernels"), **more},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    assert told("told") == ["compiling True", "4 5.0"]
    assert told("told") == ["4 5.0"]
    assert told("silent", NUMBA_CACHE_DIR=str(tmp_path / "others")) == ["4 5.0"]


def test_where_no_folder_can_be_written_code_is_compiled_and_not_kept(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_WAITING)
    (tmp_path / "__pycache__").touch()  # a file, so that no folder of that name can be made
    (tmp_path / "home").touch()
    done = subprocess.run(
        [sys.executable, str(program), "told"],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "HOME": str(tmp_path / "home"),
            "XDG_CACHE_HOME": str(tmp_path / "home"),
            "NUMBA_CACHE_DIR": "",
            "SEARS_COMPILE": "always",
            "NUMBA_DISABLE_JIT": "0",
        },
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["compiling False", "4 5.0"]


_COMPILING_TAGGER = """
from sears_dsl._compiled import kernel
from sears_dsl.text.pinned import PinnedTagger
@kernel
def following(value):
    return value + 1
def make():
    following.dispatcher()(1)
    return PinnedTagger()
"""


def test_the_command_line_says_why_one_waits_unless_it_is_to_be_quiet(tmp_path: Path) -> None:
    (tmp_path / "rules.sear").write_text("movie -> film\n")
    (tmp_path / "rows.txt").write_text("A movie.\n")
    (tmp_path / "compiling_tagger.py").write_text(_COMPILING_TAGGER)
    environment = {k: v for k, v in os.environ.items() if k != "SEARS_COMPILE"}

    def apply(*options: str, kernels: str) -> str:
        command = [SEARS, "apply", "rules.sear", "rows.txt", "-o", "-", "--no-cache"]
        done = subprocess.run(
            [*command, "--tagger", "compiling_tagger:make", *options],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={
                **environment,
                "NUMBA_CACHE_DIR": str(tmp_path / kernels),
                "NUMBA_DISABLE_JIT": "0",
                "PYTHONPATH": str(tmp_path),
            },
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["rewritten"] == "A film."
        return done.stderr

    assert apply("--quiet", kernels="one") == ""
    assert "compiling" not in apply(kernels="one")
    assert apply(kernels="two").count("compiling the inner loops") == 1
