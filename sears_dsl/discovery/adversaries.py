"""Adversaries: paraphrases that a model gets wrong, though they keep the meaning of a right row.

The score of an adversary is at least τ, and the model's answer to it is a flip. Finding adversaries
costs one prediction for each paraphrase, one question to the scorer for each that flips, and one
score for each adversary.

Source: Ribeiro, Singh, Guestrin, "Semantically Equivalent Adversarial Rules for Debugging NLP
Models", ACL 2018: SEA(x, x') = 1[SemEq(x, x') ∧ f(x) ≠ f(x')], with SemEq(x, x') = 1[S(x, x') ≥ τ].

Strategic ones (`reword`) are sentences reworded without the words that an answer depends on.

    rows ──leave one word out──▶ important words ──forbidden──▶ reworded sentences ──▶ rows, asked

A sentence that shares a character with what has to stay is left as it is. No reworded sentence has
a forbidden word, in any casing. S of each reworded sentence is at least τ, and S of the row is the
smallest of them. They cost a question to the model for each word of a row, and a search for each
sentence.

Source: 'Evaluating Neural Machine Comprehension Model Robustness to Noisy Inputs and Adversarial
Attacks', section 4.2; leaving words out after Li, Monroe, Jurafsky 2016.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b
from itertools import groupby, islice
from operator import attrgetter
from statistics import median
from typing import Any, NamedTuple

from sears_dsl.answers import REFUSED, Comparison, carry_back, is_right
from sears_dsl.batch.guarding import require_intact
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.effects.asked_model import AskedModel, OnStage, require_confidence
from sears_dsl.effects.flips import Ask, RightRows, right_labels
from sears_dsl.engine.matches import Edit, SpanMap, Unit, apply_edits
from sears_dsl.errors import counted
from sears_dsl.meaning.scorers import Scorer
from sears_dsl.models.cached import CachedPredictor, OnAnswered
from sears_dsl.models.predictor import Answer
from sears_dsl.paraphrasing.for_rules import lower_words
from sears_dsl.paraphrasing.memory import (
    ParaphraseSource,
    RememberedScorer,
    remembered_paraphrases_without,
)
from sears_dsl.runtime.database import RunJournal
from sears_dsl.tagging.tagger import Tagger

Span = tuple[int, int]

# The base rate is counted on at most so many rows, and at most so many paraphrases of a row are
# tried for one that keeps the meaning: each costs a question to the scorer.
_BASE_ROWS = 400
_LOOKS = 3
# So many strategic paraphrases of a sentence are scored: the best ones that change a word.
_SENTENCE_LOOKS = 5
# The scorer that was fitted to people's judgements of whole sentences.
_OF_WHOLES = "meaning"
# Rows whose words are left out at a time.
_ROWS = 64
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Adversary:
    """A paraphrase that flips the model's answer to a right row."""

    row: int  # the number of the right row
    text: str
    score: float  # S(original, text)
    prediction: str  # the model's answer to the paraphrase


@dataclass(frozen=True, slots=True)
class ParaphraseFlips:
    """What the model answers to paraphrases of its right rows."""

    # The adversaries, sorted by row, then best first; equal scores by text
    adversaries: tuple[Adversary, ...]
    paraphrases: int  # how many paraphrases the model was asked about
    base_rows: int  # rows of which a random paraphrase with S ≥ τ was looked at
    base_flips: int  # how many of these paraphrases flipped the model

    @property
    def base_rate(self) -> float:
        """How often a paraphrase that keeps the meaning flips the model; 0 where none does."""
        return self.base_flips / max(1, self.base_rows)


