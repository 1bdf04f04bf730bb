"""Rules of a discovery → the text of a ruleset file: numbers, real examples as tests, own sets.

A rule of the file does what it did in the search, also where new rules (exact case) and known ones
(under the options of their own files) stand side by side. If one of them mends articles, all do,
and known ones do so in the search (`known_rules`).
Every test in the file was run with the tagger that found the rules, and holds. Formatting the text
again changes nothing. Writing it costs one tagging of the sentences in the tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import Any

from sears_dsl.discovery.articles import mends_articles
from sears_dsl.effects.applications import MINED
from sears_dsl.engine.rewrite.renderer import follows_case
from sears_dsl.language.loader import parse
from sears_dsl.language.rule import (
    Element,
    Group,
    Literal,
    Negation,
    Options,
    Rule,
    RuleTest,
    SetDefinition,
    SetReference,
    Test,
)
from sears_dsl.language.ruleset import Ruleset, file_of_module
from sears_dsl.rule_tests import run_tests
from sears_dsl.tagging.tagger import Tagger

_NEW = Ruleset((), options=MINED)
_FIRING_TESTS = 2
_LONGEST_TEST = 200


@dataclass(frozen=True, slots=True)
class EmittedRule:
    """A rule with what is written under it."""

    rule: Rule  # antecedent and consequent; of a known rule its tags and own tests stay, too
    name: str
    why: str  # its numbers in one sentence
    firing: Sequence[tuple[str, str]]  # (original, rewritten) sentences, best first
    silent: Sequence[str]  # sentences that it must leave alone, best first
    # Where a known rule comes from, such as ``contractions/expand``; empty for new ones
    source: str = ""
    # The file that a rule is read in, with its options and sets; None for mined ones
    scope: Ruleset | None = None

    @property
    def read_under(self) -> Ruleset:
        """The file, or one with the options of mined rules."""
        return _NEW if self.scope is None else self.scope


def emit(
    rules: Sequence[EmittedRule], *, name: str, comment: Sequence[str] = (), tagger: Tagger
) -> str:
    """The text of a ruleset file, with the lines of a comment (given without ``#``) on top.

    All known rules are such that `is_writable`. The file is read with exact case, as new rules are,
    unless a known rule in it is read otherwise; then new rules have their words in quotes. It mends
    articles if a rule in it needs that.
    """
    options = _options(rules, tagger)
    sets = _Sets()
    written = []
    for each in rules:
        scope = each.read_under
        rule = sets.carried_over(each.rule, scope, to_smart=options.case != scope.options.case)
        author = "sears discover"
        if each.source:
            author = ", ".join(filter(None, (f"known: {each.source}", rule.metadata.author)))
        tests = tuple(_candidate_tests(each))
        metadata = replace(rule.metadata, why=each.why, author=author, tests=tests)
        written.append(replace(rule, name=each.name, metadata=metadata))
    ruleset = Ruleset(
        tuple(written), options=options, sets=sets.definitions, name=name, version="1.0.0"
    )
    ruleset = replace(ruleset, rules=tuple(_with_tests_that_hold(ruleset, tagger)))
    text = "".join(f"# {line}\n" for line in comment) + ruleset.format()
    return parse(text, path=f"{name}.sear").format()


def _options(rules: Sequence[EmittedRule], tagger: Tagger) -> Options:
    """Exact case if all rules are read so; else the default, in which any casing can be written.

    Articles are mended if that is on for a known rule, or if a new one may need it.
    """
    scopes = [each.read_under for each in rules]
    exact = all(each.options.case == "exact" for each in scopes)
    mends = any(
        mends_articles(each.rule, tagger)
        if each.scope is None
        else each.scope.options.repair == "on"
        for each in rules
    )
    options = MINED if exact else Options()
    return replace(options, language=tagger.language, repair="on" if mends else "off")


def is_writable(rule: Rule, scope: Ruleset) -> bool:
    """Whether a rule can stand in one file with rules of other files, and do what it did.

    A file has one set of options. A rule can express casing: words that are read exactly get
    quotes. It cannot express another tag set. Nor can a rule without a word, read with exact case,
    keep from following the casing of the text. In English, a search reads all with `repair = on`
    but files that set `repair` themselves.
    """
    # A search has one tagger, so all its rules are of one language.
    if replace(scope.options, case="smart", language="en", repair="off") != Options():
        return False
    if scope.options.case == "smart":
        return True
    sets = _Sets()
    smart_rule = sets.carried_over(rule, scope, to_smart=True)
    return follows_case(rule, scope) == follows_case(smart_rule, Ruleset((), sets=sets.definitions))


@dataclass
class _Sets:
    """The sets of a file that takes rules of other files, each with the sets that it names."""

    # Members → name, as they stand in the new file
    known: dict[tuple[Test, ...], str] = field(default_factory=dict)

    @property
    def definitions(self) -> tuple[SetDefinition, ...]:
        """The sets, each after those that it contains."""
        return tuple(SetDefinition(name, members) for members, name in self.known.items())

    def carried_over(self, rule: Rule, scope: Ruleset, *, to_smart: bool) -> Rule:
        """A rule of another file, with its sets in this one.

        With ``to_smart``, words are written so that ``case = smart`` reads them as the other file
        does.
        """

        def moved(elements: Iterable[Element], file: Ruleset = scope) -> tuple[Element, ...]:
            return tuple(replace(each, body=body(each.body, file)) for each in elements)

        def body(test: Any, file: Ruleset) -> Any:
            match test:
                case Literal(quoted=False, ignore_case=False) if to_smart:
                    return _in_smart_case(test, file.options)
                case SetReference():
                    owner = file_of_module(file, test.module)
                    members = owner.written_sets[test.name]
                    return self._named(test.name, tuple(body(each, owner) for each in members))
                case Negation():
                    return Negation(body(test.operand, file))
                case Group():
                    return Group(tuple(moved(each, file) for each in test.alternatives))
            return test

        return replace(
            rule, antecedent=moved(rule.antecedent), left=moved(rule.left), right=moved(rule.right)
        )

    def _named(self, name: str, members: tuple[Test, ...]) -> SetReference:
        if members not in self.known:
            set_names = set(self.known.values())
            names = (name if number == 1 else f"{name}_{number}" for number in count(1))
            self.known[members] = next(each for each in names if each not in set_names)
        return SetReference(self.known[members])


def _in_smart_case(literal: Literal, options: Options) -> Literal:
    """A bare word of another case option, as it is written under ``smart``."""
    if options.case == "ignore":
        return Literal(literal.text.lower())
    # One with a capital is exact by itself, but for its apostrophes.
    exact = literal.text.isalpha() and literal.text != literal.text.lower()
    return literal if exact else Literal(literal.text, quoted=True)


def _candidate_tests(emitted: EmittedRule) -> Iterator[RuleTest]:
    """Sentences in which the rule fires, then those in which it is silent, best first of each."""
    own = emitted.rule.metadata.tests
    yield from (RuleTest(*pair) for pair in emitted.firing if len(pair[0]) <= _LONGEST_TEST)
    yield from (test for test in own if test.expected is not None)
    yield from (test for test in own if test.expected is None)
    yield from (RuleTest(text, None) for text in emitted.silent if len(text) <= _LONGEST_TEST)


def _with_tests_that_hold(ruleset: Ruleset, tagger: Tagger) -> Iterator[Rule]:
    """Each rule with the first of its tests that hold when they are read in the file.

    A sentence may be read otherwise there: one with `word/TAG/TAG` in it would pin its tags.
    """
    results = iter(run_tests(ruleset, tagger=tagger))
    for rule in ruleset.rules:
        of_rule = list(islice(results, len(rule.metadata.tests)))
        held = [each.test for each in of_rule if each.outcome == "ok"]
        firing = [test for test in held if test.expected is not None][:_FIRING_TESTS]
        silent = [test for test in held if test.expected is None][:1]
        yield replace(rule, metadata=replace(rule.metadata, tests=(*firing, *silent)))
