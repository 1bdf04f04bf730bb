"""What rewords sentences and what scores pairs: shipped parts or the user's own.

    choice ──▶ own parts (checked, imported) ──▶ a team of processes for the rest ──▶ `Parts`

What is wrong with a part, or with choices that make no sense together, is an error before rows are
read and the model is asked. Torch, transformers and models are loaded when the parts are first
asked for something. Until then the cost is the import of the user's own parts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sears_dsl.defaults import BEAM_WIDTH, DEFAULT_SCORER, ENGLISH_SCORERS, NO_SCORER, SCORER_NAMES
from sears_dsl.effects.asked_model import OnStage, require_confidence, try_model, with_labels_of
from sears_dsl.errors import DataError, UsageError, counted
from sears_dsl.meaning.scorers import Scorer, fit_warning, load_scorer, require_judge, translates
from sears_dsl.paraphrasing.plugins import (
    AnyParaphraser,
    AnyScorer,
    GivenParaphrases,
    as_paraphraser,
    as_scorer,
    identity_of_source,
)
from sears_dsl.paraphrasing.prompted import PromptedPart
from sears_dsl.runtime.database import RunJournal
from sears_dsl.runtime.interrupts import import_whole
from sears_dsl.runtime.processes import usable_cores

if TYPE_CHECKING:
    from sears_dsl.answers import Comparison
    from sears_dsl.data.labelled import LabelledRows
    from sears_dsl.discovery.result.report import Participants
    from sears_dsl.judge.readings import Reading
    from sears_dsl.models.cached import CachedPredictor
    from sears_dsl.models.predictor import Predictor
    from sears_dsl.paraphrasing.memory import ParaphraseSource
    from sears_dsl.paraphrasing.team import Team

# The folders whose code decides what is in the journal of a search.
_REWORD_AND_SCORE = ("judge", "meaning", "paraphrasing", "tagging", "translation")

# Each process has its own models, some 700 MiB.
_MOST_JOBS = 8


@dataclass(frozen=True, kw_only=True)
class PartsChoice:
    """What a person chooses about paraphrases and scores."""

    # What says whether the meaning is kept: anything that `as_scorer` takes, or ``none``
    scorer: AnyScorer = DEFAULT_SCORER
    # The user's own source of paraphrases, as `as_paraphraser` takes it; None for the search
    # through translation models
    paraphraser: AnyParaphraser | None = None
    paraphrases: bool = True
    tau: float | None = None  # the least S of equivalent texts; None for the scorer's own
    # Languages to translate through; none for the pair that packages carry
    pivots: tuple[str, ...] = ()
    beam: int | None = None  # width of the search for paraphrases; None for `BEAM_WIDTH`
    device: str = "cpu"
    jobs: int | None = None  # processes that translate; None for as many as cores, eight at most
    # The user's own readings of rewrites, which count in the judge
    readings: tuple[Reading, ...] = ()

    def __post_init__(self) -> None:
        _require_device(self.device)

    def in_language(self, language: str, note: Callable[[str], None]) -> PartsChoice:
        """The choice for texts of a language; outside English, parts for English are replaced."""
        scorer, pivots = scorer_in_language(self.scorer, self.pivots, language, note=note)
        if scorer != self.scorer and self.readings:
            raise UsageError(
                f"readings count in the judge, which is calibrated for English, not for {language}",
                help="leave out --readings",
            )
        return replace(self, scorer=scorer, pivots=pivots)

    def require_scorer(self) -> None:
        """Refuse a search in which nothing would say what keeps the meaning."""
        if self.scorer == NO_SCORER:
            raise UsageError(
                "nothing would say whether a paraphrase keeps the meaning",
                help="leave out --scorer none; --tau 0 lets every paraphrase pass",
            )

    def own(self) -> OwnParts:
        """The user's parts, ready; an error where one cannot be read or imported."""
        if self.readings:
            require_judge(self.scorer)
        searched = self.paraphrases and self.paraphraser is None
        scorer = _own_scorer(self.scorer, pivots=self.pivots, tau=self.tau, searched=searched)
        if scorer is not None:
            _ = scorer.tau  # raises if it has none, before anything else is done
        if self.paraphraser is None:
            return OwnParts(scorer=scorer)
        if self.beam is not None:
            raise UsageError(
                "--beam is for the search through translation models, which --paraphrases replaces",
                help="leave one of them out",
            )
        return OwnParts(as_paraphraser(self.paraphraser), scorer)


def _require_device(device: object) -> None:
    if str(device).partition(":")[0] not in ("cpu", "cuda", "None"):
        raise UsageError(f"--device {device!r} is not valid", help="choose cpu or cuda")