def find_adversaries(
    right: RightRows,
    paraphrases: Sequence[Sequence[str]],
    *,
    scorer: Scorer,
    tau: float,
    ask: Ask,
    in_time: Callable[[], bool],
    portion: int,
    base: bool,
    on_portion: Callable[[int, int], None],
) -> ParaphraseFlips:
    """The paraphrases that flip a model's answer and keep the meaning.

    The scorer is asked about those that flip and, if the ``base`` rate is wanted, about a few of
    each row besides. Once ``in_time`` says no, between portions, the rest is left out. ``ask``
    answers None where there was no time. Before each portion of flips is scored, ``on_portion``
    gets how many were before, and how many there are.
    """
    # The best paraphrases of all rows come first: if time runs out, each row was looked at.
    questions = sorted(
        (place, number, text)
        for number, of_row in enumerate(paraphrases)
        for place, text in enumerate(of_row)
    )
    answers = ask([each[1] for each in questions], [each[2] for each in questions])
    known = {
        (number, text): answer
        for (_, number, text), answer in zip(questions, answers, strict=True)
        if answer is not None
    }
    flips = sorted(pair for pair, answer in known.items() if right.is_flip(pair[0], answer))
    on_portion(0, len(flips))
    # This comes first, with one portion of rows at most: without a base rate nothing is proven.
    drawn = one_paraphrase_a_row(
        right, known if base else (), scorer=scorer, tau=tau, in_time=in_time, portion=portion
    )
    adversaries: list[Adversary] = []
    for first in range(0, len(flips), portion):
        if not in_time():
            break
        on_portion(first, len(flips))
        # Most flips lose the meaning, which is cheaper to tell than their S.
        batch = flips[first : first + portion]
        keeps = scorer.at_least([(right.texts[number], text) for number, text in batch], tau)
        good = [pair for pair, keep in zip(batch, keeps, strict=True) if keep]
        scores = scorer.scores([(right.texts[number], text) for number, text in good]).tolist()
        adversaries += [
            Adversary(number, text, score, known[number, text])
            for (number, text), score in zip(good, scores, strict=True)
        ]
    adversaries.sort(key=lambda each: (each.row, -each.score, each.text))
    return ParaphraseFlips(
        tuple(adversaries),
        paraphrases=len(known),
        base_rows=len(drawn),
        base_flips=len(set(flips).intersection(drawn)),
    )


def one_paraphrase_a_row(
    right: RightRows,
    paraphrases: Iterable[tuple[int, str]],
    *,
    scorer: Scorer,
    tau: float,
    in_time: Callable[[], bool],
    portion: int,
) -> list[tuple[int, str]]:
    """One paraphrase that keeps the meaning for each of some hundred rows, for the base rate.

    It is drawn at random, one a row: paraphrases of one row flip together, rows do not.
    """
    of_row: dict[int, list[str]] = {}
    for number, text in paraphrases:
        of_row.setdefault(number, []).append(text)
    order = sorted(of_row, key=lambda number: (_lot(right.texts[number]), number))
    open_rows = order[: min(_BASE_ROWS, portion)]
    drawn = {number: sorted(of_row[number], key=_lot)[:_LOOKS] for number in open_rows}
    equivalents: list[tuple[int, str]] = []
    for look in range(_LOOKS):
        pairs = [(number, drawn[number][look]) for number in open_rows if look < len(drawn[number])]
        if not pairs or not in_time():
            break
        keeps = scorer.at_least([(right.texts[number], text) for number, text in pairs], tau)
        good = [pair for pair, keep in zip(pairs, keeps, strict=True) if keep]
        equivalents += good
        good_rows = {number for number, _ in good}
        open_rows = [number for number in open_rows if number not in good_rows]
    return equivalents


