"""The shipped rulesets over 10,605 real movie-review sentences: what fires, and how fast.

Run by ``make demo``. The sentences (Rotten Tomatoes snippets, MIT licence) are part of the source
package of vaderSentiment. pip fetches it by name once; its hash is checked, and it stays in
.cache/. Prints for each ruleset the rules that changed most rows, with two examples each. Writes
every rule with its examples to demo-output/rules.txt, and all rewrites to demo-output/rewrites.csv.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import subprocess
import sys
import tarfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from rich.console import Console
from rich.text import Text

import sears_dsl as sears
from sears_dsl.catalogue import shipped_rulesets
from sears_dsl.cli.screen.console import console, excerpt, mark_changes
from sears_dsl.runtime.files import write_atomically

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "vaderSentiment==3.3.2"
SHA256 = "5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9"
MEMBER = "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt"
SENTENCES = 10_605

# Rules that people refused when the paper's authors asked them, shipped as examples of that, and
# rules that damage a text on purpose.
LEFT_OUT = ("rejected", "noise")


def fetch(folder: Path) -> Path:
    """The source archive, from the folder or by package name; its hash is checked either way."""
    archive = folder / "vaderSentiment-3.3.2.tar.gz"
    if not archive.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                   "--disable-pip-version-check", "--no-binary", ":all:", "--dest", str(folder),
                   PACKAGE]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode or not archive.exists():
            sys.exit(f"{PACKAGE} could not be fetched by pip:\n{done.stderr.strip()}")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != SHA256:
        archive.unlink()
        sys.exit(
            f"{archive.name} is not the file it should be (sha256 {digest}); removed, try again"
        )
    return archive


def read_sentences(archive: Path) -> list[str]:
    """The sentences, in file order."""
    return [sentence for sentence, _ in read_rated(archive)]


def read_rated(archive: Path) -> list[tuple[str, float]]:
    """The sentences with people's mean rating, from -4 to 4, in file order."""
    with tarfile.open(archive) as outer:
        name = next(n for n in outer.getnames() if n.endswith("hutto_ICWSM_2014.tar.gz"))
        inner = outer.extractfile(name)
        if inner is None:
            sys.exit(f"{archive.name} holds no {name}")
        with tarfile.open(fileobj=io.BytesIO(inner.read())) as files:
            member = files.extractfile(MEMBER)
            if member is None:
                sys.exit(f"{name} holds no {MEMBER}")
            lines = member.read().decode("utf-8").splitlines()
    rows = [line.split("\t", 2) for line in lines if line]
    sentences = [(sentence, float(rating)) for _, rating, sentence in rows]
    if len(sentences) != SENTENCES:
        sys.exit(f"expected {SENTENCES:,} sentences, found {len(sentences):,}")
    return sentences


def main() -> None:
    """Fetch, compile, apply, show."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--top", type=int, default=3, help="rules shown for each ruleset")
    top = parser.parse_args().top
    out = console()

    sentences = read_sentences(fetch(ROOT / ".cache"))
    loaded = {
        name: sears.load(file)
        for name, file in shipped_rulesets().items()
        if name.partition("/")[0] not in LEFT_OUT
    }
    # Templates have sentences of their own and change none of these.
    rulesets = {name: ruleset for name, ruleset in loaded.items() if len(ruleset)}
    rules = sum(len(ruleset.rules) for ruleset in rulesets.values())
    out.print(f"{len(sentences):,} sentences, {len(rulesets)} rulesets, {rules} rules\n")

    clock = [time.perf_counter()]
    matcher = sears.compile_rules(list(rulesets.values()))
    clock.append(time.perf_counter())
    matcher.apply(sentences[:50])  # loads the tagger's weights and the kernels
    clock.append(time.perf_counter())
    rewrites = matcher.apply(sentences)
    clock.append(time.perf_counter())
    compiling, loading, applying = (after - before for before, after in pairwise(clock))

    report = show(out, matcher, rulesets, rewrites, top=top)
    folder = ROOT / "demo-output"
    folder.mkdir(exist_ok=True)
    write_atomically(folder / "rules.txt", report.encode())
    write_atomically(folder / "rewrites.csv", as_csv(matcher, rewrites).encode())

    tokens = len(matcher.tagger.tokenize(sentences).type_ids)
    rows = len({rewrite.row for rewrite in rewrites})
    fired = len({rewrite.rule for rewrite in rewrites})
    out.print(f"{len(rewrites):,} rewrites of {rows:,} sentences by {fired} rules")
    out.print(f"compiled in {compiling:.2f} s; tagger and kernels loaded in {loading:.2f} s")
    out.print(
        f"{tokens:,} tokens in {applying:.2f} s, raw text to rewritten text: "
        f"{tokens / applying:,.0f} tokens/s"
    )
    out.print("every rule and every rewrite: demo-output/rules.txt, demo-output/rewrites.csv")


def show(
    out: Console,
    matcher: sears.Matcher,
    rulesets: Mapping[str, sears.Ruleset],
    rewrites: Sequence[sears.Rewrite],
    *,
    top: int,
) -> str:
    """Print the rules of each ruleset that changed most rows; returns all of them as text."""
    by_rule = defaultdict(list)
    for rewrite in rewrites:
        by_rule[rewrite.rule].append(rewrite)
    report: list[str] = []
    first = 0
    for name, ruleset in rulesets.items():
        ids = range(first, first + len(ruleset.rules))
        first = ids.stop
        ranked = sorted((k for k in ids if k in by_rule), key=lambda k: -len(by_rule[k]))
        rows = len({rewrite.row for k in ranked for rewrite in by_rule[k]})
        fired = f"{len(ranked)} of {len(ids)} rules fire, {rows:,} sentences change"
        out.print(Text.assemble((name, "bold"), f"  {fired}"))
        report.append(f"# {name}: {fired}\n")
        for place, k in enumerate(ranked):
            line = f"{len(by_rule[k]):>7,}  {matcher.rule_ids[k]}"
            examples = by_rule[k][:2]
            whole = (mark_changes(each.original, each.edits).plain for each in examples)
            report += [line, *(f"         {text}" for text in whole)]
            if place < top:
                out.print(Text(line))
                for each in examples:
                    short = excerpt(each.original, each.edits, width=100)
                    out.print(Text.assemble("         ", short))
        if len(ranked) > top:
            out.print(f"         … and {len(ranked) - top} more", style="dim")
        out.print()
        report.append("")
    return "\n".join(report)


def as_csv(matcher: sears.Matcher, rewrites: Sequence[sears.Rewrite]) -> str:
    """Every rewrite as a line: row, rule, original, rewritten."""
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["row", "rule", "original", "rewritten"])
    for r in rewrites:
        writer.writerow([r.row, matcher.rule_ids[r.rule], r.original, r.text])
    return table.getvalue()


if __name__ == "__main__":
    main()
