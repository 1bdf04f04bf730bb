"""Kernels run plain for little work and compiled for much, with the same results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sears_dsl.batch.files import ApplyRequest, apply_file
from sears_dsl.batch.workers import RulesetRecipe
from sears_dsl.catalogue import load_rulesets
from sears_dsl.engine.warming import warm_up
from sears_dsl.runtime import kernels as kernels_module
from sears_dsl.runtime.files import take_lock
from sears_dsl.runtime.kernels import (
    ENOUGH,
    ENOUGH_TO_COMPILE,
    Kernel,
    _folder_beside,
    compiles,
    kernel,
    kernel_of_alike,
    kernels,
)

SEARS = str(Path(sys.executable).with_name("sears"))
# Without what the shell may say about compiling.
CLEAN = {k: v for k, v in os.environ.items() if k not in ("SEARS_COMPILE", "NUMBA_DISABLE_JIT")}


def output_of(*command: str | Path, **environment: str | Path) -> str:
    """What Python prints when it runs a program in an environment."""
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        env={**CLEAN, **{name: str(value) for name, value in environment.items()}},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


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


@kernel_of_alike
def _alike_sum(values, factor):  # type: ignore[no-untyped-def]
    total = np.int64(0)
    for value in values:
        total += factor * value
    return total


def test_a_kernel_of_alike_arguments_gives_the_same_whenever_it_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert isinstance(_alike_sum, Kernel)
    for compiled in (False, True, True, False, True):
        monkeypatch.setattr(kernels_module._decision, "compiled", compiled)
        assert compiles() == compiled
        assert _alike_sum(np.arange(10), 2) == 90
        assert _alike_sum(np.arange(0), 2) == 0
    with pytest.raises(TypeError):
        _alike_sum(np.arange(10, dtype=np.int8), 2)


_PROGRAM = """
import json, sys
import sears_dsl as sears
from sears_dsl.runtime.kernels import compiles
from sears_dsl.tagging.pinned import PinnedTagger
rules = sears.parse("What NOUN -> Which NOUN\\nmovie -> film")
matcher = rules.compile(tagger=PinnedTagger())
told = []
for times in (1, 1, int(sys.argv[1]), 1):
    found = matcher.apply(["What/PRON/WP color/NOUN/NN is it ?", "A movie ."] * times)
    loaded = ["numba" in sys.modules, "numba.np.linalg" in sys.modules]
    told.append([[r.text for r in found][:2], len(found), compiles(), *loaded])
print(json.dumps(told))
"""


def _run(times: int, **environment: str) -> list[list[object]]:
    told: list[list[object]] = json.loads(output_of("-c", _PROGRAM, str(times), **environment))
    return told


def test_little_work_needs_no_compiler_and_much_work_gets_it() -> None:
    warm_up()
    times = ENOUGH // 5
    texts = ["Which color is it ?", "A film ."]
    # Processes that read compiled code do not need Numba's implementations.
    assert _run(times) == [
        [texts, 2, False, False, False],
        [texts, 2, False, False, False],
        [texts, 2 * times, True, True, False],
        [texts, 2, True, True, False],
    ]


def test_where_no_code_is_on_disk_more_work_is_done_without_the_compiler(tmp_path: Path) -> None:
    times = ENOUGH // 5
    assert 10 * times < ENOUGH_TO_COMPILE
    told = _run(times, NUMBA_CACHE_DIR=str(tmp_path))
    assert [step[2:] for step in told] == [[False, False, False]] * 4


_CHANGING_OVER = """
import json, shutil, sys
from pathlib import Path
import sears_dsl.engine.matcher
from sears_dsl.batch.files import apply_file
from sears_dsl.batch.workers import RulesetRecipe
from sears_dsl.batch.files import ApplyRequest
from sears_dsl.catalogue import load_rulesets
from sears_dsl.runtime import kernels
from sears_dsl.runtime.files import take_lock
folder, compiled = Path(sys.argv[1]), json.loads(sys.argv[2])
told = []
code = kernels._folder_beside(Path(kernels.__file__).parent)
lock = take_lock(code / "compiling.lock")  # as another run has it
def progress(done):
    told.append(kernels.compiles())
    if done.batches == 1:
        for home, kept in compiled.items():
            shutil.copytree(kept, kernels._folder_beside(Path(home)), dirs_exist_ok=True)
        lock.close()
        kernels._decision.compiler.is_done(wait=True)
request = ApplyRequest(recipe=RulesetRecipe(tuple(load_rulesets(["contractions"]))),
                       input=str(folder / "in.txt"), output=str(folder / "out.jsonl"))
