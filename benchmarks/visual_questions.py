"""Rules against models that answer questions about pictures, as in Tables 2 and 6 of the paper.

`shapes`: pictures, questions and a network of our own (`benchmarks.shapes`). Rules are discovered
on one set of pictures and judged by a person (`visual_questions_judged.tsv`: whoever ran this read
each rule with examples; a rule that is not there counts as not judged and is left out). They are
audited on other pictures, and the network is trained again with the rewrites of its questions.

`questions`: VQA v2 questions of the public data, without their pictures. The model is the
*question-only baseline* of the first papers on VQA: it never saw a picture and guesses the answer
from the words alone. What flips it shows what such a model has learned of words, and nothing more.

Required: discovery finds rules for the shapes, and training with rewrites removes at least half of
the errors that accepted rules induce.

    python -m benchmarks.visual_questions                   both
    python -m benchmarks.visual_questions --only shapes     one of them
    python -m benchmarks.visual_questions --folder runs/vqa keeps pictures, models, rules, audits;
                                          found rules and models that are there are taken
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sears_dsl as sears
from benchmarks.record import Row, data_file, write_record
from sears_dsl.answers import frequent_answers, normalized_visual_answer
from sears_dsl.language.printer import print_rule

_JUDGED = Path(__file__).with_name("visual_questions_judged.tsv")
_QUESTIONS = "vqa/vqa2_subset_train.jsonl"
_PASSES = 9
_GONE = 0.5
# How many rewrites are added, as a share of the training rows.
_AMOUNT = "40%"
_EXAMPLES = 2


def main() -> None:
    """Discover, judge, audit, repair; print and record the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=["shapes", "questions"])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--pictures", type=int, default=1750)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sample", type=int, default=400)
    parser.add_argument("--budget-seconds", type=float, help="for each search")
    options = parser.parse_args()
    if options.only != "shapes":
        data_file(_QUESTIONS)  # rather now than after an hour with the shapes
    rows: list[Row] = []
    with _folder(options.folder) as folder:
        if options.only != "questions":
            rows += shapes(folder / "shapes", pictures=options.pictures, seeds=options.seeds,
                           sample=options.sample, budget=options.budget_seconds)  # fmt: skip
        if options.only != "shapes":
            rows += questions(
                folder / "questions", sample=options.sample, budget=options.budget_seconds
            )
    write_record("visual_questions" + (f"-{options.only}" if options.only else ""), rows)


