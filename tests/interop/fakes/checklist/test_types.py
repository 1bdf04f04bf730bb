"""The three kinds of tests; `passed` judges the predictions of one test case."""

from __future__ import annotations

from typing import Any


class _Test:
    __test__ = False

    def __init__(self, data: list[Any], *, meta: list[Any], **how: Any) -> None:
        if not data or len(meta) != len(data):
            raise ValueError("a test needs cases, and as many meta entries")
        self.data = data
        self.meta = meta
        self.how = how


class INV(_Test):
    def passed(self, predictions: list[Any]) -> bool:
        return all(later == predictions[0] for later in predictions)


class DIR(_Test):
    def __init__(self, data: list[Any], expect: Any, *, meta: list[Any]) -> None:
        super().__init__(data, meta=meta)
        self.expect = expect

    def passed(self, predictions: list[Any]) -> bool:
        return bool(self.expect(predictions))


class MFT(_Test):
    def passed(self, prediction: Any) -> bool:
        return bool(prediction == self.how["labels"])
