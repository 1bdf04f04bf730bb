"""What commands share when they print: marked changes, tables, JSON, and progress.

A change is marked as ``[-old-]{+new+}``, on a terminal also in red and green, so that nothing
depends on colour.

`stages` shows progress on standard error: its lines go on while a model works and reports nothing;
what a command prints in between (`Stages.pause`) is not drawn over; nothing is written after the
end of the block. Costs a thread that sleeps.

Warnings and notes (`warn_of_tagger`, `tell_of_templates`, …) change neither output nor exit code;
compiling is mentioned once per run, and only if there is no compiled code on disk.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from sears_dsl.errors import Diagnostic, counted, printable
from sears_dsl.runtime.interrupts import Uninterrupted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

    from sears_dsl.engine.matches import Edit
    from sears_dsl.language.rule import Rule
    from sears_dsl.language.ruleset import Ruleset

NO_RULE_FIRES = (
    "no rule fires: is this the right column, and is it in the language of the rules? `sears "
    "explain RULES 'a sentence'` shows why a rule does not fire"
)
"""What commands say if rules leave all rows as they are."""

# How much of a long sentence is shown before its first change, at most.
_BEFORE = 40
# Characters that rules need beside other columns; where there are fewer, they stand above them.
_ROOM = 30


def console(*, stderr: bool = False) -> Console:
    """A console that prints texts as they are: plain outside of a terminal, pipes not wrapped."""
    from rich.console import Console

    class Printer(Console):
        """Leaves it to the command what to do when nobody reads on."""

        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 200
    return Printer(
        file=stream, markup=False, emoji=False, highlight=False, soft_wrap=not stream.isatty(),
        width=width,
    )  # fmt: skip


def plain_table(
    *heads: str, right: Iterable[int] = (), rows: Iterable[Iterable[str | Text]] = ()
) -> Table:
    """Return a table without borders, in which no cell is cut; ``right`` aligns columns."""
    from rich.table import Table

    table = Table(*heads, box=None, pad_edge=False)
    for column in table.columns:
        column.overflow = "fold"  # a rule may have no space where its line ends
    for place in right:
        table.columns[place].justify = "right"
    for row in rows:
        table.add_row(*row)
    return table


def print_rule_table(out: Console, table: Table, *, left_out: int = 0) -> None:
    """Print a table of rules, each rule on a line of its own where there is little room for it."""
    from rich.table import Column, Table

    columns = [[column.header, *column.cells] for column in table.columns]
    longest, *widths = [max(out.measure(cell).maximum for cell in cells) for cells in columns]
    if out.width - sum(each + 2 for each in widths) >= min(longest, _ROOM):
        out.print(table)
    else:
        for rule, *cells in zip(*columns, strict=True):
            heads = (Column(width=width) for width in widths)
            line = Table(*heads, box=None, show_header=False, padding=(0, 0, 0, 2))
            line.add_row(*cells)
            out.print(rule, line)
    if left_out > 0:
        out.print(f"… and {counted(left_out, 'more rule')}, in the files", style="dim")


def echo_json(value: object) -> None:
    """Print one JSON document on standard output."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def echo_document(content: str) -> None:
    """Print a JSON text, laid out as `echo_json` does it."""
    echo_json(json.loads(content))


class _StderrState:
    """The state of `printing_to_stderr`, which all threads share as they share the streams."""

    lock = threading.Lock()
    blocks = 0
    descriptor = -1
    stream: TextIO


@contextmanager
def printing_to_stderr() -> Iterator[None]:
    """Send what is printed in this block, even by other programs, to standard error.

    Several threads may be in it at once: the last one to leave restores standard output.
    """
    with _StderrState.lock:
        if not _StderrState.blocks:
            sys.stdout.flush()
            _StderrState.descriptor, _StderrState.stream = os.dup(1), sys.stdout
            os.dup2(2, 1)
            sys.stdout = sys.stderr
        _StderrState.blocks += 1
    try:
        yield
    finally:
        with _StderrState.lock:
            _StderrState.blocks -= 1
            if not _StderrState.blocks:
                sys.stdout = _StderrState.stream
                os.dup2(_StderrState.descriptor, 1)
                os.close(_StderrState.descriptor)


def as_json_object(finding: Diagnostic) -> dict[str, object]:
    """A finding as commands print it under --json."""
    span = finding.span
    names = ("code", "severity", "message", "help", "path")
    return {
        **{name: getattr(finding, name) for name in names},
        "line": span.line if span else None,
        "column": span.column if span else None,
        "end_column": span.end_column if span else None,
    }


