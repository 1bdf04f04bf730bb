"""Training a model again: the `Trainer` protocol, and the one that is built in.

In: a table, a seed and a folder. Out: a model that can be asked. Always holds: the model of the
built-in trainer depends on texts, labels and seed alone; what is trained is written as a file that
`--model sklearn:FILE` reads. Costs what the training costs: built in, about a second for ten
thousand sentences.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from sears_dsl.answers import Comparison
from sears_dsl.data.labelled import LabelledRows, column_sets
from sears_dsl.data.table import Table
from sears_dsl.effects.oracle import Oracle
from sears_dsl.engine.matcher import Matcher
from sears_dsl.errors import DataError, ModelError, UsageError
from sears_dsl.models.function import inputs_of
from sears_dsl.models.loading import load_predictor
from sears_dsl.models.objects import describe_error, object_name
from sears_dsl.models.predictor import Predictor, Row
from sears_dsl.models.scikit import load_estimator
from sears_dsl.repair.augmented import TableColumns
from sears_dsl.runtime.journal import RunJournal
from sears_dsl.runtime.writing import write_atomically

#: What a trained model is called in its folder.
MODEL = "model"

# Words with clitics apart, and punctuation: all of them tell moods.
_TOKENS = re.compile(r"\w+|'\w+|[^\w\s]").findall
_PASSES = 20
# Pairs are told apart by the share of their words that both have, in so many steps.
_SHARES = 5


class Trainer(Protocol):
    """Makes a model of labelled rows."""

    @property
    def identity(self) -> str:
        """What decides the models that it makes, data and seed aside."""

    def train(self, table: Table, *, seed: int, place: Path) -> Predictor:
        """Train a model.

        Args:
            table: the rows.
            seed: of everything random.
            place: a folder of this training alone; the model is written there as `MODEL`.

        Raises:
            ModelError: the training failed.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentInputs:
    """What an experiment trains on, and what it asks the models about.

    Attributes:
        training: the rows to train on.
        held_out: labelled rows that nothing else has seen: neither the models nor whatever found
            the rules; their guards say what has to stay in them.
        matcher: the accepted rules, compiled with the seed of the settings.
        columns: those of the training rows; the text's is the same in the held-out rows.
        trainer: trains models.
        folder: for the files of the trainings, one folder each, and the journal.
        oracle: rejects rewrites, of training and held-out rows; None keeps all.
    """

    training: Table
    held_out: LabelledRows
    matcher: Matcher
    columns: TableColumns
    trainer: Trainer
    folder: Path
    oracle: Oracle | None = None


def answers_of_trained(
    key: str,
    table: Callable[[], Table],
    row_lists: Sequence[Sequence[Row]],
    *,
    trainer: Trainer,
    seed: int,
    folder: Path,
    journal: RunJournal,
    on_training: Callable[[], object] | None,
) -> list[list[str]]:
    """What a model says of some rows once it is trained; asked once, then the journal knows it.

    Args:
        key: of this training, in the journal and as the name of its folder.
        table: makes what it is trained on.
        row_lists: lists of rows.
        trainer: trains it.
        seed: of everything random.
        folder: for the folders of the trainings.
        journal: of the run.
        on_training: told before it is trained; None for nobody.

    Returns:
        An answer for each row of each list.

    Raises:
        DataError: the journal is damaged.
        ModelError: the training failed.
    """
    answers_by_key = journal.get_many("answers", [key])
    if not answers_by_key:
        if on_training is not None:
            on_training()
        place = folder / key
        place.mkdir(parents=True, exist_ok=True)
        model = trainer.train(table(), seed=seed, place=place)
        answers_by_key = {key: [model.predict(rows) for rows in row_lists]}
        journal.put_many("answers", answers_by_key)
    answers = answers_by_key[key]
    if not isinstance(answers, list) or list(map(len, answers)) != list(map(len, row_lists)):
        raise journal.damaged("answers")
    return answers


def words_of_pair(row: Mapping[str, str]) -> list[str]:
    """The words of texts that belong together, by column, and which of them both have.

    Example:
        >>> words_of_pair({"a": "Is it?", "b": "It is."})
        ['a:is', 'a:it', 'a:?', 'b:it', 'b:is', 'b:.', 'both:is', 'both:it', 'one:.', 'one:?', \
'shared:2']
    """
    texts = {name: _TOKENS(text.lower()) for name, text in sorted(row.items())}
    either, both = set().union(*texts.values()), set.intersection(*map(set, texts.values()))
    return [
        *(f"{name}:{word}" for name, words in texts.items() for word in words),
        *(f"both:{word}" for word in sorted(both)),
        *(f"one:{word}" for word in sorted(either - both)),
        f"shared:{round(_SHARES * len(both) / max(1, len(either)))}",
    ]


