"""The indented lines under a rule → `Metadata`.

Always holds: each key but `test` counts once; what is not known is reported, never dropped
silently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from sears_dsl.errors import Span
from sears_dsl.language.parsing.leaves import Node, Report, plain_string
from sears_dsl.language.rule import Expectation, Metadata, RuleTest
from sears_dsl.language.words import WHOLE, code, nearest, print_share, quote, read_share

KEYS = ("expect", "label", "rate", "seed", "severity", "tags", "author", "why", "test")
"""The keys of metadata, in the order in which they are printed."""

SEVERITIES = ("low", "medium", "high")
_TAG = re.compile(r"[\w.-]+")
_LARGEST_SEED = 2**63 - 1

Value: TypeAlias = Expectation | RuleTest | int | str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """One metadata line: its key, its value and where it was written."""

    key: str
    value: Value
    span: Span


def build_field(tree: Node, line: int, report: Report, *, offset: int = 0) -> Field | None:
    """The field of a metadata line, or None where it was reported instead.

    ``offset`` is the indentation: positions in the tree are counted after it.
    """
    node = tree.children[0]
    start, end = node.meta.start_pos, node.meta.end_pos
    span = Span(line, start + 1 + offset, end + 1 + offset)
    if str(node.data) == "test":
        original, expected = node.children
        text = plain_string(original, report)
        new = None if expected.type == "NONE" else plain_string(expected, report)
        return Field("test", RuleTest(text, new, span), span)
    key_leaf, *values = node.children
    key = key_leaf[: key_leaf.index(":")]
    key_end = key_leaf.start_pos + len(key)
    if key not in KEYS:
        report("E212", f"`{key}` is no key of metadata", (start, key_end), nearest(key, KEYS))
        return None
    if key == "test":
        report(
            "E112",
            "a test is written without a colon",
            (start, key_end),
            'write `test "in" => "out"` or `test "in" => none`',
        )
        return None
    value = _value(key, values, report)
    return None if value is None else Field(key, value, span)


def _value(key: str, values: list[Node], report: Report) -> Value | None:
    first, last = values[0], values[-1]
    place = first.start_pos, last.end_pos
    if key in {"author", "why"}:
        if len(values) == 1 and first.type == "QUOTED":
            return plain_string(first, report)
        report("E112", f"`{key}` takes one quoted string", place, f'write `{key}: "..."`')
        return None
    if key in {"rate", "seed"}:
        return _number(key, values, report)
    if key == "tags":
        for leaf in values:
            if leaf.type == "QUOTED" or not _TAG.fullmatch(leaf):
                report(
                    "E213",
                    f"`{leaf}` cannot be a tag of a rule",
                    (leaf.start_pos, leaf.end_pos),
                    "tags are words of letters, digits and . _ -, with spaces between",
                )
        return tuple(str(leaf) for leaf in values)
    if key == "label":
        if len(values) == 1:
            name = plain_string(first, report) if first.type == "QUOTED" else str(first)
            if name is not None and not name.strip():
                report("E213", "an empty label", place, "name it: `label: positive`")
            return name
        text = " ".join(map(str, values))
        report(
            "E213",
            f"`{text}` is no label",
            place,
            f"quote it: {code(f'label: {quote(text)}')}",
        )
        return text
    if key == "expect" and first == "label" and len(values) == 2:
        quoted = last.type == "QUOTED"
        return Expectation("label", plain_string(last, report) if quoted else str(last))
    allowed = SEVERITIES if key == "severity" else ("same", "flip")
    if len(values) == 1 and str(first) in allowed:
        if key == "severity":
            return str(first)
        return Expectation("same" if str(first) == "same" else "flip")
    text = " ".join(map(str, values))
    hint = nearest(text, allowed)
    if key == "expect" and "there are" in hint:
        hint = "write `expect: same`, `expect: flip` or `expect: label NAME`"
    report("E213", f"`{text}` is no value of `{key}`", place, hint)
    return None


def _number(key: str, values: list[Node], report: Report) -> int | None:
    """The value of ``rate`` or ``seed``."""
    place = values[0].start_pos, values[-1].end_pos
    text = " ".join(map(str, values))
    if key == "rate":
        share = read_share(text)
        if share is None:
            # Who writes 0.25 means a quarter.
            of_one = re.fullmatch(r"0?\.[0-9]{1,2}", text)
            meant = f"{text.rstrip('%').strip()}%"
            if of_one:
                meant = print_share(round(float(text) * WHOLE))
            hint = "as in `rate: 25%`, with at most four decimals"
            if read_share(meant) is not None:
                hint = f"did you mean {meant}?\nwrite {code(f'rate: {meant}')}"
            report(
                "E323",
                f"`{text}` is no share from more than 0% to 100%",
                place,
                hint,
            )
        return share
    digits = len(text) <= 19 and text.isascii() and text.isdigit()
    if not digits or int(text) > _LARGEST_SEED:
        report(
            "E328",
            f"`{text}` is no seed",
            place,
            "a seed is a whole number from 0 to 9223372036854775807: `seed: 7`",
        )
        return None
    return int(text)


def collect(fields: Iterable[Field], misplaced: Callable[[Field, str, str, str], None]) -> Metadata:
    """The metadata of a rule from its fields; one whose key is given twice is misplaced."""
    values: dict[str, Any] = {}
    tests: list[RuleTest] = []
    for field in fields:
        if isinstance(field.value, RuleTest):
            tests.append(field.value)
        elif field.key in values:
            misplaced(field, "E316", f"`{field.key}` is given twice", "keep one of them")
        else:
            values[field.key] = field.value
    return Metadata(**values, tests=tuple(tests))  # the keys are its fields, but for tests
