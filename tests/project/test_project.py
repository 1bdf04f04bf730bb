"""The project file: what commands take from it, precedence, messages, and its limits."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
from command_line import run

from sears_dsl.cli.commands import ProjectCommand, sears
from sears_dsl.errors import SearsError, UsageError
from sears_dsl.project.file import find_project
from sears_dsl.project.proposal import likely_data, likely_label, likely_text, project_text

PROJECT = """\
text = ["more.txt"]
audits = "audits/last"
baseline = "audits/accepted"

[models]
films = "brittle_films:predict"
remote = {spec = "http://localhost:1/ask", batch_size = 8, response_map = "/labels"}

[datasets.dev]
file = "data/dev.csv"
column = "said"
label = "gold"
also = "part"

[datasets.test]
file = "data/test.csv"
column = "text"
label = "label"
slices = ["part"]

[rulesets]
own = ["rules", "paper/sentiment"]

[gates]
max_flip_rate = "30%"
min_support = 5
rules = {film = 0.5}

[use]
model = "films"
data = "dev"
rules = "own"
audit = {data = "test"}
"""
MODEL = """\
from pathlib import Path

Path(__file__).with_name("ran").touch()

def predict(texts):
    return ["no" if "film" in text else "yes" for text in texts]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a project file, as the current folder."""
    project = tmp_path / "project"
    for name in ("data", "rules", ".git", "audits/accepted", "audits/last", "deep/down"):
        (project / name).mkdir(parents=True)
    (project / "sears.toml").write_text(PROJECT, "utf-8")
    (project / "rules" / "film.sear").write_text("rule film: movie -> film\n", "utf-8")
    (project / "more.txt").write_text("A movie.\n", "utf-8")
    (project / "brittle_films.py").write_text(MODEL, "utf-8")
    (project / "data" / "dev.csv").write_text("said,gold,part\nA movie.,yes,a\n", "utf-8")
    rows = "".join(f"A movie {number}.,yes,{number % 2}\n" for number in range(30))
    (project / "data" / "test.csv").write_text("text,label,part\n" + rows, "utf-8")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(project)
    # Importing from the current folder would leave it on the path.
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "brittle_films", raising=False)
    return project


def taken(command: str, *arguments: str) -> dict[str, Any]:
    """The values that a command would use."""
    found = sears.get_command(click.Context(sears), command)
    assert found is not None
    return found.make_context(command, list(arguments)).params


def trusted() -> None:
    assert run("trust").exception is None


def refused(path: str, text: str) -> UsageError:
    Path(path).write_text(text, "utf-8")
    with pytest.raises(UsageError) as caught:
        find_project()
    return caught.value


# ---------------------------------------------------------------- what commands take


def test_every_command_takes_what_it_needs(folder: Path) -> None:
    trusted()
    dev = {"data": "data/dev.csv", "column": "said", "label": "gold", "also": ("part",)}
    discover = taken("discover", "-o", "found.sear")
    assert dev.items() <= discover.items()
    assert discover["model"] == "brittle_films:predict"
    assert discover["texts"] == ("more.txt",)
    rules = ("rules", "paper/sentiment")
    several = taken("audit", "--model", "films", "--model", "x:predict")["model"]
    assert list(several) == ["films=brittle_films:predict", "x:predict"]
    audit = taken("audit")
    assert (audit["rules"], audit["data"], audit["label"]) == (rules, "data/test.csv", "label")
    assert audit["columns"] == ("part",)
    assert (audit["max_flip_rate"], audit["min_support"]) == (0.3, 5)
    assert audit["own"] == ("film=0.5",)
    assert str(audit["output"]) == "audits/last"
    assert taken("apply", "-o", "x.csv")["rules_and_input"] == (*rules, "data/dev.csv")
    assert taken("apply", "-o", "x.csv")["columns"] == ("said",)
    assert taken("augment", "-o", "x.csv")["rules_and_data"] == (*rules, "data/dev.csv")
    assert taken("check")["rules"] == rules
    assert taken("test")["rules"] == rules
    assert taken("generate", "-o", "x.csv")["rules"] == rules
    export = taken("export", "-o", "suite.pkl")
    assert (export["rules"], export["data"], export["column"]) == (rules, "data/dev.csv", "said")
    assert taken("export", "own", "--data", "test", "-o", "x.pkl")["data"] == "data/test.csv"
    compared = taken("compare")
    assert (str(compared["before"]), str(compared["after"])) == ("audits/accepted", "audits/last")


def test_every_command_that_tags_takes_the_tagger_of_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sears_dsl.tagging.tagger.load_named", lambda name: name)
    name = "spacy:en_films"  # no default of any command
    (folder / "sears.toml").write_text(f'tagger = "{name}"\n' + PROJECT, "utf-8")
    trusted()
    for command in ("test", "vet", "audit"):
        assert taken(command, "rules")["tagger"] == name, command
    for command in ("apply", "augment", "export", "discover", "adversaries"):
        assert taken(command, "-o", "x.sear")["tagger"] == name, command
    assert taken("fix", "--train", "test", "-o", "x")["tagger"] == name


def test_columns_of_a_repair_are_those_of_the_rows_that_judge_it(folder: Path) -> None:
    fix = taken("fix", "--train", "test", "-o", "x")
    assert (fix["training"], fix["data"], fix["column"]) == (
        "data/test.csv",
        "data/dev.csv",
        "said",
    )
    with pytest.raises(click.MissingParameter, match="training"):
        taken("fix", "-o", "x")


def test_readings_and_the_column_of_texts_are_those_of_the_file(folder: Path) -> None:
    own = 'readings = "read.jsonl"\ntext_column = "said"\n'
    (folder / "sears.toml").write_text(own + PROJECT, "utf-8")
    (folder / "read.jsonl").write_text("", "utf-8")
    trusted()
    discover = taken("discover", "-o", "found.sear")
    assert [*map(str, discover["readings"])] == ["read.jsonl"]
    assert discover["text_column"] == "said"


def test_rules_that_two_names_stand_for_are_taken_once(folder: Path) -> None:
    own = PROJECT.replace("[gates]", 'twice = ["rules"]\n[gates]')
    (folder / "sears.toml").write_text(own, "utf-8")
    assert taken("check", "own", "twice")["rules"] == ("rules", "paper/sentiment")


def test_no_command_that_reads_the_project_file_ends_with_a_traceback(folder: Path) -> None:
    of_projects = [
        name for name in sears.list_commands(click.Context(sears))
        if isinstance(sears.get_command(click.Context(sears), name), ProjectCommand)
    ]  # fmt: skip
    assert {"apply", "generate", "export", "compare"} <= {*of_projects}
    expected = (click.ClickException, SearsError, SystemExit, type(None))
    for name in of_projects:
        assert isinstance(run(name).exception, expected), name


def test_what_stands_on_the_command_line_wins(folder: Path) -> None:
    trusted()
    audit = taken("audit", "mine.sear", "--label", "other", "--max-flip-rate", "1%", "-o", "out")
    assert (audit["rules"], audit["label"], audit["max_flip_rate"]) == (
        ("mine.sear",),
        "other",
        0.01,
    )
    assert (str(audit["output"]), audit["data"]) == ("out", "data/test.csv")
    assert audit["model"] == "brittle_films:predict"
    by_hand = taken("audit", "--data", "data/dev.csv")
    assert (by_hand["data"], by_hand["label"]) == ("data/dev.csv", None), "columns go with a file"
    assert taken("apply", "mine.sear", "-o", "x")["rules_and_input"] == (
        "mine.sear",
        "data/dev.csv",
    )
    assert taken("apply", "rows.csv", "-o", "x")["rules_and_input"][-1] == "rows.csv"
    for shipped in ("contractions/expand", "contractions"):
        given = (shipped, "data/dev.csv")
        assert taken("apply", shipped, "-o", "x")["rules_and_input"] == given
    assert taken("apply", "a.sear", "b.csv", "-o", "x")["rules_and_input"] == ("a.sear", "b.csv")
    assert taken("apply", "a.sear", "-", "-o", "x")["rules_and_input"] == ("a.sear", "-")


def test_what_is_wrong_in_the_file_does_not_matter_where_the_command_line_says_otherwise(
    folder: Path,
) -> None:
    wrong = PROJECT.replace('"audits/last"', '"../elsewhere"').replace("more.txt", "gone.txt")
    (folder / "sears.toml").write_text('readings = "gone.jsonl"\n' + wrong, "utf-8")
    trusted()
    assert str(taken("audit", "-o", "out")["output"]) == "out"
    given = ("--text", "t.txt", "--readings", "r.jsonl", "-o", "found.sear")
    discover = taken("discover", *given)
    assert (discover["texts"], list(map(str, discover["readings"]))) == (("t.txt",), ["r.jsonl"])


def test_names_stand_for_what_the_file_defines(folder: Path) -> None:
    trusted()
    chosen = taken("discover", "--data", "test", "--model", "remote", "-o", "found.sear")
    assert (chosen["data"], chosen["column"]) == ("data/test.csv", "text")
    assert (chosen["model"], chosen["batch_size"]) == ("http://localhost:1/ask", 8)
    assert taken("check", "own", "more.sear")["rules"] == ("rules", "paper/sentiment", "more.sear")
    assert taken("apply", "own", "test", "-o", "x")["rules_and_input"][-1] == "data/test.csv"
    (folder / "test").write_text("A movie.\n", "utf-8")
    assert taken("apply", "own", "test", "-o", "x")["rules_and_input"][-1] == "test"


def test_paths_are_those_of_the_file_wherever_one_stands(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted()
    monkeypatch.chdir(folder / "deep" / "down")
    assert taken("check")["rules"] == ("../../rules", "paper/sentiment")
    assert taken("audit")["data"] == "../../data/test.csv"
    assert str(folder) in sys.path, "its module is found"


def test_the_way_out_of_a_link_leads_to_one_place_wherever_one_stands(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outputs stay in the folder, and the file that is asked is the one that one agreed to."""
    (folder / "link").symlink_to("deep/down")
    named = PROJECT.replace("audits/last", "link/../../out").replace("data/test", "link/../test")
    spec = "llm:link/../chat.toml"
    (folder / "sears.toml").write_text(named.replace("brittle_films:predict", spec), "utf-8")
    (folder / "deep" / "chat.toml").write_text("", "utf-8")
    (folder / "deep" / "test.csv").write_text("text,label,part\nA movie.,yes,1\n", "utf-8")
    trusted()
    for place in (folder, folder / "data"):
        monkeypatch.chdir(place)
        options = taken("audit")
        assert Path(options["output"]).resolve() == folder / "out"
        assert Path(options["data"]).resolve() == folder / "deep" / "test.csv"
        asked = options["model"].removeprefix("llm:")
        assert Path(asked).resolve() == folder / "deep" / "chat.toml"


