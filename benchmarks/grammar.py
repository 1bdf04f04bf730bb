"""How well the grammar tells English from tampered English, and how fast.

Method: (1) the available part of BLiMP: by paradigm, the share of pairs in which the bad sentence
surprises more, and the share in which the evidence against it as a rewrite is larger; (2) sentences
of kinds of text that the grammar was not trained on (IMDB, TREC, SMS), before and after rules that
readers rejected: the area under the ROC curve over all sentences, the share that reads worse, and
the evidence against rules that readers accepted; sentences of these kinds in which a reflexive or a
form of an irregular verb is exchanged: how often they read worse, and how often real sentences have
a word that is called wrong for sure; (3) questions that people rated; (4) words that no text has,
and other languages: how often real text is said to have them; (5) words a second of processor time.
All of it for the small network and for the deep one.
Bias: the part of BLiMP and the rejected rules were looked at while the edits of the training were
chosen, but nothing was trained on them. A rejected rule writes good English in some places.

    python -m benchmarks.grammar [--pairs 400]
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import re
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import sears_dsl
from benchmarks.record import Row, data_file, write_record
from sears_dsl.judge.grammar import GRAMMAR, UNKNOWN, Grammar, load_grammar
from sears_dsl.judge.mistakes import form_of, mistakes
from sears_dsl.runtime.kernels import ENOUGH_TO_COMPILE, expect
from sears_dsl.tagging.inflection import inflect
from sears_dsl.tagging.tagger import load_tagger

REJECTED = (
    "like -> as / (CC|NN|VBD) __",
    "not -> ~n't",
    "ADV much -> too much",
    "the -> <>",
    "CC ADJ -> ~, ADJ",
    "had -> got / __ (ADJ|DET|NUM)",
    "great -> big / AUX __",
    "it AUX -> is",
    "NN , IN -> NN IN",
)
_OF_A_RULE = 100
_REFLEXIVES = ("himself", "herself", "itself", "themselves")
_LOWER = re.compile(r"\b[a-z]+\b")
_LONGEST = 300
ACCEPTED = (
    "film -> movie",
    "movie -> film",
    "very -> really",
    "it 's -> it is",
    "do n't -> do not",
)


def area(bad: Sequence[float], good: Sequence[float]) -> float:
    """The chance that a bad one has the higher number; ties count half."""
    low, high = np.asarray(good), np.asarray(bad)
    both = np.concatenate([low, high])
    order = np.argsort(both, kind="stable")
    ranks = np.empty(len(both))
    values, start = both[order], 0
    while start < len(values):
        end = int(np.searchsorted(values, values[start], side="right"))
        ranks[order[start:end]] = (start + end + 1) / 2
        start = end
    total = ranks[len(low) :].sum() - len(high) * (len(high) + 1) / 2
    return float(total / (len(low) * len(high)))


def paradigms() -> dict[str, list[tuple[str, str]]]:
    """Good and bad sentences of BLiMP by paradigm."""
    pairs: dict[str, list[tuple[str, str]]] = {}
    with gzip.open(data_file("grammar/blimp_part.jsonl.gz"), "rt", encoding="utf-8") as file:
        for line in file:
            pair = json.loads(line)
            pairs.setdefault(pair["paradigm"], []).append((pair["good"], pair["bad"]))
    return pairs


def unseen() -> list[str]:
    """Sentences of kinds of text that the grammar was not trained on."""
    with data_file("sentiment/imdb.tsv").open(encoding="utf-8") as file:
        texts = [row[1] for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    lines = data_file("classify/trec_train.label").read_bytes().decode("latin-1").splitlines()
    texts += [line.partition(" ")[2] for line in lines]
    with data_file("classify/sms_spam.tsv").open(encoding="utf-8") as file:
        sms = [row[1] for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    return texts + sms


def rewrites(rule: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """The texts that a rule changes, with their rewrites."""
    records = sears_dsl.apply(list(texts), sears_dsl.parse(f"option case = exact\n{rule}\n"))
    return [(record["original"], record["rewritten"]) for record in records]


def minimal_pairs(grammar: Grammar, count: int) -> list[Row]:
    """How often the bad sentence of a minimal pair reads worse."""
    rows, means = [], []
    for name, every in paradigms().items():
        pairs = every[:count]
        good = grammar.surprise([pair[0] for pair in pairs])
        bad = grammar.surprise([pair[1] for pair in pairs])
        there = grammar.evidence(pairs)[:, :3].sum(1)
        back = grammar.evidence([(second, first) for first, second in pairs])[:, :3].sum(1)
        by_text = float((good < bad).mean())
        by_place = float((there > back).mean() + (there == back).mean() / 2)
        means.append((by_text, by_place))
        rows.append(Row(name, {"surprise": round(by_text, 3), "evidence": round(by_place, 3)}))
    by_text, by_place = np.mean(means, axis=0).round(4).tolist()
    return [*rows, Row("BLiMP, mean", {"surprise": by_text, "evidence": by_place})]


def rejected_rules(grammar: Grammar, texts: Sequence[str]) -> list[Row]:
    """Sentences of unseen kinds of text before and after a rule."""
    rows = []
    good: list[float] = []
    bad: list[float] = []
    against: dict[bool, list[float]] = {True: [], False: []}
    for rule in (*REJECTED, *ACCEPTED):
        pairs = rewrites(rule, texts)[:_OF_A_RULE]
        if not pairs:
            continue
        before = grammar.surprise([pair[0] for pair in pairs])
        after = grammar.surprise([pair[1] for pair in pairs])
        evidence = grammar.evidence(pairs)
        rows.append(
            Row(
                rule,
                {
                    "pairs": len(pairs),
                    "area over sentences": round(area(after.tolist(), before.tolist()), 3),
                    "worse": round(float((after > before).mean()), 3),
                    "no evidence": round(float((evidence[:, 0] == 0).mean()), 3),
                    **dict(zip(GRAMMAR, evidence.mean(0).round(2).tolist(), strict=True)),
                },
            )
        )
        place = evidence[:, 0] + UNKNOWN * evidence[:, GRAMMAR.index("unknown_words")]
        against[rule in REJECTED] += place.tolist()
        if rule in REJECTED:
            good += before.tolist()
            bad += after.tolist()
    worse = np.asarray(bad) > np.asarray(good)
    rows.append(
        Row(
            "rejected rules",
            {
                "pairs": len(good),
                "area over sentences": round(area(bad, good), 3),
                "worse": round(float(worse.mean()), 3),
                "area of evidence against accepted rules": round(
                    area(against[True], against[False]), 3
                ),
            },
        )
    )
    return rows


def exchanges(texts: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Sentences with a reflexive or a form of an irregular verb, and the same with another form."""
    pairs: dict[str, list[tuple[str, str]]] = {"reflexive": [], "past": [], "participle": []}
    for text in texts:
        for match in _LOWER.finditer(text):
            word = match.group()
            kind = "reflexive" if word in _REFLEXIVES else form_of(word)
            if kind and len(text) < _LONGEST:
                others = [each for each in _REFLEXIVES if each != word]
                other = others[len(text) % len(others)] if kind == "reflexive" else _other(word)
                if other:
                    rewrite = text[: match.start()] + other + text[match.end() :]
                    pairs[kind].append((text, rewrite))
                    break
    return pairs