@contextmanager
def _folder(folder: Path | None) -> Any:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def _log(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


# ---------------------------------------------------------------- shapes


def shapes(
    folder: Path, *, pictures: int, seeds: int, sample: int, budget: float | None
) -> list[Row]:
    """Run the visual setting end to end."""
    from benchmarks.shapes import write_rows

    files = {
        name: write_rows(folder / name, pictures=count, questions=4, seed=seed)
        for seed, (name, count) in enumerate(
            {"train": pictures, "dev": 300, "test": 500}.items(), start=1
        )
    }
    training = _read(files["train"])
    model = _trained(training, [row["answer"] for row in training], 0, folder=folder)
    (folder / "model.pt").unlink(missing_ok=True)
    model.save(folder / "model.pt")
    rows = [Row("the network", {
        name: round(_accuracy(model, _read(file)), 3) for name, file in files.items()
    } | {"questions of training": len(training)})]  # fmt: skip
    _log(f"accuracy {rows[0].figures}")
    asked: dict[str, Any] = {
        "text": "question", "label": "answer", "image": "image", "choices": "choices",
    }  # fmt: skip
    accepted = _accepted(
        _discovered(model, str(files["dev"]), folder, sample=sample, budget=budget, asked=asked)
    )
    rows += _table_2("shapes", accepted, model, str(files["test"]), folder=folder, asked=asked)
    if not accepted.rules:
        return [*rows, Row("shapes: repaired", {}, "a rule that people accept", reached=False)]

    def train(options: Sequence[Mapping[str, str]], labels: Sequence[str], seed: int) -> Any:
        return _trained(options, labels, seed, folder=folder)

    done = sears.fix(
        str(files["train"]), str(files["test"]), accepted, train=train, seeds=seeds,
        amount=_AMOUNT,
        **asked,
    )  # fmt: skip
    done.save(folder / "fix.json")
    induced, held_out = done.repair.sensitivity, done.repair.validation
    before, after = induced.original.error or 0, induced.augmented.error or 0
    gone = 1 - after / before if before else 0.0
    return [
        *rows,
        Row(
            "shapes: error on the rewrites of right rows (Table 6)",
            {**_errors(induced), "share gone": round(gone, 2), "seeds": seeds,
             "rows": done.repair.training_rows, "rows added": done.repair.added},
            f"{_GONE:.0%} gone", "all", gone >= _GONE,
        ),
        Row("shapes: error on held-out rows (Table 6)", _errors(held_out)),
    ]  # fmt: skip


def _errors(report: Any) -> dict[str, float | int | str]:
    return {
        name: f"{each.error or 0:.1%} ({each.interval[0]:.1%} to {each.interval[1]:.1%})"
        for name in ("original", "augmented", "control")
        if (each := getattr(report, name)) is not None
    }


def _read(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return [{**row, "image": str(file.parent / row["image"])} for row in csv.DictReader(opened)]


def _trained(
    rows: Sequence[Mapping[str, str]], answers: Sequence[str], seed: int, *, folder: Path
) -> Any:
    """A network for these rows and this seed, trained once."""
    from benchmarks.shapes import Answerer, train

    identity = json.dumps([[(r["question"], Path(r["image"]).name) for r in rows], list(answers),
                       seed, _PASSES])  # fmt: skip
    place = folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.pt"
    if not place.exists():
        _log(f"training on {len(rows):,} questions, seed {seed}")
        train(rows, answers, seed, passes=_PASSES, report=_log).save(place)
    return Answerer.load(place)


def _accuracy(model: Any, rows: Sequence[Mapping[str, str]]) -> float:
    answers = [answer for answer, _ in model.predict(rows)]
    return sum(a == row["answer"] for a, row in zip(answers, rows, strict=True)) / len(rows)


# ---------------------------------------------------------------- questions alone


class QuestionOnly:
    """Naive Bayes over single words of a question, pairs and triples."""

    def __init__(self, asked: Sequence[str], answers: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.naive_bayes import ComplementNB
        from sklearn.pipeline import make_pipeline

        from benchmarks.shapes import words

        self._pipeline = make_pipeline(
            CountVectorizer(
                ngram_range=(1, 3), min_df=3, binary=True, tokenizer=words, token_pattern=None
            ),
            ComplementNB(alpha=0.3),
        )
        self._pipeline.fit(asked, answers)

    def predict(self, asked: Sequence[str]) -> list[str]:
        """The likeliest answer to each question."""
        return [str(answer) for answer in self._pipeline.predict(list(asked))]


def questions(folder: Path, *, sample: int, budget: float | None) -> list[Row]:
    """Run the question-only baseline on VQA v2."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = data_file(_QUESTIONS).read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    pictures = sorted({row["image_id"] for row in rows})
    # Questions about one picture stay in the same part.
    last = {"train": 0.8, "dev": 0.9, "test": 1.0}
    side = {each: next(name for name, end in last.items() if place < end * len(pictures))
            for place, each in enumerate(pictures)}  # fmt: skip
    parts: dict[str, list[dict[str, Any]]] = {name: [] for name in last}
    for row in rows:
        parts[side[row["image_id"]]].append(
            {"question": row["question"], "answers": row["answers"]}
        )
    options = [frequent_answers(row["answers"])[0] for row in parts["train"]]
    common = {answer for answer, _ in Counter(options).most_common(300)}
    known = [(row["question"], answer) for row, answer in zip(parts["train"], options, strict=True)
             if answer in common]  # fmt: skip
    model = QuestionOnly(*map(list, zip(*known, strict=True)))
    asked: dict[str, Any] = {"text": "question", "label": "answers", "comparison": "vqa"}
    figures: dict[str, float | int | str] = {"questions of training": len(known)}
    for name in ("dev", "test"):
        answers = model.predict([row["question"] for row in parts[name]])
        right = sum(normalized_visual_answer(answer) in frequent_answers(row["answers"])
                    for answer, row in zip(answers, parts[name], strict=True))  # fmt: skip
        figures[name] = round(right / len(answers), 3)
    _log(f"question-only baseline: {figures}")
    accepted = _accepted(
        _discovered(model, parts["dev"], folder, sample=sample, budget=budget, asked=asked)
    )
    return [
        Row("question-only baseline (no pictures)", figures),
        *_table_2("question-only", accepted, model, parts["test"], folder=folder, asked=asked),
    ]


# ---------------------------------------------------------------- both


def _discovered(
    model: Any,
    rows: object,
    folder: Path,
    *,
    sample: int,
    budget: float | None,
    asked: Mapping[str, Any],
) -> sears.Ruleset:
    """The rules that discovery finds, or found there before."""
    place = folder / "found.sear"
    if not place.exists():
        discovery = sears.discover(
            model, rows, sample=sample, rules=20, budget_seconds=budget, **asked
        )
        discovery.save(place)
        _log(discovery.summary)
    return sears.load(place)


def _accepted(ruleset: sears.Ruleset) -> sears.Ruleset:
    """The rules that a person accepted."""
    with _JUDGED.open(encoding="utf-8", newline="") as file:
        judged = {
            row["rule"]: row["verdict"]
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        }

    def is_accepted(rule: sears.Rule) -> bool:
        text = print_rule(rule)
        verdict = judged.get(text, "not judged")
        _log(f"{verdict}: {text}")
        return verdict == "accept"

    return ruleset.filter(is_accepted)


def _table_2(
    name: str,
    rules: sears.Ruleset,
    model: Any,
    test: object,
    *,
    folder: Path,
    asked: Mapping[str, Any],
) -> list[Row]:
    """Each accepted rule with examples and the share of right test rows that it flips."""
    if not rules.rules:
        return []
    audit = sears.audit(model, test, rules, scorer=None, **asked)
    audit.save(folder / "audit")
    total = audit.document.together.accuracy
    rows = [] if total is None else [Row(f"{name}: accuracy on test rows", {
        "before": round(total.before.rate or 0, 3),
        "against the worst rule for each row": round(total.worst.rate or 0, 3),
    })]  # fmt: skip
    right = total.before.count if total is not None else 1
    for each in sorted(audit.rules, key=lambda one: -one.flips.count):
        shown = "; ".join(
            f"{one.rewritten} {one.before} → {one.after}"
            for one in each.examples[:_EXAMPLES] if one.failed
        )  # fmt: skip
        rows.append(Row(f"{name}: {each.rule}", {
            "flips": f"{each.flips.count} of {each.flips.total} right rows that it changes",
            "of all right rows": f"{each.flips.count / right:.1%}", "examples": shown,
        }))  # fmt: skip
    return rows


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
