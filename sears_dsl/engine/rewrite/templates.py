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

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import LEFT
from sears_dsl.engine.compile.plain_rules import PlainRules
from sears_dsl.engine.compile.program import Program
from sears_dsl.engine.compile.variants import Split, Variant, bind, expand
from sears_dsl.engine.matches import Binding, Matches
from sears_dsl.engine.rewrite.pieces import UNDRAWN, Drawing, Unrendered
from sears_dsl.engine.rewrite.renderer import ALONE, Renderer, follows_case
from sears_dsl.engine.rewrite.slots import Formats, SlotFormat, format_of
from sears_dsl.engine.rewrite.windows import HEAD_BITS
from sears_dsl.language.rule import (
    Inflected,
    Reference,
    Rule,
    RuleScope,
    Tag,
)
from sears_dsl.runtime.array_types import Int32Array
from sears_dsl.runtime.growing import Growing
from sears_dsl.tagging.tokens import Tokens

MOST_WRITTEN = 1 << 16
"""So many new texts are remembered; then all are forgotten."""

# Bits of `_head`.
_REPAIRS, _CASED = 1, 2


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


class Written(NamedTuple):
    """What instances become that look alike.

    Attributes:
        new: the new text.
        left: when the left edge of it needs more than its place; see `Renderer.edges`.
        right: the same of the right edge.
    """

    new: str | Unrendered
    left: int = ALONE
    right: int = ALONE