def test_an_audit_without_a_word(folder: Path) -> None:
    trusted()
    done = run("audit", "rules", "--scorer", "none", "--tagger", "pinned", "--quiet")
    assert isinstance(done.exception, SystemExit), done.exception
    audit = json.loads((folder / "audits" / "last" / "audit.json").read_text("utf-8"))
    assert audit["verdict"]["outcome"] == "failed", "all rows flip, and three in ten may"


def test_pyproject_holds_a_table_of_the_same_keys(folder: Path) -> None:
    (folder / "sears.toml").unlink()
    (folder / "pyproject.toml").write_text('[tool.sears.rulesets]\nown = "rules"\n', "utf-8")
    assert taken("check")["rules"] == ("rules",)
    error = refused("pyproject.toml", "[tool.sears]\nrulsets = {}\n")
    assert "tool.sears: there is no key 'rulsets'" in error.message
    assert "did you mean rulesets?" in error.help


def test_a_pyproject_of_others_is_none_of_ours(folder: Path) -> None:
    (folder / "sears.toml").unlink()
    for text in (
        "tool = 5 # sears\n",
        "[[tool]]\nsears = 5\n",
        "[project]\nname = 'x'\n",
        "no toml at all",
        "[tool.ruff]\n# sears\n",
    ):
        (folder / "pyproject.toml").write_text(text, "utf-8")
        assert find_project() is None


