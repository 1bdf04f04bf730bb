"""Rules → flat variants → flat arrays: a trie of predicates, and the pattern of each path.

In: rules with their scopes, and how the tokenizer splits words. Out: a `Program`. A `Variant` is
one way to write out the choices and quantifiers of a rule; variants are in the order of preference:
alternatives as written, greedy quantifiers, left context first. Always holds: a variant is a plain
sequence of token tests (left context, focus, right context), so matching needs no backtracking; of
derivations with the same tests only the preferred one is kept; a rule has at most 64 variants. A
group or set of single tests is one test. A variant also records which of its tokens belong to which
elements, names and bare tags, which `bind` reads off. Rules with equal antecedents and contexts
share a *pattern* and are matched once; equal prefixes share a path of the trie. Costs one object
for each variant. Mining makes hundreds of thousands of plain rules (no context, quantifier, group
or name), which take a short path: an element object that was seen before costs one dictionary
look-up, and no object is created for a rule, about a microsecond each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine import arrays
from sears_dsl.engine.arrays import BitPlanes, RulePatterns, Rules
from sears_dsl.engine.compile.predicates import PatternError, Predicates, spellings
from sears_dsl.engine.compile.rule_parts import RuleParts, VariantTests
from sears_dsl.engine.compile.token_classes import TokenClasses, bit_planes, starts_of
from sears_dsl.engine.matches import Binding, TokenRange
from sears_dsl.language.measure import MOST_VARIANTS, every_element, is_unit
from sears_dsl.language.rule import Anchor, Element, Group, Literal, Rule, RuleScope, Tag
from sears_dsl.runtime.array_types import Int32Array, Int64Array, offsets_of, places_of
from sears_dsl.runtime.kernels import expect
from sears_dsl.tagging.tokens import TokenType

Split: TypeAlias = Callable[[str], Sequence[str]]

ANCHOR_START = 1
ANCHOR_END = 2

Problem: TypeAlias = tuple[int, PatternError]
"""A rule that cannot be compiled: its position and why."""

# With more variants the bits of all classes would take too much room.
_MOST_BITS = 1 << 17

# Marks an element that `expand` has to write out.
_COMPLEX = -1


# ---------------------------------------------------------------- rules as flat variants


class _TagChoice(NamedTuple):
    """One alternative of a test; if it is the first that holds, the token is bound to its tag."""

    predicate: int
    tag: str | None


@dataclass(frozen=True, slots=True)
class _Strand:
    """One derivation of some elements: a sequence of tests, and what lies where on it.

    Places count tests from the strand's start. ``tags`` has the alternatives at each place where a
    bare tag may match; ``elements`` are those of the level that the strand derives.
    """

    tests: tuple[int, ...] = ()
    anchors: tuple[tuple[int, int], ...] = ()
    elements: tuple[TokenRange, ...] = ()
    names: tuple[tuple[str, TokenRange], ...] = ()
    tags: tuple[tuple[int, tuple[_TagChoice, ...]], ...] = ()

    def then(self, other: _Strand) -> _Strand:
        """This strand followed by another one."""
        by = len(self.tests)
        return _Strand(
            self.tests + other.tests,
            self.anchors + tuple((side, at + by) for side, at in other.anchors),
            self.elements + tuple(_moved(place, by) for place in other.elements),
            self.names + tuple((name, _moved(place, by)) for name, place in other.names),
            self.tags + tuple((at + by, choices) for at, choices in other.tags),
        )

    def as_context(self) -> _Strand:
        """This strand as context, which is not replaced: only its names can be referenced."""
        return replace(self, elements=(), tags=())

    def as_element(self, name: str | None) -> _Strand:
        """The whole strand as one element of the level above."""
        place = TokenRange(0, len(self.tests))
        names = self.names if name is None else (*self.names, (name, place))
        return replace(self, elements=(place,), names=names)


@dataclass(frozen=True, slots=True)
class Variant:
    """One flat form of a rule."""

    tests: tuple[int, ...]  # a predicate id for each token: left context, focus, right context
    left: int  # how many of them are the left context
    focus: int  # how many are the replaced span
    # `ANCHOR_START` where the tests begin the unit, plus `ANCHOR_END` where they end it.
    anchors: int
    layout: _Strand  # how elements, names and tags lie on the tests
    names: tuple[str, ...]  # every name of the rule, also those that this variant leaves out


def expand(rule: Rule, scope: RuleScope, predicates: Predicates, split: Split) -> list[Variant]:
    """The flat variants of a rule, most preferred first.

    A rule whose anchors can never hold has none. `PatternError` is raised for more than 64
    variants, a word of several tokens where one token is tested, a regex that does not compile, and
    an insertion without context.
    """
    if not (rule.antecedent or rule.left or rule.right):
        raise PatternError(
            "E302",
            "this insertion has no context",
            advice="say where to insert it: <> -> also / PRON __ VERB",
        )
    writer = _Writer(scope, predicates, split)
    sides = [writer.sequence(part) for part in (rule.left, rule.antecedent, rule.right)]
    _check_count(len(sides[0]) * len(sides[1]) * len(sides[2]))
    variants: dict[tuple[tuple[int, ...], int, int, int], Variant] = {}
    # Names that take no part in a variant are bound, too.
    names = tuple({each.name: None for each in every_element(rule) if each.name is not None})
    for left, focus, right in product(*sides):
        strand = left.as_context().then(focus).then(right.as_context())
        anchors = _anchors(strand)
        if anchors is not None:
            key = (strand.tests, len(left.tests), len(focus.tests), anchors)
            variants.setdefault(key, Variant(*key, strand, names))
    return list(variants.values())


def bind(
    variant: Variant, start: int, predicates: Predicates, token_type: Callable[[int], TokenType]
) -> Binding:
    """The binding of an instance that starts at token ``start`` of its row, or goes before it.

    ``token_type`` is called only where a test leaves open which of its alternatives matched.
    """
    origin = start - variant.left
    names = dict.fromkeys(variant.names, TokenRange(start, start)) if variant.names else {}
    for name, place in variant.layout.names:
        names[name] = _moved(place, origin)
    tags: dict[str, tuple[int, ...]] = {}
    for at, choices in variant.layout.tags:
        tag = choices[0].tag
        if len(choices) > 1:
            kind = token_type(origin + at)
            tag = next((c.tag for c in choices if predicates.test(c.predicate)(kind)), None)
        if tag is not None:
            tags[tag] = (*tags.get(tag, ()), origin + at)
    elements = tuple(_moved(place, origin) for place in variant.layout.elements)
    return Binding(start, start + variant.focus, elements, names, tags)


def _moved(place: TokenRange, by: int) -> TokenRange:
    return TokenRange(place.start + by, place.end + by)


def _anchors(strand: _Strand) -> int | None:
    """The anchors as flags, or None where one can never hold because tests lie beyond it."""
    flags = 0
    for side, at in strand.anchors:
        if at != (0 if side == ANCHOR_START else len(strand.tests)):
            return None
        flags |= side
    return flags


def _check_count(count: int) -> None:
    if count > MOST_VARIANTS:
        raise PatternError(
            "E304",
            f"the quantifiers and groups of this rule expand to more than {MOST_VARIANTS} variants",
            advice="narrow the quantifiers or split the rule",
        )


class _Writer:
    """Writes elements out as strands, in the order of preference."""

    def __init__(self, scope: RuleScope, predicates: Predicates, split: Split) -> None:
        self.scope = scope
        self.predicates = predicates
        self.split = split

    def sequence(self, elements: Sequence[Element]) -> list[_Strand]:
        """The strands of consecutive elements; the choices of earlier elements take precedence."""
        strands = [_Strand()]
        for element in elements:
            written = [strand.as_element(element.name) for strand in self._repeated(element)]
            _check_count(len(strands) * len(written))
            strands = [strand.then(more) for strand in strands for more in written]
        return strands

    def _repeated(self, element: Element) -> list[_Strand]:
        """The strands of an element, repeated as its quantifier says: more repetitions first."""
        once = self._body(element.body)
        tails: list[_Strand] = [_Strand()]
        for count in reversed(range(element.maximum)):
            _check_count(len(once) * len(tails))
            more = [first.then(tail) for first in once for tail in tails]
            tails = [*more, _Strand()] if count >= element.minimum else more
        return tails

    def _body(self, body: object) -> list[_Strand]:
        if isinstance(body, Anchor):
            side = ANCHOR_START if body.side == "start" else ANCHOR_END
            return [_Strand(anchors=((side, 0),))]
        if isinstance(body, Group):
            single = self._single_tests(body)
            if single is not None:
                return [self._choice(single)]
            return list(chain.from_iterable(map(self.sequence, body.alternatives)))
        if isinstance(body, Literal):
            of_word = self.predicates.of_word
            cuts = spellings(body, self.scope.options, self.split)
            return [_Strand(tuple(of_word(word, body, self.scope) for word in cut)) for cut in cuts]
        return [self._choice([self._test(body)])]

    def _is_split(self, body: object) -> bool:
        if not isinstance(body, Literal):
            return False
        return any(len(words) > 1 for words in spellings(body, self.scope.options, self.split))

    def _test(self, body: object) -> _TagChoice:
        test = self.predicates.of_test(body, self.scope, self.split)  # type: ignore[arg-type]
        return _TagChoice(test, body.name if isinstance(body, Tag) else None)

    def _choice(self, choices: Sequence[_TagChoice]) -> _Strand:
        """Alternatives of one token each, as a strand of one test."""
        test = self.predicates.any_of(choice.predicate for choice in choices)
        tagged = any(choice.tag is not None for choice in choices)
        return _Strand(tests=(test,), tags=((0, tuple(choices)),) if tagged else ())

    def _single_tests(self, group: Group) -> list[_TagChoice] | None:
        """The tests of a group whose alternatives are one plain token each, else None."""
        choices: list[_TagChoice] = []
        for alternative in group.alternatives:
            if len(alternative) != 1:
                return None
            element = alternative[0]
            if element.name is not None or (element.minimum, element.maximum) != (1, 1):
                return None
            body = element.body
            if isinstance(body, Group):
                inner = self._single_tests(body)
                if inner is None:
                    return None
                choices.extend(inner)
            elif isinstance(body, Anchor) or self._is_split(body):
                return None
            else:
                choices.append(self._test(body))
        return choices


# ---------------------------------------------------------------- patterns


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Compiled rules."""

    predicates: Predicates  # the predicates of the rules
    symbols: Int32Array  # (predicates,): a small number for each one that a path tests, else -1
    sequences: VariantTests  # the predicates that each variant tests
    rules: Rules  # what the kernels read
    classes: TokenClasses  # the classes of the token types that were seen so far
    # The variants of the patterns that are not plain; those are the last patterns.
    written: Sequence[Sequence[Variant]]
    planes: BitPlanes | None  # the same rules as bits; None where there are too many
    units: Int32Array  # the positions of rules about whole units, which are not in the trie
    # (rules,): whether a rule has a rate, so that all of its instances count; empty if none has.
    rated: NDArray[np.bool_]
    parts: RuleParts  # the elements and pieces of the rules


