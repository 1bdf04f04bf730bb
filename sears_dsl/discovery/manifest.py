"""The manifest of a discovered ruleset: from what it was found, and what was counted.

In: the JSON file that stands beside a found ruleset. Out: `Manifest`, checked field by field.
Always holds: whatever decided the result is in it (data, model, translation models and the bounds
of their search, scorer, τ, δ, seed, budget, device, versions) and nothing else is, no date and no
path, so that the same run writes the same bytes. Costs nothing to speak of.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sears_dsl._documents import read_document
from sears_dsl.batch.validated import manifest_path
from sears_dsl.discovery.counted import Flip, Funnel, HeldOut
from sears_dsl.errors import DataError
from sears_dsl.models.predictor import Comparison
from sears_dsl.text.writing import write_atomically

__all__ = [
    "DataIdentity",
    "Manifest",
    "RuleRecord",
    "SearchRecord",
    "SettingsRecord",
    "manifest_path",
    "read_manifest",
    "write_manifest",
]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DataIdentity(_Record):
    """The rows of the run: SHA-256 of texts and labels, how many, which columns."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    rows: int = Field(ge=0)
    column: str
    label: str | None
    also: tuple[str, ...] = ()


class SettingsRecord(_Record):
    """What the person chose."""

    rules: int = Field(ge=1)
    tau: float = Field(ge=0, le=1)
    tau_from: str
    delta: float = Field(ge=0, lt=1)
    minimum_flips: int = Field(ge=1)
    minimum_frequency: float = Field(ge=0, le=1)
    propose_from: Literal["paraphrases", "adversaries"]
    context: int = Field(ge=0)
    join_contexts: bool = False
    holdout: float = Field(ge=0, lt=1)
    beam: int = Field(ge=1)
    seed: int
    budget_seconds: float | None
    budget_reached: bool
    cut_short: tuple[str, ...] = ()
    comparison: Comparison = "exact"


class SearchRecord(_Record):
    """How paraphrases were searched and scored.

    ``tau`` is the least S by the translation models; ``edit_distance`` the most words put in, left
    out or replaced; ``paraphrases`` the most of a sentence; ``pieces`` the most of a sentence that
    is searched; ``threads`` those of one process.
    """

    tau: float = Field(ge=0, le=1)
    edit_distance: int = Field(ge=1)
    paraphrases: int = Field(ge=1)
    pieces: int = Field(ge=1)
    device: str
    threads: int = Field(ge=1)


class RuleRecord(_Record):
    """What was counted for one rule; rates with their 95% intervals.

    ``changed`` are the right rows that the rule changes; ``at_tau`` those with S ≥ τ; ``flips``
    those that the model then answers otherwise, ``flips_at_tau`` those of them with S ≥ τ. ``gain``
    is what the rule adds to the weighted coverage of those before it. The rows are those that were
    searched. Only those of a rule that joins contexts (``joined``) are others, which neither chose
    nor judged these: the held-out rows, or a third of the searched ones where none are held out;
    its ``q_value`` is from the rows that judged it.
    """

    id: str
    rule: str
    changed: int
    flips: int
    flip_rate: float
    flip_interval: tuple[float, float]
    q_value: float
    at_tau: int
    share_at_tau: float
    share_interval: tuple[float, float]
    mean_score: float
    gain: float
    flips_at_tau: int | None = None
    joined: bool = False
    held_out: HeldOut | None
    examples: tuple[Flip, ...]


class Manifest(_Record):
    """Everything about a run of discovery.

    ``base_rate`` is the share of ``base_rows`` rows of which a paraphrase with S ≥ τ, drawn by lot,
    flips the model (in files of earlier versions, without ``base_rows``, of all paraphrases).
    ``tagger`` is the one that the rules were found and tested with, name and version;
    ``validated_with`` are others with which ``sears test --record`` found that their tests hold.

    Example:
        >>> {"data", "model", "scorer", "settings", "versions"} <= set(Manifest.model_fields)
        True
    """

    format: Literal["sears-manifest"] = "sears-manifest"
    version: Literal[1] = 1
    ruleset_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    data: DataIdentity
    model: str
    pivots: tuple[str, ...]
    scorer: str
    tagger: str
    validated_with: tuple[str, ...] = ()
    settings: SettingsRecord
    search: SearchRecord | None = None
    counts: Funnel
    base_rate: float
    base_rows: int | None = None
    rules: tuple[RuleRecord, ...]
    versions: dict[str, str]


def write_manifest(manifest: Manifest, path: Path) -> None:
    """Write it, entirely or not at all.

    Raises:
        DataError: the file cannot be written.
    """
    write_atomically(path, (manifest.model_dump_json(indent=2) + "\n").encode("utf-8"))


def read_manifest(path: Path) -> Manifest:
    """Read and check it.

    Raises:
        DataError: there is no such file, or it is no manifest of this version.
    """
    try:
        return Manifest.model_validate_json(read_document(path))
    except OSError as error:
        raise DataError(f"{path} could not be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise DataError(
            f"{path} is no manifest: {place}: {first['msg']}",
            help="it stands beside a ruleset that `sears discover` wrote; run that again",
        ) from error
