"""Parse trees of single lines → nodes of the syntax tree.

A tree is anything with `data` and `children`; leaves are strings with a `type` and positions.
Quoted strings and functions are read here, for metadata and templates too. Always holds: nesting
deeper than 20 is reported before it is followed. A node comes out whatever is reported. Notation of
antecedents is reported in a consequent, with what to write instead. Whether a function of a rule
exists is not checked here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, cast, get_args

from sears_dsl.errors import HALF_CHARACTER, Span
from sears_dsl.language import rule as syntax
from sears_dsl.language.measure import may_lack_a_colon
from sears_dsl.language.words import (
    WordPlace,
    code,
    is_bare_punctuation,
    nearest,
    objection,
    quote,
    read_places,
    read_share,
)

# A parse tree or a leaf of one; only parser.py knows the library that they come from.
Node: TypeAlias = Any

Place: TypeAlias = tuple[int, int]
"""Positions in a line, from 0, the second exclusive."""

Report: TypeAlias = Callable[[str, str, Place, str], None]
"""Called with the parts of a `Finding`."""


class Finding(NamedTuple):
    """A diagnostic within one line."""

    code: str
    message: str
    place: Place
    help: str = ""


Reads: TypeAlias = Callable[[str], bool]
"""Whether a line is read without an error, as everything that help suggests has to be."""

_WITHOUT_AMOUNT = (*syntax.NAMED_FUNCTIONS, "neighbor", "paraphrase")
_SHOWN = "$1.*"


def _amount(node: Node) -> Node | None:
    """The last function of a piece, if it has an amount."""
    last = getattr(node, "children", [None])[-1]
    return last if getattr(last, "type", "") == "FUNCTION" and last[-1] == ")" else None


def _target(text: str) -> int | str:
    # Numbers past six digits name no element; cutting them keeps the conversion cheap.
    return int(text[:6]) if text.isdigit() else text


_SIGNS: dict[str, syntax.Wildcard | syntax.Anchor | syntax.WholeUnit] = {
    "WILDCARD": syntax.Wildcard(), "START": syntax.Anchor("start"), "END": syntax.Anchor("end"),
    "UNIT": syntax.WholeUnit(),
}  # fmt: skip
_DEEPEST = 20
_ATTRIBUTES = get_args(syntax.AttributeName)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_PHRASE_PATTERN = re.compile(r"/(\w+(?: \w+)+)/(?!\S)")
_NAME_BEFORE = re.compile(r"[A-Za-z]\w*:$")
_RULE_NAME = re.compile(r"[A-Za-z0-9_][\w.-]*")


class Builder:
    """Turns the trees of one line into nodes; problems go to ``report``."""

    def __init__(self, source: str, line: int, report: Report, reads: Reads) -> None:
        self._source = source
        self._line = line
        self._report = report
        self._reads = reads

    def _span(self, node: Node) -> Span:
        place: Node = getattr(node, "meta", node)
        return Span(self._line, place.start_pos + 1, place.end_pos + 1)

    def _at(self, node: Node, code: str, message: str, hint: str) -> None:
        """Report what is wrong with a node, or with a leaf."""
        place: Node = getattr(node, "meta", node)
        self._report(code, message, (place.start_pos, place.end_pos), hint)

    def _report_objection(self, leaf: Node, place: WordPlace) -> None:
        """Report a word that cannot stand bare; the text around it may say more about why."""
        text, start = str(leaf), leaf.start_pos
        problem = objection(text, place)
        if problem is None:
            return
        number, message, _ = problem
        whole = _PHRASE_PATTERN.match(self._source, start) if text[0] == "/" else None
        before = _NAME_BEFORE.search(self._source[:start])
        if whole and place == "sequence":
            parts = " ".join(f"/{part}/" for part in whole[1].split())
            words = " ".join(
                quote(word) if objection(word, place) else word for word in whole[1].split()
            )
            self._report(
                number,
                f"{message}, and a pattern matches one token",
                (start, whole.end()),
                f"use a pattern for each token: {code(parts)}\n"
                f"plain words need no pattern: {code(words)}",
            )
        elif before and text[:2] == "//":
            address = quote(before[0] + text)
            advice = f"to mean the text itself, quote all of it: {code(address)}"
            self._at(leaf, number, message, advice)
        else:
            self._at(leaf, *problem)

    # ------------------------------------------------------------ statements

    def statement(self, tree: Node) -> syntax.Statement:
        """The node of a line at the margin."""
        node = tree.children[0]
        kind = str(node.data)
        if kind == "rule":
            return self.rule(node)
        words = node.children
        if kind == "template":
            head = str(words[0])[len("template") :].strip(" \t").removesuffix(":")
            if head:
                self._named(words[0], head, "a template", pattern=_RULE_NAME)
            quoted = text_of(words[1], self._report)
            parts = _template_parts(str(words[1]), words[1].start_pos, self._line, self._report)
            return syntax.Template(parts if quoted else (), head or None, span=self._span(node))
        if kind == "sear":
            return syntax.VersionLine(str(words[0]), self._span(node))
        if kind == "ruleset":
            self._named(words[0], words[0], "a ruleset", pattern=_RULE_NAME)
            if not re.fullmatch(r"\d+(\.\d+){0,2}([-+][A-Za-z0-9.-]+)?", words[1]):
                hint = "a version is numbers separated by dots, as in `ruleset demo 1.2.0`"
                self._at(words[1], "E214", f"`{words[1]}` is not a version", hint)
            return syntax.HeaderLine(str(words[0]), str(words[1]), self._span(node))
        if kind == "import":
            path = text_of(words[0], self._report)
            self._named(words[1], words[1], "an import")
            return syntax.ImportLine(path, str(words[1]), self._span(node))
        if kind == "option":
            value = self._span(words[1])
            return syntax.OptionLine(str(words[0]), str(words[1]), self._span(node), value)
        self._named(words[0], words[0], "a set")
        members = [self._member(child) for child in words[1:]]
        tests = tuple(each for each in members if each is not None)
        return syntax.SetDefinition(str(words[0]), tests, self._span(node))

    def _named(self, leaf: Node, name: str, what: str, *, pattern: re.Pattern[str] = _NAME) -> None:
        if not pattern.fullmatch(name):
            hint = "use only letters, digits and . _ -"
            if pattern is _NAME:
                hint = "start with a letter; use only letters, digits and underscores"
            self._at(leaf, "E214", f"`{name}` is not a valid name for {what}", hint)

    def _member(self, node: Node) -> syntax.Test | None:
        element = self.element(node, place="group", glued=False, depth=0)
        body = element.body
        if element.name or (element.minimum, element.maximum) != (1, 1):
            message = "a member of a set cannot have a name or a quantifier"
            self._at(node, "E111", message, "each member is a test on one token")
        if isinstance(body, syntax.Group | syntax.Anchor | syntax.WholeUnit):
            message = "a member of a set must be a test on one token"
            hint = "separate members by bars: `set NAME = a | b`; words in a row are a group in a "
            self._at(node, "E111", message, hint + "rule: `(a b|c)`")
            return None
        return body

    def rule(self, node: Node) -> syntax.Rule:
        """The node of a rule line; the caller adds the metadata of the lines after it."""
        children = list(node.children)
        name = None
        if getattr(children[0], "type", "") == "RULE_HEAD":
            head = children.pop(0)
            name = head[len("rule") : head.index(":")].strip()
            if not _RULE_NAME.fullmatch(name):
                place = head.start_pos, head.start_pos + head.index(":")
                hint = "use only letters, digits and . _ -, as in `rule wh-which: What -> Which`"
                self._report("E214", f"`{name}` is not a valid id", place, hint)
        contexts = {
            str(part.data): self._sequence(part, place="sequence", depth=0)
            for part in (children[2].children if len(children) == 3 else ())
            if getattr(part, "data", "") in {"left", "right"}
        }
        left, right = contexts.get("left", ()), contexts.get("right", ())
        antecedent = self._sequence(children[0], place="sequence", depth=0)
        pieces = tuple(self._pieces(children[1]))
        rule = syntax.Rule(antecedent, pieces, left, right, name, span=self._span(node))
        start = re.match(r"rule[ \t]+", self._source)
        if name is None and start and may_lack_a_colon(rule):
            self._forgotten_colon(start)
        return rule

    def _forgotten_colon(self, start: re.Match[str]) -> None:
        """Report `rule ID antecedent -> ...`, which reads as a rule about the word `rule`."""
        line = self._source
        named = _RULE_NAME.match(line, start.end())
        identifier = named[0] if named else "ID"
        body = line[named.end() if named else start.end() :].lstrip().removeprefix(":").lstrip()
        with_id = f"rule {identifier}: {body}"
        with_word = quote("rule") + line[len("rule") :]
        advice = "put a colon after the id: `rule ID: movie -> film`"
        if self._reads(with_id):
            advice = f"write {code(with_id)}"
        if self._reads(with_word):
            advice += f"\nto mean the text itself, quote it: {code(with_word)}"
        message = "this is a `rule` line without its colon, or a rule about the word `rule`"
        self._report("E111", message, (0, len("rule")), advice)

    # ------------------------------------------------------------ consequents

    def _pieces(self, node: Node) -> Iterator[syntax.Piece]:
        glued = False
        amount = None
        for child in node.children:
            kind = getattr(child, "type", "")
            if amount is not None and getattr(child, "data", "") == "glued_piece":
                self._beside_amount(amount, child)
            amount = _amount(child)
            if kind == "GLUE":
                glued = True
            elif kind != "EMPTY":
                yield self._piece(child, glued or child.data == "glued_piece")
                glued = False

    def _piece(self, node: Node, glued: bool) -> syntax.Piece:
        first, *rest = node.children
        span = self._span(node)
        if first.type == "TAG":
            return syntax.TagCopy(str(first), glued, span)
        if first.type == "REFERENCE":
            functions = tuple(map(self._function, rest))
            return syntax.Reference(_target(first[1:]), functions, glued, span)
        if first.type == "SET_REFERENCE":
            return syntax.Drawn(syntax.SetReference.called(first[1:]), glued, span)
        quoted, text = first.type == "QUOTED", text_of(first, self._report)
        if quoted and not text:
            self._at(first, "E104", "this text is empty", "to delete text, write `really -> <>`")
        elif not quoted and (problem := objection(text, "consequent")):
            self._at(first, *problem)
        if rest:
            return syntax.Inflected(text, _target(rest[0][len(".as($") : -1]), quoted, glued, span)
        return syntax.Text(text, quoted, glued, span)

    def _function(self, leaf: Node) -> str | syntax.Noise:
        return read_function(str(leaf[1:]), leaf.start_pos + 1, self._report, shown=_SHOWN)

    def _beside_amount(self, leaf: Node, after: Node) -> None:
        """Report `(25)%`, which would be an amount and text."""
        if str(after.children[0])[:1] == "%":
            name = leaf[1:].partition("(")[0]
            place = leaf.start_pos + len(name) + 1, after.meta.end_pos
            what = f"`{leaf[len(name) + 1 :]}%`"
            self._report(*no_amount(what, name, place, shown=_SHOWN))

    # ------------------------------------------------------------ antecedents

    def _sequence(self, node: Node, *, place: WordPlace, depth: int) -> tuple[syntax.Element, ...]:
        return tuple(
            self.element(child, place=place, glued=child.data == "glued_element", depth=depth)
            for child in node.children
            if getattr(child, "type", "") != "EMPTY"
        )

    def element(self, node: Node, *, place: WordPlace, glued: bool, depth: int) -> syntax.Element:
        """One element with its name, negation and quantifier."""
        name: str | None = None
        negations = 0
        body: syntax.Body = syntax.Wildcard()
        counts: list[Node] = []
        for child in node.children:
            kind = getattr(child, "type", "")
            if kind == "NAME":
                name = str(child)[:-1]
            elif kind == "NOT":
                negations += 1
            elif kind == "QUANTIFIER":
                counts.append(child)
            else:
                body = self._body(child, place=place, depth=depth)
                if negations and isinstance(body, syntax.Literal) and is_bare_punctuation(body):
                    text = "!" + child
                    message = f"`{text}` could be a literal or the negation of `{child}`"
                    hint = f"write {code(quote(text))} or {code('!' + quote(str(child)))}"
                    self._report("E105", message, (child.start_pos - 1, child.end_pos), hint)
        if negations > 1:
            self._at(node, "E306", "this negates a negation", "remove both")
        if negations and isinstance(body, syntax.WholeUnit):
            hint = "`<unit>` must be the whole antecedent: `<unit> -> $0.paraphrase`"
            self._at(node, "E325", "`<unit>` cannot be negated", hint)
            body = syntax.Wildcard()
        elif negations and isinstance(body, syntax.Anchor):
            hint = "only a test on a token can be negated"
            self._at(node, "E306", "an anchor cannot be negated", hint)
            body = syntax.Negation(syntax.Wildcard())
        elif negations:
            body = syntax.Negation(body)  # type: ignore[arg-type]
        minimum, maximum = self._count(counts)
        if minimum == 0 and isinstance(body, syntax.Literal) and is_bare_punctuation(body):
            body = replace(body, quoted=True)  # `.?'s` is the same rule as `"."?'s`
        return syntax.Element(body, minimum, maximum, name, glued, self._span(node))

    def _count(self, leaves: list[Node]) -> tuple[int, int]:
        if not leaves:
            return 1, 1
        first = leaves[0]
        if len(leaves) > 1:
            place = first.start_pos, leaves[-1].end_pos
            hint = "keep one: `x?` or `x{0,2}`"
            self._report("E107", "this element has two quantifiers", place, hint)
        if first == "?":
            return 0, 1
        match = re.fullmatch(r"\{([0-9]{1,6})(?:,([0-9]{1,6}))?\}", first)
        if match is None:
            self._at(first, "E107", f"`{first}` is not a quantifier", _bounds(first))
            return 1, 1
        return int(match[1]), int(match[2] or match[1])

    def _body(self, node: Node, *, place: WordPlace, depth: int) -> syntax.Body:
        kind = getattr(node, "type", None) or str(node.data)
        if kind in {"WORD", "CLITIC", "PUNCTUATION", "GROUP_PUNCTUATION"}:
            self._report_objection(node, place)
            return syntax.Literal(str(node))
        if kind == "TAG":
            return syntax.Tag(str(node))
        if kind == "QUOTED":
            return self._quoted(node)
        if kind in _SIGNS:
            return _SIGNS[kind]
        if kind == "SET_REFERENCE":
            return syntax.SetReference.called(node[1:])
        if kind == "REGEX":
            pattern, _, suffix = node[1:].rpartition("/")
            # Other escapes stay as they are.
            return syntax.Regex(re.sub(r"\\(/)|(\\.)", r"\1\2", pattern), suffix == "i")
        if kind == "attribute":
            return self._attribute(node.children[0], "=", node.children[1])
        if kind == "conjunction":
            return syntax.Conjunction(
                tuple(self._attribute(*each.children) for each in node.children[1:])
            )
        if depth == _DEEPEST:
            message = f"groups are nested more than {_DEEPEST} deep"
            self._at(node, "E114", message, "split the rule into several")
            return syntax.Group(((syntax.Element(syntax.Wildcard()),),))
        return syntax.Group(
            tuple(
                self._sequence(child, place="group", depth=depth + 1) for child in node.children[1:]
            )
        )

    def _quoted(self, leaf: Node) -> syntax.Literal:
        text = str(leaf)
        ignore_case = text.endswith("i")
        decoded = decode(text.removesuffix("i"), leaf.start_pos, self._report)
        if not decoded:
            hint = "to make it optional, write `very?` in a rule and `{DEGREE?}` in a template; to "
            hint += r'match a quotation mark, write `"\""`'
            self._at(leaf, "E104", "an empty literal matches no token", hint)
        elif decoded != decoded.strip():
            message = "a literal that starts or ends with a space matches no token"
            self._at(leaf, "E104", message, "remove the space")
        return syntax.Literal(decoded, quoted=True, ignore_case=ignore_case)

    def _attribute(self, name: Node, operator: str, value: Node) -> syntax.AttributeTest:
        attribute = name.rstrip("!=")
        if name.endswith("!=") and attribute in _ATTRIBUTES:
            hint = f"write {code(f'[{name}{value}]')} or {code(f'!{attribute}={value}')}"
            place = name.start_pos, value.end_pos
            self._report("E116", f"`{name}` is only allowed in brackets", place, hint)
        if attribute not in _ATTRIBUTES:
            hint = f"{nearest(attribute, _ATTRIBUTES)}\nquote a literal that has an equals sign"
            place = name.start_pos, name.start_pos + len(attribute)
            self._report("E204", f"`{attribute}` is not an attribute of a token", place, hint)
            attribute = "text"
        text = text_of(value, self._report)
        return syntax.AttributeTest(cast(syntax.AttributeName, attribute), text, "!" in operator)


def _bounds(quantifier: str) -> str:
    """Advice for a quantifier with one bound."""
    numbers = re.fullmatch(r"\{(\d?),(\d?)\}", quantifier)
    if numbers is None:
        return "a quantifier has both bounds or one number: `NOUN{1,3}`, `NOUN{2}`, `NOUN?`"
    low, high = numbers[1] or "0", numbers[2] or "8"
    return f"give both bounds, at most eight: {code(f'NOUN{{{low},{high}}}')}"


_TEMPLATE_PIECE = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]|(?:\\.|[^{}\\])+")
_SLOT_WORD = r"[A-Za-z][A-Za-z0-9_]*"
_CALLS = rf"((?:\.{_SLOT_WORD}(?:\([^()]*\))?)*)"
_SLOT = re.compile(
    rf"(?:({_SLOT_WORD}):)?({_SLOT_WORD})(?:\.({_SLOT_WORD})(?!\())?{_CALLS}(\?)?{_CALLS}"
)
_COPY = re.compile(rf"\$({_SLOT_WORD}){_CALLS}")
_CALL = re.compile(rf"\.({_SLOT_WORD}(?:\([^()]*\))?)")


def _template_parts(
    quoted: str, start: int, line: int, report: Report
) -> tuple[str | syntax.Slot | syntax.SlotCopy, ...]:
    """The parts of a template, ``"This {CATEGORY} movie is {DEGREE?} {GOOD}."``.

    Always holds: ``{{`` and ``}}`` are braces. What is not a slot is reported with its place, and
    the rest is read. Whether a set exists is not checked here.
    """
    parts: list[str | syntax.Slot | syntax.SlotCopy] = []
    text = ""
    for match in _TEMPLATE_PIECE.finditer(quoted, 1, len(quoted) - 1):
        piece, place = match[0], start + match.start()
        if piece in ("{{", "}}"):
            text += piece[0]
        elif piece[0] in "{}":
            part = _slot(piece, place, line, report)
            if part is not None:
                parts += [text, part] if text else [part]
                text = ""
        else:
            text += decode(f'"{piece}"', place, report)
    return (*parts, text) if text else tuple(parts)


def _slot(
    piece: str, place: int, line: int, report: Report
) -> syntax.Slot | syntax.SlotCopy | None:
    end = place + len(piece)
    if piece in ("{", "}"):
        message = "this slot is not closed" if piece == "{" else "this brace closes no slot"
        hint = "a slot is the name of a set in braces, as in `{CATEGORY}`; for a brace, write "
        report("E120", message, (place, end), hint + "`{{` or `}}`")
        return None
    inner = piece[1:-1].strip(" \t")
    begin = place + piece.index(inner) if inner else place
    span = Span(line, place + 1, end + 1)
    copy = _COPY.fullmatch(inner)
    if copy:
        return syntax.SlotCopy(copy[1], tuple(_slot_functions(copy, 2, begin, report)), span)
    slot = _SLOT.fullmatch(inner)
    if slot is None:
        hint = "make the choices a set, `set WHO = Uma | Bruce`, and write `{WHO}`"
        if "|" not in inner:
            hint = "a slot is the name of a set, `{CATEGORY}`; it can be named, `{who:NAME}`, be "
            hint += "optional, `{DEGREE?}`, or repeat a named slot, `{$who}`"
        report("E120", f"{code(piece)} is not a slot", (place, end), hint)
        return None
    # `w.DEGREE.cap`: an import, a set, a function; `DEGREE.cap`: a set and a function.
    second = slot[3] or ""
    calls: list[str | syntax.Noise] = []
    reference = syntax.SetReference(second, slot[2]) if second else syntax.SetReference(slot[2])
    if second in syntax.FUNCTIONS:
        reference = syntax.SetReference(slot[2])
        calls += _slot_function(second, begin + slot.start(3), report)
    calls += [*_slot_functions(slot, 4, begin, report), *_slot_functions(slot, 6, begin, report)]
    return syntax.Slot(reference, slot[1], slot[5] is not None, tuple(calls), span)


def _slot_functions(
    slot: re.Match[str], group: int, begin: int, report: Report
) -> Iterator[str | syntax.Noise]:
    for call in _CALL.finditer(slot[group]):
        yield from _slot_function(call[1], begin + slot.start(group) + call.start(1), report)


def _slot_function(written: str, start: int, report: Report) -> Iterator[str | syntax.Noise]:
    """The function of a slot, or nothing if none has its name, which is reported."""
    name = written.partition("(")[0]
    if name in syntax.FUNCTIONS:
        yield read_function(written, start, report, shown="{NAME.*}")
    else:
        hint = nearest(name, syntax.FUNCTIONS)
        report("E208", f"`.{name}` is not a function", (start - 1, start + len(written)), hint)


# ---------------------------------------------------------------- leaves


def decode(quoted: str, start: int, report: Report) -> str:
    """The text of a quoted literal (without suffix ``i``); reports escapes that are not JSON's."""
    place = start, start + len(quoted)
    try:
        text = json.loads(quoted, strict=False)
    except ValueError:
        hint = r"the escapes are \" \\ \/ \b \f \n \r \t and \u with four hex digits"
        report("E104", "this escape is unknown", place, hint)
        return "?"
    if HALF_CHARACTER.search(text):
        report("E104", "half of a surrogate pair", place, "use the character itself")
        return "?"
    return cast(str, text)


