"""Pairs, several labels and names on real rows, by the command that the benchmark prints."""

from __future__ import annotations

import json
from pathlib import Path

import joblib
import pytest
from command_line import call

from benchmarks import tasks
from benchmarks.record import DATA

CONLLU = """\
# text = Al-Zaman visits New York.
1	Al	Al	PROPN	NNP	_	4	nsubj	_	SpaceAfter=No
2	-	-	PUNCT	HYPH	_	1	punct	_	SpaceAfter=No
3	Zaman	Zaman	PROPN	NNP	_	1	flat	_	_
4	visits	visit	VERB	VBZ	_	0	root	_	_
5-6	New	_	_	_	_	_	_	_	_
5	New	New	PROPN	NNP	_	4	obj	_	_
6	York	York	PROPN	NNP	_	5	flat	_	SpaceAfter=No
7	.	.	PUNCT	.	_	4	punct	_	_

"""


def test_names_are_runs_of_proper_nouns_with_their_places() -> None:
    [(text, places)] = tasks.read_names(CONLLU.splitlines(keepends=True))
    assert [text[start:end] for start, end, _ in places] == ["Al", "Zaman", "New York"]


def test_a_pair_that_is_audited_is_not_learned_in_either_order(tmp_path: Path) -> None:
    train = [("alpha", "beta", "0"), ("beta", "alpha", "1"), ("gamma", "delta", "0"),
             ("delta", "epsilon", "1")]  # fmt: skip
    tasks._pairs(tmp_path, train, [("alpha", "beta", "0")], numbers=False)
    words = " ".join(map(str, joblib.load(tmp_path / "model.joblib")[0].vocabulary_))
    assert "gamma" in words
    assert "epsilon" in words
    assert "alpha" not in words
    assert "beta" not in words


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--only", "sick,nosuch"), "--only nosuch: the tasks are sick"),
        (("--rows", "2000"), "1000"),
    ],
)
def test_tasks_and_numbers_of_rows_that_do_not_exist_are_refused(
    words: tuple[str, ...],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["tasks", *words])
    with pytest.raises(SystemExit) as ended:
        tasks.main()
    assert ended.value.code == 2
    assert reason in capsys.readouterr().err


@pytest.mark.skipif(not DATA.is_dir(), reason="the public data is not beside this checkout")
@pytest.mark.parametrize(
    ("name", "answers", "least"),
    [("sick", 60, 0.3), ("mrpc", 60, 0.3), ("stsb", 60, 0.3), ("search", 60, 0.5),
     ("answers", 30, 0.1), ("trec", 30, 0.3), ("names", 30, 0.3)],
)  # fmt: skip
def test_the_command_of_a_task_counts_its_rows(
    name: str, answers: int, least: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "FOLDER", tmp_path)
    tasks._model.cache_clear()
    (tmp_path / name).mkdir()
    tasks.TASKS[name].make(tmp_path / name, 30)
    done = call(*tasks.command(name), "--quiet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    audit = json.loads((tmp_path / name / "audit" / "audit.json").read_text("utf-8"))
    right = audit["together"]["accuracy"]["before"]
    assert answers <= right["total"] < 2 * answers
    assert right["count"] > least * right["total"]
    assert sum(rule["right"] for rule in audit["rules"]) > 0
