"""Taggers, which find words and their tags: the `Tagger` protocol, and taggers by name.

Some come with the package, some are models of spaCy, and users may write their own. spaCy is looked
for when one of its models is asked for, and loaded when that is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from sears_dsl.defaults import DEFAULT_TAGGER
from sears_dsl.errors import TaggerError, UsageError, check_text
from sears_dsl.tagging.fast.cutting import LANGUAGES
from sears_dsl.tagging.tokens import ListedTokens, Tokens

if TYPE_CHECKING:
    from sears_dsl.tagging.fast.fast_tagger import FastCut

# Taggers that are as fast as a look into a cache.
_QUICK = ("fast", "pinned")
# The taggers that a file may name; a spaCy package is named by its language and what it is.
_IN_FILES = re.compile(r"fast(:[a-z]{2,3})?|spacy|spacy:[a-z]{2,3}(_[a-z0-9]+)+")


@runtime_checkable
class Tagger(Protocol):
    """Finds the words of texts and tags them."""

    @property
    def name(self) -> str:
        """The tagger's name, such as ``spacy:en_core_web_sm``; part of the key of cached tags."""

    @property
    def version(self) -> str:
        """Changes whenever the output may; part of the key of cached tags."""

    @property
    def language(self) -> str:
        """The language of the texts that it tags, such as ``en``."""

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


# Without properties: isinstance of Python 3.11 reads all members of a protocol, and to read
# `version` the fast tagger loads its weights.
@runtime_checkable
class CuttingTagger(Protocol):
    """A tagger that cuts texts so fast that rows are better filtered by their tokens.

    Optional: with it, the raw text of many rows is not searched for a rule's words at all, and few
    rows are matched as lists, which are made faster than arrays.
    """

    def cut(self, texts: Sequence[str], *, again: bool = False) -> FastCut:
        """Texts that are cut, to be searched for words and tagged.

        With ``again``, most of them were cut just before, in this order, or will be soon.
        """

    def list_tokens(self, text: str) -> ListedTokens | None:
        """What `tokenize` gives for one text; None where `tokenize` has to be called."""

    def list_tagged(self, text: str) -> ListedTokens | None:
        """What `tag` gives for one text; None where `tag` has to be called."""


def identity_of(tagger: Tagger) -> str:
    """Name and version in one line, as manifests and reports state them."""
    return f"{tagger.name} {tagger.version}"


class TagStore(Protocol):
    """A store of tagged texts, such as a `TagCache`."""

    def in_front_of(self, tagger: Tagger) -> Tagger:
        """A tagger with the same output, which asks this one about texts that are not stored."""


# ---------------------------------------------------------------- taggers by name


def load_tagger(
    name: str = DEFAULT_TAGGER, *, jobs: int = 1, cache: TagStore | None = None
) -> Tagger:
    """The tagger of this name.

    Args:
        name: ``fast`` (the English tagger that comes with the package), ``fast:pt`` (the
            Portuguese one), ``spacy`` (the small English model), ``spacy:MODEL`` (a package or a
            folder), ``pinned`` (tags written in the text, for tests) or ``MODULE:FACTORY``: a
            function of your own, called without arguments, that gives a `Tagger`.
        jobs: processes that spaCy tags in; other taggers run in this one.
        cache: where tagged texts are kept; None keeps none, and fast and pinned tags need none.

    Raises:
        TaggerError: there is no such tagger, or it is not installed.
        UsageError: the name is not a string.

    Example:
        >>> load_tagger("pinned").split("stop!")
        ('stop', '!')
    """
    check_text(
        name,
        meant="the name of a tagger",
        help="name one: 'fast', 'spacy' or 'MODULE:FACTORY'; a tagger object is passed when rules "
        "are compiled, tagger=…",
    )
    tagger = _resolve(name, jobs)
    return tagger if cache is None or not needs_cache(name) else cache.in_front_of(tagger)


def as_tagger(tagger: object) -> Tagger:
    """The tagger itself, or the one of that name; an error if it is none or is not installed."""
    if isinstance(tagger, str):
        return load_tagger(tagger)
    # Python 3.11 reads `version` for isinstance, and the fast tagger loads its weights for that.
    if not all(hasattr(tagger, method) for method in ("tokenize", "tag", "split")):
        raise UsageError(
            f"an object of type {type(tagger).__name__} is not a tagger",
            help="name one: tagger='fast' or 'spacy'",
        )
    return cast(Tagger, tagger)


