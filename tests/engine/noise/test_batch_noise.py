"""Kernels write the same noise as the plain functions, on any text."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from naive_noise import how_many, number, rewrite

from benchmarks.noise_speed import noise_called
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.matches import Edit
from sears_dsl.engine.noise.draws import Draw
from sears_dsl.engine.noise.sources import Sources
from sears_dsl.engine.rewrite.drawing_rules import drawn_rewrites, noisy_columns
from sears_dsl.engine.rewrite.pieces import Drawing, in_place
from sears_dsl.engine.rewrite.renderer import CHOSEN, DRAWN, FIXED
from sears_dsl.language.loader import parse
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.tagging.tokens import Tokens

TAGGER = PinnedTagger({})
FUNCTIONS = (
    "homoglyph", "homoglyph(2)", "homoglyph(30%)", "homoglyph(100%)", "homoglyph(0.5%)", "swap",
    "swap(3)", "drop", "drop(9)", "double", "double(2)", "key", "key(2)", "typo", "typo(2)",
    "typo(9)", "typo(30%)", "typo(100%)", "swap(40%)", "drop(100%)", "double(25%)", "key(0.5%)",
)  # fmt: skip
WORDS = (
    "wonderful", "film", "a", "I", "aa", "Aa", "naïve", "ß", "İstanbul", "K", "42", ".", "!",
    "don't", "😀", "e\u0301", "ǆ", "xk", "PPO", "ﬁ", "II", "ee", "–",
)  # fmt: skip
texts = st.lists(
    st.tuples(st.sampled_from(WORDS), st.sampled_from((" ", "  ", "", "\r\n"))), max_size=9
).map(lambda parts: "".join(word + space for word, space in parts))
LAW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _by_unit(
    ruleset: Ruleset, tokens: Tokens, drawing: Drawing
) -> tuple[dict[int, list[Edit]], int]:
    """The edits of each row that has some, by the naive code, and how many more are counted."""
    edits_of, counted = {}, 0
    for row, text in enumerate(tokens.texts):
        edits, missing = rewrite(
            ruleset.rules[0], ruleset, text, tokens.row(row), split=TAGGER.split, extent="all",
            drawing=drawing,
        )  # fmt: skip
        counted += sum(each.is_counted for each in missing)
        if edits:
            edits_of[row] = edits
    return edits_of, counted


@LAW
@given(
    st.sampled_from(FUNCTIONS),
    st.sampled_from((None, 1, 70, 250_000, 500_000, 1_000_000)),
    st.lists(texts, max_size=4),
    st.integers(0, 2**64),
    st.integers(0, 3),
)
@example("key", None, ["Z A a z"], 0, 0)
def test_a_batch_is_what_its_units_are(
    function: str, rate: int | None, rows: Sequence[str], seed: int, number: int
) -> None:
    share = "" if rate is None else f"\n  rate: {rate / 10_000:.4f}%"
    ruleset = parse(f"_ -> $1.{function}{share}")
    matcher = compile_rules([ruleset], tagger=TAGGER)
    tokens = TAGGER.tokenize(rows)
    draw = Draw(seed, number)
    noise = in_place(ruleset.rules[0])
    assert noise is not None
    counted: Counter[int] = Counter()
    found = matcher.find(tokens, scope="all")
    columns = noisy_columns(0, noise, rate, tokens, found, draw=draw, unrenderable=counted)
    edits = {each.row: list(each.edits) for each in columns}
    assert (edits, counted[0]) == _by_unit(ruleset, tokens, Drawing(draw))


class Near:
    """Neighbours for two words, and for a word as a slip leaves it."""

    identity = "near"

    def nearest(self, words: Sequence[str]) -> list[str | None]:
        """The neighbours."""
        known = {"film": "flim", "wonderful": "naïve", "a": "I"}
        return [known.get(word) for word in words]


SOURCES = Sources(vectors=Near())
LINES = (
    "_ -> $1.typo.homoglyph", "_ -> $1.neighbor.typo(10%)", "_ -> $1.neighbor.swap", "@S -> @S",
    "@S -> @S $1.typo", "@S x:_ -> $x.typo(50%) $1.homoglyph(40%)", "_ -> $1.swap(30%).swap(30%)",
    "<> -> @S / _ __", "_ -> $1.key(2).cap", "<unit> -> $0.typo.homoglyph(20%)",
    "_ -> $1.double $1.drop",
)  # fmt: skip


@LAW
@given(
    st.sampled_from(LINES),
    st.sampled_from((None, 250_000, 1_000_000)),
    st.lists(texts, max_size=4),
    st.integers(0, 2**64),
)
def test_whatever_a_rule_draws_a_batch_is_what_its_units_are(
    line: str, rate: int | None, rows: Sequence[str], seed: int
) -> None:
    share = "" if rate is None else f"\n  rate: {rate / 10_000:.4f}%"
    ruleset = parse(f"set S = film | wonderful | a | Aa\n{line}{share}")
    matcher = compile_rules([ruleset], tagger=TAGGER, sources=SOURCES)
    tokens, drawing = TAGGER.tokenize(rows), Drawing(Draw(seed, 0), SOURCES)
    counted: Counter[int] = Counter()
    matches = matcher.find(tokens, scope="all")
    done = drawn_rewrites(
        matcher.compiled, 0, tokens, matches, drawing=drawing, unrenderable=counted
    )
    edits = {each.row: list(each.edits) for each in done}
    assert (edits, counted[0]) == _by_unit(ruleset, tokens, drawing)


@pytest.mark.parametrize(
    ("line", "way"),
    [
        ("movie -> film", FIXED), ("DT NN -> $2.upper", FIXED), ("_ -> $1.neighbor", CHOSEN),
        ("movie -> film\n  rate: 25%", CHOSEN), ("_ -> $1.upper\n  rate: 25%", CHOSEN),
        ("_ -> $1.neighbor\n  rate: 25%", DRAWN), ("_ -> $1.typo", DRAWN), ("_ -> @S", DRAWN),
        ("_ -> $1.typo $1\n  rate: 25%", DRAWN), ("<unit> -> $0 again", DRAWN),
        ("<unit> -> again", DRAWN), ("<unit> -> again\n  rate: 25%", DRAWN),
    ],
)  # fmt: skip
def test_the_way_of_a_rule_follows_from_what_it_draws(line: str, way: int) -> None:
    matcher = compile_rules([parse(f"set S = film | a\n{line}")], tagger=TAGGER, sources=SOURCES)
    assert matcher.compiled.ways.tolist() == [way]
    assert (0 in matcher.compiled.drawing_rules) == (way != FIXED)


@pytest.mark.parametrize("size", [0, 1, 2, 5, 1000])
def test_rates_take_as_many_as_the_definition_says_and_more_take_those_too(size: int) -> None:
    text = " ".join(f"w{n}x" for n in range(size))
    tokens = TAGGER.tokenize([text])
    before: set[int] = set()
    for rate in ("0.0001%", "1%", "10%", "25%", "50%", "99.9999%", "100%"):
        ruleset = parse(f"_ -> $1.upper\n  rate: {rate}")
        edits, _ = rewrite(ruleset.rules[0], ruleset, text, tokens.row(0), split=TAGGER.split)
        done = compile_rules([ruleset], tagger=TAGGER).apply([text])
        assert [list(each.edits) for each in done] == ([edits] if edits else [])
        millionths = round(float(rate[:-1]) * 10_000)
        share = number(0, 0, "rate share", text)
        assert len(edits) == how_many(millionths, size, share)
        taken = {edit.start for edit in edits}
        assert before <= taken
        before = taken


def test_rules_without_draws_run_no_code_of_noise() -> None:
    texts = ["It is a good movie .", "", "Good good people ."]
    plain = compile_rules([parse("movie -> film\n(is|was) -> $1\ngood -> <>")], tagger=TAGGER)
    assert noise_called(plain, texts) == set()
    rated = compile_rules([parse("movie -> film\n  rate: 100%")], tagger=TAGGER)
    assert noise_called(rated, texts) != set()


def test_compiled_or_plain_noise_is_the_same() -> None:
    code = """
