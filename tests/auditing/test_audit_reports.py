"""Reports say what the document says, and nothing in a row or rule can break them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from audited import audited, rows_of

import sears_dsl as sears
from sears_dsl.auditing.comparison import NO_ROW, compare
from sears_dsl.auditing.document import AuditDocument, conclusion, read_audit, write_document
from sears_dsl.auditing.gates import Gate, Gates, read_gate
from sears_dsl.auditing.grids import grid
from sears_dsl.auditing.reports.files import add_summary, junit_xml
from sears_dsl.auditing.reports.markdown import audit_markdown, audit_summary, together_in_words
from sears_dsl.auditing.reports.page import audit_page
from sears_dsl.auditing.reports.several_audits import comparison_markdown, comparison_page
from sears_dsl.auditing.reports.sheet import top_for
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.errors import DataError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.runtime.markdown_tables import code_cell, code_span, markdown_text
from sears_dsl.statistics import binomial_tail, share_of

RULES = parse(
    'rule film: movie -> film\n  why: "<b>Words</b> & such"\n'
    "rule tape: movie -> tape\n  severity: high\n"
    "rule show: play -> show\n"
    "rule turn: movie -> reel\n  expect: flip\n"
)
GATES = Gates(flip_rate=0.1, rows_flipped=0.5)


@pytest.fixture(scope="module")
def document() -> AuditDocument:
    return audited(rows_of("k" * 30 + "fffggw"), rules=RULES, gates=GATES, sure=(0.95, 0.93))


@pytest.fixture(scope="module")
def hostile() -> AuditDocument:
    """Rows with markup of HTML, XML and Markdown, control characters and a lone surrogate."""
    text = '<script>alert(1)</script> ]]> | `x` \x00\x1b \ud83d & "it\'s" 0 f movie'
    data = LabelledRows(({"text": text},) * 25, "text", (("yes",),) * 25, "a.csv")
    return audited(data, rules=RULES, gates=GATES)


def test_a_document_comes_back_as_it_went(tmp_path: Path, document: AuditDocument) -> None:
    write_document(document, tmp_path / "audit.json")
    assert read_audit(tmp_path / "audit.json") == document
    assert read_audit(tmp_path) == document
    first = (tmp_path / "audit.json").read_bytes()
    write_document(read_audit(tmp_path), tmp_path / "audit.json")
    assert (tmp_path / "audit.json").read_bytes() == first


def test_what_is_no_audit_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="could not be read"):
        read_audit(tmp_path)
    (tmp_path / "audit.json").write_text('{"format": "sears-audit", "version": 2}')
    with pytest.raises(DataError, match="not an audit that this version reads"):
        read_audit(tmp_path)


def test_junit_is_read_by_a_parser_of_continuous_integration(document: AuditDocument) -> None:
    junitparser = pytest.importorskip("junitparser")
    suites = junitparser.JUnitXml.fromstring(junit_xml(document))
    [suite] = list(suites)
    cases = {case.name: case for case in suite}
    short = {name.partition(":")[0]: case for name, case in cases.items()}
    assert list(cases) == [
        "film: movie -> film", "tape: movie -> tape", "show: play -> show", "turn: movie -> reel",
        "all rules",
    ]  # fmt: skip
    # A skipped case names its rule, and says why there is no verdict.
    assert "play -> show" in short["show"].result[0].text
    assert "nothing to test: the rule changes no row" in short["show"].result[0].text
    cases = short
    assert (suite.tests, suite.failures, suite.skipped, suite.errors) == (5, 1, 1, 0)
    assert isinstance(cases["turn"].result[0], junitparser.Failure)
    assert "30 of 33 fail (91%), clearly above 10%" in cases["turn"].result[0].message
    assert "row 1: row 0 k movie -> row 0 k reel" in cases["turn"].result[0].text
    assert isinstance(cases["show"].result[0], junitparser.Skipped)
    assert "the rule changes no row" in cases["show"].result[0].message
    assert cases["film"].is_passed
    assert cases["all rules"].is_passed


def test_junit_holds_whatever_rows_hold(hostile: AuditDocument) -> None:
    root = ElementTree.fromstring(junit_xml(hostile))  # noqa: S314 - our own
    told = root.findall(".//failure")
    assert len(told) == 3
    assert "<script>alert(1)</script> ]]>" in (told[0].text or "")
    assert "\\x00\\x1b \ufffd" in (told[0].text or "")
    whole = root.find(".//testcase[@name='all rules']/failure")
    assert whole is not None
    suite = root.find("testsuite")
    assert suite is not None
    assert suite.get("failures") == "3"


def test_rules_without_a_limit_are_skipped_in_junit_and_never_passed() -> None:
    document = audited(rows_of("k" * 30), rules=RULES)
    root = ElementTree.fromstring(junit_xml(document))  # noqa: S314 - our own
    assert len(root.findall(".//skipped")) == len(root.findall(".//testcase")) == 4


@pytest.mark.parametrize(("required", "failures"), [(False, 1), (True, 3)])
def test_all_rules_on_too_few_rows_are_never_passed_in_junit(required: bool, failures: int) -> None:
    gates = Gates(rows_flipped=0.5, require_support=required)
    root = ElementTree.fromstring(  # noqa: S314 - our own
        junit_xml(audited(rows_of("kkk"), gates=gates))
    )
    told = root.find(".//testcase[@name='all rules']/failure")
    assert told is not None
    assert "too little support: 3 rows tested" in told.attrib["message"]
    assert root.attrib["failures"] == str(failures)


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize(
    "limits",
    [{}, {"flip_rate": 0.05}, {"rows_flipped": 0.05}, {"own": (Gate("show", 0.1),)},
     {"flip_rate": 0.05, "own": (Gate("show", 0.1),)}, {"own": (Gate("all", 0.1, "robust"),)}],
)  # fmt: skip
@pytest.mark.parametrize("rows", ["k", "w" * 9, "k" * 30, "f" * 30, "k" * 30 + "w" * 30])
def test_junit_has_a_failure_wherever_the_verdict_is_no_pass(
    required: bool, limits: dict[str, Any], rows: str
) -> None:
    """So that the test report of a server is red whenever the build is."""
    if required and not limits:
        return
    document = audited(rows_of(rows), gates=Gates(require_support=required, **limits))
    root = ElementTree.fromstring(junit_xml(document))  # noqa: S314 - our own
    fails = document.verdict.outcome in ("failed", "not judged")
    assert (int(root.attrib["failures"]) > 0) == fails, document.verdict
    verdict = root.find(".//testcase[@name='verdict']/failure")
    if verdict is not None:
        assert verdict.text == "\n".join(document.verdict.reasons)


def test_a_model_that_is_never_right_is_an_error_that_says_why_that_may_be() -> None:
    data = LabelledRows(({"text": "0 k movie"},) * 25, "text", (("1",),) * 25, "a.csv")
    document = audited(data, gates=GATES)
    assert document.verdict.outcome == "not judged"
    assert document.notes[0].startswith(
        "The model gets no row right. It answers 'yes'; the labels are '1'; do they mean the same? "
    )


def test_a_label_that_the_model_never_answers_is_the_first_note() -> None:
    texts = [f"{each} k movie" for each in range(40)]
    data = LabelledRows(
        tuple({"text": text} for text in (*texts, *(f"{each} w movie" for each in range(20)))),
        "text", (("yes",),) * 40 + (("NO",),) * 20, "a.csv",
    )  # fmt: skip
    document = audited(data)
    assert document.notes[0].startswith("The model never answers 'NO', and its answer 'no' is no")
    assert document.verdict.outcome == "measured"


def test_a_label_that_nobody_knows_is_reported() -> None:
    rules = parse("movie -> film\n  expect: label ye\nmovie -> reel\n  expect: label no\n")
    notes = audited(rows_of("k" * 25 + "w"), rules=rules).notes
    told = [each for each in notes if "expects the label" in each]
    assert len(told) == 1
    assert "expects the label 'ye', which no row has and the model never gives." in told[0]
    # The model gives it after the rule, or before.
    for letters in ("fff", "ggg"):
        notes = audited(rows_of(letters), rules=rules).notes
        assert len([each for each in notes if "expects the label" in each]) == 1


class Page(HTMLParser):
    """The file as a browser would see it, as far as it matters here."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def pages(document: AuditDocument) -> list[str]:
    return [audit_page(document), comparison_page(compare(document, document))]


