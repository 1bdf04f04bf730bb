"""Noise against a reader: error by kind of noise, and by how much of it the reader was trained on.

After 'Evaluating Neural Machine Comprehension Model Robustness to Noisy Inputs and Adversarial
Attacks': look-alikes for a quarter of the characters, nearest neighbours in GloVe for a quarter of
the words, or paraphrased sentences; each question protects its own answers. The reader is the span
ranker of `small_reader`, trained on clean rows (none), with half of the contexts noisy (half), all
(full), or clean and noisy rows together (both); `vote` is the token vote of none, half and full.
All tests are noisy, except in the first line of each grid. Further tables show how sure the reader
is of its errors (by the exact distributions, and with the remainder spread flat) and how many
annotators agree there; and what predicts its errors, compared with Table 6. A protected answer
stands out among noisy characters, so look-alikes are also tried with other spans protected.

    python -m benchmarks.noisy_squad 120 120       # first: paraphrases, resumable
    python -m benchmarks.noise_grid                # --train, --test, --paraphrased, --shuffles N
    python -m benchmarks.noise_grid --neural       # the same with the net of `neural_reader`
    python -m benchmarks.noise_grid --neural --brief     # three trainings instead of some thirty

If both samples have the same paragraphs (--train N --test M --paraphrased M N) there is one grid of
all three noises.

Method and bias: the reader is a linear model over words and shapes, or a small net over vectors of
words, not BiDAF with ELMo or BERT; paraphrases come from one small translation model, not from
ParaBank; SQuAD alone. Paragraphs are drawn at random, the same for all. Intervals are from a
bootstrap over paragraphs, of the mean over orders of training.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from benchmarks import small_reader, span_ranker
from benchmarks.answer_scores import RESAMPLED, Floats, cell, exact_matches, f1_scores, paragraphs
from benchmarks.noisy_squad import (
    NOISES,
    TEST,
    TRAIN,
    Asked,
    Paraphrases,
    noisy,
    paragraphs_of,
    questions_of,
)
from benchmarks.record import Row, write_record
from benchmarks.small_reader import SpanReader, Sure, train
from sears_dsl.auditing.failures import (
    Feature,
    LearningRows,
    fold_interval,
    learn_errors,
    numbers_of,
)
from sears_dsl.auditing.slices import Computed, read_slicings
from sears_dsl.batch.plan import TextShare
from sears_dsl.models.vote import common_words
from sears_dsl.runtime.database import RunJournal

AMOUNTS = ("none", "half", "full", "both")
# The noises that a brief run trains readers on, besides clean rows.
_BRIEFLY = {"characters": ("none", "half", "full")}

_AGREEMENT = "agreement(answers)"
# Shares of the annotators who gave the most frequent answer.
_AGREED = (("less than half", 0.0, 0.5), ("half or more", 0.5, 1.0), ("all", 1.0, 1.1))

# Table 6: micro F1 of always saying the majority class, and of XGBoost; first ELMo, then BERT.
TABLE_6 = {"characters": ".58 → .70 ± .003, .76 → .77 ± .008",
           "words": ".54 → .56 ± .004, .72 → .73 ± .006",
           "sentences": ".65 → .65 ± .008, .82 → .82 ± .006"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows without noise and with each noise.

    Attributes:
        clean: rows of a number of paragraphs.
        noisy: the same rows, by noise.
    """

    clean: list[Asked]
    noisy: dict[str, list[Asked]]


@dataclass(frozen=True, slots=True)
class Judged:
    """Answers to rows, by readers that differ in the order of training.

    Attributes:
        exact: (rows,) the share of readers that are right.
        f1: (rows,) mean F1.
        sure: the answers of each reader.
    """

    exact: Floats
    f1: Floats
    sure: list[list[Sure]]


