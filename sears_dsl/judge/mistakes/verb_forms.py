"""Past forms where a participle must stand, and the other way round: *had wrote*, *he seen*.

In: the words of a text with their tags. Out: the places of verbs in the wrong form. Always holds:
only verbs whose two forms differ are looked at (*wrote*, *written*; not *hurt*), and a place is
told only where no reading of the sentence is left that would have it right: *what he had became
clear* is one. Costs some microseconds, and more only where there is such a verb.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sears_dsl.judge.english import tags_of
from sears_dsl.judge.mistakes.words import AUXILIARIES, BE, ENDS, FINITE, HAVE, TaggedWord

_SUBJECTS = frozenset(("i", "he", "she", "we", "they"))
_BEFORE_NOUNS = frozenset(("a", "an", "the", "my", "your", "our", "their", "every"))
_CLAUSES = frozenset(
    ("what", "whatever", "who", "whoever", "which", "that", "where", "how", "all", "everything",
     "anything", "nothing", "something")
)  # fmt: skip
# So many words before a verb hold what asks for a form, adverbs between.
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
    # The tables lack participles that are as the past form is: they end in -ed.
    if "VBD" in tags and tags <= {"VBD", "JJ"} and word[-2:] != "ed" and word not in BE:
        return "past"
    if "VBN" in tags and tags.isdisjoint(("VBD", "VB", "VBP")):
        return "participle"
    return ""


def may_be_wrong_after(before: Sequence[str], word: str) -> bool:
    """Whether a verb may be in the wrong form after words: it looks at the last ones alone.

    Args:
        before: the words before it in the text, in lower case.
        word: in lower case.

    Example:
        >>> may_be_wrong_after(["she", "has"], "wrote"), may_be_wrong_after(["she"], "wrote")
        (True, False)
    """
    near = set(before[-_NEAR:])
    if form_of(word) == "past":
        return not near.isdisjoint(HAVE | BE | _BEFORE_NOUNS)
    return bool(near) and before[-1] not in AUXILIARIES


def wrong_forms(words: Sequence[TaggedWord]) -> list[int]:
    """The places of past forms for participles, and of participles for past forms.

    Example:
        >>> def wrong(tagged):
        ...     return wrong_forms([TaggedWord(*word.split("/")) for word in tagged.split()])
        >>> wrong("He/PRP has/VBZ wrote/VBD"), wrong("They/PRP seen/VBN it/PRP")
        ([2], [1])
    """
    places = []
    for at, word in enumerate(words):
        kind = form_of(word.text)
        if (kind == "past" and _as_participle(words, at)) or (
            kind == "participle" and _as_past(words, at)
        ):
            places.append(at)
    return places


def _as_participle(words: Sequence[TaggedWord], at: int) -> bool:
    """Whether a past form stands after *have* or *be*, or after an article."""
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
    """The place of the last word before that is no adverb; -1 if there is none."""
    place = at - 1
    while place >= 0 and words[place].tag in _ADVERBS:
        place -= 1
    return place


def _begin(words: Sequence[TaggedWord], at: int) -> int:
    return max((place for place in range(at) if words[place].text in ENDS), default=-1) + 1
