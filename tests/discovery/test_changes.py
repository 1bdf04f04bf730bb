"""Paraphrases are taken apart: each rewording changes one place, and all places are found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.discovery.proposing.changes import Rewording, minimal_change, single_changes
from sears_dsl.tagging.pinned import PinnedTagger

TAGGER = PinnedTagger()
sentences = st.lists(st.sampled_from(["a", "b", "c", "it's", "end."]), min_size=1, max_size=7).map(
    " ".join
)


def alone(*pairs: tuple[str, list[str]], rows: int = 1, longest: int = 3) -> list[str]:
    originals, paraphrases = [one for one, _ in pairs], [found for _, found in pairs]
    found = single_changes(originals, paraphrases, tagger=TAGGER, rows=rows, longest=longest)
    return [each.text for each in found]


def test_each_place_is_changed_by_itself() -> None:
    assert alone(("The movie is good, really.", ["The film is nice, truly."])) == [
        "The film is good, really.",
        "The movie is nice, really.",
        "The movie is good, truly.",
    ]


def test_words_keep_to_what_they_touched() -> None:
    assert alone(("It is good!", ["It's good."])) == ["It's good!", "It is good."]


def test_words_go_and_come_with_their_spaces() -> None:
    assert alone(("a very good one", ["a good one"])) == ["a good one"]
    assert alone(("a good one", ["a very good one"])) == ["a very good one"]
    assert alone(("one good", ["one"])) == ["one"]
    assert alone(("good", ["very good"])) == ["very good"]


def test_a_change_that_one_row_proposes_is_left() -> None:
    pairs = [("a movie", ["a film", "one movie"]), ("the movie", ["the film"])]
    assert alone(*pairs, rows=2) == ["a film", "the film"]
    twice = ("a movie or a movie", ["a film or a movie", "a movie or a film"])
    assert alone(twice, rows=2) == []


def test_another_tokenization_of_the_same_text_is_no_rewording() -> None:
    assert alone(("a film -rrb- b", ["a film - rrb - b"]), ("it's b", ["it 's b"])) == []


def test_a_long_change_is_left() -> None:
    assert alone(("a b c d e", ["v w x y e"])) == []
    assert alone(("a b c d e", ["v w x y e"]), longest=4) == ["v w x y e"]


@given(sentences, st.lists(sentences, max_size=3))
def test_a_rewording_changes_one_run_of_tokens(original: str, paraphrases: list[str]) -> None:
    found = single_changes([original], [paraphrases], tagger=TAGGER, rows=1, longest=3)
    for each in found:
        assert isinstance(each, Rewording)
        assert each.original == original
        cut = TAGGER.tokenize([original, each.text])
        change = minimal_change(cut.row(0), cut.row(1))
        assert change is None or max(change.end - change.start, len(change.words)) <= 3


@given(sentences, sentences)
def test_all_changes_together_make_the_paraphrase(original: str, paraphrase: str) -> None:
    found = alone((original, [paraphrase]), longest=99)
    if len(found) == 1:
        assert found == [paraphrase]
    assert bool(found) == (original != paraphrase)
