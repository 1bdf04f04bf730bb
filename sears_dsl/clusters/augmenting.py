"""``sears augment`` over a folder: each part as one machine augments it, by whoever works.

In: rules and choices, a folder. Out: a folder of files, each with the rows of its part and the new
ones that rules make of them. Always holds: each file is what ``sears augment`` makes of its part,
byte for byte; a part that no rule changes is written as it is; what would count over all parts (so
many rows, ids that are numbers) is refused.
Costs the memory of a part and its new rows in each worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sears_dsl import __version__
from sears_dsl.batch.recipes import RulesetRecipe
from sears_dsl.data.batches import ReadOptions
from sears_dsl.data.dataset import format_of, write_columns
from sears_dsl.data.table import read_table
from sears_dsl.effects.oracle import Oracle
from sears_dsl.engine.matcher import Matcher, compile_rules
from sears_dsl.errors import DataError, UsageError
from sears_dsl.paraphrasing.rewording import sources_of
from sears_dsl.repair.running import AugmentationChoices, augment_table, columns_of
from sears_dsl.tagging.loading import load_tagger
from sears_dsl.vetting.oracle import open_oracle


@dataclass(slots=True)
class AugmentPart:
    """Augments one part.

    Attributes:
        recipe: the rules and the name of the tagger.
        choices: what a person chose.
        text: the column that rules rewrite; None for the one that can be meant.
        label: the column of labels; None for none.
        id_column: the column of ids; None for ``id`` where there is one.
        format_name: of the parts, where their names do not tell.
        oracle: what rejects rewrites, ``module:function`` or a journal; None keeps all.
    """

    recipe: RulesetRecipe
    choices: AugmentationChoices
    text: str | None = None
    label: str | None = None
    id_column: str | None = None
    format_name: str | None = None
    oracle: str | None = None
    _matcher: Matcher | None = field(default=None, repr=False)
    _opened: Oracle | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.choices.amount.rows is not None:
            raise UsageError(
                f"--amount {self.choices.amount} counts new rows of all parts, and each part is "
                "augmented by itself",
                help="write a share of the rows, such as 20%, or 2x, or all",
            )

    def identity(self) -> Mapping[str, Any]:
        """Rules, choices and versions."""
        own = {name: getattr(self, name) for name in ("text", "label", "id_column", "format_name")}
        chosen = {name: str(value) for name, value in asdict(self.choices).items()}
        rules = self.recipe.identity()
        return {
            "sears": __version__, "work": "augment", **rules, **own, **chosen, "oracle": self.oracle
        }  # fmt: skip

    def do(self, source: str, output: str) -> Mapping[str, Any]:
        """Augment a part; the record of it is what stands in a manifest otherwise."""
        table = read_table(source, format_name=self.format_name, options=ReadOptions())
        columns = columns_of(table, text=self.text, label=self.label, id_column=self.id_column)
        if columns.id is not None and all(
            isinstance(value, int) for value in table.columns[columns.id]
        ):
            raise DataError(
                f"the ids in column {columns.id} are numbers, and those of new rows would be the "
                "same in several parts",
                help="make them text, such as 7-1 for row 1 of part 7, or name another column with "
                "--id-column",
            )
        rulesets = self.recipe.rulesets
        if self._matcher is None:
            self._matcher = compile_rules(
                rulesets,
                tagger=load_tagger(self.recipe.tagger),
                sources=sources_of(rulesets),
                seed=self.choices.seed,
            )
            self._opened = None if self.oracle is None else open_oracle(self.oracle, rulesets)
        augmentation, record = augment_table(
            table, self._matcher, rulesets, columns=columns, tagger=self._matcher.tagger,
            choices=self.choices, oracle=self._opened, some=False,
        )  # fmt: skip
        columns_now = augmentation.written(only_new=self.choices.only_new)
        write_columns(columns_now, Path(output), format_of(output, reading=False))
        return record

    def columns(self, names: Sequence[str]) -> Iterable[str]:
        """All: every column is written."""
        return names

    def __reduce__(self) -> tuple[Any, ...]:
        own = (self.recipe, self.choices, self.text, self.label, self.id_column, self.format_name)
        return AugmentPart, (*own, self.oracle)  # compiled rules stay where they are
