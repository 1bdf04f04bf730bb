"""What the tagger sees of a word and its neighbours, as keys; and the weights of keys, from a file.

A key is a 31-bit hash of a feature. Always holds: a key depends on its arguments alone and is the
same compiled and plain (numbers stay below 2**62); a feature that a word does not have has the key
0, which stands in no table. Training and tagging take their keys from here.

A word is read with these changes: digits are 0, a curly apostrophe is a straight one, and letters
are lower-cased but for the exact form and the shape. Case is known up to the Armenian alphabet,
where tables of Python and Unicode no longer change; all later letters are of one kind, uncased.

Costs a microsecond a distinct word, some ten nanoseconds a key of a token.

The file of weights ends with the hash of the rest, which is checked before anything is read, so
what is loaded is what was written; nothing in it is code. Only `training` writes it. A row of
weights is a run of (tag, weight) entries. Rows of hashed features come first, in the order of their
keys, then those of features that are small numbers: contexts and classes on each of four sides,
pairs of tags, casings. Keys are stored as differences, the bytes of equal rank together, which a
compressor shrinks to half. Costs some 40 ms to load and 30 MB in memory, once in a process.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sears_dsl.errors import TaggerError
from sears_dsl.runtime.array_types import (
    Int8Array,
    Int16Array,
    Int32Array,
    Int64Array,
    Integer,
    UInt8Array,
    UInt16Array,
    UInt32Array,
)
from sears_dsl.runtime.kernels import kernel

#: Version of the features: weights fit only the features that they were learned for. A test fails
#: if a feature changes and this number does not.
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

#: Keys that are looked up in the lexicon, in this order: form, lower form, suffixes of four to
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

#: Version of the file's format.
FORMAT = 2

#: Neighbours whose context counts: one and two to the left, one and two to the right.
SIDES = 4

SHIPPED = Path(__file__).with_name("tagger_en.npz")


def weights_of(language: str) -> Path:
    """The file of a language's weights, such as ``tagger_pt.npz``."""
    return SHIPPED.with_name(f"tagger_{language}.npz")


# Letters of the hash.
_DIGEST = 32

_TAG_PAIRS = (TAGS + 1) ** 2


@cache
def kinds_of_characters() -> UInt8Array:
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


@cache
def folded_case() -> UInt16Array:
    """uint16 (1328,): each character lower-cased; digits become 0."""
    folded = np.arange(_CODES, dtype=np.uint16)
    for code in range(_CODES):
        lower = chr(code).lower()
        if len(lower) == 1 and ord(lower) < _CODES:
            folded[code] = ord(lower)
    folded[ord("0") : ord("9") + 1] = ord("0")
    return folded


@kernel
def mixed(first: Integer, second: Integer) -> Integer:
    """The 31-bit hash, hardly ever 0, of two numbers below 2**32 and 2**60."""
    mask = np.int64(MASK)
    high = np.int64(second) >> np.int64(32)
    value = np.int64(first) * np.int64(0x2C1B3C6D) + high * np.int64(0x3C6EF373)
    value = (value + (np.int64(second) & mask)) & mask
    value = ((value ^ (value >> np.int64(16))) * np.int64(0x297A2D39)) & np.int64(MASK)
    value = ((value ^ (value >> np.int64(15))) * np.int64(0x1B56C4E9)) & np.int64(MASK)
    return (value ^ (value >> np.int64(14))) >> np.int64(1)


@kernel
def describe(  # noqa: PLR0915, PLR0917
    codes: UInt32Array, start: Integer, end: Integer, kinds: UInt8Array, folded: UInt16Array,
    keys: Int64Array,
) -> Integer:  # fmt: skip
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
    # The first argument of `mixed` is always made an np.int64: numba compiles it anew for each
    # type, and a number that is written in the code has a type of its own there.
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
def spelling_key(
    codes: UInt32Array, start: Integer, end: Integer, kinds: UInt8Array, folded: UInt16Array
) -> Integer:
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
def class_key(kind: Integer) -> Integer:
    """The key of a word's class at its own place."""
    return mixed(np.int64(16), np.int64(kind))


