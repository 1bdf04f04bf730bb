"""What a chain of all shipped rules costs for each row, compared with single rules.

In: reviews, and sentences of an encyclopedia, that the matcher has not seen. Out: microseconds of
one core for each row, for `Matcher.chain` and for `Matcher.apply`, alternating by batch; and how
many rules fire in a row. Verified on some rows: the chain gives the text that results from applying
the next rule that fires, again and again.

    python -m benchmarks.chaining
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

import sears_dsl as sears
from benchmarks.record import Row, data_file, read_options, write_record
from sears_dsl.catalogue import shipped_rulesets
from sears_dsl.engine.matcher import Matcher

ROWS = 1_000  # in a batch
BATCHES = 3
VERIFIED = 40
# Microseconds of one core a row, at most.
LIMITS = {"reviews": 60, "encyclopedia sentences": 90}


def reviews() -> list[str]:
    """Sentences of film reviews."""
    lines = data_file("sentiment/rt.tsv").read_text("utf-8").splitlines()
    return [line.split("\t", 1)[1].strip() for line in lines if "\t" in line]


def encyclopedia() -> list[str]:
    """Sentences of SQuAD's contexts."""
    articles = json.loads(data_file("squad/dev-v1.1.json").read_text("utf-8"))["data"]
    texts = [paragraph["context"] for each in articles for paragraph in each["paragraphs"]][:1_500]
    # By a tagger of its own: one that has cut these texts would know all of their words.
    cut = zip(texts, sears.load_tagger("fast").sentences(texts), strict=True)
    return [text[start:end] for text, places in cut for start, end in places]


def microseconds(work: Callable[[], object], rows: int) -> float:
    begin = time.process_time()
    work()
    return (time.process_time() - begin) / rows * 1e6


def one_by_one(matcher: Matcher, text: str) -> str:
    """A text after all rules; each rule is asked about the text that the one before it left."""
    last = -1
    while later := [each for each in matcher.apply([text]) if each.rule > last]:
        text, last = later[0].text, later[0].rule
    return text


def measured(name: str, matcher: Matcher, texts: Sequence[str]) -> Row:
    """Time chains and applications in turn, each on rows of its own."""
    chained, applied, steps = [], [], 0
    for batch in range(BATCHES):
        first = 2 * batch * ROWS
        rows, others = texts[first : first + ROWS], texts[first + ROWS : first + 2 * ROWS]
        chained.append(microseconds(partial(matcher.chain, rows), len(rows)))
        applied.append(microseconds(partial(matcher.apply, others), len(others)))
        steps += sum(len(row.steps) for row in matcher.chain(rows))
    sample = texts[:VERIFIED]
    after = [row.text for row in matcher.chain(sample)]
    if after != [one_by_one(matcher, text) for text in sample]:
        sys.exit(f"chaining: {name} differ from one rule after another")
    median = statistics.median(chained)
    return Row(
        name,
        {
            "microseconds a row": round(median),
            "every rule by itself": round(statistics.median(applied)),
            "rules that fire in a row": round(steps / (BATCHES * ROWS), 1),
            "verified": len(sample),
        },
        at_least=f"{LIMITS[name]} µs",
        reached=median <= LIMITS[name],
    )


def main() -> None:
    """Run and record."""
    names = [
        name
        for name in shipped_rulesets()
        if not name.startswith(("noise/", "paper/", "rejected/"))
    ]
    rulesets = [sears.load(shipped_rulesets()[name]) for name in names]
    matcher = sears.compile_rules(rulesets, tagger=sears.load_tagger("fast"))
    sets = {"reviews": reviews(), "encyclopedia sentences": encyclopedia()}
    for texts in sets.values():
        matcher.chain(texts[-200:])
    rows = [measured(name, matcher, texts) for name, texts in sets.items()]
    write_record("chaining", rows)


if __name__ == "__main__":
    read_options(__doc__)
    main()
