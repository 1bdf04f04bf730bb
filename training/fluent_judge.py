"""Makes ``judge_lm.json``: ``python -m training.fluent_judge --keep FOLDER``.

In: the judgements with all evidence that `training.judge` keeps in the folder; the shipped judge,
which is to be the one that was made then. Out: curves over the judge's doubt and what a language
model says of the likelihood of rewrites, fitted and calibrated as the judge's are. The judge's
chances are those that it has without having learned from these judgements, and without readings of
the same change. Costs: some 0.1 s of one core for each of 16,000 rewrites, of which the mined ones
are drawn by lot; what was read is kept.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from sears_dsl.judge.evidence import Curves, named
from sears_dsl.judge.fluent_judge import DOUBT, VERSION, doubts
from sears_dsl.judge.language_model import (
    AFTER,
    LIKELIER,
    LIKELIHOOD,
    LanguageModel,
    Nats,
    columns_of,
)
from sears_dsl.judge.readings import load_readings
from sears_dsl.runtime.files import write_atomically
from sears_dsl.translation.model_files import carried_language_model
from training.judge import (
    BASE_RATE,
    FITTED,
    Weighed,
    at_base_rate,
    described,
    figures,
    fit_curves,
    gathered,
    kept_sets,
    scores_of,
    show,
)

#: So many mined rewrites are read.
MINED = 6000
_AT_ONCE = 500


def main() -> None:
    """Read, fit, write, and say how good it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, required=True, help="that of training.judge")
    parser.add_argument("--numbers", type=Path, default=Path("sears_dsl/judge/judge.json"))
    parser.add_argument("--out", type=Path, default=Path("sears_dsl/judge/judge_lm.json"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    numbers = json.loads(arguments.numbers.read_bytes())
    judge = Curves.of(numbers["cheap"]), Curves.of(numbers["full"])
    readings = load_readings()
    # Half the precision, for less than half the time.
    model = LanguageModel(carried_language_model(), type_of_numbers=torch.bfloat16)
    weighed = {}
    for name, each in kept_sets(arguments.keep).items():
        if name not in FITTED:
            continue
        some = _drawn(each) if name == "mined" else each
        # As the judge has it where nobody read the change.
        unread = readings.chances(scores_of(*judge, some.columns), [()] * len(some.judgements))
        likelihood = columns_of(_read(name, some, model, arguments.keep))
        columns = {DOUBT: doubts(unread), **named((*LIKELIHOOD, *LIKELIER), likelihood)}
        weighed[name] = replace(some, columns=columns)
    evidence, shares, kinds, weights, _ = gathered(weighed, FITTED)
    fitted = fit_curves(evidence, shares, kinds, weights, helps=LIKELIER)
    curves = at_base_rate(fitted, weighed, evidence)
    entries = {}
    for name in ("swords", "mined"):
        some = weighed[name]
        for label, wanted in (("fitted", False), ("held out", True)):
            rows = some.held_out == wanted
            columns = {key: values[rows] for key, values in some.columns.items()}
            title = f"{name}, {label}"
            entries[title] = figures(
                f"{title}, with a language model", curves.chances(columns), some.shares[rows]
            )
            figures(f"{title}, without", -columns[DOUBT], some.shares[rows])
    document = {
        "version": VERSION,
        "tau": 0.5,
        "sha256": hashlib.sha256(arguments.numbers.read_bytes()).hexdigest(),
        "provenance": {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "command": "python -m training.fluent_judge --keep FOLDER",
            "criterion": f"share of readers who accept, one in {1 / BASE_RATE:.0f} acceptable",
            "models": "all-MiniLM-L6-v2, SmolLM2-135M-Instruct",
            "judgements": {name: len(each.judgements) for name, each in weighed.items()},
            "figures": entries,
        },
        "full": described(curves),
    }
    text = json.dumps(document, indent=1) + "\n"
    write_atomically(arguments.out, text.encode())


def _drawn(mined: Weighed) -> Weighed:
    """Some judgements by lot; all that are held out."""
    order = np.random.default_rng(7).permutation(len(mined.judgements))
    chosen = order[: MINED + int(mined.held_out.sum())]
    rows = np.union1d(chosen, np.flatnonzero(mined.held_out))
    return Weighed(
        [mined.judgements[row] for row in rows.tolist()],
        {key: values[rows] for key, values in mined.columns.items()},
    )


def _read(name: str, of: Weighed, model: LanguageModel, keep: Path) -> list[Nats]:
    """What the pieces of rewrites cost; what is kept is kept for these rewrites."""
    pairs = [(one.original, one.rewrite) for one in of.judgements]
    digest = hashlib.sha256(repr((AFTER, pairs)).encode()).hexdigest()[:16]
    file = keep / f"{name}-nats-{digest}.npz"
    if not file.exists():
        nats: list[Nats] = []
        for begin in range(0, len(pairs), _AT_ONCE):
            nats += model.nats(pairs[begin : begin + _AT_ONCE])
            show(f"{name}: likelihood of {len(nats)} of {len(pairs)}")
        content = io.BytesIO()
        counts = [[len(part) for part in each] for each in nats]
        costs = np.concatenate([part for each in nats for part in each])
        np.savez(content, counts=np.array(counts), costs=costs)
        write_atomically(file, content.getvalue())
    with np.load(file) as arrays:
        ends = np.cumsum(arrays["counts"].ravel())
        parts = np.split(arrays["costs"], ends[:-1])
    return [Nats(*parts[at : at + 4]) for at in range(0, len(parts), 4)]


if __name__ == "__main__":
    main()
