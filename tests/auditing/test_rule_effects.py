"""An audit finds those effects of rules that the model was built to have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from audited import Known, audited, effects_of, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.auditing.audit import Circumstances, audit
from sears_dsl.auditing.document import RuleRecord, conclusion
from sears_dsl.auditing.gates import Gates
from sears_dsl.auditing.reports.page import audit_page
from sears_dsl.auditing.slices import question_type, slice_results, slicings
from sears_dsl.auditing.totals import count_together, flips_alone, over_draws, over_rates
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.effects.asked_model import try_model
from sears_dsl.effects.rule_effects import Effects, rule_effects
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.errors import DataError, ModelError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.language.printer import distinct_ids
from sears_dsl.models.cached import CachedPredictor, PredictionStore
from sears_dsl.models.predictor import Row, RowsRefused
from sears_dsl.statistics import fisher_exact, mcnemar_exact, q_values, share_of
from sears_dsl.tagging.pinned import PinnedTagger

kinds = st.text("kfgw", min_size=1, max_size=25)


@settings(deadline=None, max_examples=40)
@given(kinds)
def test_flips_are_those_that_the_model_was_built_with(letters: str) -> None:
    document = audited(rows_of(letters))
    film, show = document.rules
    count = letters.count
    assert (film.changed, film.right) == (len(letters), count("k") + count("f"))
    assert (film.flips.count, film.flips.total) == (count("f"), count("k") + count("f"))
    assert film.flips.rate == (count("f") / film.right if film.right else None)
    assert film.gained == count("g")
    assert film.accuracy_p_value == mcnemar_exact(count("f"), count("g"))
    assert film.outcomes == letters
    assert film.rows == " ".join(str(row + 1) for row in range(len(letters)))
    assert (show.changed, show.flips.rate, show.judgement.outcome) == (0, None, "not judged")
    accuracy = document.together.accuracy
    assert accuracy is not None
    assert document.together.flipped == film.flips
    # Of one part there is no rest to compare it with.
    labels = [(each.flipped, each.p_value) for each in document.slices if each.slicing == "label"]
    assert labels == [(film.flips, None)]
    assert accuracy.before.count == count("k") + count("f")
    assert accuracy.worst.count == count("k")
    assert accuracy.mean == pytest.approx((count("k") + count("g")) / len(letters))
    assert len(film.examples) == min(10, len(letters))
    assert sum(each.failed for each in film.examples) == min(10, count("f"))


@settings(deadline=None, max_examples=20)
@given(kinds)
def test_parts_have_the_numbers_of_their_rows(letters: str) -> None:
    parts = {"kind": list(letters), "place": ["ab"[row % 2] for row in range(len(letters))]}
    found = slice_results(effects_of(rows_of(letters)), parts)
    p_values = []
    for each in found:
        of_rows = list(zip(letters, parts[each.slicing], strict=True))
        inside = [kind for kind, part in of_rows if part == each.value]
        outside = [kind for kind, part in of_rows if part != each.value]
        flips, rest = ((kinds.count("f"), kinds.count("f") + kinds.count("k"))
                       for kinds in (inside, outside))  # fmt: skip
        assert each.rows == len(inside)
        assert each.accuracy == share_of(flips[1], len(inside))
        assert each.worst == share_of(inside.count("k"), len(inside))
        assert each.flipped == share_of(*flips)
        if flips[1] and rest[1]:
            assert each.p_value == float(fisher_exact(*flips, *rest))
            p_values.append(each.p_value)
        else:
            assert (each.p_value, each.q_value) == (None, None)
    known = [each.q_value for each in found if each.q_value is not None]
    assert known == q_values(p_values).tolist()


def test_each_expectation_is_judged_by_its_own_test() -> None:
    rules = parse(
        "rule same: movie -> film\n"
        "rule flip: movie -> tape\n  expect: flip\n"
        "rule label: movie -> reel\n  expect: label no\n"
    )
    same, flip, label = audited(rows_of("kkkffgw"), rules=rules).rules
    assert [(each.judgement.failures.count, each.judgement.failures.total) for each in
            (same, flip, label)] == [(2, 5), (3, 5), (4, 7)]  # fmt: skip
    assert label.outcomes == "fffkkwg"
    for record in (same, flip, label):  # what a comparison reads is what was judged
        failed = [not good for good, tested in zip(record.as_expected, record.tested, strict=True)
                  if tested]  # fmt: skip
        assert share_of(sum(failed), len(failed)) == record.judgement.failures


class Refusing:
    """A model that refuses row 2 and the rewrite of row 1; *film* makes it flip."""

    identity = "refusing"

    def predict(self, rows: Sequence[Row]) -> list[str]:
        texts = [row["text"] for row in rows]
        if {"movie 2", "film 1"}.intersection(texts):
            raise RowsRefused("content filter")
        return ["no" if "film" in text else "yes" for text in texts]


def test_what_a_model_refuses_is_no_flip_and_is_counted() -> None:
    rows = tuple({"text": f"movie {number}"} for number in range(30))
    data = LabelledRows(rows, "text", (("yes",),) * 30, "a.csv")
    rules = parse("movie -> film")
    with pytest.raises(ModelError, match="content filter"):
        rule_effects(
            compile_rules([rules], tagger=PinnedTagger()), data, CachedPredictor(Refusing())
        )
    model = CachedPredictor(Refusing(), on_error="skip")
    effects = rule_effects(compile_rules([rules], tagger=PinnedTagger()), data, model)
    [film] = effects.rules
    assert [row for row in range(30) if row not in film.rows] == [1, 2]
    assert film.flipped.sum() == 28
    assert (effects.right.sum(), effects.refused) == (29, 2)
    who = Circumstances(rulesets=(rules,), model="refusing", tagger="pinned")
    assert (
        "The model refused 1 of 30 rows, which count as wrong. 2 rewrites are left out: they or "
        "their rows were refused."
    ) in audit(effects, circumstances=who).notes
    other = LabelledRows(rows[1:2], "text", (("yes",),), "a.csv")
    alone = rule_effects(compile_rules([rules], tagger=PinnedTagger()), other, model)
    notes = " ".join(audit(alone, circumstances=who).notes)
    assert " 1 rewrite is left out: it or its row was refused." in notes


class Silent:
    identity = "silent"

    def predict(self, rows: Sequence[Row]) -> list[str]:
        raise RowsRefused("content filter")


def test_a_model_that_refuses_every_row_is_not_said_to_use_other_labels() -> None:
    rows = tuple({"text": f"movie {number}"} for number in range(3))
    rules = parse("movie -> film")
    effects = rule_effects(
        compile_rules([rules], tagger=PinnedTagger()),
        LabelledRows(rows, "text", (("yes",),) * 3, "a.csv"),
        CachedPredictor(Silent(), on_error="skip"),
    )
    who = Circumstances(rulesets=(rules,), model="silent", tagger="pinned")
    notes = " ".join(audit(effects, circumstances=who).notes)
    assert "The model refused 3 of 3 rows" in notes
    assert "1 rule changes no row that the model answers: movie -> film" in notes
    assert "do they mean the same?" not in notes


def test_an_audit_of_which_no_rewrite_is_left_says_who_refused_them() -> None:
    """It does not say that no rule changes a row, as if the rules or the column were wrong."""
    rows = tuple({"text": f"movie {number}"} for number in range(3))
    rules = parse("movie -> film")
    matcher = compile_rules([rules], tagger=PinnedTagger())
    data = LabelledRows(rows, "text", (("yes",),) * 3, "a.csv")
    who = Circumstances(rulesets=(rules,), model="silent", tagger="pinned")
    refused = rule_effects(matcher, data, CachedPredictor(Silent(), on_error="skip"))
    document = audit(refused, circumstances=who, gates=Gates(flip_rate=0.1))
    told = "the model refused 3 rewrites or their rows"
    assert conclusion(document) == (
        f"Nothing can be said about the model: no rewrite is left, because {told}."
    )
    assert document.rules[0].judgement.reason == f"nothing to test: {told}"
    assert document.verdict.outcome == "not judged"
    assert told in audit_page(document).partition("changed no row")[2]
    # There is only one row that the model does not refuse; the refused ones are reported too.
    partly = rule_effects(
        matcher,
        LabelledRows(rows, "text", (("yes",),) * 3, "a.csv"),
        CachedPredictor(Refusing(), on_error="skip"),
    )
    assert conclusion(audit(partly, circumstances=who)) == (
        "Too few rows were tested to judge the model: no rule changes more than 1 row that the "
        "model gets right, and 20 are needed; the model refused 2 rewrites or their rows."
    )


def test_a_search_whose_model_refuses_every_row_does_not_ask_about_labels() -> None:
    rows = tuple({"text": f"movie {number}"} for number in range(30))
    data = LabelledRows(rows, "text", (("yes",),) * 30, "a.csv")
    refused = r"of 16 rows tried \(of 30 rows of a.csv\) the model refuses all"
    with pytest.raises(DataError, match=refused) as caught:
        try_model(data, CachedPredictor(Silent(), on_error="skip"))
    assert "mean the same" not in (caught.value.help or "")


def test_rows_flipped_by_any_rule_are_counted_once() -> None:
    rules = parse("rule one: movie -> film\nrule two: movie -> tape\nrule three: play -> show\n")
    movies, plays = rows_of("kkff"), rows_of("f", word="play")
    data = LabelledRows((*movies.rows, *plays.rows), "text", (("yes",),) * 5, "known.csv")
    document = audited(data, rules=rules)
    whole = document.together
    assert (whole.changed, whole.flipped.count, whole.flipped.total) == (5, 3, 5)
    assert [(each.first, each.second, each.both, each.either) for each in whole.overlaps] == [
        ("one", "two", 2, 2)
    ]
    assert [each.flips_alone for each in document.rules] == [0, 0, 1]


def test_rows_that_no_rule_changes_count_as_they_are_in_the_mean() -> None:
    movies, plays = rows_of("kkffw"), rows_of("kkkww", word="play")
    data = LabelledRows((*movies.rows, *plays.rows), "text", (("yes",),) * 10, "known.csv")
    film = parse("rule film: movie -> film\n")
    accuracy = audited(data, rules=film).together.accuracy
    assert accuracy is not None
    assert (accuracy.before.count, accuracy.mean, accuracy.worst.count) == (7, 0.5, 5)


def test_of_overlaps_that_are_as_large_the_closer_pair_comes_first() -> None:
    rules = parse("rule z: movie -> film\nrule two: movie -> tape\nrule three: movie -> reel\n"
                  "rule turn: movie -> clip\n  expect: flip\n")  # fmt: skip
    effects = effects_of(rows_of("ffff"), rules=rules)
    right = [[True, False, False, False], [False] * 4, [True, True, False, False]]
    changed = [replace(rule, right_after=np.array(flags))
               for rule, flags in zip(effects.rules, right, strict=False)]  # fmt: skip
    effects = replace(effects, rules=(*changed, effects.rules[3]))
    assert [(each.first, each.second, each.both, each.either)
            for each in count_together(effects).overlaps] == [
        ("z", "two", 3, 4), ("z", "three", 2, 3), ("two", "three", 2, 4)
    ]  # fmt: skip
    # The rule that expects another answer flips no row.
    assert flips_alone(effects) == [0, 1, 0, 0]


def test_a_draw_that_tests_no_row_counts_in_no_mean() -> None:
    data = rows_of("kkkf")
    first, other, nothing = (
        effects_of(data, rules=parse(f"rule film: {word} -> film\n"))
        for word in ("movie", "movie", "zzz")
    )
    [drawn] = over_draws(first, [other, nothing])
    assert (drawn.rates, drawn.mean, drawn.worst) == ((0.25, 0.25, None), 0.25, 0.25)


def test_accuracy_over_rates_is_by_what_the_rule_expects() -> None:
    effects = effects_of(
        rows_of("kkkfw"), rules=parse("rule turn: movie -> clip\n  expect: flip\n")
    )
    [curve] = over_rates(effects, [(0.5, effects)])
    assert [each.accuracy.count for each in curve.points] == [4, 2]


def test_without_labels_the_models_own_answers_count_and_accuracy_is_not_given() -> None:
    labelled = rows_of("kfgw")
    data = LabelledRows(labelled.rows, "text", None, "known.csv")
    document = audited(data)
    film = document.rules[0]
    assert (film.flips.count, film.flips.total) == (2, 4)  # g changes its answer too
    assert document.together.accuracy is None
    assert all(each.accuracy is None for each in document.slices)
    assert any("No label column" in note for note in document.notes)
    assert all(each.label is None for each in film.examples)


def test_confidence_is_that_of_the_answers_and_not_given_without() -> None:
    film = audited(rows_of("kkf"), sure=(0.95, 0.75)).rules[0]
    found = film.confidence
    assert found is not None
    assert found.rows == 3
    assert (found.before, found.after) == pytest.approx((0.95, 0.75))
    assert found.change == pytest.approx(-0.2)
    assert found.change_kept == pytest.approx(-0.2)
    assert found.change_interval == pytest.approx((-0.2, -0.2))
    assert found.sure_flips == 0
    # Those at the limit are sure, and those that were not sure before are no sure flips.
    for sure, flips in (((0.95, 0.92), 1), ((0.9, 0.9), 1), ((0.8, 0.95), 0)):
        surer = audited(rows_of("kkf"), sure=sure).rules[0].confidence
        assert surer is not None
        assert surer.sure_flips == flips
    single = audited(rows_of("k"), sure=(0.95, 0.92)).rules[0].confidence
    assert single is not None
    assert single.change_interval is None


def known_effects(letters: str, **arrays: list[float]) -> Effects:
    """Effects of a rule with confidences or scores that are known beforehand."""
    effects = effects_of(rows_of(letters), rules=parse("rule film: movie -> film\n"))
    values = {name: np.array(numbers) for name, numbers in arrays.items()}
    return replace(effects, rules=(replace(effects.rules[0], **values),))


def film_of(effects: Effects) -> RuleRecord:
    who = Circumstances(rulesets=(parse("movie -> film"),), model="known", tagger="pinned")
    return audit(effects, circumstances=who).rules[0]


def test_rows_whose_confidence_is_not_known_count_in_no_mean() -> None:
    unknown = float("nan")
    effects = known_effects(
        "kkkf", confidence_before=[unknown, 0.8, 0.6, 0.7], confidence_after=[0.9, 0.5, unknown, 1]
    )
    found = film_of(effects).confidence
    assert found is not None
    assert (found.rows, found.before, found.after) == pytest.approx((2, 0.75, 0.75))
    assert (found.change, found.change_kept) == pytest.approx((0, -0.3))


def test_examples_are_failures_first_by_meaning_then_by_confidence() -> None:
    effects = known_effects(
        "kfffw",
        scores=[0.1, 0.5, 0.9, 0.9, 1.0],
        confidence_before=[0.5] * 5,
        confidence_after=[0.5, 0.95, 0.6, 0.8, 0.99],
    )
    assert [each.row for each in film_of(effects).examples] == [4, 3, 2, 1, 5]
    document = audited(rows_of("kkf"))
    assert document.rules[0].confidence is None
    assert any("reports no confidence" in note for note in document.notes)


class Lengths:
    """A scorer: the longer the rewrite, the higher the score."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    def scores(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        self.pairs += pairs
        return np.array([len(after) / 100 for _, after in pairs])


