"""docs/models.md: every example on the page runs, with its files."""

from __future__ import annotations

import doctest
import re
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from chat_endpoint import Endpoint, Reply
from test_model_pipeline import make

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"
BLOCK = re.compile(r"^```(?:python|toml)\n(.*?)^```", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"# (\S+\.\w+)\n")


def _answer(_: int, body: Any) -> Reply:
    """What the three endpoints of the page answer, each by the body that it takes."""
    if "inputs" in body:
        return Reply({"predictions": [_label(text) for text in body["inputs"]]})
    if "instances" in body:
        labels = [_label(each["review"]) for each in body["instances"]]
        return Reply({"results": [{"label": label} for label in labels]})
    return Reply({"class": int(_label(body["review"]) == "positive")})


def _label(text: str) -> str:
    return "positive" if "good" in text else "negative"


@pytest.fixture
def address() -> Iterator[str]:
    with closing(Endpoint(_answer)) as endpoint:
        yield endpoint.url


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    names = {0: "negative", 1: "positive"}
    make(tmp_path / "my-model", "BertForSequenceClassification", id2label=names)
    path = list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in ("reviews", "reader", "graded", "readers"):
        sys.modules.pop(name, None)


def test_every_example_of_the_page(folder: Path, address: str) -> None:
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    sessions = []
    for block in blocks:
        named = NAMED.match(block)
        if named:
            (folder / named[1]).write_text(block)
        else:
            sessions.append(block.replace("http://localhost:8000", address))
    assert len(sessions) >= 9
    assert all(session.startswith(">>> ") for session in sessions)
    test = doctest.DocTestParser().get_doctest("\n".join(sessions), {}, PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    told: list[str] = []
    runner.run(test, out=told.append)
    assert not runner.summarize(verbose=False).failed, "".join(told)
