"""The options that commands about a model share: which model, which data, what rewords and scores.

In: the values of options, which click gives a command by name. Out: one typed object of them
(`AskingOptions`, `SearchingOptions`), and what it names, opened. Nothing heavy is imported before
the command runs. `scored_options` and `open_run` are for commands that only ask the model;
`model_options` and `open_search` for those that also reword sentences and score pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sears_dsl.cli.options import shared
from sears_dsl.cli.options.unfinished import (
    Resuming,
    UnfinishedRun,
    resuming_options,
    unfinished_run,
)
from sears_dsl.cli.screen.console import printing_to_stderr
from sears_dsl.defaults import BEAM_WIDTH, DEFAULT_SCORER, DEFAULT_TAGGER, SCORER_NAMES
from sears_dsl.errors import DataError
from sears_dsl.runtime.files import is_there

if TYPE_CHECKING:
    from sears_dsl.answers import Comparison
    from sears_dsl.data.labelled import LabelledRows
    from sears_dsl.data.protection import Protection
    from sears_dsl.discovery.parts import Parts, PartsChoice
    from sears_dsl.effects.asked_model import OnStage
    from sears_dsl.judge.readings import Reading
    from sears_dsl.models.cached import CachedPredictor
    from sears_dsl.tagging.tagger import Tagger

_OWN = "|".join((*SCORER_NAMES, "MODULE:OBJECT", "llm:SETTINGS"))

paraphrases_option = click.option(
    "--paraphrases", metavar="FILE|MODULE:OBJECT|llm:SETTINGS",
    help="Where rewordings come from: a file of pairs, a function or object of yours, or a "
    "language model; by default, translation models."
)  # fmt: skip


def scorer_option(
    *names: str, default: str = DEFAULT_SCORER, none: bool = False, text: str
) -> Callable[[Any], Any]:
    """The option ``--scorer``; ``names`` are another option name and that of its parameter."""
    return click.option(
        "--scorer", *names, default=default, metavar=f"[{'none|' if none else ''}{_OWN}]",
        help=text,
    )  # fmt: skip


def _comparison(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Check the name of a comparison of answers."""
    from sears_dsl.answers import check_comparison

    return check_comparison(value)


protection_options = shared.with_options(
    click.option("--protect", multiple=True, metavar="COLUMN",
                 help="A column whose content must stay intact in the rewritten text; repeatable."),
    click.option("--span", "spans", multiple=True, metavar="TEXT=COLUMN",
                 help="A column of spans that move along with a text: TEXT=COLUMN, TEXT=START:END "
                 "or TEXT=START+SPANTEXT. Rewrites that touch a span are left out; repeatable."),
)  # fmt: skip
_ROWS = click.option("--data", required=True, metavar="FILE", help="The labelled rows.")
_ROWS_OR_TEMPLATES = click.option(
    "--data", metavar="FILE",
    help="The labelled rows; by default, the sentences of the templates in RULES.",
)  # fmt: skip
_MODELS = (
    "module:object, sklearn:FILE, hf:FOLDER, http://…, llm:SETTINGS, file:PREDICTIONS, "
    "vote:SPEC,SPEC,SPEC (several that vote)"
)


