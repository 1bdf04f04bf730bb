"""Templates: their sentences, exact counts, limits, empty slots, tests, and the table of them."""

from __future__ import annotations

import json
import time
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from command_line import call
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sears_dsl as sears
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.noise.draws import Draw, number
from sears_dsl.errors import RuleSyntaxError, UsageError
from sears_dsl.generating.sentences import (
    Sentences,
    contradictions,
    odd_articles,
    template_findings,
)
from sears_dsl.generating.table import generate_table
from sears_dsl.language.loader import parse
from sears_dsl.language.printer import print_template
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.rule_tests import run_tests
from sears_dsl.tagging.fast.fast_tagger import FastTagger

TAGGER = FastTagger()

# Table 3 of 'The King is Naked', with the members that its Table 2 prints.
TABLE_3 = """
set NEGATIVE = bad | poor | boring
set POSITIVE = good | nice | fantastic
set NAME = Uma | Bruce | Sandra
set SURNAME = Thurman | Willis | Bullock
set CATEGORY = thriller | horror | comedy
set BOOLFALSE = false | wrong | incorrect
set AUGMENT = very | extremely | incredibly

template "This {CATEGORY} movie is not {AUGMENT} {NEGATIVE}."
  label: positive
template "It is {BOOLFALSE} that this {CATEGORY} movie is {AUGMENT} {POSITIVE}."
  label: negative
template "Despite {NAME} {SURNAME} acted well, this {CATEGORY} movie is {AUGMENT} {NEGATIVE}."
  label: negative
template "A {AUGMENT} {NEGATIVE} plot for a {AUGMENT} {POSITIVE} movie."
  label: positive
template "Starring {NAME} {SURNAME} i would prefer to be killed rather than watching this {CATEGORY} movie."
  label: negative
template "Please throw this {AUGMENT} long {CATEGORY} movie into the ocean, and thank me later."
  label: negative
"""  # noqa: E501 - as printed


def test_table_3_of_the_paper_has_468_sentences() -> None:
    table = generate_table([parse(TABLE_3)])
    assert [each.sentences for each in table.templates] == [27, 81, 243, 81, 27, 9]
    assert len(table) == len(set(table.columns["text"])) == 468
    assert table.labels == {"negative": 360, "positive": 108}
    assert table.columns["text"][0] == "This thriller movie is not very bad."
    assert "It is wrong that this comedy movie is extremely nice." in table.columns["text"]


@pytest.mark.parametrize(
    ("slots", "sentences"),
    [
        ((3,) * 9 + (2,) + (4,) * 2, 4_572),
        ((4,) * 10 + (3,) * 2, 13_392),
        ((3,) * 7 + (2,) * 2, 1_584),
    ],
)
def test_beds_of_the_size_of_the_papers_last_ones(slots: tuple[int, ...], sentences: int) -> None:
    """Negation, mixed sentiment, sarcasm: slots with five members, one of two words, or nothing."""
    sets = "".join(f'set S{place} = {place}a | {place}b | {place}c | {place}d | "{place}e e"\n'
                   for place in range(4))  # fmt: skip
    for place, count in enumerate(slots):
        text = " ".join(f"{{S{each}?}}" for each in range(count))
        sets += f'template t{place}: "Bed {place}: {text}"\n  label: l\n'
    table = generate_table([parse(sets)])
    assert len(table) == len(set(table.columns["text"])) == sentences
    assert {
        each.written for each in generate_table([parse(sets)], limit=36 * len(slots)).templates
    } == {36}


def test_ten_million_sentences_are_refused_at_once_with_their_number(tmp_path: Path) -> None:
    members = " | ".join(map(str, range(10)))
    (tmp_path / "many.sear").write_text(
        f'set D = {members}\ntemplate "{"{D}" * 7}"\n  label: number\n', "utf-8"
    )
    for command in (["generate", "many.sear", "-o", "out.csv"], ["check", "many.sear"]):
        call(*command, folder=tmp_path)  # imports what it needs
        began = time.process_time()
        done = call(*command, folder=tmp_path)
        assert time.process_time() - began < 1
        assert done.returncode != 0
        told = done.stderr + done.stdout
        assert "error[E324]: this template stands for 10,000,000 sentences" in told
    assert not (tmp_path / "out.csv").exists()


