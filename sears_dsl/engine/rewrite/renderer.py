"""An instance of a rule → the edit that it makes: what the consequent means.

In: a rule (once, as a `Renderer`), then rows with their tokens and `Binding`s. Out: an `Edit`, or
an `Unrendered` that says why there is none. Always holds: the edit covers the replaced span, and
beyond it only white space and doubled marks that it takes along, and a word whose capital it
changes; the edits of one row are in bounds, ordered and disjoint. Whatever the rule alone decides
is computed when the `Renderer` is made: a consequent of plain text costs one slice and one
comparison an instance; references cost some string work, inflections a cached look-up. Rules that
were compiled together have their renderers and variants in `CompiledRules`, by their numbers: those
that never match cost nothing.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.compile.program import Program, Split, Variant, expand
from sears_dsl.engine.matches import Binding, Edit, Reach
from sears_dsl.engine.noise.draws import Draw
from sears_dsl.engine.rewrite.pieces import (
    UNDRAWN,
    Chunk,
    Drawing,
    Instance,
    Part,
    Unrendered,
    in_place,
    kept_punctuation,
    noise_calls,
    parts_of,
)
from sears_dsl.engine.rewrite.spacing_and_casing import (
    CAPITAL,
    OPENING,
    PLAIN,
    WITH_PRONOUN,
    agreed,
    begins_sentence,
    begins_with_clitic,
    capitalized,
    cased,
    deletion,
    first_word,
    insertion,
    may_be_parted,
    reaches_out,
    replacement,
    shape_of,
    stands_before,
    uncapitalized,
)
from sears_dsl.language.measure import draws
from sears_dsl.language.rule import (
    AttributeTest,
    Conjunction,
    Group,
    Inflected,
    Literal,
    Reference,
    Regex,
    Rule,
    RuleScope,
    SetReference,
    TagCopy,
    Text,
)
from sears_dsl.tagging.tokens import Token

PartsOf: TypeAlias = Callable[[Rule, RuleScope, Mapping[int, int]], Iterable[Part]]
"""From a rule, its scope and the punctuation that it keeps to the functions of its pieces."""

Rendered: TypeAlias = Edit | Unrendered
NewText: TypeAlias = Callable[[Binding], str | Unrendered]
"""What takes the place of the span of an instance, as `Renderer.new_text` gives it."""
Spans: TypeAlias = Sequence[tuple[int, int]]

ALONE, TOUCHED, WORD, NEVER = 0, 1, 2, 3
"""When the edge of new text needs more than its place (see `Renderer.placed`): however its
neighbour stands; where there is no white space between; where a letter or digit touches it; or
never. Numbers of `windows.neighbours`."""


class Written(NamedTuple):
    """What instances become that look alike.

    Attributes:
        new: the new text.
        left: when the left edge of it needs more than its place.
        right: the same of the right edge.
    """

    new: str | Unrendered
    left: int = ALONE
    right: int = ALONE


class Around(NamedTuple):
    """What stands around the edit of one instance.

    Attributes:
        before: the edits of the same rule in the row so far, in order.
        barrier: where the next instance begins, or the row ends.
        protected: spans of characters whose casing stays as it is.
    """

    before: Sequence[Edit] = ()
    barrier: int = sys.maxsize
    protected: Spans = ()

    @property
    def limit(self) -> int:
        """Where the last edit ends: nothing left of it can be taken along."""
        return self.before[-1].end if self.before else 0

    def forbids(self, start: int, end: int) -> bool:
        """Whether characters start:end must not change their casing."""
        return end > self.barrier or any(low < end and start < high for low, high in self.protected)

    def begins_with_capital(self, text: str, start: int) -> bool:
        """Whether a span, or what was deleted just before it, began a sentence with a capital."""
        for edit in reversed(self.before):
            between = text[edit.end : start]
            if edit.new or (between and not between.isspace()):
                break
            start = edit.start + len(edit.old) - len(edit.old.lstrip())
        return text[start].isupper() and begins_sentence(text, start)


NOTHING = Around()


class Renderer:
    """Makes the edits of one rule.

    Attributes:
        noise_calls: its functions of characters.
        in_place: the one function of characters that it consists of, if it does.
        follows_case: whether new text depends on the casing of the old one, and on the start of a
            sentence.
        repairs: whether an edit may take along an article farther before it.
        needs_binding: whether new text copies anything; if not, start and end of an instance are
            enough.

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

    def __init__(self, rule: Rule, scope: RuleScope, *, parts: PartsOf = parts_of) -> None:
        self.rule = rule
        self.noise_calls = tuple(noise_calls(rule))
        self.in_place = in_place(rule)
        self.follows_case = follows_case(rule, scope)
        self.repairs = scope.options.repair == "on"
        self._same = Unrendered.NO_PLACE if self.noise_calls else Unrendered.UNCHANGED
        self._attached = bool(rule.consequent) and rule.consequent[0].glued
        self._parts: list[Part] = []
        self._constants: tuple[str, ...] | None = None
        punctuation = kept_punctuation(rule)
        texts = [piece for piece in rule.consequent if isinstance(piece, Text)]
        if not punctuation and len(texts) == len(rule.consequent):
            chunks = [Chunk(piece.text, piece.glued, literal=True) for piece in texts]
            shapes = range(2 * WITH_PRONOUN)
            self._constants = tuple(_joined("", (), chunks, shape) for shape in shapes)
        else:
            self._parts = list(parts(rule, scope, punctuation))
        self.needs_binding = self._constants is None

    def render(
        self,
        text: str,
        tokens: Sequence[Token],
        binding: Binding,
        *,
        new: str | Unrendered | None = None,
        before: Sequence[Edit] = (),
        following: int | None = None,
        protected: Spans = (),
        drawing: Drawing = UNDRAWN,
    ) -> Rendered:
        """The edit that one instance makes.

        Args:
            new: what `new_text` gave; None asks it.
            before: the edits of the same row so far, in order; a deletion beside one of them
                takes no white space twice.
            following: the first token of the instance after this one, which stays untouched.
        """
        if new is None:
            new = self.new_text(text, tokens, binding, drawing)
        if isinstance(new, Unrendered):
            return new
        barrier = len(text)
        if following is not None and following < len(tokens):
            barrier = tokens[following].start
        around = Around(before, barrier, protected)
        end = tokens[binding.start - 1].end if binding.start > 0 else None
        if binding.start == binding.end:
            behind = tokens[binding.start] if binding.start < len(tokens) else None
            place = None if behind is None else (behind.start, behind.end)
            return self.inserted(text, end, place, new, around)
        first, last = tokens[binding.start].start, tokens[binding.end - 1].end
        return self.placed(text, first, last, new, previous=end, around=around)

    def new_text(
        self,
        text: str,
        tokens: Sequence[Token],
        binding: Binding,
        drawing: Drawing = UNDRAWN,
    ) -> str | Unrendered:
        """What takes the place of the span, before its edges are thought of.

        It depends on the rule, on how the instance lies on its tokens, on these with the
        characters between them, on whether they touch their neighbours, and on whether the span
        begins a sentence, if the rule follows the casing of the text; of rules that draw, on the
        whole text and the drawing; on nothing else.
        """
        instance = Instance(text, tokens, binding, self.drawing(drawing))
        if binding.start == binding.end:
            return self._written(instance, PLAIN) or Unrendered.UNCHANGED
        start = tokens[binding.start].start
        old = text[start : tokens[binding.end - 1].end]
        opens = self.follows_case and begins_sentence(text, start)
        shape = shape_of(old, opens=opens) if self.follows_case else PLAIN
        opens = opens and shape % WITH_PRONOUN == CAPITAL
        new = self._written(instance, shape, opens=opens)
        if isinstance(new, Unrendered) or not new or self._attached:
            return new
        return self._same if new == old else new

    def drawing(self, drawing: Drawing) -> Drawing:
        """The drawing with the seed of the rule added."""
        seed = self.rule.metadata.seed
        if not seed:
            return drawing
        return replace(drawing, draw=Draw(drawing.draw.seed + seed, drawing.draw.number))

    def written(
        self,
        text: str,
        tokens: Sequence[Token],
        binding: Binding,
        drawing: Drawing = UNDRAWN,
    ) -> Written:
        """What an instance becomes, and all that look like it."""
        new = self.new_text(text, tokens, binding, drawing)
        if binding.start == binding.end or isinstance(new, Unrendered):
            return Written(new)
        old = text[tokens[binding.start].start : tokens[binding.end - 1].end]
        if not new or self._attached or self.repairs or reaches_out(old, new):
            return Written(new)
        left = WORD if old[0].isalnum() and not begins_with_clitic(old) else TOUCHED
        apart_left, apart_right = may_be_parted(old, new)
        return Written(new, left if apart_left else NEVER, WORD if apart_right else NEVER)

    def inserted(
        self,
        text: str,
        previous: int | None,
        following: tuple[int, int] | None,
        new: str,
        around: Around = NOTHING,
    ) -> Rendered:
        """The edit that puts new text between where the token before ends and the token after.

        At the start of a sentence the new text takes the capital, and the word that had it keeps
        it only if it may be a name.
        """
        edit = insertion(text, previous, following, new, glued=self._attached)
        if edit is None:
            return Unrendered.UNCHANGED
        if following is not None and edit.start == following[0] and self.follows_case:
            edit = _before_first_word(text, edit, following, around)
        return self._agreeing(text, edit, around)

    def placed(
        self,
        text: str,
        start: int,
        end: int,
        new: str,
        *,
        previous: int | None,
        around: Around = NOTHING,
    ) -> Rendered:
        """The edit that puts new text in the place of a span, or deletes it.

        ``previous`` is where the token before the span ends; None at the row's start.
        """
        if self.in_place is not None:
            return Edit(start, end, text[start:end], new)
        before = stands_before(text, start, around.before)
        limit = max(around.limit, previous or 0)
        edit: Edit | None = None
        if new:
            glued = self._attached and previous is not None
            edit = replacement(text, start, end, new, glued=glued, before=before, limit=limit)
        if edit is None:
            edit = deletion(
                text, start, end, before=before, limit=around.limit, barrier=around.barrier
            )
            if self.follows_case and around.begins_with_capital(text, start):
                edit = _passed_on(text, edit, around)
        edit = self._agreeing(text, edit, around)
        return Unrendered.UNCHANGED if edit.new == edit.old else edit

    def _agreeing(self, text: str, edit: Edit, around: Around) -> Edit:
        """The edit with articles that agree, under ``option repair = on``."""
        if not self.repairs:
            return edit
        wider = agreed(text, edit, limit=around.limit)
        return edit if around.forbids(wider.start, edit.start) else wider

    def _written(self, instance: Instance, shape: int, *, opens: bool = False) -> str | Unrendered:
        if self._constants is not None:
            return self._constants[shape]
        chunks: list[Chunk] = []
        for part in self._parts:
            chunk = part(instance)
            if isinstance(chunk, Unrendered):
                return chunk
            if chunk.text:
                first = not any(map(str.isalnum, "".join(each.text for each in chunks)))
                chunks.append(_moved(chunk, instance, first=first) if opens else chunk)
        return _joined(instance.text, instance.tokens, chunks, shape)


