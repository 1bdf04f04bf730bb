"""What several models are called that stand side by side.

No two have one name. Costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sears_dsl.errors import UsageError

_NAMED = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)
_FILES = ("sklearn", "hf", "llm", "file")
_LEAST = 2


def named_models(models: Mapping[str, object] | Sequence[object]) -> dict[str, object]:
    """The models by their names: those given, else the shortest that tell them apart."""
    if isinstance(models, Mapping):
        named = {str(name): each for name, each in models.items()}
        names = list(named)
        members: list[object] = list(named.values())
    else:
        pairs = [_name_and_model(each) for each in models]
        members = [each for _, each in pairs]
        names = [_short(each) if name is None else name for name, each in pairs]
        if len(set(names)) < len(names):
            names = [_whole(each) if name is None else name for name, each in pairs]
    if len(members) < _LEAST:
        raise UsageError("one model is not several", help="give two models or more")
    again = sorted({name for name in names if names.count(name) > 1})
    if again:
        raise UsageError(
            f"two models are called {again[0]}",
            help="name them: --model NAME=SPEC, or in Python {'name': model, …}",
        )
    return dict(zip(names, members, strict=True))


def folder_names(names: Sequence[str]) -> list[str]:
    """Names as folders may have them, no two alike."""
    folders: list[str] = []
    for name in names:
        plain = re.sub(r"[^\w.-]+", "-", name).strip("-.")[-80:] or "model"
        number = 1
        while (folder := plain if number == 1 else f"{plain}-{number}") in folders:
            number += 1
        folders.append(folder)
    return folders


def _name_and_model(model: object) -> tuple[str | None, object]:
    named = _NAMED.fullmatch(model) if isinstance(model, str) else None
    return (None, model) if named is None else (named[1], named[2])


def _short(model: object) -> str:
    kind, _, rest = _whole(model).partition(":")
    return re.split(r"[/\\]", rest.rstrip("/\\"))[-1] if kind in _FILES else _whole(model)


def _whole(model: object) -> str:
    if isinstance(model, str):
        return model
    name = getattr(model, "__name__", None)
    return name if isinstance(name, str) else type(model).__name__
