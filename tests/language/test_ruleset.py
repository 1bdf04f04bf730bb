"""Rule files with their imports, and rulesets made of objects."""

from __future__ import annotations

import os
import pickle
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sears_dsl.errors import RuleSyntaxError
from sears_dsl.language.loader import load, parse
from sears_dsl.language.rule import (
    Element,
    Literal,
    Negation,
    Options,
    Rule,
    SetReference,
    Tag,
    Text,
)
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger


def errors(path: Path) -> list[tuple[str, str]]:
    with pytest.raises(RuleSyntaxError) as caught:
        load(path)
    return [(Path(each.path).name, each.code) for each in caught.value.diagnostics]


def test_sets_are_imported_and_resolved(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "common.sear").write_text(
        'import "sub/words.sear" as w\nset ALL = @WH | @w.MORE | What\nset WH = What | !@w.MORE\n'
    )
    (tmp_path / "sub" / "words.sear").write_text("set MORE = NOUN | why\n")
    path = tmp_path / "main.sear"
    path.write_text('import "common.sear" as c\nset OWN = @c.ALL | own\n@OWN @c.WH -> so\n')
    rules = load(path)
    inner = SetReference("MORE", "c.w")
    more = Negation(inner)
    expected = (Literal("What"), more, Tag("NOUN"), Literal("why"))
    assert rules.members(SetReference("ALL", "c")) == expected
    assert rules.members(SetReference("OWN")) == (*expected, Literal("own"))
    assert rules.members(inner) == (Tag("NOUN"), Literal("why"))
    assert rules.warnings == ()
    rules.compile(tagger=PinnedTagger())
    with pytest.raises(KeyError):
        rules.members(SetReference("NONE"))


def test_errors_of_imports_are_reported_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "bad.sear").write_text("set WH = What |\nset X = NUON\n")
    path = tmp_path / "main.sear"
    path.write_text('import "bad.sear" as b\nimport "none.sear" as n\n@b.WH @n.X -> it\nFOO -> x')
    assert errors(path) == [
        ("main.sear", "E404"),
        ("main.sear", "E401"),
        ("main.sear", "E201"),
        ("bad.sear", "E111"),
        ("bad.sear", "E201"),
    ]


def test_a_set_that_an_import_does_not_have_is_reported(tmp_path: Path) -> None:
    (tmp_path / "c.sear").write_text("set WH = What\n")
    path = tmp_path / "main.sear"
    path.write_text('import "c.sear" as c\n@c.HW NOUN -> it\n')
    with pytest.raises(RuleSyntaxError, match=r"E206.*no set `@c\.HW`(.|\n)*did you mean c\.WH"):
        load(path)


def test_a_circle_of_imports_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.sear").write_text('import "b.sear" as b\nset A = x\n')
    (tmp_path / "b.sear").write_text('import "a.sear" as a\nset B = x\n')
    with pytest.raises(RuleSyntaxError, match=r"a\.sear → b\.sear → a\.sear"):
        load(tmp_path / "a.sear")
    (tmp_path / "self.sear").write_text('import "self.sear" as me\n')
    assert errors(tmp_path / "self.sear") == [("self.sear", "E402")]


def test_two_imports_need_two_names(tmp_path: Path) -> None:
    (tmp_path / "c.sear").write_text("set A = x\n")
    path = tmp_path / "main.sear"
    path.write_text('import "c.sear" as c\nimport "c.sear" as c\n@c.A y -> z\n')
    assert errors(path) == [("main.sear", "E405")]


def test_an_unused_import_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "c.sear").write_text("set A = x\n")
    path = tmp_path / "main.sear"
    path.write_text('import "c.sear" as c\ny -> z\n')
    assert [each.code for each in load(path).warnings] == ["W604"]


