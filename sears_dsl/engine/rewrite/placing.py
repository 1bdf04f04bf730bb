"""How new text fits where it goes: its capitals, ``a`` or ``an``, and the edit that puts it there.

In: a text, a place in it, the new text for a span, and what stands around the span. Out: texts in
another casing; the `Edit` that makes a change, or an `Unrendered` that says why there is none.
Always holds: beyond its span, an edit takes along only white space and marks (`spacing`), a word
whose capital changes, and an article.

Casing depends on the rule and the text alone. Words with other capitals than a first one, and what
is no word (``iPhone``, ``NASA``, ``www.x.com``), stay as they are, and so do names: a word loses
its capital only if it is on a closed list of function words, or if a tag in the rule says that it
is not a name.

Articles are corrected under ``option repair = on``: inside new text, just before it, and at its
end. Spelling tells the sound: vowel letters, with short lists for ``hour``, ``one`` and ``union``;
the first digits of numbers; and the names of the letters of acronyms that have up to three letters
or no vowel. Costs a few character tests, and two searches in some fifty characters an edit for
articles.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, TypeAlias

from sears_dsl.engine.matches import Edit, Reach
from sears_dsl.engine.rewrite import spacing
from sears_dsl.engine.rewrite.spacing import CLOSING, STOPS, begins_with_clitic

Spans: TypeAlias = Sequence[tuple[int, int]]

# ---------------------------------------------------------------- casing

PLAIN, CAPITAL, UPPER = 0, 1, 2
"""The casing of a replaced span, as far as literals follow it."""

WITH_PRONOUN = 3
"""Added where the span holds the pronoun ``I``: then literals write ``i`` as ``I``, too."""

OPENING = "([{\"'“‘"
"""What may stand between the start of a sentence and its first word."""

_WORD = re.compile(r"[^\W\d_]+(?:['’ʼ-][^\W\d_]+)*(?![\w@/\\]|[.:]\w)")
PRONOUN = re.compile(r"I(?![\w-])")
_START = re.compile(r"[.!?…][)\]}\"'”’]*\s+[(\[{\"'“‘]*[^\W\d_]")
_STOPPED = re.compile(r"[.!?…][)\]}\"'”’]*\s*\Z")
_HYPHENATED = re.compile(r"\w[-‐‑]\w")
_ANY_PRONOUN = re.compile(r"(?<![\w-])I(?![\w-])")

# The length of the longest clitic, and one character that shows that it ends.
_CLITIC_AND_MORE = 4

# Adjectives that have a capital wherever they stand, though taggers do not call them names.
_PEOPLES = """
arab arabic british catholic czech danish dutch english finnish french german greek hindu icelandic
iraqi irish islamic israeli jewish muslim nordic olympic pakistani polish protestant roman scottish
slavic spanish swedish swiss thai turkish welsh
"""
_OF_PEOPLES = re.compile(rf"(?:{'|'.join(_PEOPLES.split())}|\w+(?:[ei]an|ese|ican))(?!\w)")


def shape_of(old: str, *, opens: bool) -> int:
    """The casing of a replaced span.

    If the span opens a sentence, ``I`` counts as a word with a capital; elsewhere as a word without
    one.

    Example:
        >>> spans = ("film", "Film", '"Film', "FILM", "'S", "I", "I AM")
        >>> [shape_of(old, opens=False) for old in spans]
        [0, 1, 1, 2, 2, 3, 5]
    """
    more = WITH_PRONOUN if _ANY_PRONOUN.search(old) else 0
    if (
        old.isupper()
        and set(old.split()) != {"I"}
        and (sum(map(str.isalpha, old)) > 1 or begins_with_clitic(old))
    ):
        return UPPER + more
    head = old[first_word(old, 0) :]
    if not (head[:1].isupper() or head[:1].istitle()):
        return PLAIN + more
    return (CAPITAL if opens or not PRONOUN.match(head) else PLAIN) + more


def cased(word: str, shape: int, *, first: bool) -> str:
    """A literal of the consequent in the casing of the span that it replaces.

    Example:
        >>> [cased(word, CAPITAL, first=True) for word in ("it is", "n't")]
        ['It is', "n't"]
    """
    if shape % WITH_PRONOUN == UPPER:
        return word.upper()
    capital = shape % WITH_PRONOUN == CAPITAL and first and word[:1].islower()
    capital = capital and not begins_with_clitic(word)
    if capital or (shape >= WITH_PRONOUN and PRONOUN.match(word[:1].upper() + word[1:])):
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


def holds_start(old: str) -> bool:
    """Whether sentences begin inside of a replaced span, all with a capital.

    Example:
        >>> [holds_start(old) for old in (". The", "! the", "Mr. Smith", "so. (The", "The")]
        [True, False, False, True, False]
    """
    capitals = {
        each[0][-1].isupper()
        for each in _START.finditer(old)
        if not spacing.ends_with_abbreviation(old[: each.start() + 1])
    }
    return capitals == {True}


def first_word(text: str, place: int) -> int:
    """Where the word at a place begins, behind white space and opening marks."""
    while place < len(text) and (text[place].isspace() or text[place] in OPENING):
        if begins_with_clitic(text[place : place + _CLITIC_AND_MORE]):
            break
        place += 1
    return place


def capitalized(text: str, place: int = 0) -> tuple[int, str]:
    """The end of the word at a place, behind opening marks, and the text up to it with a capital.

    If there is no word in lower case, or a clitic, this is the place itself and no text.

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
    """The text with a small letter at the start of its first word, if that is not a name.

    Unless a tag says that it is not one (``no_name``), only function words lose their capital.

    Example:
        >>> [uncapitalized(each, no_name=False) for each in ("The film", "London", "I", "THE")]
        ['the film', 'London', 'I', 'THE']
        >>> [uncapitalized(each, no_name=True) for each in ("Good", "American")]
        ['good', 'American']
    """
    word = _WORD.match(text)
    if word is None or PRONOUN.match(word[0]):
        return text
    if not word[0][0].isupper() or word[0][1:] != word[0][1:].lower():
        return text
    low = word[0].lower()
    is_no_name = re.split("['’ʼ]", low, maxsplit=1)[0] in spacing.FUNCTION_WORDS
    if is_no_name or (no_name and not _OF_PEOPLES.match(low)):
        return text[0].lower() + text[1:]
    return text


