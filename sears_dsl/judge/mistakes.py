"""Words that are certainly wrong: a reflexive without an antecedent, a verb in the other form.

Always holds: the result for a text depends on the text alone, and good text has hardly any mistakes
(`benchmarks.grammar` counts them). Each distinct word costs a look-up; texts that have a word which
may be wrong are also tagged.

A reflexive such as *himself* is a mistake where it certainly disagrees with its antecedent, in
number, in gender or in being a person: *Katherine can't help himself*, *The kings saw itself*, but
not *The teacher hurt herself*. There are two ways to be certain: the subject of its verb is plain
and disagrees (`_subject`), or nothing in the whole text agrees. A doubtful subject decides nothing:
one before two verbs in a row, after a preposition, or joined to another by *and*.

Only verbs whose past form and participle differ are looked at (*wrote*, *written*; not *hurt*). One
is a mistake only if no reading makes it right: *what he had became clear* has such a reading.

Nouns for persons are in ``english.json``. First names come from the 1990 census of the United
States (public domain); `first_names.txt` says how it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.judge.english import english, forms_of, tags_of
from sears_dsl.runtime.array_types import offsets_of
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens


class TaggedWord(NamedTuple):
    """A word with its fine (Penn) tag."""

    text: str
    tag: str


FINITE = frozenset(("VBD", "VBZ", "VBP", "MD"))
"""Tags of verbs that agree with a subject."""

BE = frozenset(("am", "is", "are", "was", "were", "be", "been", "being", "'s", "'m", "'re"))
HAVE = frozenset(("has", "have", "had", "having", "'ve"))
AUXILIARIES = BE | HAVE | {"'d", "do", "does", "did"}

ENDS = frozenset((".", "!", "?", ";", ":"))
"""Marks that end a clause."""


class Referent(NamedTuple):
    """What is known of whom or what a word refers to."""

    # "female", "male", "human" for a person of either sex, "thing", or "" for any of these.
    kind: str = ""
    number: str = ""  # "one", "several", or "" for either
    person: int = 3  # 1, 2 or 3


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
"""What each reflexive pronoun can refer to."""

_PRONOUNS = {
    **dict.fromkeys(("he", "him", "his"), Referent("male", "one")),
    **dict.fromkeys(("she", "her", "hers"), Referent("female", "one")),
    **dict.fromkeys(("it", "its"), Referent("thing", "one")),
    **dict.fromkeys(("they", "them", "their", "theirs"), Referent()),  # of one person too
    **dict.fromkeys(("i", "me", "my", "mine"), Referent("human", "one", 1)),
    **dict.fromkeys(("we", "us", "our", "ours"), Referent("human", "several", 1)),
    **dict.fromkeys(("you", "your", "yours", "thou", "ye"), Referent("human", "", 2)),
}
_ENDINGS_OF_THINGS = ("tion", "sion", "ment", "ness", "ity", "ism")


def referent(word: str, tag: str) -> Referent | None:
    """What a word can refer to; None for a word that refers to nothing, such as a verb.

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
    """Whether a word is a first name, as far as the list goes."""
    return word.istitle() and word.lower() in _names()


def _noun(word: str, tag: str) -> Referent:
    base = next((base for base, form in sorted(forms_of(word)) if form == tag), word)
    kind = _nouns().get(base, "")
    if not kind and base.endswith(_ENDINGS_OF_THINGS):
        kind = "thing"
    # A noun that the tables also have as a plural may be its own plural; the tag NNS is trusted.
    either = tag == "NN" and any(form == "NNS" for _, form in forms_of(word))
    return Referent(kind, "" if either else "one" if tag == "NN" else "several")


@cache
def _nouns() -> dict[str, str]:
    return {word: kind for kind, words in english().people.items() for word in words.split()}


@cache
def _names() -> dict[str, str]:
    """The first names in lower case, each with the kind of person that it refers to."""
    lines = files(__package__).joinpath("first_names.txt").read_text("ascii").splitlines()
    rows = (line.split() for line in lines if not line.startswith("#"))
    return {name: sex for sex, *names in rows for name in names}


