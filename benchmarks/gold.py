"""Gold-tagged sentences from CoNLL-U files, by which taggers are measured.

In: a CoNLL-U file with Penn tags in its fifth column. Out: sentences with their text, its kind, and
their words as `Token`s with gold tags. Always holds: the text has each word at its place; sentences
with a word that is misplaced or has no tag are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sears_dsl.tagging.tokens import Token, Tokens

__all__ = ["GoldSentence", "gold_tokens", "read_gold", "retagged"]


@dataclass(frozen=True, slots=True)
class GoldSentence:
    """A sentence as people tagged it.

    Attributes:
        name: its id in the file.
        text: the sentence as it was written.
        words: its words with coarse (UPOS) and fine (Penn) tags.
    """

    name: str
    text: str
    words: tuple[Token, ...]

    @property
    def genre(self) -> str:
        """The kind of text: what the id begins with, as in ``weblog-…`` or ``email-…``."""
        return self.name.split("-")[0]


def read_gold(path: Path) -> tuple[list[GoldSentence], int]:
    """The sentences of a file, and how many were left out."""
    sentences: list[GoldSentence] = []
    left_out = 0
    for block in path.read_text("utf-8").split("\n\n"):
        lines = block.splitlines()
        if not lines:
            continue
        fields = dict(line[2:].split(" = ", 1) for line in lines if line.startswith("# ") and
                    " = " in line)  # fmt: skip
        words = list(_words(lines, fields["text"]))
        if words and all(word is not None and word.fine != "_" for word in words):
            there = tuple(word for word in words if word is not None)
            sentences.append(GoldSentence(fields["sent_id"], fields["text"], there))
        else:
            left_out += 1
    return sentences, left_out


def _words(lines: Sequence[str], text: str) -> Iterator[Token | None]:
    """Syntactic words in order; None for a word that the text does not have at its place."""
    position = 0
    for line in lines:
        number, _, rest = line.partition("\t")
        if not number.isdecimal():  # a comment, a range (do-n't), an empty node
            continue
        form, _, coarse, fine = rest.split("\t")[:4]
        while text[position : position + 1].isspace():
            position += 1
        if not text.startswith(form, position):
            yield None
            return
        yield Token(form, coarse, fine, position, position + len(form))
        position += len(form)


def gold_tokens(sentences: Sequence[GoldSentence]) -> Tokens:
    """The sentences as a tagged batch, a row each."""
    return Tokens.from_rows(
        [sentence.text for sentence in sentences], [sentence.words for sentence in sentences]
    )


def retagged(
    sentences: Sequence[GoldSentence], tags: Sequence[Sequence[tuple[str, str]]]
) -> Tokens:
    """The same words with other (coarse, fine) tags."""
    rows = [
        [
            word._replace(coarse=coarse, fine=fine)
            for word, (coarse, fine) in zip(sentence.words, of_row, strict=True)
        ]
        for sentence, of_row in zip(sentences, tags, strict=True)
    ]
    return Tokens.from_rows([sentence.text for sentence in sentences], rows)
