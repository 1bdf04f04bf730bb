"""The shipped rules that read tags, and where they fire in gold-tagged sentences.

In: the shipped rulesets, sentences with gold tags. Out: `Rules`, `Sentences`. Always holds: rules
that read no tag take no part, since they fire alike under every tagger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.firing import Agreement, Firing, firings
from benchmarks.given_words import mapped_coarse
from benchmarks.gold import GoldSentence, gold_tokens, retagged
from sears_dsl.batch.provenance import reads_tags
from sears_dsl.catalogue import load_rulesets, shipped_rulesets
from sears_dsl.engine.matcher import Matcher, compile_rules
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.tagger import load_tagger
from sears_dsl.tagging.tokens import Tokens

__all__ = ["APART", "Rules", "Sentences"]

APART = ("paper", "rejected")
"""Themes whose rules serve for comparison or as bad examples, not for use."""


class Rules:
    """The shipped rules, compiled once, and what is known of each."""

    def __init__(self) -> None:
        names = [name for name in shipped_rulesets() if not name.startswith("noise/")]
        self.rulesets: dict[str, Ruleset] = {name: load_rulesets([name])[0] for name in names}
        rulesets = list(self.rulesets.values())
        self.matcher: Matcher = compile_rules(rulesets, tagger=load_tagger("spacy"))
        self.of = [name for name, each in self.rulesets.items() for _ in each.rules]
        self.names = [
            f"{name}: {rule_id}"
            for name, each in self.rulesets.items()
            for rule_id in each.rule_ids
        ]
        self.read_tags = np.array(
            [reads_tags(rule, each) for each in self.rulesets.values() for rule in each.rules]
        )

    def __len__(self) -> int:
        return len(self.names)

    def theme(self, *names: str) -> NDArray[np.bool_]:
        """The rules of some themes that read tags."""
        there = np.array([name.split("/")[0] in names for name in self.of])
        return np.asarray(there & self.read_tags)

    @property
    def main(self) -> NDArray[np.bool_]:
        """The rules that read tags and are meant to be used."""
        return np.asarray(self.read_tags & ~self.theme(*APART))

    @property
    def themes(self) -> list[str]:
        """The themes with rules that read tags."""
        names = dict.fromkeys(name.split("/")[0] for name in self.of)
        return [name for name in names if self.theme(name).any()]


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences, and where rules fire in them with gold tags: by gold, with and without places."""

    sentences: Sequence[GoldSentence]
    gold: Mapping[tuple[str, bool], set[Firing]]

    @classmethod
    def of(cls, sentences: Sequence[GoldSentence], rules: Rules) -> Sentences:
        """Compute the firings."""
        tokens = gold_tokens(sentences)
        golds = {"as is": tokens, "mapped": _mapped(sentences)}
        return cls(
            sentences,
            {
                (name, places): firings(rules.matcher, each, rules=rules.read_tags, places=places)
                for name, each in golds.items()
                for places in (False, True)
            },
        )

    @property
    def texts(self) -> list[str]:
        """Their texts."""
        return [sentence.text for sentence in self.sentences]

    def against(self, tokens: Tokens, gold: str, rules: Rules, *, places: bool) -> Agreement:
        """Compare with the firings under a tagger's tags."""
        return Agreement(
            self.gold[gold, places],
            firings(rules.matcher, tokens, rules=rules.read_tags, places=places),
            sentences=len(self.sentences),
            rules=len(rules),
        )


def _mapped(sentences: Sequence[GoldSentence]) -> Tokens:
    """Gold fine tags, and coarse tags made from them."""
    words = [sentence.words for sentence in sentences]
    tags = [
        [(coarse, word.fine) for word, coarse in zip(row, of_row, strict=True)]
        for row, of_row in zip(words, mapped_coarse(words), strict=True)
    ]
    return retagged(sentences, tags)