def test_pages_are_whole_and_ask_nobody_for_anything(
    document: AuditDocument, hostile: AuditDocument
) -> None:
    for content in (*pages(document), *pages(hostile)):
        page = Page(content)
        assert not page.open
        assert page.tags.count("script") == page.tags.count("style") == 1
        assert not {"link", "img", "iframe", "object"} & set(page.tags)
        names = {name for name, _ in page.attributes}
        assert not {name for name in names if name.startswith("on") or name in ("style", "src")}
        assert all(
            (value or "").startswith("#") for name, value in page.attributes if name == "href"
        )
        assert not re.search(r"https?://|@import|url\(", content)
        assert "default-src 'none'" in content


def test_text_of_rows_stays_text(hostile: AuditDocument) -> None:
    content = audit_page(hostile)
    assert "<script>alert" not in content
    assert "<b>Words" not in content
    assert "<script>alert(1)</script>" in Page(content).text
    assert "\x00" not in content
    for line in audit_markdown(hostile).splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (11, 5), "rules, and parts of rows"


def test_pages_say_what_the_document_says(document: AuditDocument) -> None:
    text = Page(audit_page(document)).text
    assert re.search(r"\d+ of \d+ rows, 95% ", text)
    assert not re.search(r"(95% [\d.]+%–[\d.]+%), \1", text)
    assert "The model fails" in text
    assert "4 rules: 1 failed, 2 passed, 1 not judged" in text
    assert "movie -> reel (turn): 30 of 33 fail (91%), clearly above 10%" in text
    assert "that the model gets right; 3 become wrong under at least one rule" in text
    assert "1 rule changed no row" in text
    assert "flips with confidence ≥ 90%" in text
    assert "S not given" in text
    unsure = Page(audit_page(audited(rows_of("k" * 30), rules=RULES))).text
    assert "confidence not given" in unsure
    assert "no limit is set" in unsure


