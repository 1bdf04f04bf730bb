"""Error prediction finds planted causes, and none where there are none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from audited import audited, rows_of
from click.testing import CliRunner, Result

import sears_dsl as sears
from sears_dsl.auditing.document import AuditDocument, write_document
from sears_dsl.auditing.failures import (
    ErrorsDocument,
    Feature,
    LearningRows,
    collect_answers,
    fold_interval,
    learn_errors,
    predict_errors,
)
from sears_dsl.auditing.reports.several_audits import errors_markdown, errors_page
from sears_dsl.cli.model.errors import errors_command
from sears_dsl.errors import DataError, UsageError
from sears_dsl.language.loader import parse

pytest.importorskip("sklearn", reason="scikit-learn is not installed: sears-dsl[analysis]")

RULES = parse("rule film: movie -> film\nrule tape: movie -> tape\nrule turn: movie -> reel\n"
              "  expect: flip\n")  # fmt: skip


def drawn(wrong: Sequence[bool], **features: Sequence[float | str]) -> LearningRows:
    return LearningRows(
        wrong=np.array(wrong, np.bool_),
        rows=np.arange(len(wrong)),
        features=tuple(
            Feature(name, "category" if isinstance(values[0], str) else "number", list(values))
            for name, values in features.items()
        ),
    )


def test_the_feature_that_labels_were_drawn_from_comes_first() -> None:
    draw = np.random.default_rng(3)
    kinds = draw.choice(["what", "when", "why"], 1500)
    chance = np.select([kinds == "why", kinds == "what"], [0.85, 0.3], 0.1)
    wrong = draw.random(1500) < chance
    found = drawn(
        wrong.tolist(),
        length=draw.integers(3, 60, 1500).astype(float).tolist(),
        kind=kinds.tolist(),
        noise=draw.choice(["a", "b"], 1500).tolist(),
    )
    learned = learn_errors(found)
    assert learned.f1.mean() > learned.majority_f1.mean() + 0.1
    means = learned.importances.mean(axis=1)
    assert means.argmax() == 1
    assert means[1] > 10 * max(means[0], means[2], 0.001)
    assert learned.importances.shape == (3, 10)


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_of_labels_at_random_nothing_is_learned(share: float) -> None:
    draw = np.random.default_rng(8)
    wrong = draw.random(1500) < share
    found = drawn(wrong.tolist(), length=draw.normal(size=1500).tolist(),
                  kind=draw.choice(list("abc"), 1500).tolist())  # fmt: skip
    learned = learn_errors(found)
    assert abs(learned.f1.mean() - learned.majority_f1.mean()) < 0.02
    assert learned.majority == (share > 0.5)
    low, high = fold_interval(learned.f1 - learned.majority_f1)
    assert low <= 0 <= high


def test_folds_are_those_of_scikit_learn_and_the_majority_is_that_of_all_answers() -> None:
    from sklearn.metrics import f1_score
    from sklearn.model_selection import KFold

    draw = np.random.default_rng(5)
    wrong = draw.random(204) < 0.5
    found = drawn(wrong.tolist(), length=draw.normal(size=204).tolist())
    wanted = []
    for _, judged in KFold(10, shuffle=True, random_state=7).split(wrong):
        says = np.full(len(judged), 2 * wrong.sum() > len(wrong))
        wanted.append(f1_score(wrong[judged], says, average="micro"))
    assert learn_errors(found, seed=7).majority_f1.tolist() == pytest.approx(wanted)


def test_of_answers_half_of_which_are_wrong_the_majority_tells_half() -> None:
    """What is rare in the judged part is the majority of the parts that are learned from."""
    draw = np.random.default_rng(2)
    learned = learn_errors(drawn([True, False] * 50, length=draw.normal(size=100).tolist()))
    assert learned.majority_f1.mean() == pytest.approx(0.5)


def test_answers_to_one_row_are_in_one_fold() -> None:
    """Otherwise a row that is in the data twice would reveal its own answer."""
    draw = np.random.default_rng(9)
    wrong = draw.random(400) < 0.5
    keys = draw.permutation(400).astype(float)
    twice = LearningRows(
        wrong=np.repeat(wrong, 3),
        rows=np.repeat(np.arange(400), 3),
        features=(Feature("key", "number", np.repeat(keys, 3).tolist()),),
    )
    assert abs(learn_errors(twice).f1.mean() - 0.5) < 0.06


def test_the_interval_over_folds_has_the_variance_of_nadeau_and_bengio() -> None:
    values = [0.1, 0.2, 0.15, 0.25, 0.1, 0.3, 0.2, 0.2, 0.15, 0.25]
    low, high = fold_interval(values)
    spread = np.std(values, ddof=1) * (1 / 10 + 1 / 9) ** 0.5
    assert (low + high) / 2 == pytest.approx(np.mean(values))
    assert (high - low) / 2 == pytest.approx(2.262157 * spread, rel=1e-5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [([True, False] * 40, "80 answers are too few to learn from: 100 are needed"),
     ([False] * 200, "only 0 of 200 answers are wrong"),
     ([True] * 199 + [False], "only 1 of 200 answer is right")],
)  # fmt: skip
def test_what_cannot_be_learned_is_reported(wrong: list[bool], message: str) -> None:
    found = drawn(wrong, length=list(map(float, range(len(wrong)))))
    with pytest.raises(UsageError, match=message):
        learn_errors(found)


_LEARN = """
import os
import numpy as np
import sklearn.ensemble
from sears_dsl.auditing.failures import Feature, LearningRows
from sears_dsl.auditing.failures import learn_errors
def threads():
    return len(os.listdir("/proc/self/task"))
