"""A page for each command, read off the command line itself.

In: the click group ``sears``. Out: pages. Always holds: every command and every option that is not
hidden is on a page, with the words of ``--help``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from docs_site.page import Page, cell

FOLDER = "commands"
# Characters; an option whose values need more has them beside its meaning.
_WIDEST = 50
_VALUES = re.compile(r"\[([^\]]*)\]")
_EXIT_CODES = """\
## Exit codes

| code | meaning |
|---|---|
| 0 | all is well |
| 1 | a gate failed: a test, a format check, a limit |
| 2 | wrong use or bad input |
"""


def command_pages(group: click.Group) -> list[Page]:
    """An overview, and a page for each command; the commands of a group share one."""
    context = click.Context(group, info_name=group.name, **group.context_settings)
    loaded = ((name, group.get_command(context, name)) for name in group.list_commands(context))
    commands = [(name, command) for name, command in loaded if command and not command.hidden]
    overview = ["# Commands", "", _help(group), "", "| command | what it does |", "|---|---|"]
    overview += [
        f"| [sears {name}]({name}.md) | {cell(command.get_short_help_str(200))} |"
        for name, command in commands
    ]
    text = "\n".join([*overview, "", _EXIT_CODES])
    pages = [Page(f"{FOLDER}/index.md", "Overview", text)]
    for name, command in commands:
        body = "\n".join(_command(command, context, name, level=1))
        pages.append(Page(f"{FOLDER}/{name}.md", f"sears {name}", body + "\n"))
    return pages


def _command(
    command: click.Command, parent: click.Context, name: str, *, level: int
) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    usage = f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}"
    yield from (f"{'#' * level} {context.command_path}", "", _help(command), "")
    yield from ("```text", usage, "```")
    yield from _options(command, context)
    if command.epilog:
        yield ""
        yield from _examples(command.epilog)
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            yield ""
            yield from _command(command.commands[inner], context, inner, level=level + 1)


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    records = [
        record
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option)
        and (record := parameter.get_help_record(context)) is not None
    ]
    if records:
        yield from ("", "| option | meaning |", "|---|---|")
        for names, told in records:
            values = _VALUES.search(names) if len(names) > _WIDEST else None
            option = names if values is None else names.replace(values[0], "NAME")
            each = "" if values is None else values[1].replace("|", ", ")
            named = f" NAME is one of {each}." if each else ""
            yield f"| `{option}` | {cell(told + named)} |"  # within code, bars need no escape


def _examples(epilog: str) -> Iterator[str]:
    _, _, examples = " ".join(epilog.split()).partition(": ")
    for example in examples.split("; "):
        yield from ("```text", example.strip(), "```")


def _help(command: click.Command) -> str:
    paragraphs = (command.help or "").replace("\b", "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs).replace("<", "&lt;")
