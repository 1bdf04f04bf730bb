"""A sitting: from a ruleset, rows and a model to the page on which people judge it.

    `VettingPlace` ──▶ locked journals ──▶ workbench ──▶ a session for each reviewer ──▶ page

In: the ruleset, the paths for decisions, rows, a model and choices. Out: sessions and the
application that serves them. Templates need neither rows nor a model. Each reviewer has a journal
of her own. A new journal in which nothing was decided is removed at the end. Costs tagging the rows
and asking the model about them and their rewrites.
"""

from __future__ import annotations

import getpass
import re
import secrets
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any

from sears_dsl.effects.asked_model import with_labels_of
from sears_dsl.effects.label_names import never_answered
from sears_dsl.effects.oracle import Oracle
from sears_dsl.errors import DataError, SearsError, UsageError
from sears_dsl.language.loader import load
from sears_dsl.runtime.files import are_same
from sears_dsl.tagging.cache import TagCache
from sears_dsl.tagging.tagger import Tagger, needs_cache
from sears_dsl.tagging.tokens import cut_contractions
from sears_dsl.vetting.journal import REVIEWER, Journal, read_journal, ruleset_digest
from sears_dsl.vetting.merging import read_reviews
from sears_dsl.vetting.outputs import check_output, write_vetted, written_sentence
from sears_dsl.vetting.review.rule_session import RuleSession
from sears_dsl.vetting.review.sessions import ReviewSession
from sears_dsl.vetting.review.workbench import Workbench, choices_of_rules, read_choices
from sears_dsl.vetting.web.routes import application
from sears_dsl.vetting.web.security import hosts_of

if TYPE_CHECKING:
    from sears_dsl.answers import Comparison
    from sears_dsl.data.labelled import LabelledRows
    from sears_dsl.effects.asked_model import OnStage
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.meaning.scorers import Scorer
    from sears_dsl.models.cached import CachedPredictor


_JOURNAL = ".vetting.jsonl"


@dataclass(frozen=True, slots=True)
class VettingPlace:
    """The ruleset, and the paths of the vetted one and of each reviewer's journal."""

    ruleset: Ruleset
    output: Path
    journals: Mapping[str, Path]


@dataclass(frozen=True, kw_only=True)
class VettingInputs:
    """What people judge with: arguments of `sears.vet`; tags are cached on disk if that pays."""

    data: LabelledRows
    predictor: CachedPredictor
    tagger: Tagger
    scorer: Scorer | None = None
    tau: float | None = None
    comparison: Comparison = "exact"
    most: int = 20
    adversaries: str | None = None
    oracle: Oracle | None = None
    cached: bool = True

    def sessions(
        self,
        ruleset: Ruleset,
        journals: Mapping[str, Journal],
        *,
        show: OnStage,
        note: Callable[[str], None],
    ) -> dict[str, RuleSession]:
        """Create a session for each reviewer."""
        # Read before the model is asked, so that an unreadable file is reported at once.
        chosen = None if self.adversaries is None else read_choices(self.adversaries)
        show("tagging rows", 0, len(self.data.rows))
        tagger = self.tagger
        with TagCache() if self.cached and needs_cache(tagger.name) else nullcontext() as cache:
            cached = tagger if cache is None else cache.in_front_of(tagger)
            tokens = cut_contractions(cached.tag(self.data.texts))
        data = with_labels_of(self.data, self.predictor)
        for sentence in data.notes[len(self.data.notes) :]:
            note(sentence)
        bench = Workbench(
            ruleset, data, self.predictor, tokens=tokens,
            tagger=self.tagger, scorer=self.scorer, tau=self.tau, oracle=self.oracle,
            comparison=self.comparison, on_progress=show,
        )  # fmt: skip
        never = never_answered(
            data, dict(enumerate(bench.before)), comparison=self.comparison,
            models=self.predictor.models,
        )  # fmt: skip
        if never:
            note(f"note: {never}")
        if bench.rejected and not len(bench.table.answers):
            raise DataError(
                f"the oracle rejects all {bench.rejected:,} rewrites, so there is nothing to judge",
                help="it has to return true for a rewrite to keep, and false for one to reject",
            )
        if bench.rejected:
            note(f"the oracle rejected {bench.rejected:,} rewrites, which are not shown")
        choices = choices_of_rules(bench, bench.table) if chosen is None else chosen
        return {
            name: RuleSession(bench, journal, most=self.most, choices=choices)
            for name, journal in journals.items()
        }


def place_of(
    ruleset: Ruleset,
    *,
    folder: Path,
    reviewers: Sequence[str] = (),
    output: Path | None = None,
    journal: Path | None = None,
) -> VettingPlace:
    """Return where the decisions about a ruleset go."""
    stem = Path(ruleset.path).stem
    names = tuple(reviewers) or (_user(),)
    for name in names:
        if not isinstance(name, str) or not REVIEWER.fullmatch(name):
            raise UsageError(
                f"--reviewer {name!r} is not a name",
                help="a name consists of letters, digits, dots, - and _",
            )
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise UsageError(f"the reviewer {repeated} was named twice", help="give each name once")
    if journal is not None and len(names) > 1:
        raise UsageError("--journal is for a single reviewer", help="leave out --journal")
    if not ruleset.rules and not ruleset.templates:
        raise UsageError(
            f"{ruleset.path} has no rules", help="name a ruleset with rules or templates to judge"
        )
    target = output or folder / f"{stem}.vetted.sear"
    # Now, not when everything was judged.
    check_output(target, ruleset, read=() if journal is None else (journal,))
    journals = {name: journal or target.with_name(f"{stem}.{name}{_JOURNAL}") for name in names}
    return VettingPlace(ruleset, target, journals)


