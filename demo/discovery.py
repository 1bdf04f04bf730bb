"""Rules that flip a small sentiment model, found on real sentences, without a model hub.

Run by ``make demo`` after demo/reviews.py, whose sentences (Rotten Tomatoes snippets with human
ratings, MIT licence) it shares. A model of scikit-learn is trained on four fifths of those that
people rated clearly; the others are held out, and rules are discovered on some of them with the
translation models that a package carries. Writes demo-output/found.sear with its manifest and
report, and prints the rules as the paper's Table 3 does.
"""

from __future__ import annotations

import argparse
import csv
import io
import time
from pathlib import Path

import joblib

from demo.reviews import fetch, read_rated
from demo.sentiment_model import train
from sears_dsl.cli.main import sears
from sears_dsl.cli.screen.console import console
from sears_dsl.runtime.writing import write_atomically

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

    rated = read_rated(fetch(ROOT / ".cache"))
    clear = [
        (text, "positive" if rating > 0 else "negative")
        for text, rating in rated
        if abs(rating) >= CLEAR
    ]
    training = [pair for number, pair in enumerate(clear) if number % HELD_OUT]
    held_out = clear[::HELD_OUT]
    model = train([text for text, _ in training], [label for _, label in training])
    answers = model.predict([text for text, _ in held_out])
    right = sum(answer == label for answer, (_, label) in zip(answers, held_out, strict=True))
    out.print(
        f"a model of scikit-learn trained on {len(training):,} sentences has "
        f"{right:,} of {len(held_out):,} held-out ones right ({right / len(held_out):.1%})"
    )

    folder = ROOT / "demo-output"
    folder.mkdir(exist_ok=True)
    joblib.dump(model, folder / "sentiment.joblib")
    write_atomically(folder / "held-out.csv", _as_csv(held_out[:rows]).encode("utf-8"))
    command = [
        "discover", "--model", f"sklearn:{folder / 'sentiment.joblib'}", "--batch-size", "4096",
        "--data", str(folder / "held-out.csv"), "--column", "text", "--label", "label",
        "-o", str(folder / "found.sear"),
    ]  # fmt: skip
    out.print("$ sears " + " ".join(part.replace(f"{ROOT}/", "") for part in command) + "\n")
    sears(command, standalone_mode=False)
    out.print(f"\n{time.perf_counter() - started:.0f} s; read demo-output/found.md")


def _as_csv(rows: list[tuple[str, str]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(["text", "label"])
    writer.writerows(rows)
    return stream.getvalue()


if __name__ == "__main__":
    main()
