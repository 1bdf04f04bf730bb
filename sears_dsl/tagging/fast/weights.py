"""The file of the tagger's weights: read, checked, laid out for lookups; and written.

Always holds: what was loaded is what was written, since the file ends with the hash of the rest,
which is checked before anything is read; nothing in the file is code. `training` writes it, and
nothing else does.

A row of weights is a run of (tag, weight) entries. Rows of features that are hashed come first, in
the order of their keys, then those of small numbers: contexts and classes on each of four sides,
pairs of tags, casings. Keys are stored as differences, the bytes of equal rank together, which a
compressor shrinks to half. Costs some 40 ms to load and 30 MB in memory, once in a process.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from functools import lru_cache
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
from sears_dsl.runtime.files import write_atomically
from sears_dsl.tagging.fast.features import CASING_PAIRS, CASING_TRIPLES, FEATURES, TAGS

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


class TaggerTables(NamedTuple):
    """What the kernels read. A bucket holds the keys that agree in their first bits."""

    lexicon_starts: Int32Array  # int32 (buckets + 1,): of the lexicon
    lexicon_keys: UInt32Array  # uint32: sorted keys of word forms and suffixes
    lexicon_shift: Integer  # int64: bits of a key behind those of its bucket
    lexicon_contexts: UInt16Array  # uint16: the context of words with that key
    lexicon_certain: UInt8Array  # uint8: their only tag, or 255
    context_classes: UInt16Array  # uint16 (contexts,): the class of a context
    # int64: rows of features that are hashed, by key, with free slots (-1) between them: key << 32
    # | first entry << 6 | number of entries
    slots: Int64Array
    slot_shift: Integer  # int64: bits of a key behind those of its first slot
    entries: Int16Array  # int16: weight << 6 | tag
    around: Int16Array  # int16 (contexts, SIDES, TAGS): scores by a neighbour's context
    tags_before: Int16Array  # int16 ((TAGS + 1)², TAGS): by the last tag and the one before it
    casing_pairs: Int16Array  # int16 (CASING_PAIRS, TAGS)
    casing_triples: Int16Array  # int16 (CASING_TRIPLES, TAGS)
    coarse_starts: Int32Array  # int32 (buckets + 1,): of words with coarse tags of their own
    coarse_keys: UInt32Array  # uint32: sorted `features.spelling_key`s of theirs
    coarse_shift: Integer  # int64
    coarse_groups: UInt8Array  # uint8: the group of each
    # uint8 (groups, TAGS): the coarse tag by group and fine tag; group 0 is the rest
    coarse_of: UInt8Array


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """The content of a file."""

    about: dict[str, Any]  # what it is: tags, training data, licence, seed
    lexicon_keys: UInt32Array  # uint32, sorted
    lexicon_contexts: UInt16Array  # uint16
    lexicon_certain: UInt8Array  # uint8
    context_classes: UInt16Array  # uint16 (contexts,)
    row_keys: UInt32Array  # uint32, sorted
    # uint8: entries of each row: those of `row_keys`, then (side, context), (side, class), (tag,
    # tag before it), tags one and two before, casings
    row_sizes: UInt8Array
    entry_tags: UInt8Array  # uint8
    entry_weights: Int8Array  # int8
    coarse_keys: UInt32Array  # uint32, sorted
    coarse_groups: UInt8Array  # uint8
    coarse_of: UInt8Array  # uint8 (groups, TAGS)


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
    """Read weights, the shipped ones if no file is named; what was read lately is the same object.

    TaggerError: the file is missing, damaged, of another format or for other features.
    """
    place = SHIPPED if path is None else path
    try:
        there = place.stat()
        return _load(place, there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns)
    except OSError as error:
        reason = error.strerror or error
        raise _unusable(f"the tagger's weights {place} could not be read: {reason}") from error


@lru_cache(maxsize=2)
def _load(place: Path, *_version: int) -> Weights:
    content = place.read_bytes()
    digest = _digest(content[: -2 - _DIGEST])
    if content[-_DIGEST:] != digest.encode("ascii"):
        raise _unusable(
            f"{place} is damaged or no file of tagger weights: it does not agree with its hash"
        )
    try:
        return _read(content, place, digest)
    # It agrees with the hash in it, which anybody can write.
    except (KeyError, ValueError, TypeError, IndexError, zipfile.BadZipFile) as error:
        raise _unusable(f"{place} holds no weights of a tagger: {error}") from error


def _read(content: bytes, place: Path, digest: str) -> Weights:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        about = json.loads(bytes(file["about"]))
        if about["format"] != FORMAT:
            raise _unusable(
                f"{place} has weights of format {about['format']}, and this version of sears "
                f"reads {FORMAT}"
            )
        if about["features"] != FEATURES:
            raise _unusable(
                f"{place} has weights for features of version {about['features']}, and this "
                f"version of sears makes those of version {FEATURES}"
            )
        arrays = {name: file[name] for name in file.files if name != "about"}
    stored = Stored(
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


def save(stored: Stored, path: Path) -> str:
    """Write weights to a file, the same bytes for the same weights; gives back their hash."""
    versions = {"format": FORMAT, "features": FEATURES}
    about = json.dumps(versions | stored.about, ensure_ascii=False, sort_keys=True)
    arrays = {name: getattr(stored, name) for name in Stored.__slots__}
    arrays["about"] = np.frombuffer(about.encode(), np.uint8)
    file = io.BytesIO()
    np.savez_compressed(
        file,
        **{
            name: _planes(array) if name.endswith("_keys") else array
            for name, array in arrays.items()
        },
    )
    # The archive ends with the length of its comment, which is the hash of what is before.
    content = file.getvalue()[:-2]
    digest = _digest(content)
    comment = digest.encode("ascii")
    write_atomically(path, content + len(comment).to_bytes(2, "little") + comment)
    return digest


def bucketed(keys: UInt32Array) -> tuple[Any, Any]:
    """Where sorted keys, below 2**31, of each bucket begin, and the bits behind a bucket's."""
    bits = max(4, len(keys).bit_length())
    shift = np.int64(31 - bits)
    counts = np.bincount(keys.astype(np.int64) >> shift, minlength=1 << bits)
    return np.append(0, np.cumsum(counts)).astype(np.int32), shift


