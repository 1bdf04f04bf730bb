"""The casing of new text: what follows the replaced span, and the capital of a sentence.

In: texts and places in them. Out: texts in another casing. Always holds: what is done depends on
the rule and the text alone; words that are not written in lower case or with a first capital
(``iPhone``, ``NASA``, ``www.x.com``) stay as they are, and so do names: a word loses its capital
only if it is one of a closed list of function words, or if the rule itself calls it no name.
Costs a few character tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sears_dsl.engine.rewrite.spacing import begins_with_clitic

PLAIN, CAPITAL, UPPER = 0, 1, 2
"""The casing of a replaced span, as far as literals follow it."""

WITH_PRONOUN = 3
"""Added where the span holds the pronoun ``I``: then literals write it so, too."""

OPENING = "([{\"'“‘"
"""What may stand between the start of a sentence and its first word."""

CLOSING = ")]}\"'”’"
"""What may stand between the stop of a sentence and white space."""

STOPS = ".!?…"
"""What ends a sentence."""

_WORD = re.compile(r"[^\W\d_]+(?:['’ʼ-][^\W\d_]+)*(?![\w@/\\]|[.:]\w)")
_PRONOUN = re.compile(r"I(?![\w-])")
_ANY_PRONOUN = re.compile(r"(?<![\w-])I(?![\w-])")

# The longest clitic, and what shows that it ends.
_CLITIC_AND_MORE = 4

# No names, whatever stands around them; `may`, `will` and `I` are not here.
_WORDS = """
a about after all also although always am an and any are as at be because been before being
both but by can could did do does each either even every few for from had has have he her here
his how however if in into is it its just let many maybe more most much my neither never no nor
not now of often on once only onto or our perhaps please several she should since so some still
such that the their then there these they this those though thus to unless until was we were
what when where which while who whom whose why with within without would yet you your
"""
_FUNCTION_WORDS = frozenset(_WORDS.split())

# Adjectives that have a capital wherever they stand, though taggers call them no names.
_PEOPLES = """
arab arabic british catholic czech danish dutch english finnish french german greek hindu icelandic
iraqi irish islamic israeli jewish muslim nordic olympic pakistani polish protestant roman scottish
slavic spanish swedish swiss thai turkish welsh
"""
_OF_PEOPLES = re.compile(rf"(?:{'|'.join(_PEOPLES.split())}|\w+(?:[ei]an|ese|ican))(?!\w)")


def shape_of(old: str, *, opens: bool) -> int:
    """The casing of a replaced span.

    Where it opens a sentence the capital of ``I`` says something; elsewhere the pronoun is a word
    without a capital.

    Example:
        >>> [shape_of(old, opens=False) for old in ("film", "Film", "FILM", "'S", "I", "I AM")]
        [0, 1, 2, 2, 3, 5]
    """
    more = WITH_PRONOUN if _ANY_PRONOUN.search(old) else 0
    several = sum(map(str.isalpha, old)) > 1 or begins_with_clitic(old)
    if old.isupper() and several and set(old.split()) != {"I"}:
        return UPPER + more
    if not (old[0].isupper() or old[0].istitle()):
        return PLAIN + more
    return (CAPITAL if opens or not _PRONOUN.match(old) else PLAIN) + more


def cased(word: str, shape: int, *, first: bool) -> str:
    """A literal of the consequent in the casing of the span that it replaces."""
    if shape % WITH_PRONOUN == UPPER:
        return word.upper()
    capital = shape % WITH_PRONOUN == CAPITAL and first and word[:1].islower()
    if capital or (shape >= WITH_PRONOUN and _PRONOUN.match(word[:1].upper() + word[1:])):
        return word[0].title() + word[1:]
    return word


def begins_sentence(text: str, place: int) -> bool:
    """Whether a word at a place begins a sentence: of the row, or after ``.``, ``!`` or ``?``.

    Example:
        >>> row = 'It is. "The film" is'
        >>> [begins_sentence(row, row.index(word)) for word in ("It", "The", "film")]
        [True, True, False]
    """
    while place and text[place - 1] in OPENING:
        place -= 1
    if not place:
        return True
    if not text[place - 1].isspace():
        return False
    while place and text[place - 1].isspace():
        place -= 1
    while place and text[place - 1] in CLOSING:
        place -= 1
    return not place or text[place - 1] in STOPS


def first_word(text: str, place: int) -> int:
    """Where the word at a place begins, behind white space and opening marks."""
    while place < len(text) and (text[place].isspace() or text[place] in OPENING):
        if begins_with_clitic(text[place : place + _CLITIC_AND_MORE]):
            break
        place += 1
    return place


def capitalized(text: str, place: int = 0) -> tuple[int, str]:
    """Where the word at a place, behind opening marks, ends; and the text to there with a capital.

    The place and no text where there is no word in lower case, or a clitic.

    Example:
        >>> capitalized(' "good" film'), capitalized("iPhone"), capitalized("'s")
        ((6, ' "Good'), (0, ''), (0, ''))
    """
    first = first_word(text, place)
    word = _WORD.match(text, first)
    if word is None or not word[0].islower() or begins_with_clitic(text[first : word.end() + 1]):
        return place, ""
    return word.end(), text[place:first] + word[0][0].title() + word[0][1:]


def uncapitalized(text: str, *, no_name: bool) -> str:
    """A text whose first word loses its capital if it is no name.

    Unless a tag says so, function words alone lose it.

    Example:
        >>> [uncapitalized(each, no_name=False) for each in ("The film", "London", "I", "THE")]
        ['the film', 'London', 'I', 'THE']
        >>> [uncapitalized(each, no_name=True) for each in ("Good", "American")]
        ['good', 'American']
    """
    word = _WORD.match(text)
    if word is None or _PRONOUN.match(word[0]):
        return text
    if not word[0][0].isupper() or word[0][1:] != word[0][1:].lower():
        return text
    low = word[0].lower()
    is_no_name = re.split("['’ʼ]", low, maxsplit=1)[0] in _FUNCTION_WORDS
    if is_no_name or (no_name and not _OF_PEOPLES.match(low)):
        return text[0].lower() + text[1:]
    return text


def without_capital(text: str) -> str:
    """A text whose first letter is a small one, unless its word is ``I`` or has another capital.

    Example:
        >>> [without_capital(each) for each in ("The film", '"The film"', "NASA says", "I am")]
        ['the film', '"the film"', 'NASA says', 'I am']
    """
    first = next((place for place, letter in enumerate(text) if letter.isalnum()), len(text))
    word = text[first:].split(maxsplit=1)[0] if first < len(text) else ""
    if not word or _PRONOUN.match(word) or word[1:] != word[1:].lower():
        return text
    return text[:first] + text[first].lower() + text[first + 1 :]


CASE_FUNCTIONS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "cap": lambda word: word[:1].title() + word[1:],
    "uncap": without_capital,
}
"""What the functions of casing make of a text."""