class Look(NamedTuple):
    """How matches look that become the same.

    Attributes:
        example: one of them.
        head: what their windows are told by beside tokens; see `describe_windows`.
        low: the first token of its window, counted in the batch.
        high: one past the last.
    """

    example: int
    head: int
    low: int
    high: int


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
        self._recipes: list[tuple[int, int, SlotFormat | None]] = []
        self._templates: dict[int, RenderingTemplate] = {}
        self._read_context = Growing(np.zeros(0, np.bool_))
        self.formats = Formats()
        self.cased = Growing(np.zeros(0, np.bool_))
        self._texts: dict[tuple[object, ...], Written] = {}
        self._variants: dict[int, Sequence[Variant]] = {}
        self._plain = PlainRules()
        self._written: dict[bytes, int] = {}  # what plain rules write → their template

    def __len__(self) -> int:
        return len(self._recipes)

    def __getitem__(self, number: int) -> RenderingTemplate:  # type: ignore[override]
        template = self._templates.get(number)
        if template is None:
            rule, order, form = self._recipes[number]
            of_rule = partial(self.variants, rule)
            template = RenderingTemplate(self._rules[rule], of_rule, order, form)
            self._templates[number] = template
        return template

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
                self._template_of[new] = self._number(rules, orders)
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

    def written(
        self, tokens: Tokens, matches: Matches, look: Look, drawing: Drawing | None
    ) -> Written:
        """What matches become that look alike, worked out once for all batches.

        Args:
            tokens: the rows.
            matches: found in them.
            look: which of them.
            drawing: what neighbours are looked up in, for rules that write them: these are not
                remembered, since the next run may look them up elsewhere.
        """
        example, head, low, high = look
        row, start = int(matches.rows[example]), int(matches.starts[example])
        text, kinds = tokens.texts[row], tokens.type_ids[low:high].tolist()
        between = text[tokens.starts[low] : tokens.ends[high - 1]] if low < high else ""
        key = (head, between, *map(tokens.types.__getitem__, kinds))
        written = self._texts.get(key) if drawing is None else None
        if written is None:
            template = self[head >> HEAD_BITS]
            first, end = int(tokens.row_offsets[row]), int(matches.ends[example])
            binding = Binding(start, end, ())
            if template.variant is not None:
                types, ids = tokens.types, tokens.type_ids
                binding = bind(
                    template.variant,
                    start,
                    self._program.predicates,
                    lambda position: types[int(ids[first + position])],
                )
            view, made_from = tokens.view(row), drawing or UNDRAWN
            written = Written(template.renderer.new_text(text, view, binding, made_from))
            if start < end and isinstance(written.new, str):
                old = text[tokens.starts[first + start] : tokens.ends[first + end - 1]]
                written = Written(written.new, *template.renderer.edges(old, written.new))
            if len(self._texts) >= MOST_WRITTEN:
                self._texts.clear()
            if drawing is None:
                self._texts[key] = written
        return written

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

    def _number(self, rules: NDArray[np.int64], orders: NDArray[np.integer]) -> Int32Array:
        """The numbers of the templates of variants of rules, made where they are new."""
        numbers = np.empty(len(rules), np.int32)
        plain = self._are_plain(rules)
        some = zip(rules[~plain].tolist(), orders[~plain].tolist(), strict=True)
        numbers[~plain] = self._make([(rule, order, None) for rule, order in some])
        numbers[plain] = self._of_plain(rules[plain].tolist())
        return numbers

    def _of_plain(self, rules: Sequence[int]) -> Int32Array:
        """The numbers of the templates of plain rules."""
        scoped = [self._rules[rule] for rule in rules]
        heads = np.fromiter(_heads(scoped), np.int32, len(scoped))
        numbers, keys, examples = self._plain.describe([tree for tree, _ in scoped], heads)
        described = zip(keys, examples, strict=True)
        new = {key: example for key, example in described if key not in self._written}
        has_format = (heads & (_REPAIRS | _CASED)) == 0
        forms = [format_of(scoped[at][0]) if has_format[at] else None for at in new.values()]
        recipes = zip(map(rules.__getitem__, new.values()), itertools.repeat(0), forms)
        self._written.update(zip(new, self._make(list(recipes)), strict=True))
        of_key = np.fromiter(map(self._written.__getitem__, keys), np.int32, len(keys))
        template_numbers: Int32Array = of_key[numbers]
        return template_numbers

    def _make(self, some: Sequence[tuple[int, int, SlotFormat | None]]) -> range:
        """The numbers of new templates: of a variant of a rule, and a format if it has one."""
        first = len(self._recipes)
        self._recipes += some
        # What has a format copies tokens of the span, in their casing.
        templates = [
            self[first + at] if form is None else None for at, (*_, form) in enumerate(some)
        ]
        self._read_context.extend([each is not None and each.reads_context for each in templates])
        self.cased.extend([each is not None and each.follows_case for each in templates])
        self.formats.extend([form for _, _, form in some])
        return range(first, len(self._recipes))

    def _are_plain(self, rules: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rules have elements that are each a test on one token, and nothing else."""
        arrays = self._program.rules
        trees = [self._rules[rule][0] for rule in rules.tolist()]
        lengths = np.fromiter((len(tree.antecedent) for tree in trees), np.int32, len(trees))
        firsts = arrays.first_variant[arrays.pattern_of[rules]]
        variants = np.diff(self._first_slot)[rules]
        # No word was split, nor may be in another casing.
        once = (variants == 1) & (self._widths[firsts] == lengths)
        alone = [not (tree.left or tree.right) for tree in trees]
        plain: NDArray[np.bool_] = once & np.array(alone, np.bool_)
        some = itertools.compress(trees, plain.tolist())
        plain[plain] = self._plain.are_plain([tree.antecedent for tree in some])
        return plain


def _heads(rules: Sequence[tuple[Rule, RuleScope]]) -> Iterator[int]:
    """What decides about the matches of plain rules beside their consequents."""
    for rule, scope in rules:
        options = scope.options
        head = len(rule.antecedent) << 3 | (options.repair == "on") * _REPAIRS
        if options.case != "exact" and follows_case(rule, scope):
            # A first word that a tag calls no name may lose its capital.
            called = isinstance(rule.antecedent[0].body, Tag)
            head |= called << 2 | _CASED
        yield head


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

    templates: RenderingTemplates
    template_ids: Int32Array
    outcomes: NDArray[np.int8]
    new_ids: Int32Array
    texts: dict[str, int]
