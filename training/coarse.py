"""Fine tags → coarse tags, as spaCy's small English model maps them.

In: the attribute ruler of an installed model. Out: `CoarseTable`. Always holds: for every word and
fine tag the table gives the tag that the ruler gives. A ruler that looks at more than word and fine
tag is an error. Costs the second that loading the model takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sears_dsl.errors import TaggerError
from sears_dsl.tagging.fast.weights import folded_case, kinds_of_characters, spelling_key
from sears_dsl.tagging.spacy_tagger import needs_no_context

#: The universal tags, by their number.
COARSE = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
    "PUNCT", "SCONJ", "SYM", "VERB", "X",
)  # fmt: skip

#: The coarse tag of each fine tag, by word; "" stands for all words that no rule names.
Answers = Mapping[str, tuple[int, ...]]

# Stands for all words that no rule names.
_OTHERWISE = "otherwise"


class CoarseTable(NamedTuple):
    """Coarse tags by fine tag and group of words."""

    keys: Any  # uint32, sorted: `spelling_key`s of words that have a group of their own
    groups: Any  # uint8: the group of each of these words; all others are in group 0
    table: Any  # uint8 (groups, fine tags)


def ruler_answers(fine: Sequence[str], *, model: str) -> Answers:
    """The coarse tag that a model's ruler gives each fine tag, for each word that it names.

    A ruler that looks at more than a word in lower case and its fine tag is a TaggerError.
    """
    import spacy  # noqa: PLC0415 - seconds to import
    from spacy.tokens import Doc  # noqa: PLC0415

    nlp = spacy.load(model, exclude=["parser", "ner", "lemmatizer"])
    ruler: Any = nlp.get_pipe("attribute_ruler")
    if not needs_no_context(ruler.patterns) or any(
        {"ORTH", "TEXT"} & pattern.keys() for pattern in _first_tokens(ruler.patterns)
    ):
        raise TaggerError(
            f"the attribute ruler of {model} looks at more than a word and its fine tag",
            help="take en_core_web_sm 3.8",
        )
    words = {"": _OTHERWISE}
    for pattern in _first_tokens(ruler.patterns):
        named = pattern.get("LOWER", {"IN": []})
        for word in [named] if isinstance(named, str) else named["IN"]:
            words[word] = word
    return {
        name: tuple(
            COARSE.index(token.pos_)
            for token in ruler(Doc(nlp.vocab, words=[word] * len(fine), tags=list(fine)))
        )
        for name, word in sorted(words.items())
    }


def _first_tokens(rules: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The first token of each pattern that sets a coarse tag."""
    for rule in rules:
        if "POS" in rule["attrs"]:
            yield from (pattern[0] for pattern in rule["patterns"])


def coarse_table(answers: Answers) -> CoarseTable:
    """The answers by groups: words with the same answers share one."""
    groups = {answers[""]: 0}
    group_of = {
        key: groups.setdefault(answers[word], len(groups))
        for word, key in zip(answers, map(_key, answers), strict=True)
    }
    keys = sorted(key for key, group in group_of.items() if group)
    return CoarseTable(
        keys=np.array(keys, np.uint32),
        groups=np.array([group_of[key] for key in keys], np.uint8),
        table=np.array(list(groups), np.uint8),
    )


def _key(word: str) -> int:
    codes = np.array([ord(character) for character in word], np.uint32)
    return int(spelling_key(codes, 0, len(codes), kinds_of_characters(), folded_case()))
