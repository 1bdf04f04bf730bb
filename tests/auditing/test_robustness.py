"""Audits, gates and reports give the semantic robustness of models with planted behaviour."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from audited import effects_of, rows_of

from sears_dsl.auditing.audit import AuditChoices, Circumstances, audit
from sears_dsl.auditing.document import AuditDocument, conclusion, read_audit, write_document
from sears_dsl.auditing.gates import Gates, read_gate
from sears_dsl.auditing.reports.files import junit_xml
from sears_dsl.auditing.reports.markdown import audit_markdown
from sears_dsl.auditing.reports.page import audit_page
from sears_dsl.auditing.reports.robustness_parts import robustness_lines
from sears_dsl.auditing.robustness import Robustness, RobustnessRecord, points, robustness
from sears_dsl.auditing.running import compile_and_check
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.effects.rule_effects import Effects, rule_effects
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.errors import UsageError
from sears_dsl.language.loader import parse
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.models.function import CallablePredictor
from sears_dsl.tagging.pinned import PinnedTagger

RULES = parse("rule film: movie -> film\n  tags: words\nrule show: play -> show\n")
# Of two hundred rows one in ten is wrong before and after; thirty of the right ones flip.
PLANTED = rows_of("f" * 30 + "k" * 150 + "w" * 20)

Predict = Callable[[Sequence[str]], list[str]]


def document_of(
    effects: Effects,
    *,
    tolerance: float | None = None,
    gates: tuple[str, ...] = (),
    judge_by: str = "rate",
    columns: dict[str, list[object]] | None = None,
    require_support: bool = False,
) -> AuditDocument:
    rules = Ruleset.from_rules(each.rule for each in effects.rules)
    who = Circumstances(rulesets=(rules,), model="known", tagger="pinned",
                        choices=AuditChoices(tolerance=tolerance))  # fmt: skip
    demanded = Gates(own=tuple(map(read_gate, gates)), judge_by=judge_by,
                     require_support=require_support)  # fmt: skip
    return audit(effects, circumstances=who, gates=demanded, columns=columns)


def robustness_of(effects: Effects, *, tolerance: float = 0.05) -> Robustness:
    found = document_of(effects, tolerance=tolerance).robustness
    assert found is not None
    return found


def of(found: Robustness, selector: str) -> RobustnessRecord:
    [record] = [each for each in found.records if each.selector == selector]
    return record


def effects_on(rules: str, labelled: Sequence[tuple[str, str]], predict: Predict) -> Effects:
    data = LabelledRows(
        tuple({"text": text} for text, _ in labelled),
        "text",
        tuple((label,) for _, label in labelled),
        "planted.csv",
    )
    return rule_effects(
        compile_rules([parse(rules)], tagger=PinnedTagger()), data, CallablePredictor(predict)
    )


# ---------------------------------------------------------------- planted behaviour


@pytest.mark.parametrize(("tolerance", "verdict"), [(0.2, "bounded invariant"), (0.15,
    "bounded invariant"), (0.1, "not robust")])  # fmt: skip
def test_the_gap_that_was_planted_is_found(tolerance: float, verdict: str) -> None:
    found = robustness_of(effects_of(PLANTED, rules=RULES), tolerance=tolerance)
    assert [each.selector for each in found.records] == ["all", "tag:words", "film"]
    for record in found.records:
        assert (record.rows, record.rewrites, record.rules) == (200, 200, 1)
        assert (record.before, record.after) == (0.9, 0.75)
        assert (record.gap, record.smallest_tau) == (-0.15, 0.15)
        assert record.verdict == verdict
        assert record.low < -0.15 < record.high < -0.05
        assert record.local.count == 150
        assert record.smallest_tau_everywhere == 0.9


def test_rows_that_become_right_are_robust_and_not_invariant() -> None:
    record = of(robustness_of(effects_of(rows_of("g" * 15 + "k" * 15), rules=RULES)), "all")
    assert (record.before, record.after, record.verdict) == (0.5, 1.0, "robust")


def test_few_rows_are_not_judged() -> None:
    record = of(robustness_of(effects_of(rows_of("k" * 19), rules=RULES)), "all")
    assert (record.robust, record.invariant, record.verdict) == (None, None, "not judged")
    enough = of(robustness_of(effects_of(rows_of("k" * 20), rules=RULES)), "all")
    assert enough.verdict == "bounded invariant"
    nothing = of(robustness_of(effects_of(rows_of("kk", word="book"), rules=RULES)), "all")
    assert (nothing.rows, nothing.gap, nothing.verdict) == (0, None, "not judged")


def test_a_rule_that_changes_rows_in_a_later_draw_alone_has_a_record() -> None:
    data = rows_of("k" * 20)
    first, later = (
        effects_of(data, rules=parse(f"rule film: {word} -> film\n")) for word in ("zzz", "movie")
    )
    found = robustness(first, gates=Gates(), tolerance=0.05, later=[later])
    assert found is not None
    assert [(each.selector, each.rows) for each in found.records] == [("all", 20), ("film", 20)]


def test_a_row_that_two_rules_rewrite_counts_once() -> None:
    """The model misreads what the second rule writes, so half of each row's rewrites are right."""
    effects = effects_on(
        "rule film: movie -> film\n  tags: words\nrule tape: movie -> tape\n  tags: words old",
        [(f"movie {number}", "good") for number in range(40)] + [("other", "bad")],
        lambda texts: ["bad" if "tape" in text or "other" in text else "good" for text in texts],
    )
    found = robustness_of(effects, tolerance=0.5)
    whole = of(found, "all")
    assert (whole.rows, whole.rewrites, whole.after, whole.pooled, whole.mean) == (
        40, 80, 0.5, 0.5, 0.5
    )  # fmt: skip
    assert whole.local.count == 40
    assert (of(found, "tag:old").after, of(found, "film").after) == (0.0, 1.0)


