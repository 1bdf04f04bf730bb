"""Files of gensim's `KeyedVectors`, read as data.

In: a file that `KeyedVectors.save` wrote, with the array beside it where that is large. Out: words
and vectors. Always holds: such a file is a pickle, and nothing in it runs: of all that it may name
only arrays and the class itself are known, and that one is an empty object here. Costs reading it.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import DataError

_ADVICE = (
    "of a whole model save the vectors, `model.wv.save(FILE)`; of FastText as text, "
    "`model.wv.save_word2vec_format(FILE)`, which is read too"
)
# What arrays are made of, by the names of numpy 1 and 2.
_ARRAYS = {
    (module, name)
    for core in ("numpy.core", "numpy._core")
    for module, name in ((f"{core}.multiarray", "_reconstruct"), (f"{core}.numeric", "_frombuffer"))
} | {("numpy", "ndarray"), ("numpy", "dtype")}
_MODULE = "gensim.models.keyedvectors"


class _GensimObject:
    """An object of gensim, of which the attributes alone are kept."""


class _OnlyData(pickle.Unpickler):
    """Makes arrays, lists and dictionaries, and nothing that a file could run."""

    def find_class(self, module: str, name: str) -> Any:
        """What a name in the file stands for."""
        if module == _MODULE:
            return _GensimObject
        if (module, name) in _ARRAYS:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it names {module}.{name}")


def is_keyed(path: Path) -> bool:
    """Whether a file may be one that gensim wrote, by its first byte."""
    with path.open("rb") as file:
        return file.read(1) == b"\x80"


def read_keyed(path: Path) -> tuple[list[str], NDArray[Any]]:
    """The words and their vectors.

    Raises:
        DataError: the file is something else, or holds more than data, or the array that was beside
            it is not there.
    """
    try:
        with path.open("rb") as file:
            stored = _OnlyData(file).load()
    # A pickle that is none fails in as many ways as there are bytes.
    except Exception as error:
        raise DataError(f"{path} holds no word vectors as gensim writes them: {error}",
                        help=_ADVICE) from error  # fmt: skip
    attributes = vars(stored) if isinstance(stored, _GensimObject) else {}
    table = attributes.get("vectors")
    beside = path.with_name(f"{path.name}.vectors.npy")
    if table is None and beside.is_file():
        table = np.load(beside, allow_pickle=False)
    words = attributes.get("index_to_key")
    if not isinstance(table, np.ndarray) or not isinstance(words, list):
        missing = f"{beside.name} is not beside it" if words else "it has no words"
        raise DataError(f"{path} holds no word vectors as gensim 4 writes them: {missing}",
                        help=_ADVICE)  # fmt: skip
    return list(map(str, words)), np.asarray(table, np.float32)
