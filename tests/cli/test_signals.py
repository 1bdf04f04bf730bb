"""A command that is ended from outside prints one line, or none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sears_dsl.cli.screen import console
from sears_dsl.cli.screen.console import _StageBars, on_screen

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

SEARS = str(Path(sys.executable).with_name("sears"))
# Tells each module on standard error as soon as it is imported.
TELLING = [sys.executable, "-X", "importtime", "-c", "from sears_dsl.cli import main; main()"]


def _printed(stderr: str) -> list[str]:
    # A new clone has no compiled code yet, and says so.
    beside = ("import time:", console.COMPILING)
    return [line for line in stderr.splitlines() if line and not line.startswith(beside)]


@pytest.mark.parametrize(
    ("module", "number"),
    [
        ("click.core", signal.SIGINT),
        ("click", signal.SIGTERM),
        ("sears_dsl.cli.options.shared", signal.SIGINT),
        ("sears_dsl.cli.commands", signal.SIGINT),
        ("sears_dsl.language.ruleset", signal.SIGINT),
        ("numpy._core.multiarray", signal.SIGINT),
        ("numpy", signal.SIGHUP),
        ("sears_dsl.engine.compile.program", signal.SIGTERM),
        ("sears_dsl.tagging.fast.weights", signal.SIGINT),
        ("yaml.error", signal.SIGINT),
        ("numba.core.config", signal.SIGTERM),
    ],
)
def test_a_signal_while_modules_are_imported_ends_in_one_line(
    tmp_path: Path, module: str, number: signal.Signals
) -> None:
    rows = tmp_path / "rows.txt"
    rows.write_text("It is not a movie.\n" * 400_000)  # more than it does before anybody looks
    command = [*TELLING, "apply", "contractions", str(rows), "-o", str(tmp_path / "out.jsonl")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.split("|")[-1].strip() == module:
                break
        process.send_signal(number)
        rest = process.stderr.read()
        assert process.wait(600) == 128 + number
    assert _printed(rest) == [*_advice(tmp_path), "stopped"]


def _advice(folder: Path) -> list[str]:
    """The additional message if a part of the output is done."""
    if not (folder / "out.jsonl.sears-partial" / "00000000.part").exists():
        return []
    return ["the finished parts are in out.jsonl.sears-partial; --resume continues the run"]


@pytest.mark.parametrize(
    ("number", "begun"),
    [
        (signal.SIGINT, ""),
        (signal.SIGTERM, "00000000.part"),
        (signal.SIGINT, "00000002.part"),
        (signal.SIGTERM, "00000002.part"),
    ],
)
def test_a_signal_at_any_time_ends_in_one_line_and_leaves_nobody_behind(
    tmp_path: Path, number: signal.Signals, begun: str
) -> None:
    """When the folder is made, when the first rows are done, and while processes work."""
    rows = tmp_path / "rows.txt"
    rows.write_text("It is not a movie, and they do not like it.\n" * 400_000)
    command = [SEARS, "apply", "contractions", str(rows), "-o", str(tmp_path / "out.jsonl")]
    with subprocess.Popen(
        [*command, "--jobs", "2"], stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while not (tmp_path / "out.jsonl.sears-partial" / begun).exists():
            assert process.poll() is None, "it was done before"
            time.sleep(0.01)
        process.send_signal(number)
        # Its standard error ends when every process that writes to it has ended.
        _, stderr = process.communicate(timeout=600)
    assert process.returncode == 128 + number, stderr
    assert _printed(stderr) == [*_advice(tmp_path), "stopped"]


_COMMAND = """
import os, signal, sys, threading, time

import click

from sears_dsl.cli import main
from sears_dsl.cli.commands import sears

sys.modules["sears_dsl.cli.main"]._PATIENCE = 1.0

def press(number=signal.SIGINT):
    os.kill(os.getpid(), number)

@sears.command()
def work():
    {work}

