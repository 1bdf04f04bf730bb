"""Words that a paraphrase must have, or must not have.

Holds: an output is complete exactly where its text has every required phrase and no forbidden one,
as whole words, however it is cut into pieces. Costs: a look at the last few characters for each
piece; the pieces of required phrases are compared with the last few pieces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sears_dsl.errors import UsageError
from sears_dsl.translation.network import TranslationModel

# How SentencePiece writes the space before a word.
SPACE = "\u2581"


@dataclass(frozen=True, slots=True)
class Constraints:
    """What the paraphrases of one sentence must and must not say."""

    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    ignore_case: bool = True  # whether ``Film`` does for ``film``


def check_constraints(constraints: Constraints) -> None:
    """Refuse phrases without a word in them."""
    for name, phrases in (
        ("required", constraints.required),
        ("forbidden", constraints.forbidden),
    ):
        for phrase in phrases:
            if not phrase.strip():
                raise UsageError(
                    f"a {name} phrase is empty", help="leave it out, or write the words"
                )


class LexicalState(NamedTuple):
    """What an output has said so far, as far as constraints need it."""

    tail: str
    recent: tuple[int, ...]
    met: int


class _Required(NamedTuple):
    within: re.Pattern[str]
    closed: re.Pattern[str]
    variants: tuple[tuple[int, ...], ...]


class LexicalGuide:
    """The constraints of one sentence, over one model's pieces."""

    def __init__(
        self, constraints: Constraints, model: TranslationModel, names: Sequence[str]
    ) -> None:
        check_constraints(constraints)
        flags = re.IGNORECASE if constraints.ignore_case else 0
        self._texts = names
        forbidden = [_normal(phrase, model) for phrase in constraints.forbidden]
        required = [_normal(phrase, model) for phrase in constraints.required]
        self._within = re.compile(_any(forbidden, closed=False), flags) if forbidden else None
        self._closed = re.compile(_any(forbidden, closed=True), flags) if forbidden else None
        self._required = [
            _Required(
                re.compile(_any([phrase], closed=False), flags),
                re.compile(_any([phrase], closed=True), flags),
                _variants(phrase, model, constraints.ignore_case),
            )
            for phrase in required
        ]
        # One character more on the left, which tells whether a word begins there.
        self._window = 1 + max(map(len, [*forbidden, *required]), default=0)
        variants = [variant for phrase in self._required for variant in phrase.variants]
        self._pieces = max(map(len, variants), default=0)
        #: The pieces of required phrases.
        self.pieces = frozenset(piece for variant in variants for piece in variant)

    def start(self) -> LexicalState:
        """Nothing said."""
        return LexicalState("", (), 0)

    def extend(self, state: LexicalState, piece: int) -> LexicalState | None:
        """One piece more; None where a forbidden phrase is said and its last word is over."""
        text = state.tail + self._texts[piece].replace(SPACE, " ")
        if self._within is not None and self._within.search(text):
            return None
        met = state.met
        for number, phrase in enumerate(self._required):
            if not met >> number & 1 and phrase.within.search(text):
                met |= 1 << number
        recent = (*state.recent, piece)[-self._pieces :] if self._pieces else ()
        return LexicalState(text[-self._window :], recent, met)

    def complete(self, state: LexicalState) -> bool:
        """Whether an output that ends here says all that it must, and nothing that it must not."""
        if self._closed is not None and self._closed.search(state.tail):
            return False
        return all(self._has(state, number) for number in range(len(self._required)))

    def bank(self, state: LexicalState) -> int:
        """How many pieces of what is required are said."""
        total = 0
        for number, phrase in enumerate(self._required):
            lengths = [len(variant) for variant in phrase.variants]
            if self._has(state, number):
                total += min(lengths)
            else:
                progress = max(_progress(state.recent, variant) for variant in phrase.variants)
                total += min(progress, min(lengths) - 1)
        return total

    def extra_pieces(self, state: LexicalState) -> list[int]:
        """The pieces that go on with what is still to be said."""
        pieces = set()
        for number, phrase in enumerate(self._required):
            if not self._has(state, number):
                for variant in phrase.variants:
                    progress = _progress(state.recent, variant)
                    pieces.add(variant[progress] if progress < len(variant) else variant[0])
        return sorted(pieces)

    def _has(self, state: LexicalState, number: int) -> bool:
        """Whether a required phrase is said, if the output ended here."""
        if state.met >> number & 1:
            return True
        return self._required[number].closed.search(state.tail) is not None


def _normal(phrase: str, model: TranslationModel) -> str:
    """The phrase as the model writes it."""
    return model.text(model.target_pieces(phrase)).strip()


def _any(phrases: Sequence[str], *, closed: bool) -> str:
    """A pattern of the phrases as whole words.

    Where a text is not closed a word at its end may still grow, so that what comes after it must
    be seen.
    """
    parts = []
    for phrase in phrases:
        begin = r"(?<!\w)" if phrase[:1].isalnum() else ""
        end = (r"(?!\w)" if closed else r"(?=\W)") if phrase[-1:].isalnum() else ""
        parts.append(begin + re.escape(phrase) + end)
    return "|".join(parts)


def _variants(
    phrase: str, model: TranslationModel, ignore_case: bool
) -> tuple[tuple[int, ...], ...]:
    """The pieces of a phrase, in its casings where these are as good."""
    texts = [phrase]
    if ignore_case:
        texts += [phrase.lower(), phrase[:1].upper() + phrase[1:], phrase.upper()]
    return tuple(dict.fromkeys(tuple(model.target_pieces(text)[:-1]) for text in texts))


def _progress(recent: Sequence[int], variant: Sequence[int]) -> int:
    """How many of the variant's first pieces were the last ones said."""
    for count in range(min(len(recent), len(variant)), 0, -1):
        if tuple(recent[-count:]) == tuple(variant[:count]):
            return count
    return 0
