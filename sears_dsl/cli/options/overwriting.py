"""Outputs that are inputs: a command refuses to write over a file that it reads.

In: the files to write; what the command was told to read, as typed, and the rulesets that it
loaded. Out: an error that names the file, or nothing. Always holds: names of shipped rulesets and
standard streams are no files; rule files count with all that they import. Costs a look at the disk
for each pair of files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sears_dsl.runtime.files import are_same

if TYPE_CHECKING:
    from sears_dsl.language.ruleset import Ruleset


def refuse_overwriting(
    written: Iterable[str | Path],
    *,
    sources: Iterable[str | None] = (),
    rulesets: Sequence[Ruleset] = (),
) -> None:
    """Refuse to write what a command reads: files, modules of ``module:function``, rule files."""
    from sears_dsl.language.loader import source_files

    read: list[str | Path] = [*map(_file_of, filter(None, sources)), *source_files(rulesets)]
    for path in written:
        if any(are_same(path, each) for each in read):
            raise click.UsageError(f"{path} is an input of this command: write to another file")


def _file_of(source: str) -> str:
    """The file of a module that is named as in ``module:function``; other names stay."""
    if ":" not in source:  # without a look at models
        return source
    from sears_dsl.models.objects import is_object_name

    return f"{source.partition(':')[0].replace('.', '/')}.py" if is_object_name(source) else source
