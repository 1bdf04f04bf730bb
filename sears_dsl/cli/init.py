"""``sears init``: a project file, by asking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import click

from sears_dsl.cli.options.shared import column_option, read_share
from sears_dsl.errors import SearsError, UsageError


@click.command("init", epilog="Example: sears init --data dev.csv --model my_model:predict")
@click.option("--data", metavar="FILE", help="The labelled rows.")
@column_option("The column that rules rewrite; by default the likeliest one.")
@click.option("--label", help="The column of labels; by default the likeliest one.")
@click.option("--model", metavar="SPEC", help="module:object, sklearn:FILE, hf:FOLDER, http://… or "
              "file:PREDICTIONS.")  # fmt: skip
@click.option("--rules", multiple=True, metavar="RULES",
              help="A rule file, a folder or a shipped ruleset; repeatable.")  # fmt: skip
@click.option("--max-flip-rate", metavar="RATE",
              help="The limit of audits, such as 5%; by default none.",
              callback=lambda *call: "" if read_share(*call) is None else call[2])  # fmt: skip
def init_command(
    *,
    data: str | None,
    column: str | None,
    label: str | None,
    model: str | None,
    rules: tuple[str, ...],
    max_flip_rate: str,
) -> None:
    """Write sears.toml, which names the model, the rows and the rules that commands use.

    At a terminal, it asks for what the options leave open; elsewhere, it fills that in from what it
    finds. It looks at the rows to propose columns, and never replaces a file.
    """
    from sears_dsl.catalogue import find_rule_files
    from sears_dsl.data.dataset import require_column
    from sears_dsl.data.labelled import column_sets
    from sears_dsl.project.consent import agree
    from sears_dsl.project.file import FILE_NAME, find_project, read_project
    from sears_dsl.project.proposal import likely_data, likely_label, likely_text, project_text

    path = Path(FILE_NAME)
    known = find_project()
    if known is not None and known.folder == Path.cwd():
        raise UsageError(
            f"this folder already has a project file, {known.path.name}",
            help="edit that file; nothing was written",
        )
    asks = sys.stdin.isatty() and sys.stderr.isatty()

    def answer(
        question: str, option: str | None, proposed: str, check: Callable[[str], object]
    ) -> str:
        """What an option or a person says; after a wrong answer, the question comes again."""
        reply = proposed if option is None else option
        while True:
            if option is None and asks:
                reply = click.prompt(question, proposed, err=True, show_default=bool(proposed))
                reply = reply.strip()
            try:
                if reply:
                    check(reply)
                return reply
            except SearsError as error:
                if option is not None or not asks:
                    raise
                click.echo(f"sears: {error}", err=True)

    data = answer("file of labelled rows", data, likely_data(Path()), _read_columns)
    if not data:
        raise UsageError(
            "there is no file of rows in this folder",
            help="name one: sears init --data FILE (csv, tsv, jsonl or parquet)",
        )
    columns = _read_columns(data)
    require = partial(require_column, tuple(columns), where=data)

    def texts_of(names: str) -> list[str]:
        return [*chain(*column_sets(names, tuple(columns)))]

    column = answer("text column", column, likely_text(columns),
                    lambda names: [*map(require, texts_of(names))])  # fmt: skip
    label = answer("label column", label, likely_label(columns, texts=texts_of(column)), require)
    model = answer("model, such as my_model:predict (empty: add it later)", model, "", _check_model)
    find_rule_files(rules)
    own = answer("your own rules, a file or a folder (empty: add them later)",
                 "" if rules else None,
                 "rules" if any(Path("rules").rglob("*.sear")) else "",
                 lambda name: find_rule_files([name]))  # fmt: skip
    rules = rules or tuple(filter(None, [own]))
    text = project_text(
        data=data, column=column, label=label, model=model, rules=rules, flip_rate=max_flip_rate
    )
    _write_new(path, text)
    project = read_project(path.absolute())
    for each in project.fields.models.values():
        agree(project, each)  # whoever named it just now agrees that it runs
    click.echo(f"written: {path}")
    click.echo(f"columns of {data}: text {column or '-'}; label {label or _NO_LABEL}", err=True)
    what_next = "name a model in it: [models.main]"
    if model:
        what_next = "sears audit" if rules else "sears discover -o found.sear"
    click.echo(f"next: {what_next}", err=True)


def _read_columns(file: str) -> Mapping[str, Sequence[Any]]:
    from sears_dsl.data.batches import ReadOptions
    from sears_dsl.data.streams import STANDARD_STREAM
    from sears_dsl.data.table import read_table

    if file == STANDARD_STREAM:
        raise UsageError(
            "a project file names a file of rows, and - is none", help="write them to a file"
        )
    return read_table(file, options=ReadOptions(limit=_LOOKED_AT)).columns


def _check_model(spec: str) -> None:
    """Refuse what names no model, or what commands would refuse to take from the file."""
    from sears_dsl.models.loading import require_kind
    from sears_dsl.project.members import is_inside, members

    require_kind(spec)
    for each in members(spec):
        if each.kind == "file" and not is_inside(Path.cwd(), each.rest):
            raise UsageError(
                f"{each.spec}: a project file may name predictions only in its own folder",
                help="put them there, or leave the model out here and name it by hand: --model",
            )


_NO_LABEL = "- (none was recognized: `label = ` in [datasets.dev] or --label names it)"
# Rows that columns are proposed from.
_LOOKED_AT = 500


def _write_new(path: Path, text: str) -> None:
    try:
        content = text.encode("utf-8")
        with path.open("xb") as file:
            file.write(content)
    except UnicodeEncodeError as error:
        line = text.split("\n")[text.count("\n", 0, error.start)]
        raise UsageError(
            f"{path} cannot have the line {line!r}, which is no UTF-8", help="rename that file"
        ) from error
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror}", help="no file was replaced"
        ) from error
