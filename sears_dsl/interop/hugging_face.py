"""Rules for Hugging Face's ``Dataset.map``, and the flip rate as a metric like those of evaluate.

In: batches of rows; labels and answers. Out: batches; numbers. Always holds: `RowRewriter` can be
pickled, so that ``map`` can run it in several processes and finds the results of an unchanged one
in its cache; neither package is imported. Costs one run of the engine per batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from sears_dsl.answers import label_text
from sears_dsl.catalogue import load_rulesets
from sears_dsl.engine.matcher import Matcher
from sears_dsl.errors import DataError, UsageError
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.paraphrasing.for_rules import compile_with_sources
from sears_dsl.statistics import wilson_interval

CHANGED = "changed"
"""The column that says whether a row was rewritten."""


class RowRewriter:
    """Applies all rules to each row in turn: a function for ``dataset.map(…, batched=True)``.

    Args:
        rules: a ruleset, a rule file, a folder or the name of a shipped ruleset.
        column: the column of texts; other columns stay as they are.
        seed: of what rules draw at random.

    Raises:
        RuleSyntaxError: a rule file with errors.
        UsageError: a name that stands for no rules, or a column named `changed`.

    Example:
        >>> import sears_dsl as sears
        >>> rewriter = RowRewriter(sears.parse("movie -> film"), column="review")
        >>> rewriter({"review": ["A movie.", "A play."], "label": [1, 0]})
        {'review': ['A film.', 'A play.'], 'changed': [True, False]}
    """

    def __init__(self, rules: Ruleset | str | Path, *, column: str = "text", seed: int = 0) -> None:
        if column == CHANGED:
            raise UsageError(
                f"the texts are in the column {CHANGED!r}, which says whether a row was rewritten",
                help=f"rename it first: dataset.rename_column({CHANGED!r}, …)",
            )
        self._rulesets = [rules] if isinstance(rules, Ruleset) else load_rulesets([str(rules)])
        self._column = column
        self._seed = seed
        self._matcher: Matcher | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what a use of the rules adds: the cache has to recognize them afterwards."""
        unused = [replace(each) for each in self._rulesets]
        return {**self.__dict__, "_rulesets": unused, "_matcher": None}

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Return the texts of a batch after the rules, and whether each was changed.

        Raises:
            DataError: the column is missing, or holds a value that is not text.
        """
        if not isinstance(batch, Mapping):
            raise DataError(
                f"a batch is a {type(batch).__name__}, not columns of Python's own values, and map "
                "leaves out all other columns of such a batch",
                help="map rows without a format: dataset.with_format(None).map(…)",
            )
        texts = batch.get(self._column)
        if texts is None:
            raise DataError(
                f"the rows have no column {self._column!r}; their columns are {', '.join(batch)}",
                help="name one of them: RowRewriter(rules, column=…)",
            )
        if CHANGED in batch:
            raise DataError(
                f"the rows have a column {CHANGED!r} already, which would be overwritten",
                help=f"rename or remove it first: dataset.remove_columns({CHANGED!r}); also that "
                "of another RowRewriter, which nothing tells from a column of the data",
            )
        if isinstance(texts, str):
            raise DataError(
                f"{self._column!r} is a single text, not the texts of a batch",
                help="map whole batches: dataset.map(rewriter, batched=True)",
            )
        if strange := [each for each in texts if not isinstance(each, str)]:
            raise DataError(
                f"a row has {strange[0]!r:.80} as {self._column!r}, which is not text",
                help="leave such rows out first: dataset.filter(…)",
            )
        if self._matcher is None:
            self._matcher = compile_with_sources(self._rulesets)
        rewritten = list(self._matcher.chain(list(texts), seed=self._seed).texts)
        changed = [new != old for new, old in zip(rewritten, texts, strict=True)]
        return {self._column: rewritten, CHANGED: changed}


def _labels(values: object, *, argument: str, answers: bool) -> list[str]:
    """The text of labels, or of answers, which may be empty: such an answer is wrong."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise UsageError(
            f"{argument}={values!r:.60} is not a list",
            help="give references, predictions and rewritten: one of each for every row",
        )
    labels = []
    for value in values:
        # A number of NumPy or torch has no dimension.
        single = value.item() if getattr(value, "ndim", None) == 0 else value
        label = label_text(single)
        if label is None or not (label or answers):
            raise DataError(
                f"{argument}: {value!r:.80} is not a label",
                help="labels are text, whole numbers or booleans",
            )
        labels.append(label)
    return labels


class FlipRate:
    """How often right answers are wrong after a rewrite; it has the methods of evaluate's metrics.

    Example:
        >>> metric = FlipRate()
        >>> metric.add_batch(references=[1, 1, 0], predictions=[1, 1, 1], rewritten=[0, 1, 0])
        >>> metric.compute()["flip_rate"], metric.compute(
        ...     references=[1], predictions=[1], rewritten=[0])["flips"]
        (0.5, 1)
    """

    name = "flip_rate"

    def __init__(self) -> None:
        self._rows: list[tuple[str, str, str]] = []

    def add(self, *, reference: Any, prediction: Any, rewritten: Any) -> None:
        """Add one row: its label, the answer to it, and the answer to its rewrite."""
        self.add_batch(references=[reference], predictions=[prediction], rewritten=[rewritten])

    def add_batch(
        self, *, references: Sequence[Any], predictions: Sequence[Any], rewritten: Sequence[Any]
    ) -> None:
        """Add several rows.

        Labels are compared as in an audit: 1 and "1" are the same, and an empty answer is wrong.

        Raises:
            UsageError: no lists, or lists of different lengths; then no row is added.
            DataError: a value that is not a label; likewise.
        """
        gold = _labels(references, argument="references", answers=False)
        before = _labels(predictions, argument="predictions", answers=True)
        after = _labels(rewritten, argument="rewritten", answers=True)
        if not len(gold) == len(before) == len(after):
            raise UsageError(
                f"there are {len(gold)} references, {len(before)} predictions and "
                f"{len(after)} predictions on rewrites",
                help="give one of each for every row",
            )
        self._rows += zip(gold, before, after, strict=True)

    def compute(
        self,
        *,
        references: Sequence[Any] | None = None,
        predictions: Sequence[Any] | None = None,
        rewritten: Sequence[Any] | None = None,
    ) -> dict[str, float | int | None]:
        """Return the rate over the rows added before and those given here, and forget them all.

        Returns:
            ``flip_rate`` (None if no row is right), ``flips``, ``right``, and ``low`` and ``high``
            of Wilson's 95% interval.

        Raises:
            UsageError: lists of different lengths, or only some of the three.
            DataError: a value that is not a label.
        """
        if any(each is not None for each in (references, predictions, rewritten)):
            batch = {"references": references, "predictions": predictions, "rewritten": rewritten}
            self.add_batch(**cast(dict[str, Sequence[Any]], batch))
        rows, self._rows = self._rows, []
        right = [(gold, after) for gold, before, after in rows if before == gold]
        flips = sum(after != gold for gold, after in right)
        low, high = (float(end) for end in wilson_interval(flips, len(right)))
        return {
            self.name: flips / len(right) if right else None,
            "flips": flips,
            "right": len(right),
            "low": low,
            "high": high,
        }