# ---------------------------------------------------------------- where it is looked for


def test_it_is_looked_for_up_to_the_root_of_the_repository(folder: Path) -> None:
    found = find_project(folder / "deep" / "down")
    assert found is not None
    assert found.path == folder / "sears.toml"
    (folder / "deep" / ".git").mkdir()
    assert find_project(folder / "deep" / "down") is None


def test_above_a_folder_in_no_repository_nothing_is_looked_for(folder: Path) -> None:
    """Otherwise a project file that anybody left in /tmp would count."""
    (folder / ".git").rmdir()
    assert find_project(folder / "deep") is None
    assert find_project(folder) is not None


def test_two_project_files_of_one_folder_are_an_error(folder: Path) -> None:
    error = refused("pyproject.toml", "[tool.sears]\n")
    assert "sears.toml and [tool.sears] in pyproject.toml are two project files" in error.message


# ---------------------------------------------------------------- errors that teach


@pytest.mark.parametrize(
    ("text", "message", "advice"),
    [
        ("[datasets.dev]\nfile = 'a'\ncolum = 'b'", "datasets.dev: there is no key 'colum'",
         "did you mean column?"),
        ("[modles]", "there is no key 'modles'", "did you mean models?"),
        ("[datasets.dev]\ncolumn = 'b'", "datasets.dev.file is missing", ""),
        ("[datasets.dev]\nfile = 5", "datasets.dev.file is 5", "takes a text in quotes"),
        ("[gates]\nmin_support = 'many'", "gates.min_support is 'many'", "takes a whole number"),
        ("[gates]\nmin_support = true", "gates.min_support is True", "takes a whole number"),
        ("[gates]\nmin_support = '4'", "gates.min_support is '4'", "takes a whole number"),
        ("[gates]\nrequire_support = 1", "gates.require_support is 1", "takes true or false"),
        ("[gates]\nrequire_support = 'yes'", "is 'yes'", "takes true or false"),
        ("[gates]\nmax_flip_rate = true", "is True", 'takes a rate, such as "5%" or 0.05'),
        ("[gates]\nrules = {a = false}", "is False", 'takes a rate, such as "5%" or 0.05'),
        ("[models.a]\nspec = 'b:c'\ntimeout = true", "timeout is True", "takes a number"),
        ("[models.a]\nspec = 'b:c'\ntimeout = 0", "timeout is 0", "greater than 0"),
        ("[models.a]\nspec = 'b:c'\ntimeout = inf", "timeout is inf", "takes a finite number"),
        ("[models.a]\nspec = 'b:c'\nconnections = 0", "connections is 0", "than or equal to 1"),
        ("[use]\ntrain = 'tset'", "use.train is 'tset', which [datasets] does not define", ""),
        ("[datasets]\n7a = 'a.csv'", "a name is made of letters", ""),
        ("datasets = 'dev.csv'", "datasets is 'dev.csv'", "takes a table"),
        ("[datasets.dev]\nfile = 'a'\ncompare = 'fuzzy'", "datasets.dev.compare is 'fuzzy'",
         "set, entities, or within:AMOUNT"),
        ("[use]\ndata = 'tset'\n[datasets]\ntest = 'a.csv'",
         "sears.toml: use.data is 'tset', which [datasets] does not define (test)", ""),
        ("[datasets]\n'a/b' = 'a.csv'", "a name is made of letters", ""),
        ("[datasets", "is not TOML", "fix that place"),
        ("a = " + "[" * 100_000, "is not TOML", "fix that place"),
        ("[gates]\n'severity:high' = '2%'", "gates: there is no key 'severity:high'",
         "put a limit for some rules under gates.rules"),
    ],
    ids=range(24),
)  # fmt: skip
def test_what_is_wrong_is_reported_with_its_key(
    folder: Path, text: str, message: str, advice: str
) -> None:
    error = refused("sears.toml", text)
    assert error.message.startswith("sears.toml")
    assert message in error.message
    assert advice in error.help


