"""Finds rulesets: the shipped ones by name, a user's by file or folder; and makes their pages.

In: what a person wrote for RULES (a file, a folder, or the name of a shipped ruleset such as
``synonyms/reviews``). Out: loaded `Ruleset`s in a fixed order; Markdown pages of the catalogue.
A path that exists wins over a shipped name; rulesets that cannot run together are refused. The
manifest of a rule file lies beside it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from sears_dsl.errors import RuleSyntaxError, UsageError, counted
from sears_dsl.language.loader import load as load_file
from sears_dsl.language.printer import effect_lines, print_rule, print_template
from sears_dsl.language.rule import Rule, Template
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.runtime.files import is_file, is_folder, is_there, resource_folder

if TYPE_CHECKING:
    from sears_dsl.engine.matches import Unit

LEFT_OUT = ".left-out.sear"
"""The ending of files with the rules that reviewers rejected."""
CLOSEST = ".closest.sear"
"""The ending of files with rules that nearly passed a search, and that nobody has accepted."""
NOT_ACCEPTED = (LEFT_OUT, CLOSEST)
"""The endings of files with rules that nobody has accepted."""


def shipped_rulesets() -> dict[str, Path]:
    """The shipped rulesets: name (``theme/file``) → file, sorted by name."""
    folder = resource_folder("rulesets")
    files = sorted(folder.rglob("*.sear"))
    return {file.relative_to(folder).with_suffix("").as_posix(): file for file in files}


def is_shipped(name: str) -> bool:
    """Whether this is the name of a shipped ruleset, or of a folder of them.

    Example:
        >>> is_shipped("contractions/expand"), is_shipped("contractions"), is_shipped("contract")
        (True, True, False)
    """
    return any(f"{each}/".startswith(f"{name}/") for each in shipped_rulesets())


def find_rule_files(names: Iterable[str]) -> list[Path]:
    """The rule files that the names stand for, each once, in the order named."""
    files: dict[str, Path] = {}
    for name in names:
        for file in _files_of(name):
            files.setdefault(os.path.realpath(file), file)
    return list(files.values())


def _files_of(name: str) -> Iterator[Path]:
    if not name:
        raise UsageError(
            "the name of the rules is empty",
            help="name a rule file, a folder (`.` is this one) or a shipped ruleset; perhaps a "
            "shell variable is not set",
        )
    path = Path(name)
    if is_file(path):
        yield path
        return
    if is_folder(path):
        files = sorted(
            Path(folder, each)
            for folder, _, names in os.walk(path, onerror=_refuse)
            for each in names
            if each.endswith(".sear")
        )
        if not files:
            raise UsageError(
                f"the folder {name} has no .sear files", help="name a file, or another folder"
            )
        yield from files
        return
    if is_there(path):
        raise UsageError(
            f"{name} is a pipe or a device, and rules are read from files alone",
            help="write the rules to a file, and name that",
        )
    known = shipped_rulesets()
    chosen = [file for key, file in known.items() if key == name or key.startswith(f"{name}/")]
    if not chosen:
        themes = {key.split("/")[0] for key in known}
        neighbours = map(str, path.parent.glob("*.sear") if is_folder(path.parent) else ())
        accepted = [each for each in neighbours if not each.endswith(NOT_ACCEPTED)]
        near = get_close_matches(name, [*accepted, *known, *themes], n=1)
        advice = f"did you mean {near[0]}? " if near else ""
        advice += "`sears rules` lists the shipped ones"
        parts = [part.strip() for part in name.split(",")]
        if all(part in (*known, *themes) or (part and is_there(Path(part))) for part in parts):
            advice = f"separate rulesets with spaces: {' '.join(parts)}; in Python, pass a list"
        if "->" in name:
            advice = "to try a rule without a file, run sears try 'movie -> film' 'A movie.'; in "
            advice += "Python, sears.parse('movie -> film') makes it a ruleset"
        raise UsageError(f"no rule file, folder or shipped ruleset is called {name}", help=advice)
    yield from chosen


def _refuse(error: OSError) -> NoReturn:
    raise UsageError(
        f"the folder {error.filename} cannot be read: {error.strerror}",
        help="make it readable, since it may hold rules, or name the files",
    ) from error


def load(name: str | Path, *, allow_imports_outside: bool = False) -> Ruleset:
    """Load one ruleset.

    Args:
        name: a rule file, a folder with one, or the name of a shipped ruleset such as
            ``synonyms/reviews``.
        allow_imports_outside: whether imports may lead out of the folder of the file.

    Raises:
        UsageError: there is no such file or ruleset, or several.
        RuleSyntaxError: findings in the file.

    Example:
        >>> load("paper/sentiment").rules[0].name is not None
        True
    """
    rulesets = load_rulesets([str(name)], allow_imports_outside=allow_imports_outside)
    if len(rulesets) != 1:
        shipped = {str(file): key for key, file in shipped_rulesets().items()}
        paths = [shipped.get(each.path, each.path) for each in rulesets]
        raise UsageError(
            f"{name} is {len(rulesets)} rule files, but one is needed here",
            help=f"name one of them, such as {paths[0]}" if paths else "name a file",
        )
    return rulesets[0]


def loaded_files(names: Sequence[str]) -> list[Path]:
    """Return the rule files that commands use for these names.

    In a folder, files of rules that reviewers rejected or that nearly passed a search are skipped;
    by their own name they count like any other.
    """
    own = set(map(os.path.realpath, names))
    return [
        file
        for file in find_rule_files(names)
        if not file.name.endswith(NOT_ACCEPTED) or os.path.realpath(file) in own
    ]


def load_rulesets(names: Iterable[str], *, allow_imports_outside: bool = False) -> list[Ruleset]:
    """Load what the names stand for; see `loaded_files`.

    Imports stay below the folder of their file, unless they are allowed outside.
    """
    files = loaded_files(list(names))
    return [load_file(file, allow_imports_outside=allow_imports_outside) for file in files]


def names_without(names: Iterable[str], paths: Collection[str]) -> list[str]:
    """Return the shortest names for the rule files of ``names`` without those at ``paths``.

    Example:
        >>> paraphrases = str(shipped_rulesets()["noise/paraphrase"])
        >>> names_without(["noise", "paper/sentiment"], [paraphrases])
        ['noise/look-alikes', 'noise/neighbors', 'noise/typing', 'paper/sentiment']
    """
    left_out = {Path(path).resolve() for path in paths}
    return [part for name in names for part in _parts_without(name, left_out)]


def _parts_without(name: str, left_out: Set[Path]) -> list[str]:
    files = {file.resolve() for file in _files_of(name)}
    if not files & left_out:
        return [name]
    if files <= left_out:
        return []
    if Path(name).is_dir():
        parts = sorted(Path(name).iterdir())
        inside = [each for each in parts if each.suffix == ".sear" or any(each.rglob("*.sear"))]
        names = [str(each) for each in inside if not each.name.endswith(NOT_ACCEPTED)]
    else:
        names = [key for key in shipped_rulesets() if key.startswith(f"{name}/")]
    return [part for each in names for part in _parts_without(each, left_out)]


def require_together(
    rulesets: Sequence[Ruleset],
    names: Sequence[str],
    *,
    unit: Unit | None,
    vectors: bool = False,
    advice: Callable[[Sequence[str], Sequence[str]], str],
) -> None:
    """Refuse rulesets that cannot run together, with all that is in the way.

    If some of them can run without the others, ``advice`` makes the error's help from the given
    names and the names of those.

    Raises:
        RuleSyntaxError: they want different units, or look up what is not installed.
    """
    # Importing either takes longer than reading a rule file.
    from sears_dsl.engine.compile.requirements import any_paraphrases, hindrances  # noqa: PLC0415
    from sears_dsl.runtime.extras import has_discovery  # noqa: PLC0415

    paraphrases = not any_paraphrases(rulesets) or has_discovery()
    findings, paths = hindrances(rulesets, unit=unit, vectors=vectors, paraphrases=paraphrases)
    if findings:
        others = names_without(names, paths)
        raise RuleSyntaxError(findings, advice(names, others) if others else "")


def manifest_path(rules: Path) -> Path:
    """Where the manifest of a rule file lies.

    Example:
        >>> manifest_path(Path("wh.sear")).name
        'wh.manifest.json'
    """
    return rules.with_suffix(".manifest.json")


def closest_path(rules: Path) -> Path:
    """Where a search that writes a rule file writes the rules that nearly passed.

    Example:
        >>> closest_path(Path("found.sear")).name
        'found.closest.sear'
    """
    return rules.with_suffix(CLOSEST)


def ruleset_page(name: str, ruleset: Ruleset) -> str:
    """The catalogue page of one ruleset in Markdown: a section for each rule, with its tests."""
    title = f"# {name}"
    templates = f", {len(ruleset.templates)} templates" if ruleset.templates else ""
    version = "" if ruleset.version is None else f"Version {ruleset.version}, "
    about = f"{version}{len(ruleset.rules)} rules{templates}. Use it as `{name}`."
    options = ruleset.options
    how = f"Case: {options.case}. Tags: {options.tagset}. Language: {options.language}."
    sections = [_rule_section(rule_id, rule) for rule_id, rule in ruleset.named_rules]
    sections += [
        _template_section(name, template, ruleset) for name, template in ruleset.named_templates
    ]
    note = "Generated by `sears rules --pages`; the rules themselves are the source."
    return "\n\n".join([title, about, how, note, *sections]) + "\n"


def _rule_section(rule_id: str, rule: Rule) -> str:
    metadata = rule.metadata
    effects = [f"  {line}" for line in effect_lines(metadata)]
    lines = [f"## {rule_id}", "", "```sears", print_rule(rule), *effects, "```"]
    lines += _about(metadata.why, metadata.tags)
    if metadata.tests:
        lines += ["", "| text | becomes |", "|---|---|"]
        lines += [
            f"| {_cell(test.text)} | {_cell(test.expected) if test.expected else '(silent)'} |"
            for test in metadata.tests
        ]
    return "\n".join(lines)


def _template_section(name: str, template: Template, ruleset: Ruleset) -> str:
    from sears_dsl.generating.sentences import Sentences  # noqa: PLC0415 - loads numpy

    sentences = Sentences(template, ruleset)
    lines = [f"## {name}", "", "```sears", f"template {print_template(template)}", "```", ""]
    count = counted(len(sentences), "sentence")
    lines += [f"{count} with the label {template.metadata.label}, such as: {sentences[0]}"]
    return "\n".join([*lines, *_about(template.metadata.why, template.metadata.tags)])


def _about(why: str | None, tags: Sequence[str]) -> list[str]:
    return (["", why] if why else []) + (["", f"Tags: {', '.join(tags)}."] if tags else [])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
