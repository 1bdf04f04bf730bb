"""Interrupted runs keep their results until somebody discards them."""

from __future__ import annotations

import functools
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from command_line import call
from without_rights import open_folder, without_rights

from sears_dsl.cli.options.unfinished import Resuming, UnfinishedRun, unfinished_run
from sears_dsl.cli.screen.console import _Stage, stages
from sears_dsl.errors import DataError, ModelError, UsageError
from sears_dsl.runtime.database import RunJournal


def find_out(run: UnfinishedRun, key: str = "a") -> None:
    with RunJournal(run.folder / "journal.sqlite3", task="") as journal:
        journal.put_many("paraphrases", {key: ["b"]})


def known(run: UnfinishedRun) -> dict[str, Any]:
    with RunJournal(run.folder / "journal.sqlite3", task="") as journal:
        return journal.get_many("paraphrases", ["a"])


def fail(output: Path, error: BaseException, *, findings: bool = True, **options: bool) -> None:
    """A run that ends early, after or before its first result."""
    with unfinished_run(output, Resuming(**options)) as run:
        if findings:
            find_out(run)
        else:
            RunJournal(run.folder / "journal.sqlite3", task="").close()
        raise error


def begin(output: Path, *, goes_on: bool = False, **options: bool) -> bool:
    """A run that finishes; whether it started from saved results."""
    with unfinished_run(output, Resuming(**options), goes_on=goes_on) as run:
        run.keep = goes_on
        return bool(known(run))


def test_a_finished_run_leaves_nothing_but_its_output(tmp_path: Path) -> None:
    with unfinished_run(tmp_path / "found.sear", Resuming()) as run:
        find_out(run)
        assert run.folder == tmp_path / "found.sear.partial"
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_cut_short_on_purpose_can_go_on(tmp_path: Path) -> None:
    with unfinished_run(tmp_path / "found.sear", Resuming()) as run:
        find_out(run)
        run.keep = True
    with unfinished_run(tmp_path / "found.sear", Resuming(resume=True)) as run:
        assert known(run)


def test_a_second_start_removes_nothing_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "found.sear"
    with pytest.raises(ModelError):
        fail(output, ModelError("out of memory"))
    assert f"are in {output}.partial; --resume continues" in capsys.readouterr().err
    with pytest.raises(UsageError, match="holds an interrupted run") as error:
        begin(output)
    assert error.value.help == "--resume continues it; --restart removes it and starts over"
    with pytest.raises(click.UsageError, match="give one of them"):
        begin(output, resume=True, restart=True)
    with pytest.raises(KeyboardInterrupt):
        fail(output, KeyboardInterrupt(), resume=True)
    assert begin(output, goes_on=True)
    assert not begin(output, restart=True)


@pytest.mark.parametrize(
    ("task", "advice"),
    [
        ("beam 30\nsears 2.0", "sears itself has changed since"),
        ("beam 9\nsears 1.0", "same options"),
    ],
)
def test_a_run_that_cannot_go_on_is_not_said_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], task: str, advice: str
) -> None:
    def begin(task: str, *, resume: bool) -> None:
        with (
            unfinished_run(tmp_path / "found.sear", Resuming(resume=resume)) as run,
            RunJournal(run.folder / "journal.sqlite3", task=task) as journal,
        ):
            journal.put_many("paraphrases", {"a": ["b"]})
            run.keep = True

    begin("beam 30\nsears 1.0", resume=False)
    capsys.readouterr()
    with pytest.raises(UsageError) as told:
        begin(task, resume=True)
    assert advice in told.value.help
    assert "--restart" in told.value.help
    assert capsys.readouterr().err == ""
    assert (tmp_path / "found.sear.partial").exists()


def test_a_run_that_found_nothing_out_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        fail(tmp_path / "a.sear", ModelError("no module 'nope'"), findings=False)
    assert list(tmp_path.iterdir()) == []


# The most bytes that a file may have.
_FULL_DISK = """
import resource, sys
from pathlib import Path
from sears_dsl.cli.options.unfinished import Resuming, unfinished_run
from sears_dsl.models.cached import PredictionStore
from sears_dsl.errors import SearsError
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
try:
    with unfinished_run(Path("a.sear"), Resuming()) as run:
        PredictionStore(run.folder / "predictions.sqlite3")
except SearsError as error:
    print(error)
"""


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
@pytest.mark.parametrize("most", [0, 4096, 8192, 24576])
def test_a_run_that_a_full_disk_ends_at_once_says_nothing_of_findings(
    tmp_path: Path, most: int
) -> None:
    command = [sys.executable, "-c", _FULL_DISK, str(most)]
    end = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "could not be opened: disk I/O error" in end.stdout
    assert end.stderr == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="needs a terminal of POSIX")
