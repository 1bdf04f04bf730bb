"""What went wrong in a line that the grammar refuses, told so that it can be mended.

In: the line, the position where the parser stopped and the terminals it could have taken there.
Out: one `Finding` that says what was met and what to write. Always holds: every refusal gets an
explanation; the first that fits is taken, from the most particular to the most general.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sears_dsl.language.metadata import KEYS
from sears_dsl.language.words import nearest, quote

__all__ = ["Finding", "explain"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic within one line: positions from 0, end exclusive."""

    code: str
    message: str
    start: int
    end: int
    help: str = ""

    def moved(self, offset: int) -> Finding:
        """The same finding after ``offset`` more characters."""
        return replace(self, start=self.start + offset, end=self.end + offset)


_KEYWORD_FORMS = {
    "sear": "sear 1",
    "ruleset": "ruleset NAME 1.0.0",
    "import": 'import "file.sear" as NAME',
    "option": "option NAME = VALUE",
    "set": "set NAME = a | b",
    "rule": "rule ID: antecedent -> consequent",
}
_ARROW = re.compile(r"(?<![^ \t])->(?=[ \t]|$)")
_OTHER_ARROW = re.compile(r"=>|→|⇒|⟶|—>|–>|-->|->")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_CALL = re.compile(r"([A-Za-z_]+)\(")


def explain(line: str, position: int, expected: frozenset[str], start: str) -> Finding:
    """The explanation for a refusal at ``position``; ``start`` is statement or metadata."""
    bare = _blank_quoted(line)
    if '"' in bare:
        # Outside of metadata a mark can stand alone, as a literal in quotes of its own.
        literal = r"\"" if start == "metadata" else r'"\""'
        return Finding(
            "E104",
            "a quoted string that does not end on its line",
            bare.index('"'),
            len(line),
            f'end it with "; the quotation mark itself is written {literal}',
        )
    if start == "metadata":
        return _metadata(line, bare, position)
    return (
        _keyword(line, bare, position)
        or _arrow(line, bare, position)
        or _local(line, bare, position)
        or _structure(line, bare, position, expected)
        or _fallback(line, position)
    )


def _blank_quoted(line: str) -> str:
    """The line with what is in quotes, and its comment, made blank; length kept."""
    bare = _QUOTED.sub(lambda match: "x" * len(match[0]), line)
    comment = re.search(r"(?:^|(?<=[ \t]))#", bare)
    if comment:
        bare = bare[: comment.start()] + " " * (len(bare) - comment.start())
    return bare


def _keyword(line: str, bare: str, position: int) -> Finding | None:
    """A header statement that is not complete, or one that is reserved."""
    first = re.match(r"[A-Za-z]+", line)
    word = first[0] if first else ""
    rule_like = _ARROW.search(bare) is not None
    if word == "template" and not rule_like:
        return Finding(
            "E502",
            "`template` is reserved, not yet part of the language",
            0,
            8,
            "sentences made from sets come with a later version",
        )
    if word == "label" and not rule_like:
        return Finding(
            "E503",
            "`label` is reserved, not yet part of the language",
            0,
            5,
            "labels of templates come with a later version",
        )
    form = _KEYWORD_FORMS.get(word)
    if form is None:
        return None
    if word == "rule":
        if re.match(r"rule[ \t]+[^\s:]*[ \t]+:|rule[ \t]+[^\s:]+:\S|rule:", bare) or not rule_like:
            return Finding(
                "E111",
                "an incomplete `rule` line",
                0,
                max(position, 4),
                f"write `{form}`, the colon after the id and a space after it",
            )
        return None
    if rule_like and word != "set":
        return None
    if rule_like and not re.match(r"set[ \t]+[^\s=]+[ \t]*=", bare):
        return None
    return Finding(
        "E111",
        f"an incomplete `{word}` statement",
        0,
        max(position, len(word)),
        f"write `{form}`; a rule about the word is written {quote(word)} ...",
    )


