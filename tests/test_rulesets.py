"""The shipped rulesets keep their promises: passing tests, unique ids, canonical form."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from sears_dsl.catalogue import shipped_rulesets
from sears_dsl.language.loader import load
from sears_dsl.language.rule import Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.rule_tests import run_tests
from sears_dsl.tagging.tagger import Tagger, load_tagger

FILES = sorted(shipped_rulesets().items())
NAMES = [name for name, _ in FILES]
PATHS = [path for _, path in FILES]

each_ruleset = pytest.mark.parametrize("path", PATHS, ids=NAMES)


@cache
def _ruleset(path: Path) -> Ruleset:
    return load(path)


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    pytest.importorskip("spacy", reason="the tests of shipped rules without pinned tags need spaCy")
    return load_tagger()


def test_there_are_rulesets() -> None:
    assert len(FILES) >= 16


@each_ruleset
def test_the_rules_do_what_their_tests_say(path: Path, tagger: Tagger) -> None:
    results = run_tests(_ruleset(path), tagger=tagger)
    failures = [
        f"{result.rule_id}: {result.outcome}: {result.test.text!r} gave {result.actual!r}"
        for result in results
        if result.outcome not in ("ok", "not run")
    ]
    assert not failures, "\n".join(failures)


@each_ruleset
def test_every_rule_has_an_id_a_firing_and_a_silent_test(path: Path) -> None:
    def lacking(rule: Rule) -> list[str]:
        expected = [test.expected for test in rule.metadata.tests]
        found = {
            "an id": rule.name is not None,
            "a firing test": any(text is not None for text in expected),
            "a silent test": None in expected,
        }
        return [what for what, there in found.items() if not there]

    missing = {str(rule.name): lacking(rule) for rule in _ruleset(path).rules if lacking(rule)}
    assert not missing


@each_ruleset
def test_the_file_has_a_name_and_a_version_and_is_in_canonical_form(path: Path) -> None:
    ruleset = _ruleset(path)
    assert ruleset.name
    assert ruleset.version
    assert ruleset.format() == path.read_text("utf-8")


def test_ids_are_unique_over_all_rulesets() -> None:
    ids = Counter(rule_id for path in PATHS for rule_id in _ruleset(path).rule_ids)
    assert [rule_id for rule_id, count in ids.items() if count > 1] == []


def test_names_of_rulesets_are_unique() -> None:
    names = Counter(_ruleset(path).name for path in PATHS)
    assert [name for name, count in names.items() if count > 1] == []
