"""A share with what it is worth: so many of so many, and the interval that this leaves.

In: counts. Out: `Share`. Always holds: of nothing there is no rate (None, never 0), and the
interval of nothing is all that is possible.
"""

from __future__ import annotations

from dataclasses import dataclass

from sears_dsl.statistics import wilson_interval


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, with the rate, None of nothing, and its 95% interval (Wilson)."""

    count: int
    total: int
    rate: float | None
    low: float
    high: float


def share_of(count: int, total: int) -> Share:
    """The share with its interval.

    Example:
        >>> share_of(6, 26).rate == 6 / 26, share_of(0, 0).rate
        (True, None)
    """
    low, high = wilson_interval(count, total)
    return Share(count, total, count / total if total else None, float(low), float(high))


def percent(rate: float | None) -> str:
    """A rate for people: whole per cents, tenths near the ends; a dash where there is none.

    Example:
        >>> [percent(each) for each in (0.237, 0.004, 0.0004, 0.0, None)]
        ['24%', '0.4%', '0.04%', '0%', '–']
    """
    if rate is None:
        return "–"
    if 0 < rate < 0.001:
        return f"{100 * rate:.1g}%"
    near_an_end = 0 < rate < 0.0995 or 0.9905 < rate < 1
    return f"{100 * rate:.1f}%" if near_an_end else f"{100 * rate:.0f}%"
