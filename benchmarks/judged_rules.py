"""Does the judge accept the rules that people accepted, and refuse those that they rejected?

Method: each rule of `judged_rules.tsv` is applied to sentences of reviews and to questions, and a
seeded sample of its rewrites gets S. The table shows people's verdict, the share whose S reaches
the judge's τ, with its 95% interval (Wilson), and their mean S. A rule that changes fewer than
`FEWEST` of these texts is left out.
Bias: people accepted the paper's rules for their own texts and models. Some of these, such as
`is -> was` and `this -> that`, change what is said; a judge that refuses them is not wrong.

    python -m benchmarks.judged_rules [--sample 50]
"""

from __future__ import annotations

import argparse
import csv
import random
from pathlib import Path

import numpy as np

from benchmarks.record import ROOT, Row, data_file, write_record
from benchmarks.small_reader import read_squad
from demo.reviews import fetch, read_sentences
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.language.loader import parse
from sears_dsl.meaning.scorers import load_scorer
from sears_dsl.statistics import wilson_interval

FILE = Path(__file__).with_name("judged_rules.tsv")
FEWEST = 5
SEED = 12


def main() -> None:
    """Apply, score, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=50, help="rewrites of each rule")
    parser.add_argument("--scorer", default="judge")
    arguments = parser.parse_args()
    reviews = read_sentences(fetch(ROOT / ".cache"))[:4000]
    questions = [each.question for each in read_squad(data_file("squad/dev-v1.1.json"))][:4000]
    with FILE.open(encoding="utf-8", newline="") as file:
        judged = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    judged = list({each["rule"]: each for each in judged}.values())
    matcher = compile_rules([parse("option case = exact\n" + each["rule"]) for each in judged])
    rewrites = list(matcher.apply([*reviews, *questions]))
    random.Random(SEED).shuffle(rewrites)
    scorer = load_scorer(arguments.scorer)
    rows, shares, accepted = [], [], []
    for number, each in enumerate(judged):
        pairs = [(one.original, one.text) for one in rewrites if one.rule == number]
        pairs = pairs[: arguments.sample]
        if len(pairs) < FEWEST:
            continue
        scores = scorer.scores(pairs)
        at_tau = int((scores >= scorer.tau).sum())
        low, high = wilson_interval(at_tau, len(pairs))
        shares.append(at_tau / len(pairs))
        accepted.append(each["accepted"] == "1")
        rows.append(
            Row(
                f"{'accepted' if accepted[-1] else 'rejected'}: {each['rule']}",
                {
                    "S at least τ": f"{at_tau} of {len(pairs)} ({low:.0%} to {high:.0%})",
                    "mean S": round(float(scores.mean()), 3),
                },
            )
        )
    good, bad = (np.array(shares)[np.array(accepted) == which] for which in (True, False))
    above = (good[:, None] > bad).mean() + (good[:, None] == bad).mean() / 2
    rows.append(
        Row(
            "share at τ, accepted rules against rejected ones",
            {"area": round(float(above), 3), "accepted": len(good), "rejected": len(bad)},
        )
    )
    write_record("judged-rules", rows)


if __name__ == "__main__":
    main()
