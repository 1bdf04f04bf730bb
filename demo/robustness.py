"""How robust a small sentiment model is to other words, to contractions and to negation.

Run by ``python -m demo.robustness``. The sentences (Rotten Tomatoes snippets with human ratings,
MIT licence) are those of demo/reviews.py, the model is that of demo/discovery.py. It is trained on
four fifths of the sentences that people rated clearly, and audited on the others with the rules of
demo/robustness.sear. `shallow` is the oracle: it rejects negations of sentences that say more than
one thing. Writes the audit to demo-output/robustness.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import joblib

from demo.discovery import as_csv, held_out_apart
from demo.reviews import fetch, read_rated
from demo.sentiment_model import train
from sears_dsl.cli.commands import sears
from sears_dsl.cli.screen.console import console
from sears_dsl.runtime.files import write_atomically

ROOT = Path(__file__).resolve().parents[1]

# A second negation or a second judgement leaves open what the negated verb says.
_MORE = re.compile(
    r"\b(not|no|never|nothing|nor|neither|hardly|without|but|though|although|yet|if|while|only|or"
    r"|than|because|despite)\b|n't\b"
)


def shallow(rows: Sequence[Mapping[str, str]]) -> list[bool]:
    """Accept negations only of sentences with one judgement; accept everything else.

    Example:
        >>> shallow([{"original": "it is a good film", "rule": "is-not"},
        ...          {"original": "it is a good film , but long", "rule": "is-not"}])
        [True, False]
    """
    return [
        not row["rule"].endswith("is-not") or _MORE.search(row["original"].lower()) is None
        for row in rows
    ]


def main() -> None:
    """Train, audit."""
    out = console()
    training, held_out = held_out_apart(read_rated(fetch(ROOT / ".cache")))
    model = train([text for text, _ in training], [label for _, label in training])
    folder = ROOT / "demo-output"
    folder.mkdir(exist_ok=True)
    joblib.dump(model, folder / "sentiment.joblib")
    write_atomically(folder / "held-out.csv", as_csv(held_out).encode("utf-8"))
    command = [
        "audit", str(ROOT / "demo" / "robustness.sear"),
        "--model", f"sklearn:{folder / 'sentiment.joblib'}",
        "--data", str(folder / "held-out.csv"), "--column", "text", "--label", "label",
        "--scorer", "none", "--oracle", "demo.robustness:shallow", "--tolerance", "5%",
        "--restart", "-o", str(folder / "robustness"),
    ]  # fmt: skip
    out.print("$ sears " + " ".join(part.replace(f"{ROOT}/", "") for part in command) + "\n")
    sears(command, standalone_mode=False)


if __name__ == "__main__":
    main()