def test_all_mistakes_are_reported_at_once(folder: Path) -> None:
    error = refused(
        "sears.toml",
        "[models]\nx = 5\ny = {spec = '', url = 'a'}\n[rulesets]\nr = 5\n[nope]\n"
        "[datasets.dev]\ncolum = 'a'\nlabl = 'b'\ncompare = 'foo'\n[gates]\nmin_support = 0\n"
        "[use]\ndata = 'zz'\nmodel = 'q'\n[use.check]\ndata = 'y'\nmodl = 'x'\n",
    )
    lines = [line.removeprefix("sears.toml: ") for line in error.message.splitlines()]
    assert {re.split(r" is (?!no key)", line)[0] for line in lines} == {
        "models.x", "models.y.spec", "models.y: there is no key 'url'", "rulesets.r",
        "there is no key 'nope'", "datasets.dev.file", "datasets.dev: there is no key 'colum'",
        "datasets.dev: there is no key 'labl'", "datasets.dev.compare", "gates.min_support",
        "use.data", "use.model", "use.check.data", "use.check: there is no key 'modl'",
    }  # fmt: skip
    assert "did you mean label? the keys there are file, column, label" in error.help
    assert "did you mean model? the keys there are model, data, train, rules" in error.help


def test_a_path_that_is_not_there_is_reported_with_its_key(folder: Path) -> None:
    (folder / "data" / "dev.csv").unlink()
    trusted()
    done = run("discover", "-o", "found.sear")
    assert isinstance(done.exception, UsageError)
    assert "sears.toml: datasets.dev.file is 'data/dev.csv'" in done.exception.message
    assert run("check").exception is None, "another command does not need it"


def test_rules_of_the_file_are_not_taken_from_another_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = folder / "deep" / "down"
    (below / "film.sear").write_text("rule film: movie -> film\n", "utf-8")
    (below / "own").write_text("rule cast: actor -> star\n", "utf-8")
    monkeypatch.chdir(below)
    assert taken("check")["rules"] == ("../../rules", "paper/sentiment")
    text = PROJECT.replace('"rules", "paper/sentiment"', '"film.sear"')
    for key, content in (
        ("rulesets.own", text),
        ("use.rules", text.replace('rules = "own"', 'rules = "film.sear"')),
    ):
        (folder / "sears.toml").write_text(content, "utf-8")
        message = str(run("check").exception)
        assert f"{key} is 'film.sear', but there is no such file, folder or shipped" in message


