"""The page shows as mistakes what the rule calls mistakes, with two labels and three."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TypeAlias

import pytest

from sears_dsl.effects.oracle import TaskInstance
from sears_dsl.errors import UsageError
from sears_dsl.language.loader import load, parse
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.models.predictor import Row
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.vetting.decisions import MarkedRewrite, replay
from sears_dsl.vetting.journal import Journal, read_journal
from sears_dsl.vetting.journal_oracle import read_oracle, read_readings
from sears_dsl.vetting.merging import read_reviews
from sears_dsl.vetting.outputs import judged_pairs, write_vetted
from sears_dsl.vetting.review.rule_session import RuleSession
from sears_dsl.vetting.review.workbench import Workbench, choices_of_rules

TEXTS = [f"it is {word} {number}" for word in ("good", "bad", "dull") for number in range(5)]


class Reader:
    """Reads the label from a word; after ``not`` it calls good texts dull, and keeps all others."""

    identity = "reader of words"

    def predict(self, rows: Sequence[Row]) -> list[str]:
        words = [row["text"].split() for row in rows]
        return ["dull" if "not good" in " ".join(each) else each[-2] for each in words]


Benches: TypeAlias = Callable[[Ruleset], Workbench]


@pytest.fixture
def bench_of(workbench_of: Callable[..., Workbench]) -> Benches:
    rows = [(text, text.split()[-2]) for text in TEXTS]
    return partial(workbench_of, rows=rows, model=Reader())


# Two rules with the same words; one of them may change the label.
RULES = """\
ruleset words 1.0.0

rule deny: is -> is not
  expect: flip
  test "it is good 0" => "it is not good 0"
  test "it was good" => none

rule keep: good -> fine
  test "it is good 0" => "it is fine 0"
  test "it is bad" => none
