"""When a model passes, when it fails, and when that cannot be decided."""

from __future__ import annotations

from dataclasses import replace

import pytest
from audited import audited, effects_of, rows_of

from sears_dsl.auditing.document import conclusion
from sears_dsl.auditing.gates import Gate, Gates, judge, judge_share, read_gate
from sears_dsl.auditing.running import compile_and_check
from sears_dsl.errors import UsageError
from sears_dsl.language.loader import parse
from sears_dsl.statistics import share_of
from sears_dsl.tagging.pinned import PinnedTagger

FIVE = Gates(flip_rate=0.05)
FILM = parse("rule film: movie -> film\n")


def outcome(letters: str, gates: Gates = FIVE) -> tuple[str, str]:
    document = audited(rows_of(letters), gates=gates)
    return document.rules[0].judgement.outcome, document.verdict.outcome


def test_a_rate_above_the_limit_fails_and_one_at_it_passes() -> None:
    assert outcome("k" * 38 + "ff") == ("passed", "passed")
    assert outcome("k" * 37 + "fff") == ("failed", "failed")
    assert outcome("k" * 37 + "fff", Gates(flip_rate=0.1)) == ("passed", "passed")
    assert outcome("k" * 40 + "f", Gates(flip_rate=0.0)) == ("failed", "failed")


def test_few_rows_are_not_judged() -> None:
    assert outcome("k" * 19) == ("not judged", "not judged")
    assert outcome("k" * 20) == ("passed", "passed")
    # Few rows decide nothing: not even a rule that fails on 3 of 3 or 5 of 8 is judged.
    assert outcome("f") == ("not judged", "not judged")
    assert outcome("fff") == ("not judged", "not judged")
    assert outcome("kkkfffff") == ("not judged", "not judged")
    assert outcome("kkkfffff", Gates(flip_rate=0.05, support=8)) == ("failed", "failed")
    few = audited(rows_of("kkkfffff"), gates=FIVE)
    assert few.rules[0].judgement.reason == (
        "too little support: 8 rows tested, 20 needed; 5 of 8 fail"
    )
    for judge_by in ("evidence", "proof"):
        gates = Gates(rows_flipped=0.05, judge_by=judge_by)  # type: ignore[arg-type]
        assert audited(rows_of("fff"), gates=gates).verdict.outcome == "not judged"
    assert outcome("kkkkf") == ("not judged", "not judged")
    assert outcome("www") == ("not judged", "not judged")


def test_without_a_limit_nothing_passes() -> None:
    document = audited(rows_of("k" * 30))
    assert (document.rules[0].judgement.outcome, document.verdict.outcome) == ("measured",) * 2
    assert document.rules[0].judgement.limit is None
    assert document.rules[0].judgement.against == 0.1


@pytest.mark.parametrize(
    ("judge_by", "failures", "wanted"),
    [("rate", 4, "failed"), ("evidence", 4, "passed"), ("evidence", 12, "failed"),
     ("evidence", 7, "passed"), ("evidence", 8, "failed"),  # p is 0.087 and 0.036
     ("proof", 0, "passed"), ("proof", 4, "failed"), ("rate", 3, "passed"), ("proof", 3, "failed")],
)  # fmt: skip
def test_what_counts_as_a_failure_can_be_chosen(judge_by: str, failures: int, wanted: str) -> None:
    gates = Gates(flip_rate=0.05, judge_by=judge_by)  # type: ignore[arg-type]
    assert outcome("f" * failures + "k" * (75 - failures), gates)[0] == wanted


