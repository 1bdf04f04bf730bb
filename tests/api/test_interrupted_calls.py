"""Ctrl-C in a notebook ends the call, and the next call works."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

_INTERRUPTED = """
import os
import signal
import sys

import sears_dsl as sears

pressed = []

def press(event, arguments):
    if event == "import" and arguments[0] == sys.argv[1] and not pressed:
        pressed.append(True)
        os.kill(os.getpid(), signal.SIGINT)

def called():
    return {call}

sys.addaudithook(press)
try:
    print("not interrupted:", called())
except KeyboardInterrupt:
    print("interrupted")
print(called())
"""


@pytest.mark.parametrize(
    ("module", "call", "printed"),
    [
        ("numpy.linalg", '[each.text for each in sears.parse("movie -> film").compile()'
         '.apply(["A movie."])]', "['A film.']"),
        ("numpy.linalg", 'len(sears.apply(["A movie."], sears.parse("movie -> film")))', "1"),
        ("torch.nn", 'len(sears.score([("It is red.", "It is blue.")]).scores)', "1"),
    ],
)  # fmt: skip
def test_an_import_that_was_interrupted_does_no_harm(module: str, call: str, printed: str) -> None:
    """Otherwise half of NumPy or torch would stay loaded until Python restarts."""
    pytest.importorskip(module.partition(".")[0])
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED.format(call=call), module],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["interrupted", printed]
