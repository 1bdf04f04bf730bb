"""Paraphrasers and scorers of the user's own, in the place of the shipped ones.

    module:object    a function or an object, here or installed
    FILE             for paraphrasers: pairs (original, paraphrase) in csv, tsv, jsonl, parquet, …
    llm:SETTINGS     a language model: it rewords, or gives a second opinion beside the judge
    NAME             what an installed package offers: entry points of the groups
                     ``sears.paraphrasers`` and ``sears.scorers``

Python callers may also give a function, an object, or a mapping from sentences to paraphrases.

Only what a person names is imported. A part has to give one list of texts for each sentence, or one
number from 0 to 1 for each pair; anything else is an error that says who gave what. Parts run in
this process, in the order in which they are asked. They cost their import, and some microseconds a
text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from hashlib import blake2b
from importlib.metadata import EntryPoint, entry_points
from math import isnan
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from sears_dsl.data.batches import Batch
from sears_dsl.data.dataset import Dataset
from sears_dsl.defaults import INSTEAD_OF, NO_SCORER, SCORER_NAMES
from sears_dsl.errors import DataError, ModelError, UsageError, counted
from sears_dsl.meaning.judgements import pair_columns, pairs_of
from sears_dsl.meaning.scorers import Pair, Scorer, load_scorer, shipped_numbers
from sears_dsl.models.objects import (
    describe_error,
    foreign_code,
    function_of,
    is_object_name,
    load_object,
    object_name,
    python_values,
)
from sears_dsl.models.predictor import quoted
from sears_dsl.paraphrasing.memory import FoundParaphrase, ParaphraseSource
from sears_dsl.paraphrasing.prompted import PREFIX, PromptedParaphraser, SecondOpinion
from sears_dsl.runtime.files import is_file

PARAPHRASERS, SCORERS = "sears.paraphrasers", "sears.scorers"
"""The groups of entry points in which packages offer parts."""

AnyParaphraser: TypeAlias = (
    ParaphraseSource
    | Callable[[Sequence[str]], Iterable[Iterable[FoundParaphrase | str]]]
    | Mapping[str, Iterable[str]]
    | str
    | Path
)
"""What `as_paraphraser` takes."""

AnyScorer: TypeAlias = Scorer | Callable[[Sequence[Pair]], Iterable[float]] | str
"""What `as_scorer` takes."""

_Answer = TypeVar("_Answer")

_PACKAGE = __name__.partition(".")[0]
_SHOWN = 80
# How far beyond 0 and 1 rounding may take a number: a cosine of float32, say.
_ROUNDING = 1e-5
_LISTS = "paraphrases"
_SCORE = "score"
_FOR_EVERY_TEXT = (
    "it is called with a list and has to answer for each item; if it takes a single text, write "
    "lambda texts: [f(text) for text in texts]"
)


def offered_parts(group: str) -> list[EntryPoint]:
    """The entry points of a group that installed packages offer, by name; imports none.

    A name that stands for something else can never name a package's scorer, so it is left out.
    """
    taken = (*SCORER_NAMES, *INSTEAD_OF, NO_SCORER) if group == SCORERS else ()
    return [each for each in sorted(entry_points(group=group)) if each.name not in taken]


def _load_named(name: str, group: str, kind: str) -> tuple[Any, str]:
    """The object of ``module:object`` or of an entry point, and its identity."""
    if is_object_name(name):
        return load_object(name, kind=kind)
    entries = [each for each in offered_parts(group) if each.name == name]
    places = sorted({each.value for each in entries})
    if len(places) > 1:
        raise UsageError(
            f"several packages have a {kind} {name!r}: {', '.join(places)}",
            help=f"name the one you mean by its object: {places[0]}",
        )
    if not places:
        raise UsageError(f"there is no {kind} {name!r}", help=_available(group))
    entry = entries[-1]
    package = entry.dist and f"{entry.dist.name} {entry.dist.version}"
    try:
        value = entry.load()
    except (Exception, SystemExit) as error:
        raise ModelError(
            f"the {kind} {name!r} of {package or 'an installed package'} could not be loaded "
            f"({entry.value}): {describe_error(error)}",
            help=f"make `python -c 'import {entry.module}'` work, or name another one",
        ) from error
    version = getattr(value, "identity", None)
    known = [each for each in (package, version) if isinstance(each, str)]
    return value, f"{name} ({', '.join(known)})"


def _available(group: str) -> str:
    offered = dict.fromkeys(each.name for each in offered_parts(group))
    names = ", ".join([*(SCORER_NAMES if group == SCORERS else ()), *offered])
    if group == SCORERS:
        return f"the scorers are {names}; name your own as module:object"
    installed = f"; installed packages have {names}" if names else ""
    return f"name a file of pairs, or a function or an object as module:object{installed}"


def as_paraphraser(paraphraser: AnyParaphraser) -> ParaphraseSource:
    """A source of paraphrases, made from what the user gave.

    That may be a function of a list of sentences that returns the paraphrases of each, best first,
    as texts or objects with a ``text``; an object with such a method ``paraphrase``; a mapping from
    sentences to their paraphrases; ``module:object`` or the name of an entry point;
    ``llm:SETTINGS``; or a file, as `read_paraphrases` takes it. UsageError: it is none of these.

    Example:
        >>> def shorter(sentences):
        ...     return [[sentence.replace("It is", "It's")] for sentence in sentences]
        >>> as_paraphraser(shorter).paraphrase(["It is fun.", "A film."])
        [["It's fun."], []]
    """
    if isinstance(paraphraser, str) and paraphraser.startswith(PREFIX):
        return PromptedParaphraser(paraphraser.removeprefix(PREFIX))
    if isinstance(paraphraser, str | Path):
        if not is_object_name(str(paraphraser)) and is_file(paraphraser):
            return read_paraphrases(paraphraser)
        value, identity = _load_named(str(paraphraser), PARAPHRASERS, "paraphraser")
        return _paraphraser(value, name=str(paraphraser), identity=identity)
    return _paraphraser(paraphraser)


def _paraphraser(
    paraphraser: object, *, name: str | None = None, identity: str | None = None
) -> ParaphraseSource:
    if isinstance(paraphraser, Mapping):
        return GivenParaphrases(paraphraser, name=name or "the mapping")
    if identity is None and _is_shipped(paraphraser) and hasattr(paraphraser, "paraphrase"):
        return cast("ParaphraseSource", paraphraser)
    return OwnParaphraser(paraphraser, name=name, identity=identity)


class OwnParaphraser:
    """A user's function or object as a paraphraser; ModelError if an answer is not as asked for.

    It has the further methods of a `ParaphraseSource` that the object has; the others are None.
    """

    def __init__(
        self, paraphraser: object, *, name: str | None = None, identity: str | None = None
    ) -> None:
        takes = "a list of sentences and returns a list of paraphrases for each"
        self._function = function_of(
            paraphraser, "paraphrase", kind="paraphraser", takes=takes, name=name
        )
        self.name = name or object_name(paraphraser)
        self.identity = identity or _own_text(paraphraser, "identity") or self.name
        self.paraphrase_without = _further(paraphraser, "paraphrase_without", self._without)
        self.paraphrase_each = _further(paraphraser, "paraphrase_each", self._each)
        self.too_long = _further(paraphraser, "too_long", self._too_long)

    def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
        """The paraphrases of each sentence; the sentence itself and blank texts are left out."""
        return self._checked(self.name, sentences, self._answers(self._function, sentences))

    def _without(
        self, function: Callable[..., object], pairs: Sequence[tuple[str, tuple[str, ...]]]
    ) -> list[list[str]]:
        sentences = [sentence for sentence, _ in pairs]
        where = f"{self.name}: paraphrase_without"
        return self._checked(where, sentences, self._answers(function, pairs))

    def _each(
        self, function: Callable[..., Iterable[object]], groups: Iterable[Sequence[str]]
    ) -> Iterator[list[list[str]]]:
        where = f"{self.name}: paraphrase_each"
        unanswered: deque[list[str]] = deque()
        of_groups: list[Exception] = []

        def asked() -> Iterator[list[str]]:
            try:
                for group in groups:
                    unanswered.append(list(group))
                    yield list(group)
            except Exception as error:
                of_groups.append(error)
                raise

        questions = asked()
        try:
            with foreign_code(self.name, help=_FOR_EVERY_TEXT):
                for answers in function(questions):
                    if not unanswered:
                        raise _wrong(f"{where} gave an answer before it took a group of sentences")
                    yield self._checked(where, unanswered.popleft(), python_values(answers))
            next(questions, None)  # a group that it did not even take
        finally:
            if of_groups:  # raised by who asks, not by the object that was asked
                raise of_groups[0]
        if unanswered:
            raise _wrong(f"{where} gave no answer for {_sentences(unanswered[0])}")

    def _too_long(self, function: Callable[..., object], sentences: Sequence[str]) -> list[bool]:
        answers = self._answers(function, sentences)
        if not (
            isinstance(answers, Sequence)
            and len(answers) == len(sentences)
            and all(each in (False, True) for each in answers)
        ):
            raise ModelError(
                f"{self.name}: too_long returned {answers!r:.{_SHOWN}} for {_sentences(sentences)}",
                help="return a list with True or False for each sentence, in order",
            )
        return list(map(bool, answers))

    def _answers(self, function: Callable[..., object], questions: Sequence[object]) -> object:
        with foreign_code(self.name, help=_FOR_EVERY_TEXT):
            return python_values(function(list(questions)))

    def _checked(self, where: str, sentences: Sequence[str], answers: object) -> list[list[str]]:
        """The texts of the answers; ``where`` is who gave them."""
        if isinstance(answers, Mapping | str | bytes) or not isinstance(answers, Sequence):
            raise _wrong(f"{where} returned {_kind(answers)} for {_sentences(sentences)}")
        if len(answers) != len(sentences):
            raise _wrong(f"{where} returned {len(answers)} answers for {_sentences(sentences)}")
        return [
            list(dict.fromkeys(self._texts(where, sentence, answer)))
            for sentence, answer in zip(sentences, answers, strict=True)
        ]

    def _texts(self, where: str, sentence: str, answer: object) -> Iterable[str]:
        with foreign_code(self.name, help=_FOR_EVERY_TEXT):
            paraphrases = python_values(answer)
        if isinstance(paraphrases, Mapping | str | bytes) or not isinstance(paraphrases, Iterable):
            raise _wrong(f"{where} returned {_kind(paraphrases)} for {quoted(sentence)}")
        for each in paraphrases:
            text = each if isinstance(each, str) else getattr(each, "text", None)
            if not isinstance(text, str):
                raise _wrong(
                    f"{where} returned {_kind(each)} as a paraphrase of {quoted(sentence)}"
                )
            if text.strip() and text != sentence:
                yield text


def _further(
    part: object, method: str, adapt: Callable[..., _Answer]
) -> Callable[..., _Answer] | None:
    """What asks a method of an object through ``adapt``; None if the object lacks it."""
    own = getattr(part, method, None)
    return partial(adapt, own) if callable(own) else None


def _wrong(message: str) -> ModelError:
    return ModelError(
        message,
        help="return one list for each sentence, in order: its paraphrases as texts, or as objects "
        "with a `text`; an empty list if there are none",
    )


class GivenParaphrases(OwnParaphraser):
    """Paraphrases that were made before; their identity includes a hash of them."""

    def __init__(self, paraphrases: Mapping[str, Iterable[str]], *, name: str) -> None:
        # They are looked up several times, and an iterator can be read only once.
        with foreign_code(name, help="give a list of paraphrases for each sentence"):
            read: dict[str, Any] = {
                original: python_values(each) for original, each in paraphrases.items()
            }
        digest = blake2b(digest_size=6)
        for pair in read.items():
            digest.update(repr(pair).encode())
        super().__init__(
            lambda sentences: [read.get(each, ()) for each in sentences],
            name=name, identity=f"{name} ({digest.hexdigest()})",
        )  # fmt: skip


def identity_of_source(source: ParaphraseSource) -> str:
    """What identifies a source of paraphrases: its ``identity``, or else its name."""
    identity = getattr(source, "identity", None)
    return identity if isinstance(identity, str) else object_name(source)


def read_paraphrases(path: str | Path) -> GivenParaphrases:
    """Read paraphrases that somebody else made.

    The file has one pair a row, in the columns ``original`` and ``paraphrase`` (or its only two
    columns of texts), best first or ranked by a ``score``; or it has a column ``paraphrases`` that
    holds lists.
    """
    dataset = Dataset(str(path))
    pairs = _listed_pairs(dataset) if _LISTS in dataset.names else _plain_pairs(dataset)
    scored_by_original: dict[str, list[tuple[float, str]]] = {}
    for (original, paraphrase), score in pairs:
        scored_by_original.setdefault(original, []).append((-score, paraphrase))
    # Of equal scores, and without any, the first in the file comes first.
    return GivenParaphrases(
        {
            original: [text for _, text in sorted(of_one, key=lambda each: each[0])]
            for original, of_one in scored_by_original.items()
        },
        name=Path(path).name,
    )


def _plain_pairs(dataset: Dataset) -> Iterable[tuple[Pair, float]]:
    try:
        columns = pair_columns(dataset)
    except DataError as error:
        advice = "call them original and paraphrase; a column score ranks them"
        raise DataError(error.message, help=advice if dataset.first.rows else error.help) from None
    for batch in dataset.batches():
        pairs = pairs_of(batch, columns, where=dataset.path)
        scores = batch.columns.get(_SCORE, [0.0] * len(pairs))
        for index, (pair, score) in enumerate(zip(pairs, scores, strict=True)):
            yield pair, _rank(score, batch, index, dataset.path)


def _rank(score: Any, batch: Batch, index: int, path: str) -> float:
    try:
        number = float(score)
    except (TypeError, ValueError):
        number = float("nan")
    if isnan(number):
        raise DataError(
            f"{path}: row {batch.row_number(index)}: {_SCORE} is {score!r}, not a number",
            help="scores rank the paraphrases of a sentence; leave the column out if there are "
            "none",
        )
    return number


def _listed_pairs(dataset: Dataset) -> Iterable[tuple[Pair, float]]:
    others = [name for name in dataset.names if name != _LISTS]
    originals = [name for name in ("original", "text", "sentence") if name in others]
    if not originals and len(others) != 1:
        raise DataError(
            f"{dataset.path}: which column has the originals of {_LISTS}? the columns are "
            f"{', '.join(dataset.names)}",
            help="call it original",
        )
    name = (originals or others)[0]
    for batch in dataset.batches():
        for index, original in enumerate(batch.columns[name]):
            texts = python_values(batch.columns[_LISTS][index])
            if not isinstance(original, str) or not (
                isinstance(texts, list) and all(isinstance(each, str) for each in texts)
            ):
                raise DataError(
                    f"{dataset.path}: row {batch.row_number(index)} has no text as {name} with a "
                    f"list of texts as {_LISTS}",
                    help='write {"original": "A film.", "paraphrases": ["A movie."]}',
                )
            for text in texts:
                yield (original, text), 0.0


def as_scorer(scorer: AnyScorer, *, tau: float | None = None) -> Scorer:
    """A scorer of pairs, made from what the user gave.

    That may be a function of a list of pairs (original, rewrite) that returns a number from 0 to 1
    for each; an object with such a method ``scores``, which may also have ``tau``, ``name``,
    ``identity`` and ``at_least``; ``module:object`` or the name of an entry point; a name that
    `load_scorer` takes; or ``llm:SETTINGS``, a second opinion beside the judge. UsageError: it is
    none of these, or its ``tau`` is not a number from 0 to 1.

    Example:
        >>> mine = as_scorer(lambda pairs: [one.lower() == other.lower() for one, other in pairs])
        >>> mine.scores([("A film.", "a film."), ("A film.", "A play.")]).tolist()
        [1.0, 0.0]
    """
    if isinstance(scorer, str):
        if scorer.startswith(PREFIX):
            return SecondOpinion(scorer.removeprefix(PREFIX), tau=tau)
        if scorer in SCORER_NAMES:
            return load_scorer(scorer, tau=tau)
        if scorer in INSTEAD_OF:
            shipped_numbers(scorer)  # says which one to choose instead
        value, identity = _load_named(scorer, SCORERS, "scorer")
        return OwnScorer(value, name=scorer, identity=identity, tau=tau)
    if not _is_shipped(scorer):
        return OwnScorer(scorer, tau=tau)
    shipped = cast("Scorer", scorer)
    if tau is not None:  # as a copy: discovery asks some of them for more than a `Scorer` has
        shipped = copy(shipped)
        object.__setattr__(shipped, "tau", tau)  # some are frozen
    return shipped


def _is_shipped(part: object) -> bool:
    """Whether an object is of a class of this package."""
    return type(part).__module__.partition(".")[0] == _PACKAGE


class OwnScorer:
    """A user's function or object as a scorer; ModelError if an answer is not a score.

    ``decides_sooner`` says whether it has an `at_least` of its own, rather than one by `scores`.
    """

    def __init__(
        self,
        scorer: object,
        *,
        name: str | None = None,
        identity: str | None = None,
        tau: float | None = None,
    ) -> None:
        takes = "a list of pairs (original, rewrite) and returns a number from 0 to 1 for each"
        self._function = function_of(scorer, "scores", kind="scorer", takes=takes, name=name)
        self._decide = getattr(scorer, "at_least", None)
        self.decides_sooner = callable(self._decide)
        self.name = name or _own_text(scorer, "name") or object_name(scorer)
        self.identity = identity or _own_text(scorer, "identity") or self.name
        self._tau = self._threshold(getattr(scorer, "tau", None)) if tau is None else tau

    def _threshold(self, threshold: object) -> float | None:
        if threshold is None:
            return None
        number = _number(threshold)
        if number is None or not 0 <= number <= 1:
            raise UsageError(
                f"{self.name} has {threshold!r} as its tau",
                help="a threshold is a number from 0 to 1",
            )
        return number

    @property
    def tau(self) -> float:
        """Its threshold."""
        if self._tau is None:
            raise UsageError(
                f"{self.name} does not say from which score τ a rewrite is accepted",
                help="set --tau, or give the object an attribute `tau`",
            )
        return self._tau

    @tau.setter
    def tau(self, tau: float) -> None:
        self._tau = tau

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """S of each pair; ModelError as the class says."""
        answers = self._answers(self._function, pairs)
        numbers = np.array([_number(each, missing=np.nan) for each in answers], np.float64)
        wrong = ~((numbers >= -_ROUNDING) & (numbers <= 1 + _ROUNDING))
        if wrong.any():
            place = int(wrong.argmax())
            number = _number(answers[place])
            shown = _kind(answers[place]) if number is None else number
            raise _no_scores(f"{self.name} returned {shown} for {_pair(pairs[place])}")
        return np.clip(numbers, 0.0, 1.0)

    def at_least(self, pairs: Sequence[Pair], tau: float) -> NDArray[np.bool_]:
        """Whether S of each pair is at least τ."""
        decide = self._decide
        if not callable(decide):
            return self.scores(pairs) >= tau
        answers = self._answers(lambda some: decide(some, tau), pairs)
        for answer, pair in zip(answers, pairs, strict=True):
            if not isinstance(answer, bool | np.bool_):
                raise ModelError(
                    f"{self.name}: at_least returned {_kind(answer)} for {_pair(pair)}",
                    help="return True or False for each pair, in order",
                )
        return np.array(answers, np.bool_)

    def _answers(
        self, function: Callable[[Sequence[Pair]], object], pairs: Sequence[Pair]
    ) -> Sequence[Any]:
        if not pairs:
            return []
        with foreign_code(self.name, help=_FOR_EVERY_TEXT):
            answers = python_values(function(list(pairs)))
        subject = f"{counted(len(pairs), 'pair')}, the first {_pair(pairs[0])}"
        if isinstance(answers, Mapping | str | bytes) or not isinstance(answers, Sequence):
            raise _no_scores(f"{self.name} returned {_kind(answers)} for {subject}")
        if len(answers) != len(pairs):
            raise _no_scores(f"{self.name} returned {len(answers)} numbers for {subject}")
        return answers


def _no_scores(message: str) -> ModelError:
    return ModelError(
        message,
        help="return one number from 0 to 1 for each pair (original, rewrite), in order: 1 if they "
        "surely mean the same",
    )


def known_tau(scorer: Scorer) -> float | None:
    """The threshold of a scorer; a user's own may have none."""
    return scorer._tau if isinstance(scorer, OwnScorer) else scorer.tau


def _own_text(part: object, attribute: str) -> str | None:
    value = getattr(part, attribute, None)
    return value if isinstance(value, str) else None


def _number(value: object, *, missing: float | None = None) -> float | None:
    """A number of Python, NumPy or torch as a float; ``missing`` for anything else."""
    plain: Any = value
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) == ():
        plain = item()
    return float(plain) if isinstance(plain, int | float) else missing


def _kind(value: object) -> str:
    if value is None:
        return "nothing (None)"
    if isinstance(value, int | float):
        return f"{value!r}, a number,"
    if isinstance(value, str):
        return f"one text, {value[:_SHOWN]!r},"
    return f"an object of type {type(value).__name__}"


def _sentences(sentences: Sequence[str]) -> str:
    if len(sentences) == 1:
        return quoted(sentences[0])
    return f"{len(sentences)} sentences, the first {quoted(sentences[0])}"


def _pair(pair: Pair) -> str:
    return f"({quoted(pair[0])}, {quoted(pair[1])})"
