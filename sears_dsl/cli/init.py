"""``sears init``: a project file, by asking."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sears_dsl.cli.options.shared import read_share
from sears_dsl.errors import UsageError


@click.command("init", epilog="Example: sears init --data dev.csv --model my_model:predict")
@click.option("--data", metavar="FILE", help="The labelled rows.")
@click.option("--column", help="The column that rules rewrite; by default the likeliest one.")
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
    from sears_dsl.data.batches import ReadOptions
    from sears_dsl.data.dataset import require_column
    from sears_dsl.data.table import read_table
    from sears_dsl.models.loading import require_kind
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

    def answer(question: str, value: str | None, proposed: str) -> str:
        if value is not None or not asks:
            return proposed if value is None else value
        reply: str = click.prompt(question, default=proposed, err=True, show_default=bool(proposed))
        return reply.strip()

    data = answer("file of labelled rows", data, likely_data(Path()))
    if not data:
        raise UsageError(
            "there is no file of rows in this folder",
            help="name one: sears init --data FILE (csv, tsv, jsonl or parquet)",
        )
    columns = read_table(data, options=ReadOptions(limit=_LOOKED_AT)).columns
    column = answer("text column", column, likely_text(columns))
    label = answer("label column", label, likely_label(columns, text=column))
    for name in filter(None, (column, label)):
        require_column(tuple(columns), name, where=data)
    model = answer("model, such as my_model:predict (empty: add it later)", model, "")
    if model:
        require_kind(model)
    own = answer("your own rules, a file or a folder (empty: add them later)",
                 " ".join(rules) or None,
                 "rules" if any(Path("rules").rglob("*.sear")) else "")  # fmt: skip
    rules = rules or tuple(filter(None, [own]))
    find_rule_files(rules)
    text = project_text(
        data=data, column=column, label=label, model=model, rules=rules, flip_rate=max_flip_rate
    )
    _write_new(path, text)
    project = read_project(path.absolute())
    for each in project.fields.models.values():
        agree(project, each)  # whoever named it just now agrees that it runs
    click.echo(f"written: {path}")
    what_next = "name a model in it: [models.main]"
    if model:
        what_next = "sears audit" if rules else "sears discover -o found.sear"
    click.echo(f"next: {what_next}", err=True)


# Rows that columns are proposed from.
_LOOKED_AT = 500


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror}", help="no file was replaced"
        ) from error
