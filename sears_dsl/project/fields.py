"""What a project file may say, field by field.

In: the tables of a TOML file. Out: `ProjectFields`. Always holds: an unknown key is an error that
names the known ones; a name in `use` is one that the file defines; nothing is opened or imported.
Costs the import of pydantic.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from sears_dsl.answers import COMPARISONS, check_comparison
from sears_dsl.errors import UsageError


class _TomlTable(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _has_no_unknown_key(cls, value: Any) -> Any:
        if isinstance(value, dict):
            for key in value:
                if key not in cls.model_fields:
                    about = {"key": key, "known": " ".join(cls.model_fields)}
                    raise PydanticCustomError("unknown_key", "unknown key", about)
        return value


def _listed(value: object) -> object:
    """Accept one text in place of a list."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _standing_for(key: str) -> BeforeValidator:
    """Accept a text in place of a table with only this key."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


def _rate(value: object) -> object:
    """Return a number as text, as commands take it."""
    return str(value) if isinstance(value, int | float) and value is not True else value


def _comparison(value: str) -> str:
    try:
        return check_comparison(value)
    except UsageError as error:
        template = "Input should be {comparisons}"
        raise PydanticCustomError("comparison", template, {"comparisons": COMPARISONS}) from error


def _name(name: str) -> str:
    if re.fullmatch(r"[A-Za-z][\w-]*", name) is None:
        raise ValueError("a name is made of letters, digits, _ and -, and begins with a letter")
    return name


_Text = Annotated[str, Field(min_length=1)]
_Texts = Annotated[tuple[_Text, ...], BeforeValidator(_listed)]
_Rate = Annotated[_Text, BeforeValidator(_rate)]
_Name = Annotated[str, BeforeValidator(_name)]


class Model(_TomlTable):
    """A model under test: what follows ``--model``, and how an endpoint is asked."""

    spec: _Text
    batch_size: int | None = Field(default=None, ge=1)
    request_map: _Text | None = None
    response_map: _Text | None = None
    timeout: float | None = Field(default=None, gt=0)
    retries: int | None = Field(default=None, ge=0)
    connections: int | None = Field(default=None, ge=1)
    on_error: Literal["stop", "skip"] | None = None


class DatasetFields(_TomlTable):
    """Rows: a file, its columns, and how answers are compared with labels."""

    file: _Text
    column: _Text | None = None
    label: _Text | None = None
    also: _Texts = ()
    compare: Annotated[str, BeforeValidator(_comparison)] | None = None
    format: _Text | None = None
    slices: _Texts = ()


class GateFields(_TomlTable):
    """What an audit must not exceed; rates as ``"5%"`` or 0.05."""

    max_flip_rate: _Rate | None = None
    max_miss_rate: _Rate | None = None
    max_rows_flipped: _Rate | None = None
    tolerance: _Rate | None = None
    judge_by: Literal["rate", "evidence", "proof"] | None = None
    min_support: int | None = Field(default=None, ge=1)
    require_support: bool | None = None
    rules: dict[str, _Rate] = {}


class UseOfCommand(_TomlTable):
    """The names that a command takes if the command line gives none."""

    model: str | None = None
    data: str | None = None
    train: str | None = None
    rules: _Texts = ()


class Use(UseOfCommand):
    """The names for all commands, and those for single commands, which win."""

    discover: UseOfCommand = UseOfCommand()
    adversaries: UseOfCommand = UseOfCommand()
    vet: UseOfCommand = UseOfCommand()
    audit: UseOfCommand = UseOfCommand()
    fix: UseOfCommand = UseOfCommand()
    augment: UseOfCommand = UseOfCommand()
    apply: UseOfCommand = UseOfCommand()
    check: UseOfCommand = UseOfCommand()
    test: UseOfCommand = UseOfCommand()
    generate: UseOfCommand = UseOfCommand()
    export: UseOfCommand = UseOfCommand()


class ProjectFields(_TomlTable):
    """All of a project file.

    ``text`` are unlabelled rows on which `discover` judges rules; ``readings`` are journals of
    `vet` that count in its judge; ``audits`` is the folder that an audit writes, ``baseline`` the
    one that `compare` compares it with.
    """

    models: dict[_Name, Annotated[Model, _standing_for("spec")]] = {}
    datasets: dict[_Name, Annotated[DatasetFields, _standing_for("file")]] = {}
    rulesets: dict[_Name, _Texts] = {}
    gates: GateFields = GateFields()
    use: Use = Use()
    text: _Texts = ()
    text_column: _Text | None = None
    readings: _Texts = ()
    tagger: _Text | None = None
    audits: _Text | None = None
    baseline: _Text | None = None

    @model_validator(mode="after")
    def _uses_what_is_there(self) -> ProjectFields:
        for command in (None, *Use.model_fields.keys() - UseOfCommand.model_fields.keys()):
            chosen = self.use if command is None else getattr(self.use, command)
            where = "use" if command is None else f"use.{command}"
            for field in ("model", "data", "train"):
                kind = "models" if field == "model" else "datasets"
                name, names = getattr(chosen, field), getattr(self, kind)
                if name is not None and name not in names:
                    defined = ", ".join(names) or "it defines none"
                    raise ValueError(
                        f"{where}.{field} is {name!r}, which [{kind}] does not define ({defined})"
                    )
        return self
