"""Scorers: what one is, how they are loaded by name, and the numbers that they are shipped with.

Thresholds come from files of numbers: those of ``judge``, ``judge-lm`` and ``meaning`` are written
by `python -m training.judge`, ``scorers.json`` for the others by `python -m benchmarks.agreement
--fit`. Nothing is downloaded, and importing this module loads no network. Loading a scorer takes a
second or two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from sears_dsl.defaults import DEFAULT_SCORER, INSTEAD_OF, JUDGES, SCORER_NAMES
from sears_dsl.errors import ModelError, UsageError
from sears_dsl.runtime.files import parse_json
from sears_dsl.runtime.interrupts import import_whole

if TYPE_CHECKING:
    import torch

    from sears_dsl.judge.judge import Judge
    from sears_dsl.judge.readings import Reading
    from sears_dsl.translation.pivots import Pivot

Pair = tuple[str, str]
"""A text and its rewrite."""


class Scorer(Protocol):
    """Says how far a rewrite still means what its original means."""

    @property
    def name(self) -> str:
        """``judge``, ``judge-lm``, ``meaning``, ``pivot``, ``minilm``, or a name of one's own."""

    @property
    def identity(self) -> str:
        """A name for exactly what gives its scores, for manifests and cache keys."""

    @property
    def tau(self) -> float:
        """Its shipped threshold."""

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """S of each pair (original, rewrite), in [0, 1]."""

    def at_least(self, pairs: Sequence[Pair], tau: float) -> NDArray[np.bool_]:
        """Whether S ≥ ``tau``, for each pair; may stop early where the answer is certain."""


def scores_from(scorer: Scorer, pairs: Sequence[Pair], least: float) -> NDArray[np.float64]:
    """S of each pair with S ≥ ``least``, and 0 for the others, which scorers often tell sooner.

    A scorer that finds both at once has a method of this name.
    """
    at_once: Any = getattr(scorer, "scores_from", None)
    if at_once is not None:
        return np.asarray(at_once(pairs, least), np.float64)
    scores = np.zeros(len(pairs))
    passing = np.flatnonzero(scorer.at_least(pairs, least))
    if len(passing):
        scores[passing] = scorer.scores([pairs[each] for each in passing.tolist()])
    return scores


_FITTED_ANEW = {
    "judge": ("sears_dsl.judge", "judge.json"),
    "judge-lm": ("sears_dsl.judge", "judge_lm.json"),
    "meaning": ("sears_dsl.meaning", "sentence_meaning.json"),
}


def spread_of(scorer: Scorer) -> Callable[[Sequence[Pair]], NDArray[np.float64]] | None:
    """A function that gives each pair the spread of the error shared by rewrites of its change.

    It is known only for the shipped judges. Any other scorer has None and is taken at its word, as
    in the paper.
    """
    if scorer.name not in JUDGES or not scorer.identity.startswith("judge-"):
        return None
    return cast("Judge", scorer).readings.spreads


@dataclass(frozen=True, slots=True)
class ShippedNumbers:
    """The numbers that a scorer is shipped with."""

    tau: float
    # How it was found: the criterion, the date, and what is known of each set of judgements
    provenance: Mapping[str, Any]


def shipped_numbers(name: str) -> ShippedNumbers:
    """The shipped numbers of a scorer."""
    if name not in SCORER_NAMES:
        former = INSTEAD_OF.get(name)
        raise UsageError(
            f"there is no scorer {name!r}{' any more' if former else ''}",
            help=f"choose {former}, which replaces it"
            if former
            else f"the scorers are {', '.join(SCORER_NAMES)}",
        )
    package, file = _FITTED_ANEW.get(name, (__package__, "scorers.json"))
    path = files(package).joinpath(file)
    try:
        entry = parse_json(path.read_text("utf-8"))
        numbers = entry if name in _FITTED_ANEW else entry[name]
        return ShippedNumbers(numbers["tau"], numbers["provenance"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{path} has no numbers for the scorer {name} that this version can read: {error!r}",
            help="reinstall the package",
        ) from error


def load_scorer(
    name: str = DEFAULT_SCORER,
    *,
    pivots: Sequence[Pivot] | None = None,
    tau: float | None = None,
    device: str | torch.device | None = None,
    readings: Sequence[Reading] = (),
) -> Scorer:
    """Load a scorer by name.

    Args:
        name: ``judge``, the chance that most readers would accept a rewrite; ``judge-lm``, the
            same with a language model asked as well; ``meaning``, the chance that people call two
            whole sentences the same; ``pivot``, the paper's score; ``minilm``, the cosine of a
            sentence encoder.
        readings: what your own readers said of rewrites; only the judges take them.

    Raises:
        UsageError: there is no such scorer, or it takes no readings.
        ModelError: a model is not installed.

    Example:
        >>> load_scorer("minilm").name
        'minilm'
    """
    numbers = shipped_numbers(name)
    if readings:
        require_judge(name)
    threshold = numbers.tau if tau is None else tau
    import_whole("torch")
    # Each brings networks that take seconds to import, so it is imported when it is asked for.
    if name in JUDGES:
        from sears_dsl.judge.judge import load_judge  # noqa: PLC0415
        from sears_dsl.translation.model_files import carried_language_model  # noqa: PLC0415

        model = None if name == "judge" else carried_language_model()
        judge = load_judge(tau=tau, device=device, language_model=model)
        return judge.with_readings(readings) if readings else judge
    if name == "meaning":
        from sears_dsl.meaning.sentence_meaning import load_sentence_meaning  # noqa: PLC0415

        return load_sentence_meaning(tau=tau, device=device)
    if name == "minilm":
        from sears_dsl.meaning.sentence_encoder import MiniLM  # noqa: PLC0415

        return MiniLM(tau=threshold, device=device)
    from sears_dsl.meaning.pivot_score import PivotScorer  # noqa: PLC0415
    from sears_dsl.translation.pivots import load_pivots  # noqa: PLC0415

    return PivotScorer(load_pivots(device=device) if pivots is None else pivots, tau=threshold)


def require_judge(name: object) -> None:
    """Refuse readings for a scorer that has no use for them."""
    if name not in JUDGES:
        raise UsageError(
            f"readings count only in the scorers {' and '.join(JUDGES)}, but another one is chosen",
            help="leave out --readings or --scorer",
        )


def translates(name: str | None) -> bool:
    """Whether a scorer asks translation models; None stands for no scorer."""
    return name == "pivot"


def through_english(name: str, pivots: Sequence[str]) -> bool:
    """Whether a scorer asks translation models that take English; no pivots stand for the carried.

    Example:
        >>> through_english("pivot", []), through_english("pivot", ["pt-en"])
        (True, False)
    """
    from sears_dsl.translation.model_files import languages_of  # noqa: PLC0415 - as asked for

    homes = {languages_of(pivot.partition("=")[0])[0] for pivot in pivots}
    return translates(name) and homes <= {"en"}


def fit_warning(name: str, pivots: Sequence[str], *, tau: float | None = None) -> str:
    """A warning for those who score through other models than the numbers were fitted with.

    It is empty where the numbers fit, or none is used, as with a threshold of one's own.
    """
    fitted_with = shipped_numbers(name).provenance["models"]
    asks_none = not translates(name) or tau is not None
    if asks_none or all(pivot in fitted_with for pivot in pivots):
        return ""
    return (
        f"the scorer {name} was fitted with other translation models, so its S and τ were not "
        f"measured with these; `sears calibrate --scorer {name} --pivot …` fits τ to judgements "
        "of yours, which --tau then takes"
    )
