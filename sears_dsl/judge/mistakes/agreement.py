"""Reflexive pronouns that nothing in their sentence agrees with.

In: the words of a text with their tags. Out: the places of *himself*, *themselves*, … that cannot
go back to what they must go back to. Always holds: a place is told only where that is sure, by
number, by gender or by whether it is a person: *Katherine can't help himself*, *The kings saw
itself*, not *The teacher hurt herself*. Costs some microseconds, and more only where there is such
a pronoun.

Two ways to be sure. The subject of its verb is plain and another than it (`_subject`); or nothing
in the whole text is such as it could mean. What is doubtful says nothing: two verbs in a row, nouns
after a preposition, subjects joined by *and*.
"""

from __future__ import annotations

from collections.abc import Sequence

from sears_dsl.judge.english import tags_of
from sears_dsl.judge.mistakes.persons import REFLEXIVES, Referent, is_name, referent
from sears_dsl.judge.mistakes.words import AUXILIARIES, BE, ENDS, FINITE, TaggedWord

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
    """The places of reflexive pronouns that agree with nothing that they could go back to.

    Example:
        >>> def told(tagged):
        ...     return disagreements([TaggedWord(*word.split("/")) for word in tagged.split()])
        >>> told("Katherine/NNP hurt/VBD himself/PRP"), told("She/PRP hurt/VBD herself/PRP")
        ([2], [])
    """
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
    """The words with better tags: names are no adverbs, and what has an object is a verb."""
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
    """Whether a reflexive may mean what another word means."""
    if reflexive.person != other.person:
        return False
    if reflexive.number and other.number and reflexive.number != other.number:
        # A team hurt themselves, and so may one person whose sex is not said.
        return reflexive.number == "several" and other.kind not in ("female", "male", "thing")
    kinds = {reflexive.kind, other.kind}
    return "" in kinds or len(kinds) == 1 or ("human" in kinds and "thing" not in kinds)


def _subject(words: Sequence[TaggedWord], at: int) -> Referent | None:
    """Whom the subject of a reflexive's verb means; None where it is not plain which that is."""
    begin = max((place for place in range(at) if words[place].text in ENDS), default=-1) + 1
    first = at - 1
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
            return _beyond_relative(words, begin, phrase, at)
    return _head(words, phrase, first)


def _opens_clause(word: TaggedWord) -> bool:
    low = word.text.lower()
    return low in _CLAUSE_OPENERS or (low == "that" and word.tag == "IN")


def _phrase(words: Sequence[TaggedWord], begin: int, last: int) -> int | None:
    """Where the noun phrase begins that ends with a word; None where it may be two."""
    if words[last].tag == "PRP":
        return last
    first = last
    while first > begin and words[first - 1].tag in _INSIDE:
        first -= 1
        if words[first].tag in ("DT", "PRP$", "PDT") and words[first - 1].tag != "PDT":
            break
    inside = [word.tag for word in words[first : last + 1]]
    names = [tag in ("NNP", "NNPS") for tag in inside]
    # The boy Mary knows: a noun and a name; a noun before this phrase: two in a row.
    mixed = any(names) and any(tag in ("NN", "NNS") for tag in inside)
    preceded = first > begin and words[first - 1].tag in _NOMINAL
    return None if (mixed and "POS" not in inside) or preceded else first


def _head(words: Sequence[TaggedWord], first: int, last: int) -> Referent | None:
    """Whom a noun phrase means: its last noun, or the first name of a full one."""
    place = last
    while place > first and words[place].tag == words[place - 1].tag == "NNP":
        place -= 1
    return referent(*words[place])


def _beyond_relative(
    words: Sequence[TaggedWord], begin: int, phrase: int, at: int
) -> Referent | None:
    """The subject before a relative clause: *the girls who saw John* hurt themselves.

    It is sure where the sentence has one relative clause, that follows its first noun phrase and is
    without a subject of its own, and two finite verbs, that of the clause and the reflexive's.
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
