"""``sears.audit``: what rules do to a model, or to several side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeAlias, get_args, overload

from sears_dsl.api.arguments import (
    AnyOracle,
    AnyRules,
    OnProgress,
    in_python,
    label_column,
    labelled_rows,
    names_of,
    names_of_columns,
    one_of,
    predictor_of,
    progress_reporter,
    read_once,
    remark,
    rulesets_together,
    shares,
    tagger_of,
    whole_numbers,
)
from sears_dsl.api.results import (
    DocumentResult,
    RulesetsResult,
    bar_label,
    draw_bars,
    first_example,
    folder_to_write,
    format_columns,
    name_lines,
    new_axes,
    omission_note,
    shown_rate,
)
from sears_dsl.defaults import DEFAULT_SCORER, NO_SCORER
from sears_dsl.errors import UsageError
from sears_dsl.language.printer import rule_called
from sears_dsl.runtime.extras import need_discovery
from sears_dsl.statistics import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sears_dsl.answers import Comparison
    from sears_dsl.auditing.document import AuditDocument, RuleRecord, Verdict
    from sears_dsl.auditing.grids import GridDocument, GridRule
    from sears_dsl.auditing.robustness import Robustness
    from sears_dsl.engine.matches import Scope, Unit
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.paraphrasing.plugins import AnyScorer
    from sears_dsl.tagging.tagger import Tagger

P = ParamSpec("P")

AS_FOUND = "as found"
"""The default scorer of an audit: the one that scored the rules when they were found."""


@dataclass(eq=False, repr=False)
class AuditResult(RulesetsResult):
    """What rules do to a model; ``document`` has all counts and judgements."""

    document: AuditDocument
    rulesets: tuple[Ruleset, ...]

    @property
    def rules(self) -> tuple[RuleRecord, ...]:
        """Each rule with its numbers, in the order of the rulesets."""
        return self.document.rules

    @property
    def verdict(self) -> Verdict:
        """The decision, with its reasons."""
        return self.document.verdict

    @property
    def passed(self) -> bool:
        """Whether no gate failed or was left unjudged, so that the command exits 0."""
        return self.verdict.outcome not in ("failed", "not judged")

    @property
    def robustness(self) -> Robustness | None:
        """Semantic robustness to all rules, to each tag and to each rule; None if not asked for."""
        return self.document.robustness

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """One row per rule."""
        rules = self.rules
        failures = [each.judgement.failures for each in rules]
        meaning = [each.meaning for each in rules]
        examples = [each.examples[0] if each.examples else None for each in rules]
        return {
            "id": [each.id for each in rules],
            "rule": [each.rule for each in rules],
            "expect": [each.expect for each in rules],
            "outcome": [each.judgement.outcome for each in rules],
            "changed": [each.changed for each in rules],
            "right": [each.right for each in rules],
            "flips": [each.flips.count for each in rules],
            "failures": [each.count for each in failures],
            "tested": [each.total for each in failures],
            "rate": [each.rate for each in failures],
            "low": [each.low for each in failures],
            "high": [each.high for each in failures],
            "q_value": [each.judgement.q_value for each in rules],
            "share_at_tau": [each and each.at_tau.rate for each in meaning],
            "mean_score": [each and each.mean for each in meaning],
            "original": [each and each.original for each in examples],
            "rewritten": [each and each.rewritten for each in examples],
        }

    @property
    def shown_columns(self) -> Mapping[str, Sequence[Any]]:
        """The rules that change a row; those that fail most come first; or the slices alone."""
        from sears_dsl.auditing.reports.markdown import worst_first

        if not self.rules:
            return self._shown_slices()
        ordered = worst_first(self.rules)
        failures = [each.judgement.failures for each in ordered]
        meaning = [each.meaning.at_tau.rate if each.meaning else None for each in ordered]
        scored: dict[str, Sequence[Any]] = {}
        if any(each is not None for each in meaning):
            scored["meaning kept"] = list(map(percent, meaning))
        return {
            "rule": [each.name for each in ordered],
            "outcome": [each.judgement.outcome for each in ordered],
            "fails": [f"{each.count:,} of {each.total:,}" for each in failures],
            "rate (95%)": [shown_rate(each.rate, each.low, each.high) for each in failures],
            "q": [each.judgement.q_value for each in ordered],
            **scored,
            "example": list(map(first_example, ordered)),
        }

    def _shown_slices(self) -> Mapping[str, Sequence[Any]]:
        shares = [(each, each.accuracy) for each in self.document.slices]
        return {
            "part": [f"{each.slicing}: {each.value}" for each, _ in shares],
            "rows": [each.rows for each, _ in shares],
            "accuracy (95%)": [of and shown_rate(of.rate, of.low, of.high) for _, of in shares],
        }

    @property
    def shown_below(self) -> str:
        """The rules that change no row, some of them by name."""
        silent = [each.name for each in self.rules if not each.changed]
        return omission_note(silent, ("rule changes no row", "rules change no row"))

    @property
    def summary(self) -> str:
        """The verdict and what it comes from."""
        from sears_dsl.auditing.document import conclusion

        return conclusion(self.document)

    def plot(self, axes: Axes | None = None) -> Axes:
        """The failure rate of each rule that was tested, worst first, with its 95% interval."""
        from sears_dsl.auditing.reports.markdown import worst_first

        shown_rules = [each for each in worst_first(self.rules) if each.judgement.failures.total]
        failures = [each.judgement.failures for each in shown_rules]
        return draw_bars(
            axes,
            [bar_label(each.rule, each.id) for each in shown_rules],
            [each.rate or 0.0 for each in failures],
            [(each.low, each.high) for each in failures],
            title="rows on which the model fails a rule",
        )

    def to_markdown(self) -> str:
        """A summary for the page of a pull request, as `sears audit --summary` writes it."""
        from sears_dsl.auditing.reports.markdown import audit_summary

        return audit_summary(self.document)

    def save(self, folder: str | Path) -> None:
        """Write what `sears audit -o` writes: audit.html, audit.md, audit.json, junit.xml."""
        from sears_dsl.auditing.reports.files import write_audit_files

        write_audit_files(self.document, folder_to_write(folder))


@dataclass(eq=False, repr=False)
class GridResult(DocumentResult):
    """Several audits of the same rows, each compared with the first; ``document`` has the grid."""

    document: GridDocument

    @property
    def rules(self) -> tuple[GridRule, ...]:
        """Each rule with one cell per model."""
        return self.document.rules

    @property
    def worse(self) -> bool:
        """Whether any is clearly worse than the first (p < 0.05, Holm over the grid)."""
        return self.document.worse

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """One row per rule and model; rates are of the rows on which the audit tested the rule."""
        return self._columns(self.rules)

    @property
    def shown_columns(self) -> Mapping[str, Sequence[Any]]:
        """The rules that an audit tested."""
        return format_columns(self._columns([each for each in self.rules if each.is_tested]))

    @property
    def shown_below(self) -> str:
        """The rules that no audit tested, some of them by name."""
        untested = [rule_called(each.rule, each.id) for each in self.rules if not each.is_tested]
        return omission_note(untested, ("rule was tested on no row", "rules were tested on no row"))

    def _columns(self, rules: Sequence[GridRule]) -> Mapping[str, Sequence[Any]]:
        names = [each.name for each in self.document.models]
        cells = [
            (rule, name, cell, cell.failures, cell.against_first)
            for rule in rules
            for name, cell in zip(names, rule.cells, strict=True)
        ]
        return {
            "id": [rule.id for rule, *_ in cells],
            "rule": [rule.rule for rule, *_ in cells],
            "audit": [name for _, name, *_ in cells],
            "rate": [share and share.rate for *_, share, _ in cells],
            "low": [share and share.low for *_, share, _ in cells],
            "high": [share and share.high for *_, share, _ in cells],
            "outcome": [contrast and contrast.outcome for *_, contrast in cells],
            "p_value": [contrast and contrast.paired.adjusted_p_value for *_, contrast in cells],
        }

    @property
    def summary(self) -> str:
        """For each model after the first, how many rules are better and how many worse."""
        return "; ".join(self.document.summary)

    def plot(self, axes: Axes | None = None) -> Axes:
        """The failure rate of each rule that was tested on each model, as a heat map."""
        rules = [each for each in self.rules if each.is_tested] or self.rules
        axes = new_axes(axes, lines=len(rules))
        shares = [[cell.failures for cell in each.cells] for each in rules]
        rates = [[None if share is None else share.rate for share in of] for of in shares]
        percent = [[float("nan") if rate is None else 100 * rate for rate in of] for of in rates]
        axes.imshow(percent, cmap="Reds", vmin=0, vmax=100, aspect="auto")
        for row, of_rule in enumerate(percent):
            for column, value in enumerate(of_rule):
                # An unknown rate is a dash; the text is white on dark cells, so that it is legible.
                label = "–" if rates[row][column] is None else f"{value:.1f}"
                axes.text(column, row, label, ha="center", va="center",
                          color="white" if value > 60 else "black")  # fmt: skip
        axes.set_xticks(range(len(self.document.models)),
                        [bar_label(each.name) for each in self.document.models])  # fmt: skip
        labels = [bar_label(each.rule, each.id) for each in rules]
        return name_lines(axes, labels, "rows on which a model fails a rule, per cent")


class AuditsResult(GridResult, RulesetsResult):
    """One audit of several models: a grid of models and rules, and the audits by name."""

    def __init__(self, audits: Mapping[str, AuditResult]) -> None:
        from sears_dsl.auditing.grids import grid

        super().__init__(grid({name: each.document for name, each in audits.items()}))
        self.audits = dict(audits)
        # All models are audited with the same rules.
        self.rulesets = next(iter(self.audits.values())).rulesets

    @property
    def passed(self) -> bool:
        """Whether every model passed its gates, so that the command exits 0."""
        return all(each.passed for each in self.audits.values())

    def to_markdown(self) -> str:
        """The grid for the page of a pull request, as `sears audit --summary` writes it."""
        from sears_dsl.auditing.reports.several_audits import grid_markdown

        return grid_markdown(self.document)

    def save(self, folder: str | Path) -> None:
        """Write what `sears audit -o` writes of several models: the grid, and a folder for each."""
        from sears_dsl.auditing.reports.files import write_audits_files

        documents = {name: each.document for name, each in self.audits.items()}
        write_audits_files(documents, folder_to_write(folder))


AnyAudit: TypeAlias = AuditResult | str | Path
"""An audit, the folder that `sears audit` wrote, or the audit.json in it."""


class _OneOrSeveral(Protocol[P]):
    """The type of `audit`: its result depends on whether one model or several are given."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self,
        model: list[Any] | tuple[Any, ...] | Mapping[str, object],
        data: object | None,
        rules: AnyRules | object,
        **options: Any,
    ) -> AuditsResult: ...
    @overload
    def __call__(self, *arguments: P.args, **options: P.kwargs) -> AuditResult: ...


