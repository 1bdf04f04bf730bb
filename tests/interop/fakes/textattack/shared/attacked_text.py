"""A text under attack: its columns, its words, its history."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any

import numpy as np


class AttackedText:
    def __init__(
        self, text_input: str | OrderedDict[str, str], attack_attrs: dict[str, Any] | None = None
    ) -> None:
        self.columns = (
            OrderedDict(text=text_input) if isinstance(text_input, str) else OrderedDict(text_input)
        )
        self.attack_attrs = {} if attack_attrs is None else attack_attrs
        self.attack_attrs.setdefault("original_index_map", np.arange(len(self.words)))
        self.attack_attrs.setdefault("modified_indices", set())

    @property
    def column_labels(self) -> list[str]:
        return list(self.columns)

    @property
    def tokenizer_input(self) -> str | tuple[str, ...]:
        texts = tuple(self.columns.values())
        return texts[0] if len(texts) == 1 else texts

    @property
    def words_per_input(self) -> list[list[str]]:
        return [re.findall(r"[\w'-]+", text) for text in self.columns.values()]

    @property
    def words(self) -> list[str]:
        return [word for words in self.words_per_input for word in words]

    @property
    def text(self) -> str:
        return "\n".join(self.columns.values())