# ---------------------------------------------------------------- capitals beside an edit


class Surroundings(NamedTuple):
    """What stands around the edit of one instance."""

    before: Sequence[Edit] = ()  # the edits of the same rule in the row so far, in order
    barrier: int = sys.maxsize  # where the next instance begins, or the row ends
    protected: Spans = ()  # spans of characters whose casing stays as it is

    @property
    def limit(self) -> int:
        """Where the last edit ends: nothing left of it can be taken along."""
        return self.before[-1].end if self.before else 0

    def forbids(self, start: int, end: int) -> bool:
        """Whether characters start:end must not change their casing."""
        return end > self.barrier or any(low < end and start < high for low, high in self.protected)

    def begins_with_capital(self, text: str, start: int) -> bool:
        """Whether a span, or what was deleted just before it, began a sentence with a capital."""
        for edit in reversed(self.before):
            between = text[edit.end : start]
            if edit.new or (between and not between.isspace()):
                break
            start = edit.start + len(edit.old) - len(edit.old.lstrip())
        return text[start].isupper() and begins_sentence(text, start)


def _before_first_word(
    text: str, edit: Edit, following: tuple[int, int], around: Surroundings
) -> Edit:
    """An insertion that takes the capital of the word after it, if that begins a sentence."""
    start, end = following
    word = text[start:end]
    first = first_word(text, start)
    if not text[first : first + 1].isupper() or not begins_sentence(text, start):
        return edit
    at, head = capitalized(edit.new)
    new = head + edit.new[at:]
    if first > start:  # what is quoted keeps its own capital
        return edit._replace(new=new)
    lowered = uncapitalized(word, no_name=False)
    if lowered == word or around.forbids(edit.start, end):
        return edit._replace(new=new)
    return Edit(edit.start, end, word, new + lowered)


def _with_next(text: str, edit: Edit, around: Surroundings) -> Edit:
    """The edit, widened to give the next word a capital, unless that word has to stay as it is."""
    end, word = capitalized(text, edit.end)
    if not word or around.forbids(edit.end, end):
        return edit
    return Edit(edit.start, end, text[edit.start : end], edit.new + word)


# ---------------------------------------------------------------- articles

