"""How audits and searches use journals: an oracle of what to reject, readings for the judge.

In: journals of ``sears vet``, and the rules and templates that are audited. Out: `JournalOracle`,
`Reading`s. The oracle rejects a pair that was marked as differing, whichever rule writes it. If the
mark was about the label, that means any rule that expects the same. It does not know the labels of
a row, so it keeps a pair that was also marked as good, with other labels. It rejects a sentence
that was rejected, whichever template writes it with that label, and everything that a rejected rule
or template writes. It keeps what nobody judged. Verdicts on rules and templates count only if the
journal is about this version of them, since an id may mean another rule by now.

Readings are what `judged_rewrites` finds: here a rule that changes the meaning, is not grammatical
or is nothing that people say counts against its rewrites. If reviewers contradict each other, both
count, and the note says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from sears_dsl.effects.oracle import FunctionOracle, Oracle, TaskInstance
from sears_dsl.errors import UsageError, counted
from sears_dsl.judge.readings import Reading
from sears_dsl.language.printer import distinct_ids, template_ids
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.models.objects import is_object_name, load_object
from sears_dsl.runtime.files import is_there
from sears_dsl.vetting.decisions import judged_both_ways, judged_rewrites, replay
from sears_dsl.vetting.journal import read_journal, ruleset_digest


@dataclass(frozen=True, eq=False)
class JournalOracle:
    """Rejects what a reviewer rejected: pairs, rules, sentences, templates.

    A rule that was replaced by an edit is rejected too. `differing` has pairs with what their rule
    expects of the label, "" if it should stay.
    """

    identity: str
    differing: Set[tuple[str, str, str]]
    rejected: Set[str]
    sentences: Set[tuple[str, str]]
    templates: Set[str]

    def keeps(self, candidates: Sequence[TaskInstance]) -> list[bool]:
        """Whether each rewrite or sentence is kept."""
        return [
            each.rule not in self.rejected
            and (each.original, each.text, each.expect) not in self.differing
            if each.label is None
            else each.rule not in self.templates and (each.text, each.label) not in self.sentences
            for each in candidates
        ]


def open_oracle(source: object, rulesets: Sequence[Ruleset]) -> Oracle:
    """Open what a user gave as an oracle: a function, its name, or a journal."""
    if not isinstance(source, str | Path):
        return FunctionOracle(source)
    if isinstance(source, str) and is_object_name(source):
        function = load_object(source, kind="oracle")
        return FunctionOracle(function.value, identity=function.identity)
    if not is_there(source):
        raise UsageError(
            f"{source} is not an oracle: there is no such file",
            help="write module:function, or name a journal that `sears vet` wrote",
        )
    return read_oracle(Path(source), rulesets)


def read_oracle(path: Path, rulesets: Sequence[Ruleset]) -> JournalOracle:
    """Read a journal as an oracle."""
    header, entries = read_journal(path)
    state = replay(entries)
    turned_down = {each.rule for each in state.with_verdict("reject", "edit")}
    names = iter(distinct_ids(rulesets))
    rejected, templates = set[str](), set[str]()
    for ruleset in rulesets:
        own = [(each, next(names)) for each in ruleset.rule_ids]
        # An id may mean another rule by now, so only rulesets judged in this version count.
        if ruleset_digest(ruleset) == header.sha256:
            rejected |= {name for each, name in own if each in turned_down}
            templates |= {
                name
                for name in template_ids(ruleset.templates)
                if name in state.templates and state.templates[name].verdict == "reject"
            }
    digest = hashlib.sha256(ascii((header, entries)).encode()).hexdigest()[:12]
    return JournalOracle(
        f"journal of {header.reviewer}, {len(entries):,} entries, digest {digest}",
        {mark[:3] for mark, good in state.marks.items() if good is False}
        - {mark[:3] for mark, good in state.marks.items() if good},
        rejected,
        sentences={(each.text, each.label) for each in state.rejected},
        templates=templates,
    )


_AGAINST_REWRITES = ("meaning", "grammar", "unnatural")


def read_readings(paths: Sequence[str | Path]) -> tuple[Reading, ...]:
    """Return the readings of all journals, in their order."""
    return tuple(
        Reading(*pair, good)
        for path in paths
        for pair, (good, _) in judged_rewrites(
            replay(read_journal(Path(path))[1]),
            sources=("pair", "rule", "edit"),
            against=_AGAINST_REWRITES,
        ).items()
    )


def readings_in_words(readings: Sequence[Reading]) -> str:
    """A sentence about readings, and about those that contradict each other."""
    both = len(judged_both_ways((each[:2], each.accepted) for each in readings))
    one, many = "reading of your own counts", "readings of your own count"
    count = counted(len(readings), one, many)
    if not both:
        return count
    return f"{count}; on {counted(both, 'rewrite')} they contradict each other, and both count"
