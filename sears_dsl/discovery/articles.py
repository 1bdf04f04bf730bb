"""New rules that may leave *a* before a vowel, *great* → *awesome*: they mend articles.

Always holds: such a rule mends them where it is judged and where the model is asked about it, as it
does in the file that the search writes (`ruleset_text`). Only English has such articles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from typing import TypeGuard

from sears_dsl.effects.applications import mined_options
from sears_dsl.engine.rewrite.placing import wants_an
from sears_dsl.judge.english import tags_of
from sears_dsl.language.rule import Conjunction, Element, Literal, Piece, Rule, Text
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.tagger import Tagger

_ARTICLES = ("a", "an")
# Nouns, adjectives, adverbs, participles, numbers.
_AFTER_ARTICLES = frozenset(
    ("NN", "NNP", "JJ", "JJR", "JJS", "RB", "RBR", "RBS", "VBG", "VBN", "CD")
)


def mends_articles(rule: Rule, tagger: Tagger) -> bool:
    """Whether a new rule is read under ``option repair = on``."""
    return tagger.language == "en" and upsets_articles(rule)


def reading_scopes(
    rules: Sequence[Rule], scopes: Sequence[Ruleset | None], *, tagger: Tagger
) -> list[Ruleset]:
    """What each rule is read under: its own ruleset, or the options of mined rules.

    ``scopes`` has the ruleset of each rule; where it has None or nothing, the rule is new, and
    mends articles where it may upset them.
    """
    plain = Ruleset((), options=mined_options(tagger))
    mending = replace(plain, options=replace(plain.options, repair="on"))
    return [
        scope if scope is not None else mending if mends_articles(rule, tagger) else plain
        for rule, scope in zip_longest(rules, scopes)
    ]


def upsets_articles(rule: Rule) -> bool:
    r"""Whether *a* may stand before what a rule replaces, and *an* is wanted before the new word.

    Or the other way round; what follows a word that is left out may begin either way. So may what
    follows an article that the rule itself writes last, or before a copy. A word that the rule
    names only by a tag is not known, and counts as no.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("great -> awesome\ngreat -> fine\nis -> was\nvery -> <>\nthe -> a").rules
        >>> [upsets_articles(rule) for rule in rules]
        [True, False, False, True, True]
    """
    pieces = pairwise([*rule.consequent, None])
    if any(_is_article(piece) and not _fits(piece, behind) for piece, behind in pieces):
        return True
    new = rule.consequent[0] if rule.consequent else None
    old = word_of(rule.antecedent[0]) if rule.antecedent else ""
    known = new is None or (isinstance(new, Text) and new.text[:1].isalnum())
    if not known or not old[:1].isalnum():
        return False
    beside = word_of(rule.left[-1]) if rule.left else ""
    if beside and beside.lower() not in _ARTICLES:
        return False
    if isinstance(new, Text) and wants_an(old) == wants_an(new.text):
        return False
    return not _AFTER_ARTICLES.isdisjoint(tags_of(old))


def _is_article(piece: Piece | None) -> TypeGuard[Text]:
    return isinstance(piece, Text) and piece.text.lower() in _ARTICLES


def _fits(article: Text, following: Piece | None) -> bool:
    """Whether an article surely agrees with the piece behind it."""
    is_an = article.text.lower() == "an"
    return isinstance(following, Text) and wants_an(following.text) == is_an


def word_of(element: Element) -> str:
    """The word that an element names; empty where it names none, or several."""
    match element.body:
        case Literal(text=text):
            return text
        case Conjunction(tests=tests):
            named = [
                each.value for each in tests
                if each.attribute in ("text", "lower") and not each.negated
            ]  # fmt: skip
            return named[0] if len(named) == 1 else ""
    return ""
