"""A run that may be cut off: its folder beside the output, and what becomes of it.

Always holds: the findings of an earlier run are removed only when this one has ended or the user
said ``--restart``; two processes never work for one output; a folder without findings does not
stay; whatever ends a run early (Ctrl-C, a closed terminal, an error) says how to go on.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import click

from sears_dsl.cli.options.shared import with_options
from sears_dsl.errors import DataError, NothingRightError, SearsError, UsageError
from sears_dsl.runtime.database import OtherTaskError
from sears_dsl.runtime.files import is_marked, is_there, make_private_folder, mark, take_lock

resuming_options = with_options(
    click.option("--resume", is_flag=True, help="Continue an interrupted run."),
    click.option("--restart", is_flag=True,
                 help="Discard what an interrupted run has kept, and start over."),
)  # fmt: skip

# Tables of an interrupted run's findings → how many rows are not worth a question: those that a
# model was tried on.
_TABLES = {"predictions": 16, "findings": 0}


@dataclass(frozen=True, kw_only=True)
class Resuming:
    """What the user wants done about an interrupted run, and whether to be told of it."""

    resume: bool = False
    restart: bool = False
    quiet: bool = False


@dataclass
class UnfinishedRun:
    """A run in progress."""

    folder: Path
    # Whether the folder stays when the run has ended, since there is more to do.
    keep: bool = False


def from_here(path: Path) -> Path:
    """The path as a person in this folder writes it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


@contextmanager
def unfinished_run(
    output: Path, resuming: Resuming, *, goes_on: bool = False, keeps_models: bool = False
) -> Iterator[UnfinishedRun]:
    """Make the folder of a run; it is removed after the block, and stays if that is cut off.

    It lies beside the output, a file or a folder. With ``goes_on`` a second start goes on unasked.
    Trained models run code when they are read: with ``keeps_models`` a run goes on only with what
    this user left in this place. It is a `DataError` if nothing can be written, or if another
    process is at work.
    """
    if resuming.resume and resuming.restart:
        raise click.UsageError("--resume continues and --restart starts over: give one of them")
    output = output.absolute()  # `.` has no name to go by
    folder = output.parent / f"{output.name}.partial"
    shown = from_here(folder)
    # Before an hour of work, not after it.
    require_place(next(each for each in (output, *output.parents) if each.is_dir()))
    with _with_advice(f"cannot create {folder}"):
        make_private_folder(folder)
    with _held(folder, output):
        if keeps_models:
            _check_made_here(folder, restart=resuming.restart)
        if _holds_findings(folder) and not (resuming.resume or resuming.restart or goes_on):
            resuming = _ask_what_to_do(folder, resuming)
        if resuming.restart:
            _empty(folder)
        elif resuming.resume and not resuming.quiet and not _holds_findings(folder):
            click.echo("no interrupted run to continue; starting from the beginning", err=True)
        if keeps_models:
            mark(folder)
        run = UnfinishedRun(folder)
        try:
            yield run
        except BaseException as error:
            # Answers that are all wrong help no other run, unless this one had others before.
            vain = isinstance(error, NothingRightError) and not (resuming.resume or goes_on)
            if vain or not _holds_findings(folder):
                shutil.rmtree(folder, ignore_errors=True)
            elif isinstance(error, KeyboardInterrupt) or (
                isinstance(error, SearsError)
                and not isinstance(error, OtherTaskError)  # which says by itself what to do
                and not goes_on
            ):
                how = "the same command" if goes_on else "--resume"
                # The terminal may be closed.
                with suppress(OSError):
                    click.echo(f"results so far are in {shown}; {how} continues the run", err=True)
            raise
        if not run.keep:
            shutil.rmtree(folder, ignore_errors=True)
        elif not resuming.quiet and not goes_on:
            click.echo(f"results so far are in {shown}; --resume continues the run", err=True)


def _check_made_here(folder: Path, *, restart: bool) -> None:
    if not restart and not is_marked(folder) and len(list(folder.iterdir())) > 1:
        raise UsageError(
            f"{folder} holds a run that you did not start here, and trained models in it would run "
            "code when they are read",
            help="--restart removes it and starts over",
        )


def require_place(folder: Path, *, option: str = "-o") -> None:
    """Refuse a folder in which no file can be made, before an hour of work for it."""
    with _with_advice(f"cannot write to {folder}", option):
        tempfile.TemporaryFile(dir=folder).close()


@contextmanager
def _with_advice(message: str, option: str = "-o") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{message}: {error.strerror}", help=f"choose another place with {option}"
        ) from error


@contextmanager
def _held(folder: Path, output: Path) -> Iterator[None]:
    with _with_advice(f"cannot write to {folder}"):
        try:
            file = take_lock(folder / "lock")
        except FileNotFoundError:  # its last holder removes it
            file = None
    if file is None:
        raise DataError(
            f"another process is writing {output}",
            help="wait for it, stop it, or choose another -o",
        )
    with file:
        yield


def _holds_findings(folder: Path) -> bool:
    """Whether an interrupted run left answers of a model, paraphrases or scores."""
    return any(map(_has_rows, sorted(folder.glob("*.sqlite3"))))


def _has_rows(path: Path) -> bool:
    # Without a write-ahead log the file is complete. It is opened as immutable then, since SQLite
    # would otherwise make files beside it, for which a full disk has no room.
    log = path.with_name(f"{path.name}-wal")
    as_it_stands = "" if is_there(log) and log.stat().st_size else "&immutable=1"
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw{as_it_stands}", uri=True)
        ) as connection:
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            return any(
                connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] > least  # noqa: S608
                for table, least in _TABLES.items()
                if table in names
            )
    except sqlite3.Error:
        return True  # whatever it is, it is not ours to remove unasked


def _ask_what_to_do(folder: Path, resuming: Resuming) -> Resuming:
    newest = max(path.stat().st_mtime for path in folder.iterdir())
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(newest))
    state = f"{from_here(folder)} holds an interrupted run, last active {when}"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(state, help="--resume continues it; --restart removes it and starts over")
    answer = click.prompt(
        f"{state}. Resume it, restart, or stop?",
        type=click.Choice(["resume", "restart", "stop"]),
        default="resume",
        err=True,
    )
    if answer == "stop":
        raise click.Abort
    return replace(resuming, resume=answer == "resume", restart=answer == "restart")


def _empty(folder: Path) -> None:
    """Remove everything but the lock, which is held."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != "lock":
            path.unlink(missing_ok=True)
