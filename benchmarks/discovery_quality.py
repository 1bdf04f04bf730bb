"""Would a careful reader accept the rules that discovery finds, and what do they cost?

A cell is a small model of `quality_models` with a kind of text, see `CELLS`. In each, `sears
discover` runs from a shell with its default settings, as a user would run it: a file of rows in, a
ruleset and its manifest out.

    python -m benchmarks.discovery_quality run                  all cells, one after another
    python -m benchmarks.discovery_quality run sst-cnn --system new --rows 200
    python -m benchmarks.discovery_quality run --system next --draw 1    on other rows
    python -m benchmarks.discovery_quality sheet new products=benchmarks/earlier_rules.sear
    python -m benchmarks.discovery_quality merge one.tsv two.tsv

``run`` saves the result of a cell in ``.cache/discovery-quality/SYSTEM/CELL.json`` and prints it:
rules (separately those known before the run); how many right rows they flip, among those that
discovery held out and among fresh ones that it never saw, with 95% intervals (Wilson); questions
for each right row (counted by the model itself); minutes. ``sheet`` draws 20 rewrites of every rule
of every system (or of a ruleset, for a kind of text), from rows of that kind. The sheet names
neither the system nor the rule; its key is in another file. ``merge`` takes two readings by the
criteria of `judging.md` and says how far they agree, how many rules of each system are accepted,
and what the accepted ones flip.

Method and bias: the held-out rows are those of the run itself, identified by their hashes. So the
flips counted here, by the model and the engine alone, have to equal those of the manifest; any
difference is printed. Each draw gives discovery the rows behind those of the draw before, starting
again at the beginning where there are not enough (all of films, half of SST), and holds out others;
the models are the same. The models are small and fail often. Of a sheet the repository holds only a
window around each edit and the hash of its sentence.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import html
import io
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import joblib

from benchmarks.quality_models import TRAINERS, Model
from benchmarks.record import ROOT, Row, data_file, write_record
from benchmarks.small_reader import read_squad
from sears_dsl.answers import Comparison, answers_equal
from sears_dsl.effects.lots import hold_out
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.matches import Edit
from sears_dsl.language.loader import load
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.statistics import wilson_interval
from sears_dsl.vetting.merging import cohen_kappa

RUNS = ROOT / ".cache" / "discovery-quality"
REWRITES = 20
ACCEPTED = 0.9  # share of a rule's rewrites
FRESH = 1000  # most rows that discovery never sees
SEED = 12
WINDOW = 30  # characters of a sentence shown on each side of an edit

Labelled = list[tuple[str, str]]
"""Texts with their labels."""
Rows = list[tuple[dict[str, str], tuple[str, ...]]]
"""Columns of a row, and the answers that count as right."""
T = TypeVar("T")
Rewritten = tuple[str, Sequence[Edit]]
"""A text, and its edits."""


@dataclass(frozen=True, slots=True)
class Texts:
    """A kind of text.

    Attributes:
        learned: the texts that models are trained on.
        rows: the rows for discovery: column → text, and the answers that count as right. No model
            is trained on one of them.
        fresh: rows that neither saw.
    """

    learned: Any
    rows: Rows
    fresh: Rows


@dataclass(frozen=True, slots=True)
class Cell:
    """A model, a draw of texts, the column that rules rewrite, the column read beside it."""

    name: str
    model: str
    texts: Callable[[int], Texts]
    column: str = "text"
    also: str | None = None

    @property
    def kind(self) -> str:
        """The kind of text."""
        return self.name.split("-")[0]


def _texts(learned: Labelled, others: Labelled, rows: int, draw: int) -> Texts:
    """Shuffle the others; discovery gets the first of them, and the next ones are fresh.

    Others that were learned too are left out.
    """
    others = list(dict.fromkeys(others))
    random.Random(SEED).shuffle(others)
    known = {text for text, _ in learned}
    others = [(text, label) for text, label in others if text not in known]
    asked: Rows = [({"text": text}, (label,)) for text, label in _behind(others, rows * draw)]
    asked = asked[: rows + FRESH]
    return Texts(
        ([text for text, _ in learned], [label for _, label in learned]), asked[:rows], asked[rows:]
    )


def _behind(rows: Sequence[T], taken: int) -> list[T]:
    """The rows from ``taken`` on, then those before it.

    Example:
        >>> _behind("abcde", 3)
        ['d', 'e', 'a', 'b', 'c']
    """
    first = taken % len(rows)
    return [*rows[first:], *rows[:first]]


def _lines(name: str, separator: str, encoding: str = "utf-8") -> Labelled:
    """Texts and labels of a file with lines of ``label SEPARATOR text``."""
    lines = data_file(name).read_text(encoding).split("\n")
    pairs = (line.split(separator, 1) for line in lines if separator in line)
    return [(text.strip(), label) for label, text in pairs]


def _films(draw: int) -> Texts:
    learned = _lines("sentiment/rt.tsv", "\t")
    return _texts(learned, _lines("sentiment/imdb.tsv", "\t"), 1000, draw)


def _sst(draw: int) -> Texts:
    learned = _lines("sst2/stsa.binary.train", " ")
    return _texts(learned, _lines("sst2/stsa.binary.dev", " "), 600, draw)


def _trec(draw: int) -> Texts:
    lines = _lines("classify/trec_train.label", " ", "latin-1")
    pairs = [(text, label.split(":")[0]) for text, label in lines]
    return _texts(pairs[:3500], pairs[3500:], 600, draw)


def _sms(draw: int) -> Texts:
    pairs = _lines("classify/sms_spam.tsv", "\t")
    return _texts(pairs[:3500], pairs[3500:], 600, draw)


def _products(draw: int) -> Texts:
    """Snippets of product reviews, labelled by the sign of their ratings."""
    from demo.reviews import fetch

    member = "hutto_ICWSM_2014/amazonReviewSnippets_GroundTruth.txt"
    with tarfile.open(fetch(ROOT / ".cache")) as outer:
        name = next(each for each in outer.getnames() if each.endswith("hutto_ICWSM_2014.tar.gz"))
        inner = outer.extractfile(name)
        if inner is None:
            sys.exit(f"discovery_quality: no {name} in the archive")
        with tarfile.open(fileobj=io.BytesIO(inner.read())) as files:
            archived = files.extractfile(member)
            if archived is None:
                sys.exit(f"discovery_quality: no {member} in the archive")
            lines = [
                line.split("\t", 2) for line in archived.read().decode("utf-8-sig").splitlines()
            ]
    pairs = [
        (html.unescape(text).strip(), "positive" if float(rating) > 0 else "negative")
        for _, rating, text in lines
        if abs(float(rating)) >= 0.5
    ]
    random.Random(SEED).shuffle(pairs)
    return _texts(pairs[:1600], pairs[1600:], 600, draw)


def _questions(draw: int) -> Texts:
    """One question of each paragraph; the reader also sees the paragraph."""
    asked = read_squad(data_file("squad/dev-v1.1.json"))
    random.Random(SEED).shuffle(asked)
    by_context = {each.context: each for each in asked}
    rows = [
        ({"question": each.question.strip(), "context": each.context}, each.answers)
        for each in sorted(by_context.values(), key=lambda each: each.question)
    ]
    random.Random(SEED).shuffle(rows)
    rest = [
        ({"question": each.question.strip(), "context": each.context}, each.answers)
        for each in asked
        if by_context[each.context] is not each
    ]
    learned = read_squad(data_file("squad/train-v1.1-part.json"))
    random.Random(SEED).shuffle(learned)
    rows = _behind(rows, 1000 * draw)
    return Texts((learned[:10000],), rows[:1000], [*rows[1000:], *rest][:FRESH])


CELLS = (
    Cell("imdb-fasttext", "fasttext", _films),
    Cell("imdb-minilm", "minilm", _films),
    Cell("sst-linear", "linear", _sst),
    Cell("sst-cnn", "cnn", _sst),
    Cell("squad-reader", "reader", _questions, "question", "context"),
    Cell("trec-cnn", "cnn", _trec),
    Cell("sms-fasttext", "fasttext", _sms),
    Cell("products-linear", "linear", _products),
)


# ---------------------------------------------------------------- run


@dataclass(frozen=True, slots=True)
class Counted:
    """The numbers of the right rows of a part that a rule changes, and that it flips."""

    changed: list[int]
    flips: list[int]


@dataclass(frozen=True, slots=True)
class FoundHere:
    """A rule of a run.

    Attributes:
        rule: its canonical text.
        known: whether a ruleset had it before the run.
        held_out: its effect on right rows that discovery held out.
        fresh: its effect on right rows that discovery never saw.
    """

    rule: str
    known: bool
    held_out: Counted
    fresh: Counted


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a cell, as its file has it."""

    cell: str
    system: str
    minutes: float
    accuracy: float
    rows: int
    right: int
    asked: int
    held_out: int
    fresh: int
    differs: list[str]
    rules: list[FoundHere]


