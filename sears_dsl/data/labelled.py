"""A labelled dataset, read whole: the rows that a model is asked about, and the right answers.

In: a file or rows in memory, the column that rules rewrite, the column of labels. Out:
`LabelledRows`. Always holds: rows are in the order of the data; a row's columns are text, in the
order of the data; `digest` depends on the texts and labels alone, not on the file's name, format or
order of columns. Costs the memory of the rows: discovery looks at all of them at once.

In pairs of texts, rules rewrite one column (``premise``), either (``premise,hypothesis``) or both
as one text (``premise+hypothesis``). In the second case each pair is there twice, once for each
column that a rewrite may change; in the third, the model gets the two parts separately.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sears_dsl.answers import (
    COMPARISON_FORMS,
    Comparison,
    answer_text,
    frequent_answers,
    label_text,
)
from sears_dsl.data.batches import ReadOptions, is_missing
from sears_dsl.data.columnar import class_names
from sears_dsl.data.dataset import default_column, require_characters, require_column
from sears_dsl.data.protection import Guard, Guards, Protection
from sears_dsl.data.sources import folder_of_paths, open_rows
from sears_dsl.errors import DataError, counted, shortened
from sears_dsl.pictures import BETWEEN_CHOICES, need_pictures, picture_problem

#: Between the parts of a text that stands in several columns; no rule may change it.
BETWEEN_PARTS = "\n\n"

_NOTHING = Protection()
# Of rows with unreadable pictures, so many are listed with the reason, so many more by number.
_REASONS = 5
_NUMBERS = 100
_LABEL_SHOWN = 41


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows with what a model should say of them."""

    rows: tuple[Mapping[str, str], ...]  # column → text, for each row
    column: str  # the column that rules rewrite; several as the user wrote them (``a,b``)
    # For each row the answers that count as right (one label; of SQuAD several answers); None where
    # the data has no labels, so that the model's own answer counts.
    labels: tuple[tuple[str, ...], ...] | None
    path: str  # as the user named the file
    # For each row its number in the file, from 1; None where all rows are there.
    numbers: tuple[int, ...] | None = None
    # What has to stay in the texts that rules rewrite; None where nothing has to.
    guards: Guards | None = None
    # For each row the columns whose text rules rewrite, several as one text; None where it is
    # ``column`` in all rows.
    rewritten_columns: tuple[tuple[str, ...], ...] | None = None
    image: str | None = None  # the column of pictures, paths that rules leave alone; None for none
    # The column of the choices for an answer, joined by `BETWEEN_CHOICES`; None for none.
    choices: str | None = None
    folder: str = ""  # what the paths of pictures begin with; it is not part of the data
    notes: tuple[str, ...] = ()  # what a reader has to know, such as rows that were left out
    # The names of the classes that the labels number, from 0; empty where labels are no numbers.
    class_names: tuple[str, ...] = ()
    # The labels as they stand in the data, where `labels` are names of classes instead.
    numbered: tuple[tuple[str, ...], ...] | None = None

    def __repr__(self) -> str:
        return f"<LabelledRows of {self.path}: {counted(len(self.rows), 'row')}>"

    def number(self, place: int) -> int:
        """The number in the file, from 1, of the row at a place, from 0."""
        return place + 1 if self.numbers is None else self.numbers[place]

    def sampled(self, count: int, *, seed: int = 0) -> LabelledRows:
        """``count`` rows drawn at random, each label with its share; all rows if there are fewer.

        Example:
            >>> rows = tuple({"text": str(number)} for number in range(100))
            >>> data = LabelledRows(rows, "text", (("a",),) * 80 + (("b",),) * 20, "a.csv")
            >>> data.sampled(10).labels
            (('a',), ('a',), ('a',), ('a',), ('a',), ('a',), ('a',), ('a',), ('b',), ('b',))
        """
        if count >= len(self.rows):
            return self
        of_label = self.places_by_label()
        # Answers to questions are not classes: hardly two of them are the same.
        groups = [of_label[label] for label in sorted(of_label)]
        if 2 * len(groups) > count:
            groups = [list(range(len(self.rows)))]
        draw = np.random.default_rng(seed % 2**64)
        places = sorted(
            place
            for group, size in zip(groups, _shares(list(map(len, groups)), count), strict=True)
            for place in draw.choice(group, size, replace=False).tolist()
        )
        return self.part(places)

    def places_by_label(self) -> dict[tuple[str, ...], list[int]]:
        """The places of the rows of each label, in their order; without labels, those of all."""
        places: dict[tuple[str, ...], list[int]] = {}
        for place in range(len(self.rows)):
            places.setdefault(self.labels[place] if self.labels else (), []).append(place)
        return places

    def part(self, places: Sequence[int]) -> LabelledRows:
        """Some of the rows, in the order given, with their numbers in the file."""
        return replace(
            self,
            rows=tuple(self.rows[place] for place in places),
            labels=self.labels and tuple(self.labels[place] for place in places),
            numbered=self.numbered and tuple(self.numbered[place] for place in places),
            numbers=tuple(map(self.number, places)),
            guards=self.guards and self.guards.part(places),
            rewritten_columns=self.rewritten_columns and tuple(map(self.columns_at, places)),
        )

    def as_answered(self, answers: Sequence[str]) -> LabelledRows:
        """These rows with names as labels, if a model answers names of classes and not numbers."""
        numbers = set(self._names_by_number)
        # The labels of a set have | between them.
        classes = [each for answer in answers for each in (answer, *answer.split("|"))]
        named = sum(each in self.class_names for each in classes)
        return self.as_named() if named > sum(each in numbers for each in classes) else self

    def as_named(self) -> LabelledRows:
        """These rows with the names of classes as labels, in the place of their numbers."""
        if self.labels is None:
            return self
        names = self._names_by_number
        labels = tuple(
            tuple("|".join(sorted(names.get(n, n) for n in label.split("|"))) for label in of_row)
            for of_row in self.labels
        )
        return replace(self, labels=labels, numbered=self.labels)

    @property
    def ambiguous_classes(self) -> tuple[str, ...]:
        """What is the name of one class and the number of another."""
        of_number = self._names_by_number
        return tuple(name for name in self.class_names if of_number.get(name, name) != name)

    @property
    def _names_by_number(self) -> dict[str, str]:
        return {str(number): name for number, name in enumerate(self.class_names)}

    def picture_at(self, place: int) -> str | None:
        """The path of the picture of a row; None where rows have none."""
        return None if self.image is None else self.rows[place][self.image]

    def choices_at(self, place: int) -> tuple[str, ...]:
        """The choices for the answer to a row; empty if there are none."""
        text = "" if self.choices is None else self.rows[place][self.choices]
        return tuple(filter(None, text.split(BETWEEN_CHOICES)))

    def other_texts(self, place: int) -> tuple[tuple[str, str], ...]:
        """The other texts of a row that the model reads, each with its column."""
        shown = {*self.columns_at(place), self.image, self.choices}
        return tuple((name, text) for name, text in self.rows[place].items() if name not in shown)

    def columns_at(self, place: int) -> tuple[str, ...]:
        """The columns of a row whose text rules rewrite."""
        return (self.column,) if self.rewritten_columns is None else self.rewritten_columns[place]

    def require_characters(self) -> None:
        """Raise a DataError for a text with half a character: no file can hold its rewrites."""
        for place, row in enumerate(self.rows):
            for column, text in row.items():
                require_characters(text, where=f"{self.path}: row {self.number(place)}: {column}")

    @cached_property
    def texts(self) -> list[str]:
        """The texts that rules rewrite."""
        return [
            BETWEEN_PARTS.join(row[name] for name in self.columns_at(place))
            for place, row in enumerate(self.rows)
        ]

    def rewritten(self, places: Sequence[int], texts: Sequence[str]) -> list[dict[str, str]]:
        """Rows at some places with other texts, as a model reads them; a place may come again."""
        rows = []
        for place, text in zip(places, texts, strict=True):
            names = self.columns_at(place)
            parts = [text] if len(names) == 1 else text.split(BETWEEN_PARTS)
            rows.append({**self.rows[place], **dict(zip(names, parts, strict=True))})
        return rows

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the rows and their labels, as they stand in the data, in hex."""
        labels = self.numbered or self.labels
        hasher = hashlib.sha256()
        line_of = json.JSONEncoder(sort_keys=True, ensure_ascii=False)  # made once: rows are many
        for number, whole in enumerate(self.rows):
            row_labels = None if labels is None else labels[number]
            names = ",".join(self.columns_at(number))
            row = dict(whole)
            if self.image is not None:
                row[self.image] = row[self.image].removeprefix(self.folder)
            line = line_of.encode([names, row, row_labels])
            hasher.update(line.encode("utf-8", "surrogatepass") + b"\n")
        return hasher.hexdigest()


def _shares(sizes: Sequence[int], count: int) -> list[int]:
    """A count divided in proportion to sizes: rounded down, the rest to the largest remainders."""
    total = sum(sizes)
    shares = [size * count // total for size in sizes]
    rest = sorted(range(len(sizes)), key=lambda each: (-(sizes[each] * count % total), each))
    for each in rest[: count - sum(shares)]:
        shares[each] += 1
    return shares


def read_labelled(
    source: object,
    *,
    column: str | None = None,
    label: str | None = None,
    also: Sequence[str] = (),
    protection: Protection = _NOTHING,
    comparison: Comparison = "exact",
    image: str | None = None,
    choices: str | None = None,
    format_name: str | None = None,
    options: ReadOptions | None = None,
) -> LabelledRows:
    r"""Read labelled rows; a `UsageError` if rules would rewrite a protected column.

    The source is a file, or rows in memory, as `open_rows` takes them. Rules rewrite the
    ``column``: ``a,b`` for either of two, ``a+b`` for both; None for the only one that can be
    meant. The model also reads the columns ``also``, such as the context of a question; the
    ``choices`` for an answer, a list or text with ``|`` between; and the pictures of ``image``,
    paths that start in the folder of the file (see `folder_of_paths`). A row whose picture cannot
    be read is left out; `LabelledRows.notes` tells of these, and of equal rows with different
    labels. A row of a SQuAD file is a question with its own copy of the context; its answers have
    to stay there, as they do in ``sears apply``.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.tsv")
        ...     _ = path.write_text("text\tlabel\nA fun film.\tpositive\n")
        ...     read_labelled(str(path), label="label").labels
        (('positive',),)
        >>> read_labelled([("A fun film.", "positive")], label="label").texts
        ['A fun film.']
    """
    dataset = open_rows(source, format_name=format_name, options=options)
    path = dataset.path
    parent = str(folder_of_paths(path))
    folder = "" if parent == os.curdir else f"{parent}{os.sep}"
    also = tuple(dict.fromkeys((*also, *filter(None, (image, choices)))))
    sets = None if column is None else column_sets(column, dataset.names)
    for name in (*itertools.chain(*sets or ()), *filter(None, [label]), *also):
        require_column(dataset.names, name, where=path)
    sets = sets or ((default_column(dataset.first, where=path, label=label),),)
    chosen = column or sets[0][0]
    protection = protection.of_format(dataset.format_name)
    for name in itertools.chain(*sets):
        protection.check(dataset.names, column=name, also=also, where=path)
    cells: dict[str, list[Any]] = {name: [] for name in protection.needed}
    needed = {*itertools.chain(*sets), *also}
    names = [name for name in dataset.names if name in needed]
    rows: list[Mapping[str, str]] = []
    labels: list[tuple[str, ...]] = []
    for batch in dataset.batches():
        for index in range(batch.rows):
            where = f"{path}: row {batch.row_number(index)}"
            row = {
                name: (_choices if name == choices else text_of)(
                    batch.value(name, index), name, where
                )
                for name in names
            }
            rows.append(row if image is None else {**row, image: os.path.join(folder, row[image])})
            if label is not None:
                value = batch.value(label, index)
                answers = label_alternatives(value, f"{where}: {label}", comparison=comparison)
                labels.append(answers)
        for name, values in cells.items():
            values.extend(batch.columns.get(name, [None] * batch.rows))
    if not rows:
        raise DataError(f"{path} has no rows", help="give at least one row")
    several = sets != ((chosen,),)
    data = LabelledRows(
        tuple(row for row in rows for _ in sets),
        chosen,
        None if label is None else tuple(each for each in labels for _ in sets),
        path,
        numbers=tuple(n for n in range(1, len(rows) + 1) for _ in sets) if several else None,
        rewritten_columns=tuple(sets) * len(rows) if several else None,
        image=image,
        choices=choices,
        folder=folder,
        class_names=() if label is None else class_names(dataset.first.columns, label),
    )
    if protection or any(len(names) > 1 for names in sets):
        data = replace(data, guards=guards_of_rows(data, cells, protection, column=sets[0][0]))
    notes = list(_contradictions(rows, labels, comparison))
    notes += [
        f"the column {name!r} is not used; to read labels from it, name it with --label"
        for name in dataset.names
        if label is None and name not in needed and name.lower() in ("label", "labels")
    ]
    empty = [data.number(place) for place, text in enumerate(data.texts) if not text]
    if empty:
        rows_have = counted(len(empty), "row has", "rows have")
        notes.append(f"{rows_have} an empty text; the first is row {empty[0]:,}")
    data = replace(data, notes=tuple(notes))
    return data if image is None else _with_readable_pictures(data, image)


# By other comparisons, different answers may both be right: people use words of their own.
_COMPARED_WHOLE = ("exact", "set", "entities")


def _contradictions(
    rows: Sequence[Mapping[str, str]], labels: Sequence[tuple[str, ...]], comparison: Comparison
) -> Iterator[str]:
    """A sentence on equal rows with different labels, of which a model has some wrong."""
    if not labels or comparison not in _COMPARED_WHOLE:
        return
    places: dict[tuple[str, ...], list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(tuple(row.values()), []).append(place)
    groups = [
        alike
        for alike in places.values()
        if len(alike) > 1 and not set.intersection(*(set(labels[place]) for place in alike))
    ]
    if not groups:
        return
    first = groups[0][0]
    other = next(place for place in groups[0] if labels[place] != labels[first])
    pair = " and ".join(repr(shortened(labels[place][0], _LABEL_SHOWN)) for place in (first, other))
    yield (
        f"{sum(map(len, groups)):,} rows have the text of another row and another label, such as "
        f"rows {first + 1:,} and {other + 1:,} ({pair}): no model gets all of them right"
    )


def _with_readable_pictures(data: LabelledRows, image: str) -> LabelledRows:
    """The rows whose pictures can be read; notes tell of the others."""
    need_pictures()
    problems = {path: picture_problem(path) for path in dict.fromkeys(r[image] for r in data.rows)}
    readable = [place for place, row in enumerate(data.rows) if not problems[row[image]]]
    paths = {data.number(place): row[image] for place, row in enumerate(data.rows)}
    unreadable = {number: path for number, path in paths.items() if problems[path]}
    if not unreadable:
        return data
    lines = [f"row {number}, {path}: {problems[path]}" for number, path in unreadable.items()]
    if not readable:
        raise DataError(
            f"{data.path}: no picture in the column {image} can be read; {lines[0]}",
            help="paths are relative to the folder of the rows",
        )
    some = "; ".join(lines[:_REASONS])
    others = [str(number) for number in unreadable][_REASONS : _REASONS + _NUMBERS]
    if others:
        some += f"; {'row' if len(others) == 1 else 'rows'} {', '.join(others)}"
    if len(lines) > _REASONS + _NUMBERS:
        some += f"; and {len(lines) - _REASONS - _NUMBERS:,} more"
    rows = counted(len(lines), "row is", "rows are")
    note = f"{rows} left out, because the picture cannot be read: {some}"
    return replace(data.part(readable), notes=(*data.notes, note))


def column_sets(column: str, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The columns that rules rewrite: ``a,b`` are either of two, ``a+b`` both as one text.

    If a column has the whole string as its name, that column is meant.

    Example:
        >>> column_sets("a,b", ["a", "b"]), column_sets("a+b", ["a", "b"])
        ((('a',), ('b',)), (('a', 'b'),))
        >>> column_sets("a,b", ["a,b"])
        (('a,b',),)
    """
    if column in names:
        return ((column,),)
    each = tuple(tuple(name.strip() for name in one.split("+")) for one in column.split(","))
    return tuple(dict.fromkeys(each))


