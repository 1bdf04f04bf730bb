"""Notation of regular expressions and of other matchers that stops the parser.

Always holds: what it suggests is read. What the parser takes for plain words is told by
notations.py. Costs some patterns a refused line.
"""

from __future__ import annotations

import re

from sears_dsl.language.parsing.leaves import Finding, Reads
from sears_dsl.language.words import code, quote

_VALUES = re.compile(r"\[\s*(\w+)\s*(!?)=\s*([^\s\]&|]+(?:\|[^\s\]&|]+)+)\s*\]")
_WORD = r"[^\s\[\]{}()|,=&]+"
# Glued to an element, braces are a quantifier.
_ALTERNATIVES = re.compile(rf"(?:(?<!\S)\{{|[\[(])\s*({_WORD}(?:\s*[|,]\s*{_WORD})+)\s*[\]}})]")
_INLINE_FLAG = re.compile(r"\(\?([A-Za-z]+)\)([^\s()]*)")
_INNER_GROUP = re.compile(r"\(\?(?::|P?<(\w+)>)([^()?]+)\)")
_CHARACTERS = re.compile(r"(?<!\S)\[\^?\w*-[\w-]*\][*+?]?(?!\S)")
_LOOK_AROUND = re.compile(r"\(\?<?[=!][^\s()]*\)")
_SPACY = re.compile(r'\{\s*"(\w+)"\s*:\s*"([^"]*)"\s*\}')
_SPACY_NAMES = {"ORTH": "text", "TEXT": "text", "LOWER": "lower", "LEMMA": "lemma", "POS": "pos",
                "TAG": "tag"}  # fmt: skip


def borrowed_notation(line: str, position: int, reads: Reads, *, arrow: int) -> Finding | None:
    """What stopped the parser at ``position``, if it is notation of another tool.

    ``arrow`` is where the consequent begins.
    """
    right = position > arrow
    for pattern, explained in (
        (_VALUES, _list_of_values),
        (_INLINE_FLAG, _inline_flag),
        (_INNER_GROUP, _inner_group),
        (_CHARACTERS, _characters),
        (_SPACY, _spacy_test),
    ):
        match = _around(pattern, line, position)
        if match and not right:
            message, written, note = explained(match)
            if reads(f"{written} x -> y"):
                advice = f"write {code(written)}{note}"
                return Finding("E116", message, match.span(), advice)
    match = _around(_LOOK_AROUND, line, position)
    if match:
        advice = "what stands beside is a context: `movie -> film / !the __`"
        return Finding("E116", "a look-around", match.span(), advice)
    match = _around(_ALTERNATIVES, line, position)
    if match is None:
        return None
    words = re.split(r"\s*[|,]\s*", match[1])
    if right:
        rules = [f"{line[: match.start()]}{word}{line[match.end() :]}" for word in words]
        if all(map(reads, rules)):
            advice = "a consequent has no choices: write " + " and ".join(map(code, rules))
            return Finding("E105", "alternatives in the consequent", match.span(), advice)
        return None
    group = f"({'|'.join(words)})"
    if match[0][0] == "(" or not reads(f"{group} x -> y"):
        return None
    message = "alternatives that do not stand in parentheses"
    return Finding("E116", message, match.span(), f"write {code(group)}")


def _around(pattern: re.Pattern[str], line: str, position: int) -> re.Match[str] | None:
    """The match that contains the position."""
    matches = pattern.finditer(line)
    return next((match for match in matches if match.start() <= position <= match.end()), None)


def _list_of_values(match: re.Match[str]) -> tuple[str, str, str]:
    values = match[3].split("|")
    tests = values if match[1] in {"pos", "tag"} else [f"{match[1]}={value}" for value in values]
    mark = "!" if match[2] else ""
    return "a list of values in one test", f"{mark}({'|'.join(tests)})", ""


def _inline_flag(match: re.Match[str]) -> tuple[str, str, str]:
    word = match[2] if re.fullmatch(r"[A-Za-z]+", match[2]) else "movie"
    note = f"; a bare literal without a capital ignores case too: {code(word.lower())}"
    return "a flag of a regular expression", f"/{word}/i", note


def _inner_group(match: re.Match[str]) -> tuple[str, str, str]:
    name = f"{match[1]}:" if match[1] else ""
    return "a group of a regular expression", f"{name}({match[2]})", ""


def _characters(match: re.Match[str]) -> tuple[str, str, str]:
    return "characters of a regular expression", f"/{match[0]}/", ""


def _spacy_test(match: re.Match[str]) -> tuple[str, str, str]:
    name = _SPACY_NAMES.get(match[1].upper(), "lemma")
    value = match[2] if re.fullmatch(r"\w+", match[2]) else quote(match[2])
    return "a test of another matcher", f"{name}={value}", ""
