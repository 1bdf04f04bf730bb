"""The manifest of a discovered ruleset: what it was found from, and what was counted.

It records all that decided the result (data, model, translation models and the bounds of their
search, scorer, τ, δ, seed, budget, device, versions) and nothing else: no date and no path, so that
the same run writes the same bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from sears_dsl.answers import Comparison
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.data.protection import Protection
from sears_dsl.discovery.counts import Flip, Funnel, NearMiss, RowNumbers, TextVerdict
from sears_dsl.discovery.settings import Across, Order
from sears_dsl.errors import DataError, readable
from sears_dsl.runtime.files import read_document, write_atomically


class JsonRecord(BaseModel):
    """The base of what is written as JSON; refuses unknown fields and numbers that JSON lacks."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _as_utf8(cls, value: Any) -> Any:
        """A file may have a name in other bytes, and be named in any field, alone or in a list."""
        if type(value) in (tuple, list):
            return type(value)(readable(each) if isinstance(each, str) else each for each in value)
        return readable(value) if isinstance(value, str) else value


class _VersionedFile(BaseModel):
    """The fields that say how the rest of a manifest is read."""

    format: Literal["sears-manifest"]
    version: int


class DataIdentity(JsonRecord):
    """The rows of the run: SHA-256 of texts and labels, how many, which columns, what stayed.

    `column_sets` is how many columns, or sets of them, rules may rewrite; each row of the file
    stands there so often. `last_row` is the number of the last row in the file, where rows with
    unreadable pictures are left out. Both are None in documents of earlier versions, which name the
    columns `image` and `choices` in `also` alone.
    """

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    rows: int = Field(ge=0)
    column: str
    label: str | None
    also: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    spans: tuple[str, ...] = ()
    column_sets: int | None = None
    last_row: int | None = None
    image: str | None = None
    choices: str | None = None

    @classmethod
    def of(cls, data: LabelledRows, *, label: str | None, also: tuple[str, ...]) -> DataIdentity:
        """The identity of labelled rows."""
        protection = Protection() if data.guards is None else data.guards.protection
        return cls(
            sha256=data.digest,
            rows=len(data.rows),
            column=data.column,
            label=label,
            also=tuple(dict.fromkeys((*also, *filter(None, (data.image, data.choices))))),
            protect=protection.columns,
            spans=tuple(map(str, protection.spans)),
            column_sets=len(set(data.rewritten_columns or ())) or 1,
            last_row=data.number(len(data.rows) - 1),
            image=data.image,
            choices=data.choices,
        )


class SettingsRecord(JsonRecord):
    """What the person chose."""

    rules: int = Field(ge=1)
    tau: float = Field(ge=0, le=1)
    tau_from: str
    delta: float = Field(ge=0, lt=1)
    minimum_flips: int = Field(ge=1)
    minimum_frequency: float = Field(ge=0, le=1)
    propose_from: Literal["paraphrases", "adversaries"]
    context: int = Field(ge=0)
    order: Order
    max_questions: int | None
    question_limit_reached: bool
    holdout: float = Field(ge=0, lt=1)
    beam: int | None = Field(ge=1)
    seed: int
    budget_seconds: float | None
    budget_reached: bool
    cut_short: tuple[str, ...]
    comparison: Comparison
    across: Across = "any"


class SearchRecord(JsonRecord):
    """How paraphrases were searched and scored.

    ``tau`` is the least S by the translation models; ``edit_distance`` the most words inserted,
    deleted or replaced; ``paraphrases`` the most of a sentence; ``pieces`` the most in a sentence
    that is searched; ``threads`` the number in one process.
    """

    tau: float = Field(ge=0, le=1)
    edit_distance: int = Field(ge=1)
    paraphrases: int = Field(ge=1)
    pieces: int = Field(ge=1)
    device: str
    threads: int = Field(ge=1)


class FoundRecord(JsonRecord):
    """What was counted for one rule, as a `FoundRule` has it; rates with their 95% intervals.

    ``judged`` is null for a known rule and in the paper's order. Rates are counted on the rows that
    were ``asked`` about. ``gain`` counts all rows that the rule is known to flip, and ``examples``
    are among these: under a limit there may be more of them than ``flips``, since the model
    answered the same rewrites for other rules.
    """

    id: str
    rule: str
    source: str
    judged: TextVerdict | None
    changed: int
    asked: int
    flips: int
    flip_rate: float
    flip_interval: tuple[float, float]
    q_value: float
    at_tau: int
    share_at_tau: float
    share_interval: tuple[float, float]
    mean_score: float
    flips_of_models: tuple[int, ...] = ()
    gain: float
    flips_at_tau: int
    held_out: RowNumbers | None
    examples: tuple[Flip, ...]


class Manifest(JsonRecord):
    """Everything about a run of discovery.

    ``base_rate`` is the share of ``base_rows`` rows that a rewording flips, one drawn for each:
    what a known rule writes or, where none changes the row, a paraphrase with S ≥ τ.
    ``models`` are the names of several models that answered together, and ``flips_of_models`` of a
    rule is how many rows each of them then has wrong.
    ``closest`` are rules that were not found, with what they lacked.
    ``paraphraser`` is what made the paraphrases where no search through the pivots did (then there
    is no ``beam`` and no ``search``); ``pivots`` are empty where nothing was translated.
    ``tagger`` is the one that the rules were found and tested with, name and version;
    ``validated_with`` are others with which ``sears test --record`` found that their tests hold.
    """

    format: Literal["sears-manifest"] = "sears-manifest"
    version: Literal[2] = 2
    ruleset_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    data: DataIdentity
    model: str
    models: tuple[str, ...] = ()
    pivots: tuple[str, ...]
    paraphraser: str | None = None
    scorer: str
    tagger: str
    validated_with: tuple[str, ...] = ()
    settings: SettingsRecord
    search: SearchRecord | None = None
    counts: Funnel
    base_rate: float
    base_rows: int
    rules: tuple[FoundRecord, ...]
    closest: tuple[NearMiss, ...]
    versions: dict[str, str]


def write_manifest(manifest: Manifest, path: Path) -> None:
    """Write a manifest, entirely or not at all."""
    write_atomically(path, (manifest.model_dump_json(indent=2) + "\n").encode("utf-8"))


def read_manifest(path: Path) -> Manifest:
    """Read and check a manifest."""
    try:
        content = read_document(path)
        if _VersionedFile.model_validate_json(content).version == 1:
            raise DataError(
                f"{path} is a manifest of version 1, which earlier versions of sears wrote",
                help="its rules are read as before; for its numbers run `sears discover` again",
            )
        return Manifest.model_validate_json(content)
    except OSError as error:
        raise DataError(f"{path} could not be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise DataError(
            f"{path} is not a manifest: {place}: {first['msg']}",
            help="it stands beside a ruleset that `sears discover` wrote; run that again",
        ) from error