def _lot(text: str) -> bytes:
    """A hash of a text, which gives it a random place in an order."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def best_of_each_row(adversaries: Sequence[Adversary], most: int) -> list[Adversary]:
    """The first ``most`` adversaries of each row; those of a row stand together."""
    by_row = groupby(adversaries, attrgetter("row"))
    return [each for _, of_row in by_row for each in islice(of_row, most)]


def adversary_columns(
    adversaries: Sequence[Adversary], data: LabelledRows, right: RightRows
) -> dict[str, list[Any]]:
    """Adversaries as a table: row (from 1), original, adversary, score, label, prediction.

    The label is the model's answer to the original, which is right.
    """
    return {
        "row": [data.number(right.positions[each.row]) for each in adversaries],
        "original": [right.texts[each.row] for each in adversaries],
        "adversary": [each.text for each in adversaries],
        "score": [each.score for each in adversaries],
        "label": [right.predictions[each.row] for each in adversaries],
        "prediction": [each.prediction for each in adversaries],
    }


class ImportantWord(NamedTuple):
    """A word that an answer depends on."""

    word: str  # as it stands in the text
    # How much surer of a right answer, or less sure of a wrong one, the model is with the word than
    # without it; from 0 to 2
    weight: float


@dataclass(frozen=True, slots=True)
class RewordedRow:
    """A row with reworded sentences."""

    place: int  # of the row in the data, from 0
    text: str  # the text with its sentences reworded
    score: float  # the smallest S of a sentence and its rewording
    before: str
    after: str
    right_before: bool
    right_after: bool
    words: tuple[ImportantWord, ...]  # those that were forbidden, the weightiest first

    @property
    def flips(self) -> bool:
        """Whether the model has the row right and its rewording wrong."""
        return self.right_before and not self.right_after


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategicSettings:
    """The choices of a run."""

    avoid: int = 5  # so many of the most important words of a row are forbidden; 0 asks for none
    unit: Unit = "sentence"  # what is reworded at once, each ``sentence`` or the whole ``text``
    tau: float = 0.0  # the least S of a rewording that counts as equivalent
    comparison: Comparison = "exact"  # how an answer is compared with a label
    wrong_rows: bool = False  # whether rows that the model has wrong are reworded, too


def reword(
    data: LabelledRows,
    predictor: CachedPredictor,
    *,
    paraphraser: ParaphraseSource,
    scorer: Scorer,
    tagger: Tagger,
    journal: RunJournal,
    settings: StrategicSettings,
    on_stage: OnStage = lambda stage, done, total: None,
    note: Callable[[str], None] = lambda _: None,
) -> list[RewordedRow]:
    """Reword the sentences of rows without their most important words; what has to stay stays.

    If words are to be avoided, the model has to give confidences. If the paraphraser takes no
    constraints, its paraphrases with forbidden words are dropped. The result is in the order of the
    rows, without those of which nothing could be reworded and, if words are to be avoided, without
    those for which the model gives no confidence.
    """
    if settings.avoid:
        require_confidence(data, predictor)
    model = AskedModel(predictor)
    answers = model.answers(data.rows, on_progress=partial(on_stage, "asking about rows"))
    answered = _AnsweredRows(data, model, answers, settings.comparison)
    places = _rows_to_reword(answered, settings, note)
    words: list[tuple[ImportantWord, ...]] = [()] * len(places)
    if settings.avoid:
        words = _important_words(
            answered, places, tagger=tagger, most=settings.avoid, on_stage=on_stage
        )
    forbidden = [tuple(each.word.lower() for each in of_row) for of_row in words]
    texts = [data.texts[place] for place in places]
    spans = (
        tagger.sentences(texts) if settings.unit == "sentence" else [[(0, len(t))] for t in texts]
    )
    targets: list[tuple[int, Span]] = [
        (number, span)
        for number, of_row in enumerate(spans)
        for span in of_row
        if _may_change(data, places[number], span) and texts[number][slice(*span)].strip()
    ]
    pairs = [(texts[number][start:end], forbidden[number]) for number, (start, end) in targets]
    paraphrases = remembered_paraphrases_without(
        paraphraser, pairs, journal,
        on_portion=partial(on_stage, "rewording sentences"),
    )  # fmt: skip
    scorer = RememberedScorer(scorer, journal)
    best, refused = _best(pairs, paraphrases, scorer=scorer, tau=settings.tau, on_stage=on_stage)
    if pairs and any(chosen is None for chosen in best):
        note(_why_not_all(best, refused, settings, scorer))
    edits: dict[int, list[tuple[Edit, float]]] = {}
    for (number, (start, end)), (old, _), chosen in zip(targets, pairs, best, strict=True):
        if chosen is not None:
            new, score = chosen
            edits.setdefault(number, []).append((Edit(start, end, old, new), score))
    rewritten = {
        number: text
        for number, of_row in edits.items()
        if (text := _rewritten(data, places[number], [edit for edit, _ in of_row])) is not None
    }
    after = answered.ask(
        [(places[number], text) for number, text in rewritten.items()],
        on_progress=partial(on_stage, "asking about rewordings"),
    )
    return [
        RewordedRow(
            place=places[number],
            text=text,
            score=min(score for _, score in edits[number]),
            before=answers[places[number]].label,
            after=answer.label,
            right_before=answered.right(places[number], answers[places[number]]),
            right_after=answered.right(places[number], answer),
            words=words[number],
        )
        for (number, text), answer in zip(rewritten.items(), after, strict=True)
        if answer.label != REFUSED
    ]


def _rows_to_reword(
    answered: _AnsweredRows, settings: StrategicSettings, note: Callable[[str], None]
) -> list[int]:
    """The places of the right rows, or of all; only with a confidence if words are avoided."""
    places = [
        place for place, answer in enumerate(answered.answers)
        if answer.label != REFUSED and (settings.wrong_rows or answered.right(place, answer))
    ]  # fmt: skip
    sure = [place for place in places if answered.answers[place].confidence is not None]
    if not settings.avoid or len(sure) == len(places):
        return places
    rows = counted(len(places) - len(sure), "row was", "rows were")
    note(f"note: {rows} left out, because the model does not say how sure it is")
    return sure


@dataclass(frozen=True)
class _AnsweredRows:
    """What a model says of rows and of their rewordings, and whether it is right."""

    data: LabelledRows
    model: AskedModel
    answers: Sequence[Answer]  # to the rows
    comparison: Comparison

    @cached_property
    def _labels(self) -> Sequence[tuple[str, ...]]:
        return right_labels(self.data, [answer.label for answer in self.answers])

    def ask(
        self, rewordings: Sequence[tuple[int, str]], *, on_progress: OnAnswered | None = None
    ) -> list[Answer]:
        """The model's answers to rewordings, (place, text), carried back to their rows."""
        rows = self.data.rewritten(
            [place for place, _ in rewordings], [text for _, text in rewordings]
        )
        texts, comparison = self.data.texts, self.comparison
        answers = self.model.answers(rows, on_progress=on_progress)
        return [
            answer._replace(
                label=carry_back(answer.label, texts[place], text, comparison=comparison)
            )
            for (place, text), answer in zip(rewordings, answers, strict=True)
        ]

    def right(self, place: int, answer: Answer) -> bool:
        """Whether an answer to a row is right, or one that is carried back to it."""
        return is_right(answer.label, self._labels[place], comparison=self.comparison)

    def signed(self, place: int, answer: Answer) -> float | None:
        """The model's confidence, negative for a wrong answer; None where it gives none."""
        if answer.confidence is None:
            return None
        return answer.confidence if self.right(place, answer) else -answer.confidence


