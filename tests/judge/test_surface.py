"""Evidence on the changed words: what each kind sees, and what it does not."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sears_dsl
from sears_dsl.judge.english import english
from sears_dsl.judge.faults import FAULTS, spacing_faults
from sears_dsl.judge.surface import SUPPORT, SURFACE, support_evidence, surface_evidence
from sears_dsl.runtime.files import resource_folder

_SIZES = {"places changed", "words changed", "share of words changed"}
_COUNTS = {
    f"{which} words {how}"
    for which in ("content", "function")
    for how in ("replaced", "added", "lost")
}

# Original => rewrite: the kinds of evidence, sizes and counts of words aside.
_REFUSED = """
What does he want? => What do he want?: form of verb, subject and verb
It is the best movie. => It is a best movie.: article replaced, degree form
A good film. => A bad film.: opposite
I loved the film. => I hated the film.: opposite
She is happy. => She is unhappy.: opposite
I do not like it. => I do never like it.: negation
It isn't fun. => It is fun.: negation, opposite
I will buy it. => I won't buy it.: negation, opposite
It has a bar. => It has no bar.: negation, opposite, determiner replaced
It isn't far. I won't go. => It is far. I will go.: negation, opposite
I don't think it is bad. => I think it isn't bad.: auxiliary added or lost, words moved
I don't eat here. => I don't never eat here.: negation, opposite, repeated word
It is not only loud. => It is loud.: negation, adverb added or lost
He fails to win. => He doesn't win.: auxiliary added or lost, infinitive added or lost, negation
They are unkind. => They are not kind.: negation
They are kind and fast. => They are unkind and slow.: opposite
We ate with milk. => We ate without milk.: negation, opposite, preposition replaced
He always comes. => He never comes.: negation, opposite, adverb replaced
He is in the house. => He is on the house.: preposition replaced
It is made of wood. => It is made from wood.: preposition replaced
He is here. => He was here.: tense
He walks home. => He walked home.: tense
It will enjoy it. => It has enjoy it.: auxiliary replaced, verb form
You can go. => You must go.: auxiliary replaced
I will not go. => I willn't go.: bad contraction
We can not beat it. => We cann't beat it.: bad contraction
I'm not sure. => I'mn't sure.: bad contraction
I would NOT go. => I wouldN'T go.: bad contraction
It IS not far. => It ISn't far.: bad contraction
He IS loud. => He'S loud.: bad contraction
I am still not sure. => I am stilln't sure.: bad contraction
Yes, it is. => Yes, it's.: bad contraction
Isn't it fun? => Is not it fun?: stiff question, verb form
Why don't people come? => Why do not people come?: stiff question, verb form
I don't like it. => I dont like it.: bad contraction
It won't start. => It won not start.: auxiliary added or lost, bad contraction
Tell me where he is now. => Tell me where he's now.: bad contraction
I have to wait. => I've to wait.: bad contraction, form of verb
They'd already left. => They would already left.: auxiliary replaced, bad contraction
I'd better go. => I would better go.: auxiliary replaced, bad contraction
It's got a bar. => It is got a bar.: bad contraction, form of verb
He's always had a dog. => He is always had a dog.: bad contraction, form of verb
It was beautifully made. => It was beautiful made.: degree form, word class
So rude. => Such rude.: degree form, determiner added or lost, intensifier added or lost
There were so many people. => There were so a lot of people.: degree form
It was a bit dull. => It was slightly dull.: degree replaced
It was kind of dull. => It was slightly dull.: degree replaced
Much better. => A little better.: article added, degree replaced, determiner replaced, opposite
They controlled it. => They controled it.: form of verb
She scored it. => She scoured it.:
The timber is old. => The timbre is old.:
The movie was good. => The movies was good.: number of nouns, subject and verb
I like this movie a lot. => I like this movies a lot.: number of nouns, determiner and noun
I like movies. => I like film.: inflection
It was a delight. => It was delighted.: article lost, tense
A very good film. => A too good film.: degree replaced
It is almost done. => It is quite done.: degree replaced
It is more fun. => It is less fun.: opposite, determiner replaced
It was a good film. => It was a better film.: comparison
It costs two dollars. => It costs three dollars.: number
It took 25 days. => It took 52 days.: number
Its code is 9780306406157. => Its code is 9780306406158.: number
I saw the red car. => I saw the blue car.: other thing of its kind
I saw a dog. => I saw a cat.: other thing of its kind
We met on Monday. => We met on Friday.: name, other thing of its kind
I like Paris a lot. => I like London a lot.: name
He likes it. => She likes it.: opposite, pronoun replaced
I like it. => They like it.: pronoun replaced
I gave it to him. => I gave it to he.: pronoun replaced
I saw my friend. => I saw your friend.: pronoun replaced
It was good and bad. => It was good or bad.: conjunction replaced
Who is it? => What is it?: question word replaced
I have a answer. => I have an answer.:
I have an answer. => I have a answer.: article sound
I like the film. => I like film.: article lost
It was fun. => It was the fun.: article added
Some people do. => All people do.: determiner replaced
It is great. => It is great great.: repeated word
Fluffy delicious buns. => Fluffy,, delicious buns.: comma, repeated mark
The movie was good. => the movie was good.: capital missing
The movie was good. => movie was good.: article lost, capital missing
The film was great. => Honestly, The film was great.: comma, capital inside
I like the movie. => I like The movie.: casing, capital inside
It is every day. => It is everyday.: joined or cut
Is it good? => Is it good.: question mark
It was good. => It was good!: end mark
I like cats, dogs. => I like cats dogs.: comma
I know (it). => I know it.: other mark
He has written it. => He has wrote it.: form of verb, verb form
It is a happy film. => It is a happily film.: word class
I want to go. => I want to went.: tense, verb form
The film is nice. => The film is xqzt.: unknown word
The serpent's smirk was nice. => The serpent is smirk was nice.: form of verb
He has a dog. => He's a dog.: auxiliary replaced, bad contraction
I'd like it. => I had like it.: bad contraction, form of verb
It's nice. => It has nice.: auxiliary replaced, bad contraction
I have fun. => I've fun.: bad contraction, form of verb
It cost $20. => It cost 20 euros.: other mark, unknown word
It cost $20. => It cost 30 dollars.: number, other mark
It's lasted for years. => It is lasted for years.: bad contraction, form of verb
It's never let me down. => It is never let me down.: bad contraction, form of verb
It's kept my beer cold. => It is kept my beer cold.: bad contraction, form of verb
It's made a big mess. => It is made a big mess.: bad contraction, form of verb
It's really held up well. => It is really held up well.: bad contraction, form of verb
It's stopped working. => It is stopped working.: bad contraction, form of verb
The food's gotten worse. => The food is gotten worse.: bad contraction, form of verb
What's it do? => What is it do?: bad contraction, form of verb
A well-paced film. => A wellpaced film.: joined or cut
It is a fear of it. => It is a Fear of it.: casing
It is good. => It is good: end mark
It is good. => It is good. .: end mark, repeated mark
It is good. => It is good....: end mark, repeated mark
It is good! => It is good.....: end mark, repeated mark
It is good, cheap. => It is good., cheap.: capital missing, end mark, repeated mark
It is good... => It is good....: end mark
It is good..... => It is good..: end mark
It is good… => It is good....: end mark
It is good... => It is good.: end mark
It is good!!! => It is good!: end mark
It is the only one. => It is the just one.: article out of place
He wants to go. => He wants go.: infinitive added or lost
"""
_ACCEPTED = """
I don't like it. => I do not like it.: contraction, explained
I do not like it. => I don't like it.: contraction, explained
I DO NOT like it. => I DON'T like it.: contraction, explained
I AM LOUD. => I'M LOUD.: contraction, explained
THAT is loud. => THAT's loud.: contraction, explained
I cannot go. => I can't go.: contraction, explained
It won't go. => It will not go.: contraction, explained
What's up? => What is up?: contraction, explained
I am sure. => I’m sure.: contraction, explained
They are here. => They're here.: contraction, explained
A really good film. => A very good film.: used alike, explained
It is quite good. => It is rather good.: used alike, explained
A lot of money. => Lots of money.: used alike, explained
I came in order to win. => I came to win.: used alike, explained
We wait until noon. => We wait till noon.: used alike, explained
It depends upon you. => It depends on you.: used alike, explained
Two programmes. => Two programs.: used alike, explained
The color of it. => The colour of it.: spelling, explained
They travelled on. => They traveled on.: spelling, explained
He has gone. => He's gone.: contraction, explained
The film's a mess. => The film is a mess.: contraction, explained
I dont like it. => I do not like it.: contraction, explained
Rather than go, stay. => Instead of go, stay.: used alike, explained
I realise it. => I realize it.: spelling, explained
He sent an e-mail. => He sent an email.: spelling, explained
It took two days. => It took 2 days.: spelling, explained
It took twenty-five hundred days. => It took 2,500.0 days.: spelling, explained
The 2nd time. => The second time.: spelling, explained
It is twenty-five. => It is 25.: spelling, explained
It cost $1,200. => It cost 1,200 dollars.: spelling, explained
It cost 20 euros then. => It cost €20 then.: spelling, explained
I like the film. => I like the movie.:
He's already been here. => He has already been here.: contraction, explained
I'd never seen it. => I had never seen it.: contraction, explained
We've stayed here. => We have stayed here.: contraction, explained
I've learned a lot. => I have learned a lot.: contraction, explained
I'll text you. => I will text you.: contraction, explained
I'd rather go. => I would rather go.: contraction, explained
They would put it there. => They'd put it there.: contraction, explained
It has broken. => It's broken.: contraction, explained
It's never let me down. => It has never let me down.: contraction, explained
It's broken. => It is broken.: contraction, explained
It's held up by glue. => It is held up by glue.: contraction, explained
It's called a phone. => It is called a phone.: contraction, explained
It's used a lot. => It is used a lot.: contraction, explained
It's washed the wrong way. => It is washed the wrong way.: contraction, explained
What's he like? => What is he like?: contraction, explained
"""
_MILD = """
I think that he is nice. => I think he is nice.
The man who left. => The man that left.
What color is it? => Which color is it?
I really like it. => I like it.
I like cats, dogs and mice. => I like cats, dogs, and mice.
"""


def _cases(table: str) -> list[tuple[str, str, set[str]]]:
    cases = []
    for line in table.strip().splitlines():
        pair, _, kinds = line.rpartition(":") if table is not _MILD else (line, "", "")
        original, rewrite = pair.split(" => ")
        cases.append(
            (original, rewrite, {kind.strip() for kind in kinds.split(",") if kind.strip()})
        )
    return cases


def _kinds(original: str, rewrite: str) -> set[str]:
    row = surface_evidence([(original, rewrite)])[0]
    return {name for name, value in zip(SURFACE, row, strict=True) if value} - _SIZES - _COUNTS


@pytest.mark.parametrize(("original", "rewrite", "kinds"), _cases(_REFUSED))
def test_each_kind_of_change_has_its_evidence(original: str, rewrite: str, kinds: set[str]) -> None:
    assert _kinds(original, rewrite) == kinds


@pytest.mark.parametrize(("original", "rewrite", "kinds"), _cases(_ACCEPTED))
def test_harmless_changes_have_support_and_no_evidence(
    original: str, rewrite: str, kinds: set[str]
) -> None:
    assert not _kinds(original, rewrite)
    row = support_evidence([(original, rewrite)])[0]
    assert {name for name, value in zip(SUPPORT, row, strict=True) if value} == kinds


@pytest.mark.parametrize(
    ("original", "rewrite"),
    [
        ("They'd put it there.", "They would put it there."),
        ("They'd put it there.", "They had put it there."),
        ("It's broken.", "It has broken."),
    ],
)
def test_a_clitic_that_may_be_two_words_is_no_fault_and_explains_nothing(
    original: str, rewrite: str
) -> None:
    assert "bad contraction" not in _kinds(original, rewrite)
    assert not support_evidence([(original, rewrite)]).any()


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("the 1990s saw a dozen wars", ["1990s", "12"]),
        ("10k million", ["10k", "1000000"]),
        ("² hundred", ["²", "100"]),
        ("the third million", ["3.", "1000000"]),
        ("3 men bought a dozen eggs", ["3", "12"]),
        ("2.5 million and two hundred thousand", ["2500000", "200000"]),
        ("five - hundred", ["500"]),
        ("five million - dozen", ["5000000", "12"]),
        ("a trillion trillion trillion", ["1" + "0" * 24, "1" + "0" * 12]),
    ],
)
def test_words_such_as_dozen_multiply_a_plain_number_right_before_them(
    words: str, values: list[str]
) -> None:
    assert english().numbers(words.split())[0] == values


@pytest.mark.parametrize("before", ["in", "for", "with"])
def test_a_misspelled_possessive_is_not_written_in_full(before: str) -> None:
    pair = (f"We like it {before} it's price range.", f"We like it {before} it is price range.")
    assert "bad contraction" in _kinds(*pair)


@pytest.mark.parametrize(
    "text",
    [
        "If you do not get into it's finer features, look elsewhere.",
        "I think this is it's biggest flaw.",
        "it's best feature is the screen",
    ],
)
def test_a_possessive_is_one_behind_prepositions_and_before_superlatives(text: str) -> None:
    assert "bad contraction" in _kinds(text, text.replace("it's", "it is"))


@pytest.mark.parametrize(
    "text",
    [
        "The good news is it's cheap.",
        "it's best to wait",
        "it's most people",
        "it's best left alone",
        'He answered with "it\'s fine".',
    ],
)
def test_a_clause_about_it_is_no_possessive(text: str) -> None:
    assert not _kinds(text, text.replace("it's", "it is"))


@pytest.mark.parametrize("before", ["since", "after", "because", "that"])
def test_a_clause_behind_a_conjunction_is_written_in_full(before: str) -> None:
    pair = (f"We go {before} it's late.", f"We go {before} it is late.")
    assert not _kinds(*pair)


@pytest.mark.parametrize(("original", "rewrite", "kinds"), _cases(_MILD))
def test_what_is_often_harmless_weighs_little(original: str, rewrite: str, kinds: set[str]) -> None:
    row = dict(zip(SURFACE, surface_evidence([(original, rewrite)])[0], strict=True))
    assert max(row[name] for name in _kinds(original, rewrite)) < 1


_FORM = {*FAULTS, "casing", "capital missing", "capital inside", "joined or cut", "unknown word"}


def _shipped(*folders: str) -> list[tuple[str, str]]:
    """The rewrites in the tests of shipped rules, which people have read."""
    return [
        (" ".join(word.partition("/")[0] or word for word in test.text.split(" ")), test.expected)
        for folder in folders
        for path in sorted((resource_folder("rulesets") / folder).glob("*.sear"))
        for rule in sears_dsl.load(path).rules
        for test in rule.metadata.tests
        if test.expected is not None
    ]


def test_rules_that_people_accepted_write_no_faults() -> None:
    pairs = _shipped(
        *(
            folder.name
            for folder in resource_folder("rulesets").iterdir()
            if folder.is_dir() and folder.name not in ("rejected", "noise")
        )
    )
    assert len(pairs) > 500
    told = [
        (pair, name)
        for pair, row in zip(pairs, surface_evidence(pairs), strict=True)
        for name, value in zip(SURFACE, row, strict=True)
        if value and name in _FORM
    ]
    assert not told


def test_other_spellings_and_contractions_are_explained() -> None:
    pairs = _shipped("spelling", "contractions")
    explained = support_evidence(pairs)[:, SUPPORT.index("explained")]
    assert [pair for pair, whole in zip(pairs, explained, strict=True) if not whole] == []


@pytest.mark.parametrize(
    "text",
    [
        "我喜欢这部电影。",
        "Это хороший фильм.", "هذا فيلم جيد", "यह एक अच्छी फिल्म है।", "👍🏽 😀😀 👨‍👩‍👧",
        "<b>Good</b> &amp; <i>bad</i>",
        "a\u0000b\ufffd \u200bword", "x" * 5000, "?" * 3000, "a " * 3000,
    ],
)  # fmt: skip
def test_odd_texts_have_evidence_like_others(text: str) -> None:
    """One more word is an added word, whatever is next to it."""
    row = surface_evidence([(f"{text} It is a film.", f"{text} It is a fun film.")])[0]
    told = {name for name, value in zip(SURFACE, row, strict=True) if value} - _SIZES
    assert told == {"content words added"}
    assert np.isfinite(surface_evidence([(text, text[::-1]), (text, ""), ("", text)])).all()


def test_long_texts_take_no_long_time() -> None:
    text = "It was said that the film is a good one, and that nobody liked it at all. " * 70
    start = time.process_time()
    for number in range(50):
        surface_evidence([(text, f"{text[: 70 * number]}odd {text[70 * number :]}")])
    assert time.process_time() - start < 2


def test_words_in_another_order_are_counted() -> None:
    row = surface_evidence([("Dogs that chase cats are loud.", "Cats that chase dogs are loud.")])[
        0
    ]
    assert row[SURFACE.index("content words exchanged")] == 3


def test_a_fault_that_the_original_has_too_is_not_the_rewrites() -> None:
    assert "subject and verb" not in _kinds("He do like this film.", "He do like this movie.")


_WORDS = """
The the a film movies is was n't not don't I'm it’s He they good bad , . ? ! 3 two very Paris of
映画 😀 <br/>
"""
_TEXTS = st.one_of(
    st.text(max_size=20), st.lists(st.sampled_from(_WORDS.split()), max_size=8).map(" ".join)
)


@given(_TEXTS, _TEXTS)
@settings(deadline=None)  # the first word asked for loads the tables
def test_no_value_is_below_zero(original: str, rewrite: str) -> None:
    pairs = [(original, rewrite), (original, original)]
    for evidence in (surface_evidence(pairs), support_evidence(pairs)):
        assert np.isfinite(evidence).all()
        assert (evidence >= 0).all()
        assert not evidence[1].any()


@settings(deadline=None)
@given(_TEXTS, _TEXTS, st.sampled_from(("Nobody knew why it had rained so long in Spain.", "")))
def test_what_is_far_from_the_change_has_no_influence(
    original: str, rewrite: str, far: str
) -> None:
    """It only influences the share of words that changed."""
    there = "All of it had been said before, again and again, by them and us. "
    after = " All of that had been said before, again and again, by them and us. "
    near = [(there + text + after, there + other + after) for text, other in [(original, rewrite)]]
    further = [(far + " " + left + far, far + " " + right + far) for left, right in near]
    share = SURFACE.index("share of words changed")
    ours, theirs = (np.delete(surface_evidence(pairs), share, axis=1) for pairs in (near, further))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("original", "rewrite", "count"),
    [
        ("Great food, friendly staff.", "Great food,friendly staff.", 1),
        ("I called twice. Nobody came.", "I called twice.Nobody came .", 2),
        ("Note: it is closed.", "Note:it is closed.", 1),
        ("The bread wasn’t fresh (in May).", "The bread was n’t fresh ( in May).", 2),
    ],
)
def test_spaces_beside_marks_are_faults_only_where_the_rewrite_has_them(
    original: str, rewrite: str, count: int
) -> None:
    assert spacing_faults(original, rewrite) == count
    assert spacing_faults(rewrite, rewrite) == 0
    assert spacing_faults(rewrite, original) == 0


@pytest.mark.parametrize(
    ("original", "rewrite"),
    [
        ("The room was clean.", "The  room was clean."),  # nobody minds
        ("Is it raining?Yes", "Is it raining? Yes"),
        ("a fine , quiet film .", "a fine film ."),  # a corpus with its words apart
        ("The good kind :)", "The good kind ."),
        ("In the U.S. ?", "In the US ?"),
        ("See http://www.a.com, at 7:30", "See https://www.a.com, at 7:45"),
        ("It costs 1,000", "It costs 1,500"),
        ("Is it red?", "Is it red ?"),  # careless, no more
        ("who is he", "who 's he"),  # nothing says that words are not apart here, too
        ("The number of people.", "The # of people."),
        ("I see the letter s.", "I see the letter 's'."),
        ("See it there.", "See it at www.a.com/watch?v=abc."),
        ("It is f(a, b).", "It is f(a,b)."),
        ("你好世界。", "你好,世界。"),
    ],
)
def test_other_spaces_are_no_faults(original: str, rewrite: str) -> None:
    assert spacing_faults(original, rewrite) == 0


def test_no_pairs_give_no_rows() -> None:
    assert surface_evidence([]).shape == (0, len(SURFACE))
    assert support_evidence([]).shape == (0, len(SUPPORT))
