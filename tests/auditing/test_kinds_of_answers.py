"""Pairs of texts, and answers that are numbers, several labels or places, on real data."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import sears_dsl as sears
from sears_dsl.answers import answers_equal, carry_back, frequent_answers
from sears_dsl.data.labelled import read_labelled
from sears_dsl.errors import DataError, UsageError
from sears_dsl.tagging.fast.fast_tagger import FastTagger

DATA = Path(os.environ.get("SEARS_DATA", Path(__file__).parents[3] / "shared" / "data"))
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no {DATA}")

RULES = "A -> one\nman -> guy"


@pytest.fixture(scope="module")
def pairs() -> list[dict[str, Any]]:
    """From SICK: two sentences, whether one follows from the other, and how related they are."""
    with (DATA / "paraphrase/sick_trial.txt").open(encoding="utf-8", newline="") as file:
        return [
            {"premise": row["sentence_A"], "hypothesis": row["sentence_B"],
             "label": row["entailment_judgment"], "relatedness": float(row["relatedness_score"])}
            for row in csv.DictReader(file, delimiter="\t")
        ]  # fmt: skip


def shared_words(rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[set[str], set[str]]]:
    for row in rows:
        yield {*row["premise"].lower().split()}, {*row["hypothesis"].lower().split()}


def entailment(rows: Sequence[Mapping[str, str]]) -> list[str]:
    return [
        "CONTRADICTION" if ("no" in b) != ("no" in a)
        else "ENTAILMENT" if len(b - a) <= 1 else "NEUTRAL"
        for a, b in shared_words(rows)
    ]  # fmt: skip


def relatedness(rows: Sequence[Mapping[str, str]]) -> list[float]:
    return [5 * len(a & b) / max(1, len(a | b)) for a, b in shared_words(rows)]


@needs_data
def test_rules_rewrite_either_column_of_a_pair(pairs: list[dict[str, Any]]) -> None:
    def flips(text: str, also: Sequence[str] = ()) -> tuple[int, list[int]]:
        done = sears.audit(
            entailment, pairs, sears.parse(RULES), text=text, also=also, label="label", scorer=None
        )
        return done.document.data.rows, [each.flips.count for each in done.rules]

    rows, one = flips("premise", ["hypothesis"])
    _, other = flips("hypothesis", ["premise"])
    assert all(one)
    assert all(other)
    both_rows, either = flips("premise,hypothesis")
    assert (rows, both_rows) == (500, 1000)
    assert either == [a + b for a, b in zip(one, other, strict=True)]


def test_a_pair_in_either_column_is_one_row_of_the_file() -> None:
    rows = [{"premise": f"A man of {age}.", "hypothesis": "A man.", "label": "NEUTRAL"}
            for age in [*range(30), 29]]  # fmt: skip
    model = lambda asked: ["NEUTRAL"] * len(asked)  # noqa: E731
    done = sears.audit(model, rows, sears.parse("man -> person"), text="premise,hypothesis",
                       label="label", scorer=None)  # fmt: skip
    [note] = [note for note in done.document.notes if "repeat" in note]
    assert note.startswith("1 of 31 rows repeat another row")
    assert max(each.row for rule in done.rules for each in rule.examples) <= 31


@needs_data
def test_two_columns_are_rewritten_as_one_text(pairs: list[dict[str, Any]]) -> None:
    seen: list[Mapping[str, str]] = []

    def model(rows: Sequence[Mapping[str, str]]) -> list[str]:
        seen.extend(rows)
        return entailment(rows)

    rules = sears.parse("A -> one")
    sears.audit(
        model, pairs[:50], rules, text="premise+hypothesis", label="label", scope="all", scorer=None
    )
    assert {tuple(row) for row in seen} == {("premise", "hypothesis")}
    changed = [row for row in seen if row["premise"].startswith("one ")]
    assert changed
    assert any(row["hypothesis"].startswith("one ") for row in changed)
    assert not any(row["hypothesis"].startswith("A ") for row in changed)


@needs_data
def test_the_score_is_of_the_column_that_changed(pairs: list[dict[str, Any]]) -> None:
    class Telling:
        identity, tau = "telling", 0.5

        def __init__(self) -> None:
            self.pairs: list[tuple[str, str]] = []

        def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            self.pairs += pairs
            return [1.0] * len(pairs)

    scorer = Telling()
    rows = pairs[:50]
    sears.audit(entailment, rows, sears.parse("man -> guy"), text="premise,hypothesis",
                label="label", scorer=scorer)  # fmt: skip
    texts = {row[column] for row in rows for column in ("premise", "hypothesis")}
    assert scorer.pairs
    assert {original for original, _ in scorer.pairs} <= texts


@needs_data
def test_either_column_is_augmented(pairs: list[dict[str, Any]]) -> None:
    rows = pairs[:50]
    done = sears.augment(rows, sears.parse("man -> guy"), text="premise,hypothesis", label="label")
    new = done[len(rows) :]
    assert new
    for row in new:
        assert ("guy" in row["premise"]) != ("guy" in row["hypothesis"])


@needs_data
def test_numbers_are_right_within_a_tolerance(pairs: list[dict[str, Any]]) -> None:
    def right(comparison: str) -> int:
        done = sears.audit(
            relatedness, pairs, sears.parse(RULES), text="premise,hypothesis", label="relatedness",
            comparison=comparison, scorer=None,
        )  # fmt: skip
        assert done.document.comparison == comparison
        return sum(each.right for each in done.rules)

    strict, lenient = right("within:0.25"), right("within:1")
    assert 0 < strict < lenient


def names_of_trees() -> list[dict[str, Any]]:
    """From UD English EWT: sentences with their runs of proper nouns."""
    found = []
    for sentence in (DATA / "pos/en_ewt-ud-dev.conllu").read_text("utf-8").split("\n\n")[:300]:
        lines = sentence.splitlines()
        text = next((line[9:] for line in lines if line.startswith("# text = ")), "")
        names: list[list[Any]] = []
        at, inside = 0, False
        for word, _, tag in (line.split("\t")[1:4] for line in lines if line[:1].isdigit()
                             and line.split("\t")[0].isdigit()):  # fmt: skip
            start = text.find(word, at)
            if start < 0:
                continue
            at = start + len(word)
            if tag == "PROPN" and inside:
                names[-1][1] = at
            elif tag == "PROPN":
                names.append([start, at, "NAME"])
            inside = tag == "PROPN"
        if names:
            found.append({"text": text, "names": names})
    return found


@pytest.fixture(scope="module")
def tagged_names() -> Callable[[Sequence[str]], list[list[tuple[int, int, str]]]]:
    """A model of names: runs of words that the tagger calls proper nouns."""
    tagger = FastTagger()

    def model(texts: Sequence[str]) -> list[list[tuple[int, int, str]]]:
        tokens = tagger.tag(list(texts))
        found = []
        for row in range(len(texts)):
            names: list[tuple[int, int, str]] = []
            inside = False
            for token in tokens.view(row):
                if token.coarse == "PROPN":
                    start = names.pop()[0] if inside else token.start
                    names.append((start, token.end, "NAME"))
                inside = token.coarse == "PROPN"
            found.append(names)
        return found

    return model


@needs_data
def test_entities_are_compared_where_they_stood(tagged_names: Any) -> None:
    rows = names_of_trees()
    done = sears.audit(
        tagged_names, rows, sears.parse("the -> all the"), text="text", label="names",
        spans=["text=names"], comparison="entities", scorer=None,
    )  # fmt: skip
    [rule] = done.rules
    # All names after the new word move to the right, and the model finds most of them again.
    assert rule.right >= 20
    assert rule.flips.count < rule.right / 4
    document = json.loads(done.document.model_dump_json())
    assert document["comparison"] == "entities"


def test_a_name_that_the_model_loses_is_a_flip() -> None:
    rows = [{"text": f"Then {name} came home.", "names": [[5, 5 + len(name), "PER"]]}
            for name in ("Ann", "Bob", "Carl", "Dora")]  # fmt: skip

    def model(texts: Sequence[str]) -> list[list[dict[str, Any]]]:
        return [
            [{"start": at, "end": at + len(name), "entity_group": "PER"}
             for name in ("Ann", "Bob", "Carl", "Dora")
             for at in [text.find(name)] if at >= 0 and "arrived" not in text]
            for text in texts
        ]  # fmt: skip

    done = sears.audit(
        model, rows, sears.parse("Then -> And then\ncame -> arrived"), text="text",
        label="names", comparison="entities", scorer=None,
    )  # fmt: skip
    assert [each.flips.count for each in done.rules] == [0, 4]


def test_several_labels_are_right_in_any_order() -> None:
    rows = [{"text": f"Song {number} about football.", "topics": ["sport", "music"]}
            for number in range(9)] + [{"text": "Nothing to see.", "topics": []}]  # fmt: skip

    def model(texts: Sequence[str]) -> list[list[str]]:
        words = {"football": "sport", "Song": "music"}
        return [[label for word, label in words.items() if word in text] for text in texts]

    done = sears.audit(
        model, rows, sears.parse("football -> soccer"), text="text", label="topics",
        comparison="set", scorer=None,
    )  # fmt: skip
    assert done.document.together.accuracy is not None
    assert done.document.together.accuracy.before.rate == 1
    assert done.rules[0].flips.count == 9


def test_what_a_model_gives_is_refused_where_it_is_of_another_kind() -> None:
    rows = [("A man.", "1"), ("A dog.", "0")]
    for comparison, advice in (("entities", "start, end, label"), ("within:1", "one number")):
        with pytest.raises(sears.ModelError, match="as the label of") as told:
            sears.audit(lambda texts: ["good" for _ in texts], rows if comparison != "entities"
                        else [{"text": "A man.", "label": [[2, 5, "P"]]}],
                        sears.parse(RULES), text=None if comparison != "entities" else "text",
                        label=None if comparison != "entities" else "label",
                        comparison=comparison, scorer=None)  # fmt: skip
        assert advice in told.value.help
    with pytest.raises(DataError, match="no answer that"):
        read_labelled([("A man.", "good")], label="label", comparison="within:1")
    with pytest.raises(UsageError, match="not a comparison"):
        sears.audit(len, rows, sears.parse(RULES), comparison="near", scorer=None)


def test_answers_about_pictures_are_those_of_three_people() -> None:
    given = ["red"] * 5 + ["Red"] * 2 + ["dark red"] * 2 + ["a maroon"]
    assert frequent_answers(given) == ("red",)
    assert answers_equal("The red.", frequent_answers(given), comparison="vqa")
    assert answers_equal("two", "2", comparison="vqa")
    assert frequent_answers(["a", "b", "b"]) == ("b",)
    assert frequent_answers(["red"] * 6 + ["pink"] * 3 + ["blue"]) == ("red", "pink")
    assert answers_equal("none", "0", comparison="vqa")


@pytest.mark.parametrize(
    ("original", "rewritten", "edits", "here", "there"),
    [
        ("Bob ran in Rome", "Bob did run in old Rome", None, "Rome", "Rome"),
        ("New York City", "NYC", None, "NYC", "New York City"),
        ("Ann Bob", "Ann and Bob", None, "Ann and Bob", "Ann Bob"),
        ("in New York", "in New New York", [(3, 3, "", "New ")], "New York", "New York"),
        ("#Rome", "@@Rome", [(0, 1, "#", "@@")], "Rome", "Rome"),
        # Words that a long text has again and again tell where they stand, too.
        ("to be or " * 99 + "Rome", "not to be or " + "to be or " * 98 + "Rome", None, "Rome",
         "Rome"),
        ("to be or " * 99, "not " + "to be or " * 99, None, "be", "be"),
    ],
)  # fmt: skip
def test_entities_are_carried_back(
    original: str,
    rewritten: str,
    edits: list[tuple[int, int, str, str]] | None,
    here: str,
    there: str,
) -> None:
    start = rewritten.rindex(here)
    answer = json.dumps([[start, start + len(here), "X"]])
    back = carry_back(answer, original, rewritten, comparison="entities", edits=edits)
    [(first, last, _)] = json.loads(back)
    assert original[first:last] == there


def test_whole_numbers_that_a_table_writes_with_a_point_are_the_same_labels(tmp_path: Path) -> None:
    lines = "".join(f"A {'good' if n % 2 else 'bad'} movie {n}.,{n % 2}.0\n" for n in range(40))
    (tmp_path / "rows.csv").write_text(f"text,label\n{lines}", "utf-8")
    rules = sears.parse("rule film: movie -> film\nrule fine: bad -> good\n  expect: label 1.0\n")
    for answer in (int, float, str, "{}.0".format):

        def model(texts: Sequence[str], answer: Callable[[int], Any] = answer) -> list[Any]:
            return [answer(int("good" in text)) for text in texts]

        done = sears.audit(model, tmp_path / "rows.csv", rules, label="label", scorer=None)
        accuracy = done.document.together.accuracy
        assert accuracy is not None
        assert accuracy.before.rate == 1
        assert [each.judgement.failures.count for each in done.rules] == [0, 0]
        parts = {each.value for each in done.document.slices if each.slicing == "label"}
        assert parts == {"0", "1"}
    assert answers_equal("1.5", "1.0") is False
    assert answers_equal("01.0", "1") is False
