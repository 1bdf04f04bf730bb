"""Curves as inline SVG: shares that rise in steps, or with intervals at some places, a line each.

In: steps, or points. Out: SVG as text. Always holds: as of all charts, colours come from the page's
style sheet, lines differ by more than colour, the label says what is shown, and every number is
also text on the page.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TypeAlias

Steps: TypeAlias = Sequence[tuple[float, float]]
"""Place and height from there on, ascending; the height is 0 before the first."""
Points: TypeAlias = Sequence[tuple[float, float, float, float]]
"""Place and height, and the lower and the upper end of its interval, by ascending places."""

#: Lines that can be told apart.
MOST_LINES = 6
_WIDTH, _HEIGHT = 560, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 22, 22, 34
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_LEGEND = 20


def step_curves(curves: Sequence[tuple[str, Steps]], *, mark: float, across: str, up: str) -> str:
    """Curves of shares over a tolerance, with a mark where the tolerance is.

    Args:
        curves: name and steps of each, at most `MOST_LINES`.
        mark: the tolerance in question.
        across: what the horizontal axis is.
        up: what the vertical axis is.

    Example:
        >>> chart = step_curves([("all", [(0.0, 0.5), (0.2, 1.0)])], mark=0.05, across="τ", up="n")
        >>> "all: 50% at 0%, 100% at 20%" in chart
        True
    """
    words = "; ".join(f"{name}: {_words(steps)}" for name, steps in curves)
    behind = _axes(across, up) + _line(mark, mark, 0.0, 1.0, "limit")
    paths = [(name, _path(steps)) for name, steps in curves]
    return _figure(behind, paths, f"{up} over {across}: {words}")


def point_curves(curves: Sequence[tuple[str, Points]], *, across: str, up: str) -> str:
    """Curves of shares at some places, each point with its interval.

    Args:
        curves: name and points of each, at most `MOST_LINES`.
        across: what the horizontal axis is.
        up: what the vertical axis is.

    Example:
        >>> "slips: 90% at 5%" in point_curves(
        ...     [("slips", [(0.05, 0.9, 0.8, 0.95)])], across="rate", up="accuracy")
        True
    """
    last = max((place for _, points in curves for place, *_ in points), default=1.0)
    reach = next(each for each in (*_TICKS[1:], last) if each >= last)
    paths = []
    for name, points in curves:
        joined = "L".join(f"{_x(place / reach)} {_y(height)}" for place, height, _, _ in points)
        intervals = "".join(
            f"M{_x(place / reach)} {_y(low)}V{_y(high)}" for place, _, low, high in points
        )
        paths.append((name, f"M{joined}{intervals}"))
    words = "; ".join(
        f"{name}: " + ", ".join(f"{100 * y:.3g}% at {100 * x:.3g}%" for x, y, _, _ in points)
        for name, points in curves
    )
    return _figure(_axes(across, up, reach), paths, f"{up} over {across}: {words}")


def _figure(behind: str, paths: Sequence[tuple[str, str]], label: str) -> str:
    """Axes, lines, and under them which line is which."""
    height = _HEIGHT + _LEGEND * len(paths)
    parts = [behind]
    for place, (name, path) in enumerate(paths):
        y = _HEIGHT + _LEGEND * place + _LEGEND / 2
        parts.append(
            f'<path d="{path}" class="line line{place}"/>'
            f'<path d="M{_LEFT} {y}h26" class="line line{place}"/>'
            f'<text x="{_LEFT + 34}" y="{y + 4}">{html.escape(name)}</text>'
        )
    return (
        f'<svg class="curves" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{html.escape(label)}">{"".join(parts)}</svg>'
    )


def _words(steps: Steps) -> str:
    """The first steps and the last one: a curve may have hundreds."""
    shown = [*steps[:3], *([steps[-1]] if len(steps) > 3 else [])]
    return ", ".join(f"{100 * height:.3g}% at {100 * place:.3g}%" for place, height in shown)


def _path(steps: Steps) -> str:
    parts = [f"M{_x(0.0)} {_y(0.0)}"]
    for place, height in steps:
        parts.append(f"H{_x(place)}V{_y(height)}")
    return "".join(parts) + f"H{_x(1.0)}"


def _axes(across: str, up: str, reach: float = 1.0) -> str:
    """The grid; the horizontal axis ends at `reach`."""
    parts = []
    for tick in _TICKS:
        parts.append(_line(0.0, 1.0, tick, tick, "grid") + _line(tick, tick, 0.0, 1.0, "grid"))
        parts.append(
            f'<text x="{_LEFT - 6}" y="{_y(tick) + 4}" text-anchor="end" class="tick">'
            f'{100 * tick:g}%</text><text x="{_x(tick)}" y="{_y(0.0) + 15}" '
            f'text-anchor="middle" class="tick">{100 * tick * reach:g}%</text>'
        )
    parts.append(
        f'<text x="{_WIDTH - _RIGHT}" y="{_y(0.0) + 29}" text-anchor="end" class="tick">'
        f'{html.escape(across)}</text><text x="{_LEFT}" y="{_TOP - 9}" class="tick">'
        f"{html.escape(up)}</text>"
    )
    return "".join(parts)


def _line(left: float, right: float, low: float, high: float, kind: str) -> str:
    return f'<line x1="{_x(left)}" x2="{_x(right)}" y1="{_y(low)}" y2="{_y(high)}" class="{kind}"/>'


def _x(rate: float) -> float:
    return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * rate, 1)


def _y(rate: float) -> float:
    return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * rate, 1)
