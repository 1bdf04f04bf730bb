"""Runs that are killed or resumed, or fill the disk: the output is old or complete."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from waiting import is_at_work, wait_until
from word_matcher import WordRecipe

from sears_dsl.batch.files import ApplyProgress, ApplyRequest, apply_file
from sears_dsl.batch.partial import PartialOutput
from sears_dsl.batch.workers import RulesetRecipe
from sears_dsl.data.batches import ReadOptions
from sears_dsl.data.span_columns import SpanColumn
from sears_dsl.errors import DataError, SearsError, UsageError
from sears_dsl.language.loader import parse

ROWS = 60
BATCHES = 13  # of five lines each, the header included

SCRIPT = """
import sys
import time
sys.path.insert(0, {tests!r})
from word_matcher import WordRecipe
from sears_dsl.batch.files import apply_file
from sears_dsl.batch.files import ApplyRequest
from sears_dsl.errors import SearsError
from sears_dsl.data.batches import ReadOptions
if __name__ == "__main__":
    {before}
    request = ApplyRequest(recipe=WordRecipe(seconds={seconds}), input={source!r}, jobs={jobs},
                           output={output!r}, mode="chain", reading=ReadOptions(rows=5))
    try:
        apply_file(request)
    except SearsError as error:
        print(error)
        sys.exit(2)
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    rows = "".join(f"{number},What a movie {number} {'long ' * 9}\n" for number in range(ROWS))
    path.write_text("id,text\n" + rows)
    return path


def request_for(source: Path, *, resume: bool = False, jobs: int = 1) -> ApplyRequest:
    return ApplyRequest(
        recipe=WordRecipe(),
        input=str(source),
        output=str(source.with_name("out.csv")),
        mode="chain",
        reading=ReadOptions(rows=5),
        resume=resume,
        jobs=jobs,
    )


def expected(source: Path) -> bytes:
    return source.read_bytes().replace(b"movie", b"film").replace(b"What", b"Which")


def start(
    source: Path, *, seconds: float, jobs: int = 1, before: str = ""
) -> subprocess.Popen[str]:
    script = SCRIPT.format(
        tests=str(Path(__file__).parents[1]),
        before=before or "pass",
        seconds=seconds,
        source=str(source),
        output=str(source.with_name("out.csv")),
        jobs=jobs,
    )
    path = source.with_name("run.py")
    path.write_text(script)
    return subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, text=True)


def wait_for(path: Path) -> None:
    wait_until(path.exists, f"{path} never came")


# While the caller has a thread, processes are plain ones instead of forks.
A_THREAD = "import threading; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()"


@pytest.mark.parametrize(
    ("jobs", "before"), [(1, ""), (2, ""), (2, A_THREAD)], ids=["alone", "forks", "plain"]
)
def test_a_killed_run_leaves_the_old_output_and_is_resumed(
    source: Path, jobs: int, before: str
) -> None:
    output = source.with_name("out.csv")
    output.write_text("old")
    folder = source.with_name("out.csv.sears-partial")
    process = start(source, seconds=0.3, jobs=jobs, before=before)
    wait_for(folder / "00000002.part")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert output.read_text() == "old"
    assert not (folder / f"{BATCHES - 1:08}.part").exists()
    seen: list[ApplyProgress] = []
    report = apply_file(request_for(source, resume=True), progress=seen.append)
    assert output.read_bytes() == expected(source)
    assert not folder.exists()
    assert report.tally.rows == ROWS
    assert report.rules["film"].rows == ROWS
    assert report.note.startswith("resumed after ")
    assert seen[0].rows >= 19
    assert len(seen) <= BATCHES - 3


@pytest.mark.parametrize("before", ["", A_THREAD], ids=["forks", "plain"])
def test_the_processes_of_a_killed_run_end(source: Path, before: str) -> None:
    process = start(source, seconds=0.3, jobs=3, before=before)
    # The first batch is done before any process is started.
    wait_for(source.with_name("out.csv.sears-partial") / "00000002.part")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        process.kill()
        process.communicate()
        pytest.skip("the system does not list the children of a process")
    pids = list(map(int, children.read_text().split()))
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert len(pids) >= 2
    wait_until(lambda: not any(map(is_at_work, pids)), f"one of {pids} still runs")


def test_a_full_disk_is_reported_and_keeps_what_is_done(source: Path) -> None:
    resource = pytest.importorskip("resource")
    assert resource
    output = source.with_name("out.csv")
    output.write_text("old")
    # Parts stay under this size, the assembled file does not.
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2500, 2500))"
    process = start(source, seconds=0, before=limit)
    told, _ = process.communicate()
    assert process.returncode == 2
    assert "out.csv: File too large" in told
    assert "--resume" in told
    assert output.read_text() == "old"
    report = apply_file(request_for(source, resume=True))
    assert report.note == f"resumed after {BATCHES} finished batches"
    assert output.read_bytes() == expected(source)


