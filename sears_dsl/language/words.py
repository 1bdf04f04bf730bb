"""How single words and amounts are written: which stand bare, how text is quoted, what 25% is.

In: a run of characters without white space and the place where it stands. Out: None, or the
objection to reading it as a literal. The parser reports the objection, and the printer quotes words
that have one, so the two never disagree. Always holds: a word without an objection is read back as
the same single literal in that place. A share is more than 0% and at most 100%, with at most four
decimals, so it is a whole number of millionths. Costs a few pattern matches a word, and one for a
plain word of letters.
"""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Literal as OneOf
from typing import TypeAlias

from sears_dsl.language.rule import FUNCTIONS, INFLECTIONS, Literal, Noise
from sears_dsl.language.tagsets import COARSE, FINE, WHITESPACE_TAGS

WordPlace: TypeAlias = OneOf["sequence", "group", "consequent"]


Problem: TypeAlias = tuple[str, str, str]
"""What is wrong with a word or a test: code, message and what to write."""

_PLAIN = re.compile(r"[A-Z]?[a-z]+|[0-9]+")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]+")
_PIECE = re.compile(r"[\w$]+")
_CAPTURE = re.compile(r"[A-Za-z][A-Za-z0-9_]*:")
_ATTRIBUTE = re.compile(r"[A-Za-z]+!?=")
_REFERENCE = re.compile(r"\$[A-Za-z0-9]")
# What would be read as the one-letter tag or the wildcard with something glued to it.
_TAG_OR_WILDCARD = re.compile(r"[X_](?:['’?{|)]|\$\w)")
_OPERATOR_START = {
    "!": "negates what follows",
    "/": "begins a pattern",
    "@": "begins the name of a set",
    "~": "glues to the left neighbour",
    "$": "begins a reference",
    "#": "begins a comment",
}
_MARKS = {
    "->": "the arrow",
    "/": "the beginning of a context",
    "<>": "nothing at all",
    "__": "the replaced span inside a context",
    "_": "the wildcard",
    "<s>": "the start of the unit",
    "</s>": "the end of the unit",
    "<unit>": "the whole unit",
}
_NOTATIONS = {
    "_": "a wildcard",
    "__": "the mark of a context",
    "<s>": "an anchor",
    "</s>": "an anchor",
    "<unit>": "a whole unit",
}
# Characters that cannot be seen, besides white space and controls.
_INVISIBLE = frozenset("\u00ad\u200b\u2060\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e")
_ESCAPED = re.compile("[\x7f-\x9f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060\ufeff]")

#: A quoted text that ends on its line.
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')

KEYWORDS = frozenset(("sear", "ruleset", "import", "option", "set", "rule"))
"""Words that begin a statement if the rest of the line looks like one."""

# What the grammar takes for another statement although it has an arrow: its terminals SEAR,
# RULESET, IMPORT, OPTION, SET and RULE_HEAD (tests hold them equal).
_STATEMENT = re.compile(
    r"sear[ \t]+[0-9]\S*[ \t]*(?:[ \t]#|$)|"
    r"ruleset[ \t]+(?!->[ \t])\S+[ \t]+[0-9]\S*[ \t]*(?:[ \t]#|$)|"
    r'import[ \t]+(?=")(?!"[^"]*"[^#]*[ \t]->[ \t])|'
    r'option[ \t]+(?=[^\s=]+[ \t]*=)(?![^"#]*[ \t]->[ \t])|'
    r'set[ \t]+(?=[^\s=]+[ \t]*=)(?![^"#]*[ \t]->[ \t])|'
    r'rule[ \t]+[^\s:"]*:(?=[ \t]|$)'
)


def begins_statement(line: str) -> bool:
    """Whether a rule written like this would be read as another statement."""
    return _STATEMENT.match(line) is not None


def nearest(word: str, known: Iterable[str]) -> str:
    """``did you mean X?`` with the nearest known word, or a list of all known words.

    Example:
        >>> nearest("NUON", ["NOUN", "VERB"])
        'did you mean NOUN?'
        >>> nearest("qqq", ["smart", "exact"])
        'choose one of: exact, smart'
    """
    choices = sorted(known)
    by_fold = {choice.casefold(): choice for choice in choices}
    close = difflib.get_close_matches(word.casefold(), by_fold, n=1, cutoff=0.5)
    if close:
        return f"did you mean {by_fold[close[0]]}?"
    return "choose one of: " + ", ".join(choices) if choices else ""


