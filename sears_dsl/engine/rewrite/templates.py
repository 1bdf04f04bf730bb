"""What a match is rendered by: a renderer and a layout, shared by rules that write alike.

In: compiled rules and, match by match, which flat variant of them was found. Out: numbers of
templates and windows of tokens. Always holds: two matches with one template and windows that look
alike (`windows.describe_windows`) get the same new text. Plain rules (no context, quantifier, group
or name), of which mining makes hundreds of thousands, share a template where their consequents
come to the same: `DT NN -> a NN` and `DET NOUN -> a NOUN` both write "a" and the second token.
What a rule alone decides is worked out when it first matches, so that rules that never match cost
nothing. Threads may share them: templates are numbered by one of them at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import LEFT
from sears_dsl.engine.compile.program import Program
from sears_dsl.engine.compile.variants import Split, Variant, expand
from sears_dsl.engine.matches import Matches
from sears_dsl.engine.rewrite.pieces import kept_punctuation
from sears_dsl.engine.rewrite.renderer import Renderer, follows_case
from sears_dsl.engine.rewrite.slots import Formats, SlotFormat, copied_places, format_of
from sears_dsl.language.rule import (
    Element,
    Inflected,
    Literal,
    Reference,
    Rule,
    RuleScope,
    Tag,
    TagCopy,
    Text,
)
from sears_dsl.runtime.array_types import Int32Array
from sears_dsl.runtime.growing import Growing


class RenderingTemplate:
    """How instances are rendered; what most of them do not need is made when one does.

    Args:
        rule: the rule, with its scope.
        variants: gives the flat variants of the rule.
        order: which of them this is about.
        form: see below.

    Attributes:
        format: what tells the new text of most instances without the renderer, if there is one.
        reads_context: whether the consequent may refer to tokens outside of the replaced span.
    """

    def __init__(
        self,
        rule: tuple[Rule, RuleScope],
        variants: Callable[[], Sequence[Variant]],
        order: int,
        form: SlotFormat | None,
    ) -> None:
        self._rule = rule
        self._variants = variants
        self._order = order
        self.format = form
        self.reads_context = any(
            isinstance(piece, (Reference, Inflected)) and isinstance(piece.target, str)
            for piece in rule[0].consequent
        )

    @cached_property
    def follows_case(self) -> bool:
        """Whether new text may depend on where a sentence begins."""
        return follows_case(*self._rule)

    @cached_property
    def renderer(self) -> Renderer:
        """Writes the new text."""
        return Renderer(*self._rule)

    @cached_property
    def variant(self) -> Variant | None:
        """How elements lie on tokens; None where the renderer needs no binding."""
        return self._variants()[self._order] if self.renderer.needs_binding else None


class Windows(NamedTuple):
    """What rendering may read of each match.

    Attributes:
        templates: int32 (matches,): numbers of templates.
        lows: int32 (matches,): the first token, counted in the batch.
        highs: int32 (matches,): one past the last.
    """

    templates: Int32Array
    lows: Int32Array
    highs: Int32Array


class RenderingTemplates(Sequence[RenderingTemplate]):
    """The templates that matches have needed so far.

    Args:
        rules: each rule with its scope, in the order in which they were compiled.
        program: what they were compiled to.
        split: how the tokenizer splits a word of a rule.

    Attributes:
        formats: their formats.
        cased: bool (templates,): whether new text may depend on where a sentence begins.
    """

    def __init__(
        self, rules: Sequence[tuple[Rule, RuleScope]], program: Program, split: Split
    ) -> None:
        self._rules = rules
        self._program = program
        self._split = split
        self._alone = threading.RLock()
        self._made: list[RenderingTemplate] = []
        self._read_context = Growing(np.zeros(0, np.bool_))
        self.formats = Formats()
        self.cased = Growing(np.zeros(0, np.bool_))
        self._variants: dict[int, Sequence[Variant]] = {}
        self._plain: dict[tuple[object, ...], int] = {}

    def __len__(self) -> int:
        return len(self._made)

    def __getitem__(self, number: int) -> RenderingTemplate:  # type: ignore[override]
        return self._made[number]

    def variants(self, rule: int) -> Sequence[Variant]:
        """The flat variants of a rule."""
        arrays, written = self._program.rules, self._program.written
        place = int(arrays.pattern_of[rule]) - (len(arrays.first_variant) - len(written))
        if place >= 0:
            return written[place]
        with self._alone:
            variants = self._variants.get(rule)
            if variants is None:
                tree, scope = self._rules[rule]
                variants = expand(tree, scope, self._program.predicates, self._split)
                self._variants[rule] = variants
            return variants

    def windows(self, matches: Matches, row_offsets: Int32Array) -> Windows:
        """The template and the tokens of each match.

        Args:
            matches: found by the program.
            row_offsets: tokens of each row.
        """
        arrays = self._program.rules
        slots = self._first_slot[matches.rules] + matches.variants
        numbers = self._template_of[slots]
        if (numbers < 0).any():
            with self._alone:
                missing = self._template_of[slots] < 0  # another thread may have been here
                new = np.unique(slots[missing])
                rules = np.searchsorted(self._first_slot, new, side="right") - 1
                orders = new - self._first_slot[rules]
                self._template_of[new] = list(map(self._number, rules.tolist(), orders.tolist()))
                numbers = self._template_of[slots]
        base = row_offsets[matches.rows]
        lows, highs = base + matches.starts, base + matches.ends
        wide = np.flatnonzero(self._read_context.array[numbers])
        if len(wide):
            some = matches.select(wide)
            variants = arrays.first_variant[arrays.pattern_of[some.rules]] + some.variants
            lows[wide] -= arrays.variants[variants, LEFT]
            highs[wide] = lows[wide] + self._widths[variants]
        return Windows(numbers, lows, highs)

    # ------------------------------------------------------------ inside

    @cached_property
    def _widths(self) -> Int32Array:
        """How many tokens each variant of the program tests."""
        sequences = self._program.sequences
        return np.fromiter(map(len, sequences), np.int32, len(sequences))

    @cached_property
    def _first_slot(self) -> Int32Array:
        """Each rule has a slot for every variant of its pattern; where they begin."""
        arrays = self._program.rules
        counts = np.diff(arrays.first_variant, append=len(arrays.variants))
        slots = np.zeros(len(self._rules) + 1, np.int32)
        np.cumsum(counts[arrays.pattern_of], out=slots[1:])
        return slots

    @cached_property
    def _template_of(self) -> Int32Array:
        """The template of each slot, -1 where it is not known yet."""
        return np.full(self._first_slot[-1], -1, np.int32)

    def _number(self, rule: int, order: int) -> int:
        """The number of the template of a variant of a rule, made where it is new."""
        if not self._is_plain(rule):
            return self._make(rule, order)
        tree, scope = self._rules[rule]
        cased = follows_case(tree, scope)
        # A first word that a tag calls no name may lose its capital.
        called = cased and isinstance(tree.antecedent[0].body, Tag)
        repairs = scope.options.repair == "on"
        key = (len(tree.antecedent), _written(tree), cased, called, repairs)
        number = self._plain.get(key)
        if number is None:
            number = self._make(rule, order, None if cased or repairs else format_of(tree))
            self._plain[key] = number
        return number

    def _make(self, rule: int, order: int, form: SlotFormat | None = None) -> int:
        template = RenderingTemplate(self._rules[rule], partial(self.variants, rule), order, form)
        self._made.append(template)
        self._read_context.extend([template.reads_context])
        self.cased.extend([template.follows_case])
        self.formats.append(form)
        return len(self._made) - 1

    def _is_plain(self, rule: int) -> bool:
        """Whether each element of a rule is a test on one token, and there is nothing else."""
        tree, _ = self._rules[rule]
        if tree.left or tree.right or not all(map(_is_plain, tree.antecedent)):
            return False
        arrays = self._program.rules
        pattern = int(arrays.pattern_of[rule])
        first, last = arrays.first_variant[pattern], len(arrays.variants)
        if pattern + 1 < len(arrays.first_variant):
            last = arrays.first_variant[pattern + 1]
        # No word was split, nor may be in another casing.
        return last - first == 1 and int(self._widths[first]) == len(tree.antecedent)


def _is_plain(element: Element) -> bool:
    once = element.minimum == 1 == element.maximum and element.name is None
    return once and isinstance(element.body, (Literal, Tag))


def _written(rule: Rule) -> tuple[object, ...]:
    """The consequent of a plain rule, tags as places in the antecedent."""
    kept = kept_punctuation(rule)
    pieces: list[object] = []
    for number, (piece, place) in enumerate(zip(rule.consequent, copied_places(rule), strict=True)):
        match piece:
            case Text():
                pieces.append((piece.text, piece.glued, kept.get(number)))
            case TagCopy():
                pieces.append((place, piece.glued))
            case _:
                pieces.append(piece)
    return tuple(pieces)


@dataclass(frozen=True, slots=True)
class Forms:
    """What matches become.

    Attributes:
        templates: all that there are so far.
        template_ids: which of them renders each match.
        outcomes: int8 (matches,): what came of each, by the numbers of `batch_rendering`.
        new_ids: int32 (matches,): the number of the new text, -1 where there is none.
        texts: new texts and their numbers.
    """

    templates: Sequence[RenderingTemplate]
    template_ids: Int32Array
    outcomes: NDArray[np.int8]
    new_ids: Int32Array
    texts: dict[str, int]