_ARTICLE = re.compile(r"(?<![\w'’ʼ-])(a|an)(\s+[(\[{\"'“‘]*)([^\W_]+)", re.IGNORECASE)
_NEXT_WORD = re.compile(r"\s*[(\[{\"'“‘]*[^\W_]+")
_EIGHTS = re.compile(r"8\d*|(?:11|18)(?:\d{3})*")
_SILENT_H = re.compile(r"hour|honest|honou?r|heir")
_AS_IN_YOU = re.compile(
    r"eu|ewe|u(?:biq|fo|k[ru]|nanim|ni(?!mp|mag|n|de|gn|ss)|ra[ln]|re|ri[cn]|rol|s[aeu]|t[aeio])"
)
_AS_IN_WON = frozenset(("one", "ones", "once", "oneself", "ouija"))
_LETTERS_WITH_AN = frozenset("AEFHILMNORSX")
_LONGEST_ACRONYM = 3
# How many characters before an edit are searched for an article.
_ARTICLE_REACH = 48


def wants_an(word: str, *, shout: bool = False) -> bool:
    """Whether the article before a word is ``an``.

    If everything around it is in capitals too (``shout``), the word is not an acronym.

    Example:
        >>> words = ("apple", "hour", "union", "unimportant", "one", "FBI", "NASA", "8", "x", "US")
        >>> [word for word in words if wants_an(word)]
        ['apple', 'hour', 'unimportant', 'FBI', '8', 'x']
    """
    plain = unicodedata.normalize("NFD", word)
    if plain[0].isdigit():
        digits = re.match(r"\d+", plain)
        return digits is not None and _EIGHTS.fullmatch(digits[0]) is not None
    low = plain.lower()
    spelled = plain.isupper() and not shout
    short = len(plain) <= _LONGEST_ACRONYM or not set(low) & set("aeiouy")
    if len(plain) == 1 or (spelled and short):
        return plain[0].upper() in _LETTERS_WITH_AN
    if low in _AS_IN_WON or _AS_IN_YOU.match(low):
        return False
    return low[0] in "aeiou" or _SILENT_H.match(low) is not None


def agree_articles(text: str, edit: Edit, *, limit: int) -> Edit:
    """The edit with articles that agree with the next word; left of the limit articles stay.

    Example:
        >>> agree_articles("A good film", Edit(2, 6, "good", "excellent"), limit=0)
        Edit(start=0, end=6, old='A good', new='An excellent')
    """
    low = max(limit, edit.start - _ARTICLE_REACH)
    head = text[low : edit.start]
    following = _NEXT_WORD.match(text, edit.end)
    tail = "" if following is None else following[0]
    window = head + edit.new + tail
    first, last = len(head), len(head) + len(edit.new)
    # The row up to the end of the window, to tell what stands before it.
    row, shift = text[:low] + window, low
    pieces: list[str] = []
    start = place = first
    for match in _ARTICLE.finditer(window):
        if match.start() >= last or match.start(3) < first:
            continue
        article = _agreeing(match, row, shift)
        if article == match[1]:
            continue
        if match.start() < first:
            start = place = match.start()
        pieces += [window[place : match.start()], article]
        place = match.end(1)
    if not pieces:
        return edit
    new = "".join([*pieces, window[place:last]])
    return Edit(low + start, edit.end, text[low + start : edit.end], new)


def _agreeing(match: re.Match[str], row: str, shift: int) -> str:
    """The article of a match as it should be; unchanged if it is not an article."""
    article, word = match[1], match[3]
    shout = article.isupper() and row.isupper() and len(word) > 1
    if article[0] == "A" and not shout and not begins_sentence(row, shift + match.start()):
        return article  # such as in `Vitamin A`
    right = "an" if wants_an(word, shout=shout) else "a"
    if shout:
        return right.upper()
    return right.capitalize() if article[0] == "A" else right


# ---------------------------------------------------------------- edits


class Unrendered(Enum):
    """Why an instance makes no edit.

    Reports count all but the first (`is_counted`): a rule that would write what is there already is
    silent.
    """

    UNCHANGED = "the new text is the old one"
    AMBIGUOUS = "an inflection has more than one form"
    NO_FORM = "an inflection has no form"
    NO_PLACE = "none of its characters can change this way"
    NO_NEIGHBOR = "the word has no neighbour in the vectors"
    NO_PARAPHRASE = "it has no paraphrase"
    NO_WORD = "what it would leave is not a word"
    PASSED_OVER = "nothing would change there, so the rate passes it over"

    @property
    def is_counted(self) -> bool:
        """Whether something was missing, which reports count."""
        return self is not Unrendered.UNCHANGED


