"""``sears vet`` and ``sears vetted`` on the command line, as far as no page is needed."""

from __future__ import annotations

import csv
import json
import os
import shlex
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result
from free_port import free_port

import sears_dsl as sears
from sears_dsl.api.vetting import VettingResult
from sears_dsl.cli.model.vet import vet_command
from sears_dsl.cli.model.vetted import vetted_command
from sears_dsl.errors import DataError, ModelError, SearsError, UsageError
from sears_dsl.language.loader import load
from sears_dsl.meaning.judgements import read_judgements
from sears_dsl.vetting.journal import Journal
from sears_dsl.vetting.outputs import check_output, check_pairs
from sears_dsl.vetting.review.workbench import read_choices
from sears_dsl.vetting.web import serving
from sears_dsl.vetting.web.serving import listen


@pytest.fixture
def folder(tmp_path: Path, rules_file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "failing_reviews.py").write_text(
        "def predict(texts):\n    raise ValueError('no such layer: 12')\n", "utf-8"
    )
    with (tmp_path / "words.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([["text", "label"], ["a good movie", "positive"]])
    return tmp_path


def vet(*more: str) -> Result:
    arguments = ["words.sear", "--model", "failing_reviews:predict", "--data", "words.csv",
                 "--column", "text", "--label", "label", "--tagger", "pinned", *more]  # fmt: skip
    return CliRunner().invoke(vet_command, arguments)


def vetted(*arguments: str) -> Result:
    return CliRunner().invoke(vetted_command, arguments)


def refused(ended: Result, kind: type[SearsError] = UsageError) -> SearsError:
    """The error with which a command ended."""
    assert isinstance(ended.exception, kind)
    return ended.exception


def journals(folder: Path) -> list[str]:
    """Ana and Ben agree on two rules and disagree on one."""
    ruleset = load(folder / "words.sear")
    paths = []
    for name, verdicts in {"ana": "aara", "ben": "arra"}.items():
        path = folder / f"words.{name}.vetting.jsonl"
        with Journal(path, ruleset=ruleset, reviewer=name) as journal:
            for rule, letter in zip(ruleset.rule_ids, verdicts, strict=False):
                content = {"rule": rule, "shown": [[f"of {rule}", f"by {name}"]]}
                if letter == "a":
                    journal.append("accept", content)
                else:
                    journal.append("reject", {**content, "reason": "meaning", "note": ""})
        paths.append(path.name)
    return paths


def test_a_port_in_use_is_reported_before_anything_else(folder: Path) -> None:
    listening, _ = listen(free_port())
    with listening:
        port = listening.getsockname()[1]
        error = refused(vet("--port", str(port)))
    assert error.message == f"port {port} is in use"
    assert "the next free one is" in error.help


def test_a_journal_of_another_version_is_refused_before_the_model_is_asked(folder: Path) -> None:
    ruleset = load(folder / "words.sear")
    Journal(folder / "words.ana.vetting.jsonl", ruleset=ruleset, reviewer="ana").close()
    with (folder / "words.sear").open("a", encoding="utf-8") as file:
        file.write("\nfun -> joy\n")
    error = refused(vet("--reviewer", "ana"), DataError)
    assert "another version of the rules" in error.message


def test_a_journal_of_a_reviewer_who_cannot_begin_is_not_left_behind(folder: Path) -> None:
    ruleset = load(folder / "words.sear")
    with Journal(folder / "words.ben.vetting.jsonl", ruleset=ruleset, reviewer="ben"):
        error = refused(vet("--reviewer", "ana", "--reviewer", "ben"))
    assert "another `sears vet` is writing the journal" in error.message
    assert not (folder / "words.ana.vetting.jsonl").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_journal_whose_first_line_is_cut_off_is_not_left_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(_: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises((KeyboardInterrupt, DataError)):
        Journal(folder / "words.ana.vetting.jsonl", ruleset=load(folder / "words.sear"),
                reviewer="ana")  # fmt: skip
    assert not (folder / "words.ana.vetting.jsonl").exists()


def test_a_long_rule_is_shown_whole(folder: Path) -> None:
    rule = f"movie -> picture that {'somebody has shown and ' * 4}liked"
    (folder / "words.sear").write_text(f"{rule}\n", "utf-8")
    done = vetted("words.sear", *journals(folder))
    assert f"\n{rule} " in done.stdout


def test_a_journal_without_decisions_is_not_left_behind(folder: Path) -> None:
    refused(vet("--reviewer", "ana"), ModelError)
    assert not list(folder.glob("*.jsonl"))
    refused(vet("--reviewer", "ana", "--data", "none.csv"), DataError)
    assert not list(folder.glob("*.jsonl"))


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("words.sear", "is the ruleset that was vetted"),
        ("words.txt", "is not the name of a ruleset"),
        ("gone/words.vetted.sear", "there is no folder gone"),
    ],
)
def test_a_place_where_no_ruleset_can_be_written_is_refused_at_once(
    folder: Path, output: str, why: str
) -> None:
    """Not after everything was judged; the failing model is not asked."""
    error = refused(vet("--reviewer", "ana", "-o", output))
    assert why in error.message
    assert "--journal" not in error.help
    assert not list(folder.glob("*.jsonl"))


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("journal", ["o.sear", "o.left-out.sear", "o.manifest.json"])
def test_a_journal_is_no_file_that_writing_replaces(
    folder: Path, journal: str, begun: bool
) -> None:
    """All decisions would be lost with the first “Write vetted ruleset”."""
    if begun:
        with Journal(
            folder / journal, ruleset=load(folder / "words.sear"), reviewer="ana"
        ) as opened:
            opened.append("skip", {"rule": "r-1"})
    why = f"{journal} is read here, and would be overwritten"
    assert why in refused(vet("-o", "o.sear", "--journal", journal, "--reviewer", "ana")).message
    with pytest.raises(UsageError, match=why):
        sears.vet(
            lambda texts: ["positive" for _ in texts], [("a movie", "positive")],
            folder / "words.sear", reviewers=["ana"], tagger="pinned",
            output=folder / "o.sear", journal=folder / journal,
        )  # fmt: skip
    assert (folder / journal).exists() == begun