def was_known(rule: Rule) -> bool:
    """Whether a ruleset already had a rule of a result file before the run.

    The file says so itself. Comparing texts would not do, since a set that comes along with a rule
    may get another name.
    """
    return (rule.metadata.author or "").startswith("known: ")


def trained(cell: Cell, texts: Texts) -> Path:
    """The file of a cell's model, trained if it is missing."""
    path = RUNS / "models" / f"{cell.name}.joblib"
    if not path.exists():
        started = time.perf_counter()
        model = TRAINERS[cell.model](*texts.learned)
        path.parent.mkdir(parents=True, exist_ok=True)
        joblib.dump(model, path)
        print(f"{cell.name}: trained in {time.perf_counter() - started:.0f} s", flush=True)
    return path


def run(
    cell: Cell, *, system: str, package: Path, rows: int | None, draw: int, options: list[str]
) -> Run:
    """Discover with the default settings, and count the effects of the rules independently.

    Args:
        cell: the model and the text.
        system: a name for the code that runs.
        package: the checkout whose code runs.
        rows: how many rows discovery gets; None means the cell's number.
        draw: which rows are used, and the seed of the run.
        options: further options of `sears discover`.
    """
    texts = cell.texts(draw)
    rows_given = texts.rows[:rows]
    model_file = trained(cell, texts)
    folder = RUNS / system / cell.name
    folder.mkdir(parents=True, exist_ok=True)
    data, note, rules_file = folder / "rows.jsonl", folder / "asked.txt", folder / "found.sear"
    data.write_text(
        "".join(
            json.dumps({**row, "label": list(gold)}, ensure_ascii=False) + "\n"
            for row, gold in rows_given
        ),
        "utf-8",
    )
    command = [
        sys.executable, "-c", "import sys; from sears_dsl.cli import main; sys.exit(main())",
        "discover", "--batch-size", "4096", "--model", "benchmarks.quality_models:model",
        "--data", str(data), "--column", cell.column, "--label", "label", "-o", str(rules_file),
        "--seed", str(draw), *options,
        *(["--also", cell.also, "--compare", "squad"] if cell.also else []),
    ]  # fmt: skip
    environment = os.environ | {
        "PYTHONPATH": f"{package}{os.pathsep}{ROOT}",
        "QUALITY_MODEL": str(model_file),
        "QUALITY_ASKED": str(note),
    }
    started = time.perf_counter()
    subprocess.run(command, check=True, env=environment, cwd=folder)
    minutes = (time.perf_counter() - started) / 60
    manifest = json.loads(rules_file.with_suffix(".manifest.json").read_text("utf-8"))
    counting = _Counting(joblib.load(model_file), cell)
    here, there = counting.right(rows_given), counting.right(texts.fresh)
    share, seed = manifest["settings"]["holdout"], manifest["settings"]["seed"]
    named = [row[cell.column] for row, _ in here]
    held_out = (
        [here[place] for place in hold_out(named, seed=seed, share=share)[1]] if share else []
    )
    ruleset = load(rules_file)
    rules = [
        FoundHere(print_rule(rule), was_known(rule), *both)
        for rule, *both in zip(
            ruleset.rules, counting.of(ruleset, held_out), counting.of(ruleset, there), strict=True
        )
    ]
    done = Run(
        cell=cell.name, system=system, minutes=round(minutes, 2), rows=len(rows_given),
        right=len(here), accuracy=round(len(here) / len(rows_given), 3),
        asked=int(note.read_text("utf-8")), held_out=len(held_out),
        fresh=len(there), differs=_differing(rules, manifest), rules=rules,
    )  # fmt: skip
    path = RUNS / system / f"{cell.name}.json"
    path.write_text(json.dumps(asdict(done), indent=1, ensure_ascii=False) + "\n", "utf-8")
    return done


