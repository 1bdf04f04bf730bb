"""Names of rules are words, distinct, and what a file can hold, whatever else was discovered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sears_dsl as sears
from sears_dsl.discovery.names import names_of, valid_id, valid_ids
from sears_dsl.discovery.result.manifest import DataIdentity
from sears_dsl.errors import SearsError
from sears_dsl.language.loader import load, parse
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Rule

pytestmark = pytest.mark.usefixtures("few_texts")

WORDS = ("not", "n't", "~n't", "What", "what", "NOUN", "WDT", "film", "to", "<s>", '","', "<>",
         '"café"', "(ADJ|ADV)", "noun", "'s", "/", "__", "...", '"的"', "x" * 50)  # fmt: skip


def rule(text: str) -> Rule | None:
    try:
        return parse(text).rules[0]
    except SearsError:
        return None


RULES = st.lists(
    st.builds(
        lambda left, right: rule(f"{' '.join(left)} -> {' '.join(right)}"),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
    ),
    max_size=12,
).map(lambda rules: list({print_rule(each): each for each in rules if each}.values()))


@settings(deadline=None)
@given(RULES)
def test_names_are_distinct_and_names_of_the_language(rules: list[Rule]) -> None:
    names = names_of(rules)
    assert len(set(names)) == len(names)
    for name, each in zip(names, rules, strict=True):
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", name), name
        written = parse(f"rule {name}: {print_rule(each)}")
        assert written.rule_ids == (name,)


@settings(deadline=None)
@given(RULES, st.integers(0, 2**12 - 1))
def test_a_name_stays_when_others_go_but_for_twins_in_writing(rules: list[Rule], some: int) -> None:
    whole = dict(zip(map(print_rule, rules), names_of(rules), strict=True))
    left = [each for place, each in enumerate(rules) if some >> place & 1]
    for text, name in zip(map(print_rule, left), names_of(left), strict=True):
        assert whole[text] == name or re.fullmatch(re.escape(name) + "-[0-9a-f]{6}", whole[text])


def test_names_are_made_of_words() -> None:
    texts = {
        "not -> ~n't": "not-to-nt",
        "film -> movie": "film-to-movie",
        "what NOUN -> which NOUN": "what-noun-to-which-noun",
        "What NOUN -> Which NOUN": "what-noun-to-which-noun",
        "the film -> <>": "the-film-to-nothing",
        "[text='s & pos=AUX] -> is": "s-aux-to-is",
        "[lower=movies & tag=NNS] -> films": "movies-nns-to-films",
        "just -> only / (AUX|CCONJ) __": "just-to-only-after-aux-or-cconj",
        "just -> only / __ </s>": "just-to-only-before-end",
        "just -> only / !(AUX|the) __ !VB": "just-to-only-after-not-aux-or-the-before-not-vb",
    }
    for text, name in texts.items():
        assert names_of(parse(text).rules) == [name]


def test_of_rules_of_one_name_the_one_that_it_shows_whole_keeps_it() -> None:
    plain, capital = names_of(parse("film -> movie\nFilm -> movie").rules)
    assert plain == "film-to-movie"
    assert re.fullmatch("film-to-movie-[0-9a-f]{6}", capital)
    assert len(set(names_of(parse("go to -> see\ngo -> to see").rules))) == 2


def test_a_long_name_leaves_the_context_out_and_ends_with_a_whole_word() -> None:
    long = "n't -> not / !/ai|ca|wo|sha/i __ !(PRP|there)"
    [shortened] = names_of(parse(long).rules)
    assert re.fullmatch("nt-to-not-[0-9a-f]{6}", shortened)
    [of_many_words] = names_of(parse(f"{'film ' * 12} -> movie / the __").rules)
    assert re.fullmatch("(film-){12}[0-9a-f]{6}", of_many_words)
    [endless] = names_of(parse(f"film -> {'x' * 30}").rules)
    assert endless == f"film-to-{'x' * 30}"
    [cut] = names_of(parse(f"{'x' * 61} -> film").rules)
    assert re.fullmatch("x{60}-[0-9a-f]{6}", cut)


@settings(deadline=None)
@given(
    st.lists(st.text(min_size=1, max_size=8) | st.sampled_from(["a", "a/m", "a-m"])),
    st.lists(st.sampled_from(["a", "a-m"])),
)
def test_any_names_become_distinct_ids_of_the_language(names: list[str], taken: list[str]) -> None:
    ids = valid_ids(names, taken=taken)
    assert len({*ids, *taken}) == len(ids) + len(set(taken))
    written = "".join(f"rule {each}: film{n} -> movie\n" for n, each in enumerate(ids))
    assert parse(f"ruleset {valid_id(''.join(names))} 1.0.0\n{written}").rule_ids == tuple(ids)


def test_a_rule_keeps_its_own_id_where_it_is_valid() -> None:
    assert valid_ids(["a/m", "b/m", "a-m", "Été.1"]) == ["a-m-2", "b-m", "a-m", "rule-Été.1"]


NOUNS = ("plot", "cast", "score", "pace", "end", "start")


def search(known: Sequence[object]) -> sears.DiscoveryResult:
    """*movie → film* and *play → film* flip the model; rewordings have the first of them alone."""
    return sears.discover(
        lambda texts: ["bad" if "film" in text else "good" for text in texts],
        [(f"A {kind} with a good {noun}.", "good") for noun in NOUNS for kind in ("movie", "play")],
        paraphraser=lambda texts: [[each.replace("movie", "film")] for each in texts],
        scorer=lambda pairs: [1.0 for _ in pairs], tau=0.5, with_shipped=False, known=known,
    )  # fmt: skip


def test_a_search_can_be_written_to_a_file_of_any_name(tmp_path: Path) -> None:
    result = search([])
    for stem in ("été", "Фильм", "①②", "日本", "film 2"):
        result.save(tmp_path / f"{stem}.sear")
        assert load(tmp_path / f"{stem}.sear").rule_ids == ("movie-to-film",)


def test_a_new_rule_takes_no_id_of_a_known_one(tmp_path: Path) -> None:
    result = search([sears.parse("rule movie-to-film: play -> film")])
    assert sorted((each.id, each.text) for each in result.rules) == [
        ("movie-to-film", "play -> film"), ("movie-to-film-2", "movie -> film"),
    ]  # fmt: skip
    result.save(tmp_path / "found.sear")
    assert set(load(tmp_path / "found.sear").rule_ids) == {"movie-to-film", "movie-to-film-2"}


def test_known_rules_of_files_with_spaces_in_their_names_can_be_written(tmp_path: Path) -> None:
    for name, word in (("her rules", "movie"), ("my rules", "play")):
        (tmp_path / f"{name}.sear").write_text(f"rule m: {word} -> film\n", "utf-8")
    result = search([tmp_path / "my rules.sear", tmp_path / "her rules.sear"])
    result.save(tmp_path / "found.sear")
    assert set(load(tmp_path / "found.sear").rule_ids) == {"my-rules-m", "her-rules-m"}


@pytest.mark.parametrize("metadata", ["rate: 1%", "tags: careless"])
def test_a_known_rule_that_acts_in_few_rows_or_is_careless_hides_no_new_one(metadata: str) -> None:
    result = search([sears.parse(f"rule mine: movie -> film\n  {metadata}\n")])
    assert "movie-to-film" in {each.id for each in result.rules}
    [flips] = {each.flips for each in result.rules}
    assert flips > 1


def test_names_in_other_bytes_can_be_written_also_in_lists() -> None:
    """Such as columns of a file, whose names need not be characters."""
    data = DataIdentity(
        sha256="0" * 64, rows=1, column="a\udce9", label=None, also=("b\udce9", "c"),
        spans=("d\udce9",),
    )  # fmt: skip
    assert (data.column, data.also, data.spans) == ("a\ufffd", ("b\ufffd", "c"), ("d\ufffd",))
    assert DataIdentity.model_validate_json(data.model_dump_json()) == data
