"""Language models as parts: one rewords sentences, one gives a second opinion beside the judge.

The second opinion is asked only about pairs that the judge accepts, and it can only reject: a model
that says yes to everything changes nothing. What the model refuses to answer, or answers neither
with a yes nor with a no, is rejected and counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sears_dsl.answers import REFUSED
from sears_dsl.errors import UsageError
from sears_dsl.meaning.scorers import Scorer, load_scorer, shipped_numbers
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.loading import language_model
from sears_dsl.models.predictor import Row

if TYPE_CHECKING:
    from sears_dsl.models.http.language_model import LanguageModel

PREFIX = "llm:"
"""The prefix of a part's name that says that the part is a language model."""

_REWORD = """\
Write ten rewordings of the sentence below. Each means exactly the same and changes as few words as
can be, one or two at best. Write one a line and nothing else.

$text"""
_COMPARE = """\
Text: $column.original
Rewrite: $column.rewrite

Would most readers say that the rewrite means the same as the text and is as good English? Answer
yes or no and nothing else."""
# Tokens of an answer: enough for ten long sentences.
_ROOM_TO_REWORD = 1024

PAIRS_A_ROW = 45
"""Pairs of a text and its rewrite that a search judges for each searched row, as counted in the
manifests of benchmarks.discovery_quality."""

_YES, _NO = "yes", "no"
_MARK = re.compile(r"\s*(?:[-*•]|\d+[.)])\s+")
_QUOTES = {'"': '"', "“": "”", "'": "'"}
# A mark that can open a quotation: no apostrophe, and no inch mark behind a number.
_OPENING = re.compile(r"""(?<!\w)["“'](?=\S)""")
_JUDGE = "judge"


class PromptedPart:
    """A language model as a part, which reports its cost before and after the work."""

    # Called with the expected cost before each round of questions that is larger than all before
    announce: Callable[[str], None] = staticmethod(lambda _: None)
    _task: str
    _fallback: str  # what happens to a question without a usable answer

    def __init__(self, settings: str, model: LanguageModel) -> None:
        self._model = model
        self._predictor = CachedPredictor(
            model, on_error="skip", announce=lambda note: self.announce(f"{self._task}: {note}")
        )
        self.name = f"{PREFIX}{settings}"

    def rows_for(self, sentences: Sequence[str]) -> list[Row]:
        """The rows that it will be asked about at most when these sentences are searched."""
        raise NotImplementedError

    @property
    def remarks(self) -> list[str]:
        """What it has cost, and how many questions got no usable answer."""
        refused = self._predictor.refused
        remarks = list(self._model.remarks)
        if refused:
            without = f"{refused:,} without a usable answer: {self._fallback}"
            remarks.append(f"{self._model.identity}: {without}")
        return remarks

    def forecast(self, sentences: Sequence[str]) -> str:
        """The most that a search over these sentences will cost, in words."""
        return f"{self._task}: {self._model.forecast(self.rows_for(sentences))}"


class PromptedParaphraser(PromptedPart):
    """A language model that rewords sentences; `PromptSettings.read` takes its settings.

    ``$text`` in a prompt stands for the sentence, and each line of the answer is a paraphrase.
    UsageError: the settings are invalid, or have labels.
    """

    _task, _fallback = "rewording", "not reworded"

    def __init__(self, settings: str) -> None:
        super().__init__(settings, language_model(settings, prompt=_REWORD, room=_ROOM_TO_REWORD))
        if self._model.labels:
            raise UsageError(
                f"{PREFIX}{settings} has labels, but paraphrases are sentences",
                help="use other settings for the paraphraser, without prompt and labels",
            )
        self.identity = f"paraphrases by {self._model.identity}"

    def rows_for(self, sentences: Sequence[str]) -> list[Row]:
        """Each sentence once."""
        return [{"text": sentence} for sentence in dict.fromkeys(sentences)]

    def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
        """Each sentence's paraphrases, in the order of the answer; none if the model refuses."""
        answers = self._predictor.predict([{"text": sentence} for sentence in sentences])
        return [
            [] if answer == REFUSED else _lines(answer, sentence)
            for sentence, answer in zip(sentences, answers, strict=True)
        ]