def test_half_a_guess_more_is_worth_the_whole_way_to_perfection() -> None:
    whole = of(robustness_of(effects_on(
        "movie -> film",
        [(f"movie {number}", "yes" if number % 2 else "no") for number in range(40)],
        lambda texts: [
            "yes" if "film" in text or int(text[-2:]) % 2 else "no" for text in texts
        ],
    )), "all")  # fmt: skip
    assert (whole.before, whole.after) == (1.0, 0.5)
    assert (whole.before_corrected, whole.after_corrected) == (1.0, 0.0)
    assert whole.constant is not None
    assert (whole.constant.answer, whole.constant.rate) == ("no", 0.5)


# ---------------------------------------------------------------- rules that change the label

NEGATION = "is -> is not\n  expect: flip\n  tags: negation\n"
REVIEWS = [(f"movie {number} is good", "positive") for number in range(20)] + [
    (f"movie {number} is bad", "negative") for number in range(20)
]


def reads_not(texts: Sequence[str]) -> list[str]:
    return ["positive" if ("good" in text) != (" not " in text) else "negative" for text in texts]


def reads_words_alone(texts: Sequence[str]) -> list[str]:
    return ["positive" if "good" in text else "negative" for text in texts]


@pytest.mark.parametrize(("predict", "passes"), [(reads_not, True), (reads_words_alone, False)])
def test_who_reads_not_passes_a_rule_that_flips_and_who_does_not_fails(
    predict: Predict, passes: bool
) -> None:
    effects = effects_on(NEGATION, REVIEWS, predict)
    document = document_of(effects, tolerance=0.05)
    assert document.rules[0].judgement.failures.count == (0 if passes else 40)
    assert document.robustness is not None
    record = of(document.robustness, "tag:negation")
    assert (record.before, record.after) == (1.0, 1.0 if passes else 0.0)
    assert record.constant is not None
    assert record.constant.rate == 0.5


def test_with_three_labels_any_other_one_is_a_flip() -> None:
    labelled = [(f"it is a {kind} {number}", kind) for kind in ("good", "bad", "dull")
                for number in range(20)]  # fmt: skip
    right = {" not a good ": "dull", " not a bad ": "good", " not a dull ": "dull"}

    def predict(texts: Sequence[str]) -> list[str]:
        return [
            next((answer for part, answer in right.items() if part in text), text.split()[-2])
            for text in texts
        ]

    found = robustness_of(effects_on(NEGATION, labelled, predict))
    assert found.labels == 3
    whole = of(found, "all")
    assert whole.after == 2 / 3
    assert whole.after_corrected == pytest.approx(0.5)
    # The label of two in three rows differs from the constant answer, which is right after a flip.
    assert whole.constant is not None
    assert whole.constant.rate == 2 / 3