def scorer_in_language(
    scorer: AnyScorer,
    pivots: tuple[str, ...],
    language: str,
    *,
    note: Callable[[str], None] = lambda _: None,
) -> tuple[AnyScorer, tuple[str, ...]]:
    """The scorer for texts of a language, and the pivots that they are translated through.

    The shipped scorers are calibrated for English. In another language the paper's score replaces
    the judge, which is the default: it works by the translation models of that language.
    """
    from sears_dsl.translation.model_files import languages_of  # noqa: PLC0415 - as asked for

    for name in pivots:
        home = languages_of(name.partition("=")[0])[0]
        if home != language:
            other = home if language == "en" else f"{language}-en"
            raise UsageError(
                f"the pivot {name} is for sentences in {home}, and these are in {language}",
                help=f"--pivot {other}; or a tagger for {home}, where the texts are in {home}: "
                "--tagger fast:pt, or spacy:PACKAGE",
            )
    if language == "en":
        return scorer, pivots
    if scorer in ENGLISH_SCORERS:
        if scorer != DEFAULT_SCORER:
            raise UsageError(
                f"the scorer {scorer} reads only English, and these texts are in {language}",
                help="choose --scorer pivot, which works by translation, or one of your own",
            )
        note(
            f"note: the judge is calibrated for English, not for {language}: the paper's score "
            "(pivot) is used instead, but its threshold was fitted on English too; read the rules "
            "that it lets pass"
        )
        scorer = "pivot"
    return scorer, pivots or (f"{language}-en",)


@dataclass(frozen=True, slots=True)
class OwnParts:
    """The user's own parts; None where a shipped part is used."""

    paraphraser: ParaphraseSource | None = None
    scorer: Scorer | None = None


def check_rows(
    data: LabelledRows,
    predictor: CachedPredictor,
    own: OwnParts,
    *,
    comparison: Comparison,
    confidence: bool = False,
    wrong_rows: bool = False,
    most: int | None = None,
    show: OnStage = lambda stage, done, total: None,
    note: Callable[[str], None] = lambda _: None,
) -> LabelledRows:
    """Find what cannot work before an hour of work; return the rows with labels as answered.

    The model is asked about no more than the first ``most`` distinct rows, the first that a search
    asks about, so that its limit of questions holds. With ``wrong_rows``, rows that the model has
    wrong are worked with too, so it need not have any right.
    """
    data.require_characters()
    if isinstance(own.paraphraser, GivenParaphrases):
        _check_paraphrases(own.paraphraser, data.texts, note)
    show("trying the model", 0, None)
    if confidence:
        require_confidence(data, predictor)
    labelled = with_labels_of(data, predictor, most=most)
    for sentence in labelled.notes[len(data.notes) :]:
        note(f"note: {sentence}")
    data = labelled
    for sentence in try_model(
        data, predictor, comparison=comparison, most=most, all_may_be_wrong=wrong_rows
    ):
        note(f"note: {sentence}")
    return data