def interrupted(source: Path) -> Path:
    """A run that was stopped after three batches."""

    def stop(progress: ApplyProgress) -> None:
        if progress.batches == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply_file(request_for(source), progress=stop)
    return source.with_name("out.csv.sears-partial")


def test_any_number_of_processes_may_resume(source: Path) -> None:
    interrupted(source)
    apply_file(request_for(source, resume=True, jobs=2))
    assert source.with_name("out.csv").read_bytes() == expected(source)


def test_another_job_is_not_resumed(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = interrupted(source)
    other = replace(request_for(source, resume=True), recipe=WordRecipe(rules=(("x", "a", "b"),)))
    with pytest.raises(UsageError, match=r"other settings: rules was .* and is .*'x', 'a', 'b'"):
        apply_file(other)
    with pytest.raises(UsageError, match="scope was 'first' and is 'all'"):
        apply_file(replace(request_for(source, resume=True), scope="all"))
    with pytest.raises(UsageError, match="originals was False and is True"):
        apply_file(replace(request_for(source, resume=True), with_originals=True))
    copied = source.with_name("copy.csv")
    shutil.copy2(source, copied)
    with pytest.raises(UsageError, match=r"settings: input was .*in\.csv' and is .*copy\.csv"):
        apply_file(replace(request_for(source, resume=True), input=str(copied)))
    with monkeypatch.context() as newer:
        newer.setattr("sears_dsl.batch.files.__version__", "999")
        with pytest.raises(UsageError, match="other settings: sears was"):
            apply_file(request_for(source, resume=True))
    before, content = source.stat(), source.read_bytes()
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    with pytest.raises(UsageError, match="other settings: input time was"):
        apply_file(request_for(source, resume=True))
    source.write_bytes(content.replace(b"0,What", b"0,That", 1))
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(UsageError, match="other settings: input beginning was"):
        apply_file(request_for(source, resume=True))
    source.write_text(source.read_text() + "more,movie\n")
    with pytest.raises(UsageError, match="input size was"):
        apply_file(request_for(source, resume=True))
    assert (folder / "00000000.part").exists()


def test_a_run_whose_rules_have_other_ids_is_not_resumed(source: Path) -> None:
    """Two files share a rule, so its ids tell the files; then one of the files is renamed."""

    def request(second: str, **options: Any) -> ApplyRequest:
        paths = ("a.sear", second)
        rules = RulesetRecipe(
            tuple(parse("movie -> film", path=path) for path in paths), tagger="pinned"
        )
        return replace(request_for(source), recipe=rules, **options)

    def stop(progress: ApplyProgress) -> None:
        if progress.batches == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply_file(request("b.sear"), progress=stop)
    with pytest.raises(UsageError, match="other settings: rule ids was"):
        apply_file(request("c.sear", resume=True))
    assert apply_file(request("b.sear", resume=True)).note == "resumed after 2 finished batches"


def test_without_resume_the_leftovers_go_and_it_is_reported(source: Path) -> None:
    interrupted(source)
    report = apply_file(request_for(source))
    assert "discarded 3 finished batches of an interrupted run" in report.note
    assert source.with_name("out.csv").read_bytes() == expected(source)
    again = apply_file(request_for(source, resume=True))
    assert again.note == "nothing to resume; started from the beginning"


def test_a_run_that_never_got_anywhere_leaves_nothing(source: Path) -> None:
    source.write_text('text\n"no end')
    with pytest.raises(DataError):
        apply_file(request_for(source))
    source.write_text("id,text\n1,movie\n1,movie\n")
    with pytest.raises(DataError, match="rows 1 and 2 have the same id"):
        apply_file(replace(request_for(source), id_column="id"))
    assert [path.name for path in source.parent.iterdir()] == ["in.csv"]


def test_two_runs_into_one_output_are_refused(tmp_path: Path) -> None:
    with (
        PartialOutput(tmp_path / "out", {}, resume=False),
        pytest.raises(DataError, match="another process is writing"),
    ):
        PartialOutput(tmp_path / "out", {}, resume=False)


def test_a_torn_manifest_is_no_job(tmp_path: Path) -> None:
    folder = tmp_path / "out.sears-partial"
    folder.mkdir()
    (folder / "manifest.json").write_text('{"rules"')
    (folder / "00000000.part").write_bytes(b"{}\nold")
    with PartialOutput(tmp_path / "out", {"rules": 1}, resume=True) as partial:
        assert partial.note == "nothing to resume; started from the beginning"
        assert not list(partial.parts())
        assert json.loads((folder / "manifest.json").read_text()) == {"rules": 1}


def test_a_folder_that_is_not_there_and_a_mode_that_is_kept(source: Path) -> None:
    with pytest.raises(DataError, match="there is no folder"):
        apply_file(replace(request_for(source), output=str(source.parent / "no" / "out.csv")))
    output = source.with_name("out.csv")
    output.write_text("old")
    output.chmod(0o640)
    apply_file(request_for(source))
    assert output.stat().st_mode & 0o777 == 0o640


def test_a_link_keeps_pointing_to_its_file(source: Path) -> None:
    place = source.with_name("real.csv")
    place.write_text("old")
    source.with_name("out.csv").symlink_to(place)
    apply_file(request_for(source))
    assert source.with_name("out.csv").is_symlink()
    assert place.read_bytes() == expected(source)


def test_a_process_that_dies_is_an_error_and_no_hang(source: Path) -> None:
    # Slow enough for the other process to start while this one works.
    request = replace(request_for(source, jobs=2), recipe=WordRecipe(deadly=True, seconds=0.4))
    with pytest.raises(SearsError, match="a worker process died"):
        apply_file(request)
    request = replace(request_for(source, resume=True), recipe=WordRecipe())
    apply_file(request)
    assert source.with_name("out.csv").read_bytes() == expected(source)


@pytest.mark.parametrize("left", [0, 1, -1])
def test_a_part_that_a_stopped_machine_tore_is_made_again(source: Path, left: int) -> None:
    folder = interrupted(source)
    part = folder / "00000001.part"
    content = part.read_bytes()
    # Nothing of it, only its first byte, or all of it with zeros in place of the last bytes.
    part.write_bytes(content[:left] if left >= 0 else content[:-8] + bytes(8))
    report = apply_file(request_for(source, resume=True))
    assert report.note == "resumed after 1 finished batches"
    assert source.with_name("out.csv").read_bytes() == expected(source)
    assert report.rules["film"].rows == ROWS


# ---------------------------------------------------------------- other programs at the same place


def while_running(source: Path, work: Callable[[], object], **options: Any) -> None:
    """A run during which something happens, after its third batch."""

    def once(progress: ApplyProgress) -> None:
        if progress.batches == 3:
            work()

    apply_file(replace(request_for(source), **options), progress=once)


@pytest.mark.parametrize("there", [True, False])
def test_what_somebody_else_wrote_is_not_lost(source: Path, there: bool) -> None:
    output = source.with_name("out.csv")
    if there:
        output.write_text("old")
    with pytest.raises(DataError, match="another process wrote") as caught:
        while_running(source, lambda: output.write_text("theirs, and longer"))
    assert output.read_text() == "theirs, and longer"
    assert "--resume" in caught.value.help
    output.rename(source.with_name("theirs.csv"))
    report = apply_file(request_for(source, resume=True))
    assert report.note == f"resumed after {BATCHES} finished batches"
    assert output.read_bytes() == expected(source)


def test_an_output_that_somebody_removed_meanwhile_is_written(source: Path) -> None:
    output = source.with_name("out.csv")
    output.write_text("old")
    while_running(source, output.unlink)
    assert output.read_bytes() == expected(source)


def test_an_input_that_changes_while_it_is_read_is_reported(source: Path) -> None:
    output = source.with_name("out.csv")
    output.write_text("old")

    def add() -> None:
        with source.open("a") as file:
            file.write("60,What a movie\n")

    def write_as_many_bytes() -> None:
        source.write_bytes(source.read_bytes().replace(b"movie", b"films"))

    def put_another_there() -> None:
        os.replace(shutil.copy2(source, source.with_name("other.csv")), source)

    for change in (write_as_many_bytes, put_another_there, add):
        with pytest.raises(DataError, match=r"in\.csv changed while it was read"):
            while_running(source, change)
    assert output.read_text() == "old"
    assert sorted(path.name for path in source.parent.iterdir()) == ["in.csv", "out.csv"]
    apply_file(request_for(source))
    assert output.read_bytes() == expected(source)
    with pytest.raises(DataError, match="changed while it was read"):
        while_running(source, add, output="/dev/null", output_format="csv")


def test_a_run_that_waits_for_the_one_before_keeps_its_folder(tmp_path: Path) -> None:
    """The lock is removed last: whoever opens it before that gets the output, or waits."""
    output = tmp_path / "out"
    for _ in range(3):
        with PartialOutput(output, {}, resume=False) as first:
            first.put(0, {}, b"x")
            with pytest.raises(DataError, match="another process is writing"):
                PartialOutput(output, {}, resume=False)
            first.complete(lambda file: file.writelines(first.parts()))
            with PartialOutput(output, {}, resume=False) as second:
                second.put(0, {}, b"y")
                assert (second.folder / "lock").exists()
        assert second.folder.exists()
        assert output.read_bytes() == b"x"


def test_many_processes_at_one_output_never_spoil_each_other(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from sears_dsl.batch.partial import PartialOutput\n"
        "from sears_dsl.errors import DataError\n"
        "done = 0\n"
        "for number in range(60):\n"
        "    try:\n"
        "        with PartialOutput(Path(sys.argv[2]), {}, resume=False) as partial:\n"
        "            for part in range(3):\n"
        "                partial.put(part, {}, sys.argv[1].encode() * 9)\n"
        "            partial.complete(lambda file: file.writelines(partial.parts()))\n"
        "            done += 1\n"
        "    except DataError as error:\n"
        "        allowed = ('another process is writing', 'another process wrote')\n"
        "        assert any(words in error.message for words in allowed), error.message\n"
        "print(done)\n"
    )
    output = tmp_path / "out"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, name, str(output)], stdout=subprocess.PIPE, text=True
        )
        for name in "abc"
    ]
    done = [int(process.communicate(timeout=600)[0]) for process in processes]
    assert all(process.returncode == 0 for process in processes)
    assert sum(done) > 3
    assert output.read_text() in ("a" * 27, "b" * 27, "c" * 27)


