"""``sears audit`` and ``sears compare``, run as by a user and by continuous integration."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import sears_dsl
from sears_dsl.auditing.grids import GridDocument
from sears_dsl.cli.model.audit import audit_command, chosen_scoring
from sears_dsl.cli.model.compare import compare_command
from sears_dsl.data.labelled import read_labelled
from sears_dsl.discovery.parts import PartsChoice
from sears_dsl.errors import DataError, ModelError, UsageError
from sears_dsl.language.loader import load
from sears_dsl.runtime import extras

MODEL = """\
import pathlib

def predict(texts):
    with open("asked.txt", "a") as file:
        file.writelines(text + "\\n" for text in texts)
    return [("no" if "film 3" in text or "film 7" in text else "yes", 0.95) for text in texts]

def better(texts):
    return ["yes"] * len(texts)

def short(rows):
    return [row["text"][-1] not in "37" for row in rows]

def none(rows):
    return [False for row in rows]

def failing(texts):
    if any("film 5" in text for text in texts) and not pathlib.Path("room").exists():
        raise MemoryError("no room")
    return predict(texts)
"""
FILES = ("audit.html", "audit.json", "audit.md", "junit.xml")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Forty rows; the model flips those that end in 3 or 7: one in five."""
    monkeypatch.chdir(tmp_path)
    # Other tests have a model of that name.
    monkeypatch.delitem(sys.modules, "brittle_films", raising=False)
    (tmp_path / "brittle_films.py").write_text(MODEL, "utf-8")
    (tmp_path / "rules.sear").write_text("rule film: movie -> film\n", "utf-8")
    with (tmp_path / "test.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", "part"])
        writer.writerows([f"part {k // 10} movie {k % 10}", "yes", "ab"[k % 2]] for k in range(40))
    return tmp_path


