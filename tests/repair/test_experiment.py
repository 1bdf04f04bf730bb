"""The experiment with models whose errors are known by construction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import sears_dsl as sears
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.data.table import Table
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.errors import DataError, ModelError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.models.predictor import Predictor, Row
from sears_dsl.repair.augmentation import Amount, TableColumns
from sears_dsl.repair.experiment import Repair, RepairSettings, repair
from sears_dsl.repair.running import check_origin, repair_model
from sears_dsl.repair.trainers import ExperimentInputs
from sears_dsl.runtime.database import RunJournal
from sears_dsl.tagging.pinned import PinnedTagger

COLUMNS = TableColumns(text="text", label="label")
TWICE = RepairSettings(seeds=2)
RULES = "rule film: movie -> film\nrule not: is -> is not\n  expect: flip"


@dataclass
class Vocabulary:
    """Judges by the last word, and fails on a word that it was not trained on."""

    known: set[str]
    identity: str = "vocabulary"

    def predict(self, rows: Sequence[Row]) -> list[str]:
        return [self._of(row["text"].split()) for row in rows]

    def _of(self, words: Sequence[str]) -> str:
        if not set(words) <= self.known:
            return "lost"
        praised = words[-1] == "good"
        return "negative" if praised == ("not" in words) else "positive"


@dataclass
class VocabularyTrainer:
    """Trains, and fails at chosen trainings."""

    failing: tuple[int, ...] = ()
    places: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    identity: str = "vocabulary"

    def train(self, table: Table, *, seed: int, place: Path) -> Predictor:
        self.places.append(place.name)
        self.sizes[place.name] = len(table)
        if len(self.places) in self.failing:
            raise ModelError("out of memory")
        return Vocabulary({word for text in table.texts("text") for word in text.split()})


def rows(*texts: str) -> list[tuple[str, str]]:
    return [(text, "positive" if text.endswith("good") else "negative") for text in texts]


TRAINING = rows("a movie so good", "a movie so bad", "this play is good", "this play is bad")
HELD_OUT = rows("this movie is good", "this play is bad", "a play so good", "an odd thing is good")


def training(pairs: Sequence[tuple[str, str]] = TRAINING) -> Table:
    texts, labels = zip(*pairs, strict=True)
    return Table({"text": list(texts), "label": list(labels)}, "train.csv", "csv")


def held_out(pairs: Sequence[tuple[str, str]] = HELD_OUT) -> LabelledRows:
    return LabelledRows(
        tuple({"text": text} for text, _ in pairs),
        "text",
        tuple((label,) for _, label in pairs),
        "held-out.csv",
    )


def repaired(
    trainer: VocabularyTrainer,
    folder: Path,
    *,
    rules: str = RULES,
    settings: RepairSettings = TWICE,
    journal: RunJournal | None = None,
    data: LabelledRows | None = None,
) -> Repair:
    return repair(
        ExperimentInputs(
            training=training(),
            held_out=data or held_out(),
            matcher=parse(rules).compile(tagger=PinnedTagger()),
            columns=COLUMNS,
            trainer=trainer,
            folder=folder,
        ),
        journal=journal or RunJournal(None, task=""),
        settings=settings,
    )


def test_errors_are_those_of_the_models(tmp_path: Path) -> None:
    done = repaired(VocabularyTrainer(), tmp_path)
    # "an odd thing" is new to every model; the other three rows are right before and after.
    assert done.validation.original.error == done.validation.augmented.error == 0.25
    assert done.validation.change.difference == 0
    # Of three right rows: "this film is good", "this movie is not good", "this play is not bad";
    # "film" and "not" are unknown before, and known after training on the rewrites.
    assert done.sensitivity.original.error == 1
    assert done.sensitivity.augmented.error == 0
    assert done.same_rows.augmented.error == 0
    # "an odd thing is not good" stays wrong.
    assert done.rewritten.augmented.error == 0.25
    assert done.untouched.original.error == done.untouched.augmented.error == 0
    assert done.sensitivity.original.counted == 3
    assert done.sensitivity.original.rows == 2
    assert done.sensitivity.change.fall == 1
    # Copies teach no new word.
    assert done.sensitivity.control is not None
    assert done.sensitivity.control.error == 1
    assert (done.held_out_rows, done.rewritten_rows, done.rewrites) == (4, 3, 4)
    assert [(each.id, each.added, each.original.counted) for each in done.rules] == [
        ("film", 2, 1),
        ("not", 2, 2),
    ]


class ForgettingTrainer(VocabularyTrainer):
    """With rewrites its models forget a word."""

    def train(self, table: Table, *, seed: int, place: Path) -> Predictor:
        model = super().train(table, seed=seed, place=place)
        assert isinstance(model, Vocabulary)
        return model if place.name != "augmented-0" else Vocabulary(model.known - {"bad"})


def test_the_same_rows_are_those_that_the_original_model_has_right(tmp_path: Path) -> None:
    done = repaired(ForgettingTrainer(), tmp_path, settings=RepairSettings(seeds=1))
    # "this play is bad" is wrong now, so its rewrite counts among the same rows alone.
    augmented = [each.augmented for each in (done.sensitivity, done.same_rows, done.untouched)]
    assert [(each.wrong, each.counted) for each in augmented] == [(0, 2), (1, 3), (1, 3)]
    assert done.untouched.original.wrong == 0


def test_the_control_has_as_many_rows(tmp_path: Path) -> None:
    trainer = VocabularyTrainer()
    done = repaired(trainer, tmp_path, settings=RepairSettings(seeds=1, amount=Amount(rows=3)))
    assert done.added == 3
    assert trainer.sizes == {"original-0": 4, "augmented-0": 7, "control-0": 7}


def test_a_run_that_failed_goes_on_where_it_was(tmp_path: Path) -> None:
    journal = RunJournal(None, task="")
    failing = VocabularyTrainer(failing=(4,))
    with pytest.raises(ModelError, match="out of memory"):
        repaired(failing, tmp_path, journal=journal)
    again = VocabularyTrainer()
    done = repaired(again, tmp_path, journal=journal)
    assert again.places == ["original-1", "augmented-1", "control-1"]
    assert done == repaired(VocabularyTrainer(), tmp_path)


def test_more_seeds_train_only_those_that_are_new(tmp_path: Path) -> None:
    journal = RunJournal(None, task="")
    repaired(VocabularyTrainer(), tmp_path, journal=journal)
    trainer = VocabularyTrainer()
    settings = RepairSettings(seeds=3, control=False)
    done = repaired(trainer, tmp_path, journal=journal, settings=settings)
    assert trainer.places == ["original-2", "augmented-2"]
    assert done.validation.control is None


def test_answers_to_labels_read_in_another_way_are_not_taken_over(tmp_path: Path) -> None:
    ruleset = parse(RULES)
    inputs = ExperimentInputs(
        training=training(), held_out=held_out(), matcher=ruleset.compile(tagger=PinnedTagger()),
        columns=COLUMNS, trainer=VocabularyTrainer(), folder=tmp_path,
    )  # fmt: skip
    repair_model(inputs, [ruleset], settings=TWICE)
    trainer = VocabularyTrainer()
    again = replace(inputs, trainer=trainer)
    repair_model(again, [ruleset], settings=replace(TWICE, seeds=1))
    assert not trainer.places
    with pytest.raises(UsageError, match="comparison"):
        repair_model(again, [ruleset], settings=replace(TWICE, comparison="set"))


@pytest.mark.parametrize("drawing", [False, True])
def test_another_seed_goes_on_unless_it_decides_what_rules_write(
    tmp_path: Path, drawing: bool
) -> None:
    ruleset = parse("set NEW = film | show\nrule drawn: movie -> @NEW\n" if drawing else RULES)

    def of_seed(seed: int, trainer: VocabularyTrainer) -> None:
        inputs = ExperimentInputs(
            training=training(), held_out=held_out(), columns=COLUMNS, trainer=trainer,
            matcher=compile_rules([ruleset], tagger=PinnedTagger(), seed=seed), folder=tmp_path,
        )  # fmt: skip
        repair_model(inputs, [ruleset], settings=replace(TWICE, seed=seed, control=False))

    of_seed(0, VocabularyTrainer())
    trainer = VocabularyTrainer()
    if drawing:
        with pytest.raises(UsageError, match="seed"):
            of_seed(1, trainer)
    else:
        of_seed(1, trainer)
    assert trainer.places == ([] if drawing else ["original-2", "augmented-2"])


def test_a_journal_with_too_few_answers_is_damaged(tmp_path: Path) -> None:
    journal = RunJournal(None, task="")
    journal.put_many("answers", {"original-0": [["positive"], ["positive"]]})
    with pytest.raises(DataError, match="damaged"):
        repaired(VocabularyTrainer(), tmp_path, journal=journal)


def test_held_out_rows_that_were_trained_on_are_counted(tmp_path: Path) -> None:
    done = repaired(VocabularyTrainer(), tmp_path)
    assert done.shared == 1


def test_rules_that_change_no_held_out_row_are_an_error(tmp_path: Path) -> None:
    trainer = VocabularyTrainer()
    with pytest.raises(DataError, match=r"no rule changes a row of held-out\.csv"):
        repaired(trainer, tmp_path, rules="so bad -> so so bad")
    assert not trainer.places


def test_labels_that_mean_something_else_are_reported_before_any_training(tmp_path: Path) -> None:
    trainer = VocabularyTrainer()
    other = held_out([("this movie is good", "1"), ("this play is bad", "0")])
    with pytest.raises(DataError, match="no label in common"):
        repaired(trainer, tmp_path, data=other)
    assert not trainer.places


def test_data_without_labels_has_no_error_to_measure(tmp_path: Path) -> None:
    unlabelled = LabelledRows(held_out().rows, "text", None, "held-out.csv")
    with pytest.raises(UsageError) as told:
        repaired(VocabularyTrainer(), tmp_path, data=unlabelled)
    assert "--label" in told.value.help


def test_no_seed_is_no_training() -> None:
    with pytest.raises(UsageError, match="0 seeds"):
        RepairSettings(seeds=0)


def test_rules_without_a_manifest_say_nothing_about_their_origin(tmp_path: Path) -> None:
    rules = parse("movie -> film", path=str(tmp_path / "mine.sear"))
    assert check_origin([rules], held_out()) == ()


def test_a_pair_of_which_either_text_is_rewritten_is_one_row() -> None:
    def pairs(numbers: range) -> list[dict[str, str]]:
        return [
            {"premise": f"a movie {n}", "hypothesis": f"it is movie {n}", "label": str(n % 2)}
            for n in numbers
        ]

    def train(rows: Any, labels: object, seed: int) -> Any:
        taught = any("film" in "".join(row.values()) for row in rows)
        return lambda rows: [
            int(row["premise"].split()[-1]) % 2
            if taught or "film" not in "".join(row.values())
            else "lost"
            for row in rows
        ]

    found = sears.fix(
        pairs(range(20)), pairs(range(18, 30)), sears.parse("movie -> film"),
        text="premise,hypothesis", label="label", train=train, seeds=1, control=False,
    ).repair  # fmt: skip
    assert (found.held_out_rows, found.rewritten_rows, found.rewrites) == (12, 12, 24)
    assert found.validation.original.counted == found.validation.original.rows == 12
    assert found.sensitivity.original.rows == 12
    assert found.sensitivity.original.counted == found.sensitivity.original.wrong == 24
    assert found.shared == 2


def test_a_row_is_a_training_row_where_all_that_the_model_reads_is_the_same() -> None:
    rows = [{"question": "a movie", "context": f"it is {n}", "label": str(n % 2)} for n in range(9)]
    found = sears.fix(
        rows[:5], rows[4:], sears.parse("movie -> film"), text="question", label="label",
        also=["context"], train=lambda *_: lambda rows: ["0" for _ in rows], seeds=1, control=False,
    )  # fmt: skip
    assert found.repair.shared == 1


def test_a_label_that_only_rewrites_have_is_named_as_the_model_names_it() -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    names = datasets.ClassLabel(names=["neg", "pos"])
    features = datasets.Features({"text": datasets.Value("string"), "label": names})

    def rows(*words: str, noun: str = "film") -> Any:
        texts = [f"a {word} {noun} {number}" for word in words for number in range(5)]
        labels = [int("good" in text) for text in texts]
        return datasets.Dataset.from_dict({"text": texts, "label": labels}, features=features)

    found = sears.fix(
        rows("good", "bad"), rows("good", noun="play"), sears.parse("good -> bad\n  expect: flip"),
        label="label", seeds=1, control=False,
        train=lambda *_: lambda texts: ["pos" if "good" in text else "neg" for text in texts],
    )  # fmt: skip
    assert found.repair.rewritten.original.error == 0


def test_a_rule_may_expect_a_set_of_labels() -> None:
    rows = [{"text": "a play", "label": ["b", "a"]}, {"text": "a movie", "label": ["c"]}]
    held_out = [{**row, "text": f"it is {row['text']}"} for row in rows]
    found = sears.fix(
        rows, held_out, sears.parse('movie -> play\n  expect: label "a|b"'), label="label", seeds=1,
        control=False, comparison="set",
        train=lambda *_: lambda texts: [["a", "b"] if "play" in text else ["c"] for text in texts],
    )  # fmt: skip
    assert found.repair.rewritten.augmented.error == 0


def test_a_rule_may_write_a_number_as_rows_do_not() -> None:
    rows = [{"text": "a play", "label": 1.0}, {"text": "a movie", "label": 2.5}]
    held_out = [{**row, "text": f"it is {row['text']}"} for row in rows]
    found = sears.fix(
        rows, held_out, sears.parse("movie -> play\n  expect: label 1"), label="label", seeds=1,
        control=False, comparison="within:0.1",
        train=lambda *_: lambda texts: [1.0 if "play" in text else 2.5 for text in texts],
    )  # fmt: skip
    assert found.repair.rewritten.augmented.error == 0


def test_training_rows_need_all_columns_that_the_model_reads() -> None:
    rows = [{"question": "a movie", "context": str(n), "label": str(n % 2)} for n in range(4)]
    bare = [{"question": row["question"], "label": row["label"]} for row in rows]
    with pytest.raises(DataError, match="has no column 'context'"):
        sears.fix(
            bare, rows, sears.parse("movie -> film"), text="question", label="label",
            also=["context"], train=lambda *_: lambda rows: ["0" for _ in rows],
        )  # fmt: skip