def one(text: str, sets: str = "set A = a | b\nset B = x | y | z\n") -> tuple[Sentences, Ruleset]:
    ruleset = parse(f'{sets}template t: "{text}"\n  label: l\n')
    return Sentences(ruleset.templates[0], ruleset), ruleset


def test_slots_count_from_left_to_right_the_last_one_fastest() -> None:
    sentences, _ = one("{A}-{B}")
    assert list(sentences) == ["a-x", "a-y", "a-z", "b-x", "b-y", "b-z"]
    assert [sentences[j] for j in range(6)] == list(sentences)
    with pytest.raises(IndexError):
        sentences[6]


def test_a_name_is_one_choice_and_a_set_written_twice_is_two() -> None:
    assert list(one("{who:A.cap} and {$who}, {$who.upper}")[0]) == ["A and a, A", "B and b, B"]
    assert list(one("{A} and {A}")[0]) == ["a and a", "a and b", "b and a", "b and b"]


@pytest.mark.parametrize(
    ("text", "empty"),
    [
        ("It is {A?} good.", "It is good."),
        ("{A?} movies are fun.", "movies are fun."),
        ("This is {A?}.", "This is."),
        ("This is {A?}", "This is"),
        ("({A?} here)", "(here)"),
        ("so {A?} , well", "so , well"),
        ("is{A?} it", "is it"),
        ("{A?}", ""),
    ],
)
def test_an_empty_slot_takes_a_space_along(text: str, empty: str) -> None:
    sentences, _ = one(text)
    assert sentences[0] == empty
    assert len(sentences) == 3


WORDS = st.sampled_from(["good", "No", "Mr.", "U.S.", "etc.", "10", "{A}", "{B}", "{n:C}", "{$n}"])
OPTIONAL = {"{X?}": "zorka", "{Y?}": "zorkb", "{Z?}": "zorkc"}
# What stands between two words, and at the ends.
GAPS = st.sampled_from(
    [" ", " ", "  ", "\t", "\n", "\u00a0 ", ", ", ". ", "! ", "; ", "... ", ' "', '" ', " (", ") ",
     ' ("', '", ', '." ', " ... ", " , ", ". \n"]
)  # fmt: skip
ENDS = st.sampled_from(["", "", ".", "!", '."', " ", ")", "?!", "\t", ", ", '"', "(", '("', "\n "])
SETS = """
set A = fine | great
set B = "so so" | "not bad"
set C = film
set X = zorka | zorkx
set Y = zorkb
set Z = zorkc
"""


@st.composite
def sentences_with_gaps(draw: st.DrawFn) -> str:
    words = draw(st.lists(WORDS, max_size=5, unique=True))
    if "{n:C}" in words:
        first = words.index("{n:C}")
        words = [word for place, word in enumerate(words) if word != "{n:C}" or place == first]
        words = [word for place, word in enumerate(words) if word != "{$n}" or place > first]
    words = [word for word in words if word != "{$n}" or "{n:C}" in words]
    for slot in list(OPTIONAL)[: draw(st.integers(1, 3))]:
        words.insert(draw(st.integers(0, len(words))), slot)
    gaps = [draw(GAPS) for _ in words[1:]]
    return draw(ENDS) + "".join(map("".join, zip(words, [*gaps, ""], strict=True))) + draw(ENDS)


