"""``sears.generate``: the sentences of templates, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, get_args

from sears_dsl.api.arguments import (
    AnyOracle,
    AnyRules,
    in_python,
    one_of,
    remark,
    rulesets_of,
    whole_numbers,
)
from sears_dsl.api.results import TableResult, draw_bars
from sears_dsl.errors import check_whole_number, counted
from sears_dsl.language.words import LARGEST_SEED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sears_dsl.generating.table import By, GeneratedTable, TemplateCount


@dataclass(eq=False, repr=False)
class GenerationResult(TableResult):
    """Labelled sentences of templates, in a table with the counts."""

    table: GeneratedTable

    @cached_property
    def columns(self) -> Mapping[str, Sequence[str]]:
        """One row per sentence: text, label, template, and a column for each slot."""
        return {name: list(column) for name, column in self.table.columns.items()}

    @property
    def templates(self) -> tuple[TemplateCount, ...]:
        """How many sentences each template has, and how many of them are here."""
        return self.table.templates

    @property
    def summary(self) -> str:
        """How many sentences there are of each label."""
        labels = ", ".join(f"{label} {count:,}" for label, count in self.table.labels.most_common())
        templates = counted(len(self.templates), "template")
        return f"{counted(len(self), 'sentence')} of {templates} ({labels})"

    def plot(self, axes: Axes | None = None) -> Axes:
        """The share of the sentences that come from each template."""
        shares = [each.written / max(1, len(self)) for each in self.templates]
        return draw_bars(
            axes,
            [each.name for each in self.templates],
            shares,
            [(each, each) for each in shares],
            title="sentences of each template",
        )


def generate(
    rules: AnyRules,
    *,
    limit: int | None = None,
    by: By = "template",
    seed: int = 0,
    oracle: AnyOracle | None = None,
) -> GenerationResult:
    r"""Generate the sentences of templates.

    Args:
        rules: rulesets with templates, or files or names of them; their rules are ignored.
        limit: most sentences; None for all. A smaller limit gives the first of a larger one.
        by: which sentences a limit leaves: equally many of each ``template``, or each ``sentence``
            with the same chance.
        seed: of that draw.
        oracle: what rejects sentences, as `audit` takes it.

    Raises:
        UsageError: there is no template.
        RuleSyntaxError: findings in a file.
        ModelError: the oracle fails.
        DataError: the oracle rejects everything.

    Example:
        >>> import sears_dsl as sears
        >>> rules = sears.parse('set GOOD = good | nice\n'
        ...                     'template fine: "A {GOOD} film."\n  label: positive')
        >>> sentences = sears.generate(rules)
        >>> sentences
        <GenerationResult: 2 sentences of 1 template (positive 2)>
        >>> sentences.columns["text"]
        ['A good film.', 'A nice film.']
    """
    from sears_dsl.generating.table import By, generate_table

    with in_python():
        whole_numbers(1, limit=limit)
        check_whole_number(seed, name="seed", least=0, most=LARGEST_SEED)
        one_of(get_args(By), by=by)
        rulesets = rulesets_of(rules)
        keep = None
        if oracle is not None:
            from sears_dsl.effects.oracle import sentence_filter
            from sears_dsl.vetting.journal_oracle import open_oracle

            keep = sentence_filter(open_oracle(oracle, rulesets))
        table = generate_table(rulesets, limit=limit, by=by, seed=seed, keep=keep)
        if table.note_on_labels:
            remark(table.note_on_labels)
        return GenerationResult(table)