class _Counting:
    """Counts flips row by row, with nothing but the model and the engine."""

    def __init__(self, model: Model, cell: Cell) -> None:
        self._model, self._column = model, cell.column
        self._comparison: Comparison = "squad" if cell.also else "exact"

    def right(self, rows: Rows) -> Rows:
        """The rows on which the model is right."""
        return [row for row, wrong in zip(rows, self._wrong(rows), strict=True) if not wrong]

    def of(self, ruleset: Ruleset, rows: Rows) -> list[Counted]:
        """The effect of each rule on right rows."""
        counted = [Counted([], []) for _ in ruleset.rules]
        if not ruleset.rules:
            return counted
        rewrites = compile_rules([ruleset]).apply([row[self._column] for row, _ in rows])
        written = [
            ({**rows[each.row][0], self._column: each.text}, rows[each.row][1]) for each in rewrites
        ]
        for each, wrong in zip(rewrites, self._wrong(written), strict=True):
            counted[each.rule].changed.append(each.row)
            if wrong:
                counted[each.rule].flips.append(each.row)
        return counted

    def _wrong(self, rows: Rows) -> list[bool]:
        if not rows:
            return []
        asked = [row if len(row) > 1 else row[self._column] for row, _ in rows]
        return [
            not answers_equal(str(answer), gold, comparison=self._comparison)
            for answer, (_, gold) in zip(self._model.predict(asked), rows, strict=True)
        ]


