"""Chunks and rows → tokens by spaCy's rules, which are data: one file a language; in plain Python.

Always holds: these are the tokens of spaCy's tokenizer; the tokens of a chunk lie one after another
and leave out nothing. White space is in no token. Lone surrogates are read as U+FFFD, one for one.

A chunk is cut in two passes. The first takes prefixes and suffixes off, until what is left is a
special case or has neither; then infixes cut it, unless it is a URL. The second looks for runs of
tokens that affixes alone make of a special case, and puts the special case in their place. It works
on rows: tokens of two chunks with one space between them may look like a special case too. Such a
run is not replaced, but it keeps runs that overlap it from being replaced. So a chunk on its own is
cut as it is in every row, except where the second pass changes it. Costs some 5 to 20 microseconds
a chunk.

A file of rules has this module's format and the hash of its own content, so a damaged one or one of
another version is an error and never a wrong token. It is read in two milliseconds; the regular
expressions, some ten milliseconds more for plain text and thirty for other characters, are compiled
when the first chunk needs them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

from sears_dsl.errors import TaggerError, readable

#: The version of the file, to be raised whenever its fields or their meaning change.
FORMAT = 1
#: The languages that ship with the package, and what they are called.
LANGUAGES = {"en": "english", "pt": "portuguese"}
#: Characters at the end of a string that decide about a suffix, runs of dots aside.
REACH = 24

_CHUNK = re.compile(r"\S+")


@dataclass(frozen=True)
class Patterns:
    """The regular expressions as text; `regex` compiles each when it is first needed."""

    prefix: str  # what is cut off at the start of a string
    suffix: str  # what is cut off at its end, of `REACH` characters; it ends with the string
    infix: str  # what cuts a string that has neither
    url: str  # whole strings that infixes do not cut


regex = cache(re.compile)


@dataclass(frozen=True)
class TokenizerTables:
    """What a tokenizer of spaCy's kind has to know about its language."""

    version: str
    language: str
    source: str
    patterns: Patterns
    # The same for plain strings, which compile much faster: sets name plain characters only. Plain
    # are ASCII and plain_marks.
    plain_patterns: Patterns
    plain_marks: str  # other characters that are common in text
    # Special cases: strings with fixed tokens, which joined are the string.
    specials: Mapping[str, tuple[str, ...]]
    # For special cases that an affix would cut: the tokens that affixes alone make of them, in
    # whose place the second pass puts the special case.
    joined: Mapping[str, tuple[str, ...]]
    units: tuple[str, ...]  # what is cut off after a digit
    # Single characters by what affixes do with them, see `training.tokenizer_tables`; none where
    # the kernels do not know the language's affixes
    classes: Mapping[str, str]

    def patterns_for(self, string: str) -> Patterns:
        """The patterns to be used on a string."""
        plain = string.isascii() or self._not_plain.search(string) is None
        return self.plain_patterns if plain else self.patterns

    @cached_property
    def _not_plain(self) -> re.Pattern[str]:
        return re.compile(rf"[^\x00-\x7f{self.plain_marks}]")

    @cached_property
    def longest_special(self) -> int:
        """Characters of the longest special case."""
        return max(map(len, self.specials), default=0)

    @cached_property
    def cutter(self) -> Cutter:
        """What cuts by these tables; all tokenizers of a language share it."""
        return Cutter(self)