class Readers:
    """Readers trained on demand, and their answers, which are saved in a file.

    Answers are known by the texts and the code that they come from: they are given anew after a
    change of either.
    """

    def __init__(self, shuffles: int, *, neural: bool = False) -> None:
        self.shuffles = shuffles
        folder = user_cache_path("sears-benchmarks", ensure_exists=True)
        self._train: Callable[..., SpanReader] = train
        self._trained: dict[str, SpanReader] = {}
        file, task = "answers", "span ranker"
        modules = [small_reader.__file__, span_ranker.__file__]
        if neural:
            # Imported here, since it brings torch.
            from benchmarks import neural_reader

            self._train = neural_reader.train
            file, task = "answers-neural", f"neural reader, {neural_reader.EPOCHS} epochs"
            modules = [neural_reader.__file__, small_reader.__file__]
        self._code = digest([Path(each).read_text("utf-8") for each in modules])
        self._journal = RunJournal(folder / f"{file}.db", task=task)

    def _reader(self, name: str, learned: Sequence[Asked], seed: int) -> SpanReader:
        """The reader trained on some rows; readers of clean rows are needed often and stay."""
        reader = self._trained.get(name)
        if reader is None:
            reader = self._train(questions_of(learned), seed=seed)
            self._trained = {
                order: each for order, each in self._trained.items() if " none," in order
            }
            self._trained[name] = reader
        return reader

    def judged(
        self, name: str, learned: Sequence[Asked], tests: Mapping[str, Sequence[Asked]]
    ) -> dict[str, Judged]:
        """The answers of readers of some rows to each test; ``name`` identifies these rows."""
        answers: dict[str, list[list[Sure]]] = {test: [] for test in tests}
        for seed in range(self.shuffles):
            keys = {
                test: f"{name}, order {seed}: {test}, {digest([self._code, learned, rows])}"
                for test, rows in tests.items()
            }
            known = self._journal.get_many("answers", list(keys.values()))
            for test, rows in tests.items():
                if keys[test] not in known:
                    reader = self._reader(f"{name}, order {seed}", learned, seed)
                    sure = reader.predict_surely([_asked(row) for row in rows])
                    known[keys[test]] = [[one.answer, one.exact, one.flat] for one in sure]
                    self._journal.put_many("answers", {keys[test]: known[keys[test]]})
                answers[test].append([Sure(*one) for one in known[keys[test]]])
            print(f"{name}, order {seed}: answered", flush=True)
        return {test: judge(tests[test], sure) for test, sure in answers.items()}


def digest(parts: Sequence[object]) -> str:
    """SHA-256 of what answers depend on.

    Example:
        >>> digest(["one"]) == digest(["one"]), digest(["one"]) == digest(["another"])
        (True, False)
    """
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def judge(rows: Sequence[Asked], sure: list[list[Sure]]) -> Judged:
    """Exact match and F1 as SQuAD counts them, averaged over readers."""
    return Judged(
        np.mean([exact_matches(rows, [one.answer for one in each]) for each in sure], axis=0),
        np.mean([f1_scores(rows, [one.answer for one in each]) for each in sure], axis=0),
        sure,
    )


def _asked(row: Asked) -> dict[str, str]:
    return {"question": row.question.question, "context": row.question.context}


# ---------------------------------------------------------------- the parts


def samples(
    train_paragraphs: int, test_paragraphs: int, noises: Sequence[str], known: Paraphrases
) -> tuple[Sample, Sample]:
    """Rows to learn from and to be asked, as they are and with noise.

    A noise that changes none of the rows of a part, for want of paraphrases, is left out of both.
    """

    def sample(name: str, count: int) -> Sample:
        rows = [row for paragraph in paragraphs_of(name, count) for row in paragraph]
        return Sample(rows, {noise: noisy(rows, noise, paraphrases=known) for noise in noises})

    both = sample(TRAIN, train_paragraphs), sample(TEST, test_paragraphs)
    for noise in noises:
        if any(each.clean == each.noisy[noise] for each in both):
            print(f"no row on {noise}: none of the texts has that noise. For paraphrases run "
                  f"python -m benchmarks.noisy_squad {test_paragraphs} {train_paragraphs}",
                  flush=True)  # fmt: skip
            for each in both:
                del each.noisy[noise]
    return both


def amount_of(sample: Sample, noise: str, amount: str) -> list[Asked]:
    """Training rows with the given amount of noise."""
    noisy_rows = sample.noisy[noise]
    if amount == "half":
        half = TextShare.parse("50%")
        return [
            after if half.takes(before.question.context) else before
            for before, after in zip(sample.clean, noisy_rows, strict=True)
        ]
    return {"none": sample.clean, "full": noisy_rows, "both": [*sample.clean, *noisy_rows]}[amount]


