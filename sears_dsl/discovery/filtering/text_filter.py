"""A rule is judged where it acts: on much text, before the model under test is asked.

A rule that fails in some places comes back narrowed to the others, and so does one that passes but
is clearly better there. The answers of the model under test play no part, except that a rule that
flips too few rows need not be narrowed. A rule passes exactly if the lower bound of the share of
its rewrites that keep the meaning, over the first `SAMPLE` of its places in the corpus or all that
there are, is at least 1 - δ. The texts that choose the condition of a narrowed rule do not judge
it. Judging costs the scores of the rewrites looked at: three for most rules, since a rule is
dropped if none of its first three rewrites keeps the meaning, and `SAMPLE` for one that passes.

The bound. Where S is the chance that readers accept a rewrite, as with the shipped judge, it is
`believed_share`: an error of the judge about a change of words recurs in all texts, so that many
rewrites alone prove little, and readings of the same change much. It holds with a chance of
`BELIEF`, so that readers accept four in five of the rules that just pass. Any other scorer is taken
at its word, S ≥ τ or not, as in the paper, and the bound is Wilson's (`CONFIDENCE`). Both are
one-sided, since a rule may be better than it has to be. Fewer than 8 rewrites prove nothing.

The text (`Corpus`). No text is there twice. The user's own texts come first, and the shipped sample
takes the places that they leave: *film* in reviews of cameras says little of a rule for reviews of
films. In either, all different neighbours of a rule's places come once before any come again. All
else is decided by hashes of texts, so that the order depends on nothing else and rules look at the
same texts as far as they can, which scorers make use of. A corpus costs the tagging of the texts,
and a run of the engine for rules.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache, cached_property, partial
from importlib.resources import files
from itertools import compress
from statistics import NormalDist
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.discovery.articles import reading_scopes
from sears_dsl.discovery.candidates import CandidateRule, Candidates
from sears_dsl.discovery.counts import BELIEF, LEAST, TextVerdict
from sears_dsl.discovery.filtering.narrowing import Sites, narrow
from sears_dsl.effects.applications import mined_options, rulesets_of
from sears_dsl.effects.asked_model import OnStage
from sears_dsl.effects.lots import lots
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.errors import DataError
from sears_dsl.judge.readings import conditional_odds
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.meaning.scorers import Pair, Scorer, scores_from
from sears_dsl.runtime.array_types import Floats, Int32Array, offsets_of, places_of
from sears_dsl.statistics import wilson_interval
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens, cut_contractions

SAMPLE_HEADING = "# sears: a sample of English, version 1"
"""The first line of the shipped sample; a file with another one is not read."""

# The number of the shipped sample among the sources of a corpus.
_SAMPLED = 2

# So many of the user's texts are taken, at random: the sample of a rule's rewrites is small.
_MOST_TEXTS = 20_000


@cache
def english_sample() -> tuple[str, ...]:
    """The sentences that the package carries; ``training/english_text.py`` says what they are."""
    packed = files(__package__).joinpath("english_text.txt.gz").read_bytes()
    heading, *lines = gzip.decompress(packed).decode("utf-8").splitlines()
    if heading != SAMPLE_HEADING:
        raise DataError(
            f"the sample of English in this installation begins with {heading!r}",
            help="install sears-dsl again: its files are of different versions",
        )
    return tuple(line.partition("\t")[2] for line in lines)


@dataclass(frozen=True, eq=False)
class Places:
    """Rewrites of rules in a corpus."""

    # int64 (rules + 1,): the places of rule r are ``offsets[r]:offsets[r + 1]``, in the order in
    # which they are to be looked at; the others int32 (places,): the row, and the tokens that the
    # rule replaces
    offsets: NDArray[np.int64]
    rows: Int32Array
    starts: Int32Array
    ends: Int32Array
    texts: Sequence[str]  # for each place the row rewritten there
    # int64 (rules,): in how many rows each rule has an instance, looked at or not
    instances: NDArray[np.int64]

    def of_rule(self, rule: int) -> slice:
        """The places of one rule."""
        return slice(int(self.offsets[rule]), int(self.offsets[rule + 1]))

    def select(self, rules: NDArray[np.integer]) -> Places:
        """The places of these rules, in this order."""
        offsets, at = places_of(self.offsets, rules)
        texts = [self.texts[each] for each in at.tolist()]
        rows, starts, ends = self.rows[at], self.starts[at], self.ends[at]
        return Places(offsets, rows, starts, ends, texts, self.instances[rules])


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts to judge rules on."""

    tokens: Tokens
    # int8 (texts,): 0 the rows of the search, 1 the user's other texts, `_SAMPLED` the sample
    sources: NDArray[np.int8]
    tagger: Tagger

    @classmethod
    def of(
        cls,
        rows: Sequence[str],
        text: Sequence[str] = (),
        *,
        tagger: Tagger,
        without: Collection[str] = (),
        sample: Sequence[str] | None = None,
    ) -> Corpus:
        """A corpus of these texts, ``without`` some, such as held-out rows.

        The ``sample`` is text in the tagger's language. It defaults to the shipped one, which is of
        English, and to none in another language.
        """
        if len(text) > _MOST_TEXTS:
            order = np.argsort(lots(text, "judged"), kind="stable")[:_MOST_TEXTS]
            text = [text[each] for each in order.tolist()]
        if sample is None:
            sample = english_sample() if tagger.language == "en" else ()
        source_of: dict[str, int] = {}
        for source, texts in enumerate((rows, text, sample)):
            for each in texts:
                if each not in without and each.strip():
                    source_of.setdefault(each, source)
        tokens = cut_contractions(tagger.tag(list(source_of)))
        return cls(tokens, np.fromiter(source_of.values(), np.int8, len(source_of)), tagger)

    @cached_property
    def lots(self) -> NDArray[np.float64]:
        """Numbers by lot, float64 (texts,): texts are looked at in the order of these."""
        return lots(self.tokens.texts, "judged")

    @cached_property
    def halves(self) -> NDArray[np.bool_]:
        """Two halves by lot, bool (texts,): what is chosen on one is judged on the other."""
        return np.asarray(lots(self.tokens.texts, "half") < 0.5)

    def places(
        self,
        rules: Sequence[Rule],
        most: int,
        *,
        half: bool | None = None,
        scopes: Sequence[Ruleset | None] = (),
    ) -> Places:
        """At most so many rewrites of each rule, at first instances in the texts (of a half).

        ``scopes`` are those of `reading_scopes`; each rule is read as `Candidates.apply` reads
        it, whatever the others are.
        """
        own = reading_scopes(rules, scopes, tagger=self.tagger)
        scoped = list(zip(rules, own, strict=True))
        # Rules that mend articles go last: a few of them would cut many others into short runs.
        order = np.argsort([scope.options.repair == "on" for _, scope in scoped], kind="stable")
        rulesets = rulesets_of([scoped[each] for each in order.tolist()])
        return self._places(rulesets, most, half).select(np.argsort(order))

    def _places(self, rulesets: Sequence[Ruleset], most: int, half: bool | None) -> Places:
        """The places of all rules of some rulesets, in their order."""
        matcher = compile_rules(rulesets, tagger=self.tagger)
        size = len(matcher.rules)
        matches = matcher.find(self.tokens)
        if half is not None:
            matches = matches.select(self.halves[matches.rows] == half)
        instances = np.bincount(matches.rules, minlength=size).astype(np.int64)
        order = self._order(matches.rules, matches.rows, matches.starts, matches.ends)
        turns = np.empty(len(order), np.int64)
        turns[order] = _turns(matches.rules[order])
        # A few more than wanted, since an instance may write what stands there already.
        sample = np.flatnonzero(turns < most + most // 4)
        chosen = matches.select(sample)
        rewrites = matcher.rewrites(self.tokens, chosen)
        distinct = rewrites.distinct()
        # Both are sorted by row and rule, and there is one instance of a rule in a row.
        place = np.searchsorted(
            chosen.rows.astype(np.int64) * size + chosen.rules,
            rewrites.rows.astype(np.int64) * size + rewrites.rules,
        )
        by_rule = np.lexsort((turns[sample][place], rewrites.rules))
        by_rule = by_rule[_turns(rewrites.rules[by_rule]) < most]
        counts = np.bincount(rewrites.rules, minlength=size)
        at = place[by_rule]
        texts = distinct.texts
        return Places(
            offsets_of(np.minimum(counts, most), np.int64),
            chosen.rows[at],
            chosen.starts[at],
            chosen.ends[at],
            [texts[each] for each in distinct.ids[by_rule].tolist()],
            instances - np.maximum(0, np.bincount(chosen.rules, minlength=size) - counts),
        )

    def _order(
        self, rules: Int32Array, rows: Int32Array, starts: Int32Array, ends: Int32Array
    ) -> NDArray[np.int64]:
        """The order of instances: by rule, own texts before the sample, new neighbours first."""
        kinds = np.append(self.tokens.type_ids, -1)
        first, last = self.tokens.row_offsets[rows], self.tokens.row_offsets[rows + 1]
        nothing = len(kinds) - 1
        before = kinds[np.where(starts > 0, first + starts - 1, nothing)].astype(np.int64)
        after = kinds[np.where(first + ends < last, first + ends, nothing)].astype(np.int64)
        types = len(self.tokens.types) + 1
        neighbours = (before + 1) * types + after + 1
        lots = self.lots[rows]
        sources = self.sources[rows]
        is_sampled = (sources == _SAMPLED).astype(np.int8)
        again = _rank_within((rules, is_sampled, neighbours), lots)
        turn = _rank_within((rules, again, sources), lots)
        return np.lexsort((lots, sources, turn, again, is_sampled, rules))


def _turns(groups: NDArray[np.integer]) -> NDArray[np.int64]:
    """The place of each entry in its group; the numbers of the groups rise."""
    return np.arange(len(groups)) - np.searchsorted(groups, groups)


def _rank_within(
    keys: tuple[NDArray[np.integer], ...], lots: NDArray[np.float64]
) -> NDArray[np.int64]:
    """The place of each entry, by lot, among those with the same keys."""
    order = np.lexsort((lots, *reversed(keys)))
    new = np.zeros(len(order), np.bool_)
    new[1:] = np.logical_or.reduce([key[order][1:] != key[order][:-1] for key in keys])
    ranks = np.empty(len(order), np.int64)
    ranks[order] = _turns(np.cumsum(new))
    return ranks


# ---------------------------------------------------------------- rules on text

_Tell: TypeAlias = Callable[[int, int], None]
Spread: TypeAlias = Callable[[Sequence[Pair]], Floats]
"""For each pair the standard deviation, in log-odds, of the error that its change shares."""

_Form: TypeAlias = tuple[Rule, TextVerdict]

SAMPLE = 60
"""Rewrites of a rule that are judged, if there are so many."""

CONFIDENCE = 0.9
"""The confidence of the one-sided bound, where the scorer is taken at its word."""

JUDGING, NARROWING = "judging rules on text", "narrowing rules"
"""The names of the stages in reports of progress."""

# The first portion is small, so that progress shows soon.
_FIRST_PORTION = 64
# A sample is judged up to these sizes in turn; a rule that cannot pass any more is dropped.
_STEPS = (3, 6, 12, 24, SAMPLE)
# A change that keeps the meaning in fewer of its first places than this is not worth narrowing.
_PROMISE, _FIRST = 1 / 3, 12
# One that passes and keeps it at least this often is as good as any narrowed form of it.
_CLEAR = 0.9
# The fewest accepted rewrites beside a neighbour for which a condition may name it.
_LEAST_BESIDE = 3
# A longer condition is worth its words if its rule acts in so many times the texts.
_WORTH = 1.25
# A smaller S is as good as 0.
_FAR = 0.1
# Log-odds beyond which no S is believed.
_SURE = 7.0
# Values of a standard normal variable that are equally likely.
_NORMAL = np.array([NormalDist().inv_cdf((each + 0.5) / 101) for each in range(101)])


def counted_share(accepted: int, count: int) -> float:
    """The lower bound of the share of rewrites with S ≥ τ: Wilson's, one-sided, `CONFIDENCE`."""
    low, _ = wilson_interval(accepted, count, confidence=2 * CONFIDENCE - 1)
    return float(low)


def believed_share(scores: Floats, spread: float) -> float:
    """The least share of a rule's rewrites that readers accept, with a chance of `BELIEF`.

    ``scores`` are S of some of its rewrites, ``spread`` the standard deviation, in log-odds, of the
    error that all of them share. Each value of the shared error gives a share that is as uncertain
    as a binomial one of n rewrites; the bound is a quantile over both.
    """
    odds = conditional_odds(scores, spread).clip(-_SURE, _SURE)
    chances = 1 / (1 + np.exp(-(odds[:, None] + spread * _NORMAL)))
    share = chances.mean(0)
    deviation = np.sqrt(share * (1 - share) / len(scores))
    shares = share[:, None] + deviation[:, None] * _NORMAL
    return float(np.quantile(shares, 1 - BELIEF).clip(0, 1))


class RuleJudgements(NamedTuple):
    """The outcome of judging rules."""

    # Rules that keep the meaning nearly everywhere, in the order given, one a change
    passed: Candidates
    # Those that do not, each followed by the narrowed forms of it that do not either
    failed: Candidates
    too_few: int  # how many act at too few places to be judged; they are among the failed
    undecided: int  # how many there was no time for
    decisions: int  # how many rewrites were judged


def _judged_rule(candidate: CandidateRule, form: _Form) -> CandidateRule:
    rule, verdict = form
    return replace(candidate, rule=rule, judged=verdict, narrowed=rule != candidate.rule)


def _best(plain: _Form, narrower: Sequence[_Form]) -> _Form | None:
    """The form of a change that is kept: a narrowed one, or the plain one, if it passes.

    Where both pass, the narrowed form has to be clearly better. Of several narrowed forms it is the
    shortest, or a longer one that acts much more often.
    """
    best = plain if plain[1].passed else None
    least = plain[1].accepted / plain[1].sampled if best else -1.0
    chosen: _Form | None = None
    passed = [each for each in narrower if each[1].passed]
    for form in sorted(passed, key=lambda each: len(print_rule(each[0]))):
        verdict = form[1]
        better = counted_share(verdict.accepted, verdict.sampled) > least
        if better and (chosen is None or verdict.places >= _WORTH * chosen[1].places):
            chosen = form
    return chosen or best


@dataclass(slots=True)
class _Trial:
    """A rule whose rewrites are being judged.

    ``pairs`` are judged in their order, and the first ones have ``scores``. ``places`` counts the
    texts in which the rule acts. ``spread`` is of the shared error of S; None takes its word for S.
    """

    pairs: Sequence[Pair]
    places: int
    tau: float
    delta: float
    spread: float | None
    scores: list[float] = field(default_factory=list)

    @property
    def answers(self) -> NDArray[np.int8]:
        """For each pair with a score, whether S ≥ τ."""
        return (np.array(self.scores) >= self.tau).astype(np.int8)

    @property
    def accepted(self) -> int:
        return int(self.answers.sum())

    @property
    def is_too_small(self) -> bool:
        return len(self.pairs) < LEAST

    def low(self, *, others: int = 0) -> float:
        """The lower bound of the accepted share, if so many other pairs had S = 1."""
        scores = np.array([*self.scores, *[1.0] * others])
        if not len(scores):
            return 0.0
        if self.spread is None:
            return counted_share(int((scores >= self.tau).sum()), len(scores))
        return believed_share(scores, self.spread)

    @property
    def is_open(self) -> bool:
        """Whether more scores can make it pass, or make it worth narrowing."""
        scored, left = len(self.scores), len(self.pairs) - len(self.scores)
        if self.is_too_small or not left:
            return False
        if scored >= _STEPS[0] and not self.accepted:
            return False
        return scored < _FIRST or self.low(others=left) >= 1 - self.delta

    @property
    def is_promising(self) -> bool:
        """Whether it keeps the meaning in some places, and a narrower form may be better."""
        if self.is_too_small or self.is_open:
            return False
        clear = _CLEAR * len(self.scores) if self.verdict.passed else len(self.scores)
        if not _PROMISE * len(self.scores) <= self.accepted < clear:
            return False
        if self.spread is None:
            return True
        # A narrower form is hardly better than the better half of the good places.
        good = np.sort([score for score in self.scores if score >= self.tau])
        best = np.resize(good[len(good) // 2 :], SAMPLE)
        return believed_share(best, self.spread) >= 1 - self.delta

    @property
    def verdict(self) -> TextVerdict:
        low = self.low()
        return TextVerdict(
            sampled=len(self.scores),
            accepted=self.accepted,
            low=low,
            places=self.places,
            few=len(self.pairs) < SAMPLE,
            passed=(
                len(self.scores) == len(self.pairs)
                and not self.is_too_small
                and low >= 1 - self.delta
            ),
            mean_score=float(np.mean(self.scores)) if self.scores else 0.0,
        )


@dataclass(slots=True)
class RuleJudge:
    """Judges rules on a corpus: asks the scorer about their places.

    ``spread`` is for a scorer whose S is the chance that readers accept; None takes its word for S.
    ``worth_narrowing`` says which rules may be of use in a narrower form, ``supported`` which
    narrowed rules act in enough rows; all do if None. Once ``in_time`` says no, before a portion of
    some ``portion`` pairs, open rules are left undecided.
    """

    corpus: Corpus
    _: KW_ONLY
    scorer: Scorer
    tau: float
    delta: float
    spread: Spread | None = None
    worth_narrowing: Callable[[Candidates], NDArray[np.bool_]] | None = None
    supported: Callable[[Candidates], NDArray[np.bool_]] | None = None
    in_time: Callable[[], bool] = lambda: True
    portion: int = 1024
    on_progress: OnStage = lambda stage, done, total: None
    _size: int = field(init=False, default=_FIRST_PORTION)
    _decisions: int = field(init=False, default=0)

    def judge_rules(self, candidates: Candidates) -> RuleJudgements:
        """Judge rules, and narrow those that fail in some places only."""
        self._size = min(self.portion, _FIRST_PORTION)
        trials = self._judge(candidates.rows, tell=partial(self.on_progress, JUDGING))
        forms = [
            [(rule, each.verdict)] for rule, each in zip(candidates.rules, trials, strict=True)
        ]
        promising = [number for number, trial in enumerate(trials) if trial.is_promising]
        if promising and self.worth_narrowing is not None:
            worth = self.worth_narrowing(candidates.keep(promising))
            promising = list(compress(promising, worth))
        for place, narrowings in self._narrowings([candidates.rows[each] for each in promising]):
            forms[promising[place]] += narrowings
        passed, failed = [], []
        for candidate, (plain, *narrower) in zip(candidates.rows, forms, strict=True):
            best = _best(plain, narrower)
            if best is None:
                failed += [_judged_rule(candidate, each) for each in (plain, *narrower)]
            else:
                passed.append(_judged_rule(candidate, best))
        return RuleJudgements(
            passed=Candidates(tuple(passed)),
            failed=Candidates(tuple(failed)),
            too_few=sum(each.is_too_small for each in trials),
            undecided=sum(each.is_open for each in trials),
            decisions=self._decisions,
        )

    def _places(self, rows: Sequence[CandidateRule], half: bool | None) -> Places:
        rules, scopes = [each.rule for each in rows], [each.scope for each in rows]
        return self.corpus.places(rules, SAMPLE, half=half, scopes=scopes)

    def _judge(
        self,
        rows: Sequence[CandidateRule],
        *,
        half: bool | None = None,
        tell: _Tell = lambda *_: None,
    ) -> list[_Trial]:
        """Judge rules until it is clear whether they pass; ``tell`` gets how many are decided."""
        trials = self._trials(self._places(rows, half))
        for step in _STEPS:
            waiting = [each for each in trials if each.is_open]
            decided = len(trials) - len(waiting)
            tell(decided, len(trials))
            for scored in self._answered([(each, step) for each in waiting]):
                decided += sum(not each.is_open for each in scored)
                tell(decided, len(trials))
        return trials

    def _narrowings(self, rows: Sequence[CandidateRule]) -> list[tuple[int, list[_Form]]]:
        """The narrowed forms of each rule, judged on the half that did not choose them."""
        verdicts_by_rule: dict[int, dict[Rule, TextVerdict]] = {}
        quarters = self._quarters(len(rows))
        for half in (False, True):
            chosen = list(self._narrowed(rows, half, tell=next(quarters)))
            if chosen and self.supported is not None:
                enough = self.supported(Candidates(tuple(row for _, row in chosen)))
                chosen = list(compress(chosen, enough))
            trials = self._judge([row for _, row in chosen], half=not half, tell=next(quarters))
            for (number, row), trial in zip(chosen, trials, strict=True):
                verdict = replace(trial.verdict, of_half=True)
                verdicts_by_rule.setdefault(number, {}).setdefault(row.rule, verdict)
        return [
            (number, list(verdicts.items()))
            for number, verdicts in sorted(verdicts_by_rule.items())
        ]

    def _quarters(self, rules: int) -> Iterator[_Tell]:
        """Reporters of progress for four quarters: each half chooses, then the other judges."""
        for quarter in range(4):

            def tell(done: int, total: int, before: int = quarter) -> None:
                share = (before + done / total if total else before + 1) / 4
                self.on_progress(NARROWING, int(share * rules), rules)

            self._size = min(self.portion, _FIRST_PORTION)
            if rules:
                tell(0, 1)
            yield tell

    def _narrowed(
        self, rows: Sequence[CandidateRule], half: bool, *, tell: _Tell
    ) -> Iterator[tuple[int, CandidateRule]]:
        """The narrowed forms that the texts of one half suggest, with the number of the rule."""
        corpus, mined = self.corpus, mined_options(self.corpus.tagger)
        places = self._places(rows, half)
        trials = self._trials(places)
        scored = 0
        for some in self._answered([(each, SAMPLE) for each in trials]):
            scored += len(some)
            tell(scored, len(trials))
        for number, (row, trial) in enumerate(zip(rows, trials, strict=True)):
            if len(trial.scores) < len(trial.pairs):
                continue
            at = places.of_rule(number)
            forms = narrow(
                row.rule, corpus.tokens, Sites(places.rows[at], places.starts[at], places.ends[at]),
                trial.answers, tagger=corpus.tagger, delta=self.delta / 2, least=_LEAST_BESIDE,
                options=mined if row.scope is None else row.scope.options, negations=False,
            )  # fmt: skip
            for form in forms:
                yield number, replace(row, rule=form.rule)

    def _trials(self, places: Places) -> list[_Trial]:
        originals = self.corpus.tokens.texts
        pairs = [
            (originals[row], text)
            for row, text in zip(places.rows.tolist(), places.texts, strict=True)
        ]
        trials = [
            _Trial(pairs[places.of_rule(rule)], instances, self.tau, self.delta, None)
            for rule, instances in enumerate(places.instances.tolist())
        ]
        if self.spread is not None:
            # All rewrites of a rule have its change, so the first one tells the spread; where an
            # instance lies beside another change, its spread hardly differs.
            first = [trial.pairs[0] for trial in trials if trial.pairs]
            spreads = iter(self.spread(first).tolist())
            for trial in trials:
                trial.spread = next(spreads) if trial.pairs else 0.0
        return trials

    def _answered(self, requests: Sequence[tuple[_Trial, int]]) -> Iterator[list[_Trial]]:
        """Score trials up to the requested number of pairs; yields some whole trials at a time."""
        first = 0
        while first < len(requests) and self.in_time():
            last = first
            pairs: list[Pair] = []
            while last < len(requests) and len(pairs) < self._size:
                trial, upto = requests[last]
                pairs += trial.pairs[len(trial.scores) : upto]
                last += 1
            scores = iter(self._scores(pairs).tolist())
            self._decisions += len(pairs)
            for trial, upto in requests[first:last]:
                missing = len(trial.pairs[len(trial.scores) : upto])
                trial.scores += [next(scores) for _ in range(missing)]
            yield [trial for trial, _ in requests[first:last]]
            first = last
            self._size = min(self.portion, 2 * self._size)

    def _scores(self, pairs: Sequence[Pair]) -> Floats:
        """S of each pair, 0 where it is far below τ; 1 or 0 where the scorer's word is taken."""
        if self.spread is None:
            return self.scorer.at_least(pairs, self.tau).astype(np.float64)
        # Most rewrites are far below τ, and scorers say that much faster than how far.
        return scores_from(self.scorer, pairs, min(_FAR, self.tau))
