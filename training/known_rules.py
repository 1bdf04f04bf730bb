"""What readers said of the rewrites of shipped rules, so that a search can begin with good ones.

    python -m training.known_rules

In: the sheets that two readers filled in (``benchmarks/discovery_quality_sheet.tsv``), the rewrites
that one reader judged (``benchmarks/read_changes.tsv``), the shipped rules. Out:
``rulesets/readers.json``: for each rule that was read, how many rewrites were read, how many of
them were accepted, and the chance that readers accept nine of ten everywhere; and that chance for
rules that nobody read. Always holds: a rule is identified by its id and its text, so that readings
of an earlier version do not count for the present one, unless that was narrowed from it (`WIDER`).

    share of a rule ~ w Beta(a, b) + (1 - w) Beta(1, 1),   accepted ~ Binomial(read, share)

a, b and w maximize the likelihood, once for rules about tone (`TONE`) and once for all others. The
uniform part stands for rules unlike the rest, so that many good rules do not speak for one that
readers refuse. A rewrite that two have read together is accepted if both accept it. Careless rules
count, since such readings gave them their tag. Bias: rules were read because a search had proposed
them, so those that flip models were read most.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import minimize
from scipy.special import betainc, betaln

from benchmarks.judged_rewrites import READ
from sears_dsl.catalogue import shipped_rulesets
from sears_dsl.discovery.known_rules import NOT_ACCEPTED, READERS_VERSION, acceptance_test
from sears_dsl.language.loader import load
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Rule
from training.command import run
from training.records import rows_of, show, write_json

_ROOT = Path(__file__).resolve().parents[1]
SHEET = _ROOT / "benchmarks" / "discovery_quality_sheet.tsv"
FILE = _ROOT / "rulesets" / "readers.json"
TONE = (
    "add", "drop", "end", "greeting", "hedge", "informal", "lead-in", "polite", "tail", "tone",
)  # fmt: skip
"""Tags of rules that keep the label and change how it is said; see ``rulesets/README.md``."""
SHARE = 0.9
_OPINION = (
    "(like|love|liked|loved|hate|hated|think|thought|enjoyed|found !(her|him|out)|do|did|believe"
    "|feel|felt|wish|would|expected|(can|could) (not|n't))"
)
_OPENS = "x:/[Ii]t|[Tt]h(e|is|at|ey|ese|ose)/"
_JUDGED = "@BE @STRESS{0,2} @JUDGED"
_IS_DOES = f"$x.lower / <s> __ @REVIEWED? ({_JUDGED}|@DOES) !@BOUND"
_IS_SEEMS_DOES = f"$x.lower / <s> __ @REVIEWED? ({_JUDGED}|@SEEMS !(to|like)|@DOES) !@BOUND"
_VERDICT = (
    "!(@BREAK|that|who|which){0,5} (@STATE !@BREAK{0,4} @EVAL !(that|thing|deal|things)|@VEVAL)"
)
WIDER = {
    "frame-ok": ('x:@WH -> "OK", $x.lower / <s> __', 'x:@WH -> "OK", $x.lower / <s> __ !(a|an)'),
    "frame-tell-me": (
        "x:@WH -> Tell me, $x.lower / <s> __ (is|are|was|were|do|does|did|can|should|will)",
    ),
    "marker-add-all-in-all": (
        "x:/[Ii]t|[Tt]h(e|is)/ -> All in all, $x.lower / <s> __ "
        f"(@WHOLE {_JUDGED}|@BE @STRESS{{0,2}} (a|an|one)) !@BOUND",
    ),
    "marker-add-i-have-to-say": (f"{_OPENS} -> I have to say, {_IS_SEEMS_DOES}",),
    "marker-add-i-honestly": (f"I -> Honestly, I / <s> __ {_OPINION}",),
    "marker-add-i-must-say": (f"{_OPENS} -> I must say, {_IS_SEEMS_DOES}",),
    "marker-add-i-to-be-honest": (f"I -> To be honest, I / <s> __ {_OPINION}",),
    "marker-add-i-well": ("I -> Well, I / <s> __",),
    "marker-add-quite-frankly": (f"{_OPENS} -> Quite frankly, {_IS_SEEMS_DOES}",),
    "marker-add-simply-put": (f"{_OPENS} -> Simply put, {_IS_DOES}",),
    "marker-add-to-me": (f"{_OPENS} -> To me, {_IS_SEEMS_DOES}",),
    "marker-add-trust-me": (f"{_OPENS} -> Trust me, {_IS_DOES}",),
    "verdict-lead-i-must-say-that": (f"x:@OPENS -> I must say that $x.lower / <s> __ {_VERDICT}",),
    "verdict-lead-it-must-be-said": (
        f"x:@OPENS -> It must be said that $x.lower / <s> __ {_VERDICT}",
    ),
}
"""The texts of rules under which they were read before they were narrowed, by their ids.

