"""Makes the judge with a language model: ``python -m training.likelihood --keep FOLDER``.

In: the judgements with all evidence that `training.judge` saved in the folder, and the
``judge.json`` of that same run with its ``judge.npz``. Out: ``judge_lm.json``, the curves of all
evidence plus the likelihood of rewrites by a language model, fitted and calibrated as the judge's
are; and ``readings_lm.json``, what readers accept of each change beyond that. Costs some 0.08 s of
one core for each of 36,000 rewrites, an hour in all. What was read is saved, and two processes may
read at a time (``--read-only``).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from sears_dsl.judge.evidence import named
from sears_dsl.judge.likelihood import (
    AFTER,
    LIKELIER,
    LIKELIHOOD,
    LikelihoodModel,
    Nats,
    columns_of,
)
from sears_dsl.runtime.array_types import Floats
from sears_dsl.translation.model_files import carried_language_model
from training.command import run
from training.judge import (
    FITTED,
    SHIPPED,
    Weighed,
    fit_all,
    judge_document,
    kept_sets,
    write_readings,
)
from training.records import digest, load_or_compute, show, write_json

_AT_ONCE = 500


def main() -> None:
    """Read, fit, write, and report how good the result is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, required=True, help="the folder of training.judge")
    parser.add_argument("--out", type=Path, default=Path("sears_dsl/judge/judge_lm.json"))
    parser.add_argument(
        "--beside", type=Path, default=Path("sears_dsl/judge/judge.json"),
        help="the judge made together with what the folder holds",
    )  # fmt: skip
    parser.add_argument(
        "--read-only", choices=("forwards", "backwards"),
        help="read what is missing, in this order, and fit nothing",
    )  # fmt: skip
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    sets = kept_sets(arguments.keep)
    # Half the precision takes less than half the time.
    model = LikelihoodModel(carried_language_model(), type_of_numbers=torch.bfloat16)
    if arguments.read_only:
        step = 1 if arguments.read_only == "forwards" else -1
        for name in list(FITTED)[::step]:
            for some in _portions(_pairs(sets[name]))[::step]:
                _nats_of_portion(name, some, model, arguments.keep)
        return
    judged: dict[str, Weighed] = {}
    shipped: dict[str, Weighed] = {}
    for name in FITTED:
        likelihood = columns_of(nats_of(name, _pairs(sets[name]), model, arguments.keep))
        columns = named((*LIKELIHOOD, *LIKELIER), likelihood)
        for prefix, chosen in (("", judged), (SHIPPED, shipped)):
            each = sets.get(prefix + name)
            if each is not None:
                chosen[name] = replace(each, columns={**each.columns, **columns})
    cheap, full = fit_all(judged)
    beside = json.loads(arguments.beside.read_bytes())
    document = judge_document(
        cheap, full, judged,
        sha256=beside["sha256"],
        models="all-MiniLM-L6-v2, SmolLM2-135M-Instruct",
        command="python -m training.likelihood --keep FOLDER",
        files=beside["provenance"]["sets"],
    )  # fmt: skip
    write_json(arguments.out, document)
    write_readings(cheap, full, judged, shipped, out=arguments.out.with_name("readings_lm.json"))


def _pairs(of: Weighed) -> list[tuple[str, str]]:
    return [(one.original, one.rewrite) for one in of.judgements]


def _portions(pairs: Sequence[tuple[str, str]]) -> list[Sequence[tuple[str, str]]]:
    return [pairs[begin : begin + _AT_ONCE] for begin in range(0, len(pairs), _AT_ONCE)]


def nats_of(
    name: str, pairs: Sequence[tuple[str, str]], model: LikelihoodModel, keep: Path
) -> list[Nats]:
    """What the pieces of rewrites cost, in portions that are saved in the folder one by one."""
    portions = (_nats_of_portion(name, some, model, keep) for some in _portions(pairs))
    return [nats for portion in portions for nats in portion]


def _nats_of_portion(
    name: str, pairs: Sequence[tuple[str, str]], model: LikelihoodModel, keep: Path
) -> list[Nats]:
    """What the pieces of these rewrites cost, from the folder if it has them."""

    def asked() -> dict[str, Floats]:
        nats = model.nats(pairs)
        show(f"{name}: likelihood of {len(nats)} more")
        counts = [[len(part) for part in each] for each in nats]
        costs = np.concatenate([part for each in nats for part in each])
        return {"counts": np.array(counts), "costs": costs}

    arrays = load_or_compute(keep / f"{name}-nats-{digest((AFTER, list(pairs)))}.npz", asked)
    parts = np.split(arrays["costs"], np.cumsum(arrays["counts"].ravel())[:-1])
    return [Nats(*parts[at : at + 4]) for at in range(0, len(parts), 4)]


if __name__ == "__main__":
    run(main)