class _PatternTable:
    """Collects patterns; plain ones are sequences of predicates, the others lists of variants."""

    def __init__(self, split: Split) -> None:
        self.predicates = Predicates()
        self.split = split
        self.parts: list[RuleParts] = []
        # Whether each rule is plain, and if not, which of the written patterns it has.
        self.plain: list[NDArray[np.bool_]] = [np.zeros(0, np.bool_)]
        self.numbers: list[Int32Array] = [np.zeros(0, np.int32)]
        # The predicates that plain rules test, rule after rule, and how many each rule tests.
        self.tests: list[Int32Array] = [np.zeros(0, np.int32)]
        self.lengths: list[Int64Array] = [np.zeros(0, np.int64)]
        self.written: list[list[Variant]] = []
        self.units: list[int] = []

    def add(self, rules: Sequence[Rule], scope: RuleScope) -> list[Problem]:
        """Append the patterns of the rules of one ruleset."""
        before = sum(map(len, self.plain))
        parts = RuleParts.of(rules, scope)
        tests = self._plain_tests(parts)
        numbers, offsets, _ = elements = parts.elements
        plain = parts.bare & (np.diff(offsets) > 0) & ~elements.have(tests < 0)
        begins, places = places_of(offsets, np.flatnonzero(plain))
        patterns = np.zeros(len(rules), np.int32)
        written: dict[object, tuple[int, PatternError | None]] = {}
        problems: list[Problem] = []
        for place in np.flatnonzero(~plain).tolist():
            rule = rules[place]
            key = (rule.antecedent, rule.left, rule.right)
            if key not in written:
                written[key] = self._write(rule, scope)
            patterns[place], problem = written[key]
            if problem is not None:
                problems.append((before + place, problem))
            if is_unit(rule):
                self.units.append(before + place)
        self.parts.append(parts)
        self.plain.append(plain)
        self.numbers.append(patterns)
        self.tests.append(tests[numbers[places]])
        self.lengths.append(np.diff(begins))
        return problems

    def _write(self, rule: Rule, scope: RuleScope) -> tuple[int, PatternError | None]:
        """Write out a rule's variants; the number of its written pattern, and a problem or None."""
        problem = None
        variants: list[Variant] = []
        try:
            if not is_unit(rule):
                variants = expand(rule, scope, self.predicates, self.split)
        except PatternError as error:
            problem = error
        self.written.append(variants)
        return len(self.written) - 1, problem

    def _plain_tests(self, parts: RuleParts) -> Int32Array:
        """The predicate of each element, `_COMPLEX` where it is not a plain literal or tag."""
        numbers, offsets, distinct = parts.elements
        [scope] = parts.scopes
        # `expand` writes out the elements of rules with contexts, and may test them otherwise.
        plain = np.zeros(len(distinct), np.bool_)
        plain[numbers[np.repeat(parts.bare, np.diff(offsets))]] = True
        values: dict[object, int] = {}
        tests = [
            self._plain_test(element, scope, values) if is_plain else _COMPLEX
            for element, is_plain in zip(distinct, plain.tolist(), strict=True)
        ]
        return np.array(tests, np.int32)

    def _plain_test(self, element: Element, scope: RuleScope, values: dict[object, int]) -> int:
        body = element.body
        if element.name is not None or (element.minimum, element.maximum) != (1, 1):
            return _COMPLEX
        key: object
        if isinstance(body, Literal):
            key = (body.text, body.quoted, body.ignore_case)
        elif isinstance(body, Tag):
            key = body.name
        else:
            return _COMPLEX
        test = values.get(key)
        if test is None:
            if isinstance(body, Tag):
                test = self.predicates.of_tag(body.name, scope.options.tagset)
            else:
                forms = spellings(body, scope.options, self.split)
                one = len(forms) == 1 == len(forms[0])
                test = self.predicates.of_word(body.text, body, scope) if one else _COMPLEX
            values[key] = test
        return test


