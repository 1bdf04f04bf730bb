"""Rule text → syntax tree, line by line, with every error collected. The only user of lark.

Indented lines become the `Metadata` of the statement above them. Always holds: any text gives a
result. An error in a line hides nothing of the other lines. A key of metadata other than `test`
counts once. A line over 20,000 characters is refused before it is looked at. A file that is
something else (csv, a file of secrets that is imported) gets one finding, which shows none of its
lines. If half of the lines have an arrow or begin with a keyword, they are read as rules, whatever
is wrong with them. Costs linear time: some 8,000 lines a second through the grammar, nine times as
many of the plainest (words of letters on both sides, tests without escapes), which skip it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import PurePath
from typing import Any, NamedTuple, TypeAlias

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from sears_dsl.errors import Diagnostic, Span
from sears_dsl.language import rule as syntax
from sears_dsl.language.check import check_rule
from sears_dsl.language.parsing.builder import Builder, Node, Place, Report, text_of
from sears_dsl.language.parsing.syntax_errors import explain
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.language.words import (
    LARGEST_SEED,
    QUOTED,
    WHOLE,
    code,
    nearest,
    print_share,
    quote,
    read_share,
    strange_character,
)
from sears_dsl.runtime.files import resource_folder

_RULE_LIKE = re.compile(
    r"(?:sear|ruleset|import|option|set|rule|template)\b|.*(?:->|=>|→|⇒|⟶|—>|–>)", re.DOTALL
)
_DATA = frozenset(
    ("arrow", "csv", "feather", "ipc", "json", "jsonl", "ndjson", "parquet", "tab", "tsv")
)
_COMPRESSED = frozenset(("bz2", "gz", "xz", "zst"))
# A file that is named by hand may have many wrong lines before it is taken for something else.
_MANY = 20
_FEW = 0.1
ORDER = (
    "rules belong in files such as rules.sear; if a command also takes data, name the rules "
    "first: `sears apply rules.sear data.csv -o out.csv`"
)


def no_rules(text: str, path: str, *, imported: bool = False) -> Diagnostic | None:
    """The finding that a file does not hold rules, or None.

    A file that a person named is refused only if it has many lines and nearly all are no rules. If
    it is imported, or has the name of a data file, it is enough that most are no rules.
    """
    likely = total = 0
    for line in text.split("\n"):
        # Comments say nothing, and metadata belongs to the line above it.
        if line[:1] in "# \t\r":
            continue
        total += 1
        likely += _RULE_LIKE.match(line) is not None
    name = PurePath(path)
    suffixes = [suffix.removeprefix(".").lower() for suffix in name.suffixes[-2:]]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    is_data = bool(suffixes) and suffixes[-1] in _DATA
    strange = total >= _MANY and likely < total * _FEW
    if imported or is_data:
        strange = likely < total / 2
    if not strange:
        return None
    advice = f"import a file of sets; `sears check {path}` shows its lines" if imported else ORDER
    message = f"this is not a rule file: {total - likely:,} of {total:,} lines are not rules"
    return Diagnostic("E407", message, path=path, help=advice)


#: The most characters that a line may have.
LONGEST_LINE = 20_000
_HARMLESS = re.compile("[^\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]")
_COMMENT_LINE = re.compile(r"[ \t]*#")

# The plainest lines: words of letters only, which need no grammar.
_WORD = r"(?:[A-Z]?[a-z]+)"
_PLAIN_RULE = re.compile(rf"({_WORD}(?: {_WORD})*) -> ({_WORD}(?: {_WORD})*)")
_PLAIN_TEST = re.compile(r'([ \t]+)test "([^"\\]*)" => (?:"([^"\\]*)"|none)')


SEVERITIES = ("low", "medium", "high")
_TAG = re.compile(r"[\w.-]+")


@lru_cache(maxsize=1)
def _grammar() -> Lark:
    path = resource_folder("grammar") / "sears.lark"
    return Lark(
        path.read_text(encoding="utf-8"),
        parser="lalr",
        lexer="contextual",
        start=["statement", "metadata"],
        propagate_positions=True,
        maybe_placeholders=False,
    )


def parse_lines(text: str, *, path: str = "<rules>", fast: bool = True) -> syntax.ParsedFile:
    """Read a rule file. ``fast=False`` sends every line through the grammar."""
    return _LineParser(text.removeprefix("\ufeff"), path, fast).parse()


class _LineParser:
    """Goes through the lines, and keeps the statement that metadata would belong to."""

    def __init__(self, text: str, path: str, fast: bool) -> None:
        self._lines = [line.removesuffix("\r") for line in text.split("\n")]
        self._path = path
        self._fast = fast
        self._findings: list[Diagnostic] = []
        self._entries: list[syntax.Entry] = []
        self._leading: list[str] = []
        self._fields: list[Field] = []
        self._metadata: list[syntax.MetadataEntry] = []
        # What stands above an indented line: nothing, a statement, a rule, or a failure.
        self._above = "nothing"

    def parse(self) -> syntax.ParsedFile:
        for number, line in enumerate(self._lines, start=1):
            if not line.strip(" \t"):
                # Several count as one, and as none at the beginning of the file.
                if self._leading[-1:] != [""] and (self._leading or self._entries):
                    self._leading.append("")
            elif self._acceptable(line, number):
                self._line(line, number)
        self._finish_rule()
        if self._leading[-1:] == [""]:
            self._leading.pop()
        return syntax.ParsedFile(tuple(self._entries), tuple(self._leading), tuple(self._findings))

    # ------------------------------------------------------------ lines

    def _line(self, line: str, number: int) -> None:
        if line[0] not in " \t#":
            self._finish_rule()
            self._above = "failure"
            node = self._plain_rule(line, number) if self._fast else None
            if node is not None:
                self._start(node, "")
            else:
                self._statement(line, number)
        elif _COMMENT_LINE.match(line):
            indented = line[0] != "#" and self._above != "nothing"
            self._leading.append(("  " if indented else "") + line.strip(" \t"))
        else:
            self._metadata_line(line, number)

    def _acceptable(self, line: str, number: int) -> bool:
        """Whether the line may be parsed; reports why not."""
        if len(line) > LONGEST_LINE:
            hint = f"a line can have at most {LONGEST_LINE:,}; split a long list into several sets"
            self._report(number, "E114", f"this line has {len(line):,} characters", (0, 1), hint)
            self._above = "failure"
            return False
        if line.isascii() and line.isprintable():
            return True
        # Quoted text and comments may hold anything but controls.
        outside = QUOTED.sub(lambda match: _keep_controls(match[0]), line)
        comment = re.search(r"(?:^|[ \t])#", outside)
        if comment:
            outside = outside[: comment.start()] + _keep_controls(outside[comment.start() :])
        strange = strange_character(outside)
        if strange is None:
            return True
        position, name = strange
        self._report(
            number, "E115", f"{name} is not allowed in a rule", (position, position + 1),
            "it is invisible: delete it or use a plain space; inside quotes, spell it as "
            "\\u and four hex digits",
        )  # fmt: skip
        self._above = "failure"
        return False

    def _statement(self, line: str, number: int) -> None:
        tree = self._tree(line, number, "statement", 0)
        if tree is None:
            return
        before = len(self._findings)
        node = Builder(line, number, partial(self._report, number), _reads).statement(tree)
        if len(self._findings) == before or isinstance(node, syntax.Rule | syntax.Template):
            self._start(node, _comment(tree))

    def _metadata_line(self, line: str, number: int) -> None:
        offset = len(line) - len(line.lstrip(" \t"))
        if self._above in {"nothing", "statement"}:
            hint = "indented lines are metadata of a rule; statements start at the margin"
            message = "this indented line has no rule above it"
            self._report(number, "E113", message, (0, offset), hint)
            return
        if line[:offset] == " ":
            hint = "statements start at the margin; metadata is indented by two spaces"
            self._report(number, "E113", "this line is indented by only one space", (0, 1), hint)
            return
        comment = ""
        field = self._plain_test(line, number) if self._fast else None
        if field is None:
            tree = self._tree(line[offset:], number, "metadata", offset)
            if tree is None:
                return
            report = partial(self._report, number, offset=offset)
            field = _build_field(tree, number, report, offset=offset)
            comment = _comment(tree)
        if field is not None:
            self._fields.append(field)
            self._metadata.append(syntax.MetadataEntry(field.key, self._take_leading(), comment))

    # ------------------------------------------------------------ entries

    def _start(self, node: syntax.Statement, comment: str) -> None:
        self._entries.append(syntax.Entry(node, self._take_leading(), comment))
        self._above = "rule" if isinstance(node, syntax.Rule | syntax.Template) else "statement"

    def _take_leading(self) -> tuple[str, ...]:
        leading, self._leading = tuple(self._leading), []
        return leading

    def _finish_rule(self) -> None:
        """Give the rule above the metadata that followed it."""
        if self._fields and self._above == "rule":
            entry = self._entries[-1]
            metadata = _collect(self._fields, self._misplaced)
            if isinstance(entry.node, syntax.Rule | syntax.Template):
                for field in self._fields:
                    self._check_key(field, entry.node)
                node = replace(entry.node, metadata=metadata)
                self._entries[-1] = replace(entry, node=node, metadata=tuple(self._metadata))
        self._fields, self._metadata = [], []

    def _check_key(self, field: Field, node: syntax.Rule | syntax.Template) -> None:
        """Report a key of templates under a rule, or one of rules under a template."""
        if isinstance(node, syntax.Rule) and field.key in syntax.KEYS_OF_TEMPLATES:
            hint = "to say which label a rule leads to, write `expect: label NAME`"
        elif isinstance(node, syntax.Template) and field.key in syntax.KEYS_OF_RULES:
            hint = "a template writes all its sentences; `label: NAME` gives their label"
        else:
            return
        kind = "a rule" if isinstance(node, syntax.Rule) else "a template"
        self._misplaced(field, "E322", f"`{field.key}:` is not allowed under {kind}", hint)

    def _misplaced(self, field: Field, code: str, message: str, hint: str) -> None:
        line = field.span.line
        place = field.span.column - 1, len(self._lines[line - 1])
        self._report(line, code, message, place, hint)

    # ------------------------------------------------------------ plain lines

    @staticmethod
    def _plain_rule(line: str, number: int) -> syntax.Rule | None:
        # A line that begins with `rule` may have lost its colon, so the grammar has to read it.
        match = _PLAIN_RULE.fullmatch(line)
        if match is None or "X" in (words := line.split(" ")) or words[0] == "rule":
            return None
        column = 1
        elements: list[syntax.Element] = []
        pieces: list[syntax.Text] = []
        arrow = False
        for word in words:
            end = column + len(word)
            if word == "->":
                arrow = True
            elif arrow:
                pieces.append(syntax.Text(word, False, False, Span(number, column, end)))
            else:
                span = Span(number, column, end)
                elements.append(syntax.Element(syntax.Literal(word), 1, 1, None, False, span))
            column = end + 1
        return syntax.Rule(tuple(elements), tuple(pieces), span=Span(number, 1, column - 1))

    @staticmethod
    def _plain_test(line: str, number: int) -> Field | None:
        match = _PLAIN_TEST.fullmatch(line)
        if match is None:
            return None
        span = Span(number, match.end(1) + 1, match.end() + 1)
        return Field("test", syntax.RuleTest(match[2], match[3], span), span)

    # ------------------------------------------------------------ grammar and findings

    def _tree(self, text: str, number: int, start: str, offset: int) -> Any:
        """The parse tree of a line, or None after its error was reported."""
        text = text.rstrip(" \t")
        position: Any
        try:
            return _grammar().parse(text, start=start)
        except UnexpectedToken as error:
            position = len(text) if error.token.type == "$END" else error.pos_in_stream
            expected = error.accepts or error.expected
        except UnexpectedCharacters as error:
            position, expected = error.pos_in_stream, error.allowed
        finding = explain(text, position, frozenset(expected), start, _reads)
        self._report(number, *finding, offset=offset)
        return None

    def _report(
        self, line: int, code: str, message: str, place: Place, hint: str, *, offset: int = 0
    ) -> None:
        """Add a finding; its place is counted from ``offset`` on."""
        start, end = place
        span = Span(line, start + offset + 1, max(end, start + 1) + offset + 1)
        source = self._lines[line - 1]
        self._findings.append(Diagnostic(code, message, span, hint, self._path, source))


class Leaf(NamedTuple):
    """A token of a line: its terminal in the grammar, its text, and its place, from 0."""

    kind: str
    text: str
    start: int
    end: int


def leaves(line: str) -> list[Leaf] | None:
    """The tokens of a line without those that only separate others; None if it does not parse.

    Example:
        >>> leaves("@WH NOUN -> it  # done")[0]
        Leaf(kind='SET_REFERENCE', text='@WH', start=0, end=3)
    """
    indent = len(line) - len(line.lstrip(" \t"))
    try:
        tree = _grammar().parse(
            line[indent:].rstrip(" \t\r"), start="metadata" if indent else "statement"
        )
    except UnexpectedInput:
        return None
    tokens: Iterable[Any] = tree.scan_values(lambda value: hasattr(value, "start_pos"))
    return [
        Leaf(str(token.type), str(token), token.start_pos + indent, token.end_pos + indent)
        for token in tokens
    ]


def _reads(line: str) -> bool:
    """Whether a statement is read without an error, which decides whether help suggests it."""
    codes: list[str] = []
    try:
        tree = _grammar().parse(line, start="statement")
    except UnexpectedInput:
        return False
    node = Builder(line, 1, lambda code, *_: codes.append(code), lambda _: False).statement(tree)
    if isinstance(node, syntax.Rule):
        codes.extend(each.code for each in check_rule(node, Ruleset(())))
    # The sets are defined in other lines.
    return not any(code.startswith("E") and code not in {"E206", "E207"} for code in codes)


def _keep_controls(text: str) -> str:
    """The text with everything but controls and surrogates made harmless, length kept."""
    return _HARMLESS.sub("x", text)


def _comment(tree: Any) -> str:
    last = tree.children[-1]
    return last.strip(" \t") if getattr(last, "type", "") == "COMMENT" else ""


# ---------------------------------------------------------------- metadata

Value: TypeAlias = syntax.Expectation | syntax.RuleTest | int | str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """One metadata line: its key, its value and where it was written."""

    key: str
    value: Value
    span: Span


def _build_field(tree: Node, line: int, report: Report, *, offset: int = 0) -> Field | None:
    """The field of a metadata line, or None if it was reported instead.

    ``offset`` is the indentation: positions in the tree are counted after it.
    """
    node = tree.children[0]
    start, end = node.meta.start_pos, node.meta.end_pos
    span = Span(line, start + 1 + offset, end + 1 + offset)
    if str(node.data) == "test":
        original, expected = node.children
        text = text_of(original, report)
        new = None if expected.type == "NONE" else text_of(expected, report)
        return Field("test", syntax.RuleTest(text, new, span), span)
    key_leaf, *values = node.children
    key = key_leaf[: key_leaf.index(":")]
    key_end = key_leaf.start_pos + len(key)
    if key not in syntax.KEYS:
        report(
            "E212", f"`{key}` is not a metadata key", (start, key_end), nearest(key, syntax.KEYS)
        )
        return None
    if key == "test":
        hint = 'write `test "in" => "out"` or `test "in" => none`'
        report("E112", "`test` takes no colon", (start, key_end), hint)
        return None
    value = _value(key, values, report)
    return None if value is None else Field(key, value, span)


def _value(key: str, values: list[Node], report: Report) -> Value | None:
    first, last = values[0], values[-1]
    place = first.start_pos, last.end_pos
    if key in {"author", "why"}:
        if len(values) == 1 and first.type == "QUOTED":
            return text_of(first, report)
        words = " ".join(values) if all(each.type != "QUOTED" for each in values) else "..."
        advice = f"write {code(f'{key}: {quote(words)}')}"
        report("E112", f"`{key}` takes one quoted string", place, advice)
        return None
    if key in {"rate", "seed"}:
        return _number(key, values, report)
    if key == "tags":
        for leaf in values:
            if leaf.type == "QUOTED" or not _TAG.fullmatch(leaf):
                hint = "use only letters, digits and . _ -; separate tags by spaces"
                own_place = leaf.start_pos, leaf.end_pos
                report("E213", f"`{leaf}` is not a valid tag of a rule", own_place, hint)
        return tuple(str(leaf) for leaf in values)
    if key == "label":
        if len(values) == 1:
            name = text_of(first, report)
            if not name.strip():
                report("E213", "this label is empty", place, "name it: `label: positive`")
            return name
        text = " ".join(map(str, values))
        hint = f"quote it: {code(f'label: {quote(text)}')}"
        report("E213", f"`{text}` is not a valid label", place, hint)
        return text
    if key == "expect" and first == "label" and len(values) == 2:
        return syntax.Expectation("label", text_of(last, report))
    text = " ".join(map(str, values))
    allowed = SEVERITIES if key == "severity" else ("same", "flip")
    if text in allowed:
        if key == "severity":
            return text
        return syntax.Expectation("flip" if text == "flip" else "same")
    hint = nearest(text, allowed)
    if key == "expect" and "choose one of" in hint:
        hint = "write `expect: same`, `expect: flip` or `expect: label NAME`"
    report("E213", f"`{text}` is not a value of `{key}`", place, hint)
    return None


def _number(key: str, values: list[Node], report: Report) -> int | None:
    """The value of ``rate`` or ``seed``."""
    place = values[0].start_pos, values[-1].end_pos
    text = " ".join(map(str, values))
    if key == "rate":
        share = read_share(text)
        if share is None:
            # An author who writes 0.25 means a quarter.
            of_one = re.fullmatch(r"0?\.[0-9]{1,6}", text)
            meant = f"{text.rstrip('%').strip()}%"
            if of_one:
                meant = print_share(round(float(text) * WHOLE))
            hint = "write it as in `rate: 25%`, with at most four decimals"
            if read_share(meant) is not None:
                hint = f"did you mean {meant}?\nwrite {code(f'rate: {meant}')}"
            report("E323", f"`{text}` is not a share above 0% and up to 100%", place, hint)
        return share
    digits = len(text) <= 19 and text.isascii() and text.isdigit()
    if not digits or int(text) > LARGEST_SEED:
        hint = f"a seed is a whole number from 0 to {LARGEST_SEED}: `seed: 7`"
        report("E328", f"`{text}` is not a seed", place, hint)
        return None
    return int(text)


def _collect(
    fields: Iterable[Field], misplaced: Callable[[Field, str, str, str], None]
) -> syntax.Metadata:
    """The metadata of a rule from its fields; a key that is given twice is reported."""
    values: dict[str, Any] = {}
    tests: list[syntax.RuleTest] = []
    for field in fields:
        if isinstance(field.value, syntax.RuleTest):
            tests.append(field.value)
        elif field.key in values:
            misplaced(field, "E316", f"`{field.key}` is given twice", "keep one of them")
        else:
            values[field.key] = field.value
    return syntax.Metadata(**values, tests=tuple(tests))  # the keys are its fields except tests
