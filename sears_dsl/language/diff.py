"""What changed between two versions of a ruleset, rule by rule and template by template.

Always holds: every rule and template of either version is exactly one of added, removed, changed,
renamed or unchanged. It is found in the other version by its id, else by its canonical text.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, fields
from hashlib import blake2b
from itertools import chain
from typing import TypeAlias

from sears_dsl.language.printer import print_rule, print_template, print_test
from sears_dsl.language.references import references_in, sets_of
from sears_dsl.language.rule import Metadata, Options, Rule, SetReference, Template
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.language.words import print_share

Compared: TypeAlias = Rule | Template
"""What is looked for in the other version."""


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule or template that is in both versions under the same id or with the same text."""

    old: Compared
    new: Compared
    old_id: str
    new_id: str
    # What differs: ``id``, ``rule`` or ``template`` (the line itself), or a key of metadata such as
    # ``expect``, ``label`` or ``tests``
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RulesetDiff:
    """What changed from the old version to the new one."""

    # (id, rule) of rules and then templates that only the new version has, in its order
    added: tuple[tuple[str, Compared], ...] = ()
    # (id, rule) of those that only the old version has, in its order
    removed: tuple[tuple[str, Compared], ...] = ()
    changed: tuple[RuleChange, ...] = ()
    renamed: tuple[RuleChange, ...] = ()
    # (name, old value, new value) of options that differ
    options: tuple[tuple[str, str, str], ...] = ()
    # Names of sets that were added, removed or changed, those of imported files too (``common.WH``)
    sets: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))


def diff_rulesets(old: Ruleset, new: Ruleset) -> RulesetDiff:
    """Compare two versions of a ruleset. Comments and the order of rules do not count."""
    rules = _compared(dict(old.named_rules), dict(new.named_rules))
    templates = _compared(dict(old.named_templates), dict(new.named_templates))
    return RulesetDiff(
        added=rules.added + templates.added,
        removed=rules.removed + templates.removed,
        changed=rules.changed + templates.changed,
        renamed=rules.renamed + templates.renamed,
        options=_options(old, new),
        sets=_sets(old, new),
    )


def _compared(before: Mapping[str, Compared], after: Mapping[str, Compared]) -> RulesetDiff:
    """What changed among the rules, or among the templates, by their ids."""
    changed = []
    for name, node in after.items():
        if name in before and (parts := _parts(before[name], node)):
            changed.append(RuleChange(before[name], node, name, name, parts))
    gone = {name: node for name, node in before.items() if name not in after}
    come = {name: node for name, node in after.items() if name not in before}
    old_names = _old_names(gone, come)
    renamed = []
    for name, node in come.items():
        if name in old_names:
            old_name = old_names[name]
            parts = ("id", *_parts(gone[old_name], node))
            renamed.append(RuleChange(gone.pop(old_name), node, old_name, name, parts))
    return RulesetDiff(
        added=tuple((name, node) for name, node in come.items() if name not in old_names),
        removed=tuple(gone.items()),
        changed=tuple(changed),
        renamed=tuple(renamed),
    )


def _old_names(gone: Mapping[str, Compared], come: Mapping[str, Compared]) -> dict[str, str]:
    """By their new ids the old ids of those that have the same text; best with equal metadata."""
    texts = {name: print_body(node) for nodes in (gone, come) for name, node in nodes.items()}
    keys: tuple[Callable[[str, Compared], Hashable], ...] = (
        lambda name, node: (texts[name], node.metadata),
        lambda name, _: texts[name],
    )
    old_names: dict[str, str] = {}
    for key in keys:
        paired = set(old_names.values())
        waiting: defaultdict[Hashable, deque[str]] = defaultdict(deque)
        for name, node in gone.items():
            if name not in paired:
                waiting[key(name, node)].append(name)
        for name, node in come.items():
            if name not in old_names and waiting[key(name, node)]:
                old_names[name] = waiting[key(name, node)].popleft()
    return old_names


