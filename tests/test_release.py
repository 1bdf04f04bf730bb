"""The list of parts of a release: complete, with licences, the same bytes each time."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.sbom import document, installed, main, table
from sears_dsl.errors import UsageError


def test_the_list_has_every_requirement_and_states_its_licence(tmp_path: Path) -> None:
    path = tmp_path / "sears.cdx.json"
    assert main(["--out", str(path), "--licences", str(tmp_path / "LICENCES.md")]) == 0
    bom = json.loads(path.read_text("utf-8"))
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")
    parts = {each["name"]: each for each in bom["components"]}
    required = [Requirement(line) for line in metadata.requires("sears-dsl") or ()]
    core = {canonicalize_name(each.name) for each in required if each.marker is None}
    assert core <= parts.keys()
    assert parts["numpy"]["purl"] == f"pkg:pypi/numpy@{metadata.version('numpy')}"
    terms = {name: each["licenses"][0]["license"]["id"] for name, each in parts.items()
             if name.startswith("sears_dsl/")}  # fmt: skip
    assert terms == {
        "sears_dsl/engine/noise/glove_nearest.npz": "PDDL-1.0",
        "sears_dsl/engine/noise/lookalikes.tsv": "Unicode-3.0",
        "sears_dsl/judge/grammar_deep_en.npz": "CC-BY-SA-4.0",
        "sears_dsl/judge/grammar_en.npz": "CC-BY-SA-4.0",
        "sears_dsl/judge/likelihood_en.npz": "CC-BY-SA-4.0",
        "sears_dsl/tagging/fast/tagger_en.npz": "CC-BY-SA-4.0",
        "sears_dsl/tagging/fast/tagger_pt.npz": "CC-BY-SA-4.0",
    }
    references = {each["bom-ref"] for each in [bom["metadata"]["component"], *bom["components"]]}
    assert {need for each in bom["dependencies"] for need in each["dependsOn"]} <= references
    licences = (tmp_path / "LICENCES.md").read_text("utf-8")
    assert all(f"| {name} |" in licences for name in parts)


def test_the_same_installation_gives_the_same_list() -> None:
    assert document() == document()
    assert len(installed("sears-dsl", ["models"])) > len(installed())
    assert table(document()).count("\n") == len(document()["components"]) + 3


def test_a_part_that_is_not_there_is_no_shorter_list() -> None:
    with pytest.raises(UsageError, match="is not installed"):
        installed("no-such-package-of-ours")