def text_of(leaf: Node, report: Report) -> str:
    """The text of a word, or of a quoted string where the suffix ``i`` has no meaning."""
    text = str(leaf)
    if leaf.type != "QUOTED":
        return text
    if text.endswith("i"):
        hint = "remove it: only a literal that is matched can ignore case"
        report("E104", "`i` is not allowed here", (leaf.end_pos - 1, leaf.end_pos), hint)
        text = text[:-1]
    return decode(text, leaf.start_pos, report)


def read_function(written: str, start: int, report: Report, *, shown: str) -> str | syntax.Noise:
    """The function that is written; help shows calls as ``shown`` with the call for its ``*``."""
    name, opened, amount = written.rstrip(")").partition("(")
    if opened and name in _WITHOUT_AMOUNT:
        plain, other = code(shown.replace("*", name)), code(shown.replace("*", "swap(2)"))
        hint = f"write {plain}; only `.homoglyph` and typing errors take an amount, as in "
        place = start - 1, start + len(written)
        report("E326", f"`.{name}` takes no amount", place, hint + other)
    elif opened and name in syntax.FUNCTIONS:
        places, share = read_places(amount), read_share(amount)
        if places is None and share is None:
            place = start + len(name), start + len(written)
            report(*no_amount(f"`({amount})`", name, place, shown=shown))
        return syntax.Noise(name, places or 1, share)
    return syntax.Noise(name) if name in syntax.NOISE_KINDS else name


def no_amount(what: str, name: str, place: Place, *, shown: str) -> Finding:
    """What to report of text that stands in the place of an amount and is not one."""
    places, share = (shown.replace("*", f"{name}({amount})") for amount in ("2", "25%"))
    hint = f"an amount is a whole number of places, {code(places)}, or a share of the characters, "
    hint += code(share)
    if what == "`()`":
        hint += f"\nto change one place, write {code(shown.replace('*', name))}"
    return Finding("E121", f"{what} is not an amount", place, hint)
