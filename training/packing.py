"""Learned weights → a small file: weights are rounded to a byte, and small ones dropped.

In: `Learned`. Out: `StoredWeights`. Always holds: a stored weight differs from the learned one by
at most half a unit, unless it lies beyond 127 units and is cut there. Weights under the threshold
are dropped, each of which changes a score by at most the threshold. Costs a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sears_dsl.tagging.fast.weights import StoredWeights
from training.coarse import CoarseTable
from training.perceptron import Learned

LARGEST = 127

_BLOCK = 1 << 16


def pack(
    learned: Learned,
    *,
    unit: float,
    least: float,
    about: Mapping[str, Any],
    coarse: CoarseTable,
) -> StoredWeights:
    """Round weights to steps of ``unit``, and drop those that are smaller than ``least``."""
    hashed = len(learned.row_keys)
    rows, tags, weights = _rounded(learned.weights, unit=unit, least=least)
    sizes = np.bincount(rows, minlength=len(learned.weights)).astype(np.uint8)
    used = sizes > 0
    used[hashed:] = True
    return StoredWeights(
        about=dict(about),
        lexicon_keys=learned.lexicon.keys,
        lexicon_contexts=learned.lexicon.contexts,
        lexicon_certain=learned.lexicon.certain,
        context_classes=learned.lexicon.context_classes,
        row_keys=learned.row_keys[used[:hashed]],
        row_sizes=sizes[used],
        entry_tags=tags,
        entry_weights=weights,
        coarse_keys=coarse.keys,
        coarse_groups=coarse.groups,
        coarse_of=coarse.table,
    )


def _rounded(weights: Any, *, unit: float, least: float) -> tuple[Any, Any, Any]:
    """Row, tag and rounded weight of all weights that stay, row by row."""
    rows, tags, rounded = [], [], []
    # A few rows at a time: there are a million.
    for first in range(0, len(weights), _BLOCK):
        block = weights[first : first + _BLOCK]
        row, tag = np.nonzero(np.abs(block) >= least)
        value = np.clip(np.rint(block[row, tag] / unit), -LARGEST, LARGEST)
        rows.append(first + row[value != 0])
        tags.append(tag[value != 0])
        rounded.append(value[value != 0])
    none = np.zeros(0, np.int64)
    return (
        np.concatenate([none, *rows]),
        np.concatenate([none, *tags]).astype(np.uint8),
        np.concatenate([none, *rounded]).astype(np.int8),
    )