def test_every_row_of_the_table_leads_to_its_details(document: AuditDocument) -> None:
    page = Page(audit_page(document))
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    targets = {(value or "")[1:] for name, value in page.attributes if name == "href"}
    assert targets <= set(filter(None, ids))
    assert len(targets) == 3


def test_a_pull_request_is_told_the_decision_and_what_failed(
    tmp_path: Path, document: AuditDocument, hostile: AuditDocument
) -> None:
    told = audit_summary(document)
    assert told.startswith("### Robustness: failed\n\n> [!CAUTION]\n> ")
    assert "| `movie -> reel`<br>turn | failed |" in told
    assert "<details><summary>Examples</summary>" in told
    lines = audit_summary(hostile).splitlines()
    assert not any("<script" in line.replace("\\<script", "") for line in lines)
    assert len({line.count(" | ") for line in lines if line.startswith("| `")}) == 1
    # A comment notifies nobody, even if a row has a @name.
    called = document.model_copy(update={"notes": ("ask @ann of a/b#7, ann@home",)})
    assert "ask @&#8203;ann of a/b\\#&#8203;7, ann@home" in audit_markdown(called)
    file = tmp_path / "summary.md"
    for before in ("Before.\n", "Before."):
        file.write_text(before)
        add_summary(audit_summary(document), file)
        assert file.read_text() == "Before.\n" + told