def _moved(chunk: Chunk, instance: Instance, *, first: bool) -> Chunk:
    """A copy at the start of a sentence: the first takes the capital, the former first loses it.

    It loses it only if it is no name: a function word, or what the rule calls by another tag.
    """
    if chunk.tokens is None or chunk.as_is:
        return chunk
    if first:
        end, head = capitalized(chunk.text)
        return chunk._replace(text=head + chunk.text[end:])
    start = instance.binding.start
    if chunk.tokens.start != start:
        return chunk
    token = instance.tokens[start]
    called = any(start in places for places in instance.binding.tags.values())
    no_name = called and token.coarse != "PROPN" and not token.fine.startswith("NNP")
    return chunk._replace(text=uncapitalized(chunk.text, no_name=no_name))


def _before_first_word(text: str, edit: Edit, following: tuple[int, int], around: Around) -> Edit:
    """An insertion that takes the capital of the word after it, if that begins a sentence."""
    start, end = following
    word = text[start:end]
    first = first_word(text, start)
    if not text[first : first + 1].isupper() or not begins_sentence(text, start):
        return edit
    at, head = capitalized(edit.new)
    new = head + edit.new[at:]
    if first > start:  # what is quoted keeps its own capital
        return edit._replace(new=new)
    lowered = uncapitalized(word, no_name=False)
    if lowered == word or around.forbids(edit.start, end):
        return edit._replace(new=new)
    return Edit(edit.start, end, word, new + lowered)


