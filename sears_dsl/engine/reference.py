"""The naive matcher: what the rule language means, in the plainest code.

In: one rule, the tokens of one row. Out: its instances as `Binding`s, leftmost first. It walks
the syntax tree with backtracking generators over token objects and shares nothing with the
compiled engine, which is tested against it; it follows names of sets from file to file by itself.
Always holds: instances are ordered by the start of the replaced span, then by the order of the
written alternatives with greedy quantifiers, left context first; instances of one call never
overlap. Costs time exponential in the quantifiers at worst: it is for tests and explanations, not
for corpora. What rewriting means, drawing included, is defined by `naive_noise` in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import re2  # type: ignore[import-untyped, unused-ignore]

from sears_dsl.engine.matches import Binding, Scope, TokenRange
from sears_dsl.errors import CompileError
from sears_dsl.language import rule as syntax
from sears_dsl.language.rule import Element, Rule, SetReference, Test
from sears_dsl.language.tagsets import COARSE, coarse_of
from sears_dsl.tagging.inflection import lemma
from sears_dsl.tagging.tokens import Token, contraction

if TYPE_CHECKING:
    from sears_dsl.language.ruleset import Ruleset

Split: TypeAlias = Callable[[str], tuple[str, ...]]
"""How the tokenizer splits a word: ``don't`` → ``("do", "n't")``."""


class WalkState(NamedTuple):
    """The state of a walk."""

    position: int  # the next token
    # The decisions taken, as numbers that order derivations: the alternative's position in a group;
    # 0 for one more repetition and 1 for no more.
    choices: tuple[int, ...] = ()
    elements: tuple[TokenRange, ...] = ()  # what each element of the sequence being walked matched
    names: tuple[tuple[str, TokenRange], ...] = ()  # what named elements matched
    tags: tuple[tuple[str, int], ...] = ()  # (tag, position) of the tokens that bare tags matched
    matched: int = 0  # how many elements of the rule have matched, for explanations
    nested: bool = False  # whether the walk is inside a group, whose elements do not count
    whole: Element | None = None  # the element of the rule that is being matched
    begin: int = 0  # the token that it begins at


Observer: TypeAlias = Callable[[WalkState, Element, int], None]
"""Called at a dead end: with the walk so far, the element that failed, and where it failed."""


def find(
    rule: Rule,
    file: Ruleset,
    tokens: Sequence[Token],
    *,
    split: Split,
    extent: Scope = "first",
    protected: Sequence[tuple[int, int]] = (),
) -> list[Binding]:
    """The instances of a rule in one row.

    Args:
        rule: what to look for.
        file: where it was written, with its options, sets and imports.
        split: how the tokenizer splits a word of the rule into tokens.
        extent: ``first`` for the leftmost instance alone, ``all`` for every instance that does
            not overlap the one before; a rule with a rate has ``all``.
        protected: character spans in which the rule must not fire.

    Example:
        >>> from sears_dsl.language.rule import Element, Literal, Rule, Tag, Text
        >>> from sears_dsl.language.ruleset import Ruleset
        >>> rule = Rule((Element(Literal("What")), Element(Tag("NOUN"))), (Text("Which"),))
        >>> row = [Token("What", "PRON", "WP", 0, 4), Token("color", "NOUN", "NN", 5, 10)]
        >>> [instance] = find(rule, Ruleset.from_rules([rule]), row, split=lambda word: (word,))
        >>> instance.start, instance.end
        (0, 2)
    """
    instances: list[Binding] = []
    next_start = 0
    first = extent == "first" and rule.metadata.rate is None
    for binding in candidates(rule, file, tokens, split=split):
        if binding.start < next_start or is_protected(binding, tokens, protected):
            continue
        instances.append(binding)
        if first:
            break
        next_start = max(binding.end, binding.start + 1)
    return instances


def candidates(
    rule: Rule,
    file: Ruleset,
    tokens: Sequence[Token],
    *,
    split: Split,
    observe: Observer = lambda *_: None,
) -> Iterator[Binding]:
    """Every derivation of a rule on a row, in order, overlapping ones too.

    ``observe`` is called for every element that fails.
    """
    walk = _Walk(file, tokens, split, observe)
    contexts: dict[int, list[WalkState]] = {}  # by where they end, those that begin first first
    for start in range(len(tokens) + 1):
        for before in walk.sequence(rule.left, WalkState(start)):
            contexts.setdefault(before.position, []).append(before)
        for before in sorted(contexts.get(start, ()), key=lambda state: state.choices):
            fresh = WalkState(start, names=before.names, matched=len(rule.left))
            for matched in walk.sequence(rule.antecedent, fresh):
                for after in walk.sequence(rule.right, matched._replace(tags=())):
                    yield _binding(rule, start, matched, after)