def _tables(stored: Stored) -> TaggerTables:
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
        slots=slots,
        slot_shift=slot_shift,
        entries=weights[:last_entry] << 6 | stored.entry_tags[:last_entry],
        around=around,
        tags_before=tags_before.reshape(_TAG_PAIRS, TAGS),
        casing_pairs=dense[5],
        casing_triples=dense[6],
        coarse_starts=coarse_starts,
        coarse_keys=stored.coarse_keys,
        coarse_shift=coarse_shift,
        coarse_groups=stored.coarse_groups,
        coarse_of=stored.coarse_of,
    )


def _slots(keys: UInt32Array, entry_starts: Int32Array, sizes: UInt8Array) -> tuple[Any, Any]:
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


def _dense(stored: Stored, entry_starts: Int32Array, first: int, last: int) -> Any:
    """Rows first up to last as scores by tag."""
    scores = np.zeros((last - first, TAGS), np.int16)
    entries = slice(entry_starts[first], entry_starts[last])
    rows = np.repeat(np.arange(last - first), stored.row_sizes[first:last])
    scores[rows, stored.entry_tags[entries]] = stored.entry_weights[entries]
    return scores


def _unusable(message: str) -> TaggerError:
    advice = "install sears-dsl anew; in a checkout python -m training.tagger makes the file"
    return TaggerError(message, help=advice)


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=_DIGEST // 2).hexdigest()


def _planes(keys: UInt32Array) -> Any:
    """Sorted keys as bytes of their differences, (4, keys): the first bytes of all, and so on."""
    differences = np.diff(keys.astype("<u4"), prepend=np.uint32(0)).astype("<u4")
    return np.ascontiguousarray(differences.view(np.uint8).reshape(-1, 4).T)


def _keys(planes: UInt8Array) -> Any:
    """The keys that `_planes` took apart."""
    differences = np.ascontiguousarray(planes.T).view("<u4").reshape(-1)
    return np.cumsum(differences, dtype=np.uint32)