values, before = np.arange(100.0), threads()
learn_errors(LearningRows(wrong=values % 3 < 1, rows=np.arange(100),
                   features=(Feature("a", "number", values.tolist()),)))
print(threads() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted on Linux")
def test_one_thread_learns_however_many_there_may_be() -> None:
    """OpenMP's threads stay once they have started."""
    threads = {"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", _LEARN], capture_output=True, text=True,
                          env=os.environ | threads, check=True)  # fmt: skip
    assert done.stdout.strip() == "0"


# ---------------------------------------------------------------- from audits


def test_an_instance_is_an_answer_and_wrong_where_the_rule_is_not_obeyed() -> None:
    audit = audited(rows_of("kfgw"), rules=RULES, sure=(0.9, 0.4))
    found = collect_answers({"a": audit})
    # Rows as they are: g and w are wrong. film and tape: f and w. turn wants another answer than
    # the label, so k and g are wrong.
    assert found.wrong.tolist() == [0, 0, 1, 1] + [0, 1, 0, 1] * 2 + [1, 0, 1, 0]
    assert found.rows.tolist() == [0, 1, 2, 3] * 4
    features = {each.name: each for each in found.features}
    assert (
        features["rule"].values == ["(untouched)"] * 4 + ["film"] * 4 + ["tape"] * 4 + ["turn"] * 4
    )
    assert features["confidence"].values == [0.9] * 4 + [0.4] * 12
    assert set(features) == {"rule", "ruleset", "confidence"}, "what never differs says nothing"


def test_confidence_that_is_not_given_is_no_feature() -> None:
    features = collect_answers({"a": audited(rows_of("kfgw"), rules=RULES)}).features
    assert "confidence" not in {each.name for each in features}


def planted() -> AuditDocument:
    """A third of the rows flip, and only the letter in the text says which."""
    return audited(rows_of("kkf" * 30), rules=parse("movie -> film\nmovie -> tape\nmovie -> reel"))


ROWS = [{"text": each["text"], "label": "yes"} for each in rows_of("kkf" * 30).rows]


@pytest.fixture(scope="module")
def document() -> ErrorsDocument:
    return predict_errors({"a": planted()}, data=ROWS, seed=4)


def test_what_the_rows_say_is_a_feature() -> None:
    rows = [{**row, "letter": row["text"].split()[2]} for row in ROWS]
    found = predict_errors({"a": planted()}, data=rows, features=["letter"])
    assert found.features[0].name == "letter"
    assert {each.value: each.wrong.rate for each in found.features[0].parts}.keys() == {"k", "f"}
    assert found.foretold
    assert "best by letter" in found.conclusion
    without = predict_errors({"a": planted()})
    assert without.features[0].name == "rule"
    assert any("--data" in note for note in without.notes)


def test_a_column_called_like_a_feature_of_answers_is_another_feature() -> None:
    rows = [{**row, "confidence": row["text"].split()[2], "rule": "x"} for row in ROWS]
    found = predict_errors({"a": planted()}, data=rows, features=["confidence", "rule"])
    names = {each.name for each in found.features}
    assert "column confidence" in names
    assert "confidence" not in names
    assert "The model reports no confidence, so confidence is not a feature." in found.notes


