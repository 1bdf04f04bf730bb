"""``sears augment`` and ``sears fix`` as a user runs them."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from sears_dsl.cli.model.augment import augment_command
from sears_dsl.cli.model.fix import fix_command
from sears_dsl.data.labelled import LabelledRows, read_labelled
from sears_dsl.discovery.counts import Funnel
from sears_dsl.errors import DataError, ModelError, SearsError, UsageError
from sears_dsl.language.loader import load
from sears_dsl.repair.report import BUILT_IN
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.vetting.journal import Journal
from sears_dsl.vetting.merging import read_reviews
from sears_dsl.vetting.outputs import write_vetted

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
import joblib
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

RULES = """\
ruleset found 1.2.0

rule film: movie -> film

rule not: is -> is not
  expect: flip
"""
OPENINGS = ("a", "this", "one", "another", "the", "their", "every", "some")


def write(path: Path, rows: Sequence[tuple[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.sear").write_text(RULES, "utf-8")
    write(
        tmp_path / "train.csv",
        [
            (f"{opening} {noun} , {word}", label)
            for opening in OPENINGS
            for noun in ("movie", "play")
            for word, label in (("good", "positive"), ("bad", "negative"))
        ],
    )
    write(
        tmp_path / "held-out.csv",
        [(f"my {noun} is {word}", label)
         for noun in ("movie", "play", "book")
         for word, label in (("good", "positive"), ("bad", "negative"))],
    )  # fmt: skip
    return tmp_path


def call(command: click.Command, *arguments: str) -> Result:
    return CliRunner().invoke(
        command, [*arguments, "--tagger", "pinned", "--no-cache"], standalone_mode=False
    )


def augment(*arguments: str) -> Result:
    return call(augment_command, "rules.sear", "train.csv", "--label", "label", *arguments)


def fix(*arguments: str) -> Result:
    return call(
        fix_command, "rules.sear", "--train", "train.csv", "--data", "held-out.csv",
        "--label", "label", "-o", "fix.json", *arguments,
    )  # fmt: skip


def test_a_rule_without_a_name_is_reported_by_its_text(folder: Path) -> None:
    (folder / "bare.sear").write_text("movie -> film\n", "utf-8")
    done = call(augment_command, "bare.sear", "train.csv", "--label", "label", "-o", "out.csv")
    assert re.search(r"^ +\d+ +movie -> film *$", done.output, re.MULTILINE), done.output


def test_augmented_data_has_the_old_rows_the_new_ones_and_a_manifest(folder: Path) -> None:
    done = augment("-o", "out.csv", "--amount", "25%", "--seed", "3")
    assert done.exit_code == 0, done.output
    assert "8 new rows added to 32" in done.output
    with (folder / "train.csv").open(newline="", encoding="utf-8") as file:
        old = list(csv.DictReader(file))
    with (folder / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [{"text": row["text"], "label": row["label"]} for row in rows[:32]] == old
    assert len(rows) == 40
    for row in rows[32:]:
        source = old[int(row["source_row"]) - 1]
        assert row["text"] == source["text"].replace("movie", "film")
        assert row["label"] == source["label"]
        assert (row["source_rule"], row["source_ruleset"]) == ("film", "found 1.2.0")
    record = json.loads((folder / "out.manifest.json").read_text("utf-8"))
    assert (record["format"], record["version"]) == ("sears-augmentation", 1)
    assert record["rules"] == {"film": 8, "not": 0}
    written = (folder / "out.csv").read_bytes()
    again = augment("-o", "again.csv", "--amount", "25%", "--seed", "3", "--quiet")
    assert again.output == ""
    assert (folder / "again.csv").read_bytes() == written


def test_what_reads_the_data_reads_the_augmented_data_too(folder: Path) -> None:
    """The data is a csv with semicolons; the program that trains on it reads no other."""
    text = (folder / "train.csv").read_text("utf-8")
    with (folder / "train.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    with (folder / "train.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";").writerows(rows)
    assert augment("-o", "out.csv", "--amount", "25%").exit_code == 0
    with (folder / "out.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file, delimiter=";"))[1][:2] == rows[1]
    assert augment("-o", "commas.csv", "--amount", "25%", "--output-format", "csv").exit_code == 0
    assert (folder / "commas.csv").read_text("utf-8").startswith(text.splitlines()[0])


@pytest.mark.parametrize("output", ["out.parquet", "out.arrow"])
def test_types_and_names_of_classes_stay_as_they_were_read(folder: Path, output: str) -> None:
    """Who trains on a dataset of Hugging Face also trains on the augmented one, by its names."""
    datasets = pytest.importorskip("datasets")
    parquet, feather = map(pytest.importorskip, ("pyarrow.parquet", "pyarrow.feather"))
    features = datasets.Features(
        {
            "id": datasets.Value("int8"),
            "text": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["bad", "good"]),
            "topics": datasets.Sequence(datasets.ClassLabel(names=["plot", "cast"])),
            "stars": datasets.Value("float32"),
        }
    )
    rows = [
        {"id": number, "text": f"movie {number}", "label": number % 2, "topics": [1], "stars": 0.5}
        for number in range(4)
    ]
    datasets.Dataset.from_list(rows, features=features).to_parquet("rows.parquet")
    for more in ([], ["--only-new"]):
        done = call(augment_command, "rules.sear", "rows.parquet", "--label", "label",
                    "--column", "text", "-o", output, *more)  # fmt: skip
        assert done.exit_code == 0, done.output
        reader = parquet.read_table if output.endswith("parquet") else feather.read_table
        written = reader(output)
        own = datasets.Features.from_arrow_schema(written.schema)
        assert {name: own[name] for name in features} == features
        assert own["source_row"] == datasets.Value("string")
        assert written.column("text")[-1].as_py() == "film 3"


def test_a_new_id_that_its_type_cannot_hold_widens_the_column(folder: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    ids = arrow.array([126, 127], arrow.int8())
    labels = arrow.array([0, 1], arrow.int16())
    parquet.write_table(
        arrow.table({"id": ids, "text": ["A movie.", "A play."], "label": labels}), "rows.parquet"
    )
    done = call(augment_command, "rules.sear", "rows.parquet", "--label", "label",
                "-o", "out.parquet")  # fmt: skip
    assert done.exit_code == 0, done.output
    written = parquet.read_table("out.parquet")
    assert written.column("id").to_pylist() == [126, 127, 128]
    assert written.schema.field("label").type == arrow.int16()


def test_the_manifest_is_called_as_that_of_rules_and_replaces_no_other(folder: Path) -> None:
    assert augment("-o", "new.csv.gz").exit_code == 0
    assert (folder / "new.manifest.json").exists()
    assert augment("-o", "new.csv.gz").exit_code == 0
    manifest = folder / "rules.manifest.json"
    before = manifest.read_bytes() if manifest.exists() else None
    if before is None:
        before = b'{"format": "sears-discovery"}'
        manifest.write_bytes(before)
    done = augment("-o", "rules.csv")
    assert isinstance(done.exception, click.UsageError)
    assert "is not the manifest of an augmentation" in str(done.exception)
    assert manifest.read_bytes() == before
    assert not (folder / "rules.csv").exists()


def test_standard_output_is_for_rows_or_json_and_has_nothing_beside_it(folder: Path) -> None:
    before = {*folder.iterdir()}
    both = augment("-o", "-", "--output-format", "csv", "--json")
    assert isinstance(both.exception, click.UsageError)
    rows = augment("-o", "-", "--output-format", "csv")
    assert rows.exit_code == 0, rows.output
    assert rows.stdout.count(",film") == 16
    assert rows.stderr.endswith("written: -\n")
    assert {*folder.iterdir()} == before


def test_rules_of_one_name_in_two_files_are_counted_apart(folder: Path) -> None:
    (folder / "more.sear").write_text("rule film: movie -> picture\n", "utf-8")
    done = call(augment_command, "rules.sear", "more.sear", "train.csv", "-o", "out.csv",
                "--label", "label", "--amount", "10")  # fmt: skip
    assert done.exit_code == 0, done.output
    record = json.loads((folder / "out.manifest.json").read_text("utf-8"))
    assert record["rules"] == {"found/film": 5, "not": 0, "more/film": 5}
    done = call(fix_command, "rules.sear", "more.sear", "--train", "train.csv", "--data",
                "held-out.csv", "--label", "label", "-o", "fix.json", "--seeds", "1")  # fmt: skip
    assert done.exit_code == 0, done.output
    rules = json.loads((folder / "fix.json").read_text("utf-8"))["result"]["rules"]
    assert {rule["id"]: rule["added"] for rule in rules} == {
        "found/film": 16, "not": 0, "more/film": 16
    }  # fmt: skip


def test_half_a_character_is_reported_before_a_table_is_written(folder: Path) -> None:
    (folder / "train.jsonl").write_text('{"text": "a movie \\ud83d"}\n', "utf-8")
    (folder / "plain.sear").write_text("movie -> film\n", "utf-8")
    for name in ("out.parquet", "out.csv"):
        done = call(augment_command, "plain.sear", "train.jsonl", "-o", name)
        assert isinstance(done.exception, DataError)
        assert "U+D83D" in str(done.exception)
        assert not (folder / name).exists()


def test_new_rows_alone_in_another_format(folder: Path) -> None:
    assert augment("-o", "new.jsonl.gz", "--only-new").exit_code == 0
    rows = read_labelled("new.jsonl.gz", column="text", label="label")
    assert len(rows.rows) == 16
    assert all("film" in text for text in rows.texts)


@pytest.mark.parametrize("column", ["text ", "text,text", " text , text"])
def test_a_column_with_blanks_or_named_twice_is_that_column(folder: Path, column: str) -> None:
    done = augment("--column", "text", "-o", "plain.csv")
    assert done.exit_code == 0, done.output
    done = augment("--column", column, "-o", "other.csv")
    assert done.exit_code == 0, done.output
    assert (folder / "other.csv").read_bytes() == (folder / "plain.csv").read_bytes()


def test_less_than_was_wanted_is_reported(folder: Path) -> None:
    done = augment("-o", "out.csv", "--amount", "2x")
    assert done.exit_code == 0
    assert "64 were requested, but the rules make no more" in done.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-o", "out.txt"), "plain text has only one column"),
        (("-o", "out.csv", "--column", "txet"), "did you mean 'text'"),
        (("-o", "out.csv", "--amount", "some"), "not an amount"),
        (("-o", "out.csv", "--column", "label"), "no rule changes a row"),
        (("-o", "missing/out.csv"), "cannot write missing"),
    ],
)
def test_what_cannot_be_augmented_is_reported_and_nothing_is_written(
    folder: Path, arguments: tuple[str, ...], told: str
) -> None:
    done = augment(*arguments)
    assert isinstance(done.exception, SearsError)
    assert told in str(done.exception)
    assert not list(folder.glob("out*"))


def test_the_data_itself_is_not_overwritten(folder: Path) -> None:
    before = (folder / "train.csv").read_bytes()
    assert isinstance(augment("-o", "train.csv").exception, click.UsageError)
    assert (folder / "train.csv").read_bytes() == before
    done = augment("-o", "rules.sear", "--output-format", "csv")
    assert isinstance(done.exception, click.UsageError)
    assert (folder / "rules.sear").read_text("utf-8") == RULES


def test_fix_trains_compares_and_reports(folder: Path) -> None:
    done = fix("--seeds", "2", "--save-model", "repaired.model")
    assert done.exit_code == 0, done.output
    assert "error on the sensitivity set" in done.output
    assert "training 6 of 6: control, seed 1" in done.output
    record = json.loads((folder / "fix.json").read_text("utf-8"))
    assert (record["format"], record["version"]) == ("sears-repair", 1)
    assert record["result"]["added"] == 16
    assert record["result"]["held_out_rows"] == 6
    # Nothing was ever trained on "is not", so a flipped verdict stays wrong.
    by_rule = {rule["id"]: rule for rule in record["result"]["rules"]}
    assert by_rule["not"]["original"]["error"] == 1
    assert by_rule["film"]["augmented"]["error"] == 0
    report = (folder / "fix.md").read_text("utf-8")
    assert "| validation error | 0 of 6 (" in report
    assert "| `movie -> film` | 16 |" in report
    assert not (folder / "fix.json.partial").exists()
    from sears_dsl.models.loading import load_predictor

    assert load_predictor("sklearn:repaired.model").predict([{"text": "film , bad"}]) == [
        "negative"
    ]
    first = (folder / "fix.json").read_bytes(), (folder / "fix.md").read_bytes()
    assert fix("--seeds", "2", "--quiet").output == ""
    assert ((folder / "fix.json").read_bytes(), (folder / "fix.md").read_bytes()) == first


def test_rules_of_quotes_and_bars_stay_in_their_cells(folder: Path) -> None:
    (folder / "rules.sear").write_text('(movie|film) -> "``" movie\n', "utf-8")
    assert fix("--seeds", "1", "--no-control").exit_code == 0
    [line] = [each for each in (folder / "fix.md").read_text("utf-8").splitlines()
              if each.startswith("| `")]  # fmt: skip
    assert line.startswith('| ``` (movie\\|film) -> "``" movie ``` | 16 |')


def test_what_makes_a_report_doubtful_stands_in_it(folder: Path) -> None:
    write(
        folder / "held-out.csv", [("a movie , good", "positive"), ("my movie is bad", "negative")]
    )
    done = fix("--seeds", "1", "--no-control", "--amount", "5x")
    assert done.exit_code == 0, done.output
    for told in (
        "160 new rows were requested, but the rules make only 16",
        "1 held-out row is also a training row",
    ):
        assert told in done.output
        assert told in (folder / "fix.md").read_text("utf-8")


def test_a_gate_that_is_missed_exits_with_1(folder: Path) -> None:
    assert fix("--seeds", "1", "--min-fall", "0.9").exit_code == 1
    assert (folder / "fix.json").exists()


@pytest.mark.parametrize("options", [(), ("--amounts", "none,full")])
def test_rows_that_are_all_trained_on_are_refused_before_any_training(
    folder: Path, options: tuple[str, ...]
) -> None:
    done = fix("--data", "train.csv", *options)
    assert isinstance(done.exception, UsageError)
    assert "all held-out rows are also training rows" in str(done.exception)
    assert "training 1" not in done.output
    assert not any(folder.glob("fix.*"))


@pytest.mark.parametrize("options", [(), ("--amounts", "none,full")])
def test_the_screen_and_the_report_say_at_once_that_the_model_is_not_the_users(
    folder: Path, options: tuple[str, ...]
) -> None:
    (folder / "rules.sear").write_text("movie -> film\n", "utf-8")
    done = fix("--seeds", "1", *options)
    assert done.output.startswith(f"note: {BUILT_IN}\n")
    assert BUILT_IN in (folder / "fix.md").read_text("utf-8").splitlines()[:5]
    assert json.loads((folder / "fix.json").read_text("utf-8"))["built_in"]


def test_a_gate_on_few_rows_is_not_passed(folder: Path) -> None:
    """Six held-out rows prove nothing, whatever their results."""
    done = fix("--seeds", "2", "--min-fall", "0", "--margin", "1")
    assert done.exit_code == 1
    assert "verdict: not judged" in done.output
    record = json.loads((folder / "fix.json").read_text("utf-8"))
    assert record["verdict"]["outcome"] == "not judged"
    assert "rows; 20 are needed" in record["verdict"]["reasons"][0]
    assert record["gate"] == {"fall": 0.0, "margin": 1.0, "support": 20}
    told = " ".join(done.output.split())
    assert record["conclusion"] in told
    report = (folder / "fix.md").read_text("utf-8")
    assert f"**{record['conclusion']}**" in report
    assert "- verdict: not judged" in report
    assert " 6 of 8 → " in report


# Its model was trained before, since scikit-learn takes seconds to import; it fails on request.
TRAIN = """\
import pathlib, shutil, sys
train, model = sys.argv[1:3]
with open("runs.txt", "a") as runs:
    runs.write(model + "\\n")