def test_several_to_choose_from_are_reported(folder: Path) -> None:
    text = PROJECT[: PROJECT.index("[use]")]
    (folder / "sears.toml").write_text(text, "utf-8")
    done = run("audit")
    assert isinstance(done.exception, UsageError)
    assert "sears.toml has 2 models: films, remote" in done.exception.message
    assert "use.model" in done.exception.help
    for command in ("apply", "augment"):  # which have no option for their rows
        done = run(command, "-o", "out.csv")
        assert isinstance(done.exception, UsageError)
        assert done.exception.help.startswith("name one after the rules, or in the file: use.")


@pytest.mark.parametrize(
    ("option", "name", "kind", "defined"),
    [("--model", "film", "model", "films, remote"), ("--data", "tests", "dataset", "dev, test")],
)
def test_a_name_that_the_file_does_not_define_is_reported_with_those_that_it_does(
    folder: Path, option: str, name: str, kind: str, defined: str
) -> None:
    trusted()
    done = run("audit", option, name)
    assert isinstance(done.exception, UsageError)
    assert f"sears.toml defines no {kind} '{name}'" in done.exception.message
    assert done.exception.help == f"it defines {defined}"
    (folder / name).write_text("text\nA movie.\n", "utf-8")
    assert "defines no" not in str(run("audit", option, name).exception)


def test_errors_say_from_where_a_value_came(folder: Path) -> None:
    trusted()
    (folder / "data" / "test.csv").write_text("text,lable,part\nA movie.,yes,a\n", "utf-8")
    done = run("audit", "rules", "--tagger", "pinned", "--scorer", "none")
    assert isinstance(done.exception, SearsError)
    assert (
        "did you mean 'lable'? in sears.toml: datasets.test.file = 'data/test.csv'"
        in done.exception.help
    )
    (folder / "sears.toml").write_text(PROJECT.replace("30%", "most"), "utf-8")
    done = run("audit")
    assert isinstance(done.exception, click.UsageError)
    assert "in sears.toml: gates.max_flip_rate = 'most'" in done.exception.message
    (folder / "data" / "test.csv").write_text("text,label,part\nA movie.,yes,a\n", "utf-8")
    (folder / "sears.toml").write_text(PROJECT.replace("film = 0.5", "flim = 0.5"), "utf-8")
    trusted()
    done = run("audit", "--tagger", "pinned", "--scorer", "none")
    assert isinstance(done.exception, UsageError)
    assert "the gate flim matches no rule" in done.exception.message
    assert "in sears.toml: gates.rules = 'flim=0.5'" in done.exception.help


def test_errors_about_rules_name_the_key_that_has_them(folder: Path) -> None:
    two = '["rules", "paper/sentiment"]'
    by_path = PROJECT.replace(f"own = {two}", "").replace('rules = "own"', f"rules = {two}")
    for text, key in ((PROJECT, "rulesets"), (by_path, "use.rules")):
        (folder / "sears.toml").write_text(text, "utf-8")
        trusted()
        error = run("vet").exception
        assert isinstance(error, click.UsageError)
        assert f"and {key} has 2" in error.message


def test_errors_about_an_option_name_its_key_and_no_other(folder: Path) -> None:
    text = PROJECT[: PROJECT.index("[gates]")] + "[gates]\nrequire_support = true\n"
    (folder / "sears.toml").write_text(text + PROJECT[PROJECT.index("[use]") :], "utf-8")
    trusted()
    error = run("audit", "--tagger", "pinned", "--scorer", "none").exception
    assert isinstance(error, UsageError)
    assert error.message == "--require-support has no limit to judge rules by"
    assert error.help.endswith("; in sears.toml: gates.require_support")


def test_a_link_that_leads_nowhere_is_reported(folder: Path) -> None:
    (folder / "sears.toml").unlink()
    (folder / "sears.toml").symlink_to("elsewhere.toml")
    with pytest.raises(UsageError, match=r"sears\.toml cannot be read: No such file"):
        find_project()
    assert "sears.toml cannot be read" in str(run("init", "--data", "data/dev.csv").exception)


def test_a_byte_order_mark_is_no_mistake(folder: Path) -> None:
    """Some editors put one at the start of every UTF-8 file."""
    (folder / "sears.toml").write_text("\ufeff" + PROJECT, "utf-8")
    found = find_project(folder)
    assert found is not None
    assert found.fields.use.data == "dev"


