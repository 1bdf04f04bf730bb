"""The text on which rules are judged, and which of a rule's rewrites there are looked at.

Always holds: no text is there twice; places of one rule come with as many different neighbours as
there are before any neighbours come again, by turns from each source of text; everything falls by
hashes of texts, so that the order depends on nothing else and rules look at the same texts as far
as they can, which scorers make use of. Costs the tagging of the texts, and a run of the engine for
rules.
"""

from __future__ import annotations

import gzip
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from sears_dsl.effects.applications import mined_options
from sears_dsl.effects.flip_evidence import lots
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.errors import DataError
from sears_dsl.language.rule import Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.runtime.array_types import Int32Array
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens, separated

SAMPLE_HEADING = "# sears: a sample of English, version 1"
"""The first line of the shipped sample; a file with another one is not read."""

# Of the user's texts so many are taken, by lot: the sample of a rule's rewrites is small.
_MOST_TEXTS = 20_000


@cache
def english_sample() -> tuple[str, ...]:
    """The sentences that the package carries; ``training/english_text.py`` says what they are."""
    packed = files(__package__).joinpath("english_text.txt.gz").read_bytes()
    heading, *lines = gzip.decompress(packed).decode("utf-8").splitlines()
    if heading != SAMPLE_HEADING:
        raise DataError(
            f"the sample of English in this installation begins with {heading!r}",
            help="install sears-dsl again: its files are of different versions",
        )
    return tuple(line.partition("\t")[2] for line in lines)


@dataclass(frozen=True, eq=False)
class Places:
    """Rewrites of rules in a corpus."""

    # int64 (rules + 1,): the places of rule r are ``offsets[r]:offsets[r + 1]``, in the order in
    # which they are to be looked at; the others int32 (places,): the row, and the tokens that the
    # rule replaces
    offsets: NDArray[np.int64]
    rows: Int32Array
    starts: Int32Array
    ends: Int32Array
    texts: Sequence[str]  # for each place the row rewritten there
    # int64 (rules,): in how many rows each rule has an instance, looked at or not
    instances: NDArray[np.int64]

    def of_rule(self, rule: int) -> slice:
        """The places of one rule."""
        return slice(int(self.offsets[rule]), int(self.offsets[rule + 1]))


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts to judge rules on."""

    tokens: Tokens
    # int8 (texts,): 0 the rows of the search, 1 the user's other texts, 2 the sample
    sources: NDArray[np.int8]
    tagger: Tagger

    @classmethod
    def of(
        cls,
        rows: Sequence[str],
        text: Sequence[str] = (),
        *,
        tagger: Tagger,
        without: Collection[str] = (),
        sample: Sequence[str] | None = None,
    ) -> Corpus:
        """Put texts together, without some, such as held-out rows.

        The sample is one of the language; by default the shipped one, which is of English: with a
        tagger of another language there is none.
        """
        if len(text) > _MOST_TEXTS:
            order = np.argsort(lots(text, "judged"), kind="stable")[:_MOST_TEXTS]
            text = [text[each] for each in order.tolist()]
        if sample is None:
            sample = english_sample() if tagger.language == "en" else ()
        source_of: dict[str, int] = {}
        for source, texts in enumerate((rows, text, sample)):
            for each in texts:
                if each not in without and each.strip():
                    source_of.setdefault(each, source)
        tokens = separated(tagger.tag(list(source_of)))
        return cls(tokens, np.fromiter(source_of.values(), np.int8, len(source_of)), tagger)

    @cached_property
    def lots(self) -> NDArray[np.float64]:
        """Where each comes in the order in which texts are looked at: float64 (texts,)."""
        return lots(self.tokens.texts, "judged")

    @cached_property
    def halves(self) -> NDArray[np.bool_]:
        """Two halves by lot, bool (texts,): what is chosen on one is judged on the other."""
        return np.asarray(lots(self.tokens.texts, "half") < 0.5)

    def places(self, rules: Sequence[Rule], most: int, *, half: bool | None = None) -> Places:
        """What rules write at their first instance in a text of a half, or of all: so many each."""
        if not rules:
            none = np.zeros(0, np.int32)
            return Places(np.zeros(1, np.int64), none, none, none, [], np.zeros(0, np.int64))
        mined = Ruleset.from_rules(rules, options=mined_options(self.tagger))
        matcher = compile_rules([mined], tagger=self.tagger)
        matches = matcher.find(self.tokens)
        if half is not None:
            matches = matches.select(self.halves[matches.rows] == half)
        instances = np.bincount(matches.rules, minlength=len(rules)).astype(np.int64)
        order = self._order(matches.rules, matches.rows, matches.starts, matches.ends)
        rank = np.arange(len(order)) - (np.cumsum(instances) - instances)[matches.rules[order]]
        # A few more than wanted, since an instance may write what stands there already.
        sample = np.sort(order[rank < most + most // 4])
        chosen = matches.select(sample)
        ranks = np.empty(len(matches), np.int64)
        ranks[order] = rank
        rewrites = matcher.rewrites(self.tokens, chosen)
        distinct = rewrites.distinct()
        # Both are sorted by row and rule, and there is one instance of a rule in a row.
        size = len(rules)
        place = np.searchsorted(
            chosen.rows.astype(np.int64) * size + chosen.rules,
            rewrites.rows.astype(np.int64) * size + rewrites.rules,
        )
        by_rule = np.lexsort((ranks[sample][place], rewrites.rules))
        counts = np.bincount(rewrites.rules, minlength=size)
        mask = (
            np.arange(len(by_rule)) - (np.cumsum(counts) - counts)[rewrites.rules[by_rule]] < most
        )
        by_rule = by_rule[mask]
        offsets = np.zeros(size + 1, np.int64)
        np.cumsum(np.minimum(counts, most), out=offsets[1:])
        at = place[by_rule]
        texts = distinct.texts
        return Places(
            offsets,
            chosen.rows[at],
            chosen.starts[at],
            chosen.ends[at],
            [texts[each] for each in distinct.ids[by_rule].tolist()],
            instances - np.maximum(0, np.bincount(chosen.rules, minlength=size) - counts),
        )

    def _order(
        self, rules: Int32Array, rows: Int32Array, starts: Int32Array, ends: Int32Array
    ) -> NDArray[np.int64]:
        """Instances by rule, new neighbours first, the sources by turns."""
        kinds = np.append(self.tokens.type_ids, -1)
        first, last = self.tokens.row_offsets[rows], self.tokens.row_offsets[rows + 1]
        nothing = len(kinds) - 1
        before = kinds[np.where(starts > 0, first + starts - 1, nothing)].astype(np.int64)
        after = kinds[np.where(first + ends < last, first + ends, nothing)].astype(np.int64)
        types = len(self.tokens.types) + 1
        neighbours = (before + 1) * types + after + 1
        lots = self.lots[rows]
        again = _rank_within((rules, neighbours), lots)
        sources = self.sources[rows]
        turn = _rank_within((rules, again, sources), lots)
        return np.lexsort((lots, sources, turn, again, rules))


def _rank_within(
    keys: tuple[NDArray[np.integer], ...], lots: NDArray[np.float64]
) -> NDArray[np.int64]:
    """The place of each entry, by lot, among those with the same keys."""
    order = np.lexsort((lots, *reversed(keys)))
    new = np.ones(len(order), np.bool_)
    if len(order):
        new[1:] = np.logical_or.reduce([key[order][1:] != key[order][:-1] for key in keys])
    starts = np.flatnonzero(new)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
    return ranks
