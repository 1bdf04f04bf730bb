"""What words and sentences become by looking them up: neighbours in vectors, and paraphrases.

In: a table of vectors, a paraphraser, or neither. Out: for a word or a text, the one that takes its
place. Always holds: each is looked up once and remembered; a word is looked up as it is written,
then in lower case; nothing is drawn. Costs what the sources cost, and later a dictionary look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from sears_dsl.tagging.inflection import keep_casing


class Vectors(Protocol):
    """Words with vectors."""

    @property
    def identity(self) -> str:
        """What tells these vectors from others, in one line."""

    def nearest(self, words: Sequence[str]) -> Sequence[str | None]:
        """For each word the word of the nearest vector by cosine, None where it has no vector.

        A word is never its own neighbour, in any casing; of equals the first of the table is taken.
        """


class Paraphrases(Protocol):
    """Something that says the same in other words."""

    @property
    def identity(self) -> str:
        """What tells its paraphrases from those of others, in one line."""

    def paraphrase(self, texts: Sequence[str]) -> Sequence[str | None]:
        """For each text the best paraphrase that differs in a word; None if there is none."""


class _Remembered:
    """A function that looks queries up, with its answers so far."""

    def __init__(self, look_up: Callable[[Sequence[str]], Sequence[str | None]] | None) -> None:
        self._look_up = look_up
        self._known: dict[str, str | None] = {}

    def learn(self, queries: Iterable[str]) -> None:
        new = [each for each in dict.fromkeys(queries) if each not in self._known]
        if new and self._look_up is not None:
            self._known.update(zip(new, self._look_up(new), strict=True))

    def get(self, query: str) -> str | None:
        self.learn([query])
        return self._known.get(query)


class Sources:
    """The vectors and the paraphraser of a run.

    Args:
        vectors: for ``.neighbor``; None where no rule has one.
        paraphrases: for ``.paraphrase``; likewise.

    Example:
        >>> class Films:
        ...     identity = "films 1"
        ...     def nearest(self, words):
        ...         return ["film" if word == "movie" else None for word in words]
        >>> sources = Sources(vectors=Films())
        >>> sources.neighbor("Movie"), sources.neighbor("tree")
        ('Film', None)
    """

    def __init__(
        self, *, vectors: Vectors | None = None, paraphrases: Paraphrases | None = None
    ) -> None:
        self.vectors = vectors
        self.paraphrases = paraphrases
        self._words = _Remembered(vectors.nearest if vectors is not None else None)
        self._texts = _Remembered(paraphrases.paraphrase if paraphrases is not None else None)

    def learn_words(self, words: Iterable[str]) -> None:
        """Look many words up at once, which costs far less than one by one."""
        distinct = list(dict.fromkeys(words))
        self._words.learn(distinct)
        self._words.learn(word.lower() for word in distinct if self._words.get(word) is None)

    def learn_texts(self, texts: Iterable[str]) -> None:
        """Paraphrase many texts at once."""
        self._texts.learn(texts)

    def neighbor(self, word: str) -> str | None:
        """The nearest word, in the casing of this one."""
        nearest = self._words.get(word)
        if nearest is None and word != word.lower():
            nearest = self._words.get(word.lower())
        return None if nearest is None else keep_casing(nearest, word)

    def paraphrase(self, text: str) -> str | None:
        """The best paraphrase."""
        return self._texts.get(text)


NO_SOURCES = Sources()
"""Of runs whose rules look nothing up."""
