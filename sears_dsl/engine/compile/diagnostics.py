"""What the compiler has to say about rules, as `Diagnostic`s like those of the checker.

In: rules that could not be compiled, and rules that inflect. Out: diagnostics in the order of the
rules. Always holds: a finding shows the rule in its canonical form, since the compiler has the
tree and not the file; its line is that of the file where the rule came from one. Codes: E7 for
what only the tokenizer tells; the others are the checker's, for rules that were never checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sears_dsl.engine.compile.inflection_check import compile_diagnostics
from sears_dsl.engine.compile.noise_check import noise_diagnostics
from sears_dsl.engine.compile.predicates import PatternError
from sears_dsl.engine.compile.program import Problem
from sears_dsl.errors import Diagnostic, Span
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Inflected, Reference, Rule, RuleSource, TagCopy, Text
from sears_dsl.tagging.inflection import INFLECTION_TAGS

# Pieces that cannot be wrong; mined rules have no others.
_PLAIN = frozenset({Text, TagCopy})


def inflects(rule: Rule) -> bool:
    """Whether the consequent inflects a word, for which rendering asks for tags."""
    return any(
        isinstance(piece, Inflected)
        or (isinstance(piece, Reference) and not INFLECTION_TAGS.isdisjoint(piece.functions))
        for piece in rule.consequent
    )


def compiler_findings(
    rules: Sequence[tuple[Rule, RuleSource]], problems: Iterable[Problem]
) -> list[Diagnostic]:
    """Everything that keeps rules from being compiled, in their order.

    Args:
        rules: each rule with its ruleset.
        problems: what `program.build_program` found.
    """
    findings = [(number, _of_problem(*rules[number], problem)) for number, problem in problems]
    findings.extend(_inflections(rules))
    return [finding for _, finding in sorted(findings, key=lambda item: item[0])]


def compiler_warnings(ruleset: RuleSource) -> list[Diagnostic]:
    r"""What works of rules, and perhaps not as meant; only checks ask for it.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("set WORD = trunk | film\n@WORD -> $1.homoglyph")
        >>> [(finding.code, finding.span.line) for finding in compiler_warnings(rules)]
        [('W622', 2)]
    """
    return [
        _placed(finding, rule, ruleset)
        for rule in ruleset.rules
        for finding in noise_diagnostics(rule, ruleset)
        if finding.code[0] == "W"
    ]


def _of_problem(rule: Rule, ruleset: RuleSource, problem: PatternError) -> Diagnostic:
    finding = Diagnostic(problem.code, problem.message, help=problem.advice)
    return _placed(finding, rule, ruleset)


def _inflections(rules: Sequence[tuple[Rule, RuleSource]]) -> Iterator[tuple[int, Diagnostic]]:
    for number, (rule, ruleset) in enumerate(rules):
        if _PLAIN.issuperset(map(type, rule.consequent)):
            continue
        for finding in noise_diagnostics(rule, ruleset):
            if finding.code[0] == "E":
                yield number, _placed(finding, rule, ruleset)
        if inflects(rule):
            for finding in compile_diagnostics(rule, ruleset):
                yield number, _placed(finding, rule, ruleset)


def _placed(finding: Diagnostic, rule: Rule, ruleset: RuleSource) -> Diagnostic:
    """The finding with its file, its line and the whole rule as the place."""
    source = print_rule(rule)
    line = rule.span.line if rule.span is not None else ruleset.rules.index(rule) + 1
    place = Span(line, 1, len(source) + 1)
    return replace(finding, span=place, path=ruleset.path, source=source)
