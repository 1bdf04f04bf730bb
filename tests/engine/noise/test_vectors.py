"""Neighbours: the nearest word of a table, in the same casing; errors about files."""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from sears_dsl.batch.workers import RulesetRecipe
from sears_dsl.engine.compile.requirements import hindrances
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.noise import vectors as vectors_module
from sears_dsl.engine.noise.sources import Sources
from sears_dsl.engine.noise.vectors import (
    _GLOVE_NEIGHBOURS,
    WordVectors,
    _shipped_neighbours,
    load_vectors,
)
from sears_dsl.errors import DataError, RuleSyntaxError
from sears_dsl.language.loader import load, parse
from sears_dsl.rule_tests import run_tests
from sears_dsl.tagging.pinned import PinnedTagger

FILE = "movie 1 0\nfilm 0.9 0.1\ntree 0 1\nbush 0.1 0.9\nnothing 0 0\nFilm 0.95 0.05\n"
RULE = "/[A-Za-z]+/ -> $1.neighbor"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "four.txt"
    path.write_text(FILE, "utf-8")
    return path


def test_the_nearest_word_is_written_in_the_casing_of_the_word(file: Path) -> None:
    vectors = load_vectors(str(file))
    matcher = compile_rules(
        [parse(RULE)], tagger=PinnedTagger({}), sources=Sources(vectors=vectors)
    )
    texts = ["tree house", "Tree", "TREE", "the tree", "nothing"]
    done = matcher.apply(texts, scope="all")
    assert [each.text for each in done] == ["bush house", "Bush", "BUSH", "the bush"]
    assert done.unrenderable[0] == 3  # house, the, nothing


def test_manifests_name_the_vectors_with_rows_and_hash(file: Path) -> None:
    rules = parse(f"option vectors = {file}\n{RULE}")
    named = RulesetRecipe((rules,), tagger="pinned", vectors=str(file)).identity()["vectors"]
    digest = sha256(file.read_bytes()).hexdigest()
    assert named == f"four.txt, 6 words, sha256 {digest}"
    assert RulesetRecipe((rules,), tagger="pinned").identity()["vectors"] == named


def test_a_rate_passes_over_words_without_neighbours(file: Path) -> None:
    sources = Sources(vectors=load_vectors(str(file)))
    rules = parse(f"{RULE}\n  rate: 100%")
    matcher = compile_rules([rules], tagger=PinnedTagger({}), sources=sources)
    assert [each.text for each in matcher.apply(["a tree of films"])] == ["a bush of films"]


def test_no_word_is_its_own_neighbour_in_any_casing(file: Path) -> None:
    vectors = load_vectors(str(file))
    assert vectors.nearest(["film", "Film", "movie"]) == ["movie", "movie", "Film"]


def test_a_neighbour_does_not_depend_on_what_else_is_asked_and_ties_go_to_the_first() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(500, 8)).astype(np.float32)
    table[400] = table[3]
    words = [f"w{n}" for n in range(500)]
    vectors = WordVectors(words, table, identity="random")
    together = vectors.nearest(words)
    assert together == [vectors.nearest([word])[0] for word in words]
    assert together[400] == "w3"
    assert together[3] == "w400"
    others = [near for word, near in zip(words, together, strict=True) if word != "w3"]
    assert "w400" not in others


def test_of_vectors_that_single_precision_takes_for_the_wrong_order_the_nearer_is_taken() -> None:
    table = np.array([[1, 0], [2266, 4], [1700, 3]], np.float32)
    assert WordVectors(["film", "movie", "play"], table, identity="x").nearest(["film"]) == ["play"]


@pytest.mark.filterwarnings("error")
def test_a_vector_of_zeros_is_nobodys_neighbour_and_has_none() -> None:
    words = ["film", "nothing", "tree"]
    table = np.array([[1, 0], [0, 0], [0, 1]], np.float32)
    assert WordVectors(words, table, identity="x").nearest(words) == ["tree", None, "film"]
    assert WordVectors(words[:2], table[:2], identity="x").nearest(["film"]) == [None]


def test_neighbours_that_were_worked_out_before_are_taken_and_others_worked_out() -> None:
    words = ["film", "movie", "tree", "bush", "rare"]
    table = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9], [0.8, 0.2]], np.float32)
    stored = np.array([3, -1], np.int32)  # not what the table says, so that one sees it
    vectors = WordVectors(words, table, identity="x", neighbours=stored)
    assert vectors.nearest(["film", "movie", "tree", "none"]) == ["bush", None, "bush", None]


