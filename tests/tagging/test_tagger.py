"""Taggers: their tokens, independence of batches and processes, and plain errors."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.errors import TaggerError
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.tagging.spacy_tagger import SpacyTagger
from sears_dsl.tagging.tagger import Tagger, load_tagger
from sears_dsl.tagging.tokens import Token, Tokens, text_groups

DATA = Path(os.environ.get("SEARS_DATA") or Path(__file__).parents[3] / "shared" / "data")
ODD_ROWS = [
    "",
    "   ",
    "\n\t\u00a0",
    " What  color is it ? ",
    "It's \ud800 broken \udfff\ud83d.",
    "a nul \x00 and a\x00b",
    "👩‍👩‍👧 is e\u0301 family\u2028on two\u0085lines",
    "x:) ) and (:",
]

WHITE_SPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
# What tokenizers get wrong: emoticons, clitics, units, addresses, marks of every kind.
PIECES = r"""
    a B 7 . , : ; ) ( - ' ’ " ? ! / $ % … — _ * ^ = > < é ß 語 🎉
    :) :( ;-) (: :)) :-)) (^_^) ._. o.O 8) xD <3 \o/ :] ='(
    don't it's 's n't can't gonna Let's I'm we've rock'n'roll 'em y'all John's dogs'
    U.S. e.g. Dr. Mr. a.m. 10am 5p.m. 3.50 $5 10% 1,000 km² #tag @me
    http://a.b/c?d=1&e=2, www.x.org a@b.com file.txt 192.168.0.1 -- ... -LRB- and/or
