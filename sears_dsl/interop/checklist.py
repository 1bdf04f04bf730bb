"""Turns rules over texts, and templates, into a CheckList test suite with a test for each.

In: rulesets and the texts to test on. Out: plain `RuleCases`, or the `TestSuite` of CheckList made
of them. A rule that expects ``same`` becomes an invariance test (INV), ``flip`` a directional
expectation (DIR), ``label NAME`` a minimum functionality test (MFT), and so does a template. Always
holds: every test case is one row that the rule changes, in the order of the rows, or one sentence
of the template; no model is asked here. Costs one run of the engine; only `checklist_suite` imports
CheckList.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from sears_dsl.answers import label_text
from sears_dsl.api.arguments import AnyRules, rulesets_of
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.effects.applications import applications_in
from sears_dsl.effects.oracle import Oracle, accepted_rewrites, sentence_filter
from sears_dsl.engine.matches import Scope
from sears_dsl.errors import UsageError, check_whole_number
from sears_dsl.generating.table import TEMPLATE, TEXT, generate_table
from sears_dsl.language.printer import print_rule, print_template
from sears_dsl.paraphrasing.for_rules import compile_with_sources
from sears_dsl.runtime.extras import import_tool
from sears_dsl.tagging.tagger import Tagger

TestKind: TypeAlias = Literal["INV", "DIR", "MFT"]
"""CheckList's kinds of tests: invariance, directional expectation, minimum functionality."""

_KINDS: Mapping[str, TestKind] = {"same": "INV", "flip": "DIR", "label": "MFT"}
# CheckList 0.0.11 shows tables in notebooks through modules that newer Jupyter versions lack.
_INSTALL = (
    "pip install 'setuptools<70' wheel 'notebook<7' 'ipython<9' && "
    "pip install --no-build-isolation checklist"
)


@dataclass(frozen=True, slots=True)
class Case:
    """One row that a rule changes, or one sentence of a template."""

    row: int  # its place among the texts, or among the sentences of the template, counted from 0
    original: str  # the text as given; of a sentence the sentence
    rewritten: str


@dataclass(frozen=True, slots=True)
class RuleCases:
    """What one rule or template tests."""

    rule_id: str  # the id of the rule or template, the name of the test
    rule: str
    why: str  # the reason that the file gives; may be empty
    kind: TestKind  # what CheckList calls such a test
    # The label that a template, or a rule with ``expect: label NAME``, wants; else empty
    label: str
    # The rows that it changes, or its sentences; empty where it fires nowhere
    cases: tuple[Case, ...]
    of_template: bool = False


def rule_cases(
    rulesets: AnyRules,
    texts: Sequence[str],
    *,
    tagger: Tagger | None = None,
    scope: Scope = "first",
    oracle: Oracle | None = None,
) -> list[RuleCases]:
    r"""What each rule tests on the texts, in the order of the rules; see `checklist_suite`.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> from sears_dsl.tagging.pinned import PinnedTagger
        >>> rules = parse("rule film: movie -> film\n  expect: same")
        >>> [cases] = rule_cases([rules], ["A movie .", "A book ."], tagger=PinnedTagger())
        >>> cases.rule_id, cases.kind, cases.cases
        ('film', 'INV', (Case(row=0, original='A movie .', rewritten='A film .'),))
    """
    # A column of a table counts its rows by an index of its own.
    texts = list(texts)
    matcher = compile_with_sources(rulesets_of(rulesets), tagger=tagger)
    rewrites = matcher.apply(texts, scope=scope)
    if oracle is not None:
        rows = LabelledRows(tuple({"text": text} for text in texts), "text", None, "texts")
        rewrites, _ = accepted_rewrites(rewrites, matcher.rules, rows, oracle)
    applications = applications_in(rewrites, texts)
    tests = []
    for number, (rule_id, rule) in enumerate(zip(matcher.rule_ids, matcher.rules, strict=True)):
        own = applications.of_rule(number)
        cases = zip(applications.rows[own].tolist(), applications.pairs(own), strict=True)
        expect = rule.expectation
        tests.append(
            RuleCases(
                rule_id,
                print_rule(rule),
                rule.metadata.why or "",
                _KINDS[expect.kind],
                label_text(expect.label) or "",
                tuple(Case(row, original, rewritten) for row, (original, rewritten) in cases),
            )
        )
    return tests