def test_scores_of_a_sample_say_how_large_it_is() -> None:
    data, scorer = rows_of("k" * 30), Lengths()
    rules = [parse("movie -> film")]
    first = rule_effects(
        compile_rules(rules, tagger=PinnedTagger()), data, Known(), scorer=scorer, score_at_most=5
    )
    again = rule_effects(
        compile_rules([*rules, parse("play -> show")], tagger=PinnedTagger()), data, Known(),
        scorer=Lengths(), score_at_most=5,
    )  # fmt: skip
    scores = first.rules[0].scores
    assert scores is not None
    assert np.isfinite(scores).sum() == len(scorer.pairs) == 5
    # Which rows are drawn does not depend on the other rules.
    assert again.rules[0].scores == pytest.approx(scores, nan_ok=True)
    other = rule_effects(
        compile_rules(rules, tagger=PinnedTagger()), data, Known(), scorer=Lengths(),
        score_at_most=5, seed=1,
    )  # fmt: skip
    assert other.rules[0].scores != pytest.approx(scores, nan_ok=True)
    assert effects_of(data).rules[0].scores is None


def test_rules_that_change_the_meaning_are_in_doubt() -> None:
    rules = parse("rule short: movie -> tv\nrule long: movie -> cinematography")
    data = rows_of("kf" * 25)
    effects = rule_effects(
        compile_rules([rules], tagger=PinnedTagger()), data, Known(), scorer=Lengths()
    )
    who = Circumstances(rulesets=(rules,), model="m", tagger="t", scorer="lengths", tau=0.2)
    document = audit(effects, circumstances=who)
    short, long = (each.meaning for each in document.rules)
    assert short is not None
    assert long is not None
    assert (short.at_tau.count, short.flips_at_tau.total, short.in_doubt) == (0, 25, True)
    assert (long.at_tau.count, long.flips_at_tau.count, long.in_doubt) == (50, 25, False)
    exactly = audit(effects, circumstances=replace(who, tau=0.1)).rules[0].meaning
    assert exactly is not None
    assert exactly.at_tau.count == 50  # ten of them have this S
    for kept, in_doubt in ((42, False), (40, True)):  # p is 0.12 and 0.025
        assert replace(short, at_tau=share_of(kept, 50)).in_doubt is in_doubt
    [note] = [each for each in document.notes if "meaning" in each and "short" in each]
    assert "long" not in note


