"""``python -m benchmarks.walking``: how many files of the package one text walks through.

In: nothing. Out: by layer, the files of which a function is entered while ``sears apply`` takes a
csv of one row through shipped rules, from the words of a person to the written file; with their
names before. What runs because a module is imported does not count: bodies of modules and of
classes, and what these call. Each text has a process of its own, so that nothing is remembered of
another one. The figures come from `sys.setprofile`, and are the same in each run.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType

import sears_dsl
from benchmarks.record import Row, write_record

_PACKAGE = f"{Path(sears_dsl.__file__).parent}{os.sep}"
_RULES = "contractions/expand"
_TEXTS = {"a text that rules change": "It's a fine film, isn't it?",
          "a text that no rule changes": "What is the color of the tray?"}  # fmt: skip
_ASKED = 38


def files_entered(work: Callable[[], object]) -> dict[str, set[str]]:
    """The files of the package, from its folder on, with the functions that some work enters."""
    entered: dict[str, set[str]] = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_function = code.co_flags & CO_OPTIMIZED  # of bodies nothing is optimized
        if event != "call" or not is_function or not code.co_filename.startswith(_PACKAGE):
            return
        functions = entered.setdefault(code.co_filename.removeprefix(_PACKAGE), set())
        if code.co_qualname not in functions and not _is_imported(frame):
            functions.add(code.co_qualname)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {file: functions for file, functions in entered.items() if functions}


def _is_imported(frame: FrameType | None) -> bool:
    """Whether this runs because a module of the package is imported."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and code.co_filename.startswith(_PACKAGE):
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def _one_row(text: str) -> Iterator[list[str]]:
    """The words of a command on one text, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("rows.csv").write_text(f'id,text\n1,"{text}"\n', "utf-8")
        yield ["sears", "apply", _RULES, "rows.csv", "-o", "out.csv", "--column", "text"]


def files_of_apply(text: str) -> dict[str, set[str]]:
    """The files and functions that ``sears apply`` enters."""
    from sears_dsl.cli.main import main

    with _one_row(text) as words:
        before, sys.argv = sys.argv, words
        try:
            return files_entered(main)
        finally:
            sys.argv = before


def _main() -> None:
    rows = []
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        walks = pool.map(files_of_apply, _TEXTS.values(), chunksize=1)
    for file, functions in sorted(walks[0].items()):
        print(f"  {file}: {len(functions)} functions")
    for name, files in zip(_TEXTS, walks, strict=True):
        layers = Counter(file.split(os.sep)[0].removesuffix(".py") for file in files)
        figures: dict[str, float | int | str] = {"files": len(files), **dict(layers.most_common())}
        asked = f"{_ASKED} files or fewer"
        rows.append(Row(name, figures, at_least=asked, aim=asked, reached=len(files) <= _ASKED))
    write_record("walking", rows)


if __name__ == "__main__":
    _main()
