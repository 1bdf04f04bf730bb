"""The base of sessions: a decision is checked, then written, and only then takes effect.

In: decisions, as the page sends them. Out: JSON-able views. Nothing from outside goes into the
journal unchecked, and a decision is in the journal before it has any effect. A decision that was
made on an older state (in another tab) is refused with `Outdated`, so that nothing is decided twice
or on something unseen. What is shown follows from the journal alone. Costs one fsync a decision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeAlias

from sears_dsl.errors import HALF_CHARACTER, SearsError, UsageError
from sears_dsl.language.rule import Metadata
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.vetting.decisions import ReviewState, replay
from sears_dsl.vetting.journal import Journal, JournalEntry

View: TypeAlias = dict[str, Any]

LONGEST_NOTE = 2_000
"""The most characters of a note, as the page has it: it has to fit on a line of a ruleset."""


class Outdated(SearsError):  # noqa: N818 - nothing went wrong: somebody was faster
    """A decision about a state that is not the present one."""


class ReviewSession(ABC):
    """The work of one reviewer, whatever she judges."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.state: ReviewState = replay(journal.entries)

    @property
    @abstractmethod
    def left(self) -> int:
        """How many items are still to be judged."""

    @property
    @abstractmethod
    def progress(self) -> str:
        """How far the reviewer is, in a few words."""

    @abstractmethod
    def overview(self) -> View:
        """Where the reviewer stands."""

    def about(self, ruleset: Ruleset, **counts: int) -> View:
        """The fields that every overview begins with."""
        name = ruleset.name or PurePath(ruleset.path).name
        return {
            "revision": self.state.revision,
            "reviewer": self.journal.reviewer,
            "ruleset": {"name": name, **counts},
        }

    @abstractmethod
    def entry(self, kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """The journal's record of a decision; raises `UsageError` if it is meaningless."""

    def decide(self, kind: str, content: Mapping[str, Any], *, revision: int) -> View:
        """Make a decision, of a kind in `sears_dsl.vetting.decisions`, and return the new overview.

        Raises `Outdated` if another decision was made meanwhile. The content of an undo is a task.
        """
        if revision != self.state.revision:
            raise Outdated(
                "another tab or window has decided something in the meantime",
                help="look at the current state, and decide again",
            )
        entry = self._undoing(content) if kind == "undo" else self.entry(kind, content)
        self.journal.append(kind, entry)
        self.state = replay(self.journal.entries)
        return self.overview()

    def _undoing(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """The record of an undo: the number of the entry that it takes back."""
        last = self.taken_back(content)
        if last is None:
            raise UsageError("there is nothing to undo", help="decide something first")
        return {"undone": last.number}

    def taken_back(self, content: Mapping[str, Any]) -> JournalEntry | None:
        """The entry that an undo takes back, if there is one."""
        task = text_of(content, "task")
        return {str(name): entry for name, entry in self.state.last.items()}.get(task)

    def unasked(self, kind: str, content: Mapping[str, Any]) -> Sequence[tuple[str, Metadata]]:
        """The rules that a decision needs, and about which the model was not asked yet."""
        return ()


def rejection(content: Mapping[str, Any], reasons: Mapping[str, str]) -> dict[str, Any]:
    """The reason and the note of a rejection."""
    note = text_of(content, "note", default="").strip()
    if len(note) > LONGEST_NOTE:
        raise UsageError(
            f"the note has {len(note):,} characters",
            help=f"say in {LONGEST_NOTE:,} characters at most why you reject it",
        )
    # No reason is required, and none is invented.
    reason = text_of(content, "reason", default="other" if note else "none")
    if reason not in reasons:
        raise meaningless("reason", reason)
    return {"reason": reason, "note": note}


def text_of(content: Mapping[str, Any], name: str, *, default: str | None = None) -> str:
    """The text in one field of what the page sent."""
    value = content.get(name, default)
    if not isinstance(value, str) or not is_unicode(value):
        raise meaningless(name, value)
    return value


def is_unicode(text: str) -> bool:
    """Whether a text can be written to a file; JSON may hold halves of characters."""
    return HALF_CHARACTER.search(text) is None


def meaningless(name: str, value: object) -> UsageError:
    """The error for a decision that our page would never send."""
    return UsageError(
        f"the decision has an invalid {name}: {value!r}", help="reload the page, and decide again"
    )
