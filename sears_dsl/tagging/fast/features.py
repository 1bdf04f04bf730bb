"""What the tagger sees of a word and its neighbours, as keys: 31-bit hashes of its features.

Always holds: a key depends on its arguments alone and is the same compiled and plain (numbers stay
below 2**62); a feature that a word does not have has the key 0, which stands in no table. Training
and tagging take their keys from here.

A word is read with these changes: digits are 0, a curly apostrophe is a straight one, and letters
are lower-cased but for the exact form and the shape. Case is known up to the Armenian alphabet,
where tables of Python and Unicode no longer change; others are one kind of letter without case.

Features that were tried and left out, since five lookups fewer cost 0.0005 of accuracy: the words
on both sides together, the two to the left, the tag before with the word behind, and classes with
one on each side or with the tag before. Costs a microsecond a distinct word, some ten nanoseconds a
key of a token.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sears_dsl.runtime.kernels import kernel

#: Version of all that this module gives: weights are of use with the features that they were
#: learned for alone. A test fails where a feature changes and this number does not.
FEATURES = 1

MASK = 0xFFFFFFFF
_CODES = 0x530

# Kinds of characters, as `kinds_of_characters` gives them.
_LOWER, _UPPER, _LETTER, _DIGIT, _HYPHEN, _OTHER = range(6)

#: Casings: no letters, lower, Capitalized, one capital letter, ALL CAPITALS, miXed, without case.
CASINGS = 7

#: Features of a word at its own place: form, lower form, shape, five suffixes, four prefixes,
#: suffix of three with the casing, number of characters with the shape.
FORM_KEYS = 14

#: Keys by which the lexicon is asked, one after the other: form, lower form, suffixes of four to
#: one characters with the casing, shape.
LOOKUPS = 7

#: Most fine tags, and the number that stands for none, before the first token of a row.
TAGS = 48
NO_TAG = 48

#: Context and class of the places before a row and behind it; what is not in the lexicon has 0.
BEFORE = 1
AFTER = 2

#: Features of a token and its neighbours, and of it and the tags before it.
NEIGHBOUR_KEYS = 5
TAG_KEYS = 4

#: What may stand before a token: nothing, a word, the end of a sentence, a bracket, dash or quote;
#: which half of a pair a quotation mark is; the casing of most of the row.
_MARKS = 4
_HALVES = 3
_ROW_CASINGS = 3
CASING_PAIRS = _MARKS * _HALVES * _ROW_CASINGS * CASINGS
CASING_TRIPLES = CASINGS * CASINGS * CASINGS * _ROW_CASINGS


def kinds_of_characters() -> Any:
    """uint8 (1328,): the kind of each character of the alphabets that have case."""
    kinds = np.full(_CODES, _OTHER, np.uint8)
    for code in range(_CODES):
        character = chr(code)
        if character.islower():
            kinds[code] = _LOWER
        elif character.isupper():
            kinds[code] = _UPPER
        elif character.isalpha():
            kinds[code] = _LETTER
        elif "0" <= character <= "9":
            kinds[code] = _DIGIT
    kinds[ord("-")] = _HYPHEN
    return kinds


def folded_case() -> Any:
    """uint16 (1328,): each character lower-cased; digits become 0."""
    folded = np.arange(_CODES, dtype=np.uint16)
    for code in range(_CODES):
        lower = chr(code).lower()
        if len(lower) == 1 and ord(lower) < _CODES:
            folded[code] = ord(lower)
    folded[ord("0") : ord("9") + 1] = ord("0")
    return folded


@kernel
def mixed(first: Any, second: Any) -> Any:
    """Two numbers, below 2**32 and 2**60, as one of 31 bits that is hardly ever 0."""
    mask = np.int64(MASK)
    high = np.int64(second) >> np.int64(32)
    value = np.int64(first) * np.int64(0x2C1B3C6D) + high * np.int64(0x3C6EF373)
    value = (value + (np.int64(second) & mask)) & mask
    value = ((value ^ (value >> np.int64(16))) * np.int64(0x297A2D39)) & np.int64(MASK)
    value = ((value ^ (value >> np.int64(15))) * np.int64(0x1B56C4E9)) & np.int64(MASK)
    return (value ^ (value >> np.int64(14))) >> np.int64(1)


@kernel
def describe(codes: Any, start: Any, end: Any, kinds: Any, folded: Any, keys: Any) -> Any:  # noqa: PLR0915, PLR0917
    """Write the keys of a word, int64 (FORM_KEYS + LOOKUPS,), and give back its casing.

    ``kinds`` and ``folded`` are what `kinds_of_characters` and `folded_case` give.
    """
    length = end - start
    prime = np.int64(0x01000193)
    mask = np.int64(MASK)
    form = np.int64(0x811C9DC5)
    lower = np.int64(0x811C9DC5)
    shape = np.int64(0x811C9DC5)
    for place in range(FORM_KEYS + LOOKUPS):
        keys[place] = 0
    before = np.int64(-1)
    repeated = np.int64(0)
    capitals = np.int64(0)
    letters = np.int64(0)
    cased = np.int64(0)
    first_is_capital = False
    for place in range(length):
        code = np.int64(codes[start + place])
        if code == 0x2019:
            code = np.int64(39)
        kind = np.int64(_LETTER)
        plain = code
        if code < _CODES:
            kind = np.int64(kinds[code])
            plain = np.int64(folded[code])
        elif 0x2000 <= code < 0x2070:
            kind = np.int64(_OTHER)
        written = plain if kind == _DIGIT else code
        form = ((form ^ written) * prime) & mask
        lower = ((lower ^ plain) * prime) & mask
        # Runs of one kind count once, or once more where they are longer than one.
        if kind != before:
            repeated = np.int64(0)
            shape = ((shape ^ (kind + 1)) * prime) & mask
        elif repeated == 0:
            repeated = np.int64(1)
            shape = ((shape ^ (kind + 11)) * prime) & mask
        before = kind
        if kind <= _LETTER:
            letters += 1
        if kind <= _UPPER:
            cased += 1
        if kind == _UPPER:
            capitals += 1
            if place == 0:
                first_is_capital = True
        if place < 4:
            keys[8 + place] = lower
    # The first argument of `mixed` is always made an np.int64: it is compiled for each type anew,
    # and to numba a number that is written in the code is of another type than one that is not.
    for place in range(min(length, 4)):
        keys[8 + place] = mixed(np.int64(9 + place), keys[8 + place])
    suffix = np.int64(0x811C9DC5)
    for place in range(min(length, 5)):
        code = np.int64(codes[end - 1 - place])
        if code == 0x2019:
            code = np.int64(39)
        if code < _CODES:
            code = np.int64(folded[code])
        suffix = ((suffix ^ code) * prime) & mask
        keys[3 + place] = mixed(np.int64(4 + place), suffix)
    if letters == 0:
        casing = np.int64(0)
    elif cased == 0:
        casing = np.int64(6)
    elif capitals == 0:
        casing = np.int64(1)
    elif capitals == cased:
        casing = np.int64(3) if letters == 1 else np.int64(4)
    elif first_is_capital and capitals == 1:
        casing = np.int64(2)
    else:
        casing = np.int64(5)
    keys[0] = mixed(np.int64(1), form)
    keys[1] = mixed(np.int64(2), lower)
    keys[2] = mixed(np.int64(3), shape)
    keys[12] = mixed(np.int64(14), keys[5] * 8 + casing)
    keys[13] = mixed(np.int64(15), shape * 16 + min(length, 12))
    keys[FORM_KEYS] = mixed(np.int64(21), form)
    keys[FORM_KEYS + 1] = mixed(np.int64(22), lower * 8 + casing)
    # Guesses: the longest suffix that is known, then the shape.
    for place in range(4):
        if keys[6 - place] != 0:
            keys[FORM_KEYS + 2 + place] = mixed(np.int64(23), keys[6 - place] * 8 + casing)
    keys[FORM_KEYS + 6] = mixed(np.int64(24), shape)
    return casing


@kernel
def spelling_key(codes: Any, start: Any, end: Any, kinds: Any, folded: Any) -> Any:
    """The key of a word in lower case, with its digits and apostrophes as they are.

    Arguments as those of `describe`.
    """
    value = np.int64(0x811C9DC5)
    for place in range(start, end):
        code = np.int64(codes[place])
        if code < _CODES and kinds[code] != _DIGIT:
            code = np.int64(folded[code])
        value = ((value ^ code) * np.int64(0x01000193)) & np.int64(MASK)
    return mixed(np.int64(25), value)


@kernel
def class_key(kind: Any) -> Any:
    """The key of a word's class at its own place."""
    return mixed(np.int64(16), np.int64(kind))


