"""Evidence for and against a rewrite that lists and inflection tables give without any model.

Always holds: no value is below 0, and a pair of equal texts has only zeros. The more evidence, the
more speaks against the rewrite; the more support, the more speaks for it. A column is 0 where
nothing of its kind differs. Words more than a few words away from every change count only in the
share of words changed. A pair takes some 100 microseconds; recent pairs and words are remembered.

Evidence is about 1 where most readers would refuse the rewrite for that alone (*is* → *was*,
*good* → *bad*, *he do*), and smaller for what is often harmless (a comma, *that* → *which*). Of the
meaning of open-class words, only opposites and different things of one kind are known here.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.judge.changes import Change, changes_of, words_of
from sears_dsl.judge.english import (
    CLITICS,
    content_evidence,
    counterpart,
    english,
    function_evidence,
    is_known,
    is_spelling_variant,
    is_unknown,
    is_written_out,
    leaves_open,
    likeness,
    lone_evidence,
    means_another,
    tags_of,
)
from sears_dsl.judge.faults import FAULTS, faults

VERSION = "surface-11"
"""The version of what lists and tables say; raise it when that changes: it keys stored scores."""

_SIZES = ("places changed", "words changed", "share of words changed")

SURFACE = (
    # how much
    *_SIZES,
    "content words replaced",
    "content words added",
    "content words lost",
    "function words replaced",
    "function words added",
    "function words lost",
    "words moved",
    "content words exchanged",
    # content
    "opposite",
    "other thing of its kind",
    "number",
    "name",
    "word class",
    "inflection",
    "tense",
    "number of nouns",
    "form of verb",
    "comparison",
    "unknown word",
    # closed classes
    "negation",
    "article replaced",
    "article added",
    "article lost",
    "determiner replaced",
    "determiner added or lost",
    "pronoun replaced",
    "pronoun added or lost",
    "preposition replaced",
    "preposition added or lost",
    "conjunction replaced",
    "conjunction added or lost",
    "auxiliary replaced",
    "auxiliary added or lost",
    "question word replaced",
    "question word added or lost",
    "relative replaced",
    "relative added or lost",
    "degree replaced",
    "degree added or lost",
    "intensifier added or lost",
    "adverb replaced",
    "adverb added or lost",
    "infinitive added or lost",
    # how it is written
    "casing",
    "capital missing",
    "capital inside",
    "comma",
    "end mark",
    "question mark",
    "other mark",
    "joined or cut",
    # form, after the rewrite only
    *FAULTS,
)
"""The columns of `surface_evidence`."""

SUPPORT = ("spelling", "contraction", "used alike", "explained")
"""The columns of `support_evidence`: how many words are spelled differently, contracted, expanded,
or exchanged for one that is used alike; and whether this explains all that differs."""

_NOTHING = dict.fromkeys(SURFACE, 0.0), dict.fromkeys(SUPPORT, 0.0)
_WINDOW = 48
_NEIGHBOURS = 4
_END_MARKS = frozenset((".", "!", "?"))
_ENDING = _END_MARKS | {"…"}
_DOTS = ("..", "…")
_ABBREVIATED = frozenset(("mr", "mrs", "ms", "dr", "st", "vs", "etc", "no", "prof", "jr"))
_DENIALS = frozenset(("not", "n't", "nt", "never", "no", "cannot"))
# A denial together with one of these denies nothing: no doubt about it, whether or not, isn't it.
_IDLE = frozenset(("doubt", "mistake", "question", "matter", "wonder", "only", "just", "or", ","))
_CARELESS_CASING = frozenset((("i", "I"), ("ok", "OK"), ("OK", "ok")))
# Prepositions behind which no clause begins, as it does behind *since it's late*.
_NO_CONJUNCTIONS = frozenset(("in", "of", "at", "on", "with", "by", "from", "into", "for", "about"))
_MONEY = {"$": "dollar", "£": "pound", "€": "euro"}
_LIKE_MARKS = str.maketrans({"“": '"', "”": '"', "‘": "'", "–": "-", "—": "-", "…": "."})


def surface_evidence(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """What speaks against each rewrite, a column for each of ``SURFACE``."""
    return np.array([_compared(*pair)[0] for pair in pairs]).reshape(-1, len(SURFACE))


def support_evidence(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """What speaks for each rewrite, a column for each of ``SUPPORT``."""
    return np.array([_compared(*pair)[1] for pair in pairs]).reshape(-1, len(SUPPORT))


@lru_cache(maxsize=1 << 14)
def _compared(original: str, rewrite: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    changes = changes_of(original, rewrite)
    comparison = _Comparison()
    if changes:
        comparison.run(original, rewrite, changes)
    return tuple(comparison.evidence.values()), tuple(comparison.support.values())


class _Window(NamedTuple):
    """The words of a change in one of the texts, with some words around them."""

    before: tuple[str, ...]
    words: tuple[str, ...]
    after: tuple[str, ...]
    begins: bool
    ends: bool

    @property
    def all(self) -> tuple[str, ...]:
        """All of them in a row."""
        return self.before + self.words + self.after

    def initial(self, at: int) -> bool:
        """Whether one of the words begins a sentence."""
        place = len(self.before) + at - 1
        line = self.all
        while place >= 0 and not line[place][0].isalnum() and line[place][0] not in _ENDING:
            place -= 1
        return self.begins if place < 0 else self._ends_sentence(place)

    def _ends_sentence(self, place: int) -> bool:
        line = self.all
        abbreviated = place > 0 and line[place - 1].lower() in _ABBREVIATED
        return line[place][0] in _ENDING and not abbreviated

    def capitals(self) -> dict[str, int]:
        """How many sentences begin in lower case; how many inner function words have a capital."""
        missing = inside = 0
        initial = self.begins
        for place, word in enumerate(self.all):
            first = word[0]
            if first.isalpha():
                if first.islower():
                    missing += initial
                elif not initial and word not in ("I", "A") and not word.isupper():
                    inside += bool(english().classes(word.lower()))
            if first.isalnum() or first in _ENDING:
                initial = first in _ENDING and self._ends_sentence(place)
        return {"capital missing": missing, "capital inside": inside}


def _window(text: str, start: int, end: int, words: tuple[str, ...]) -> _Window:
    low, high = max(0, start - _WINDOW), min(len(text), end + _WINDOW)
    before, after = _cut(text[low:start]), _cut(text[end:high])
    # The outermost may be parts of words.
    before = before[1:] if low else before
    after = after[:-1] if high < len(text) else after
    return _Window(
        before[-_NEIGHBOURS:],
        words,
        after[:_NEIGHBOURS],
        not low and len(before) <= _NEIGHBOURS,
        high == len(text) and len(after) <= _NEIGHBOURS,
    )


@lru_cache(maxsize=1 << 12)
def _cut(text: str) -> tuple[str, ...]:
    return tuple(word.text for word in words_of(text))


class _Comparison:
    """Collects the evidence on one pair, kind by kind."""

    def __init__(self) -> None:
        self.evidence, self.support = (each.copy() for each in _NOTHING)
        self.sentence = -1  # where the sentence of the present change begins
        self.denials = Counter[int]()  # denials that come or go, by sentence

    def add(self, name: str, amount: float = 1.0) -> None:
        self.evidence[name] += amount

    def add_all(self, amounts: Iterable[tuple[str, float]]) -> None:
        for name, amount in amounts:
            self.add(name, amount)

    def agree(self, name: str) -> None:
        self.support[name] += 1

    def run(self, original: str, rewrite: str, changes: Sequence[Change]) -> None:
        """Compare two texts that differ in these changes."""
        changed = sum(max(len(change.old), len(change.new)) for change in changes)
        self.add("places changed", len(changes))
        self.add("words changed", changed)
        self.add("share of words changed", changed / max(changed, len(original.split())))
        sums = _sums_of_money(original, changes)
        for _ in range(len(sums) // 2):
            self.agree("spelling")
        moved = self.moved(changes) if len(changes) > 1 else {}
        leaving, coming = dict(moved), dict(moved)
        for change in changes:
            was = _window(original, change.start, change.end, change.old)
            now = _window(rewrite, change.first, change.last, change.new)
            self.form(was, now)
            if change in sums:
                continue
            old = _without(change.old, leaving)
            new = _without(change.new, coming)
            self.sentence = max(original.rfind(mark, 0, change.start) for mark in _END_MARKS)
            self.place(was, now, *self.recased(was, now, old, new))
        self.order(original, rewrite, changes)
        # Two denials in a sentence may cancel out: I don't think he will, I think he won't.
        self.add("opposite", sum(count % 2 for count in self.denials.values()))
        against = any(tuple(self.evidence.values())[len(_SIZES) :])
        self.support["explained"] = float(any(self.support.values()) and not against)

    def moved(self, changes: Sequence[Change]) -> Counter[str]:
        """The words that leave one place and appear in another."""
        gone = Counter(word for change in changes for word in change.old if word[0].isalpha())
        come = Counter(word for change in changes for word in change.new if word[0].isalpha())
        moved = gone & come
        for change in changes:
            moved -= Counter(change.old) & Counter(change.new)
        self.add("words moved", moved.total())
        return moved

    def order(self, original: str, rewrite: str, changes: Sequence[Change]) -> None:
        """Count the content words that both texts have in another order."""
        first, last = changes[0], changes[-1]
        if len(changes) > 1 or (min(len(first.old), len(first.new)) > 1):
            old = _content_words(original[first.start : last.end])
            new = _content_words(rewrite[first.first : last.last])
            self.add("content words exchanged", _exchanged(old, new))

    def form(self, was: _Window, now: _Window) -> None:
        """Count the faults that the rewrite has and the original has not."""
        before = faults(was.all, begins=was.begins, ends=was.ends) | was.capitals()
        words = now.all
        if any(word.startswith(_DOTS) for word in was.all):  # then their number does not matter
            words = tuple("..." if word.startswith(_DOTS) else word for word in words)
        after = faults(words, begins=now.begins, ends=now.ends) | now.capitals()
        for kind, count in after.items():
            self.evidence[kind] = max(self.evidence[kind], count - before.get(kind, 0))

    def recased(
        self, was: _Window, now: _Window, old: list[str], new: list[str]
    ) -> tuple[list[str], list[str]]:
        """The words that differ in more than casing, in lower case."""
        ours, theirs = list(map(str.lower, old)), list(map(str.lower, new))
        if set(ours).isdisjoint(theirs):
            return ours, theirs
        places = {word.lower(): at for at, word in enumerate(now.words)}
        shared = Counter(ours) & Counter(theirs)
        for at, word in enumerate(was.words):
            place = places.get(word.lower(), 0)
            if word.lower() not in shared or now.words[place] == word:
                continue
            if (word, now.words[place]) in _CARELESS_CASING:
                self.agree("spelling")
            else:
                self.add("casing", _casing(was, at, now, place))
        return _without(ours, dict(shared)), _without(theirs, dict(shared))

    def place(self, was: _Window, now: _Window, old: list[str], new: list[str]) -> None:
        """Compare the old and the new words of one change, in lower case."""
        if not (old or new) or self.phrase(was, now, old, new):
            return
        self.names(was, now, old, new)
        old, new = self.alike(was, now, *self.marks(*self.numbers(old, new)))
        content_old, content_new = _open_class(old), _open_class(new)
        left = [word for word in old if english().classes(word)]
        come = [word for word in new if english().classes(word)]
        following = now.after[0].lower() if now.after else ""
        denied, opposed = 0, self.evidence["opposite"]
        for ours in list(left):
            theirs, name = counterpart(ours, come)
            if name:
                left.remove(ours)
                come.remove(theirs)
                denied += _is_denial(ours, theirs)
                self.add("function words replaced")
                self.add_all(function_evidence(ours, theirs, name, following))
        for ours in list(left):
            if not content_old and any(tags_of(ours) & tags_of(word) for word in content_new):
                left.remove(ours)
                content_old.append(ours)
                if "auxiliary" in english().classes(ours):
                    self.add("auxiliary replaced", 0.5)  # I had a dog, I got a dog
        for theirs in list(come):
            if len(content_old) > len(content_new) and tags_of(theirs):
                come.remove(theirs)
                content_new.append(theirs)
        for word, kind in [(word, "lost") for word in left] + [(word, "added") for word in come]:
            self.add(f"function words {kind}")
            denied += word in _DENIALS
            self.add_all(lone_evidence(word, kind, following))
        for ours, theirs in zip(content_old, content_new, strict=False):
            self.add("content words replaced")
            self.add_all(content_evidence(ours, theirs))
        paired = min(len(content_old), len(content_new))
        if denied % 2 and self.evidence["opposite"] > opposed:
            self.evidence["opposite"] = opposed  # unkind, not kind
        elif not content_old + content_new and _IDLE.isdisjoint((*was.words, *now.words)):
            self.denials[self.sentence] += denied
        self.add("content words lost", len(content_old) - paired)
        self.add("content words added", len(content_new) - paired)
        if "-" not in now.words:  # the parts of sci-fi are not words
            around = set(map(str.lower, was.all))
            unknown = [word for word in content_new if word not in around and is_unknown(word)]
            self.add("unknown word", len(unknown))

    def phrase(self, was: _Window, now: _Window, old: list[str], new: list[str]) -> bool:
        """Whether the new words, perhaps with a neighbour, are another way to say the old ones."""
        before, after = (list(map(str.lower, side)) for side in (now.before[-1:], now.after[:1]))
        clitics = not CLITICS.isdisjoint((*old, *new))
        for left, right in (([], []), ([], after), (before, []), (before, after)):
            ours, theirs = _phrase([*left, *old, *right]), _phrase([*left, *new, *right])
            if english().same(ours, theirs):
                self.agree("contraction" if clitics else "used alike")
                return True
        ours, theirs = _phrase(old), _phrase(new)
        first, second = english().strength(ours), english().strength(theirs)
        if " " in ours + theirs and first is not None and second is not None:
            self.add("degree replaced", min(1.0, 0.2 + 0.3 * abs(first - second)))
            return abs(first - second) < 2
        if "".join(was.words) == "".join(now.words):
            self.add("joined or cut")
            return True
        if _dense(old) == _dense(new) != "":
            if len(old) > 1 and len(new) == 1 and not is_known(new[0]):
                self.add("joined or cut")
            else:
                self.agree("spelling")
            return True
        return False

    def names(self, was: _Window, now: _Window, old: list[str], new: list[str]) -> None:
        """Count the names, words with a capital inside a sentence, that come or go."""
        lost = {name for name in _names(was) if name in old and name not in new}
        come = {name for name in _names(now) if name in new and name not in old}
        if not (lost and come and is_spelling_variant(min(lost), min(come))):
            self.add("name", max(len(lost), len(come)))

    def numbers(self, old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
        """Compare numbers by value and return the other words; a lone *one* is not a number."""
        (ours, rest_old), (theirs, rest_new) = english().numbers(old), english().numbers(new)
        if not (ours or theirs) or ([*ours, *theirs] == ["1"] and "one" in (*old, *new)):
            return old, new
        differing = max(len(ours), len(theirs)) - (Counter(ours) & Counter(theirs)).total()
        self.add("number", differing)
        if not differing:
            self.agree("spelling")
        return rest_old, rest_new

    def marks(self, old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
        """Compare the punctuation marks and return the other words."""
        if not any(map(_is_mark, (*old, *new))):
            return old, new
        ours, theirs = (
            [word.translate(_LIKE_MARKS) for word in side if _is_mark(word)] for side in (old, new)
        )
        lost = list((Counter(ours) - Counter(theirs)).elements())
        come = list((Counter(theirs) - Counter(ours)).elements())
        kinds = {mark[0] for mark in (*lost, *come)}
        if kinds == {"-"}:
            self.add("other mark", 0.3)
        elif kinds == {","}:
            self.add("comma", 0.4 * len(lost + come))
        elif "?" in kinds and not (lost and come and kinds == {"?"}):
            self.add("question mark")
        elif kinds and kinds <= _END_MARKS:
            self.add("end mark", 0.3 if lost and come else 1.0)
        elif kinds:
            self.add("other mark", max(len(lost), len(come)))
            if lost and come and kinds <= _MONEY.keys():
                self.add("number")  # $5 is another sum than £5
        old, new = ([word for word in side if not _is_mark(word)] for side in (old, new))
        return old, new

    def alike(
        self, was: _Window, now: _Window, old: list[str], new: list[str]
    ) -> tuple[list[str], list[str]]:
        """Count the pairs of words that are used alike, and return the other words."""
        old, new = list(old), list(new)
        for ours in list(old):
            for theirs in new:
                kind = likeness(ours, theirs)
                if kind == "contraction" and (clitic := _misplaced(was, now, ours, theirs)):
                    kind = ""
                    self.add("bad contraction", clitic.is_wrong)
                if kind:
                    self.agree(kind)
                    old.remove(ours)
                    new.remove(theirs)
                    break
        return old, new


def _sums_of_money(original: str, changes: Sequence[Change]) -> list[Change]:
    """The pairs of changes that write the sign of a sum as a word, or the word as a sign: *$20*."""
    pairs: list[Change] = []
    for sign, word in pairwise(changes):
        between = original[sign.end : word.start].strip()
        if between.replace(",", "").replace(".", "").isdecimal() and (
            (_is_money(sign.old, word.new) and not sign.new + word.old)
            or (_is_money(sign.new, word.old) and not sign.old + word.new)
        ):
            pairs += [sign, word]
    return pairs


def _is_money(sign: Sequence[str], word: Sequence[str]) -> bool:
    return len(sign) == len(word) == 1 and word[0].lower().removesuffix("s") == _MONEY.get(sign[0])


class _Clitic(NamedTuple):
    """A clitic in its place: the word that it is exchanged for, and the words beside it."""

    full: str
    host: str
    following: tuple[str, ...]
    is_possessive: bool = False  # *in it's price range*, a misspelled *its*

    @property
    def is_wrong(self) -> bool:
        """Whether it is certainly another word; a noun's *'s* may be a possessive."""
        if self.is_possessive:
            return True
        if self.full == "is":
            return means_another(self.host, self.following)
        return not leaves_open(self.full, self.following)


def _misplaced(was: _Window, now: _Window, old: str, new: str) -> _Clitic | None:
    """The clitic of a contraction that does not mean the word that it is exchanged for."""
    window, clitic, full = (was, old, new) if old in CLITICS else (now, new, old)
    line = [word.lower() for word in window.all]
    if clitic not in line:
        return None
    at = line.index(clitic, len(window.before) if clitic in map(str.lower, window.words) else 0)
    host = line[at - 1] if at else ""
    if full == "is" and window is now:
        host = "it"  # `faults` checks whether the clitic can lean on its host
    following = tuple(line[at + 1 :])
    if (full, host) == ("is", "it") and window is was and _is_its(line[: at - 1], following):
        return _Clitic(full, host, following, is_possessive=True)
    fits = is_written_out(full, host, following, expanded=window is was)
    return None if fits else _Clitic(full, host, following)


def _is_its(before: Sequence[str], following: Sequence[str]) -> bool:
    """Whether *it's* is a misspelled *its*: *into it's features*, *it's biggest flaw*."""
    if not _NO_CONJUNCTIONS.isdisjoint(before[-1:]):
        return True
    adjective, noun = (*following, "", "")[:2]
    superlative = "JJS" in tags_of(adjective) and adjective not in ("most", "least")
    tags = tags_of(noun)  # *it's best left alone* is no possessive
    return superlative and "VBN" not in tags and not {"NN", "NNS"}.isdisjoint(tags)


