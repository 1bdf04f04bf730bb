"""What more questions to the model buy: rules and flips against questions for each right row.

The rows, model, paraphrases and scores are the same; only ``--max-questions`` differs. The model is
the fastText-like one of the sentiment benchmark, trained on Rotten Tomatoes; the rows are sentences
of IMDB. What counts are right held-out rows that a selected rule flips with S ≥ τ.

    python -m benchmarks.discovery_cost            300 rows
    python -m benchmarks.discovery_cost --rows 600

Method and bias: the first run has no limit; its paraphrases and judgements are reused by the
others. So the minutes are those of the first run, and only the questions vary. Held-out rows are
few: intervals are Wilson's, and neighbouring points of the curve do not differ beyond them.
"""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks.fasttext_like import read_labelled, train
from benchmarks.record import Row, data_file, write_record
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.defaults import DEFAULT_SCORER, DEFAULT_TAGGER
from sears_dsl.discovery.algorithm import discover
from sears_dsl.discovery.known_rules import load_known
from sears_dsl.discovery.result.found_rules import Discovery
from sears_dsl.discovery.settings import QUESTIONS_A_ROW, Settings
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.function import CallablePredictor
from sears_dsl.paraphrasing.team import Recipe, Team
from sears_dsl.runtime.database import RunJournal
from sears_dsl.runtime.processes import usable_cores
from sears_dsl.statistics import wilson_interval
from sears_dsl.tagging.tagger import load_tagger

A_ROW = (1, 2, 3, 4, 5, 20)
NO_LIMIT = 10**9
JOBS = min(4, usable_cores())


def main() -> None:
    """Search under each limit, and write the curve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=300)
    count = parser.parse_args().rows
    model = train(*read_labelled(data_file("sentiment/rt.tsv")))
    evaluation = data_file("sentiment/imdb.tsv")
    texts, labels = read_labelled(evaluation)
    data = LabelledRows(
        tuple({"text": text} for text in texts), "text",
        tuple((label,) for label in labels), evaluation.name,
    ).sampled(count)  # fmt: skip
    predictions = model.predict(data.texts)
    right = sum(
        (each,) == label for each, label in zip(predictions, data.labels or (), strict=True)
    )
    tagger = load_tagger(DEFAULT_TAGGER)
    known = load_known(tagger=tagger)
    rows = []
    with RunJournal(None, task="one model, one scorer") as journal:
        team = Team(Recipe(scorer=DEFAULT_SCORER), jobs=JOBS)
        for limit in (NO_LIMIT, *(each * right for each in reversed(A_ROW))):
            began = time.perf_counter()
            discovery = discover(
                data,
                CachedPredictor(CallablePredictor(model), batch_size=8192),
                paraphraser=team,
                scorer=team,
                tagger=tagger,
                settings=Settings(max_questions=limit),
                known=known,
                journal=journal,
            )
            seconds = time.perf_counter() - began
            rows.append(_row(discovery, limit, right, seconds))
            print(f"  {rows[-1].name}: {seconds:.0f} s", file=sys.stderr, flush=True)
        team.close()
    write_record("discovery-cost", rows[::-1])


def _row(discovery: Discovery, limit: int, right: int, seconds: float) -> Row:
    funnel = discovery.funnel
    flipped, held_out = funnel.held_out_flipped or 0, funnel.held_out - funnel.held_out_unasked
    low, high = wilson_interval(flipped, held_out)
    name = "no limit" if limit == NO_LIMIT else f"{limit // right} questions a right row"
    if limit == QUESTIONS_A_ROW * right:
        name += ", the default"
    figures: dict[str, float | int | str] = {
        "right rows": funnel.right,
        "questions": funnel.questions,
        "questions a right row": round(funnel.questions / funnel.right, 1),
        "rules": len(discovery.rules),
        "of these new": sum(not each.source for each in discovery.rules),
        "searched rows flipped": round(funnel.rows_flipped / funnel.searched, 4),
        "held-out rows": held_out,
        "held-out rows flipped": round(flipped / max(1, held_out), 4),
        "95%": f"{float(low):.3f} to {float(high):.3f}",
        "rule texts": "; ".join(each.text for each in discovery.rules),
    }
    if limit == NO_LIMIT:
        figures["minutes"] = round(seconds / 60, 1)
    return Row(name, figures)


if __name__ == "__main__":
    main()
