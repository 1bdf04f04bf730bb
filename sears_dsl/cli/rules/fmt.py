"""``sears fmt``: rule files in their canonical form."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sears_dsl.cli.options.shared import imports_option
from sears_dsl.errors import UsageError, counted

if TYPE_CHECKING:
    from sears_dsl.language.ruleset import Ruleset

_STANDARD_INPUT = "<stdin>"


@click.command("fmt", epilog="Example: sears fmt rules/*.sear")
@click.argument("rules", nargs=-1, required=True)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if a file would change.")
@click.option("--diff", "show_diff", is_flag=True, help="Write nothing; show what would change.")
@imports_option
def fmt_command(
    rules: tuple[str, ...], *, check: bool, show_diff: bool, allow_imports_outside: bool
) -> None:
    """Put rule files into canonical form. `-` reads standard input and writes standard output.

    Comments stay; spacing, quotes and the order of metadata become the same everywhere.
    """
    from difflib import unified_diff

    from sears_dsl.runtime.files import write_atomically

    only_looked = check or show_diff
    count = changed = 0
    for name, source, after in _formatted(rules, allow_imports_outside=allow_imports_outside):
        if name == _STANDARD_INPUT and not only_looked:
            click.echo(after, nl=False)
            return
        count += 1
        before = StringIO(source.decode("utf-8"), newline=None).read()  # any line ends will do
        if before == after:
            continue
        changed += 1
        if show_diff:
            old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
            click.echo("".join(unified_diff(old, new, name, f"{name} (canonical)")), nl=False)
        elif check:
            click.echo(f"would change: {name}")
        else:
            write_atomically(Path(name), after.encode("utf-8"), replacing=source)
            click.echo(f"changed: {name}")
    unchanged = f"{counted(count - changed, 'file')} already in canonical form"
    done = "not in canonical form" if only_looked else "reformatted"
    click.echo(f"{counted(changed, 'file')} {done}, {unchanged}" if changed else unchanged)
    if changed and only_looked:
        sys.exit(1)


def _formatted(
    rules: tuple[str, ...], *, allow_imports_outside: bool
) -> Iterator[tuple[str, bytes, str]]:
    """The name, the content and the canonical form of each file, or of standard input."""
    from sears_dsl.catalogue import loaded_files
    from sears_dsl.language.loader import load, parse

    if "-" not in rules:
        for file in loaded_files(rules):
            source = file.read_bytes()
            ruleset = load(file, allow_imports_outside=allow_imports_outside)
            yield str(file), source, _canonical(ruleset)
        return
    if rules != ("-",):
        raise UsageError("`-` takes no other files", help="sears fmt - < a.sear")
    source = sys.stdin.buffer.read()
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"standard input is not UTF-8: {error.reason} at byte {error.start}",
            help="rule files are UTF-8; convert it first",
        ) from error
    yield _STANDARD_INPUT, source, _canonical(parse(text, path=_STANDARD_INPUT))


def _canonical(ruleset: Ruleset) -> str:
    """Return the canonical form, which spaces may make longer than what can be read."""
    from sears_dsl.language.parsing.parser import LONGEST_LINE

    text = ruleset.format()
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > LONGEST_LINE:
            raise UsageError(
                f"line {number} of the canonical form of {ruleset.path} would have {len(line):,} "
                f"characters, and lines have at most {LONGEST_LINE:,}",
                help="keep long lists in several sets; the file is as it was",
            )
    return text
