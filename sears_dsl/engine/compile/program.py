"""Rules as flat arrays: a trie of predicates, and which rules each path stands for.

In: rules with their scopes. Out: a `Program`. Always holds: rules with equal antecedents and
contexts share a *pattern* and are matched once; equal prefixes share a path of the trie. Plain
rules (no context, quantifier, group or name), of which mining makes hundreds of thousands, take
a short way: an element object that was seen before costs one dictionary look-up, and no object
is made for a rule. Costs about a microsecond a rule there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import FOCUS, NO_CHILD, NODE_SHIFT, BitPlanes, Rules, first_slot
from sears_dsl.engine.compile.bit_planes import bit_planes
from sears_dsl.engine.compile.predicates import PatternError, Predicates, spellings
from sears_dsl.engine.compile.token_classes import TokenClasses
from sears_dsl.engine.compile.variants import Split, Variant, expand
from sears_dsl.language.measure import is_unit
from sears_dsl.language.rule import Element, Literal, Rule, RuleScope, Tag
from sears_dsl.runtime.array_types import Int32Array, Int64Array, Integer
from sears_dsl.runtime.kernels import expect, kernel


@kernel
def build_table(
    parents: Int32Array, symbols: Int32Array, children: Int32Array, size: Integer
) -> Any:
    """Open-addressing table of edges; size: a power of two, more than the edges."""
    edges = np.full((size, 2), -1, np.int64)
    for edge in range(parents.shape[0]):
        slot = first_slot(parents[edge], symbols[edge], size)
        while edges[slot, 0] != -1:
            slot = (slot + 1) & (size - 1)
        edges[slot, 0] = (np.int64(parents[edge]) << NODE_SHIFT) | np.int64(symbols[edge])
        edges[slot, 1] = children[edge]
    return edges


@kernel
def build_trie(symbols: Int32Array, offsets: Int64Array, size: Integer) -> Any:
    """Insert sequences of symbols: (parents, edge symbols, node at which each sequence ends).

    Sequence k is symbols[offsets[k]:offsets[k + 1]]; nodes are numbered from the root, 0, in the
    order of their making, and edge e leads to node e + 1. size: a power of two, more than the
    number of symbols.
    """
    edges = np.full((size, 2), -1, np.int64)
    parents = np.empty(symbols.shape[0], np.int32)
    labels = np.empty(symbols.shape[0], np.int32)
    count = offsets.shape[0] - 1
    final = np.empty(count, np.int32)
    nodes = 1
    for sequence in range(count):
        node = np.int64(0)
        for place in range(offsets[sequence], offsets[sequence + 1]):
            symbol = symbols[place]
            edge_key = (node << NODE_SHIFT) | np.int64(symbol)
            slot = first_slot(node, symbol, size)
            while edges[slot, 0] != edge_key and edges[slot, 0] != -1:
                slot = (slot + 1) & (size - 1)
            if edges[slot, 0] == -1:
                edges[slot, 0] = edge_key
                edges[slot, 1] = nodes
                parents[nodes - 1] = node
                labels[nodes - 1] = symbol
                nodes += 1
            node = edges[slot, 1]
        final[sequence] = node
    return parents[: nodes - 1].copy(), labels[: nodes - 1].copy(), final


Problem = tuple[int, PatternError]
"""A rule that cannot be compiled: its position and why."""

# With more variants the bits of all classes would take too much room.
_MOST_BITS = 1 << 17

# An element that has to be written out by `variants`.
_COMPLEX = -1
_UNSEEN = -2


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Compiled rules.

    Attributes:
        predicates: the predicates of the rules.
        symbols: int32 (predicates,): a small number for each that a path tests, else -1.
        sequences: of each variant, the predicates that it tests.
        rules: what the kernels read.
        classes: which token types the rules tell apart, as far as they were seen.
        written: the variants of the last patterns, those that are not plain.
        planes: the same rules as bits; None where there are too many.
        units: int32: the rules about whole units, which no path leads to.
        rated: bool (rules,): of which rules all instances are looked at; empty where of none.
    """

    predicates: Predicates
    symbols: Int32Array
    sequences: Sequence[tuple[int, ...]]
    rules: Rules
    classes: TokenClasses
    written: Sequence[Sequence[Variant]]
    planes: BitPlanes | None
    units: Int32Array
    rated: NDArray[np.bool_]


