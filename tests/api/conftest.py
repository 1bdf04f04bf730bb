"""The rows and the model as files, rules, and fewer shipped sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
from brittle_model import ROWS

import sears_dsl as sears

RULES = "rule film: movie -> film\n  tags: words\n\nrule show: play -> show\n"
MODULE = '''\
def predict(texts):
    """Takes every film for a bad one."""
    return ["bad" if "film" in text or "bad" in text else "good" for text in texts]

def reword(sentences):
    return [[each.replace("movie", "film"), each.replace("has", "had")] for each in sentences]

def close(pairs):
    return [0.9 for _ in pairs]

close.tau = 0.5
'''


@pytest.fixture(scope="module", autouse=True)
def quick(few_texts: None) -> None:
    """No test of functions depends on all of the shipped sentences."""


@pytest.fixture
def rules() -> sears.Ruleset:
    return sears.parse(RULES)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same rows and model as files, for the commands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "brittle_words.py").write_text(MODULE, "utf-8")
    (tmp_path / "rules.sear").write_text(RULES, "utf-8")
    lines = "".join(f"{text},{label}\n" for text, label in ROWS)
    (tmp_path / "rows.csv").write_text("text,label\n" + lines, "utf-8")
    return tmp_path