def _one_or_several(function: Callable[P, AuditResult | AuditsResult]) -> _OneOrSeveral[P]:
    """Return the function, typed so that a type checker knows which result it returns."""
    return function  # type: ignore[return-value]


@_one_or_several
def audit(
    model: object,
    data: object | None,
    rules: AnyRules | object,
    *,
    text: str | None = None,
    label: str | None = None,
    also: Sequence[str] = (),
    image: str | None = None,
    choices: str | None = None,
    protect: Sequence[str] = (),
    spans: Sequence[str] = (),
    max_flip_rate: float | str | None = None,
    max_miss_rate: float | str | None = None,
    max_rows_flipped: float | str | None = None,
    gates: Sequence[str] = (),
    tolerance: float | str | None = None,
    draws: int = 1,
    rates: str | Sequence[str] = (),
    oracle: AnyOracle | None = None,
    judge_by: Literal["rate", "evidence", "proof"] = "rate",
    min_support: int = 20,
    require_support: bool = False,
    slices: Sequence[str] = (),
    scorer: AnyScorer | None = AS_FOUND,
    tau: float | None = None,
    pivots: Sequence[str] = (),
    device: str = "cpu",
    jobs: int | None = None,
    score_at_most: int = 100,
    sure_from: float = 0.9,
    examples: int = 10,
    scope: Scope = "first",
    unit: Unit | None = None,
    seed: int = 0,
    comparison: Comparison = "exact",
    limit: int | None = None,
    batch_size: int | None = None,
    tagger: Tagger | str | None = None,
    on_progress: OnProgress | None = None,
) -> AuditResult | AuditsResult:
    """Measure what rules do to a model, and judge it.

    Does what `sears audit` does, with the same defaults.

    Args:
        model: as `discover` takes it; a list or a dictionary of models by name for an audit of each
            and their grid, which computes rewrites and scores only once.
        data: labelled rows, as `discover` takes them; None for the sentences of the templates.
        rules: a ruleset, a rule file, a folder, the name of a shipped ruleset, a result that has
            rules, or several of these. The model is asked about the sentences of templates too.
        text: the column that rules rewrite; None infers it.
        label: the column of labels; None where there is none.
        also: further columns that the model reads.
        image: a column of paths of pictures, from the folder of the data; the model reads it.
        choices: a column of the answers to choose from; the model reads it.
        protect: columns whose content stays intact in the rewritten text.
        spans: columns of spans that follow it, as `discover` takes them.
        max_flip_rate: the limit for each rule that expects ``same``: 0.05 or "5%".
        max_miss_rate: the limit for each rule that expects ``flip`` or ``label``.
        max_rows_flipped: the limit for all rules together that expect ``same``.
        gates: limits for some rules, such as ``"tag:negation=2%"``; tolerances, such as
            ``"robust:tag:negation=5%"`` or, for one template, ``"robust:template:ID=5%"``; or least
            shares and accuracies, ``"local:all=80%"``, ``"mean:all=70%"``,
            ``"above-constant:all=10%"``.
        tolerance: how much accuracy may fall on the rewritten rows (τ of semantic robustness);
            None does not judge robustness.
        draws: how often to redraw the noise of rules that draw at random; the result has the mean
            and the worst of the draws, and robustness covers all of them.
        rates: further rates for rules that draw, such as ``"5%,10%,25%"``; the document's ``rates``
            has for each rule the accuracy on all rows at each rate.
        oracle: rejects rewrites before the model is asked: a function that takes a list of them,
            dictionaries from column to text, and says for each whether to keep it;
            ``module:function``; or the journal of a reviewer.
        judge_by: a rule fails if its ``rate`` is above the limit, if there is ``evidence`` that it
            is, or if there is no ``proof`` that it is not.
        min_support: with fewer rows to test on, a rule is not judged.
        require_support: whether a rule that cannot be judged fails.
        slices: columns of the data to group results by, or values computed from them, such as
            ``words(context)``, ``first-word(question)``, ``agreement(answers)``,
            ``grade(context)``; ``words(answer)`` is of the model's own answers.
        scorer: says whether meaning is kept; None leaves that out. ``as found`` is the scorer, with
            its τ, that the manifest beside the rule file names, or the judge if there is no
            manifest.
        tau: the S from which texts count as equivalent; None for the scorer's own.
        pivots: languages to translate through.
        device: ``cpu`` or ``cuda``.
        jobs: processes that score; None for one per core, eight at most.
        score_at_most: most rewrites of a rule to score, drawn at random.
        sure_from: the confidence from which the model counts as sure.
        examples: how many examples to keep of each rule.
        scope: rewrite the ``first`` instance in a unit, or ``all``.
        unit: what a rule sees at once; None for what the rules ask for, else the ``text``.
        seed: of everything drawn at random.
        comparison: how an answer is compared with the label, as `sears_dsl.answers` has them.
        limit: read only so many rows, the first ones.
        batch_size: rows per call of the model.
        tagger: a tagger or its name; None for the one that validated the rules, where known.
        on_progress: called with the progress of each stage.

    Returns:
        The audit of one model; for several, the grid with their audits.

    Raises:
        UsageError: invalid arguments, or an extra that is not installed.
        RuleSyntaxError: rules with errors.
        DataError: rows that cannot be read.
        ModelError: the model fails.

    Example:
        >>> import sears_dsl as sears
        >>> def predict(texts):
        ...     return ["bad" if "film" in text else "good" for text in texts]
        >>> rows = [(f"This movie is number {number}.", "good") for number in range(30)]
        >>> result = sears.audit(predict, rows, sears.parse("movie -> film"), scorer=None,
        ...                      max_flip_rate="5%")
        >>> result.passed, result.rules[0].flips.rate
        (False, 1.0)
        >>> both = sears.audit({"brittle": predict, "robust": lambda texts: ["good"] * len(texts)},
        ...                    rows, sears.parse("movie -> film"), scorer=None)
        >>> both.columns["rate"], both.audits["robust"].rules[0].flips.count
        ([1.0, 0.0], 0)
    """
    if scorer is not None:
        need_discovery(otherwise=", or leave the score out: scorer=None")
    from sears_dsl.auditing import running
    from sears_dsl.auditing.audit import ABOUT_LABELS, AuditChoices
    from sears_dsl.auditing.gates import Gates, JudgeBy, read_gate
    from sears_dsl.auditing.slices import read_slicings
    from sears_dsl.data.batches import ReadOptions
    from sears_dsl.discovery.parts import PartsChoice
    from sears_dsl.generating.table import LABEL, TEMPLATE, TEXT
    from sears_dsl.models.loading import named_models
    from sears_dsl.vetting.journal_oracle import open_oracle

    with in_python():
        whole_numbers(1, draws=draws, min_support=min_support, score_at_most=score_at_most,
                      jobs=jobs)  # fmt: skip
        whole_numbers(0, examples=examples)
        whole_numbers(None, seed=seed)
        shares(tau=tau, sure_from=sure_from)
        one_of(get_args(JudgeBy), judge_by=judge_by)
        demanded = Gates(
            flip_rate=_rate("max_flip_rate", max_flip_rate),
            miss_rate=_rate("max_miss_rate", max_miss_rate),
            rows_flipped=_rate("max_rows_flipped", max_rows_flipped),
            own=tuple(read_gate(str(each)) for each in names_of(gates)),
            judge_by=judge_by, support=min_support, require_support=require_support,
        )  # fmt: skip
        rates = rates if isinstance(rates, str) else tuple(map(str, names_of(rates)))
        choice = PartsChoice(
            scorer=_named(scorer), paraphrases=False, tau=tau,
            pivots=names_of(pivots), device=device, jobs=jobs,
        )  # fmt: skip
        rulesets = rulesets_together(rules, unit=unit)
        choice, recorded = (
            running.as_found(choice, rulesets, note=remark)
            if scorer == AS_FOUND
            else (choice, None)
        )
        own = choice.own()
        chosen = tagger_of(tagger, rulesets)
        matcher = running.compile_and_check(rulesets, demanded, tagger=chosen, seed=seed)
        slices, also = names_of(slices), names_of(also)
        names_of_columns(slices=slices, also=also)
        rejecting = None if oracle is None else open_oracle(oracle, rulesets)
        sentences = running.sentences_of(
            rulesets, rejecting, limit=limit if data is None else None, seed=seed, also=also,
            note=remark,
        )  # fmt: skip
        if data is None:
            if sentences is None:
                raise UsageError(
                    "there are no rows: data=None is for templates, and these are rules",
                    help="pass rows: sears.audit(model, rows, rules)",
                )
            text, label, slices = TEXT, LABEL, (*slices, TEMPLATE)
            of_rows = zip(*sentences.columns.values(), strict=True)
            data = [dict(zip(sentences.columns, values, strict=True)) for values in of_rows]
        data = read_once(data)
        columns = read_slicings(data, slices, options=ReadOptions(limit=limit))
        rows = labelled_rows(
            data, text=text, label=label, also=also, protect=protect, spans=spans,
            comparison=comparison, image=image, choices=choices, limit=limit,
        )  # fmt: skip
        show = progress_reporter(on_progress)
        show("loading the model", 0, None)
        several = named_models(model) if isinstance(model, list | tuple | Mapping) else None
        models = {
            name: predictor_of(each, batch_size=batch_size, comparison=comparison)
            for name, each in ({"": model} if several is None else several).items()
        }
        with running.scorer_of_audit(
            choice, own, folder=None, language=matcher.tagger.language, show=show, note=remark
        ) as measure:
            audit_choices = AuditChoices(
                label=label_column(data, label), also=also, comparison=comparison,
                scope=scope, unit=unit, tau=choice.tau, score_at_most=score_at_most, seed=seed,
                sure_from=sure_from, examples=examples, tolerance=_rate("tolerance", tolerance),
                draws=draws, rates=running.read_rates(rates) if rates else (),
            )  # fmt: skip
            audits = {
                name: AuditResult(
                    running.audit_rules(
                        rulesets, rows, predictor, matcher=matcher, scorer=measure,
                        oracle=rejecting, gates=demanded, choices=audit_choices, columns=columns,
                        sentences=sentences, on_stage=show,
                    ),
                    tuple(rulesets),
                )
                for name, predictor in models.items()
            }  # fmt: skip
        if measure is not None and recorded is not None and recorded.scorer != measure.identity:
            remark(running.recorded_otherwise(recorded, measure))
        for sentence in (
            *(f"{name}: {each}" if name else each for name, audit in audits.items()
              for each in audit.document.notes if each.startswith(ABOUT_LABELS)),
            *(each for predictor in models.values() for each in predictor.remarks),
        ):  # fmt: skip
            remark(sentence)
        return audits[""] if several is None else AuditsResult(audits)


