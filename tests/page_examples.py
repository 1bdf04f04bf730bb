"""Runs the examples of a page of Markdown as a reader would: from its top to its end, in a folder.

| fence | what happens |
|---|---|
| any language with `title="NAME"` | the block is the file NAME |
| `sears` | the rules are read, and their tests run |
| `python` that begins with `>>>` | a session of the page; what it prints must stand there |
| `console` | each `$ ` line runs in bash and prints the lines under it; `…` is anything |
| `text`, `yaml`, `lua`, … | shown only |

On the pages in `docs/` a console shows all that is printed, but for `…`.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from command_line import exit_code

import sears_dsl

_FENCE = re.compile(r"^```(\w+)[ ]?([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_TITLE = re.compile(r'title="([^"/]+(?:/[^"/]+)*)"')
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_PLAIN = re.compile(r"(sears [^|;&<>$`]*)(; echo \"exit code \$\?\")?")
# Stages report every ten seconds. None on the pages takes so long, except on a busy machine.
_CLOCK = re.compile(
    r"^[\w ]+:( [\d,]+ of [\d,]+,)? \d+:[\d:]+(, about [\d:]+ left)?\n", re.MULTILINE
)
_SHOWN = {"text", "yaml", "toml", "lua", "elisp", "json"}


@dataclass(frozen=True)
class Example:
    """A fenced block of a page."""

    language: str
    title: str
    text: str
    line: int


def examples(page: str) -> list[Example]:
    found = []
    for match in _FENCE.finditer(page):
        title = _TITLE.search(match[2])
        line = page.count("\n", 0, match.start()) + 1
        found.append(Example(match[1], title[1] if title else "", match[3], line))
    return found


def run_page(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run everything on a page; returns the number of examples."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / ".home"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    try:
        return _run(page, folder)
    finally:
        # A model of one page is not a model of the next, though its file has the same name.
        for name in set(sys.modules) - known:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]


def _run(page: Path, folder: Path) -> int:
    whole = page.parent.name == "docs"
    names: dict[str, Any] = {}
    ran = 0
    for example in examples(page.read_text("utf-8")):
        where = f"{page.name}:{example.line}"
        if example.title:
            file = folder / example.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(example.text, "utf-8")
            # Another test may have loaded a model of that name from a folder of its own.
            sys.modules.pop(file.stem, None)
        if example.language == "sears":
            run_rules(example.text, where, folder / "page.sear")
        elif example.language == "python" and not example.title:
            run_session(example.text, where, names)
        elif example.language == "console":
            run_commands(example.text, where, folder, whole=whole)
        elif example.title or example.language in _SHOWN:
            continue
        else:
            pytest.fail(f"{where}: nobody knows how to run {example.language!r}")
        ran += 1
    return ran


def run_rules(text: str, where: str, path: Path) -> None:
    path.write_text(text, "utf-8")  # imports are looked for next to the file
    results = sears_dsl.run_tests(sears_dsl.load(path))
    assert {result.outcome for result in results} <= {"ok"}, where


def run_session(text: str, where: str, names: dict[str, Any]) -> None:
    assert text.startswith(">>> "), f"{where}: a session begins with >>>, a file has a title"
    test = doctest.DocTestParser().get_doctest(text, names, where, where, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    told: list[str] = []
    runner.run(test, out=told.append, clear_globs=False)
    names.update(test.globs)
    assert not runner.summarize(verbose=False).failed, "".join(told)


def run_commands(text: str, where: str, folder: Path, *, whole: bool = False) -> None:
    """Run commands and check that they print what is shown; with ``whole``, nothing else."""
    commands = _COMMAND.findall(text)
    assert commands, where
    for written, expected in commands:
        command = re.sub(r"\s*\\\n\s*", " ", written)
        printed = _CLOCK.sub("", _printed(command, folder))
        for part in _parts(expected):
            assert part in _squeezed(printed), f"{where}: $ {command}\n{printed}"
        shown = r"\s*.*?\s*".join(re.escape(_squeezed(part)) for part in expected.split("…"))
        assert not whole or re.fullmatch(shown, _squeezed(printed)), (
            f"{where}: $ {command} prints more than the page shows:\n{printed}"
        )


def _printed(command: str, folder: Path) -> str:
    """The output of a command; `sears` runs in this process, which saves most of the time."""
    plain = _PLAIN.fullmatch(command)
    if plain is None:
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.stdout + done.stderr
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with redirect_stdout(stream), redirect_stderr(stream):
        code = exit_code(shlex.split(plain[1]))
    stream.flush()
    printed = stream.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined]
    return f"{printed}\nexit code {code}" if plain[2] else printed


def _parts(expected: str) -> Iterator[str]:
    for part in expected.replace("…", "\n").splitlines():
        if line := _squeezed(part):
            yield line


def _squeezed(text: str) -> str:
    return " ".join(text.split())