@settings(max_examples=60, deadline=None)
@given(sentences_with_gaps())
@example('She said "{X?} {A}" and left.')
@example("good {X?}")
@example("a  {X?}  b")
@example("a\t{X?} b")
@example("a\t{X?}\tb")
@example("a\n{X?} b")
@example("a\u00a0{X?}\u00a0b")
@example("{X?}\tb")
@example("{X?}, good")
@example("No, {X?}, {Y?} {Z?}. {A}.")
@example("Mr. {X?} {Y?}. (U.S. {Z?}), so")
@example("good. {X?} .5 percent")
@example("good! {X?} ...{A}")
def test_an_empty_slot_goes_as_a_rule_deletes_a_word(text: str) -> None:
    sentences, _ = one(json.dumps(text)[1:-1], SETS)
    numbers = np.arange(len(sentences))
    written = dict(zip(numbers.tolist(), sentences.texts(numbers), strict=True))
    members = [
        (choice.column, [texts[place] for place in which.tolist()])
        for choice, (texts, which) in zip(
            sentences.choices, sentences.members(numbers), strict=True
        )
    ]
    for place, sentence in written.items():
        choices = {name: texts[place] for name, texts in members}
        full = text.replace("{n:C}", "film").replace("{$n}", "film")
        for name, member in choices.items():
            word = member or OPTIONAL[f"{{{name}?}}"]
            full = full.replace(f"{{{name}?}}", word).replace(f"{{{name}}}", word)
        empty = [OPTIONAL[f"{{{name}?}}"] for name, member in choices.items() if not member]
        assert sentence in sentences
        if not empty:
            assert sentence == full
            continue
        rule = parse(f"option case = exact\n({'|'.join(empty)}|zork) -> <>")
        done = compile_rules([rule], tagger=TAGGER).apply([full], scope="all")
        # A word that touches a mark may be no token.
        if len(done) and not any(word in done[0].text for word in empty):
            assert sentence == done[0].text


@pytest.mark.parametrize(
    ("members", "text", "empty"),
    [
        ('"good," | "!"', "so {M} {A?}.", ["so good,.", "so !"]),
        ('"Mr" | film', "the {M}. {A?}. No", ["the Mr. No", "the film. No"]),
        ('"\\"good\\"" | "(bad)"', "is {A?} {M}", ['is "good"', "is (bad)"]),
        ('", so" | "!"', "good, {A?}{M}", ["good, so", "good!"]),
    ],
)
def test_members_stay_whole_beside_an_empty_slot(members: str, text: str, empty: list[str]) -> None:
    sentences, _ = one(text, f"set A = zork\nset M = {members}\n")
    assert [each for each in sentences if "zork" not in each] == empty
    assert all(each in sentences for each in sentences)


def test_optional_slots_cost_no_more_than_their_sentences() -> None:
    """All combinations of fifteen empty slots once took half a minute."""
    apart = " ".join(f"{{n{place}:A?}} w{place}" for place in range(15))
    beside = " ".join(f"{{n{place}:A?}}" for place in range(15))
    for text in (apart, beside):
        _, ruleset = one(text, "set A = very\n")
        began = time.process_time()
        assert len(generate_table([ruleset], limit=5)) == 5
        template_findings(ruleset)
        assert time.process_time() - began < 10


SLOTS = st.sampled_from(["{A}", "{B?}", "{n:A?}", "{B.upper}", "{A?.cap}"])
TEXTS = st.sampled_from([" is ", " ", ", ", "The ", "{{x}} "])


@st.composite
def templates(draw: st.DrawFn) -> str:
    parts = draw(st.lists(st.one_of(SLOTS, TEXTS), min_size=1, max_size=5))
    text = "".join(parts)
    first = text.find("{n:")
    # A name names one slot; what follows repeats it.
    return text[: first + 4] + text[first + 4 :].replace("{n:A?}", "{$n}") if first >= 0 else text


@settings(max_examples=40, deadline=None)
@given(templates())
def test_every_sentence_is_one_and_numbers_are_all_combinations(text: str) -> None:
    sentences, ruleset = one(text)
    sizes = [len(choice.members) for choice in sentences.choices]
    assert len(sentences) == np.prod(sizes, dtype=int)
    written = list(sentences)
    for place, digits in enumerate(product(*map(range, sizes))):
        members = sentences.members(np.array([place]))
        for choice, digit, (texts, which) in zip(sentences.choices, digits, members, strict=True):
            assert texts[which[0]].lower() == choice.members[digit].lower()
        assert sentences[place] == written[place]
        assert written[place] in sentences
    assert "no such sentence" not in sentences
    printed = parse(ruleset.format())
    assert printed.templates == ruleset.templates
    assert printed.format() == ruleset.format()


