"""A model that lives elsewhere: its inputs are written to a file, its predictions read from one.

Always holds: a row is known by its content, so the order and the number of runs do not matter. The
file of inputs is written whole or not at all and holds every row that was ever asked for, so a
model that is run over all of it gives a complete file of predictions. The file of predictions is
only read, and may hold what a model of Python may give for the same comparison of answers. A call
reads each file once and holds all rows in memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sears_dsl.answers import COMPARISON_FORMS, Comparison, answer_text
from sears_dsl.data.dataset import Dataset, format_of
from sears_dsl.errors import HALF_CHARACTER, DataError, ModelError, UsageError, counted
from sears_dsl.models.objects import python_values
from sears_dsl.models.predictor import Answer, AnsweringPredictor, Row, row_key
from sears_dsl.runtime.files import is_folder, parse_json, write_atomically

_ID = "id"
_PREDICTION = "prediction"
_CONFIDENCE = "confidence"
_FORMS = (
    "predictions stand in a csv, tsv, jsonl or parquet file, in UTF-8, which its name ends with"
)


class PredictionsNeeded(ModelError):  # noqa: N818 - a step of the way, nothing went wrong
    """Some rows have no prediction yet; ``inputs`` holds them, and the user has to run a model."""

    def __init__(self, missing: int, total: int, *, inputs: Path, predictions: Path) -> None:
        rows = counted(missing, "row needs a prediction", "rows need predictions")
        super().__init__(
            f"{rows}; they are in {inputs} ({total:,} rows in all)",
            help=f"run your model on {inputs}, write `{_ID}` and `{_PREDICTION}` of every row to "
            f"{predictions}, then run the same command again",
        )
        self.missing = missing
        self.inputs = inputs


class FilePredictor(AnsweringPredictor):
    """Predictions in a csv, tsv, jsonl or parquet file with columns ``id`` and ``prediction``.

    A further column ``confidence``, from 0 to 1, may say how sure the model is of each. The file
    need not be there yet: rows that need predictions are written to ``inputs``, JSON lines with
    ``id`` and the rows' columns, by default beside it: ``predictions.inputs.jsonl``.
    """

    # All rows at once, so that the file of inputs is complete.
    batch_size = None

    def __init__(
        self, predictions: Path, *, inputs: Path | None = None, comparison: Comparison = "exact"
    ) -> None:
        # What cannot hold predictions is refused before somebody runs a model.
        _check_format(predictions)
        self.predictions = predictions
        self._comparison = comparison
        # No hash of the content: the file is read anew at every call.
        self._identity = f"file:{predictions}"
        self.inputs = inputs or predictions.with_name(predictions.stem + ".inputs.jsonl")
        if self.inputs == predictions:
            raise UsageError(
                f"{predictions} is named both for the inputs and for the predictions",
                help="name two files",
            )
        for path in (self.predictions, self.inputs):
            if is_folder(path):
                raise UsageError(f"{path} is a folder", help="name a file in it")

    def predict_with_confidence(self, rows: Sequence[Row]) -> list[Answer]:
        """The predictions in the file, with confidences where it has them."""
        if any(_ID in row for row in rows):
            raise UsageError(
                f"the model reads a column {_ID!r}, but files of predictions name rows by it",
                help="leave that column out, or rename it",
            )
        try:
            known = self._known() if self.predictions.exists() else {}
        except DataError as error:
            if "--" not in error.help:
                raise
            # Its advice is an option that says how the file of --data is read.
            raise DataError(error.message, help=_FORMS) from error
        keys = [row_key(row) for row in rows]
        missing = {key: row for key, row in zip(keys, rows, strict=True) if key not in known}
        if missing:
            total = self._write_inputs(missing)
            raise PredictionsNeeded(
                len(missing), total, inputs=self.inputs, predictions=self.predictions
            )
        return [known[key] for key in keys]

    def _known(self) -> dict[str, Answer]:
        known: dict[str, Answer] = {}
        dataset = Dataset(str(self.predictions))
        for name in (_ID, _PREDICTION):
            if name not in dataset.names:
                raise DataError(
                    f"{self.predictions} has no column {name!r}, "
                    f"only {', '.join(dataset.names) or 'none'}",
                    help=f"`{_ID}` is as in {self.inputs}, `{_PREDICTION}` is the model's answer",
                )
        for batch in dataset.batches():
            ids, predictions = batch.columns[_ID], batch.columns[_PREDICTION]
            sure = batch.columns.get(_CONFIDENCE, [None] * batch.rows)
            for at, (key, value, confidence) in enumerate(zip(ids, predictions, sure, strict=True)):
                where = f"{self.predictions}, row {batch.row_number(at)}"
                label = _label(value, where, self._comparison)
                answer = Answer(label, _confidence(confidence, where))
                before = known.setdefault(str(key), answer)
                if before != answer:
                    now, was = map(_in_words, (answer, before))
                    raise DataError(
                        f"{where}: the id {key} has {now}, but had {was} before",
                        help="keep one of them",
                    )
        return known

    def _write_inputs(self, missing: Mapping[str, Row]) -> int:
        """Add the rows to the file of inputs, and return how many rows it has then."""
        rows: dict[str, Row] = {}
        if self.inputs.exists():
            # In bytes, so that characters that some take for line breaks stay in their line.
            for number, line in enumerate(self.inputs.read_bytes().splitlines(), 1):
                rows.update(self._read_input(line, number))
        rows.update(missing)
        documents = [
            json.dumps(
                {_ID: key, **row}, ensure_ascii=any(map(HALF_CHARACTER.search, row.values()))
            )
            for key, row in rows.items()
        ]
        write_atomically(self.inputs, "".join(f"{each}\n" for each in documents).encode())
        return len(rows)

    def _read_input(self, line: bytes, number: int) -> dict[str, Row]:
        """A line of the file of inputs that an earlier run wrote."""
        try:
            row: Any = parse_json(line)
        except ValueError:
            row = None
        texts = isinstance(row, dict) and all(isinstance(value, str) for value in row.values())
        if not texts or _ID not in row:
            raise DataError(
                f"{self.inputs}, line {number}: this is not a file of inputs of sears",
                help="move it away; it was not changed",
            )
        key = row.pop(_ID)
        return {key: row}


def _in_words(answer: Answer) -> str:
    if answer.confidence is None:
        return f"the prediction {answer.label!r}"
    return f"the prediction {answer.label!r} with confidence {answer.confidence:g}"


def _check_format(predictions: Path) -> None:
    try:
        form = format_of(str(predictions), reading=False)
    except UsageError as error:
        raise UsageError(error.message, help=_FORMS) from error
    if form.name == "txt":
        raise UsageError(f"{predictions} is plain text, which has no columns", help=_FORMS)


def _label(value: Any, where: str, comparison: Comparison) -> str:
    written = answer_text(python_values(value), comparison)
    # No label is an empty text: the cell was left empty. A free answer and a set may be empty.
    if written or (written is not None and comparison != "exact"):
        return written
    raise DataError(
        f"{where}: {value!r} is not a prediction",
        help=COMPARISON_FORMS.get(
            comparison.partition(":")[0],
            "give every row a label: a text, a whole number, true or false",
        ),
    )


def _confidence(value: Any, where: str) -> float | None:
    """A probability, given as a number or as text; None where the cell is empty."""
    if value is None or value == "":
        return None
    try:
        confidence = float(value)
    except (TypeError, ValueError):
        confidence = -1.0
    if isinstance(value, bool) or not 0 <= confidence <= 1:
        raise DataError(
            f"{where}: {value!r} is not a confidence",
            help=f"`{_CONFIDENCE}` is a number from 0 to 1, or empty if the model gave none",
        )
    return confidence
