"""Joining rulesets: the rules of both, in a file that says the same when it is read again."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import METADATA, errors_of, rulesets

from sears_dsl.errors import UsageError
from sears_dsl.language.loader import load, parse, source_files
from sears_dsl.language.printer import print_entries, print_rule
from sears_dsl.language.rule import Entry, Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger

TAGGER = PinnedTagger()
TEXTS = ["bad x", "good x", "fine x", "movie"]
ONE_OF_FOUR = st.integers(0, 3)


@st.composite
def commented(draw: st.DrawFn) -> Ruleset:
    """A ruleset in whose file some lines have comments, each its own."""
    plain = parse(draw(rulesets()).format())
    numbers = iter(range(1_000))

    def remarks(indented: bool = False) -> tuple[str, ...]:
        remark = f"{'  ' * indented}# {next(numbers)}"
        return ((), ("",), (remark,), ("", remark))[draw(ONE_OF_FOUR)]

    def with_comments(entry: Entry) -> Entry:
        metadata = tuple(
            replace(line, leading=remarks(indented=True), comment="".join(remarks()[-1:]))
            for line in entry.metadata
        )
        above, behind = remarks(), "".join(remarks()[-1:])
        return replace(entry, leading=above, comment=behind, metadata=metadata)

    return parse(print_entries([*map(with_comments, plain.layout)], remarks()))


def comments(ruleset: Ruleset) -> dict[Rule, str]:
    """Each rule as the file writes it, with its comments and without blank lines around it.

    The file is read as the ruleset, and written as it was.
    """
    text = ruleset.format()
    again = parse(text)
    assert again == ruleset
    assert again.format() == text
    entries = [each for each in again.layout if isinstance(each.node, Rule)]
    return {each.node: print_entries([each]).lstrip("\n") for each in entries}


@settings(deadline=None)
@given(commented(), st.data())
def test_each_rule_keeps_its_comments_wherever_it_goes(rules: Ruleset, data: st.DataObject) -> None:
    places = st.lists(st.sampled_from(range(len(rules))), unique=True) if rules else st.just([])
    one, other = rules[data.draw(places)], rules[data.draw(places)]
    joined = one + other
    assert joined.rules == tuple(dict.fromkeys((*one, *other)))
    wanted = comments(rules)
    for part in (one, joined, rules[::-1]):
        assert comments(part) == {rule: wanted[rule] for rule in part}
    whole = rules[:1] + rules[1:]
    assert whole == rules
    assert comments(whole) == wanted
    assert rules[:].format() == rules.format()


@settings(deadline=None)
@given(commented(), commented(), st.data())
def test_what_is_joined_is_read_again(one: Ruleset, other: Ruleset, data: st.DataObject) -> None:
    """Also if one of them is made of objects, and if both have a rule with its own metadata."""
    shared = [
        replace(rule, metadata=data.draw(st.just(rule.metadata) | METADATA))
        for rule in one
        if data.draw(st.booleans())
    ]
    sets = [each.name for each in other.sets]
    unnamed = [rule for rule in other if rule.name is None]
    added = [rule for rule in unnamed if not errors_of(rule, options=one.options, sets=sets)]
    built = Ruleset.from_rules([*shared, *added], options=one.options)
    try:
        joined = one + built
    except UsageError:
        texts = {rule.name or print_rule(rule): rule for rule in one}
        same = [texts.get(rule.name or print_rule(rule), rule) for rule in built]
        assert same != list(built)
        return
    together = comments(joined)
    assert joined[: len(one)] == one or joined.name != one.name
    assert {**together, **comments(one)} == together


def rewrites(ruleset: Ruleset) -> list[tuple[int, str]]:
    matcher = ruleset.compile(tagger=TAGGER)
    return [(each.row, each.text) for each in matcher.apply(TEXTS)]


def write(folder: Path, **files: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.sear").write_text(text, "utf-8")


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Three folders; in each, files of one name that say something else."""
    places = [tmp_path / name for name in ("one", "other", "third")]
    for place, word in zip(places, ("bad", "good", "fine"), strict=True):
        inner = f"set W = {word}\n"
        common = 'import "inner.sear" as i\nset W = @i.W\n'
        importing = f'import "common.sear" as {word}\nrule {word}: @{word}.W x -> y\n'
        write(place, inner=inner, common=common, plain="movie -> film\n", importing=importing)
    return places


