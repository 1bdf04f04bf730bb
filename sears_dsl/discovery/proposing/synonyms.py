"""Words that readers have accepted for each other: proposed wherever they stand in the rows.

In: the searched rows, tagged, and the changes of `synonyms.sear`: of each, readers accepted most
rewrites in other texts. Out: candidates without context, which are judged on text like all others.
Always holds: a change is proposed only if enough rows have its words. A translation model rarely
writes *personnel* for *staff* in two rows, so paraphrases alone would never propose it. Costs a
second, most of it for reading the file.
"""

from __future__ import annotations

from collections.abc import Container
from functools import cache
from importlib.resources import files

import numpy as np

from sears_dsl.discovery.candidates import CandidateRule, Candidates
from sears_dsl.effects.applications import mined_options
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.language.loader import parse
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Literal, Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens


@cache
def synonyms() -> tuple[Rule, ...]:
    """The listed changes, as they are listed and with a capital at the beginning.

    Mined rules have exact case, so a rule is needed for each.
    """
    content = files(__package__).joinpath("synonyms.sear").read_text("utf-8")
    lines = [line for line in content.splitlines() if not line.startswith("#")]
    both = dict.fromkeys([*lines, *map(_with_capital, lines)])
    return parse("\n".join(both), path="synonyms.sear").rules


def _with_capital(line: str) -> str:
    """A change of words in small letters with a capital on both sides; another one as it is."""
    old, _, new = line.partition(" -> ")
    both = old[0].isalpha() and new[0].isalpha() and line.islower()
    return f"{old[0].upper()}{old[1:]} -> {new[0].upper()}{new[1:]}" if both else line


def propose_synonyms(
    tokens: Tokens, *, tagger: Tagger, least: int, without: Container[str] = ()
) -> Candidates:
    """The listed changes whose words are in at least ``least`` of the tagged rows.

    Those whose canonical text is among ``without`` are left out.
    """
    words = {each.text for each in tokens.types}
    rules = [rule for rule in synonyms() if words >= _words_of(rule)]
    mined = Ruleset.from_rules(rules, options=mined_options(tagger))
    matches = compile_rules([mined], tagger=tagger).find(tokens)
    support = np.bincount(matches.rules, minlength=len(rules)).tolist()
    return Candidates(
        tuple(
            CandidateRule(rule, support=rows)
            for rule, rows in zip(rules, support, strict=True)
            if rows >= least and print_rule(rule) not in without
        )
    )


def _words_of(rule: Rule) -> set[str]:
    return {each.body.text for each in rule.antecedent if isinstance(each.body, Literal)}
