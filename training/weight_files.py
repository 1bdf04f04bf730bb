"""The files of weights that the package reads: those of the tagger, the grammar and the judge.

In: arrays, and what a file says about itself. Out: a file that `sears_dsl` reads; the same weights
give the same bytes. Always holds: an archive that contains a hash ends with the hash of the rest.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sears_dsl.judge import networks
from sears_dsl.judge.evidence import Content
from sears_dsl.judge.forecast import ForecastWeights
from sears_dsl.judge.readings import SENSES
from sears_dsl.runtime.array_types import Float32Array, UInt32Array
from sears_dsl.runtime.files import write_atomically
from sears_dsl.tagging.fast import weights
from sears_dsl.tagging.fast.weights import StoredWeights


def save(stored: StoredWeights, path: Path) -> str:
    """Write weights of the tagger to a file; returns their hash."""
    versions = {"format": weights.FORMAT, "features": weights.FEATURES}
    arrays = {name: getattr(stored, name) for name in StoredWeights.__slots__} | {
        "about": _as_array(_as_json(versions | stored.about))
    }
    packed = {
        name: _planes(array) if name.endswith("_keys") else array for name, array in arrays.items()
    }
    return _write(path, packed, lambda content: blake2b(content, digest_size=16).hexdigest())


def write_grammar_file(
    path: Path,
    *,
    about: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    words: Sequence[str] = (),
    listed: Sequence[str] = (),
) -> str:
    """Write the weights of a grammar to a file; returns their SHA-256."""
    texts = {
        "about": _as_json({"format": networks.FORMAT} | dict(about)),
        "words": "\n".join(words),
        "listed": "\n".join(listed),
    }
    named = {name: _as_array(text) for name, text in texts.items()}
    return _write(path, {**named, **arrays}, lambda content: sha256(content).hexdigest())


def learned_bytes(learned: Content | ForecastWeights) -> bytes:
    """Learned arrays as a file, in half precision."""
    file = io.BytesIO()
    arrays = {each.name: getattr(learned, each.name).astype(np.float16) for each in fields(learned)}
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def write_senses(center: Float32Array, directions: Mapping[str, Float32Array]) -> str:
    """Write the directions of changes to `SENSES`; returns the SHA-256 of the file."""
    names = sorted(directions)
    rows = np.stack([directions[name] for name in names])
    largest = np.maximum(np.abs(rows).max(axis=1), np.float32(1e-6)).astype(np.float32)
    arrays: dict[str, Any] = {
        "center": center.astype(np.float32),
        "directions": np.round(rows / largest[:, None] * 127).astype(np.int8),
        "largest": largest,
        "changes": _as_array("\n".join(names)),
    }
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    write_atomically(SENSES, file.getvalue())
    return sha256(file.getvalue()).hexdigest()


def _write(path: Path, arrays: Mapping[str, Any], hash_of: Callable[[bytes], str]) -> str:
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    # The archive ends with the length of its comment; the comment is the hash of what is before.
    content = file.getvalue()[:-2]
    digest = hash_of(content)
    comment = digest.encode("ascii")
    write_atomically(path, content + len(comment).to_bytes(2, "little") + comment)
    return digest


def _as_json(about: Mapping[str, Any]) -> str:
    return json.dumps(about, ensure_ascii=False, sort_keys=True)


def _as_array(text: str) -> Any:
    return np.frombuffer(text.encode(), np.uint8)


def _planes(keys: UInt32Array) -> Any:
    """Sorted keys as bytes of their differences, (4, keys): all first bytes, then all second."""
    differences = np.diff(keys.astype("<u4"), prepend=np.uint32(0)).astype("<u4")
    return np.ascontiguousarray(differences.view(np.uint8).reshape(-1, 4).T)