def _arrow(line: str, bare: str, position: int) -> Finding | None:
    """No arrow, an arrow that is not one, or nothing on one of its sides."""
    arrows = [match.start() for match in _ARROW.finditer(bare)]
    if not arrows:
        other = _OTHER_ARROW.search(bare)
        if other:
            return Finding(
                "E103",
                f"`{other[0]}` is no arrow here",
                other.start(),
                other.end(),
                "write -> with a space on both sides",
            )
        return None
    if not bare[: arrows[0]].strip():
        return Finding(
            "E110",
            "nothing before the arrow",
            0,
            2,
            "an insertion is written <> -> text / left __ right",
        )
    head = re.fullmatch(r"rule[ \t]+[^\s:]*:[ \t]*", bare[: arrows[0]])
    if head:
        return Finding(
            "E110",
            "nothing before the arrow",
            arrows[0],
            arrows[0] + 2,
            "an insertion is written <> -> text / left __ right",
        )
    if not bare[arrows[0] + 2 :].strip():
        return Finding(
            "E110",
            "nothing after the arrow",
            arrows[0],
            arrows[0] + 2,
            "a deletion is written ... -> <>",
        )
    if position > arrows[0] and re.match(r"[ \t]*->", bare[position:]):
        return Finding("E103", "a second arrow", position, len(line), 'quote it: "->"')
    return None


def _local(line: str, bare: str, position: int) -> Finding | None:
    """What the character that stopped the parser says by itself."""
    rest = bare[position:]
    arrow = _ARROW.search(bare)
    right = arrow is not None and position > arrow.start()
    character = rest[:1]
    word_start = max(bare.rfind(" ", 0, position), bare.rfind("\t", 0, position)) + 1
    word = bare[word_start:].partition(" ")[0].partition("\t")[0]
    word_end = word_start + len(word)
    if right and "__" not in bare and (call := _CALL.match(word)):
        return Finding(
            "E501",
            f"the function `{call[1]}` is not yet part of the language",
            word_start,
            word_end,
            "perturbations come with a later version; there are $1.lower .upper .cap, "
            "inflections and word.as($1)",
        )
    empty = re.search(r"(?<![^ \t])<>(?=[ \t]|$)", bare)
    if empty and empty.end() <= position and not re.search(r"[ \t]/[ \t]", bare[:position]):
        return Finding(
            "E110",
            "`<>` with something beside it",
            empty.start(),
            empty.end(),
            "`<>` means nothing at all and stands alone on its side",
        )
    if rest.lstrip().startswith("__") and not re.search(r"[ \t]/[ \t]", bare[:position]):
        place = bare.index("__", position)
        return Finding(
            "E109",
            "`__` outside a context",
            place,
            place + 2,
            "it marks the replaced span: antecedent -> consequent / left __ right",
        )
    if ".as(" in word:
        return Finding(
            "E116",
            f"`{word}` is no inflection",
            word_start,
            word_end,
            "write word.as($1) or word.as($name)",
        )
    if character == "|" and not right and not _unclosed(bare, position):
        return Finding(
            "E106",
            "alternatives outside parentheses",
            position,
            position + 1,
            f'write ({word}) for a choice; as a literal the bar is quoted: "|"',
        )
    if right and character and character in "?{" and "__" not in bare[:position]:
        return Finding(
            "E107",
            "a quantifier in the consequent",
            position,
            position + 1,
            f"the consequent is written once; a literal is quoted: {quote(word)}",
        )
    if character == "{":
        end = position + max(rest.find("}") + 1, 1)
        return Finding(
            "E107",
            f"`{line[position:end]}` is no quantifier",
            position,
            end,
            "write {m,n} without spaces, glued to its element",
        )
    if character == "?" and (position == 0 or bare[position - 1] in " \t(|!:"):
        return Finding(
            "E107",
            "a `?` before its element",
            position,
            position + 1,
            f"write {rest.split(maxsplit=1)[0][1:]}? for an optional element",
        )
    if character == "$":
        return Finding(
            "E119",
            "a reference in the antecedent",
            position,
            word_end,
            f"references stand after the arrow; a literal is quoted: {quote(word)}",
        )
    if right and character and character in "()[]{}|":
        return Finding(
            "E105",
            f"`{character}` glued to a word in the consequent",
            position,
            position + 1,
            f"quote the word: {quote(word)}",
        )
    return None


