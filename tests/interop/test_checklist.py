"""Rules as CheckList tests: the kind of each, its rows, and what it expects of a model."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sears_dsl import parse
from sears_dsl.cli.model.export import export_command
from sears_dsl.effects.oracle import FunctionOracle
from sears_dsl.errors import DataError, UsageError
from sears_dsl.interop.checklist import checklist_suite, rule_cases, template_cases
from sears_dsl.tagging.pinned import PinnedTagger

RULES = parse("""\
rule film: movie -> film
  why: "A film is a movie."
rule worse: good -> bad
  expect: flip
rule awful: nice -> awful
  expect: label negative
rule silent: zebra -> quagga
""")
TEXTS = ["A good movie .", "Nothing here .", "A nice movie .", "nice , good"]


def _suite(**options: object):  # type: ignore[no-untyped-def]
    return checklist_suite([RULES], TEXTS, tagger=PinnedTagger(), **options)  # type: ignore[arg-type]


def test_what_a_rule_expects_decides_the_kind_of_test() -> None:
    tests = rule_cases([RULES], TEXTS, tagger=PinnedTagger())
    assert [(test.rule_id, test.kind, test.label) for test in tests] == [
        ("film", "INV", ""),
        ("worse", "DIR", ""),
        ("awful", "MFT", "negative"),
        ("silent", "INV", ""),
    ]


def test_cases_are_the_changed_rows_in_their_order() -> None:
    film, _, awful, silent = rule_cases([RULES], TEXTS, tagger=PinnedTagger())
    assert [(case.row, case.original, case.rewritten) for case in film.cases] == [
        (0, "A good movie .", "A good film ."),
        (2, "A nice movie .", "A nice film ."),
    ]
    assert [case.row for case in awful.cases] == [2, 3]
    assert silent.cases == ()
    assert rule_cases(RULES, TEXTS, tagger=PinnedTagger())[0] == film


def test_scope_all_rewrites_every_instance() -> None:
    rules = parse("rule film: movie -> film")
    [test] = rule_cases([rules], ["movie movie"], tagger=PinnedTagger(), scope="all")
    assert test.cases[0].rewritten == "film film"


def test_two_rules_of_one_id_have_tests_of_two_names() -> None:
    more = parse("rule film: movie -> motion picture", path="more.sear")
    names = [test.rule_id for test in rule_cases([RULES, more], TEXTS, tagger=PinnedTagger())]
    assert len(set(names)) == len(names)
    assert names[-1] == "more/film"


def test_a_suite_judges_as_the_rules_say(packages_from: Callable[[str], None]) -> None:
    packages_from("fakes")
    suite = _suite(label_values={"negative": 0})
    assert [(name, info["type"]) for name, info in suite.info.items()] == [
        ("film", "INV"), ("worse", "DIR"), ("awful", "MFT"),
    ]  # fmt: skip
    film, worse, awful = suite.tests.values()
    assert film.data[0] == ["A good movie .", "A good film ."]
    assert film.how["threshold"] == 0
    assert film.meta[1] == {"row": 2, "rule": "movie -> film"}
    assert "A film is a movie." in suite.info["film"]["description"]
    assert worse.passed([1, 0])
    assert not worse.passed([1, 1])
    assert awful.data == ["A awful movie .", "awful , good"]
    assert awful.passed(0)
    assert not awful.passed("negative")


TEMPLATES = parse("""\
set GOOD = good | nice
rule fine: movie -> film
template fine: "A {GOOD} film."
  label: positive
  why: "praise"
template dull: "Not {GOOD}."
  label: negative
