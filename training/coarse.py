"""Learning coarse tags: a table by word and fine tag, and weights for what it leaves open.

In: gold sentences, spaCy's attribute ruler for words that they lack. Out: `CoarseLessons`. Always
holds: the same sentences give the same result. A word has entries of its own where gold or the
ruler gives it another coarse tag than other words with that fine tag; a pair of word and fine tag
is open where gold gives it a second coarse tag in at least one of fifty cases.
Costs ten seconds.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sears_dsl._compiled import kernel
from sears_dsl.errors import TaggerError
from sears_dsl.text.coarse_tags import remembered
from sears_dsl.text.fast.coarse import COARSE_KEYS, coarse_keys, landmarks
from sears_dsl.text.fast.features import NO_TAG, TAGS
from training.lexicon import Lexicon
from training.perceptron import contexts_of, word_keys
from training.treebank import Sentence

__all__ = ["COARSE", "CoarseLessons", "learn_coarse", "ruler_answers"]

#: The universal tags, by their number.
COARSE = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
    "PUNCT", "SCONJ", "SYM", "VERB", "X",
)  # fmt: skip

_SEEN_TAG = 5
_SEEN_WORD = 3
_SEEN_OPEN = 20
_OPEN_SHARE = 0.02
_PASSES = 6
# Only proportions count; so large that what is dropped as small is noise.
_SCALE = 4.0
_MOST_GROUPS = 255


class CoarseLessons(NamedTuple):
    """What came out.

    Attributes:
        keys: uint32, sorted: lower forms of words that are cases of their own.
        groups: uint8: the group of each.
        table: uint8 (groups, TAGS): the coarse tag by group and fine tag.
        choices: int32 (groups, TAGS): a bit for each coarse tag that context decides between.
        row_keys: int64, sorted: keys of features.
        weights: float32 (rows, TAGS): theirs, by coarse tag.
    """

    keys: Any
    groups: Any
    table: Any
    choices: Any
    row_keys: Any
    weights: Any


Answers = dict[str, tuple[int, ...]]


def ruler_answers(fine: Sequence[str], *, model: str) -> Answers:
    """What a model's attribute ruler says of each fine tag, for each word that it names.

    The answers for other words stand under the empty word.

    Raises:
        TaggerError: the ruler looks at more than word and tag.
    """
    import spacy  # noqa: PLC0415 - seconds to import
    from spacy.tokens import Doc  # noqa: PLC0415

    nlp = spacy.load(model, exclude=["parser", "ner", "lemmatizer"])
    ruler: Any = nlp.get_pipe("attribute_ruler")
    if not remembered(ruler.patterns):
        raise TaggerError(
            f"the attribute ruler of {model} looks at more than a word and its fine tag",
            help="take en_core_web_sm 3.8",
        )
    words = {"": "otherwise"}
    for rule in ruler.patterns:
        if "POS" in rule["attrs"]:
            for pattern in rule["patterns"]:
                named = pattern[0].get("LOWER", [])
                for word in (
                    [named] if isinstance(named, str) else named.get("IN", []) if named else []
                ):
                    words[word] = word
    return {
        name: tuple(
            COARSE.index(token.pos_)
            for token in ruler(Doc(nlp.vocab, words=[word] * len(fine), tags=list(fine)))
        )
        for name, word in sorted(words.items())
    }


def learn_coarse(
    sentences: Sequence[Sentence], answers: Answers, fine: Sequence[str], lexicon: Lexicon
) -> CoarseLessons:
    """Count, then learn what counting leaves open.

    Args:
        sentences: gold.
        answers: `ruler_answers`.
        fine: the fine tags, by number.
        lexicon: gives contexts.
    """
    number = {tag: place for place, tag in enumerate(fine)}
    by_pair: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    for sentence in sentences:
        for word, name, coarse in zip(*sentence[:3], strict=True):
            if name in number and coarse in COARSE:
                by_pair[word.lower(), number[name]][COARSE.index(coarse)] += 1
    # A word counts once: what is common (`is`) says nothing of words that were not seen.
    by_tag: dict[int, Counter[int]] = defaultdict(Counter)
    for (_, tag), counts in by_pair.items():
        by_tag[tag][_first(counts)] += 1
    rest = [
        _first(by_tag[tag]) if by_tag[tag].total() >= _SEEN_TAG else answers[""][tag]
        for tag in range(TAGS)
    ]
    opened = {pair: _choices(counts) for pair, counts in by_pair.items() if _choices(counts)}
    own = {word for word, _ in opened} | (answers.keys() - {""})
    own |= {
        word
        for (word, tag), counts in by_pair.items()
        if counts.total() >= _SEEN_WORD and _first(counts) != rest[tag]
    }
    rows: dict[tuple[Any, ...], int] = {(None, *rest): 0}
    group_of: dict[str, int] = {}
    choices: dict[tuple[int, int], int] = defaultdict(int)
    for word in sorted(own):
        row = []
        for tag in range(TAGS):
            counts = by_pair.get((word, tag), Counter())
            answer = answers.get(word, answers[""])[tag]
            if counts.total() >= _SEEN_WORD:
                row.append(_first(counts))
            else:
                row.append(answer if answer != answers[""][tag] else rest[tag])
        # A word with open tags is a group of its own, so that it may have weights of its own.
        unlike = word if any((word, tag) in opened for tag in range(TAGS)) else None
        group = rows.setdefault((unlike, *row), len(rows))
        group_of[word] = group
        for tag in range(TAGS):
            choices[group, tag] |= opened.get((word, tag), 0)
    if len(rows) > _MOST_GROUPS:
        raise TaggerError(
            f"{len(rows)} groups of words have coarse tags of their own, more than {_MOST_GROUPS}",
            help="raise the number of times that a word must be seen",
        )
    named = [word for word, group in group_of.items() if group]
    keys, first = np.unique(word_keys(named)[:, 1], return_index=True)
    table = np.array([row[1:] for row in rows], np.uint8)
    open_table = np.zeros(table.shape, np.int32)
    for place, bits in choices.items():
        open_table[place] = bits
    groups = np.array([group_of[named[place]] for place in first.tolist()], np.uint8)
    row_keys, weights = _learn_open(sentences, group_of, open_table, fine, lexicon)
    return CoarseLessons(keys.astype(np.uint32), groups, table, open_table, row_keys, weights)


def _first(counts: Counter[int]) -> int:
    """The most frequent; of equals the lowest."""
    return min(counts, key=lambda coarse: (-counts[coarse], coarse))


def _choices(counts: Counter[int]) -> int:
    """A bit for each coarse tag between which context is to decide; 0 where one prevails."""
    total = counts.total()
    least = max(_SEEN_WORD, _OPEN_SHARE * total)
    if total < _SEEN_OPEN or total - max(counts.values()) < least:
        return 0
    return sum(1 << coarse for coarse, count in counts.items() if count >= least or count >= 2)


def _learn_open(
    sentences: Sequence[Sentence],
    group_of: dict[str, int],
    choices: Any,
    fine: Sequence[str],
    lexicon: Lexicon,
) -> tuple[Any, Any]:
    """Keys and weights of features of the tokens that are open: an averaged perceptron again."""
    number = {tag: place for place, tag in enumerate(fine)}
    texts = sorted({word for sentence in sentences for word in sentence.words})
    context = dict(zip(texts, contexts_of(word_keys(texts), lexicon)[0].tolist(), strict=True))
    marks = landmarks(fine)
    examples = []
    for sentence in sentences:
        tags = np.array([number.get(tag, NO_TAG) for tag in sentence.fine], np.int64)
        contexts = np.array([context[word] for word in sentence.words], np.int64)
        groups = np.array([group_of.get(word.lower(), 0) for word in sentence.words], np.int64)
        keys = np.zeros((len(tags), COARSE_KEYS), np.int64)
        _keys_of_row(groups, tags, contexts, marks, keys)
        for place, (group, tag) in enumerate(zip(groups.tolist(), tags.tolist(), strict=True)):
            bits = int(choices[group, tag]) if tag != NO_TAG else 0
            right = COARSE.index(sentence.coarse[place]) if sentence.coarse[place] in COARSE else -1
            if right >= 0 and bits >> right & 1:
                allowed = [coarse for coarse in range(len(COARSE)) if bits >> coarse & 1]
                examples.append((keys[place].tolist(), allowed, right))
    weights: dict[tuple[int, int], float] = defaultdict(float)
    moved: dict[tuple[int, int], float] = defaultdict(float)
    generator = random.Random(0)  # noqa: S311 - an order, no secret
    step = 1
    for _ in range(_PASSES):
        generator.shuffle(examples)
        for seen, allowed, right in examples:
            step += 1
            scores = {c: sum(weights.get((key, c), 0.0) for key in seen) for c in allowed}
            rival = max((c for c in allowed if c != right), key=lambda c: (scores[c], -c))
            if scores[right] - scores[rival] < 1:
                for key in seen:
                    for coarse, by in ((right, 1), (rival, -1)):
                        weights[key, coarse] += by
                        moved[key, coarse] += by * step
    row_keys = sorted({key for key, _ in weights})
    place_of = {key: place for place, key in enumerate(row_keys)}
    averaged = np.zeros((len(row_keys), TAGS), np.float32)
    for (key, coarse), weight in weights.items():
        averaged[place_of[key], coarse] = _SCALE * (weight - moved[key, coarse] / step)
    return np.array(row_keys, np.int64), averaged


@kernel
def _keys_of_row(groups: Any, fine: Any, contexts: Any, marks: Any, keys: Any) -> None:
    for place in range(len(fine)):
        coarse_keys(groups[place], fine, contexts, marks, 0, place, len(fine), keys[place])
