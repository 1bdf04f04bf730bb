"""One word for another: what such an exchange is, and how much it speaks against a rewrite.

Always holds: words that are used alike fill none; amounts are above 0. Costs some microseconds for
words that were not seen lately.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sears_dsl.judge.english import english, forms_of, spelled_otherwise, tags_of

_BEARS_IS = frozenset(("there", "here"))
_AFTER_IS = frozenset(
    ("a", "an", "the", "not", "no", "so", "very", "too", "just", "also", "always", "never", "all")
)
_BEFORE_PARTICIPLES = frozenset(
    ("not", "n't", "been", "got", "had", "never", "always", "also", "just", "already", "better")
)

CLITICS = frozenset(("n't", "nt", "'s", "'m", "'re", "'ve", "'ll", "'d", "ca", "wo", "sha"))
"""Words of contractions."""

# The classes in which two words are compared, and the column of what they are not.
_REPLACED = {
    "negation": "negation",
    "article": "article replaced",
    "modal": "auxiliary replaced",
    "auxiliary": "auxiliary replaced",
    "question": "question word replaced",
    "relative": "relative replaced",
    "pronoun": "pronoun replaced",
    "determiner": "determiner replaced",
    "quantifier": "determiner replaced",
    "degree": "degree replaced",
    "particle": "adverb replaced",
    "preposition": "preposition replaced",
    "conjunction": "conjunction replaced",
}
# The same for words that nothing stands for, and how much that is.
_LONE = {
    "negation": ("negation", 1.0),
    "infinitive": ("infinitive added or lost", 1.0),
    "modal": ("auxiliary added or lost", 1.0),
    "auxiliary": ("auxiliary added or lost", 1.0),
    "relative": ("relative added or lost", 0.3),
    "question": ("question word added or lost", 1.0),
    "determiner": ("determiner added or lost", 0.7),
    "pronoun": ("pronoun added or lost", 1.0),
    "particle": ("adverb added or lost", 0.5),
    "degree": ("degree added or lost", 1.0),
    "quantifier": ("determiner added or lost", 0.7),
    "preposition": ("preposition added or lost", 1.0),
    "conjunction": ("conjunction added or lost", 0.7),
}
_SLIGHT, _BOOSTER, _NEAR = 0.2, 0.4, 0.5
_BOOSTERS = range(2, 5)
_PRESENT = {
    **dict.fromkeys(("am", "is", "are", "'m", "'re", "'s"), "be"),
    **dict.fromkeys(("have", "has", "'ve"), "have"),
    **dict.fromkeys(("do", "does"), "do"),
}
_PAST = {"was": "be", "were": "be", "had": "have", "did": "do", "'d": "have"}
_PAST_TAGS, _FINITE_TAGS = frozenset(("VBD", "VBN")), frozenset(("VB", "VBZ"))


def written_out(full: str, host: str, following: str) -> bool:
    """Whether a clitic stands for a word where it is: no possessive, and before a fitting form.

    Args:
        full: this word, such as *is* for ``'s``.
    """
    tags = tags_of(following)
    if full in ("has", "had", "have"):
        fits = not tags and not english().classes(following)
        return fits or bool(tags & {"VBN", "RB"}) or following in _BEFORE_PARTICIPLES
    if full == "us":
        return host == "let"
    if full == "is" and not english().classes(host) and host not in _BEARS_IS:
        adverb = tags and tags <= {"VBG", "VBN", "VBD", "RB"}
        return bool(adverb) or following in _AFTER_IS
    return host != "let"


@lru_cache(maxsize=1 << 15)
def likeness(old: str, new: str) -> str:
    """The column of support for two words that are used alike; empty where there is none."""
    if english().contracted(old, new):
        return "contraction"
    if english().same(old, new):
        return "used alike"
    if spelled_otherwise(old, new):
        return "spelling"
    alike = any(
        tag == other and english().same(ours, theirs)
        for ours, tag in forms_of(old)
        for theirs, other in forms_of(new)
    )
    return "used alike" if alike else ""


def counterpart(word: str, others: Sequence[str]) -> tuple[str, str]:
    """The function word among others that stands for one, with the column of the exchange."""
    classes = english().classes(word)
    for name, column in _REPLACED.items():
        if name in classes or (name == "auxiliary" and "modal" in classes):
            for other in others:
                theirs = english().classes(other)
                if name in theirs or (
                    column == "auxiliary replaced" and theirs & {"auxiliary", "modal"}
                ):
                    return other, column
    return "", ""


@lru_cache(maxsize=1 << 15)
def function_evidence(
    old: str, new: str, column: str, following: str = ""
) -> tuple[tuple[str, float], ...]:
    """What differs between two function words of a class.

    Args:
        column: that of the exchange, as `counterpart` says.
    """
    if {old, new} == {"a", "an"}:
        return ()  # `faults` tells which of them is right
    lists = english()
    amounts: dict[str, float] = {}
    if lists.opposite(old, new):
        amounts["opposite"] = 1.0
    if ("negation" in lists.classes(old)) != ("negation" in lists.classes(new)):
        amounts["negation"] = 1.0
    amount = _NEAR if lists.near(old, new) else 1.0
    if {old, new} == {"what", "which"} and tags_of(following) & {"NN", "NNS"}:
        amount = _SLIGHT  # What color, Which color
    elif column == "relative replaced" and amount < 1:
        amount = _SLIGHT
    if column == "auxiliary replaced":
        column = _auxiliary_evidence(old, new)
    elif column == "pronoun replaced" and not lists.person(old).isdisjoint(lists.person(new)):
        amount = 0.5
    elif column == "degree replaced":
        first, second = lists.strength(old), lists.strength(new)
        if first is not None and second is not None:
            amount = min(1.0, 0.2 + 0.3 * abs(first - second))
    return tuple(({column: amount} | amounts).items())


@lru_cache(maxsize=1 << 15)
def lone_evidence(word: str, how: str, following: str) -> tuple[tuple[str, float], ...]:
    """A function word that nothing replaces, or that replaces nothing.

    Args:
        how: ``lost`` or ``added``.
    """
    classes = english().classes(word)
    if "article" in classes:
        return ((f"article {how}", 1.0),)
    strength = english().strength(word)
    if "negation" not in classes and strength is not None and strength in _BOOSTERS:
        return (("intensifier added or lost", _BOOSTER),)
    for name, (column, amount) in _LONE.items():
        if name in classes and (name != "infinitive" or "VB" in tags_of(following)):
            return ((column, amount),)
    return ()


@lru_cache(maxsize=1 << 15)
def content_evidence(old: str, new: str) -> tuple[tuple[str, float], ...]:
    """What differs between two words of open classes: columns, each with its amount."""
    if english().opposite(old, new):
        return (("opposite", 1.0),)
    kind = ["other thing of its kind"] if english().of_one_kind(old, new) else []
    return tuple((name, 1.0) for name in (*kind, *_form_evidence(old, new)))


@lru_cache(maxsize=1 << 15)
def is_unknown(word: str) -> bool:
    """Whether no list has a word of plain letters, nor its two parts."""
    if not (word.isascii() and word.isalpha() and len(word) > 2) or is_known(word):
        return False
    return not any(is_known(word[:cut]) and is_known(word[cut:]) for cut in range(3, len(word) - 2))


def _auxiliary_evidence(old: str, new: str) -> str:
    """What differs between two auxiliaries: the tense, the form or the verb."""
    for ours, theirs in ((_PRESENT, _PAST), (_PAST, _PRESENT)):
        if ours.get(old, "-") == theirs.get(new, "+"):
            return "tense"
    for side in (_PRESENT, _PAST):
        if side.get(old, "-") == side.get(new, "+"):
            return "form of verb"
    return "auxiliary replaced"


def _form_evidence(old: str, new: str) -> list[str]:
    """What differs between the forms of two words, where the tables know both."""
    ours, theirs = forms_of(old), forms_of(new)
    if not ours or not theirs:
        return []
    pairs = {
        (tag, other)
        for base, tag in ours
        for same, other in theirs
        if base == same and tag[0] == other[0]
    }
    if pairs:
        return [_other_form(pairs)]
    if old in (new + "ly", new.removesuffix("y") + "ily") or new in (
        old + "ly",
        old.removesuffix("y") + "ily",
    ):
        return ["word class"]  # slow, slowly
    tags, others = (
        {"VBD" if tag == "VBN" else tag for _, tag in forms} for forms in (ours, theirs)
    )
    if tags & others:
        return []
    return ["inflection" if {tag[0] for tag in tags} & {tag[0] for tag in others} else "word class"]


def _other_form(pairs: set[tuple[str, str]]) -> str:
    """What two forms of one word are to each other."""
    for tag, other in pairs:
        if {tag, other} == {"NN", "NNS"}:
            return "number of nouns"
    for tag, other in pairs:
        if {tag, other} & _PAST_TAGS and {tag, other} & _FINITE_TAGS:
            return "tense"
    return "comparison" if all(tag[0] in "JR" for tag, _ in pairs) else "form of verb"


def is_known(word: str) -> bool:
    """Whether a list or the inflection tables have a word."""
    return bool(forms_of(word) or english().classes(word) or english().listed(word))
