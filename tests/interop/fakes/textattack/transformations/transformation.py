"""The base class of transformations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any


class Transformation(ABC):
    def __call__(
        self,
        current_text: Any,
        pre_transformation_constraints: Iterable[Callable[[Any, Any], set[int]]] = (),
        indices_to_modify: Iterable[int] | None = None,
    ) -> list[Any]:
        everything = range(len(current_text.words))
        indices = set(everything if indices_to_modify is None else indices_to_modify)
        for constraint in pre_transformation_constraints:
            indices &= constraint(current_text, self)
        candidates = self._get_transformations(current_text, indices)
        for candidate in candidates:
            candidate.attack_attrs["last_transformation"] = self
        return candidates

    @abstractmethod
    def _get_transformations(self, current_text: Any, indices_to_modify: set[int]) -> list[Any]: ...
