r"""Colours for `.sear` files: a Pygments lexer and a TextMate grammar, from one table.

In: the text of a rule file, with or without errors. Out: a `Kind` for each stretch of it. Always
holds: no text is lost, and no line affects the colours of the next. In a file that parses, whatever
is coloured as a tag, a quoted literal, a set or a reference is one for the parser too (a test
checks this). Costs some microseconds a line. The patterns use only the syntax that Python's `re`
shares with Oniguruma, the engine of editors.

The table works line by line: what a mark begins ends with the line. The first `Mark` that matches
at a position wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pygments.lexer import RegexLexer, bygroups
from pygments.token import (
    Comment,
    Error,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
    _TokenType,
)

Kind: TypeAlias = Literal[
    "anchor", "arrow", "attribute", "bracket", "comment", "constant", "function", "id", "invalid",
    "key", "keyword", "name", "number", "operator", "plain", "quantifier", "reference", "regex",
    "set", "space", "string", "tag", "word",
]  # fmt: skip
"""What a stretch of text is. ``word`` is a bare literal, ``plain`` a value of metadata."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A pattern and the kind of the text it matches; several kinds are those of its groups.

    If ``inside`` names an entry of the table, that entry marks the rest of the line.
    """

    pattern: str
    kinds: tuple[Kind, ...]
    inside: str = ""


_GAP = r"([ \t]+)"
# Where an element ends, as in the grammar.
_END = r"(?=['’?{\"\s|)]|\$\w|$)"
_VALUE = r"([^\s\"()\[\]{}|?&]+)"
_COMMENT = Mark(r"(?<![^ \t\n])#.*", ("comment",))
_SPACE = Mark(r"[ \t]+", ("space",))
_STRANGE = Mark(r"[^\S \t\n]", ("invalid",))  # other white space is an error, E115
_STRING = Mark(r'"(?:[^"\\\n]|\\.)*"(?:i(?!\w))?', ("string",))
_ARROW = Mark(r"(?<=[ \t])->(?=[ \t]|$)", ("arrow",), "consequent")
_CONTEXT = Mark(r"(?<=[ \t])/(?=[ \t]|$)", ("arrow",), "context")
_SET = Mark(r"@[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z][A-Za-z0-9_]*)?", ("set",))
_TAG = Mark(r"(?:[A-Z][A-Z]+\$?|X)" + _END, ("tag",))

_ELEMENTS: tuple[Mark, ...] = (
    Mark(r"<>(?=\s|$)|</?s>(?=[?{\s|)]|$)|<unit>(?=[?{\s|)]|$)", ("anchor",)),
    Mark(r"[A-Za-z][A-Za-z0-9_]*:(?=[^\s:])", ("name",)),
    Mark(r"!(?=[^\s|)])", ("operator",)),
    _STRING,
    Mark(r"/(?:[^/\\\s]|\\\S)+/i?(?=['’?{\"\s|)]|$)", ("regex",)),
    _TAG,
    _SET,
    Mark(r"_(?=['’?{\"\s|)]|$)", ("anchor",)),
    # Attribute tests; inside brackets there may be spaces.
    Mark(
        r"([\[&])([ \t]*)(tag|pos)([ \t]*!?=[ \t]*)" + _VALUE,
        ("bracket", "space", "attribute", "operator", "tag"),
    ),
    Mark(
        r"([\[&])([ \t]*)([A-Za-z]+)([ \t]*!?=[ \t]*)",
        ("bracket", "space", "attribute", "operator"),
    ),
    Mark(r"(tag|pos)(!?=)" + _VALUE, ("attribute", "operator", "tag")),
    Mark(r"([A-Za-z]+)(!?=)(?=[^\s=])", ("attribute", "operator")),
    # Free-standing punctuation is a literal, an operator is glued to its operand.
    Mark(r"(?<![^\s(|])[!#-'*-/:-@\[-`{}~?]+(?=[\s|)]|$)", ("word",)),
    Mark(r"\?|\{[^\s{}]*\}", ("quantifier",)),
    Mark(r"[()|\[\]]", ("bracket",)),
    Mark(r"[^\s\"()\[\]{}|?]+", ("word",)),
    Mark(r"\S", ("word",)),
)
_INSIDE: Mapping[str, Sequence[Mark]] = {
    "file": (
        _COMMENT,
        Mark(
            r"^(sear)" + _GAP + r"([0-9]\S*)(?=[ \t]*(?:[ \t]#|$))", ("keyword", "space", "number")
        ),
        Mark(
            r"^(ruleset)" + _GAP + r"(\S+)" + _GAP + r"([0-9]\S*)(?=[ \t]*(?:[ \t]#|$))",
            ("keyword", "space", "id", "space", "number"),
        ),
        Mark(
            r"^(import)" + _GAP + r'("[^"\n]*")' + _GAP + r"(as)" + _GAP + r"(\S+)",
            ("keyword", "space", "string", "space", "keyword", "space", "id"),
        ),
        Mark(
            r"^(option)" + _GAP + r"([^\s=]+)([ \t]*)(=)([ \t]*)([^\s#]+)(?![^\"#\n]*[ \t]->[ \t])",
            ("keyword", "space", "key", "space", "operator", "space", "constant"),
        ),
        Mark(
            r"^(set)" + _GAP + r"([^\s=]+)([ \t]*)(=)(?![^\"#\n]*[ \t]->[ \t])",
            ("keyword", "space", "set", "space", "operator"),
            "antecedent",
        ),
        Mark(
            r"^(rule)" + _GAP + r"([^\s:\"]*)(:)(?=[ \t]|$)",
            ("keyword", "space", "id", "operator"),
            "antecedent",
        ),
        Mark(
            r"^(template)"
            + _GAP
            + r'(?:([^\s:"]+)(:)([ \t]*))?(?="(?:[^"\\\n]|\\.)*"[ \t]*(?:[ \t]#|$))',
            ("keyword", "space", "id", "operator", "space"),
            "template",
        ),
        Mark(r"^[ \t]+(?=[^\s#])", ("space",), "metadata"),
        Mark(r"^(?=[^\s#])", (), "antecedent"),
        _SPACE,
        _STRANGE,
    ),
    "antecedent": (_COMMENT, _ARROW, _SPACE, _STRANGE, *_ELEMENTS),
    "context": (
        _COMMENT,
        Mark(r"(?<![^ \t])__(?=[ \t]|$)", ("arrow",)),
        _SPACE,
        _STRANGE,
        *_ELEMENTS,
    ),
    "consequent": (
        _COMMENT,
        _CONTEXT,
        _SPACE,
        _STRANGE,
        Mark(r"<>(?=\s|$)", ("anchor",)),
        Mark(r"(?<=[ \t])~(?=\S)", ("operator",)),
        _STRING,
        _TAG,
        Mark(r"\$(?:[0-9]+|[A-Za-z][A-Za-z0-9_]*)", ("reference",)),
        Mark(
            r"(\.as)(\()(\$(?:[0-9]+|[A-Za-z][A-Za-z0-9_]*))(\))",
            ("function", "bracket", "reference", "bracket"),
        ),
        Mark(
            r"(?<=[\w)])(\.[A-Za-z]+)(\()([0-9.]+%?)(\))",
            ("function", "bracket", "number", "bracket"),
        ),
        Mark(r"(?<=[\w)])\.[A-Za-z]+", ("function",)),
        _SET,
        Mark(r"(?:(?!\.as\()[^\s\"()\[\]{}|?$]|\$(?![A-Za-z0-9]))+", ("word",)),
        Mark(r"\S", ("word",)),
    ),
    "template": (
        Mark(r"\{\{|\}\}", ("string",)),
        Mark(r"\{[^{}\n]*\}", ("constant",)),
        # Text inside the quotes, where the next quotation mark ends the line.
        Mark(r'(?:[^"{}\\\n]|\\.)+(?=(?:[^"\\\n]|\\.)*"[ \t]*(?:[ \t]#|$))|["{}]', ("string",)),
        _COMMENT,
        _SPACE,
        _STRANGE,
        Mark(r"\S", ("plain",)),
    ),
    "metadata": (
        _COMMENT,
        Mark(r"(test)([ \t]*)(?=\")", ("keyword", "space")),
        Mark(r"(=>)([ \t]*)(none)(?!\S)", ("arrow", "space", "constant")),
        Mark(r"=>", ("arrow",)),
        Mark(r"(expect:)" + _GAP + r"(same|flip|label)(?!\S)", ("key", "space", "constant")),
        Mark(r"(rate:|seed:)" + _GAP + r"([0-9.]+%?)(?!\S)", ("key", "space", "number")),
        Mark(r"(severity:)" + _GAP + r"(low|medium|high)(?!\S)", ("key", "space", "constant")),
        Mark(r"(?<=[ \t])[A-Za-z][A-Za-z0-9_-]*:(?!\S)", ("key",)),
        _SPACE,
        _STRANGE,
        _STRING,
        Mark(r"[^\s\"]+", ("plain",)),
        Mark(r"\S", ("plain",)),
    ),
}

# How Pygments calls each kind, and how the colour themes of editors do; empty for no colour.
_STYLES: Mapping[Kind, tuple[_TokenType, str]] = {
    "anchor": (Keyword.Constant, "constant.language"),
    "arrow": (Operator.Word, "keyword.operator.arrow"),
    "attribute": (Name.Attribute, "support.type.property-name"),
    "bracket": (Punctuation, "punctuation.section"),
    "comment": (Comment.Single, "comment.line.number-sign"),
    "constant": (Keyword.Constant, "constant.language"),
    "function": (Name.Function, "support.function"),
    "id": (Name.Label, "entity.name.function"),
    "invalid": (Error, "invalid.illegal"),
    "key": (Name.Property, "support.type.property-name"),
    "keyword": (Keyword.Declaration, "keyword.control"),
    "name": (Name.Variable, "variable.parameter"),
    "number": (Number, "constant.numeric"),
    "operator": (Operator, "keyword.operator"),
    "plain": (Text, "string.unquoted"),
    "quantifier": (Operator, "keyword.operator.quantifier"),
    "reference": (Name.Variable.Instance, "variable.other"),
    "regex": (String.Regex, "string.regexp"),
    "set": (Name.Constant, "variable.other.constant"),
    "space": (Whitespace, ""),
    "string": (String, "string.quoted.double"),
    "tag": (Name.Class, "entity.name.type"),
    "word": (Text, ""),
}


def _action(kinds: Sequence[Kind]) -> Any:
    if not kinds:
        return Text
    if len(kinds) == 1:
        return _STYLES[kinds[0]][0]
    return bygroups(*(_STYLES[kind][0] for kind in kinds))  # type: ignore[no-untyped-call]


def _pygments_states() -> dict[str, list[Any]]:
    states: dict[str, list[Any]] = {}
    for name, marks in _INSIDE.items():
        first = (r"\n", Whitespace) if name == "file" else (r"(?=\n)", Text, "#pop")
        states["root" if name == "file" else name] = [
            first,
            *((each.pattern, _action(each.kinds), each.inside or ()) for each in marks),
        ]
    return states


class SearsLexer(RegexLexer):
    """Pygments' lexer for `.sear` files, found by the name ``sears``.

    Example:
        >>> from pygments.token import Name
        >>> tokens = SearsLexer().get_tokens("What NOUN -> Which NOUN")
        >>> [text for kind, text in tokens if kind is Name.Class]
        ['NOUN', 'NOUN']
    """

    name = "sears"
    aliases = ["sears", "sear"]  # noqa: RUF012 - Pygments reads them off the class
    filenames = ["*.sear"]  # noqa: RUF012
    url = "https://aclanthology.org/P18-1079/"
    tokens = _pygments_states()


def textmate_grammar() -> dict[str, Any]:
    """The same colours as a TextMate grammar, for VS Code, Sublime Text, JetBrains and others.

    Example:
        >>> textmate_grammar()["scopeName"]
        'source.sears'
    """
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "sears",
        "scopeName": "source.sears",
        "fileTypes": ["sear"],
        "patterns": [{"include": "#file"}],
        "repository": {
            name: {"patterns": [_textmate(entry) for entry in entries]}
            for name, entries in _INSIDE.items()
        },
    }


def _textmate(entry: Mark) -> dict[str, Any]:
    named = {
        # A single kind is that of group 0, the whole match.
        str(number): {"name": f"{_STYLES[kind][1]}.sears"}
        for number, kind in enumerate(entry.kinds, start=len(entry.kinds) > 1)
        if _STYLES[kind][1]
    }
    if entry.inside:
        return {
            "begin": entry.pattern,
            "beginCaptures": named,
            "end": "$",
            "patterns": [{"include": f"#{entry.inside}"}],
        }
    return {"match": entry.pattern, "captures": named} if named else {"match": entry.pattern}