apply_file(request, progress=progress)
print(json.dumps(told))
"""
_SLEEPING = """
import time
from sears_dsl.runtime.kernels import ENOUGH, expect
expect(ENOUGH + 1)
time.sleep(600)
"""


def test_a_run_that_changes_over_while_it_runs_writes_the_same(tmp_path: Path) -> None:
    """Another run is compiling; this one goes on until that one is done."""
    warm_up()
    rows = [f"It's not the {number}th film that they didn't see." * 4 for number in range(500)]
    (tmp_path / "in.txt").write_text("\n".join(rows))
    homes = {Path(each.plain.__code__.co_filename).parent for each in kernels()}
    kept = {str(home): str(_folder_beside(home)) for home in homes if "sears_dsl" in home.parts}
    told = output_of(
        "-c", _CHANGING_OVER, tmp_path, json.dumps(kept), NUMBA_CACHE_DIR=tmp_path / "kernels"
    )
    assert json.loads(told) == [False, True, True, True]  # after each batch
    recipe = RulesetRecipe(tuple(load_rulesets(["contractions"])))
    expected = tmp_path / "expected.jsonl"
    apply_file(ApplyRequest(recipe=recipe, input=str(tmp_path / "in.txt"), output=str(expected)))
    assert (tmp_path / "out.jsonl").read_bytes() == expected.read_bytes()


def test_who_compiles_ends_with_who_wanted_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("SEARS_COMPILE", raising=False)
    folder = _folder_beside.__wrapped__(Path(kernels_module.__file__).parent)
    assert folder is not None
    with subprocess.Popen([sys.executable, "-c", _SLEEPING]) as wanting:
        _until_taken(folder, is_taken=True)
        wanting.kill()
    _until_taken(folder, is_taken=False)


def _until_taken(folder: Path, *, is_taken: bool) -> None:
    """Wait until a process compiles into a folder, or until none does."""
    for _ in range(600):
        lock_file = take_lock(folder / "compiling.lock")
        if lock_file is not None:
            lock_file.close()
        if (lock_file is None) is is_taken:
            return
        time.sleep(0.1)
    pytest.fail("nobody compiles" if is_taken else "who compiles was left behind")


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


def test_a_wrong_choice_is_reported() -> None:
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
from callee import Pair
print(caller.outer(1), caller.outer.misses, caller.first(Pair(1, 2)), caller.first.misses)
"""
_CALLER = """
from sears_dsl.runtime.kernels import kernel
from callee import inner, STEP
@kernel
def outer(value):
    return inner(value) + STEP
@kernel
def first(pair):
    return pair.left
"""
_CALLEE = """
from typing import NamedTuple
import numpy as np
from sears_dsl.runtime.kernels import kernel
STEP = {step}
@kernel
def inner(value):
    return {inner}
class Pair(NamedTuple):
    {one}: int
    {other}: int
"""


def _outputs(folder: Path, callees: Sequence[Mapping[str, object]]) -> list[list[str]]:
    """The output of the program with one callee after another, whose file keeps its time stamp."""
    (folder / "caller.py").write_text(_CALLER)
    always = {"SEARS_COMPILE": "always", "PYTHONDONTWRITEBYTECODE": "1"}
    printed = []
    for callee in callees:
        usual = {"step": 10, "inner": "value + 1", "one": "left", "other": "right"}
        (folder / "callee.py").write_text(_CALLEE.format(**{**usual, **callee}))
        printed.append(output_of("-c", _TWO_MODULES, folder, **always).split())
    return printed


def test_code_on_disk_is_used_while_it_is_whole_and_nothing_it_is_made_of_has_changed(
    tmp_path: Path,
) -> None:
    """The tests below cover, by its fingerprint, each thing that a kernel is made of."""
    folder = tmp_path / "__pycache__"
    folder.mkdir()
    python = f"py{sys.version_info[0]}{sys.version_info[1]}{sys.abiflags}"
    # Written as numba itself would write them.
    for name in (f"caller.outer-0-4.{python}.nbi", f"caller.outer-0-4.{python}.1.nbc"):
        (folder / name).touch()
    others = {"caller.outer-0-4.py27.nbi", f"caller.outermost-0-4.{python}.nbi", "caller.pyc"}
    for name in others:
        (folder / name).touch()

    def files() -> set[str]:
        return {path.name for path in folder.iterdir()}

    assert _outputs(tmp_path, [{}]) == [["12", "1", "1", "1"]]
    first = files()
    assert first > others
    assert len(first) == len(others) + 3
    for file in folder.glob("*.nbc"):
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
    again = _outputs(tmp_path, [{}, {}, {"step": 20}])
    assert again == [["12", "1", "1", "1"], ["12", "0", "1", "0"], ["22", "1", "1", "0"]]
    assert len(files()) == len(first), "code of earlier versions is removed and nothing else"
    assert len(files() - first) == 1
    fields = {"step": 20, "one": "right", "other": "left"}
    assert _outputs(tmp_path, [fields]) == [["22", "0", "2", "1"]]


_KERNEL = """
import math
from typing import NamedTuple
import numpy as np
from sears_dsl.runtime.kernels import kernel
class Pair(NamedTuple):
    left: int
    right: int = 0
TABLE = np.arange(3)
NUMBERS = (1, 2.5, "a")
def make(step):
    @kernel
    def shifted(value):
        return value + step
    return shifted
shifted = make(1)
@kernel
def called(value, by=1):
    return -value
@kernel
def subject(values, low=0):
    def scaled(value):
        return np.floor(value) * math.pi
    total = called(values[0]) + TABLE[0] + NUMBERS[0] + len(Pair(1, 2))
    return total + scaled(values.real[0])
"""