@pytest.mark.parametrize(
    ("answer", "told", "left"),
    [("stop", "stopped", True), ("restart", "no column 'lable'", False)],
)
def test_at_a_terminal_a_second_start_asks(
    tmp_path: Path, answer: str, told: str, left: bool
) -> None:
    import pty

    with pytest.raises(ModelError):
        fail(tmp_path / "found.sear", ModelError("out of memory"))
    (tmp_path / "dev.csv").write_text("text,label\nA film.,good\n", "utf-8")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from sears_dsl.cli import main; main()", "discover",
               "--model", "a:b", "--data", "dev.csv", "--label", "lable", "-o",
               "found.sear"]  # fmt: skip
    process = subprocess.Popen(
        command, cwd=tmp_path, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL
    )
    os.close(theirs)  # so that reading ends with the process
    said = b""
    while b"stop) " not in said:
        said += os.read(ours, 4096)
    assert b"Resume it, restart, or stop?" in b" ".join(said.split())
    os.write(ours, answer.encode() + b"\n")
    while told.encode() not in said:
        said += os.read(ours, 4096)
    process.wait(timeout=1200)
    os.close(ours)
    assert b"\x1b[?25l" not in said.partition(b"or stop?")[0], "bars are drawn after the question"
    assert (tmp_path / "found.sear.partial").exists() is left


@pytest.mark.skipif(os.name == "nt", reason="needs rights of POSIX")
def test_an_output_that_may_not_be_written_leaves_nothing() -> None:
    with open_folder() as folder:
        (folder / "out").mkdir(mode=0o555)
        with without_rights(), pytest.raises(DataError, match=r"cannot write to .*out"):
            begin(folder / "out")
        assert [each.name for each in folder.iterdir()] == ["out"]
        assert not begin(folder / "new" / "folder" / "out")


