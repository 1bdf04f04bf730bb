"""The unit that a rule sees: `option unit`, sentences under noise, rules in sequence."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from command_line import call
from hypothesis import given, settings
from hypothesis import strategies as st

import sears_dsl as sears
from sears_dsl.engine.compile import requirements
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.matches import Unit
from sears_dsl.engine.rewrite import batch_rendering
from sears_dsl.errors import RuleSyntaxError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.rule_tests import run_tests
from sears_dsl.tagging.fast.fast_tagger import FastTagger
from sears_dsl.tagging.pinned import PinnedTagger

UNITS: tuple[Unit | None, ...] = (None, "text", "sentence")
TEXT = "It is good. She saw a movie."
SHOUT = "/[a-z]+/i -> $1.upper\n  rate: 34%"


@pytest.fixture(scope="module")
def tagger() -> FastTagger:
    return FastTagger()


def test_rules_may_ask_for_sentences(tagger: FastTagger) -> None:
    rules = parse('option unit = sentence\n<unit> -> "I think" $0.uncap')
    [done] = compile_rules([rules], tagger=tagger).apply([TEXT])
    assert done.text == "I think it is good. I think she saw a movie."
    [chained] = compile_rules([rules], tagger=tagger).chain([TEXT])
    assert chained.text == done.text


def test_what_a_run_says_of_units_counts_before_what_rules_ask_for(tagger: FastTagger) -> None:
    matcher = compile_rules([parse("option unit = sentence\nis -> was")], tagger=tagger)
    text = "It is good. It is red."
    said = [[each.text for each in matcher.apply([text], unit=unit)] for unit in UNITS]
    once, twice = "It was good. It is red.", "It was good. It was red."
    assert said == [[twice], [once], [twice]]


def test_the_summary_says_whose_unit_counts(tmp_path: Path) -> None:
    (tmp_path / "rules.sear").write_text("option unit = sentence\nis -> was\n", "utf-8")
    (tmp_path / "in.txt").write_text("It is good. It is red.\n", "utf-8")
    told = []
    for more in ((), ("--unit", "text")):
        done = call("apply", "rules.sear", "in.txt", "-o", "out.jsonl", *more, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        told += [line for line in done.stderr.splitlines() if line.startswith("unit: ")]
    assert told == [
        "unit: sentence, by `option unit` of the rules",
        "unit: text, by --unit, but `option unit` of the rules says sentence",
    ]


def test_tests_of_rules_run_by_the_unit_of_their_file(tagger: FastTagger) -> None:
    rules = parse(
        "option unit = sentence\nis . </s> -> was .\n"
        '  test "So it is. So it is." => "So it was. So it was."\n'
        '  test "It/PRON/PRP is/AUX/VBZ ./PUNCT/. So/ADV/RB it/PRON/PRP" => "It was . So it"\n'
        '  test "is it" => none\n'
    )
    wrong = [each for each in run_tests(rules, tagger=tagger) if each.outcome != "ok"]
    assert wrong == []


def test_a_sentence_has_the_noise_that_it_has_alone(tagger: FastTagger) -> None:
    matcher = compile_rules([parse(f"option unit = sentence\n{SHOUT}")], tagger=tagger)
    parts = [[each.text for each in matcher.apply([part])] for part in ("It is good.", TEXT[12:])]
    [done] = matcher.apply([TEXT])
    assert done.text == " ".join(part[0] if part else "" for part in parts)


@pytest.mark.parametrize("first", ["option unit = text\n", ""])
def test_rulesets_that_want_different_units_do_not_run_together_unasked(
    first: str, tagger: FastTagger
) -> None:
    rulesets = [parse(f"{head}is -> was") for head in (first, "option unit = sentence\n")]
    matcher = compile_rules(rulesets, tagger=tagger)
    with pytest.raises(RuleSyntaxError, match="E410"):
        matcher.apply([TEXT])
    assert len(matcher.apply([TEXT], unit="text")) == 2


def test_of_many_files_that_need_the_rarer_unit_three_are_named() -> None:
    rarer = [parse("option unit = sentence\nis -> was", path=name) for name in "abcde"]
    others = [parse("is -> was", path=str(number)) for number in range(6)]
    findings, paths = requirements.hindrances(
        [*rarer, parse("option unit = sentence\n", path="no rules"), *others],
        unit=None, vectors=False, paraphrases=False,
    )  # fmt: skip
    assert [each.message for each in findings] == [
        "rulesets of one run need different units: a, b, c, 2 more work on each sentence, the "
        "other 6 files on each text"
    ]
    assert paths == set("abcde")
    assert requirements.unit_of([*others, parse("option unit = sentence\n")]) == "text"


def test_the_folder_of_noise_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("It is good. It is red.\n", "utf-8")
    done = call("apply", "noise", "in.txt", "-o", "out.jsonl", folder=tmp_path)
    assert done.returncode == 2
    assert "E410" in done.stderr
    assert "noise/paraphrase" in done.stderr.replace("\n", "")
    assert "noise/paraphrase.sear works on each sentence, the other 3 files on each text" in (
        done.stderr
    )
    assert "= help: run it and the others one after the other" in done.stderr


@pytest.mark.parametrize("command", ["apply", "augment"])
def test_all_that_keeps_rules_from_running_together_is_reported_with_the_command_that_works(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requirements, "vectors_installed", lambda name=None: False)
    rules = {
        "words/a.sear": "is -> was",
        "words/b.sear": "good -> great",
        "odd/each.sear": "option unit = sentence\nred -> green",
        "odd/near.sear": "good -> $0.neighbor",
        "odd/plain.sear": "red -> blue",
        "odd/refused.left-out.sear": "red -> white",
    }
    for name, text in rules.items():
        (tmp_path / "my rules" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "my rules" / name).write_text(text + "\n", "utf-8")
    (tmp_path / "in.csv").write_text("text,label\nIt is good. It is red.,a\n", "utf-8")
    typed = (command, "my rules/", "in.csv", "-o", "out.csv", "--column", "text")
    done = call(*typed, folder=tmp_path)
    assert done.returncode == 2
    assert [code for code in ("E410", "E352", "E353") if code in done.stderr] == ["E410", "E352"]
    assert not (tmp_path / "out.csv").exists()
    said = "all the others run with: sears "
    [advice] = [line for line in done.stderr.splitlines() if said in line]
    words = shlex.split(advice.partition(said)[2])
    assert words == [command, "my rules/odd/plain.sear", "my rules/words", *typed[2:]]
    again = call(*words, folder=tmp_path)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "out.csv").exists()
    # With one unit for all, only the missing package is an obstacle.
    chosen = call(*typed, "--unit", "text", folder=tmp_path)
    assert "E410" not in chosen.stderr
    assert "'my rules/odd/each.sear' 'my rules/odd/plain.sear' 'my rules/words'" in chosen.stderr


def test_where_nothing_is_left_no_command_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requirements, "vectors_installed", lambda name=None: False)
    (tmp_path / "near.sear").write_text("good -> $0.neighbor\n", "utf-8")
    (tmp_path / "in.txt").write_text("It is good.\n", "utf-8")
    done = call("apply", "near.sear", "in.txt", "-o", "out.txt", folder=tmp_path)
    assert "E352" in done.stderr
    assert "runs as" not in done.stderr
    vectors = tmp_path / "some.vec"
    vectors.write_text("good 1 0\nfine 0.9 0.1\n", "utf-8")
    named = ("apply", "near.sear", "in.txt", "-o", "out.txt", "--vectors", "some.vec")
    assert call(*named, folder=tmp_path).returncode == 0


def test_a_chain_of_noise_is_the_second_on_what_the_first_left(tagger: FastTagger) -> None:
    slips, alike = "/[A-Za-z]{4,}/ -> $1.typo\n  rate: 50%", "_ -> $1.homoglyph(10%)\n  rate: 100%"
    texts = [TEXT, "Nothing about these people seems convincing.", ""]
    both = compile_rules([parse(f"{slips}\n{alike}")], tagger=tagger).chain(texts, seed=3)
    first = compile_rules([parse(slips)], tagger=tagger).chain(texts, seed=3)
    second = compile_rules([parse(alike)], tagger=tagger).chain([row.text for row in first], seed=3)
    assert [row.text for row in both] == [row.text for row in second]


def test_equal_texts_get_equal_noise_wherever_they_stand(tagger: FastTagger) -> None:
    matcher = compile_rules([parse(SHOUT)], tagger=tagger)
    texts = [f"{TEXT} {n % 3}" for n in range(40)]
    by_text = {each.original: each.text for each in matcher.apply(texts)}
    assert all(by_text[each.original] == each.text for each in matcher.apply(texts[::-1]))
    assert len({each.text for each in matcher.apply(texts, draw=1)} | set(by_text.values())) > 3


@pytest.mark.parametrize("rule", [SHOUT, "movie -> film"])
def test_a_rule_does_what_it_does_alone_beside_one_that_would_touch_what_is_protected(
    rule: str, tagger: FastTagger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_rendering, "compiles", lambda: True)
    text, protected = "It is a really good movie, a movie.", [[(7, 8), (14, 15), (22, 22)]]
    texts: list[list[str]] = []
    for rules in (rule, f"{rule}\nreally -> <>"):
        matcher = compile_rules([parse(rules)], tagger=tagger)
        done = matcher.apply([text], scope="all", protected=protected)
        texts.append([each.text for each in done if each.rule == 0])
    assert texts[0] == texts[1]


def test_a_unit_between_what_is_protected_is_rewritten(tagger: FastTagger) -> None:
    matcher = compile_rules([parse("<unit> -> again")], tagger=tagger)
    text, spans = "  movie  ", [[(0, 2), (7, 9)], [(0, 3)], [(6, 9)]]
    texts = [each.text for each in matcher.apply([text] * 3, protected=spans)]
    assert texts == ["  again  "]


def test_what_is_left_alone_is_explained_by_what_the_rules_write(tmp_path: Path) -> None:
    (tmp_path / "look.sear").write_text("_ -> $1.homoglyph\n  rate: 100%\n", "utf-8")
    (tmp_path / "in.txt").write_text("It is 42 %.\n", "utf-8")
    done = call("apply", "look.sear", "in.txt", "-o", "out.txt", folder=tmp_path)
    assert "left alone: no character there can change this way\n" in done.stderr


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([*"abc", "film", "42", "wonderful", "I"]), max_size=12),
    st.sampled_from(["upper", "homoglyph", "typo(2)", "swap", "drop", "key"]),
    st.tuples(st.integers(1, 100), st.integers(1, 100)),
)
def test_what_a_rate_rewrites_a_higher_rate_rewrites_alike(
    words: list[str], function: str, rates: tuple[int, int]
) -> None:
    low, high = (_changed(" ".join(words), f"$1.{function}", rate) for rate in sorted(rates))
    assert low.items() <= high.items()


def test_under_a_rate_a_share_is_of_the_text_that_is_rewritten() -> None:
    """So a higher rate changes other characters of the words that a lower one rewrites too."""
    text = "The story of this wonderful film never comes together ."
    counts = []
    for rate in (10, 25, 50, 100):
        new = _noisy(text, "$1.homoglyph(25%)", rate)
        counts.append(sum(one != other for one, other in zip(text, new, strict=True)))
    assert counts == sorted(counts)
    assert counts[-1] in {11, 12}  # a quarter of 46 characters


def _noisy(text: str, consequent: str, rate: int) -> str:
    rules = parse(f"/[A-Za-z]+/ -> {consequent}\n  rate: {rate}%")
    [row] = compile_rules([rules], tagger=PinnedTagger({})).chain([text])
    return row.text


def _changed(text: str, consequent: str, rate: int) -> dict[int, str]:
    """The words that change, by their number."""
    new = _noisy(text, consequent, rate).split()
    pairs = zip(text.split(), new, strict=True)
    return {number: after for number, (before, after) in enumerate(pairs) if after != before}


def test_a_seed_that_draws_would_not_tell_from_a_smaller_one_is_refused(tmp_path: Path) -> None:
    rules = parse(SHOUT)
    largest = 2**63 - 1
    compile_rules([rules], tagger=PinnedTagger({}), seed=largest).apply([TEXT], seed=largest)
    with pytest.raises(UsageError, match="seed=9223372036854775808 is not valid"):
        compile_rules([rules], tagger=PinnedTagger({}), seed=largest + 1)
    with pytest.raises(UsageError, match="pass a whole number, 9223372036854775807 at most"):
        sears.apply([TEXT], rules, seed=2**64)
    (tmp_path / "rules.sear").write_text(
        SHOUT + '\nset A = b\ntemplate "{A}"\n  label: c\n', "utf-8"
    )
    (tmp_path / "in.txt").write_text(TEXT + "\n", "utf-8")
    for command in (("apply", "rules.sear", "in.txt"), ("generate", "rules.sear")):
        typed = (*command, "-o", "out.csv", "--seed", str(2**64))
        done = call(*typed, folder=tmp_path)
        assert done.returncode == 2
        assert "is not in the range 0<=x<=9223372036854775807" in done.stderr
        assert call(*typed[:-1], str(largest), folder=tmp_path).returncode == 0


def test_tests_that_are_not_run_say_what_is_missing_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requirements, "vectors_installed", lambda name=None: False)
    test = '\n  test "a" => "b"\n'
    (tmp_path / "named.sear").write_text(
        f"option vectors = minilm\n_ -> $1.neighbor{test}", "utf-8"
    )
    (tmp_path / "unnamed.sear").write_text(f"_ -> $1.neighbor{test}", "utf-8")
    done = call("test", "named.sear", folder=tmp_path)
    assert done.stdout == (
        "1 test of 1 rule: 0 ok, 0 not ok, 1 not run\nnot run: the vectors minilm are not "
        "installed; pip install 'sears-dsl[discovery]', or name a file: `--vectors FILE`\n"
    )
    done = call("test", "named.sear", "unnamed.sear", folder=tmp_path)
    assert done.stdout.count("not run: ") == 2
    assert "not run: no vectors are named; pip install 'sears-dsl[noise]' and write" in done.stdout
