"""Parts of one's own: what a person gives becomes a paraphraser or a scorer, or is told why not.

What is given here goes through the protocols alone: functions, objects, files, and packages that
are installed for a test.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import sears_dsl
from sears_dsl.cli.commands import sears
from sears_dsl.errors import DataError, ModelError, UsageError
from sears_dsl.paraphrasing.memory import (
    RememberedScorer,
    remembered_paraphrases,
    remembered_paraphrases_without,
)
from sears_dsl.paraphrasing.plugins import (
    PARAPHRASERS,
    SCORERS,
    OwnScorer,
    as_paraphraser,
    as_scorer,
    identity_of_source,
    offered_parts,
    read_paraphrases,
)
from sears_dsl.paraphrasing.team import Recipe, Team
from sears_dsl.runtime.database import RunJournal

PAIRS = [("A film.", "A movie."), ("A film.", "A play.")]


class Shouting:
    """An object that rewords, with objects that have a text."""

    identity = "shouting 3"

    def paraphrase(self, sentences: Sequence[str]) -> list[list[SimpleNamespace]]:
        return [[SimpleNamespace(text=sentence.upper())] for sentence in sentences]


def test_functions_objects_mappings_and_generators_reword() -> None:
    wanted = [["A FILM."], ["A PLAY."]]
    for part in (
        lambda sentences: [[each.upper()] for each in sentences],
        lambda sentences: ((text for text in [each.upper()]) for each in sentences),
        lambda sentences: np.array([[each.upper()] for each in sentences]),
        Shouting(),
        {"A film.": ["A FILM."], "A play.": ("A PLAY.",)},
        {each: (text for text in [each.upper()]) for each in ("A film.", "A play.")},
    ):
        source = as_paraphraser(part)
        for _ in range(2):
            assert source.paraphrase(["A film.", "A play."]) == wanted


def test_a_sentence_is_no_paraphrase_of_itself_nor_is_nothing() -> None:
    source = as_paraphraser(lambda sentences: [["A film.", "", " ", "A movie.", "A movie."]])
    assert source.paraphrase(["A film."]) == [["A movie."]]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda _: None, "mine returned nothing (None) for 2 sentences, the first 'A film.'"),
        (lambda _: "A movie.", "mine returned one text, 'A movie.', for 2 sentences"),
        (lambda _: 7, "mine returned 7, a number, for 2 sentences"),
        (lambda _: [["A movie."]], "mine returned 1 answers for 2 sentences, the first 'A film.'"),
        (lambda _: {"A film.": []}, "mine returned an object of type dict for 2 sentences"),
        (lambda _: [["A movie."], None], "mine returned nothing (None) for 'A play.'"),
        (lambda _: ["A movie.", []], "mine returned one text, 'A movie.', for 'A film.'"),
        (lambda _: [[0.5], []], "mine returned 0.5, a number, as a paraphrase of 'A film.'"),
        (lambda _: [[], [("A game.", 0.5)]],
         "mine returned an object of type tuple as a paraphrase of 'A play.'"),
        (lambda _: 1 // 0, "mine raised ZeroDivisionError: "),
        (lambda _: ([1 // 0] for _ in "ab"), "mine raised ZeroDivisionError: "),
        (lambda _: sys.exit(3), "mine raised SystemExit: 3 at "),
    ],
)  # fmt: skip
def test_a_wrong_answer_names_who_gave_what_for_what(
    function: Callable[[Any], Any], message: str
) -> None:
    function.__qualname__, function.__module__ = "mine", "own"
    with pytest.raises(ModelError) as caught:
        as_paraphraser(function).paraphrase(["A film.", "A play."])
    assert caught.value.message.startswith(f"own:{message}")
    assert caught.value.help


class Thorough(Shouting):
    """An object with all further methods that a source of paraphrases may have."""

    def paraphrase_without(
        self, pairs: Sequence[tuple[str, tuple[str, ...]]]
    ) -> list[list[SimpleNamespace]]:
        return [[SimpleNamespace(text="A MOVIE.")] for _ in pairs]

    def too_long(self, sentences: Sequence[str]) -> list[bool]:
        return [len(sentence) > 10 for sentence in sentences]

    def paraphrase_each(
        self, groups: Iterable[Sequence[str]]
    ) -> Iterator[list[list[SimpleNamespace]]]:
        return map(self.paraphrase, groups)


def test_further_methods_of_an_object_are_asked() -> None:
    source: Any = as_paraphraser(Thorough())
    assert source.too_long(["A film.", "A long film."]) == [False, True]
    groups = iter([["A film."], ["A play.", "A game."]])
    each = source.paraphrase_each(groups)
    assert next(each) == [["A FILM."]]
    assert next(groups) == ["A play.", "A game."], "a group is taken when there is room for it"
    with RunJournal(None, task=lambda: "without") as journal:
        found = remembered_paraphrases_without(source, [("A film.", ("FILM",))], journal)
    assert found == [["A MOVIE."]], "it looked for one, as `paraphrase` would not have"
    plain: Any = as_paraphraser(Shouting())
    assert plain.too_long is plain.paraphrase_each is plain.paraphrase_without is None


@pytest.mark.parametrize(
    ("method", "function", "message"),
    [
        ("paraphrase", lambda _: ["A movie.", "A show."],
         "returned one text, 'A movie.', for 'A film.'"),
        ("paraphrase", lambda _: [[]], "returned 1 answers for 2 sentences"),
        ("paraphrase_without", lambda _: ["A movie.", []],
         "paraphrase_without returned one text, 'A movie.', for 'A film.'"),
        ("paraphrase_each", lambda groups: ([[]] for _ in groups),
         "paraphrase_each returned 1 answers for 2 sentences"),
        ("paraphrase_each", lambda _: [], "paraphrase_each gave no answer for 2 sentences"),
        ("paraphrase_each", lambda _: [[[], []]], "paraphrase_each gave an answer before it took"),
        ("paraphrase_each", lambda groups: (1 // 0 for _ in groups), "raised ZeroDivisionError"),
        ("too_long", lambda _: [False], "too_long returned [False] for 2 sentences"),
        ("too_long", lambda _: None, "too_long returned None for 2 sentences"),
    ],
)  # fmt: skip
def test_wrong_answers_of_further_methods_are_reported(
    method: str, function: Callable[[Any], Any], message: str
) -> None:
    part = Thorough()
    setattr(part, method, function)
    source: Any = as_paraphraser(part)
    texts = ["A film.", "A play."]
    question: dict[str, Any] = {
        "paraphrase_without": [(text, ()) for text in texts], "paraphrase_each": iter([texts])
    }  # fmt: skip
    with pytest.raises(ModelError, match=message.replace("[", r"\[")) as caught:
        list(getattr(source, method)(question.get(method, texts)))
    assert caught.value.help


@pytest.mark.parametrize("swallows", [False, True])
def test_an_error_of_who_asks_is_not_laid_to_the_object(swallows: bool) -> None:
    def groups() -> Iterator[list[str]]:
        yield ["A film."]
        raise OSError("the disk is full")

    def answers(groups: Iterator[Sequence[str]]) -> Iterator[list[list[str]]]:
        while True:
            try:
                group = next(groups, None)
            except OSError:
                if swallows:
                    return
                raise
            if group is None:
                return
            yield [[] for _ in group]

    part: Any = Thorough()
    part.paraphrase_each = answers
    source: Any = as_paraphraser(part)
    with pytest.raises(OSError, match="the disk is full"):
        list(source.paraphrase_each(groups()))


@pytest.mark.parametrize("further", ["", "    def too_long(self, texts): return [False]\n"])
def test_an_object_is_known_again_by_its_code_and_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, further: str
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"rewording_{len(further)}"

    def identity(answer: str) -> str:
        Path(f"{name}.py").write_text(
            f"class Rewording:\n    def paraphrase(self, texts): return {answer}\n{further}\n"
            "part = Rewording()\n"
        )
        sys.modules.pop(name, None)
        return identity_of_source(as_paraphraser(f"{name}:part"))

    assert identity("[[]]") == identity("[[]]") != identity("[['A film.']]")
    for part in (Shouting(), Thorough(), as_paraphraser(Shouting())):
        assert identity_of_source(as_paraphraser(part)) == "shouting 3"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda _: None,
            "mine returned nothing (None) for 2 pairs, the first ('A film.', 'A movie.')",
        ),
        (
            lambda _: 0.5,
            "mine returned 0.5, a number, for 2 pairs, the first ('A film.', 'A movie.')",
        ),
        (lambda _: [0.5], "mine returned 1 numbers for 2 pairs, the first ('A film.', 'A movie.')"),
        (lambda _: [0.5, float("nan")], "mine returned nan for ('A film.', 'A play.')"),
        (lambda _: [1.5, 0.5], "mine returned 1.5 for ('A film.', 'A movie.')"),
        (lambda _: np.array([0.5, -1]), "mine returned -1.0 for ('A film.', 'A play.')"),
        (lambda _: [0.5, None], "mine returned nothing (None) for ('A film.', 'A play.')"),
        (lambda _: ["high", 0.5], "mine returned one text, 'high', for ('A film.', 'A movie.')"),
        (
            lambda _: [[0.5], [0.5]],
            "mine returned an object of type list for ('A film.', 'A movie.')",
        ),
        (lambda _: 1 // 0, "mine raised ZeroDivisionError: "),
    ],
)
def test_a_wrong_score_names_who_gave_what_for_what(
    function: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(ModelError) as caught:
        OwnScorer(function, name="mine").scores(PAIRS)
    assert caught.value.message.startswith(message)
    assert "0 to 1" in (caught.value.help or "") or "raised" in message


def test_a_function_of_one_text_is_an_error_that_says_how_it_is_called() -> None:
    with pytest.raises(ModelError, match="no attribute 'replace'") as caught:
        as_paraphraser(lambda text: [text.replace("film", "movie")]).paraphrase(["A film."])  # type: ignore[attr-defined]
    assert "lambda texts: [f(text) for text in texts]" in caught.value.help


def test_what_decides_says_yes_or_no() -> None:
    maybe = SimpleNamespace(scores=lambda _: [1, 1], at_least=lambda pairs, _: ["maybe"] * 2)
    with pytest.raises(ModelError, match=r"at_least returned one text, 'maybe', for \('A film.'"):
        OwnScorer(maybe, name="mine").at_least(PAIRS, 0.5)
    asked = []

    def decide(pairs: Sequence[tuple[str, str]], tau: float) -> Any:
        asked.append(tau)
        return np.array([True, False])

    own = OwnScorer(SimpleNamespace(scores=lambda _: [0, 1], at_least=decide), name="mine")
    assert own.at_least(PAIRS, 0.25).tolist() == [True, False]
    assert asked == [0.25]
    listed = SimpleNamespace(scores=lambda _: [0, 1], at_least=lambda *_: list(np.arange(2) > 0))
    assert OwnScorer(listed, name="mine").at_least(PAIRS, 0.25).tolist() == [False, True]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=2), st.floats(0, 1))
def test_scores_are_those_of_the_function_and_decide_at_tau(
    numbers: list[float], tau: float
) -> None:
    for answer in (lambda _: numbers, lambda _: np.array(numbers), lambda _: iter(numbers)):
        scorer = as_scorer(answer, tau=tau)
        assert scorer.scores(PAIRS).tolist() == numbers
        assert scorer.at_least(PAIRS, scorer.tau).tolist() == [each >= tau for each in numbers]
    assert as_scorer(answer).scores([]).tolist() == []


def test_rounding_beyond_the_ends_is_no_mistake() -> None:
    assert as_scorer(lambda _: [1.0000001, -1e-7]).scores(PAIRS).tolist() == [1, 0]


def test_a_threshold_is_the_users_or_the_objects_or_asked_for() -> None:
    mine = SimpleNamespace(scores=lambda pairs: [0] * len(pairs), tau=0.25, name="mine")
    assert as_scorer(mine).tau == 0.25
    assert as_scorer(mine, tau=0.5).tau == as_scorer(as_scorer(mine), tau=0.5).tau == 0.5
    assert (as_scorer(mine).name, as_scorer(mine).identity) == ("mine", "mine")
    with pytest.raises(UsageError, match="from which score τ") as caught:
        _ = OwnScorer(lambda pairs: [0], name="mine").tau
    assert "--tau" in (caught.value.help or "")
    for wrong in ("high", 2, float("nan")):
        with pytest.raises(UsageError, match="as its tau"):
            as_scorer(SimpleNamespace(scores=mine.scores, tau=wrong))


def test_what_is_neither_is_refused() -> None:
    for convert, kind in ((as_paraphraser, "paraphraser"), (as_scorer, "scorer")):
        with pytest.raises(UsageError, match=f"Shouting is a class, not a {kind}"):
            convert(Shouting)  # type: ignore[operator]
        with pytest.raises(UsageError, match=f"type int is not a {kind}"):
            convert(3)  # type: ignore[operator]
        with pytest.raises(UsageError, match=f"there is no {kind} 'nowhere'"):
            convert("nowhere")  # type: ignore[operator]
        with pytest.raises(UsageError, match="there is no module 'no_such_module'"):
            convert("no_such_module:part")  # type: ignore[operator]


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "original,paraphrase\nA film.,A movie.\nA play.,A show.\nA film.,The film.\n"),
        ("a.tsv", "text1\ttext2\tscore\nA film.\tThe film.\t.1\nA film.\tA movie.\t.9\n"
                  "A play.\tA show.\t1\n"),
        ("a.jsonl", '{"original": "A film.", "paraphrases": ["A movie.", "The film."]}\n'
                    '{"original": "A play.", "paraphrases": ["A show."]}\n'),
        ("a.jsonl", '{"original": "A film.", "paraphrase": "A movie."}\n'
                    '{"original": "A play.", "paraphrase": "A show."}\n'
                    '{"original": "A film.", "paraphrase": "The film."}\n'),
    ],
)  # fmt: skip
def test_files_of_pairs_reword(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    source = as_paraphraser(str(tmp_path / name))
    found = source.paraphrase(["A play.", "A film.", "A game."])
    assert found == [["A show."], ["A movie.", "The film."], []]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", "which columns are the two texts"),
        (
            "original,paraphrase,score\nA film.,A movie.,high\n",
            "row 1: score is 'high', not a number",
        ),
    ],
)
def test_a_file_that_is_none_is_reported(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        read_paraphrases(tmp_path / "a.csv")
    assert "score" in (caught.value.help or "")


def test_a_list_that_is_none_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"original": "A film.", "paraphrases": ["A movie.", 3]}\n')
    with pytest.raises(DataError, match="row 1 has no text as original with a list of texts"):
        read_paraphrases(tmp_path / "a.jsonl")


def test_a_file_is_known_again_by_what_it_says(tmp_path: Path) -> None:
    def identity(content: str) -> str:
        (tmp_path / "a.csv").write_text(content)
        return read_paraphrases(tmp_path / "a.csv").identity

    one = identity("original,paraphrase\nA film.,A movie.\n")
    assert one == identity('original,paraphrase\n"A film.","A movie."\n')
    assert one != identity("original,paraphrase\nA film.,A play.\n")


# ---------------------------------------------------------------- packages


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two installed packages that offer parts, one of them broken."""
    (tmp_path / "offering.py").write_text(
        "def reword(sentences):\n    return [[each.upper()] for each in sentences]\n"
        "class Score:\n    tau = 0.5\n    identity = 'weights 3'\n"
        "    def scores(self, pairs):\n        return [1] * len(pairs)\n"
        "score = Score()\n"
    )
    (tmp_path / "breaking.py").write_text("raise RuntimeError('no weights')\n")
    for package, points in {
        "offering": "[sears.paraphrasers]\nupper = offering:reword\ntwice = offering:reword\n"
                    "[sears.scorers]\nones = offering:score\njudge = offering:score\n"
                    "none = offering:score\n",
        "breaking": "[sears.paraphrasers]\ntwice = breaking:reword\n"
                    "[sears.scorers]\nbroken = breaking:score\n",
    }.items():  # fmt: skip
        folder = tmp_path / f"{package}-1.2.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: {package}\nVersion: 1.2\n")
        (folder / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("packages")
def test_packages_offer_parts_by_name() -> None:
    assert {"upper", "twice"} <= {each.name for each in offered_parts(PARAPHRASERS)}
    offered = {each.name for each in offered_parts(SCORERS)}
    assert {"ones", "broken"} <= offered
    assert not offered & {"judge", "none"}, "such a name always stands for something else"
    assert as_paraphraser("upper").paraphrase(["A film."]) == [["A FILM."]]
    scorer = as_scorer("ones")
    assert (scorer.name, scorer.tau, scorer.scores(PAIRS).tolist()) == ("ones", 0.5, [1, 1])
    assert scorer.identity == "ones (offering 1.2, weights 3)"


@pytest.mark.usefixtures("packages")
def test_a_broken_package_is_reported_when_it_is_asked_for_and_not_before() -> None:
    assert as_scorer("ones").scores(PAIRS).tolist() == [1, 1]
    with pytest.raises(ModelError) as caught:
        as_scorer("broken")
    assert caught.value.message.startswith(
        "the scorer 'broken' of breaking 1.2 could not be loaded (breaking:score): "
        "RuntimeError: no weights at "
    )
    with pytest.raises(UsageError, match="several packages have a paraphraser 'twice'"):
        as_paraphraser("twice")


@pytest.mark.usefixtures("packages")
def test_what_packages_offer_is_listed() -> None:
    assert "paraphraser of breaking 1.2 (breaking:reword)" in said("pivots", "list")
    listed = json.loads(said("pivots", "list", "--json"))
    mine = [each for each in listed if each["origin"] == "offering 1.2"]
    assert {(each["name"], each["purpose"]) for each in mine} == {
        ("upper", "paraphraser"), ("twice", "paraphraser"), ("ones", "scorer")
    }  # fmt: skip


# ---------------------------------------------------------------- commands

OWN = """
import sys

def predict(texts):
    return ["bad" if "film" in text else "good" for text in texts]

def reword(sentences):
    return [[each.replace("movie", "film")] for each in sentences]

def score(pairs):
    return [0.9] * len(pairs)

def close(pairs):
    return [0.1 + 0.8 * ("movie" in rewrite) for _, rewrite in pairs]

def broken(pairs):
    return [2.0] * len(pairs)

def heavy():
    return sorted({"torch", "transformers"} & set(sys.modules))
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_parts.py").write_text(OWN)
    rows = [f"This movie is number {number} .,good" for number in range(6)]
    (tmp_path / "rows.csv").write_text("\n".join(["text,label", *rows, ""]))
    pairs = [f"This movie is number {number} .,This film is number {number} ." for number in (2, 4)]
    (tmp_path / "pairs.csv").write_text("\n".join(["original,paraphrase", *pairs, ""]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(*arguments: str) -> str:
    """All output of a command, and the error that ends it."""
    done = CliRunner().invoke(sears, arguments)
    return f"{done.output}{done.exception or ''}"


def adversaries(*options: str) -> str:
    asked = ["adversaries", "--model", "own_parts:predict", "--data", "rows.csv", "--label",
             "label", "-o", "found.csv", "--restart", *options]  # fmt: skip
    return said(*asked)


def test_with_own_parts_no_network_is_loaded(place: Path) -> None:
    code = (
        "from sears_dsl.cli.commands import sears; import own_parts\n"
        "sears(['adversaries', '--model', 'own_parts:predict', '--data', 'rows.csv', '--label',"
        " 'label', '-o', 'found.csv', '--paraphrases', 'pairs.csv', '--scorer',"
        " 'own_parts:score', '--tau', '0.5'], standalone_mode=False)\n"
        "assert not own_parts.heavy(), own_parts.heavy()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=place, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "4 of 6 rows have no paraphrase in pairs.csv" in done.stderr
    lines = (place / "found.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["row", "3", "5"]


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--paraphrases", "own_parts:reword", "--scorer", "own_parts:score"),
         "own_parts:score does not say from which score τ a rewrite is accepted"),
        (("--paraphrases", "own_parts:reword", "--scorer", "own_parts:broken", "--tau", ".5"),
         "own_parts:broken returned 2.0 for ('This movie is number 0 .'"),
        (("--paraphrases", "rows.csv", "--scorer", "own_parts:score", "--tau", ".5"),
         "rows.csv: which columns are the two texts?"),
        (("--scorer", "nowhere"), "there is no scorer 'nowhere'"),
        (("--paraphrases", "own_parts:reword", "--scorer", "own_parts:score", "--tau", ".5",
          "--pivot", "fr"), "own_parts:score has no pivot"),
        (("--paraphrases", "own_parts:reword", "--beam", "8"), "--beam is for the search"),
        (("--scorer", "strict"), "there is no scorer 'strict' any more"),
        (("--data", "absent.csv", "-o", "a.txt"), "one of these formats: csv, tsv, jsonl, json, "),
        (("--data", "absent.csv", "-o", "a.squad"), "the name of a.squad shows no format"),
        (("--data", "absent.csv", "-o", "a.py", "--unit", "sentence"),
         "one of these formats: csv, tsv, jsonl, json, parquet, arrow"),
    ],
)  # fmt: skip
def test_what_is_impossible_is_reported(options: Sequence[str], message: str) -> None:
    assert message in adversaries(*options)


@pytest.mark.parametrize("output", ["rows.csv", "pairs.csv", "link.csv"])
@pytest.mark.parametrize("unit", ["text", "sentence"])
def test_adversaries_are_not_written_over_what_is_read(place: Path, output: str, unit: str) -> None:
    (place / "link.csv").symlink_to("rows.csv")
    before = (place / output).read_bytes()
    told = adversaries("--paraphrases", "pairs.csv", "--scorer", "own_parts:score", "--tau", ".5",
                       "--unit", unit, "-o", output)  # fmt: skip
    assert f"{output} is an input of this command: write to another file" in told
    assert (place / output).read_bytes() == before


def test_a_file_of_other_rows_is_reported(place: Path) -> None:
    (place / "others.csv").write_text("original,paraphrase\nA film.,A movie.\n")
    options = ("--paraphrases", "others.csv", "--scorer", "own_parts:score", "--tau", ".5")
    assert "none of the 6 rows has a paraphrase in others.csv" in adversaries(*options)


def test_own_scorers_score_and_are_calibrated(place: Path) -> None:
    (place / "judged.csv").write_text(
        "original,rewrite,label\nA film.,A movie.,1\nA film.,A dog.,0\n"
    )
    mine = ("judged.csv", "--scorer", "own_parts:close")
    scored = said("score", *mine, "--tau", "0.5")
    assert scored.splitlines()[1] == "A film.,A movie.,1,0.9,1"
    assert "does not say from which score τ" in said("score", *mine, "--default-tau")
    assert json.loads(said("calibrate", *mine, "--json"))["shipped_tau"] is None
    assert "shipped" not in said("calibrate", *mine)


def test_the_papers_settings_by_one_switch(place: Path) -> None:
    asked = ["discover", "--model", "own_parts:predict", "--data", "rows.csv", "--label", "label",
             "-o", "found.sear", "--paraphrases", "own_parts:reword", "--paper", "--jobs", "1",
             "--delta", "0.2"]  # fmt: skip
    assert "note: --delta, --paraphrases: not as in the paper" in said(*asked)
    manifest = json.loads((place / "found.manifest.json").read_text())
    assert manifest["scorer"].startswith("pivot-")
    assert manifest["paraphraser"].startswith("own_parts:reword (")
    settings = manifest["settings"]
    expected = {"tau": 0.0008, "delta": 0.2, "minimum_flips": 6, "minimum_frequency": 0.005,
                "propose_from": "adversaries", "context": 1, "beam": None}  # fmt: skip
    assert {name: settings[name] for name in expected} == expected


# ---------------------------------------------------------------- teams


def test_a_team_that_does_nothing_loads_nothing() -> None:
    def refuse() -> None:
        raise AssertionError("something is loaded")

    team = Team(Recipe(scorer=None, paraphrases=False), on_loading=refuse)
    assert (team.loaded.pivots, team.loaded.search, team.name) == ((), None, "none")
    Team(Recipe(scorer="pivot"), jobs=2, on_loading=refuse).close()


def test_a_team_says_what_it_does_not_do() -> None:
    team = Team(Recipe(scorer=None, paraphrases=False))
    with pytest.raises(UsageError, match="scores nothing"):
        team.scores(PAIRS)
    with pytest.raises(UsageError, match="rewords nothing"):
        team.paraphrase(["A film."])


def test_scoring_tells_how_far_it_is_within_a_portion(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand pairs are saved at once, and may take minutes."""

    def reply(_: Team, questions: Iterable[Any]) -> Iterator[Any]:
        return (SimpleNamespace(answer=[0.5] * len(each.items), translations={})
                for each in questions)  # fmt: skip

    monkeypatch.setattr(Team, "_replies", reply)
    told: list[tuple[int, int]] = []
    pairs = [(f"It is {number}.", f"It was {number}.") for number in range(1_030)]
    with RunJournal(None, task=lambda: "told") as journal:
        team = Team(Recipe(paraphrases=False))
        scorer = RememberedScorer(team, journal, on_portion=lambda *counts: told.append(counts))
        scorer.scores(pairs[:100])
        assert not told, "what takes a moment is no stage"
        scorer.scores(pairs)
        told_before = len(told)
        scorer.quietly().scores([(text, f"{text}.") for text, _ in pairs])
        assert len(told) == told_before, "a stage that shows how far it is has no other beside it"
    assert told == sorted(told)
    assert told[0] == (0, 930)
    assert told[-1] == (930, 930)
    done = [each for each, _ in told]
    assert max(after - before for before, after in pairwise(done)) <= 128


def test_scores_of_pairs_that_are_written_alike_are_remembered_apart() -> None:
    class Lengths:
        name, identity, tau = "lengths", "lengths", 0.5

        def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
            return np.array([len(original) / 10 for original, _ in pairs])

        def at_least(self, pairs: Sequence[tuple[str, str]], tau: float) -> NDArray[np.bool_]:
            return self.scores(pairs) >= tau

    with RunJournal(None, task=lambda: "lengths") as journal:
        scorer = RememberedScorer(Lengths(), journal)
        assert scorer.scores([("a\0b", "c"), ("a", "b\0c")]).tolist() == [0.3, 0.1]
        assert scorer.scores([("\U0001f600", "c"), ("\ud83d\ude00", "c")]).tolist() == [0.1, 0.2]


def test_own_paraphrases_are_remembered() -> None:
    asked: list[str] = []

    def reword(sentences: Sequence[str]) -> list[list[str]]:
        asked.extend(sentences)
        return [[each.upper()] for each in sentences]

    with RunJournal(None, task=lambda: "own") as journal:
        for _ in range(2):
            found = remembered_paraphrases(as_paraphraser(reword), ["A film."], journal)
            assert found == [["A FILM."]]
    assert asked == ["A film."]


@pytest.mark.parametrize("unit", ["text", "sentence"])
def test_an_own_scorer_is_asked_once_about_each_pair(unit: Literal["text", "sentence"]) -> None:
    asked: list[tuple[str, str]] = []

    def score(pairs: Sequence[tuple[str, str]]) -> list[float]:
        asked.extend(pairs)
        return [0.9] * len(pairs)

    found = sears_dsl.adversaries(
        lambda texts: ["bad" if "film" in text else "good" for text in texts],
        [(f"A movie. Take {number}.", "good") for number in range(3)],
        paraphraser=lambda texts: [
            [text.replace("movie", "film").replace("Take", "Cut")] for text in texts
        ],
        scorer=score, tau=0.5, unit=unit,
    )  # fmt: skip
    assert found.rows_flipped == 3
    assert len(asked) == len(set(asked)) == (3 if unit == "text" else 4)


def test_a_run_goes_on_with_the_paraphrases_of_texts_that_it_has(tmp_path: Path) -> None:
    """The journal has them by their texts; half a character is no reason to ask again."""
    asked: list[str] = []

    def reword(texts: list[str]) -> list[list[str]]:
        asked.extend(texts)
        return [[f"{text} again"] for text in texts]

    for _ in range(2):
        with RunJournal(tmp_path / "run.db", task=lambda: "own") as journal:
            journal.put_many("paraphrases", {"A film.": ["A movie."]})
            for text, reworded in (("A film.", "A movie."), ("\ud800 film.", "\ud800 film. again")):
                found = remembered_paraphrases(as_paraphraser(reword), [text], journal)
                assert found == [[reworded]]
    assert asked == ["\ud800 film."]