def _check_paraphrases(
    source: GivenParaphrases, texts: Sequence[str], note: Callable[[str], None]
) -> None:
    """Note how many rows have no given paraphrase; it is an error if no row has one."""
    missing = sum(not paraphrases for paraphrases in source.paraphrase(texts))
    rows = counted(len(texts), "row")
    if texts and missing == len(texts):
        raise DataError(
            f"none of the {rows} has a paraphrase in {source.name}",
            help="its originals must equal the texts of the rows exactly; is --column the column "
            "that was reworded?",
        )
    if missing:
        has = "has" if missing == 1 else "have"
        note(f"{missing:,} of {rows} {has} no paraphrase in {source.name}")


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What rewords sentences and what scores pairs; both are loaded when first asked."""

    paraphraser: ParaphraseSource
    scorer: Scorer
    team: Team
    journal: RunJournal


@contextmanager
def open_parts(
    choice: PartsChoice,
    own: OwnParts,
    *,
    folder: Path | None,
    language: str | None = None,
    show: OnStage = lambda stage, done, total: None,
    note: Callable[[str], None] = lambda _: None,
) -> Iterator[Parts]:
    """Open what rewords sentences, if that is wanted, and what scores pairs.

    The journal lies in ``folder``, or in memory if that is None. ``language`` is that of the texts,
    see `scorer_in_language`; None stands for that of the pivots.
    """
    from sears_dsl.paraphrasing.team import Recipe, Team  # noqa: PLC0415
    from sears_dsl.translation.model_files import check_model, pair_names  # noqa: PLC0415

    if language is not None:
        choice = choice.in_language(language, note)
    for name in choice.pivots:
        for model in pair_names(name)[1:]:
            check_model(model, pivot=None if "=" in name else name)
    shipped = choice.scorer if choice.scorer in SCORER_NAMES else None
    recipe = Recipe(
        pivots=choice.pivots, scorer=str(shipped) if shipped else None,
        paraphrases=choice.paraphrases and own.paraphraser is None,
        beam=BEAM_WIDTH if choice.beam is None else choice.beam, tau=choice.tau,
        device=choice.device, readings=choice.readings,
    )  # fmt: skip
    team = Team(
        recipe,
        jobs=choice.jobs or (min(usable_cores(), _MOST_JOBS) if choice.device == "cpu" else 1),
        on_loading=lambda: show("loading models", 0, None),
    )
    path = None if folder is None else folder / "journal.sqlite3"
    parts: tuple[object, ...] = (own.paraphraser, own.scorer)
    for part in parts:
        if isinstance(part, PromptedPart):
            part.announce = note
    try:
        with RunJournal(path, task=lambda: _task(team, own, note)) as journal:
            yield Parts(
                paraphraser=team if own.paraphraser is None else own.paraphraser,
                scorer=team if own.scorer is None else own.scorer,
                team=team,
                journal=journal,
            )
    finally:
        team.close()
        for part in parts:
            for remark in getattr(part, "remarks", ()):
                note(remark)


def _task(team: Team, own: OwnParts, note: Callable[[str], None]) -> str:
    """What paraphrases and scores depend on; notes if nobody knows what scores mean."""
    from sears_dsl import __version__  # noqa: PLC0415 - the package is not read for a constant
    from sears_dsl.discovery.result.report import package_versions  # noqa: PLC0415 - brings pydantic

    recipe = team.recipe
    if recipe.scorer is not None:
        strange = fit_warning(recipe.scorer, team.loaded.pivots, tau=recipe.tau)
        if strange:
            note(f"note: {strange}")
    lines = [*team.loaded.pivots, team.identity if own.scorer is None else own.scorer.identity]
    if own.paraphraser is None:
        lines += [f"beam {recipe.beam}", f"{team.loaded.search}"]
    else:
        lines.append(f"paraphrases {identity_of_source(own.paraphraser)}")
    versions = {
        "sears": __version__,
        "sears code": _code_of_search(),
        **package_versions(),
        "device": recipe.device,
    }
    return "\n".join(lines + [f"{name} {version}" for name, version in versions.items()])


def _code_of_search() -> str:
    """A hash of the code that rewords and scores.

    A checkout changes without a new version of the package, and the results of one state of the
    code must not be mixed with those of another.
    """
    package = Path(__file__).parents[1]
    paths = [path for folder in _REWORD_AND_SCORE for path in (package / folder).rglob("*.py")]
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def participants_of(
    predictor: Predictor, parts: Parts, *, label: str | None, also: Sequence[str] = ()
) -> Participants:
    """Who took part: the model, and the parts that reworded and scored, which are loaded by now."""
    from sears_dsl.discovery.result.manifest import SearchRecord  # noqa: PLC0415 - brings pydantic
    from sears_dsl.discovery.result.report import Participants  # noqa: PLC0415 - likewise

    team = parts.team
    searched = team.recipe.paraphrases
    search = None
    if team.loaded.search is not None:
        search = SearchRecord(
            **team.loaded.search._asdict(), device=team.recipe.device, threads=team.loaded.threads
        )
    return Participants(
        model=predictor.identity, pivots=team.loaded.pivots, scorer=parts.scorer.identity,
        beam=team.recipe.beam if searched else None, label=label, also=tuple(also), search=search,
        paraphraser=None if searched else identity_of_source(parts.paraphraser),
    )  # fmt: skip


def load_chosen_scorer(
    name: AnyScorer,
    *,
    pivots: Sequence[str] = (),
    tau: float | None = None,
    device: str | None = None,
    language: str | None = None,
) -> Scorer:
    """Load a scorer that works in this process; for ``language`` see `scorer_in_language`."""
    _require_device(device)
    if language is not None:
        name, pivots = scorer_in_language(name, tuple(pivots), language)
    own = _own_scorer(name, pivots=pivots, tau=tau)
    if own is not None:
        return own
    loaded = None
    if pivots:
        # Torch takes seconds, so it comes after all that can go wrong without it.
        import_whole("torch")
        from sears_dsl.translation.pivots import load_pivots  # noqa: PLC0415

        loaded = load_pivots(tuple(pivots), device=device)
    return load_scorer(str(name), pivots=loaded, tau=tau, device=device)


def _own_scorer(
    scorer: AnyScorer, *, pivots: Sequence[str], tau: float | None, searched: bool = False
) -> Scorer | None:
    """The user's own scorer; None where a shipped one, or none, is named.

    If paraphrases are ``searched`` by translation, pivots may be for that search alone.
    """
    if scorer == NO_SCORER:
        return None
    name = scorer if isinstance(scorer, str) else getattr(scorer, "name", type(scorer).__name__)
    if pivots and not searched and not translates(name):
        raise UsageError(f"{name} has no pivot", help="leave --pivot out, or choose another scorer")
    return None if scorer in SCORER_NAMES else as_scorer(scorer, tau=tau)