def _differing(rules: Sequence[FoundHere], manifest: Any) -> list[str]:
    """Rules whose held-out numbers in the manifest differ from those counted here."""
    manifest_counts = {each["rule"]: each["held_out"] for each in manifest["rules"]}
    return [
        f"{each.rule}: {len(each.held_out.flips)} of {len(each.held_out.changed)} here, "
        f"{expected['flips']} of {expected['changed']} there"
        for each in rules
        if (expected := manifest_counts.get(each.rule))
        and (len(each.held_out.flips), len(each.held_out.changed))
        != (expected["flips"], expected["changed"])
    ]


def _share(some: int, of: int) -> str:
    low, high = wilson_interval(some, of)
    return f"{some} of {of} ({low:.1%} to {high:.1%})" if of else "0 of 0"


def _together(counted: Iterable[Counted]) -> int:
    return len({row for each in counted for row in each.flips})


def row_of(run_: Run) -> Row:
    """A line of the record."""
    return Row(
        f"{run_.cell}, {run_.system}",
        {
            "accuracy": run_.accuracy,
            "new rules": sum(not each.known for each in run_.rules),
            "known rules": sum(each.known for each in run_.rules),
            "held out flipped": _share(
                _together(each.held_out for each in run_.rules), run_.held_out
            ),
            "fresh flipped": _share(_together(each.fresh for each in run_.rules), run_.fresh),
            "questions a right row": round(run_.asked / max(1, run_.right), 1),
            "minutes": run_.minutes,
            "counted otherwise by the manifest": len(run_.differs),
        },
    )