"""
GOOD = ("it is good 0", "it is not good 0")


@pytest.fixture
def session(tmp_path: Path, bench_of: Benches) -> Iterator[RuleSession]:
    path = tmp_path / "words.sear"
    path.write_text(RULES, "utf-8")
    bench = bench_of(load(path))
    with Journal(tmp_path / "ana.jsonl", ruleset=bench.ruleset, reviewer="ana") as journal:
        yield RuleSession(bench, journal)


def decide(session: RuleSession, kind: str, **content: object) -> None:
    session.prepare(kind, content)
    session.decide(kind, content, revision=session.state.revision)


@pytest.mark.parametrize(
    ("expect", "mistakes"),
    # The answer changes on five of fifteen rows, always to "dull".
    [("same", 5), ("flip", 10), ("label dull", 5), ("label bad", 10)],
)
def test_mistakes_are_those_that_the_rule_speaks_of(
    bench_of: Benches, expect: str, mistakes: int
) -> None:
    bench = bench_of(parse(f"is -> is not\n  expect: {expect}"))
    summary = bench.summary(bench.table, 0)
    assert (summary.right, summary.flips) == (15, mistakes)
    shown = bench.examples(bench.table, 0, mistakes=True, most=50)[1]
    assert len(shown) == mistakes
    assert all((each.after == each.before) == (expect == "flip") for each in shown
               if expect in ("same", "flip"))  # fmt: skip


def test_rules_that_write_one_text_have_the_mistakes_that_each_of_them_speaks_of(
    bench_of: Benches, tmp_path: Path
) -> None:
    bench = bench_of(parse("is -> is not\n  expect: flip\nit is -> it is not\ngood -> fine\n"))
    assert [bench.summary(bench.table, rule).flips for rule in (0, 1)] == [10, 5]
    assert len(choices_of_rules(bench, bench.table)) == 5
    # The same holds where one of them comes only with an edit.
    with Journal(tmp_path / "e.jsonl", ruleset=bench.ruleset, reviewer="ana") as journal:
        session = RuleSession(bench, journal)
        flip, _, fine = bench.ruleset.rule_ids
        decide(session, "edit", rule=fine, new="is -> is not / it __")
        assert session.overview()["judge"]["mistakes"] == 5
        decide(session, "edit", rule=flip, new="it is -> it is not")
        flips = {item["id"]: item["flips"] for item in session.overview()["judge"]["items"]}
        assert (flips[fine], flips[flip]) == (5, 10)
        assert session.overview()["judge"]["mistakes"] == 15


def test_what_changes_the_label_is_no_adversary_to_pick(bench_of: Benches) -> None:
    keeping = bench_of(parse("is -> is not"))
    changing = bench_of(parse("is -> is not\n  expect: flip"))
    assert len(choices_of_rules(keeping, keeping.table)) == 5
    assert not choices_of_rules(changing, changing.table)


def test_an_edited_rule_keeps_what_it_expects(session: RuleSession, tmp_path: Path) -> None:
    """Of fifteen negated rows ten keep their answer; of the five good ones none does."""
    assert session.rule("deny")["summary"]["flips"] == 10
    edited = "is bad -> is not bad"
    alone = session.mistakes(edited, deadline=monotonic() + 60)
    instead = session.mistakes(edited, deadline=monotonic() + 60, instead_of="deny")
    assert (alone["summary"]["flips"], instead["summary"]["flips"]) == (0, 5)
    decide(session, "edit", rule="deny", new=edited)
    overview = session.overview()["judge"]
    assert overview["mistakes"] == 5
    [entry] = session.journal.entries
    assert (entry.content["new"], entry.content["expect"]) == (edited, "flip")
    ruleset = session.bench.ruleset
    reviews = read_reviews([session.journal.path], ruleset)
    write_vetted(ruleset, reviews, tmp_path / "v.sear", tagger=PinnedTagger())
    rule = load(tmp_path / "v.sear").rules[0]
    assert (rule.name, str(rule.expectation)) == ("deny", "flip")


def test_what_is_said_of_labels_is_no_judgement_of_meaning(session: RuleSession) -> None:
    rows = {"rule": "deny", "row": 1}
    decide(session, "pair", **rows, same=True)
    decide(session, "pair", rule="deny", row=6, same=False)
    decide(session, "accept", rule="deny")
    path, ruleset = session.journal.path, session.bench.ruleset
    assert judged_pairs(read_reviews([path], ruleset)) == []
    assert read_readings([path]) == ()
    decide(session, "pair", rule="keep", row=1, same=True)
    assert [
        (each.rewritten, each.label) for each in judged_pairs(read_reviews([path], ruleset))
    ] == [("it is fine 0", 1)]
    assert [reading.rewrite for reading in read_readings([path])] == ["it is fine 0"]
    # Replaying the journal gives what the page shows.
    assert replay(read_journal(path)[1]).marks == {
        (*GOOD, "flip", ("good",)): True,
        ("it is bad 0", "it is not bad 0", "flip", ("bad",)): False,
        ("it is good 0", "it is fine 0", "", ()): True,
    }
    decide(session, "pair", **rows, same=None)
    assert session.state.mark(MarkedRewrite(*GOOD, "flip", ("good",))) is None


def test_what_does_not_fit_narrows_the_rule_and_is_seen_on_its_own_examples(
    session: RuleSession,
) -> None:
    decide(session, "pair", rule="deny", row=6, same=False)
    view = session.rule("deny")
    assert view["differing"] == 1
    assert view["narrowed"]
    marks = {each["row"]: each["same"] for each in
             session.examples("deny", mistakes=False, first=0, most=50)["examples"]}  # fmt: skip
    assert marks[6] is False
    assert marks[1] is None
    decide(session, "edit", rule="deny", new=view["narrowed"][0]["text"])
    assert session.journal.entries[-1].content["expect"] == "flip"


def test_that_the_meaning_changes_is_no_reason_where_the_label_may(session: RuleSession) -> None:
    assert "label" in session.rule("deny")["reasons"]
    assert "meaning" not in session.rule("deny")["reasons"]
    assert "meaning" in session.rule("keep")["reasons"]
    with pytest.raises(UsageError, match="reason"):
        decide(session, "reject", rule="deny", reason="meaning")
    decide(session, "reject", rule="deny", reason="label")
    verdict = session.state.rules["deny"]
    assert (verdict.reason, verdict.expect) == ("label", "flip")
    assert verdict.reason in session.overview()["reasons"]


def test_an_oracle_takes_a_mark_for_rules_of_its_kind(session: RuleSession) -> None:
    decide(session, "pair", rule="deny", row=1, same=False)
    oracle = read_oracle(session.journal.path, [session.bench.ruleset])
    instances = [
        TaskInstance({"text": GOOD[1]}, *GOOD, rule, expect=expect)
        for rule, expect in (
            ("deny", "flip"),
            ("typed", "flip"),
            ("typed", "label x"),
            ("keep", ""),
        )
    ]
    assert oracle.keeps(instances) == [False, False, True, True]


def test_an_oracle_keeps_a_pair_that_fits_some_labels(
    workbench_of: Callable[..., Workbench], tmp_path: Path
) -> None:
    text = "a good movie ."
    bench = workbench_of(
        parse("rule fl: good -> bad\n  expect: flip\n", path="l.sear"),
        [(text, "positive"), (text, "negative")],
    )
    instance = TaskInstance({"text": "a bad movie ."}, text, "a bad movie .", "fl", expect="flip")
    with Journal(tmp_path / "l.jsonl", ruleset=bench.ruleset, reviewer="ana") as journal:
        session = RuleSession(bench, journal)
        for row, same, kept in ((1, False, False), (2, True, True), (2, None, False)):
            decide(session, "pair", rule="fl", row=row, same=same)
            assert read_oracle(journal.path, [bench.ruleset]).keeps([instance]) == [kept]


def test_what_an_oracle_rejects_of_a_rule_no_edit_of_it_brings_back(
    session: RuleSession, tmp_path: Path
) -> None:
    decide(session, "pair", rule="deny", row=1, same=False)
    bench = session.bench
    choosy = Workbench(
        bench.ruleset, bench.data, bench.predictor, tokens=bench.tokens, tagger=bench.tagger,
        oracle=read_oracle(session.journal.path, [bench.ruleset]),
    )  # fmt: skip
    with Journal(tmp_path / "ben.jsonl", ruleset=bench.ruleset, reviewer="ben") as journal:
        later = RuleSession(choosy, journal)
        new = "is -> is not / __ (good|bad)"
        assert session.typed(new, instead_of="deny")["changed"] == 10
        assert later.typed(new, instead_of="deny")["changed"] == 9


def test_a_mark_of_a_label_holds_for_what_is_expected_and_for_the_labels_of_the_row(
    workbench_of: Callable[..., Workbench], tmp_path: Path
) -> None:
    rules = "rule fl: good -> bad\n  expect: flip\nrule neu: good -> bad\n  expect: label neutral\n"
    text = "a good movie ."
    bench = workbench_of(parse(rules, path="l.sear"), [(text, "positive"), (text, "negative")])
    with Journal(tmp_path / "l.jsonl", ruleset=bench.ruleset, reviewer="ana") as journal:
        session = RuleSession(bench, journal)

        def marks(rule: str) -> list[bool | None]:
            seen = session.examples(rule, mistakes=False, first=0, most=9)["examples"]
            return [each["same"] for each in sorted(seen, key=lambda each: each["row"])]

        decide(session, "pair", rule="fl", row=1, same=True)
        decide(session, "pair", rule="neu", row=2, same=False)
        assert (marks("fl"), marks("neu")) == ([True, None], [None, False])
        assert [session.rule(name)["differing"] for name in ("fl", "neu")] == [0, 1]
        # A journal of an earlier version does not say of which labels.
        journal.append("pair", {"original": text, "rewritten": "a bad movie .", "expect": "flip",
                                "same": False})  # fmt: skip
        session = RuleSession(bench, journal)
        assert marks("fl") == [True, False]
        decide(session, "pair", rule="fl", row=2, same=None)
        assert marks("fl") == [True, None]
        decide(session, "undo", task="judge")
        decide(session, "pair", rule="fl", row=1, same=None)
        assert marks("fl") == [None, False]
