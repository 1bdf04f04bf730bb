"""A small, honest model of reading comprehension: a linear ranker of spans over surface features.

In: SQuAD paragraphs, questions and answers. Out: a model with ``predict`` over rows with the
columns ``question`` and ``context``. It knows no syntax and no vectors. It knows which words of the
question stand in a sentence and how near to the span, how the question begins (its question word,
alone and with the next word), and how the span's tokens look. Always holds: the answer is a span of
the context; the same questions give the same model. 56,000 questions take some minutes to learn.

Run as a program it trains on the training articles and prints exact match and F1 on dev.
"""

from __future__ import annotations

import json
import math
import re
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.record import data_file, read_options
from benchmarks.span_ranker import LONGEST, TABLE, best_span, learn, marginals
from sears_dsl.answers import answers_equal, normalized_answer
from sears_dsl.models.certainty import from_distributions, from_top

__all__ = [
    "TOKENS",
    "Question",
    "SmallReader",
    "SpanReader",
    "Sure",
    "evaluate",
    "read_squad",
    "stem_number",
    "train",
]

TOKENS = re.compile(r"\d+(?:[.,:]\d+)*|\w+|[^\w\s]")
_SENTENCE_END = frozenset(".!?")
_ASKING = ("what", "which", "who", "whom", "whose", "when", "where", "why", "how")
_STOP_WORDS = frozenset(
    TOKENS.findall(
        "a an the of in on at to for from by with as and or but not no is are was were be been "
        "being am do does did done has have had can could will would shall should may might must "
        "this that these those it its he she they them his her their i you we us our your there "
        "here than then so if into about between after before during over under s t what which who "
        "whom whose when where why how much many most more some any all also other such "
    )
)
_PASSES = 2
_RATE = 0.1


@dataclass(frozen=True, slots=True)
class Question:
    """A question of SQuAD with the answers that count as right."""

    question: str
    context: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sure:
    """An answer, and the reader's confidence from 0 to 1.

    Attributes:
        answer: the answer.
        exact: by the distributions over the tokens of the context; None if there are none.
        flat: by the answer's own first and last token, with the rest spread evenly.
    """

    answer: str
    exact: float | None
    flat: float | None


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """A text as arrays for the kernels, and the places of its tokens."""

    arrays: tuple[Any, ...]
    spans: tuple[tuple[int, int], ...]


class SmallReader:
    """A trained model, or one to be trained.

    Args:
        documents: how many of ``paragraphs`` contain each word.
        paragraphs: how many paragraphs there are.
    """

    def __init__(self, documents: Mapping[int, int], paragraphs: int) -> None:
        self._documents = documents
        self._total = paragraphs
        self._weights = np.zeros(TABLE)
        self._squares = np.full(TABLE, 1e-2)
        self._read: dict[str, _Paragraph] = {}

    def predict(self, rows: Sequence[Mapping[str, str]]) -> list[str]:
        """The best span of each row's context; empty where the context has no word."""
        return [self._answer(row["question"], row["context"]) for row in rows]

    def predict_surely(self, rows: Sequence[Mapping[str, str]]) -> list[Sure]:
        """The answers of `predict`, and how sure the reader is of them."""
        return [self._surely(row["question"], row["context"]) for row in rows]

    def learn(self, question: Question) -> bool:
        """Move the weights towards the answers; False if none is a short span."""
        paragraph = self._paragraph(question.context)
        gold = _places(question, paragraph)
        if not gold:
            return False
        asked = self._asked(question.question)
        learn(paragraph.arrays, asked, np.array(gold), self._weights, self._squares, _RATE)
        return True

    def _answer(self, question: str, context: str) -> str:
        paragraph = self._paragraph(context)
        if not paragraph.spans:
            return ""
        first, last = best_span(paragraph.arrays, self._asked(question), self._weights)
        return context[paragraph.spans[first][0] : paragraph.spans[last][1]]

    def _surely(self, question: str, context: str) -> Sure:
        paragraph, asked = self._paragraph(context), self._asked(question)
        if not paragraph.spans:
            return Sure("", None, None)
        first, last = best_span(paragraph.arrays, asked, self._weights)
        starts, ends = marginals(paragraph.arrays, asked, self._weights)
        return Sure(
            context[paragraph.spans[first][0] : paragraph.spans[last][1]],
            from_distributions(starts, ends),
            from_top(float(starts[first]), float(ends[last]), len(starts)),
        )

    def _paragraph(self, context: str) -> _Paragraph:
        # Questions about a paragraph follow one another, and rewritten ones share it.
        paragraph = self._read.get(context)
        if paragraph is None:
            if len(self._read) > 50_000:
                self._read.clear()
            paragraph = self._read[context] = self._arrays(context)
        return paragraph

    def _arrays(self, context: str) -> _Paragraph:
        tokens = [(match.group(), *match.span()) for match in TOKENS.finditer(context)]
        texts = [text for text, _, _ in tokens]
        sentences, sentence = [], 0
        for place, text in enumerate(texts):
            sentences.append(sentence)
            # "U.S." and initials end no sentence: the word before a full stop has to be longer.
            if text in _SENTENCE_END and (text != "." or place == 0 or len(texts[place - 1]) > 1):
                sentence += 1
        lower = [text.lower() for text in texts]
        words = [stem_number(text) for text in lower]
        arrays = (
            np.array(words, np.int64),
            np.array([_number(_shape(text)) for text in texts], np.int64),
            np.array([_number("-" + text[-3:]) for text in lower], np.int64),
            np.array(sentences, np.int64),
            np.array([self._rarity(word) for word in words]),
            np.array([text in _STOP_WORDS for text in lower], np.int64),
            np.array([not text[0].isalnum() for text in texts], np.int64),
        )
        return _Paragraph(arrays, tuple((start, end) for _, start, end in tokens))

    def _asked(self, question: str) -> tuple[Any, Any, Any]:
        """The content words of a question, how rare they are, and how it begins."""
        lower = [match.group().lower() for match in TOKENS.finditer(question)]
        content = dict.fromkeys(
            stem_number(text) for text in lower if text not in _STOP_WORDS and text[0].isalnum()
        )
        asking = next((place for place, text in enumerate(lower) if text in _ASKING), None)
        begins = ["", ""] if asking is None else [lower[asking], " ".join(lower[asking:][:2])]
        return (
            np.array(list(content), np.int64),
            np.array([self._rarity(word) for word in content], np.float64),
            np.array([_number(text) for text in begins], np.int64),
        )

    def _rarity(self, word: int) -> float:
        return math.log((self._total + 1) / (self._documents.get(word, 0) + 0.5))