Rendered: TypeAlias = Edit | Unrendered

SILENT, MISSING, REPLACED, PLACED, ATTACHED = range(5)
"""What becomes of a match: nothing, since the text stays the same; nothing, since it cannot be
rendered; new text in the place of the old; an edit that depends on the row around it; or new text
in the place of the old and of the white space before it."""

ALWAYS, TOUCHED, WORD, NEVER = 0, 1, 2, 3
"""When an edge of new text needs more than its place (see `Placing.placed`): always; if no white
space separates it from its neighbour; if a letter or digit touches it; or never. An edge needs it
if this is at most what `windows.neighbours` gives."""


class Replaced(NamedTuple):
    """A span and what is to stand in its place."""

    start: int  # the first character
    end: int  # one past the last
    previous: int | None  # where the token before ends; None at the row's start
    new: str


class Placing(NamedTuple):
    """How the new text of one rule is put into rows."""

    in_place: bool = False  # nothing around the span is looked at: no space, no mark and no capital
    glued: bool = False  # new text is attached to the token before it, as ``~`` says
    follows_case: bool = False  # capitals at the start of sentences are passed on
    repairs: bool = False  # an edit may take along an article farther before it

    def edges(self, old: str, new: str) -> tuple[int, int]:
        """When the left and the right edge of new text need more than its place."""
        if not new or self.glued or self.repairs or spacing.reaches_out(old, new):
            return ALWAYS, ALWAYS
        if self.follows_case and _ends_anew(old, new):
            return ALWAYS, ALWAYS
        left = WORD if old[0].isalnum() and not begins_with_clitic(old) else TOUCHED
        apart_left, apart_right = spacing.may_be_parted(old, new)
        return left if apart_left else NEVER, WORD if apart_right else NEVER

    def inserted(
        self,
        text: str,
        previous: int | None,
        following: tuple[int, int] | None,
        new: str,
        around: Surroundings,
    ) -> Rendered:
        """Insert new text between the end of a token and the token that follows.

        At the start of a sentence the new text takes the capital, and the word that had it keeps
        it only if it may be a name.
        """
        if previous is not None and self._parts_word(text, previous, following, new):
            return Unrendered.NO_WORD
        edit = spacing.insertion(text, previous, following, new, glued=self.glued)
        if edit is None:
            return Unrendered.UNCHANGED
        if following is not None and edit.start == following[0] and self.follows_case:
            edit = _before_first_word(text, edit, following, around)
        return self._agreeing(text, edit, around)

    def placed(self, text: str, span: Replaced, around: Surroundings) -> Rendered:
        """Put new text in the place of a span, or delete it."""
        start, end, previous, new = span
        if self.in_place:
            return Edit(start, end, text[start:end], new)
        old = text[start:end]
        before = spacing.stands_before(text, start, around.before)
        after = text[end : end + _CLITIC_AND_MORE]
        if new and (
            spacing.would_break(old, new, before=before, after=after)
            or (not spacing.is_attached(old) and _lacks_host(text, previous, end, old, new))
        ):
            return Unrendered.NO_WORD
        limit = max(around.limit, previous or 0)
        edit: Edit | None = None
        if new:
            glued = self.glued and previous is not None
            edit = spacing.replacement(
                text, start, end, new, glued=glued, before=before, limit=limit
            )
        if edit is None:
            edit = spacing.deletion(
                text, start, end, before=before, limit=around.limit, barrier=around.barrier
            )
            if self.follows_case and around.begins_with_capital(text, start):
                edit = _with_next(text, edit, around)
        elif self.follows_case and _ends_anew(old, edit.new) and text[end : end + 1].isspace():
            edit = _with_next(text, edit, around)
        edit = self._agreeing(text, edit, around)
        return Unrendered.UNCHANGED if edit.new == edit.old else edit

    def _parts_word(
        self, text: str, previous: int, following: tuple[int, int] | None, new: str
    ) -> bool:
        """Whether an insertion would split a word at its hyphen, or a clitic from its word."""
        if _lacks_host(text, previous, previous, "", new):
            return True
        if self.glued or following is None or following[0] > previous:
            return False
        near = _HYPHENATED.finditer(text, max(0, previous - 2), previous + 2)
        parts_hyphenated = any(each.start() < previous < each.end() for each in near)
        before = f"{spacing.stands_before(text, previous, ())} "
        after = text[previous : previous + _CLITIC_AND_MORE]
        return parts_hyphenated or spacing.would_break("", new, before=before, after=after)

    def _agreeing(self, text: str, edit: Edit, around: Surroundings) -> Edit:
        """The edit with articles that agree, under ``option repair = on``."""
        if not self.repairs:
            return edit
        wider = agree_articles(text, edit, limit=around.limit)
        return edit if around.forbids(wider.start, edit.start) else wider