_VERBS = FINITE | {"VB", "VBN", "VBG"}
_BETWEEN = frozenset(("RB", "RP", "TO", "RBR"))
_NOMINAL = frozenset(("NN", "NNS", "NNP", "NNPS", "PRP"))
_INSIDE = frozenset(("DT", "PDT", "JJ", "JJR", "JJS", "PRP$", "POS", "CD", "NN", "NNS", "NNP"))
_RELATIVES = frozenset(("who", "which", "that", "whom", "whose", "what"))
_LOOSE = frozenset(("like", "as", "than", "but", "except", "between", "and", "or", "besides"))
_CLAUSE_OPENERS = frozenset(
    ("because", "if", "when", "while", "although", "though", "unless", "whether")
)
_OF_MANY = frozenset(("lot", "lots", "number", "couple", "most", "some", "all", "many", "few"))


def disagreements(words: Sequence[TaggedWord]) -> list[int]:
    """The places of reflexive pronouns that agree with none of their possible antecedents."""
    places = [at for at, word in enumerate(words) if word.text.lower() in REFLEXIVES]
    if not places:
        return []
    words = _retagged(words)
    others = [referent(*word) for at, word in enumerate(words) if at not in places]
    meant = [other for other in others if other is not None]
    return [at for at in places if _is_wrong(words, at, meant)]


def _is_wrong(words: Sequence[TaggedWord], at: int, meant: Sequence[Referent]) -> bool:
    reflexive = REFLEXIVES[words[at].text.lower()]
    subject = _subject(words, at)
    if subject is not None:
        return not _agree(reflexive, subject)
    if reflexive.person != 3 or not meant or (reflexive.number == "several" and len(meant) > 1):
        return False  # Mary and John together are several
    return not any(_agree(reflexive, each) for each in meant)


def _retagged(words: Sequence[TaggedWord]) -> list[TaggedWord]:
    """The words with better tags: names are not adverbs, and what has an object is a verb."""
    tagged = list(words)
    for at, (text, tag) in enumerate(words):
        low = text.lower()
        if tag[:3] == "NNP" and text.islower():
            verb = sorted(tags_of(low) & {"VBD", "VBZ"})
            tagged[at] = TaggedWord(text, verb[0] if verb else "NN")
        elif tag != "NNP" and is_name(text) and not tags_of(low):
            tagged[at] = TaggedWord(text, "NNP")
        elif tag == "JJ" and "VBN" in tags_of(low) and _tag(words, at + 1) in ("PRP", "NNP"):
            before = next((word for word in reversed(words[:at]) if word.tag != "RB"), None)
            helped = before is not None and before.text.lower() in AUXILIARIES
            tagged[at] = TaggedWord(text, "VBN" if helped else "VBD")
    return tagged


def _tag(words: Sequence[TaggedWord], at: int) -> str:
    return words[at].tag if at < len(words) else ""


def _agree(reflexive: Referent, other: Referent) -> bool:
    """Whether a reflexive may refer to what another word refers to."""
    if reflexive.person != other.person:
        return False
    if reflexive.number and other.number and reflexive.number != other.number:
        # A team hurt themselves, and so may one person whose sex is not said.
        return reflexive.number == "several" and other.kind not in ("female", "male", "thing")
    kinds = {reflexive.kind, other.kind}
    return "" in kinds or len(kinds) == 1 or ("human" in kinds and "thing" not in kinds)


def _subject(words: Sequence[TaggedWord], at: int) -> Referent | None:
    """What the subject of a reflexive's verb refers to; None where the subject is not plain."""
    begin, first = _begin(words, at), at - 1
    if first >= begin and words[first].tag == "IN":
        if words[first].text.lower() in _LOOSE:
            return None
        first -= 1
    while first >= begin and (words[first].tag in _VERBS or words[first].tag in _BETWEEN):
        first -= 1
    group = [word for word in words[first + 1 : at] if word.tag in _VERBS]
    if first < begin or words[first].tag not in _NOMINAL:
        return None
    if all(word.text.lower() in BE for word in group):
        return None  # it is himself
    finite = sum(word.tag in FINITE for word in group)
    phrase = _phrase(words, begin, first)
    if phrase is None:
        return None
    before = words[phrase - 1] if phrase > begin else None
    if finite == 0:
        is_question = before is not None and before.tag in FINITE and group[0].tag == "VB"
        if not is_question or phrase - 1 != begin:
            return None
    elif finite != 1 or group[0].tag not in FINITE:
        return None
    elif before is not None and not _opens_clause(before):
        if before.tag not in FINITE:
            return None
        if any(word.text.lower() in _RELATIVES for word in words[begin:phrase]):
            return _beyond_relative(words, begin, at)
    return _head(words, phrase, first)