def _important_words(
    answered: _AnsweredRows, places: Sequence[int], *, tagger: Tagger, most: int, on_stage: OnStage
) -> list[tuple[ImportantWord, ...]]:
    """The words without which the model is less sure of a right answer, or surer of a wrong one.

    Each word in turn is left out, and the model is asked again. The weight of a word is the
    confidence that is lost with it; that of a wrong answer counts as negative. If a word occurs
    several times, the largest weight counts. What has to stay is not left out. A word has no weight
    if the model gives no confidence with it or without it.
    """
    words_by_row: list[tuple[ImportantWord, ...]] = []
    data = answered.data
    for first in range(0, len(places), _ROWS):
        batch = places[first : first + _ROWS]
        on_stage("leaving words out", first, len(places))
        tokens = tagger.tokenize([data.texts[place] for place in batch])
        left_out: list[tuple[int, str]] = []
        shortened: list[tuple[int, str]] = []
        for number, place in enumerate(batch):
            text = data.texts[place]
            for token in tokens.view(number):
                word = text[token.start : token.end]
                if _WORD.search(word) and _may_change(data, place, (token.start, token.end)):
                    deletion = _deletion(text, token.start, token.end)
                    others = apply_edits(text, [deletion])
                    if _keeps_apart(data, place, others, [deletion]):
                        left_out.append((number, word))
                        shortened.append((place, others))
        answers = answered.ask(shortened)
        weights: list[dict[str, ImportantWord]] = [{} for _ in batch]
        for (number, word), (place, _), answer in zip(left_out, shortened, answers, strict=True):
            sure = answered.signed(place, answered.answers[place])
            without = answered.signed(place, answer)
            if sure is None or without is None:
                continue
            weight = sure - without
            known = weights[number].get(word.lower())
            if weight > 0 and (known is None or weight > known.weight):
                weights[number][word.lower()] = ImportantWord(word, weight)
        words_by_row += [
            tuple(sorted(of_row.values(), key=lambda each: -each.weight)[:most])
            for of_row in weights
        ]
    on_stage("leaving words out", len(places), len(places))
    return words_by_row


def _deletion(text: str, start: int, end: int) -> Edit:
    """The edit that deletes a word, and the space that would be left over."""
    if start and text[start - 1] == " " and (end == len(text) or text[end] == " "):
        start -= 1
    elif not start and text[end : end + 1] == " ":
        end += 1
    return Edit(start, end, text[start:end], "")


def _may_change(data: LabelledRows, place: int, span: Span) -> bool:
    """Whether a span of a text shares no character with what has to stay in it."""
    if data.guards is None:
        return True
    guard = data.guards.rows[place]
    return not any(
        span[0] < end and start < span[1] for start, end in (*guard.protected, *guard.carried)
    )


