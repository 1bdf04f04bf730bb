"""Rules that workers apply: ``sears apply`` and ``augment`` over a folder, and audits.

In: a request for `apply_file` with folders for files, or rules and choices to augment with; for an
audit a matcher, and the recipe that makes it again elsewhere. Out: a folder and a report; or a
`Matcher` whose `apply` sends portions of the texts to workers. Always holds: each file is what the
command makes of its part, byte for byte, and the rewrites of portions are those of the matcher
alone, in its order; a worker compiles the rules once, and never asks a model; batches that a killed
worker had finished are not done again, if the parts lie on a disk that all workers reach.
``augment`` refuses what would count over all parts (a number of rows, ids that are numbers). It
costs the memory of a part and its new rows in each worker; portions cost a copy of the texts and of
the rewrites.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sears_dsl import __version__
from sears_dsl.batch.files import ApplyProgress, ApplyReport, ApplyRequest, apply_file
from sears_dsl.batch.plan import RuleTally, Tally
from sears_dsl.batch.workers import MatcherRecipe, RulesetRecipe
from sears_dsl.clusters.parts import Workers, apply_to_parts
from sears_dsl.data.batches import ReadOptions
from sears_dsl.data.dataset import format_of, with_delimiter, write_columns
from sears_dsl.data.table import Table, read_table
from sears_dsl.effects.oracle import Oracle
from sears_dsl.engine.matcher import Matcher
from sears_dsl.engine.matches import Scope, Unit
from sears_dsl.engine.rewrite.rewrites import RewriteColumns, Rewrites
from sears_dsl.errors import DataError, UsageError
from sears_dsl.paraphrasing.for_rules import RewordingRecipe
from sears_dsl.repair.augmentation import PROVENANCE
from sears_dsl.repair.running import AugmentationChoices, augment_table, columns_of
from sears_dsl.runtime.folders import Folder
from sears_dsl.vetting.journal_oracle import open_oracle

# Fields of a request that may differ between parts, and between two runs of one job.
_DECIDES_NOTHING = ("recipe", "input", "output", "jobs", "resume")
# Texts that a worker matches at a time.
_PORTION = 10_000

SpansOfRows: TypeAlias = Sequence[Sequence[tuple[int, int]]] | None


class CachedRecipe:
    """A recipe whose matcher is made once in a process, however many parts it is for."""

    def __init__(self, recipe: MatcherRecipe) -> None:
        self.recipe = recipe
        self.build = cache(recipe.build)
        self.identity = cache(recipe.identity)

    def __reduce__(self) -> tuple[Any, ...]:
        return CachedRecipe, (self.recipe,)  # compiled rules stay where they are


@dataclass(slots=True)
class ApplyPart:
    """Applies rules to one part; the input and output of the request are not used."""

    request: ApplyRequest

    def identity(self) -> Mapping[str, Any]:
        """Rules, options and versions."""
        recipe = self.request.recipe
        own = asdict(replace(self.request, recipe=None))  # type: ignore[arg-type]
        for name in _DECIDES_NOTHING:
            del own[name]
        return {"sears": __version__, "work": "apply", **recipe.identity(), **own}

    def do(self, source: str, output: str) -> Mapping[str, Any]:
        """Apply the rules, going on after the batches of a worker that was killed."""
        request = replace(self.request, input=source, output=output, resume=True)
        try:
            report = apply_file(request)
        except UsageError:
            # What is left there comes from a part that was another file then.
            report = apply_file(replace(request, resume=False))
        return {"rules": list(report.rules), "tally": report.tally.to_json()}

    def columns(self, names: Sequence[str]) -> Iterable[str]:
        """The columns that are written or read; all if the request does not name that of texts."""
        request = self.request
        if request.mode == "chain" or "all" in request.keep or not request.columns:
            return names
        spans = (name for spec in request.spans for name in spec.columns)
        ids = request.id_column or "id"
        return {ids, *request.columns, *request.protect, *request.keep, *spans}


def apply_folder(
    request: ApplyRequest,
    *,
    workers: Workers | None = None,
    progress: Callable[[ApplyProgress], object] | None = None,
) -> ApplyReport:
    """Apply rules to all parts of a folder."""
    started = time.monotonic()
    recipe = CachedRecipe(request.recipe)
    ids = recipe.build().rule_ids
    work = ApplyPart(replace(request, recipe=recipe))
    tally = Tally()
    for done, record in apply_to_parts(
        work,
        Folder(request.input),
        Folder(request.output),
        workers=workers or map,
        format_name=request.format,
        output_format=request.output_format,
        resume=request.resume,
    ):
        tally.add(Tally.from_json(record["tally"]))
        if progress is not None:
            seconds = time.monotonic() - started
            progress(ApplyProgress(tally.rows, tally.changed, done, seconds))
    rules = {rule: tally.rules.get(rule, RuleTally()) for rule in ids}
    return ApplyReport(tally, rules, time.monotonic() - started)


@dataclass(slots=True)
class AugmentPart:
    """Augments one part, as `sears.augment` does with these arguments."""

    recipe: RulesetRecipe
    choices: AugmentationChoices
    text: str | None = None
    label: str | None = None
    id_column: str | None = None
    format_name: str | None = None
    oracle: str | None = None
    reading: ReadOptions = field(default_factory=ReadOptions)
    _compiled: CachedRecipe = field(init=False, repr=False)
    _oracle: Oracle | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        if self.choices.amount.rows is not None:
            raise UsageError(
                f"--amount {self.choices.amount} is for the whole folder, but each file is "
                "augmented by itself",
                help="write a share of the rows, such as 20%, or 2x, or all",
            )
        rules, tagger = self.recipe.rulesets, self.recipe.tagger
        recipe = RewordingRecipe(rules, tagger=tagger, seed=self.choices.seed)
        self._compiled = CachedRecipe(recipe)

    def identity(self) -> Mapping[str, Any]:
        """Rules, choices and versions."""
        own = {name: getattr(self, name) for name in ("text", "label", "id_column", "format_name")}
        chosen = {name: str(value) for name, value in asdict(self.choices).items()}
        rules = self.recipe.identity()
        oracle = None if self.oracle is None else open_oracle(self.oracle, self.recipe.rulesets)
        reading = {"encoding": self.reading.encoding, "header": self.reading.header}
        return {
            "sears": __version__, "work": "augment", **rules, **own, **reading, **chosen,
            "oracle": None if oracle is None else oracle.identity,
        }  # fmt: skip

    def do(self, source: str, output: str) -> Mapping[str, Any]:
        """Augment a part; return the record that otherwise stands in a manifest."""
        table = read_table(
            source, format_name=self.format_name, options=self.reading, required=False
        )
        form = with_delimiter(format_of(output, reading=False), table.format)
        if not len(table):
            write_columns(_without_rows(table), Path(output), form)
            return {"rows": 0, "added": 0, "left_out": {}, "rules": {}}
        columns = columns_of(table, text=self.text, label=self.label, id_column=self.id_column)
        if columns.id is not None and all(
            isinstance(value, int) for value in table.columns[columns.id]
        ):
            raise DataError(
                f"the ids in column {columns.id} are numbers, so new rows in several files would "
                "get the same ids",
                help="make them text, such as 7-1 for row 1 of file 7, or choose another column "
                "with --id-column",
            )
        rulesets = self.recipe.rulesets
        matcher = self._compiled.build()
        if self.oracle is not None and self._oracle is None:
            self._oracle = open_oracle(self.oracle, rulesets)
        augmentation, record = augment_table(
            table, matcher, rulesets, columns=columns, tagger=matcher.tagger, choices=self.choices,
            oracle=self._oracle, required=False,
        )  # fmt: skip
        write_columns(augmentation.written(only_new=self.choices.only_new), Path(output), form)
        return record

    def columns(self, names: Sequence[str]) -> Iterable[str]:
        """All: every column is written."""
        return names


def _without_rows(table: Table) -> Mapping[str, Sequence[Any]]:
    """The columns of a table without rows, with those that augmentation adds."""
    added: dict[str, Sequence[Any]] = {name: [] for name in PROVENANCE} if table.columns else {}
    return replace(table, columns={**table.columns, **added}).columns_to_write


def _apply_portion(
    recipe: MatcherRecipe, portion: tuple[int, Sequence[str], SpansOfRows], **options: Any
) -> tuple[RewriteColumns, Counter[int]]:
    """Apply rules to a portion of texts, wherever it runs; the portion tells its first row."""
    first, texts, protected = portion
    rewrites = recipe.build().apply(texts, protected=protected, **options)
    rows = (rewrites.columns.rows + np.int32(first)).astype(np.int32)
    return replace(rewrites.columns, rows=rows), Counter(rewrites.unrenderable)


class RemoteMatcher(Matcher):
    """A matcher whose texts go to workers.

    Example:
        >>> from sears_dsl.batch.workers import RulesetRecipe
        >>> from sears_dsl.language.loader import parse
        >>> recipe = RulesetRecipe((parse("movie -> film"),), tagger="pinned")
        >>> remote = RemoteMatcher(recipe.build(), recipe, map, portion=1)
        >>> [(each.row, each.text) for each in remote.apply(["It is.", "A movie!"])]
        [(1, 'A film!')]
    """

    def __init__(
        self, matcher: Matcher, recipe: MatcherRecipe, workers: Workers, *, portion: int = _PORTION
    ) -> None:
        self.__dict__.update(matcher.__dict__)
        self._recipe = CachedRecipe(recipe)
        self._workers = workers
        self._portion = portion

    def apply(
        self,
        texts: Sequence[str],
        *,
        scope: Scope = "first",
        protected: SpansOfRows = None,
        jobs: int = 1,
        prefilter: bool = True,
        unit: Unit | None = None,
        seed: int = 0,
        draw: int = 0,
    ) -> Rewrites:
        """Apply every rule by itself to every text, as `Matcher.apply` does."""
        if seed:
            raise UsageError(
                "workers draw by the seed that they were built with",
                help="pass the seed to the recipe",
            )
        size = self._portion
        portions = [
            (first, texts[first : first + size],
             None if protected is None else protected[first : first + size])
            for first in range(0, len(texts), size)
        ]  # fmt: skip
        work = partial(_apply_portion, self._recipe, scope=scope, unit=unit, draw=draw)
        parts = list(self._workers(work, portions))
        if len(parts) < len(portions):
            raise DataError(
                f"{len(portions) - len(parts)} of {len(portions)} portions of the rows are "
                "lost: every worker that had them died",
                help="try fewer rows with --limit, or workers with more memory",
            )
        unrenderable: Counter[int] = Counter()
        for _, of_part in parts:
            unrenderable.update(of_part)
        columns = RewriteColumns.merged([of_part for of_part, _ in parts])
        return Rewrites(columns, rule_ids=lambda: self.rule_ids, unrenderable=unrenderable)