def test_what_the_score_needs_can_be_done_without(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    refused = audit("--scorer", "judge")
    assert isinstance(refused.exception, UsageError)
    assert refused.exception.help == (
        "pip install 'sears-dsl[discovery]', or leave the score out: --scorer none"
    )
    assert audit("--scorer", "none").exit_code == 0


def audit(*more: str, model: str = "predict", output: str = "out") -> Result:
    arguments = ["rules.sear", "--model", f"brittle_films:{model}", "--data", "test.csv",
                 "--column", "text", "--label", "label", "--tagger", "pinned", "--scorer", "none",
                 "-o", output, *more]  # fmt: skip
    return CliRunner().invoke(audit_command, arguments)


def found(folder: Path, name: str = "out") -> dict:
    return json.loads((folder / name / "audit.json").read_text("utf-8"))


def test_an_audit_finds_the_rate_that_was_built_in_and_writes_the_same_bytes(folder: Path) -> None:
    done = audit("--slice", "part", "--slice", "part")  # named twice, it is one slicing
    assert done.exit_code == 0, done.output
    assert "8 of 40" in done.output
    assert "verdict: measured" in done.output
    document = found(folder)
    assert document["rules"][0]["flips"]["rate"] == 0.2
    assert document["rules"][0]["confidence"]["sure_flips"] == 8
    assert document["together"]["accuracy"]["worst"]["rate"] == 0.8
    assert {each["slicing"] for each in document["slices"]} >= {"label", "length", "part"}
    parts = [each["value"] for each in document["slices"] if each["slicing"] == "part"]
    assert parts == ["a", "b"]
    assert not (folder / "out.partial").exists()
    written = {name: (folder / "out" / name).read_bytes() for name in FILES}
    again = audit("--slice", "part", "--quiet")
    assert (again.exit_code, again.output) == (0, "")
    assert {name: (folder / "out" / name).read_bytes() for name in FILES} == written


def test_an_audit_in_which_no_rule_fires_says_what_to_look_at(folder: Path) -> None:
    (folder / "rules.sear").write_text("rule book: novel -> book\n", "utf-8")
    done = audit()
    assert done.exit_code == 0, done.output
    assert "no rule fires: is this the right column" in done.output
    assert "no rule changes a row that the model gets right." in done.output
    assert "rate (95%)" not in done.output
    assert "of 0 rows" not in done.output
    assert "Accuracy is 100% (40 of 40).\n" in done.output


@pytest.mark.parametrize(
    ("gate", "code"),
    [(["--max-flip-rate", "0.2"], 0), (["--max-flip-rate", "19%"], 1),
     (["--gate", "film=20%"], 0), (["--gate", "film=0.1"], 1),
     (["--max-flip-rate", "1%", "--gate", "film=50%"], 0),
     (["--max-rows-flipped", "10%"], 1), (["--max-rows-flipped", "30%"], 0),
     (["--max-flip-rate", "0.5", "--min-support", "41"], 1),
     (["--max-flip-rate", "0.19", "--judge-by", "evidence"], 0),
     (["--max-flip-rate", "0.25", "--judge-by", "proof"], 1),
     (["--tolerance", "5%"], 0), (["--gate", "robust:all=20%"], 0),
     (["--gate", "robust:film=19%"], 1), (["--gate", "robust:all=20%", "--gate", "film=10%"], 1)],
)  # fmt: skip
def test_the_exit_code_is_that_of_the_gate(folder: Path, gate: list[str], code: int) -> None:
    done = audit(*gate)
    assert done.exit_code == code, done.output
    assert f"verdict: {found(folder)['verdict']['outcome']}" in done.output


def test_what_is_tolerated_is_judged_and_told_and_demands_nothing(folder: Path) -> None:
    done = audit("--tolerance", "10%", "--slice", "part")
    assert (done.exit_code, found(folder)["verdict"]["outcome"]) == (0, "measured")
    told = " ".join(done.output.split())
    assert "note: --tolerance only reports robustness; --gate robust:all=RATE demands it" in told
    assert "--tolerance only reports" not in audit("--gate", "robust:all=20%", output="b").output
    assert "all rules at τ = 10%: not robust; accuracy goes from 100.0% to 80.0%" in told
    assert "smallest τ 20.0%; 32 of 40 rows are locally robust" in told
    assert "by part: accuracy is 100.0% on all 40 rows" in told
    record = found(folder)["robustness"]["records"][0]
    assert (record["gap"], record["robust"]) == (-0.2, False)


def test_what_an_oracle_rejects_is_reported_and_asked_of_no_model(folder: Path) -> None:
    done = audit("--oracle", "brittle_films:short")
    assert done.exit_code == 0, done.output
    document = found(folder)
    assert (document["rules"][0]["changed"], document["rules"][0]["rejected"]) == (32, 8)
    assert document["oracle"].startswith("brittle_films:short (")
    assert any("rejected 8 of 40 rewrites before the model was asked: film 8." in note
               for note in document["notes"])  # fmt: skip
    assert "film 3" not in (folder / "asked.txt").read_text()


def test_json_is_all_that_is_printed_on_standard_output(folder: Path) -> None:
    done = audit("--json", "--quiet")
    assert json.loads(done.stdout) == found(folder)


def test_a_run_that_broke_off_goes_on_where_it_was(folder: Path) -> None:
    done = audit("--batch-size", "10", model="failing", output="deep/out")
    partial = Path("deep", "out.partial")
    assert isinstance(done.exception, ModelError)
    assert "no room" in str(done.exception)
    assert f"results so far are in {partial}; --resume continues" in done.stderr
    assert not (folder / "deep" / "out").exists()
    assert (folder / partial / "predictions.sqlite3").exists()
    asked = folder / "asked.txt"
    assert len(asked.read_text().splitlines()) == 40
    (folder / "room").touch()
    done = audit("--batch-size", "10", model="failing", output="deep/out")
    assert isinstance(done.exception, UsageError), "hours of work are not removed unasked"
    assert f"{partial} holds an interrupted run, last active" in done.exception.message
    assert "--resume continues it; --restart removes it" in done.exception.help
    done = audit("--batch-size", "10", "--resume", model="failing", output="deep/out")
    assert done.exit_code == 0, done.output
    # The forty rows were not asked about again, only their rewrites.
    assert len(asked.read_text().splitlines()) == 80
    assert found(folder, "deep/out")["rules"][0]["flips"]["count"] == 8
    assert not (folder / partial).exists()


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [(["--gate", "flim=5%"], UsageError, "the gate flim matches no rule"),
     (["--gate", "5%"], UsageError, "is not a gate"),
     (["--slice", "prat"], DataError, "did you mean 'part'"),
     (["--oracle", "brittle_films:shrot"], UsageError, "has no 'shrot'"),
     (["--oracle", "brittle_films:none"], DataError, "rejects all 40 rewrites"),
     (["--oracle", "missing.jsonl"], UsageError, "is not an oracle: there is no such file"),
     (["--label", "lable"], DataError, "did you mean 'label'")],
)  # fmt: skip
def test_wrong_use_is_reported_before_the_model_is_asked(
    folder: Path, arguments: list[str], error: type[Exception], told: str
) -> None:
    done = audit(*arguments)
    assert isinstance(done.exception, error)
    assert told in str(done.exception)
    assert not (folder / "out").exists()
    assert not (folder / "asked.txt").exists()


