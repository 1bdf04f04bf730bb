"""Contractions in capitals: ``DON'T`` as the two tokens that ``don't`` is.

Always holds: only words that stand in a closed list are cut, and where the tokenizer cuts their
lower-case form; other tokens and their tags stay as they are. spaCy's English rules list
contractions in lower case and with a first capital, so ``DON'T`` stays whole there, while ``IT'S``
is cut by its suffix. Behind a single capital they keep a full stop, as in ``T. Hardy``, so
``DON'T.`` and ``IT'S.`` stay whole. The parts get the tags that they have nearly always. Costs one
look-up for each distinct token of a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from sears_dsl.tagging.tokens import Tokens, TokenType, TokenTypes

_NOT = ("n't", "PART", "RB")
_BEFORE_HAVE = ("could", "might", "must", "should", "would")
_MODALS = (*_BEFORE_HAVE, "ca", "dare", "may", "need", "ought", "sha", "wo")
_FORMS = {
    **dict.fromkeys(_MODALS, ("AUX", "MD")),
    **dict.fromkeys(("do", "have", "are", "ai"), ("AUX", "VBP")),
    **dict.fromkeys(("does", "has", "is"), ("AUX", "VBZ")),
    **dict.fromkeys(("did", "had", "was", "were"), ("AUX", "VBD")),
}
_SUBJECTS = {
    **dict.fromkeys(("i", "you", "he", "she", "it", "we", "they"), ("PRON", "PRP")),
    **dict.fromkeys(("that", "this", "these", "those"), ("PRON", "DT")),
    **dict.fromkeys(("who", "what"), ("PRON", "WP")),
    **dict.fromkeys(("how", "when", "where", "why"), ("SCONJ", "WRB")),
    "there": ("PRON", "EX"),
}
_SINGULAR = ("he", "she", "it", "that", "this")
_BEFORE_NOT_HAVE = {*_MODALS, "did", "do", "does", "had"} - {"dare"}
_HAVE = ("'ve", "AUX", "VB")
_WHOLE = (
    (("can", "AUX", "MD"), ("not", "PART", "RB")),
    (("gon", "VERB", "VBG"), ("na", "PART", "TO")),
    (("got", "VERB", "VBN"), ("ta", "PART", "TO")),
    (("not", "PART", "RB"), _HAVE),
)

_STOP = (".", "PUNCT", ".")

_Part = tuple[str, str, str]


def _contractions() -> Iterator[tuple[_Part, ...]]:
    """Each as its parts with their tags, in lower case."""
    yield from _WHOLE
    for verb, tags in _FORMS.items():
        yield (verb, *tags), _NOT
        if verb in _BEFORE_NOT_HAVE:
            yield (verb, *tags), _NOT, _HAVE
        if verb in _BEFORE_HAVE:
            yield (verb, *tags), _HAVE
    yield ("i", "PRON", "PRP"), ("'m", "AUX", "VBP")
    for subject, tags in _SUBJECTS.items():
        for clitic in ("'d", "'ll"):
            yield (subject, *tags), (clitic, "AUX", "MD")
            yield (subject, *tags), (clitic, "AUX", "MD"), _HAVE
        for clitic in ("'re", "'ve"):
            if subject not in (_SINGULAR if clitic == "'ve" else (*_SINGULAR, "i")):
                yield (subject, *tags), (clitic, "AUX", "VBP")


def _before_stops() -> Iterator[tuple[_Part, ...]]:
    """Those that keep the full stop behind them, with it."""
    yield from ((*parts, _STOP) for parts in _contractions() if parts[-1][0][-2] == "'")
    for subject, tags in _SUBJECTS.items():
        yield (subject, *tags), ("'s", "AUX", "VBZ"), _STOP
    yield ("let", "VERB", "VB"), ("'s", "PRON", "PRP"), _STOP


def _in_capitals() -> dict[str, tuple[TokenType, ...]]:
    cuts = {}
    for parts in (*_contractions(), *_before_stops()):
        for mark in "'’":
            cut = tuple(
                TokenType(text.upper().replace("'", mark), coarse, fine)
                for text, coarse, fine in parts
            )
            cuts["".join(part.text for part in cut)] = cut
    return cuts


_PARTS = _in_capitals()


def contraction(word: str) -> tuple[str, ...]:
    """The parts of a contraction in capitals, or the word alone."""
    parts = _PARTS.get(word)
    return (word,) if parts is None else tuple(part.text for part in parts)


def may_separate(words: Iterable[str]) -> bool:
    """Whether `separated` cuts one of some words."""
    return not _PARTS.keys().isdisjoint(words)


def separated(tokens: Tokens) -> Tokens:
    """The tokens with contractions in capitals cut; the same object where there are none."""
    if not tokens.types.has_word(_PARTS):
        return tokens
    cut = [_PARTS.get(text) for text in tokens.types.texts()]
    types = {kind: number for number, kind in enumerate(tokens.types)}
    counts = np.array([len(parts or ("",)) for parts in cut], np.int64)
    pieces: list[tuple[int, int, int]] = []  # type, first character, one past the last
    for number, parts in enumerate(cut):
        place = 0
        for part in parts or ():
            kind = part if tokens.tagged else TokenType(part.text, "", "")
            pieces.append((types.setdefault(kind, len(types)), place, place + len(part.text)))
            place += len(part.text)
        if parts is None:
            pieces.append((number, 0, 0))
    first_piece = np.cumsum(counts) - counts
    sizes = counts[tokens.type_ids]
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    whole = np.repeat(np.arange(len(sizes)), sizes)
    kinds = tokens.type_ids[whole]
    chosen = first_piece[kinds] + np.arange(len(whole)) - first[whole]
    type_ids, low, high = np.array(pieces, np.int32)[chosen].T
    starts = tokens.starts[whole]
    return replace(
        tokens,
        row_offsets=first[tokens.row_offsets].astype(np.int32),
        starts=starts + low,
        ends=np.where(counts[kinds] == 1, tokens.ends[whole], starts + high).astype(np.int32),
        type_ids=np.ascontiguousarray(type_ids),
        types=TokenTypes.of(types),
    )
