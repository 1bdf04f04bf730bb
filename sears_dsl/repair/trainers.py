"""Trainers, which train a model again: built in, a user's function, or a user's command.

In: a table, a seed and a folder; a command also has its line with {train}, {model} and {seed}. The
line is split into arguments before these are filled in, and no shell runs. Out: a model that
answers rows. A command that left a model which can be loaded is not repeated for the same rows,
arguments and folder. Its folder keeps what the program printed. The model of the built-in trainer
depends on texts, labels and seed alone and is a file that `--model sklearn:FILE` reads. Costs what
the training costs; the built-in one takes about a second for ten thousand sentences.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from sears_dsl.answers import Comparison
from sears_dsl.data.dataset import format_named, require_column, write_columns
from sears_dsl.data.labelled import LabelledRows, column_sets
from sears_dsl.data.table import Table
from sears_dsl.effects.oracle import Oracle
from sears_dsl.engine.matcher import Matcher
from sears_dsl.errors import DataError, ModelError, UsageError
from sears_dsl.models.function import inputs_of
from sears_dsl.models.loading import load_predictor
from sears_dsl.models.objects import foreign_code, object_name
from sears_dsl.models.predictor import Predictor, Row
from sears_dsl.models.scikit import load_estimator
from sears_dsl.repair.augmentation import TableColumns
from sears_dsl.runtime.database import RunJournal
from sears_dsl.runtime.files import parse_json, read_document, write_atomically

#: The name of a trained model in its folder.
MODEL = "model"

# Words, clitics by themselves, and punctuation, since all of them carry sentiment.
_TOKENS = re.compile(r"\w+|'\w+|[^\w\s]").findall
_PASSES = 20
# The share of words that both texts of a pair have is a feature, rounded to this many steps.
_SHARES = 5


class Trainer(Protocol):
    """Trains a model on labelled rows."""

    @property
    def identity(self) -> str:
        """What the trained models depend on besides data and seed."""

    def train(self, table: Table, *, seed: int, place: Path) -> Predictor:
        """Train a model, which may be written as `MODEL` in `place`, this training's own folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentInputs:
    """What an experiment trains on, and what it asks the models about.

    Neither the models nor the search that found the rules have seen the held-out rows, whose guards
    say what has to stay in them. The matcher has the seed of the settings. Training and held-out
    rows have the same text column, and the oracle rejects rewrites of both. `folder` holds the
    journal and one folder for each training.
    """

    training: Table
    held_out: LabelledRows
    matcher: Matcher
    columns: TableColumns
    trainer: Trainer
    folder: Path
    oracle: Oracle | None = None


Kind = TypeVar("Kind", bound=str)
OnTraining: TypeAlias = Callable[[Kind, int, int, int], None]
"""Called before each training with its kind and seed, how many are done and how many there are."""


def train_and_ask(
    kinds: Sequence[Kind],
    seeds: range,
    table: Callable[[Kind, int], Table],
    row_lists: Sequence[Sequence[Row]],
    *,
    inputs: ExperimentInputs,
    journal: RunJournal,
    prefix: str = "",
    on_training: OnTraining[Kind] | None = None,
) -> dict[Kind, list[list[list[str]]]]:
    """Train a model of each kind for each seed, and return its answers to each list of rows.

    The result has for each kind, seed and list of rows one answer a row. The journal keeps the
    answers of each training, which is then not repeated. Its keys, and the training folders, are
    named by prefix, kind and seed.
    """
    answers_of: dict[Kind, list[list[list[str]]]] = {kind: [] for kind in kinds}
    runs = list(product(seeds, kinds))
    for number, (seed, kind) in enumerate(runs):
        key = f"{prefix}{kind}-{seed}"
        known = journal.get_many("answers", [key])
        if not known:
            if on_training is not None:
                on_training(kind, seed, number, len(runs))
            place = inputs.folder / key
            place.mkdir(parents=True, exist_ok=True)
            model = inputs.trainer.train(table(kind, seed), seed=seed, place=place)
            known = {key: [model.predict(rows) for rows in row_lists]}
            journal.put_many("answers", known)
        answers = known[key]
        if not isinstance(answers, list) or list(map(len, answers)) != list(map(len, row_lists)):
            raise journal.damaged("answers")
        answers_of[kind].append(answers)
    return answers_of


def words_of_pair(row: Mapping[str, str]) -> list[str]:
    """The features of a row of several texts: each column's words, and which of them all have."""
    texts = {name: _TOKENS(text.lower()) for name, text in sorted(row.items())}
    either, both = set().union(*texts.values()), set.intersection(*map(set, texts.values()))
    return [
        *(f"{name}:{word}" for name, words in texts.items() for word in words),
        *(f"both:{word}" for word in sorted(both)),
        *(f"one:{word}" for word in sorted(either - both)),
        f"shared:{round(_SHARES * len(both) / max(1, len(either)))}",
    ]