def test_rules_in_a_file_whose_name_is_no_utf8_are_audited(folder: Path) -> None:
    os.rename(folder / "rules.sear", folder / os.fsdecode(b"r\xff.sear"))
    done = CliRunner().invoke(
        audit_command,
        [os.fsdecode(b"r\xff.sear"), "--model", "brittle_films:predict", "--data", "test.csv",
         "--tagger", "pinned", "--scorer", "none", "-o", "out"],
    )  # fmt: skip
    assert done.exit_code == 0, done.exception
    assert sorted(path.name for path in (folder / "out").iterdir()) == sorted(FILES)
    assert found(folder)["rulesets"][0]["name"] == "r\ufffd.sear"


def test_rows_that_are_read_once_cannot_be_sliced(folder: Path) -> None:
    done = audit("--data", "-", "--slice", "part")
    assert done.exit_code == 2
    assert "reads the rows a second time, and - can be read only once" in done.output
    assert not (folder / "asked.txt").exists()


def test_the_current_folder_can_be_the_output(folder: Path) -> None:
    done = audit(output=".")
    assert done.exit_code == 0, done.output
    assert all((folder / name).exists() for name in FILES)


def test_names_in_brackets_are_printed_as_they_are(folder: Path) -> None:
    assert "written: run[a]/audit.html" in audit(output="run[a]").output


def test_a_rate_that_is_none_is_wrong_use(folder: Path) -> None:
    for written, advice in (("500%", "0.05 or 5%"), ("5", "5% or 0.05"), ("", "0.05 or 5%")):
        done = audit("--max-flip-rate", written)
        assert done.exit_code == 2
        assert f"{written} is not a rate: write {advice}\n" in done.output


def test_support_that_is_required_needs_a_limit(folder: Path) -> None:
    done = audit("--require-support", "--min-support", "41")
    assert isinstance(done.exception, UsageError)
    assert "--require-support has no limit" in str(done.exception)
    assert "set a limit" in (done.exception.help or "")
    assert not (folder / "asked.txt").exists()
    assert audit("--require-support", "--min-support", "41", "--gate", "film=1").exit_code == 1


@pytest.mark.parametrize("name", ["nodir/s.md", "test.csv/s.md", "out/sub/s.md"])
def test_a_summary_that_cannot_be_written_is_reported_before_the_model_is_asked(
    folder: Path, name: str
) -> None:
    done = audit("--summary", name)
    assert isinstance(done.exception, DataError)
    assert done.exception.help == "choose another place with --summary"
    assert not (folder / "asked.txt").exists()
    assert not (folder / "out.partial").exists()
    for place in ("s.md", "out/s.md"):
        assert audit("--summary", place).exit_code == 0
        assert (folder / place).read_text("utf-8").startswith("#")


def test_a_file_of_a_folder_that_is_no_data_is_named_with_it(folder: Path) -> None:
    (folder / "rows").mkdir()
    (folder / "rows" / "notes.md").write_text("hello", "utf-8")
    done = audit("--data", "rows")
    assert isinstance(done.exception, UsageError)
    assert done.exception.message == "the name of rows/notes.md does not show its format"