def rule_settings(ruleset: Ruleset) -> Iterator[dict[str, str]]:
    r"""For each rule, what besides its text decides what it does, where that is not the default.

    That is options of its file, its rate and seed, and the sets that it names, imported ones too,
    each by a hash of its members. The unit and the vectors are left to the run.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> list(rule_settings(parse("option case = exact\nset WH = What | Which\n@WH is -> is")))
        [{'option case': 'exact', 'set WH': '0b6bd8b87a'}]
    """
    usual = Options()
    options = {
        f"option {name}": str(getattr(ruleset.options, name))
        for name in ("case", "language", "tagset", "repair")
        if getattr(ruleset.options, name) != getattr(usual, name)
    }
    hashes: dict[SetReference, str] = {}
    for rule in ruleset.rules:
        drawn, metadata = {}, rule.metadata
        if metadata.rate is not None:
            drawn["rate"] = print_share(metadata.rate)
        if metadata.seed is not None:
            drawn["seed"] = str(metadata.seed)
        named = list(dict.fromkeys(sets_of(rule)))
        for reference in named:
            members = ruleset.members(reference)
            # Sets under negations are not written out among the members.
            named += (each for each in references_in(members) if each not in named)
            if reference not in hashes:
                written = "\0".join(print_test(each, place="group") for each in members)
                hashes[reference] = blake2b(written.encode(), digest_size=5).hexdigest()
        sets = {f"set {each.full_name}": hashes[each] for each in named}
        yield {**options, **drawn, **sets}


def settings_difference(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """In words, how a rule was read before, where that differs; both come from `rule_settings`.

    Example:
        >>> settings_difference({"set WH": "aa"}, {"set WH": "bb", "option case": "exact"})
        'option case was smart, set WH was different'
    """
    usual = {f"option {each.name}": str(each.default) for each in fields(Options)}
    words = []
    for name in sorted({*old, *new}):
        was = old.get(name, usual.get(name, "not given"))
        if was != new.get(name, usual.get(name, "not given")):
            words.append(
                f"{name} was different" if name.startswith("set ") else f"{name} was {was}"
            )
    return ", ".join(words)


def print_body(node: Compared) -> str:
    """The text by which a rule or a template is compared: without id and metadata."""
    if isinstance(node, Template):
        return f"template {print_template(node)}"
    return print_rule(node)


def _parts(old: Compared, new: Compared) -> tuple[str, ...]:
    body = print_body(old) != print_body(new)
    keys = tuple(
        each.name
        for each in fields(Metadata)
        if getattr(old.metadata, each.name) != getattr(new.metadata, each.name)
    )
    what = "template" if isinstance(new, Template) else "rule"
    return (what, *keys) if body else keys


def _options(old: Ruleset, new: Ruleset) -> tuple[tuple[str, str, str], ...]:
    pairs = (
        (each.name, getattr(old.options, each.name), getattr(new.options, each.name))
        for each in fields(old.options)
    )
    return tuple((name, was, now) for name, was, now in pairs if was != now)


def _sets(old: Ruleset, new: Ruleset) -> tuple[str, ...]:
    """The names of sets that differ, as the rulesets call them.

    Two files are compared under each name of an import of the rulesets, below those once.
    """
    nothing = Ruleset(())
    names = []
    compared: set[tuple[int, int]] = set()
    waiting = [("", old, new)]
    for prefix, *files in waiting:
        before, after = (file.written_sets for file in files)
        names += [
            prefix + name
            for name in before.keys() | after.keys()
            if before.get(name) != after.get(name)
        ]
        imported = [{each.name: each.ruleset for each in file.imports} for file in files]
        for name in dict.fromkeys(chain(*imported)):
            one, other = (each.get(name, nothing) for each in imported)
            if not prefix or (id(one), id(other)) not in compared:
                compared.add((id(one), id(other)))
                waiting.append((f"{prefix}{name}.", one, other))
    return tuple(sorted(names))
