"""`FastTokenizer` cuts exactly as spaCy does, whatever it has seen before."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizer_texts import DATA, WHITE_SPACE, generated, rows, wanted

from sears_dsl.runtime.kernels import Kernel
from sears_dsl.tagging.fast.chunk_kernels import COUNT, END, FIRST, SPACE, describe, marks_of
from sears_dsl.tagging.fast.cutting import Cutter, shipped_tables
from sears_dsl.tagging.fast.tokenizer import FastTokenizer
from sears_dsl.tagging.fast.vocabulary import Cut, Words

# One for all tests, as in use, where it has already seen many rows.
SHARED = FastTokenizer(most_chunks=20_000)
SAMPLES = {
    "throughput/classic_books.txt": 3_000,
    "sentiment/imdb.tsv": 1_000,
    "sentiment/rt.tsv": 1_000,
    "classify/sms_spam.tsv": 5_574,
    "paraphrase/qqp_dev.tsv": 1_500,
    "paraphrase/paws_wiki_dev.tsv": 800,
    "paraphrase/stsb_en_dev.csv": 1_500,
    "fluency/wellformedness_dev.tsv": 2_000,
    "lists/unicode_confusables.txt": 10_000,
    "pos/en_ewt-ud-dev.conllu": 6_000,
    "vqa/vqa2_subset_train.jsonl": 150,
    "adversarial_squad/addonesent.json": 1,
}


def places(cut: Cut, row: int) -> list[tuple[int, int]]:
    here = slice(cut.row_offsets[row], cut.row_offsets[row + 1])
    return list(zip(cut.starts[here].tolist(), cut.ends[here].tolist(), strict=True))


def check(texts: list[str], tokenizer: FastTokenizer = SHARED) -> None:
    expected = list(map(wanted, texts))
    for _ in range(2):  # chunks of few characters are remembered
        cut = tokenizer.tokenize(texts)
        words = iter(tokenizer.words.texts(cut.words.tolist()))
        for row, text in enumerate(texts):
            assert places(cut, row) == expected[row], text
            for start, end in expected[row]:
                assert next(words) == text[start:end]
        assert next(words, None) is None


@settings(deadline=None)  # kernels may be compiled at any time
@given(st.lists(rows(), max_size=4))
@example([])
@example([""])
@example(["", " ", "\n\n", "a", ""])
@example([":)", "x:) )", ")", "x:)", "x:) ("])
def test_tokens_are_those_of_spacy(texts: list[str]) -> None:
    check(texts)


def test_tokens_of_many_more_rows_are_those_of_spacy() -> None:
    check(generated(seed=1, count=15_000))


def test_every_white_space_character_parts_tokens() -> None:
    check([f"a{space}b{space}{other}:){space}" for space in WHITE_SPACE for other in WHITE_SPACE])


def test_long_chunks_and_long_rows_are_cut_as_spacy_cuts_them() -> None:
    check(["ab," * 5_000, "!" * 1_100 + "a", "It's x:) ) red. " * 3_000, "(" * 300 + ":)" * 300])


@pytest.mark.parametrize("name", SAMPLES)
def test_tokens_of_real_text_are_those_of_spacy(name: str) -> None:
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"there is no {path}: set SEARS_DATA to the folder of the data")
    with path.open(encoding="utf-8", errors="surrogateescape") as file:
        check([line.rstrip("\n")[:400_000] for line in itertools.islice(file, SAMPLES[name])])


@settings(deadline=None)  # kernels may be compiled at any time
@given(st.lists(rows(most=6), max_size=8), st.randoms(use_true_random=False))
def test_a_row_is_cut_alike_in_every_company(texts: list[str], random: Any) -> None:
    together = SHARED.tokenize(texts)
    order = list(range(len(texts)))
    random.shuffle(order)
    shuffled = FastTokenizer().tokenize([texts[row] for row in order])
    for place, row in enumerate(order):
        alone = SHARED.tokenize([texts[row]])
        assert places(alone, 0) == places(together, row) == places(shuffled, place)


@settings(deadline=None)  # kernels may be compiled at any time
@given(st.lists(rows(most=6), min_size=1, max_size=8), st.data())
def test_rows_that_come_again_are_cut_as_fresh_ones(texts: list[str], data: st.DataObject) -> None:
    again = FastTokenizer(most_chunks=data.draw(st.sampled_from((100, 100_000))))
    filler = "It's so. " * 120  # few characters are looked up by a dictionary
    for _ in range(4):
        cut = again.tokenize([*texts, filler], again=True)
        fresh = SHARED.tokenize([*texts, filler])
        assert [places(cut, row) for row in range(len(texts))] == [
            places(fresh, row) for row in range(len(texts))
        ]
        assert again.words.texts(cut.words.tolist()) == SHARED.words.texts(fresh.words.tolist())
        stays = data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts)))
        texts = list(itertools.compress(texts, stays))
        for row, text in enumerate(texts):
            low, high = sorted(data.draw(st.integers(0, len(text))) for _ in range(2))
            new = data.draw(
                st.sampled_from(("", " ", "a", ".", ":)", ")", "x y", "\n", text[low:]))
            )
            texts[row] = text[:low] + new + text[high:]


def test_forgetting_changes_no_token_and_begins_new_words() -> None:
    texts = generated(seed=3, count=300)
    forgetful = FastTokenizer(most_chunks=10)
    before = forgetful.words
    one_by_one = [places(forgetful.tokenize([text]), 0) for text in texts]
    assert forgetful.words is not before
    together = FastTokenizer().tokenize(texts)
    assert one_by_one == [places(together, row) for row in range(len(texts))]


def test_long_chunks_are_forgotten_too() -> None:
    tokenizer = FastTokenizer(most_characters=100)
    before = tokenizer.words
    tokenizer.tokenize(["a" * 101])
    assert tokenizer.words is before
    tokenizer.tokenize(["a"])
    assert tokenizer.words is not before
    assert len(tokenizer.words) == 1


def test_many_rows_are_taken_in_blocks() -> None:
    texts = ["It is red. " * 10_000, "", "x"] * 12
    cut = FastTokenizer().tokenize(texts)
    assert np.diff(cut.row_offsets).tolist() == [40_000, 0, 1] * 12
    assert places(cut, 35) == [(0, 1)]


def test_a_failure_while_learning_leaves_nothing_half_known() -> None:
    tokenizer = FastTokenizer(
        replace(shipped_tables("en"), patterns=replace(shipped_tables("en").patterns, infix="("))
    )
    for _ in range(2):
        with pytest.raises(re.error):
            tokenizer.tokenize(["is a♥b"])
    assert places(tokenizer.tokenize(["is it"]), 0) == [(0, 2), (3, 5)]


# ------------------------------------------------------------------------------------- kernels


def kernel_ends(chunks: list[str], run: Any) -> list[list[int] | None]:
    """The ends of each chunk's tokens by `describe`; None if it leaves the chunk to `Cutter`."""
    words = Words(chunks)
    known = np.zeros((len(words), 2), np.int32)
    entries = np.zeros((words.characters, 2), np.int32)
    stack = np.zeros(max(map(len, chunks)), np.int32)
    run(words.table, 0, marks_of(shipped_tables("en")), stack, known, entries, 0)
    return [
        None if count < 0 else entries[first : first + count, END].tolist()
        for first, count in known[:, [FIRST, COUNT]].tolist()
    ]


