"""`Ruleset`: header, options, imports, sets and rules together, and what names of sets stand for.

`loader` reads one from a file. Always holds: `parse(ruleset.format())` has the same rules.
`members` resolves a name in the file where it was written: inside ``@c.OUT`` the member ``!@INNER``
is ``!@c.INNER``. No member is itself a set. Each file and set is looked at once, however many ways
lead there, and nothing here recurses along references. `from_rules` costs nothing per rule.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, overload

from sears_dsl.errors import Diagnostic, Span, UsageError, counted, shortened
from sears_dsl.language.printer import (
    print_entries,
    print_rule,
    print_statements,
    rule_ids,
    set_apart,
    template_ids,
)
from sears_dsl.language.references import LARGEST, qualified, references_in, sets_in_order
from sears_dsl.language.rule import (
    OPTION_NAMES,
    Entry,
    HeaderLine,
    ImportLine,
    OptionLine,
    Options,
    Rule,
    SetDefinition,
    SetReference,
    Statement,
    Template,
    Test,
    VersionLine,
)
from sears_dsl.runtime.files import write_atomically
from sears_dsl.runtime.interrupts import import_whole

if TYPE_CHECKING:
    from sears_dsl.engine.matcher import Matcher
    from sears_dsl.tagging.tagger import Tagger

_Named = TypeVar("_Named", SetDefinition, Rule, Template)

_NO_FILE = "<rules>"
_MOST_SHOWN = 200
# The repr of a ruleset shows this many rules, each cut to this many characters.
_MOST_NAMED, _LONGEST_NAMED = 3, 48
_IN_A_LIST = "pass both in a list: sears.apply(data, [one, other])"


@dataclass(frozen=True, slots=True)
class Import:
    """``import "common.sear" as c``: the sets of another file under a name.

    Two are equal if both files have the same sets, and so have those that they import. ``folder``
    is that of the importing file, which ``path`` starts from, wherever the program moves later.
    """

    path: str
    name: str
    ruleset: Ruleset = field(compare=False, repr=False)
    folder: Path = field(compare=False, repr=False)
    span: Span | None = field(default=None, compare=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Import):
            return NotImplemented
        same_line = (self.path, self.name) == (other.path, other.name)
        return same_line and _same_sets(self.ruleset, other.ruleset)

    def __hash__(self) -> int:
        return hash((self.path, self.name))


@dataclass(frozen=True, repr=False)
class Ruleset:
    """Rules with the sets and options that they are read under.

    Attributes:
        rules: the rules in the order of the file.
        options: how literals and tags are read.
        sets: sets of tests on one token, defined here.
        imports: sets of other files.
        templates: sentences to generate; generating skips rules, and applying rules skips these.
        name: from ``ruleset name version``; a ruleset with a name is a published one.
        version: likewise.
        path: where it came from; ``<rules>`` for text.
        folder: where the paths that it names start from, wherever the program moves later; that of
            ``path`` if none is given.
        origins: the files that its rules come from, or SHA-256 of the rows they were found on.
        advise: a function that finds the warnings of the file that it was read from.
        layout: the statements as they lie in the file, for `format`; empty if there is no file.
        trailing: comments after the last statement.
    """

    rules: tuple[Rule, ...]
    options: Options = field(default_factory=Options)
    sets: tuple[SetDefinition, ...] = ()
    imports: tuple[Import, ...] = ()
    templates: tuple[Template, ...] = ()
    name: str | None = None
    version: str | None = None
    path: str = field(default=_NO_FILE, compare=False)
    folder: Path = field(default=Path(), compare=False)
    origins: tuple[Path | str, ...] = field(default=(), compare=False)
    advise: Callable[[], tuple[Diagnostic, ...]] | None = field(default=None, compare=False)
    layout: tuple[Entry, ...] = field(default=(), compare=False)
    trailing: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.folder == Path() and self.path != _NO_FILE:
            object.__setattr__(self, "folder", Path(self.path).absolute().parent)
        if not self.origins and self.path != _NO_FILE:
            object.__setattr__(self, "origins", (self.file,))

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

        It has no sets. Use `filter` to take some rules of a ruleset that has sets.

        Example:
            >>> from sears_dsl.language.rule import Element, Literal, Rule, Text
            >>> mined = Rule((Element(Literal("movie")),), (Text("film"),))
            >>> Ruleset.from_rules([mined], options=Options(case="exact")).format()
            'option case = exact\n\nmovie -> film\n'
        """
        ruleset = cls(tuple(rules), options=options, name=name, version=version)
        if odd := [each for each in ruleset.rules if not isinstance(each, Rule)]:
            advice = "for text, sears.parse('movie -> film') makes a ruleset"
            raise UsageError(f"{odd[0]!r:.60} is not a Rule", help=advice)
        return ruleset

    # ------------------------------------------------------------ a collection

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __contains__(self, rule: object) -> bool:
        """Whether a rule, or a rule with this id, is here."""
        return rule in (self.rule_ids if isinstance(rule, str) else self.rules)

    @overload
    def __getitem__(self, place: int | str) -> Rule: ...
    @overload
    def __getitem__(self, place: slice | list[int] | list[str]) -> Ruleset: ...
    def __getitem__(self, place: int | str | slice | list[int] | list[str]) -> Rule | Ruleset:
        r"""The rule with a number, from 0, or an id; for a slice or a list of them, a ruleset.

        That has the same options and sets, and its rules in the order of the list, each once.

        Raises:
            IndexError: there is no such number.
            KeyError: there is no such id.

        Example:
            >>> from sears_dsl.language.loader import parse
            >>> rules = parse("rule film: movie -> film\nrule show: play -> show")
            >>> rules[0] == rules["film"], rules[1:].rule_ids, rules[["show", "film"]].rule_ids
            (True, ('show',), ('show', 'film'))
        """
        if isinstance(place, slice):
            return self._with_rules(self.rules[place])
        if isinstance(place, list):
            return self._with_rules(dict.fromkeys(map(self._rule, place)))
        return self._rule(place)

    def _rule(self, place: int | str) -> Rule:
        if isinstance(place, bool) or not isinstance(place, int | str):
            raise TypeError(
                f"rules are found by number or id, not by a {type(place).__name__}: rules[0], "
                "rules['wh-which']"
            )
        if isinstance(place, int):
            if not -len(self) <= place < len(self):
                raise IndexError(f"there is no rule {place} among {counted(len(self), 'rule')}")
            return self.rules[place]
        if place not in self.rule_ids:
            near = get_close_matches(place, self.rule_ids, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise KeyError(f"no rule has the id {place!r}{meant}")
        return self.rules[self.rule_ids.index(place)]

    def filter(self, wanted: Callable[[Rule], object]) -> Ruleset:
        r"""The rules that a function picks, under the same options and sets.

        Args:
            wanted: called with each rule; true for those to keep.

        Example:
            >>> from sears_dsl.language.loader import parse
            >>> rules = parse('movie -> film\n  tags: words\n\nplay -> show')
            >>> len(rules.filter(lambda rule: "words" in rule.metadata.tags))
            1
        """
        if not callable(wanted):
            raise UsageError(
                f"rules cannot be filtered by an object of type {type(wanted).__name__}",
                help="give a function of a rule: rules.filter(lambda rule: rule.name is not None)",
            )
        return self._with_rules(rule for rule in self.rules if wanted(rule))

    def __add__(self, other: object) -> Ruleset:
        r"""The rules of both in one ruleset; a rule that both have stands in it once.

        Raises:
            UsageError: their options differ, a name means different things in them,
                or the same rule has different metadata. Functions that take rules
                accept both in a list.

        Example:
            >>> from sears_dsl.language.loader import parse
            >>> (parse("movie -> film") + parse("play -> show")).format()
            'movie -> film\nplay -> show\n'
        """
        if not isinstance(other, Ruleset):
            return NotImplemented
        if self.options != other.options:
            raise _cannot_join(self, other, "their options differ")
        if self.options.vectors_in(self.folder) != other.options.vectors_in(other.folder):
            raise _cannot_join(self, other, f"{self.options.vectors} is another file in each")
        for name, file in other._imported.items():
            if not _same_sets(self._imported.get(name, file), file):
                raise _cannot_join(self, other, f"both define the import {name}, differently")
        imports = tuple(each for each in other.imports if each.name not in self._imported)
        sets = _new_in(self, other, "set", lambda file: ((each.name, each) for each in file.sets))
        rules = _new_in(self, other, "rule", _rules_by_name)
        templates = _new_in(self, other, "template", lambda file: file.named_templates)
        same = (self.name, self.version) == (other.name, other.version)
        lines = (ImportLine(each.path, each.name) for each in imports)
        new: set[Statement] = {*sets, *rules, *templates, *lines}
        return replace(
            self,
            rules=(*self.rules, *rules),
            sets=(*self.sets, *sets),
            imports=(*self.imports, *imports),
            templates=(*self.templates, *templates),
            name=self.name if same else None,
            version=self.version if same else None,
            origins=(*self.origins, *other.origins),
            advise=None,
            layout=self._joined_layout(other, new) if self.layout or other.layout else (),
            trailing=(*self.trailing, *other.trailing),
        )

    def _joined_layout(self, other: Ruleset, new: Container[Statement]) -> tuple[Entry, ...]:
        """The layout, with the new statements of another ruleset."""
        entries = [*self._laid_out(), *(each for each in other._laid_out() if each.node in new)]
        header = (VersionLine, HeaderLine, ImportLine, OptionLine)
        return set_apart(sorted(entries, key=lambda each: not isinstance(each.node, header)))

    @property
    def _imported(self) -> dict[str, Ruleset]:
        return {each.name: each.ruleset for each in self.imports}

    def _with_rules(self, rules: Iterable[Rule]) -> Ruleset:
        """Other rules under the same options and sets; each keeps its comments."""
        others = tuple(rules)
        chosen = set(others)
        layout = tuple(e for e in self.layout if not isinstance(e.node, Rule) or e.node in chosen)
        entries = {entry.node: entry for entry in layout if isinstance(entry.node, Rule)}
        if tuple(entries) != others:
            in_order = iter([entries[rule] for rule in others if rule in entries])
            layout = set_apart(
                next(in_order) if isinstance(entry.node, Rule) else entry for entry in layout
            )
        return replace(self, rules=others, layout=layout, advise=None)

    def save(self, path: str | Path) -> None:
        """Write a rule file, whole or not at all.

        Args:
            path: the file; it ends in ``.sear``.

        Raises:
            UsageError: another ending, imports or a file of vectors that are not those of that
                folder, or the file is an import.
            DataError: the file cannot be written.

        Example:
            >>> from sears_dsl.language.loader import load, parse
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     file = Path(folder, "mine.sear")
            ...     parse("movie -> film").save(file)
            ...     load(file).rules == parse("movie -> film").rules
            True
        """
        try:
            file = Path(path)
        except TypeError as error:
            problem = f"an object of type {type(path).__name__} is not a file"
            raise UsageError(problem, help="pass its path") from error
        if file.suffix != ".sear":
            raise UsageError(
                f"{file} is not a valid name for a ruleset",
                help=f"write {file.stem or 'rules'}.sear",
            )
        check_vectors(self, file)
        _check_imports(self, file)
        write_atomically(file, self.format().encode("utf-8"))

    def __repr__(self) -> str:
        name = f"{self.name} {self.version}" if self.name else self.path
        lines = (" ".join(print_rule(rule).split()) for rule in self.rules[:_MOST_NAMED])
        first = "; ".join(shortened(line, _LONGEST_NAMED) for line in lines)
        more = "; …" if len(self.rules) > _MOST_NAMED else ""
        rules = counted(len(self.rules), "rule")
        if self.templates:
            rules += f", {counted(len(self.templates), 'template')}"
        return f"<Ruleset {name}: {rules}{': ' if first else ''}{first}{more}>"

    # ------------------------------------------------------------ what it says

    @property
    def file(self) -> Path:
        """Where ``path`` is, wherever the program moves later."""
        return self.folder / Path(self.path).name

    @cached_property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Findings that stop nothing; they are looked for when they are first asked for."""
        return () if self.advise is None else self.advise()

    @cached_property
    def rule_ids(self) -> tuple[str, ...]:
        """The id of each rule: the declared name, or ``r-`` and a hash."""
        return rule_ids(self.rules)

    @property
    def named_rules(self) -> Iterator[tuple[str, Rule]]:
        """Each rule with its id."""
        return zip(self.rule_ids, self.rules, strict=True)

    @property
    def named_templates(self) -> Iterator[tuple[str, Template]]:
        """Each template with its id."""
        return zip(template_ids(self.templates), self.templates, strict=True)

    @cached_property
    def written_sets(self) -> dict[str, tuple[Test, ...]]:
        """The sets that this file defines, with their members as written."""
        return {definition.name: definition.members for definition in self.sets}

    @cached_property
    def set_depths(self) -> dict[str, int]:
        """How deeply sets are nested in each set of a file without circles; 1 if there are none."""
        depths: dict[str, int] = {}
        for name in sets_in_order(self.written_sets)[0]:
            depths[name] = 1
            for each in references_in(self.written_sets[name]):
                owner = file_of_module(self, each.module)
                inner = (depths if owner is self else owner.set_depths)[each.name]
                depths[name] = max(depths[name], 1 + inner)
        return depths

    @cached_property
    def set_sizes(self) -> dict[str, int]:
        """How many tests each set of a file stands for, with sets under negations written out."""
        sizes: dict[str, int] = {}
        for name in sets_in_order(self.written_sets)[0]:
            tests = self.members(SetReference(name))
            size = len(tests)
            for each in references_in(tests):
                owner = file_of_module(self, each.module)
                size += (sizes if owner is self else owner.set_sizes)[each.name]
            sizes[name] = min(size, LARGEST + 1)
        return sizes

    @cached_property
    def _members(self) -> dict[SetReference, tuple[Test, ...]]:
        return {}

    def members(self, reference: SetReference) -> tuple[Test, ...]:
        r"""The members of a set, own or imported, and of the sets among them.

        A set that remains, under a negation, is named as seen from this file, whatever file it was
        written in: ``c.WH``, or ``c.words.WH`` through two imports.

        Raises:
            KeyError: there is no such set or import.

        Example:
            >>> from sears_dsl.language.loader import parse
            >>> rules = parse("set WH = What | Which\n@WH NOUN -> NOUN")
            >>> [member.text for member in rules.members(SetReference("WH"))]
            ['What', 'Which']
        """
        if reference in self._members:
            return self._members[reference]
        tests: dict[Test, None] = {}
        visited: set[tuple[int, str]] = set()
        pending: list[Test] = [reference]
        while pending:
            test = pending.pop()
            if not isinstance(test, SetReference):
                tests.setdefault(test)
                continue
            owner = file_of_module(self, test.module)
            if (id(owner), test.name) not in visited:
                visited.add((id(owner), test.name))
                written = owner.written_sets[test.name]
                pending.extend(qualified(member, test.module) for member in reversed(written))
        return self._members.setdefault(reference, tuple(tests))

    def set_names(self) -> tuple[str, ...]:
        """The names that a reference may use, such as ``WH`` and ``c.WH``."""
        imported = (f"{i.name}.{name}" for i in self.imports for name in i.ruleset.written_sets)
        return (*self.written_sets, *imported)

    def compile(self, *, tagger: Tagger | str | None = None) -> Matcher:
        """Compile the rules for matching; see `sears_dsl.engine.matcher.compile_rules`.

        Raises:
            CompileError: rules that cannot run, such as an inflection that does not exist.
        """
        import_whole("numpy")
        from sears_dsl.engine.matcher import compile_rules  # noqa: PLC0415

        return compile_rules([self], tagger=tagger)

    def format(self) -> str:
        r"""The canonical text of the file, with its comments.

        Example:
            >>> from sears_dsl.language.loader import parse
            >>> parse("What   NOUN ->  Which NOUN").format()
            'What NOUN -> Which NOUN\n'
        """
        return print_entries(self._laid_out(), self.trailing)

    def _laid_out(self) -> Sequence[Entry]:
        """The layout with the present header, options and sets; made anew for other rules."""
        body = [entry for entry in self.layout if isinstance(entry.node, Rule | Template)]
        rules = tuple(entry.node for entry in body if isinstance(entry.node, Rule))
        templates = tuple(entry.node for entry in body if isinstance(entry.node, Template))
        if not self.layout or (rules, templates) != (self.rules, self.templates):
            return set_apart(map(Entry, [*self._beginning(), *self.rules, *self.templates]))
        above = (each for each in self.layout if not isinstance(each.node, Rule | Template))
        laid_out = {_kind(each.node): each for each in above}
        nodes = [entry.node for entry in laid_out.values()]
        stated = {node.name for node in nodes if isinstance(node, OptionLine)}
        versions = (node for node in nodes if isinstance(node, VersionLine))
        header = [*versions, *self._beginning(stated=stated)]
        if set(nodes) == set(header):
            return self.layout
        entries = [replace(laid_out.get(_kind(node), Entry(node)), node=node) for node in header]
        if entries and body and not body[0].leading:
            body[0] = replace(body[0], leading=("",))
        return [*entries, *body]

    def _beginning(self, *, stated: Container[str] = ()) -> Iterator[Statement]:
        """All before the rules, in order; default options only if they are ``stated``."""
        if self.name is not None:
            yield HeaderLine(self.name, self.version or "0")
        for each in self.imports:
            yield ImportLine(each.path, each.name)
        default = Options()
        for option in OPTION_NAMES:
            value = getattr(self.options, option)
            if value != getattr(default, option) or option in stated:
                yield OptionLine(option, value)
        yield from self.sets

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        rows, left = [], 'style="text-align:left"'
        for name, rule in zip(self.rule_ids[:_MOST_SHOWN], self.rules, strict=False):
            expect, tags = rule.metadata.expect or "", " ".join(rule.metadata.tags)
            values = (name, print_rule(rule), expect, tags, len(rule.metadata.tests))
            cells = (f"<td {left}>{html.escape(str(value))}</td>" for value in values)
            rows.append(f"<tr>{''.join(cells)}</tr>")
        more = len(self.rules) - len(rows)
        title = f"{self.name} {self.version}" if self.name else self.path
        heads = ("id", "rule", "expect", "tags", "tests")
        head = "".join(f"<th {left}>{cell}</th>" for cell in heads)
        caption = f"<caption>{html.escape(title)}: {counted(len(self), 'rule')}</caption>"
        body = "".join(rows)
        table = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<p>and {more:,} more</p>" if more else table


def _rules_by_name(file: Ruleset) -> Iterator[tuple[str, Rule]]:
    return ((print_rule(rule) if rule.name is None else rule.name, rule) for rule in file.rules)


def _new_in(
    one: Ruleset,
    other: Ruleset,
    kind: str,
    named: Callable[[Ruleset], Iterable[tuple[str, _Named]]],
) -> tuple[_Named, ...]:
    """What the second ruleset adds; UsageError: both use a name, for what is not the same."""
    by_name, new = dict(named(one)), []
    for name, node in named(other):
        if name not in by_name:
            by_name[name] = node
            new.append(node)
        elif (texts := [print_statements([each]) for each in (by_name[name], node)])[0] != texts[1]:
            same_line = len({text.partition("\n")[0] for text in texts}) == 1
            how = "with different metadata" if same_line else "differently"
            # Several files may have rules of one id, but not templates.
            advice = "give one of them another id" if kind == "template" else _IN_A_LIST
            raise _cannot_join(one, other, f"both define the {kind} {name}, {how}", advice)
    return tuple(new)


def _cannot_join(one: Ruleset, other: Ruleset, why: str, advice: str = _IN_A_LIST) -> UsageError:
    both = " and ".join(each.name or each.path for each in (one, other))
    return UsageError(f"{both} cannot be merged into one ruleset: {why}", help=advice)


def check_vectors(ruleset: Ruleset, file: Path) -> None:
    """UsageError: the ruleset would not find its file of word vectors if it lay in this file.

    Example:
        >>> check_vectors(Ruleset((), Options(vectors="glove-6b-50d")), Path("new", "rules.sear"))
    """
    vectors = ruleset.options.vectors_in(ruleset.folder)
    if vectors is not None and vectors != ruleset.options.vectors_in(file.parent):
        raise UsageError(
            f"the ruleset names the vectors {ruleset.options.vectors} of {vectors.parent}, which "
            f"{file} would not find",
            help=f"write it to {ruleset.folder.absolute()}, or let `option vectors` name the "
            "file by its whole path",
        )


def _check_imports(ruleset: Ruleset, file: Path) -> None:
    """UsageError: what the ruleset imports is not what it would import if it lay in this file."""
    for each in ruleset.imports:
        if each.folder.resolve() != file.parent.resolve():
            folders = list(dict.fromkeys(str(one.folder) for one in ruleset.imports))
            advice = f"write it to {folders[0]}"
            if len(folders) > 1:
                advice = f"its imports lie in {' and '.join(folders)}: copy them to one folder and "
                advice += "load the rules from there, or " + _IN_A_LIST
            raise UsageError(
                f"the ruleset imports {each.path} of {each.folder}, which is not the folder of "
                f"{file}",
                help=advice,
            )
    pending, visited = list(ruleset.imports), set[int]()
    while pending:
        each = pending.pop()
        if (each.folder / each.path).resolve() == file.resolve():
            raise UsageError(
                f"{file} is imported by the ruleset", help="write the ruleset to another file"
            )
        if id(each.ruleset) not in visited:
            visited.add(id(each.ruleset))
            pending += each.ruleset.imports


def _same_sets(one: Ruleset, other: Ruleset) -> bool:
    """Whether two files define the same sets, and so do the files that they import by each name."""
    pending, compared = [(one, other)], set[tuple[int, int]]()
    while pending:
        one, other = pending.pop()
        key = (id(one), id(other))
        if one is other or key in compared:
            continue
        compared.add(key)
        names = one._imported.keys()
        if (one.written_sets, names) != (other.written_sets, other._imported.keys()):
            return False
        pending += [(one._imported[name], other._imported[name]) for name in names]
    return True


def _kind(node: Statement) -> tuple[type[Statement], str]:
    """The kind and name of what a statement defines; versions and headers have no name."""
    name = node.name if isinstance(node, ImportLine | OptionLine | SetDefinition) else ""
    return type(node), name


def file_of_module(file: Ruleset, module: str | None) -> Ruleset:
    """The file that names of imports lead to, such as ``c`` or ``c.words``."""
    for name in module.split(".") if module else ():
        file = file._imported[name]
    return file
