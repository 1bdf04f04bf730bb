"""One reviewer of rules at work: what the page shows, and how decisions are recorded.

In: questions and decisions, as the page sends them. Out: JSON-able views. The guarantees of
`sessions` hold. In the journal, texts of rules are canonical, and texts of rows come from the data,
not from the page. Rules come in this order: decided ones, in the order of decision; those that
Equation 3 selects, given the accepted ones and without the rejected ones; if there is room, those
that add nothing to it, in file order; skipped ones last. A decision costs one selection and one
fsync.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np

from sears_dsl.discovery.selection import Coverage, select
from sears_dsl.errors import UsageError
from sears_dsl.language.rule import NO_METADATA, Metadata, Rule
from sears_dsl.vetting import decisions
from sears_dsl.vetting.journal import Journal, JournalEntry
from sears_dsl.vetting.review import workbench
from sears_dsl.vetting.review.explanation import explained, in_words, sides
from sears_dsl.vetting.review.sessions import ReviewSession, View, meaningless, rejection, text_of
from sears_dsl.vetting.review.trials import Trials, proposals

# How many examples of a rule go into the journal with a decision about it.
_KEPT = 5


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """A rule in the queue, its gain in Equation 3 there, and the rule it is collapsed into."""

    rule: int
    gain: float
    twin: int | None = None


def review_queue(
    coverage: Coverage,
    *,
    rules: int,
    most: int,
    accepted: Sequence[int],
    rejected: Sequence[int],
    replaced: Sequence[int] = (),
    skipped: Collection[int] = (),
) -> list[QueuePlace]:
    """The undecided rules in the order in which a reviewer sees them, skipped ones last.

    With the accepted ones they are at most `most`, unless more are accepted. The first `rules` of
    the coverage may be proposed; those after them are replacements.
    """
    unwanted = set(range(rules, len(coverage))) - set(accepted)
    out = {*rejected, *replaced, *unwanted} - set(accepted)
    size = max(most, len(accepted))
    selection = select(coverage, size, start=list(accepted), excluded=out)
    count = len(accepted)
    twins = {each.rule: each.into for each in selection.collapsed}
    places = [
        QueuePlace(rule, gain)
        for rule, gain in zip(selection.rules[count:], selection.gains[count:], strict=True)
    ]
    settled = {*selection.rules, *out}
    rest = [QueuePlace(rule, 0.0, twins.get(rule)) for rule in range(rules) if rule not in settled]
    places += rest[: max(0, size - count - len(places))]
    return sorted(places, key=lambda each: each.rule in skipped)


class RuleSession(ReviewSession):
    """The work of one reviewer on rules; at most `most` are to be accepted, the paper's B."""

    def __init__(
        self,
        bench: workbench.Workbench,
        journal: Journal,
        *,
        most: int = 20,
        choices: Sequence[workbench.AdversaryChoice] = (),
    ) -> None:
        super().__init__(journal)
        self.bench = bench
        self.most = most
        self.choices = tuple(choices)
        self.trials = Trials(bench)
        self._ids = {name: place for place, name in enumerate(bench.ruleset.rule_ids)}
        self._all = lru_cache(8)(self._table_with)
        # Done now so that no page waits: asking the model about rules of an earlier sitting, and
        # reading a first rule, which loads the grammar, the kernels and the lemmas of all words.
        self.overview()
        self.typed("lemma=be -> is")

    @property
    def left(self) -> int:
        """How many rules are still to be accepted or rejected."""
        return int(self._judging()["left"])

    @property
    def progress(self) -> str:
        """How far the reviewer is, in a few words."""
        judge = self._judging()
        return f"{judge['accepted']} accepted, {judge['rejected']} rejected, {judge['left']} left"

    def overview(self) -> View:
        """Where the reviewer stands in all three tasks."""
        bench = self.bench
        return self.about(bench.ruleset, rules=len(bench.ruleset.rules)) | {
            "data": {
                "rows": len(bench.data.rows),
                "right": int(bench.right.sum()),
            },
            "model": bench.predictor.identity,
            "reasons": {**decisions.TEMPLATE_REASONS, **decisions.REASONS},
            "judge": self._judging(),
            "write": self._writing(),
            "pick": self._picking(),
        }

    def _verdicts(self, *kinds: decisions.ReviewVerdict) -> list[decisions.RuleVerdict]:
        """The verdicts of these kinds on rules of the ruleset, in the order of decision."""
        return [each for each in self.state.with_verdict(*kinds) if each.rule in self._ids]

    def _judging(self) -> View:
        skipped = {self._ids[each.rule] for each in self._verdicts("skip")}
        accepted, rejected, replaced, table = self._decided()
        decided = [
            self._item(place, each.verdict, new=each.new)
            | {"flips": self.bench.summary(table, replaced.get(place, place)).flips}
            for each in self._verdicts("accept", "edit", "reject")
            for place in [self._ids[each.rule]]
        ]
        places = review_queue(
            table.coverage, rules=len(self._ids), most=self.most, accepted=accepted,
            rejected=rejected, replaced=tuple(replaced), skipped=skipped,
        )  # fmt: skip
        ids = self.bench.ruleset.rule_ids
        open_items = [
            self._item(place.rule, "skip" if place.rule in skipped else "", gain=place.gain)
            | {"twin": None if place.twin is None else table.texts[place.twin]}
            for place in places
        ]
        flipped = set[int]().union(*map(table.rows_flipped, accepted))
        last = self.state.last.get("judge")
        undone = None if last is None else last.content.get("rule")
        return {
            "items": decided + open_items,
            "next": ids[places[0].rule] if places else None,
            "accepted": len(accepted),
            "rejected": len(rejected),
            "left": len(places),
            "mistakes": len(flipped),
            "undo": self._undo("judge"),
            # The page goes to this rule after an undo.
            "undo_rule": undone if undone in self._ids else None,
        }

    def _item(self, rule: int, verdict: str, *, gain: float = 0.0, new: str = "") -> View:
        bench = self.bench
        return {
            "id": bench.ruleset.rule_ids[rule],
            "text": bench.table.texts[rule],
            "verdict": verdict,
            "new": new,
            "gain": gain,
            "flips": bench.summary(bench.table, rule).flips,
        }

    def _decided(self) -> tuple[list[int], list[int], dict[int, int], workbench.RuleTable]:
        """Places of accepted, rejected and replaced rules, the latter with their replacements.

        The table has the rules of the ruleset and, after these, the replacements.
        """
        accepted: list[int] = []
        replaced: dict[int, int] = {}
        new: list[tuple[str, Metadata]] = []
        for each in self._verdicts("accept", "edit"):
            place = self._ids[each.rule]
            if each.verdict == "accept":
                accepted.append(place)
            else:
                edited = each.new, self.bench.ruleset.rules[place].effect
                if edited not in new:
                    accepted.append(len(self._ids) + len(new))
                    new.append(edited)
                replaced[place] = len(self._ids) + new.index(edited)
        rejected = [self._ids[each.rule] for each in self._verdicts("reject")]
        return accepted, rejected, replaced, self._all(tuple(new))

    def _table_with(self, edited: tuple[tuple[str, Metadata], ...]) -> workbench.RuleTable:
        """The `RuleTable` of all rules of the ruleset and of edited ones.

        That of the ruleset is known, so an edit costs no more than its new rule.
        """
        table = self.bench.table
        for text, effect in edited:
            table = table.joined_to(self.trials.known(text, effect))
        return table

    def _writing(self) -> View:
        flipped: set[int] = set()
        saved = []
        for written in self.state.written:
            table = self.trials.known(written.text)
            own = table.rows_flipped(0)
            added = len(own - flipped)
            saved.append({"text": written.text, "flips": len(own), "added": added})
            flipped |= own
        return {"rules": saved, "mistakes": len(flipped), "undo": self._undo("write")}

    def _picking(self) -> View:
        sentences = [choice.sentence for choice in self.choices]
        left = [place for place, each in enumerate(sentences) if each not in self.state.picks]
        last = self.state.last.get("pick")
        place = None
        if last is not None:
            content = last.content
            sentence = content["original"], content.get("row"), frozenset(content["shown"])
            place = sentences.index(sentence) if sentence in sentences else None
        after = [] if place is None else [each for each in left if each > place]
        return {
            "sentences": len(sentences),
            "done": len(sentences) - len(left),
            # Whoever went on to a later sentence does not have to go back.
            "next": next(iter(after or left), None),
            "undo": self._undo("pick"),
            "undo_number": place,
        }

    def _undo(self, task: decisions.ReviewTask) -> str | None:
        """A text for the reviewer that says what undo would take back."""
        last = self.state.last.get(task)
        if last is None:
            return None
        named = (last.content.get(name) for name in ("rule", "text", "choice"))
        subject = str(next(filter(None, named), "none"))
        place = self._ids.get(subject)
        text = subject if place is None else self.bench.table.texts[place]
        return f"{last.kind} {text}".strip()

    def rule(self, name: str) -> View:
        """Everything about one rule except its examples."""
        bench, place = self.bench, self._place(name)
        rule = bench.ruleset.rules[place]
        summary = bench.summary(bench.table, place)
        verdict = self.state.rules.get(name)
        marked = bench.marked(bench.table, place, self.state)
        return {
            "id": name,
            "text": bench.table.texts[place],
            **sides(rule)._asdict(),
            **self._meaning(rule),
            "why": _why(rule.metadata),
            "expect": str(rule.expectation),
            "keeps_label": rule.keeps_label,
            "reasons": dict(reasons_of(rule)),
            "summary": asdict(summary),
            "verdict": None if verdict is None else asdict(verdict),
            "differing": sum(self.state.mark(each) is False for each in marked.values()),
            "narrowed": [asdict(each) for each in proposals(bench, self.trials, place, self.state)],
        }

    def _meaning(self, rule: Rule) -> View:
        signs = explained(rule, self.bench.ruleset)
        listed = [{"sign": sign, "meaning": meaning} for sign, meaning in signs]
        return {"words": in_words(rule), "signs": listed}

    def examples(self, name: str, *, mistakes: bool, first: int, most: int) -> View:
        """The rows that a rule changes, or only its mistakes, from `first` on."""
        place = self._place(name)
        total, examples = self.bench.examples(
            self.bench.table, place, mistakes=mistakes, first=first, most=most
        )
        rule = self.bench.table.rules[place]
        return {"total": total, "examples": [self._example(each, rule) for each in examples]}

    def _example(self, example: workbench.ExampleRow, rule: Rule) -> View:
        pair = example.original, example.rewritten
        same = self.state.mark(self.bench.to_mark(rule, example.row - 1, pair))
        return asdict(example) | {"pieces": list(example.pieces), "same": same}

    def _place(self, name: str) -> int:
        if name not in self._ids:
            raise UsageError(f"there is no rule {name!r}", help="reload the page")
        return self._ids[name]

    def _effect(self, instead_of: str | None) -> Metadata:
        """The `Rule.effect` of a typed rule: that of the one it would replace."""
        if instead_of is None:
            return NO_METADATA
        return self.bench.ruleset.rules[self._place(instead_of)].effect

    def typed(self, text: str, *, instead_of: str | None = None) -> View:
        """What a typed rule means and where it applies; the model is not asked."""
        typed = self.trials.reader.read(text)
        findings = [{"severity": each.severity, "text": each.render()} for each in typed.findings]
        if typed.rule is None:
            return {"text": "", "findings": findings, "changed": 0, "examples": []}
        table = self.trials.applied(text, self._effect(instead_of))
        total, examples = self.bench.examples(table, 0, mistakes=False)
        return {
            "text": typed.text,
            **self._meaning(typed.rule),
            "findings": findings,
            "changed": total,
            "examples": [self._example(each, table.rules[0]) for each in examples],
        }

    def mistakes(self, text: str, *, deadline: float, instead_of: str | None = None) -> View:
        """What a typed rule does to the model on as many rows as time allows, but at least some.

        Asking again goes on from there. The rule gets the effect of the one it would replace.
        """
        bench = self.bench
        table = self.trials.ask(text, deadline, effect=self._effect(instead_of))
        answer_count = sum(answer is not None for answer in table.answers)
        others = [each.text for each in self.state.written if each.text != text]
        saved = set[int]().union(*(self.trials.known(each).rows_flipped(0) for each in others))
        _, examples = bench.examples(table, 0, mistakes=True)
        _, rows = bench.examples(table, 0, mistakes=False)
        return {
            "complete": table.complete,
            "asked": answer_count,
            "of": len(table.answers),
            "summary": asdict(bench.summary(table, 0)),
            "with_this": len(saved | table.rows_flipped(0)),
            "examples": [self._example(each, table.rules[0]) for each in examples],
            "rows": [self._example(each, table.rules[0]) for each in rows],
        }

    def prepare(self, kind: str, content: Mapping[str, Any]) -> None:
        """Ask the model what a decision will need, before it is made; this may be slow."""
        for text, effect in self.unasked(kind, content):
            self.trials.known(text, effect)

    def unasked(self, kind: str, content: Mapping[str, Any]) -> Sequence[tuple[str, Metadata]]:
        """The rules that a decision needs, and about which the model was not asked yet."""
        needed: list[tuple[str, Metadata]] = []
        if kind == "edit":
            needed = [(text_of(content, "new"), self._effect(text_of(content, "rule")))]
        elif kind == "save":
            needed = [(text_of(content, "text"), NO_METADATA)]
        elif kind == "undo" and (last := self.taken_back(content)) is not None:
            entries = self.journal.entries
            undo = JournalEntry(len(entries) + 1, "", kind, {"undone": last.number})
            state = decisions.replay([*entries, undo])
            edits = (each for each in state.with_verdict("edit") if each.rule in self._ids)
            needed = [(each.new, self._effect(each.rule)) for each in edits]
            needed += [(each.text, NO_METADATA) for each in state.written]
        return [each for each in needed if not self.trials.knows(*each)]

    def choice(self, number: int) -> View:
        """One sentence with its adversaries."""
        if not 0 <= number < len(self.choices):
            raise UsageError(f"there is no sentence {number}", help="reload the page")
        choice = self.choices[number]
        pick = self.state.picks.get(choice.sentence)
        return {
            "number": number,
            "row": choice.row,
            "original": choice.original,
            "label": choice.label,
            "adversaries": [
                asdict(each) | {"pieces": list(workbench.change_pieces(choice.original, each.text))}
                for each in choice.adversaries
            ],
            "picked": pick is not None,
            "choice": None if pick is None else pick.choice,
        }

    def entry(self, kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """The journal's record of a decision."""
        if kind in ("accept", "reject", "edit", "skip"):
            return self._verdict(kind, content)
        if kind == "pair":
            same = content.get("same")
            if same is not None and not isinstance(same, bool):
                raise meaningless("same", same)
            return {**self._pair(content), "same": same}
        if kind == "save":
            table = self.trials.known(text_of(content, "text"))
            text = table.texts[0]
            if text in {each.text for each in self.state.written}:
                raise UsageError("this rule is already saved", help="write another one")
            return {"text": text, "examples": self._first_examples(table)}
        if kind == "remove":
            text = text_of(content, "text")
            if text not in {each.text for each in self.state.written}:
                raise UsageError(f"{text!r} is not saved", help="reload the page")
            return {"text": text}
        if kind == "pick":
            return self._pick(content)
        raise meaningless("kind", kind)

    def _pick(self, content: Mapping[str, Any]) -> dict[str, Any]:
        number, chosen = content.get("number"), content.get("choice")
        if not isinstance(number, int) or not 0 <= number < len(self.choices):
            raise meaningless("number", number)
        choice = self.choices[number]
        texts = [each.text for each in choice.adversaries]
        if chosen is not None and (not isinstance(chosen, int) or not 0 <= chosen < len(texts)):
            raise meaningless("choice", chosen)
        picked = None if chosen is None else texts[chosen]
        row = {} if choice.row is None else {"row": choice.row}
        return {"original": choice.original, **row, "shown": texts, "choice": picked}

    def _pair(self, content: Mapping[str, Any]) -> dict[str, Any]:
        name, row = text_of(content, "rule"), content.get("row")
        rule, applications = self._place(name), self.bench.table.applications
        rewrites = applications.of_rule(rule)
        place = row - 1 if isinstance(row, int) else -1
        of_row = rewrites[applications.rows[rewrites] == place]
        if not len(of_row):
            raise meaningless("row", row)
        [pair] = applications.pairs(of_row)
        rewrite = self.bench.to_mark(self.bench.table.rules[rule], place, pair)
        entry = {"rule": name, "original": rewrite.original, "rewritten": rewrite.rewritten}
        return entry | (
            {"expect": rewrite.expect, "labels": list(rewrite.labels)} if rewrite.expect else {}
        )

    def _verdict(self, kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
        name = text_of(content, "rule")
        place = self._place(name)
        rule = self.bench.ruleset.rules[place]
        text = self.bench.table.texts[place]
        entry: dict[str, Any] = {"rule": name, "text": text, **_expected(rule)}
        if kind == "reject":
            entry |= rejection(content, reasons_of(rule))
        if kind == "edit":
            table = self.trials.known(text_of(content, "new"), rule.effect)
            if table.texts[0] == text:
                raise UsageError("the rule is unchanged", help="change it, or accept it as it is")
            return entry | {"new": table.texts[0], "shown": self._first_examples(table)}
        if kind != "skip":
            entry["shown"] = self._drawn(place)
        return entry

    def _drawn(self, rule: int) -> list[list[str]]:
        """A random sample of a rule's (original, rewritten) pairs, each equally likely.

        The verdict on the rule counts for these pairs, and a threshold of S is fitted on them. The
        examples that are shown first have the best S, so they would bias it upwards. The draw
        depends on the rule and its pairs alone.
        """
        table = self.bench.table
        applications = table.applications
        pairs = sorted(set(applications.pairs(applications.of_rule(rule))))
        text = table.texts[rule].encode("utf-8", "surrogatepass")
        seed = int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
        chosen = np.random.default_rng(seed).permutation(len(pairs))[:_KEPT]
        return [list(pairs[place]) for place in chosen.tolist()]

    def _first_examples(self, table: workbench.RuleTable) -> list[list[str]]:
        """The (original, rewritten) pairs of the examples of one rule that are shown first."""
        _, examples = self.bench.examples(table, 0, mistakes=False, most=_KEPT)
        return [[each.original, each.rewritten] for each in examples]


def _expected(rule: Rule) -> dict[str, str]:
    """What a rule expects of the label, unless the label should stay.

    Each decision records it, so that a journal without its ruleset still says what was judged:
    whether a rewrite means the same, or whether its label is what the rule says.
    """
    return {} if rule.keeps_label else {"expect": str(rule.expectation)}


def reasons_of(rule: Rule) -> Mapping[str, str]:
    """Why a rule may be rejected; changing the meaning is no reason if it may change the label."""
    return decisions.REASONS if rule.keeps_label else decisions.TEMPLATE_REASONS


def _why(metadata: Metadata) -> str:
    """Why there is a rule; the numbers that discovery wrote are about its rows, not about these."""
    why = metadata.why or ""
    by_discovery = (metadata.author or "").startswith(("sears discover", "known: "))
    return f"When it was found: {why}" if why and by_discovery else why
