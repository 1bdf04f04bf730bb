"""A `.sear` file → a `Ruleset`, with imports read and everything checked: `parse` and `load`.

Always holds: a name that a broken line would have defined causes no further findings. An imported
file is a regular file of at most 16 MiB, below the folder of the first one unless the caller allows
others, and its lines are shown only if it reads as rules. Warnings that no check meets by the way
are looked for when somebody asks for them. Costs some 20 µs a plain spelling rule and 150 µs any
other; each file is read once, however many imports lead to it.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sears_dsl.errors import Diagnostic, RuleSyntaxError, Span, check_text
from sears_dsl.language import rule as syntax
from sears_dsl.language.check import check_rule, check_test, english_only
from sears_dsl.language.check_drawn import check_template, text_findings
from sears_dsl.language.notations import notation_warnings, set_notation_warnings
from sears_dsl.language.parsing.parser import ORDER, no_rules, parse_lines
from sears_dsl.language.printer import print_rule, template_ids
from sears_dsl.language.references import DEEPEST, LARGEST, references_in, sets_in_order, sets_of
from sears_dsl.language.ruleset import Import, Ruleset, file_of_module
from sears_dsl.language.words import code, nearest
from sears_dsl.runtime.files import read_document

_DEEPEST_IMPORT = 50
_LARGEST_FILE = 16 << 20
_BEGINNING = 65_536
_NAME_FILE = "give the path of a .sear file"
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_RULE_IN_COMMENT = re.compile(r"#.*[ \t]->[ \t]+\S")
_SET_LINE = re.compile(r"set[ \t]+([A-Za-z][A-Za-z0-9_]*)")
_IMPORT_LINE = re.compile(r"import\b.*[ \t]as[ \t]+([A-Za-z][A-Za-z0-9_]*)")


def read_file(path: Path, shown: str) -> str | Diagnostic:
    """The text of a regular file of bounded size, or why it cannot be read."""

    def refused(number: str, message: str, advice: str) -> Diagnostic:
        return Diagnostic(number, message, path=shown, help=advice)

    try:
        content = read_document(path, most=_LARGEST_FILE)
        if b"\0" in content[:_BEGINNING]:
            return refused("E407", "this is not a rule file: it is binary", ORDER)
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        return refused("E401", "there is no such file", f"looked for {path.absolute()}")
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte {error.object[error.start]:#04x} at offset {error.start}"
        return refused("E403", message, "save the file as UTF-8")
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        reason = error.strerror if isinstance(error, OSError) else str(error)
        is_large = getattr(error, "errno", None) == errno.EFBIG
        advice = "split it into several files" if is_large else _NAME_FILE
        return refused("E406", f"cannot be read: {reason}", advice)


class _Assembly:
    """What one file says, collected statement by statement. It is the `RuleScope` of checks.

    Imported files have to be in ``folder``, unless it is None. ``importing`` are the files that led
    here, outermost first. ``imported`` are all files read so far by real path, None for a bad one.
    """

    def __init__(
        self,
        text: str,
        path: str,
        folder: Path | None,
        imported: dict[Path, Ruleset | None],
        importing: tuple[Path, ...] = (),
    ) -> None:
        self._text = text.removeprefix("\ufeff")
        self._path = path
        self._folder = folder
        self._files = imported
        self._importing = importing
        self._parsed = parse_lines(text, path=path)
        self._findings = list(self._parsed.findings)
        self._elsewhere: list[Diagnostic] = []
        self._options: dict[str, Any] = {}  # their values were checked
        self._first_spans: dict[str, Span | None] = {}
        self._imports: list[Import] = []
        self._sets: dict[str, syntax.SetDefinition] = {}
        self._header: syntax.HeaderLine | None = None
        # Names whose definitions have errors: references to them are not reported.
        self._broken: set[str] = set()
        self._ruleset: Ruleset

    def ruleset(self) -> Ruleset:
        for finding in self._parsed.findings:
            if match := _SET_LINE.match(finding.source):
                self._broken.add(match[1])
            if match := _IMPORT_LINE.match(finding.source):
                self._broken.add(f"{match[1]}.")
        self._statements()
        nodes = [entry.node for entry in self._parsed.entries]
        self._ruleset = ruleset = Ruleset(
            rules=tuple(node for node in nodes if isinstance(node, syntax.Rule)),
            options=self._read_options(),
            sets=tuple(self._sets.values()),
            imports=tuple(self._imports),
            templates=tuple(node for node in nodes if isinstance(node, syntax.Template)),
            name=self._header.name if self._header else None,
            version=self._header.version if self._header else None,
            path=self._path,
            folder=Path(self._path).absolute().parent,
            layout=self._parsed.entries,
            trailing=self._parsed.trailing,
        )
        self._check_sets()
        # A broken line says nothing reliable, so its meaning is not checked.
        broken = {finding.span.line for finding in self._parsed.findings if finding.span}
        readable = [rule for rule in ruleset.rules if rule.span and rule.span.line not in broken]
        sound = []
        for rule in readable:
            problems = check_rule(rule, self)
            if not any(finding.severity == "error" for finding in problems):
                sound.append(rule)
            self._findings.extend(problems)
        self._check_ids("rules", [rule.name for rule in readable], readable)
        self._check_duplicates(readable)
        for template in ruleset.templates:
            self._findings.extend(check_template(template, self))
        self._check_ids("templates", template_ids(ruleset.templates), ruleset.templates)
        for whole_file in (_sizes, text_findings, _options_of_imports):
            if not self._has_errors():
                self._findings.extend(whole_file(ruleset))
        if self._has_errors():
            notations = _notations(ruleset.sets, sound, ruleset.options)
            findings = _in_order([*self._findings, *notations], self._text, self._path)
            raise RuleSyntaxError([*findings, *self._elsewhere])
        return replace(ruleset, advise=partial(_warnings, ruleset, self._findings, self._text))

    def _has_errors(self) -> bool:
        return any(each.severity == "error" for each in (*self._findings, *self._elsewhere))

    # ------------------------------------------------------------ scope of the rules

    @property
    def options(self) -> syntax.Options:
        """The options of the file."""
        return self._ruleset.options

    def members(self, reference: syntax.SetReference) -> tuple[syntax.Test, ...]:
        """The members as written; checks only ask whether there is such a set."""
        defined_by = reference.name if reference.module is None else f"{reference.module}."
        if defined_by in self._broken:
            return (syntax.Wildcard(),)
        return file_of_module(self._ruleset, reference.module).written_sets[reference.name]

    def set_names(self) -> tuple[str, ...]:
        """The names that a reference may use."""
        return self._ruleset.set_names()

    # ------------------------------------------------------------ statements

    def _add(self, code: str, message: str, span: Span | None, hint: str = "") -> None:
        self._findings.append(Diagnostic(code, message, span, hint))

    def _statements(self) -> None:
        body = False
        for position, entry in enumerate(self._parsed.entries):
            node = entry.node
            body = body or isinstance(node, syntax.Rule | syntax.Template | syntax.SetDefinition)
            if isinstance(node, syntax.Rule | syntax.Template):
                continue
            if isinstance(node, syntax.SetDefinition):
                first = self._sets.setdefault(node.name, node)
                if first is not node and first.span is not None:
                    hint = f"it is first defined on line {first.span.line}"
                    self._add("E312", f"set `{node.name}` is defined twice", node.span, hint)
            elif isinstance(node, syntax.VersionLine):
                self._version(node, position)
            elif isinstance(node, syntax.HeaderLine):
                if self._header is not None:
                    self._add(
                        "E315", "this file has two rulesets", node.span, "a file holds one ruleset"
                    )
                elif body or self._first_spans:
                    hint = "it must come first, after `sear 1` if there is one"
                    self._add("E314", "`ruleset` comes after other statements", node.span, hint)
                self._header = node
            else:
                if body:
                    word = "import" if isinstance(node, syntax.ImportLine) else "option"
                    hint = "the order is: sear, ruleset, imports and options, sets and rules"
                    self._add("E314", f"`{word}` comes after sets or rules", node.span, hint)
                if isinstance(node, syntax.ImportLine):
                    self._import(node)
                else:
                    self._option(node)

    def _version(self, node: syntax.VersionLine, position: int) -> None:
        if position:
            hint = "the language version belongs on the first line"
            self._add("E314", "`sear` comes after other statements", node.span, hint)
        if node.version != "1":
            hint = "this installation reads version 1; install a newer sears-dsl"
            message = f"this file needs version {node.version} of the language"
            self._add("E504", message, node.span, hint)

    def _option(self, node: syntax.OptionLine) -> None:
        if node.name not in syntax.OPTION_NAMES:
            hint = nearest(node.name, syntax.OPTION_NAMES)
            self._add("E210", f"there is no option `{node.name}`", node.span, hint)
            return
        if node.name in self._options:
            self._add("E315", f"option `{node.name}` is given twice", node.span, "keep one of them")
        values = syntax.OPTION_VALUES.get(node.name)
        if values is not None and node.value not in values:
            message = f"`{node.value}` is not a value of option `{node.name}`"
            self._add("E211", message, node.value_span, nearest(node.value, values))
            return
        if node.name == "language" and not _LANGUAGE.fullmatch(node.value):
            hint = "use a short language code, as in `option language = en`"
            self._add("E211", f"`{node.value}` is not a language code", node.value_span, hint)
            return
        self._first_spans.setdefault("option", node.span)
        self._options[node.name] = node.value

    def _read_options(self) -> syntax.Options:
        default, options = syntax.Options(), syntax.Options(**self._options)
        for name in ("tagset", "repair"):
            if options.language != "en" and getattr(options, name) != getattr(default, name):
                what = f"option `{name} = {getattr(options, name)}` works only in English"
                code, message, hint = english_only(what, options, "remove it")
                self._add(code, message, self._first_spans["option"], hint)
        return options

    # ------------------------------------------------------------ imports

    def _import(self, node: syntax.ImportLine) -> None:
        self._first_spans.setdefault("import", node.span)
        if any(each.name == node.name for each in self._imports):
            hint = "rename one of them"
            self._add("E405", f"two imports are named `{node.name}`", node.span, hint)
            return
        here = Path(self._path)
        self._broken.add(f"{node.name}.")
        if not (here.is_absolute() or here.is_file()):  # editors name files not yet saved
            message = f"`{node.path}` is relative to a file, but these rules are not in one"
            self._add("E401", message, node.span, "save the rules to a file and load it")
            return
        ruleset = self._imported(node, here.parent / node.path, (*self._importing, here.resolve()))
        if ruleset is not None:
            self._broken.discard(f"{node.name}.")
            folder = here.parent.absolute()
            self._imports.append(Import(node.path, node.name, ruleset, folder, node.span))

    def _imported(
        self, node: syntax.ImportLine, path: Path, chain: tuple[Path, ...]
    ) -> Ruleset | None:
        """The imported file; None if it cannot be used, which is reported."""
        try:
            target = path.resolve()
        except (OSError, RuntimeError, ValueError):  # a circle of links, a zero byte
            self._add("E406", f"`{node.path}` cannot be read", node.span, _NAME_FILE)
            return None
        number = ""
        if self._folder is not None and not target.is_relative_to(self._folder):
            number = "E408"
            message = f"`{node.path}` is outside {self._folder}, the folder of the first file"
            hint = "move it there, or allow it with --allow-imports-outside (in Python: "
            hint += "load(..., allow_imports_outside=True))"
        elif target in chain:
            names = [each.name for each in (*chain[chain.index(target) :], target)]
            number, message = "E402", "the imports form a circle: " + " → ".join(names)
            hint = "move the shared sets to a file of their own"
        elif len(chain) > _DEEPEST_IMPORT:
            number, message = "E409", f"imports are nested more than {_DEEPEST_IMPORT} files deep"
            hint = "import the file that defines the set, not one that imports it"
        if number:
            self._add(number, message, node.span, hint)
            return None
        if target not in self._files:
            text = read_file(target, str(path))
            if isinstance(text, str):
                text = no_rules(text, str(path), imported=True) or text
            if isinstance(text, Diagnostic):
                self._add(text.code, f"`{node.path}`: {text.message}", node.span, text.help)
                return None
            inner = _Assembly(text, str(path), self._folder, self._files, chain)
            try:
                self._files[target] = inner.ruleset()
            except RuleSyntaxError as error:
                self._files[target] = None
                # Of a chain of imports that leads to an error, only the two ends are reported.
                self._elsewhere.extend(each for each in error.diagnostics if each.code != "E404")
        ruleset = self._files[target]
        if ruleset is None:
            self._add("E404", f"`{node.path}` has errors", node.span, "they are listed below")
        return ruleset

    # ------------------------------------------------------------ sets and rules together

    def _check_sets(self) -> None:
        for definition in self._sets.values():
            for member in definition.members:
                for number, message, hint in check_test(member, self):
                    self._add(number, message, definition.span, hint)
        for circle in sets_in_order(self._ruleset.written_sets)[1]:
            message = "the sets form a circle: " + " → ".join(circle)
            self._add("E313", message, self._sets[circle[0]].span, "a set cannot contain itself")

    def _check_ids(
        self, what: str, names: Iterable[str | None], nodes: Iterable[syntax.Rule | syntax.Template]
    ) -> None:
        lines: dict[str, int] = {}
        for name, node in zip(names, nodes, strict=True):
            if name in lines:
                advice = f"the first is on line {lines[name]}; rename one of them"
                self._add("E310", f"two {what} have the id `{name}`", node.span, advice)
            elif name is not None:
                lines[name] = node.span.line if node.span else 0

    def _check_duplicates(self, rules: Iterable[syntax.Rule]) -> None:
        bodies: dict[object, syntax.Rule] = {}
        for rule in rules:
            # The same words with other noise are another rule, if it has an id of its own.
            noise = (rule.metadata.rate, rule.metadata.seed) if rule.name else (None, None)
            body = (rule.antecedent, rule.consequent, rule.left, rule.right, noise)
            first = bodies.setdefault(body, rule)
            if first is not rule:
                if rule.name is None and first.name is None:
                    code, message = "E311", "this rule is already in the file"
                else:
                    code, message = "W606", "this rule is already in the file under another id"
                place = first.span.line if first.span else 0
                hint = f"see line {place}: {print_rule(rule)}"
                if code == "E311" and rule.metadata != first.metadata:
                    hint += "\nto keep both, give each an id: `rule ID: ANTECEDENT -> CONSEQUENT`"
                self._add(code, message, rule.span, hint)


def _sizes(ruleset: Ruleset) -> Iterator[Diagnostic]:
    """The first set of a file that is nested too deeply, else the first that is too large."""
    spans = {definition.name: definition.span for definition in ruleset.sets}
    for name, depth in ruleset.set_depths.items():
        if depth > DEEPEST:
            message = f"set `{name}` contains sets nested more than {DEEPEST} deep"
            advice = "merge the innermost sets into one"
            yield Diagnostic("E320", message, spans[name], advice)
            return
    for name, size in ruleset.set_sizes.items():
        if size > LARGEST:
            message = f"set `{name}` stands for more than {LARGEST:,} tests"
            yield Diagnostic("E320", message, spans[name], "use fewer sets under negations")
            return


def _options_of_imports(ruleset: Ruleset) -> Iterator[Diagnostic]:
    """Findings where it matters that imported sets are read under the options of this file."""
    used = sorted(_used_sets(ruleset), key=str)
    for each in ruleset.imports:
        nodes = (entry.node for entry in each.ruleset.layout)
        stated = {node.name for node in nodes if isinstance(node, syntax.OptionLine)}
        for name in ("case", "tagset"):
            own, other = getattr(ruleset.options, name), getattr(each.ruleset.options, name)
            if name in stated and own != other:
                message = (
                    f"`{each.path}` states `option {name} = {other}`, but is read here under "
                    f"`{name} = {own}`"
                )
                hint = f"the options beside the rules apply; add there: `option {name} = {other}`"
                yield Diagnostic("W617", message, each.span, hint)
        if each.ruleset.options.tagset == ruleset.options.tagset:
            continue
        for reference in used:
            for test in ruleset.members(reference) if reference.module == each.name else ():
                for number, message, hint in check_test(test, ruleset):
                    if number == "E202":
                        text = f"set `{reference.name}`: {message}"
                        yield Diagnostic(number, text, each.span, hint)


def _commented_rules(text: str) -> Iterator[Diagnostic]:
    """W625: a comment that looks like a rule, in a file without rules."""
    for number, line in enumerate(_lines(text), start=1):
        if _RULE_IN_COMMENT.match(line):
            hint = 'remove the hash; in a rule about the hash, quote it: `"#" -> number`'
            place = Span(number, 1, len(line) + 1)
            message = "this file has no rules, and this comment looks like one"
            yield Diagnostic("W625", message, place, hint)
            return


def _usage(ruleset: Ruleset, text: str) -> Iterator[Diagnostic]:
    """W601 to W604 and W625; a file of sets alone is a library, whose sets are used elsewhere."""
    nodes: tuple[syntax.Rule | syntax.Template, ...] = (*ruleset.rules, *ruleset.templates)
    if ruleset.name is not None:
        for node in nodes:
            yield from _missing_tests(node)
    if not nodes:
        yield from () if ruleset.sets or ruleset.imports else _commented_rules(text)
        return
    for definition in unused_sets(ruleset):
        advice, message = "delete it", f"set `{definition.name}` is not used"
        if any(_mentions(template, definition.name) for template in ruleset.templates):
            advice = f"in a template, put it in braces: {code(f'{{{definition.name}}}')}"
        yield Diagnostic("W603", message, definition.span, advice)
    modules = {reference.module for reference in _references(ruleset)}
    for each in ruleset.imports:
        if each.name not in modules:
            yield Diagnostic("W604", f"import `{each.name}` is not used", each.span, "delete it")


def _mentions(template: syntax.Template, name: str) -> bool:
    """Whether the name of a set stands among the words of a template, as in ``<NAME>``."""
    words = "".join(part for part in template.parts if isinstance(part, str))
    return re.search(rf"\b{re.escape(name)}\b", words) is not None


def _missing_tests(rule: syntax.Rule | syntax.Template) -> Iterator[Diagnostic]:
    silent = [test.expected is None for test in rule.metadata.tests]
    kind, out = ("rule", "out") if isinstance(rule, syntax.Rule) else ("template", "label")
    if all(silent):
        message = f"this published {kind} has no test that fires"
        yield Diagnostic("W601", message, rule.span, f'write `test "in" => "{out}"` under it')
    if not any(silent):
        message = f"this published {kind} has no test that stays silent"
        yield Diagnostic("W602", message, rule.span, 'write `test "in" => none` under it')


def unused_sets(ruleset: Ruleset) -> list[syntax.SetDefinition]:
    """The sets that no rule, template or set of the file names."""
    names = _references(ruleset)
    return [each for each in ruleset.sets if syntax.SetReference(each.name) not in names]


def _references(ruleset: Ruleset) -> set[syntax.SetReference]:
    """The references in a file."""
    slots = (slot.reference for template in ruleset.templates for slot in template.slots)
    return _used_sets(ruleset).union(slots)


def _used_sets(ruleset: Ruleset) -> set[syntax.SetReference]:
    """The references in rules and sets of a file."""
    members = (each for definition in ruleset.sets for each in definition.members)
    return {*references_in(members), *(each for rule in ruleset.rules for each in sets_of(rule))}


def _notations(
    sets: Iterable[syntax.SetDefinition], rules: Iterable[syntax.Rule], options: syntax.Options
) -> Iterator[Diagnostic]:
    """Warnings about plain words that mean something in the notation of other tools."""
    for definition in sets:
        yield from set_notation_warnings(definition, options.tagset)
    for rule in rules:
        yield from notation_warnings(rule, options.tagset)


def _warnings(
    ruleset: Ruleset, findings: Sequence[Diagnostic], text: str
) -> tuple[Diagnostic, ...]:
    """The warnings of a file without errors: those that reading it met, and all others."""
    advice = (*_notations(ruleset.sets, ruleset.rules, ruleset.options), *_usage(ruleset, text))
    return tuple(_in_order([*findings, *advice], text, ruleset.path))


def _in_order(findings: Iterable[Diagnostic], text: str, path: str) -> list[Diagnostic]:
    """The findings with the name and the lines of their file, in the order of these lines."""
    lines = ["", *_lines(text)]

    def place(finding: Diagnostic) -> tuple[int, int, str]:
        span = finding.span
        return (span.line, span.column, finding.code) if span else (0, 0, finding.code)

    return [
        replace(each, path=path, source=lines[place(each)[0]])
        for each in sorted(findings, key=place)
    ]


def _lines(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.split("\n")]


def parse(text: str, *, path: str = "<rules>", allow_imports_outside: bool = False) -> Ruleset:
    """Read the text of a rule file.

    Args:
        text: the lines of the file.
        path: where they come from; imports are looked for beside it if that is a file, or an
            absolute path where one may be saved later.
        allow_imports_outside: whether imports may lead out of the folder of that file.

    Raises:
        RuleSyntaxError: with every finding, in the order of the file.
        UsageError: what was given is not text.

    Example:
        >>> parse("What NOUN -> Which NOUN").rule_ids
        ('r-5c4e3ce515',)
    """
    check_text(
        text,
        meant="the text of rules",
        help="give a string: sears.parse('movie -> film'); to read a file: sears.load('a.sear')",
    )
    strange = no_rules(text, path)
    if strange is not None:
        raise RuleSyntaxError([strange])
    folder = None if allow_imports_outside else Path(path).parent.resolve()
    return _Assembly(text, path, folder, {}).ruleset()


def findings_of(text: str, *, path: str = "<rules>") -> list[Diagnostic]:
    """What `parse` finds in the text of a rule file: its errors, or else its warnings."""
    try:
        return list(parse(text, path=path).warnings)
    except RuleSyntaxError as error:
        return list(error.diagnostics)


def load(path: str | Path, *, allow_imports_outside: bool = False) -> Ruleset:
    """Read a rule file (UTF-8) and the files that it imports.

    Raises:
        RuleSyntaxError: findings in the file, or a file that cannot be read.
    """
    name = str(path)
    text = read_file(Path(path), name)
    if isinstance(text, Diagnostic):
        raise RuleSyntaxError([text])
    return parse(text, path=name, allow_imports_outside=allow_imports_outside)


def with_imports(rulesets: Sequence[Ruleset]) -> Iterator[Ruleset]:
    """The rulesets and what they import, each before its imports and once."""
    visited: set[int] = set()
    waiting = list(reversed(rulesets))
    while waiting:
        ruleset = waiting.pop()
        if id(ruleset) not in visited:
            visited.add(id(ruleset))
            yield ruleset
            waiting.extend(each.ruleset for each in reversed(ruleset.imports))


def source_files(rulesets: Sequence[Ruleset]) -> Iterator[Path]:
    """The rule files, their imports, and the vectors that they name: nothing may replace them."""
    for ruleset in with_imports(rulesets):
        yield ruleset.file
        if vectors := ruleset.options.vectors_in(ruleset.folder):
            yield vectors
