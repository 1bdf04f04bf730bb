"""The reports of an audit say how sure a model is when it is right and when it is wrong."""

from __future__ import annotations

import pytest
from audited import audited, rows_of

from sears_dsl.auditing.document import answer_confidences, per_row_numbers, per_row_text
from sears_dsl.auditing.reports.answer_parts import histogram, mirrored
from sears_dsl.auditing.reports.markdown import audit_markdown
from sears_dsl.auditing.reports.page import audit_page
from sears_dsl.language.loader import parse

RULES = parse("rule film: movie -> film\nrule turn: movie -> reel\n  expect: flip\n")


def test_confidences_are_split_by_what_is_right_after_each_rule() -> None:
    found = answer_confidences(audited(rows_of("kkfgw"), rules=RULES, sure=(0.95, 0.35)))
    untouched, film = found
    assert (untouched.name, untouched.right, untouched.wrong) == (
        "rows as they are", (0.95,) * 3, (0.95,) * 2
    )  # fmt: skip
    # k and g are right after a rule, f and w are not; for an expected flip no answer is right.
    assert (film.id, film.right, film.wrong) == ("film", (0.35,) * 3, (0.35,) * 2)
    assert untouched.sure_and_wrong(0.9).count == 2
    assert film.sure_and_wrong(0.9).count == 0
    assert film.sure_and_wrong(0.35).count == 2


def test_an_answer_just_below_the_limit_is_not_called_sure() -> None:
    document = audited(rows_of("f" * 10), rules=RULES, sure=(0.95, 0.89996))
    _, film = answer_confidences(document)
    assert (len(film.wrong), film.sure_and_wrong(0.9).count) == (10, 0)
    assert document.rules[0].confidence is not None
    assert document.rules[0].confidence.sure_flips == 0


def test_page_and_markdown_say_every_count() -> None:
    document = audited(rows_of("k" * 6 + "f" * 4), rules=RULES, sure=(0.95, 0.35))
    page, markdown = audit_page(document), audit_markdown(document)
    assert "0.3 to 0.4: 4 wrong, 6 right" in page
    assert "0.9 to 1.0: 0 wrong, 10 right" in page
    assert "| rows as they are | 10 | 0.95 | 0 | – | 0 (–) |" in markdown
    assert "<br>film | 6 | 0.35 | 4 | 0.35 | 0 (0%) |" in markdown


def test_wrong_answers_are_sure_from_the_chosen_confidence_if_no_rule_is_tested() -> None:
    markdown = audit_markdown(audited(rows_of("w" * 10), rules=RULES, sure=(0.95, 0.35)))
    assert "| rows as they are | 0 | – | 10 | 0.95 | 10 (100%) |" in markdown


def test_a_model_that_does_not_say_how_sure_it_is_is_said_to_be_so() -> None:
    document = audited(rows_of("kf" * 10), rules=RULES)
    assert answer_confidences(document) == []
    for report in (audit_page(document), audit_markdown(document)):
        assert "Not given: the model reports no confidence." in report
    assert document.confidences == document.rules[0].confidences == ""


@pytest.mark.parametrize(
    ("values", "places"),
    [([0.0, 0.0999], {0: 2}), ([0.1], {1: 1}), ([0.5, 0.55], {5: 2}), ([0.9, 1.0], {9: 2})],
)
def test_a_tenth_begins_where_it_says(values: list[float], places: dict[int, int]) -> None:
    counts = histogram(values)
    assert {place: count for place, count in enumerate(counts) if count} == places


def test_bars_of_both_sides_are_shares_of_their_own_side() -> None:
    drawn = mirrored([0] * 9 + [1], [0] * 9 + [1000])
    assert drawn.count('width="108.0"') == 2
    assert 'aria-label="1 wrong answers, 1 of them in the highest tenth' in drawn


def test_numbers_of_rows_come_back_as_they_went() -> None:
    numbers = [1 / 3, 0.0, 1.0, 5e-324, 12345.0]
    assert per_row_numbers(per_row_text(numbers), 5) == numbers
    assert per_row_text([12345.0, 0.95]) == "12345 0.95"


def test_what_is_not_known_is_read_as_not_known() -> None:
    assert list(per_row_numbers(per_row_text([0.5, None, float("nan"), 0.0]), 4)) == [
        0.5,
        None,
        None,
        0.0,
    ]
    assert list(per_row_numbers(per_row_text([None]), 1)) == [None]
