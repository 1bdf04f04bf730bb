"""Kernels: plain functions over arrays, compiled once there is enough work to repay it.

In: a function of arrays and numbers. Out: a `Kernel`, which is called like the function. Always
holds: the result of a kernel depends on its arguments alone, and is the same compiled and plain.
Compiled kernels do not hold the GIL, so blocks of rows may run in threads, and any number of
threads may make the first call. This module is the only user of numba, which it imports when a
kernel is first compiled.

Compiled code lies on disk, one file for a kernel and the types of its arguments. The name of a file
holds a hash of everything that the code was compiled from (`Kernel.fingerprint`, `_text_of_types`),
so code of another version is never used. A file is written whole or not at all, and replaces those
that earlier versions of its kernel left. Reading such a file runs what is in it, so it is read only
from a folder into which nobody else can put one (`is_private`).

Costs: reading compiled kernels from disk takes a third of a second; compiling them for the first
time takes a minute or more. The plain functions finish ten rows sooner. So callers announce how
much there is to do (`expect`), and a process that has announced more than `ENOUGH` steps goes over
to compiled code for good. If there is none on disk, another process compiles (`Compiler`) while
this one goes on with the plain functions, unless it is about to do `ENOUGH_TO_COMPILE` steps at
once. The environment variable SEARS_COMPILE overrides this with ``always`` or ``never``. A function
that is given to `when_compiling` is called when kernels have to be compiled.
"""

from __future__ import annotations

import functools
import os
import pickle
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b, sha1
from operator import attrgetter
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sears_dsl.errors import SearsError, UsageError
from sears_dsl.runtime.files import is_private, is_writable, open_to_all
from sears_dsl.runtime.interrupts import Uninterrupted

if TYPE_CHECKING:
    from sears_dsl.runtime.processes import Compiler

F = TypeVar("F")

#: So many steps of plain Python, some seven microseconds each, take as long as reading the code.
ENOUGH = 50_000
#: More steps at once than this are not begun in plain Python, since compiling ends before them.
ENOUGH_TO_COMPILE = 2_000_000

_CHOICES = ("auto", "always", "never")


class _Decision:
    """Whether kernels of this process are compiled."""

    def __init__(self) -> None:
        chosen = os.environ.get("SEARS_COMPILE", "auto")
        if chosen not in _CHOICES:
            raise UsageError(
                f"SEARS_COMPILE is {chosen!r}", help=f"set it to one of {', '.join(_CHOICES)}"
            )
        # numba's own switch: with it the code would run as plain Python anyway.
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            chosen = "never"
        self.compiled = chosen == "always"
        self.open = chosen == "auto"
        self.announced = 0
        self.next_look = ENOUGH  # the number of announced steps at which to look at the disk
        self.has_folder = True
        self.compiler: Compiler | None = None
        self.deciding = threading.Lock()
        self.tell: Callable[[], object] | None = None

    def expect(self, steps: int) -> None:
        """Decide anew, with this many steps more."""
        self.announced += steps
        if self.compiler is not None:
            decided = self.compiler.is_done(wait=steps > ENOUGH_TO_COMPILE)
        elif self.announced <= self.next_look:
            return
        else:
            self.next_look = self.announced + ENOUGH
            decided = steps > ENOUGH_TO_COMPILE or _most_are_on_disk()
            folder = None if decided else _folder_beside(Path(__file__).absolute().parent)
            if folder is not None:
                from sears_dsl.runtime.processes import Compiler  # noqa: PLC0415 - rarely needed

                self.compiler = Compiler(folder)
                self.say()
            elif not decided:  # without a folder no process can leave code for another
                decided = self.announced > ENOUGH_TO_COMPILE
        if decided:
            self.compiled, self.open = True, False

    def say(self) -> None:
        """Call what `when_compiling` was given, once, since there is no code on disk."""
        tell, self.tell = self.tell, None
        if tell is not None:
            tell()


_decision = _Decision()
_kernels: list[Kernel] = []


