"""Words with their tags, and the closed classes that more than one kind of mistake is told by."""

from __future__ import annotations

from typing import NamedTuple


class TaggedWord(NamedTuple):
    """A word with its fine (Penn) tag."""

    text: str
    tag: str


FINITE = frozenset(("VBD", "VBZ", "VBP", "MD"))
"""Tags of verbs that agree with a subject."""

BE = frozenset(("am", "is", "are", "was", "were", "be", "been", "being", "'s", "'m", "'re"))
HAVE = frozenset(("has", "have", "had", "having", "'ve"))
AUXILIARIES = BE | HAVE | {"'d", "do", "does", "did"}

ENDS = frozenset((".", "!", "?", ";", ":"))
"""Marks that end a clause."""
