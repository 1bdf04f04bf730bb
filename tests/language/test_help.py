"""What lines of help suggest can be typed: every suggestion is read by the parser.

In help, what stands between backquotes is a suggestion: a statement, a line of metadata, or a part
of a rule; so is a tag after "write". Corpora: the golden files, the reference, mistakes that people
made, and typing errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_language_reference import BLOCKS
from test_parser import EXAMPLES, KEYWORDS

from sears_dsl.errors import Diagnostic
from sears_dsl.language.loader import findings_of

SUGGESTION = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
TAG = re.compile(r"\bwrite ([A-Z]+\b)")
UNMARKED = re.compile(
    r"\bwrite\b(?! (?:[A-Z]+\b|`|it as in `|a rule for each|the composed form: `))"
)
# Places for a part of a rule.
HOSTS = (
    "{}",
    "{} zz -> yy",
    "x:NOUN zz -> {}",
    "zz yy {} -> xx",
    "{} -> xx",
    "zz yy -> xx / {} __",
    "zz -> yy\n  {}",
    "set ZZ = {} | zz\n@ZZ zz -> yy",
    'template "zz {} yy"\n  label: xx',
)
# Of what stands in other files or lines, such as a template's label, and of sides that happen to be
# equal.
ALLOWED = {"E401", "E206", "E207", "E209", "E301", "E303", "E304", "E308", "E319", "E321"}

# Typed by people who knew other tools: the line, and what the help has to suggest.
MISTAKES = {
    "[pos=NOUN|PROPN] -> it": "(NOUN|PROPN)",
    "[pos!=NOUN|PROPN] x -> it": "!(NOUN|PROPN)",
    "[lemma=be|have] -> it": "(lemma=be|lemma=have)",
    "[good|bad] movie -> film": "(good|bad)",
    "(?i)movie -> film": "/movie/i",
    "(?:very|so) good -> fine": "(very|so)",
    "(?P<x>very|so) good -> fine": "x:(very|so)",
    "movie -> (film|picture)": "movie -> film",
    "movie -> [film|picture]": "movie -> picture",
    "movie -> {film, picture} .": "movie -> picture .",
    "movie -> film (the picture)": '"(the picture)"',
    "!{1,3} -> .": '"!"{1,3}',
    "NOUN is -> NOUN.upper": "$1.upper",
    "NOUN is -> film.NNS": "film.as($1)",
    "http://x.com -> link": '"http://x.com"',
    "NOUN+ is -> it": "NOUN{1,8}",
    "NOUN* is -> it": "NOUN{0,8}",
    "NUON+ is -> it": "NOUN{1,8}",
    "(a|b)+ is -> it": "(a|b){1,8}",
    "NOUN{2,} -> x": "NOUN{2,8}",
    "NOUN{,3} x -> y": "NOUN{0,3}",
    "/the movie/ -> film": "/the/ /movie/",
    "/the NUON/ -> film": 'the "NUON"',
    "[tag=NN*] -> it": "(NN|NNP|NNPS|NNS)",
    "[tag=/NN.*/] -> it": "(NN|NNP|NNPS|NNS)",
    '{"LEMMA": "be"} -> is': "lemma=be",
    '{"lower": "be"} -> is': "lower=be",
    "rule x movie red -> film": "rule x: movie red -> film",
    "rule x : movie -> film": "rule x: movie -> film",
    "movie => film": "movie -> film",
    "movie <-> film": "film -> movie",
    "movie ⇔ film": "movie -> film",
    "colou?r -> hue": "/colou?r/",
    "movie(s)? -> film": "/movie(s)?/",
    "[a-z]+ it -> x": "/[a-z]+/",
    "(?<!the)movie -> film": "movie -> film / !the __",
    "set WH = {What, Which}": "set WH = What | Which",
    "set WH What | Which": "set WH = What | Which",
    "set WHO = old man | woman": 'set WHO = "old man" | woman',
    "set WH = What | Which |": "set WH = What | Which",
    "set WH = What Which": "set WH = What | Which",
    "rule x :movie -> film": "rule x: movie -> film",
    "NOUN|PR -> x": '"|"',
    "rule x: movie => film": "rule x: movie -> film",
    "rule x: movie <=> film": "movie -> film",
    "movie ↔ film / a __": "film -> movie / a __",
    "movie <- film  # a remark": "film -> movie",
    "movie ==> film": "movie -> film",
    "movie ~> film": "movie -> film",
    "movie := film": "movie -> film",
    "https://x.com/a?b=1 -> link": '"https://x.com/a?b=1"',
    "the www.x.com/?a=1&b=2 -> link": '"www.x.com/?a=1&b=2"',
    "import common.sear as c": 'import "common.sear" as c',
    "// note": "# comment",
    "<NOUN> is -> it": '"<NOUN>"',
    # Lines that are read without an error but mean something else.
    "movie -> film // note": "# comment",
    "movie -> film /* note */": "# comment",
    "movie -> film | picture": '"|"',
    "movie | picture -> film": "(a|b)",
    "movie -> 'film'": '"film"',
    "movie -> 'the film'": '"the film"',
    "'movie' -> film": '"movie"',
    "movie -> “film”": '"film"',
    "“the movie” -> film": '"the movie"',
    "«movie» -> film": '"movie"',
    r"/(\w+)ing/ -> \1ed": "$1",
    r"/(\w+)ing/ -> $1ed": "$1.VBD",
    r"a:NOUN is -> \a was": "$a",
    "NOUN is -> $1 .upper": "$1.upper",
    "DET? NOUN is -> DET? NOUN was": "DET",
    "NOUN is -> %1 was": "$1",
    "movie -> film.plural": "film.as($1)",
    "movie -> film.as": "film.as($1)",
    "movie -> film.AS": "film.as($1)",
    "movie -> film.VBDD": "film.as($1)",
    "x:NOUN is -> $x.as": "word.as($x)",
    "movie -> film.upper": "$1.upper",
    "movie -> film.upper()": "$1.upper",
    "NOUN -> $1.upper()": "$1.upper",
    "x:NOUN y:VERB -> y x": "$y",
    "x:NOUN is -> x was": "$x",
    "NOUN & VERB -> x": "[lemma=be & tag=VBZ]",
    "^ movie -> film": "<s>",
    "^ the movie $ -> film": "</s>",
    "movie -> film / ^ __": "<s>",
    "[text=/un.*/] x -> sad": "/un.*/",
    "text=/un.*/ x -> sad": "/un.*/",
    "[lower=/un.*/ & pos=ADJ] x -> sad": "/un.*/",
    "(/un.*/ & ADJ) -> sad": '"&"',
    "^What is -> so": "<s> What",
    "is it$ -> so": "it </s>",
    "^What$ is -> so": "<s> What </s>",
    ".* movie -> film": "_{0,8}",
    "un.* movie -> film": "/un.*/",
    r"\bmovie\b -> film": r"/\bmovie\b/",
    "*ing it -> x": "/.*ing/",
    "movie+ -> film": "movie{1,8}",
    "movie* it -> film": "movie{0,8}",
    "_* it -> film": "_{0,8}",
    "good ... bad -> film": "_{0,8}",
    "What * is -> it": "_",
    "NOUN -> $1.singular": "$1.NN",
    "x:VERB -> $x.past": "$x.VBD",
    "! very good -> fine": "!very",
    "a -> b / ! NOUN __": "!NOUN",
    "noun is -> it": "NOUN",
    "Noun is -> it": "NOUN",
    "NOUN is -> noun was": "NOUN",
    "set A = nns | x\n@A it -> y": "NNS",
    "option tagset = sears2018\nconj it -> y": "CONJ",
    "Because x:_ -> Because $x , y": "$1,",
    ". </s> -> , right ?": "$1?",
    "cafe\u0301 -> bar": '"caf\u00e9"',
    "/cafe\u0301s?/ -> bar": "/caf\u00e9s?/",
    "[lemma=cafe\u0301] x -> bar": '"caf\u00e9"',
    "bar -> cafe\u0301": '"caf\u00e9"',
}

# Good rules, which mean what their author intends.
PLAIN = (
    "it is -> it was", "to the part -> in x", "sym x -> y", "salt & pepper -> salt", "& -> and",
    "NOUN & NOUN -> $1 and $3", "rock 'n' roll -> rock and roll", "the dogs' tail -> tails",
    "'em all -> them all", "'s good -> is good", "do not -> $1n't", "x:NOUN is -> $x's",
    "x:NOUN is -> $x-like", "! -> .", "! ! -> !", "... -> .",
    "well ... -> well",
    "C++ -> code", "A+ -> best", "cost $ -> price", "$ 5 -> five", "“ -> \"\\\"\"", "” it -> x",
    "NOUN ? -> NOUN !", "What NOUN ? -> Which NOUN ?", "is it -> is it?", "? -> ??", ", but -> yet",
    "f*ck it -> x", "** -> x", "and/or -> or", "¯ -> x", "50% off -> half", "@WH it -> x",
    "half -> 50% off",
    "cafe\u0301s".encode().decode() and "caf\u00e9 -> bar", "so , -> so", "naïve -> simple",
    "DET? NOUN is -> NOUN?", "aux cord -> cable", "num -> number", "|| x -> y", "x -> y ||",
    "x:NOUN is -> x $x was", "a:DET film -> $a movie", "x -> main()", "see asp.net -> see x.net",
    "not NOUN -> no NOUN", "ADJ & NOUN -> $1", "^ ^ -> smile", "^_^ -> x", "movie $ -> x",
    "movie </s> -> movie .", "is it </s> -> is it ?", "do not -> $1n’t",
    "'phone rang -> it rang", "“...” -> dots", "NOUN -> $1(",
    'NOUN -> $1 , so good\n  test "a" => "b , so good"', "'cause of boys' toys -> x",
)  # fmt: skip


@cache
def errors_of(text: str) -> frozenset[str]:
    """Cached, since suggestions repeat."""
    return frozenset(each.code for each in findings_of(text) if each.code[0] == "E")


def suggestions(finding: Diagnostic) -> Iterator[str]:
    for match in SUGGESTION.finditer(finding.help):
        text = match[2]
        yield text[1:-1] if text[:1] == text[-1:] == " " else text
    yield from TAG.findall(finding.help)


def check_help(finding: Diagnostic, header: str = "") -> None:
    assert finding.help, finding
    for text in suggestions(finding):
        if not text.startswith("sears "):
            hosts = [header + host.replace("{}", text) for host in HOSTS]
            codes = [errors_of(host) for host in hosts]
            assert any(found <= ALLOWED for found in codes), (text, codes, finding.render())
    near = re.search(r"did you mean (\S+)\?", finding.help)
    wrong = re.search(r"`([^`]+)`", finding.message)
    # A call stays one whatever its name is; its help also says how functions are written.
    if near and wrong and finding.code not in {"E112", "E123"}:
        dot = "." if wrong[1].startswith(".") else ""  # functions are named without their dot
        mended = finding.source.replace(wrong[1].removesuffix("(…)"), dot + near[1])
        assert mended != finding.source
        same = [f for f in findings_of(mended) if f.code == finding.code and f.span == finding.span]
        assert not same, finding.render()
    assert not UNMARKED.search(finding.help), finding.help


@pytest.mark.parametrize("path", sorted((Path(__file__).parent / "errors").glob("*.sear")), ids=str)
def test_help_of_the_golden_files_is_read(path: Path) -> None:
    for finding in findings_of(path.read_text("utf-8")):
        check_help(finding)


def test_help_of_the_reference_is_read() -> None:
    for info, text, _ in BLOCKS:
        if info:
            for finding in findings_of(text):
                check_help(finding)


@pytest.mark.parametrize(("line", "wanted"), MISTAKES.items())
def test_notation_of_other_tools_is_reported_with_what_to_type(line: str, wanted: str) -> None:
    told = findings_of(line)
    assert told
    for finding in told:
        check_help(finding, "option tagset = sears2018\n" if "sears2018" in line else "")
    assert wanted in [text for finding in told for text in suggestions(finding)]


@pytest.mark.parametrize("line", PLAIN)
def test_plain_words_are_not_warned_of(line: str) -> None:
    assert [each.render() for each in findings_of(line) if each.code[0] == "W"] == []


def test_a_suggestion_in_quotes_ends_the_warning() -> None:
    for line in MISTAKES:
        for finding in findings_of(line):
            quoted = [text for text in suggestions(finding) if text[0] == '"']
            if finding.code[0] == "W" and quoted and finding.span and finding.code != "W610":
                start, end = finding.span.column - 1, finding.span.end_column - 1
                rows = line.split("\n")
                row = rows[finding.span.line - 1]
                rows[finding.span.line - 1] = row[:start] + quoted[-1] + row[end:]
                again = [each for each in findings_of("\n".join(rows)) if each.span == finding.span]
                assert finding.code not in {each.code for each in again}, line


TYPED = (
    "->", "=>", "→", "|", "(", ")", "[", "]", "{", "}", "?", "!", "*", "+", ".", ",", "/", "//",
    "&", "~", "_", "__", "<s>", "</s>", "<>", "$1", "$x", "\\1", "^", "$", "'", "“", "”", '"', "`",
    "=", ":", "@A", "NOUN", "NUON", "noun", "NN", "SPACE", "lemma=be", "pos=NN", "tag=NOUN",
    "lema=x", "#", " ", "(?i)", "(?:", "{2,}", "{1, 2}", ".as($1)", ".upper", ".VBD", "as",
    "\u00a0", "é", "e\u0301",
    *KEYWORDS,
)  # fmt: skip
LINES = (*EXAMPLES, *MISTAKES, "set A = a | b", "option case = exact", 'import "a.sear" as b',
         "ruleset demo 1.0.0", "sear 1", '  test "a" => none', "  severity: low")  # fmt: skip


@settings(deadline=None, max_examples=400)
@given(st.data())
def test_help_for_typing_errors_is_read(data: st.DataObject) -> None:
    line = data.draw(st.sampled_from(LINES))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(line)))
        typed = data.draw(st.sampled_from(TYPED))
        space = data.draw(st.sampled_from(("", " ")))
        line = line[:place] + space + typed + space + line[place + data.draw(st.integers(0, 3)) :]
    head = "movie -> film\n" if line[:1] == " " else ""
    under = "option tagset = sears2018\n" if line.startswith("option tagset = sears2018\n") else ""
    for finding in findings_of(head + line):
        check_help(finding, under)


def test_an_ending_in_capitals_that_is_no_inflection_is_not_taken_for_one() -> None:
    [finding] = findings_of("site -> asp.NET")
    assert list(suggestions(finding)) == ['"asp.NET"']


def test_the_name_of_a_file_in_the_place_of_rules_leads_to_the_commands_that_read_it() -> None:
    [finding] = findings_of("rules/wh.sear")
    assert (finding.code, "sears.load" in finding.help) == ("E102", True)
