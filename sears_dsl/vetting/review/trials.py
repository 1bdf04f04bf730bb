"""Rules that a reviewer types, each tried once: read, applied to all rows, asked about.

In: texts of rules. Out: rules and a `RuleTable` of each. Always holds: the same text gives the same
effects; what the model answered about a rule is kept, so that asking again goes on from there; only
the last few hundred texts are remembered. Costs what the workbench costs, once a text.
"""

from __future__ import annotations

from functools import lru_cache

from sears_dsl.errors import UsageError
from sears_dsl.language.rule import Rule
from sears_dsl.vetting.review.typing_rules import RuleReader
from sears_dsl.vetting.review.workbench import RuleTable, Workbench

_REMEMBERED = 256


class Trials:
    """Tries rules.

    Args:
        bench: rows, model and the ruleset under whose options and sets rules are read.
    """

    def __init__(self, bench: Workbench) -> None:
        self.reader = RuleReader(bench.ruleset, tagger=bench.tagger)
        self._bench = bench
        self._applied = lru_cache(_REMEMBERED)(lambda text: bench.apply([self.rule(text)]))
        self._known = lru_cache(_REMEMBERED)(lambda text: bench.effects_of([self.rule(text)]))
        self._effects: dict[str, RuleTable] = {}

    def rule(self, text: str) -> Rule:
        """The rule that a text is.

        Raises:
            UsageError: it is none; its findings are in the help.
        """
        typed = self.reader.read(text)
        if typed.rule is None:
            findings = "\n\n".join(each.render() for each in typed.findings)
            raise UsageError(f"{text!r} is no rule here", help=findings)
        return typed.rule

    def applied(self, text: str) -> RuleTable:
        """What a rule makes of the rows; the model is not asked."""
        effects: RuleTable = self._applied(text)
        return effects

    def known(self, text: str) -> RuleTable:
        """All that a rule does; the model is asked, and a scorer, unless they were before."""
        effects: RuleTable = self._known(text)
        return effects

    def ask(self, text: str, deadline: float) -> RuleTable:
        """What a rule does, as far as the model could be asked in time; at least some.

        Args:
            text: the rule.
            deadline: of ``time.monotonic()``.

        Raises:
            ModelError: the model failed; what it answered is kept.
        """
        effects = self._effects.pop(text, None) or self.applied(text)
        if not effects.complete:
            effects = self._bench.ask_until(effects, deadline)
        self._effects[text] = effects
        if len(self._effects) > _REMEMBERED:
            del self._effects[next(iter(self._effects))]
        return effects