def build_program(
    rulesets: Sequence[tuple[Sequence[Rule], RuleScope]], split: Split
) -> tuple[Program, list[Problem]]:
    """Compile rules under their scopes; the problems name rules by their positions.

    A program with problems must not be used.
    """
    patterns = _PatternTable(split)
    problems: list[Problem] = []
    for rules, scope in rulesets:
        problems.extend(patterns.add(rules, scope))
    all_rules = list(chain.from_iterable(rules for rules, _ in rulesets))
    return _assemble(patterns, all_rules), problems


def _assemble(patterns: _PatternTable, all_rules: Sequence[Rule]) -> Program:
    """The program of some patterns: the plain ones come first, then those written out."""
    lengths = np.concatenate(patterns.lengths)
    plain_rules = len(lengths)
    variants = list(chain.from_iterable(patterns.written))
    written = [variant.tests for variant in variants]
    lengths = np.append(lengths, np.array(list(map(len, written)), np.int64))
    tests = np.concatenate([*patterns.tests, np.fromiter(chain.from_iterable(written), np.int32)])
    offsets = offsets_of(lengths, np.int64)
    symbols, flat = _symbols_of(tests, len(patterns.predicates))
    trie = _Trie(*arrays.build_trie(flat, offsets, _table_size(len(flat))))
    # Plain rules with the same tests end at the same node.
    first, plain_patterns = _numbered(trie.final[:plain_rules])
    plain_count = len(first)
    chosen = np.concatenate([first, np.arange(plain_rules, len(offsets) - 1)])
    begins, places = places_of(offsets, chosen)
    sequences = VariantTests(tests[places], begins)
    trie = trie._replace(final=trie.final[chosen])
    plain = np.concatenate(patterns.plain)
    pattern_of = np.concatenate(patterns.numbers) + np.int32(plain_count)
    pattern_of[plain] = plain_patterns
    table = np.zeros((len(sequences), 5), np.int32)
    table[:plain_count, arrays.PATTERN] = np.arange(plain_count)
    table[:plain_count, arrays.FOCUS] = sequences.lengths[:plain_count]
    table[plain_count:] = np.array(
        [
            (number, order, variant.left, variant.focus, variant.anchors)
            for number, of_pattern in enumerate(patterns.written, start=plain_count)
            for order, variant in enumerate(of_pattern)
        ],
        np.int32,
    ).reshape(-1, 5)
    pattern_count = plain_count + len(patterns.written)
    variant_counts = np.ones(pattern_count, np.int64)
    variant_counts[plain_count:] = list(map(len, patterns.written))
    first_variant = np.cumsum(variant_counts) - variant_counts
    symbol_count = int(symbols.max(initial=-1)) + 1
    rule_offsets = starts_of(pattern_of, pattern_count)
    rules_of = np.argsort(pattern_of, kind="stable").astype(np.int32)
    single = np.full((pattern_count, 2), -1, np.int32)
    alone = np.flatnonzero((np.diff(rule_offsets) == 1) & (variant_counts == 1))
    single[alone, 0] = rules_of[rule_offsets[alone]]
    single[alone, 1] = table[first_variant[alone], arrays.FOCUS]
    rules = Rules(
        **_edges(trie, plain_count, symbol_count),
        patterns=RulePatterns(
            variants=table,
            first_variant=first_variant.astype(np.int32),
            rule_offsets=rule_offsets,
            rules_of=rules_of,
            pattern_of=pattern_of,
            single=single,
        ),
        deepest=int(sequences.lengths.max(initial=0)),
    )
    planes = None
    if len(sequences) <= _MOST_BITS:
        planes = bit_planes(flat[places], begins, table, symbol_count)
    units = np.array(patterns.units, np.int32)
    rated = np.array([rule.metadata.rate is not None for rule in all_rules], np.bool_)
    rated = rated if rated.any() else rated[:0]
    classes = TokenClasses(patterns.predicates, symbols, rules)
    return Program(
        patterns.predicates,
        symbols,
        sequences,
        rules,
        classes,
        patterns.written,
        planes,
        units,
        rated,
        RuleParts.joined(patterns.parts),
    )


