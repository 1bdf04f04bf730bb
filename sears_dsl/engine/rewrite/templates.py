"""What matches are rendered by and what they become, shared by rules that write alike.

In: compiled rules and, match by match, which flat variant of them was found. Out: `Forms`: numbers
of templates, each a renderer and a layout, and new texts. Always holds: two matches with one
template and windows that look alike (`windows`) get the same new text. Plain rules (no context,
quantifier, group or name), of which mining makes hundreds of thousands, share a template where
their consequents come to the same: `DT NN -> a NN` and `DET NOUN -> a NOUN` both write "a" and the
second token. What a rule alone decides is worked out when it first matches, so that rules that
never match cost nothing. Threads may share them: templates are numbered by one of them at a time.
Costs a hash of its tokens a match, and some Python work for each form.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import LEFT, number_sequences
from sears_dsl.engine.matches import Binding, Matches
from sears_dsl.engine.rewrite.pieces import UNDRAWN, Drawing, Unrendered, is_punctuation
from sears_dsl.engine.rewrite.placing import ALONE
from sears_dsl.engine.rewrite.renderer import (
    MOST_WRITTEN,
    CompiledRules,
    Renderer,
    Written,
    follows_case,
    reads_context,
)
from sears_dsl.engine.rewrite.slots import (
    MISSING,
    PLACED,
    REPLACED,
    SILENT,
    Formats,
    SlotFormat,
    format_of,
    write_formats,
)
from sears_dsl.engine.rewrite.windows import (
    Characters,
    Look,
    Windows,
    arrays_of,
    characters_of,
    looks_of,
    neighbours,
)
from sears_dsl.language.measure import looks_up
from sears_dsl.language.rule import (
    Element,
    Literal,
    Piece,
    Rule,
    RuleScope,
    Tag,
    TagCopy,
    Text,
)
from sears_dsl.runtime.array_types import Int32Array, Int64Array
from sears_dsl.runtime.kernels import Growing, expect, kernel
from sears_dsl.tagging.tokens import Tokens

_Part = TypeVar("_Part", Element, Piece)

_COPY, _GLUED_COPY = -1, -2


class Described(NamedTuple):
    """What rules write.

    Attributes:
        numbers: int32 (rules,): the same number where they write alike.
        keys: for each number the sequence that it stands for, as bytes.
        examples: for each number the place of a rule with it.
    """

    numbers: Int32Array
    keys: list[bytes]
    examples: list[int]


class PlainRules:
    r"""Describes plain rules; what is told of some goes together with what is told of others.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("DT NN -> a NN\nDET NOUN -> a NOUN\nDT NN -> a DT").rules
        >>> PlainRules().describe(rules, np.array([2, 2, 2])).numbers.tolist()
        [0, 0, 1]
    """

    def __init__(self) -> None:
        self._values: dict[object, int] = {}
        # For each piece what it writes, and the tag or the mark that it writes again; for each
        # element the tag or the mark that it is, and whether it is a plain one; -1 for none.
        self._pieces = _Numbered(self._of_piece)
        self._elements = _Numbered(self._of_element)

    def are_plain(self, antecedents: Sequence[Sequence[Element]]) -> NDArray[np.bool_]:
        """Whether each element of a rule is a test on one token, by its word or by its tag."""
        numbers, offsets, known = self._elements.of(antecedents)
        others = np.append(0, np.cumsum(known[numbers, 1] == 0))[offsets]
        plain: NDArray[np.bool_] = others[1:] == others[:-1]
        return plain

    def describe(self, rules: Sequence[Rule], heads: Int32Array) -> Described:
        """Tell which plain rules write alike; they have to live as long as this.

        The head of a rule is the same where everything else is that decides about its matches.
        """
        pieces = self._pieces.of([rule.consequent for rule in rules])
        elements = self._elements.of([rule.antecedent for rule in rules])
        expect(len(pieces.numbers))
        values, offsets = _describe(heads, *pieces, *elements)
        numbers, examples = number_sequences(values, offsets)
        bounds = zip(offsets[examples].tolist(), offsets[examples + 1].tolist(), strict=True)
        keys = [values[low:high].tobytes() for low, high in bounds]
        return Described(numbers, keys, examples.tolist())

    def _value(self, *key: object) -> int:
        return self._values.setdefault(key, len(self._values))

    def _of_piece(self, piece: Piece) -> tuple[int, int]:
        match piece:
            case Text():
                again = self._value("mark", piece.text) if is_punctuation(piece.text) else -1
                return self._value("text", piece.text, piece.glued), again
            case TagCopy():
                return _GLUED_COPY if piece.glued else _COPY, self._value("tag", piece.tag)
            case _:
                return self._value("other", piece), -1

    def _of_element(self, element: Element) -> tuple[int, int]:
        body = element.body
        plain = element.minimum == 1 == element.maximum and element.name is None
        if isinstance(body, Tag):
            return self._value("tag", body.name), plain
        if isinstance(body, Literal) and is_punctuation(body.text):
            return self._value("mark", body.text), plain
        return -1, plain and isinstance(body, Literal)


class _NumberedParts(NamedTuple):
    """The pieces, or the elements, of some rules.

    Attributes:
        numbers: int32: of all of them, rule after rule.
        offsets: int64 (rules + 1,): where those of each rule begin.
        known: int32 (distinct, 2): what is known of each distinct one.
    """

    numbers: Int32Array
    offsets: Int64Array
    known: Any


class _Numbered:
    """Distinct objects with numbers, and what is known of them."""

    def __init__(self, tell: Callable[[Any], tuple[int, int]]) -> None:
        self._tell = tell
        self._number_of: dict[int, int] = {}  # by their identity: the rules keep them alive
        self._known = Growing(np.zeros((0, 2), np.int32))

    def of(self, rows: Sequence[Sequence[_Part]]) -> _NumberedParts:
        """The numbers of all objects of some rules."""
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=offsets[1:])
        flat: list[_Part] = list(chain.from_iterable(rows))
        ids = list(map(id, flat))
        known = self._number_of
        new = {
            name: each
            for name, each in dict(zip(ids, flat, strict=True)).items()
            if name not in known
        }
        known.update(zip(new, count(len(known)), strict=False))
        self._known.extend(np.array(list(map(self._tell, new.values())), np.int32).reshape(-1, 2))
        numbers = np.fromiter(map(known.__getitem__, ids), np.int32, len(ids))
        return _NumberedParts(numbers, offsets, self._known.array)


@kernel
def _describe(  # noqa: PLR0917 - arrays in the order in which they are made
    heads: Int32Array,
    pieces: Int32Array,
    piece_offsets: Int64Array,
    known_pieces: Int32Array,
    elements: Int32Array,
    element_offsets: Int64Array,
    known_elements: Int32Array,
) -> Any:
    """A sequence for each rule: its head, then what each piece writes and which element that is."""
    count = heads.shape[0]
    offsets = np.zeros(count + 1, np.int64)
    most = np.int64(0)
    for rule in range(count):
        size = piece_offsets[rule + 1] - piece_offsets[rule]
        offsets[rule + 1] = offsets[rule] + 1 + 2 * size
        most = max(most, element_offsets[rule + 1] - element_offsets[rule])
    values = np.empty(offsets[count], np.int32)
    used = np.zeros(most, np.bool_)
    for rule in range(count):
        first, last = element_offsets[rule], element_offsets[rule + 1]
        used[:] = False
        at = offsets[rule]
        values[at] = heads[rule]
        at += 1
        for piece in range(piece_offsets[rule], piece_offsets[rule + 1]):
            again = known_pieces[pieces[piece], 1]
            place = np.int64(-1)
            for element in range(first, last):
                if again < 0 or place >= 0:
                    break
                if not used[element - first] and known_elements[elements[element], 0] == again:
                    place = element - first
                    used[place] = True
            values[at] = known_pieces[pieces[piece], 0]
            values[at + 1] = place
            at += 2
    return values, offsets


# Bits of `_head`.
_REPAIRS, _CASED = 1, 2


class RenderingTemplates:
    """The templates that matches have needed so far.

    Args:
        compiled: the rules.

    Attributes:
        formats: their formats.
        cased: bool (templates,): whether new text may depend on where a sentence begins.
    """

    def __init__(self, compiled: CompiledRules) -> None:
        self._compiled = compiled
        self._rules = compiled.rules
        self._program = compiled.program
        self._alone = threading.RLock()
        self._recipes: list[tuple[int, int]] = []
        self._read_context = Growing(np.zeros(0, np.bool_))
        self.formats = Formats()
        self.cased = Growing(np.zeros(0, np.bool_))
        self._texts: dict[tuple[object, ...], Written] = {}
        self._plain = PlainRules()
        self._written: dict[bytes, int] = {}  # what plain rules write → their template

    def renderer_of(self, number: int) -> Renderer:
        """What writes the new text of a template."""
        return self._compiled.renderer(self._recipes[number][0])

    def forms(self, tokens: Tokens, matches: Matches, drawing: Drawing) -> Forms:
        """What matches become, each form of them written once."""
        windows = self.windows(matches, tokens.row_offsets)
        characters = characters_of(tokens.texts)
        formatted = write_formats(self.formats, windows.keys, matches, tokens, characters)
        texts = {text: number for number, text in enumerate(formatted.texts)}
        outcomes, new_ids = formatted.outcomes, formatted.numbers
        rest = np.flatnonzero(~formatted.has_text)
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

    def written(self, tokens: Tokens, look: Look, drawing: Drawing | None) -> Written:
        """What matches become that look alike, worked out once for all batches.

        With a drawing, in which neighbours are looked up, nothing is remembered: the next run may
        look them up elsewhere.
        """
        _, row, start, end, appearance = look
        written = self._texts.get(appearance) if drawing is None else None
        if written is None:
            rule, order = self._recipes[look.key]
            renderer = self._compiled.renderer(rule)
            binding = Binding(start, end, ())
            if renderer.needs_binding:
                binding = self._compiled.bound(rule, order, tokens, row, start)
            view, made_from = tokens.view(row), drawing or UNDRAWN
            written = renderer.written(tokens.texts[row], view, binding, made_from)
            if len(self._texts) >= MOST_WRITTEN:
                self._texts.clear()
            if drawing is None:
                self._texts[appearance] = written
        return written

    # ------------------------------------------------------------ inside

    def _reaching(
        self,
        tokens: Tokens,
        matches: Matches,
        become: NDArray[np.int32],
        characters: Characters,
    ) -> NDArray[np.int64]:
        """Matches whose new text depends on what touches them: see `Placing.edges`."""
        replaced = np.flatnonzero(become[:, 0] == REPLACED)
        some, edges = matches.select(replaced), become[replaced, 2:]
        base = tokens.row_offsets[some.rows]
        lows, highs = base + some.starts, base + some.ends
        beside = neighbours(some.rows, lows, highs, arrays_of(tokens), characters)
        reaching: NDArray[np.int64] = replaced[(edges <= beside.T).any(axis=1)]
        return reaching

    def _form(
        self, tokens: Tokens, look: Look, texts: dict[str, int], drawing: Drawing
    ) -> tuple[int, int, int, int]:
        """What matches become that look like this: outcome, number of its text, edges."""
        rule = look.rule
        looked_up = self._compiled.draws(rule) and looks_up(self._rules[rule][0], "neighbor")
        written = self.written(tokens, look, drawing if looked_up else None)
        new, left, right = written
        if isinstance(new, Unrendered):
            return (MISSING if new.is_counted else SILENT), -1, 0, 0
        outcome = PLACED if left == ALONE else REPLACED
        return outcome, texts.setdefault(new, len(texts)), left, right

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
        self._recipes += [(rule, order) for rule, order, _ in some]
        # What has a format copies tokens of the span, in their casing.
        rules = [self._rules[rule] if form is None else None for rule, _, form in some]
        self._read_context.extend([each is not None and reads_context(each[0]) for each in rules])
        self.cased.extend([each is not None and follows_case(*each) for each in rules])
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
        outcomes: int8 (matches,): what came of each, see `slots`.
        new_ids: int32 (matches,): the number of the new text, -1 where there is none.
        form_ids: int32 (matches,): the same number where matches look alike; -1 with a format.
        texts: new texts and their numbers.
        characters: those of the rows.
    """

    templates: RenderingTemplates
    template_ids: Int32Array
    outcomes: NDArray[np.int8]
    new_ids: Int32Array
    form_ids: Int32Array
    texts: dict[str, int]
    characters: Characters

    def select(self, chosen: NDArray[np.bool_]) -> Forms:
        """What some of the matches become."""
        return replace(
            self,
            template_ids=self.template_ids[chosen],
            outcomes=self.outcomes[chosen],
            new_ids=self.new_ids[chosen],
            form_ids=self.form_ids[chosen],
        )
