"""How well the judge agrees with people, how fast it decides, and the reliability diagram.

Method: the shipped judge is measured on four kinds of judgements. SWORDS: 2,000 substitutes for
targets of its development part that took no part in the fit; at least half of the annotators accept
the good ones, at most a tenth the bad ones. Mined rewrites: the part ``report`` of
`benchmarks.judged_rewrites`, by the evidence alone, since these readings count in S. Pairs of
sentences that differ in 1 to 4 words (`benchmarks.judged_pairs`), and pairs of STS-B that differ in
more: the scorer ``meaning`` ranks them and, for comparison, the judge; the distance of its S from
the share that people call the same is over all sets, each weighed so that half of its pairs are.
The diagram shows the share that most readers accept in bands of S, for held-out substitutes and for
mined rewrites at their own rates. Speed: decisions at τ about randomly drawn rewrites as mined,
whose originals the judge has not read, or has read with another rewrite; one thread, in processor
time, which other work on the machine changes less than wall-clock time.
Written rewrites (`written_rewrites.tsv`): two writers (language models) thought of 591 and 500
rewrites such as rules make, of 78 and 75 kinds, and of a verdict for each before they were scored;
the judge's lists were changed after a look at the first list, and nobody looked at the second.
Bias: nothing was fitted on the sets "not fitted", but QQP, SICK and MRPC were looked at while kinds
of evidence were chosen. SICK counts once. People call all pairs of MRPC that differ in 1 to 4 words
the same, so these have no area; the table says how many reach τ, and the area of those with 5 to 8.

    python -m benchmarks.judge_agreement [--pairs 300] [--picture docs/pictures/judge.svg] [--speed]
"""

from __future__ import annotations

import argparse
import csv
import itertools
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.judged_pairs import FURTHER, SOMEWHAT, load_set
from benchmarks.judged_rewrites import read_judged_rewrites
from benchmarks.record import ROOT, Row, data_file, write_record
from sears_dsl.judge.judge import Judge
from sears_dsl.meaning.calibration import area_interval, operating_curve
from sears_dsl.meaning.scorers import Pair, Scorer, load_scorer
from sears_dsl.runtime.array_types import Floats
from sears_dsl.statistics import wilson_interval
from training.judge import held_out, recall_at, weighed_at
from training.judgements import swords

Bools = NDArray[np.bool_]

PAIRS = ("STS-B dev", "PAWS half 1", "QQP", "SICK trial")
BESIDE = ("SICK train", f"STS-B dev{FURTHER}", f"MRPC train{SOMEWHAT}")
ALL_SAME = "MRPC train"
WRITTEN = Path(__file__).with_name("written_rewrites.tsv")
AT_LEAST_AREA, AT_LEAST_RECALL = 0.86, 0.45
AT_LEAST_MEAN, AT_LEAST_EACH = 0.91, 0.85
SUBSTITUTES = 2000
_BANDS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0001)


def agreement(name: str, scores: Floats, good: Bools, tau: float) -> tuple[Row, float, float]:
    """How scores rank rewrites, and what τ lets pass."""
    area = operating_curve(scores, good).area
    some, all_ = int(good.sum()), len(good)
    low, high = area_interval(area, equivalent=some, different=all_ - some)
    recall = recall_at(scores, good)
    passed = int((scores >= tau).sum())
    right = int((good & (scores >= tau)).sum())
    figures: dict[str, float | int | str] = {
        "rewrites": all_,
        "accepted by readers": some,
        "area": f"{area:.3f} [{low:.3f}, {high:.3f}]",
        "recall at precision .9, balanced": round(recall, 3),
        "S at least τ": passed,
        "of these accepted": right,
    }
    return Row(name, figures), area, recall


def bands(scores: Floats, good: Bools) -> list[tuple[float, int, int]]:
    """For each band of S: its mean, how many rewrites there are, how many are accepted."""
    points = []
    for low, high in itertools.pairwise(_BANDS):
        inside = (scores >= low) & (scores < high)
        if inside.sum() >= 10:
            points.append(
                (float(scores[inside].mean()), int(inside.sum()), int(good[inside].sum()))
            )
    return points


