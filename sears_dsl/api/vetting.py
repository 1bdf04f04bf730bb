"""``sears.vet``: a page on which people judge rules or templates while the notebook goes on."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sears_dsl.api.arguments import (
    AnyOracle,
    OnProgress,
    in_python,
    labelled_rows,
    names_of,
    predictor_of,
    progress_reporter,
    read_once,
    remark,
    shares,
    tagger_of,
    whole_numbers,
)
from sears_dsl.api.results import Result, bar_label, draw_bars, file_to_write
from sears_dsl.errors import UsageError
from sears_dsl.runtime.extras import need_discovery, need_vetting
from sears_dsl.runtime.files import Closing, is_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sears_dsl.answers import Comparison
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.paraphrasing.plugins import AnyScorer
    from sears_dsl.tagging.tagger import Tagger
    from sears_dsl.vetting.merging import Judged, Review, ReviewOutcome
    from sears_dsl.vetting.outputs import WrittenFiles
    from sears_dsl.vetting.review.sessions import ReviewSession
    from sears_dsl.vetting.running import VettingPlace


@dataclass(eq=False, repr=False)
class VettingResult(Result, Closing):
    """A page on which people judge rules or templates, and what they decided so far.

    The page is served until `close` or the end of a ``with`` block. Every decision goes to a
    journal at once; a later `vet` of the same rules goes on where this one ended.

    Attributes:
        place: the rules, and where decisions go.
        addresses: reviewer → the address of the page, with a secret in it: whoever has it can
            decide.
        of_templates: whether templates are judged instead of rules.
    """

    place: VettingPlace
    addresses: Mapping[str, str]
    _tagger: Tagger
    _opened: ExitStack
    of_templates: bool = False

    @property
    def address(self) -> str:
        """The page of the first reviewer."""
        return next(iter(self.addresses.values()))

    @property
    def rules(self) -> tuple[ReviewOutcome, ...]:
        """What was decided about each rule, and by whom."""
        return self._outcomes("rules")

    @property
    def templates(self) -> tuple[ReviewOutcome, ...]:
        """What was decided about each template, and by whom."""
        return self._outcomes("templates")

    def _outcomes(self, of: Judged) -> tuple[ReviewOutcome, ...]:
        from sears_dsl.vetting.merging import outcomes

        return tuple(outcomes(self.place.ruleset, self._reviews(), of=of))

    def _reviews(self) -> list[Review]:
        from sears_dsl.vetting.merging import read_reviews

        journals = [each for each in self.place.journals.values() if each.exists()]
        return read_reviews(journals, self.place.ruleset)

    @property
    def ruleset(self) -> Ruleset:
        """The rules that people accepted, edited or wrote."""
        from sears_dsl.language.loader import parse
        from sears_dsl.vetting.merging import vetting_outcomes
        from sears_dsl.vetting.outputs import vetted_text

        place, reviews = self.place, self._reviews()
        outcomes = vetting_outcomes(place.ruleset, reviews)
        vetted = vetted_text(place.ruleset, outcomes, reviews, tagger=self._tagger)
        ruleset = parse(vetted.text, path=str(place.output))
        return replace(ruleset, origins=place.ruleset.origins)

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """One row per rule, or per template if those are judged: the outcome, who decided what."""
        from sears_dsl.language.printer import print_rule, print_template

        ruleset, judged = self.place.ruleset, self._judged
        texts = map(print_rule, ruleset.rules)
        if self.of_templates:
            texts = map(print_template, ruleset.templates)
        return {
            "id": [each.rule for each in judged],
            self._noun: list(texts),
            "outcome": [each.decided for each in judged],
            "who": [each.verdicts_in_words for each in judged],
        }

    @property
    def _judged(self) -> tuple[ReviewOutcome, ...]:
        return self.templates if self.of_templates else self.rules

    @property
    def _noun(self) -> str:
        return "template" if self.of_templates else "rule"

    @property
    def summary(self) -> str:
        """How many rules or templates were decided."""
        decided = [each.decided for each in self._judged]
        left = decided.count("unjudged")
        judged = f"{len(decided) - left:,} of {len(decided):,} {self._noun}s judged"
        return f"{judged}; page {self.address}"

    def save(self, path: str | Path | None = None) -> WrittenFiles:
        """Write what `sears vetted -o` writes: the vetted ruleset, and those left out beside it.

        Args:
            path: of the vetted ruleset; None for ``NAME.vetted.sear`` beside the rules.

        Raises:
            UsageError: a ruleset cannot have this name.
            DataError: a file cannot be written, or that of the rules has changed meanwhile.
        """
        from sears_dsl.vetting.outputs import write_vetted
        from sears_dsl.vetting.running import not_counted, ruleset_to_write

        target = self.place.output if path is None else file_to_write(path)
        with in_python():
            ruleset = ruleset_to_write(self.place)
            written = write_vetted(
                ruleset, self._reviews(), target, tagger=self._tagger,
                read=self.place.journals.values(),
            )  # fmt: skip
        if others := not_counted(self.place):
            remark(others)
        return written

    def plot(self, axes: Axes | None = None) -> Axes:
        """The share of reviewers who want each judged rule or template, as it is or edited."""
        from sears_dsl.statistics import wilson_interval

        judged = [
            (text, [each.verdict != "reject" for each in outcome.verdicts.values()])
            for text, outcome in zip(self.columns[self._noun], self._judged, strict=True)
            if outcome.verdicts
        ]
        ends = [wilson_interval(sum(votes), len(votes)) for _, votes in judged]
        return draw_bars(
            axes,
            [bar_label(text) for text, _ in judged],
            [sum(votes) / len(votes) for _, votes in judged],
            [(float(low), float(high)) for low, high in ends],
            title=f"reviewers who want a {self._noun}",
        )

    def close(self) -> None:
        """Stop serving the page."""
        self._opened.close()

    def _repr_html_(self) -> str:
        """Links to the pages, and what was decided."""
        links = "".join(
            f'<p>{html.escape(name)}: <a href="{html.escape(address)}" target="_blank" '
            f'rel="noreferrer">judge</a></p>'
            for name, address in self.addresses.items()
        )
        return links + super()._repr_html_()


def vet(
    model: object | None,
    data: object | None,
    rules: object,
    *,
    templates: bool = False,
    text: str | None = None,
    label: str | None = None,
    also: Sequence[str] = (),
    image: str | None = None,
    choices: str | None = None,
    protect: Sequence[str] = (),
    spans: Sequence[str] = (),
    reviewers: Sequence[str] = (),
    output: str | Path | None = None,
    journal: str | Path | None = None,
    most: int = 20,
    adversaries: str | Path | None = None,
    oracle: AnyOracle | None = None,
    scorer: AnyScorer | None = None,
    pivots: Sequence[str] = (),
    tau: float | None = None,
    port: int | None = None,
    comparison: Comparison = "exact",
    limit: int | None = None,
    batch_size: int | None = None,
    tagger: Tagger | str | None = None,
    on_progress: OnProgress | None = None,
) -> VettingResult:
    """Open a page on this machine on which people judge rules, or read templates.

    On the page of rules they also write rules and pick adversaries.

    Does what `sears vet` does, with the same defaults, while this process goes on.

    Args:
        model: as `discover` takes it; None for templates.
        data: labelled rows, as `discover` takes them; None for templates.
        rules: a rule file, the name of a shipped ruleset, or rules that lie in a file. Decisions
            are kept beside the file, and belong to its present content.
        templates: whether the templates are judged instead of the rules, as they always are in a
            file without rules.
        text: the column that rules rewrite; None infers it.
        label: the column of labels; None where there is none.
        also: further columns that the model reads.
        image: a column of paths of pictures, from the folder of the data; the model reads it.
        choices: a column of the answers to choose from; the model reads it.
        protect: columns whose content stays intact in the rewritten text.
        spans: columns of spans that follow it, as `discover` takes them.
        reviewers: the names of those who judge, each with an address; empty for the user's name.
        output: the vetted ruleset; None for ``NAME.vetted.sear`` beside the rules.
        journal: where the decisions of one reviewer are kept; None for a file beside the output.
        most: most rules to accept; as many are shown, selected by what each adds.
        adversaries: a file of sentences to pick adversaries from, as `adversaries` saves it.
        oracle: what rejects rewrites, which are then not shown, as `audit` takes it; for rules.
        scorer: gives S, by which flips count in the selection; None counts all alike.
        pivots: languages that the scorer translates through.
        tau: the S from which a flip counts; None for the scorer's own.
        port: of the page; None for the first free one from 8765.
        comparison: how an answer is compared with the label.
        limit: read only so many rows, the first ones.
        batch_size: rows per call of the model.
        tagger: a tagger or its name; None for the one that validated the rules, where known.
        on_progress: called with the progress of each stage.

    Raises:
        UsageError: rules that lie in no file, invalid arguments, or an extra that is not
            installed.
        RuleSyntaxError: rules with errors.
        DataError: rows or a journal that cannot be read.
        ModelError: the model fails.

    Example:
        >>> import sears_dsl as sears, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sears.parse("movie -> film").save(f"{folder}/mine.sear")
        ...     page = sears.vet(lambda texts: ["good" for _ in texts], [("A movie.", "good")],
        ...                      f"{folder}/mine.sear", reviewers=["ana"])
        ...     with page:
        ...         page.address.startswith("http://127.0.0.1:"), page.columns["outcome"]
        (True, ['unjudged'])
    """
    need_vetting()
    if scorer is not None:
        need_discovery(otherwise=", or leave the score out: scorer=None")
    from sears_dsl.catalogue import shipped_rulesets
    from sears_dsl.discovery.parts import load_chosen_scorer
    from sears_dsl.paraphrasing.for_rules import compile_with_sources
    from sears_dsl.vetting import running
    from sears_dsl.vetting.journal_oracle import open_oracle
    from sears_dsl.vetting.review.template_session import TemplateSession
    from sears_dsl.vetting.web.serving import listen, serve_in_background

    with in_python(reviewer="reviewers"):
        whole_numbers(1, most=most, port=port)
        shares(tau=tau)
        ruleset = _in_a_file(rules)
        # Nothing is written beside a shipped ruleset.
        is_shipped = ruleset.file in shipped_rulesets().values()
        # Absolute, since a notebook may go to another folder before it writes.
        place = running.place_of(
            replace(ruleset, path=str(ruleset.file)),
            folder=Path.cwd() if is_shipped else ruleset.folder,
            reviewers=names_of(reviewers),
            output=None if output is None else file_to_write(output).absolute(),
            journal=None if journal is None else file_to_write(journal, "journal").absolute(),
        )  # fmt: skip
        of_templates = running.judges_templates(ruleset, templates)
        if not of_templates and (model is None or data is None):
            raise UsageError("rules are judged on rows", help="pass a model and data")
        measure = None
        if scorer is not None:
            measure = load_chosen_scorer(
                scorer, pivots=names_of(pivots), tau=tau, language=ruleset.options.language
            )
            _ = measure.tau  # raises if a scorer of the user's own has none
        chosen = tagger_of(tagger, [ruleset])
        show = progress_reporter(on_progress)
        sitting = None
        if not of_templates:
            compile_with_sources([ruleset], tagger=chosen)
            rows = labelled_rows(
                read_once(data), text=text, label=label, also=also, protect=protect, spans=spans,
                comparison=comparison, image=image, choices=choices, limit=limit,
            )  # fmt: skip
            show("loading the model", 0, None)
            predictor = predictor_of(model, batch_size=batch_size, comparison=comparison)
            sitting = running.VettingInputs(
                data=rows, predictor=predictor, tagger=chosen, scorer=measure, tau=tau,
                comparison=comparison, most=most,
                adversaries=None if adversaries is None else str(adversaries),
                oracle=None if oracle is None else open_oracle(oracle, [ruleset]),
            )  # fmt: skip
        with ExitStack() as opening:
            journals = opening.enter_context(
                # A journal names the ruleset as its reviewer does.
                running.open_journals(replace(place, ruleset=ruleset), note=remark)
            )
            listening, changed = listen(port)
            opening.enter_context(listening)
            if changed:
                remark(changed)
            sessions: Mapping[str, ReviewSession] = (
                {name: TemplateSession(ruleset, journal) for name, journal in journals.items()}
                if sitting is None
                else sitting.sessions(ruleset, journals, show=show, note=remark)
            )
            page, addresses = running.pages_of(place, sessions, tagger=chosen, listening=listening)
            opening.enter_context(serve_in_background(page, listening))
            # All went well: from now on the result closes what is open.
            return VettingResult(
                place, addresses, chosen, opening.pop_all(), of_templates=of_templates
            )


def _in_a_file(rules: object) -> Ruleset:
    """Return the ruleset as its file has it."""
    from sears_dsl.catalogue import load
    from sears_dsl.language.ruleset import Ruleset

    if isinstance(rules, str | Path):
        return load(str(rules))
    if isinstance(rules, Ruleset) and is_file(rules.file):
        # What it imported was allowed when it was loaded.
        ruleset = load(rules.file, allow_imports_outside=True)
        if ruleset == rules:
            return ruleset
        raise UsageError(
            f"{rules.file} no longer has these rules (it was edited, or these are a part of it)",
            help="load it again, or save them under another name: rules.save('found.sear'); then "
            "vet(model, data, 'found.sear')",
        )
    if isinstance(rules, Ruleset) or hasattr(rules, "ruleset"):
        raise UsageError(
            "these rules are in no file, but decisions are kept beside one",
            help="save them first: rules.save('found.sear'); then vet(model, data, 'found.sear')",
        )
    raise UsageError(
        f"an object of type {type(rules).__name__} is not rules",
        help="name a rule file: vet(…, 'found.sear')",
    )