# ---------------------------------------------------------------- sheet


@dataclass(frozen=True, slots=True)
class Entry:
    """A rule on a kind of text; a reader judges it without knowing it.

    Attributes:
        kind: the kind of text.
        rule: canonical text.
        runs: (system, cell) of the runs that gave the rule.
        rewrites: originals with their edits.
    """

    kind: str
    rule: str
    runs: list[tuple[str, str]]
    rewrites: list[Rewritten]


def entries(systems: Sequence[str], *, draw: int = 0) -> list[Entry]:
    """Every rule of the systems' runs on the rows of a draw, with rewrites; shuffled."""
    runs: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    written_by: dict[tuple[str, str], tuple[Ruleset, int]] = {}
    for system in systems:
        kind, _, file = system.partition("=")
        files = [(Path(file), kind, kind)] if file else [
            (RUNS / system / cell.name / "found.sear", cell.kind, cell.name) for cell in CELLS
        ]  # fmt: skip
        for path, kind, where in files:
            if not file and not path.exists():
                continue
            ruleset = load(path)
            for number, rule in enumerate(ruleset.rules):
                key = kind, print_rule(rule)
                runs[key].append((path.stem if file else system, where))
                written_by.setdefault(key, (ruleset, number))
    wanted = {kind for kind, _ in runs}
    texts = {cell.kind: _readable(cell, draw) for cell in CELLS if cell.kind in wanted}
    drawn = [
        Entry(kind, rule, runs[kind, rule], _drawn(*written_by[kind, rule], texts[kind]))
        for kind, rule in sorted(runs)
    ]
    random.Random(SEED).shuffle(drawn)
    return drawn


def _readable(cell: Cell, draw: int) -> list[list[str]]:
    """Texts of a cell: the rows and the fresh ones, then those that the model learned from."""
    texts = cell.texts(draw)
    near = [row[cell.column] for row, _ in [*texts.rows, *texts.fresh]]
    first = texts.learned[0]
    far = [each if isinstance(each, str) else each.question for each in first]
    return [list(dict.fromkeys(near)), list(dict.fromkeys(far))]


def _drawn(ruleset: Ruleset, number: int, texts: Sequence[list[str]]) -> list[Rewritten]:
    """Draw rewrites of a rule, from the further texts only if there are not enough."""
    # Compile the whole ruleset, since the rule needs its sets and options.
    matcher = compile_rules([ruleset])
    drawn: list[Rewritten] = []
    for some in texts:
        if len(drawn) == REWRITES:
            break
        rewrites = [each for each in matcher.apply(some) if each.rule == number]
        random.Random(f"{SEED} {print_rule(ruleset.rules[number])}").shuffle(rewrites)
        drawn += [(each.original, each.edits) for each in rewrites[: REWRITES - len(drawn)]]
    return drawn


def window(text: str, edits: Sequence[Edit], *, around: int | None = WINDOW) -> str:
    """The text around its edits, each as ``[old → new]``.

    Args:
        text: the original.
        edits: the edits, in order.
        around: characters shown on each side; None for all.

    Where a space appears or disappears at the end of a word, the word is shown too, since nobody
    would see the space alone.

    Example:
        >>> window("I'll come.", [Edit(1, 4, "'ll", " will")])
        "[I'll → I will] come."
    """
    edits = [_with_words(text, edit) for edit in edits]
    first, last = edits[0].start, edits[-1].end
    low = 0 if around is None else max(0, first - around)
    high = len(text) if around is None else min(len(text), last + around)
    shown, place = "", low
    for edit in edits:
        shown += text[place : edit.start] + f"[{edit.old} → {edit.new}]"
        place = edit.end
    whole = ("… " if low else "") + shown + text[place:high] + (" …" if high < len(text) else "")
    return re.sub(r"\s+", " ", whole)


