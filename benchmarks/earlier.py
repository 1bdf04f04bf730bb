"""``python -m benchmarks.earlier REVISION``: one row and chains, here and in an earlier version.

In: a revision of this repository. Out: microseconds a row of both versions under the rules that the
earlier one shipped, and how many times as fast this one is: for one text a call with all rules and
with one word, for every rule by itself on batches, and for all rules one after another. The earlier
version is checked out beside this one. Both run in turns, each in a process of its own, and the
least of three runs counts, since machines change their pace from hour to hour. Texts are new to a
process. Verified: the share of chained rows that both write alike; the rest are mended faults.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROUNDS = 3
BATCH, BATCHES = 1_000, 6
SEEN, ASKED = 300, 200
# The version to compare with: it took 12,000 and 290 µs a call, and 400 and 860 µs a row.
FIRST = "2e6b4290"
WANTED = {
    "one text, all rules": 12_000 / 400,
    "one text, one word": 290 / 60,
    "chain, reviews": 400 / 60,
    "chain, encyclopedia": 860 / 90,
}


def _timed(work: Callable[[Sequence[str]], Any], rows: Sequence[str]) -> tuple[float, Any]:
    """Processor time for each row in microseconds, and the result."""
    begin = time.process_time()
    result = work(rows)
    return (time.process_time() - begin) / len(rows) * 1e6, result


def _a_call(matcher: Any, texts: Sequence[str]) -> float:
    """The median time of a call on texts, after a warm-up."""
    for text in texts[:SEEN]:
        matcher.apply([text])
    times = []
    for text in texts[SEEN : SEEN + ASKED]:
        begin = time.process_time()
        matcher.apply([text])
        times.append(time.process_time() - begin)
    return 1e6 * statistics.median(times)


def _here(rules: Path, texts: dict[str, list[str]]) -> dict[str, Any]:
    """The times of the imported version, and the texts that its chains write."""
    import sears_dsl as sears
    from sears_dsl.engine.matcher import compile_rules

    every = compile_rules([sears.load(file) for file in sorted(rules.rglob("*.sear"))])
    word = compile_rules([sears.parse("movie -> film")])
    figures: dict[str, Any] = {}
    for name, rows in texts.items():
        batches = [rows[first : first + BATCH] for first in range(0, len(rows) - BATCH, BATCH)]
        chains = [_timed(every.chain, batch) for batch in batches[::2]]
        applied = [_timed(every.apply, batch)[0] for batch in batches[1::2]]
        figures[f"chain, {name}"] = statistics.median([spent for spent, _ in chains[1:]])
        figures[f"every rule by itself, {name}"] = statistics.median(applied[1:])
        figures[f"written, {name}"] = [row.text for _, rows in chains for row in rows]
    last = texts["encyclopedia"][-SEEN - ASKED :]
    figures["one text, all rules"] = _a_call(every, last)
    figures["one text, one word"] = _a_call(word, [f"A movie: {text}" for text in last])
    return figures


def _run(version: Path, rules: Path, texts: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, "--here", str(rules), str(texts)],
        env={**os.environ, "PYTHONPATH": str(version), "SEARS_COMPILE": "always"},
        cwd=version,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def main() -> None:
    """Measure and record."""
    from benchmarks.chaining import encyclopedia, reviews
    from benchmarks.record import Row, read_options, write_record

    here = Path(__file__).parents[1]
    revisions: list[str] = read_options(__doc__, words="REVISION").words
    if len(revisions) != 1:
        sys.exit(f"earlier: one revision of this repository is needed, such as {FIRST}")
    [revision] = revisions
    count = BATCH * BATCHES + 1
    encyclopedic = encyclopedia()
    texts = {"reviews": reviews()[:count], "encyclopedia": encyclopedic[:count]}
    texts["encyclopedia"] += encyclopedic[count : count + SEEN + ASKED]
    with tempfile.TemporaryDirectory() as folder:
        then, file = Path(folder) / "then", Path(folder) / "texts.json"
        file.write_text(json.dumps(texts), "utf-8")
        worktree = ["git", "-C", str(here), "worktree"]
        subprocess.run([*worktree, "add", "--detach", str(then), revision], check=True)
        try:
            rules = Path(folder) / "rules"
            for source in sorted((then / "rulesets").rglob("*.sear")):
                if source.parent.name not in ("noise", "paper", "rejected"):
                    (rules / source.parent.name).mkdir(parents=True, exist_ok=True)
                    (rules / source.parent.name / source.name).write_bytes(source.read_bytes())
            runs = [(_run(then, rules, file), _run(here, rules, file)) for _ in range(ROUNDS)]
        finally:
            subprocess.run([*worktree, "remove", "--force", str(then)], check=True)
    rows = []
    for name in runs[0][0]:
        if name.startswith("written"):
            continue
        before, now = (min(run[side][name] for run in runs) for side in (0, 1))
        figures: dict[str, float | int | str] = {
            "µs then": round(before),
            "µs now": round(now),
            "times as fast": round(before / now, 1),
        }
        if name.startswith("chain"):
            old, new = (runs[0][side][name.replace("chain", "written")] for side in (0, 1))
            alike = sum(map(str.__eq__, old, new)) / len(old)
            figures["rows alike"] = f"{alike:.1%}"
        wanted = WANTED.get(name) if revision == FIRST else None
        rows.append(
            Row(
                name,
                figures,
                at_least=f"{wanted:.1f} times as fast" if wanted else "",
                aim="",
                reached=wanted is None or before / now >= wanted,
            )
        )
    write_record("earlier", rows)


if __name__ == "__main__":
    # The process of the other version imports nothing of this one.
    if sys.argv[1:2] == ["--here"]:
        measured = _here(Path(sys.argv[2]), json.loads(Path(sys.argv[3]).read_text("utf-8")))
        print(json.dumps(measured))
    else:
        main()
