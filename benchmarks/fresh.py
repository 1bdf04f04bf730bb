"""Fresh text, file to file, by the fast tagger, against spaCy's pipe + Matcher + splice.

Method: JSON lines of film reviews, questions and 200,000 book sentences, and the shipped rules that
spaCy's Matcher can express: all at once, then theme by theme. Theirs reads the file, runs
`nlp.pipe` and the Matcher, splices the leftmost hit of each rule, and writes JSON lines. Ours is
`apply_file` on the same file; its records hold more (ids, edits). With two processes our time
includes starting them and compiling the rules in each; theirs does not include its start.
Verified: on every row that theirs is run on, our records are those that the Matcher gives with
*our* tags (so matching and rendering agree exactly); on rows where both taggers agree in all tokens
and tags, they are theirs.
Bias: theirs reads the file, then runs on every `EVERY`-th row, which counts so many times. The rows
are new to the process, which has seen `WARM` other sentences before, but they repeat words, as text
does. Where a row costs little, reading and writing count most; theirs writes lighter records. A
third of the books' sentences were in the tagger's training, which does not change its speed.
"""

from __future__ import annotations

import gc
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spacy.tokens import Doc

import sears_dsl as sears
from benchmarks.public_sentences import sentences
from benchmarks.record import Row, data_file, read_options, write_record
from benchmarks.spacy_way import Workload
from sears_dsl.batch.files import ApplyRequest, apply_file
from sears_dsl.batch.workers import RulesetRecipe
from sears_dsl.catalogue import shipped_rulesets
from sears_dsl.tagging.fast.fast_tagger import FastTagger

MOST = 200_000  # book sentences
EVERY = 72
WARM = 3_000

Rewritten = set[tuple[int, int, str]]


def _texts() -> tuple[list[str], list[str]]:
    """Rows, and rows for warming up; spaCy makes white-space runs tokens, so there are none."""
    novels = data_file("throughput/classic_books.txt").read_text("utf-8").splitlines()
    texts = sentences(books=0) + [" ".join(line.split()) for line in novels[-MOST - WARM :]]
    texts = [text for text in dict.fromkeys(texts) if text]
    return texts[:-WARM], texts[-WARM:]


def _write(path: Path, texts: Sequence[str]) -> Path:
    lines = (json.dumps({"id": row, "text": text}) for row, text in enumerate(texts))
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def _theirs(work: Workload, source: Path, target: Path, every: int) -> tuple[float, Rewritten]:
    """Seconds for all rows, and the rewrites of some of them."""
    gc.collect()
    start = time.perf_counter()
    lines = source.read_text("utf-8").splitlines()
    reading = time.perf_counter() - start  # the whole file, so it is not multiplied
    start = time.perf_counter()
    rows = [json.loads(line) for line in lines[::every]]
    rewrites = work.baseline.run([row["text"] for row in rows])
    with target.open("w", encoding="utf-8") as file:
        for row, rule, text in sorted(rewrites):
            file.write(json.dumps([rows[row]["id"], rule, text]) + "\n")
    took = reading + (time.perf_counter() - start) * every
    return took, {(rows[row]["id"], rule, text) for row, rule, text in rewrites}


def _ours(work: Workload, source: Path, target: Path, *, jobs: int = 1) -> tuple[float, Rewritten]:
    request = ApplyRequest(
        recipe=RulesetRecipe(tuple(work.ours), tagger="fast"),
        input=str(source),
        output=str(target),
        columns=("text",),
        jobs=jobs,
    )
    gc.collect()
    start = time.perf_counter()
    apply_file(request)
    took = time.perf_counter() - start
    names = [name for ruleset in work.ours for name in ruleset.rule_ids]
    numbers = {name: number for number, name in enumerate(names)}
    records = map(json.loads, target.read_text("utf-8").splitlines())
    return took, {(int(r["id"]), numbers[r["rule"]], r["rewritten"]) for r in records}


