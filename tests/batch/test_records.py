"""Records as columns, in each mode, hold what the rewrites say one by one."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from word_matcher import WordMatcher

from sears_dsl.batch.mode_each import rewrite_each
from sears_dsl.batch.plan import Plan, Tally
from sears_dsl.data.batches import Batch, JsonColumn
from sears_dsl.engine.rewrite.rewrites import Rewrites

RULES = {"film": ("movie", "film"), "odd": ("x", 'say "é"'), "which": ("What", "Which")}
TEXT = st.lists(st.sampled_from(["movie", "What", "x", "it", '"', "é"]), max_size=6).map(" ".join)
COLUMN = st.lists(st.none() | TEXT, min_size=4, max_size=4)


class Arrays(WordMatcher):
    """Gives its rewrites as the engine does."""

    def apply(self, texts: Any, **options: Any) -> Any:
        found = super().apply(texts, **options)
        return Rewrites(found, rule_ids=self.rule_ids, unrenderable={1: 2})


def plainly(
    rows: list[tuple[str | None, str | None]], scope: str
) -> tuple[list[dict[str, Any]], Tally]:
    """Make the records plainly: row by row, column by column, rule by rule."""
    matcher = WordMatcher(RULES)
    tally = Tally(rows=len(rows))
    tally.of("odd").unrenderable = 4
    records = []
    for number, row in enumerate(rows, start=1):
        seen = set()
        for name, text in zip("ab", row, strict=True):
            tally.characters += len(text or "")
            tally.missing += text is None
            for rewrite in matcher.apply([text], scope=scope) if text is not None else ():
                rule = matcher.rule_ids[rewrite.rule]
                records.append(
                    {
                        "id": str(number),
                        "rule": rule,
                        "column": name,
                        "original": text,
                        "rewritten": rewrite.text,
                        "edits": [list(edit) for edit in rewrite.edits],
                    }
                )
                tally.of(rule).count(rewrite.original, rewrite.text, rewrite.edits)
                tally.of(rule).rows += rule not in seen
                seen.add(rule)
        tally.changed += bool(seen)
    tally.records = len(records)
    return records, tally


@settings(max_examples=100, deadline=None)
@given(first=COLUMN, second=COLUMN, scope=st.sampled_from(["first", "all"]))
def test_columns_hold_what_was_found_row_by_row(
    first: list[str | None], second: list[str | None], scope: Any
) -> None:
    batch = Batch(0, 4, {"a": first, "b": second})
    done = rewrite_each(Arrays(RULES), batch, Plan(columns=("a", "b"), scope=scope))
    columns = done.columns
    records, expected = plainly(list(zip(first, second, strict=True)), scope)
    rows = zip(*columns.values(), strict=True)
    assert [dict(zip(columns, row, strict=True)) for row in rows] == records
    assert [str(row + 1) for row in done.rows.tolist()] == list(columns["id"])
    assert done.tally == expected
    edits = columns["edits"]
    assert isinstance(edits, JsonColumn)
    assert list(map(json.loads, edits.json_texts())) == list(edits)
    assert [edits[place] for place in range(len(edits))] == list(edits) == edits[:]


def test_one_column_is_not_named() -> None:
    done = rewrite_each(Arrays(RULES), Batch(7, 1, {"a": ["movie"]}), Plan(columns=("a",)))
    assert list(done.columns) == ["id", "rule", "original", "rewritten", "edits"]
    assert (list(done.columns["id"]), done.tally.records) == (["8"], 1)
