"""Templates that people read: decisions, the resulting file, the journal as an oracle."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import call
from free_port import free_port

import sears_dsl as sears
from sears_dsl.errors import DataError, ModelError, UsageError
from sears_dsl.language.loader import load
from sears_dsl.vetting.journal import Journal
from sears_dsl.vetting.merging import agreement, read_reviews, vetting_outcomes
from sears_dsl.vetting.outputs import write_vetted, written_sentence
from sears_dsl.vetting.review.template_session import TemplateSession

TEMPLATES = """\
set GOOD = great | charming | brilliant
set BAD = bad | dull
set KIND = film | comedy

# The first of the two.
template nothing-good: "There is nothing {GOOD} about this {KIND}."
  label: negative

template nothing-bad: "There is nothing {BAD} about this {KIND}."
  label: positive

template odd: "It is {BAD} that it {GOOD}."
  label: negative
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "neg.sear"
    path.write_text(TEMPLATES, "utf-8")
    return path


@pytest.fixture
def session(file: Path) -> Iterator[TemplateSession]:
    ruleset = load(file)
    path = file.with_name("neg.ana.vetting.jsonl")
    with Journal(path, ruleset=ruleset, reviewer="ana") as journal:
        yield TemplateSession(ruleset, journal)


def decide(session: TemplateSession, kind: str, **content: Any) -> Any:
    return session.decide(kind, content, revision=session.state.revision)["read"]


def judge_all(session: TemplateSession) -> None:
    """Judge two templates good, except for one sentence; the third is not English."""
    decide(session, "template", template="nothing-good", verdict="accept")
    decide(session, "template", template="nothing-bad", verdict="accept")
    decide(session, "template", template="odd", verdict="reject", reason="grammar", note="verb")
    decide(session, "sentence", template="nothing-bad",
           text="There is nothing bad about this film.", rejected=True)  # fmt: skip


def test_the_sample_is_what_generate_would_draw_and_goes_on_where_it_ended(
    session: TemplateSession, file: Path
) -> None:
    first = session.template("nothing-good", first=0, most=2)
    rest = session.template("nothing-good", first=2, most=10)
    shown = [each["text"] for each in first["sentences"] + rest["sentences"]]
    drawn = sears.generate(file, limit=12).columns
    of_template = [text for text, name in zip(drawn["text"], drawn["template"], strict=True)
                   if name == "nothing-good"]  # fmt: skip
    assert first["total"] == len(shown) == len(set(shown)) == 6
    assert shown[: len(of_template)] == of_template
    assert first["label"] == "negative"


def test_what_a_person_decided_is_there_and_can_be_taken_back(session: TemplateSession) -> None:
    read = session.overview()["read"]
    assert (read["next"], read["left"]) == ("nothing-good", 3)
    judge_all(session)
    read = session.overview()["read"]
    assert [each["verdict"] for each in read["items"]] == ["accept", "accept", "reject"]
    assert (read["next"], read["left"], read["rejected"]) == (None, 0, 1)
    shown = session.template("nothing-bad", first=0, most=10)["sentences"]
    assert [e["text"] for e in shown if e["rejected"]] == ["There is nothing bad about this film."]
    assert decide(session, "undo", task="read")["rejected"] == 0
    assert decide(session, "undo", task="read")["left"] == 1


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("template", {"template": "none", "verdict": "accept"}),
        ("template", {"template": "odd", "verdict": "edit"}),
        ("template", {"template": "odd", "verdict": "reject", "reason": "meaning"}),
        ("sentence", {"template": "odd", "text": "No sentence of it.", "rejected": True}),
        ("accept", {"template": "odd"}),
    ],
)
def test_what_no_page_sends_is_refused_and_not_kept(
    session: TemplateSession, kind: str, content: dict[str, Any]
) -> None:
    with pytest.raises(UsageError):
        session.decide(kind, content, revision=0)
    assert not session.journal.entries


def test_rejected_templates_are_left_out_with_their_reason(
    session: TemplateSession, file: Path
) -> None:
    judge_all(session)
    ruleset = session.ruleset
    reviews = read_reviews([session.journal.path], ruleset)
    written = write_vetted(ruleset, reviews, file.with_name("neg.vetted.sear"), tagger=None)  # type: ignore[arg-type]
    assert written_sentence(written).startswith("2 templates kept, in ")
    text = written.vetted.read_text("utf-8")
    assert "odd" not in text
    assert "# The first of the two.\ntemplate nothing-good" in text
    assert "1 sentence was rejected on its own: --oracle JOURNAL leaves it out" in text
    assert written.left_out is not None
    left_out = written.left_out.read_text("utf-8")
    assert "rejected by ana" in left_out
    assert "is not grammatical (verb)" in left_out
    assert len(load(written.left_out).templates) == 1


def test_rules_that_nobody_judged_stay_beside_judged_templates(tmp_path: Path) -> None:
    both = tmp_path / "both.sear"
    both.write_text(f"{TEMPLATES}\nrule film: movie -> film\n", "utf-8")
    ruleset = load(both)
    with Journal(tmp_path / "ana.jsonl", ruleset=ruleset, reviewer="ana") as journal:
        judge_all(TemplateSession(ruleset, journal))
    reviews = read_reviews([tmp_path / "ana.jsonl"], ruleset)
    assert vetting_outcomes(ruleset, reviews).rules is None
    written = write_vetted(ruleset, reviews, tmp_path / "v.sear", tagger=None)  # type: ignore[arg-type]
    vetted = load(written.vetted)
    assert (len(vetted.rules), len(vetted.templates)) == (1, 2)


