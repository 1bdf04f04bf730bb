"""Syntax tree → canonical text, and the ids that are made of it.

Always holds: a literal is printed bare only where the parser would read it back as that literal,
and quoted elsewhere. What the language has no notation for is refused with `UsageError`. Costs
linear time, about 5 µs a plain rule.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sears_dsl.errors import UsageError, shortened
from sears_dsl.language import rule as syntax
from sears_dsl.language.measure import may_lack_a_colon
from sears_dsl.language.words import (
    KEYWORDS,
    WordPlace,
    begins_statement,
    is_bare_punctuation,
    objection,
    print_function,
    print_share,
    quote,
    strange_character,
)

_VALUE = re.compile(r"[^\s\"()\[\]{}|?&=][^\s\"()\[\]{}|?&]*")
_KEYWORD = re.compile(rf"(?:{'|'.join(sorted(KEYWORDS))})(?= )")
_LABEL = re.compile(r"[\w.-]+")
_ID_BYTES = 5
_MADE_ID = re.compile(r"r-[0-9a-f]{10,40}")
_LONG, _LONGEST = 40, 80
# Quoted text and regexes, which may hold anything, or else the mark before a context.
_BEFORE_CONTEXT = re.compile(r'"(?:\\.|[^"\\])*"|(?<![^\s(|:!])/(?:[^/\\\s]|\\\S)+/|( / )')
_HIDING = frozenset("?()[]{}|")


def rule_id(rule: syntax.Rule) -> str:
    """The id of a rule: the declared one, else ``r-`` and ten hex digits of its canonical text."""
    if rule.name is not None:
        return rule.name
    return _hashed(print_rule(rule), _ID_BYTES)


def rule_called(text: str, rule_id: str) -> str:
    """The name of a rule in reports: its two sides, and its id if that says more.

    The context is left out, and so is an id that hashes the text; another one replaces long sides.

    Example:
        >>> rule_called("movie -> film / a __ !NOUN", "film")
        'movie -> film … (film)'
        >>> rule_called("movie -> film", "r-3a9676e89a")
        'movie -> film'
    """
    sides, dots = _sides(text)
    known = "" if _MADE_ID.fullmatch(rule_id) else f" ({rule_id})"
    if known and len(sides) > _LONG:
        return rule_id
    return sides + dots + known


def rule_in_brief(text: str) -> str:
    """A rule as a table shows it beside its id: a long one without its context.

    Example:
        >>> rule_in_brief("movie -> film / a __ !NOUN")
        'movie -> film / a __ !NOUN'
        >>> rule_in_brief(f"movie -> film / a __ !({' | '.join(['NOUN'] * 20)})")
        'movie -> film …'
    """
    return text if len(text) <= _LONGEST else shortened("".join(_sides(text)), _LONGEST)


def _sides(text: str) -> tuple[str, str]:
    """The two sides of a rule, and what stands for its context if it has one."""
    context = next((each for each in _BEFORE_CONTEXT.finditer(text) if each[1]), None)
    return (text, "") if context is None else (text[: context.start()], " …")


def rule_ids(rules: Sequence[syntax.Rule]) -> tuple[str, ...]:
    """The ids of the rules of a file; different rules have different ones.

    In a file of a million rules, ten digits of two hashes are the same by chance once. The later
    rule then has twenty digits, so that no id depends on what follows it.
    """
    names = {rule.name for rule in rules if rule.name is not None}
    texts: dict[str, str] = {}
    ids: list[str] = []
    for rule in rules:
        if rule.name is not None:
            ids.append(rule.name)
            continue
        text = print_rule(rule)
        for size in (_ID_BYTES, 2 * _ID_BYTES, 4 * _ID_BYTES):
            name = _hashed(text, size)
            if name not in names and texts.setdefault(name, text) == text:
                break
        ids.append(name)
    return tuple(ids)


def _hashed(text: str, size: int, *, kind: str = "r") -> str:
    return f"{kind}-" + hashlib.blake2b(text.encode(), digest_size=size).hexdigest()


def print_rule(rule: syntax.Rule) -> str:
    """The rule line in canonical form, without id and metadata."""
    line = _line(rule)
    word = _KEYWORD.match(line)
    if word and (begins_statement(line) or may_lack_a_colon(rule)):
        # With a quantifier it is the same element, but not a keyword any more.
        return f"{word[0]}{{1}}{line[word.end() :]}"
    return line


def _line(rule: syntax.Rule) -> str:
    antecedent = _sequence(rule.antecedent, "sequence") or "<>"
    parts = [antecedent, "->", _consequent(rule.consequent) or "<>"]
    if rule.left or rule.right:
        left, right = _sequence(rule.left, "sequence"), _sequence(rule.right, "sequence")
        parts.extend(part for part in ("/", left, "__", right) if part)
    return " ".join(parts)


def _sequence(elements: Sequence[syntax.Element], place: WordPlace) -> str:
    out = ""
    previous: syntax.Element | None = None
    for element in elements:
        text = _element(element, place)
        if previous is not None and not _glues(previous, element, text):
            out += " "
        out += text
        previous = element
    return out


def _glues(previous: syntax.Element, element: syntax.Element, text: str) -> bool:
    """Whether the element can be written without a space before it, with the same meaning."""
    if not element.glued or element.name or not isinstance(element.body, syntax.Literal):
        return False
    before = previous.body
    if isinstance(before, syntax.Anchor | syntax.WholeUnit):
        return False
    if isinstance(before, syntax.Negation):
        before = before.operand
    word_before = isinstance(before, syntax.Literal) and not before.quoted
    if text[0] == '"':
        # Punctuation that could be an operator stands bare only before a space.
        return not (word_before and _HIDING & set(print_test(before)))
    # A word takes a clitic behind it for its end, and so does the value of a test.
    ends = word_before or isinstance(before, syntax.AttributeTest)
    plain = (previous.minimum, previous.maximum) == (1, 1)
    return text[0] in "'’" and len(text) > 1 and not (ends and plain)


def _element(element: syntax.Element, place: WordPlace) -> str:
    name = f"{element.name}:" if element.name else ""
    bounds = (element.minimum, element.maximum)
    if bounds == (1, 1):
        count = ""
    elif bounds == (0, 1):
        count = "?"
    else:
        low, high = bounds
        count = f"{{{low}}}" if low == high else f"{{{low},{high}}}"
    body = element.body
    if isinstance(body, syntax.Literal) and not body.quoted and (name or count):
        operator = count == "?" or body.text[:1] == "!" or _HIDING & set(body.text)
        quoted = count and operator and is_bare_punctuation(body)
        if quoted or (name and body.text[:1] == ":"):
            return name + quote(body.text) + count
    return name + print_test(body, place=place) + count


def print_test(test: syntax.Body, *, place: WordPlace = "sequence") -> str:
    """One test on a token, as it is written in an antecedent, a group or a set; also an anchor."""
    if isinstance(test, syntax.Literal):
        if test.quoted or objection(test.text, place) is not None:
            return quote(test.text) + ("i" if test.ignore_case else "")
        return test.text
    if isinstance(test, syntax.Tag):
        return test.name
    if isinstance(test, syntax.AttributeTest):
        return f"[{_attribute(test)}]" if test.negated else _attribute(test)
    if isinstance(test, syntax.Conjunction):
        return "[" + " & ".join(map(_attribute, test.tests)) + "]"
    if isinstance(test, syntax.Regex):
        return f"/{_pattern(test.pattern)}/" + ("i" if test.ignore_case else "")
    if isinstance(test, syntax.SetReference):
        return f"@{test.full_name}"
    if isinstance(test, syntax.Negation):
        operand = test.operand
        if isinstance(operand, syntax.Literal) and is_bare_punctuation(operand):
            return "!" + quote(operand.text)
        return "!" + print_test(operand, place=place)
    if isinstance(test, syntax.Group):
        return "(" + "|".join(_sequence(each, "group") for each in test.alternatives) + ")"
    if isinstance(test, syntax.Anchor):
        return "<s>" if test.side == "start" else "</s>"
    return "<unit>" if isinstance(test, syntax.WholeUnit) else "_"


def _attribute(test: syntax.AttributeTest) -> str:
    bare = _VALUE.fullmatch(test.value) and strange_character(test.value) is None
    operator = "!=" if test.negated else "="
    return test.attribute + operator + (test.value if bare else quote(test.value))


def _pattern(pattern: str) -> str:
    """The pattern with its slashes escaped and its white space spelled out."""
    escaped = re.sub(r"\\.|/", lambda match: "\\/" if match[0] == "/" else match[0], pattern)
    return re.sub(r"\\?(\s)", lambda match: f"\\x{{{ord(match[1]):x}}}", escaped)


def _consequent(pieces: Sequence[syntax.Piece]) -> str:
    out = ""
    previous: syntax.Piece | None = None
    for position, piece in enumerate(pieces):
        following = pieces[position + 1] if position + 1 < len(pieces) else None
        after = following if following is not None and following.glued else None
        before = previous if piece.glued else None
        if piece.glued and previous is None:
            out += "~"
        elif previous is not None and not piece.glued:
            out += " "
        out += _piece(piece, out, before, after)
        previous = piece
    return out


def _piece(
    piece: syntax.Piece, written: str, before: syntax.Piece | None, after: syntax.Piece | None
) -> str:
    """One piece; ``before`` and ``after`` are its neighbours, if they are glued to it."""
    if isinstance(piece, syntax.Text):
        bare = not piece.quoted and _stands_bare(piece.text, written, before, after)
        return piece.text if bare else quote(piece.text)
    if isinstance(piece, syntax.Inflected):
        bare = not piece.quoted and _stands_bare(piece.word, written, before, None)
        return f"{piece.word if bare else quote(piece.word)}.as(${piece.target})"
    if isinstance(piece, syntax.TagCopy):
        swallowed = isinstance(before, syntax.TagCopy | syntax.Drawn) or (
            isinstance(before, syntax.Reference)
            and (bool(before.functions) or isinstance(before.target, str))
            and not (before.functions and _has_amount(before))
        )
        if swallowed:
            raise UsageError(
                f"the tag `{piece.tag}` glued to a tag or a name cannot be written",
                help="put a space or text between them",
            )
        return piece.tag
    if isinstance(piece, syntax.Drawn):
        return f"@{piece.reference.full_name}"
    functions = (f".{print_function(function)}" for function in piece.functions)
    return "".join((f"${piece.target}", *functions))


def _stands_bare(
    text: str, written: str, before: syntax.Piece | None, after: syntax.Piece | None
) -> bool:
    """Whether the parser would read the text back as one text between these neighbours."""
    if objection(text, "consequent") is not None:
        return False
    if after is not None and (isinstance(after, syntax.TagCopy) or _HIDING & set(text)):
        return False
    if isinstance(before, syntax.TagCopy):
        return text[0] in "'’?{|)"
    if isinstance(before, syntax.Text) and written[-1] != '"':
        return text[0] in _HIDING
    if isinstance(before, syntax.Text):
        swallowed = r"i(?!\w)"
    elif isinstance(before, syntax.Drawn):
        swallowed = r"[A-Za-z0-9_]" if before.reference.module else r"\.[A-Za-z]|[A-Za-z0-9_]"
    elif not isinstance(before, syntax.Reference):
        return True
    elif before.functions:
        swallowed = r"\.[A-Za-z]|%" if _has_amount(before) else r"\.?[A-Za-z]"
    else:
        is_number = isinstance(before.target, int)
        swallowed = r"\.[A-Za-z]|[0-9]" if is_number else r"\.[A-Za-z]|[A-Za-z0-9_]"
    return re.match(swallowed, text) is None


def _has_amount(reference: syntax.Reference) -> bool:
    return print_function(reference.functions[-1])[-1] == ")"


def _metadata(metadata: syntax.Metadata) -> Iterator[tuple[str, str]]:
    """Key and text of the metadata lines in canonical order."""
    expect = metadata.expect
    if expect is not None:
        named = f" {_label(expect.label)}" if expect.kind == "label" else ""
        yield "expect", f"expect: {expect.kind}{named}"
    if metadata.label is not None:
        yield "label", f"label: {_label(metadata.label)}"
    if metadata.rate is not None:
        yield "rate", f"rate: {print_share(metadata.rate)}"
    if metadata.seed is not None:
        yield "seed", f"seed: {metadata.seed}"
    if metadata.severity is not None:
        yield "severity", f"severity: {metadata.severity}"
    if metadata.tags:
        yield "tags", "tags: " + " ".join(metadata.tags)
    if metadata.author is not None:
        yield "author", f"author: {quote(metadata.author)}"
    if metadata.why is not None:
        yield "why", f"why: {quote(metadata.why)}"
    for test in metadata.tests:
        expected = "none" if test.expected is None else quote(test.expected)
        yield "test", f"test {quote(test.text)} => {expected}"


def _label(label: str) -> str:
    return label if _LABEL.fullmatch(label) else quote(label)


def effect_lines(metadata: syntax.Metadata) -> list[str]:
    """The lines besides its own that decide what a rule does: ``expect``, ``rate``, ``seed``."""
    return [text for key, text in _metadata(metadata) if key in {"expect", "rate", "seed"}]


def template_ids(templates: Sequence[syntax.Template]) -> tuple[str, ...]:
    """The ids of templates: the declared names, or ``t-`` and ten digits of the canonical text."""
    return tuple(
        _hashed(print_template(each), _ID_BYTES, kind="t") if each.name is None else each.name
        for each in templates
    )


def print_template(template: syntax.Template) -> str:
    """The quoted text of a template, in canonical form, without id and metadata."""
    parts = (
        part.replace("{", "{{").replace("}", "}}") if isinstance(part, str) else print_slot(part)
        for part in template.parts
    )
    return quote("".join(parts))


def print_slot(part: syntax.Slot | syntax.SlotCopy) -> str:
    """A slot in its braces, as `print_template` writes it."""
    functions = "".join(f".{print_function(each)}" for each in part.functions)
    if isinstance(part, syntax.SlotCopy):
        return f"{{${part.name}{functions}}}"
    name = f"{part.name}:" if part.name else ""
    return f"{{{name}{part.reference.full_name}{'?' if part.optional else ''}{functions}}}"


def _statement(node: syntax.Statement) -> str:
    if isinstance(node, syntax.Template):
        name = f"{node.name}: " if node.name is not None else ""
        return f"template {name}{print_template(node)}"
    if isinstance(node, syntax.Rule):
        return f"rule {node.name}: {_line(node)}" if node.name is not None else print_rule(node)
    if isinstance(node, syntax.SetDefinition):
        members = " | ".join(print_test(member, place="group") for member in node.members)
        return f"set {node.name} = {members}"
    if isinstance(node, syntax.VersionLine):
        return f"sear {node.version}"
    if isinstance(node, syntax.HeaderLine):
        return f"ruleset {node.name} {node.version}"
    if isinstance(node, syntax.ImportLine):
        return f"import {quote(node.path)} as {node.name}"
    return f"option {node.name} = {node.value}"


def print_statements(statements: Iterable[syntax.Statement]) -> str:
    """A file of these statements, one a line, rules with metadata set off by blank lines."""
    return print_entries(set_apart(map(syntax.Entry, statements)))


def set_apart(entries: Iterable[syntax.Entry]) -> tuple[syntax.Entry, ...]:
    """The entries, with a blank line around rules with metadata and around all rules together."""
    apart: list[syntax.Entry] = []
    for entry in entries:
        nodes = [each.node for each in (*apart[-1:], entry)]
        described = [
            node.metadata != syntax.Metadata()
            for node in nodes
            if isinstance(node, syntax.Rule | syntax.Template)
        ]
        blank = any(described) or 0 < len(described) < len(nodes)
        missing = apart and blank and entry.leading[:1] != ("",)
        apart.append(replace(entry, leading=("", *entry.leading)) if missing else entry)
    return tuple(apart)


def print_entries(entries: Sequence[syntax.Entry], trailing: Sequence[str] = ()) -> str:
    """A file with its comments and blank lines; ends with a line break unless it is empty."""
    lines: list[str] = []
    for entry in entries:
        lines.extend(entry.leading)
        lines.append(_with_comment(_statement(entry.node), entry.comment))
        if isinstance(entry.node, syntax.Rule | syntax.Template):
            lines.extend(_metadata_lines(entry.node.metadata, entry.metadata))
    lines.extend(trailing)
    if lines[:1] == [""]:
        del lines[0]  # what was above it is gone
    return "".join(f"{line}\n" for line in lines)


def _metadata_lines(
    metadata: syntax.Metadata, layout: Sequence[syntax.MetadataEntry]
) -> Iterator[str]:
    by_key: dict[str, list[syntax.MetadataEntry]] = {key: [] for key in syntax.KEYS}
    for entry in layout:
        by_key[entry.key].append(entry)
    for key, text in _metadata(metadata):
        entry = by_key[key].pop(0) if by_key[key] else syntax.MetadataEntry(key)
        yield from entry.leading
        yield _with_comment("  " + text, entry.comment)


def _with_comment(line: str, comment: str) -> str:
    return f"{line}  {comment}" if comment else line


def distinct_ids(rulesets: Sequence[syntax.RuleSource]) -> tuple[str, ...]:
    """The ids of all rules; ids that several rules have get the name of their ruleset.

    Rulesets of one name are told apart by their paths, and ids that are still equal by a number.
    """
    plain = Counter(name for ruleset in rulesets for name in ruleset.rule_ids)
    named = [
        name if plain[name] == 1 else f"{whose}/{name}"
        for ruleset, whose in zip(rulesets, _distinct_names(rulesets), strict=True)
        for name in ruleset.rule_ids
    ]
    ids: dict[str, None] = {}
    for name in named:
        distinct, number = name, 1
        while distinct in ids:
            number += 1
            distinct = f"{name}-{number}"
        ids[distinct] = None
    return tuple(ids)


def _distinct_names(rulesets: Sequence[syntax.RuleSource]) -> list[str]:
    """The name of each ruleset; if several share it, as much of their paths as tells them apart.

    The same path twice stays the same.
    """
    paths = [Path(ruleset.path).with_suffix("").parts for ruleset in rulesets]
    names = [ruleset.name or parts[-1] for ruleset, parts in zip(rulesets, paths, strict=True)]
    of_name: dict[str, set[tuple[str, ...]]] = {}
    for name, parts in zip(names, paths, strict=True):
        of_name.setdefault(name, set()).add(parts)
    distinct = []
    for name, parts in zip(names, paths, strict=True):
        same = of_name[name]
        length = next(
            (n for n in range(1, len(parts)) if len({each[-n:] for each in same}) == len(same)),
            len(parts),
        )
        distinct.append(name if len(same) == 1 else Path(*parts[-length:]).as_posix())
    return distinct


def _shown(statement: Any) -> str:
    """A rule or a template in a line: its id, its text and its line in the file, if it has one."""
    try:
        if isinstance(statement, syntax.Rule):
            text = f"{rule_id(statement)}: {print_rule(statement)}"
        else:
            text = f"{template_ids([statement])[0]}: {print_template(statement)}"
    except UsageError:
        text = f"{statement.name or ''} has no notation".strip()
    line = "" if statement.span is None else f", line {statement.span.line}"
    return f"<{type(statement).__name__} {text}{line}>"


# A notebook shows them as they are written, and the tree itself cannot import what writes it.
for _kind in (syntax.Rule, syntax.Template):
    _kind.__repr__ = _shown  # type: ignore[method-assign]
