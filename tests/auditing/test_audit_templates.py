"""An audit of templates alone: accuracy by template, their mean, and the constant answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import call

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
