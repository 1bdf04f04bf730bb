"""Joined contexts: chosen on some rows, judged on others, and told by yet others.

The null test lets a coin be the scorer: whatever is then joined is joined by luck, and what is said
of it must be what the coin does elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from sears_dsl.discovery.application import Applications, apply_candidates
from sears_dsl.discovery.contexts import join_contexts
from sears_dsl.discovery.labelled import LabelledRows
from sears_dsl.discovery.pipeline import discover
from sears_dsl.discovery.settings import Settings
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Rule
from sears_dsl.language.ruleset import parse
from sears_dsl.text.pinned import PinnedTagger
from sears_dsl.text.tokens import Tokens

TAGGER = PinnedTagger(
    {
        "is": ("AUX", "VBZ"),
        "was": ("AUX", "VBD"),
        "and": ("CCONJ", "CC"),
        "men": ("NOUN", "NNS"),
        "just": ("ADV", "RB"),
        "so": ("ADV", "RB"),
    }
)
Keeps = Callable[[str], bool]


class Opinion:
    """A scorer that knows which originals allow a change, and counts questions."""

    name = identity = "opinion"
    tau = 0.5

    def __init__(self, keeps: Keeps) -> None:
        self._keeps = keeps
        self.asked: list[tuple[str, str]] = []

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        self.asked.extend(pairs)
        return np.array([float(self._keeps(original)) for original, _ in pairs])

    def at_least(self, pairs: Sequence[tuple[str, str]], tau: float) -> NDArray[np.bool_]:
        return self.scores(pairs) >= tau


def joined(
    rows: Sequence[str],
    keeps: Keeps,
    *,
    rules: str = "just -> only",
    flips: Callable[[str], bool] = lambda _: True,
    minimum_flips: int = 2,
    delta: float = 0.1,
    parts: Sequence[int] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[list[Rule], Applications, Opinion, Tokens]:
    """One part chooses, if nothing else is said."""
    tokens = TAGGER.tag(rows)
    candidates = parse(rules).rules
    done = apply_candidates(candidates, tokens, tagger=TAGGER)
    flipped = np.array([flips(done.originals[row]) for row in done.rows], np.bool_)
    scorer = Opinion(keeps)
    found = join_contexts(
        candidates, done, flipped, tokens, tagger=TAGGER, scorer=scorer, tau=0.5, delta=delta,
        minimum_flips=minimum_flips, stop=stop,
        parts=np.zeros(len(rows), int) if parts is None else np.array(parts),
    )  # fmt: skip
    return [each.rule for each in found], done, scorer, tokens


def often(*rows: str) -> list[str]:
    """Each row as often as a context needs to be judged, in words of its own."""
    return [f"{row} {number}" for row in rows for number in range(5)]


def test_contexts_that_keep_the_meaning_are_joined() -> None:
    rows = often("it is just a", "men was just b", "x and just c", "men just d")
    found, *_ = joined(rows, lambda row: "men just" not in row)
    assert [print_rule(rule) for rule in found] == [
        "just -> only / (AUX|CCONJ) __",
        "just -> only / (CC|VBD|VBZ) __",
    ]


def test_the_beginning_and_the_end_of_a_row_are_contexts() -> None:
    rows = often("just men", "just so", "is just", "men just", "men just so")
    found, *_ = joined(rows, lambda row: not row.startswith("men"))
    assert "just -> only / (AUX|<s>) __" in [print_rule(rule) for rule in found]
    rows = [f"{number} so just" for number in range(5)] + often("just so", "men just")
    found, *_ = joined(rows, lambda row: row.endswith("just"))
    assert "just -> only / __ </s>" in [print_rule(rule) for rule in found]


def test_a_change_that_keeps_the_meaning_everywhere_needs_no_context() -> None:
    found, *_ = joined(often("is just a", "and just b"), lambda _: True)
    assert found == []


def test_too_few_flips_join_nothing() -> None:
    rows = often("is just a", "and just b", "men just c")
    found, *_ = joined(
        rows, lambda row: "men" not in row, flips=lambda row: row.endswith("1"), minimum_flips=3
    )
    assert found == []


def test_a_context_does_not_carry_another_one() -> None:
    rows = [f"is just {number}" for number in range(60)] + often("men just")
    found, *_ = joined(rows, lambda row: "men" not in row, delta=0.05)
    assert [print_rule(rule) for rule in found] == [
        "just -> only / AUX __",
        "just -> only / VBZ __",
    ]


def test_a_context_of_fewer_than_five_rows_is_not_judged() -> None:
    rows = [*often("is just", "men just"), *(f"and just {number}" for number in range(4))]
    found, *_ = joined(rows, lambda row: "men" not in row)
    assert [print_rule(rule) for rule in found] == [
        "just -> only / AUX __",
        "just -> only / VBZ __",
    ]


def test_a_part_chooses_by_its_own_rows_alone() -> None:
    rows = [*often("is just", "and just", "men just"), *(f"is just {n}" for n in range(10, 15))]
    parts = [0] * 15 + [1] * 5
    # What the other part's rows would say about AUX is the contrary.
    good = set(rows[:10])
    found, *_ = joined(rows, good.__contains__, parts=parts)
    assert "just -> only / (AUX|CCONJ) __" in [print_rule(rule) for rule in found]


def test_changes_that_lose_the_meaning_cost_a_first_look_alone() -> None:
    rows = [f"is just {number}" for number in range(50)]
    _, _, scorer, _ = joined(rows, lambda _: False)
    assert len(scorer.asked) == 6


def test_rules_with_tags_or_neighbours_are_not_changes() -> None:
    rows = often("is just a", "and just b", "men just c")
    rules = "ADV -> only\nis just -> is only\n<> -> now / just __"
    found, _, scorer, _ = joined(rows, lambda row: "men" not in row, rules=rules, minimum_flips=1)
    assert found == []
    assert scorer.asked == []


def test_without_time_nothing_is_joined() -> None:
    rows = often("is just a", "and just b", "men just c")
    found, *_ = joined(rows, lambda row: "men" not in row, stop=lambda: True)
    assert found == []


def test_what_was_asked_before_time_ended_is_joined() -> None:
    rows = [f"{word} {change} {n}" for change in ("just", "so") for word in ("is", "and", "men")
            for n in range(200)]  # fmt: skip
    looks = iter([False, False, *[True] * 9])
    found, *_ = joined(
        rows,
        lambda row: "men" not in row,
        rules="just -> only\nso -> thus",
        stop=lambda: next(looks),
    )
    assert [print_rule(rule) for rule in found][:1] == ["just -> only / (AUX|CCONJ) __"]
    assert not any("thus" in print_rule(rule) for rule in found)


WORDS = ("just", "so", "really", "very", "quite", "rather", "too", "still", "now", "then")
NEIGHBOURS = ("is", "was", "and", "men", "or", "the", "she")
CONTEXTS = PinnedTagger(
    {
        "is": ("AUX", "VBZ"), "was": ("AUX", "VBD"), "and": ("CCONJ", "CC"), "men": ("NOUN", "NNS"),
        "or": ("CCONJ", "CC"), "the": ("DET", "DT"), "she": ("PRON", "PRP"),
    }
)  # fmt: skip


def chance(*parts: object) -> float:
    """A number in [0, 1) that looks drawn, the same for the same parts."""
    whole = blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(whole, "big") / 2**64


def sentences(count: int, begin: int) -> list[str]:
    """Rows of a change's word between two neighbours."""
    return [
        f"{pick(NEIGHBOURS, n, 1)} {pick(WORDS, n, 2)} {pick(NEIGHBOURS, n, 3)} {n}"
        for n in range(begin, begin + count)
    ]


