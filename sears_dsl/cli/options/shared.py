"""Options that several kinds of commands have, each declared once, and what they mean.

Always holds: the user may name any tagger, but a file only one that is installed; options about
workers that do not go together are refused before anything starts; a command writes over no file
that it reads; nothing leaves this machine unless an address is named.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from inspect import signature
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from sears_dsl.cli.screen.console import tell_of_paraphrases, warn_of_tagger
from sears_dsl.defaults import DEFAULT_TAGGER
from sears_dsl.errors import UsageError
from sears_dsl.runtime.files import are_same

if TYPE_CHECKING:
    from sears_dsl.clusters.parts import Workers
    from sears_dsl.data.batches import ReadOptions
    from sears_dsl.language.ruleset import Ruleset

_Chosen = TypeVar("_Chosen")

TYPED = f"{__name__}.typed"
"""The key under which a context keeps the words after the command."""

SETTINGS_OF_EACH = f"{__name__}.settings_of_each"
"""Likewise how the project file has each of several models asked, by specification."""


class FilePath(click.Path):
    """A path on the command line; an empty one is refused, since it would be the current folder."""

    name = "path"

    def __init__(self, *, file_okay: bool = True, dir_okay: bool = True) -> None:
        super().__init__(file_okay=file_okay, dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        if value == "":
            raise UsageError(
                "the file name is empty", help="name a file; perhaps a shell variable is not set"
            )
        return super().convert(value, param, ctx)


class Number(click.types.FloatParamType):
    """Any number but ``nan``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        number = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value} is not a number", param, ctx)
        return number


class NumberRange(Number, click.FloatRange):
    """A number in a range; ``nan`` is outside of every range."""


def quietly(_context: click.Context, _option: click.Parameter, quiet: bool) -> bool:
    """The callback of ``--quiet``, which also silences the note about compiling."""
    from sears_dsl.runtime.kernels import when_compiling

    if quiet:
        when_compiling(None)
    return quiet


