"""How a process makes its matcher from rulesets: what worker processes are sent.

In: rulesets, and the names of a tagger and of a cache. Out: a matcher, and what tells it from
others. Always holds: everything here can be pickled; equal identities make matchers that do the
same. Costs nothing until `build`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from sears_dsl.defaults import DEFAULT_TAGGER
from sears_dsl.engine.noise.needs import noise_identity, sources_for
from sears_dsl.engine.noise.sources import NO_SOURCES, Sources
from sears_dsl.engine.noise.vectors import load_vectors
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.loading import load_tagger, needs_cache
from sears_dsl.tagging.tagger import identity_of

if TYPE_CHECKING:
    from sears_dsl.batch.plan import TextMatcher


@dataclass(frozen=True, slots=True)
class RulesetRecipe:
    """Rulesets to compile, with the tagger to compile them for.

    Attributes:
        rulesets: applied in this order.
        tagger: a name that `load_tagger` knows.
        cached: whether tagged texts are kept on disk, where that saves time.
        cache: the folder of the cache; None for the user's.
        seed: of what rules draw.
        vectors: a name or a file, for rules that look neighbours up; None: what they name.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> recipe = RulesetRecipe((parse("What NOUN -> Which NOUN"),), tagger="pinned")
        >>> sorted(recipe.identity())
        ['rules', 'tagger']

    Where rules draw, the seed and the table of look-alikes belong to the identity.
    """

    rulesets: tuple[Ruleset, ...]
    tagger: str = DEFAULT_TAGGER
    cached: bool = False
    cache: Path | None = None
    seed: int = 0
    vectors: str | None = None

    def build(self) -> TextMatcher:
        """Compile the rules."""
        from sears_dsl.engine.matcher import compile_rules  # noqa: PLC0415 - brings numba

        cache = None
        if self.cached and needs_cache(self.tagger):
            from sears_dsl.tagging.cache import TagCache  # noqa: PLC0415 - brings sqlite

            cache = TagCache(self.cache)
        tagger = load_tagger(self.tagger, cache=cache)
        return compile_rules(self.rulesets, tagger=tagger, sources=self.sources(), seed=self.seed)

    def sources(self) -> Sources:
        """The vectors that are named; rules may name others themselves."""
        if self.vectors is None:
            return NO_SOURCES
        return Sources(vectors=load_vectors(self.vectors))

    def identity(self) -> Mapping[str, str]:
        """A hash of all rules, sets and options, and the tagger with its version.

        Of rules that write noise also what decides it (see `noise_identity`).
        """
        named = {
            "rules": rules_digest(self.rulesets),
            "tagger": identity_of(load_tagger(self.tagger)),
        }
        scoped = [(rule, ruleset) for ruleset in self.rulesets for rule in ruleset.rules]
        sources, _ = sources_for(scoped, self.sources())
        return named | noise_identity(scoped, sources, seed=self.seed)


def rules_digest(rulesets: Sequence[Ruleset]) -> str:
    """A hash of all rules, sets and options, in hex.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> len(rules_digest([parse("movie -> film")]))
        32
    """
    digest = blake2b(digest_size=16)
    for ruleset in _with_imports(rulesets):
        digest.update(ruleset.format().encode() + b"\0")
    return digest.hexdigest()


def _with_imports(rulesets: Sequence[Ruleset]) -> Iterator[Ruleset]:
    """The rulesets and what they import, each before its imports and once."""
    visited: set[int] = set()
    waiting = list(reversed(rulesets))
    while waiting:
        ruleset = waiting.pop()
        if id(ruleset) not in visited:
            visited.add(id(ruleset))
            yield ruleset
            waiting.extend(each.ruleset for each in reversed(ruleset.imports))
