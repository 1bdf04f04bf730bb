"""Rules that readers have accepted: tried before any new one is looked for.

Each rule keeps the name of the ruleset that it comes from, and is read under the options and sets
of its own file, except that English ones mend articles, so that they do the same in a file with new
rules that need that. Where a file sets ``repair`` itself, that holds. Rules that must change the
answer, or lead to a label (``expect``), are left out: a flip is no mistake there. The same seed
asks about the same rows. All shipped rules on a few hundred rows take some two seconds, and need no
translation model and no score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from sears_dsl.catalogue import loaded_files, shipped_rulesets
from sears_dsl.data.protection import Guards
from sears_dsl.discovery.counts import BELIEF
from sears_dsl.discovery.names import valid_ids
from sears_dsl.discovery.ruleset_text import is_writable
from sears_dsl.effects.applications import Applications, applications_of, apply_candidates
from sears_dsl.effects.flips import RightRows
from sears_dsl.engine.matcher import Matcher
from sears_dsl.errors import UsageError, listed
from sears_dsl.language.loader import load
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import OptionLine, Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.paraphrasing.for_rules import compile_with_sources
from sears_dsl.runtime.files import read_numbers_file, resource_folder
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens

# Noise, the paper's rules as printed, rules to be rejected: nobody says that they keep the meaning.
NOT_ACCEPTED = ("noise/", "paper/", "rejected/")
# The tag of rules that write what a careful person would not, such as a question without its mark.
# They keep the label, so that audits use them; but readers of a found file refuse them.
_CARELESS = "careless"
# From so many readings on, nine of ten of the rule's own have to be accepted: better rules speak
# for one that nobody has read, but not against what readers said.
_MET = 20
_SHARE = 0.9
# How many rules a sentence names.
_NAMED = 3
READERS_VERSION = 1
"""The version of rulesets/readers.json."""


@dataclass(frozen=True, kw_only=True)
class KnownRules:
    """Rules with the rulesets that they come from."""

    matcher: Matcher  # the rules compiled; they are ``matcher.rules``
    # For each rule the name of its ruleset, such as ``contractions/expand``
    sources: tuple[str, ...]
    # For each rule its ruleset, whose options and sets it is read under
    scopes: tuple[Ruleset, ...]
    # What the rulesets have besides: the names of rules that do not keep the answer, by ruleset
    left_out: Mapping[str, Sequence[str]]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in the order of their rulesets."""
        return self.matcher.rules

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """For each rule an id that a file can hold, no two the same."""
        return tuple(valid_ids(self.matcher.rule_ids))

    @cached_property
    def writable(self) -> NDArray[np.bool_]:
        """Whether a found file can hold each rule beside others; see `is_writable`."""
        pairs = zip(self.rules, self.scopes, strict=True)
        return np.array(
            [is_writable(rule, scope) and _mends_if_english(scope) for rule, scope in pairs],
            np.bool_,
        )

    @cached_property
    def accepted(self) -> NDArray[np.bool_]:
        """Whether readers accepted each rule; that of a user's own ruleset only counts as such."""
        shipped = [each for each in shipped_rulesets() if not each.startswith(NOT_ACCEPTED)]
        pairs = zip(self.rules, self.sources, strict=True)
        return np.array([each in shipped and _is_accepted(rule) for rule, each in pairs], np.bool_)

    @property
    def omissions(self) -> Iterator[str]:
        """A sentence for each ruleset with rules that are left out."""
        for source, names in self.left_out.items():
            one = len(names) == 1
            yield (
                f"{listed(names, _NAMED)} of {source} {'is' if one else 'are'} not tried, because "
                f"{'it has' if one else 'they have'} `expect`: a search looks for rules that must "
                "not change the answer; an audit tests such rules"
            )

    def apply(self, tokens: Tokens, *, guards: Guards | None = None) -> Applications:
        """Apply the rules to rows; those that are about sentences see each by itself."""
        if any(each.options.unit == "sentence" for each in self.scopes):
            return apply_candidates(
                self.rules, tokens, tagger=self.matcher.tagger, scopes=self.scopes, guards=guards
            )
        return applications_of(self.matcher, tokens, guards=guards)

    @classmethod
    def of(cls, rulesets: Mapping[str, Ruleset], *, tagger: Tagger) -> KnownRules:
        """Compile rulesets by name, without the rules that do not keep the answer."""
        tried = {
            name: replace(
                _with_repair(each, tagger),
                rules=tuple(rule for rule in each.rules if rule.keeps_label),
            )
            for name, each in rulesets.items()
        }
        of_rules = [(name, ruleset) for name, ruleset in tried.items() for _ in ruleset.rules]
        others = {
            name: [each.name or print_rule(each) for each in ruleset.rules if not each.keeps_label]
            for name, ruleset in rulesets.items()
        }
        return cls(
            matcher=compile_with_sources(list(tried.values()), tagger=tagger),
            sources=tuple(name for name, _ in of_rules),
            scopes=tuple(ruleset for _, ruleset in of_rules),
            left_out={name: names for name, names in others.items() if names},
        )


def _with_repair(ruleset: Ruleset, tagger: Tagger) -> Ruleset:
    """The ruleset mending articles, if these are English and its file does not say whether to."""
    stated = [each.node.name for each in ruleset.layout if isinstance(each.node, OptionLine)]
    if "repair" in stated or tagger.language != "en":
        return ruleset
    return replace(ruleset, options=replace(ruleset.options, repair="on"))