def rule_label(rule: Rule, rule_id: str) -> str:
    """Return the id of a rule that has a name, else its text; with the file if two have it."""
    from sears_dsl.language.printer import print_rule

    if rule.name is not None:
        return rule_id
    file, slash, _ = rule_id.rpartition("/")
    return f"{print_rule(rule)} ({file})" if slash else print_rule(rule)


def rules_by_id(rulesets: Sequence[Ruleset]) -> dict[str, tuple[Rule, Ruleset]]:
    """Return the id of each rule, as reports have it, → the rule and its ruleset."""
    from sears_dsl.language.printer import distinct_ids

    rules = ((rule, ruleset) for ruleset in rulesets for rule in ruleset.rules)
    return dict(zip(distinct_ids(rulesets), rules, strict=True))


def rule_labels(rulesets: Sequence[Ruleset]) -> dict[str, str]:
    """Return the id of each rule, as reports have it, → its label."""
    return {name: rule_label(rule, name) for name, (rule, _) in rules_by_id(rulesets).items()}


def mark_changes(original: str, edits: Sequence[Edit]) -> Text:
    """The sentence with each change marked; only the words that differ."""
    from rich.text import Text

    from sears_dsl.engine.rewrite.rewrites import pieces

    line = Text()
    for kind, text in pieces(original, edits):
        if kind == "same":
            line.append(printable(text))
        elif kind == "old":
            line.append(f"[-{printable(text)}-]", style="red strike")
        elif kind == "note":
            line.append(f" ({text})", style="dim")
        else:
            line.append(f"{{+{printable(text)}+}}", style="green bold")
    return line


