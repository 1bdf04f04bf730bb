"""Narrowed rules act where their condition says, and the condition takes few words."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sears_dsl.discovery.filtering.narrowing import (
    ACCEPTED,
    NOT_JUDGED,
    REFUSED,
    NarrowedRule,
    narrow,
    sites_of,
)
from sears_dsl.language.loader import parse
from sears_dsl.language.printer import print_rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.tagging.tokens import Tokens

TAGGER = PinnedTagger(
    {
        "is": ("AUX", "VBZ"), "was": ("AUX", "VBD"), "can": ("AUX", "MD"), "will": ("AUX", "MD"),
        "and": ("CCONJ", "CC"), "still": ("ADV", "RB"), "so": ("ADV", "RB"),
        "very": ("ADV", "RB"), "not": ("PART", "RB"), "well": ("ADJ", "JJ"),
        "I": ("PRON", "PRP"), "like": ("VERB", "VBP"), "much": ("ADJ", "JJ"),
        ".": ("PUNCT", "."), "set": ("NOUN", "NN"),
    }
)  # fmt: skip
JUDGEMENT = {"+": ACCEPTED, "-": REFUSED, " ": NOT_JUDGED}


def narrowed(rules: str, rows: list[tuple[str, str]], **options: object) -> list[tuple[str, str]]:
    """The narrowed rule, and where it acts; the rows are (judgement, text)."""
    ruleset = parse(rules)
    tokens = TAGGER.tag([text for _, text in rows])
    sites = sites_of(ruleset.compile(tagger=TAGGER), tokens)
    verdicts = np.array([JUDGEMENT[rows[row][0]] for row in sites.rows.tolist()])
    found = narrow(
        ruleset.rules[0], tokens, sites, verdicts, tagger=TAGGER, options=ruleset.options,
        **options,  # type: ignore[arg-type]
    )  # fmt: skip
    return [
        (print_rule(each.rule), "".join("x" if holds else "." for holds in each.holds.tolist()))
        for each in found
    ]


def test_one_place_that_differs_proposes_where_it_acts_most() -> None:
    rows = [(" ", "it is not well"), (" ", "it was not so"), (" ", "it can not"),
            ("-", "soggy and not well"), (" ", "is not so"), (" ", "still not well")]  # fmt: skip
    assert narrowed("not -> ~n't", rows)[0] == ("not -> ~n't / AUX __", "xxx.x.")


def test_a_fine_tag_where_the_coarse_one_does_not_tell() -> None:
    rows = [("+", "it is not well"), ("+", "he is not"), ("-", "it can not"), ("-", "it will not"),
            (" ", "she is not"), (" ", "she can not")]  # fmt: skip
    assert narrowed("not -> ~n't", rows)[0] == ("not -> ~n't / VBZ __", "xx..x.")
    rows += [("+", "he was not"), ("+", "still not")]
    assert narrowed("not -> ~n't", rows)[0] == ("not -> ~n't / !MD __", "xx..x.xx")


def test_a_context_that_is_there_becomes_finer() -> None:
    rows = [("+", "it is not well"), ("+", "he was not"), ("-", "it can not"), ("-", "it will not")]
    found = narrowed("not -> ~n't / AUX __", rows)
    assert found[0] == ("not -> ~n't / [pos=AUX & tag!=MD] __", "xx..")


def test_a_word_that_is_matched_is_narrowed_and_copies_go_by_number() -> None:
    rows = [("+", "so much"), ("+", "so much I like"), ("-", "very much"), ("-", "still much"),
            (" ", "so much so"), ("-", "very much so")]  # fmt: skip
    found = narrowed("ADV much -> too ADV much", rows, negations=False)
    assert found[0] == ("[pos=ADV & lower=so] much -> too $1 much", "xx..x.")


def test_the_changed_word_itself_tells_by_its_tag() -> None:
    tagger = PinnedTagger({})
    texts = ["taste like dirt", "I like it", "look like fun", "we like fun"]
    kinds = {0: "IN", 1: "VBP", 2: "IN", 3: "VBP"}
    plain = tagger.tag(texts)
    rows = [
        [token._replace(coarse="ADP" if kinds[n] == "IN" else "VERB", fine=kinds[n])
         if token.text == "like" else token for token in plain.row(n)]
        for n in range(4)
    ]  # fmt: skip
    tokens = Tokens.from_rows(texts, rows)
    rules = parse("option case = exact\nlike -> as")
    sites = sites_of(rules.compile(tagger=tagger), tokens)
    verdicts = np.array([ACCEPTED, REFUSED, ACCEPTED, REFUSED])
    [first, *_] = narrow(
        rules.rules[0], tokens, sites, verdicts, tagger=tagger, options=rules.options
    )
    assert print_rule(first.rule) == "[text=like & pos=ADP] -> as"


def test_words_are_quoted_where_they_mean_something_else() -> None:
    rows = [("+", "rule not"), ("+", "rule not well"), ("-", "thing not"), ("-", "so not")]
    [(text, acts), *_] = narrowed("not -> never", rows, negations=False)
    assert (text, acts) == ('not -> never / "rule"i __', "xx..")
    assert print_rule(parse(text).rules[0]) == text


def test_a_share_of_what_is_judged_may_be_refused() -> None:
    rows = [("+", "it is not")] * 9 + [("-", "it is not"), ("-", "and not"), ("-", "and not")]
    assert not any(text.endswith("AUX __") for text, _ in narrowed("not -> ~n't", rows))
    assert narrowed("not -> ~n't", rows, delta=0.1)[0][0] == "not -> ~n't / AUX __"


def test_a_longer_condition_has_to_act_much_more_and_to_say_more_than_the_refused_places() -> None:
    refused = [("-", "this not")] * 5
    often, rarely = [("+", "one not")] * 20, [("+", "other not")]
    assert narrowed("not -> never", often + rarely + refused, delta=0.1, negations=False) == [
        ("not -> never / one __", "x" * 20 + "." * 6)
    ]
    few = often[:6] + rarely * 2 + refused[:2]
    assert narrowed("not -> never", few, delta=0.1, negations=False) == [
        ("not -> never / one __", "x" * 6 + "." * 4)
    ]
    both = often + rarely * 8 + refused
    [(text, acts), *_] = narrowed("not -> never", both, delta=0.1, negations=False)
    assert (text, acts) == ("not -> never / (one|other) __", "x" * 28 + "." * 5)


def test_nobody_reads_a_list_of_more_than_eight_words() -> None:
    rows = [("+", f"{word} not") for word in "abcdefghij"] + [("-", "this not")]
    lists = [text for text, _ in narrowed("not -> never", rows, negations=False, most=99)]
    assert max(text.count("|") for text in lists) == 7


def test_a_condition_keeps_some_of_the_accepted_places() -> None:
    rows = [("+", "one not"), ("-", "one not"), (" ", "other not")]
    assert narrowed("not -> never", rows) == []


def test_too_few_judged_places_choose_nothing() -> None:
    rows = [("+", "it is not"), ("+", "it was not"), ("-", "and not"), ("-", "and not")]
    found = narrowed("not -> ~n't", rows, least=3, negations=False)
    assert found == []


def test_nothing_is_proposed_where_nothing_was_refused_or_nothing_tells_apart() -> None:
    assert narrowed("not -> ~n't", [("+", "it is not"), (" ", "and not")]) == []
    assert narrowed("not -> ~n't", [("+", "it is not"), ("-", "it is not")]) == []
    assert narrowed("not -> ~n't", [("-", "is not"), ("-", "is not")]) == []


def test_no_torch_is_loaded() -> None:
    code = "import sys, sears_dsl.discovery.filtering.narrowing; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---------------------------------------------------------------- the engine is the twin

VOCABULARY = "it is was can and still not so much I like well set . Set".split()  # noqa: SIM905
WORDS = st.sampled_from(VOCABULARY)
TEXTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
RULES = st.sampled_from(
    ["not -> ~n't", "not -> ~n't / AUX __", "ADV much -> too ADV much", "<> -> really / __ ADJ",
     "much -> <> / __ (well|.)", "ADV not -> ADV never", "it is -> it was", "so? not -> never",
     "RB ADV -> ADV RB", "[pos=AUX & tag!=MD] not -> $1 never", "not -> never / !and __"]
)  # fmt: skip
CASES = st.sampled_from(["smart", "exact", "ignore"])


@settings(max_examples=150, deadline=None)
@example(
    ("smart", "RB ADV -> ADV RB"), ["still still still it", "still still it"],
    [REFUSED, ACCEPTED, *[NOT_JUDGED] * 10], 0.0, False,
)  # fmt: skip
@given(
    st.tuples(CASES, RULES), st.lists(TEXTS, min_size=1, max_size=12),
    st.lists(st.sampled_from([NOT_JUDGED, REFUSED, ACCEPTED]), min_size=12, max_size=12),
    st.sampled_from([0.0, 0.2]), st.booleans(),
)  # fmt: skip
def test_a_narrowed_rule_acts_where_it_says_and_nowhere_else(
    written: tuple[str, str], texts: list[str], known: list[int], delta: float, negations: bool
) -> None:
    case, rule = written
    ruleset = parse(f"option case = {case}\n{rule}")
    tokens = TAGGER.tag(texts)
    sites = sites_of(ruleset.compile(tagger=TAGGER), tokens)
    verdicts = np.array(known[: len(sites.rows)], np.int64)
    found = narrow(
        ruleset.rules[0], tokens, sites, verdicts, tagger=TAGGER, options=ruleset.options,
        delta=delta, negations=negations, most=50,
    )  # fmt: skip
    acted = [int(each.holds.sum()) for each in found]
    assert acted == sorted(set(acted))
    everywhere = _instances(ruleset, tokens)
    for each in found:
        again = parse(f"option case = {case}\n{print_rule(each.rule)}")
        acts = _instances(again, tokens)
        assert all(any(_overlap(one, other) for other in everywhere) for one in acts)
        places = zip(*(column.tolist() for column in sites), strict=True)
        assert [place in acts for place in places] == each.holds.tolist()
        _is_within_delta(each, verdicts, delta)


def _overlap(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    """Whether two instances are the same or overlap: of such ones only the first acts."""
    return one == other or (one[0] == other[0] and one[1] < other[2] and other[1] < one[2])


def _instances(ruleset: Ruleset, tokens: Tokens) -> set[tuple[int, int, int]]:
    """Every instance by itself, so that instances of a row do not hide each other."""
    found = set()
    matcher = ruleset.compile(tagger=TAGGER)
    for row, start, end in (each[1:] for each in matcher.find(tokens, scope="all").tuples()):
        found.add((row, start, end))
    return found


def _is_within_delta(each: NarrowedRule, verdicts: NDArray[np.int64], delta: float) -> None:
    refused = int((verdicts[each.holds] == REFUSED).sum())
    accepted = int((verdicts[each.holds] == ACCEPTED).sum())
    assert refused <= delta * (refused + accepted) + 1e-9
    assert refused < int((verdicts == REFUSED).sum())