def test_what_a_model_prints_is_no_part_of_what_is_printed(folder: Path) -> None:
    """Including its child processes, which know the streams only by number."""
    (folder / "chatty_films.py").write_text(
        "import os\nprint('imported')\n\ndef predict(texts):\n    print('asked')\n"
        "    os.system('echo started')\n    return ['yes'] * len(texts)\n", "utf-8"
    )  # fmt: skip
    words = ("audit", "rules.sear", "--model", "chatty_films:predict", "--data", "test.csv",
             "--column", "text", "--label", "label", "--tagger", "pinned", "--scorer", "none",
             "--json")  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "sears_dsl", *words], check=True, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(sears_dsl.__file__).parents[1])},
    )  # fmt: skip
    assert json.loads(done.stdout)["format"] == "sears-audit"
    assert all(word in done.stderr for word in ("imported\n", "asked\n", "started\n"))


def test_two_models_are_compared_on_the_same_rows(folder: Path) -> None:
    assert audit(output="before").exit_code == 0
    assert audit(model="better", output="after").exit_code == 0
    run = CliRunner().invoke
    done = run(compare_command, ["before", "after", "-o", "both", "--fail-if-worse"])
    assert done.exit_code == 0, done.output
    assert "better" in done.output
    document = json.loads((folder / "both" / "comparison.json").read_text("utf-8"))
    assert document["rules"][0]["failures"]["only_first"] == 8
    assert document["rules"][0]["failures"]["p_value"] == pytest.approx(2 * 0.5**8)
    assert {path.name for path in (folder / "both").iterdir()} == {
        "comparison.html", "comparison.json", "comparison.md"
    }  # fmt: skip
    assert run(compare_command, ["after", "before", "--fail-if-worse", "--quiet"]).exit_code == 1
    assert run(compare_command, ["after", "before", "--quiet"]).exit_code == 0
    printed = run(compare_command, ["before", "after/audit.json", "--json"])
    assert json.loads(printed.stdout) == document


def test_an_audit_is_not_compared_with_itself(folder: Path) -> None:
    """That happens where a project file names AFTER and only that folder is given as BEFORE."""
    assert audit(output="after").exit_code == 0
    done = CliRunner().invoke(compare_command, ["after", "after/../after", "--fail-if-worse"])
    assert isinstance(done.exception, UsageError)
    assert "the audit after is named twice" in done.exception.message


def test_a_comparison_without_compared_rules_shows_no_empty_table(folder: Path) -> None:
    assert audit(output="before").exit_code == 0
    (folder / "rules.sear").write_text("rule other: movie -> film\n", "utf-8")
    assert audit(output="after").exit_code == 0
    done = CliRunner().invoke(compare_command, ["before", "after"])
    assert "0 with no evidence of a difference" in done.output
    assert "fail before" not in done.output


def test_a_build_is_told_which_rules_changed_and_does_not_fail_by_them(folder: Path) -> None:
    assert audit(model="better", output="before").exit_code == 0
    rules = "rule film: movie -> film movie\nrule part: part -> piece\nrule book: book -> novel\n"
    (folder / "rules.sear").write_text(rules, "utf-8")
    assert audit(output="after").exit_code == 0
    arguments = ["before", "after", "--fail-if-worse"]
    done = CliRunner().invoke(compare_command, arguments, terminal_width=200)
    assert done.exit_code == 0, done.output
    lines = " ".join(done.output.split())
    assert "not compared: movie -> film movie (film) (the rule was movie -> film), " in lines
    assert "part -> piece (part) (only the second audit has it)" in lines
    assert "3 not compared" in lines


# ---------------------------------------------------------------- scored as when they were found


def test_several_models_are_audited_at_once_and_have_a_grid(folder: Path) -> None:
    """The figures of each model are those of an audit of it alone."""
    for name in ("predict", "better"):
        assert audit("--max-flip-rate", "50%", model=name, output=name).exit_code == 0
    together = audit("--model", "robust=brittle_films:better", "--max-flip-rate", "10%",
                     "--summary", "told.md")  # fmt: skip
    assert together.exit_code == 1, together.output
    assert "brittle_films:predict: failed: " in together.stderr
    assert "robust: passed" in together.stderr
    written = GridDocument.model_validate_json(Path("out/comparison.json").read_bytes())
    assert [each.name for each in written.models] == ["brittle_films:predict", "robust"]
    assert [each.failures and each.failures.count for each in written.rules[0].cells] == [8, 0]
    for place, alone in (("brittle_films-predict", "predict"), ("robust", "better")):
        assert all(Path("out", place, file).is_file() for file in FILES)
        both = found(folder, f"out/{place}"), found(folder, alone)
        assert both[0]["rules"][0]["outcomes"] == both[1]["rules"][0]["outcomes"]
        assert both[0]["model"] == both[1]["model"]
    assert "robust: passed" in Path("told.md").read_text("utf-8")
    assert not Path("out.partial").exists()
    told = json.loads(audit("--model", "brittle_films:better", "--json").stdout)
    assert told["format"] == "sears-grid"


