"""Our results and the paper's: means of seeds with intervals, and every test that was made.

In: `Outcome`s. Out: tables as Markdown, rows of a record. Always holds: each share has its n and a
95% interval, over seeds by Student if there are several, else over rows by Wilson; all Welch tests
that were made are listed, with q-values by Benjamini and Hochberg over all of them. Costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from benchmarks.record import Row
from benchmarks.semantic_robustness.beds import (
    PHENOMENA,
    constant_answer,
    judged_sentences,
    template_halves,
    test_sentences,
)
from benchmarks.semantic_robustness.nets import NETS
from benchmarks.semantic_robustness.running import Outcome, Training
from sears_dsl.statistics import mean_interval, q_values, wilson_interval

# Means and standard deviations of 20 models; table 1 of the paper, and its text for the accuracy.
_PRINTED_ACCURACY = {
    "FC": ".8993 ± .0029", "CNN": ".9077 ± .0038", "LSTM": ".9101 ± .0033",
    "attention": ".8963 ± .0015",
}  # fmt: skip
_PRINTED = {
    ("FC", "negation"): (".4034 ± .0214", ".4062 ± .0167"),
    ("CNN", "negation"): (".4032 ± .0124", ".4249 ± .0255"),
    ("LSTM", "negation"): (".4771 ± .0143", ".6387 ± .0387"),
    ("attention", "negation"): (".4790 ± .0059", ".5954 ± .0027"),
    ("FC", "mixed"): (".4707 ± .0360", ".4912 ± .0339"),
    ("CNN", "mixed"): (".4986 ± .0415", ".5271 ± .0387"),
    ("LSTM", "mixed"): (".5110 ± .0251", ".6357 ± .0317"),
    ("attention", "mixed"): (".5487 ± .0099", ".5617 ± .0048"),
    ("FC", "sarcasm"): (".5136 ± .0504", ".5297 ± .0657"),
    ("CNN", "sarcasm"): (".4681 ± .0327", ".4678 ± .0317"),
    ("LSTM", "sarcasm"): (".5578 ± .0128", ".4807 ± .0197"),
    ("attention", "sarcasm"): (".5240 ± .0132", ".6236 ± .0218"),
}
# Table 5, FC: its templates and the judged sentences, by size. CNN's 18 values lost their order.
_PRINTED_BOUNDED = {
    ("negation", 0.0): (".4034", ".6303"), ("negation", 0.001): (".3852", ".6461"),
    ("negation", 0.01): (".4249", ".6145"), ("mixed", 0.0): (".4707", ".6976"),
    ("mixed", 0.001): (".2918", ".7205"), ("mixed", 0.01): (".2824", ".7072"),
    ("sarcasm", 0.0): (".5136", ".7133"), ("sarcasm", 0.001): (".4333", ".5578"),
    ("sarcasm", 0.01): (".4406", ".5222"),
}  # fmt: skip
# Table 4: BERT, one run; its templates and the judged sentences.
_PRINTED_BERT = {
    "negation": (".7928", ".8552"), "mixed": (".6974", ".6024"), "sarcasm": (".8455", ".7111"),
}  # fmt: skip

_HEAD = """# 'The King is Naked' again