def expect(steps: int) -> None:
    """Announce work before it is done: how often the innermost loops will run, roughly."""
    if _decision.open:
        with _decision.deciding:
            if _decision.open:
                _decision.expect(steps)


def compiles() -> bool:
    """Whether kernels called now run compiled."""
    return _decision.compiled


def undecided() -> bool:
    """Whether work was announced for kernels that may yet go over to compiled code."""
    return _decision.open and _decision.announced > 0


def when_compiling(tell: Callable[[], object] | None) -> None:
    """Have ``tell`` called, once, when kernels are to be compiled as their code is not on disk.

    The thread that compiles, or that starts another process to do so, calls it. None ends this.
    """
    _decision.tell = tell


def compiles_beside() -> bool:
    """Whether another process compiles while this one goes on without compiled code."""
    return _decision.compiler is not None


def keeps_code() -> bool:
    """Whether there is a folder in which compiled code is kept for later runs."""
    return _decision.has_folder


@functools.cache
def _listen() -> None:
    """Listen to numba, and tell when it begins to compile a kernel."""
    from numba.core import event as events  # noqa: PLC0415 - half a second to import

    class Compilations(events.Listener):
        def on_start(self, event: Any) -> None:
            compiled = event.data["dispatcher"]
            # Models may have numba compile functions of their own.
            if _decision.tell and any(compiled is each._dispatcher for each in _kernels):
                _decision.say()

        def on_end(self, event: Any) -> None:
            """Nothing to say."""

    events.register("numba:compile", Compilations())  # type: ignore[no-untyped-call]


class Kernel:
    """A function over arrays, plain (as it was written) or compiled; see `kernel`."""

    def __init__(self, function: FunctionType) -> None:
        functools.update_wrapper(self, function)
        self.plain = function
        self._dispatcher: Any = None
        self._was_called = False
        self._is_alike = False  # whether its arguments always have the same types
        self._code: Any = None  # the compiled code for these types

    def __call__(self, *arguments: Any) -> Any:
        """The result of the function."""
        if not _decision.compiled:
            return self.plain(*arguments)
        if self._code is not None:
            return self._code(*arguments)
        try:
            if self._was_called:
                result = self._dispatcher(*arguments)
            else:
                self.dispatcher()._compile_for_args(*arguments)  # which may take some seconds
                with Uninterrupted():  # see `_remember_unpickled`
                    result = self._dispatcher(*arguments)
                self._was_called = True
        except OSError as error:
            raise SearsError(
                f"cannot keep compiled code on disk: {error.strerror or error}",
                help="set NUMBA_CACHE_DIR to a folder with a few megabytes of room",
            ) from error
        if self._is_alike and len(self._dispatcher.overloads) == 1:
            [compiled] = self._dispatcher.overloads.values()
            self._code = compiled.entry_point
        return result

    @property
    def misses(self) -> int:
        """How often it had to be compiled in this process because no code was on disk."""
        if self._dispatcher is None:
            return 0
        return sum(self._dispatcher.stats.cache_misses.values())

    @functools.cached_property
    def fingerprint(self) -> str:
        """A hash of everything that it is compiled from, except the types of its arguments.

        It covers, for the kernel and for all that it calls, the names, code and defaults, and the
        values that are constants to the compiler: globals, attributes of modules, free variables.
        """
        digest = blake2b(repr(_versions()).encode(), digest_size=6)
        waiting, visited = [self.plain], {self.plain}
        for function in waiting:
            code = function.__code__
            names = _names(code)
            cells = [cell.cell_contents for cell in function.__closure__ or ()]
            values = [function.__globals__[name] for name in names if name in function.__globals__]
            defaults = [function.__defaults__, *(function.__kwdefaults__ or {}).items()]
            digest.update(repr((function.__module__, function.__qualname__)).encode())
            for text in (
                *_text_of_code(code),
                *(_text_of_value(one, names) for one in (*defaults, *cells, *values)),
            ):
                digest.update(text.encode() + b"\0")
            for value in (*cells, *values):
                called = getattr(value, "plain", None) or getattr(value, "py_func", None) or value
                if isinstance(called, FunctionType) and called not in visited:
                    visited.add(called)
                    waiting.append(called)
        return digest.hexdigest()

    def dispatcher(self) -> Any:
        """Numba's form of the function, which compiles or reads code from disk when called."""
        if self._dispatcher is None:
            with _making:
                if self._dispatcher is None:
                    dispatchers: dict[Kernel, Any] = {}
                    _make(self, dispatchers)
                    # Only now, so that no thread sees one before those that it calls exist.
                    for each, dispatcher in dispatchers.items():
                        each._dispatcher = dispatcher
        return self._dispatcher