def quote(text: str) -> str:
    """The text as a quoted literal with JSON's escapes; invisible characters are spelled out."""
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def code(text: str) -> str:
    """The text as code in a line of help: between backquotes, more of them if it has some.

    Example:
        >>> code("a -> b"), code("`")
        ('`a -> b`', '`` ` ``')
    """
    fence = "`"
    while fence in text:
        fence += "`"
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def as_text(text: str) -> str:
    """Help for an author who means the text itself, and not what it is read as."""
    return f"to mean the text itself, quote it: {code(quote(text))}"


def strange_character(text: str) -> tuple[int, str] | None:
    """Position and name of the first character that must not stand outside quotes.

    These are controls, white space other than space and tab, and characters that cannot be
    seen: a rule with one would look right and never fire.
    """
    if text.isascii() and text.isprintable():
        return None
    for position, character in enumerate(text):
        strange = character in _INVISIBLE or character.isspace()
        strange = strange or unicodedata.category(character) in {"Cc", "Cs"}
        if strange and character not in " \t":
            name = unicodedata.name(character, "control character").lower()
            return position, f"U+{ord(character):04X} ({name})"
    return None


def tag_like(word: str) -> str | None:
    """The first run of two or more capitals that is a separate piece of the word.

    Example:
        >>> tag_like("CD-ROM"), tag_like("NOUN"), tag_like("U.S."), tag_like("TVs")
        ('CD', 'NOUN', None, None)
    """
    for piece in _PIECE.findall(word):
        bare = piece.partition("$")[0]  # a reference may stand behind a tag
        if len(bare) > 1 and bare.isupper() and bare.isalpha():
            return str(piece)
    return None


def is_bare_punctuation(literal: Literal) -> bool:
    """Whether a literal is unquoted ASCII punctuation, which may contain operators."""
    return not literal.quoted and _PUNCTUATION.fullmatch(literal.text) is not None


def objection(text: str, place: WordPlace) -> Problem | None:
    """Why this text cannot stand bare as a literal there, or None when it can."""
    if _PLAIN.fullmatch(text) and text != "X":
        return None
    if not text:
        return ("E105", "this literal is empty", "a literal needs at least one character")
    strange = strange_character(text)
    if strange or " " in text or '"' in text or "\t" in text:
        met = strange[1] if strange else "a space or a quotation mark"
        message = f"{met} is not allowed in a bare word"
        return ("E115", message, f"quote it: {code(quote(text))}")
    either = as_text(text)
    if text == "->" and place == "consequent":
        return ("E103", "a rule has only one arrow", either)
    notation = _notation(text) if place == "consequent" else None
    if notation:
        advice = "a consequent holds text, references such as `$1`, and tags of the antecedent"
        message = f"{notation} is not allowed in the consequent"
        return ("E119", message, f"{advice}\n{either}")
    if text in _MARKS:
        message = f"`{text}` means {_MARKS[text]} here, not the text itself"
        return ("E105", message, either)
    if text in WHITESPACE_TAGS:
        message = f"`{text}` is the tag of white space, which is not a token here"
        return ("E203", message, f"remove it; {either}")
    caps = "X" if text == "X" else tag_like(text)
    if caps is not None:
        if caps == text:
            return ("E201", f"`{text}` is not a tag", either)
        message = f"`{text}` mixes what looks like the tag `{caps}` with other characters"
        return ("E105", message, _beside_tag(text, caps, place, either))
    if _TAG_OR_WILDCARD.match(text):
        message = f"`{text[0]}` is a {'tag' if text[0] == 'X' else 'wildcard'} here"
        return ("E105", message, either)
    if _PUNCTUATION.fullmatch(text):
        return _punctuation(text, place, either)
    return _mixed(text, place, either)


# How similar a name must be to that of an inflection: `VBDD` is a slip of the pen, `NET` is not.
_NEAR = 0.7


def _beside_tag(text: str, tag: str, place: WordPlace, either: str) -> str:
    """What to write instead of a word with a tag in it."""
    rest = text.removeprefix(tag)
    if place != "consequent" and rest in {"+", "*"}:
        is_tag = tag in FINE or (tag in COARSE["ud2"] and tag in COARSE["sears2018"])
        repeated = f"{tag if is_tag else 'NOUN'}{{{'1' if rest == '+' else '0'},8}}"
        return f"to repeat an element at most eight times, use braces: {code(repeated)}\n{either}"
    word, dot, function = text.partition(".")
    if place == "consequent" and dot and word == tag:
        function = function if function in FUNCTIONS else "upper"
        return f"a function follows a reference: {code('$1.' + function)}\n{either}"
    near = difflib.get_close_matches(function, INFLECTIONS, n=1, cutoff=_NEAR)
    inflects = function == "AS" or bool(near)
    if place == "consequent" and inflects and re.fullmatch("[a-z]+", word):
        return f"to inflect a word like an element, write {code(word + '.as($1)')}\n{either}"
    return f"put a space beside the tag; {either}"