def _casing(was: _Window, at: int, now: _Window, place: int) -> float:
    """How much the changed casing of a word speaks against the rewrite."""
    old, new = was.words[at], now.words[place]
    if old[1:] == new[1:] and (was.initial(at) or now.initial(place)):
        return 0.0
    if old.islower() and new.istitle() and not (tags_of(old) or english().classes(old)):
        return 0.0  # a name that was not written as one
    return 1.0


def _phrase(words: Sequence[str]) -> str:
    return " ".join(words).replace(" .", ".").replace("' ", "'")


def _dense(words: Sequence[str]) -> str:
    """The letters without hyphens, and without the stops of U.S."""
    return "".join(word.replace(".", "") if word[0] != "." else word for word in words).replace(
        "-", ""
    )


def _is_mark(word: str) -> bool:
    return not word[0].isalnum() and word not in CLITICS


def _is_denial(old: str, new: str) -> bool:
    """Whether one of two words denies what the other says, without being its opposite."""
    alike = "negation" in english().classes(old) & english().classes(new)
    return not (alike or english().opposite(old, new) or _DENIALS.isdisjoint((old, new)))


def _open_class(words: Iterable[str]) -> list[str]:
    return [word for word in words if not english().classes(word)]


def _without(words: Iterable[str], less: dict[str, int]) -> list[str]:
    """The words without the first few of each, as many as ``less`` says; ``less`` is used up."""
    rest = []
    for word in words:
        if less.get(word, 0) > 0:
            less[word] -= 1
        else:
            rest.append(word)
    return rest


def _content_words(text: str) -> list[str]:
    words = (word.text.lower() for word in words_of(text))
    return [word for word in words if word[0].isalnum() and not english().classes(word)]


def _exchanged(old: Sequence[str], new: Sequence[str]) -> int:
    """How many pairs of shared words stand in the opposite order.

    A word that occurs several times is matched first to first, second to second.
    """
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(new):
        places[word].append(place)
    counts: Counter[str] = Counter()
    passed: list[int] = []
    exchanged = 0
    for word in old:
        if counts[word] < len(places[word]):
            place = places[word][counts[word]]
            counts[word] += 1
            exchanged += len(passed) - bisect_right(passed, place)
            insort(passed, place)
    return exchanged


def _names(window: _Window) -> set[str]:
    """The capitalized words of a change that begin no sentence; none where most have capitals."""
    letters = [word for word in window.all if word[0].isalpha()]
    capitals = sum(word[0].isupper() for word in letters)
    if len(letters) > 4 and capitals > 0.6 * len(letters):
        return set()
    return {
        word.lower()
        for at, word in enumerate(window.words)
        if word[0].isupper()
        and not (len(word) > 1 and word.isupper() and tags_of(word.lower()))
        and not english().classes(word.lower())
        and not window.initial(at)
    }
