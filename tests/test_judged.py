"""What was read is in order: judged rewrites can be read back, judged rules are rules."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarks.judged_rewrites import read_judged_rewrites
from sears_dsl.language.loader import parse

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def test_judged_rewrites_differ_from_their_originals_and_say_why_where_rejected() -> None:
    rewrites = read_judged_rewrites()
    # Those of vaderSentiment's texts are in the file itself.
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
