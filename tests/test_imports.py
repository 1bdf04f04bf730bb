"""What an import may open, and the error about a file without rules."""

from __future__ import annotations

import os
import pickle
import time
from pathlib import Path

import pytest

import sears_dsl.errors
from sears_dsl.errors import Diagnostic, RuleSyntaxError, SearsError, Span
from sears_dsl.language.loader import load, parse

ERRORS = [name for name in vars(sears_dsl.errors) if name.endswith("Error")]
PRIVATE = "root:x:0:0:root:/root:/bin/bash\nKEY=hunter2\n"


def findings(path: Path, **options: bool) -> list[Diagnostic]:
    with pytest.raises(RuleSyntaxError) as caught:
        load(path, **options)
    return list(caught.value.diagnostics)


def importing(folder: Path, target: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "main.sear"
    path.write_text(f'import "{target}" as p\n@p.A x -> y\n', "utf-8")
    return path


def test_imports_stay_below_the_folder_of_the_first_file(tmp_path: Path) -> None:
    (tmp_path / "sets.sear").write_text("set A = a\n")
    path = importing(tmp_path / "rules", "../sets.sear")
    assert [each.code for each in findings(path)] == ["E408"]
    assert load(path, allow_imports_outside=True).rules
    assert parse(path.read_text(), path=str(path), allow_imports_outside=True).rules
    absolute = importing(tmp_path / "rules", str(tmp_path / "sets.sear"))
    assert [each.code for each in findings(absolute)] == ["E408"]
    (tmp_path / "rules" / "deep").mkdir()
    inner = tmp_path / "rules" / "deep" / "b.sear"
    inner.write_text('import "../../sets.sear" as s\nset A = x\n')
    indirect = importing(tmp_path / "rules", "deep/b.sear")
    assert [each.code for each in findings(indirect)] == ["E404", "E408"]
    (tmp_path / "rules" / "own.sear").write_text("set A = a\n")
    inner.write_text('import "../own.sear" as s\nset A = @s.A\n')
    assert load(indirect).rules


def test_links_are_followed_before_the_folder_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "sets.sear").write_text("set A = a\n")
    path = importing(tmp_path / "rules", "link.sear")
    (tmp_path / "rules" / "link.sear").symlink_to(tmp_path / "sets.sear")
    assert [each.code for each in findings(path)] == ["E408"]
    assert load(path, allow_imports_outside=True).rules
    # The named folder counts, even if it is reached through a link.
    (tmp_path / "alias").symlink_to(tmp_path / "rules")
    (tmp_path / "rules" / "link.sear").unlink()
    (tmp_path / "rules" / "link.sear").write_text("set A = a\n")
    assert load(tmp_path / "alias" / "main.sear").rules
    circle = importing(tmp_path / "rules", "circle.sear")
    (tmp_path / "rules" / "circle.sear").symlink_to("circle.sear")
    assert {each.code for each in findings(circle)} <= {"E401", "E406"}


def test_only_regular_files_of_bounded_size_are_read(tmp_path: Path) -> None:
    path = importing(tmp_path / "rules", "target")
    target = tmp_path / "rules" / "target"
    started = time.perf_counter()
    os.mkfifo(target)
    [finding] = findings(path)
    assert (finding.code, "not a regular file" in finding.message) == ("E406", True)
    target.unlink()
    target.mkdir()
    [finding] = findings(path)
    assert (finding.code, "a folder" in finding.message) == ("E406", True)
    target.rmdir()
    with target.open("wb") as file:
        file.truncate(1 << 40)  # a hole: it costs nothing
    [finding] = findings(path)
    assert (finding.code, "more than 16 MiB" in finding.message) == ("E406", True)
    device = importing(tmp_path / "rules", "/dev/zero")
    assert [each.code for each in findings(device)] == ["E408"]
    [finding] = findings(device, allow_imports_outside=True)
    assert (finding.code, "not a regular file" in finding.message) == ("E406", True)
    with pytest.raises(RuleSyntaxError, match="E406"):
        load("/dev/zero")
    assert time.perf_counter() - started < 60  # not for ever


@pytest.mark.parametrize("content", [PRIVATE, "id,text\n1,a movie\n", '{"a": 1}\n', "\0\1\2 -> \3"])
def test_lines_of_a_file_that_holds_no_rules_are_not_shown(tmp_path: Path, content: str) -> None:
    path = importing(tmp_path / "rules", "other.txt")
    (tmp_path / "rules" / "other.txt").write_text(content)
    told = findings(path)
    assert [each.code for each in told] == ["E407"]
    printed = "\n".join(each.render() for each in told)
    for line in content.splitlines():
        assert line not in printed
    assert "hunter2" not in printed


def test_an_imported_file_of_rules_is_shown(tmp_path: Path) -> None:
    path = importing(tmp_path / "rules", "sets.sear")
    (tmp_path / "rules" / "sets.sear").write_text("set A = What |\n")
    told = findings(path)
    assert [each.code for each in told] == ["E404", "E111"]
    assert told[1].source == "set A = What |"


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.jsonl", "rows.csv.gz"])
def test_a_data_file_in_place_of_rules_is_one_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("id,text\n" + "1,a movie\n" * 3)
    [finding] = findings(path)
    assert finding.code == "E407"
    assert "sears apply rules.sear data.csv" in finding.help


def test_text_in_place_of_rules_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "prose.txt"
    path.write_text("It was a dark and stormy night.\n" * 40)
    assert [each.code for each in findings(path)] == ["E407"]
    path.write_text("It was a dark and stormy night.\n" * 5)
    assert [each.code for each in findings(path)] == ["E102"] * 5
    path.write_text("movie -> film\n" * 3 + "night\n" * 20)
    assert "E102" in {each.code for each in findings(path)}
    binary = tmp_path / "rows.parquet"
    binary.write_bytes(b"PAR1\0\0\xff")
    assert [each.code for each in findings(binary)] == ["E407"]


def test_no_more_than_twenty_findings_are_printed() -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        parse("NUON -> x\n" * 30)
    assert len(caught.value.diagnostics) >= 30
    assert str(caught.value).count("error[") == 20
    assert (
        str(caught.value)
        .splitlines()[-1]
        .startswith(f"and {len(caught.value.diagnostics) - 20} more findings")
    )


@pytest.mark.parametrize("name", ERRORS)
def test_errors_survive_the_way_out_of_a_process(name: str) -> None:
    kind = getattr(sears_dsl.errors, name)
    if kind is RuleSyntaxError:
        finding = Diagnostic("E101", "x", Span(1, 2, 3), "do this", "a.sear", "a line")
        error: SearsError = RuleSyntaxError([finding])
    else:
        error = kind("what happened", help="what to do")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert type(again) is kind
    assert (again.render(), str(again), again.help) == (error.render(), str(error), error.help)
    assert vars(again) == vars(error)
    if isinstance(again, RuleSyntaxError):
        assert again.diagnostics[0].source == "a line"
