"""Errors and findings, how they are printed, and small functions that write text for people.

Every error that this package raises on purpose is a `SearsError`, which also says what to do next.
Its subclasses stand at the end. A `Diagnostic` is one finding about one place in a rule file. Its
code is stable (documented in grammar/README.md), its message says what is wrong, and its help says
what to write instead. Findings are collected and reported all at once. `readable` makes text safe
for files, `printable` for screens. This module imports nothing of the package and costs nothing to
import.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Literal

Severity = Literal["error", "warning"]

# Characters that control a terminal, that break or reverse lines, or that no encoding can write.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
#: Half of a surrogate pair. JSON may hold one alone, but no file and no scanner accepts it.
HALF_CHARACTER = re.compile("[\ud800-\udfff]")
MOST_SHOWN = 20
"""How many findings are printed unless all are asked for."""

# A line longer than this is shown as a window around the caret.
_WINDOW = 100


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A place in a rule file: one line (counted from 1), columns from 1, end exclusive."""

    line: int
    column: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about a rule file.

    Attributes:
        code: stable identifier such as ``E201``; E for errors, W for warnings.
        message: what is wrong, in one sentence without a final full stop.
        span: where; None for findings about the file as a whole.
        help: what to do about it; empty when the message says it all.
        path: the file as the user named it.
        source: the line of the file that the span points into.

    Example:
        >>> finding = Diagnostic("E201", "`NUON` is not a tag", Span(1, 6, 10),
        ...                      help="did you mean NOUN?", path="a.sear",
        ...                      source="What NUON -> Which NOUN")
        >>> print(finding.render())
        a.sear:1:6: error[E201]: `NUON` is not a tag
          |
        1 | What NUON -> Which NOUN
          |      ^^^^
          = help: did you mean NOUN?
    """

    code: str
    message: str
    span: Span | None = None
    help: str = ""
    path: str = "<rules>"
    source: str = field(default="", compare=False)

    @property
    def severity(self) -> Severity:
        """``error`` or ``warning``, told by the code's first letter."""
        return "warning" if self.code.startswith("W") else "error"

    def render(self) -> str:
        """The finding as a block of text: place, message, the line, a caret, help."""
        span = self.span
        place = self.path if span is None else f"{self.path}:{span.line}:{span.column}"
        lines = [f"{place}: {self.severity}[{self.code}]: {self.message}"]
        margin = " "
        if span is not None:
            margin = " " * len(str(span.line))
            shown, caret = _window(self.source, span)
            lines += [f"{margin} |", f"{span.line} | {shown}".rstrip(), f"{margin} | {caret}"]
        if self.help:
            first, *rest = self.help.splitlines()
            lines.append(f"{margin} = help: {first}")
            lines.extend(f"{margin}         {line}" for line in rest)
        return _escaped("\n".join(lines))


