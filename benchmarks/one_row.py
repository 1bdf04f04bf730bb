"""One text at a time: `matcher.apply([text])`, as in a service, a notebook or the vetting page.

Method: sentences of the shipped sample of English that the process has not seen, after 300 others.
The figures are the median of a call and the time for each row when the same matcher gets all at
once, after another batch. The rules are all shipped ones that keep the meaning, and one rule of one
word, on texts with and without that word; with compiled code and without (SEARS_COMPILE=never).
Verified: the calls give what the batch gives.
Bias: most words of the sentences are known by then, as in a service.
"""

from __future__ import annotations

import gzip
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import sears_dsl as sears
from benchmarks.record import Row, read_options, write_record
from sears_dsl.catalogue import shipped_rulesets
from sears_dsl.engine.matcher import Matcher, compile_rules

SAMPLE = Path(sears.__file__).parent / "discovery" / "filtering" / "english_text.txt.gz"
SEEN, ASKED = 300, 100
LIMITS = {"all shipped rules": 400, "one word, found": 60, "one word, not found": 60}


def _texts() -> list[str]:
    lines = gzip.decompress(SAMPLE.read_bytes()).decode().splitlines()[1:]
    step = len(lines) // (SEEN + ASKED)
    return [line.split("\t")[-1] for line in lines[::step][: SEEN + ASKED]]


def _measured(matcher: Matcher, earlier: list[str], texts: list[str]) -> dict[str, float | str]:
    for text in earlier:
        matcher.apply([text])
    times, single = [], []
    for row, text in enumerate(texts):
        begun = time.perf_counter()
        done = matcher.apply([text])
        times.append(time.perf_counter() - begun)
        single += [rewrite._replace(row=row) for rewrite in done]
    matcher.apply(earlier)  # so that the batch does not pay for what many rows load once
    begun = time.perf_counter()
    many = matcher.apply(texts)
    batch = time.perf_counter() - begun
    return {
        "µs a call": round(1e6 * statistics.median(times)),
        "µs a row of a batch": round(1e6 * batch / len(texts)),
        "verified": "yes" if single == list(many) else "NO",
    }


def _here() -> dict[str, dict[str, float | str]]:
    names = [
        name
        for name in shipped_rulesets()
        if not name.startswith(("noise/", "paper/", "rejected/"))
    ]
    every = compile_rules([sears.load(shipped_rulesets()[name]) for name in names])
    word = compile_rules([sears.parse("movie -> film")])
    texts = _texts()
    with_word = [f"A movie: {text}" for text in texts]
    word.apply(with_word)
    return {
        "all shipped rules": _measured(every, texts[:SEEN], texts[SEEN:]),
        "one word, found": _measured(word, with_word[:SEEN], with_word[SEEN:]),
        "one word, not found": _measured(word, texts[:SEEN], texts[SEEN:]),
    }


def main() -> None:
    """Run and record."""
    if read_options(__doc__, "--here").here:
        print(json.dumps(_here()))
        return
    rows = []
    for name, choice in (("compiled", "always"), ("plain Python", "never")):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.one_row", "--here"],
            env={**os.environ, "SEARS_COMPILE": choice},
            check=True,
            capture_output=True,
            text=True,
        )
        for what, figures in json.loads(done.stdout).items():
            limit = LIMITS[what] if choice == "always" else None
            rows.append(
                Row(
                    f"{what}, {name}",
                    figures,
                    at_least=f"{limit} µs" if limit else "",
                    aim=f"{limit // 4} µs" if limit else "",
                    reached=figures["verified"] == "yes"
                    and (limit is None or figures["µs a call"] <= limit),
                )
            )
    write_record("one_row", rows)


if __name__ == "__main__":
    main()
