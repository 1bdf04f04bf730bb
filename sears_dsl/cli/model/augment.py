"""``sears augment``: training data with the rewrites that accepted rules make of its rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.commands import ProjectArgument, ProjectCommand
from sears_dsl.cli.options import shared
from sears_dsl.cli.options.augmentation import (
    AugmentationOptions,
    augmentation_options,
)
from sears_dsl.cli.screen.console import console, echo_json, plain_table, rule_labels
from sears_dsl.errors import counted

if TYPE_CHECKING:
    from sears_dsl.clusters.parts import Workers
    from sears_dsl.repair.augmentation import AugmentedTable
    from sears_dsl.repair.running import AugmentationChoices


@dataclass(frozen=True, kw_only=True)
class AugmentOptions(AugmentationOptions, shared.EngineOptions):
    """The options of ``sears augment``."""

    output_format: str | None
    only_new: bool
    resume: bool

    def choices(self) -> AugmentationChoices:
        """The choices that decide the new rows."""
        from sears_dsl.repair.augmentation import Amount
        from sears_dsl.repair.running import AugmentationChoices

        return shared.chosen_as(
            AugmentationChoices, vars(self), protection=self.protection,
            amount=Amount.parse(self.amount),
        )  # fmt: skip


@click.command(
    "augment",
    cls=ProjectCommand,
    epilog="Example: sears augment accepted.sear train.csv -o augmented.csv --label label "
    "--amount 50%",
)
@click.argument(
    "rules_and_data", cls=ProjectArgument, nargs=-1, required=True, metavar="RULES... DATA"
)
@click.option("-o", "--output", "written", required=True, metavar="OUTPUT",
              help="The file to write, with a manifest beside it; for a folder, a new "
              "folder.")  # fmt: skip
@shared.output_format_option
@click.option("--only-new", is_flag=True, help="Write only the new rows.")
@click.option("--resume", is_flag=True, help="For a folder: continue an interrupted run.")
@shared.engine_options
@augmentation_options
def augment_command(rules_and_data: tuple[str, ...], written: str, **options: Any) -> None:
    """Add rewrites of its own rows to training data.

    The rows of DATA come first, as they are; then a row for each rewrite that was chosen, with the
    label of its source, or the one that the rule's `expect` makes of it. The columns source_row,
    source_rule and source_ruleset say where each row comes from. In a folder, each file is
    augmented by itself; --engine ray spreads the files over workers.
    """
    from sears_dsl.data.dataset import format_of, is_stream, with_delimiter, write_columns
    from sears_dsl.paraphrasing.for_rules import compile_with_sources
    from sears_dsl.repair.running import augment_table, columns_of
    from sears_dsl.runtime.files import write_atomically

    *rules, data = rules_and_data
    if not rules:
        raise click.UsageError("name rules and then data: sears augment RULES... DATA -o FILE")
    chosen = AugmentOptions(**options)
    shared.refuse_both_on_stdout(written, as_json=chosen.as_json, rows="rows")
    with shared.chosen_workers(chosen, data, output=written, limit=chosen.limit) as workers:
        if workers is not None:
            _augment_folder(rules, data, written, workers, chosen)
            return
    output = shared.FilePath().convert(written, None, None)
    # Nothing lies beside standard output or a device.
    manifests = [] if is_stream(written) else [_manifest_beside(output)]
    named = format_of(str(output), chosen.output_format, reading=False)
    choices = chosen.choices()
    recipe, tagger = chosen.recipe_and_tagger(rules)
    sources = (*rules_and_data, chosen.oracle)
    shared.refuse_overwriting((output, *manifests), sources=sources, rulesets=recipe.rulesets)
    matcher = compile_with_sources(recipe.rulesets, tagger=tagger, seed=chosen.seed)
    table = chosen.table(data)
    augmentation, record = augment_table(
        table, matcher, recipe.rulesets, tagger=tagger, choices=choices,
        columns=shared.chosen_as(columns_of, vars(chosen), table=table, text=chosen.column),
        oracle=chosen.oracle_for(recipe.rulesets),
    )  # fmt: skip
    form = named if chosen.output_format else with_delimiter(named, table.format)
    write_columns(augmentation.written(only_new=chosen.only_new), output, form)
    for manifest in manifests:
        text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
        write_atomically(manifest, text.encode())
    if chosen.as_json:
        echo_json(record)
    elif not chosen.quiet:
        labels = rule_labels(recipe.rulesets)
        files = ", ".join((str(output), *(each.name for each in manifests)))
        _print_augmented(augmentation, record, files, labels)


def _augment_folder(
    rules: Sequence[str], data: str, output: str, workers: Workers, chosen: AugmentOptions
) -> None:
    from sears_dsl.clusters.applying import AugmentPart
    from sears_dsl.clusters.parts import apply_to_parts
    from sears_dsl.repair.augmentation import REJECTED, all_left_out
    from sears_dsl.runtime.folders import Folder

    recipe, _ = chosen.recipe_and_tagger(rules)
    work = shared.chosen_as(
        AugmentPart, vars(chosen), recipe=recipe, choices=chosen.choices(), text=chosen.column,
        reading=shared.chosen_reading(vars(chosen)),
    )  # fmt: skip
    counts: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    files = 0
    for done, record in apply_to_parts(
        work, Folder(data), Folder(output), workers=workers,
        format_name=chosen.format_name, output_format=chosen.output_format,
        resume=chosen.resume,
    ):  # fmt: skip
        counts.update(record["rules"])
        left_out.update(record["left_out"])
        files = done
    if left_out[REJECTED] and not counts.total():
        raise all_left_out(data, left_out, oracle=chosen.oracle_for(recipe.rulesets))
    totals = {
        "parts": files, "added": counts.total(), "left_out": dict(left_out), "rules": dict(counts),
    }  # fmt: skip
    if chosen.as_json:
        echo_json(totals)
    elif not chosen.quiet:
        console(stderr=True).print(
            f"{counted(counts.total(), 'new row')} in {counted(files, 'file')} of {output}"
        )
        _print_left_out(left_out)


def _manifest_beside(output: Path) -> Path:
    """Return NAME.manifest.json beside NAME.csv or NAME.csv.gz, unless it is of something else."""
    from sears_dsl.data.streams import COMPRESSIONS
    from sears_dsl.runtime.files import parse_json

    plain = output.with_suffix("") if output.suffix in COMPRESSIONS else output
    manifest = plain.with_suffix(".manifest.json")
    try:
        known = parse_json(manifest.read_bytes())
    except FileNotFoundError:
        return manifest
    except (OSError, ValueError):
        known = None
    if not isinstance(known, dict) or known.get("format") != "sears-augmentation":
        raise click.UsageError(
            f"{manifest} exists and is not the manifest of an augmentation: give -o another name"
        )
    return manifest


def _print_augmented(
    data: AugmentedTable, record: Mapping[str, Any], written: str, labels: Mapping[str, str]
) -> None:
    out = console(stderr=True)
    most = sorted(data.of_rule.items(), key=lambda item: -item[1])[:12]
    rows = [(f"{count:,}", labels.get(name, name)) for name, count in most]
    out.print(plain_table("new rows", "rule", right=[0], rows=rows))
    if len(data.of_rule) > len(most):
        out.print(f"… and {counted(len(data.of_rule) - len(most), 'more rule')}")
    out.print(
        f"{counted(data.added, 'new row')} added to {len(data.table) - data.added:,}; "
        f"{data.relabelled:,} of the new rows have another label than their source"
    )
    if data.limit is not None and data.added < data.limit:
        out.print(f"{data.limit:,} were requested, but the rules make no more from these rows")
    _print_left_out(record["left_out"])
    for note in record["notes"]:
        out.print(f"note: {note}")
    out.print(f"written: {written}")


def _print_left_out(left_out: Mapping[str, int]) -> None:
    for reason, count in left_out.items():
        console(stderr=True).print(f"{counted(count, 'rewrite')} left out: {reason}")