def test_a_long_rule_stands_in_full_once_and_elsewhere_in_brief() -> None:
    long = f"movie -> film / {'very ' * 30}__"
    document = audited(rows_of("k" * 20 + "f" * 5), rules=RULES)
    film, *others = document.rules
    document = document.model_copy(update={"rules": (replace(film, rule=long), *others)})
    report = audit_markdown(document)
    assert "| `movie -> film …`<br>film | same |" in report
    assert "- `movie -> film …` (film) and `movie -> tape` (tape): 5 of 5 flipped rows" in report
    assert report.count(long) == 1
    assert f"- film: `{long}`" in report
    told = audit_summary(document)
    assert "| `movie -> film …`<br>film |" in told
    assert long not in told
    page = Page(audit_page(document))
    assert page.text.count(long) == 1
    assert "Long rules in full" not in audit_markdown(audited(rows_of("k" * 20), rules=RULES))


def test_code_in_a_table_is_left_whole() -> None:
    assert code_cell("a|b `c`") == "`` a\\|b `c` ``"
    assert code_span("a|b `c`") == "`` a|b `c` ``"
    assert markdown_text("&lt;b> &copy;") == "\\&lt;b\\> \\&copy;"


def test_half_a_character_does_not_stop_a_document(tmp_path: Path, hostile: AuditDocument) -> None:
    write_document(hostile, tmp_path / "audit.json")
    example = read_audit(tmp_path).rules[0].examples[0]
    assert "\ufffd" in example.original
    assert [example.original[start:end] for start, end, *_ in example.edits] == ["movie"]


# ---------------------------------------------------------------- comparisons


def test_comparing_pairs_the_rows_that_both_have_right() -> None:
    data = rows_of("k" * 60)
    first, second = audited(data), audited(data)
    # In the second audit the model flips rows 1 to 9, and is wrong on row 60 before the rule.
    film = second.rules[0]
    changed = replace(film, outcomes="f" * 9 + "k" * 50 + "w")
    second = second.model_copy(
        update={"rules": (changed, *second.rules[1:]), "right_rows": "1" * 59 + "0"}
    )
    found = compare(first, second)
    pair = found.rules[0].failures
    assert (pair.rows, pair.first, pair.second, pair.only_second) == (59, 0, 9, 9)
    assert pair.p_value == pytest.approx(2 * 0.5**9)
    assert found.rules[0].outcome == "worse"
    assert found.worse
    assert found.rules[1].outcome == "not compared"
    assert found.worst_accuracy is not None
    assert (found.worst_accuracy.first, found.worst_accuracy.second) == (60, 50)
    back = compare(second, first)
    assert back.rules[0].outcome == "better"
    assert not back.worse
    assert "worse" in comparison_markdown(found)


def test_the_axis_of_differences_holds_them_also_where_no_rule_has_many_rows() -> None:
    first = audited(rows_of("kkff"))
    second = first.model_copy(update={"rules": (replace(first.rules[0], outcomes="kkkk"),)})
    page = comparison_page(compare(first, second))
    assert ">-100</text>" in page
    assert ">-1</text>" not in page


def test_an_audit_compared_with_itself_shows_no_difference(document: AuditDocument) -> None:
    found = compare(document, document)
    assert not found.worse
    assert {each.outcome for each in found.rules} == {"no evidence", "not compared"}
    assert all(each.failures.first == each.failures.second for each in found.rules)
    [silent] = [each for each in found.rules if each.outcome == "not compared"]
    markdown = comparison_markdown(found)
    assert f"- 1 rule is not compared, because {NO_ROW}: " in markdown
    assert f"`{silent.id}`" not in markdown


