"""Which rules a reviewer sees, and in which order: selected anew after every decision.

In: what each rule covers, which rules were accepted, rejected, replaced or skipped, and how many
may be accepted. Out: positions of rules. Always holds: what was decided comes first, in the order
of decision; then the rules that Equation 3 selects given what was accepted and without what was
rejected; then, as far as there is room, those that add nothing to it, in the order of the file;
skipped ones last. Costs one selection: milliseconds for hundreds of rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sears_dsl.discovery.selection import Coverage, select


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """A rule in the queue.

    Attributes:
        rule: its position.
        gain: what it adds to the sum of Equation 3, at its place; 0 for what was not selected.
        twin: the position of a rule in the queue that says the same; None for most.
    """

    rule: int
    gain: float
    twin: int | None = None


def order(
    coverage: Coverage,
    *,
    rules: int,
    most: int,
    accepted: Sequence[int],
    rejected: Sequence[int],
    replaced: Sequence[int] = (),
    skipped: Sequence[int] = (),
) -> list[QueuePlace]:
    """The undecided rules that a reviewer sees next.

    Args:
        coverage: of all rules, those included that a reviewer wrote instead of others.
        rules: the first so many may be proposed; the others are replacements.
        most: as many rules may be accepted.
        accepted: rules that are in, replacements included.
        rejected: rules that are out.
        replaced: rules that a replacement stands for.
        skipped: undecided rules that the reviewer wants to see last.

    Example:
        >>> import numpy as np
        >>> from sears_dsl.discovery.twins import Twins
        >>> covers = Coverage(np.array([0, 2, 4, 5]), np.array([0, 1, 0, 1, 2], np.int32),
        ...     np.full(5, 1 << 40), 3, np.arange(3), Twins(((), (), ())))
        >>> [(place.rule, place.gain) for place in
        ...     order(covers, rules=3, most=2, accepted=[], rejected=[])]
        [(0, 2.0), (2, 1.0)]
        >>> [place.rule for place in order(covers, rules=3, most=2, accepted=[], rejected=[0])]
        [1, 2]
    """
    unwanted = set(range(rules, len(coverage))) - set(accepted)
    out = {*rejected, *replaced, *unwanted} - set(accepted)
    size = max(most, len(accepted))
    selection = select(coverage, size, start=list(accepted), excluded=out)
    count = len(accepted)
    twins = {each.rule: each.into for each in selection.collapsed}
    places = [
        QueuePlace(rule, gain)
        for rule, gain in zip(selection.rules[count:], selection.gains[count:], strict=True)
    ]
    there = {*selection.rules, *out}
    rest = [QueuePlace(rule, 0.0, twins.get(rule)) for rule in range(rules) if rule not in there]
    places += rest[: max(0, size - count - len(places))]
    last = set(skipped)
    return [each for each in places if each.rule not in last] + [
        each for each in places if each.rule in last
    ]