def test_the_most_particular_limit_counts() -> None:
    rules = parse(
        "rule a: movie -> film\n  severity: high\n  tags: words\n"
        "rule b: movie -> tape\n  severity: high\n"
        "rule c: movie -> reel\n"
        "rule d: movie -> clip\n  expect: flip\n"
        "rule e: movie -> disc\n  expect: label no\n"
        "rule f: movie -> roll\n  tags: words rest\n"
    )
    gates = Gates(
        flip_rate=0.5,
        miss_rate=0.6,
        own=(
            Gate("a", 0.1),
            Gate("tag:words", 0.2),
            Gate("tag:rest", 0.15),
            Gate("severity:high", 0.3),
        ),
    )
    effects = effects_of(rows_of("k"), rules=rules).rules
    # Of two that are as specific the lower one counts.
    assert [each.limit for each in judge(effects, gates)] == [0.1, 0.3, 0.5, 0.6, 0.6, 0.15]
    assert judge(effects, Gates(flip_rate=0.5))[3].limit == 0.5


def test_a_gate_that_gates_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="the gate flim matches no rule") as error:
        compile_and_check([FILM], Gates(own=(Gate("flim", 0.1),)), tagger=PinnedTagger())
    assert "did you mean film" in error.value.help


def test_a_gate_names_the_rules_of_an_id_in_all_rulesets_or_in_one() -> None:
    rulesets = [parse("rule film: movie -> film\n", path=f"{name}.sear") for name in "ab"]
    names = compile_and_check(rulesets, Gates(), tagger=PinnedTagger()).rule_ids
    gates = Gates(own=(Gate("film", 0.1), Gate(names[0], 0.2)))
    compile_and_check(rulesets, gates, tagger=PinnedTagger())
    effect = effects_of(rows_of("k"), rules=FILM).rules[0]
    both = [replace(effect, id=name) for name in names]
    assert [each.limit for each in judge(both, gates)] == [0.1, 0.1]
    assert [each.limit for each in judge(both, Gates(own=gates.own[1:]))] == [0.2, None]


@pytest.mark.parametrize(
    "written", ["0.1", "a=", "a=x", "a=200%", "severity:huge=1%", "=0.1", "a=nan"]
)
def test_what_is_no_gate_is_reported(written: str) -> None:
    with pytest.raises(UsageError, match="is not a gate"):
        read_gate(written)


def test_a_rate_in_per_cent_is_the_nearest_float() -> None:
    """0.7 / 100 is less than 0.007, so that 7 of 1,000 would be above 0.7%."""
    for tenths in range(1, 1_000):
        assert read_gate(f"a={tenths / 10}%").rate == tenths / 1_000


def test_gates_hold_only_what_can_be() -> None:
    with pytest.raises(UsageError):
        Gates(flip_rate=1.5)
    with pytest.raises(UsageError):
        Gates(own=(Gate("a", 1.5),))
    with pytest.raises(UsageError):
        Gates(support=0)
    with pytest.raises(UsageError, match="the gate a is given twice"):
        Gates(own=(Gate("a", 0.0), Gate("a", 1.0)))


def test_all_rules_together_have_a_limit_of_their_own() -> None:
    rules = parse("rule one: movie -> film\nrule two: play -> show\n")
    data = rows_of("k" * 18 + "ff")
    assert audited(data, rules=rules, gates=Gates(rows_flipped=0.1)).verdict.outcome == "passed"
    failed = audited(data, rules=rules, gates=Gates(rows_flipped=0.05)).verdict
    assert failed.outcome == "failed"
    assert failed.reasons == (
        "all rules together: 2 of 20 fail (10%), above 5%, though this may be chance",
    )
    # Limits are not rounded, so that a rate is not said to be above what it is below.
    above = audited(data, rules=rules, gates=Gates(rows_flipped=0.0996)).verdict
    assert above.reasons == (
        "all rules together: 2 of 20 fail (10%), above 9.96%, though this may be chance",
    )
    near = audited(data, rules=rules, gates=Gates(rows_flipped=0.1049)).verdict
    assert near.all_rules_reason == "2 of 20 fail (10%), at most 10.49%"
    few = audited(rows_of("kkk"), rules=rules, gates=Gates(rows_flipped=0.05)).verdict
    assert few.outcome == "not judged"


TWO = parse("rule film: movie -> film\nrule show: play -> show\n  expect: flip\n")


