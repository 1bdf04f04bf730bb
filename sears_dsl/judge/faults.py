"""What is wrong in the form of a few words (contractions, agreement, articles, verbs) or in spaces.

Always holds: the result depends on these words alone. A fault is counted only where the words are
wrong in every reading that the inflection tables know, so good text has hardly any. A word takes
some microseconds, and its forms are looked up once.

This is no grammar checker: it finds what replacing single words breaks most often.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from unicodedata import normalize

from sears_dsl.engine.rewrite.placing import wants_an
from sears_dsl.judge.english import english, forms_of, tags_of

FAULTS = (
    "bad contraction",
    "stiff question",
    "article sound",
    "article out of place",
    "subject and verb",
    "determiner and noun",
    "case of pronoun",
    "verb form",
    "degree form",
    "repeated word",
    "repeated mark",
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SUBJECTS = _set("i he she we they")
_OTHERS = _set("i you we they")
_BE = _set("am is are was were be been being 'm 're")
_HAVE = _set("have has had having 've")
_DO = _set("do does did")
_FINITE = _set("am is are was were has does did")
_MODALS = _set("can ca could will wo would shall should may might must 'll")
_AUXILIARIES = _BE | _HAVE | _DO | _MODALS
_ADVERBS = _set("not n't also never ever really just always still")
_ASKING = _set("what which who whom where when why how")
_DENIALS = _set("not never n't")
_MARKS = frozenset(".,;:")
_CLAUSE_BEFORE = _set(". ! ? , ; and but that because if or") | {""}
_FORMS_OF_AUXILIARIES = _set("am is are was were has have do does")
_ENDS = frozenset(("", ".", "!", "?", ",", ";", ":", ")"))

_HOSTS = {clitic: _set(hosts) for clitic, hosts in english().hosts.items()}
_PRONOUNS = _HOSTS["'ll"]
# Words that can bear neither a possessive 's nor a contracted *is*.
_NO_HOSTS_OF_S = _AUXILIARIES | _set(
    "'s a an the this i you we they my your our their not n't of to at from with by into and or if"
    " very because than"
)
_HOSTS_OF_LAST_S = _set("it he she that what there here where")

_BEFORE_NOUNS = _set("a an the my your our their every")
_NO_NOUNS = (_FINITE | _ENDS | _BEFORE_NOUNS) - {"every"} | _set(
    "he she it they we these those his its of to and or but if because n't him them us just also"
    " maybe"
)
_ONE = _set("a an this each every another")
_SEVERAL = _set("these those many several")
_PLURALS_BEFORE_NOUNS = _set(
    "sports sales arms goods savings customs means series news thanks women children men"
)
_BEFORE_OBJECTS = _set("of with at from by without into upon")
_TWICE = _set("that had very really so no ha bye blah there many far too way her is")
_AFTER_VERY = _set(
    "much many few little most least like near well best own same first last rarely"
    " seldom often soon early late fast highly certain"
)
_INTENSIFIERS = _set("very extremely incredibly highly")
_AFTER_BEST = _set("friend friends seller selling man practice case")


class _Passage:
    """Some words in a row, and what stands before and after them."""

    def __init__(self, words: tuple[str, ...], begins: bool, ends: bool) -> None:
        self.words = words
        # A neighbour that is not known is "_", one that does not exist is "".
        self.low = ["" if begins else "_", *map(str.lower, words), "" if ends else "_", "_"]

    def faults(self) -> Iterator[str]:
        """The kind of each fault."""
        low = self.low
        for at in range(1, len(low) - 2):
            word = low[at]
            check = _CHECKS.get(word)
            if check is not None:
                yield from check(self, at)
            if word == low[at + 1] and word not in _TWICE and word.isalpha():
                yield "repeated word"
            if word[0] in _MARKS and word != "...":
                again = (",", ".", "..") if word == "." else _MARKS
                if len(word) > 1 or low[at + 1] in again:
                    yield "repeated mark"

    def clitic(self, at: int) -> Iterator[str]:
        """A contraction leans on a word that can bear it, and does not end a clause."""
        clitic, host, after = self.low[at], self.low[at - 1], self.low[at + 1]
        if clitic == "'s":
            fits = host not in _NO_HOSTS_OF_S
            stays = host in _HOSTS_OF_LAST_S
        else:
            fits = host in _HOSTS[clitic] or host == "_"
            noun = not (english().classes(host) or host in _PRONOUNS)
            fits = fits or (noun and clitic in ("'ll", "'d", "'re"))
            if clitic == "'ve" and (after in _BEFORE_NOUNS or _lacks(after, "VBN", "RB")):
                fits = False  # I've fun
            stays = clitic != "n't"
        raised, loud = not self.words[at - 1].islower(), at < 2 or self.words[at - 2].isupper()
        fits &= raised == loud or (loud and (clitic != "n't" or at < 2))  # wouldN'T, ISn't
        if stays and after in ("now", "today") and at > 1 and self.low[at - 2] in _ASKING:
            after = self.low[at + 2]  # tell me where he's now
        if clitic == "n't" and after in _DENIALS:
            yield "repeated word"
        if not fits or (stays and after in _ENDS):
            yield "bad contraction"

    def cut_host(self, at: int) -> Iterator[str]:
        """*ca*, *wo* and *sha* stand only before *n't*; *nt* lacks its apostrophe."""
        if self.low[at + 1] != "n't":
            yield "bad contraction"

    def negation(self, at: int) -> Iterator[str]:
        """Finds *is not it fun?* for *isn't it*, *why do not people* and *did not never*."""
        before = self.low[at - 2] if at > 1 else ""
        asked = self.low[at + 1] in _SUBJECTS | {"it", "you"} and before in _ENDS | _ASKING
        if (asked or before in ("why", "how")) and self.low[at - 1] in _AUXILIARIES:
            yield from ("stiff question", "verb form")
        if self.low[at + 1] in _DENIALS:
            yield "repeated word"
        if self.low[at - 1] in ("don", "won"):
            yield "bad contraction"

    def such(self, at: int) -> Iterator[str]:
        """*such a day*, but not *such rude*."""
        tags = tags_of(self.low[at + 1])
        if tags and tags <= {"JJ", "RB"} and self.low[at + 2] in _ENDS:
            yield "degree form"

    def article(self, at: int) -> Iterator[str]:
        """*a* or *an* goes by the sound of the next word, with a singular and no superlative."""
        word, after = self.low[at], self.low[at + 1]
        if self.words[at - 1] == "A" and self.low[at - 1]:
            return  # a letter: Vitamin A
        if after[:1].isalnum() and wants_an(self.words[at]) != (word == "an"):
            yield "article sound"
        if "JJS" in tags_of(after) and self.low[at + 2] not in _AFTER_BEST:
            yield "degree form"
        yield from self.determiner(at)

    def determiner(self, at: int) -> Iterator[str]:
        """A determiner begins a noun phrase, whose noun agrees with it."""
        word, after, further = self.low[at : at + 3]
        nation = after == "us" and self.words[at] == "US"
        if word in _BEFORE_NOUNS and after in _NO_NOUNS and not nation:
            yield "article out of place"
        elif word in _ONE and after not in _PLURALS_BEFORE_NOUNS and further not in ("'s", "'"):
            forms = forms_of(after)
            if _only(forms, "NNS") or (word != "this" and _only(forms, "NNS", "VBZ")):
                yield "determiner and noun"
        elif word == "much" and "NNS" in tags_of(after) and _lacks(after, "NN", "RB", "JJ"):
            yield "determiner and noun"
        elif word in _SEVERAL:
            is_last = further in _ENDS or english().classes(further)
            if is_last and _only(forms_of(after), "NN"):
                yield "determiner and noun"

    def subject(self, at: int) -> Iterator[str]:
        """The verb beside a pronoun agrees with it."""
        before, word, after = self.low[at - 1 : at + 2]
        if before in _BEFORE_OBJECTS and word in _SUBJECTS:
            yield "case of pronoun"
        if before in _ADVERBS and at > 1:
            before = self.low[at - 2]
        free = word in ("he", "she", "we", "they", "i") or before in _CLAUSE_BEFORE
        forms = forms_of(after)
        if after in _MODALS or after in _DO - {"do", "does"}:
            return
        if before in _AUXILIARIES:
            # In a question the auxiliary agrees; `after_auxiliary` looks at the verb.
            asking = at < 2 or self.low[at - 2] in _ASKING or self.low[at - 2] in _ENDS
            if free and asking and not _agree(word, before):
                yield "subject and verb"
        elif free and (
            (after in _FORMS_OF_AUXILIARIES and not _agree(word, after))
            or (word in _OTHERS and _only(forms, "VBZ"))
            or (word not in _OTHERS and _only(forms, "VB", "NN") and "VB" in tags_of(after))
        ):
            yield "subject and verb"
        if free and before not in _AUXILIARIES and (_only(forms, "VBN") or _only(forms, "VBG")):
            yield "verb form"

    def after_auxiliary(self, at: int) -> Iterator[str]:
        """The verb after a modal, *do*, *have* or *be* has the form that these require."""
        word = self.low[at]
        place = at + 1
        while self.low[place] in _ADVERBS or (word in _DO and self.low[place] in _PRONOUNS):
            place += 1
        verb = self.low[place]
        tags = tags_of(verb)
        near = place == at + 1
        if word in ("is", "was", "has", "does") and _only(forms_of(self.low[at - 1]), "NNS"):
            yield "subject and verb"
        if word in _MODALS:
            wrong = (
                verb in _FINITE
                or (near and verb in _MODALS - {"'ll", "can", "will", "might"})
                or (tags and tags <= {"VBD", "VBN", "VBZ", "VBG", "NNS"})
            )
            wrong = wrong and not (word in ("can", "will", "might") and tags <= {"NNS"})
        elif word in _DO:
            wrong = not near and (verb in _FINITE or (tags and tags <= {"VBD", "VBN", "VBZ"}))
        elif word in _HAVE:
            wrong = tags in ({"VBD"}, {"VB"}) or verb in _FINITE
        else:
            wrong = tags in ({"VBD"}, {"VB"}) or (verb == "been" and word != "'s")
        if wrong:
            yield "verb form"

    def infinitive(self, at: int) -> Iterator[str]:
        """No finite verb follows *to* or *gonna*, and no noun phrase follows *gonna*."""
        verb = self.low[at + 1]
        tags = tags_of(verb)
        noun = self.low[at] != "to" and verb in _BEFORE_NOUNS
        if noun or verb in _FINITE or tags in ({"VBD"}, {"VBZ"}):
            yield "verb form"

    def quantity(self, at: int) -> Iterator[str]:
        """Unlike *many* and *much*, words such as *lots* take no degree: not *too lots*."""
        before = self.low[at - 1 - (at > 1 and self.low[at - 1] == "a")]
        if before in ("so", "too", "very", "how") or self.low[at - 1] == "as":
            yield "degree form"

    def degree(self, at: int) -> Iterator[str]:
        """*very* stands before an adjective or adverb, *more* before no comparative."""
        word, after = self.low[at : at + 2]
        tags = tags_of(after)
        if word in ("more", "most"):
            wrong = bool(tags & {"JJR", "RBR", "JJS"}) and "JJ" not in tags
        else:
            wrong = bool(tags & {"JJR", "RBR"}) or (
                bool(tags) and tags <= {"NN", "NNS", "VB", "VBZ", "VBD", "VBN", "VBG"}
            )
            wrong = wrong or bool(
                english().classes(after) - {"quantifier"} and after not in _AFTER_VERY
            )
        if wrong:
            yield "degree form"


