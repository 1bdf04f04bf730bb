"""A model that is a Python function, or an object with a method ``predict``.

In: rows. Out: labels, with a confidence each where the function gives pairs (label, confidence).
Always holds: a function sees a list of texts where the rows have one
column, and a list of dictionaries (column → text) where they have several; only the module that
the user named is imported. Costs what the function costs.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sears_dsl.errors import ModelError, UsageError
from sears_dsl.models.confident import Answer
from sears_dsl.models.labels import ask_answers
from sears_dsl.models.predictor import Row

__all__ = ["CallablePredictor", "inputs_of", "load_callable"]


class CallablePredictor:
    """A batched function as a predictor.

    Args:
        model: a function of a list of texts (of dictionaries, where rows have several columns),
            or an object with such a method ``predict``; it gives a label for each, or a pair of a
            label and a confidence between 0.0 and 1.0.
        identity: how to know the model again; None takes its name, which is enough as long as
            predictions are not kept on disk.

    Raises:
        UsageError: neither a function nor an object with ``predict``, or a class.

    Example:
        >>> model = CallablePredictor(lambda texts: [int("good" in text) for text in texts])
        >>> model.predict([{"text": "a good film"}, {"text": "a film"}])
        ['1', '0']
    """

    def __init__(self, model: object, *, identity: str | None = None) -> None:
        self._function = _function(model)
        self._identity = identity or _name(model)

    @property
    def identity(self) -> str:
        """As given, or the function's name."""
        return self._identity

    def predict(self, rows: Sequence[Row]) -> list[str]:
        """The labels that the function gives for the rows, in one call.

        Raises:
            ModelError: it raised, or gave something else than a label for each row.
        """
        return [answer.label for answer in self.predict_with_confidence(rows)]

    def predict_with_confidence(self, rows: Sequence[Row]) -> list[Answer]:
        """The labels with their confidences, where the function gives pairs.

        Raises:
            ModelError: it raised, or gave something else than a label for each row.
        """
        if not rows:
            return []
        return ask_answers(self._identity, rows, lambda: self._function(inputs_of(rows)))


def inputs_of(rows: Sequence[Row]) -> list[str] | list[dict[str, str]]:
    """Rows as a function gets them: texts where there is one column, else dictionaries.

    Example:
        >>> inputs_of([{"text": "Good."}])
        ['Good.']
        >>> inputs_of([{"question": "Who?", "context": "He."}])
        [{'question': 'Who?', 'context': 'He.'}]
    """
    if all(len(row) == 1 for row in rows):
        return [text for row in rows for text in row.values()]
    return [dict(row) for row in rows]


def load_callable(spec: str) -> CallablePredictor:
    """The predictor of ``module:object``, where the object may be dotted.

    The module is imported as ``python -m`` would from the current folder; nothing else is. The
    identity holds a hash of the files that the module and the object were written in, and the
    object's own attribute ``identity`` where it has one (a version of its weights, say).

    Raises:
        UsageError: no ``module:object``, no such module or object, or nothing to call.
        ModelError: the module raised while it was imported.
    """
    module_name, _, path = spec.partition(":")
    if not all(part.isidentifier() for part in [*module_name.split("."), *path.split(".")]):
        dotted = module_name.removesuffix(".py").strip("./").replace("/", ".")
        known = module_name.endswith(".py") and path
        raise UsageError(
            f"{spec!r} is no model",
            help=f"write {dotted}:{path}" if known else "write module:object, as in demo:predict",
        )
    module = _imported(module_name, spec)
    found: Any = module
    for name in path.split("."):
        if not hasattr(found, name):
            raise UsageError(
                f"{spec}: {getattr(found, '__name__', type(found).__name__)} has no {name!r}",
                help="is the name spelled as in the module?",
            )
        found = getattr(found, name)
    version = getattr(found, "identity", None)
    own = f", {version}" if isinstance(version, str) else ""
    identity = f"{spec} ({_source_hash(module, found)}{own})"
    try:
        return CallablePredictor(found, identity=identity)
    except UsageError as error:
        raise UsageError(f"{spec}: {error.message}", help=error.help) from None


def _imported(name: str, spec: str) -> Any:
    here = str(Path.cwd())
    # First while the module is looked for, so that one from here wins over an installed one; last
    # afterwards, so that it finds its neighbours later and hides nobody else's modules.
    sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        parts = name.split(".")
        if error.name in {".".join(parts[:count]) for count in range(1, len(parts) + 1)}:
            raise UsageError(
                f"{spec}: there is no module {error.name!r}, here or installed",
                help=f"run sears in the folder that has it (this is {here}), or install it",
            ) from error
        raise ModelError(
            f"{spec}: the module {name} needs {error.name!r}, which is not installed",
            help=f"install {error.name} beside sears",
        ) from error
    except (Exception, SystemExit) as error:
        raise ModelError(
            f"{spec}: importing {name} raised {type(error).__name__}: {error}",
            help=f"does `python -c 'import {name}'` work?",
        ) from error
    finally:
        if here in sys.path:
            sys.path.remove(here)
        if here not in sys.path:
            sys.path.append(here)


def _function(model: object) -> Callable[[Any], object]:
    method = getattr(model, "predict", None)
    if isinstance(model, type):
        raise UsageError(
            f"{model.__name__} is a class, not a model",
            help="name an instance of it: `model = " + model.__name__ + "(…)` in the module",
        )
    if callable(method):
        return method  # type: ignore[no-any-return]
    if callable(model):
        return model
    raise UsageError(
        f"an object of type {type(model).__name__} is no model: it cannot be called and has no "
        "method predict",
        help="give a function of a list of texts that returns a list of labels, or an object with "
        "such a method `predict`",
    )


def _name(model: object) -> str:
    named = model if hasattr(model, "__qualname__") else type(model)
    return f"{named.__module__}:{named.__qualname__}"


def _source_hash(module: Any, found: object) -> str:
    """Twelve hex digits for the files of the module and of what defines the object."""
    named = found if hasattr(found, "__qualname__") else type(found)
    modules: Mapping[str, Any] = {
        name: sys.modules[name]
        for name in sorted({module.__name__, getattr(named, "__module__", "")})
        if name in sys.modules
    }
    digest = blake2b(digest_size=6)
    for name, each in modules.items():
        digest.update(name.encode())
        try:
            file = inspect.getsourcefile(each) or getattr(each, "__file__", None)
        except TypeError:
            continue  # built into the interpreter, whose version is no part of a model
        if file is not None and Path(file).exists():
            digest.update(Path(file).read_bytes())
    return digest.hexdigest()
