"""The command line as a person or a script meets it: exit codes and what is printed."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click
import pytest
from command_line import call
from rich.console import Console

from sears_dsl.catalogue import load
from sears_dsl.cli.commands import sears
from sears_dsl.cli.screen.console import excerpt
from sears_dsl.defaults import SCORER_NAMES
from sears_dsl.engine.matches import Edit
from sears_dsl.language.printer import print_rule

Run = Callable[..., "subprocess.CompletedProcess[str]"]

WH = """\
ruleset wh 1.0.0

rule which: What NOUN -> Which NOUN
  test "What/PRON/WP color/NOUN/NN ?" => "Which color ?"
  test "It is red ." => none
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "wh.sear").write_text(WH, "utf-8")
    (tmp_path / "rows.csv").write_text(
        "id,text,answer\na,What color is it?,red\nb,It is red.,red\n", "utf-8"
    )
    return partial(call, folder=tmp_path)


def test_every_command_has_help_with_an_example(run: Run) -> None:
    commands = ("check", "fmt", "test", "apply", "explain", "diff", "rules", "cache", "calibrate",
                "adversaries")  # fmt: skip
    listed = run("--help").stdout
    for command in commands:
        assert f"\n  {command} " in listed
        told = run(command, "--help").stdout
        assert "Example" in told
        assert "None]" not in told, "a range that is none"


# ---------------------------------------------------------------- check, fmt, test


def test_check_passes_and_counts(run: Run) -> None:
    done = run("check", "wh.sear")
    assert done.returncode == 0
    assert "1 file, 1 rule: 0 errors, 0 warnings" in done.stdout


def test_the_example_of_the_help_works(run: Run) -> None:
    [line] = [each for each in run("--help").stdout.splitlines() if "Example: sears" in each]
    done = run(*shlex.split(line.partition("Example: sears")[2]))
    assert done.returncode == 0, done.stderr
    assert "tray" in done.stdout


def test_check_needs_nothing_that_rules_look_up_when_they_run(run: Run, tmp_path: Path) -> None:
    rules = tmp_path / "noise.sear"
    rules.write_text("option unit = sentence\n<unit> -> $0.paraphrase\n", "utf-8")
    assert run("check", str(rules)).returncode == 0
    rules.write_text("option vectors = no-such-file.txt\nmovie -> $1.neighbor\n", "utf-8")
    checked = run("check", str(rules))
    assert checked.returncode == 2
    assert "E352" in checked.stdout


def test_check_tells_of_words_in_which_nothing_can_change(run: Run, tmp_path: Path) -> None:
    (tmp_path / "look.sear").write_text(
        "set SOME = trunk | film\n\n@SOME -> $1.homoglyph\n"
        "(trunk|not good) -> $0.homoglyph\n(@SOME|NOUN) -> $1.homoglyph\n", "utf-8",
    )  # fmt: skip
    some = run("check", "look.sear")
    assert some.returncode == 0
    assert (
        "look.sear:3:1: warning[W622]: `.homoglyph` can change no character of `trunk`"
        in some.stdout
    )
    assert (
        "look.sear:4:1: warning[W622]: `.homoglyph` can change no character of `trunk`"
        in some.stdout
    )
    assert some.stdout.count("W622") == 2
    (tmp_path / "none.sear").write_text("set NONE = gulf | full\n@NONE -> $1.homoglyph\n", "utf-8")
    none = run("check", "none.sear")
    assert none.returncode == 2
    assert (
        "none.sear:2:1: error[E329]: `.homoglyph` can change no character of `gulf`, `full`"
        in none.stdout
    )


