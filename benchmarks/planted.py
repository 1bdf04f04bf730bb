"""Does `sears discover` find bugs that were planted, and nothing where no bug can be?

A plant is a harmless rewording (*story → tale*) that is a bug in a model: the model answers
otherwise wherever the new form stands. `planted.tsv` lists plants for four kinds of text: the old
and the new form as regular expressions (case does not count), and both in words. They were written
by looking at the texts alone, before any rule. Each old form is in at least 8 of the 600 rows.

    python -m benchmarks.planted                    searches for the plants of every kind
    python -m benchmarks.planted --kind questions --list others.tsv
    python -m benchmarks.planted --no-search        counts again what the last searches found

A model is the linear one of `quality_models` with at most eight plants. `sears discover` runs from
a shell with its default settings on 600 rows. Only the paraphrases, the greater part of its time,
are given: the package makes them once for all models of a kind (`.cache/planted/KIND.jsonl`, if it
is missing), and they are those that each search would make. Afterwards, a plant is

- found: a rule of the file is for it. That means that the rule flips right rows, and at least half
  of its flips have the plant's new form, which their rows lack;
- closest: only a rule among those that came closest is for it;
- left out: the judge lets a rule for it pass, or readers have, but the rule flips too few of the
  searched rows, or others flip more;
- refused: the search proposes rules for it, and the judge lets none of them pass;
- never proposed: there is no rule for it.

The last three are told apart by asking the package once more what it proposes, and how it judges
that. Here a rule is for a plant if at least half of its rewrites of searched rows have the new
form.

The control, on the first kind of text, answers by a column that rules leave alone, and wrongly in
a quarter of the rows. No rule may come out.

Bias: the models also have the mistakes that they learned. Rules about these are for no plant, and
compete for the places in the file. Three writers thought of all plants, and often of the same.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Literal, get_args

import joblib

from benchmarks.discovery_quality import CELLS
from benchmarks.quality_models import TRAINERS, Model
from benchmarks.record import ROOT, Row, write_record
from sears_dsl.defaults import DEFAULT_SCORER, DEFAULT_TAGGER
from sears_dsl.discovery.candidates import CandidateRule, Candidates
from sears_dsl.discovery.filtering.text_filter import Corpus, RuleJudge
from sears_dsl.discovery.known_rules import load_known
from sears_dsl.discovery.proposing.changes import single_changes
from sears_dsl.discovery.proposing.proposal import propose
from sears_dsl.discovery.proposing.synonyms import propose_synonyms, without_listed
from sears_dsl.discovery.selection import words_replaced
from sears_dsl.discovery.settings import Settings
from sears_dsl.effects.lots import hold_out, lots
from sears_dsl.language.loader import load, parse
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Literal as Word
from sears_dsl.language.rule import Rule
from sears_dsl.meaning.scorers import Pair, spread_of
from sears_dsl.paraphrasing.memory import RememberedScorer, remembered_paraphrases
from sears_dsl.paraphrasing.team import Recipe, Team
from sears_dsl.runtime.database import RunJournal
from sears_dsl.tagging.tagger import load_tagger
from sears_dsl.tagging.tokens import cut_contractions

PLANTS = ROOT / "benchmarks" / "planted.tsv"
RUNS = ROOT / ".cache" / "planted"
KINDS = {"films": "imdb", "questions": "trec", "messages": "sms", "products": "products"}
"""Kinds of text, and their names among the cells of `discovery_quality`."""

Outcome = Literal["found", "closest", "left out", "refused", "never proposed"]

_ROWS = 600
_PLANTS_A_MODEL = 8
_SHARE = 0.5
_WRONG = 0.25  # share of the rows that the control has wrong
_WITH_BUGS = """\
import joblib
from benchmarks.planted import ModelWithBugs

predict = ModelWithBugs(*joblib.load("model.joblib")).predict
"""
_WITHOUT_BUGS = """\
def predict(rows):
    return [row["answer"] for row in rows]
"""


@dataclass(frozen=True, slots=True)
class Plant:
    """A line of the list."""

    kind: str
    old: str
    new: str
    words: str

    def explains(self, original: str, rewritten: str) -> bool:
        """Whether the rewrite has the new form, and its row has not."""
        return _has(self.new, rewritten) and not _has(self.new, original)


def _has(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def read_plants(path: Path) -> list[Plant]:
    """The plants of a list."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [Plant(**line) for line in lines]