def _passed_on(text: str, edit: Edit, around: Around) -> Edit:
    """A deletion that gives its capital to the next word, unless that has to stay as it is."""
    end, word = capitalized(text, edit.end)
    if not word or around.forbids(edit.end, end):
        return edit
    return Edit(edit.start, end, text[edit.start : end], edit.new + word)


def render_untouching(
    renderer: Renderer,
    text: str,
    tokens: Sequence[Token],
    instances: Sequence[Binding],
    *,
    first: bool = False,
    protected: Spans = (),
    drawing: Drawing = UNDRAWN,
    new_text: NewText | None = None,
) -> tuple[list[Edit], list[Unrendered]]:
    """The edits of those instances of a row that touch no protected span, and what is missing.

    Instances come in the order of preference and may overlap; the first one may be wanted alone.
    The renderer writes their text unless ``new_text`` gives it.
    """
    left, reach = list(instances), Reach(protected)
    while True:
        chosen: list[Binding] = []
        for binding in left:
            if not chosen or binding.start >= max(chosen[-1].end, chosen[-1].start + 1):
                chosen.append(binding)
        if first:
            del chosen[1:]
        edits: list[Edit] = []
        missing: list[Unrendered] = []
        followings = [*(each.start for each in chosen[1:]), None]
        for binding, following in zip(chosen, followings, strict=False):
            rendered = renderer.render(
                text, tokens, binding, new=new_text(binding) if new_text else None,
                before=edits, following=following, protected=protected, drawing=drawing,
            )  # fmt: skip
            if isinstance(rendered, Unrendered):
                missing.append(rendered)
                continue
            if reach.touches(rendered.start, rendered.end):
                place = (binding.start, binding.end)
                left = [each for each in left if (each.start, each.end) != place]
                break
            edits.append(rendered)
        else:
            return edits, missing


