"""``python -m benchmarks.walking``: how many files of the package one text passes through.

In: nothing. Out: by layer, the files in which a function is entered, from the command line to the
written file, preceded by their names; while ``sears apply`` takes a csv of one row through shipped
rules, and while ``sears discover`` looks for rules that flip a small model on forty sentences, with
the shipped rules and the carried translation models. What runs because a module is imported does
not count: bodies of modules and of classes, and what these call. Each walk runs in a process of its
own, so that nothing is remembered from another one. The figures come from `sys.setprofile`, and are
the same in each run. Costs about a minute, for the search.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType

import sears_dsl
from benchmarks.record import Row, read_options, write_record

_PACKAGE = f"{Path(sears_dsl.__file__).parent}{os.sep}"
_RULES = "contractions/expand"
_TEXTS = {"a text that rules change": "It's a fine film, isn't it?",
          "a text that no rule changes": "What is the color of the tray?"}  # fmt: skip
_ASKED = 38
_MODEL = """\
def predict(texts):
    return ["bad" if "film" in text or "terrific" in text else "good" for text in texts]
"""
_NOUNS = ("movie", "story", "book", "play", "cast", "scene", "plot", "song")
_SENTENCES = ("I think this {} is great.", "Such a {} is what we need.", "It's a great {} to see.",
              "She likes the {} very much.", "They say the {} was great and long.")  # fmt: skip


def files_entered(work: Callable[[], object]) -> dict[str, set[str]]:
    """The files of the package, from its folder on, with the functions that some work enters."""
    entered: dict[str, set[str]] = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_function = code.co_flags & CO_OPTIMIZED  # bodies of modules and classes lack this flag
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


def _files_of_command(words: Sequence[str], **written: str) -> dict[str, set[str]]:
    """The files and functions that a command enters, run in a folder of its own with some files."""
    from sears_dsl.cli.main import main

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, content in written.items():
            Path(name.replace("_", ".")).write_text(content, "utf-8")
        before, sys.argv = sys.argv, ["sears", *words]
        try:
            return files_entered(main)
        finally:
            sys.argv = before


def files_of_apply(text: str) -> dict[str, set[str]]:
    """The files and functions that ``sears apply`` enters."""
    words = ["apply", _RULES, "rows.csv", "-o", "out.csv", "--column", "text"]
    return _files_of_command(words, rows_csv=f'id,text\n1,"{text}"\n')


def files_of_discover() -> dict[str, set[str]]:
    """The files and functions that ``sears discover`` enters."""
    rows = [f"{sentence.format(noun)},good\n" for noun in _NOUNS for sentence in _SENTENCES]
    words = ["discover", "--model", "model:predict", "--data", "rows.csv", "--column", "text",
             "--label", "label", "-o", "found.sear", "--jobs", "1", "--beam", "3"]  # fmt: skip
    return _files_of_command(words, rows_csv="".join(["text,label\n", *rows]), model_py=_MODEL)


def _by_layer(files: Iterable[str]) -> dict[str, float | int | str]:
    layers = Counter(file.split(os.sep)[0].removesuffix(".py") for file in files)
    return {"files": sum(layers.values()), **dict(layers.most_common())}


def _main() -> None:
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        walks = pool.map(files_of_apply, _TEXTS.values(), chunksize=1)
        search = pool.apply(files_of_discover)
    for walk in (walks[0], search):
        for file, functions in sorted(walk.items()):
            print(f"  {file}: {len(functions)} functions")
        print()
    asked = f"{_ASKED} files or fewer"
    rows = [
        Row(name, _by_layer(files), at_least=asked, aim=asked, reached=len(files) <= _ASKED)
        for name, files in zip(_TEXTS, walks, strict=True)
    ]
    write_record("walking", [*rows, Row("forty sentences through discover", _by_layer(search))])


if __name__ == "__main__":
    read_options(__doc__)
    _main()
