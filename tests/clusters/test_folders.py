"""Folders: each part is as one machine makes it, whoever works and whatever happens."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import re
import sys
from pathlib import Path
from typing import BinaryIO

import pyarrow
import pyarrow.parquet
import pytest
from command_line import call
from PIL import Image

from sears_dsl.data.batches import ReadOptions
from sears_dsl.data.labelled import read_labelled
from sears_dsl.data.sources import open_rows
from sears_dsl.data.table import read_table
from sears_dsl.errors import DataError
from sears_dsl.runtime.folders import Folder

RULES = "rule film: movie -> film\nrule picture: movie -> picture\n"


def write_parts(folder: Path, *, parts: int = 3, rows: int = 20) -> None:
    """Write parquet files with ids, texts (every other one has *movie*), and labels."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in range(parts):
        table = pyarrow.table(
            {
                "id": [f"{part}-{row}" for row in range(rows)],
                "text": [f"A {('movie', 'play')[row % 2]} of {part}." for row in range(rows)],
                "label": [row % 2 for row in range(rows)],
            }
        )
        pyarrow.parquet.write_table(table, folder / f"part-{part}.parquet")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "r.sear").write_text(RULES)
    write_parts(tmp_path / "in")
    return tmp_path


@pytest.mark.parametrize("source", ["in", "file://{place}/in"])
@pytest.mark.parametrize("options", [["--keep", "label"], ["--mode", "chain"]])
def test_each_part_is_what_apply_makes_of_the_file(
    place: Path, source: str, options: list[str]
) -> None:
    source = source.format(place=place)
    output = "out" if source == "in" else f"file://{place}/out"
    done = call("apply", "r.sear", source, "-o", output, "--json", *options, folder=place)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 60
    for part in range(3):
        name = f"part-{part}.parquet"
        alone = call("apply", "r.sear", f"in/{name}", "-o", f"one-{name}", *options, folder=place)
        assert alone.returncode == 0
        assert (place / "out" / name).read_bytes() == (place / f"one-{name}").read_bytes()


def test_json_lines_in_folders_within_keep_their_places(place: Path) -> None:
    (place / "j" / "2024").mkdir(parents=True)
    (place / "j" / "2024" / "a.jsonl").write_text('{"text": "A movie."}\n')
    (place / "j" / "b.jsonl.gz").write_bytes(gzip.compress(b'{"text": "A play."}\n'))
    (place / "j" / "_SUCCESS").write_text("")
    (place / "j" / "dataset_info.json").write_text("{}")
    done = call("apply", "r.sear", "j", "-o", "out", "--output-format", "csv", folder=place)
    assert done.returncode == 0, done.stderr
    assert "2 rows written to out" in done.stderr
    assert (place / "out" / "2024" / "a.csv").read_text().count("\n") == 3
    assert (place / "out" / "b.csv").read_text().count("\n") == 1


def test_a_part_of_another_schema_is_reported_and_the_others_are_done(place: Path) -> None:
    other = pyarrow.table({"id": ["x"], "text": ["A movie."], "label": ["good"]})
    odd = place / "in" / "part-1.parquet"
    right = odd.read_bytes()
    pyarrow.parquet.write_table(other, odd)
    command = ("apply", "r.sear", "in", "-o", "out", "--mode", "chain")
    done = call(*command, folder=place)
    assert done.returncode == 2
    told = "in/part-1.parquet has another schema than part-0.parquet: column label is string"
    assert told in done.stderr
    assert "1 of 3 files failed" in done.stderr
    assert sorted(os.listdir(place / "out")) == ["_sears", "part-0.parquet", "part-2.parquet"]
    more = pyarrow.parquet.read_table(place / "in" / "part-0.parquet")
    pyarrow.parquet.write_table(more.append_column("score", more["label"]), odd)
    wider = call("apply", "r.sear", "in", "-o", "wider", "--mode", "chain", folder=place)
    assert wider.returncode == 2
    told = "in/part-1.parquet has another schema than part-0.parquet: only it has a column score"
    assert told in wider.stderr
    other = other.drop_columns(["label"]).rename_columns(["id", "body"])
    pyarrow.parquet.write_table(other, odd)
    each = call("apply", "r.sear", "in", "-o", "each", folder=place)
    assert each.returncode == 2
    assert "part-0.parquet: column text is missing, not string" in each.stderr
    odd.write_bytes(right)
    before = (place / "out" / "part-0.parquet").stat().st_mtime_ns
    again = call(*command, "--resume", "--json", folder=place)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["rows"] == 60
    assert (place / "out" / "part-0.parquet").stat().st_mtime_ns == before


