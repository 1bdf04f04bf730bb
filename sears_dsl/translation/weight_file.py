"""The weight file of Marian's own format, as Firefox Translations ships it.

Callers compare a file's hash (`check_file`) before they read its numbers. An array owns its memory,
so the file may go. The hash costs one pass, which a process makes once for an unchanged file, and
the numbers another, about 40 ms for the 17 MB of a tiny model.

The format, little endian: ``uint64`` version (1) and count; four ``uint64`` for each tensor (length
of the name, type, length of the shape, length of the data); all names, zero-ended; all shapes,
``int32``; ``uint64`` padding and that many bytes; all data. A tensor is float32, or *intgemm8*: one
``int8`` a weight and then one float32 multiplier, weight = integer / multiplier. Matrices of that
type, except the embeddings, are stored transposed.
"""

from __future__ import annotations

import functools
import hashlib
import math
import mmap
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import ModelError

_VERSION = 1
_FLOAT32 = 0x404
_INTGEMM8 = 0x4101
_EMBEDDINGS = "Wemb"
# Multipliers of activations and the configuration lie among the tensors and are not weights.
_NO_WEIGHTS = ("special:", "_QuantMultA")


def file_hash(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    try:
        about = path.stat()
        return _hash(path, about.st_ino, about.st_size, about.st_mtime_ns)
    except OSError as error:
        raise ModelError(
            f"{path} cannot be read: {error.strerror}",
            help="`sears pivots list` lists the installed models",
        ) from error


@functools.lru_cache(maxsize=64)
def _hash(path: Path, *_stat: int) -> str:
    """The hash of a file, computed once as long as inode, size and time are the same."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_file(path: Path, expected: str, *, remedy: str) -> None:
    """Compare a file with the SHA-256 that it must have."""
    digest = file_hash(path)
    if digest != expected:
        raise ModelError(
            f"{path} is not the expected file: its SHA-256 begins with {digest[:16]}, "
            f"not with {expected[:16]}",
            help=remedy,
        )


def read_weights(path: Path) -> Mapping[str, NDArray[np.float32]]:
    """The tensors of a weight file by name, dequantized.

    Matrices come as (inputs, outputs), the embeddings as (pieces, width).
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
            return _read(bytes(raw))
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    except (struct.error, ValueError, OverflowError, MemoryError) as error:
        raise ModelError(
            f"{path} is not a weight file of Marian's binary format: {error}",
            help="the file may be truncated; install or pull the model again",
        ) from error


def _read(raw: bytes) -> Mapping[str, NDArray[np.float32]]:
    version, count = struct.unpack_from("<QQ", raw, 0)
    if version != _VERSION:
        raise ValueError(f"it has version {version}, expected {_VERSION}")
    heads = [struct.unpack_from("<QQQQ", raw, 16 + 32 * number) for number in range(count)]
    at = 16 + 32 * count
    names: list[str] = []
    for name_length, *_ in heads:
        names.append(raw[at : at + name_length].split(b"\0")[0].decode("utf-8"))
        at += name_length
    shapes: list[tuple[int, ...]] = []
    for _, _, shape_length, _ in heads:
        shapes.append(struct.unpack_from(f"<{shape_length}i", raw, at))
        at += 4 * shape_length
    (padding,) = struct.unpack_from("<Q", raw, at)
    at += 8 + padding
    weights: dict[str, NDArray[np.float32]] = {}
    for name, shape, (_, kind, _, length) in zip(names, shapes, heads, strict=True):
        if at + length > len(raw):
            raise ValueError(f"it ends inside tensor {name}")
        if not any(mark in name for mark in _NO_WEIGHTS):
            weights[name] = _tensor(name, kind, shape, raw, at)
        at += length
    return weights


def _tensor(
    name: str, kind: int, shape: tuple[int, ...], raw: bytes, at: int
) -> NDArray[np.float32]:
    size = math.prod(shape)
    if min(shape, default=0) < 0:
        raise ValueError(f"tensor {name} has the shape {shape}")
    if kind == _FLOAT32:
        return np.frombuffer(raw, "<f4", size, at).reshape(shape).astype(np.float32)
    if kind == _INTGEMM8:
        integers = np.frombuffer(raw, np.int8, size, at)
        (multiplier,) = struct.unpack_from("<f", raw, at + size)
        if not multiplier:
            raise ValueError(f"tensor {name} is divided by 0")
        values = integers.astype(np.float32)
        values /= np.float32(multiplier)
        if name == _EMBEDDINGS:
            return values.reshape(shape)
        return np.ascontiguousarray(values.reshape(shape[::-1]).T)
    raise ValueError(f"tensor {name} has the unknown type {kind:#x}")
