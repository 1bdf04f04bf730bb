"""What a reviewer is shown as a mistake is what the rule says is one, with two labels and three."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sears_dsl.data.labelled import LabelledRows
from sears_dsl.language.loader import parse
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.predictor import Row
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.vetting.review.picking import choices_of_rules
from sears_dsl.vetting.review.workbench import Workbench

TEXTS = [f"it is {word} {number}" for word in ("good", "bad", "dull") for number in range(5)]


class Reader:
    """Says the word; after ``not`` it says dull of what is good, and stays with all others."""

    identity = "reader of words"

    def predict(self, rows: Sequence[Row]) -> list[str]:
        words = [row["text"].split() for row in rows]
        return ["dull" if "not good" in " ".join(each) else each[-2] for each in words]


def bench_of(rules: str) -> Workbench:
    labels = tuple((text.split()[-2],) for text in TEXTS)
    data = LabelledRows(tuple({"text": text} for text in TEXTS), "text", labels, "a.csv")
    tagger = PinnedTagger()
    return Workbench(parse(rules), data, CachedPredictor(Reader()), tokens=tagger.tag(TEXTS),
                     tagger=tagger)  # fmt: skip


@pytest.mark.parametrize(
    ("expect", "mistakes"),
    # Of fifteen rows five are answered otherwise than before, all of them by "dull".
    [("same", 5), ("flip", 10), ("label dull", 5), ("label bad", 10)],
)
def test_mistakes_are_those_that_the_rule_speaks_of(expect: str, mistakes: int) -> None:
    bench = bench_of(f"is -> is not\n  expect: {expect}")
    summary = bench.summary(bench.effects, 0)
    assert (summary.right, summary.flips) == (15, mistakes)
    shown = bench.examples(bench.effects, 0, mistakes=True, most=50)[1]
    assert len(shown) == mistakes
    assert all((each.after == each.before) == (expect == "flip") for each in shown
               if expect in ("same", "flip"))  # fmt: skip


def test_where_rules_that_write_one_text_disagree_the_label_should_stay() -> None:
    bench = bench_of("is -> is not\n  expect: flip\nit is -> it is not\n")
    assert [bench.summary(bench.effects, rule).flips for rule in (0, 1)] == [5, 5]


def test_what_changes_the_label_is_no_adversary_to_pick() -> None:
    keeping, changing = bench_of("is -> is not"), bench_of("is -> is not\n  expect: flip")
    assert len(choices_of_rules(keeping, keeping.effects)) == 5
    assert not choices_of_rules(changing, changing.effects)
