"""Converts the arguments of the API's functions into what the packages below work with.

In: models, datasets, rules and taggers of any known kind. Out: a `CachedPredictor`, `LabelledRows`,
`Ruleset`s, a `Tagger`. Always holds: arguments are not changed; one of an unknown kind is an error
that says what to give; errors name arguments, not command-line options. Costs the loading of a
model that is given by name, and reading the rows.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsFloat, TypeAlias, cast

from sears_dsl.errors import (
    DataError,
    ModelError,
    SearsError,
    TaggerError,
    UsageError,
    check_whole_number,
)
from sears_dsl.runtime.files import is_there

if TYPE_CHECKING:
    from sears_dsl.answers import Comparison
    from sears_dsl.data.labelled import LabelledRows
    from sears_dsl.data.protection import Protection
    from sears_dsl.effects.asked_model import OnStage
    from sears_dsl.engine.matcher import Matcher
    from sears_dsl.engine.matches import Unit
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.models.cached import CachedPredictor
    from sears_dsl.tagging.tagger import Tagger

AnyRules: TypeAlias = "Ruleset | str | Path | Sequence[Ruleset | str | Path]"
"""A ruleset; a rule file, a folder or the name of a shipped ruleset; or several of these."""

AnyOracle: TypeAlias = Callable[[Sequence[Mapping[str, str]]], Sequence[bool]] | str | Path
"""A function of rewrites or sentences, ``module:function``, or the journal of a reviewer."""

OnProgress: TypeAlias = Callable[[str, int, int | None], object]
"""Called with a stage, the number done, and the total, which is None if it is unknown."""

# Arguments that None leaves open, and those that name a single column.
_OPEN = frozenset(
    ("batch_size", "beam", "holdout", "jobs", "limit", "max_questions", "min_fall", "minimum_flips",
     "port", "sample", "tau", "workers")
)  # fmt: skip
_SINGLE = ("choices", "id_column", "image", "label", "original", "rewrite", "text")
# Options that take no value.
_FLAGS = ("all", "paper", "require-support", "same-rows", "with-originals")
# Options whose arguments have another name.
_ARGUMENTS = {"column": "text", "compare": "comparison", "paraphrases": "paraphraser",
              "pivot": "pivots", "span": "spans", "slice": "slices", "gate": "gates"}  # fmt: skip
_PACKAGE = __name__.partition(".")[0] + "."
_NUMBER = re.compile(r"-?[\d.]+|nan|-?inf")
# A command is one to type in a shell: leave it as it is.
_COMMAND = re.compile(r"`(?:sears|ray) [^`]*`|\bpip install(?: (?:--[\w-]+|'[^']*'|\S+==[\w.]+))*")
_KEEP = re.compile(r"--keep (\w[^\s:]*)((?: --keep \w\S*)*)")
# An option, with its value where that cannot be a word of the sentence.
_OPTION = re.compile(
    r"--([a-z][a-z-]*)\b(?: (-?[\d.]*\d%?|nan|-?inf|[A-Z]{2,}|[a-z]\w*:\w+=\d+%"
    r"|[a-z][\w.]*:\w+(?:[.:,]\w+)*|/\S*\w|'[^']*'|none|judge|meaning|pivot|set|text|sentence|each"
    r"|chain|skip|replace|shared|apart|keep|(?:csv|tsv|jsonl)(?:-\w+)?)(?![\w=]))?"
)


@contextmanager
def in_python(**arguments: str) -> Iterator[None]:
    """Make errors of a block name arguments, not options; ``arguments`` overrides some names.

    Example:
        >>> with in_python():
        ...     raise UsageError("which column holds the text?", help="name it with --column")
        Traceback (most recent call last):
        sears_dsl.errors.UsageError: which column holds the text?
          = help: name it with text=
        >>> with in_python():
        ...     raise UsageError("there is no judge for French", help="choose --scorer pivot")
        Traceback (most recent call last):
        sears_dsl.errors.UsageError: there is no judge for French
          = help: choose scorer='pivot'
    """
    names = {**_ARGUMENTS, **arguments}
    try:
        yield
    except (DataError, ModelError, TaggerError, UsageError) as error:
        if type(error).__init__ is not SearsError.__init__:
            raise
        texts = _translated(error.message, names), _translated(error.help, names)
        if texts == (error.message, error.help):
            raise
        in_python_words = type(error)(texts[0], help=texts[1])
        # Keep whatever else the error holds.
        vars(in_python_words).update(vars(error) | vars(in_python_words))
        raise in_python_words from error.__cause__


def _translated(text: str, names: Mapping[str, str]) -> str:
    """Return a message with its command-line options written as Python arguments."""
    commands = _COMMAND.findall(text)
    parts = _COMMAND.split(text)
    for place, part in enumerate(parts):
        lists = _KEEP.sub(lambda match: f"keep={[match[1], *match[2].split()[1::2]]!r}", part)
        parts[place] = _OPTION.sub(
            lambda match: (
                f"{names.get(match[1], match[1].replace('-', '_'))}="
                f"{True if match[1] in _FLAGS else _given(match[2])}"
            ),
            lists,
        )
    return "".join(part + command for part, command in zip(parts, [*commands, ""], strict=True))


def _given(value: str | None) -> str:
    """Return the value that follows an option in a message, as Python writes it."""
    if value is None or value.isupper() or value[0] == "'" or _NUMBER.fullmatch(value):
        return value or ""
    return "None" if value == "none" else repr(value)


def remark(sentence: str) -> None:
    """Emit a `UserWarning` that points at the user's line."""
    level, frame = 1, sys._getframe()
    # The first frame that is not ours, nor that of a `with` of ours, is the user's.
    ours = (_PACKAGE, "contextlib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(ours):
        level, frame = level + 1, frame.f_back
    warnings.warn(_translated(sentence.removeprefix("note: "), _ARGUMENTS), stacklevel=level)


def names_of_columns(**arguments: object) -> None:
    """Refuse values that are not column names; the error names the argument."""
    for argument, value in arguments.items():
        several = isinstance(value, list | tuple) and argument not in _SINGLE
        names: Any = value if several else (value,)
        for name in names:
            if name is not None and not isinstance(name, str):
                # A data frame without column names numbers its columns.
                right = repr(str(name)) if type(name) is int else "'name'"
                if argument == "text" and isinstance(name, list | tuple):
                    right = repr(",".join(map(str, name)))
                raise UsageError(
                    f"{argument}={value!r:.60} does not name a column",
                    help=f"pass the name of a column, a string: {argument}="
                    + (f"[{right}]" if several else right),
                )


def names_of(names: Any) -> tuple[str, ...]:
    """Return a tuple of names, which may be given as one name, as several or as None."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        return () if names is None else (names,)
    return tuple(names)


def whole_numbers(least: int | None, **arguments: object) -> None:
    """Refuse all but whole numbers from ``least`` up, and None that leaves something open."""
    for argument, value in arguments.items():
        if value is not None or argument not in _OPEN:
            check_whole_number(value, name=argument, least=least)


def shares(**arguments: object) -> None:
    """Refuse all but numbers from 0 to 1, and None that leaves something open."""
    for argument, value in arguments.items():
        if value is None and argument in _OPEN:
            continue
        if not isinstance(value, SupportsFloat) or not 0 <= float(value) <= 1:
            raise UsageError(
                f"{argument}={value!r:.60} is not valid", help="pass a number from 0 to 1"
            )


def one_of(choices: Sequence[str], **arguments: object) -> None:
    """Refuse all but the choices; the error names the argument."""
    for argument, value in arguments.items():
        if value not in choices:
            raise UsageError(
                f"{argument}={value!r:.60} is not valid", help=f"choose {' or '.join(choices)}"
            )


def read_once(data: object) -> object:
    """Return a generator as a list, since rows are read more than once; else the data as it is."""
    return list(data) if isinstance(data, Iterator) else data


def labelled_rows(
    data: object,
    *,
    text: str | None,
    label: str | None,
    also: Sequence[str] = (),
    protect: Sequence[str] = (),
    spans: Sequence[str] = (),
    comparison: Comparison = "exact",
    image: str | None = None,
    choices: str | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> LabelledRows:
    """Read the rows that a model is asked about, with their labels; options as in `discover`."""
    from sears_dsl.answers import check_comparison
    from sears_dsl.data.batches import ReadOptions
    from sears_dsl.data.labelled import read_labelled

    also = names_of(also)
    names_of_columns(text=text, label=label, also=also, image=image, choices=choices)
    whole_numbers(1, limit=limit, sample=sample)
    rows = read_labelled(
        data, column=text, label=label_column(data, label), also=also,
        protection=protection_of(protect, spans), comparison=check_comparison(comparison),
        image=image, choices=choices, options=ReadOptions(limit=limit),
    )  # fmt: skip
    for sentence in (*rows.notes, *(() if rows.guards is None else rows.guards.notes)):
        remark(f"{rows.path}: {sentence}")
    return rows if sample is None else rows.sampled(sample, seed=seed)


def protection_of(protect: Sequence[str], spans: Sequence[str]) -> Protection:
    """Return what rules must leave intact in the texts; arguments as in `apply`."""
    from sears_dsl.data.protection import Protection

    columns, pointing = names_of(protect), names_of(spans)
    names_of_columns(protect=columns, spans=pointing)
    return Protection.parse(columns, pointing)


def label_column(data: object, label: str | None) -> str | None:
    """Return the column of labels: the named one, or ``label`` for pairs (text, label)."""
    if label is not None or not isinstance(data, list | tuple) or not data:
        return label
    from sears_dsl.data.sources import is_pair

    return "label" if is_pair(data[0]) else None


def predictor_of(
    model: object, *, batch_size: int | None = None, comparison: Comparison = "exact"
) -> CachedPredictor:
    """Return a model, given or named, that caches its answers; several vote, by comparison."""
    from sears_dsl.models.loading import load_predictor

    whole_numbers(1, batch_size=batch_size)
    return load_predictor(model, batch_size=batch_size, comparison=comparison, announce=remark)


def rulesets_of(rules: object) -> list[Ruleset]:
    """Return rulesets, loading those that are given by name."""
    from sears_dsl.catalogue import load_rulesets
    from sears_dsl.language.rule import Rule
    from sears_dsl.language.ruleset import Ruleset

    if isinstance(rules, Ruleset):
        return [rules]
    if isinstance(rules, str | Path):
        if "->" in str(rules) and not is_there(rules):
            raise UsageError(
                f"{str(rules)!r:.60} is a rule, but a string names a file of rules",
                help="make it a ruleset: sears.parse('movie -> film')",
            )
        return load_rulesets([str(rules)])
    if isinstance(rules, Sequence) and not isinstance(rules, bytes):
        if any(isinstance(each, list | tuple) for each in rules):
            raise UsageError(
                "rules are given as a list of lists, as rows are",
                help="rules come after the model and the data: sears.audit(model, data, rules)",
            )
        together: list[Ruleset] = []
        for ruleset in chain.from_iterable(map(rulesets_of, rules)):
            # A file that several names or rulesets stand for counts once, as in commands.
            same = (each for each in together if each == ruleset)
            if not any(each.file.resolve() == ruleset.file.resolve() for each in same):
                together.append(ruleset)
        return together
    if isinstance(rules, Rule):
        raise UsageError(
            "a single Rule does not say which options it is read with",
            help="make it a ruleset: sears.Ruleset.from_rules([rule])",
        )
    whole = getattr(rules, "ruleset", None)
    if isinstance(whole, Ruleset):
        return [whole]
    raise UsageError(
        f"rules are a Ruleset, a name of rules or a list of these, not {type(rules).__name__}",
        help="pass a ruleset, as sears.parse('movie -> film') or sears.load('a.sear') returns it",
    )


def rulesets_together(rules: object, *, unit: Unit | None, vectors: bool = False) -> list[Ruleset]:
    """Return rulesets that can run together; an error names every obstacle, and what still runs.

    Raises:
        RuleSyntaxError: they want different units, or look up what is not installed.
    """
    from sears_dsl.catalogue import require_together

    rulesets = rulesets_of(rules)
    if not rulesets:
        raise UsageError("the list of rules is empty", help="name a ruleset, or a file of rules")
    several = rules if isinstance(rules, list | tuple) else [rules]
    names = [str(name) for name in several if isinstance(name, str | Path)]
    require_together(
        rulesets, names, unit=unit, vectors=vectors,
        advice=lambda _, others: f"these run together: {others}",
    )  # fmt: skip
    return rulesets


def tagger_of(tagger: object, rulesets: Sequence[Ruleset] | None = None) -> Tagger:
    """Return the given or named tagger; for None, one that the rules were validated with."""
    from sears_dsl.batch.provenance import tagger_findings, tagger_for
    from sears_dsl.tagging.tagger import as_tagger

    chosen = as_tagger(tagger_for(rulesets or ()) if tagger is None else tagger)
    for finding in tagger_findings(rulesets or (), lambda: chosen):
        remark(finding.render())
    return chosen


def matcher_of(
    rulesets: Sequence[Ruleset], *, tagger: Tagger | str | None, seed: int = 0
) -> Matcher:
    """Compile rules for the tagger that `tagger_of` returns."""
    from sears_dsl.paraphrasing.for_rules import compile_with_sources

    chosen = tagger_of(tagger, rulesets)
    return compile_with_sources(rulesets, tagger=chosen, seed=seed)


def progress_reporter(on_progress: OnProgress | None) -> OnStage:
    """Return a function that reports progress, if anybody listens."""
    if on_progress is None:
        return lambda stage, done, total: None
    if not callable(on_progress):
        raise UsageError(
            f"on_progress={on_progress!r:.60} is not a function",
            help="pass a function of a stage, a number and a total, such as on_progress=print",
        )
    return cast("OnStage", on_progress)