def test_a_ruleset_that_would_lose_its_imports_is_refused_at_once(folder: Path) -> None:
    (folder / "sets.sear").write_text("set KIND = movie | film\n", "utf-8")
    (folder / "words.sear").write_text('import "sets.sear" as s\n\n@s.KIND -> show\n', "utf-8")
    (folder / "other").mkdir()
    error = refused(vet("--reviewer", "ana", "-o", "other/words.vetted.sear"))
    assert "imports sets.sear" in error.message


def test_a_ruleset_that_would_lose_its_vectors_is_refused_at_once(folder: Path) -> None:
    vectors = folder / "two.txt"
    vectors.write_text("movie 1 0\nfilm 0.9 0.1\n", "utf-8")
    rules = folder / "words.sear"
    rules.write_text("option vectors = two.txt\n\nmovie -> $1.neighbor\n", "utf-8")
    (folder / "other").mkdir()
    error = refused(vet("--reviewer", "ana", "-o", "other/words.vetted.sear"))
    assert f"names the vectors two.txt of {folder}" in error.message
    assert f"write it to {folder}" in error.help
    check_output(Path("words.vetted.sear"), load(rules))
    rules.write_text(f"option vectors = {vectors}\n\nmovie -> $1.neighbor\n", "utf-8")
    check_output(Path("other", "words.vetted.sear"), load(rules))


def test_the_vectors_of_a_ruleset_are_not_replaced_by_judged_pairs(folder: Path) -> None:
    Path("two.tsv").write_text("movie 1 0\nfilm 0.9 0.1\n", "utf-8")
    Path("words.sear").write_text("option vectors = two.tsv\n\nmovie -> film\n", "utf-8")
    with pytest.raises(UsageError, match=r"two\.tsv is read here"):
        check_pairs(Path("two.tsv"), load("words.sear"))