def is_protected(
    binding: Binding, tokens: Sequence[Token], protected: Sequence[tuple[int, int]]
) -> bool:
    """Whether an instance would change a protected character or insert inside a protected span."""
    if not protected:
        return False
    if binding.start < binding.end:
        first, last = tokens[binding.start].start, tokens[binding.end - 1].end
        return any(start < last and first < end for start, end in protected)
    if binding.start < len(tokens):
        place = tokens[binding.start].start
    else:
        place = tokens[-1].end if tokens else 0
    return any(start < place < end for start, end in protected)


def _binding(rule: Rule, start: int, matched: WalkState, after: WalkState) -> Binding:
    tags: dict[str, tuple[int, ...]] = {}
    for tag, position in matched.tags:
        tags[tag] = (*tags.get(tag, ()), position)
    names = {name: TokenRange(start, start) for name in _names(rule.elements)}
    names.update(after.names)
    return Binding(start, matched.position, matched.elements, names, tags)


def _names(elements: Sequence[Element]) -> Iterator[str]:
    for element in elements:
        if element.name is not None:
            yield element.name
        if isinstance(element.body, syntax.Group):
            for alternative in element.body.alternatives:
                yield from _names(alternative)


@dataclass(frozen=True, slots=True)
class _Walk:
    """Backtracking over one row; every method yields states in the order of preference."""

    file: Ruleset
    tokens: Sequence[Token]
    split: Split
    observe: Observer

    def sequence(self, elements: tuple[Element, ...], state: WalkState) -> Iterator[WalkState]:
        """Elements one after another; each adds what it matched to ``state.elements``."""
        if not elements:
            yield state
            return
        first, rest = elements[0], elements[1:]
        for after in self._element(first, state):
            yield from self.sequence(rest, after)

    def _element(self, element: Element, state: WalkState) -> Iterator[WalkState]:
        if not state.nested:
            state = state._replace(whole=element, begin=state.position)
        for after in self._repetitions(element, 0, state):
            matched = TokenRange(state.position, after.position)
            names = after.names
            if element.name is not None:
                names = (*names, (element.name, matched))
            yield after._replace(
                elements=(*state.elements, matched),
                names=names,
                matched=state.matched + (not state.nested),
            )

    def _repetitions(self, element: Element, count: int, state: WalkState) -> Iterator[WalkState]:
        """One more repetition before no more: greedy."""
        if count < element.maximum:
            more = state._replace(choices=(*state.choices, 0))
            for after in self._body(element, more):
                yield from self._repetitions(element, count + 1, after)
        if count >= element.minimum:
            yield state._replace(choices=(*state.choices, 1))

    def _body(self, element: Element, state: WalkState) -> Iterator[WalkState]:
        body = element.body
        if isinstance(body, syntax.Group):
            for number, alternative in enumerate(body.alternatives):
                chosen = state._replace(choices=(*state.choices, number), nested=True)
                for after in self.sequence(alternative, chosen):
                    yield after._replace(elements=state.elements, nested=state.nested)
            return
        if isinstance(body, syntax.Anchor):
            if state.position == (0 if body.side == "start" else len(self.tokens)):
                yield state
            else:
                self.observe(state, element, state.position)
            return
        if isinstance(body, syntax.WholeUnit):
            if state.position == 0 and self.tokens:
                yield state._replace(position=len(self.tokens))
            return
        if isinstance(body, syntax.Literal):
            yield from self._word(element, body, state)
            return
        place = state.position
        if place >= len(self.tokens) or not self.holds(body, self.tokens[place]):
            self.observe(state, element, place)
            return
        tags = state.tags
        if isinstance(body, syntax.Tag):
            tags = (*tags, (body.name, place))
        yield state._replace(position=place + 1, tags=tags)

    def _word(
        self, element: Element, literal: syntax.Literal, state: WalkState
    ) -> Iterator[WalkState]:
        """A literal in each way in which a tokenizer may cut it: see `_cuts`."""
        for number, parts in enumerate(self._cuts(literal)):
            for place, part in enumerate(parts, start=state.position):
                if place >= len(self.tokens) or not self._is(literal, part, self.tokens[place]):
                    self.observe(state, element, place)
                    break
            else:
                choices = (*state.choices, number)
                yield state._replace(position=state.position + len(parts), choices=choices)

    def _is(self, literal: syntax.Literal, part: str, token: Token) -> bool:
        """Whether a token is a part of a literal, under the case option."""
        return self._spelled(literal, token.text) == self._spelled(literal, part)

    def _spelled(self, literal: syntax.Literal, word: str) -> str:
        """The form of a word that is compared with a literal: words of equal forms are alike."""
        options = self.file.options
        if ignores_case(literal, options):
            word = word.lower()
        return _straight(word) if not literal.quoted and options.case != "exact" else word

    def _cuts(self, literal: syntax.Literal) -> list[list[str]]:
        """How the tokenizer cuts a literal, in every casing and with every apostrophe it may have.

        Contractions in capitals are also cut as rules see them (`tagging.tokens.cut_contractions`).
        """
        words = [literal.text]
        if ignores_case(literal, self.file.options):
            low = literal.text.lower()
            spelled = (low, low[:1].upper() + low[1:], literal.text.upper())
            first = literal.text[:1].upper() + literal.text[1:].lower()
            words += [word for word in (*spelled, first) if word.lower() == low]
        if not literal.quoted and self.file.options.case != "exact":
            straight = {word: _straight(word) for word in words if _has_letter(word)}
            words += [word.replace("'", mark) for word in straight.values() for mark in "'’ʼ"]
        cuts: dict[tuple[str, ...], list[str]] = {}
        for word in words:
            whole = list(self.split(word)) or [word]
            for cut in (whole, [each for part in whole for each in contraction(part)]):
                cuts.setdefault(tuple(self._spelled(literal, part) for part in cut), cut)
        return list(cuts.values())

    def holds(self, test: Test | syntax.Group, token: Token, file: Ruleset | None = None) -> bool:
        """Whether one token passes a test that was written in ``file`` (None: that of the rule).

        The file says what names stand for; literals and tags are read under the options of the
        rule's own file, wherever they were written.
        """
        match test:
            case syntax.Wildcard():
                return True
            case syntax.Literal():
                return self._is(test, test.text, token)
            case syntax.Tag(name):
                tagset = self.file.options.tagset
                if name in COARSE[tagset]:
                    return coarse_of(token.coarse, token.fine, tagset) == name
                return token.fine == name
            case syntax.AttributeTest():
                return self._attribute(test, token) != test.negated
            case syntax.Conjunction(tests):
                return all(self.holds(part, token) for part in tests)
            case syntax.Regex(pattern, ignore_case):
                return _full_match(_regex(pattern, ignore_case), token.text)
            case SetReference():
                members = _written(test, self.file if file is None else file)
                return any(self.holds(self._single(each), token, where) for each, where in members)
            case syntax.Negation(operand):
                return not self.holds(self._single(operand), token, file)
            case syntax.Group(alternatives):
                return any(
                    not isinstance(element.body, syntax.Anchor | syntax.WholeUnit)
                    and self.holds(self._single(element.body), token, file)
                    for alternative in alternatives
                    for element in alternative
                )

    def _single(self, test: Test | syntax.Group) -> Test | syntax.Group:
        if not isinstance(test, syntax.Literal):
            return test
        if sum(len(contraction(part)) for part in self.split(test.text)) > 1:
            raise CompileError(
                f"`{test.text}` is several tokens, but this place tests one",
                help="write a group of sequences instead of a set or a negation",
            )
        return test

    def _attribute(self, test: syntax.AttributeTest, token: Token) -> bool:
        match test.attribute:
            case "text":
                return token.text == test.value
            case "lower":
                return token.text.lower() == test.value.lower()
            case "lemma":
                return lemma(token.text, token.fine) == test.value.lower()
            case "pos":
                tagset = self.file.options.tagset
                return coarse_of(token.coarse, token.fine, tagset) == test.value
            case "tag":
                return token.fine == test.value


