"""What notebooks show of rules that were found and audited: what the commands show.

In: the records of rules. Out: columns as a person reads them, rates with their intervals, examples
cut around what a rule changes. Always holds: everything from rows is escaped; `to_frame` has all
numbers, one a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sears_dsl.api.results import Markup
from sears_dsl.language.printer import rule_called

if TYPE_CHECKING:
    from sears_dsl.auditing.document import RuleRecord
    from sears_dsl.discovery.result.found import FoundRule

# Characters around what a rule changes in an example.
_AROUND = 50


def shown_findings(
    rules: Sequence[FoundRule], of_models: Mapping[str, Sequence[Any]]
) -> dict[str, Sequence[Any]]:
    """The columns of rules that a search found.

    Args:
        rules: in the order of selection.
        of_models: further ones, of several models.
    """
    held_out = [each.held_out for each in rules]
    return {
        "rule": [rule_called(each.text, each.id) for each in rules],
        "from": [each.source or "new" for each in rules],
        "flips": [f"{each.flips:,} of {each.asked:,}" for each in rules],
        "rate (95%)": [
            shown_rate(each.flips / max(1, each.asked), *each.interval) for each in rules
        ],
        "meaning kept": [f"{each.at_tau / max(1, each.asked):.0%}" for each in rules],
        "held out": [each and f"{each.flips:,} of {each.changed:,}" for each in held_out],
        **of_models,
        "example": list(_examples(rules)),
    }


def shown_audit(rules: Iterable[RuleRecord]) -> dict[str, Sequence[Any]]:
    """The columns of rules that were audited, those that fail most first."""
    from sears_dsl.auditing.reports.markdown import worst_first

    ordered = list(worst_first(rules))
    failures = [each.judgement.failures for each in ordered]
    meaning = [each.meaning and each.meaning.at_tau.rate for each in ordered]
    return {
        "rule": [each.name for each in ordered],
        "outcome": [each.judgement.outcome for each in ordered],
        "fails": [f"{each.count:,} of {each.total:,}" for each in failures],
        "rate (95%)": [shown_rate(each.rate, each.low, each.high) for each in failures],
        "q": [each.judgement.q_value for each in ordered],
        "meaning kept": [None if each is None else f"{each:.0%}" for each in meaning],
        "example": list(_examples(ordered)),
    }


def _examples(rules: Iterable[FoundRule | RuleRecord]) -> Iterable[Markup]:
    """The first example of each rule."""
    for each in rules:
        shown = each.examples[:1]
        yield marked_example(shown[0].original, shown[0].rewritten) if shown else Markup()


def marked_example(original: str, rewritten: str) -> Markup:
    """A text with what a rule changed in it marked, and cut to what stands around that.

    Example:
        >>> marked_example("A <b> movie.", "A <b> film.")
        'A &lt;b&gt; <del>movie</del><ins>film</ins>.'
    """
    from sears_dsl.engine.matches import Edit
    from sears_dsl.engine.rewrite.rewrites import marked
    from sears_dsl.engine.rewrite.shown_edits import common_ends

    first, last = common_ends(original, rewritten)
    start = original.rfind(" ", 0, max(0, first - _AROUND)) + 1
    stop = original.find(" ", len(original) - last + _AROUND)
    cut = 0 if stop < 0 else len(original) - stop
    old, new = original[start : len(original) - cut], rewritten[start : len(rewritten) - cut]
    text = marked(old, [Edit(0, len(old), old, new)])
    return Markup(f"{'…' if start else ''}{text}{'…' if cut else ''}")


def shown_rate(rate: float | None, low: float | None, high: float | None) -> str:
    """A share with its interval, in per cent.

    Example:
        >>> shown_rate(0.15, 0.09, 0.24)
        '15% (9%–24%)'
    """
    if rate is None or low is None or high is None:
        return ""
    return f"{rate:.0%} ({low:.0%}–{high:.0%})"
