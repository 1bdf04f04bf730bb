"""A matcher of plain words, in place of the engine: it replaces one word by another."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sears_dsl.engine.chain import ChainedRows
from sears_dsl.engine.matches import Edit, Rewrite
from sears_dsl.engine.rewrite.rewrites import Rewrites

Spans = Sequence[Sequence[tuple[int, int]]]


@dataclass
class WordMap:
    steps: list[tuple[int, tuple[Edit, ...]]]

    def map(self, start: int, end: int) -> tuple[int, int] | None:
        for _, edits in self.steps:
            shift = 0
            for edit in edits:
                if edit.end <= start:
                    shift += len(edit.new) - len(edit.old)
                elif edit.start < end:
                    return None
            start, end = start + shift, end + shift
        return start, end


@dataclass
class ChainedRow:
    text: str
    steps: list[tuple[int, tuple[Edit, ...]]]
    left_out: list[tuple[int, int]] = field(default_factory=list)

    @property
    def span_map(self) -> WordMap:
        return WordMap(self.steps)


class WordMatcher:
    composed = False

    def __init__(self, rules: Mapping[str, tuple[str, str]]) -> None:
        self.rule_ids = tuple(rules)
        self._rules = list(rules.values())

    def _edits(
        self, rule: int, text: str, scope: str, protected: Sequence[tuple[int, int]]
    ) -> tuple[Edit, ...]:
        old, new = self._rules[rule]
        found = [
            Edit(match.start(), match.end(), old, new)
            for match in re.finditer(rf"\b{re.escape(old)}\b", text)
            if not any(a < match.end() and match.start() < b for a, b in protected)
        ]
        return tuple(found[:1] if scope == "first" else found)

    def apply(
        self,
        texts: Sequence[str],
        *,
        scope: str = "first",
        protected: Spans | None = None,
        unit: str = "text",
        draw: int = 0,
        jobs: int = 1,
    ) -> Rewrites:
        found = []
        for row, text in enumerate(texts):
            for rule in range(len(self._rules)):
                edits = self._edits(rule, text, scope, protected[row] if protected else ())
                if edits:
                    found.append(Rewrite(rule, row, text, edited(text, edits), edits))
        return Rewrites(found, rule_ids=self.rule_ids)

    def chain(
        self,
        texts: Sequence[str],
        *,
        scope: str = "first",
        protected: Spans | None = None,
        intact: Spans | None = None,
        without: Sequence[Collection[int]] | None = None,
        unit: str = "text",
        draw: int = 0,
        jobs: int = 1,
    ) -> ChainedRows:
        rows: list[Any] = []
        for row, original in enumerate(texts):
            done = ChainedRow(original, [])
            for rule in range(len(self._rules)):
                edits = self._edits(rule, done.text, scope, protected[row] if protected else ())
                if not edits or (without and rule in without[row]):
                    continue
                spans = WordMap([*done.steps, (rule, edits)])
                places = [spans.map(*span) for span in intact[row]] if intact else []
                if None in places:
                    done.left_out.append((rule, places.index(None)))
                    continue
                done.steps.append((rule, edits))
                done.text = edited(done.text, edits)
            rows.append(done)
        return ChainedRows([row.text for row in rows], lambda: rows)


def edited(text: str, edits: Sequence[Edit]) -> str:
    for edit in reversed(edits):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


FILM = {"film": ("movie", "film"), "which": ("What", "Which"), "never": ("xyzzy", "plugh")}


@dataclass(frozen=True)
class WordRecipe:
    """A recipe for tests that can be slow, and can kill worker processes."""

    rules: tuple[tuple[str, str, str], ...] = tuple((k, *v) for k, v in FILM.items())
    seconds: float = 0.0
    deadly: bool = False
    home: int = field(default_factory=os.getpid)  # only other processes die

    def build(self) -> Any:
        matcher = WordMatcher({name: (old, new) for name, old, new in self.rules})
        if not (self.seconds or self.deadly):
            return matcher
        return _Troubled(matcher, self)

    def identity(self) -> dict[str, str]:
        return {"rules": repr(self.rules)}


class _Troubled:
    composed = False

    def __init__(self, matcher: WordMatcher, recipe: WordRecipe) -> None:
        self._matcher, self._recipe = matcher, recipe
        self.rule_ids = matcher.rule_ids

    def _trouble(self) -> None:
        time.sleep(self._recipe.seconds)
        if self._recipe.deadly and os.getpid() != self._recipe.home:
            os._exit(9)

    def apply(self, texts: Sequence[str], **options: Any) -> Any:
        self._trouble()
        return self._matcher.apply(texts, **options)

    def chain(self, texts: Sequence[str], **options: Any) -> Any:
        self._trouble()
        return self._matcher.chain(texts, **options)
