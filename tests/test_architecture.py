"""The laws of the code base: what may import what, what importing costs, what is public."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import sears_dsl

PACKAGE = Path(sears_dsl.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Layers from the bottom; a module imports its own layer and lower ones only.
LAYERS = [
    {
        "errors",
        "_documents",
        "_resources",
        "_children",
        "_closing",
        "_compiled",
        "_defaults",
        "_growing",
        "_lock",
        "highlighting",
    },
    {"language", "text"},
    {"engine"},
    {"rule_tests", "catalogue", "batch", "statistics", "models", "project"},
    {"judge"},
    {"discovery", "interop", "language_server"},
    {"audit"},
    {"augmentation", "vetting"},
    {"api"},
    {"cli"},
]
# The one upward import: users look for `ruleset.compile()` on the ruleset, so that method brings
# the engine, and the type of its argument.
UPWARD = {("language/ruleset.py", "engine"), ("language/ruleset.py", "text")}
# A heavy or replaceable dependency enters through one place.
ONLY_IN = {
    "lark": {"language/parsing/parser.py", "language/grammar.py", "language/messages.py"},
    "spacy": {"tagging/spacy/spacy_tagger.py"},
    "lemminflect": {"tagging/inflection.py"},
    "numba": {"_compiled.py"},
    "ahocorasick_rs": {"engine/compile/prefilter.py"},
    "click": {"cli"},
    "torch": {"discovery", "judge", "models"},
    "transformers": {"discovery", "judge", "models"},
    "sentencepiece": {"discovery"},
    "pydantic": {
        "discovery/result/manifest.py",
        "auditing/document.py",
        "auditing/comparison.py",
        "project",
    },
    "pygments": {"highlighting.py"},
    "starlette": {"vetting"},
    "uvicorn": {"vetting/web/serving.py"},
    "httpx": {"models/endpoint.py"},
    "joblib": {"models/scikit.py"},
}


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def _imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def _layer(part: str) -> int:
    return next(index for index, layer in enumerate(LAYERS) if part in layer)


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_imports_point_down(path: Path) -> None:
    name = _name(path)
    if name == "__init__.py":
        return  # the public names, imported when used
    own = name.split("/")[0].removesuffix(".py")
    for module in _imports(path):
        if not module.startswith("sears_dsl."):
            continue
        other = module.split(".")[1]
        if (name, other) in UPWARD:
            continue
        assert _layer(other) <= _layer(own), f"{name} imports {module}, which is above it"
        strangers = {own, other} == {"language", "text"}
        assert not strangers, f"{name} imports {module}: language and text are strangers"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_each_dependency_has_its_place(path: Path) -> None:
    name = _name(path)
    for module in _imports(path):
        places = ONLY_IN.get(module.split(".")[0])
        if places is not None:
            assert name in places or name.split("/")[0] in places, f"{name} imports {module}"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_module_says_what_it_is_and_stays_readable(path: Path) -> None:
    source = path.read_text("utf-8")
    assert ast.get_docstring(ast.parse(source)), "no module docstring"
    assert len(source.splitlines()) <= 600, "wants to be two modules"


def _loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {module.split(".")[0] for module in done.stdout.split()}


HEAVY = {
    "httpx", "lark", "numba", "numpy", "pandas", "pyarrow", "pydantic", "pygments", "rich",
    "sklearn", "spacy", "starlette", "torch", "transformers", "uvicorn",
}  # fmt: skip


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = _loaded_after("import sears_dsl")
    assert not loaded & (HEAVY | {"click", "pydantic", "lemminflect"})


def test_help_loads_nothing_heavy() -> None:
    assert not _loaded_after("import sears_dsl.cli") & HEAVY


def test_public_names_are_there_and_only_those() -> None:
    for name in sears_dsl.__all__:
        assert getattr(sears_dsl, name) is not None
    assert set(sears_dsl._MODULE_OF) == set(sears_dsl.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = sears_dsl.no_such_name  # type: ignore[attr-defined]


def test_every_exported_name_of_a_module_exists() -> None:
    for path in MODULES:
        module = importlib.import_module(
            "sears_dsl." + _name(path).removesuffix(".py").replace("/", ".")
        )
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{path}: {name}"