def journals_beside(place: VettingPlace) -> list[Path]:
    """Journals of other reviewers about the same rules, with decisions, where ours are.

    A damaged one is among them: whoever merges them reads what is wrong with it.
    """
    stem, digest = Path(place.ruleset.path).stem, ruleset_digest(place.ruleset)
    others = []
    for path in sorted(place.output.absolute().parent.iterdir()):
        named = path.name.startswith(f"{stem}.") and path.name.endswith(_JOURNAL)
        if not named or any(are_same(path, own) for own in place.journals.values()):
            continue
        try:
            header, entries = read_journal(path)
        except DataError:
            others.append(path)
        else:
            if entries and header.sha256 == digest:
                others.append(path)
    return [place.output.with_name(path.name) for path in others]


def merging_command(place: VettingPlace, journals: Sequence[Path]) -> str:
    """The command that writes the vetted ruleset from these journals."""
    words = ["vetted", place.ruleset.path, *map(str, journals), "-o", str(place.output)]
    return f"sears {shlex.join(words)}"


def not_counted(place: VettingPlace) -> str:
    """Which other journals a vetted ruleset of this place leaves out, and how to merge them."""
    others = journals_beside(place)
    if not others:
        return ""
    own = [path for path in place.journals.values() if path.exists()]
    names = ", ".join(path.name for path in others)
    return f"not counted: {names}; to merge all: `{merging_command(place, [*own, *others])}`"


def ruleset_to_write(place: VettingPlace) -> Ruleset:
    """The ruleset as its file is now, with new comments; refused if it has other rules by now."""
    path, cause, why = place.ruleset.path, None, "it has changed meanwhile"
    try:
        # What it imported was allowed when it was loaded.
        now = load(path, allow_imports_outside=True)
        if ruleset_digest(now) == ruleset_digest(place.ruleset):
            return now
    except SearsError as error:
        cause, why = error, f"it cannot be read any more: {error.message}"
    raise DataError(
        f"{path} is not the file that is judged here: {why}",
        help="restore it, and write again; to judge it as it is now, stop `sears vet`, and "
        "start a new journal with --journal FILE",
    ) from cause


def _user() -> str:
    try:
        return re.sub(r"[^\w.-]", "-", getpass.getuser())
    except (KeyError, OSError):
        return "reviewer"


def judges_templates(ruleset: Ruleset, chosen: bool) -> bool:
    """Whether templates are judged: the user has chosen so, or the file has no rules."""
    if chosen and not ruleset.templates:
        raise UsageError(
            f"{ruleset.path} has no templates", help="leave out --templates to judge its rules"
        )
    return chosen or not ruleset.rules


@contextmanager
def open_journals(
    place: VettingPlace, *, note: Callable[[str], None]
) -> Iterator[dict[str, Journal]]:
    """Lock all journals until the end of the block, or fail at once if one cannot be used.

    A new journal without decisions is removed, as it would tie the rules to their present version.
    """
    with ExitStack() as opened:
        journals: dict[str, Journal] = {}
        for name, path in place.journals.items():
            journals[name] = opened.enter_context(
                Journal(path, ruleset=place.ruleset, reviewer=name)
            )
            opened.callback(_remove_undecided, journals[name])
        for journal in journals.values():
            if journal.torn:
                note(
                    f"{journal.path}: the last line was incomplete, as after a killed process, and "
                    "was dropped; all decisions before it are kept"
                )
        yield journals


def _remove_undecided(journal: Journal) -> None:
    # Not what somebody has put in its place meanwhile.
    if journal.new and not journal.entries and journal.untouched:
        journal.path.unlink()


def pages_of(
    place: VettingPlace, sessions: Mapping[str, ReviewSession], *, tagger: Tagger, listening: socket
) -> tuple[Any, Mapping[str, str]]:
    """The application that serves the sessions on a socket, and each reviewer's page address."""

    def write() -> str:
        ruleset = ruleset_to_write(place)
        journals = list(place.journals.values())
        reviews = read_reviews(journals, ruleset)
        written = write_vetted(ruleset, reviews, place.output, tagger=tagger, read=journals)
        return "\n".join(filter(None, [written_sentence(written), not_counted(place)]))

    tokens = {secrets.token_urlsafe(24): name for name in sessions}
    host, port = listening.getsockname()
    addresses = {name: f"http://{host}:{port}/{token}/" for token, name in tokens.items()}
    hosts = hosts_of(host, port)
    return application(dict(sessions), tokens=tokens, hosts=hosts, write=write), addresses
