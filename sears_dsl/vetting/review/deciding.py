"""What sessions share: a decision is made looking at a state, and written before it has any effect.

In: decisions, as the page sends them. Out: JSON-able views. Always holds: a decision is in the
journal before it has any effect; one that was made looking at an older state (in another tab) is
refused with `Outdated`, so that nothing is decided twice or over something unseen; what is shown
follows from the journal alone. Costs an fsync a decision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeAlias

from sears_dsl.errors import SearsError
from sears_dsl.vetting.decisions import ReviewState, replay
from sears_dsl.vetting.journal import Journal

View: TypeAlias = dict[str, Any]


class Outdated(SearsError):  # noqa: N818 - nothing went wrong: somebody was faster
    """A decision about a state that is not the present one."""


class Deciding(ABC):
    """One reviewer at work, whatever is judged."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.state: ReviewState = replay(journal.entries)

    @property
    @abstractmethod
    def left(self) -> int:
        """How much is still to judge."""

    @property
    @abstractmethod
    def progress(self) -> str:
        """How far the reviewer is, in a few words."""

    @abstractmethod
    def overview(self) -> View:
        """Where the reviewer stands."""

    @abstractmethod
    def entry(self, kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """What the journal keeps of a decision.

        Raises:
            UsageError: it means nothing.
        """

    def decide(self, kind: str, content: Mapping[str, Any], *, revision: int) -> View:
        """Make a decision; what is seen then.

        Args:
            kind: of entry, see `sears_dsl.vetting.decisions`.
            content: what belongs to it; task, of an undo.

        Raises:
            Outdated: another decision was made meanwhile.
            UsageError: a decision that means nothing.
            DataError: the journal could not be written; nothing was decided.
        """
        if revision != self.state.revision:
            raise Outdated(
                "something was decided meanwhile, in another tab or window",
                help="look at what is shown now, and decide again",
            )
        self.journal.append(kind, self.entry(kind, content))
        self.state = replay(self.journal.entries)
        return self.overview()