@pytest.mark.parametrize(
    ("rule", "template", "up"),
    [("skip", "accept", "templates"), ("accept", "skip", "rules"), ("accept", "reject", "both"),
     ("", "skip", "templates"), ("", "sentence", "templates"), ("skip", "", "rules"),
     ("", "", "rules")],
)  # fmt: skip
def test_skipping_some_of_a_kind_is_not_judging_it(
    tmp_path: Path, rule: str, template: str, up: str
) -> None:
    (tmp_path / "both.sear").write_text(f"{TEMPLATES}\nrule film: movie -> film\n", "utf-8")
    ruleset = load(tmp_path / "both.sear")
    with Journal(tmp_path / "ana.jsonl", ruleset=ruleset, reviewer="ana") as journal:
        if rule:
            journal.append(rule, {"rule": "film"})
        if template == "sentence":
            rejected = {"template": "odd", "text": "It is bad.", "label": "negative"}
            journal.append("sentence", {**rejected, "rejected": True})
        elif template:
            journal.append("template", {"template": "odd", "verdict": template})
    outcomes = vetting_outcomes(ruleset, read_reviews([journal.path], ruleset))
    assert (outcomes.rules is not None) == (up != "templates")
    assert (outcomes.templates is not None) == (up != "rules")


def test_who_rejected_a_sentence_alone_is_named(session: TemplateSession, tmp_path: Path) -> None:
    decide(session, "sentence", template="odd", text="It is bad that it great.", rejected=True)
    reviews = read_reviews([session.journal.path], session.ruleset)
    written = write_vetted(session.ruleset, reviews, tmp_path / "v.sear", tagger=None)  # type: ignore[arg-type]
    assert " by ana, " in written.vetted.read_text("utf-8").splitlines()[0]


def test_reviewers_agree_on_templates(session: TemplateSession, file: Path) -> None:
    judge_all(session)
    other = file.with_name("neg.ben.vetting.jsonl")
    with Journal(other, ruleset=session.ruleset, reviewer="ben") as journal:
        judge_all(TemplateSession(session.ruleset, journal))
    reviews = read_reviews([session.journal.path, other], session.ruleset)
    assert agreement(reviews, on="templates").pairs["ana", "ben"].value == 1.0
    done = call("vetted", "neg.sear", session.journal.path.name, other.name, folder=file.parent)
    assert "templates: Cohen's κ of ana and ben: 1.00" in done.stdout
    assert "rejected  ana reject, ben reject" in done.stdout


def test_generate_leaves_out_what_the_journal_rejects_and_counts_it(
    session: TemplateSession, file: Path
) -> None:
    judge_all(session)
    journal = session.journal.path
    done = call("generate", "neg.sear", "-o", "out.csv", "--oracle", journal.name,
                folder=file.parent)  # fmt: skip
    assert "the oracle rejected 7 sentences: nothing-bad 1, odd 6" in done.stderr
    with (file.parent / "out.csv").open(encoding="utf-8", newline="") as rows:
        texts = [row["text"] for row in csv.DictReader(rows)]
    assert len(texts) == 9
    assert "There is nothing bad about this film." not in texts
    # A limit is filled with accepted sentences; twins of other versions lose sentences.
    assert len(sears.generate(file, limit=8, oracle=journal)) == 8
    newer = file.with_name("newer.sear")
    newer.write_text(TEMPLATES + "  tags: new\n", "utf-8")
    assert len(sears.generate(newer, oracle=journal)) == 15


@pytest.mark.parametrize("written", ["1", "1.0"])
def test_the_label_of_a_rejected_sentence_is_the_one_that_models_have(
    tmp_path: Path, written: str
) -> None:
    path = tmp_path / "number.sear"
    path.write_text('set KIND = film | comedy\ntemplate t: "A good {KIND}."\n  label: 1.0\n')
    ruleset = load(path)
    with Journal(tmp_path / "ana.jsonl", ruleset=ruleset, reviewer="ana") as journal:
        session = TemplateSession(ruleset, journal)
        # Older journals have the label as the template writes it.
        sentence = {"template": "t", "text": "A good film.", "label": written, "rejected": True}
        journal.append("sentence", sentence)
        decide(session, "sentence", template="t", text="A good comedy.", rejected=True)
        decide(session, "undo", task="read")
        shown = session.template("t", first=0, most=2)["sentences"]
        assert [each["text"] for each in shown if each["rejected"]] == ["A good film."]
        decide(session, "sentence", template="t", text="A good comedy.", rejected=True)
        assert journal.entries[-1].content["label"] == "1"
    with pytest.raises(DataError, match="rejects all 2 sentences"):
        sears.generate(path, oracle=tmp_path / "ana.jsonl")


def test_an_oracle_that_rejects_all_or_raises_is_reported(file: Path) -> None:
    with pytest.raises(DataError, match="rejects all 16 sentences"):
        sears.generate(file, oracle=lambda rows: [False for _ in rows])
    with pytest.raises(ModelError, match="KeyError: 'column'"):
        sears.generate(file, oracle=lambda rows: [row["column"] for row in rows])


def test_rules_want_rows_and_a_file_without_templates_is_reported(tmp_path: Path) -> None:
    (tmp_path / "rules.sear").write_text("movie -> film\n", "utf-8")
    done = call("vet", "rules.sear", folder=tmp_path)
    assert (done.returncode, "Missing option '--data'" in done.stderr) == (2, True)
    done = call("vet", "rules.sear", "--templates", folder=tmp_path)
    assert (done.returncode, "has no templates" in done.stderr) == (2, True)


def test_from_python_templates_need_neither_model_nor_rows(file: Path) -> None:
    with sears.vet(None, None, file, reviewers=["ana"], port=free_port()) as page:
        assert page.columns["outcome"] == ["unjudged"] * 3
        assert "0 of 3 templates judged" in page.summary
    assert not file.with_name("neg.ana.vetting.jsonl").exists()
    json.dumps(page.columns)
