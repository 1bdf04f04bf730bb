"""A vetting journal as an oracle: what a person rejected there, a model is not asked about.

In: a journal, and the rules and templates that are audited. Out: `JournalOracle`. Always holds: a
pair that was marked as differing is rejected whichever rule writes it (whichever rule that may
change the label, where the mark was about the label), a sentence that was rejected
whichever template writes it with that label, and so is all that a rejected rule or template writes;
what nobody judged is kept; verdicts on rules and templates count only where the journal is about
this version of them, since an id may by now mean another one.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from sears_dsl.effects.oracle import Candidate, FunctionOracle, Oracle
from sears_dsl.errors import UsageError
from sears_dsl.language.printer import distinct_ids, template_ids
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.models.objects import is_object_name, load_object
from sears_dsl.vetting.decisions import Pair, replay
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
    if not Path(source).exists():
        raise UsageError(
            f"{source} is no oracle: there is no such journal",
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