_making = threading.RLock()


def _make(kernel: Kernel, dispatchers: dict[Kernel, Any]) -> Any:
    """The compiled form of a kernel; it and those of its callees are added to ``dispatchers``."""
    numba = _numba()
    if kernel._dispatcher is not None:
        return kernel._dispatcher
    if kernel in dispatchers:
        return dispatchers[kernel]
    _listen()
    source = kernel.plain
    # Compiled code calls other kernels in their compiled form, so these replace the kernels among
    # the globals of a copy of the function.
    names = dict(source.__globals__)
    cells = tuple(CellType(cell.cell_contents) for cell in source.__closure__ or ())
    copy = FunctionType(source.__code__, names, source.__name__, source.__defaults__, cells)
    copy.__kwdefaults__ = source.__kwdefaults__
    copy.__module__, copy.__qualname__ = source.__module__, source.__qualname__
    dispatcher: Any = numba.njit(nogil=True)(copy)
    dispatchers[kernel] = dispatcher  # before those that it calls, which may call it
    for name in _names(source.__code__):
        if isinstance(names.get(name), Kernel):
            names[name] = _make(names[name], dispatchers)
    for cell in cells:
        if isinstance(cell.cell_contents, Kernel):
            cell.cell_contents = _make(cell.cell_contents, dispatchers)
    folder = _folder(kernel)
    if folder is None:
        # Neither the package nor the user has a writable folder, so every process compiles.
        _decision.has_folder = False
    else:
        dispatcher._cache = _OnDisk(kernel, folder)
    return dispatcher


@functools.cache
def _numba() -> Any:
    """Numba, which takes half a second to import."""
    try:
        with Uninterrupted():  # half an import would be taken for the whole
            import numba  # noqa: PLC0415 - see above

            _remember_unpickled()
    # numba reads settings of its own from the current folder, which may hold anything.
    except Exception as error:
        raise SearsError(
            "numba, which compiles the matcher, could not be loaded: "
            f"{type(error).__name__}: {error}",
            help=f"remove {_NUMBA_SETTINGS} from this folder, or run without: SEARS_COMPILE=never"
            if os.path.exists(_NUMBA_SETTINGS)
            else "reinstall it, or run without: SEARS_COMPILE=never",
        ) from error
    return numba


_NUMBA_SETTINGS = ".numba_config.yaml"


def _remember_unpickled() -> None:
    """Keep compiled code from running Python, which can be interrupted, while it makes its result.

    It asks a function of numba for the class of each array and named tuple. If that function
    raises, the result has a hole and Python crashes: Ctrl-C during a long kernel ended a notebook.
    `functools.cache` is written in C. With it around the function, only the first question for each
    class can be interrupted.
    """
    from numba.core import serialize  # noqa: PLC0415 - see above

    unpickle = getattr(serialize, "_numba_unpickle", None)
    if unpickle is not None:
        serialize._numba_unpickle = functools.cache(unpickle)


@functools.cache
def _versions() -> tuple[str, str]:
    from importlib.metadata import version  # noqa: PLC0415 - slow to import

    return version("numba"), version("numpy")