@pytest.mark.parametrize(
    ("gates", "reason"),
    [(Gates(flip_rate=0.05, own=(Gate("show", 0.1),)), "gate show: no rule was tested"),
     (Gates(flip_rate=0.05, miss_rate=0.1), "maximum miss rate: no rule was tested"),
     (Gates(flip_rate=0.05, miss_rate=0.1, require_support=True), "play -> show (show): nothing"),
     (Gates(miss_rate=0.1), "maximum miss rate: no rule was tested")],
)  # fmt: skip
def test_a_gate_of_which_nothing_was_judged_is_not_passed_by_the_others(
    gates: Gates, reason: str
) -> None:
    verdict = audited(rows_of("k" * 30), rules=TWO, gates=gates).verdict
    assert verdict.outcome == ("failed" if gates.require_support else "not judged")
    assert verdict.reasons[0].startswith(reason)


@pytest.mark.parametrize(
    ("stricter", "outcome"),
    [("tag:one=2%", "passed"), ("film=2%", "passed"), ("film=90%", "not judged")],
)
def test_a_rule_that_passes_a_stricter_gate_is_judged_by_a_broader_one_too(
    stricter: str, outcome: str
) -> None:
    rules = parse(
        "rule film: movie -> film\n  tags: one both\nrule show: play -> show\n  tags: both\n"
    )
    gates = Gates(own=(read_gate("tag:both=5%"), read_gate(stricter)))
    assert audited(rows_of("k" * 30), rules=rules, gates=gates).verdict.outcome == outcome


def test_too_few_rows_for_all_rules_together_are_not_passed_by_a_rule_that_has_enough() -> None:
    rules = parse("rule film: movie -> film\nrule turn: movie -> reel\n  expect: label no\n")
    data = rows_of("k" * 3 + "w" * 30)  # 33 rows tell about the label, 3 about flips
    gates = Gates(rows_flipped=0.5, own=(Gate("turn", 1.0),))
    verdict = audited(data, rules=rules, gates=gates).verdict
    assert verdict.all_rules == "not judged"
    assert verdict.outcome == "not judged"
    assert verdict.reasons == (
        "all rules together: too little support: 3 rows tested, 20 needed; 0 of 3 fail",
    )


def test_rules_that_cannot_be_judged_fail_where_that_is_demanded() -> None:
    document = audited(rows_of("k" * 30), gates=Gates(flip_rate=0.05, require_support=True))
    assert document.verdict.outcome == "failed"
    assert document.verdict.reasons == (
        "play -> show (show): nothing to test: the rule changes no row",
    )
    assert audited(rows_of("k" * 30), gates=FIVE).verdict.outcome == "passed"


def test_q_takes_all_rules_into_account() -> None:
    lines = "".join(f"rule r{place}: play -> show{place}\n" for place in range(9))
    failing, plays = rows_of("k" * 26 + "ffff"), rows_of("k", word="play")
    data = replace(failing, rows=(*failing.rows, *plays.rows), labels=(("yes",),) * 31)
    # Rules that are tested on no row are no tests.
    rules = parse(f"rule film: movie -> film\nrule none: zzz -> z\n{lines}")
    many = audited(data, rules=rules, gates=FIVE).rules[0].judgement
    one = audited(failing, gates=FIVE).rules[0].judgement
    assert many.p_value == one.p_value == one.q_value
    assert one.p_value == pytest.approx(0.0608, abs=1e-4)  # scipy.stats.binom.sf(3, 30, 0.05)
    assert many.q_value == pytest.approx(10 * one.p_value)


def test_nothing_is_said_about_nothing() -> None:
    found = judge_share(share_of(0, 0), limit=0.1, q_value=None, gates=Gates(support=1), changed=4)
    assert found == (
        "not judged",
        "nothing to test: the model gets none of the changed rows right",
    )
    lost = "the oracle rejected 2 rewrites"
    for changed, why in ((4, "the model gets none of the changed rows right"), (0, lost)):
        _, reason = judge_share(
            share_of(0, 0), limit=0.1, q_value=None, gates=Gates(), changed=changed, lost=lost
        )
        assert reason == f"nothing to test: {why}"


