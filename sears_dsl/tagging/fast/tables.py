"""The rules of spaCy's tokenizers, as data: one file a language.

Always holds: the file has this module's format and the hash of its own content, so a damaged file
or one of another version is an error and never a wrong token. Costs two milliseconds; the regular
expressions, some ten milliseconds more for plain text and thirty for other characters, are compiled
when the first chunk needs them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sears_dsl.errors import TaggerError

#: To be raised whenever the file's fields or their meaning change.
FORMAT = 1
#: The languages that ship with the package, and what they are called.
LANGUAGES = {"en": "english", "pt": "portuguese"}
#: Characters at the end of a string that decide about a suffix, runs of dots aside.
REACH = 24


@dataclass(frozen=True)
class Patterns:
    """The regular expressions, each compiled when it is first needed."""

    prefix: str  # what is cut off at the start of a string
    suffix: str  # what is cut off at its end; it ends with the string
    infix: str  # what cuts a string that has neither
    url: str  # whole strings that infixes do not cut

    @cached_property
    def prefix_regex(self) -> re.Pattern[str]:
        """To be matched where a string starts."""
        return re.compile(self.prefix)

    @cached_property
    def suffix_regex(self) -> re.Pattern[str]:
        """To be searched in the last `REACH` characters of a string."""
        return re.compile(self.suffix)

    @cached_property
    def infix_regex(self) -> re.Pattern[str]:
        """To be found throughout a string."""
        return re.compile(self.infix)

    @cached_property
    def url_regex(self) -> re.Pattern[str]:
        """To be matched with a whole string."""
        return re.compile(self.url)

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Patterns:
        """Those in a file."""
        return cls(fields["prefix"], fields["suffix"], fields["infix"], fields["url"])


@dataclass(frozen=True)
class TokenizerTables:
    """What a tokenizer of spaCy's kind is told about its language."""

    version: str
    language: str
    source: str
    patterns: Patterns
    # The same for plain strings, compiled much sooner: sets name plain characters only. Plain are
    # ASCII and plain_marks
    plain_patterns: Patterns
    plain_marks: str  # other characters that are common in text
    # Strings that have tokens of their own; these make up the string
    specials: Mapping[str, tuple[str, ...]]
    # Of those special strings that an affix would cut: the tokens that affixes alone make of them,
    # which a second pass puts together again
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


def encode(fields: Mapping[str, Any]) -> bytes:
    """The content of a file of tables: a JSON object whose first line is the hash of the others."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=True)}"
        for name, value in {"format": FORMAT, **fields}.items()
    ]
    body = (",\n".join(lines) + "}\n").encode("ascii")
    return f'{{"hash": "{_hash(body)}",\n'.encode("ascii") + body


def read(path: Path) -> TokenizerTables:
    """The tables in a file; TaggerError where it is missing, damaged or of another version."""
    try:
        content = path.read_bytes()
        fields = json.loads(content)
        version = fields["format"]
    except OSError as error:
        raise _broken(path, f"could not be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise _broken(path, f"could not be read: {error}") from error
    if version != FORMAT:
        raise _broken(path, f"has the format {version}, this version of sears reads {FORMAT}")
    if fields.get("hash") != _hash(content.partition(b"\n")[2]):
        raise _broken(path, "is damaged: its hash is not that of its content")
    return TokenizerTables(
        version=f"{FORMAT}.{fields['hash']}",
        language=fields["language"],
        source=fields["source"],
        patterns=Patterns.of(fields["patterns"]),
        plain_patterns=Patterns.of(fields["plain_patterns"]),
        plain_marks=fields["plain_marks"],
        specials={string: tuple(tokens.split()) for string, tokens in fields["specials"].items()},
        joined={string: tuple(tokens.split()) for string, tokens in fields["joined"].items()},
        units=tuple(fields["units"].split()),
        classes=fields["classes"],
    )


def file_of(language: str) -> Path:
    """The file of a language's tables, which is in the package for those of `LANGUAGES`."""
    return Path(__file__).with_name(f"{LANGUAGES.get(language, language)}.json")


@cache
def shipped(language: str) -> TokenizerTables:
    """The tables of a language of `LANGUAGES`."""
    return read(file_of(language))


def _hash(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()


def _broken(path: Path, what: str) -> TaggerError:
    return TaggerError(
        f"the table of the tokenizer, {path}, {what}",
        help="install it again: pip install --force-reinstall sears-dsl",
    )
