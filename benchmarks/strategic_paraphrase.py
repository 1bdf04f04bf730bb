"""Strategic paraphrase against a reader: sentences are reworded without the words it relies on.

After 'Evaluating Neural Machine Comprehension Model Robustness to Noisy Inputs and Adversarial
Attacks', section 4.2: each word of a context is left out by itself. The five without which the
reader is least sure of a right answer (or surest of a wrong one) are forbidden, and all sentences
that hold no answer are paraphrased. The paper prints F1 89.96 before and 84.55 after, on 1,000
questions, and no figure for plain paraphrase of the same rows. Here that is measured too, and also
paraphrase that forbids five other words of the same sentences, drawn at random.

    python -m benchmarks.strategic_paraphrase           # --questions N (one a paragraph)
    python -m benchmarks.strategic_paraphrase --leave-out --questions 1000

The second command shows the most that avoiding words could do, without rewording: the five words
are left out of the other sentences, then five others, then the five wherever no answer is.

Method and bias: the span ranker of `small_reader`, trained on clean paragraphs, instead of BERT;
one small translation model instead of ParaBank, beam 4. Its paraphrase of each sentence is taken
without a threshold, or the original if there is none. Intervals: a paired bootstrap over questions.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.answer_scores import Floats, cell, exact_matches, f1_scores
from benchmarks.noisy_squad import TEST, TRAIN, Asked, Paraphrases, paragraphs_of, questions_of
from benchmarks.record import Row, write_record
from benchmarks.small_reader import SmallReader, answer_f1, train
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.data.protection import Guard, Guards, Protection
from sears_dsl.discovery.adversaries import RewordedRow, StrategicSettings, reword
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.predictor import Answer
from sears_dsl.runtime.database import RunJournal
from sears_dsl.tagging.tagger import load_tagger

PRINTED = "89.96 → 84.55 (BERT, ParaBank's rewriter, 1,000 questions)"
AVOIDED = 5


class SureReader:
    """The span ranker, as a model that gives its confidence."""

    identity = "span ranker"

    def __init__(self, reader: SmallReader) -> None:
        self._reader = reader

    def predict(self, rows: Sequence[Mapping[str, str]]) -> list[str]:
        """The ranker's answers."""
        return self._reader.predict(rows)

    def predict_with_confidence(self, rows: Sequence[Mapping[str, str]]) -> list[Answer]:
        """The ranker's answers with the normalized entropy of where they begin and end."""
        return [Answer(one.answer, one.exact) for one in self._reader.predict_surely(rows)]


