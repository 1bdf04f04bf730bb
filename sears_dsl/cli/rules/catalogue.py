"""``sears rules``: the catalogue of shipped rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sears_dsl.cli.options.shared import FilePath, imports_option, json_option
from sears_dsl.cli.screen.console import console, echo_json, excerpt, plain_table
from sears_dsl.errors import DataError, UsageError, counted

if TYPE_CHECKING:
    from rich.text import Text

    from sears_dsl.language.ruleset import Ruleset

# Most characters of an example in the list of rulesets.
_EXAMPLE = 80
_TITLE = "# The shipped rules"


@click.command("rules", epilog="Example: sears rules contractions/expand")
@click.argument("names", nargs=-1)
@json_option("Print the rules as JSON.")
@click.option("--pages", type=FilePath(file_okay=False),
              help="Write a Markdown page for each ruleset into this folder.")  # fmt: skip
@imports_option
def rules_command(
    names: tuple[str, ...], *, as_json: bool, pages: Path | None, allow_imports_outside: bool
) -> None:
    """List the shipped rulesets; with NAMES, show the rules in them."""
    from sears_dsl.catalogue import find_rule_files, shipped_rulesets
    from sears_dsl.language.loader import load

    if names:
        known = {file: name for name, file in shipped_rulesets().items()}
        rulesets = {
            known.get(file, str(file)): load(file, allow_imports_outside=allow_imports_outside)
            for file in find_rule_files(names)
        }
    else:
        rulesets = {name: load(file) for name, file in shipped_rulesets().items()}
    if pages is not None:
        if as_json:
            raise click.UsageError("--pages writes files and --json prints: give one of them")
        _write_pages(rulesets, pages)
    elif as_json:
        echo_json([_as_dict(name, ruleset) for name, ruleset in rulesets.items()])
    elif names:
        for name, ruleset in rulesets.items():
            _print_rules(name, ruleset)
    else:
        _print_rulesets(rulesets)


def _as_dict(name: str, ruleset: Ruleset) -> dict[str, object]:
    from sears_dsl.language.printer import effect_lines, print_rule, print_template

    return {
        "name": name,
        "version": ruleset.version,
        "path": ruleset.path,
        "rules": [
            {
                "id": rule_id,
                "rule": print_rule(rule),
                "metadata": effect_lines(rule.metadata),
                "tags": list(rule.metadata.tags),
                "why": rule.metadata.why,
                "tests": [[test.text, test.expected] for test in rule.metadata.tests],
            }
            for rule_id, rule in ruleset.named_rules
        ],
        "templates": [
            {
                "id": template_id,
                "template": print_template(template),
                "label": template.metadata.label,
                "tags": list(template.metadata.tags),
            }
            for template_id, template in ruleset.named_templates
        ],
    }


def _print_rulesets(rulesets: dict[str, Ruleset]) -> None:
    table = plain_table("ruleset", "version", "rules", "templates", "example", right=[2, 3])
    for name, ruleset in rulesets.items():
        counts = (f"{len(each):,}" if each else "" for each in (ruleset.rules, ruleset.templates))
        table.add_row(name, ruleset.version, *counts, _example(ruleset))
    out = console()
    out.print(table)
    total = sum(len(ruleset.rules) for ruleset in rulesets.values())
    out.print(f"\n{counted(len(rulesets), 'ruleset')}, {counted(total, 'rule')}. ", end="")
    out.print("`sears rules NAME` shows the rules of one.")


def _example(ruleset: Ruleset) -> Text:
    """Return the first test that rewrites a text, marked; else the first rule or template."""
    from rich.text import Text

    from sears_dsl.engine.matches import Edit
    from sears_dsl.language.printer import print_rule, print_template
    from sears_dsl.tagging.pinned import parse_pinned

    for test in (test for rule in ruleset.rules for test in rule.metadata.tests):
        if test.expected is None:
            continue
        pinned = parse_pinned(test.text)
        text = pinned[0] if pinned else test.text
        return excerpt(text, [Edit(0, len(text), text, test.expected)], width=_EXAMPLE)
    if ruleset.rules:
        return Text(print_rule(ruleset.rules[0]))
    return Text(print_template(ruleset.templates[0])) if ruleset.templates else Text()


def _print_rules(name: str, ruleset: Ruleset) -> None:
    from rich.text import Text

    from sears_dsl.language.printer import effect_lines, print_rule, print_template

    out = console()
    counts = [counted(len(ruleset.rules), "rule")]
    if ruleset.templates:
        counts.append(counted(len(ruleset.templates), "template"))
    version = "" if ruleset.version is None else f" {ruleset.version}"
    out.print(Text.assemble((name, "bold"), f"{version}, {', '.join(counts)}"))
    table = plain_table("id", "rule" if ruleset.rules else "template")
    for rule_id, rule in ruleset.named_rules:
        lines = [print_rule(rule), *(f"  {line}" for line in effect_lines(rule.metadata))]
        table.add_row(rule_id, "\n".join(lines))
    for template_id, template in ruleset.named_templates:
        lines = [print_template(template), f"  label: {template.metadata.label}"]
        table.add_row(template_id, "\n".join(lines))
    shown = [table] if table.row_count else []
    out.print(*shown, "")


def _write_pages(rulesets: dict[str, Ruleset], folder: Path) -> None:
    from sears_dsl.catalogue import ruleset_page
    from sears_dsl.runtime.files import is_there, make_folder, write_atomically

    make_folder(folder)
    readme, advice = folder / "README.md", "name another folder with --pages"
    try:
        is_index = not is_there(readme) or readme.read_bytes().startswith(_TITLE.encode())
    except OSError as error:
        raise DataError(f"{readme} could not be read: {error.strerror}", help=advice) from error
    if not is_index:
        raise UsageError(f"{readme} is not the index of such pages", help=advice)
    index = [_TITLE, "", "| ruleset | version | rules |", "|---|---|---|"]
    for name, ruleset in rulesets.items():
        file = name.replace("/", "-") + ".md"
        index.append(f"| [{name}]({file}) | {ruleset.version or '–'} | {len(ruleset.rules)} |")
        write_atomically(folder / file, ruleset_page(name, ruleset).encode("utf-8"))
    write_atomically(readme, ("\n".join(index) + "\n").encode("utf-8"))
    click.echo(f"{counted(len(rulesets) + 1, 'page')} in {folder}")