def test_the_neighbours_that_come_along_are_for_one_file_of_vectors_alone() -> None:
    with np.load(_GLOVE_NEIGHBOURS) as stored:
        identity, neighbours = str(stored["identity"]), stored["neighbours"]
    assert identity.startswith("glove-6b-50d, 400,000 words, sha256 ")
    assert np.array_equal(_shipped_neighbours(identity), neighbours)
    assert len(neighbours) == 100_000
    assert neighbours.min() >= -1
    assert neighbours.max() < 400_000
    assert not (neighbours == np.arange(len(neighbours))).any()
    assert not len(_shipped_neighbours(identity[:-1]))


def binary(rows: Sequence[tuple[str, float, float]], *, end: bytes = b"") -> bytes:
    """The rows in word2vec's binary format; the tool itself ends each with a new line."""
    content = b"%d 2\n" % len(rows)
    for word, *numbers in rows:
        content += word.encode() + b" " + struct.pack("<2f", *numbers) + end
    return content


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_word2vec_binary_files_are_read(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "two.bin"
    path.write_bytes(binary([("a", 1, 0), ("b", 1, 1)], end=end))
    assert load_vectors(str(path)).nearest(["a", "b"]) == ["b", "a"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (binary([("a", 1, 0), ("b", 1, 1)])[:-1], "ends after 1 of 2 words"),
        (binary([("a", 1, 0)]).replace(b"1 2", b"3 2"), "has no room for 3 words of 2 numbers"),
        (b"1 %d\na " % 10**15, "has no room for 1 word of 1,000,000,000,000,000 numbers"),
        (
            binary([("a", 1, 0), ("b", 1, 1), ("a", 0, 1)]),
            "'a' occurs twice, as number 1 and 3",
        ),
        (
            binary([("a", 1, 0), ("b", 1, np.nan)]),
            "the vector of 'b' has a value that is too large or not a number",
        ),
    ],
    ids=range(5),
)
def test_binary_files_that_hold_something_else(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "bad.bin"
    path.write_bytes(content)
    with pytest.raises(DataError, match=told) as caught:
        load_vectors(str(path))
    assert caught.value.help


def test_a_file_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "changing.txt"
    path.write_text("movie 1 0\nfilm 1 0\n", "utf-8")
    assert load_vectors(str(path)).nearest(["movie"]) == ["film"]
    path.write_text("movie 1 0\nplay 1 0\n", "utf-8")
    os.utime(path, ns=(0, 0))  # a clock may be slow
    assert load_vectors(str(path)).nearest(["movie"]) == ["play"]


class KeyedVectors:
    """Like gensim's class, under whose name the content is pickled."""

    def __init__(self, words: list[str], vectors: object) -> None:
        self.index_to_key = words
        self.key_to_index = {word: number for number, word in enumerate(words)}
        self.vectors = vectors
        self.expandos = {"count": np.arange(len(words))}


def keyed(words: list[str], vectors: object) -> bytes:
    own, theirs = (f"c{name}\n".encode() for name in (__name__, "gensim.models.keyedvectors"))
    pickled = pickle.dumps(KeyedVectors(words, vectors), protocol=3)
    assert own in pickled
    return pickled.replace(own, theirs)


def test_files_of_gensim_are_read_as_data(tmp_path: Path) -> None:
    words, table = ["movie", "film", "tree"], np.array([[1, 0], [0.9, 0.1], [0, 1]], np.float32)
    path = tmp_path / "small.kv"
    path.write_bytes(keyed(words, table))
    assert load_vectors(str(path)).nearest(["movie", "tree"]) == ["film", "film"]
    # Large arrays are in files next to it.
    path = tmp_path / "large.kv"
    path.write_bytes(keyed(words, None))
    with pytest.raises(DataError, match=r"large\.kv\.vectors\.npy is missing beside it"):
        load_vectors(str(path))
    np.save(tmp_path / "large.kv.vectors.npy", table[:2])
    with pytest.raises(DataError, match=r"3 words, but a table of the shape \(2, 2\)"):
        load_vectors(str(path))
    np.save(tmp_path / "large.kv.vectors.npy", table)
    vectors = load_vectors(str(path))
    assert vectors.nearest(["movie"]) == ["film"]
    digests = [
        sha256(file.read_bytes()).hexdigest()
        for file in (path, tmp_path / f"{path.name}.vectors.npy")
    ]
    assert vectors.identity == f"large.kv, 3 words, sha256 {' '.join(digests)}"


class Harmful:
    """Touches a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.path,)


def test_a_file_of_gensim_runs_nothing(tmp_path: Path) -> None:
    path, ran = tmp_path / "bad.kv", tmp_path / "ran"
    path.write_bytes(pickle.dumps(Harmful(ran), protocol=4))
    with pytest.raises(DataError, match="is not a file of word vectors saved by gensim: it names"):
        load_vectors(str(path))
    assert not ran.exists()


def test_a_table_of_gensim_that_is_none_of_numbers_runs_nothing(tmp_path: Path) -> None:
    path, ran = tmp_path / "large.kv", tmp_path / "ran"
    path.write_bytes(keyed(["movie"], None))
    beside = tmp_path / "large.kv.vectors.npy"
    np.save(beside, np.array([[Harmful(ran)]], object), allow_pickle=True)
    for content in (beside.read_bytes(), b"", b"\x93NUMPY"):
        beside.write_bytes(content)
        with pytest.raises(DataError, match="is not a file of word vectors saved by gensim: "):
            load_vectors(str(path))
    path.write_bytes(keyed(["movie"], np.array([["x"]])))
    with pytest.raises(DataError, match="is not a file of word vectors saved by gensim: "):
        load_vectors(str(path))
    assert not ran.exists()


def test_words_may_have_spaces(tmp_path: Path) -> None:
    path = tmp_path / "web.txt"
    lines = ["movie 1 0", ". . . 0 1", "film 0.9 0.1", "at name@domain.com 0 1", ".  . -1 0", ""]
    path.write_text("\n".join(lines), "utf-8")
    vectors = load_vectors(str(path))
    assert vectors.nearest(["movie", ". . ."]) == ["film", "at name@domain.com"]
    assert ".  ." in vectors.words


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a 1 0\nb 1\n", "line 2 has 1 number; earlier lines have 2"),
        ("a 1 x\n", "line 1 has something that is not a number"),
        ("a 1 0\nb 1 1\na 0 1\n", "line 3 repeats 'a' of line 1"),
        ("a 1 0\nb 1 nan\n", "line 2 has a value for 'b' that is too large or not a number"),
        ("a  1 0\nb 1 1\n", "line 1 has two spaces in a row"),
        ("a 1 0\nb 1  1\n", "line 2 has two spaces in a row"),
        ("a 1 0\nb  1 1\n", "line 2 has two spaces in a row"),
        ("2 2\na 1 0\nb 1 0 1\n", "line 3 has 3 numbers; earlier lines have 2"),
        ("", "holds no vectors"),
        ("movie 1e39 0\n", "line 1 has a value for 'movie' that is too large"),
        ("movie\t1\t0\n", "line 1 has a tab and no space behind its word"),
        ("movie\n", "line 1 has no number behind its word"),
    ],
)
def test_files_that_hold_something_else(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "bad.vec"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=told) as caught:
        load_vectors(str(path))
    assert caught.value.help


def test_the_words_of_a_batch_are_looked_up_together() -> None:
    class Asked:
        identity = "asked"

        def __init__(self) -> None:
            self.calls: list[list[str]] = []

        def nearest(self, words: Sequence[str]) -> list[str | None]:
            self.calls.append(list(words))
            return ["film" if word == "movie" else None for word in words]

    vectors = Asked()
    matcher = compile_rules(
        [parse(RULE)], tagger=PinnedTagger({}), sources=Sources(vectors=vectors)
    )
    done = matcher.apply(["A movie", "the Movie", "a movie"], scope="all")
    assert [each.text for each in done] == ["A film", "the Film", "a film"]
    assert [sorted(call) for call in vectors.calls] == [["A", "Movie", "a", "movie", "the"]]


def test_tests_of_rules_are_not_run_without_what_they_look_words_up_in(file: Path) -> None:
    tested = f'{RULE}\n  test "tree" => "bush"\n  test "42" => none'
    rules = parse(f"option vectors = {file}\n{tested}")
    assert [each.outcome for each in run_tests(rules)] == ["ok", "ok"]
    rules = parse('<unit> -> $0.paraphrase\n  test "b" => "c"\nmovie -> film\n  test "b" => none')
    results = run_tests(rules)
    assert [each.outcome for each in results] == ["not run", "ok"]
    assert results[0].why.endswith("; pip install 'sears-dsl[discovery]'")
    # A mistake is found in a rule whose tests do not run, too.
    rules = parse('be x -> $1.VBD $2.neighbor\n  test "b" => "c"')
    with pytest.raises(RuleSyntaxError, match="E350"):
        run_tests(rules)
    rules = parse(f'option vectors = gone.vec\n{RULE}\n\nmovie -> film\n  test "b" => none')
    with pytest.raises(RuleSyntaxError, match="E352"):
        run_tests(rules)


def test_vectors_that_are_not_there_are_reported_when_rules_are_compiled() -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        parse(f"option vectors = none.vec\n{RULE}").compile(tagger=PinnedTagger({}))
    assert [each.code for each in caught.value.diagnostics] == ["E352"]


def test_vectors_that_nobody_names_are_not_whatever_is_installed(file: Path) -> None:
    """Otherwise the same rules, rows and seed would give another text on another machine."""
    rules = parse(f'{RULE}\n  test "tree" => "bush"')
    with pytest.raises(RuleSyntaxError) as caught:
        rules.compile(tagger=PinnedTagger({}))
    [finding] = caught.value.diagnostics
    assert (finding.code, finding.message) == (
        "E352",
        "`.neighbor` needs word vectors, but none are named",
    )
    findings, _ = hindrances([rules], unit=None, vectors=False, paraphrases=True)
    assert [each.code for each in findings] == ["E352"]
    assert not hindrances([rules], unit=None, vectors=True, paraphrases=True)[0]
    assert [each.outcome for each in run_tests(rules)] == ["not run"]
    known = run_tests(rules, sources=Sources(vectors=load_vectors(str(file))))
    assert [each.outcome for each in known] == ["ok"]


@pytest.mark.parametrize("head", ["", "2 2\n"])
def test_a_mark_of_the_byte_order_is_no_part_of_the_first_word(tmp_path: Path, head: str) -> None:
    path = tmp_path / "marked.txt"
    path.write_text(f"{head}movie 1 0\nfilm 0.9 0.1\n", "utf-8-sig")
    assert load_vectors(str(path)).nearest(["film", "movie"]) == ["movie", "film"]


def test_a_file_that_rules_name_is_looked_for_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, other in (("rules", "film"), ("here", "tree")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "two.txt").write_text(f"movie 1 0\n{other} 0.9 0.1\n", "utf-8")
    rules = tmp_path / "rules" / "near.sear"
    rules.write_text(f"option vectors = two.txt\n{RULE}\n", "utf-8")
    monkeypatch.chdir(tmp_path / "here")
    for path in (str(rules), "../rules/near.sear"):
        matcher = load(path).compile(tagger=PinnedTagger({}))
        assert [each.text for each in matcher.apply(["a movie"], scope="all")] == ["a film"]
    (tmp_path / "rules" / "two.txt").unlink()
    with pytest.raises(RuleSyntaxError) as caught:
        load("../rules/near.sear").compile(tagger=PinnedTagger({}))
    [finding] = caught.value.diagnostics
    assert (finding.code, finding.message) == (
        "E352", "there are no vectors called ../rules/two.txt",
    )  # fmt: skip


def test_rule_files_of_several_folders_may_name_one_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "two.txt").write_text("movie 1 0\nfilm 0.9 0.1\n", "utf-8")
    paths = tmp_path / "near.sear", tmp_path / "sub" / "near.sear"
    for path, named in zip(paths, ("two.txt", "../two.txt"), strict=True):
        path.write_text(f"option vectors = {named}\n{RULE}\n", "utf-8")
    matcher = compile_rules([load(path) for path in paths], tagger=PinnedTagger({}))
    assert {each.text for each in matcher.apply(["a movie"], scope="all")} == {"a film"}


def test_rulesets_of_one_run_name_the_same_vectors(tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("movie 1 0\nfilm 0.9 0.1\n", "utf-8")
    named = [parse(f"option vectors = {tmp_path / name}.txt\n{RULE}") for name in ("one", "two")]
    for rulesets, told in (
        (named, f"{tmp_path / 'one.txt'}, {tmp_path / 'two.txt'}"),
        ([named[0], parse(RULE)], f"{tmp_path / 'one.txt'}, no name"),
    ):
        with pytest.raises(RuleSyntaxError) as caught:
            compile_rules(rulesets, tagger=PinnedTagger({}))
        [finding] = caught.value.diagnostics
        assert finding.code == "E352"
        assert finding.message == f"the rules name different vectors: {told}"


@pytest.mark.parametrize(("name", "extra"), [("glove-6b-50d", "noise"), ("minilm", "discovery")])
def test_vectors_that_rules_name_and_that_are_not_installed(
    name: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors_module, "find_spec", lambda module: None)
    rules = parse(f"option vectors = {name}\n{RULE}")
    with pytest.raises(RuleSyntaxError) as caught:
        rules.compile(tagger=PinnedTagger({}))
    findings = [*caught.value.diagnostics]
    findings += hindrances([rules], unit=None, vectors=False, paraphrases=True)[0]
    assert [each.code for each in findings] == ["E352", "E352"]
    for help_line in [each.help for each in findings]:
        assert help_line == f"pip install 'sears-dsl[{extra}]', or name a file: `--vectors FILE`"
    with pytest.raises(DataError, match=f"the vectors {name} are not installed"):
        load_vectors(name)


def test_a_text_file_that_is_called_a_binary_one(tmp_path: Path) -> None:
    path = tmp_path / "text.bin"
    path.write_text(FILE, "utf-8")
    with pytest.raises(DataError, match="does not begin like word2vec's binary files") as caught:
        load_vectors(str(path))
    assert str(caught.value.help).endswith("the name of a text file ends in .txt or .vec")
