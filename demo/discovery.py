"""Rules that flip a small sentiment model, found on real sentences, without a model hub.

``make demo`` runs it after demo/reviews.py, whose sentences (Rotten Tomatoes snippets with human
ratings, MIT licence) it shares. A model of scikit-learn is trained on four fifths of those that
people rated clearly; the others are held out. Rules are discovered on some of these, with the
translation models that a package carries. Writes demo-output/found.sear with its manifest and
report, and prints the rules as the paper's Table 3 does.
"""

from __future__ import annotations

import argparse
import csv
import io
import time
from collections.abc import Sequence
from pathlib import Path

import joblib

from demo.reviews import fetch, read_rated
from demo.sentiment_model import train
from sears_dsl.cli.commands import sears
from sears_dsl.cli.screen.console import console
from sears_dsl.runtime.files import write_atomically

ROOT = Path(__file__).resolve().parents[1]

# People rated from -4 to 4; between -1 and 1 they hardly agree whether a sentence praises.
CLEAR = 1.0
# Every fifth sentence is held out from training.
HELD_OUT = 5


def main() -> None:
    """Train, discover, show."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=300, help="held-out sentences to look at")
    rows = parser.parse_args().rows
    out = console()
    started = time.perf_counter()

    training, held_out = held_out_apart(read_rated(fetch(ROOT / ".cache")))
    model = train([text for text, _ in training], [label for _, label in training])
    answers = model.predict([text for text, _ in held_out])
    right = sum(answer == label for answer, (_, label) in zip(answers, held_out, strict=True))
    out.print(
        f"a model of scikit-learn trained on {len(training):,} sentences gets "
        f"{right:,} of {len(held_out):,} held-out ones right ({right / len(held_out):.1%})"
    )

    folder = ROOT / "demo-output"
    folder.mkdir(exist_ok=True)
    joblib.dump(model, folder / "sentiment.joblib")
    write_atomically(folder / "held-out.csv", as_csv(held_out[:rows]).encode("utf-8"))
    command = [
        "discover", "--model", f"sklearn:{folder / 'sentiment.joblib'}", "--batch-size", "4096",
        "--data", str(folder / "held-out.csv"), "--column", "text", "--label", "label",
        "-o", str(folder / "found.sear"),
    ]  # fmt: skip
    out.print("$ sears " + " ".join(part.replace(f"{ROOT}/", "") for part in command) + "\n")
    sears(command, standalone_mode=False)
    out.print(f"\n{time.perf_counter() - started:.0f} s; read demo-output/found.md")


def held_out_apart(
    rated: Sequence[tuple[str, float]],
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Sentences with their labels: those to train on, and those held out."""
    clear = [
        (text, "positive" if rating > 0 else "negative")
        for text, rating in rated
        if abs(rating) >= CLEAR
    ]
    return [pair for number, pair in enumerate(clear) if number % HELD_OUT], clear[::HELD_OUT]


def as_csv(rows: Sequence[tuple[str, str]]) -> str:
    """Sentences with their labels as csv with a header."""
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(["text", "label"])
    writer.writerows(rows)
    return stream.getvalue()


if __name__ == "__main__":
    main()
