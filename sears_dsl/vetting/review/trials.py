"""Rules that a reviewer types, each tried once: read, applied to all rows, asked about.

In: texts of rules, a line each. Out: what is wrong with it and where, or the rule and its
`RuleTable`. Always holds: a line is read under the options, sets and imports of the ruleset that is
vetted, so that what is saved means the same in it; the same text gives the same
effects; what the model answered about a rule is kept, so that asking again goes on from there; only
the last few hundred texts are remembered. Costs what the workbench costs, once a text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock

from sears_dsl.engine.matcher import compile_rules
from sears_dsl.errors import Diagnostic, RuleSyntaxError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.language.parsing.parser import parse_lines
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import LABEL_STAYS, Expectation, Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.paraphrasing.rewording import sources_of
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.vetting.review.workbench import RuleTable, Workbench

_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class Typed:
    """What came of a line.

    Attributes:
        rule: the rule; None where there are errors.
        text: its canonical text; empty where there are errors.
        findings: errors, or warnings about a rule that can be used.
    """

    rule: Rule | None
    text: str
    findings: tuple[Diagnostic, ...]


class RuleReader:
    """Reads single rules in the context of a ruleset.

    Example:
        >>> from sears_dsl.tagging.pinned import PinnedTagger
        >>> reader = RuleReader(parse("option tagset = sears2018"), tagger=PinnedTagger())
        >>> reader.read("What VERB -> So  what VERB").text
        'What VERB -> So what VERB'
        >>> print(reader.read("What VREB -> So what").findings[0].render())
        rule:1:6: error[E201]: `VREB` is not a tag
          |
        1 | What VREB -> So what
          |      ^^^^
          = help: did you mean VERB?
                  to mean the text itself, quote it: `"VREB"`
    """

    def __init__(self, ruleset: Ruleset, *, tagger: Tagger) -> None:
        # Without its name: a published ruleset asks for tests, a rule on its way has none.
        bare = replace(ruleset, rules=(), layout=(), trailing=(), name=None, version=None)
        self._above = bare.format()
        self._lines = self._above.count("\n")
        self._path = ruleset.path
        self._ruleset = ruleset
        self._tagger = tagger
        # Decisions and questions to the model come from two threads.
        self._lock = Lock()

    def read(self, line: str) -> Typed:
        """What a line says."""
        with self._lock:
            return self._read(line)

    def _read(self, line: str) -> Typed:
        if len(line) > _LONGEST:
            return _wrong("E101", f"a rule of {len(line):,} characters is too long to be typed")
        if len(line.splitlines()) > 1:
            return _wrong("E101", "a rule is one line")
        if any(not isinstance(entry.node, Rule) for entry in parse_lines(line).entries):
            # Before it is read in its context: an import would open a file.
            return _no_rule()
        try:
            # What the ruleset imports was allowed when it was loaded; a line that is typed
            # cannot import.
            text = f"{self._above}{line}\n"
            parsed = parse(text, path=self._path, allow_imports_outside=True)
            rules = [
                each for each in parsed.rules if each.span and each.span.line == self._lines + 1
            ]
            if len(rules) != 1 or len(parsed.sets) != len(self._ruleset.sets):
                return _no_rule()
            scoped = replace(self._ruleset, rules=tuple(rules))
            compile_rules([scoped], tagger=self._tagger, sources=sources_of([scoped]))
        except RuleSyntaxError as error:
            return Typed(None, "", tuple(self._moved(error.diagnostics)))
        warnings = tuple(self._moved(parsed.warnings))
        return Typed(rules[0], print_rule(rules[0]), warnings)

    def _moved(self, findings: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
        """The findings about the line, as if it stood alone."""
        for each in findings:
            if each.span is None:
                yield replace(each, path="rule")
            elif each.span.line > self._lines:
                line = each.span.line - self._lines
                yield replace(each, path="rule", span=replace(each.span, line=line))


def _no_rule() -> Typed:
    return _wrong("E101", "this is no rule", help="write: antecedent -> consequent")


def _wrong(code: str, message: str, *, help: str = "") -> Typed:  # noqa: A002 - the field's term
    return Typed(None, "", (Diagnostic(code, message, help=help, path="rule"),))


_REMEMBERED = 256


class Trials:
    """Tries rules.

    Args:
        bench: rows, model and the ruleset under whose options and sets rules are read.
    """

    def __init__(self, bench: Workbench) -> None:
        self.reader = RuleReader(bench.ruleset, tagger=bench.tagger)
        self._bench = bench
        self._applied = lru_cache(_REMEMBERED)(lambda *typed: bench.apply([self.rule(*typed)]))
        self._known = lru_cache(_REMEMBERED)(lambda *typed: bench.effects_of([self.rule(*typed)]))
        self._effects: dict[tuple[str, Expectation], RuleTable] = {}

    def rule(self, text: str, expect: Expectation = LABEL_STAYS) -> Rule:
        """The rule that a text is.

        Args:
            expect: of the rule that it is to replace; a line that is typed cannot say it.

        Raises:
            UsageError: it is none; its findings are in the help.
        """
        typed = self.reader.read(text)
        if typed.rule is None:
            findings = "\n\n".join(each.render() for each in typed.findings)
            raise UsageError(f"{text!r} is no rule here", help=findings)
        return replace(typed.rule, metadata=replace(typed.rule.metadata, expect=expect))

    def applied(self, text: str) -> RuleTable:
        """What a rule makes of the rows; the model is not asked."""
        return self._applied_as(text, LABEL_STAYS)

    def _applied_as(self, text: str, expect: Expectation) -> RuleTable:
        effects: RuleTable = self._applied(text, expect)
        return effects

    def known(self, text: str, expect: Expectation = LABEL_STAYS) -> RuleTable:
        """All that a rule does; the model is asked, and a scorer, unless they were before."""
        effects: RuleTable = self._known(text, expect)
        return effects

    def ask(self, text: str, deadline: float, *, expect: Expectation | None = None) -> RuleTable:
        """What a rule does, as far as the model could be asked in time; at least some.

        Args:
            deadline: of ``time.monotonic()``.
        """
        typed = text, expect or LABEL_STAYS
        effects = self._effects.pop(typed, None) or self._applied_as(*typed)
        if not effects.complete:
            effects = self._bench.ask_until(effects, deadline)
        self._effects[typed] = effects
        if len(self._effects) > _REMEMBERED:
            del self._effects[next(iter(self._effects))]
        return effects