def whole_sentences(judge: Judge, meaning: Scorer, pairs: int) -> list[Row]:
    """How well pairs of sentences are ranked, and how far S is from what people say."""
    rows: list[Row] = []
    areas: list[float] = []
    scored: list[Floats] = []
    weights: list[Floats] = []
    same: list[NDArray[np.bool_]] = []
    for name in (*PAIRS, *BESIDE):
        judged = load_set(name, pairs=pairs)
        scores, equivalent = meaning.scores(judged.pairs), judged.equivalent
        row, area, _ = agreement(f"{name}, by meaning", scores, equivalent, meaning.tau)
        by_judge = operating_curve(judge.scores(judged.pairs), equivalent).area
        rows.append(Row(row.name, {**row.figures, "area by the judge": round(by_judge, 3)}))
        if name in PAIRS:
            areas.append(area)
            scored.append(scores)
            same.append(equivalent)
            weights.append(weighed_at(0.5, equivalent))
    judged = load_set(ALL_SAME, pairs=pairs)
    rows.append(
        Row(f"{ALL_SAME}, by meaning", {
            "rewrites": len(judged.pairs),
            "accepted by readers": int(judged.equivalent.sum()),
            "S at least τ": int(meaning.at_least(judged.pairs, meaning.tau).sum()),
            "S at least τ, by the judge": int(judge.at_least(judged.pairs, judge.tau).sum()),
        }),
    )  # fmt: skip
    rows.append(
        Row("sentence pairs, by meaning",
            {"mean": round(float(np.mean(areas)), 3), "least": round(min(areas), 3)},
            at_least=f"mean {AT_LEAST_MEAN}, each {AT_LEAST_EACH}",
            reached=float(np.mean(areas)) >= AT_LEAST_MEAN and min(areas) >= AT_LEAST_EACH),
    )  # fmt: skip
    shares: dict[str, float | int | str] = {}
    all_, weight, good = np.hstack(scored), np.hstack(weights), np.hstack(same)
    for low, high in itertools.pairwise((0.0, 0.2, 0.4, 0.6, 0.8, 1.0001)):
        inside = (all_ >= low) & (all_ < high)
        shares[f"S {low:g} to {min(high, 1):g}"] = round(
            float(np.average(good[inside], weights=weight[inside])), 3
        )
    return [*rows, Row("share that people call the same, half of each set, by S", shares)]


def written_rewrites(judge: Judge) -> list[Row]:
    """How well rewrites are ranked that were written to be judged, list by list."""
    with WRITTEN.open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    scores = judge.scores([(row["original"], row["rewrite"]) for row in written])
    accepted = np.array([row["accepted"] == "1" for row in written])
    rows = []
    for name in ("first", "second"):
        inside = np.array([row["list"] == name for row in written])
        row, _, _ = agreement(
            f"written rewrites, {name} list", scores[inside], accepted[inside], judge.tau
        )
        rows.append(row)
    return rows


def diagram(kinds: dict[str, list[tuple[float, int, int]]]) -> str:
    """The reliability diagram, as SVG."""
    size, left, top = 340, 62, 24

    def place(across: float, up: float) -> tuple[float, float]:
        return left + across * size, top + (1 - up) * size

    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 440 430" font-family="sans-serif" '
        'font-size="12">',
        '<rect width="440" height="430" fill="white"/>',
        f'<rect x="{left}" y="{top}" width="{size}" height="{size}" fill="none" stroke="#888"/>',
    ]
    (x0, y0), (x1, y1) = place(0, 0), place(1, 1)
    lines.append(f'<path d="M{x0} {y0}L{x1} {y1}" stroke="#bbb" stroke-dasharray="4 4"/>')
    for tenth in range(0, 11, 2):
        x, y = place(tenth / 10, 0)
        lines.append(f'<text x="{x}" y="{y + 18}" text-anchor="middle">{tenth / 10:g}</text>')
        x, y = place(0, tenth / 10)
        lines.append(f'<text x="{x - 8}" y="{y + 4}" text-anchor="end">{tenth / 10:g}</text>')
    lines.append('<text x="232" y="404" text-anchor="middle">S</text>')
    lines.append(
        '<text x="20" y="194" text-anchor="middle" transform="rotate(-90 20 194)">'
        "share that most readers accept</text>"
    )
    for number, (name, points) in enumerate(kinds.items()):
        color = ("#0b62a4", "#b3520c")[number]
        # At the bottom right, where no point lies: readers accept most rewrites with a high S.
        beside, below = left + size - 220, top + size - 36 + 20 * number
        lines.append(
            f'<circle cx="{beside}" cy="{below}" r="4" fill="{color}"/>'
            f'<text x="{beside + 10}" y="{below + 4}">{name}</text>'
        )
        for mean, count, accepted in points:
            low, high = wilson_interval(accepted, count)
            x, y = place(mean, accepted / count)
            _, bottom = place(mean, float(low))
            _, above = place(mean, float(high))
            lines.append(
                f'<path d="M{x:.1f} {bottom:.1f}V{above:.1f}" stroke="{color}"/>'
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}"/>'
            )
    return "\n".join([*lines, "</svg>", ""])