def _other(word: str) -> str:
    """The participle for a past form, and the reverse; "" where there are several."""
    own, wanted = ("VBD", "VBN") if form_of(word) == "past" else ("VBN", "VBD")
    forms = inflect(word, own, wanted).forms
    return forms[0] if len(forms) == 1 and forms[0] != word else ""


def exchanged(grammar: Grammar, texts: Sequence[str], count: int) -> list[Row]:
    """How often real sentences read worse after one form was exchanged."""
    rows = []
    for kind, pairs in exchanges(texts).items():
        some = pairs[:count]
        before = grammar.surprise([pair[0] for pair in some])
        after = grammar.surprise([pair[1] for pair in some])
        tagger = load_tagger("fast")
        share, share_of_real = (
            len(mistakes(tagger.tokenize(each), tagger)) / max(1, len(pairs))
            for each in ([pair[1] for pair in pairs], [pair[0] for pair in pairs])
        )
        rows.append(
            Row(
                f"{kind} exchanged",
                {
                    "pairs": len(some),
                    "worse": round(float((after > before).mean()), 3),
                    "sentences": len(pairs),
                    "wrong for sure": round(share, 3),
                    "real ones said to be": round(share_of_real, 4),
                },
            )
        )
    return rows


def rated(grammar: Grammar) -> list[Row]:
    """How questions that people rated badly formed and well formed are told apart."""
    with data_file("fluency/wellformedness_dev.tsv").open(encoding="utf-8") as file:
        lines = [line.rstrip("\n").rsplit("\t", 1) for line in file]
    rating = np.array([float(line[1]) for line in lines])
    surprise = grammar.surprise([line[0] for line in lines])
    separation = area(surprise[rating <= 0.2].tolist(), surprise[rating >= 0.8].tolist())
    return [Row("questions rated badly formed against well formed", {"area": round(separation, 3)})]