What a narrower rule writes was among what was read, but for a few places of the rules that end in
`!@BOUND`: where an article follows, the words of that set are now refused behind the evaluation and
no longer behind the article (*It is a case study gem.*). Bias: what a rule no longer writes counts
as well.
"""


class Count(NamedTuple):
    """How many rewrites of a rule were read, and how many of them were accepted."""

    read: int
    accepted: int


def readings_of_rules(texts: Mapping[str, Iterable[str]]) -> dict[str, Count]:
    """Count the read and accepted rewrites of each rule under all of its texts, as printed.

    A rewrite that was read several times counts once; it is accepted if at least half of the
    readings are.
    """
    names: dict[str, list[str]] = defaultdict(list)
    for name, printed in texts.items():
        for text in set(printed):
            names[text].append(name)
    verdicts: dict[str, dict[Rewrite, list[bool]]] = {name: defaultdict(list) for name in texts}
    for rule, rewrite, accepted in [*_of_sheet(), *_of_changes()]:
        for name in names.get(rule, ()):
            verdicts[name][rewrite].append(accepted)
    return {
        name: Count(len(some), sum(2 * sum(each) >= len(each) for each in some.values()))
        for name, some in verdicts.items()
        if some
    }


Rewrite: TypeAlias = tuple[str, str]
"""What tells the rewrites of a rule apart: the original, or its hash, and what became of it."""


def _of_sheet() -> Iterator[tuple[str, Rewrite, bool]]:
    with SHEET.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            rewrite = row["sentence"], row["rewrite"]
            yield row["rule"], rewrite, row["first"] == row["second"] == "1"


def _of_changes() -> Iterator[tuple[str, Rewrite, bool]]:
    for row in rows_of(READ):
        yield row["rule"], (row["original"], row["rewrite"]), row["verdict"] == "1"


class Prior(NamedTuple):
    """The belief about a rule that nobody read: w, a and b."""

    weight: float
    a: float
    b: float


def fit(counts: Iterable[Count]) -> Prior:
    """The prior with the largest likelihood.

    Example:
        >>> prior = fit([Count(20, 20), Count(20, 19), Count(30, 29), Count(20, 2)])
        >>> chance(Count(0, 0), prior) > 0.6, chance(Count(20, 17), prior) < 0.6
        (True, True)
    """
    read, accepted = np.array([*counts]).T

    def loss(numbers: Any) -> float:
        prior = _prior(numbers)
        usual = np.log(prior.weight) + _evidence(read, accepted, prior.a, prior.b)
        other = np.log1p(-prior.weight) + _evidence(read, accepted, 1.0, 1.0)
        return float(-np.logaddexp(usual, other).sum())

    return _prior(minimize(loss, [1.0, 2.0, 0.0], method="Nelder-Mead").x)


def _prior(numbers: Any) -> Prior:
    return Prior(float(1 / (1 + np.exp(-numbers[0]))), *np.exp(numbers[1:]).tolist())


def _evidence(read: Any, accepted: Any, a: float, b: float) -> Any:
    return betaln(a + accepted, b + read - accepted) - betaln(a, b)


def chance(count: Count, prior: Prior) -> float:
    """The chance that readers accept at least `SHARE` of a rule's rewrites."""
    parts = [(prior.weight, prior.a, prior.b), (1 - prior.weight, 1.0, 1.0)]
    believed = [weight * np.exp(_evidence(*count, a, b)) for weight, a, b in parts]
    above = [
        1 - betainc(a + count.accepted, b + count.read - count.accepted, SHARE) for _, a, b in parts
    ]
    return float(np.dot(believed, above) / np.sum(believed))


def readers_file(rules: Mapping[str, Rule]) -> dict[str, Any]:
    """The content of ``readers.json`` for rules by their ids."""
    printed = {name: print_rule(rule) for name, rule in rules.items()}
    texts = {name: (text, *WIDER.get(name, ())) for name, text in printed.items()}
    read: dict[bool, dict[str, Count]] = defaultdict(dict)
    for name, count in readings_of_rules(texts).items():
        read[not set(TONE).isdisjoint(rules[name].metadata.tags)][name] = count
    priors = {tone: fit(read[tone].values()) for tone in (True, False)}
    none = Count(0, 0)
    return {
        "format": "sears-readers",
        "version": READERS_VERSION,
        "made_by": "python -m training.known_rules",
        "evidence": "chance: that readers accept nine of ten rewrites of the rule",
        "tone": list(TONE),
        "unread": {"tone": round(chance(none, priors[True]), 3),
                   "plain": round(chance(none, priors[False]), 3)},
        "rules": {
            name: {"rule": printed[name], "read": count.read, "accepted": count.accepted,
                   "chance": round(chance(count, priors[tone]), 3)}
            for name, count, tone in sorted(
                (name, count, tone) for tone in (True, False) for name, count in read[tone].items()
            )
        },
    }  # fmt: skip


def known_rules() -> dict[str, Rule]:
    """The shipped rules that keep the meaning, by their ids."""
    return {
        name: rule
        for source, path in shipped_rulesets().items()
        if not source.startswith(NOT_ACCEPTED)
        for ruleset in [load(path)]
        for name, rule in zip(ruleset.rule_ids, ruleset.rules, strict=True)
    }


def main() -> None:
    """Write the file."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    rules = known_rules()
    entry = readers_file(rules)
    write_json(FILE, entry)
    left = [name for name in entry["rules"] if not acceptance_test()(rules[name])]
    show(f"{len(entry['rules'])} rules were read; too rarely accepted: {left}")
    show(f"not read: {entry['unread']}")


if __name__ == "__main__":
    run(main)
