"""Stand-ins for the foreign packages, put before whatever is installed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOREIGN = ("checklist", "textattack")
collect_ignore = ["fakes", "broken"]


@pytest.fixture
def packages_from(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Called with a folder next to this file, imports the foreign packages from there."""

    def choose(folder: str) -> None:
        monkeypatch.syspath_prepend(str(HERE / folder))
        importlib.invalidate_caches()

    def forget() -> None:
        for name in [name for name in sys.modules if name.split(".")[0] in FOREIGN]:
            del sys.modules[name]

    forget()
    yield choose
    forget()