""")


def test_a_template_is_a_test_of_minimum_functionality(
    packages_from: Callable[[str], None],
) -> None:
    packages_from("fakes")
    suite = checklist_suite([TEMPLATES], tagger=PinnedTagger(), label_values={"positive": 1,
                            "negative": 0})  # fmt: skip
    assert {name: info["type"] for name, info in suite.info.items()} == {
        "fine (template)": "MFT", "dull": "MFT",
    }  # fmt: skip
    fine, dull = suite.tests.values()
    assert fine.data == ["A good film.", "A nice film."]
    assert fine.passed(1)
    assert dull.passed(0)
    assert fine.meta[1] == {"row": 1, "template": '"A {GOOD} film."'}
    assert "praise" in suite.info["fine (template)"]["description"]


def test_a_label_1_0_is_the_label_1(packages_from: Callable[[str], None]) -> None:
    packages_from("fakes")
    rules = parse('template t: "Good."\n  label: 1.0\nfilm -> flop\n  expect: label 1.0\n')
    for label in ("1", "1.0"):
        suite = checklist_suite(
            [rules], ["A film ."], tagger=PinnedTagger(), label_values={label: 7}
        )
        assert [test.how["labels"] for test in suite.tests.values()] == [7, 7]


def test_an_oracle_keeps_cases_out_of_the_suite(packages_from: Callable[[str], None]) -> None:
    packages_from("fakes")

    def no_nice(rows):  # type: ignore[no-untyped-def]
        return ["nice" not in row["text"] for row in rows]

    suite = checklist_suite([RULES, TEMPLATES], TEXTS, tagger=PinnedTagger(),
                            oracle=FunctionOracle(no_nice))  # fmt: skip
    assert suite.tests["film"].data == [["A good movie .", "A good film ."]]
    assert suite.tests["dull"].data == ["Not good."]


def test_without_values_a_label_is_its_name(packages_from: Callable[[str], None]) -> None:
    packages_from("fakes")
    assert _suite().tests["awful"].passed("negative")


def test_a_label_without_a_value_is_an_error(packages_from: Callable[[str], None]) -> None:
    packages_from("fakes")
    with pytest.raises(UsageError, match="awful expects the label negative"):
        _suite(label_values={"positive": 1})


def test_rules_that_change_nothing_make_no_suite() -> None:
    with pytest.raises(UsageError, match="no rule changes any of the 1 texts"):
        checklist_suite([RULES], ["Nothing ."], tagger=PinnedTagger())


def test_a_package_that_breaks_on_import_is_reported(packages_from: Callable[[str], None]) -> None:
    packages_from("broken")
    with pytest.raises(UsageError, match="must be run in IPython") as caught:
        _suite()
    page = (Path(__file__).parents[2] / "docs" / "interop.md").read_text("utf-8")
    commands = (caught.value.help or "").removeprefix("repair it: ").split(" && ")
    assert len(commands) == 2
    assert all(f"`{command}`" in page for command in commands)


def test_importing_the_adapters_imports_no_foreign_package() -> None:
    code = (
        "import sys, sears_dsl.interop.checklist, sears_dsl.interop.textattack;"
        "print({'checklist', 'textattack', 'torch', 'spacy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def _exported(*arguments: str):  # type: ignore[no-untyped-def]
    return CliRunner().invoke(export_command, arguments)


def test_the_command_writes_a_suite(packages_from: Callable[[str], None], tmp_path: Path) -> None:
    packages_from("fakes")
    (tmp_path / "rules.sear").write_text(RULES.format(), "utf-8")
    (tmp_path / "rows.txt").write_text("\n".join(TEXTS), "utf-8")
    rules, rows, output = (str(tmp_path / name) for name in ("rules.sear", "rows.txt", "suite"))
    done = _exported(rules, "--data", rows, "-o", output, "--label-value", "negative=0")
    assert done.exit_code == 0
    assert "3 tests with 6 cases" in done.output
    assert "1 rule changed no row" in done.output
    assert json.loads(Path(output).read_text("utf-8"))["film"][0][1] == "A good film ."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.txt", "rules.sear", "suite"]


def test_rules_and_rows_may_come_from_the_project_file(
    packages_from: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages_from("fakes")
    (tmp_path / "rules.sear").write_text("rule film: movie -> film\n", "utf-8")
    (tmp_path / "rows.dump").write_text("id,review\n1,A movie .\n", "utf-8")
    (tmp_path / "sears.toml").write_text(
        '[rulesets]\nown = "rules.sear"\n[datasets.dev]\nfile = "rows.dump"\nformat = "csv"\n'
        'column = "review"\nlabel = "id"\n',
        "utf-8",
    )
    monkeypatch.chdir(tmp_path)
    done = _exported("-o", "suite")
    assert done.exit_code == 0, done.output
    assert json.loads(Path("suite").read_text("utf-8")) == {"film": [["A movie .", "A film ."]]}


def test_the_command_counts_what_the_oracle_rejects(
    packages_from: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages_from("fakes")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("t.sear").write_text(
        'set A = x | y\ntemplate one: "{A} z"\n  label: good\ntemplate two: "{A}"\n  label: bad\n'
    )
    Path("no_y.py").write_text('def keep(rows):\n    return ["y" not in r["text"] for r in rows]\n')
    done = _exported("t.sear", "-o", "suite", "--oracle", "no_y:keep")
    assert done.exit_code == 0, done.output
    assert "2 tests with 2 cases in suite; the oracle no_y:keep" in done.output
    assert done.output.endswith("rejected 2: one 1, two 1\n")


@pytest.mark.parametrize(
    ("values", "message"),
    [(["negative"], "is not LABEL=VALUE"), (["negative="], "is not LABEL=VALUE"),
     (["=1"], "is not LABEL=VALUE"),
     (["negative=0", "negative=1"], "gives negative twice: 0 and 1"),
     (["yyy=0", "zzz=3"], "expects a label that --label-value gives: yyy, zzz")],
)  # fmt: skip
def test_a_label_value_that_means_nothing_is_refused(
    values: list[str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "x.sear").write_text("a -> b\n  expect: label negative\n")
    options = [word for value in values for word in ("--label-value", value)]
    done = _exported(str(tmp_path / "x.sear"), "--data", "x", "-o", "y", *options)
    assert isinstance(done.exception, UsageError)
    assert message in done.exception.message
    assert "negative" in done.exception.help


def test_a_label_value_may_be_negative_or_of_a_label_that_these_rules_do_not_expect(
    packages_from: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages_from("fakes")
    suites: list[Any] = []
    monkeypatch.setattr(
        "sears_dsl.cli.model.export._save", lambda suite, output: suites.append(suite)
    )
    rules, rows = tmp_path / "rules.sear", tmp_path / "rows.txt"
    rules.write_text("nice -> awful\n  expect: label negative\n")
    rows.write_text("A nice play .\n")
    values = ("--label-value", "negative=-1", "--label-value", "positive=1")
    done = _exported(str(rules), "--data", str(rows), "-o", "suite", *values)
    assert done.exit_code == 0, done.output
    assert [test.how["labels"] for test in suites[0].tests.values()] == [-1]


def test_the_command_never_writes_over_what_it_reads(
    packages_from: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages_from("fakes")
    monkeypatch.chdir(tmp_path)
    Path("rules").mkdir()
    sources = {"rules/a.sear": "movie -> film\n", "rows.txt": "A movie .\n", "votes.jsonl": "{}\n"}
    for name, text in sources.items():
        Path(name).write_text(text)
    for name in sources:
        done = _exported("rules", "--data", "rows.txt", "--oracle", "votes.jsonl", "-o", name)
        assert done.exit_code == 2, done.output
        assert "is an input of this command: write to another file" in done.output
    assert {name: Path(name).read_text() for name in sources} == sources
    done = _exported("rules", "--data", "rows.txt", "-o", "-")
    assert done.exit_code == 2
    assert "not for standard output" in done.output


def test_texts_may_be_a_column_of_a_table_with_an_index_of_its_own() -> None:
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(TEXTS, index=range(5, 9))
    assert rule_cases([RULES], column) == rule_cases([RULES], TEXTS)


@pytest.mark.parametrize("limit", [0, -1, 1.5])
def test_a_limit_of_no_sentence_is_refused(limit: Any) -> None:
    with pytest.raises(UsageError, match=f"limit={limit} is not valid"):
        template_cases([TEMPLATES], limit=limit)


def test_a_folder_that_is_not_there_is_reported(
    packages_from: Callable[[str], None], tmp_path: Path
) -> None:
    packages_from("fakes")
    (tmp_path / "rules.sear").write_text(RULES.format(), "utf-8")
    (tmp_path / "rows.txt").write_text("\n".join(TEXTS), "utf-8")
    rules, rows = str(tmp_path / "rules.sear"), str(tmp_path / "rows.txt")
    done = _exported(rules, "--data", rows, "-o", str(tmp_path / "nowhere" / "suite"))
    assert isinstance(done.exception, DataError)
