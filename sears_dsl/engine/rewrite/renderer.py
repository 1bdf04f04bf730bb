"""An instance of a rule → the edit that it makes: what the consequent means.

In: a rule (once, as a `Renderer`), then rows with their tokens and `Binding`s. Out: an `Edit`, or
an `Unrendered` that says why there is none. Always holds: the edit covers the replaced span, and
beyond it only white space and doubled marks, a word whose capital it changes, and an article under
``option repair = on``; the edits of one row are in bounds, ordered and disjoint. What depends on
the rule alone is computed once: a consequent of plain text costs one slice and one comparison an
instance, references some string work, inflections a cached look-up. `CompiledRules` has the
renderers and variants of rules that were compiled together, by their numbers; rules that never
match cost nothing.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.compile.program import Program, Split, Variant, bind, expand
from sears_dsl.engine.match.search import Extent, Protected
from sears_dsl.engine.matches import Binding, Edit, Matches, Reach, TokenRange
from sears_dsl.engine.noise.draws import Draw
from sears_dsl.engine.rewrite import pieces, placing
from sears_dsl.engine.rewrite.pieces import UNDRAWN, Chunk, Drawing, Instance
from sears_dsl.engine.rewrite.placing import Rendered, Unrendered
from sears_dsl.engine.rewrite.spacing import (
    NOUNS,
    bears,
    begins_with_clitic,
    begins_with_not,
    parts_clitic,
)
from sears_dsl.language import rule as syntax
from sears_dsl.language.measure import draws, draws_text, noise_in
from sears_dsl.language.rule import Rule, RuleScope
from sears_dsl.tagging.tokens import Token, Tokens, TokenType

PartsOf: TypeAlias = Callable[[Rule, RuleScope, Mapping[int, int]], Iterable[pieces.Part]]
"""From a rule, its scope and the punctuation that it keeps to the functions of its pieces."""

NewText: TypeAlias = Callable[[Binding], str | Unrendered]
"""What takes the place of the span of an instance, as `Renderer.new_text` gives it."""


class EdgedText(NamedTuple):
    """What instances that look alike become."""

    new: str | Unrendered  # the new text
    left: int = placing.ALWAYS  # when its left edge needs more than its place
    right: int = placing.ALWAYS  # when its right edge does


class Renderer:
    """Makes the edits of one rule.

    Raises:
        CompileError: a reference to an element that is not there.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("DET NOUN is -> it is")
        >>> row = [Token("The", "DET", "DT", 0, 3), Token("film", "NOUN", "NN", 4, 8),
        ...        Token("is", "AUX", "VBZ", 9, 11), Token("bad", "ADJ", "JJ", 12, 15)]
        >>> Renderer(rules.rules[0], rules).render("The film is bad", row, Binding(0, 3, ()))
        Edit(start=0, end=11, old='The film is', new='It is')
    """

    def __init__(self, rule: Rule, scope: RuleScope, *, parts: PartsOf = pieces.parts_of) -> None:
        self.rule = rule
        self.noise_calls = tuple(pieces.noise_calls(rule))
        # Whether one of them changes a share of all the text that it is given in a unit.
        self.has_shares = any(call.noise.share is not None for call in self.noise_calls)
        # The one function of characters that it consists of, if any.
        self.in_place = pieces.in_place(rule)
        # Whether new text depends on the casing of the old one, and on the start of a sentence.
        self.follows_case = follows_case(rule, scope)
        self.placing = placing.Placing(
            in_place=self.in_place is not None,
            glued=bool(rule.consequent) and rule.consequent[0].glued,
            follows_case=self.follows_case,
            repairs=scope.options.repair == "on",
        )
        self._same = Unrendered.NO_PLACE if self.noise_calls else Unrendered.UNCHANGED
        self._parts: list[pieces.Part] = []
        # For a rule that copies nothing: its chunks, and its text by the casing of the old text.
        self._chunks: list[Chunk] = []
        self._constants: dict[tuple[int, bool], str | Unrendered] = {}
        punctuation = pieces.kept_punctuation(rule)
        texts = [piece for piece in rule.consequent if isinstance(piece, syntax.Text)]
        # Whether new text copies anything; if not, start and end of an instance are enough.
        self.needs_binding = bool(punctuation) or len(texts) < len(rule.consequent)
        if self.needs_binding:
            self._parts = list(parts(rule, scope, punctuation))
        else:
            self._chunks = [Chunk(piece.text, piece.glued, literal=True) for piece in texts]

    def render(
        self,
        text: str,
        tokens: Sequence[Token],
        binding: Binding,
        *,
        new: str | Unrendered | None = None,
        protected: placing.Spans = (),
        drawing: Drawing = UNDRAWN,
    ) -> Rendered:
        """The edit that an instance makes alone in its row.

        ``new`` is what `new_text` gave, None to call it here.
        """
        if new is None:
            new = self.new_text(text, tokens, binding, drawing)
        edits = placing.RowEdits(self.placing, text, protected)
        return self.placed(edits, tokens, binding, new, barrier=len(text))[0]

    def placed(
        self,
        edits: placing.RowEdits,
        tokens: Sequence[Token],
        binding: Binding,
        new: str | Unrendered,
        *,
        barrier: int,
    ) -> tuple[Rendered, bool]:
        """The edit that an instance makes after those before it; see `placing.RowEdits.replace`."""
        if isinstance(new, Unrendered):
            return new, False
        previous = tokens[binding.start - 1].end if binding.start > 0 else None
        if binding.start < binding.end:
            start, end = tokens[binding.start].start, tokens[binding.end - 1].end
            return edits.replace(placing.Replaced(start, end, previous, new), barrier=barrier)
        behind = tokens[binding.start] if binding.start < len(tokens) else None
        following = None if behind is None else (behind.start, behind.end)
        return edits.insert(previous, following, new, barrier=barrier), False

    def new_text(
        self, text: str, tokens: Sequence[Token], binding: Binding, drawing: Drawing = UNDRAWN
    ) -> str | Unrendered:
        """What takes the place of the span, before it is fitted to what stands beside it.

        It depends only on the rule, the binding, the tokens of the instance, the characters between
        them, whether they touch their neighbours and, if the rule follows the casing of the text,
        whether the span begins a sentence. If the rule draws, it also depends on the whole text and
        the drawing.
        """
        instance = Instance(text, tokens, binding, self.drawing(drawing))
        if binding.start == binding.end:
            return self._written(instance, placing.PLAIN) or Unrendered.UNCHANGED
        start = tokens[binding.start].start
        old = text[start : tokens[binding.end - 1].end]
        opens = self.follows_case and placing.begins_sentence(text, start)
        shape = placing.shape_of(old, opens=opens) if self.follows_case else placing.PLAIN
        opens = opens and shape % placing.WITH_PRONOUN == placing.CAPITAL
        inner = self.follows_case and placing.holds_start(old)
        new = self._written(instance, shape, opens=opens, inner=inner)
        if isinstance(new, Unrendered) or not new or self.placing.glued:
            return new
        return self._same if new == old else new

    def drawing(self, drawing: Drawing) -> Drawing:
        """The drawing with the seed of the rule added."""
        seed = self.rule.metadata.seed
        if not seed:
            return drawing
        return replace(drawing, draw=Draw(drawing.draw.seed + seed, drawing.draw.number))

    def written(
        self, text: str, tokens: Sequence[Token], binding: Binding, drawing: Drawing = UNDRAWN
    ) -> EdgedText:
        """What an instance, and every other that looks like it, becomes."""
        new = self.new_text(text, tokens, binding, drawing)
        if binding.start == binding.end or isinstance(new, Unrendered):
            return EdgedText(new)
        old = text[tokens[binding.start].start : tokens[binding.end - 1].end]
        return EdgedText(new, *self.placing.edges(old, new))

    def _written(
        self, instance: Instance, shape: int, *, opens: bool = False, inner: bool = False
    ) -> str | Unrendered:
        if not self.needs_binding:
            key = shape, inner
            if key not in self._constants:
                nothing = Instance("", (), Binding(0, 0, ()))
                self._constants[key] = _joined(nothing, self._chunks, *key)
            return self._constants[key]
        chunks: list[Chunk] = []
        for part in self._parts:
            chunk = part(instance)
            if isinstance(chunk, Unrendered):
                return chunk
            if chunk.text and opens:
                first = not any(map(str.isalnum, "".join(each.text for each in chunks)))
                chunk = _moved(chunk, instance, first=first)
            if chunk.text:
                chunks.append(chunk)
        return _joined(instance, chunks, shape, inner)


def _moved(chunk: Chunk, instance: Instance, *, first: bool) -> Chunk:
    """A copied chunk where the old text opened a sentence: the new first one takes a capital.

    The old first one loses it if it is no name: a function word, or tagged otherwise by the rule.
    """
    if chunk.tokens is None or chunk.as_is:
        return chunk
    if first:
        end, head = placing.capitalized(chunk.text)
        return chunk._replace(text=head + chunk.text[end:])
    start = instance.binding.start
    if chunk.tokens.start != start:
        return chunk
    token = instance.tokens[start]
    called = any(start in places for places in instance.binding.tags.values())
    no_name = called and token.coarse != "PROPN" and not token.fine.startswith("NNP")
    return chunk._replace(text=placing.uncapitalized(chunk.text, no_name=no_name))


def without_overlaps(instances: Iterable[Binding]) -> list[Binding]:
    """Each instance that overlaps none before it; an insertion excludes others at its place."""
    apart: list[Binding] = []
    free = 0
    for each in instances:
        if each.start >= free:
            apart.append(each)
            free = max(each.end, each.start + 1)
    return apart


def render_untouching(
    renderer: Renderer,
    text: str,
    tokens: Sequence[Token],
    instances: Sequence[Binding],
    *,
    first: bool = False,
    protected: placing.Spans = (),
    drawing: Drawing = UNDRAWN,
    new_text: NewText | None = None,
) -> tuple[list[Edit], list[Unrendered]]:
    """The edits of the instances of a row that touch no protected span, and why others make none.

    Instances come in the order of preference and may overlap; with ``first``, only one is taken.
    The renderer writes their text unless ``new_text`` gives it.
    """
    left, reach = list(instances), Reach(protected)
    write = new_text or partial(renderer.new_text, text, tokens, drawing=drawing)
    while True:
        chosen = without_overlaps(left)[: 1 if first else None]
        edits = placing.RowEdits(renderer.placing, text, protected)
        last_of: list[Binding] = []  # for each edit the last instance that it rewrites
        missing: list[Unrendered] = []
        starts = [
            tokens[each.start].start if each.start < len(tokens) else len(text) for each in chosen
        ]
        for binding, barrier in zip(chosen, [*starts[1:], len(text)], strict=False):
            edit, is_joint = renderer.placed(
                edits, tokens, binding, write(binding), barrier=barrier
            )
            if isinstance(edit, Unrendered):
                missing.append(edit)
                continue
            if is_joint:
                last_of.pop()
            last_of.append(binding)
        touching = (
            at for at, edit in enumerate(edits.edits) if reach.touches(edit.start, edit.end)
        )
        refused = next(touching, None)
        if refused is None:
            return edits.edits, missing
        place = (last_of[refused].start, last_of[refused].end)
        left = [each for each in left if (each.start, each.end) != place]


# ---------------------------------------------------------------- casing


def follows_case(rule: Rule, scope: RuleScope) -> bool:
    """Whether words of the consequent take the casing of what they replace."""
    return scope.options.case != "exact" and not any(
        names_casing(element.body, scope) for element in rule.antecedent
    )


def names_casing(body: object, scope: RuleScope) -> bool:
    """Whether an element says which casing its tokens have, so that new text keeps its own."""
    # A negation says what a token is not; its casing stays open.
    match body:
        case syntax.Group():
            elements = chain.from_iterable(body.alternatives)
            return any(names_casing(inner.body, scope) for inner in elements)
        case syntax.Literal():
            if body.quoted or body.ignore_case:
                return not body.ignore_case
            return scope.options.case != "ignore" and body.text != body.text.lower()
        case syntax.Regex():
            return not body.ignore_case
        case syntax.AttributeTest():
            return body.attribute == "text" and not body.negated
        case syntax.Conjunction():
            return any(names_casing(part, scope) for part in body.tests)
        case syntax.SetReference():
            return any(names_casing(member, scope) for member in scope.members(body))
    return False


# ---------------------------------------------------------------- spacing inside


_BEFORE_FIRST_WORD = f"{placing.OPENING} "


def _joined(
    instance: Instance, chunks: Sequence[Chunk], shape: int, inner: bool
) -> str | Unrendered:
    """Chunks as one text: one space between words, none where they belong together.

    If sentences begin inside the old text (``inner``), those inside the new text get a capital.
    """
    joined = ""
    previous: Chunk | None = None
    for chunk in chunks:
        if previous is not None:
            space = _space_between(instance.text, instance.tokens, previous, chunk)
            if not space and _parts_clitic(instance, joined, previous, chunk):
                return Unrendered.NO_WORD
            joined += space
        bare = joined.strip(_BEFORE_FIRST_WORD)
        word = placing.cased(chunk.text, shape, first=not bare) if chunk.literal else chunk.text
        if inner and bare and not chunk.as_is and placing.begins_sentence(joined, len(joined)):
            end, head = placing.capitalized(word)
            word = head + word[end:]
        joined += word
        previous = chunk
    return joined


def _space_between(text: str, tokens: Sequence[Token], left: Chunk, right: Chunk) -> str:
    if right.glued:
        return ""
    if left.tokens and right.tokens and left.tokens.end == right.tokens.start:
        return text[tokens[left.tokens.end - 1].end : tokens[right.tokens.start].start]
    if left.tight[1] or right.tight[0] or begins_with_clitic(right.text):
        return ""
    return " "


def _parts_clitic(instance: Instance, joined: str, left: Chunk, right: Chunk) -> bool:
    """Whether a clitic would follow a word that does not bear it, and did not have it before.

    A rule may write any clitic but ``n't`` behind any word, but not copy one there. ``joined`` is
    the new text up to the clitic, and ends with ``left``.
    """
    if left.as_is or not begins_with_clitic(right.text):
        return False
    if right.tokens is None:
        return begins_with_not(right.text) and not bears(joined, right.text)
    tokens, place = instance.tokens, right.tokens.start - 1
    is_neighbour = left.tokens is not None and left.tokens.end == right.tokens.start
    if is_neighbour and left.text.endswith(tokens[place].text):
        return False
    # Of the span only: what stands before it is not looked at.
    host = tokens[place].text if instance.binding.start <= place < instance.binding.end else ""
    is_noun = left.tokens is not None and tokens[left.tokens.end - 1].coarse in NOUNS
    return parts_clitic(joined, right.text, host=host, is_noun=is_noun)


# ---------------------------------------------------------------- rules by their numbers

MOST_WRITTEN = 1 << 16
"""How many new texts are remembered before all are forgotten."""

FIXED, CHOSEN, DRAWN = range(3)
"""How batches treat a rule. FIXED: what an instance becomes depends on it alone. CHOSEN: likewise,
but a rate chooses among instances, or words are looked up. DRAWN: it is drawn for each instance."""


class CompiledRules:
    """Compiled rules with their renderers and variants, which are made when a rule first matches.

    Threads may share them.

    Example:
        >>> from sears_dsl.engine.matcher import compile_rules
        >>> from sears_dsl.language.loader import parse
        >>> matcher = compile_rules([parse("movie -> film")])
        >>> matcher.compiled.renderer(0).needs_binding
        False
    """

    def __init__(
        self, rules: Sequence[tuple[Rule, RuleScope]], program: Program, split: Split
    ) -> None:
        self.rules = rules
        self.program = program
        self._split = split
        self._lock = threading.RLock()
        self._renderers: dict[int, Renderer] = {}
        self._variants: dict[int, Sequence[Variant]] = {}
        self._units = frozenset(program.units.tolist())

    def renderer(self, rule: int) -> Renderer:
        """What renders the instances of a rule, one at a time."""
        renderer = self._renderers.get(rule)
        if renderer is None:
            renderer = self._renderers[rule] = Renderer(*self.rules[rule])
        return renderer

    def variants(self, rule: int) -> Sequence[Variant]:
        """The flat variants of a rule."""
        patterns, written = self.program.rules.patterns, self.program.written
        place = int(patterns.pattern_of[rule]) - (len(patterns.first_variant) - len(written))
        if place >= 0:
            return written[place]
        with self._lock:
            variants = self._variants.get(rule)
            if variants is None:
                tree, scope = self.rules[rule]
                variants = expand(tree, scope, self.program.predicates, self._split)
                self._variants[rule] = variants
            return variants

    def binding(self, tokens: Tokens, matches: Matches, index: int) -> Binding:
        """How instance number ``index`` lies on the tokens of its row."""
        rule, start = int(matches.rules[index]), int(matches.starts[index])
        if rule in self._units:
            whole = TokenRange(start, int(matches.ends[index]))
            name = self.rules[rule][0].antecedent[0].name
            return Binding(*whole, (whole,), {} if name is None else {name: whole})
        order = int(matches.variants[index])
        return self.bound(rule, order, tokens, int(matches.rows[index]), start)

    def bound(self, rule: int, order: int, tokens: Tokens, row: int, start: int) -> Binding:
        """How a variant of a rule lies on the tokens of a row, given where its span starts."""
        variant = self.variants(rule)[order]
        first, types, ids = int(tokens.row_offsets[row]), tokens.types, tokens.type_ids

        def token_type(position: int) -> TokenType:
            kind: TokenType = types[int(ids[first + position])]
            return kind

        return bind(variant, start, self.program.predicates, token_type)

    @cached_property
    def drawing_rules(self) -> frozenset[int]:
        """The rules that draw, or are about whole units."""
        return frozenset(np.flatnonzero(self.ways != FIXED).tolist())

    @cached_property
    def ways(self) -> NDArray[np.int8]:
        """How batches treat each rule: `FIXED`, `CHOSEN` or `DRAWN`."""
        ways = np.full(len(self.rules), FIXED, np.int8)
        if len(self.program.rated):
            ways[self.program.rated] = CHOSEN
        ways[self.program.units] = DRAWN
        for rule in self.program.parts.calling:
            ways[rule] = _way(self.rules[rule][0])
        return ways


def _way(rule: Rule) -> int:
    if draws_text(rule):
        return DRAWN
    if rule.metadata.rate and "neighbor" in noise_in(rule):
        return DRAWN  # only words that the rate looks at are worth looking up
    return CHOSEN if draws(rule) else FIXED


class RenderingRun(NamedTuple):
    """What holds for all matches that are rewritten together; see `Rendering.rewrites`."""

    protected: Protected | None
    unrenderable: Counter[int]
    extent: Extent | None
    drawing: Drawing


def reads_context(rule: Rule) -> bool:
    """Whether the consequent may refer, by a name, to tokens outside of the replaced span."""
    return any(
        isinstance(piece, (syntax.Reference, syntax.Inflected)) and isinstance(piece.target, str)
        for piece in rule.consequent
    )
