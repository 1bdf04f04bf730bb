"""The Portuguese tagger: spaCy's tokens, written words stay whole, rules over them."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import call

import sears_dsl as sears
from sears_dsl.errors import CompileError, TaggerError
from sears_dsl.tagging.fast.fast_tagger import FastTagger
from sears_dsl.tagging.tagger import in_language, load_named, load_tagger
from training.gold_tagger import fine_tags
from training.treebank import Sentence, read_treebank

TEXTS = [
    "Não quero dá-lo ao Sr. Silva; custou R$50,00 no bar d'água.",
    "Trata-se de guarda-chuvas/bolsas (US$ 3) — «sim», disse-lhe… Etc.",
    "1990-1995, às 15h30; www.exemplo.com.br, x@y.pt :) :-( 20°C. 5km/h",
    "É… não é?! “Só” ‘isso’ 100%. a. o. Dr.ª N.º 5, p.ex. e/ou",
    "don't IT'S DON'T e-mail, pós-graduação; dar-se-ia 1.000,50€",
    "",
    "  \t x\n\ny ",
]

CONTRACTION = """\
1-2\tNo\t_\t_\t_\t_\t_\t_\t_\t_
1\tEm\tem\tADP\t_\t_\t3\tcase\t_\t_
2\to\to\tDET\t_\t_\t3\tdet\t_\t_
3\tbar\tbar\tNOUN\t_\t_\t0\troot\t_\t_
"""


@pytest.fixture(scope="module")
def tagger() -> FastTagger:
    return FastTagger(language="pt")


def test_its_tokens_are_those_of_spacy(tagger: FastTagger) -> None:
    spacy = pytest.importorskip("spacy", reason="the extra spacy is not installed")
    theirs = spacy.blank("pt")
    tokens = tagger.tokenize(TEXTS)
    for row, text in enumerate(TEXTS):
        wanted = [token.text for token in theirs.make_doc(text) if not token.is_space]
        assert [token.text for token in tokens.row(row)] == wanted


def test_what_is_written_as_one_word_is_one_token_with_the_tags_of_both(tagger: FastTagger) -> None:
    tokens = tagger.tag(["O filme passou no cinema da cidade ."]).row(0)
    tags = {token.text: (token.coarse, token.fine) for token in tokens}
    assert tags["no"] == tags["da"] == ("ADP", "ADP-DET")
    assert tags["filme"] == ("NOUN", "NOUN")
    assert tags["passou"] == ("VERB", "VERB")


def test_rules_of_a_language_bring_their_tagger_and_change_nothing_outside_a_match() -> None:
    rules = sears.parse(
        "option language = pt\nrule neste: [tag=ADP-DET & lower=no] filme -> neste filme"
    )
    text = "Sim ,  no\t filme\u00a0 d'água — não\u0301 há ."
    [rewrite] = rules.compile().apply([text])
    assert rewrite.text == text.replace("no\t filme", "neste filme")


def test_a_file_is_tested_and_applied_without_naming_a_tagger(tmp_path: Path) -> None:
    (tmp_path / "a.sear").write_text(
        "option language = pt\nrule bem: muito ADJ -> bem $2\n"
        '  test "É muito bom." => "É bem bom."\n  test "Gosto muito." => none\n',
        "utf-8",
    )
    (tmp_path / "a.txt").write_text("Um filme muito bom.\n", "utf-8")
    tested = call("test", "a.sear", folder=tmp_path)
    assert (tested.returncode, "2 ok" in tested.stdout) == (0, True)
    applied = call("apply", "a.sear", "a.txt", "-o", "-", "--mode", "chain", folder=tmp_path)
    assert "Um filme bem bom." in applied.stdout


def test_taggers_and_rules_of_two_languages_do_not_go_together() -> None:
    rules = sears.parse("option language = pt\nfilme -> obra")
    with pytest.raises(CompileError, match="for language pt"):
        sears.compile_rules([rules], tagger=load_tagger("fast"))
    with pytest.raises(TaggerError, match="no tagger for the language fr"):
        in_language("fast", ["fr"])
    with pytest.raises(TaggerError, match="no tagger 'fast:fr'"):
        load_tagger("fast:fr")
    assert load_named("fast:pt").language == "pt"


def test_words_of_a_treebank_are_read_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(CONTRACTION, "utf-8")
    [sentence] = read_treebank(path, as_written=True)
    assert sentence == Sentence(("No", "bar"), ("ADP-DET", "NOUN"), ("ADP", "NOUN"))
    assert read_treebank(path)[0].words == ("Em", "o", "bar")
    assert "ADP-DET" not in fine_tags([sentence] * 4)
