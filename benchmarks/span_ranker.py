"""Scores every short span of a paragraph as the answer to a question: a linear model in kernels.

In: a paragraph and a question as arrays of word numbers, and a table of weights. Out: the best
span; or, in training, weights moved towards the right spans. A span's score is a sum of weights of
features: those of its first token, of its last token, and of the two together, nearly all crossed
with how the question begins. Always holds: spans stay within a sentence and have at most `LONGEST`
tokens; nothing is random. A question about a paragraph of 140 tokens costs about a hundred
microseconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["LONGEST", "TABLE", "best_span", "learn", "marginals"]

LONGEST = 8
TABLE = 1 << 20

_START = 18  # features of a first token, before those of the question's words
_END = 14
_SPAN = 9
_FAR = 12


@njit(cache=True)
def _hash(kind: int, first: int, second: int, third: int) -> Any:
    """The row of a feature in the table; collisions are few and cost little."""
    mixed = np.uint64(kind * 1000003 + 12345)
    mixed = (mixed ^ np.uint64(first)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29)) ^ np.uint64(second)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(32)) ^ np.uint64(third)) * np.uint64(0x94D049BB133111EB)
    return np.int64((mixed >> np.uint64(30)) % np.uint64(TABLE))


@njit(cache=True)
def _level(value: float, levels: int) -> int:
    """A number from 0 to 1 as one of some levels; 0 has its own level."""
    return 0 if value <= 0 else min(levels, 1 + int(value * levels))


@njit(cache=True)
def _alignment(words: Any, sentences: Any, rarity: Any, asked: Any, asked_rarity: Any) -> Any:
    """How tokens relate to the words of the question.

    Returns (tokens,) arrays: 1 where a token is a word of the question; the share of the question,
    by rarity, that the token's sentence contains; the distance to the nearest such word on the left
    and on the right within the sentence; the rarity of near such words on the left and right.
    """
    size = len(words)
    matched = np.zeros(size, np.int64)
    total = max(asked_rarity.sum(), 1e-6)
    share = np.zeros(size, np.float64)
    first = 0
    for place in range(size + 1):
        if place < size and sentences[place] == sentences[first]:
            for word in asked:
                if word == words[place]:
                    matched[place] = 1
            continue
        rarity_inside = 0.0
        for number in range(len(asked)):
            for other in range(first, place):
                if words[other] == asked[number]:
                    rarity_inside += asked_rarity[number]
                    break
        share[first:place] = rarity_inside / total
        first = place
        if place < size:
            for word in asked:
                if word == words[place]:
                    matched[place] = 1
    left, right = np.full(size, _FAR, np.int64), np.full(size, _FAR, np.int64)
    left_mass, right_mass = np.zeros(size, np.float64), np.zeros(size, np.float64)
    for place in range(size):
        for step in range(1, _FAR):
            other = place - step
            if other < 0 or sentences[other] != sentences[place]:
                break
            if matched[other]:
                left[place] = min(left[place], step)
                left_mass[place] += rarity[other] / step
        for step in range(1, _FAR):
            other = place + step
            if other >= size or sentences[other] != sentences[place]:
                break
            if matched[other]:
                right[place] = min(right[place], step)
                right_mass[place] += rarity[other] / step
    return matched, share, left, right, left_mass / total, right_mass / total


@njit(cache=True)
def _features(paragraph: Any, question: Any) -> Any:  # noqa: PLR0915 - a line a feature
    """The table rows of first tokens and last tokens, (tokens, features) each."""
    words, shapes, endings, sentences, rarity, _, _ = paragraph
    asked, asked_rarity, begins = question
    size = len(words)
    one, two = begins[0], begins[1]
    matched, share, left, right, left_mass, right_mass = _alignment(
        words, sentences, rarity, asked, asked_rarity
    )
    best = max(share.max(), 1e-6)
    starts = np.empty((size, _START + len(asked)), np.int64)
    ends = np.empty((size, _END), np.int64)
    for place in range(size):
        word, shape, ending = words[place], shapes[place], endings[place]
        inside = place > 0 and sentences[place - 1] == sentences[place]
        before = words[place - 1] if inside else 1
        shape_before = shapes[place - 1] if inside else 1
        inside = place + 1 < size and sentences[place + 1] == sentences[place]
        after = words[place + 1] if inside else 1
        shape_after = shapes[place + 1] if inside else 1
        level = _level(share[place] / best, 6)
        row = starts[place]
        row[0] = _hash(0, one, word, 0)
        row[1] = _hash(1, two, word, 0)
        row[2] = _hash(2, one, before, 0)
        row[3] = _hash(3, one, shape, 0)
        row[4] = _hash(4, two, shape, 0)
        row[5] = _hash(5, shape_before, shape, 0)
        row[6] = _hash(6, before, shape, 0)
        row[7] = _hash(7, one, ending, 0)
        row[8] = _hash(8, _level(share[place], 8), 0, 0)
        row[9] = _hash(9, level, 0, 0)
        row[10] = _hash(10, one, level, 0)
        row[11] = _hash(11, left[place], right[place], 0)
        row[12] = _hash(12, one, left[place], 0)
        row[13] = _hash(13, _level(left_mass[place], 8), 0, 0)
        row[14] = _hash(14, two, shape_before, shape)
        row[15] = _hash(15, before, word, 0)
        row[16] = _hash(16, matched[place], left[place] == 1, before)
        row[17] = _hash(17, one, shape, level)
        for number in range(len(asked)):
            row[_START + number] = _hash(18, asked[number], shape, 0)
        row = ends[place]
        row[0] = _hash(20, one, word, 0)
        row[1] = _hash(21, two, word, 0)
        row[2] = _hash(22, one, after, 0)
        row[3] = _hash(23, one, shape, 0)
        row[4] = _hash(24, two, shape, 0)
        row[5] = _hash(25, shape, shape_after, 0)
        row[6] = _hash(26, after, shape, 0)
        row[7] = _hash(27, one, ending, 0)
        row[8] = _hash(28, _level(right_mass[place], 8), 0, 0)
        row[9] = _hash(29, one, right[place], 0)
        row[10] = _hash(30, two, ending, 0)
        row[11] = _hash(31, two, shape, shape_after)
        row[12] = _hash(32, word, after, 0)
        row[13] = _hash(33, matched[place], right[place] == 1, after)
    return starts, ends, matched


@njit(cache=True)
def _span_features(  # noqa: PLR0917 - kernels take arguments by position
    start: int, length: int, shapes: Any, begins: Any, matched: Any, stops: Any, commas: Any,
    row: Any,
) -> None:  # fmt: skip
    """The table rows of a span of ``length + 1`` tokens; the last three arrays are sums."""
    end = start + length
    one, two = begins[0], begins[1]
    first, last = shapes[start], shapes[end]
    asked = min(3, matched[end + 1] - matched[start])
    row[0] = _hash(40, one, length, 0)
    row[1] = _hash(41, two, length, 0)
    row[2] = _hash(42, first, last, length)
    row[3] = _hash(43, one, first, last)
    row[4] = _hash(44, two, first, last)
    row[5] = _hash(45, asked, length, 0)
    row[6] = _hash(46, stops[end + 1] - stops[start], length, 0)
    row[7] = _hash(47, commas[end + 1] - commas[start], length, one)
    row[8] = _hash(48, one, asked, 0)


@njit(cache=True)
def _sums(values: Any) -> Any:
    """Prefix sums, beginning with 0."""
    sums = np.zeros(len(values) + 1, np.int64)
    for place in range(len(values)):
        sums[place + 1] = sums[place] + values[place]
    return sums


@njit(cache=True)
def _scores(paragraph: Any, question: Any, weights: Any) -> Any:
    """(tokens, LONGEST) scores of spans by first token and length, and what they are made of."""
    _, shapes, _, sentences, _, stop, comma = paragraph
    begins = question[2]
    starts, ends, matched = _features(paragraph, question)
    matched, stops, commas = _sums(matched), _sums(stop), _sums(comma)
    size = len(shapes)
    scores = np.full((size, LONGEST), -np.inf)
    row = np.empty(_SPAN, np.int64)
    of_end = np.zeros(size)
    for place in range(size):
        for feature in ends[place]:
            of_end[place] += weights[feature]
    for start in range(size):
        of_start = 0.0
        for feature in starts[start]:
            of_start += weights[feature]
        for length in range(min(LONGEST, size - start)):
            if sentences[start + length] != sentences[start]:
                break
            _span_features(start, length, shapes, begins, matched, stops, commas, row)
            score = of_start + of_end[start + length]
            for feature in row:
                score += weights[feature]
            scores[start, length] = score
    return scores, starts, ends, matched, stops, commas


@njit(cache=True)
def best_span(paragraph: Any, question: Any, weights: Any) -> tuple[int, int]:
    """First and last token of the span with the highest score, the leftmost on ties."""
    scores = _scores(paragraph, question, weights)[0]
    place = scores.argmax()
    start = place // LONGEST
    return start, start + place % LONGEST


@njit(cache=True)
def marginals(paragraph: Any, question: Any, weights: Any) -> tuple[Any, Any]:
    """The probability of each token to be the first, and the last, of the answer: (tokens,)."""
    scores = _scores(paragraph, question, weights)[0]
    size = len(scores)
    starts, ends = np.zeros(size), np.zeros(size)
    highest = scores.max()
    for start in range(size):
        for length in range(LONGEST):
            chance = np.exp(scores[start, length] - highest)
            if chance > 0:
                starts[start] += chance
                ends[start + length] += chance
    return starts / starts.sum(), ends / ends.sum()


@njit(cache=True)
def learn(  # noqa: PLR0917 - kernels take arguments by position
    paragraph: Any, question: Any, gold: Any, weights: Any, squares: Any, rate: float
) -> float:
    """One step of Adagrad up the log-probability of the gold spans, which it returns.

    ``gold`` holds (first token, length - 1) of the spans that are right. ``squares`` sums the
    squared gradient of every weight.
    """
    scores, starts, ends, matched, stops, commas = _scores(paragraph, question, weights)
    size = len(scores)
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    mass = 0.0
    for start, length in gold:
        mass += chances[start, length]
    gradient = -chances
    for start, length in gold:
        gradient[start, length] += chances[start, length] / max(mass, 1e-12)
    row = np.empty(_SPAN, np.int64)
    of_end = np.zeros(size)
    for start in range(size):
        of_start = 0.0
        for length in range(LONGEST):
            step = gradient[start, length]
            if step == 0.0:
                continue
            of_start += step
            of_end[start + length] += step
            if abs(step) > 1e-4:
                _span_features(
                    start, length, paragraph[1], question[2], matched, stops, commas, row
                )
                _move(weights, squares, row, step, rate)
        if abs(of_start) > 1e-4:
            _move(weights, squares, starts[start], of_start, rate)
    for end in range(size):
        if abs(of_end[end]) > 1e-4:
            _move(weights, squares, ends[end], of_end[end], rate)
    return np.log(max(mass, 1e-12))


@njit(cache=True)
def _move(weights: Any, squares: Any, features: Any, step: float, rate: float) -> None:
    for feature in features:
        squares[feature] += step * step
        weights[feature] += rate * step / np.sqrt(squares[feature])
