"""The rows that accepted rules add to a table, with their labels, ids and provenance."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.data.table import Table
from sears_dsl.engine.matcher import Matcher
from sears_dsl.errors import DataError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.repair.augmentation import (
    REJECTED,
    TOUCHED,
    Amount,
    Expansion,
    TableColumns,
    augment,
    duplicate,
    expand,
)
from sears_dsl.tagging.pinned import PinnedTagger

COLUMNS = TableColumns(text="text", label="label")
RULES = """\
rule film: movie -> film
rule great: good -> great
rule not: is -> is not
  expect: flip
rule terrible: fun -> terrible
  expect: label negative
"""


def compiled(rules: str) -> Matcher:
    return parse(rules).compile(tagger=PinnedTagger())


def table(**columns: list[Any]) -> Table:
    return Table(columns, "train.csv", "csv")


def made(rules: str, rows: Table) -> Expansion:
    return expand(compiled(rules), rows.texts("text"), labels=rows.labels("label"))


def new_rows(rows: Table, rules: str = RULES, **options: Any) -> list[tuple[Any, ...]]:
    options.setdefault("columns", COLUMNS)
    done = augment(rows, made(rules, rows), **options)
    return list(zip(*done.table.columns.values(), strict=True))[len(rows) :]


def test_labels_are_kept_flipped_or_set_as_the_rule_expects() -> None:
    rows = table(
        text=["a good movie", "it is fun", "a bore"], label=["positive", "positive", "negative"]
    )
    assert new_rows(rows) == [
        ("a good film", "positive"),
        ("a great movie", "positive"),
        ("it is not fun", "negative"),
        ("it is terrible", "negative"),
    ]


def test_labels_keep_the_type_of_their_column() -> None:
    rows = table(text=["it is fun", "a bore"], label=[1, 0])
    assert new_rows(rows, "is -> is not\n  expect: flip") == [("it is not fun", 0)]
    for label in ("0", "0.0"):
        rules = f"fun -> dull\n  expect: label {label}"
        assert new_rows(rows, rules) == [("it is dull", 0)]


def test_a_flip_among_three_labels_is_left_out_and_counted() -> None:
    rows = table(text=["it is fun", "a movie", "it"], label=["a", "b", "c"])
    found = made(RULES.replace("label negative", "same"), rows)
    assert [each.text for each in found.rewrites] == ["it is terrible", "a film"]
    assert list(found.left_out.values()) == [1]
    assert "more than two" in next(iter(found.left_out))


def test_where_all_rows_have_one_label_there_is_no_other_to_flip_to() -> None:
    found = made("is -> is not\n  expect: flip", table(text=["it is fun"], label=["a"]))
    assert list(found.left_out) == ["the rule flips the label and all rows have the same"]


def test_a_row_without_a_label_has_nothing_to_flip() -> None:
    rows = table(text=["it is", "a", "b"], label=["", "x", "y"])
    found = made("is -> is not\n  expect: flip", rows)
    assert not found.rewrites
    with pytest.raises(DataError, match="the row has none"):
        found.require_some("train.csv")


def test_rules_that_contradict_each_other_about_a_text_add_no_row() -> None:
    rules = "is -> was\nit is -> it was\n  expect: flip"
    rows = table(text=["it is", "that is", "no"], label=["x", "y", "x"])
    found = made(rules, rows)
    assert [each.text for each in found.rewrites] == ["that was"]
    assert list(found.left_out.values()) == [1]


def test_rules_that_write_the_same_text_add_one_row() -> None:
    rows = table(text=["a movie"], label=["x"])
    assert new_rows(rows, "movie -> film\na movie -> a film") == [("a film", "x")]


def test_a_rule_that_sets_an_unknown_label_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="negative") as told:
        made(RULES, table(text=["fun"], label=["yes"]))
    assert "'yes'" in told.value.help


def test_a_rule_that_changes_labels_needs_to_know_their_column() -> None:
    with pytest.raises(UsageError) as told:
        expand(compiled(RULES), ["it is"], labels=None)
    assert "--label" in told.value.help
    assert expand(compiled("is -> was"), ["it is"], labels=None).rewrites[0].label is None


def test_texts_that_no_rule_changes_are_an_error_and_not_a_silent_copy() -> None:
    with pytest.raises(DataError, match=r"no rule changes a row of train\.csv"):
        made(RULES, table(text=["a play"], label=["negative"])).require_some("train.csv")


def test_where_all_rewrites_are_left_out_every_reason_is_reported() -> None:
    nothing = Expansion((), (), {TOUCHED: 2, REJECTED: 1})
    with pytest.raises(DataError) as told:
        nothing.require_some("train.csv")
    assert told.value.message == (
        "every rewrite of train.csv is left out: it would touch a span; the oracle rejects it"
    )


def test_every_row_says_where_it_comes_from() -> None:
    rows = table(id=["q7", "q9"], text=["a movie", "a good play"], label=["x", "y"])
    found = made("rule film: movie -> film\nrule great: good -> great", rows)
    done = augment(
        rows,
        found,
        columns=TableColumns(text="text", label="label", id="id"),
        rulesets=["found 1.0.0", "mine"],
    )
    assert list(zip(*done.table.columns.values(), strict=True)) == [
        ("q7", "a movie", "x", "q7", "", ""),
        ("q9", "a good play", "y", "q9", "", ""),
        ("q7~film", "a film", "x", "q7", "film", "found 1.0.0"),
        ("q9~great", "a great play", "y", "q9", "great", "mine"),
    ]


def test_numbers_as_ids_go_on_after_the_largest() -> None:
    rows = table(id=[3, 8], text=["a movie", "a movie"], label=["x", "y"])
    columns = TableColumns(text="text", label="label", id="id")
    ids = [row[0] for row in new_rows(rows, "movie -> film", columns=columns)]
    assert ids == [9, 10]


def test_data_that_was_augmented_before_is_refused() -> None:
    rows = table(text=["a movie"], label=["x"], source_rule=["film"])
    with pytest.raises(DataError, match="source_rule"):
        augment(rows, made("movie -> film", rows), columns=COLUMNS, rulesets=["found 1.0.0"])


words = st.lists(st.sampled_from(["movie", "good", "a", "bad"]), max_size=5).map(" ".join)


@settings(deadline=None)  # the first example loads the kernels
@given(st.lists(words, min_size=1, max_size=12), st.integers(1, 12), st.integers(0, 3))
def test_what_was_there_stays_and_each_new_row_is_what_its_rule_writes(
    texts: list[str], most: int, seed: int
) -> None:
    rules = "rule film: movie -> film\nrule great: good -> great"
    rows = table(text=texts, label=[str(number % 2) for number in range(len(texts))])
    found = made(rules, rows)
    done = augment(rows, found, columns=COLUMNS, amount=Amount(rows=most), seed=seed,
                     rulesets=["r 1", "r 1"])  # fmt: skip
    old = len(texts)
    assert done.added == min(most, len(found))
    assert sum(done.of_rule.values()) == done.added
    assert list(done.table.columns["text"][:old]) == texts
    assert done.table.columns["label"][:old] == rows.columns["label"]
    matcher = compiled(rules)
    written = {(each.row, matcher.rule_ids[each.rule]): each.text for each in matcher.apply(texts)}
    for row in list(zip(*done.table.columns.values(), strict=True))[old:]:
        text, label, source, rule, _ = row
        assert written[int(source) - 1, rule] == text
        assert label == rows.columns["label"][int(source) - 1]


def test_random_copies_repeat_no_row_before_all_are_there() -> None:
    rows = table(id=["a", "b", "c"], text=["x", "y", "z"], label=[0, 1, 0])
    done = duplicate(rows, 5, columns=TableColumns(text="text", label="label", id="id"), seed=1)
    assert len(done) == 8
    copies = done.columns["text"][3:]
    assert sorted(copies[:3]) == ["x", "y", "z"]
    assert len({*done.columns["id"]}) == 8
    labels = dict(zip("xyz", [0, 1, 0], strict=True))
    assert [labels[text] for text in done.columns["text"]] == done.columns["label"]
