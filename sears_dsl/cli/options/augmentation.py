"""The options that ``sears augment`` and ``sears fix`` share, and what they mean.

Nothing heavy is imported before the command runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from sears_dsl.cli.options import shared
from sears_dsl.cli.options.model import TextOptions, protection_options
from sears_dsl.cli.screen.console import tell_of_templates

if TYPE_CHECKING:
    from sears_dsl.batch.workers import RulesetRecipe
    from sears_dsl.data.table import Table
    from sears_dsl.effects.oracle import Oracle
    from sears_dsl.engine.matches import Scope, Unit
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.tagging.tagger import Tagger

augmentation_options = shared.with_options(
    shared.imports_option,
    shared.column_option(f"The column that rules rewrite; {shared.COLUMN_BY_DEFAULT}."),
    click.option("--label", help="The column of labels."),
    protection_options,
    click.option("--amount", default="all",
                 help="How many new rows: 20% of the rows, 2x their number, 500, or all rewrites."),
    click.option("--balance/--no-balance", "balanced", default=True,
                 help="Whether the rules take turns when not all of their rewrites are added."),
    click.option("--seed", type=int, default=0, help="The seed of all that is drawn at random."),
    shared.oracle_option,
    shared.scope_option,
    shared.unit_option,
    shared.id_option,
    click.option("--format", "format_name",
                 help="The format of the rows, if a file name does not show it."),
    shared.reading_options,
    click.option("--limit", type=click.IntRange(min=1),
                 help="Read at most this many of the rows to rewrite."),
    shared.tagger_of_rules_option,
    shared.no_cache_option,
    shared.quiet_option,
    shared.json_option("Print the result as JSON."),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class AugmentationOptions(TextOptions):
    """The options of both commands, under the names of their parameters."""

    allow_imports_outside: bool
    amount: str
    balanced: bool
    oracle: str | None
    scope: Scope
    unit: Unit | None
    id_column: str | None
    tagger: str | None
    no_cache: bool
    quiet: bool
    as_json: bool

    def table(self, path: str) -> Table:
        """The rows of a file, with all of their columns."""
        from sears_dsl.data.table import read_table

        reading = shared.chosen_reading(vars(self), limit=self.limit)
        return read_table(path, format_name=self.format_name, options=reading)

    def oracle_for(self, rulesets: Sequence[Ruleset]) -> Oracle | None:
        """Return what rejects rewrites; None if the user chose nothing."""
        from sears_dsl.vetting.journal_oracle import open_oracle

        return None if self.oracle is None else open_oracle(self.oracle, rulesets)

    def recipe_and_tagger(self, rules: Sequence[str]) -> tuple[RulesetRecipe, Tagger]:
        """The rules, and the tagger with its cache."""
        from sears_dsl.batch.workers import RulesetRecipe
        from sears_dsl.catalogue import load_rulesets, require_together
        from sears_dsl.repair.augmentation import require_rules
        from sears_dsl.tagging.cache import TagCache
        from sears_dsl.tagging.tagger import load_tagger, needs_cache

        rulesets = tuple(load_rulesets(rules, allow_imports_outside=self.allow_imports_outside))
        require_together(rulesets, rules, unit=self.unit, advice=shared.with_other_rules)
        name = shared.chosen_tagger(rulesets, self.tagger, quiet=self.quiet)
        require_rules(rulesets)
        tell_of_templates(rulesets, quiet=self.quiet)
        cache = None if self.no_cache or not needs_cache(name) else TagCache(None)
        return RulesetRecipe(rulesets, tagger=name), load_tagger(name, cache=cache)