def _names(code: CodeType) -> list[str]:
    """Names of globals and attributes in a function and in those that are nested in it."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names.update(dict.fromkeys(_names(constant)))
    return list(names)


def _text_of_code(code: CodeType) -> Iterator[str]:
    """The code of a function as text, without its place in the file."""
    yield repr((code.co_name, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount))
    yield repr((code.co_flags, code.co_code, getattr(code, "co_exceptiontable", b"")))
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _text_of_code(constant)
        else:
            yield _text_of_value(constant, ())


def _text_of_value(value: object, names: Sequence[str]) -> str:
    """A value as text, as far as compiled code depends on it; of a module, the named attributes."""
    match value:
        case tuple():
            members = ", ".join(_text_of_value(member, names) for member in value)
            return f"{_text_of_value(type(value), names)}({members})"
        case frozenset():
            return f"{{{', '.join(sorted(_text_of_value(member, names) for member in value))}}}"
        case type():
            fields = getattr(value, "_fields", ()), getattr(value, "_field_defaults", {})
            return f"{value.__module__}.{value.__qualname__} {fields}"
        case bool() | int() | float() | complex() | str() | bytes() | None:
            return f"{type(value).__name__} {value!r}"
        case ModuleType():
            named = {name: vars(value)[name] for name in names if name in vars(value)}
            plain = {name: one for name, one in named.items() if not isinstance(one, ModuleType)}
            stated = ", ".join(f"{name}={_text_of_value(one, ())}" for name, one in plain.items())
            return f"{value.__name__}({stated})"
    # Of NumPy, which is not imported here.
    if hasattr(value, "dtype") and hasattr(value, "tobytes"):
        content = blake2b(value.tobytes(), digest_size=16).hexdigest()
        return f"{value.dtype} {getattr(value, 'shape', ())} {content}"
    # A function, whose code the fingerprint adds, or something that no kernel may use.
    return f"{type(value).__qualname__} {getattr(value, '__qualname__', '')}"


def _text_of_types(types: Iterable[Any]) -> str:
    """Numba's types of arguments as text, with the fields of named tuples, which numba omits."""
    texts = []
    for kind in types:
        members = _text_of_types(kind.types) if hasattr(kind, "types") else ""
        named = getattr(kind, "instance_class", None)
        texts.append(f"{kind} {'' if named is None else _text_of_value(named, ())} {members}")
    return f"({'; '.join(texts)})"


def _folder(kernel: Kernel) -> Path | None:
    """Where compiled code of a kernel lies; None if no folder can be written."""
    source = Path(kernel.plain.__code__.co_filename)
    return _folder_beside(source.absolute().parent) if source.is_file() else None  # at a prompt


@functools.cache
def _folder_beside(home: Path) -> Path | None:
    # As numba names them, so that homes of the same name have folders of their own.
    name = f"{home.name}_{sha1(str(home).encode(), usedforsecurity=False).hexdigest()}"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    folders = [Path(chosen, name)] if chosen else []
    folders.append(home / "__pycache__")
    with suppress(RuntimeError):  # a user without a home
        caches = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
        folders.append(Path(caches or Path.home() / ".cache", "numba", name))
    for folder in filter(is_writable, folders):
        if is_private(folder, home):
            return folder
        if chosen and folder == folders[0]:
            opened = open_to_all(folder)
            raise UsageError(
                f"NUMBA_CACHE_DIR is {chosen}: others can write there, and sears would run what "
                "they put beside its compiled code",
                help="name a folder of your own"
                + (f", or take away their rights: chmod o-w {opened}" if opened else ""),
            )
    return None


def _stem(kernel: Kernel) -> str:
    """How the names of all files of a kernel begin, in every version."""
    module = Path(kernel.plain.__code__.co_filename).stem
    return re.sub("[<>]", "", f"{module}.{kernel.plain.__qualname__}-")


def _tail(kernel: Kernel) -> str:
    """What follows in the names of the files of this version of the kernel."""
    return f"{kernel.fingerprint}.{_PYTHON}."


_PYTHON = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"


def _most_are_on_disk() -> bool:
    """Whether most kernels have code on disk; no run calls all of them."""
    names: dict[Path, list[str]] = {}
    on_disk = 0
    for each in _kernels:
        folder = _folder(each)
        if folder is not None:
            if folder not in names:
                names[folder] = os.listdir(folder)
            beginning = _stem(each) + _tail(each)
            on_disk += any(name.startswith(beginning) for name in names[folder])
    return 2 * on_disk > len(_kernels)