def test_the_type_of_question_is_known_where_the_rules_rewrite_the_context() -> None:
    def model(asked: list[dict[str, str]]) -> list[str]:
        return ["no" if row["question"].startswith("Why") else "yes" for row in asked]

    rows = [
        {"context": f"A movie no {number}.", "label": "yes",
         "question": f"{'Why' if number % 3 else 'Who'} is it {number}?"}
        for number in range(120)
    ]  # fmt: skip
    found = sears.audit(model, rows, sears.parse("movie -> film"), text="context", label="label",
                        also=["question"], scorer=None)  # fmt: skip
    told = predict_errors({"a": found.document}, data=rows)
    assert told.features[0].name == "first-word(question)"
    assert "first-word(context)" not in {each.name for each in told.features}


def test_the_same_seed_gives_the_same_document_and_another_one_other_folds(
    document: ErrorsDocument,
) -> None:
    audits = {"a": planted()}
    assert predict_errors(audits, data=ROWS, seed=4) == document
    assert predict_errors(audits, data=ROWS, seed=5).f1.folds != document.f1.folds


def test_rows_of_other_audits_are_refused() -> None:
    with pytest.raises(
        UsageError, match=r"a and b are audits of different rows: 4 rows .* and 5 rows"
    ):
        predict_errors({"a": audited(rows_of("kfgw")), "b": audited(rows_of("kfgwk"))})
    with pytest.raises(DataError, match="has other rows than the audit"):
        predict_errors({"a": planted()}, data=[{**row, "label": "no"} for row in ROWS])
    with pytest.raises(UsageError, match="of the rows, which are not given"):
        predict_errors({"a": planted()}, features=["letter"])
    with pytest.raises(UsageError, match=r"words\(answer\) is not a feature of the rows"):
        predict_errors({"a": planted()}, data=ROWS, features=["words(answer)"])


# ---------------------------------------------------------------- reports and command


def errors(folder: Path, *arguments: str) -> Result:
    for name in ("clean", "noisy"):
        (folder / name).mkdir(exist_ok=True)
        write_document(planted(), folder / name / "audit.json")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    return CliRunner().invoke(errors_command, arguments)


def test_the_command_writes_page_markdown_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = errors(tmp_path, "clean", "noisy/audit.json", "--data", "rows.jsonl", "-o", "out")
    assert done.exit_code == 0, done.output
    assert "written: out/errors.html, errors.md, errors.json" in done.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "errors.html", "errors.json", "errors.md"
    }  # fmt: skip
    document = ErrorsDocument.model_validate_json((tmp_path / "out/errors.json").read_bytes())
    assert [each.name for each in document.audits] == ["clean", "noisy"]
    page = (tmp_path / "out/errors.html").read_text("utf-8")
    markdown = (tmp_path / "out/errors.md").read_text("utf-8")
    assert (page, markdown) == (errors_page(document), errors_markdown(document))
    for each in document.features:
        assert f"{100 * each.importance.mean:+z.2f}" in page, "each number is text too"
        assert f"{100 * each.importance.mean:+z.2f}" in markdown
    assert f"{document.f1.mean:.3f}" in page
    printed = errors(tmp_path, "clean", "noisy", "--data", "rows.jsonl", "--json")
    assert json.loads(printed.stdout) == json.loads(document.model_dump_json())


def test_names_of_features_stay_text() -> None:
    rows = [{**row, "<b>|x": "<i>|" if " k " in row["text"] else "y"} for row in ROWS]
    document = predict_errors({"<script>": planted()}, data=rows, features=["<b>|x"])
    page = errors_page(document)
    assert "<b>" not in page
    assert "<i>" not in page
    assert "&lt;script&gt;" in page
    assert "`<b>\\|x`" in errors_markdown(document)


def test_next_to_nothing_is_written_without_a_minus(document: ErrorsDocument) -> None:
    nothing = replace(document.features[0].importance, mean=-1e-5, low=-1e-5, high=1e-5)
    features = tuple(replace(each, importance=nothing) for each in document.features)
    document = document.model_copy(update={"features": features})
    for report in (errors_page(document), errors_markdown(document)):
        assert "+0.00" in report
        assert "-0.00" not in report


@pytest.mark.parametrize("again", ["clean", "clean/audit.json", "../{}/clean"])
def test_an_audit_that_is_named_twice_is_reported(tmp_path: Path, again: str) -> None:
    done = errors(tmp_path, str(tmp_path / "clean"), str(tmp_path / again.format(tmp_path.name)))
    assert isinstance(done.exception, UsageError)
    assert f"the audit {tmp_path / 'clean'} is named twice" in str(done.exception)