def template_cases(
    rulesets: AnyRules, *, limit: int | None = None, oracle: Oracle | None = None
) -> list[RuleCases]:
    r"""What each template tests: all of its sentences, or those that a limit leaves it.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse('set GOOD = good | nice\n'
        ...               'template fine: "A {GOOD} film."\n  label: positive')
        >>> [cases] = template_cases([rules])
        >>> cases.rule_id, cases.kind, cases.label, [case.rewritten for case in cases.cases]
        ('fine', 'MFT', 'positive', ['A good film.', 'A nice film.'])
    """
    if limit is not None:
        check_whole_number(limit, name="limit", least=1)
    rulesets = rulesets_of(rulesets)
    templates = [each for ruleset in rulesets for each in ruleset.templates]
    if not templates:
        return []
    keep = None if oracle is None else sentence_filter(oracle)
    table = generate_table(rulesets, limit=limit, keep=keep)
    sentences: dict[str, list[Case]] = {each.name: [] for each in table.templates}
    for name, text in zip(table.columns[TEMPLATE], table.columns[TEXT], strict=True):
        sentences[name].append(Case(len(sentences[name]), text, text))
    return [
        RuleCases(
            name,
            print_template(template),
            template.metadata.why or "",
            "MFT",
            label_text(template.metadata.label) or "",
            tuple(cases),
            of_template=True,
        )
        for template, (name, cases) in zip(templates, sentences.items(), strict=True)
    ]


def checklist_suite(
    rulesets: AnyRules,
    texts: Sequence[str] = (),
    *,
    tagger: Tagger | None = None,
    scope: Scope = "first",
    limit: int | None = None,
    oracle: Oracle | None = None,
    label_values: Mapping[str, object] | None = None,
    threshold: float = 0.0,
    capability: str = "Robustness",
) -> Any:
    """Make a CheckList ``TestSuite`` with a test for each template and rule that changes a text.

    Args:
        rulesets: rulesets with the rules and templates.
        texts: the rows to test rules on.
        tagger: None for the default one.
        scope: rewrite the ``first`` instance of a rule in a row, or ``all``.
        limit: most sentences of templates; None for all.
        oracle: rejects rewrites and sentences; None keeps all.
        label_values: what the model's wrapper predicts for a label that a rule names, such as
            ``{"negative": 0}``; None where it predicts the names themselves.
        threshold: how much the probability of the original label may fall in an invariance test
            that still passes; 0 means that the label decides, as in `sears audit`.
        capability: the row of CheckList's table in which the tests stand.

    Returns:
        ``checklist.test_suite.TestSuite``; run it with ``suite.run(wrapped_model)``. The ``meta``
        of each test case says its row and its rule or template.

    Raises:
        UsageError: CheckList is not installed; a label is missing in ``label_values``; two rules
            have the same id; no rule changes any text, and there is no template.
        ModelError: the oracle fails.
        DataError: it rejects everything.
    """
    of_rules = rule_cases(rulesets, texts, tagger=tagger, scope=scope, oracle=oracle)
    # A rule and a template may have the same name, and each test of a suite needs its own.
    rule_ids = {test.rule_id for test in of_rules}
    tests = [
        replace(test, rule_id=f"{test.rule_id} (template)") if test.rule_id in rule_ids else test
        for test in template_cases(rulesets, limit=limit, oracle=oracle)
    ]
    # CheckList cannot run a test without cases.
    tests = [test for test in (*of_rules, *tests) if test.cases]
    if not tests:
        raise UsageError(
            f"no rule changes any of the {len(texts):,} texts, so there is nothing to test",
            help="`sears explain RULES TEXT` says why a rule does not fire",
        )
    values = {test.label: _value(test, label_values) for test in tests if test.kind == "MFT"}
    types = import_tool("checklist.test_types", tool="CheckList", install=_INSTALL)
    suites = import_tool("checklist.test_suite", tool="CheckList", install=_INSTALL)
    expectations = import_tool("checklist.expect", tool="CheckList", install=_INSTALL)
    suite = suites.TestSuite()
    for test in tests:
        key = "template" if test.of_template else "rule"
        meta = [{"row": case.row, key: test.rule} for case in test.cases]
        pairs = [[case.original, case.rewritten] for case in test.cases]
        if test.kind == "INV":
            checklist_test = types.INV(pairs, threshold=threshold, meta=meta)
        elif test.kind == "DIR":
            expect = expectations.Expect.pairwise(_another_label())
            checklist_test = types.DIR(pairs, expect, meta=meta)
        else:
            rewritten = [case.rewritten for case in test.cases]
            checklist_test = types.MFT(rewritten, labels=values[test.label], meta=meta)
        about = f"{test.rule}  {test.why}".strip()
        suite.add(checklist_test, name=test.rule_id, capability=capability, description=about)
    return suite


def _value(test: RuleCases, label_values: Mapping[str, object] | None) -> object:
    if label_values is None:
        return test.label
    value_of = {label_text(label): value for label, value in label_values.items()}
    if test.label not in value_of:
        raise UsageError(
            f"{test.rule_id} expects the label {test.label}, which is not in `label_values`",
            help=f"it has {', '.join(label_values) or 'none'}; add what the model predicts for it",
        )
    return value_of[test.label]


def _another_label() -> Callable[..., bool]:
    """Return CheckList's expectation that the label changes, a function without a closure.

    It is defined inside a function, so that a saved suite carries its code along and can be read
    where this package is not installed.
    """

    def another(before: object, after: object, *_: object, **__: object) -> bool:
        return bool(before != after)

    return another
