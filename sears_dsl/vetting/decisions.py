"""The entries of a journal → the decisions of a reviewer that hold now.

In: entries in order. Out: `ReviewState`. The same entries give the same state. An entry that was
undone has no effect, as if it had never been made.

Kinds of entries, by task:

    judge   accept, reject, edit, skip (a rule); pair (one example of it: same meaning or not,
            or, if the entry has ``expect``, whether the label is what the rule says; ``labels``
            are then those of the row, which older journals do not say)
    write   save, remove (a rule that the reviewer wrote)
    pick    pick (the closest adversary of a sentence, or none)
    read    template (accept, reject or skip it), sentence (one that it writes: rejected or not)
    undo    takes back one of these
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from sears_dsl.answers import label_text
from sears_dsl.errors import DataError
from sears_dsl.vetting.journal import JournalEntry

ReviewVerdict: TypeAlias = Literal["accept", "reject", "edit", "skip"]
ReviewTask: TypeAlias = Literal["judge", "write", "pick", "read"]
Pair: TypeAlias = tuple[str, str]
Sentence: TypeAlias = tuple[str, int | None, frozenset[str]]
"""A text, its row if several rows have this text, and the adversaries to pick from."""

_TASKS: Mapping[ReviewTask, tuple[str, ...]] = {
    "judge": ("accept", "reject", "edit", "skip", "pair"),
    "write": ("save", "remove"),
    "pick": ("pick",),
    "read": ("template", "sentence"),
}
TASK_OF: Mapping[str, ReviewTask] = MappingProxyType(
    {kind: task for task, kinds in _TASKS.items() for kind in kinds}
)
"""Kind of an entry → the task that it belongs to; undo belongs to none."""

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "meaning": "changes the meaning",
        "grammar": "is not grammatical",
        "unnatural": "sounds unnatural",
        "other": "another reason",
        "none": "no reason given",
    }
)
"""Why a rule may be rejected; the reviewer explains ``other`` in a note."""

TEMPLATE_REASONS: Mapping[str, str] = MappingProxyType(
    {"label": "has a debatable label"}
    | {name: words for name, words in REASONS.items() if name != "meaning"}
)
"""Why a template may be rejected, or a rule that may change the label."""

# How many characters of a refused value an error shows.
_SHOWN = 40


class MarkedRewrite(NamedTuple):
    """A rewrite that is marked as good or not.

    `expect` is what the rule expects of the label, and `labels` are those of the row. Both are
    empty if the label should stay; the mark then says whether the pair means the same.
    """

    original: str
    rewritten: str
    expect: str = ""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """What a reviewer decided about a rule, or about a template, which is never edited.

    `new` is the new rule of an edit. The reason of a rejection is a key of `REASONS`, or of
    `TEMPLATE_REASONS` for a template or a rule that may change the label. `shown` has (original,
    rewritten) pairs drawn at random or, for an edit, the first examples of the new rule. `expect`
    is what the rule expects of the label. It is "" if the label should stay; the verdict is then
    about the meaning.
    """

    rule: str
    verdict: ReviewVerdict
    number: int
    time: str
    new: str = ""
    reason: str = ""
    note: str = ""
    shown: tuple[Pair, ...] = ()
    expect: str = ""


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """A rule that a reviewer wrote: its text, its entry, and (original, rewritten) examples."""

    text: str
    number: int
    time: str
    examples: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Pick:
    """The closest of the adversaries that were shown for a sentence, or None for none of them.

    `row` is the row of the sentence if several rows have its text, which may have other labels.
    """

    original: str
    shown: tuple[str, ...]
    choice: str | None
    row: int | None = None


@dataclass(frozen=True, slots=True)
class RejectedSentence:
    """A sentence of a template that is not a good example of its label."""

    template: str
    text: str
    label: str


@dataclass(frozen=True, slots=True)
class ReviewState:
    """All decisions that hold now, in the order of decision; of several on one rule, the last.

    `marks` says whether a rewrite means the same. For one of a rule that may change the label it
    says whether it has the label that the rule expects, which says nothing about the meaning. It is
    None where the reviewer took back, for these labels, a mark of an older journal for all labels.
    `revision` is the number of entries behind this state. `last` has, for each task, the entry that
    undo takes back.
    """

    rules: Mapping[str, RuleVerdict]
    marks: Mapping[MarkedRewrite, bool | None]
    written: tuple[WrittenRule, ...]
    picks: Mapping[Sentence, Pick]
    templates: Mapping[str, RuleVerdict]
    rejected: tuple[RejectedSentence, ...]
    revision: int
    last: Mapping[ReviewTask, JournalEntry]

    def mark(self, rewrite: MarkedRewrite) -> bool | None:
        """The mark of a rewrite; one of an older journal holds for all labels."""
        return self.marks.get(rewrite, self.marks.get(rewrite._replace(labels=())))

    def with_verdict(self, *verdicts: ReviewVerdict) -> list[RuleVerdict]:
        """The verdicts of these kinds, in the order of decision."""
        return [each for each in self.rules.values() if each.verdict in verdicts]


def replay(entries: Sequence[JournalEntry]) -> ReviewState:
    """Return what holds after these entries."""
    undone = {_undone(entry, entries) for entry in entries if entry.kind == "undo"}
    rules: dict[str, RuleVerdict] = {}
    marks: dict[MarkedRewrite, bool | None] = {}
    written: dict[str, WrittenRule] = {}
    picks: dict[Sentence, Pick] = {}
    templates: dict[str, RuleVerdict] = {}
    rejected: dict[RejectedSentence, None] = {}
    last: dict[ReviewTask, JournalEntry] = {}
    for entry in entries:
        task = TASK_OF.get(entry.kind)
        if task is None:
            if entry.kind != "undo":
                raise _meaningless(entry, f"its kind is {entry.kind!r}")
            continue
        if entry.number in undone:
            continue
        last[task] = entry
        if entry.kind == "pair":
            _mark(marks, entry)
        elif entry.kind == "save":
            text = _need(entry, "text", str)
            examples = _pairs(entry, "examples")
            written[text] = WrittenRule(text, entry.number, entry.time, examples)
        elif entry.kind == "remove":
            written.pop(_need(entry, "text", str), None)
        elif entry.kind == "pick":
            original = _need(entry, "original", str)
            choice = _need(entry, "choice", str, type(None))
            shown = _texts(entry, "shown")
            row = _need(entry, "row", int) if "row" in entry.content else None
            key = original, row, frozenset(shown)
            picks.pop(key, None)
            picks[key] = Pick(original, shown, choice, row)
        elif entry.kind == "sentence":
            name, text, label = (_need(entry, each, str) for each in ("template", "text", "label"))
            # Older journals have the label as its template writes it.
            sentence = RejectedSentence(name, text, label_text(label) or "")
            rejected.pop(sentence, None)
            if _need(entry, "rejected", bool):
                rejected[sentence] = None
        else:
            verdict = _verdict(entry)
            judged = templates if entry.kind == "template" else rules
            judged.pop(verdict.rule, None)
            judged[verdict.rule] = verdict
    return ReviewState(
        rules, marks, tuple(written.values()), picks, templates, tuple(rejected), len(entries),
        last,
    )  # fmt: skip


JudgementSource: TypeAlias = Literal["pair", "pick", "rule", "edit"]
"""What a judgement of a rewrite comes from; ``edit`` is the rule that replaced another one."""

# The lower one takes precedence; of equal ones, the last judgement.
_RANKS: Mapping[JudgementSource, int] = {"pair": 0, "pick": 1, "rule": 2, "edit": 2}


def judged_rewrites(
    state: ReviewState, *, sources: Collection[JudgementSource], against: Collection[str]
) -> dict[Pair, tuple[bool, JudgementSource]]:
    """Each rewrite that a reviewer judged: whether it is good, and by which of the `sources`.

    A mark on the pair takes precedence over a pick, and a pick over a verdict on its rule, which is
    about the rewrites that were shown with it. Of several picks the last one counts, and so of
    several verdicts. A rejected rule counts against its rewrites only for the reasons in `against`.
    A verdict on a rule that may change the label says nothing about them, because the question was
    whether the label is right, not whether the meaning stays.
    """
    judged: dict[Pair, tuple[bool, JudgementSource]] = {}
    for pair, good, source in _judgements(state, against):
        if source in sources:
            _, before = judged.setdefault(pair, (good, source))
            if _RANKS[source] == _RANKS[before]:
                judged[pair] = good, source
    return judged


def _judgements(
    state: ReviewState, against: Collection[str]
) -> Iterator[tuple[Pair, bool, JudgementSource]]:
    for mark, same in state.marks.items():
        if same is not None and not mark.expect:
            yield (mark.original, mark.rewritten), same, "pair"
    for pick in state.picks.values():
        closest = pick.shown if pick.choice is None else (pick.choice,)
        for shown in closest:
            yield (pick.original, shown), pick.choice is not None, "pick"
    for verdict in state.rules.values():
        good = verdict.verdict in ("accept", "edit")
        if not verdict.expect and (good or verdict.reason in against):
            for pair in verdict.shown:
                yield pair, good, "edit" if verdict.verdict == "edit" else "rule"


def judged_both_ways(judgements: Iterable[tuple[Pair, bool]]) -> list[Pair]:
    """The pairs about which judgements contradict each other, each once."""
    verdicts: dict[Pair, set[bool]] = {}
    for pair, good in judgements:
        verdicts.setdefault(pair, set()).add(good)
    return [pair for pair, of_pair in verdicts.items() if len(of_pair) > 1]


def _undone(entry: JournalEntry, entries: Sequence[JournalEntry]) -> int:
    """The number of the entry that this one takes back."""
    number: int = _need(entry, "undone", int)
    if isinstance(number, bool) or not 1 <= number < entry.number:
        raise _meaningless(entry, f"it undoes entry {number}, which is not before it")
    if entries[number - 1].kind == "undo":
        raise _meaningless(entry, f"it undoes entry {number}, which is an undo")
    return number


def _mark(marks: dict[MarkedRewrite, bool | None], entry: JournalEntry) -> None:
    """Replace an earlier mark of the entry's rewrite by the entry's own, or by none."""
    same = _need(entry, "same", bool, type(None))
    pair = (_need(entry, "original", str), _need(entry, "rewritten", str))
    _optional(entry, "rule")
    labels = _texts(entry, "labels") if "labels" in entry.content else ()
    rewrite = MarkedRewrite(*pair, _optional(entry, "expect"), labels)
    marks.pop(rewrite, None)
    # The mark of an older journal goes on to hold for the other labels.
    if same is not None or rewrite._replace(labels=()) in marks:
        marks[rewrite] = same


def _texts(entry: JournalEntry, name: str) -> tuple[str, ...]:
    texts = _need(entry, name, list)
    if not all(isinstance(text, str) for text in texts):
        raise _meaningless(entry, f"{name} is not a list of texts")
    return tuple(texts)


def _verdict(entry: JournalEntry) -> RuleVerdict:
    of_template = entry.kind == "template"
    verdict: Any = _need(entry, "verdict", str) if of_template else entry.kind
    if of_template and verdict not in ("accept", "reject", "skip"):
        raise _meaningless(entry, f"its verdict is {verdict[:_SHOWN]!r}")
    expect = "" if of_template else _optional(entry, "expect")
    reason = _optional(entry, "reason")
    if reason and reason not in (TEMPLATE_REASONS if of_template or expect else REASONS):
        raise _meaningless(entry, f"its reason is {reason[:_SHOWN]!r}")
    return RuleVerdict(
        rule=_need(entry, "template" if of_template else "rule", str),
        verdict=verdict,
        number=entry.number,
        time=entry.time,
        new=_need(entry, "new", str) if verdict == "edit" else "",
        reason=reason,
        note=_optional(entry, "note"),
        shown=() if of_template else _pairs(entry, "shown"),
        expect=expect,
    )


def _pairs(entry: JournalEntry, name: str) -> tuple[Pair, ...]:
    pairs = entry.content.get(name, [])
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, str) for each in pair)
        for pair in pairs
    ):
        raise _meaningless(entry, f"{name} is not a list of pairs")
    return tuple((original, rewritten) for original, rewritten in pairs)


def _optional(entry: JournalEntry, name: str) -> str:
    text: str = _need(entry, name, str) if name in entry.content else ""
    return text


def _need(entry: JournalEntry, name: str, *kinds: type) -> Any:
    value = entry.content.get(name)
    if not isinstance(value, kinds) or (value is None and name not in entry.content):
        raise _meaningless(entry, f"its {name} is {repr(value)[:_SHOWN]}")
    return value


def _meaningless(entry: JournalEntry, why: str) -> DataError:
    return DataError(
        f"entry {entry.number} ({entry.kind}) of the journal is not valid: {why}",
        help="restore the file as `sears vet` wrote it",
    )
