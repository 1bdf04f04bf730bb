"""What is known of English words without a model: closed classes, equals, opposites, forms.

Always holds: no word has a relation to itself; but for a few phrases relations are symmetric. Costs
a look-up each, after 10 milliseconds for reading the lists; forms come from the inflection tables,
which take longer to load.

The lists are ``english.json``, a file of our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from sears_dsl.runtime.files import read_numbers_file
from sears_dsl.tagging.inflection import analyses

_VERSION = 1
_NONE: frozenset[int] = frozenset()
_NEGATIVE = ("un", "in", "im", "il", "ir", "dis", "non", "mis")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_DIGITS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")

# British spellings made American, one after the other; pairs that meet by chance are listed.
_SPELLINGS = tuple(
    (re.compile(pattern), spelling)
    for pattern, spelling in (
        (r"^aero(?=plane)", "air"),
        (r"^artefact", "artifact"),
        (r"(?<=..)our", "or"),
        (r"(?<=...)is(?=e|ing|ation|able)", "iz"),
        (r"ys(?=e|ing)", "yz"),
        (r"(?<=..[tb])re(?=s?$)", "er"),
        (r"(?<=..[tb])red$", "ered"),
        (r"(?<=[aeo]g)re$", "er"),
        (r"[ao]e(?=[a-z]{3})", "e"),
        (r"(?<=rh)oea$", "ea"),
        (r"(?<=..)ogue(?=s?$)", "og"),
        (r"(?<=[aeiou])(?<!^[^aeiou]{1}.)(?<!^[^aeiou]{2}.)ll(?=ed|ing|er|ous|or)", "l"),
        (r"(?<=[io]l)l(?=ment|ful)", ""),
        (r"(?<=..)ence(?=[sd]?$)", "ense"),
        (r"(?<=dg)ement", "ment"),
    )
)
_BY_CHANCE = frozenset(("fourth", "mourning", "mourn", "hours", "prised", "courses"))


class English:
    """The lists, ready to be asked. Use `english`, which reads them once."""

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
        self._opposed = frozenset[str]().union(*self._opposites)
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

    def classes(self, word: str) -> frozenset[str]:
        """The closed classes of a word."""
        return self._classes.get(word, frozenset())

    def same(self, old: str, new: str) -> bool:
        """Whether a word or phrase may replace another, so that little changes."""
        return (old, new) in self._one_way or (
            old != new and not self._same.get(old, _NONE).isdisjoint(self._same.get(new, _NONE))
        )

    def contracted(self, old: str, new: str) -> bool:
        """Whether one word is the other, contracted."""
        return new in self._whole.get(old, ()) or old in self._whole.get(new, ())

    def forms(self, word: str) -> frozenset[tuple[str, str]] | None:
        """What a word can be, where the inflection tables say too much or too little."""
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

    def listed(self, word: str) -> bool:
        """Whether any list has a word."""
        return (
            word in self._classes
            or word in self._same
            or word in self._kinds
            or word in self._units
            or word in self._tens
            or word in self._ordinals
            or word in self._multipliers
            or word in self._opposed
        )

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
        """The numbers among words, by their values, and the other words."""
        values: list[str] = []
        rest: list[str] = []
        at = 0
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
            elif word in self._units:
                values.append(str(self._units[word]))
            elif word in self._multipliers:
                factor = float(values.pop()) if values and values[-1][-1] != "." else 1.0
                values.append(f"{factor * self._multipliers[word]:.12g}")
            elif word in self._ordinals or ordinal:
                values.append(f"{ordinal[1] if ordinal else self._ordinals[word]}.")
            elif _DIGITS.fullmatch(word):
                values.append(f"{float(word.replace(',', '')):.12g}")
            elif word[0].isdigit():
                values.append(word)
            else:
                rest.append(word)
        return values, rest


@cache
def english() -> English:
    """The lists that come with the package."""
    _, lists = read_numbers_file(
        Path(str(files(__package__).joinpath("english.json"))),
        version=_VERSION,
        advice="install it again: pip install --force-reinstall sears-dsl",
    )
    return English(lists)


@lru_cache(maxsize=1 << 15)
def forms_of(word: str) -> frozenset[tuple[str, str]]:
    """What a word can be, as lemmas with Penn tags, without the tables' regular plurals as lemmas.

    Example:
        >>> sorted(forms_of("movies")), sorted(forms_of("hurt"))[-1]
        ([('movie', 'NNS')], ('hurt', 'VBN'))
    """
    listed = english().forms(word)
    if listed is not None:
        return listed
    known = analyses(word)
    plurals = {base for base, tag in known if tag == "NNS" and base != word}
    return frozenset(
        (base, tag) for base, tag in known if not (plurals and base == word and tag[:2] == "NN")
    )


@lru_cache(maxsize=1 << 15)
def tags_of(word: str) -> frozenset[str]:
    """The Penn tags that a word can have."""
    return frozenset(tag for _, tag in forms_of(word))


@lru_cache(maxsize=1 << 15)
def spelled_otherwise(old: str, new: str) -> bool:
    """Whether two words are British and American spellings of one, or differ by hyphens."""
    if old == new or old in _BY_CHANCE or new in _BY_CHANCE:
        return False
    old, new = old.replace("-", ""), new.replace("-", "")
    return _american(old) == _american(new) if old[:1] == new[:1] else False


def _american(word: str) -> str:
    for pattern, spelling in _SPELLINGS:
        word = pattern.sub(spelling, word)
    return word


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
