"""An instance of a rule → the edit that it makes: what the consequent means.

In: a rule (once, as a `Renderer`), then rows with their tokens and `Binding`s. Out: an `Edit`, or
an `Unrendered` that says why there is none. Always holds: the edit covers the replaced span, and
beyond it only the white space that a deletion or ``~`` takes along; the edits of one row are in
bounds, ordered and disjoint. Whatever the rule alone decides is computed when the `Renderer` is
made: a consequent of plain text costs one slice and one comparison an instance; references cost
some string work, inflections a cached look-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from sears_dsl.engine.inflection_check import compile_diagnostics
from sears_dsl.engine.matches import Binding, Edit
from sears_dsl.engine.pieces import Chunk, Instance, Part, Unrendered, kept_punctuation, parts_of
from sears_dsl.engine.spacing import attached, begins_with_clitic, deletion, insertion, stand_apart
from sears_dsl.engine.spans import apply_edits
from sears_dsl.language.rule import (
    AttributeTest,
    Conjunction,
    Element,
    Group,
    Literal,
    Regex,
    Rule,
    RuleScope,
    SetReference,
    Text,
)
from sears_dsl.text.tokens import Token

__all__ = [
    "Rendered",
    "Renderer",
    "Unrendered",
    "apply_edits",
    "compile_diagnostics",
    "follows_case",
]


Rendered: TypeAlias = Edit | Unrendered


# The casing of a replaced span, as far as literals follow it.
_PLAIN, _CAPITAL, _UPPER = 0, 1, 2


class Renderer:
    """Makes the edits of one rule.

    Args:
        rule: a rule without errors.
        scope: options and sets of its file.

    Raises:
        CompileError: a reference to an element that is not there.

    Example:
        >>> from sears_dsl.language.ruleset import parse
        >>> rules = parse("DET NOUN is -> it is")
        >>> row = [Token("The", "DET", "DT", 0, 3), Token("film", "NOUN", "NN", 4, 8),
        ...        Token("is", "AUX", "VBZ", 9, 11), Token("bad", "ADJ", "JJ", 12, 15)]
        >>> Renderer(rules.rules[0], rules).render("The film is bad", row, Binding(0, 3, ()))
        Edit(start=0, end=11, old='The film is', new='It is')
    """

    __slots__ = ("_attached", "_constants", "_follows_case", "_parts", "rule")

    def __init__(self, rule: Rule, scope: RuleScope) -> None:
        self.rule = rule
        self._attached = bool(rule.consequent) and rule.consequent[0].glued
        self._follows_case = follows_case(rule, scope)
        kept = kept_punctuation(rule)
        self._parts: list[Part] = []
        self._constants: tuple[str, ...] | None = None
        if not kept and all(isinstance(piece, Text) for piece in rule.consequent):
            chunks = [
                Chunk(piece.text, piece.glued, literal=True)
                for piece in rule.consequent
                if isinstance(piece, Text)
            ]
            self._constants = tuple(
                _joined("", (), chunks, shape) for shape in (_PLAIN, _CAPITAL, _UPPER)
            )
        else:
            self._parts = list(parts_of(rule, kept))

    @property
    def needs_binding(self) -> bool:
        """Whether new text copies anything; if not, start and end of an instance are enough."""
        return self._constants is None

    def render(
        self,
        text: str,
        tokens: Sequence[Token],
        binding: Binding,
        *,
        before: Sequence[Edit] = (),
    ) -> Rendered:
        """The edit that one instance makes.

        Args:
            text: the row.
            tokens: its tokens.
            binding: the instance.
            before: the edits of the same row so far, in order; a deletion beside one of them
                takes no white space twice.
        """
        new = self.new_text(text, tokens, binding)
        if isinstance(new, Unrendered):
            return new
        if binding.start == binding.end:
            return self.inserted(text, tokens, binding.start, new)
        end = tokens[binding.start - 1].end if binding.start > 0 else None
        first, last = tokens[binding.start].start, tokens[binding.end - 1].end
        return self.placed(text, first, last, new, previous=end, before=before)

    def new_text(self, text: str, tokens: Sequence[Token], binding: Binding) -> str | Unrendered:
        """What takes the place of the span, before white space around it is thought of.

        It depends on the rule, on how the instance lies on its tokens, on these with the
        characters between them, and on whether they touch their neighbours; on nothing else.
        """
        if binding.start == binding.end:
            return self._written(text, tokens, binding, _PLAIN) or Unrendered.UNCHANGED
        start = tokens[binding.start].start
        old = text[start : tokens[binding.end - 1].end]
        shape = _shape(old) if self._follows_case else _PLAIN
        new = self._written(text, tokens, binding, shape)
        if isinstance(new, Unrendered) or not new or self._attached:
            return new
        if binding.start > 0 and tokens[binding.start - 1].end == start:
            new = stand_apart(old, new)
        return Unrendered.UNCHANGED if new == old else new

    def takes_its_place(self, new: str) -> bool:
        """Whether new text of a span takes just the place of the old one, white space apart."""
        return bool(new) and not self._attached

    def inserted(self, text: str, tokens: Sequence[Token], place: int, new: str) -> Edit:
        """The edit that puts new text between two tokens, before the one at this place."""
        previous = tokens[place - 1] if place else None
        following = tokens[place] if place < len(tokens) else None
        return insertion(text, previous, following, new, glued=self._attached)

    def placed(
        self,
        text: str,
        start: int,
        end: int,
        new: str,
        *,
        previous: int | None,
        before: Sequence[Edit] = (),
    ) -> Rendered:
        """The edit that puts new text in the place of a span, or deletes it.

        Args:
            text: the row.
            start: first character of the span.
            end: one past its last.
            new: what `new_text` gave.
            previous: where the token before the span ends; None at the row's start.
            before: as in `render`.
        """
        limit = before[-1].end if before else 0
        if not new:
            left = apply_edits(text[:start], before)
            return deletion(text, start, end, before=left, limit=limit)
        if self._attached and previous is not None:
            edit = attached(text, start, end, new, limit=max(limit, previous))
        else:
            edit = Edit(start, end, text[start:end], new)
        return Unrendered.UNCHANGED if edit.new == edit.old else edit

    def render_all(
        self, text: str, tokens: Sequence[Token], bindings: Iterable[Binding]
    ) -> tuple[list[Edit], list[Unrendered]]:
        """The edits of a row's instances, and why those of the others are missing.

        Args:
            text: the row.
            tokens: its tokens.
            bindings: instances that do not overlap, leftmost first.
        """
        edits: list[Edit] = []
        missing: list[Unrendered] = []
        for binding in bindings:
            rendered = self.render(text, tokens, binding, before=edits)
            if isinstance(rendered, Edit):
                edits.append(rendered)
            else:
                missing.append(rendered)
        return edits, missing

    def _written(
        self, text: str, tokens: Sequence[Token], binding: Binding, shape: int
    ) -> str | Unrendered:
        if self._constants is not None:
            return self._constants[shape]
        instance = Instance(text, tokens, binding)
        chunks: list[Chunk] = []
        for part in self._parts:
            chunk = part(instance)
            if isinstance(chunk, Unrendered):
                return chunk
            if chunk.text:
                chunks.append(chunk)
        return _joined(text, tokens, chunks, shape)


# ---------------------------------------------------------------- casing


def _shape(old: str) -> int:
    if old.isupper() and sum(map(str.isalpha, old)) > 1:
        return _UPPER
    return _CAPITAL if old[0].isupper() or old[0].istitle() else _PLAIN


def follows_case(rule: Rule, scope: RuleScope) -> bool:
    """Whether words of the consequent take the casing of what they replace."""
    return scope.options.case != "exact" and not any(
        _names_casing(element, scope) for element in rule.antecedent
    )


def _names_casing(element: Element, scope: RuleScope) -> bool:
    """Whether an element says which casing its tokens have, so that courtesies are off."""
    if isinstance(element.body, Group):
        return any(
            _names_casing(inner, scope)
            for alternative in element.body.alternatives
            for inner in alternative
        )
    return _test_names_casing(element.body, scope)


def _test_names_casing(test: object, scope: RuleScope) -> bool:
    # A negation says what a token is not; its casing stays open.
    match test:
        case Literal():
            if test.quoted or test.ignore_case:
                return not test.ignore_case
            return scope.options.case != "ignore" and test.text != test.text.lower()
        case Regex():
            return not test.ignore_case
        case AttributeTest():
            return test.attribute == "text" and not test.negated
        case Conjunction():
            return any(_test_names_casing(part, scope) for part in test.tests)
        case SetReference():
            return any(_test_names_casing(member, scope) for member in scope.members(test))
    return False


# ---------------------------------------------------------------- spacing inside


def _joined(text: str, tokens: Sequence[Token], chunks: Sequence[Chunk], shape: int) -> str:
    """Chunks as one text: one space between words, none where they belong together."""
    pieces: list[str] = []
    previous: Chunk | None = None
    for chunk in chunks:
        if previous is not None:
            pieces.append(_space_between(text, tokens, previous, chunk))
        pieces.append(_cased(chunk.text, shape, first=not pieces) if chunk.literal else chunk.text)
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


def _cased(word: str, shape: int, *, first: bool) -> str:
    if shape == _UPPER:
        return word.upper()
    if shape == _CAPITAL and first and word[:1].islower():
        return word[0].title() + word[1:]
    return word
