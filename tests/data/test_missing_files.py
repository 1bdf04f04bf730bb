"""Errors about files that do not exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from sears_dsl.data.dataset import Dataset, format_of
from sears_dsl.data.streams import compressing_stream
from sears_dsl.errors import DataError, UsageError
from sears_dsl.models.loading import load_predictor


@pytest.mark.parametrize("name", ["dve.csv", "dev.cvs"])
def test_the_nearest_name_in_its_folder_is_proposed(tmp_path: Path, name: str) -> None:
    (tmp_path / "dev.csv").write_text("text\nA film.\n", "utf-8")
    with pytest.raises(DataError, match="cannot be read: No such file") as told:
        next(Dataset(str(tmp_path / name)).batches())
    assert told.value.help == f"did you mean {tmp_path / 'dev.csv'}?"


def test_nothing_is_proposed_where_nothing_is_near(tmp_path: Path) -> None:
    (tmp_path / "dev.csv").mkdir()
    with pytest.raises(DataError, match="cannot be read: No such file") as told:
        format_of(str(tmp_path / "dev.cvs"))
    assert not told.value.help


def test_the_file_of_an_estimator_is_named_as_one(tmp_path: Path) -> None:
    file = tmp_path / "model.joblib"
    file.write_bytes(b"")
    with pytest.raises(UsageError, match="does not name a model") as told:
        load_predictor(str(file))
    assert told.value.help == f"for a scikit-learn estimator, write sklearn:{file}"


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_a_compressed_file_is_an_error_that_says_how_to_name_it(
    tmp_path: Path, suffix: str
) -> None:
    whole = tmp_path / f"dev.csv{suffix}"
    with whole.open("wb") as raw, compressing_stream(raw, str(whole)) as file:
        file.write(b"text\nA film.\n")
    with pytest.raises(DataError, match="is compressed, but its name does not show it") as told:
        list(Dataset(str(whole.rename(tmp_path / "dev.csv"))).batches())
    assert told.value.help == f"rename it so that it ends in .csv{suffix}"


def test_compressed_standard_input_is_to_be_piped_through_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "dev.csv.gz"
    with whole.open("wb") as raw, compressing_stream(raw, str(whole)) as file:
        file.write(b"text\nA film.\n")
    with whole.open() as piped:
        monkeypatch.setattr("sys.stdin", piped)
        with pytest.raises(DataError, match=r"^standard input is compressed\n") as told:
            list(Dataset("-", format_name="csv").batches())
    assert told.value.help == "pipe it through gunzip, or name the file"


def test_a_column_without_a_name_may_be_the_index_of_a_data_frame(tmp_path: Path) -> None:
    file = tmp_path / "dev.csv"
    for header, advice in ((",text", "index=False"), ("text,", "no header"), (",", "no header")):
        file.write_text(f"{header}\n0,A film.\n")
        with pytest.raises(DataError, match=r"column . has no name") as told:
            Dataset(str(file))
        assert advice in told.value.help
