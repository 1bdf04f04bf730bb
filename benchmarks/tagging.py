"""How fast texts get tokens and tags, as ratios in one run.

In: plain English sentences. Out: a line for each way of doing the same work: tokens per second and
the ratio to spaCy's own way. The tokens and tags of both are compared, and are equal.

    python -m benchmarks.tagging --rows 2000
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import spacy

from benchmarks.record import Row, data_file, write_record
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


def tagging(texts: Sequence[str], tagger: SpacyTagger, *, jobs: int) -> list[Row]:
    """Compare spaCy's pipe with our tagger, in one process, in several, and with the cache."""
    nlp = spacy.load(tagger.model, exclude=["parser", "ner", "lemmatizer"])
    tagger.tag(texts[:10])
    list(nlp.pipe(texts[:10]))
    pipe, docs = timed(lambda: list(nlp.pipe(texts, batch_size=256)))
    alone, tokens = timed(lambda: tagger.tag(texts))
    expected, count = words_of_spacy(docs), len(tokens.starts)

    def compare(what: str, words: Words) -> None:
        if words != expected:
            sys.exit(f"tagging: {what}: the tokens or tags differ from those of nlp.pipe")

    compare("ours", words_of(tokens))
    several, docs = timed(lambda: list(nlp.pipe(texts, batch_size=256, n_process=jobs)))
    compare(f"nlp.pipe, n_process={jobs}", words_of_spacy(docs))
    with SpacyTagger(tagger.model, jobs=jobs) as shared:
        cold, _ = timed(lambda: shared.tag(texts))
        warm, tokens = timed(lambda: shared.tag(texts))
    compare(f"ours, jobs={jobs}", words_of(tokens))
    with tempfile.TemporaryDirectory() as folder, TagCache(Path(folder)) as cache:
        cached = CachedTagger(tagger, cache)
        filling, _ = timed(lambda: cached.tag(texts))
        reading, tokens = timed(lambda: cached.tag(texts), times=3)
    compare("ours, from the cache", words_of(tokens))
    ways = {
        "nlp.pipe": pipe,
        "ours": alone,
        f"nlp.pipe, n_process={jobs}, with its start": several,
        f"ours, jobs={jobs}, with its start": cold,
        f"ours, jobs={jobs}, started": warm,
        "ours, filling the cache": filling,
        "ours, from the cache": reading,
    }
    return [Row("text", {"rows": len(texts), "tokens": count})] + [
        Row(way, {"tokens/s": round(count / seconds), "times nlp.pipe": round(pipe / seconds, 2)})
        for way, seconds in ways.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=2_000, help="rows to tag")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    lines = data_file("throughput/classic_books.txt").read_text("utf-8").splitlines()
    write_record("tagging", tagging(lines[: options.rows], SpacyTagger(), jobs=options.jobs))


if __name__ == "__main__":
    main()