def test_the_conclusion_names_no_limit_that_nobody_set() -> None:
    document = audited(rows_of("k" * 40 + "f" * 20), rules=FILM, gates=Gates(rows_flipped=0.5))
    assert document.verdict.outcome == "passed"
    assert conclusion(document) == (
        "The model passes: all rules together: 20 of 60 fail (33%), at most 50%."
    )
    robust = Gates(rows_flipped=0.5, own=(read_gate("robust:all=50%"),))
    assert conclusion(audited(rows_of("k" * 40 + "f" * 20), rules=FILM, gates=robust)).endswith(
        "at most 50% (and 1 more gate)."
    )


def test_the_conclusion_is_about_rules_with_a_limit_alone() -> None:
    rules = parse("rule film: movie -> film\nrule tape: movie -> tape\n")
    gates = Gates(own=(read_gate("film=40%"),))
    document = audited(rows_of("k" * 40 + "f" * 20), rules=rules, gates=gates)
    assert document.rules[1].judgement.outcome == "measured"
    assert conclusion(document) == (
        "The model passes: no rule with a limit flips more than 40% of its tested rows."
    )


def test_a_limit_for_all_rules_is_the_conclusion_if_none_is_tested_enough_by_itself() -> None:
    rules = parse("rule film: movie -> film\nrule show: play -> show\n")
    rows = rows_of("k" * 15)
    plays = rows_of("k" * 15, word="play")
    data = replace(rows, rows=(*rows.rows, *plays.rows), labels=(("yes",),) * 30)
    document = audited(data, rules=rules, gates=Gates(rows_flipped=0.1))
    assert document.verdict.outcome == "passed"
    assert conclusion(document) == (
        "The model passes: all rules together: 0 of 30 fail (0%), at most 10%."
    )


def test_the_worst_rule_is_the_one_with_the_highest_rate() -> None:
    movies, plays = rows_of("kf" * 10), rows_of("kkf" * 20, word="play")
    data = replace(movies, rows=(*movies.rows, *plays.rows), labels=(("yes",),) * 80)
    assert conclusion(audited(data, gates=FIVE)) == (
        "The model fails: 2 of 2 rules flip more than 5% of their tested rows, above all "
        "movie -> film (film) with 10 of 20 (50%)."
    )


def test_what_is_not_proven_is_not_called_a_failure_of_the_model() -> None:
    document = audited(rows_of("k" * 40), rules=FILM, gates=Gates(flip_rate=0.05, judge_by="proof"))
    assert document.verdict.outcome == "failed"
    assert conclusion(document) == (
        "The model fails: it is not proven that 1 of 1 rule flips no more than 5% of its tested "
        "rows: movie -> film (film) with 0 of 40 (0%)."
    )
    whole = audited(rows_of("k" * 40), rules=FILM, gates=Gates(rows_flipped=0.05, judge_by="proof"))
    assert conclusion(whole) == (
        "The model fails: all rules together: 0 of 40 fail (0%); the 95% interval ends at 8.8%, "
        "above 5%."
    )
    # What is clearly above the limit is said to be so.
    clear = audited(rows_of("f" * 40), rules=FILM, gates=Gates(flip_rate=0.05, judge_by="proof"))
    assert "1 of 1 rule flips more than 5%" in conclusion(clear)


@pytest.mark.parametrize(
    "demand", ["robust:all=0%", "invariant:all=100%", "local:all=100%", "turn=0"]
)
def test_a_model_that_gets_no_row_right_passes_nothing(demand: str) -> None:
    rules = parse("rule film: movie -> film\nrule turn: movie -> reel\n  expect: label no\n")
    verdict = audited(rows_of("w" * 30), rules=rules, gates=Gates(own=(read_gate(demand),))).verdict
    assert verdict.outcome == "not judged"
    assert verdict.reasons == ("the model gets no row right",)