def _window(source: str, span: Span) -> tuple[str, str]:
    """The part of a line to show and the caret under it; tabs and controls take one column."""
    clean = "".join(character if character.isprintable() else " " for character in source)
    start = span.column - 1
    end = max(start + 1, min(span.end_column - 1, len(clean)))
    left, right = 0, len(clean)
    if len(clean) > _WINDOW:
        left = max(0, start - _WINDOW // 2)
        right = min(len(clean), left + _WINDOW)
    prefix = "…" if left else ""
    suffix = "…" if right < len(clean) else ""
    indent = " " * (_columns(clean[left:start]) + len(prefix))
    caret = "^" * max(1, _columns(clean[start : min(end, right)]))
    return prefix + clean[left:right] + suffix, indent + caret


def _columns(text: str) -> int:
    """How many terminal columns a text takes: two a wide character, none a combining one."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - for the few lines that need it

    return cell_len(text)


def _escaped(text: str) -> str:
    """The text with escapes for characters that would control a terminal or reverse its lines.

    Messages quote files, and files come from strangers.
    """
    return _UNPRINTABLE.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def readable(text: str) -> str:
    """The text with U+FFFD in place of each half of a surrogate pair."""
    return text if text.isascii() else HALF_CHARACTER.sub("\ufffd", text)


def printable(text: str) -> str:
    """The text or HTML on one line, with an escape for each character that cannot be printed."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun, which may bring a verb along; the plural takes an s by default.

    Example:
        >>> counted(1, "rule"), counted(2000, "rule"), counted(2, "row is", "rows are")
        ('1 rule', '2,000 rules', '2 rows are')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters, the last of which is an ellipsis if it was cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listed(names: Sequence[str], most: int) -> str:
    """Names for a sentence: the first ``most`` of them, and how many more there are.

    Example:
        >>> listed(["a", "b", "c"], 3), listed(["a", "b", "c"], 1)
        ('a, b, c', 'a and 2 more')
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def rendered(findings: Sequence[Diagnostic], *, most: int | None = MOST_SHOWN) -> str:
    """Findings as text, the first ``most`` of them, and how many more there are."""
    blocks = [finding.render() for finding in findings[:most]]
    more = len(findings) - len(blocks)
    if more:
        blocks.append(f"and {counted(more, 'more finding')}; `sears check --all` prints them")
    return "\n\n".join(blocks)


class SearsError(Exception):
    """Anything this package raises on purpose.

    Attributes:
        message: what happened and where.
        help: what to do about it; may be empty.
    """

    def __init__(self, message: str, *, help: str = "") -> None:  # noqa: A002 - the field's term
        super().__init__(message)
        self.message = message
        self.help = help

    def render(self) -> str:
        """The error as it is printed by the command line."""
        return _escaped(f"{self.message}\n  = help: {self.help}" if self.help else self.message)

    def __str__(self) -> str:
        return self.render()


class RuleSyntaxError(SearsError):
    """A rule file with errors; all of them are in ``diagnostics``, in the order of the file.

    ``help`` says what to do about all of them together, each diagnostic what to do about itself.
    The message shows the first `MOST_SHOWN`.
    """

    def __init__(
        self,
        diagnostics: Iterable[Diagnostic],
        help: str = "",  # noqa: A002 - the field's term
    ) -> None:
        self.diagnostics: Sequence[Diagnostic] = tuple(diagnostics)
        message = rendered(self.diagnostics)
        super().__init__(f"{message}\n" if help else message, help=help)

    def __reduce__(self) -> tuple[type[RuleSyntaxError], tuple[Sequence[Diagnostic], str]]:
        """Pickle the diagnostics, of which the message is built anew; errors leave processes."""
        return type(self), (self.diagnostics, self.help)


class CompileError(SearsError):
    """Rules that cannot run together or on this text."""


class DataError(SearsError):
    """A dataset that cannot be read, matched to its columns or written."""

    def at(self, place: str) -> DataError:
        """The error as its caller raises it, who knows the place: ``row 7: ``."""
        return DataError(f"{place}{self.message}", help=self.help)


class NothingRightError(DataError):
    """A model has no row right, so nothing can be learned from its answers."""


class TaggerError(SearsError):
    """A tokenizer or tagger that is missing or does not fit the rules."""


class CacheError(SearsError):
    """A tag cache that cannot be used."""


class ModelError(SearsError):
    """A model, under test or of discovery, that cannot be loaded or asked, or gives no labels."""


class InternalError(SearsError):
    """A result breaks a promise of this package, so it is not given out."""


class UsageError(SearsError):
    """A command or call whose arguments do not go together."""


def check_text(value: object, *, meant: str, help: str) -> None:  # noqa: A002 - the error's term
    """Raise `UsageError` for what is not a string, since not all callers check their types.

    Example:
        >>> check_text(3, meant="the text of rules", help="sears.load('a.sear') reads a file")
        Traceback (most recent call last):
        sears_dsl.errors.UsageError: an object of type int is not the text of rules
          = help: sears.load('a.sear') reads a file
    """
    if not isinstance(value, str):
        raise UsageError(f"an object of type {type(value).__name__} is not {meant}", help=help)


def check_whole_number(
    value: object, *, name: str, least: int | None = None, most: int | None = None
) -> None:
    """Raise `UsageError`, which names the argument, for all but whole numbers within the bounds.

    Example:
        >>> check_whole_number(1.5, name="draw", least=0)
        Traceback (most recent call last):
        sears_dsl.errors.UsageError: draw=1.5 is not valid
          = help: pass a whole number, 0 or more
    """
    try:
        number = index(value)  # type: ignore[arg-type]
        is_valid = (least is None or number >= least) and (most is None or number <= most)
    except TypeError:
        is_valid = False
    if not is_valid:
        bounds = "" if least is None else f", {least} or more"
        bounds += "" if most is None else f", {most} at most"
        raise UsageError(f"{name}={value!r:.60} is not valid", help=f"pass a whole number{bounds}")