def test_two_runs_of_one_output_do_not_meet(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path\n"
        "from sears_dsl.cli.options.unfinished import Resuming, unfinished_run\n"
        f"with unfinished_run(Path({str(tmp_path / 'a.sear')!r}), Resuming()):\n"
        "    print('begun', flush=True); time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        first.stdout.readline()
        for option in ("resume", "restart", "quiet"):
            with pytest.raises(DataError, match="another process is writing"):
                begin(tmp_path / "a.sear", **{option: True})
        first.kill()
    assert not begin(tmp_path / "a.sear")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_run_that_is_ended_from_outside_says_how_to_go_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    code = (
        "import time; from pathlib import Path\n"
        "from sears_dsl.cli import commands, main\n"
        "from sears_dsl.cli.options.unfinished import Resuming, unfinished_run\n"
        "from sears_dsl.runtime.database import RunJournal\n"
        "def work():\n"
        f"    with unfinished_run(Path({str(tmp_path / 'a.sear')!r}), Resuming()) as run:\n"
        "        with RunJournal(run.folder / 'journal.sqlite3', task='') as journal:\n"
        "            journal.put_many('paraphrases', {'a': ['b']})\n"
        "            print('begun', flush=True); time.sleep(600)\n"
        "commands.run = work; main()\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        _, told = process.communicate(timeout=600)
    assert f"results so far are in {tmp_path / 'a.sear.partial'}; --resume continues" in told
    assert process.returncode == 128 + number


class End(NamedTuple):
    """How a command ended, and its processor time in seconds."""

    code: int
    told: str
    seconds: float
    torch: bool


_ONE_AFTER_ANOTHER = """
import contextlib, io, json, sys, time
from sears_dsl.cli import main
for words in json.load(sys.stdin):
    sys.argv, told, code, before = ["sears", *words], io.StringIO(), 0, time.process_time()
    with contextlib.redirect_stderr(told):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    seconds = time.process_time() - before
    print(json.dumps([code, told.getvalue(), seconds, "torch" in sys.modules]))
"""


def ends(folder: Path, commands: Sequence[Sequence[str]]) -> list[End]:
    """How commands that fail early end, in a new process that has imported nothing."""
    done = subprocess.run(
        [sys.executable, "-c", _ONE_AFTER_ANOTHER], input=json.dumps(commands),
        cwd=folder, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [End(*json.loads(line)) for line in done.stdout.splitlines()]


EARLY = [
    (("--model", "nope:predict"), "there is no module 'nope'"),
    (("--model", "hf:nope"), "no model of that name is on this machine"),
    (("--model", "sklearn:nope.joblib"), "nope.joblib"),
    (("--model", "every:reviews:predict"), "name at least two models: every:SPEC,SPEC"),
    (("--label", "lable"), "did you mean 'label'?"),
    (("--data", "none.csv"), "none.csv cannot be read"),
    (("--data", "numbers.csv"), "it answers 'good'; the labels are '1'; do they mean the same?"),
    (("--data", "numbers.csv"), "with names in the --response-map of an endpoint"),
    (("-o", "dev.csv/found.sear"), "cannot create"),
    (("-o", "missing/found.sear"), "there is no folder missing"),
    (("--data", "half.jsonl"), "row 1: text holds half of a character (U+D83D)"),
    (("-o", "found.txt"), "a ruleset's name ends in .sear"),
    (("--pivot", "nope"), "`sears pivots pull nope` pulls it and the one back"),
    (("--tagger", "nope"), "nope"),
    (("--delta", "1"), "--delta"),
]


@pytest.fixture(scope="module")
def early_ends(tmp_path_factory: pytest.TempPathFactory) -> list[End]:
    """How ``sears discover`` ends with each of these options."""
    folder = tmp_path_factory.mktemp("early")
    (folder / "reviews.py").write_text(
        "def predict(texts):\n    return ['good' for _ in texts]\n", "utf-8"
    )
    (folder / "dev.csv").write_text("text,label\n" + "A good film.,good\n" * 4, "utf-8")
    (folder / "numbers.csv").write_text("text,label\n" + "A good film.,1\n" * 4, "utf-8")
    (folder / "half.jsonl").write_text('{"text": "A \\ud83d film.", "label": "good"}\n')
    usual = {"--model": "reviews:predict", "--data": "dev.csv", "--column": "text",
             "--label": "label", "-o": "found.sear"}  # fmt: skip
    commands = []
    for (option, value), _ in EARLY:
        given = {**usual, option: value}
        commands.append(["discover", *(word for pair in given.items() for word in pair)])
    found = ends(folder, commands)
    assert not list(folder.glob("*.partial"))
    assert not (folder / "missing").exists()
    return found


@pytest.mark.skipif(os.name == "nt", reason="measures as POSIX does")
@pytest.mark.parametrize("number", range(len(EARLY)), ids=lambda number: "=".join(EARLY[number][0]))
def test_what_can_fail_early_fails_before_torch_is_imported(
    early_ends: list[End], number: int
) -> None:
    end = early_ends[number]
    assert (end.code, end.torch) == (2, False)
    assert EARLY[number][1] in end.told
    assert "Traceback" not in end.told
    assert end.seconds < 2


WITHOUT_A_MODEL = {
    "audit": "audit a.sear --model late:predict --data rows.csv --column text -o audit",
    "vet": "vet a.sear --model late:predict --data rows.csv --column text",
    "augment": "augment a.sear rows.csv -o more.csv",
    "fix": "fix a.sear --train rows.csv --data rows.csv --label label -o fix.json",
    "export": "export a.sear --data rows.csv -o suite.pkl",
}


@pytest.mark.skipif(os.name == "nt", reason="there are no such pipes")
@pytest.mark.parametrize("wrong", ["manifest", "rule"])
def test_what_needs_no_model_is_reported_before_rows_are_read(tmp_path: Path, wrong: str) -> None:
    """The rows are a pipe into which nobody writes, so reading them would block."""
    os.mkfifo(tmp_path / "rows.csv")
    (tmp_path / "late.py").write_text("raise RuntimeError('the model was loaded')\n")
    (tmp_path / "a.sear").write_text(
        "NOUN -> thing\n" if wrong == "manifest" else "learn -> $1.VBD\n"
    )
    told = "has more than one form for VBD"
    if wrong == "manifest":
        manifest = {"format": "sears-manifest", "version": 1, "validated_with": ["mine:tagger 1"]}
        (tmp_path / "a.manifest.json").write_text(json.dumps(manifest))
        told = "which a file may not make sears import"
    # Exporting needs no model, so its rules need not be runnable.
    names = [name for name in WITHOUT_A_MODEL if (wrong, name) != ("rule", "export")]
    for name, end in zip(
        names, ends(tmp_path, [WITHOUT_A_MODEL[name].split() for name in names]), strict=True
    ):
        assert end.code == 2, name
        assert told in end.told, name
        assert "Traceback" not in end.told, name


def test_an_audit_without_a_scorer_loads_no_torch() -> None:
    code = "import sys, sears_dsl.auditing.audit; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_first_word_comes_within_a_second(tmp_path: Path) -> None:
    """The first line is printed before rows are read; the rest is the interpreter and click."""
    os.mkfifo(tmp_path / "dev.csv")
    command = [sys.executable, "-c", "from sears_dsl.cli import main; main()", "discover",
               "--model", "a:b", "--data", "dev.csv", "-o", "a.sear"]  # fmt: skip
    before = os.times()
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "reading rows\n"
        process.kill()
    after = os.times()
    spent = after.children_user + after.children_system
    # Processor time, since others may keep it busy; a third of a second on an idle machine.
    assert spent - before.children_user - before.children_system < 2


# ---------------------------------------------------------------- bad luck

SLOW = """\
import pathlib, time

def predict(texts):
    if pathlib.Path("slow").exists():
        time.sleep(0.02 * len(texts))
    return ["bad" if "film" in text else "good" for text in texts]
"""
COMMANDS = {
    "audit": "audit words.sear --model slow_reviews:predict --data held.csv --scorer none "
    "--batch-size 4 -o out",
    "fix": "fix words.sear --train train.csv --data held.csv --seeds 3 -o fix.json",
}


def bad_luck(folder: Path) -> Path:
    folder.mkdir()
    (folder / "slow_reviews.py").write_text(SLOW, "utf-8")
    (folder / "slow").touch()
    (folder / "words.sear").write_text(
        "rule film: movie -> film\nrule meal: food -> meal\n", "utf-8"
    )
    for name, first in (("train.csv", 0), ("held.csv", 40)):
        lines = ["text,label"]
        for number in range(first, first + 40):
            noun = ("movie", "food", "room")[number % 3]
            lines.append(f"The {noun} {number} was great.,good")
            lines.append(f"The {noun} {number} was awful.,bad")
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def words_of(command: str, *more: str) -> list[str]:
    return [*COMMANDS[command].split(), "--column", "text", "--label", "label", *more]


def finished(folder: Path, command: str, *more: str) -> dict[str, bytes]:
    """The output of an uninterrupted run, which needs no process of its own, and no time."""
    (folder / "slow").unlink(missing_ok=True)
    end = call(*words_of(command, *more), folder=folder)
    assert end.returncode in (0, 1), end.stderr
    return outputs(folder)


def begun(folder: Path, command: str, *more: str, first: str = "") -> subprocess.Popen[str]:
    words = words_of(command, *more)
    program = [sys.executable, "-c", "from sears_dsl.cli import main; main()", *words]
    if first:
        program = ["bash", "-c", f'{first}; exec "$@"', "bash", *program]
    return subprocess.Popen(
        program, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def outputs(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name.startswith(("audit.", "junit.", "fix."))
    }


def grown(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.partial/*.sqlite3-wal"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, bytes]]:
    """The output of an uninterrupted command, which runs once."""

    @functools.cache
    def written(command: str) -> dict[str, bytes]:
        return finished(bad_luck(tmp_path_factory.mktemp("whole") / command), command)

    return written


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_run_that_is_killed_again_and_again_ends_in_the_same_bytes(
    tmp_path: Path, command: str, whole: Callable[[str], dict[str, bytes]]
) -> None:
    killed = bad_luck(tmp_path / "killed")
    most = (
        2 if command == "audit" else 1
    )  # training twice is slow, and another kill would show nothing new
    for _ in range(most):
        seen = grown(killed)
        process = begun(killed, command, "--resume")
        while grown(killed) <= seen:
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
        process.communicate()
    assert finished(killed, command, "--resume") == whole(command)
    assert not list(killed.glob("*.partial"))


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
def test_a_full_disk_is_a_sentence_and_loses_nothing(
    tmp_path: Path, whole: Callable[[str], dict[str, bytes]]
) -> None:
    folder = bad_luck(tmp_path / "full")
    (folder / "slow").unlink()
    # The most blocks of 1024 bytes that a file may have.
    process = begun(folder, "audit", first="trap '' XFSZ; ulimit -f 24")
    _, told = process.communicate(timeout=600)
    assert process.returncode == 2, told
    assert "Traceback" not in told
    assert "sears: " in told
    assert finished(folder, "audit", "--resume") == whole("audit")


@pytest.mark.skipif(os.name == "nt", reason="folders that are in use cannot be removed there")
def test_a_folder_that_is_removed_in_the_middle_does_no_harm(tmp_path: Path) -> None:
    folder = bad_luck(tmp_path / "a")
    process = begun(folder, "audit")
    while not grown(folder):
        assert process.poll() is None
        time.sleep(0.02)
    (folder / "slow").unlink()
    shutil.rmtree(folder / "out.partial")
    _, told = process.communicate(timeout=600)
    assert "Traceback" not in told
    assert process.returncode in (0, 1, 2)
    if process.returncode == 2:
        assert "sears: " in told
    else:
        assert outputs(folder)


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    folder = bad_luck(tmp_path / "a")
    (folder / "slow").unlink()
    process = begun(folder, "audit", "--json")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    told = process.stderr.read()
    process.wait(timeout=600)
    process.stderr.close()
    assert "Traceback" not in told
    assert outputs(folder)


# ---------------------------------------------------------------- progress


def test_lines_go_on_while_a_stage_tells_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    told = ""

    def wait_for(line: str) -> None:
        nonlocal told
        end = time.monotonic() + 300
        while not re.search(f"^{line}$", told, re.MULTILINE):
            assert time.monotonic() < end, told
            time.sleep(0.01)
            told += capsys.readouterr().err

    with stages(shown=True, every=0.05) as show:
        show("asking the model", 10, 30)
        show("asking the model", 20, 30)
        wait_for(r"asking the model: 20 of 30, \d:\d\d, about \d:\d\d left")
        show("proposing rules", 0, None)
        wait_for(r"proposing rules: \d:\d\d")
    assert told.splitlines()[0] == "asking the model (30)"
    assert "proposing rules" in told.splitlines()
    capsys.readouterr()
    time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_what_is_left_is_reckoned_from_what_was_done_in_this_run() -> None:
    stage = _Stage("asking", done=150, total=200, before=100, began=time.monotonic() - 3600)
    assert str(stage) == "asking: 150 of 200, 1:00:00, about 1:00:00 left"
    assert str(replace(stage, done=100)) == "asking: 100 of 200, 1:00:00"


def test_a_stage_that_begins_again_has_a_pace_of_its_own() -> None:
    stage = _Stage("asking", done=150, total=200, before=100, began=time.monotonic() - 3600)
    assert str(stage.at(160, 200)) == "asking: 160 of 200, 1:00:00, about 40:00 left"
    assert str(stage.at(20, 300)) == "asking: 20 of 300, 0:00"


def test_nothing_is_reported_where_nothing_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    with stages(shown=False) as show:
        show("asking the model", 0, 30)
    assert capsys.readouterr().err == ""


def test_what_is_printed_aside_stands_between_two_stages(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with stages(shown=True, every=0.05) as show:
        show("trying known rules", 3, 9)
        with show.pause():
            before = capsys.readouterr().err.splitlines()
            time.sleep(0.2)
            click.echo("nothing else in here", err=True)
            aside = capsys.readouterr().err
        show("paraphrasing", 0, 9)
    assert before[0] == "trying known rules (9)"
    assert aside == "nothing else in here\n"
    assert "paraphrasing (9)" in capsys.readouterr().err.splitlines()


_TURNS = """
import time
from sears_dsl.cli.screen.console import stages

with stages(shown=True) as show:
    show("judging rules", 1, 9)
    show("scoring", 1024, 1026)
    show("scoring", 1026, 1026)
    time.sleep(0.1)
    show("judging rules", 3, 9)
    time.sleep(2.1)
    show("judging rules", 9, 9)
"""


def test_at_a_terminal_the_clock_of_the_stage_that_runs_goes_and_no_other() -> None:
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _TURNS],
        stderr=end,
        env=os.environ | {"COLUMNS": "120", "TERM": "xterm"},
    )
    os.close(end)
    screen = b""
    # Linux reports a terminal that nobody writes to any more as an error.
    with suppress(OSError):
        while portion := os.read(terminal, 65_536):
            screen += portion
    os.close(terminal)
    assert process.wait(timeout=60) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.decode())
    judging, scoring = (
        [line for line in re.split(r"[\r\n]+", text) if line.startswith(stage)][-1]
        for stage in ("judging rules", "scoring")
    )
    # A busy machine may delay it for seconds.
    assert re.search(r" 9/9 +0:0\d:(0[2-9]|[1-5]\d)", judging), judging
    assert re.search(r" 1026/1026 +0:00:0[01]", scoring), scoring
