"""A `.sear` file ⇄ `Ruleset`: header, options, imports, sets and rules together.

In: text or a path. Out: a `Ruleset`, or a `RuleSyntaxError` with every finding of the file, about
syntax and about meaning, in the order of the file. Always holds: the rules of a parsed ruleset
have no errors; `parse(ruleset.format())` has the same rules; `members` resolves
names where they were written. Costs some 20 µs a plain spelling
rule and 150 µs any other, to parse and check; `from_rules` costs nothing per rule.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sears_dsl.errors import Diagnostic, RuleSyntaxError, Span
from sears_dsl.language import sets
from sears_dsl.language.printer import print_entries, print_rule, print_statements, rule_ids
from sears_dsl.language.rule import (
    Entry,
    HeaderLine,
    ImportLine,
    OptionLine,
    Options,
    Rule,
    SetDefinition,
    SetReference,
    Statement,
    Test,
    VersionLine,
)

if TYPE_CHECKING:
    from sears_dsl.engine.matcher import Matcher
    from sears_dsl.tagging.tagger import Tagger

__all__ = ["Import", "Ruleset", "distinct_ids", "load", "parse"]

_MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Import:
    """``import "common.sear" as c``: the sets of another file under a name."""

    path: str
    name: str
    ruleset: Ruleset = field(compare=False, repr=False)
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Ruleset:
    """Rules with the sets and options that they are read under.

    Attributes:
        rules: the rules in the order of the file.
        options: how literals and tags are read.
        sets: sets of tests on one token, defined here.
        imports: sets of other files.
        name: from ``ruleset name version``; a ruleset with a name is a published one.
        version: likewise.
        path: where it came from; ``<rules>`` for text.
        warnings: findings that do not stop anybody.
        layout: the statements as they lie in the file, for `format`; empty if there is no file.
        trailing: comments after the last statement.
    """

    rules: tuple[Rule, ...]
    options: Options = field(default_factory=Options)
    sets: tuple[SetDefinition, ...] = ()
    imports: tuple[Import, ...] = ()
    name: str | None = None
    version: str | None = None
    path: str = field(default="<rules>", compare=False)
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)
    layout: tuple[Entry, ...] = field(default=(), compare=False, repr=False)
    trailing: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def from_rules(
        cls,
        rules: Iterable[Rule],
        *,
        options: Options = Options(),  # noqa: B008 - a frozen value
        name: str | None = None,
        version: str | None = None,
    ) -> Ruleset:
        r"""A ruleset of rules that were built as objects. They are not checked.

        Example:
            >>> from sears_dsl.language.rule import Element, Literal, Rule, Text
            >>> mined = Rule((Element(Literal("movie")),), (Text("film"),))
            >>> Ruleset.from_rules([mined], options=Options(case="exact")).format()
            'option case = exact\n\nmovie -> film\n'
        """
        return cls(tuple(rules), options=options, name=name, version=version)

    @cached_property
    def rule_ids(self) -> tuple[str, ...]:
        """The id of each rule: the declared name, or ``r-`` and a hash."""
        return rule_ids(self.rules)

    @cached_property
    def written_sets(self) -> dict[str, tuple[Test, ...]]:
        """The sets that this file defines, with their members as written."""
        return {definition.name: definition.members for definition in self.sets}

    @cached_property
    def set_depths(self) -> dict[str, int]:
        """How deep each of them contains sets; see `sets.set_depths`."""
        return sets.set_depths(self.sets, self.imports)

    @cached_property
    def set_sizes(self) -> dict[str, int]:
        """For how many tests each of them stands; see `sets.set_sizes`."""
        return sets.set_sizes(self)

    @cached_property
    def _members(self) -> dict[SetReference, tuple[Test, ...]]:
        return {}

    def members(self, reference: SetReference) -> tuple[Test, ...]:
        r"""The members of a set, own or imported, and of the sets among them.

        A set that is left, under a negation, is named as this file sees it, whatever file it was
        written in: ``c.WH``, or ``c.words.WH`` through two imports.

        Raises:
            KeyError: there is no such set or import.

        Example:
            >>> rules = parse("set WH = What | Which\n@WH NOUN -> NOUN")
            >>> [member.text for member in rules.members(SetReference("WH"))]
            ['What', 'Which']
        """
        if reference not in self._members:
            self._members[reference] = sets.members(self, reference)
        return self._members[reference]

    def set_names(self) -> tuple[str, ...]:
        """The names that a reference may use, such as ``WH`` and ``c.WH``."""
        imported = (f"{i.name}.{name}" for i in self.imports for name in i.ruleset.written_sets)
        return (*self.written_sets, *imported)

    def compile(self, *, tagger: Tagger | None = None) -> Matcher:
        """Compile the rules for matching; see `sears_dsl.engine.matcher.compile_rules`.

        Raises:
            CompileError: rules that cannot run, such as an inflection that does not exist.
        """
        from sears_dsl.engine.matcher import compile_rules  # noqa: PLC0415

        return compile_rules([self], tagger=tagger)

    def format(self) -> str:
        r"""The canonical text of the file, with its comments.

        Example:
            >>> parse("What   NOUN ->  Which NOUN").format()
            'What NOUN -> Which NOUN\n'
        """
        rules = tuple(entry.node for entry in self.layout if isinstance(entry.node, Rule))
        if self.layout and rules == self.rules:
            return print_entries(self._laid_out(), self.trailing)
        return print_statements(self._statements()) or print_entries((), self.trailing)

    def _laid_out(self) -> Sequence[Entry]:
        """The layout, with the header, options and sets that this ruleset has.

        They are those of the layout unless the ruleset was made from another one; lines that stay
        keep their comments.
        """
        nodes = [entry.node for entry in self.layout if not isinstance(entry.node, Rule)]
        stated = {node.name for node in nodes if isinstance(node, OptionLine)}
        header: list[Statement] = [node for node in nodes if isinstance(node, VersionLine)]
        header += [node for node in self._statements(stated=stated) if not isinstance(node, Rule)]
        if {print_statements([node]) for node in nodes} == {
            print_statements([node]) for node in header
        }:
            return self.layout
        before = {_kind(entry.node): entry for entry in self.layout}
        rules = [entry for entry in self.layout if isinstance(entry.node, Rule)]
        entries = [
            replace(before[_kind(node)], node=node) if _kind(node) in before else Entry(node)
            for node in header
        ]
        if entries and rules and not rules[0].leading:
            rules[0] = replace(rules[0], leading=("",))
        return [*entries, *rules]

    def _statements(self, *, stated: Container[str] = ()) -> Iterable[Statement]:
        """What this ruleset says in order; defaults of options only where they are ``stated``."""
        nowhere = Span(1, 1, 1)
        if self.name is not None:
            yield HeaderLine(self.name, self.version or "0", nowhere)
        for each in self.imports:
            yield ImportLine(each.path, each.name, nowhere)
        default = Options()
        for option in ("case", "language", "tagset", "repair"):
            value = getattr(self.options, option)
            if value != getattr(default, option) or option in stated:
                yield OptionLine(option, value, nowhere, nowhere)
        yield from self.sets
        yield from self.rules

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        rows = []
        for name, rule in zip(self.rule_ids[:_MOST_SHOWN], self.rules, strict=False):
            metadata = rule.metadata
            expect = metadata.expect
            told = "" if expect is None else f"{expect.kind} {expect.label}".strip()
            cells = (name, print_rule(rule), told, " ".join(metadata.tags), len(metadata.tests))
            rows.append("".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells))
        more = len(self.rules) - len(rows)
        title = f"{self.name} {self.version}" if self.name else self.path
        head = "".join(f"<th>{cell}</th>" for cell in ("id", "rule", "expect", "tags", "tests"))
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        tail = f"<p>and {more:,} more</p>" if more else ""
        caption = f"<caption>{html.escape(title)}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{tail}"


def _kind(node: Statement) -> tuple[type[Statement], str]:
    """What a statement defines; versions and headers have no name of their own."""
    name = node.name if isinstance(node, ImportLine | OptionLine | SetDefinition) else ""
    return type(node), name


def parse(text: str, *, path: str = "<rules>", allow_imports_outside: bool = False) -> Ruleset:
    """Read the text of a rule file.

    Args:
        text: the rules.
        path: where they come from; imports are looked for beside it where that is a file.
        allow_imports_outside: whether imports may lead out of the folder of that file.

    Raises:
        RuleSyntaxError: with every finding, in the order of the file.

    Example:
        >>> parse("What NOUN -> Which NOUN").rule_ids
        ('r-5c4e3ce515',)
    """
    from sears_dsl.language.loader import assemble  # noqa: PLC0415 - lark is slow to import

    return assemble(text, path=path, allow_imports_outside=allow_imports_outside)


def load(path: str | Path, *, allow_imports_outside: bool = False) -> Ruleset:
    """Read a rule file (UTF-8) and the files that it imports.

    Args:
        path: the file.
        allow_imports_outside: whether imports may lead out of the folder of the file.

    Raises:
        RuleSyntaxError: findings in the file, or a file that cannot be read.
    """
    from sears_dsl.language.loader import read_file  # noqa: PLC0415 - lark is slow to import

    name = str(path)
    text = read_file(Path(path), name)
    if isinstance(text, Diagnostic):
        raise RuleSyntaxError([text])
    return parse(text, path=name, allow_imports_outside=allow_imports_outside)


def distinct_ids(rulesets: Sequence[Ruleset]) -> tuple[str, ...]:
    r"""The ids of all rules; where two are the same, with the name of their ruleset.

    Rulesets of one name are told apart by their paths, and what is given twice by a number.

    Example:
        >>> one = parse("rule x: a -> b", path="one.sear")
        >>> distinct_ids([one, parse("rule x: b -> c\nrule y: a -> b", path="two.sear")])
        ('one/x', 'two/x', 'y')
        >>> distinct_ids([one, parse("rule x: b -> c", path="old/one.sear")])
        ('one/x', 'old/one/x')
    """
    plain = Counter(name for ruleset in rulesets for name in ruleset.rule_ids)
    named = [
        name if plain[name] == 1 else f"{whose}/{name}"
        for ruleset, whose in zip(rulesets, _distinct_names(rulesets), strict=True)
        for name in ruleset.rule_ids
    ]
    found: dict[str, None] = {}
    for name in named:
        distinct, number = name, 1
        while distinct in found:
            number += 1
            distinct = f"{name}-{number}"
        found[distinct] = None
    return tuple(found)


def _distinct_names(rulesets: Sequence[Ruleset]) -> list[str]:
    """The name of each ruleset; where several have it, as much of their paths as tells them apart.

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