class _OnDisk:
    """The compiled code of one kernel on disk, with the methods that numba calls.

    A file holds a hash of the rest, then what numba wants back, pickled. Numba's own index beside
    numbered files is not used: it knows named tuples by their names alone, and two processes that
    write at once may leave an index that points to the code of other types.
    """

    def __init__(self, kernel: Kernel, folder: Path) -> None:
        self.cache_path = str(folder)
        self._folder = folder
        self._stem, self._tail = _stem(kernel), _tail(kernel)
        # The same lines may make several functions of one name.
        self._alone = "<locals>" not in kernel.plain.__qualname__

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The code that was kept for these types of arguments, or None."""
        with Uninterrupted():
            from numba.core.compiler import CompileResult  # noqa: PLC0415 - see above
            from numba.core.runtime.nrt import rtsys  # noqa: PLC0415 - see above

            # Compiled code needs numba's runtime. `target.refresh()` also loads all that numba can
            # compile, which takes a quarter of a second; compiling calls it itself.
            rtsys.initialize(target)
            try:
                content = self._file(signature, target.codegen()).read_bytes()
            except OSError:
                return None  # most often there is none; what cannot be read is compiled anew
            if content[:_DIGEST] != _digest(content[_DIGEST:]):
                return None  # torn; it will be written anew
            parts = pickle.loads(content[_DIGEST:])  # noqa: S301 - written by `save_overload`
            return CompileResult._rebuild(target, *parts)  # type: ignore[no-untyped-call]

    def save_overload(self, signature: Any, result: Any) -> None:
        from numba.core.serialize import dumps  # noqa: PLC0415 - see above

        code, lifted = attrgetter("library", "lifted")(result)
        if code.has_dynamic_globals or any(not one.can_cache for one in lifted):
            return
        content: bytes = dumps(result._reduce())  # type: ignore[no-untyped-call]
        file = self._file(signature, result.codegen)
        partial = file.with_name(f"{file.name}.{os.urandom(8).hex()}")
        try:
            partial.write_bytes(_digest(content) + content)
            partial.replace(file)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        if self._alone:
            self._remove_others()

    def _remove_others(self) -> None:
        """Remove the files that earlier versions of the kernel left, for this Python alone.

        A process that is about to read one of them finds nothing, and compiles.
        """
        for name in os.listdir(self._folder):
            ours = name.startswith(self._stem) and name.endswith((".nbc", ".nbi"))
            if ours and f".{_PYTHON}." in name and not name.startswith(self._stem + self._tail):
                with suppress(OSError):  # another process was first, or is reading it
                    (self._folder / name).unlink()

    def _file(self, signature: Any, codegen: Any) -> Path:
        types = _text_of_types(getattr(signature, "args", signature))
        key = blake2b(repr((types, codegen.magic_tuple())).encode(), digest_size=8).hexdigest()
        return self._folder / f"{self._stem}{self._tail}{key}.nbc"


_DIGEST = 16


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST).digest()


def kernels() -> Sequence[Kernel]:
    """All kernels of the modules that were imported so far."""
    return tuple(_kernels)


def kernel(function: F) -> F:
    """Make a function a kernel.

    It may use NumPy, numbers and other kernels. Its numbers must not rely on wrapping around.

    Example:
        >>> import numpy as np
        >>> @kernel
        ... def total(values):
        ...     result = np.int64(0)
        ...     for value in values:
        ...         result += value
        ...     return result
        >>> int(total(np.arange(4)))
        6
    """
    new_kernel = Kernel(cast(FunctionType, function))
    _kernels.append(new_kernel)
    return cast(F, new_kernel)


def kernel_of_alike(function: F) -> F:
    """Make a function a kernel whose arguments have the same types whenever Python calls it.

    After the first call the types are not looked at again, which for some ten arrays would cost as
    much as passing them. Arrays have to be contiguous, or they are misread: those from outside go
    through `array_types.for_kernels` first.
    """
    new_kernel = kernel(function)
    cast(Kernel, new_kernel)._is_alike = True
    return new_kernel
