"""How statements lie in a file: order, comments and blank lines, for a formatter to put back.

Nothing but values: the parser makes them, the printer reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sears_dsl.errors import Diagnostic
from sears_dsl.language.statements import Statement

__all__ = ["Entry", "MetadataEntry", "ParsedFile"]


@dataclass(frozen=True, slots=True)
class MetadataEntry:
    """A metadata line as it lies in the file: the lines before it and the comment behind it.

    ``leading`` holds ``""`` for a blank line, else a comment; ``"  # ..."`` if it was indented.
    """

    key: str
    leading: tuple[str, ...] = ()
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A statement as it lies in the file; see `MetadataEntry`."""

    node: Statement
    leading: tuple[str, ...] = ()
    comment: str = ""
    metadata: tuple[MetadataEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What a file says, and what is wrong with how it says it.

    Attributes:
        entries: the statements in the order of the file.
        trailing: comments and blank lines after the last one.
        findings: what is wrong with the syntax, in the order of the lines.
    """

    entries: tuple[Entry, ...]
    trailing: tuple[str, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
