"""An audit of templates alone: accuracy by template, their mean, and the constant answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import call

import sears_dsl as sears
from sears_dsl.errors import UsageError
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.function import CallablePredictor
from sears_dsl.models.predictor import RowsRefused

LEXICON = """
GOOD = {"good", "nice", "fantastic"}
BAD = {"bad", "poor", "boring"}

def predict(texts):
    words = [text.lower().replace(".", " ").split() for text in texts]
    sums = [sum(w in GOOD for w in each) - sum(w in BAD for w in each) for each in words]
    return ["positive" if each > 0 else "negative" for each in sums]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lexicon_model.py").write_text(LEXICON)
    return tmp_path


def test_a_model_that_counts_words_on_table_3(folder: Path) -> None:
    """Known answers: right on 0, 0, 243, 0, 27 and 9; always negative on 360 of 468."""
    done = call(
        "audit", "paper/semantic-robustness", "--model", "lexicon_model:predict",
        "--scorer", "none", "-o", "audit", folder=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    audit = json.loads((folder / "audit" / "audit.json").read_text("utf-8"))
    right = {
        each["value"]: (each["accuracy"]["count"], each["accuracy"]["total"])
        for each in audit["slices"]
        if each["slicing"] == "template"
    }
    assert right == {
        "negation-not": (0, 27),
        "negation-false": (0, 81),
        "mixed-despite": (243, 243),
        "mixed-plot": (0, 81),
        "sarcasm-starring": (27, 27),
        "sarcasm-ocean": (9, 9),
    }
    (column,) = audit["columns"]
    assert column["pooled"]["rate"] == pytest.approx(0.5962, abs=1e-4)
    assert column["mean"] == 0.5
    assert column["constant"]["answer"] == "negative"
    assert column["constant"]["rate"] == pytest.approx(0.7692, abs=1e-4)
    assert column["constant"]["mean"] == pytest.approx(0.6667, abs=1e-4)
    text = (folder / "audit" / "audit.md").read_text("utf-8")
    assert "Accuracy by part" in text
    assert "template: mixed-plot | 0 | 81" in text
    assert len((folder / "audit" / "sentences.csv").read_text("utf-8").splitlines()) == 469


def test_without_data_and_templates_the_rows_are_asked_for(folder: Path) -> None:
    done = call("audit", "contractions/expand", "--model", "lexicon_model:predict", folder=folder)
    assert done.returncode == 2
    assert "Missing option '--data'" in done.stderr
    done = call("audit", "phenomena/names", "--model", "lexicon_model:predict", "--also", "title",
                folder=folder)  # fmt: skip
    assert done.returncode == 2
    assert "only templates that fill a single column need none" in done.stderr


TEMPLATES = """\
set GOOD = good | nice
set BAD = bad | poor | boring
set KIND = film | play
set VERY = very | so

template not-good: "This {KIND} is not {VERY?} {GOOD}."
  label: negative
  tags: negation
template not-bad: "This {KIND} is not {VERY?} {BAD}."
  label: positive
  tags: negation
template praise: "A {GOOD} {KIND}."
  label: positive
  tags: plain
"""


@pytest.fixture
def templates(folder: Path) -> Path:
    (folder / "negation.sear").write_text(TEMPLATES)
    rows = [(f"A good film no {number}.", "positive") for number in range(18)]
    rows += [("A good book.", "negative")] * 2
    lines = "\n".join(f"{text},{label}" for text, label in rows)
    (folder / "rows.csv").write_text(f"text,label\n{lines}\n")
    return folder


def audited(folder: Path, *more: str) -> tuple[dict[str, Any], Any]:
    done = call(
        "audit", "negation.sear", "--model", "lexicon_model:predict", "--scorer", "none",
        "-o", "audit", *more, folder=folder,
    )  # fmt: skip
    return json.loads((folder / "audit" / "audit.json").read_text("utf-8")), done


def records(audit: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = audit["robustness"]["records"]
    return {f"{each['about']} {each['name']}".strip(): each for each in found}


WITH_DATA = ("--data", "rows.csv", "--column", "text", "--label", "label")


def test_templates_beside_data_fall_from_the_accuracy_on_its_rows(templates: Path) -> None:
    """The model is right on 18 of 20 rows, on no negation, and on all praise."""
    audit, _ = audited(templates, *WITH_DATA, "--tolerance", "10%")
    found = records(audit)
    assert list(found) == [
        "all templates", "templates of a tag negation", "templates of a tag plain",
        "template not-good", "template not-bad", "template praise",
    ]  # fmt: skip
    negation, praise = found["templates of a tag negation"], found["template praise"]
    assert (negation["before"], negation["after"], negation["rows"]) == (0.9, 0.0, 30)
    assert (negation["gap"], negation["smallest_tau"], negation["robust"]) == (-0.9, 0.9, False)
    assert (praise["after"], praise["robust"]) == (1.0, None)  # four sentences are too few
    whole = found["all templates"]
    assert whole["after"] == pytest.approx(4 / 34)
    assert whole["mean"] == pytest.approx(1 / 3)
    assert (whole["constant"]["answer"], whole["constant"]["rate"]) == ("positive", 22 / 34)
    assert not (templates / "audit" / "sentences.csv").exists()
    page = (templates / "audit" / "audit.html").read_text("utf-8")
    assert "18 of 20 rows" in page
    assert "and 12% of 34 template sentences" in page
    assert "best constant answer [mean of templates]" in page
    assert "flipped" not in page.partition("<body")[2]


def test_templates_beside_data_have_their_accuracies_without_a_tolerance(templates: Path) -> None:
    audit, done = audited(templates, *WITH_DATA)
    right = {
        each["value"]: (each["accuracy"]["count"], each["rows"])
        for each in audit["slices"]
        if each["slicing"] == "template of sentences"
    }
    assert right == {"not-good": (0, 12), "not-bad": (0, 18), "praise": (4, 4)}
    (column,) = audit["columns"]
    assert (column["pooled"]["count"], column["mean"]) == (4, pytest.approx(1 / 3))
    assert (column["constant"]["answer"], column["constant"]["rate"]) == ("positive", 22 / 34)
    assert "not-bad   0 of 18" in done.stderr
    assert "by template of sentences: accuracy is 11.8% on all 34" in done.stderr


def test_without_data_a_tolerance_asks_for_an_accuracy(templates: Path) -> None:
    audit, _ = audited(templates, "--tolerance", "10%")
    whole = records(audit)["all templates"]
    assert (whole["before"], whole["gap"]) == (1.0, pytest.approx(4 / 34 - 1))
    assert "all rules" not in records(audit)


@pytest.mark.parametrize(
    ("gate", "code", "told"),
    [
        ("robust:template:not-bad=10%", 1,
         "robust:template:not-bad: too little support: 18 sentences tested, 20 needed"),
        ("robust:tag:negation=10%", 1,
         "robust:tag:negation: accuracy is 0.0% on 30 sentences (-90.0 points against 90.0%, 95% "
         "-97.2 to -66.9); the largest drop allowed is 10 points"),
        ("robust:tag:negation=90%", 0, "verdict: passed"),
        ("invariant:all=80%", 0, "verdict: passed"),
        ("invariant:all=78%", 1, "the largest change allowed is 78 points"),
        ("robust:template:not-baad=10%", 2, "did you mean template:not-bad?"),
        ("mean:tag:negation=1%", 1, "mean accuracy over templates is 0.0%"),
        ("local:all=100%", 1, "4 of 34 sentences are locally robust at τ = 5%"),
        ("corrected:all=1%", 1, "accuracy corrected for guessing is -76.5%"),
        ("above-constant:all=0%", 1, "points against the"),
        ("template:not-bad=10%", 2, "for templates, write robust:, mean: …"),
        ("robust:tag:negatoin=10%", 2,
         "the gate robust:tag:negatoin matches no rule and no template"),
    ],
)  # fmt: skip
def test_gates_by_template_and_by_phenomenon(
    templates: Path, gate: str, code: int, told: str
) -> None:
    done = call(
        "audit", "negation.sear", "--model", "lexicon_model:predict", "--scorer", "none",
        "-o", "audit", *WITH_DATA, "--gate", gate, folder=templates,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    if code < 2:
        cases = (templates / "audit" / "junit.xml").read_text("utf-8")
        assert f'name="{gate.replace("=", " at ")}"' in cases


def test_a_gate_on_a_tag_of_rules_and_templates_holds_where_both_do(templates: Path) -> None:
    with (templates / "negation.sear").open("a") as file:
        file.write("rule novel: film -> novel\n  tags: negation\n")
    audit, done = audited(templates, *WITH_DATA, "--gate", "robust:tag:negation=10%",
                          "--min-support", "10")  # fmt: skip
    [gate] = audit["robustness"]["gates"]
    assert gate["outcome"] == "failed"
    assert gate["reason"].startswith("accuracy goes from 100.0% to 100.0% on 18 rows")
    assert "; for templates: accuracy is 0.0% on 30 sentences" in gate["reason"]
    assert "templates of tag:negation at τ = 10%: not robust" in done.stderr


def test_the_grid_says_which_word_breaks_which_sentence(templates: Path) -> None:
    audit, _ = audited(templates)
    grid = audit["fillers"]
    assert grid["templates"] == ["not-good", "not-bad", "praise"]
    rows = {(e["slot"], e["filler"]): (e["right"], e["total"]) for e in grid["rows"]}
    assert rows["GOOD", "nice"] == ([0, 0, 2], [6, 0, 2])
    assert rows["BAD", "boring"] == ([0, 0, 0], [0, 6, 0])
    # A slot may be left out, and that is a choice as well.
    assert rows["VERY", ""] == ([0, 0, 0], [4, 6, 0])
    assert rows["KIND", "film"] == ([0, 0, 2], [6, 9, 2])
    told = (templates / "audit" / "audit.md").read_text("utf-8")
    assert "| `GOOD` | `nice` | 25% | 0/6 | – | 2/2 |" in told
    assert "| `VERY` | `(nothing)` | 0% | 0/4 | 0/6 | – |" in told
    page = (templates / "audit" / "audit.html").read_text("utf-8")
    assert '<td class="n heat9">0%<span class="id">0/6</span></td>' in page


def test_an_oracle_takes_sentences_out_before_the_model_is_asked(templates: Path) -> None:
    (templates / "film_oracle.py").write_text(
        'def no_play(rows):\n    return ["play" not in row["text"] for row in rows]\n'
        "def nothing(rows):\n    return [False for _ in rows]\n"
        'def broken(rows):\n    raise ValueError("no such word")\n'
    )
    audit, _ = audited(templates, "--oracle", "film_oracle:no_play")
    assert audit["data"]["rows"] == 17
    assert any("rejected 17 of 34 template sentences before the model was asked: not-good 6, "
               "not-bad 9, praise 2." in note for note in audit["notes"])  # fmt: skip
    for name, told in (("nothing", "rejects all 34 sentences"), ("broken", "no such word")):
        done = call("audit", "negation.sear", "--model", "lexicon_model:predict", "--scorer",
                    "none", "--oracle", f"film_oracle:{name}", folder=templates)  # fmt: skip
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr


def test_sentences_that_the_model_refuses_are_counted_in_the_notes() -> None:
    def refusing(texts: list[str]) -> list[str]:
        if any("flop" in text for text in texts):
            raise RowsRefused("content filter")
        return ["positive"] * len(texts)

    text = 'set KIND = film | flop\ntemplate a: "A {KIND}."\n  label: positive\n'
    model = CachedPredictor(CallablePredictor(refusing), on_error="skip")
    with pytest.warns(UserWarning, match="refused 1 text"):
        found = sears.audit(model, [("A play.", "positive")], sears.parse(text), scorer=None)
    note = "The model refused 1 of 2 template sentences, which count as wrong."
    assert note in found.document.notes


def test_every_template_of_many_is_reported_by_itself(folder: Path) -> None:
    (folder / "negation.sear").write_text(
        "".join(f'template t{number}: "Film {number} is good."\n  label: positive\n'
                for number in range(20))
    )  # fmt: skip
    _, done = audited(folder)
    assert all(f"t{number} " in done.stderr for number in range(20))
    assert "(other)" not in (folder / "audit" / "audit.md").read_text("utf-8")


def test_a_label_that_no_row_of_the_data_has_is_reported(templates: Path) -> None:
    text = (templates / "negation.sear").read_text().replace("label: negative", "label: neg")
    (templates / "negation.sear").write_text(text)
    audit, _ = audited(templates, *WITH_DATA)
    assert any(
        note == "not-good has the label 'neg', but the rows of the data have only 'negative', "
        "'positive'." for note in audit["notes"]
    )  # fmt: skip


def test_from_python_templates_are_the_rows_where_there_are_none(templates: Path) -> None:
    def predict(texts: list[str]) -> list[str]:
        """There are three labels; it never gives one of them."""
        return ["positive" if "good" in text else "mixed" for text in texts]

    text = (templates / "negation.sear").read_text().replace("label: negative", "label: mixed")
    rules = sears.parse(text.replace("label: positive\n  tags: plain", "label: glad"))
    found = sears.audit(predict, None, rules, scorer=None, tolerance="5%")
    assert found.robustness is not None
    assert found.robustness.labels == 3
    whole = found.robustness.records[0]
    # Right on the six of not-good without `good`; always `positive` has the 18 of not-bad.
    assert (whole.after, whole.constant.rate) == (6 / 34, 18 / 34)  # type: ignore[union-attr]
    assert found.document.fillers is not None
    with pytest.raises(UsageError, match="there are no rows"):
        sears.audit(predict, None, sears.parse("movie -> film"), scorer=None)


def test_no_phenomenon_is_passed_by_a_model_that_always_says_the_same(folder: Path) -> None:
    """Each tag of a shipped phenomenon has twins, so that either label is half of it."""
    (folder / "constant.py").write_text(
        "def good(texts): return ['positive'] * len(texts)\n"
        "def bad(texts): return ['negative'] * len(texts)\n"
    )
    for answer in ("good", "bad"):
        for name in ("mixed", "names", "negation", "sarcasm"):
            done = call(
                "audit", f"phenomena/{name}", "--model", f"constant:{answer}", "--scorer", "none",
                "-o", "audit", "--gate", f"robust:tag:{name}=10%", "--min-support", "4",
                folder=folder,
            )  # fmt: skip
            assert done.returncode == 1, done.stderr
            told = f"templates of tag:{name} at τ = 10%: not robust; accuracy is 50.0%"
            assert told in done.stderr


def test_a_tag_of_one_label_is_reported_with_the_answer_that_passes_it(templates: Path) -> None:
    _, done = audited(templates, "--tolerance", "10%")
    told = " ".join(done.stderr.split())
    told_of = "templates of tag:plain at τ = 10%: not judged; accuracy is 100.0% on 4 sentences"
    assert told_of in told
    assert "against 100.0%, 95% -49.0 to +0.0); always answering 'positive' would score" in told
    assert told.count("would score 100.0%") == 1


def test_a_gate_of_templates_that_holds_is_the_conclusion(templates: Path) -> None:
    """No line above it calls a model not robust that passes the gate."""
    audit, done = audited(templates, "--gate", "robust:all=90%", "--gate", "invariant:all=95%")
    assert audit["robustness"]["tolerance"] == 0.9
    assert "at τ = 90%" in done.stderr
    assert "all templates at τ = 90%: " in done.stderr
    assert "not robust" not in done.stderr.partition("all templates at τ")[2].splitlines()[0]
    assert "default" not in done.stderr
    told = " ".join(done.stderr.split())
    assert "The model passes: robust:all: accuracy is 11.8% on 34 sentences" in told
    assert "the largest drop allowed is 90 points (and 1 more gate)." in told
    _, done = audited(templates, "--gate", "mean:all=1%")
    assert "all templates at τ = 5%: not robust" in done.stderr
    assert "No tolerance was given (--tolerance); robustness is at the default τ = 5%." in " ".join(
        done.stderr.split()
    )


def test_a_limit_for_rules_without_any_says_what_judges_templates(templates: Path) -> None:
    audit, _ = audited(templates, "--max-flip-rate", "10%")
    assert audit["verdict"]["outcome"] == "not judged"
    assert "templates need --gate robust:all=10%" in " ".join(audit["verdict"]["reasons"])


def test_a_file_of_neither_rules_nor_templates_is_called_so(templates: Path) -> None:
    """Such as what a search writes that found nothing."""
    (templates / "negation.sear").write_text("ruleset found 1.0.0\n")
    audit, done = audited(templates, "--max-flip-rate", "10%", *WITH_DATA)
    assert done.returncode == 1
    assert audit["verdict"]["reasons"][0].startswith("no rule was tested; ")
    assert "\nno rules\n" in done.stderr
    assert "accuracy (95%)" not in done.stderr


NEGATED = """\
set GOOD = good | nice | fantastic
set BAD = bad | poor | boring
template nothing-good: "There is nothing {GOOD} about it."
  label: negative
template nothing-bad: "There is nothing {BAD} about it."
  label: positive
"""


@pytest.mark.parametrize("rows", ["as written", "reversed", "other labels"])
@pytest.mark.parametrize("labelled", [True, False])
def test_sentences_are_judged_by_their_templates_whatever_the_rows_are(
    folder: Path, rows: str, labelled: bool
) -> None:
    """The model has every sentence wrong, also if the rows are these sentences."""
    (folder / "negation.sear").write_text(NEGATED)
    table = sears.generate("negation.sear").columns
    lines = list(zip(table["text"], table["label"], strict=True))
    if rows == "other labels":  # those that the model gives
        lines = [(text, {"positive": "negative"}.get(label, "positive")) for text, label in lines]
    lines = lines[::-1] if rows == "reversed" else lines
    (folder / "rows.csv").write_text(
        "text,label\n" + "".join(f"{text},{label}\n" for text, label in lines)
    )
    label = ("--label", "label") if labelled else ()
    audit, done = audited(
        folder, "--data", "rows.csv", "--column", "text", *label,
        "--gate", "robust:all=10%", "--min-support", "6",
    )  # fmt: skip
    assert (done.returncode, audit["verdict"]["outcome"]) == (1, "failed"), done.stderr
    assert "accuracy is 0.0% on 6 sentences" in audit["verdict"]["reasons"][0]
    of_sentences = [each for each in audit["slices"] if each["slicing"] == "template of sentences"]
    assert [each["accuracy"]["count"] for each in of_sentences] == [0, 0]


def test_without_labels_sentences_still_have_results(templates: Path) -> None:
    audit, done = audited(
        templates, "--data", "rows.csv", "--column", "text",
        "--gate", "above-constant:all=0", "--gate", "corrected:all=0", "--min-support", "3",
    )  # fmt: skip
    assert done.returncode == 1
    labelled, _ = audited(templates, "--data", "rows.csv", "--label", "label", "--tolerance", "5%")
    for name in ("columns", "fillers"):
        assert audit[name] == labelled[name]
    assert "by template of sentences: accuracy is 11.8% on all 34 sentences" in done.stderr
    assert "averaged over the 3 templates" in done.stderr
    assert [each["outcome"] for each in audit["robustness"]["gates"]] == ["failed", "failed"]
    audit, done = audited(templates, "--data", "rows.csv", "--column", "text")
    assert "No rule was tested; the model gets 12% of 34 template sentences right." in done.stderr


def test_a_gate_on_rules_without_labels_says_that_no_column_was_named(templates: Path) -> None:
    (templates / "negation.sear").write_text("rule film: film -> movie\n")
    audit, _ = audited(
        templates, "--data", "rows.csv", "--column", "text", "--min-support", "3",
        "--gate", "corrected:all=0", "--gate", "above-constant:all=0",
    )  # fmt: skip
    assert [each["reason"] for each in audit["robustness"]["gates"]] == [
        "no correction for guessing: no label column was named",
        "there is no constant answer to compare with: no label column was named",
    ]


def test_one_number_of_labels_corrects_rules_and_templates(folder: Path) -> None:
    (folder / "negation.sear").write_text(
        'rule film: movie -> film\ntemplate shrug: "This is so-so."\n  label: neutral\n'
    )
    lines = [f"movie {n} is {'good' if n % 2 else 'bad'}" for n in range(8)]
    labels = ["positive" if n % 2 else "negative" for n in range(8)]
    (folder / "rows.csv").write_text("text,label\n" + "".join(map("{},{}\n".format, lines, labels)))
    audit, _ = audited(folder, "--data", "rows.csv", "--label", "label", "--tolerance", "5%")
    robust = audit["robustness"]
    assert robust["labels"] == 3
    found = {(each["about"], each["after"], each["after_corrected"]) for each in robust["records"]}
    assert found == {
        ("all rules", 1.0, 1.0), ("rule", 1.0, 1.0),
        ("all templates", 0.0, -0.5), ("template", 0.0, -0.5),
    }  # fmt: skip


@pytest.mark.parametrize("one", ["1", "1.0"])
def test_a_template_whose_label_has_a_point_has_that_of_the_rows(folder: Path, one: str) -> None:
    rules = sears.parse(
        f'set KIND = film | play | book\ntemplate seen: "A {{KIND}}."\n  label: {one}\n'
        'template none: "No {KIND}."\n  label: 0\n'
    )

    def predict(texts: list[str]) -> list[int]:
        return [int("No" not in text) for text in texts]

    rows = [("No movie.", "0"), ("A movie.", "1")] * 20
    found = sears.audit(predict, rows, rules, scorer=None, tolerance="5%").document
    assert found.robustness is not None
    assert found.robustness.labels == 2
    constants = [(each.name, each.constant) for each in found.robustness.records[1:]]
    assert [(name, each and (each.answer, each.rate)) for name, each in constants] == [
        ("seen", ("1", 1.0)), ("none", ("0", 1.0)),
    ]  # fmt: skip
    assert not [note for note in found.notes if "the rows of the data have only" in note]
    # Where the sentences are the rows, they are not reported once more beside them.
    alone = sears.audit(predict, None, rules, scorer=None, slices=["template"]).document
    assert alone.sentences is None


def test_a_gate_whose_sentences_the_oracle_rejects_names_the_oracle(templates: Path) -> None:
    (templates / "affirming_oracle.py").write_text(
        'def keep(rows):\n    return [" not " not in row["text"] for row in rows]\n'
    )
    audit, done = audited(
        templates, "--oracle", "affirming_oracle:keep", "--gate", "robust:template:not-bad=10%"
    )
    assert done.returncode == 1
    (gate,) = audit["robustness"]["gates"]
    assert gate["reason"] == "nothing to test: the oracle rejected 18 sentences"


def test_audits_of_templates_beside_data_are_compared_by_their_sentences(templates: Path) -> None:
    (templates / "negating.py").write_text(
        "import lexicon_model\n\ndef predict(texts):\n"
        "    other = {'positive': 'negative', 'negative': 'positive'}\n"
        "    return [other[label] if ' not ' in text else label\n"
        "            for text, label in zip(texts, lexicon_model.predict(texts))]\n"
    )
    data = ("--data", "rows.csv", "--label", "label")
    for name, model in (("before", "negating:predict"), ("after", "lexicon_model:predict")):
        done = call(
            "audit", "negation.sear", "--model", model, "--scorer", "none", *data, "-o", name,
            folder=templates,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    worse = call("compare", "before", "after", "--fail-if-worse", "-o", "out", folder=templates)
    assert worse.returncode == 1, worse.stderr
    line = "accuracy on template sentences: 100% → 12%"
    assert line in worse.stderr
    for name in ("comparison.md", "comparison.html"):
        assert line in (templates / "out" / name).read_text("utf-8")
    better = call("compare", "after", "before", "--fail-if-worse", "-o", "out", folder=templates)
    assert better.returncode == 0, better.stderr
    text = (templates / "out" / "comparison.md").read_text("utf-8")
    assert text.startswith("# Comparison: the second is better")
    assert "| rule |" not in text
    (templates / "copy").mkdir()
    audit = json.loads((templates / "after" / "audit.json").read_text("utf-8"))
    (templates / "copy" / "audit.json").write_text(json.dumps(audit))
    several = call("compare", "before", "after", "copy", "--fail-if-worse", folder=templates)
    assert several.returncode == 1
    assert "0 rules" not in several.stderr
    # An earlier version does not say which sentences are right.
    del audit["sentences"]
    (templates / "copy" / "audit.json").write_text(json.dumps(audit))
    older = call("compare", "before", "copy", folder=templates)
    assert "template sentences are not compared" in older.stderr


def test_options_about_rows_need_rows(templates: Path) -> None:
    typed = "--label label", "--column text", "--no-header", "--format json", "--encoding utf-8"
    for option in map(str.split, typed):
        done = call("audit", "negation.sear", "--model", "lexicon_model:predict", *option,
                    folder=templates)  # fmt: skip
        assert done.returncode == 2
        assert f"{option[0]} is about the rows of --data" in done.stderr
    assert not (templates / "audit").exists()


def test_a_limit_of_rows_takes_no_sentence_away(templates: Path) -> None:
    audit, _ = audited(templates, "--data", "rows.csv", "--label", "label", "--limit", "5")
    assert audit["data"]["rows"] == 5
    assert audit["columns"][-1]["pooled"]["total"] == 34
    alone, _ = audited(templates, "--limit", "5")
    assert alone["data"]["rows"] == 5


def test_templates_ask_nothing_of_a_model_that_reads_two_columns(templates: Path) -> None:
    rows = [{"a": "A good film.", "b": "Seen twice.", "label": "positive"}] * 3

    def model(asked: list[dict[str, str]]) -> list[str]:
        return ["positive" if "good" in row["a"] and row["b"] else "negative" for row in asked]

    done = sears.audit(model, rows, "negation.sear", text="a,b", label="label", scorer=None)
    assert done.document.fillers is None
    assert any("fill one column, and the model reads a, b" in each for each in done.document.notes)


def test_rules_that_never_fire_hide_no_result_on_sentences(templates: Path) -> None:
    with (templates / "negation.sear").open("a") as file:
        file.write("rule never: zebra -> horse\n")
    _, done = audited(templates, "--data", "rows.csv", "--label", "label")
    assert (
        "No rule was tested; the model gets 90% of the rows and 12% of 34 template sentences right."
        in done.stderr
    )


@pytest.mark.parametrize(
    ("comparison", "labels", "answer"),
    [("squad", ("the cat", "cat"), "cat"), ("set", ("a|b", "b|a"), "a|b")],
)
def test_nobody_guesses_among_answers_that_are_no_classes(
    comparison: Any, labels: tuple[str, str], answer: str
) -> None:
    """Compared as strings, no constant answer would be right on both templates."""
    text = "set KIND = new | old\n" + "".join(
        f'template {name}: "A {{KIND}} {name}."\n  label: "{label}"\n'
        for name, label in zip(("film", "play"), labels, strict=True)
    )
    found = sears.audit(
        lambda texts: [answer] * len(texts), None, sears.parse(text), comparison=comparison,
        scorer=None, gates=["above-constant:all=50%"], min_support=1,
    )  # fmt: skip
    assert found.verdict.outcome == "not judged"
    assert found.robustness is not None
    assert found.robustness.labels is None
    assert [each.constant for each in found.document.columns] == [None]
