"""``--protect`` and ``--span`` mean the same in every command that rewrites rows."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from brittle_model import NOUNS, close, predict, reword
from click.testing import CliRunner

import sears_dsl as sears
from sears_dsl.api.arguments import labelled_rows, predictor_of
from sears_dsl.cli.commands import sears as commands
from sears_dsl.tagging.tagger import load_tagger
from sears_dsl.vetting.review.workbench import Workbench

# Every other row is about the movie itself, so that word has to stay.
ROWS = [
    {
        "text": f"This movie has a {mood} {noun}.",
        "label": mood,
        "answer": "movie" if place % 2 else noun,
        "start": 5 if place % 2 else len(f"This movie has a {mood} "),
    }
    for mood in ("good", "bad")
    for place, noun in enumerate(NOUNS)
]
FREE = len(ROWS) // 2
SPANS = "text=start+answer"
OPTIONS = [("--protect", "answer"), ("--span", SPANS), ("--protect", "answer", "--span", SPANS)]


@pytest.fixture
def rows(folder: Path) -> Path:
    with Path("rows.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(ROWS[0]))
        writer.writeheader()
        writer.writerows(ROWS)
    return folder


def run(*arguments: str, exits: int = 0) -> str:
    done = CliRunner().invoke(commands, arguments)
    assert done.exit_code == exits, (done.output, done.exception)
    return done.stderr


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_an_audit_asks_about_no_rewrite_of_what_stays(rows: Path, options: tuple[str, ...]) -> None:
    model = ("--model", "brittle_words:predict", "--data", "rows.csv", "--label", "label")
    run("audit", "rules.sear", *model, "--column", "text", "--scorer", "none", *options, "-o", "a")
    found = json.loads(Path("a/audit.json").read_text("utf-8"))
    film = next(rule for rule in found["rules"] if rule["id"] == "film")
    assert film["changed"] == FREE
    left_out = f"{FREE} rewrites were left out because they would touch a span."
    assert (left_out in found["notes"]) == ("--protect" not in options)
    assert found["data"]["protect"] == (["answer"] if "--protect" in options else [])
    assert found["data"]["spans"] == ([SPANS] if "--span" in options else [])
    free = sears.audit(predict, "rows.csv", "rules.sear", text="text", label="label", scorer=None)
    assert free.columns["changed"][0] == len(ROWS)
    with pytest.raises(sears.UsageError, match="the first audit was made with"):
        sears.compare("a", free)


def test_new_training_rows_carry_their_answers_along(rows: Path) -> None:
    run("augment", "rules.sear", "rows.csv", "--column", "text", "--label", "label",
        "--span", SPANS, "-o", "one.csv")  # fmt: skip
    with Path("one.csv").open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert len(written) == len(ROWS) + FREE
    for row in written:
        assert row["text"][int(row["start"]) :].startswith(row["answer"])
    record = json.loads(Path("one.manifest.json").read_text("utf-8"))
    assert record["left_out"] == {"it would touch a span": FREE}
    assert record["settings"]["spans"] == [SPANS]
    again = sears.augment(ROWS, "rules.sear", text="text", label="label", spans=[SPANS])
    assert [{name: str(value) for name, value in row.items()} for row in again] == written
    protected = sears.augment(ROWS, "rules.sear", text="text", label="label", protect=["answer"])
    assert [row["text"] for row in protected] == [row["text"] for row in written]


def test_a_repair_trains_on_and_asks_about_what_may_change(rows: Path) -> None:
    def train(texts: list[str], labels: list[str], seed: int) -> object:
        return predict

    held_out = [{**row, "text": f"{row['text']} Yes."} for row in ROWS]
    done = sears.fix(ROWS, held_out, "rules.sear", text="text", label="label", train=train, seeds=1,
                     control=False, protect=["answer"])  # fmt: skip
    assert (done.repair.added, done.repair.rewritten_rows) == (FREE, FREE)


def test_a_search_finds_flips_of_what_may_change_alone(rows: Path) -> None:
    found = sears.discover(predict, ROWS, text="text", label="label", with_shipped=False,
                           paraphraser=reword, scorer=close, protect=["answer"],
                           minimum_flips=2)  # fmt: skip
    film = next(rule for rule in found.rules if rule.text == "movie -> film")
    assert film.changed == FREE
    singles = sears.adversaries(predict, ROWS, text="text", label="label", paraphraser=reword,
                                scorer=close, protect=["answer"])  # fmt: skip
    assert singles.columns["original"]
    answers = {row["text"]: str(row["answer"]) for row in ROWS}
    pairs = zip(singles.columns["original"], singles.columns["adversary"], strict=True)
    assert all(answers[original] in adversary for original, adversary in pairs)


def test_reviewers_see_no_rewrite_of_what_stays(rows: Path) -> None:
    with sears.vet(predict, ROWS, "rules.sear", text="text", label="label", protect=["answer"],
                   reviewers=["ana"]) as page:  # fmt: skip
        assert page.columns["outcome"] == ["unjudged", "unjudged"]
    data = labelled_rows(ROWS, text="text", label="label", protect=["answer"])
    tagger = load_tagger()
    bench = Workbench(sears.load("rules.sear"), data, predictor_of(predict), tagger=tagger,
                      tokens=tagger.tag(data.texts))  # fmt: skip
    assert bench.table.applications.changed.tolist() == [FREE, 0]


def test_what_the_text_lacks_is_reported_and_counted(rows: Path) -> None:
    Path("rows.csv").write_text("text,label,answer\nThis movie is good.,good,Rome\n", "utf-8")
    model = ("--model", "brittle_words:predict", "--data", "rows.csv", "--label", "label")
    options = ("--column", "text", "--protect", "answer")
    why = "1 row has a protected value that is not in the text: row 1, 'Rome' is not in"
    run("audit", "rules.sear", *model, *options, "--scorer", "none", "-o", "a")
    assert any(why in note for note in json.loads(Path("a/audit.json").read_text())["notes"])
    parts = ("--paraphrases", "brittle_words:reword", "--scorer", "brittle_words:close")
    said = run("adversaries", *model, *options, *parts, "--jobs", "1", "-o", "a.csv")
    assert why in said
    said = run("apply", "rules.sear", "rows.csv", *options, "-o", "b.csv")
    assert "1 row with a protected value that is not in the text" in said
    assert "row 1: 'Rome' is not in the text" in said
    said = run("augment", "rules.sear", "rows.csv", *options, "-o", "c.csv")
    assert why in said


def test_questions_of_a_squad_file_share_noise_and_flat_rows_do_not(rows: Path) -> None:
    context = "The movie beside the movie theatre."
    answers = (
        [{"text": "movie", "answer_start": 4}],
        [{"text": "movie theatre", "answer_start": 21}],
    )
    asked = [{"id": str(number), "question": "What?", "answers": each}
             for number, each in enumerate(answers)]  # fmt: skip
    paragraph = {"context": context, "qas": asked}
    Path("squad.json").write_text(json.dumps({"data": [{"title": "t", "paragraphs": [paragraph]}]}))
    options = ("rules.sear", "squad.json", "--column", "context", "--protect", "answers",
               "--scope", "all", "--mode", "chain")  # fmt: skip
    run("apply", *options, "-o", "file.json")
    written = json.loads(Path("file.json").read_text("utf-8"))
    assert written["data"][0]["paragraphs"][0]["context"] == context
    run("apply", *options, "-o", "flat.jsonl")
    flat = [json.loads(line) for line in Path("flat.jsonl").read_text("utf-8").splitlines()]
    assert [row["context"] for row in flat] == [
        "The movie beside the film theatre.", "The film beside the movie theatre.",
    ]  # fmt: skip
    for row in flat:
        [answer] = row["answers"]
        assert row["context"][answer["answer_start"] :].startswith(answer["text"])
    found = sears.augment("squad.json", "rules.sear", text="context", protect=["answers"])
    assert [row["context"] for row in found[2:]] == [row["context"] for row in flat]
