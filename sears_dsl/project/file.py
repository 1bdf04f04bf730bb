"""The project file: models, data sets, columns, gates and rulesets that commands need not be told.

In: a folder. Out: `Project`, checked field by field, or None where there is no file. Always holds:
reading it runs nothing, imports nothing and opens no path that it names; paths in it are relative
to its folder; all mistakes in it are reported at once.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sears_dsl.errors import UsageError
from sears_dsl.runtime.files import read_document

if TYPE_CHECKING:
    from sears_dsl.project.fields import ProjectFields

FILE_NAME = "sears.toml"
"""The name of a separate project file; the other place is a table in `pyproject.toml`."""

_SHARED = "pyproject.toml"
_MOST_BYTES = 1024 * 1024
_MOST_FOLDERS = 100


@dataclass(frozen=True)
class Project:
    """A project file."""

    path: Path
    prefix: str  # what precedes each key in messages: ``tool.sears.`` or nothing
    fields: ProjectFields

    @property
    def folder(self) -> Path:
        """The folder that its paths are relative to."""
        return self.path.parent

    def key(self, *names: str) -> str:
        """Return a key as messages name it, such as ``tool.sears.datasets.dev.file``."""
        return self.prefix + ".".join(names)


def find_project(start: Path | None = None) -> Project | None:
    """The project file of a folder: in it, or in a folder above it in the same git repository."""
    for folder in _folders(Path.cwd() if start is None else start):
        own, shared = folder / FILE_NAME, folder / _SHARED
        table = _own_table(shared) if shared.is_file() else None
        is_own = os.path.lexists(own)  # a link that leads nowhere is a mistake to report
        if is_own and table is not None:
            raise UsageError(
                f"{near(own)} and [tool.sears] in {near(shared)} are two project files in one "
                "folder",
                help="keep one of them: move the settings of either into the other",
            )
        if is_own:
            return read_project(own)
        if table is not None:
            return _checked(shared, table, prefix="tool.sears.")
    return None


def read_project(path: Path) -> Project:
    """The project of a ``sears.toml``."""
    return _checked(path, _toml(path), prefix="")


def _folders(start: Path) -> Iterator[Path]:
    """Yield the folder and those above it up to the root of its repository, or just the folder.

    Folders above a repository, or above a folder that is in none, are other people's: /tmp, /home.
    """
    start = start.resolve()
    above = [start, *start.parents][:_MOST_FOLDERS]
    roots = [number for number, folder in enumerate(above) if (folder / ".git").exists()]
    yield from above[: roots[0] + 1] if roots else above[:1]


def _own_table(path: Path) -> Any:
    """Return [tool.sears] of a pyproject.toml; None if there is none."""
    # The file belongs to other tools: its mistakes matter only if it mentions sears.
    content = _content(path)
    if b"sears" not in content:
        return None
    tools = _toml(path).get("tool")
    return tools.get("sears") if isinstance(tools, dict) else None


def _content(path: Path) -> bytes:
    try:
        return read_document(path, most=_MOST_BYTES)
    except OSError as error:
        raise UsageError(
            f"{near(path)} cannot be read: {error.strerror}", help="fix it, or remove it"
        ) from error


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_content(path).decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UsageError(f"{near(path)} is not TOML: {reason}", help="fix that place") from error


def _checked(path: Path, table: Any, *, prefix: str) -> Project:
    from pydantic import ValidationError  # noqa: PLC0415 - only where there is a project file

    from sears_dsl.project.fields import ProjectFields, names_without_meaning  # noqa: PLC0415

    mistakes = [(f"{prefix}{each}", "") for each in names_without_meaning(table)]
    try:
        fields = ProjectFields.model_validate(table)
    except ValidationError as error:
        mistakes = [*(_mistake(each, prefix) for each in error.errors()), *mistakes]
    else:
        if not mistakes:
            return Project(path, prefix, fields)
    first = "\n".join(f"{near(path)}: {message}" for message, _ in mistakes)
    advice = [help_ for _, help_ in mistakes if help_]
    raise UsageError(first, help="; ".join(dict.fromkeys(advice)))


def _mistake(error: Any, prefix: str) -> tuple[str, str]:
    """Return what is wrong in one place, and what to write instead."""
    from sears_dsl.project.fields import keys_of  # noqa: PLC0415 - as in `_checked`

    names = [str(name) for name in error["loc"]]
    is_unknown = error["type"] == "extra_forbidden"
    unknown = names.pop() if is_unknown else ""
    key = prefix + ".".join(names) if names else prefix.rstrip(".") or "the file"
    if is_unknown:
        known = keys_of(*names)
        near = get_close_matches(unknown, known, n=1)
        where = f"{key}: " if names or prefix else ""
        advice = f"the keys there are {', '.join(known)}"
        if names == ["gates"] and not near:
            advice = f"put a limit for some rules under {key}.rules; {advice}"
        return f"{where}there is no key {unknown!r}", (
            f"did you mean {near[0]}? {advice}" if near else advice
        )
    if error["type"] == "value_error":
        return f"{key}: {error['msg'].removeprefix('Value error, ')}", ""
    expected = _EXPECTED.get(error["type"]) or (
        error["msg"].replace("Input should be ", "").replace("a valid ", "a ")
    )
    value = error["input"]
    is_a = f"is {value!r:.60}" if not isinstance(value, dict | list) else "is a " + (
        "table" if isinstance(value, dict) else "list"
    )  # fmt: skip
    if error["type"] == "missing":
        return f"{key} is missing", ""
    return f"{key} {is_a}", f"{key} takes {expected}"


_EXPECTED = {
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a table",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "model_type": "a table",
    "string_too_short": "a text that is not empty",
    "string_type": "a text in quotes",
    "tuple_type": "a list of texts in quotes",
}


def near(path: Path) -> str:
    """The path as a person in the current folder would write it."""
    try:
        return os.path.relpath(path)
    except ValueError:  # another drive of Windows
        return str(path)