@kernel
def mark(codes: UInt32Array, start: Integer, end: Integer) -> Integer:
    """What a word tells the next: 2 a sentence ends, 3 it opens or separates something, 1 neither.

    A straight quotation mark has 4 more: only the row tells which half of a pair it is.
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
def row_casing(casings: UInt8Array, words: Int32Array, start: Integer, end: Integer) -> Integer:
    """The casing of most words of a row: 0 all lower, 1 as usual, 2 mostly capitals."""
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
def neighbour_keys(  # noqa: PLR0917 - arrays, in the order in which they are made
    contexts: Int32Array, classes: Int32Array, start: Integer, place: Integer, end: Integer,
    keys: Int64Array,
) -> None:  # fmt: skip
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
    contexts: Int32Array, classes: Int32Array, place: Integer, end: Integer, before: Integer,
    second: Integer, keys: Int64Array,
) -> None:  # fmt: skip
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


# ---------------------------------------------------------------- weights


class ScoreTables(NamedTuple):
    """What the tags of a token are scored by."""

    # rows of features that are hashed, by key, with free slots (-1) between them: key << 32 | first
    # entry << 6 | number of entries
    slots: Int64Array
    slot_shift: Integer  # bits of a key behind those of its first slot
    entries: Int16Array  # weight << 6 | tag
    around: Int16Array  # (contexts, SIDES, TAGS): scores by a neighbour's context
    tags_before: Int16Array  # ((TAGS + 1)², TAGS): by the last tag and the one before it
    casing_pairs: Int16Array  # (CASING_PAIRS, TAGS)
    casing_triples: Int16Array  # (CASING_TRIPLES, TAGS)
    # (groups, TAGS): the coarse tag by group and fine tag; group 0 is the rest
    coarse_of: UInt8Array


class TaggerTables(NamedTuple):
    """What the kernels read. A bucket holds the keys that agree in their first bits."""

    lexicon_starts: Int32Array  # (buckets + 1,): of the lexicon
    lexicon_keys: UInt32Array  # sorted keys of word forms and suffixes
    lexicon_shift: Integer  # bits of a key behind those of its bucket
    lexicon_contexts: UInt16Array  # the context of words with that key
    lexicon_certain: UInt8Array  # their only tag, or 255
    context_classes: UInt16Array  # (contexts,): the class of a context
    coarse_starts: Int32Array  # (buckets + 1,): of words with coarse tags of their own
    coarse_keys: UInt32Array  # sorted `spelling_key`s of theirs
    coarse_shift: Integer
    coarse_groups: UInt8Array  # the group of each
    scores: ScoreTables  # all that is read where words are known


@dataclass(frozen=True, slots=True, eq=False)
class StoredWeights:
    """The content of a file."""

    about: dict[str, Any]  # what it is: tags, training data, licence, seed
    lexicon_keys: UInt32Array  # sorted
    lexicon_contexts: UInt16Array
    lexicon_certain: UInt8Array
    context_classes: UInt16Array  # (contexts,)
    row_keys: UInt32Array  # sorted
    # entries of each row: those of `row_keys`, then (side, context), (side, class), (tag, tag
    # before it), tags one and two before, casings
    row_sizes: UInt8Array
    entry_tags: UInt8Array
    entry_weights: Int8Array
    coarse_keys: UInt32Array  # sorted
    coarse_groups: UInt8Array
    coarse_of: UInt8Array  # (groups, TAGS)


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Weights that are ready for use."""

    tables: TaggerTables
    fine: tuple[str, ...]
    coarse: tuple[str, ...]
    about: dict[str, Any]
    digest: str

    @property
    def version(self) -> str:
        """Format and hash: tags may differ between versions, and only then."""
        return f"{FORMAT}.{self.digest[:12]}"


def load(path: Path | None = None) -> Weights:
    """Read weights, the shipped ones if no file is named; two recent files are kept in memory.

    TaggerError: the file is missing, damaged, of another format or for other features.
    """
    place = SHIPPED if path is None else path
    try:
        there = place.stat()
        return _load(place, there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns)
    except OSError as error:
        reason = error.strerror or error
        raise _unusable(f"the weights of the tagger, {place}, cannot be read: {reason}") from error


@lru_cache(maxsize=2)
def _load(place: Path, *_version: int) -> Weights:
    content = place.read_bytes()
    digest = _digest(content[: -2 - _DIGEST])
    if content[-_DIGEST:] != digest.encode("ascii"):
        raise _unusable(
            f"{place} is damaged or not a file of tagger weights: its hash does not match"
        )
    try:
        return _read(content, place, digest)
    # The hash is right, but anybody can write a file with a right one.
    except (KeyError, ValueError, TypeError, IndexError, zipfile.BadZipFile) as error:
        raise _unusable(f"{place} has no tagger weights: {error}") from error


def _read(content: bytes, place: Path, digest: str) -> Weights:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        about = json.loads(bytes(file["about"]))
        if about["format"] != FORMAT:
            raise _unusable(
                f"{place} has weights of format {about['format']}, but this version of sears "
                f"reads {FORMAT}"
            )
        if about["features"] != FEATURES:
            raise _unusable(
                f"{place} has weights for features of version {about['features']}, but this "
                f"version of sears has version {FEATURES}"
            )
        arrays = {name: file[name] for name in file.files if name != "about"}
    stored = StoredWeights(
        about=about,
        **{
            name: _keys(array) if name.endswith("_keys") else array
            for name, array in arrays.items()
        },
    )
    return Weights(
        tables=_tables(stored),
        fine=tuple(about["fine"]),
        coarse=tuple(about["coarse"]),
        about=about,
        digest=digest,
    )