def test_no_scorer_is_asked_about_other_characters_of_the_same_words() -> None:
    """It would say that look-alikes change the meaning, but no reader notices them."""
    rules = parse("rule alike: movie -> $1.homoglyph\nrule loud: movie -> $1.upper\n"
                  "rule film: movie -> film")  # fmt: skip
    scorer = Lengths()
    effects = rule_effects(
        compile_rules([rules], tagger=PinnedTagger()), rows_of("k" * 5), Known(), scorer=scorer
    )
    assert [each.scores is None for each in effects.rules] == [True, True, False]
    assert len(scorer.pairs) == 5
    who = Circumstances(rulesets=(rules,), model="m", tagger="t", scorer="lengths", tau=0.99)
    document = audit(effects, circumstances=who)
    assert [each.meaning is None for each in document.rules] == [True, True, False]
    [doubt] = [each for each in document.notes if "may be the right answer" in each]
    assert "alike" not in doubt
    assert any(each.startswith("2 rules write the same words") for each in document.notes)


def test_rules_of_one_name_in_two_files_are_told_apart() -> None:
    twice = [parse("rule x: a -> b", path="one.sear"), parse("rule x: b -> c", path="two/one.sear")]
    assert distinct_ids(twice) == ("one/x", "two/one/x")
    numbered = [parse("rule x: a -> b\nrule x-2: b -> c", path="one.sear")] * 2
    assert len(set(distinct_ids(numbered))) == 4
    matcher = compile_rules(twice, tagger=PinnedTagger())
    assert len(rule_effects(matcher, rows_of("k"), Known()).rules) == 2