def test_text_with_imports_finds_them_beside_its_file(tmp_path: Path) -> None:
    (tmp_path / "c.sear").write_text("set A = x\n")
    path = tmp_path / "main.sear"
    text = 'import "c.sear" as c\n@c.A y -> z\n'
    path.write_text("")
    assert len(parse(text, path=str(path)).rules) == 1
    with pytest.raises(RuleSyntaxError, match="E401"):
        parse(text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert errors(tmp_path / "none.sear") == [("none.sear", "E401")]
    (tmp_path / "latin.sear").write_bytes("# gr\u00fcn\n".encode("latin-1"))
    with pytest.raises(RuleSyntaxError, match="0xfc at offset 4"):
        load(tmp_path / "latin.sear")
    assert errors(tmp_path) == [(tmp_path.name, "E406")]
    (tmp_path / "dos.sear").write_bytes(b"\xef\xbb\xbfset A = a\r\n@A b -> c\r\n")
    assert len(load(tmp_path / "dos.sear").rules) == 1


def test_an_empty_file_is_a_ruleset() -> None:
    assert parse("").rules == ()
    assert parse("").format() == ""
    assert parse("# only\n").format() == "# only\n"


def test_mined_rules_cost_nothing_each() -> None:
    antecedent = (Element(Literal("movie")),)
    rules = tuple(Rule(antecedent, (Text(f"film{number}"),)) for number in range(100_000))
    started = time.process_time()
    mined = Ruleset.from_rules(rules, options=Options(case="exact"), name="mined", version="1")
    assert time.process_time() - started < 0.1
    assert mined.rules is rules
    assert mined.rules[0].antecedent is mined.rules[-1].antecedent


def test_rulesets_of_objects_are_written_as_files() -> None:
    rules = parse('a -> b\nrule x: c -> d\n  test "c" => "d"\ne -> f').rules
    built = Ruleset.from_rules(rules, options=Options(case="exact"), name="mined", version="1.0")
    assert built.format() == (
        "ruleset mined 1.0\noption case = exact\n\na -> b\n\nrule x: c -> d\n"
        '  test "c" => "d"\n\ne -> f\n'
    )
    assert parse(built.format()) == built


def test_a_header_that_a_file_lacked_is_set_off_from_its_rules() -> None:
    exact = replace(parse("# words\na -> b"), options=Options(case="exact"))
    assert exact.format() == "option case = exact\n# words\na -> b\n"
    exact = replace(parse("a -> b"), options=Options(case="exact"))
    assert exact.format() == "option case = exact\n\na -> b\n"


def test_a_published_ruleset_wants_tests_that_fire_and_that_do_not() -> None:
    body = 'a -> b\n  test "a" => "b"\nc -> d\n  test "a" => none\n'
    assert parse(body).warnings == ()
    found = parse("ruleset r 1.0\n" + body).warnings
    assert [(each.span.line if each.span else 0, each.code) for each in found] == [
        (2, "W602"),
        (4, "W601"),
    ]


def test_the_table_for_notebooks_is_escaped() -> None:
    table = parse("rule x: really -> <>\n  expect: label <b>&\n")._repr_html_()
    assert "really -&gt; &lt;&gt;" in table
    assert "label &lt;b&gt;&amp;" in table
    assert table.count("<tr>") == 2
    many = parse("".join(f"rule r{n}: a{n} -> b\n" for n in range(1_203)), path="<b>.sear")
    table = many._repr_html_()
    assert "<b>" not in table
    assert table.endswith("</table><p>and 1,003 more</p>")


def test_the_first_three_rules_are_shown_in_a_line() -> None:
    lines = ["a -> b", "c -> d", "e -> f", "g -> h"]
    shown = [repr(parse("\n".join(lines[:count]))) for count in (3, 4)]
    assert shown == [
        "<Ruleset <rules>: 3 rules: a -> b; c -> d; e -> f>",
        "<Ruleset <rules>: 4 rules: a -> b; c -> d; e -> f; …>",
    ]


def test_a_joined_ruleset_is_neither_of_both_and_knows_their_files() -> None:
    published = parse("ruleset r 1.0\nfilms+ -> film", path="one.sear")
    joined = published + parse("a -> b", path="two.sear")
    assert (joined.name, joined.version, joined.warnings) == (None, None, ())
    assert [Path(each).name for each in joined.origins] == ["one.sear", "two.sear"]


def test_a_ruleset_takes_the_place_of_a_file_whole(tmp_path: Path) -> None:
    """What still reads the old file keeps it."""
    path, old = tmp_path / "a.sear", tmp_path / "old.sear"
    path.write_text("movie -> film\n", "utf-8")
    os.link(path, old)
    parse("play -> show").save(path)
    assert path.read_text("utf-8") == "play -> show\n"
    assert old.read_text("utf-8") == "movie -> film\n"


def test_a_ruleset_with_a_name_alone_has_a_version_in_its_file() -> None:
    named = Ruleset.from_rules(parse("a -> b").rules, name="mined")
    assert parse(named.format()).version == "0"


def test_ten_thousand_plain_lines_are_read_in_a_moment() -> None:
    letters = "abcdefghij"
    words = ["".join(letters[int(digit)] for digit in f"{number:05}") for number in range(10_000)]
    text = "".join(f"{word} -> {word}x\n" for word in words)
    started = time.process_time()
    assert len(parse(text).rules) == 10_000
    assert time.process_time() - started < 10


def test_warnings_are_looked_for_when_somebody_asks_and_travel_with_the_rules() -> None:
    rules = parse("ruleset r 1.0\nset S = noun | a\nfilms+ -> film")
    assert "warnings" not in vars(rules)
    elsewhere = pickle.loads(pickle.dumps(rules))  # noqa: S301 - our own
    codes = [(each.code, each.source) for each in rules.warnings]
    assert codes == [
        ("W603", "set S = noun | a"),
        ("W609", "set S = noun | a"),
        ("W601", "films+ -> film"),
        ("W602", "films+ -> film"),
        ("W607", "films+ -> film"),
    ]
    assert elsewhere.warnings == rules.warnings
    assert rules[:1].warnings == ()
