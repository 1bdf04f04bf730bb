"""Noise on SQuAD's development set: shares are as stated, and answers keep their places."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from naive_noise import chosen

from sears_dsl.batch.files import ApplyRequest, apply_file
from sears_dsl.batch.workers import RulesetRecipe
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.noise.characters import lookalikes
from sears_dsl.engine.noise.draws import Draw
from sears_dsl.language.loader import parse
from sears_dsl.tagging.fast.fast_tagger import FastTagger

DATA = Path(os.environ.get("SEARS_DATA", Path(__file__).parents[3] / "shared" / "data"))
DEV = DATA / "squad" / "dev-v1.1.json"
_WORDS = re.compile("[A-Za-z]+")
LOOK_ALIKES = "_ -> $1.homoglyph(25%)\n  rate: 100%"

pytestmark = pytest.mark.skipif(
    not DEV.exists(), reason=f"there is no {DEV}: set SEARS_DATA to the folder of the data"
)


@pytest.fixture(scope="module")
def tagger() -> FastTagger:
    return FastTagger()


def contexts(document: dict[str, Any]) -> list[str]:
    return [each["context"] for article in document["data"] for each in article["paragraphs"]]


def test_a_quarter_of_a_paragraph_is_a_quarter(tagger: FastTagger) -> None:
    texts = contexts(json.loads(DEV.read_text("utf-8")))[:300]
    noisy = [row.text for row in compile_rules([parse(LOOK_ALIKES)], tagger=tagger).chain(texts)]
    pairs = [pair for each in zip(texts, noisy, strict=True) for pair in zip(*each, strict=True)]
    characters = sum(not one.isspace() for one, _ in pairs)
    assert characters == 198_026
    assert round(100 * sum(one != other for one, other in pairs) / characters, 3) == 24.999
    table = lookalikes()
    assert all(one == other or table[other] == one for one, other in pairs), "it can be mapped back"
    picked = words = 0
    for text in texts:
        places = [(word.start(), 0) for word in _WORDS.finditer(text)]
        few, more, most = (
            chosen(places, text, share, "rate", Draw()) for share in (100_000, 250_000, 500_000)
        )
        assert set(few) <= set(more) <= set(most)
        picked, words = picked + len(more), words + len(places)
    assert round(100 * picked / words, 2) == 25.03
    taken: set[tuple[int, int]] = set()
    texts = texts[:80]
    words = sum(map(len, map(_WORDS.findall, texts)))
    for rate in (10, 25, 50):
        rules = parse(f"/[A-Za-z]+/ -> $1.double\n  rate: {rate}%")
        done = compile_rules([rules], tagger=tagger).apply(texts)
        places = {(each.row, edit.start) for each in done for edit in each.edits}
        assert taken <= places
        assert abs(len(places) / words - rate / 100) < 0.01
        taken = places


def test_more_than_half_of_the_characters_have_a_look_alike() -> None:
    kinds = Counter("".join(contexts(json.loads(DEV.read_text("utf-8")))))
    able = sum(count for kind, count in kinds.items() if kind in lookalikes())
    characters = sum(count for kind, count in kinds.items() if not kind.isspace())
    assert round(100 * able / characters, 2) == 56.66


@pytest.mark.parametrize("unit", ["text", "sentence"])
def test_answers_of_the_whole_file_stay_where_they_were(
    unit: str, tmp_path: Path, tagger: FastTagger
) -> None:
    before = json.loads(DEV.read_text("utf-8"))
    if unit == "sentence":
        before["data"] = before["data"][::6]
    (tmp_path / "dev.json").write_text(json.dumps(before), "utf-8")
    rules = LOOK_ALIKES if unit == "text" else "option unit = sentence\n<unit> -> $0.homoglyph(5)"
    request = ApplyRequest(
        recipe=RulesetRecipe((parse(rules),)),
        input=str(tmp_path / "dev.json"),
        output=str(tmp_path / "noisy.json"),
        mode="chain",
        columns=("context",),
        protect=("answers",),
    )
    apply_file(request)
    after = json.loads((tmp_path / "noisy.json").read_text("utf-8"))
    asked = 0
    for old, new in zip(before["data"], after["data"], strict=True):
        for was, now in zip(old["paragraphs"], new["paragraphs"], strict=True):
            asked += len(now["qas"])
            for question in now["qas"]:
                for answer in question["answers"]:
                    start = answer["answer_start"]
                    assert now["context"][start : start + len(answer["text"])] == answer["text"]
            if unit == "sentence":
                spans = {(each["answer_start"], each["answer_start"] + len(each["text"]))
                         for question in was["qas"] for each in question["answers"]}  # fmt: skip
                for start, end in tagger.sentences([was["context"]])[0]:
                    if any(low < end and start < high for low, high in spans):
                        assert now["context"][start:end] == was["context"][start:end]
    assert asked == (10_570 if unit == "text" else 1_381)
    changed = sum(
        one != other for one, other in zip(contexts(before), contexts(after), strict=True)
    )
    assert changed > asked / 10
