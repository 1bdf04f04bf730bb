"""Raw text to rewritten text with the shipped rulesets, against spaCy pipe + Matcher + splice.

Method: the rules that spaCy's Matcher can express (their number is printed) run over the same rows
both ways: film-review sentences, SQuAD questions and book sentences. Theirs: `nlp.pipe` with the
same components, the Matcher with one pattern for each variant of a rule, and the edit spliced in
for the leftmost hit of each rule in each row. Ours: `Matcher.apply`, cold (no tag cache) with one
and with two processes, and with all tags in the cache. First all rulesets run together, which
measures output as much as matching (some six rewrites a row); then theme by theme, as rulesets are
used. The rewrites of both sides must be equal, row by row and rule by rule.
Both sides make every text of every rewrite within the measured time. Ours makes each distinct new
text once, with a fresh matcher, which knows nothing of the texts except their tags where these are
cached. Runs with cached tags take some tenths of a second; the median of five counts, each by a
fresh matcher.
Bias: loading the model, compiling the rules and a first small batch (50 of the rows) are not timed
on either side. Both sides render an edit with the same function, which favours neither. spaCy runs
in one process; its own `n_process=2` is timed too. The prefilter gains little here, since hundreds
of rules together need words as common as `is`.
"""

from __future__ import annotations

import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import sears_dsl as sears
from benchmarks.public_sentences import sentences
from benchmarks.record import Row, data_file, read_options, write_record
from benchmarks.spacy_way import Workload
from sears_dsl.catalogue import shipped_rulesets
from sears_dsl.tagging.cache import CachedTagger, TagCache

REPEATS = 5  # runs where one takes some tenths of a second


def _warming() -> list[str]:
    """Other sentences, with half a million characters."""
    books = data_file("throughput/classic_books.txt").read_text("utf-8").splitlines()
    return books[-6_000:]


def _timed(function: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()  # garbage of compiling and of earlier runs is not part of this one
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


class Timed(Workload):
    """A workload, timed."""

    def apply(self, tagger: sears.Tagger, texts: list[str], warm: list[str]) -> tuple[float, Any]:
        """Seconds, and (row, rule, rewritten text) of every rewrite, by a fresh matcher."""
        matcher = sears.compile_rules(self.ours, tagger=tagger)
        matcher.apply(warm)

        def rewritten() -> set[tuple[int, int, str]]:
            done = matcher.apply(texts)
            return set(zip(done.rows.tolist(), done.rules.tolist(), done.texts, strict=True))

        return _timed(rewritten)

    def apply_often(
        self, tagger: sears.Tagger, texts: list[str], warm: list[str]
    ) -> tuple[float, Any]:
        """As `apply`, but the median of some runs: a short one says little on a shared machine."""
        runs = [self.apply(tagger, texts, warm) for _ in range(REPEATS)]
        if any(rewrites != runs[0][1] for _, rewrites in runs):
            sys.exit("endtoend: two runs gave different rewrites")
        return statistics.median(took for took, _ in runs), runs[0][1]


def main() -> None:
    """Run and record."""
    texts = sentences()
    warm = texts[:50]
    names = [
        name
        for name in shipped_rulesets()
        if not name.startswith(("noise/", "paper/", "rejected/"))
    ]
    rulesets = {name: sears.load(shipped_rulesets()[name]) for name in names}
    plain = sears.load_tagger("spacy")
    tokens = len(plain.tokenize(texts).type_ids)
    rows = [Row("text", {"rows": len(texts), "tokens": tokens})]

    everything = Timed(list(rulesets.values()), plain)
    everything.baseline.run(warm)
    theirs, expected = _timed(lambda: everything.baseline.run(texts))
    theirs_two, _ = _timed(lambda: everything.baseline.run(texts, processes=2))
    cold, rewrites = everything.apply(plain, texts, warm)
    verified = rewrites == expected
    with sears.load_tagger("spacy", jobs=2) as pool:  # type: ignore[attr-defined]
        # Enough text for both processes to start and load their model.
        cold_two, rewrites = everything.apply(pool, texts, _warming())
    verified = verified and rewrites == expected

    with tempfile.TemporaryDirectory() as folder, TagCache(Path(folder)) as cache:
        cached = CachedTagger(plain, cache)
        cached.tag(texts)
        hot, rewrites = everything.apply_often(cached, texts, warm)
        verified = verified and rewrites == expected
        figures: dict[str, float | int | str] = {
            "rules": everything.share,
            "rewrites": len(expected),
            "same rewrites": "yes" if verified else "NO",
            "cold, one process": round(theirs / cold, 1),
            "cold, two processes": round(theirs / cold_two, 1),
            "cold, two processes, spaCy in two": round(theirs_two / cold_two, 1),
        }
        rows.append(
            Row(
                "all rulesets at once, cold",
                figures,
                at_least="3× in two processes",
                aim="10×",
                reached=verified and theirs / cold_two >= 3,
            )
        )
        rows.append(
            Row(
                "all rulesets at once, tags cached",
                {"times": round(theirs / hot, 1)},
                at_least="30×",
                aim="100×",
                reached=theirs / hot >= 30,
            )
        )
        ratios = []
        for theme in sorted({name.split("/")[0] for name in names}):
            chosen = [ruleset for name, ruleset in rulesets.items() if name.startswith(theme)]
            work = Timed(chosen, plain)
            if not any(work.ours):
                continue  # the Matcher can express none of its rules
            theirs, expected = _timed(partial(work.baseline.run, texts))
            cold, rewrites = work.apply(plain, texts, warm)
            hot, again = work.apply_often(cached, texts, warm)
            ratios.append(theirs / hot)
            figures = {
                "rules": work.share,
                "rewrites": len(expected),
                "same rewrites": "yes" if rewrites == again == expected else "NO",
                "cold, one process": round(theirs / cold, 1),
                "tags cached": round(theirs / hot, 1),
            }
            rows.append(Row(theme, figures, reached=rewrites == again == expected))
    rows.append(
        Row(
            "a theme at a time, tags cached: median",
            {"times": round(statistics.median(ratios), 1)},
            at_least="30×",
            aim="100×",
            reached=statistics.median(ratios) >= 30,
        )
    )
    write_record("endtoend", rows)


if __name__ == "__main__":
    read_options(__doc__)
    main()
