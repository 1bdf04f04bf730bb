"""How English the words of a text look, by networks that have learned to find tampered words.

Always holds: the result for a text is the same, bit for bit, alone and in any batch. Evidence is
never negative, and 0 for a rewrite that equals its original.

A network gives each word the log-odds that somebody tampered with it or beside it. A word that is
certainly wrong, by closed classes and inflection tables (`sears_dsl.judge.mistakes`: *Katherine
hurt himself*, *he has wrote*), has at least `SURELY_WRONG`. ``training.grammar`` trained both
networks on good sentences and on the same sentences with the edits that mined rules make: other
forms, other function words, words left out, put in or moved. The small network (`networks`) is fast
and needs only its file. The deep one (`bert`) reads with the lower layers of a sentence
encoder, which has seen far more English. Texts are read in pieces of a few sentences (`PIECE`
words), each distinct one once, and the last `_MOST_PIECES` pieces stay in memory. The small network
loads in 0.1 s and takes some 45 microseconds a word on one core, the deep one 0.5 s and some 230.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.judge.changes import changes_of
from sears_dsl.judge.english import english
from sears_dsl.judge.mistakes import VERSION, mistakes
from sears_dsl.judge.networks import (
    LONG_DRAWN,
    GrammarFile,
    SmallNetwork,
    plain_word,
    read_grammar_file,
)
from sears_dsl.runtime.array_types import Float32Array, Floats
from sears_dsl.tagging.inflection import is_listed
from sears_dsl.tagging.tagger import load_tagger

if TYPE_CHECKING:
    from sears_dsl.judge.bert import DeepNetwork

#: A piece of a text ends with the sentence that reaches so many words, or after `_LONGEST` words.
PIECE = 30
_LONGEST = 80
#: Words on either side of a change that count as its place.
REACH = 4

#: What a word that does not exist adds to the surprise of a text.
UNKNOWN = 3.0

#: The least log-odds of a word that is certainly wrong.
SURELY_WRONG = 6.0

#: The columns of `Grammar.evidence`.
GRAMMAR: tuple[str, ...] = ("worse_place", "worse_word", "worse_text", "odd_place", "unknown_words")

SMALL = Path(__file__).with_name("grammar_en.npz")
DEEP = Path(__file__).with_name("grammar_deep_en.npz")

# Lower log-odds count as these.
_LEAST_ODDS = -8.0
_MOST_PIECES = 4096
_FEW = 4
# The last letter of the Latin script, except a few that no language of today needs.
_LAST_LATIN = "\u024f"
_ENGLISH = 0.6
_ENDS = frozenset(".!?")
_LOWER = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_LETTERS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


class _EncodedText(NamedTuple):
    """The words of a text, as a network sees them."""

    numbers: NDArray[np.int64]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    cuts: list[int]  # where its pieces begin and end
    unknown: tuple[str, ...]  # the words that do not exist
    wrong: list[int]  # the places of words that are certainly wrong


@dataclass(frozen=True, eq=False)
class Grammar:
    """A network with the words that are known to exist; `load_grammar` reads one."""

    network: SmallNetwork | DeepNetwork
    known: frozenset[str]
    common: frozenset[str]  # words of which an English text mostly consists
    identity: str  # the versions of `mistakes` and of the arithmetic, and the hashes of the files
    _memory: OrderedDict[bytes, Float32Array] = field(
        default_factory=OrderedDict, init=False, repr=False
    )

    def surprise(self, texts: Sequence[str]) -> Floats:
        """How much of each text looks tampered with; lower is better English.

        This is minus the log of the chance that no word was tampered with, plus `UNKNOWN` for each
        word that does not exist. It grows with the length, so only versions of one text compare. It
        is 0 for a text without words.
        """
        words = self._read(texts)
        odds = np.array([_softplus(some).sum() for some in self._logits(words)])
        return odds + UNKNOWN * np.array([len(text.unknown) for text in words], np.float64)

    def evidence(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """How much worse rewrites read than their originals; see `GRAMMAR` for the columns.

        ``worse_place``: by how much the surprise of the changed words and `REACH` words on either
        side has grown; ``worse_word``: by how much the log-odds of the most suspect of these words
        have grown; ``worse_text``: by how much the surprise of the text has grown; ``odd_place``:
        the log-odds of the most suspect of these words, above the least, whatever the original has;
        ``unknown_words``: how many words that do not exist it has and its original has not.

        Returns:
            float64 (pairs, columns), never negative, 0 for a rewrite that equals its original.
        """
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        place = {text: at for at, text in enumerate(texts)}
        words = self._read(texts)
        logits = self._logits(words)
        odds = [_softplus(some) for some in logits]
        columns = np.zeros((len(pairs), len(GRAMMAR)))
        for row, (original, rewrite) in enumerate(pairs):
            changes = changes_of(original, rewrite)
            if not changes:
                continue
            left, right = place[original], place[rewrite]
            old = _near(words[left], [(change.start, change.end) for change in changes])
            new = _near(words[right], [(change.first, change.last) for change in changes])
            worst_old = logits[left][old].max(initial=_LEAST_ODDS)
            worst_new = logits[right][new].max(initial=_LEAST_ODDS)
            columns[row] = (
                odds[right][new].sum() - odds[left][old].sum(),
                worst_new - worst_old,
                odds[right].sum() - odds[left].sum(),
                worst_new - _LEAST_ODDS,
                len(set(words[right].unknown) - set(words[left].unknown)),
            )
        return np.maximum(columns, 0.0)

    def forget(self) -> None:
        """Drop all pieces from memory."""
        self._memory.clear()

    def unknown_words(self, text: str) -> tuple[str, ...]:
        """Words of a text that do not exist: *cann't*, *stilln't*, *goodest*; each once, in order.

        Names, numbers, addresses, tags, words with a hyphen and words that are drawn out (*soooo*)
        pass; a word with an apostrophe must be known.
        """
        return self._read([text])[0].unknown

    def looks_english(self, text: str) -> bool:
        """Whether a text looks English: most of its words are common ones.

        Words with capitals do not count. With fewer than four others, a text passes unless there
        are two or three and none is common. A text mostly in another script than Latin does not.
        """
        foreign = sum(each > _LAST_LATIN and each.isalpha() for each in text)
        if 2 * foreign > sum(map(str.isalpha, text)):
            return False
        words = [word for word in _LOWER.findall(text.replace("’", "'")) if word.islower()]
        common = sum(word in self.common for word in words)
        if len(words) < _FEW:
            return common > 0 or len(words) < 2
        return common >= _ENGLISH * len(words)

    def _is_word(self, word: str) -> bool:
        plain = plain_word(word)
        if plain in english().misspelt:
            return False
        if plain in self.known or not _LETTERS.fullmatch(plain):
            return True
        short = LONG_DRAWN.sub(r"\1", plain)
        if short != plain and short in self.known:
            return True
        if "'" in plain:
            return False
        return word[0] != word[0].lower() or is_listed(plain)

    def _read(self, texts: Sequence[str]) -> list[_EncodedText]:
        tagger = load_tagger("fast")
        tokens = tagger.tokenize(texts)
        wrong = mistakes(tokens, tagger)
        words = tokens.types.texts()
        numbers = self.network.numbers(words)
        ends = np.array([word[-1] in _ENDS for word in words], np.bool_)
        unknown = np.array([not self._is_word(word) for word in words], np.bool_)
        cut_texts = []
        for row, (low, high) in enumerate(pairwise(tokens.row_offsets.tolist())):
            kinds = tokens.type_ids[low:high]
            cut_texts.append(
                _EncodedText(
                    numbers[kinds],
                    tokens.starts[low:high],
                    tokens.ends[low:high],
                    _cuts(ends[kinds]),
                    tuple(dict.fromkeys(words[kind] for kind in kinds[unknown[kinds]].tolist())),
                    wrong.get(row, []),
                )
            )
        return cut_texts

    def _logits(self, texts: Sequence[_EncodedText]) -> list[Float32Array]:
        """The log-odds of each word of each text; each distinct piece is read once."""
        pieces = [
            [text.numbers[low:high].tobytes() for low, high in pairwise(text.cuts)]
            for text in texts
        ]
        distinct = dict.fromkeys(piece for some in pieces for piece in some)
        by_piece = {piece: self._memory[piece] for piece in distinct if piece in self._memory}
        new = [piece for piece in distinct if piece not in by_piece]
        read = self.network.logits([np.frombuffer(piece, np.int64) for piece in new])
        self._memory.update(zip(new, read, strict=True))
        by_piece.update(zip(new, read, strict=True))
        while len(self._memory) > _MOST_PIECES:
            self._memory.popitem(last=False)
        none = np.zeros(0, np.float32)
        logits = [np.concatenate([none, *(by_piece[each] for each in some)]) for some in pieces]
        for text, text_logits in zip(texts, logits, strict=True):
            text_logits[text.wrong] = np.maximum(text_logits[text.wrong], SURELY_WRONG)
        return logits


def load_grammar(*, deep: bool = True) -> Grammar:
    """Load a grammar; each is loaded once in a process.

    The deep one reads with the sentence encoder, which is better and slower; the small one is
    enough to turn down most of what is bad. A file that is missing, damaged or of another version
    is a `DataError`; a missing encoder, or another one, is a `ModelError`.
    """
    return _loaded(deep)


@lru_cache(maxsize=2)
def _loaded(deep: bool) -> Grammar:
    return grammar_of(read_grammar_file(SMALL), read_grammar_file(DEEP) if deep else None)


def grammar_of(small: GrammarFile, deep: GrammarFile | None = None) -> Grammar:
    """Make a grammar of weight files that were read."""
    network: SmallNetwork | DeepNetwork = SmallNetwork(small)
    versions = [VERSION, small.digest]
    if deep is not None:
        # It brings an encoder that not everybody has installed.
        from sears_dsl.judge.bert import ARITHMETIC, DeepNetwork  # noqa: PLC0415

        network = DeepNetwork(deep)
        versions += [deep.digest, ARITHMETIC]
    return Grammar(
        network,
        known=frozenset(small.words) | frozenset(small.listed),
        common=frozenset(small.words[: int(small.about["common"])]),
        identity="-".join(versions),
    )


def _cuts(ends: NDArray[np.bool_]) -> list[int]:
    """Where the pieces of a text begin and end, given which words end a sentence."""
    cuts = [0]
    for at in range(len(ends)):
        size = at + 1 - cuts[-1]
        if size >= _LONGEST or (size >= PIECE and ends[at]):
            cuts.append(at + 1)
    if cuts[-1] < len(ends):
        cuts.append(len(ends))
    return cuts


def _near(text: _EncodedText, spans: Iterable[tuple[int, int]]) -> NDArray[np.bool_]:
    """Which words are changed, or within `REACH` words of a change."""
    near = np.zeros(len(text.numbers), np.bool_)
    for start, end in spans:
        first = int(np.searchsorted(text.ends, start, side="right"))
        last = int(np.searchsorted(text.starts, end, side="left"))
        near[max(0, first - REACH) : max(first, last) + REACH] = True
    return near


def _softplus(x: Float32Array) -> Floats:
    return np.logaddexp(0.0, x.astype(np.float64))
