"""Paraphrases for the rules that write them: the best one of each text.

Nothing is random, and what a text becomes depends on that text alone. The models are loaded when
the first text is reworded. Each distinct text costs a search of translations, at some sentences a
second.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sears_dsl.batch.workers import RulesetRecipe
from sears_dsl.engine.compile.requirements import any_paraphrases
from sears_dsl.engine.matcher import Matcher, compile_rules
from sears_dsl.engine.noise.sources import NO_SOURCES, Sources, Vectors
from sears_dsl.engine.noise.vectors import load_vectors
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.runtime.interrupts import import_whole
from sears_dsl.tagging.tagger import Tagger

if TYPE_CHECKING:
    from sears_dsl.paraphrasing.memory import FoundParaphrase, ParaphraseSource

# A narrow beam, since only the best paraphrase is wanted.
_BEAM = 4


class BestParaphrases:
    """The best paraphrases of a source; implements `engine.noise.sources.Paraphrases`.

    Without a ``source`` the package's own translation models reword.
    """

    def __init__(self, source: ParaphraseSource | None = None) -> None:
        self._own_source = source

    @cached_property
    def _source(self) -> ParaphraseSource:
        if self._own_source is not None:
            return self._own_source
        import_whole("torch")
        from sears_dsl.paraphrasing.paraphraser import Paraphraser  # noqa: PLC0415 - brings it
        from sears_dsl.translation.pivots import load_pivots  # noqa: PLC0415

        # Not over the pieces near the texts of a call: a text's paraphrase is the same in any
        # company.
        return Paraphraser(load_pivots(), beam=_BEAM)

    @property
    def identity(self) -> str:
        """The name of the source, with its version."""
        from sears_dsl.paraphrasing.plugins import identity_of_source  # noqa: PLC0415 - as asked for

        return identity_of_source(self._source)

    def paraphrase(self, texts: Sequence[str]) -> list[str | None]:
        """Each text's best paraphrase that differs from it in a word; None if none does."""
        paraphrases = self._source.paraphrase(texts)
        return [
            next((each for each in among if lower_words(each) != lower_words(text)), None)
            for text, among in zip(texts, map(_texts, paraphrases), strict=True)
        ]


def sources_of(rulesets: Iterable[Ruleset], vectors: Vectors | None = None) -> Sources:
    """The vectors and paraphrases that a run of these rulesets needs; loads no model yet."""
    paraphrases = BestParaphrases() if any_paraphrases(rulesets) else None
    if vectors is None and paraphrases is None:
        return NO_SOURCES
    return Sources(vectors=vectors, paraphrases=paraphrases)


def compile_with_sources(
    rulesets: Sequence[Ruleset],
    *,
    tagger: Tagger | str | None = None,
    seed: int = 0,
    vectors: str | None = None,
) -> Matcher:
    """Compile rules that may write paraphrases or look up vectors; see `compile_rules`."""
    sources = sources_of(rulesets, None if vectors is None else load_vectors(vectors))
    return compile_rules(rulesets, tagger=tagger, sources=sources, seed=seed)


@dataclass(frozen=True, slots=True)
class RewordingRecipe(RulesetRecipe):
    """How to compile rulesets, also such that write paraphrases."""

    def sources(self) -> Sources:
        """The named vectors, and a paraphraser."""
        return sources_of(self.rulesets, RulesetRecipe.sources(self).vectors)


def _texts(paraphrases: Iterable[FoundParaphrase | str]) -> Iterable[str]:
    return (each if isinstance(each, str) else each.text for each in paraphrases)


def lower_words(text: str) -> list[str]:
    """The words of a text in lower case: a paraphrase has to differ from its text in one."""
    return re.findall(r"\w+", text.lower())
