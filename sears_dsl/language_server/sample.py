"""What a rule does to a sample of text: the rows of the file beside it, ``a.sample.txt``.

In: the text of a rule file as it stands in the editor, its name, a line from 0. Out: how many rows
the rule there changes, and the first of them. Always holds: nothing else is read than the file of
that name, a row a line, of which the first thousand count; statements with errors are as if they
were not there. Costs
a compilation of one rule and a run over the sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from sears_dsl.engine.compile.requirements import stand_ins
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.errors import RuleSyntaxError, SearsError
from sears_dsl.language.loader import parse
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.runtime.files import read_document
from sears_dsl.tagging.tagger import Tagger

SUFFIX = ".sample.txt"
"""What the name of a sample ends in, in the place of ``.sear``."""

_MOST_ROWS = 1_000
_MOST_BYTES = 1 << 20
_MOST_SHOWN = 3


def read_in_part(text: str, path: str) -> Ruleset:
    """The file without the statements that have errors, which keep nothing else from being read."""
    try:
        return parse(text, path=path)
    except RuleSyntaxError as error:
        wrong = {each.span.line for each in error.diagnostics if each.span and each.path == path}
        for line in wrong:
            text = without_statement(text, line - 1)
        return parse(text, path=path)


def without_statement(text: str, line: int) -> str:
    """A file without the statement on a line, from 0, and what is indented under it."""
    lines = text.split("\n")
    lines[line] = ""
    for below in range(line + 1, len(lines)):
        if lines[below][:1] not in {" ", "\t"}:
            break
        lines[below] = ""
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class SampleEffect:
    """What a rule does to a sample."""

    file: str
    rows: int
    changed: int
    first: tuple[tuple[str, str], ...]


def effect(text: str, path: str, line: int, *, tagger: Tagger | None = None) -> SampleEffect | None:
    """What the rule on a line does to the sample; None without a rule there or a sample."""
    file = Path(path.removesuffix(".sear") + SUFFIX)
    if not path.endswith(".sear") or not file.is_file():
        return None
    try:
        ruleset = read_in_part(text, path)
        chosen = [each for each in ruleset.rules if each.span and each.span.line == line + 1]
        if not chosen:
            return None
        rows = read_document(file, most=_MOST_BYTES).decode("utf-8").splitlines()[:_MOST_ROWS]
        one = replace(ruleset, rules=tuple(chosen), layout=(), trailing=())
        matcher = compile_rules([one], tagger=tagger, sources=stand_ins(one))
        changes = [(each.original, each.text) for each in matcher.apply(rows)]
    except (SearsError, OSError, UnicodeDecodeError):
        return None  # what is wrong with the rule is shown as a finding; without a sample, nothing
    return SampleEffect(file.name, len(rows), len(changes), tuple(changes[:_MOST_SHOWN]))
