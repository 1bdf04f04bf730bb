"""The language reference is true: its examples run, and its errors are the errors."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from sears_dsl.errors import RuleSyntaxError
from sears_dsl.glossary import FUNCTION_MEANINGS
from sears_dsl.language.loader import parse
from sears_dsl.rule_tests import run_tests
from sears_dsl.runtime.files import resource_folder
from sears_dsl.tagging.pinned import PinnedTagger

REFERENCE = (resource_folder("grammar") / "README.md").read_text("utf-8")
BLOCKS = [
    (match[1].split(), match[2], REFERENCE.count("\n", 0, match.start()) + 1)
    for match in re.finditer(r"^```sears([^\n]*)\n(.*?)^```", REFERENCE, re.DOTALL | re.MULTILINE)
]
VALID = [pytest.param(text, id=f"line-{line}") for info, text, line in BLOCKS if not info]
MARKED = [pytest.param(*info, text, id=info[1]) for info, text, _ in BLOCKS if info]
PACKAGE = Path(parse.__code__.co_filename).parents[1]
CODES = {
    code
    for folder in ("language", "engine", "batch", "generating")
    for path in (PACKAGE / folder).rglob("*.py")
    for code in re.findall(r"\"([EW]\d{3})\"", path.read_text("utf-8"))
}


def _read(text: str, *, compiled: bool) -> None:
    ruleset = parse(text)
    if compiled:
        ruleset.compile(tagger=_Splitting())


class _Splitting(PinnedTagger):
    """A tokenizer that knows the one word of the examples that is several tokens."""

    def split(self, words: str) -> tuple[str, ...]:
        return ("can", "not") if words == "cannot" else super().split(words)


@pytest.mark.parametrize("name", FUNCTION_MEANINGS)
def test_each_function_of_new_texts_is_described(name: str) -> None:
    assert re.search(rf"\.{name}\b", REFERENCE)


def test_there_are_examples() -> None:
    assert len(VALID) > 15
    assert len(MARKED) > 50


@pytest.mark.parametrize("text", VALID)
def test_examples_are_read_and_written_back(text: str) -> None:
    ruleset = parse(text)
    assert parse(ruleset.format()).rules == ruleset.rules
    assert parse(ruleset.format()).format() == ruleset.format()


@pytest.mark.parametrize("text", VALID)
def test_examples_do_what_their_tests_say(text: str) -> None:
    if importlib.util.find_spec("spacy") is None:
        pytest.skip("the examples are tokenized by spaCy, which is not installed")
    wrong = [result for result in run_tests(parse(text)) if result.outcome != "ok"]
    assert wrong == []


@pytest.mark.parametrize(("kind", "code", "text"), MARKED)
def test_findings_are_those_of_the_reference(kind: str, code: str, text: str) -> None:
    if kind == "warning":
        assert code in {finding.code for finding in parse(text).warnings}
        return
    with pytest.raises(RuleSyntaxError) as caught:
        _read(text, compiled=kind == "compile")
    findings = [each for each in caught.value.diagnostics if each.severity == "error"]
    assert {each.code for each in findings} == {code}
    assert all(each.help for each in findings)


def test_every_code_is_explained_and_no_other() -> None:
    assert set(re.findall(r"\*\*([EW]\d{3})\*\*", REFERENCE)) == CODES