def test_repeated_sentences_count_once_and_are_reported() -> None:
    table = generate_table([one("{A}{B}", "set A = a | ab\nset B = b | bb\n")[1]])
    assert table.columns["text"] == ["ab", "abb", "abbb"]
    assert (table.templates[0].sentences, table.templates[0].repeated) == (3, 1)


def test_slots_inflect_and_misspell_their_members() -> None:
    words = "set C = watch | admire\n"
    sentences, ruleset = one("{n:C.VBD.cap} {C.swap} {$n.homoglyph(25%)}", words)
    assert sentences[0] == "Watched wtach wat\u0441h"
    assert all(text in sentences for text in sentences)
    assert "Watched watch watch" not in sentences
    others = [generate_table([ruleset], seed=seed).columns["text"][0] for seed in range(5)]
    assert others[0] == sentences[0]
    assert len(set(others)) > 1


@pytest.mark.parametrize(
    ("slot", "code"),
    [("A.VBD", "E350"), ("A.JJR", "E351"), ("B.VB", "E351"), ("C.homoglyph", "E329")],
)
def test_members_that_cannot_become_what_a_slot_asks_for_are_reported(slot: str, code: str) -> None:
    sets = 'set A = be\nset B = "of course"\nset C = trunk\n'
    ruleset = parse(f'{sets}template t: "So {{{slot}}}."\n  label: l\n')
    [finding] = template_findings(ruleset)
    assert finding.code == code
    assert finding.span is not None
    assert finding.source is not None
    assert (finding.span.line, finding.source[finding.span.column - 1 :][: len(slot) + 2]) == (
        4, f"{{{slot}}}",
    )  # fmt: skip
    with pytest.raises(RuleSyntaxError, match=code):
        generate_table([ruleset])


def test_repeated_sentences_are_found_without_writing_them() -> None:
    sentences, ruleset = one("{A}{B?} {A?}", "set A = a | ab | b\nset B = b | bb | very\n")
    texts = list(sentences)
    first = [j for j, text in enumerate(texts) if texts.index(text) == j]
    assert sentences.distinct.tolist() == first
    [finding] = template_findings(ruleset)
    assert finding.code == "W621"
    assert f"{len(texts) - len(first)} of {len(texts)}" in finding.message


@pytest.mark.parametrize(
    ("text", "code"),
    [("", ["W623"]), (" ", ["W623"]), ("{A?} {B?}", ["W623"]), ("{A?} {B}", []), (".", [])],
)
def test_a_template_that_may_write_nothing_is_reported(text: str, code: list[str]) -> None:
    sentences, ruleset = one(text, "set A = a\nset B = b\n")
    assert [each.code for each in template_findings(ruleset)] == code
    assert any(not each.strip() for each in sentences) is bool(code)


def test_articles_that_do_not_fit_are_found() -> None:
    _, ruleset = one('An {B} is a {A}, and (a {A.cap}) no {C}; {A}', "set A = hour | day\n"
                     "set B = union | artist\nset C = x\n")  # fmt: skip
    assert odd_articles([ruleset]) == ["An union", "a hour"]


@pytest.mark.parametrize("by", ["template", "sentence"])
@pytest.mark.parametrize("seed", [0, 7])
def test_few_sentences_are_the_first_of_more(by: str, seed: int) -> None:
    rulesets = [parse(TABLE_3)]
    texts = [
        generate_table(rulesets, limit=limit, by=by, seed=seed).columns["text"]  # type: ignore[arg-type]
        for limit in (10, 100, 468, 1000)
    ]
    assert [len(each) for each in texts] == [10, 100, 468, 468]
    assert texts[0] == texts[1][:10]
    assert texts[1] == texts[2][:100]
    assert sorted(texts[3]) == sorted(generate_table(rulesets).columns["text"])