def test_a_model_that_fails_half_way_loses_nothing(tmp_path: Path) -> None:
    class Failing(Known):
        def __init__(self, most: int) -> None:
            super().__init__()
            self.most = most

        def predict_with_confidence(self, rows: Sequence[Row]) -> list:
            if self.asked + len(rows) > self.most:
                raise ModelError("out of memory")
            return super().predict_with_confidence(rows)

    data, rules = rows_of("kf" * 10), [parse("movie -> film")]

    def run(model: Known) -> int:
        with PredictionStore(tmp_path / "p.sqlite3") as store:
            cached = CachedPredictor(model, store=store, batch_size=4)
            found = rule_effects(compile_rules(rules, tagger=PinnedTagger()), data, cached)
        return int(found.rules[0].flipped.sum())

    failing = Failing(30)
    with pytest.raises(ModelError, match="out of memory"):
        run(failing)
    whole = Known()
    assert run(whole) == 10
    assert failing.asked + whole.asked == 2 * len(data.rows)


def test_slices_hold_every_row_once() -> None:
    data = rows_of("kfkw" * 20)
    columns = {"n": list(range(80)), "odd": [str(place % 2) for place in range(80)],
               "some": [None, "a"] * 40, "many": [f"v{place}" for place in range(80)]}  # fmt: skip
    parts = slicings(data, columns)
    assert set(parts) == {"label", "length", "n", "odd", "some", "many"}
    assert [len(set(parts[name])) for name in ("n", "odd", "some")] == [4, 2, 2]
    assert parts["n"][0] == "0 to 19"
    assert "(other)" in parts["many"]
    assert parts["some"][:2] == ["(empty)", "a"]
    document = audited(data, columns=columns)
    for name in parts:
        of_slicing = [each for each in document.slices if each.slicing == name]
        assert sum(each.rows for each in of_slicing) == 80
        assert sum(each.flipped.count for each in of_slicing) == 20
    even, odd = (each for each in document.slices if each.slicing == "odd")
    # Rows 1, 5, 9, … flip: all of them are odd.
    assert (even.flipped.count, odd.flipped.count, odd.flipped.total) == (0, 20, 20)
    assert odd.q_value is not None
    assert odd.q_value < 0.001
    length = next(each for each in document.slices if each.slicing == "length")
    assert (length.value, length.p_value) == ("4 words", None)


