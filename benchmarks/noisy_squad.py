"""Rows of SQuAD and their noisy twins: each question protects its own answers, and no others.

In: SQuAD files, the shipped rulesets of noise. Out: `Asked` rows, and contexts with look-alikes
(25% of the characters), nearest words of GloVe (25% of the words) or paraphrased sentences. A
paragraph has several questions; each of its sentences is paraphrased once, as far as time allows.
Results stay in a file outside the repository, so that an interrupted run can continue.

    python -m benchmarks.noisy_squad TEST TRAIN    # paraphrase so many paragraphs of dev, of train
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from platformdirs import user_cache_path

from benchmarks.record import data_file, read_options
from benchmarks.small_reader import Question
from sears_dsl.catalogue import shipped_rulesets
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.noise.sources import Sources
from sears_dsl.language.loader import load
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.paraphrasing.for_rules import BestParaphrases
from sears_dsl.paraphrasing.paraphraser import Paraphraser
from sears_dsl.runtime.database import RunJournal
from sears_dsl.tagging.tagger import load_tagger
from sears_dsl.translation.pivots import load_pivots

__all__ = ["NOISES", "Asked", "Paraphrases", "noisy", "paragraphs_of", "questions_of"]

NOISES = {"characters": "noise/look-alikes", "words": "noise/neighbors",
          "sentences": "noise/paraphrase"}  # fmt: skip
"""The ruleset of each noise; its first rule is used."""

TEST, TRAIN = "squad/dev-v1.1.json", "squad/train-v1.1-part.json"
_BEAM = 4
# Paraphrases per sentence, and sentences searched at once.
_KEPT = 5
_PORTION = 32


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as a row of its own.

    Attributes:
        question: with its context and the answers that count as right.
        spans: the places of these answers in the context.
        paragraph: the number of its paragraph, in the order of the sample.
        answers: one for each annotator.
    """

    question: Question
    spans: tuple[tuple[int, int], ...]
    paragraph: int
    answers: tuple[str, ...]


class Paraphrases:
    """Paraphrases by the embedded pivot; each sentence is searched once and saved in a file.

    It rewords sentences with and without forbidden words, like `remembered.ParaphraseSource`.

    Args:
        search: False uses only what is known; other sentences have no paraphrases.
    """

    name = f"pt, beam {_BEAM}"

    def __init__(self, *, search: bool = True) -> None:
        folder = user_cache_path("sears-benchmarks", ensure_exists=True)
        self._journal = RunJournal(folder / "paraphrases.db", task=self.name)
        self._search = search
        self._paraphraser: Paraphraser | None = None

    def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
        """The best paraphrases of each sentence."""
        return self.paraphrase_without([(each, ()) for each in sentences])

    def paraphrase_without(
        self, sentences: Sequence[tuple[str, tuple[str, ...]]]
    ) -> list[list[str]]:
        """The best paraphrases of each sentence that contain none of its forbidden words."""
        keys = ["\0".join((sentence, *words)) for sentence, words in sentences]
        known = self.known(keys)
        missing = {key: pair for key, pair in zip(keys, sentences, strict=True)
                   if key not in known}  # fmt: skip
        ordered = sorted(missing, key=lambda key: (len(key), key)) if self._search else []
        for first in range(0, len(ordered), _PORTION):
            some = ordered[first : first + _PORTION]
            results = self._searched([missing[key] for key in some])
            self._journal.put_many("found", dict(zip(some, results, strict=True)))
            known.update(zip(some, results, strict=True))
        return [known.get(key, []) for key in keys]

    def known(self, keys: Sequence[str]) -> dict[str, list[str]]:
        """The content of the file."""
        return self._journal.get_many("found", list(dict.fromkeys(keys)))

    def _searched(self, pairs: Sequence[tuple[str, tuple[str, ...]]]) -> list[list[str]]:
        if self._paraphraser is None:
            self._paraphraser = Paraphraser(load_pivots(), beam=_BEAM, exact=False)
        results = self._paraphraser.paraphrase(
            [sentence for sentence, _ in pairs], forbidden=[words for _, words in pairs]
        )
        return [[each.text for each in of_sentence[:_KEPT]] for of_sentence in results]


