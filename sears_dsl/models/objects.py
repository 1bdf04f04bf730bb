"""Objects of one's own that are named as ``module:object``: models, paraphrasers, scorers.

The module is imported as ``python -m`` would from the current folder, and no other one is. Only a
person names such an object, never a file.
"""

from __future__ import annotations

import importlib
import inspect
import struct
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from sears_dsl.errors import ModelError, SearsError, UsageError

_PACKAGE = Path(__file__).parent.parent
# Name of a module → what it was imported by, anew each time, and its source then: see `_source`.
_IMPORTED: dict[str, tuple[object, bytes]] = {}
_LONGEST = 400
_32_BITS = 0xFFFF_FFFF


class NamedObject(NamedTuple):
    """An object of a module, known by its name, a hash of its files and its own identity."""

    value: Any
    identity: str


def is_object_name(text: str) -> bool:
    """Whether a text is written as ``module:object``, where both may be dotted."""
    module, _, path = text.partition(":")
    return all(part.isidentifier() for part in [*module.split("."), *path.split(".")])


def load_object(spec: str, *, kind: str) -> NamedObject:
    """The object that ``module:object`` names."""
    module_name, _, path = spec.partition(":")
    if not is_object_name(spec):
        dotted = module_name.removesuffix(".py").strip("./").replace("/", ".")
        known = module_name.endswith(".py") and path
        raise UsageError(
            f"{spec!r} is not a {kind}",
            help=f"write {dotted}:{path}" if known else "write module:object, as in demo:predict",
        )
    module = _imported(module_name, spec)
    value: Any = module
    for name in path.split("."):
        if not hasattr(value, name):
            near = get_close_matches(name, dir(value), n=1)
            raise UsageError(
                f"{spec}: {getattr(value, '__name__', type(value).__name__)} has no {name!r}",
                help=f"did you mean {near[0]}?" if near else "check its name in the module",
            )
        value = getattr(value, name)
    version = getattr(value, "identity", None)
    own = f", {version}" if isinstance(version, str) else ""
    return NamedObject(value, f"{spec} ({_source_hash(module, value)}{own})")


def object_name(value: object) -> str:
    """The name of an object for messages, as ``module:object``."""
    named = value if hasattr(value, "__qualname__") else type(value)
    module = getattr(named, "__module__", None)
    if module is None:  # a method of a type that is built in, of no object or of one
        owner = getattr(named, "__objclass__", type(getattr(named, "__self__", None)))
        module = owner.__module__
    return f"{module}:{named.__qualname__}"


def function_of(
    value: object, method: str, *, kind: str, takes: str, name: str | None = None
) -> Callable[[Any], Any]:
    """The method of that name of an object, or the function that it is itself."""
    if isinstance(value, type):
        raise UsageError(
            f"{value.__name__} is a class, not a {kind}",
            help=f"pass an instance of it: {value.__name__}(…)",
        )
    own: object = getattr(value, method, None)
    function = own if callable(own) else value
    if callable(function):
        return function
    raise UsageError(
        f"{name or f'an object of type {type(value).__name__}'} is not a {kind}: it is not "
        f"callable and has no method {method}",
        help=f"pass a function that takes {takes}, or an object with such a method `{method}`",
    )


def python_values(value: object) -> object:
    """What a function gave, as Python values: arrays and tensors as lists, generators read."""
    convert = getattr(value, "tolist", None)
    if callable(convert):
        return convert()
    if isinstance(value, str | bytes | Mapping | Set | Sequence) or not isinstance(value, Iterable):
        return value
    return list(value)


def describe_error(error: BaseException) -> str:
    """An error of somebody else's code in words, with the place there that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    # Our own frames come first, then the object's; the last may lie deep in a library.
    places = [
        f"{frame.filename}:{frame.lineno}"
        for frame in frames
        if not Path(frame.filename).is_relative_to(_PACKAGE)
    ]
    own = f" at {places[0]}" if places else ""
    deep = f", from {places[-1]}" if len(places) > 1 else ""
    message = str(error)
    if len(message) > _LONGEST:  # some show all that they were given
        message = f"{message[: _LONGEST // 2]} … {message[-_LONGEST // 2 :]}"
    return f"{type(error).__name__}{': ' if message else ''}{message}{own}{deep}"


@contextmanager
def foreign_code(
    name: str,
    *,
    help: str,  # noqa: A002 - the error's term
    about: str = "",
    passing: type[SearsError] | tuple[()] = SearsError,
) -> Iterator[None]:
    """Turn what a person's code raises into a `ModelError` that names it, except what may pass.

    Its sys.exit is such an error too: it would end the command without a word. For code that may
    well call this package itself, ``passing=()`` lets no error pass, since none would say where.
    """
    try:
        yield
    except passing:
        raise
    except (Exception, SystemExit) as error:
        raise ModelError(f"{name} raised {describe_error(error)}{about}", help=help) from error


def _imported(name: str, spec: str) -> Any:
    folder = str(Path.cwd())
    # The folder is first while the module is looked for, so that one from here wins over an
    # installed one. Then it is last, so that the module finds its neighbours and hides no others.
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        parts = name.split(".")
        if error.name in {".".join(parts[:count]) for count in range(1, len(parts) + 1)}:
            advice = f"run sears in the folder of the module (this is {folder}), or install it"
            if name.endswith(".py"):
                advice = f"write {spec.replace('.py:', ':')}"
            raise UsageError(
                f"{spec}: there is no module {error.name!r}, here or installed", help=advice
            ) from error
        raise ModelError(
            f"{spec}: the module {name} needs {error.name!r}, which is not installed",
            help=f"install {error.name} beside sears",
        ) from error
    except (Exception, SystemExit) as error:
        raise ModelError(
            f"{spec}: importing {name} raised {type(error).__name__}: {error}",
            help=f"make `python -c 'import {name}'` work",
        ) from error
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)


def _source_hash(module: Any, value: object) -> str:
    """Twelve hex digits for the files of the module and of what defines the object.

    A file that was edited since counts as it was: this process runs what it imported. Of a module
    that was imported before it was named here, that is known only as far as `_source` says.
    """
    named = value if hasattr(value, "__qualname__") else type(value)
    modules: Mapping[str, Any] = {
        name: sys.modules[name]
        for name in sorted({module.__name__, getattr(named, "__module__", "")})
        if name in sys.modules
    }
    digest = blake2b(digest_size=6)
    for name, each in modules.items():
        digest.update(name.encode())
        imported_by = getattr(each, "__spec__", None)
        if name not in _IMPORTED or _IMPORTED[name][0] is not imported_by:
            _IMPORTED[name] = imported_by, _source(each)
        digest.update(_IMPORTED[name][1])
    return digest.hexdigest()


def _source(module: Any) -> bytes:
    """The file of a module; nothing if it has none.

    If it was edited after the module was imported, what Python compiled then comes first. That is
    not known where Python compiles nothing to files, or compiled it anew for another process.
    """
    try:
        file = inspect.getsourcefile(module) or getattr(module, "__file__", None)
    except TypeError:
        return b""  # built into the interpreter, whose version is not part of a model
    if file is None or not Path(file).exists():
        return b""
    source = Path(file)
    compiled = Path(getattr(module, "__cached__", None) or "")
    if compiled.is_file():
        code, now = compiled.read_bytes(), source.stat()
        # PEP 552: what it is checked by (0: time and size of the source), and these.
        stamp = struct.pack("<3I", 0, int(now.st_mtime) & _32_BITS, now.st_size & _32_BITS)
        if code[4:8] == stamp[:4] and code[4:16] != stamp:
            return code + source.read_bytes()
    return source.read_bytes()
