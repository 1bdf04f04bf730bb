"""Where the time of `sears apply` goes: each stage, compared with one pass over the bytes.

In: a csv of the public-domain books, all shipped rulesets (`--theme` for one) and a tagger
(`--tagger`). Each stage runs alone over the same batches, on the results of the stages before it,
with a tagger and a matcher that have only seen other text. Then `apply_file` does all of it, in one
process and in two. Its records must equal those of the plain way: the whole text at once, no
prefilter, the standard csv module at both ends.
The unit is a memory pass: reading every byte of the file in memory once, which nothing here can
beat. Times are processor time for stages, and wall-clock time for `apply_file`.

    python -m benchmarks.pipeline --theme questions
"""

from __future__ import annotations

import argparse
import csv
import gc
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import sears_dsl as sears
from benchmarks.record import Row, data_file, write_record
from sears_dsl.batch.files import ApplyRequest, apply_file
from sears_dsl.batch.mode_each import rewrite_each
from sears_dsl.batch.partial import PartialOutput
from sears_dsl.batch.plan import Plan
from sears_dsl.batch.workers import RulesetRecipe
from sears_dsl.catalogue import shipped_rulesets
from sears_dsl.data.batches import Batch
from sears_dsl.data.dataset import Dataset, format_named
from sears_dsl.engine.compile.prefilter import NOTHING, TAGS, Prefilter
from sears_dsl.engine.compile.requirements import inflects
from sears_dsl.engine.match.search import search
from sears_dsl.engine.matcher import Matcher
from sears_dsl.engine.rewrite.rewrites import Rewrites
from sears_dsl.tagging.tagger import CuttingTagger, Tagger
from sears_dsl.tagging.tokens import Tokens

WARMING = 2_000  # rows of other text that compile kernels and fill the usual caches
BEYOND_CACHES = 1 << 28  # bytes


class Clock:
    """Processor time by stage, in the order in which stages first ran."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time of a block for a stage."""
        begin = time.process_time()
        try:
            yield
        finally:
            took = time.process_time() - begin
            self.seconds[name] = self.seconds.get(name, 0.0) + took

    def passing(self, name: str, items: Iterator[Any]) -> Iterator[Any]:
        """Pass items on, and count the time of making them for a stage."""
        while True:
            with self.stage(name):
                item = next(items, None)
            if item is None:
                return
            yield item


class Given(Matcher):
    """A matcher with given rewrites."""

    def __init__(self, matcher: Matcher, rewrites: Rewrites) -> None:
        vars(self).update(vars(matcher))  # its rules, compiled once
        self._rewrites = rewrites

    def apply(self, texts: Sequence[str], **_: Any) -> Rewrites:
        """Return the given rewrites for any texts."""
        return self._rewrites


