"""Several models: rules that they share, and rules that tell them apart, as coverage to select by.

In: what rules cover, and which of the models each of these flips makes fail. Out: `Coverage` again,
not of rows but of rows and models. Always holds: what is maximized stays a sum over such places of
the best that a selected rule has there, so that all that is said of `select` holds; a place counts
S of its flip, times what its rule is worth.

With M models, of which a rule r flips f(r, m) rows in model m:

- ``shared``: a place is a row and a model that fails there. A rule is worth k/M, where k are the
  models of which it flips rows often enough, and nothing where k is 1: a rule of one model counts
  for none.
- ``apart``: a place is a row and two models of which the first alone fails there. A rule that does
  so on b rows, and on c rows the other way round, is worth (b - c)/b: alone it counts b - c, by
  how much more often it makes the first fail. It has to do so often enough.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sears_dsl.discovery.selection import Coverage


def across_models(
    coverage: Coverage, fails: NDArray[np.bool_], *, shared: bool, least: int
) -> Coverage:
    """What rules cover of rows and models.

    Args:
        coverage: of rows, by flips of any model.
        fails: bool (entries of the coverage, models): which models the flip makes fail.
        shared: whether rules are wanted that models share; else those that tell them apart.
        least: how many rows of a model, or more of one than of another, are often enough.

    Example:
        >>> from sears_dsl.discovery.twins import Twins
        >>> rows = np.array([0, 1, 2, 0, 1], np.int32)
        >>> both = Coverage(np.array([0, 3, 5]), rows, np.full(5, 1 << 40), 3, np.arange(2),
        ...                 Twins(((), ())))
        >>> fails = np.array([[1, 0], [1, 0], [1, 0], [1, 1], [1, 1]], bool)
        >>> (across_models(both, fails, shared=True, least=2).weight / (1 << 40)).tolist()
        [0.0, 4.0]
        >>> (across_models(both, fails, shared=False, least=2).weight / (1 << 40)).tolist()
        [3.0, 0.0]
    """
    rules, models = len(coverage), fails.shape[1]
    rule_of = np.repeat(np.arange(rules), coverage.sizes)
    if shared:
        flips = np.zeros((rules, models), np.int64)
        np.add.at(flips, rule_of, fails)
        sharing = (flips >= least).sum(axis=1)
        worth = np.where(sharing > 1, sharing / models, 0.0)
        entries, model = np.nonzero(fails)
        places = coverage.rows[entries].astype(np.int64) * models + model
        worths = worth[rule_of[entries]]
    else:
        alone = fails[:, :, None] & ~fails[:, None, :]
        more = np.zeros((rules, models, models), np.int64)
        np.add.at(more, rule_of, alone)
        net = more - more.transpose(0, 2, 1)
        share = np.where(net >= least, net / np.maximum(more, 1), 0.0)
        entries, first, second = np.nonzero(alone)
        places = (coverage.rows[entries].astype(np.int64) * models + first) * models + second
        worths = share[rule_of[entries], first, second]
    mask = worths > 0
    entries = entries[mask]
    return replace(
        coverage,
        offsets=np.searchsorted(rule_of[entries], np.arange(rules + 1)).astype(np.int64),
        rows=places[mask],
        weights=np.rint(coverage.weights[entries] * worths[mask]).astype(np.int64),
        row_count=coverage.row_count * (models if shared else models * models),
    )
