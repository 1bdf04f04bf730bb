"""Makes the tables of a language's tokenizer from an installed spaCy.

In: spaCy's data for a language. Out: a file such as ``sears_dsl/tagging/fast/english.json``.
Always holds: the same version of spaCy gives the same bytes. What our tokenizer assumes about the
rules is checked here; a spaCy that breaks an assumption gives an error and no file.
    python -m training.tokenizer_tables
    python -m training.tokenizer_tables --language pt
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from sears_dsl.errors import SearsError, TaggerError
from sears_dsl.runtime.files import write_atomically
from sears_dsl.tagging.fast.cutting import (
    FORMAT,
    Patterns,
    TokenizerTables,
    cut_affixes,
    file_of_tables,
    hash_of_tables,
    regex,
)

LICENCE = """\
The patterns and special cases are spaCy's.

The MIT License (MIT)

Copyright (C) 2016-2024 ExplosionAI GmbH, 2016 spaCy GmbH, 2015 Matthew Honnibal

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in
all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
THE SOFTWARE.
"""

MARKS = "‘’“”–—…"
# Characters that the kernels know by class: ASCII, Latin letters, typographic marks.
KNOWN = (
    [chr(code) for code in range(0x21, 0x7F)]
    + [chr(code) for code in range(0xC0, 0x180) if chr(code) not in "×÷"]
    + list(MARKS)
)
# An escape; or a set, holding characters or ranges.
_PART = re.compile(r"\\.|\[((?:\\.|[^\]\\])*)\]", re.DOTALL)
_CODE = r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})|([^\x00-\x7f])"
_RANGE = re.compile(f"(?:{_CODE})(?:-(?:{_CODE}))?")


_TABLES = (
    "name a language that spaCy cuts by prefixes, suffixes and special cases, such as en or pt"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file, or say why it cannot be written."""
    parser = argparse.ArgumentParser(description="Make a tokenizer's tables from spaCy.")
    parser.add_argument("--language", default="en", help="as spaCy names it: en, pt, fr, …")
    parser.add_argument("--out", type=Path, help="the file to write; by default the shipped one")
    options = parser.parse_args(arguments)
    try:
        fields = collect(options.language)
        write_atomically(options.out or file_of_tables(options.language), encode_tables(fields))
    except SearsError as error:
        sys.stderr.write(f"error: {error.render()}\n")
        return 2
    return 0