def excerpt(original: str, edits: Sequence[Edit], *, width: int) -> Text:
    """`mark_changes`, cut to a width so that the first change is in it."""
    line = mark_changes(original, edits)
    marks = (line.plain.find(mark) for mark in ("[-", "{+"))
    change = min((place for place in marks if place >= 0), default=0)
    # Where there is little room, what was changed takes it.
    before = min(_BEFORE, max(0, width // 2 - 10))
    if len(line) > width and change > before:
        # Between words, if there is a space before the change.
        line = line[line.plain.find(" ", change - before, change) + 1 or change - before :]
        line = type(line)("…", end="") + line
    line.truncate(width, overflow="ellipsis")
    return line


EVERY = 10.0


@dataclass(frozen=True, slots=True)
class _Stage:
    """A stage at some moment; ``before`` is what was done when it began."""

    name: str
    done: int
    total: int | None
    before: int
    began: float = field(default_factory=time.monotonic)

    def at(self, done: int, total: int | None) -> _Stage:
        """The stage later on; where less is done, it has begun again, with a pace of its own."""
        if done < self.done:
            return _Stage(self.name, done, total, done)
        return replace(self, done=done, total=total)

    def __str__(self) -> str:
        seconds = time.monotonic() - self.began
        counts = "" if self.total is None else f" {self.done:,} of {self.total:,},"
        text = f"{self.name}:{counts} {_clock(seconds)}"
        if self.total is not None and self.before < self.done < self.total:
            left = seconds * (self.total - self.done) / (self.done - self.before)
            text += f", about {_clock(left)} left"
        return text


class Stages:
    """A display to call with the progress of a command; this one shows nothing."""

    def __call__(self, name: str, done: int, total: int | None) -> None:
        """Show how many of a stage are done; `total` is None where nobody knows."""

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Let a block print, or ask, without being drawn over."""
        yield

    def close(self) -> None:
        """Show nothing more."""


@contextmanager
def stages(*, shown: bool, every: float = EVERY) -> Iterator[Stages]:
    """Yield a display of progress: bars on a terminal, elsewhere a line every few seconds."""
    if not shown:
        show = Stages()
    elif sys.stderr.isatty():
        show = _StageBars()
    else:
        show = _Lines(every)
    try:
        yield show
    finally:
        show.close()


class _Lines(Stages):
    """A line when a stage begins, and one now and then."""

    def __init__(self, every: float) -> None:
        self._begun: dict[str, _Stage] = {}
        self._current = ""
        self._every = every
        self._over = threading.Event()
        self._writing = threading.Lock()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def __call__(self, name: str, done: int, total: int | None) -> None:
        if name in self._begun:
            self._begun[name] = self._begun[name].at(done, total)
        else:
            counts = "" if total is None else f" ({total:,})"
            click.echo(f"{name}{counts}", err=True)
            self._begun[name] = _Stage(name, done, total, done)
        self._current = name

    def _go_on(self) -> None:
        while not self._over.wait(self._every):
            with self._writing:
                if self._current:
                    click.echo(str(self._begun[self._current]), err=True)

    @contextmanager
    def pause(self) -> Iterator[None]:
        with self._writing:
            yield

    def close(self) -> None:
        self._over.set()
        self._thread.join()


class _StageBars(Stages):
    """A bar for each stage."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._tasks: dict[str, Any] = {}

    def __call__(self, name: str, done: int, total: int | None) -> None:
        # Not earlier: bars would be drawn over a question that is asked first.
        if self._bar is None:
            self._bar = _new_bar()
            with Uninterrupted():
                self._bar.start()
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(name, total=total)
        for task in self._bar.tasks:
            if task.id == self._tasks[name]:
                # Stages that ask one another take turns; only the clock of the running one runs.
                task.stop_time = None
            elif task.stop_time is None:
                # A stage that reports only its beginning is over when another one reports.
                if not task.completed:
                    self._bar.update(task.id, total=task.total or 1, completed=task.total or 1)
                self._bar.stop_task(task.id)
        self._bar.update(self._tasks[name], completed=done, total=total)

    @contextmanager
    def pause(self) -> Iterator[None]:
        # What was drawn stays above what is printed; bars of later stages come below it.
        self.close()
        yield

    def close(self) -> None:
        if self._bar is not None:
            # Stopped halfway, it would leave the terminal without its cursor.
            with Uninterrupted():
                self._bar.stop()
        self._bar, self._tasks = None, {}


@contextmanager
def on_screen(bar: Progress) -> Iterator[Progress]:
    """Show a bar while a block is at work, and the cursor afterwards whatever ends it."""
    try:
        with Uninterrupted():
            bar.start()
        yield bar
    finally:
        with Uninterrupted():
            bar.stop()


def _new_bar() -> Progress:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    layout = (
        TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(), TimeRemainingColumn(compact=True),
    )  # fmt: skip
    return Progress(*layout, console=console(stderr=True))


def _clock(seconds: float) -> str:
    """``0:07``, ``12:30``, ``2:05:00``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


# ---------------------------------------------------------------- what is said beside the work

COMPILING = "compiling the inner loops, which takes a minute or more"
NO_FOLDER = "no folder to keep them in is writable"
NAME_FOLDER = "set NUMBA_CACHE_DIR to a writable folder"


def say_compiling() -> None:
    """Print a note that the compiler starts."""
    from sears_dsl.runtime.kernels import compiles_beside, keeps_code

    advice = (
        "only once; `sears warm-up` does it ahead of time"
        if keeps_code()
        else f"in every run: {NO_FOLDER}; {NAME_FOLDER}"
    )
    if compiles_beside():
        advice = f"{advice}; meanwhile the run continues, slowly"
    # A progress bar takes the place of this stream, and makes room for the line.
    sys.stderr.write(f"{COMPILING} ({advice})\n")


def warn_of_tagger(rulesets: Sequence[Ruleset], name: str, *, quiet: bool) -> list[Diagnostic]:
    """Return the warnings about a tagger, and print them on standard error, unless ``quiet``."""
    from sears_dsl.batch.provenance import tagger_findings
    from sears_dsl.tagging.tagger import load_tagger

    return _printed(tagger_findings(rulesets, lambda: load_tagger(name)), quiet)


def tell_of_paraphrases(rulesets: Sequence[Ruleset], *, quiet: bool) -> None:
    """Say what paraphrases cost, if rules write them, on standard error, unless ``quiet``."""
    from sears_dsl.engine.compile.requirements import any_paraphrases

    if not quiet and any_paraphrases(rulesets):
        click.echo(
            "note: to paraphrase, models translate each distinct text and back, a few sentences a "
            "second",
            err=True,
        )


def tell_of_templates(rulesets: Sequence[Ruleset], *, quiet: bool) -> None:
    """Say how many templates a command passes by, on standard error, unless ``quiet``."""
    count = sum(len(ruleset.templates) for ruleset in rulesets)
    if count and not quiet:
        templates = counted(count, "template is", "templates are")
        click.echo(f"note: {templates} skipped; `sears generate` writes the sentences", err=True)


def warn_of_chain(rulesets: Sequence[Ruleset], *, quiet: bool) -> list[Diagnostic]:
    """Return the warnings about the order of rules, and print them, unless ``quiet``."""
    from sears_dsl.language.check_drawn import chain_findings

    return _printed(chain_findings(rulesets), quiet)


def _printed(findings: list[Diagnostic], quiet: bool) -> list[Diagnostic]:
    for finding in () if quiet else findings:
        click.echo(finding.render(), err=True)
    return findings
