"""The options of a command that a project file supplies.

In: a project, a command, the options that the user gave. Out: values for the others, each with its
key in the file. Always holds: what the user gave wins; paths are as one would write them in the
current folder; what is read exists, and what is written lies in the folder of the file; the file
can name only an installed tagger. Costs a few looks at the disk.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sears_dsl.errors import TaggerError, UsageError
from sears_dsl.project.consent import agreed, what_it_does
from sears_dsl.project.fields import DatasetFields, GateFields, Model, UseOfCommand
from sears_dsl.project.file import Project, near
from sears_dsl.project.members import MemberSpec, is_inside, nameless, with_members
from sears_dsl.runtime.files import is_there

_Named = TypeVar("_Named")

# What each command takes from the project file.
_TAKES = {
    "discover": {"model", "data", "text", "tagger"},
    "adversaries": {"model", "data", "tagger"},
    "vet": {"rules", "model", "data", "tagger"},
    "audit": {"rules", "model", "data", "tagger", "gates"},
    "compare": {"audits"},
    "augment": {"rules", "train", "tagger"},
    "fix": {"rules", "data", "train", "tagger"},
    "apply": {"rules", "data", "tagger"},
    "check": {"rules"},
    "test": {"rules", "tagger"},
    "generate": {"rules"},
    "export": {"rules", "data", "tagger"},
}
# Commands whose rows are an argument, and no option.
_ROWS_AS_ARGUMENT = ("apply", "augment")
# What looks like a name of the project file, and not like a path or the spec of a model.
_NAME = re.compile(r"\w[\w-]*")
_FILES = ("sklearn", "hf", "file", "llm")
# A map with another ending is written out in the project file.
_MAP_ENDINGS = (".toml", ".json")


class ProjectChoice(NamedTuple):
    """A value for an option."""

    # As it would be written on the command line; a list if the option may be repeated
    value: Any
    key: str  # where it stands in the project file


Choices = Mapping[str, ProjectChoice]
"""Options, such as ``--label``, and arguments, such as ``rules``, with their values."""


def choices(project: Project, command: str, arguments: Mapping[str, Any]) -> Choices:
    """Return the options and arguments that a command takes from the project.

    A name that the project file defines stands for its definition, so ``--data test`` brings the
    file and the columns of ``[datasets.test]``.
    """
    return dict(_ChoiceCollector(project, command, arguments).choices())


def settings_of_each(project: Project, arguments: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return model → how it is asked, where the user names several models of the file."""
    return _ChoiceCollector(project, "", arguments).settings_of_each()


def rules_of(project: Project, command: str) -> list[str]:
    """Return the rules that a command takes from the project if it is given none."""
    chosen = dict(_ChoiceCollector(project, command, {}).rulesets())
    return list(chosen["rules"].value) if chosen else []


