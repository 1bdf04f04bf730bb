"""Models trained on no noise, half, all and both, and their vote."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

import sears_dsl as sears
from sears_dsl.cli.commands import sears as commands
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.data.protection import Protection
from sears_dsl.data.table import Table
from sears_dsl.engine.matcher import Matcher, compile_rules
from sears_dsl.errors import DataError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.repair.amounts import (
    Amounts,
    AmountSettings,
    NoiseAmount,
    RewrittenTable,
    measure_amounts,
)
from sears_dsl.repair.augmentation import TableColumns
from sears_dsl.repair.trainers import ExperimentInputs
from sears_dsl.runtime.database import RunJournal
from sears_dsl.tagging.pinned import PinnedTagger

NOISE = "rule look-alikes: _ -> $1.homoglyph(25%)\n  rate: 100%\n"
TEXTS = [f"a movie about person {number} ." for number in range(400)]
COLUMNS = TableColumns(text="text", label="label", id="id")


class Lookup:
    """Knows the texts that it was trained on, and nothing else."""

    identity = "lookup"

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = known

    def predict(self, rows: Sequence[Mapping[str, str]]) -> list[str]:
        return [self._known.get(row["text"], "unknown") for row in rows]


class LookupTrainer:
    identity = "lookup"

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}

    def train(self, table: Table, *, seed: int, place: Path) -> Lookup:
        self.tables[place.name] = table
        return Lookup(dict(zip(table.texts("text"), table.labels("label"), strict=True)))


def table() -> Table:
    labels = [str(number % 7) for number in range(len(TEXTS))]
    ids = [f"t{number}" for number in range(len(TEXTS))]
    return Table({"id": ids, "text": TEXTS, "label": labels}, "train.csv", "csv")


def held_out(rows: Table) -> LabelledRows:
    return LabelledRows(
        tuple({"text": text} for text in rows.texts("text")),
        "text",
        tuple((label,) for label in rows.labels("label")),
        "held-out.csv",
    )


def compiled(rules: str = NOISE) -> Matcher:
    return compile_rules([parse(rules)], tagger=PinnedTagger())


def measured(folder: Path, trainer: LookupTrainer, **settings: object) -> Amounts:
    rows = table()
    with RunJournal(None, task="") as journal:
        inputs = ExperimentInputs(
            training=rows, held_out=held_out(rows), matcher=compiled(), columns=COLUMNS,
            trainer=trainer, folder=folder,
        )  # fmt: skip
        return measure_amounts(inputs, journal=journal, settings=AmountSettings(**settings))  # type: ignore[arg-type]


def test_a_model_that_memorizes_is_repaired_by_full_and_not_by_none(tmp_path: Path) -> None:
    trainer = LookupTrainer()
    found = measured(tmp_path, trainer, seeds=2)
    errors = {each.amount: (each.clean.error, each.perturbed.error) for each in found.errors}
    assert errors["none"] == (0, 1)
    assert errors["full"] == (1, 0)
    assert errors["both"] == (0, 0)
    half_clean, half_perturbed = errors["half"]
    assert half_clean is not None
    assert half_perturbed is not None
    assert half_clean + half_perturbed == pytest.approx(1)
    assert found.rewritten == found.held_out_rewritten == len(TEXTS)


def test_half_replaces_about_half_of_the_rows_and_both_doubles_them(tmp_path: Path) -> None:
    trainer = LookupTrainer()
    found = measured(tmp_path, trainer, seeds=2, amounts=("half", "full", "both"))
    rows = len(TEXTS)
    halves = []
    for seed in (0, 1):
        half, full, both = (
            trainer.tables[f"amount-{amount}-{seed}"].texts("text")
            for amount in ("half", "full", "both")
        )
        replaced = [new != old for new, old in zip(half, TEXTS, strict=True)]
        assert abs(sum(replaced) - rows / 2) < 5 * (rows / 4) ** 0.5
        # Nested: full rewrites what half rewrites in the same way.
        assert all(new in (old, rewritten)
                   for new, old, rewritten in zip(half, TEXTS, full, strict=True))  # fmt: skip
        assert both == [*TEXTS, *full]
        halves.append(replaced)
    assert halves[0] != halves[1]
    both_table = trainer.tables["amount-both-0"]
    assert len(set(both_table.columns["id"])) == len(both_table) == 2 * rows
    by_name = {each.amount: each for each in found.errors}
    assert (by_name["half"].rows, by_name["half"].rewritten) == (rows, sum(halves[0]))
    assert (by_name["both"].rows, by_name["both"].rewritten) == (2 * rows, rows)


def test_a_vote_is_of_the_models_of_none_half_and_full(tmp_path: Path) -> None:
    trainer = LookupTrainer()
    found = measured(tmp_path, trainer, seeds=1, amounts=("vote",))
    assert sorted(trainer.tables) == ["amount-full-0", "amount-half-0", "amount-none-0"]
    [vote] = found.errors
    half = trainer.tables["amount-half-0"].texts("text")
    lost = sum(new != old for new, old in zip(half, TEXTS, strict=True))
    # None knows the original texts, full the rewritten ones; half agrees with one of them.
    assert vote.clean.wrong == lost
    assert vote.perturbed.wrong == len(TEXTS) - lost


def test_what_has_to_stay_stays_in_training_rows(tmp_path: Path) -> None:
    rows = Table(
        {"text": ["a movie .", "a play ."], "label": ["1", "2"], "answer": ["movie", "a"],
         "start": [2, 0]},
        "train.csv", "csv",
    )  # fmt: skip
    settings = AmountSettings(protection=Protection.parse(["answer"], ["text=start+answer"]))
    rules = "a -> the\nmovie -> film"
    rewritten = RewrittenTable.of(
        rows, compiled(rules), columns=TableColumns(text="text", label="label"), settings=settings
    )
    assert rewritten.changed["text"] == ["the movie .", "a play ."]
    assert rewritten.changed["start"] == [4, 0]


@pytest.mark.parametrize("amounts", [(), ("none", "none"), ("some",)])
def test_amounts_that_are_none_are_refused(amounts: tuple[NoiseAmount, ...]) -> None:
    with pytest.raises(UsageError, match="--amounts"):
        AmountSettings(amounts=amounts)


def test_rules_that_change_labels_or_nothing_are_refused(tmp_path: Path) -> None:
    for rules, error, match in (
        ("a -> the\n  expect: flip", UsageError, "changes the label"),
        ("zebra -> horse", DataError, "no rule changes a row of train.csv"),
    ):
        with pytest.raises(error, match=match):
            RewrittenTable.of(table(), compiled(rules), columns=COLUMNS, settings=AmountSettings())


def test_the_command_writes_a_row_an_amount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    Path("noise.sear").write_text(NOISE, "utf-8")
    for name, count in (("train.csv", 60), ("held.csv", 30)):
        with Path(name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *(
                (f"{name} {number}: a {mood} film", mood)
                for number in range(count) for mood in ("good", "bad")
            )])  # fmt: skip
    options = ["fix", "noise.sear", "--train", "train.csv", "--data", "held.csv", "--column",
               "text", "--label", "label", "--seeds", "2", "-o", "fix.json"]  # fmt: skip
    done = CliRunner().invoke(commands, [*options, "--amounts", "none, full,vote"])
    assert done.exit_code == 0, (done.output, done.exception)
    record = json.loads(Path("fix.json").read_text("utf-8"))
    assert record["format"] == "sears-amounts"
    assert [each["amount"] for each in record["result"]["errors"]] == ["none", "full", "vote"]
    none, full, _ = record["result"]["errors"]
    assert none["perturbed"]["error"] > full["perturbed"]["error"]
    assert len(none["clean"]["of_seeds"]) == 2
    assert none["clean"]["over_seeds"] is not None
    assert "| none | 120 | 0 |" in Path("fix.md").read_text("utf-8")
    refused = CliRunner().invoke(commands, [*options, "--amounts", "full", "--min-fall", "0.5"])
    assert refused.exit_code == 2
    assert "--min-fall does not go with --amounts" in refused.output


def test_entities_of_rewritten_rows_are_compared_and_voted_on_in_their_place(
    tmp_path: Path,
) -> None:
    def places(texts: Sequence[str]) -> list[list[tuple[int, int, str]]]:
        return [[(text.index("Paris"), text.index("Paris") + 5, "LOC")] for text in texts]

    texts = [f"It is {hour} o'clock in Paris." for hour in range(9)]
    rows = [{"text": text, "label": own} for text, own in zip(texts, places(texts), strict=True)]
    found = sears.fix_by_amount(
        rows[1:], rows, sears.parse("It is -> It's"), label="label", seeds=1, comparison="entities",
        train=lambda _texts, _labels, _seed: places, amounts="none,vote",
    )  # fmt: skip
    assert found.columns["perturbed"] == [0, 0]