def _numbered(values: Int32Array) -> tuple[NDArray[np.int64], Int32Array]:
    """Where each distinct value first occurs, and which of the distinct values each value is.

    Example:
        >>> first, numbers = _numbered(np.array([7, 2, 7, 3]))
        >>> first.tolist(), numbers.tolist()
        ([0, 1, 3], [0, 1, 0, 2])
    """
    first_of = np.zeros(int(values.max(initial=-1)) + 1, np.int64)
    places = np.arange(len(values))
    first_of[values[::-1]] = places[::-1]  # the last write wins: the first place
    first = first_of[values]
    is_first = first == places
    numbers: Int32Array = (np.cumsum(is_first) - 1)[first].astype(np.int32)
    return np.flatnonzero(is_first), numbers


def _symbols_of(flat: Int32Array, predicates: int) -> tuple[Int32Array, Int32Array]:
    """The symbol of each predicate, -1 where no path tests it; and the tests as symbols."""
    # Predicates that no path tests itself, such as the members of a set, have no symbol.
    used = np.zeros(predicates, np.bool_)
    used[flat] = True
    expect(len(flat))
    symbols = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
    return symbols, symbols[flat]


class _Trie(NamedTuple):
    """Edge e leads from parents[e] to node e + 1; variant v ends at final[v]."""

    parents: Int32Array
    labels: Int32Array
    final: Int32Array


