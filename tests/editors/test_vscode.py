"""The VS Code folder is complete, and works with the language server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest

import sears_dsl
from editors import vsix
from sears_dsl.language_server.server import TRIGGERS

HERE = Path(__file__).parent
FOLDER = Path(__file__).resolve().parents[2] / "editors" / "vscode"
MANIFEST = json.loads((FOLDER / "package.json").read_text("utf-8"))


def test_the_extension_names_files_that_there_are() -> None:
    contributes = MANIFEST["contributes"]
    files = [MANIFEST["main"], contributes["grammars"][0]["path"]]
    files.append(contributes["languages"][0]["configuration"])
    for file in files:
        assert (FOLDER / file).is_file()
    json.loads((FOLDER / files[-1]).read_text("utf-8"))
    grammar = json.loads((FOLDER / files[1]).read_text("utf-8"))
    assert grammar["scopeName"] == contributes["grammars"][0]["scopeName"]
    assert contributes["languages"][0]["extensions"] == [".sear"]
    assert "dependencies" not in MANIFEST


def test_the_extension_has_the_version_of_the_package() -> None:
    assert MANIFEST["version"] == sears_dsl.__version__


def test_the_extension_is_packed_as_editors_install_it(tmp_path: Path) -> None:
    for name in ("a.vsix", "b.vsix"):
        vsix.write(tmp_path / name)
    assert (tmp_path / "a.vsix").read_bytes() == (tmp_path / "b.vsix").read_bytes()
    with ZipFile(tmp_path / "a.vsix") as archive:
        assert archive.testzip() is None
        files = {name: archive.read(name) for name in archive.namelist()}
    inside = {f"extension/{file.relative_to(FOLDER)}" for file in FOLDER.rglob("*.*")}
    assert inside < files.keys()
    assert files["extension/package.json"] == (FOLDER / "package.json").read_bytes()
    space = {"": "http://schemas.microsoft.com/developer/vsx-schema/2011"}
    manifest = ElementTree.fromstring(files["extension.vsixmanifest"])  # noqa: S314 - we wrote it
    identity = manifest.find("Metadata/Identity", space)
    assert identity is not None
    assert {name: identity.get(name) for name in ("Id", "Version", "Publisher")} == {
        "Id": MANIFEST["name"],
        "Version": MANIFEST["version"],
        "Publisher": MANIFEST["publisher"],
    }
    assets = {each.get("Path") for each in manifest.findall("Assets/Asset", space)}
    assert assets < files.keys()
    types = ElementTree.fromstring(files["[Content_Types].xml"])  # noqa: S314 - likewise
    assert {Path(name).suffix for name in files} - {".xml"} == {
        each.get("Extension") for each in types
    }


def _driven(command: str) -> list[dict[str, Any]]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("the extension is JavaScript, and node is not installed")
    done = subprocess.run(
        [node, str(HERE / "drive.js"), str(FOLDER / "extension.js")],
        env={**os.environ, "NODE_PATH": str(HERE / "fakes"), "SEARS_COMMAND": command},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_findings_and_formatting_reach_the_editor(tmp_path: Path) -> None:
    command = tmp_path / "sears"
    command.write_text(
        f"#!{sys.executable}\n"
        "from sears_dsl.cli.rules.lsp import lsp_command\n"
        "lsp_command([])\n",
        "utf-8",
    )  # fmt: skip
    command.chmod(0o755)
    told = _driven(str(command))
    [triggers] = [each["content"] for each in told if each["kind"] == "triggers"]
    assert set(triggers) == set(TRIGGERS)
    [first, *_] = [each["content"] for each in told if each["kind"] == "findings"]
    assert first[0]["code"] == "E201"
    assert first[0]["range"]["places"] == [1, 5, 1, 9]
    edits = [each["content"] for each in told if each["kind"] == "edits"]
    assert edits[0][0]["text"] == "movie -> film\n"
    [proposed] = [each["content"] for each in told if each["kind"] == "completions"]
    assert {"label": "upper", "kind": 2, "detail": "in upper case"} in proposed
    [hover] = [each["content"] for each in told if each["kind"] == "hover"]
    assert hover["contents"]["value"] == "`.upper`: in upper case"
    [place] = [each["content"] for each in told if each["kind"] == "definition"]
    assert place == {"uri": "file:///rules.sear", "range": {"places": [0, 0, 0, 0]}}
    [uses] = [each["content"] for each in told if each["kind"] == "references"]
    assert [each["range"]["places"] for each in uses] == [[0, 4, 0, 6], [1, 1, 1, 3]]
    [symbols] = [each["content"] for each in told if each["kind"] == "symbols"]
    assert [(each["name"], each["kind"]) for each in symbols] == [("WH", 9), ("@WH NUON -> it", 11)]
    [renamed] = [each["content"]["edits"] for each in told if each["kind"] == "rename"]
    assert [each["range"]["places"] for each in renamed] == [[0, 4, 0, 6], [1, 1, 1, 3]]
    [why] = [each["content"] for each in told if each["kind"] == "refused"]
    assert "'W H' is not a valid name" in why
    [[fix]] = [each["content"] for each in told if each["kind"] == "actions"]
    assert (fix["title"], fix["edit"]["edits"][0]["text"]) == ("Write NOUN", "NOUN")
    found = [each["content"] for each in told if each["kind"] == "findings"]
    assert [] in found
    missing = [each for each in found if [one["code"] for one in each] == ["E401"]]
    assert len(missing) == 2, "an import is looked for when it is written, and after each save"


def test_a_missing_command_is_reported_once(tmp_path: Path) -> None:
    told = _driven(str(tmp_path / "nothing"))
    warnings = [each["content"] for each in told if each["kind"] == "warning"]
    assert len(warnings) == 1
    assert "sears.command" in warnings[0]