class _PatternTable:
    """Collects patterns; plain ones are a tuple of predicates, the others a list of variants."""

    def __init__(self, split: Split) -> None:
        self.predicates = Predicates()
        self.split = split
        self.plain: dict[tuple[int, ...], int] = {}
        self.written: list[list[Variant]] = []
        self.units: list[int] = []

    def add(
        self, rules: Sequence[Rule], scope: RuleScope, pattern_numbers: list[int]
    ) -> list[Problem]:
        """Append the pattern of each rule of one ruleset to pattern_numbers.

        A plain pattern is told by its number, another one by -1 - its number.
        """
        test_of: dict[int, int] = {}  # id of an element → its predicate; the rules keep it alive
        known: dict[int, int] = {}  # id of an antecedent → its pattern
        values: dict[object, int] = {}
        written: dict[object, tuple[int, PatternError | None]] = {}
        problems: list[Problem] = []
        plain = self.plain
        for rule in rules:
            antecedent = rule.antecedent
            if not (rule.left or rule.right):
                pattern = known.get(id(antecedent))
                if pattern is not None:
                    pattern_numbers.append(pattern)
                    continue
                tests = tuple([test_of.get(id(element), _UNSEEN) for element in antecedent])
                if not tests or min(tests) < 0:
                    tests = tuple(self._test_all(antecedent, scope, test_of, values))
                if tests and min(tests) >= 0:
                    pattern = plain.setdefault(tests, len(plain))
                    known[id(antecedent)] = pattern
                    pattern_numbers.append(pattern)
                    continue
            key = (antecedent, rule.left, rule.right)
            if key not in written:
                written[key] = self._write(rule, scope)
            number, problem = written[key]
            pattern_numbers.append(number)
            if problem is not None:
                problems.append((len(pattern_numbers) - 1, problem))
            if is_unit(rule):
                self.units.append(len(pattern_numbers) - 1)
        return problems

    def _write(self, rule: Rule, scope: RuleScope) -> tuple[int, PatternError | None]:
        """The pattern of a rule that has to be written out; without variants if it cannot be."""
        problem = None
        variants: list[Variant] = []
        try:
            if not is_unit(rule):
                variants = expand(rule, scope, self.predicates, self.split)
        except PatternError as error:
            problem = error
        self.written.append(variants)
        return -len(self.written), problem

    def _test_all(
        self,
        antecedent: Sequence[Element],
        scope: RuleScope,
        test_of: dict[int, int],
        values: dict[object, int],
    ) -> list[int]:
        """The predicate of each element, `_COMPLEX` where it is no plain literal or tag."""
        tests = []
        for element in antecedent:
            test = test_of.get(id(element))
            if test is None:
                test = self._plain_test(element, scope, values)
                test_of[id(element)] = test
            tests.append(test)
        return tests

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
    """Compile rules under their scopes.

    Returns:
        The program, and what is wrong with rules that could not be compiled (by the position
        of the rule among all of them). A program with problems is not to be used.
    """
    patterns = _PatternTable(split)
    pattern_numbers: list[int] = []
    problems: list[Problem] = []
    for rules, scope in rulesets:
        problems.extend(patterns.add(rules, scope, pattern_numbers))
    every = list(chain.from_iterable(rules for rules, _ in rulesets))
    return _assemble(patterns, pattern_numbers, every), problems


def _assemble(
    patterns: _PatternTable, pattern_numbers: Sequence[int], every: Sequence[Rule]
) -> Program:
    """Patterns as arrays: the plain ones first, then those that were written out."""
    plain_count = len(patterns.plain)
    pattern_of = np.array(pattern_numbers, np.int32)
    pattern_of = np.where(pattern_of < 0, plain_count - 1 - pattern_of, pattern_of)
    sequences: list[tuple[int, ...]] = list(patterns.plain)
    lengths = np.fromiter(map(len, sequences), np.int32, plain_count)
    zeros = np.zeros(plain_count, np.int32)
    plain_rows = np.stack(
        [np.arange(plain_count, dtype=np.int32), zeros, zeros, lengths, zeros], axis=1
    )
    rows: list[tuple[int, int, int, int, int]] = []
    first_variant = list(range(plain_count))
    for number, variants in enumerate(patterns.written, start=plain_count):
        first_variant.append(len(sequences))
        for order, variant in enumerate(variants):
            rows.append((number, order, variant.left, variant.focus, variant.anchors))
            sequences.append(variant.tests)
    table = np.concatenate([plain_rows, np.array(rows, np.int32).reshape(-1, 5)])
    symbols, flat, offsets = _flat(sequences, len(patterns.predicates))
    trie = _Trie(*build_trie(flat, offsets, _table_size(len(flat))))
    count = int(symbols.max(initial=-1)) + 1
    pattern_count = plain_count + len(patterns.written)
    rule_offsets = _offsets(pattern_of, pattern_count)
    rules_of = np.argsort(pattern_of, kind="stable").astype(np.int32)
    variant_counts = np.diff(first_variant, append=len(sequences))
    single = np.full((pattern_count, 2), -1, np.int32)
    alone = np.flatnonzero((np.diff(rule_offsets) == 1) & (variant_counts == 1))
    single[alone, 0] = rules_of[rule_offsets[alone]]
    single[alone, 1] = table[np.array(first_variant, np.int64)[alone], FOCUS]
    rules = Rules(
        **_edges(trie, plain_count, count),
        variants=np.ascontiguousarray(table),
        first_variant=np.array(first_variant, np.int32),
        rule_offsets=rule_offsets,
        rules_of=rules_of,
        pattern_of=pattern_of.astype(np.int32),
        single=single,
        deepest=max(map(len, sequences), default=0),
    )
    planes = None
    if len(sequences) <= _MOST_BITS:
        planes = bit_planes(flat, offsets, rules.variants, count)
    units = np.array(patterns.units, np.int32)
    rated = np.array([rule.metadata.rate is not None for rule in every], np.bool_)
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
    )