def test_check_tells_all_errors_with_place_caret_and_help(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.sear").write_text("What NUON -> Which NOUN\nis -> $2\n", "utf-8")
    done = run("check", "bad.sear")
    assert done.returncode == 2
    assert "bad.sear:1:6: error[" in done.stdout
    assert "did you mean NOUN?" in done.stdout
    assert "     ^^^^" in done.stdout
    assert "bad.sear:2:" in done.stdout
    findings = json.loads(run("check", "bad.sear", "--json").stdout)["findings"]
    assert f"{len(findings)} errors" in done.stdout
    assert [finding["line"] for finding in findings] == sorted(f["line"] for f in findings)
    assert {finding["line"] for finding in findings} == {1, 2}


def test_check_counts_an_error_of_an_imported_file_once(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.sear").write_text("What NUON -> Which\n", "utf-8")
    for name in ("one.sear", "two.sear"):
        (tmp_path / name).write_text('import "bad.sear" as bad\n', "utf-8")
    done = run("check", "one.sear", "two.sear", "bad.sear")
    assert done.stdout.count("error[E201]") == 1
    assert "3 files, 0 rules: 3 errors, 0 warnings" in done.stdout


def test_check_strict_makes_a_gate_of_warnings(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bare.sear").write_text("ruleset bare 1.0.0\n\nmovie -> film\n", "utf-8")
    assert run("check", "bare.sear").returncode == 0
    assert run("check", "--strict", "bare.sear").returncode == 1


def test_fmt_rewrites_once_and_keeps_comments(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "odd.sear"
    file.write_text("# mine\nmovie   ->  film   # why not\n", "utf-8")
    assert run("fmt", "--check", "odd.sear").returncode == 1
    assert run("fmt", "odd.sear").returncode == 0
    assert file.read_text("utf-8").splitlines()[0] == "# mine"
    assert "movie -> film" in file.read_text("utf-8")
    assert "# why not" in file.read_text("utf-8")
    assert run("fmt", "--check", "odd.sear").returncode == 0
    assert run("fmt", "-", stdin="a   -> b\n").stdout == "a -> b\n"


@pytest.mark.parametrize(
    "content", ["caf\u00e9 -> bar\n".encode("latin-1"), "a -> b".encode("utf-16")]
)
@pytest.mark.parametrize("options", [(), ("--check",), ("--diff",)])
def test_fmt_reports_a_file_that_cannot_be_read_as_check_does(
    run: Run, tmp_path: Path, content: bytes, options: tuple[str, ...]
) -> None:
    file = tmp_path / "odd.sear"
    file.write_bytes(content)
    done = run("fmt", *options, "odd.sear")
    assert done.returncode == 2
    assert done.stderr.partition("\n")[0].removeprefix("sears: ") in run("check", "odd.sear").stdout
    assert file.read_bytes() == content


def test_fmt_of_standard_input_can_be_a_gate(run: Run) -> None:
    odd, canonical = "movie   -> film\n", "movie -> film\n"
    for words in (("-", "--check"), ("--check", "-")):
        done = run("fmt", *words, stdin=odd)
        assert (done.returncode, done.stdout.partition("\n")[0]) == (1, "would change: <stdin>")
        assert run("fmt", *words, stdin=canonical).returncode == 0
        assert run("fmt", *words, stdin=canonical.replace("\n", "\r\n")).returncode == 0
    done = run("fmt", "-", "--diff", stdin=odd)
    assert done.returncode == 1
    assert "-movie   -> film\n+movie -> film\n" in done.stdout


def test_fmt_leaves_a_file_alone_whose_canonical_form_nobody_could_read(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "long.sear"
    file.write_text(f"set S = {'|'.join(f'{k:0131}a' for k in range(149))}\n@S -> x\n", "utf-8")
    before = file.read_bytes()
    assert run("check", "long.sear").returncode == 0
    done = run("fmt", "long.sear")
    assert done.returncode == 2
    assert "keep long lists in several sets" in done.stderr
    assert file.read_bytes() == before


def test_test_reports_each_outcome(run: Run, tmp_path: Path) -> None:
    assert run("test", "wh.sear").returncode == 0
    (tmp_path / "failing.sear").write_text(
        'rule film: movie -> film\n  test "a/DET/DT movie" => "a flick"\n'
        '  test "a/DET/DT film" => "a movie"\n  test "the/DET/DT movie" => none\n',
        "utf-8",
    )
    done = run("test", "failing.sear")
    assert done.returncode == 1
    for outcome in ("wrong", "missing", "noisy"):
        assert f": {outcome}: film" in done.stdout
    assert "3 tests of 1 rule: 0 ok, 3 not ok" in done.stdout


def test_rules_without_tests_are_reported_with_the_way_to_write_one(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "bare.sear").write_text("movie -> film\n", "utf-8")
    assert run("test", "bare.sear").stdout == (
        '0 tests: write them under a rule or template, indented, such as  test "A movie." => '
        '"A film."\n'
    )


@pytest.mark.parametrize(
    "tested", ["", 'movie -> film\n  test "a/DET/DT movie" => "a film"\n'], ids=["none", "one"]
)
def test_a_rule_without_tests_that_cannot_be_compiled_is_an_error(
    run: Run, tmp_path: Path, tested: str
) -> None:
    (tmp_path / "wrong.sear").write_text(f"{tested}gulf -> $1.homoglyph\n", "utf-8")
    done = run("test", "wrong.sear")
    assert done.returncode == 2
    assert "error[E329]" in done.stderr
    assert "ok" not in done.stdout


# ---------------------------------------------------------------- apply


def test_apply_each(run: Run, tmp_path: Path) -> None:
    done = run("apply", "wh.sear", "rows.csv", "-o", "out.csv", "--column", "text")
    assert done.returncode == 0, done.stderr
    assert (
        (tmp_path / "out.csv")
        .read_text("utf-8")
        .splitlines()[1]
        .startswith("a,which,What color is it?,Which color is it?,")
    )
    assert "2 rows read, 1 changed by 1 rule" in done.stderr
    assert "[-What-]{+Which+} color is it?" in done.stderr


def test_apply_chain_keeps_every_row_and_column(run: Run, tmp_path: Path) -> None:
    run("apply", "wh.sear", "rows.csv", "-o", "out.csv", "--mode", "chain", "--column", "text")
    assert (tmp_path / "out.csv").read_text("utf-8") == (
        "id,text,answer\na,Which color is it?,red\nb,It is red.,red\n"
    )


def test_apply_through_pipes(run: Run) -> None:
    done = run("apply", "wh.sear", "-", "-o", "-", "--mode", "chain", stdin="What color?\r\nNo.\n")
    assert done.stdout == "Which color?\r\nNo.\n"


def test_apply_takes_shipped_rulesets_by_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The colour of the theatre.\n", "utf-8")
    done = run("apply", "spelling/british-to-american", "a.txt", "-o", "-", "--mode", "chain")
    assert done.stdout == "The color of the theater.\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["apply", "wh.sear", "rows.csv", "-o", "o.csv", "--column", "txt"], "text"),
        (["apply", "wh.sear", "missing.csv", "-o", "o.csv"], "missing.csv"),
        (["apply", "nope", "rows.csv", "-o", "o.csv"], "sears rules"),
        (["apply", "wh.sear", "rows.csv", "-o", "rows.csv", "--column", "text"], "input itself"),
        (["apply", "wh.sear", "rows.csv", "-o", "no/such/o.csv", "--column", "text"], "no/such"),
        (["apply", "wh.sear", "rows.csv", "-o", "o.xyz", "--column", "text"], "format"),
        (["apply", "rows.csv", "-o", "o.csv"], "RULES"),
        (["apply", "wh.sear", "rows.csv", "-o", "o.csv", "--tagger", "spacy:nope"], "nope"),
        (["explain", "wh.sear", "--rule", "which", "--rule", "nope", "It is."], "the id nope"),
        (["diff", "HEAD:none.sear", "wh.sear"], "git"),
        (["no-such-command"], "no-such-command"),
        (["audti", "wh.sear"], "Did you mean 'audit'?"),
        (
            ["apply", "wh.sear", "rows.csv", "-o", "o.csv", "--delimiter", ";"],
            "it is read off the first line",
        ),
        (["check", "wh.sear", "--encoding", "cp1252"], "as UTF-8"),
        (
            ["audit", "wh.sear", "--data", "rows.csv", "--model", "m:p", "--encoding", "utf8x"],
            "there is no text encoding 'utf8x'",
        ),
        (["audit", "wh.sear", "--modle", "m:p"], "--model"),
    ],
)
def test_wrong_use_is_exit_2_with_a_message_and_no_output(
    run: Run, tmp_path: Path, arguments: list[str], told: str
) -> None:
    before = sorted(tmp_path.iterdir())
    done = run(*arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_rules_of_which_none_fires_are_reported_with_what_to_look_at(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "rows.txt").write_text("Der Film war gut.\n", "utf-8")
    told = run("apply", "wh.sear", "rows.txt", "-o", "o.jsonl").stderr
    assert (
        "no rule fires: is this the right column, and is it in the language of the rules?" in told
    )
    (tmp_path / "none.sear").write_text("# nothing yet\n", "utf-8")
    without = run("apply", "none.sear", "rows.txt", "-o", "n.jsonl").stderr
    assert "there are no rules to apply" in without
    (tmp_path / "rows.txt").write_text("What color is it?\n", "utf-8")
    assert "no rule fires" not in run("apply", "wh.sear", "rows.txt", "-o", "p.jsonl").stderr


def test_rules_of_a_chain_that_undo_each_other_are_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "undo.sear").write_text("movie -> film\nfilm -> movie\ngood -> great\n", "utf-8")
    (tmp_path / "rows.txt").write_text("A movie.\nThe movie.\nSo good.\nNo.\n", "utf-8")
    command = ("apply", "undo.sear", "rows.txt", "-o", "out.txt", "--mode", "chain")
    told = run(*command).stderr
    assert "4 rows read, 1 changed by 1 rule (2 silent)" in told
    assert "2 rows unchanged, as later rules undo what earlier ones did" in told
    assert json.loads(run(*command, "--json").stdout)["undone"] == 2
    (tmp_path / "rows.txt").write_text("A movie.\n", "utf-8")
    told = run(*command).stderr
    assert "1 row unchanged" in told
    assert "no rule fires" not in told


def test_invalid_utf8_names_the_byte_and_the_way_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("What color is the café?\n".encode("latin-1"))
    done = run("apply", "wh.sear", "latin.txt", "-o", "-", "--mode", "chain")
    assert done.returncode == 2
    assert "byte 21" in done.stderr
    assert "--encoding" in done.stderr
    chain = ["--mode", "chain", "--encoding", "latin-1"]
    assert run("apply", "wh.sear", "latin.txt", "-o", "out.txt", *chain).returncode == 0
    assert (tmp_path / "out.txt").read_text("latin-1") == "Which color is the café?\n"


# ---------------------------------------------------------------- explain, diff, rules, cache


def test_explain_says_which_rule_cannot_run(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "city.sear"
    file.write_text('set CITY = "New York" | Paris\n@CITY is -> it is\n', "utf-8")
    done = run("explain", str(file), "New York is big.")
    assert "city.sear:2:1: error[E701]: `New York` is 2 tokens" in done.stderr


def test_explain_tells_which_token_stopped_a_rule(run: Run) -> None:
    done = run("explain", "wh.sear", "What/PRON/WP is/AUX/VBZ it/PRON/PRP ?")
    assert done.returncode == 0
    assert "silent: which" in done.stdout
    assert "expected `NOUN` and found `is` (AUX/VBZ)" in done.stdout
    told = json.loads(run("explain", "wh.sear", "What color?", "--json").stdout)
    assert told["rules"][0]["rewrite"] == "Which color?"
    assert [token["text"] for token in told["tokens"]] == ["What", "color", "?"]


def commit(folder: Path, *names: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for typed in (["init", "-q"], ["add", *names], [*identity, "commit", "-qm", "one"]):
        subprocess.run(["git", *typed], cwd=folder, check=True, capture_output=True)


def test_diff_of_a_revision_finds_its_vectors_and_names_its_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "v.txt").write_text("color 1 0\ntint 0.9 0.1\n", "utf-8")
    rules = "option vectors = ../v.txt\nrule near: color -> $1.neighbor\n"
    (tmp_path / "sub" / "near.sear").write_text(rules, "utf-8")
    (tmp_path / "sub" / "bad.sear").write_text("What NUON -> Which\n", "utf-8")
    commit(tmp_path, "v.txt", "sub")
    (tmp_path / "v.txt").write_text("color 1 0\nhue 0.9 0.1\nshade 0.8 0.2\n", "utf-8")
    typed = ("diff", "HEAD:sub/near.sear", "sub/near.sear", "--on", "rows.csv", "--column", "text")
    [row] = json.loads(run(*typed, "--json").stdout)["rows"]
    assert (row["old"], row["new"]) == ("What tint is it?", "What hue is it?")
    bad = run("diff", "HEAD:sub/bad.sear", "wh.sear").stderr
    assert bad.startswith("sears: HEAD:sub/bad.sear:1:6: error[E201]")
    (tmp_path / "sub" / "near.sear").write_text(
        "rule near: color -> hue\nrule far: color -> fruit\n", "utf-8"
    )
    assert "\n… and 1 more rewrite\n" in run(*typed, "--limit", "1").stdout


def test_diff_of_files_and_of_git_revisions(run: Run, tmp_path: Path) -> None:
    commit(tmp_path, "wh.sear")
    (tmp_path / "wh.sear").write_text(WH.replace("-> Which NOUN", "-> What sort of NOUN"), "utf-8")
    (tmp_path / "new.sear").write_text("rule film: movie -> film\n", "utf-8")

    done = run("diff", "HEAD:wh.sear", "wh.sear")
    assert "~ which: rule changed" in done.stdout
    assert "+ What NOUN -> What sort of NOUN" in done.stdout
    done = run("diff", "HEAD:wh.sear", "wh.sear", "--on", "rows.csv", "--column", "text", "--json")
    [row] = json.loads(done.stdout)["rows"]
    assert (row["old"], row["new"]) == ("Which color is it?", "What sort of color is it?")
    done = run("diff", "wh.sear", "new.sear", "--exit-code")
    assert "1 added, 1 removed, 0 changed, 0 renamed" in done.stdout
    assert done.returncode == 1
    assert run("diff", "wh.sear", "wh.sear", "--exit-code").returncode == 0


def test_rules_lists_the_catalogue(run: Run) -> None:
    listed = run("rules")
    assert "synonyms/reviews" in listed.stdout
    rulesets = json.loads(run("rules", "paper", "--json").stdout)
    assert any(rule["rule"] == "What NOUN -> Which NOUN" for r in rulesets for rule in r["rules"])


def test_pages_replace_no_readme_but_their_own(run: Run, tmp_path: Path) -> None:
    bare = tmp_path / "bare.sear"
    bare.write_text("movie -> film\n", "utf-8")
    for _ in range(2):
        assert run("rules", str(bare), "--pages", "pages").returncode == 0
    readme = tmp_path / "pages" / "README.md"
    assert ".md) | – | 1 |" in readme.read_text("utf-8")
    assert not any("None" in each.read_text("utf-8") for each in readme.parent.iterdir())
    readme.write_text("# Mine\n", "utf-8")
    done = run("rules", "--pages", "pages")
    assert done.returncode == 2
    assert "README.md is not the index of such pages" in done.stderr
    assert readme.read_text("utf-8") == "# Mine\n"
    (tmp_path / "folder" / "README.md").mkdir(parents=True)
    done = run("rules", "--pages", "folder")
    assert done.returncode == 2
    assert "README.md could not be read: Is a directory" in done.stderr
    assert run("rules", "--pages", "other", "--json").returncode == 2
    assert not (tmp_path / "other").exists()


def test_a_narrow_terminal_cuts_no_rule_off(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = Console(file=io.StringIO(), width=80, markup=False, highlight=False)
    monkeypatch.setattr("sears_dsl.cli.rules.catalogue.console", lambda: narrow)
    run("rules", "synonyms/reviews")
    assert isinstance(narrow.file, io.StringIO)
    lines = narrow.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    shown = "".join("".join(lines).split())
    for rule in load("synonyms/reviews").rules:
        assert "".join(print_rule(rule).split()) in shown


def test_cache_info_and_clear(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARS_CACHE", str(tmp_path / "cache"))
    run("apply", "wh.sear", "rows.csv", "-o", "out.csv", "--column", "text", "--tagger", "spacy")
    assert json.loads(run("cache", "info", "--json").stdout)["entries"] == 1
    assert run("cache", "clear").returncode == 0
    assert json.loads(run("cache", "info", "--json").stdout)["entries"] == 0


# ---------------------------------------------------------------- what a summary says


def test_the_summary_says_what_became_of_spans(run: Run, tmp_path: Path) -> None:
    (tmp_path / "film.sear").write_text(
        "rule film: movie -> film\nrule a: What -> Which\n", "utf-8"
    )
    rows = [
        {"text": "What a movie", "at": [{"text": "movie", "answer_start": 7}]},
        {"text": "a movie", "at": [{"text": "movie", "answer_start": 1}]},
        {"text": None, "at": []},
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    command = ("apply", "film.sear", "rows.jsonl", "-o", "o.jsonl", "--span", "text=at")
    kept = run(*command, "--mode", "chain", "--column", "text")
    assert kept.returncode == 0
    assert "1 value skipped: there is no text\n" in kept.stderr
    assert "1 row kept without the rules that would touch a span\n" in kept.stderr
    assert "1 row with a span that is not at its position\n" in kept.stderr
    assert "  row 1: rule film would touch the span 'movie'\n" in kept.stderr
    assert "  row 2: the text at position 1 is not 'movie'\n" in kept.stderr
    written = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text("utf-8").splitlines()]
    assert written == [
        {"text": "Which a movie", "at": [{"text": "movie", "answer_start": 8}]},
        *rows[1:],
    ]
    dropped = run(*command, "--mode", "chain", "--column", "text", "--on-touched", "drop")
    assert "2 rows dropped\n" in dropped.stderr, "a rule would change the text of each"
    assert "1 row with a span that a rule would touch\n" in dropped.stderr
    assert "1 row with a span that is not at its position\n" in dropped.stderr
    assert "kept" not in dropped.stderr
    assert len((tmp_path / "o.jsonl").read_text("utf-8").splitlines()) == 1
    for policy in ("keep", "drop"):
        each = run(*command, "--mode", "each", "--column", "text", "--on-touched", policy)
        assert "1 row without the rewrites that would touch a span\n" in each.stderr
        assert "kept" not in each.stderr + each.stdout
    told = json.loads(run(*command, "--mode", "each", "--column", "text", "--json").stdout)
    assert (told["touched"], told["misplaced"], told["missing"]) == (1, 1, 1)
    assert told["dropped"] == 0
    assert told["rules"]["film"]["left_out"] == 1


def test_show_lists_all_rules_or_those_that_changed_nothing(run: Run, tmp_path: Path) -> None:
    rules = "".join(f"rule r{number}: word{number} -> new{number}\n" for number in range(20))
    (tmp_path / "many.sear").write_text(rules, "utf-8")
    (tmp_path / "a.txt").write_text(" ".join(f"word{n}" for n in range(15)) + "\n", "utf-8")
    most = run("apply", "many.sear", "a.txt", "-o", "o.csv").stderr
    assert "… and 3 more rules (--show all)" in most
    assert "15 rules (5 silent)" in most
    everything = run("apply", "many.sear", "a.txt", "-o", "o.csv", "--show", "all").stderr
    assert sum(f" r{n} " in everything for n in range(15)) == 15
    assert "silent: r15, r16, r17, r18, r19\n" in everything
    silent = run("apply", "many.sear", "a.txt", "-o", "o.csv", "--show", "silent").stderr
    assert silent.startswith("silent: r15, r16, r17, r18, r19\n")
    assert "silent:" not in most, "a few are named unasked, many are counted"
    (tmp_path / "two.sear").write_text("rule a: word1 -> new\nrule b: Word1 -> New\n", "utf-8")
    assert "silent: b\n" in run("apply", "two.sear", "a.txt", "-o", "o.csv").stderr


@pytest.mark.parametrize("mode", ["each", "chain"])
def test_a_wrong_article_is_reported_with_the_option_that_mends_it(
    run: Run, tmp_path: Path, mode: str
) -> None:
    (tmp_path / "a.txt").write_text("A great day.\nIt was an idea.\n", "utf-8")

    def told(rules: str) -> bool:
        (tmp_path / "a.sear").write_text(f"{rules}\n", "utf-8")
        done = run("apply", "a.sear", "a.txt", "-o", "o.jsonl", "--mode", mode)
        assert done.returncode == 0
        return "`option repair = on` at the top of the rule file fixes that" in done.stderr

    assert told("great -> awesome")
    assert told("idea -> day")
    assert not told("option repair = on\ngreat -> awesome")
    assert not told("great -> fine")
    assert not told("great -> awesome\n  rate: 100%")
    assert not told("great -> $1.drop")
    assert told("set GROUP = idle | awesome\ngreat -> @GROUP")


def test_texts_in_which_composed_characters_are_missed_are_counted(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.sear").write_text("café -> bar\n", "utf-8")
    (tmp_path / "b.sear").write_text("cafe -> bar\n", "utf-8")
    (tmp_path / "a.txt").write_text("a café\na cafe\u0301\nno\n", "utf-8")
    for mode in ("each", "chain"):
        told = run("apply", "a.sear", "a.txt", "-o", "o.txt", "--mode", mode).stderr
        assert "1 text not in NFC, so composed characters in the rules (é) do not match" in told
        assert "NFC" not in run("apply", "b.sear", "a.txt", "-o", "o.txt", "--mode", mode).stderr


def test_empty_names_are_reported(run: Run, tmp_path: Path) -> None:
    for command in ("check", "test", "fmt", "rules"):
        done = run(command, "")
        assert done.returncode == 2
        assert "the name of the rules is empty" in done.stderr
    for told, *arguments in (
        ("the name of the rules is empty", "", "rows.csv", "-o", "o.csv"),
        ("the file name is empty", "wh.sear", "", "-o", "o.csv"),
        ("the file name is empty", "wh.sear", "rows.csv", "-o", ""),
    ):
        done = run("apply", *arguments, "--column", "text")
        assert done.returncode == 2
        assert told in done.stderr
    assert "the file name is empty" in run("diff", "wh.sear", "wh.sear", "--on", "").stderr
    assert not (tmp_path / "o.csv").exists()


def test_fmt_writes_through_a_link(run: Run, tmp_path: Path) -> None:
    place, link = tmp_path / "real.sear", tmp_path / "link.sear"
    place.write_text("movie  ->   film\n", "utf-8")
    place.chmod(0o640)
    link.symlink_to(place)
    assert run("fmt", "link.sear").returncode == 0
    assert link.is_symlink()
    assert place.read_text("utf-8") == "movie -> film\n"
    assert place.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "arguments",
    [
        ("augment", "wh.sear", "rows.csv", "--column", "text", "-o", ""),
        ("discover", "--model", "a:b", "--data", "rows.csv", "--label", "answer", "-o", ""),
        ("compare", "", "audit"),
        ("rules", "--pages", ""),
        ("vetted", "wh.sear", ""),
    ],
)
def test_an_empty_path_is_no_folder(run: Run, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    before = sorted(tmp_path.iterdir())
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("sears: the file name is empty\n")
    assert sorted(tmp_path.iterdir()) == before


def test_a_summary_calls_a_rule_without_a_name_by_its_text(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.sear").write_text("movie -> film\nbook -> novel\n", "utf-8")
    (tmp_path / "a.txt").write_text("A movie.\n", "utf-8")
    done = run("apply", "a.sear", "a.txt", "-o", "o.csv", "--show", "all").stderr
    assert "movie -> film  A [-movie-]{+film+}." in done
    assert "silent: book -> novel\n" in done


def test_a_summary_tells_of_a_rule_that_two_files_share(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.sear").write_text("great -> awesome\n", "utf-8")
    (tmp_path / "b.sear").write_text("great -> awesome\nbook -> novel\n", "utf-8")
    (tmp_path / "a.txt").write_text("A great movie.\n", "utf-8")
    done = run("apply", "a.sear", "b.sear", "a.txt", "-o", "o.csv")
    for file in "ab":
        assert f"great -> awesome ({file})  A [-great-]{{+awesome+}} movie." in done.stderr
    assert "because of great -> awesome (a), great -> awesome (b);" in done.stderr
    assert "silent: book -> novel\n" in done.stderr


def test_many_options_stand_under_headings_and_arguments_nowhere_twice(run: Run) -> None:
    told = run("audit", "--help").stdout
    heads = [line for line in told.splitlines() if line and line.endswith(":") and line[0] != " "]
    assert heads == [
        "Rows:",
        "Model:",
        "Options:",
        "Paraphrases and scores:",
        "The run:",
        "Example:",
    ]
    assert told.count("RULES...") == 1
    assert told.index("--no-header") < told.index("Model:")
    fix = run("fix", "--help").stdout
    assert fix.index("  --train FILE") < fix.index("  --encoding") < fix.index("Model:")
    assert told.index("The run:") < told.index("--help")
    assert "\nOptions:\n" in run("check", "--help").stdout


@pytest.mark.parametrize("width", [40, 60, 100])
def test_an_excerpt_shows_the_change_in_whatever_room_there_is(width: int) -> None:
    original = "word " * 30 + "the movie " + "word " * 30
    at = original.index("movie")
    shown = excerpt(original, [Edit(at, at + 5, "movie", "film")], width=width).plain
    assert "[-movie-]{+film+}" in shown
    assert len(shown) <= width


def test_an_excerpt_shows_a_change_at_the_end_of_a_long_word() -> None:
    original = "Does anybody know anything about extraterrestrials? I do not."
    at = original.index("?")
    shown = excerpt(original, [Edit(at, at + 1, "?", "??")], width=30).plain
    assert shown == "…ials?{+?+} I do not."


def test_a_second_model_to_search_is_not_left_out_unsaid(tmp_path: Path) -> None:
    done = call(
        "discover", "--model", "one:predict", "--model", "other:predict", "--data", "rows.csv",
        "-o", "found.sear", folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert "give them as one: every:one:predict,other:predict" in done.stderr


def options_of(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Option]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from options_of(command, context)
        for each in command.params:
            if isinstance(each, click.Option) and not each.hidden:
                yield name, each


def test_help_says_what_is_taken_where_nobody_chooses() -> None:
    """Where click cannot show a default, since it is decided later, the option's text gives it."""
    settled_later = {"--batch-size", "--column", "--connections", "--retries", "--timeout"}
    asked = {"discover", "adversaries", "audit", "vet"}
    shown = set()
    for name, option in options_of(sears, click.Context(sears)):
        told = option.help or ""
        assert not told.startswith("Of "), f"{name} {option.opts[-1]}: half a sentence"
        if name in asked and settled_later.intersection(option.opts):
            assert "default" in told, f"{name} {option.opts[-1]}"
            shown.add((name, option.opts[-1]))
        if "--tagger" in option.opts and name in ("test", "diff", "apply"):
            assert "spacy:MODEL" in told
    assert len(shown) == len(settled_later) * len(asked)


@pytest.mark.parametrize("command", ["score", "calibrate"])
def test_help_explains_every_scorer(command: str) -> None:
    told = call(command, "--help", folder=Path()).stdout
    explained = " ".join(told.split())
    for name in (*SCORER_NAMES, "llm:SETTINGS"):
        assert f" {name}: " in explained


@pytest.mark.parametrize("command", ["apply", "augment"])
@pytest.mark.parametrize("output", ["near.sear", "rows.csv", "four.txt", "sets.sear"])
def test_what_a_command_reads_is_not_written_over(
    run: Run, tmp_path: Path, command: str, output: str
) -> None:
    (tmp_path / "four.txt").write_text("color 1 0\ncolour 0.9 0.1\n", "utf-8")
    (tmp_path / "sets.sear").write_text("set WORD = color\n", "utf-8")
    (tmp_path / "near.sear").write_text(
        'import "sets.sear" as s\noption vectors = four.txt\n@s.WORD -> $1.neighbor\n', "utf-8"
    )
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    typed = (command, "near.sear", "rows.csv", "--output-format", "csv", "--column", "text", "-o")
    done = run(*typed, output)
    assert done.returncode == 2
    assert f"{output} is " in done.stderr
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


@pytest.mark.parametrize("read", ["near.sear", "near.closest.sear", "near.md"])
@pytest.mark.parametrize("option", ["--known", "--text"])
def test_a_search_writes_over_nothing_that_it_reads(
    run: Run, tmp_path: Path, read: str, option: str
) -> None:
    (tmp_path / "wh.sear").rename(tmp_path / read)
    typed = ("discover", "--model", "m:p", "--data", "rows.csv", "-o", "near.sear")
    done = run(*typed, option, read)
    assert done.returncode == 2
    assert f"{read} is an input of this command: write to another file" in done.stderr
    assert (tmp_path / read).read_text("utf-8") == WH


def test_models_that_are_to_be_told_apart_are_several_before_any_is_asked(
    run: Run, tmp_path: Path
) -> None:
    typed = ("discover", "--model", "m:p", "--data", "rows.csv", "-o", "near.sear")
    done = run(*typed, "--across", "apart")
    assert done.returncode == 2
    assert "--across apart needs several models, and one is given" in done.stderr
    assert "--model every:SPEC,SPEC" in done.stderr


@pytest.mark.parametrize(
    "typed",
    [
        ("audit", "wh.sear", "--model", "m:p", "--data", "rows.csv"),
        ("augment", "wh.sear", "rows.csv", "-o", "out.csv"),
        ("export", "wh.sear", "--data", "rows.csv", "-o", "out.pkl"),
        ("init", "--data", "rows.csv"),
        ("diff", "wh.sear", "wh.sear", "--on", "rows.csv"),
    ],
)
def test_of_two_columns_none_is_left_out_unsaid(run: Run, typed: tuple[str, ...]) -> None:
    done = run(*typed, "--column", "text", "--column", "answer")
    assert done.returncode == 2
    advice = "name one" if typed[0] == "diff" else "write them as one: --column text,answer"
    assert f"text and answer were named: {advice}" in " ".join(done.stderr.split())