@pytest.mark.parametrize("options", [["--protect", "name"], ["--keep", "name"]])
def test_columns_that_are_read_or_kept_have_one_type(place: Path, options: list[str]) -> None:
    (place / "p").mkdir()
    for part, name in enumerate(["film", 3]):
        columns = {"id": [f"{part}"], "text": ["A movie."], "name": [name], "other": [name]}
        pyarrow.parquet.write_table(pyarrow.table(columns), place / "p" / f"{part}.parquet")
    command = ("apply", "r.sear", "p", "--column", "text")
    done = call(*command, "-o", "out", *options, folder=place)
    assert done.returncode == 2
    assert "p/1.parquet has another schema than 0.parquet: column name is int64" in done.stderr
    assert call(*command, "-o", "plain", folder=place).returncode == 0


def test_a_part_without_the_column_is_reported_by_its_name(place: Path) -> None:
    (place / "j").mkdir()
    (place / "j" / "a.jsonl").write_text('{"review": "A movie."}\n')
    (place / "j" / "b.jsonl").write_text('{"text": 3}\n')
    done = call("apply", "r.sear", "j", "-o", "out", "--column", "text", folder=place)
    assert done.returncode == 2
    assert "j/a.jsonl has no column 'text'" in done.stderr
    assert "j/b.jsonl: row 1: column text holds 3" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["in", "-o", "-"], "the output of a folder is a folder"),
        (["in", "-o", "out", "--limit", "3"], "--limit is for a single file"),
        (["in", "-o", "in"], "in is the input itself"),
        (["in", "-o", "out", "--address", "auto"], "--address needs --engine ray"),
        (["in/part-0.parquet", "-o", "out", "--engine", "ray"], "--engine ray takes a folder"),
        (["in", "-o", "out", "--engine", "ray", "--jobs", "2"], "--jobs is for one machine"),
        (
            ["none://me:key@x", "-o", "out"],
            "none://x is not the address of a folder: Unrecognized filesystem type in URI: none://x",
        ),
        (["hdfs://127.0.0.1:1/x", "-o", "out"], "hdfs://127.0.0.1:1/x cannot be reached"),
        (
            ["in", "-o", "out", "--engine", "ray", "--address", "127.0.0.1:1"],
            "there is no Ray cluster at 127.0.0.1:1",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_at_once(
    place: Path, arguments: list[str], told: str
) -> None:
    done = call("apply", "r.sear", *arguments, folder=place)
    assert done.returncode == 2
    assert told in done.stderr
    assert not (place / "out").exists()


def test_another_run_is_not_resumed(place: Path) -> None:
    assert call("apply", "r.sear", "in", "-o", "out", folder=place).returncode == 0
    done = call("apply", "r.sear", "in", "-o", "out", "--scope", "all", "--resume", folder=place)
    assert done.returncode == 2
    assert "scope was 'first' and is 'all'" in done.stderr


def test_a_run_is_not_resumed_without_a_file_that_it_did(place: Path) -> None:
    command = ("apply", "r.sear", "in", "-o", "out")
    assert call(*command, folder=place).returncode == 0
    (place / "in" / "part-1.parquet").unlink()
    done = call(*command, "--resume", folder=place)
    assert done.returncode == 2
    assert "out/part-1.parquet was made of a file that in no longer has" in done.stderr


def test_a_part_that_changed_or_whose_output_is_gone_is_made_again(place: Path) -> None:
    command = ("apply", "r.sear", "in", "-o", "out")
    assert call(*command, folder=place).returncode == 0
    gone = place / "out" / "part-0.parquet"
    before = gone.read_bytes()
    gone.unlink()
    changed = place / "in" / "part-1.parquet"
    pyarrow.parquet.write_table(pyarrow.parquet.read_table(changed).slice(0, 2), changed)
    done = call(*command, "--resume", "--json", folder=place)
    assert done.returncode == 0, done.stderr
    assert gone.read_bytes() == before
    assert json.loads(done.stdout)["rows"] == 42
    assert pyarrow.parquet.read_table(place / "out" / "part-1.parquet").num_rows == 2


def test_two_files_are_not_written_under_one_name(place: Path) -> None:
    (place / "j").mkdir()
    (place / "j" / "a.jsonl").write_text('{"text": "A movie."}\n')
    (place / "j" / "a.jsonl.gz").write_bytes(gzip.compress(b'{"text": "A play."}\n'))
    done = call("apply", "r.sear", "j", "-o", "out", "--output-format", "csv", folder=place)
    assert done.returncode == 2
    assert "j: two files would be written under one name" in done.stderr
    assert not (place / "out").exists()


def test_folders_whose_names_differ_behind_a_question_mark_are_two(place: Path) -> None:
    for name in ("in?one", "in?two"):
        (place / "in").rename(place / name)
        write_parts(place / "in")
    assert call("apply", "r.sear", "in?one", "-o", "out", folder=place).returncode == 0
    done = call("apply", "r.sear", "in?two", "-o", "out", "--resume", folder=place)
    assert done.returncode == 2
    assert "parts was 'in?one' and is 'in?two'" in done.stderr
    assert str(Folder("gs://key@bucket/in?secret=one")) == "gs://bucket/in"


def test_a_folder_is_the_same_in_a_process_that_works_elsewhere(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    sent = pickle.dumps(Folder("in"))
    monkeypatch.chdir("/")
    assert pickle.loads(sent).root == str(place / "in")  # noqa: S301 - made three lines before


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: BinaryIO, target: BinaryIO, __: int) -> None:
        target.write(b"ne")
        raise OSError("no room")

    folder = Folder(f"file://{place}/out")
    folder.write("a.txt", b"old")
    monkeypatch.setattr("shutil.copyfileobj", fail)
    with (
        pytest.raises(DataError, match=r"out/a\.txt cannot be written: no room"),
        folder.making("a.txt") as path,
    ):
        Path(path).write_bytes(b"new")
    assert folder.read("a.txt") == b"old"


def test_each_part_is_augmented_as_it_is_alone(place: Path) -> None:
    options = ("--label", "label", "--amount", "20%")
    done = call("augment", "r.sear", "in", "-o", "out", *options, "--json", folder=place)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["added"] == 12
    alone = call(
        "augment", "r.sear", "in/part-1.parquet", "-o", "1.parquet", *options, folder=place
    )
    assert alone.returncode == 0
    assert (place / "out" / "part-1.parquet").read_bytes() == (place / "1.parquet").read_bytes()


def test_an_oracle_that_rejects_all_of_a_folder_is_reported(place: Path) -> None:
    (place / "strict.py").write_text("def keep(rows): return [False for row in rows]\n")
    done = call("augment", "r.sear", "in", "-o", "out", "--oracle", "strict:keep", folder=place)
    assert done.returncode == 2
    assert re.search(r"the oracle strict:keep .* rejects all \d+ rewrites of in\b", done.stderr)
    assert "it has to return true for a rewrite to keep" in done.stderr


def test_where_the_oracle_is_missing_nothing_is_written(place: Path) -> None:
    options = ("--label", "label", "--oracle", "nowhere.jsonl")
    done = call("augment", "r.sear", "in", "-o", "out", *options, folder=place)
    assert done.returncode != 0
    assert "nowhere.jsonl is not an oracle: there is no such file" in done.stderr
    assert not (place / "out").exists()


def test_another_oracle_is_not_resumed(place: Path) -> None:
    answers = "def keep(rows): return [{} for row in rows]\n"
    command = ("augment", "r.sear", "in", "-o", "out", "--oracle", "fickle:keep")
    (place / "fickle.py").write_text(answers.format(True))
    assert call(*command, folder=place).returncode == 0
    (place / "fickle.py").write_text(answers.format("'film' in row['text']"))
    del sys.modules["fickle"]  # as in another process
    done = call(*command, "--resume", folder=place)
    assert done.returncode == 2
    assert "oracle was" in done.stderr


def test_what_counts_over_all_parts_is_not_augmented(place: Path) -> None:
    done = call("augment", "r.sear", "in", "-o", "out", "--amount", "5", folder=place)
    assert done.returncode == 2
    assert "--amount 5 is for the whole folder" in done.stderr
    (place / "j").mkdir()
    (place / "j" / "a.jsonl").write_text('{"id": 1, "text": "A movie."}\n')
    done = call("augment", "r.sear", "j", "-o", "out", folder=place)
    assert done.returncode == 2
    assert "j/a.jsonl: the ids in column id are numbers" in done.stderr


def test_the_parts_of_a_folder_are_one_dataset_for_an_audit(place: Path) -> None:
    (place / "model.py").write_text(
        "def predict(texts):\n    return [str(len(t) % 2 ^ 1) for t in texts]"
    )
    parts = [pyarrow.parquet.read_table(each) for each in sorted((place / "in").iterdir())]
    pyarrow.parquet.write_table(pyarrow.concat_tables(parts), place / "all.parquet")
    found = []
    for data in ("in", "all.parquet"):
        done = call("audit", "r.sear", "--data", data, "--model", "model:predict", "--label",
                    "label", "--scorer", "none", "-o", f"to-{data}", "--json",
                    folder=place)  # fmt: skip
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    assert found[0]["rules"] == found[1]["rules"]
    assert found[0]["data"]["rows"] == 60


def test_a_folder_of_arrow_streams_as_datasets_saves_it_is_read(place: Path) -> None:
    table = pyarrow.table({"text": ["A movie.", "A play."], "label": [0, 1]})
    (place / "hf" / "train").mkdir(parents=True)
    (place / "hf" / "dataset_dict.json").write_text('{"splits": ["train"]}')
    for part in range(2):
        name = f"data-0000{part}-of-00002.arrow"
        with pyarrow.ipc.new_stream(place / "hf" / "train" / name, table.schema) as stream:
            stream.write_table(table)
    for command in ("apply --mode chain --column text", "augment --column text --label label"):
        verb, *options = command.split()
        done = call(verb, "r.sear", "hf", "-o", verb, *options, folder=place)
        assert done.returncode == 0, done.stderr
        for part in range(2):
            name = f"{verb}/train/data-0000{part}-of-00002.arrow"
            written = pyarrow.ipc.open_file(place / name).read_all()
            assert "A film." in written["text"].to_pylist()
    assert len(read_table(str(place / "hf"))) == 4


@pytest.mark.parametrize("output", ["in/out", "in", "link/out", "file://{place}/in/out"])
def test_an_output_within_the_input_is_refused(place: Path, output: str) -> None:
    (place / "link").symlink_to("in")
    output = output.format(place=place)
    for verb in ("apply", "augment"):
        done = call(verb, "r.sear", "in", "-o", output, "--column", "text", folder=place)
        assert done.returncode == 2
        what = "is the input itself" if output == "in" else "lies in the input in"
        assert f"{output} {what}" in done.stderr
    assert sorted(os.listdir(place / "in")) == [f"part-{part}.parquet" for part in range(3)]
    beside = call("apply", "r.sear", "in", "-o", "in-out", "--column", "text", folder=place)
    assert beside.returncode == 0, beside.stderr


def test_a_part_without_rows_does_not_hinder_the_others(place: Path) -> None:
    for name, empty, rows in (
        ("c", "text,label\n", "text,label\nA movie.,1\n"),
        ("j", "", '{"text": "A movie.", "label": "1"}\n'),
    ):
        suffix = "csv" if name == "c" else "jsonl"
        (place / name).mkdir()
        (place / name / f"a.{suffix}").write_text(empty)
        (place / name / f"b.{suffix}").write_text(rows)
        done = call("augment", "r.sear", name, "-o", f"out-{name}", "--column", "text",
                    "--label", "label", folder=place)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert read_labelled(str(place / name), column="text", label="label").texts == ["A movie."]
        written = read_labelled(str(place / f"out-{name}"), column="text", also=["source_rule"])
        assert written.texts == ["A movie.", "A film.", "A picture."]
    assert (place / "out-c" / "a.csv").read_text().startswith("text,label,source_row,")
    assert (place / "out-j" / "a.jsonl").read_text() == ""


def test_the_files_of_a_folder_are_read_once_up_to_the_limit(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    reading = Folder.reading
    monkeypatch.setattr(
        Folder, "reading", lambda folder, name: opened.append(name) or reading(folder, name)
    )
    for limit, parts in ((0, 1), (20, 1), (21, 2), (None, 3)):
        opened.clear()
        rows = open_rows(str(place / "in"), options=ReadOptions(limit=limit))
        assert sum(batch.rows for batch in rows.batches()) == (60 if limit is None else limit)
        assert rows.names == ("id", "text", "label")
        assert opened == [f"part-{number}.parquet" for number in range(parts)]


def test_objects_of_json_arrays_may_lack_a_key_in_a_folder_too(place: Path) -> None:
    (place / "j").mkdir()
    (place / "j" / "a.json").write_text('[{"text": "a", "source": 1}]')
    (place / "j" / "b.json").write_text('[{"text": "b"}]')
    assert read_table(str(place / "j")).columns == {"text": ["a", "b"], "source": [1, None]}


def test_paths_of_pictures_begin_in_the_folder_that_is_read(place: Path) -> None:
    (place / "rows" / "_img").mkdir(parents=True)
    Image.new("RGB", (1, 1)).save(place / "rows" / "_img" / "a.png")
    (place / "rows" / "a.jsonl").write_text('{"text": "A movie?", "image": "_img/a.png"}\n')
    for source in ("rows", "rows/a.jsonl"):
        assert not read_labelled(str(place / source), column="text", image="image").notes
        [path] = read_table(str(place / source)).with_pictures("image").columns["image"]
        assert Path(path).is_file()


def test_a_damaged_record_is_made_again_and_a_damaged_job_is_reported(place: Path) -> None:
    command = ("apply", "r.sear", "in", "-o", "out")
    assert call(*command, folder=place).returncode == 0
    before = (place / "out" / "part-1.parquet").read_bytes()
    for damage in ("{", '{"done": {}}', "[]"):
        (place / "out" / "_sears" / "part-1.parquet.json").write_text(damage)
        done = call(*command, "--resume", "--json", folder=place)
        assert (done.returncode, json.loads(done.stdout)["rows"]) == (0, 60), done.stderr
        assert (place / "out" / "part-1.parquet").read_bytes() == before
    (place / "out" / "_sears" / "job.json").write_text("{")
    done = call(*command, "--resume", folder=place)
    assert done.returncode == 2
    assert "out/_sears/job.json is damaged" in done.stderr


def test_files_that_were_not_tried_are_told_only_if_there_are_some(place: Path) -> None:
    (place / "bad").mkdir()
    for number in range(20):
        (place / "bad" / f"{number:02}.jsonl").write_text("{\n")
    done = call("apply", "r.sear", "bad", "-o", "a", folder=place)
    assert "20 of 20 files failed:" in done.stderr
    (place / "bad" / "20.jsonl").write_text("{\n")
    done = call("apply", "r.sear", "bad", "-o", "b", folder=place)
    assert "20 of 21 files failed, and the rest were not tried:" in done.stderr
