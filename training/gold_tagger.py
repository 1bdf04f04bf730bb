"""Makes a fast tagger from treebanks alone: ``python -m training.gold_tagger --language pt ...``.

In: treebanks of the Universal Dependencies of one language. Out: the file of weights, and how often
its tags are right. Always holds: the same files, settings and seed give the same bytes; the printed
figures come from sentences that the weights in question had not seen.
Costs some seconds for 50,000 words, and as long for each fold.

    python -m training.gold_tagger --language pt --folds 5
        --gold ../shared/data/pos/pt_bosque-ud-dev.conllu ../shared/data/pos/pt_gsd-ud-dev.conllu
        --out sears_dsl/tagging/fast/tagger_pt.npz

A word is what is written as one: *no* is one token, coarse ADP, fine ADP-DET. Where two treebanks
disagree about a common word, as Portuguese ones do about *que*, the first treebank on the command
line decides, and the word's tags are not learned from the others.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sears_dsl.runtime.kernels import ENOUGH, expect
from sears_dsl.tagging.fast.fast_tagger import Perceptron
from sears_dsl.tagging.fast.weights import TAGS, StoredWeights, load
from training.coarse import COARSE, CoarseTable
from training.command import run
from training.evaluation import right
from training.packing import pack
from training.perceptron import learn, pack_examples
from training.records import described_files, show
from training.treebank import Sentence, in_rows, read_treebank, tag_words
from training.weight_files import save

# How often a compound tag must occur to count, and a word in each of two treebanks.
_SEEN = 5

Settings = argparse.Namespace


def fine_tags(sentences: Sequence[Sentence]) -> tuple[str, ...]:
    """The universal tags, then as many compound tags (ADP-DET) as there is room for.

    Example:
        >>> tags = fine_tags([Sentence(("no",), ("ADP-DET",), ("ADP",))] * 5)
        >>> tags[17], len(tags), tags[-1]
        ('ADP-DET', 48, 'X')
    """
    counts = Counter(tag for sentence in sentences for tag in sentence.fine if "-" in tag)
    several = [tag for tag, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]
    frequent = [tag for tag in several if counts[tag] >= _SEEN][: TAGS - len(COARSE)]
    # The weights have room for TAGS tags; a tag that is never learned is never given.
    return (*COARSE, *frequent, *["X"] * (TAGS - len(COARSE) - len(frequent)))


def train(
    treebanks: Sequence[Sequence[Sentence]], options: Settings, **about: Any
) -> StoredWeights:
    """Learn from treebanks; the first decides about words that they disagree on."""
    fine = fine_tags([sentence for treebank in treebanks for sentence in treebank])
    number = {tag: fine.index(tag) for tag in fine}
    generator = random.Random(options.seed)
    rows = []
    for treebank in treebanks:
        disputed = _disputed(treebanks[0], treebank)
        for some in in_rows(treebank, generator):
            pairs = [pair for each in some for pair in zip(each.words, each.fine, strict=True)]
            tags = [
                -1 if word.lower() in disputed else number.get(tag, number[tag.split("-")[0]])
                for word, tag in pairs
            ]
            rows.append(([word for word, _ in pairs], tags, 1))
    learned = learn(
        pack_examples(rows), passes=options.passes, margin=options.margin, seed=options.seed
    )
    coarse = CoarseTable(
        keys=np.zeros(0, np.uint32),
        groups=np.zeros(0, np.uint8),
        table=np.array([[COARSE.index(tag.split("-")[0]) for tag in fine]], np.uint8),
    )
    provenance = {"language": options.language, "fine": fine, "coarse": COARSE, **about}
    return pack(learned, unit=options.unit, least=options.least, about=provenance, coarse=coarse)


def _disputed(decides: Sequence[Sentence], other: Sequence[Sentence]) -> set[str]:
    """Common words, in lower case, that the treebanks mostly tag differently."""
    kinds: list[dict[str, Counter[str]]] = []
    for treebank in (decides, other):
        tags: dict[str, Counter[str]] = {}
        for sentence in treebank:
            for word, tag in zip(sentence.words, sentence.fine, strict=True):
                tags.setdefault(word.lower(), Counter())[tag] += 1
        kinds.append(tags)
    ours, theirs = kinds
    return {
        word
        for word, tags in ours.items()
        if tags.total() >= _SEEN
        and theirs.get(word, Counter()).total() >= _SEEN
        and tags.most_common(1)[0][0] != theirs[word].most_common(1)[0][0]
    }


def accuracy(stored: StoredWeights, sentences: Sequence[Sentence]) -> tuple[int, int, int]:
    """How many fine tags are right, how many coarse tags, of how many words."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "tagger.npz")
        save(stored, path)
        taggings = tag_words(Perceptron(load(path)), [sentence.words for sentence in sentences])
    fine, coarse, words = right(sentences, taggings).sum(axis=0).tolist()
    return fine, coarse, words


def main() -> None:
    """Read, measure on folds, learn from everything, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--language", required=True, help="such as pt")
    parser.add_argument("--gold", type=Path, nargs="+", required=True, help="CoNLL-U files")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parser.add_argument("--folds", type=int, default=0, help="folds to measure on; usually 5")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--passes", type=int, default=8)
    parser.add_argument("--margin", type=int, default=4)
    parser.add_argument("--unit", type=float, default=0.25, help="what a stored step stands for")
    parser.add_argument("--least", type=float, default=0.5, help="smaller weights are dropped")
    options = parser.parse_args()
    expect(ENOUGH + 1)  # everything here is worth compiling
    treebanks = [read_treebank(path, as_written=True) for path in options.gold]
    for fold in range(options.folds):
        learned_from, measured = [], []
        for treebank in treebanks:
            # Neighbouring sentences come from one text, so they stay in one fold.
            low, high = (len(treebank) * each // options.folds for each in (fold, fold + 1))
            learned_from.append([*treebank[:low], *treebank[high:]])
            measured.append(treebank[low:high])
        stored = train(learned_from, options)
        for path, sentences in zip(options.gold, measured, strict=True):
            _tell(f"fold {fold + 1}, {path.name}", accuracy(stored, sentences))
    if options.folds and len(treebanks) > 1:
        for path, treebank in zip(options.gold, treebanks, strict=True):
            others = [each for each in treebanks if each is not treebank]
            counts_right = accuracy(train(others, options), treebank)
            _tell(f"{path.name}, learned from the others", counts_right)
    stored = train(
        treebanks,
        options,
        name=f"sears part-of-speech tagger of gold tags ({options.language})",
        licence="CC BY-SA 4.0",
        seed=options.seed,
        tokens=sum(len(each.words) for treebank in treebanks for each in treebank),
        settings={name: getattr(options, name) for name in ("passes", "margin", "unit", "least")},
        files=list(described_files({str(path): path for path in options.gold}).values()),
    )
    digest = save(stored, options.out)
    show(f"{options.out}: {options.out.stat().st_size:,} bytes, {digest}")


def _tell(what: str, counts_right: tuple[int, int, int]) -> None:
    fine, coarse, words = counts_right
    show(f"{what}: {words:,} words, coarse {coarse / words:.4f}, fine {fine / words:.4f}")


if __name__ == "__main__":
    run(main)
