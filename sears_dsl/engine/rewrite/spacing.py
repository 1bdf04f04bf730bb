"""White space, marks and clitics beside new text: what an edit takes along, and what it adds.

In: a text, a place in it, and the new text for a span. Out: the `Edit` that makes the change, or
None if nothing is left to write. Always holds: an edit takes along only white space and doubled
marks next to its place; a word that stood apart from its neighbour still does; inserted text is
attached where it belongs (clitics and closing punctuation to the left, opening punctuation to the
right). Costs a few character tests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from sears_dsl.engine.matches import Edit
from sears_dsl.tagging.inflection import is_listed
from sears_dsl.tagging.tokens import contraction

STOPS = ".!?…"
"""What ends a sentence."""

CLOSING = ")]}\"'”’"
"""What may stand between the stop of a sentence and white space."""

_CLITIC_INITIALS = "'’ʼnN"
_CLITIC = re.compile(r"(?:['’ʼ](?:s|re|ve|ll|d|m)|n['’ʼ]t)(?=n['’ʼ]t|\W|\Z)", re.IGNORECASE)
_FIRST_WORD = re.compile(r"\A\w*")
_CLOSING_MARKS = frozenset(",.;:!?)]}%…’”")
OPENING_MARKS = frozenset("([{“‘")
# Straight quotes open or close; the side on which they touch a word tells which.
QUOTES = frozenset("\"'")
# New text that begins with one of these is attached to the word before it.
_ATTACHED = frozenset(",.;:!?")
# Marks that are not written where a mark stands already.
_MARKS = frozenset(",;:.")
_STOPPING_MARKS = frozenset(",;:.!?…")
_ROW_OF_STOPS = re.compile(r"[.!?…]+")
# Abbreviations: the dot belongs to the word, and another mark may follow it.
_ABBREVIATION = re.compile(
    r"(?<!\w)(?:(?:[^\W\d_]{1,3}\.){2,}"
    r"|(?:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|inc|ltd|co|corp|approx)\.)\Z",
    re.IGNORECASE,
)
# How many characters tell whether a text ends with one, or begins with a row of dots.
_REACH = 8
_WORD = re.compile(r"\w+")
_LAST_WORD = re.compile(r"\w+\Z")
# Words that are never names, whatever stands around them; `may`, `will` and `I` are not here.
_WORDS = """
a about after all also although always am an and any are as at be because been before being
both but by can could did do does each either even every few for from had has have he her here
his how however if in into is it its just let many maybe more most much my neither never no nor
not now of often on once only onto or our perhaps please several she should since so some still
such that the their then there these they this those though thus to unless until was we were
what when where which while who whom whose why with within without would yet you your
"""
FUNCTION_WORDS = frozenset(_WORDS.split())
"""Words that are never names, and few of which bear clitics."""

NOUNS = frozenset({"NOUN", "PROPN"})
"""The coarse tags of words that bear clitics."""

# The words among them that bear the clitic 's.
_BEARING_S = "he she it that this here there who what when where why how let which else"
_BEARING_OTHERS = {("that", "'ve"), ("which", "'d"), ("which", "'ll")}
# Words that stand for things, though the tables also call them adjectives or adverbs.
_BEARING_ALL = frozenset(["one", "today", "tomorrow", "tonight", "yesterday"])
# A noun that the tables do not call an adverb: *way better*.
_ADVERBS = frozenset({"way"})
# Behind one of these, an adjective stands for people or things: *the deceased's*, *my best's*.
_BEFORE_NOUN = re.compile(r"(?<!\w)(?:an?|every|my|no|our|the|their|your)\s+\w+\Z", re.IGNORECASE)
_COMPOUND = re.compile(r"\w['’ʼ‐‑-]\w+\Z")
# What is left of `isnt` when `is` is replaced.
_BARE_CLITIC = re.compile(r"nt(?!\w)", re.IGNORECASE)


def begins_with_clitic(text: str) -> bool:
    """Whether the text begins with a clitic, which takes no space before it.

    Example:
        >>> begins_with_clitic("'s"), begins_with_clitic("N'T"), begins_with_clitic("'twas")
        (True, True, False)
    """
    return text[:1] in _CLITIC_INITIALS and _CLITIC.match(text) is not None


def begins_attached(text: str) -> bool:
    """Whether new text that begins so is attached to the word before it."""
    return text[:1] in _ATTACHED or begins_with_clitic(text)


def ends_reaching(text: str) -> bool:
    """Whether the text ends with a mark that is not written twice, or with one that may open."""
    return text[-1] in _MARKS or text[-1] in OPENING_MARKS | QUOTES


def reaches_out(old: str, new: str) -> bool:
    """Whether new text may take along something that stands near the old one, not touching it."""
    if begins_attached(new) and not is_attached(old):
        return True
    first, last = new[0] in _MARKS, ends_reaching(new)
    return (first and not _is_as(old[0], new[0])) or (last and not _is_as(old[-1], new[-1]))


def _is_as(old: str, new: str) -> bool:
    """Whether a mark is the same as the old one; it then stays, whatever stands beside it."""
    return new == old or (old == "…" and new == ".")


def may_be_parted(old: str, new: str) -> tuple[bool, bool]:
    """Whether new text may need a space between it and what touches it, on its left and right.

    Example:
        >>> may_be_parted(".", "!"), may_be_parted("'s", "is"), may_be_parted("film", "a (good)")
        ((False, False), (True, True), (True, False))
    """
    left = not begins_with_clitic(new)
    if old[0] in _CLOSING_MARKS or begins_with_clitic(old):
        left = left and new[0] not in _CLOSING_MARKS | QUOTES
    else:
        left = left and new[0].isalnum()
    return left, new[-1].isalnum()


def begins_with_not(text: str) -> bool:
    """Whether the text begins with the clitic ``n't``."""
    return text[:1] in "nN" and begins_with_clitic(text)


