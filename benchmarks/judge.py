"""Shows what rules do to real text, so that a person can judge them.

In: rule files or folders, and the folder of data (the environment variable ``SEARS_DATA``, or
``../shared/data`` beside the repository). Out: for each rule the number of rows that it changes in
each corpus, and a seeded sample of its rewrites, each as the words around the edit:
``left [old → new] right``. Rules that change nothing are listed too.
At most ``--rows`` distinct rows of a corpus are drawn with the seed and counted. Most of the time
(minutes for all corpora) goes into tagging the rows that a rule may touch.

    python -m benchmarks.judge rulesets/discourse --sample 50 --corpus imdb rt books
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from benchmarks.gold import read_gold
from benchmarks.record import DATA, stop_without_data
from demo.reviews import ROOT, fetch
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.matches import Edit
from sears_dsl.language.loader import load
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Rule
from training.english_text import snippets

CONTEXT = 45
BATCH = 2000
SENTENCE_END = re.compile(r'(?<=[.?!])\s+(?=[A-Z"“])')


def lines(path: Path, *, encoding: str = "utf-8") -> Iterator[str]:
    """The lines of a file without their ends."""
    with path.open(encoding=encoding) as file:
        for line in file:
            yield line.rstrip("\n")


def after_tab(path: Path) -> Iterator[str]:
    """The second column of LABEL TAB TEXT lines."""
    return (line.split("\t", 1)[1] for line in lines(path) if "\t" in line)


def columns(path: Path, *places: int, skip: int = 0) -> Iterator[str]:
    """Some columns of a tab-separated file without quoting; ``skip`` lines are left out."""
    for line in islice(lines(path), skip, None):
        cells = line.split("\t")
        yield from (cells[place] for place in places if place < len(cells))


def squad_questions(path: Path) -> Iterator[str]:
    """Questions of a SQuAD file."""
    for article in json.loads(path.read_text("utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            yield from (question["question"] for question in paragraph["qas"])


def squad_sentences(path: Path) -> Iterator[str]:
    """Sentences of the paragraphs of a SQuAD file."""
    for article in json.loads(path.read_text("utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            yield from SENTENCE_END.split(paragraph["context"])


def treebank(folder: Path) -> Iterator[str]:
    """Sentences of the English Web Treebank."""
    for name in ("pos/en_ewt-ud-train.conllu", "pos/en_ewt-ud-dev.conllu"):
        marked = (line for line in lines(folder / name) if line.startswith("# text = "))
        yield from (line.removeprefix("# text = ") for line in marked)


def treebank_reviews(folder: Path) -> Iterator[str]:
    """Sentences of the English Web Treebank's reviews: of restaurants, shops, doctors."""
    for name in ("pos/en_ewt-ud-train.conllu", "pos/en_ewt-ud-dev.conllu"):
        sentences = read_gold(folder / name)[0]
        yield from (each.text for each in sentences if each.genre == "reviews")


def pairs_with_commas(path: Path) -> Iterator[str]:
    """Both sentences of each pair of a csv file."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            yield from row[:2]


def suite_sentences(folder: Path) -> Iterator[str]:
    """The sentences of CheckList's suite, including those of its templates."""
    for line in lines(folder / "checklist/sentiment_suite.jsonl"):
        waiting = [json.loads(line)["data"]]
        while waiting:
            value = waiting.pop()
            if isinstance(value, str):
                yield value
            elif isinstance(value, list):
                waiting.extend(reversed(value))


def duplicate_questions(folder: Path) -> Iterator[str]:
    """Both questions of each pair of the Quora development set."""
    for line in lines(folder / "paraphrase/qqp_dev.tsv"):
        yield from line.split("\t")[1:3]


CORPORA: dict[str, Callable[[Path], Iterator[str]]] = {
    "imdb": lambda folder: after_tab(folder / "sentiment/imdb.tsv"),
    "rt": lambda folder: after_tab(folder / "sentiment/rt.tsv"),
    "squad-q": lambda folder: squad_questions(folder / "squad/dev-v1.1.json"),
    "squad-c": lambda folder: squad_sentences(folder / "squad/dev-v1.1.json"),
    "vqa": lambda folder: (
        json.loads(line)["question"] for line in lines(folder / "vqa/vqa2_subset_train.jsonl")
    ),
    "trec": lambda folder: (
        line.split(" ", 1)[1]
        for line in lines(folder / "classify/trec_train.label", encoding="latin-1")
    ),
    "sms": lambda folder: after_tab(folder / "classify/sms_spam.tsv"),
    "qqp": duplicate_questions,
    "fluency": lambda folder: (
        line.split("\t")[0] for line in lines(folder / "fluency/wellformedness_train.tsv")
    ),
    "books": lambda folder: lines(folder / "throughput/classic_books.txt"),
}
"""The corpora that are read by default."""

