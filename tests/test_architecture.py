"""The laws of the code base: allowed imports, the cost of importing, public names."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path, PurePath

import pytest

import sears_dsl

PACKAGE = Path(sears_dsl.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Layers from the bottom; a module imports its own layer and lower ones only.
LAYERS = [
    {"errors", "defaults", "highlighting"},
    {"runtime", "statistics", "answers", "pictures"},
    {"language", "data", "tagging"},
    {"engine"},
    {"rule_tests", "catalogue", "glossary", "batch", "generating", "models", "project"},
    {"judge", "translation"},
    {"meaning"},
    {"paraphrasing", "effects"},
    {"discovery", "language_server"},
    {"auditing"},
    {"repair", "vetting"},
    {"clusters"},
    {"api"},
    {"interop"},
    {"cli"},
    {"__main__"},
]
# Names that tell the history of a value; a noun says what it is.
TENSES = {"told", "made", "found", "its", "given", "said", "seen", "kept", "had", "put"}
# Neither knows the other: rules are about words, and words do not depend on rules.
STRANGERS = ({"language", "tagging"}, {"language", "data"}, {"tagging", "data"})
# The one upward import: users look for `ruleset.compile()` on the ruleset, so that method brings
# the engine, and the type of its argument.
UPWARD = {("language/ruleset.py", "engine"), ("language/ruleset.py", "tagging")}
# A heavy or replaceable dependency enters through one place.
ONLY_IN = {
    "lark": {"language/parsing/parser.py"},
    "spacy": {"tagging/spacy_tagger.py", "interop/spacy_component.py"},
    "lemminflect": {"tagging/inflection.py"},
    "numba": {"runtime/kernels.py"},
    "ahocorasick_rs": {"engine/compile/prefilter.py"},
    "click": {"cli"},
    "torch": {"translation", "meaning", "paraphrasing", "judge", "models"},
    "transformers": {"translation/marian.py", "models/huggingface.py"},
    "sentencepiece": {"translation"},
    "pydantic": {
        "discovery/result/manifest.py",
        "auditing/document.py",
        "auditing/comparison.py",
        "auditing/failures.py",
        "project",
    },
    "pygments": {"highlighting.py"},
    "starlette": {"vetting/web"},
    "uvicorn": {"vetting/web/serving.py"},
    "httpx": {"models/http/posting.py"},
    "ray": {"clusters/ray_workers.py"},
    "joblib": {"models/scikit.py"},
    "PIL": {"pictures.py", "models"},
    "pygls": {"language_server/protocol.py", "language_server/server.py"},
    "lsprotocol": {"language_server/protocol.py", "language_server/server.py"},
}
MOST_LINES = 600
MOST_FILES = 16


@cache
def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(_tree(path)))


@cache
def _imports(path: Path) -> frozenset[str]:
    found: set[str] = set()
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            # A name imported from a folder may be a module in it.
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {name for name in names if _file(name).exists()}
    return frozenset(found)


def _file(module: str) -> Path:
    return PACKAGE.parent / f"{module.replace('.', '/')}.py"


def _layer(part: str) -> int:
    return next(index for index, layer in enumerate(LAYERS) if part in layer)


def test_imports_point_down() -> None:
    for path in MODULES:
        name = _name(path)
        own = name.split("/")[0].removesuffix(".py")
        for module in _imports(path):
            # The public names are imported when they are used.
            if not module.startswith("sears_dsl.") or name == "__init__.py":
                continue
            other = module.split(".")[1]
            if (name, other) not in UPWARD:
                assert _layer(other) <= _layer(own), f"{name} imports {module}, which is above it"
                assert {own, other} not in STRANGERS, f"{name} imports {module}: they are strangers"


def test_each_dependency_has_its_place() -> None:
    for path in MODULES:
        name = _name(path)
        folders = {parent.as_posix() for parent in PurePath(name).parents}
        for module in _imports(path):
            places = ONLY_IN.get(module.split(".")[0])
            assert places is None or places & (folders | {name}), f"{name} imports {module}"


def test_a_model_is_asked_through_one_place() -> None:
    above = ("effects/", "discovery/", "auditing/", "vetting/")
    asks = re.compile(r"predict_in_time\(|predict_with_confidence\(|[^.]predictor\.predict\(")
    found = {_name(path) for path in MODULES if asks.search(path.read_text("utf-8"))}
    assert {name for name in found if name.startswith(above)} == {"effects/asked_model.py"}


def test_a_module_says_what_it_is_and_stays_readable() -> None:
    for path in MODULES:
        assert ast.get_docstring(_tree(path)), f"{path} has no docstring"
        assert len(path.read_text("utf-8").splitlines()) <= MOST_LINES, f"{path} is two modules"


def test_a_class_is_the_only_one_of_its_name() -> None:
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name.lstrip("_"), []).append(_name(path))
    assert not {name: paths for name, paths in homes.items() if len(paths) > 1}


def test_a_name_says_what_a_value_is_and_not_when_it_came_to_be() -> None:
    for path in MODULES:
        bound: dict[str, int] = {}
        for node in _nodes(path):
            if isinstance(node, ast.arg):
                bound[node.arg.strip("_")] = node.lineno
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound[node.id.strip("_")] = node.lineno
            elif isinstance(node, ast.MatchAs) and node.name:
                bound[node.name.strip("_")] = node.lineno
        assert not {name: line for name, line in bound.items() if name in TENSES}, _name(path)


def test_a_kernel_says_what_its_arguments_are() -> None:
    """Nothing else checks this: compiled code accepts any argument that it can process."""
    for path in MODULES:
        for node in _nodes(path):
            decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
            if {"kernel", "kernel_of_alike"} & set(map(ast.unparse, decorators)):
                named = [each for each in ast.walk(node) if isinstance(each, ast.arg)]
                hints = {each.arg: ast.unparse(each.annotation or each) for each in named}
                assert "Any" not in hints.values(), (path, hints)


def test_no_folder_is_a_heap() -> None:
    for folder in {path.parent for path in MODULES}:
        files = list(folder.glob("*.py"))
        assert len(files) <= MOST_FILES, f"{_name(folder)} wants to be two folders"


@cache
def _imported(path: Path) -> frozenset[str]:
    """The modules of the package that a module imports, by their files."""
    names = {_name(each) for each in MODULES}
    stems = {module.removeprefix("sears_dsl.").replace(".", "/") for module in _imports(path)}
    files = {file for stem in stems for file in (f"{stem}.py", f"{stem}/__init__.py")}
    return frozenset(files & names) - {_name(path)}


def _siblings(folder: str) -> dict[str, set[str]]:
    """The files and folders in a folder, with the siblings that each imports from."""
    inside = {_name(path): path for path in MODULES if _name(path).startswith(folder)}
    inside.pop(f"{folder}__init__.py", None)

    def child(name: str) -> str:
        return folder + name.removeprefix(folder).split("/")[0]

    needs: dict[str, set[str]] = {child(name): set() for name in inside}
    for name, path in inside.items():
        for other in _imported(path) & set(inside):
            upward = (name, other.split("/")[0]) in UPWARD
            if child(other) != child(name) and not upward:
                needs[child(name)].add(child(other))
    return needs


def _ordered(folder: str) -> list[str]:
    """The content of a folder, each item after its imports; a circle is an error."""
    needs = _siblings(folder)
    order: list[str] = []
    while len(order) < len(needs):
        left = sorted(set(needs) - set(order))
        free = [child for child in left if needs[child] <= set(order)]
        assert free, f"a circle of imports among {left}"
        order.append(free[0])
    return order


FOLDERS = sorted({f"{_name(path.parent)}/".removeprefix("./") for path in MODULES})


@pytest.mark.parametrize("folder", FOLDERS[1:])
def test_a_folder_says_what_lies_in_it_and_names_nothing_that_is_not_there(folder: str) -> None:
    story = ast.get_docstring(_tree(PACKAGE / folder / "__init__.py")) or ""
    marked = re.findall(r"(?<!`)`(\w[\w.]*)`(?!`)", story)
    inside = {child.removeprefix(folder).removesuffix(".py") for child in _siblings(folder)}
    assert not inside - {part for name in marked for part in name.split(".")}
    known = {part for path in MODULES for part in PurePath(_name(path)).with_suffix("").parts}
    known = known.union({PACKAGE.name}, *map(_names, MODULES))
    assert not {name.split(".")[0] for name in marked if name.islower()} - known


@pytest.mark.parametrize("folder", FOLDERS)
def test_neither_files_nor_folders_import_each_other_in_a_circle(folder: str) -> None:
    assert _ordered(folder) is not None


def _map(*, deep: bool) -> str:
    """What lies in the package from the ground up, each after what it imports; with what lies in
    its folders, or without."""
    rows = ["| module | what it is |", "|---|---|"]

    def first_line(name: str) -> str:
        return (ast.get_docstring(_tree(PACKAGE / name)) or "").split("\n")[0]

    def add(folder: str) -> None:
        order = _ordered(folder)
        if not folder:
            order.sort(key=lambda child: _layer(child.removesuffix(".py")))
        for child in order:
            if child.endswith(".py"):
                rows.append(f"| `{child}` | {first_line(child)} |")
            else:
                rows.append(f"| **`{child}/`** | **{first_line(f'{child}/__init__.py')}** |")
                if deep:
                    add(f"{child}/")

    add("")
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize(("page", "deep"), [("DESIGN.md", False), ("docs/map.md", True)])
def test_a_map_is_that_of_the_modules(page: str, deep: bool, update_golden: bool) -> None:
    file = PACKAGE.parent / page
    before, rest = file.read_text("utf-8").split("<!-- map -->\n")
    shown, after = rest.split("<!-- end of map -->\n")
    if update_golden:
        now = f"{before}<!-- map -->\n{_map(deep=deep)}<!-- end of map -->\n{after}"
        file.write_text(now, "utf-8")
    else:
        how = "write it anew: pytest tests/test_architecture.py --update-golden"
        assert shown == _map(deep=deep), how


def _loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {module.split(".")[0] for module in done.stdout.split()}


HEAVY = {
    "httpx", "lark", "numba", "numpy", "pandas", "pyarrow", "pydantic", "pygments", "rich",
    "sklearn", "spacy", "starlette", "torch", "transformers", "uvicorn",
}  # fmt: skip


def test_benchmarks_import_what_the_package_has() -> None:
    """They run by hand, so a changed name would go unnoticed until then."""
    root = PACKAGE.parent
    for path in sorted((root / "benchmarks").rglob("*.py")):
        for node in ast.walk(_tree(path)):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            if not node.module.startswith("sears_dsl."):
                continue
            folder = root / node.module.replace(".", "/")
            # A folder of a module that is a file now may be left, with compiled code in it.
            module = folder.with_suffix(".py")
            file = module if module.exists() else folder / "__init__.py"
            assert file.exists(), f"{path.name} imports {node.module}"
            for name in node.names:
                there = name.name in _names(file) or (folder / f"{name.name}.py").exists()
                assert there, f"{path.name} imports {name.name} from {node.module}"


@cache
def _names(path: Path) -> frozenset[str]:
    """The names that a module defines or imports anywhere."""
    found: set[str] = set()
    for node in _nodes(path):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name)
    return frozenset(found)


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
