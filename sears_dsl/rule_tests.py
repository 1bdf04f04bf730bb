"""Runs the tests that rules carry in their file.

In: a `Ruleset` and a tagger. Out: one `RuleTestResult` for each `test` line, those of rules before
those of templates. A test runs its own rule alone, under scope ``first`` and the unit that the file
asks for. A text may pin its tags (``What/PRON/WP``); the other texts are tagged in one batch, so
that a file of pinned tests needs no tagger installed. The tests of a rule are not run if its
vectors are not installed, or if it wants a paraphraser and none was given. Always holds: rules
without tests are compiled too, so that a file with a rule that cannot be compiled is an error.
Costs two compilations and one pass over the texts, whatever the number of rules.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sears_dsl.answers import label_text
from sears_dsl.engine.compile.requirements import missing_source, stand_ins
from sears_dsl.engine.matcher import Matcher, as_rulesets, compile_rules
from sears_dsl.engine.noise.sources import NO_SOURCES, Sources
from sears_dsl.engine.rewrite.rewrites import Rewrites
from sears_dsl.engine.sentence_units import SentenceUnits
from sears_dsl.generating.sentences import Sentences
from sears_dsl.language.rule import RuleTest
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import parse_pinned
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens, cut_contractions

Outcome: TypeAlias = Literal["ok", "missing", "noisy", "wrong", "not run"]


@dataclass(frozen=True, slots=True)
class RuleTestResult:
    """The result of one test.

    Attributes:
        rule_id: the rule that carries the test.
        test: the test as written.
        outcome: ``ok``; ``missing`` (should fire, did not); ``noisy`` (should be silent, fired);
            ``wrong`` (fired, but gave another text); ``not run`` (the rule needs vectors or a
            paraphraser that are not there).
        actual: the text that the rule gave, None if it was silent.
        why: what is missing for a test that is not run, and what to do about it.
    """

    rule_id: str
    test: RuleTest
    outcome: Outcome
    actual: str | None
    why: str = ""


def run_tests(
    ruleset: Ruleset, *, tagger: Tagger | str | None = None, sources: Sources = NO_SOURCES
) -> list[RuleTestResult]:
    """Run every test of a ruleset.

    Args:
        ruleset: rules with their tests.
        tagger: tags the texts that are not pinned, and says how words of rules are split;
            None takes the default tagger.
        sources: what rules look words and texts up in; vectors that they name are loaded where
            these are installed.

    Raises:
        TaggerError: a text needs tags and the tagger is missing.
        RuleSyntaxError: a rule cannot be compiled.
        UsageError: what was given is not a ruleset.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> from sears_dsl.tagging.pinned import PinnedTagger
        >>> rules = parse('''What NOUN -> Which NOUN
        ...   test "What/PRON/WP color/NOUN/NN ?" => "Which color ?"''')
        >>> [result.outcome for result in run_tests(rules, tagger=PinnedTagger())]
        ['ok']
    """
    as_rulesets([ruleset])
    cases = [(k, test) for k, rule in enumerate(ruleset.rules) for test in rule.metadata.tests]
    of_templates = _template_results(ruleset)
    has = {"vectors": sources.vectors is not None, "paraphrases": sources.paraphrases is not None}
    lacks = [missing_source(rule, ruleset, **has) for rule in ruleset.rules]
    _compile_others(ruleset, {rule for rule, _ in cases if not lacks[rule]}, tagger)
    actual = _actual(ruleset, [case for case in cases if not lacks[case[0]]], tagger, sources)
    results = []
    for rule, test in cases:
        text, lacking = actual.get((rule, test)), lacks[rule]
        outcome: Outcome = "not run" if lacking else _outcome(test.expected, text)
        why = f"{lacking.problem}; {lacking.advice}" if lacking else ""
        results.append(RuleTestResult(ruleset.rule_ids[rule], test, outcome, text, why))
    return results + of_templates


def _compile_others(ruleset: Ruleset, tested: Collection[int], tagger: Tagger | str | None) -> None:
    """Compile the rules without a test that runs, so that a broken one does not pass."""
    others = tuple(rule for number, rule in enumerate(ruleset.rules) if number not in tested)
    if others:
        compile_rules([replace(ruleset, rules=others)], tagger=tagger, sources=stand_ins(ruleset))


def _actual(
    ruleset: Ruleset,
    cases: Sequence[tuple[int, RuleTest]],
    tagger: Tagger | str | None,
    sources: Sources,
) -> dict[tuple[int, RuleTest], str]:
    """Return (rule, test) → what the rule writes, for the tests on which it is not silent."""
    if not cases:
        return {}
    rules = sorted({rule for rule, _ in cases})
    tested = replace(ruleset, rules=tuple(ruleset.rules[rule] for rule in rules))
    matcher = compile_rules([tested], tagger=tagger, sources=sources)
    tokens = _tokens([test.text for _, test in cases], matcher.tagger)
    texts = {
        (rules[rewrite.rule], rewrite.row): rewrite.text for rewrite in _rewrites(matcher, tokens)
    }
    return {
        (rule, test): texts[rule, row]
        for row, (rule, test) in enumerate(cases)
        if (rule, row) in texts
    }


def _rewrites(matcher: Matcher, tokens: Tokens) -> Rewrites:
    """Rewrite the texts in the unit that the rules ask for."""
    if matcher.unit == "text":
        return matcher.rewrites(tokens, matcher.find(tokens))
    cut = SentenceUnits(tokens.texts, matcher.sentences(tokens.texts), None)
    sentences = cut.tokens(tokens)
    return cut.rewritten_rows(matcher.rewrites(sentences, matcher.find(sentences)))


def _template_results(ruleset: Ruleset) -> list[RuleTestResult]:
    """Test whether templates have the sentences of their tests, and with these labels."""
    results = []
    for name, template in ruleset.named_templates:
        sentences = Sentences(template, ruleset)
        for test in template.metadata.tests:
            actual = sentences.label if test.text in sentences else None
            outcome = _outcome(label_text(test.expected), actual)
            results.append(RuleTestResult(name, test, outcome, actual))
    return results


def _outcome(expected: str | None, actual: str | None) -> Outcome:
    if expected == actual:
        return "ok"
    if actual is None:
        return "missing"
    return "noisy" if expected is None else "wrong"


def _tokens(texts: Sequence[str], tagger: Tagger) -> Tokens:
    """One row per text, pinned tags where there are any."""
    pinned = [parse_pinned(text) for text in texts]
    free = [text for text, row in zip(texts, pinned, strict=True) if row is None]
    tagged = tagger.tag(free) if free else Tokens.from_rows([], [])
    rest = ((text, tagged.row(place)) for place, text in enumerate(free))
    plain, tokens = zip(*(row or next(rest) for row in pinned), strict=True)
    return cut_contractions(Tokens.from_rows(plain, tokens))