def bucketed(keys: UInt32Array) -> tuple[Int32Array, np.int64]:
    """Where each bucket of sorted keys (below 2**31) begins, and the bits behind a bucket's."""
    bits = max(4, len(keys).bit_length())
    shift = np.int64(31 - bits)
    counts = np.bincount(keys.astype(np.int64) >> shift, minlength=1 << bits)
    return np.append(0, np.cumsum(counts)).astype(np.int32), shift


def _tables(stored: StoredWeights) -> TaggerTables:
    """Weights laid out for the kernels."""
    lexicon_starts, lexicon_shift = bucketed(stored.lexicon_keys)
    coarse_starts, coarse_shift = bucketed(stored.coarse_keys)
    hashed = len(stored.row_keys)
    entry_starts = np.append(0, np.cumsum(stored.row_sizes, dtype=np.int32)).astype(np.int32)
    kinds = stored.context_classes
    contexts = len(kinds)
    classes = int(kinds.max(initial=0)) + 1
    sizes = [
        SIDES * contexts,
        SIDES * classes,
        _TAG_PAIRS,
        TAGS + 1,
        TAGS + 1,
        CASING_PAIRS,
        CASING_TRIPLES,
    ]
    places = np.cumsum([hashed, *sizes])
    dense = [
        _dense(stored, entry_starts, first, last)
        for first, last in zip(places[:-1].tolist(), places[1:].tolist(), strict=True)
    ]
    around = dense[0].reshape(contexts, SIDES, TAGS)
    around += dense[1].reshape(classes, SIDES, TAGS)[kinds]
    tags_before = dense[2].reshape(TAGS + 1, TAGS + 1, TAGS)
    tags_before += dense[3][:, None, :]
    tags_before += dense[4][None, :, :]
    last_entry = int(entry_starts[hashed])
    slots, slot_shift = _slots(stored.row_keys, entry_starts, stored.row_sizes)
    weights = stored.entry_weights.astype(np.int16)
    return TaggerTables(
        lexicon_starts=lexicon_starts,
        lexicon_keys=stored.lexicon_keys,
        lexicon_shift=lexicon_shift,
        lexicon_contexts=stored.lexicon_contexts,
        lexicon_certain=stored.lexicon_certain,
        context_classes=kinds,
        coarse_starts=coarse_starts,
        coarse_keys=stored.coarse_keys,
        coarse_shift=coarse_shift,
        coarse_groups=stored.coarse_groups,
        scores=ScoreTables(
            slots=slots,
            slot_shift=slot_shift,
            entries=weights[:last_entry] << 6 | stored.entry_tags[:last_entry],
            around=around,
            tags_before=tags_before.reshape(_TAG_PAIRS, TAGS),
            casing_pairs=dense[5],
            casing_triples=dense[6],
            coarse_of=stored.coarse_of,
        ),
    )


def _slots(
    keys: UInt32Array, entry_starts: Int32Array, sizes: UInt8Array
) -> tuple[Int64Array, np.int64]:
    """Sorted keys in an open table: each in the first free slot from its own on.

    Since keys are in order and a key's first bits are its own slot, key i is at slot
    max(own slot of i, slot of i - 1, + 1), and a search may end at the first larger key.
    """
    bits = max(6, len(keys).bit_length() + 1)
    shift = np.int64(31 - bits)
    numbers = np.arange(len(keys))
    key = keys.astype(np.int64)
    places = np.maximum.accumulate((key >> shift) - numbers) + numbers
    room = max(1 << bits, int(places.max(initial=0)) + 1) + 1
    slots = np.full(room, -1, np.int64)
    first = entry_starts[: len(keys)].astype(np.int64)
    slots[places] = key << 32 | first << 6 | sizes[: len(keys)].astype(np.int64)
    return slots, shift


def _dense(stored: StoredWeights, entry_starts: Int32Array, first: int, last: int) -> Int16Array:
    """Rows first up to last as scores by tag."""
    scores = np.zeros((last - first, TAGS), np.int16)
    entries = slice(entry_starts[first], entry_starts[last])
    rows = np.repeat(np.arange(last - first), stored.row_sizes[first:last])
    scores[rows, stored.entry_tags[entries]] = stored.entry_weights[entries]
    return scores


def _unusable(message: str) -> TaggerError:
    advice = "reinstall sears-dsl; in a checkout, python -m training.tagger makes the file"
    return TaggerError(message, help=advice)


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=_DIGEST // 2).hexdigest()


def _keys(planes: UInt8Array) -> Any:
    """Sorted keys from their differences: the first bytes of all, the second ones, and so on."""
    differences = np.ascontiguousarray(planes.T).view("<u4").reshape(-1)
    return np.cumsum(differences, dtype=np.uint32)
