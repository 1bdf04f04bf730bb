"""spaCy's rules in plain Python cut as spaCy does; the file of these rules."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from tokenizer_texts import generated, rows, wanted

from sears_dsl.errors import TaggerError
from sears_dsl.tagging.fast.cutting import Cutter, file_of_tables, read_tables, shipped_tables
from training import tokenizer_tables

CUTTER = Cutter(shipped_tables("en"))
FILE = file_of_tables("en")


@settings(deadline=None)  # the first one loads spaCy
@given(rows())
@example("x:) )")
@example("(: (x:) ) :) :(")
@example("'Cause—'Cause 'Cause")
@example("said--Mr. Smith and/or—and/or")
@example("." * 40 + "a" + "." * 40)
@example("5km 5 km 5US$ °C. 5°C. 5%. x%")
@example("\ud83d :\ud83d)")
def test_rows_are_cut_as_spacy_cuts_them(text: str) -> None:
    assert CUTTER.cut(text) == wanted(text)


def test_every_special_case_is_cut_as_spacy_cuts_it_between_other_things() -> None:
    for special in shipped_tables("en").specials:
        for text in (
            special,
            f"({special})",
            f"x{special}",
            f"{special},",
            f"{special} )",
            f"x--{special}",
        ):
            assert CUTTER.cut(text) == wanted(text), text


def test_many_more_rows_are_cut_as_spacy_cuts_them() -> None:
    for text in generated(seed=7, count=15_000):
        assert CUTTER.cut(text) == wanted(text), text


@pytest.mark.parametrize(
    "text", ["!" * 1_500, "a-" * 6_000, "ab." * 4_000, "." * 30_000, "é" * 20_000, "(a" * 600]
)
def test_long_chunks_are_cut_as_spacy_cuts_them(text: str) -> None:
    assert CUTTER.cut(text) == wanted(text)


@given(rows(most=4))
def test_a_chunk_is_cut_as_the_row_that_it_is(text: str) -> None:
    for chunk in text.split():
        ends, _ = CUTTER.chunk(chunk)
        assert ends == [end for _, end in CUTTER.cut(chunk)]


@given(rows())
@example("x:) )")
@example(": x:) )")
@example("( x:) :)")
def test_what_is_not_joined_is_cut_alike_in_every_row(text: str) -> None:
    places = set(CUTTER.cut(text))
    start = 0
    for chunk in text.split():
        start = text.index(chunk, start)
        ends, joined = CUTTER.chunk(chunk)
        if joined:
            ends = CUTTER.in_context(text, start, start + len(chunk)) or ends
        for first, last in zip([0, *ends], ends, strict=False):
            assert (start + first, start + last) in places
        start += len(chunk)


def test_a_neighbour_can_keep_tokens_apart() -> None:
    assert CUTTER.chunk("x:)") == ([1, 3], True)
    assert CUTTER.in_context("x:) a", 0, 3) is None
    assert CUTTER.in_context("x:) )", 0, 3) == [1, 2, 3]
    assert CUTTER.in_context("x:)  )", 0, 3) is None


def test_the_command_makes_the_file_that_ships(tmp_path: Path) -> None:
    if shipped_tables("en").source != f"spaCy {metadata.version('spacy')}":
        pytest.skip(f"the file was made from {shipped_tables('en').source}")
    assert tokenizer_tables.main(["--out", str(tmp_path / "english.json")]) == 0
    assert (tmp_path / "english.json").read_bytes() == FILE.read_bytes()


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (b'"format": 1', b'"format": 2', "has format 2"),
        (b"don't", b"dont'", "damaged"),
        (b'"format": 1,', b'"format" 1,', "cannot be read"),
        (b'"format": 1,', b"", "cannot be read"),
    ],
)
def test_a_file_that_does_not_fit_is_an_error(
    tmp_path: Path, old: bytes, new: bytes, what: str
) -> None:
    path = tmp_path / "english.json"
    path.write_bytes(FILE.read_bytes().replace(old, new, 1))
    with pytest.raises(TaggerError, match=what) as raised:
        read_tables(path)
    assert "reinstall it" in raised.value.help


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TaggerError, match="cannot be read"):
        read_tables(tmp_path / "none.json")
