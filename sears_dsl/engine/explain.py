"""Why a rule did not fire, or what it did, on one sentence.

In: a rule, its scope, the tokens of one row. Out: an `Explanation`: how many elements matched at
the best place, which token stopped the rule there, what was wanted instead. The best place is one
where what the rule replaces matches, if there is one, and then where most elements do. Always
holds: matches are those of the reference algorithm, so `fired` is what the engines do. Costs a
backtracking walk: it is for one sentence at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from sears_dsl.engine.matches import Binding, Edit, apply_edits
from sears_dsl.engine.noise.sources import NO_SOURCES, Sources
from sears_dsl.engine.reference import Split, WalkState, candidates
from sears_dsl.engine.rewrite.drawing_rules import unit_edits
from sears_dsl.engine.rewrite.pieces import Drawing
from sears_dsl.engine.rewrite.renderer import Renderer
from sears_dsl.engine.rewrite.rewrites import code_points
from sears_dsl.engine.sentence_units import deleted_places
from sears_dsl.language.measure import longest, shortest
from sears_dsl.language.printer import print_rule, rule_id
from sears_dsl.language.rule import Anchor, Element, Rule
from sears_dsl.tagging.tokens import Token

if TYPE_CHECKING:
    from sears_dsl.language.ruleset import Ruleset


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of a rule on one row."""

    rule_id: str  # which rule
    fired: bool  # whether it rewrites the row
    rewrite: str | None  # the row after the rewrite, where it fired
    # Elements (contexts included, counted as written) that matched at the place where most of them
    # did.
    furthest: int
    total: int  # how many elements there are
    # The token that stopped the rule there; None at the row's end, and where all elements matched.
    stopped_at: int | None
    wanted: str  # the element that did not match, or what of it was missing, as it is written
    reason: str  # all of it in a sentence for a person

    @property
    def progress(self) -> tuple[int, bool]:
        """Sort key of silent rules: how many elements matched, then whether a token stopped it."""
        return self.furthest, self.stopped_at is not None


class _Stop(NamedTuple):
    """An element that failed: the walk up to it, and the token that it failed at."""

    state: WalkState
    element: Element
    position: int

    @property
    def progress(self) -> tuple[int, int]:
        """How many elements matched, and how many tokens, with those of the element that failed."""
        first = self.state.elements[0].start if self.state.elements else self.state.begin
        return self.state.matched, self.position - first

    def reach(self) -> tuple[int, tuple[int, int], bool]:
        """Sort key of the stops of one element at one place."""
        return self.position, self.progress, not self.at_anchor

    @property
    def at_anchor(self) -> bool:
        """Whether the element is an anchor, which matches no token."""
        return isinstance(self.element.body, Anchor)

    @property
    def token(self) -> int:
        """The token of a left context that stopped the rule; of `<s>`, the one before it."""
        return self.position - self.at_anchor


def explain(
    rule: Rule,
    scope: Ruleset,
    text: str,
    tokens: Sequence[Token],
    *,
    split: Split,
    sources: Sources = NO_SOURCES,
) -> Explanation:
    """How far a rule got on one row, under scope ``first`` and seed 0.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("What NOUN -> Which NOUN")
        >>> row = [Token("What", "PRON", "WP", 0, 4), Token("is", "AUX", "VBZ", 5, 7)]
        >>> explain(rules.rules[0], rules, "What is", row, split=lambda word: (word,)).reason
        'matched 1 of 2 elements, then expected `NOUN` and found `is` (AUX/VBZ)'
    """
    name = rule_id(rule)
    total = len(rule.elements)
    stops: list[_Stop] = []

    def observe(state: WalkState, element: Element, position: int) -> None:
        stops.append(_Stop(state, element, position))

    bindings = list(candidates(rule, scope, tokens, split=split, observe=observe))
    edits, missing = unit_edits(
        Renderer(rule, scope), text, tokens, bindings,
        first=True, protected=(), drawing=Drawing(sources=sources),
    )  # fmt: skip
    if edits:
        reason, new = "; ".join(map(_describe, edits)), apply_edits(text, edits)
        return Explanation(name, True, new, total, total, None, "", reason)
    if not bindings:
        return _stopped_before(rule, scope, stops, text, tokens, split=split) or _stopped(
            name, total, stops, text, tokens
        )
    why = missing[0].value if missing else "its rate selects no instance here"
    reason = f"it matched {_quoted(text, tokens, bindings[0].start, bindings[0].end)}, but {why}"
    return Explanation(name, False, None, total, total, None, "", reason)


def explain_sentences(
    text: str, spans: Sequence[tuple[int, int]], parts: Sequence[Explanation], firsts: Sequence[int]
) -> Explanation:
    """What became of a rule on a row, from what became of it on the sentences."""
    nearest, first = max(zip(parts, firsts, strict=True), key=lambda pair: pair[0].progress)
    fired = [part.reason for part in parts if part.fired]
    if not fired:
        at = nearest.stopped_at
        return nearest if at is None else replace(nearest, stopped_at=first + at)
    blank = [n for n, part in enumerate(parts) if part.fired and not (part.rewrite or "").strip()]
    places = dict(enumerate(spans)) | dict(
        zip(blank, deleted_places(text, spans, blank), strict=True)
    )
    edits = [
        Edit(*places[number], text[slice(*places[number])], part.rewrite)
        for number, part in enumerate(parts)
        if part.rewrite is not None
    ]
    return replace(
        nearest, fired=True, rewrite=apply_edits(text, edits), furthest=nearest.total,
        stopped_at=None, wanted="", reason="; ".join(fired),
    )  # fmt: skip


