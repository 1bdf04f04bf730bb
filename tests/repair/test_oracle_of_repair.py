"""In commands that make training data, what an oracle rejects is no row, and is counted."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from command_line import call

import sears_dsl as sears
from sears_dsl.errors import DataError, ModelError, UsageError

RULES = "rule film: movie -> film\nrule not: is -> is not\n  expect: flip\n"
ROWS = [(f"this movie is {kind} {number}", kind) for kind in ("good", "bad") for number in range(6)]


def no_good(rewrites: Sequence[Mapping[str, str]]) -> list[bool]:
    """An oracle that rejects six rewrites of each rule."""
    return [" good " not in each["text"] for each in rewrites]


def test_augment_leaves_out_what_the_oracle_rejects(tmp_path: Path) -> None:
    (tmp_path / "rules.sear").write_text(RULES)
    (tmp_path / "choosy.py").write_text(
        'def no_good(rows):\n    return [" good " not in each["text"] for each in rows]\n'
    )
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *ROWS])
    done = call("augment", "rules.sear", "rows.csv", "--label", "label", "-o", "more.csv",
                "--oracle", "choosy:no_good", folder=tmp_path)  # fmt: skip
    assert "12 rewrites left out: the oracle rejects it" in done.stderr
    record = json.loads((tmp_path / "more.manifest.json").read_text())
    assert record["settings"]["oracle"].startswith("choosy:no_good")
    with (tmp_path / "more.csv").open(newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)][len(ROWS) :]
    assert len(texts) == 12
    assert not any(" good " in text for text in texts)


def test_from_python_an_oracle_that_rejects_all_or_raises_is_reported() -> None:
    rules = sears.parse(RULES)
    assert len(sears.augment(ROWS, rules, oracle=no_good)) == len(ROWS) + 12
    with pytest.raises(DataError, match=r"the oracle .* rejects all 24 rewrites") as told:
        sears.augment(ROWS, rules, oracle=lambda rewrites: [False for _ in rewrites])
    assert "it has to return true for a rewrite to keep" in told.value.help
    with pytest.raises(ModelError, match="KeyError: 'stars'"):
        sears.augment(ROWS, rules, oracle=lambda rewrites: [each["stars"] for each in rewrites])
    with pytest.raises(UsageError, match="there is no such file"):
        sears.augment(ROWS, rules, oracle="nobody.jsonl")


def test_fix_asks_about_no_rewrite_that_the_oracle_rejects(tmp_path: Path) -> None:
    found = sears.fix(ROWS[:-1], ROWS[:1] + ROWS[-3:], sears.parse(RULES), seeds=1,
                      oracle=no_good, same_rows=True)  # fmt: skip
    assert (found.repair.rewritten_rows, found.repair.rewrites) == (3, 6)
    assert found.repair.left_out == {"the oracle rejects it": 12}
    assert found.participants.oracle is not None
    found.save(tmp_path / "fix.json")
    record = json.loads((tmp_path / "fix.json").read_text())
    assert record["result"]["left_out"] == found.repair.left_out


def test_an_oracle_may_reject_all_rewrites_of_one_of_two_columns() -> None:
    rows = [{"premise": "A movie.", "hypothesis": "A movie!", "label": "yes"}]
    new = sears.augment(
        rows, sears.parse("movie -> film"), text="premise,hypothesis", label="label",
        oracle=lambda rewrites: [each["original"] == "A movie." for each in rewrites],
    )  # fmt: skip
    assert [row["premise"] for row in new] == ["A movie.", "A film."]