def test_whoever_ends_the_page_without_writing_is_told_how(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journals(folder)
    (folder / "glad_reviews.py").write_text(
        "def predict(texts):\n    return ['positive'] * len(texts)\n", "utf-8"
    )
    monkeypatch.setattr(serving, "serve", lambda page, listening, *, on_ready: on_ready())
    reviewers = ("--reviewer", "ana", "--reviewer", "ben", "--model", "glad_reviews:predict")
    said = "write the vetted ruleset: sears "
    ended = vet(*reviewers)
    assert ended.exit_code == 0, ended.output
    [line] = [line for line in ended.stderr.splitlines() if line.startswith(said)]
    _, *words = shlex.split(line.removeprefix(said))
    assert words[-2:] == ["-o", "words.vetted.sear"]
    assert vetted(*words).exit_code == 0
    assert (folder / "words.vetted.sear").exists()
    assert said not in vet(*reviewers).stderr


def test_what_stays_of_a_page_that_nobody_used_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "glad_reviews.py").write_text(
        "def predict(texts):\n    return ['positive'] * len(texts)\n", "utf-8"
    )
    monkeypatch.setattr(serving, "serve", lambda page, listening, *, on_ready: on_ready())
    before = set(folder.iterdir())
    ended = vet("--reviewer", "ana", "--model", "glad_reviews:predict")
    assert ended.exit_code == 0, ended.output
    left = {path.name for path in set(folder.iterdir()) - before} - {"__pycache__"}
    assert left == {"words.ana.vetting.jsonl.partial"}
    assert f"the model's answers are kept in {left.pop()}, so that it is not asked" in ended.stderr


def test_another_vet_of_the_same_rules_touches_nothing_of_ours(folder: Path) -> None:
    """Neither the journal nor the model's answers so far, with --resume or without."""
    ruleset = load(folder / "words.sear")
    answers = folder / "words.ana.vetting.jsonl.partial"
    answers.mkdir()
    ours = answers / "ours"
    ours.touch()
    with Journal(folder / "words.ana.vetting.jsonl", ruleset=ruleset, reviewer="ana"):
        refused(vet("--reviewer", "ana"))
        refused(vet("--reviewer", "ben"), ModelError)
        assert ours.exists()


def test_a_model_that_fails_is_reported(folder: Path) -> None:
    error = refused(vet("--reviewer", "ana"), ModelError)
    assert "no such layer" in error.message


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--port", "0"], "1<=x<=65535"),
        (["--rules", "0"], "x>=1"),
        (["--tau", "0.5"], "--tau says nothing without --scorer"),
        (["--pivot", "pt"], "--pivot says nothing without --scorer"),
    ],
)
def test_wrong_use_is_reported(folder: Path, options: list[str], why: str) -> None:
    result = vet(*options)
    assert result.exit_code == 2
    assert why in result.output


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--reviewer", "../ana"], "letters, digits"),
        (["--reviewer", "ana", "--reviewer", "ana"], "each name once"),
        (["--reviewer", "ana", "--reviewer", "ben", "--journal", "j"], "for a single reviewer"),
    ],
)
def test_reviewers_who_cannot_be_are_reported(folder: Path, options: list[str], why: str) -> None:
    error = refused(vet(*options))
    assert why in error.render()


def test_a_folder_of_rulesets_is_not_one(folder: Path) -> None:
    (folder / "more.sear").write_text("a -> b\n", "utf-8")
    error = (
        CliRunner()
        .invoke(vet_command, [".", "--model", "failing_reviews:predict", "--data", "words.csv"])
        .exception
    )
    assert isinstance(error, SearsError)
    assert error.message == ". is 2 rule files, but one is needed here"


def test_journals_are_brought_together(folder: Path) -> None:
    arguments = ["words.sear", *journals(folder), "--tagger", "pinned",
                 "-o", "out.sear", "--pairs", "judged.csv"]  # fmt: skip
    result = vetted(*arguments)
    assert result.exit_code == 0, result.output
    assert "Cohen's κ of ana and ben: 0.50" in result.output
    assert "on 4 items, 75% the same" in result.output
    assert "2 rules kept, in out.sear; 3 left out, in out.left-out.sear" in result.output
    assert len(load("out.sear").rules) == 2
    assert "disputed" in Path("out.left-out.sear").read_text("utf-8")
    assert len(read_judgements("judged.csv").pairs) == 8