class BuiltInTrainer:
    """A logistic regression on words and pairs of words (TF-IDF).

    Averaged stochastic gradient descent trains it, so that seeds matter as they do for the models
    that people use. The features of rows with several texts, ``a,b``, come from `words_of_pair`.
    """

    def __init__(self, *, text: str, label: str) -> None:
        try:
            import sklearn  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise UsageError(
                "the built-in trainer needs scikit-learn", help="pip install 'sears-dsl[models]'"
            ) from error
        self._text = text
        self._label = label
        self.identity = f"built in, scikit-learn {sklearn.__version__}"

    def train(self, table: Table, *, seed: int, place: Path) -> Predictor:
        """Train a model and write its file."""
        labels = table.labels(self._label)
        if "" in labels:
            raise DataError(
                f"{table.path}: row {labels.index('') + 1} has no {self._label}",
                help="leave out rows without a label: the model would learn to give none",
            )
        from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415
        from sklearn.linear_model import SGDClassifier  # noqa: PLC0415
        from sklearn.pipeline import make_pipeline  # noqa: PLC0415

        names = list(chain(*column_sets(self._text, tuple(table.columns))))
        features: dict[str, Any] = {"analyzer": words_of_pair}
        if len(names) == 1:
            features = {"ngram_range": (1, 2), "tokenizer": _TOKENS, "token_pattern": None}
        model = make_pipeline(
            TfidfVectorizer(sublinear_tf=True, **features),
            SGDClassifier(
                loss="log_loss",
                alpha=1e-5,
                average=True,
                max_iter=_PASSES,
                tol=None,
                random_state=_random_state(seed),
            ),
        )
        try:
            model.fit(_inputs(table, names), labels)
        except ValueError as error:
            raise DataError(
                f"{table.path}: no model can be trained on its rows: {error}",
                help="the rows need texts with words and at least two labels",
            ) from error
        # scikit-learn remembers an address of this process, and asks again where it is missing.
        vars(model[0]).pop("_stop_words_id", None)
        path = place / MODEL
        write_atomically(path, pickle.dumps(model))
        return load_estimator(path)


def _inputs(table: Table, names: Sequence[str]) -> list[str] | list[dict[str, str]]:
    """The cells of a column or, of several, a dictionary of them for each row."""
    rows = zip(*map(table.texts, names), strict=True)
    return inputs_of([dict(zip(names, row, strict=True)) for row in rows])


def _random_state(seed: int) -> int:
    """The seed as scikit-learn takes it, from 0 up to 2**32."""
    return seed % 2**32


class GivenTrainer:
    """A user's way to train: a function, or a scikit-learn estimator.

    The function takes texts, labels and a seed, and returns a model that `load_predictor` takes. If
    the model reads several columns, it gets a list of dictionaries, column → text, in place of the
    texts. An estimator is cloned and fitted each time, with every ``random_state`` set to the seed.
    """

    def __init__(
        self,
        train: object,
        *,
        text: str,
        label: str,
        also: Sequence[str] = (),
        comparison: Comparison = "exact",
    ) -> None:
        fits = hasattr(train, "fit") and hasattr(train, "get_params")
        if isinstance(train, type) or not (fits or callable(train)):
            raise UsageError(
                f"an object of type {type(train).__name__} cannot train a model",
                help="give a function of texts, labels and a seed that returns a model, or a "
                "scikit-learn estimator",
            )
        self._train: Any = _fitting(train) if fits else train
        self._text = text
        self._label = label
        self._also = tuple(also)
        self._comparison = comparison
        self.identity = object_name(train)

    def train(self, table: Table, *, seed: int, place: Path) -> Predictor:
        """Train a model; nothing is written."""
        labels = table.labels(self._label, comparison=self._comparison)
        for name in self._also:
            require_column(tuple(table.columns), name, where=table.path)
        columns = {*chain(*column_sets(self._text, tuple(table.columns))), *self._also}
        inputs = _inputs(table, [name for name in table.columns if name in columns])
        advice = "the function gets a list of texts, a list of labels and a seed"
        with foreign_code(self.identity, help=advice, passing=()):
            model = self._train(inputs, labels, seed)
        return load_predictor(model, comparison=self._comparison)


def _fitting(estimator: Any) -> Callable[[list[str], list[str], int], object]:
    from sklearn.base import clone  # noqa: PLC0415 - an extra

    def train(texts: list[str], labels: list[str], seed: int) -> object:
        fresh = clone(estimator)
        random = [name for name in fresh.get_params() if name.split("__")[-1] == "random_state"]
        return fresh.set_params(**dict.fromkeys(random, _random_state(seed))).fit(texts, labels)

    return train


