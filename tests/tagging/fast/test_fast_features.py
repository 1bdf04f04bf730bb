"""Weights fit their features: whoever changes the features raises FEATURES."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from sears_dsl.tagging.fast import weights as features
from sears_dsl.tagging.fast.fast_tagger import casing_pair, casing_triple
from sears_dsl.tagging.fast.weights import SIDES

#: The hash of all features of the sample, by version.
FINGERPRINTS = {1: "13d11d774999645f"}

WORDS = (
    "What", "it", "'s", "’s", "n’t", "NASA", "iPhone", "a", "I", "1990s", "3.50", "e-mail", "-",
    "--", "...", "?", '"', "''", "(", "“", "Überall", "Ærø", "日本", "Привет", "ß", "ⅷ", "",
    "x" * 20,
)  # fmt: skip


def fingerprint() -> str:
    """A hash of the sizes and of the keys of a sample of words and places."""
    found: list[int] = [
        SIDES,
        *(
            features.AFTER, features.BEFORE, features.CASINGS, features.CASING_PAIRS,
            features.CASING_TRIPLES, features.FORM_KEYS, features.LOOKUPS, features.MASK,
            features.NEIGHBOUR_KEYS, features.NO_TAG, features.TAGS, features.TAG_KEYS,
        ),
    ]  # fmt: skip
    kinds, folded = features.kinds_of_characters(), features.folded_case()
    keys = np.zeros(features.FORM_KEYS + features.LOOKUPS, np.int64)
    casings = []
    for word in WORDS:
        codes = np.array([ord(character) for character in word], np.uint32)
        size = np.int64(len(codes))
        casings.append(features.describe(codes, np.int64(0), size, kinds, folded, keys))
        found += keys.tolist()
        found.append(features.mark(codes, np.int64(0), size))
        found.append(features.spelling_key(codes, np.int64(0), size, kinds, folded))
    found += casings
    contexts = np.array([5, 70, 3, 900, 12], np.int32)
    classes = np.array([3, 40, 3, 17, 12], np.int32)
    neighbours = np.zeros(features.NEIGHBOUR_KEYS, np.int64)
    tags = np.zeros(features.TAG_KEYS, np.int64)
    for place in range(5):
        features.neighbour_keys(contexts, classes, 0, place, 5, neighbours)
        features.tag_keys(contexts, classes, place, 5, np.int64(place), np.int64(48), tags)
        found += [*neighbours.tolist(), *tags.tolist(), features.class_key(classes[place])]
        found.append(casing_pair(place % 4, place % 3, 1, place))
        found.append(casing_triple(place, 2, 6 - place, 1))
    seen = np.array(casings, np.uint8)
    rows = ([0, 1, 2], [1, 7], [5, 5, 5, 1])
    found += [features.row_casing(seen, np.array(row), 0, len(row)) for row in rows]
    return blake2b(repr(list(map(int, found))).encode(), digest_size=8).hexdigest()


def test_features_that_change_have_another_version() -> None:
    assert FINGERPRINTS[features.FEATURES] == fingerprint(), (
        "the features have changed: raise FEATURES, note its fingerprint here, and train anew"
    )
    assert len(set(FINGERPRINTS.values())) == len(FINGERPRINTS)


def test_a_spelling_is_known_in_every_casing_and_in_no_other_way() -> None:
    kinds, folded = features.kinds_of_characters(), features.folded_case()

    def key(word: str) -> int:
        codes = np.array([ord(character) for character in word], np.uint32)
        return int(features.spelling_key(codes, 0, len(codes), kinds, folded))

    assert key("Any1") == key("any1") == key("ANY1")
    assert len({key(word) for word in ("any1", "any2", "any", "'s", "\u2019s", "s")}) == 6