@dataclass(frozen=True)
class _ChoiceCollector:
    """Collects what the project file supplies for one command."""

    project: Project
    command: str
    arguments: Mapping[str, Any]

    def choices(self) -> Iterator[tuple[str, ProjectChoice]]:
        takes = _TAKES[self.command]
        if "rules" in takes:
            yield from self.rulesets()
        if "model" in takes:
            yield from self._model()
        if "data" in takes:
            yield from self._dataset("--data", "data")
        if self.command == "fix":
            yield from (each for each in self._dataset("--train", "train") if each[0] == "--train")
        elif "train" in takes:
            yield from self._dataset("--data", "train")
        if "text" in takes:
            yield from self._text()
        if "tagger" in takes and "--tagger" not in self.arguments:
            yield from self._tagger()
        if "gates" in takes:
            yield from self._gates()
        if "audits" in takes:
            yield from self._audits()

    def _use(self, field: str) -> Any:
        use = self.project.fields.use
        own = getattr(use, self.command, None)
        return (isinstance(own, UseOfCommand) and getattr(own, field)) or getattr(use, field)

    def _model(self) -> Iterator[tuple[str, ProjectChoice]]:
        models, defined = self.arguments.get("--model"), self.project.fields.models
        if isinstance(models, list):
            named = [name for name in models if _stands_for(name, defined)]
            specs = {name: self._spec(name, defined[name]) for name in named}
            several = [f"{name}={specs[name]}" if name in specs else name for name in models]
            if named:
                keys = ", ".join(self.project.key("models", name) for name in named)
                yield "--model", ProjectChoice(several, keys)
            return
        chosen = self._chosen("--model", "model", self.project.fields.models)
        if chosen is None:
            return
        name, model = chosen
        key = self.project.key("models", name)
        yield "--model", ProjectChoice(self._spec(name, model), f"{key}.spec")
        for field, value in self._settings(name, model).items():
            yield _option(field), ProjectChoice(value, f"{key}.{field}")

    def settings_of_each(self) -> dict[str, dict[str, Any]]:
        """Return model → how it is asked, for those of several models that the file defines."""
        models, defined = self.arguments.get("--model"), self.project.fields.models
        settings: dict[str, dict[str, Any]] = {}
        for name in models if isinstance(models, list) else ():
            spec, own = nameless(name), {}
            if _stands_for(name, defined):
                spec, own = self._spec(name, defined[name]), self._settings(name, defined[name])
            if settings.setdefault(spec, own) != own:
                raise UsageError(
                    f"two of the models are {spec}, but {near(self.project.path)} has them asked "
                    "in different ways",
                    help="audit them one by one, each to a folder of its own: -o FOLDER",
                )
        return settings

    def _settings(self, name: str, model: Model) -> dict[str, Any]:
        """Return how a model of the file is asked: its fields apart from ``spec``."""
        settings = model.model_dump(exclude={"spec"}, exclude_none=True)
        for field in ("request_map", "response_map"):
            if settings.get(field, "").endswith(_MAP_ENDINGS):
                key = self.project.key("models", name, field)
                settings[field] = _path(self.project, settings[field], key)
        return settings

    def _spec(self, name: str, model: Model) -> str:
        """Return the specification of a model of the file, if the user agreed to it.

        Its paths are given from here; hub names and modules stay as they are.
        """
        key = self.project.key("models", name)
        if not agreed(self.project, model):
            raise UsageError(
                f"{near(self.project.path)}: {key} {what_it_does(model)}; that needs your consent",
                help="if you trust it, `sears trust` allows what the project file names; or name "
                f"it by hand: --model {model.spec}",
            )
        return with_members(model.spec, lambda each: self._from_file(each, f"{key}.spec"))

    def _from_file(self, member: MemberSpec, key: str) -> str:
        """Return what follows the kind of a model, where it is a path as one writes it here."""
        project, path = self.project, member.rest
        if member.kind not in _FILES:
            return path
        if member.kind == "hf" and not is_there(project.folder / path) and not is_there(path):
            return path
        if member.kind == "file":  # rows that want predictions are written beside it
            _require_inside(project, path, key, instead="--model")
            return _from_here(project, path)
        return _path(project, path, key)

    def _dataset(self, option: str, use: str) -> Iterator[tuple[str, ProjectChoice]]:
        chosen = self._chosen(option, use, self.project.fields.datasets)
        if chosen is None:
            return
        name, dataset = chosen
        key = self.project.key("datasets", name)
        yield option, ProjectChoice(_path(self.project, dataset.file, f"{key}.file"), f"{key}.file")
        for field in DatasetFields.model_fields:
            value = getattr(dataset, field)
            if field != "file" and value:
                value = list(value) if isinstance(value, tuple) else value
                yield _option(field.removesuffix("s")), ProjectChoice(value, f"{key}.{field}")

    def _chosen(
        self, option: str, field: str, defined: Mapping[str, _Named]
    ) -> tuple[str, _Named] | None:
        """Return the entry that the user or the file names, or else the only one."""
        kind = "model" if field == "model" else "dataset"
        if option in self.arguments:
            name = self.arguments[option]
            if _stands_for(name, defined):
                return name, defined[name]
            if defined and isinstance(name, str) and _NAME.fullmatch(name) and not is_there(name):
                raise UsageError(
                    f"{near(self.project.path)} defines no {kind} {name!r}, and no file has that "
                    "name",
                    help=f"it defines {', '.join(defined)}",
                )
            return None
        name = self._use(field)
        if name is None and field == "train":
            if self.command == "fix":
                return None
            name = self._use("data")
        if name is not None:
            return name, defined[name]
        if len(defined) > 1:
            where = "after the rules" if self.command in _ROWS_AS_ARGUMENT else f"with {option}"
            raise UsageError(
                f"{near(self.project.path)} has {len(defined)} {kind}s: {', '.join(defined)}",
                help=f'name one {where}, or in the file: use.{field} = "{min(defined)}"',
            )
        return next(iter(defined.items()), None)

    def rulesets(self) -> Iterator[tuple[str, ProjectChoice]]:
        """Yield the rules; names that the file defines are replaced by their rule files."""
        defined, names = self.project.fields.rulesets, self.arguments.get("rules", ())
        named = names or self._use("rules") or tuple(defined)
        if not named or (names and not any(_stands_for(name, defined) for name in names)):
            return
        rules: list[str] = []
        for name in named:
            if name in defined and not is_there(name if names else self.project.folder / name):
                key = self.project.key("rulesets", name)
                rules += [_rules(self.project, each, key) for each in defined[name]]
            else:
                key = self.project.key("use.rules")
                rules.append(name if names else _rules(self.project, name, key))
        key = self.project.key("rulesets" if any(n in defined for n in named) else "use.rules")
        yield "rules", ProjectChoice(list(dict.fromkeys(rules)), key)

    def _text(self) -> Iterator[tuple[str, ProjectChoice]]:
        """Yield the text, beside the rows, and the readings that rules are judged by."""
        fields, key = self.project.fields, self.project.key
        for field, paths in (("text", fields.text), ("readings", fields.readings)):
            if paths and _option(field) not in self.arguments:
                named = [_path(self.project, each, key(field)) for each in paths]
                yield _option(field), ProjectChoice(named, key(field))
        if fields.text_column:
            yield "--text-column", ProjectChoice(fields.text_column, key("text_column"))

    def _tagger(self) -> Iterator[tuple[str, ProjectChoice]]:
        from sears_dsl.tagging.tagger import load_named, may_be_named  # noqa: PLC0415

        name, key = self.project.fields.tagger, self.project.key("tagger")
        if name is None:
            return
        if not may_be_named(name):
            raise UsageError(
                f"{near(self.project.path)}: {key} is {name!r}, which a file may not make sears "
                "import",
                help="a file names fast or spacy:PACKAGE; if this one is yours, name it by hand: "
                f"--tagger {name}",
            )
        try:
            load_named(name)
        except TaggerError as error:
            raise UsageError(
                f"{near(self.project.path)}: {key}: {error.message}", help=error.help
            ) from error
        yield "--tagger", ProjectChoice(name, key)

    def _gates(self) -> Iterator[tuple[str, ProjectChoice]]:
        gates, key = self.project.fields.gates, self.project.key
        for field in GateFields.model_fields:
            value = getattr(gates, field)
            if field == "rules":
                limits = [f"{selector}={rate}" for selector, rate in value.items()]
                if limits:
                    yield "--gate", ProjectChoice(limits, key("gates", "rules"))
            elif value is not None:
                yield _option(field), ProjectChoice(value, key("gates", field))
        folder = self.project.fields.audits
        if folder and "--output" not in self.arguments:
            _require_inside(self.project, folder, key("audits"), instead="-o")
            yield "--output", ProjectChoice(_from_here(self.project, folder), key("audits"))

    def _audits(self) -> Iterator[tuple[str, ProjectChoice]]:
        for argument, field in (("before", "baseline"), ("after", "audits")):
            value = getattr(self.project.fields, field)
            if value is not None and argument not in self.arguments:
                key = self.project.key(field)
                yield argument, ProjectChoice(_path(self.project, value, key), key)