def words_and_languages(grammar: Grammar, texts: Sequence[str]) -> list[Row]:
    """How often real text has unknown words, and looks English."""
    unknown = [text.unknown for text in grammar._read(texts)]
    strange = [word for words in unknown for word in words]
    rows = [
        Row(
            "unknown words in real text",
            {
                "texts": len(texts),
                "with one": round(sum(map(bool, unknown)) / len(unknown), 4),
                "some": " ".join(strange[:400:10]),
            },
        )
    ]
    for name in ("en_ewt-ud-dev", "pt_bosque-ud-dev", "pt_gsd-ud-dev"):
        lines = data_file(f"pos/{name}.conllu").read_text("utf-8").splitlines()
        some = [line[9:] for line in lines if line.startswith("# text = ")]
        share = sum(map(grammar.looks_english, some)) / len(some)
        rows.append(Row(f"{name} looks English", {"texts": len(some), "share": round(share, 4)}))
    share = sum(map(grammar.looks_english, texts)) / len(texts)
    return [*rows, Row("IMDB, TREC, SMS look English", {"share": round(share, 4)})]


def speed(grammar: Grammar, texts: Sequence[str]) -> list[Row]:
    """Words read in a second of processor time."""
    words = sum(len(text.numbers) for text in grammar._read(texts))
    rows = []
    for count in (len(texts), 1):
        some = texts[:count] if count > 1 else texts[:1]
        grammar.surprise(some)
        grammar.forget()
        start, used = time.perf_counter(), time.process_time()
        grammar.surprise(some)
        wall, cpu = time.perf_counter() - start, time.process_time() - used
        windows = words if count > 1 else len(grammar._read(some)[0].numbers)
        rows.append(
            Row(
                f"{count} texts a call",
                {"windows/s of CPU time": round(windows / cpu), "ms": round(wall * 1000, 2)},
            )
        )
    return rows


def main() -> None:
    """Measure all and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=400, help="pairs of each paradigm of BLiMP")
    options = parser.parse_args()
    expect(ENOUGH_TO_COMPILE + 1)
    texts = unseen()
    rows = words_and_languages(load_grammar(deep=False), texts[:3000])
    for name, deep in (("small", False), ("deep", True)):
        grammar = load_grammar(deep=deep)
        measured = [
            *minimal_pairs(grammar, options.pairs),
            *rejected_rules(grammar, texts[:5000]),
            *exchanged(grammar, texts, options.pairs),
            *rated(grammar),
            *speed(grammar, texts[:500]),
        ]
        rows += [replace(row, name=f"{name}: {row.name}") for row in measured]
    write_record("grammar", rows)


if __name__ == "__main__":
    main()