def bears(host: str, clitic: str, *, instead_of: str = "", is_noun: bool = False) -> bool:
    """Whether the word that ends a text bears the clitic that begins another one.

    ``n't`` follows a closed list of words only; others lean on nouns, names and some pronouns. A
    word that is as often an adjective or adverb as a noun bears them where it is one: if its tag
    says so (``is_noun``), behind an article, or if the clitic leaned on a noun that it replaces
    (``instead_of``), and not where it was put between a word and its clitic.

    Example:
        >>> pairs = [("it is", "n't"), ("it looks", "n't"), ("they", "'re"), ("really", "'s")]
        >>> [bears(*pair) for pair in pairs]
        [True, False, True, False]
        >>> bears("it best", "'s"), bears("the best", "'s"), bears("best", "'s", instead_of="film")
        (False, True, True)
    """
    words, kind = _LAST_WORD.findall(host), _CLITIC.match(clitic)
    if not words or kind is None:
        return True
    low, end = words[0].lower(), re.sub("[’ʼ]", "'", kind[0]).lower()
    if len(contraction((low + end).upper())) > 1:
        return True
    if end in {"n't", "'m"} or _COMPOUND.search(host):
        return end not in {"n't", "'m"}
    if (end == "'s" and low in _BEARING_S.split()) or (low, end) in _BEARING_OTHERS:
        return True
    if low in FUNCTION_WORDS or low == "i":
        return False
    if is_noun or low in _BEARING_ALL or not is_listed(low):
        return True
    may_be_noun = is_listed(low, ("NOUN",))
    if may_be_noun and low not in _ADVERBS and not is_listed(low, ("ADJ", "ADV")):
        return True
    # Adjectives that are no nouns stand for people: *the deceased's*.
    if not may_be_noun and (end != "'s" or not is_listed(low, ("ADJ",))):
        return False
    if _BEFORE_NOUN.search(host):
        return True
    return may_be_noun and _is_noun(instead_of.lower())


@lru_cache(maxsize=1 << 16)
def parts_clitic(text: str, clitic: str, *, host: str, is_noun: bool) -> bool:
    """Whether a clitic that is copied behind a text has no word there that bears it.

    It leaned on ``host``, which is empty unless it is replaced, too; ``is_noun`` is about the word
    that ends the text.

    Example:
        >>> parts_clitic("it really", "'s", host="film", is_noun=False)
        True
    """
    if not may_hold(text):
        return True
    instead_of = "" if host.lower() in words_of(text) else host
    return not bears(text, clitic, instead_of=instead_of, is_noun=is_noun)


def _is_noun(word: str) -> bool:
    """Whether a word may be a noun or a name."""
    if not word or word in FUNCTION_WORDS or word == "i":
        return False
    return is_listed(word, ("NOUN",)) or not is_listed(word)


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return _WORD.findall(text.lower())


def may_hold(text: str) -> bool:
    """Whether a clitic may lean on the end of a text, which is no mark.

    Example:
        >>> may_hold("so"), may_hold('"so"'), may_hold("so,"), may_hold("the U.S.")
        (True, True, False, True)
    """
    return text[-1:] not in _ATTACHED or ends_with_abbreviation(text)


