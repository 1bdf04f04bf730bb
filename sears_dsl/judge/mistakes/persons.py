"""Who a pronoun, a noun or a name can be: man, woman or thing; one or several.

In: a word with its fine (Penn) tag. Out: a `Referent`, whose fields are empty where the word leaves
them open. Always holds: it depends on the word and its tag alone. Costs a look-up, after a
millisecond for the list of names.

The nouns are our own list. The names are those that nearly only women, or men, bear by the census
of the United States of 1990 (public domain); `first_names.txt` says of which files it was made.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from sears_dsl.judge.english import forms_of


class Referent(NamedTuple):
    """What is known of whom a word means.

    Attributes:
        kind: "female", "male" or "thing", "human" where it is a person of either sex; "" for any.
        number: "one", "several", or "" for either.
        person: 1, 2 or 3.
    """

    kind: str = ""
    number: str = ""
    person: int = 3


REFLEXIVES = {
    "himself": Referent("male", "one"),
    "herself": Referent("female", "one"),
    "itself": Referent("thing", "one"),
    "themselves": Referent("", "several"),
    "myself": Referent("human", "one", 1),
    "ourselves": Referent("human", "several", 1),
    "yourself": Referent("human", "one", 2),
    "yourselves": Referent("human", "several", 2),
}
"""Whom each reflexive pronoun can mean."""

_PRONOUNS = {
    **dict.fromkeys(("he", "him", "his"), Referent("male", "one")),
    **dict.fromkeys(("she", "her", "hers"), Referent("female", "one")),
    **dict.fromkeys(("it", "its"), Referent("thing", "one")),
    **dict.fromkeys(("they", "them", "their", "theirs"), Referent()),  # of one person too
    **dict.fromkeys(("i", "me", "my", "mine"), Referent("human", "one", 1)),
    **dict.fromkeys(("we", "us", "our", "ours"), Referent("human", "several", 1)),
    **dict.fromkeys(("you", "your", "yours", "thou", "ye"), Referent("human", "", 2)),
}
_NOUNS = {
    "female": """
        woman girl lady wife widow bride mother mum mom mama mommy mummy grandmother grandma
        granny sister daughter granddaughter stepmother stepsister stepdaughter aunt auntie
        niece godmother goddaughter girlfriend schoolgirl cowgirl lass maiden maid spinster
        queen princess duchess countess baroness empress goddess priestess nun abbess witch
        heiress hostess stewardess waitress actress poetess sorceress seamstress governess
        mistress landlady businesswoman chairwoman congresswoman policewoman saleswoman
        spokeswoman sportswoman noblewoman gentlewoman housewife midwife ballerina heroine
        prostitute madam madame mademoiselle ma'am mrs ms miss salesgirl showgirl ex-wife
        ex-girlfriend mother-in-law sister-in-law daughter-in-law
    """,
    "male": """
        man boy gentleman guy husband widower groom bridegroom father dad daddy papa grandfather
        grandpa granddad brother son grandson stepfather stepbrother stepson uncle nephew
        godfather godson boyfriend schoolboy cowboy lad bachelor king prince duke baron emperor
        monk abbot priest wizard waiter policeman fireman businessman congressman salesman
        spokesman sportsman nobleman craftsman fisherman milkman postman mailman landlord sir mr
        monsieur ex-husband ex-boyfriend father-in-law brother-in-law son-in-law stepdad bloke
        chap fella
    """,
    "human": """
        person child adult baby infant toddler kid teenager adolescent parent grandparent
        grandchild spouse cousin friend neighbor neighbour stranger guest host visitor customer
        client patient teacher student pupil professor doctor physician surgeon dentist nurse
        lawyer judge engineer scientist writer author poet artist painter singer dancer musician
        actor comedian director producer cashier clerk bartender cook chef baker butcher farmer
        driver pilot sailor soldier officer detective president senator governor mayor minister
        citizen voter tourist pedestrian passenger accountant banker carpenter electrician
        plumber mechanic hairdresser tailor librarian journalist reporter editor photographer
        athlete coach referee player boss manager employee employer worker secretary assistant
        colleague thief murderer criminal prisoner victim witness hero genius fool idiot
    """,
}
_ENDINGS_OF_THINGS = ("tion", "sion", "ment", "ness", "ity", "ism")


def referent(word: str, tag: str) -> Referent | None:
    """Whom a word can mean; None for one that means nobody, such as a verb.

    Args:
        word: as it stands in the text.
        tag: its fine (Penn) tag.

    Example:
        >>> referent("Katherine", "NNP"), referent("waitresses", "NNS").number
        (Referent(kind='female', number='one', person=3), 'several')
        >>> referent("teacher", "NN").kind, referent("Zork", "NNP"), referent("saw", "VBD")
        ('human', Referent(kind='', number='', person=3), None)
    """
    low = word.lower().replace("’", "'")
    if low in _PRONOUNS:
        return _PRONOUNS[low]
    if tag in ("NN", "NNS"):
        return _noun(low, tag)
    if tag == "NNP":
        kind = _names().get(low, "") or _nouns().get(low, "")
        return Referent(kind, "one" if kind else "")
    if tag in ("NNPS", "PRP", "PRP$", "DT", "PDT", "WP", "WDT", "CD", "JJ", "EX", "FW", "UH"):
        return Referent()
    return None


def is_name(word: str) -> bool:
    """Whether a word is a first name, as far as the list goes.

    Example:
        >>> is_name("Sally"), is_name("sally"), is_name("Nobody")
        (True, False, False)
    """
    return word.istitle() and word.lower() in _names()


def _noun(word: str, tag: str) -> Referent:
    base = next((base for base, form in sorted(forms_of(word)) if form == tag), word)
    kind = _nouns().get(base, "")
    if not kind and base.endswith(_ENDINGS_OF_THINGS):
        kind = "thing"
    # The tables know of nouns that are their own plural, the tagger of those that are used so.
    either = tag == "NN" and any(form == "NNS" for _, form in forms_of(word))
    return Referent(kind, "" if either else "one" if tag == "NN" else "several")


@cache
def _nouns() -> dict[str, str]:
    return {word: kind for kind, words in _NOUNS.items() for word in words.split()}


@cache
def _names() -> dict[str, str]:
    """The names that say whom they mean, in lower case."""
    lines = files(__package__).joinpath("first_names.txt").read_text("ascii").splitlines()
    rows = (line.split() for line in lines if not line.startswith("#"))
    return {name: sex for sex, *names in rows for name in names}