def test_a_limit_gives_templates_equal_shares_and_leaves_what_one_lacks_to_others() -> None:
    table = generate_table([parse(TABLE_3)], limit=120)
    assert [each.written for each in table.templates] == [23, 22, 22, 22, 22, 9]


def test_sentences_are_drawn_by_the_numbers_of_the_contract() -> None:
    ruleset = parse(TABLE_3)
    template = ruleset.templates[0]
    order = sorted(
        range(27), key=lambda j: number(Draw(3), "template", print_template(template), j)
    )
    sentences = Sentences(template, ruleset)
    only = parse(
        TABLE_3.split("template", maxsplit=1)[0]
        + f"template {print_template(template)}\n  label: p"
    )
    assert generate_table([only], limit=5, seed=3).columns["text"] == [
        sentences[j] for j in order[:5]
    ]


def test_slots_are_columns_and_what_a_template_lacks_is_empty() -> None:
    rules = parse(
        "set A = a | b\nset TEXT = t | u\n"
        'template one: "{A} {A} {text:TEXT}."\n  label: x\ntemplate two: "{A?}"\n  label: "y z"\n'
    )
    table = generate_table([rules])
    columns = table.columns
    assert [each.empty for each in table.templates] == [0, 1]
    assert list(columns) == ["text", "label", "template", "A", "A_2", "text_"]
    assert list(columns["A"][-3:]) == ["", "a", "b"]
    assert list(columns["text_"][-3:]) == ["", "", ""]
    assert Counter(columns["label"]) == {"x": 8, "y z": 3}


def test_tests_say_which_sentences_there_are() -> None:
    rules = parse(
        'set A = a | b\ntemplate t: "{A} film"\n  label: good\n'
        '  test "a film" => "good"\n  test "c film" => none\n'
        '  test "b film" => "bad"\n  test "d film" => "good"\n  test "b film" => none\n'
    )
    outcomes = [(each.rule_id, each.outcome) for each in run_tests(rules)]
    assert outcomes == [("t", each) for each in ("ok", "ok", "wrong", "missing", "noisy")]
    rules = parse('template "A film."\n  label: 1\n  test "A film." => "1.0"')
    assert [each.outcome for each in run_tests(rules)] == ["ok"]


def test_files_without_templates_and_ids_that_meet_are_refused() -> None:
    with pytest.raises(UsageError, match="these files have no templates"):
        generate_table([parse("movie -> film")])
    with pytest.raises(UsageError, match="two files have a template t"):
        generate_table([one("{A}")[1], one("{B}")[1]])


def test_sets_of_sets_and_of_imports_have_their_members() -> None:
    rules = parse('set A = a | "b c"\nset B = @A | d\ntemplate "{B}"\n  label: l\n')
    assert generate_table([rules]).columns["text"] == ["a", "b c", "d"]


def test_the_command_counts_tests_of_rules_and_of_templates(tmp_path: Path) -> None:
    (tmp_path / "both.sear").write_text(
        'set A = x | y\nrule film: movie -> film\n  test "movie" => "film"\n'
        'template t: "{A} z"\n  label: 1.0\n  test "x z" => "1"\n  test "z" => none\n'
    )
    done = call("test", "both.sear", folder=tmp_path)
    assert done.stdout == "3 tests of 1 rule and 1 template: 3 ok, 0 not ok\n"


def test_what_templates_alone_cannot_do_is_reported_with_what_can(tmp_path: Path) -> None:
    (tmp_path / "alone.sear").write_text('template t: "A film."\n  label: positive\n')
    (tmp_path / "rows.csv").write_text("text,label\na movie,positive\n")
    done = call("augment", "alone.sear", "rows.csv", "-o", "out.csv", folder=tmp_path)
    assert done.returncode == 2
    assert "`sears generate RULES -o sentences.csv`" in done.stderr
    done = call("generate", "alone.sear", "-o", "out.squad", folder=tmp_path)
    assert done.returncode == 2
    assert "choose csv or jsonl" in done.stderr
    assert not list(tmp_path.glob("out*"))