def pick(words: Sequence[str], number: int, what: int) -> str:
    return words[int(chance(number, what) * len(words))]


@dataclass(frozen=True)
class Coin:
    """A scorer that knows nothing: a pair keeps the meaning or not, by its hash."""

    keeps: float
    seed: int
    name = identity = "coin"
    tau = 0.5

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        return np.array([float(chance(self.seed, *pair) < self.keeps) for pair in pairs])

    def at_least(self, pairs: Sequence[tuple[str, str]], tau: float) -> NDArray[np.bool_]:
        return self.scores(pairs) >= tau


class Swapping:
    """Rewords each word in the same way."""

    def paraphrase(self, sentences: Sequence[str]) -> list[list[Reworded]]:
        return [
            [Reworded(f"{left} {word}x {right} {number}")]
            for left, word, right, number in map(str.split, sentences)
        ]


class Reworded(NamedTuple):
    text: str


class Sometimes:
    """A model that fails on half of the rewordings, by their hash."""

    identity = "sometimes"

    def predict(self, rows: Sequence[Mapping[str, str]]) -> list[str]:
        return ["0" if "x " in row["text"] and chance(row["text"]) < 0.5 else "1" for row in rows]


@pytest.mark.parametrize("holdout", [0.3, 0.0])
@pytest.mark.parametrize(("keeps", "delta"), [(0.6, 0.3), (0.7, 0.2), (0.85, 0.1)])
def test_what_is_said_of_joined_rules_holds_elsewhere_when_the_scorer_is_a_coin(
    keeps: float, delta: float, holdout: float
) -> None:
    said = rows = elsewhere = others = 0
    for seed in range(10):
        coin = Coin(keeps, seed)
        texts = sentences(900, begin=seed * 2000)
        found = discover(
            LabelledRows(tuple({"text": text} for text in texts), "text", None, "rows.csv"),
            Sometimes(),
            paraphraser=Swapping(),
            scorer=coin,
            tagger=CONTEXTS,
            settings=Settings(
                rules=1000, delta=delta, minimum_flips=1, holdout=holdout, seed=seed, context=0
            ),
        )
        joined_rules = [each for each in found.rules if each.joined]
        said += sum(each.at_tau for each in joined_rules)
        rows += sum(each.changed for each in joined_rules)
        fresh = CONTEXTS.tag(sentences(900, begin=seed * 2000 + 1000))
        if joined_rules:
            done = apply_candidates([each.rule for each in joined_rules], fresh, tagger=CONTEXTS)
            kept = coin.at_least(done.pairs(np.arange(len(done.texts))), 0.5)
            elsewhere += int(done.count(kept).sum())
            others += len(done)
    assert rows > 60, "the test needs rules that were joined by luck"
    # A rewrite counts for several rules at most four times or so.
    spread = 2 * np.sqrt(keeps * (1 - keeps) * (1 / rows + 1 / others))
    assert said / rows == pytest.approx(elsewhere / others, abs=3 * spread)
    assert said / rows == pytest.approx(keeps, abs=3 * spread)


