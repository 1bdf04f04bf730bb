"""Rules in Portuguese, found on film reviews that a machine translated.

Run by ``python -m demo.portuguese``. The short ones of those sentences of demo/reviews.py that
people rated clearly are translated from English to Portuguese; each keeps the label of its
original. So the labelled set is a translation by a small model, and is called so. A model of
scikit-learn is trained on four fifths, and rules are discovered on held-out sentences, with the
Portuguese tagger and paraphrases through English. Writes demo-output/pt/: the translated set
(reused by the next run), found.sear with its manifest and report. Costs some twenty minutes, and
with 2,000 sentences and 200 rows a few, but then no rule is found.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence

import joblib

from demo.discovery import ROOT, as_csv, held_out_apart
from demo.reviews import fetch, read_rated
from demo.sentiment_model import train
from sears_dsl.cli.commands import sears
from sears_dsl.cli.screen.console import console
from sears_dsl.runtime.files import write_atomically

FOLDER = ROOT / "demo-output" / "pt"
MOST_WORDS = 18
BATCH = 16


def main() -> None:
    """Translate, train, discover, show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sentences", type=int, default=5000, help="reviews to translate")
    parser.add_argument("--rows", type=int, default=1000, help="held-out sentences to look at")
    options = parser.parse_args()
    out = console()
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"translated-{options.sentences}.csv"
    if not path.exists():
        write_atomically(path, as_csv(list(translated(options.sentences))).encode("utf-8"))
    with path.open(encoding="utf-8", newline="") as file:
        rows = [(row["text"], row["label"]) for row in csv.DictReader(file)]
    training = [row for number, row in enumerate(rows) if number % 5]
    held_out = rows[::5]
    model = train([text for text, _ in training], [label for _, label in training])
    answers = model.predict([text for text, _ in held_out])
    right = sum(answer == label for answer, (_, label) in zip(answers, held_out, strict=True))
    out.print(
        f"trained on {len(training):,} translated sentences; {right:,} of {len(held_out):,} "
        f"held-out ones right ({right / len(held_out):.1%})"
    )
    joblib.dump(model, FOLDER / "sentiment.joblib")
    write_atomically(FOLDER / "held-out.csv", as_csv(held_out[: options.rows]).encode("utf-8"))
    write_atomically(FOLDER / "training.csv", as_csv(training).encode("utf-8"))
    sears(
        ["discover", "--tagger", "fast:pt", "--model", f"sklearn:{FOLDER / 'sentiment.joblib'}",
         "--data", str(FOLDER / "held-out.csv"), "--column", "text", "--label", "label",
         "--text", str(FOLDER / "training.csv"), "--restart", "-o", str(FOLDER / "found.sear")],
        standalone_mode=False,
    )  # fmt: skip


def translated(most: int) -> Iterator[tuple[str, str]]:
    """Portuguese sentences with the labels of their English originals."""
    from sears_dsl.meaning.pivot_score import best_translations  # noqa: PLC0415 - brings torch
    from sears_dsl.translation.pivots import load_pivots  # noqa: PLC0415 - likewise

    training, held_out = held_out_apart(read_rated(fetch(ROOT / ".cache")))
    chosen = [row for row in [*training, *held_out] if len(row[0].split()) <= MOST_WORDS]
    # The file lists one film after another, so every n-th sentence is taken, to have all films.
    chosen = chosen[:: max(1, len(chosen) // most)][:most]
    [pivot] = load_pivots(["pt"])
    order = sorted(range(len(chosen)), key=lambda row: len(chosen[row][0]))
    texts = [""] * len(chosen)
    for first in range(0, len(order), BATCH):
        some: Sequence[int] = order[first : first + BATCH]
        translations = best_translations(pivot, [chosen[row][0] for row in some], candidates=1)
        for row, each in zip(some, translations, strict=True):
            texts[row] = each
    yield from zip(texts, (label for _, label in chosen), strict=True)


if __name__ == "__main__":
    main()
