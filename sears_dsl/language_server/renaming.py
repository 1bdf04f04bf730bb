"""A new name for a set: where its name stands in a rule file, and whether another one can be it.

In: the text as it stands in the editor, the file's name, a line and a column from 0. Out: places.
Always holds: what stands in quotes, comments and regexes is not a name, but for the slots of
templates; a rename that would change what the file means is refused; imported sets are renamed in
the file that defines them. Costs a look at each line; imports are read as `parse` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from sears_dsl.errors import SearsError, UsageError
from sears_dsl.language.loader import parse

_DEFINED = re.compile(r"set[ \t]+([^\s=]+)[ \t]*=")
_USED = re.compile(r"@([A-Za-z_][\w.]*)")
_SLOT = re.compile(r"(?<!\{)(?:\{\{)*\{(?:\w+:)?([A-Za-z_][\w.]*)")
# Quoted text, a regex, a comment: what may hold anything.
_OPAQUE = re.compile(r'"(?:\\.|[^"\\])*"|/(?:\\.|[^/\\ ])+/|#.*')
_NAME = re.compile(r"[A-Za-z_]\w*")


class NameSpan(NamedTuple):
    """A name in a file: line and columns from 0."""

    line: int
    start: int
    end: int


def names(text: str) -> Iterator[tuple[str, NameSpan]]:
    r"""Every name of a set in a file, where it is defined and where it is used.

    Example:
        >>> list(names('set WH = What | "@no"\n@WH -> a # @WH'))
        [('WH', NameSpan(line=0, start=4, end=6)), ('WH', NameSpan(line=1, start=1, end=3))]
    """
    for number, line in enumerate(text.split("\n")):
        defined = _DEFINED.match(line)
        if defined:
            yield defined[1], NameSpan(number, *defined.span(1))
        template = line.startswith("template")
        shown = line if template else _OPAQUE.sub(lambda match: " " * len(match[0]), line)
        for match in (_SLOT if template else _USED).finditer(shown):
            yield match[1], NameSpan(number, *match.span(1))


def name_at(text: str, line: int, column: int) -> tuple[str, NameSpan] | None:
    """The name of a set at a place; None where there is none."""
    for name, place in names(text):
        # The sign before a name belongs to it for whoever points there.
        if place.line == line and place.start - 1 <= column <= place.end:
            return name, place
    return None


def renamed(text: str, path: str, line: int, column: int, *, new: str) -> list[NameSpan]:
    """The places that get a new name when the set at a place does.

    UsageError: no set of this file stands there, or the name is none, or is taken.
    """
    occurrence = name_at(text, line, column)
    own = None if occurrence is None else occurrence[0].partition(".")[0]
    known = {defined[1] for line in text.split("\n") if (defined := _DEFINED.match(line))}
    if own is None or own not in known:
        raise UsageError("no set of this file stands here", help="imported ones are renamed there")
    if new in known:
        raise UsageError(f"{new!r} is the name of another set", help="choose another name")
    if not _NAME.fullmatch(new):
        raise UsageError(f"{new!r} is not a name of a set", help="names are letters, digits and _")
    places = [
        NameSpan(place.line, place.start, place.start + len(own))
        for name, place in names(text)
        if name.partition(".")[0] == own
    ]
    try:
        before = parse(text, path=path)
    except SearsError:
        return places  # what is wrong already is shown
    try:
        after = parse(with_name(text, places, new), path=path)
    except SearsError as error:
        raise UsageError(f"{new!r} cannot be the name: {error.message}", help=error.help) from error
    if len(after.rules) != len(before.rules) or len(after.sets) != len(before.sets):
        raise UsageError(f"{new!r} would change what the file means", help="choose another name")
    return places


def with_name(text: str, places: list[NameSpan], new: str) -> str:
    """A text with another name at some places.

    Example:
        >>> with_name("@A -> @A", [NameSpan(0, 1, 2), NameSpan(0, 7, 8)], "WH")
        '@WH -> @WH'
    """
    lines = text.split("\n")
    for place in sorted(places, reverse=True):
        line = lines[place.line]
        lines[place.line] = line[: place.start] + new + line[place.end :]
    return "\n".join(lines)