def _opens_clause(word: TaggedWord) -> bool:
    low = word.text.lower()
    return low in _CLAUSE_OPENERS or (low == "that" and word.tag == "IN")


def _phrase(words: Sequence[TaggedWord], begin: int, last: int) -> int | None:
    """Where the noun phrase that ends at ``last`` begins; None where it may be two phrases."""
    if words[last].tag == "PRP":
        return last
    first = last
    while first > begin and words[first - 1].tag in _INSIDE:
        first -= 1
        if words[first].tag in ("DT", "PRP$", "PDT") and words[first - 1].tag != "PDT":
            break
    inside = [word.tag for word in words[first : last + 1]]
    names = [tag in ("NNP", "NNPS") for tag in inside]
    # Two phrases: a noun and a name (the boy Mary knows), or a noun just before this phrase.
    mixed = any(names) and any(tag in ("NN", "NNS") for tag in inside)
    preceded = first > begin and words[first - 1].tag in _NOMINAL
    return None if (mixed and "POS" not in inside) or preceded else first


def _head(words: Sequence[TaggedWord], first: int, last: int) -> Referent | None:
    """What a noun phrase refers to: its last noun, or the first of several names in a row."""
    place = last
    while place > first and words[place].tag == words[place - 1].tag == "NNP":
        place -= 1
    return referent(*words[place])


def _beyond_relative(words: Sequence[TaggedWord], begin: int, at: int) -> Referent | None:
    """What a subject with a relative clause refers to: *the girls who saw John* hurt themselves.

    It is certain only where the sentence has one relative clause, which follows its first noun
    phrase and has no subject of its own, and two finite verbs: the clause's and the reflexive's.
    """
    sentence = list(words[begin:at])
    relatives = [place for place, word in enumerate(sentence) if word.text.lower() in _RELATIVES]
    if len(relatives) != 1 or sum(word.tag in FINITE for word in sentence) != 2:
        return None
    place = relatives[0]
    if (
        place == 0
        or sentence[place + 1].tag not in FINITE
        or sentence[place - 1].tag not in _NOMINAL
    ):
        return None
    end = next((p for p in range(at, len(words)) if words[p].text in ENDS), len(words))
    if any(word.tag in FINITE for word in words[at + 1 : end]):
        return None
    start = _phrase(words, begin, begin + place - 1)
    if start is None:
        return None
    of_many = (
        start - begin >= 2
        and words[start - 1].text.lower() == "of"
        and words[start - 2].text.lower() in _OF_MANY
    )
    if start != begin and not of_many:
        return None
    return _head(words, start, begin + place - 1)


_SUBJECTS = frozenset(("i", "he", "she", "we", "they"))
_BEFORE_NOUNS = frozenset(("a", "an", "the", "my", "your", "our", "their", "every"))
_CLAUSES = frozenset(("what", "whatever", "who", "whoever", "which", "that", "where", "how", "all"))
_CLAUSES |= {"everything", "anything", "nothing", "something"}
# The word that requires a form of a verb is among so many before it, adverbs included.
_NEAR = 4
_ADVERBS = frozenset(("RB", "RBR"))


@lru_cache(maxsize=1 << 14)
def form_of(word: str) -> str:
    """Which form a verb in lower case is, "past" or "participle"; "" for both, and for neither.

    Example:
        >>> form_of("wrote"), form_of("written"), form_of("hurt"), form_of("saw")
        ('past', 'participle', '', '')
    """
    if not word.islower():
        return ""  # Drew
    tags = tags_of(word)
    # The tables lack participles that equal the past form; these end in -ed.
    if "VBD" in tags and tags <= {"VBD", "JJ"} and word[-2:] != "ed" and word not in BE:
        return "past"
    if "VBN" in tags and tags.isdisjoint(("VBD", "VB", "VBP")):
        return "participle"
    return ""


def may_be_wrong_after(before: Sequence[str], word: str) -> bool:
    """Whether a verb may be in the wrong form; the last words before it, in lower case, decide."""
    near = set(before[-_NEAR:])
    if form_of(word) == "past":
        return not near.isdisjoint(HAVE | BE | _BEFORE_NOUNS)
    return bool(near) and before[-1] not in AUXILIARIES