def test_the_kernel_cuts_every_short_chunk_as_plain_python_does_or_leaves_it() -> None:
    letters = "aBs1.,'’-—…+$/(%~"
    chunks = ["".join(chunk) for n in range(1, 5) for chunk in itertools.product(letters, repeat=n)]
    cutter = Cutter(shipped_tables("en"))
    for chunk, ends in zip(
        chunks, kernel_ends(chunks, cast(Kernel, describe).dispatcher()), strict=True
    ):
        if ends is not None:
            assert (ends, False) == cutter.chunk(chunk), chunk


def test_the_kernel_cuts_words_by_itself() -> None:
    chunks = [
        "word",
        "Word,",
        "\"don't",
        "well-known.",
        "(3.14)",
        "naïve…",
        "said--he",
        "10km",
        "dog’s",
    ]
    plain = kernel_ends(chunks, cast(Kernel, describe).plain)
    assert None not in plain
    assert plain == kernel_ends(chunks, cast(Kernel, describe).dispatcher())
    left = ["日本", "a.b", "1.2.3.4", "x:)", "said--Mr.", "\ud800", "www.x.org"]
    assert kernel_ends(left, cast(Kernel, describe).plain) == [None] * len(left)


PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
from tokenizer_texts import generated
from sears_dsl.tagging.fast.tokenizer import FastTokenizer
texts = generated(seed=11, count=1500)
tokenizer = FastTokenizer()
cut = tokenizer.tokenize(texts)
words = tokenizer.words.texts(cut.words.tolist())
heavy = [name for name in ("numba", "spacy", "pandas", "pyarrow", "torch") if name in sys.modules]
print(json.dumps([*(column.tolist() for column in cut[:3]), words, heavy]))
"""


def test_plain_and_compiled_code_give_the_same() -> None:
    results = []
    for choice in ("never", "always"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(Path(__file__).parent)],
            env={**os.environ, "SEARS_COMPILE": choice, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        )
        results.append(json.loads(done.stdout))
    assert results[0][:4] == results[1][:4]
    assert not results[0][4], "plain code needs no heavy package"
    assert results[1][4] == ["numba"]


def test_white_space_is_what_python_says_it_is() -> None:
    every = [code for code in range(0x110000) if chr(code).isspace()]
    assert np.flatnonzero(SPACE).tolist() == every
