"""Differences between two versions, as a reviewer reads them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from command_line import call
from hypothesis import given, settings
from strategies import rulesets

from sears_dsl.language.diff import RulesetDiff, diff_rulesets, rule_settings, settings_difference
from sears_dsl.language.loader import load, parse
from sears_dsl.language.ruleset import Ruleset


def test_every_kind_of_change_is_told_apart() -> None:
    old = parse(
        "option case = exact\nset WH = What | Which\n"
        "rule body: movie -> film\n"
        'rule tests: color -> colour\n  test "color" => "colour"\n'
        "rule name-1: gray -> grey\n"
        "really -> <>\n"
        "rule same: @WH is -> it is\n"
    )
    new = parse(
        "set WH = What | Who\n"
        "rule same:   @WH is -> it is  # a comment\n"
        "rule body: movie -> flick\n"
        'rule tests: color -> colour\n  severity: low\n  test "a" => none\n'
        'rule name-2: gray -> grey\n  why: "new"\n'
        "very -> <>\n"
    )
    diff = diff_rulesets(old, new)
    assert [rule_id for rule_id, _ in diff.added] == [new.rule_ids[-1]]
    assert [rule_id for rule_id, _ in diff.removed] == [old.rule_ids[3]]
    assert [(change.new_id, change.parts) for change in diff.changed] == [
        ("body", ("rule",)),
        ("tests", ("severity", "tests")),
    ]
    assert [(c.old_id, c.new_id, c.parts) for c in diff.renamed] == [
        ("name-1", "name-2", ("id", "why"))
    ]
    assert diff.options == (("case", "exact", "smart"),)
    assert diff.sets == ("WH",)


def test_changes_of_templates_are_reported_as_those_of_rules() -> None:
    text = 'set A = a | b\n{}template {}: "{} {{A}}."\n  label: {}\n'
    old = parse(text.format("movie -> film\n", "one", "So", "positive"))
    shorter, other = 'template "No {A}."\n  label: negative\n', "movie -> film\n"
    new = parse(text.format(other, "one", "So", "negative") + shorter)
    diff = diff_rulesets(old, new)
    assert [(change.new_id, change.parts) for change in diff.changed] == [("one", ("label",))]
    assert [node for _, node in diff.added] == [new.templates[1]]
    renamed = parse(text.format(other, "two", "So", "positive"))
    assert [each.parts for each in diff_rulesets(old, renamed).renamed] == [("id",)]
    rewritten = parse(text.format(other, "one", "Very", "positive"))
    assert [each.parts for each in diff_rulesets(old, rewritten).changed] == [("template",)]


def test_the_command_shows_templates_with_their_labels(tmp_path: Path) -> None:
    (tmp_path / "old.sear").write_text('template one: "A film."\n  label: good\n', "utf-8")
    (tmp_path / "new.sear").write_text('template one: "A film."\n  label: bad\n', "utf-8")
    done = call("diff", "old.sear", "new.sear", "--exit-code", folder=tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "~ one: label changed",
        '    - template "A film." → good',
        '    + template "A film." → bad',
        "0 added, 0 removed, 1 changed, 0 renamed",
    ]


def test_changed_sets_of_imported_files_are_reported(tmp_path: Path) -> None:
    main = 'import "common.sear" as c\n@c.WH is -> it is\n'
    common = 'import "deep.sear" as d\nset WH = What | @d.MORE\n'
    versions = []
    for name, more in (("old", "Which"), ("new", "Whose")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "main.sear").write_text(main)
        (folder / "common.sear").write_text(common)
        (folder / "deep.sear").write_text(f"set MORE = {more}\n")
        versions.append(load(folder / "main.sear"))
    assert diff_rulesets(*versions) == RulesetDiff(sets=("c.d.MORE",))
    assert not diff_rulesets(versions[0], versions[0])


def test_a_file_that_is_imported_under_two_names_is_compared_under_both(tmp_path: Path) -> None:
    deep = 'import "deep.sear" as d\n'
    for version in ("old", "new"):
        folder = tmp_path / version
        folder.mkdir()
        (folder / "deep.sear").write_text(f"set MORE = {version}\n")
        (folder / "words.sear").write_text(f"{deep}set S = it | {version}\nset T = it\n")
        imports = ['import "words.sear" as p\n', 'import "words.sear" as q\n']
        rule = "@p.S @q.S is -> it is\n"
        (folder / "main.sear").write_text("".join(imports) + rule)
        (folder / "turned.sear").write_text("".join(imports[::-1]) + rule)
        (folder / "one.sear").write_text(imports[1] + "@q.S is -> it is\n")
    old, turned, one = (
        load(tmp_path / "old" / f"{name}.sear") for name in ("main", "turned", "one")
    )
    new = load(tmp_path / "new" / "main.sear")
    assert not diff_rulesets(old, turned)
    assert diff_rulesets(old, new).sets == ("p.S", "p.d.MORE", "q.S")
    # The sets of an import that is added are added, under its name alone.
    assert diff_rulesets(one, old).sets == ("p.S", "p.T", "p.d.MORE")


def test_rules_of_one_text_are_paired_by_their_metadata_and_else_in_order() -> None:
    def rules(**rates: str) -> Ruleset:
        lines = (f"rule {name}: movie -> film\n  rate: {rate}\n" for name, rate in rates.items())
        return parse("".join(lines))

    def renamed(old: Ruleset, new: Ruleset) -> list[tuple[str, str, tuple[str, ...]]]:
        diff = diff_rulesets(old, new)
        assert len(diff.renamed) + len(diff.removed) == len(old)
        assert len(diff.renamed) + len(diff.added) == len(new)
        return [(each.old_id, each.new_id, each.parts) for each in diff.renamed]

    old = rules(a="10%", b="20%")
    assert renamed(old, rules(c="10%", d="20%")) == [("a", "c", ("id",)), ("b", "d", ("id",))]
    assert renamed(old, rules(c="30%", d="10%")) == [
        ("b", "c", ("id", "rate")),
        ("a", "d", ("id",)),
    ]
    assert renamed(old, rules(c="30%", d="40%", e="50%")) == [
        ("a", "c", ("id", "rate")),
        ("b", "d", ("id", "rate")),
    ]


@settings(deadline=None, max_examples=15)
@given(rulesets())
def test_a_ruleset_does_not_differ_from_itself_in_another_order(ruleset: Ruleset) -> None:
    turned = replace(ruleset, rules=ruleset.rules[::-1])
    assert diff_rulesets(ruleset, turned) == RulesetDiff()
    assert not diff_rulesets(ruleset, ruleset)


@settings(deadline=None, max_examples=15)
@given(rulesets(), rulesets())
def test_each_rule_is_accounted_for_once(old: Ruleset, new: Ruleset) -> None:
    diff = diff_rulesets(old, new)
    kept = len(set(old.rule_ids) & set(new.rule_ids))
    assert len(diff.removed) + len(diff.renamed) + kept == len(old.rules)
    assert len(diff.added) + len(diff.renamed) + kept == len(new.rules)


def test_what_a_rule_is_read_under_follows_its_sets_through_imports_and_negations(
    tmp_path: Path,
) -> None:
    """Of two rules in a file only the one whose set changed has changed."""
    words, main = tmp_path / "words.sear", tmp_path / "main.sear"
    main.write_text(
        'import "words.sear" as w\nset OWN = @w.GOOD | fine\n'
        "rule drawn: dull -> @w.GOOD\nrule not: !@OWN movie -> $1 film\nrule plain: play -> show\n",
        "utf-8",
    )
    words.write_text("set GOOD = good | great\nset BAD = bad\n", "utf-8")
    before = list(rule_settings(load(main)))
    assert list(map(list, before)) == [["set w.GOOD"], ["set OWN"], []]
    words.write_text("set GOOD = great | good | superb\nset BAD = poor\n", "utf-8")
    after = list(rule_settings(load(main)))
    assert [settings_difference(old, new) for old, new in zip(before, after, strict=True)] == [
        "set w.GOOD was different",
        "set OWN was different",
        "",
    ]


def test_language_and_seed_and_where_a_member_ends_count_for_how_a_rule_is_read() -> None:
    [reading] = rule_settings(parse("option language = pt\nfilme -> $1.typo\n  seed: 7"))
    assert reading == {"option language": "pt", "seed": "7"}
    one, other = (list(rule_settings(parse(f"set S = {s}\n@S -> x"))) for s in ("a|bc", "ab|c"))
    assert one != other
