"""How well scores agree with people; with ``--fit``, fits the thresholds of two scores.

Method: a seeded sample from each set of pairs that differ by 1 to 4 words
(`benchmarks.judged_pairs`). The figure is the area under the ROC curve, with its interval, of the
paper's score, the sentence encoder's cosine, the edit distance and the scorer ``meaning``. The
thresholds of the first two have the least entropy of the induced splits on made substitutions,
since rules make substitutions and filters see them. People who grade whole sentences are more
lenient; the provenance also gives their threshold. At the end the shipped thresholds are tried on
substitutions with a known effect on the meaning, with other words and texts than in the fit.
Bias: ``meaning`` was fitted on the sets called "fitted". STS-B dev and the other half of PAWS come
from the same collections; QQP and SICK do not. The halves of PAWS share sentences, so one row
leaves out the pairs with a sentence of the fit. PAWS mostly asks about word order; nobody judged
the single substitutions.

    python -m benchmarks.agreement [--pairs 300] [--fit] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from benchmarks.judged_pairs import (
    FITTED,
    MADE,
    REPORTED,
    Judged,
    load_set,
    reviews,
    substitutions,
    word_edits,
)
from benchmarks.record import ROOT, Row, write_record
from sears_dsl.meaning.calibration import (
    CRITERION,
    area_interval,
    entropy_threshold,
    operating_curve,
)
from sears_dsl.meaning.pivot_score import PivotScorer
from sears_dsl.meaning.scorers import Scorer, load_scorer, shipped_numbers
from sears_dsl.runtime.array_types import Floats

NUMBERS = ROOT / "sears_dsl" / "meaning" / "scorers.json"
#: So many pairs of PAWS are among those that ``meaning`` was fitted on; the others use fewer.
FITTED_PAWS = 500
LABELLED = "one person, each word substitution once, not its sentences"


class Scores:
    """Scores of pairs by all scorers, saved in a folder: two rows, or a new fit, may need them."""

    def __init__(self, keep: Path) -> None:
        self._scorers: dict[str, Scorer] = {
            "pivot": PivotScorer(),
            "minilm": load_scorer("minilm"),
            "meaning": load_scorer("meaning"),
        }
        self._keep = keep

    def identity(self, name: str) -> str:
        """The identity of a scorer's models."""
        return self._scorers[name].identity

    def of(self, name: str, pairs: list[tuple[str, str]]) -> dict[str, Floats]:
        """S of each pair, by scorer."""
        scores = {}
        for scorer, by in self._scorers.items():
            file = self._file(name, scorer, pairs)
            if not file.exists():
                np.save(file, np.asarray(by.scores(pairs)), allow_pickle=False)
            scores[scorer] = np.load(file)
        return scores

    def _file(self, name: str, scorer: str, pairs: list[tuple[str, str]]) -> Path:
        """Where scores are saved: another scorer's models, or other pairs, have another file."""
        source = repr((self.identity(scorer), pairs))
        digest = hashlib.sha256(source.encode()).hexdigest()[:16]
        return self._keep / f"{name} {len(pairs)} {scorer} {digest}.npy"


def fit(scorers: Scores, pairs: int) -> None:
    """Fit thresholds, and write them with their provenance."""
    sets = [load_set(name, pairs=pairs) for name in FITTED]
    scores_of_sets = [scorers.of(each.name, each.pairs) for each in sets]
    same = np.concatenate([each.strictly for each in sets])
    weight = np.concatenate([np.full(len(each.pairs), 1 / len(each.pairs)) for each in sets])
    is_made = np.repeat([each.name == MADE for each in sets], [len(each.pairs) for each in sets])
    provenance = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "criterion": CRITERION,
        "command": f"python -m benchmarks.agreement --fit --pairs {pairs}",
        "sets": [
            {
                "name": each.name,
                "terms": each.terms,
                "judged by": LABELLED if each.name == MADE else "people, each pair",
                "pairs": len(each.pairs),
                "equivalent": int(each.strictly.sum()),
                "sha256": each.digest,
            }
            for each in sets
        ],
    }
    scores = {
        name: np.concatenate([each[name] for each in scores_of_sets])
        for name in ("pivot", "minilm")
    }
    content = {
        name: {
            "tau": _threshold(values[is_made], same[is_made]),
            "provenance": {
                **provenance,
                "models": scorers.identity(name),
                "tau fitted on": MADE,
                "tau on human judgements": _threshold(
                    values[~is_made], same[~is_made], weight[~is_made]
                ),
            },
        }
        for name, values in scores.items()
    }
    NUMBERS.write_text(json.dumps({"version": 1, **content}, indent=1) + "\n", "utf-8")
    print(f"wrote {NUMBERS.relative_to(ROOT)}")