def _edges(trie: _Trie, plain: int, symbols: int) -> dict[str, Any]:
    """The edges, and what ends at each node, as fields of `Rules`.

    The first ``plain`` variants are those of the plain patterns, and have the same numbers.
    """
    parents, labels, final = trie
    endings = np.bincount(final, minlength=len(parents) + 1)
    inner = np.zeros(len(endings), np.bool_)
    inner[parents] = True
    # Where one plain pattern ends and no path goes on, the edge holds it and needs no node.
    variants = np.arange(len(final), dtype=np.int32)
    last = (variants < plain) & (endings[final] == 1) & ~inner[final]
    is_node = np.ones(len(endings), np.bool_)
    is_node[final[last]] = False
    children = (np.cumsum(is_node) - 1).astype(np.int32)
    parents, final_nodes = children[parents], children[final[~last]]
    nodes = int(is_node.sum())
    children[final[last]] = ~variants[last]
    codes = np.where(variants < plain, variants, ~variants)[~last]
    masks = np.zeros(nodes, np.uint64)
    np.bitwise_or.at(masks, parents, np.uint64(1) << (labels & 63).astype(np.uint64))
    root = np.full(symbols, arrays.NO_CHILD, np.int32)
    under_root = np.flatnonzero(parents == 0)
    root[labels[under_root]] = children[under_root + 1]
    by_node = np.argsort(parents, kind="stable")
    return {
        "masks": masks,
        "root": root,
        "edges": arrays.build_table(parents, labels, children[1:], _table_size(len(parents))),
        "edge_offsets": starts_of(parents, nodes),
        "edge_symbols": labels[by_node],
        "edge_children": children[1:][by_node],
        "accept_offsets": starts_of(final_nodes, nodes),
        "accepts": codes[np.argsort(final_nodes, kind="stable")],
    }


def _table_size(entries: int) -> int:
    """A power of two, more than twice as many as the entries."""
    return int(1 << max(4, (2 * entries).bit_length()))
