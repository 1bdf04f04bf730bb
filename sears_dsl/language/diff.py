"""What changed between two versions of a ruleset, rule by rule.

In: two rulesets. Out: a `RulesetDiff`. Always holds: every rule of either version is in exactly one
of added, removed, changed, renamed or unchanged; a rule is found again by its id, else by its
canonical text. Costs linear time in the number of rules.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from sears_dsl.language.printer import print_rule, print_test
from sears_dsl.language.rule import Metadata, Rule
from sears_dsl.language.ruleset import Ruleset


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule that is in both versions under the same id or with the same text.

    Attributes:
        old: the rule as it was.
        new: the rule as it is.
        old_id: its id as it was.
        new_id: its id as it is.
        parts: what differs: ``id``, ``rule`` (the rule line) or a key of metadata such as
            ``expect`` or ``tests``.
    """

    old: Rule
    new: Rule
    old_id: str
    new_id: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RulesetDiff:
    """What changed from the old version to the new one.

    Attributes:
        added: (id, rule) of rules that only the new version has, in its order.
        removed: (id, rule) of rules that only the old version has, in its order.
        changed: rules with the same id and another text or other metadata.
        renamed: rules with the same text and another id.
        options: (name, old value, new value) of options that differ.
        sets: names of sets that were added, removed or changed, those of imported files too
            (``common.WH``).
    """

    added: tuple[tuple[str, Rule], ...] = ()
    removed: tuple[tuple[str, Rule], ...] = ()
    changed: tuple[RuleChange, ...] = ()
    renamed: tuple[RuleChange, ...] = ()
    options: tuple[tuple[str, str, str], ...] = ()
    sets: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))


def diff_rulesets(old: Ruleset, new: Ruleset) -> RulesetDiff:
    """Compare two versions of a ruleset. Comments and the order of rules do not count.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> found = diff_rulesets(parse("rule m: movie -> film"), parse("rule m: movie -> flick"))
        >>> [(change.new_id, change.parts) for change in found.changed]
        [('m', ('rule',))]
    """
    before = dict(zip(old.rule_ids, old.rules, strict=True))
    after = dict(zip(new.rule_ids, new.rules, strict=True))
    changed = []
    for rule_id in before.keys() & after.keys():
        parts = _parts(before[rule_id], after[rule_id])
        if parts:
            changed.append(RuleChange(before[rule_id], after[rule_id], rule_id, rule_id, parts))
    gone = {rule_id: rule for rule_id, rule in before.items() if rule_id not in after}
    come = {rule_id: rule for rule_id, rule in after.items() if rule_id not in before}
    by_text = {print_rule(rule): rule_id for rule_id, rule in gone.items()}
    renamed = []
    for rule_id, rule in come.items():
        old_id = by_text.pop(print_rule(rule), None)
        if old_id is not None:
            parts = ("id", *_parts(gone[old_id], rule))
            renamed.append(RuleChange(gone.pop(old_id), rule, old_id, rule_id, parts))
    found_again = {change.new_id for change in renamed}
    order = {rule_id: position for position, rule_id in enumerate(new.rule_ids)}
    return RulesetDiff(
        added=tuple((name, rule) for name, rule in come.items() if name not in found_again),
        removed=tuple(gone.items()),
        changed=tuple(sorted(changed, key=lambda change: order[change.new_id])),
        renamed=tuple(renamed),
        options=_options(old, new),
        sets=_sets(old, new),
    )


def _parts(old: Rule, new: Rule) -> tuple[str, ...]:
    body = print_rule(old) != print_rule(new)
    keys = tuple(
        each.name
        for each in fields(Metadata)
        if getattr(old.metadata, each.name) != getattr(new.metadata, each.name)
    )
    return ("rule", *keys) if body else keys


def _options(old: Ruleset, new: Ruleset) -> tuple[tuple[str, str, str], ...]:
    pairs = (
        (each.name, getattr(old.options, each.name), getattr(new.options, each.name))
        for each in fields(old.options)
    )
    return tuple((name, was, now) for name, was, now in pairs if was != now)


def _sets(old: Ruleset, new: Ruleset) -> tuple[str, ...]:
    before, after = _set_texts(old), _set_texts(new)
    names = sorted(before.keys() | after.keys())
    return tuple(name for name in names if before.get(name) != after.get(name))


def _set_texts(ruleset: Ruleset) -> dict[str, tuple[str, ...]]:
    """The members of each set by its name, as the ruleset calls it; each file is read once."""
    texts: dict[str, tuple[str, ...]] = {}
    seen = {ruleset.path}
    waiting = [("", ruleset)]
    for prefix, file in waiting:
        for definition in file.sets:
            members = tuple(print_test(each, place="group") for each in definition.members)
            texts[prefix + definition.name] = members
        for each in file.imports:
            if each.ruleset.path not in seen:
                seen.add(each.ruleset.path)
                waiting.append((f"{prefix}{each.name}.", each.ruleset))
    return texts