def test_help_needs_no_project_file(folder: Path) -> None:
    (folder / "sears.toml").write_text("[[[", "utf-8")
    assert run("audit", "--help").exception is None


# ---------------------------------------------------------------- what it cannot do


@pytest.mark.parametrize("command", ["audit", "discover", "vet", "adversaries"])
@pytest.mark.parametrize(
    "spec", ["brittle_films:predict", "sklearn:more.txt", "http://localhost:1/ask"]
)
def test_a_project_file_runs_and_sends_nothing_by_itself(
    folder: Path, command: str, spec: str
) -> None:
    (folder / "sears.toml").write_text(PROJECT.replace("brittle_films:predict", spec), "utf-8")
    words = () if command in ("audit", "vet") else ("-o", "found.sear")
    for named in ((), ("--model", "films")):
        done = run(command, *named, *words)
        assert isinstance(done.exception, UsageError)
        assert "that needs your consent" in done.exception.message
        assert f"--model {spec}" in done.exception.help
    assert not (folder / "ran").exists()


def test_consent_is_for_one_file_and_one_model(folder: Path) -> None:
    assert run("trust", "--show").exception is None
    with pytest.raises(UsageError, match="that needs your consent"):
        taken("audit")
    told = run("trust").output
    assert "models.films imports the module brittle_films and calls predict" in told
    assert "models.remote sends rows to http://localhost:1/ask" in told
    assert not (folder / "ran").exists(), "agreeing runs nothing"
    taken("audit")
    taken("audit", "--model", "remote")
    changed = PROJECT.replace("brittle_films:predict", "brittle_films:other")
    changed = changed.replace('"/labels"', '"/other"')
    (folder / "sears.toml").write_text(changed, "utf-8")
    for options in ((), ("--model", "remote")):
        with pytest.raises(UsageError, match="that needs your consent"):
            taken("audit", *options)
    (folder / "sears.toml").write_text(PROJECT + "# A remark.\n", "utf-8")
    taken("audit")
    os.rename(folder, folder.with_name("elsewhere"))
    os.chdir(folder.with_name("elsewhere"))
    with pytest.raises(UsageError, match="that needs your consent"):
        taken("audit")


def test_another_request_map_has_to_be_agreed_to(folder: Path) -> None:
    """It may send values of the environment."""
    (folder / "map.toml").write_text('body = "$texts"\n', "utf-8")
    text = PROJECT.replace("batch_size = 8", 'request_map = "map.toml"')
    (folder / "sears.toml").write_text(text, "utf-8")
    trusted()
    assert taken("audit", "--model", "remote")["request_map"] == "map.toml"
    (folder / "map.toml").write_text('body = "$texts"\nheaders = {k = "$env.KEY"}\n', "utf-8")
    with pytest.raises(UsageError, match="that needs your consent"):
        taken("audit", "--model", "remote")


@pytest.mark.parametrize("name", ["brittle_films:predict", "spacy:./rules", "os:abort"])
def test_it_names_no_tagger_of_ones_own(folder: Path, name: str) -> None:
    (folder / "sears.toml").write_text(f"tagger = {name!r}\n" + PROJECT, "utf-8")
    done = run("apply", "-o", "x.csv")
    assert isinstance(done.exception, UsageError)
    assert "which a file may not make sears import" in done.exception.message
    assert not (folder / "ran").exists()
    assert taken("apply", "-o", "x.csv", "--tagger", "pinned")["tagger"] == "pinned"


@pytest.mark.parametrize("place", ["/elsewhere", "../elsewhere", "link/audits"])
def test_nothing_is_written_outside_of_its_folder(folder: Path, place: str) -> None:
    (folder / "link").symlink_to(folder.parent)
    audits = PROJECT.replace('"audits/last"', f'"{place}"')
    (folder / "sears.toml").write_text(audits, "utf-8")
    trusted()
    with pytest.raises(UsageError, match="outputs only in its own folder"):
        taken("audit")
    predictions = PROJECT.replace("brittle_films:predict", f"file:{place}/answers.csv")
    (folder / "sears.toml").write_text(predictions, "utf-8")
    with pytest.raises(UsageError, match="outputs only in its own folder"):
        taken("audit")


def test_predictions_that_are_not_made_yet_may_be_named(folder: Path) -> None:
    text = PROJECT.replace("brittle_films:predict", "file:answers.csv")
    (folder / "sears.toml").write_text(text, "utf-8")
    assert taken("audit")["model"] == "file:answers.csv"


