"""Checks that what had to stay stayed, and leaves out rewrites that touch a span.

In: texts, what rules made of them, what had to stay. Out: the rewrites that count. Always holds:
protected text is byte for byte where its characters went, or there is no row at all but an error; a
rewrite of several columns can be taken apart where they meet, or it does not count.
The engine promises this, and it is checked here once more. Costs a look at each edit of the rows
that protect something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from sears_dsl.data.protection import Guards, Spans
from sears_dsl.engine.chain import ChainedRow
from sears_dsl.engine.matcher import Matcher
from sears_dsl.engine.matches import Rewrite, Scope, SpanMap, SpanMapChain, Unit
from sears_dsl.engine.rewrite.rewrites import Rewrites
from sears_dsl.errors import DataError, InternalError


def require_intact(
    original: str, rewritten: str, places: SpanMap | SpanMapChain, protected: Spans, *, rule: str
) -> None:
    """Refuse a rewrite that changed what was protected; ``places`` says where its characters went.

    Example:
        >>> from sears_dsl.engine.matches import Edit
        >>> require_intact("is red", "was red", SpanMap([Edit(0, 2, "is", "was")]), [(3, 6)],
        ...                rule="past")
    """
    for start, end in protected:
        if start >= end:
            continue
        place = places.map(start, end)
        if place is None or rewritten[slice(*place)] != original[start:end]:
            raise InternalError(
                f"rule {rule} changed the protected {original[start:end]!r} at position {start} in "
                f"{original[:60]!r}",
                help="this is a bug in sears; please report it with the rule and the text",
            )


def require_all_intact(
    rewrites: Iterable[Rewrite], protected: Sequence[Spans], rule_ids: Sequence[str]
) -> None:
    """Refuse the rewrites if one of them changed what was protected."""
    for rewrite in rewrites:
        spans = protected[rewrite.row]
        if spans:
            require_intact(
                rewrite.original, rewrite.text, SpanMap(rewrite.edits), spans,
                rule=rule_ids[rewrite.rule],
            )  # fmt: skip


def touched_error(row: str, why: str, *, misplaced: str | None) -> DataError:
    """The error for a span that rules touch, or that was not where its row says before them."""
    if misplaced is not None:
        return DataError(
            f"{row}: {misplaced}",
            help="correct the position, or choose --on-touched keep, which leaves the row as it is",
        )
    return DataError(
        f"{row}: {why}",
        help="name the column with --protect, or choose --on-touched keep or drop",
    )


def guard_rewrites(rewrites: Rewrites, guards: Guards | None) -> tuple[Rewrites, Counter[int]]:
    """The rewrites that touch no span, and how many of each rule touch one, by its position.

    All were made with ``guards.protected`` protected.
    """
    left_out: Counter[int] = Counter()
    if guards is None or not len(rewrites):
        return rewrites, left_out
    protecting = np.array([bool(guard.protected) for guard in guards.rows], np.bool_)
    if protecting[rewrites.rows].any():
        require_all_intact(rewrites, guards.protected, rewrites.rule_ids)
    numbers: list[int] = []
    for number, rewrite in enumerate(rewrites):
        carry, guard = SpanMap(rewrite.edits), guards.rows[rewrite.row]
        untouching = all(carry.map(*span) is not None for span in guard.carried)
        if untouching and guard.keeps_apart(rewrite.text, carry.map):
            numbers.append(number)
        else:
            left_out[rewrite.rule] += 1
    if not left_out:
        return rewrites, left_out
    return rewrites.select(np.array(numbers, np.int32)), left_out


def chain_guarded(
    matcher: Matcher,
    texts: Sequence[str],
    guards: Guards | None,
    *,
    scope: Scope = "first",
    unit: Unit | None = None,
) -> Sequence[ChainedRow]:
    """Apply rule after rule to each text; one that would touch a span is left out of the text.

    A text of several columns stays as it is if it could no longer be taken apart.
    """
    if guards is None:
        return matcher.chain(texts, scope=scope, unit=unit)
    every = range(len(matcher.rules))
    chains = matcher.chain(
        texts,
        scope=scope,
        unit=unit,
        protected=guards.protected,
        intact=[guard.carried for guard in guards.rows],
        without=[every if guard.misplaced else () for guard in guards.rows],
    )
    for row, guard in zip(chains, guards.rows, strict=True):
        if row.steps and guard.protected:
            rule = " and ".join(matcher.rule_ids[number] for number, _ in row.steps)
            require_intact(guard.text, row.text, row.span_map, guard.protected, rule=rule)
    return [
        row
        if guard.keeps_apart(row.text, row.span_map.map)
        else ChainedRow(guard.text, guard.text, ())
        for row, guard in zip(chains, guards.rows, strict=True)
    ]
