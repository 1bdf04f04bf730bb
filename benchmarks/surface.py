"""The surface evidence on rewrites that were read, and its speed.

Method: the area under the ROC curve of the plain sum of all columns except the counts of words, for
each set, on the part of `judged_rewrites.tsv` that nothing was fitted on; how many of the rewrites
that support evidence explains were accepted; pairs a second on one core, for unseen words and for
seen ones (the pairs themselves are always new).
Bias: the authors of the lists had looked at rewrites of the other part, and in the first hour at
some of this one. The sum has no weights; those of the judge are better.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks.grammar import area
from benchmarks.judged_rewrites import JudgedRewrite, read_judged_rewrites
from benchmarks.record import Row, read_options, write_record
from sears_dsl.judge.surface import SUPPORT, SURFACE, support_evidence, surface_evidence

_LEAST_PAIRS_A_SECOND = 5000
_COUNTED = ("changed", "words replaced", "words added", "words lost")
_SUMMED = [place for place, name in enumerate(SURFACE) if not name.endswith(_COUNTED)]


def _pairs(rewrites: list[JudgedRewrite]) -> list[tuple[str, str]]:
    return [(each.original, each.rewrite) for each in rewrites]


def _pairs_a_second(pairs: list[tuple[str, str]]) -> float:
    start = time.process_time()
    surface_evidence(pairs)
    return len(pairs) / (time.process_time() - start)


def main() -> int:
    """Measure, print, and write the record."""
    rewrites = read_judged_rewrites(whole=True)
    pairs = _pairs(rewrites)
    surface_evidence([("It is.", "It was.")])  # loads the tables
    speeds = [_pairs_a_second(pairs)]
    speeds.append(_pairs_a_second([(f"{old} Yes.", f"{new} Yes.") for old, new in pairs]))
    fast = speeds[1] >= _LEAST_PAIRS_A_SECOND
    rows = [
        Row("one core, new words", {"pairs/s": round(speeds[0])}),
        Row(
            "one core, familiar words", {"pairs/s": round(speeds[1])},
            at_least=f"{_LEAST_PAIRS_A_SECOND:,}", reached=fast,
        ),
    ]  # fmt: skip
    for chosen in sorted({each.set for each in rewrites}):
        held = [each for each in rewrites if each.set == chosen and each.part == "report"]
        against = surface_evidence(_pairs(held))[:, _SUMMED].sum(axis=1)
        accepted = np.array([each.accepted for each in held])
        explained = support_evidence(_pairs(held))[:, SUPPORT.index("explained")] > 0
        figures: dict[str, float | int | str] = {
            "rewrites": len(held),
            "accepted": int(accepted.sum()),
            "area": f"{area(list(against[~accepted]), list(against[accepted])):.3f}",
            "explained": int(explained.sum()),
            "of these accepted": int((explained & accepted).sum()),
        }
        rows.append(Row(f"rewrites that were read, {chosen}", figures))
    write_record("surface", rows)
    return 0


if __name__ == "__main__":
    read_options(__doc__)
    sys.exit(main())