def _with_words(text: str, edit: Edit) -> Edit:
    """The edit extended by the words that it splits or joins with a space."""
    start, end, old, new = edit
    if old[:1].isspace() != new[:1].isspace():
        before = re.search(r"[\w'’]*$", text[:start])
        start = before.start() if before else start
    if old[-1:].isspace() != new[-1:].isspace():
        after = re.match(r"[\w'’]*", text[end:])
        end += after.end() if after else 0
    return Edit(start, end, text[start:end], text[start : edit.start] + new + text[edit.end : end])


def write_sheet(systems: Sequence[str], folder: Path, *, draw: int) -> None:
    """Write ``sheet.tsv`` for readers, ``key.json``, and ``windows.tsv`` for the repository.

    Args:
        systems: the systems whose runs are shown.
        folder: where the files go.
        draw: the draw whose rows are shown.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sheet, windows = [], []
    key: dict[str, Any] = {}
    item = 0
    for number, entry in enumerate(entries(systems, draw=draw), start=1):
        key[str(number)] = {"kind": entry.kind, "rule": entry.rule, "found": entry.runs}
        for original, edits in entry.rewrites:
            item += 1
            sheet.append([item, number, window(original, edits, around=None), "", ""])
            digest = hashlib.sha256(original.encode()).hexdigest()[:16]
            windows.append([item, number, digest, window(original, edits)])
    _write_table(folder / "sheet.tsv", ["item", "entry", "rewrite", "verdict", "why"], sheet)
    _write_table(folder / "windows.tsv", ["item", "entry", "sentence", "rewrite"], windows)
    (folder / "key.json").write_text(json.dumps(key, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"{len(key)} rules, {item} rewrites: {folder}")


def _write_table(path: Path, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
    writer.writerows([head, *rows])
    path.write_text(stream.getvalue(), "utf-8")


# ---------------------------------------------------------------- merge


def read_verdicts(path: Path) -> dict[int, str]:
    """Item → ``1`` (accepted), ``0`` (not) or ``x`` (absurd)."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    wrong = [row["item"] for row in rows if row["verdict"] not in ("1", "0", "x")]
    if wrong:
        sys.exit(f"discovery_quality: {path}: items without verdict 1, 0 or x: {wrong[:10]}")
    return {int(row["item"]): row["verdict"] for row in rows}


def accepted(verdicts: Sequence[str]) -> bool:
    """Whether a reader who gave these verdicts to a rule's rewrites accepts the rule."""
    return (
        bool(verdicts) and "x" not in verdicts and verdicts.count("1") >= ACCEPTED * len(verdicts)
    )


