"""New rules that may leave *a* before a vowel, *great* → *awesome*: they mend articles.

Always holds: such a rule mends them where it is judged and where the model is asked about it, as it
does in the file that the search writes (`ruleset_text`). Only English has such articles.
"""

from __future__ import annotations

from sears_dsl.engine.rewrite.placing import wants_an
from sears_dsl.judge.english import tags_of
from sears_dsl.language.rule import Conjunction, Element, Literal, Rule, Text
from sears_dsl.tagging.tagger import Tagger

# Nouns, adjectives, adverbs, participles, numbers.
_AFTER_ARTICLES = frozenset(
    ("NN", "NNP", "JJ", "JJR", "JJS", "RB", "RBR", "RBS", "VBG", "VBN", "CD")
)


def mends_articles(rule: Rule, tagger: Tagger) -> bool:
    """Whether a new rule is read under ``option repair = on``."""
    return tagger.language == "en" and upsets_articles(rule)


def upsets_articles(rule: Rule) -> bool:
    r"""Whether *a* may stand before what a rule replaces, and *an* is wanted before the new word.

    Or the other way round; what follows a word that is left out may begin either way. A word that
    the rule names only by a tag is not known, and counts as no.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("great -> awesome\ngreat -> fine\nis -> was\nvery -> <>").rules
        >>> [upsets_articles(rule) for rule in rules]
        [True, False, False, True]
    """
    new = rule.consequent[0] if rule.consequent else None
    old = _first_word(rule.antecedent[0]) if rule.antecedent else ""
    known = new is None or (isinstance(new, Text) and new.text[:1].isalnum())
    if not known or not old[:1].isalnum():
        return False
    beside = _first_word(rule.left[-1]) if rule.left else ""
    if beside and beside.lower() not in ("a", "an"):
        return False
    if isinstance(new, Text) and wants_an(old) == wants_an(new.text):
        return False
    return not _AFTER_ARTICLES.isdisjoint(tags_of(old))


def _first_word(element: Element) -> str:
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
