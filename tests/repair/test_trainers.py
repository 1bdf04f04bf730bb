"""The built-in trainer, and a user's own train command, run as it would be typed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from waiting import is_at_work, wait_until

from sears_dsl.data.table import Table, read_table
from sears_dsl.errors import DataError, ModelError, UsageError
from sears_dsl.models.loading import load_predictor
from sears_dsl.repair.trainers import MODEL, BuiltInTrainer, CommandTrainer, GivenTrainer

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
import joblib
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

ROWS = Table(
    {"text": ["a good film", "a bad film", "good fun", "bad noise"], "label": [1, 0, 1, 0]},
    "train.csv",
    "csv",
)
GOOD = [{"text": "so good"}, {"text": "so bad"}]

# Its model says which label comes first in the file, and was trained before, since scikit-learn
# takes seconds to import; counts how often it ran; fails when it is told to.
PROGRAM = """\
import csv, pathlib, shutil, sys
train, model, seed = sys.argv[1:4]
rows = list(csv.DictReader(open(train, newline="", encoding="utf-8")))
runs = pathlib.Path("runs.txt")
runs.write_text(runs.read_text() + seed if runs.exists() else seed)
print("epoch 1")
if pathlib.Path("fail").exists():
    sys.exit("CUDA out of memory")
shutil.copy(f"always {rows[0]['label']}.joblib", model)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train it.py").write_text(PROGRAM, "utf-8")
    for label in ("0", "1"):
        model = DummyClassifier(strategy="constant", constant=label).fit([["x"]], [label])
        joblib.dump(model, tmp_path / f"always {label}.joblib")
    (tmp_path / "place").mkdir()
    return tmp_path


def trainer(program: str = "'train it.py'") -> CommandTrainer:
    return CommandTrainer(
        f"{sys.executable} {program} {{train}} {{model}} {{seed}}",
        "sklearn:{model}",
        load=load_predictor,
    )


def test_a_command_gets_a_csv_parted_as_the_data_is(folder: Path) -> None:
    program = PROGRAM.replace('encoding="utf-8")', 'encoding="utf-8"), delimiter=";"')
    (folder / "train it.py").write_text(program, "utf-8")
    command = f"{sys.executable} 'train it.py' {{train}} {{model}} {{seed}}"
    semicolons = CommandTrainer(
        command, "sklearn:{model}", load=load_predictor, format="csv-semicolon"
    )
    model = semicolons.train(ROWS, seed=0, place=folder / "place")
    assert model.predict(GOOD) == ["1", "1"]
    assert (folder / "place" / "train.csv").exists()


def test_a_command_gets_names_of_classes_and_types_as_they_were_read(folder: Path) -> None:
    datasets = pytest.importorskip("datasets")
    parquet = pytest.importorskip("pyarrow.parquet")
    kinds = {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])}
    kinds["stars"] = datasets.Value("int8")
    rows = [{"text": "a good film", "label": 1, "stars": 5}]
    datasets.Dataset.from_list(rows, features=datasets.Features(kinds)).to_parquet("rows.parquet")
    program = "import shutil, sys\nshutil.copy('always 1.joblib', sys.argv[2])\n"
    (folder / "train it.py").write_text(program, "utf-8")
    command = f"{sys.executable} 'train it.py' {{train}} {{model}} {{seed}}"
    trainer = CommandTrainer(command, "sklearn:{model}", load=load_predictor, format="parquet")
    table = read_table("rows.parquet")
    trainer.train(table.extended([0], {"text": ["a fine film"]}), seed=0, place=folder / "place")
    schema = parquet.read_schema(folder / "place" / "train.parquet")
    assert datasets.Features.from_arrow_schema(schema) == kinds


def test_the_built_in_model_learns_and_can_be_asked_from_its_file(tmp_path: Path) -> None:
    model = BuiltInTrainer(text="text", label="label").train(ROWS, seed=0, place=tmp_path)
    assert model.predict(GOOD) == ["1", "0"]
    assert load_predictor(f"sklearn:{tmp_path / MODEL}").predict(GOOD) == ["1", "0"]


def test_the_same_seed_gives_the_same_built_in_model(tmp_path: Path) -> None:
    built_in = BuiltInTrainer(text="text", label="label")
    identities = [built_in.train(ROWS, seed=3, place=tmp_path).identity for _ in range(2)]
    assert identities[0] == identities[1]  # a hash of the file takes part
    assert built_in.train(ROWS, seed=4, place=tmp_path).identity != identities[0]


def test_another_process_writes_the_same_model(tmp_path: Path) -> None:
    code = f"""\
from pathlib import Path
from sears_dsl.data.table import Table
from sears_dsl.repair.trainers import BuiltInTrainer

rows = Table({ROWS.columns!r}, "train.csv", "csv")
BuiltInTrainer(text="text", label="label").train(rows, seed=3, place=Path())
"""
    models = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env=environment)
        models.append((tmp_path / MODEL).read_bytes())
    assert models[0] == models[1]
    assert load_predictor(f"sklearn:{tmp_path / MODEL}").predict(GOOD) == ["1", "0"]


def test_any_whole_number_is_a_seed_of_scikit_learn(tmp_path: Path) -> None:
    estimator = make_pipeline(CountVectorizer(), SGDClassifier())
    for seed in (-1, 2**32 + 5):
        for trainer in (BuiltInTrainer(text="text", label="label"),
                        GivenTrainer(estimator, text="text", label="label")):  # fmt: skip
            assert trainer.train(ROWS, seed=seed, place=tmp_path).predict(GOOD) == ["1", "0"]