def merge(first: Path, second: Path, folder: Path) -> list[Row]:
    """Report how two readings agree, which rules of each system they accept, and their flips.

    Args:
        first: the sheet, filled in by one reader.
        second: the sheet, filled in by the other.
        folder: holds sheet and key.
    """
    one, other = read_verdicts(first), read_verdicts(second)
    key = json.loads((folder / "key.json").read_text("utf-8"))
    items: dict[str, list[int]] = defaultdict(list)
    with (folder / "windows.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            items[row["entry"]].append(int(row["item"]))
    both = {
        entry: [accepted([verdicts[item] for item in items[entry]]) for verdicts in (one, other)]
        for entry in key
    }
    on_items = cohen_kappa(
        ["1" if one[item] == "1" else "0" for item in one],
        ["1" if other[item] == "1" else "0" for item in one],
    )
    on_rules = cohen_kappa([str(a) for a, _ in both.values()], [str(b) for _, b in both.values()])
    rows = [
        Row(
            "two readings",
            {
                "rewrites": len(one),
                "agreement on rewrites": f"{on_items.observed:.1%}",
                "kappa on rewrites": _kappa(on_items.value),
                "rules": len(key),
                "agreement on rules": f"{on_rules.observed:.1%}",
                "kappa on rules": _kappa(on_rules.value),
            },
        )
    ]
    good = {
        (system, cell, key[entry]["rule"])
        for entry, verdicts in both.items()
        if all(verdicts)
        for system, cell in key[entry]["found"]
    }
    systems = sorted({system for each in key.values() for system, _ in each["found"]})
    for system in systems:
        of = [entry for entry in key if any(system == s for s, _ in key[entry]["found"])]
        figures: dict[str, Any] = {"rules": len(of), "accepted by both": _share(
            sum(all(both[entry]) for entry in of), len(of)
        )}  # fmt: skip
        figures |= {
            f"accepted by the {name}": sum(both[entry][place] for entry in of)
            for place, name in enumerate(("first", "second"))
        }
        rows.append(Row(f"accepted, {system}", figures))
        rows += [_accepted_in(path, good) for path in sorted((RUNS / system).glob("*.json"))]
    return rows


def _accepted_in(path: Path, good: set[tuple[str, str, str]]) -> Row:
    """What the accepted rules of a run flip."""
    result = json.loads(path.read_text("utf-8"))
    rules = [
        each for each in result["rules"] if (result["system"], result["cell"], each["rule"]) in good
    ]
    parts = {
        part: _share(len({row for each in rules for row in each[part]["flips"]}), result[part])
        for part in ("held_out", "fresh")
    }
    return Row(
        f"{result['cell']}, {result['system']}, accepted rules",
        {
            "rules": len(result["rules"]),
            "accepted": len(rules),
            "held out flipped": parts["held_out"],
            "fresh flipped": parts["fresh"],
        },
    )


def _kappa(value: float | None) -> float | str:
    return "undefined" if value is None else round(value, 3)


def main() -> None:
    """Run cells, write the sheet, or merge two readings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [each.name for each in CELLS]
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="discover in cells")
    running.add_argument("cells", nargs="*", metavar="CELL", help=", ".join(names))
    running.add_argument("--system", default="new", help="a name for the code that runs")
    running.add_argument("--package", type=Path, default=ROOT, help="its checkout")
    running.add_argument("--rows", type=int, help="fewer rows, for a trial")
    running.add_argument("--draw", type=int, default=0, help="other rows: 1, 2, …")
    running.add_argument(
        "--option", action="append", default=[], help="an option of sears discover"
    )
    sheet = commands.add_parser("sheet", help="write the sheet for readers")
    sheet.add_argument("systems", nargs="+")
    sheet.add_argument("--draw", type=int, default=0, help="the draw of the runs")
    sheet.add_argument("--folder", type=Path, default=RUNS / "sheet")
    merging = commands.add_parser("merge", help="merge two readings")
    merging.add_argument("first", type=Path)
    merging.add_argument("second", type=Path)
    merging.add_argument("--folder", type=Path, default=RUNS / "sheet")
    arguments = parser.parse_args()
    if arguments.command == "run":
        if unknown := [name for name in arguments.cells if name not in names]:
            running.error(f"{', '.join(unknown)}: the cells are {', '.join(names)}")
        rows = []
        for cell in CELLS:
            if not arguments.cells or cell.name in arguments.cells:
                done = run(
                    cell, system=arguments.system, package=arguments.package.resolve(),
                    rows=arguments.rows, draw=arguments.draw, options=arguments.option,
                )  # fmt: skip
                rows.append(row_of(done))
                print(f"{rows[-1].name}: {rows[-1].figures}", flush=True)
        if arguments.rows is None and not arguments.cells:
            write_record(f"discovery-quality-{arguments.system}", rows)
    elif arguments.command == "sheet":
        write_sheet(arguments.systems, arguments.folder, draw=arguments.draw)
    else:
        write_record(
            "discovery-quality-accepted", merge(arguments.first, arguments.second, arguments.folder)
        )


if __name__ == "__main__":
    main()
