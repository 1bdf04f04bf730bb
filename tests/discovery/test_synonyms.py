"""Listed changes: what readers accepted, proposed where enough rows have the words."""

from __future__ import annotations

from pathlib import Path

import pytest

from sears_dsl.discovery.candidates import CandidateRule, Candidates
from sears_dsl.discovery.filtering.text_filter import Corpus
from sears_dsl.discovery.proposing.synonyms import propose_synonyms, synonyms, without_listed
from sears_dsl.errors import DataError
from sears_dsl.language.loader import parse
from sears_dsl.language.printer import print_rule
from sears_dsl.tagging.tagger import load_tagger
from training.synonyms import _IN_PIECES, Place, fold, listed_rules, sentences, write_items
from training.wordnet import Neighbour, WordClass

_ROWS = (
    "They assist us.",
    "We assist them.",
    "Assist two of them.",
    "Assist none of them.",
    "A tiny plan.",
)


def test_a_listed_change_is_proposed_where_enough_rows_have_its_words() -> None:
    tagger = load_tagger("fast")
    tokens = tagger.tag(_ROWS)
    proposed = propose_synonyms(tokens, tagger=tagger, least=2)
    assert {text: row.support for text, row in zip(proposed.texts, proposed.rows, strict=True)} == {
        "assist -> help": 4
    }
    assert "tiny -> small" in propose_synonyms(tokens, tagger=tagger, least=1).texts


def test_a_listed_change_is_made_and_judged_in_any_casing() -> None:
    tagger = load_tagger("fast")
    tokens = tagger.tag(_ROWS)
    proposed = propose_synonyms(tokens, tagger=tagger, least=2)
    rewritten = ["They help us.", "We help them.", "Help two of them.", "Help none of them."]
    assert list(proposed.apply(tokens, tagger=tagger).applications.texts) == rewritten
    corpus = Corpus.of(_ROWS, tagger=tagger, sample=())
    places = corpus.places(proposed.rules, 9, scopes=[each.scope for each in proposed.rows])
    assert sorted(places.texts) == sorted(rewritten)


def test_a_listed_change_takes_the_place_of_what_paraphrases_propose() -> None:
    tagger = load_tagger("fast")
    listed = propose_synonyms(tagger.tag(_ROWS), tagger=tagger, least=2)
    mined = parse("assist -> help\nAssist -> Help\nassist -> aid").rules
    rest = without_listed(Candidates(tuple(map(CandidateRule, mined))), listed)
    assert rest.texts == ("assist -> aid",)


def test_the_list_is_what_readers_accept() -> None:
    listed = [print_rule(rule) for rule in synonyms()]
    assert listed == listed_rules()
    assert {"film -> movie", "a film -> a movie"} & {*listed} == {"film -> movie"}
    # A change in small letters makes that of a capital, too; *TV* is quoted, since it may be a tag.
    assert {"yes -> yeah", "Yes -> Yeah"} & {*listed} == {"yes -> yeah"}
    assert 'television -> "TV"' in listed


def test_only_words_cut_into_tokens_are_in_pieces() -> None:
    for rule in ("built -> constructed", "text -> txt", "e.g. -> for example", "e-mail -> email"):
        assert not _IN_PIECES.search(rule)
    for rule in ("e - mail -> email", "i am -> i 'm", "do n't -> dont", "sept . -> september"):
        assert _IN_PIECES.search(rule)


def test_neighbours_are_of_the_first_meanings_of_a_word(tmp_path: Path) -> None:
    (tmp_path / "data.adj").write_text(
        "  1 the licence\n"
        "00000001 00 a 02 big 0 large(a) 0 002 & 00000002 a 0000 + 00000009 n 0101 | big\n"
        "00000002 00 s 01 huge 1 001 & 00000001 a 0000 | very large\n"
        "00000003 00 a 01 grown_up 0 000 | adult\n",
        "ascii",
    )
    (tmp_path / "index.adj").write_text(
        "  1 the licence\nbig a 2 1 & 2 1 00000001 00000003\n", "ascii"
    )
    words = WordClass(tmp_path, "adj")
    assert words.neighbours("big") == [
        Neighbour("large", same=True, meaning=0),
        Neighbour("huge", same=False, meaning=0),
        Neighbour("grown up", same=True, meaning=1),
    ]
    assert words.neighbours("small") == []


def test_a_wrong_article_says_nothing_about_a_word() -> None:
    place = Place("It is an odd film.", 9, 12)
    assert place.upsets_article("strange")
    assert not place.upsets_article("unusual")
    assert place.shown("unusual") == "It is an [odd → unusual] film."