class RowEdits:
    """The edits of one rule in one row, which are made from left to right.

    Neighbouring spans of which nothing is left are deleted together, so that the marks and the
    article around all of them meet.

    Example:
        >>> edits = RowEdits(Placing(), "Yes, um uh.")
        >>> edits.replace(Replaced(5, 7, 4, ""), barrier=8)
        (Edit(start=4, end=7, old=' um', new=''), False)
        >>> edits.replace(Replaced(8, 10, 7, ""), barrier=11)
        (Edit(start=3, end=10, old=', um uh', new=''), True)
    """

    def __init__(self, placing: Placing, text: str, protected: Spans = ()) -> None:
        self.edits: list[Edit] = []
        self._placing = placing
        self._text = text
        self._protected = protected
        self._last: Replaced | None = None  # what the last edit replaces

    def insert(
        self, previous: int | None, following: tuple[int, int] | None, new: str, *, barrier: int
    ) -> Rendered:
        """Insert new text; see `Placing.inserted`. The next instance begins at the barrier."""
        around = Surroundings(self.edits, barrier, self._protected)
        edit = self._placing.inserted(self._text, previous, following, new, around)
        self._last = None
        if isinstance(edit, Edit):
            self.edits.append(edit)
        return edit

    def replace(self, span: Replaced, *, barrier: int) -> tuple[Rendered, bool]:
        """Put new text in the place of a span, or delete it.

        Also returns whether this takes the place of the edit before, too.
        """
        around = Surroundings(self.edits, barrier, self._protected)
        edit = self._placing.placed(self._text, span, around)
        if not isinstance(edit, Edit):
            self._last = None
            return edit, False
        joint = self._together(span, edit, around)
        if joint is not None:
            edit, span = joint
            self.edits.pop()
        self.edits.append(edit)
        self._last = span
        return edit, joint is not None

    def _together(
        self, span: Replaced, edit: Edit, around: Surroundings
    ) -> tuple[Edit, Replaced] | None:
        """One edit for a span and the last one, if the two have only marks between that went.

        New text of both also has to be gone, with a mark behind it. An edit that touches a
        protected span takes no other along: it is left out by itself.
        """
        text, last = self._text, self._last
        if last is None or last.new != span.new:
            return None
        if span.new and (edit.new.strip() or not spacing.meets_mark(text, edit.end)):
            return None
        if any(map(str.isalnum, text[last.end : span.start])):
            return None
        before = self.edits[-1]
        if text[before.end : span.start].strip():
            return None
        if Reach(self._protected).touches(before.start, before.end):
            return None
        both = last._replace(end=span.end)
        joint = self._placing.placed(text, both, around._replace(before=self.edits[:-1]))
        return (joint, both) if isinstance(joint, Edit) else None


def _ends_anew(old: str, new: str) -> bool:
    """Whether new text ends a sentence, while in the old text the next sentence had begun."""
    return bool(_STOPPED.search(new)) and not _STOPPED.search(old) and holds_start(old)


def _lacks_host(text: str, previous: int | None, end: int, old: str, new: str) -> bool:
    """Whether new text begins with a clitic, and the word before it does not bear it so cased.

    A rule may write any clitic but ``n't`` behind any word, but not move one there.
    """
    if not begins_with_clitic(new):
        return False
    is_moved = spacing.holds_clitic_of(old, new)
    if previous is None:
        return is_moved
    host = spacing.stands_before(text, previous, ())
    if is_moved and not (host[-1:].isalnum() or spacing.ends_with_abbreviation(host)):
        return True
    if (is_moved or spacing.begins_with_not(new)) and not spacing.bears(host, new):
        return True
    return not spacing.agrees(host, new, spacing.text_after(text, end))