def _changed(sample: Sample, noise: str) -> str:
    """The share of the contexts that is noise."""
    pairs = [
        (before.question.context, after.question.context)
        for before, after in zip(sample.clean, sample.noisy[noise], strict=True)
    ]
    if noise == "characters":
        changed = sum(a != b for one, other in pairs for a, b in zip(one, other, strict=True))
        characters = sum(len("".join(one.split())) for one, _ in pairs)
        return f"{100 * changed / characters:.1f}% of characters"
    if noise == "words":
        words = [(a, b) for one, other in pairs
                 for a, b in zip(one.split(), other.split(), strict=False)]  # fmt: skip
        return f"{100 * sum(a != b for a, b in words) / len(words):.1f}% of words"
    return f"{100 * sum(one != other for one, other in pairs) / len(pairs):.1f}% of contexts"


def grid(
    name: str, learned: Sample, asked: Sample, readers: Readers, *, brief: bool = False
) -> tuple[list[Row], dict[str, dict[str, Judged]]]:
    """Error by noise and amount; and all answers, for the tables on confidence and errors."""
    rows, by_noise = [], {}
    size = f"{len(learned.clean)} rows of training, {len(asked.clean)} of test"
    clean = readers.judged(f"{name} none", learned.clean, {"clean": asked.clean})["clean"]
    rows.append(Row(f"{name}: {size}, {readers.shuffles} orders; clean text",
                    {"error": cell(1 - clean.exact, asked.clean),
                     "F1": cell(clean.f1, asked.clean)}))  # fmt: skip
    for noise, tests in asked.noisy.items():
        of_noise: dict[str, Judged] = {}
        amounts = _BRIEFLY.get(noise, ("none",)) if brief else AMOUNTS
        for amount in amounts:
            where = f"{name} none" if amount == "none" else f"{name} {noise} {amount}"
            of_noise[amount] = readers.judged(
                where, amount_of(learned, noise, amount), {noise: tests}
            )[noise]
        if of_noise.keys() >= {"none", "half", "full"}:
            three = (of_noise[amount].sure for amount in ("none", "half", "full"))
            of_noise["vote"] = judge(tests, [_vote(*each) for each in zip(*three, strict=True)])
        by_noise[noise] = of_noise
        figures: dict[str, float | int | str] = {"noise": _changed(asked, noise)}
        for amount, each in of_noise.items():
            figures[f"error {amount}"] = cell(1 - each.exact, tests)
        for amount, each in of_noise.items():
            figures[f"F1 {amount}"] = cell(each.f1, tests)
        none = of_noise["none"].exact
        for amount in [each for each in of_noise if each != "none"]:
            figures[f"error {amount} − none"] = cell(
                none - of_noise[amount].exact, tests, signed=True
            )
        rows.append(Row(f"{name}: {noise}", figures))
    rows.append(
        _between(name, {noise: by_noise[noise]["none"] for noise in by_noise}, clean, asked)
    )
    return rows, by_noise


def with_decoys(
    name: str, learned: Sample, asked: Sample, readers: Readers, known: Paraphrases, *, decoys: int
) -> Row:
    """Error under look-alikes where words that are no answer are protected too.

    Otherwise the characters of an answer distinguish it from its context.
    """
    of_train, of_test = (
        noisy(each.clean, "characters", paraphrases=known, decoys=decoys)
        for each in (learned, asked)
    )
    figures: dict[str, float | int | str] = {}
    for amount, rows in (("none", learned.clean), ("full", of_train)):
        where = f"{name} {'none' if amount == 'none' else f'{decoys} decoys {amount}'}"
        tests: dict[str, Sequence[Asked]] = {f"{decoys} decoys": of_test}
        judged = readers.judged(where, rows, tests)[f"{decoys} decoys"]
        figures[f"error {amount}"] = cell(1 - judged.exact, of_test)
        figures[f"F1 {amount}"] = cell(judged.f1, of_test)
    return Row(f"{name}: characters, {decoys} other spans of a context clean too", figures)