def test_of_several_models_those_that_answered_are_not_asked_again(folder: Path) -> None:
    broken = audit("--model", "brittle_films:failing")
    assert isinstance(broken.exception, ModelError)
    assert not Path("out").exists()
    asked = Path("asked.txt").read_text("utf-8").splitlines()
    Path("room").touch()
    assert audit("--model", "brittle_films:failing", "--resume").exit_code == 0
    assert len(Path("asked.txt").read_text("utf-8").splitlines()) == len(asked) + 40


def test_a_model_that_is_not_there_is_reported_before_any_is_asked(folder: Path) -> None:
    broken = audit("--model", "sklearn:none.joblib")
    assert "none.joblib" in str(broken.exception)
    assert not Path("asked.txt").exists()


def test_models_of_one_name_are_reported(folder: Path) -> None:
    with pytest.raises(UsageError, match="two models are called brittle_films:predict") as caught:
        raise audit("--model", "brittle_films:predict").exception or AssertionError
    # The help names no option, so that it reads the same for the API, where there is none.
    assert caught.value.help == "give each a name: NAME=SPEC or, in Python, {'name': model, …}"


def scored_as(*more: str, **manifest: object) -> tuple[PartsChoice, str]:
    """The scorer of the rules, and the message about it."""
    told = {"format": "sears-manifest", "version": 2, **manifest}
    Path("rules.manifest.json").write_text(json.dumps(told), "utf-8")
    arguments = ["rules.sear", "--model", "a:b", "--data", "test.csv", *more]
    context = audit_command.make_context("audit", arguments)
    with context, CliRunner().isolation() as (_, err, _):
        choice, _ = chosen_scoring([load("rules.sear")], context.params)
        err.seek(0)
        return choice, err.read().decode()


def test_an_audit_scores_as_the_manifest_beside_the_rules_says(folder: Path) -> None:
    found = {"scorer": "pivot-a-best_translations", "settings": {"tau": 0.25}}
    choice, told = scored_as(**found)
    assert (choice.scorer, choice.tau, told) == ("pivot", 0.25, "")
    choice, _ = scored_as("--tau", "0.5", **found)
    assert (choice.scorer, choice.tau) == ("pivot", 0.5)
    choice, _ = scored_as("--scorer", "minilm", **found)
    assert (choice.scorer, choice.tau) == ("minilm", None)
    choice, _ = scored_as(validated_with=["fast 1"])
    assert (choice.scorer, choice.tau) == ("judge", None)


def test_rules_of_a_scorer_that_there_was_are_scored_by_the_default_and_it_is_reported(
    folder: Path,
) -> None:
    choice, told = scored_as(
        scorer="strict(combined(pivot-a,minilm-b,1),0.0008)", settings={"tau": 0.7}
    )
    assert choice.scorer == "judge"
    assert "scored by strict" in told
    assert "--scorer judge" in told


def test_a_scorer_of_ones_own_is_the_users_to_name(folder: Path) -> None:
    choice, told = scored_as(scorer="mine:score (0123)", settings={"tau": 0.25})
    assert (choice.scorer, choice.tau) == ("judge", None)
    assert "--scorer mine:score" in told
    _, told = scored_as(scorer="__main__:<lambda> (0123)", settings={"tau": 0.25})
    assert told.rstrip().endswith("If it is yours, give it to the audit too")


@pytest.mark.parametrize("settings", [None, 5, {}, {"tau": "high"}, {"tau": 7}])
def test_a_manifest_that_does_not_say_how_rules_were_scored_is_reported(
    folder: Path, settings: object
) -> None:
    with pytest.raises(DataError, match="does not say how rules were scored"):
        scored_as(scorer="judge-1", settings=settings)


