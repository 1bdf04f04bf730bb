"""Several models: shared rules and distinguishing rules agree with the definition."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from command_line import call
from hypothesis import given
from hypothesis import strategies as st

import sears_dsl as sears
from sears_dsl.discovery.algorithm import across_models
from sears_dsl.discovery.result.manifest import read_manifest
from sears_dsl.discovery.selection import Coverage
from sears_dsl.errors import UsageError

pytestmark = pytest.mark.usefixtures("few_texts")

# For each rule: the rows that it flips, and which of three models fail there.
FAILURES = st.lists(
    st.dictionaries(
        st.integers(0, 5), st.tuples(*[st.booleans()] * 3).filter(any), max_size=6
    ),
    min_size=1, max_size=4,
)  # fmt: skip


def alone(rules: list[dict[int, tuple[bool, ...]]], *, shared: bool, least: int) -> list[Fraction]:
    """The counts of each rule by itself, as the page defines them."""
    found = []
    for rule in rules:
        flips = [sum(fails[model] for fails in rule.values()) for model in range(3)]
        sharing = sum(count >= least for count in flips)
        more = {
            (one, other): sum(fails[one] and not fails[other] for fails in rule.values())
            for one, other in permutations(range(3), 2)
        }
        net = (more[pair] - more[pair[::-1]] for pair in more)
        found.append(
            Fraction(sharing, 3) * sum(flips) * (sharing > 1)
            if shared
            else Fraction(sum(count for count in net if count >= least))
        )
    return found


@given(FAILURES, st.booleans(), st.integers(1, 3))
def test_what_a_rule_counts_alone_is_what_is_reported(
    rules: list[dict[int, tuple[bool, ...]]], shared: bool, least: int
) -> None:
    rows = [row for rule in rules for row in rule]
    coverage = Coverage(
        offsets=np.cumsum([0, *map(len, rules)]), rows=np.array(rows, np.int32),
        weights=np.full(len(rows), 1 << 40), row_count=6, ranks=np.arange(len(rules)),
        twins=((),) * len(rules),
    )  # fmt: skip
    fails = np.array([each for rule in rules for each in rule.values()], bool).reshape(-1, 3)
    found = across_models(coverage, fails, shared=shared, least=least)
    wanted = list(map(float, alone(rules, shared=shared, least=least)))
    assert (found.weight / (1 << 40)).tolist() == pytest.approx(wanted)
    assert len(found.rows) == 0 or found.rows.max() < found.row_count


MODELS = """\
def one(texts):
    return ["bad" if "film" in text or "nice" in text else "good" for text in texts]

def two(texts):
    return ["bad" if "nice" in text else "good" for text in texts]

def reword(sentences):
    return [[each.replace("movie", "film"), each.replace("good", "nice")] for each in sentences]

def same(pairs):
    return [1.0 for _ in pairs]
"""
NOUNS = ("plot", "cast", "score", "pace", "end", "start", "light", "sound")
ROWS = [
    (f"A movie with a good {noun}, {number}.", "good") for noun in NOUNS for number in range(15)
]


def test_rules_are_counted_by_model_and_chosen_for_what_the_user_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "two_models.py").write_text(MODELS, "utf-8")
    lines = "".join(f'"{text}",{label}\n' for text, label in ROWS)
    (tmp_path / "rows.csv").write_text("text,label\n" + lines, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    parts = ("--paraphrases", "two_models:reword", "--scorer", "two_models:same", "--tau", ".5",
             "--no-known", "--data", "rows.csv", "--label", "label",
             "-o", "found.sear")  # fmt: skip
    chosen = {}
    for across in ("shared", "apart"):
        done = call("discover", "--model", "every:two_models:one,two_models:two", *parts,
                    "--across", across, folder=tmp_path)  # fmt: skip
        assert done.returncode == 0, done.stderr
        manifest = read_manifest(tmp_path / "found.manifest.json")
        assert manifest.models == ("two_models:one", "two_models:two")
        assert manifest.settings.across == across
        (rule,) = manifest.rules
        assert rule.held_out is not None
        chosen[rule.rule] = (rule.flips_of_models, rule.held_out.flips_of_models)
        assert "of two_models:two" in done.stderr
        report = (tmp_path / "found.md").read_text("utf-8")
        assert "of `two_models:two`" in report
        assert "The searched rows are those that every model gets right" in report
    assert chosen == {"good -> nice": ((84, 84), (36, 36)), "movie -> film": ((84, 0), (36, 0))}
    alone = call("discover", "--model", "two_models:one", *parts, "--across", "apart",
                 folder=tmp_path)  # fmt: skip
    assert alone.returncode == 2
    assert "name several: --model every:SPEC,SPEC" in alone.stderr


def test_models_of_python_are_a_dictionary() -> None:
    def one(texts: list[str]) -> list[str]:
        return ["bad" if "film" in text else "good" for text in texts]

    def reword(sentences: list[str]) -> list[list[str]]:
        return [[each.replace("movie", "film")] for each in sentences]

    found = sears.discover(
        {"one": one, "other": lambda texts: ["good" for _ in texts]}, ROWS[:30], paraphraser=reword,
        scorer=lambda pairs: [1.0 for _ in pairs], tau=0.5, with_shipped=False, across="apart",
    )  # fmt: skip
    assert found.columns["flips of one"] == [30]
    assert found.columns["flips of other"] == [0]
    with pytest.raises(UsageError, match=r"across.* needs several models"):
        sears.discover(
            one, ROWS[:30], paraphraser=reword, scorer=lambda pairs: [1.0 for _ in pairs], tau=0.5,
            with_shipped=False, across="apart",
        )  # fmt: skip
