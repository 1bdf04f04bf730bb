"""What vetting says of changes of words: readings that the judge of the next search counts.

In: journals of ``sears vet``, of any rulesets. Out: `Reading`s. Always holds: the last word of a
reviewer on a rewrite counts; a word on a rewrite itself goes before what follows from a verdict on
its rule; reviewers who contradict each other both count, and that is told.

A verdict on a rule speaks of the rewrites that were shown with it: accepted ones are good, those of
a rule that changes the meaning, is not grammatical or is nothing that people say are not. A
rejection for another reason says nothing about them, and neither does any word on a rule that may
change the label: it was asked whether the label is right, not whether the meaning stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sears_dsl.judge.readings import Reading
from sears_dsl.runtime.wording import counted
from sears_dsl.vetting.decisions import ReviewState, replay
from sears_dsl.vetting.journal import read_journal

_AGAINST_REWRITES = ("meaning", "grammar", "unnatural")


def read_readings(paths: Sequence[str | Path]) -> tuple[Reading, ...]:
    """The readings of journals, in their order."""
    readings: list[Reading] = []
    for path in paths:
        own: dict[tuple[str, str], Reading] = {}
        for reading in _readings_of(replay(read_journal(Path(path))[1])):
            own.setdefault(reading[:2], reading)
        readings += own.values()
    return tuple(readings)


def readings_in_words(readings: Sequence[Reading]) -> str:
    """A sentence about readings, and about those that contradict each other."""
    verdicts: dict[tuple[str, str], set[bool]] = {}
    for original, rewrite, accepted in readings:
        verdicts.setdefault((original, rewrite), set()).add(accepted)
    both = sum(len(each) > 1 for each in verdicts.values())
    one, many = "reading of your own counts", "readings of your own count"
    count = counted(len(readings), one, many)
    if not both:
        return count
    return f"{count}; about {counted(both, 'rewrite')} they contradict each other, and both count"


def _readings_of(state: ReviewState) -> Iterator[Reading]:
    for (original, rewritten), same in state.pairs.items():
        yield Reading(original, rewritten, same)
    for verdict in state.rules.values():
        if verdict.expect:
            continue
        accepted = verdict.verdict in ("accept", "edit")
        if accepted or verdict.reason in _AGAINST_REWRITES:
            for original, rewritten in verdict.shown:
                yield Reading(original, rewritten, accepted)