def test_rows_that_the_rules_were_found_on_are_named_as_such(folder: Path) -> None:
    audit()
    rows = found(folder)["data"]["sha256"]
    told = {"format": "sears-manifest", "version": 2, "scorer": "judge-a", "settings": {"tau": 0.5}}
    unlabelled = read_labelled("test.csv", column="text", label=None).digest
    for sha256, noted in ((rows, True), (unlabelled, True), ("0" * 64, False)):
        manifest = json.dumps({**told, "data": {"sha256": sha256}})
        Path("rules.manifest.json").write_text(manifest, "utf-8")
        assert ("found on these same rows" in audit(output=f"out-{sha256[:8]}").output) == noted


def test_rows_that_contradict_each_other_are_reported(folder: Path) -> None:
    with (folder / "test.csv").open("a", encoding="utf-8") as file:
        file.write("part 0 movie 1,no,a\n")
    note = "2 rows have the text of another row and another label, such as rows 2 and 41"
    done = audit()
    assert f"{note} ('yes' and 'no')" in " ".join(done.stderr.split())
    assert any(each.startswith(note) for each in found(folder)["notes"])
    assert note not in audit("--quiet").output


@pytest.mark.parametrize("name", ["audit.json", "audit.md", "audit.html", "junit.xml"])
def test_an_audit_writes_over_nothing_that_it_reads(folder: Path, name: str) -> None:
    (folder / "out").mkdir()
    (folder / "test.csv").rename(folder / "out" / name)
    before = (folder / "out" / name).read_bytes()
    arguments = ["rules.sear", "--model", "brittle_films:predict", "--data", f"out/{name}",
                 "--format", "csv", "--scorer", "none", "-o", "out"]  # fmt: skip
    done = CliRunner().invoke(audit_command, arguments)
    assert done.exit_code == 2
    assert "is an input of this command: write to another file" in done.output
    assert (folder / "out" / name).read_bytes() == before
    assert not (folder / "asked.txt").exists()


def test_a_summary_goes_into_no_file_of_the_audit(folder: Path) -> None:
    for summary, told in (
        ("rules.sear", "rules.sear is an input of this command"),
        ("test.csv", "test.csv is an input of this command"),
        ("out/audit.json", "out/audit.json is a file of the audit"),
        ("out/../out/junit.xml", "is a file of the audit"),
    ):
        before = (folder / "rules.sear").read_bytes(), (folder / "test.csv").read_bytes()
        done = audit("--summary", summary)
        assert (done.exit_code, told in done.output) == (2, True), done.output
        assert before == ((folder / "rules.sear").read_bytes(), (folder / "test.csv").read_bytes())
    assert not (folder / "out").exists()


@pytest.mark.parametrize("option", ["--tau", "--sure-from"])
def test_what_is_no_number_is_refused_before_the_model_is_asked(folder: Path, option: str) -> None:
    done = audit(option, "nan")
    assert done.exit_code == 2
    assert "nan is not a number" in done.output
    assert not (folder / "asked.txt").exists()


def test_no_model_is_called_like_a_file_of_the_grid(folder: Path) -> None:
    done = audit("--model", "comparison.json=brittle_films:better")
    assert done.exit_code == 0, done.output
    assert (folder / "out" / "comparison.json-2" / "audit.json").is_file()
    assert (folder / "out" / "comparison.json").is_file()


def test_a_comparison_of_nothing_fails_a_build(folder: Path) -> None:
    """Without labels there is no accuracy to compare, and the rules are others."""
    unlabelled = ["--model", "brittle_films:predict", "--data", "test.csv", "--column", "text",
                  "--scorer", "none", "--quiet"]  # fmt: skip
    (folder / "others.sear").write_text("rule part: part -> piece\n", "utf-8")
    for rules, output in (("rules.sear", "before"), ("others.sear", "after"), ("rules.sear", "c")):
        done = CliRunner().invoke(audit_command, [rules, *unlabelled, "-o", output])
        assert done.exit_code == 0, done.output
    for audits in (["before", "after"], ["before", "c", "after"]):
        done = CliRunner().invoke(compare_command, [*audits, "--fail-if-worse"])
        assert done.exit_code == 1
        assert "--fail-if-worse: nothing was compared" in done.output
        assert CliRunner().invoke(compare_command, audits).exit_code == 0
    assert CliRunner().invoke(compare_command, ["before", "c", "--fail-if-worse"]).exit_code == 0
