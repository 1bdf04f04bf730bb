"""The table of characters that look alike, and what tells it from other tables.

In: the file `lookalikes.tsv` beside this module, which `training/lookalikes.py` makes of Unicode's
list of intentional confusables. Out: for each character the one that takes its place. Always holds:
no character stands for itself. Costs reading 3 KiB, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

VERSION = "17.0.0"
"""The version of Unicode that the table is of."""

_FILE = Path(__file__).with_name("lookalikes.tsv")


@lru_cache(maxsize=1)
def lookalikes() -> Mapping[str, str]:
    """For each character that has one the look-alike that takes its place.

    Source: Unicode, UTS #39, intentional.txt, under the Unicode licence.

    Example:
        >>> hex(ord(lookalikes()["o"])), "k" in lookalikes()
        ('0x3bf', False)
    """
    rows = (line.split("\t") for line in _FILE.read_text("ascii").splitlines())
    return {chr(int(row[0], 16)): chr(int(row[1], 16)) for row in rows if row[0][:1] != "#"}


@lru_cache(maxsize=1)
def lookalikes_identity() -> str:
    """The version of the table and a hash of its file, for manifests.

    Example:
        >>> lookalikes_identity().partition(" ")[0]
        'unicode-17.0.0'
    """
    return f"unicode-{VERSION} {sha256(_FILE.read_bytes()).hexdigest()[:16]}"
