"""One text at a time gives the same as many at once, with all shipped rules."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

import sears_dsl
from sears_dsl.catalogue import shipped_rulesets
from sears_dsl.engine.matcher import Matcher, compile_rules
from sears_dsl.language.loader import load, parse

SAMPLE = Path(sears_dsl.__file__).parent / "discovery" / "filtering" / "english_text.txt.gz"


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    names = [name for name in shipped_rulesets() if not name.startswith(("noise/", "paper/"))]
    return compile_rules([load(shipped_rulesets()[name]) for name in names])


@pytest.mark.parametrize("scope", ["first", "all"])
def test_one_by_one_is_as_all_at_once(matcher: Matcher, scope: str) -> None:
    texts = gzip.decompress(SAMPLE.read_bytes()).decode().splitlines()[:1600:16]
    texts += [
        "",
        "  A  movie ,\tit is ",
        "I DON'T like IT.",
        "He said x:) ) it’s it's",
        "It's. " * 200,
    ]
    unrenderable: Counter[int] = Counter()
    single = []
    for row, text in enumerate(texts):
        done = matcher.apply([text], scope=scope)  # type: ignore[arg-type]
        single += [rewrite._replace(row=row) for rewrite in done]
        unrenderable.update(done.unrenderable)
    many = matcher.apply(texts, scope=scope)  # type: ignore[arg-type]
    assert single == list(many)
    assert unrenderable == many.unrenderable
    assert len(single) > len(texts) / 2


RULES = """
movie -> film
a movie -> $1 good film
φιλος -> friend
<s> plot </s> -> story
<> -> so / a? __ plot
story -> seldom
"""
DRAWN = """
good -> $1.typo
NOUN -> film
"""
TEXTS = ["A good movie", "a movie", "nothing", "A movie, a MOVIE and the good plot", "ΦΙΛΟΣ"]
TEXTS += ["plot", "plot twist", "a plot plot", "the story", "the story's end", "the story’s end"]


@pytest.mark.parametrize("rules", [RULES, DRAWN, f"{RULES}\n{DRAWN}", "_ -> x\n  rate: 50%"])
@pytest.mark.parametrize("scope", ["first", "all"])
def test_rules_that_draw_and_rules_of_words_are_as_in_a_batch(rules: str, scope: str) -> None:
    many = compile_rules([parse(rules)]).apply(TEXTS * 3, scope=scope)  # type: ignore[arg-type]
    few = compile_rules([parse(rules)])
    single = [
        rewrite._replace(row=row)
        for row, text in enumerate(TEXTS * 3)
        for rewrite in few.apply([text], scope=scope)  # type: ignore[arg-type]
    ]
    assert single == list(many)
    assert single


def test_types_that_find_no_room_are_described_by_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = compile_rules([parse("good NOUN -> fine $2")])
    monkeypatch.setattr(matcher.program.classes, "_most_types", 3)
    texts = ["A good movie.", "A good film.", "A good movie."]
    assert [matcher.apply([text])[0].text for text in texts] == [
        "A fine movie.", "A fine film.", "A fine movie.",
    ]  # fmt: skip