def _vote(*three: Sequence[Sure]) -> list[Sure]:
    """The tokens that two of three answers have; no confidence is given."""
    return [
        Sure(common_words([each.answer for each in of_row]), None, None)
        for of_row in zip(*three, strict=True)
    ]


def _between(name: str, none: dict[str, Judged], clean: Judged, asked: Sample) -> Row:
    """Errors of the reader of clean rows: each noise against clean text and against the next."""
    errors = {"clean": 1 - clean.exact} | {noise: 1 - each.exact for noise, each in none.items()}
    figures: dict[str, float | int | str] = {}
    for one, other in [(noise, "clean") for noise in none] + list(pairwise(none)):
        figures[f"{one} − {other}"] = cell(errors[one] - errors[other], asked.clean, signed=True)
    return Row(f"{name}: error of the reader of clean rows, differences on the same rows", figures)


def confidence(name: str, by_noise: dict[str, dict[str, Judged]], asked: Sample) -> list[Row]:
    """How sure readers are where they are wrong, and where they are right."""
    rows = []
    for noise, of_noise in by_noise.items():
        for amount in [each for each in AMOUNTS if each in of_noise]:
            each = of_noise[amount]
            figures: dict[str, float | int | str] = {}
            # Of several orders of training take the first: confidence belongs to one reader.
            first = each.sure[0]
            wrong = exact_matches(asked.clean, [one.answer for one in first]) == 0
            for kind, values in (("exact", [one.exact for one in first]),
                                 ("flat", [one.flat for one in first])):  # fmt: skip
                sure = np.array(values, np.float64)
                figures[f"errors, {kind}"] = cell(np.where(wrong, sure, np.nan), asked.clean)
                figures[f"right, {kind}"] = cell(np.where(wrong, np.nan, sure), asked.clean)
            half_sure = np.array([one.exact or 0.0 for one in first]) >= 0.5
            figures["errors of 0.5 or more"] = f"{(wrong & half_sure).sum()} of {wrong.sum()}"
            rows.append(
                Row(f"{name}: confidence in per cent, {noise}, trained on {amount}", figures)
            )
    return rows


def agreement(name: str, by_noise: dict[str, dict[str, Judged]], asked: Sample) -> list[Row]:
    """How sure readers are when they are wrong, by the number of annotators who agree."""
    agreed = read_slicings([{"answers": row.answers} for row in asked.clean], [_AGREEMENT])
    computed = agreed[_AGREEMENT]
    assert isinstance(computed, Computed)
    shares = np.array(computed.values(), np.float64)
    rows = []
    for noise, of_noise in by_noise.items():
        for amount in [each for each in AMOUNTS if each in of_noise]:
            first = of_noise[amount].sure[0]
            sure = np.array([one.exact for one in first], np.float64)
            wrong = exact_matches(asked.clean, [one.answer for one in first]) == 0
            sure[~wrong] = np.nan
            known = ~np.isnan(sure)
            figures: dict[str, float | int | str] = {}
            for part, low, high in _AGREED:
                inside = known & (shares >= low) & (shares < high)
                mean = cell(np.where(inside, sure, np.nan), asked.clean)
                figures[part] = f"{mean}; n {inside.sum():,}"
            figures["rank correlation"] = _correlation(shares[known], sure[known],
                                                       paragraphs(asked.clean)[known])  # fmt: skip
            figures["errors of 0.8 or more"] = f"{(sure[known] >= 0.8).sum()} of {known.sum():,}"
            rows.append(
                Row(f"{name}: confidence of errors in per cent by agreement of annotators, "
                    f"{noise}, trained on {amount}", figures)
            )  # fmt: skip
    return rows