@kernel
def mark(codes: Any, start: Any, end: Any) -> Any:
    """What a word says of the next: 2 a sentence ends, 3 it opens or parts something, 1 neither.

    A straight quotation mark, of which only the row tells which half it is, has 4 more.
    """
    if end - start > 3 or end == start:
        return 1
    code = np.int64(codes[start])
    last = np.int64(codes[end - 1])
    if code in (34, 39) and (end - start == 1 or (end - start == 2 and code == last)):
        return 7
    if last in (33, 46, 63):  # ! . ?
        return 2 if code == last else 1
    if code in (40, 45, 58, 59, 91, 96, 0x2013, 0x2014, 0x2018, 0x201C, 0x201D, 0x2026):
        return 3
    return 1


@kernel
def row_casing(casings: Any, words: Any, start: Any, end: Any) -> Any:
    """The casing of most words of a row: 0 lower alone, 1 as usual, 2 mostly capitals."""
    lower = 0
    capital = 0
    for place in range(start, end):
        casing = casings[words[place]]
        if casing == 1:
            lower += 1
        elif 2 <= casing <= 5:
            capital += 1
    if capital == 0:
        return 0
    return 2 if capital > 2 * lower else 1


@kernel
def neighbour_keys(contexts: Any, classes: Any, start: Any, place: Any, end: Any, keys: Any) -> Any:  # noqa: PLR0917
    """Write the keys of a token with its neighbours, up to the row's end; (NEIGHBOUR_KEYS,)."""
    own = np.int64(contexts[place])
    kind = np.int64(classes[place])
    before = np.int64(BEFORE)
    after = after_kind = second_kind = np.int64(AFTER)
    if place > start:
        before = np.int64(contexts[place - 1])
    if place + 1 < end:
        after = np.int64(contexts[place + 1])
        after_kind = np.int64(classes[place + 1])
    if place + 2 < end:
        second_kind = np.int64(classes[place + 2])
    keys[0] = mixed(np.int64(101), before << 16 | own)
    keys[1] = mixed(np.int64(102), own << 16 | after)
    keys[2] = mixed(np.int64(103), kind << 16 | after_kind)
    keys[3] = mixed(np.int64(104), after_kind << 16 | second_kind)
    keys[4] = mixed(np.int64(105), (kind << 16 | after_kind) << 16 | second_kind)


@kernel
def tag_keys(  # noqa: PLR0917 - arrays, in the order in which they are made
    contexts: Any, classes: Any, place: Any, end: Any, before: Any, second: Any, keys: Any
) -> Any:
    """Write the keys of a token with the two tags before it into ``keys``, int64 (TAG_KEYS,)."""
    own = np.int64(contexts[place])
    kind = np.int64(classes[place])
    after_kind = np.int64(AFTER)
    if place + 1 < end:
        after_kind = np.int64(classes[place + 1])
    first = np.int64(before)
    both = first << 6 | np.int64(second)
    keys[0] = mixed(np.int64(111), own << 6 | first)
    keys[1] = mixed(np.int64(112), kind << 12 | both)
    keys[2] = mixed(np.int64(113), after_kind << 6 | first)
    keys[3] = mixed(np.int64(114), own << 12 | both)
