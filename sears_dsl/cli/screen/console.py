"""What commands share when they print: the change marked in a sentence, JSON, plurals.

On a terminal a change is red struck through and green; elsewhere it is marked as
``[-old-]{+new+}``, so that nothing depends on colour.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from sears_dsl.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from sears_dsl.engine.matches import Edit
    from sears_dsl.errors import Diagnostic
    from sears_dsl.language.rule import Rule
    from sears_dsl.language.ruleset import Ruleset

imports_option = click.option(
    "--allow-imports-outside",
    is_flag=True,
    help="Rule files may import files that lie outside of their folder.",
)
"""For every command that reads rule files."""

NO_RULE_FIRES = (
    "no rule fires: is it the right column, and in the language of the rules? `sears explain RULES "
    "'a sentence'` tells why a rule is silent"
)
"""What is said where rules leave all rows as they are."""

# How much of a long sentence is shown before its first change, at most.
_BEFORE = 40


class FilePath(click.Path):
    """A path on the command line; an empty one is refused, since it would be the current folder."""

    name = "path"

    def __init__(self, *, file_okay: bool = True, dir_okay: bool = True) -> None:
        super().__init__(file_okay=file_okay, dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        if value == "":
            raise UsageError(
                "an empty name is not a file",
                help="is a variable of the shell not set? name a file",
            )
        return super().convert(value, param, ctx)


def console(*, stderr: bool = False) -> Console:
    """A console that prints texts as they are: plain outside of a terminal, pipes not wrapped."""
    from rich.console import Console

    class Printer(Console):
        """Leaves it to the command what is done when nobody reads on."""

        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 200
    return Printer(
        file=stream, markup=False, emoji=False, highlight=False, soft_wrap=not stream.isatty(),
        width=width,
    )  # fmt: skip


def plain_table(
    *heads: str, right: Iterable[int] = (), rows: Iterable[Iterable[str | Text]] = ()
) -> Table:
    """A table without lines around it; these columns are set to the right."""
    from rich.table import Table

    table = Table(*heads, box=None, pad_edge=False)
    for place in right:
        table.columns[place].justify = "right"
    for row in rows:
        table.add_row(*row)
    return table


def echo_json(value: object) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def echo_document(content: str) -> None:
    """JSON that is there already, laid out as `echo_json` does it."""
    echo_json(json.loads(content))


def as_json_object(finding: Diagnostic) -> dict[str, object]:
    """A finding as commands print it under --json."""
    span = finding.span
    return {
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        "help": finding.help,
        "path": finding.path,
        "line": span.line if span else None,
        "column": span.column if span else None,
        "end_column": span.end_column if span else None,
    }


def rule_label(rule: Rule, rule_id: str) -> str:
    """What a rule is called: its id where somebody chose one, else its text."""
    from sears_dsl.language.printer import print_rule

    return print_rule(rule) if rule.name is None else rule_id


def rule_labels(rulesets: Iterable[Ruleset]) -> dict[str, str]:
    """What each rule is called, by its id."""
    return {
        rule_id: rule_label(rule, rule_id)
        for ruleset in rulesets
        for rule_id, rule in zip(ruleset.rule_ids, ruleset.rules, strict=True)
    }


def shown(text: str) -> str:
    """The text on one line: line ends and controls made visible."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def marked(original: str, edits: Sequence[Edit]) -> Text:
    """The sentence with each change marked; only the words that differ."""
    from rich.text import Text

    from sears_dsl.engine.rewrite.rewrites import pieces

    line = Text()
    for kind, text in pieces(original, edits):
        if kind == "same":
            line.append(shown(text))
        elif kind == "old":
            line.append(f"[-{shown(text)}-]", style="red strike")
        elif kind == "note":
            line.append(f" ({text})", style="dim")
        else:
            line.append(f"{{+{shown(text)}+}}", style="green bold")
    return line


def excerpt(original: str, edits: Sequence[Edit], *, width: int) -> Text:
    """`marked`, cut to a width so that the first change is in it."""
    line = marked(original, edits)
    change = line.plain.find(_first_mark(line.plain))
    # Where there is little room, what was changed takes it.
    before = min(_BEFORE, max(0, width // 2 - 10))
    if len(line) > width and change > before:
        cut = line.plain.find(" ", change - before) + 1
        line = line[cut:]
        line = type(line)("…", end="") + line
    line.truncate(width, overflow="ellipsis")
    return line


def _first_mark(plain: str) -> str:
    marks = [mark for mark in ("[-", "{+") if mark in plain]
    return min(marks, key=plain.find, default="")