def _correlation(one: Floats, other: Floats, paragraphs: NDArray[np.int64]) -> str:
    """Spearman's correlation, and its 95% interval by a bootstrap over paragraphs, ranks fixed."""
    from scipy.stats import rankdata

    x, y = (rankdata(each) / len(each) - 0.5 for each in (one, other))
    _, places = np.unique(paragraphs, return_inverse=True)
    sums = np.array([np.bincount(places, each) for each in
                     (np.ones(len(x)), x, y, x * y, x * x, y * y)])  # fmt: skip
    size = sums.shape[1]
    drawn = np.random.default_rng(0).integers(0, size, (RESAMPLED, size))
    all_of_them = np.arange(size)[None]
    whole, resampled = (_pearson(sums[:, places].sum(axis=2)) for places in (all_of_them, drawn))
    low, high = np.quantile(resampled, [0.025, 0.975])
    return f"{whole[0]:+.2f} ({low:+.2f} to {high:+.2f})"


def _pearson(sums: Floats) -> Floats:
    n, x, y, xy, xx, yy = sums
    return (n * xy - x * y) / np.sqrt((n * xx - x * x) * (n * yy - y * y))


def error_prediction(name: str, by_noise: dict[str, dict[str, Judged]], asked: Sample) -> list[Row]:
    """Predict which answers are wrong by trees, from the paper's features, for each noise."""
    rows = []
    for noise, of_noise in by_noise.items():
        if len(of_noise) == 1:
            continue
        table = _instances(of_noise, asked.noisy[noise])
        figures: dict[str, float | int | str] = {"answers": len(table.wrong)}
        learned = learn_errors(table)
        low, high = fold_interval(learned.f1 - learned.majority_f1)
        figures["majority"] = round(float(learned.majority_f1.mean()), 3)
        figures["sears errors"] = (
            f"{learned.f1.mean():.3f} ± {learned.f1.std(ddof=1):.3f} "
            f"({100 * low:+.1f} to {100 * high:+.1f} points more)"
        )
        best = sorted(zip(learned.importances.mean(axis=1), table.features, strict=True),
                      key=lambda pair: -pair[0])  # fmt: skip
        figures["points lost without"] = ", ".join(
            f"{feature.name} {100 * lost:.1f}" for lost, feature in best[:3]
        )
        if find_spec("xgboost"):
            for folds, grouped in (("its own folds", False), ("folds of questions", True)):
                scores, gains = _boosted(table, grouped=grouped)
                figures[f"xgboost, {folds}"] = (
                    f"{np.mean(scores):.3f} ± {np.std(scores, ddof=1):.3f}"
                )
            figures["xgboost's largest gains"] = ", ".join(
                f"{feature} {100 * gain:.0f}%" for feature, gain in gains[:3]
            )
        else:
            print("xgboost is not installed (pip install xgboost-cpu): left out")
        figures["printed: ELMo, BERT"] = TABLE_6[noise]
        rows.append(Row(f"{name}: error prediction, {noise}", figures))
    return rows


def _instances(of_noise: dict[str, Judged], tests: Sequence[Asked]) -> LearningRows:
    """The answers of the first reader of each amount, with the features of the paper."""
    amounts = [each for each in AMOUNTS if each in of_noise]
    columns = {
        "question": [row.question.question for row in tests] * len(amounts),
        "context": [row.question.context for row in tests] * len(amounts),
        "answer given": [one.answer for amount in amounts for one in of_noise[amount].sure[0]],
    }
    names = ("first-word(question)", "words(question)", "words(context)", "grade(context)",
             "words(answer given)")  # fmt: skip
    cells = [dict(zip(columns, each, strict=True)) for each in zip(*columns.values(), strict=True)]
    computed = read_slicings(cells, names)
    features = [Feature("amount", "category", [a for a in amounts for _ in tests])]
    for slicing, values in computed.items():
        assert isinstance(values, Computed)
        features.append(
            Feature(
                slicing,
                "category" if slicing.startswith("first-word") else "number",
                values.values(),
            )
        )
    wrong = [exact_matches(tests, [one.answer for one in of_noise[amount].sure[0]]) == 0
             for amount in amounts]  # fmt: skip
    return LearningRows(np.concatenate(wrong), np.tile(np.arange(len(tests)), len(amounts)),
                     tuple(features))  # fmt: skip