def _written(reference: SetReference, file: Ruleset) -> Iterator[tuple[Test, Ruleset]]:
    """The members of a set and of the sets in it, each with the file where it was written."""
    waiting = [(reference, file)]
    followed: list[tuple[str, Ruleset]] = []
    while waiting:
        current, place = waiting.pop(0)
        if current.module is not None:
            by_name = {each.name: each.ruleset for each in place.imports}
            place = by_name[current.module]
        if any(name == current.name and where is place for name, where in followed):
            continue
        followed.append((current.name, place))
        [definition] = [each for each in place.sets if each.name == current.name]
        for member in definition.members:
            if isinstance(member, SetReference):
                waiting.append((member, place))
            else:
                yield member, place


@lru_cache(maxsize=4096)
def _straight(word: str) -> str:
    """A word with straight apostrophes; a mark without a letter is not an apostrophe."""
    return word.replace("’", "'").replace("ʼ", "'") if _has_letter(word) else word


def _has_letter(word: str) -> bool:
    return any(character.isalpha() for character in word)


def ignores_case(literal: syntax.Literal, options: syntax.Options) -> bool:
    """Whether a literal matches any casing of its text, under the ruleset's case option."""
    if literal.quoted or literal.ignore_case:
        return literal.ignore_case
    if options.case == "smart":
        return literal.text == literal.text.lower()
    return options.case == "ignore"


def _full_match(pattern: Any, text: str) -> bool:
    try:
        return pattern.fullmatch(text) is not None
    except UnicodeEncodeError:
        return False  # half of a surrogate pair is not a character


@lru_cache(maxsize=4096)
def _regex(pattern: str, ignore_case: bool) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise CompileError(
            f"RE2 rejects /{pattern}/: {error}",
            help="patterns use RE2's syntax, which has no look-around and no back-references",
        ) from error