class Anything:
    """A score that accepts every paraphrase, since the paper has no threshold."""

    name, identity, tau = "none", "none", 0.0

    def scores(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """1 for each pair."""
        return np.ones(len(pairs))

    def at_least(self, pairs: Sequence[tuple[str, str]], tau: float) -> NDArray[np.bool_]:
        """True for each pair."""
        return self.scores(pairs) >= tau


class OfThisSentence:
    """Paraphrases without those forbidden words that the sentence has; it cannot avoid others.

    Attributes:
        asked: for each sentence the forbidden words, whether it has them or not.
    """

    identity = "of this sentence"

    def __init__(self, source: Paraphrases | LeftOut) -> None:
        self._source = source
        self.asked: dict[str, tuple[str, ...]] = {}

    def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
        """Paraphrase as the source does."""
        return self._source.paraphrase(sentences)

    def paraphrase_without(
        self, sentences: Sequence[tuple[str, tuple[str, ...]]]
    ) -> list[list[str]]:
        """Paraphrases without the words that stand in each sentence."""
        self.asked.update(sentences)
        return self._source.paraphrase_without(
            [(sentence, tuple(sorted(set(words) & _words_in(sentence))))
             for sentence, words in sentences]
        )  # fmt: skip


class OtherWords:
    """Paraphrases without as many random words of each sentence, instead of the chosen ones.

    Args:
        source: gives the paraphrases.
        instead_of: for each sentence the chosen words.
    """

    identity = "other words"

    def __init__(
        self, source: Paraphrases | LeftOut, instead_of: Mapping[str, Sequence[str]]
    ) -> None:
        self._source, self._instead_of = source, instead_of

    def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
        """Paraphrases of the source, for sentences in which no words were chosen."""
        return self._source.paraphrase_without([(each, self._drawn(each)) for each in sentences])

    def _drawn(self, sentence: str) -> tuple[str, ...]:
        there = _words_in(sentence)
        inside = there.intersection(self._instead_of.get(sentence, ()))
        other = sorted(there - inside) or sorted(there)
        drawn = random.Random(sentence).sample(other, min(len(inside), len(other)))
        return tuple(sorted(drawn))


def _words_in(sentence: str) -> set[str]:
    return {word.lower() for word in re.findall(r"\w+", sentence)}


class LeftOut:
    """Sentences without the words, not reworded: the most that a paraphrase could do."""

    identity = "left out"

    def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
        """Each sentence as it is."""
        return [[sentence] for sentence in sentences]

    def paraphrase_without(
        self, sentences: Sequence[tuple[str, tuple[str, ...]]]
    ) -> list[list[str]]:
        """Each sentence without the words."""
        return [[without(sentence, words)] for sentence, words in sentences]


def without(text: str, words: Sequence[str], spans: Sequence[tuple[int, int]] = ()) -> str:
    """A text without some words, except where they are in the spans.

    Example:
        >>> without("The cat and the dog.", ["the", "dog"], [(16, 19)])
        'cat and dog.'
    """
    pieces, last = [], 0
    for match in re.finditer(r"\w+ ?", text):
        inside = any(match.start() < end and start < match.end() for start, end in spans)
        if match.group().rstrip().lower() in words and not inside:
            pieces.append(text[last : match.start()])
            last = match.end()
    return "".join([*pieces, text[last:]])


def main() -> None:
    """Answer, reword plainly, reword strategically, answer again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=100, help="one of each paragraph")
    parser.add_argument("--train", type=int, default=2000, help="paragraphs for training")
    parser.add_argument("--control", action="store_true", help="also avoid random words")
    parser.add_argument("--leave-out", action="store_true", help="leave words out, reword nothing")
    chosen = parser.parse_args()
    learned = [row for rows in paragraphs_of(TRAIN, chosen.train) for row in rows]
    predictor = CachedPredictor(SureReader(train(questions_of(learned))), batch_size=4096)
    asked = [random.Random(rows[0].question.context).choice(rows)
             for rows in paragraphs_of(TEST, chosen.questions) if rows]  # fmt: skip
    data = _labelled(asked)
    if chosen.leave_out:
        row = Row("words left out, span ranker", _left_out(asked, data, predictor))
        write_record("strategic_paraphrase-left_out", [row])
        return
    source = Paraphrases()
    answers = predictor.predict(data.rows)
    before = f1_scores(asked, answers)
    figures: dict[str, float | int | str] = {
        "questions": len(asked),
        "paragraphs of training": chosen.train,
        "exact match before": cell(exact_matches(asked, answers), asked),
        "F1 before": cell(before, asked),
    }
    after: dict[str, Floats] = {}
    chosen_words = OfThisSentence(source)
    ways: list[tuple[str, int, Any]] = [("plain", 0, source), ("strategic", AVOIDED, chosen_words)]
    if chosen.control:
        ways.append(("other words", 0, OtherWords(source, chosen_words.asked)))
    for name, avoid, paraphraser in ways:
        reworded = _reworded(data, predictor, paraphraser, avoid=avoid)
        after[name] = before.copy()
        for each in reworded:
            after[name][each.place] = answer_f1(each.after, asked[each.place].question.answers)
        gained = sum(each.right_after and not each.right_before for each in reworded)
        lost = sum(each.flips for each in reworded)
        figures |= {
            f"F1 {name}": cell(after[name], asked),
            f"{name} − before": cell(after[name] - before, asked, signed=True),
            f"{name}: contexts changed": len(reworded),
            f"{name}: right to wrong, wrong to right": f"{lost}, {gained}",
        }
        if avoid and name == "strategic":
            figures["avoided words that stand in the question"] = _in_questions(reworded, asked)
        print(name, figures, flush=True)
    for name, values in after.items():
        if name != "plain":
            figures[f"{name} − plain"] = cell(values - after["plain"], asked, signed=True)
    figures["printed, F1"] = PRINTED
    write_record("strategic_paraphrase", [Row("strategic paraphrase, span ranker", figures)])


def _reworded(
    data: LabelledRows, predictor: CachedPredictor, paraphraser: Any, *, avoid: int
) -> list[RewordedRow]:
    with RunJournal(None, task="strategic") as journal:
        return reword(
            data, predictor, paraphraser=paraphraser, scorer=Anything(), tagger=load_tagger(),
            journal=journal,
            settings=StrategicSettings(avoid=avoid, comparison="squad", wrong_rows=True),
        )  # fmt: skip


def _left_out(
    asked: Sequence[Asked], data: LabelledRows, predictor: CachedPredictor
) -> dict[str, float | int | str]:
    """F1 without sentences, without words of them, and without these words anywhere."""
    before = f1_scores(asked, predictor.predict(data.rows))
    figures: dict[str, float | int | str] = {
        "questions": len(asked), "F1 before": cell(before, asked)
    }  # fmt: skip

    def tell(name: str, texts: Mapping[int, str]) -> None:
        places = list(texts)
        answers = predictor.predict(data.rewritten(places, [texts[place] for place in places]))
        after = before.copy()
        after[places] = f1_scores([asked[place] for place in places], answers)
        figures[f"F1, {name}"] = cell(after, asked)
        figures[f"{name} − before"] = cell(after - before, asked, signed=True)
        figures[f"{name}: contexts changed"] = len(places)

    chosen_words = OfThisSentence(LeftOut())
    reworded = _reworded(data, predictor, chosen_words, avoid=AVOIDED)
    words = {each.place: [word.word.lower() for word in each.words] for each in reworded}
    tell("the five words left out of other sentences", {each.place: each.text for each in reworded})
    other = _reworded(data, predictor, OtherWords(LeftOut(), chosen_words.asked), avoid=0)
    tell("five other words left out of other sentences", {each.place: each.text for each in other})
    tell(
        "the five words left out wherever no answer stands",
        {place: without(data.texts[place], of_row, asked[place].spans)
         for place, of_row in words.items()},
    )  # fmt: skip
    return figures


def _labelled(asked: Sequence[Asked]) -> LabelledRows:
    rows = tuple({"question": row.question.question, "context": row.question.context}
                 for row in asked)  # fmt: skip
    guards = Guards(
        Protection(("answers",)),
        "context",
        [Guard(row.question.context, row.spans) for row in asked],
        [{"answers": list(row.answers)} for row in asked],
    )
    return LabelledRows(
        rows, "context", tuple(row.question.answers for row in asked), TEST, guards=guards
    )


def _in_questions(reworded: Sequence[RewordedRow], asked: Sequence[Asked]) -> str:
    words = [(word.word.lower(), asked[each.place].question.question.lower())
             for each in reworded for word in each.words]  # fmt: skip
    inside = sum(word in re.findall(r"\w+", question) for word, question in words)
    return f"{inside} of {len(words)}"


if __name__ == "__main__":
    main()