def _threshold(scores: Floats, same: NDArray[np.bool_], weight: Floats | None = None) -> float:
    return float(f"{entropy_threshold(scores, same, weight):.3g}")


def without_fitted(scorers: Scores, judged: Judged) -> Row:
    """How each scorer ranks those pairs of the half of PAWS that share no sentence with the fit.

    Both halves come from the same sentences, in pairs that are cut by a hash of the pair.
    """
    fitted = load_set("PAWS half 0", pairs=FITTED_PAWS)
    sentences = {sentence for pair in fitted.pairs for sentence in pair}
    apart = np.array([sentences.isdisjoint(pair) for pair in judged.pairs])
    return _ranking(
        f"{judged.name}, no sentence shared with the fit",
        [pair for pair, alone in zip(judged.pairs, apart, strict=True) if alone],
        {name: values[apart] for name, values in scorers.of(judged.name, judged.pairs).items()},
        judged.equivalent[apart],
    )


def areas(scorers: Scores, judged: Judged, fitted: bool) -> Row:
    """How each scorer ranks the pairs of a set."""
    return _ranking(
        f"{judged.name} ({'fitted' if fitted else 'not fitted'})",
        judged.pairs,
        scorers.of(judged.name, judged.pairs),
        judged.equivalent,
    )


def _ranking(
    name: str,
    pairs: list[tuple[str, str]],
    scores: dict[str, Floats],
    equivalent: NDArray[np.bool_],
) -> Row:
    edits = -np.array([word_edits(*pair, most=4) for pair in pairs], np.float64)
    figures: dict[str, float | int | str] = {"pairs": len(pairs)}
    positive = int(equivalent.sum())
    for scorer, values in {"edit distance": edits, **scores}.items():
        area = operating_curve(values, equivalent).area
        low, high = area_interval(area, equivalent=positive, different=len(pairs) - positive)
        figures[scorer] = f"{area:.3f} [{low:.3f}, {high:.3f}]"
    return Row(name, figures)


def substituted(scorers: Scores) -> list[Row]:
    """For each substitution, how many rewrites reach each scorer's τ; and how the scorers rank."""
    rows = substitutions("check", reviews())
    scores = scorers.of("checked substitutions", [(old, new) for _, _, old, new in rows])
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, (meaning, name, _, _) in enumerate(rows):
        places[meaning, name].append(number)
    shares = [
        Row(
            f"{name} (meaning {meaning})",
            {
                "rewrites": len(numbers),
                **{
                    f"share ≥ τ, {scorer}": round(
                        float((values[numbers] >= shipped_numbers(scorer).tau).mean()), 2
                    )
                    for scorer, values in scores.items()
                },
            },
        )
        for (meaning, name), numbers in places.items()
    ]
    clear = np.array([meaning != "debatable" for meaning, *_ in rows])
    same_meaning = np.array([meaning == "kept" for meaning, *_ in rows])
    ranking = {
        name: round(operating_curve(values[clear], same_meaning[clear]).area, 3)
        for name, values in scores.items()
    }
    return [*shares, Row("substitutions that keep the meaning against those that change it",
                        {"rewrites": int(clear.sum()), **ranking})]  # fmt: skip


def main() -> None:
    """Fit if asked, compare, record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=300, help="pairs of each set")
    parser.add_argument("--fit", action="store_true", help="rewrite scorers.json")
    parser.add_argument("--keep", type=Path, help="a folder in which scores are saved")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        scorers = Scores(arguments.keep or Path(folder))
        if arguments.fit:
            fit(scorers, arguments.pairs)
        names = (*(name for name in FITTED if name != MADE), *REPORTED)
        rows = [
            areas(scorers, load_set(each, pairs=arguments.pairs), each in FITTED) for each in names
        ]
        rows.append(without_fitted(scorers, load_set("PAWS half 1", pairs=arguments.pairs)))
        write_record("agreement", [*rows, *substituted(scorers)])


if __name__ == "__main__":
    main()