def test_a_column_with_a_comma_in_its_name_is_one_column() -> None:
    rows = [{"review,text": f"No movie {n}", "label": str(n % 2)} for n in range(12)]

    def model(texts: list[str]) -> list[str]:
        return [str(int(text.split()[-1]) % 2) for text in texts]

    rules = parse("rule film: movie -> film\n")
    audit = sears.audit(model, rows, rules, text="review,text", label="label", scorer=None)
    answers = collect_answers({"a": audit.document})
    assert answers.rows.tolist() == [*range(12)] * 2


@pytest.mark.parametrize("named", ["a,b", "a, b"])
def test_rows_of_which_two_columns_are_rewritten_are_those_of_the_file(named: str) -> None:
    rows = [
        {"a": f"A {'good' if n % 3 else 'bad'} movie {n}", "b": f"No movie {n % 7}",
         "label": "pos" if n % 2 else "neg", "flag": bool(n % 2)}
        for n in range(80)
    ]  # fmt: skip

    def model(asked: list[dict[str, str]]) -> list[str]:
        return ["pos" if "good" in row["a"] or "film" in row["b"] else "neg" for row in asked]

    rules = parse("rule film: movie -> film\n")
    audit = sears.audit(model, rows, rules, text=named, label="label", scorer=None).document
    errors = predict_errors({"a": audit}, data=rows, features=["flag"])
    flag = next(each for each in errors.features if each.name == "flag")
    assert (flag.kind, flag.known, errors.wrong.total) == ("category", 320, 320)
    assert {each.value for each in flag.parts} == {"True", "False"}
    # No fold learns from the other copy of a row that it judges.
    answers = collect_answers({"a": audit})
    assert sorted(set(answers.rows.tolist())) == list(range(80))
    part = sears.audit(
        model, rows, rules, text=named, label="label", scorer=None, limit=40
    ).document
    assert predict_errors({"a": part}, data=rows).wrong.total == 160
    with pytest.raises(DataError, match="other rows than the audit"):
        predict_errors({"a": part}, data=rows[1:])


def test_rows_with_choices_and_pictures_are_those_of_the_file(tmp_path: Path) -> None:
    pictures = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pictures.new("RGB", (4, 4)).save(tmp_path / "good.png")
    rows = [
        {"q": f"Is movie {number} good?", "label": "yes", "choices": ["yes", "no"],
         "picture": "none.png" if number % 10 == 3 else "good.png"}
        for number in range(120)
    ]  # fmt: skip
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.warns(UserWarning, match="12 rows are left out"):
        audit = sears.audit(
            lambda rows: ["yes" if "7" in row["q"] else "no" for row in rows], file,
            sears.parse("movie -> film"), text="q", label="label", scorer=None, choices="choices",
            image="picture",
        )  # fmt: skip
    document = sears.predict_errors(audit, data=file).document
    assert document.wrong.total == 2 * 108
    assert not any("choices" in each.name or "picture" in each.name for each in document.features)


def test_numbers_are_numbers_in_every_format(tmp_path: Path) -> None:
    rows = [{**row, "age": place} for place, row in enumerate(ROWS)]
    lines = "".join(f"{row['text']},yes,{row['age']}\n" for row in rows)
    (tmp_path / "rows.csv").write_text(f"text,label,age\n{lines}", "utf-8")
    by_text, by_number = (
        next(each for each in found.features if each.name == "age")
        for data in (tmp_path / "rows.csv", rows)
        for found in [predict_errors({"a": planted()}, data=data, features=["age"])]
    )
    assert by_text == by_number
    assert (by_text.kind, len(by_text.parts)) == ("number", 4)


def test_counts_of_words_are_written_as_whole_numbers() -> None:
    found = predict_errors({"a": planted()}, data=[
        {**row, "said": "word " * (place % 3 + 1)} for place, row in enumerate(ROWS)
    ], features=["words(said)"])  # fmt: skip
    (words,) = (each for each in found.features if each.name == "words(said)")
    assert [each.value for each in words.parts] == ["1", "2", "3"]


def test_errors_are_written_over_nothing_that_is_read(tmp_path: Path) -> None:
    (tmp_path / "errors.json").write_text("text,label\n", "utf-8")
    write_document(planted(), tmp_path / "audit.json")
    done = CliRunner().invoke(errors_command, [
        str(tmp_path), "--data", str(tmp_path / "errors.json"), "--format", "csv", "-o",
        str(tmp_path),
    ])  # fmt: skip
    assert done.exit_code == 2
    assert "is an input of this command" in done.output
    assert (tmp_path / "errors.json").read_text("utf-8") == "text,label\n"
