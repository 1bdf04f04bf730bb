"""A tagger that ends its process on some texts, and a model; workers import them by name."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from sears_dsl.tagging.fast.fast_tagger import FastCut, FastTagger

_PATIENCE = 60.0


def _look(texts: Sequence[str]) -> None:
    place = Path(os.environ["DEADLY_PLACE"])
    for text in texts:
        if "dies always" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if "dies once" in text and not (place / "died").exists():
            (place / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if "waits" in text:
            until = time.monotonic() + _PATIENCE
            while not (place / "go on").exists() and time.monotonic() < until:
                time.sleep(0.05)


class Deadly(FastTagger):
    name = "deadly"

    def cut(self, texts: Sequence[str], *, again: bool = False) -> FastCut:
        _look(texts)
        return super().cut(texts, again=again)


def predict(texts: Sequence[str]) -> list[str]:
    return [str(len(text) % 2) for text in texts]
