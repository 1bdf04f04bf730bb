"""Which texts match which regexes as a whole, all regexes decided at once.

In: regexes (RE2 syntax), later texts. Out: a table of truth values. Always holds: the table says
what each regex alone says of each text; a text with half of a surrogate pair is no text, and
matches nothing. Costs one pass of RE2's set of regexes over a text, whatever their number, and a
dictionary look-up where the text was seen before: batches of one corpus share most of their words.
Threads may share one once all regexes are added.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from itertools import chain, count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sears_dsl.runtime.array_types import Growing

# So many texts are remembered; then all are forgotten.
_MOST_TEXTS = 100_000
# Matches every text. A set of regexes that runs out of memory finds nothing, and so not this.
_EVERYTHING = "(?s).*"


class RegexError(ValueError):
    """A regex that RE2 does not know; the message says why."""


class Regexes:
    r"""Regexes, numbered in the order in which they are added.

    Example:
        >>> table = Regexes()
        >>> table.add("colou?r", ignore_case=True), table.add(r"\d+", ignore_case=False)
        (0, 1)
        >>> table.matched(["Color", "12", "colors"]).tolist()
        [[True, False], [False, True], [False, False]]
    """

    def __init__(self) -> None:
        self._written: list[tuple[str, bool]] = []
        self._compiled: list[Any] = []
        self._together: Any = None  # the set of all; where it would be too large, False
        self._alone = threading.Lock()
        self._forget()

    def __len__(self) -> int:
        return len(self._compiled)

    def add(self, pattern: str, *, ignore_case: bool) -> int:
        """The number of a regex."""
        import re2  # type: ignore[import-untyped]  # noqa: PLC0415 - most rulesets have no regex

        try:
            compiled = re2.compile(pattern, _options(ignore_case=ignore_case))
        except re2.error as error:
            reason = error.args[0]
            text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
            raise RegexError(text) from error
        self._written.append((pattern, ignore_case))
        self._compiled.append(compiled)
        self._together = None
        self._forget()
        return len(self._compiled) - 1

    def matched(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """(texts, regexes): whether a regex matches all of a text."""
        if not self._compiled:
            return np.zeros((len(texts), 0), np.bool_)
        with self._alone:
            distinct = dict.fromkeys(texts)
            new = [text for text in distinct if text not in self._rows]
            if len(self._rows) + len(new) > _MOST_TEXTS:
                self._forget()
                new = list(distinct)
            answers = self._answers(new)
            self._rows.update(zip(new, count(len(self._known)), strict=False))
            self._known.extend(answers)
            chosen = np.fromiter(map(self._rows.__getitem__, texts), np.int64, len(texts))
            matched: NDArray[np.bool_] = self._known.array[chosen]
            return matched

    def matching(self, text: str) -> tuple[int, ...]:
        """The numbers of the regexes that match all of one text."""
        if not self._compiled:
            return ()
        with self._alone:
            return tuple(self._matching(text))

    def _forget(self) -> None:
        self._rows: dict[str, int] = {}
        self._known = Growing(np.zeros((0, len(self)), np.bool_))

    def _answers(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """What `matched` tells, worked out; each text is asked about once."""
        answers = np.zeros((len(texts), len(self) + 1), np.bool_)
        if self._together is None:
            self._together = self._set()
        left: Iterable[int] = range(len(texts))
        try:
            encoded = list(map(str.encode, texts)) if self._together else []
        except UnicodeEncodeError:
            encoded = []
        if encoded:
            holding = [numbers or () for numbers in map(self._together.Match, encoded)]
            counts = list(map(len, holding))
            columns = np.fromiter(chain.from_iterable(holding), np.int64, sum(counts))
            answers[np.repeat(np.arange(len(texts)), counts), columns] = True
            left = np.flatnonzero(~answers[:, -1]).tolist()
        for place in left:
            answers[place, self._matching(texts[place])] = True
        return answers[:, :-1]

    def _matching(self, text: str) -> list[int]:
        """The numbers of the regexes that match a text."""
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                return []
        if self._together is None:
            self._together = self._set()
        numbers = (self._together and self._together.Match(text)) or ()
        everything = len(self)
        if everything in numbers:
            return [number for number in numbers if number != everything]
        return [n for n, each in enumerate(self._compiled) if each.fullmatch(text) is not None]

    def _set(self) -> Any:
        import re2  # noqa: PLC0415 - see above

        regexes = re2.Set.FullMatchSet(_options(ignore_case=False))
        for pattern, ignore_case in self._written:
            regexes.Add(f"(?i){pattern}" if ignore_case else pattern)
        regexes.Add(_EVERYTHING)
        try:
            regexes.Compile()
        except re2.error:
            return False
        return regexes


def _options(*, ignore_case: bool) -> Any:
    import re2  # noqa: PLC0415 - see above

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    return options
