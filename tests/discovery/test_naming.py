"""Names of rules are words, distinct, and independent of what else was discovered."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.discovery.result.found_rules import names_of
from sears_dsl.errors import SearsError
from sears_dsl.language.loader import parse
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Rule

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
