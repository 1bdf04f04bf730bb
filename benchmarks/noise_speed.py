"""``python -m benchmarks.noise_speed SQUAD``: how fast noise is written, compared with `.upper`.

In: a SQuAD file. The first part gives, for some rules, millions of characters a second of processor
time, from plain text to rewritten texts, in one process: the fastest of three runs over the same
contexts, by rules that share a tagger, so it knows their words. The second part gives for each
rated rule its cost as a multiple of the cost of the same rule with `.upper`: the median over
portions of text, and the least and the most. There every rule has a tagger of its own and sees each
portion for the first time; the mean of `.upper` before and after it counts.

A third part measures what noise costs rules without draws: which functions of noise they call
(none), and their cost as a multiple of that with the code from before rules could draw, in turns.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

from benchmarks.record import Row, write_record
from sears_dsl.catalogue import load
from sears_dsl.engine.matcher import Matcher, compile_rules
from sears_dsl.engine.matches import Matches
from sears_dsl.engine.noise.sources import Sources
from sears_dsl.engine.noise.vectors import load_vectors
from sears_dsl.engine.rewrite.batch_rendering import Rendering, edited_columns
from sears_dsl.engine.rewrite.pieces import UNDRAWN
from sears_dsl.engine.rewrite.renderer import RenderingRun
from sears_dsl.engine.rewrite.rewrites import RewriteColumns
from sears_dsl.language.loader import parse
from sears_dsl.runtime.kernels import ENOUGH_TO_COMPILE, expect
from sears_dsl.tagging.fast.fast_tagger import FastTagger
from sears_dsl.tagging.tokens import Tokens

RULES = {
    "look-alikes, 25% of all characters": "_ -> $1.homoglyph(25%)\n  rate: 100%",
    "a look-alike in 25% of the tokens": "_ -> $1.homoglyph\n  rate: 25%",
    "a typing error in 25% of the words": "/[A-Za-z]+/ -> $1.typo\n  rate: 25%",
    "25% of the words in upper case": "/[A-Za-z]+/ -> $1.upper\n  rate: 25%",
    "all words in upper case": "/[A-Za-z]+/ -> $1.upper",
    "one word by another": "the -> this",
}
_RATE = "\n  rate: 25%"
_FUNCTIONS = (
    "$1.typo", "$1.typo(3)", "$1.typo(10%)", "$1.swap(2)", "$1.key(10%)", "$1.homoglyph",
    "$1.homoglyph(25%)", "$1.neighbor", "$1.typo.homoglyph", "$1.neighbor.typo(10%)",
)  # fmt: skip
SHAPES = {
    "words": ("/[A-Za-z]+/ -> {}", _FUNCTIONS),
    "nouns": ("NOUN -> {}", _FUNCTIONS),
    "the, of or in, with the word behind": (
        "(the|of|in) x:/[A-Za-z]+/ -> $1 {}",
        tuple(each.replace("$1", "$x") for each in _FUNCTIONS),
    ),
    "the, of or in": ("set S = the | of | in\n@S -> {}", ("@S", "$1.typo", "@S $1.typo")),
    "sentences": (
        "option unit = sentence\n<unit> -> {}",
        ("$0.typo(5)", "$0.typo(10%)", "$0.homoglyph(25%)", "$0.typo.homoglyph"),
    ),
}
"""Rules with a place for what they write, and what is written there."""
# Millions of characters a second.
_LEAST, _AIM = 2.0, 10.0
_ROUNDS = 3
_TURNS = 20


def _seconds(matcher: Matcher, texts: list[str]) -> float:
    begun = time.process_time()
    list(map(len, matcher.apply(texts, scope="all").columns.texts()))
    return time.process_time() - begun


def _speeds(contexts: list[str]) -> dict[str, float]:
    """Millions of characters a second, the best of some rounds in turns."""
    tagger = FastTagger()
    matchers = {name: parse(rules).compile(tagger=tagger) for name, rules in RULES.items()}
    for matcher in matchers.values():
        _seconds(matcher, contexts[:40])
    texts = contexts[40:]
    best = dict.fromkeys(matchers, float("inf"))
    for _ in range(_ROUNDS):
        for name, matcher in matchers.items():
            best[name] = min(best[name], _seconds(matcher, texts))
    return {name: sum(map(len, texts)) / each / 1e6 for name, each in best.items()}


def _multiples(rule: str, upper: str, portions: list[list[str]], sources: Sources) -> list[float]:
    """The cost of a rule as a multiple of the cost of another one, on each portion."""
    before, matcher, after = (
        compile_rules([parse(each + _RATE)], tagger=FastTagger(), sources=sources)
        for each in (upper, rule, upper)
    )
    multiples = []
    for number, texts in enumerate(portions):
        first, cost, last = (_seconds(each, texts) for each in (before, matcher, after))
        if number:  # the first portion loads kernels, and makes classes of words
            multiples.append(2 * cost / (first + last))
    return multiples


def noise_called(matcher: Matcher, texts: list[str]) -> set[str]:
    """The functions of noise that applying rules calls."""
    called: set[str] = set()

    def look(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        path = Path(code.co_filename)
        there = path.parent.name == "noise"
        if event == "call" and (there or path.stem == _RENDERING):
            called.add(f"{path.stem}.{code.co_qualname}")

    sys.setprofile(look)
    try:
        matcher.apply(texts, scope="all")
    finally:
        sys.setprofile(None)
    return called


_RENDERING = "drawing_rules"


class _NeverDrawing(Rendering):
    """Rendering as before rules could draw: nothing checks whether a rule does."""

    def rewrites(self, tokens: Tokens, matches: Matches, **options: Any) -> RewriteColumns:
        """Render as for rules that draw nothing."""
        run = RenderingRun(**{"extent": None, "drawing": UNDRAWN} | options)
        forms = self._templates.forms(tokens, matches, run.drawing)
        return edited_columns(self._compiled, tokens, matches, forms, run)


def _undrawn_multiples(texts: list[str]) -> list[float]:
    """The cost of rules without draws, as a multiple of their cost if no rule could draw."""
    ruleset = load("contractions/expand")
    matchers = [ruleset.compile(tagger=FastTagger()) for _ in range(2)]
    matchers[1].rendering = _NeverDrawing(matchers[1].compiled)
    multiples = []
    for turn in range(_TURNS + 1):
        own, other = (_seconds(each, texts) for each in matchers[:: 1 if turn % 2 else -1])
        if turn:  # the first turn loads kernels, and makes words known
            multiples.append(own / other if turn % 2 else other / own)
    return multiples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("squad", type=Path, help="a SQuAD file")
    parser.add_argument("--contexts", type=int, default=400)
    parser.add_argument("--portions", type=int, default=5, help="the first one is not timed")
    parser.add_argument("--vectors", help="a file or package; without it, no nearest words")
    arguments = parser.parse_args()
    articles = json.loads(arguments.squad.read_text("utf-8"))["data"]
    contexts = [each["context"] for article in articles for each in article["paragraphs"]]
    contexts = contexts[: 40 + arguments.contexts]
    expect(ENOUGH_TO_COMPILE + 1)
    texts = contexts[40:]
    rows = [Row("text", {"contexts": len(texts), "characters": sum(map(len, texts))})]
    for number, (name, speed) in enumerate(_speeds(contexts).items()):
        # The target is that of look-alikes in a quarter of the characters, the first rule.
        budget = {} if number else {"at_least": f"{_LEAST:g}", "aim": f"{_AIM:g}"}
        measured = {"million characters a second": round(speed, 2)}
        rows.append(Row(name, measured, **budget, reached=number > 0 or speed >= _LEAST))
    size = arguments.contexts // arguments.portions
    portions = [contexts[at * size : (at + 1) * size] for at in range(arguments.portions)]
    sources = Sources(vectors=load_vectors(arguments.vectors) if arguments.vectors else None)
    for shape, (rule, functions) in SHAPES.items():
        for function in functions:
            if "neighbor" in function and sources.vectors is None:
                continue
            upper = rule.format("$0.upper")
            times = _multiples(rule.format(function), upper, portions, sources)
            figure = {"times `.upper`": _multiple(times)}
            rows.append(Row(f"25% of the instances, {shape}: {function}", figure))
    plain = parse("the -> this\nNOUN is -> $1 was\nvery -> <>").compile(tagger=FastTagger())
    called = sorted(noise_called(plain, contexts))
    figures = {
        "functions of noise that they call": ", ".join(called) or "none",
        "times their cost if nobody looked for draws": _multiple(_undrawn_multiples(texts)),
    }
    rows.append(Row("rules without draws", figures, at_least="none", reached=not called))
    write_record("noise_speed", rows)


def _multiple(times: list[float]) -> str:
    return f"{median(times):.2f} ({min(times):.2f} to {max(times):.2f})"


if __name__ == "__main__":
    main()