def test_a_pipe_or_a_huge_file_is_not_read(folder: Path) -> None:
    (folder / "sears.toml").unlink()
    os.mkfifo(folder / "sears.toml")
    with pytest.raises(UsageError, match="not a regular file"):
        find_project()
    (folder / "sears.toml").unlink()
    (folder / "sears.toml").write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(UsageError, match=r"sears\.toml cannot be read: "):
        find_project()


def test_that_consent_cannot_be_written_is_said(folder: Path) -> None:
    (folder.parent / "home").write_text("", "utf-8")
    error = run("trust").exception
    assert isinstance(error, UsageError)
    assert error.message.startswith("cannot write ")
    assert "--model" in error.help


# ---------------------------------------------------------------- sears init


def test_the_rows_to_search_are_those_of_development_if_there_are_any(tmp_path: Path) -> None:
    assert likely_data(tmp_path) == ""
    (tmp_path / "data").mkdir()
    for name in ("a.md", "a.csv", "data/Valid.jsonl"):
        (tmp_path / name).write_text("", "utf-8")
    assert likely_data(tmp_path) == "data/Valid.jsonl"
    (tmp_path / "data" / "Valid.jsonl").unlink()
    assert likely_data(tmp_path) == "a.csv"


def test_the_column_of_labels_has_few_values_and_no_text() -> None:
    rows = range(300)
    columns = {
        "id": list(rows),
        "language": ["en"] * 300,
        "half": [row % 150 for row in rows],
        "many": [row % 101 for row in rows],
        "some": [row % 100 for row in rows],
        "few": [row % 3 for row in rows],
    }
    assert likely_label(columns, texts=()) == "few"
    assert likely_label(columns, texts=("few",)) == "some"
    assert likely_label(columns, texts=("few", "some")) == ""
    assert likely_label({"a": [1, 2, 3, 1], "b": [1, 2, 3, 4]}, texts=()) == ""
    assert likely_label({**columns, "Label": list(rows)}, texts=()) == "Label"


def test_the_column_of_text_has_its_usual_name_or_the_longest_values() -> None:
    columns = {"id": ["1"], "said": ["A movie."], "score": [10**9]}
    assert likely_text(columns) == "said"
    assert likely_text({**columns, "Text": ["a"]}) == "Text"
    assert likely_text({"a": [], "b": []}) == ""


def test_a_proposed_file_is_toml_whatever_its_names() -> None:
    text = project_text(
        data='\x7f"é.csv', column="a\\b", label="", model="", rules=(), flip_rate="5%"
    )
    assert tomllib.loads(text) == {
        "datasets": {"dev": {"file": '\x7f"é.csv', "column": "a\\b"}},
        "gates": {"max_flip_rate": "5%"},
    }


def test_init_proposes_columns_and_what_it_writes_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = folder.with_name("new")
    (new / "rules").mkdir(parents=True)
    (new / "rules" / "a.sear").write_text("movie -> film\n", "utf-8")
    rows = "".join(f"{number},A movie {number}.,{'ab'[number % 2]}\n" for number in range(20))
    (new / "dev.csv").write_text("id,utterance,mood\n" + rows, "utf-8")
    monkeypatch.chdir(new)
    done = run("init", "--model", "brittle_films:predict", "--rules", "rules",
               "--max-flip-rate", "5%")  # fmt: skip
    assert done.exception is None, done.output
    assert done.stderr.endswith(
        "columns of dev.csv: text utterance; label mood\nnext: sears audit\n"
    )
    found = find_project()
    assert found is not None
    assert found.fields.datasets["dev"].model_dump(exclude_defaults=True) == {
        "file": "dev.csv", "column": "utterance", "label": "mood"
    }  # fmt: skip
    audit = taken("audit")
    assert (audit["model"], audit["rules"]) == ("brittle_films:predict", ("rules",))
    assert audit["max_flip_rate"] == 0.05


@pytest.mark.parametrize("column", ["said,part", "said+part"])
def test_init_takes_several_columns_as_one(folder: Path, column: str) -> None:
    (folder / "sears.toml").unlink()
    done = run("init", "--data", "data/dev.csv", "--column", column, "--label", "gold")
    assert done.exception is None, done.output
    assert taken("export", "own.sear", "-o", "x.pkl")["column"] == column


def test_init_takes_no_text_for_the_label(folder: Path) -> None:
    (folder / "sears.toml").unlink()
    (folder / "pairs.csv").write_text("premise,hypothesis\n" + 4 * "a man,a person\na,b\n", "utf-8")
    done = run("init", "--data", "pairs.csv", "--column", "premise,hypothesis")
    assert done.exception is None, done.output
    assert "text premise,hypothesis; label - (none was recognized" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs a terminal of POSIX")
