"""What a journal says to others: an oracle of what to reject, readings for the judge of a search.

In: journals of ``sears vet``, and the rules and templates that are audited. Out: `JournalOracle`,
`Reading`s. Always holds: the oracle rejects a pair that was marked as differing whichever rule
writes it (whichever rule that may change the label, where the mark was about the label), a sentence
that was rejected whichever template writes it with that label, and all that a rejected rule or
template writes; what nobody judged is kept; verdicts on rules and templates count only where the
journal is about this version of them, since an id may by now mean another one.

Of readings the last word of a reviewer on a rewrite counts; a word on a rewrite itself goes before
what follows from a verdict on its rule; reviewers who contradict each other both count, and that is
told. A verdict on a rule speaks of the rewrites that were shown with it: accepted ones are good,
those of a rule that changes the meaning, is not grammatical or is nothing that people say are not.
A rejection for another reason says nothing about them, and neither does any word on a rule that may
change the label: it was asked whether the label is right, not whether the meaning stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from sears_dsl.effects.oracle import Candidate, FunctionOracle, Oracle
from sears_dsl.errors import UsageError, counted
from sears_dsl.judge.readings import Reading
from sears_dsl.language.printer import distinct_ids, template_ids
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.models.objects import is_object_name, load_object
from sears_dsl.runtime.files import is_there
from sears_dsl.vetting.decisions import Pair, ReviewState, replay
from sears_dsl.vetting.journal import read_journal, ruleset_digest


@dataclass(frozen=True, eq=False)
class JournalOracle:
    """Rejects what a reviewer rejected: pairs, rules, sentences, templates.

    A rule is rejected, too, where another was written instead of it. Of `changing` rules, which may
    change the label, pairs are looked up among the mislabelled, of others among the differing.
    """

    identity: str
    differing: Set[Pair]
    rejected: Set[str]
    sentences: Set[tuple[str, str]]
    templates: Set[str]
    mislabelled: Set[Pair]
    changing: Set[str]

    def keeps(self, candidates: Sequence[Candidate]) -> list[bool]:
        """For each rewrite or sentence whether it is kept."""
        return [
            each.rule not in self.rejected
            and (each.original, each.text)
            not in (self.mislabelled if each.rule in self.changing else self.differing)
            if each.label is None
            else each.rule not in self.templates and (each.text, each.label) not in self.sentences
            for each in candidates
        ]


def open_oracle(source: object, rulesets: Sequence[Ruleset]) -> Oracle:
    """An oracle from whatever a person gave."""
    if not isinstance(source, str | Path):
        return FunctionOracle(source)
    if isinstance(source, str) and is_object_name(source):
        function = load_object(source, kind="oracle")
        return FunctionOracle(function.value, identity=function.identity)
    if not is_there(source):
        raise UsageError(
            f"{source} is not an oracle: there is no such journal",
            help="write module:function, or name a journal of sears vet",
        )
    return read_oracle(Path(source), rulesets)


def read_oracle(path: Path, rulesets: Sequence[Ruleset]) -> JournalOracle:
    """A journal as an oracle."""
    header, entries = read_journal(path)
    state = replay(entries)
    out = {each.rule for each in state.with_verdict("reject", "edit")}
    # An id may by now mean another rule: only this version of the rules was judged.
    judged = [ruleset_digest(ruleset) == header.sha256 for ruleset in rulesets]
    plain = [
        each if here else None
        for ruleset, here in zip(rulesets, judged, strict=True)
        for each in ruleset.rule_ids
    ]
    names = distinct_ids(rulesets)
    rejected = {name for each, name in zip(plain, names, strict=True) if each in out}
    rules = [rule for ruleset in rulesets for rule in ruleset.rules]
    differing = {pair for pair, same in state.pairs.items() if not same}
    return JournalOracle(
        f"journal of {header.reviewer}, {len(entries):,} entries",
        differing,
        rejected,
        mislabelled={pair for pair, right in state.labelled.items() if not right},
        changing={name for rule, name in zip(rules, names, strict=True) if not rule.keeps_label},
        sentences={(each.text, each.label) for each in state.rejected},
        templates={
            name
            for ruleset, here in zip(rulesets, judged, strict=True)
            if here
            for name in template_ids(ruleset.templates)
            if name in state.templates and state.templates[name].verdict == "reject"
        },
    )


_AGAINST_REWRITES = ("meaning", "grammar", "unnatural")


def read_readings(paths: Sequence[str | Path]) -> tuple[Reading, ...]:
    """The readings of journals, in their order."""
    readings: list[Reading] = []
    for path in paths:
        own: dict[tuple[str, str], Reading] = {}
        for reading in _readings_of(replay(read_journal(Path(path))[1])):
            own.setdefault(reading[:2], reading)
        readings += own.values()
    return tuple(readings)


def readings_in_words(readings: Sequence[Reading]) -> str:
    """A sentence about readings, and about those that contradict each other."""
    verdicts: dict[tuple[str, str], set[bool]] = {}
    for original, rewrite, accepted in readings:
        verdicts.setdefault((original, rewrite), set()).add(accepted)
    both = sum(len(each) > 1 for each in verdicts.values())
    one, many = "reading of your own counts", "readings of your own count"
    count = counted(len(readings), one, many)
    if not both:
        return count
    return f"{count}; about {counted(both, 'rewrite')} they contradict each other, and both count"


def _readings_of(state: ReviewState) -> Iterator[Reading]:
    for (original, rewritten), same in state.pairs.items():
        yield Reading(original, rewritten, same)
    for verdict in state.rules.values():
        if verdict.expect:
            continue
        accepted = verdict.verdict in ("accept", "edit")
        if accepted or verdict.reason in _AGAINST_REWRITES:
            for original, rewritten in verdict.shown:
                yield Reading(original, rewritten, accepted)
