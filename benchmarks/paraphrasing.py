"""Paraphrase search: sentences a second by beam and number of sentences, memory, and results.

In: IMDB sentences of the public data, the embedded models. The exact search (whole vocabulary) and
the quick one (shortlist, estimated scores) run on the same sentences. The comparison gives the
share of exact paraphrases that the quick search finds, and how far its estimates are off. Scores of
the exact search are verified against `PivotScorer` on a sample. The time includes the translation
to the pivot. The last row works as discovery does: small portions, one thread, a process a core.

    python -m benchmarks.paraphrasing [--sentences N]
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import time
from collections.abc import Sequence

from benchmarks.record import Row, data_file, write_record
from sears_dsl.defaults import PAPER_TAU
from sears_dsl.meaning.pivot_score import PivotScorer
from sears_dsl.paraphrasing.paraphraser import Paraphrase, Paraphraser
from sears_dsl.paraphrasing.team import Recipe, Team
from sears_dsl.runtime.processes import usable_cores
from sears_dsl.translation.pivots import load_pivots

AT_LEAST = 3.0  # sentences a second
AIM = 10.0
BEAMS = (5, 10, 30)
VERIFIED = 10  # sentences

Found = list[list[Paraphrase]]


def timed(paraphraser: Paraphraser, sentences: Sequence[str]) -> tuple[Found, float]:
    begin = time.perf_counter()
    paraphrases = paraphraser.paraphrase(sentences)
    return paraphrases, time.perf_counter() - begin


def verify(paraphrases: Found, sentences: Sequence[str], scorer: PivotScorer) -> None:
    """Stop the benchmark where a score differs from the scorer's."""
    pairs = [
        (sentence, item)
        for sentence, items in zip(sentences[:VERIFIED], paraphrases, strict=False)
        for item in items
    ]
    scores = scorer.scores([(sentence, item.text) for sentence, item in pairs])
    for (sentence, item), score in zip(pairs, scores.tolist(), strict=True):
        if abs(math.exp(item.log_score) - score) > 1e-3:
            sys.exit(f"paraphrasing: {sentence!r} → {item} is {score}")


def compare(quick: Found, exact: Found) -> dict[str, float | int | str]:
    """How much of the exact search the quick one finds, and how far its estimates are off."""
    total = again = 0
    errors = []
    for ours, theirs in zip(quick, exact, strict=True):
        estimates = {item.text: item.log_score for item in ours}
        for item in theirs:
            total += 1
            if item.text in estimates:
                again += 1
                errors.append(abs(estimates[item.text] - item.log_score))
    errors.sort()
    return {
        "found_again": round(again / max(1, total), 3),
        "median_error": round(errors[len(errors) // 2], 4) if errors else "none",
        "error_95": round(errors[len(errors) * 95 // 100], 4) if errors else "none",
    }


def main() -> None:
    """Run and write the record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sentences", type=int, default=100)
    count = parser.parse_args().sentences
    lines = data_file("sentiment/imdb.tsv").read_text("utf-8").splitlines()
    every = [line.split("\t", 1)[1] for line in lines[:count]]
    pivots = load_pivots()
    Paraphraser(pivots, beam=2).paraphrase(["Warm up."])
    rows = []
    for exact in (True, False):
        name = "exact" if exact else "quick"
        for beam in BEAMS:
            for size in (count, count // 4) if beam == BEAMS[-1] else (count,):
                sentences = every[:size]
                paraphrases, seconds = timed(Paraphraser(pivots, beam=beam, exact=exact), sentences)
                speed = size / seconds
                figures: dict[str, float | int | str] = {
                    "sentences_per_second": round(speed, 2),
                    "paraphrases": sum(map(len, paraphrases)),
                    "sentences_with_any": sum(map(bool, paraphrases)),
                    "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                }
                budget = beam == BEAMS[-1] and size == count
                if exact and budget:
                    reference = paraphrases
                    verify(paraphrases, sentences, PivotScorer(pivots))
                elif budget:
                    figures |= compare(paraphrases, reference)
                rows.append(
                    Row(
                        f"{name} search, beam {beam}, {size} sentences",
                        figures,
                        f"{AT_LEAST:g} a second" if budget else "",
                        f"{AIM:g} a second" if budget else "",
                        reached=speed >= AT_LEAST or not budget,
                    )
                )
    team = Team(Recipe(scorer="pivot", tau=PAPER_TAU, beam=BEAMS[-1]), jobs=min(4, usable_cores()))
    team.paraphrase(["Warm up.", *(f"Warm up the models of process {n}." for n in range(40))])
    begin = time.perf_counter()
    paraphrases = team.paraphrase(every)
    speed = count / (time.perf_counter() - begin)
    team.close()
    figures = {"sentences_per_second": round(speed, 2), **compare(paraphrases, reference)}
    name = f"as in discovery, {team.jobs} processes, beam {BEAMS[-1]}, {count} sentences"
    rows.append(
        Row(name, figures, f"{AT_LEAST:g} a second", f"{AIM:g} a second", reached=speed >= AT_LEAST)
    )
    write_record("paraphrasing", rows)


if __name__ == "__main__":
    main()