def speed(judge: Judge, opening: str = "So") -> Row:
    """Decisions a second of one core about mined rewrites that begin with a new word."""
    torch.set_num_threads(1)
    mined = [each for each in read_judged_rewrites(whole=True) if each.set == "base"]

    def beginning(words: str) -> list[Pair]:
        return [(f"{words} {each.original}", f"{words} {each.rewrite}") for each in mined]

    def seconds(work: Callable[[], object]) -> float:
        begin = time.process_time()
        work()
        return time.process_time() - begin

    judge.at_least(beginning("Also")[:8], judge.tau)
    new, known, scored = (beginning(f"{opening}{more}") for more in ("", " now", " then"))
    unknown = seconds(lambda: judge.at_least(new, judge.tau))
    # All that reads originals knows them from another rewrite.
    judge.scores([(original, f"{original} ok") for original, _ in known])
    remembered = seconds(lambda: judge.at_least(known, judge.tau))
    scoring = seconds(lambda: judge.scores(scored[:200]))
    return Row(
        "decisions a second of one core",
        {
            "originals new": round(len(new) / unknown),
            "originals known": round(len(known) / remembered),
            "scores a second": round(200 / scoring),
        },
        at_least="150 with new originals, ten times that with known ones",
        reached=len(new) / unknown >= 150 and len(known) / remembered >= 1500,
    )


def main() -> None:
    """Measure, draw, record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=300, help="pairs of each set of sentences")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "pictures" / "judge.svg")
    parser.add_argument("--speed", action="store_true", help="measure only the speed, three times")
    arguments = parser.parse_args()
    judge = load_scorer("judge")
    if not isinstance(judge, Judge):
        raise SystemExit("the scorer judge is not the shipped one")
    if arguments.speed:
        for opening in ("So", "Well,", "Now"):
            print(speed(judge, opening).figures)
        return
    tau = judge.tau
    some = [
        each
        for each in swords(data_file("substitution/swords-v1.1_dev.json.gz"))
        if held_out(each) and 5 <= len(each.original.split()) <= 30
    ]
    random.Random(0).shuffle(some)
    some = some[:SUBSTITUTES]
    scores = judge.scores([(each.original, each.rewrite) for each in some])
    shares = np.array([each.share for each in some])
    shown = {"substitutes of SWORDS, held out": bands(scores, shares >= 0.5)}
    sure = shares[scores >= tau]
    clear = (shares >= 0.5) | (shares <= 0.1)
    row, area, recall = agreement(
        "SWORDS, targets held out", scores[clear], shares[clear] >= 0.5, tau
    )
    rows = [
        Row(row.name, row.figures, at_least=f"area {AT_LEAST_AREA}, recall {AT_LEAST_RECALL}",
            reached=area >= AT_LEAST_AREA and recall >= AT_LEAST_RECALL),
        Row("the same, with what readers disagree about", {
            "S at least τ": len(sure),
            "of these accepted": int((sure >= 0.5).sum()),
            "refused": int((sure <= 0.1).sum()),
        }),
    ]  # fmt: skip
    mined = [each for each in read_judged_rewrites(whole=True) if each.part == "report"]
    # Use only the evidence about the place: readings of these very rewrites count in S.
    scores = judge.evident_chances([(each.original, each.rewrite) for each in mined])
    accepted = np.array([each.accepted for each in mined])
    for kind in ("base", "enriched"):
        inside = np.array([each.set == kind for each in mined])
        rows.append(
            agreement(f"mined rewrites, {kind}, not fitted", scores[inside], accepted[inside], tau)[
                0
            ]
        )
    shown["mined rewrites, not fitted"] = bands(scores, accepted)
    rows += written_rewrites(judge)
    rows += whole_sentences(judge, load_scorer("meaning"), arguments.pairs)
    rows.append(speed(judge))
    arguments.picture.write_text(diagram(shown), "utf-8")
    write_record("judge_agreement", rows)


if __name__ == "__main__":
    main()
