"""``sears try``, and the other places where a person gives rules by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from strategies import OPTIONS, rulesets

import sears_dsl as sears
from sears_dsl.catalogue import find_rule_files
from sears_dsl.cli.commands import sears as command
from sears_dsl.errors import DataError, Diagnostic, Span, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.language.printer import rule_id, rule_ids
from sears_dsl.language.rule import Options
from sears_dsl.language.ruleset import Ruleset


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(command, arguments, input=stdin)


def test_a_rule_is_tried_in_place() -> None:
    done = run("try", "movie -> film", "A movie.")
    assert done.exit_code == 0
    assert "A film." in done.output
    assert "`movie` became `film`" in done.output
    done = run("try", "What NOUN -> Which NOUN", "What/PRON/WP is/AUX/VBZ it ?")
    assert "expected `NOUN` and found `is` (AUX/VBZ)" in done.output


def test_several_texts_and_lines_are_tried() -> None:
    done = run("try", "movie -> film", "A movie.", "-", stdin="a book\nMovies, a movie\n")
    assert done.output.splitlines() == [
        "fires   A film.",
        "silent  a book",
        "        no token matches the first element, `movie`",
        "fires   Movies, a film",
    ]
    told = json.loads(run("try", "movie -> film", "A movie.", "no", "--json").stdout)
    assert [each["rules"][0]["fired"] for each in told] == [True, False]


def test_rules_longer_than_a_name_of_a_file_are_tried() -> None:
    several = "\n".join(f"rule r{number}: book{number} -> novel" for number in range(40))
    done = run("try", f"{several}\nmovie -> film", "A movie.", "A show.")
    assert done.exit_code == 0
    assert "fires   A film." in done.output


def test_a_file_of_rules_may_be_given_in_place() -> None:
    rules = "option case = exact\nset M = movie | film\n@M -> show\nA -> The"
    assert "fires   A show" in run("try", rules, "A film", "A movie").output


@pytest.mark.parametrize(
    ("rule", "text", "told"),
    [
        (
            "/[a-z]+/i -> $1.upper\n  rate: 50%",
            "It is a good movie .",
            "fires   IT is a GOOD movie .",
        ),
        ("/[a-z]+/i -> $1.upper\n  rate: 1%", "It is.", "its rate selects no instance here"),
        ("option unit = sentence\nis -> was", "So it is. It is.", "fires   So it was. It was."),
        ("<unit> -> $0.paraphrase", "The movie was quite good.", "fires   The "),
    ],
)
def test_noise_and_sentences_are_tried_as_they_would_be_applied(
    rule: str, text: str, told: str
) -> None:
    assert told in run("try", rule, text, "").output


def test_characters_that_look_the_same_are_shown_by_code_points(tmp_path: Path) -> None:
    rule = "a -> $1.homoglyph"
    assert "`a` became `\u0430` (\u0430 U+0430)" in run("try", rule, "a film").output
    assert run("try", rule, "a film", "A film").output.splitlines() == [
        "fires   \u0430 film (\u0430 U+0430)", "fires   \u0391 film (\u0391 U+0391)",
    ]  # fmt: skip
    files = [tmp_path / name for name in ("noise.sear", "plain.sear", "in.txt")]
    texts = (f'rule a: {rule}\n  test "a film" => "a film"\n', "rule a: a -> the\n", "a film\n")
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, "utf-8")
    noise, plain, data = map(str, files)
    assert "  actual    \u0430 film (\u0430 U+0430)\n" in run("test", noise).output
    assert "  - \u0430 film (\u0430 U+0430)\n" in run("diff", noise, plain, "--on", data).output
    applied = run("apply", noise, data, "-o", str(tmp_path / "out.txt"), "--mode", "chain")
    assert "[-a-]{+\u0430+} (\u0430 U+0430) film" in applied.output
    assert (tmp_path / "out.txt").read_text("utf-8") == "\u0430 film\n"


def test_a_wrong_rule_is_reported(tmp_path: Path) -> None:
    for rule, told in (("NUON -> x", "E201"), ("be -> $1.VBD", "E350"), ("# nothing", "no rule")):
        done = run("try", rule, "A movie.")
        assert told in str(done.exception)
    warned = run("try", "movie -> film // note", "A movie.")
    assert "W611" in warned.output
    (tmp_path / "a.sear").write_text("movie -> film\n")
    assert "sears explain" in str(run("try", str(tmp_path / "a.sear"), "A movie.").exception)


def test_a_renamed_rule_differs_once(tmp_path: Path) -> None:
    (tmp_path / "old.sear").write_text("rule wh: movie -> film\nrule b: big -> large\n")
    (tmp_path / "new.sear").write_text("rule wh2: movie -> film\nrule b: big -> great\n")
    (tmp_path / "rows.csv").write_text("text\na movie\na big movie\n")
    paths = [str(tmp_path / name) for name in ("old.sear", "new.sear")]
    done = run("diff", *paths, "--on", str(tmp_path / "rows.csv"), "--json")
    told = json.loads(done.stdout)
    assert [(each["row"], each["rule"]) for each in told["rows"]] == [(2, "b")]
    assert told["renamed"][0]["new"] == "wh2"


def test_check_tells_the_findings_of_every_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.sear").write_text("be -> $1.VBD\n")
    done = run("check", str(tmp_path / "a.sear"), str(tmp_path / "b.sear"))
    assert done.exit_code == 2
    assert done.output.count("error[E350]") == 2
    (tmp_path / "a.sear").write_text("NUON -> x\n" * 30)
    done = run("check", str(tmp_path / "a.sear"), str(tmp_path / "b.sear"))
    assert done.output.count("error[") == 20
    assert "more findings; `sears check --all` prints them" in done.output
    everything = run("check", "--all", str(tmp_path / "a.sear"), str(tmp_path / "b.sear"))
    assert everything.output.count("error[") > 30
    assert "E350" in everything.output


@pytest.mark.parametrize("order", ["abc", "bca", "cab"])
def test_check_tells_the_findings_of_every_file_beside_one_without_a_tagger(
    tmp_path: Path, order: str
) -> None:
    for name, rules in (
        ("a", "option language = fr\nfilm -> cine\n"),
        ("b", "be -> $1.VBD\n"),
        ("c", "option language = fr\nbien -> bon\n"),
    ):
        (tmp_path / f"{name}.sear").write_text(rules, "utf-8")
    done = run("check", *(str(tmp_path / f"{name}.sear") for name in order))
    assert done.exit_code == 2
    assert done.output.count("error[E350]") == 1
    assert "3 files, 3 rules: 1 error" in done.output
    [note] = [line for line in done.output.splitlines() if line.startswith("note: ")]
    uncompiled = ", ".join(str(tmp_path / f"{name}.sear") for name in order if name != "b")
    assert f"{uncompiled} could not be compiled: sears has no tagger for the language fr" in note


def test_a_lemma_that_no_word_has_is_warned_of_where_a_rule_is_checked_tried_or_explained(
    tmp_path: Path,
) -> None:
    file = tmp_path / "forms.sear"
    file.write_text(
        "ruleset forms 1.0.0\nset SOME = saw | lemma=went\n"
        "rule a: [lemma=Movies & tag=NNS] -> film\n"
        "rule b: @SOME -> ran\n"
        "rule c: ^What -> Which / __ !(lemma=children|NN)\n"
        "rule d: (lemma=go|lemma=saw|lemma=found|lemma=people|lemma=zorkmids) -> ran\n",
        "utf-8",
    )
    told = json.loads(run("check", str(file), "--json").stdout)["findings"]
    forms = [(each["line"], each["message"]) for each in told if each["code"] == "W626"]
    assert forms == [
        (line, f"`{word}` is a form of `{lemma}`, and the lemma of that form is `{lemma}`")
        for line, word, lemma in (
            (3, "Movies", "movie"),
            (4, "went", "go"),
            (5, "children", "child"),
        )
    ]
    explained = run("explain", str(file), "He went.")
    assert [explained.stderr.count(code) for code in ("W626", "W607", "W601")] == [3, 1, 0]
    one = run("explain", str(file), "--rule", "c", "He went.")
    assert [one.stderr.count(code) for code in ("W626", "W607", "`went`")] == [1, 1, 0]
    assert "W626" in run("try", "lemma=went -> go", "He went.").stderr


def test_swapped_arguments_are_one_error(tmp_path: Path) -> None:
    (tmp_path / "f.sear").write_text("movie -> film\n")
    (tmp_path / "y.csv").write_text("id,text\n" + "1,a movie\n" * 1_000)
    done = run(
        "apply", str(tmp_path / "y.csv"), str(tmp_path / "f.sear"), "-o", str(tmp_path / "o.csv")
    )
    told = str(done.exception)
    assert "E407" in told
    assert "if a command also takes data, name the rules first" in told
    assert len(told.splitlines()) < 5


def test_rulesets_with_commas_between_them_are_to_be_separated_by_spaces(tmp_path: Path) -> None:
    own = tmp_path / "own.sear"
    own.write_text("movie -> film\n", "utf-8")
    with pytest.raises(UsageError) as caught:
        find_rule_files([f"contractions/expand, punctuation,{own}"])
    assert f"with spaces: contractions/expand punctuation {own};" in caught.value.help
    with pytest.raises(UsageError) as caught:
        find_rule_files(["contractions/expand,punctuatoin"])
    assert "with spaces" not in caught.value.help


# ---------------------------------------------------------------- from Python


def test_load_takes_the_names_that_apply_takes(tmp_path: Path) -> None:
    assert sears.load("synonyms/reviews").rules
    (tmp_path / "a.sear").write_text("movie -> film\n")
    assert sears.load(tmp_path / "a.sear").rules == sears.load(str(tmp_path)).rules
    with pytest.raises(UsageError, match="no rule file, folder or shipped ruleset"):
        sears.load(tmp_path / "none.sear")
    with pytest.raises(UsageError, match=r"did you mean \S*a\.sear"):
        sears.load(tmp_path / "a.seer")
    with pytest.raises(UsageError, match="rule files, but one is needed"):
        sears.load("synonyms")


def test_wrong_kinds_of_arguments_get_a_sentence() -> None:
    rules = parse("movie -> film")
    for wrong, told in (
        (rules.rules[0], "from_rules"),
        ([rules.rules[0]], "from_rules"),
        (7, "not int"),
        (None, "not NoneType"),
    ):
        with pytest.raises(UsageError, match=told):
            sears.apply(["a movie"], wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="as a list") as caught:
        sears.apply("a good place", rules)
    assert "--" not in str(caught.value)
    assert len(sears.apply(["a movie"], (rules, rules))) == 1
    assert len(sears.apply(["a movie"], (rules, parse("movie -> show")))) == 2


def test_columns_are_spoken_of_as_arguments() -> None:
    rules = parse("movie -> film")
    rows = [{"0": "a movie", "1": "b", "rule": "c", "key": "k"}] * 2
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "name it with column="),
        ({"column": "0", "keep": ["1", "rule"]}, "write keep=['1']"),
        ({"column": "0", "id_column": "key"}, "another column with id_column="),
        ({"column": "0", "protect": ["0"]}, "another column with column="),
        ({"column": 0.5}, "column=['text']"),
        ({"column": [True]}, "column=['text']"),
        ({"column": b"0"}, "column=['text']"),
    ]
    for options, told in wrong:
        with pytest.raises((UsageError, DataError)) as caught:
            sears.apply(rows, rules, **options)
        assert told in str(caught.value)
        assert "--" not in str(caught.value)
    for column in (0, [0], "0"):
        assert sears.apply(rows, rules, column=column)[0]["rewritten"] == "a film"  # type: ignore[arg-type]


# ---------------------------------------------------------------- ids, layout, carets


def test_rules_whose_hashes_meet_have_different_ids() -> None:
    first, second = parse("mwiqd -> zz\nrvhje -> zz").rules
    assert rule_id(first) == rule_id(second) == "r-e4bb1861a5"
    ids = parse("mwiqd -> zz\nrvhje -> zz").rule_ids
    assert ids[0] == "r-e4bb1861a5"
    assert len(ids[1]) == 22
    assert rule_ids((second, first))[0] == ids[0]
    assert rule_ids((first, first)) == (ids[0], ids[0])
    assert parse("rule r-e4bb1861a5: a -> b\nmwiqd -> zz").rule_ids[1] != "r-e4bb1861a5"
    done = sears.apply(["mwiqd rvhje"], parse("mwiqd -> zz\nrvhje -> zz"))
    assert len({record["rule"] for record in done}) == 2


def test_a_ruleset_with_other_options_is_printed_with_them() -> None:
    text = (
        "# top\nsear 1\noption case = exact  # why\nset A = a | b  # members\n\n"
        "# the rule\n@A x -> y  # end\n  # note\n  severity: low\n"
    )
    ruleset = parse(text)
    assert ruleset.format() == text
    other = replace(ruleset, options=Options(case="ignore", tagset="sears2018"))
    assert parse(other.format()) == other
    for comment in ("# top", "# why", "# members", "# the rule", "# end", "# note"):
        assert comment in other.format()
    smart = replace(ruleset, options=Options())
    assert parse(smart.format()) == smart
    assert "option case = smart  # why" in smart.format()
    without = replace(ruleset, sets=(), rules=ruleset.rules)
    assert "set A" not in without.format()
    named = replace(parse("movie -> film\n"), name="demo", version="1.0.0")
    assert named.format() == "ruleset demo 1.0.0\n\nmovie -> film\n"


@settings(deadline=None, max_examples=30)
@given(rulesets(), OPTIONS)
def test_what_is_printed_is_what_the_ruleset_says(ruleset: Ruleset, options: Options) -> None:
    read = parse(ruleset.format())
    other = replace(read, options=replace(options, tagset=read.options.tagset))
    assert parse(other.format()) == other


@pytest.mark.parametrize(
    ("source", "word", "columns"),
    [
        ("日本 NUON -> x", "NUON", (5, 4)),
        ("e\u0301 NUON -> x", "NUON", (2, 4)),
        ("👍🏽 a -> 日本x", "日本x", None),
        ("a -> 日本", "日本", (5, 4)),
        ("plain NUON -> x", "NUON", (6, 4)),
    ],
)
def test_carets_stand_under_what_they_mean(
    source: str, word: str, columns: tuple[int, int] | None
) -> None:
    start = source.index(word) + 1
    finding = Diagnostic("E201", "x", Span(1, start, start + len(word)), source=source)
    caret = finding.render().splitlines()[3].removeprefix("  | ")
    if columns is not None:
        assert (len(caret) - len(caret.lstrip()), caret.count("^")) == columns
    assert caret.strip(" ^") == ""


def test_a_rule_where_a_file_is_wanted_leads_to_try() -> None:
    with pytest.raises(UsageError) as caught:
        find_rule_files(["movie -> film"])
    assert "sears try" in caught.value.help


def test_a_rule_without_a_name_is_called_by_its_text(tmp_path: Path) -> None:
    file = tmp_path / "rules.sear"
    file.write_text("movie -> film\nrule dull: boring -> dull\n", "utf-8")
    done = run("explain", str(file), "A movie.")
    assert "fires: movie -> film\n" in done.output
    assert "silent: dull\n" in done.output


def test_of_many_rules_those_that_only_fit_their_surroundings_are_counted(tmp_path: Path) -> None:
    rules = [f"rule r{number}: w{number} -> x / !(the|a) __\n" for number in range(12)]
    file = tmp_path / "rules.sear"
    file.write_text("".join(rules) + "rule near: a movie -> x\n", "utf-8")
    done = run("explain", str(file), "so a book")
    assert "silent: near\n  matched 1 of 2 elements, then expected `movie`" in done.output
    assert "r3" not in done.output
    assert "12 more rules are silent, and further from firing" in done.output


def test_an_insertion_that_found_its_surroundings_is_explained_among_many(tmp_path: Path) -> None:
    file = tmp_path / "rules.sear"
    others = "".join(f"rule r{number}: w{number} -> x\n" for number in range(12))
    file.write_text(
        f"{others}rule in: <> -> also / PRON __ VERB\nrule of: (so a|w) b -> x", "utf-8"
    )
    done = run("explain", str(file), "They/PRON/PRP so/ADV/RB came/VERB/VBD")
    assert "silent: in\n  matched 1 of 2 elements, then expected `VERB`" in done.output
    assert "silent: of\n  matched `so` of `(so a|w)`, then expected `a`" in done.output
    assert "12 more rules are silent" in done.output