def test_at_a_terminal_init_asks_proposes_and_asks_again_after_a_wrong_answer(folder: Path) -> None:
    import pty

    (folder / "sears.toml").unlink()
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from sears_dsl.cli import main; main()", "init"],
        stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(theirs)
    said = b""
    for question, answer in (
        (b"file of labelled rows [data/dev.csv]: ", b"data/dve.csv"),
        (b"data/dve.csv", b""),
        (b"text column [said]: ", b""),
        (b"label column", b"glod"),
        (b"no column 'glod'", b"gold"),
        (b"model, such as my_model:predict (empty: add it later): ", b"brittle_films"),
        (b"'brittle_films' does not name a model", b"brittle_films:predict"),
        (b"your own rules, a file or a folder (empty: add them later) [rules]: ", b"ruels"),
        (b"ruels", b"rules"),
    ):
        while question not in said or not said.endswith(b": "):
            said += os.read(ours, 4096)
        os.write(ours, answer + b"\n")
        said = b""
    assert process.wait(300) == 0
    os.close(ours)
    assert taken("audit")["model"] == "brittle_films:predict"
    assert taken("discover", "-o", "found.sear")["label"] == "gold"
    assert taken("check")["rules"] == ("rules",)


def test_init_says_that_it_recognized_no_labels(folder: Path) -> None:
    (folder / "sears.toml").unlink()
    (folder / "plain.csv").write_text("text\nA movie.\nA play.\n", "utf-8")
    done = run("init", "--data", "plain.csv")
    assert done.exception is None, done.output
    assert "text text; label - (none was recognized: `label = ` in [datasets.dev]" in done.stderr


def test_init_replaces_nothing(folder: Path) -> None:
    done = run("init", "--data", "data/dev.csv")
    assert isinstance(done.exception, UsageError)
    assert (folder / "sears.toml").read_text("utf-8") == PROJECT
    (folder / "sears.toml").unlink()
    shared = "[tool.sears]\n"
    (folder / "pyproject.toml").write_text(shared, "utf-8")
    assert isinstance(run("init", "--data", "data/dev.csv").exception, UsageError)
    assert not (folder / "sears.toml").exists()


def test_init_makes_no_file_that_cannot_name_the_rows(folder: Path) -> None:
    (folder / "sears.toml").unlink()
    name = os.fsdecode(b"d\xff.csv")
    os.rename(folder / "data" / "dev.csv", folder / name)
    error = run("init", "--data", name).exception
    assert isinstance(error, UsageError)
    assert "cannot have the line" in error.message
    assert not (folder / "sears.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--data", "nowhere.csv"), "nowhere.csv"),
        (("--data", "-"), "names a file of rows, and - is none"),
        (("--data", "data/dev.csv", "--label", "glod"), "no column 'glod'"),
        ((), "no file of rows"),
        (("--data", "data/dev.csv", "--model", "file:../x.jsonl"), "only in its own folder"),
        (("--data", "data/dev.csv", "--model", "every:file:a.csv,file:../x.csv"), "own folder"),
        (("--data", "data/dev.csv", "--model", "critic"), "'critic' does not name a model"),
        (("--data", "data/dev.csv", "--rules", "nope"), "ruleset is called nope"),
    ],
)
def test_init_says_what_is_missing_and_writes_nothing(
    folder: Path, arguments: tuple[str, ...], said: str
) -> None:
    for name in ("dev.csv", "test.csv"):
        if not arguments:
            (folder / "data" / name).unlink()
    (folder / "sears.toml").unlink()
    done = run("init", *arguments)
    assert isinstance(done.exception, SearsError)
    assert said in done.exception.render()
    assert not (folder / "sears.toml").exists()


@pytest.mark.parametrize("rate", ["5", "abc", "500%"])
def test_init_writes_no_rate_that_an_audit_refuses(folder: Path, rate: str) -> None:
    (folder / "sears.toml").unlink()
    done = run("init", "--data", "data/dev.csv", "--max-flip-rate", rate)
    assert isinstance(done.exception, click.BadParameter)
    assert not (folder / "sears.toml").exists()


@pytest.mark.parametrize("command", ["audit", "check", "test"])
def test_where_a_project_has_no_rules_it_is_said_that_it_may_have_some(
    folder: Path, command: str
) -> None:
    (folder / "sears.toml").write_text('datasets.dev = "data/dev.csv"\n', "utf-8")
    done = run(command)
    assert isinstance(done.exception, click.MissingParameter)
    assert "Name rules here, or in [rulesets] of sears.toml." in done.exception.format_message()
    (folder / "sears.toml").unlink()
    done = run(command)
    assert isinstance(done.exception, click.MissingParameter)
    assert "sears.toml" not in done.exception.format_message()
