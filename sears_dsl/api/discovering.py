"""``sears.discover`` and ``sears.adversaries``: rules, and single sentences, that flip a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, get_args

from sears_dsl.api.arguments import (
    AnyRules,
    OnProgress,
    in_python,
    label_column,
    labelled_rows,
    names_of,
    one_of,
    predictor_of,
    progress_reporter,
    read_once,
    remark,
    rulesets_of,
    shares,
    tagger_of,
    whole_numbers,
)
from sears_dsl.api.results import (
    Result,
    TableResult,
    bar_label,
    draw_bars,
    file_to_write,
    first_example,
)
from sears_dsl.defaults import DEFAULT_SCORER
from sears_dsl.errors import UsageError, counted, listed
from sears_dsl.language.printer import rule_called
from sears_dsl.runtime.extras import need_discovery

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sears_dsl.answers import Comparison
    from sears_dsl.data.labelled import LabelledRows
    from sears_dsl.discovery.parts import Parts, PartsChoice
    from sears_dsl.discovery.result.found_rules import Discovery, FoundRule
    from sears_dsl.discovery.result.manifest import Manifest
    from sears_dsl.discovery.result.report import Participants
    from sears_dsl.discovery.settings import Across, ProposeFrom
    from sears_dsl.engine.matches import Unit
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.models.cached import CachedPredictor
    from sears_dsl.paraphrasing.plugins import AnyParaphraser, AnyScorer
    from sears_dsl.tagging.tagger import Tagger


@dataclass(eq=False, repr=False)
class DiscoveryResult(Result):
    """The rules that a search found, with its counts, its participants and its tagger."""

    discovery: Discovery
    participants: Participants
    tagger: Tagger

    @property
    def rules(self) -> tuple[FoundRule, ...]:
        """The selected rules with their numbers, in the order of selection."""
        return self.discovery.rules

    @cached_property
    def ruleset(self) -> Ruleset:
        """The rules, with their numbers as ``why`` and sentences of the data as tests."""
        from sears_dsl.discovery.result.report import ruleset_text

        return self._parsed(ruleset_text(self.discovery, "found", tagger=self.tagger), "<found>")

    @cached_property
    def closest(self) -> Ruleset:
        """Rules that flip enough rows, but that readers may reject too often: for people to vet."""
        from sears_dsl.discovery.result.report import closest_text

        text = closest_text(self.discovery, "found.closest", tagger=self.tagger)
        return self._parsed(text, "<found.closest>")

    def _parsed(self, text: str, path: str) -> Ruleset:
        from sears_dsl.language.loader import parse

        return replace(parse(text, path=path), origins=(self.discovery.data.digest,))

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """One row per rule; columns about held-out rows are None if there are none."""
        rules = self.rules
        examples = [each.examples[0] if each.examples else None for each in rules]
        held = [each.held_out for each in rules]
        return {
            "id": [each.id for each in rules],
            "rule": [each.text for each in rules],
            "source": [each.source or "new" for each in rules],
            "flips": [each.flips for each in rules],
            "asked": [each.asked for each in rules],
            "changed": [each.changed for each in rules],
            "flip_rate": [each.flips / max(1, each.asked) for each in rules],
            "low": [each.interval[0] for each in rules],
            "high": [each.interval[1] for each in rules],
            "flips_at_tau": [each.flips_at_tau for each in rules],
            "share_at_tau": [each.at_tau / max(1, each.asked) for each in rules],
            "mean_score": [each.mean_score for each in rules],
            "q_value": [each.q_value for each in rules],
            "held_out_flips": [each and each.flips for each in held],
            "held_out_changed": [each and each.changed for each in held],
            **dict(self._of_models()),
            "original": [each and each.original for each in examples],
            "rewritten": [each and each.rewritten for each in examples],
        }

    @property
    def shown_columns(self) -> Mapping[str, Sequence[Any]]:
        """The columns that the command shows."""
        from sears_dsl.discovery.result.report import rate_cells

        rules = self.rules
        held_out = [f"{each.flips:,} of {each.changed:,}" for rule in rules
                    if (each := rule.held_out) is not None]  # fmt: skip
        counts = [rate_cells(each.flips, each.asked, each.interval) for each in rules]
        return {
            "rule": [rule_called(each.text, each.id) for each in rules],
            "from": [each.source or "new" for each in rules],
            "flips": [flips for flips, _ in counts],
            "rate (95%)": [rate for _, rate in counts],
            "meaning kept": [f"{each.at_tau / max(1, each.asked):.0%}" for each in rules],
            **({"held out": held_out} if held_out else {}),
            **dict(self._of_models()),
            "example": list(map(first_example, rules)),
        }

    @property
    def shown_below(self) -> str:
        """The rules that came closest, and what they lack, if none was found."""
        from sears_dsl.discovery.result.report import what_is_lacking

        whole = self.discovery
        lacks = [f"{each.rule} lacks {what_is_lacking(each, whole)}" for each in whole.closest]
        return f"Closest to passing: {listed(lacks, 3)}." if lacks and not self.rules else ""

    def _of_models(self) -> Iterator[tuple[str, Sequence[Any]]]:
        held = [each.held_out for each in self.rules]
        for place, name in enumerate(self.discovery.models):
            yield f"flips of {name}", [each.flips_of_models[place] for each in self.rules]
            held_out = [each and each.flips_of_models[place] for each in held]
            yield f"held_out_flips of {name}", held_out

    @property
    def summary(self) -> str:
        """How many rules flip how many rows."""
        counts = self.discovery.funnel
        rules = counted(counts.selected, "rule flips", "rules flip")
        rows = f"{counts.rows_flipped:,} of {counts.searched:,} searched rows"
        return f"{rules} {rows} that the model gets right"

    def plot(self, axes: Axes | None = None) -> Axes:
        """The flip rate of each rule with its 95% interval (Wilson)."""
        return draw_bars(
            axes,
            [bar_label(each.text, each.id) for each in self.rules],
            self.columns["flip_rate"],
            [each.interval for each in self.rules],
            title="flips of the rows that a rule changes",
        )

    def save(self, path: str | Path) -> Manifest:
        """Write what `sears discover -o` writes: the rules, `closest`, manifests, a report.

        Args:
            path: of the ruleset, ``NAME.sear``; the others go beside it.

        Returns:
            The manifest.

        Raises:
            UsageError: the path does not end in .sear.
            DataError: a file cannot be written.
        """
        from sears_dsl.discovery.result.report import write_discovery

        return write_discovery(
            self.discovery, file_to_write(path), participants=self.participants, tagger=self.tagger
        )


@dataclass(eq=False, repr=False)
class AdversaryResult(TableResult):
    """Paraphrases that flip a model; with ``every``, also rewordings that do not.

    Columns: row (from 1), original, adversary, score, label, prediction. With ``unit="sentence"``
    or ``avoid_important`` also: before (the model's answer to the original), flips (yes or no), and
    words (those that were avoided, with their weights, as JSON).

    Attributes:
        right: how many rows the model gets right.
        rows_flipped: for how many of them an adversary was found.
        skipped: how many rows there was no time to reword.
        cut_short: the stages that the time budget cut short.
    """

    _columns: Mapping[str, Sequence[Any]]
    right: int
    rows_flipped: int
    skipped: int
    cut_short: tuple[str, ...]

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """One row per adversary."""
        return self._columns

    @property
    def summary(self) -> str:
        """How many rows can be reworded so that the model fails."""
        right = f"the {counted(self.right, 'row')} that the model gets right"
        sentence = f"{self.rows_flipped:,} of {right} can be reworded so that it fails"
        return f"{sentence}; the time budget cut the search short" if self.cut_short else sentence


@contextmanager
def _open_search(
    model: object,
    data: LabelledRows,
    choice: PartsChoice,
    *,
    comparison: Comparison,
    batch_size: int | None,
    tagger: Tagger | str | None,
    on_progress: OnProgress | None,
    confidence: bool = False,
    wrong_rows: bool = False,
    most: int | None = None,
) -> Iterator[tuple[LabelledRows, CachedPredictor, Tagger, Parts]]:
    """Open what a search works with, and check the rows."""
    from sears_dsl.discovery.parts import check_rows, open_parts

    show = progress_reporter(on_progress)
    choice.require_scorer()
    own = choice.own()
    show("loading the model", 0, None)
    predictor = predictor_of(model, batch_size=batch_size, comparison=comparison)
    chosen = tagger_of(tagger)
    data = check_rows(data, predictor, own, comparison=comparison, confidence=confidence,
                      wrong_rows=wrong_rows, most=most, show=show, note=remark)  # fmt: skip
    with open_parts(
        choice, own, folder=None, language=chosen.language, show=show, note=remark
    ) as parts:
        yield data, predictor, chosen, parts
    for sentence in predictor.remarks:
        remark(sentence)


def discover(
    model: object,
    data: object,
    *,
    text: str | None = None,
    label: str | None = None,
    also: Sequence[str] = (),
    image: str | None = None,
    choices: str | None = None,
    protect: Sequence[str] = (),
    spans: Sequence[str] = (),
    rules: int = 10,
    delta: float = 0.1,
    tau: float | None = None,
    minimum_flips: int | None = None,
    minimum_frequency: float = 0.005,
    propose_from: ProposeFrom | None = None,
    across: Across = "any",
    known: AnyRules | object = (),
    readings: str | Path | Sequence[str | Path] = (),
    with_shipped: bool = True,
    more_text: object = None,
    max_questions: int | None = None,
    holdout: float | None = None,
    seed: int = 0,
    budget_seconds: float | None = None,
    paper: bool = False,
    scorer: AnyScorer | None = None,
    paraphraser: AnyParaphraser | None = None,
    pivots: Sequence[str] = (),
    beam: int | None = None,
    device: str = "cpu",
    jobs: int | None = None,
    comparison: Comparison = "exact",
    limit: int | None = None,
    sample: int | None = None,
    batch_size: int | None = None,
    tagger: Tagger | str | None = None,
    on_progress: OnProgress | None = None,
) -> DiscoveryResult:
    """Find the few rules that make a model fail most without changing the meaning.

    Does what `sears discover` does, with the same defaults; answers and paraphrases stay in memory.

    Args:
        model: a function of a list of texts that gives labels, an estimator or object with
            ``predict``, a text-classification pipeline of transformers, a specification such as
            ``sklearn:model.joblib``, ``module:object``; or a list or dictionary of several.
        data: labelled rows: a data frame of pandas or polars, a Hugging Face dataset, a list of
            dictionaries or of pairs (text, label), a table of Arrow, or the path of a file. Where
            a ``ClassLabel`` numbers labels and the model answers its names, the names are labels.
        text: the column that rules rewrite; None infers it.
        label: the column of labels; None if there is none, and the model's own answers count as
            right. For pairs it is the second element.
        also: further columns that the model reads, such as the context of a question.
        image: a column of paths of pictures, from the folder of the data; the model reads it.
        choices: a column of the answers to choose from; the model reads it.
        protect: columns whose content stays intact in the rewritten text.
        spans: columns of spans that follow it, such as ``"context=answer_start+answer"``; rewrites
            that would touch one are left out.
        rules: most rules to select.
        delta: share of a rule's rows that may fall below τ.
        tau: the S from which texts count as equivalent; None for the scorer's own.
        minimum_flips: drop rules that flip fewer rows; None is 3, or 2 if fewer than 200 rows are
            searched; for known rules 2, or 1 if fewer than ``rules`` of them flip enough.
        minimum_frequency: share of rows in which a rule's antecedent must occur.
        propose_from: in the paper's order, what rules are generalized from; None is
            ``adversaries``, as in the paper. Elsewhere it is ``paraphrases``.
        across: for several models, find rules that make ``any`` fail, that they share
            (``shared``), or that tell them ``apart``.
        known: rules that readers have accepted, which are tried first, as `audit` takes them.
        readings: journals of ``sears vet``, whose verdicts on rewrites count in the judge.
        with_shipped: whether the shipped rules are tried first, too.
        more_text: unlabelled rows of the same kind, on which rules are judged as well.
        max_questions: most questions to the model; None is 20 for each right row.
        holdout: share of right rows kept out of the search to measure its rules on; None is 0.3
            from a hundred right rows on, and 0 below.
        seed: of the holdout and the sample.
        budget_seconds: time for the search, which then returns the best found so far.
        paper: use the order and the settings of the paper (ACL 2018) where you choose none.
        scorer: says whether meaning is kept: ``judge``, ``meaning``, ``pivot``, ``minilm``, or a
            function of pairs (original, rewrite) that returns numbers from 0 to 1. None is
            ``judge``, and ``pivot`` with ``paper``.
        paraphraser: your own rewordings instead of translation models: a function of sentences,
            a mapping, a file of pairs.
        pivots: languages to translate through and back; empty for the one that comes with packages.
        beam: width of the search for paraphrases; None is 30.
        device: ``cpu`` or ``cuda``.
        jobs: processes that translate; None for one per core, eight at most.
        comparison: how an answer is compared with the label, as `sears_dsl.answers` has them.
        limit: read only so many rows, the first ones.
        sample: use only so many rows, drawn at random; each label keeps its share.
        batch_size: rows per call of the model.
        tagger: a tagger or its name; None for the default.
        on_progress: called with each stage's name, the number done and the total, and, after the
            trial of known rules, with what the search will take.

    Raises:
        UsageError: invalid arguments, or an extra that is not installed.
        DataError: rows that cannot be read, or the model has none of them right.
        ModelError: the model fails.

    Example:
        >>> import sears_dsl as sears
        >>> def predict(texts):
        ...     return ["bad" if "film" in text else "good" for text in texts]
        >>> def reword(sentences):
        ...     return [[each.replace("movie", "film")] for each in sentences]
        >>> nouns = ("plot", "cast", "score", "pace", "end", "start")
        >>> rows = [(f"A movie with a good {noun}.", "good") for noun in nouns]
        >>> result = sears.discover(
        ...     predict, rows, paraphraser=reword, scorer=lambda pairs: [1.0 for _ in pairs],
        ...     tau=0.5, with_shipped=False)
        >>> result.columns["rule"], result.rules[0].flips
        (['movie -> film'], 6)

    Source: "Semantically Equivalent Adversarial Rules for Debugging NLP Models", ACL 2018.
    """
    began = monotonic()
    need_discovery()
    from sears_dsl.data.labelled import read_texts
    from sears_dsl.discovery.algorithm import discover as search
    from sears_dsl.discovery.cost import estimate_search
    from sears_dsl.discovery.known_rules import load_known
    from sears_dsl.discovery.parts import PartsChoice, participants_of
    from sears_dsl.discovery.settings import Across, ProposeFrom, Settings, paper_choices
    from sears_dsl.vetting.journal_oracle import read_readings

    settable: dict[str, Any] = {
        "scorer": scorer, "tau": tau, "delta": delta, "minimum_flips": minimum_flips,
        "minimum_frequency": minimum_frequency, "propose_from": propose_from,
    }  # fmt: skip
    chosen = {name: value for name, value in settable.items() if value is not None}
    of_known = known if isinstance(known, list | tuple) else [known]
    with in_python(text="more_text"):
        if paper:
            chosen |= paper_choices(chosen, known=bool(of_known), text=more_text is not None)
            del chosen["no_known"]  # `with_shipped` says it
        chosen_scorer = chosen.pop("scorer", DEFAULT_SCORER)
        whole_numbers(1, rules=rules, minimum_flips=minimum_flips, max_questions=max_questions,
                      beam=beam, jobs=jobs)  # fmt: skip
        whole_numbers(None, seed=seed)
        shares(delta=delta, tau=tau, minimum_frequency=minimum_frequency, holdout=holdout)
        one_of(get_args(ProposeFrom), propose_from=chosen.get("propose_from", "paraphrases"))
        one_of(get_args(Across), across=across)
        settings = Settings(
            rules=rules, holdout=holdout, seed=seed, max_questions=max_questions,
            budget_seconds=budget_seconds, comparison=comparison, across=across,
            order="paper" if paper else "meaning", **chosen,
        )  # fmt: skip
        choice = PartsChoice(
            scorer=chosen_scorer, paraphraser=paraphraser, tau=settings.tau,
            pivots=names_of(pivots), beam=beam, device=device, jobs=jobs,
            readings=read_readings(names_of(readings)),
        )  # fmt: skip
        data, also = read_once(data), names_of(also)
        rows = labelled_rows(
            data, text=text, label=label, also=also, protect=protect, spans=spans,
            comparison=comparison, image=image, choices=choices, limit=limit, sample=sample,
            seed=seed,
        )  # fmt: skip
        named = [str(each) for each in of_known if isinstance(each, str | Path)]
        rulesets = rulesets_of([each for each in of_known if not isinstance(each, str | Path)])
        others = [] if more_text is None else read_texts(read_once(more_text), like=text)
        with _open_search(
            model, rows, choice, comparison=comparison, batch_size=batch_size, tagger=tagger,
            on_progress=on_progress, most=settings.questions_for_rows,
        ) as (rows, predictor, searching, parts):  # fmt: skip
            show = progress_reporter(on_progress)
            discovery = search(
                rows, predictor, paraphraser=parts.paraphraser, scorer=parts.scorer,
                tagger=searching, settings=settings, text=others,
                known=load_known(named, rulesets=rulesets, tagger=searching,
                                 with_shipped=with_shipped and not paper, note=remark),
                journal=parts.journal, on_progress=show, began=began,
                before_search=lambda right: show(
                    str(estimate_search(right, predictor, parts.team)), 0, None),
            )  # fmt: skip
            label = label_column(data, label)
            participants = participants_of(predictor, parts, label=label, also=also)
            return DiscoveryResult(discovery, participants, searching)


def adversaries(
    model: object,
    data: object,
    *,
    text: str | None = None,
    label: str | None = None,
    also: Sequence[str] = (),
    image: str | None = None,
    choices: str | None = None,
    protect: Sequence[str] = (),
    spans: Sequence[str] = (),
    top: int = 1,
    unit: Unit = "text",
    avoid_important: int = 0,
    every: bool = False,
    tau: float | None = None,
    seed: int = 0,
    budget_seconds: float | None = None,
    scorer: AnyScorer = DEFAULT_SCORER,
    paraphraser: AnyParaphraser | None = None,
    pivots: Sequence[str] = (),
    beam: int | None = None,
    device: str = "cpu",
    jobs: int | None = None,
    comparison: Comparison = "exact",
    limit: int | None = None,
    sample: int | None = None,
    batch_size: int | None = None,
    tagger: Tagger | str | None = None,
    on_progress: OnProgress | None = None,
) -> AdversaryResult:
    """Find paraphrases that flip the model, the best for each row that it gets right.

    Does what `sears adversaries` does, with the same defaults.

    Args:
        model: as `discover` takes it.
        data: as `discover` takes it.
        text: the column that is reworded; None infers it.
        label: the column of labels; None where there is none.
        also: further columns that the model reads.
        image: a column of paths of pictures, from the folder of the data; the model reads it.
        choices: a column of the answers to choose from; the model reads it.
        protect: columns whose content stays intact in the rewritten text.
        spans: columns of spans that follow it, as `discover` takes them.
        top: most adversaries of a row.
        unit: what is reworded at once. With ``sentence`` each sentence is reworded once by itself,
            unless it holds something protected.
        avoid_important: keep so many words out of the rewordings: those on which the answer depends
            most when one word at a time is left out. The model has to say how sure it is.
        every: with one of these two, also return rewordings that do not flip, and those of rows
            that the model has wrong.
        tau: the S from which texts count as equivalent; None for the scorer's own.
        seed: of the sample.
        budget_seconds: time for the search.
        scorer: says whether meaning is kept.
        paraphraser: your own rewordings instead of translation models.
        pivots: languages to translate through and back.
        beam: width of the search for paraphrases; None is 30.
        device: ``cpu`` or ``cuda``.
        jobs: processes that translate.
        comparison: how an answer is compared with the label.
        limit: read only so many rows, the first ones.
        sample: use only so many rows, drawn at random.
        batch_size: rows per call of the model.
        tagger: a tagger or its name.
        on_progress: called with the progress of each stage.

    Raises:
        UsageError: invalid arguments, or an extra that is not installed.
        DataError: rows that cannot be read, or the model has none of them right.
        ModelError: the model fails.

    Example:
        >>> import sears_dsl as sears
        >>> result = sears.adversaries(
        ...     lambda texts: ["bad" if "film" in text else "good" for text in texts],
        ...     [("A good movie.", "good")],
        ...     paraphraser={"A good movie.": ["A good film."]},
        ...     scorer=lambda pairs: [1.0 for _ in pairs], tau=0.5)
        >>> result.columns["adversary"], result.summary[:40]
        (['A good film.'], '1 of the 1 row that the model gets right')
    """
    began = monotonic()
    need_discovery()
    from sears_dsl.discovery.adversaries import (
        StrategicSettings,
        adversary_columns,
        best_of_each_row,
        reword,
        reworded_columns,
    )
    from sears_dsl.discovery.algorithm import adversaries_of
    from sears_dsl.discovery.parts import PartsChoice
    from sears_dsl.discovery.settings import Settings
    from sears_dsl.effects.flips import are_right
    from sears_dsl.engine.matches import Unit

    strategic = unit == "sentence" or avoid_important != 0
    with in_python(all="every"):
        whole_numbers(1, top=top, beam=beam, jobs=jobs)
        whole_numbers(0, avoid_important=avoid_important)
        one_of(get_args(Unit), unit=unit)
        whole_numbers(None, seed=seed)
        if strategic and (top > 1 or budget_seconds is not None):
            option = f"--top {top}" if top > 1 else f"--budget-seconds {budget_seconds}"
            raise UsageError(f"{option} is for rewordings of whole texts", help="leave it out")
        if every and not strategic:
            raise UsageError(
                "--all is for rewordings of sentences, or without important words",
                help="add --unit sentence or --avoid-important 5, or leave it out",
            )
        settings = Settings(tau=tau, comparison=comparison, budget_seconds=budget_seconds)
        choice = PartsChoice(
            scorer=scorer, paraphraser=paraphraser, tau=tau, pivots=names_of(pivots),
            beam=beam, device=device, jobs=jobs,
        )  # fmt: skip
        rows = labelled_rows(
            read_once(data), text=text, label=label, also=also, protect=protect, spans=spans,
            comparison=comparison, image=image, choices=choices, limit=limit, sample=sample,
            seed=seed,
        )  # fmt: skip
        with _open_search(
            model, rows, choice, comparison=comparison, batch_size=batch_size, tagger=tagger,
            on_progress=on_progress, confidence=avoid_important > 0, wrong_rows=every,
        ) as (rows, predictor, searching, parts):  # fmt: skip
            show = progress_reporter(on_progress)
            if strategic:
                strategy = StrategicSettings(
                    avoid=avoid_important, unit=unit, tau=parts.scorer.tau if tau is None else tau,
                    comparison=comparison, wrong_rows=every,
                )  # fmt: skip
                rewordings = reword(
                    rows, predictor, paraphraser=parts.paraphraser, scorer=parts.scorer,
                    tagger=searching, journal=parts.journal, settings=strategy, on_stage=show,
                    note=remark,
                )  # fmt: skip
                return AdversaryResult(
                    reworded_columns([each for each in rewordings if each.flips or every], rows),
                    right=int(are_right(rows, predictor, comparison=comparison).sum()),
                    rows_flipped=sum(each.flips for each in rewordings),
                    skipped=0,
                    cut_short=(),
                )
            right, search, skipped, cut_short = adversaries_of(
                rows, predictor, paraphraser=parts.paraphraser, scorer=parts.scorer,
                tagger=searching, settings=settings, journal=parts.journal, on_progress=show,
                began=began,
            )  # fmt: skip
            best = best_of_each_row(search.adversaries, top)
            return AdversaryResult(
                adversary_columns(best, rows, right),
                right=len(right),
                rows_flipped=len({each.row for each in search.adversaries}),
                skipped=skipped,
                cut_short=cut_short,
            )
