"""Why a rule did not fire, or what it did, on one sentence.

In: a rule, its scope, the tokens of one row. Out: an `Explanation`: how many elements matched at
the best place, which token stopped the rule there, what was wanted instead. Always holds: the
explanation follows the reference algorithm, so `fired` is what the engines do. Costs a
backtracking walk: it is for one sentence at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sears_dsl.engine.matches import Binding
from sears_dsl.engine.reference import Split, candidates, find, rewrite
from sears_dsl.engine.rewrite.span_map import apply_edits
from sears_dsl.language.printer import print_rule, rule_id
from sears_dsl.language.rule import Element, Rule
from sears_dsl.tagging.tokens import Token

if TYPE_CHECKING:
    from sears_dsl.language.ruleset import Ruleset


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of a rule on one row.

    Attributes:
        rule_id: which rule.
        fired: whether it rewrites the row.
        rewrite: the row after the rewrite, where it fired.
        furthest: elements (contexts included, counted as written) that matched at the place
            where most of them did.
        total: how many elements there are.
        stopped_at: the token that stopped the rule there; None at the row's end, and where all
            elements matched.
        wanted: the element that did not match, as it is written.
        reason: all of it in a sentence for a person.
    """

    rule_id: str
    fired: bool
    rewrite: str | None
    furthest: int
    total: int
    stopped_at: int | None
    wanted: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Stop:
    """Where an element failed."""

    matched: int
    position: int
    element: Element


class _Trace:
    """Remembers the stop after most elements; of equals the first one."""

    def __init__(self) -> None:
        self.best: _Stop | None = None

    def __call__(self, matched: int, element: Element, position: int) -> None:
        if self.best is None or matched > self.best.matched:
            self.best = _Stop(matched, position, element)


def explain(
    rule: Rule,
    scope: Ruleset,
    text: str,
    tokens: Sequence[Token],
    *,
    split: Split,
    protected: Sequence[tuple[int, int]] = (),
) -> Explanation:
    """How far a rule got on one row, under scope ``first``.

    Args:
        rule: the rule.
        scope: options and sets of its file.
        text: the row.
        tokens: its tokens.
        split: how the tokenizer splits a word of the rule.
        protected: character spans in which the rule must not fire.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("What NOUN -> Which NOUN")
        >>> row = [Token("What", "PRON", "WP", 0, 4), Token("is", "AUX", "VBZ", 5, 7)]
        >>> explain(rules.rules[0], rules, "What is", row, split=lambda word: (word,)).reason
        '1 of 2 elements matched, then `NOUN` was wanted and `is` (AUX/VBZ) stands there'
    """
    name = rule_id(rule)
    total = len(rule.left) + len(rule.antecedent) + len(rule.right)
    edits, missing = rewrite(rule, scope, text, tokens, split=split, protected=protected)
    if edits:
        [rendered] = edits
        new = apply_edits(text, edits)
        reason = f"`{rendered.old}` became `{rendered.new}`"
        if not rendered.old:
            reason = f"`{rendered.new.strip()}` was inserted"
        elif not rendered.new:
            reason = f"`{rendered.old.strip()}` was deleted"
        return Explanation(name, True, new, total, total, None, "", reason)
    if missing:
        found = find(rule, scope, tokens, split=split, protected=protected)
        place = _quoted(text, tokens, found[0])
        reason = f"it matched {place}, but {missing[0].value}"
        return Explanation(name, False, None, total, total, None, "", reason)
    trace = _Trace()
    for binding in candidates(rule, scope, tokens, split=split, observe=trace):
        # It would have fired, were it not for what is protected.
        reason = f"it matched {_quoted(text, tokens, binding)}, which is protected"
        return Explanation(name, False, None, total, total, None, "", reason)
    return _stopped(name, total, trace.best, tokens)


def _stopped(name: str, total: int, stop: _Stop | None, tokens: Sequence[Token]) -> Explanation:
    if stop is None:
        return Explanation(name, False, None, 0, total, None, "", "there is nothing to match")
    wanted = print_rule(Rule((stop.element,), ())).removesuffix(" -> <>")
    there = "the row ends there"
    stopped_at: int | None = None
    if stop.position < len(tokens):
        stopped_at = stop.position
        token = tokens[stop.position]
        tags = f"{token.coarse}/{token.fine}" if token.coarse or token.fine else "no tags"
        there = f"`{token.text}` ({tags}) stands there"
    elements = f"{stop.matched} of {total} element{'s' if total != 1 else ''}"
    if stop.matched:
        reason = f"{elements} matched, then `{wanted}` was wanted and {there}"
    else:
        stopped_at = None
        reason = f"no token matches `{wanted}`, the first element"
    return Explanation(name, False, None, stop.matched, total, stopped_at, wanted, reason)


def _quoted(text: str, tokens: Sequence[Token], binding: Binding) -> str:
    if binding.start == binding.end:
        if binding.start < len(tokens):
            return f"before `{tokens[binding.start].text}`"
        return "at the end of the row"
    return f"`{text[tokens[binding.start].start : tokens[binding.end - 1].end]}`"