def read_tables(path: Path) -> TokenizerTables:
    """The tables in a file; TaggerError where it is missing, damaged or of another version."""
    try:
        content = path.read_bytes()
        fields = json.loads(content)
        version = fields["format"]
    except OSError as error:
        raise _broken(path, f"cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise _broken(path, f"cannot be read: {error}") from error
    if version != FORMAT:
        raise _broken(path, f"has format {version}, but this version of sears reads {FORMAT}")
    if fields.get("hash") != hash_of_tables(content.partition(b"\n")[2]):
        raise _broken(path, "is damaged: its hash does not match its content")
    return TokenizerTables(
        version=f"{FORMAT}.{fields['hash']}",
        language=fields["language"],
        source=fields["source"],
        patterns=Patterns(**fields["patterns"]),
        plain_patterns=Patterns(**fields["plain_patterns"]),
        plain_marks=fields["plain_marks"],
        specials={string: tuple(tokens.split()) for string, tokens in fields["specials"].items()},
        joined={string: tuple(tokens.split()) for string, tokens in fields["joined"].items()},
        units=tuple(fields["units"].split()),
        classes=fields["classes"],
    )


def file_of_tables(language: str) -> Path:
    """The file of a language's tables, which is in the package for those of `LANGUAGES`."""
    return Path(__file__).with_name(f"{LANGUAGES.get(language, language)}.json")


@cache
def shipped_tables(language: str) -> TokenizerTables:
    """The tables of a language of `LANGUAGES`."""
    return read_tables(file_of_tables(language))


def hash_of_tables(content: bytes) -> str:
    """The hash of the lines of a file of tables, which its first line states."""
    return blake2b(content, digest_size=8).hexdigest()


def _broken(path: Path, what: str) -> TaggerError:
    return TaggerError(
        f"the table of the tokenizer, {path}, {what}",
        help="reinstall it: pip install --force-reinstall sears-dsl",
    )


# ---------------------------------------------------------------- cutting by them


class Cutter:
    """Cuts chunks and rows by tables."""

    def __init__(self, tables: TokenizerTables) -> None:
        self._tables = tables
        # The runs that the second pass looks for, by their first token.
        self._runs: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for special, tokens in tables.joined.items():
            self._runs.setdefault(tokens[0], []).append((special, tokens))
        self._closing: Sequence[str] = ()
        # The last character of a token and the first of the next one, in such a run.
        self._seams = {
            left[-1] + right[0]
            for tokens in tables.joined.values()
            for left, right in pairwise(tokens)
        }
        self._longest_run = max(map(len, tables.joined.values()), default=1)
        # Marks that are cut off behind a small letter, whatever stands before that.
        self._closing = [mark for mark in ",." if self.chunk(f"xx{mark}") == ([2, 3], False)]

    def chunk(self, chunk: str) -> tuple[list[int], bool]:
        """Where the tokens of a chunk end, and whether the second pass changed them."""
        if _is_word(chunk) and chunk not in self._tables.specials and chunk not in self._runs:
            return [len(chunk)], False
        if chunk[-1:] in self._closing and self._is_word_and_mark(chunk[:-1], chunk[-1:]):
            return [len(chunk) - 1, len(chunk)], False
        chunk = readable(chunk)
        ends = cut_affixes(chunk, self._tables, self._tables.specials)
        words = [chunk[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        if self._runs.keys().isdisjoint(words):
            return ends, False
        joined = self._join(words, [0, *ends[:-1]], ends)
        changed = [end for _, end in joined]
        return changed, changed != ends

    def _is_word_and_mark(self, word: str, mark: str) -> bool:
        """Whether plain letters, the last one small, and a closing mark are no special case."""
        # A run that begins with the mark needs more behind it: alone it would change `xx.` as well.
        return (
            _is_word(word)
            and word[-1].islower()
            and self._tables.specials.keys().isdisjoint((word, word + mark))
            and word not in self._runs
        )

    def cut(self, text: str) -> list[tuple[int, int]]:
        """First and one past the last character of each token of a row."""
        text = readable(text)
        words: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        before = 0
        for match in _CHUNK.finditer(text):
            first, chunk = match.start(), match.group()
            if text[before:first] != " " and words:
                # White space that spaCy makes a token of: nothing runs across it.
                words.append("")
                starts.append(before)
                ends.append(before)
            before = match.end()
            last = 0
            for end in cut_affixes(chunk, self._tables, self._tables.specials):
                words.append(chunk[last:end])
                starts.append(first + last)
                ends.append(first + end)
                last = end
        return [place for place in self._join(words, starts, ends) if place[0] < place[1]]

    def in_context(self, text: str, start: int, end: int) -> list[int] | None:
        """Where the tokens of a chunk end in its row, if its neighbours can matter; else None.

        Ends are counted from the chunk's start. A run that reaches into the chunk has fewer tokens
        outside of it than the longest run has, so no more of the row is looked at.
        """
        low, high = start, end
        if self._meets(text, start - 1):
            for _ in range(self._longest_run):
                if low < 2 or text[low - 1] != " " or text[low - 2].isspace():
                    break
                low -= 2
                while low and not text[low - 1].isspace():
                    low -= 1
        if self._meets(text, end):
            for _ in range(self._longest_run):
                if high + 1 >= len(text) or text[high] != " " or text[high + 1].isspace():
                    break
                high += 2
                while high < len(text) and not text[high].isspace():
                    high += 1
        if (low, high) == (start, end):
            return None
        places = self.cut(text[low:high])
        return [low + last - start for _, last in places if start < low + last <= end]

    def _meets(self, text: str, gap: int) -> bool:
        """Whether a run may cross this place."""
        return (
            0 < gap < len(text) - 1
            and text[gap] == " "
            and text[gap - 1] + text[gap + 1] in self._seams
        )

    def _join(
        self, words: Sequence[str], starts: Sequence[int], ends: Sequence[int]
    ) -> list[tuple[int, int]]:
        """The second pass: the places of the tokens after it."""
        replaced = dict(self._replacements(words, starts, ends))
        joined: list[tuple[int, int]] = []
        place = 0
        while place < len(words):
            if place not in replaced:
                joined.append((starts[place], ends[place]))
                place += 1
                continue
            special, after = replaced[place]
            first = starts[place]
            for token in self._tables.specials[special]:
                joined.append((first, first + len(token)))
                first += len(token)
            place = after
        return joined

    def _replacements(
        self, words: Sequence[str], starts: Sequence[int], ends: Sequence[int]
    ) -> Iterable[tuple[int, tuple[str, int]]]:
        """First token, special case and one past the last token of each run that is replaced."""
        runs = [
            (-len(tokens), place, special)
            for place, word in enumerate(words)
            for special, tokens in self._runs.get(word, ())
            if tuple(words[place : place + len(tokens)]) == tokens
        ]
        covered: set[int] = set()
        # The longest goes first, of equally long ones the leftmost; runs that lose cover, too.
        for minus_length, place, special in sorted(runs):
            after = place - minus_length
            if (
                place not in covered
                and after - 1 not in covered
                and ends[after - 1] - starts[place] == len(special)
            ):
                yield place, (special, after)
            covered.update(range(place, after))


def _is_word(chunk: str) -> bool:
    """Whether all of a chunk is plain letters."""
    return chunk.isascii() and chunk.isalpha()


def cut_affixes(chunk: str, tables: TokenizerTables, specials: Mapping[str, object]) -> list[int]:
    """The first pass: where the tokens of a chunk end, given the special cases that count."""
    patterns = tables.patterns_for(chunk)
    longest = tables.longest_special if specials else 0
    if _is_word(chunk) and chunk not in specials:
        return [len(chunk)]  # no affix is made of plain letters
    ends: list[int] = []
    suffixes: list[int] = []
    low, high = 0, len(chunk)
    while low < high:
        if high - low <= longest and chunk[low:high] in specials:
            break
        match = regex(patterns.prefix).match(chunk, low, high)
        after = low if match is None else match.end()
        if low < after < high <= after + longest and chunk[after:high] in specials:
            ends.append(after)
            low = after
            break
        before = _suffix(chunk, after, high, patterns)
        if low < before < high and before <= low + longest and chunk[low:before] in specials:
            suffixes.append(high)
            high = before
            break
        if after == low and before == high:
            break
        if after > low:
            ends.append(after)
            low = after
        if before < high:
            suffixes.append(high)
            high = before
    part = chunk[low:high]
    if part in specials:
        for token in tables.specials[part]:
            low += len(token)
            ends.append(low)
    elif part:
        ends.extend(low + end for end in _inside(part, patterns))
    ends.extend(reversed(suffixes))
    return ends


def _suffix(chunk: str, low: int, high: int, patterns: Patterns) -> int:
    """Where the suffix of a part of a chunk starts; its end if there is none."""
    first = max(low, high - REACH)
    match = regex(patterns.suffix).search(chunk[first:high])
    if match is not None and match.start() == 0 and first > low:
        first = low
        match = regex(patterns.suffix).search(chunk[first:high])
    return high if match is None else first + match.start()


def _inside(part: str, patterns: Patterns) -> Iterable[int]:
    """Where the tokens of a string without affixes end."""
    last = 0
    for first, after in _infixes(part, patterns):
        if first > last:
            yield first
        if after > first:
            yield after
        last = after
    if last < len(part):
        yield len(part)


def _infixes(part: str, patterns: Patterns) -> Iterable[tuple[int, int]]:
    """Places of the infixes that cut a string; one at its start does not."""
    if part.isascii() and part.isalnum():
        return  # no infix is a letter or a digit
    if "." in part and regex(patterns.url).match(part):  # no URL is without a dot
        return
    for match in regex(patterns.infix).finditer(part):
        if match.start():
            yield match.span()
