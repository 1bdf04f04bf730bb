"""spaCy's pipelines, Hugging Face's datasets and MLflow, with the real packages."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from datasets import Dataset

import sears_dsl as sears
from sears_dsl.errors import CompileError, DataError, UsageError
from sears_dsl.interop.hugging_face import FlipRate, RowRewriter
from sears_dsl.interop.mlflow_logging import log_audit

RULES = "rule film: movie -> film\nrule really: really -> <> / __ ADJ\n"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "a.sear"
    path.write_text(RULES)
    return path


# ---------------------------------------------------------------- spaCy


def tags(doc: spacy.tokens.Doc) -> spacy.tokens.Doc:
    for token in doc:
        adjective = token.text in ("fun", "good")
        token.tag_, token.pos_ = ("JJ", "ADJ") if adjective else ("NN", "NOUN")
    return doc


def test_matches_are_spans_and_rewrites_an_extension(rules: Path) -> None:
    spacy.Language.component("tags_for_a_test", func=tags)
    nlp = spacy.blank("en")
    nlp.add_pipe("tags_for_a_test")
    nlp.add_pipe("sears", config={"rules": [str(rules)]})
    doc, silent = nlp.pipe(["A  really good movie 😀, this movie.", "Nothing."])
    assert [(span.text, span.label_) for span in doc.spans["sears"]] == [
        ("movie", "film"), ("movie", "film"), ("really", "really"),
    ]  # fmt: skip
    assert [each.text for each in doc._.sears] == [
        "A  really good film 😀, this film.", "A  good movie 😀, this movie.",
    ]  # fmt: skip
    assert (len(silent.spans["sears"]), silent._.sears) == (0, ())


def test_rewrites_come_back_from_other_processes_and_from_bytes(rules: Path) -> None:
    nlp = spacy.blank("en")
    path = rules.with_name("words.sear")
    path.write_text("movie -> film\n", "utf-8")
    nlp.add_pipe("sears", config={"rules": [str(path)]})
    [doc] = nlp.pipe(["A movie."])
    [rewrite] = doc._.sears
    assert rewrite.edits[0].new == "film"
    assert spacy.tokens.Doc(nlp.vocab).from_bytes(doc.to_bytes())._.sears == doc._.sears
    assert doc[1:].as_doc(copy_user_data=True)._.sears == (), "their places are those of the whole"
    doc._.sears = ()
    assert doc._.sears == ()


def test_a_pipeline_without_tags_is_reported(rules: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sears", config={"rules": [str(rules)]})
    with pytest.raises(UsageError, match="no earlier component of the pipeline sets any"):
        nlp("A movie.")
    with pytest.raises(UsageError, match="the component has no rules"):
        spacy.blank("en").add_pipe("sears")


@pytest.mark.parametrize(("attribute", "wants"), [("tag_", "NN"), ("pos_", "NOUN")])
def test_rules_ask_for_the_kind_of_tags_that_they_read(
    tmp_path: Path, attribute: str, wants: str
) -> None:
    def tag(doc: spacy.tokens.Doc) -> spacy.tokens.Doc:
        for token in doc:
            setattr(token, attribute, wants)
        return doc

    spacy.Language.component(f"only_{attribute}", func=tag)
    for read in ("NN", "NOUN"):
        (tmp_path / "a.sear").write_text(f"rule a: a {read} -> the film\n")
        nlp = spacy.blank("en")
        nlp.add_pipe(f"only_{attribute}")
        nlp.add_pipe("sears", config={"rules": [str(tmp_path / "a.sear")]})
        if read == wants:
            assert [each.text for each in nlp("A movie.")._.sears] == ["The film."]
        else:
            with pytest.raises(UsageError, match="no earlier component") as told:
                nlp("A movie.")
            assert ("attribute_ruler" in told.value.help) == (read == "NOUN")


def test_rules_of_a_language_without_a_tagger_match_the_words_of_its_pipeline(
    tmp_path: Path,
) -> None:
    french, english = tmp_path / "fr.sear", tmp_path / "en.sear"
    french.write_text("option language = fr\nrule est: n'est -> est\nrule film: film -> métrage\n")
    english.write_text("movie -> film\n")
    nlp = spacy.blank("fr")
    nlp.add_pipe("sears", config={"rules": [str(french)]})
    assert [each.text for each in nlp("Le film n'est pas bon.")._.sears] == [
        "Le film est pas bon.", "Le métrage n'est pas bon.",
    ]  # fmt: skip
    with pytest.raises(CompileError, match="is for language en, but the tagger pipeline:fr is for"):
        spacy.blank("fr").add_pipe("sears", config={"rules": [str(english)]})
    of_any = spacy.blank("xx")
    of_any.add_pipe("sears", config={"rules": [str(french)]})
    assert [each.text for each in of_any("Le film.")._.sears] == ["Le métrage."]


def test_each_component_has_its_results_under_its_name(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    for name, rule in (("sears", "movie -> film"), ("plays", "play -> show")):
        (tmp_path / f"{name}.sear").write_text(f"rule {name}: {rule}\n")
        nlp.add_pipe("sears", name=name, config={"rules": [str(tmp_path / f"{name}.sear")]})
    doc = nlp("A movie and a play.")
    assert [span.text for span in doc.spans["sears"]] == ["movie"]
    assert [span.text for span in doc.spans["plays"]] == ["play"]
    assert [each.text for each in doc._.sears] == ["A film and a play."]
    assert [each.text for each in doc._.plays] == ["A movie and a show."]
    spacy.tokens.Doc.set_extension("own", default=1, force=True)
    with pytest.raises(UsageError, match="an extension named own already"):
        nlp.add_pipe("sears", name="own", config={"rules": [str(tmp_path / "sears.sear")]})


# ---------------------------------------------------------------- Hugging Face


def test_rules_are_mapped_over_a_dataset_and_an_unchanged_one_comes_from_its_cache(
    rules: Path, tmp_path: Path
) -> None:
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps({"review": f"A movie, {n}.", "label": n % 2}) + "\n" for n in range(9))
    )
    rows = Dataset.from_json(str(tmp_path / "rows.jsonl"), cache_dir=str(tmp_path / "cache"))
    rewriter = RowRewriter(rules, column="review")
    first = rows.map(rewriter, batched=True, batch_size=4)
    assert first["review"][:2] == ["A film, 0.", "A film, 1."]
    assert set(first["changed"]) == {True}
    assert first["label"] == rows["label"]
    sent = pickle.loads(pickle.dumps(rewriter))  # noqa: S301 - what processes of map are sent
    again = rows.map(sent, batched=True, batch_size=4)
    assert again._fingerprint == first._fingerprint


@pytest.mark.parametrize("use", [
    lambda rules: rules.rule_ids, lambda rules: rules._repr_html_(), lambda rules: rules[0],
    lambda rules: sears.apply(["a movie"], rules),
])  # fmt: skip
def test_the_cache_recognizes_rules_that_were_used_in_between(use: Any) -> None:
    rows = Dataset.from_dict({"text": ["A movie."]})
    rules = sears.parse("movie -> film")
    first = rows.map(RowRewriter(rules), batched=True)
    use(rules)
    assert rows.map(RowRewriter(rules), batched=True)._fingerprint == first._fingerprint


def test_a_column_that_would_be_lost_is_refused() -> None:
    rules = sears.parse("movie -> film")
    rows = Dataset.from_dict({"text": ["A movie."], "changed": ["on Monday"]})
    with pytest.raises(DataError, match="a column 'changed' already, which would be overwritten"):
        rows.map(RowRewriter(rules), batched=True)
    with pytest.raises(UsageError, match="the texts are in the column 'changed'"):
        RowRewriter(rules, column="changed")
    first = rows.remove_columns("changed").map(RowRewriter(rules), batched=True)
    with pytest.raises(DataError, match="a column 'changed' already") as wrong:
        first.map(RowRewriter(sears.parse("film -> work")), batched=True)
    assert "also that of another RowRewriter" in wrong.value.help
    last = first.rename_column("changed", "once").map(
        RowRewriter(sears.parse("film -> work")), batched=True
    )
    assert last[0] == {"text": "A work.", "once": True, "changed": True}


@pytest.mark.parametrize("form", ["arrow", "pandas"])
def test_batches_of_which_map_would_lose_columns_are_refused(form: str) -> None:
    rows = Dataset.from_dict({"text": ["A movie."], "n": [1]})
    if form == "pandas":
        as_columns = lambda batch: {"text": list(batch["text"])}  # noqa: E731
        lost = rows.with_format(form).map(as_columns, batched=True)
        assert lost.column_names == ["text"], "else there is nothing to refuse"
    with pytest.raises(DataError, match="map leaves out all other columns") as wrong:
        rows.with_format(form).map(RowRewriter(sears.parse("movie -> film")), batched=True)
    assert "with_format(None)" in wrong.value.help


@pytest.mark.parametrize("form", [None, "numpy"])
def test_batches_of_columns_keep_all_of_them(form: str | None) -> None:
    rows = Dataset.from_dict({"text": ["A movie."], "n": [1]}).with_format(form)
    rewritten = rows.map(RowRewriter(sears.parse("movie -> film")), batched=True)
    assert rewritten.with_format(None)[0] == {"text": "A film.", "n": 1, "changed": True}


class _Loud:
    """Paraphrases that no model has to make."""

    identity = "loud"

    def paraphrase(self, texts: Sequence[str]) -> list[str | None]:
        return [text.upper() for text in texts]


def test_rules_that_paraphrase_are_mapped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sears_dsl.paraphrasing.for_rules.BestParaphrases", _Loud)
    rewriter = RowRewriter(sears.parse("<unit> -> $0.paraphrase"))
    assert rewriter({"text": ["A film."]}) == {"text": ["A FILM."], "changed": [True]}


@pytest.mark.parametrize(
    ("batch", "told"),
    [({"text": ["A movie."]}, "no column 'review'"), ({"review": "A movie."}, "is a single text"),
     ({"review": ["A movie.", None]}, "None as 'review'"), ({"review": [5]}, "5 as 'review'")],
)  # fmt: skip
def test_rows_that_cannot_be_rewritten_are_reported(rules: Path, batch: object, told: str) -> None:
    with pytest.raises(DataError, match=told):
        RowRewriter(rules, column="review")(batch)  # type: ignore[arg-type]


def test_flips_are_counted_among_right_rows_alone() -> None:
    metric = FlipRate()
    metric.add(reference="a", prediction="b", rewritten="b")
    assert metric.compute() == {
        "flip_rate": None, "flips": 0, "right": 0, "low": 0.0, "high": 1.0,
    }  # fmt: skip
    found = metric.compute(references=[1] * 4, predictions=[1] * 4, rewritten=[0, 1, 1, 1])
    assert found["flip_rate"] == 0.25
    assert 0 < found["low"] < 0.25 < found["high"] < 1  # type: ignore[operator]
    with pytest.raises(UsageError, match="1 references, 2 predictions"):
        metric.add_batch(references=[1], predictions=[1, 1], rewritten=[1])


def test_an_empty_answer_is_wrong_and_nothing_of_a_refused_batch_counts() -> None:
    metric = FlipRate()
    metric.add_batch(references=["a", "a"], predictions=["a", ""], rewritten=["", "a"])
    with pytest.raises(DataError, match="predictions: None is not a label"):
        metric.add_batch(references=["a", "a"], predictions=["a", None], rewritten=["a", "a"])
    with pytest.raises(DataError, match="references: '' is not a label"):
        metric.add(reference="", prediction="a", rewritten="a")
    with pytest.raises(DataError, match="is not a label"):
        metric.add_batch(
            references=[1], predictions=np.array([[1, 2]]), rewritten=np.array([[1, 2]])
        )
    with pytest.raises(UsageError, match="predictions=None is not a list"):
        metric.compute(references=["a"])
    found = metric.compute()
    assert (found["right"], found["flips"]) == (1, 1)


@pytest.mark.parametrize(
    ("references", "predictions"),
    [
        (["1", "0"], [1, 0]),
        (np.array([1, 0]), np.array([1.0, 0.0])),
        (["1", "0"], np.array([1, 0])),
    ],
)
def test_flips_compare_labels_as_an_audit_does_and_are_numbers_of_python(
    references: Any, predictions: Any
) -> None:
    metric = FlipRate()
    metric.add_batch(references=references, predictions=predictions, rewritten=np.array([0, 0]))
    counts = json.loads(json.dumps(metric.compute()))
    assert (counts["right"], counts["flips"], counts["flip_rate"]) == (2, 1, 0.5)
    with pytest.raises(DataError, match=r"0\.5 is not a label"):
        metric.add(reference=1, prediction=0.5, rewritten=1)


# ---------------------------------------------------------------- MLflow


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ENABLE_ASYNC_LOGGING", "false")
    import mlflow

    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    return mlflow


def test_an_audit_is_logged_in_a_local_store(rules: Path, tmp_path: Path, mlflow: Any) -> None:
    rows = [(f"A movie, {number}.", "good") for number in range(30)]
    model = lambda texts: ["bad" if "film" in text else "good" for text in texts]  # noqa: E731
    audit = sears.audit(model, rows, rules, scorer=None, max_flip_rate="5%")
    with mlflow.start_run() as run:
        log_audit(audit)
    logged = mlflow.MlflowClient().get_run(run.info.run_id).data
    assert logged.metrics["sears.rule.film"] == 1.0
    assert logged.metrics["sears.flip_rate"] == 1.0
    assert logged.metrics["sears.accuracy_worst"] == 0.0
    assert "sears.rule.really" not in logged.metrics  # tested on no row
    assert logged.tags["sears.verdict"] == "failed"
    assert logged.params["sears.rows"] == "30"
    names = {path.name for path in (tmp_path / "runs").rglob("*") if path.is_file()}
    assert {"audit.html", "audit.md", "audit.json", "junit.xml"} <= names


def test_audits_in_one_run_keep_their_numbers_and_files_apart(
    rules: Path, tmp_path: Path, mlflow: Any
) -> None:
    rows = [(f"A movie, {number}.", "good") for number in range(30)]
    models = {
        "old": lambda texts: ["bad" if "film" in text else "good" for text in texts],
        "new": lambda texts: ["good" for _ in texts],
    }
    both = sears.audit(models, rows, rules, scorer=None)
    with mlflow.start_run() as run:
        log_audit(both)
        log_audit(both.audits["new"], prefix="again")
    logged = mlflow.MlflowClient().get_run(run.info.run_id).data
    assert logged.metrics["sears.old.flip_rate"] == 1.0
    assert logged.metrics["sears.new.flip_rate"] == logged.metrics["again.flip_rate"] == 0.0
    folders = {path.parent.name for path in (tmp_path / "runs").rglob("audit.html")}
    assert folders == {"sears.old", "sears.new", "again"}
    with pytest.raises(UsageError, match="an object of type str is not an audit"):
        log_audit("audit")  # type: ignore[arg-type]


def test_audits_of_models_of_any_names_are_logged_apart(rules: Path, mlflow: Any) -> None:
    rows = [(f"A movie, {number}.", "good") for number in range(30)]
    names = ("a:b", "a_b", "x//y", "models/../m", "org/m", "..")
    models = {
        name: lambda texts, wrong=place: [
            "good" if int(re.findall(r"\d+", text)[0]) >= wrong else "bad" for text in texts
        ]
        for place, name in enumerate(names)
    }
    with mlflow.start_run() as run:
        log_audit(sears.audit(models, rows, rules, scorer=None))
    logged = mlflow.MlflowClient().get_run(run.info.run_id).data
    prefixes = ("a_b-2", "a_b", "x/y", "models/m", "org/m", "model")
    of_models = [logged.metrics[f"sears.{each}.accuracy"] for each in prefixes]
    assert of_models == pytest.approx([1 - place / 30 for place in range(len(names))])
