"""Commands read rows in other encodings, and without column names."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from brittle_model import ROWS
from click.testing import CliRunner

from sears_dsl.cli.commands import sears as commands

_LINES = "".join(f"{text[:-1]} at the café.,{label}\n" for text, label in ROWS)
_ASKED = ("--data", "rows.csv", "--model", "brittle_words:predict", "--label", "2")
_PARTS = ("--paraphrases", "brittle_words:reword", "--scorer", "brittle_words:close", "--jobs", "1")
_COMMANDS = {
    "audit": (("audit", "rules.sear", *_ASKED, "--scorer", "none", "--slice", "2"), "-o", "out"),
    "discover": (("discover", *_ASKED, *_PARTS, "--no-known"), "-o", "out/found.sear"),
    "adversaries": (("adversaries", *_ASKED, *_PARTS), "-o", "out/pairs.csv"),
    "augment": (("augment", "rules.sear", "rows.csv", "--label", "2"), "-o", "out/more.csv"),
    "fix": (
        ("fix", "rules.sear", "--train", "train.csv", "--data", "rows.csv", "--label", "2",
         "--same-rows", "--seeds", "1", "--no-control"),
        "-o", "out/fix.json",
    ),
    "score": (
        ("score", "rows.csv", "--scorer", "brittle_words:close", "--original", "1",
         "--rewrite", "2"),
        "-o", "out/scored.csv",
    ),
    "apply": (("apply", "rules.sear", "rows.csv", "--column", "1"), "-o", "out/rewritten.csv"),
}  # fmt: skip


def _files(command: tuple[tuple[str, ...], str, str], *more: str) -> dict[str, bytes]:
    """The files that a command writes."""
    arguments, option, output = command
    place = Path("out")
    if output != "out":
        place.mkdir()
    done = CliRunner().invoke(commands, [*arguments, option, output, *more])
    assert done.exit_code == 0, (done.output, done.exception)
    files = {path.name: path.read_bytes() for path in place.iterdir()}
    for path in place.iterdir():
        path.unlink()
    place.rmdir()
    return files


@pytest.mark.parametrize("name", _COMMANDS)
def test_rows_in_another_encoding_and_without_names_are_the_same_rows(
    folder: Path, name: str
) -> None:
    files = {"rows.csv": _LINES, "train.csv": _LINES.replace("at the café", "in a café")}
    for file, lines in files.items():
        (folder / file).write_text(f"1,2\n{lines}", "utf-8")
    plain = _files(_COMMANDS[name])
    assert "café".encode() in b"".join(plain.values()) or name == "fix"
    for file, lines in files.items():
        (folder / file).write_bytes(lines.encode("cp1252"))
    assert _files(_COMMANDS[name], "--encoding", "cp1252", "--no-header") == plain


def test_all_commands_that_say_how_their_rows_are_formatted_say_how_they_are_read() -> None:
    context = click.Context(commands)
    for name in commands.list_commands(context):
        command = commands.get_command(context, name)
        assert command is not None
        options = {option for each in command.params for option in each.opts}
        if "--format" in options:
            assert {"--encoding", "--no-header"} <= options, name
