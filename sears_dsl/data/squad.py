"""SQuAD files, versions 1.1 and 2.0: a row a question, answers that point into the context.

In: the JSON of a file, article by article. Out: `Batch`es with the columns ``id``, ``question``,
``context``, ``title``, ``answers`` (a list of ``{text, answer_start}``) and ``plausible_answers``
(null where a question has none). Always holds: a written file is the file that was read except for
the values that changed and what was dropped, so that numbers, spacing and the order of keys stay;
questions of a paragraph share its context, which is rewritten once. Costs the largest article in
memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, BinaryIO

from sears_dsl.data.batches import Batch, Changes, Frame, ReadOptions, encoded
from sears_dsl.data.json_rows import (
    JsonReader,
    assemble_array,
    value_of,
    values_of_array,
    with_values,
)
from sears_dsl.data.span_columns import SpanColumn
from sears_dsl.errors import DataError

#: The columns of a SQuAD file that point into its contexts.
SQUAD_SPANS = (SpanColumn("context", "answers"), SpanColumn("context", "plausible_answers"))
# What may change in a question; its context stands in the paragraph.
_OF_QUESTION = frozenset({"id", "question", "answers", "plausible_answers"})


@dataclass(frozen=True, slots=True)
class _Article:
    """An article: its source with the comma before it, its value, and how many rows it has."""

    source: str
    value: dict[str, Any]
    rows: int


class Squad:
    """Question answering files as published: ``{"version": …, "data": [articles]}``."""

    name = "squad"
    binary = False

    def read(self, path: str, options: ReadOptions) -> _SquadReader:
        """Open a file."""
        return _SquadReader(path, options)

    def encode(self, columns: Mapping[str, Sequence[Any]], encoding: str) -> bytes:
        """SQuAD is written only from SQuAD."""
        raise DataError(
            "rows that were not read from a SQuAD file cannot be written as one",
            help="choose csv or jsonl, by the file's name or with --output-format",
        )

    def patch(
        self, batch: Batch, changes: Changes, dropped: AbstractSet[int], encoding: str
    ) -> bytes:
        """The articles of a batch, without paragraphs and articles that lost all questions."""
        pieces = []
        row = 0
        for article in batch.source:
            rows = range(row, row + article.rows)
            row = rows.stop
            if any(number in changes or number in dropped for number in rows):
                pieces.append(_changed(article, rows.start, changes, dropped) or "")
            else:
                pieces.append(article.source)
        return encoded("".join(pieces), encoding)

    def assemble(self, parts: Iterable[bytes], output: BinaryIO, frame: Frame) -> None:
        """Write a SQuAD file of all parts."""
        assemble_array(parts, output, frame, ('{"data": [', "]}\n"))


def _changed(
    article: _Article, row: int, changes: Changes, dropped: AbstractSet[int]
) -> str | None:
    """An article with its changes, or None if none of its questions is left."""
    style = (", ", ": ") if '": ' in article.source else (",", ":")
    write = json.JSONEncoder(ensure_ascii=article.source.isascii(), separators=style).encode
    before, paragraphs, after = value_of(article.source, "paragraphs")
    sources = values_of_array(paragraphs)
    left = []
    for source, paragraph in zip(sources, article.value["paragraphs"], strict=True):
        rows = range(row, row + len(paragraph["qas"]))
        row = rows.stop
        if any(number in changes or number in dropped for number in rows):
            new = [
                None
                if number in dropped
                else {name: write(value) for name, value in changes.get(number, {}).items()}
                for number in rows
            ]
            left += _changed_paragraph(source, new)
        else:
            left.append(source)
    if sources and not left:
        return None
    return before + _array(left) + after


def _changed_paragraph(source: str, new: Sequence[Mapping[str, str] | None]) -> list[str]:
    """A paragraph with new values of its questions, None for dropped ones; nothing if all are."""
    _, questions, _ = value_of(source, "qas")
    left = []
    of_paragraph: dict[str, str] = {}
    for question, values in zip(values_of_array(questions), new, strict=True):
        if values is not None:
            own = {name: value for name, value in values.items() if name in _OF_QUESTION}
            left.append(with_values(question, own))
            of_paragraph |= {name: values[name] for name in ("context",) if name in values}
    return [with_values(source, {"qas": _array(left), **of_paragraph})] if left else []


def _array(values: Sequence[str]) -> str:
    return f"[{','.join(values)}]"


def _member(value: Any, name: str, kind: type, place: str) -> Any:
    if not isinstance(value, dict) or not isinstance(value.get(name), kind):
        raise DataError(
            f"{place} has no {'list' if kind is list else 'text'} called {name!r}",
            help="a SQuAD file is {data: [{title, paragraphs: [{context, qas: [{id, question, "
            "answers: [{text, answer_start}]}]}]}]}",
        )
    return value[name]


class _SquadReader(JsonReader):
    def batches(self) -> Iterator[Batch]:
        """Whole articles, as many as stay within the bounds."""
        cursor = self._cursor
        cursor.take("{")
        self._pass_members(until="data")
        cursor.take("[")
        self.prologue = cursor.cut()
        articles: list[_Article] = []
        first = rows = size = 0
        number = batch = 0
        limit = self._options.limit
        while cursor.peek() != "]" and first + rows != limit:
            if number:
                cursor.take(",")
            place = f"{cursor.name}: data[{number}]"
            value = cursor.value()
            article = _Article(cursor.cut(), value, _count(value, place))
            if limit is not None and first + rows + article.rows > limit:
                article = _shortened(article, limit - first - rows)
            articles.append(article)
            rows += article.rows
            size += len(article.source)
            number += 1
            most, characters = self._options.bounds(batch)
            if rows >= most or size >= characters:
                yield _batch(first, articles)
                first += rows
                batch += 1
                articles, rows, size = [], 0, 0
        if articles or not first:
            yield _batch(first, articles)
        if cursor.peek() == "]":
            cursor.take("]")
            if cursor.take(",", "}") == ",":
                self._pass_members(until=None)
            self.epilogue = cursor.cut() + cursor.rest()
        else:
            self.epilogue = "]}\n"

    def _pass_members(self, until: str | None) -> None:
        """Move past the members of the outer object, to the value of ``until`` or to the end."""
        cursor = self._cursor
        while True:
            name = cursor.value()
            cursor.take(":")
            if name == until:
                return
            cursor.value()
            if cursor.take(",", "}") == "}":
                if until is not None:
                    raise DataError(f"{cursor.name} is not a SQuAD file: it has no {until!r}")
                return


def _count(article: Any, place: str) -> int:
    """How many questions an article has; everything that rows need is checked here."""
    count = 0
    for i, paragraph in enumerate(_member(article, "paragraphs", list, place)):
        inside = f"{place}.paragraphs[{i}]"
        _member(paragraph, "context", str, inside)
        for k, question in enumerate(_member(paragraph, "qas", list, inside)):
            for name in ("id", "question"):
                _member(question, name, str, f"{inside}.qas[{k}]")
            count += 1
    return count


def _shortened(article: _Article, rows: int) -> _Article:
    """The first questions of an article."""
    beyond = frozenset(range(rows, article.rows))
    source = _changed(article, 0, {}, beyond) or article.source
    value, _ = json.JSONDecoder().raw_decode(source, source.index("{"))
    return _Article(source, value, rows)


def _batch(first: int, articles: Sequence[_Article]) -> Batch:
    names = ("id", "question", "context", "title", "answers", "plausible_answers")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    groups: list[int] = []
    paragraph_number = 0
    for article in articles:
        for paragraph in article.value["paragraphs"]:
            for question in paragraph["qas"]:
                columns["context"].append(paragraph["context"])
                columns["title"].append(article.value.get("title"))
                for name in ("id", "question", "answers", "plausible_answers"):
                    columns[name].append(question.get(name))
                groups.append(paragraph_number)
            paragraph_number += 1
    return Batch(first, len(groups), columns, list(articles), {"context": groups})