def in_language(name: str, languages: Iterable[str]) -> str:
    """The name of a tagger for rules in these languages: ``fast`` becomes the one for theirs.

    With several languages, or none, the name stays as it is.
    """
    distinct = set(languages)
    if name != DEFAULT_TAGGER or distinct in ({"en"}, set()) or len(distinct) > 1:
        return name
    [language] = distinct
    if language not in LANGUAGES:
        raise TaggerError(
            f"sears has no tagger for the language {language}, only for {' and '.join(LANGUAGES)}",
            help=f"name one with --tagger, such as spacy:{language}_core_news_sm if that "
            "package is installed; docs/languages.md shows how to make one",
        )
    return f"{name}:{language}"


def may_be_named(name: str) -> bool:
    """Whether a file, such as the manifest beside a rule file, may name this tagger.

    Files come from strangers, so they may name what is installed and nothing else: no function to
    import and no folder. Only the user may name such a tagger.

    Example:
        >>> may_be_named("fast"), may_be_named("spacy:en_core_web_sm")
        (True, True)
        >>> may_be_named("own:make"), may_be_named("spacy:./folder")
        (False, False)
    """
    return _IN_FILES.fullmatch(name) is not None


def load_named(name: str) -> Tagger:
    """The tagger of a name that a file gives; `load_tagger` is for names that a person gives."""
    if not may_be_named(name):
        raise TaggerError(
            f"{name} is not a tagger that a file may name",
            help=f"if it is yours, name it by hand: --tagger {name}",
        )
    source, _, package = name.partition(":")
    if source == "spacy" and package:
        from sears_dsl.tagging.spacy_tagger import check_installed  # noqa: PLC0415 - when asked for

        check_installed(package)
    return load_tagger(name)


def needs_cache(name: str) -> bool:
    """Whether tags of the tagger of this name are worth keeping."""
    return name.partition(":")[0] not in _QUICK


def _resolve(name: str, jobs: int) -> Tagger:
    if jobs < 1:
        raise TaggerError(f"jobs is {jobs}", help="it has to be 1 or more")
    source, _, rest = name.partition(":")
    if source == "spacy":
        from sears_dsl.tagging.spacy_tagger import SpacyTagger  # noqa: PLC0415 - when asked for

        return SpacyTagger(rest or None, jobs=jobs)
    if name == "fast" or (source == "fast" and rest in LANGUAGES.keys() - {"en"}):
        from sears_dsl.tagging.fast.fast_tagger import FastTagger  # noqa: PLC0415 - when asked for

        return FastTagger(language=rest or "en")
    if name == "pinned":
        from sears_dsl.tagging.pinned import PinnedTagger  # noqa: PLC0415 - when asked for

        return PinnedTagger()
    if source and rest and source not in _QUICK:
        return _users_tagger(name, source, rest)
    raise TaggerError(
        f"there is no tagger {name!r}",
        help="name fast, fast:pt, spacy, spacy:MODEL, pinned, or your own MODULE:FACTORY",
    )


def _users_tagger(name: str, module: str, factory: str) -> Tagger:
    """A user's own tagger, made by a function of an importable module."""
    try:
        make = getattr(import_module(module), factory)
    except (ImportError, AttributeError) as error:
        raise TaggerError(
            f"the tagger {name!r} could not be imported: {error}",
            help="the module has to be installed or on PYTHONPATH, and to have that function",
        ) from error
    try:
        tagger = make()
    except Exception as error:
        raise TaggerError(
            f"the tagger {name!r} could not be made: {type(error).__name__}: {error}",
            help="its function is called without arguments and has to return a tagger",
        ) from error
    if not isinstance(tagger, Tagger):
        raise TaggerError(
            f"{name!r} returned an object of type {type(tagger).__name__}, which is not a tagger",
            help="it needs name, version, language, tokenize, tag, split and sentences: "
            "see sears_dsl.tagging.tagger.Tagger",
        )
    return tagger