def _notation(text: str) -> str | None:
    """Which notation of the antecedent this word is, if any."""
    if text in _NOTATIONS:
        return _NOTATIONS[text]
    if text[0] in "@!" and text[1:2].isalpha():
        return "a set" if text[0] == "@" else "a negation"
    return "a pattern" if len(text) > 2 and text[0] == text[-1] == "/" else None


def _punctuation(text: str, place: WordPlace, either: str) -> Problem | None:
    """Free-standing punctuation is a literal, unless an operator could be meant."""
    if place == "consequent" and len(text) > 1:
        two_ways = f"`{text}` could be read in two ways"
        return ("E105", two_ways, either) if text[0] in "~#" else None
    if text[0] == "#":
        return ("E105", "`#` begins a comment", either)
    if place == "consequent":
        return None
    if place == "group" and set(text) & set("()|"):
        return ("E106", f"`{text}` is not allowed in a group", either)
    if len(text) == 1:
        return None
    if text[-1] == "?":
        other = quote(text[:-1]) + "?"
        message = f"`{text}` could be a literal or an optional `{text[:-1]}`"
        return ("E105", message, f"write {code(quote(text))} or {code(other)}")
    if text[0] == "!":
        other = "!" + quote(text[1:])
        message = f"`{text}` could be a literal or the negation of `{text[1:]}`"
        return ("E105", message, f"write {code(quote(text))} or {code(other)}")
    if text[0] in "/[~" or "(" in text:
        return ("E105", f"`{text}` could be read in two ways", either)
    return None


def _mixed(text: str, place: WordPlace, either: str) -> Problem | None:
    """The objection to a word of letters, digits or symbols in which an operator may hide."""
    first = text[0]
    inner = next((character for character in text if character in "()[]{}|?"), None)
    if inner:
        return ("E105", f"the word `{text}` contains `{inner}`", either)
    if first == "$" and place != "consequent" and _REFERENCE.match(text):
        return ("E119", "a reference is not allowed in the antecedent", either)
    if first in _OPERATOR_START and (first != "$" or _REFERENCE.match(text)):
        return ("E105", f"`{first}` {_OPERATOR_START[first]}", either)
    if first == "<" and text[-1] == ">":
        advice = f"a tag is written without < and >; the anchors are `<s>` and `</s>`\n{either}"
        return ("E105", f"`{text}` is not an anchor", advice)
    attribute = _ATTRIBUTE.match(text)
    if place == "consequent":
        if attribute and attribute[0].rstrip("!=") in {"text", "lower", "lemma", "pos", "tag"}:
            return ("E119", f"`{text}` tests a token and is not text", either)
        if _REFERENCE.search(text):
            return ("E105", f"`{text}` contains a reference", either)
        return None
    if attribute:
        return ("E105", f"`{text}` looks like a test of an attribute", either)
    capture = _CAPTURE.match(text)
    if text == "rule:":
        advice = f"write `rule ID: movie -> film`, or remove the word\n{either}"
        return ("E118", "`rule:` has no id after `rule`", advice)
    if capture:
        message = f"`{capture[0]}` is a name, but no element is glued to it"
        advice = f"write {code(capture[0] + 'NOUN')} without a space\n{either}"
        return ("E118", message, advice)
    return None


WHOLE = 1_000_000
"""All of something, in millionths."""

LARGEST_SEED = 2**63 - 1
"""The largest seed, of a run and of a rule: draws read the sum of the two as 64 bits."""

_PLACES = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_SHARE = re.compile(r"([0-9]{1,3})(?:\.([0-9]{1,4}))?%", re.ASCII)


def read_share(text: str) -> int | None:
    """A share in millionths; None if the text is not a share."""
    match = _SHARE.fullmatch(text)
    if match is None:
        return None
    share = int(match[1]) * 10_000 + int((match[2] or "").ljust(4, "0"))
    return share if 0 < share <= WHOLE else None


def print_share(share: int) -> str:
    """A share as it is written."""
    whole, rest = divmod(share, 10_000)
    decimals = f"{rest:04}".rstrip("0")
    return f"{whole}.{decimals}%" if decimals else f"{whole}%"


def read_places(text: str) -> int | None:
    """A number of places, at least 1; None if the text is not such a number."""
    return int(text) if _PLACES.fullmatch(text) else None


def print_function(function: str | Noise) -> str:
    """A function as it is written behind its reference, without the dot."""
    if isinstance(function, str):
        return function
    if function.share is not None:
        return f"{function.kind}({print_share(function.share)})"
    return function.kind if function.places == 1 else f"{function.kind}({function.places})"
