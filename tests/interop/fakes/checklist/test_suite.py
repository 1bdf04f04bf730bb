"""A suite: tests by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class TestSuite:
    __test__ = False

    def __init__(self) -> None:
        self.tests: dict[str, Any] = {}
        self.info: dict[str, dict[str, str]] = {}

    def add(self, test: Any, *, name: str, capability: str, description: str) -> None:
        if name in self.tests:
            raise ValueError(f"there is a test named {name}")
        self.tests[name] = test
        self.info[name] = {
            "type": type(test).__name__,
            "capability": capability,
            "description": description,
        }

    def save(self, path: str) -> None:
        Path(path).write_text(json.dumps({n: t.data for n, t in self.tests.items()}), "utf-8")
