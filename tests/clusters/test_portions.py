"""Workers that match portions of the rows give what the matcher gives, in whatever order."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from sears_dsl.batch.workers import RulesetRecipe
from sears_dsl.clusters.applying import RemoteMatcher
from sears_dsl.errors import DataError, UsageError
from sears_dsl.language.loader import parse

RULES = parse("rule film: movie -> film\nrule tape: movie -> tape\n")
TEXTS = [f"A {'movie' if row % 3 else 'play'} is movie {row}." for row in range(10)]
# The first word *movie* of the even rows has to stay.
PROTECTED = [[] if row % 2 else [(2, 7)] for row in range(10)]


def backwards(work: Callable[[Any], Any], pieces: Sequence[Any]) -> Iterator[Any]:
    sent = pickle.loads(pickle.dumps(work))  # noqa: S301 - made in this line
    return map(sent, reversed(pieces))


def remote(workers: Any = backwards, *, portion: int = 4) -> RemoteMatcher:
    recipe = RulesetRecipe((RULES,), tagger="pinned")
    return RemoteMatcher(recipe.build(), recipe, workers, portion=portion)


@pytest.mark.parametrize("portion", [1, 4, 10, 100])
@pytest.mark.parametrize("options", [{}, {"scope": "all"}, {"protected": PROTECTED}])
def test_portions_give_what_the_whole_gives(portion: int, options: dict[str, Any]) -> None:
    whole = RulesetRecipe((RULES,), tagger="pinned").build().apply(TEXTS, **options)
    assert list(whole)
    assert list(remote(portion=portion).apply(TEXTS, **options)) == list(whole)


def test_a_lost_portion_and_a_seed_are_reported() -> None:
    one_lost = remote(lambda work, pieces: map(work, pieces[1:]))
    with pytest.raises(DataError, match="1 of 3 portions of the rows are lost"):
        one_lost.apply(TEXTS)
    with pytest.raises(UsageError, match="the seed that they were built with"):
        remote().apply(TEXTS, seed=1)