def holds_clitic_of(old: str, new: str) -> bool:
    """Whether a replaced span holds, behind a word, the clitic that begins new text.

    Example:
        >>> holds_clitic_of("it's", "'s it"), holds_clitic_of("it is", "'s it")
        (True, False)
    """
    kind = _CLITIC.match(new)
    return kind is not None and kind[0].lower() in old[1:].lower()


def agrees(host: str, clitic: str, after: str) -> bool:
    """Whether a clitic has capitals as the word before it; for ``I``, the word behind it tells.

    Example:
        >>> pairs = ("IT", "'S"), ("It", "'S"), ("IT", "'s"), ("FBI", "'s"), ("I", "'M")
        >>> [agrees(*pair, " sure") for pair in pairs]
        [True, False, False, True, False]
    """
    words, kind = _LAST_WORD.findall(host), _CLITIC.match(clitic)
    if not words or kind is None:
        return True
    word = words[0]
    if kind[0].isupper():
        return all(each == each.upper() for each in (word, *after.split()[: word == "I"]))
    return not word[1:].isupper() or (clitic[0] != "n" and word.lower() not in FUNCTION_WORDS)


def would_break(old: str, new: str, *, before: str, after: str) -> bool:
    """Whether new text would change the word before a clitic to one that does not bear it.

    ``before`` is what stands before the new text, with the white space between them.
    """
    if not begins_with_clitic(after) or not new[-1].isalnum():
        return False
    old_words, words = words_of(old), words_of(new)
    host = old_words[-1] if old_words and old[-1].isalnum() else ""
    if words[-1] == host:
        return False
    return not bears(before + new, after, instead_of="" if host in words else host)


def opens(before: str) -> bool:
    """Whether a text ends with something that opens: a bracket, or a quote that touches no word.

    Example:
        >>> opens('he said ('), opens('he said "'), opens('he said "yes"'), opens("")
        (True, True, False, False)
    """
    if before[-1:] in QUOTES:
        return len(before) < 2 or before[-2].isspace() or before[-2] in OPENING_MARKS
    return before[-1:] in OPENING_MARKS


def _opens_behind(before: str, new: str) -> bool:
    """Whether new text ends with something that opens and is not part of a face (``:(``)."""
    last = (before + new)[-2:]
    return opens(last) and (len(last) < 2 or last[0].isspace() or last[0] in OPENING_MARKS)


def stands_before(text: str, place: int, before: Sequence[Edit]) -> str:
    """What stands just before a place after some edits: white space, and the end of a word."""
    pieces: list[str] = []
    for edit in reversed(before):
        between = text[edit.end : place]
        if between and not between.isspace():
            break
        pieces += [between, edit.new]
        place = edit.start
        if edit.new and not edit.new.isspace():
            return "".join(reversed(pieces))
    word = _space_before(text, place, 0)
    pieces.append(text[max(0, word - _REACH) : place])
    return "".join(reversed(pieces))


def _space_before(text: str, place: int, limit: int) -> int:
    """Where the white space that ends at a place begins, not before the limit."""
    while place > limit and text[place - 1].isspace():
        place -= 1
    return place


