"""The parts of a folder: which are left to do, and what is recorded of those that are done.

In: a folder, work that turns one file into another, and workers. Out: a folder with as many files,
and a record of each. Always holds: a part that has a record is whole; a part that cannot be done is
reported by its name, and the others are done; a run is resumed only as the same job; the caller
gets the records in the order of the parts, whichever was done first. Costs a record a part, and the
memory of records that wait for an earlier one.

    OUTPUT/
        reviews-0.parquet             as one machine makes it
        _sears/job.json               what the job is: rules, options, versions
        _sears/reviews-0.parquet.json   written last: the part it was made of, and its counts
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Protocol, TypeAlias, TypeVar

from sears_dsl.batch.partial import check_same_run
from sears_dsl.data.columnar import Columnar, open_columnar, require_pyarrow
from sears_dsl.data.dataset import format_of
from sears_dsl.data.streams import compression_of
from sears_dsl.errors import DataError, SearsError, UsageError
from sears_dsl.runtime.files import parse_json
from sears_dsl.runtime.folders import Folder, FolderFile

#: The folder of the records; readers of datasets skip names that begin with an underscore.
RECORDS = "_sears"
_JOB = f"{RECORDS}/job.json"
# After how many failed parts the others are not tried, and how many of them the error names.
_MOST_FAILED = 20
_TOLD = 5
_DIED = "every worker that began it died, perhaps for lack of memory"

PartResult: TypeAlias = Mapping[str, Any] | DataError
"""What the work returned for a part, or what is wrong with the part, with its name."""

Piece = TypeVar("Piece")
Result = TypeVar("Result")


class Workers(Protocol):
    """Those who do pieces of work: a cluster, or this process alone, which is `map`."""

    def __call__(
        self, work: Callable[[Piece], Result], pieces: Sequence[Piece], /
    ) -> Iterator[Result]:
        """What the work gives for each piece, in any order.

        Each worker has its own copy of the work, which makes itself ready when it is first asked.
        """


@contextmanager
def workers_of(engine: str, *, address: str | None, count: int | None) -> Iterator[Workers]:
    """The workers of an engine, for the time of a block; UsageError: there is no such engine."""
    if engine == "ray":
        from sears_dsl.clusters.ray_workers import RayWorkers  # noqa: PLC0415 - as asked for

        with RayWorkers(address=address, count=count) as workers:
            yield workers
    elif engine == "local":
        if address is not None or count is not None:
            raise UsageError("address and workers need a cluster", help="add engine='ray'")
        yield map
    else:
        raise UsageError(f"there is no engine {engine!r}", help="write local or ray")


class PartWork(Protocol):
    """Turns one file into another; goes to workers, so it must be picklable."""

    def identity(self) -> Mapping[str, Any]:
        """What decides the result, to compare two runs."""

    def do(self, source: str, output: str) -> Mapping[str, Any]:
        """Write the output of a part; return what was done, in values that JSON knows."""

    def columns(self, names: Sequence[str]) -> Iterable[str]:
        """Which of the columns of a part have to be of the same type in all parts."""


def apply_to_parts(
    work: PartWork,
    source: Folder,
    output: Folder,
    *,
    workers: Workers,
    format_name: str | None = None,
    output_format: str | None = None,
    resume: bool = False,
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Do all parts of a folder into a new one; yield how many are done, and the record of each.

    If some cannot be done, others still are, and at the end there is a `DataError`.
    """
    if source.holds(output):
        what = "is the input itself" if output.holds(source) else f"lies in the input {source}"
        raise UsageError(
            f"{output} {what}, so its files would be read as well",
            help="name a folder beside the input",
        )
    parts = _parts_of(source, format_name)
    named = {_output_name(part.name, output_format): part for part in parts}
    if len(named) < len(parts):
        raise UsageError(
            f"{source}: two files would be written under one name",
            help="leave out --output-format, or rename one of them",
        )
    schema = _schema_of(source, parts[0], format_name)
    job = {"parts": str(source), **work.identity()}
    finished = _begin(output, json.loads(json.dumps(job)), resume=resume)
    gone = [name for name in finished - named.keys() if _record_name(name) in finished]
    if gone:
        raise UsageError(
            f"{output.name_of(min(gone))} was made of a file that {source} no longer has",
            help="name a new folder, or bring the file back",
        )
    known = {
        name: record
        for name, part in named.items()
        if name in finished and (record := _record_of(output, name, part)) is not None
    }
    one_part = PartTask(work, source, output, format_name, parts[0].name, schema)
    left = [(name, part) for name, part in named.items() if name not in known]
    failed: list[DataError] = []
    outcomes = _in_order(named, known, workers(one_part, left))
    for number, outcome in enumerate(outcomes, start=1):
        if isinstance(outcome, DataError):
            failed.append(outcome)
            if len(failed) == _MOST_FAILED:
                break
        else:
            yield number, outcome
    _require_all(failed, output, tried=number, parts=len(parts))


def _in_order(
    named: Mapping[str, FolderFile],
    known: Mapping[str, Mapping[str, Any]],
    new: Iterator[tuple[str, PartResult]],
) -> Iterator[PartResult]:
    """What came of each part, in the order of the parts."""
    waiting: dict[str, PartResult] = dict(known)
    for name, part in named.items():
        while name not in waiting and (outcome := next(new, None)) is not None:
            waiting.update([outcome])
        yield waiting.pop(name, DataError(f"{part.name}: {_DIED}"))


