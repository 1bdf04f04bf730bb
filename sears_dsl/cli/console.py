"""What commands share when they print: the change marked in a sentence, JSON, plurals.

On a terminal a change is red struck through and green; elsewhere it is marked as
``[-old-]{+new+}``, so that nothing depends on colour.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from sears_dsl.engine.matches import Edit

__all__ = ["console", "counted", "echo_json", "excerpt", "marked", "shown"]

# How much of a long sentence is shown before its first change.
_BEFORE = 40


def console(*, stderr: bool = False) -> Console:
    """A console that writes plain text when the stream is no terminal, and never wraps pipes."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 200
    return Console(file=stream, highlight=False, soft_wrap=not stream.isatty(), width=width)


def counted(number: int, noun: str) -> str:
    """``1 rule``, ``2,000 rules``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def echo_json(value: object) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def shown(text: str) -> str:
    """The text on one line: line ends and controls made visible."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def marked(original: str, edits: Sequence[Edit]) -> Text:
    """The sentence with each change marked; only the words that differ."""
    from rich.text import Text

    line = Text()
    position = 0
    for start, old, new in map(_narrowed, edits):
        line.append(shown(original[position:start]))
        if old:
            line.append(f"[-{shown(old)}-]", style="red strike")
        if new:
            line.append(f"{{+{shown(new)}+}}", style="green bold")
        position = start + len(old)
    line.append(shown(original[position:]))
    return line


def excerpt(original: str, edits: Sequence[Edit], *, width: int) -> Text:
    """`marked`, cut to a width so that the first change is in it."""
    line = marked(original, edits)
    change = line.plain.find(_first_mark(line.plain))
    if len(line) > width and change > _BEFORE:
        cut = line.plain.find(" ", change - _BEFORE) + 1
        line = line[cut:]
        line = type(line)("…", end="") + line
    line.truncate(width, overflow="ellipsis")
    return line


def _first_mark(plain: str) -> str:
    marks = [mark for mark in ("[-", "{+") if mark in plain]
    return min(marks, key=plain.find, default="")


def _narrowed(edit: Edit) -> tuple[int, str, str]:
    """The edit without the whole words that stand on both sides of it unchanged."""
    old, new = _words(edit.old), _words(edit.new)
    front = _common(old, new)
    back = _common(reversed(old[front:]), reversed(new[front:]))
    kept = sum(map(len, old[:front]))
    return (
        edit.start + kept,
        "".join(old[front : len(old) - back]),
        "".join(new[front : len(new) - back]),
    )


def _words(text: str) -> list[str]:
    """The text cut before every space, so that joining gives it back."""
    words: list[str] = []
    for character in text:
        if character.isspace() or not words:
            words.append(character)
        else:
            words[-1] += character
    return words


def _common(left: Iterable[str], right: Iterable[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