def test_where_rules_run_templates_are_passed_by_and_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "both.sear").write_text(
        'rule film: movie -> film\ntemplate t: "A film."\n  label: positive\n'
    )
    (tmp_path / "rows.csv").write_text("text,label\na movie,positive\n")
    told = "note: 1 template is skipped; `sears generate` writes the sentences\n"
    for command in (("apply",), ("augment", "--label", "label")):
        done = call(*command, "both.sear", "rows.csv", "--column", "text", "-o", "out.csv",
                    folder=tmp_path)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert told in done.stderr


def test_explain_says_which_template_writes_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.sear").write_text(
        'set A = x | y\ntemplate one: "{A} z"\n  label: good\ntemplate two: "{A} w"\n  label: bad\n'
    )
    done = call("explain", "a.sear", "y w", folder=tmp_path)
    assert done.stderr == "the template two writes it, with the label bad\n"
    done = call("explain", "a.sear", "w y", folder=tmp_path)
    assert done.stderr == "none of 2 templates writes it\n"


def test_sentences_go_to_standard_output_where_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.sear").write_text('set A = x | y\ntemplate t: "{A} z"\n  label: good\n')
    done = call("generate", "a.sear", "-o", "-", folder=tmp_path)
    assert done.stdout.split() == ["text,label,template,A", "x", "z,good,t,x", "y", "z,good,t,y"]
    assert "2 rows: good 2" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["a.sear"]


@pytest.mark.parametrize(
    ("slots", "columns"),
    [
        ("{text:A} {text_:B}", {"text__": "good", "text_": "film"}),
        ("{text_:B} {text:A}", {"text__": "good", "text_": "film"}),
        ("{A} {A} {A_2}", {"A": "good", "A_3": "good", "A_2": "book"}),
        ("{A_2} {A} {A}", {"A": "good", "A_3": "good", "A_2": "book"}),
    ],
)
def test_each_slot_has_a_column_of_its_own(slots: str, columns: dict[str, str]) -> None:
    sets = "set A = good\nset B = film\nset A_2 = book\n"
    table = generate_table([parse(f'{sets}template x: "{slots}."\n  label: pos')])
    row = {name: values[0] for name, values in table.columns.items()}
    assert row == {"text": row["text"], "label": "pos", "template": "x"} | columns
    assert set(table.templates[0].slots) == set(columns)


CONTRADICTING = """
set GOOD = great | fine
template a: "There is nothing {GOOD} here."
  label: negative
template b: "There is nothing {GOOD?} here."
  label: positive
template c: "There is nothing great here."
  label: negative
"""


def test_sentences_with_two_labels_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.sear").write_text(CONTRADICTING, "utf-8")
    checked = call("check", "a.sear", folder=tmp_path)
    assert checked.stdout.count("W627") == 1
    assert (
        "a.sear:5:1: warning[W627]: `a` also writes 2 sentences of this template, with the label "
        "negative: `There is nothing great here.`"
    ) in checked.stdout
    done = call("generate", "a.sear", "-o", "out.csv", folder=tmp_path)
    told = " ".join(done.stderr.split())
    assert (
        "note: 2 sentences have different labels: 'There is nothing great here.' is negative in a "
        "and positive in b"
    ) in told
    done = call("generate", "a.sear", "-o", "out.csv", "--json", folder=tmp_path)
    assert json.loads(done.stdout)["contradictions"] == 2
    rules = parse(CONTRADICTING)
    with pytest.warns(UserWarning, match="^2 sentences have different labels: "):
        sears.generate(rules)
    # What a limit leaves out contradicts nothing.
    assert generate_table([rules], limit=1).contradictions == ()
    # Two files may contradict each other, too.
    first, second = (parse(f'template {name}: "So."\n  label: {name}') for name in ("x", "y"))
    assert [each.text for each in generate_table([first, second]).contradictions] == ["So."]
    assert template_findings(first) == []