def test_reviewers_who_contradict_each_other_about_pairs_are_reported(folder: Path) -> None:
    ruleset = load(folder / "words.sear")
    for name, same in {"ana": True, "ben": False}.items():
        with Journal(Path(f"{name}.jsonl"), ruleset=ruleset, reviewer=name) as journal:
            pair = {"rule": ruleset.rule_ids[0], "original": "a film", "rewritten": "a movie"}
            journal.append("pair", {**pair, "same": same})
            journal.append("pair", {**pair, "rewritten": "the movie", "same": True})
    arguments = ["words.sear", "ana.jsonl", "ben.jsonl", "--pairs", "judged.csv"]
    result = vetted(*arguments)
    assert (
        "4 judged pairs in judged.csv; reviewers contradict each other on 1 pair" in result.output
    )
    assert dict(read_judgements("judged.csv").contradicting) == {("a film", "a movie"): 2}


def test_agreement_as_json(folder: Path) -> None:
    result = vetted("words.sear", *journals(folder), "--json")
    told = json.loads(result.stdout)
    decided = [each["decided"] for each in told["outcomes"]]
    assert decided == ["kept", "disputed", "rejected", "kept", "unjudged"]
    [cohen] = told["agreement"]["rules"]["pairs"]
    assert (cohen["coefficient"], cohen["value"]) == ("Cohen's κ", pytest.approx(0.5))
    assert told["agreement"]["rules"]["all"] is None
    [blind] = told["agreement"]["picks"]["pairs"]
    assert (blind["coefficient"], blind["value"]) == ("Brennan and Prediger's κ", None)


def test_agreement_of_three_is_called_by_its_name_and_picks_that_nobody_made_are_not_shown(
    folder: Path,
) -> None:
    paths = journals(folder)
    ruleset = load("words.sear")
    with Journal(Path("eve.jsonl"), ruleset=ruleset, reviewer="eve") as journal:
        for rule in ruleset.rule_ids:
            journal.append("accept", {"rule": rule, "shown": []})
    arguments = ["words.sear", *paths, "eve.jsonl"]
    result = vetted(*arguments, "--json")
    assert json.loads(result.stdout)["agreement"]["rules"]["all"]["coefficient"] == "Fleiss' κ"
    result = vetted(*arguments)
    assert "rules: Fleiss' κ of all 3: " in result.output
    assert "picks" not in result.output


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--pairs", "words.ana.vetting.jsonl"), "words.ana.vetting.jsonl is read here"),
        (("--pairs", "gone/../words.ben.vetting.jsonl"), "there is no folder"),
        (("-o", "words.vetted.sear", "--pairs", "words.vetted.manifest.json"), "is a file of the"),
        (("--pairs", "judged.foo", "-o", "o.sear"), "shows no format that holds several columns"),
        (("--pairs", "judged.txt"), "shows no format that holds several columns"),
        (("--pairs", "judged.squad"), "shows no format that holds several columns"),
        (("--pairs", "missing/judged.csv", "-o", "o.sear"), "there is no folder missing"),
    ],
)
def test_pairs_go_where_nothing_is_read_or_written(
    folder: Path, arguments: tuple[str, ...], why: str
) -> None:
    named = ["words.sear", *journals(folder)]
    before = {path: path.read_bytes() for path in folder.iterdir()}
    error = refused(vetted(*named, *arguments))
    assert why in error.message
    assert "--output-format" not in error.help
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_rules_that_were_left_out_can_be_judged_again_but_not_over_their_own_file(
    folder: Path,
) -> None:
    Path("words.sear").rename("words.left-out.sear")
    ruleset = load("words.left-out.sear")
    with Journal(Path("ana.jsonl"), ruleset=ruleset, reviewer="ana") as journal:
        for rule in ruleset.rule_ids:
            journal.append("accept", {"rule": rule, "shown": []})
    before = {path: path.read_bytes() for path in folder.iterdir()}
    arguments = ["words.left-out.sear", "ana.jsonl", "--tagger", "pinned"]
    for command, more in ((vetted_command, ()), (vet_command, ("--journal", "ana.jsonl"))):
        given = [arguments[0], *more] if more else arguments
        error = refused(CliRunner().invoke(command, [*given, "-o", "words.sear"]))
        assert error.message == "words.left-out.sear is read here, and would be overwritten"
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    done = vetted(*arguments, "-o", "again.sear")
    assert done.exit_code == 0, done.output
    assert len(load("again.sear").rules) == len(ruleset.rules)


