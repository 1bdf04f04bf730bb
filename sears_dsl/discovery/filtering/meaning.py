"""A rule is judged where it acts: on much text, before the model under test is asked.

In: rules that each replace certain words, a corpus, a scorer. Out: `Judgements`: the rules of which
nearly all rewrites keep the meaning, with what was counted. A rule that fails in some places comes
back narrowed to the others, also one that passes but is clearly better there. Always holds: what
the model under test answers takes no part; a rule passes exactly if the lower bound of the share of
its rewrites that keep the meaning, over the first `SAMPLE` of its places in the corpus or all that
there are, is at least 1 - δ; the texts that choose the condition of a narrowed rule do not judge
it. Costs what the scorer costs for the rewrites looked at: three for most rules (of whose first
three none keeps the meaning, that one is left, whatever the others would say), `SAMPLE` for one
that passes.

The share. A scorer is no reader: of rewrites that readers accept it says S ≥ τ of some only, and of
some that they refuse as well. Both shares are measured for the shipped judge (`Accuracy`), so that
what is seen says what readers would say, as the result of a screening test says how frequent an
illness is (Rogan and Gladen 1978). Where nothing is measured its word is taken, as in the paper.

The bound. Wilson's at 90%, one-sided, since a rule that is better than it has to be is welcome;
90%, since what passes is read by a person anyway, and 95% takes twice the text for rules of rare
words. Of a scorer that is always right 57 of 60 rewrites have to reach τ where δ is 0.1, and of 15
all; of fewer than 8 none is believed, whatever the scorer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sears_dsl.discovery.counts import TextVerdict
from sears_dsl.discovery.filtering.corpus import Corpus, Places
from sears_dsl.discovery.filtering.narrowing import Sites, narrowed
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Rule
from sears_dsl.meaning.scorer import Scorer
from sears_dsl.meaning.scorers import Accuracy
from sears_dsl.statistics import wilson_interval

__all__ = ["CONFIDENCE", "LEAST", "SAMPLE", "Judged", "Judgements", "allowed_losses", "judge_rules"]

SAMPLE = 60
"""Rewrites of a rule that are judged, where there are so many."""

CONFIDENCE = 0.9
"""Of the one-sided bound that a rule has to pass."""

LEAST = 8
"""Rewrites of which fewer prove nothing."""

# A sample is looked at in so many steps; what cannot pass any more is left.
_STEPS = (3, 6, 12, 24, SAMPLE)
# A change that keeps the meaning in fewer of its first places than this is not worth narrowing.
_PROMISE, _FIRST = 1 / 3, 12
# One that keeps it more often than this is as good as any narrowed form of it.
_CLEAR = 0.9
# Accepted rewrites beside one neighbour from which on a condition may name it.
_LEAST_BESIDE = 3
# A longer condition is worth its words where it acts in so many times the rows.
_WORTH = 1.25


@cache
def allowed_losses(count: int, share: float) -> int:
    """How many of so many rewrites may fall below τ for a rule to pass; -1 where none is enough.

    Args:
        count: how many rewrites are judged.
        share: what the lower bound of the share of S ≥ τ has to be.

    Example:
        >>> [allowed_losses(count, 0.9) for count in (14, 15, 60)], allowed_losses(60, 0.63)
        ([-1, 0, 3], 17)
    """
    if count < LEAST:
        return -1
    losses = np.arange(count + 1)
    two_sided = 2 * CONFIDENCE - 1
    low, _ = wilson_interval(count - losses, np.full(count + 1, count), confidence=two_sided)
    return int((low >= share - 1e-12).sum()) - 1


@dataclass(frozen=True, slots=True)
class Judged:
    """A rule, and what its rewrites on text say of it.

    Attributes:
        rule: the rule.
        verdict: what was counted.
        change: the position of the rule among those given, or of the one that it narrows.
        narrowed: whether it is narrowed.
    """

    rule: Rule
    verdict: TextVerdict
    change: int
    narrowed: bool


@dataclass(slots=True)
class Judgements:
    """What came of judging rules.

    Attributes:
        passed: rules that keep the meaning nearly everywhere, in the order given, one a change.
        failed: those that do not, narrowed ones too.
        too_few: how many act at too few places to be judged; they are among the failed.
        undecided: how many there was no time for.
        decisions: how many rewrites were judged.
    """

    passed: list[Judged] = field(default_factory=list)
    failed: list[Judged] = field(default_factory=list)
    too_few: int = 0
    undecided: int = 0
    decisions: int = 0


def judge_rules(
    rules: Sequence[Rule],
    corpus: Corpus,
    *,
    scorer: Scorer,
    tau: float,
    delta: float,
    accuracy: Accuracy = Accuracy(),  # noqa: B008 - a frozen value
    supported: Callable[[Sequence[Rule]], NDArray[np.bool_]] | None = None,
    stop: Callable[[], bool] = lambda: False,
    portion: int = 1024,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Judgements:
    r"""Judge rules on a corpus, and narrow those that fail in some places only.

    Args:
        rules: mined rules that replace words.
        corpus: the text.
        scorer: S, asked only whether a pair reaches τ.
        tau: the score from which on a rewrite counts as equivalent.
        delta: the share of a rule's rewrites that may lose the meaning.
        accuracy: how often the scorer is right about a rewrite.
        supported: says of narrowed rules whether they act in enough rows; all do if None.
        stop: asked before each portion; True leaves what is open undecided.
        portion: pairs that the scorer gets at once.
        on_progress: told how many rules of how many are decided.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> from sears_dsl.tagging.pinned import PinnedTagger
        >>> class NoPlants:
        ...     name, identity, tau = "no plants", "no plants", 0.5
        ...     def scores(self, pairs):
        ...         return np.array([0.1 if "tree" in old else 0.9 for old, _ in pairs])
        ...     def at_least(self, pairs, tau):
        ...         return self.scores(pairs) >= tau
        >>> corpus = Corpus.of([f"A big {what} {n}." for n in range(40) for what in ("house",
        ...     "tree")], tagger=PinnedTagger(), sample=[])
        >>> found = judge_rules(parse("A big -> A large\nA -> One").rules, corpus,
        ...     scorer=NoPlants(), tau=0.5, delta=0.1)
        >>> [print_rule(each.rule) for each in found.passed]
        ['A big -> A large / __ house']
    """
    judge = _Judge(
        corpus=corpus, scorer=scorer, tau=tau, share=accuracy.seen(1 - delta), accuracy=accuracy,
        stop=stop, portion=portion, on_progress=on_progress,
    )  # fmt: skip
    found = Judgements()
    plain: dict[int, Judged] = {}
    trials = judge.tried(rules)
    for number, trial in enumerate(trials):
        judged = Judged(rules[number], trial.verdict, number, narrowed=False)
        if judged.verdict.passed:
            plain[number] = judged
        else:
            found.failed.append(judged)
        found.too_few += trial.allowed < 0
        found.undecided += trial.is_open
    hopeful = [each for each, trial in enumerate(trials) if trial.is_promising]
    for place, verdicts in judge.narrowings([rules[each] for each in hopeful], supported):
        change = hopeful[place]
        all_ = [Judged(rule, verdict, change, narrowed=True) for rule, verdict in verdicts]
        found.failed += [each for each in all_ if not each.verdict.passed]
        passed = [each for each in all_ if each.verdict.passed]
        if change in plain:
            passed = [each for each in passed if _is_clearly_better(each, plain[change])]
        best = _plainest(passed)
        if best is not None:
            plain[change] = best
    found.passed = [plain[change] for change in sorted(plain)]
    found.decisions = judge.decisions
    return found


def _is_clearly_better(narrowed: Judged, plain: Judged) -> bool:
    """Whether a narrowed rule surely keeps the meaning more often than the plain one did."""
    one, other = narrowed.verdict, plain.verdict
    low, _ = wilson_interval(one.accepted, one.sampled, confidence=2 * CONFIDENCE - 1)
    return float(low) > other.accepted / other.sampled


def _plainest(passed: Sequence[Judged]) -> Judged | None:
    """Of narrowed forms of one change the shortest, or a longer one that acts much more often."""
    best: Judged | None = None
    for each in sorted(passed, key=lambda each: len(print_rule(each.rule))):
        if best is None or each.verdict.places >= _WORTH * best.verdict.places:
            best = each
    return best


@dataclass(slots=True)
class _Trial:
    """A rule whose rewrites are being judged.

    Attributes:
        pairs: what is to be judged, in this order.
        places: in how many texts the rule acts.
        share: what the lower bound of the share of S ≥ τ has to be.
        accuracy: how often the scorer is right.
        answers: for the first of the pairs, whether each reaches τ.
    """

    pairs: Sequence[tuple[str, str]]
    places: int
    share: float
    accuracy: Accuracy
    answers: list[bool] = field(default_factory=list)

    @property
    def allowed(self) -> int:
        return allowed_losses(len(self.pairs), self.share)

    @property
    def accepted(self) -> int:
        return sum(self.answers)

    @property
    def losses(self) -> int:
        return len(self.answers) - self.accepted

    @property
    def is_open(self) -> bool:
        """Whether more answers can make it pass, or worth narrowing."""
        asked = len(self.answers)
        if self.allowed < 0 or asked == len(self.pairs):
            return False
        if asked >= _STEPS[0] and not self.accepted:
            return False
        return asked < _FIRST or self.losses <= self.allowed

    @property
    def is_promising(self) -> bool:
        """Whether it keeps the meaning in some places, and clearly not in all."""
        if self.allowed < 0 or self.is_open:
            return False
        return _PROMISE * len(self.answers) <= self.accepted < _CLEAR * len(self.answers)

    @property
    def verdict(self) -> TextVerdict:
        asked = len(self.answers)
        low, _ = wilson_interval(self.accepted, asked, confidence=2 * CONFIDENCE - 1)
        return TextVerdict(
            sampled=asked,
            accepted=self.accepted,
            low=self.accuracy.true(float(low)),
            places=self.places,
            few=len(self.pairs) < SAMPLE,
            passed=asked == len(self.pairs) and self.losses <= self.allowed,
        )


@dataclass(slots=True, kw_only=True)
class _Judge:
    """Asks the scorer about the places of rules."""

    corpus: Corpus
    scorer: Scorer
    tau: float
    share: float
    accuracy: Accuracy
    stop: Callable[[], bool]
    portion: int
    on_progress: Callable[[int, int], None]
    decisions: int = 0

    def tried(self, rules: Sequence[Rule], *, half: bool | None = None) -> list[_Trial]:
        """The rules judged as far as it takes to say whether they pass."""
        trials = self._trials(self.corpus.places(rules, SAMPLE, half=half))
        for step in _STEPS:
            self._answer([(each, step) for each in trials if each.is_open])
        return trials

    def narrowings(
        self,
        rules: Sequence[Rule],
        supported: Callable[[Sequence[Rule]], NDArray[np.bool_]] | None,
    ) -> list[tuple[int, list[tuple[Rule, TextVerdict]]]]:
        """For each rule what it is narrowed to, judged on the half that did not choose it."""
        found: dict[int, dict[Rule, TextVerdict]] = {}
        for half in (False, True):
            chosen = list(self._narrowed(rules, half))
            if chosen and supported is not None:
                enough = supported([rule for _, rule in chosen]).tolist()
                chosen = [each for each, is_enough in zip(chosen, enough, strict=True) if is_enough]
            trials = self.tried([rule for _, rule in chosen], half=not half)
            for (number, rule), trial in zip(chosen, trials, strict=True):
                found.setdefault(number, {}).setdefault(rule, trial.verdict)
        return [(number, list(verdicts.items())) for number, verdicts in sorted(found.items())]

    def _narrowed(self, rules: Sequence[Rule], half: bool) -> Iterator[tuple[int, Rule]]:
        """What the texts of one half say that rules should be narrowed to."""
        corpus = self.corpus
        places = corpus.places(rules, SAMPLE, half=half)
        trials = self._trials(places)
        self._answer([(each, SAMPLE) for each in trials])
        for number, (rule, trial) in enumerate(zip(rules, trials, strict=True)):
            if len(trial.answers) < len(trial.pairs):
                continue
            at = places.of_rule(number)
            forms = narrowed(
                rule,
                corpus.tokens,
                Sites(places.rows[at], places.starts[at], places.ends[at]),
                np.array(trial.answers, np.int8),
                tagger=corpus.tagger,
                delta=(1 - self.share) / 2,
                least=_LEAST_BESIDE,
                negations=False,
            )
            for form in forms:
                yield number, form.rule

    def _trials(self, places: Places) -> list[_Trial]:
        originals = self.corpus.tokens.texts
        pairs = [
            (originals[row], text)
            for row, text in zip(places.rows.tolist(), places.texts, strict=True)
        ]
        return [
            _Trial(pairs[places.of_rule(rule)], found, self.share, self.accuracy)
            for rule, found in enumerate(places.found.tolist())
        ]

    def _answer(self, wanted: Sequence[tuple[_Trial, int]]) -> None:
        """Ask about the first pairs of trials, up to so many; all of a trial or none."""
        first = 0
        while first < len(wanted) and not self.stop():
            last = first
            pairs: list[tuple[str, str]] = []
            while last < len(wanted) and len(pairs) < self.portion:
                trial, upto = wanted[last]
                pairs += trial.pairs[len(trial.answers) : upto]
                last += 1
            answers = iter(self.scorer.at_least(pairs, self.tau).tolist()) if pairs else iter(())
            self.decisions += len(pairs)
            for trial, upto in wanted[first:last]:
                missing = len(trial.pairs[len(trial.answers) : upto])
                trial.answers += [next(answers) for _ in range(missing)]
            first = last
            self.on_progress(first, len(wanted))