def guards_of_rows(
    data: LabelledRows, cells: Mapping[str, Sequence[Any]], protection: Protection, *, column: str
) -> Guards:
    """What has to stay in the texts of rows; ``cells`` are the columns that say so."""
    guards: list[Guard] = []
    own_cells: list[Mapping[str, Any]] = []
    for place, row in enumerate(data.rows):
        number, names = data.number(place), data.columns_at(place)
        where = f"{data.path}: row {number}"
        row_cells = {name: values[number - 1] for name, values in cells.items()}
        parts = [row[name] for name in names]
        if len(parts) > 1 and BETWEEN_PARTS.join(parts).split(BETWEEN_PARTS) != parts:
            raise DataError(
                f"{where}: the text has an empty line, or a line end at its edge, and empty lines "
                f"separate {' and '.join(names)}",
                help="remove such line ends from the texts, or rewrite either column: "
                + ",".join(names),
            )
        try:
            guards.append(_joined_guard(row_cells, names, parts, protection))
        except DataError as error:
            raise error.at(f"{where}, ") from error
        own_cells.append(row_cells)
    return Guards(protection, column, guards, own_cells, data.numbers)


def _joined_guard(
    cells: Mapping[str, Any], names: Sequence[str], parts: Sequence[str], protection: Protection
) -> Guard:
    """What has to stay in a text of several columns: what has to stay in each, and their border."""
    protected: list[tuple[int, int]] = []
    carried: list[tuple[int, int]] = []
    borders: list[tuple[int, int]] = []
    absent = misplaced = ""
    at = 0
    for name, part in zip(names, parts, strict=True):
        if at:
            borders.append((at - len(BETWEEN_PARTS), at))
        guard = protection.guard(cells, column=name, text=part)
        protected += [(at + start, at + end) for start, end in guard.protected]
        carried += [(at + start, at + end) for start, end in guard.carried]
        absent, misplaced = absent or guard.absent, misplaced or guard.misplaced
        at += len(part) + len(BETWEEN_PARTS)
    text = BETWEEN_PARTS.join(parts)
    if misplaced:  # as in one column, such a row stays as a whole
        return Guard(text, [(0, len(text))], (), absent, misplaced, borders)
    return Guard(text, [*protected, *borders], carried, absent, misplaced, borders)


