"""Folders in an object store: the bytes of a disk, by one process and by Ray's workers.

The store is moto's server, which speaks S3's protocol on this machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from command_line import call
from pyarrow import fs

moto = pytest.importorskip(
    "moto.server", reason="moto, a stand-in for S3, is not installed: pip install 'moto[s3,server]'"
)
PARTS = ("a.jsonl", "b.jsonl", "more/c.jsonl")
PROGRAM = "from sears_dsl.cli.main import main; main()"
APPLY = ("apply", "r.sear", "--column", "text", "--quiet")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[fs.S3FileSystem]:
    """A bucket with the same files as a folder on the disk."""
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        # The buckets belong to this process and outlive the server.
        forgetting = HTTPConnection(host, port, timeout=30)
        forgetting.request("POST", "/moto-api/reset")
        assert forgetting.getresponse().status == 200
        forgetting.close()
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        store = fs.S3FileSystem(
            endpoint_override=f"{host}:{port}", scheme="http", allow_bucket_creation=True
        )
        store.create_dir("reviews")
        (tmp_path / "r.sear").write_text("rule film: movie -> film\n")
        for part in PARTS:
            rows = [
                {"id": f"{part}-{row}", "text": f"A  movie of {row} euros ."} for row in range(300)
            ]
            content = "".join(json.dumps(row) + "\n" for row in rows).encode()
            (tmp_path / "in" / part).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "in" / part).write_bytes(content)
            with store.open_output_stream(f"reviews/in/{part}") as stream:
                stream.write(content)
        yield store
    finally:
        server.stop()


def content(store: fs.S3FileSystem, folder: str) -> dict[str, bytes]:
    """The files that hold rows, by their names in the folder."""
    infos = store.get_file_info(fs.FileSelector(folder, recursive=True))
    files = [info.path for info in infos if info.is_file and "/_sears/" not in info.path]
    return {
        path.removeprefix(f"{folder}/"): store.open_input_file(path).readall() for path in files
    }


def run_in_process(*arguments: str, folder: Path) -> None:
    """Run the command in a process of its own, to keep Ray out of that of the tests."""
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=folder,
        text=True,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_a_store_gets_the_bytes_of_a_disk(
    store: fs.S3FileSystem, tmp_path: Path, engine: str
) -> None:
    in_store = [*APPLY, "s3://reviews/in", "-o", "s3://reviews/out"]
    if engine == "ray":
        pytest.importorskip("ray", reason="ray (240 MB) is not installed: pip install -e .[ray]")
        in_store += ["--engine", "ray", "--workers", "2"]
    assert call(*APPLY, "in", "-o", "out", folder=tmp_path).returncode == 0
    disk = {part: (tmp_path / "out" / part).read_bytes() for part in PARTS}
    run_in_process(*in_store, folder=tmp_path)
    assert content(store, "reviews/out") == disk
    # The store knows what was done; only what is missing is done again.
    store.delete_file("reviews/out/b.jsonl")
    run_in_process(*in_store, "--resume", folder=tmp_path)
    assert content(store, "reviews/out") == disk


def test_training_data_come_from_a_store_and_go_there(
    store: fs.S3FileSystem, tmp_path: Path
) -> None:
    words = ("augment", "r.sear", "--column", "text", "--amount", "20%", "--quiet")
    assert call(*words, "in", "-o", "more", folder=tmp_path).returncode == 0
    run = call(*words, "s3://reviews/in", "-o", "s3://reviews/more", folder=tmp_path)
    assert run.returncode == 0, run.stderr
    assert content(store, "reviews/more") == {
        part: (tmp_path / "more" / part).read_bytes() for part in PARTS
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("s3://reviews/nothing", "s3://reviews/nothing has no files"),
        ("s3://somebody:secret@nowhere/in", "s3://nowhere/in has no files"),
    ],
)
def test_folders_that_are_not_there_are_reported_without_keys(
    store: fs.S3FileSystem, tmp_path: Path, source: str, message: str
) -> None:
    run = call(*APPLY, source, "-o", "out", folder=tmp_path)
    assert run.returncode == 2
    assert message in run.stderr
    assert "secret" not in run.stderr


def test_a_bucket_that_is_not_there_is_not_made(store: fs.S3FileSystem, tmp_path: Path) -> None:
    run = call(*APPLY, "s3://reviews/in", "-o", "s3://new/out", folder=tmp_path)
    assert run.returncode == 2
    assert "s3://new/out/_sears/job.json cannot be written: Bucket 'new' not found" in run.stderr


def test_a_store_that_does_not_answer_is_named(
    store: fs.S3FileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    run = call(*APPLY, "s3://reviews/in", "-o", "out", folder=tmp_path)
    assert run.returncode == 2
    assert "s3://reviews/in cannot be listed" in run.stderr