def test_a_label_with_a_point_is_the_whole_number_also_among_all_labels() -> None:
    """1.0 is the label 1, so there are two labels, and half right is no better than a guess."""
    for written in ("1", "1.0"):
        effects = effects_on(
            f"rule one: movie -> film\n  expect: label {written}\n",
            [(f"movie {number}", str(number % 2)) for number in range(40)],
            lambda texts: [str(int(text[-1]) // 5 if "film" in text else 0) for text in texts],
        )
        found = robustness_of(effects)
        assert found.labels == 2
        assert (of(found, "all").after, of(found, "all").after_corrected) == (0.5, 0.0)
        [constant] = {each.constant for each in found.records}
        assert constant is not None
        assert (constant.answer, constant.rate) == ("1", 1.0)
    never = effects_on(
        "rule one: movie -> film\n  expect: label 1.0\n",
        [(f"movie {number}", str(number % 2)) for number in range(40)],
        lambda texts: ["0" for _ in texts],
    )
    assert not [note for note in document_of(never).notes if "expects the label" in note]


def test_a_rule_that_names_the_label_is_judged_by_it_on_rows_of_any_label() -> None:
    effects = effects_on(
        "is -> is by no means\n  expect: label negative\n", REVIEWS, lambda texts: [
            "negative" if "no means" in text or "bad" in text else "positive" for text in texts
        ],
    )  # fmt: skip
    whole = of(robustness_of(effects), "all")
    assert (whole.before, whole.after) == (1.0, 1.0)
    assert whole.constant is not None
    assert (whole.constant.answer, whole.constant.rate) == ("negative", 1.0)


def test_without_labels_nobody_guesses() -> None:
    data = LabelledRows(PLANTED.rows, "text", None, "known.csv")
    found = robustness_of(effects_of(data, rules=RULES))
    whole = of(found, "all")
    assert (found.labels, whole.before, whole.before_corrected, whole.constant) == (
        None, 1.0, None, None
    )  # fmt: skip
    effects, labels = effects_of(data, rules=RULES), ("yes", "no")  # those of templates
    beside = robustness(effects, gates=Gates(), tolerance=0.05, further=labels)
    assert beside is not None
    assert beside.labels is None


@pytest.mark.parametrize(
    ("labels", "rows", "counted"), [(12, 24, 12), (13, 26, None), (13, 259, None), (13, 260, 13)]
)
def test_answers_are_classes_if_labels_are_few(labels: int, rows: int, counted: int | None) -> None:
    labelled = [(f"movie {row}", f"label {row % labels}") for row in range(rows)]
    effects = effects_on("movie -> film", labelled, lambda texts: ["label 0"] * len(texts))
    assert robustness_of(effects).labels == counted


def test_without_a_tolerance_the_smallest_of_the_gates_counts() -> None:
    gates = ("robust:film=20%", "invariant:all=10%", "mean:all=1%")
    found = document_of(effects_of(PLANTED, rules=RULES), gates=gates).robustness
    assert found is not None
    assert found.tolerance == 0.1


@pytest.mark.parametrize(("rate", "within"), [("15%", True), ("14%", False)])
def test_an_interval_reaches_beyond_a_limit_that_the_gap_is_within(rate: str, within: bool) -> None:
    effects = effects_of(PLANTED, rules=RULES)
    found = document_of(effects, gates=(f"robust:all={rate}",), judge_by="proof").robustness
    assert found is not None
    [gate] = found.gates
    assert gate.outcome == "failed"
    assert gate.reason.endswith("the interval reaches beyond it") is within


# ---------------------------------------------------------------- templates as a column

SIZES = (27, 81, 243, 81, 27, 9)
POSITIVE = (0, 3)


def test_an_audit_by_template_shows_the_mean_over_templates_and_the_constant_answer() -> None:
    """Six templates; the model is right on the sentences of the third and the last two."""
    template = np.repeat(np.arange(6), SIZES).tolist()
    labelled = [(f"sentence {number} of {name}", "positive" if name in POSITIVE else "negative")
                for number, name in enumerate(template)]  # fmt: skip

    def predict(texts: Sequence[str]) -> list[str]:
        return ["positive" if text.endswith("1") else "negative" for text in texts]

    effects = effects_on("movie -> film", labelled, predict)
    document = document_of(effects, columns={"template": [f"t{each}" for each in template]})
    [column] = document.columns
    assert (column.values, column.pooled.count, column.mean) == (6, 279, 0.5)
    told = audit_markdown(document)
    assert "accuracy is 59.6% on all 468 rows" in told
    assert "50.0% averaged over the 6 values" in told
    assert "always answering `negative` would score 76.9% and 66.7%." in told
    assert "accuracy is 59.6% on all 468 rows" in audit_page(document)
    assert any("76.9% and 66.7%" in line for *_, line in robustness_lines(document))


def test_columns_of_numbers_and_data_without_labels_have_no_mean_over_values() -> None:
    effects = effects_of(PLANTED, rules=RULES)
    assert document_of(effects, columns={"year": list(range(200))}).columns == ()
    bare = effects_of(LabelledRows(PLANTED.rows, "text", None, "known.csv"), rules=RULES)
    assert document_of(bare, columns={"part": ["a"] * 200}).columns == ()


# ---------------------------------------------------------------- gates


@pytest.mark.parametrize(
    ("gate", "judge_by", "outcome"),
    [("robust:all=15%", "rate", "passed"), ("robust:all=14%", "rate", "failed"),
     ("robust:tag:words=14%", "evidence", "passed"), ("robust:film=5%", "evidence", "failed"),
     ("robust:all=15%", "proof", "failed"), ("robust:all=25%", "proof", "passed"),
     ("invariant:all=15%", "rate", "passed"), ("robust:show=5%", "rate", "not judged"),
     ("local:all=75%", "rate", "passed"), ("local:tag:words=76%", "rate", "failed"),
     ("local:all=80%", "evidence", "passed"), ("local:all=70%", "proof", "failed"),
     ("mean:all=75%", "rate", "passed"), ("mean:film=76%", "rate", "failed"),
     # All rows have one label, so the constant answer is right on all.
     ("corrected:all=50%", "rate", "not judged"), ("above-constant:all=0%", "rate", "failed")],
)  # fmt: skip
def test_a_gate_asks_for_what_the_record_says(gate: str, judge_by: str, outcome: str) -> None:
    document = document_of(effects_of(PLANTED, rules=RULES), gates=(gate,), judge_by=judge_by)
    assert document.verdict.outcome == outcome
    assert document.robustness is not None
    [judged] = document.robustness.gates
    assert (f"{judged.gate}={100 * judged.tolerance:g}%", judged.outcome) == (gate, outcome)
    root = ElementTree.fromstring(junit_xml(document))  # noqa: S314 - our own
    [case] = [each for each in root.iter("testcase") if each.attrib["name"] == gate.replace(
        "=", " at ")]  # fmt: skip
    kinds = {"passed": [], "failed": ["failure"], "not judged": ["failure"]}
    assert [each.tag for each in case] == kinds[outcome]
    if outcome == "failed":
        assert document.verdict.reasons[0].startswith(judged.gate)
        assert conclusion(document).startswith(f"The model fails: {judged.gate}")


@pytest.mark.parametrize(
    ("gate", "good"), [("corrected:all=40%", 10), ("above-constant:all=10%", 12)]
)
def test_a_gate_that_is_just_reached_is_passed(gate: str, good: int) -> None:
    """In floats 2 · 0.7 - 1 is less than 0.4, and 0.7 - 0.6 less than 0.1."""
    labelled = [(f"movie {n}", "good" if n < good else "bad") for n in range(20)]

    def predict(texts: Sequence[str]) -> list[str]:
        """The model is right on fourteen rows."""
        numbers = [int(text.split()[1]) for text in texts]
        return ["good" if (n < good) == (n < 14) else "bad" for n in numbers]

    document = document_of(effects_on("movie -> film", labelled, predict), gates=(gate,))
    assert document.verdict.outcome == "passed", document.verdict.reasons


def test_a_model_that_gets_better_fails_a_gate_of_invariance_alone() -> None:
    effects = effects_of(rows_of("g" * 15 + "k" * 15), rules=RULES)
    assert document_of(effects, gates=("robust:all=5%",)).verdict.outcome == "passed"
    assert document_of(effects, gates=("invariant:all=5%",)).verdict.outcome == "failed"


def test_what_passes_is_said_without_claiming_more() -> None:
    """Rules that clearly fail, and no limit but a tolerance that is wide enough."""
    document = document_of(effects_of(PLANTED, rules=RULES), gates=("robust:all=50%",))
    assert document.verdict.outcome == "passed"
    assert conclusion(document).startswith("The model passes: robust:all: accuracy goes from")


def test_required_support_counts_for_robustness_too() -> None:
    effects = effects_of(rows_of("kkk"), rules=RULES)
    document = document_of(effects, gates=("robust:all=5%",), require_support=True)
    assert document.verdict.outcome == "failed"


@pytest.mark.parametrize(
    ("gates", "told"),
    [(("robust:tag:wrods=5%",), "did you mean tag:words"),
     (("robust:severity:high=5%",), "the gate robust:severity:high matches no rule"),
     (("robust:film=5%", "robust:film=6%"), "the gate robust:film is given twice"),
     (("robust:=5%",), "is not a gate"), (("robust:film=500%",), "is not a gate")],
)  # fmt: skip
def test_gates_that_mean_nothing_are_reported(gates: tuple[str, ...], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        compile_and_check([RULES], Gates(own=tuple(map(read_gate, gates))), tagger=PinnedTagger())
    assert told in f"{caught.value.message} {caught.value.help}"


def test_a_gate_on_flips_and_one_on_robustness_can_stand_side_by_side() -> None:
    document = document_of(
        effects_of(PLANTED, rules=RULES), gates=("film=20%", "robust:film=20%"), tolerance=0.05
    )
    assert document.verdict.outcome == "passed"
    assert document.gates.own == {"film": 0.2, "robust:film": 0.2}
    assert document.robustness is not None
    assert of(document.robustness, "film").verdict == "not robust"


# ---------------------------------------------------------------- documents and reports


def test_a_document_with_robustness_comes_back_and_is_not_there_unasked(tmp_path: Path) -> None:
    effects = effects_of(PLANTED, rules=RULES)
    document = document_of(effects, tolerance=0.05, gates=("robust:all=5%",))
    write_document(document, tmp_path / "audit.json")
    assert read_audit(tmp_path) == document
    assert document_of(effects).robustness is None
    assert "robustness" not in audit_markdown(document_of(effects))


def test_reports_say_what_the_document_says() -> None:
    document = document_of(effects_of(PLANTED, rules=RULES), tolerance=0.1)
    page, words = audit_page(document), audit_markdown(document)
    assert document.robustness is not None
    whole = of(document.robustness, "all")
    for told in (page, words):
        assert "Semantic robustness at τ = 10%" in told
        assert "-15.0" in told
        assert f"({points(whole.low)} to {points(whole.high)})" in told
        assert "150 of 200, 75.0%" in told
        assert "90.0% [" not in told, "one label: nobody guesses"
    assert "<svg" in page
    assert "all rules: 75% at 0%, 100% at 90%" in page
    assert re.search(r"all rules at τ = 10%: not robust; accuracy goes from 90.0% to 75.0%",
                     "\n".join(map("".join, robustness_lines(document))))  # fmt: skip
    cases = [each.attrib["name"] for each in
             ElementTree.fromstring(junit_xml(document)).iter("testcase")]  # noqa: S314 # fmt: skip
    assert cases[-2:] == ["robust:all", "robust:tag:words"]


def test_names_that_are_markup_stay_text() -> None:
    effects = effects_on(
        'rule b: "<i>" -> movie\n',
        [(f"<i> {number}", "<b>x|</b>") for number in range(20)],
        lambda texts: ["<b>x|</b>"] * len(texts),
    )
    document = document_of(effects, tolerance=0.1, columns={"<u>": ["<s>"] * 20})
    assert "&lt;u&gt;" in audit_page(document)
    tables = [line for line in audit_markdown(document).splitlines() if line.startswith("|")]
    assert "x\\|" in "".join(tables)
    assert "x|" not in "".join(tables).replace("x\\|", "")
    assert document.model_dump_json().encode()
    assert not re.search(r"<(b|s|u)>", audit_page(document))
