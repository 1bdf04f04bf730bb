"""The weights can be remade: reading, counting, learning and packing on small samples."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from sears_dsl.errors import DataError
from sears_dsl.tagging.fast.fast_tagger import Perceptron
from sears_dsl.tagging.fast.weights import load
from training import evaluation
from training.coarse import COARSE, coarse_table
from training.packing import LARGEST, pack
from training.perceptron import Learned, describe_words, learn, pack_examples
from training.silver import Silver
from training.tagger import FINE, joined, numbers, training_rows
from training.treebank import Sentence, read_treebank, tag_words
from training.weight_files import save

DATA = Path(os.environ.get("SEARS_DATA", Path(__file__).parents[4] / "shared" / "data"))
CONLLU = """# sent_id = weblog-0001
# text = It's red.
1-2\tIt's\t_\t_\t_\t_\t_\t_\t_\t_
1\tIt\tit\tPRON\tPRP\t_\t3\tnsubj\t_\t_
2\t's\tbe\tAUX\tVBZ\t_\t3\tcop\t_\t_
2.1\tdark\tdark\tADJ\tJJ\t_\t_\t_\t_\t_
3\tred\tred\tADJ\tJJ\t_\t0\troot\t_\t_
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

"""

SENTENCES = [
    Sentence(("It", "is", "red", "."), ("PRP", "VBZ", "JJ", "."), ("PRON", "AUX", "ADJ", "PUNCT")),
    Sentence(("It", "is", "a", "dog"), ("PRP", "VBZ", "DT", "NN"), ("PRON", "AUX", "DET", "NOUN")),
    Sentence(("I", "dog", "it"), ("PRP", "VBP", "PRP"), ("PRON", "VERB", "PRON")),
    Sentence(("a", "red", "hat", "."), ("DT", "JJ", "NN", "."), ("DET", "ADJ", "NOUN", "PUNCT")),
] * 6
_OF_FINE = {"PRP": "PRON", "VBZ": "VERB", "VBP": "VERB", "JJ": "ADJ", "DT": "DET", "NN": "NOUN"}
_REST = [_OF_FINE.get(tag, "PUNCT") for tag in FINE]
ANSWERS = {
    "": tuple(map(COARSE.index, _REST)),
    "is": tuple(COARSE.index("AUX" if tag == "VERB" else tag) for tag in _REST),
}


def learned(*, seed: int = 0, margin: int = 4) -> Learned:
    rows = training_rows(SENTENCES, [Silver(["a", "dog"], ["DT", "NN"])], emphasis=2, seed=1)
    return learn(pack_examples(rows), passes=3, margin=margin, seed=seed)


def saved(what: Learned, path: Path) -> bytes:
    about = {"fine": FINE, "coarse": COARSE}
    save(pack(what, unit=0.25, least=0.5, about=about, coarse=coarse_table(ANSWERS)), path)
    return path.read_bytes()


def test_a_treebank_is_read_word_by_word(tmp_path: Path) -> None:
    path = tmp_path / "small.conllu"
    path.write_text(CONLLU, "utf-8")
    assert read_treebank(path) == [
        Sentence(
            ("It", "'s", "red", "."),
            ("PRP", "VBZ", "JJ", "."),
            ("PRON", "AUX", "ADJ", "PUNCT"),
            "weblog",
        )
    ]
    path.write_text("1\tno\tcolumns", "utf-8")
    with pytest.raises(DataError, match="3 columns"):
        read_treebank(path)
    with pytest.raises(DataError, match="could not be read"):
        read_treebank(tmp_path / "absent.conllu")


def test_sentences_are_joined_in_order_and_none_is_lost() -> None:
    rows = joined(SENTENCES, seed=3)
    assert [w for words, _ in rows for w in words] == [w for s in SENTENCES for w in s.words]
    assert [t for _, tags in rows for t in tags] == [t for s in SENTENCES for t in numbers(s.fine)]
    assert {len(words) for words, _ in rows} & {7, 8, 11, 12}


def test_it_learns_what_it_is_shown(tmp_path: Path) -> None:
    saved(learned(), tmp_path / "w.npz")
    tagger = Perceptron(load(tmp_path / "w.npz"))
    for sentence in SENTENCES[:4]:
        fine, coarse = tag_words(tagger, [sentence.words])[0]
        assert (tuple(fine), tuple(coarse)) == sentence[1:3]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first = saved(learned(), tmp_path / "a.npz")
    assert saved(learned(), tmp_path / "b.npz") == first
    assert saved(learned(seed=1), tmp_path / "c.npz") != first


def test_a_stored_weight_is_within_half_a_unit(tmp_path: Path) -> None:
    what = learned()
    unit, least = 0.25, 0.5
    stored = pack(what, unit=unit, least=least, about={}, coarse=coarse_table(ANSWERS))
    rows = np.repeat(np.arange(len(stored.row_sizes)), stored.row_sizes)
    hashed = len(stored.row_keys)
    place = {int(key): row for row, key in enumerate(what.row_keys)}
    for row, tag, weight in zip(rows, stored.entry_tags, stored.entry_weights, strict=True):
        fixed = row - hashed + len(what.row_keys)
        exact = what.weights[place[int(stored.row_keys[row])] if row < hashed else fixed, tag]
        assert abs(exact) >= least
        assert abs(np.clip(exact / unit, -LARGEST, LARGEST) - weight) <= 0.5
    assert len(rows) == (np.abs(what.weights) >= least).sum()


def test_tags_that_are_not_learned_leave_no_trace() -> None:
    rows = [(("odd", "words"), numbers(["XX", "GW"]), 1)] * 5
    result = learn(pack_examples([*rows, (("a",), numbers(["DT"]), 1)]), passes=2)
    keys = describe_words(["odd"])[0]
    assert not result.weights[: len(result.row_keys)][np.isin(result.row_keys, keys)].any()


@pytest.mark.skipif(
    not (DATA / "pos" / "en_ewt-ud-dev.conllu").exists(),
    reason="UD EWT is not in ../shared/data (SEARS_DATA names another folder)",
)
def test_the_shipped_weights_are_as_good_as_the_card_says() -> None:
    sentences = read_treebank(DATA / "pos" / "en_ewt-ud-dev.conllu")
    found = tag_words(Perceptron(load()), [sentence.words for sentence in sentences])
    words = sum(len(sentence.words) for sentence in sentences)
    fine, coarse = (
        sum(
            a == b
            for sentence, tags in zip(sentences, found, strict=True)
            for a, b in zip(sentence[1 + column], tags[column], strict=True)
        )
        / words
        for column in (0, 1)
    )
    assert fine >= 0.94
    assert coarse >= 0.92


def test_a_label_before_each_text_is_no_word_of_it(tmp_path: Path) -> None:
    file = tmp_path / "labelled"
    file.write_text("0 2 dull hours .\n1 a gem .\n", "utf-8")
    assert evaluation._texts(file) == ["2 dull hours .", "a gem ."]
    file.write_text("2 dull hours .\na gem .\nno\t3 stars\n", "utf-8")
    assert evaluation._texts(file) == ["2 dull hours .", "a gem .", "3 stars"]
