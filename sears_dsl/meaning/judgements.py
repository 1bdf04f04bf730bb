"""Pairs of texts from a file, and how people judged them.

A pair is two texts, and a judgement is yes or no. The digest depends on the pairs and judgements
alone. Judged pairs are held in memory; pairs without judgements are read batch by batch.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.data.batches import Batch, ReadOptions
from sears_dsl.data.dataset import PLAIN_STREAM, Dataset, require_characters, require_column
from sears_dsl.data.sources import RowSource
from sears_dsl.data.streams import STANDARD_STREAM
from sears_dsl.errors import DataError
from sears_dsl.meaning.scorers import Pair

# Usual names for the two columns of a pair, that of the original first.
_USUAL = (
    ("original", "rewritten"),
    ("original", "rewrite"),
    ("original", "paraphrase"),
    ("original", "text"),
    ("sentence1", "sentence2"),
    ("sentence_A", "sentence_B"),
    ("question1", "question2"),
    ("text1", "text2"),
    ("first", "second"),
)
# The column that says where a judgement comes from, and how many of its values an error names.
_SOURCE = "source"
_NAMED = 5
_USUAL_LABELS = ("label", "equivalent", "is_duplicate", "score")
_YES = frozenset({"1", "1.0", "true", "yes"})
_NO = frozenset({"0", "0.0", "false", "no"})


class PairColumns(NamedTuple):
    """Which columns hold the two texts of a pair."""

    original: str
    rewrite: str


@dataclass(frozen=True, slots=True, eq=False)
class Judgements:
    """Pairs that people judged."""

    pairs: tuple[Pair, ...]
    equivalent: NDArray[np.bool_]
    path: str

    @property
    def digest(self) -> str:
        """SHA-256 of pairs and judgements in hex."""
        hasher = hashlib.sha256()
        for pair, same in zip(self.pairs, self.equivalent.tolist(), strict=True):
            line = json.dumps([*pair, same], ensure_ascii=False)
            hasher.update(line.encode("utf-8", "surrogatepass") + b"\n")
        return hasher.hexdigest()

    @property
    def contradicting(self) -> Mapping[Pair, int]:
        """Pairs that were judged both ways, and how often each was judged.

        Each of their judgements counts: no score is right about all of them.
        """
        yes = Counter(compress(self.pairs, self.equivalent.tolist()))
        return {pair: count for pair, count in Counter(self.pairs).items() if 0 < yes[pair] < count}


def pairs_of(batch: Batch, columns: PairColumns, *, where: str) -> list[Pair]:
    """The pairs of a batch; DataError where one lacks a text, or holds half a character."""
    sides = [batch.columns[name] for name in columns]
    for name, values in zip(columns, sides, strict=True):
        for index, value in enumerate(values):
            place = f"{where}: row {batch.row_number(index)}: {name}"
            if not isinstance(value, str):
                raise DataError(
                    f"{place} is {value!r}, not text",
                    help="give both texts of every pair, or leave the row out",
                )
            require_characters(value, where=place)
    return list(zip(*sides, strict=True))


def pair_columns(
    dataset: RowSource, *, original: str | None = None, rewrite: str | None = None
) -> PairColumns:
    """The two columns of texts: as the user names them, with usual names, or the only two."""
    names, where = dataset.names, dataset.path
    for name in filter(None, (original, rewrite)):
        require_column(names, name, where=where)
    if original and original == rewrite:
        raise DataError(
            f"{where}: {original} is named as the column of both texts",
            help="name two columns: a text has to be compared with its rewrite",
        )
    if original and rewrite:
        return PairColumns(original, rewrite)
    for usual in _USUAL:
        if set(usual) <= set(names) and (original or usual[0], rewrite or usual[1]) == usual:
            return PairColumns(*usual)
    texts = [name for name in names if _is_text(dataset.first.columns[name])]
    left = [name for name in texts if name not in (original, rewrite)]
    needed = 2 - bool(original) - bool(rewrite)
    if len(left) != needed:
        if not dataset.first.rows:
            raise DataError(f"{where} has no rows", help="give at least one row")
        plain = where == STANDARD_STREAM and list(names) == ["text"]
        raise DataError(
            f"{where}: which columns are the two texts? the columns are "
            f"{', '.join(names) or '(none)'}",
            help=PLAIN_STREAM if plain else "name them with --original COLUMN and --rewrite COLUMN",
        )
    chosen = iter(left)
    return PairColumns(original or next(chosen), rewrite or next(chosen))


def read_judgements(
    path: str,
    *,
    original: str | None = None,
    rewrite: str | None = None,
    label: str | None = None,
    positive_from: float | None = None,
    sources: Sequence[str] = (),
    format_name: str | None = None,
    options: ReadOptions | None = None,
) -> Judgements:
    """Read pairs and what people judged of them; columns that are not named are recognized.

    For graded judgements, ``positive_from`` is the grade from which on a pair counts as equivalent;
    without it judgements are 1 or 0, true or false, yes or no. ``sources`` are the values of the
    column ``source`` whose rows count, such as ``pair`` in what `sears vetted` writes.
    """
    dataset = Dataset(path, format_name=format_name, options=options)
    if label is not None:
        require_column(dataset.names, label, where=path)
    columns = pair_columns(dataset, original=original, rewrite=rewrite)
    chosen = label or _label_column(dataset.names, columns, where=path)
    if sources:
        require_column(dataset.names, _SOURCE, where=path)
    pairs: list[Pair] = []
    judged: list[bool] = []
    there: set[str] = set()
    for batch in dataset.batches():
        origins = list(map(str, batch.columns[_SOURCE])) if sources else []
        there.update(origins)
        for index, pair in enumerate(pairs_of(batch, columns, where=path)):
            if sources and origins[index] not in sources:
                continue
            pairs.append(pair)
            where = f"{path}: row {batch.row_number(index)}: {chosen}"
            value = batch.columns[chosen][index]
            judged.append(_judgement(value, positive_from, where=where))
    missing = [each for each in sources if each not in there]
    if missing:
        raise DataError(
            f"{path} has no judgement whose {_SOURCE} is {missing[0]!r}",
            help=f"the sources are {', '.join(sorted(there)[:_NAMED]) or '(none)'}",
        )
    if not pairs:
        raise DataError(f"{path} has no rows", help="give pairs that people judged")
    return Judgements(tuple(pairs), np.array(judged, bool), path)


def _label_column(names: Sequence[str], columns: PairColumns, *, where: str) -> str:
    others = [name for name in names if name not in columns]
    usual = [name for name in _USUAL_LABELS if name in others]
    if usual or len(others) == 1:
        return (usual or others)[0]
    raise DataError(
        f"{where}: which column is the judgements? "
        + (f"it may be {', '.join(others)}" if others else "there are only the two texts"),
        help="name it with --label COLUMN; it is 1 if people call the pair equivalent, else 0",
    )


def _judgement(value: Any, positive_from: float | None, *, where: str) -> bool:
    text = str(value).strip().lower()
    if positive_from is not None:
        try:
            grade = float(text)
        except ValueError:
            grade = float("nan")
        if isnan(grade):
            raise DataError(
                f"{where} is {value!r}, which is not a grade", help="grades have to be numbers"
            )
        return grade >= positive_from
    if text in _YES or text in _NO:
        return text in _YES
    raise DataError(
        f"{where} is {value!r}, which is neither 1 nor 0",
        help="for grades, say from which one a pair counts as equivalent: --positive-from 4",
    )


def _is_text(values: Sequence[Any]) -> bool:
    """Whether a column holds text: strings, of which at least one has several words."""
    return all(isinstance(value, str) for value in values) and any(
        any(character.isalpha() for character in value) and " " in value for value in values
    )
