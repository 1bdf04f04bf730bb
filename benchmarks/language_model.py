"""What a language model adds to the judge and to the grammar, and what it costs.

Method: (1) the available part of BLiMP: the share of pairs in which the model finds the bad
sentence less likely; (2) sentences of kinds of text that the grammar was not trained on (IMDB,
TREC, SMS), before and after rules that readers rejected: the share that is less likely afterwards,
compared with the share that reads worse to the deep network of the grammar; (3) the scorers
``judge`` and ``judge-lm`` on the same judgements that took no part in their fit: substitutes of
SWORDS, and mined rewrites by the evidence about the place alone; (4) decisions a second of one core
about mined rewrites of new originals, at τ and from S = .1 on, as discovery's filter asks.
Bias: the part of BLiMP and the rejected rules were looked at while the networks of the grammar were
made; the model's columns were chosen on the SWORDS and mined rewrites that are measured here.

    python -m benchmarks.language_model [--pairs 100]
"""

from __future__ import annotations

import argparse
import random
import time
from typing import cast

import numpy as np
import torch

from benchmarks.grammar import REJECTED, paradigms, rewrites, unseen
from benchmarks.judge_agreement import SUBSTITUTES, agreement
from benchmarks.judged_rewrites import read_judged_rewrites
from benchmarks.record import Row, data_file, write_record
from sears_dsl.judge.grammar import load_grammar
from sears_dsl.judge.judge import Judge
from sears_dsl.judge.likelihood import LIKELIHOOD, LikelihoodModel, columns_of
from sears_dsl.meaning.scorers import load_scorer
from training.judge import held_out
from training.judgements import swords

_OF_A_RULE = 60
_FAR = 0.1


def less_likely(model: LikelihoodModel, pairs: list[tuple[str, str]]) -> float:
    """The share of rewrites that are less likely than their originals."""
    more = columns_of(model.nats(pairs))[:, LIKELIHOOD.index("less likely")]
    return float((more > 0).mean())


def minimal_pairs(model: LikelihoodModel, count: int) -> list[Row]:
    """How often the bad sentence of a minimal pair is less likely."""
    rows = [
        Row(name, {"less likely": round(less_likely(model, pairs[:count]), 3)})
        for name, pairs in paradigms().items()
    ]
    mean = float(np.mean([row.figures["less likely"] for row in rows]))
    return [*rows, Row("BLiMP, mean", {"less likely": round(mean, 4)})]


def rejected_rules(model: LikelihoodModel) -> Row:
    """Sentences of unseen kinds of text before and after a rejected rule."""
    texts = unseen()[:5000]
    pairs = [pair for rule in REJECTED for pair in rewrites(rule, texts)[:_OF_A_RULE]]
    grammar = load_grammar()
    before, after = (grammar.surprise([pair[side] for pair in pairs]) for side in (0, 1))
    return Row(
        "sentences after rejected rules",
        {
            "pairs": len(pairs),
            "less likely": round(less_likely(model, pairs), 3),
            "worse by the deep network": round(float((after > before).mean()), 3),
        },
    )


def speed(judge: Judge, least: float, opening: str) -> float:
    """Decisions a second of one core about mined rewrites that begin with a new word."""
    mined = [each for each in read_judged_rewrites(whole=True) if each.set == "base"]
    fresh = [(f"{opening} {each.original}", f"{opening} {each.rewrite}") for each in mined]
    begin = time.process_time()
    judge.scores_from(fresh, least)
    return len(fresh) / (time.process_time() - begin)


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=100, help="pairs of each paradigm of BLiMP")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    judges = [cast("Judge", load_scorer(name)) for name in ("judge", "judge-lm")]
    model = judges[1].likelihood
    if not isinstance(model, LikelihoodModel):
        raise SystemExit("judge-lm asks no language model")
    some = [
        each
        for each in swords(data_file("substitution/swords-v1.1_dev.json.gz"))
        if held_out(each) and 5 <= len(each.original.split()) <= 30
    ]
    random.Random(0).shuffle(some)
    some = [each for each in some[:SUBSTITUTES] if each.share >= 0.5 or each.share <= 0.1]
    substitutes = [(each.original, each.rewrite) for each in some]
    mined = [each for each in read_judged_rewrites(whole=True) if each.part == "report"]
    rows = []
    for judge in judges:
        good = np.array([each.share >= 0.5 for each in some])
        title = f"SWORDS, targets held out, {judge.name}"
        rows.append(agreement(title, judge.scores(substitutes), good, judge.tau)[0])
        scores = judge.evident_chances([(each.original, each.rewrite) for each in mined])
        for kind in ("base", "enriched"):
            inside = np.array([each.set == kind for each in mined])
            good = np.array([each.accepted for each in mined])[inside]
            title = f"mined rewrites, {kind}, not fitted, {judge.name}"
            rows.append(agreement(title, scores[inside], good, judge.tau)[0])
        rows.append(
            Row(
                f"decisions a second of one core, {judge.name}",
                {
                    "at tau": round(speed(judge, judge.tau, "So"), 1),
                    f"from S = {_FAR} on": round(speed(judge, _FAR, "Now"), 1),
                },
            )
        )
    rows.append(rejected_rules(model))
    rows += minimal_pairs(model, arguments.pairs)
    write_record("language_model", rows)


if __name__ == "__main__":
    main()
