"""A reviewer's journal as an oracle: pairs by their texts, rules by the judged version."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sears_dsl.effects.oracle import FunctionOracle, TaskInstance
from sears_dsl.errors import DataError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.vetting.journal import Journal
from sears_dsl.vetting.journal_oracle import open_oracle, read_oracle
from sears_dsl.vetting.review.workbench import Workbench
from sears_dsl.vetting.running import VettingInputs

RULES = parse("rule film: movie -> film\nrule tape: movie -> tape\n", path="words.sear")


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "words.ana.vetting.jsonl"
    with Journal(path, ruleset=RULES, reviewer="ana") as opened:
        opened.append("reject", {"rule": "tape"})
        for text, same in (("film 1", False), ("film 2", True), ("film 3", False)):
            opened.append("pair", {"original": text.replace("film", "movie"), "rewritten": text,
                                   "same": same})  # fmt: skip
        opened.append("undo", {"undone": 4})
    return path


def candidate(text: str, rule: str) -> TaskInstance:
    original = f"movie {text[-1]}"
    return TaskInstance({"text": text}, original, text, rule)


CANDIDATES = [candidate(f"film {number}", "film") for number in (1, 2, 3)] + [
    candidate("tape 1", "tape")
]


def test_differing_pairs_and_rejected_rules_are_out_and_what_was_taken_back_is_in(
    journal: Path,
) -> None:
    oracle = open_oracle(str(journal), [RULES])
    assert oracle.keeps(CANDIDATES) == [False, True, True, False]
    assert oracle.identity.startswith("journal of ana, 5 entries, digest ")


def test_journals_of_as_many_other_decisions_are_other_oracles(journal: Path) -> None:
    """A run that is resumed must not take over what it did under the other one."""
    before, again = (read_oracle(journal, [RULES]).identity for _ in range(2))
    assert before == again
    journal.write_text(journal.read_text("utf-8").replace("film 3", "film 4"), "utf-8")
    assert read_oracle(journal, [RULES]).identity != before


def test_of_another_version_of_the_rules_only_the_pairs_count(journal: Path) -> None:
    newer = parse("rule film: movie -> film\nrule tape: movie -> video\n", path="words.sear")
    assert read_oracle(journal, [newer]).keeps(CANDIDATES) == [False, True, True, True]


def test_rules_are_found_by_the_names_that_they_have_beside_others(journal: Path) -> None:
    other = parse("rule tape: play -> tape\n", path="plays.sear")
    oracle = read_oracle(journal, [other, RULES])
    kept = oracle.keeps([candidate("tape 1", "words/tape"), candidate("tape 1", "plays/tape")])
    assert kept == [False, True]


def test_functions_are_oracles_too() -> None:
    assert isinstance(open_oracle(lambda rows: [True for _ in rows], []), FunctionOracle)
    assert open_oracle("builtins:sorted", []).identity.startswith("builtins:sorted")


def test_what_is_neither_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not an oracle: there is no such file"):
        open_oracle(str(tmp_path / "nothing.jsonl"), [])
    (tmp_path / "rows.csv").write_text("text\na\n")
    with pytest.raises(DataError, match="not a journal of sears vet"):
        open_oracle(str(tmp_path / "rows.csv"), [])


def test_what_an_oracle_rejects_nobody_is_shown(bench: Workbench) -> None:
    """`movie -> film` keeps five of ten rows; a typed rule is judged as well."""

    class NoNumber:
        identity = "odd numbers alone"

        def keeps(self, candidates: Sequence[TaskInstance]) -> list[bool]:
            return [int(each.text.split(" no ")[1][0]) % 2 == 1 for each in candidates]

    told: list[str] = []
    sitting = VettingInputs(data=bench.data, predictor=bench.predictor, tagger=bench.tagger,
                      oracle=NoNumber(), cached=False)  # fmt: skip
    assert sitting.sessions(bench.ruleset, {}, show=lambda *_: None, note=told.append) == {}
    whole = sum(len(bench.table.applications.of_rule(rule)) for rule in range(5))
    assert told == [f"the oracle rejected {whole // 2} rewrites, which are not shown"]
    choosy = Workbench(bench.ruleset, bench.data, bench.predictor, tokens=bench.tokens,
                       tagger=bench.tagger, oracle=NoNumber())  # fmt: skip
    film = bench.ruleset.rules[0]
    assert choosy.summary(choosy.table, 0).changed * 2 == bench.summary(bench.table, 0).changed
    assert len(choosy.apply([film]).texts) == 1