from sears_dsl import parse
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.noise.sources import Sources
class Near:
    identity = "near"
    def nearest(self, words):
        known = {"film": "movie", "people": "folk", "good": "goods", "it": "that"}
        return [known.get(word) for word in words]
rules = compile_rules([parse('''_ -> $1.homoglyph(25%)
  rate: 100%
/[a-z]+/i -> $1.typo(2)
  rate: 40%
/[A-Zb-z]+/ -> $1.typo(30%)
  rate: 60%
_ -> $1.swap(20%)
/[a-z]+/ -> $1.upper
  rate: 40%
(a|the) x:_ -> $x.swap $1
<unit> -> "I think" $0.uncap
  rate: 40%
/[a-z]+/i -> $1.neighbor
  rate: 60%
(a|the|wonderful) x:_ -> $x.neighbor.cap $1
/[a-z]+/i -> $1.typo.homoglyph
  rate: 60%
<> -> indeed / _ __
  rate: 70%
''')], sources=Sources(vectors=Near()))
texts = ["The wonderful film of (naïve) people, isn't it?", "", "It is a good movie ."] * 3
done = rules.apply(texts, seed=5, scope="all", protected=[[(4, 9)], [], [(3, 5)]] * 3)
print([(each.row, each.rule, ascii(each.text)) for each in done], sorted(done.unrenderable.items()))
"""
    done = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "SEARS_COMPILE": choice},
            capture_output=True,
            text=True,
            check=False,
        )
        for choice in ("always", "never")
    ]
    assert [each.returncode for each in done] == [0, 0], done[0].stderr[-2000:]
    assert done[0].stdout == done[1].stdout
    assert "wonderful" in done[0].stdout