def _structure(line: str, bare: str, position: int, expected: frozenset[str]) -> Finding | None:
    """What the grammar could have taken says what is open."""
    opened = _unclosed(bare, position)
    rest = bare[position:].strip()
    context = re.search(r"[ \t]/(?:[ \t]|$)", bare)
    if "_CLOSE_BRACKET" in expected or "COMPARISON" in expected or "ATTRIBUTE_NAME" in expected:
        place = bare.rfind("[", 0, position + 1)
        return Finding(
            "E116",
            "a test in brackets that is not complete",
            max(place, 0),
            len(line),
            "write [name=value & name!=value] with text, lower, lemma, pos or tag",
        )
    if "ATTRIBUTE_VALUE" in expected:
        return Finding(
            "E116",
            "a test of an attribute without a value",
            position,
            len(line),
            'write lemma=be; a value with punctuation is quoted: text="?"',
        )
    if opened and ({"_BAR", "_CLOSE"} <= expected or "GROUP_PUNCTUATION" in expected):
        if rest[:1] in {"|", ")"}:
            return Finding(
                "E106",
                "an empty alternative",
                position,
                position + 1,
                "leave the bar out; `(a|b)?` makes the whole group optional",
            )
        return Finding(
            "E106",
            "a group that is not closed",
            opened[-1],
            opened[-1] + 1,
            'write (a b|c); a parenthesis as a literal is quoted: "("',
        )
    if rest[:1] == ")":
        return Finding(
            "E106",
            "a `)` that closes nothing",
            position,
            position + 1,
            'a group opens glued: (a b|c); as a literal it is quoted: ")"',
        )
    if context and position > context.start():
        return Finding(
            "E109",
            "a context that is not complete",
            context.start() + 1,
            len(line),
            "write / left __ right, with __ once for the replaced span",
        )
    if "_ARROW" in expected and not rest:
        return Finding(
            "E102", "a rule without an arrow", 0, len(line), "write antecedent -> consequent"
        )
    if "_WS" in expected and rest:
        return _glued(bare, position)
    return None


def _unclosed(bare: str, end: int) -> list[int]:
    """Positions of the parentheses before ``end`` that open a group and are not closed there."""
    opened: list[int] = []
    for place, character in enumerate(bare[:end]):
        if character == "(" and bare[place + 1 : place + 2].strip():
            opened.append(place)
        elif character == ")" and opened:
            opened.pop()
    return opened


def _glued(bare: str, position: int) -> Finding:
    word = bare[position:].split(maxsplit=1)[0]
    return Finding(
        "E117",
        f"`{word}` glued to what stands before it",
        position,
        position + len(word),
        "put a space between two elements; only 's and quoted text may be glued",
    )


def _metadata(line: str, bare: str, position: int) -> Finding:
    first = re.match(r"[A-Za-z_-]+", line)
    word = first[0] if first else ""
    if word == "test":
        return Finding(
            "E112",
            "a test that is not complete",
            0,
            len(line),
            'write test "in" => "out" or test "in" => none',
        )
    if word == "label":
        return Finding(
            "E503",
            "`label` is reserved, not yet part of the language",
            0,
            5,
            "what a rule does to the label is written expect: label NAME",
        )
    if _ARROW.search(bare):
        return Finding(
            "E113",
            "a rule that is indented",
            0,
            len(line),
            "statements start at the margin, metadata is indented under its rule",
        )
    if word in KEYS:
        return Finding(
            "E112", f"`{word}` without a value", 0, max(position, len(word)), f"write {word}: value"
        )
    return Finding(
        "E112",
        "an indented line that is no metadata",
        0,
        max(position, 1),
        f"write key: value; {nearest(word, KEYS)}",
    )


def _fallback(line: str, position: int) -> Finding:
    rest = line[position:].split()
    if not rest:
        return Finding(
            "E101",
            "the line ends too early",
            len(line),
            len(line) + 1,
            "write antecedent -> consequent",
        )
    return Finding(
        "E101",
        f"`{rest[0][:40]}` cannot stand here",
        position,
        position + len(rest[0]),
        f"as a literal it is quoted: {quote(rest[0][:40])}",
    )
