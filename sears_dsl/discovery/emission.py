"""Found rules → the text of a ruleset file: case exact, numbers, real examples as tests.

In: rules as objects, what was counted for each, rows where they fire and rows where they do not.
Out: canonical text that `language.ruleset.parse` reads. Always holds: every test in it was run with
the tagger that found the rules and holds; formatting the text again changes nothing. Costs one
tagging of the sentences in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sears_dsl.language.rule import Metadata, Options, Rule, RuleTest
from sears_dsl.language.ruleset import Ruleset, parse
from sears_dsl.rule_tests import run_tests
from sears_dsl.text.tagger import Tagger

__all__ = ["EmittedRule", "emit"]

_FIRING_TESTS = 2
_LONGEST_TEST = 200


@dataclass(frozen=True, slots=True)
class EmittedRule:
    """A rule with what is written under it.

    Attributes:
        rule: antecedent and consequent; its metadata is replaced.
        name: its id.
        why: its numbers in one sentence.
        firing: (original, rewritten) sentences, best first.
        silent: sentences that it must leave alone, best first.
    """

    rule: Rule
    name: str
    why: str
    firing: Sequence[tuple[str, str]]
    silent: Sequence[str]


def emit(
    rules: Sequence[EmittedRule],
    *,
    name: str,
    version: str = "1.0.0",
    comment: Sequence[str] = (),
    tagger: Tagger,
) -> str:
    r"""The text of a ruleset file.

    Args:
        rules: in the order of selection.
        name: of the ruleset.
        version: of the ruleset.
        comment: lines that stand before everything, without their ``#``.
        tagger: the one that found the rules.

    Example:
        >>> from sears_dsl.language.rule import Element, Literal, Text
        >>> from sears_dsl.text.pinned import PinnedTagger
        >>> rule = Rule((Element(Literal("movie")),), (Text("film"),))
        >>> found = EmittedRule(
        ...     rule, "movie-to-film", "flips 3 of 9", [("a movie", "a film")], ["a book"])
        >>> print(emit([found], name="found", comment=["Found."], tagger=PinnedTagger()), end="")
        # Found.
        ruleset found 1.0.0
        option case = exact
        <BLANKLINE>
        rule movie-to-film: movie -> film
          author: "sears discover"
          why: "flips 3 of 9"
          test "a movie" => "a film"
          test "a book" => none
    """
    written = [
        replace(
            each.rule,
            name=each.name,
            metadata=Metadata(why=each.why, author="sears discover", tests=tuple(tests)),
        )
        for each in rules
        for tests in [list(_tests(each, tagger))]
    ]
    ruleset = Ruleset.from_rules(written, options=Options(case="exact"), name=name, version=version)
    text = "".join(f"# {line}\n" for line in comment) + ruleset.format()
    return parse(text, path=f"{name}.sear").format()


def _tests(found: EmittedRule, tagger: Tagger) -> Iterator[RuleTest]:
    """The first sentences that say what they should when read as tests of the file.

    A sentence can read otherwise there: one with `word/TAG/TAG` in it would pin its tags.
    """
    candidates = [RuleTest(*pair) for pair in found.firing if len(pair[0]) <= _LONGEST_TEST]
    yield from _first(candidates, found.rule, tagger, _FIRING_TESTS)
    quiet = [RuleTest(text, None) for text in found.silent if len(text) <= _LONGEST_TEST]
    yield from _first(quiet, found.rule, tagger, 1)


def _first(
    candidates: Sequence[RuleTest], rule: Rule, tagger: Tagger, wanted: int
) -> Iterator[RuleTest]:
    for test in candidates:
        if wanted and _holds(test, rule, tagger):
            wanted -= 1
            yield test


def _holds(test: RuleTest, rule: Rule, tagger: Tagger) -> bool:
    alone = replace(rule, metadata=Metadata(tests=(test,)))
    ruleset = Ruleset.from_rules([alone], options=Options(case="exact"))
    return all(result.outcome == "ok" for result in run_tests(ruleset, tagger=tagger))
