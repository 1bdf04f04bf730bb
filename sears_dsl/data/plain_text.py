"""Plain text, a row a line; and what all text formats share.

In: a file's text in lines. Out: `Batch`es, and parts of new files. Always holds: a row without a
change is written as it stood, its line end included. Costs little: untouched rows are sliced and
joined, never taken apart and put together.
"""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, BinaryIO

from sears_dsl.data.batches import Batch, Changes, Frame, ReadOptions
from sears_dsl.data.streams import TextSource
from sears_dsl.errors import DataError

_MARK = "\ufeff"


def encoded(text: str, encoding: str) -> bytes:
    """Text as bytes."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        character = text[error.start]
        around = text[max(0, error.start - 20) : error.start + 20]
        raise DataError(
            f"character U+{ord(character):04X} cannot be written as {encoding}, near {around!r}",
            help="write another format or, where the encoding lacks the character, UTF-8",
        ) from error


def lone_return(place: str) -> DataError:
    """The error for a carriage return that ends no line, as all of them did on old Macs."""
    return DataError(
        f"{place}: a carriage return without a line feed",
        help="lines end with a line feed; of a file of old Macs make one with "
        "tr '\\r' '\\n' < old > new",
    )


def line_body(line: str) -> str:
    """A line without its end."""
    return line.removesuffix("\n").removesuffix("\r")


class TextFormat:
    """What text formats share: parts are text in the file's encoding, joined in order."""

    name = ""
    binary = False

    def header(self, names: Sequence[str]) -> str:
        """What a new file begins with."""
        return ""

    def replaced(self, source: str, names: Sequence[str], new: Mapping[str, Any]) -> str:
        """The source of a row with new values."""
        raise NotImplementedError

    def patch(
        self, batch: Batch, changes: Changes, dropped: AbstractSet[int], encoding: str
    ) -> bytes:
        """The rows of a batch with some changed and some left out."""
        sources: list[str] = batch.source
        if changes or dropped:
            names = list(batch.columns)
            sources = list(sources)
            for row, new in changes.items():
                try:
                    sources[row] = self.replaced(sources[row], names, new)
                except DataError as error:
                    raise DataError(
                        f"row {batch.row_number(row)}: {error.message}", help=error.help
                    ) from error
            sources = [text for row, text in enumerate(sources) if row not in dropped]
        return encoded("".join(sources), encoding)

    def assemble(self, parts: Iterable[bytes], output: BinaryIO, frame: Frame) -> None:
        """Prologue, parts and epilogue, one after another."""
        prologue = frame.around()[0] if frame.around else self.header(frame.names)
        output.write(encoded(prologue, frame.encoding))
        for part in parts:
            output.write(part)
        if frame.around:
            output.write(encoded(frame.around()[1], frame.encoding))


class LineReader:
    """A reader over lines; subclasses say what a list of lines means."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.source = TextSource(path, encoding=options.encoding, errors=options.errors)
        self.name = self.source.name
        self.encoding = self.source.encoding
        self.options = options
        self.prologue = ""
        self.epilogue = ""

    def chunks(self) -> Iterator[list[str]]:
        """The lines within the bounds of a batch, the byte order mark moved to the prologue."""
        first = True
        number = 0
        limit = self.options.limit
        for lines in self.source.lines():
            if first and lines[0].startswith(_MARK):
                self.prologue = _MARK
                lines[0] = lines[0][1:]
            first = False
            if lines == [""]:
                continue
            mean = max(1, sum(map(len, lines)) // len(lines))
            at = 0
            while at < len(lines):
                most, characters = self.options.bounds(number)
                if characters < self.options.characters:  # more than a mebibyte are no lines
                    most = max(1, min(most, characters // mean))
                if limit is None:  # a small rest would cost nearly what a whole batch costs
                    rest = len(lines) - at
                    most = -(-rest // -(-rest // most))
                else:  # what stands beyond the limit may be anything
                    most = min(most, limit + 1)
                yield lines[at : at + most]
                at += most
                number += 1


# ---------------------------------------------------------------- plain text


class PlainText(TextFormat):
    """A row a line, one column named ``text``; line ends are no part of the text.

    New rows are written as their text and a line feed: of records, the rewritten text alone.
    """

    name = "txt"

    def read(self, path: str, options: ReadOptions) -> _PlainReader:
        """Open a file of lines."""
        return _PlainReader(path, options)

    def encode(self, columns: Mapping[str, Sequence[Any]], encoding: str) -> bytes:
        """The column ``rewritten`` or else the only column, a line each."""
        if "rewritten" not in columns and len(columns) != 1:
            raise DataError(
                f"plain text holds one column, not {len(columns)} ({', '.join(columns)})",
                help="choose csv, tsv or jsonl, by the file's name or with --output-format",
            )
        texts = columns["rewritten"] if "rewritten" in columns else next(iter(columns.values()))
        for text in texts:
            if "\n" in (text or ""):
                raise DataError(f"a text of several lines is no line: {text!r}", help="use jsonl")
        return encoded("".join(f"{'' if text is None else text}\n" for text in texts), encoding)

    def replaced(self, source: str, names: Sequence[str], new: Mapping[str, Any]) -> str:
        """The new text with the line end of the old."""
        return str(new["text"]) + source[len(line_body(source)) :]


class _PlainReader(LineReader):
    def batches(self) -> Iterator[Batch]:
        """One row a line, blank lines included."""
        first = 0
        limit = self.options.limit
        for lines in self.chunks():
            if not first and len(lines) == 1 and "\r" in lines[0] and lines[0][-1] != "\n":
                # Without a single line feed this is hardly one row with a return in it.
                raise lone_return(f"{self.name}, line 1")
            if limit is not None:
                del lines[limit - first :]
            if lines:
                yield Batch(first, len(lines), {"text": [line_body(line) for line in lines]}, lines)
                first += len(lines)
            if first == limit:
                break
        if not first:
            yield Batch(0, 0, {"text": []}, [])


def plain_value(value: Any) -> Any:
    """What stands in JSON for a value that it has no form for."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if hasattr(value, "tolist"):  # an array or a number of NumPy
        return value.tolist()
    raise DataError(
        f"a value of type {type(value).__name__} cannot be written as JSON",
        help="leave that column out, or write parquet",
    )


#: A value as JSON; dates and decimals as text, arrays as lists. Raises DataError where there is no
#: such form.
json_text: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=False, default=plain_value).encode
