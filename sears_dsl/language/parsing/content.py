"""Whether a file holds rules at all, told from its lines before any of them is parsed.

In: the text of a file and its name. Out: None, or one finding that says that this is something
else (a csv file where rules were wanted, a file of secrets that is imported) and shows none of its
lines. Always holds: a file of which half of the lines have an arrow or begin with a keyword is
read as rules, whatever is wrong with them. Costs one pattern a line.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from sears_dsl.errors import Diagnostic

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
_BEGINNING = 65_536
_ORDER = (
    "rules stand in files such as rules.sear; where a command takes data too, rules are named "
    "first: `sears apply rules.sear data.csv -o out.csv`"
)


def no_rules(text: str, path: str, *, imported: bool = False) -> Diagnostic | None:
    r"""The finding that a file is no rule file, or None.

    Of a file named by hand, of no data format, nearly all of many lines have to say so; of one
    that is imported, or has the name of a data file, most.

    Example:
        >>> no_rules("id,text\n1,a movie", "rows.csv").code
        'E407'
        >>> no_rules("What NOUN Which NOUN", "typo.sear") is None
        True
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
    data = bool(suffixes) and suffixes[-1] in _DATA
    strange = total >= _MANY and likely < total * _FEW
    if imported or data:
        strange = likely < total / 2
    if not strange:
        return None
    advice = f"import a file of sets; `sears check {path}` shows its lines" if imported else _ORDER
    return Diagnostic(
        "E407",
        f"this is no rule file: {total - likely:,} of {total:,} lines are no rules",
        path=path,
        help=advice,
    )


def no_text(content: bytes, path: str) -> Diagnostic | None:
    """The finding that a file is binary, or None."""
    if b"\0" not in content[:_BEGINNING]:
        return None
    return Diagnostic("E407", "this is no rule file: it is binary", path=path, help=_ORDER)
