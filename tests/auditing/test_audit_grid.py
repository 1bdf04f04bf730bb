"""Three or more audits as a grid: rates, paired tests against the first, pages, the command."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from audited import audited, rows_of
from click.testing import CliRunner
from rich.console import Console

import sears_dsl as sears
from sears_dsl.auditing.comparison import compare
from sears_dsl.auditing.document import AuditDocument, SentenceAnswers, read_audits, write_document
from sears_dsl.auditing.gates import Gates
from sears_dsl.auditing.grids import GridDocument, grid
from sears_dsl.auditing.reports.several_audits import comparison_page, grid_markdown, grid_page
from sears_dsl.cli.model.compare import compare_command, print_grid
from sears_dsl.errors import UsageError
from sears_dsl.language.loader import parse

RULES = parse("rule film: movie -> film\nrule none: zzz -> z\n")


def flipping(rows: set[int], *, model: str = "known") -> AuditDocument:
    """Forty rows on which the model is right, and the flips among them, counted from 1."""
    document = audited(rows_of("k" * 40), rules=RULES)
    film, silent = document.rules
    outcomes = "".join("f" if row in rows else "k" for row in range(1, 41))
    share = audited(rows_of("f" * len(rows) + "k" * (40 - len(rows))), rules=RULES).rules[0]
    changed = film.__class__(
        **{
            **{name: getattr(film, name) for name in film.__slots__},
            "outcomes": outcomes,
            "flips": share.flips,
            "judgement": share.judgement,
        }
    )
    return document.model_copy(update={"rules": (changed, silent), "model": model})


SOME, ALL = set(range(1, 5)), set(range(1, 31))


def test_the_folder_that_one_is_in_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        write_document(flipping(SOME), tmp_path / name / "audit.json")
    monkeypatch.chdir(tmp_path / "one")
    assert list(read_audits([Path(), Path("../other/audit.json")])) == ["one", "other"]


def test_each_model_is_held_against_the_first_on_the_same_rows() -> None:
    found = grid({"a": flipping(SOME), "b": flipping(ALL), "c": flipping(SOME | {7})})
    film, silent = found.rules
    rates = [each.failures.rate for each in film.cells if each.failures is not None]
    assert rates == [0.1, 0.75, 0.125]
    assert film.cells[0].against_first is None
    second, third = film.cells[1].against_first, film.cells[2].against_first
    assert second is not None
    assert third is not None
    assert (second.outcome, third.outcome) == ("worse", "no evidence")
    worst = found.models[1].worst_against_first
    assert worst is not None
    assert worst.outcome == "worse"  # of right answers more are better
    assert (second.paired.only_first, second.paired.only_second) == (0, 26)
    assert second.paired.p_value == pytest.approx(2 * 0.5**26)
    assert [each.against_first.outcome for each in silent.cells if each.against_first] == [
        "not compared"
    ] * 2
    assert found.worse
    assert found.summary[0].startswith("b against a on 2 rules: 0 better, 1 worse")


def test_all_tests_of_a_grid_are_one_family() -> None:
    """The more models there are, the more strictly the same pair is judged."""
    pair = compare(flipping(SOME), flipping(SOME | set(range(5, 12))))
    alone = pair.rules[0].failures.adjusted_p_value
    audits = {name: flipping(SOME | set(range(5, 12))) for name in "bcdefgh"}
    many = grid({"a": flipping(SOME), **audits}).rules[0].cells[1].against_first
    assert many is not None
    assert alone is not None
    assert many.paired.p_value == pair.rules[0].failures.p_value
    assert many.paired.adjusted_p_value is not None
    assert many.paired.adjusted_p_value > alone


def test_there_is_evidence_below_five_per_cent_after_holm() -> None:
    """The rule and the accuracy with it are tested, and the accuracy of the rows as they are."""
    for more, outcome in ((6, "no evidence"), (7, "worse")):  # p is 3 / 32 and 3 / 64
        compared = compare(flipping(SOME), flipping(SOME | set(range(5, 5 + more))))
        assert compared.rules[0].failures.adjusted_p_value == pytest.approx(3 * 2 / 2**more)
        assert compared.rules[0].outcome == outcome


def test_rules_that_change_nothing_have_no_worst_rewrites() -> None:
    silent = audited(rows_of("k" * 5), rules=parse("rule none: zzz -> z\n"))
    assert silent.together.accuracy is not None
    assert grid({"a": silent, "b": silent}).models[0].worst is None


def test_rows_that_any_rule_flips_are_compared_where_both_models_are_right() -> None:
    second = flipping({2, 3, 40}).model_copy(update={"right_rows": "1" * 39 + "0"})
    found = compare(flipping({1, 40}), second).rows_flipped
    assert (found.rows, found.first, found.second) == (39, 1, 2)


@pytest.mark.parametrize(
    ("option", "other"),
    [("comparison", "squad"), ("scope", "all"), ("unit", "sentence"), ("tagger", "other"),
     ("noise", {"seed": "2"}), ("protect", ["name"]), ("spans", ["span"])],
)  # fmt: skip
def test_audits_with_other_options_are_not_compared(option: str, other: object) -> None:
    first = flipping(SOME).model_copy(update={"noise": {"seed": "1"}})
    second = first.model_copy(update={option: other})
    if option in ("protect", "spans"):
        second = first.model_copy(update={"data": first.data.model_copy(update={option: other})})
    with pytest.raises(UsageError, match=f"the first audit was made with {option}"):
        compare(first, second)
    # An audit of an earlier version does not say what its noise was drawn by.
    compare(first, first.model_copy(update={"noise": {}}))


def test_template_sentences_are_compared_if_they_are_the_same() -> None:
    first, same, others = (
        flipping(SOME).model_copy(
            update={"sentences": SentenceAnswers(sha256=64 * mark, right=right)}
        )
        for mark, right in (("a", "110"), ("a", "100"), ("b", "100"))
    )
    found = compare(first, same).sentence_accuracy
    assert found is not None
    assert (found.rows, found.first, found.second) == (3, 2, 1)
    assert compare(first, others).sentence_accuracy is None


def test_a_rule_that_one_audit_lacks_is_not_compared() -> None:
    less = audited(rows_of("k" * 40), rules=parse("rule film: movie -> film"))
    found = grid({"a": flipping(SOME), "b": less, "c": flipping(SOME)})
    cell = found.rules[1].cells[1]
    assert cell.failures is None
    assert cell.against_first is not None
    assert cell.against_first.outcome == "not compared"
    other = audited(rows_of("k" * 40), rules=parse("rule other: movie -> show"))
    lacking = grid({"a": other, "b": flipping(SOME)})
    assert not any(line.startswith("only ") for line in lacking.summary)


def test_a_rule_that_changed_under_its_id_is_named_with_what_changed() -> None:
    data = rows_of("k" * 40)
    old, new = (
        audited(data, rules=parse(f"{options}rule film: movie -> film"))
        for options in ("", "option repair = on\n")
    )
    found = grid({"a": old, "b": old, "c": new})
    assert [
        each.against_first.outcome for each in found.rules[0].cells[1:] if each.against_first
    ] == [
        "no evidence",
        "not compared",
    ]
    told = "not compared, because changed in c: movie -> film (film) (option repair was off)"
    assert told in found.summary
    assert not any("changed in b" in line for line in found.summary)


@pytest.mark.parametrize("lost", [range(30), range(20)], ids=["all", "most"])
def test_rewrites_that_one_audit_lost_make_no_model_better(lost: range) -> None:
    """The same model and rules: only the oracle of one audit rejects rewrites."""
    rows = [(f"This movie {number}", "good") for number in range(30)]
    rules = sears.parse("movie -> film\nthis -> the")

    def model(texts: list[str]) -> list[str]:
        return ["bad" if "film" in text else "good" for text in texts]

    def oracle(rewrites: list[dict[str, str]]) -> list[bool]:
        rejected = {f"This film {number}" for number in lost}
        return [rewrite["text"] not in rejected for rewrite in rewrites]

    whole = sears.audit(model, rows, rules, scorer=None).document
    fewer = sears.audit(model, rows, rules, scorer=None, oracle=oracle).document
    for found in (compare(whole, fewer), compare(fewer, whole)):
        assert not found.worse
        for paired in (found.rows_flipped, found.worst_accuracy):
            assert paired is not None
            assert paired.only_first == paired.only_second == 0
        assert found.rows_flipped.first == 30 - len(lost)
    assert not grid({"a": fewer, "b": whole, "c": whole}).worse


def test_no_worst_rewrites_are_compared_where_audits_share_none() -> None:
    whole = flipping(ALL)
    halves = [
        whole.model_copy(update={"rules": (replace(whole.rules[0], rows=rows, outcomes=marks),)})
        for rows, marks in (("1 2 3", "kkf"), ("4 5", "ff"))
    ]
    assert compare(whole, halves[0]).worst_accuracy is not None
    assert compare(*halves).worst_accuracy is None


def test_rules_that_all_models_share_are_distinguished_from_those_of_one() -> None:
    found = grid({"a": flipping(SOME), "b": flipping(ALL), "c": flipping({7})})
    assert found.summary[-1] == "every model fails on movie -> film (film)"
    found = grid({"a": flipping(set()), "b": flipping(ALL), "c": flipping(set())})
    assert found.summary[-1] == "only b fails on movie -> film (film)"


def test_what_the_gates_say_of_each_model_comes_first() -> None:
    rows = rows_of("f" * 10 + "k" * 30)
    failed, passed = (
        audited(rows, rules=RULES, gates=Gates(flip_rate=limit)) for limit in (0.05, 0.9)
    )
    found = grid({"a": failed, "b": passed})
    assert [each.verdict for each in found.models] == ["failed", "passed"]
    assert found.summary[0].startswith("a: failed: ")
    assert found.summary[1] == "b: passed"
    assert "a: failed: " in grid_markdown(found)
    assert '<span class="chip failed">failed</span>' in grid_page(found)


def test_what_is_no_grid_is_reported() -> None:
    with pytest.raises(UsageError, match="a grid needs more than one audit"):
        grid({"a": flipping(SOME)})
    with pytest.raises(UsageError, match="the audits are of different rows"):
        grid({"a": flipping(SOME), "b": flipping(SOME), "c": audited(rows_of("k" * 9))})


def test_every_shade_is_a_number_and_names_stay_text() -> None:
    found = grid({"<a>": flipping(SOME), "b|": flipping(ALL), "c": flipping(set())})
    page, markdown = grid_page(found), grid_markdown(found)
    assert "<a>" not in page
    for cell in ("10% (40)", "75% (40) ▲", "0% (40)"):
        assert f">{cell}</text>" in page
        assert cell in markdown
    assert "b\\|" in markdown
    assert page.count("heat heat") == 6
    assert "movie -&gt; film: &lt;a&gt; 10%, b| 75%, c 0%" in page


def test_how_sure_each_model_is_stands_by_rule_where_it_says_so() -> None:
    """There is a column for training on no noise, half and all; each rule is a kind of noise."""
    sure = audited(rows_of("kkfgw"), sure=(0.95, 0.35))
    silent = audited(rows_of("kkfgw"))
    found = grid({"none": sure, "half": silent})
    untouched, film, *_ = found.confidences
    assert untouched.name == "rows as they are"
    [first, second] = film.cells
    assert first is not None
    assert (first.right, first.wrong) == (pytest.approx(0.35), pytest.approx(0.35))
    assert (first.right_answers, first.wrong_answers) == (3, 2)
    assert second is None
    page, markdown = grid_page(found), grid_markdown(found)
    assert '<td class="n">0.35 (2) | 0.35 (3)</td><td class="n">not given</td>' in page
    assert "| `movie -> film` | 0.35 (2) · 0.35 (3) | not given |" in markdown
    nobody = grid({"a": silent, "b": silent})
    assert nobody.confidences == ()
    for report in (grid_page(nobody), grid_markdown(nobody)):
        assert "Not given: no model reports its confidence." in report


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Console:
    """The screen of the command, 80 characters wide, which records what is printed."""
    screen = Console(width=80, record=True, file=StringIO(), markup=False, highlight=False)
    monkeypatch.setattr("sears_dsl.cli.model.compare.console", lambda **_: screen)
    return screen


def test_long_names_of_models_are_numbered_beside_the_rates(narrow: Console) -> None:
    audits = [flipping(rows) for rows in (SOME, ALL, set())]
    print_grid(grid({f"fine-tuned-on-reviews-{number}": each for number, each in
                     enumerate(audits)}))  # fmt: skip
    lines = [line.rstrip() for line in narrow.export_text().splitlines()]
    assert lines[:6] == [
        "rule                  1    2      3",
        "movie -> film (film)  10%  75% ▲  0%",
        "(failure rates; ▲ clearly above that of 1, ▼ below)",
        "1: fine-tuned-on-reviews-0",
        "2: fine-tuned-on-reviews-1",
        "3: fine-tuned-on-reviews-2",
    ]
    print_grid(grid({"a": audits[0], "b": audits[1]}))
    assert "rule                  a    b" in narrow.export_text()


def test_a_long_rule_stands_whole_above_its_numbers(tmp_path: Path, narrow: Console) -> None:
    long = "movie -> picture that somebody has shown in a theatre and in the cinema next door"
    paths = [tmp_path / "before.json", tmp_path / "after.json"]
    for path in paths:
        write_document(audited(rows_of("k" * 40), rules=parse(long)), path)
    CliRunner().invoke(compare_command, list(map(str, paths)), catch_exceptions=False)
    lines = [line.rstrip() for line in narrow.export_text().splitlines()]
    assert lines[:2] == ["rule", "  rows  fail before  after  points (95%)         p (Holm)"]
    assert " ".join(lines[2:4]) == long
    assert lines[4].split()[:3] == ["40", "100%", "100%"]


def test_the_command_writes_a_grid_of_more_than_two(tmp_path: Path) -> None:
    for name, rows in (("a", SOME), ("b", ALL), ("c", SOME), ("d", SOME)):
        (tmp_path / name).mkdir()
        write_document(flipping(rows), tmp_path / name / "audit.json")
    paths = [str(tmp_path / name) for name in "abc"]
    run = CliRunner().invoke
    done = run(compare_command, [*paths, "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "b against a" in done.stderr
    assert "75% ▲" in done.stderr
    assert "(failure rates; ▲ clearly above that of a, ▼ below)" in done.stderr
    written = (tmp_path / "out" / "comparison.json").read_bytes()
    document = GridDocument.model_validate_json(written)
    assert [each.name for each in document.models] == ["a", "b", "c"]
    assert (tmp_path / "out" / "comparison.html").read_text("utf-8") == grid_page(document)
    assert (tmp_path / "out" / "comparison.md").read_text("utf-8") == grid_markdown(document)
    (tmp_path / "latest").symlink_to(tmp_path / "d")
    assert list(read_audits([tmp_path / name for name in ("a", "b", "latest")])) == [
        "a", "b", "latest"
    ]  # fmt: skip
    assert run(compare_command, [*paths, "--quiet", "--fail-if-worse"]).exit_code == 1
    assert run(compare_command, [paths[0], paths[2], str(tmp_path / "d" / "audit.json"), "--quiet",
                                 "--fail-if-worse"]).exit_code == 0  # fmt: skip
    printed = run(compare_command, [*paths, "--json", "--quiet"])
    assert json.loads(printed.stdout) == json.loads(written)


def test_a_model_that_was_not_tested_is_not_said_to_do_better() -> None:
    wrong = audited(rows_of("w" * 40), rules=RULES)
    wrong = wrong.model_copy(update={"data": flipping(SOME).data})
    for other, named in ((flipping(set()), True), (wrong, False)):
        summary = grid({"a": flipping(SOME), "b": other}).summary
        assert any(line.startswith("only a fails on") for line in summary) is named


def test_where_nothing_is_compared_no_title_speaks_of_evidence() -> None:
    silent = audited(rows_of("k" * 40, word="story"), rules=RULES)
    silent = silent.model_copy(update={"labelled": False})
    assert "<h2>Nothing was compared</h2>" in comparison_page(compare(silent, silent))
    of_models = grid({"a": silent, "b": silent})
    assert grid_markdown(of_models).startswith("# Grid: not every model was compared")
    assert "<h2>Not every model was compared</h2>" in grid_page(of_models)
    known = {"a": flipping(SOME), "b": flipping(ALL)}
    unlabelled = flipping(ALL).model_copy(update={"labelled": False, "rules": ()})
    assert not grid(known).nothing_compared
    assert grid({**known, "c": unlabelled}).nothing_compared  # of one of them nothing