def paragraphs_of(name: str, count: int | None = None) -> list[list[Asked]]:
    """Paragraphs of a SQuAD file in a fixed random order; the first ``count``."""
    document = json.loads(data_file(name).read_text("utf-8"))
    paragraphs = [paragraph for article in document["data"] for paragraph in article["paragraphs"]]
    paragraphs.sort(key=lambda paragraph: paragraph["context"])
    random.Random(0).shuffle(paragraphs)
    return [
        [_asked(paragraph["context"], each, number) for each in paragraph["qas"]]
        for number, paragraph in enumerate(paragraphs[:count])
    ]


def _asked(context: str, asked: dict[str, Any], paragraph: int) -> Asked:
    spans = {(int(each["answer_start"]), str(each["text"])) for each in asked["answers"]}
    texts = tuple(str(each["text"]) for each in asked["answers"])
    return Asked(
        Question(str(asked["question"]), context, tuple(dict.fromkeys(texts))),
        tuple(sorted((start, start + len(text)) for start, text in spans)),
        paragraph,
        texts,
    )


def questions_of(rows: Sequence[Asked]) -> list[Question]:
    """The questions as a reader gets them and learns from them."""
    return [row.question for row in rows]


def noisy(
    rows: Sequence[Asked], noise: str, *, paraphrases: Paraphrases, decoys: int = 0
) -> list[Asked]:
    """Rows with noisy contexts, in which their own answers stay; spans are not moved along.

    Args:
        rows: the rows to rewrite.
        noise: one of `NOISES`.
        paraphrases: the source of paraphrases.
        decoys: how many other spans of as many words as an answer stay too.
    """
    whole = load(shipped_rulesets()[NOISES[noise]])
    ruleset = Ruleset.from_rules(whole.rules[:1], name=whole.name, options=whole.options)
    sources = Sources(paraphrases=BestParaphrases(paraphrases))
    matcher = compile_rules([ruleset], tagger=load_tagger(), sources=sources)
    chained = matcher.chain(
        [row.question.context for row in rows], scope="all",
        protected=[(*row.spans, *_decoys(row, decoys)) for row in rows],
    )  # fmt: skip
    return [
        replace(row, question=replace(row.question, context=after.text))
        for row, after in zip(rows, chained, strict=True)
    ]


def _decoys(row: Asked, count: int) -> list[tuple[int, int]]:
    """Random spans of a context with as many words as the first answer."""
    words = [word.span() for word in re.finditer(r"\S+", row.question.context)]
    length = min(len(row.answers[0].split()) or 1, len(words))
    drawn = random.Random(f"{row.paragraph} {row.question.question}")
    begins = [drawn.randrange(len(words) - length + 1) for _ in range(count)]
    return [(words[begin][0], words[begin + length - 1][1]) for begin in begins]


def main() -> None:
    """Paraphrase the sentences of paragraphs, a portion at a time."""
    counts: list[str] = read_options(__doc__, words="NUMBER").words
    if len(counts) != 2 or not all(each.isdecimal() for each in counts):
        sys.exit("noisy_squad: two numbers of paragraphs are needed: TEST TRAIN")
    paraphrases = Paraphrases()
    tagger = load_tagger()
    began = time.monotonic()
    for name, count in zip((TEST, TRAIN), map(int, counts), strict=True):
        contexts = [rows[0].question.context for rows in paragraphs_of(name, count) if rows]
        for first in range(0, len(contexts), 8):
            some = contexts[first : first + 8]
            spans = tagger.sentences(some)
            paraphrases.paraphrase(
                [text[a:b].strip() for text, of in zip(some, spans, strict=True) for a, b in of]
            )
            print(f"{name}: {first + len(some)} of {count} paragraphs, "
                  f"{time.monotonic() - began:.0f} s", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
