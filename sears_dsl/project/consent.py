"""The user's consent to run what a project file names: asked for once, and remembered.

In: a project and one of its models. Out: whether the user agreed to it. Always holds: consent is
for one file in one place, one model as it is written, and the bytes of the request map and of each
file of ``llm:`` settings that it names; of models that answer together, each counts. It is stored
among the user's files, out of any project's reach.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from sears_dsl.errors import UsageError
from sears_dsl.project.fields import Model
from sears_dsl.project.file import Project
from sears_dsl.project.members import MemberSpec, members
from sears_dsl.runtime.files import is_file

_HARMLESS = ("file", "hf")


def what_it_does(model: Model) -> str:
    """Say what asking a model does beyond reading files of data; empty if nothing else.

    Example:
        >>> what_it_does(Model(spec="reviews:predict"))
        'imports the module reviews and calls predict'
        >>> what_it_does(Model(spec="hf:models/reviews"))
        ''
        >>> what_it_does(Model(spec="every:hf:models/reviews,llm:chat.toml"))
        'sends rows to the address in chat.toml'
    """
    effects = [_what_one_does(member, model.request_map) for member in members(model.spec)]
    return ", ".join(filter(None, effects))


def _what_one_does(member: MemberSpec, request_map: str | None) -> str:
    kind, rest = member.kind, member.rest
    if kind in _HARMLESS:
        return ""
    if kind == "sklearn":
        return f"unpickles {rest}, which runs any code that its author put there"
    if kind in ("http", "https"):
        beside = f" with the request map {request_map}" if request_map else ""
        return f"sends rows to {member.spec}{beside}"
    if kind == "llm":
        return f"sends rows to the address in {rest}"
    return f"imports the module {kind} and calls {rest}"


def agreed(project: Project, model: Model) -> bool:
    """Whether the user agreed to what a model does, or there is nothing to agree to."""
    return not what_it_does(model) or _mark(project, model).is_file()


def agree(project: Project, model: Model) -> None:
    """Remember that the user agreed."""
    path = _mark(project, model)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror}", help="name the model by hand: --model"
        ) from error


def _mark(project: Project, model: Model) -> Path:
    import platformdirs  # noqa: PLC0415 - for models that run alone

    written = [str(project.path.resolve()), model.spec, model.request_map, model.response_map]
    digest = sha256(json.dumps(written).encode())
    settings = [each.rest for each in members(model.spec) if each.kind == "llm"]
    for name in (model.request_map, *settings):
        if name is not None and is_file(project.folder / name):
            # The bytes of one file do not pass for those of two.
            digest.update(sha256((project.folder / name).read_bytes()).digest())
    return Path(platformdirs.user_data_dir("sears")) / "agreed" / digest.hexdigest()