_THIRD = _set("he she it")
# Which pronouns each form of *be*, *have* and *do* takes as subjects.
_SUBJECTS_OF = {
    **dict.fromkeys(("is", "has", "does"), _THIRD),
    **dict.fromkeys(("have", "do"), _OTHERS),
    "am": _set("i"),
    "are": _OTHERS - {"i"},
    "was": _THIRD | {"i"},
    "were": _OTHERS | _THIRD,  # if he were
}


def _agree(subject: str, auxiliary: str) -> bool:
    return subject in _SUBJECTS_OF.get(auxiliary, (subject,))


def _lacks(word: str, *tags: str) -> bool:
    """Whether the tables know a word and give it none of these tags."""
    return bool(tags_of(word)) and tags_of(word).isdisjoint(tags)


def _only(forms: frozenset[tuple[str, str]], *tags: str) -> bool:
    return bool(forms) and all(tag in tags for _, tag in forms)


_CHECKS: dict[str, Callable[[_Passage, int], Iterator[str]]] = {
    **dict.fromkeys(_BEFORE_NOUNS | _ONE | _SEVERAL | {"much"}, _Passage.determiner),
    **dict.fromkeys(("gonna", "wanna", "gotta"), _Passage.infinitive),
    **dict.fromkeys(("lots", "lot", "plenty", "several", "numerous"), _Passage.quantity),
    "such": _Passage.such,
    **dict.fromkeys(("a", "an"), _Passage.article),
    **dict.fromkeys(("i", "you", "he", "she", "it", "we", "they"), _Passage.subject),
    **dict.fromkeys(_AUXILIARIES, _Passage.after_auxiliary),
    **dict.fromkeys((*_HOSTS, "'s"), _Passage.clitic),
    **dict.fromkeys(("ca", "wo", "sha", "nt"), _Passage.cut_host),
    **dict.fromkeys((*_INTENSIFIERS, "more", "most"), _Passage.degree),
    "not": _Passage.negation,
    "to": _Passage.infinitive,
}


