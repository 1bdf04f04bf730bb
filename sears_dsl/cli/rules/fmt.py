"""``sears fmt``: rule files in their canonical form."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from sears_dsl.cli.options.shared import imports_option
from sears_dsl.errors import UsageError, counted

if TYPE_CHECKING:
    from sears_dsl.language.ruleset import Ruleset


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

    from sears_dsl.catalogue import find_rule_files
    from sears_dsl.language.loader import load, parse
    from sears_dsl.runtime.files import write_atomically

    if "-" in rules:
        if rules != ("-",):
            raise UsageError("`-` takes no other files", help="sears fmt - < a.sear")
        try:
            source = sys.stdin.buffer.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UsageError(
                f"standard input is not UTF-8: {error.reason} at byte {error.start}",
                help="rule files are UTF-8; convert it first",
            ) from error
        click.echo(_canonical(parse(source, path="<stdin>")), nl=False)
        return
    changed = 0
    files = find_rule_files(rules)
    for file in files:
        source = file.read_bytes()
        before = file.read_text("utf-8")
        after = _canonical(load(file, allow_imports_outside=allow_imports_outside))
        if before == after:
            continue
        changed += 1
        if show_diff:
            old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
            lines = unified_diff(old, new, str(file), f"{file} (canonical)")
            click.echo("".join(lines), nl=False)
        elif check:
            click.echo(f"would change: {file}")
        else:
            write_atomically(file, after.encode("utf-8"), replacing=source)
            click.echo(f"changed: {file}")
    unchanged = f"{counted(len(files) - changed, 'file')} already in canonical form"
    only_looked = check or show_diff
    done = "not in canonical form" if only_looked else "reformatted"
    click.echo(f"{counted(changed, 'file')} {done}, {unchanged}" if changed else unchanged)
    if changed and only_looked:
        sys.exit(1)


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
