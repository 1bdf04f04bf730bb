"""What finds words and their tags: the `Tagger` protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sears_dsl.tagging.tokens import ListedTokens, Tokens


@runtime_checkable
class Tagger(Protocol):
    """Finds the words of texts and tags them."""

    @property
    def name(self) -> str:
        """What it is, such as ``spacy:en_core_web_sm``; part of the key of cached tags."""

    @property
    def version(self) -> str:
        """Changes whenever the output may; part of the key of cached tags."""

    @property
    def language(self) -> str:
        """The language that it is for, such as ``en``."""

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        """The tokens of each text, without tags; the same tokens as `tag` finds."""

    def tag(self, texts: Sequence[str]) -> Tokens:
        """The tokens of each text with their coarse (UPOS) and fine (Penn) tags."""

    def split(self, words: str) -> tuple[str, ...]:
        """The tokens of a word of a rule: ``What's`` gives ``What`` and ``'s``."""

    def sentences(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """For each text its sentences, as (start, end) in characters.

        They are in order, disjoint, and leave out nothing but white space.
        """


# Optional, and of one method: to look whether a tagger has it must not read `version`, for which
# the fast tagger loads its weights (Python 3.11 does that).
@runtime_checkable
class FindingTagger(Protocol):
    """A tagger that cuts texts so quickly that rows are better told by their tokens.

    Optional: with it, the raw text is not searched for a rule's words at all.
    """

    def finder(
        self, is_of_kind: Callable[[str], bool]
    ) -> Callable[[Sequence[str]], NDArray[np.bool_]]:
        """What tells for each text whether it has a token of a kind; keep it for the next texts."""


@runtime_checkable
class RetaggingTagger(Protocol):
    """A tagger that is sooner done with texts of which it tagged the most just before.

    Optional: rules one after another change little of a text at a time.
    """

    def tag_again(self, texts: Sequence[str]) -> Tokens:
        """What `tag` gives."""


@runtime_checkable
class ListingTagger(Protocol):
    """A tagger that gives the tokens of a text as lists, which for one text are made sooner.

    Optional: arrays tell the same.
    """

    def list_tokens(self, text: str) -> ListedTokens | None:
        """What `tokenize` gives for one text; None where it has to be asked."""


def identity_of(tagger: Tagger) -> str:
    """Name and version in one line, as manifests and reports state them."""
    return f"{tagger.name} {tagger.version}"
