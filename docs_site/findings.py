"""A page for each error code: what it means, an example, and what is printed for it.

In: the text of grammar/README.md. Out: pages. Always holds: what a page shows as printed was
printed by this version, when the page was made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from docs_site.page import Page, cell, plain_fences
from sears_dsl.errors import Diagnostic, RuleSyntaxError
from sears_dsl.language.loader import parse

FOLDER = "errors"
_SECTION = re.compile(r"^## Errors and warnings\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"^(?=\*\*[EW]\d{3}\*\*)", re.MULTILINE)
_CODE = re.compile(r"\*\*([EW]\d{3})\*\*(?:, )?")
_EXAMPLE = re.compile(r"^```sears (\w+) (\w+)\n(.*?)^```\n?", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the reference says about a code.

    Attributes:
        code: such as ``E201``.
        group: the heading that it stands under.
        text: what it means.
        example: rules that give it; empty where none are shown.
        compiled: whether the example has to be compiled to give it.
    """

    code: str
    group: str
    text: str
    example: str
    compiled: bool


def explanations(reference: str) -> list[Explanation]:
    """Every code that the reference explains, in its order."""
    found = _SECTION.search(reference)
    if found is None:
        raise ValueError("the reference has no section on errors")
    _, *groups = re.split(r"^### ", found[1], flags=re.MULTILINE)
    return [each for group in groups for each in _group(group)]


def _group(group: str) -> Iterator[Explanation]:
    title, _, text = group.partition("\n")
    for entry in _ENTRY.split(text)[1:]:
        codes = _CODE.findall(entry.split("```")[0])
        examples = {code: (kind, rules) for kind, code, rules in _EXAMPLE.findall(entry)}
        meaning = _CODE.sub("", _EXAMPLE.sub("", entry)).strip()
        for code in codes:
            kind, rules = examples.get(code, ("", ""))
            yield Explanation(code, title, meaning, rules, kind == "compile")


def error_pages(reference: str) -> list[Page]:
    """A table of all codes, then a page for each."""
    told = explanations(reference)
    return [_overview(told), *map(_page, told)]


def _overview(told: Sequence[Explanation]) -> Page:
    lines = [
        "# Errors and warnings",
        "",
        "Every finding has a place, a code that does not change between versions, and a line of "
        "help. All findings of a file are reported at once. Codes that begin with W are warnings.",
    ]
    group = ""
    for each in told:
        if each.group != group:
            group = each.group
            lines += ["", f"## {group}", "", "| code | meaning |", "|---|---|"]
        lines.append(f"| [{each.code}]({each.code}.md) | {cell(_first_sentence(each.text))} |")
    origin = "grammar/README.md#errors-and-warnings"
    return Page(f"{FOLDER}/index.md", "All codes", "\n".join(lines) + "\n", origin=origin)


def _page(each: Explanation) -> Page:
    kind = "Warning" if each.code.startswith("W") else "Error"
    lines = [f"# {kind} {each.code}", "", f"*{each.group}.* {each.text}"]
    if each.example:
        printed = (found.render() for found in _findings(each) if found.code == each.code)
        lines += ["", "```sears", plain_fences(each.example).rstrip("\n"), "```", ""]
        lines += ["`sears check`", "prints:", "", "```text", "\n\n".join(printed), "```"]
    lines += ["", "[All codes](index.md)"]
    return Page(f"{FOLDER}/{each.code}.md", each.code, "\n".join(lines) + "\n", each.group)


def _findings(each: Explanation) -> Sequence[Diagnostic]:
    try:
        ruleset = parse(each.example, path="rules.sear")
        if each.compiled:
            ruleset.compile()
    except RuleSyntaxError as error:
        return error.diagnostics
    return ruleset.warnings


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.) ", " ".join(text.split()), maxsplit=1)[0]
