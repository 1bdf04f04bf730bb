"""Names of sets mean what they mean in their own file, wherever a set is used."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.reference import find
from sears_dsl.errors import RuleSyntaxError, UsageError
from sears_dsl.language.loader import load
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger

TAGGER = PinnedTagger()
WORDS = ("a", "b", "c", "d")
NAMES = ("INNER", "OUT", "X")
MODULES = ("c", "d")

# A member: a word, a reference "@X" or "@c.X", or a list: the negation of any of its members.
Member: TypeAlias = "str | list[Member]"
Sets: TypeAlias = "dict[str, list[Member]]"


def written(member: Member) -> str:
    if isinstance(member, str):
        return member
    inner = "|".join(map(written, member))
    return f"!({inner})" if len(member) > 1 else f"!{inner}"


def is_member(word: str, reference: str, number: int, files: list[Sets]) -> bool:
    """The definition: a name is looked up in the file that contains it."""
    module, _, name = reference.removeprefix("@").rpartition(".")
    if module:
        number += 1 + MODULES.index(module)
    return any(holds(word, member, number, files) for member in files[number][name])


def holds(word: str, member: Member, number: int, files: list[Sets]) -> bool:
    if isinstance(member, list):
        return not any(holds(word, inner, number, files) for inner in member)
    return is_member(word, member, number, files) if member[0] == "@" else member == word


@st.composite
def libraries(draw: st.DrawFn) -> list[Sets]:
    """Three files with sets of the same names; a file sees the one or two after it, c and d."""
    files: list[Sets] = []
    for number in range(3):
        modules = MODULES[: 2 - number]
        sets: Sets = {}
        for place, name in enumerate(NAMES):
            known = [f"@{later}" for later in NAMES[place + 1 :]]
            known += [f"@{module}.{name}" for module in modules for name in NAMES]
            one = st.sampled_from((*WORDS, *known))
            members = st.lists(one | st.lists(one, min_size=1, max_size=2), min_size=1, max_size=3)
            sets[name] = draw(members)
        files.append(sets)
    return files


RULES = {
    "{} x -> y": lambda holds: holds,
    "!{} x -> y": lambda holds: not holds,
    "!({}|a) x -> y": None,
    "(z {}|{}) x -> y": lambda holds: holds,
    "n:({}) x -> $n y": lambda holds: holds,
    "{}{{2}} x -> y": None,
    "x -> y / ({}|q q) __": lambda holds: holds,
    "x -> y / q? !{} __": lambda holds: not holds,
}


def save(files: list[Sets], folder: Path, references: list[str]) -> Ruleset:
    for number, sets in enumerate(files):
        lines = [
            f'import "{number + 1 + place}.sear" as {module}'
            for place, module in enumerate(MODULES[: 2 - number])
        ]
        lines += [f"set {name} = " + " | ".join(map(written, sets[name])) for name in NAMES]
        if not number:
            lines += [shape.format(r, r) for r in references for shape in RULES]
        (folder / f"{number}.sear").write_text("\n".join(lines) + "\n")
    return load(folder / "0.sear")


@settings(deadline=None, max_examples=40)
@given(libraries())
def test_a_name_is_looked_up_where_it_was_written(files: list[Sets]) -> None:
    references = ["@OUT", "@INNER", "@c.OUT", "@c.INNER", "@d.X"]
    with tempfile.TemporaryDirectory() as folder:
        ruleset = save(files, Path(folder), references)
    texts = [f"{word} x" for word in WORDS] + [f"{word} {word} x" for word in WORDS]
    rows = TAGGER.tag(texts)
    matcher = compile_rules([ruleset], tagger=TAGGER)
    fired = {(match[0], match[1]) for match in matcher.find(rows).tuples()}
    naive = {
        (number, row)
        for row in range(len(texts))
        for number, rule in enumerate(ruleset.rules)
        if find(rule, ruleset, rows.row(row), split=TAGGER.split)
    }
    assert fired == naive
    for place, reference in enumerate(references):
        for row, word in enumerate(WORDS):
            wanted = is_member(word, reference, 0, files)
            for number, expected in enumerate(RULES.values(), start=place * len(RULES)):
                if expected is not None:
                    assert ((number, row) in fired) == expected(wanted), (reference, word)


@settings(deadline=None, max_examples=40)
@given(libraries(), st.integers(0, 2), st.sampled_from(NAMES), st.sampled_from(WORDS))
def test_rulesets_are_equal_and_are_joined_if_all_sets_are_the_same(
    files: list[Sets], number: int, name: str, word: str
) -> None:
    changed = [
        {**sets, name: [word]} if place == number else sets for place, sets in enumerate(files)
    ]
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        rules, others = save(files, Path(one), ["@OUT"]), save(changed, Path(other), ["@OUT"])
    if changed == files:
        assert rules == others
        assert hash(rules) == hash(others)
        assert rules + others == rules
    else:
        assert rules != others
        with pytest.raises(UsageError, match="differently"):
            rules + others


def test_many_ways_to_a_file_cost_nothing_when_rulesets_are_compared(tmp_path: Path) -> None:
    both = []
    for folder in (tmp_path / "one", tmp_path / "other"):
        folder.mkdir()
        for number in range(40):
            imports = "".join(f'import "{number + 1}.sear" as {module}\n' for module in MODULES)
            (folder / f"{number}.sear").write_text(f"{imports}set A = a\n")
        (folder / "40.sear").write_text("set A = a\n")
        both.append(load(folder / "0.sear"))
    started = time.process_time()
    assert both[0] == both[1]
    assert time.process_time() - started < 1


def rulesets(folder: Path, **files: str) -> Ruleset:
    for name, text in files.items():
        (folder / f"{name}.sear").write_text(text, "utf-8")
    return load(folder / "main.sear")


def rewritten(ruleset: Ruleset, texts: list[str]) -> list[str]:
    changed = {each.row: each.text for each in ruleset.compile(tagger=TAGGER).apply(texts)}
    return [changed.get(row, text) for row, text in enumerate(texts)]


@pytest.mark.parametrize("own", ["", "set INNER = x | y\n"])
def test_an_imported_negation_keeps_its_meaning(tmp_path: Path, own: str) -> None:
    ruleset = rulesets(
        tmp_path,
        common="set INNER = a | b\nset OUT = !@INNER | c\n",
        main=f'import "common.sear" as c\n{own}@c.OUT z -> w\n',
    )
    texts = ["a z", "b z", "c z", "x z", "y z"]
    assert rewritten(ruleset, texts) == ["a z", "b z", "w", "w", "w"]


# ---------------------------------------------------------------- depth, size, time


def codes(path: Path) -> list[str]:
    with pytest.raises(RuleSyntaxError) as caught:
        load(path)
    return [each.code for each in caught.value.diagnostics]


@pytest.mark.parametrize("negated", ["", "!"])
@pytest.mark.parametrize("deep", [100, 101, 3_000])
def test_sets_have_a_greatest_depth(tmp_path: Path, negated: str, deep: int) -> None:
    lines = [f"set S{n} = {negated}@S{n + 1} | a{n}\n" for n in range(deep - 1)]
    started = time.process_time()
    path = tmp_path / "main.sear"
    path.write_text("".join(lines) + f"set S{deep - 1} = z\n@S0 x -> y\n")
    if deep > 100:
        assert codes(path) == ["E320"]
    else:
        assert rewritten(load(path), ["z x"]) == ["z x" if negated else "y"]
    assert time.process_time() - started < 5


def test_depth_counts_through_imports(tmp_path: Path) -> None:
    for file in range(3):
        head = f'import "{file + 1}.sear" as c\n' if file < 2 else ""
        sets = "".join(f"set S{n} = !@S{n + 1} | a\n" for n in range(40))
        last = "set S40 = !@c.S0\n" if file < 2 else "set S40 = z\n"
        (tmp_path / f"{file}.sear").write_text(head + sets + last)
    assert codes(tmp_path / "0.sear") == ["E320"]
    assert load(tmp_path / "1.sear").set_depths["S0"] == 82


def test_sets_that_double_under_negations_are_refused(tmp_path: Path) -> None:
    lines = [f"set S{n} = !@S{n + 1} | !(@S{n + 1}|b)\n" for n in range(60)]
    path = tmp_path / "main.sear"
    path.write_text("".join(lines) + "set S60 = a\n@S0 x -> y\n")
    started = time.process_time()
    assert codes(path) == ["E320"]
    assert time.process_time() - started < 5


def test_imports_cost_linear_time(tmp_path: Path) -> None:
    for file in range(22):
        lines = 'import "{0}.sear" as n\nimport "./{0}.sear" as m\nset A = @n.A | @m.A | w{1}\n'
        text = lines.format(file + 1, file) if file < 21 else "set A = last\n"
        (tmp_path / f"{file}.sear").write_text(text)
    (tmp_path / "main.sear").write_text('import "0.sear" as c\n@c.A !@c.A -> y\n')
    started = time.process_time()
    ruleset = load(tmp_path / "main.sear")
    assert rewritten(ruleset, ["last z", "w20 w0", "w20 q"]) == ["y", "w20 w0", "y"]
    rows = TAGGER.tag(["last z", "q z"])
    for row in range(2):
        assert bool(find(ruleset.rules[0], ruleset, rows.row(row), split=TAGGER.split)) == (row < 1)
    assert time.process_time() - started < 5


def test_a_long_chain_of_files_is_an_error_of_ours(tmp_path: Path) -> None:
    for file in range(400):
        (tmp_path / f"{file}.sear").write_text(f'import "{file + 1}.sear" as n\nset A = @n.A\n')
    (tmp_path / "400.sear").write_text("set A = a\n")
    assert codes(tmp_path / "0.sear") == ["E404", "E409"]
    assert load(tmp_path / "350.sear").set_depths["A"] == 51


@pytest.mark.parametrize(
    ("option", "definition", "rule", "expected"),
    [
        ("case = exact", "set A = what", "@n.A is -> it is", ["W617"]),
        ("case = smart", "set A = what", "@n.A is -> it is", []),
        ("tagset = sears2018", "set A = CONJ", "@n.A is -> it is", ["E202", "W617"]),
        ("tagset = sears2018", "set A = CONJ", "What is -> it is", ["W617"]),
    ],
)
def test_options_of_imported_files_are_reported_and_do_not_count(
    tmp_path: Path, option: str, definition: str, rule: str, expected: list[str]
) -> None:
    (tmp_path / "n.sear").write_text(f"option {option}\n{definition}\n")
    (tmp_path / "a.sear").write_text(f'import "n.sear" as n\n{rule}\n')
    try:
        ruleset = load(tmp_path / "a.sear")
        findings = ruleset.warnings
    except RuleSyntaxError as error:
        findings = tuple(error.diagnostics)
    else:
        if "@" in rule:
            matcher = compile_rules([ruleset], tagger=PinnedTagger())
            assert len(matcher.apply(["WHAT is"])) == 1
    found = sorted(each.code for each in findings)
    assert [code for code in found if code in ("E202", "W617")] == expected
    name, value = option.split(" = ")
    own = {"case": "smart", "tagset": "ud2"}[name]
    told = f"`n.sear` states `option {name} = {value}`, but is read here under `{name} = {own}`"
    assert ("W617" in expected) == (told in [each.message for each in findings])


def test_options_are_reported_of_the_file_that_states_them(tmp_path: Path) -> None:
    """Of two imports that name tags of another tagset, each is told its own."""
    (tmp_path / "plain.sear").write_text("set A = what\n")
    for name, tag in (("one", "CONJ"), ("two", "NOUN")):
        (tmp_path / f"{name}.sear").write_text(f"option tagset = sears2018\nset T = {tag}\n")
    imports = "".join(f'import "{name}.sear" as {name}\n' for name in ("plain", "one", "two"))
    path = tmp_path / "a.sear"
    path.write_text(imports + "option case = exact\n@plain.A @one.T @two.T -> it is\n")
    with pytest.raises(RuleSyntaxError) as caught:
        load(path)
    told = [(each.code, each.span.line) for each in caught.value.diagnostics if each.span]
    assert sorted(told) == [("E202", 2), ("W617", 2), ("W617", 3)]
