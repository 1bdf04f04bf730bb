"""Several models that answer together: by the majority of labels, word by word, or all alike.

Always holds: every model is asked about every row. The label with the most votes wins, and of
labels with as many votes the one whose model stands first. Of free answers, a word stays where more
than half of the models have it. Models that answer all alike have a row right where each of them
has by itself, so whatever makes one of them fail is a flip of them together; a row that one of them
refuses is refused.

Source: 'Evaluating Neural Machine Comprehension Model Robustness to Noisy Inputs and Adversarial
Attacks', section 3.2 and Table 3 (three models of which two are needed). The paper leaves open in
which order words stand and how often; here both are those of the first answer that has them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sears_dsl.answers import REFUSED, Comparison, counted_as, is_free_text, joint_answer
from sears_dsl.errors import ModelError
from sears_dsl.models.prediction_file import PredictionsNeeded
from sears_dsl.models.predictor import Predictor, Row

_LEAST_BATCH = 64


class VotingPredictor:
    """At least two models that answer together, in the order in which ties are broken.

    They vote on labels, or on the words of free answers where the comparison is such as ``squad``.
    With ``alike`` there is no vote: their answer is what each of them says, as `joint_answer`
    writes it.
    """

    def __init__(
        self,
        models: Sequence[Predictor],
        *,
        comparison: Comparison = "exact",
        alike: bool = False,
        names: Sequence[str] = (),
    ) -> None:
        self._models = tuple(models)
        self._alike = alike
        #: The names of models that answer all alike; empty for models that vote.
        self.models = (tuple(names) or tuple(model.identity for model in models)) if alike else ()
        self._comparison = comparison

    @property
    def batch_size(self) -> int | None:
        """As many rows as the model that wants most; None where one wants all at once.

        Models cut what they get into their own batches, and one with several connections needs many
        rows.
        """
        sizes = [getattr(model, "batch_size", _LEAST_BATCH) for model in self._models]
        return None if None in sizes else max(_LEAST_BATCH, *sizes)

    @property
    def remarks(self) -> list[str]:
        """The remarks of all models."""
        return [remark for model in self._models for remark in getattr(model, "remarks", ())]

    @property
    def identity(self) -> str:
        """The identities of the models, in order, and what they vote on."""
        names = ", ".join(model.identity for model in self._models)
        return f"{'every' if self._alike else 'vote'}:({names})" + (
            " on words" if is_free_text(self._comparison) else ""
        )

    def predict(self, rows: Sequence[Row]) -> list[str]:
        """What the models say together of each row; missing predictions are all named at once."""
        answers, needed = [], []
        for model in self._models:
            try:
                answers.append(model.predict(rows))
            except PredictionsNeeded as missing:
                needed.append(missing)
        if needed:
            raise ModelError(
                "\n".join(each.message for each in needed),
                help="\n".join(dict.fromkeys(each.help for each in needed)),
            )
        return [self._of_row(row_answers) for row_answers in zip(*answers, strict=True)]

    def _of_row(self, answers: Sequence[str]) -> str:
        """What the models say together; in a vote, one that refused the row does not count."""
        voting = [each for each in answers if each != REFUSED]
        if self._alike:
            return REFUSED if len(voting) < len(answers) else joint_answer(voting)
        return voted(voting, comparison=self._comparison) if voting else REFUSED


def voted(answers: Sequence[str], *, comparison: Comparison = "exact") -> str:
    """What at least one answer comes to in a vote: of words if they are free text, else whole."""
    if is_free_text(comparison):
        return common_words(answers)
    return most_frequent(answers, comparison=comparison)


def most_frequent(labels: Sequence[str], *, comparison: Comparison = "exact") -> str:
    """The label with the most votes; of several the one that comes first.

    Numbers that are compared as such count alike; the answer is as the first of them is written.
    """
    votes = [counted_as(label, comparison) for label in labels]
    return labels[votes.index(Counter(votes).most_common(1)[0][0])]


def common_words(answers: Sequence[str]) -> str:
    """The words that more than half of the answers have, which may be none.

    Words stand between white space and are compared in lower case. A word stays as often as more
    than half of the answers have it; order and spelling are those of the first answer that has it.
    """
    spelled = [answer.split() for answer in answers]
    counts = [Counter(word.lower() for word in words) for words in spelled]
    left = {
        word: sorted((each[word] for each in counts), reverse=True)[len(answers) // 2]
        for each in counts
        for word in each
    }
    common: list[str] = []
    written: Counter[str] = Counter()
    for words in spelled:
        # What earlier answers had is written already; this one may only have it more often.
        word_counts: Counter[str] = Counter()
        before = Counter(written)
        for word in words:
            key = word.lower()
            word_counts[key] += 1
            if word_counts[key] > before[key] and written[key] < left[key]:
                common.append(word)
                written[key] += 1
    return " ".join(common)
