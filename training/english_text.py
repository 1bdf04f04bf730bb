"""The sample of English on which discovery judges rules, besides the user's own text.

    python -m training.english_text --out sears_dsl/discovery/filtering/english_text.txt.gz

In: the sentences in the source package of vaderSentiment (C.J. Hutto, MIT licence: snippets of
product and film reviews, newspaper editorials, posts), fetched by package name with its hash
checked; the test sentences of the shipped rulesets, our own. Out: a gzip file: a heading line with
the version, then lines "kind, tab, sentence". Always holds: the same input gives the same bytes; no
sentence occurs twice. Costs a second.
"""

from __future__ import annotations

import argparse
import gzip
import html
import io
import re
import tarfile
from collections.abc import Iterator
from hashlib import blake2b, sha256
from pathlib import Path

from demo.reviews import ROOT, fetch
from sears_dsl.catalogue import shipped_rulesets
from sears_dsl.cli.screen.console import console
from sears_dsl.discovery.filtering.text_filter import SAMPLE_HEADING
from sears_dsl.language.loader import load
from sears_dsl.runtime.files import write_atomically
from training.command import run

# How many sentences of each kind are drawn. Few are about films, since most demonstrations are, and
# the sample has to show what happens elsewhere.
KINDS = {
    "products": ("amazonReviewSnippets", 1200),
    "news": ("nytEditorialSnippets", 1200),
    "posts": ("tweets", 600),
    "films": ("movieReviewSnippets", 600),
}
RULES = 700
# Short sentences only: a scorer's cost grows with the length, and a rule changes a few words.
_WORDS = range(4, 21)
_PINNED = re.compile(r"\w/[A-Z]{2,}")
_STRANGE = re.compile(r"https?:|www\.|[^\x20-\x7e]|@\w|#\w|\s{2,}")


def main() -> None:
    """Read, choose, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    lines = [SAMPLE_HEADING]
    archive = fetch(ROOT / ".cache")
    for kind, (name, count) in KINDS.items():
        lines += [f"{kind}\t{text}" for text in chosen(snippets(archive, name), count)]
    lines += [f"rules\t{text}" for text in chosen(tests_of_rulesets(), RULES)]
    content = gzip.compress("\n".join([*lines, ""]).encode("utf-8"), compresslevel=9, mtime=0)
    write_atomically(out, content)
    digest = sha256(content).hexdigest()
    console().print(
        f"{out}: {len(lines) - 1:,} sentences, {len(content):,} bytes, SHA-256 {digest}"
    )


def snippets(archive: Path, name: str) -> Iterator[str]:
    """The sentences of one file of the package, in file order."""
    with tarfile.open(archive) as outer:
        inside = next(each for each in outer.getnames() if each.endswith("hutto_ICWSM_2014.tar.gz"))
        packed = outer.extractfile(inside)
        content = b"" if packed is None else packed.read()
    with tarfile.open(fileobj=io.BytesIO(content)) as files:
        member = files.extractfile(f"hutto_ICWSM_2014/{name}_GroundTruth.txt")
        lines = [] if member is None else member.read().decode("utf-8", "replace").splitlines()
    for line in lines:
        yield html.unescape(line.split("\t", 2)[2]).replace("''", '"').strip()


def tests_of_rulesets() -> Iterator[str]:
    """The texts in the tests of the shipped rulesets, except where a test pins tags."""
    for path in shipped_rulesets().values():
        for rule in load(path).rules:
            for test in rule.metadata.tests:
                if not _PINNED.search(test.text):
                    yield test.text


def chosen(texts: Iterator[str], count: int) -> list[str]:
    """Draw ``count`` plain sentences at random, in the order given."""
    plain = [
        text
        for text in dict.fromkeys(texts)
        if len(text.split()) in _WORDS and not _STRANGE.search(text)
    ]
    drawn = set(sorted(plain, key=lambda text: blake2b(text.encode()).digest())[:count])
    return [text for text in plain if text in drawn]


if __name__ == "__main__":
    run(main)