def test_an_imported_file_is_not_replaced_by_the_vetted_ruleset(folder: Path) -> None:
    Path("sets.sear").write_text("set A = good | fine\n", "utf-8")
    Path("words.sear").write_text('import "sets.sear" as s\n\n@s.A -> great\n', "utf-8")
    ruleset = load("words.sear")
    with Journal(Path("ana.jsonl"), ruleset=ruleset, reviewer="ana") as journal:
        journal.append("accept", {"rule": ruleset.rule_ids[0], "shown": []})
    arguments = ["words.sear", "ana.jsonl", "--tagger", "pinned", "-o", "sets.sear"]
    error = refused(vetted(*arguments))
    assert error.message == "sets.sear is read here, and would be overwritten"


def test_files_are_written_although_nobody_reads_what_is_printed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = journals(folder)

    def closed(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("sears_dsl.cli.model.vetted.echo_json", closed)
    arguments = ["words.sear", *paths, "--tagger", "pinned", "-o", "o.sear", "--pairs", "p.csv"]
    assert vetted(*arguments, "--json").exit_code == 1
    assert len(load("o.sear").rules) == 2
    assert len(read_judgements("p.csv").pairs) == 8


def test_a_file_of_adversaries_is_read_best_first(tmp_path: Path) -> None:
    path = tmp_path / "adversaries.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "original", "adversary", "score", "label", "prediction"])
        for number in range(7):
            writer.writerow([1, "It is good.", f"It is fine {number}.", number / 10, "p", "n"])
        writer.writerow([2, "It is bad.", "It is poor.", "", "n", "p"])
    first, second = read_choices(str(path))
    assert [each.score for each in first.adversaries] == [0.6, 0.5, 0.4, 0.3, 0.2]
    assert (second.original, second.adversaries[0].score) == ("It is bad.", None)
    path.write_text("text,label\na,b\n", "utf-8")
    with pytest.raises(DataError, match="original"):
        read_choices(str(path))


def test_adversaries_of_rows_with_one_text_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "adversaries.csv"
    rows = [
        (1, "It is good.", "It is fine.", "yes", "no"),
        (2, "It is good.", "It is fine.", "no", "yes"),
        (3, "It is good.", "It is fine.", "yes", "no"),
        (4, "It is bad.", "It is poor.", "no", "yes"),
    ]  # fmt: skip
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([("row", "original", "adversary", "label", "prediction"), *rows])
    found = read_choices(str(path))
    assert [(each.original, each.row, each.label) for each in found] == [
        ("It is good.", 1, "yes"), ("It is good.", 2, "no"), ("It is bad.", None, "no")
    ]  # fmt: skip


def test_a_score_that_is_no_number_and_a_label_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "adversaries.jsonl"
    lines = [
        {"original": "It is good.", "adversary": text, "prediction": "n", "label": None, **more}
        for text, more in {"It is fine.": {"score": float("nan")}, "It is ok.": {"score": 1e999},
                           "It is so.": {"score": 0.5}}.items()
    ]  # fmt: skip
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    [choice] = read_choices(str(path))
    assert choice.label == ""
    assert [each.score for each in choice.adversaries] == [0.5, None, None]


def test_sets_go_with_the_last_rule_that_names_them(tmp_path: Path) -> None:
    source = tmp_path / "sets.sear"
    source.write_text(
        "set INNER = a | an\nset OUTER = @INNER | the\nset OWN = one\n\n@OUTER movie -> film\n\n"
        "set LEFT = good\n\n@LEFT play -> show\n", "utf-8",
    )  # fmt: skip
    ruleset = load(source)
    path = tmp_path / "ana.jsonl"
    with Journal(path, ruleset=ruleset, reviewer="ana") as journal:
        journal.append("reject", {"rule": ruleset.rule_ids[0], "shown": [], "reason": "meaning",
                                  "note": ""})  # fmt: skip
        journal.append("accept", {"rule": ruleset.rule_ids[1], "shown": []})
    arguments = [str(source), str(path), "--tagger", "pinned", "-o", str(tmp_path / "out.sear")]
    done = vetted(*arguments)
    assert done.exit_code == 0, done.output
    names = {part: {each.name for each in load(tmp_path / f"out{part}.sear").sets}
             for part in ("", ".left-out")}  # fmt: skip
    assert names == {"": {"OWN", "LEFT"}, ".left-out": {"OWN", "INNER", "OUTER"}}


# ---------------------------------------------------------------- writing from the page


def writing_page(folder: Path, reviewer: str) -> VettingResult:
    return sears.vet(
        lambda texts: ["positive"] * len(texts), [("a good movie", "positive")],
        folder / "words.sear", reviewers=[reviewer], tagger="pinned", port=free_port(),
    )  # fmt: skip


def ask_to_write(address: str) -> tuple[int, dict[str, str]]:
    """What the page does when its button is pressed."""
    host, path = urlsplit(address)[1:3]
    with closing(HTTPConnection(host, timeout=60)) as connection:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", f"{path}api/write", body="{}", headers=headers)
        response = connection.getresponse()
        return response.status, json.load(response)


def accepted(folder: Path, name: str) -> None:
    ruleset = load(folder / "words.sear")
    path = folder / f"words.{name}.vetting.jsonl"
    with Journal(path, ruleset=ruleset, reviewer=name) as journal:
        journal.append("accept", {"rule": ruleset.rule_ids[0], "shown": []})


def test_writing_names_the_journals_that_do_not_count(folder: Path) -> None:
    for name in ("ana", "ben"):
        accepted(folder, name)
    other = folder / "words.eve.vetting.jsonl"
    with Journal(other, ruleset=load(folder / "words.sear"), reviewer="eve"):
        pass  # eve decided nothing
    with writing_page(folder, "ana") as page:
        status, answer = ask_to_write(page.address)
        assert status == 200
        assert answer["written"].startswith("1 rule kept, in ")
        _, _, rest = answer["written"].partition("\nnot counted: words.ben.vetting.jsonl; to merge")
        command = rest.partition("`sears ")[2].removesuffix("`")
        with pytest.warns(UserWarning, match=r"not counted: words\.ben"):
            page.save()
    done = vetted(*shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    head = (folder / "words.vetted.sear").read_text("utf-8").splitlines()[0]
    assert "by ana, " in head
    assert "; ben, " in head


def test_a_note_about_the_labels_is_shown(folder: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = [{"text": f"a good movie no {n % 2 + 1}", "stars": n % 2} for n in range(8)]
    stars = datasets.ClassLabel(names=["1", "2", "3"])
    data = datasets.Dataset.from_list(rows).cast_column("stars", stars)
    with (
        pytest.warns(UserWarning, match="the number of another; answers are read as names"),
        sears.vet(
            lambda texts: [text[-1] for text in texts], data, folder / "words.sear", label="stars",
            reviewers=["ana"], tagger="pinned", port=free_port(),
        ),
    ):  # fmt: skip
        pass


def test_a_notebook_may_go_to_another_folder_before_it_writes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted(folder, "ana")
    monkeypatch.chdir(folder)
    with writing_page(Path(), "ana") as page:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert page.save().vetted == folder / "words.vetted.sear"
        assert ask_to_write(page.address)[0] == 200
    assert "film" in (folder / "words.vetted.sear").read_text("utf-8")
    assert not [*(tmp_path / "elsewhere").iterdir()]


def test_rules_that_changed_under_the_page_are_not_written(folder: Path) -> None:
    accepted(folder, "ana")
    with writing_page(folder, "ana") as page:
        before = (folder / "words.sear").read_text("utf-8")
        (folder / "words.sear").write_text(f"{before}\nfun -> joy\n", "utf-8")
        status, answer = ask_to_write(page.address)
        assert status >= 400
        assert "words.sear is not the file that is judged here" in answer["error"]
        assert "restore it, and write again" in answer["help"]
        with pytest.raises(DataError, match="has changed meanwhile"):
            page.save()
        assert not (folder / "words.vetted.sear").exists()
        (folder / "words.sear").unlink()
        with pytest.raises(DataError, match=r"it cannot be read any more: .*words\.sear"):
            page.save()
        # Comments say nothing about the rules; they are written as they are by now.
        (folder / "words.sear").write_text(f"# one\n{before}", "utf-8")
        assert ask_to_write(page.address)[0] == 200
        assert "\n# one\n" in (folder / "words.vetted.sear").read_text("utf-8")
        (folder / "words.sear").write_text(f"# two\n{before}", "utf-8")
        page.save()
        assert "\n# two\n" in (folder / "words.vetted.sear").read_text("utf-8")