class _Check:
    """The sampled rows, tagged by both taggers."""

    def __init__(self, texts: Sequence[str], every: int, vocab: Any, docs: Sequence[Doc]) -> None:
        self.rows = range(0, len(texts), every)
        self.texts = [texts[row] for row in self.rows]
        tokens = FastTagger().tag(self.texts)
        self.docs = []
        agreeing = []
        for place, (text, theirs) in enumerate(zip(self.texts, docs, strict=True)):
            row = tokens.row(place)
            ends = [token.end for token in row]
            spaces = [end < len(text) and text[end] == " " for end in ends]
            words, fine = [token.text for token in row], [token.fine for token in row]
            coarse = [token.coarse for token in row]
            self.docs.append(Doc(vocab, words=words, spaces=spaces, tags=fine, pos=coarse))
            if [(t.text, t.tag_, t.pos_) for t in theirs] == list(
                zip(words, fine, coarse, strict=True)
            ):
                agreeing.append(self.rows[place])
        self.agreeing = frozenset(agreeing)

    def holds(self, work: Workload, ours: Rewritten, theirs: Rewritten) -> bool:
        """Whether our rewrites are right on the rows that can be compared."""
        rewrites = work.baseline.rewrites(self.texts, self.docs)
        by_matcher = {(self.rows[row], rule, text) for row, rule, text in rewrites}
        sampled = set(self.rows)
        mine = {rewrite for rewrite in ours if rewrite[0] in sampled}
        same = {rewrite for rewrite in mine if rewrite[0] in self.agreeing}
        return mine == by_matcher and same == {r for r in theirs if r[0] in self.agreeing}


def main() -> None:
    """Run and record."""
    texts, warm = _texts()
    names = [
        name
        for name in shipped_rulesets()
        if not name.startswith(("noise/", "paper/", "rejected/"))
    ]
    rulesets = {name: sears.load(shipped_rulesets()[name]) for name in names}
    fast = FastTagger()
    tokens = len(fast.tokenize(texts).starts)
    rows = [Row("text", {"rows": len(texts), "tokens": tokens})]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = _write(folder / "rows.jsonl", texts)
        warming = _write(folder / "warm.jsonl", warm)
        target = folder / "out.jsonl"

        everything = Workload(list(rulesets.values()), fast)
        _ours(everything, warming, target)
        one, records = _ours(everything, source, target)
        two, again = _ours(everything, source, target, jobs=2)
        everything.baseline.run(warm[:50])
        theirs, expected = _theirs(everything, source, target, EVERY)
        docs = list(everything.baseline.nlp.pipe(texts[::EVERY]))
        check = _Check(texts, EVERY, everything.baseline.nlp.vocab, docs)
        right = check.holds(everything, records, expected) and records == again
        rows.append(
            Row(
                "all rulesets at once, one process",
                {
                    "rules": everything.share,
                    "records": len(records),
                    "times": round(theirs / one, 1),
                    "tokens a second of ours": round(tokens / one, -3),
                    "verified": "yes" if right else "NO",
                    "rows where both taggers agree": f"{len(check.agreeing) / len(check.rows):.0%}",
                },
                at_least="30×",
                reached=right and theirs / one >= 30,
            )
        )
        rows.append(
            Row(
                "all rulesets at once, two processes",
                {"times": round(theirs / two, 1), "against one": round(one / two, 2)},
                at_least="50×",
                reached=theirs / two >= 50,
            )
        )
        ones, twos = [], []
        for theme in sorted({name.split("/")[0] for name in names}):
            work = Workload([rulesets[n] for n in names if n.startswith(theme)], fast)
            if not any(work.ours):
                continue  # the Matcher can express none of its rules
            _ours(work, warming, target)
            one, records = _ours(work, source, target)
            two, again = _ours(work, source, target, jobs=2)
            work.baseline.run(warm[:50])
            theirs, expected = _theirs(work, source, target, EVERY)
            part = _Check(texts, EVERY, work.baseline.nlp.vocab, docs)
            right = part.holds(work, records, expected) and records == again
            ones.append(theirs / one)
            twos.append(theirs / two)
            figures: dict[str, float | int | str] = {
                "rules": work.share,
                "records": len(records),
                "times, one process": round(theirs / one, 1),
                "two processes": round(theirs / two, 1),
                "verified": "yes" if right else "NO",
            }
            rows.append(Row(theme, figures, reached=right))
    for processes, ratios, wanted in (("one process", ones, 30), ("two processes", twos, 50)):
        rows.append(
            Row(
                f"a theme at a time, {processes}: median",
                {"times": round(statistics.median(ratios), 1)},
                at_least=f"{wanted}×",
                reached=statistics.median(ratios) >= wanted,
            )
        )
    write_record("fresh", rows)


if __name__ == "__main__":
    read_options(__doc__)
    main()
