"""What a page sends → the content of an entry of the journal.

In: a kind and content from outside. Out: the content of the entry. Always holds: nothing from
outside goes into the journal unread; texts of rules are canonical, and texts of rows are those of
the data, not of the page. Costs nothing but what a rule that was never tried costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from sears_dsl.errors import UsageError
from sears_dsl.language.rule import Rule
from sears_dsl.vetting.decisions import REASONS, TEMPLATE_REASONS, ReviewState
from sears_dsl.vetting.review.picking import AdversaryChoice
from sears_dsl.vetting.review.trials import Trials
from sears_dsl.vetting.review.workbench import RuleTable, Workbench

# Examples of a rule that go into the journal with the decision about it.
_KEPT = 5


class Entries:
    """Makes entries of what is sent."""

    def __init__(self, bench: Workbench, trials: Trials) -> None:
        self._bench = bench
        self._trials = trials
        self._ids = {name: place for place, name in enumerate(bench.ruleset.rule_ids)}

    def _position(self, name: str) -> int:
        if name not in self._ids:
            raise UsageError(f"there is no rule {name!r}", help="load the page again")
        return self._ids[name]

    def entry(
        self,
        kind: str,
        content: Mapping[str, Any],
        state: ReviewState,
        choices: Sequence[AdversaryChoice],
    ) -> dict[str, Any]:
        """The content of an entry.

        Raises:
            ModelError: the model failed at a rule that is saved or stands for another one.
        """
        if kind in ("accept", "reject", "edit", "skip"):
            return self._verdict(kind, content)
        if kind == "pair":
            same = content.get("same")
            if same is not None and not isinstance(same, bool):
                raise meaningless("same", same)
            return {**self._pair(content), "same": same}
        if kind == "save":
            effects = self._trials.known(text_of(content, "text"))
            text = effects.texts[0]
            if text in {each.text for each in state.written}:
                raise UsageError("this rule is saved already", help="write another one")
            return {"text": text, "examples": self._first_examples(effects, 0)}
        if kind == "remove":
            text = text_of(content, "text")
            if text not in {each.text for each in state.written}:
                raise UsageError(f"{text!r} is not saved", help="load the page again")
            return {"text": text}
        if kind == "pick":
            return _pick(content, choices)
        if kind == "undo":
            return undone(content, state)
        raise meaningless("kind", kind)

    def _pair(self, content: Mapping[str, Any]) -> dict[str, str]:
        """A row and what a rule makes of it."""
        name, row = text_of(content, "rule"), content.get("row")
        place = self._position(name)
        applications = self._bench.effects.applications
        rewrites = applications.of_rule(place)
        of_row = rewrites[applications.rows[rewrites] + 1 == (row if isinstance(row, int) else 0)]
        if not len(of_row):
            raise meaningless("row", row)
        [(original, rewritten)] = applications.pairs(of_row)
        rule = self._bench.ruleset.rules[place]
        return {"rule": name, "original": original, "rewritten": rewritten, **_expected(rule)}

    def _verdict(self, kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
        name = text_of(content, "rule")
        place = self._position(name)
        rule = self._bench.ruleset.rules[place]
        text = self._bench.effects.texts[place]
        entry: dict[str, Any] = {"rule": name, "text": text, **_expected(rule)}
        if kind == "reject":
            entry |= rejection(content, reasons_of(rule))
        if kind == "edit":
            effects = self._trials.known(text_of(content, "new"), rule.expectation)
            if effects.texts[0] == text:
                raise UsageError("the rule is as it was", help="change it, or accept it")
            return entry | {"new": effects.texts[0], "shown": self._first_examples(effects, 0)}
        if kind != "skip":
            entry["shown"] = self._drawn(place)
        return entry

    def _drawn(self, rule: int) -> list[list[str]]:
        """(original, rewritten) of some of a rule's rewrites, each as likely as any other.

        The verdict on the rule becomes one on these pairs, and a threshold of S is fitted on them:
        the examples that are shown first have the best S, and would move it up. The draw depends on
        the rule alone.
        """
        effects = self._bench.effects
        applications = effects.applications
        pairs = sorted(set(applications.pairs(applications.of_rule(rule))))
        text = effects.texts[rule].encode("utf-8", "surrogatepass")
        seed = int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
        chosen = np.random.default_rng(seed).permutation(len(pairs))[:_KEPT]
        return [list(pairs[place]) for place in chosen.tolist()]

    def _first_examples(self, effects: RuleTable, rule: int) -> list[list[str]]:
        """(original, rewritten) of the examples that are shown first."""
        _, examples = self._bench.examples(effects, rule, mistakes=False, most=_KEPT)
        return [[each.original, each.rewritten] for each in examples]


def _expected(rule: Rule) -> dict[str, str]:
    """What a rule expects of the label, where that is more than that it stays.

    It stands with each decision: a journal says without its ruleset what was judged, whether a
    rewrite means the same or whether its label is what the rule says.
    """
    return {} if rule.keeps_label else {"expect": str(rule.expectation)}


def reasons_of(rule: Rule) -> Mapping[str, str]:
    """Why a rule may be rejected: that it changes the meaning is no reason where it should."""
    return REASONS if rule.keeps_label else TEMPLATE_REASONS


def _pick(content: Mapping[str, Any], choices: Sequence[AdversaryChoice]) -> dict[str, Any]:
    number, chosen = content.get("number"), content.get("choice")
    if not isinstance(number, int) or not 0 <= number < len(choices):
        raise meaningless("number", number)
    choice = choices[number]
    texts = [each.text for each in choice.adversaries]
    if chosen is not None and (not isinstance(chosen, int) or not 0 <= chosen < len(texts)):
        raise meaningless("choice", chosen)
    return {
        "original": choice.original,
        "shown": texts,
        "choice": None if chosen is None else texts[chosen],
    }


def undone(content: Mapping[str, Any], state: ReviewState) -> dict[str, Any]:
    """The content of an undo: which entry it takes back."""
    task = text_of(content, "task")
    last = {str(name): entry for name, entry in state.last.items()}.get(task)
    if last is None:
        raise UsageError("there is nothing to undo", help="decide something first")
    return {"undone": last.number}


def rejection(content: Mapping[str, Any], reasons: Mapping[str, str]) -> dict[str, Any]:
    """Why something is rejected."""
    note = text_of(content, "note", default="").strip()
    # Nobody is made to name a reason, and none is named for anybody.
    reason = text_of(content, "reason", default="other" if note else "none")
    if reason not in reasons:
        raise meaningless("reason", reason)
    return {"reason": reason, "note": note}


def text_of(content: Mapping[str, Any], name: str, *, default: str | None = None) -> str:
    """A text of what was sent."""
    value = content.get(name, default)
    if not isinstance(value, str) or not is_unicode(value):
        raise meaningless(name, value)
    return value


def is_unicode(text: str) -> bool:
    """Whether a text can be written to a file; JSON may hold halves of characters."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def meaningless(name: str, value: object) -> UsageError:
    """What is said of a decision that no page of ours sends."""
    return UsageError(
        f"the decision has {name} = {value!r}, which means nothing",
        help="load the page again; it sends what is understood",
    )
