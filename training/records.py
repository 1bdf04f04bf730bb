"""What steps of training leave behind: lines for whoever waits, saved results, hashes of files."""

from __future__ import annotations

import csv
import datetime
import hashlib
import io
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sears_dsl.runtime.files import write_atomically
from sears_dsl.translation.weight_file import file_hash


def show(line: str) -> None:
    """Print a line for whoever waits."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def digest(of: object) -> str:
    """16 hex digits that tell apart what results were computed from."""
    return hashlib.sha256(repr(of).encode()).hexdigest()[:16]


def save_arrays(file: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays by name, whole or not at all."""
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    write_atomically(file, content.getvalue())


def load_arrays(file: Path) -> dict[str, NDArray[Any]]:
    """The arrays that `save_arrays` wrote."""
    with np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def load_or_compute(
    file: Path, compute: Callable[[], Mapping[str, Any]]
) -> dict[str, NDArray[Any]]:
    """The arrays of a file; if there is none, they are computed and saved there."""
    if not file.exists():
        save_arrays(file, compute())
    return load_arrays(file)


def write_json(file: Path, document: Mapping[str, Any], *, indent: int = 1) -> None:
    """Write a document of the package, whole or not at all."""
    write_atomically(file, f"{json.dumps(document, ensure_ascii=False, indent=indent)}\n".encode())


def rows_of(file: Path) -> list[dict[str, str]]:
    """The rows of a file with tabs, by the names of its columns; quotes are plain characters."""
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def today() -> str:
    """The date, as provenance has it."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def described_files(files: Mapping[str, Path]) -> dict[str, dict[str, str]]:
    """The name and the SHA-256 of each file."""
    return {kind: {"name": path.name, "sha256": file_hash(path)} for kind, path in files.items()}
