"""The statements of a rule file that are neither rules nor sets, and all of them together.

Nothing but values: the builder makes them, the assembly and the printer read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sears_dsl.errors import Span
from sears_dsl.language.rule import Rule, SetDefinition

__all__ = ["HeaderLine", "ImportLine", "OptionLine", "Statement", "VersionLine"]


@dataclass(frozen=True, slots=True)
class VersionLine:
    """``sear 1``."""

    version: str
    span: Span


@dataclass(frozen=True, slots=True)
class HeaderLine:
    """``ruleset name 1.0``."""

    name: str
    version: str
    span: Span


@dataclass(frozen=True, slots=True)
class ImportLine:
    """``import "file.sear" as name``."""

    path: str
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class OptionLine:
    """``option name = value``."""

    name: str
    value: str
    span: Span
    value_span: Span


Statement: TypeAlias = VersionLine | HeaderLine | ImportLine | OptionLine | SetDefinition | Rule