_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_KNOWN = ("train", "model", "seed")
_LINES_SHOWN = 8
# How long an interrupted program may take to clean up.
_SECONDS_TO_END = 2.0


class CommandTrainer:
    """Runs a user's command to train.

    The command has ``{train}`` (the file of rows), ``{model}`` (the path to write the model to)
    and, if the program takes one, ``{seed}``. `spec` says how to load the model, such as
    ``sklearn:{model}`` or ``hf:{model}``.
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
                f"the train command cannot be parsed: {error}", help=f"it is: {command}"
            ) from error
        self._require(command, "the train command", ("train", "model"), _KNOWN)
        self._require(spec, "the model", ("model",), ("model",))
        self._spec = spec
        self._load = load
        self._format = format_named(format)
        self.seeded = "{seed}" in command
        self.identity = f"{command} → {spec}"

    def train(self, table: Table, *, seed: int, place: Path) -> Predictor:
        """Run the command, unless it already succeeded here; then load the model."""
        # Every kind of csv gets the same extension, since the command reads its own rows.
        rows = place / f"train.{self._format.name.partition('-')[0]}"
        values = {"train": str(rows), "model": str(place / MODEL), "seed": str(seed)}
        arguments = [_filled(each, values) for each in self._arguments]
        record = place / "trained.json"
        task = {"arguments": arguments, "rows": table.digest}
        trained = record.exists() and _read(record) == task and _has_model(place)
        if not trained:
            # Leftovers of another or an unfinished training must not become part of this one.
            shutil.rmtree(place)
            place.mkdir()
            write_columns(table.columns_to_write, rows, self._format)
            self._run(arguments, place / "output.txt")
            if not _has_model(place):
                raise ModelError(
                    f"the train command succeeded but wrote no model: {shlex.join(arguments)}",
                    help="it has to write the model to the path given as {model}; its output is in "
                    f"{place / 'output.txt'}",
                )
        model = self._load(_filled(self._spec, values))
        # Written only now, because a model that cannot be loaded has to be trained again.
        write_atomically(record, json.dumps(task).encode())
        return model

    def _run(self, arguments: list[str], output: Path) -> None:
        command = shlex.join(arguments)
        try:
            code = _exit_code(arguments, output)
        except OSError as error:
            raise ModelError(
                f"the train command cannot be run: {error.strerror}: {command}",
                help="it runs without a shell: name a program, without pipes or variables",
            ) from error
        if code:
            lines = output.read_text("utf-8", "replace").splitlines()[-_LINES_SHOWN:]
            excerpt = "".join(f"\n  {line}" for line in lines)
            raise ModelError(
                f"the train command failed with exit code {code}: {command}{excerpt}",
                help=f"its whole output is in {output}; --resume keeps the trainings done so far",
            )

    @staticmethod
    def _require(template: str, noun: str, needed: tuple[str, ...], known: tuple[str, ...]) -> None:
        placeholders = _PLACEHOLDER.findall(template)
        for name in needed:
            if name not in placeholders:
                raise UsageError(
                    f"{noun} lacks {{{name}}}: {template}",
                    help="write, for example, --command 'python train.py {train} {model} {seed}' "
                    "--model 'sklearn:{model}'",
                )
        for name in placeholders:
            if name not in known:
                raise UsageError(
                    f"{noun} has an unknown placeholder, {{{name}}}",
                    help="use " + ", ".join(f"{{{each}}}" for each in known),
                )


def _exit_code(arguments: Sequence[str], output: Path) -> int:
    """Run a program and return its exit code. An interrupt ends it and all that it has started.

    It has a process group of its own, so that one signal reaches all of them. If a script alone
    were ended, the training that it started would keep running.
    """
    with (
        output.open("wb") as file,
        subprocess.Popen(  # noqa: S603 - the user's own command
            arguments, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
            process_group=0,
        ) as process,
    ):  # fmt: skip
        try:
            return process.wait()
        except BaseException:
            _end_group(process)
            raise


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Terminate the group that a process leads, and kill what is left after some seconds."""
    if os.name == "nt":
        process.kill()
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_SECONDS_TO_END)
        os.killpg(process.pid, signal.SIGKILL)


def _has_model(place: Path) -> bool:
    return any(place.glob(f"{MODEL}*"))


def _filled(template: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def _read(path: Path) -> object:
    try:
        return parse_json(read_document(path))
    except ValueError:  # cut short when the run ended, so the training is repeated
        return None
