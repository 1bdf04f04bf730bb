"""Expectations over pairs: the original first, then its rewrite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Expect:
    @staticmethod
    def pairwise(question: Callable[..., bool]) -> Callable[[Sequence[Any]], bool]:
        return lambda predictions: all(
            question(predictions[0], later, None, None, labels=None, meta=None)
            for later in predictions[1:]
        )