def test_a_column_of_another_length_is_refused() -> None:
    with pytest.raises(UsageError, match="3 values for 2 rows"):
        slicings(rows_of("kk"), {"n": [1, 2, 3]})


@pytest.mark.parametrize(
    ("text", "kind"),
    [("What is it?", "what"), ("Isn't it?", "yes or no"), ("How much is it?", "how many"),
     ("How is it?", "how"), ("To whom?", "whom"), ("Really?", "(other)"), ("So.", "(no question)")],
)  # fmt: skip
def test_question_types_follow_from_the_words(text: str, kind: str) -> None:
    assert question_type(text) == kind


def test_a_slicing_has_few_labels_and_mostly_questions() -> None:
    def names(count: int, labels: int, questions: int) -> set[str]:
        rows = tuple({"q": f"is it {row}{'?' * (row < questions)}"} for row in range(count))
        of_rows = tuple((f"label {row % labels}",) for row in range(count))
        return set(slicings(LabelledRows(rows, "q", of_rows, "a"), {})) - {"length"}

    assert names(24, 12, 12) == {"label"}
    assert names(26, 13, 14) == {"question type"}
    assert names(259, 13, 0) == set()
    assert names(260, 13, 0) == {"label"}


def test_rows_of_questions_are_sliced_by_type() -> None:
    rows = tuple({"q": text} for text in ("What is it?", "Is it?", "Red."))
    assert slicings(LabelledRows(rows, "q", None, "a"), {})["question type"] == [
        "what", "yes or no", "(no question)"
    ]  # fmt: skip
