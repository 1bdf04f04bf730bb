"""The taggers with which the shipped rulesets were validated: their own tests, and a table.

In: taggers, the shipped rules, measurements on gold-tagged sentences. Out: the tests that fail;
``rulesets/taggers.json``, from which `sears_dsl.batch.provenance` knows when to warn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256

import numpy as np

from benchmarks.firing import Agreement
from benchmarks.shipped_rules import Rules
from sears_dsl.batch.provenance import TABLE
from sears_dsl.catalogue import shipped_rulesets
from sears_dsl.rule_tests import run_tests
from sears_dsl.runtime.files import resource_folder, write_atomically
from sears_dsl.tagging.tagger import identity_of, load_tagger

__all__ = ["run_own_tests", "write_table"]


def run_own_tests(names: Sequence[str], rules: Rules) -> dict[str, dict[str, list[str]]]:
    """Tests of shipped rules that fail: tagger → ruleset → what was wrong."""
    failing: dict[str, dict[str, list[str]]] = {}
    for name in names:
        tagger = load_tagger(name)
        failing[name] = {
            each: [
                f"{result.rule_id}: {result.outcome}: {result.test.text!r} gave {result.actual!r}"
                for result in run_tests(ruleset, tagger=tagger)
                if result.outcome != "ok"
            ]
            for each, ruleset in rules.rulesets.items()
        }
    return failing


def write_table(
    failing: Mapping[str, Mapping[str, Sequence[str]]],
    measured: Mapping[str, Agreement],
    rules: Rules,
) -> None:
    """Write which taggers the rulesets were validated with: those with which all tests pass.

    Args:
        failing: the result of `run_own_tests`.
        measured: firings of each tagger on raw text, against mapped gold tags.
        rules: the shipped rules.
    """
    identities = {name: identity_of(load_tagger(name)) for name in failing}
    entries = {}
    for ruleset in rules.rulesets:
        own = np.array([each == ruleset for each in rules.of]) & rules.read_tags
        if not own.any():
            continue
        evidence = {}
        for name, identity in identities.items():
            part = measured[name].part(own)
            scores = part.micro()
            evidence[identity] = {
                "firings with gold tags": part.gold,
                "precision": round(scores.precision, 3),
                "recall": round(scores.recall, 3),
            }
        entries[ruleset] = {
            "sha256": sha256(shipped_rulesets()[ruleset].read_bytes()).hexdigest(),
            "validated_with": [identities[name] for name in failing if not failing[name][ruleset]],
            "evidence": evidence,
        }
    table = {
        "format": "sears-taggers",
        "version": 1,
        "made_by": "python -m benchmarks.taggers --table",
        "evidence": "where the rules fire in the 2,001 sentences of UD English EWT's development "
        "part, raw text, against gold tags; validated: all tests of the rules hold",
        "rulesets": entries,
    }
    path = resource_folder("rulesets") / TABLE
    write_atomically(path, (json.dumps(table, indent=2) + "\n").encode())
    print(f"written: {path.name}")
