"""``python -m benchmarks.noise_speed``: how fast noise is written, beside `.upper`.

In: a SQuAD file. Out: for each rule millions of characters a second of processor time, from plain
text to rewritten texts, in one process; each rule is timed three times, in turn, and the best is
told.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from sears_dsl.engine.matcher import Matcher
from sears_dsl.language.loader import parse
from sears_dsl.runtime.kernels import ENOUGH_TO_COMPILE, expect
from sears_dsl.tagging.fast.fast_tagger import FastTagger

RULES = {
    "look-alikes, 25% of all characters": "_ -> $1.homoglyph(25%)\n  rate: 100%",
    "a look-alike in 25% of the tokens": "_ -> $1.homoglyph\n  rate: 25%",
    "a typing error in 25% of the words": "/[A-Za-z]+/ -> $1.typo\n  rate: 25%",
    "25% of the words in upper case": "/[A-Za-z]+/ -> $1.upper\n  rate: 25%",
    "all words in upper case": "/[A-Za-z]+/ -> $1.upper",
    "one word by another": "the -> this",
}
_ROUNDS = 3


def _seconds(matcher: Matcher, texts: list[str]) -> float:
    begun = time.process_time()
    list(map(len, matcher.apply(texts, scope="all").columns.texts()))
    return time.process_time() - begun


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("squad", type=Path, help="a SQuAD file")
    parser.add_argument("--contexts", type=int, default=400)
    given = parser.parse_args()
    articles = json.loads(given.squad.read_text("utf-8"))["data"]
    contexts = [each["context"] for article in articles for each in article["paragraphs"]]
    expect(ENOUGH_TO_COMPILE + 1)
    tagger = FastTagger()
    texts = contexts[40 : 40 + given.contexts]
    matchers = {name: parse(rules).compile(tagger=tagger) for name, rules in RULES.items()}
    for matcher in matchers.values():
        _seconds(matcher, contexts[:40])
    best = dict.fromkeys(matchers, float("inf"))
    for _ in range(_ROUNDS):
        for name, matcher in matchers.items():
            best[name] = min(best[name], _seconds(matcher, texts))
    characters = sum(map(len, texts))
    print(f"{len(texts)} contexts, {characters:,} characters")
    for name, seconds in best.items():
        print(f"{characters / seconds / 1e6:8.2f} million characters a second: {name}")


if __name__ == "__main__":
    _main()