MORE: dict[str, Callable[[Path], Iterator[str]]] = {
    "train-q": lambda folder: squad_questions(folder / "squad/train-v1.1-part.json"),
    "train-c": lambda folder: squad_sentences(folder / "squad/train-v1.1-part.json"),
    "ewt": treebank,
    "ewt-reviews": treebank_reviews,
    "films": lambda _: snippets(fetch(ROOT / ".cache"), "movieReviewSnippets"),
    "products": lambda _: snippets(fetch(ROOT / ".cache"), "amazonReviewSnippets"),
    "paws": lambda folder: columns(folder / "paraphrase/paws_wiki_dev.tsv", 1, 2),
    "sick": lambda folder: columns(folder / "paraphrase/sick_train.txt", 1, 2, skip=1),
    "mrpc": lambda folder: columns(folder / "paraphrase/msr_paraphrase_train.txt", 3, 4, skip=1),
    "stsb": lambda folder: pairs_with_commas(folder / "paraphrase/stsb_en_train.csv"),
    "fluency-dev": lambda folder: columns(folder / "fluency/wellformedness_dev.tsv", 0),
    "checklist": suite_sentences,
}
"""The corpora that are read on request, for rules that rarely fire."""


@dataclass(slots=True)
class Findings:
    """What one rule did: rows changed in each corpus, and every edit as a line to read."""

    rows: Counter[str] = field(default_factory=Counter)
    edits: list[tuple[str, str]] = field(default_factory=list)


def rows_of(corpus: str, folder: Path, *, limit: int, seed: int) -> list[str]:
    """Distinct non-empty rows of a corpus, at most ``limit``, in a seeded order."""
    texts = (CORPORA | MORE)[corpus](folder)
    rows = list(dict.fromkeys(row.strip() for row in texts if row.strip()))
    return rows if len(rows) <= limit else random.Random(seed).sample(rows, limit)


def shown(original: str, edits: Sequence[Edit]) -> str:
    """The first edit with some characters of the row on both sides."""
    edit = edits[0]
    left = original[max(0, edit.start - CONTEXT) : edit.start]
    right = original[edit.end : edit.end + CONTEXT]
    return f"{left}[{edit.old} → {edit.new}]{right}".replace("\n", " ")


def judge(paths: Sequence[Path], *, corpora: Sequence[str], limit: int, seed: int) -> Report:
    """Run every rule of the files over the corpora."""
    if not DATA.is_dir():
        stop_without_data(f"there is no folder {DATA} (set SEARS_DATA to that of the corpora)")
    rulesets = [load(path) for path in paths]
    ids = [rule_id for ruleset in rulesets for rule_id in ruleset.rule_ids]
    rules = [rule for ruleset in rulesets for rule in ruleset.rules]
    matcher = compile_rules(rulesets)
    findings: dict[int, Findings] = defaultdict(Findings)
    for corpus in corpora:
        rows = rows_of(corpus, DATA, limit=limit, seed=seed)
        print(f"{corpus}: {len(rows)} rows", file=sys.stderr)
        for start in range(0, len(rows), BATCH):
            for rewrite in matcher.apply(rows[start : start + BATCH]):
                of_rule = findings[rewrite.rule]
                of_rule.rows[corpus] += 1
                of_rule.edits.append((corpus, shown(rewrite.original, rewrite.edits)))
    return [(ids[k], rules[k], findings[k]) for k in range(len(rules))]


Report = list[tuple[str, Rule, Findings]]


def write(report: Report, *, sample: int, seed: int) -> None:
    """Print the report: a heading for each rule, its counts, its sample."""
    for rule_id, rule, findings in report:
        total = sum(findings.rows.values())
        counts = ", ".join(f"{corpus} {count}" for corpus, count in findings.rows.most_common())
        print(f"\n## {rule_id}  {total} rows ({counts or 'none'})\n   {print_rule(rule)}")
        chosen = random.Random(f"{seed} {rule_id}").sample(findings.edits, min(sample, total))
        for corpus, line in chosen:
            print(f"{corpus}: {line}")


def main() -> None:
    """Read the command line, run, print."""
    parser = argparse.ArgumentParser(description="Show what rules do to real text.")
    parser.add_argument("paths", nargs="+", type=Path, metavar="RULESET")
    parser.add_argument("--corpus", nargs="+", choices=[*CORPORA, *MORE], default=list(CORPORA))
    parser.add_argument("--rows", type=int, default=10_000, help="most rows of each corpus")
    parser.add_argument("--sample", type=int, default=50, help="rewrites to show for a rule")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    paths = [
        file
        for path in arguments.paths
        for file in (sorted(path.rglob("*.sear")) if path.is_dir() else [path])
    ]
    report = judge(paths, corpora=arguments.corpus, limit=arguments.rows, seed=arguments.seed)
    write(report, sample=arguments.sample, seed=arguments.seed)


if __name__ == "__main__":
    main()