def _mends_if_english(scope: Ruleset) -> bool:
    """Whether a ruleset does with articles what a file of found rules may have to."""
    return scope.options.language != "en" or scope.options.repair == "on"


def load_known(
    files: Sequence[str] = (),
    *,
    rulesets: Sequence[Ruleset] = (),
    with_shipped: bool = True,
    tagger: Tagger,
    note: Callable[[str], None] = lambda _: None,
) -> KnownRules | None:
    """The shipped rules that keep the meaning, those of files and those given; None for none.

    These shipped rules are left out: noise, the paper's rules as printed, those that are there to
    be rejected, those with the tag ``careless``, and those for which the chance that readers accept
    nine of ten rewrites is below four in five (`acceptance_test`). Named by their ruleset, they are
    loaded like any file. In a folder, files of rules that reviewers rejected are left out. ``note``
    is called with what is not tried of the rulesets that were named.
    """
    names = {path.resolve(): name for name, path in shipped_rulesets().items()}
    named = {path.resolve(): names.get(path.resolve(), str(path)) for path in loaded_files(files)}
    accepted = {path: name for path, name in names.items() if not name.startswith(NOT_ACCEPTED)}
    by_name = {}
    for path, name in {**(accepted if with_shipped else {}), **named}.items():
        ruleset = load(path)
        if path in named:
            by_name[name] = ruleset
        elif ruleset.options.language == tagger.language:
            accepted_rules = tuple(rule for rule in ruleset.rules if _is_accepted(rule))
            by_name[name] = replace(ruleset, rules=accepted_rules)
    for each in rulesets:
        own_name = each.name or each.path
        while own_name in by_name:
            own_name += " (once more)"
        by_name[own_name] = each
    if any(ruleset.rules for ruleset in by_name.values()):
        known = KnownRules.of(by_name, tagger=tagger)
        for sentence in known.omissions:
            note(f"note: {sentence}")
        return known if known.rules else None
    if files or rulesets:
        where = ", ".join([*files, *(each.path for each in rulesets)])
        raise UsageError(f"no rule in {where}", help="name files that have rules after --known")
    return None


def takes_place(rule: Rule) -> bool:
    """Whether a known rule takes the place of a new one of the same text.

    One with a rate acts in a part of its rows only, and readers refuse what a careless one writes.
    """
    return rule.metadata.rate is None and _CARELESS not in rule.metadata.tags


def _is_accepted(rule: Rule) -> bool:
    """Whether a careful person would write what a shipped rule writes, as far as readers tell."""
    return _CARELESS not in rule.metadata.tags and acceptance_test()(rule)


@cache
def acceptance_test() -> Callable[[Rule], bool]:
    """A test whether readers surely enough accept nine of ten rewrites of a shipped rule.

    A rule with readings is judged by these, and from twenty on nine of ten have to be accepted. A
    rule without is judged by those of other rules: of rules about tone, or else of the others.
    Readings of a rule count only while its text is the same.
    """
    _, entry = read_numbers_file(
        resource_folder("rulesets") / "readers.json",
        version=READERS_VERSION,
        advice="install sears-dsl again: its files are of different versions",
    )
    tone, unread, read = frozenset(entry["tone"]), entry["unread"], entry["rules"]

    def surely(rule: Rule) -> bool:
        of_rule = read.get(rule.name)
        if of_rule is None or of_rule["rule"] != print_rule(rule):
            kind = "plain" if tone.isdisjoint(rule.metadata.tags) else "tone"
            return bool(unread[kind] >= BELIEF)
        refused = of_rule["read"] >= _MET and of_rule["accepted"] < _SHARE * of_rule["read"]
        return bool(of_rule["chance"] >= BELIEF and not refused)

    return surely


@dataclass(frozen=True, eq=False, kw_only=True)
class KnownFlips:
    """What known rules do to the searched rows, as far as the model was asked."""

    known: KnownRules
    applications: Applications  # what they make of the rows, where the model was asked about it
    flips: NDArray[np.bool_]  # bool (rewrites,): whether a rewrite flips the model
    right: RightRows
    acting: int  # how many of the rules change a row
    not_asked: int = 0  # how many of these were not asked about to the end

    @cached_property
    def flips_of_rule(self) -> NDArray[np.int64]:
        """How many rows each rule flips."""
        return self.applications.count(self.flips)

    @cached_property
    def rows_flipped(self) -> int:
        """How many rows at least one rule flips."""
        written = np.unique(self.applications.rewrites)
        return len(np.unique(self.applications.rows[written[self.flips[written]]]))

    def best(self) -> list[int]:
        """The rules that flip a row: most flips first, then those that change fewer rows.

        Of rules that flip rows by the same texts, the first one stands for all.
        """
        flips, changed = self.flips_of_rule, self.applications.changed
        flip_sets: set[tuple[int, ...]] = set()
        best = []
        for rule in np.lexsort((changed, -flips))[: int((flips > 0).sum())].tolist():
            rewrites = self.applications.of_rule(rule)
            flipped = tuple(rewrites[self.flips[rewrites]].tolist())
            if flipped not in flip_sets:
                flip_sets.add(flipped)
                best.append(rule)
        return best

    def example(self, rule: int) -> tuple[str, str]:
        """The shortest row that a rule flips, and what it makes of it."""
        rewrites = self.applications.of_rule(rule)
        pairs = self.applications.pairs(rewrites[self.flips[rewrites]])
        return min(pairs, key=lambda pair: (len(pair[0]), pair))
