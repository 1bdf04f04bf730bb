"""Look-alikes and slips: the test vectors of the definition, and general laws."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.noise import characters
from sears_dsl.engine.noise.characters import (
    PlacedText,
    change_places,
    change_share,
    has_place,
    keys_beside,
    lookalikes,
    lookalikes_identity,
)
from sears_dsl.engine.noise.draws import Draw, number
from sears_dsl.language.loader import parse
from sears_dsl.language.rule import Noise
from sears_dsl.tagging.pinned import PinnedTagger

FILM = "A wonderful film ."
MOVIE = "It is a good movie ."
WORDS = [(0, "It"), (3, "is"), (6, "a"), (8, "good"), (13, "movie"), (19, ".")]


def changed_film(kind: str, *, seed: int, places: int = 1) -> str | None:
    return change_places(Noise(kind, places), PlacedText(2, "wonderful"), FILM, Draw(seed))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("swap", "wonderufl wondefrul wonderufl wonderflu"),
        ("drop", "wonerful wnderful wonderul onderful"),
        ("double", "wonderfull wwonderful wonderrful wwonderful"),
        ("key", "wondwrful sonderful wonderfjl wondetful"),
        ("typo", "wonderufl sonderful wonderufl wondetful"),
    ],
)
def test_slips_are_those_of_the_definition(kind: str, words: str) -> None:
    assert [changed_film(kind, seed=seed) for seed in range(4)] == words.split()


@pytest.mark.parametrize("kind", ["swap", "typo"])
def test_two_slips_of_one_word(kind: str) -> None:
    assert changed_film(kind, seed=0, places=2) == "wnoderufl"


@pytest.mark.parametrize(
    ("kind", "of_a", "of_i"),
    [("swap", None, None), ("drop", None, None), ("double", "aa", "II"), ("key", "w", "U")],
)
def test_one_letter(kind: str, of_a: str | None, of_i: str | None) -> None:
    assert change_places(Noise(kind), PlacedText(0, "a"), "a", Draw()) == of_a
    assert change_places(Noise(kind), PlacedText(0, "I"), "I", Draw()) == of_i


@pytest.mark.parametrize(
    ("seed", "places"),
    [
        (0, {0: "\u0399", 6: "\u0430", 9: "\u03bf"}),
        (1, {3: "\u0456", 4: "\u0455", 9: "\u03bf", 17: "\u0435"}),
        (2, {0: "\u0399", 11: "\u0501", 14: "\u03bf"}),
    ],
)
def test_a_share_of_look_alikes(seed: int, places: dict[int, str]) -> None:
    given_ = [PlacedText(place, text) for place, text in WORDS]
    new = change_share(Noise("homoglyph"), 250_000, given_, MOVIE, Draw(seed))
    found = {
        place + i: letter
        for place, text in new.items()
        for i, letter in enumerate(text)
        if letter != MOVIE[place + i]
    }
    assert found == places


def test_a_look_alike_where_two_are_asked_for_and_one_can_be() -> None:
    assert change_places(Noise("homoglyph", 2), PlacedText(12, "film"), FILM, Draw()) == "f\u0456lm"


def test_no_character_is_its_own_look_alike_and_ascii_ones_come_back() -> None:
    table = lookalikes()
    assert all(one != other for one, other in table.items())
    ascii_ones = [one for one in table if one.isascii()]
    assert len(ascii_ones) == 30
    assert all(table[table[one]] == one for one in ascii_ones)


def test_the_table_is_named_by_its_version_and_the_hash_of_its_file() -> None:
    digest = sha256(Path(characters.__file__).with_name("lookalikes.tsv").read_bytes()).hexdigest()
    assert lookalikes_identity() == f"unicode-17.0.0 {digest[:16]}"


def test_manifests_name_the_seed_where_rules_draw() -> None:
    matchers = [compile_rules([parse(rule)], seed=7) for rule in ("_ -> $1.typo", "_ -> a")]
    named = {"seed": "7", "lookalikes": lookalikes_identity()}
    assert [matcher.noise_identity for matcher in matchers] == [named, {}]


def test_keys_touch_each_other() -> None:
    letters = "qwertyuiopasdfghjklzxcvbnm"
    for letter in letters:
        assert letter not in keys_beside(letter)
        assert all(letter in keys_beside(other) for other in keys_beside(letter))


KINDS = st.sampled_from(("homoglyph", "swap", "drop", "double", "key", "typo"))
TEXTS = st.text(st.sampled_from("aAeEoxk é'ßİ字😀\u0301-9"), min_size=1, max_size=8)


@given(KINDS, TEXTS, st.integers(1, 5), st.integers(0, 3))
def test_what_changes_has_a_place_and_what_has_none_does_not(
    kind: str, text: str, places: int, seed: int
) -> None:
    noise = Noise(kind, places)
    new = change_places(noise, PlacedText(0, text), text, Draw(seed))
    assert (new is not None) == has_place(noise, text)
    if kind != "typo" or places == 1:
        assert new != text, "a letter less and one twice may give the word again, as in `oo`"
    if kind == "drop" and new is not None:
        assert any(map(str.isalpha, new))


@given(KINDS, st.lists(TEXTS, max_size=6), st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_larger_share_changes_what_a_smaller_one_does(
    kind: str, texts: list[str], one: int, other: int
) -> None:
    unit = " ".join(texts)
    places = [sum(len(text) + 1 for text in texts[:n]) for n in range(len(texts))]
    given_ = [PlacedText(place, text) for place, text in zip(places, texts, strict=True)]
    few, many = (
        change_share(Noise(kind), share, given_, unit, Draw()) for share in sorted((one, other))
    )
    for place, text in given_:
        if few[place] != text:
            assert many[place] != text


RECEIVER = "The receiver caught a pass, and nobody saw it."
RULES = (
    "_ -> $1.homoglyph(25%)\n  rate: 100%",
    "/[A-Za-z]+/ -> $1.typo\n  rate: 30%",
    "set NAME = Uma | Bruce | Sandra\n@NAME -> @NAME",
)


@pytest.mark.parametrize(
    ("seed", "draw", "bits", "written"),
    [
        (4, 0, 0xB7C7B896E036A8F1, (
            "\u03a4h\u0435 rec\u0435iv\u0435r \u0441aug\u04bbt a pass, \u0430nd nobo\u0501y "
            "\u0455\u0430w it.",
            "The receiver caught q apss, and nobdy saw it.", "Sandra was good .")),
        (2**63 - 1, 0, 0x14304B1933A80D2F, (
            "T\u04bbe r\u0435ce\u0456ver \u0441\u0430ught a p\u0430ss, \u0430nd nob\u03bfdy "
            "s\u0430w it.",
            "The receeiver caught a pass, and nobody ssaw it.", "Uma was good .")),
        (123456789, 2, 0xD9747E9D9E77CFCE, (
            "T\u04bbe re\u0441e\u0456ver \u0441aug\u04bbt a pas\u0455, an\u0501 nobo\u0501\u0443 "
            "s\u0430w it.",
            "Thee receiver caught a passs, and nobody saw it.", "Sandra was good .")),
    ],
)  # fmt: skip
def test_other_seeds_and_draws_give_what_the_definition_gives_elsewhere(
    seed: int, draw: int, bits: int, written: tuple[str, ...]
) -> None:
    """The expected values come from other code, written from the definition of the draws."""
    assert number(Draw(seed, draw), "rate", RECEIVER, 4) == bits
    texts = (RECEIVER, RECEIVER, "Bruce was good .")
    for rules, text, wanted in zip(RULES, texts, written, strict=True):
        matcher = compile_rules([parse(rules)], tagger=PinnedTagger())
        [done] = matcher.apply([text], seed=seed, draw=draw)
        assert done.text == wanted