def _describe(edit: Edit) -> str:
    if not edit.old:
        return f"`{edit.new.strip()}` was inserted"
    if not edit.new:
        return f"`{edit.old.strip()}` was deleted"
    points = code_points(edit.old, edit.new)
    return f"`{edit.old}` became `{edit.new}`" + (f" ({points})" if points else "")


def _stopped_before(
    rule: Rule,
    scope: Ruleset,
    stops: Sequence[_Stop],
    text: str,
    tokens: Sequence[Token],
    *,
    split: Split,
) -> Explanation | None:
    """What stands before the places where the rest of the rule matches, if only that is wrong.

    None if it is right before one of them, or if no such place has a token that stopped the rule.
    """
    inner = len(rule.left) + len(rule.antecedent)
    if not rule.antecedent or any(stop.state.matched >= inner for stop in stops):
        return None
    context = replace(rule, left=(), antecedent=rule.left, right=())
    places, contexts = (
        list(candidates(part, scope, tokens, split=split))
        for part in (replace(rule, left=()), context)
    )
    reached = [
        (stop, place)
        for stop in _blamed(stops, contexts, len(rule.left))
        for place in places
        if stop.token < place.start
        and _may_span(rule.left[stop.state.matched :], place.start - stop.state.begin)
    ]
    if not reached:
        return None
    # The first of the places, and what is nearest before it.
    stop, place = max(
        reached,
        key=lambda pair: (
            pair[0].progress,
            not pair[0].at_anchor,
            -pair[1].start,
            pair[0].position,
        ),
    )
    whole = stop.state.whole if stop.position == stop.state.begin else None
    wanted = _written(whole or stop.element)
    reason = (
        f"matched {_quoted(text, tokens, place.start, place.end)}, but before it expected "
        f"`{wanted}` and found {_tagged(tokens[stop.token])}"
    )
    matched = stop.state.matched + len(rule.antecedent) + len(rule.right)
    total = len(rule.elements)
    return Explanation(rule_id(rule), False, None, matched, total, stop.token, wanted, reason)


def _blamed(stops: Sequence[_Stop], contexts: Sequence[Binding], size: int) -> Iterable[_Stop]:
    """Where an element of the left context, of so many, failed as far on as it got at all.

    One stop for each element and beginning; none where another alternative got past it.
    """
    furthest: dict[tuple[int, int], _Stop] = {}
    matched = [each.elements for each in contexts]
    for stop in stops:
        number = stop.state.matched
        if number >= size:
            continue
        matched.append(stop.state.elements[:number])
        at = number, stop.state.begin
        furthest[at] = max(furthest.get(at, stop), stop, key=_Stop.reach)
    passed = {(number, *each) for elements in matched for number, each in enumerate(elements)}
    for number, start, end in passed:
        if (number, start) in furthest and furthest[number, start].position < end:
            del furthest[number, start]
    return furthest.values()


def _may_span(elements: Sequence[Element], length: int) -> bool:
    """Whether elements may match so many tokens."""
    return sum(map(shortest, elements)) <= length <= sum(map(longest, elements))


def _stopped(
    name: str, total: int, stops: Sequence[_Stop], text: str, tokens: Sequence[Token]
) -> Explanation:
    if not stops:
        return Explanation(name, False, None, 0, total, None, "", "there is nothing to match")
    stop = max(stops, key=lambda each: each.progress)  # the first of equals
    matched, begin = stop.state.matched, stop.state.begin
    element = wanted = _written(stop.state.whole or stop.element)
    if stop.progress == (0, 0):
        cased = any(token.text.lower() == element.strip('"').lower() for token in tokens)
        reason = f"no token matches the first element, `{element}`" + ", in that casing" * cased
        return Explanation(name, False, None, 0, total, None, element, reason)
    parts = []
    if matched:
        parts.append(f"{matched} of {total} element{'s' if total != 1 else ''}")
    if stop.position > begin:
        parts.append(f"{_quoted(text, tokens, begin, stop.position)} of `{element}`")
        place = stop.progress, begin, stop.position
        same = (e for e in stops if (e.progress, e.state.begin, e.position) == place)
        wanted = "` or `".join(dict.fromkeys(_written(each.element) for each in same))
    stop_text, stopped_at = "found the end of the text", None
    if stop.position < len(tokens):
        stopped_at = stop.position
        stop_text = f"found {_tagged(tokens[stop.position])}"
    if stop.position == begin or wanted != element:
        stop_text = f"expected `{wanted}` and {stop_text}"
    reason = f"matched {' and '.join(parts)}, then {stop_text}"
    return Explanation(name, False, None, matched, total, stopped_at, wanted, reason)


def _written(element: Element) -> str:
    return print_rule(Rule((element,), ())).removesuffix(" -> <>")


def _tagged(token: Token) -> str:
    tags = f"{token.coarse}/{token.fine}" if token.coarse or token.fine else "no tags"
    return f"`{token.text}` ({tags})"


def _quoted(text: str, tokens: Sequence[Token], start: int, end: int) -> str:
    if start == end:
        return f"before `{tokens[start].text}`" if start < len(tokens) else "at the end of the row"
    return f"`{text[tokens[start].start : tokens[end - 1].end]}`"