""".split()  # noqa: SIM905 - a list of them is harder to read
INVISIBLE = ["\u200b", "\u0301", "\ufffd", "\x00", "\ud800"]
rows = st.lists(
    st.one_of(
        st.sampled_from(PIECES),
        st.sampled_from(INVISIBLE),
        st.sampled_from(WHITE_SPACE),
        st.just(" "),
        st.characters(exclude_categories=[]),
    ),
    max_size=12,
).map("".join)


@pytest.fixture(scope="module")
def spacy_tagger() -> Iterator[SpacyTagger]:
    pytest.importorskip("spacy", reason="spaCy is not installed")
    with SpacyTagger() as tagger:
        yield tagger


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    path = DATA / "sentiment" / "imdb.tsv"
    if not path.exists():
        pytest.skip(f"there is no {path}: set SEARS_DATA to the folder of the data")
    lines = path.read_text("utf-8").split("\n")  # there are other line breaks in the texts
    return [line.split("\t", 1)[1] for line in lines if line]


def rows_of(tokens: Tokens) -> list[list[Token]]:
    return [tokens.row(row) for row in range(len(tokens))]


def places(tokens: Tokens, row: int) -> list[tuple[str, int, int]]:
    return [(token.text, token.start, token.end) for token in tokens.row(row)]


# ---------------------------------------------------------------- names


def test_pinned_is_found_by_its_name() -> None:
    assert isinstance(load_tagger("pinned"), PinnedTagger)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("spicy", "no tagger 'spicy'"),
        ("", "no tagger ''"),
        ("spacy:no_such_model", "no spaCy model 'no_such_model'"),
        ("spacy:sears_dsl", "no spaCy model 'sears_dsl'"),
        ("no_such_module:make", "could not be imported"),
        ("sears_dsl.errors:make", "could not be imported"),
        ("fast:en", "no tagger 'fast:en'"),
        ("json:loads", "could not be made: TypeError"),
        ("builtins:dict", "returned an object of type dict, which is not a tagger"),
    ],
)
def test_an_unknown_tagger_is_an_error_with_help(name: str, message: str) -> None:
    with pytest.raises(TaggerError, match=message) as caught:
        load_tagger(name)
    assert caught.value.help


def test_a_missing_model_says_how_to_install_it() -> None:
    with pytest.raises(TaggerError, match=r"pip install 'sears-dsl\[spacy\]'"):
        load_tagger("spacy:no_such_model")


def test_no_jobs_is_an_error() -> None:
    with pytest.raises(TaggerError, match="jobs is 0"):
        load_tagger("spacy", jobs=0)


def test_a_tagger_of_ones_own_is_called() -> None:
    tagger = load_tagger("sears_dsl.tagging.pinned:PinnedTagger")
    assert tagger.tag(["a/DET/DT"]).row(0) == [Token("a", "DET", "DT", 0, 1)]


def test_naming_spacy_does_not_load_it() -> None:
    pytest.importorskip("spacy", reason="spaCy is not installed")
    code = (
        "import sys; from sears_dsl.tagging.tagger import load_tagger; t = load_tagger('spacy');"
        "print(t.name, '|', t.version, '|', t.language, '|', 'spacy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    name, version, language, loaded = done.stdout.strip().split(" | ")
    assert name.startswith("spacy:en_core_web_sm")
    assert "spacy 3." in version
    assert (language, loaded) == ("en", "False")


# ---------------------------------------------------------------- spaCy's tokens


def test_it_is_a_tagger(spacy_tagger: SpacyTagger) -> None:
    assert isinstance(spacy_tagger, Tagger)


def test_words_have_coarse_and_fine_tags(spacy_tagger: SpacyTagger) -> None:
    (row,) = rows_of(spacy_tagger.tag(["Who is it?"]))
    assert row == [
        Token("Who", "PRON", "WP", 0, 3),
        Token("is", "AUX", "VBZ", 4, 6),
        Token("it", "PRON", "PRP", 7, 9),
        Token("?", "PUNCT", ".", 9, 10),
    ]


def test_odd_rows_keep_their_characters(spacy_tagger: SpacyTagger) -> None:
    tagged, bare = spacy_tagger.tag(ODD_ROWS), spacy_tagger.tokenize(ODD_ROWS)
    assert list(tagged.texts) == ODD_ROWS
    for row, text in enumerate(ODD_ROWS):
        assert places(tagged, row) == places(bare, row)
        assert "".join(token.text for token in tagged.row(row)) == "".join(text.split())
        assert all(token.text == text[token.start : token.end] for token in tagged.row(row))
        assert all(token.coarse and token.fine for token in tagged.row(row))
    assert tagged.tagged
    assert not bare.tagged
    assert not any(kind.coarse or kind.fine for kind in bare.types)


@settings(max_examples=150, deadline=None)
@given(texts=st.lists(rows, max_size=6))
def test_tokens_are_those_of_spacy(spacy_tagger: SpacyTagger, texts: list[str]) -> None:
    tokenizer = spacy_pipeline(spacy_tagger).tokenizer
    tokens = spacy_tagger.tokenize(texts)
    for row, text in enumerate(texts):
        readable = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if len(readable) != len(text):  # two lone surrogates that make a pair
            continue
        wanted = [
            (text[token.idx : token.idx + len(token)], token.idx, token.idx + len(token))
            for token in tokenizer(readable)
            if not token.is_space
        ]
        assert places(tokens, row) == wanted


def spacy_pipeline(tagger: SpacyTagger) -> Any:
    """spaCy itself, loaded as its users do."""
    import spacy

    global _PIPELINE  # noqa: PLW0603 - loading takes a second
    if _PIPELINE is None:
        _PIPELINE = spacy.load(tagger.model, exclude=["parser", "ner", "lemmatizer"])
    return _PIPELINE


_PIPELINE: Any = None


def test_real_text_is_cut_and_tagged_as_by_spacy(
    spacy_tagger: SpacyTagger, sentences: list[str]
) -> None:
    pipeline = spacy_pipeline(spacy_tagger)
    tokens = spacy_tagger.tokenize(sentences)
    for row, text in enumerate(sentences):
        doc = pipeline.tokenizer(text)
        wanted = [(t.text, t.idx, t.idx + len(t)) for t in doc if not t.is_space]
        assert places(tokens, row) == wanted
    tagged = spacy_tagger.tag(sentences[:100])
    for row, doc in enumerate(pipeline.pipe(sentences[:100])):
        words = [token for token in doc if not token.is_space]
        assert [token[:4] for token in tagged.row(row)] == [
            (token.text, token.pos_, token.tag_, token.idx) for token in words
        ]


def test_tags_do_not_depend_on_the_batch(spacy_tagger: SpacyTagger, sentences: list[str]) -> None:
    some = sentences[:150]
    together = rows_of(spacy_tagger.tag(some))
    assert [spacy_tagger.tag([text]).row(0) for text in some] == together
    assert rows_of(spacy_tagger.tag(some[::-1]))[::-1] == together


def test_forgetting_words_changes_nothing(spacy_tagger: SpacyTagger) -> None:
    texts = [f"The {k} moovies weren't {k}th :) ." for k in range(40)] + ODD_ROWS
    forgetful = SpacyTagger(most_words=0)
    for _ in range(2):
        assert rows_of(forgetful.tag(texts)) == rows_of(spacy_tagger.tag(texts))
        assert rows_of(forgetful.tokenize(texts)) == rows_of(spacy_tagger.tokenize(texts))
    assert forgetful.sentences(texts) == spacy_tagger.sentences(texts)
    known = len(forgetful._loaded().vocab.strings)
    forgetful.tag(["unheardofword"])
    assert len(forgetful._loaded().vocab.strings) == known


def test_equal_texts_get_equal_rows(spacy_tagger: SpacyTagger) -> None:
    texts = ["It is red.", "Is it?", "It is red.", "", "Is it?"]
    tagged = spacy_tagger.tag(texts)
    assert list(tagged.texts) == texts
    assert tagged.row(0) == tagged.row(2) != tagged.row(1) == tagged.row(4)


def test_a_very_long_row_is_tagged_like_its_parts(spacy_tagger: SpacyTagger) -> None:
    part = "The movie was n't what we 'd hoped for ; it 's a long , slow film by Dr. Who . "
    copies = 500
    long_row = part * copies
    (tagged,) = rows_of(spacy_tagger.tag([long_row]))
    per_copy = len(tagged) // copies
    assert per_copy * copies == len(tagged)
    tags = [token.fine for token in tagged]
    middle = tags[per_copy : 2 * per_copy]
    assert tags[per_copy:-per_copy] == middle * (copies - 2)
    assert "".join(token.text for token in tagged) == "".join(long_row.split())
    whole = spacy_pipeline(spacy_tagger)(long_row)
    assert tags == [token.tag_ for token in whole if not token.is_space]


def test_words_of_rules_are_split_as_in_text(spacy_tagger: SpacyTagger) -> None:
    assert spacy_tagger.split("What's") == ("What", "'s")
    assert spacy_tagger.split(" don't ") == ("do", "n't")
    assert spacy_tagger.split("") == ()


def test_sentences_leave_out_white_space_alone(spacy_tagger: SpacyTagger) -> None:
    text = "  Hello there. I am Dr. Who, and this is it!  What? \n\nYes. "
    found = spacy_tagger.sentences([text, "", " \n "])
    assert [text[start:end] for start, end in found[0]] == [
        "Hello there.",
        "I am Dr. Who, and this is it!",
        "What?",
        "Yes.",
    ]
    assert found[1:] == [[], []]


# ---------------------------------------------------------------- several processes


def test_processes_change_nothing(spacy_tagger: SpacyTagger) -> None:
    # Mostly white space: much to send, little to tag.
    texts = [f"The {k} movies weren't{' ' * 800}good \ud800 :) ." for k in range(600)] + ODD_ROWS
    with SpacyTagger(jobs=2) as several:
        tagged = several.tag(texts)
    sample = [*range(0, 600, 50), *range(600, len(texts))]
    alone = spacy_tagger.tag([texts[row] for row in sample])
    assert rows_of(tagged.select(sample)) == rows_of(alone)
    assert list(tagged.texts) == texts


def test_a_model_that_fails_in_the_processes_is_an_error_not_a_wait(tmp_path: Path) -> None:
    """The second time too; the processes are then new, and report what stops them now."""
    pytest.importorskip("spacy", reason="spaCy is not installed")
    meta = tmp_path / "meta.json"
    meta.write_text('{"lang": "en", "version": "1", "components": []}')
    texts = [str(k) * 60_000 for k in range(4)]
    with SpacyTagger(str(tmp_path), jobs=2) as several:
        with pytest.raises(TaggerError, match="could not be loaded"):
            several.tag(texts)
        meta.unlink()
        with pytest.raises(TaggerError, match="there is no spaCy model"):
            several.tag(texts)


def test_a_model_in_a_folder_has_a_version_of_its_files(tmp_path: Path) -> None:
    pytest.importorskip("spacy", reason="spaCy is not installed")
    (tmp_path / "meta.json").write_text('{"lang": "de", "version": "1"}')
    before = load_tagger(f"spacy:{tmp_path}")
    (tmp_path / "weights").write_bytes(b"trained anew")
    after = load_tagger(f"spacy:{tmp_path}")
    assert before.language == after.language == "de"
    assert before.version != after.version


# ---------------------------------------------------------------- batches of tokens

token_rows = st.lists(
    st.lists(
        st.sampled_from([("is", "AUX", "VBZ"), ("a", "DET", "DT"), ("a", "", "")]), max_size=4
    ),
    max_size=5,
)


def build(batch: list[list[tuple[str, str, str]]]) -> Tokens:
    texts = [" ".join(word for word, _, _ in row) for row in batch]
    spans: list[list[Token]] = []
    for row in batch:
        start, tokens = 0, []
        for word, coarse, fine in row:
            tokens.append(Token(word, coarse, fine, start, start + len(word)))
            start += len(word) + 1
        spans.append(tokens)
    return Tokens.from_rows(texts, spans)


@given(st.lists(token_rows, max_size=4))
def test_concatenating_keeps_every_row(batches: list[list[list[tuple[str, str, str]]]]) -> None:
    built = [build(batch) for batch in batches]
    joined = Tokens.concatenate(built)
    assert rows_of(joined) == [row for batch in built for row in rows_of(batch)]
    assert len(set(joined.types)) == len(joined.types)


@given(token_rows.filter(bool), st.data())
def test_selecting_gives_the_rows_asked_for(
    batch: list[list[tuple[str, str, str]]], data: st.DataObject
) -> None:
    built = build(batch)
    chosen = data.draw(st.lists(st.integers(0, len(batch) - 1), max_size=6))
    picked = built.select(chosen)
    assert rows_of(picked) == [built.row(row) for row in chosen]
    assert list(picked.texts) == [built.texts[row] for row in chosen]


@given(token_rows)
def test_tokens_from_spans_are_those_from_rows(batch: list[list[tuple[str, str, str]]]) -> None:
    built = build(batch)
    pairs = [("AUX", "VBZ"), ("DET", "DT"), ("", "")]
    tags = [pairs.index((token.coarse, token.fine)) for row in rows_of(built) for token in row]
    again = Tokens.from_spans(
        built.texts,
        row_offsets=built.row_offsets,
        starts=built.starts,
        ends=built.ends,
        tag_ids=np.array(tags, np.int32),
        tag_pairs=pairs,
    )
    assert rows_of(again) == rows_of(built)
    assert sorted(again.types) == sorted(built.types)


@given(st.lists(st.text(max_size=9)), st.integers(1, 20))
def test_groups_of_texts_lose_none(texts: list[str], characters: int) -> None:
    groups = [list(group) for group in text_groups(texts, characters=characters)]
    assert [text for group in groups for text in group] == texts
    assert all(groups)
