"""What paraphrases change, one place at a time, and the consequents that write it.

In a consequent, a token that the antecedent generalizes is copied: by its bare tag where that means
this token, else by its number. Every other token is written as text. The rewordings made here are
not scored, since they only propose rules, which are judged on all rows anyway. Each paraphrase
costs an alignment, some 0.2 milliseconds.

The engine puts one space between words, none before a clitic, and keeps the spacing of copies and
of kept punctuation; glue is written only where the paraphrase has less space than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import NamedTuple, TypeAlias

from sears_dsl.engine.rewrite.pieces import is_punctuation
from sears_dsl.engine.rewrite.rewrites import common_ends
from sears_dsl.engine.rewrite.spacing import begins_with_clitic
from sears_dsl.language.rule import Piece, Reference, TagCopy, Text
from sears_dsl.language.words import objection
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Token, touching

_Words: TypeAlias = tuple[str, ...]


class Rewording(NamedTuple):
    """A row, and another wording of it."""

    original: str
    text: str


class _Side(NamedTuple):
    """A text and its tokens."""

    text: str
    tokens: Sequence[Token]

    def before(self, token: int) -> int:
        """Where the token before this one ends."""
        return self.tokens[token - 1].end if token else 0

    def after(self, token: int) -> int:
        """Where this token begins."""
        return self.tokens[token].start if token < len(self.tokens) else len(self.text)


def single_changes(
    originals: Sequence[str],
    paraphrases: Sequence[Sequence[str]],
    *,
    tagger: Tagger,
    rows: int = 2,
    longest: int = 3,
) -> list[Rewording]:
    """Rewordings by one change of at most ``longest`` tokens, which at least ``rows`` propose."""
    proposed: dict[tuple[_Words, _Words], dict[Rewording, None]] = {}
    for original, texts in zip(originals, paraphrases, strict=True):
        cut = tagger.tokenize([original, *texts])
        row = _Side(original, cut.row(0))
        for number, text in enumerate(texts, start=1):
            for change, rewording in _isolated_changes(row, _Side(text, cut.row(number)), longest):
                proposed.setdefault(change, {})[rewording] = None
    return list(
        dict.fromkeys(
            rewording
            for rewordings in proposed.values()
            if len({each.original for each in rewordings}) >= rows
            for rewording in rewordings
        )
    )


def _isolated_changes(
    row: _Side, other: _Side, longest: int
) -> Iterator[tuple[tuple[_Words, _Words], Rewording]]:
    """The changes between a row and a paraphrase, each with the row under this change alone."""
    before, after = (tuple(token.text for token in side.tokens) for side in (row, other))
    for kind, start, end, first, last in SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if kind == "equal" or max(end - start, last - first) > longest:
            continue
        # The words bring the white space around them, so that tokens that touched still touch.
        written = other.text[other.before(first) : other.after(last)]
        text = row.text[: row.before(start)] + written + row.text[row.after(end) :]
        # Two tokenizations of one text are not a rewording: "-rrb-" → "- rrb -".
        if "".join(text.split()) == "".join(row.text.split()):
            continue
        yield (before[start:end], after[first:last]), Rewording(row.text, text)


@dataclass(frozen=True, slots=True)
class MinimalChange:
    """A run of tokens that other words replace."""

    start: int  # the first token replaced; for an insertion the token that it goes before
    end: int  # one past the last token replaced
    # The tokens written instead; none for a deletion. They stand from ``start`` on in the
    # paraphrase
    words: tuple[str, ...]
    # For each token of the paraphrase, whether it stands right after the token before it, without
    # white space
    touching: tuple[bool, ...]


def minimal_change(original: Sequence[Token], paraphrase: Sequence[Token]) -> MinimalChange | None:
    """The smallest contiguous change that turns one row of tokens into another.

    The common beginning is taken as long as possible, then the common end.
    """
    old, new = ([token.text for token in row] for row in (original, paraphrase))
    if old == new:
        return None
    start, same = common_ends(old, new)
    return MinimalChange(
        start,
        len(old) - same,
        tuple(new[start : len(new) - same]),
        tuple(touching(paraphrase, place) for place in range(len(paraphrase))),
    )


class ContextChange(NamedTuple):
    """A change with its neighbours: tokens ``start`` to ``end`` of the row are replaced."""

    row: Sequence[Token]
    change: MinimalChange
    start: int
    end: int


class _NewWord(NamedTuple):
    """A token to write: its text, the element that it copies, whether it touches the one before.

    ``tight`` says on which sides the engine lets kept punctuation touch its neighbours.
    """

    text: str
    copied: int | None
    touching: bool
    tight: tuple[bool, bool] = (False, False)


def consequent_of(site: ContextChange, tags: Sequence[str | None]) -> tuple[Piece, ...]:
    """The consequent for a site; ``tags`` has each token's tag in the antecedent, or None."""
    pieces: list[Piece] = []
    copies: dict[str, int] = {}
    previous: _NewWord | None = None
    tight = False  # whether the text that the last piece begins with touches what is before it
    for word in _with_punctuation(_words(site, tags), site, tags):
        glued = word.touching and _needs_glue(previous, word)
        last = pieces[-1] if pieces else None
        if word.copied is not None:
            if glued and isinstance(last, Text):
                pieces[-1] = replace(last, quoted=True)
            by_tag = not (glued and isinstance(last, TagCopy))
            pieces.append(_copy(tags, word.copied, copies, glued=glued, by_tag=by_tag))
        elif glued and isinstance(last, Text):
            # One text of both, which keeps no spacing of its own.
            pieces[-1] = _text(last.text + word.text, glued=tight, first=len(pieces) == 1)
        else:
            pieces.append(_text(word.text, glued=glued, first=not pieces))
            tight = word.touching if len(pieces) > 1 else glued
        previous = word
    return tuple(pieces)