def test_rules_of_one_audit_alone_are_listed() -> None:
    data = rows_of("k" * 30)
    found = compare(
        audited(data, rules=parse("rule a: movie -> film\nrule b: movie -> tape")),
        audited(data, rules=parse("rule b: movie -> disk\nrule c: movie -> reel")),
    )
    notes = {each.id: each.note for each in found.rules}
    assert list(notes) == ["b", "c", "a"]
    assert notes["b"] == "the rule was movie -> tape"
    assert notes["c"] == "only the second audit has it"
    assert notes["a"] == "only the first audit has it"
    apart = compare(
        audited(data, rules=parse("rule a: movie -> film")),
        audited(data, rules=parse("rule c: movie -> reel")),
    )
    assert apart.worst_accuracy is None
    assert apart.rows_flipped.second == 0


def test_a_rule_that_one_audit_alone_has_does_not_make_a_model_worse() -> None:
    data = rows_of("k" * 60)
    short, long = (
        parse("rule b: movie -> tape"),
        parse("rule a: movie -> film\nrule b: movie -> tape"),
    )
    first, second = audited(data, rules=short), audited(data, rules=long)
    failing = replace(second.rules[0], outcomes="f" * 60)
    second = second.model_copy(update={"rules": (failing, second.rules[1])})
    found = compare(first, second)
    assert not found.worse
    assert (found.rows_flipped.rows, found.rows_flipped.second) == (60, 0)
    assert found.worst_accuracy is not None
    assert found.worst_accuracy.second == 60


def test_a_rule_that_was_changed_under_its_id_makes_no_model_worse() -> None:
    data = rows_of("k" * 60)
    first = audited(data, rules=parse("rule a: movie -> film"))
    second = audited(data, rules=parse("rule a: movie -> trash"))
    failing = replace(second.rules[0], outcomes="f" * 60)
    found = compare(first, second.model_copy(update={"rules": (failing,)}))
    assert not found.worse
    [rule] = found.rules
    assert (rule.outcome, rule.note) == ("not compared", "the rule was movie -> film")
    assert found.worst_accuracy is None


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        ("set FILM = film\n{}", "set FILM = film | movie\n{}", "set FILM was different"),
        ("option case = exact\n{}", "{}", "option case was exact"),
        ("{}", "option repair = on\n{}", "option repair was off"),
        ("{}\n  rate: 50%", "{}\n  rate: 75%", "rate was 50%"),
    ],
)
def test_a_rule_whose_set_or_options_changed_is_another_rule(
    before: str, after: str, note: str
) -> None:
    """Its id and text stay, but its effect on a model changes."""
    data = rows_of("k" * 60)
    rule = "rule a: @FILM -> trash" if "set" in before else "rule a: movie -> trash"
    if "set" in before:
        data = rows_of("k" * 60, word="film")
    first, second = (audited(data, rules=parse(text.format(rule))) for text in (before, after))
    failing = replace(second.rules[0], outcomes="f" * len(second.rules[0].outcomes))
    found = compare(first, second.model_copy(update={"rules": (failing,)}))
    assert not found.worse
    [change] = found.rules
    assert (change.outcome, change.note) == ("not compared", note)
    assert found.worst_accuracy is None
    # Older audits, which lack the readings, are compared by the text alone.
    older = replace(first.rules[0], reading=None)
    [change] = compare(first.model_copy(update={"rules": (older,)}), second).rules
    assert change.note == ""


def test_audits_of_other_rows_are_not_compared() -> None:
    with pytest.raises(UsageError, match=r"different rows: 2 rows .* and 1 row \("):
        compare(audited(rows_of("kk")), audited(rows_of("k")))
    one = audited(rows_of("kk"))
    with pytest.raises(UsageError, match="made with scope first, the second with all"):
        compare(one, one.model_copy(update={"scope": "all"}))


