"""Would a careful reader accept the rules that the search proposes when it knows no rules?

Method: the model under test knows its rows by heart and says something else of any other text. So
each change of a row is a flip, and every rule that passes the filter is shown, whatever a real
model would say. A run searches 300 rows of a kind of text with the default settings, except for
``--no-known``, the number of rules, nothing held out, and δ = 0.2 instead of 0.1. A rule comes with
a bound on the share of its rewrites that readers accept, so the same run shows what another δ would
let through. Two readers read twenty rewrites of each rule blind, and judge it by `judging.md`.

    python -m benchmarks.filter_alone run judge imdb trec    writes RUNS/alone/judge/KIND/found.sear
    python -m benchmarks.filter_alone unread judge imdb      beside it new.sear: what nobody read
    python -m benchmarks.discovery_quality sheet KIND=RUNS/alone/judge/KIND/new.sear --draw 7 ...
    python -m benchmarks.filter_alone fold judge FIRST SECOND FOLDER    into filter_alone.tsv
    python -m benchmarks.filter_alone                        rules accepted, by their bound

Bias: many of the changes had been read before, in other texts, and count in the judge; the readers
are language models. A rule has a line for each kind of text that it came from. What readers said of
it there counts for each scorer that lets it pass, since its rewrites are the same.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import sears_dsl
from benchmarks.discovery_quality import CELLS, RUNS, accepted, read_verdicts
from benchmarks.record import ROOT, Row, read_options, write_record
from sears_dsl.language.printer import print_rule
from sears_dsl.statistics import wilson_interval

READ = ROOT / "benchmarks" / "filter_alone.tsv"
_COLUMNS = ("scorer", "kind", "rule", "bound", "rewrites", "first", "second", "accepted")
_DRAW, _ROWS, _SEED, _LONGEST = 7, 300, 77, 300
_BANDS = (1.0, 0.9, 0.85, 0.8)
_MODEL = """\
import csv

with open("rows.csv", encoding="utf-8", newline="") as file:
    KNOWN = {row["text"] for row in csv.DictReader(file)}


def predict(texts):
    return ["good" if text in KNOWN else "bad" for text in texts]
