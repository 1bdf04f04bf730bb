"""Rules that adversaries propose: their form, that they reproduce, that they are frequent."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.discovery.candidates import Candidates
from sears_dsl.discovery.proposing.changes import Rewording, minimal_change
from sears_dsl.discovery.proposing.proposal import propose
from sears_dsl.effects.applications import MINED
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.reference import find
from sears_dsl.language.loader import parse
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.tagging.tokens import Token

TAGS = {
    "what": ("PRON", "WP"),
    "who": ("PRON", "WP"),
    "it": ("PRON", "PRP"),
    "is": ("AUX", "VBZ"),
    "'s": ("AUX", "VBZ"),
    "was": ("AUX", "VBD"),
    "not": ("PART", "RB"),
    "n't": ("PART", "RB"),
    "a": ("DET", "DT"),
    "the": ("DET", "DT"),
    "very": ("ADV", "RB"),
    "good": ("ADJ", "JJ"),
    "bad": ("ADJ", "JJ"),
    "movie": ("NOUN", "NN"),
    "film": ("NOUN", "NN"),
    "color": ("NOUN", "NN"),
    "and": ("CCONJ", "CC"),
    "?": ("PUNCT", "."),
    "!": ("PUNCT", "."),
    ",": ("PUNCT", ","),
    "-": ("PUNCT", "HYPH"),
}
TAGGER = PinnedTagger(TAGS)


def proposed(
    pairs: Sequence[tuple[str, str]],
    *more: str,
    context: int = 1,
    minimum_frequency: float = 0.0,
) -> Candidates:
    rows = list(dict.fromkeys([*(original for original, _ in pairs), *more]))
    return propose(
        [Rewording(*pair) for pair in pairs],
        TAGGER.tag(rows),
        tagger=TAGGER,
        context=context,
        minimum_frequency=minimum_frequency,
    )


# ---------------------------------------------------------------- what is proposed


def test_every_generalization_of_the_change_and_its_neighbours() -> None:
    found = proposed([("what color is it ?", "which color is it ?")])
    assert set(found.texts) == {
        "what -> which",
        "PRON -> which",
        "WP -> which",
        *(
            f"{first} {second} -> which {'color' if second == 'color' else second}"
            for first in ("what", "PRON", "WP")
            for second in ("color", "NOUN", "NN")
        ),
    }
    assert list(found.texts) == sorted(found.texts)


def test_context_on_both_sides() -> None:
    found = proposed([("a movie is good", "a film is good")])
    assert {"movie -> film", "DET movie -> DET film", "movie AUX -> film AUX"} <= set(found.texts)
    assert "DT NOUN is -> DT film is" in found.texts
    assert len(found) == 3 + 9 + 9 + 27


def test_a_deletion_and_an_insertion() -> None:
    deleted = proposed([("it is very good", "it is good")])
    assert {"very -> <>", "very ADJ -> ADJ", "is ADV good -> is good"} <= set(deleted.texts)
    inserted = proposed([("it is good", "it is very good")])
    assert {"ADJ -> very ADJ", "is -> is very", "AUX good -> AUX very good"} <= set(inserted.texts)
    assert not any(text.startswith("<>") for text in inserted.texts)


@pytest.mark.parametrize(
    ("original", "text", "rule"),
    [
        ("it is good", "it's good", "is -> ~'s"),
        ("it is good", "it's good", "PRON is -> PRON 's"),
        ("it's good", "it is good", "'s -> is"),
        ("it is not good", "it isn't good", "AUX not -> AUX n't"),
        ("it isn't good", "it is not good", "n't -> not"),
        ("good movie?", "good movie??", "? -> ??"),
        ("good , bad", "good, bad !", None),
        ("a movie, good", "a film, good", "NOUN , -> film ,"),
        ("a good and bad movie", "a bad and good movie", "ADJ CC ADJ -> $3 CC ADJ"),
        ("is it good", "it is good", "AUX PRON -> PRON AUX"),
        ("good movie?", "good film??", 'movie ? -> film"??"'),
        ("good, bad", "good,, bad", ", -> ,,"),
        ("a good movie", "a good,movie", 'ADJ NOUN -> ADJ","NOUN'),
        ("very good movie", "very,movie", 'very good NN -> "very,"NN'),
        ("a movie", "a NOUN", 'movie -> "NOUN"'),
        ("NOUN is good", "it is good", '"NOUN" -> it'),
        ("set is good", "it is good", '"set" -> it'),
    ],
)
def test_how_a_change_is_written(original: str, text: str, rule: str | None) -> None:
    found = proposed([(original, text)])
    if rule is None:
        assert not len(found)
    else:
        assert rule in found.texts


def test_a_change_elsewhere_than_at_the_first_instance_is_not_proposed() -> None:
    found = proposed([("a movie and a movie is good", "a movie and a film is good")])
    assert "movie -> film" not in found.texts
    assert "movie is -> film is" in found.texts


def test_runs_of_spaces_do_not_matter_but_spaces_do() -> None:
    assert "movie -> film" in proposed([("a  movie is good ", "a film is good")]).texts
    assert not len(proposed([("a movie ?", "a film?")], context=0))


def test_a_literal_that_the_tokenizer_would_split_is_not_written() -> None:
    class Splitting(PinnedTagger):
        def split(self, words: str) -> tuple[str, ...]:
            return ("mo", "vie") if words == "movie" else super().split(words)

    tagger = Splitting(TAGS)
    corpus = tagger.tag(["a movie"])
    found = propose(
        [Rewording("a movie", "a film")], corpus, tagger=tagger, context=0, minimum_frequency=0
    )
    assert found.texts == ("NN -> film", "NOUN -> film")


def test_the_same_text_says_nothing() -> None:
    assert not len(proposed([("a movie", "a  movie")]))
    assert not len(proposed([]))


def test_rules_are_reported_once_with_all_that_propose_them() -> None:
    found = proposed([("a movie", "a film"), ("the movie", "the film"), ("a color", "a film")])
    sources = dict(zip(found.texts, (each.sources for each in found.rows), strict=True))
    assert sources["movie -> film"] == (0, 1)
    assert sources["NOUN -> film"] == (0, 1, 2)
    assert len(set(found.texts)) == len(found.texts)


def test_long_changes_propose_nothing() -> None:
    assert len(proposed([("a b c d e f", "who was the film")]))
    assert not len(proposed([("a b c d e f g", "who was the film")]))


# ---------------------------------------------------------------- how frequent


def test_only_frequent_antecedents() -> None:
    rows = ("a color", "the movie", "it is bad")
    found = proposed([("a movie", "a film")], *rows, context=0, minimum_frequency=0.75)
    assert found.texts == ("NN -> film", "NOUN -> film")
    assert [each.support for each in found.rows] == [3, 3]


def test_a_share_of_rows_is_not_lost_to_rounding() -> None:
    assert 0.28 * 25 > 7
    rows = [(f"{number} movie", f"{number} film") for number in range(7)]
    more = [f"it is {number}" for number in range(18)]
    assert "movie -> film" in proposed(rows, *more, minimum_frequency=0.28).texts
    assert not len(proposed(rows, *more, minimum_frequency=0.281))


words = st.sampled_from(sorted(TAGS))
sentences = st.lists(words, min_size=1, max_size=7).map(" ".join)


@st.composite
def paraphrases(draw: st.DrawFn) -> tuple[str, str]:
    """A sentence, and the same with a run of words replaced and some spaces dropped."""
    old = draw(st.lists(words, min_size=1, max_size=7))
    start = draw(st.integers(0, len(old)))
    end = draw(st.integers(start, min(len(old), start + 2)))
    new = [*old[:start], *draw(st.lists(words, max_size=2)), *old[end:]]
    drop = draw(st.integers(0, 7))

    def spaced(these: list[str]) -> str:
        return "".join(
            word if place == 0 or (place == drop and word in "'sn't?!,-") else f" {word}"
            for place, word in enumerate(these)
        )

    return spaced(old), spaced(new)


@settings(max_examples=60, deadline=None)
@given(st.lists(paraphrases(), min_size=1, max_size=5), st.sampled_from([0.0, 0.5]))
def test_rules_reproduce_are_frequent_and_read_back(
    pairs: list[tuple[str, str]], minimum_frequency: float
) -> None:
    found = proposed(pairs, minimum_frequency=minimum_frequency)
    if not len(found):
        return
    # The text of each rule is the rule.
    read = parse("option case = exact\n" + "\n".join(found.texts))
    assert read.rules == found.rules
    # The engine makes the adversary of the row.
    matcher = compile_rules([Ruleset.from_rules(found.rules, options=MINED)], tagger=TAGGER)
    rows = list(dict.fromkeys(original for original, _ in pairs))
    done = {(each.rule, each.original): each.text for each in matcher.apply(rows)}
    for rule, sources in enumerate(each.sources for each in found.rows):
        assert sources
        for source in sources:
            original, text = pairs[source]
            assert done[rule, original].split() == text.split()
    # The naive matcher counts the same rows.
    tokens = TAGGER.tag(rows)
    for rule, support in ((each.rule, each.support) for each in found.rows):
        hits = sum(
            any(True for _ in find(rule, read, tokens.row(row), split=TAGGER.split))
            for row in range(len(rows))
        )
        assert hits == support >= minimum_frequency * len(rows)


@settings(max_examples=20, deadline=None)
@given(st.lists(paraphrases(), min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_adversaries_does_not_matter(
    pairs: list[tuple[str, str]], shuffler: random.Random
) -> None:
    shuffled = pairs.copy()
    shuffler.shuffle(shuffled)
    assert proposed(pairs).texts == proposed(shuffled).texts


@settings(deadline=None)
@given(sentences, sentences)
def test_a_minimal_change_makes_one_row_of_the_other(old: str, new: str) -> None:
    def texts(row: Sequence[Token]) -> list[str]:
        return [token.text for token in row]

    tokens = TAGGER.tokenize([old, new])
    first, second = tokens.row(0), tokens.row(1)
    change = minimal_change(first, second)
    if change is None:
        assert texts(first) == texts(second)
        return
    kept = [*texts(first)[: change.start], *change.words, *texts(first)[change.end :]]
    assert kept == texts(second)
    replaced = texts(first)[change.start : change.end]
    if replaced and change.words:
        assert replaced[0] != change.words[0]
        assert replaced[-1] != change.words[-1]