@pytest.mark.parametrize("better", [0, 10])
def test_a_gate_on_comparisons_fails_by_mistake_in_at_most_one_of_twenty(better: int) -> None:
    """Two equal models, except for rules on which the second is much better."""
    lines = "".join(f"rule r{place}: movie -> film{place}\n" for place in range(20))
    plain = audited(rows_of("k" * 60), rules=parse(lines))
    draw = np.random.default_rng(1)

    def outcomes(rule: int, improved: bool) -> str:
        rate = (0.02 if improved else 0.6) if rule < better else 0.3
        return "".join("f" if flips else "k" for flips in draw.random(60) < rate)

    def drawn(improved: bool) -> AuditDocument:
        rules = tuple(
            replace(each, outcomes=outcomes(place, improved))
            for place, each in enumerate(plain.rules)
        )
        right = "".join("1" if each else "0" for each in draw.random(60) < 0.9)
        return plain.model_copy(update={"rules": rules, "right_rows": right})

    times = 150
    found = [compare(drawn(False), drawn(True)) for _ in range(times)]
    alarms = sum(each.worse for each in found)
    assert binomial_tail(alarms, times, 0.05) > 0.01
    if better:
        named = sum(rule.outcome == "better" for each in found for rule in each.rules[:better])
        assert named > 0.9 * better * times


def test_one_worse_rule_among_many_is_seen() -> None:
    lines = "".join(f"rule r{place}: movie -> film{place}\n" for place in range(50))
    first = audited(rows_of("k" * 60), rules=parse(lines))
    worse = replace(first.rules[7], outcomes="f" * 12 + "k" * 48)
    rules = (*first.rules[:7], worse, *first.rules[8:])
    found = compare(first, first.model_copy(update={"rules": rules}))
    assert [each.id for each in found.rules if each.outcome == "worse"] == ["r7"]
    assert found.worse


# ---------------------------------------------------------------- in one sentence


@pytest.mark.parametrize(
    ("letters", "gates", "wanted"),
    [("k" * 30, Gates(), "No judged rule clearly flips more than 10% of its tested rows; 1 rule "
      "changed too few rows to be judged."),
     ("f" * 12 + "k" * 18, Gates(), "1 of 1 rule clearly flips more than 10% of its tested rows: "
      "movie -> film (film) with 12 of 30 (40%); 1 rule changed too few rows to be judged."),
     ("k" * 30, Gates(flip_rate=0.05), "The model passes: no judged rule flips more than 5% of "
      "its tested rows; 1 rule changed too few rows to be judged."),
     ("f" * 2 + "k" * 28, Gates(flip_rate=0.05), "The model fails: 1 of 1 rule flips more than "
      "5% of its tested rows: movie -> film (film) with 2 of 30 (6.7%), though this may be "
      "chance; 1 rule changed too few rows to be judged."),
     ("f" * 43 + "k" * 157, Gates(flip_rate=0.213), "The model fails: 1 of 1 rule flips more than "
      "21.3% of its tested rows: movie -> film (film) with 43 of 200 (22%), though this may be "
      "chance; 1 rule changed too few rows to be judged."),
     ("fff", Gates(flip_rate=0.05), "Too few rows were tested to judge the model: no rule changes "
      "more than 3 rows that the model gets right, and 20 are needed."),
     ("w" * 30, Gates(flip_rate=0.05), "Nothing can be said: the model gets no row right; "
      "labels and answers may be spelled differently."),
     ("k" * 30, Gates(flip_rate=0.05, own=(Gate("show", 0.1),)), "The model cannot be judged on "
      "these rows: gate show: no rule was tested on enough rows to be judged."),
     ("f" * 12 + "k" * 18, Gates(rows_flipped=0.05), "The model fails: all rules together flip "
      "more rows than allowed: 12 of 30 (40%); 1 rule changed too few rows to be judged.")],
)  # fmt: skip
def test_an_audit_ends_in_a_sentence(letters: str, gates: Gates, wanted: str) -> None:
    document = audited(rows_of(letters), gates=gates)
    assert conclusion(document) == wanted
    # The page does not repeat its title.
    title, _, rest = wanted.partition(": ")
    page = Page(audit_page(document)).text
    assert wanted in page or (title in page and rest[1:] in page)
    plain = audit_markdown(document).replace("\\", "")
    assert f"**{wanted}**" in plain


