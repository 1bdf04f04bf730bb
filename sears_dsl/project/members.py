"""The models that a project file's specification names: one, or those that answer together.

In: what stands as ``spec`` of a model. Out: its `MemberSpec`s, each with its kind and what follows
it. Always holds: ``vote:`` and ``every:`` are taken apart as the loader takes them apart, so what
is asked, agreed to and looked for is the same. Opens nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sears_dsl.models.loading import members_of

_NAME = re.compile(r"\A[\w.-]+=")


class MemberSpec(NamedTuple):
    """One model of a specification."""

    name: str  # with ``=`` behind it; empty if it has none
    kind: str
    rest: str

    @property
    def spec(self) -> str:
        """The specification of this model alone."""
        return f"{self.kind}:{self.rest}"


def members(spec: str) -> list[MemberSpec]:
    """The models of a specification; one that stands for itself is its only member.

    Example:
        >>> members("every:a=sklearn:m.pkl,critic:predict")[0]
        MemberSpec(name='a=', kind='sklearn', rest='m.pkl')
    """
    several = members_of(spec)
    if several == [spec]:
        return [_member("", spec)]
    return [_member(each.removesuffix(own), own) for each in several for own in [nameless(each)]]


def nameless(spec: str) -> str:
    """What is named in ``NAME=SPEC``; anything else stays as it is.

    Example:
        >>> nameless("a=critic:predict"), nameless("http://localhost/?a=b")
        ('critic:predict', 'http://localhost/?a=b')
    """
    return _NAME.sub("", spec, count=1)


def _member(name: str, spec: str) -> MemberSpec:
    kind, _, rest = spec.partition(":")
    return MemberSpec(name, kind, rest)


def with_members(spec: str, change: Callable[[MemberSpec], str]) -> str:
    """A specification in which another text follows the kind of each member."""
    changed = [f"{each.name}{each.kind}:{change(each)}" for each in members(spec)]
    together = spec.partition(":")[0]
    return changed[0] if members_of(spec) == [spec] else f"{together}:{','.join(changed)}"


def is_inside(folder: Path, path: str) -> bool:
    """Whether a path that stands in a project file of a folder lies there, links resolved."""
    return (folder / path).resolve().is_relative_to(folder.resolve())
