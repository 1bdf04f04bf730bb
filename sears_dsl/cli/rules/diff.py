"""``sears diff``: what changed between two versions of a ruleset, in the rules and on data."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.options import shared
from sears_dsl.cli.screen.console import console, echo_json, rule_labels
from sears_dsl.defaults import DEFAULT_TAGGER
from sears_dsl.errors import SearsError, UsageError, counted, printable
from sears_dsl.runtime.files import is_there

if TYPE_CHECKING:
    from sears_dsl.language.diff import Compared, RulesetDiff
    from sears_dsl.language.ruleset import Ruleset


@click.command(
    "diff", epilog="Example: sears diff v1.2:rules/wh.sear rules/wh.sear --on questions.csv"
)
@click.argument("old")
@click.argument("new")
@click.option("--on", "data", help="A dataset; also show which rows are rewritten differently.")
@shared.column_option(f"The text column of the dataset; {shared.COLUMN_BY_DEFAULT}.", several=False)
@click.option("--format", "format_name", help="Its format, if the name does not show it.")
@shared.reading_options
@click.option("--limit", type=click.IntRange(min=1), default=20, help="Show at most this many.")
@click.option(
    "--tagger", default=DEFAULT_TAGGER, help=f"The tagger of the dataset: {shared.TAGGERS}"
)
@click.option("--exit-code", is_flag=True, help="Exit 1 if there are differences.")
@shared.json_option("Print the differences as JSON.")
@shared.imports_option
def diff_command(old: str, new: str, *, data: str | None, **options: Any) -> None:
    """Compare two versions of a ruleset: rules and templates added, removed, changed, renamed.

    OLD and NEW are files, or git revisions of files such as v1.2:rules/wh.sear.
    """
    from sears_dsl.language.diff import diff_rulesets

    outside = options["allow_imports_outside"]
    with _version(old, outside) as before, _version(new, outside) as after:
        difference = diff_rulesets(before, after)
        rows = []
        if data is not None:
            renamed = {change.old_id: change.new_id for change in difference.renamed}
            rows = _row_differences(before, after, data, renamed, options)
    if options["as_json"]:
        echo_json({**_as_dict(difference), "rows": rows})
    else:
        _print(difference)
        if data is not None:
            _print_rows(rows, options["limit"], labels=rule_labels([before]) | rule_labels([after]))
    if options["exit_code"] and (rows or difference):
        sys.exit(1)


@contextmanager
def _version(name: str, allow_imports_outside: bool) -> Iterator[Ruleset]:
    """Yield the ruleset that a file name or ``revision:path`` stands for."""
    from sears_dsl.catalogue import find_rule_files
    from sears_dsl.language.loader import load

    revision, colon, path = name.partition(":")
    if not colon or is_there(name):
        files = find_rule_files([name])
        if len(files) != 1:
            raise UsageError(f"{name} stands for {len(files)} files", help="name one file")
        yield load(files[0], allow_imports_outside=allow_imports_outside)
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            yield _check_out(revision, path, Path(folder), allow_imports_outside)
        except SearsError as error:
            for place in (folder, os.path.relpath(folder)):
                error.message = error.message.replace(f"{place}{os.sep}", f"{revision}:")
            raise


def _check_out(revision: str, path: str, folder: Path, allow_imports_outside: bool) -> Ruleset:
    """Load a ruleset of the revision, from a folder into which what it needs is written.

    That is all rule files, since it may import others, and then the vectors that these name.
    """
    from sears_dsl.language.loader import load, with_imports

    top = _git("rev-parse", "--show-toplevel").decode().strip()
    inside = (Path.cwd() / path).resolve()
    try:
        inner_path = inside.relative_to(Path(top).resolve()).as_posix()
    except ValueError as error:
        raise UsageError(
            f"{path} is not in the git repository {top}", help="name a path inside it"
        ) from error
    if revision.startswith("-"):
        raise UsageError(f"{revision} is not a git revision", help="name it as REVISION:PATH")
    listing = _git("ls-tree", "-r", "-z", "--name-only", "--full-tree", revision)
    names = [name for name in listing.decode("utf-8", "replace").split("\0") if name]
    if inner_path not in names:
        raise UsageError(
            f"there is no {inner_path} in git revision {revision}",
            help=f"`git ls-tree -r --name-only {revision}` lists its files",
        )

    def write(name: str) -> None:
        target = folder / name
        # A repository that was made by hand may hold any names.
        if not target.resolve().is_relative_to(folder.resolve()):
            raise UsageError(
                f"git revision {revision} contains a file named {name!r}",
                help="git itself makes no such name: check where the repository comes from",
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_git("cat-file", "blob", f"{revision}:{name}"))

    for name in names:
        if name == inner_path or name.endswith(".sear"):
            write(name)
    ruleset = load(folder / inner_path, allow_imports_outside=allow_imports_outside)
    for each in with_imports([ruleset]):
        vectors = Path(os.path.relpath(each.folder / (each.options.vectors or ""), folder))
        if vectors.as_posix() in names:
            write(vectors.as_posix())
    return ruleset


def _git(*arguments: str) -> bytes:
    try:
        # Run and fetch nothing that the repository's configuration asks for.
        process = subprocess.run(  # noqa: S603 - the user's own git, fixed verbs
            ["git", "-c", "core.fsmonitor=false", *arguments],  # noqa: S607
            capture_output=True,
            check=False,
            env={**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"},
        )
    except FileNotFoundError as error:
        raise UsageError("git is not installed", help="compare two files instead") from error
    if process.returncode:
        message = process.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise UsageError(f"git {arguments[0]}: {message}", help="compare two files instead")
    return process.stdout


def _row_differences(
    old: Ruleset, new: Ruleset, data: str, renamed: Mapping[str, str], options: Mapping[str, Any]
) -> list[dict[str, object]]:
    """Return the rows that the versions rewrite differently, with the id of the rule in the new."""
    from sears_dsl.batch.provenance import tagger_in_language
    from sears_dsl.data.dataset import Dataset, default_column, require_column
    from sears_dsl.paraphrasing.for_rules import compile_with_sources
    from sears_dsl.tagging.cache import TagCache
    from sears_dsl.tagging.tagger import load_tagger, needs_cache

    differences: list[dict[str, object]] = []
    tagger = tagger_in_language(options["tagger"], [new])
    with TagCache() if needs_cache(tagger) else nullcontext() as cache:
        chosen = load_tagger(tagger, cache=cache)
        matchers = [compile_with_sources([each], tagger=chosen) for each in (old, new)]
        reading = shared.chosen_reading(options)
        dataset = Dataset(data, format_name=options["format_name"], options=reading)
        name = options["column"] or default_column(dataset.first, where=data)
        require_column(dataset.names, name, where=data)
        old_ids = tuple(renamed.get(rule, rule) for rule in matchers[0].rule_ids)
        names = (old_ids, matchers[1].rule_ids)
        for batch in dataset.batches():
            values = batch.columns[name]
            texts = [value if isinstance(value, str) else "" for value in values]
            before, after = (
                {(each.row, ids[each.rule]): each.text for each in matcher.apply(texts)}
                for matcher, ids in zip(matchers, names, strict=True)
            )
            for row, rule in sorted(before.keys() | after.keys()):
                was, now = before.get((row, rule)), after.get((row, rule))
                if was != now:
                    differences.append(
                        {
                            "row": batch.row_number(row),
                            "rule": rule,
                            "original": texts[row],
                            "old": was,
                            "new": now,
                        }
                    )
    return differences


def _as_dict(difference: RulesetDiff) -> dict[str, object]:
    from sears_dsl.language.diff import print_body

    return {
        "added": [{"id": name, **_written(node)} for name, node in difference.added],
        "removed": [{"id": name, **_written(node)} for name, node in difference.removed],
        "changed": [
            {
                "id": change.new_id,
                "parts": list(change.parts),
                "old": print_body(change.old),
                "new": print_body(change.new),
            }
            for change in difference.changed
        ],
        "renamed": [
            {"old": change.old_id, "new": change.new_id, **_written(change.new)}
            for change in difference.renamed
        ],
        "options": [list(option) for option in difference.options],
        "sets": list(difference.sets),
    }


def _written(node: Compared) -> dict[str, str | None]:
    """A rule, or a template with its label."""
    from sears_dsl.language.diff import print_body
    from sears_dsl.language.rule import Template

    if isinstance(node, Template):
        return {"template": print_body(node), "label": node.metadata.label}
    return {"rule": print_body(node)}


def _shown(node: Compared) -> str:
    written = _written(node)
    return written.get("rule") or f"{written['template']} → {written['label']}"


def _print(difference: RulesetDiff) -> None:
    out = console()
    for name, was, now in difference.options:
        out.print(f"option {name}: {was} → {now}")
    for name in difference.sets:
        out.print(f"set {name} changed")
    for sign, nodes, style in (("-", difference.removed, "red"), ("+", difference.added, "green")):
        for name, node in nodes:
            title = "" if node.name is None else f"{name}: "
            out.print(f"{sign} {title}{_shown(node)}", style=style)
    for change in difference.changed:
        out.print(f"~ {change.new_id}: {', '.join(change.parts)} changed", style="yellow")
        if not {"rule", "template", "label"}.isdisjoint(change.parts):
            out.print(f"    - {_shown(change.old)}", style="red")
            out.print(f"    + {_shown(change.new)}", style="green")
    for change in difference.renamed:
        out.print(f"= {change.old_id} → {change.new_id}: {_shown(change.new)}")
    out.print(
        f"{len(difference.added):,} added, {len(difference.removed):,} removed, "
        f"{len(difference.changed):,} changed, {len(difference.renamed):,} renamed"
    )


def _print_rows(rows: list[dict[str, object]], limit: int, *, labels: Mapping[str, str]) -> None:
    from sears_dsl.engine.rewrite.rewrites import with_code_points

    out = console()
    for each in rows[:limit]:
        out.print(f"\nrow {each['row']}, {labels[str(each['rule'])]}", style="bold")
        out.print(f"    {printable(str(each['original']))}")
        for sign, side, style in (("-", "old", "red"), ("+", "new", "green")):
            original, became = str(each["original"]), each[side]
            text = "(unchanged)" if became is None else with_code_points(original, str(became))
            out.print(f"  {sign} {printable(text)}", style=style)
    if len(rows) > limit:
        out.print(f"\n… and {counted(len(rows) - limit, 'more rewrite')}")
    out.print(f"{counted(len(rows), 'rewrite differs', 'rewrites differ')} on the data")