class BuiltInTrainer:
    """Words and pairs of words weighted by how rare they are, under a logistic regression.

    It is trained by averaged stochastic gradient descent, so that seeds matter, as they do for the
    models that people use. Of pairs it reads what `words_of_pair` makes of them.

    Args:
        text: the column of texts; ``a,b`` of either of two that rules rewrite.
        label: the column of labels.

    Raises:
        UsageError: scikit-learn is not installed.

    Example:
        >>> import tempfile
        >>> rows = {"text": ["a good film", "a bad film"], "label": ["positive", "negative"]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trainer = BuiltInTrainer(text="text", label="label")
        ...     model = trainer.train(Table(rows, "a.csv", "csv"), seed=0, place=Path(folder))
        >>> model.predict([{"text": "bad, bad, bad"}])
        ['negative']
    """

    def __init__(self, *, text: str, label: str) -> None:
        try:
            import sklearn  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise UsageError(
                "the built-in trainer needs scikit-learn", help="pip install 'sears-dsl[models]'"
            ) from error
        self._text = text
        self._label = label
        self.identity = f"built in, scikit-learn {sklearn.__version__}"

    def train(self, table: Table, *, seed: int, place: Path) -> Predictor:
        """Train a model and write it.

        Raises:
            DataError: a row has no label, or the rows have fewer than two labels, or no words.
        """
        labels = table.labels(self._label)
        if "" in labels:
            raise DataError(
                f"{table.path}: row {labels.index('') + 1} has no {self._label}",
                help="leave rows without a label out: the model would learn to say nothing",
            )
        from sklearn.feature_extraction.text import (  # type: ignore[import-untyped]  # noqa: PLC0415
            TfidfVectorizer,
        )
        from sklearn.linear_model import (  # type: ignore[import-untyped]  # noqa: PLC0415
            SGDClassifier,
        )
        from sklearn.pipeline import (  # type: ignore[import-untyped]  # noqa: PLC0415
            make_pipeline,
        )

        names = list(chain(*column_sets(self._text, tuple(table.columns))))
        if len(names) == 1:
            texts: Sequence[Any] = table.texts(self._text)
            words = TfidfVectorizer(
                ngram_range=(1, 2), sublinear_tf=True, tokenizer=_TOKENS, token_pattern=None
            )
        else:
            columns = zip(*map(table.texts, names), strict=True)
            texts = [dict(zip(names, each, strict=True)) for each in columns]
            words = TfidfVectorizer(analyzer=words_of_pair, sublinear_tf=True)
        model = make_pipeline(
            words,
            SGDClassifier(
                loss="log_loss",
                alpha=1e-5,
                average=True,
                max_iter=_PASSES,
                tol=None,
                random_state=seed,
            ),
        )
        try:
            model.fit(texts, labels)
        except ValueError as error:
            raise DataError(
                f"{table.path}: no model can be made of its rows: {error}",
                help="they need texts with words and at least two labels",
            ) from error
        path = place / MODEL
        write_atomically(path, pickle.dumps(model))
        return load_estimator(path)


class GivenTrainer:
    """A way to train that somebody else knows.

    Args:
        train: a function of texts, labels and a seed that gives a model, as `load_predictor` takes
            it; or an estimator of scikit-learn that is fitted anew each time, with every
            ``random_state`` in it set to the seed.
        text: the column of texts; ``a,b`` of either of two that rules rewrite.
        label: the column of labels.
        also: further columns that the model reads. Where it reads several the function gets a list
            of dictionaries, column → text, in the place of texts.
        comparison: which kind of answers it gives.

    Raises:
        UsageError: it is neither.

    Example:
        >>> def train(texts, labels, seed):
        ...     return lambda texts: [labels[0] for _ in texts]
        >>> trainer = GivenTrainer(train, text="text", label="label")
        >>> rows = Table({"text": ["a good film"], "label": ["positive"]}, "a.csv", "csv")
        >>> trainer.train(rows, seed=0, place=Path()).predict([{"text": "bad"}])
        ['positive']
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
                f"a {type(train).__name__} trains nothing",
                help="give a function of texts, labels and a seed that returns a model, or an "
                "estimator of scikit-learn",
            )
        self._train: Any = _fitting(train) if fits else train
        self._text = text
        self._label = label
        self._also = tuple(also)
        self._comparison = comparison
        self.identity = object_name(train)

    def train(self, table: Table, *, seed: int, place: Path) -> Predictor:
        """Train a model; nothing is written.

        Raises:
            ModelError: the training failed, or gave no model.
        """
        try:
            labels = table.labels(self._label, comparison=self._comparison)
            model = self._train(self._inputs(table), labels, seed)
        except Exception as error:
            raise ModelError(
                f"{self.identity} failed: {describe_error(error)}",
                help="it is called with a list of texts, a list of labels and a seed",
            ) from error
        return load_predictor(model, comparison=self._comparison)

    def _inputs(self, table: Table) -> list[str] | list[dict[str, str]]:
        columns = {*chain(*column_sets(self._text, tuple(table.columns))), *self._also}
        names = [name for name in table.columns if name in columns]
        rows = zip(*map(table.texts, names), strict=True)
        return inputs_of([dict(zip(names, row, strict=True)) for row in rows])


def _fitting(estimator: Any) -> Callable[[list[str], list[str], int], object]:
    from sklearn.base import clone  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra

    def train(texts: list[str], labels: list[str], seed: int) -> object:
        fresh = clone(estimator)
        random = [name for name in fresh.get_params() if name.split("__")[-1] == "random_state"]
        return fresh.set_params(**dict.fromkeys(random, seed)).fit(texts, labels)

    return train
