"""A model with a known weakness, rows, and parts that need no network."""

from __future__ import annotations

from collections.abc import Sequence

NOUNS = ("plot", "cast", "score", "pace", "end", "start", "idea", "look")
ROWS = [(f"This movie has a {mood} {noun}.", mood) for mood in ("good", "bad") for noun in NOUNS]


def predict(texts: Sequence[str]) -> list[str]:
    return ["bad" if "film" in text or "bad" in text else "good" for text in texts]


def reword(sentences: Sequence[str]) -> list[list[str]]:
    return [[each.replace("movie", "film"), each.replace("has", "had")] for each in sentences]


def close(pairs: Sequence[tuple[str, str]]) -> list[float]:
    return [0.9 for _ in pairs]


close.tau = 0.5  # type: ignore[attr-defined]
