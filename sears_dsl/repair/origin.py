"""Were the rules found on the rows that the report is about?

In: rule files, held-out rows. Out: what a reader has to know, or an error. Always holds: rules that
`sears discover` found are known by the manifest beside their file, which `sears vetted` copies as
it is; rows are known by their content, with their labels or without, all of them together: a part
of the rows of a run is not recognized. What a rule file holds now takes no part, since a rule that
was edited or left out does not make the others come from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from sears_dsl.batch.provenance import found_by_discovery, manifest_path
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.errors import UsageError


def check_origin(
    files: Sequence[Path],
    held_out: LabelledRows,
    *,
    digests: Mapping[str, str] = MappingProxyType({}),
    allowed: bool = False,
) -> tuple[str, ...]:
    """Refuse a report on the rows that the rules were found on.

    A flip that was looked for on these rows is there more often than on others, and what was
    repaired on them need not be repaired elsewhere.

    Args:
        files: rule files; those without a manifest beside them say nothing about their origin.
        held_out: the rows of the report.
        digests: name of further rules → SHA-256 of the rows that they were found on.
        allowed: do it nevertheless; the report then says so.

    Returns:
        Notes for the report.

    Raises:
        UsageError: a file's rules were found on these very rows.
        DataError: a manifest that cannot be read.

    Example:
        >>> rows = LabelledRows(({"text": "A fun film."},), "text", (("positive",),), "a.csv")
        >>> check_origin([Path("written-by-hand.sear")], rows)
        ()
    """
    # Rules may have been looked for without labels, the model's own answers counting as right.
    rows = {held_out.digest, replace(held_out, labels=None).digest}
    same = [(str(file), file.name) for file in files if _found_on(file) in rows]
    same += [(name, name) for name, digest in digests.items() if digest in rows]
    if not same:
        return ()
    if not allowed:
        raise UsageError(
            f"the rules of {same[0][0]} were found on the rows of {held_out.path}",
            help="report on other rows: split the data before `sears discover`, or give "
            "--same-rows, and the report says so",
        )
    names = ", ".join(name for _, name in same)
    return (f"The rules of {names} were found on the very rows of this report.",)


def _found_on(file: Path) -> str | None:
    """SHA-256 of the rows that a rule file was found on; None where no manifest tells."""
    if not found_by_discovery(file):
        return None
    # The manifest's reader brings pydantic, which rules written by hand do without.
    from sears_dsl.discovery.result.manifest import read_manifest  # noqa: PLC0415

    return read_manifest(manifest_path(file)).data.sha256