def test_rows_of_one_label_make_no_model(tmp_path: Path) -> None:
    alike = Table({"text": ["a", "b"], "label": ["x", "x"]}, "train.csv", "csv")
    with pytest.raises(DataError, match=r"train\.csv"):
        BuiltInTrainer(text="text", label="label").train(alike, seed=0, place=tmp_path)


def test_a_row_without_a_label_is_no_class_of_its_own(tmp_path: Path) -> None:
    some = Table({"text": ["a", "b", "c"], "label": ["x", "y", None]}, "train.csv", "csv")
    with pytest.raises(DataError, match=r"train\.csv: row 3 has no label"):
        BuiltInTrainer(text="text", label="label").train(some, seed=0, place=tmp_path)


def test_a_command_that_leaves_no_model_is_reported_and_run_again(folder: Path) -> None:
    whole = (folder / "train it.py").read_text("utf-8")
    (folder / "train it.py").write_text("import sys\nprint('dry run')\n", "utf-8")
    (folder / "place" / "model").write_bytes(b"left by another training")
    with pytest.raises(ModelError, match="succeeded but wrote no model"):
        trainer().train(ROWS, seed=7, place=folder / "place")
    (folder / "train it.py").write_text(whole, "utf-8")
    assert trainer().train(ROWS, seed=7, place=folder / "place").predict(GOOD) == ["1", "1"]


def test_half_a_model_is_trained_again(folder: Path) -> None:
    whole = (folder / "train it.py").read_text("utf-8")
    half = "import sys\nopen(sys.argv[2], 'w').write('half')\n"
    (folder / "train it.py").write_text(half, "utf-8")
    with pytest.raises(ModelError, match="could not be unpickled"):
        trainer().train(ROWS, seed=7, place=folder / "place")
    (folder / "train it.py").write_text(whole, "utf-8")
    assert trainer().train(ROWS, seed=7, place=folder / "place").predict(GOOD) == ["1", "1"]


def test_a_command_trains_without_a_shell_and_once(folder: Path) -> None:
    model = trainer().train(ROWS, seed=7, place=folder / "place")
    assert model.predict(GOOD) == ["1", "1"]
    assert (folder / "place" / "output.txt").read_text("utf-8") == "epoch 1\n"
    again = trainer().train(ROWS, seed=7, place=folder / "place")
    assert again.predict(GOOD) == ["1", "1"]
    assert (folder / "runs.txt").read_text("utf-8") == "7"


def test_a_model_that_was_removed_is_trained_again(folder: Path) -> None:
    trainer().train(ROWS, seed=7, place=folder / "place")
    (folder / "place" / MODEL).unlink()
    assert trainer().train(ROWS, seed=7, place=folder / "place").predict(GOOD) == ["1", "1"]
    assert (folder / "runs.txt").read_text("utf-8") == "77"


def test_other_rows_in_the_same_place_are_trained_on_anew(folder: Path) -> None:
    trainer().train(ROWS, seed=7, place=folder / "place")
    turned = Table({name: values[::-1] for name, values in ROWS.columns.items()}, "a.csv", "csv")
    assert trainer().train(turned, seed=7, place=folder / "place").predict(GOOD) == ["0", "0"]
    assert (folder / "runs.txt").read_text("utf-8") == "77"


def test_a_command_that_fails_is_reported_with_its_last_words_and_is_run_again(
    folder: Path,
) -> None:
    (folder / "fail").touch()
    with pytest.raises(ModelError, match="CUDA out of memory") as told:
        trainer().train(ROWS, seed=1, place=folder / "place")
    assert "code 1" in told.value.message
    assert "--resume" in told.value.help
    (folder / "fail").unlink()
    trainer().train(ROWS, seed=1, place=folder / "place")
    assert (folder / "runs.txt").read_text("utf-8") == "11"


def test_a_program_that_is_not_there_is_reported(folder: Path) -> None:
    missing = CommandTrainer("no-such-program {train} {model}", "sklearn:{model}",
                             load=load_predictor)  # fmt: skip
    with pytest.raises(ModelError, match="no-such-program"):
        missing.train(ROWS, seed=0, place=folder / "place")


def test_nothing_in_a_command_is_left_to_a_shell(folder: Path) -> None:
    with pytest.raises(ModelError, match="train command"):
        CommandTrainer("exit 1; {train} {model}", "sklearn:{model}", load=load_predictor).train(
            ROWS, seed=0, place=folder / "place"
        )


@pytest.mark.parametrize(
    ("command", "spec", "told"),
    [
        ("train {train}", "sklearn:{model}", "lacks {model}"),
        ("train {model}", "sklearn:{model}", "lacks {train}"),
        ("train {train} {model} {out}", "sklearn:{model}", "{out}"),
        ("train {train} {model}", "my_module:predict", "lacks {model}"),
        ("train '{train} {model}", "sklearn:{model}", "cannot be parsed"),
    ],
)
def test_templates_that_cannot_work_are_refused_before_any_training(
    command: str, spec: str, told: str
) -> None:
    with pytest.raises(UsageError) as error:
        CommandTrainer(command, spec, load=load_predictor)
    assert told in error.value.message


@pytest.mark.skipif(os.name == "nt", reason="groups of processes are of POSIX")
def test_an_interrupt_ends_what_trains_and_all_that_it_has_started(folder: Path) -> None:
    (folder / "train.sh").write_text("sleep 600 & echo $! > sleeping.txt; wait\n")
    sleeping = folder / "sleeping.txt"

    def interrupt() -> None:
        while not (sleeping.exists() and sleeping.read_text().endswith("\n")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    scripted = CommandTrainer(
        "bash train.sh {train} {model}", "sklearn:{model}", load=load_predictor
    )
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        scripted.train(ROWS, seed=0, place=folder / "place")
    thread.join()
    wait_until(lambda: not is_at_work(int(sleeping.read_text())), "the command still runs")
