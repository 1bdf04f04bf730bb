"""``sears discover``: the few rules that make a model fail most."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import cycle, islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sears_dsl.cli.commands import ProjectCommand
from sears_dsl.cli.options.model import SearchingOptions, SearchInputs, model_options, open_search
from sears_dsl.cli.options.shared import (
    FilePath,
    NumberRange,
    chosen_as,
    json_option,
    refuse_overwriting,
)
from sears_dsl.cli.screen.console import Stages, console, echo_document, stages
from sears_dsl.runtime.extras import need_discovery

if TYPE_CHECKING:
    from sears_dsl.discovery.known_rules import KnownFlips
    from sears_dsl.discovery.settings import Across, ProposeFrom
    from sears_dsl.effects.flips import RightRows

# Seconds after which known flips are shown while the model is asked about more.
_SOON = 5.0


@dataclass(frozen=True, kw_only=True)
class DiscoverOptions(SearchingOptions):
    """The options of ``sears discover``."""

    paper: bool
    rules: int
    delta: float
    minimum_flips: int | None
    minimum_frequency: float
    propose_from: ProposeFrom
    across: Across
    known: tuple[str, ...]
    no_known: bool
    texts: tuple[str, ...]
    text_column: str | None
    max_questions: int | None
    holdout: float | None
    budget_seconds: float | None
    yes: bool
    as_json: bool


@click.command(
    "discover",
    cls=ProjectCommand,
    epilog="Example: sears discover --model my_model:predict --data dev.csv --column text "
    "--label label -o found.sear",
)
@model_options
@click.option("-o", "--output", required=True, type=FilePath(),
              help="The ruleset to write, with a manifest, a report and rules that nearly passed "
              "beside it.")  # fmt: skip
@click.option("--paper", is_flag=True,
              help="Use the order and the settings of the paper (ACL 2018): its score and "
              "thresholds, with the model asked first and without a limit. Other options still "
              "apply, except --known and --text.")  # fmt: skip
@click.option("--rules", type=click.IntRange(min=1), default=10,
              help="Write at most this many rules.")  # fmt: skip
@click.option("--delta", type=NumberRange(0, 1, max_open=True), default=0.1,
              help="δ, the share of a rule's rewrites that may change the meaning (score below "
              "τ).")  # fmt: skip
@click.option("--minimum-flips", type=click.IntRange(min=1),
              help="Leave out rules that flip fewer rows. By default 3, or 2 if fewer than 200 "
              "rows are searched; for known rules 2, or 1 if fewer than --rules of them flip "
              "enough.")  # fmt: skip
@click.option("--minimum-frequency", type=NumberRange(0, 1), default=0.005,
              help="The share of rows in which a rule's antecedent has to occur.")  # fmt: skip
@click.option("--propose-from", type=click.Choice(["paraphrases", "adversaries"]),
              default="paraphrases",
              help="With --paper: what rules are generalized from.")  # fmt: skip
@click.option("--across", type=click.Choice(["any", "shared", "apart"]), default="any",
              help="With several models, --model every:SPEC,SPEC: find rules that flip any of "
              "them, that they share, or that tell them apart.")  # fmt: skip
@click.option("--known", multiple=True, metavar="FILE",
              help="Rules that readers have accepted, to try first, as the shipped ones are: a "
              "file, a folder or a shipped ruleset; repeatable.")  # fmt: skip
@click.option("--readings", multiple=True, metavar="JOURNAL", type=FilePath(),
              help="A journal of `sears vet`: what people said of rewrites counts in the judge; "
              "repeatable.")  # fmt: skip
@click.option("--no-known", is_flag=True, help="Do not try the shipped rules.")
@click.option("--text", "texts", multiple=True, metavar="FILE",
              help="More rows of the same kind, without labels, on which rules are judged; "
              "repeatable.")  # fmt: skip
@click.option("--text-column", help="The text column in the files of --text.")
@click.option("--max-questions", type=click.IntRange(min=1), metavar="N",
              help="Ask the model at most N questions; by default 20 for each row that it gets "
              "right.")  # fmt: skip
@click.option("--holdout", type=NumberRange(0, 1, max_open=True),
              help="The share of right rows that are held out of the search, to show what the "
              "rules do elsewhere; 0 for none. By default 0.3, or 0 if fewer than a hundred rows "
              "are right.")  # fmt: skip
@click.option("--seed", type=int, default=0, help="The seed of which rows are held out and drawn.")
@click.option("--budget-seconds", type=NumberRange(0, min_open=True),
              help="Stop the search after this many seconds, and write the best rules up to "
              "then.")  # fmt: skip
@click.option("--yes", is_flag=True, help="Do not ask before a long search.")
@json_option("Print the manifest as JSON.")
def discover_command(output: Path, **options: Any) -> None:
    """Find the few rules that flip a model most without changing the meaning.

    Known rules, which readers have accepted, are tried first. Then translation models reword the
    rows that the model gets right, and each change of words becomes a candidate. The model is
    asked only about candidates that keep the meaning on many texts. The rules that together flip
    the most rows are written as a ruleset, with a manifest and a report. Rules that nearly passed
    go to NAME.closest.sear, for people to vet.
    """
    began = time.monotonic()
    need_discovery()
    if output.suffix != ".sear":
        raise click.UsageError(f"-o {output}: a ruleset's name ends in .sear")
    chosen = DiscoverOptions(**options)
    if chosen.paper:
        chosen = _as_in_paper(chosen)
    if chosen.across != "any" and not chosen.model.startswith("every:"):
        raise click.UsageError(
            f"--across {chosen.across} needs several models, and one is given: name several: "
            "--model every:SPEC,SPEC"
        )
    chosen = replace(chosen, known=_without_output(chosen.known, output))
    _refuse_overwriting(output, chosen)
    from sears_dsl.discovery.settings import Settings

    settings = chosen_as(Settings, vars(chosen), order="paper" if chosen.paper else "meaning")
    quiet = chosen.quiet
    with (
        stages(shown=not quiet) as show,
        open_search(output, chosen, show=show, most=settings.questions_for_rows) as work,
    ):
        from sears_dsl.data.labelled import read_texts
        from sears_dsl.discovery.algorithm import discover
        from sears_dsl.discovery.known_rules import load_known
        from sears_dsl.discovery.parts import participants_of
        from sears_dsl.discovery.result.report import write_discovery

        text = [
            each
            for path in chosen.texts
            for each in read_texts(path, column=chosen.text_column, like=chosen.column)
        ]
        shown = SearchScreen(show, work, chosen)
        shown.notes(text)
        discovery = discover(
            work.data, work.predictor, paraphraser=work.parts.paraphraser,
            scorer=work.parts.scorer, tagger=work.tagger, settings=settings, text=text,
            known=load_known(chosen.known, tagger=work.tagger,
                             with_shipped=not (chosen.no_known or chosen.paper),
                             note=shown.note),
            journal=work.parts.journal, on_progress=show, on_known=shown.known,
            before_search=shown.estimate, began=began,
        )  # fmt: skip
        participants = participants_of(
            work.predictor, work.parts, label=chosen.label, also=chosen.also
        )
        notes: list[str] = []
        manifest = write_discovery(
            discovery, output, participants=participants, tagger=work.tagger, note=notes.append
        )
        work.run.keep = discovery.budget_reached
    if chosen.as_json:
        echo_document(manifest.model_dump_json())
    elif not quiet:
        from sears_dsl.cli.screen.discovery import print_discovery

        print_discovery(console(stderr=True), discovery, output, notes=notes)
        return
    for sentence in notes:  # also where nothing else is printed, since a file is missing
        click.echo(sentence, err=True)


def _without_output(known: Sequence[str], output: Path) -> tuple[str, ...]:
    """The names of known rules, without what an earlier search wrote to a folder among them.

    A folder with nothing else keeps its name: that what it has would be replaced is an error.
    """
    from sears_dsl.catalogue import names_without
    from sears_dsl.runtime.files import is_folder

    return tuple(
        part
        for name in known
        for part in (is_folder(Path(name)) and names_without([name], [str(output)])) or [name]
    )


def _refuse_overwriting(output: Path, chosen: DiscoverOptions) -> None:
    """Refuse to write any of the files over one that the search reads."""
    from sears_dsl.catalogue import closest_path, load_rulesets, manifest_path
    from sears_dsl.runtime.files import is_there

    closest = closest_path(output)
    written = (
        output, manifest_path(output), output.with_suffix(".md"), closest, manifest_path(closest)
    )  # fmt: skip
    refuse_overwriting(
        written,
        sources=(chosen.data, *chosen.texts, *map(str, chosen.readings)),
        # Only files that are there can be read, and to load all shipped rules takes seconds.
        rulesets=load_rulesets(chosen.known) if any(map(is_there, written)) else (),
    )


class SearchScreen:
    """Shows the progress of a search, and asks whether to go on."""

    def __init__(
        self,
        show: Stages,
        work: SearchInputs,
        chosen: DiscoverOptions,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._show, self._work, self._chosen = show, work, chosen
        self._clock = clock
        self._out = console(stderr=True)
        self._known: KnownFlips | None = None
        self._show_known_at: float | None = None

    def notes(self, text: Sequence[str]) -> None:
        """Say what is strange about the rows and the text."""
        if self._chosen.quiet:
            return
        from sears_dsl.cli.screen.strange_rows import notes_on
        from sears_dsl.judge.grammar import load_grammar

        english = self._work.tagger.language == "en"
        looks_english = load_grammar(deep=False).looks_english if english else lambda _: True
        data = self._work.data
        for path, texts in ((data.path, data.texts), (" ".join(self._chosen.texts), text)):
            for strange in notes_on(texts, looks_english=looks_english):
                self.note(f"note: {path}: {strange}")

    def note(self, sentence: str) -> None:
        """Say something beside the progress."""
        if not self._chosen.quiet:
            with self._show.pause():
                click.echo(sentence, err=True)

    def known(self, known_flips: KnownFlips) -> None:
        """Show known flips as they come: some of them soon, and all before the search begins."""
        now = self._clock()
        if self._show_known_at is None:
            self._show_known_at = now + _SOON
        self._known = known_flips
        if now >= self._show_known_at:
            self._show_known_at = inf
            self._print_known(so_far=True)

    def estimate(self, right: RightRows) -> None:
        """Show all known flips and what lies ahead, and ask whether to go on."""
        self._print_known(so_far=False)
        if self._chosen.quiet:
            return
        from sears_dsl.discovery.cost import estimate_search
        from sears_dsl.paraphrasing.prompted import PromptedPart

        predictor = self._work.predictor
        ahead = estimate_search(right, predictor, self._work.parts.team)
        parts = [each for each in (self._work.parts.paraphraser, self._work.parts.scorer)
                 if isinstance(each, PromptedPart)]  # fmt: skip
        requests = sum(len(each.rows_for(right.texts)) for each in parts)
        with self._show.pause():
            click.echo(str(ahead), err=True)
            if self._chosen.model.startswith(("http", "llm:")):
                requests += ahead.questions
            if hasattr(predictor.predictor, "forecast"):  # each of its answers costs money
                rows = list(islice(cycle(self._work.data.rows), ahead.questions))
                click.echo(f"  {predictor.predictor.forecast(rows)}", err=True)
            for part in parts:
                click.echo(f"  {part.forecast(right.texts)}", err=True)
            somebody = sys.stdin.isatty() and sys.stderr.isatty() and not self._chosen.yes
            if somebody and ahead.wants_an_answer(requests=requests):
                click.confirm("go on?", default=True, abort=True, err=True)

    def _print_known(self, *, so_far: bool) -> None:
        if self._known is not None and not self._chosen.quiet:
            from sears_dsl.cli.screen.discovery import print_known

            with self._show.pause():
                print_known(self._out, self._known, so_far=so_far)


def _as_in_paper(chosen: DiscoverOptions) -> DiscoverOptions:
    """Return the paper's settings, except for the options that were given, which it names."""
    from sears_dsl.discovery.settings import paper_choices

    context = click.get_current_context()
    own = {
        field.name: getattr(chosen, field.name) for field in fields(chosen)
        if context.get_parameter_source(field.name) is ParameterSource.COMMANDLINE
    }  # fmt: skip
    choices = paper_choices(own, known="known" in own, text="texts" in own)
    papers = paper_choices({})
    others = [name for name, value in papers.items() if own.get(name, value) != value]
    others += [name for name in ("max_questions", "paraphrases") if name in own]
    if others and not chosen.quiet:
        switches = {each.name: each.opts[-1] for each in context.command.params}
        click.echo(
            f"note: {', '.join(switches[name] for name in others)}: not as in the paper", err=True
        )
    return replace(chosen, texts=(), **choices)
