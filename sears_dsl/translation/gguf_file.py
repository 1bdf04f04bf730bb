"""The weights of a language model in a file of GGUF, the format of llama.cpp.

Always holds: nothing of the file is run, and a file that contradicts its own sizes is an error. Of
the packed kinds of numbers it reads the two that the model of `sears_dsl.judge.likelihood` has:
``Q8_0``, blocks of 32 whole numbers with a scale, and ``Q4_1``, the same with an offset too. 135
million weights take some 0.6 s, most of it to unpack them.

The layout (version 3, little endian): ``GGUF``, the version, the numbers of tensors and of fields;
the fields, each a name, a type and a value; for each tensor its name, sizes (the innermost first),
type and place; then, from the next multiple of the alignment on, the numbers.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from sears_dsl.errors import ModelError
from sears_dsl.runtime.array_types import Float32Array

_MAGIC, _VERSION, _ALIGNMENT = b"GGUF", 3, 32
_STRING, _LIST = 8, 9
# The number of each plain type, and its letter in `struct`.
_PLAIN = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_FLOAT, _Q4_1, _Q8_0 = 0, 3, 8
_BLOCK = 32


@dataclass(frozen=True, slots=True, eq=False)
class WeightsOfModel:
    """What a file holds."""

    fields: dict[str, Any]  # what it says of the model, with the tokenizer's pieces and merges
    arrays: dict[str, Float32Array]  # matrices (outputs, inputs) and vectors, by name


def read_gguf(path: Path) -> WeightsOfModel:
    """The fields and the unpacked weights of a file.

    Raises:
        ModelError: it cannot be read, or is of another version or kind.
    """
    try:
        content = np.memmap(path, np.uint8, "r")
        return _GgufBytes(content).read()
    except (OSError, ValueError, struct.error, UnicodeDecodeError, KeyError) as error:
        raise ModelError(
            f"{path} cannot be read as weights of a language model: {error}",
            help="name a GGUF file of version 3 with weights of the kinds F32, Q4_1 and Q8_0",
        ) from error


class _GgufBytes:
    """A reader that moves through the bytes of a file."""

    def __init__(self, content: Any) -> None:
        self._content = content
        self._at = 0

    def read(self) -> WeightsOfModel:
        if self._bytes(4) != _MAGIC or self._number("I") != _VERSION:
            raise ValueError("it does not begin like a GGUF file")
        tensors, fields = self._number("Q"), self._number("Q")
        about = {self._string(): self._value(self._number("I")) for _ in range(fields)}
        places = [self._place() for _ in range(tensors)]
        alignment = about.get("general.alignment", _ALIGNMENT)
        start = -(-self._at // alignment) * alignment
        return WeightsOfModel(
            about, {name: self._array(shape, kind, start + at) for name, shape, kind, at in places}
        )

    def _bytes(self, count: int) -> bytes:
        piece: bytes = self._content[self._at : self._at + count].tobytes()
        if len(piece) < count:
            raise ValueError("it ends too early")
        self._at += count
        return piece

    def _number(self, kind: str) -> Any:
        return struct.unpack(f"<{kind}", self._bytes(struct.calcsize(kind)))[0]

    def _string(self) -> str:
        return self._bytes(self._number("Q")).decode()

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _LIST:
            inner, count = self._number("I"), self._number("Q")
            return [self._value(inner) for _ in range(count)]
        return self._number(_PLAIN[kind])

    def _place(self) -> tuple[str, tuple[int, ...], int, int]:
        name, axes = self._string(), self._number("I")
        sizes = [self._number("Q") for _ in range(axes)]
        return name, tuple(reversed(sizes)), self._number("I"), self._number("Q")

    def _array(self, shape: tuple[int, ...], kind: int, at: int) -> Float32Array:
        count = prod(shape)
        if kind == _FLOAT:
            return np.frombuffer(self._content, np.float32, count, at).reshape(shape).copy()
        parts: list[tuple[str, Any, tuple[int, ...]]] = {
            _Q8_0: [("scale", "<f2", ()), ("numbers", np.int8, (_BLOCK,))],
            _Q4_1: [("scale", "<f2", ()), ("offset", "<f2", ()), ("pairs", np.uint8, (16,))],
        }[kind]
        blocks = np.frombuffer(self._content, np.dtype(parts), count // _BLOCK, at)
        scale = blocks["scale"].astype(np.float32)[:, None]
        if kind == _Q8_0:
            return (blocks["numbers"] * scale).reshape(shape)
        # The lower halves of 16 bytes are the first 16 numbers of a block.
        numbers = np.concatenate([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=1)
        offset = blocks["offset"].astype(np.float32)[:, None]
        return (numbers * scale + offset).reshape(shape)
