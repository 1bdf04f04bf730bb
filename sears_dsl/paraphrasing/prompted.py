"""Language models as parts: one rewords sentences, one gives a second opinion beside the judge.

Always holds: a second opinion is asked for only where the judge passes a pair, and can only reject
it, so that a model that says yes to everything leaves what the judge says; what a model will not
answer, or does not answer with a yes or a no, is rejected and counted.
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
from sears_dsl.meaning.scorers import Scorer, load_scorer, shipped
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.loading import language_model
from sears_dsl.models.predictor import Row

if TYPE_CHECKING:
    from sears_dsl.models.http.language_model import LanguageModel

PREFIX = "llm:"
"""What the name of a part begins with that is a language model."""

_REWORD = """\
Write ten rewordings of the sentence below. Each means exactly the same and changes as few words as
can be, one or two at best. Write one a line and nothing else.

$text"""
_COMPARE = """\
Text: $column.original
Rewrite: $column.rewrite

Would most readers say that the rewrite means the same as the text and is as good English? Answer
yes or no and nothing else."""
# Ten sentences of some length.
_ROOM_TO_REWORD = 1024

PAIRS_A_ROW = 45
"""Pairs of a text and its rewrite that a search judges for a searched row, as manifests of
benchmarks.discovery_quality count them."""

_YES, _NO = "yes", "no"
_MARK = re.compile(r"\s*(?:[-*•]|\d+[.)])\s+")
_QUOTES = {'"': '"', "“": "”", "'": "'"}
_JUDGE = "judge"


class PromptedPart:
    """A language model as a part: what it costs is told before and after."""

    # Told before each round of questions, larger than those before, what it will cost
    announce: Callable[[str], None] = staticmethod(lambda _: None)
    _what: str
    _otherwise: str  # what becomes of what it has no usable answer to

    def __init__(self, settings: str, model: LanguageModel) -> None:
        self._model = model
        self._predictor = CachedPredictor(
            model, on_error="skip", announce=lambda note: self.announce(f"{self._what}: {note}")
        )
        self.name = f"{PREFIX}{settings}"

    def rows_for(self, sentences: Sequence[str]) -> list[Row]:
        """What it will be asked at most about sentences that are searched, as far as is known."""
        raise NotImplementedError

    @property
    def remarks(self) -> list[str]:
        """What it cost, and how much it would not answer."""
        refused = self._predictor.refused
        remarks = list(self._model.remarks)
        if refused:
            without = f"{refused:,} without a usable answer: {self._otherwise}"
            remarks.append(f"{self._model.identity}: {without}")
        return remarks

    def forecast(self, sentences: Sequence[str]) -> str:
        """What a search over sentences will cost at most, in words."""
        return f"{self._what}: {self._model.forecast(self.rows_for(sentences))}"


class PromptedParaphraser(PromptedPart):
    """A language model that rewords sentences, by settings as `PromptSettings.read` takes them.

    ``$text`` of a prompt is the sentence, and of the answer each line is a paraphrase. UsageError:
    settings that cannot be, or that are for labels.
    """

    _what, _otherwise = "rewording", "not reworded"

    def __init__(self, settings: str) -> None:
        super().__init__(settings, language_model(settings, prompt=_REWORD, room=_ROOM_TO_REWORD))
        if self._model.labels:
            raise UsageError(
                f"{PREFIX}{settings} has labels, and paraphrases are sentences",
                help="give the paraphraser settings of its own, without prompt and labels",
            )
        self.identity = f"paraphrases by {self._model.identity}"

    def rows_for(self, sentences: Sequence[str]) -> list[Row]:
        """Each sentence once."""
        return [{"text": sentence} for sentence in dict.fromkeys(sentences)]

    def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
        """The paraphrases of each sentence, in the order of the answer; none of a refused one."""
        answers = self._predictor.predict([{"text": sentence} for sentence in sentences])
        return [
            [] if answer == REFUSED else _lines(answer, sentence)
            for sentence, answer in zip(sentences, answers, strict=True)
        ]


class SecondOpinion(PromptedPart):
    """The judge, and a language model that is asked about what it passes.

    S of a pair is that of the judge where both accept it, and 0 where the language model does not.
    A prompt of the settings has ``$column.original`` and ``$column.rewrite``, and its labels are
    ``yes`` and ``no``; ``tau`` is the judge's if None. UsageError: settings that cannot be, or that
    are for other labels.
    """

    _what, _otherwise = "second opinion", "rejected"

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
                help="give the second opinion settings of its own, without prompt and labels",
            )
        self._first = first
        self.tau = shipped(_JUDGE).tau if tau is None else tau

    def rows_for(self, sentences: Sequence[str]) -> list[Row]:
        """As many pairs as are judged for a sentence: of these only those that the judge passes."""
        pairs = [dict.fromkeys(("original", "rewrite"), sentence) for sentence in sentences]
        return [pair for pair in pairs for _ in range(PAIRS_A_ROW)]

    @property
    def identity(self) -> str:
        """What both are made of."""
        return f"{self._judge.identity}, then {self._model.identity}"

    @cached_property
    def _judge(self) -> Scorer:
        return self._first()

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """S of each pair; the model is asked where the judge's is at least τ."""
        scores = self._judge.scores(pairs)
        return np.where(self._agreed(pairs, scores >= self.tau), scores, 0.0)

    def at_least(self, pairs: Sequence[tuple[str, str]], tau: float) -> NDArray[np.bool_]:
        """Whether both accept each pair; the model is asked where the judge does."""
        passed = self._judge.at_least(pairs, tau)
        return passed & self._agreed(pairs, passed)

    def _agreed(
        self, pairs: Sequence[tuple[str, str]], passed: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """True but for pairs that passed and that the model does not say yes to."""
        places = np.flatnonzero(passed).tolist()
        rows = [dict(zip(("original", "rewrite"), pairs[place], strict=True)) for place in places]
        agreed = np.ones(len(pairs), np.bool_)
        agreed[places] = [answer == _YES for answer in self._predictor.predict(rows)]
        return agreed


def _lines(answer: str, sentence: str) -> list[str]:
    """The sentences of an answer, without what stands before them and around them."""
    sentences = []
    for line in answer.splitlines():
        text = _MARK.sub("", line, count=1).strip()
        if len(text) > 1 and _QUOTES.get(text[0]) == text[-1]:
            text = text[1:-1].strip()
        if text and text != sentence and not text.endswith(":"):
            sentences.append(text)
    return list(dict.fromkeys(sentences))
