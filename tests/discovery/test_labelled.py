"""Labelled rows: what is missing is told with its place, however late in the file it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sears_dsl.discovery.labelled import read_labelled
from sears_dsl.errors import DataError


def written(folder: Path, rows: list[dict[str, str]]) -> str:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


@pytest.mark.parametrize("kept", ["text", "label"])
def test_a_column_that_ends_late_in_the_file_is_told_with_its_row(
    kept: str, tmp_path: Path
) -> None:
    row = {"text": "A fun film.", "label": "positive"}
    # More rows than are read at once, so that whole parts of the file have no such column.
    path = written(tmp_path, [row] * 11_000 + [{kept: row[kept]}] * 11_000)
    with pytest.raises(DataError, match="row 11001"):
        read_labelled(path, column="text", label="label")