class SpanReader(Protocol):
    """Answers questions with spans."""

    def predict(self, rows: Sequence[Mapping[str, str]]) -> list[str]:
        """The answer to each row's question."""
        ...

    def predict_surely(self, rows: Sequence[Mapping[str, str]]) -> list[Sure]:
        """The answers of `predict`, and how sure the reader is of them."""
        ...


def train(questions: Sequence[Question], *, passes: int = _PASSES, seed: int = 0) -> SmallReader:
    """Train a model on these questions, in random order."""
    contexts = list(dict.fromkeys(question.context for question in questions))
    documents: Counter[int] = Counter()
    for context in contexts:
        documents.update({stem_number(text.lower()) for text in TOKENS.findall(context)})
    reader = SmallReader(documents, len(contexts))
    random = np.random.default_rng(seed)
    for _ in range(passes):
        for place in random.permutation(len(questions)).tolist():
            reader.learn(questions[place])
    return reader


def read_squad(path: Path) -> list[Question]:
    """The questions of a SQuAD file, in order."""
    return [
        Question(
            asked["question"],
            paragraph["context"],
            tuple(dict.fromkeys(answer["text"] for answer in asked["answers"])),
        )
        for article in json.loads(path.read_text("utf-8"))["data"]
        for paragraph in article["paragraphs"]
        for asked in paragraph["qas"]
    ]


def evaluate(reader: SpanReader, questions: Iterable[Question]) -> tuple[float, float]:
    """Exact match and F1, as SQuAD's evaluation counts them, in percent."""
    asked = list(questions)
    rows = [{"question": each.question, "context": each.context} for each in asked]
    pairs = list(zip(reader.predict(rows), (each.answers for each in asked), strict=True))
    exact = sum(answers_equal(answers, gold, comparison="squad") for answers, gold in pairs)
    return 100 * exact / len(pairs), 100 * sum(answer_f1(*pair) for pair in pairs) / len(pairs)


def answer_f1(prediction: str, gold: str | Sequence[str]) -> float:
    """How well an answer matches the best gold answer, from 0 to 1.

    This is the harmonic mean of precision and recall over normalized words, as in SQuAD's
    evaluation.
    """
    golds = (gold,) if isinstance(gold, str) else gold
    own = normalized_answer(prediction).split()
    return max((_overlap(own, normalized_answer(answer).split()) for answer in golds), default=0.0)


def _overlap(own: list[str], gold: list[str]) -> float:
    if not own or not gold:
        return float(own == gold)
    common = (Counter(own) & Counter(gold)).total()
    return 2 * common / (len(own) + len(gold))


def _places(question: Question, paragraph: _Paragraph) -> list[tuple[int, int]]:
    """(First token, length - 1) of every short span that is a right answer."""
    starts = {start: place for place, (start, _) in enumerate(paragraph.spans)}
    ends = {end: place for place, (_, end) in enumerate(paragraph.spans)}
    sentences = paragraph.arrays[3]
    places = set()
    for answer in filter(None, question.answers):
        at = question.context.find(answer)
        while at >= 0:
            first, last = starts.get(at, -1), ends.get(at + len(answer), -1)
            if 0 <= first <= last < first + LONGEST and sentences[first] == sentences[last]:
                places.add((first, last - first))
            at = question.context.find(answer, at + 1)
    return sorted(places)


def _number(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def stem_number(text: str) -> int:
    """A number for a lower-case word without its ending: walk, walks, walked, walking."""
    for ending in ("ing", "ed", "es", "s"):
        if text.endswith(ending) and len(text) - len(ending) > 3:
            return _number(text.removesuffix(ending))
    return _number(text)


def _shape(text: str) -> str:
    """The look of a token: function words and punctuation unchanged, else runs of up to four."""
    if text.lower() in _STOP_WORDS or not text[0].isalnum():
        return text.lower()
    kinds = re.sub(r"\d", "0", re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", text)))
    return re.sub(r"(.)\1{3,}", r"\1\1\1\1" if kinds[0] == "0" else r"\1", kinds)


def main() -> None:
    learned, dev = (
        read_squad(data_file(f"squad/{name}.json")) for name in ("train-v1.1-part", "dev-v1.1")
    )
    start = time.perf_counter()
    reader = train(learned)
    print(f"span ranker: {len(learned)} questions, {time.perf_counter() - start:.0f} s")
    start = time.perf_counter()
    exact, f1 = evaluate(reader, dev)
    rate = len(dev) / (time.perf_counter() - start)
    print(f"{len(dev)} dev questions: EM {exact:.1f}, F1 {f1:.1f}; {rate:,.0f} questions/s")


if __name__ == "__main__":
    read_options(__doc__)
    main()