if pathlib.Path("fail").exists() and len(pathlib.Path("runs.txt").read_text().splitlines()) == 2:
    sys.exit("no space left on device")
assert pathlib.Path(train).read_text("utf-8").startswith("text,label")
shutil.copy("trained.joblib", model)
"""


def train_before(folder: Path) -> None:
    """Write the script, and the model that it passes on."""
    (folder / "train.py").write_text(TRAIN, "utf-8")
    with (folder / "train.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    learned = make_pipeline(CountVectorizer(), LogisticRegression())
    learned.fit([row["text"] for row in rows], [row["label"] for row in rows])
    joblib.dump(learned, folder / "trained.joblib")


def test_a_model_with_an_ending_can_be_saved(folder: Path) -> None:
    train_before(folder)
    done = fix("--command", f"{sys.executable} train.py {{train}} {{model}}.pkl",
               "--model", "sklearn:{model}.pkl", "--seeds", "1", "--no-control",
               "--save-model", "kept.pkl")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert BUILT_IN not in done.output + (folder / "fix.md").read_text("utf-8")
    assert (folder / "kept.pkl").read_bytes() == (folder / "trained.joblib").read_bytes()


def test_a_train_command_that_fails_half_way_loses_nothing(folder: Path) -> None:
    train_before(folder)
    (folder / "fail").touch()
    own = ("--command", f"{sys.executable} train.py {{train}} {{model}}",
           "--model", "sklearn:{model}", "--seeds", "1", "--no-control")  # fmt: skip
    stopped = fix(*own)
    assert isinstance(stopped.exception, ModelError)
    assert "no space left on device" in str(stopped.exception)
    assert not (folder / "fix.json").exists()
    (folder / "fail").unlink()
    done = fix(*own, "--resume")
    assert done.exit_code == 0, done.output
    trained = [Path(line).parent.name for line in (folder / "runs.txt").read_text().splitlines()]
    assert trained == ["original-0", "augmented-0", "augmented-0"]
    record = json.loads((folder / "fix.json").read_text("utf-8"))
    assert "{seed}" in record["notes"][0]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--command", "train {train} {model}"), "--command and --model go together"),
        *(
            ((option, "context"), f"{option} needs a --command")
            for option in ("--also", "--image", "--choices")
        ),
        *(
            (
                ("--amounts", "none,full", *option),
                f"{option[0]} does not go with --amounts",
            )
            for option in (("--amount", "5"), ("--no-control",), ("--balance",), ("--no-balance",))
        ),
        (("-o", "fix.txt"), ".json"),
        (("--margin", "0.1"), "--margin says nothing without --min-fall"),
        (("--min-support", "5"), "--min-support says nothing without --min-fall"),
        (("--min-fall", "nan"), "nan is not a number"),
        (("--min-fall", "0.5", "--margin", "nan"), "nan is not a number"),
        (("--train", "train.json", "-o", "train.json"), "train.json is an input of this command"),
        (("--train", "train.json", "-o", "gone/../train.json"), "train.json is an input of this"),
        (("--save-model", "held-out.csv"), "held-out.csv is an input of this command"),
        (("--save-model", "missing/model"), "is in a folder that does not exist"),
        (("--save-model", "."), "is already a folder"),
        (("--save-model", "fix.json"), "fix.json is the report"),
        (("--save-model", "./fix.md"), "fix.md is the report"),
    ],
)
def test_options_and_places_are_looked_at_before_any_work_and_no_input_is_written_over(
    folder: Path, arguments: tuple[str, ...], told: str
) -> None:
    (folder / "train.json").write_text('[{"text": "a movie", "label": "positive"}]', "utf-8")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = fix(*arguments)
    assert isinstance(done.exception, click.UsageError)
    assert told in done.exception.message
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_model_replaces_no_rule_file_of_a_folder_and_no_import(folder: Path) -> None:
    for place in ("more", "more/sets"):
        (folder / place).mkdir()
    (folder / "more/a.sear").write_text('import "sets/b.sear" as b\n@b.WORD -> film\n', "utf-8")
    (folder / "more/sets/b.sear").write_text("set WORD = movie\n", "utf-8")
    for name, rules in (("more/a.sear", "more"), ("more/sets/b.sear", "more/a.sear")):
        before = (folder / name).read_bytes()
        done = fix(rules, "--save-model", name)
        assert isinstance(done.exception, click.UsageError), done.output
        assert f"{name} is an input of this command" in done.exception.message
        assert (folder / name).read_bytes() == before


def found_on(rules: Path, data: LabelledRows) -> None:
    """Write the manifest of a run of discovery on these rows."""
    pytest.importorskip("pydantic", reason="pydantic is not installed")
    from sears_dsl.catalogue import manifest_path
    from sears_dsl.discovery.result.manifest import (
        DataIdentity,
        Manifest,
        SettingsRecord,
        write_manifest,
    )

    settings = SettingsRecord(
        rules=10, tau=0.5, tau_from="given", delta=0.1, minimum_flips=3, minimum_frequency=0.005,
        propose_from="paraphrases", context=1, order="meaning", max_questions=None,
        question_limit_reached=False, holdout=0, beam=30, seed=0, budget_seconds=None,
        budget_reached=False, cut_short=(), comparison="exact",
    )  # fmt: skip
    manifest = Manifest(
        ruleset_sha256="0" * 64,
        data=DataIdentity(
            sha256=data.digest,
            rows=len(data.rows),
            column="text",
            label=None if data.labels is None else "label",
        ),
        model="m", pivots=(), scorer="s", tagger="t", settings=settings,
        counts=Funnel(**dict.fromkeys(Funnel.__dataclass_fields__, 0)), base_rate=0.1, base_rows=10,
        rules=(), closest=(),
        versions={},
    )  # fmt: skip
    write_manifest(manifest, manifest_path(rules))


@pytest.mark.parametrize("label", ["label", None])
def test_rules_are_not_reported_on_the_rows_that_they_were_found_on(
    folder: Path, label: str | None
) -> None:
    found_on(Path("rules.sear"), read_labelled("held-out.csv", column="text", label=label))
    refused = fix("--seeds", "1")
    assert isinstance(refused.exception, UsageError)
    assert "were found on the rows of held-out.csv" in str(refused.exception)
    allowed = fix("--seeds", "1", "--same-rows")
    assert allowed.exit_code == 0, allowed.output
    report = (folder / "fix.md").read_text("utf-8")
    assert "found on the same rows that this report measures on" in report
    assert "means over 1 training of each kind" in report


def test_vetted_rules_are_still_known_by_the_rows_that_they_were_found_on(folder: Path) -> None:
    found_on(Path("rules.sear"), read_labelled("held-out.csv", column="text", label="label"))
    ruleset = load("rules.sear")
    with Journal(folder / "ana.jsonl", ruleset=ruleset, reviewer="ana") as journal:
        journal.append("accept", {"rule": "film", "shown": []})
    reviews = read_reviews([folder / "ana.jsonl"], ruleset)
    write_vetted(ruleset, reviews, Path("rules.vetted.sear"), tagger=PinnedTagger())
    (folder / "rules.manifest.json").unlink()
    refused = call(fix_command, "rules.vetted.sear", "--train", "train.csv", "--data",
                   "held-out.csv", "--label", "label", "-o", "fix.json")  # fmt: skip
    assert isinstance(refused.exception, UsageError)
    assert "rules.vetted.sear were found on the rows of held-out.csv" in str(refused.exception)


def test_a_row_without_text_is_kept_and_not_rewritten(folder: Path) -> None:
    (folder / "train.jsonl").write_text(
        '{"text": "a movie", "label": 1, "n": [1, 2]}\n{"text": null, "label": 0}\n', "utf-8"
    )
    done = call(augment_command, "rules.sear", "train.jsonl", "--column", "text", "-o", "out.jsonl",
                "--label", "label")  # fmt: skip
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()]
    assert [row["text"] for row in rows] == ["a movie", None, "a film"]
    assert rows[2]["label"] == 1
    assert rows[2]["n"] == [1, 2]


def test_a_text_that_is_none_is_reported_with_its_row(folder: Path) -> None:
    (folder / "train.jsonl").write_text('{"text": "a"}\n{"text": 7}\n', "utf-8")
    done = call(augment_command, "rules.sear", "train.jsonl", "--column", "text", "-o", "out.jsonl")
    assert isinstance(done.exception, SearsError)
    done = call(augment_command, "rules.sear", "train.jsonl", "--column", "text", "-o", "out.jsonl",
                "--label", "text")  # fmt: skip
    assert isinstance(done.exception, DataError)
    assert "row 2" in str(done.exception)
