"""Ids that a file can hold: of found rules, made of their words, and of rules of other files.

No two rules that stand in one file have the same id. A name depends on the rule alone, but for a
few digits or a number that tell two rules apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import chain, count

from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Rule

_LONGEST = 60
_DIGITS = 6
# How signs without letters are spelled in the name of a rule.
_SIGNS = {
    "<>": "nothing", "<s>": "start", "</s>": "end", "->": "to", ",": "comma", ".": "period",
    "!": "exclamation", "?": "question", ":": "colon", ";": "semicolon", "-": "hyphen", "|": "or",
    "__": "", "/": "", "...": "dots", "&": "and", "%": "percent",
}  # fmt: skip
_PLAIN = re.compile(r"[a-z0-9]+")
# A token with several tests, and the keys and signs in it that are no words.
_BRACKETS = re.compile(r"\[[^\]]*\]")
_KEYS = re.compile(r"\b(?:text|lower|lemma|pos|tag)=| &(?= )")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
# What the language takes as an id, and what no id may have.
_VALID = re.compile(r"[A-Za-z0-9_][\w.-]*")
_FOREIGN = re.compile(r"[^\w.-]+")


def valid_id(name: str, *, front: str = "rule") -> str:
    """A name as an id, or as the name of a ruleset: what these may not have becomes a hyphen.

    ``front`` comes before a name that begins with a letter that no id may begin with.

    Example:
        >>> valid_id("her rules/m"), valid_id("<rules>/m"), valid_id("été", front="found")
        ('her-rules-m', 'rules-m', 'found-été')
    """
    if _VALID.fullmatch(name):
        return name
    plain = _FOREIGN.sub("-", name).strip(".-")
    return plain if _VALID.fullmatch(plain) else "-".join(filter(None, (front, plain)))


def valid_ids(names: Sequence[str], *, taken: Iterable[str] = ()) -> list[str]:
    """Names as ids, no two the same and none of them ``taken``; a valid name stays if it can.

    Example:
        >>> valid_ids(["a/m", "b/m", "a-m"]), valid_ids(["film"], taken=["film"])
        (['a-m-2', 'b-m', 'a-m'], ['film-2'])
    """
    return numbered([valid_id(name) for name in names], names, taken=taken)


def numbered(
    plain: Sequence[str], originals: Sequence[str], *, taken: Iterable[str] = ()
) -> list[str]:
    """Plain forms of names, with a number where two are the same.

    A name that is its own plain form keeps it.

    Example:
        >>> numbered(["a_b", "a_b"], ["a:b", "a_b"])
        ['a_b-2', 'a_b']
    """
    names: dict[int, str] = {}
    used = {*taken}
    for place in sorted(range(len(plain)), key=lambda place: plain[place] != originals[place]):
        others = (f"{plain[place]}-{number}" for number in count(2))
        names[place] = next(each for each in chain([plain[place]], others) if each not in used)
        used.add(names[place])
    return [names[place] for place in range(len(plain))]


def names_of(rules: Sequence[Rule]) -> list[str]:
    r"""A name for each rule, no two the same, made of the words of the rule.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> names_of(parse("What NOUN -> Which NOUN\n. -> !").rules)
        ['what-noun-to-which-noun', 'period-to-exclamation']
    """
    texts = [print_rule(rule) for rule in rules]
    words = [_words(text) for text in texts]
    counts = Counter(words)
    return [
        name if counts[name] == 1 or _shows_all(text) else f"{name}-{_digits(text)}"
        for name, text in zip(words, texts, strict=True)
    ]


def _words(text: str) -> str:
    """The words of a canonical rule, joined by hyphens."""
    words_alone = _BRACKETS.sub(lambda match: _KEYS.sub("", match[0]), text)
    change, slash, context = words_alone.partition(" / ")
    words = [_spell(token) for token in change.split(" ")]
    alone = "-".join(filter(None, words))
    if slash:
        left, _, right = context.partition("__")
        for word, side in (("after", left), ("before", right)):
            if side.strip():
                words += [word, *(_spell(token) for token in side.split())]
    name = "-".join(filter(None, words))
    if len(name) > _LONGEST:
        # The context is left out. What is too long even so is cut where a word ends, if any does.
        shown = alone or name
        if len(shown) > _LONGEST:
            shown = shown[: _LONGEST + 1].rpartition("-")[0] or shown[:_LONGEST]
        return f"{shown}-{_digits(text)}"
    return name if name and name[0].isalnum() else f"rule-{_digits(text)}"


def _spell(token: str) -> str:
    """A token of the rule in letters and digits."""
    token = _QUOTED.sub(r"\1", token)
    if token in _SIGNS:
        return _SIGNS[token]
    denied = token.startswith("!") and len(token) > 1
    alternatives = [_letters(each) for each in token.strip("!()").split("|")]
    spelled = "-or-".join(filter(None, alternatives))
    return f"not-{spelled}" if denied and spelled else spelled


def _letters(token: str) -> str:
    if token in _SIGNS:
        return _SIGNS[token]
    plain = unicodedata.normalize("NFKD", token).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain.replace("'", "")))


def _shows_all(text: str) -> bool:
    """Whether a rule's name shows all of it: words in small letters, replaced by other words."""
    words = text.replace(" -> ", " ", 1).split(" ")
    return all(_PLAIN.fullmatch(word) and word != "to" for word in words)


def _digits(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGITS // 2).hexdigest()
