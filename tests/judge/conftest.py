"""The shipped judge, loaded once for all tests that run in a process."""

from __future__ import annotations

import pytest

from sears_dsl.judge.judge import Judge
from sears_dsl.meaning.scorers import load_scorer


@pytest.fixture(scope="session")
def judge() -> Judge:
    """The shipped judge."""
    loaded = load_scorer("judge")
    assert isinstance(loaded, Judge)
    return loaded
