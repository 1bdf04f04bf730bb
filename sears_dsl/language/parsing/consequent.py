"""Parse trees of consequents → pieces.

In: the tree of a consequent. Out: its pieces. Always holds: what belongs into an antecedent only
is reported, with what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from sears_dsl.errors import Span
from sears_dsl.language.parsing.functions import no_amount, read_function
from sears_dsl.language.parsing.leaves import Node, Report, plain_string
from sears_dsl.language.rule import (
    Drawn,
    Inflected,
    Noise,
    Piece,
    Reference,
    TagCopy,
    Text,
)
from sears_dsl.language.words import objection

_SHOWN = "$1.*"


class ConsequentBuilder:
    """Builds the consequent of the rule on one line; problems go to ``report``."""

    def __init__(self, line: int, report: Report) -> None:
        self._line = line
        self._report = report

    def pieces(self, node: Node) -> Iterator[Piece]:
        """The pieces of a consequent in order; none for ``<>``."""
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

    def _piece(self, node: Node, glued: bool) -> Piece:
        first, *rest = node.children
        span = Span(self._line, node.meta.start_pos + 1, node.meta.end_pos + 1)
        if first.type == "TAG":
            return TagCopy(str(first), glued, span)
        if first.type == "REFERENCE":
            functions = tuple(map(self._function, rest))
            return Reference(_target(first[1:]), functions, glued, span)
        if first.type == "SET_REFERENCE":
            module, _, name = first[1:].rpartition(".")
            return Drawn(name, module or None, glued, span)
        if first.type == "QUOTED":
            text = plain_string(first, self._report)
            if not text:
                self._report(
                    "E104",
                    "an empty text",
                    first.start_pos,
                    first.end_pos,
                    "a deletion is written `really -> <>`",
                )
        else:
            text = str(first)
            problem = objection(text, "consequent")
            if problem:
                start, end = first.start_pos, first.end_pos
                self._report(problem.code, problem.message, start, end, problem.help)
        quoted = first.type == "QUOTED"
        if rest:
            return Inflected(text, _target(rest[0][len(".as($") : -1]), quoted, glued, span)
        return Text(text, quoted, glued, span)

    def _function(self, leaf: Node) -> str | Noise:
        return read_function(str(leaf[1:]), leaf.start_pos + 1, self._report, shown=_SHOWN)

    def _beside_amount(self, leaf: Node, after: Node) -> None:
        """Report `(25)%`, which is an amount and text."""
        if str(after.children[0])[:1] == "%":
            name = leaf[1:].partition("(")[0]
            what, start = f"`{leaf[len(name) + 1 :]}%`", leaf.start_pos + len(name) + 1
            no_amount(what, name, start, after.meta.end_pos, self._report, shown=_SHOWN)


def _amount(node: Node) -> Node | None:
    """The last function of a piece, where it has an amount."""
    last = getattr(node, "children", [None])[-1]
    return last if getattr(last, "type", "") == "FUNCTION" and last[-1] == ")" else None


def _target(text: str) -> int | str:
    # Numbers past six digits name no element; kept short so that no conversion is costly.
    return int(text[:6]) if text.isdigit() else text
