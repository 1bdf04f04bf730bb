"""Rules over texts as a CheckList test suite: one test for each rule.

In: rulesets and the texts to test on. Out: plain `RuleCases`, or the `TestSuite` of CheckList made
of them. A rule that expects ``same`` becomes an invariance test (INV), ``flip`` a directional
expectation (DIR), ``label NAME`` a minimum functionality test (MFT). Always holds: every test
case is one row that the rule changes, in the order of the rows; nothing is predicted here. Costs
one run of the engine; CheckList is imported by `checklist_suite` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sears_dsl.effects.applications import applications_in
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.matches import Scope
from sears_dsl.errors import UsageError
from sears_dsl.interop.foreign import imported
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Expectation
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.tagger import Tagger

TestKind: TypeAlias = Literal["INV", "DIR", "MFT"]
"""CheckList's kinds of tests: invariance, directional expectation, minimum functionality."""

_KINDS: Mapping[str, TestKind] = {"same": "INV", "flip": "DIR", "label": "MFT"}
# CheckList 0.0.11 shows its tables in the notebook, by modules that newer Jupyters have not.
_INSTALL = "pip install 'notebook<7' 'ipython<9' && pip install --no-build-isolation checklist"


@dataclass(frozen=True, slots=True)
class Case:
    """One row that a rule changes.

    Attributes:
        row: its place among the texts, counted from 0.
        original: the text as given.
        rewritten: the text after the rule.
    """

    row: int
    original: str
    rewritten: str


@dataclass(frozen=True, slots=True)
class RuleCases:
    """What one rule tests.

    Attributes:
        rule_id: the id of the rule, the name of the test.
        rule: its canonical text.
        why: the reason that the file gives; may be empty.
        kind: what CheckList calls such a test.
        label: the label that a rule with ``expect: label NAME`` wants; else empty.
        cases: the rows that it changes; empty where it fires nowhere.
    """

    rule_id: str
    rule: str
    why: str
    kind: TestKind
    label: str
    cases: tuple[Case, ...]


def rule_cases(
    rulesets: Sequence[Ruleset],
    texts: Sequence[str],
    *,
    tagger: Tagger | None = None,
    scope: Scope = "first",
) -> list[RuleCases]:
    r"""What each rule tests on the texts, in the order of the rules.

    Args:
        rulesets: where the rules stand.
        texts: the rows to test on.
        tagger: None for the default one.
        scope: rewrite the ``first`` instance of a rule in a row, or ``all``.

    Raises:
        RuleSyntaxError: rules that cannot be compiled.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> from sears_dsl.tagging.pinned import PinnedTagger
        >>> rules = parse("rule film: movie -> film\n  expect: same")
        >>> [cases] = rule_cases([rules], ["A movie .", "A book ."], tagger=PinnedTagger())
        >>> cases.rule_id, cases.kind, cases.cases
        ('film', 'INV', (Case(row=0, original='A movie .', rewritten='A film .'),))
    """
    matcher = compile_rules(rulesets, tagger=tagger)
    done = applications_in(matcher.apply(texts, scope=scope), texts)
    tests = []
    for number, (rule_id, rule) in enumerate(zip(matcher.rule_ids, matcher.rules, strict=True)):
        own = done.of_rule(number)
        cases = zip(done.rows[own].tolist(), done.pairs(own), strict=True)
        expect = rule.metadata.expect or Expectation()
        tests.append(
            RuleCases(
                rule_id,
                print_rule(rule),
                rule.metadata.why or "",
                _KINDS[expect.kind],
                expect.label,
                tuple(Case(row, original, rewritten) for row, (original, rewritten) in cases),
            )
        )
    return tests


def checklist_suite(
    rulesets: Sequence[Ruleset],
    texts: Sequence[str],
    *,
    tagger: Tagger | None = None,
    scope: Scope = "first",
    label_values: Mapping[str, object] | None = None,
    threshold: float = 0.0,
    capability: str = "Robustness",
) -> Any:
    """A CheckList ``TestSuite`` with a test for each rule that changes at least one text.

    Args:
        rulesets: where the rules stand.
        texts: the rows to test on.
        tagger: None for the default one.
        scope: rewrite the ``first`` instance of a rule in a row, or ``all``.
        label_values: what the model's wrapper predicts for a label that a rule names, such as
            ``{"negative": 0}``; None where it predicts the names themselves.
        threshold: how much the probability of the original label may fall for an invariance test
            that CheckList still passes; 0 means that the label decides, as in `sears audit`.
        capability: the row of CheckList's table in which the tests stand.

    Returns:
        ``checklist.test_suite.TestSuite``; run it with ``suite.run(wrapped_model)``. The ``meta``
        of each test case says its row and rule.

    Raises:
        UsageError: CheckList is not installed; a label is missing in ``label_values``; two rules
            have the same id; no rule changes any text.
    """
    tests = [
        test
        for test in rule_cases(rulesets, texts, tagger=tagger, scope=scope)
        if test.cases  # CheckList cannot run a test without cases
    ]
    if not tests:
        raise UsageError(
            f"no rule changes any of the {len(texts):,} texts, so there is nothing to test",
            help="`sears explain RULES TEXT` says why a rule is silent",
        )
    values = {test.label: _value(test, label_values) for test in tests if test.kind == "MFT"}
    types = imported("checklist.test_types", tool="CheckList", install=_INSTALL)
    suites = imported("checklist.test_suite", tool="CheckList", install=_INSTALL)
    expectations = imported("checklist.expect", tool="CheckList", install=_INSTALL)
    suite = suites.TestSuite()
    for test in tests:
        meta = [{"row": case.row, "rule": test.rule} for case in test.cases]
        pairs = [[case.original, case.rewritten] for case in test.cases]
        if test.kind == "INV":
            made = types.INV(pairs, threshold=threshold, meta=meta)
        elif test.kind == "DIR":
            expect = expectations.Expect.pairwise(_another_label())
            made = types.DIR(pairs, expect, meta=meta)
        else:
            rewritten = [case.rewritten for case in test.cases]
            made = types.MFT(rewritten, labels=values[test.label], meta=meta)
        about = f"{test.rule}  {test.why}".strip()
        suite.add(made, name=test.rule_id, capability=capability, description=about)
    return suite


def _value(test: RuleCases, label_values: Mapping[str, object] | None) -> object:
    if label_values is None:
        return test.label
    if test.label not in label_values:
        raise UsageError(
            f"the rule {test.rule_id} expects the label {test.label}, which `label_values` lacks",
            help=f"there are {', '.join(label_values) or 'none'}; add what the model predicts",
        )
    return label_values[test.label]


def _another_label() -> Callable[..., bool]:
    """CheckList's question about a pair, closed over nothing.

    It is made inside a function, so that a saved suite carries it along and can be read where
    this package is not installed.
    """

    def another(before: object, after: object, *_: object, **__: object) -> bool:
        return bool(before != after)

    return another