@lru_cache(maxsize=1 << 15)
def faults(words: tuple[str, ...], *, begins: bool = True, ends: bool = True) -> dict[str, int]:
    """How many faults of each kind a row of words has; words are cut as `changes` cuts them."""
    return dict(Counter(_Passage(words, begins, ends).faults()))


# *fast,friendly*, *late.Nobody*, *Note:the*, and no emoticon, time or name in code.
_LETTER = "[A-Za-zÀ-ɏ]"
_GLUED = re.compile(
    rf"(?<={_LETTER}{{2}})[,;!?]+(?={_LETTER}{{2}})|(?<=[a-z])\.(?=[A-Z][a-z]{{2}})"
    rf"|(?<={_LETTER}):(?={_LETTER}{{2}})"
)
# *late .*, *was n't*, *( in May)*. A space before ? or ! is only careless.
_CLITICS = "(?:n't|'(?:s|re|ve|ll|d|m))\\b"
_PARTED = re.compile(rf"(?<=\w)\s+(?:[.,;](?=\s|\Z)|{_CLITICS}(?!'))|[(\[]\s+\w", re.IGNORECASE)
# A mark after a space, or a face: *so what ...*, *thanks :)*.
_SPACED = re.compile(r"\S\s+[.,;:!?]")
# A mark or a clitic that touches its word.
_TOUCHING = re.compile(rf"\w(?:[.,;:!?]|{_CLITICS})", re.IGNORECASE)
_LINK = re.compile(r"\w{1,20}://\S+|(?:www\.|mailto:)\S+|[\w.+-]{1,64}@\S+", re.IGNORECASE)
_APOSTROPHES = str.maketrans("\u2019\u02bc", "''")


def spacing_faults(original: str, rewrite: str) -> int:
    """How many spaces beside marks a rewrite lacks or has too many, where the original has not.

    Only a text whose marks touch its words can have too many: corpora set them apart.

    Example:
        >>> spacing_faults("Fresh, hot bread.", "Fresh,hot bread ."), spacing_faults("a , b", "a .")
        (2, 0)
    """
    before, after = (
        _LINK.sub("", normalize("NFC", text)).translate(_APOSTROPHES)
        for text in (original, rewrite)
    )
    glued = len(_GLUED.findall(after)) - len(_GLUED.findall(before))
    apart = _SPACED.search(before) or _PARTED.search(before) or not _TOUCHING.search(before)
    return max(0, glued) + (0 if apart else len(_PARTED.findall(after)))