class SecondOpinion(PromptedPart):
    """The judge, and a language model that is asked about the pairs that the judge accepts.

    S of a pair is the judge's where both accept it, and 0 where only the language model rejects it.
    A prompt in the settings uses ``$column.original`` and ``$column.rewrite``, and its labels are
    ``yes`` and ``no``; ``tau`` defaults to the judge's. UsageError: the settings are invalid, or
    have other labels.
    """

    _task, _fallback = "second opinion", "rejected"

    def __init__(
        self,
        settings: str,
        *,
        tau: float | None = None,
        first: Callable[[], Scorer] = lambda: load_scorer(_JUDGE),
    ) -> None:
        super().__init__(
            settings, language_model(settings, prompt=_COMPARE, labels={_YES: _YES, _NO: _NO})
        )
        if set(self._model.labels) != {_YES, _NO}:
            raise UsageError(
                f"{PREFIX}{settings} has other labels than yes and no",
                help="use other settings for the second opinion, without prompt and labels",
            )
        self._first = first
        self.tau = shipped_numbers(_JUDGE).tau if tau is None else tau

    def rows_for(self, sentences: Sequence[str]) -> list[Row]:
        """As many pairs as a search judges; only those that the judge accepts are asked about."""
        pairs = [dict.fromkeys(("original", "rewrite"), sentence) for sentence in sentences]
        return [pair for pair in pairs for _ in range(PAIRS_A_ROW)]

    @property
    def identity(self) -> str:
        """The identities of both."""
        return f"{self._judge.identity}, then {self._model.identity}"

    @cached_property
    def _judge(self) -> Scorer:
        return self._first()

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """S of each pair; the model is asked where the judge's S is at least τ."""
        scores = self._judge.scores(pairs)
        return np.where(self._agreed(pairs, scores >= self.tau), scores, 0.0)

    def at_least(self, pairs: Sequence[tuple[str, str]], tau: float) -> NDArray[np.bool_]:
        """Whether both accept each pair; the model is asked where the judge does."""
        passed = self._judge.at_least(pairs, tau)
        return passed & self._agreed(pairs, passed)

    def _agreed(
        self, pairs: Sequence[tuple[str, str]], passed: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """False for pairs that passed and to which the model does not say yes; else True."""
        places = np.flatnonzero(passed).tolist()
        rows = [dict(zip(("original", "rewrite"), pairs[place], strict=True)) for place in places]
        agreed = np.ones(len(pairs), np.bool_)
        agreed[places] = [answer == _YES for answer in self._predictor.predict(rows)]
        return agreed


def _lines(answer: str, sentence: str) -> list[str]:
    """The sentences of an answer, without list marks before them, quotes around them and headings.

    A mark that the sentence itself begins with stays where all lines have it: else it is one of the
    list. Quotes stay if the sentence has them, and so does a final colon, but for a line without a
    mark before others with one.
    """
    own_mark = _mark_of(sentence)
    lines = [line.strip() for line in answer.splitlines()]
    lines = [
        line for place, line in enumerate(lines)
        if line and not (line.endswith(":") and _is_heading(line, lines[place + 1 :], sentence))
    ]  # fmt: skip
    all_have_it = own_mark and all(_mark_of(line) == own_mark for line in lines)
    sentences = []
    for line in lines:
        text = _MARK.sub("", line, count=1).strip()
        if all_have_it and _mark_of(text) != own_mark:
            text = line
        if _is_quoted(text) and not _is_quoted(sentence):
            text = text[1:-1].strip()
        if text and text != sentence:
            sentences.append(text)
    return list(dict.fromkeys(sentences))


def _mark_of(line: str) -> str:
    """The mark of a list that a line begins with, or an empty text."""
    mark = _MARK.match(line)
    return mark[0].strip() if mark else ""


def _is_heading(line: str, below: Sequence[str], sentence: str) -> bool:
    """Whether a line that ends in a colon is no rewording of the sentence."""
    return not sentence.endswith(":") or (not _mark_of(line) and any(map(_mark_of, below)))


def _is_quoted(text: str) -> bool:
    """Whether a text is one quotation, in which no mark of the kind opens another."""
    return (
        len(text) > 1
        and _QUOTES.get(text[0]) == text[-1]
        and text[0] not in _OPENING.findall(text[1:-1])
    )
