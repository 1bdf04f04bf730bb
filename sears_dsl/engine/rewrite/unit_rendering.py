"""Rules that draw, one unit at a time: which instances are rewritten, and what they become.

In: a renderer, a text with its tokens, all instances of the rule in it. Out: edits, and why those
of other instances are missing. Always holds: without a rate the first instance or all are
rewritten, as of every rule; under a rate all are looked at in the order of their numbers until the
share of them is rewritten, and an instance in which nothing can change is passed over and counted;
a share of characters is one of all the text that the function is given in the unit, instances that
were passed over among it. Costs a rendering of each instance that is looked at, of all of them
where spans are protected; another one where a function has a share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from sears_dsl.engine.matches import Binding, Edit, TokenRange
from sears_dsl.engine.noise.characters import PlacedText, shared
from sears_dsl.engine.noise.draws import Draw, how_many, number, numbers
from sears_dsl.engine.rewrite.pieces import (
    UNDRAWN,
    Drawing,
    Instance,
    Unrendered,
    noise_calls,
)
from sears_dsl.engine.rewrite.renderer import NewText, Rendered, Renderer, render_untouching
from sears_dsl.engine.rewrite.span_map import SpanMap
from sears_dsl.tagging.tokens import Token

Spans: TypeAlias = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class UnitInstance:
    """An instance, and how it lies on its tokens; under a rate most are never asked.

    Attributes:
        start: its first token.
        end: one past its last.
        place: its first character in the unit; of an insertion, where it goes.
        bind: gives its elements.
    """

    start: int
    end: int
    place: int
    bind: Callable[[], Binding]

    @cached_property
    def binding(self) -> Binding:
        """Its elements."""
        return self.bind()


@dataclass(frozen=True)
class _Possible:
    """An instance that may be rewritten.

    Attributes:
        instance: where it is.
        render: what an instance becomes alone where all that can change does.
    """

    instance: UnitInstance
    render: Callable[[Binding], Rendered]

    @cached_property
    def rendered(self) -> Rendered:
        """What it becomes so; under a rate most instances are never asked."""
        return self.render(self.instance.binding)


class UnitRenderer:
    """Renders the instances of one rule that draws."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer
        self._shared = tuple(
            call for call in noise_calls(renderer.rule) if call.noise.share is not None
        )

    def draw(self, drawing: Drawing) -> Draw:
        """The draw of the run with the seed of the rule."""
        return self._renderer.drawing(drawing).draw

    def alone(
        self, text: str, tokens: Sequence[Token], binding: Binding, drawing: Drawing
    ) -> Rendered:
        """What an instance becomes as if it were the only one."""
        return self._renderer.render(text, tokens, binding, drawing=drawing)

    def edits(
        self,
        text: str,
        tokens: Sequence[Token],
        instances: Sequence[UnitInstance],
        *,
        first: bool,
        protected: Spans = (),
        drawing: Drawing = UNDRAWN,
    ) -> tuple[list[Edit], list[Unrendered]]:
        """The edits in one unit, and why those of other instances are missing.

        Args:
            text: the unit.
            instances: every one, in the order of preference; they may overlap.
            first: whether one is wanted where the rule has no rate, or all that do not overlap.
            protected: spans of characters that stay as they are.
        """
        rate = self._renderer.rule.metadata.rate
        if rate is None and not self._shared:
            return render_untouching(
                self._renderer, text, tokens, [each.binding for each in instances],
                first=first, protected=protected, drawing=drawing,
            )  # fmt: skip
        # What an instance becomes alone it becomes among others too, unless they share something.
        written = self._remembering(text, tokens, replace(drawing, written={}))
        possible = self._possible(text, tokens, instances, protected, written)
        if rate is not None:
            tried = self._until_enough(rate, text, possible, drawing)
        else:
            tried = possible[:1] if first else possible
        missing = [each.rendered for each in tried if isinstance(each.rendered, Unrendered)]
        if rate is not None:
            unchanged = Unrendered.UNCHANGED
            missing = [Unrendered.PASSED_OVER if why is unchanged else why for why in missing]
        tried.sort(key=lambda each: each.instance.start)
        if self._shared:
            drawing = self._with_shares(text, tokens, [each.instance for each in tried], drawing)
        able = [each.instance.binding for each in tried if isinstance(each.rendered, Edit)]
        edits, _ = render_untouching(
            self._renderer, text, tokens, able,
            first=False, protected=protected, drawing=drawing,
            new_text=None if self._shared else written,
        )  # fmt: skip
        return edits, missing

    def _remembering(self, text: str, tokens: Sequence[Token], drawing: Drawing) -> NewText:
        """The new text of an instance, written once."""
        known: dict[TokenRange, str | Unrendered] = {}

        def new_text(binding: Binding) -> str | Unrendered:
            place = TokenRange(binding.start, binding.end)
            if place not in known:
                known[place] = self._renderer.new_text(text, tokens, binding, drawing)
            return known[place]

        return new_text

    def _possible(
        self,
        text: str,
        tokens: Sequence[Token],
        instances: Sequence[UnitInstance],
        protected: Spans,
        new_text: NewText,
    ) -> list[_Possible]:
        """The instances that do not overlap, leftmost first, and would touch nothing protected."""

        def render(binding: Binding) -> Rendered:
            new = new_text(binding)
            return self._renderer.render_new(text, tokens, binding, new, protected=protected)

        left = list(instances)
        while True:
            possible: list[_Possible] = []
            for instance in left:
                last = possible[-1].instance if possible else None
                if last is not None and instance.start < max(last.end, last.start + 1):
                    continue
                possible.append(_Possible(instance, render))
            touching = next((each for each in possible if _touches(each, protected)), None)
            if touching is None:
                return possible
            place = (touching.instance.start, touching.instance.end)
            left = [each for each in left if (each.start, each.end) != place]

    def _until_enough(
        self,
        rate: int,
        text: str,
        possible: Sequence[_Possible],
        drawing: Drawing,
    ) -> list[_Possible]:
        """Instances in the order of their numbers, until a share of all can be rewritten."""
        draw = self._renderer.drawing(drawing).draw
        left = how_many(rate, len(possible), number(draw, "rate share", text))
        ranks = numbers(draw, "rate", text, [(each.instance.place, 0) for each in possible])
        tried: list[_Possible] = []
        for _, at in sorted(zip(ranks, range(len(possible)), strict=True)):
            if not left:
                break
            tried.append(possible[at])
            left -= isinstance(possible[at].rendered, Edit)
        return tried

    def _with_shares(
        self, text: str, tokens: Sequence[Token], tried: Sequence[UnitInstance], drawing: Drawing
    ) -> Drawing:
        """The drawing with what each function changes of all the text that it is given."""
        draw = self._renderer.drawing(drawing).draw
        known: dict[tuple[int, int], dict[int, str]] = {}
        seeded = Drawing(draw, drawing.sources, known)
        for call in self._shared:
            instances = [Instance(text, tokens, each.binding, seeded) for each in tried]
            texts = [(instance.place, call.input_of(instance)) for instance in instances]
            placed_texts = [PlacedText(place, new) for place, new in texts if isinstance(new, str)]
            known[call.key] = shared(call.noise, call.noise.share or 0, placed_texts, text, draw)
        return replace(drawing, written=known)


def _touches(possible: _Possible, protected: Spans) -> bool:
    """Whether the edit of an instance would touch a protected span."""
    if not protected or not isinstance(possible.rendered, Edit):
        return False
    step = SpanMap([possible.rendered])
    return any(start < end and step.touching(start, end) for start, end in protected)