def wrong_forms(words: Sequence[TaggedWord]) -> list[int]:
    """The places of past forms used as participles, and of participles used as past forms."""
    is_wrong = {"past": _as_participle, "participle": _as_past, "": lambda *_: False}
    return [at for at, word in enumerate(words) if is_wrong[form_of(word.text)](words, at)]


def _as_participle(words: Sequence[TaggedWord], at: int) -> bool:
    """Whether a past form is used as a participle: after *have* or *be*, or after a determiner."""
    low = words[at].text.lower()
    adjective = "JJ" in tags_of(low)
    before = _before(words, at)
    if before < 0:
        return False
    helper = words[before].text.lower()
    if helper in _BEFORE_NOUNS:
        noun = at + 1 < len(words) and words[at + 1].tag[:2] in ("NN", "JJ")
        return before == at - 1 and noun and not adjective
    if helper == "'s" or helper not in (HAVE if adjective else HAVE | BE):
        return False
    begin = _begin(words, at)
    subject = _before(words, before)
    # What he had became clear; the books that they had fell: the helper ends a clause.
    if any(word.text.lower() in _CLAUSES for word in words[begin:before]):
        return False
    earlier = words[begin : max(begin, subject)]
    return not any(word.tag[:2] == "NN" for word in earlier) or words[subject].tag[:2] == "NN"


def _as_past(words: Sequence[TaggedWord], at: int) -> bool:
    """Whether a participle is the only verb of its sentence, beside a subject and an object."""
    subject = _before(words, at)
    begin = _begin(words, at)
    if subject < begin:
        return False
    end = next((p for p in range(at, len(words)) if words[p].text in ENDS), len(words))
    is_question = subject > begin and words[subject - 1].text.lower() in AUXILIARIES
    if words[subject].text.lower() in _SUBJECTS:
        return not is_question
    if words[subject].tag not in ("NN", "NNS", "NNP", "NNPS") or end == len(words):
        return False
    others = [word for place, word in enumerate(words[begin:end], begin) if place != at]
    if any(word.tag in FINITE or word.text.lower() in AUXILIARIES for word in others):
        return False
    after = words[at + 1].tag if at + 1 < end else ""
    return after in ("DT", "PRP", "PRP$", "NNP", "NNS", "CD") or (
        after[:2] != "IN" and words[subject].tag[:3] == "NNP" and subject == begin
    )


def _before(words: Sequence[TaggedWord], at: int) -> int:
    """The place of the last word before ``at`` that is no adverb; -1 if there is none."""
    place = at - 1
    while place >= 0 and words[place].tag in _ADVERBS:
        place -= 1
    return place


def _begin(words: Sequence[TaggedWord], at: int) -> int:
    return max((place for place in range(at) if words[place].text in ENDS), default=-1) + 1


VERSION = "mistakes-2"
"""The version of what counts as a mistake; raise it when that changes: it keys stored scores."""


def mistakes(tokens: Tokens, tagger: Tagger) -> dict[int, list[int]]:
    """The places of wrong words in each row; rows without any are left out."""
    words = tokens.types.texts()
    asking = [word.lower() in REFLEXIVES or bool(form_of(word)) for word in words]
    asks = np.array(asking, np.bool_)[tokens.type_ids]
    with_asking = np.flatnonzero(np.diff(offsets_of(asks, np.int64)[tokens.row_offsets])).tolist()
    rows = [row for row in with_asking if _wants_tags(tokens, row, asks, words)]
    if not rows:
        return {}
    tagged = tagger.tag([tokens.texts[row] for row in rows])
    places_by_row = {}
    for at, row in enumerate(rows):
        text = [TaggedWord(token.text, token.fine) for token in tagged.row(at)]
        places = sorted({*disagreements(text), *wrong_forms(text)})
        if places:
            places_by_row[row] = places
    return places_by_row


def _wants_tags(tokens: Tokens, row: int, asks: NDArray[np.bool_], words: Sequence[str]) -> bool:
    """Whether a text has a word that may be wrong after the words before it."""
    low, high = tokens.row_offsets[row], tokens.row_offsets[row + 1]
    own = [words[kind].lower() for kind in tokens.type_ids[low:high].tolist()]
    places = np.flatnonzero(asks[low:high]).tolist()
    return any(own[at] in REFLEXIVES or may_be_wrong_after(own[:at], own[at]) for at in places)
