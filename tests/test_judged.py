"""The files of judgements are in order: judged rewrites load, judged rules are rules."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from benchmarks.judged_rewrites import read_judged_rewrites
from sears_dsl.language.loader import parse

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def test_judged_rewrites_differ_from_their_originals_and_say_why_where_rejected() -> None:
    rewrites = read_judged_rewrites()
    # Rewrites of vaderSentiment's texts are in the file itself.
    assert len(rewrites) > 400
    for each in rewrites:
        assert each.original != each.rewrite
        assert each.accepted == (not each.why)


def test_no_change_is_in_both_parts() -> None:
    part = {}
    for each in read_judged_rewrites():
        assert part.setdefault(each.rule.lower(), each.part) == each.part


def _rules() -> list[str]:
    with (BENCHMARKS / "judged_rules.tsv").open(encoding="utf-8", newline="") as file:
        return [row["rule"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


@pytest.mark.parametrize("rule", _rules())
def test_judged_rules_are_rules(rule: str) -> None:
    assert len(parse(rule).rules) == 1


def test_lines_of_the_sheet_are_quoted_in_one_way() -> None:
    # A rule that begins with a quote would otherwise be read without it, as another rule.
    with (BENCHMARKS / "discovery_quality_sheet.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))
        file.seek(0)
        lines = file.read()
    written = io.StringIO()
    csv.writer(written, delimiter="\t", lineterminator="\n").writerows(rows)
    assert written.getvalue() == lines
    assert [row[0] for row in rows] == ["item", *map(str, range(1, len(rows)))]
    assert {row[verdict] for row in rows[1:] for verdict in (6, 8)} == {"0", "1", "x"}
