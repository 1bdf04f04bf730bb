"""WordNet's words beside a word: of the same meanings, and of meanings around the first ones.

In: the files ``data.noun``, ``index.noun`` and so on of WordNet 3.0, as Debian's package
wordnet-base has them in ``/usr/share/wordnet``. Out: words, in lower case. Always holds: the order
is that of the file. Costs a second for each class of words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sears_dsl.errors import DataError

# How many meanings of a word count, the most frequent ones first; and of how many the more general
# and the more special ones count as well.
_MEANINGS, _AROUND = 4, 2
_SIMILAR, _GENERAL, _SPECIAL = "&", "@", "~"


class Synset(NamedTuple):
    """Words of one meaning, and the numbers of the synsets that are near it."""

    words: tuple[str, ...]
    similar: tuple[int, ...]  # adjectives beside it
    around: tuple[int, ...]  # more general and more special ones


class Neighbour(NamedTuple):
    """A word beside another one."""

    word: str
    same: bool  # whether they have a meaning in common
    meaning: int  # the number of that meaning of the other word, 0 for its most frequent one


class WordClass:
    """The synsets of one class of words: ``noun``, ``verb``, ``adj`` or ``adv``.

    Raises:
        DataError: the folder does not have their files.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._synsets = dict(_synsets(folder / f"data.{name}"))
        self._numbers = dict(_numbers(folder / f"index.{name}"))

    def neighbours(self, word: str) -> list[Neighbour]:
        """The words beside a word, each as the first meaning has it."""
        neighbours: dict[str, Neighbour] = {}
        for meaning, number in enumerate(self._numbers.get(word, ())[:_MEANINGS]):
            synset = self._synsets[number]
            near = synset.similar + (synset.around if meaning < _AROUND else ())
            groups = [(synset.words, True), *((self._synsets[each].words, False) for each in near)]
            for words, same in groups:
                for each in words:
                    neighbours.setdefault(each, Neighbour(each, same, meaning))
        neighbours.pop(word, None)
        return list(neighbours.values())


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file; those of the licence begin with a space."""
    try:
        text = path.read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path} could not be read: {error}",
            help="install Debian's package wordnet-base, or name the folder with its files",
        ) from error
    return (line for line in text.splitlines() if not line.startswith(" "))


def _synsets(path: Path) -> Iterator[tuple[int, Synset]]:
    for line in _lines(path):
        number, _, kind, count, *rest = line.partition(" | ")[0].split()
        size = 2 * int(count, 16)
        words = (re.sub(r"\(.*\)", "", each).replace("_", " ").lower() for each in rest[:size:2])
        pointers = rest[size + 1 : size + 1 + 4 * int(rest[size])]
        near: dict[str, list[int]] = {_SIMILAR: [], _GENERAL: [], _SPECIAL: []}
        for symbol, other, of_kind in zip(*(pointers[at::4] for at in range(3)), strict=True):
            if symbol in near and of_kind in {kind, "a", "s"}:
                near[symbol].append(int(other))
        yield (
            int(number),
            Synset(tuple(words), tuple(near[_SIMILAR]), (*near[_GENERAL], *near[_SPECIAL])),
        )


def _numbers(path: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """For each word the numbers of its synsets, the most frequent meaning first."""
    for line in _lines(path):
        word, _, count, *rest = line.split()
        yield word.replace("_", " "), tuple(map(int, rest[-int(count) :]))
