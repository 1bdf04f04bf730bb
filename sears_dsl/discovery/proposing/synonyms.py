"""Words that readers have accepted for each other: proposed wherever they stand in the rows.

In: the searched rows, tagged, and the changes of `synonyms.sear`: of each, readers accepted most
rewrites in other texts. Out: candidates without context, which are judged on text like all others,
but in any casing. Always holds: a change is proposed only if enough rows have its words. A
translation model rarely writes *personnel* for *staff* in two rows, so paraphrases alone would
never propose it. Costs a second, most of it for reading the file.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np

from sears_dsl.discovery.articles import mends_articles
from sears_dsl.discovery.candidates import CandidateRule, Candidates
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.language.loader import parse
from sears_dsl.language.rule import Literal, Options, Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens

_PLAIN, _MENDING = (Ruleset((), options=Options(repair=repair)) for repair in ("off", "on"))


@cache
def synonyms() -> tuple[Rule, ...]:
    """The listed changes."""
    content = files(__package__).joinpath("synonyms.sear").read_text("utf-8")
    return parse(content, path="synonyms.sear").rules


def propose_synonyms(tokens: Tokens, *, tagger: Tagger, least: int) -> Candidates:
    """The listed changes whose words are in at least ``least`` of the tagged rows."""
    words = {each.text.lower() for each in tokens.types}
    rules = [rule for rule in synonyms() if words >= _words_of(rule)]
    # Rules that mend articles stand together, since they are compiled apart.
    rules.sort(key=lambda rule: mends_articles(rule, tagger))
    listed = Ruleset.from_rules(rules, options=_PLAIN.options)
    matches = compile_rules([listed], tagger=tagger).find(tokens)
    support = np.bincount(matches.rules, minlength=len(rules)).tolist()
    return Candidates(
        tuple(
            CandidateRule(
                rule, support=rows, scope=_MENDING if mends_articles(rule, tagger) else _PLAIN
            )
            for rule, rows in zip(rules, support, strict=True)
            if rows >= least
        )
    )


def without_listed(mined: Candidates, listed: Candidates) -> Candidates:
    """The mined rules but for those that a listed one makes, too: in one casing or the other."""
    return mined.without({*listed.texts, *map(_with_capital, listed.texts)})


def _with_capital(text: str) -> str:
    """A change of words with a capital on both sides."""
    old, _, new = text.partition(" -> ")
    return f"{old[0].upper()}{old[1:]} -> {new[0].upper()}{new[1:]}"


def _words_of(rule: Rule) -> set[str]:
    return {each.body.text.lower() for each in rule.antecedent if isinstance(each.body, Literal)}
