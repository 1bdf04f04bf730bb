"""What is known of words beforehand: the tags that they may have, learned by counting.

In: words with tags. Out: `Lexicon`: it maps the key of a form, of a lower form or of a suffix to a
context, and each context to a class. Always holds: it depends on the counts alone.

A class says which tags are common, in order, how much the first one prevails, and whether a suffix
was used to guess it. A context is a class and, for words that are common enough, the lower form.
Suffixes are taken from rare words, since unknown words are rare. Costs some seconds for a hundred
thousand distinct words.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sears_dsl.tagging.fast.fast_tagger import UNCERTAIN
from sears_dsl.tagging.fast.weights import AFTER, FORM_KEYS, LOOKUPS

#: Whether it was guessed, how much the first tag prevails (0 to 2), the tags.
AmbiguityClass: TypeAlias = tuple[bool, int, tuple[int, ...]]

_FORM = FORM_KEYS
_LOWER_FORM = FORM_KEYS + 1
_FIRST_GUESS = FORM_KEYS + 2

_SEEN = 4
_SEEN_WITH_SUFFIX = 10
_RARE = 10
_COMMON = 15
_SEEN_IN_CONTEXT = 5
_CERTAIN_SEEN = 40
_CERTAIN_SHARE = 0.998
_TAG_SHARE = 0.02
_TAG_SEEN = 1.5
_MOST_TAGS = 4


class Lexicon(NamedTuple):
    """The lexicon as arrays."""

    keys: Any  # uint32, sorted
    contexts: Any  # uint16: the context of each key
    certain: Any  # uint8: the only tag of words with that key, or 255
    context_classes: Any  # uint16 (contexts,)


def make_lexicon(keys: Any, counts: Any) -> Lexicon:
    """Count the tags of words, and classify the words by them.

    Args:
        keys: int64 (words, FORM_KEYS + LOOKUPS): of distinct words, from `weights.describe`.
        counts: float64 (words, tags): how often each has each tag.
    """
    totals = counts.sum(axis=1)
    by_key: dict[int, tuple[AmbiguityClass, int]] = {}
    for column in range(_FIRST_GUESS, FORM_KEYS + LOOKUPS):
        rare = np.flatnonzero((totals <= _RARE) & (keys[:, column] != 0))
        by_key |= _classes(keys[rare, column], counts[rare], least=_SEEN_WITH_SUFFIX, guess=True)
    for column in (_LOWER_FORM, _FORM):
        by_key |= _classes(keys[:, column], counts, least=_SEEN, guess=False)

    kinds = sorted({kind for kind, _ in by_key.values()})
    class_of = {kind: number for number, kind in enumerate(kinds, AFTER + 1)}
    sorted_keys = np.array(sorted(by_key), np.int64)
    classes = np.array([class_of[by_key[key][0]] for key in sorted_keys.tolist()], np.int64)
    certain = np.array([by_key[key][1] for key in sorted_keys.tolist()], np.uint8)
    contexts, context_classes = _contexts(keys, totals, sorted_keys, classes, len(kinds))
    return Lexicon(
        keys=sorted_keys.astype(np.uint32),
        contexts=contexts,
        certain=certain,
        context_classes=context_classes,
    )


def places_of(sorted_keys: Any, keys: Any) -> Any:
    """The place of each key among the sorted ones, or -1."""
    if not len(sorted_keys):
        return np.full(np.shape(keys), -1, np.int64)
    at = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return np.where(sorted_keys[at] == keys, at, -1)


def _classes(
    keys: Any, counts: Any, *, least: int, guess: bool
) -> dict[int, tuple[AmbiguityClass, int]]:
    """The class of each key that is frequent enough, and its only tag if it has one."""
    distinct, places = np.unique(keys, return_inverse=True)
    sums = np.zeros((len(distinct), counts.shape[1]))
    np.add.at(sums, places, counts)
    by_key = {}
    for key, row in zip(distinct.tolist(), sums, strict=True):
        total = row.sum()
        if total < least:
            continue
        order = np.argsort(-row, kind="stable")[:_MOST_TAGS].tolist()
        tags = tuple(
            tag
            for tag in order
            if tag == order[0] or (row[tag] >= _TAG_SHARE * total and row[tag] >= _TAG_SEEN)
        )
        share = row[order[0]] / total
        level = 2 if share >= 0.97 else int(share >= 0.8)
        alone = not guess and total >= _CERTAIN_SEEN and share >= _CERTAIN_SHARE
        by_key[key] = ((guess, level, tags), order[0] if alone else UNCERTAIN)
    return by_key


def _contexts(keys: Any, totals: Any, lexicon: Any, classes: Any, kinds: int) -> tuple[Any, Any]:
    """The context of each key of the lexicon, and the class of each context.

    The first contexts are the classes themselves: unknown, before a row, behind a row, others.
    """
    context_classes = list(range(AFTER + 1 + kinds))
    contexts = classes.copy()
    _, places = np.unique(keys[:, 1], return_inverse=True)
    common = np.bincount(places, weights=totals) >= _COMMON
    # Which lower forms and classes come together, by form or by lower form.
    together: Counter[tuple[int, int]] = Counter()
    asked: list[tuple[Any, Any]] = []
    for column in (_FORM, _LOWER_FORM):
        at = places_of(lexicon, keys[:, column])
        words = np.flatnonzero((at >= 0) & common[places])
        asked.append((words, at[words]))
        pairs = zip(places[words].tolist(), classes[at[words]].tolist(), strict=True)
        for pair, count in zip(pairs, totals[words].tolist(), strict=True):
            together[pair] += count
    number = {}
    for pair, count in sorted(together.items()):
        if count >= _SEEN_IN_CONTEXT:
            number[pair] = len(context_classes)
            context_classes.append(pair[1])
    for words, at in asked:
        for word, entry in zip(words.tolist(), at.tolist(), strict=True):
            pair = (int(places[word]), int(classes[entry]))
            contexts[entry] = number.get(pair, contexts[entry])
    return contexts.astype(np.uint16), np.array(context_classes, np.uint16)
