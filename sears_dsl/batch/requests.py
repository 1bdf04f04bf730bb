"""What `apply_file` is asked to do, what makes its matcher, and whether it can be done.

In: a request: rulesets with a tagger, paths, options. Out: the plan for its rows, the format and
columns of its output, and a manifest that tells it from other requests. Always holds: what does not
go together is refused before a row is worked on; a recipe can be pickled, and equal identities make
matchers that do the same. Costs nothing until a recipe is built; a look at the first batch, and at
the first mebibyte of the input.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sears_dsl import __version__
from sears_dsl.batch.plan import (
    Mode,
    Plan,
    TextShare,
    Touched,
    require_draws,
    require_no_draw,
)
from sears_dsl.batch.workers import BatchTask, MatcherRecipe
from sears_dsl.data.batches import DRAW, Batch, Format, ReadOptions
from sears_dsl.data.dataset import (
    Dataset,
    default_column,
    format_named,
    format_of,
    require_column,
)
from sears_dsl.data.span_columns import SpanColumn
from sears_dsl.data.squad import SQUAD_SPANS
from sears_dsl.data.streams import STANDARD_STREAM
from sears_dsl.defaults import DEFAULT_TAGGER
from sears_dsl.engine.compile.requirements import noise_identity, sources_for
from sears_dsl.engine.matcher import Matcher
from sears_dsl.engine.matches import Scope, Unit
from sears_dsl.engine.noise.sources import NO_SOURCES, Sources
from sears_dsl.engine.noise.vectors import load_vectors
from sears_dsl.errors import DataError, UsageError
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.loading import load_tagger, needs_cache
from sears_dsl.tagging.tagger import identity_of

#: What stands for every column, where columns to keep are named.
ALL = "all"
_RECORD_COLUMNS = ("id", "rule", "column", "original", "rewritten", "edits")


@dataclass(frozen=True, slots=True)
class RulesetRecipe:
    """Rulesets to compile, with the tagger to compile them for.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> recipe = RulesetRecipe((parse("What NOUN -> Which NOUN"),), tagger="pinned")
        >>> sorted(recipe.identity())
        ['rules', 'tagger']

    Where rules draw, the seed and the table of look-alikes belong to the identity.
    """

    rulesets: tuple[Ruleset, ...]  # applied in this order
    tagger: str = DEFAULT_TAGGER  # a name that `load_tagger` knows
    cached: bool = False  # whether tagged texts are kept on disk, where that saves time
    cache: Path | None = None  # the folder of the cache; None for the user's
    seed: int = 0  # of what rules draw
    # A name or a file, for rules that look neighbours up; None: what they name.
    vectors: str | None = None

    def build(self) -> Matcher:
        """Compile the rules."""
        from sears_dsl.engine.matcher import compile_rules  # noqa: PLC0415 - brings numba

        cache = None
        if self.cached and needs_cache(self.tagger):
            from sears_dsl.tagging.cache import TagCache  # noqa: PLC0415 - brings sqlite

            cache = TagCache(self.cache)
        tagger = load_tagger(self.tagger, cache=cache)
        return compile_rules(self.rulesets, tagger=tagger, sources=self.sources(), seed=self.seed)

    def sources(self) -> Sources:
        """The vectors that are named; rules may name others themselves."""
        if self.vectors is None:
            return NO_SOURCES
        return Sources(vectors=load_vectors(self.vectors))

    def identity(self) -> Mapping[str, str]:
        """A hash of all rules, sets and options, and the tagger with its version.

        Of rules that write noise also what decides it (see `noise_identity`).
        """
        named = {
            "rules": rules_digest(self.rulesets),
            "tagger": identity_of(load_tagger(self.tagger)),
        }
        scoped = [(rule, ruleset) for ruleset in self.rulesets for rule in ruleset.rules]
        sources, _ = sources_for(scoped, self.sources())
        return named | noise_identity(scoped, sources, seed=self.seed)


def rules_digest(rulesets: Sequence[Ruleset]) -> str:
    """A hash of all rules, sets and options, in hex.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> len(rules_digest([parse("movie -> film")]))
        32
    """
    digest = blake2b(digest_size=16)
    for ruleset in _with_imports(rulesets):
        digest.update(ruleset.format().encode() + b"\0")
    return digest.hexdigest()


def _with_imports(rulesets: Sequence[Ruleset]) -> Iterator[Ruleset]:
    """The rulesets and what they import, each before its imports and once."""
    visited: set[int] = set()
    waiting = list(reversed(rulesets))
    while waiting:
        ruleset = waiting.pop()
        if id(ruleset) not in visited:
            visited.add(id(ruleset))
            yield ruleset
            waiting.extend(each.ruleset for each in reversed(ruleset.imports))


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyRequest:
    """Everything that decides what `apply_file` does."""

    recipe: MatcherRecipe  # makes the compiled rules
    input: str  # a file, or ``-`` for standard input
    output: str  # a file, or ``-`` for standard output
    # ``each``: a record for every row and rule that changed it. ``chain``: each row once, all rules
    # applied to it in order.
    mode: Mode = "each"
    # The text columns to rewrite; empty for the one that can be meant.
    columns: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()  # columns whose content must stay intact (see `plan.Plan`)
    # Columns that point into a text, carried along to the rewritten one.
    spans: tuple[SpanColumn, ...] = ()
    on_touched: Touched = "keep"  # what is done where a rule would touch a span (see `plan.Plan`)
    # Other columns that the records of mode each carry; ``all`` stands for all of them.
    keep: tuple[str, ...] = ()
    scope: Scope = "first"  # the ``first`` instance of each rule, or ``all``
    # What a rule sees at once; None: what the rules ask for, else the ``text``
    unit: Unit | None = None
    # The column of ids; without, ``id`` where there is one, else row numbers.
    id_column: str | None = None
    format: str | None = None  # of the input; without, by its name, and plain text for ``-``
    # Of the output; without, by its name; for ``-`` the input's in chain mode, JSON lines in each.
    output_format: str | None = None
    # Encoding, header, limit and the size of batches.
    reading: ReadOptions = field(default_factory=ReadOptions)
    # Processes that work; None: as many as cores, once the run takes so long that they are worth
    # their start.
    jobs: int | None = 1
    resume: bool = False  # go on with an interrupted run of the same request
    # Which texts are rewritten; the others stay as they are.
    share: TextShare = TextShare()  # noqa: RUF009 - a frozen value
    # Mode chain: the rows as they were come first, then all rows once more as the rules leave them,
    # with `ADDED` to their ids.
    with_originals: bool = False
    # Each row comes so many times, with other draws of what rules draw, and with a column ``draw``
    # that numbers them from 0; of one draw there is no such column.
    draws: int = 1


def check_paths(request: ApplyRequest) -> None:
    """Refuse paths and options that do not go together, before anything is read."""
    if request.jobs is not None and request.jobs < 1:
        raise UsageError(f"{request.jobs} jobs cannot work", help="--jobs is 1 or more")
    if request.reading.limit is not None and request.reading.limit < 0:
        raise UsageError(f"a limit of {request.reading.limit} rows", help="--limit is 0 or more")
    require_draws(request.draws, with_originals=request.with_originals)
    reads, writes = request.input, request.output
    if request.resume and (reads == STANDARD_STREAM or is_stream(writes)):
        raise UsageError(
            "a run between standard streams cannot be resumed", help="name files for both"
        )
    if request.keep and request.mode == "chain":
        raise UsageError("mode chain keeps every column", help="leave out --keep, or --mode chain")
    if request.with_originals and request.mode != "chain":
        raise UsageError(
            "mode each writes the original beside each rewritten text",
            help="leave out --with-originals, or --mode chain",
        )
    if request.with_originals and reads == STANDARD_STREAM:
        raise UsageError("the originals are read twice, which a stream is not", help="name a file")
    if STANDARD_STREAM in (reads, writes):
        return
    if os.path.isdir(writes):
        raise DataError(f"{writes} is a folder", help="name a file")
    if os.path.exists(writes) and os.path.exists(reads) and os.path.samefile(reads, writes):
        raise UsageError(
            f"{writes} is the input itself", help="write another file and rename it afterwards"
        )


def is_stream(path: str) -> bool:
    """Standard output, a device or a pipe: whatever cannot be replaced as a whole."""
    if path == STANDARD_STREAM:
        return True
    return os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode)


def plan_of(request: ApplyRequest, dataset: Dataset) -> Plan:
    """What to do with the rows of a dataset, its columns looked up."""
    spans = request.spans
    if dataset.format.name == "squad":
        spans = (*spans, *(spec for spec in SQUAD_SPANS if spec not in spans))
    names = (
        "columns",
        "id_column",
        "keep",
        "scope",
        "unit",
        "protect",
        "on_touched",
        "share",
        "draws",
    )
    options = {name: getattr(request, name) for name in names}
    plan = planned(dataset.names, dataset.first, where=dataset.path, spans=spans, **options)
    if request.draws > 1 and request.mode == "chain":
        require_no_draw(dataset.names)
    return plan


def planned(
    names: Sequence[str],
    first: Batch,
    *,
    where: str,
    columns: tuple[str, ...],
    id_column: str | None,
    keep: Sequence[str],
    **options: Any,
) -> Plan:
    """A plan for rows with columns of these names, each of which is looked up.

    The first batch tells which column holds the text where nobody does.
    """
    nothing = not first.rows and not names
    if not columns:
        columns = ("text",) if nothing else (default_column(first, where=where),)
    id_column = id_column or ("id" if "id" in names else None)
    carried = (
        () if nothing else kept_columns(keep, names, columns, id_column, draws=options["draws"])
    )
    plan = Plan(columns=columns, id_column=id_column, keep=carried, **options)
    if not nothing:
        pointed = (spec.text_column for spec in plan.spans)
        for name in dict.fromkeys([*columns, *plan.needed, *pointed]):
            require_column(names, name, where=where)
    return plan


def kept_columns(
    keep: Sequence[str],
    names: Sequence[str],
    rewritten: Sequence[str],
    id_column: str | None,
    *,
    draws: int = 1,
) -> tuple[str, ...]:
    """The columns that records are to carry.

    ``all`` is every column but the ids and, where it is one, the rewritten column: both are there
    already. A name with commas that is no column stands for several.

    Example:
        >>> kept_columns(["all"], ["id", "text", "label"], ["text"], "id")
        ('label',)
    """
    columns: list[str] = []
    for name in keep:
        if name == ALL and name not in names:
            there = {id_column, *(rewritten if len(rewritten) == 1 else ())}
            columns += [other for other in names if other not in there]
        elif name in names or "," not in name:
            columns.append(name)
        else:
            columns += [part.strip() for part in name.split(",")]
    columns = [name for name in columns if name != id_column or name != "id"]
    reserved = (*_RECORD_COLUMNS, DRAW) if draws > 1 else _RECORD_COLUMNS
    clashing = [name for name in columns if name in reserved]
    if clashing:
        others = " ".join(f"--keep {name}" for name in columns if name not in reserved)
        raise UsageError(
            f"--keep {clashing[0]}: the output has a column of that name already",
            help=f"give the column another name{f', or write {others}' if others else ''}",
        )
    return tuple(dict.fromkeys(columns))


def output_format(request: ApplyRequest, dataset: Dataset) -> Format:
    """The format to write, as it was named or as the paths tell."""
    path, explicit = request.output, request.output_format
    if explicit is None and is_stream(path):
        chained = request.mode == "chain" and not dataset.format.binary
        explicit = dataset.format.name if chained else "jsonl"
    form = format_of(path, explicit, reading=False)
    squad = dataset.format.name == "squad"
    if squad and request.mode == "chain" and explicit is None and form.name == "json":
        form = format_named("squad")
    if form.binary and is_stream(path):
        raise UsageError(
            f"{form.name} cannot be written to a stream", help="name a file with --output"
        )
    if form.name == "squad" and not (squad and request.mode == "chain"):
        raise UsageError(
            "a SQuAD file can be written only from a SQuAD file in chain mode",
            help="write jsonl",
        )
    if form.name == "squad" and request.draws > 1:
        raise UsageError(
            "a SQuAD file has no place for the column 'draw', which tells the draws apart",
            help="write jsonl, a row a question: --output-format jsonl",
        )
    names = (*dataset.names, *((DRAW,) if request.draws > 1 else ()))
    if request.mode == "chain" and form.name == "txt" and len(names) > 1:
        raise UsageError(
            f"plain text holds one column, not {', '.join(names)}",
            help="write csv, tsv or jsonl",
        )
    return form


def output_names(mode: Mode, plan: Plan, dataset: Dataset) -> tuple[str, ...]:
    """The columns of the output."""
    drawn = (DRAW,) if plan.draws > 1 else ()
    if mode == "chain":
        return (*dataset.names, *drawn)
    several = len(plan.rewritten) > 1
    own = ("id", *drawn, *(name for name in _RECORD_COLUMNS if name != "id"))
    return (*(name for name in own if several or name != "column"), *plan.keep)


def manifest_of(request: ApplyRequest, task: BatchTask, dataset: Dataset) -> dict[str, Any]:
    """What has to be the same for a run to be resumed; the number of jobs does not."""
    manifest: dict[str, Any] = {"sears": __version__}
    if request.input == STANDARD_STREAM:
        manifest["input"] = STANDARD_STREAM
    else:
        status = os.stat(request.input)
        with open(request.input, "rb") as file:
            begin = blake2b(file.read(1 << 20), digest_size=16).hexdigest()
        manifest |= {
            "input": os.path.abspath(request.input),
            "input size": status.st_size,
            "input time": status.st_mtime_ns,
            "input beginning": begin,
        }
    manifest |= {name: str(value) for name, value in request.recipe.identity().items()}
    manifest |= {"format": dataset.format.name, "output format": task.output_format}
    manifest |= {"originals": task.with_originals}
    manifest |= {"mode": task.mode, **asdict(task.plan), **asdict(request.reading)}
    return manifest