main()
"""


def _worked(work: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The result of a command that does this."""
    return subprocess.run(
        [sys.executable, "-c", _COMMAND.format(work=work.replace("\n", "\n    ")), "work"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("rest", "stdout"), [("whole = True", "whole\n"), ("import time; time.sleep(600)", "")]
)
def test_an_interrupt_waits_for_the_end_of_an_import_but_not_for_long(
    tmp_path: Path, rest: str, stdout: str
) -> None:
    """A half-imported module that counts as whole causes all kinds of errors and crashes."""
    module = f"import os, signal; os.kill(os.getpid(), signal.SIGINT); {rest}\n"
    (tmp_path / "interrupted.py").write_text(module)
    done = _worked(
        """\
import interrupted
assert interrupted.whole
click.echo("whole")
time.sleep(600)""",
        tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr.split()) == (130, stdout, ["stopped"])


@pytest.mark.parametrize("second", ["SIGINT", "SIGTERM"])
def test_who_presses_twice_interrupts_once(second: str) -> None:
    """The second interrupt would arrive while the first is handled."""
    done = _worked(
        f"""\
try:
    press()
    time.sleep(600)
finally:
    press(signal.{second})
    time.sleep(0.1)
    click.echo("put away")"""
    )
    assert (done.returncode, done.stdout, done.stderr.split()) == (130, "put away\n", ["stopped"])


def test_a_signal_that_c_code_turns_into_another_error_ends_in_one_line() -> None:
    done = _worked(
        """\
try:
    press(signal.SIGTERM)
    signal.pause()
except KeyboardInterrupt as interrupt:
    raise SystemError("returned a result with an exception set") from interrupt"""
    )
    assert (done.returncode, done.stderr.split()) == (128 + signal.SIGTERM, ["stopped"])


def test_who_presses_again_after_a_while_is_heard() -> None:
    done = _worked(
        """\
try:
    press()
    time.sleep(600)
except KeyboardInterrupt:  # as a model may do
    time.sleep(1.1)
    press()
    time.sleep(600)"""
    )
    assert (done.returncode, done.stdout, done.stderr.split()) == (130, "", ["stopped"])


def test_an_interrupt_that_python_drops_comes_again() -> None:
    """Python prints what a finalizer raises with its trace, and continues."""
    done = _worked(
        """\
class Closed:
    def __del__(self):
        press()
        time.sleep(0.1)
closed = Closed()
del closed
time.sleep(600)"""
    )
    assert (done.returncode, done.stdout, done.stderr.split()) == (130, "", ["stopped"])


def test_an_interrupt_that_a_callback_drops_explains_the_error_that_follows() -> None:
    """LLVM calls numba back with compiled code, which numba misses if an interrupt came."""
    done = _worked(
        """\
import ctypes
ctypes.CFUNCTYPE(None)(press)()
raise RuntimeError("no compiled object yet")"""
    )
    assert (done.returncode, done.stdout, done.stderr.split()) == (130, "", ["stopped"])


@pytest.mark.parametrize("code", [0, 3])
def test_an_interrupt_while_python_shuts_down_changes_nothing_but_may_end_it(code: int) -> None:
    """Python waits for threads, and Ctrl-C during that wait used to print a trace."""
    work = f"""\
def rest():
    threading.main_thread().join()
    press()
    time.sleep({{seconds}})
    press()
    time.sleep(0.5)
threading.Thread(target=rest).start()
sys.exit({code})"""
    done = _worked(work.format(seconds=0.1))
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")
    done = _worked(work.format(seconds=1.1))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


class _Bar:
    """A progress bar that hides the cursor as rich does; an interrupt arrives meanwhile."""

    def __init__(self) -> None:
        self.did: list[str] = []

    def start(self) -> None:
        self.did.append("cursor hidden")
        signal.raise_signal(signal.SIGINT)
        self.did.append("bar drawn")

    def stop(self) -> None:
        self.did.append("cursor shown")


def test_an_interrupt_as_a_bar_appears_leaves_the_cursor_on_the_screen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def work(bar: Any) -> None:
        with on_screen(bar):
            pytest.fail("it goes on")

    def show(bar: Any) -> None:
        monkeypatch.setattr(console, "_new_bar", lambda: bar)
        with closing(_StageBars()) as bars:
            bars("asking", 0, 1)
            pytest.fail("it goes on")

    for shown in (work, show):
        bar = _Bar()
        with pytest.raises(KeyboardInterrupt):
            shown(bar)
        assert bar.did == ["cursor hidden", "bar drawn", "cursor shown"]


def test_a_signal_that_is_ignored_stays_so() -> None:
    command = ["bash", "-c", 'trap "" HUP; exec "$@"', "bash", *TELLING, "check", "contractions"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.split("|")[-1].strip() == "sears_dsl.cli.model.audit":
                break
        process.send_signal(signal.SIGHUP)
        stdout, stderr = process.communicate(timeout=600)
    assert process.returncode == 0
    assert "0 errors" in stdout
    assert _printed(stderr) == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Rows, and a rule that needs no tags, and so no weights of a tagger."""
    (tmp_path / "a.sear").write_text("movie -> film\n")
    (tmp_path / "rows.csv").write_text("id,text\n1,a movie\n")
    return tmp_path


def _in_a_shell(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    words = ["bash", "-c", command]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


# Help, which is printed before a command runs; a command; another one without tags.
PRINTING = ["--help", "rules", "explain a.sear 'A movie.'"]


@pytest.mark.parametrize("arguments", PRINTING)
def test_a_reader_that_went_away_is_no_failed_gate(folder: Path, arguments: str) -> None:
    done = _in_a_shell(folder, f"{SEARS} {arguments} | true; echo ${{PIPESTATUS[0]}}")
    assert (done.stdout.strip(), done.stderr) == ("0", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("arguments", PRINTING)
def test_a_full_disk_behind_what_is_printed_is_one_line(folder: Path, arguments: str) -> None:
    done = _in_a_shell(folder, f"{SEARS} {arguments} > /dev/full")
    assert (done.returncode, done.stderr.splitlines()) == (
        2,
        [
            "sears: the output could not be written: No space left on device",
            "  = help: make room where it is written, then run the command again",
        ],
    )


@pytest.mark.parametrize(
    "arguments",
    [
        "apply a.sear rows.csv -o - >&-",
        "apply a.sear rows.csv -o - > /dev/full",
        "apply a.sear - -o rows.csv.out --format csv <&-",
        "fmt - <&-",
        "try 'a -> b' - <&-",
        "check a.sear <&- >&-",
    ],
)
def test_a_closed_standard_stream_is_reported(folder: Path, arguments: str) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = _in_a_shell(folder, f"{SEARS} {arguments}")
    assert done.returncode == 2
    assert done.stderr.startswith(("sears: standard ", "sears: cannot write standard output: "))
    assert len(done.stderr.splitlines()) <= 2
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_nobody_to_tell_is_no_error(folder: Path) -> None:
    # If standard error is closed, bash opens a script under its number.
    for nobody in ("2>&-", "2</dev/null"):
        for words in ("check a.sear", "apply a.sear rows.csv -o out.csv --tagger pinned"):
            assert _in_a_shell(folder, f"{SEARS} {words} {nobody}").returncode == 0
