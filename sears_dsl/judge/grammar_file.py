"""The files of the grammar's weights: read, checked, written.

Always holds: what was read is what was written, since the file ends with the SHA-256 of the rest,
which is checked before anything else is read; nothing in it is code. `training.grammar` writes it,
and nothing else does.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import DataError
from sears_dsl.runtime.files import write_atomically

#: Version of the files: of their arrays, of the networks and of what these read of a word.
FORMAT = 1

_DIGEST = 64  # letters of the hash
_REINSTALL = "install sears-dsl anew; in a checkout python -m training.grammar makes the file"
_TEXTS = ("about", "words", "listed")


@dataclass(frozen=True, slots=True, eq=False)
class GrammarFile:
    """What a file holds.

    Attributes:
        about: what it says of itself: what the weights were trained on, licence.
        words: words with a row of their own in the table, the most frequent first.
        listed: further words that are known to exist.
    """

    about: Mapping[str, Any]
    words: Sequence[str]
    listed: Sequence[str]
    arrays: Mapping[str, NDArray[np.float32]]
    digest: str


def read_grammar_file(path: Path) -> GrammarFile:
    """Read a file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"the grammar's weights {path} could not be read: {error.strerror or error}",
            help=_REINSTALL,
        ) from error
    digest = _digest(content[: -2 - _DIGEST])
    if content[-_DIGEST:] != digest.encode("ascii"):
        raise DataError(
            f"{path} is damaged or no file of grammar weights: it does not agree with its hash",
            help=_REINSTALL,
        )
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            about = json.loads(bytes(file["about"]))
            if about["format"] == FORMAT:
                return GrammarFile(
                    about,
                    bytes(file["words"]).decode().split("\n"),
                    bytes(file["listed"]).decode().split("\n"),
                    {
                        name: np.ascontiguousarray(file[name], np.float32)
                        for name in file.files
                        if name not in _TEXTS
                    },
                    digest,
                )
    # It agrees with the hash in it, which anybody can write.
    except (KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path} holds no weights of a grammar: {error}", help=_REINSTALL
        ) from error
    raise DataError(
        f"{path} has weights of version {about['format']}, and this version of sears reads "
        f"{FORMAT}",
        help=_REINSTALL,
    )


def write_grammar_file(
    path: Path,
    *,
    about: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    words: Sequence[str] = (),
    listed: Sequence[str] = (),
) -> str:
    """Write a file, the same bytes for the same weights; gives back its SHA-256."""
    header = json.dumps({"format": FORMAT} | dict(about), ensure_ascii=False, sort_keys=True)
    texts = (header, "\n".join(words), "\n".join(listed))
    named = {
        name: np.frombuffer(text.encode(), np.uint8)
        for name, text in zip(_TEXTS, texts, strict=True)
    }
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **named, **arrays)
    # The archive ends with the length of its comment, which is the hash of what is before.
    content = file.getvalue()[:-2]
    digest = _digest(content)
    comment = digest.encode("ascii")
    write_atomically(path, content + len(comment).to_bytes(2, "little") + comment)
    return digest


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