def _boosted(table: LearningRows, *, grouped: bool) -> tuple[list[float], list[tuple[str, float]]]:
    """Micro F1 of XGBoost in ten folds, with names as columns of 0 and 1; and gains."""
    from sklearn.model_selection import GroupKFold, KFold
    from xgboost import XGBClassifier

    names, columns = [], []
    for feature in table.features:
        if feature.kind == "number":
            names.append(feature.name)
            columns.append(numbers_of(feature))
            continue
        for value in sorted({str(each) for each in feature.values}):
            names.append(feature.name)
            columns.append(np.array([str(each) == value for each in feature.values], np.float64))
    cells, wrong = np.column_stack(columns), table.wrong.astype(int)
    folds = (GroupKFold if grouped else KFold)(10, shuffle=True, random_state=0)
    splits = folds.split(cells, wrong, table.rows if grouped else None)
    scores, gains = [], np.zeros(len(names))
    for learned, judged in splits:
        trees = XGBClassifier(n_jobs=1, random_state=0).fit(cells[learned], wrong[learned])
        scores.append(float((trees.predict(cells[judged]) == wrong[judged]).mean()))
        gains += trees.feature_importances_ / 10
    of_names = {name: float(gains[np.array(names) == name].sum()) for name in names}
    return scores, sorted(of_names.items(), key=lambda pair: -pair[1])


def main() -> None:
    """Print two grids: many rows without paraphrases, and the rows with paraphrased sentences.

    It is one grid, of all noises, if both would have the same paragraphs.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=int, default=2000, help="paragraphs for training")
    parser.add_argument("--test", type=int, default=400, help="paragraphs for the test")
    parser.add_argument(
        "--paraphrased",
        type=int,
        nargs=2,
        default=(120, 120),
        help="paragraphs of test and of training whose sentences are paraphrased",
    )
    parser.add_argument("--shuffles", type=int, default=3, help="orders of training")
    parser.add_argument("--brief", action="store_true",
                        help="train on half and on all look-alikes alone")  # fmt: skip
    parser.add_argument("--decoys", type=int, default=20,
                        help="also test with so many other spans left clean")  # fmt: skip
    parser.add_argument("--neural", action="store_true", help="use the reader of `neural_reader`")
    chosen = parser.parse_args()
    readers = Readers(chosen.shuffles, neural=chosen.neural)
    known = Paraphrases(search=False)
    parts: list[Callable[..., list[Row]]] = [confidence, agreement, error_prediction]
    rows: list[Row] = []
    record = "noise_grid" + "-neural" * chosen.neural + "-brief" * chosen.brief
    few_test, few_train = chosen.paraphrased
    all_noises = tuple(NOISES)
    grids = [("many rows", chosen.train, chosen.test, all_noises[:2]),
             ("with paraphrases", few_train, few_test, all_noises)]  # fmt: skip
    if (few_train, few_test) == (chosen.train, chosen.test):
        grids = [("many rows", chosen.train, chosen.test, all_noises)]
    for name, learned, asked, noises in grids:
        of_train, of_test = samples(learned, asked, noises, known)
        if name != "many rows" and (chosen.brief or of_test.noisy.keys() != set(noises)):
            continue
        size = f"{name} ({learned}, {asked} paragraphs)"
        table, by_noise = grid(size, of_train, of_test, readers, brief=chosen.brief)
        rows += table
        for part in parts:
            rows += part(name, by_noise, of_test)
        if name == "many rows":
            many = of_train
            if chosen.decoys and not chosen.brief:
                rows.append(
                    with_decoys(size, of_train, of_test, readers, known, decoys=chosen.decoys)
                )
    if len(grids) == 1 or of_test.noisy.keys() != NOISES.keys():
        write_record(record, rows)
        return
    # The reader of many clean rows on the paragraphs that have all three noises.
    tests = {"clean": of_test.clean, **of_test.noisy}
    none = readers.judged(
        f"many rows ({chosen.train}, {chosen.test} paragraphs) none", many.clean, tests
    )
    clean = none.pop("clean")
    rows.append(
        Row(f"many rows of training, {len(of_test.clean)} rows of test with all three noises",
            {f"error {test}": cell(1 - each.exact, of_test.clean)
             for test, each in {"clean": clean, **none}.items()})
    )  # fmt: skip
    rows.append(_between("the same", none, clean, of_test))
    write_record(record, rows)


if __name__ == "__main__":
    main()
