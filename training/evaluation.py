"""The figures of the model card: ``python -m training.evaluation --gold FILE ... --text FILE ...``.

In: treebanks with gold tags, plain texts without. Out: tables of accuracy on gold words, by genre,
for the fast tagger and for spaCy's small English model, with the interval of their difference; and
how often the two agree on plain text. Always holds: sentences are drawn with a fixed seed, so the
same files give the same figures. Costs a second for 10,000 tokens, nearly all of it in spaCy.

    python -m training.evaluation --gold ../shared/data/pos/en_ewt-ud-dev.conllu
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sears_dsl.errors import DataError
from sears_dsl.runtime.kernels import ENOUGH, expect
from sears_dsl.tagging.fast.fast_tagger import Perceptron
from sears_dsl.tagging.fast.weights import load
from sears_dsl.tagging.spacy_tagger import SpacyTagger
from training.command import run
from training.records import show
from training.tagger import MODEL
from training.texts import read_squad
from training.treebank import Sentence, read_treebank, tag_words

_DRAWS = 2000
_MOST_ROWS = 1000
_LABELLED = re.compile(r"[0-9] ")

Tagged = list[tuple[list[str], list[str]]]


def spacy_tags(sentences: Sequence[Sentence], *, model: str) -> Tagged:
    """The fine and coarse tags that spaCy's model gives exactly these words."""
    import spacy  # noqa: PLC0415 - seconds to import
    from spacy.tokens import Doc  # noqa: PLC0415

    nlp = spacy.load(model, exclude=["parser", "ner", "lemmatizer"])
    docs = nlp.pipe(Doc(nlp.vocab, words=list(sentence.words)) for sentence in sentences)
    return [([token.tag_ for token in doc], [token.pos_ for token in doc]) for doc in docs]


def right(sentences: Sequence[Sentence], tagged_rows: Tagged) -> Any:
    """For each sentence: right fine tags, right coarse tags, words."""
    return np.array(
        [
            (
                sum(a == b for a, b in zip(sentence.fine, fine, strict=True)),
                sum(a == b for a, b in zip(sentence.coarse, coarse, strict=True)),
                len(sentence.words),
            )
            for sentence, (fine, coarse) in zip(sentences, tagged_rows, strict=True)
        ]
    )


def difference(ours: Any, theirs: Any, column: int) -> tuple[float, float]:
    """The 95% interval of the difference of two accuracies, by resampling sentences."""
    generator = np.random.default_rng(0)
    drawn = generator.integers(0, len(ours), (_DRAWS, len(ours)))
    words = ours[:, 2][drawn].sum(axis=1)
    gained = (ours[:, column] - theirs[:, column])[drawn].sum(axis=1)
    low, high = np.quantile(gained / words, (0.025, 0.975))
    return float(low), float(high)


def agreement(texts: Sequence[str], ours: Perceptron, theirs: SpacyTagger) -> tuple[float, int]:
    """How often both give a token of plain text the same fine tag, and the number of tokens."""
    tokens = theirs.tag(texts)
    rows = [[token.text for token in tokens.row(row)] for row in range(len(texts))]
    wanted = [token.fine for row in range(len(texts)) for token in tokens.row(row)]
    our_tags = [tag for fine, _ in tag_words(ours, rows) for tag in fine]
    same = sum(a == b for a, b in zip(our_tags, wanted, strict=True))
    return same / max(len(wanted), 1), len(wanted)


def main() -> None:
    """Read, tag, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gold", type=Path, nargs="*", default=[], help="CoNLL-U files")
    parser.add_argument("--genres", nargs="*", default=[], help="only these genres of the files")
    parser.add_argument(
        "--text", type=Path, nargs="*", default=[], help="lines of text, or SQuAD JSON"
    )
    parser.add_argument("--weights", type=Path, help="weights other than the shipped ones")
    options = parser.parse_args()
    expect(ENOUGH + 1)  # worth compiling
    tagger = Perceptron(load(options.weights))
    for path in options.gold:
        _print_gold(path, options.genres, tagger)
    _print_texts(options.text, tagger)


def _print_gold(path: Path, genres: Sequence[str], tagger: Perceptron) -> None:
    sentences = [
        sentence for sentence in read_treebank(path) if not genres or sentence.genre in genres
    ]
    if not sentences:
        raise DataError(f"{path} has no sentences of {', '.join(genres)}", help="see its sent_id")
    ours = right(sentences, tag_words(tagger, [sentence.words for sentence in sentences]))
    theirs = right(sentences, spacy_tags(sentences, model=MODEL))
    genres_of_rows = np.array([sentence.genre for sentence in sentences])
    show(f"{path.name}\n")
    show("| genre | words | fine | spaCy | difference (95%) | coarse | spaCy | difference (95%) |")
    show("|---|---|---|---|---|---|---|---|")
    for genre in ["all", *sorted(set(genres_of_rows.tolist()))]:
        some = slice(None) if genre == "all" else np.flatnonzero(genres_of_rows == genre)
        mine, other = ours[some], theirs[some]
        words = mine[:, 2].sum()
        cells = [genre or "?", f"{words:,}"]
        for column in (0, 1):
            low, high = difference(mine, other, column)
            cells += [f"{part[:, column].sum() / words:.4f}" for part in (mine, other)]
            cells.append(f"{low:+.4f} to {high:+.4f}")
        show(f"| {' | '.join(cells)} |")
    show("")


def _print_texts(paths: Sequence[Path], tagger: Perceptron) -> None:
    if not paths:
        return
    spacy_tagger = SpacyTagger(MODEL)
    show("| text | tokens | fine tags that agree with spaCy's |\n|---|---|---|")
    for path in paths:
        same, tokens = agreement(_texts(path)[-_MOST_ROWS:], tagger, spacy_tagger)
        show(f"| {path.name} | {tokens:,} | {same:.4f} |")


def _texts(path: Path) -> list[str]:
    """The distinct texts of a file: the last column of its lines, or SQuAD's paragraphs.

    If every line begins with a digit and a space, as those of SST do, the digit is a label, and no
    word of the text.
    """
    if path.suffix == ".json":
        texts = read_squad(path).paragraphs
    else:
        lines = [line for line in path.read_text("utf-8").split("\n") if line.strip()]
        labelled = all(map(_LABELLED.match, lines))
        texts = [line[2:] if labelled else line.rsplit("\t", 1)[-1] for line in lines]
    return [text for text in dict.fromkeys(texts) if text.strip()]


if __name__ == "__main__":
    run(main)