# ---------------------------------------------------------------- casing


def follows_case(rule: Rule, scope: RuleScope) -> bool:
    """Whether words of the consequent take the casing of what they replace."""
    return scope.options.case != "exact" and not any(
        _names_casing(element.body, scope) for element in rule.antecedent
    )


def _names_casing(body: object, scope: RuleScope) -> bool:
    """Whether an element says which casing its tokens have, so that courtesies are off."""
    # A negation says what a token is not; its casing stays open.
    match body:
        case Group():
            elements = chain.from_iterable(body.alternatives)
            return any(_names_casing(inner.body, scope) for inner in elements)
        case Literal():
            if body.quoted or body.ignore_case:
                return not body.ignore_case
            return scope.options.case != "ignore" and body.text != body.text.lower()
        case Regex():
            return not body.ignore_case
        case AttributeTest():
            return body.attribute == "text" and not body.negated
        case Conjunction():
            return any(_names_casing(part, scope) for part in body.tests)
        case SetReference():
            return any(_names_casing(member, scope) for member in scope.members(body))
    return False


# ---------------------------------------------------------------- spacing inside


def _joined(text: str, tokens: Sequence[Token], chunks: Sequence[Chunk], shape: int) -> str:
    """Chunks as one text: one space between words, none where they belong together."""
    pieces: list[str] = []
    previous: Chunk | None = None
    for chunk in chunks:
        if previous is not None:
            pieces.append(_space_between(text, tokens, previous, chunk))
        first = not "".join(pieces).strip(f"{OPENING} ")
        pieces.append(cased(chunk.text, shape, first=first) if chunk.literal else chunk.text)
        previous = chunk
    return "".join(pieces)