Written by `python -m benchmarks.semantic_robustness`, which says what was trained and how; what it
says is in [the README of the benchmarks](../README.md). *Printed* is what the
paper has, of 20 models with their standard deviation, where it has it. Intervals are 95%: of the
mean over seeds, or over rows where there is one seed.
"""
_SHARES = """The percentage is the share of added rows: 25%, 33% and 39% are the paper's factors of
500, 750 and 1,000, of which it prints 750. It trains on the judged sentences, which are asked about
here."""
_BOXES = """Certified is the share of sentences that no point of their box makes wrong, which the
paper does not print; its templates and judged sentences are printed for FC (CNN's values lost their
order). Of 30 FC it prints a mean weight of +.0017 ± .0019, and +.0064 ± .0032 for robust ones."""
_ENCODER = """MiniLM is all-MiniLM-L6-v2; with a number, a head on so many frozen layers. The paper
has BERT, one run; its figure of depths has no numbers."""


@dataclass(frozen=True, slots=True)
class WelchTest:
    """A test of two groups of trainings on one bed.

    Attributes:
        name: what is compared.
        before, after: the mean of each group.
        seeds: how many trainings each group has.
        p: by Welch's test, two-sided.
        q: over all tests of the run.
    """

    name: str
    before: float
    after: float
    seeds: tuple[int, int]
    p: float
    q: float = 1.0


def templates_right(outcome: Outcome, phenomenon: str, *, swapped: bool, pooled: bool) -> float:
    """The share right in the half not trained on: a mean over templates, or over all sentences."""
    bed = template_halves(phenomenon)[not swapped].templates
    shares = [outcome.templates[phenomenon][name] for name in bed]
    return float(np.average(shares, weights=list(map(len, bed.values())) if pooled else None))


def with_interval(values: Sequence[float], n: int) -> str:
    """A mean and its 95% interval: over seeds, or over n rows where there is one seed.

    Example:
        >>> with_interval([0.5, 0.52, 0.54], 100), with_interval([0.5], 100)
        ('.520 (.470 to .570)', '.500 (.404 to .596)')
    """
    mean = float(np.mean(values))
    if len(values) > 1:
        low, high = mean_interval(values)
    else:
        ends = wilson_interval(round(mean * n), n)
        low, high = float(ends[0]), float(ends[1])
    return f"{_share(mean)} ({_share(max(low, 0))} to {_share(min(high, 1))})"


def welch_tests(outcomes: Sequence[Outcome]) -> list[WelchTest]:
    """Compare every kind of training with the plain one of its net, on SST-2 and its own beds."""
    tests = []
    for kind, after in _groups(outcomes):
        before = [each for each in outcomes if each.training in _plain_of(kind, outcomes)]
        if kind.kind == "plain" or len(before) < 2 or len(after) < 2:
            continue
        for bed, value in _beds(kind):
            first, second = list(map(value, before)), list(map(value, after))
            tests.append(
                WelchTest(
                    f"{_named(kind)}: {bed}",
                    float(np.mean(first)),
                    float(np.mean(second)),
                    (len(first), len(second)),
                    _welch(first, second),
                )
            )
    q = q_values([each.p for each in tests])
    return [
        WelchTest(each.name, each.before, each.after, each.seeds, each.p, float(corrected))
        for each, corrected in zip(tests, q, strict=True)
    ]


def page(outcomes: Sequence[Outcome]) -> str:
    """All tables as a page."""
    tables = (
        ("What is asked", "", _beds_table()),
        (
            "Plain nets",
            "The paper calls the mean of all weights their norm.",
            _nets_table(outcomes),
        ),
        ("Augmented with half of the templates", _SHARES, _augmented_table(outcomes)),
        ("Against boxes", _BOXES, _bounded_table(outcomes)),
        ("A pretrained encoder", _ENCODER, _encoder_table(outcomes)),
        (
            "All Welch tests",
            "q by Benjamini and Hochberg over all of them.",
            _tests_table(outcomes),
        ),
    )
    parts = [
        "\n\n".join(filter(None, (f"## {title}", words, rows)))
        for title, words, rows in tables
        if rows
    ]
    return "\n".join([_HEAD, *parts])


def record_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """Means, seeds and tests as rows of a record."""
    rows = []
    for kind, group in _groups(outcomes):
        figures: dict[str, float | int | str] = {
            "seeds": len(group),
            "accuracy": round(float(np.mean([each.accuracy for each in group])), 4),
            "mean weight": round(float(np.mean([each.mean_weight for each in group])), 5),
            "norm": round(float(np.mean([each.norm for each in group])), 3),
        }
        for phenomenon in PHENOMENA:
            for pooled in (False, True):
                shares = [
                    templates_right(each, phenomenon, swapped=kind.swapped, pooled=pooled)
                    for each in group
                ]
                how = "pooled" if pooled else "mean of templates"
                figures[f"{phenomenon}, {how}"] = round(float(np.mean(shares)), 4)
            judged = [each.judged[phenomenon] for each in group]
            figures[f"{phenomenon}, judged"] = round(float(np.mean(judged)), 4)
        for size in group[0].certified:
            certain = [each.certified[size] for each in group]
            figures[f"certified at {size}"] = round(float(np.mean(certain)), 4)
        rows.append(Row(_named(kind), figures))
    for test in welch_tests(outcomes):
        rows.append(Row(f"Welch, {test.name}", {
            "before": round(test.before, 4), "after": round(test.after, 4),
            "p": float(f"{test.p:.3g}"), "q": float(f"{test.q:.3g}"),
        }))  # fmt: skip
    return rows


def _beds_table() -> str:
    lines = ["| bed | templates | sentences | constant answer: pooled, mean of templates |",
             "|---|---|---|---|"]  # fmt: skip
    for phenomenon in PHENOMENA:
        for bed, name in zip(template_halves(phenomenon), ("trained on", "asked"), strict=True):
            parts = list(bed.templates.values())
            pooled, mean = constant_answer(parts)
            lines.append(f"| {phenomenon}, {name} | {len(parts)} | {sum(map(len, parts)):,} "
                         f"| {_share(pooled)}, {_share(mean)} |")  # fmt: skip
        judged = judged_sentences(phenomenon)
        lines.append(f"| {phenomenon}, judged | | {len(judged)} "
                     f"| {_share(constant_answer([judged])[0])} |")  # fmt: skip
    test = test_sentences()
    lines.append(f"| SST-2, development | | {len(test)} | {_share(constant_answer([test])[0])} |")
    return "\n".join([*lines, ""])


def _nets_table(outcomes: Sequence[Outcome]) -> str:
    lines = ["| net, plain | seeds | accuracy (95%) | printed | mean weight | norm |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for kind, group in _groups(outcomes):
        if kind.kind != "plain" or kind.net not in NETS:
            continue
        accuracy = with_interval([each.accuracy for each in group], len(test_sentences()))
        lines.append(f"| {_named(kind)} | {len(group)} | {accuracy} "
                     f"| {_PRINTED_ACCURACY[kind.net]} "
                     f"| {np.mean([each.mean_weight for each in group]):+.4f} "
                     f"| {np.mean([each.norm for each in group]):.1f} |")  # fmt: skip
    return "\n".join([*lines, ""])


def _augmented_table(outcomes: Sequence[Outcome]) -> str:
    lines = [
        "| net, phenomenon | seeds: plain, augmented | other templates: plain, augmented | printed "
        "| judged: plain, augmented | SST-2 augmented |",
        "|---|---|---|---|---|---|",
    ]
    for kind, group in _groups(outcomes):
        if kind.kind not in PHENOMENA:
            continue
        phenomenon = kind.kind
        plain = [each for each in outcomes if each.training in _plain_of(kind, outcomes)]
        bed = template_halves(phenomenon)[not kind.swapped].templates
        sentences = sum(map(len, bed.values()))
        judged = len(judged_sentences(phenomenon))
        cells = [
            ", ".join(with_interval([templates_right(each, phenomenon, swapped=kind.swapped,
                                                     pooled=False) for each in some], sentences)
                      for some in (plain, group) if some),
            ", ".join(_PRINTED[kind.net, phenomenon]),
            ", ".join(with_interval([each.judged[phenomenon] for each in some], judged)
                      for some in (plain, group) if some),
            with_interval([each.accuracy for each in group], len(test_sentences())),
        ]  # fmt: skip
        lines.append(f"| {_named(kind)} | {len(plain)}, {len(group)} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""]) if len(lines) > 2 else ""


def _bounded_table(outcomes: Sequence[Outcome]) -> str:
    lines = ["| net, size of the box | seeds | accuracy | certified at .001, .01 "
             "| other templates, negation, mixed, sarcasm | judged | printed (FC) "
             "| mean weight | norm |", "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for kind, group in _groups(outcomes):
        if not group[0].certified or kind.kind not in ("plain", "bounded") or kind.phrases:
            continue
        printed = [
            " and ".join(_PRINTED_BOUNDED[phenomenon, kind.amount])
            for phenomenon in PHENOMENA
            if kind.net == "FC" and (phenomenon, kind.amount) in _PRINTED_BOUNDED
        ]

        def mean(value: Callable[[Outcome], float], of: Sequence[Outcome] = group) -> str:
            return _share(float(np.mean(list(map(value, of)))))

        cells = [
            with_interval([each.accuracy for each in group], len(test_sentences())),
            ", ".join(mean(certified_at(size)) for size in ("0.001", "0.01")),
            ", ".join(mean(right_of(phenomenon)) for phenomenon in PHENOMENA),
            ", ".join(mean(judged_right(phenomenon)) for phenomenon in PHENOMENA),
            "; ".join(printed),
            f"{np.mean([each.mean_weight for each in group]):+.4f}",
            f"{np.mean([each.norm for each in group]):.1f}",
        ]  # fmt: skip
        lines.append(f"| {_named(kind)} | {len(group)} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""]) if len(lines) > 2 else ""


def _encoder_table(outcomes: Sequence[Outcome]) -> str:
    lines = ["| encoder | seeds | accuracy | other templates, negation, mixed, sarcasm "
             "| judged | printed, BERT |", "|---|---|---|---|---|---|"]  # fmt: skip
    for kind, group in _groups(outcomes):
        if kind.net in NETS:
            continue
        cells = [with_interval([each.accuracy for each in group], len(test_sentences()))]
        cells.append(", ".join(
            _share(float(np.mean([templates_right(each, phenomenon, swapped=False, pooled=False)
                                  for each in group]))) for phenomenon in PHENOMENA))  # fmt: skip
        judged = {each: len(judged_sentences(each)) for each in PHENOMENA}
        cells.append(", ".join(
            with_interval([each.judged[phenomenon] for each in group], n)
            for phenomenon, n in judged.items()))  # fmt: skip
        cells.append("; ".join(map(" and ".join, _PRINTED_BERT.values()))
                     if kind.net == "MiniLM" else "")  # fmt: skip
        lines.append(f"| {kind.net} | {len(group)} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""]) if len(lines) > 2 else ""


def _tests_table(outcomes: Sequence[Outcome]) -> str:
    tests = welch_tests(outcomes)
    lines = ["| Welch test | plain | after | seeds | p | q |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {each.name} | {_share(each.before)} | {_share(each.after)} "
        f"| {each.seeds[0]}, {each.seeds[1]} | {each.p:.2g} | {each.q:.2g} |"
        for each in tests
    ]
    return "\n".join([*lines, ""]) if tests else ""


def _groups(outcomes: Sequence[Outcome]) -> Iterator[tuple[Training, list[Outcome]]]:
    """Groups of outcomes whose trainings differ only in the seed, with the training of seed 0."""
    kinds: dict[Training, list[Outcome]] = {}
    for each in outcomes:
        kinds.setdefault(_seedless(each.training), []).append(each)
    order = [*NETS]
    yield from sorted(
        kinds.items(),
        key=lambda pair: (order.index(pair[0].net) if pair[0].net in order else 9, pair[0]),
    )


def _plain_of(kind: Training, outcomes: Sequence[Outcome]) -> set[Training]:
    return {
        each.training
        for each in outcomes
        if each.training.kind == "plain"
        and (each.training.net, each.training.phrases) == (kind.net, kind.phrases)
    }


def _seedless(training: Training) -> Training:
    return replace(training, seed=0)


def _welch(first: Sequence[float], second: Sequence[float]) -> float:
    if len({*first, *second}) == 1:
        return 1.0
    if len(set(first)) == len(set(second)) == 1:
        return 0.0
    return float(stats.ttest_ind(first, second, equal_var=False).pvalue)


def certified_at(size: str) -> Callable[[Outcome], float]:
    """The share of sentences that are certified where vectors move by this size."""
    return lambda outcome: outcome.certified[size]


def right_of(phenomenon: str, *, swapped: bool = False) -> Callable[[Outcome], float]:
    """The share of the sentences of other templates that are right."""
    return lambda outcome: templates_right(outcome, phenomenon, swapped=swapped, pooled=False)


def judged_right(phenomenon: str) -> Callable[[Outcome], float]:
    """The share of the judged sentences that are right."""
    return lambda outcome: outcome.judged[phenomenon]


def _beds(kind: Training) -> Iterator[tuple[str, Callable[[Outcome], float]]]:
    yield "SST-2", lambda each: each.accuracy
    for phenomenon in PHENOMENA if kind.kind == "bounded" else (kind.kind,):
        yield (
            f"{phenomenon}, other templates",
            right_of(phenomenon, swapped=kind.swapped),
        )
        yield f"{phenomenon}, judged", judged_right(phenomenon)


def _named(kind: Training) -> str:
    amount = {"plain": "", "bounded": f" {kind.amount:g}"}.get(kind.kind, f" {kind.amount:.0%}")
    return (f"{kind.net}, {kind.kind}{amount}" + ", halves swapped" * kind.swapped
            + ", phrases" * kind.phrases)  # fmt: skip


def _share(value: float) -> str:
    """A share without the zero before the point."""
    return f"{value:.3f}".removeprefix("0") if value < 1 else "1.000"