def read_share(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> float | None:
    """Read a share between 0 and 1, or in per cent."""
    if value is None:
        return None
    from sears_dsl.auditing.gates import read_rate

    rate = read_rate(value)
    if not 0 <= rate <= 1:
        bare = 1 < rate <= 100 and "%" not in value
        advice = f"{value}% or {rate / 100:g}" if bare else "0.05 or 5%"
        raise click.BadParameter(f"{value} is not a rate: write {advice}", context, parameter)
    return rate


def column_option(text: str, *, several: bool = True) -> Callable[[Any], Any]:
    """The option ``--column``, whose one value may name ``several`` columns."""

    def only(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> str | None:
        """Return the value, and refuse more, of which click would take only the last."""
        if len(value) > 1:
            advice = f"write them as one: --column {','.join(value)}" if several else "name one"
            raise click.BadParameter(f"{' and '.join(value)} were named: {advice}")
        return value[0] if value else None

    return click.option("--column", multiple=True, metavar="COLUMN", callback=only, help=text)


imports_option = click.option(
    "--allow-imports-outside", is_flag=True,
    help="Let rule files import files from outside their folder.",
)  # fmt: skip
"""For every command that reads rule files."""
TAGGERS = "fast (in the rules' language), fast:pt, spacy, spacy:MODEL, or your own MODULE:FACTORY."
tagger_option = click.option("--tagger", default=DEFAULT_TAGGER, help=TAGGERS)
COLUMN_BY_DEFAULT = "by default text, sentence, question or review, else the only text column"
tagger_of_rules_option = click.option(
    "--tagger", help="The tagger; by default the one that the rules were validated with, if known."
)
scope_option = click.option(
    "--scope", type=click.Choice(["first", "all"]), default="first",
    help="Rewrite the first instance of a rule in each unit, or all of them.",
)  # fmt: skip
unit_option = click.option(
    "--unit", type=click.Choice(["text", "sentence"]),
    help="What a rule sees at once; by default what its file says (`option unit`), else the text.",
)  # fmt: skip
oracle_option = click.option(
    "--oracle", metavar="MODULE:FUNCTION|JOURNAL",
    help="What rejects rewrites and sentences of templates: a function that takes a list of them, "
    "or a journal of `sears vet`, with what people rejected.",
)  # fmt: skip
id_option = click.option("--id-column", help="The column of row ids; by default `id`, if any.")
no_cache_option = click.option("--no-cache", is_flag=True,
                               help="Do not use the cache of tagged texts.")  # fmt: skip
quiet_option = click.option("--quiet", is_flag=True, callback=quietly,
                            help="Print no progress and no summary.")  # fmt: skip
output_format_option = click.option(
    "--output-format", help="The output format, if the file name does not show it."
)


def json_option(text: str) -> Callable[[Any], Any]:
    """The option ``--json``, with what it prints."""
    return click.option("--json", "as_json", is_flag=True, help=text)


def refuse_both_on_stdout(output: str, *, as_json: bool, rows: str) -> None:
    """Raise an error if rows and JSON would be mixed on standard output."""
    if output == "-" and as_json:
        raise click.UsageError(
            f"--json and the {rows} are both for standard output: name a file with --output"
        )


def refuse_overwriting(
    written: Iterable[str | Path],
    *,
    sources: Iterable[str | None] = (),
    rulesets: Sequence[Ruleset] = (),
) -> None:
    """Refuse to write what a command reads: files, modules of ``module:function``, rule files.

    Names of shipped rulesets and standard streams are no files; imports count as rule files do.
    """
    from sears_dsl.language.loader import source_files

    read: list[str | Path] = [*map(_file_of, filter(None, sources)), *source_files(rulesets)]
    for path in written:
        if any(are_same(path, each) for each in read):
            raise click.UsageError(f"{path} is an input of this command: write to another file")


def _file_of(source: str) -> str:
    """The file of a module that is named as in ``module:function``; other names stay."""
    if ":" not in source:  # without a look at models
        return source
    from sears_dsl.models.objects import is_object_name

    return f"{source.partition(':')[0].replace('.', '/')}.py" if is_object_name(source) else source


def typed(*names: str) -> Iterator[str]:
    """Those options of the parameters ``names`` that stand on the command line."""
    context = click.get_current_context()
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name in names and source is ParameterSource.COMMANDLINE:
            off = context.params.get(option.name or "") is False
            yield "/".join(option.secondary_opts if off else option.opts)


def with_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decorator that gives a command these options, in this order in its help."""
    return lambda command: reduce(lambda rest, option: option(rest), reversed(options), command)


reading_options = with_options(
    click.option("--no-header", is_flag=True,
                 help="csv, tsv: the first line is a row; the columns are called 1, 2, …"),
    click.option("--encoding", default="utf-8",
                 help="The encoding of the rows, if their file is text."),
)  # fmt: skip
"""For every command that reads rows; `chosen_reading` says what they mean."""


def chosen_as(
    kind: Callable[..., _Chosen], options: Mapping[str, Any], /, **others: Any
) -> _Chosen:
    """Call ``kind`` with ``others``, and with all options that are named like its parameters."""
    names = signature(kind).parameters.keys() & options.keys() - others.keys()
    return kind(**{name: options[name] for name in names}, **others)


def chosen_reading(options: Mapping[str, Any], **others: Any) -> ReadOptions:
    """Return how to read rows, by a command's options; ``others`` are fields of `ReadOptions`."""
    from sears_dsl.data.batches import ReadOptions

    header = not options["no_header"]
    return ReadOptions(encoding=options["encoding"], header=header, **others)


engine_options = with_options(
    click.option("--engine", type=click.Choice(["local", "ray"]), default="local",
                 help="What works through a folder: this process, or Ray workers."),
    click.option("--address", metavar="HOST:PORT|auto",
                 help="With --engine ray: the cluster; by default, this machine alone."),
    click.option("--workers", type=click.IntRange(min=1), metavar="N",
                 help="With --engine ray: workers of one core each; by default, one per core."),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """The options about who works on a folder."""

    engine: str
    address: str | None
    workers: int | None


@contextmanager
def chosen_workers(
    chosen: EngineOptions,
    data: str,
    *,
    output: str | None = None,
    limit: int | None = None,
    jobs: int | None = None,
) -> Iterator[Workers | None]:
    """Yield the workers for a folder; None for a file.

    Refuses what does not go together with a folder, or with several machines: an output that is a
    stream, a limit of rows (the files are not one dataset), jobs of one machine. If an interrupt
    ends the block, it says how to go on.
    """
    from sears_dsl.clusters.parts import workers_of
    from sears_dsl.runtime.files import names_folder

    folder, engine = names_folder(data), chosen.engine
    for name, value in (("address", chosen.address), ("workers", chosen.workers)):
        if value is not None and engine != "ray":
            raise click.UsageError(f"--{name} needs --engine ray")
    if engine == "ray" and not folder:
        raise click.UsageError(
            f"--engine ray takes a folder of files, and {data} is not a folder: name a folder of "
            "parquet or JSON lines files, or use --jobs instead"
        )
    if engine == "ray" and (jobs or 1) > 1:
        raise click.UsageError("--jobs is for one machine: with --engine ray, use --workers")
    if folder and limit is not None:
        raise click.UsageError("--limit is for a single file: leave it out for a folder")
    if folder and output == "-":
        raise click.UsageError("the output of a folder is a folder: name one with --output")
    try:
        if folder:
            with workers_of(engine, address=chosen.address, count=chosen.workers) as workers:
                yield workers
        else:
            yield None
    except KeyboardInterrupt:
        if output is not None:
            _say_what_is_kept(output)
        raise


def _say_what_is_kept(output: str) -> None:
    """Say how to go on, if parts of a file or of a folder are done."""
    from sears_dsl.batch.partial import kept_parts
    from sears_dsl.clusters.parts import RECORDS
    from sears_dsl.runtime.files import is_folder

    folder = kept_parts(output)
    if folder is not None or "://" in output or is_folder(Path(output, RECORDS)):
        where = output if folder is None else folder.name
        with suppress(OSError):  # the terminal may be closed
            click.echo(f"the finished parts are in {where}; --resume continues the run", err=True)


def chosen_tagger(rulesets: Sequence[Ruleset], named: str | None, *, quiet: bool) -> str:
    """The tagger that was named, or one that the rules were validated with, or the default one.

    The name ``fast`` stands for the fast tagger of the rules' language.
    """
    from sears_dsl.batch.provenance import tagger_for, tagger_in_language

    chosen = tagger_for(rulesets) if named is None else tagger_in_language(named, rulesets)
    warn_of_tagger(rulesets, chosen, quiet=quiet)
    tell_of_paraphrases(rulesets, quiet=quiet)
    return chosen


def with_other_rules(names: Sequence[str], others: Sequence[str]) -> str:
    """Return the advice to type the command again, with other rules in the place of these."""
    ctx = click.get_current_context()
    words = list(ctx.meta.get(TYPED, ()))
    command = others  # only the names, if the rules stand in the project file
    if set(names) <= set(words):
        place = min(words.index(name) for name in names)
        for name in names:
            words.remove(name)
        command = ["sears", ctx.info_name or "", *words[:place], *others, *words[place:]]
    return f"all the others run with: {shlex.join(command)}"
