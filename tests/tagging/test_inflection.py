"""Lemmas and inflections depend only on the word and its tag."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.language.tagsets import FINE
from sears_dsl.tagging.inflection import (
    INFLECTION_TAGS,
    _tables,
    inflect,
    inflect_like,
    keep_casing,
    lemma,
    lemma_among,
    lemma_numbers,
)


@pytest.mark.parametrize(
    ("word", "fine", "expected"),
    [
        ("is", "VBZ", "be"),
        ("'s", "VBZ", "be"),
        ("’s", "VBZ", "be"),
        ("WERE", "VBD", "be"),
        ("'ve", "VBP", "have"),
        ("'d", "MD", "would"),
        ("'d", "VBD", "have"),
        ("mimicked", "VBD", "mimic"),
        ("programming", "VBG", "program"),
        ("occured", "VBD", "occur"),  # read, though not written
        ("wo", "MD", "will"),
        ("ca", "MD", "can"),
        ("n't", "RB", "not"),
        ("n’t", "RB", "not"),
        ("movies", "NNS", "movie"),
        ("Movies", "NNS", "movie"),
        ("children", "NNS", "child"),
        ("calories", "NNS", "calorie"),
        ("cities", "NNS", "city"),
        ("stuntmen", "NNS", "stuntman"),
        ("oxen", "NNS", "ox"),
        ("saw", "VBD", "see"),
        ("saw", "NN", "saw"),
        ("found", "VBD", "find"),
        ("better", "JJR", "good"),
        ("best", "RBS", "well"),
        ("going", "VBG", "go"),
        ("going", "NN", "going"),
        ("The", "DT", "the"),
        ("London", "NNP", "london"),
        ("'s", "POS", "'s"),
        ("movies", "", "movies"),
        ("日本", "NN", "日本"),
        ("2010s", "NNS", "2010s"),
        ("", "", ""),
    ],
)
def test_lemma(word: str, fine: str, expected: str) -> None:
    assert lemma(word, fine) == expected


def test_a_lemma_among_some_is_the_lemma() -> None:
    listed = list(_tables()._lemmas.lemma_dict._lines)[::400]
    endings = ("s", "ies", "ying", "nning", "ices", "iest", "ttest", "ed", "er", "ina", "")
    guessed = [stem + ending for stem in ("", "bl", "zorbl", "Florba") for ending in endings]
    words = [
        *listed,
        *guessed,
        *list(_tables()._instead)[::9],
        "leaves",
        "'s",
        "n’t",
        "日本",
        "a-b",
    ]
    asked = [(word, fine) for word in words for fine in ("NNS", "VBD", "VBG", "JJS", "RBR", "NN")]
    lemmas = [lemma(*each) for each in asked]
    some = set(lemmas[::5])
    for each, base in zip(asked, lemmas, strict=True):
        assert lemma_among(*each, {base}) == base
        assert lemma_among(*each, some) == (base if base in some else None)
        assert lemma_among(*each, some - {base}) is None


def test_numbers_of_lemmas_are_those_of_each_lemma() -> None:
    words = ["films", "IS", "'s", "’S", "n’t", "wo", "Film", "went", "日本", "zorbs", "2010s", ""]
    fines = ["NNS", "VBZ", "MD", "RB", "NN", "", "VBD"]
    pairs = [(word, fine) for word in range(len(words)) for fine in range(len(fines))]
    word_of, fine_of = np.array(pairs, np.int32).T
    every = [lemma(words[word], fines[fine]) for word, fine in pairs]
    for named in (set(every), {"film", "be", "not", "go"}, {"will", "'s", "n't"}, set()):
        numbers = {text: number for number, text in enumerate(sorted(named))}
        asked = lemma_numbers(words, word_of, fines, fine_of, numbers)
        assert asked.tolist() == [numbers.get(text, -1) for text in every]


@pytest.mark.parametrize(
    ("word", "fine", "target", "forms"),
    [
        ("go", "VB", "VBD", ("went",)),
        ("goes", "VBZ", "VBG", ("going",)),
        ("saw", "VBD", "VBN", ("seen",)),
        ("movies", "NNS", "NN", ("movie",)),
        ("movie", "NN", "NNS", ("movies",)),
        ("film", "NN", "NNS", ("films",)),  # and not "film"
        ("color", "NN", "NNS", ("colors",)),
        ("child", "NN", "NNS", ("children",)),
        ("sheep", "NN", "NNS", ("sheep",)),
        ("deer", "NN", "NNS", ("deer",)),
        ("learns", "VBZ", "VBD", ("learned", "learnt")),
        ("put", "VB", "VBD", ("put",)),
        ("good", "JJ", "JJR", ("better",)),
        ("good", "JJ", "JJS", ("best",)),
        ("beautiful", "JJ", "JJR", ()),
        ("blorf", "NN", "NNS", ("blorfs",)),
        ("the", "DT", "NNS", ()),
        ("10", "CD", "NNS", ()),
        ("?", ".", "VBD", ()),
        ("movie", "NN", "DT", ()),
        ("?", ".", "NN", ()),
        ("walk", "NN", "VBD", ("walked",)),
        ("naïveté", "NN", "NNS", ()),
        ("went", "VBD", "VB", ("go",)),
        ("is", "VBZ", "VBD", ("was",)),
        ("am", "VBP", "VBD", ("was",)),
        ("are", "VBP", "VBD", ("were",)),
        ("'re", "VBP", "VBD", ("were",)),
        ("’m", "VBP", "VBD", ("was",)),
        ("be", "VB", "VBD", ("was", "were")),
        ("been", "VBN", "VBD", ("was", "were")),
        ("are", "VBP", "VBZ", ("is",)),
        ("is", "VBZ", "VBG", ("being",)),
        ("be", None, "VBD", ("was", "were")),
        ("film", None, "NNS", ("films",)),
        ("free", "JJ", "JJR", ("freer",)),
        ("free", "JJ", "JJS", ("freest",)),
        ("true", "JJ", "JJR", ("truer",)),
        ("blue", "JJ", "JJS", ("bluest",)),
        ("wee", "JJ", "JJR", ("weer",)),
        ("nice", "JJ", "JJR", ("nicer",)),
        ("ox", "NN", "NNS", ("oxen",)),
        ("stuntman", "NN", "NNS", ("stuntmen",)),
        ("shaman", "NN", "NNS", ("shamans",)),
        ("German", "NN", "NNS", ("germans",)),
        # Verbs whose *c* becomes *ck*, and wrong pasts.
        ("mimic", "VB", "VBD", ("mimicked",)),
        ("mimic", "VB", "VBG", ("mimicking",)),
        ("mimicked", "VBD", "VBG", ("mimicking",)),
        ("arc", "VB", "VBD", ("arced",)),
        ("ski", "VB", "VBN", ("skied",)),
        ("quit", "VB", "VBN", ("quit",)),
        ("light", "VB", "VBN", ("lit",)),
        ("bus", "VB", "VBN", ("bused",)),
        ("enrol", "VB", "VBD", ("enrolled",)),
        ("sting", "VB", "VBG", ("stinging",)),
        ("pay", "VB", "VBD", ("paid",)),
        ("beware", "VB", "VBD", ()),
        # Misspellings with one consonant, and weak syllables, which are written with one.
        ("occur", "VB", "VBD", ("occurred",)),
        ("humbug", "VB", "VBN", ("humbugged",)),  # the tables have no other form than *humbuged*
        ("bias", "VB", "VBN", ("biased",)),
        ("spell", "VB", "VBN", ("spelled", "spelt")),
        ("occurs", "VBZ", "VBG", ("occurring",)),
        ("refer", "VB", "VBD", ("referred",)),
        ("control", "VB", "VBG", ("controlling",)),
        ("kidnap", "VB", "VBD", ("kidnapped",)),
        ("worship", "VB", "VBG", ("worshipping",)),
        ("benefit", "VB", "VBD", ("benefited",)),
        ("focus", "VB", "VBZ", ("focuses",)),
        ("travel", "VB", "VBD", ("traveled",)),
        ("travelling", "VBG", "VBD", ("travelled",)),
        ("travelled", "VBD", "VBZ", ("travels",)),
        ("cruel", "JJ", "JJR", ("crueler",)),
        # Other spellings of the base form, and forms in two parts.
        ("install", "VB", "VBZ", ("installs",)),
        ("fulfil", "VB", "VBZ", ("fulfils",)),
        ("gel", "VB", "VBD", ("gelled",)),
        ("undergo", "VB", "VBZ", ("undergoes",)),
        ("overcome", "VB", "VBZ", ("overcomes",)),
        ("overcome", "VB", "VBN", ("overcome",)),
        ("proofread", "VB", "VBD", ("proofread",)),
        ("okay", "VB", "VBD", ("okayed",)),
        # Two pasts or plurals that are both usual.
        ("dive", "VB", "VBD", ("dived", "dove")),
        ("hang", "VB", "VBD", ("hung", "hanged")),
        ("lie", "VB", "VBN", ("lain", "lied")),
        ("learned", "VBD", "VBD", ("learned",)),  # as it is
        ("occured", "VBD", "VBD", ("occured",)),
        ("cactus", "NN", "NNS", ("cactuses", "cacti")),
        ("formula", "NN", "NNS", ("formulas", "formulae")),
        # One usual plural.
        ("zero", "NN", "NNS", ("zeros",)),
        ("volcano", "NN", "NNS", ("volcanoes",)),
        ("penny", "NN", "NNS", ("pennies",)),
        ("campus", "NN", "NNS", ("campuses",)),
        ("stadium", "NN", "NNS", ("stadiums",)),
        ("criterion", "NN", "NNS", ("criteria",)),
        ("bus", "NN", "NNS", ("buses",)),
        ("gas", "NN", "NNS", ("gases",)),
        ("technology", "NN", "NNS", ("technologies",)),
        ("kindness", "NN", "NNS", ("kindnesses",)),
        ("snob", "NN", "NNS", ("snobs",)),
        # The same in the plural, or none.
        ("aircraft", "NN", "NNS", ("aircraft",)),
        ("spacecraft", "NN", "NNS", ("spacecraft",)),
        ("offspring", "NN", "NNS", ("offspring",)),
        ("goldfish", "NN", "NNS", ("goldfish",)),
        ("Portuguese", "NN", "NNS", ("portuguese",)),
        ("headquarters", "NN", "NNS", ("headquarters",)),
        ("information", "NN", "NNS", ()),
        ("advice", "NN", "NNS", ()),
        ("music", "NN", "NNS", ()),
        ("mathematics", "NN", "NNS", ()),
        ("progress", "NN", "NNS", ()),
        ("awareness", "NN", "NNS", ()),
        ("arthritis", "NN", "NNS", ()),
        ("clothes", "NNS", "NNS", ("clothes",)),
        # Comparatives that are other words, or that nobody writes.
        ("wrong", "JJ", "JJR", ()),
        ("wrong", "JJ", "JJS", ()),
        ("modern", "JJ", "JJR", ()),
        ("wicked", "JJ", "JJR", ()),
        ("little", "JJ", "JJS", ()),
        ("clever", "JJ", "JJR", ("cleverer",)),
        ("narrow", "JJ", "JJR", ("narrower",)),
        ("simple", "JJ", "JJS", ("simplest",)),
        ("old", "JJ", "JJR", ("older",)),
        ("selfies", "NNS", "NN", ("selfie",)),
        ("Hoodies", "NNS", "NN", ("hoodie",)),
        ("learn", None, "VBD", ("learned", "learnt")),
    ],
)
def test_inflect(word: str, fine: str | None, target: str, forms: tuple[str, ...]) -> None:
    found = inflect(word, fine, target)
    assert found.forms == forms
    assert found.unique == (forms[0] if len(forms) == 1 else None)
    assert found.ambiguous is (len(forms) > 1)


@pytest.mark.parametrize(
    ("word", "model", "fine", "forms"),
    [
        ("film", "movies", "NNS", ("films",)),
        ("film", "movie", "NN", ("film",)),
        ("Film", "movies", "NNS", ("Films",)),
        ("go", "sat", "VBD", ("went",)),
        ("go", "like", "VBP", ("go",)),
        ("be", "was", "VBD", ("was",)),
        ("be", "'re", "VBP", ("are",)),
        ("be", "went", "VBD", ("was", "were")),
        ("be", "goes", "VBZ", ("is",)),
        ("film", "the", "DT", ()),
    ],
)
def test_a_word_in_the_form_of_another(
    word: str, model: str, fine: str, forms: tuple[str, ...]
) -> None:
    assert inflect_like(word, model, fine).forms == forms


@pytest.mark.parametrize(
    ("form", "token", "expected"),
    [
        ("was", "is", "was"),
        ("was", "Is", "Was"),
        ("was", "IS", "WAS"),
        ("movies", "Movie", "Movies"),
        ("movies", "MOVIE", "MOVIES"),
        ("mcdonalds", "McDonald", "McDonalds"),
        ("was", "'s", "was"),
        ("was", "'S", "WAS"),
        ("was", "’S", "WAS"),
        ("went", "I", "Went"),
        ("dvds", "DVD", "DVDs"),
        ("vips", "VIP", "VIPs"),
        ("dogs", "DOG", "DOGS"),
        ("dvd", "DVDs", "DVD"),
    ],
)
def test_casing_shape(form: str, token: str, expected: str) -> None:
    assert keep_casing(form, token) == expected


@settings(max_examples=150, deadline=None)
@given(
    st.text(max_size=8) | st.sampled_from(["don't", "ﬁlm", "İ", "a'b", "\x00"]),
    st.sampled_from([*sorted(FINE), "", "_SP", "?"]),
    st.sampled_from(sorted(INFLECTION_TAGS)),
)
def test_any_word_under_any_tag_has_an_answer(word: str, fine: str, target: str) -> None:
    base = lemma(word, fine)
    assert base == base.lower()
    assert lemma(word.upper(), fine) == lemma(word.upper().lower(), fine)
    forms = inflect(word, fine, target).forms
    assert len(set(forms)) == len(forms)
    assert all(form and form == form.lower() for form in forms)


def test_written_forms_are_plain_words_that_differ_by_more_than_a_doubled_letter() -> None:
    listed = _tables()._forms.infl_dict._lines
    words = [word for word in listed if word.isascii() and word.isalpha() and word.islower()]
    for number, word in enumerate(words):
        # Forms that are guessed, as of a noun in the past, take most of the time, and are alike.
        guessed = number % 10 == 0
        for target in (
            INFLECTION_TAGS if guessed else INFLECTION_TAGS & _tables().paradigm(word).keys()
        ):
            forms = inflect(word, None, target).forms
            assert all(re.fullmatch("[a-z]+(-[a-z]+)*", form) for form in forms), (word, forms)
            single = {re.sub(r"(.)\1", r"\1", form) for form in forms}
            assert len(single) == len(forms), (word, forms)


def test_nothing_is_printed_or_loaded_for_words_in_their_base_form() -> None:
    code = (
        "import sys; from sears_dsl.tagging.inflection import inflect, lemma\n"
        "for tag in 'NN NNP VB JJ RB MD DT IN'.split(): lemma('Movie', tag)\n"
        "lemma(\"n't\", 'RB'), lemma('is', 'VBZ'), inflect('is', 'VBZ', 'VBD')\n"
        "sys.exit('lemminflect' in sys.modules or 'spacy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_unknown_tags_print_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    for fine in ("XYZ", "GW", "_SP", "NNPS", "VBD"):
        lemma("Qwertys", fine)
        inflect("Qwertys", fine, "NNS")
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


_TABLES = """
import sys
from sears_dsl.tagging.inflection import _tables, inflect, lemma
told = [lemma('films', 'NNS'), *inflect('film', 'NN', 'NNS').forms]
told.append('spacy' in sys.modules)
import lemminflect as theirs
told += theirs.getInflection('watch', tag='VBD')
print(told)
from lemminflect import config
from lemminflect.codecs.InflectionLUCodec import InflectionLUCodec
from lemminflect.codecs.LemmaLUCodec import LemmaLUCodec
ours = _tables()
lemmas = LemmaLUCodec.load(config.lemma_lu_fn)
forms = InflectionLUCodec.load(config.inflection_lu_fn)
read, inflected = ours._lemmas.lemma_dict, ours._forms.infl_dict
pairs = (lemmas, read), (forms, inflected)
print(*(set(them) == {*us._lines, *us._instead} for them, us in pairs))
print([word for word in lemmas if read.get(word, {}) != lemmas[word]])
print([word for word in forms if inflected.get(word, {}) != forms[word]])
print(theirs.getLemma('mice', 'NOUN'), read.get('no such word', {}))
asked = [(word, kind) for word in (*list(lemmas)[::999], *ours._instead, 'zorbing')
         for kind in ('NOUN', 'VERB', 'ADJ', 'ADV') if word == word.lower()]
print([each for each in asked if ours.lemmas(*each) != theirs.getLemma(*each)])
"""


@pytest.fixture(scope="module")
def tables() -> list[str]:
    """The tables in a new process; the package that they come from imports spaCy."""
    done = subprocess.run(
        [sys.executable, "-c", _TABLES], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_the_tables_come_without_spacy_and_leave_the_package_importable(tables: list[str]) -> None:
    assert tables[0] == "['film', 'films', False, 'watched']"


def test_the_tables_read_line_by_line_are_those_of_the_package(tables: list[str]) -> None:
    assert tables[1:] == ["True True", "[]", "[]", "('mouse',) {}", "[]"]
