"""What an editor can do in a rule file: find and rename a set, apply a fix, see a rule at work."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from editor import Editor

from sears_dsl.language.loader import parse
from sears_dsl.language.rule import KEYS
from sears_dsl.language_server.assistance import actions, explained, find_all, read_in_part
from sears_dsl.language_server.server import RuleServer
from sears_dsl.rule_tests import run_tests
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.tagging.tagger import load_tagger

RULES = """\
import "words.sear" as w
set WH = What | which  # @WH
rule a: @WH 😀 @w.GOOD -> "@WH" @WH
  test "@WH" => none
template "{WH} {x:w.GOOD} {WH.cap} film"
  label: good
rule film: movie -> film
"""


@pytest.fixture
def uri(tmp_path: Path) -> str:
    (tmp_path / "words.sear").write_text("set BAD = bad\nset GOOD = good | fine\n")
    (tmp_path / "a.sear").write_text(RULES)  # imports are looked for next to it
    (tmp_path / "a.sample.txt").write_text('A "fun" movie.\nA play.\nmovie\n')
    return (tmp_path / "a.sear").as_uri()


@pytest.fixture
def editor(uri: str) -> Editor:
    tagger = PinnedTagger()
    server = RuleServer(find=lambda text, path: find_all(text, path, tagger=tagger), tagger=tagger)
    editor = Editor(server, uri=uri)
    editor.open(RULES)
    return editor


def lines(found: dict[str, Any]) -> tuple[int, int, int]:
    start, end = found["range"]["start"], found["range"]["end"]
    assert start["line"] == end["line"]
    return start["line"], start["character"], end["character"]


def test_a_set_gets_another_name_wherever_it_is_used(editor: Editor, uri: str) -> None:
    assert editor.answer("prepareRename", 2, 9)["start"] == {"line": 2, "character": 9}
    edits = editor.answer("rename", 2, 9, newName="WHO")["changes"][uri]
    # Columns are counted as editors do: the smile has two.
    places = [(1, 4, 6), (2, 9, 11), (2, 33, 35), (4, 11, 13), (4, 27, 29)]
    assert [lines(each) for each in edits] == places
    assert {each["newText"] for each in edits} == {"WHO"}


@pytest.mark.parametrize(
    ("place", "used"),
    [((1, 5), [(1, 4, 6), (2, 9, 11), (2, 33, 35), (4, 11, 13), (4, 27, 29)]),
     ((4, 28), [(1, 4, 6), (2, 9, 11), (2, 33, 35), (4, 11, 13), (4, 27, 29)]),
     ((2, 18), [(2, 16, 22), (4, 18, 24)]), ((6, 13), []), ((99, 0), [])],
)  # fmt: skip
def test_every_use_of_a_set_is_listed(
    editor: Editor, place: tuple[int, int], used: list[tuple[int, int, int]]
) -> None:
    told = editor.answer("references", *place, context={"includeDeclaration": True})
    assert [lines(each) for each in told] == used
    told = editor.answer("references", *place, context={"includeDeclaration": False})
    assert [lines(each) for each in told] == [each for each in used if each != (1, 4, 6)]


def test_every_use_of_a_captured_word_is_listed(editor: Editor) -> None:
    editor.open("😀 be:lemma=be a:ADJ -> $be $a.upper $be\nb:NOUN -> $b\n")
    for column in (3, 5, 25, 38):
        told = editor.answer("references", 0, column, context={"includeDeclaration": True})
        assert [lines(each) for each in told] == [(0, 3, 5), (0, 25, 27), (0, 38, 40)]
        told = editor.answer("references", 0, column, context={"includeDeclaration": False})
        assert [lines(each) for each in told] == [(0, 25, 27), (0, 38, 40)]
    editor.open("be:lemma=be -> $be: it\n")  # the colon is text
    told = editor.answer("references", 0, 17, context={"includeDeclaration": False})
    assert [lines(each) for each in told] == [(0, 16, 18)]


def test_the_outline_has_what_a_file_defines(editor: Editor) -> None:
    editor.open(RULES + 'NOUM -> a\n\n  test "x" => none\nlast ->\nthe -> a  # short\n')
    told = editor.answer("documentSymbol")
    assert [(each["name"], each["detail"]) for each in told] == [
        ("w", 'import "words.sear" as w'),
        ("WH", "set WH = What | which"),
        ("a", 'rule a: @WH 😀 @w.GOOD -> "@WH" @WH'),
        ('template "{WH} {x:w.GOOD} {WH.cap} film"',) * 2,
        ("film", "rule film: movie -> film"),
        ("NOUM -> a",) * 2,
        ("the -> a",) * 2,
    ]
    assert [each["range"]["end"]["line"] for each in told] == [1, 2, 4, 6, 7, 10, 12]
    assert [each["kind"] for each in told] == [2, 10, 12, 15, 12, 12, 12]
    [test] = told[2]["children"]
    assert (test["name"], test["range"]["start"]["line"]) == ('test "@WH" => none', 3)
    editor.uri = "file:///closed.sear"
    assert editor.answer("documentSymbol") == []
    assert editor.answer("references", context={"includeDeclaration": True}) == []


@pytest.mark.parametrize(
    ("place", "name", "told"),
    [((2, 9), "W H", "is not a valid name"), ((2, 18), "X", "no set of this file"),
     ((6, 13), "X", "no set of this file"), ((2, 9), "WH", "is the name of another set")],
)  # fmt: skip
def test_a_rename_that_cannot_be_is_reported(
    editor: Editor, uri: str, place: tuple[int, int], name: str, told: str
) -> None:
    assert told in editor.answer("rename", *place, newName=name)["message"]


def taken(editor: Editor, line: int) -> list[dict[str, Any]]:
    spot = {"line": line, "character": 0}
    span = {"start": spot, "end": spot}
    found: list[dict[str, Any]] = editor.answer(
        "codeAction", range=span, context={"diagnostics": []}
    )
    return found


@pytest.mark.parametrize(
    ("text", "fixed"),
    [("What NUON -> it", "What NOUN -> it"), ("set WH = a\n@WHH -> b", "set WH = a\n@WH -> b"),
     ("[tga=NN] -> x", "[tag=NN] -> x"), ("movie -> $1.uper", "movie -> $1.upper"),
     ("a -> b\n  sevrity: high", "a -> b\n  severity: high"),
     ("option cas = exact\nx -> y", "option case = exact\nx -> y"),
     ('import "words.sear" as col\n@co.GOOD x -> $1\n@col.GOOD y -> $1',
      'import "words.sear" as col\n@col.GOOD x -> $1\n@col.GOOD y -> $1')],
)  # fmt: skip
def test_a_proposed_fix_is_taken(editor: Editor, uri: str, text: str, fixed: str) -> None:
    editor.open(text)
    found = [each for line in range(text.count("\n") + 1) for each in taken(editor, line)]
    [action] = [each for each in found if each["kind"] == "quickfix"]
    [edit] = action["edit"]["changes"][uri]
    line, start, end = lines(edit)
    written = text.split("\n")
    written[line] = written[line][:start] + edit["newText"] + written[line][end:]
    assert "\n".join(written) == fixed


def test_a_rule_shows_what_it_does_to_the_sample(editor: Editor, uri: str) -> None:
    told = editor.answer("hover", 6, 20)["contents"]["value"]
    assert told.startswith('changes 2 of 3 rows of `a.sample.txt`\n\n- `A "fun" movie.`\n- → `A')
    editor.open("set MOVIE = movie | book\n@MOVIE -> film\nfilm -> NUON\n  tags: a\n[tag=")
    assert "changes 2 of 3 rows" in editor.answer("hover", 1, 10)["contents"]["value"]
    assert editor.answer("hover", 1, 2)["contents"]["value"] == "`MOVIE` = `movie | book`"
    assert editor.answer("hover", 2, 1) is None
    editor.uri = uri.replace("a.sear", "b.sear")
    editor.open("movie -> film\n")
    assert editor.answer("hover", 0, 0) is None


def test_a_row_of_the_sample_becomes_a_test_that_passes(editor: Editor, uri: str) -> None:
    first, second = taken(editor, 6)
    assert (first["title"], first["kind"]) == ('Make a test from: A "fun" movie.', "refactor")
    [edit] = first["edit"]["changes"][uri]
    assert lines(edit) == (7, 0, 0)
    rules = parse("rule film: movie -> film\n" + edit["newText"])
    assert [each.outcome for each in run_tests(rules, tagger=PinnedTagger())] == ["ok"]
    assert second["title"] == "Make a test from: movie"
    editor.open("movie -> film")  # the last line, without a line break
    [edit] = taken(editor, 0)[0]["edit"]["changes"][uri]
    assert (lines(edit), edit["newText"][:3]) == ((0, 13, 13), "\n  ")


def test_tags_are_explained_and_proposed(editor: Editor, uri: str) -> None:
    text = 'DET NOUN -> "NOUN" [tag=VBZ] NO'
    editor.open(text)
    assert editor.answer("hover", 0, 5)["contents"]["value"] == "`NOUN`: noun: girl, color, film"
    assert "third person" in editor.answer("hover", 0, 25)["contents"]["value"]
    assert editor.answer("hover", 0, 14) is None
    labels = {each["label"] for each in editor.answer("completion", 0, len(text))}
    assert {"NOUN", "VBZ", "PRP$"} <= labels
    assert editor.answer("completion", 0, 16) == []
    for typed in ("[tag=", "[lemma=be & tag != VB", "[tag=NN|", "a [pos="):
        editor.open(typed)
        found = {each["label"] for each in editor.answer("completion", 0, len(typed))}
        assert found == labels, typed


def shown(editor: Editor, line: int, column: int) -> str | None:
    told = editor.answer("hover", line, column)
    return None if told is None else str(told["contents"]["value"])


def test_all_members_of_a_set_are_shown_where_it_is_defined_too(editor: Editor) -> None:
    editor.open('set B = NOUN | movie | lemma=be | /colou?r/ | !"x"\n@B x -> x $1\n')
    members = '`B` = `NOUN | movie | lemma=be | /colou?r/ | !"x"`'
    assert shown(editor, 1, 1) == shown(editor, 0, 4) == members
    editor.open("set B = a | b | c | d | e | f | g | NOUN | i\n@B x -> x $1\n")
    assert shown(editor, 1, 1) == "`B` = `a | b | c | d | e | f | g | NOUN` | … 9 in all"


def test_what_needs_vectors_or_translation_is_not_said_to_change_nothing(editor: Editor) -> None:
    editor.open("<unit> -> $0.paraphrase\nmovie -> $1.neighbor\n")
    for line, function in enumerate((".paraphrase", ".neighbor")):
        assert f"`{function}` is not tried on the sample" in str(shown(editor, line, 2))
        assert taken(editor, line) == []


@pytest.mark.parametrize(
    ("sample", "told"),
    [("\ufeffmovie one\nplay\n", "changes 1 of 2 rows"),
     ("a movie\u2028one\x85two\x0bthree\x0cfour\nplay\r\n", "changes 1 of 2 rows"),
     ("movie\n" * 300_000, "changes 1,000 of 1,000 rows"),
     ("play\n" + "x" * (1 << 20) + " movie\n", "changes 1 of 2 rows"),
     ("", "changes 0 of 0 rows"),
     ("movie\n" * 800_000, "the sample `a.sample.txt` is not read: it is larger than 4 MiB")],
    ids=["mark", "separators", "rows", "long", "empty", "large"],
)  # fmt: skip
def test_the_sample_is_read_as_apply_reads_it(
    editor: Editor, tmp_path: Path, sample: str, told: str
) -> None:
    (tmp_path / "a.sample.txt").write_text(sample, "utf-8", newline="")
    editor.open("movie -> film\n")
    assert str(shown(editor, 0, 1)).startswith(told)
    assert "\ufeff" not in str(shown(editor, 0, 1))
    assert len(str(shown(editor, 0, 1))) < 1_000


def test_why_a_sample_cannot_be_read_is_said(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "a.sample.txt").write_bytes(b"The movie.\nthe caf\xe9 movie\n")
    editor.open("movie -> film\n")
    assert "the sample cannot be read: `a.sample.txt, line 2" in str(shown(editor, 0, 1))
    assert taken(editor, 0) == []


@pytest.mark.parametrize(
    "text",
    ["set WH = NOUM | b\nmovie -> film\n@WH x -> $1\n@WH y -> z\n",
     'import "nope.sear" as n\nmovie -> film\n@n.C x -> $1\n',
     'x -> NOUM\nmovie -> film\nset A = @B\nset B = @C\nset C = NOUM\n@A x -> y\n',
     'x -> NOUM\n\n  test "x" => none\nmovie -> film\n',
     'x -> NOUM\n# so\n\n  # and\n  test "x" => none\nmovie -> film\n'],
)  # fmt: skip
def test_a_wrong_statement_hides_only_those_that_need_it(editor: Editor, text: str) -> None:
    editor.open(text)
    line = text.split("\n").index("movie -> film")
    assert "changes 2 of 3 rows" in str(shown(editor, line, 1))
    assert len(taken(editor, line)) == 2


def test_what_is_wrong_under_a_rule_hides_no_line_after_it_and_no_other_rule(
    editor: Editor,
) -> None:
    text = "rule m: movie -> film\n  foo: 1\n  rate: 1%\n  seed: 5\nmovie -> film\n"
    ruleset, _ = read_in_part(text, "a.sear")
    assert ruleset is not None
    assert ruleset.rules[0].metadata.seed == 5
    ruleset, _ = read_in_part("movie -> film\nx -> NOUM\n# so\n  seed: 5\n", "a.sear")
    assert ruleset is not None
    assert ruleset.rules[0].metadata.seed is None
    editor.open(text)
    assert shown(editor, 0, 10) is None
    assert "changes 2 of 3 rows" in str(shown(editor, 4, 1))
    editor.open("rule m: movie -> film\n  rate: 300%\n  seed: 3\n")
    assert shown(editor, 0, 10) is None


def test_a_long_chain_of_sets_is_left_out_at_once() -> None:
    chain = "".join(f"set S{each} = @S{each - 1} | word\n" for each in range(1, 300))
    began = time.process_time()
    ruleset, _ = read_in_part(f"set S0 = NOUM\n{chain}@S299 -> film\nmovie -> film\n", "a.sear")
    assert time.process_time() - began < 3
    assert ruleset is not None
    assert (len(ruleset.sets), len(ruleset.rules)) == (0, 1)


def test_a_set_that_is_defined_twice_is_there_for_those_that_need_it() -> None:
    text = "set A = NOUM\nset k.A = x\nset B = a | b\nset B = NOUM\n@B x -> $1\n@k.A y -> $1\n"
    ruleset, _ = read_in_part(text, "a.sear")
    assert ruleset is not None
    assert [rule.span and rule.span.line for rule in ruleset.rules] == [5]


def test_texts_of_others_are_no_markdown(editor: Editor, tmp_path: Path) -> None:
    evil = "![x](https://tracker/a.png) *movie* [a](command:evil) `` ` x"
    (tmp_path / "a.sample.txt").write_text(evil + "\n", "utf-8")
    rules = 'movie -> film\nset S = "[a](command:evil)" | "`"\ntemplate "![x](y) {S}"\n  label: x\n'
    editor.open(rules)
    assert f"- ```{evil}```" in str(shown(editor, 0, 1))
    assert shown(editor, 1, 4) == '`S` = ``"[a](command:evil)" | "`"``'
    assert "- `![x](y) [a](command:evil)`\n- `` ![x](y) ` ``" in str(shown(editor, 2, 1))


def test_the_findings_of_an_imported_file_stand_with_its_import(
    editor: Editor, tmp_path: Path
) -> None:
    (tmp_path / "words.sear").write_text("set C = x\nset D = NOUM\n", "utf-8")
    [found] = editor.open('import "words.sear" as k\n@k.C a -> $1\n')[-1]["params"]["diagnostics"]
    assert found["code"] == "E404"
    assert "words.sear:2: `NOUM` is not a tag" in found["message"]
    assert "listed below" not in found["message"]


@pytest.mark.parametrize(
    ("method", "params"),
    [("textDocument/didSave", {"textDocument": {"uri": "file:///elsewhere.sear"}}),
     ("workspace/didChangeWatchedFiles", {"changes": []})],
)  # fmt: skip
def test_when_a_file_is_saved_those_that_import_it_are_judged_anew(
    editor: Editor, tmp_path: Path, method: str, params: Any
) -> None:
    text = 'import "words.sear" as k\n@k.D a -> $1\n'
    [found] = editor.open(text)[-1]["params"]["diagnostics"]
    assert found["code"] == "E206"
    (tmp_path / "words.sear").write_text("set D = x\n", "utf-8")
    told = editor.tell(method, params)
    assert [each["params"]["diagnostics"] for each in told] == [[]]


def test_what_would_be_a_mistake_is_not_proposed(editor: Editor) -> None:
    def proposed(text: str) -> set[str]:
        editor.open(text)
        last = text.count("\n")
        answer = editor.answer("completion", last, len(text.rpartition("\n")[2]))
        return {each["label"] for each in answer}

    assert {"label"} == {*KEYS} - proposed("a -> b\n  why: x\n\n  # so\n  ")
    under_template = proposed('set S = x\ntemplate "{S}"\n  ')
    assert {*KEYS} - under_template == {"expect", "rate", "seed"}
    tags = proposed("N")
    assert {"CCONJ", "NN"} <= tags
    assert not tags & {"CONJ", "SPACE", "_SP"}
    older = proposed("option tagset = sears2018\nN")
    assert "CONJ" in older
    assert "CCONJ" not in older


def test_a_test_is_offered_only_if_it_passes(tmp_path: Path) -> None:
    # The first is read as a text with pinned tags, and the second makes a line that is too long.
    rows = ["color/NOUN/NN is nice", "a color " + "x" * 20_000, 'my "color"']
    (tmp_path / "a.sample.txt").write_text("\n".join(rows) + "\n")
    place = "color -> colour\n", str(tmp_path / "a.sear"), 0
    tagger = load_tagger("fast")
    assert "changes 3 of 3 rows" in (explained(*place, 1, tagger=tagger) or "")
    offered = [each.title for each in actions(*place, 0, tagger=tagger)]
    assert offered == ['Make a test from: my "color"']


def test_a_test_is_offered_once(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "a.sample.txt").write_text("movie\nmovie\na movie\nmovies\nno movie\n")
    editor.open('movie -> film\n  test "a movie" => "a film"\n')
    titles = [each["title"] for each in taken(editor, 0)]
    assert titles == ["Make a test from: movie", "Make a test from: no movie"]