def _space_between(text: str, tokens: Sequence[Token], left: Chunk, right: Chunk) -> str:
    if right.glued:
        return ""
    if left.tokens and right.tokens and left.tokens.end == right.tokens.start:
        return text[tokens[left.tokens.end - 1].end : tokens[right.tokens.start].start]
    if left.tight[1] or right.tight[0] or begins_with_clitic(right.text):
        return ""
    return " "


# ---------------------------------------------------------------- rules by their numbers

MOST_WRITTEN = 1 << 16
"""So many new texts are remembered; then all are forgotten."""

# Pieces that draw nothing.
_KINDS = frozenset({Text, TagCopy})


class CompiledRules:
    """Compiled rules as what renders them; each is made ready when it first matches.

    Threads may share them.

    Example:
        >>> from sears_dsl.engine.matcher import compile_rules
        >>> from sears_dsl.language.loader import parse
        >>> matcher = compile_rules([parse("movie -> film")])
        >>> matcher.compiled.renderer(0).needs_binding
        False

    Args:
        rules: each rule with its scope, in the order in which they were compiled.
        split: how the tokenizer splits a word of a rule.

    Attributes:
        rules: those.
        program: what was compiled of them.
    """

    def __init__(
        self, rules: Sequence[tuple[Rule, RuleScope]], program: Program, split: Split
    ) -> None:
        self.rules = rules
        self.program = program
        self._split = split
        self._alone = threading.RLock()
        self._renderers: dict[int, Renderer] = {}
        self._variants: dict[int, Sequence[Variant]] = {}

    def renderer(self, rule: int) -> Renderer:
        """What renders the instances of a rule, one at a time."""
        renderer = self._renderers.get(rule)
        if renderer is None:
            renderer = self._renderers[rule] = Renderer(*self.rules[rule])
        return renderer

    def variants(self, rule: int) -> Sequence[Variant]:
        """The flat variants of a rule."""
        arrays, written = self.program.rules, self.program.written
        place = int(arrays.pattern_of[rule]) - (len(arrays.first_variant) - len(written))
        if place >= 0:
            return written[place]
        with self._alone:
            variants = self._variants.get(rule)
            if variants is None:
                tree, scope = self.rules[rule]
                variants = expand(tree, scope, self.program.predicates, self._split)
                self._variants[rule] = variants
            return variants

    def draws(self, rule: int) -> bool:
        """Whether a rule draws, or is about whole units."""
        return bool(self.drawn.item(rule))

    @cached_property
    def drawn(self) -> NDArray[np.bool_]:
        """Whether each rule draws, or is about whole units."""
        drawn = np.zeros(len(self.rules), np.bool_)
        drawn[self.program.units] = True
        if len(self.program.rated):
            drawn |= self.program.rated
        # Mined rules, of which there may be hundreds of thousands, write words and copies alone.
        consequents = (tree.consequent for tree, _ in self.rules)
        for rule, pieces in enumerate(consequents):
            if not _KINDS.issuperset(map(type, pieces)):
                drawn[rule] = drawn[rule] or draws(self.rules[rule][0])
        return drawn


def reads_context(rule: Rule) -> bool:
    """Whether the consequent may refer, by a name, to tokens outside of the replaced span."""
    return any(
        isinstance(piece, (Reference, Inflected)) and isinstance(piece.target, str)
        for piece in rule.consequent
    )