def test_parts_that_make_no_file_are_not_kept(tmp_path: Path) -> None:
    def refuse(file: BinaryIO) -> None:
        raise DataError("no file")

    with PartialOutput(tmp_path / "out", {}, resume=False) as partial:
        partial.put(0, {}, b"x")
        with pytest.raises(DataError, match="no file"):
            partial.complete(refuse)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mode", ["each", "chain"])
def test_kept_columns_and_spans_are_resumed_too(tmp_path: Path, mode: Any) -> None:
    source = tmp_path / "in.jsonl"
    rows = [
        {"text": f"What a movie {n}", "label": n % 2, "spans": [[7, 12]] if n % 3 else [[13, 14]]}
        for n in range(20)
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def request(name: str, *, resume: bool = False) -> ApplyRequest:
        return ApplyRequest(
            recipe=WordRecipe(),
            input=str(source),
            output=str(tmp_path / name),
            mode=mode,
            columns=("text",),
            spans=(SpanColumn("text", "spans"),),
            keep=("label", "spans") if mode == "each" else (),
            reading=ReadOptions(rows=3),
            resume=resume,
        )

    for suffix in ("jsonl", "parquet"):
        whole = apply_file(request(f"whole.{suffix}"))

        def stop(progress: ApplyProgress) -> None:
            if progress.batches == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            apply_file(request(f"cut.{suffix}"), progress=stop)
        cut = apply_file(request(f"cut.{suffix}", resume=True))
        assert (tmp_path / f"cut.{suffix}").read_bytes() == (
            tmp_path / f"whole.{suffix}"
        ).read_bytes()
        assert cut.tally == whole.tally
        assert cut.tally.touched == 13


KEEPING = """
import sys
sys.path.insert(0, {tests!r})
from word_matcher import WordRecipe
from sears_dsl.batch.files import apply_file
from sears_dsl.batch.files import ApplyRequest
from sears_dsl.data.batches import ReadOptions
from sears_dsl.data.span_columns import SpanColumn
def request(**options):
    seconds = options.pop("seconds", 0)
    return ApplyRequest(recipe=WordRecipe(seconds=seconds), input={source!r}, output={output!r},
                        columns=("text",), spans=(SpanColumn("text", "spans"),), keep=("all",),
                        reading=ReadOptions(rows=3), **options)
if __name__ == "__main__":
    apply_file(request(seconds=0.3, jobs=2))
"""


def test_a_killed_run_that_keeps_columns_is_resumed(tmp_path: Path) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.parquet"
    rows = [{"text": f"What a movie {n}", "n": n, "spans": [[7, 12 + n % 2]]} for n in range(40)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    script = tmp_path / "run.py"
    tests = str(Path(__file__).parents[1])
    script.write_text(KEEPING.format(tests=tests, source=str(source), output=str(output)))
    names = runpy.run_path(str(script))
    whole = apply_file(names["request"]())
    expected = output.read_bytes()
    output.unlink()
    process = subprocess.Popen([sys.executable, str(script)])
    wait_for(output.with_name("out.parquet.sears-partial") / "00000002.part")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not output.exists()
    report = apply_file(names["request"](resume=True))
    assert output.read_bytes() == expected
    assert report.note.startswith("resumed after ")
    assert report.tally == whole.tally
    assert report.tally.touched == len(rows)


def test_a_comment_does_not_make_another_job_of_the_same_rules() -> None:
    plain, commented, other = (
        RulesetRecipe((parse(text),), tagger="pinned").identity()
        for text in ("movie -> film", "# why\n\nmovie -> film  # again\n", "movie -> movies")
    )
    assert plain == commented != other
