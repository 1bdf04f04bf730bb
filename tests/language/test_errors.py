"""Malformed rule files and what is told about them, kept word by word.

`tests/language/errors/NAME.sear` is the file, `NAME.txt` what is printed; write them anew with
``pytest tests/language/test_errors.py --update-golden`` and read the difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sears_dsl.language.loader import findings_of

FOLDER = Path(__file__).parent / "errors"
FILES = sorted(FOLDER.glob("*.sear"))


def told(path: Path) -> str:
    findings = findings_of(path.read_text("utf-8"), path=path.name)
    return "\n\n".join(each.render() for each in findings) + "\n"


def test_there_are_files() -> None:
    assert len(FILES) >= 40


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_reported(path: Path, update_golden: bool) -> None:
    golden, text = path.with_suffix(".txt"), told(path)
    if update_golden:
        golden.write_text(text, "utf-8")
    assert text == golden.read_text("utf-8")
    for internal in ("Token(", "UnexpectedInput", "_WS", "PUNCTUATION", "lark", "None"):
        assert internal not in text
    assert "= help: " in text


def test_no_expectation_without_a_file() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {path.stem for path in FILES}