def read_texts(source: object, *, column: str | None = None, like: str | None = None) -> list[str]:
    r"""Read texts, such as unlabelled rows of the same kind.

    Where no column is named, ``like`` is meant if there is such a column, else the only one that
    can be.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.tsv")
        ...     _ = path.write_text("id\ttext\n1\tA fun film.\n")
        ...     read_texts(str(path), like="text")
        ['A fun film.']
    """
    rows = open_rows(source)
    if column is None and like in rows.names:
        column = like
    return read_labelled(rows, column=column).texts


def text_of(value: object, column: str, where: str) -> str:
    """A cell of a column of texts; as in csv, a missing text is an empty one."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    raise DataError(
        f"{where}: {column} is {value!r}, which is not text",
        help="name the text column; leave rows without text out, or give them an empty text; in a "
        f"data frame, make numbers text with data.astype({{{column!r}: str}})",
    )


def _choices(value: object, column: str, where: str) -> str:
    """The choices for an answer, as one text."""
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return BETWEEN_CHOICES.join(value)
    return text_of(value, column, where)


def label_alternatives(
    value: Any, where: str, *, comparison: Comparison = "exact"
) -> tuple[str, ...]:
    """The labels that count as right: a scalar is one; a list holds several, as SQuAD's answers.

    A set, entities or a number is one label as a whole. Of the answers that ten people gave about a
    picture (``vqa``), those count that three gave.

    Example:
        >>> label_alternatives(1, "row 1"), label_alternatives([{"text": "red"}], "row 2")
        (('1',), ('red',))
    """
    if comparison in ("set", "entities") or comparison.startswith("within:"):
        written = answer_text(value, comparison)
        if written is not None:
            return (written,)
        raise DataError(
            f"{where} is {value!r:.80}, which is no answer that `{comparison}` can compare",
            help=COMPARISON_FORMS[comparison.partition(":")[0]],
        )
    if isinstance(value, Mapping):
        value = value.get("text", value.get("answer", value))
    if isinstance(value, list | tuple):
        answers = [answer for each in value for answer in label_alternatives(each, where)]
        if answers and comparison == "vqa":
            return frequent_answers(answers)
        if answers:
            return tuple(dict.fromkeys(answers))
    elif written := label_text(value):
        return (written,)
    shown = "empty" if isinstance(value, str) or is_missing(value) else repr(value)
    raise DataError(
        f"{where} is {shown}, which is not a label",
        help="labels are text or whole numbers; leave out rows without a label",
    )
