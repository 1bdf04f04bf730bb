"""From learned weights to a small file: rounded to a byte, small ones dropped.

In: `Learned`. Out: `Stored`. Always holds: a weight that is kept differs from the learned one by
half a unit at most, unless it lies beyond 127 units and is cut there; weights under the threshold
are dropped, which changes no score by more than the threshold each. Costs a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sears_dsl.text.fast.weights import Stored
from training.coarse import CoarseLessons
from training.perceptron import Learned

__all__ = ["LARGEST", "pack"]

LARGEST = 127

_BLOCK = 1 << 16


def pack(
    learned: Learned,
    *,
    unit: float,
    least: float,
    about: Mapping[str, Any],
    coarse: CoarseLessons,
) -> Stored:
    """Round and drop.

    Args:
        learned: weights.
        unit: what one step of a stored weight stands for.
        least: weights below are dropped.
        about: what the file says of itself.
        coarse: what was learned of coarse tags.
    """
    hashed = len(learned.row_keys)
    # Features of coarse tags stand among the others; one whose key is taken is left out.
    own = ~np.isin(coarse.row_keys, learned.row_keys)
    keys = np.union1d(learned.row_keys.astype(np.int64), coarse.row_keys)
    fixed = np.arange(len(learned.weights) - hashed) + len(keys)
    rows, tags, weights = map(
        np.concatenate,
        zip(
            _rounded(
                learned.weights,
                np.append(np.searchsorted(keys, learned.row_keys), fixed),
                unit=unit,
                least=least,
            ),
            _rounded(
                coarse.weights[own],
                np.searchsorted(keys, coarse.row_keys[own]),
                unit=unit,
                least=least,
            ),
            strict=True,
        ),
    )
    order = np.argsort(rows, kind="stable")
    sizes = np.bincount(rows, minlength=len(keys) + len(fixed)).astype(np.uint8)
    used = sizes > 0
    used[len(keys) :] = True
    return Stored(
        about=dict(about),
        lexicon_keys=learned.lexicon.keys,
        lexicon_contexts=learned.lexicon.contexts,
        lexicon_certain=learned.lexicon.certain,
        context_classes=learned.lexicon.context_classes,
        row_keys=keys[used[: len(keys)]].astype(np.uint32),
        row_sizes=sizes[used],
        entry_tags=tags[order],
        entry_weights=weights[order],
        coarse_keys=coarse.keys,
        coarse_groups=coarse.groups,
        coarse_of=coarse.table,
        coarse_choices=coarse.choices,
    )


def _rounded(weights: Any, places: Any, *, unit: float, least: float) -> tuple[Any, Any, Any]:
    """Row, tag and rounded weight of all that are kept; rows are numbered by ``places``."""
    rows, tags, rounded = [], [], []
    # A few rows at a time: there are a million.
    for first in range(0, len(weights), _BLOCK):
        block = weights[first : first + _BLOCK]
        row, tag = np.nonzero(np.abs(block) >= least)
        value = np.clip(np.rint(block[row, tag] / unit), -LARGEST, LARGEST)
        rows.append(places[first + row[value != 0]])
        tags.append(tag[value != 0])
        rounded.append(value[value != 0])
    none = np.zeros(0, np.int64)
    return (
        np.concatenate([none, *rows]),
        np.concatenate([none, *tags]).astype(np.uint8),
        np.concatenate([none, *rounded]).astype(np.int8),
    )