def test_a_saved_ruleset_rewrites_the_same_or_is_refused(folders: list[Path]) -> None:
    """Whatever is joined, and whatever file of whatever folder it is saved as."""
    names = ("plain", "importing", "new", "common", "inner")
    saved = 0
    for one, other, to in product(folders, repeat=3):
        joined = load(one / "importing.sear") + load(other / "plain.sear")
        if one != other:
            joined = load(other / "plain.sear") + joined + load(one / "plain.sear")
        wanted = rewrites(joined)
        assert wanted
        for name in names:
            file = to / f"{name}.sear"
            before = file.read_text("utf-8") if file.exists() else None
            try:
                joined.save(file)
            except UsageError:
                assert to != one or name in {"common", "inner"}
                continue
            assert rewrites(load(file)) == wanted
            saved += 1
            if before is None:
                file.unlink()
            else:
                file.write_text(before, "utf-8")
    assert saved == 3 * 3 * 3


def test_where_a_ruleset_with_imports_can_be_saved_is_said(folders: list[Path]) -> None:
    one, other, third = folders
    joined = load(one / "plain.sear") + load(other / "importing.sear")
    with pytest.raises(
        UsageError, match=rf"imports common\.sear of {other}, which is not"
    ) as caught:
        joined.save(one / "joined.sear")
    assert f"write it to {other}" in str(caught.value)
    with pytest.raises(UsageError, match=r"inner\.sear is imported by the ruleset"):
        joined.save(other / "inner.sear")
    with pytest.raises(UsageError, match=f"lie in {other} and {third}: copy them to one folder"):
        (joined + load(third / "importing.sear")).save(other / "joined.sear")


def test_a_ruleset_is_saved_beside_its_imports_wherever_the_program_moves(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other, _ = folders
    monkeypatch.chdir(one)
    rules = load("importing.sear")
    monkeypatch.chdir(other)
    with pytest.raises(UsageError, match=f"write it to {one}"):
        rules.save("new.sear")
    rules.save(one / "new.sear")
    assert rewrites(load(one / "new.sear")) == rewrites(rules)


@pytest.mark.parametrize("loaded", [True, False])
def test_rules_keep_their_file_of_vectors_wherever_they_are_saved_and_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loaded: bool
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for place, word in ((one, "film"), (other, "show")):
        write(place, near="option vectors = two.txt\n\nmovie -> $1.neighbor\n")
        (place / "two.txt").write_text(f"movie 1 0\n{word} 0.9 0.1\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    read = load("one/near.sear")
    rules = read if loaded else Ruleset(read.rules, options=read.options, path="one/near.sear")
    rules.save(one / "new.sear")
    assert rewrites(load(one / "new.sear")) == rewrites(rules) == [(3, "film")]
    with pytest.raises(UsageError, match=rf"vectors two\.txt of {one}, which other") as caught:
        rules.save("other/new.sear")
    assert f"write it to {one}" in caught.value.help
    assert not (other / "new.sear").exists()
    with pytest.raises(UsageError, match=r"two\.txt is another file in each"):
        rules + load(other / "near.sear")
    assert rules + load(one / "near.sear") == rules
    write(one, more="option vectors = two.txt\n\nshow -> $1.neighbor\n")
    joined = rules + load("one/more.sear")
    (other / "one").mkdir()
    (other / "one" / "two.txt").write_text("movie 1 0\nshow 0.9 0.1\n", "utf-8")
    for place in (tmp_path / "elsewhere", other):
        place.mkdir(exist_ok=True)
        monkeypatch.chdir(place)
        assert rewrites(rules) == rewrites(rules[:1]) == rewrites(joined) == [(3, "film")]
        assert [*source_files([rules])] == [one / "near.sear", one / "two.txt"]
        with pytest.raises(UsageError, match=rf"vectors two\.txt of {one}, which new"):
            rules.save("new.sear")
        rules.save(one / "new.sear")
    assert rewrites(load(one / "new.sear")) == [(3, "film")]


@pytest.mark.parametrize("name", ["", "rule film: "])
def test_a_rule_with_other_metadata_is_not_joined(name: str) -> None:
    one, other, same = (parse(f"{name}movie -> film\n  tags: {tag}") for tag in ("a", "b", "a"))
    assert (one + same).rules == one.rules
    with pytest.raises(UsageError, match=r"define the rule .*film.*, with different metadata"):
        one + other
    noisy = parse("rule again: movie -> film\n  tags: b")
    assert len(comments(parse("movie -> film") + noisy)) == 2


def test_templates_of_one_id_are_not_joined() -> None:
    def template(text: str, label: str) -> Ruleset:
        return parse(f"set A = a\n# why\ntemplate {text}\n  label: {label}")

    one = template('t: "one {A}"', "x")
    both = one + template('"two {A}"', "x") + one
    assert parse(both.format()) == both
    assert both.format().count("# why") == 2
    with pytest.raises(UsageError, match="template t, differently") as caught:
        both + template('t: "three {A}"', "x")
    assert "another id" in str(caught.value)
    with pytest.raises(UsageError, match=r"template t-\w+, with different metadata"):
        both + template('"two {A}"', "y")