def test_a_page_without_a_limit_counts_no_failures_of_it() -> None:
    unlimited = Page(audit_page(audited(rows_of("k" * 30), rules=RULES))).text
    assert "no limit is set" in unlimited
    assert "rules failed" not in unlimited
    robust = Gates(own=(read_gate("robust:all=100%"),))
    of_all = Page(audit_page(audited(rows_of("f" * 30), rules=RULES, gates=robust))).text
    assert "rules measured; none has a limit" in of_all
    proof = Gates(flip_rate=0.05, judge_by="proof")
    unproven = Page(audit_page(audited(rows_of("k" * 30), rules=RULES, gates=proof))).text
    assert "rules failed" in unproven
    silent = Page(audit_page(audited(rows_of("k" * 30), rules=parse("play -> show")))).text
    assert "Each rule in detail" not in silent


def test_a_model_that_is_not_judged_is_not_said_to_want_rows() -> None:
    wrong = Page(audit_page(audited(rows_of("w" * 300), rules=RULES, gates=GATES))).text
    assert "The model cannot be judged" in wrong
    assert "Too few rows" not in wrong


def test_the_axis_of_rates_holds_every_rate_but_not_the_intervals_of_few_rows() -> None:
    many, few = share_of(0, 40), share_of(2, 5)
    assert top_for([many], [0.1]) == 0.2
    assert top_for([many], [0.1], [many.rate, few.rate, None]) == 0.5


def test_one_row_that_becomes_right_is_a_row() -> None:
    page = Page(audit_page(audited(rows_of("k" * 30 + "g"), rules=RULES))).text
    assert "1 wrong row becomes right under at least one rule." in page


def test_reports_call_rules_by_text_and_by_the_id_that_somebody_chose() -> None:
    document = audited(rows_of("k" * 30), rules=parse("not -> ~n't\nrule wh: play -> show"))
    [note] = [
        each for each in document.notes if "changes no row" in each or "change no row" in each
    ]
    assert note == "2 of 2 rules change no row of this data: not -> ~n't, play -> show (wh)."
    many = audited(rows_of("k" * 30), rules=parse("a -> b\nc -> d\ne -> f\ng -> h\ni -> j"))
    assert any(each.endswith(": a -> b, c -> d, e -> f and 2 more.") for each in many.notes)


FLIPPING = parse("rule n: movie -> film\n  expect: flip\n")


def test_a_rule_that_expects_another_answer_rewords_nothing_for_the_accuracy() -> None:
    """Accuracy on the worst rewrites is of rules that expect the same answer, and says so."""
    plain = audited(rows_of("k" * 30), gates=Gates(rows_flipped=0.05))
    told = "of each row and 100% (30 of 30) with the worst rewrite."
    assert told in audit_markdown(plain)
    alone = audited(rows_of("k" * 30), rules=FLIPPING, gates=Gates(rows_flipped=0.05))
    assert "with the worst rewrites" not in Page(audit_page(alone)).text
    assert list(together_in_words(alone)) == ["Accuracy is 100% (30 of 30)."]
    assert alone.verdict.all_rules_reason == (
        "nothing to test: no rule that expects the same answer changes a row"
    )
    both = parse("rule s: movie -> film\nrule n: movie -> tape\n  expect: flip\n")
    mixed = audited(rows_of("k" * 24 + "f" * 6), rules=both)
    lines = [
        "Rules that expect the same answer change 30 rows that the model gets right; 6 become "
        "wrong under at least one rule (20%, 95% 9.5%–37%).",
        "Accuracy is 100% (30 of 30). It is 80% with a random rewrite of each row and 80% "
        "(24 of 30) with the worst rewrite, by rules that expect the same answer.",
    ]
    assert list(together_in_words(mixed)) == lines
    assert all(line in audit_markdown(mixed) for line in lines)
    worst = "with the worst rewrites by rules that expect the same answer"
    assert worst in Page(audit_page(mixed)).text
    assert compare(alone, alone).worst_accuracy is None
    assert worst in "".join(compare(mixed, mixed).summary)
    assert grid({"a": alone, "b": alone}).models[0].worst is None