@dataclass(frozen=True, slots=True)
class ModelWithBugs:
    """A model that gives the next label wherever the new form of a plant stands."""

    model: Model
    labels: Sequence[str]
    new: Sequence[str]

    def predict(self, texts: Sequence[str]) -> list[str]:
        """The answers to these texts."""
        next_label = dict(zip(self.labels, [*self.labels[1:], self.labels[0]], strict=True))
        answers = self.model.predict(list(texts)) if texts else []
        return [
            next_label[answer] if any(_has(new, text) for new in self.new) else answer
            for text, answer in zip(texts, answers, strict=True)
        ]


# ---------------------------------------------------------------- search


@dataclass(frozen=True, slots=True)
class Search:
    """A search for the plants of a model; the folder holds all that it reads and writes."""

    folder: Path
    model: ModelWithBugs
    plants: list[Plant]
    rows: list[tuple[str, str]]  # texts and labels

    def run(self, paraphrases: Path) -> None:
        """Search with the default settings."""
        self.folder.mkdir(parents=True, exist_ok=True)
        model = self.model
        joblib.dump((model.model, model.labels, model.new), self.folder / "model.joblib")
        rows = [{"text": text, "label": label} for text, label in self.rows]
        _discover(self.folder, _WITH_BUGS, rows, paraphrases)


def searches(kind: str, plants: Sequence[Plant], folder: Path) -> list[Search]:
    """The searches for the plants of a kind of text."""
    cell = next(each for each in CELLS if each.kind == KINDS[kind])
    texts = cell.texts(0)
    rows = [(row[cell.column], gold[0]) for row, gold in texts.rows[:_ROWS]]
    model, labels = TRAINERS["linear"](*texts.learned), sorted(set(texts.learned[1]))
    of_kind = [each for each in plants if each.kind == kind]
    parts = [
        of_kind[first : first + _PLANTS_A_MODEL]
        for first in range(0, len(of_kind), _PLANTS_A_MODEL)
    ]
    return [
        Search(
            folder / f"{kind}-{number}",
            ModelWithBugs(model, labels, [each.new for each in part]), part, rows,
        )
        for number, part in enumerate(parts, start=1)
    ]  # fmt: skip


