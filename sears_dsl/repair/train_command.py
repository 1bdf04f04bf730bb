"""A user's own train command as a trainer: rows in a file, a program, a model to ask.

In: the template of a command line with {train}, {model} and {seed}, and of a model's SPEC with
{model}. Out: a `Trainer`. Always holds: no shell is involved, the template is cut into arguments
before anything is filled in; a training that left a model which can be loaded is not repeated for
the same rows, command and seed in the same folder; the folder keeps what the program printed.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from sears_dsl.data.dataset import format_named, write_columns
from sears_dsl.data.table import Table
from sears_dsl.errors import ModelError, UsageError
from sears_dsl.models.predictor import Predictor
from sears_dsl.repair.trainers import MODEL
from sears_dsl.runtime.documents import parse_json, read_document
from sears_dsl.runtime.writing import write_atomically

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_KNOWN = ("train", "model", "seed")
_LINES_TOLD = 8


class CommandTrainer:
    """Runs a command to train.

    Args:
        command: how a user would type it, with ``{train}`` (the file of rows), ``{model}`` (where
            the model belongs) and, where it takes one, ``{seed}``.
        spec: how the model is asked, with ``{model}``: ``sklearn:{model}``, ``hf:{model}``.
        load: makes a model of a specification, as `load_predictor` does.
        format: of the file of rows.

    Raises:
        UsageError: a placeholder that is missing or unknown, or quotes that are not closed.

    Example:
        >>> from sears_dsl.models.loading import load_predictor
        >>> command = "python train.py {train} {model}"
        >>> CommandTrainer(command, "sklearn:{model}", load=load_predictor).seeded
        False
    """

    def __init__(
        self,
        command: str,
        spec: str,
        *,
        load: Callable[[str], Predictor],
        format: str = "csv",  # noqa: A002 - the field's term
    ) -> None:
        try:
            self._arguments = shlex.split(command)
        except ValueError as error:
            raise UsageError(
                f"the train command cannot be read: {error}", help=f"it is: {command}"
            ) from error
        self._require(command, "the train command", ("train", "model"), _KNOWN)
        self._require(spec, "the model", ("model",), ("model",))
        self._spec = spec
        self._load = load
        self._format = format_named(format)
        self.seeded = "{seed}" in command
        self.identity = f"{command} → {spec}"

    def train(self, table: Table, *, seed: int, place: Path) -> Predictor:
        """Run the command, or find that it ran well before; then load the model.

        Raises:
            ModelError: the command cannot be run or fails, or its model cannot be loaded.
            DataError: the rows cannot be written.
        """
        rows = place / f"train.{self._format.name}"
        values = {"train": str(rows), "model": str(place / MODEL), "seed": str(seed)}
        arguments = [_filled(each, values) for each in self._arguments]
        record = place / "trained.json"
        task = {"arguments": arguments, "rows": table.digest}
        if not (record.exists() and _read(record) == task):
            # What another training, or half of one, left here must not become part of this one.
            shutil.rmtree(place)
            place.mkdir()
            write_columns(table.columns, rows, self._format)
            self._run(arguments, place / "output.txt")
            if not any(place.glob(f"{MODEL}*")):
                raise ModelError(
                    f"the train command ended well and left no model: {shlex.join(arguments)}",
                    help=f"it writes the model to the path that it is given for {{model}}; what it "
                    f"said is in {place / 'output.txt'}",
                )
        model = self._load(_filled(self._spec, values))
        # Only now: a model that cannot be loaded has to be trained again.
        write_atomically(record, json.dumps(task).encode())
        return model

    def _run(self, arguments: list[str], output: Path) -> None:
        command = shlex.join(arguments)
        try:
            with output.open("wb") as file:
                code = subprocess.run(  # noqa: S603 - the user's own command
                    arguments, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                    check=False,
                ).returncode  # fmt: skip
        except OSError as error:
            raise ModelError(
                f"the train command cannot be run: {error.strerror}: {command}",
                help="there is no shell: name a program, and no pipes or variables",
            ) from error
        if code:
            lines = output.read_text("utf-8", "replace").splitlines()[-_LINES_TOLD:]
            excerpt = "".join(f"\n  {line}" for line in lines)
            raise ModelError(
                f"the train command ended with code {code}: {command}{excerpt}",
                help=f"all that it said is in {output}; --resume keeps the trainings before it",
            )

    @staticmethod
    def _require(template: str, what: str, needed: tuple[str, ...], known: tuple[str, ...]) -> None:
        placeholders = _PLACEHOLDER.findall(template)
        for name in needed:
            if name not in placeholders:
                raise UsageError(
                    f"{what} lacks {{{name}}}: {template}",
                    help="for example --command 'python train.py {train} {model} {seed}' "
                    "--model 'sklearn:{model}'",
                )
        for name in placeholders:
            if name not in known:
                raise UsageError(
                    f"{what} has {{{name}}}, which nothing stands for",
                    help="use " + ", ".join(f"{{{each}}}" for each in known),
                )


def _filled(template: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def _read(path: Path) -> object:
    try:
        return parse_json(read_document(path))
    except ValueError:  # cut short by whatever ended the run; the training is repeated
        return None
