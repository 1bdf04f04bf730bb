"""What a project file may say, field by field.

In: the tables of a TOML file. Out: `ProjectFields`. Always holds: an unknown key is an error;
`names_without_meaning` gives the names in `use` that the file does not define; nothing is opened or
imported.
Costs the import of pydantic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict
from pydantic_core import PydanticCustomError

from sears_dsl.answers import COMPARISONS, check_comparison
from sears_dsl.errors import UsageError


class _TomlTable(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


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
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise PydanticCustomError("rate", 'Input should be a rate, such as "5%" or 0.05')
    return str(value)


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
# Neither true nor "4" is a number, nor 1 a yes.
_Whole = Annotated[int, Strict()]
_Number = Annotated[float, Strict()]
_Switch = Annotated[bool, Strict()]


class Model(_TomlTable):
    """A model under test: what follows ``--model``, and how an endpoint is asked."""

    spec: _Text
    batch_size: _Whole | None = Field(default=None, ge=1)
    request_map: _Text | None = None
    response_map: _Text | None = None
    timeout: _Number | None = Field(default=None, gt=0)
    retries: _Whole | None = Field(default=None, ge=0)
    connections: _Whole | None = Field(default=None, ge=1)
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
    min_support: _Whole | None = Field(default=None, ge=1)
    require_support: _Switch | None = None
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


def keys_of(*names: str) -> list[str]:
    """The keys that a table of the file may have; without names, the file itself."""
    tables: dict[str, type[BaseModel]] = {
        "models": Model, "datasets": DatasetFields, "gates": GateFields,
        "use": Use if len(names) == 1 else UseOfCommand,
    }  # fmt: skip
    return [*(tables[names[0]] if names else ProjectFields).model_fields]


def names_without_meaning(table: object) -> Iterator[str]:
    """Say which models and datasets ``use`` names although the file does not define them.

    What has a wrong type is passed over, since it is reported otherwise.
    """
    content = _as_table(table)
    use = _as_table(content.get("use"))
    of_commands = {f"use.{name}": _as_table(value) for name, value in use.items()}
    for where, chosen in {"use": use, **of_commands}.items():
        for field, kind in _NAMED_BY.items():
            name, defined = chosen.get(field), content.get(kind, {})
            if isinstance(name, str) and isinstance(defined, dict) and name not in defined:
                known = ", ".join(defined) or "it defines none"
                yield f"{where}.{field} is {name!r}, which [{kind}] does not define ({known})"


_NAMED_BY = {"model": "models", "data": "datasets", "train": "datasets"}


def _as_table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
