"""How fast texts get tokens and tags, as ratios in one run.

In: plain English sentences from the folder of data (the environment variable ``SEARS_DATA``, or
``../shared/data`` beside the repository). Out: a line for each way of doing the same work: tokens
per second and the ratio to spaCy's own way. The tokens of both are checked to be equal first.

    python benchmarks/tagging.py --rows 2000
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

import spacy

from sears_dsl.tagging.cache import CachedTagger, TagCache
from sears_dsl.tagging.spacy_tagger import SpacyTagger
from sears_dsl.tagging.tokens import Tokens

Result = TypeVar("Result")
Words = list[list[tuple[str, int, str, str]]]


def timed(work: Callable[[], Result], *, times: int = 1) -> tuple[float, Result]:
    """The shortest of some runs, in seconds, and what the last one gave."""
    best = float("inf")
    for _ in range(times):
        # As in `timeit`: what other parts of this file hold should not be searched for garbage.
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
        gc.enable()
    return best, result


def words_of_spacy(docs: Sequence[spacy.tokens.Doc]) -> Words:
    """The words of spaCy's documents, white space left out."""
    return [[(t.text, t.idx, t.pos_, t.tag_) for t in doc if not t.is_space] for doc in docs]


def words_of(tokens: Tokens) -> Words:
    """The words of our tokens."""
    return [
        [(token.text, token.start, token.coarse, token.fine) for token in tokens.row(row)]
        for row in range(len(tokens))
    ]


def report(what: str, seconds: float, tokens: int, base: float) -> None:
    print(f"{what:46} {tokens / seconds:>12,.0f} tokens/s {base / seconds:>8.2f}×")


def tagging(texts: Sequence[str], tagger: SpacyTagger, *, jobs: int) -> None:
    """Compare spaCy's pipe with our tagger, in one process, in several, and with the cache."""
    nlp = spacy.load(tagger.model, exclude=["parser", "ner", "lemmatizer"])
    tagger.tag(texts[:10])
    list(nlp.pipe(texts[:10]))
    pipe, docs = timed(lambda: list(nlp.pipe(texts, batch_size=256)))
    alone, tokens = timed(lambda: tagger.tag(texts))
    assert words_of(tokens) == words_of_spacy(docs), "the taggers differ"
    count = len(tokens.starts)
    print(f"\ntagging {len(texts):,} rows, {count:,} tokens; equal")
    report("nlp.pipe", pipe, count, pipe)
    report("ours", alone, count, pipe)
    several, piped = timed(lambda: words_of_spacy(list(nlp.pipe(texts, n_process=jobs))))
    assert piped == words_of_spacy(docs), "processes change spaCy's tags"
    report(f"nlp.pipe, n_process={jobs}, with its start", several, count, pipe)
    with SpacyTagger(tagger.model, jobs=jobs) as shared:
        cold, _ = timed(lambda: shared.tag(texts))
        warm, tokens = timed(lambda: shared.tag(texts))
    assert words_of(tokens) == words_of_spacy(docs), "processes change tags"
    report(f"ours, jobs={jobs}, with its start", cold, count, pipe)
    report(f"ours, jobs={jobs}, started", warm, count, pipe)
    with tempfile.TemporaryDirectory() as folder, TagCache(Path(folder)) as cache:
        cached = CachedTagger(tagger, cache)
        filling, _ = timed(lambda: cached.tag(texts))
        reading, tokens = timed(lambda: cached.tag(texts), times=3)
    assert words_of(tokens) == words_of_spacy(docs), "the cache changes tags"
    report("ours, filling the cache", filling, count, pipe)
    report("ours, from the cache", reading, count, pipe)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=2_000, help="rows to tag")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    named = os.environ.get("SEARS_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    path = folder / "throughput" / "classic_books.txt"
    if not path.is_file():
        print(f"skipped: there is no {path}; set SEARS_DATA to the folder of the data")
        return
    with path.open(encoding="utf-8") as file:
        texts = [line.rstrip("\n") for line in islice(file, 10 * options.rows)]
    tagging(texts[: options.rows], SpacyTagger(), jobs=options.jobs)


if __name__ == "__main__":
    main()