def test_joined_rules_that_keep_the_meaning_are_found_and_said_to() -> None:
    @dataclass(frozen=True)
    class AfterVerbs(Coin):
        def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
            return np.array([float(old.split()[0] in ("is", "was")) for old, _ in pairs])

    texts = sentences(2000, begin=0)
    found = discover(
        LabelledRows(tuple({"text": text} for text in texts), "text", None, "rows.csv"),
        Sometimes(),
        paraphraser=Swapping(),
        scorer=AfterVerbs(0, 0),
        tagger=CONTEXTS,
        settings=Settings(context=0),
    )
    assert found.funnel.held_out > 500
    rule = found.rules[0]
    assert rule.joined
    assert rule.text.endswith("/ AUX __") or "VBD|VBZ" in rule.text
    assert rule.at_tau == rule.changed
    assert rule.held_out is not None
    assert (rule.held_out.changed, rule.held_out.at_tau) == (rule.changed, rule.at_tau)


def test_joining_applications_keeps_numbers_and_finds_equal_rewrites() -> None:
    tokens = TAGGER.tag(["is just a", "and just b"])
    one = apply_candidates(parse("just -> only\njust -> <>").rules, tokens, tagger=TAGGER)
    other = apply_candidates(
        parse("just -> only / AUX __\njust -> so").rules, tokens, tagger=TAGGER
    )
    both = one.joined_to(other)
    assert both.rule_count == 4
    assert list(both.texts[: len(one.texts)]) == list(one.texts)
    assert len(set(zip(both.rows.tolist(), both.texts, strict=True))) == len(both.texts)
    for rule in range(4):
        part, number = (one, rule) if rule < 2 else (other, rule - 2)
        assert both.pairs(both.of_rule(rule)) == part.pairs(part.of_rule(number))


@pytest.mark.parametrize("context", ["left", "right"])
def test_rules_are_the_change_with_a_context(context: str) -> None:
    rows = often("is just is", "and just and", "men just men")
    found, *_ = joined(rows, lambda row: "men" not in row)
    change = parse("just -> only").rules[0]
    assert any(getattr(rule, context) for rule in found)
    for rule in found:
        assert (rule.antecedent, rule.consequent) == (change.antecedent, change.consequent)
