"""Errors of meaning in rules, in trees built by hand as well as in parsed ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import errors_of

from sears_dsl.language.check import check_rule
from sears_dsl.language.check_drawn import chain_findings
from sears_dsl.language.loader import findings_of, parse
from sears_dsl.language.measure import longest, shortest, variant_count, writes_the_same_words
from sears_dsl.language.rule import (
    FUNCTIONS,
    AttributeTest,
    Element,
    Group,
    Inflected,
    Literal,
    Negation,
    Options,
    Reference,
    Regex,
    Rule,
    SetReference,
    Tag,
    TagCopy,
    Text,
)
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.language.tagsets import COARSE, FINE


def codes(text: str) -> list[str]:
    return [each.code for each in findings_of(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Movie -> movie",
        "movie -> Movie",
        'option case = ignore\niPhone -> iPhone',
        '"iPhone"i -> iPhone',
        "WP is -> WP's",
        "WP 's -> WP's",
        "a:NOUN b:NOUN -> $b $a",
        "a:NOUN b:NOUN -> $a$b",
        "x:NOUN -> $x.lower",
        "DET? NOUN -> NOUN",
        "NOUN{2} -> NOUN",
        "NOUN NOUN -> NOUN",
        "<s> what -> what",
        "movie </s> -> movie .",
        "lemma=be -> $1.VBD",
        "[lemma=be & tag!=VBZ] -> is",
        "pos=SYM x -> y",
        "SYM X -> symbol",
        "(<s>|,) what -> so $1 what",
        "<> -> So / <s> __",
        "<> -> . / __ </s>",
        "!(NOUN|PRON) x -> y",
        "!lemma=be x -> y",
        "(a|b|c|d){0,5} x -> y",
        "((a|b)|(c|d)){0,6} x -> y",
        "!((a|NOUN)|c) x -> y",
        "(NOUN|DET NOUN) is -> NOUN was",
        "x:(DET? NOUN) is -> $x.upper is",
        "(DET? x:NOUN) is -> $x.NNS are",
        "movie -> $x / x:ADJ __",
        "option language = de\ntag=ADP-DET x -> y",
        "[lemma=Be & lemma=be] x -> y",
        "x:<unit> -> $x.paraphrase",
        "X-ray -> scan",
        "U.S. -> America",
    ],
)  # fmt: skip
def test_good_rules_have_no_errors(text: str) -> None:
    allowed = {"<s> what -> what": ["E301"]}
    assert codes(text) == allowed.get(text, [])


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("NOUN -> NOUN", "E301", "both sides are the same"),
        ("movie -> movie", "E301", ""),
        ("x:NOUN and y:NOUN -> $x and $3", "E301", ""),
        ("NOUN{2} VERB -> NOUN NOUN VERB", "E301", ""),
        ("NOUN VERB -> $0", "E301", ""),
        ("DET? NOUN -> $1 $2", "E301", ""),
        ("<> -> <> / a __", "E301", "replaces nothing with nothing"),
        ("NOUN VERB -> VERB VERB", "E303", "more often than in the antecedent, which has 1"),
        ("(NOUN|VERB NOUN) x -> NOUN NOUN", "E303", "which has 1"),
        ("tag=NN -> NN", "E303", "no bare `NN`"),
        ("!NOUN -> NOUN", "E303", ""),
        ("x -> NOUN / NOUN __", "E303", ""),
        ("a{0,3} b{0,3} (c d|e){0,2} f -> g", "E304", "112 variants"),
        ("a{0} b -> c", "E305", ""),
        ("(a b|c d){0,9} e -> b", "E305", "at most 8"),
        ("!<s> a -> b", "E306", "anchor"),
        ("!(NOUN?|VERB) a -> b", "E306", ""),
        ("!((a|b c)|c) a -> b", "E306", ""),
        ("!((a|!b)|c) a -> b", "E306", "negates a negation"),
        ("a:x a:y -> z", "E215", "two elements are named `a`"),
        ("a -> b / x __ </s> c", "E307", ""),
        ("a -> b / c <s> __", "E307", ""),
        ("</s> a -> b", "E307", ""),
        ("<s>? a -> b", "E307", ""),
        ("x:<s> a -> b", "E307", "name"),
        ("(x:<s> a|b) -> c", "E307", "name"),
        ("(x <s>|b) a -> b", "E307", ""),
        ("(<s> a){1,2} -> b", "E307", ""),
        ("(a </s>){1,2} -> b", "E307", ""),
        ("<s> </s> -> b", "E308", ""),
        ("(a?|b?) -> c", "E308", ""),
        (r"/(a)\1/ -> b", "E309", "RE2"),
        ("/[/ -> b", "E309", ""),
        ("!_ a -> b", "E317", ""),
        ('text="a b" c -> b', "E317", ""),
        ('text="" c -> b', "E317", ""),
        ("<> -> $0 / a __", "E318", ""),
        ("x:NOUN{1,2} is -> $x.NNS are", "E319", ""),
        ("NOUN VERB -> $0.VBD", "E319", ""),
        ("(DET NOUN) is -> film.as($1)", "E319", ""),
        ("option tagset = sears2018\nAUX x -> y", "E202", "write VERB"),
        ("option tagset = sears2018\npos=SCONJ x -> y", "E202", "write ADP"),
        ("_SP x -> y", "E203", ""),
        ("tag=_SP x -> y", "E203", ""),
        ("pos=CONJ x -> y", "E202", "write CCONJ"),
        ("tag=NNX x -> y", "E205", "did you mean NN"),
        ("pos=adjectives x -> y", "E205", "did you mean ADJ?"),
        ("tag=adjective x -> y", "E205", "choose one of"),
        ("Noun x -> $1.Upper", "E208", "did you mean upper?"),
        ("a:NOUN is -> $b was", "E209", "did you mean $a?"),
        ("a:NOUN is -> $3.neighbor", "E209", "has 2 elements"),
        ("option language = de\noption repair = on\na -> b", "E216", "`repair = on` works only"),
        ("option unit = text\nruleset late 1.0\na -> b", "E314", "it must come first"),
        ("option language = de\nNOUN is -> $1.NNS", "E216", "inflections work only in English"),
        ("set A = NUON\n@A x -> y", "E201", "did you mean NOUN?"),
        ("set A = !@B\n@A x -> y", "E206", ""),
        ("set A = !@A\n@A x -> y", "E313", "A → A"),
        ("set A = a? | b\n@A x -> y", "E111", ""),
        ("set A = (a|b)\n@A x -> y", "E111", ""),
        ("set A = <s>\n@A x -> y", "E111", ""),
    ],
)
def test_each_error_is_found_and_reported(text: str, code: str, told: str) -> None:
    found = findings_of(text)
    assert code in [each.code for each in found]
    assert {each.code for each in found} == {code}
    assert any(told in each.render() for each in found)
    assert all(each.severity == "error" for each in found)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("don't -> don't", "at most casing, apostrophes and spaces change"),
        ("NOUN 's -> NOUN 's", "at most"),
        ("can not -> can not", "at most"),
        ('can not -> "can not"', "at most"),
        ("very{2} -> very very", "at most"),
        ("(DET NOUN) is -> DET NOUN is", "cannot change anything"),
        ("(DET NOUN) ADV -> DET NOUN ADV", "cannot change anything"),
        ("(<s> DET NOUN) ADV -> DET NOUN ADV", "cannot change anything"),
        ("x:(NOUN) -> NOUN", "cannot change anything"),
        ("(What|Which) NOUN -> $1 NOUN", "cannot change anything"),
    ],
)
def test_rules_that_repeat_words_or_groups_have_a_warning(rule: str, message: str) -> None:
    [finding] = findings_of(rule)
    assert finding.code == "W605"
    assert message in finding.message


@pytest.mark.parametrize(
    "rule",
    [
        '"iPhone"i -> iPhone',
        "(DET NOUN) ADV -> $1 NOUN ADV",
        "(DET x:NOUN) ADV -> $x DET ADV",
        "x:NOUN{2} -> $x $x",
        "x:NOUN{2} -> $x NOUN",
        "x:NOUN{2} -> NOUN $x",
        "(DET NOUN){2} -> DET NOUN DET NOUN",
        "(DET NOUN) -> DET $0",
    ],
)
def test_rules_that_repeat_a_part_have_none(rule: str) -> None:
    assert codes(rule) == []


@pytest.mark.parametrize(
    ("rule", "is_one"),
    [
        ("<s> a -> b", True),
        ("<s> _{0,3} a -> b", True),
        ("a -> b / <s> __", True),
        ("a -> b / <s> _{2} (x y|z x) __", True),
        ("a -> b / __ . </s>", True),
        ("a -> b / <s> _{0,3} __", False),
        ("a -> b / <s> (x|y z) __", False),
        ("a -> b / __ x? </s>", False),
        ("<s> a -> $2.typo", False),
    ],
)
def test_a_share_of_what_stands_in_one_place_has_a_warning(rule: str, is_one: bool) -> None:
    assert codes(f"{rule}\n  rate: 50%") == (["W619"] if is_one else [])


@pytest.mark.parametrize(
    ("rule", "same"),
    [
        ("What x:NOUN -> what $x.typo", True),
        ("DET NOUN -> $0.upper", True),
        ("NOUN -> $1.neighbor", False),
        ("<unit> -> $0.paraphrase", False),
        ("very{2} -> very", False),
        ("very NOUN -> $2 very", False),
        ("DET NOUN -> $1", False),
    ],
)
def test_the_same_words_in_other_characters_are_told_apart_from_others(
    rule: str, same: bool
) -> None:
    assert writes_the_same_words(parse(rule).rules[0]) == same


def test_every_tag_may_be_named_under_its_tagset() -> None:
    for tagset in ("ud2", "sears2018"):
        names = sorted(tag for tag in COARSE[tagset] | FINE if tag[0].isalpha())
        text = f"option tagset = {tagset}\n" + "".join(f"{tag} it -> so\n" for tag in names)
        assert codes(text) == []
        attributes = [f"pos={tag}" for tag in COARSE[tagset]]
        attributes += [f'tag="{tag}"' for tag in FINE]
        text = f"option tagset = {tagset}\n" + "".join(f"{test} it -> so\n" for test in attributes)
        assert codes(text) == []


def test_built_trees_are_checked_like_written_ones() -> None:
    rule = Rule(
        antecedent=(
            Element(Tag("NUON"), name="x"),
            Element(Negation(Group(((Element(Literal("a")), Element(Literal("b"))),)))),
            Element(AttributeTest("tag", "NOUN"), 3, 9),
            Element(Regex("(")),
            Element(SetReference("WH", "c")),
        ),
        consequent=(TagCopy("TV"), Reference(7), Reference("y", ("shout",)), Inflected("go", 3)),
    )
    found = [each.code for each in check_rule(rule, Ruleset.from_rules([]))]
    assert found == [
        "E201", "E306", "E305", "E205", "E309", "E207", "E201", "E209", "E208", "E209", "E319",
    ]  # fmt: skip


def test_places_point_at_the_element() -> None:
    (finding,) = findings_of("What (DET? NUON) is -> it is")
    assert finding.render().splitlines()[2:4] == [
        "1 | What (DET? NUON) is -> it is",
        "  |            ^^^^",
    ]


def test_the_group_that_is_open_is_pointed_at() -> None:
    (finding,) = findings_of("(a (b|c) -> x")
    assert finding.span is not None
    assert (finding.code, finding.span.column) == ("E106", 1)


def test_a_group_in_which_a_word_has_a_name_is_several_variants() -> None:
    groups = ("(a|b)", "(x:a|b)")
    counts = [variant_count(parse(f"{each} c -> d").rules[0].elements) for each in groups]
    assert counts == [1, 2]


def test_a_set_that_a_template_spells_is_told_from_one_that_nobody_uses() -> None:
    text = 'set GOOD = a\ntemplate "{}"\n  label: x'
    advice = [parse(text.replace("{}", word)).warnings[0].help for word in ("A GOOD.", "GOODS")]
    assert advice == ["in a template, put it in braces: `{GOOD}`", "delete it"]


def test_a_comment_in_a_file_of_sets_is_not_taken_for_a_rule() -> None:
    assert codes("# movie -> film\nset A = a") == []


def test_a_byte_order_mark_is_no_part_of_the_line_that_is_shown() -> None:
    (finding,) = findings_of("\ufeffWhat NUON -> it")
    assert finding.source == "What NUON -> it"
    assert [each.code for each in parse("\ufeff# movie -> film").warnings] == ["W625"]
    assert codes("\ufeff\ufeffWhat NOUN -> it") == ["E115"]  # it begins a text, and once


def test_a_mistyped_tag_is_reported_once() -> None:
    assert codes("What NUON -> Which NOUN") == ["E201"]


def test_a_rule_that_stands_in_the_file_under_another_id_has_a_warning() -> None:
    for lines in (
        "a -> b\nrule x: a -> b",
        "rule x: a -> b\na -> b",
        "rule x: a -> b\nrule y: a -> b",
    ):
        assert codes(lines) == ["W606"]


def test_a_tag_that_is_copied_too_often_is_reported_once() -> None:
    assert codes("NOUN is -> NOUN NOUN NOUN") == ["E303"]


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ("film -> $1.typo\nmovie -> film", "it sees changed words"),
        ("film -> $1.typo\nmovie -> $1.swap", "it adds noise to noise"),
        ("film -> $1.typo\nNOUN -> $1.neighbor", "it sees changed words"),
        ("film -> $1.typo\n_ -> $1.swap", None),
        ("film -> $1.typo\n<unit> -> $0.paraphrase", None),
        ("movie -> $1.neighbor\nplay -> show\nfilm -> $1.typo", None),
    ],
)
def test_rules_of_a_chain_that_see_noise_are_reported(rules: str, told: str | None) -> None:
    findings = chain_findings([parse(rule) for rule in rules.split("\n")])
    assert [each.code for each in findings] == ([] if told is None else ["W620"])
    assert all(told in each.help for each in findings if told)


def test_a_hostile_tree_is_counted_in_no_time() -> None:
    body: Element = Element(Literal("a"), 0, 8)
    for _ in range(15):
        body = Element(Group(((body, body), (body,))), 0, 8)
        if variant_count([body]) >= 10**6:
            break
    assert variant_count([body]) == 10**6
    assert errors_of(Rule((body, Element(Literal("b"))), (Text("c"),)))


@settings(deadline=None)
@given(
    st.recursive(
        st.sampled_from([Element(Tag("NOUN")), Element(Literal("a"), 0, 2)]),
        lambda inner: st.builds(
            lambda alternatives, low, more: Element(Group(alternatives), low, max(1, low + more)),
            st.lists(st.lists(inner, min_size=1, max_size=2).map(tuple), min_size=1, max_size=2)
            .map(tuple),
            st.integers(0, 2),
            st.integers(0, 2),
        ),
        max_leaves=4,
    )
)  # fmt: skip
def test_variants_and_lengths_are_those_of_writing_the_element_out(element: Element) -> None:
    written = expand(element)
    lengths = [length for length, _ in written]
    assert shortest(element) == min(lengths)
    assert longest(element) == max(lengths)
    assert variant_count([element]) == min(10**6, sum(n for _, n in written))


def is_plain(group: Group) -> bool:
    return all(
        len(each) == 1
        and (each[0].minimum, each[0].maximum) == (1, 1)
        and (not isinstance(each[0].body, Group) or is_plain(each[0].body))
        for each in group.alternatives
    )


def expand(element: Element) -> list[tuple[int, int]]:
    """(length, variants) of every way to expand an element, by plain enumeration."""
    body = element.body
    one = [(1, 1)]
    if isinstance(body, Group):
        if not is_plain(body):
            one = []
            for alternative in body.alternatives:
                ways = [(0, 1)]
                for inner in alternative:
                    ways = [(a + c, b * d) for a, b in ways for c, d in expand(inner)]
                one.extend(ways)
        one = merged(one)
    total = []
    for repetitions in range(element.minimum, element.maximum + 1):
        ways = [(0, 1)]
        for _ in range(repetitions):
            ways = merged([(a + c, b * d) for a, b in ways for c, d in one])
        total.extend(ways)
    return merged(total)


def merged(ways: list[tuple[int, int]]) -> list[tuple[int, int]]:
    lengths: dict[int, int] = {}
    for length, count in ways:
        lengths[length] = lengths.get(length, 0) + count
    return list(lengths.items())


def test_functions_of_the_language() -> None:
    for function in FUNCTIONS:
        assert errors_of(Rule((Element(Tag("NOUN")),), (Reference(1, (function,)),))) == []
    assert errors_of(
        Rule((Element(Tag("AUX")),), (Text("x"),)), options=Options(tagset="sears2018")
    )
