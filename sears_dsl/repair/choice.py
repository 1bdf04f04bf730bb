"""Which rewrites become new rows: how many, and how they are shared out among the rules.

In: for each rewrite the rules that write it, an `Amount`, a seed. Out: pairs of a rewrite and the
rule that it counts for. Always holds: a rewrite is chosen at most once; balanced, a rule gets at
most one more than another that has some left; the same seed chooses the same; where less is there
than is wanted, all of it is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from sears_dsl.errors import UsageError

_FORMS = "write 20% (of the rows), 2x (their number), 500 (new rows) or all"
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)(%|x)?")


@dataclass(frozen=True, slots=True)
class Amount:
    """How many new rows are wanted.

    Attributes:
        rows: so many; None where it depends on the data.
        multiple: so many times the rows of the data; None for all that there are.

    Example:
        >>> Amount.parse("20%").of(50), Amount.parse("2x").of(50), Amount.parse("7").of(50)
        (10, 100, 7)
        >>> Amount.parse("all").of(50) is None
        True
    """

    rows: int | None = None
    multiple: float | None = None

    @classmethod
    def parse(cls, text: str) -> Amount:
        """What a person wrote: a share (``20%``), a multiple (``2x``), a number or ``all``.

        Raises:
            UsageError: none of these, or nothing.
        """
        if text == "all":
            return ALL
        parts = _AMOUNT.fullmatch(text)
        if parts is None:
            raise UsageError(f"{text!r} is no amount", help=_FORMS)
        number, unit = float(parts[1]), parts[2]
        if number == 0:
            raise UsageError(f"an amount of {text} adds nothing", help=_FORMS)
        if unit is None and not number.is_integer():
            raise UsageError(f"{text} rows cannot be added", help=_FORMS)
        if unit is None:
            return cls(rows=int(number))
        return cls(multiple=number / 100 if unit == "%" else number)

    def of(self, rows: int) -> int | None:
        """How many new rows that is for data of so many, at least one; None for all there are."""
        if self.rows is not None:
            return self.rows
        return None if self.multiple is None else max(1, round(self.multiple * rows))

    def __str__(self) -> str:
        if self.rows is not None:
            return str(self.rows)
        return "all" if self.multiple is None else f"{self.multiple:g}x"


ALL = Amount()


def choose(
    rules: Sequence[Sequence[int]], *, limit: int | None, balanced: bool = True, seed: int = 0
) -> list[tuple[int, int]]:
    """Choose rewrites.

    Args:
        limit: how many; None for all.
        balanced: the rules take turns; otherwise every rewrite has the same chance.

    Returns:
        (rewrite, rule that it counts for), by rewrite.

    Example:
        >>> choose([[0], [0], [0], [0, 1], [1]], limit=None)
        [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)]
        >>> [rule for _, rule in choose([[0]] * 9 + [[1]], limit=2)]
        [0, 1]
    """
    random = Random(seed)  # noqa: S311 - a sample, no secret
    order = random.sample(range(len(rules)), len(rules))
    most = len(rules) if limit is None else min(limit, len(rules))
    if not balanced:
        return sorted((rewrite, rules[rewrite][0]) for rewrite in order[:most])
    waiting: dict[int, list[int]] = {}
    for rewrite in order:
        for rule in rules[rewrite]:
            waiting.setdefault(rule, []).append(rewrite)
    # Rules with least to give come first in each turn, so that others do not take it from them.
    turns = sorted(waiting, key=lambda rule: (len(waiting[rule]), rule))
    rule_of: dict[int, int] = {}
    while len(rule_of) < most:
        for rule in tuple(turns):
            own = waiting[rule]
            while own and own[-1] in rule_of:
                own.pop()
            if not own:
                turns.remove(rule)
            elif len(rule_of) < most:
                rule_of[own.pop()] = rule
    return sorted(rule_of.items())
