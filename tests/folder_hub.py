"""A hub without a network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sears_dsl.translation.model_files import HuggingFaceHub


class FolderHub(HuggingFaceHub):
    """A hub whose models are files in memory; ``stated`` may lie about their hashes."""

    def __init__(self, files: dict[str, bytes], *, stated: dict[str, str] | None = None) -> None:
        self.contents = files
        self.stated = stated or {}

    def files(self, model: str) -> Mapping[str, str | None]:
        return {name: self.stated.get(name) for name in self.contents}

    def download(self, model: str, file: str, folder: Path) -> None:
        (folder / file).write_bytes(self.contents[file])