def _words(site: ContextChange, tags: Sequence[str | None]) -> list[_NewWord]:
    """The tokens to write: left neighbours, the new words, right neighbours."""
    row, change, start, end = site
    touching = change.touching
    words = []
    for place in range(start, change.start):
        copied = place - start if tags[place - start] is not None else None
        words.append(_NewWord(row[place].text, copied, touching[place]))
    free = [place for place in range(change.start, change.end) if tags[place - start] is not None]
    for offset, text in enumerate(change.words):
        same = next((place for place in free if row[place].text == text), None)
        if same is not None:
            free.remove(same)
        copied = None if same is None else same - start
        words.append(_NewWord(text, copied, touching[change.start + offset]))
    shift = change.start + len(change.words) - change.end
    for place in range(change.end, end):
        copied = place - start if tags[place - start] is not None else None
        words.append(_NewWord(row[place].text, copied, touching[place + shift]))
    if words and (start == 0 or row[start - 1].end == row[start].start):
        # The first word takes the outer spacing of the span, which touches its neighbour already.
        words[0] = words[0]._replace(touching=False)
    return words


def _with_punctuation(
    words: Sequence[_NewWord], site: ContextChange, tags: Sequence[str | None]
) -> Iterator[_NewWord]:
    """The words, with the sides that punctuation of the antecedent touches in the engine's output.

    Such punctuation keeps touching what it touched before (`pieces.kept_punctuation`).
    """
    waiting: dict[str, list[int]] = {}
    for place, tag in enumerate(tags, start=site.start):
        text = site.row[place].text
        if tag is None and is_punctuation(text):
            waiting.setdefault(text, []).append(place)
    for word in words:
        if word.copied is None and waiting.get(word.text):
            place = waiting[word.text].pop(0)
            sides = (touching(site.row, place), touching(site.row, place + 1))
            yield word._replace(tight=sides)
        else:
            yield word


def _needs_glue(previous: _NewWord | None, word: _NewWord) -> bool:
    """Whether the engine would put a space before a word that touches the one before it."""
    if previous is None:
        return True
    if previous.copied is not None and word.copied == previous.copied + 1:
        return False
    if begins_with_clitic(word.text):
        return False
    return not (previous.tight[1] or word.tight[0])


def _copy(
    tags: Sequence[str | None], element: int, copies: dict[str, int], *, glued: bool, by_tag: bool
) -> Piece:
    """A copy of a token: by its tag, if that is allowed and next in turn; else by its number."""
    tag = tags[element]
    if by_tag and tag is not None and tags[:element].count(tag) == copies.get(tag, 0):
        copies[tag] = copies.get(tag, 0) + 1
        return TagCopy(tag, glued=glued)
    return Reference(element + 1, glued=glued)


def _text(text: str, *, glued: bool, first: bool) -> Text:
    """A text, quoted where it would not be read as one text, or glued to a copy."""
    bare = objection(text, "consequent") is None and (first or not glued)
    return Text(text, quoted=not bare, glued=glued)