"""
_OPTIONS = (
    "--no-known", "--delta", "0.2", "--rules", "100", "--holdout", "0", "--minimum-flips", "1",
    "--jobs", "1", "--yes", "--restart",
)  # fmt: skip


def run(scorer: str, kind: str) -> None:
    """Search 300 rows of a kind of text for rules."""
    cell = next(each for each in CELLS if each.kind == kind)
    texts = sorted({row[cell.column] for row, _ in cell.texts(_DRAW).rows})
    random.Random(_SEED).shuffle(texts)
    folder = _folder(scorer, kind)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(("text", "label"))
        out.writerows((text, "good") for text in [t for t in texts if len(t) < _LONGEST][:_ROWS])
    (folder / "by_heart.py").write_text(_MODEL, "utf-8")
    program = [sys.executable, "-c", "from sears_dsl.cli.main import main; main()"]
    words = ["discover", "--model", "by_heart:predict", "--data", "rows.csv", "--column", "text"]
    words += ["--label", "label", "-o", "found.sear", *_OPTIONS, "--scorer", scorer]
    subprocess.run([*program, *words], cwd=folder, check=True)


def _folder(scorer: str, kind: str) -> Path:
    return RUNS / "alone" / scorer / kind


def unread(scorer: str, kind: str) -> None:
    """Write the rules that nobody read in this kind of text; count those that were read."""
    folder = _folder(scorer, kind)
    rules = sears_dsl.load(folder / "found.sear")
    read = {row["rule"]: row for row in _rows() if row["kind"] == kind}
    known = [text for rule in rules if (text := _unquoted(print_rule(rule))) in read]
    rows = [{**read[rule], "scorer": scorer, "bound": str(_bound(scorer, kind, rule))}
            for rule in known]  # fmt: skip
    _write([*_rows(), *rows])
    new = rules.filter(lambda rule: _unquoted(print_rule(rule)) not in read)
    new.save(folder / "new.sear")
    print(f"{scorer}, {kind}: {len(rules)} rules, {len(new)} of them to be read")


def _write(rows: Sequence[dict[str, str]]) -> None:
    """Write the table, with each scorer, kind and rule once."""
    by_key = {(row["scorer"], row["kind"], row["rule"]): row for row in rows}
    with READ.open("w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, _COLUMNS, delimiter="\t", lineterminator="\n")
        out.writeheader()
        out.writerows(by_key[key] for key in sorted(by_key))


def fold(scorer: str, first: Path, second: Path, folder: Path) -> None:
    """Add a row for each rule from two readings of a sheet."""
    verdicts = [read_verdicts(first), read_verdicts(second)]
    items: dict[str, list[int]] = defaultdict(list)
    with (folder / "windows.tsv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file, delimiter="\t"):
            items[line["entry"]].append(int(line["item"]))
    rows = _rows()
    for entry, about in json.loads((folder / "key.json").read_text("utf-8")).items():
        kind, rule = about["kind"], _unquoted(about["rule"])
        both = [[of_reader[item] for item in items[entry]] for of_reader in verdicts]
        good = [some.count("1") for some in both]
        bound = _bound(scorer, kind, rule)
        numbers = (bound, len(both[0]), *good, int(all(map(accepted, both))))
        row = (scorer, kind, rule, *map(str, numbers))
        rows.append(dict(zip(_COLUMNS, row, strict=True)))
    _write(rows)


def _bound(scorer: str, kind: str, rule: str) -> float:
    manifest = json.loads((_folder(scorer, kind) / "found.manifest.json").read_text("utf-8"))
    return next(
        round(each["judged"]["low"], 4)
        for each in manifest["rules"]
        if _unquoted(each["rule"]) == rule
    )


def _unquoted(text: str) -> str:
    """The text of a rule without the quotes that it has where it stands beside listed ones."""
    return text.replace('"', "")


def _rows() -> list[dict[str, str]]:
    if not READ.exists():
        return []
    with READ.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def measure() -> list[Row]:
    """How many rules both readers accept in each band of the bound, and of each kind."""
    results = []
    for scorer in sorted({row["scorer"] for row in _rows()}):
        rows = [row for row in _rows() if row["scorer"] == scorer]
        for above, least in pairwise(_BANDS):
            some = [row for row in rows if least <= float(row["bound"]) < above]
            name = f"{scorer}: readers accept at least {least:.0%} to {above:.0%} of the rewrites"
            results.append(Row(name, _figures(some)))
        passed = [row for row in rows if float(row["bound"]) >= _BANDS[1]]
        for kind in sorted({row["kind"] for row in rows}):
            of_kind = [row for row in passed if row["kind"] == kind]
            results.append(Row(f"{scorer}: {kind}, by default", _figures(of_kind)))
    return results


def _figures(rows: Sequence[dict[str, str]]) -> dict[str, float | int | str]:
    good = sum(int(row["accepted"]) for row in rows)
    low, high = wilson_interval(good, len(rows)) if rows else (0.0, 1.0)
    return {"rules": len(rows), "both accept": good, "95%": f"{low:.0%} to {high:.0%}"}


def main() -> None:
    """Run the command that the module describes."""
    match read_options(__doc__, words="COMMAND").words:
        case ["run", scorer, *kinds] if kinds:
            for kind in kinds:
                run(scorer, kind)
        case ["unread", scorer, *kinds] if kinds:
            for kind in kinds:
                unread(scorer, kind)
        case ["fold", scorer, first, second, folder]:
            fold(scorer, Path(first), Path(second), Path(folder))
        case []:
            write_record("filter_alone", measure())
        case _:
            sys.exit(
                "filter_alone: run SCORER KIND..., unread SCORER KIND..., "
                "fold SCORER FIRST SECOND FOLDER, or nothing"
            )


if __name__ == "__main__":
    main()