def _space_after(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def text_after(text: str, place: int) -> str:
    """The white space at a place, and the next few characters behind it."""
    return text[place : _space_after(text, place) + _REACH]


def meets_mark(text: str, place: int) -> bool:
    """Whether a mark that is not written twice follows a place, white space aside."""
    return text_after(text, place).lstrip()[:1] in _STOPPING_MARKS


def deletion(text: str, start: int, end: int, *, before: str, limit: int, barrier: int) -> Edit:
    """Delete characters start:end and one of the gaps beside them.

    If two marks would meet (``a, really, b``) one of them goes; two words stay apart. ``before`` is
    what earlier edits left before the span (see `stands_before`). Nothing left of ``limit`` or
    right of ``barrier``, where the neighbouring edits are, is taken along.

    Example:
        >>> deletion("No. So. Yes.", 4, 6, before="No. ", limit=0, barrier=12)
        Edit(start=3, end=7, old=' So.', new='')
    """
    end = _sentence_end(text, start, end, bare=before.rstrip(), barrier=barrier)
    left = _space_before(text, start, limit)
    right = _space_after(text, end)
    bare = before.rstrip()
    following = text[right : right + 1]
    if following and following in ",;:" and right < barrier and _is_first(text, start, before):
        # A mark that would begin a sentence or a quotation goes as well.
        right = _space_after(text, right + 1)
        return Edit(start, right, text[start:right], "")
    if not bare:
        left = start  # at the row's start the right gap goes
    elif not following:
        if left < start or not before[-1:].isspace():
            right = end  # at its end the left gap goes, unless an edit before has taken it
    elif following in _CLOSING_MARKS or (right == end and following in QUOTES):
        if bare[-1] in _STOPPING_MARKS and following in _STOPPING_MARKS:
            return _without_mark(text, start, end, bare=bare, limit=limit, barrier=barrier)
        right = end
    elif right == end:
        left = start
    elif len(bare) == len(before):
        # There is no gap on the left; the right one stays unless something opens before it.
        left = start
        if not opens(bare):
            right = end
    elif bare[-1] not in OPENING_MARKS and text[left:start] == " ":
        right = end
    else:
        left = start
    apart = _would_join(before if left == start else bare, text[right : right + 1])
    return Edit(left, right, text[left:right], " " if apart else "")


def _is_first(text: str, start: int, before: str) -> bool:
    """Whether a span begins a row, a sentence, or what is quoted or stands in brackets."""
    bare = before.rstrip()
    if not bare or (opens(bare) and bare == before):
        return True
    stop = bare.rstrip(CLOSING)
    if not stop or stop[-1] not in STOPS:
        return False
    return text[start].isupper() or not ends_with_abbreviation(stop)


def _sentence_end(text: str, start: int, end: int, *, bare: str, barrier: int) -> int:
    """Where a deleted span ends with the stops behind it, if another stop stands before it.

    Nothing is left of its sentence then. A span that ends with a mark of its own takes no other.
    """
    stop = bare.rstrip(CLOSING) if text[start].isupper() else bare
    if not stop or stop[-1] not in STOPS or text[end - 1] in _STOPPING_MARKS:
        return end
    row = _ROW_OF_STOPS.match(text, _space_after(text, end), barrier)
    if row is None or (ends_with_abbreviation(stop) and row[0] != "."):
        return end
    # A row that runs into a word (``.5``) ends nothing, also where the barrier parts the two.
    return end if _WORD.match(text, row.end()) else row.end()


def _without_mark(text: str, start: int, end: int, *, bare: str, limit: int, barrier: int) -> Edit:
    """Delete a span between two marks, and one of these if it can go: the first before a stop."""
    left, right = _space_before(text, start, limit), _space_after(text, end)
    if bare[-1] in ",;:" and text[right] in ",;:" and right < barrier:
        return Edit(left, right + 1, text[left : right + 1], "")
    if bare[-1] in ",;:" and left > limit and text[left - 1] == bare[-1]:
        return Edit(left - 1, right, text[left - 1 : right], "")
    return Edit(left, end, text[left:end], "")


def _would_join(before: str, after: str) -> bool:
    return bool(before and after) and before[-1].isalnum() and after.isalnum()


def replacement(
    text: str, start: int, end: int, new: str, *, glued: bool, before: str, limit: int
) -> Edit | None:
    """Put new text in the place of characters start:end; None if nothing of it is left to write.

    If ``glued``, it is attached to the token before, as ``~`` says. For the rest see `deletion`.
    """
    old = text[start:end]
    bare = before.rstrip()
    # The same mark stays where it is, and so does another one behind a dot (``Ave.,``).
    stays = _is_as(old[0], new[0]) or (old[0] in ",;:" and new[0] in ",;:" and bare[-1:] == ".")
    after = "" if _is_as(old[-1], new[-1]) else text_after(text, end)
    new, doubled = _single(new, before="" if stays else bare, after=after)
    if not new:
        return None
    left = start
    if (glued and not doubled) or (not is_attached(old) and _may_attach(bare, new)):
        left = _space_before(text, start, limit)
    elif not glued and _wants_space(before, old, new):
        new = " " + new
    if new[-1] != old[-1] and _opens_behind(before, new):
        end = _space_after(text, end)
    elif _joins_after(old, new, text[end : end + 4]):
        new += " "
    return Edit(left, end, text[left:end], new)


def _single(new: str, *, before: str, after: str) -> tuple[str, bool]:
    """New text without marks that stand there already, and whether it began with one."""
    if new[-1] in _MARKS and after.strip() and after.lstrip()[0] in _STOPPING_MARKS:
        new = _without_last_mark(new, after)
    if not new or new[0] not in _MARKS or not before or before[-1] not in _STOPPING_MARKS:
        return new, False
    if new[0] != "." and ends_with_abbreviation(before):
        return new, False
    if new[1:2] not in _STOPPING_MARKS:
        return new[1:].lstrip(), True
    return new, False


def _without_last_mark(new: str, after: str) -> str:
    """New text without its last mark if another follows; of two rows of dots the longer stays."""
    following = after.lstrip()
    dots = len(new) - len(new.rstrip("."))
    if dots > 1:
        others = len(following) - len(following.lstrip("."))
        if others < dots and following != after:  # white space keeps them apart
            return new
        return new[: len(new) - min(dots, others)].rstrip()
    if new[-2:-1] in _STOPPING_MARKS or (following[0] != "." and ends_with_abbreviation(new)):
        return new
    return new[:-1].rstrip()


def ends_with_abbreviation(text: str) -> bool:
    """Whether the dot that ends the text belongs to its last word.

    Example:
        >>> [ends_with_abbreviation(text) for text in ("the U.S.", "cats etc.", "a film.", "no")]
        [True, True, False, False]
    """
    return text[-1:] == "." and _ABBREVIATION.search(text) is not None


def _may_attach(bare: str, new: str) -> bool:
    """Whether new text is attached to what stands before it, leaving out the white space."""
    if not bare or opens(bare) or not begins_attached(new):
        return False
    return new[0] in _ATTACHED or bare[-1].isalnum() or bare[-1] in QUOTES


def is_attached(old: str) -> bool:
    """Whether a replaced span begins with something that is or could be attached to a word."""
    return not old[:1].isalnum() or begins_with_clitic(old)


def _wants_space(before: str, old: str, new: str) -> bool:
    """Whether new text needs a space before it, where the old text could do without.

    ``don't`` → ``do not``, ``yes, or no`` → ``yes or no``, ``cannot`` → ``can never``.
    """
    last = before[-1:]
    if not last or last.isspace() or begins_with_clitic(new):
        return False
    if old[0] in _CLOSING_MARKS or begins_with_clitic(old):
        stands = last.isalnum() or (last in _CLOSING_MARKS | QUOTES and not opens(before))
        return stands and new[0] not in _CLOSING_MARKS | QUOTES
    if not old[0].isalnum():
        return _would_join(before, new[0])
    return last.isalpha() and new[0].isalpha() and not _same_word(old, new)


def _joins_after(old: str, new: str, after: str) -> bool:
    """Whether new text would run into the word after the span, so that it needs a space."""
    if not new[-1].isalnum() or not after[:1].isalnum() or begins_with_clitic(after[:4]):
        return False
    if not old[-1].isalnum():
        return True
    if _BARE_CLITIC.match(after):
        return not bears(new, "n't")  # there is `wasnt`, but no `Int`
    return new[-1].isalpha() and after[0].isalpha() and not _same_word(old[::-1], new[::-1])


def _same_word(old: str, new: str) -> bool:
    """Whether two texts begin with the same word, casing apart."""
    one, other = (_FIRST_WORD.findall(text)[0] for text in (old, new))
    return bool(one.lower() == other.lower())


def insertion(
    text: str, previous: int | None, following: tuple[int, int] | None, new: str, *, glued: bool
) -> Edit | None:
    """Insert a text between two tokens; None if nothing is left to write.

    ``previous`` is where the token before ends, ``following`` the token after; None at a row's end.
    """
    new, doubled = _single(
        new,
        before="" if previous is None else text[max(0, previous - _REACH) : previous],
        after="" if following is None else text_after(text, previous or 0),
    )
    if not new:
        return None
    gap = "" if new[-1] in OPENING_MARKS and _opens_behind("", new) else " "
    if previous is None:
        if following is None:
            return Edit(0, 0, "", new)
        start = following[0]
        return Edit(start, start, "", new if text[start] in _CLOSING_MARKS else new + gap)
    before = text[max(0, previous - 2) : previous]
    if (glued and not doubled) or (begins_attached(new) and not opens(before)):
        after = text[previous : previous + 4]
        space = " " if _would_join(new, after[:1]) and not begins_with_clitic(after) else ""
        return Edit(previous, previous, "", new + space)
    if following is None:
        return Edit(previous, previous, "", " " + new)
    start, end = following
    if previous < start:
        return Edit(start, start, "", new + gap)
    space_before = "" if opens(before) else " "
    token = text[start:end]
    # Whether the token after belongs to the one that it touches.
    attaches = token[0] in _CLOSING_MARKS or token[0] in QUOTES or begins_with_clitic(token)
    return Edit(start, start, "", space_before + new + ("" if attaches else gap))