@pytest.fixture
def sheets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with sheets of two rewrites; what was read is in a file of its own."""
    monkeypatch.setattr("training.synonyms.READ", tmp_path / "read.tsv")
    (tmp_path / "read.tsv").write_text("original\trewrite\n", "utf-8")
    places = [Place("A film.", 2, 6), Place("The film ends.", 4, 8)]
    kinds = dict.fromkeys((each.text for each in places), "books")
    write_items(tmp_path / "sheets", {("film", "movie"): places}, kinds)
    for number in range(1, 5):
        (tmp_path / f"sheets/verdicts{number}.tsv").touch()
    return tmp_path / "sheets"


def test_verdicts_are_folded_once_however_often_one_asks(sheets: Path) -> None:
    shown = (sheets / "sheet0.tsv").read_text("utf-8").splitlines()
    refused = next(line.split("\t")[0] for line in shown if "The" in line)
    verdicts = {"1": "1", "2": "1"} | {refused: "0\tstyle"}
    text = "".join(f"{number}\t{verdict}\n" for number, verdict in verdicts.items())
    (sheets / "verdicts0.tsv").write_text(text, "utf-8")
    for other in ("sheet0.tsv~", "keys.txt"):
        (sheets / other).touch()
    fold(sheets)
    fold(sheets)
    assert (sheets.parent / "read.tsv").read_text("utf-8").splitlines() == [
        "original\trewrite",
        "A film.\tA movie.\tfilm -> movie\tbooks\t1\t\tfit\tkept",
        "The film ends.\tThe movie ends.\tfilm -> movie\tbooks\t0\tstyle\tfit\tkept",
    ]


def test_what_was_read_stays_also_without_a_line_break_at_the_end(sheets: Path) -> None:
    read = sheets.parent / "read.tsv"
    read.write_text("original\trewrite\nA boat.\tA ship.", "utf-8")
    (sheets / "verdicts0.tsv").write_text("1\t1\n2\t1\n", "utf-8")
    fold(sheets)
    assert read.read_text("utf-8").splitlines()[:2] == ["original\trewrite", "A boat.\tA ship."]


@pytest.mark.parametrize("file", ["key1.json", "sheet1.tsv"])
def test_a_sheet_without_its_key_is_not_left_out(sheets: Path, file: str) -> None:
    (sheets / "verdicts0.tsv").write_text("1\t1\n2\t1\n", "utf-8")
    (sheets / file).unlink()
    with pytest.raises(DataError, match=r"has only one of sheet1\.tsv, key1\.json"):
        fold(sheets)


def test_nobody_can_read_a_sheet_before_all_keys_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    monkeypatch.setattr(
        "training.synonyms.write_atomically", lambda path, _: names.append(path.name)
    )
    write_items(tmp_path, {}, {})
    assert names == [f"key{n}.json" for n in range(5)] + [f"sheet{n}.tsv" for n in range(5)]


def test_texts_with_tabs_are_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tabs part the columns of what was read."""
    texts = ["It is a\tgood film .", "It is  a good film ."]
    monkeypatch.setattr("training.synonyms.fetch", lambda _: tmp_path)
    monkeypatch.setattr("training.synonyms.snippets", lambda *_: texts)
    (tmp_path / "books").write_text("He had a\tlarge old boat.\nHe had a large boat.\n", "utf-8")
    shown = sentences(tmp_path / "books", from_books=2)
    assert list(shown) == ["It is  a good film .", "He had a large boat."]


@pytest.mark.parametrize(
    ("verdicts", "place"),
    [
        ("1\t1\n2\tyes\n", "line 2: '2\\\\tyes'"),
        ("1\t 1\n2\t0\n", "line 1"),
        ("1\t1\n2\n", "line 2"),
        ("1\t1\n\n2\t1\n", "line 2"),
        ("1\t1\n3\t0\tstyle\n", "line 2"),
        ("one\t1\n2\t1\n", "line 1"),
        ("1\t1\n1\t0\tstyle\n2\t1\n", "line 2: number 1 has two"),
        ("1\t1\n", "no verdict on number 2"),
    ],
)
def test_what_is_no_verdict_is_no_rejection(sheets: Path, verdicts: str, place: str) -> None:
    (sheets / "verdicts0.tsv").write_text(verdicts, "utf-8")
    with pytest.raises(DataError, match=rf"verdicts0.tsv.*{place}"):
        fold(sheets)
    assert (sheets.parent / "read.tsv").read_text("utf-8") == "original\trewrite\n"


def test_sheets_without_verdicts_and_folders_without_sheets_cannot_be_folded(sheets: Path) -> None:
    with pytest.raises(DataError, match=r"verdicts0.tsv could not be read"):
        fold(sheets)
    with pytest.raises(DataError, match="has no sheets"):
        fold(sheets / "nowhere")


@pytest.mark.parametrize("file", ["key0.json", "verdicts3.tsv"])
def test_verdicts_never_count_for_sheets_of_another_step(sheets: Path, file: str) -> None:
    for path in sheets.iterdir():
        if path.name != file:
            path.unlink()
    with pytest.raises(DataError, match=rf"has {file}(.|\n)*name another folder"):
        write_items(sheets, {}, {})
    assert [path.name for path in sheets.iterdir()] == [file]
