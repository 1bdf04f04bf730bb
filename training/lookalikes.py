"""Unicode's list of intentional confusables → the table of look-alikes for noise.

In: `intentional.txt` of Unicode's security mechanisms (UTS #39). Out: a file of two columns, the
code points of a character and of its look-alike, both ways; of several look-alikes the first in the
list counts. Always holds: the same list gives the same bytes. Costs nothing.

    python -m training.lookalikes intentional.txt --out sears_dsl/engine/noise/lookalikes.tsv
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from sears_dsl.runtime.files import write_atomically
from training.command import run

_PAIR = re.compile(r"([0-9A-F]{4,6})\s*;\s*([0-9A-F]{4,6})")
_VERSION = re.compile(r"^# Version: (\S+)", re.MULTILINE)
_NOTICE = """\
# Characters that look alike: intentional.txt of Unicode, UTS #39, version {version}.
# Copyright (c) 1991-2025 Unicode, Inc. and others. All rights reserved.
# Under the Unicode License v3, https://www.unicode.org/license.txt; see LICENSE-UNICODE.txt beside
# this file. Changed: each character with the first of its look-alikes, both ways, without comments.
"""


def table_text(listed: str) -> str:
    r"""The table for a list of pairs.

    Example:
        >>> table_text("# Version: 1\\n0041 ; 0391 # A").splitlines()[-2:]
        ['0041\\t0391', '0391\\t0041']
    """
    version = _VERSION.search(listed)
    if version is None:
        raise SystemExit("the list does not say its version")
    first: dict[str, str] = {}
    for one, other in _pairs(listed):
        first.setdefault(one, other)
        first.setdefault(other, one)
    rows = (f"{one}\t{other}\n" for one, other in first.items())
    return _NOTICE.format(version=version[1]) + "".join(rows)


def _pairs(listed: str) -> Iterator[tuple[str, str]]:
    for line in listed.splitlines():
        pair = _PAIR.match(line.partition("#")[0].strip())
        if pair is not None:
            yield pair[1], pair[2]


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("list", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    table = table_text(arguments.list.read_text("utf-8-sig"))
    write_atomically(arguments.out, table.encode("ascii"))


if __name__ == "__main__":
    run(_main)
