"""Names of found rules, made of their words: ``not-to-nt``, ``what-noun-to-which-noun``.

In: rules without ids. Out: an id each, as the language takes them. Always holds: ids are ASCII, no
two are equal, and an id depends on its own rule alone. Only where rules differ in nothing but what
an id does not show (capitals, punctuation), each of them that is more than it shows has a few
digits of its text behind.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b

from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Rule

_LONGEST = 60
_DIGITS = 6
# How a rule reads where its signs have no letters; white space parts what is not joined.
_SIGNS = {
    "<>": "nothing", "<s>": "start", "</s>": "end", "->": "to", ",": "comma", ".": "period",
    "!": "exclamation", "?": "question", ":": "colon", ";": "semicolon", "-": "hyphen", "|": "or",
    "__": "", "/": "", "...": "dots", "&": "and", "%": "percent",
}  # fmt: skip
_PLAIN = re.compile(r"[a-z0-9]+")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


def names_of(rules: Sequence[Rule]) -> list[str]:
    r"""An id for each rule.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> names_of(parse("not -> ~n't\nWhat NOUN -> Which NOUN\nfilm -> <>").rules)
        ['not-to-nt', 'what-noun-to-which-noun', 'film-to-nothing']
        >>> names_of(parse("just -> only / (AUX|<s>) __ a").rules)
        ['just-to-only-after-aux-or-start-before-a']
        >>> names_of(parse("What -> Which\nwhat -> which").rules)
        ['what-to-which-e5b247', 'what-to-which']
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
    change, slash, context = text.partition(" / ")
    words = [_spell(token) for token in change.split(" ")]
    if slash:
        left, _, right = context.partition("__")
        for word, side in (("after", left), ("before", right)):
            if side.strip():
                words += [word, *(_spell(token) for token in side.split())]
    name = "-".join(filter(None, words))
    if len(name) > _LONGEST:
        return f"{name[:_LONGEST].rstrip('-')}-{_digits(text)}"
    return name if name and name[0].isalnum() else f"rule-{_digits(text)}"


def _spell(token: str) -> str:
    """A token of the rule in letters and digits."""
    token = _QUOTED.sub(r"\1", token)
    if token in _SIGNS:
        return _SIGNS[token]
    alternatives = [_letters(each) for each in token.strip("()").split("|")]
    return "-or-".join(filter(None, alternatives))


def _letters(token: str) -> str:
    if token in _SIGNS:
        return _SIGNS[token]
    plain = unicodedata.normalize("NFKD", token).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain.replace("'", "")))


def _shows_all(text: str) -> bool:
    """Whether nothing of a rule is lost in its name: words in small letters, replaced by others."""
    words = text.replace(" -> ", " ", 1).split(" ")
    return all(_PLAIN.fullmatch(word) and word != "to" for word in words)


def _digits(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGITS // 2).hexdigest()
