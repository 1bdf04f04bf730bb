"""A page for each function of the Python API, and for what they give, read off the docstrings.

In: the package. Out: pages. Always holds: every public function and class is on a page, with its
signature, its arguments and its example as the docstring has them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

import sears_dsl
from docs_site.page import Page, cell

FOLDER = "python"
_SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Warns|Example|Source)s?:", re.M)
_ENTRY = re.compile(r"^    (\S[^:\n]*(?:\[[^\]]*\])?): (.*(?:\n        .*)*)", re.M)
_REFERENCE = re.compile(r"(?<!`)`([\w.]+)`(?!`)")


def python_pages() -> list[Page]:
    """An overview, and a page for each public function and class."""
    public = {name: getattr(sears_dsl, name) for name in sears_dsl.__all__}
    functions = {name: each for name, each in public.items() if inspect.isfunction(each)}
    classes = {name: each for name, each in public.items() if inspect.isclass(each)}
    about = "What `import sears_dsl` offers. [From Python](../python.md) shows how it is used."
    lines = ["# Python reference", "", about, ""]
    pages = []
    for title, group in (("Functions", functions), ("Classes", classes)):
        lines += [f"## {title}", "", "| name | what it is |", "|---|---|"]
        lines += [f"| [{name}]({name}.md) | {cell(_first_line(each))} |"
                  for name, each in group.items()]  # fmt: skip
        lines.append("")
        pages += [
            Page(f"{FOLDER}/{name}.md", name, _page(name, each), title)
            for name, each in group.items()
        ]
    return [Page(f"{FOLDER}/index.md", "Overview", "\n".join(lines)), *pages]


def _first_line(value: Any) -> str:
    return (inspect.getdoc(value) or "").partition("\n")[0]


def _page(name: str, value: Any) -> str:
    lines = [f"# {name}", "", *_described(name, value)]
    if inspect.isclass(value):
        for member, inner in inspect.getmembers(value):
            if member.startswith("_") or not _is_own(inner):
                continue
            lines += ["", f"## {member}", "", *_described(member, inner)]
    return "\n".join(lines) + "\n"


def _is_own(value: Any) -> bool:
    """Whether it is written in this package, and is worth a section."""
    inner = getattr(value, "fget", None) or getattr(value, "func", None) or value
    module = getattr(inner, "__module__", None) or ""
    return module.startswith("sears_dsl") and callable(inner) and bool(inspect.getdoc(value))


def _described(name: str, value: Any) -> Iterator[str]:
    if inspect.isfunction(value) or inspect.ismethod(value):
        yield from ("```python", _signature(name, value), "```", "")
    yield from _docstring(inspect.getdoc(value) or "")


def _signature(name: str, value: Any) -> str:
    """One argument a line, since there are many."""
    signature = inspect.signature(value)
    parts, named = [], False
    for each in signature.parameters.values():
        if each.name in ("self", "cls"):
            continue
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not named:
            parts.append("*")
            named = True
        default = "" if each.default is each.empty else f" = {each.default!r}"
        if " at 0x" in default:  # an address says nothing, and differs from build to build
            default = " = ..."
        kind = "" if each.annotation is each.empty else f": {each.annotation}"
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        parts.append(f"{stars}{each.name}{kind}{default}")
    returned = signature.return_annotation
    back = "" if returned is inspect.Signature.empty else f" -> {returned}"
    one = f"{name}({', '.join(parts)}){back}"
    if len(one) <= 80:
        return one
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){back}"


def _docstring(text: str) -> Iterator[str]:
    """Google's sections as Markdown."""
    places = [*_SECTION.finditer(text)]
    ends = [each.start() for each in places[1:]] + [len(text)] * bool(places)
    yield _prose(text[: places[0].start()] if places else text).rstrip()
    for place, end in zip(places, ends, strict=True):
        body = text[place.end() : end].strip("\n")
        yield ""
        if place[1] == "Example":
            yield from ["```python", inspect.cleandoc("\n" + body), "```"]
        elif place[1] == "Source":
            yield f"Source: {' '.join(body.split())}"
        else:
            yield from _table(place[1], body)


def _table(section: str, body: str) -> Sequence[str]:
    entries = _ENTRY.findall(body)
    if not entries:
        return [f"**{section}.** {_prose(' '.join(body.split()))}"]
    kind = {"Args": "argument", "Attributes": "attribute", "Raises": "error"}.get(section, "")
    rows = [f"| `{name}` | {_prose(cell(meaning))} |" for name, meaning in entries]
    return [f"| {kind or section.lower()} | meaning |", "|---|---|", *rows]


def _prose(text: str) -> str:
    """Double backticks are code in docstrings; single ones name something of the package."""
    code = re.sub(r"`[^`]*`", lambda found: found[0].replace("&lt;", "<"), text)
    linked = _REFERENCE.sub(
        lambda found: f"[`{found[1]}`]({found[1]}.md)" if found[1] in sears_dsl.__all__
        else f"`{found[1]}`", code,
    )  # fmt: skip
    return linked.replace("``", "`")
