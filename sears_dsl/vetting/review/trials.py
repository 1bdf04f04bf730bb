"""Trying rules that a reviewer types, and proposing narrower rules that fit marks on pairs.

In: texts of rules, one a line; pairs that were judged. Out: what is wrong with a rule and where, or
the rule and its `RuleTable`; `Proposal`s, shortest condition first. A line is read under the
options, sets and imports of the vetted ruleset, so a saved rule means the same there. The same text
gives the same table. The model's answers about a rule are kept, so that asking again goes on from
there. The numbers of a proposal are counted on its rewrites of all rows, not only on the places
that suggested it, and without asking the model. What a rule does is remembered once it is decided
on; of rules that were only typed, the last few hundred are. Costs what the workbench costs, once
for each text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from sears_dsl.discovery.filtering import narrowing
from sears_dsl.effects.applications import Applications
from sears_dsl.errors import Diagnostic, RuleSyntaxError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.language.parsing.parser import parse_lines
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import NO_METADATA, Metadata, Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.paraphrasing.for_rules import compile_with_sources
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.vetting.decisions import ReviewState
from sears_dsl.vetting.review.workbench import RuleTable, Workbench

_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class TypedRule:
    """The result of reading a line: a rule, its canonical text and warnings, or errors."""

    rule: Rule | None
    text: str
    findings: tuple[Diagnostic, ...]


class RuleReader:
    """Reads single rules in the context of a ruleset."""

    def __init__(self, ruleset: Ruleset, *, tagger: Tagger) -> None:
        # The name goes, because a named ruleset requires tests, which a typed rule does not have.
        bare = replace(ruleset, rules=(), layout=(), trailing=(), name=None, version=None)
        self._above = bare.format()
        self._lines = self._above.count("\n")
        self._ruleset = ruleset
        self._tagger = tagger
        # Decisions and questions to the model run in two threads.
        self._lock = Lock()

    def read(self, line: str) -> TypedRule:
        """Read one line as a rule."""
        with self._lock:
            return self._read(line)

    def _read(self, line: str) -> TypedRule:
        if len(line) > _LONGEST:
            return _wrong(f"the rule has {len(line):,} characters, more than {_LONGEST:,}")
        if len(line.splitlines()) > 1:
            return _wrong("a rule has to be on one line")
        if any(not isinstance(entry.node, Rule) for entry in parse_lines(line).entries):
            # Checked before it is read in context, since an import would open a file.
            return _NO_RULE
        try:
            # The ruleset's imports were allowed when it was loaded, and a typed line has none.
            text = f"{self._above}{line}\n"
            parsed = parse(text, path=self._ruleset.path, allow_imports_outside=True)
            rules = [
                each for each in parsed.rules if each.span and each.span.line == self._lines + 1
            ]
            if len(rules) != 1 or len(parsed.sets) != len(self._ruleset.sets):
                return _NO_RULE
            scoped = replace(self._ruleset, rules=tuple(rules))
            compile_with_sources([scoped], tagger=self._tagger)
        except RuleSyntaxError as error:
            return TypedRule(None, "", tuple(self._moved(error.diagnostics)))
        warnings = tuple(self._moved(parsed.warnings))
        return TypedRule(rules[0], print_rule(rules[0]), warnings)

    def _moved(self, findings: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
        """The findings about the line, as if it stood alone."""
        for each in findings:
            if each.span is None:
                yield replace(each, path="rule")
            elif each.span.line > self._lines:
                line = each.span.line - self._lines
                yield replace(each, path="rule", span=replace(each.span, line=line))


def _wrong(message: str, advice: str = "") -> TypedRule:
    return TypedRule(None, "", (Diagnostic("E101", message, help=advice, path="rule"),))


_NO_RULE = _wrong("this is not a rule", "write: antecedent -> consequent")


_REMEMBERED = 256


class Trials:
    """Reads rules that a reviewer types, and remembers what they do."""

    def __init__(self, bench: Workbench) -> None:
        self.reader = RuleReader(bench.ruleset, tagger=bench.tagger)
        self._bench = bench
        self._applied = lru_cache(_REMEMBERED)(lambda *typed: bench.apply([self.rule(*typed)]))
        # Never forgotten: a decision on another rule would wait for the model.
        self._known: dict[tuple[str, Metadata], RuleTable] = {}
        self._asked: dict[tuple[str, Metadata], RuleTable] = {}

    def rule(self, text: str, effect: Metadata = NO_METADATA) -> Rule:
        """Parse a rule, which gets the `Rule.effect` of the rule that it is to replace."""
        typed = self.reader.read(text)
        if typed.rule is None:
            findings = "\n\n".join(each.render() for each in typed.findings)
            raise UsageError(f"{text!r} is not a valid rule", help=findings)
        return replace(typed.rule, metadata=effect)

    def applied(self, text: str, effect: Metadata = NO_METADATA) -> RuleTable:
        """The rewrites that a rule makes of the rows; the model is not asked."""
        return self._applied(text, effect)

    def known(self, text: str, effect: Metadata = NO_METADATA) -> RuleTable:
        """All that a rule does; asks the model and the scorer unless they were asked before."""
        if not self.knows(text, effect):
            self._known[text, effect] = self._bench.table_of([self.rule(text, effect)])
        return self._known[text, effect]

    def knows(self, text: str, effect: Metadata = NO_METADATA) -> bool:
        """Whether `known` asks neither the model nor the scorer."""
        return (text, effect) in self._known

    def ask(self, text: str, deadline: float, *, effect: Metadata = NO_METADATA) -> RuleTable:
        """What a rule does, with the answers that the model gave in time, at least some."""
        typed = text, effect
        table = self._asked.pop(typed, None) or self.applied(*typed)
        if not table.complete:
            table = self._bench.ask_until(table, deadline)
        self._asked[typed] = table
        if len(self._asked) > _REMEMBERED:
            del self._asked[next(iter(self._asked))]
        return table


@dataclass(frozen=True, slots=True)
class Proposal:
    """A narrower rule that fires where a reviewer liked the original, and not where she did not.

    The fields count distinct pairs marked as the same and as differing, changed rows and mistakes
    of this rule, and (``of_…``) of the original. Its differing pairs are only those of later
    places. The model was not asked about `not_asked` of its rewrites, which the original does not
    write, so its mistakes are those among the others.
    """

    text: str
    same: int
    of_same: int
    differs: int
    of_differs: int
    changed: int
    of_changed: int
    mistakes: int
    of_mistakes: int
    not_asked: int


def proposals(
    bench: Workbench, trials: Trials, rule: int, state: ReviewState
) -> Iterator[Proposal]:
    """Propose rules narrower than `rule` that fit the marks on its pairs, made under any rule.

    There are none if no pair of the rule was marked as differing, or if no condition on the words
    beside or inside the match separates these from the rest. One that is too long to be read as a
    typed rule is left out.
    """
    applications = bench.table.applications
    rewrites = applications.of_rule(rule)
    written = bench.table.rules[rule]
    of_row = bench.marked(bench.table, rule, state)
    marks = {each: state.mark(each) for each in of_row.values()}
    if False not in marks.values():
        return
    scoped = replace(bench.ruleset, rules=(written,), layout=(), trailing=())
    sites = narrowing.sites_of(compile_with_sources([scoped], tagger=bench.tagger), bench.tokens)
    acts = np.isin(sites.rows, applications.rows[rewrites])
    sites = narrowing.Sites(*(column[acts] for column in sites))
    meant = {None: narrowing.NOT_JUDGED, True: narrowing.ACCEPTED, False: narrowing.REFUSED}
    of_site = [marks[of_row[row]] if row in of_row else None for row in sites.rows.tolist()]
    verdicts = np.array([meant[each] for each in of_site], np.int64)
    narrower = narrowing.narrow(
        written, bench.tokens, sites, verdicts, tagger=bench.tagger, options=bench.ruleset.options
    )
    # By row, since rows of one text may have different labels.
    flips = dict(zip(_cells(applications, rewrites), bench.table.flips[rewrites], strict=True))
    same, differs = (list(marks.values()).count(each) for each in (True, False))
    for each in narrower:
        text = print_rule(each.rule)
        if len(text) > _LONGEST:
            # Conditions quote words of rows, and nobody could take such a rule as an edit.
            continue
        table = trials.applied(text, written.effect)
        own = _cells(table.applications, table.applications.of_rule(0))
        own_marks = [marks.get(rewrite) for rewrite in set(bench.marked(table, 0, state).values())]
        yield Proposal(
            text=text,
            same=own_marks.count(True),
            of_same=same,
            differs=own_marks.count(False),
            of_differs=differs,
            changed=len(own),
            of_changed=len(rewrites),
            mistakes=sum(bool(flips.get(cell)) for cell in own),
            of_mistakes=int(bench.table.flips[rewrites].sum()),
            not_asked=sum(cell not in flips for cell in own),
        )


def _cells(applications: Applications, rewrites: NDArray[np.integer]) -> list[tuple[int, str]]:
    """The row and the text of some rewrites."""
    rows = applications.rows[rewrites].tolist()
    return list(zip(rows, (applications.texts[each] for each in rewrites.tolist()), strict=True))
