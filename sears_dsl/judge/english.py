"""What is known of English words without a model: classes, forms, and how two words differ.

Always holds: no word is related to itself, and relations are symmetric except for a few phrases.
Exchanging words that are used alike is no evidence against a rewrite. Amounts of evidence are above
0. Each question costs a look-up, after 10 milliseconds for reading the lists; forms come from the
inflection tables, which take longer to load.

The lists are in ``english.json``, which was written for this package.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from sears_dsl.runtime.files import read_numbers_file
from sears_dsl.tagging.inflection import analyses

_VERSION = 1
_NONE: frozenset[int] = frozenset()
_NEGATIVE = ("un", "in", "im", "il", "ir", "dis", "non", "mis")
# Numbers from here on are not multiplied.
_LARGEST = Decimal(10**15)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_DIGITS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")

# Before a double l that American spelling keeps, since it ends a stressed syllable: controlled.
_STRESSED = (
    "annu|appa|befa|compe|contro|corra|disti|dispe|enro|enthra|exce|expe|exto|foresta|fulfi|impe"
    "|insta|insti|patro|prope|reba|rebe|reca|refi|reinsta|repe|scro|shri|stro|thri|unro"
)
# Steps from British to American spelling, one after the other; `_BY_CHANCE` lists false matches.
_SPELLINGS = tuple(
    (re.compile(pattern), spelling)
    for pattern, spelling in (
        (r"^aero(?=plane)", "air"),
        (r"^artefact", "artifact"),
        (r"(?<=..)(?<!^sc)our(?!i?ous)", "or"),
        (r"(?<=...)is(?=e|ing|ation|able)", "iz"),
        (r"ys(?=e|ing)", "yz"),
        (r"(?<=..[tb])(?<!^timb)re(?=s?$)", "er"),
        (r"(?<=..[tb])red$", "ered"),
        (r"(?<=[aeo]g)re$", "er"),
        (r"[ao]e(?=[a-z]{3})", "e"),
        (r"(?<=rh)oea$", "ea"),
        (r"(?<=..)ogue(?=s?$)", "og"),
        (rf"^({_STRESSED})ll(?=ed|ing|er)", r"\1L"),
        (r"(?<=[aeiou])(?<!^[^aeiou]{1}.)(?<!^[^aeiou]{2}.)ll(?=ed|ing|er|ous|or)", "l"),
        (r"(?<=[io]l)l(?=ment|ful)", ""),
        (r"(?<=..)ence(?=[sd]?$)", "ense"),
        (r"(?<=dg)ement", "ment"),
    )
)
_BY_CHANCE = frozenset(("fourth", "mourning", "mourn", "hours", "prised", "courses"))


class English:
    """The lists, ready for look-ups. Use `english`, which reads them once."""

    def __init__(self, lists: dict[str, Any]) -> None:
        self._classes: dict[str, frozenset[str]] = {}
        for name, words in lists["classes"].items():
            for word in words.split():
                self._classes[word] = self._classes.get(word, frozenset()) | {name}
        self._same, self._near = _groups(lists["same"]), _groups(lists["near"])
        self._whole = {
            word: frozenset(full.split()) for word, full in lists["contractions"].items()
        }
        self._one_way = {
            tuple(phrase.replace("_", " ") for phrase in pair.split()) for pair in lists["one way"]
        }
        self._forms = {
            word: frozenset(
                (base, tag) for base, _, tag in (form.partition("/") for form in forms.split())
            )
            for word, forms in lists["forms"].items()
        }
        self._persons = _groups(lists["persons"])
        self._strength = {word: min(ranks) for word, ranks in _groups(lists["strength"]).items()}
        self._opposites = {frozenset(pair.split("/")) for pair in lists["opposites"].split()}
        self._kinds: dict[str, dict[str, str]] = {}
        for kind, members in lists["kinds"].items():
            for member in members.split():
                for word in member.split("/"):
                    self._kinds.setdefault(word, {})[kind] = member
        units, tens, ordinals = (lists[name].split() for name in ("numbers", "tens", "ordinals"))
        self._units = {word: value for value, word in enumerate(units)}
        self._tens = {word: 10 * value for value, word in enumerate(tens, start=2)}
        self._ordinals = {word: value for value, word in enumerate(ordinals)}
        self._multipliers: dict[str, int] = lists["multipliers"]
        groups = (self._classes, self._same, self._kinds, self._units, self._tens, self._ordinals)
        self._listed = frozenset[str]().union(*groups, self._multipliers, *self._opposites)
        self.misspelt = frozenset(lists["misspelt"].split())
        self.people, self.hosts = (dict[str, str](lists[name]) for name in ("people", "hosts"))

    def classes(self, word: str) -> frozenset[str]:
        """The closed classes of a word."""
        return self._classes.get(word, frozenset())

    def same(self, old: str, new: str) -> bool:
        """Whether a word or phrase may replace another with little change in meaning."""
        return (old, new) in self._one_way or (
            old != new and not self._same.get(old, _NONE).isdisjoint(self._same.get(new, _NONE))
        )

    def contracted(self, old: str, new: str) -> bool:
        """Whether one word is the other, contracted."""
        return new in self._whole.get(old, ()) or old in self._whole.get(new, ())

    def forms(self, word: str) -> frozenset[tuple[str, str]] | None:
        """The (lemma, tag) pairs of a word that the inflection tables have wrong; else None."""
        return self._forms.get(word)

    def near(self, old: str, new: str) -> bool:
        """Whether two words are used alike in some places and not in others."""
        return old != new and not self._near.get(old, _NONE).isdisjoint(self._near.get(new, _NONE))

    def strength(self, word: str) -> int | None:
        """How far a degree word goes, from *hardly* (0) to *completely* (4); None for others."""
        return self._strength.get(word)

    def person(self, word: str) -> frozenset[int]:
        """Which person a pronoun is, as numbers: *I*, *me* and *my* have the same."""
        return self._persons.get(word, _NONE)

    def is_listed(self, word: str) -> bool:
        """Whether any list has a word."""
        return word in self._listed

    def opposite(self, old: str, new: str) -> bool:
        """Whether one word is the other's opposite: listed, or by a prefix or suffix."""
        return any(
            frozenset((ours, theirs)) in self._opposites or _negated(ours, theirs)
            for ours in _bases(old)
            for theirs in _bases(new)
        )

    def of_one_kind(self, old: str, new: str) -> bool:
        """Whether two words name different things of one kind, such as two colours."""
        return any(
            self._kinds.get(theirs, {}).get(kind, member) != member
            for ours in _bases(old)
            for kind, member in self._kinds.get(ours, {}).items()
            for theirs in _bases(new)
        )

    def numbers(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        """The numbers among words, by their values, and the other words.

        Example:
            >>> english().numbers(["3", "men", "bought", "a", "dozen", "eggs"])
            (['3', '12'], ['men', 'bought', 'a', 'eggs'])
        """
        values: list[str] = []
        rest: list[str] = []
        at = 0
        factor_ends = -1  # where the words end of the last value, if it can be multiplied
        while at < len(words):
            word = words[at]
            at += 1
            ordinal = _ORDINAL.fullmatch(word)
            if word in self._tens:
                value = self._tens[word]
                follows = at + (words[at : at + 1] == ["-"])
                unit = self._units.get(words[follows], 10) if follows < len(words) else 10
                if 0 < unit < 10:
                    value, at = value + unit, follows + 1
                values.append(str(value))
                factor_ends = at
            elif word in self._units:
                values.append(str(self._units[word]))
                factor_ends = at
            elif word in self._multipliers:
                multiplier, factor = self._multipliers[word], Decimal(1)
                between = words[factor_ends : at - 1] if factor_ends >= 0 else None
                # A hyphen joins less to more: five-hundred, but not a million - dozen.
                bound = multiplier if between == ["-"] else _LARGEST
                if between in ([], ["-"]) and Decimal(values[-1]) < bound:
                    factor = Decimal(values.pop())
                values.append(_written_out(factor * multiplier))
                factor_ends = at
            elif word in self._ordinals or ordinal:
                values.append(f"{ordinal[1] if ordinal else self._ordinals[word]}.")
            elif _DIGITS.fullmatch(word):
                values.append(_written_out(Decimal(word.replace(",", ""))))
                factor_ends = at
            elif word[0].isdigit():
                values.append(word)
            else:
                rest.append(word)
        return values, rest


@cache
def english() -> English:
    """The lists that come with the package."""
    _, lists = read_numbers_file(
        Path(__file__).with_name("english.json"),
        version=_VERSION,
        advice="reinstall it: pip install --force-reinstall sears-dsl",
    )
    return English(lists)


@lru_cache(maxsize=1 << 15)
def forms_of(word: str) -> frozenset[tuple[str, str]]:
    """The (lemma, Penn tag) pairs of a word, without the plurals that the tables have as lemmas.

    Example:
        >>> sorted(forms_of("movies")), sorted(forms_of("hurt"))[-1]
        ([('movie', 'NNS')], ('hurt', 'VBN'))
    """
    listed = english().forms(word)
    if listed is not None:
        return listed
    known = analyses(word)
    if word.endswith("ed"):
        # Where a verb has another participle (*learnt*, *staid*), the tables may lack this one.
        known |= {(base, "VBN") for base, tag in known if tag == "VBD"}
    plurals = {base for base, tag in known if tag == "NNS" and base != word}
    return frozenset(
        (base, tag) for base, tag in known if not (plurals and base == word and tag[:2] == "NN")
    )


@lru_cache(maxsize=1 << 15)
def tags_of(word: str) -> frozenset[str]:
    """The Penn tags that a word can have."""
    return frozenset(tag for _, tag in forms_of(word))


@lru_cache(maxsize=1 << 15)
def is_spelling_variant(old: str, new: str) -> bool:
    """Whether two words are British and American spellings of one, or differ by hyphens."""
    if old == new or old in _BY_CHANCE or new in _BY_CHANCE:
        return False
    old, new = old.replace("-", ""), new.replace("-", "")
    return _american(old) == _american(new) if old[:1] == new[:1] else False


def _american(word: str) -> str:
    for pattern, spelling in _SPELLINGS:
        word = pattern.sub(spelling, word)
    return word


def _written_out(value: Decimal) -> str:
    """The digits of a number, of which equal ones have the same."""
    digits = f"{value:f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _groups(lines: Iterable[str]) -> dict[str, frozenset[int]]:
    """The numbers of the groups that each word or phrase is in."""
    groups: dict[str, frozenset[int]] = {}
    for number, line in enumerate(lines):
        for member in line.split():
            phrase = member.replace("_", " ")
            groups[phrase] = groups.get(phrase, _NONE) | {number}
    return groups


def _bases(word: str) -> set[str]:
    return {word, *(base for base, _ in forms_of(word))}


def _negated(old: str, new: str) -> bool:
    """Whether the words differ by a negative prefix, or by *-ful* and *-less*."""
    shorter, longer = sorted((old, new), key=len)
    if len(shorter) >= 4 and longer.endswith(shorter):
        return longer[: -len(shorter)] in _NEGATIVE
    stem = shorter[:-3] if shorter.endswith("ful") else shorter
    return len(stem) >= 3 and longer == stem + "less"


# ---------------------------------------------------------------- one word for another


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Words between a clitic and its verb; words before which 's means *has*, and those before which
# it means *is*.
_PASSED = frozenset(("not", "n't", "never", "always", "also", "just", "already", "still", "only"))
_AFTER_HAS = frozenset(("been", "had", "got", "gotten"))
# Verbs without a passive: of these, *is* with a participle is old-fashioned at best.
_INTRANSITIVE = _set(
    "lasted happened occurred become come fallen stayed remained lived slept died existed seemed"
    " appeared belonged worked failed survived behaved improved"
)
_OBJECTS = _set(
    "me us him them it you my our your his her their its myself itself himself herself themselves"
    " ourselves everything everyone everybody nothing"
)
# Verbs whose passive has a noun phrase behind it, *it's called a phone*, and nouns of time and way
# that stand behind any passive, *it's washed a few times*, *it's done the wrong way*.
_WITH_A_NOUN_BEHIND = _set(
    "called named considered deemed dubbed labeled labelled titled nicknamed given offered shown"
    " told taught asked paid sent sold voted rated granted denied awarded allowed supposed"
)
_NO_OBJECTS = _set(
    "lot bit little few couple ton day week month year time second minute moment night same wrong"
    " right whole entire next first last other most way"
)
_BEGUN = frozenset(("stopped", "started", "begun", "quit"))
_ALONG = {
    "gone": _set("downhill up down through from on off out back bad viral over into"),
    "held": frozenset(("up", "together")),
    "paid": frozenset(("for", "off")),
}
# Verbs before which 's means *does*: *what's he want?*
_AFTER_DOES = _set("do want mean say think need know have go look feel sound taste work cost take")
_ASKING = frozenset(("what", "where", "how", "who", "when", "why"))
_AFTER_IS = _PASSED | {"a", "an", "the", "no", "so", "very", "too", "all"}

CLITICS = frozenset(("n't", "nt", "'s", "'m", "'re", "'ve", "'ll", "'d", "ca", "wo", "sha"))
"""Words of contractions."""

# The classes in which two words are compared: the first that both have decides.
_REPLACED = (
    "negation", "article", "modal", "auxiliary", "question", "relative", "pronoun", "determiner",
    "quantifier", "degree", "particle", "preposition", "conjunction",
)  # fmt: skip
# What a word without a counterpart counts, by the first of its classes.
_LONE = {
    "negation": 1.0, "infinitive": 1.0, "modal": 1.0, "auxiliary": 1.0, "relative": 0.3,
    "question": 1.0, "determiner": 0.7, "pronoun": 1.0, "particle": 0.5, "degree": 1.0,
    "quantifier": 0.7, "preposition": 1.0, "conjunction": 0.7,
}  # fmt: skip
# Names of classes in columns, where these are others.
_IN_COLUMNS = {
    "modal": "auxiliary", "question": "question word", "quantifier": "determiner",
    "particle": "adverb",
}  # fmt: skip
_SLIGHT, _BOOSTER, _NEAR = 0.2, 0.4, 0.5
_BOOSTERS = range(2, 5)
_PRESENT = {
    **dict.fromkeys(("am", "is", "are", "'m", "'re", "'s"), "be"),
    **dict.fromkeys(("have", "has", "'ve"), "have"),
    **dict.fromkeys(("do", "does"), "do"),
}
_PAST = {"was": "be", "were": "be", "had": "have", "did": "do", "'d": "have"}
_PAST_TAGS, _FINITE_TAGS = frozenset(("VBD", "VBN")), frozenset(("VB", "VBZ"))


def is_written_out(
    full: str, host: str, following: Sequence[str], *, expanded: bool = False
) -> bool:
    """Whether a clitic stands for its full word: not a possessive, and before a fitting form.

    If it is ``expanded``, what follows must not leave open what it stands for: *they'd put*.
    """
    verb = _verb_of(following)
    tags = tags_of(verb)
    if expanded and leaves_open(full, following):
        return full == "has" and means_another(host, following)
    if full in ("has", "had", "have"):
        fits = (not tags and not english().classes(verb)) or verb in (*_AFTER_HAS, "better")
        return fits or (bool(tags & {"VBN", "RB"}) and verb != "to")
    if full in ("would", "will"):
        return verb != "better" and ("VB" in tags or tags.isdisjoint(_PAST_TAGS))
    if full == "us" or (full == "is" and means_another(host, following)):
        return host == "let"
    if full == "is" and not english().classes(host) and host not in ("there", "here"):
        after = following[0] if following else ""
        adverb = tags_of(after)
        return bool(adverb and adverb <= {"VBG", "VBN", "VBD", "RB"}) or after in _AFTER_IS
    return host != "let"


def _verb_of(following: Sequence[str]) -> str:
    return next((word for word in following if word not in _PASSED), "")


def leaves_open(full: str, following: Sequence[str]) -> bool:
    """Whether the form behind a clitic fits another word too: *it's broken*, *they'd put*."""
    verb = _verb_of(following)
    tags = tags_of(verb)
    if full in ("would", "had"):
        return tags >= {"VB", "VBN"} and verb not in ("come", "become")
    return full == "has" and "VBN" in tags and verb not in _AFTER_HAS


def means_another(host: str, following: Sequence[str]) -> bool:
    """Whether *'s* is certainly *has* or *does*, and no *is*, by its host and the next few words.

    Example:
        >>> means_another("it", ["never", "let", "me", "down"]), means_another("it", ["broken"])
        (True, False)
    """
    at = 0
    while at < len(following) and (following[at] in _PASSED or tags_of(following[at]) == {"RB"}):
        at += 1
    verb, after, further = (*following[at:], "", "", "")[:3]
    if host in _ASKING and english().classes(verb) and after in _AFTER_DOES:
        return "pronoun" in english().classes(verb)
    if verb in _AFTER_HAS:
        return True
    if "VBN" not in tags_of(verb) or after == "by":
        return False
    has_object = after in _OBJECTS or (
        after in ("a", "an", "the") and further not in _NO_OBJECTS and bool(further)
    )
    return (
        verb in _INTRANSITIVE
        or (has_object and verb not in _WITH_A_NOUN_BEHIND)
        or (verb in _BEGUN and tags_of(after) & {"VBG"} != set())
        or (after in _ALONG.get(verb, ()) and further not in ("by", "with"))
    )


@lru_cache(maxsize=1 << 15)
def likeness(old: str, new: str) -> str:
    """The column of support for two words that are used alike; empty where there is none."""
    if english().contracted(old, new):
        return "contraction"
    if english().same(old, new):
        return "used alike"
    if is_spelling_variant(old, new):
        return "spelling"
    alike = any(
        tag == other and english().same(ours, theirs)
        for ours, tag in forms_of(old)
        for theirs, other in forms_of(new)
    )
    return "used alike" if alike else ""


def counterpart(word: str, others: Sequence[str]) -> tuple[str, str]:
    """The function word of ``others`` that replaces a word, with the column; empty if none does."""
    classes = english().classes(word)
    for name in _REPLACED:
        if name in classes:
            alike = {"auxiliary", "modal"} if name in ("auxiliary", "modal") else {name}
            for other in others:
                if english().classes(other) & alike:
                    return other, _column(name, "replaced")
    return "", ""


def _column(name: str, how: str) -> str:
    """The column for words of a class that are ``replaced``, or ``added or lost``."""
    return name if name == "negation" else f"{_IN_COLUMNS.get(name, name)} {how}"


@lru_cache(maxsize=1 << 15)
def function_evidence(
    old: str, new: str, column: str, following: str = ""
) -> tuple[tuple[str, float], ...]:
    """What differs between two function words, given the column that `counterpart` has for them."""
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
    """The evidence of a function word that is ``lost`` without replacement, or ``added``."""
    classes = english().classes(word)
    if "article" in classes:
        return ((f"article {how}", 1.0),)
    strength = english().strength(word)
    if "negation" not in classes and strength in _BOOSTERS:
        return (("intensifier added or lost", _BOOSTER),)
    for name, amount in _LONE.items():
        if name in classes and (name != "infinitive" or "VB" in tags_of(following)):
            return ((_column(name, "added or lost"), amount),)
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
    """Whether no list has a word of plain letters, nor two words of which it is made."""
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
        # Slow, slowly; an adjective that is no adverb cannot replace one: beautiful made.
        is_adverb = "RB" in {tag for _, tag in ours} - {tag for _, tag in theirs}
        return ["word class", *["degree form"] * is_adverb]
    tags, others = (
        {"VBD" if tag == "VBN" else tag for _, tag in forms} for forms in (ours, theirs)
    )
    if tags & others:
        return []
    return ["inflection" if {tag[0] for tag in tags} & {tag[0] for tag in others} else "word class"]


def _other_form(pairs: set[tuple[str, str]]) -> str:
    """The column for two forms of one word."""
    tags = list(map(set, pairs))
    if {"NN", "NNS"} in tags:
        return "number of nouns"
    if any(each & _PAST_TAGS and each & _FINITE_TAGS for each in tags):
        return "tense"
    return "comparison" if all(tag[0] in "JR" for tag, _ in pairs) else "form of verb"


def is_known(word: str) -> bool:
    """Whether a list or the inflection tables have a word."""
    return bool(forms_of(word) or english().is_listed(word))