def _require_all(failed: Sequence[DataError], output: Folder, *, tried: int, parts: int) -> None:
    if not failed:
        return
    reasons = "".join(f"\n  {each.message}" for each in failed[:_TOLD])
    more = f"\n  and {len(failed) - _TOLD} more" if len(failed) > _TOLD else ""
    early = ", and the rest were not tried" if tried < parts else ""
    helps = list(dict.fromkeys(each.help for each in failed if each.help))[:1]
    raise DataError(
        f"{len(failed)} of {parts} files failed{early}:{reasons}{more}",
        help="; ".join([*helps, f"fix them, then --resume; finished files are kept in {output}"]),
    )


def _parts_of(source: Folder, format_name: str | None) -> list[FolderFile]:
    """The files of a folder, all of one format."""
    parts = source.parts()
    first = format_of(source.name_of(parts[0].name), format_name).name
    for part in parts:
        other = format_of(source.name_of(part.name), format_name).name
        if other != first:
            raise UsageError(
                f"{source.name_of(part.name)} is {other}, but {parts[0].name} is {first}",
                help="all files of a folder have one format; move the others to another folder",
            )
    return parts


def _output_name(name: str, output_format: str | None) -> str:
    if output_format is None:
        return name
    plain = name.removesuffix(compression_of(name))
    return str(PurePosixPath(plain).with_suffix(f".{output_format}"))


def _begin(output: Folder, job: Mapping[str, Any], *, resume: bool) -> set[str]:
    """Check what is in the output, and write there what the job is; return the names in it."""
    names = {file.name for file in output.files()}
    if names and not resume:
        raise UsageError(
            f"{output} exists and is not empty",
            help="name a new folder, or use --resume if this run was interrupted",
        )
    content = output.read(_JOB) if names else None
    if names and content is None:
        raise UsageError(
            f"{output} was not made by such a run, so it cannot be resumed",
            help="name a new folder",
        )
    if content is not None:
        try:
            before: Mapping[str, Any] = dict(parse_json(content))
        except (ValueError, TypeError) as error:
            raise DataError(
                f"{output.name_of(_JOB)} is damaged: {error}", help="name a new folder"
            ) from error
        advice = "name a new folder, or use the settings of that run"
        check_same_run(output, before, job, advice=advice)
    output.write(_JOB, json.dumps(job, indent=1).encode())
    return names


def _record_name(name: str) -> str:
    return f"{RECORDS}/{name}.json"


def _record_of(output: Folder, name: str, part: FolderFile) -> Mapping[str, Any] | None:
    """The record of a part; None if there is none or a damaged one, or if the part has changed."""
    content = output.read(_record_name(name))
    if content is None:
        return None
    try:
        record = parse_json(content)
        same = [record["part"]["size"], record["part"]["modified"]] == [part.size, part.modified]
        work_record: Mapping[str, Any] = record["done"]
    except (ValueError, KeyError, TypeError):
        return None
    return work_record if same else None


def _schema_of(source: Folder, part: FolderFile, format_name: str | None) -> Mapping[str, str]:
    """Column → type, if the format of a file tells types; else empty."""
    form = format_of(source.name_of(part.name), format_name)
    if not isinstance(form, Columnar):
        return {}
    arrow = require_pyarrow()
    with source.open(part.name) as file:
        try:
            schema, _ = open_columnar(file, form.name, rows=1)
        except (arrow.ArrowException, OSError) as error:
            where = source.name_of(part.name)
            raise DataError(f"{where} cannot be read as {form.name}: {error}") from error
    return {column.name: str(column.type) for column in schema}


@dataclass(slots=True)
class PartTask:
    """Does a part of a folder, wherever it runs; the part called `first` tells the schema."""

    work: PartWork
    source: Folder
    output: Folder
    format_name: str | None
    first: str
    schema: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, named: tuple[str, FolderFile]) -> tuple[str, PartResult]:
        """Do one part, and return its name and what came of it."""
        name, part = named
        try:
            self._require_schema(part)
            with self.source.reading(part.name) as path, self.output.making(name) as target:
                work_record = self._do_work(path, target, self.source.name_of(part.name))
            about = {"name": part.name, "size": part.size, "modified": part.modified}
            record = {"part": about, "done": work_record}
            self.output.write(_record_name(name), json.dumps(record).encode())
        except SearsError as error:
            return name, DataError(error.message, help=error.help)
        return name, work_record

    def _do_work(self, path: str, target: str, part: str) -> Mapping[str, Any]:
        try:
            return self.work.do(path, target)
        except SearsError as error:
            message = error.message.replace(path, part)
            where = "" if part in message else f"{part}: "
            raise DataError(f"{where}{message}", help=error.help) from error

    def _require_schema(self, part: FolderFile) -> None:
        """Refuse a part whose columns are not those of the others."""
        own = _schema_of(self.source, part, self.format_name)
        for column in self.work.columns(tuple(self.schema)):
            was, now = self.schema.get(column), own.get(column)
            if was != now:
                raise DataError(
                    f"{self.source.name_of(part.name)} has another schema than {self.first}: "
                    f"column {column} is {now or 'missing'}, not {was}",
                    help="give all files one schema, or name the text column",
                )
        added = [column for column in own if column not in self.schema]
        if added and set(self.work.columns(tuple(own))) & set(added):
            raise DataError(
                f"{self.source.name_of(part.name)} has another schema than {self.first}: "
                f"only it has a column {added[0]}",
                help="give all files one schema",
            )