def audit_document(source: object) -> AuditDocument:
    """Return the document of an audit, however the audit is given."""
    from sears_dsl.auditing.document import AuditDocument, read_audit

    if isinstance(source, AuditResult):
        return source.document
    if isinstance(source, AuditDocument):
        return source
    if isinstance(source, str | Path):
        return read_audit(Path(source))
    raise UsageError(
        f"an object of type {type(source).__name__} is not an audit",
        help="pass what sears.audit(…) returned, or the folder that `sears audit` wrote",
    )


def named_audits(
    audits: AnyAudit | Sequence[AnyAudit] | Mapping[str, AnyAudit],
) -> dict[str, AuditDocument]:
    """Return name → audit; the names are given, or those of folders, or else numbers."""
    from sears_dsl.auditing.document import read_audits

    if isinstance(audits, Mapping):
        named = {str(name): audit_document(each) for name, each in audits.items()}
        if len(named) < len(audits):
            raise UsageError("two audits have the same name", help="write their names differently")
        return named
    several = audits if isinstance(audits, list | tuple) else [audits]
    if all(isinstance(each, str | Path) for each in several):
        return read_audits(list(map(Path, several)))
    return {f"audit {number}": audit_document(each) for number, each in enumerate(several, 1)}


def _named(scorer: AnyScorer | None) -> AnyScorer:
    if scorer is None:
        return NO_SCORER
    return DEFAULT_SCORER if scorer == AS_FOUND else scorer


def _rate(argument: str, value: object) -> float | None:
    """Read a share between 0 and 1, or in per cent."""
    from sears_dsl.auditing.gates import read_rate

    if value is None:
        return None
    rate = read_rate(str(value))
    if not 0 <= rate <= 1:
        raise UsageError(f"{argument}={value!r} is not a rate", help="write 0.05 or '5%'")
    return rate