def _stands_for(name: str, defined: Mapping[str, Any]) -> bool:
    """Whether the project file defines a name; an existing path of that name wins."""
    return name in defined and not is_there(name)


def _rules(project: Project, name: str, key: str) -> str:
    """Return the path of a file or folder of the project, or the name of a shipped ruleset."""
    from sears_dsl.catalogue import is_shipped  # noqa: PLC0415

    if not (project.folder / name).exists():
        if is_shipped(name):
            return name
        raise _is_missing(project, name, key, what="file, folder or shipped ruleset")
    return _from_here(project, name)


def _path(project: Project, path: str, key: str) -> str:
    """Return a path of the file, which has to exist, as one writes it in the current folder."""
    from_here = _from_here(project, path)
    if not Path(from_here).exists():
        raise _is_missing(project, path, key, what="file or folder")
    return from_here


def _is_missing(project: Project, path: str, key: str, *, what: str) -> UsageError:
    """Return the error for a path of the file."""
    return UsageError(
        f"{near(project.path)}: {key} is {path!r}, but there is no such {what}",
        help=f"paths in a project file are relative to its folder, {project.folder}",
    )


def _require_inside(project: Project, path: str, key: str, *, instead: str) -> None:
    """Refuse to write outside the folder of the project file, after resolving links."""
    if not is_inside(project.folder, path):
        raise UsageError(
            f"{near(project.path)}: {key} is {path!r}, but a project file may name outputs only in "
            "its own folder",
            help=f"if you want it there, say so by hand: {instead}",
        )


def _from_here(project: Project, path: str) -> str:
    if project.folder == Path.cwd():
        return path
    # Only the way to the folder is shortened: `..` behind a link leads elsewhere than it seems.
    return os.path.join(os.path.relpath(project.folder), path)


def _option(field: str) -> str:
    return "--" + field.replace("_", "-")