def _discover(
    folder: Path, code: str, rows: Sequence[Mapping[str, str]], paraphrases: Path, *options: str
) -> None:
    (folder / "under_test.py").write_text(code, "utf-8")
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text("".join(lines), "utf-8")
    words = ["discover", "--model", "under_test:predict", "--data", "rows.jsonl", "--column"]
    words += ["text", "--label", "label", "-o", "found.sear", "--jobs", "1", "--restart", "--yes"]
    words += ["--paraphrases", str(paraphrases)]
    program = [sys.executable, "-c", "from sears_dsl.cli.main import main; main()"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([*program, *words, *options], cwd=folder, check=True, env=environment)


def search_without_bugs(folder: Path, rows: Sequence[tuple[str, str]], paraphrases: Path) -> None:
    """Search a model that answers by a column of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    wrong = lots([text for text, _ in rows], "wrong") < _WRONG
    answering = [
        {"text": text, "label": label, "answer": "none" if is_wrong else label}
        for (text, label), is_wrong in zip(rows, wrong.tolist(), strict=True)
    ]
    _discover(folder, _WITHOUT_BUGS, answering, paraphrases, "--also", "answer")


# ---------------------------------------------------------------- count


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A rule, and some rows with what it makes of them."""

    rule: CandidateRule
    pairs: list[Pair]

    def is_for(self, plant: Plant) -> bool:
        """Whether at least half of the rewrites have the plant's new form anew."""
        explained = sum(plant.explains(*pair) for pair in self.pairs)
        return explained > 0 and explained >= _SHARE * len(self.pairs)


class Package:
    """What the package proposes for rows and how it judges that, asked apart from any search."""

    def __init__(self) -> None:
        self._tagger = load_tagger(DEFAULT_TAGGER)
        self._team = Team(Recipe(scorer=DEFAULT_SCORER), jobs=1)
        self._scorer = RememberedScorer(self._team, RunJournal(None, task="planted"))

    @cached_property
    def known(self) -> list[CandidateRule]:
        """The rules that a search tries before all others, and can write to a file."""
        known = load_known(tagger=self._tagger)
        if known is None:
            sys.exit("planted: the package has no rules")
        columns = zip(known.rules, known.sources, known.scopes, known.writable, strict=True)
        return [
            CandidateRule(rule, source=source, scope=scope)
            for rule, source, scope, writable in columns
            if writable
        ]

    def read(self, text: str) -> CandidateRule:
        """The rule of this canonical text, known or new."""
        known = next((each for each in self.known if print_rule(each.rule) == text), None)
        return known or CandidateRule(parse(text).rules[0])

    def apply(self, rules: Sequence[CandidateRule], texts: Sequence[str]) -> list[Rewriting]:
        """What each rule makes of these texts."""
        tokens = cut_contractions(self._tagger.tag(texts))
        applied = Candidates(tuple(rules)).apply(tokens, tagger=self._tagger).applications
        return [
            Rewriting(rule, applied.pairs(applied.of_rule(number)))
            for number, rule in enumerate(rules)
        ]

    def paraphrases(self, texts: Sequence[str], path: Path) -> dict[str, list[str]]:
        """The paraphrases of texts, kept in a file that ``--paraphrases`` takes."""
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            show = partial(print, "paraphrased:", file=sys.stderr, flush=True)
            with RunJournal(None, task="planted") as journal:
                reworded = remembered_paraphrases(self._team, texts, journal, on_portion=show)
            pairs = zip(texts, reworded, strict=True)
            lines = [json.dumps({"original": text, "paraphrases": some}) for text, some in pairs]
            path.write_text("\n".join(lines) + "\n", "utf-8")
        parsed = map(json.loads, path.read_text("utf-8").splitlines())
        return {each["original"]: each["paraphrases"] for each in parsed}

    def proposed(
        self, texts: Sequence[str], paraphrases: Mapping[str, Sequence[str]]
    ) -> list[CandidateRule]:
        """The changes of words that a search of these texts proposes."""
        rewordings = single_changes(
            texts, [paraphrases[each] for each in texts], tagger=self._tagger
        )
        tokens, settings = cut_contractions(self._tagger.tag(texts)), Settings()
        least = max(settings.flips(len(texts)) / len(texts), settings.minimum_frequency)
        listed = propose_synonyms(tokens, tagger=self._tagger, least=settings.flips(len(texts)))
        mined = [
            candidate
            for context, accepts in ((0, _names_words), (1, _adds_words))
            for candidate in propose(
                rewordings, tokens, tagger=self._tagger, context=context, minimum_frequency=least,
                accepts=accepts,
            ).rows
        ]  # fmt: skip
        return [*without_listed(Candidates(tuple(mined)), listed).rows, *listed.rows]

    def corpus(self, texts: Sequence[str], held_out: Iterable[str]) -> Corpus:
        """The text that rules are judged on."""
        return Corpus.of(texts, tagger=self._tagger, without=frozenset(held_out))

    def judge(self, rules: Sequence[CandidateRule], corpus: Corpus) -> CandidateRule:
        """Of these rules and their narrowed forms the one with the highest bound."""
        judge = RuleJudge(
            corpus, scorer=self._scorer, tau=self._scorer.tau, delta=Settings().delta,
            spread=spread_of(self._team),
        )  # fmt: skip
        judged = judge.judge_rules(Candidates(tuple(rules)))
        return max(judged.passed.rows or judged.failed.rows, key=_bound)

    def why_not_found(self, rules: Sequence[CandidateRule], corpus: Corpus) -> tuple[Outcome, str]:
        """What the search lacked, by the rules that are for a plant; and the best of them."""
        if not rules:
            return "never proposed", ""
        known = [each for each in rules if each.source]
        best = known[0] if known else self.judge(rules, corpus)
        passed = known or (best.judged is not None and best.judged.passed)
        bound = "known" if known else f"bound {_bound(best):.0%}"
        return "left out" if passed else "refused", f"{print_rule(best.rule)} ({bound})"


def _bound(rule: CandidateRule) -> float:
    return rule.judged.low if rule.judged else 0.0


def _names_words(rule: Rule) -> bool:
    return all(isinstance(each.body, Word) for each in rule.antecedent)


def _adds_words(rule: Rule) -> bool:
    return len(rule.antecedent) == 1 and _names_words(rule) and not words_replaced(rule)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a plant.

    Attributes:
        plant: the plant.
        outcome: whether a rule for it was found, and if not, why.
        rows: how many searched rows have its old form.
        rules: the rules for it, or the best one that was not found.
    """

    plant: Plant
    outcome: Outcome
    rows: int
    rules: str


def searched_and_held_out(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """The texts that a search with default settings sees, and the others."""
    settings = Settings()
    parts = hold_out(texts, seed=settings.seed, share=settings.share_held_out(len(texts)))
    searched, held_out = ([texts[place] for place in part] for part in parts)
    return searched, held_out


def flips(
    rewritings: Iterable[Rewriting], model: ModelWithBugs, labels: Mapping[str, str]
) -> list[Rewriting]:
    """Of each rule the pairs that the model gets wrong after it; ``labels`` has the right rows."""
    return [
        Rewriting(each.rule, [
            pair
            for pair, answer in zip(
                each.pairs, model.predict([text for _, text in each.pairs]), strict=True
            )
            if answer != labels[pair[0]]
        ])
        for each in rewritings
    ]  # fmt: skip


def results(
    search: Search, package: Package, paraphrases: Mapping[str, Sequence[str]]
) -> tuple[list[Result], int]:
    """What became of each plant, and how many rules of the file are for none of them."""
    every_text = [text for text, _ in search.rows]
    answers = search.model.predict(every_text)
    right = dict(row for row, answer in zip(search.rows, answers, strict=True) if answer == row[1])
    searched, held_out = searched_and_held_out(list(right))
    ruleset = load(search.folder / "found.sear")
    manifest = json.loads((search.folder / "found.manifest.json").read_text("utf-8"))
    found, closest = (
        flips(package.apply(rules, list(right)), search.model, right)
        for rules in (
            [CandidateRule(rule, scope=ruleset) for rule in ruleset.rules],
            [package.read(each["rule"]) for each in manifest["closest"]],
        )
    )
    outcomes: dict[Plant, tuple[Outcome, str]] = {}
    listed: dict[Outcome, list[Rewriting]] = {"closest": closest, "found": found}
    for plant in search.plants:
        for outcome, rules in listed.items():
            of_plant = [print_rule(each.rule.rule) for each in rules if each.is_for(plant)]
            if of_plant:
                outcomes[plant] = outcome, "; ".join(of_plant)
    missing = [plant for plant in search.plants if plant not in outcomes]
    if missing:
        proposed = [*package.known, *package.proposed(searched, paraphrases)]
        written = package.apply(proposed, searched)
        corpus = package.corpus(every_text, held_out)
        for plant in missing:
            rules_for = [each.rule for each in written if each.is_for(plant)]
            outcomes[plant] = package.why_not_found(rules_for, corpus)
    others = sum(not any(map(each.is_for, search.plants)) for each in found)
    return [
        Result(plant, outcome, sum(_has(plant.old, text) for text in searched), rules)
        for plant, (outcome, rules) in outcomes.items()
    ], others


def rows_of(kind: str, of_plants: Sequence[Result], others: int) -> list[Row]:
    """The lines of the record about a kind of text."""
    counts = Counter(each.outcome for each in of_plants)
    outcomes = get_args(Outcome)
    return [
        Row(kind, {
            "plants": len(of_plants), **{outcome: counts[outcome] for outcome in outcomes},
            "rules for no plant": others,
        }),
        *(
            Row(f"{kind}: {each.plant.words}", {
                "outcome": each.outcome, "searched rows": each.rows, "rules": each.rules,
            })
            for each in sorted(of_plants, key=lambda each: outcomes.index(each.outcome))
        ),
    ]  # fmt: skip


def main() -> None:
    """Search, count, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", type=Path, default=PLANTS, help="another list of plants")
    parser.add_argument("--kind", action="append", choices=[*KINDS], help="only this kind of text")
    parser.add_argument("--no-search", action="store_true", help="count the last searches again")
    arguments = parser.parse_args()
    plants, name = read_plants(arguments.list), arguments.list.stem
    kinds = arguments.kind or [*KINDS]
    package, rows = Package(), []
    for kind in kinds:
        of_kind = searches(kind, plants, RUNS / name)
        texts, _ = searched_and_held_out([text for text, _ in of_kind[0].rows])
        file, without_bugs = RUNS / f"{kind}.jsonl", RUNS / f"{kind}-without-bugs"
        paraphrases = package.paraphrases(texts, file)
        if not arguments.no_search:
            for search in of_kind:
                search.run(file)
        counted = [results(search, package, paraphrases) for search in of_kind]
        rows += rows_of(
            kind, [each for some, _ in counted for each in some], sum(more for _, more in counted)
        )
        if kind == kinds[0]:
            if not arguments.no_search:
                search_without_bugs(without_bugs, of_kind[0].rows, file)
            rules = len(load(without_bugs / "found.sear").rules)
            rows.append(Row(f"{kind}, a model without bugs", {"rules": rules}, reached=rules == 0))
    write_record("-".join([name, *(arguments.kind or ())]), rows)


if __name__ == "__main__":
    main()