def _keeps_apart(data: LabelledRows, place: int, text: str, edits: Sequence[Edit]) -> bool:
    """Whether a text after some edits can be taken apart into its columns."""
    return data.guards is None or data.guards.rows[place].keeps_apart(text, SpanMap(edits).map)


def _rewritten(data: LabelledRows, place: int, edits: Sequence[Edit]) -> str | None:
    """A text after some edits; None if it cannot be taken apart into its columns any more."""
    text = apply_edits(data.texts[place], edits)
    if data.guards is not None:
        require_intact(
            data.texts[place], text, SpanMap(edits), data.guards.rows[place].protected,
            rule="a paraphrase",
        )  # fmt: skip
    return text if _keeps_apart(data, place, text, edits) else None


def _best(
    pairs: Sequence[tuple[str, Sequence[str]]],
    paraphrases: Sequence[Sequence[str]],
    *,
    scorer: Scorer,
    tau: float,
    on_stage: OnStage,
) -> tuple[list[tuple[str, float] | None], dict[int, float]]:
    """The first paraphrase of each sentence that changes a word and keeps the meaning, with S.

    Also the best S for each sentence whose paraphrases all fall below τ.
    """
    candidates = [
        [text for text in texts if lower_words(text) != lower_words(sentence)][:_SENTENCE_LOOKS]
        for (sentence, _), texts in zip(pairs, paraphrases, strict=True)
    ]
    chosen: list[tuple[str, float] | None] = [None] * len(pairs)
    refused: dict[int, float] = {}
    for look in range(_SENTENCE_LOOKS):
        waiting = [
            number for number, texts in enumerate(candidates)
            if chosen[number] is None and look < len(texts)
        ]  # fmt: skip
        on_stage("scoring rewordings", look, _SENTENCE_LOOKS)
        if not waiting:
            break
        scores = scorer.scores([(pairs[number][0], candidates[number][look]) for number in waiting])
        for number, score in zip(waiting, scores.tolist(), strict=True):
            if score >= tau:
                chosen[number] = candidates[number][look], score
                refused.pop(number, None)
            else:
                refused[number] = max(score, refused.get(number, score))
    return chosen, refused


def _why_not_all(
    best: Sequence[tuple[str, float] | None],
    refused: Mapping[int, float],
    settings: StrategicSettings,
    scorer: Scorer,
) -> str:
    """How many sentences were reworded, why others were not, and what would reword more."""
    reworded = sum(chosen is not None for chosen in best)
    note = f"note: {reworded:,} of {counted(len(best), settings.unit)} that may change are reworded"
    lacking = len(best) - reworded - len(refused)
    if lacking:
        note += f"; {counted(lacking, 'has', 'have')} no paraphrase that changes a word"
        if settings.avoid:
            note += " without an avoided one (a smaller --avoid-important leaves more)"
    if refused:
        other = "" if scorer.name == _OF_WHOLES else f", --scorer {_OF_WHOLES} is for sentences"
        note += (
            f"; {counted(len(refused), 'has', 'have')} only paraphrases with S below "
            f"{settings.tau:g} (median {median(refused.values()):.2g}; a lower --tau accepts more"
            f"{other})"
        )
    return note


def reworded_columns(reworded: Sequence[RewordedRow], data: LabelledRows) -> dict[str, list[Any]]:
    """Rewordings as a table.

    Columns: those of `adversary_columns`; before, the model's answer to the original, which is the
    label unless it has the row wrong; flips (yes or no); words, JSON of [word, weight], the
    weightiest first.
    """
    return {
        "row": [data.number(each.place) for each in reworded],
        "original": [data.texts[each.place] for each in reworded],
        "adversary": [each.text for each in reworded],
        "score": [each.score for each in reworded],
        # A right answer: the model's own where it is one, else the first of the data.
        "label": [
            each.before if each.right_before or data.labels is None else data.labels[each.place][0]
            for each in reworded
        ],
        "before": [each.before for each in reworded],
        "prediction": [each.after for each in reworded],
        "flips": ["yes" if each.flips else "no" for each in reworded],
        "words": [
            json.dumps([[each.word, round(each.weight, 6)] for each in row.words],
                       ensure_ascii=False)
            for row in reworded
        ],
    }  # fmt: skip
