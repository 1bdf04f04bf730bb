"""Templates, which write the new texts of matches; rules that write alike share one.

In: compiled rules and, for each match, which flat variant of its rule was found. Out: `Forms`: for
each match a template (a renderer and a variant) and a new text. Always holds: two matches with one
template and windows that look alike (`windows`) get the same new text. Plain rules (no context,
quantifier, group or name), of which mining makes hundreds of thousands, share a template if their
consequents write the same: `DT NN -> a NN` and `DET NOUN -> a NOUN` both write "a" and the second
token. Under exact case each plain rule has its own template with a format (`plain_rules`),
which takes no Python work for a rule or a form. What depends on a rule alone is computed when the
rule first matches, so rules that never match cost nothing. Threads may share the templates: only
one thread at a time makes new ones. Costs a hash of its tokens for each match, and some Python work
for each form, that is, each distinct look of a template.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import LEFT
from sears_dsl.engine.matches import Binding, Matches
from sears_dsl.engine.rewrite import renderer as rendering
from sears_dsl.engine.rewrite.pieces import UNDRAWN, Drawing
from sears_dsl.engine.rewrite.placing import ALWAYS, MISSING, PLACED, REPLACED, SILENT, Unrendered
from sears_dsl.engine.rewrite.plain_rules import Formats, PlainRules, RuleFormats, write_formats
from sears_dsl.engine.rewrite.windows import (
    Characters,
    Look,
    Windows,
    characters_of,
    gaps_of,
    looks_of,
    neighbours,
)
from sears_dsl.language.measure import noise_in
from sears_dsl.runtime.array_types import Growing, Int32Array, offsets_of
from sears_dsl.tagging.tokens import Tokens


class RenderingTemplates:
    """The templates that matches have needed so far."""

    def __init__(self, compiled: rendering.CompiledRules) -> None:
        self._compiled = compiled
        self._rules = compiled.rules
        self._program = compiled.program
        # How many tokens each variant of the program tests.
        self._widths = compiled.program.sequences.lengths.astype(np.int32)
        # A rule has a slot for every variant of its pattern; where those of each rule begin, the
        # rule of each slot, and its template, -1 where it is not known yet.
        patterns = compiled.program.rules.patterns
        counts = np.diff(patterns.first_variant, append=len(patterns.variants))
        self._first_slot = offsets_of(counts[patterns.pattern_of], np.int32)
        self._rule_of_slot = np.repeat(np.arange(len(self._rules)), np.diff(self._first_slot))
        self._template_of = np.full(self._first_slot[-1], -1, np.int32)
        self._lock = threading.RLock()
        self._recipes = Growing(np.zeros((0, 2), np.int32))  # rules and their variants
        self._read_context = Growing(np.zeros(0, np.bool_))
        self.formats = Formats()
        # For each template, whether its new text may depend on where a sentence begins.
        self.cased = Growing(np.zeros(0, np.bool_))
        self._texts: dict[tuple[object, ...], rendering.EdgedText] = {}
        self._plain = PlainRules(compiled.program.parts, self.formats.words)
        self._written: dict[bytes, int] = {}  # what plain rules write → their template

    def renderer_of(self, number: int) -> rendering.Renderer:
        """The renderer that writes the new text of a template."""
        return self._compiled.renderer(int(self._recipes.array[number, 0]))

    def forms(self, tokens: Tokens, matches: Matches, drawing: Drawing) -> Forms:
        """What matches become; the new text of each form is written once."""
        windows = self.windows(matches, tokens.row_offsets)
        characters = characters_of(tokens.texts)
        formatted = write_formats(self.formats, windows.keys, matches, tokens, characters)
        outcomes, new_ids, texts = formatted.outcomes, formatted.numbers, formatted.texts
        rest = np.flatnonzero(~self.formats.has.array[windows.keys])
        some = matches.select(rest)
        left = Windows(*(column[rest] for column in windows))
        numbers, looks = looks_of(left, self.cased.array, some, tokens, characters)
        forms = [self._form(tokens, look, texts, drawing) for look in looks]
        become = np.array(forms, np.int32).reshape(-1, 4)[numbers]
        outcomes[rest], new_ids[rest] = become[:, 0], become[:, 1]
        outcomes[rest[self._reaching(tokens, some, become, characters)]] = PLACED
        form_ids = np.full(len(matches), -1, np.int32)
        form_ids[rest] = numbers
        return Forms(self, windows.keys, outcomes, new_ids, form_ids, texts, characters)

    def windows(self, matches: Matches, row_offsets: Int32Array) -> Windows:
        """The template and the tokens of each match."""
        patterns = self._program.rules.patterns
        slots = self._first_slot[matches.rules] + matches.variants
        numbers = self._template_of[slots]
        if (numbers < 0).any():
            with self._lock:
                wanted = np.zeros(len(self._template_of), np.bool_)
                wanted[slots] = True
                wanted &= self._template_of < 0  # another thread may have been here
                new = np.flatnonzero(wanted)
                rules = self._rule_of_slot[new]
                orders = new - self._first_slot[rules]
                self._template_of[new] = self._number(rules, orders)
                numbers = self._template_of[slots]
        base = row_offsets[matches.rows]
        lows, highs = base + matches.starts, base + matches.ends
        wide = np.flatnonzero(self._read_context.array[numbers])
        if len(wide):
            some = matches.select(wide)
            variants = patterns.first_variant[patterns.pattern_of[some.rules]] + some.variants
            lows[wide] -= patterns.variants[variants, LEFT]
            highs[wide] = lows[wide] + self._widths[variants]
        return Windows(numbers, lows, highs)

    def written(self, tokens: Tokens, look: Look, drawing: Drawing | None) -> rendering.EdgedText:
        """What the matches of a look become, worked out once for all batches.

        With a drawing, whose sources look up neighbours, nothing is remembered: the next run may
        have other sources.
        """
        _, row, start, end, appearance = look
        written = self._texts.get(appearance) if drawing is None else None
        if written is None:
            rule, order = self._recipes.array[look.key].tolist()
            renderer = self._compiled.renderer(rule)
            binding = Binding(start, end, ())
            if renderer.needs_binding:
                binding = self._compiled.bound(rule, order, tokens, row, start)
            view, made_from = tokens.view(row), drawing or UNDRAWN
            written = renderer.written(tokens.texts[row], view, binding, made_from)
            if len(self._texts) >= rendering.MOST_WRITTEN:
                self._texts.clear()
            if drawing is None:
                self._texts[appearance] = written
        return written

    # ------------------------------------------------------------ inside

    def _reaching(
        self, tokens: Tokens, matches: Matches, become: NDArray[np.int32], characters: Characters
    ) -> NDArray[np.int64]:
        """The places of matches whose edits depend on what touches them; see `Placing.edges`."""
        replaced = np.flatnonzero(become[:, 0] == REPLACED)
        some, edges = matches.select(replaced), become[replaced, 2:]
        base = tokens.row_offsets[some.rows]
        lows, highs, gaps = base + some.starts, base + some.ends, gaps_of(tokens)
        beside = neighbours(some.rows, lows, highs, tokens.starts, gaps, characters)
        reaching: NDArray[np.int64] = replaced[(edges <= beside.T).any(axis=1)]
        return reaching

    def _form(
        self, tokens: Tokens, look: Look, texts: dict[str, int], drawing: Drawing
    ) -> tuple[int, int, int, int]:
        """What the matches of a look become: outcome, number of the new text, both edges."""
        rule = look.rule
        drawing_rules = self._compiled.drawing_rules
        looked_up = rule in drawing_rules and "neighbor" in noise_in(self._rules[rule][0])
        new, left, right = self.written(tokens, look, drawing if looked_up else None)
        if isinstance(new, Unrendered):
            return (MISSING if new.is_counted else SILENT), -1, 0, 0
        outcome = PLACED if left == ALWAYS else REPLACED
        return outcome, texts.setdefault(new, len(texts)), left, right

    def _number(self, rules: NDArray[np.int64], orders: NDArray[np.integer]) -> Int32Array:
        """The numbers of the templates of variants of rules; missing ones are made."""
        numbers = np.empty(len(rules), np.int32)
        plain = self._are_plain(rules)
        numbers[~plain] = self._make(rules[~plain], orders[~plain])
        numbers[plain] = self._of_plain(rules[plain])
        return numbers

    def _of_plain(self, rules: NDArray[np.int64]) -> Int32Array:
        """The numbers of the templates of plain rules."""
        numbers = np.empty(len(rules), np.int32)
        heads = self._plain.heads(rules)
        formats = self._plain.formats(rules, heads)
        has = formats.has
        if has.any():
            numbers[has] = self._make(rules[has], formats=formats)
        if not has.all():
            rules = rules[~has]
            alike, keys, examples = self._plain.describe(rules, heads[~has])
            new = {
                key: example
                for key, example in zip(keys, examples, strict=True)
                if key not in self._written
            }
            made_for = rules[np.fromiter(new.values(), np.int64, len(new))]
            self._written.update(zip(new, self._make(made_for).tolist(), strict=True))
            of_key = np.fromiter(map(self._written.__getitem__, keys), np.int32, len(keys))
            numbers[~has] = of_key[alike]
        return numbers

    def _make(
        self,
        rules: NDArray[np.int64],
        orders: NDArray[np.integer] | int = 0,
        formats: RuleFormats | None = None,
    ) -> NDArray[np.int64]:
        """Make templates for variants of rules, all with formats or all without; their numbers."""
        first = len(self._recipes)
        recipes = np.zeros((len(rules), 2), np.int32)
        recipes[:, 0], recipes[:, 1] = rules, orders
        read_context, cased = np.zeros((2, len(rules)), np.bool_)
        if formats is None:  # a format copies tokens of the span, in their casing
            scoped = [self._rules[rule] for rule in rules.tolist()]
            read_context[:] = [rendering.reads_context(rule) for rule, _ in scoped]
            cased[:] = [rendering.follows_case(*each) for each in scoped]
            self.formats.pass_over(len(rules))
        else:
            self.formats.add(formats.slots, formats.offsets)
        self._recipes.extend(recipes)
        self._read_context.extend(read_context)
        self.cased.extend(cased)
        return np.arange(first, len(self._recipes))

    def _are_plain(self, rules: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rules consist only of elements that each test one token."""
        patterns, offsets = self._program.rules.patterns, self._program.parts.elements.offsets
        firsts = patterns.first_variant[patterns.pattern_of[rules]]
        # There is one variant of one token an element: no word is split or has several casings.
        once: NDArray[np.bool_] = np.diff(self._first_slot)[rules] == 1
        once &= self._widths[firsts] == offsets[rules + 1] - offsets[rules]
        once &= self._plain.are_plain(rules)
        return once


@dataclass(frozen=True, slots=True)
class Forms:
    """What matches become."""

    templates: RenderingTemplates  # all that there are so far
    template_ids: Int32Array  # (matches,): the template of each match
    outcomes: NDArray[np.int8]  # (matches,): the outcome of each, see `placing`
    new_ids: Int32Array  # (matches,): the number of the new text, -1 where there is none
    form_ids: Int32Array  # (matches,): the same number where matches look alike; -1 with a format
    texts: dict[str, int]  # new texts and their numbers
    characters: Characters  # those of the rows

    def select(self, chosen: NDArray[np.bool_]) -> Forms:
        """What some of the matches become."""
        return replace(
            self, template_ids=self.template_ids[chosen], outcomes=self.outcomes[chosen],
            new_ids=self.new_ids[chosen], form_ids=self.form_ids[chosen],
        )  # fmt: skip
