"""How well a careful reader does on the sets where the judge does less well than asked.

There are two sets. One are pairs of QQP that differ in 1 to 4 words, as in `judge_agreement`: a
reader says how likely it is that both ask the same. The other are real sentences, each unchanged or
after a rule that readers rejected (`grammar.REJECTED`): a reader who sees nothing else says how
sure it is that something is wrong with the English. The area under the ROC curve is compared with
that of the scorer (``meaning``, or the deep network of the grammar). This shows how much of a
scorer's errors is due to the labels, and how much to what it does not know.

    python -m benchmarks.careful_readers sheet FOLDER    writes questions.tsv and sentences.tsv
    python -m benchmarks.careful_readers fold FOLDER     puts two readings into careful_readers.tsv
    python -m benchmarks.careful_readers                 the areas

A reader fills in the column ``says`` with 0 to 10, see `ASKED`. The lines are drawn at random, and
their order does not betray the label. The repository holds the hashes of what was read, and the
answers of two readers. Bias: the readers are language models, and may have seen QQP.
"""

from __future__ import annotations

import csv
import hashlib
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.grammar import REJECTED, rewrites, unseen
from benchmarks.judged_pairs import load_set
from benchmarks.record import ROOT, Row, read_options, write_record
from sears_dsl.judge.grammar import load_grammar
from sears_dsl.meaning.calibration import area_interval, operating_curve
from sears_dsl.meaning.scorers import load_scorer
from sears_dsl.runtime.array_types import Floats

READINGS = ROOT / "benchmarks" / "careful_readers.tsv"
ASKED = {
    "questions": "Do both questions ask the same, so that one answer would do for both? "
    "0: surely not, 10: surely",
    "sentences": "Is something wrong with the English of this text, beyond how people write in "
    "such places? 0: surely not, 10: surely",
}
_PAIRS = 300
_OF_A_RULE = 60
_SEED = 31

Lines = list[tuple[tuple[str, ...], bool]]
"""What is read, and whether its label should get the higher score."""


def questions() -> Lines:
    """Pairs of QQP, and whether people called them duplicates."""
    judged = load_set("QQP", pairs=_PAIRS)
    return list(zip(judged.pairs, judged.equivalent.tolist(), strict=True))


def sentences() -> Lines:
    """Texts of unseen kinds, and whether a rejected rule changed them."""
    chance = random.Random(_SEED)
    texts = [text for text in unseen()[:5000] if len(text) < 400]
    lines: Lines = []
    for rule in REJECTED:
        pairs = rewrites(rule, texts)
        for pair in chance.sample(pairs, min(_OF_A_RULE, len(pairs))):
            after = chance.random() < 0.5
            lines.append(((pair[after],), after))
    return lines


def _hash(line: Sequence[str]) -> str:
    return hashlib.sha256("\t".join(line).encode()).hexdigest()[:16]


def write_sheets(folder: Path) -> None:
    """Write two files for a reader, ordered by hash."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (("questions", questions()), ("sentences", sentences())):
        distinct = sorted({line for line, _ in lines}, key=_hash)
        with (folder / f"{name}.tsv").open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file, delimiter="\t")
            out.writerow(("item", "one", "other")[: len(distinct[0]) + 1])
            out.writerows((_hash(line), *line) for line in distinct)


def fold(folder: Path) -> None:
    """Merge two readings of each sheet: NAME.first.tsv and NAME.second.tsv."""
    rows = []
    for name in ASKED:
        first, second = (_answers(folder / f"{name}.{which}.tsv") for which in ("first", "second"))
        rows += [(name, item, first[item], second[item]) for item in sorted(first)]
    with READINGS.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, delimiter="\t", lineterminator="\n")
        out.writerows([("sheet", "item", "first", "second"), *rows])


def _answers(path: Path) -> dict[str, int]:
    with path.open(encoding="utf-8", newline="") as file:
        return {row["item"]: int(row["says"]) for row in csv.DictReader(file, delimiter="\t")}


def _area(name: str, scores: Floats, good: Sequence[bool]) -> Row:
    labels = np.asarray(good)
    area = operating_curve(scores, labels).area
    some = int(labels.sum())
    low, high = area_interval(area, equivalent=some, different=len(labels) - some)
    return Row(name, {"lines": len(labels), "area": f"{area:.3f} [{low:.3f}, {high:.3f}]"})


def measure() -> list[Row]:
    """The areas of each reader, of both together, and of the scorer on the same lines."""
    with READINGS.open(encoding="utf-8", newline="") as file:
        answers = {
            (row["sheet"], row["item"]): (int(row["first"]), int(row["second"]))
            for row in csv.DictReader(file, delimiter="\t")
        }
    meaning, grammar = load_scorer("meaning"), load_grammar()
    rows = []
    for name, lines in (("questions", questions()), ("sentences", sentences())):
        good = [label for _, label in lines]
        readings = np.asarray([answers[name, _hash(line)] for line, _ in lines], float)
        if name == "questions":
            scores = meaning.scores([(line[0], line[1]) for line, _ in lines])
        else:
            scores = np.asarray(grammar.surprise([line[0] for line, _ in lines]))
        rows += [
            _area(f"{name}: the scorer", scores, good),
            _area(f"{name}: first reader", readings[:, 0], good),
            _area(f"{name}: second reader", readings[:, 1], good),
            _area(f"{name}: both readers", readings.mean(1), good),
        ]
    return rows


def main() -> None:
    """Run the command that the module describes."""
    match read_options(__doc__, words="COMMAND").words:
        case ["sheet", folder]:
            write_sheets(Path(folder))
        case ["fold", folder]:
            fold(Path(folder))
        case []:
            write_record("careful_readers", measure())
        case _:
            sys.exit("careful_readers: sheet FOLDER, fold FOLDER, or nothing")


if __name__ == "__main__":
    main()