def test_slices_have_their_accuracy_where_no_rule_changes_a_row() -> None:
    columns: dict[str, list[object]] = {"part": ["a", "b"] * 15}
    silent = audited(rows_of("kw" * 15), rules=parse("play -> show"), columns=columns)
    told = audit_markdown(silent)
    assert "Accuracy by part, lowest first" in told
    assert "| part: b | 0 | 15 | 0.0%" in told or "| part: b | 0 | 15 | 0%" in told


def test_what_is_left_alone_is_explained_by_what_the_rules_write() -> None:
    rules = parse("rule look: movie -> $1.VBG.homoglyph\nrule same: movie -> film")
    [note] = [e for e in audited(rows_of("k" * 3), rules=rules).notes if "eft unchanged" in e]
    assert "no single inflected form fits" in note
    assert "neighbour" not in note


def test_bars_stay_as_they_are_outside_of_tables() -> None:
    rules = parse("rule film: (movie|play) -> film\nrule tape: (movie|show) -> tape\n")
    text = audit_markdown(audited(rows_of("k" * 20 + "f" * 5), rules=rules))
    overlaps = [line for line in text.splitlines() if line.startswith("- ") and "flipped" in line]
    assert overlaps == [
        "- `(movie|play) -> film` (film) and `(movie|show) -> tape` (tape): 5 of 5 flipped rows"
    ]


def test_an_answer_is_marked_wrong_only_if_it_is_none_of_the_right_ones(tmp_path: Path) -> None:
    rows = replace(rows_of("k" * 20 + "g" * 20), labels=(("oui", "yes"),) * 40)
    document = audited(rows)
    by_row = {each.row: each for each in document.rules[0].examples}
    assert {row: each.wrong_before for row, each in by_row.items()} == {
        row: row > 20 for row in by_row
    }
    page = audit_page(document)
    wrong = [
        each for each in by_row.values() for wrong in (each.failed, each.wrong_before) if wrong
    ]
    assert page.count('<span class="wrong">no</span>') == len(wrong)
    # Audits of earlier versions do not say so.
    write_document(document, tmp_path / "audit.json")
    written = (tmp_path / "audit.json").read_text("utf-8")
    older = re.sub(r',\s+"wrong_before": (true|false)', "", written).replace(
        ',\n "sentences": null', ""
    )
    assert older != written
    (tmp_path / "audit.json").write_text(older, "utf-8")
    assert {each.wrong_before for each in read_audit(tmp_path).rules[0].examples} == {None}


def test_the_matrix_has_every_overlap_of_its_rules() -> None:
    """Fifteen rules share most flips; two that flip more rows share only some of theirs."""
    rules = parse(
        "".join(f"rule r{n}: movie -> reel{n}\n" for n in range(15))
        + "rule x: (play|game) -> tape\nrule y: (show|game) -> disc\n"
    )
    words = ["movie"] * 50 + ["play"] * 50 + ["show"] * 50 + ["game"] * 10

    def model(texts: Sequence[str]) -> list[str]:
        return ["yes" if text.split()[1] in words else "no" for text in texts]

    rows = [(f"A {word} {place}.", "yes") for place, word in enumerate(words)]
    document = sears.audit(model, rows, rules, scorer=None).document
    overlaps = {(each.first, each.second): each.both for each in document.together.overlaps}
    assert overlaps["x", "y"] == 10
    assert sorted(overlaps.values())[1:] == [50] * 100