def encode_tables(fields: Mapping[str, Any]) -> bytes:
    """The content of a file of tables: a JSON object whose first line is the hash of the others."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=True)}"
        for name, value in {"format": FORMAT, **fields}.items()
    ]
    body = (",\n".join(lines) + "}\n").encode("ascii")
    return f'{{"hash": "{hash_of_tables(body)}",\n'.encode("ascii") + body


def collect(language: str = "en") -> dict[str, Any]:
    """The fields of the file, from the installed spaCy.

    Args:
        language: as spaCy names it.

    Raises:
        TaggerError: spaCy has no rules of the language, or of a kind that our tokenizer does not
            know.
    """
    import spacy  # noqa: PLC0415 - a second to import
    from spacy.lang import char_classes  # noqa: PLC0415 - likewise
    from spacy.tokenizer import Tokenizer  # noqa: PLC0415 - likewise

    try:
        own: Any = spacy.blank(language).tokenizer
    except ImportError as error:
        raise TaggerError(
            f"spaCy has no tokenizer of {language!r} here: {error}", help=_TABLES
        ) from error
    if not isinstance(own, Tokenizer):
        raise TaggerError(
            f"spaCy cuts {language!r} by {type(own).__name__}, not by tables", help=_TABLES
        )
    defaults = spacy.util.get_lang_class(language).Defaults
    prefixes = [str(piece) for piece in defaults.prefixes or () if str(piece).strip()]
    patterns = {
        "prefix": own.prefix_search.__self__.pattern,
        "suffix": own.suffix_search.__self__.pattern,
        "infix": own.infix_finditer.__self__.pattern,
        "url": own.url_match.__self__.pattern,
    }
    _demand(own.token_match is None, "it has a pattern for whole tokens")
    _demand(
        patterns["prefix"] == "|".join("^" + piece for piece in prefixes),
        "its prefixes are put together otherwise",
    )
    # Without its anchors a pattern can match anywhere in a string.
    patterns["prefix"] = "|".join(prefixes)
    plain = {name: _narrowed(pattern) for name, pattern in patterns.items()}
    specials: dict[str, str] = {}
    for special in sorted(own.rules):
        tokens = [_orth(own, token) for token in own.rules[special]]
        if special.isspace():
            _demand(tokens == [special], "it cuts white space")
            continue
        _demand(
            "".join(tokens) == special and len(special.split()) == 1 and all(tokens),
            f"its special case {special!r} has white space or other characters than its tokens",
        )
        specials[special] = " ".join(tokens)
    currency = [piece.replace("\\", "") for piece in char_classes.LIST_CURRENCY]
    fields: dict[str, Any] = {
        "language": language,
        "source": f"spaCy {metadata.version('spacy')}",
        "licence": LICENCE,
        "units": " ".join(dict.fromkeys(["+", *currency, *char_classes.LIST_UNITS])),
        "patterns": patterns,
        "plain_patterns": plain,
        "plain_marks": MARKS,
        "specials": specials,
    }
    rules = _tables(fields)
    joined = {special: _joined(special, rules) for special in specials}
    for special, run in joined.items():
        _demand(
            len(run) != 1 or specials[special] == special,
            f"its second pass changes the single token {special!r}",
        )
    fields["joined"] = {special: " ".join(run) for special, run in joined.items() if run}
    # The kernels know only English affixes; other languages are cut by the patterns.
    fields["classes"] = _classes(rules) if language == "en" else {}
    return fields


def _narrowed(pattern: str) -> str:
    """A pattern in which sets name plain characters only."""

    def plain(match: re.Match[str]) -> str:
        groups = [group for group in match.groups() if group]
        codes = [ord(group) if len(group) == 1 else int(group, 16) for group in groups]
        _demand(codes[0] > 0x7F, f"it writes {match[0]} for ASCII")
        return "".join(mark for mark in MARKS if codes[0] <= ord(mark) <= codes[-1])

    def narrow(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        _demand(not match[1].startswith("^"), f"it has the negated set {match[0]}")
        # `re` reserves two bars.
        marks = re.sub(r"\|+", "|", _RANGE.sub(plain, match[1]))
        return f"[{marks}]" if marks else "(?!)"

    return _PART.sub(narrow, pattern)


def _orth(own: Any, token: dict[int | str, str]) -> str:
    from spacy.attrs import ORTH  # noqa: PLC0415

    return token[ORTH] if ORTH in token else token["ORTH"]


def _tables(fields: dict[str, Any]) -> TokenizerTables:
    specials = {string: tuple(tokens.split()) for string, tokens in fields["specials"].items()}
    return TokenizerTables(
        version="",
        language=fields["language"],
        source=fields["source"],
        patterns=Patterns(**fields["patterns"]),
        plain_patterns=Patterns(**fields["plain_patterns"]),
        plain_marks=fields["plain_marks"],
        specials=specials,
        joined={},
        units=(),
        classes={},
    )


def _joined(special: str, rules: TokenizerTables) -> list[str]:
    """How affixes alone split a special case; empty if it contains none."""
    if not (
        regex(rules.patterns.prefix).match(special)
        or regex(rules.patterns.suffix).search(special)
        or regex(rules.patterns.infix).search(special)
    ):
        return []
    ends = cut_affixes(special, rules, {})
    return [special[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _classes(rules: TokenizerTables) -> dict[str, str]:
    """Known characters by what affixes do with them; kernels treat dots and leading plus signs.

    prefix, suffix: cut off wherever they begin or end a string. alpha: letters to infixes.
    before, after: a dot between two of these is an infix. closes: a dot after it is a suffix.
    capital: a dot after two of these is a suffix.
    """
    marks = [mark for mark in KNOWN if mark != "."]
    patterns = rules.patterns
    prefix, suffix, infix = map(regex, (patterns.prefix, patterns.suffix, patterns.infix))

    def second(match: re.Match[str] | None) -> bool:
        """Whether the match is the second character."""
        return match is not None and match.span() == (1, 2)

    closes = [mark for mark in marks if second(suffix.search(mark + "."))]
    capital = [mark for mark in marks if mark not in closes and suffix.search(2 * mark + ".")]
    classes = {
        "known": KNOWN,
        "prefix": [mark for mark in marks if mark != "+" and prefix.match(mark)],
        "suffix": [mark for mark in marks if second(suffix.search("a" + mark))],
        "alpha": [mark for mark in marks if second(infix.search(f"a,{mark}"))],
        "before": [mark for mark in marks if second(infix.search(f"{mark}.A"))],
        "after": [mark for mark in marks if second(infix.search(f"a.{mark}"))],
        "closes": closes,
        "capital": capital,
    }
    return {name: "".join(marks) for name, marks in classes.items()}


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise TaggerError(
            f"this spaCy's tokenizer differs in kind from ours: {otherwise}",
            help="install the version of spaCy that pyproject.toml asks for, or extend "
            "sears_dsl/tagging/fast/cutting.py",
        )


if __name__ == "__main__":
    sys.exit(main())
