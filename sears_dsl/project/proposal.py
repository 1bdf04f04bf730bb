"""A first project file, proposed from what lies in a folder and in a file of rows.

In: columns of rows; what a person chose. Out: which columns hold text and labels, most likely; the
text of a ``sears.toml``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

_TEXTS = ("text", "sentence", "question", "review", "comment", "content")
_LABELS = ("label", "labels", "class", "category", "sentiment", "target", "answer", "gold", "y")
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".arrow")
_FIRST = ("dev", "valid", "validation", "test")
# A column of labels hardly has more distinct values than this.
_MOST_LABELS = 100


def likely_data(folder: Path) -> str:
    """The file in a folder that most likely holds the rows to search; empty if there is none."""
    files = [path for place in (folder, folder / "data") if place.is_dir()
             for path in sorted(place.iterdir()) if path.suffix in _SUFFIXES]  # fmt: skip
    files.sort(key=lambda path: path.stem.lower() not in _FIRST)
    return files[0].relative_to(folder).as_posix() if files else ""


def likely_text(columns: Mapping[str, Sequence[Any]]) -> str:
    """The column that holds text: by its usual name, else the one with the longest values."""
    usual = [name for name in columns if name.lower() in _TEXTS]
    if usual:
        return usual[0]
    texts = {name: sum(map(len, values)) for name, values in columns.items()
             if values and all(isinstance(value, str) for value in values)}  # fmt: skip
    return max(texts, key=lambda name: texts[name], default="")


def likely_label(columns: Mapping[str, Sequence[Any]], *, texts: Collection[str]) -> str:
    """The column that holds labels: by its usual name, else the one of fewest values; or empty.

    It is none of the `texts`, the columns that rules rewrite.
    """
    others = {name: values for name, values in columns.items() if name not in texts}
    usual = [name for name in others if name.lower() in _LABELS]
    if usual:
        return usual[0]
    different = {name: len(set(map(str, values))) for name, values in others.items()}
    rows = max(map(len, others.values()), default=0)
    few = {name: count for name, count in different.items()
           if 1 < count <= min(_MOST_LABELS, rows // 2)}  # fmt: skip
    return min(few, key=lambda name: few[name], default="")


def project_text(
    *, data: str, column: str, label: str, model: str, rules: Sequence[str], flip_rate: str
) -> str:
    """The text of a project file; what is empty is left out."""
    tables: dict[str, dict[str, str | list[str]]] = {
        "models.main": {"spec": model},
        "datasets.dev": {"file": data, "column": column, "label": label},
        "rulesets": {"own": list(rules)},
        "gates": {"max_flip_rate": flip_rate},
    }
    lines = [
        "# Defaults of sears commands; options override them. Paths are relative to this folder."
    ]
    for name, values in tables.items():
        entries = {key: value for key, value in values.items() if value}
        if entries:
            lines += ["", f"[{name}]"]
            lines += [
                f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entries.items()
            ]
    # TOML writes texts as JSON does, except for one character.
    return "\n".join(lines).replace("\x7f", "\\u007f") + "\n"
