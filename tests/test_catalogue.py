"""What names of rules stand for."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from command_line import call
from without_rights import open_folder, without_rights

from sears_dsl.catalogue import closest_path, find_rule_files, load, load_rulesets
from sears_dsl.errors import UsageError


def test_rejected_rules_are_not_applied_with_their_folder(tmp_path: Path) -> None:
    kept, rejected = tmp_path / "a.sear", tmp_path / "a.left-out.sear"
    kept.write_text("movie -> film\n", "utf-8")
    rejected.write_text("good -> bad\n", "utf-8")
    assert find_rule_files([str(tmp_path)]) == [rejected, kept]
    assert [ruleset.path for ruleset in load_rulesets([str(tmp_path)])] == [str(kept)]
    assert len(load_rulesets([str(tmp_path), str(rejected)])) == 2
    assert [ruleset.path for ruleset in load_rulesets([str(rejected)])] == [str(rejected)]


def test_rules_that_nearly_passed_a_search_are_not_applied_with_their_folder(
    tmp_path: Path,
) -> None:
    found, near = tmp_path / "a.sear", closest_path(tmp_path / "a.sear")
    found.write_text("movie -> film\n", "utf-8")
    near.write_text("good -> bad\n", "utf-8")
    assert find_rule_files([str(tmp_path)]) == [near, found]
    assert [ruleset.path for ruleset in load_rulesets([str(tmp_path)])] == [str(found)]
    assert [ruleset.path for ruleset in load_rulesets([str(near)])] == [str(near)]


def test_commands_about_files_skip_what_nobody_accepted_unless_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    for name in ("a.sear", "a.left-out.sear", "a.closest.sear"):
        (tmp_path / "rules" / name).write_text("movie  ->  film\n", "utf-8")
    rejected = str(tmp_path / "rules" / "a.left-out.sear")
    for names, files in (
        (["rules"], ["a.sear"]),
        (["rules", rejected], ["a.left-out.sear", "a.sear"]),
        ([rejected], ["a.left-out.sear"]),
    ):
        checked = call("check", "--json", *names, folder=tmp_path)
        assert json.loads(checked.stdout)["files"] == len(files)
        changed = call("fmt", "--check", *names, folder=tmp_path)
        assert changed.returncode == 1
        output = changed.stdout + changed.stderr
        assert [each for each in ("a.left-out.sear", "a.sear") if each in output] == files
        assert "closest" not in output


def test_a_missing_file_is_not_taken_for_one_that_nobody_accepted(tmp_path: Path) -> None:
    for name in ("a.sear", "a.left-out.sear", "a.closest.sear"):
        (tmp_path / name).write_text("movie -> film\n", "utf-8")
    for name in ("a.closed.sear", "a.left.sear"):
        told = call("check", name, folder=tmp_path).stderr
        assert "did you mean a.sear?" in told


def test_rules_are_shown_with_what_decides_what_they_do(tmp_path: Path) -> None:
    lines = ["/[a-z]+/ -> $1.typo", "expect: flip", "rate: 25%", "seed: 3"]
    (tmp_path / "a.sear").write_text("\n  ".join([*lines, 'why: "slips"']) + "\n", "utf-8")
    told = call("rules", "a.sear", folder=tmp_path).stdout
    [rule] = json.loads(call("rules", "a.sear", "--json", folder=tmp_path).stdout)[0]["rules"]
    assert [rule["rule"], *rule["metadata"]] == lines
    assert all(line in told for line in lines)
    assert call("rules", "a.sear", "--pages", "pages", folder=tmp_path).returncode == 0
    [page] = [file for file in (tmp_path / "pages").glob("*.md") if file.stem != "README"]
    assert "\n  ".join(lines) in page.read_text("utf-8")


def test_a_file_without_rules_has_no_table(tmp_path: Path) -> None:
    (tmp_path / "words.sear").write_text("set GOOD = good | fine\n", "utf-8")
    assert call("rules", "words.sear", folder=tmp_path).stdout.strip() == "words.sear, 0 rules"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices_are_not_said_to_be_missing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.sear")
    for name in (str(tmp_path / "p.sear"), os.devnull):
        with pytest.raises(UsageError, match=f"{name} is a pipe or a device"):
            find_rule_files([name])


def test_an_empty_name_stands_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.sear").write_text("movie -> film\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    for names in ([""], ["a.sear", ""]):
        with pytest.raises(UsageError, match="the name of the rules is empty"):
            find_rule_files(names)
    assert find_rule_files(["."]) == [Path("a.sear")]


def test_several_files_are_named_as_they_can_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    for name in ("a", "b"):
        Path("mine", f"{name}.sear").write_text("movie -> film\n", "utf-8")
    for name, first in (("synonyms", "synonyms/everyday-verbs"), ("mine", "mine/a.sear")):
        with pytest.raises(UsageError, match="rule files, but one is needed") as caught:
            load(name)
        assert caught.value.help == f"name one of them, such as {first}"
        assert len(load(first)) > 0


@pytest.mark.skipif(os.name == "nt", reason="needs rights of POSIX")
def test_rules_that_may_not_be_read_are_not_left_out_unsaid() -> None:
    with open_folder() as folder:
        (folder / "a.sear").write_text("movie -> film\n", "utf-8")
        (folder / "b" / "c").mkdir(parents=True)
        (folder / "b" / "c" / "d.sear").write_text("good -> bad\n", "utf-8")
        assert [each.name for each in find_rule_files([str(folder)])] == ["a.sear", "d.sear"]
        (folder / "b" / "c").chmod(0)
        for named in (folder, folder / "b" / "c"):
            with without_rights(), pytest.raises(UsageError, match="c cannot be read: Permission"):
                find_rule_files([str(named)])


def test_a_file_that_is_named_twice_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.sear"
    path.write_text("movie -> film\n", "utf-8")
    (tmp_path / "b.sear").symlink_to(path)
    monkeypatch.chdir(tmp_path)
    assert find_rule_files(["a.sear", "./a.sear", str(path), "b.sear", "."]) == [Path("a.sear")]
