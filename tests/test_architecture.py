"""The laws of the code base: what may import what, what importing costs, what is public."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path, PurePath

import pytest

import sears_dsl

PACKAGE = Path(sears_dsl.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Layers from the bottom; a module imports its own layer and lower ones only.
LAYERS = [
    {"errors", "defaults", "highlighting"},
    {"runtime", "statistics"},
    {"language", "data", "tagging"},
    {"engine"},
    {"rule_tests", "catalogue", "batch", "models", "project"},
    {"judge", "translation"},
    {"meaning"},
    {"paraphrasing", "effects"},
    {"discovery", "interop", "language_server"},
    {"auditing"},
    {"repair", "vetting"},
    {"api"},
    {"cli"},
]
# Neither knows the other: rules are about words, and words do not depend on rules.
STRANGERS = ({"language", "tagging"}, {"language", "data"}, {"tagging", "data"})
# The one upward import: users look for `ruleset.compile()` on the ruleset, so that method brings
# the engine, and the type of its argument.
UPWARD = {("language/ruleset.py", "engine"), ("language/ruleset.py", "tagging")}
# A heavy or replaceable dependency enters through one place.
ONLY_IN = {
    "lark": {"language/parsing/parser.py"},
    "spacy": {"tagging/spacy/spacy_tagger.py"},
    "lemminflect": {"tagging/inflection.py"},
    "numba": {"runtime/kernels.py"},
    "ahocorasick_rs": {"engine/compile/prefilter.py"},
    "click": {"cli"},
    "torch": {"translation", "meaning", "paraphrasing", "judge", "models"},
    "transformers": {"translation", "meaning", "judge", "models"},
    "sentencepiece": {"translation"},
    "pydantic": {
        "discovery/result/manifest.py",
        "auditing/document.py",
        "auditing/comparison.py",
        "project",
    },
    "pygments": {"highlighting.py"},
    "starlette": {"vetting/web"},
    "uvicorn": {"vetting/web/serving.py"},
    "httpx": {"models/endpoint.py"},
    "joblib": {"models/scikit.py"},
}
MOST_LINES = 600
MOST_FILES = 16


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
        assert {own, other} not in STRANGERS, f"{name} imports {module}: they are strangers"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_each_dependency_has_its_place(path: Path) -> None:
    name = _name(path)
    for module in _imports(path):
        places = ONLY_IN.get(module.split(".")[0])
        if places is not None:
            folders = {parent.as_posix() for parent in PurePath(name).parents}
            assert places & (folders | {name}), f"{name} imports {module}"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_module_says_what_it_is_and_stays_readable(path: Path) -> None:
    source = path.read_text("utf-8")
    assert ast.get_docstring(ast.parse(source)), "no module docstring"
    assert len(source.splitlines()) <= MOST_LINES, "wants to be two modules"


def test_no_folder_is_a_heap() -> None:
    for folder in {path.parent for path in MODULES}:
        files = list(folder.glob("*.py"))
        assert len(files) <= MOST_FILES, f"{_name(folder)} wants to be two folders"


def _map() -> str:
    """Each folder from the ground up, and in it each module after those that it imports."""
    names = {_name(path): path for path in MODULES}
    imports = {
        name: {
            other
            for module in _imports(path)
            for stem in [module.removeprefix("sears_dsl.").replace(".", "/")]
            for other in (f"{stem}.py", f"{stem}/__init__.py")
            if other in names and other != name
        }
        for name, path in names.items()
    }
    rows = ["| module | what it is |", "|---|---|"]

    def first_line(name: str) -> str:
        return (ast.get_docstring(ast.parse(names[name].read_text("utf-8"))) or "").split("\n")[0]

    def add(folder: str) -> None:
        """Its modules and folders, those first that import none of the others."""
        own = {name for name in names if name.startswith(folder) and name != f"{folder}__init__.py"}
        children: dict[str, set[str]] = {}
        for name in own:
            head = name.removeprefix(folder).split("/")[0]
            children.setdefault(folder + head, set()).add(name)
        needs = {
            child: {
                other
                for other, members in children.items()
                if other != child and any(imports[name] & members for name in children[child])
            }
            for child in children
        }
        if not folder:
            order = sorted(
                children,
                key=lambda child: (
                    (_layer(child.removesuffix(".py")), child)
                    if child != "__init__.py"
                    else (len(LAYERS), child)
                ),
            )
        else:
            order = []
            while len(order) < len(children):
                left = [child for child in sorted(children) if child not in order]
                order.append(next((c for c in left if needs[c] <= set(order)), left[0]))
        for child in order:
            if child == "__init__.py":
                continue
            if child.endswith(".py"):
                rows.append(f"| `{child}` | {first_line(child)} |")
            else:
                rows.append(f"| **`{child}/`** | **{first_line(f'{child}/__init__.py')}** |")
                add(f"{child}/")

    add("")
    return "\n".join(rows) + "\n"


def test_the_map_of_the_design_is_that_of_the_modules(update_golden: bool) -> None:
    design = PACKAGE.parent / "DESIGN.md"
    before, rest = design.read_text("utf-8").split("<!-- map -->\n")
    shown, after = rest.split("<!-- end of map -->\n")
    if update_golden:
        design.write_text(f"{before}<!-- map -->\n{_map()}<!-- end of map -->\n{after}", "utf-8")
    else:
        assert shown == _map(), "write it anew: pytest tests/test_architecture.py --update-golden"


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
