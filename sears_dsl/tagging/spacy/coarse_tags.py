"""Coarse tags by word and fine tag: what a model's attribute ruler says, asked once a pair.

In: a spaCy attribute ruler, then words with fine tags. Out: their coarse tags. Always holds: the
answer is the ruler's own, for every token. It runs a pattern matcher over each text, a good part
of the time of tagging; but where each of its patterns that sets a coarse tag looks at one token,
and nothing but that token's word and fine tag, the answer for a pair never changes and is kept.
`remembered` gives None for a ruler that looks further.
Costs one entry for each distinct pair; the ruler runs only on pairs that were not seen before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.uint64]

# Attributes of a token that its text and its fine tag decide. DEP is always empty: no parser runs.
_DECIDED = frozenset({"ORTH", "TEXT", "LOWER", "TAG", "IS_SPACE", "DEP"})
_MOST_PAIRS = 1_000_000


class CoarseTags:
    """Coarse tags of pairs, as spaCy's numbers.

    Args:
        ask: gives the coarse tags of words (numbers) with fine tags (numbers).
    """

    def __init__(self, ask: Callable[[Codes, Codes], Codes]) -> None:
        self._ask = ask
        self._known: dict[tuple[int, int], int] = {}

    def of(self, words: Codes, fine: Codes) -> Codes:
        """The coarse tag of each token, from its word and its fine tag."""
        if not len(words):
            return words
        tags, tag_ids = np.unique(fine, return_inverse=True)
        forms, form_ids = np.unique(words, return_inverse=True)
        pairs, pair_ids = np.unique(form_ids * len(tags) + tag_ids, return_inverse=True)
        keys = list(
            zip(forms[pairs // len(tags)].tolist(), tags[pairs % len(tags)].tolist(), strict=True)
        )
        unseen = [key for key in keys if key not in self._known]
        if unseen:
            if len(self._known) > _MOST_PAIRS:
                self._known.clear()
                unseen = keys
            questions = np.array(unseen, np.uint64)
            answers = self._ask(questions[:, 0], questions[:, 1]).tolist()
            self._known.update(zip(unseen, answers, strict=True))
        coarse: Codes = np.array([self._known[key] for key in keys], np.uint64)[pair_ids]
        return coarse


def remembered(patterns: list[Mapping[str, Any]]) -> bool:
    """Whether the rules of an attribute ruler decide coarse tags by word and fine tag alone."""
    for rule in patterns:
        if rule["patterns"] == [[{"IS_SPACE": True}]]:
            continue  # white space is no token here
        if "TAG" in rule["attrs"]:
            return False
        if "POS" not in rule["attrs"]:
            continue
        for pattern in rule["patterns"]:
            if any(token.get("DEP") for token in pattern):
                continue  # never matches: no parser gives the dependency that it asks for
            if len(pattern) != 1 or not pattern[0].keys() <= _DECIDED:
                return False
    return True
