"""The parts of an installation and their licences: ``python -m release.sbom --out FILE``.

In: the metadata of installed packages. Out: a CycloneDX 1.6 document of ``sears-dsl`` with the
extras that are named, and a table of licences. Always holds: nothing is asked over the network; a
licence is what the package states, never guessed; the same installation gives the same bytes, since
there is no time in it and its number is from its content. Costs a second.

A package that an extra asks for and that is not installed is an error: a list that leaves one out
would be read as complete.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import sears_dsl
from sears_dsl.errors import SearsError, UsageError
from sears_dsl.runtime.files import write_atomically
from sears_dsl.tagging.fast.cutting import LANGUAGES
from sears_dsl.tagging.fast.weights import load, weights_of

ROOT = "sears-dsl"
NOT_STATED = "not stated"

# A licence longer than this is its text, not its name.
_LONGEST_NAME = 60
_CLASSIFIER = "License :: "
_NAMESPACE = uuid.UUID("7a2b0c5e-6f0f-5c38-9d0e-0f6f3a1c2b4d")


def licences(package: metadata.Distribution) -> str:
    """What a package states: its expression, its field, or its classifiers, several as they are.

    Example:
        >>> licences(metadata.distribution("numpy")) != NOT_STATED
        True
    """
    said = package.metadata
    field = (said.get("License-Expression") or said.get("License") or "").strip()
    if field == "UNKNOWN":  # what old tools wrote for nothing
        field = ""
    if field and "\n" not in field and len(field) <= _LONGEST_NAME:
        return field
    classified = [
        each.rsplit(" :: ", 1)[1]
        for each in said.get_all("Classifier") or ()
        if each.startswith(_CLASSIFIER) and each.count("::") > 1
    ]
    return ", ".join(classified) or field.split("\n")[0][:_LONGEST_NAME] or NOT_STATED


def installed(
    name: str = ROOT, extras: Iterable[str] = ()
) -> dict[str, tuple[metadata.Distribution, list[str]]]:
    """A package and all that it needs, by name, each with the names of what it needs itself.

    Raises:
        UsageError: one of them is not installed.

    Example:
        >>> [needed for needed in installed("click")]
        ['click']
    """
    found: dict[str, tuple[metadata.Distribution, list[str]]] = {}
    waiting = [(canonicalize_name(name), frozenset(extras))]
    seen = set()
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        package, wanted = here
        try:
            distribution = metadata.distribution(package)
        except metadata.PackageNotFoundError as error:
            raise UsageError(
                f"{package} is not installed, so the list would not be complete",
                help="install it, or leave out the extra that asks for it",
            ) from error
        needs = found.setdefault(package, (distribution, []))[1]
        for each in _required(distribution, wanted):
            needed = canonicalize_name(each.name)
            if needed != package and needed not in needs:
                needs.append(needed)
            waiting.append((needed, frozenset(each.extras)))
    return dict(sorted(found.items()))


def _required(package: metadata.Distribution, extras: frozenset[str]) -> Iterator[Requirement]:
    for line in package.requires or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(
            marker.evaluate({"extra": extra}) for extra in (*sorted(extras), "")
        ):
            yield requirement


def _data() -> Iterator[dict[str, Any]]:
    """Files of the package whose terms are not those of the code."""
    folder = Path(sears_dsl.__file__).parent
    terms_of = {
        weights_of(language): str(load(weights_of(language)).about["licence"]).replace(" ", "-")
        for language in LANGUAGES
    }
    terms_of |= {
        folder / "judge" / name: "CC-BY-SA-4.0"
        for name in ("grammar_en.npz", "grammar_deep_en.npz", "likelihood_en.npz")
    }
    data = {
        folder / "engine/noise/lookalikes.tsv": "Unicode-3.0",
        folder / "engine/noise/glove_nearest.npz": "PDDL-1.0",
    }
    for path, terms in (terms_of | data).items():
        yield {
            "type": "data" if path in data else "machine-learning-model",
            "bom-ref": f"file:{path.relative_to(folder.parent).as_posix()}",
            "name": path.relative_to(folder.parent).as_posix(),
            "hashes": [
                {"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}
            ],
            "licenses": [{"license": {"id": terms}}],
        }


def document(extras: Sequence[str] = ()) -> dict[str, Any]:
    """The CycloneDX document of this installation.

    Args:
        extras: of ``sears-dsl``, such as ``all``.

    Raises:
        UsageError: a package that they ask for is not installed.
    """
    packages = installed(ROOT, extras)
    files = list(_data())
    components = [_component(*each) for each in packages.items()]
    root = next(each for each in components if each["name"] == ROOT)
    rest = [each for each in components if each is not root]
    graph = [
        {
            "ref": _purl(package),
            "dependsOn": sorted(_purl(packages[need][0]) for need in needs),
        }
        for package, needs in packages.values()
    ]
    body = {"metadata": {"component": root}, "components": [*rest, *files], "dependencies": graph}
    number = uuid.uuid5(_NAMESPACE, json.dumps(body, sort_keys=True))
    head = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
    }
    return {**head, **body}


def _component(name: str, package: tuple[metadata.Distribution, list[str]]) -> dict[str, Any]:
    distribution = package[0]
    stated = licences(distribution)
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": _purl(distribution),
        "name": name,
        "version": distribution.version,
        "purl": _purl(distribution),
    }
    if stated != NOT_STATED:
        expression = distribution.metadata.get("License-Expression")
        component["licenses"] = (
            [{"expression": expression}] if expression else [{"license": {"name": stated}}]
        )
    return component


def _purl(package: metadata.Distribution) -> str:
    return f"pkg:pypi/{canonicalize_name(package.metadata['Name'])}@{package.version}"


def table(bom: Mapping[str, Any]) -> str:
    """The parts and their licences, as Markdown."""
    lines = ["| part | version | licence |", "|---|---|---|"]
    for each in [bom["metadata"]["component"], *bom["components"]]:
        [terms] = each.get("licenses") or [{"expression": NOT_STATED}]
        of_licence = terms.get("license", {})
        said = terms.get("expression") or of_licence.get("id") or of_licence["name"]
        lines.append(f"| {each['name']} | {each.get('version', '')} | {said} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the list, or say why not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the CycloneDX file to write")
    parser.add_argument("--licences", type=Path, help="also write a table of licences here")
    parser.add_argument("--extra", action="append", default=[], help="such as all; repeatable")
    options = parser.parse_args(arguments)
    try:
        bom = document(options.extra)
        write_atomically(options.out, (json.dumps(bom, indent=1) + "\n").encode("utf-8"))
        if options.licences:
            write_atomically(options.licences, table(bom).encode("utf-8"))
    except SearsError as error:
        sys.stderr.write(f"error: {error.render()}\n")
        return 2
    silent = sum("licenses" not in each for each in bom["components"])
    sys.stdout.write(f"{options.out}: {len(bom['components'])} parts, {silent} state no licence\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
