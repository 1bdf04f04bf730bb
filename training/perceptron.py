"""Learning: an averaged perceptron, in a kernel.

In: rows of words with tags, a lexicon. Out: weights of features by tag, averaged over all steps.
Always holds: the same examples and seed give the same weights, bit for bit. The features are those
of `sears_dsl.tagging.fast.weights`, and a token is treated here as the tagger treats it.

The tag with the highest score is compared with the right one. Unless the right one leads by a
margin, its weights grow and its rival's fall. The tags before a token are the predicted ones, not
the right ones, so that the tagger learns to live with its own mistakes. Costs three seconds for a
million tokens and pass, and 600 bytes of memory for a feature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from sears_dsl.runtime.kernels import kernel
from sears_dsl.tagging.fast.fast_tagger import UNCERTAIN, casing_pair, casing_triple, find
from sears_dsl.tagging.fast.weights import (
    AFTER,
    BEFORE,
    CASING_PAIRS,
    CASING_TRIPLES,
    FORM_KEYS,
    LOOKUPS,
    NEIGHBOUR_KEYS,
    NO_TAG,
    SIDES,
    TAG_KEYS,
    TAGS,
    bucketed,
    class_key,
    describe,
    folded_case,
    kinds_of_characters,
    mark,
    neighbour_keys,
    row_casing,
    tag_keys,
)
from training.lexicon import Lexicon, make_lexicon, places_of

#: How often a feature must occur to get weights.
_SEEN_FORM = 2
_SEEN_HASHED = 3
# Below the score of any tag.
_LEAST_SCORE = -(1 << 62)


class Examples(NamedTuple):
    """Rows to learn from, as arrays."""

    texts: Sequence[str]  # the distinct words
    row_offsets: Any  # int64 (rows + 1,)
    words: Any  # int32 (tokens,): numbers of words
    tags: Any  # int16 (tokens,): the right tags; -1 where unknown
    emphasis: Any  # int32 (rows,): how far weights move for tokens of a row


class Learned(NamedTuple):
    """The result of learning."""

    lexicon: Lexicon  # of the examples
    row_keys: Any  # uint32, sorted: keys of features that are hashed
    weights: Any  # float32 (rows, TAGS): of these keys, then of the fixed rows as in `Stored`


class _Inputs(NamedTuple):
    """What the kernel reads of examples."""

    row_offsets: Any  # int64 (rows + 1,)
    words: Any  # int32 (tokens,)
    tags: Any  # int16 (tokens,)
    emphasis: Any  # int32 (rows,)
    forms: Any  # int32 (words, FORM_KEYS + 1): rows of weights of a word, or -1
    neighbours: Any  # int32 (tokens, NEIGHBOUR_KEYS): the same for a token
    contexts: Any  # int32 (tokens,)
    classes: Any  # int32 (tokens,)
    casings: Any  # uint8 (words,)
    marks: Any  # uint8 (words,)
    certain: Any  # uint8 (words,)
    starts: Any  # int32: where the buckets of keys begin; for `find`, with the next two
    keys: Any  # int64
    shift: Any  # int64
    blocks: Any  # int64: where each block of rows begins


def pack_examples(
    rows: Sequence[tuple[Sequence[str], Sequence[int], int]],
) -> Examples:
    """Rows of (words, tags, emphasis) as arrays."""
    numbers: dict[str, int] = {}
    words = [numbers.setdefault(word, len(numbers)) for row in rows for word in row[0]]
    return Examples(
        texts=list(numbers),
        row_offsets=np.cumsum([0, *(len(row[0]) for row in rows)]).astype(np.int64),
        words=np.array(words, np.int32),
        tags=np.fromiter(chain.from_iterable(row[1] for row in rows), np.int16, len(words)),
        emphasis=np.array([row[2] for row in rows], np.int32),
    )


def learn(
    examples: Examples,
    *,
    passes: int = 8,
    margin: int = 4,
    seed: int = 0,
    tell: Callable[[str], None] = lambda line: None,
) -> Learned:
    """Learn weights from examples, each of which is seen in every pass.

    The right tag must lead by the margin. The seed decides the order of rows, and ``tell`` is
    called with a line after each pass.
    """
    keys, casings, marks = describe_words(examples.texts)
    known = examples.tags >= 0
    counts = np.zeros((len(examples.texts), TAGS))
    np.add.at(counts, (examples.words[known], examples.tags[known]), 1.0)
    lexicon = make_lexicon(keys, counts)
    features, row_keys = _prepare(examples, lexicon, keys, casings, marks)
    rows = int(features.blocks[-1])
    tell(f"{len(examples.words):,} tokens, {len(examples.texts):,} words, {rows:,} features")
    weights = np.zeros((rows, TAGS), np.int32)
    moved = np.zeros((rows, TAGS), np.float64)
    generator = np.random.default_rng(seed)
    step = 1
    for number in range(1, passes + 1):
        order = generator.permutation(len(examples.row_offsets) - 1)
        step, wrong, asked = _pass(order, features, weights, moved, step, margin)
        tell(f"pass {number}: {wrong / asked:.2%} wrong")
    averaged = np.empty((rows, TAGS), np.float32)
    for first in range(0, rows, 1 << 16):
        some = slice(first, first + (1 << 16))
        averaged[some] = weights[some] - moved[some] / step
    return Learned(lexicon, row_keys, averaged)


def describe_words(texts: Sequence[str]) -> tuple[Any, Any, Any]:
    """Keys (int64, words by FORM_KEYS + LOOKUPS), casings and marks (uint8) of words."""
    encoded = "".join(texts).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(encoded, np.uint32)
    offsets = np.cumsum([0, *map(len, texts)]).astype(np.int64)
    keys = np.zeros((len(texts), FORM_KEYS + LOOKUPS), np.int64)
    casings = np.zeros(len(texts), np.uint8)
    marks = np.zeros(len(texts), np.uint8)
    _describe_all(codes, offsets, kinds_of_characters(), folded_case(), keys, casings, marks)
    return keys, casings, marks


@kernel
def _describe_all(  # noqa: PLR0917 - arrays, in the order in which they are made
    codes: Any, offsets: Any, kinds: Any, folded: Any, keys: Any, casings: Any, marks: Any
) -> None:
    for word in range(offsets.shape[0] - 1):
        start = offsets[word]
        end = offsets[word + 1]
        casings[word] = describe(codes, start, end, kinds, folded, keys[word])
        marks[word] = mark(codes, start, end)


def _prepare(
    examples: Examples, lexicon: Lexicon, keys: Any, casings: Any, marks: Any
) -> tuple[_Inputs, Any]:
    """Arrays for the kernel, and the keys of features that get weights."""
    word_contexts, certain = _contexts_of(keys, lexicon)
    word_classes = lexicon.context_classes[word_contexts].astype(np.int32)
    contexts = word_contexts[examples.words]
    classes = word_classes[examples.words]

    own = np.zeros((len(keys), 1), np.int64)
    for word, kind in enumerate(word_classes.tolist()):
        own[word] = class_key(kind)
    forms = np.concatenate([keys[:, :FORM_KEYS], own], axis=1)
    neighbours = np.zeros((len(examples.words), NEIGHBOUR_KEYS), np.int64)
    tags = np.zeros((len(examples.words), TAG_KEYS), np.int64)
    _token_keys(examples.row_offsets, contexts, classes, examples.tags, neighbours, tags)
    often = np.bincount(examples.words, minlength=len(keys))
    row_keys = np.unique(
        np.concatenate(
            [
                _common(forms.ravel(), np.repeat(often, FORM_KEYS + 1), _SEEN_FORM),
                _common(neighbours.ravel(), None, _SEEN_HASHED),
                _common(tags.ravel(), None, _SEEN_HASHED),
            ]
        )
    )
    starts, shift = bucketed(row_keys)
    sizes = [
        len(row_keys),
        SIDES * len(lexicon.context_classes),
        SIDES * (int(lexicon.context_classes.max()) + 1),
        (TAGS + 1) ** 2,
        TAGS + 1,
        TAGS + 1,
        CASING_PAIRS,
        CASING_TRIPLES,
    ]
    features = _Inputs(
        row_offsets=examples.row_offsets,
        words=examples.words,
        tags=examples.tags,
        emphasis=examples.emphasis,
        forms=places_of(row_keys, forms).astype(np.int32),
        neighbours=places_of(row_keys, neighbours).astype(np.int32),
        contexts=contexts,
        classes=classes,
        casings=casings,
        marks=marks,
        certain=certain,
        starts=starts,
        keys=row_keys,
        shift=shift,
        blocks=np.cumsum(sizes).astype(np.int64),
    )
    return features, row_keys.astype(np.uint32)


def _contexts_of(keys: Any, lexicon: Lexicon) -> tuple[Any, Any]:
    """The context (int32) and the only tag, or 255 (uint8), of words with these keys."""
    entries = np.full(len(keys), -1, np.int64)
    for column in range(FORM_KEYS, FORM_KEYS + LOOKUPS):
        at = places_of(lexicon.keys, keys[:, column])
        entries = np.where((entries < 0) & (keys[:, column] != 0), at, entries)
    # Unknown words point at the last entry, place -1.
    contexts = np.append(lexicon.contexts, 0)[entries].astype(np.int32)
    certain = np.append(lexicon.certain, UNCERTAIN)[entries].astype(np.uint8)
    return contexts, certain


def _common(keys: Any, counts: Any, least: int) -> Any:
    """The keys that occur often enough."""
    if counts is None:
        distinct, sums = np.unique(keys, return_counts=True)
    else:
        distinct, places = np.unique(keys, return_inverse=True)
        sums = np.bincount(places, weights=counts)
    return distinct[(sums >= least) & (distinct != 0)]


@kernel
def _token_keys(  # noqa: PLR0917 - arrays, in the order in which they are made
    row_offsets: Any, contexts: Any, classes: Any, tags: Any, neighbours: Any, by_tags: Any
) -> None:
    """The keys of every token, as if the right tags had been predicted."""
    for row in range(row_offsets.shape[0] - 1):
        start = row_offsets[row]
        end = row_offsets[row + 1]
        before = np.int64(NO_TAG)
        second = np.int64(NO_TAG)
        for place in range(start, end):
            neighbour_keys(contexts, classes, start, place, end, neighbours[place])
            tag_keys(contexts, classes, place, end, before, second, by_tags[place])
            second = before
            before = np.int64(max(tags[place], 0))


@kernel
def _pass(order: Any, inputs: _Inputs, weights: Any, moved: Any, step: Any, margin: Any) -> Any:  # noqa: PLR0915, PLR0917
    """Learn from every row once; returns the step, and how many tokens of how many were wrong."""
    features = np.zeros(FORM_KEYS + NEIGHBOUR_KEYS + TAG_KEYS + 2 * SIDES + 6, np.int64)
    by_tags = np.zeros(TAG_KEYS, np.int64)
    scores = np.zeros(TAGS, np.int64)
    blocks = inputs.blocks
    wrong = 0
    asked = 0
    for row in order:
        start = inputs.row_offsets[row]
        end = inputs.row_offsets[row + 1]
        casing_of_row = row_casing(inputs.casings, inputs.words, start, end)
        before = np.int64(NO_TAG)
        second = np.int64(NO_TAG)
        mark_before = np.int64(0)
        quotes = np.int64(0)
        for place in range(start, end):
            word = inputs.words[place]
            here = np.int64(inputs.marks[word])
            half = np.int64(0)
            if here >= 4:
                quotes += 1
                half = np.int64(2) - (quotes & 1)
                here -= 4
            best = np.int64(inputs.certain[word])
            step += 1
            if best == UNCERTAIN:
                count = 0
                for feature in inputs.forms[word]:
                    if feature >= 0:
                        features[count] = feature
                        count += 1
                for feature in inputs.neighbours[place]:
                    if feature >= 0:
                        features[count] = feature
                        count += 1
                tag_keys(inputs.contexts, inputs.classes, place, end, before, second, by_tags)
                for key in by_tags:
                    row_of_key = find(key, inputs.starts, inputs.keys, inputs.shift)
                    if row_of_key >= 0:
                        features[count] = row_of_key
                        count += 1
                for side, there in enumerate((place - 1, place - 2, place + 1, place + 2)):
                    context = np.int64(BEFORE) if side < 2 else np.int64(AFTER)
                    kind = context
                    if start <= there < end:
                        context = np.int64(inputs.contexts[there])
                        kind = np.int64(inputs.classes[there])
                    features[count] = blocks[0] + context * SIDES + side
                    features[count + 1] = blocks[1] + kind * SIDES + side
                    count += 2
                casing = np.int64(inputs.casings[word])
                left = np.int64(0)
                right = np.int64(0)
                if place > start:
                    left = np.int64(inputs.casings[inputs.words[place - 1]])
                if place + 1 < end:
                    right = np.int64(inputs.casings[inputs.words[place + 1]])
                features[count] = blocks[2] + before * (TAGS + 1) + second
                features[count + 1] = blocks[3] + before
                features[count + 2] = blocks[4] + second
                features[count + 3] = blocks[5] + casing_pair(
                    mark_before, half, casing_of_row, casing
                )
                features[count + 4] = blocks[6] + casing_triple(left, casing, right, casing_of_row)
                count += 5
                scores[:] = 0
                for feature in features[:count]:
                    for tag in range(TAGS):
                        scores[tag] += weights[feature, tag]
                best = np.int64(scores.argmax())
                right_tag = np.int64(inputs.tags[place])
                if right_tag >= 0:
                    asked += 1
                    wrong += best != right_tag
                    right_score = scores[right_tag]
                    scores[right_tag] = _LEAST_SCORE
                    rival = scores.argmax()
                    if right_score - scores[rival] < margin:
                        by = inputs.emphasis[row]
                        for feature in features[:count]:
                            weights[feature, right_tag] += by
                            weights[feature, rival] -= by
                            moved[feature, right_tag] += by * np.float64(step)
                            moved[feature, rival] -= by * np.float64(step)
            mark_before = here
            second = before
            before = best
    return step, wrong, asked