def test_a_whole_number_is_one_label_however_it_is_written() -> None:
    rules = parse('template a: "So."\n  label: 1\ntemplate b: "So."\n  label: 1.0')
    table = generate_table([rules])
    assert (table.labels, table.contradictions) == ({"1": 2}, ())
    assert template_findings(rules) == []


def test_a_sentence_of_many_templates_is_reported_for_two_of_them() -> None:
    labels = {"a": "pos", "b": "pos", "c": "neg", "d": "neg"}
    rules = parse("\n".join(f'template {each}: "So."\n  label: {labels[each]}' for each in labels))
    [finding] = template_findings(rules)
    assert (finding.code, finding.span and finding.span.line) == ("W627", 5)
    assert finding.message.startswith("`b` also writes 1 sentence of this template")
    assert [*generate_table([rules]).contradictions] == [("So.", 1, 2)]


def test_looking_for_two_labels_takes_time_by_the_sentence_and_not_by_the_template() -> None:
    sets = "\n".join(f"set {name} = " + " | ".join(f"{name}{each}" for each in "abcdefghij")
                     for name in "ABC")  # fmt: skip
    texts = (f'template "{number:b} {{A}} {{B}} {{C}}"\n  label: {number % 2}'
             for number in range(2_000))  # fmt: skip
    rules = parse("\n".join([sets, *texts]))
    sentences = [Sentences(each, rules) for each in rules.templates]
    began = time.process_time()
    numbers = [each.distinct for each in sentences]
    between = time.process_time()
    assert contradictions(sentences, numbers) == []
    assert time.process_time() - between < 3 * (between - began)


def test_standard_output_holds_the_sentences_alone(tmp_path: Path) -> None:
    (tmp_path / "a.sear").write_text('set A = x\ntemplate t: "{A}"\n  label: good\n', "utf-8")
    done = call("generate", "a.sear", "-o", "-", folder=tmp_path)
    assert done.stdout.splitlines() == ["text,label,template,A", "x,good,t,x"]
    assert "1 row: good 1" in done.stderr


@pytest.mark.parametrize(
    ("command", "rows"), [(["generate", "a.sear"], "sentences"),
                          (["apply", "b.sear", "rows.txt"], "rows")],
)  # fmt: skip
def test_rows_and_json_are_not_mixed(tmp_path: Path, command: list[str], rows: str) -> None:
    (tmp_path / "a.sear").write_text('template t: "x"\n  label: good\n', "utf-8")
    (tmp_path / "b.sear").write_text("movie -> film\n", "utf-8")
    (tmp_path / "rows.txt").write_text("A movie.\n", "utf-8")
    done = call(*command, "-o", "-", "--json", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    said = f"--json and the {rows} are both for standard output: name a file with --output"
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize("output", ["a.sear", "words.sear", "keep.py", "link.csv", "v.txt"])
def test_what_is_read_is_not_written_over(tmp_path: Path, output: str) -> None:
    (tmp_path / "words.sear").write_text("set A = x\n", "utf-8")
    (tmp_path / "a.sear").write_text(
        'option vectors = v.txt\nimport "words.sear" as w\ntemplate t: "{w.A}"\n  label: good\n',
        "utf-8",
    )
    (tmp_path / "v.txt").write_text("film 1 2\nmovie 2 1\n", "utf-8")
    (tmp_path / "keep.py").write_text("def all(rows):\n    return [True] * len(rows)\n", "utf-8")
    (tmp_path / "link.csv").symlink_to("a.sear")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    typed = ("generate", "a.sear", "--oracle", "keep:all", "--output-format", "csv", "-o")
    done = call(*typed, output, folder=tmp_path)
    assert done.returncode == 2
    assert f"{output} is an input of this command: write to another file" in done.stderr
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert call(*typed, "out.csv", folder=tmp_path).returncode == 0
