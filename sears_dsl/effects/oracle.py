"""The oracle of semantic robustness: it rejects rewrites before a model is asked about them.

    rewrites ──▶ a `TaskInstance` for each ──▶ keep or not ──▶ the rewrites that are kept

It judges rewrites of rows, or sentences of templates, and what it rejects is counted for each rule.
An oracle sees every rewrite before the model sees any. It is an error if it answers anything but
yes or no for each rewrite, or if it keeps none.

After E. La Malfa and M. Kwiatkowska, "The King is Naked" (AAAI 2022), definitions 3 and 4: an
oracle solves the task and rejects what is not an instance of it; a rule generates only what is
left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sears_dsl.data.labelled import LabelledRows
from sears_dsl.engine.rewrite.rewrites import Rewrites
from sears_dsl.errors import DataError, ModelError, UsageError
from sears_dsl.language.rule import Rule
from sears_dsl.models.objects import foreign_code, object_name, python_values


@dataclass(frozen=True, slots=True)
class TaskInstance:
    """A rewrite, or a labelled sentence of a template, which may be an instance of the task.

    Its row is column → text after the rewrite; the rule is the id of a rule or template. `expect`
    is what the rule expects of the label, or "" if the label should stay.
    """

    row: Mapping[str, str]
    original: str
    text: str
    rule: str
    label: str | None = None
    expect: str = ""


class Oracle(Protocol):
    """Says of rewrites whether they are instances of the task with the label that they expect."""

    @property
    def identity(self) -> str:
        """What it is, with its version."""

    def keeps(self, candidates: Sequence[TaskInstance]) -> Sequence[bool]:
        """For each rewrite whether it is kept."""


class FunctionOracle:
    """A user's function as an oracle; its answers are checked.

    The function takes a list of rewrites and says of each whether it is kept. A rewrite is a
    dictionary of the columns of its row after the rewrite, with ``original`` (the text before) and
    ``rule`` (the id of the rule) where no column has that name. ``identity`` defaults to its name.

    Example:
        >>> no_book = FunctionOracle(lambda rows: ["book" not in row["text"] for row in rows])
        >>> texts = ["A film.", "A book."]
        >>> no_book.keeps([TaskInstance({"text": text}, "A play.", text, "x") for text in texts])
        [True, False]
    """

    def __init__(self, function: object, *, identity: str | None = None) -> None:
        if isinstance(function, type) or not callable(function):
            raise UsageError(
                f"{object_name(function)} is not an oracle: it is not a function",
                help="pass a function of a list of rewrites that says for each whether to keep it",
            )
        self._function: Callable[[Sequence[Mapping[str, str]]], object] = function
        self.identity = identity or object_name(function)

    def keeps(self, candidates: Sequence[TaskInstance]) -> list[bool]:
        """For each rewrite whether it is kept."""
        items = [{"original": each.original, "rule": each.rule, **each.row} for each in candidates]
        advice = "it is called with a list of dictionaries from column to text"
        with foreign_code(f"the oracle {self.identity}", help=advice, passing=()):
            answers = python_values(self._function(items))

        def failure(gave: str) -> ModelError:
            advice = f"return true or false for each of them, {len(items):,} here"
            return ModelError(f"the oracle {self.identity} returned {gave}", help=advice)

        if not isinstance(answers, Sequence) or isinstance(answers, str | bytes):
            raise failure(f"{type(answers).__name__} for {len(items):,} texts")
        if len(answers) != len(items):
            raise failure(f"{len(answers):,} answers for {len(items):,} texts")
        for each in answers:
            if not isinstance(each, bool | np.bool_):
                raise failure(f"{each!r} for a text")
        return list(map(bool, answers))


class CountedOracle:
    """An oracle that counts what it rejects of each rule or template, by id."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self.identity = oracle.identity
        self.rejected: Counter[str] = Counter()

    def keeps(self, candidates: Sequence[TaskInstance]) -> Sequence[bool]:
        """For each rewrite or sentence whether it is kept."""
        answers = self._oracle.keeps(candidates)
        pairs = zip(candidates, answers, strict=True)
        self.rejected.update(each.rule for each, keep in pairs if not keep)
        return answers


def sentence_filter(oracle: Oracle) -> Callable[[Sequence[Mapping[str, str]]], Sequence[bool]]:
    """An oracle as a function that `generating.table.generate_table` calls on sentences."""
    return lambda rows: oracle.keeps(
        [TaskInstance(row, row["text"], row["text"], row["template"], row["label"]) for row in rows]
    )


def accepted_rewrites(
    rewrites: Rewrites,
    rules: Sequence[Rule],
    data: LabelledRows,
    oracle: Oracle,
    *,
    needed: bool = True,
) -> tuple[Rewrites, Counter[int]]:
    """The rewrites that an oracle keeps, and how many it rejects of each rule, by its position.

    `rules` are those that write them. Where some are `needed`, it is an error if it keeps none.
    """
    if not len(rewrites):
        return rewrites, Counter()
    ids, texts = rewrites.rule_ids, rewrites.texts
    rows = data.rewritten(rewrites.rows.tolist(), texts)
    columns = zip(rows, rewrites.originals, texts, rewrites.rules.tolist(), strict=True)
    expected = ["" if rule.keeps_label else str(rule.expectation) for rule in rules]
    candidates = [
        TaskInstance(row, old, new, ids[rule], expect=expected[rule])
        for row, old, new, rule in columns
    ]
    keep = np.array(oracle.keeps(candidates), np.bool_)
    if needed and not keep.any():
        raise DataError(
            f"the oracle {oracle.identity} rejects all {len(rewrites):,} rewrites, so there is "
            "nothing to ask the model about",
            help="it has to return true for a rewrite to keep, and false for one to reject",
        )
    return rewrites.select(np.flatnonzero(keep)), Counter(rewrites.rules[~keep].tolist())