def _fingerprints(source: str) -> tuple[str, str]:
    names: dict[str, Any] = {"__name__": "subject"}
    exec(compile(source, "subject.py", "exec"), names)  # noqa: S102 - from this very file
    return names["subject"].fingerprint, names["shifted"].fingerprint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("np.floor", "np.ceil"),
        ("values.real", "values.imag"),
        ("math.pi", "math.e"),
        ("return -value", "return +value"),
        ("by=1", "by=2"),
        ("value, by", "other, by"),
        ("low=0", "low=1"),
        ("left: int\n    right: int = 0", "right: int\n    left: int = 0"),
        ("right: int = 0", "right: int = 1"),
        ("np.arange(3)", "np.arange(1, 4)"),
        ("np.arange(3)", "np.arange(3.0)"),
        ('"a"', '"b"'),
        ("2.5", "2"),
    ],
)
def test_whatever_a_kernel_is_made_of_is_in_its_fingerprint(old: str, new: str) -> None:
    assert _KERNEL.count(old) == 1 or old == "values.real"
    changed = _KERNEL.replace(old, new)
    if old == "value, by":
        changed = changed.replace("return -value", "return -other")
    assert _fingerprints(changed)[0] != _fingerprints(_KERNEL)[0]


def test_free_variables_are_in_a_fingerprint_and_places_are_not() -> None:
    assert _fingerprints(_KERNEL.replace("make(1)", "make(2)"))[1] != _fingerprints(_KERNEL)[1]
    assert _fingerprints("\n# a comment\n" + _KERNEL) == _fingerprints(_KERNEL)


_AT_ONCE = """
import sys, threading
import numpy as np
from sears_dsl.runtime.kernels import kernel
@kernel
def step(value):
    return value + 1
@kernel
def even(number):
    return True if number == 0 else odd(number - 1)
@kernel
def odd(number):
    return False if number == 0 else even(number - 1)
@kernel
def total(values):
    found = 0
    for value in values:
        found += step(value) + SHIFT
    return found
SHIFT = 1
values, answers, errors = np.arange(10), [], []
ready = threading.Barrier(16)
def call(number):
    ready.wait()
    try:
        # Each of two that call each other is the first one for some threads.
        answers.append((total(values), (even, odd)[number % 2](10)))
    except BaseException as error:
        errors.append(error)
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=call, args=(number,)) for number in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(errors, set(answers), {each.misses for each in (step, total)})
"""


def test_many_threads_may_be_the_first_to_call_a_kernel(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_AT_ONCE)
    for number in range(2):
        folder = tmp_path / f"kernels-{number}"
        told = output_of(program, SEARS_COMPILE="always", NUMBA_CACHE_DIR=folder)
        assert told.strip() in (
            "[] {(65, True), (65, False)} {1}",
            "[] {(65, False), (65, True)} {1}",
        )


_WAITING = """
import sys
import numpy as np
from sears_dsl.runtime.kernels import keeps_code, kernel, when_compiling
@kernel
def inner(value):
    return value + 1
@kernel
def outer(value):
    return inner(value) * 2
def tell():
    print("compiling", keeps_code())
if sys.argv[1] == "told":
    when_compiling(tell)
print(outer(1), outer(1.5))
"""


def test_whoever_asks_is_told_once_that_kernels_are_compiled(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_WAITING)

    def told(argument: str, folder: str) -> list[str]:
        always = {"SEARS_COMPILE": "always", "PYTHONDONTWRITEBYTECODE": "1"}
        return output_of(
            program, argument, **always, NUMBA_CACHE_DIR=tmp_path / folder
        ).splitlines()

    assert told("told", "kernels") == ["compiling True", "4 5.0"]
    assert told("told", "kernels") == ["4 5.0"]
    assert told("silent", "others") == ["4 5.0"]


def test_where_no_folder_can_be_written_code_is_compiled_and_not_kept(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_WAITING)
    (tmp_path / "__pycache__").touch()  # a file, so that no folder of that name can be made
    (tmp_path / "home").touch()
    home = tmp_path / "home"
    places = {"HOME": home, "XDG_CACHE_HOME": home, "NUMBA_CACHE_DIR": ""}
    told = output_of(program, "told", **places, SEARS_COMPILE="always")
    assert told.splitlines() == ["compiling False", "4 5.0"]


_COMPILING_TAGGER = """
from sears_dsl.runtime.kernels import kernel
from sears_dsl.tagging.pinned import PinnedTagger
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

    def apply(*options: str, kernels: str) -> str:
        command = [SEARS, "apply", "rules.sear", "rows.txt", "-o", "-", "--no-cache"]
        done = subprocess.run(
            [*command, "--tagger", "compiling_tagger:make", *options],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={
                **CLEAN,
                "NUMBA_CACHE_DIR": str(tmp_path / kernels),
                "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
            },
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["rewritten"] == "A film."
        return done.stderr

    assert apply("--quiet", kernels="one") == ""
    assert "compiling" not in apply(kernels="one")
    assert apply(kernels="two").count("compiling the inner loops") == 1