def memory_pass(path: Path) -> float:
    """Seconds to read the bytes of a file once, in memory."""
    raw = path.read_bytes()
    # Make so many copies that they exceed the processor's cache.
    copies = -(-BEYOND_CACHES // len(raw))
    words = np.frombuffer(raw * copies, np.uint8)
    words = words[: len(words) // 8 * 8].view(np.uint64)
    begin = time.process_time()
    np.bitwise_or.reduce(words)
    return (time.process_time() - begin) / copies


def stages(path: Path, output: Path, matcher: Matcher, fresh: Callable[[], Tagger]) -> Clock:
    """Run every stage over the batches of a file, one after another."""
    clock = Clock()
    plan = Plan(columns=("text",), id_column="id")
    form = format_named("csv")
    prefilter = Prefilter(matcher.program, [inflects(rule) for rule in matcher.rules])
    scanning, tokenizing, tagging = fresh(), fresh(), fresh()
    with PartialOutput(output, {}, resume=False) as partial:
        batches: Iterator[Batch] = iter(Dataset(str(path)).batches())
        for number, batch in enumerate(clock.passing("reading rows", batches)):
            texts = list(batch.columns["text"])
            with clock.stage("literal scan"):
                cut = scanning.cut(texts) if isinstance(scanning, CuttingTagger) else None
                tiers = prefilter.tiers(texts, cut=cut)
            needed = [texts[row] for row in np.flatnonzero(tiers > NOTHING)]
            read = [texts[row] for row in np.flatnonzero(tiers == TAGS)]
            with clock.stage("tokenizing"):
                tokenizing.tokenize(needed)
            with clock.stage("tokenizing and tagging"):
                tagging.tag(read)
            parts = list(prepared(matcher, tagging, texts, tiers))
            for rows, tokens in parts:
                with clock.stage("matching"):
                    matches = search(matcher.program, tokens, extent="first")
                with clock.stage("rendering"):
                    rewrites = matcher.rewrites(tokens, matches)
                    done = Given(matcher, rewrites)
                some = Batch(
                    batch.first,
                    len(rows),
                    {name: [column[row] for row in rows] for name, column in batch.columns.items()},
                )
                with clock.stage("records as csv"):
                    records = rewrite_each(done, some, plan)
                    tally = records.tally
                    part = form.encode(records.columns, "utf-8") if tally.records else b""
                with clock.stage("writing"):
                    partial.put(number, tally.to_json(), part)
    return clock


def prepared(
    matcher: Matcher, tagger: Tagger, texts: Sequence[str], tiers: Any
) -> Iterator[tuple[list[int], Tokens]]:
    """The input of the matcher: rows that need only tokens, and rows that need tags."""
    for tier in sorted({int(tier) for tier in tiers} - {NOTHING}):
        rows = np.flatnonzero(tiers == tier).tolist()
        chosen = [texts[row] for row in rows]
        yield rows, tagger.tag(chosen) if tier == TAGS else tagger.tokenize(chosen)


def plain_records(path: Path, matcher: Matcher) -> list[tuple[str, str, str]]:
    """Id, rule and new text of every record, by the standard csv module and no prefilter."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    done = matcher.apply([row["text"] for row in rows], prefilter=False)
    ids = [rows[row]["id"] for row in done.rows.tolist()]
    names = [matcher.rule_ids[rule] for rule in done.rules.tolist()]
    return list(zip(ids, names, done.texts, strict=True))


def written_records(path: Path) -> list[tuple[str, str, str]]:
    csv.field_size_limit(1 << 27)
    with path.open(encoding="utf-8", newline="") as file:
        return [(row["id"], row["rule"], row["rewritten"]) for row in csv.DictReader(file)]


def write_csv(path: Path, lines: Sequence[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "text"])
        writer.writerows(enumerate(lines, start=1))


def main() -> None:
    """Run and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tagger", default="fast")
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--theme", default="", help="rulesets whose names begin so; default: all")
    options = parser.parse_args()
    names = [name for name in shipped_rulesets() if name.startswith(options.theme)]
    names = [name for name in names if not name.startswith(("noise/", "paper/", "rejected/"))]
    rulesets = tuple(sears.load(shipped_rulesets()[name]) for name in names)
    lines = data_file("throughput/classic_books.txt").read_text("utf-8").splitlines()
    lines = [line.strip() for line in lines if line.strip()]
    warm, lines = lines[-WARMING:], lines[: options.rows]

    def fresh() -> Tagger:
        tagger = sears.load_tagger(options.tagger)
        tagger.tag(warm)
        return tagger

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "in.csv"
        write_csv(source, lines)
        size = source.stat().st_size
        unit = memory_pass(source)
        matcher = sears.compile_rules(rulesets, tagger=fresh())
        matcher.apply(warm)
        tokens = len(matcher.tagger.tokenize(lines).starts)
        gc.freeze()  # as `apply_file` does: rules are not garbage to search
        clock = stages(source, folder / "stages.csv", matcher, fresh)
        seconds = clock.seconds
        rows = [_row("a memory pass", unit, size=size, tokens=tokens, unit=unit)]
        rows += [
            _row(stage, took, size=size, tokens=tokens, unit=unit)
            for stage, took in seconds.items()
        ]
        # The step that tokenizes and tags does both at once where a row needs tags.
        used = sum(seconds.values())
        expected = sorted(plain_records(source, matcher))
        recipe = RulesetRecipe(rulesets, tagger=options.tagger)
        clocks = {}
        for jobs in (1, 2):
            output = folder / f"out{jobs}.csv"
            request = ApplyRequest(
                recipe=recipe, input=str(source), output=str(output), columns=("text",), jobs=jobs
            )
            begin = time.perf_counter()
            report = apply_file(request)
            clocks[jobs] = time.perf_counter() - begin
            if sorted(written_records(output)) != expected or report.tally.rows != len(lines):
                sys.exit(f"pipeline: {jobs} jobs and the plain way wrote different records")
        rows.append(
            Row(
                "apply_file, from rulesets to a csv",
                {
                    "tagger": f"{matcher.tagger.name} {matcher.tagger.version}",
                    "rulesets": len(rulesets),
                    "rows": len(lines),
                    "tokens": tokens,
                    "records verified": len(expected),
                    "seconds, one process": round(clocks[1], 2),
                    "seconds, two": round(clocks[2], 2),
                    "of these in no stage": round(clocks[1] - used, 2),
                },
            )
        )
    write_record("-".join(filter(None, ("pipeline", options.theme.strip("/")))), rows)


def _row(stage: str, seconds: float, *, size: int, tokens: int, unit: float) -> Row:
    return Row(
        stage,
        {
            "seconds": round(seconds, 4),
            "MB/s": round(size / seconds / 1e6, 1),
            "ns a token": round(seconds / tokens * 1e9, 1),
            "memory passes": round(seconds / unit, 1),
        },
    )


if __name__ == "__main__":
    main()
