"""Repeats 'The King is Naked': nets of 40,000 parameters, negation, mixed sentiment, sarcasm.

Four nets learn SST-2, plain and augmented with half of the templates of a phenomenon, at the
paper's share of the rows (its factor of 750 is 33%); FC and CNN are also trained against boxes
around their inputs. MiniLM is trained further, once, and read layer by layer: in the tables
``MiniLM 3`` is a head on three frozen layers. All are asked about SST-2, the other half of the
templates, and the judged sentences of SST.

We differ from the paper in these points: vectors learnt from 6,920 sentences (the paper's nets saw
117,220 phrases; ``--phrases`` uses 60,614 of them), templates in place of judged sentences for
training (the paper's judged sentences are from SST's test part), the schedule of the bounds,
development sentences in place of the test part. BERT and the deep LSTM are missing.

    python -m benchmarks.semantic_robustness                  five seeds
    python -m benchmarks.semantic_robustness --full           twenty; more sizes; MiniLM five times
    python -m benchmarks.semantic_robustness --shares 25,33,39
    python -m benchmarks.semantic_robustness --swapped        the halves of the templates exchanged
    python -m benchmarks.semantic_robustness --phrases        phrases too, plain and augmented
    python -m benchmarks.semantic_robustness --only FC,CNN    these nets alone
    python -m benchmarks.semantic_robustness --report         train nothing

The nets cost half an hour of one idle core, MiniLM some seven minutes; phrases 40 minutes a seed (a
plain net 25 s FC, 65 s CNN, 205 s LSTM, 125 s attention; an augmented one half as much again). Each
training is a line of build/semantic_robustness.jsonl and is not repeated. Tables of all trainings
so far go to TABLES.md beside this file, and into a record.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

from benchmarks.record import ROOT, stop_without_data, write_record
from benchmarks.semantic_robustness.beds import PHENOMENA, require_data
from benchmarks.semantic_robustness.nets import NETS
from benchmarks.semantic_robustness.report import page, record_rows
from benchmarks.semantic_robustness.running import (
    BOUNDED,
    MORE_SIZES,
    SIZES,
    Training,
    known,
    run,
)
from sears_dsl.runtime.files import write_atomically
from sears_dsl.runtime.processes import usable_cores

RESULTS = ROOT / "build" / "semantic_robustness.jsonl"
TABLES = Path(__file__).with_name("TABLES.md")
_SHARE = 0.33


def planned(
    *,
    seeds: int = 5,
    full: bool = False,
    shares: tuple[float, ...] = (_SHARE,),
    swapped: bool = False,
    phrases: bool = False,
) -> list[Training]:
    """The trainings, seed by seed."""
    trainings = []
    for seed in range(seeds):
        for net, of_phrases in product(NETS, (False, True) if phrases else (False,)):
            trainings.append(Training(seed, net, phrases=of_phrases))
            trainings += [
                Training(seed, net, kind, share, half, of_phrases)
                for kind in PHENOMENA
                for share in shares
                for half in ((False, True) if swapped else (False,))
            ]
        trainings += [
            Training(seed, net, "bounded", size)
            for net in BOUNDED
            for size in (*SIZES, *(MORE_SIZES if full and net == "FC" else ()))
        ]
        trainings += [Training(seed, f"MiniLM {layers}") for layers in range(7)]
        if seed < (5 if full else 1):
            trainings.append(Training(seed, "MiniLM"))
    return trainings


def main() -> None:
    """Train what is missing, print, and write the tables and the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="20 seeds and more sizes of box")
    parser.add_argument("--seeds", type=int, help="how many seeds")
    parser.add_argument("--shares", default="33", help="augmented shares of the rows, in percent")
    parser.add_argument("--swapped", action="store_true", help="also exchange the halves")
    parser.add_argument("--phrases", action="store_true", help="also train nets on phrases")
    parser.add_argument("--only", default="", help="nets, with commas; MiniLM for the encoder")
    parser.add_argument("--report", action="store_true", help="train nothing")
    parser.add_argument("--processes", type=int, default=min(2, usable_cores()))
    options = parser.parse_args()
    require_data(phrases=options.phrases)
    plan = planned(
        seeds=options.seeds or (20 if options.full else 5), full=options.full,
        shares=tuple(float(each) / 100 for each in options.shares.split(",")),
        swapped=options.swapped, phrases=options.phrases,
    )  # fmt: skip
    only = tuple(filter(None, options.only.split(",")))
    plan = [each for each in plan if not only or each.net.split()[0] in only]
    if not options.report:
        run(plan, RESULTS, processes=options.processes)
    outcomes = list(known(RESULTS).values())
    if not outcomes:
        # The published tables stay as they are.
        stop_without_data(f"{RESULTS} has no trainings to report; run without --report first")
    tables = page(outcomes)
    print(tables)
    write_atomically(TABLES, tables.encode())
    write_record("semantic_robustness", record_rows(outcomes))


if __name__ == "__main__":
    main()