def _just_one(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> str:
    """Return the one model, and refuse several, of which click would take only the last."""
    if len(value) > 1:
        raise click.BadParameter(
            f"to search several models, give them as one: every:{','.join(value)}"
        )
    return value[0]


_MODEL = click.option(
    "--model", required=True, multiple=True, metavar="SPEC", callback=_just_one,
    help=f"{_MODELS}, or every:SPEC,SPEC (searched together).",
)  # fmt: skip


def _one_or_several(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> str | tuple[str, ...]:
    """Return one model by itself, as other commands have it."""
    return value[0] if len(value) == 1 else value


_MODEL_OR_SEVERAL = click.option(
    "--model", required=True, multiple=True, metavar="SPEC", callback=_one_or_several,
    help=f"{_MODELS}. Repeat it, also as NAME=SPEC, for an audit of each model and a grid of all.",
)  # fmt: skip
# Templates are vetted without rows and without a model.
_OF_RULES = (
    click.option("--data", metavar="FILE", help="The labelled rows; templates need none."),
    click.option("--model", metavar="SPEC", help=f"{_MODELS}. Templates need none."),
)
compare_option = click.option(
    "--compare", "comparison", callback=_comparison, default="exact", metavar="KIND",
    help="How an answer is compared with the label: exact, squad, vqa, set, entities, or "
    "within:AMOUNT for numbers.",
)  # fmt: skip
image_option = click.option(
    "--image", metavar="COLUMN",
    help="A column of picture paths, relative to the folder of the data; the model reads it, and "
    "rules leave it alone."
)  # fmt: skip
choices_option = click.option(
    "--choices", metavar="COLUMN",
    help="A column of possible answers, a list or a text with | between them; the model reads it."
)  # fmt: skip
_DATA = shared.with_options(
    shared.column_option("The column that rules rewrite; a,b for either of two, a+b for both; "
                         f"{shared.COLUMN_BY_DEFAULT}."),
    click.option("--label", help="The column of labels; without it, the model's own answers count "
                 "as right."),
    click.option("--also", multiple=True, metavar="COLUMN",
                 help="Another column that the model reads; repeatable."),
    image_option,
    choices_option,
    protection_options,
    compare_option,
    click.option("--format", "format_name",
                 help="The format of the data, if the file name does not show it."),
    shared.reading_options,
    click.option("--limit", type=click.IntRange(min=1), help="Read at most this many rows."),
)  # fmt: skip
_SCORER = scorer_option(text="What decides whether a rewording keeps the meaning.")
_SCORER_OR_NONE = scorer_option(
    none=True, text="What decides whether a rewrite keeps the meaning; none skips that."
)
pivot_option = click.option(
    "--pivot", "pivots", multiple=True, metavar="LANGUAGE",
    help="A language to translate into and back: pt (the default), fr, …; fr=FORWARD,BACK names "
    "the two models (`sears pivots list`) or their folders; pt-en takes Portuguese texts through "
    "English; repeatable."
)  # fmt: skip
_SCORING = shared.with_options(
    click.option("--tau", type=shared.NumberRange(0, 1),
                 help="The score τ from which two texts count as equivalent; by default, the τ "
                 "calibrated for the scorer."),
    pivot_option,
    click.option("--device", default="cpu", help="cpu or cuda."),
    click.option("--jobs", type=click.IntRange(min=1),
                 help="Processes that translate; by default one per core, at most eight."),
)  # fmt: skip
_SAMPLE = click.option("--sample", type=click.IntRange(min=1), metavar="N",
                       help="Use only N rows, drawn at random; each label keeps its "
                       "share.")  # fmt: skip
_BEAM = click.option("--beam", type=click.IntRange(min=1), default=BEAM_WIDTH,
                     help="The beam width of the search for paraphrases.")  # fmt: skip
_ASKING = shared.with_options(
    click.option("--batch-size", type=click.IntRange(min=1),
                 help="Rows per call of the model; by default 64."),
    click.option("--request-map", help="Endpoints: how rows become JSON."),
    click.option("--response-map", help="Endpoints: where the labels are in an answer."),
    click.option("--timeout", type=shared.Number(),
                 help="Endpoints: seconds to wait for an answer; by default 30."),
    click.option("--retries", type=click.IntRange(min=0),
                 help="Endpoints: tries after a failure; by default 3."),
    click.option("--connections", type=click.IntRange(min=1),
                 help="Endpoints: requests at the same time; by default 4."),
    click.option("--on-error", type=click.Choice(["stop", "skip"]),
                 help="Endpoints: what to do about a text that the endpoint refuses (400, 413, "
                 "422); by default stop."),
    click.option("--inputs", type=shared.FilePath(),
                 help="With --model file:…: where to write the rows that need predictions."),
    resuming_options,
    shared.quiet_option,
)  # fmt: skip


model_options = shared.with_options(
    _ROWS, _MODEL, _DATA, _SAMPLE, paraphrases_option, _SCORER, _SCORING, _BEAM, _ASKING,
    shared.tagger_option,
)  # fmt: skip
vetting_options = shared.with_options(*_OF_RULES, _DATA, _ASKING, shared.tagger_of_rules_option)
scored_options = shared.with_options(
    _ROWS_OR_TEMPLATES, _MODEL_OR_SEVERAL, _DATA, _SCORER_OR_NONE, _SCORING, _ASKING,
    shared.tagger_of_rules_option,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """The options about files of texts, under the names of their parameters."""

    column: str | None
    label: str | None
    protect: tuple[str, ...]
    spans: tuple[str, ...]
    format_name: str | None
    encoding: str
    no_header: bool
    limit: int | None
    seed: int = 0

    @property
    def protection(self) -> Protection:
        """What stays intact."""
        from sears_dsl.data.protection import Protection

        return Protection.parse(self.protect, self.spans)


@dataclass(frozen=True, kw_only=True)
class DataOptions(TextOptions):
    """The options about rows that a model reads."""

    data: str | None
    also: tuple[str, ...]
    comparison: Comparison
    image: str | None
    choices: str | None
    sample: int | None = None

    def look_for_data(self) -> None:
        """Raise at once if the file is not there."""
        from sears_dsl.data.streams import STANDARD_STREAM, no_such_file

        path = self.data or STANDARD_STREAM
        if path != STANDARD_STREAM and "://" not in path and not is_there(path):
            raise no_such_file(path)

    def rows(self) -> LabelledRows:
        """Read the rows that the options name."""
        from sears_dsl.data.labelled import read_labelled

        rows = shared.chosen_as(
            read_labelled, vars(self), source=self.data, protection=self.protection,
            options=shared.chosen_reading(vars(self), limit=self.limit),
        )  # fmt: skip
        return rows if self.sample is None else rows.sampled(self.sample, seed=self.seed)


@dataclass(frozen=True, kw_only=True)
class AskingOptions(DataOptions, Resuming):
    """The options of a command that asks a model about rows, except the model."""

    batch_size: int | None
    request_map: str | None
    response_map: str | None
    timeout: float | None
    retries: int | None
    connections: int | None
    on_error: str | None
    inputs: Path | None
    tagger: str | None

    def options_of(self, specs: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return for each of the models those of these options that its kind takes.

        A project file may say how each of several is asked, which these options override.
        """
        from sears_dsl.models.loading import options_of_each

        of_file = click.get_current_context().meta.get(shared.SETTINGS_OF_EACH, {})

        names = ("batch_size", "request_map", "response_map", "timeout", "retries", "connections",
                 "on_error", "inputs")  # fmt: skip
        chosen = {name: value for name in names if (value := getattr(self, name)) is not None}
        of_each = dict(zip(specs, options_of_each(chosen, specs), strict=True))
        for spec in of_file.keys() & of_each.keys():
            [own] = options_of_each(of_file[spec], [spec])
            of_each[spec] = {**own, **of_each[spec]}
        return of_each


def load_quietly(spec: str, **options: Any) -> CachedPredictor:
    """Call `load_predictor`, and keep what the model's code prints off standard output."""
    from sears_dsl.models.loading import load_predictor

    with printing_to_stderr():
        model = load_predictor(spec, **options)
    model.surround = printing_to_stderr
    return model


@dataclass(frozen=True, kw_only=True)
class SearchingOptions(AskingOptions):
    """The options of a command that also rewords sentences and scores pairs."""

    model: str
    paraphrases: str | None
    scorer: str
    tau: float | None
    pivots: tuple[str, ...]
    device: str
    jobs: int | None
    beam: int
    readings: tuple[Path, ...] = ()


def parts_choice(options: Mapping[str, Any]) -> PartsChoice:
    """Return what the options of a command that rewords or scores choose."""
    from sears_dsl.discovery.parts import PartsChoice

    journals: Sequence[Path] = options.get("readings", ())
    readings: tuple[Reading, ...] = ()
    if journals:  # else the code of vetting is not imported
        from sears_dsl.vetting.journal_oracle import read_readings

        readings = read_readings(journals)
    # A default width is not a choice, so it does not conflict with paraphrases of one's own.
    beam_source = click.get_current_context().get_parameter_source("beam")
    return shared.chosen_as(
        PartsChoice,
        options,
        paraphraser=options.get("paraphrases"),
        paraphrases="paraphrases" in options,
        beam=options.get("beam") if beam_source is ParameterSource.COMMANDLINE else None,
        readings=readings,
    )


@dataclass(frozen=True, kw_only=True)
class RunInputs:
    """What a run that only asks a model works with."""

    data: LabelledRows
    predictor: CachedPredictor
    tagger: Tagger
    run: UnfinishedRun
    # Loads a model by its specification, once; its answers lie beside those of the first.
    load: Callable[[str], CachedPredictor]


@dataclass(frozen=True, kw_only=True)
class SearchInputs(RunInputs):
    """What a run works with that rewords sentences and scores pairs."""

    parts: Parts


@contextmanager
def open_run(
    output: Path,
    chosen: AskingOptions,
    *,
    models: Sequence[str],
    show: OnStage,
    goes_on: bool = False,
) -> Iterator[RunInputs]:
    """Open the first of ``models`` and its data; its answers stay until the run is done.

    Answers lie in a folder beside the output, as `unfinished_run` says. If predictions are made
    elsewhere, a second start always goes on unasked, since each round is one. ``models`` are all
    that will be loaded.
    """
    from sears_dsl.models.cached import PredictionStore
    from sears_dsl.models.loading import kinds_of
    from sears_dsl.tagging.tagger import load_tagger

    goes_on = goes_on or any("file" in kinds_of(spec) for spec in models)
    chosen.look_for_data()
    with unfinished_run(output, chosen, goes_on=goes_on) as run:
        show("reading rows", 0, None)
        data = chosen.rows()
        show("loading the model", 0, None)
        with PredictionStore(run.folder / "predictions.sqlite3") as store:
            options, note = chosen.options_of(models), noter(quiet=chosen.quiet)
            loaded: list[CachedPredictor] = []

            @cache
            def load(spec: str) -> CachedPredictor:
                model = load_quietly(
                    spec, store=store, comparison=chosen.comparison, announce=note, **options[spec]
                )
                loaded.append(model)
                return model

            predictor = load(models[0])
            try:
                tagger = load_tagger(chosen.tagger or DEFAULT_TAGGER)
                yield RunInputs(data=data, predictor=predictor, tagger=tagger, run=run, load=load)
            finally:
                for remark in (remark for each in loaded for remark in each.remarks):
                    note(remark)


def noter(*, quiet: bool) -> Callable[[str], None]:
    """Return a function that tells the user something, unless the command is to be quiet."""
    return (lambda _: None) if quiet else partial(click.echo, err=True)


def tell_of_protection(data: LabelledRows, note: Callable[[str], None]) -> None:
    """Say which protected values are not in their texts."""
    for sentence in (*data.notes, *(() if data.guards is None else data.guards.notes)):
        note(f"note: {data.path}: {sentence}")


@contextmanager
def open_search(
    output: Path,
    chosen: SearchingOptions,
    *,
    show: OnStage,
    confidence: bool = False,
    wrong_rows: bool = False,
    most: int | None = None,
) -> Iterator[SearchInputs]:
    """Open what `open_run` opens, and the parts; ``confidence``: the model has to give confidences.

    The model is tried on the first ``most`` distinct rows alone. With ``wrong_rows`` it need not
    have any right.

    Raises:
        DataError: the output, a file, would lie in a folder that is not there.
        click.UsageError: it is a file that is read.
    """
    from sears_dsl.discovery.parts import check_rows, open_parts

    # Check this before an hour of work; a folder that does not exist is a slip of the keyboard.
    if not is_there(output.absolute().parent):
        raise DataError(
            f"{output} cannot be written: there is no folder {output.parent}",
            help=f"make it first: mkdir -p {output.parent}",
        )
    file = chosen.model.partition(":")[2]  # as in file:predictions.csv
    shared.refuse_overwriting(
        [output], sources=(chosen.data, chosen.model, file, chosen.paraphrases, chosen.scorer)
    )
    choice, note = parts_choice(vars(chosen)), noter(quiet=chosen.quiet)
    choice.require_scorer()
    own = choice.own()
    if choice.readings:
        from sears_dsl.vetting.journal_oracle import readings_in_words

        note(f"note: {readings_in_words(choice.readings)}")
    with open_run(output, chosen, models=[chosen.model], show=show) as inputs:
        tell_of_protection(inputs.data, note)
        data = check_rows(
            inputs.data, inputs.predictor, own, comparison=chosen.comparison,
            confidence=confidence, wrong_rows=wrong_rows, most=most, show=show, note=note,
        )  # fmt: skip
        with open_parts(
            choice, own, folder=inputs.run.folder, language=inputs.tagger.language, show=show,
            note=note,
        ) as parts:  # fmt: skip
            yield SearchInputs(**vars(replace(inputs, data=data)), parts=parts)
