"""Pairs of texts, either of which rules rewrite, in discovery, vetting, repair and audits."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.testclient import TestClient

import sears_dsl as sears
from sears_dsl.batch.guarding import chain_guarded, guard_rewrites
from sears_dsl.data.labelled import read_labelled
from sears_dsl.engine.matches import Edit, apply_edits
from sears_dsl.errors import DataError
from sears_dsl.language.loader import parse
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.function import CallablePredictor
from sears_dsl.models.predictor import Row
from sears_dsl.repair.trainers import words_of_pair
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.vetting.journal import Journal
from sears_dsl.vetting.review.rule_session import RuleSession
from sears_dsl.vetting.review.workbench import Workbench
from sears_dsl.vetting.web.routes import application

THINGS = ("plot", "cast", "score", "pace", "end", "start", "light", "sound", "cut", "set")
NAMES = ("How", "Why", "Where", "When", "Who", "What", "Which", "Did", "Does", "Is")


def pairs(folder: Path) -> Path:
    """Two hundred pairs; the even ones ask the same."""
    path = folder / "pairs.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["first", "second", "same"])
        for number in range(200):
            ask, thing = NAMES[number % 10], THINGS[number // 20]
            other = f"{ask} is the {thing} {number}" if number % 2 == 0 else f"No {number} matters"
            rows.writerow([f"{ask} is the good movie {thing} {number}", other, 1 - number % 2])
    return path


def overlap(rows: Sequence[Row]) -> list[str]:
    """A model that does not know *film*, and compares the words of the two texts."""
    return [
        "1" if set(row["second"].split()) <= set(row["first"].split()) and "film" not in str(row)
        else "0"
        for row in rows
    ]  # fmt: skip


def reword(sentences: Sequence[str]) -> list[list[str]]:
    return [[each.replace("movie", "film")] if "movie" in each else [] for each in sentences]


def test_rules_are_found_on_pairs_and_both_texts_are_held_out_together(tmp_path: Path) -> None:
    found = sears.discover(
        overlap, pairs(tmp_path), text="first,second", label="same", paraphraser=reword,
        scorer=lambda given: [1.0 for _ in given], tau=0.5, with_shipped=False,
    )  # fmt: skip
    assert found.columns["rule"] == ["movie -> film"]
    counts = found.discovery.funnel
    assert (counts.rows, counts.right) == (400, 400)
    # Each pair occurs twice, and both copies are on one side.
    assert counts.held_out % 2 == 0
    rule = found.rules[0]
    assert rule.held_out is not None
    assert rule.changed + rule.held_out.changed == 200
    assert rule.held_out.changed == counts.held_out // 2


def test_a_reviewer_sees_the_other_text_of_a_pair(tmp_path: Path) -> None:
    data = read_labelled(str(pairs(tmp_path)), column="first,second", label="same")
    tagger, ruleset = PinnedTagger(), parse("rule was: is -> was")
    model = CachedPredictor(CallablePredictor(overlap))
    bench = Workbench(ruleset, data, model, tokens=tagger.tag(data.texts), tagger=tagger)
    with Journal(tmp_path / "a.vetting.jsonl", ruleset=ruleset, reviewer="ana") as journal:
        session = RuleSession(bench, journal, most=20, choices=())
        app = application({"ana": session}, tokens={"t": "ana"}, hosts=frozenset({"testserver"}),
                          write=lambda: "")  # fmt: skip
        page = TestClient(app)
        shown = page.get("/t/api/examples", params={"id": "was"}).json()["examples"]
    assert {each["beside"][0][0] for each in shown} == {"first", "second"}
    for each in shown:
        [[column, text]] = each["beside"]
        assert ("good" in text) == (column == "first")
        assert ("good" in each["original"]) == (column == "second")


def test_the_built_in_model_is_repaired_on_pairs(tmp_path: Path) -> None:
    path = pairs(tmp_path)
    rules = sears.parse("movie -> film")
    with path.open(newline="", encoding="utf-8") as file:
        training = list(csv.DictReader(file))[1:]
    found = sears.fix(training, path, rules, text="first,second", label="same", seeds=1,
                      control=False)  # fmt: skip
    measured = found.repair
    rows = measured.training_rows, measured.held_out_rows, measured.rewritten_rows
    assert rows == (199, 200, 200)
    # Common words of both texts decide the label; words of one text do not.
    assert found.columns["original"][0] < 0.1
    assert words_of_pair({"b": "A a", "a": "a"}) == ["a:a", "b:a", "b:a", "both:a", "shared:5"]


FIRST, SECOND = "first", "second"
PART = st.text(st.sampled_from("ab\n "), max_size=6).map(
    lambda text: re.sub("\n+", "\n", text).strip("\n")
)


def with_edits(row: dict[str, str], edits: Sequence[Edit]) -> dict[str, str]:
    """The row with each edit in the column in which it stands."""
    border = len(row[FIRST])
    begin = border + len("\n\n")
    first = [edit for edit in edits if edit.end <= border]
    second = [edit._replace(start=edit.start - begin, end=edit.end - begin)
              for edit in edits if edit.end > border]  # fmt: skip
    return {FIRST: apply_edits(row[FIRST], first), SECOND: apply_edits(row[SECOND], second)}


@example("a b", "b", r'b -> "\n"')
@example("a b", "b", r'a -> "b\n\nb"')
@example("b\na", "b", "a -> <>")
@given(PART, PART, st.sampled_from(["a -> b", "a -> <>", r'b -> "\n"', r'a -> "b\n\nb"']))
def test_a_rewrite_of_two_columns_changes_nothing_outside_of_its_match(
    first: str, second: str, rule: str
) -> None:
    row = {FIRST: first, SECOND: second}
    matcher = parse(rule).compile(tagger=PinnedTagger())
    data = read_labelled([row], column="first+second")
    assert data.rewritten([0], data.texts) == [row]
    assert data.guards is not None
    protected = data.guards.protected
    done, _ = guard_rewrites(
        matcher.apply(data.texts, scope="all", protected=protected), data.guards
    )
    for rewrite in done:
        assert data.rewritten([0], [rewrite.text]) == [with_edits(row, rewrite.edits)]
    for chained in chain_guarded(matcher, data.texts, data.guards, scope="all"):
        edits = chained.steps[0][1] if chained.steps else ()
        assert data.rewritten([0], [chained.text]) == [with_edits(row, edits)]


def test_a_rule_that_writes_an_empty_line_into_one_of_two_columns_does_not_count() -> None:
    rows = [{"a": "A movie", "b": "x", "label": "x"}, {"a": "A cat", "b": "y", "label": "x"}]
    rules = sears.parse('rule gap: movie -> "a\\n\\nb"\nrule film: movie -> film')
    audited = sears.audit(
        lambda texts: ["x" for _ in texts], rows, rules, text="a+b", label="label", scorer="none"
    )
    assert audited.columns["changed"] == [0, 1]


@pytest.mark.parametrize("first", ["A man eats.\n", "A man\n\neats.", "\n\n"])
def test_texts_that_could_not_be_taken_apart_again_are_refused(first: str) -> None:
    with pytest.raises(DataError, match="row 1: the text has an empty line, or a line end at its"):
        read_labelled([{FIRST: first, SECOND: "A man sits."}], column="first+second")
    apart = read_labelled([{FIRST: first, SECOND: "A man sits."}], column="first,second")
    assert apart.texts == [first, "A man sits."]