class _Trie(NamedTuple):
    """Edge e leads from parents[e] to node e + 1; variant v ends at final[v]."""

    parents: Int32Array
    labels: Int32Array
    final: Int32Array


def _flat(
    sequences: Sequence[tuple[int, ...]], predicates: int
) -> tuple[Int32Array, Int32Array, Int64Array]:
    """The symbol of each predicate that sequences test, and the sequences as symbols."""
    lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
    flat = np.fromiter(chain.from_iterable(sequences), np.int32, int(lengths.sum()))
    offsets = np.zeros(len(sequences) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    # Predicates that no path tests itself, such as the members of a set, have no symbol.
    used = np.zeros(predicates, np.bool_)
    used[flat] = True
    expect(len(flat))
    symbols = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
    return symbols, symbols[flat], offsets


def _edges(trie: _Trie, plain: int, symbols: int) -> dict[str, Any]:
    """The edges, and what ends at each node, as the kernels want them.

    The variants of plain patterns come first, each with its pattern's number.
    """
    parents, labels, final = trie
    endings = np.bincount(final, minlength=len(parents) + 1)
    inner = np.zeros(len(endings), np.bool_)
    inner[parents] = True
    # Where one plain pattern ends and no path goes on, the edge tells it and needs no node.
    variants = np.arange(len(final), dtype=np.int32)
    last = (variants < plain) & (endings[final] == 1) & ~inner[final] & (final > 0)
    is_node = np.ones(len(endings), np.bool_)
    is_node[final[last]] = False
    children = (np.cumsum(is_node) - 1).astype(np.int32)
    parents, final_nodes = children[parents], children[final[~last]]
    nodes = int(is_node.sum())
    children[final[last]] = ~variants[last]
    codes = np.where(variants < plain, variants, ~variants)[~last]
    masks = np.zeros(nodes, np.uint64)
    np.bitwise_or.at(masks, parents, np.uint64(1) << (labels & 63).astype(np.uint64))
    root = np.full(symbols, NO_CHILD, np.int32)
    under_root = np.flatnonzero(parents == 0)
    root[labels[under_root]] = children[under_root + 1]
    by_node = np.argsort(parents, kind="stable")
    accepting = np.bincount(final_nodes, minlength=nodes) > 0
    ends = (root != NO_CHILD) & ((root < 0) | accepting[np.maximum(root, 0)])
    opens = np.zeros((symbols + 63) // 64, np.uint64)
    ending = np.flatnonzero(ends)
    np.bitwise_or.at(opens, ending >> 6, np.uint64(1) << (ending & 63).astype(np.uint64))
    return {
        "masks": masks,
        "root": root,
        "opens": opens,
        "root_edges": int(np.isin(parents, root[root >= 0]).sum()),
        "edges": build_table(parents, labels, children[1:], _table_size(len(parents))),
        "edge_offsets": _offsets(parents, nodes),
        "edge_symbols": labels[by_node],
        "edge_children": children[1:][by_node],
        "accept_offsets": _offsets(final_nodes, nodes),
        "accepts": codes[np.argsort(final_nodes, kind="stable")],
    }


def _offsets(values: NDArray[np.int32], count: int) -> Int32Array:
    """Where the group of each value 0 … count - 1 begins when values are sorted."""
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(values, minlength=count), out=offsets[1:])
    return offsets


def _table_size(entries: int) -> int:
    """A power of two, more than twice as many as the entries."""
    return int(1 << max(4, (2 * entries).bit_length()))
